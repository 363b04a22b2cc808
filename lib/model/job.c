// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A job from the engine's start to its end. */
#include "priv.h"

#define JOB_FLAGS (NVME_ACCEL_JOB_VERIFY | NVME_ACCEL_JOB_OUT_CRC | NVME_ACCEL_JOB_IN_CRC | \
		   NVME_ACCEL_JOB_STORE_IF_LARGER)
/* What an engine may say; the rest of the status flags is the model's. */
#define ENGINE_SFLAGS (NVME_ACCEL_SF_STORED_RAW | NVME_ACCEL_SF_OUT_CRC | NVME_ACCEL_SF_IN_CRC_CHECKED | \
		       NVME_ACCEL_SF_VERIFIED | NVME_ACCEL_SF_NEEDED_EXACT)

static void clear_outcome(struct job *job)
{
	/* By the job's address, not the member's: kernels check that a member's memset() stays in the member. */
	memset((uint8_t *)job + offsetof(struct job, code), 0, sizeof(*job) - offsetof(struct job, code));
}

/* The request, from the descriptor that has just been accepted. */
void job_fill(struct model *m, struct slot *s)
{
	const struct wire_desc *d = &m->desc;
	struct job *job = &s->mj.job;
	unsigned int i;

	clear_outcome(job);
	job->nstage = d->nstage;
	job->flags = d->flags & JOB_FLAGS;
	job->in_len = d->in_len;
	job->out_max = d->out_max;
	job->in_crc = d->in_crc;
	job->stop = 0;
	s->mj.seq = d->seq;
	s->mj.alias = s->cur;
	s->mj.limit_ms = d->limit_ms;
	s->mj.priority = d->priority;
	s->mj.start_ns = 0;
	s->param_len = d->param_len;
	memcpy(s->param, m->desc_buf + NVME_ACCEL_PARAM_OFF, d->param_len);
	for (i = 0; i < d->nstage; i++) {
		job->stage[i] = d->stage[i];
		if (d->stage[i].param)
			job->stage[i].param =
				s->param + (d->stage[i].param - (m->desc_buf + NVME_ACCEL_PARAM_OFF));
	}
}

void job_forget_params(struct slot *s)
{
	unsigned int i;

	if (!s->param_len)
		return;
	model_wipe(s->param, s->param_len);
	s->param_len = 0;
	for (i = 0; i < JOB_MAX_STAGES; i++) {
		s->mj.job.stage[i].param = NULL;
		s->mj.job.stage[i].param_len = 0;
	}
}

/* Lets the job write to the buffer of the read that waits for it, if that may be. */
static int borrow_output(struct model *m, struct slot *s)
{
	struct model_cmd *r;
	uint64_t room = s->mj.job.out_max;
	int n;

	if (!(s->flags & NVME_ACCEL_JOB_RELEASE_RESULT))
		return 0;
	r = hold_find_read(s, s->cur);
	if (!r || !(r->flags & MODEL_CMD_BORROW))
		return 0;
	if ((r->off - m->id.slot_off) & (m->wait_off - 1) || r->nbytes - m->block < room)
		return 0;
	if (r->iov[0].iov_len == m->block) {
		s->mj.job.out = r->iov + 1;
		s->mj.job.nout = r->niov - 1;
	} else {
		n = iov_slice(s->out_iov, MODEL_NIOV, r->iov, r->niov, m->block, room);
		if (n < 0)
			return 0;
		s->mj.job.out = s->out_iov;
		s->mj.job.nout = (unsigned int)n;
	}
	s->out_cmd = r;
	return 1;
}

void job_start(struct model *m, struct slot *s)
{
	uint32_t code;

	if (!borrow_output(m, s) && !data_out_memory(m, s)) {
		job_end(m, s, NVME_ACCEL_NO_RESOURCES, 0, s->ready_ns);
		return;
	}
	s->state = NVME_ACCEL_ST_QUEUED;
	s->at_engine = 1;
	m->nengine++;
	code = m->env.job_start(m->ctx, &s->mj);
	if (code == NVME_ACCEL_OK)
		return;
	/* BUSY would say that the sequence number is unused. */
	s->at_engine = 0;
	m->nengine--;
	clear_outcome(&s->mj.job);
	job_end(m, s, NVME_ACCEL_NO_RESOURCES, 0, s->ready_ns);
}

