/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small world for the model: a clock that the test moves, jobs that end when the test says so, memory that
 * is counted, commands whose completion is recorded. Shared by the tests of lib/model and its fuzz target.
 */
#ifndef TEST_MODEL_ENV_H
#define TEST_MODEL_ENV_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/model/model.h"

#define ENV_NJOB 128
#define ENV_HELD (-1)
#define IN_PLACE (MODEL_CMD_BORROW | MODEL_CMD_LOCAL)
#define MS 1000000ull

struct env {
	struct model *m;
	void *mem;
	struct model_cfg cfg;
	uint64_t now;
	uint64_t rng;
	struct model_job *job[ENV_NJOB];	/* at the engine */
	unsigned int njob;
	unsigned int started, stops;
	uint32_t refuse;			/* what job_start() answers; 0: takes the job */
	int waits;				/* what job_waits() answers */
	/* Memory. */
	long live;				/* pieces that are out */
	unsigned int gets;
	unsigned int fail_at; /* the n-th mem_get() from 1 fails, and those behind it; 0: none */
	int dirty;	      /* breaks the contract: memory is neither zeroed nor cleaned */
	unsigned int unclean;			/* pieces given back with something in them */
	/* Commands. */
	unsigned int done, twice;
};

struct cmd {
	struct model_cmd c;			/* first: cmd_done() gets its address */
	struct env *env;
	struct iovec iov[20];
	int submitted, done;
	uint16_t sc;
};

static inline uint64_t env_rand(struct env *e)
{
	e->rng ^= e->rng << 13;
	e->rng ^= e->rng >> 7;
	e->rng ^= e->rng << 17;
	return e->rng;
}

static inline uint64_t env_now(void *ctx)
{
	return ((struct env *)ctx)->now;
}

static inline void env_random(void *ctx, void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n--)
		*p++ = (uint8_t)env_rand(ctx);
}

static inline void *env_mem_get(void *ctx, size_t n)
{
	struct env *e = ctx;
	uint8_t *p;

	if (e->fail_at && ++e->gets >= e->fail_at)
		return NULL;
	p = malloc(n);
	if (!p)
		return NULL;
	memset(p, e->dirty ? 0xd7 : 0, n);
	e->live++;
	return p;
}

static inline void env_mem_zero(void *ctx, void *p, size_t n)
{
	if (!((struct env *)ctx)->dirty)
		memset(p, 0, n);
}

static inline void env_mem_put(void *ctx, void *p, size_t n)
{
	struct env *e = ctx;

	if (!e->dirty && !mem_is_zero(p, n))
		e->unclean++;
	e->live--;
	free(p);
}

static inline uint32_t env_job_start(void *ctx, struct model_job *job)
{
	struct env *e = ctx;

	if (e->refuse)
		return e->refuse;
	if (e->njob == ENV_NJOB)
		return NVME_ACCEL_BUSY;
	e->job[e->njob++] = job;
	e->started++;
	return NVME_ACCEL_OK;
}

static inline void env_job_stop(void *ctx, struct model_job *job)
{
	(void)job;
	((struct env *)ctx)->stops++;
}

static inline int env_job_waits(void *ctx, const struct model_job *job)
{
	(void)job;
	return ((struct env *)ctx)->waits;
}

static inline void env_cmd_done(void *ctx, struct model_cmd *c, uint16_t sc)
{
	struct cmd *cmd = (struct cmd *)c;
	struct env *e = ctx;

	e->done++;
	if (cmd->done++)
		e->twice++;
	cmd->sc = sc;
}

static const struct model_env env_ops = {
	.now_ns = env_now,
	.random = env_random,
	.mem_get = env_mem_get,
	.mem_zero = env_mem_zero,
	.mem_put = env_mem_put,
	.job_start = env_job_start,
	.job_stop = env_job_stop,
	.job_waits = env_job_waits,
	.cmd_done = env_cmd_done,
};

