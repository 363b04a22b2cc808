// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a job goes: to the device that has least to do of those that take it, into that one's queue if all of its slots are
 * busy, or to software; and what becomes of those that wait too long.
 */
#include <crypto/algapi.h>
#include <linux/sched.h>
#include "nac.h"
#include "nac_trace.h"

void nac_job_init(struct nac_job *job, struct crypto_async_request *req, const struct nac_job_ops *ops, enum nac_op op)
{
	memset(job, 0, sizeof(*job));
	job->req = req;
	job->ops = ops;
	job->op = op;
}

/* ---- Software ---- */

static bool in_reclaim(void)
{
	return in_task() && current->flags & PF_MEMALLOC;
}

/* Whether the caller may be made to wait here; bios in the making would be waited for in vain. */
bool nac_may_sleep(const struct nac_job *job)
{
	return job->req->flags & CRYPTO_TFM_REQ_MAY_SLEEP && in_task() && !irqs_disabled() && !current->bio_list;
}

void nac_done(struct nac_job *job, int err)
{
	struct crypto_async_request *req = job->req;

	trace_nvme_accel_crypto_complete(job, err);
	local_bh_disable();
	crypto_request_complete(req, err);
	local_bh_enable();
}

static void soft_work(struct work_struct *work)
{
	struct nac_job *job = container_of(work, struct nac_job, work);
	int err = job->ops->soft(job, true);

	if (err != -EINPROGRESS)
		nac_done(job, err);
}

static void count_fallback(struct nac_job *job, enum nac_count why)
{
	trace_nvme_accel_crypto_fallback(job, why);
	nac_count(job->bind, why, 1);
}

void nac_fall_back(struct nac_job *job, enum nac_count why)
{
	count_fallback(job, why);
	INIT_WORK(&job->work, soft_work);
	queue_work(nac_soft_wq, &job->work);
}

int nac_software(struct nac_job *job, enum nac_count why)
{
	int err = -EAGAIN;

	count_fallback(job, why);
	/* In interrupts it would take too long, and what serves as fallback may hold locks that it takes in tasks only. */
	if (in_task() && !irqs_disabled())
		err = job->ops->soft(job, nac_may_sleep(job));
	if (err != -EAGAIN)
		return err;
	job->accepted = true;
	INIT_WORK(&job->work, soft_work);
	queue_work(nac_soft_wq, &job->work);
	return -EINPROGRESS;
}

/* ---- Choice ---- */

/* Why a device does not take a job; 0: it does. */
static enum nac_count refuses(const struct nac_dev *dev, const struct nac_job *job)
{
	const struct nac_conf *conf = &dev->bind->conf;

	if (!READ_ONCE(dev->live) || !(dev->ops & 1u << job->op))
		return NAC_F_NO_DEVICE;
	if (READ_ONCE(dev->sick))
		return NAC_F_TIMEOUT;
	if (job->in_len < READ_ONCE(conf->threshold_min))
		return NAC_F_MIN;
	if (job->in_len > dev->max_in || (job->out_max > dev->max_out && job->op != NAC_COMPRESS && job->op != NAC_DECOMPRESS))
		return NAC_F_MAX;
	if (!dev->local && !READ_ONCE(conf->allow_fabrics) && in_reclaim())
		return NAC_F_RECLAIM;
	return 0;
}

/* Of the reasons that devices give the one that says most: a smaller number only because of the order of their names. */
static enum nac_count better_reason(enum nac_count a, enum nac_count b)
{
	return a == NAC_F_NO_DEVICE ? b : a;
}

static bool less_loaded(const struct nac_dev *a, const struct nac_dev *b)
{
	u64 la = READ_ONCE(a->nbusy) + READ_ONCE(a->nqueue), lb = READ_ONCE(b->nbusy) + READ_ONCE(b->nqueue);

	return la * b->nslot < lb * a->nslot;
}

/* With rcu_read_lock(). */
static struct nac_dev *choose(const struct nac_job *job, enum nac_count *why)
{
	struct nac_dev *dev, *best = NULL;
	enum nac_count no;

	*why = NAC_F_NO_DEVICE;
	list_for_each_entry_rcu(dev, &nac_devs, entry) {
		no = refuses(dev, job);
		if (no)
			*why = better_reason(*why, no);
		else if (!best || less_loaded(dev, best))
			best = dev;
	}
	return best;
}

/* ---- Queue ---- */

static void arm(struct nac_dev *dev, unsigned long deadline)
{
	/* A timer that is pending for later than this is rare: timeouts of one device are all the same. */
	if (!timer_pending(&dev->timer))
		mod_timer(&dev->timer, deadline);
}

/* With dev->lock: a free slot is the job's, and keeps the device. */
static struct nac_slot *slot_take(struct nac_dev *dev, struct nac_job *job)
{
	struct nac_slot *slot = list_first_entry(&dev->free, struct nac_slot, entry);

	list_del_init(&slot->entry);
	slot->job = job;
	slot->step = NAC_START;
	WRITE_ONCE(dev->nbusy, dev->nbusy + 1);
	kref_get(&dev->kref);
	return slot;
}

