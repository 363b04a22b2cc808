/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands, addresses and the identity, for the conformance test. */
#include "conf.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

static int verdict(struct conf *c, int v, const char *fmt, va_list ap)
{
	vsnprintf(c->msg, sizeof(c->msg), fmt, ap);
	return v;
}

int conf_fail(struct conf *c, const char *fmt, ...)
{
	va_list ap;
	int v;

	va_start(ap, fmt);
	v = verdict(c, CONF_FAIL, fmt, ap);
	va_end(ap);
	return v;
}

int conf_late(struct conf *c, const char *fmt, ...)
{
	va_list ap;
	int v;

	c->late = true;
	va_start(ap, fmt);
	v = verdict(c, CONF_FAIL, fmt, ap);
	va_end(ap);
	return v;
}

int conf_skip(struct conf *c, const char *fmt, ...)
{
	va_list ap;
	int v;

	va_start(ap, fmt);
	v = verdict(c, CONF_SKIP, fmt, ap);
	va_end(ap);
	return v;
}

int conf_read(struct conf *c, uint64_t off, void *buf, size_t n)
{
	struct iovec iov = { buf, n };
	uint16_t sc = 0;
	int rc = accel_raw_read(c->dev, off, &iov, 1, CONF_TIMEOUT_MS, &sc);

	return rc < 0 ? rc : sc;
}

int conf_write2(struct conf *c, uint64_t off, const void *a, size_t na, const void *b, size_t nb)
{
	struct iovec iov[2] = { { (void *)a, na }, { (void *)b, nb } };
	uint16_t sc = 0;
	int rc = accel_raw_write(c->dev, off, iov, nb ? 2 : 1, CONF_TIMEOUT_MS, &sc);

	return rc < 0 ? rc : sc;
}

int conf_write(struct conf *c, uint64_t off, const void *buf, size_t n)
{
	return conf_write2(c, off, buf, n, NULL, 0);
}

int conf_must(struct conf *c, int rc, const char *doing)
{
	if (rc < 0)
		return conf_fail(c, "%s: %s", doing, accel_strerror(rc));
	return rc ? conf_fail(c, "%s: NVMe status %#x", doing, (unsigned int)rc) : CONF_PASS;
}

/* A path that refuses by itself, as a block device does out of range, keeps the rule for the namespace. */
int conf_must_fail(struct conf *c, int rc, int sc, const char *doing)
{
	if (rc == -ETIMEDOUT)
		return conf_fail(c, "%s: no answer", doing);
	if (rc < 0)
		return CONF_PASS;
	if (!rc)
		return conf_fail(c, "%s: succeeded", doing);
	if (sc && (rc & 0x7ff) != sc)
		return conf_fail(c, "%s: NVMe status %#x instead of %#x", doing, (unsigned int)rc,
				 (unsigned int)sc);
	return rc & CONF_DNR ? CONF_PASS : conf_fail(c, "%s: NVMe status %#x is without DNR", doing,
						     (unsigned int)rc);
}

static void *async(void *arg)
{
	struct conf_async *a = arg;

	a->rc = a->write ? conf_write(a->c, a->off, a->buf, a->n) : conf_read(a->c, a->off, a->buf, a->n);
	a->end_ns = tool_now_ns();
	__atomic_store_n(&a->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

int conf_async_start(struct conf *c, struct conf_async *a, bool write, uint64_t off, void *buf, size_t n)
{
	*a = (struct conf_async){ .c = c, .write = write, .off = off, .buf = buf, .n = n };
	a->start_ns = tool_now_ns();
	if (pthread_create(&a->thread, NULL, async, a))
		return conf_fail(c, "cannot start a thread");
	return CONF_PASS;
}

void conf_async_join(struct conf_async *a)
{
	pthread_join(a->thread, NULL);
}

void conf_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

uint64_t conf_addr(const struct conf *c, uint32_t slot, uint64_t seq, int half)
{
	uint64_t window = (uint64_t)slot * c->id.naliases + seq % c->id.naliases;

	return c->id.slot_off + (window * 2 + (unsigned int)half) * c->id.half;
}

uint64_t conf_wait_addr(const struct conf *c, uint32_t slot, uint64_t seq)
{
	return conf_addr(c, slot, seq, 1) + c->id.wait_off;
}

bool conf_feat(const struct conf *c, uint64_t feat)
{
	return (c->id.feat & feat) != 0;
}

#define ID(c, member) ((c)->page + NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, member))

int conf_identify(struct conf *c)
{
	int rc = accel_raw_identify(c->dev, c->page);
	uint8_t lbads, winsh, aliasb;

	if (rc)
		return conf_fail(c, "Identify Namespace: %s", accel_strerror(rc));
	lbads = *ID(c, lbadsx);
	winsh = *ID(c, winsh);
	aliasb = *ID(c, aliasb);
	/* Beyond these the test itself could not go on; the rule about ranges says it in words. */
	if ((lbads != 9 && lbads != 12) || winsh < lbads + 3 || winsh > 30 || !aliasb || aliasb > 3)
		return conf_fail(c, "no usable geometry: log2 of block %u, half window %u, aliases %u", lbads,
				 winsh, aliasb);
	c->id.block = 1u << lbads;
	c->id.half = 1u << winsh;
	c->id.wait_off = c->id.half / 2;
	c->id.naliases = 1u << aliasb;
	c->id.nslot = (uint32_t)get_le(ID(c, nslot), 4);
	c->id.nlease = (uint32_t)get_le(ID(c, nlease), 4);
	c->id.holdmax_ms = (uint32_t)get_le(ID(c, holdmax_ms), 4);
	c->id.leasemin_ms = (uint32_t)get_le(ID(c, leasemin_ms), 4);
	c->id.leasemax_ms = (uint32_t)get_le(ID(c, leasemax_ms), 4);
	c->id.nops = (uint32_t)get_le(ID(c, nops), 2);
	c->id.feat = get_le(ID(c, feat), 8);
	c->id.maxin = get_le(ID(c, maxin), 8);
	c->id.maxout = get_le(ID(c, maxout), 8);
	c->id.info_off = get_le(ID(c, info_off), 8);
	c->id.lease_off = get_le(ID(c, lease_off), 8);
	c->id.stats_off = get_le(ID(c, stats_off), 8);
	c->id.slot_off = get_le(ID(c, slot_off), 8);
	c->id.bootid = get_le(ID(c, bootid), 8);
	c->id.nbytes = get_le(c->page, 8) << lbads;
	return CONF_PASS;
}
