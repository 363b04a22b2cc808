// SPDX-License-Identifier: BSD-2-Clause
/* From completed commands to the one result of a job: status, second reads, retries, the CPU. */
#include <errno.h>
#include <string.h>
#include "queue_priv.h"

#define REREAD_NS	API_NS_PER_MS	/* between reads that the device does not hold */
#define REREADS_MAX	4u		/* of a job that has not arrived (whole), before it is sent again */
#define BACKOFF_MAX_NS	(100 * API_NS_PER_MS)
#define DOWN_NS		(20 * API_NS_PER_MS)	/* between attempts while the path is down */

static uint32_t device_executor(const struct accel_queue *q, const struct req *r)
{
	if (r->retries)
		return ACCEL_EXEC_RETRIED;
	return q->dev->info.software ? ACCEL_EXEC_SOFTWARE : ACCEL_EXEC_HARDWARE;
}

/*
 * A slot whose job may still be there, or on its way, is taken last, and put in order before. lost: it can not be
 * put in order.
 */
static void slot_put(struct accel_queue *q, struct req *r, bool lost)
{
	struct lease_slot *slot;

	if (r->which == QUEUE_NO_SLOT)
		return;
	slot = &q->lease->slots[r->which];
	slot->dirty = !r->known;
	if (lost) {
		slot->lost = true;
		q->nlost++;
	} else if (slot->dirty) {
		memmove(q->slots + 1, q->slots, q->nslots * sizeof(*q->slots));
		q->slots[0] = r->which;
		q->nslots++;
	} else {
		q->slots[q->nslots++] = r->which;
	}
	r->which = QUEUE_NO_SLOT;
}

void req_finish(struct accel_queue *q, struct req *r, uint32_t status, uint64_t now)
{
	slot_put(q, r, false);
	if (r->plan->secret)
		api_wipe(r->desc, q->block);
	r->result.status = status;
	r->result.retries = r->retries;
	r->result.total_ns = now - r->submit_ns;
	if (status != ACCEL_ST_OK)
		r->result.out_len = 0;
	if (r->result.executor == ACCEL_EXEC_FALLBACK)
		q->fallbacks++;
	accel_plan_unref(r->plan);
	r->plan = NULL;
	r->state = REQ_DONE;
	list_push(&q->done, r);
	q->ndone++;
	q->completed++;
	queue_event(q);
}

void req_drop(struct accel_queue *q, struct req *r, uint64_t now)
{
	req_finish(q, r, r->cancelled ? ACCEL_ST_ABORTED : ACCEL_ST_TIMEOUT, now);
}

void req_cpu(struct accel_queue *q, struct req *r, uint32_t executor)
{
	r->result.executor = executor;
	r->state = REQ_CPU;
	list_push(&q->cpu, r);
	queue_event(q);
}

void req_fallback(struct accel_queue *q, struct req *r, uint32_t status, uint64_t now)
{
	slot_put(q, r, false);
	if (r->cancelled || r->timed_out)
		req_drop(q, r, now);
	else if (r->plan->policy == ACCEL_PREFER_DEVICE)
		req_cpu(q, r, ACCEL_EXEC_FALLBACK);
	else
		req_finish(q, r, status, now);
}

void req_run_cpu(struct accel_queue *q, struct req *r)
{
	uint32_t status, executor = r->result.executor;
	uint64_t now = api_now_ns();
	int ret;

	r->timed_out = r->timed_out || now >= r->deadline_ns;
	if (r->cancelled || r->timed_out) {
		r->result.executor = ACCEL_EXEC_NONE;
		req_drop(q, r, now);
		return;
	}
	r->result.stage = 0;
	ret = cpu_run(q->ctx, r->plan, r->params, r->in, r->nin, r->out, r->nout, executor, &r->result);
	status = r->result.status;
	if (ret)
		status = ret == -ENOMEM ? ACCEL_ST_NO_RESOURCES : ACCEL_ST_BAD_PARAM;
	req_finish(q, r, status, api_now_ns());
}

static void delay(struct accel_queue *q, struct req *r, enum req_next next, uint64_t due)
{
	r->state = REQ_DELAY;
	r->after = (uint8_t)next;
	r->due_ns = due;
	timer_by(q, BASE_MIN(due, r->timed_out ? UINT64_MAX : r->deadline_ns));
}

static uint64_t backoff(const struct req *r, uint16_t hint)
{
	uint64_t ns = API_NS_PER_MS << BASE_MIN(r->retries, 7u);

	return BASE_MAX(BASE_MIN(ns, BACKOFF_MAX_NS), (uint64_t)hint * 16 * API_NS_PER_MS);
}

