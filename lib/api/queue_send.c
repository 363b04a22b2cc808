// SPDX-License-Identifier: BSD-2-Clause
/* From a job to the commands that carry it. */
#include <errno.h>
#include <string.h>
#include "queue_priv.h"

/* What a write is filled up with to a whole block. */
static const uint8_t zeros[NVME_ACCEL_PAGE];

static uint64_t whole_blocks(const struct accel_queue *q, uint64_t n)
{
	return (n + q->block - 1) & ~(uint64_t)(q->block - 1);
}

static bool iov_ok(const struct iovec *iov, uint32_t n)
{
	uint32_t i;

	if (n > QUEUE_NIOV || (n && !iov))
		return false;
	for (i = 0; i < n; i++)
		if (!iov[i].iov_base && iov[i].iov_len)
			return false;
	return iov_total(iov, n) <= INT64_MAX;
}

int job_check(const struct accel_job *job)
{
	if (job->size != sizeof(*job) || job->flags || job->reserved || job->timeout_ms < -1)
		return -EINVAL;
	if (!job->plan || !job->plan->sealed)
		return -EINVAL;
	return iov_ok(job->in, job->nin) && iov_ok(job->out, job->nout) ? 0 : -EINVAL;
}

/* The room that the device is told of: no more than the result can need, or than the device can give. */
static void set_out(struct accel_queue *q, struct req *r)
{
	const struct accel_plan *plan = r->plan;
	const struct job_stage *last = &plan->stage[plan->nstage - 1];
	const struct wire_op *op = wire_find_op(&q->dev->id, last->op, last->alg);
	uint64_t want = BASE_MIN(r->out_len, accel_bound(plan, r->in_len));

	r->dev_out = BASE_MIN(want, op ? op->max_out : 0);
	r->clamped = r->dev_out < want;
}

static uint32_t limit_ms(const struct req *r, uint64_t now)
{
	uint64_t left;

	if (r->deadline_ns == UINT64_MAX)
		return 0;
	left = r->deadline_ns > now ? (r->deadline_ns - now) / API_NS_PER_MS + 1 : 1;
	return left > UINT32_MAX ? 0 : (uint32_t)left;
}

static void desc_common(const struct accel_queue *q, const struct req *r, struct wire_desc *d)
{
	const struct accel_lease *lease = q->lease;

	d->seq = r->seq;
	d->lease = lease->index;
	d->epoch = lease->epoch;
	d->cookie = r->result.job_id;
	memcpy(d->nonce, lease->nonce, sizeof(d->nonce));
}

static uint32_t in_crc(const struct iovec *iov, unsigned int niov, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	uint32_t crc = 0;
	size_t len;
	void *p;

	while (n && (len = iov_next(&pos, &p, (size_t)BASE_MIN(n, (uint64_t)SIZE_MAX)))) {
		crc = base_crc32c(crc, p, len);
		n -= len;
	}
	return crc;
}

static int desc_fill(struct accel_queue *q, struct req *r, const struct plan_work *work, uint64_t now)
{
	struct wire_desc d;

	memset(&d, 0, offsetof(struct wire_desc, stage));
	desc_common(q, r, &d);
	d.flags = (uint16_t)(NVME_ACCEL_JOB_START | r->plan->job_flags);
	if (q->dev->id.feat & NVME_ACCEL_FEAT_COMPLETE_ON_DONE)
		d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	if (q->read_first)
		d.flags |= NVME_ACCEL_JOB_RELEASE_RESULT;
	if (d.flags & NVME_ACCEL_JOB_IN_CRC)
		d.in_crc = in_crc(r->wr_iov + 1, r->wr.niov - 1, r->dev_in);
	d.in_len = r->dev_in;
	d.out_max = r->dev_out;
	d.limit_ms = limit_ms(r, now);
	d.nstage = (uint16_t)work->nstage;
	memcpy(d.stage, work->stage, work->nstage * sizeof(d.stage[0]));
	return wire_desc_encode(&d, r->desc, q->block) == WIRE_OK ? 0 : -E2BIG;
}

