// SPDX-License-Identifier: BSD-2-Clause
/*
 * Leases: claiming, renewing and ending them by plain reads and writes of the lease pages. The device alone
 * decides, by whatever path it is reached; what is kept here is a copy of its answer. The node of a device, where
 * it has one, is held by flock() as well, so that those who look at disks keep away from it meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api.h"
#include "lease_priv.h"

#define BACKOFF_MIN_MS 1u
#define BACKOFF_MAX_MS 50u
#define HOLD_WAIT_MS 1000

/* The device's memory may be another claim's for a moment; waiting longer does not bring it, as it does slots. */
#define MEMORY_WAIT_MS 300

/* At least, for a renewal: a device that answers late is still there. */
#define RENEW_MIN_MS 1000

/* What became of one attempt at one record. */
enum attempt { GRANTED, TAKEN, FULL, NO_MEMORY, FAILED };

int lease_page_read(struct accel_dev *dev, uint32_t index, struct wire_lease *page, int timeout_ms)
{
	uint8_t *buf = malloc(NVME_ACCEL_PAGE);
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = dev_read(dev, dev->id.lease_off + (uint64_t)index * NVME_ACCEL_LEASE_STRIDE, buf, NVME_ACCEL_PAGE,
		       timeout_ms);
	if (!ret && wire_lease_decode(page, buf, dev->id.nslot) != WIRE_OK)
		ret = -EPROTO;
	free(buf);
	return ret;
}

int lease_page_write(struct accel_dev *dev, uint32_t index, const struct wire_claim *claim, int timeout_ms)
{
	size_t n = (size_t)1 << dev->id.lbadsx;
	uint8_t *buf = malloc(n);
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = wire_claim_encode(claim, buf, n) == WIRE_OK ? 0 : -EINVAL;
	if (!ret)
		ret = dev_write(dev, dev->id.lease_off + (uint64_t)index * NVME_ACCEL_LEASE_STRIDE, buf, n,
				timeout_ms);
	api_wipe(buf, n);
	free(buf);
	return ret;
}

static int refusal_errno(uint32_t code)
{
	switch (code) {
	case NVME_ACCEL_REFUSED_DURATION:
		return -EINVAL;
	case NVME_ACCEL_REFUSED_STATE:
		return -ENODEV;
	case NVME_ACCEL_REFUSED_HOST:
		return -EACCES;
	default:
		return 0;
	}
}

static enum attempt refused(const struct wire_lease *page, const struct wire_claim *claim, int *err)
{
	/* Somebody else's refusal stands there by now: ours is not known, so try another record. */
	if (memcmp(page->refused_claim_id, claim->claim_id, sizeof(claim->claim_id)) != 0)
		return TAKEN;
	*err = refusal_errno(page->refused_code);
	if (*err)
		return FAILED;
	switch (page->refused_code) {
	case NVME_ACCEL_REFUSED_SLOTS:
	case NVME_ACCEL_REFUSED_EXCLUSIVE:
		return FULL;
	case NVME_ACCEL_REFUSED_MEMORY:
		return NO_MEMORY;
	default:
		return TAKEN;
	}
}

static enum attempt try_record(struct accel_dev *dev, uint32_t index, struct wire_claim *claim,
			       struct wire_lease *page, int *err)
{
	*err = lease_page_read(dev, index, page, LEASE_IO_MS);
	if (*err)
		return FAILED;
	if (page->state != NVME_ACCEL_LEASE_FREE)
		return TAKEN;
	claim->epoch = page->epoch;
	*err = lease_page_write(dev, index, claim, LEASE_IO_MS);
	if (!*err)
		*err = lease_page_read(dev, index, page, LEASE_IO_MS);
	if (*err)
		return FAILED;
	if (page->state == NVME_ACCEL_LEASE_HELD &&
	    memcmp(page->claim_id, claim->claim_id, sizeof(claim->claim_id)) == 0)
		return GRANTED;
	return refused(page, claim, err);
}