/* With dev->lock: as nac_submit(). *slot: that has got the job. */
static int take(struct nac_dev *dev, struct nac_job *job, struct nac_slot **slot)
{
	*slot = NULL;
	arm(dev, job->deadline);
	if (list_empty(&dev->queue) && !list_empty(&dev->free)) {
		*slot = slot_take(dev, job);
		return -EINPROGRESS;
	}
	if (dev->nqueue < dev->bind->conf.queue_depth && list_empty(&dev->backlog)) {
		list_add_tail(&job->entry, &dev->queue);
		WRITE_ONCE(dev->nqueue, dev->nqueue + 1);
		return -EINPROGRESS;
	}
	if (!(job->req->flags & CRYPTO_TFM_REQ_MAY_BACKLOG))
		return -ENOSPC;
	list_add_tail(&job->entry, &dev->backlog);
	return -EBUSY;
}

static void count_queued(struct nac_bind *bind, int n)
{
	atomic_add(n, &bind->stats.queued);
	atomic_add(n, &nac_total.queued);
}

static void notify(struct nac_job *job)
{
	local_bh_disable();
	crypto_request_complete(job->req, -EINPROGRESS);
	local_bh_enable();
}

/* False: the device takes no more jobs. *start: a slot that the caller is to start, where it may sleep. */
static bool give(struct nac_dev *dev, struct nac_job *job, int *ret, struct nac_slot **start)
{
	struct nac_bind *bind = dev->bind;
	bool sleep = nac_may_sleep(job);
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (!dev->live) {
		spin_unlock_irqrestore(&dev->lock, flags);
		return false;
	}
	job->bind = bind;
	job->accepted = true;
	job->deadline = jiffies + msecs_to_jiffies(READ_ONCE(bind->conf.timeout)) + 1;
	*ret = take(dev, job, start);
	if (*ret == -ENOSPC)
		nac_count(bind, NAC_C_REFUSED, 1);
	else if (*ret == -EBUSY)
		nac_count(bind, NAC_C_BACKLOGGED, 1);
	if (!*start && *ret != -ENOSPC)
		count_queued(bind, 1);
	spin_unlock_irqrestore(&dev->lock, flags);
	/* From here on the job may have ended; a slot that is not free keeps its device. */
	if (*start && !sleep) {
		queue_delayed_work(nac_wq, &(*start)->work, 0);
		*start = NULL;
	}
	return true;
}

int nac_submit(struct nac_job *job)
{
	struct nac_slot *start = NULL;
	struct nac_dev *dev;
	enum nac_count why;
	bool given;
	int ret = 0;

	job->bind = NULL;
	job->accepted = false;
	job->start_ns = ktime_get_ns();
	rcu_read_lock();
	dev = choose(job, &why);
	given = dev && give(dev, job, &ret, &start);
	rcu_read_unlock();
	if (!given)
		return nac_software(job, why);
	if (start)
		nac_slot_start(start);
	return ret;
}

/* ---- What leaves the queue ---- */

/* With dev->lock: the first of the queue, and of the backlog what moves up for it. */
static struct nac_job *pop(struct nac_dev *dev, struct nac_job **up)
{
	struct nac_job *job = list_first_entry_or_null(&dev->queue, struct nac_job, entry);

	*up = NULL;
	if (!job)
		return NULL;
	list_del_init(&job->entry);
	WRITE_ONCE(dev->nqueue, dev->nqueue - 1);
	count_queued(dev->bind, -1);
	*up = list_first_entry_or_null(&dev->backlog, struct nac_job, entry);
	if (*up)
		list_del_init(&(*up)->entry);
	return job;
}

/* It is told that it moves up while nobody else can have it, so that its end comes after. */
static void move_up(struct nac_dev *dev, struct nac_job *job)
{
	struct nac_slot *slot = NULL;
	unsigned long flags;
	bool live;

	notify(job);
	spin_lock_irqsave(&dev->lock, flags);
	live = dev->live;
	if (live && list_empty(&dev->queue) && !list_empty(&dev->free)) {
		slot = slot_take(dev, job);
	} else if (live) {
		list_add_tail(&job->entry, &dev->queue);
		WRITE_ONCE(dev->nqueue, dev->nqueue + 1);
	}
	if (!live || slot)
		count_queued(dev->bind, -1);
	spin_unlock_irqrestore(&dev->lock, flags);
	if (!live)
		nac_fall_back(job, NAC_F_STOPPED);
	else if (slot)
		queue_delayed_work(nac_wq, &slot->work, 0);
}

struct nac_job *nac_next(struct nac_dev *dev, struct nac_slot *slot)
{
	struct nac_job *job = NULL, *up = NULL;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (!dev->dead && !slot->lost)
		job = pop(dev, &up);
	if (!job) {
		if (!slot->lost)
			list_add(&slot->entry, &dev->free);
		WRITE_ONCE(dev->nbusy, dev->nbusy - 1);
		wake_up(&dev->idle);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	if (up)
		move_up(dev, up);
	return job;
}

/* ---- Time ---- */

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
		notify(job);
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
	count_queued(dev->bind, -(int)(n + length(&backlog)));
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
	count_queued(dev->bind, -(int)(length(&jobs) + length(&backlog)));
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
