// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies. A lane is a slot with a transfer: a chunk is read into it, then written from it, then the lane takes the next chunk.
 * Lanes that are done are collected, until they are half of those under way, and stepped on together by one work: many transfers
 * cost one switch of context and one doorbell. Now and then it looks at the CMB, so that a copy that has lost it ends early; the
 * look that counts is the one at the job's end, which no loss escapes, as nothing turns the CMB on again while a job runs.
 */
#include <linux/bio.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "p2p.h"
#include "p2p_trace.h"

#define LOOK_PERIOD	max(HZ / 100, 1)	/* of the CMB's registers, which cost a round trip over the bus each */

struct lane {
	struct list_head entry;		/* copy.done */
	struct copy *copy;
	struct bio bio;
	struct bio_vec vec;
	const struct p2p_slot *slot;
	u64 src, dst;
	u32 len;
	bool writing;
};

struct copy {
	struct p2p_job job;
	struct nvme_accel_p2p_extent *extents;
	u32 nr_extents;
	u32 next;		/* extent, and how far */
	u64 next_off;
	u32 chunk;
	u32 active;		/* lanes under way; it changes while the work runs */
	bool started;
	bool tested;		/* the self-test of the destination is over */
	unsigned long next_look;	/* jiffies */
	spinlock_t lock;
	struct list_head done;	/* lanes whose transfer has ended */
	u32 nr_done;
	bool working;		/* the work is queued or runs, and will look at `done` again before it ends */
	u32 nr_lanes;
	struct lane *lanes;
};

static struct copy *to_copy(struct p2p_job *job)
{
	return container_of(job, struct copy, job);
}

/* ---- Transfers ---- */

/* With c->lock held: whether it is worth a run of the work. What is left under way makes it so later. */
static bool enough_done(const struct copy *c)
{
	return c->nr_done && 2 * c->nr_done >= c->active;
}

/*
 * The work is queued under the lock: once it has taken the last lane, nobody but itself knows of the job's memory, which
 * ends with it.
 */
static void transfer_done(struct bio *bio)
{
	struct lane *l = bio->bi_private;
	struct copy *c = l->copy;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	list_add_tail(&l->entry, &c->done);
	c->nr_done++;
	if (!c->working && enough_done(c)) {
		queue_work(p2p_wq, &c->job.work);
		c->working = true;
	}
	spin_unlock_irqrestore(&c->lock, flags);
}

/* Never merged with another lane's: a command of one piece needs no list of pieces. */
static void transfer(struct lane *l, bool write)
{
	const struct p2p_client *client = write ? &l->copy->job.dst : &l->copy->job.src;
	blk_opf_t opf = (write ? REQ_OP_WRITE | REQ_IDLE : REQ_OP_READ) | REQ_SYNC | REQ_NOMERGE;
	u64 off = write ? l->dst : l->src;

	l->writing = write;
	bio_init(&l->bio, client->bdev, &l->vec, 1, opf);
	l->bio.bi_iter.bi_sector = off >> SECTOR_SHIFT;
	l->bio.bi_private = l;
	l->bio.bi_end_io = transfer_done;
	__bio_add_page(&l->bio, l->slot->page, l->len, 0);
	trace_nvme_accel_p2p_submit(&l->copy->job, client, write, off, l->len);
	submit_bio(&l->bio);
}

/* False: there is none left. */
static bool next_chunk(struct copy *c, struct lane *l)
{
	const struct nvme_accel_p2p_extent *e = &c->extents[c->next];

	if (c->next == c->nr_extents)
		return false;
	l->src = e->src_off + c->next_off;
	l->dst = e->dst_off + c->next_off;
	l->len = min_t(u64, c->chunk, e->len - c->next_off);
	c->next_off += l->len;
	if (c->next_off == e->len) {
		c->next++;
		c->next_off = 0;
	}
	return true;
}

/* ---- Steps ---- */

/* The first write of a pair of devices is one that is looked at. */
static bool tested(struct lane *l)
{
	struct p2p_job *job = &l->copy->job;
	int ret;

	if (l->copy->tested)
		return true;
	ret = p2p_selftest_out(job->p, &job->dst, l->dst, l->len, l->slot);
	l->copy->tested = !ret;
	if (ret)
		p2p_job_fail(job, ret, ret == -ESTALE ? NVME_ACCEL_P2P_AT_PROVIDER : NVME_ACCEL_P2P_AT_DESTINATION);
	return !ret;
}

