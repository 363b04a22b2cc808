// SPDX-License-Identifier: GPL-2.0-only
/* A copy's extents: whether they are in each other's way, as chunks are moved in no order; and what the page cache has of them. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "p2p.h"

/* A range on a disk: of the destination, or of the source if that is the same disk. */
struct range_of {
	u64 start, end;
	bool dst;
};

static int by_start(const void *a, const void *b)
{
	const struct range_of *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* In order of their starts: a range is in the way of one before it that ends later, unless both are sources. */
static bool overlap(struct range_of *r, u32 n)
{
	u64 end[2] = { };
	u32 i;

	sort(r, n, sizeof(*r), by_start, NULL);
	for (i = 0; i < n; i++) {
		if (r[i].start < end[1] || (r[i].dst && r[i].start < end[0]))
			return true;
		end[r[i].dst] = max(end[r[i].dst], r[i].end);
	}
	return false;
}

static struct range_of on_disk(const struct p2p_client *c, u64 off, u64 len, bool dst)
{
	u64 start = ((u64)c->bdev->bd_start_sect << SECTOR_SHIFT) + off;

	return (struct range_of){ start, start + len, dst };
}

int p2p_extents_check(const struct p2p_client *src, const struct p2p_client *dst, const struct nvme_accel_p2p_extent *e, u32 n)
{
	bool same = src->bdev->bd_disk == dst->bdev->bd_disk;
	struct range_of *r;
	u32 i, k = 0;
	int ret;

	r = kvmalloc_array(n, sizeof(*r) * 2, GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		r[k++] = on_disk(dst, e[i].dst_off, e[i].len, true);
		if (same)
			r[k++] = on_disk(src, e[i].src_off, e[i].len, false);
	}
	ret = overlap(r, k) ? -EINVAL : 0;
	kvfree(r);
	return ret;
}

int p2p_extents_sync(struct p2p_job *job, const struct nvme_accel_p2p_extent *e, u32 n, bool before)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < n; i++, e++) {
		if (before)
			ret = p2p_client_sync(&job->src, e->src_off, e->len, false);
		if (!ret)
			ret = p2p_client_sync(&job->dst, e->dst_off, e->len, true);
		cond_resched();
	}
	return ret;
}
