// SPDX-License-Identifier: BSD-2-Clause
/* Around leases: options, listing, breaking somebody's, and the lock on a whole accelerator. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lease_priv.h"

#define LEASE_DEFAULT_MS 10000u
#define LOCK_MS 60000u
#define LEASE_FLAGS (ACCEL_LEASE_EXCLUSIVE | ACCEL_LEASE_PREEMPTIBLE)

static bool opts_ok(const struct accel_lease_opts *o)
{
	return o->size == sizeof(*o) && !(o->flags & ~LEASE_FLAGS) && !o->pad &&
	       mem_is_zero(o->reserved, sizeof(o->reserved));
}

static uint32_t default_duration(const struct accel_dev *dev)
{
	return BASE_MAX(BASE_MIN(LEASE_DEFAULT_MS, dev->id.leasemax_ms), dev->id.leasemin_ms);
}

static int fill_numbers(struct accel_dev *dev, const struct accel_lease_opts *o, struct wire_claim *claim)
{
	uint32_t nslot = dev->id.nslot;
	uint32_t min = o && o->slots_min ? o->slots_min : 1;
	uint32_t want = o && o->slots_wanted ? o->slots_wanted : BASE_MAX(16u, min);
	uint32_t ms = o && o->duration_ms ? o->duration_ms : default_duration(dev);

	if (min > want || min > nslot || ms < dev->id.leasemin_ms || ms > dev->id.leasemax_ms)
		return -EINVAL;
	claim->flags = (uint16_t)(o ? o->flags : 0);
	claim->slots_wanted = claim->flags & ACCEL_LEASE_EXCLUSIVE ? nslot : BASE_MIN(want, nslot);
	claim->slots_min = claim->flags & ACCEL_LEASE_EXCLUSIVE ? nslot : min;
	claim->duration_ms = ms;
	return 0;
}

int lease_claim_fill(struct accel_dev *dev, const struct accel_lease_opts *opts, struct wire_claim *claim)
{
	int ret;

	memset(claim, 0, sizeof(*claim));
	if (opts && !opts_ok(opts))
		return -EINVAL;
	if (!dev->id.nlease)
		return -ENOTSUP;
	claim->op = NVME_ACCEL_LEASE_CLAIM;
	ret = fill_numbers(dev, opts, claim);
	if (ret)
		return ret;
	if (opts && opts->label)
		snprintf(claim->label, sizeof(claim->label), "%s", opts->label);
	else
		snprintf(claim->label, sizeof(claim->label), "%.20s %d", program_invocation_short_name,
			 (int)getpid());
	memcpy(claim->hostid, dev->ctx->env.hostid, sizeof(claim->hostid));
	ret = api_random(claim->claim_id, sizeof(claim->claim_id));
	return ret ? ret : api_random(claim->nonce, sizeof(claim->nonce));
}

static bool is_mine(struct accel_ctx *ctx, const uint8_t claim_id[8])
{
	struct accel_lease *l;

	pthread_mutex_lock(&ctx->lock);
	for (l = ctx->leases; l; l = l->next)
		if (memcmp(l->claim_id, claim_id, 8) == 0)
			break;
	pthread_mutex_unlock(&ctx->lock);
	return l != NULL;
}

void lease_info_fill(struct accel_dev *dev, uint32_t index, const struct wire_lease *page,
		     struct accel_lease_info *info)
{
	memset(info, 0, sizeof(*info));
	info->index = index;
	info->epoch = page->epoch;
	info->state = page->state;
	info->mine = page->state == NVME_ACCEL_LEASE_HELD && is_mine(dev->ctx, page->claim_id);
	info->flags = page->flags;
	info->nslot = page->nslot;
	info->remaining_ms = page->remaining_ms;
	info->duration_ms = page->duration_ms;
	memcpy(info->claim_id, page->claim_id, sizeof(info->claim_id));
	memcpy(info->hostid, page->hostid, sizeof(info->hostid));
	memcpy(info->label, page->label, sizeof(info->label));
}

int accel_lease_list(struct accel_dev *dev, struct accel_lease_info *infos, size_t max)
{
	struct wire_lease page;
	uint32_t i;
	int n = 0, ret;

	if (!dev || (max && !infos))
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	for (i = 0; i < dev->id.nlease; i++) {
		ret = lease_page_read(dev, i, &page, LEASE_IO_MS);
		if (ret)
			return ret;
		if (page.state == NVME_ACCEL_LEASE_FREE)
			continue;
		if ((size_t)n < max)
			lease_info_fill(dev, i, &page, &infos[n]);
		n++;
	}
	return n;
}

int accel_lease_break(struct accel_dev *dev, uint32_t index, uint32_t epoch)
{
	struct wire_claim claim = { .op = NVME_ACCEL_LEASE_BREAK };
	struct wire_lease page;
	int ret;

	if (!dev || index >= dev->id.nlease)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	ret = lease_page_read(dev, index, &page, LEASE_IO_MS);
	if (ret)
		return ret;
	if (page.state != NVME_ACCEL_LEASE_HELD || page.epoch != epoch)
		return -ESTALE;
	claim.epoch = epoch;
	memcpy(claim.claim_id, page.claim_id, sizeof(claim.claim_id));
	ret = lease_page_write(dev, index, &claim, LEASE_IO_MS);
	if (!ret)
		ret = lease_page_read(dev, index, &page, LEASE_IO_MS);
	if (ret)
		return ret;
	return page.state == NVME_ACCEL_LEASE_HELD && page.epoch == epoch ? -EACCES : 0;
}

/* With dev->lock held: whether the handle has the lock, a lost one being let go. */
static bool lock_held(struct accel_dev *dev, struct accel_lease **lost)
{
	*lost = NULL;
	if (!dev->locked)
		return false;
	if (!lease_ended(dev->locked))
		return true;
	*lost = dev->locked;
	dev->locked = NULL;
	return false;
}