static void count_transfer(struct lane *l)
{
	struct p2p_job *job = &l->copy->job;
	int error = blk_status_to_errno(l->bio.bi_status);

	trace_nvme_accel_p2p_complete(job, l->writing ? &job->dst : &job->src, l->writing, l->writing ? l->dst : l->src, l->len, error);
	bio_uninit(&l->bio);
	if (error) {
		p2p_job_fail(job, error, l->writing ? NVME_ACCEL_P2P_AT_DESTINATION : NVME_ACCEL_P2P_AT_SOURCE);
		return;
	}
	p2p_job_moved(job, !l->writing, l->len);
}

static void look(struct copy *c)
{
	if (READ_ONCE(c->job.p->dead) || time_after_eq(jiffies, c->next_look)) {
		c->next_look = jiffies + LOOK_PERIOD;
		p2p_job_intact(&c->job);
	}
}

/* What has been read is written, and then the next chunk read; whether the lane has something to do. */
static bool step(struct lane *l)
{
	struct copy *c = l->copy;

	if (p2p_job_stopped(&c->job))
		return false;
	if (!l->writing) {
		if (!tested(l))
			return false;
		transfer(l, true);
		return true;
	}
	WRITE_ONCE(c->job.bytes_done, c->job.bytes_done + l->len);
	if (!next_chunk(c, l))
		return false;
	transfer(l, false);
	return true;
}

/* False: there is too little to be done now; a transfer that ends queues the work again. */
static bool take(struct copy *c, struct list_head *list)
{
	spin_lock_irq(&c->lock);
	c->working = enough_done(c);
	if (c->working) {
		list_splice_init(&c->done, list);
		c->nr_done = 0;
	}
	spin_unlock_irq(&c->lock);
	return !list_empty(list);
}

/* Whether transfers are under way still: then c may be gone already, as another run of the work has it. */
static bool step_all(struct copy *c)
{
	struct lane *l, *next;
	struct blk_plug plug;
	LIST_HEAD(list);

	while (take(c, &list)) {
		list_for_each_entry(l, &list, entry)
			count_transfer(l);
		look(c);
		blk_start_plug(&plug);
		list_for_each_entry_safe(l, next, &list, entry) {
			list_del(&l->entry);
			if (!step(l))
				c->active--;
		}
		blk_finish_plug(&plug);
		if (!c->active)
			return false;
		cond_resched();
	}
	return true;
}

static int test_reads(struct p2p_job *job)
{
	int ret;

	ret = p2p_selftest_in(job->p, &job->src);
	if (ret)
		p2p_job_fail(job, ret, NVME_ACCEL_P2P_AT_SOURCE);
	else
		ret = p2p_selftest_in(job->p, &job->dst);
	if (ret)
		p2p_job_fail(job, ret, NVME_ACCEL_P2P_AT_DESTINATION);
	return ret;
}

static void start(struct copy *c)
{
	struct blk_plug plug;
	u32 i;

	c->started = true;
	c->next_look = jiffies + LOOK_PERIOD;
	if (p2p_job_begin(&c->job) || test_reads(&c->job))
		return;
	blk_start_plug(&plug);
	for (i = 0; i < c->nr_lanes && next_chunk(c, &c->lanes[i]); i++) {
		c->active++;
		transfer(&c->lanes[i], false);
	}
	blk_finish_plug(&plug);
}

static void copy_work(struct work_struct *work)
{
	struct copy *c = to_copy(container_of(work, struct p2p_job, work));

	if (!c->started)
		start(c);
	if (c->active && step_all(c))
		return;
	p2p_extents_sync(&c->job, c->extents, c->nr_extents, false);
	p2p_job_end(&c->job);
}

/* ---- Arguments ---- */

