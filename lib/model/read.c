// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The read half: the status block and the output behind it, now or when the job has ended. */
#include "priv.h"

/* Writes n bytes of a page from byte from to the command's buffer at byte done. */
void read_page(struct model_cmd *cmd, const void *page, uint64_t done, size_t from, size_t n)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

	iov_skip(&pos, done);
	iov_write(&pos, (const uint8_t *)page + from, n);
}

static int shows_job(const struct slot *s, uint8_t alias)
{
	return alias == s->cur && s->state != NVME_ACCEL_ST_CLAIMED;
}

static void job_outcome(const struct slot *s, struct wire_status *st)
{
	const struct job *job = &s->mj.job;

	st->in_used = job->in_used;
	st->out_len = job->out_len;
	st->out_needed = job->out_needed;
	st->out_crc = job->out_crc;
	st->retval = job->retval;
	st->queue_ns = s->queue_ns;
	st->exec_ns = s->exec_ns;
	memcpy(st->result, job->result, sizeof(st->result));
	memcpy(st->long_result, job->long_result, sizeof(st->long_result));
}

static void job_status(const struct slot *s, struct wire_status *st)
{
	st->state = s->state;
	if (s->state == NVME_ACCEL_ST_QUEUED && __atomic_load_n(&s->mj.start_ns, __ATOMIC_RELAXED))
		st->state = NVME_ACCEL_ST_RUNNING;
	st->seq = s->last_seq;
	st->cookie = s->cookie;
	st->stream = s->stream;
	st->code = s->code;
	st->fail_stage = s->fail_stage;
	if (!slot_active(s)) {
		job_outcome(s, st);
		st->flags = s->sflags;
		/* A hint in units of 16 ms: the queue moves on within about as long as a job took. */
		if (s->code < 32 && NVME_ACCEL_RETRY_MASK >> s->code & 1)
			st->retry_hint = 1;
	}
	/* While the reader who lent its buffer is answered, the output is valid: it has it. */
	if (s->released && !s->out_cmd)
		st->flags &= (uint16_t)~NVME_ACCEL_SF_OUTPUT_VALID;
	if (s->dup_seen)
		st->flags |= NVME_ACCEL_SF_DUPLICATE_SEEN;
}

static void note_status(const struct alias *a, struct wire_status *st)
{
	st->state = a->note == NOTE_CHECKED ? NVME_ACCEL_ST_CLAIMED : NVME_ACCEL_ST_FAILED;
	st->seq = a->note_seq;
	st->cookie = a->note_cookie;
	st->code = a->note_code;
	st->fail_stage = a->note_stage;
	st->retry_hint = a->note == NOTE_REFUSED && a->note_code == NVME_ACCEL_BUSY;
}

/* An alias that no job has yet, or whose job has been followed by the next. */
static void old_status(const struct model *m, const struct slot *s, uint8_t alias, struct wire_status *st)
{
	uint64_t back = (s->last_seq - alias) & (m->nalias - 1);

	st->state = NVME_ACCEL_ST_CLAIMED;
	if (s->last_seq <= back)
		return;
	st->state = NVME_ACCEL_ST_SUPERSEDED;
	st->seq = s->last_seq - back;
}

static void fill_status(struct model *m, const struct slot *s, uint8_t alias, struct wire_status *st)
{
	memset(st, 0, sizeof(*st));
	st->bootid = m->id.bootid;
	if (s->lease == NO_LEASE)
		return;
	st->lease = s->lease;
	st->epoch = m->leases[s->lease].epoch;
	if (s->draining) {
		/* The lease's epoch has moved on; this is about the one that was. */
		st->epoch--;
		st->state = NVME_ACCEL_ST_LOST;
		st->code = s->code;
		st->seq = s->last_seq;
		st->cookie = s->cookie;
	} else if (shows_job(s, alias)) {
		job_status(s, st);
	} else if (s->alias[alias].note != NOTE_NONE) {
		note_status(&s->alias[alias], st);
	} else {
		old_status(m, s, alias, st);
	}
}

static void put_status(struct model *m, struct slot *s, uint8_t alias, struct iov_pos *pos)
{
	uint8_t *flat = iov_flat(pos->iov, pos->niov, m->block);
	/* Else not desc_buf: the descriptor in it may still be wanted. */
	uint8_t *block = flat ? flat : m->page;

	fill_status(m, s, alias, &m->status);
	/* Whatever the encoder might find wrong with it, the reader does not get what lay there before. */
	if (wire_status_encode(&m->status, block, m->block) != WIRE_OK)
		memset(block, 0, m->block);
	if (flat)
		iov_skip(pos, m->block);
	else
		iov_write(pos, m->page, m->block);
}