/* Once more, under the number in r->seq. */
static void retry(struct accel_queue *q, struct req *r, uint32_t code, uint16_t hint, uint64_t now)
{
	if (r->cancelled || r->timed_out || r->retries >= q->max_retries || lease_ended(q->lease)) {
		req_fallback(q, r, code, now);
		return;
	}
	delay(q, r, NEXT_SEND, now + backoff(r, hint));
	r->retries++;
	q->retried++;
}

static void retry_next(struct accel_queue *q, struct req *r, uint32_t code, uint16_t hint, uint64_t now)
{
	r->seq++;
	retry(q, r, code, hint, now);
}

/* The lease is gone, and with it whatever the slots held. */
static void lost(struct accel_queue *q, struct req *r, uint32_t code, uint64_t now)
{
	lease_set_ended(q->lease);
	if (q->bare && !r->cancelled && !r->timed_out)
		req_finish(q, r, code, now);
	else
		req_fallback(q, r, code, now);
}

/* The numbers of the slot and of the device have gone apart. */
static void give_up(struct accel_queue *q, struct req *r, uint32_t code, uint64_t now)
{
	slot_put(q, r, true);
	req_fallback(q, r, code, now);
}

static uint32_t result_flags(uint16_t sflags)
{
	return (sflags & NVME_ACCEL_SF_STORED_RAW ? ACCEL_RF_STORED_RAW : 0) |
	       (sflags & NVME_ACCEL_SF_VERIFIED ? ACCEL_RF_VERIFIED : 0) |
	       (sflags & NVME_ACCEL_SF_NEEDED_EXACT ? ACCEL_RF_NEEDED_EXACT : 0) |
	       (sflags & NVME_ACCEL_SF_OUT_CRC ? ACCEL_RF_OUT_CRC : 0);
}

static void result_fill(const struct accel_queue *q, struct req *r, const struct wire_status *st)
{
	uint64_t lead = r->dev_in - r->in_len;
	struct accel_result *res = &r->result;
	unsigned int i;

	res->executor = device_executor(q, r);
	res->in_used = st->in_used > lead ? BASE_MIN(st->in_used - lead, r->in_len) : 0;
	res->out_len = st->out_len;
	res->out_needed = st->out_needed;
	res->retval = st->retval;
	res->flags = result_flags(st->flags);
	res->out_crc = st->out_crc;
	res->stage = st->code ? st->fail_stage : 0;
	res->queue_ns = st->queue_ns;
	res->exec_ns = st->exec_ns;
	res->nvme_status = 0;
	res->os_error = 0;
	for (i = 0; st->code == NVME_ACCEL_OK && i < r->plan->nstage; i++) {
		res->result_len[i] = r->plan->result_len[i];
		memcpy(res->result[i], st->long_result[i], res->result_len[i]);
	}
}

static void succeeded(struct accel_queue *q, struct req *r, const struct wire_status *st, uint64_t now)
{
	if (st->out_len > r->dev_out || st->in_used > r->dev_in) {
		retry_next(q, r, ACCEL_ST_DEVICE_FAULT, 0, now);
		return;
	}
	/* The output went to the first read only, and that one was lost: there is no way but to do it again. */
	if (st->out_len && (!r->first_read || st->out_len > r->have) && !(st->flags & NVME_ACCEL_SF_OUTPUT_VALID)) {
		retry_next(q, r, ACCEL_ST_IO_ERROR, 0, now);
		return;
	}
	if (st->out_len > r->have) {
		req_read_rest(q, r, st->out_len, now);
		return;
	}
	result_fill(q, r, st);
	req_finish(q, r, ACCEL_ST_OK, now);
}

/* What was wrong with the write, for the result. */
static void write_error(struct req *r)
{
	r->result.os_error = -r->wr.error;
	r->result.nvme_status = r->wr.nvme_status & 0x7ff;
}

static void aborted(struct accel_queue *q, struct req *r, const struct wire_status *st, uint64_t now)
{
	if (r->cancelled || r->timed_out) {
		req_drop(q, r, now);
	} else if (r->aborted) {	/* by us, because its write had failed */
		write_error(r);
		retry_next(q, r, ACCEL_ST_IO_ERROR, 0, now);
	} else {
		result_fill(q, r, st);
		req_finish(q, r, ACCEL_ST_ABORTED, now);
	}
}

