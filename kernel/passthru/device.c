// SPDX-License-Identifier: GPL-2.0-only
/*
 * Namespaces of kind `device`: every command becomes one command of the namespace below, on the same data, and ends when
 * and as that ends. Nothing is kept here, and no process is in between: a request is allocated, and a bio if the data have
 * more than one. What waits for room below stays in the upper queue.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include "core.h"
#include "lower.h"

#define NR_BIOS			64	/* that are there even when there is no memory */
#define NAP_SC_MASK		0x7ff	/* of a status: SCT, SC */
#define NAP_SC_HOST		0x370	/* from here on: a host's driver said it, no device */
#define NSATTR_WRITE_PROTECTED	0x01

struct nap_device {
	struct nap_lower *lower;
	struct bio_set bios;
	atomic_t waiting;	/* a command found no room below */
};

/* ---- How it ends ---- */

static bool is_there(struct nap_device *d)
{
	struct nvme_ns *below;
	bool there;

	rcu_read_lock();
	below = rcu_dereference(d->lower->below);
	there = below && nap_lower_alive(d->lower, below) && !nap_lower_lost(below);
	rcu_read_unlock();
	return there;
}

/*
 * As below, but for what only nvme-core says: that it gave the command up (SCT 3, SC 70h and more, or no status at all).
 * It does so when the controller goes, and when it is reset: then the command may be sent again, and waits in forward().
 * The virtual controller has no error log and no retry delays of its own, so those bits stay here.
 */
static u16 upper_status(struct nap_device *d, struct request *lower, blk_status_t error, enum nap_reason *reason)
{
	u16 status = nvme_req(lower)->status & (NAP_SC_MASK | NAP_SC_DNR);
	bool given_up = nvme_req(lower)->flags & NVME_REQ_CANCELLED || (status & NAP_SC_MASK) >= NAP_SC_HOST;

	if (given_up && is_there(d)) {
		*reason = NAP_R_RESET;
		return NAP_SC_HOST_ABORTED;
	}
	if (given_up || (error && !status)) {
		*reason = NAP_R_GONE;
		return NAP_SC_PATH_INTERNAL;
	}
	*reason = status ? NAP_R_LOWER : NAP_R_OK;
	return status;
}

static enum rq_end_io_ret device_done(struct request *lower, blk_status_t error)
{
	struct nap_req *r = lower->end_io_data;
	struct nap_device *d = r->ns->priv;
	union nvme_result result = nvme_req(lower)->result;
	enum nap_reason reason;
	u16 status = upper_status(d, lower, error, &reason);

	/* Its tag is what somebody may wait for. */
	blk_mq_free_request(lower);
	if (atomic_read(&d->waiting) && atomic_xchg(&d->waiting, 0))
		blk_mq_run_hw_queues(nap_rq(r)->q, true);
	nap_complete(r, status, result, reason);
	return RQ_END_IO_NONE;
}

static blk_status_t end_here(struct nap_req *r, u16 status, enum nap_reason reason)
{
	nap_complete(r, status, (union nvme_result){ }, reason);
	return BLK_STS_OK;
}

/* ---- How it begins ---- */

static void first_clone_done(struct bio *clone)
{
	bio_uninit(clone);
}

static void clone_done(struct bio *clone)
{
	bio_put(clone);
}

/* The first one's place is in the upper request, which lives as long as it: there may be no memory for a bio, and it takes time. */
static struct bio *clone_bio(struct nap_device *d, struct nap_req *r, struct bio *bio)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN;
	struct bio *clone = &r->dev.bio;

	if (bio == nap_rq(r)->bio) {
		if (bio_init_clone(NULL, clone, bio, gfp))
			return NULL;
		clone->bi_end_io = first_clone_done;
		return clone;
	}
	clone = bio_alloc_clone(NULL, bio, gfp, &d->bios);
	if (clone)
		clone->bi_end_io = clone_done;
	return clone;
}

/* The upper request's data, by bios of our own: it is the same pages, and the upper bios stay as they are. */
static int clone_bios(struct nap_device *d, struct nap_req *r, struct request *lower)
{
	struct bio *bio, *clone;
	int ret;

	__rq_for_each_bio(bio, nap_rq(r)) {
		clone = clone_bio(d, r, bio);
		if (!clone)
			return -ENOMEM;
		clone->bi_opf = req_op(lower);
		ret = blk_rq_append_bio(lower, clone);
		if (ret) {
			clone->bi_end_io(clone);
			return ret;
		}
	}
	return 0;
}

static void drop(struct request *lower)
{
	struct bio *bio;

	while ((bio = lower->bio)) {
		lower->bio = bio->bi_next;
		bio->bi_end_io(bio);
	}
	blk_mq_free_request(lower);
}

