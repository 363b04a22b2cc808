// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a job goes: to the device that has least to do of those that take it, into that one's queue if all of its slots are
 * busy, or to software.
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
	nac_arm(dev, job->deadline);
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
	job->deadline = jiffies + msecs_to_jiffies(READ_ONCE(bind->conf.timeout)) + 1;
	*ret = take(dev, job, start);
	if (*ret == -ENOSPC)
		nac_count(bind, NAC_C_REFUSED, 1);
	else if (*ret == -EBUSY)
		nac_count(bind, NAC_C_BACKLOGGED, 1);
	if (!*start && *ret != -ENOSPC)
		nac_count_queued(bind, 1);
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
	nac_count_queued(dev->bind, -1);
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

	nac_notify(job);
	spin_lock_irqsave(&dev->lock, flags);
	live = dev->live;
	if (live && list_empty(&dev->queue) && !list_empty(&dev->free)) {
		slot = slot_take(dev, job);
	} else if (live) {
		list_add_tail(&job->entry, &dev->queue);
		WRITE_ONCE(dev->nqueue, dev->nqueue + 1);
	}
	if (!live || slot)
		nac_count_queued(dev->bind, -1);
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