/* Every feature that the model has; B 512, half windows of 64 KiB, one alias bit, 8 slots, 4 leases. */
static inline void env_cfg(struct model_cfg *cfg)
{
	struct wire_id *id = &cfg->id;
	static const struct wire_op ops[] = {
		{ .op = NVME_ACCEL_OP_COPY, .flags = NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_LAST |
		  NVME_ACCEL_OPF_ALONE, .max_in = 24576, .max_out = 24576 },
		{ .op = NVME_ACCEL_OP_CHECKSUM, .alg = NVME_ACCEL_ALG_CRC32C, .flags = NVME_ACCEL_OPF_ALONE |
		  NVME_ACCEL_OPF_FIRST, .max_in = 24576, .max_out = 0 },
		{ .op = NVME_ACCEL_OP_ENCRYPT, .alg = NVME_ACCEL_ALG_AES_GCM, .flags = NVME_ACCEL_OPF_ALONE,
		  .max_in = 24576, .max_out = 24576, .key_bits_mask = 5 },
	};

	memset(cfg, 0, sizeof(*cfg));
	id->ifmajor = NVME_ACCEL_IFMAJOR;
	id->ifminor = NVME_ACCEL_IFMINOR;
	id->type = NVME_ACCEL_TYPE_TEST;
	id->uuid[0] = id->implid[0] = 1;
	memcpy(id->name, "model", 6);
	id->feat = NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT | NVME_ACCEL_FEAT_WAIT |
		   NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_STOP | NVME_ACCEL_FEAT_IN_CRC |
		   NVME_ACCEL_FEAT_OUT_CRC | NVME_ACCEL_FEAT_VERIFY | NVME_ACCEL_FEAT_STATS |
		   NVME_ACCEL_FEAT_SOFTWARE;
	id->nslot = 8;
	id->lbadsx = 9;
	id->winsh = 16;
	id->aliasb = 1;
	id->maxstage = 2;
	id->nlease = 4;
	id->holdmax_ms = 1000;
	id->maxin = id->maxout = 24576;
	id->leasemin_ms = 100;
	id->leasemax_ms = 60000;
	id->neng = 2;
	id->engdepth = 64;
	id->nops = sizeof(ops) / sizeof(ops[0]);
	memcpy(id->ops, ops, sizeof(ops));
	cfg->max_held = 32;
	cfg->lease_default_ms = 10000;
}

/* 0, or -1 if the model refuses e->cfg. */
static inline int env_start(struct env *e)
{
	size_t n;

	if (wire_layout(&e->cfg.id))
		return -1;
	n = model_size(&e->cfg);
	if (!n)
		return -1;
	e->mem = aligned_alloc(64, (n + 63) & ~(size_t)63);
	if (!e->mem)
		return -1;
	memset(e->mem, 0xa5, n);
	e->now = 1000 * MS;
	e->rng = e->rng ? e->rng : 88172645463325252ull;
	e->m = model_init(e->mem, &e->cfg, &env_ops, e);
	return e->m ? 0 : -1;
}

static inline void env_job_remove(struct env *e, struct model_job *job)
{
	unsigned int i;

	for (i = 0; i < e->njob; i++)
		if (e->job[i] == job)
			break;
	for (e->njob--; i < e->njob; i++)
		e->job[i] = e->job[i + 1];
}

/* The model is told that the job has ended with this code. */
static inline void env_end(struct env *e, struct model_job *job, uint32_t code)
{
	job->job.code = code;
	env_job_remove(e, job);
	model_job_done(e->m, job);
}

/* Runs a job as an engine would: copies, or checksums. */
static inline void env_work(struct job *job)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out = { job->out, job->nout, 0 };
	uint32_t crc = 0;
	uint64_t left;
	void *p;
	size_t n;

	job->in_used = job->in_len;
	if (job->stop) {
		job->code = NVME_ACCEL_ABORTED;
	} else if (job->stage[0].op == NVME_ACCEL_OP_CHECKSUM) {
		for (left = job->in_len; left && (n = iov_next(&in, &p, left)); left -= n)
			crc = base_crc32c(crc, p, n);
		le32_put(job->result[0], crc);
		job->result_len[0] = 4;
	} else if (job->in_len > job->out_max) {
		job->code = NVME_ACCEL_OUTPUT_SHORT;
		job->out_needed = job->in_len;
	} else {
		job->out_len = iov_copy(&out, &in, job->in_len);
	}
}

