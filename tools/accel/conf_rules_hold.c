/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 6: commands that wait for the end of a job. */
#include "conf.h"
#include <string.h>

enum { N = CONF_JOB_NBYTES, HOLD_MS = 150 };

static unsigned int took_ms(const struct conf_async *a)
{
	return (unsigned int)((a->end_ns - a->start_ns) / 1000000);
}

static int half_job(struct conf *c, uint64_t seq, uint16_t flags, const uint8_t *in)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];

	conf_desc(c, block, seq, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT | flags, N);
	return conf_must(c,
			 conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, N / 2),
			 "writing half of a job");
}

static int rest(struct conf *c, uint64_t seq, const uint8_t *in)
{
	return conf_must(
		c,
		conf_write(c, conf_addr(c, c->lease.slot, seq, 0) + c->id.block + N / 2, in + N / 2, N / 2),
		"writing the rest of a job");
}

static int needs(struct conf *c, uint64_t feat)
{
	if (!conf_feat(c, feat) || !conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce it, or not EXPLICIT, which the test needs");
	if (c->id.holdmax_ms < 2 * HOLD_MS)
		return conf_skip(c, "HOLDMAX is %u ms, too short to tell", c->id.holdmax_ms);
	return conf_begin(c);
}

/* Status and output of a read that has been answered. */
static int answered(struct conf *c, const struct conf_async *a, uint64_t seq, const uint8_t *in)
{
	struct nvme_accel_status st;

	memcpy(&st, a->buf, sizeof(st));
	if (get_le(&st.crc, 4) != ec_crc32c(0, &st, offsetof(struct nvme_accel_status, crc)))
		return conf_fail(c, "the CRC of the status is wrong");
	if (get_le(&st.seq, 8) != seq || st.state != NVME_ACCEL_ST_DONE)
		return conf_fail(c, "answered with seq %llu, state %u",
				 (unsigned long long)get_le(&st.seq, 8), st.state);
	if (c->probe.output && memcmp((uint8_t *)a->buf + c->id.block, in, N))
		return conf_fail(c, "the output that came with the status is wrong");
	return CONF_PASS;
}

static int wait_read(struct conf *c)
{
	struct conf_async a;
	uint8_t in[N];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	conf_data(in, N, 41);
	if (!rc)
		rc = half_job(c, 1, 0, in);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf,
				      c->id.block + N);
	if (rc)
		return rc;
	conf_sleep_ms(HOLD_MS);
	if (__atomic_load_n(&a.ended, __ATOMIC_ACQUIRE))
		rc = conf_fail(c, "a read of the WAIT alias was answered before the job had its input");
	if (!rc)
		rc = rest(c, 1, in);
	conf_async_join(&a);
	if (!rc)
		rc = conf_must(c, a.rc, "the held read");
	if (!rc)
		rc = answered(c, &a, 1, in);
	if (!rc && took_ms(&a) > c->id.holdmax_ms / 2 + HOLD_MS)
		rc = conf_late(c, "the end of the job did not answer the read (%u ms)", took_ms(&a));
	return rc;
}

/* The read goes out before the descriptor, as it may when a path changes the order. */
static int wait_before(struct conf *c)
{
	struct nvme_accel_status st;
	struct conf_async a;
	uint8_t in[N];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	conf_data(in, N, 42);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf,
				      c->id.block + N);
	if (rc)
		return rc;
	conf_sleep_ms(20);
	rc = conf_job(c, 1, 0, in, N, &st);
	conf_async_join(&a);
	if (!rc)
		rc = conf_must(c, a.rc, "the held read");
	return rc ? rc : answered(c, &a, 1, in);
}

static int wait_ended(struct conf *c)
{
	struct nvme_accel_status st;
	struct conf_async a;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_WAIT))
		return conf_skip(c, "the device does not announce the WAIT alias");
	rc = conf_begin(c);
	conf_data(in, N, 43);
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf,
				      c->id.block + N);
	if (rc)
		return rc;
	conf_async_join(&a);
	rc = conf_must(c, a.rc, "a read of the WAIT alias");
	if (!rc)
		rc = answered(c, &a, 1, in);
	if (!rc && c->id.holdmax_ms >= 200 && took_ms(&a) > c->id.holdmax_ms / 2)
		rc = conf_late(c, "a read about a job that has ended took %u ms", took_ms(&a));
	return rc;
}

static int hold_max(struct conf *c)
{
	struct nvme_accel_status st;
	struct conf_async a;
	uint8_t in[N];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	conf_data(in, N, 44);
	if (!rc)
		rc = half_job(c, 1, 0, in);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf, c->id.block);
	if (rc)
		return rc;
	conf_async_join(&a);
	rc = conf_must(c, a.rc, "the held read");
	memcpy(&st, c->buf, sizeof(st));
	if (!rc && st.state != NVME_ACCEL_ST_LOADING)
		rc = conf_fail(c, "at HOLDMAX the read shows state %u", st.state);
	if (!rc && (took_ms(&a) + 100 < c->id.holdmax_ms || took_ms(&a) > c->id.holdmax_ms + 2000))
		rc = conf_late(c, "held for %u ms, HOLDMAX is %u", took_ms(&a), c->id.holdmax_ms);
	return rc;
}

