// SPDX-License-Identifier: GPL-2.0-only
/* The life of a slot: a job is sent, asked for again while it runs, and ended; what is unknown is brought in order. */
#include <crypto/scatterwalk.h>
#include "nac.h"
#include "nac_trace.h"

#define LOST_TRIES	5u	/* reads of a job that has not arrived, although its write has ended well */
#define SOON_NS		NSEC_PER_MSEC
#define RESYNC_MAX_MS	1000u

/* ---- Owning the job ---- */

static struct nac_job *job_take(struct nac_slot *slot)
{
	struct nac_job *job;
	unsigned long flags;

	spin_lock_irqsave(&slot->dev->lock, flags);
	job = slot->job;
	slot->job = NULL;
	spin_unlock_irqrestore(&slot->dev->lock, flags);
	return job;
}

/* Back where its time limit is watched; false: the device is not used any more. */
static bool job_back(struct nac_slot *slot, struct nac_job *job)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&slot->dev->lock, flags);
	ok = !slot->dev->dead;
	if (ok) {
		slot->job = job;
		nac_arm(slot->dev, job->deadline);
	}
	spin_unlock_irqrestore(&slot->dev->lock, flags);
	return ok;
}

/* ---- Bios ---- */

static void bio_done(struct nac_slot *slot)
{
	if (atomic_dec_and_test(&slot->pending))
		queue_delayed_work(nac_wq, &slot->work, 0);
}

static void write_done(struct bio *bio)
{
	struct nac_slot *slot = bio->bi_private;

	slot->wstatus = bio->bi_status;
	bio_done(slot);
}

static void read_done(struct bio *bio)
{
	struct nac_slot *slot = bio->bi_private;

	slot->rstatus = bio->bi_status;
	bio_done(slot);
}

/* The write goes first: if it is overtaken the read waits at the device all the same. */
static void send(struct nac_slot *slot, bool both)
{
	struct blk_plug plug;

	slot->sent_ns = ktime_get_ns();
	slot->rbio.bi_end_io = read_done;
	slot->rbio.bi_private = slot;
	slot->wbio.bi_end_io = write_done;
	slot->wbio.bi_private = slot;
	atomic_set(&slot->pending, both ? 2 : 1);
	blk_start_plug(&plug);
	if (both)
		submit_bio(&slot->wbio);
	submit_bio(&slot->rbio);
	blk_finish_plug(&plug);
}

/* ---- Beginning ---- */

static bool begin(struct nac_slot *slot, struct nac_job *job)
{
	enum nac_count why;

	slot->seq++;
	why = nac_build(slot, job);
	if (why) {
		slot->seq--;
		nac_fall_back(job, why);
		return false;
	}
	slot->step = NAC_JOB;
	slot->tries = 0;
	nac_count_start(slot->dev->bind, job);
	trace_nvme_accel_crypto_submit(slot, job);
	if (!job_back(slot, job)) {
		slot->seq--;
		nac_unpin(slot);
		nac_count_end(slot->dev->bind);
		nac_fall_back(job, NAC_F_STOPPED);
		return false;
	}
	send(slot, true);
	return true;
}

/* Jobs, until one is sent or there are none. */
static void go_on(struct nac_slot *slot, struct nac_job *job)
{
	struct nac_dev *dev = slot->dev;

	do {
		if (job && begin(slot, job))
			return;
		job = nac_next(dev, slot);
	} while (job);
	nac_dev_put(dev);
}

void nac_slot_start(struct nac_slot *slot)
{
	go_on(slot, job_take(slot));
}

/* ---- Bringing in order ---- */

static void resync(struct nac_slot *slot)
{
	unsigned int ms = slot->tries ? min(5u << min_t(u8, slot->tries, 10), RESYNC_MAX_MS) : 0;

	if (slot->tries < U8_MAX)
		slot->tries++;
	slot->step = NAC_RESYNC;
	queue_delayed_work(nac_wq, &slot->work, msecs_to_jiffies(ms));
}

/* An abort of the job that is unknown: it uses up the number, whether the job ever came or not. */
static void resync_send(struct nac_slot *slot)
{
	if (READ_ONCE(slot->dev->dead) || nac_build_abort(slot)) {
		go_on(slot, NULL);
		return;
	}
	slot->step = NAC_SYNC;
	send(slot, true);
}

/* ---- Ending ---- */

/* Once the device has the job, there is no telling how long it takes; the time limit is the job's own. */
static bool asks_in_vain(struct nac_slot *slot, const struct wire_status *st)
{
	bool there = st->seq == slot->seq && st->state != NVME_ACCEL_ST_LOADING;

	return !there && ++slot->tries > LOST_TRIES;
}

static void unknown(struct nac_slot *slot, struct nac_job *job, enum nac_count why)
{
	struct nac_dev *dev = slot->dev;

	if (job) {
		nac_count_fail(dev->bind, job);
		nac_fall_back(job, why);
	} else {
		nac_count(dev->bind, NAC_C_LATE, 1);
	}
	nac_count_end(dev->bind);
	atomic_set(&dev->ask, 1);
	nac_bind_kick(dev->bind);
	slot->tries = 0;
	resync(slot);
}