void job_stop(struct model *m, struct slot *s, uint32_t code)
{
	if (!s->at_engine) {
		clear_outcome(&s->mj.job);
		job_end(m, s, code, 0, now_ns(m));
		return;
	}
	if (s->stop_code)
		return;
	s->stop_code = code;
	__atomic_store_n(&s->mj.job.stop, 1, __ATOMIC_RELAXED);
	m->env.job_stop(m->ctx, &s->mj);
}

static uint8_t end_state(uint32_t code)
{
	if (code == NVME_ACCEL_OK)
		return NVME_ACCEL_ST_DONE;
	return code == NVME_ACCEL_ABORTED ? NVME_ACCEL_ST_ABORTED : NVME_ACCEL_ST_FAILED;
}

/* The job last_seq has its outcome: keep it, count it, tell who waits. */
void job_end(struct model *m, struct slot *s, uint32_t code, uint16_t stage, uint64_t now)
{
	s->state = end_state(code);
	s->code = code;
	s->fail_stage = stage;
	s->limit_ns = NEVER;
	job_forget_params(s);
	if (code == NVME_ACCEL_OK) {
		s->sflags |= NVME_ACCEL_SF_OUTPUT_VALID;
	} else {
		s->mj.job.out_len = 0;
		err_log(m, NULL, 0, code, s, s->last_seq);
	}
	count_job(m, s, now);
	hold_answer(m, s, s->cur);
}

/* A job ends without an outcome that anybody could still read. */
void job_lost(struct model *m, struct slot *s, uint32_t code, uint64_t now)
{
	s->code = code;
	s->mj.job.out_len = 0;
	job_forget_params(s);
	count_job(m, s, now);
}

/* What an engine reports is checked like any other input. */
static uint32_t outcome(struct slot *s)
{
	struct job *job = &s->mj.job;
	uint32_t code = job->code;

	if (code >= NVME_ACCEL_CODES || (code == NVME_ACCEL_OK && job->out_len > job->out_max))
		code = NVME_ACCEL_DEVICE_FAULT;
	if (job->fail_stage >= job->nstage)
		job->fail_stage = 0;
	if (code == NVME_ACCEL_ABORTED && s->stop_code)
		code = s->stop_code;
	s->sflags = job->sflags & ENGINE_SFLAGS;
	return code;
}

static void set_times(struct slot *s, uint64_t now)
{
	uint64_t start = __atomic_load_n(&s->mj.start_ns, __ATOMIC_RELAXED);

	if (start < s->ready_ns || start > now)
		start = s->ready_ns;
	s->queue_ns = start - s->accept_ns;
	s->exec_ns = now - start;
}

/* The engine's last word on a job whose lease has ended. */
static void drained(struct model *m, struct slot *s)
{
	struct lease *l = &m->leases[s->lease];
	uint64_t now = now_ns(m);

	set_times(s, now);
	job_lost(m, s, s->code, now);
	hold_answer(m, s, -1);
	slot_close(m, s);
	lease_slot_drained(m, l);
}

void model_job_done(struct model *m, struct model_job *mj)
{
	struct slot *s;
	uint64_t now;
	uint32_t code;

	if (mj->slot >= m->id.nslot)
		return;
	s = slot_at(m, mj->slot);
	if (mj != &s->mj || !s->at_engine)
		return;
	s->at_engine = 0;
	m->nengine--;
	if (s->draining) {
		drained(m, s);
		return;
	}
	now = now_ns(m);
	set_times(s, now);
	s->released = s->out_cmd != NULL;
	code = outcome(s);
	job_end(m, s, code, mj->job.fail_stage, now);
}