static int one_held(struct conf *c)
{
	struct conf_async a, b;
	uint8_t in[N], block[CONF_BLOCK_MAX];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	conf_data(in, N, 45);
	if (!rc)
		rc = half_job(c, 1, 0, in);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf,
				      c->id.block + N);
	if (rc)
		return rc;
	conf_sleep_ms(50);
	rc = conf_async_start(c, &b, false, conf_wait_addr(c, c->lease.slot, 1), block, c->id.block);
	if (!rc)
		conf_async_join(&b);
	if (!rc)
		rc = conf_must(c, b.rc, "a second read of the WAIT alias");
	if (!rc && took_ms(&b) > c->id.holdmax_ms / 2)
		rc = conf_late(c, "a second read of the same slot was held for %u ms", took_ms(&b));
	if (!rc)
		rc = rest(c, 1, in);
	conf_async_join(&a);
	return rc ? rc : answered(c, &a, 1, in);
}

/* A held read must end when its lease does. */
static int lease_end(struct conf *c)
{
	struct conf_async a;
	uint8_t in[N];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT), sc;

	conf_data(in, N, 46);
	if (!rc)
		rc = half_job(c, 1, 0, in);
	if (!rc)
		rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf,
				      c->id.block + N);
	if (rc)
		return rc;
	conf_sleep_ms(50);
	rc = conf_lease_put(c, &c->lease);
	conf_async_join(&a);
	sc = a.rc;
	if (!rc && sc < 0)
		rc = conf_must(c, sc, "the held read");
	if (!rc && took_ms(&a) > c->id.holdmax_ms / 2 + 50)
		rc = conf_late(c, "the end of the lease did not answer the read (%u ms)", took_ms(&a));
	return rc;
}

/* A job that will not come: whoever waits for it is told. The descriptor is refused with sc. */
static int wait_refused(struct conf *c, const uint8_t *block, uint16_t sc, const char *what)
{
	struct conf_async a;
	uint8_t in[N];
	int rc = conf_async_start(c, &a, false, conf_wait_addr(c, c->lease.slot, 1), c->buf, c->id.block + N);

	if (rc)
		return rc;
	conf_sleep_ms(50);
	conf_data(in, N, 48);
	rc = conf_must_fail(c, conf_write2(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block, in, N), sc, what);
	conf_async_join(&a);
	if (!rc)
		rc = conf_must(c, a.rc, "the held read");
	if (!rc && took_ms(&a) > c->id.holdmax_ms / 2 + 50)
		rc = conf_late(c, "the refusal of the descriptor did not answer the read (%u ms)",
			       took_ms(&a));
	return rc;
}

static int wait_broken(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	if (rc)
		return rc;
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	block[252] ^= 1;
	return wait_refused(c, block, CONF_SC_INVALID_FIELD, "a descriptor with a wrong CRC");
}

static int wait_denied(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	int rc = needs(c, NVME_ACCEL_FEAT_WAIT);

	if (rc)
		return rc;
	c->lease.nonce[15] ^= 1;
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	c->lease.nonce[15] ^= 1;
	return wait_refused(c, block, CONF_SC_ACCESS_DENIED, "a descriptor with a wrong nonce");
}

static int on_done(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	struct conf_async a;
	uint8_t in[N];
	int rc = needs(c, NVME_ACCEL_FEAT_COMPLETE_ON_DONE);

	if (rc)
		return rc;
	conf_data(in, N, 47);
	conf_desc(c, block, 1,
		  NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT | NVME_ACCEL_JOB_COMPLETE_ON_DONE, N);
	rc = conf_async_start(c, &a, true, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block);
	if (rc)
		return rc;
	conf_sleep_ms(HOLD_MS);
	if (__atomic_load_n(&a.ended, __ATOMIC_ACQUIRE))
		rc = conf_fail(c, "the descriptor write completed before the job had its input");
	if (!rc)
		rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block, in, N),
			       "writing the input");
	conf_async_join(&a);
	if (!rc)
		rc = conf_must(c, a.rc, "the held write");
	if (!rc)
		rc = conf_status(c, 1, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

const struct conf_rule conf_rules_hold[] = {
	{ "R-46", "wait", "a read of the WAIT alias is held until the job ends", wait_read },
	{ "R-46", "wait-before", "also when it comes before the descriptor", wait_before },
	{ "R-47", "wait-ended", "about a job that has ended it is answered at once", wait_ended },
	{ "R-47 R-49", "wait-one", "a second held read of a slot is answered at once", one_held },
	{ "R-51", "hold-max", "a held read ends at HOLDMAX with the status as it is", hold_max },
	{ "R-47", "wait-lease-end", "a held read ends with its lease", lease_end },
	{ "R-48", "wait-broken", "a held read ends when the descriptor is refused", wait_broken },
	{ "R-48", "wait-denied", "a held read ends when its host may not start the job", wait_denied },
	{ "R-50", "complete-on-done", "the descriptor write completes when the job does", on_done },
	{ 0 },
};
