// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The write half: whose descriptor it is, whether its turn has come, what it asks for. */
#include "priv.h"

#define RAW(m, member) ((m)->desc_buf + offsetof(struct nvme_accel_desc, member))

/* The lease that the descriptor proves to hold and that has this slot. */
static struct lease *owner(struct model *m, const struct slot *s, uint64_t now)
{
	uint32_t index = le32_get(RAW(m, lease));
	struct lease *l;

	if (index >= m->id.nlease || index != s->lease)
		return NULL;
	l = &m->leases[index];
	if (l->state != NVME_ACCEL_LEASE_HELD || l->epoch != le32_get(RAW(m, epoch)) ||
	    !nonce_equal(l->nonce, RAW(m, nonce)))
		return NULL;
	if (now >= l->expires_ns) {
		lease_expire(m, now);
		return NULL;
	}
	return l;
}

/* What each flag of a descriptor needs. */
static const struct {
	uint16_t flags;
	uint64_t feat;
} needs[] = {
	{ NVME_ACCEL_JOB_EXPLICIT, NVME_ACCEL_FEAT_EXPLICIT },
	{ NVME_ACCEL_JOB_COMPLETE_ON_DONE, NVME_ACCEL_FEAT_COMPLETE_ON_DONE },
	{ NVME_ACCEL_JOB_IN_CRC, NVME_ACCEL_FEAT_IN_CRC },
	{ NVME_ACCEL_JOB_OUT_CRC, NVME_ACCEL_FEAT_OUT_CRC },
	{ NVME_ACCEL_JOB_VERIFY, NVME_ACCEL_FEAT_VERIFY },
	{ NVME_ACCEL_JOB_STREAM_FIRST | NVME_ACCEL_JOB_STREAM_LAST, NVME_ACCEL_FEAT_STREAMS },
	{ NVME_ACCEL_JOB_VECTOR, NVME_ACCEL_FEAT_VECTOR },
	{ NVME_ACCEL_JOB_NSREF, NVME_ACCEL_FEAT_NSREF },
};

/* The flags that a descriptor may not have here. */
uint16_t desc_unsupported(const struct model *m)
{
	uint16_t flags = 0;
	unsigned int i;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (!feature(m, needs[i].feat))
			flags |= needs[i].flags;
	return flags;
}

/* Whether the device can do what the descriptor asks for: a code, and the stage at fault. */
static uint32_t desc_check(const struct model *m, unsigned int *stage)
{
	const struct wire_desc *d = &m->desc;
	unsigned int i;

	*stage = 0;
	if (d->flags & m->bad_flags)
		return NVME_ACCEL_UNSUPPORTED_OP;
	if (d->in_len > m->id.maxin || d->out_max > m->id.maxout)
		return NVME_ACCEL_BAD_DESC;
	for (i = 0; i < d->nstage; i++) {
		*stage = i;
		if (d->stage[i].flags & ~NVME_ACCEL_STAGE_FLAGS)
			return NVME_ACCEL_UNSUPPORTED_OP;
		if (d->stage[i].object)
			return NVME_ACCEL_BAD_OBJECT;
	}
	return wire_check_stages(&m->id, d->stage, d->nstage, d->in_len, d->out_max, stage);
}

/* Remembers a descriptor that was not accepted, for whoever reads its alias. */
static void note(struct model *m, struct slot *s, uint8_t alias, enum note kind, uint32_t code,
		 unsigned int stage)
{
	struct alias *a = &s->alias[alias];

	if (kind == NOTE_REFUSED)
		err_log(m, NULL, 0, code, s, m->desc.seq);
	/* The alias of the last job shows that job, until the next one is accepted. */
	if (alias == s->cur && s->state != NVME_ACCEL_ST_CLAIMED)
		return;
	a->note = kind;
	a->note_code = code;
	a->note_stage = (uint16_t)stage;
	a->note_seq = m->desc.seq;
	a->note_cookie = m->desc.cookie;
	if (kind == NOTE_REFUSED)
		hold_answer(m, s, alias);
}

/* The next job takes the slot: what the one before has left is gone. */
static void take_turn(struct model *m, struct slot *s, uint8_t alias, uint64_t now)
{
	uint8_t before = s->cur, had_job = s->state != NVME_ACCEL_ST_CLAIMED;
	uint32_t i;

	if (s->state == NVME_ACCEL_ST_LOADING)
		job_lost(m, s, NVME_ACCEL_DATA_MISSING, now);
	alias_reset(&s->alias[before]);
	for (i = 0; i < m->nalias; i++)
		s->alias[i].note = NOTE_NONE;
	s->last_seq = m->desc.seq;
	s->cur = alias;
	s->state = NVME_ACCEL_ST_LOADING;
	if (had_job)
		hold_answer(m, s, before);
}