/* Begins at a random record, so that claimers do not all fight for the first. */
static enum attempt try_all(struct accel_dev *dev, struct wire_claim *claim, struct wire_lease *page,
			    uint32_t *index, int *err)
{
	uint32_t first = le32_get(claim->claim_id) % dev->id.nlease, i;
	enum attempt a;

	for (i = 0; i < dev->id.nlease; i++) {
		*index = (first + i) % dev->id.nlease;
		a = try_record(dev, *index, claim, page, err);
		if (a != TAKEN)
			return a;
	}
	return FULL;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = { 0, (long)ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* *sent_ns: before the claim that was granted. */
static int claim_wait(struct accel_dev *dev, struct wire_claim *claim, uint64_t deadline, int path_ms,
		      struct wire_lease *page, uint32_t *index, uint64_t *sent_ns)
{
	uint64_t memory_deadline = api_deadline(MEMORY_WAIT_MS), path_deadline = api_deadline(path_ms);
	uint64_t begin = api_now_ns();
	bool down = dev_down(dev, begin);
	unsigned int backoff = BACKOFF_MIN_MS;
	int err = 0, left;

	for (;;) {
		*sent_ns = api_now_ns();
		switch (try_all(dev, claim, page, index, &err)) {
		case GRANTED:
			dev_set_down(dev, 0);
			return 0;
		case FAILED:
			if (err == -ENOTCONN && !down && api_left_ms(path_deadline) && api_left_ms(deadline))
				break;
			if (err == -ENOTCONN && (down || api_now_ns() - begin > DEV_DOWN_MIN_MS * API_NS_PER_MS))
				dev_set_down(dev, api_now_ns());
			return err == -EIO || err == -ENOTCONN ? -ENODEV : err;
		case NO_MEMORY:
			if (!api_left_ms(memory_deadline) || !api_left_ms(deadline))
				return -ENOMEM;
			break;
		default:
			break;
		}
		left = api_left_ms(deadline);
		if (!left)
			return -EBUSY;
		sleep_ms(left > 0 ? BASE_MIN(backoff, (unsigned int)left) : backoff);
		backoff = BASE_MIN(backoff * 2, BACKOFF_MAX_MS);
		/* A new id: the old one's refusals must not be taken for the new one's. */
		err = api_random(claim->claim_id, sizeof(claim->claim_id));
		if (err)
			return err;
	}
}

static int lease_new(struct accel_dev *dev, const struct wire_lease *page, const struct wire_claim *claim,
		     uint32_t index, uint64_t sent_ns, struct accel_lease **out)
{
	struct accel_lease *lease = calloc(1, sizeof(*lease));
	uint32_t r, i, n = 0;

	if (!lease)
		return -ENOMEM;
	lease->slots = calloc(page->nslot ? page->nslot : 1, sizeof(*lease->slots));
	if (!lease->slots) {
		free(lease);
		return -ENOMEM;
	}
	for (r = 0; r < page->nrange; r++)
		for (i = 0; i < page->range[r].count && n < page->nslot; i++)
			lease->slots[n++].slot = page->range[r].first + i;
	lease->refs = 1;
	lease->dev = dev;
	lease->index = index;
	lease->epoch = page->epoch;
	lease->nslot = lease->nfree = n;
	lease->duration_ms = page->duration_ms;
	lease->flags = page->flags;
	lease->bootid = page->bootid;
	lease->active_ns = lease->sure_ns = sent_ns;
	memcpy(lease->claim_id, claim->claim_id, sizeof(lease->claim_id));
	memcpy(lease->nonce, claim->nonce, sizeof(lease->nonce));
	memcpy(lease->hostid, claim->hostid, sizeof(lease->hostid));
	pthread_mutex_init(&lease->lock, NULL);
	dev_get(dev);
	*out = lease;
	return 0;
}

static void lease_link(struct accel_lease *lease)
{
	struct accel_ctx *ctx = lease->dev->ctx;

	pthread_mutex_lock(&ctx->lock);
	lease->next = ctx->leases;
	ctx->leases = lease;
	pthread_mutex_unlock(&ctx->lock);
}

static void lease_unlink(struct accel_lease *lease)
{
	struct accel_ctx *ctx = lease->dev->ctx;
	struct accel_lease **at;

	pthread_mutex_lock(&ctx->lock);
	for (at = &ctx->leases; *at; at = &(*at)->next) {
		if (*at == lease) {
			*at = lease->next;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
}

/* With dev->lock held: the node as the leases of this handle want it. */
static int hold_update(struct accel_dev *dev)
{
	enum transport_hold want = dev->nexclusive ? TRANSPORT_HOLD_EXCLUSIVE :
				   dev->nshared	   ? TRANSPORT_HOLD_SHARED :
						     TRANSPORT_HOLD_NONE;
	int ret;

	if (want == dev->held)
		return 0;
	ret = transport_hold(dev->ops, dev->tdev, want);
	if (!ret)
		dev->held = want;
	else	/* a lock that could not be made another may be gone */
		transport_hold(dev->ops, dev->tdev, dev->held);
	return ret;
}

/* Which of its device's counters the lease is in. */
static unsigned int *hold_count(const struct accel_lease *lease)
{
	return lease->flags & ACCEL_LEASE_EXCLUSIVE ? &lease->dev->nexclusive : &lease->dev->nshared;
}

static int hold_try(struct accel_lease *lease)
{
	unsigned int *n = hold_count(lease);
	int ret;

	pthread_mutex_lock(&lease->dev->lock);
	++*n;
	ret = hold_update(lease->dev);
	if (ret)
		--*n;
	pthread_mutex_unlock(&lease->dev->lock);
	lease->holds = !ret;
	return ret;
}

static void hold_drop(struct accel_lease *lease)
{
	unsigned int *n = hold_count(lease);

	if (!lease->holds)
		return;
	lease->holds = false;
	pthread_mutex_lock(&lease->dev->lock);
	--*n;
	hold_update(lease->dev);
	pthread_mutex_unlock(&lease->dev->lock);
}

/*
 * The device has granted the lease, so whoever has locked the node is none of its users, or is about to let it go.
 * udev looks at a node for some milliseconds; others are not waited for longer than the caller wants. The lease is
 * kept meanwhile.
 */
static int hold_wait(struct accel_lease *lease, uint64_t deadline)
{
	int ret;

	deadline = BASE_MAX(deadline, api_deadline(HOLD_WAIT_MS));
	while ((ret = hold_try(lease)) == -EBUSY && api_left_ms(deadline) && !lease_ended(lease)) {
		sleep_ms(BACKOFF_MAX_MS / 10);
		lease_keep(lease, api_now_ns());
	}
	if (ret)
		ctx_log(lease->dev->ctx, ACCEL_LOG_ERROR, "%s: the device has granted a lease, but the node cannot be "
			"locked (flock): %s", lease->dev->info.path, ret == -EBUSY ? "somebody else, who has no lease, "
			"has it locked" : accel_strerror(ret));
	return ret;
}

static void give_back(struct accel_dev *dev, uint32_t index, struct wire_claim *claim)
{
	claim->op = NVME_ACCEL_LEASE_RELEASE;
	lease_page_write(dev, index, claim, LEASE_IO_MS);
}

int lease_acquire(struct accel_dev *dev, const struct accel_lease_opts *opts, int timeout_ms, int path_ms,
		  struct accel_lease **out)
{
	uint64_t deadline = api_deadline(timeout_ms);
	struct wire_claim claim;
	struct wire_lease page;
	uint32_t index = 0;
	uint64_t sent_ns;
	int ret;

	ret = lease_claim_fill(dev, opts, &claim);
	if (!ret)
		ret = claim_wait(dev, &claim, deadline, path_ms, &page, &index, &sent_ns);
	if (!ret) {
		claim.epoch = page.epoch;
		ret = lease_new(dev, &page, &claim, index, sent_ns, out);
		if (ret)
			give_back(dev, index, &claim);
	}
	if (!ret) {
		lease_link(*out);
		ret = hold_wait(*out, deadline);
		if (ret)
			accel_lease_release(*out);
	}
	api_wipe(&claim, sizeof(claim));
	return ret;
}

int accel_lease_acquire(struct accel_dev *dev, const struct accel_lease_opts *opts, int timeout_ms,
			struct accel_lease **lease)
{
	if (!dev || !lease || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	return lease_acquire(dev, opts, timeout_ms, PATH_WAIT_MS, lease);
}

void lease_set_ended(struct accel_lease *lease)
{
	__atomic_store_n(&lease->ended, 1, __ATOMIC_RELEASE);
}

static void own_claim(const struct accel_lease *lease, uint16_t op, struct wire_claim *claim)
{
	memset(claim, 0, sizeof(*claim));
	claim->op = op;
	claim->epoch = lease->epoch;
	memcpy(claim->claim_id, lease->claim_id, sizeof(claim->claim_id));
	memcpy(claim->nonce, lease->nonce, sizeof(claim->nonce));
	memcpy(claim->hostid, lease->hostid, sizeof(claim->hostid));
}

static bool still_ours(const struct accel_lease *lease, const struct wire_lease *page)
{
	return page->state == NVME_ACCEL_LEASE_HELD && page->epoch == lease->epoch &&
	       page->bootid == lease->bootid &&
	       memcmp(page->claim_id, lease->claim_id, sizeof(lease->claim_id)) == 0;
}

static uint64_t lease_end_ns(const struct accel_lease *lease)
{
	return __atomic_load_n(&lease->sure_ns, __ATOMIC_RELAXED) + (uint64_t)lease->duration_ms * API_NS_PER_MS;
}

/*
 * The device could not be asked, which err is. The lease has ended if it must have by the clock, or if nothing can
 * come of asking again: the namespace is gone or another one, or this host is not let in any more.
 */
static int not_asked(struct accel_lease *lease, int err)
{
	if (err != -ENODEV && err != -ENOENT && err != -EACCES && api_now_ns() < lease_end_ns(lease))
		return err;
	lease_set_ended(lease);
	return -ESTALE;
}

int accel_lease_renew(struct accel_lease *lease)
{
	uint64_t now = api_now_ns(), deadline;
	struct wire_claim claim;
	struct wire_lease page;
	int ret;

	if (!lease)
		return -EINVAL;
	if (dev_stale(lease->dev) || lease_ended(lease))
		return -ESTALE;
	deadline = BASE_MIN(BASE_MAX(lease_end_ns(lease), now + RENEW_MIN_MS * API_NS_PER_MS),
			    now + LEASE_IO_MS * API_NS_PER_MS);
	own_claim(lease, NVME_ACCEL_LEASE_RENEW, &claim);
	ret = lease_page_write(lease->dev, lease->index, &claim, api_left_ms(deadline));
	api_wipe(&claim, sizeof(claim));
	if (!ret)
		ret = lease_page_read(lease->dev, lease->index, &page, api_left_ms(deadline));
	if (ret)
		return not_asked(lease, ret);
	if (!still_ours(lease, &page)) {
		lease_set_ended(lease);
		return -ESTALE;
	}
	__atomic_store_n(&lease->active_ns, now, __ATOMIC_RELAXED);
	lease_sure(lease, now);
	return 0;
}

void lease_keep(struct accel_lease *lease, uint64_t now_ns)
{
	uint64_t active = __atomic_load_n(&lease->active_ns, __ATOMIC_RELAXED);

	if (now_ns <= active || now_ns - active < (uint64_t)lease->duration_ms * API_NS_PER_MS / 2)
		return;
	if (lease_ended(lease) || accel_lease_renew(lease) == 0)
		return;
	/* The path failed for now: the next try comes before the lease ends, and not at once. */
	active = now_ns - (uint64_t)lease->duration_ms * API_NS_PER_MS * 3 / 8;
	__atomic_store_n(&lease->active_ns, active, __ATOMIC_RELAXED);
}

int accel_lease_info(struct accel_lease *lease, struct accel_lease_info *info)
{
	struct wire_lease page;
	int ret;

	if (!lease || !info)
		return -EINVAL;
	if (dev_stale(lease->dev))
		return -ESTALE;
	ret = lease_page_read(lease->dev, lease->index, &page, LEASE_IO_MS);
	if (ret)
		return not_asked(lease, ret);
	if (lease_ended(lease) || !still_ours(lease, &page)) {
		lease_set_ended(lease);
		return -ESTALE;
	}
	lease_info_fill(lease->dev, lease->index, &page, info);
	return 0;
}

void lease_get(struct accel_lease *lease)
{
	ref_get(&lease->refs);
}

void lease_put(struct accel_lease *lease)
{
	struct accel_dev *dev;

	if (!ref_put(&lease->refs))
		return;
	dev = lease->dev;
	pthread_mutex_destroy(&lease->lock);
	free(lease->slots);
	api_wipe(lease, sizeof(*lease));
	free(lease);
	dev_put(dev);
}

void accel_lease_release(struct accel_lease *lease)
{
	struct wire_claim claim;
	bool over;

	if (!lease)
		return;
	if (!dev_stale(lease->dev)) {
		over = lease_ended(lease);
		lease_drop_many(lease);
		lease_unlink(lease);
		lease_set_ended(lease);
		/* Before the device knows: whoever it grants the next lease to finds the node free. */
		hold_drop(lease);
		own_claim(lease, NVME_ACCEL_LEASE_RELEASE, &claim);
		if (!over)
			lease_page_write(lease->dev, lease->index, &claim, LEASE_IO_MS);
		api_wipe(&claim, sizeof(claim));
	} else {
		accel_queue_free(lease->many);
	}
	lease_put(lease);
}

int lease_take(struct accel_lease *lease, uint32_t n, uint32_t *which)
{
	uint32_t i, got = 0;

	pthread_mutex_lock(&lease->lock);
	if (lease->nfree < n) {
		pthread_mutex_unlock(&lease->lock);
		return -ENOSPC;
	}
	for (i = 0; i < lease->nslot && got < n; i++) {
		if (lease->slots[i].taken)
			continue;
		lease->slots[i].taken = true;
		which[got++] = i;
	}
	lease->nfree -= n;
	pthread_mutex_unlock(&lease->lock);
	return 0;
}

/* A slot whose job never ended stays taken: its next job might be mistaken for that one. */
void lease_give(struct accel_lease *lease, uint32_t n, const uint32_t *which)
{
	uint32_t i;

	pthread_mutex_lock(&lease->lock);
	for (i = 0; i < n; i++) {
		if (lease->slots[which[i]].lost)
			continue;
		lease->slots[which[i]].taken = false;
		lease->nfree++;
	}
	pthread_mutex_unlock(&lease->lock);
}