/* Descriptor, what leads, the caller's input, zeros up to a whole block. */
static void write_fill(struct accel_queue *q, struct req *r, const struct plan_work *work)
{
	uint64_t padded = whole_blocks(q, r->dev_in);
	struct iovec *v = r->wr_iov;
	unsigned int n = 0;

	v[n++] = (struct iovec){ r->desc, q->block };
	if (work->nlead)
		v[n++] = (struct iovec){ (void *)(uintptr_t)work->lead, work->nlead };
	if (r->nin)
		memcpy(v + n, r->in, r->nin * sizeof(*v));
	n += r->nin;
	if (padded > r->dev_in)
		v[n++] = (struct iovec){ (void *)(uintptr_t)zeros, (size_t)(padded - r->dev_in) };
	r->wr.iov = v;
	r->wr.niov = n;
	r->wr.nbytes = q->block + padded;
	r->wr.off = wire_slot_addr(&q->dev->id, q->lease->slots[r->which].slot, r->seq, 0);
	r->wr.flags = TRANSPORT_WRITE | (q->borrow ? TRANSPORT_BORROW : 0);
	r->wr.pair = q->borrow ? &r->rd : NULL;
}

/* Of the caller's room n bytes from byte off, which is within it; the elements used are returned. */
static unsigned int room(const struct req *r, uint64_t off, uint64_t n, struct iovec *v)
{
	unsigned int used = 0, i;
	uint64_t len;

	for (i = 0; i < r->nout && n; i++) {
		len = r->out[i].iov_len;
		if (off && off >= len) {
			off -= len;
			continue;
		}
		v[used].iov_base = (uint8_t *)r->out[i].iov_base + off;
		v[used].iov_len = (size_t)BASE_MIN(len - off, n);
		n -= v[used++].iov_len;
		off = 0;
	}
	return used;
}

/* A read of the status (or not) and of n bytes of output from byte off, scratch up to a whole block. */
static void read_fill(struct accel_queue *q, struct req *r, bool status, uint64_t off, uint64_t n, bool wait)
{
	uint32_t slot = q->lease->slots[r->which].slot;
	uint64_t padded = whole_blocks(q, n);
	struct iovec *v = r->rd_iov;
	unsigned int k = 0;

	if (status)
		v[k++] = (struct iovec){ r->status, q->block };
	k += room(r, off, n, v + k);
	if (padded > n)
		v[k++] = (struct iovec){ r->scratch, (size_t)(padded - n) };
	r->rd.iov = v;
	r->rd.niov = k;
	r->rd.nbytes = (status ? q->block : 0) + padded;
	r->rd.off = wait ? wire_wait_addr(&q->dev->id, slot, r->seq) :
			   wire_slot_addr(&q->dev->id, slot, r->seq, 1);
	if (!status)
		r->rd.off += q->block + off;
	r->rd.flags = TRANSPORT_READ | (q->borrow ? TRANSPORT_BORROW : 0) | (wait ? TRANSPORT_WHOLE : 0);
}

/* The status, and as much of the caller's room as the job may fill and the path takes along. */
static void read_first(struct accel_queue *q, struct req *r, bool wait)
{
	r->part = PART_STATUS;
	r->have = BASE_MIN(r->dev_out, (q->max_read - q->block) & ~(uint64_t)(q->block - 1));
	read_fill(q, r, true, 0, r->have, wait);
}

static void batch_add(struct accel_queue *q, struct transport_cmd *cmd, struct req *r)
{
	cmd->user = r;
	cmd->error = 0;
	cmd->nvme_status = 0;
	cmd->give_up_ns = r->deadline_ns == UINT64_MAX ? 0 : r->deadline_ns;
	q->batch[q->nbatch++] = cmd;
}

/*
 * Over a path that keeps the order the read goes first, so that the job finds where its output may go; over one
 * that can reorder the order means nothing, and the write is what everything waits for.
 */
static void commands_add(struct accel_queue *q, struct req *r, uint64_t now)
{
	if (q->read_first)
		batch_add(q, &r->rd, r);
	batch_add(q, &r->wr, r);
	if (!q->read_first)
		batch_add(q, &r->rd, r);
	r->wr_busy = r->rd_busy = true;
	r->first_read = true;
	r->waited = q->wait;
	r->read_ns = now;
	r->state = REQ_SENT;
}

static int build(struct accel_queue *q, struct req *r, struct plan_work *work)
{
	int ret = plan_build(r->plan, r->params, r->in_len, q->parambuf, q->block - NVME_ACCEL_PARAM_OFF, work);

	if (!ret)
		r->dev_in = r->in_len + work->nlead;
	return ret;
}