static inline void env_run(struct env *e, struct model_job *job)
{
	env_work(&job->job);
	env_end(e, job, job->job.code);
}

static inline void env_run_all(struct env *e)
{
	while (e->njob)
		env_run(e, e->job[0]);
}

static inline void env_stop(struct env *e)
{
	while (model_fini(e->m))
		env_run_all(e);
	free(e->mem);
}

/* Returns the NVMe status, or ENV_HELD. */
static inline int env_submit(struct env *e, struct cmd *cmd)
{
	cmd->env = e;
	cmd->submitted++;
	cmd->done = 0;
	model_submit(e->m, &cmd->c);
	return cmd->done ? cmd->sc : ENV_HELD;
}

static inline void cmd_set(struct cmd *cmd, uint8_t opcode, uint64_t off, void *buf, uint64_t n)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->iov[0].iov_base = buf;
	cmd->iov[0].iov_len = n;
	cmd->c.opcode = opcode;
	cmd->c.off = off;
	cmd->c.nbytes = n;
	cmd->c.iov = cmd->iov;
	cmd->c.niov = 1;
}

/* One command that does not wait. */
static inline int env_io(struct env *e, uint8_t opcode, uint64_t off, void *buf, uint64_t n, uint64_t host)
{
	struct cmd cmd;

	cmd_set(&cmd, opcode, off, buf, n);
	cmd.c.host = host;
	return env_submit(e, &cmd);
}

/* ---- Leases ---- */

static inline uint64_t lease_addr(struct env *e, uint32_t index)
{
	return e->cfg.id.lease_off + (uint64_t)index * NVME_ACCEL_LEASE_STRIDE;
}

static inline int env_claim(struct env *e, uint32_t index, const struct wire_claim *c, uint64_t host)
{
	uint8_t page[NVME_ACCEL_PAGE];
	size_t n = (size_t)1 << e->cfg.id.lbadsx;

	if (wire_claim_encode(c, page, n))
		return -2;
	return env_io(e, MODEL_WRITE, lease_addr(e, index), page, n, host);
}

static inline int env_lease(struct env *e, uint32_t index, struct wire_lease *l)
{
	uint8_t page[NVME_ACCEL_PAGE];

	if (env_io(e, MODEL_READ, lease_addr(e, index), page, sizeof(page), 0))
		return -1;
	return wire_lease_decode(l, page, e->cfg.id.nslot);
}

/* A claim by holder number who; its nonce and claim_id are made of that number and the epoch. */
static inline void claim_fill(struct wire_claim *c, uint16_t op, uint8_t who, uint32_t epoch, uint32_t slots)
{
	memset(c, 0, sizeof(*c));
	c->op = op;
	memset(c->claim_id, who, sizeof(c->claim_id));
	if (op != NVME_ACCEL_LEASE_BREAK)
		memset(c->nonce, 0x80 | who, sizeof(c->nonce));
	c->epoch = epoch;
	if (op == NVME_ACCEL_LEASE_CLAIM)
		c->slots_wanted = c->slots_min = slots;
}

/* ---- Jobs ---- */

static inline void desc_fill(struct wire_desc *d, uint8_t who, uint32_t lease, uint32_t epoch, uint64_t seq,
			     uint64_t in_len, uint64_t out_max)
{
	memset(d, 0, sizeof(*d));
	d->flags = NVME_ACCEL_JOB_START;
	d->seq = seq;
	memset(d->nonce, 0x80 | who, sizeof(d->nonce));
	d->lease = lease;
	d->epoch = epoch;
	d->cookie = seq * 1000 + who;
	d->in_len = in_len;
	d->out_max = out_max;
	d->nstage = 1;
	d->stage[0].op = NVME_ACCEL_OP_COPY;
}

#endif
