// SPDX-License-Identifier: GPL-2.0-only
/* Jobs that wait for a device, or are on it, for too long, and those of a device that goes: to software. */
#include <crypto/algapi.h>
#include "nac.h"

void nac_arm(struct nac_dev *dev, unsigned long deadline)
{
	/* A timer that is pending for later than this is rare: timeouts of one device are all the same. */
	if (!timer_pending(&dev->timer))
		mod_timer(&dev->timer, deadline);
}

void nac_count_queued(struct nac_bind *bind, int n)
{
	atomic_add(n, &bind->stats.queued);
	atomic_add(n, &nac_total.queued);
}

void nac_notify(struct nac_job *job)
{
	local_bh_disable();
	crypto_request_complete(job->req, -EINPROGRESS);
	local_bh_enable();
}

/* Those of a list that are due go to another; the earliest of the others' deadlines. */
static void expire(struct list_head *list, struct list_head *due, unsigned long now, unsigned long *next)
{
	struct nac_job *job, *tmp;

	list_for_each_entry_safe(job, tmp, list, entry) {
		if (time_after_eq(now, job->deadline))
			list_move_tail(&job->entry, due);
		else if (time_before(job->deadline, *next))
			*next = job->deadline;
	}
}

static void expire_slots(struct nac_dev *dev, struct list_head *due, unsigned long now, unsigned long *next)
{
	u32 i;

	for (i = 0; i < dev->nslot; i++) {
		struct nac_job *job = dev->slots[i].job;

		if (!job)
			continue;
		if (time_after_eq(now, job->deadline)) {
			dev->slots[i].job = NULL;
			list_add_tail(&job->entry, due);
			WRITE_ONCE(dev->sick, true);
		} else if (time_before(job->deadline, *next)) {
			*next = job->deadline;
		}
	}
}

/* All jobs of the lists to software; those of the backlog still wait to be told that they moved up. */
static void give_up(struct list_head *jobs, struct list_head *backlog, enum nac_count why)
{
	struct nac_job *job, *tmp;

	list_for_each_entry_safe(job, tmp, backlog, entry) {
		list_del_init(&job->entry);
		nac_notify(job);
		nac_fall_back(job, why);
	}
	list_for_each_entry_safe(job, tmp, jobs, entry) {
		list_del_init(&job->entry);
		nac_fall_back(job, why);
	}
}

static u32 length(const struct list_head *list)
{
	const struct list_head *e;
	u32 n = 0;

	list_for_each(e, list)
		n++;
	return n;
}

static void timer(struct timer_list *t)
{
	struct nac_dev *dev = container_of(t, struct nac_dev, timer);
	unsigned long now = jiffies, next = now + MAX_JIFFY_OFFSET / 2, flags;
	LIST_HEAD(jobs);
	LIST_HEAD(backlog);
	u32 n;

	spin_lock_irqsave(&dev->lock, flags);
	expire(&dev->queue, &jobs, now, &next);
	n = length(&jobs);
	WRITE_ONCE(dev->nqueue, dev->nqueue - n);
	expire(&dev->backlog, &backlog, now, &next);
	nac_count_queued(dev->bind, -(int)(n + length(&backlog)));
	expire_slots(dev, &jobs, now, &next);
	if (next != now + MAX_JIFFY_OFFSET / 2 && !dev->dead)
		mod_timer(&dev->timer, next);
	spin_unlock_irqrestore(&dev->lock, flags);
	if (READ_ONCE(dev->sick)) {
		atomic_set(&dev->ask, 1);
		nac_bind_kick(dev->bind);
	}
	give_up(&jobs, &backlog, NAC_F_TIMEOUT);
}

void nac_flush(struct nac_dev *dev, bool all, enum nac_count why)
{
	unsigned long flags;
	LIST_HEAD(jobs);
	LIST_HEAD(backlog);
	u32 i;

	spin_lock_irqsave(&dev->lock, flags);
	list_splice_init(&dev->queue, &jobs);
	list_splice_init(&dev->backlog, &backlog);
	nac_count_queued(dev->bind, -(int)(length(&jobs) + length(&backlog)));
	WRITE_ONCE(dev->nqueue, 0);
	for (i = 0; all && i < dev->nslot; i++) {
		if (dev->slots[i].job)
			list_add_tail(&dev->slots[i].job->entry, &jobs);
		dev->slots[i].job = NULL;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	give_up(&jobs, &backlog, why);
}

void nac_queue_init(struct nac_dev *dev)
{
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->free);
	INIT_LIST_HEAD(&dev->queue);
	INIT_LIST_HEAD(&dev->backlog);
	init_waitqueue_head(&dev->idle);
	timer_setup(&dev->timer, timer, 0);
}