/* The request may have its result by now, and no plan any more. */
static void forget(struct accel_queue *q, bool secret)
{
	if (secret)
		api_wipe(q->parambuf, q->block - NVME_ACCEL_PARAM_OFF);
}

static void send_built(struct accel_queue *q, struct req *r, const struct plan_work *work, uint64_t now)
{
	write_fill(q, r, work);
	if (desc_fill(q, r, work, now)) {
		req_fallback(q, r, ACCEL_ST_BAD_PARAM, now);
		return;
	}
	read_first(q, r, q->wait);
	q->lease->slots[r->which].seq = r->seq;
	r->aborted = r->known = r->sync = false;
	r->rereads = 0;
	commands_add(q, r, now);
	if (r->deadline_ns != UINT64_MAX)
		timer_by(q, r->deadline_ns);
	__atomic_store_n(&q->lease->active_ns, now, __ATOMIC_RELAXED);
}

void req_send(struct accel_queue *q, struct req *r, uint64_t now)
{
	bool secret = r->plan->secret;
	struct plan_work work;

	/* It was built once before, with the same parameters; the caller must not have changed them. */
	if (build(q, r, &work)) {
		req_fallback(q, r, ACCEL_ST_BAD_PARAM, now);
		return;
	}
	send_built(q, r, &work, now);
	forget(q, secret);
}

static void read_add(struct accel_queue *q, struct req *r, bool wait, uint64_t now)
{
	batch_add(q, &r->rd, r);
	r->rd_busy = true;
	r->first_read = false;
	r->waited = wait;
	r->read_ns = now;
	r->state = REQ_SENT;
}

void req_read(struct accel_queue *q, struct req *r, bool wait, uint64_t now)
{
	wait = wait && q->wait;
	read_first(q, r, wait);
	read_add(q, r, wait, now);
}

void req_read_rest(struct accel_queue *q, struct req *r, uint64_t out_len, uint64_t now)
{
	r->part = PART_REST;
	read_fill(q, r, false, r->have, out_len - r->have, false);
	r->have = out_len;
	read_add(q, r, false, now);
}

void req_read_check(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->part = PART_CHECK;
	read_fill(q, r, true, 0, 0, false);
	read_add(q, r, false, now);
}

void req_sync(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->sync = true;
	r->aborted = r->known = false;
	r->wr.off = wire_slot_addr(&q->dev->id, q->lease->slots[r->which].slot, r->seq, 0);
	r->wr.error = 0;
	r->wr.nvme_status = 0;
	req_abort(q, r, now);
	r->part = PART_STATUS;
	r->have = 0;
	read_fill(q, r, true, 0, 0, q->wait);
	read_add(q, r, q->wait, now);
	if (r->deadline_ns != UINT64_MAX)
		timer_by(q, r->deadline_ns);
}

void req_abort(struct accel_queue *q, struct req *r, uint64_t now)
{
	struct wire_desc d;

	if (r->aborted || r->ctl_busy)
		return;
	memset(&d, 0, sizeof(d));
	desc_common(q, r, &d);
	d.flags = NVME_ACCEL_JOB_ABORT;
	if (wire_desc_encode(&d, r->ctl_block, q->block) != WIRE_OK)
		return;
	r->ctl_iov = (struct iovec){ r->ctl_block, q->block };
	r->ctl.iov = &r->ctl_iov;
	r->ctl.niov = 1;
	r->ctl.nbytes = q->block;
	r->ctl.off = r->wr.off;
	r->ctl.flags = TRANSPORT_WRITE;
	batch_add(q, &r->ctl, r);
	r->ctl_busy = r->aborted = true;
	r->abort_ns = now;
}

/* A slot that is not in order keeps its number: req_sync() comes first. */
static bool take_slot(struct accel_queue *q, struct req *r)
{
	const struct lease_slot *slot;

	if (!q->nslots)
		return false;
	r->which = q->slots[--q->nslots];
	slot = &q->lease->slots[r->which];
	r->seq = slot->dirty ? slot->seq : slot->seq + 1;
	return true;
}

static bool in_order(const struct accel_queue *q, const struct req *r)
{
	return !q->lease->slots[r->which].dirty;
}

/* Each try costs time, so one every few seconds has to do. */
static bool skips(const struct accel_queue *q, const struct req *r, uint64_t now)
{
	return now < q->skip_ns && r->plan->policy == ACCEL_PREFER_DEVICE;
}