/* Where the first stage stands in the table of operations: mostly where the slot's last job's did. 0xff: nowhere. */
static uint8_t op_index(const struct model *m, const struct slot *s, const struct wire_desc *d)
{
	const struct wire_op *ops = m->id.ops, *op;

	if (!d->nstage)
		return 0xff;
	if (s->op < m->id.nops && ops[s->op].op == d->stage[0].op && ops[s->op].alg == d->stage[0].alg)
		return s->op;
	op = wire_find_op(&m->id, d->stage[0].op, d->stage[0].alg);
	return op ? (uint8_t)(op - ops) : 0xff;
}

static void take_request(struct model *m, struct slot *s, uint64_t now)
{
	const struct wire_desc *d = &m->desc;

	s->op = op_index(m, s, d);
	s->flags = d->flags;
	s->cookie = d->cookie;
	s->stream = d->stream;
	s->dup_seen = s->released = 0;
	s->code = s->stop_code = NVME_ACCEL_OK;
	s->sflags = s->fail_stage = 0;
	s->accept_ns = s->ready_ns = now;
	s->queue_ns = s->exec_ns = 0;
	s->limit_ns = d->limit_ms ? now + d->limit_ms * NS_PER_MS : NEVER;
	due(m, s->limit_ns);
	job_fill(m, s);
}

/* Starts the job if its input has come with the descriptor, else waits for the rest. */
static void load(struct model *m, struct slot *s, struct model_cmd *cmd, int held, uint64_t now)
{
	uint64_t here = cmd->nbytes - m->block;
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

	if (here >= s->mj.job.in_len) {
		if ((held && data_borrow(m, s, cmd)) || data_copy(m, s, cmd))
			job_start(m, s);
		else
			job_end(m, s, NVME_ACCEL_NO_RESOURCES, 0, now);
		return;
	}
	if (!feature(m, NVME_ACCEL_FEAT_EXPLICIT)) {
		job_end(m, s, NVME_ACCEL_SHORT_WRITE, 0, now);
		return;
	}
	iov_skip(&pos, m->block);
	if (!data_store(m, s, s->cur, &pos, 0, here)) {
		job_end(m, s, NVME_ACCEL_NO_RESOURCES, 0, now);
		return;
	}
	if (data_complete(m, s)) {
		data_use_memory(m, s);
		job_start(m, s);
	}
}

static int accept(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint32_t code,
		  uint64_t now)
{
	unsigned int stage = 0;
	int held = 0;

	take_turn(m, s, alias, now);
	take_request(m, s, now);
	if (!code && m->desc.flags & NVME_ACCEL_JOB_ABORT)
		code = NVME_ACCEL_ABORTED;
	if (!code)
		code = desc_check(m, &stage);
	if (code) {
		job_end(m, s, code, (uint16_t)stage, now);
		return MODEL_SC_OK;
	}
	if (s->flags & NVME_ACCEL_JOB_COMPLETE_ON_DONE && hold_room(m)) {
		hold(m, s, cmd, alias, now);
		held = 1;
	}
	load(m, s, cmd, held, now);
	/* A held command may have ended in load(): it is not the model's any more. */
	return held ? MODEL_HELD : MODEL_SC_OK;
}

/* The input that came with the first one may have been lost on its way: this may bring it. */
static void load_again(struct model *m, struct slot *s, struct model_cmd *cmd, uint64_t now)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

	iov_skip(&pos, m->block);
	if (!data_store(m, s, s->cur, &pos, 0, cmd->nbytes - m->block)) {
		job_end(m, s, NVME_ACCEL_NO_RESOURCES, 0, now);
		return;
	}
	if (!data_complete(m, s))
		return;
	data_use_memory(m, s);
	s->ready_ns = now;
	job_start(m, s);
}

/* The descriptor of the slot's last job once more. */
static int repeated(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint32_t code,
		    uint64_t now)
{
	if (m->desc.flags & NVME_ACCEL_JOB_ABORT) {
		if (slot_active(s))
			job_stop(m, s, NVME_ACCEL_ABORTED);
	} else if (m->desc.flags & NVME_ACCEL_JOB_START) {
		m->count.duplicates++;
		s->dup_seen = 1;
		if (!code && s->state == NVME_ACCEL_ST_LOADING)
			load_again(m, s, cmd, now);
	}
	if (!(m->desc.flags & NVME_ACCEL_JOB_COMPLETE_ON_DONE) || !slot_active(s) || !hold_room(m))
		return MODEL_SC_OK;
	hold(m, s, cmd, alias, now);
	return MODEL_HELD;
}