/* How much of the output slot memory holds for readers of this alias. */
static uint64_t readable(const struct slot *s, uint8_t alias)
{
	if (s->lease == NO_LEASE || s->draining || !shows_job(s, alias))
		return 0;
	return s->state == NVME_ACCEL_ST_DONE && !s->released ? s->mj.job.out_len : 0;
}

static int unpadded(const struct slot *s, const struct model_cmd *cmd, uint8_t alias)
{
	const uint32_t both = MODEL_CMD_BORROW | MODEL_CMD_LOCAL;

	return (cmd->flags & both) == both && s->lease != NO_LEASE && alias == s->cur &&
	       s->flags & NVME_ACCEL_JOB_RELEASE_RESULT;
}

static void put_output(struct model *m, struct slot *s, struct model_cmd *cmd, struct iov_pos *pos,
		       uint64_t off, uint64_t n)
{
	uint64_t have = readable(s, cmd->alias), part = 0;

	if (off < have) {
		part = BASE_MIN(n, have - off);
		iov_write(pos, slot_out(m, s) + off, (size_t)part);
		m->count.copied += part;
	}
	if (part < n && !unpadded(s, cmd, cmd->alias))
		iov_zero(pos, (size_t)(n - part));
}

/* The engine has written the output to the buffer of the read; what lies behind it may be anybody's. */
static void pad_output(const struct slot *s, const struct model_cmd *cmd, struct iov_pos *pos, uint64_t n)
{
	uint64_t have = s->state == NVME_ACCEL_ST_DONE && !s->draining ? s->mj.job.out_len : 0;

	if (cmd->flags & MODEL_CMD_LOCAL || have >= n)
		return;
	iov_skip(pos, have);
	iov_zero(pos, (size_t)(n - have));
}

/* Fills the buffer of a read by how the slot stands now. */
void read_answer(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };
	uint64_t off = (cmd->off - m->id.slot_off) & (m->wait_off - 1);
	uint64_t left = cmd->nbytes;

	if (off == 0) {
		put_status(m, s, cmd->alias, &pos);
		off = m->block;
		left -= m->block;
		if (cmd == s->out_cmd) {
			pad_output(s, cmd, &pos, left);
			return;
		}
	}
	if (left)
		put_output(m, s, cmd, &pos, off - m->block, left);
}

/* Whether the job that a WAIT read is about is still to come or to end. */
static int must_wait(const struct slot *s, uint8_t alias)
{
	if (s->lease == NO_LEASE || s->draining)
		return 0;
	if (shows_job(s, alias))
		return slot_active(s);
	return s->alias[alias].note != NOTE_REFUSED;
}

static int wait_read(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	uint64_t now;

	if (!feature(m, NVME_ACCEL_FEAT_WAIT) || !must_wait(s, cmd->alias))
		return 0;
	if (hold_has_read(s) || !hold_room(m)) {
		m->count.hold_refused++;
		return 0;
	}
	now = cmd->flags & MODEL_CMD_LOCAL ? 0 : now_ns(m);
	hold(m, s, cmd, cmd->alias, now);
	return 1;
}

int slot_read(struct model *m, struct model_cmd *cmd, const struct wire_addr *a)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };
	struct slot *s = slot_at(m, a->slot);

	if (s->lease != NO_LEASE && !host_ok(m, &m->leases[s->lease], cmd->host))
		return MODEL_SC_ACCESS_DENIED;
	if (!a->half) {
		iov_zero(&pos, (size_t)cmd->nbytes);
		return MODEL_SC_OK;
	}
	if (a->off < m->wait_off && a->off + cmd->nbytes > m->wait_off)
		return MODEL_SC_INVALID_FIELD;
	cmd->alias = a->alias;
	/*
	 * Output without its status, as from a read that was split on the way: its other part may be held and bring
	 * success later, so that what is not there yet must not be answered with zeros.
	 */
	if (a->off > m->wait_off && feature(m, NVME_ACCEL_FEAT_WAIT) && must_wait(s, a->alias))
		return MODEL_SC_SEQUENCE;
	if (a->off == m->wait_off && wait_read(m, s, cmd))
		return MODEL_HELD;
	read_answer(m, s, cmd);
	return MODEL_SC_OK;
}