void queue_fill_slots(struct accel_queue *q, uint64_t now)
{
	struct req *r;

	while (q->nslots && (r = list_pop(&q->slot))) {
		if (skips(q, r, now)) {
			req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
			continue;
		}
		take_slot(q, r);
		if (in_order(q, r))
			req_send(q, r, now);
		else
			req_sync(q, r, now);
	}
	/* Every slot has a job that never ended: nothing can be sent any more. */
	while (q->nlost == q->depth && (r = list_pop(&q->slot)))
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
}

static bool cpu_at_once(const struct req *r)
{
	const struct accel_plan *plan = r->plan;

	return plan->policy == ACCEL_CPU_ONLY ||
	       (plan->policy == ACCEL_PREFER_DEVICE && r->in_len < plan->cpu_below);
}

static void copy_job(struct accel_queue *q, struct req *r, const struct accel_job *job, uint64_t now)
{
	int32_t ms = job->timeout_ms ? job->timeout_ms : q->timeout_ms;

	r->plan = accel_plan_ref((struct accel_plan *)(uintptr_t)job->plan);
	r->params = job->params;
	r->in = job->in;
	r->out = job->out;
	r->nin = job->nin;
	r->nout = job->nout;
	r->in_len = iov_total(job->in, job->nin);
	r->out_len = iov_total(job->out, job->nout);
	r->submit_ns = now;
	r->deadline_ns = ms < 0 ? UINT64_MAX : now + (uint64_t)ms * API_NS_PER_MS;
	r->due_ns = UINT64_MAX;
	r->which = QUEUE_NO_SLOT;
	r->retries = r->rereads = 0;
	r->down_ns = 0;
	r->cancelled = r->timed_out = r->aborted = r->clamped = r->known = r->sync = false;
	memset(&r->result, 0, sizeof(r->result));
	r->result.user_data = job->user_data;
	r->result.job_id = (uint64_t)++r->generation << 32 | (r->index + 1);
	r->result.nstage = r->plan->nstage;
}

/*
 * Starts a job that was checked. -EINVAL: its parameters are wrong, and it was not accepted. From here on it
 * has a result, whatever happens.
 */
int req_start(struct accel_queue *q, struct req *r, const struct accel_job *job, uint64_t now)
{
	struct plan_work work;
	unsigned int at;
	uint32_t code;
	int ret;

	copy_job(q, r, job, now);
	ret = build(q, r, &work);
	if (ret == -EINVAL) {
		forget(q, job->plan->secret);
		accel_plan_unref(r->plan);
		return ret;
	}
	q->in_flight++;
	q->submitted++;
	if (cpu_at_once(r)) {
		req_cpu(q, r, ACCEL_EXEC_SOFTWARE);
		forget(q, job->plan->secret);
		return 0;
	}
	set_out(q, r);
	code = ret ? ACCEL_ST_UNSUPPORTED_OP : dev_takes(q->dev, &work, r->dev_in, r->dev_out, &at);
	if (code) {
		r->result.stage = (uint16_t)(ret ? 0 : at);
		req_fallback(q, r, code, now);
	} else if (skips(q, r, now)) {
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
	} else if (q->slot.first || !take_slot(q, r)) {
		r->state = REQ_SLOT;
		list_push(&q->slot, r);
		timer_by(q, r->deadline_ns);
	} else if (in_order(q, r)) {
		send_built(q, r, &work, now);
	} else {
		req_sync(q, r, now);
	}
	forget(q, job->plan->secret);
	return 0;
}

/* What the transport does not take now stays in the batch for the next turn. */
void queue_flush(struct accel_queue *q)
{
	struct transport_cmd *failed = NULL, *cmd;
	uint64_t now;
	int n;

	if (!q->nbatch)
		return;
	n = q->ops->submit(q->tq, q->batch, q->nbatch);
	if (n == -EAGAIN)
		n = 0;
	if (n >= 0) {
		q->nbatch -= (uint32_t)n;
		memmove(q->batch, q->batch + n, q->nbatch * sizeof(*q->batch));
		return;
	}
	/* The path is gone: every command of the batch has failed without having left. */
	while (q->nbatch) {
		cmd = q->batch[--q->nbatch];
		cmd->error = n;
		cmd->next = failed;
		failed = cmd;
	}
	now = api_now_ns();
	while ((cmd = failed)) {
		failed = cmd->next;
		queue_command_done(q, cmd, now);
	}
}