static void failed(struct accel_queue *q, struct req *r, const struct wire_status *st, uint64_t now)
{
	bool short_room = st->code == NVME_ACCEL_OUTPUT_SHORT && r->clamped;

	if (r->timed_out && st->code == NVME_ACCEL_TIMEOUT) {
		req_drop(q, r, now);
	} else if (st->code == NVME_ACCEL_BUSY) {
		r->known = false;		/* the number is unused */
		retry(q, r, st->code, st->retry_hint, now);
	} else if (st->code == NVME_ACCEL_LEASE_LOST || st->code == NVME_ACCEL_RESET) {
		lost(q, r, st->code, now);
	} else if (st->code == NVME_ACCEL_SEQ_GAP) {
		give_up(q, r, st->code, now);
	} else if (st->code < 32 && NVME_ACCEL_RETRY_MASK >> st->code & 1) {
		retry_next(q, r, st->code, st->code == NVME_ACCEL_NO_RESOURCES ? st->retry_hint : 0, now);
	} else if (short_room || st->code == NVME_ACCEL_UNSUPPORTED_OP) {
		result_fill(q, r, st);
		req_fallback(q, r, st->code, now);
	} else {
		result_fill(q, r, st);
		req_finish(q, r, st->code, now);
	}
}

/* The number that the slot was at is used up: the job's turn. */
static void synced(struct accel_queue *q, struct req *r, uint64_t now)
{
	if (r->cancelled || r->timed_out) {
		req_drop(q, r, now);
		return;
	}
	q->lease->slots[r->which].dirty = false;
	r->seq++;
	req_send(q, r, now);
}

static void ended(struct accel_queue *q, struct req *r, const struct wire_status *st, uint64_t now)
{
	r->known = true;
	if (now >= r->deadline_ns)
		r->timed_out = true;
	if (r->sync)
		synced(q, r, now);
	else if (st->code == NVME_ACCEL_OK)
		succeeded(q, r, st, now);
	else if (st->code == NVME_ACCEL_ABORTED)
		aborted(q, r, st, now);
	else
		failed(q, r, st, now);
}

static bool grace_over(const struct req *r, uint64_t now)
{
	return r->aborted && now - r->abort_ns > QUEUE_GRACE_MS * API_NS_PER_MS;
}

/* Even the abort has not come through, or has been refused. */
static void sync_again(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->result.os_error = -r->ctl.error;
	r->result.nvme_status = r->ctl.nvme_status & 0x7ff;
	if (r->retries >= q->max_retries || lease_ended(q->lease)) {
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
		return;
	}
	delay(q, r, NEXT_SYNC, now + backoff(r, 0));
	r->retries++;
	q->retried++;
}

/* The device does not know the job: its write failed, or was lost on the way. */
static void unknown(struct accel_queue *q, struct req *r, uint64_t now)
{
	bool refused = r->wr.nvme_status & 0x4000;

	if (r->cancelled || r->timed_out) {
		req_drop(q, r, now);
	} else if (r->sync) {
		sync_again(q, r, now);
	} else if (refused) {
		write_error(r);
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
	} else if (r->wr.error || r->wr.nvme_status || r->rereads >= REREADS_MAX) {
		write_error(r);
		retry(q, r, ACCEL_ST_IO_ERROR, 0, now);
	} else {
		r->rereads++;
		delay(q, r, NEXT_READ, now + REREAD_NS);
	}
}

/* The write is back, so that no more will come, and yet a part of the input is missing. */
static void loading(struct accel_queue *q, struct req *r, uint64_t now)
{
	if (++r->rereads < REREADS_MAX) {
		delay(q, r, NEXT_READ, now + REREAD_NS);
		return;
	}
	/* An abort uses the number up; then all is sent anew. */
	req_abort(q, r, now);
	req_read(q, r, true, now);
}

/* The job is there and has not ended: HOLDMAX was over, or the device did not hold the read. */
static void running(struct accel_queue *q, struct req *r, const struct wire_status *st, uint64_t now)
{
	if (grace_over(r, now)) {
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
		return;
	}
	if (st->state == NVME_ACCEL_ST_LOADING && !r->aborted) {
		loading(q, r, now);
	} else if (r->waited && now - r->read_ns > REREAD_NS) {
		req_read(q, r, true, now);
	} else {
		delay(q, r, NEXT_WAIT, now + REREAD_NS);
	}
}

/* Whether the path has been down for so long that a job of this kind waits for it no more. */
static bool path_gone(struct accel_queue *q, const struct req *r, uint64_t now)
{
	uint64_t most = QUEUE_PREFER_MS * API_NS_PER_MS;

	if (r->plan->policy != ACCEL_PREFER_DEVICE)
		return now - r->down_ns > QUEUE_PATH_MS * API_NS_PER_MS;
	/* The CPU needs a part of the job's time too. What comes later need not wait as long once more. */
	if (r->deadline_ns != UINT64_MAX)
		most = BASE_MIN(most, (r->deadline_ns - r->submit_ns) / 2);
	if (now - q->down_ns <= most)
		return false;
	q->skip_ns = now + QUEUE_PREFER_MS * API_NS_PER_MS;
	if (now - q->down_ns > DEV_DOWN_MIN_MS * API_NS_PER_MS)
		dev_set_down(q->dev, now);
	return true;
}