/*
 * The queue below is full or frozen, or its controller is being reset. The upper queue runs again when one of our commands
 * ends; if none is on its way, by itself after some milliseconds, as blk-mq does after BLK_STS_RESOURCE.
 */
static blk_status_t wait_for_room(struct nap_device *d)
{
	atomic_set(&d->waiting, 1);
	return BLK_STS_RESOURCE;
}

/*
 * Out of a plug a command goes to the driver directly; without one it is put in the queue's list, and the whole queue is
 * run. Not where queue_rq may sleep, as nvme-tcp's does: the list is then emptied by a worker.
 */
static void send(struct request *lower)
{
	struct blk_plug plug;

	if (lower->q->tag_set->flags & BLK_MQ_F_BLOCKING) {
		blk_execute_rq_nowait(lower, false);
		return;
	}
	blk_start_plug(&plug);
	blk_execute_rq_nowait(lower, false);
	blk_finish_plug(&plug);
}

static blk_status_t forward(struct nap_device *d, struct nap_ns *ns, struct nap_req *r)
{
	struct nvme_ns *below = rcu_dereference(d->lower->below);
	struct nvme_command cmd;
	struct request *lower;
	int ret;

	/* Blocks of another size since a moment ago: the watch will tell. */
	if (!below || !nap_lower_alive(d->lower, below) || nap_lower_lost(below) ||
	    queue_logical_block_size(below->queue) != 1u << ns->lba_shift)
		return end_here(r, NAP_SC_PATH_INTERNAL, NAP_R_GONE);
	/* What is sent without waiting is refused there at once. */
	if (nap_lower_away(below))
		return wait_for_room(d);
	nap_policy_command(&ns->conf.policy, r, &cmd, d->lower->nsid);
	lower = blk_mq_alloc_request(below->queue, nvme_is_write(&cmd) ? REQ_OP_DRV_OUT : REQ_OP_DRV_IN,
				     BLK_MQ_REQ_NOWAIT);
	if (IS_ERR(lower))
		return wait_for_room(d);
	nvme_init_request(lower, &cmd);
	ret = r->nbytes ? clone_bios(d, r, lower) : 0;
	if (ret) {
		drop(lower);
		if (ret == -ENOMEM)
			return wait_for_room(d);
		/* More pieces than it takes: the queue above should not have let it through. */
		return end_here(r, NAP_SC_INVALID_FIELD, NAP_R_LENGTH);
	}
	lower->end_io = device_done;
	lower->end_io_data = r;
	send(lower);
	return BLK_STS_OK;
}

/*
 * The submitter's plug, which is being emptied into the upper queue just now, must neither get requests of the queue
 * below nor give some.
 */
static blk_status_t device_queue(struct nap_ns *ns, struct nap_req *r)
{
	struct blk_plug *plug = current->plug;
	blk_status_t ret;

	compat_plug_forget_time(plug);
	current->plug = NULL;
	rcu_read_lock();
	ret = forward(ns->priv, ns, r);
	rcu_read_unlock();
	current->plug = plug;
	return ret;
}

/* ---- Life ---- */

static int device_enable(struct nap_ns *ns)
{
	struct nap_device *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	ret = bioset_init(&d->bios, NR_BIOS, 0, 0);
	if (ret)
		goto free;
	ns->priv = d;
	ret = nap_lower_open(ns, &d->lower);
	if (ret)
		goto exit_bios;
	return 0;
exit_bios:
	ns->priv = NULL;
	bioset_exit(&d->bios);
free:
	kfree(d);
	return ret;
}

static void device_disable(struct nap_ns *ns)
{
	struct nap_device *d = ns->priv;

	nap_lower_close(d->lower);
	ns->priv = NULL;
	bioset_exit(&d->bios);
	kfree(d);
}

/* ---- Identify ---- */

/*
 * What is the same for all kinds identify.c does. What a device may have and no virtual controller does: capacity to be
 * managed, limits of the Copy command, and attributes other than that it is write protected.
 */
static int device_identify(struct nap_ns *ns, void *page)
{
	struct nap_device *d = ns->priv;
	struct nvme_id_ns *id = page;

	nap_lower_identify(d->lower, id);
	id->nsattr &= NSATTR_WRITE_PROTECTED;
	memset(id->nvmcap, 0, sizeof(id->nvmcap));
	memset(id->rsvd74, 0, sizeof(id->rsvd74));
	return 0;
}

/* No cancel(): a command below ends by itself or by the time limit of the controller below. */
const struct nap_ns_ops nap_device_ops = {
	.enable = device_enable,
	.disable = device_disable,
	.queue = device_queue,
	.identify = device_identify,
};