static int by_seq(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint32_t code,
		  uint64_t now)
{
	const struct wire_desc *d = &m->desc;
	unsigned int stage = 0;

	if (d->seq == s->last_seq && s->state != NVME_ACCEL_ST_CLAIMED)
		return repeated(m, s, cmd, alias, code, now);
	if (d->seq <= s->last_seq) {
		m->count.stale++;
		return MODEL_SC_OK;
	}
	if (d->seq - s->last_seq > 1) {
		note(m, s, alias, NOTE_REFUSED, NVME_ACCEL_SEQ_GAP, 0);
		return MODEL_SC_OK;
	}
	if (!(d->flags & (NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_ABORT))) {
		if (!code)
			code = desc_check(m, &stage);
		note(m, s, alias, NOTE_CHECKED, code, stage);
		return MODEL_SC_OK;
	}
	if (s->at_engine) {
		note(m, s, alias, NOTE_REFUSED, NVME_ACCEL_BUSY, 0);
		return MODEL_SC_OK;
	}
	return accept(m, s, cmd, alias, code, now);
}

/* A descriptor with a fault in it: no more of it is used than who and which. */
static void salvage(struct model *m)
{
	memset(&m->desc, 0, sizeof(m->desc));
	m->desc.flags = le16_get(RAW(m, flags)) & (NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_ABORT);
	m->desc.seq = le64_get(RAW(m, seq));
	m->desc.cookie = le64_get(RAW(m, cookie));
}

/*
 * Whether it is a descriptor, and as its sender wrote it. If not, its numbers mean nothing: nobody can be
 * told but the sender of the command.
 */
static int intact(const struct model *m, enum wire_err err)
{
	if (err == WIRE_MAGIC || err == WIRE_VERSION || err == WIRE_CRC)
		return 0;
	/* Where the parameters do not fit the block, there is no telling what the checksum is of. */
	return err != WIRE_LENGTH || le16_get(RAW(m, param_len)) <= m->block - NVME_ACCEL_PARAM_OFF;
}

static int desc_judge(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias,
		      enum wire_err err)
{
	uint64_t now = now_ns(m);
	struct lease *l;

	if (!intact(m, err))
		return MODEL_SC_INVALID_FIELD;
	l = owner(m, s, now);
	if (!l)
		return MODEL_SC_ACCESS_DENIED;
	if (err)
		salvage(m);
	else
		lease_renew(m, l, now);
	if (alias_of(m, m->desc.seq) != alias)
		return MODEL_SC_INVALID_FIELD;
	return by_seq(m, s, cmd, alias, err ? NVME_ACCEL_BAD_DESC : NVME_ACCEL_OK, now);
}

static int desc_write(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };
	enum wire_err err;
	int sc;

	/* A copy first: the sender may change its buffer while it is looked at. */
	iov_read(&pos, m->desc_buf, m->block);
	err = wire_desc_decode(&m->desc, m->desc_buf, m->block);
	sc = desc_judge(m, s, cmd, alias, err);
	nonce_wipe(RAW(m, nonce));
	nonce_wipe(m->desc.nonce);
	if (err || m->desc.param_len)
		model_wipe(m->desc_buf + NVME_ACCEL_PARAM_OFF, m->block - NVME_ACCEL_PARAM_OFF);
	return sc;
}

static int half_write(struct model *m, struct slot *s, struct model_cmd *cmd, const struct wire_addr *a)
{
	uint64_t room = ((m->id.maxin + m->block - 1) & ~(uint64_t)(m->block - 1)) + m->block;

	if (s->draining || !host_ok(m, &m->leases[s->lease], cmd->host))
		return MODEL_SC_ACCESS_DENIED;
	if (a->off + cmd->nbytes > room)
		return MODEL_SC_INVALID_FIELD;
	if (a->off)
		return data_write(m, s, cmd, a->alias, a->off - m->block);
	return desc_write(m, s, cmd, a->alias);
}

int slot_write(struct model *m, struct model_cmd *cmd, const struct wire_addr *a)
{
	struct slot *s = slot_at(m, a->slot);
	int sc;

	if (a->half)
		return MODEL_SC_INVALID_FIELD;
	if (s->lease == NO_LEASE)
		return MODEL_SC_ACCESS_DENIED;
	sc = half_write(m, s, cmd, a);
	/* A job that will not come: its host need not wait for it. */
	if (sc != MODEL_SC_OK && sc != MODEL_HELD)
		hold_refused(m, s, a->alias, cmd->host, sc);
	return sc;
}