static int check_extents(struct copy *c)
{
	const struct nvme_accel_p2p_extent *e;
	int ret;
	u32 i;

	for (i = 0; i < c->nr_extents; i++) {
		e = &c->extents[i];
		ret = e->len ? p2p_client_range(&c->job.src, e->src_off, e->len) : -EINVAL;
		if (!ret)
			ret = p2p_client_range(&c->job.dst, e->dst_off, e->len);
		if (ret)
			return ret;
		c->job.bytes_total += e->len;
	}
	return p2p_extents_check(&c->job.src, &c->job.dst, c->extents, c->nr_extents);
}

static int check_chunk(struct copy *c, const struct nvme_accel_p2p_copy *a)
{
	u32 bs = max(bdev_logical_block_size(c->job.src.bdev), bdev_logical_block_size(c->job.dst.bdev));

	c->chunk = a->chunk ?: c->job.set->slot_bytes;
	return c->chunk > c->job.set->slot_bytes || !IS_ALIGNED(c->chunk, bs) ? -EINVAL : 0;
}

static void release(struct p2p_job *job)
{
	struct copy *c = to_copy(job);

	kvfree(c->extents);
	kvfree(c->lanes);
	kfree(c);
}

static int copy_arguments(struct copy *c, const struct nvme_accel_p2p_copy *a)
{
	c->lanes = kvcalloc(c->nr_lanes, sizeof(*c->lanes), GFP_KERNEL);
	if (!c->lanes)
		return -ENOMEM;
	c->extents = vmemdup_user(u64_to_user_ptr(a->extents), array_size(a->nr_extents, sizeof(*c->extents)));
	if (IS_ERR(c->extents)) {
		int ret = PTR_ERR(c->extents);

		c->extents = NULL;
		return ret;
	}
	c->nr_extents = a->nr_extents;
	return 0;
}

static struct copy *new_copy(struct p2p_file *f, const struct nvme_accel_p2p_copy *a, u32 nr_lanes)
{
	struct copy *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->nr_lanes = nr_lanes;
	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->done);
	c->working = true;
	p2p_job_init(&c->job, f, copy_work);
	c->job.release = release;
	c->job.timeout_ms = a->timeout_ms;
	return c;
}

/* The slots that the set has; 0: there is no such set. */
static u32 nr_slots(struct p2p_file *f, u32 handle)
{
	struct p2p_set *s;
	u32 n;

	mutex_lock(&f->lock);
	s = p2p_set_find(f, handle);
	n = s ? s->nr : 0;
	mutex_unlock(&f->lock);
	return n;
}

static int prepare(struct copy *c, const struct nvme_accel_p2p_copy *a)
{
	u32 i;
	int ret;

	ret = copy_arguments(c, a);
	if (!ret)
		ret = p2p_job_claim(&c->job, a->handle, 0, 0);
	if (!ret && c->nr_lanes > c->job.nr_slots)
		ret = -EINVAL;
	if (!ret)
		ret = p2p_job_source(&c->job, a->src_fd);
	if (!ret)
		ret = p2p_job_destination(&c->job, a->dst_fd);
	if (!ret)
		ret = check_chunk(c, a);
	if (!ret)
		ret = check_extents(c);
	if (ret)
		return ret;
	for (i = 0; i < c->nr_lanes; i++) {
		c->lanes[i].copy = c;
		c->lanes[i].slot = &c->job.set->slots[i];
	}
	return p2p_extents_sync(&c->job, c->extents, c->nr_extents, true);
}

int p2p_copy(struct p2p_file *f, const struct nvme_accel_p2p_copy *a, u32 __user *id)
{
	u32 slots = nr_slots(f, a->handle), lanes = a->depth ?: slots;
	struct copy *c;
	int ret;

	if (a->flags || a->pad || a->reserved[0] || a->reserved[1] || !a->nr_extents)
		return -EINVAL;
	if (a->nr_extents > NVME_ACCEL_P2P_MAX_EXTENTS)
		return -E2BIG;
	if (!slots)
		return -ENOENT;
	if (lanes > slots)
		return -EINVAL;
	c = new_copy(f, a, lanes);
	if (!c)
		return -ENOMEM;
	ret = prepare(c, a);
	if (!ret)
		ret = p2p_job_start(&c->job, id);
	if (ret)
		p2p_job_abandon(&c->job);
	return ret;
}