/*
 * The path is down, and it is known that the read has not left. That is no fault of the job, which waits as long as
 * its caller lets it, or until the CPU had better do it. A write that has not left either can simply be sent again.
 */
static void path_down(struct accel_queue *q, struct req *r, uint64_t now)
{
	enum req_next next = NEXT_READ;

	if (!q->down)
		q->down_ns = now;
	q->down = true;
	if (!r->down_ns)
		r->down_ns = now;
	if (r->cancelled || r->timed_out || now >= r->deadline_ns || lease_ended(q->lease) || path_gone(q, r, now)) {
		r->timed_out = r->timed_out || now >= r->deadline_ns;
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
		return;
	}
	if (r->sync)
		next = NEXT_SYNC;
	else if (r->first_read && r->wr.error == -ENOTCONN)
		next = NEXT_SEND;
	delay(q, r, next, now + DOWN_NS);
}

/* Nothing is known of the job. Both commands are back, so that it can be asked for without hurry. */
static void no_status(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->result.os_error = r->rd.error ? -r->rd.error : EIO;
	r->result.nvme_status = r->rd.nvme_status & 0x7ff;
	if (r->rd.error == -ENOTCONN) {
		path_down(q, r, now);
		return;
	}
	/* It may have been split on the way, and its parts answered at different times. */
	if (r->rd.error == -EMSGSIZE)
		queue_read_limit(q);
	if (r->retries >= q->max_retries || grace_over(r, now)) {
		req_fallback(q, r, ACCEL_ST_IO_ERROR, now);
		return;
	}
	delay(q, r, r->sync ? NEXT_SYNC : NEXT_READ, now + backoff(r, 0));
	r->retries++;
	q->retried++;
}

/* The slot is not ours any more. */
static bool denied(uint16_t nvme_status)
{
	return (nvme_status & 0x7ff) == 0x286;
}

static bool is_end(uint8_t state)
{
	return state == NVME_ACCEL_ST_DONE || state == NVME_ACCEL_ST_FAILED || state == NVME_ACCEL_ST_ABORTED;
}

static void evaluate(struct accel_queue *q, struct req *r, uint64_t now)
{
	const struct accel_lease *lease = q->lease;
	struct wire_status st;

	if (r->part == PART_REST && !r->rd.error && !r->rd.nvme_status) {
		req_read_check(q, r, now);
		return;
	}
	if (!r->rd.error) {
		r->down_ns = q->skip_ns = 0;
		q->down = false;
	}
	if (denied(r->wr.nvme_status) || denied(r->rd.nvme_status))
		lost(q, r, ACCEL_ST_LEASE_LOST, now);
	else if (r->rd.error || r->rd.nvme_status || wire_status_decode(&st, r->status, q->block) != WIRE_OK)
		no_status(q, r, now);
	else if (st.bootid != lease->bootid)
		lost(q, r, ACCEL_ST_RESET, now);
	else if (st.lease != lease->index || st.epoch != lease->epoch)
		lost(q, r, ACCEL_ST_LEASE_LOST, now);
	else if (st.state == NVME_ACCEL_ST_LOST)
		lost(q, r, st.code == NVME_ACCEL_RESET ? ACCEL_ST_RESET : ACCEL_ST_LEASE_LOST, now);
	else if (st.seq == r->seq && is_end(st.state) && (st.cookie == r->result.job_id || r->aborted))
		ended(q, r, &st, now);
	else if (st.seq == r->seq && st.state >= NVME_ACCEL_ST_LOADING && st.state <= NVME_ACCEL_ST_RUNNING)
		running(q, r, &st, now);
	else
		unknown(q, r, now);
}

void queue_command_done(struct accel_queue *q, struct transport_cmd *cmd, uint64_t now)
{
	struct req *r = cmd->user;

	if (cmd == &r->wr)
		r->wr_busy = false;
	else if (cmd == &r->rd)
		r->rd_busy = false;
	else
		r->ctl_busy = false;
	/* A job that never came would let its held read wait in vain: an abort ends that. */
	if (cmd == &r->wr && r->rd_busy && (cmd->error || cmd->nvme_status))
		req_abort(q, r, now);
	if (!r->wr_busy && !r->rd_busy && !r->ctl_busy)
		evaluate(q, r, now);
}