/* A lock whose lease has run out unnoticed is noticed here; one that has not is good for LOCK_MS again. */
static void lock_check(struct accel_dev *dev)
{
	struct accel_lease *lease = lock_lease(dev);

	if (!lease)
		return;
	accel_lease_renew(lease);
	lease_put(lease);
}

int accel_dev_lock(struct accel_dev *dev, int timeout_ms)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct accel_lease *lease, *lost;
	bool held;
	int ret;

	if (!dev || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	lock_check(dev);
	pthread_mutex_lock(&dev->lock);
	held = lock_held(dev, &lost);
	pthread_mutex_unlock(&dev->lock);
	accel_lease_release(lost);
	if (held)
		return -EALREADY;
	opts.flags = ACCEL_LEASE_EXCLUSIVE;
	opts.duration_ms = BASE_MAX(BASE_MIN(LOCK_MS, dev->id.leasemax_ms), dev->id.leasemin_ms);
	ret = lease_acquire(dev, &opts, timeout_ms, PATH_WAIT_MS, &lease);
	if (ret)
		return ret;
	/* Nobody else can have got it meanwhile: the device grants an exclusive lease once. */
	pthread_mutex_lock(&dev->lock);
	dev->locked = lease;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int accel_dev_unlock(struct accel_dev *dev)
{
	struct accel_lease *lease;
	int ret = 0;

	if (!dev)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	pthread_mutex_lock(&dev->lock);
	lease = dev->locked;
	dev->locked = NULL;
	pthread_mutex_unlock(&dev->lock);
	if (!lease)
		return -EPERM;
	if (accel_lease_renew(lease) == -ESTALE)
		ret = -ESTALE;
	accel_lease_release(lease);
	return ret;
}

void lease_unlock_dev(struct accel_dev *dev)
{
	struct accel_lease *lease = dev->locked;

	dev->locked = NULL;
	accel_lease_release(lease);
}