static void reread(struct nac_slot *slot, struct nac_job *job)
{
	bool held = ktime_get_ns() - slot->sent_ns > SOON_NS;

	if (!job) {
		unknown(slot, NULL, NAC_F_TIMEOUT);
		return;
	}
	nac_count(slot->dev->bind, NAC_C_REREADS, 1);
	slot->step = NAC_REREAD;
	if (!job_back(slot, job)) {
		unknown(slot, job, NAC_F_STOPPED);
		return;
	}
	queue_delayed_work(nac_wq, &slot->work, held ? 0 : 1);
}

static void reread_send(struct nac_slot *slot)
{
	slot->step = NAC_JOB;
	nac_build_read(slot);
	send(slot, false);
}

/* The output is longer than was guessed: once more, whole. The accelerator keeps it until the next job. */
static bool cut(const struct nac_slot *slot, const struct nac_job *job, const struct wire_status *st)
{
	return job && st->code == NVME_ACCEL_OK && st->out_len > slot->read_len && st->out_len <= job->out_max;
}

static void reread_whole(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st)
{
	nac_count(slot->dev->bind, NAC_C_CUT, 1);
	slot->read_len = round_up((u32)st->out_len, slot->dev->block);
	if (job_back(slot, job))
		reread_send(slot);
	else
		unknown(slot, job, NAC_F_STOPPED);
}

static void failed(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st)
{
	struct nac_dev *dev = slot->dev;
	enum nac_count why = nac_reason(st->code);

	/* Data that do not shrink: not to be compressed twice. */
	if (st->code == NVME_ACCEL_OUTPUT_SHORT && job->op == NAC_COMPRESS && !job->clamped) {
		nac_count(dev->bind, NAC_C_DATA_ERRORS, 1);
		nac_done(job, -ENOSPC);
		return;
	}
	if (st->code == NVME_ACCEL_BUSY)
		slot->seq--;
	if (st->code == NVME_ACCEL_SEQ_GAP)
		slot->lost = true;
	if (why == NAC_F_LEASE)
		nac_dev_lost(dev, why);
	nac_count_fail(dev->bind, job);
	nac_fall_back(job, why);
}

static void succeeded(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st)
{
	struct nac_bind *bind = slot->dev->bind;
	enum nac_count why = NAC_F_PROTOCOL;

	if (st->out_len > job->out_max || (job->op == NAC_COMPRESS && st->in_used != job->in_len))
		goto fall_back;
	why = NAC_F_VERIFY;
	if (!nac_verify(slot, job, st))
		goto fall_back;
	job->out_len = st->out_len;
	why = NAC_F_PROTOCOL;
	if (job->ops->finish(job, st))
		goto fall_back;
	if (st->out_len) {
		scatterwalk_map_and_copy(slot->out, job->dst, job->dst_off, st->out_len, 1);
		nac_count(bind, NAC_C_OUT_BYTES, st->out_len);
	}
	nac_learn(slot->dev, job);
	nac_count_good(bind, job);
	nac_done(job, 0);
	return;

fall_back:
	nac_count_fail(bind, job);
	nac_fall_back(job, why);
}

static void ended(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st)
{
	struct nac_dev *dev = slot->dev;

	trace_nvme_accel_crypto_result(slot, job, st);
	if (!job)
		nac_count(dev->bind, NAC_C_LATE, 1);
	else if (st->code == NVME_ACCEL_OK && st->state == NVME_ACCEL_ST_DONE)
		succeeded(slot, job, st);
	else
		failed(slot, job, st);
	nac_count_end(dev->bind);
	if (slot->lost)
		nac_dev_lost_slot(dev);
	go_on(slot, NULL);
}

static void job_returned(struct nac_slot *slot)
{
	struct nac_job *job = job_take(slot);
	struct wire_status st;
	enum nac_count why;
	enum nac_outcome what;

	nac_unpin(slot);
	nac_wipe(slot);
	what = nac_judge(slot, &st, &why);
	if (what == NAC_RUNNING && asks_in_vain(slot, &st))
		what = NAC_UNKNOWN;
	if (what == NAC_ENDED) {
		WRITE_ONCE(slot->dev->sick, false);
		if (cut(slot, job, &st))
			reread_whole(slot, job, &st);
		else
			ended(slot, job, &st);
	} else if (what == NAC_RUNNING) {
		reread(slot, job);
	} else {
		unknown(slot, job, why);
	}
}

static void sync_returned(struct nac_slot *slot)
{
	struct wire_status st;
	enum nac_count why;

	nac_wipe(slot);
	if (!READ_ONCE(slot->dev->dead) && nac_judge(slot, &st, &why) != NAC_ENDED)
		resync(slot);
	else
		go_on(slot, NULL);
}

void nac_slot_work(struct work_struct *work)
{
	struct nac_slot *slot = container_of(work, struct nac_slot, work.work);

	switch (slot->step) {
	case NAC_START:
		nac_slot_start(slot);
		break;
	case NAC_JOB:
		job_returned(slot);
		break;
	case NAC_REREAD:
		reread_send(slot);
		break;
	case NAC_RESYNC:
		resync_send(slot);
		break;
	case NAC_SYNC:
		sync_returned(slot);
		break;
	}
}
