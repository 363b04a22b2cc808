// SPDX-License-Identifier: BSD-2-Clause
/*
 * Chains of stages. The job itself is narrowed to the stage that runs (so that a stop from elsewhere and
 * the results reach the right place) and widened again at the end. Data between two transforming stages
 * lies in scratch; the last one writes to the job's output.
 */
#include "priv.h"

/* Most bytes between two stages where only the data can tell how many they are. */
#ifdef __KERNEL__
#define CHAIN_MAX ((uint64_t)16 << 20)
#else
#define CHAIN_MAX ((uint64_t)64 << 20)
#endif

struct view {
	const struct base_iov *iov;
	unsigned int niov;
	uint64_t len;
};

struct chain {
	struct engine_thread *t;
	struct job *job;
	struct view in, cur;
	const struct base_iov *out;
	unsigned int nout;
	uint64_t out_max, in_used;
	int first_tx, last_tx;		/* the transforming stages at the ends; -1: none */
	struct base_iov mid[2];		/* what SCRATCH_CHAIN0 and 1 hold */
	unsigned int turn;
};

static int observes(uint16_t op)
{
	return op == NVME_ACCEL_OP_DIGEST || op == NVME_ACCEL_OP_CHECKSUM;
}

static int keeps_size(uint16_t op)
{
	return observes(op) || op == NVME_ACCEL_OP_ENCRYPT || op == NVME_ACCEL_OP_COPY;
}

/* Whether these stages make a chain; finds the transforming ones. */
static int chain_parse(struct chain *c)
{
	struct job *job = c->job;
	unsigned int i, ncompress = 0;

	c->first_tx = c->last_tx = -1;
	for (i = 0; i < job->nstage; i++) {
		uint16_t op = job->stage[i].op;

		if (op == NVME_ACCEL_OP_FILL || op == NVME_ACCEL_OP_COMPARE) {
			engine_fail(job, i, NVME_ACCEL_BAD_PARAM);
			return 0;
		}
		ncompress += op == NVME_ACCEL_OP_COMPRESS;
		/* Of two compressions nobody could tell which one STORED_RAW speaks of. */
		if (ncompress > 1 && job->flags & NVME_ACCEL_JOB_STORE_IF_LARGER) {
			engine_fail(job, i, NVME_ACCEL_BAD_PARAM);
			return 0;
		}
		if (observes(op))
			continue;
		c->last_tx = (int)i;
		if (c->first_tx < 0)
			c->first_tx = (int)i;
	}
	return 1;
}

/* The job as stage i sees it. */
static void narrow(struct chain *c, const struct base_iov *out, unsigned int nout, uint64_t out_max)
{
	struct job *job = c->job;

	job->in = c->cur.iov;
	job->nin = c->cur.niov;
	job->in_len = c->cur.len;
	job->in_used = 0;
	job->out = out;
	job->nout = nout;
	job->out_max = out_max;
	job->out_len = 0;
}

/* Most bytes that stage i may make where its bound is unknown. */
static uint64_t mid_cap(const struct chain *c, unsigned int i)
{
	unsigned int j;

	for (j = i + 1; j < c->job->nstage; j++)
		if (!keeps_size(c->job->stage[j].op))
			return CHAIN_MAX;
	for (j = i + 1; j < c->job->nstage; j++)
		if (c->job->stage[j].op == NVME_ACCEL_OP_ENCRYPT && c->job->stage[j].arg0)
			return CHAIN_MAX;
	return BASE_MIN(c->out_max, UINT64_MAX - 1);
}

/* A stage whose output another transforming stage takes. */
static void run_middle(struct chain *c, const struct engine_fn *fn, unsigned int i)
{
	struct job *job = c->job;
	struct base_iov *mid = &c->mid[c->turn];
	uint64_t bound = engine_bound(&job->stage[i], c->cur.len), cap = bound, room = bound;

	if (job->flags & NVME_ACCEL_JOB_STORE_IF_LARGER && job->stage[i].op == NVME_ACCEL_OP_COMPRESS)
		room = cap = BASE_MAX(bound, c->cur.len);
	if (bound == UINT64_MAX) {
		cap = mid_cap(c, i);
		room = BASE_MIN(cap, BASE_MAX(c->cur.len * 4, 65536u));
	}
	for (;;) {
		mid->iov_base = engine_scratch(c->t, c->turn ? SCRATCH_CHAIN1 : SCRATCH_CHAIN0, room);
		mid->iov_len = room;
		if (!mid->iov_base) {
			engine_fail(job, i, NVME_ACCEL_NO_RESOURCES);
			return;
		}
		narrow(c, mid, 1, room);
		job->sflags &= (uint16_t)~NVME_ACCEL_SF_NEEDED_EXACT;
		job->out_needed = 0;
		job->code = NVME_ACCEL_OK;
		c->t->private_out = 1;
		engine_run_stage(c->t, fn, i, job);
		c->t->private_out = 0;
		if (job->code != NVME_ACCEL_OUTPUT_SHORT || room >= cap)
			break;
		room = BASE_MIN(cap, BASE_MAX(room * 4, job->out_needed));
	}
	c->cur = (struct view){ mid, 1, job->out_len };
	c->turn ^= 1;
}

/* 0: the chain has failed or been stopped. */
static int run_one(struct chain *c, unsigned int i)
{
	struct job *job = c->job;
	const struct engine_fn *fn;
	uint32_t code;

	if (engine_stopped(job)) {
		engine_fail(job, i, NVME_ACCEL_ABORTED);
		return 0;
	}
	fn = engine_pick(&job->stage[i], c->cur.len, &code);
	if (!fn) {
		engine_fail(job, i, code);
		return 0;
	}
	if (observes(job->stage[i].op)) {
		narrow(c, NULL, 0, 0);
		engine_run_stage(c->t, fn, i, job);
		return job->code == NVME_ACCEL_OK;
	}
	if ((int)i == c->last_tx) {
		narrow(c, c->out, c->nout, c->out_max);
		engine_run_stage(c->t, fn, i, job);
		c->cur = (struct view){ c->out, c->nout, job->out_len };
	} else {
		run_middle(c, fn, i);
	}
	if ((int)i == c->first_tx)
		c->in_used = job->in_used;
	return job->code == NVME_ACCEL_OK;
}

void chain_run(struct engine_thread *t, struct job *job)
{
	struct chain c = {
		.t = t, .job = job,
		.in = { job->in, job->nin, job->in_len },
		.out = job->out, .nout = job->nout, .out_max = job->out_max,
		.in_used = job->in_len,
	};
	unsigned int i;

	c.cur = c.in;
	if (!chain_parse(&c))
		return;
	for (i = 0; i < job->nstage; i++)
		if (!run_one(&c, i))
			break;
	job->in = c.in.iov;
	job->nin = c.in.niov;
	job->in_len = c.in.len;
	job->out = c.out;
	job->nout = c.nout;
	job->out_max = c.out_max;
	if (job->code == NVME_ACCEL_OK) {
		job->in_used = c.in_used;
		job->out_len = c.last_tx < 0 ? 0 : c.cur.len;
	}
}
