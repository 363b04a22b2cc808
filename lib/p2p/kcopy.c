// SPDX-License-Identifier: BSD-2-Clause
/* A copy by the module: a set of slots, and one job over all extents. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "p2p.h"

#define END_MS 60000u			/* for a job to end that was told to: the devices' own time limit is half of it */

#define UNIT 65536u			/* no block is larger */

/* Half of what there was no room for: of the slots down to four, then of their size in whole units, then of the slots down to two. */
static bool halve(uint32_t *chunk, uint32_t *depth, uint32_t unit)
{
	if (*depth <= 4 && !(*chunk / 2 % unit))
		*chunk /= 2;
	else if (*depth >= 4)
		*depth /= 2;
	else
		return false;
	return true;
}

int p2p_kcopy_open(struct p2p_kcopy *k, const struct p2p_module *m, uint32_t provider, uint32_t chunk, uint32_t depth,
		   bool whole)
{
	struct nvme_accel_p2p_alloc a;
	uint64_t align = m->info.slot_align;
	int ret;

	memset(k, 0, sizeof(*k));
	k->m = m;
	if (!align || align & (align - 1) || align > 1u << 24)
		return -EPROTO;
	/* Others have slots there, too; fewer and smaller ones will do. */
	do {
		memset(&a, 0, sizeof(a));
		a.provider = provider;
		a.nr_slots = depth;
		a.slot_bytes = (chunk + align - 1) & ~(align - 1);
		ret = p2p_module_call(m, NVME_ACCEL_P2P_ALLOC, &a);
	} while (ret == -ENOSPC && halve(&chunk, &depth, whole ? chunk : UNIT));
	if (!ret && !a.handle)
		ret = -EPROTO;
	k->set = ret ? 0 : a.handle;
	return ret;
}

int p2p_kcopy_start(struct p2p_kcopy *k, int src, int dst, const struct nvme_accel_p2p_extent *list, uint32_t n,
		    uint32_t timeout_ms)
{
	struct nvme_accel_p2p_copy c;
	int ret;

	memset(&c, 0, sizeof(c));
	memset(&k->last, 0, sizeof(k->last));
	c.handle = k->set;
	c.src_fd = src;
	c.dst_fd = dst;
	c.extents = (uintptr_t)list;
	c.nr_extents = n;
	c.timeout_ms = timeout_ms;
	ret = p2p_module_call(k->m, NVME_ACCEL_P2P_COPY, &c);
	if (!ret && !c.job)
		ret = -EPROTO;
	k->job = ret ? 0 : c.job;
	return ret;
}

static int wait_job(struct p2p_kcopy *k, uint32_t timeout_ms)
{
	struct nvme_accel_p2p_wait w;
	int ret;

	memset(&w, 0, sizeof(w));
	w.job = k->job;
	w.timeout_ms = timeout_ms;
	ret = p2p_module_call(k->m, NVME_ACCEL_P2P_WAIT, &w);
	if (ret == -EINTR)
		return 0;
	if (!ret)
		k->last = w;
	if (!ret && w.state == NVME_ACCEL_P2P_JOB_RUNNING)
		return 0;
	k->job = 0;
	if (ret)
		return ret;
	if (w.state == NVME_ACCEL_P2P_JOB_OK)
		return 1;
	return w.error < 0 && w.error >= -4095 ? w.error :
	       w.state == NVME_ACCEL_P2P_JOB_CANCELLED ? -ECANCELED : -EIO;
}

int p2p_kcopy_step(struct p2p_kcopy *k, int timeout_ms)
{
	/* A wait for ever comes back now and then, so that the caller sees how far it is. */
	return k->job ? wait_job(k, timeout_ms < 0 ? 1000 : (uint32_t)timeout_ms) : -ENOENT;
}

void p2p_kcopy_cancel(struct p2p_kcopy *k)
{
	struct nvme_accel_p2p_cancel c = { .job = k->job };

	if (k->job)
		p2p_module_call(k->m, NVME_ACCEL_P2P_CANCEL, &c);
}

void p2p_kcopy_close(struct p2p_kcopy *k)
{
	struct nvme_accel_p2p_free f = { .handle = k->set };
	unsigned int i;

	p2p_kcopy_cancel(k);
	for (i = 0; k->job && i < END_MS / 1000; i++)
		wait_job(k, 1000);
	/* A job that does not end keeps its slots until the file is closed. */
	if (k->set)
		p2p_module_call(k->m, NVME_ACCEL_P2P_FREE, &f);
	k->set = 0;
}
