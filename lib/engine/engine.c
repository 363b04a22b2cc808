// SPDX-License-Identifier: BSD-2-Clause
/* What every engine stands on: the thread's memory, the choice from the table, a job of one stage. */
#include "priv.h"

/* In the order of their operations; within a family in the order of preference. */
static const struct engine_family *const families[] = {
	&engine_compress, &engine_ec, &engine_cipher, &engine_digest, &engine_checksum, &engine_move,
};

#define NFAMILIES (sizeof(families) / sizeof(families[0]))

/* Indexed by operation: 1 + the place in families[]; 0: nobody's. */
static const uint8_t family_of[] = {
	[NVME_ACCEL_OP_COMPRESS] = 1,	[NVME_ACCEL_OP_DECOMPRESS] = 1,
	[NVME_ACCEL_OP_EC_ENCODE] = 2,	[NVME_ACCEL_OP_EC_DECODE] = 2,
	[NVME_ACCEL_OP_EC_UPDATE] = 2,	[NVME_ACCEL_OP_XOR] = 2,
	[NVME_ACCEL_OP_PQ_GEN] = 2,	[NVME_ACCEL_OP_ENCRYPT] = 3,
	[NVME_ACCEL_OP_DECRYPT] = 3,	[NVME_ACCEL_OP_DIGEST] = 4,
	[NVME_ACCEL_OP_CHECKSUM] = 5,	[NVME_ACCEL_OP_COPY] = 6,
	[NVME_ACCEL_OP_FILL] = 6,	[NVME_ACCEL_OP_COMPARE] = 6,
};

struct engine_thread *engine_thread_new(void)
{
	return engine_zalloc(sizeof(struct engine_thread));
}

void engine_thread_free(struct engine_thread *t)
{
	unsigned int i;

	if (!t)
		return;
	comp_thread_free(t->comp);
	cipher_thread_free(t->cipher);
	digest_thread_free(t->digest);
	checksum_thread_free(t->checksum);
	ec_thread_free(t->ec);
	for (i = 0; i < SCRATCH_N; i++)
		engine_free(t->scratch[i].p);
	engine_free(t);
}

#ifndef __KERNEL__
#define STACK_WIPE 16384

/* What ciphers have left on the stack below their callers: assembly code spills round keys and says nothing. */
__attribute__((noinline))
static void stack_wipe(void)
{
	uint8_t below[STACK_WIPE];

	engine_wipe(below, sizeof(below));
}
#endif

void engine_thread_forget(struct engine_thread *t)
{
	cipher_thread_forget(t->cipher);
#ifndef __KERNEL__
	stack_wipe();
#endif
}

static void scratch_wipe(struct engine_thread *t)
{
	unsigned int i;

	for (i = 0; i < SCRATCH_N; i++)
		if (t->scratch[i].used)
			engine_wipe(t->scratch[i].p, t->scratch[i].used);
}

void *engine_scratch(struct engine_thread *t, enum scratch which, size_t n)
{
	size_t size;
	void *p;

	if (n > t->scratch[which].size) {
		if (n > SIZE_MAX / 2)
			return NULL;
		/* A quarter more than asked for, so that jobs of slowly growing size do not allocate each. */
		size = (n + n / 4 + 4095) & ~(size_t)4095;
		p = engine_alloc64(size);
		if (!p)
			return NULL;
		if (t->scratch[which].used)
			engine_wipe(t->scratch[which].p, t->scratch[which].used);
		engine_free(t->scratch[which].p);
		t->scratch[which].p = p;
		t->scratch[which].size = size;
		t->scratch[which].used = 0;
	} else if (!t->scratch[which].p) {
		return engine_scratch(t, which, 64);
	}
	t->scratch[which].used = BASE_MAX(t->scratch[which].used, n);
	return t->scratch[which].p;
}

const void *engine_flat_in(struct engine_thread *t, struct job *job)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	void *p;

	p = job->in_len ? iov_flat(job->in, job->nin, job->in_len) : NULL;
	if (p)
		return p;
	p = engine_scratch(t, SCRATCH_IN, job->in_len);
	if (!p) {
		job->code = NVME_ACCEL_NO_RESOURCES;
		return NULL;
	}
	iov_read(&pos, p, job->in_len);
	return p;
}

void engine_fail(struct job *job, unsigned int index, uint32_t code)
{
	job->code = code;
	job->fail_stage = (uint16_t)index;
	job->out_len = 0;
}

void engine_fail_short(struct job *job, unsigned int index, uint64_t needed)
{
	engine_fail(job, index, NVME_ACCEL_OUTPUT_SHORT);
	job->out_needed = needed;
	job->sflags |= NVME_ACCEL_SF_NEEDED_EXACT;
}

void engine_set_result(struct job *job, unsigned int index, const void *result, size_t n)
{
	memcpy(job->long_result[index], result, n);
	memcpy(job->result[index], result, BASE_MIN(n, (size_t)JOB_RESULT_LEN));
	job->result_len[index] = (uint8_t)n;
}

static const struct engine_family *family(uint16_t op)
{
	if (op >= sizeof(family_of) || !family_of[op])
		return NULL;
	return families[family_of[op] - 1];
}

const struct engine_fn *engine_fn_at(unsigned int i)
{
	unsigned int f;

	for (f = 0; f < NFAMILIES; f++) {
		if (i < families[f]->nfns)
			return &families[f]->fns[i];
		i -= families[f]->nfns;
	}
	return NULL;
}

const struct engine_fn *engine_pick(const struct job_stage *stage, uint64_t in_len, uint32_t *code)
{
	const struct engine_family *f = family(stage->op);
	unsigned int i;

	*code = NVME_ACCEL_UNSUPPORTED_OP;
	if (stage->object) {
		*code = NVME_ACCEL_BAD_OBJECT;
		return NULL;
	}
	for (i = 0; f && i < f->nfns; i++) {
		if (f->fns[i].op != stage->op || f->fns[i].alg != stage->alg)
			continue;
		if (!f->fns[i].takes || f->fns[i].takes(stage, in_len))
			return &f->fns[i];
		*code = NVME_ACCEL_BAD_PARAM;
	}
	return NULL;
}

unsigned int engine_ops(struct wire_op *ops, unsigned int max)
{
	unsigned int i, n = 0;

	for (i = 0; i < NFAMILIES; i++)
		n += families[i]->ops(ops + n, max - n);
	return n;
}

uint64_t engine_bound(const struct job_stage *stage, uint64_t in_len)
{
	const struct engine_family *f = family(stage->op);

	return f ? f->bound(stage, in_len) : 0;
}

/* Compression did not help: the output is the input. */
static void store_raw(struct job *job, unsigned int index)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out = { job->out, job->nout, 0 };

	if (job->out_max < job->in_len) {
		int grew = job->sflags & NVME_ACCEL_SF_NEEDED_EXACT && job->out_needed >= job->in_len;

		engine_fail(job, index, grew ? NVME_ACCEL_INCOMPRESSIBLE : NVME_ACCEL_OUTPUT_SHORT);
		job->out_needed = BASE_MIN(job->in_len, job->out_needed ? job->out_needed : UINT64_MAX);
		return;
	}
	iov_copy(&out, &in, job->in_len);
	job->code = NVME_ACCEL_OK;
	job->fail_stage = 0;
	job->out_needed = 0;
	job->out_len = job->in_len;
	job->in_used = job->in_len;
	job->sflags &= (uint16_t)~NVME_ACCEL_SF_NEEDED_EXACT;
	job->sflags |= NVME_ACCEL_SF_STORED_RAW;
}

static void verify_raw(struct job *job, unsigned int index)
{
	uint64_t at;

	if (iov_equal((struct iov_pos){ job->in, job->nin, 0 }, (struct iov_pos){ job->out, job->nout, 0 },
		      job->in_len, &at))
		job->sflags |= NVME_ACCEL_SF_VERIFIED;
	else
		engine_fail(job, index, NVME_ACCEL_VERIFY_FAILED);
}

static int did_not_help(const struct job *job)
{
	if (job->code == NVME_ACCEL_OK)
		return job->out_len >= job->in_len;
	return job->code == NVME_ACCEL_OUTPUT_SHORT || job->code == NVME_ACCEL_INCOMPRESSIBLE;
}

/* Decompresses what a stage has made and compares it with what it was made from. */
static void verify(struct engine_thread *t, unsigned int index, struct job *job)
{
	struct job back = { .nstage = 1 };
	struct base_iov room;
	const struct engine_fn *fn;
	uint32_t code;

	room.iov_len = job->in_len;
	room.iov_base = engine_scratch(t, SCRATCH_VERIFY, job->in_len);
	back.stage[0] = job->stage[index];
	back.stage[0].op = NVME_ACCEL_OP_DECOMPRESS;
	back.stage[0].arg0 = 0;
	back.in = job->out;
	back.nin = job->nout;
	back.in_len = job->out_len;
	back.out = &room;
	back.nout = 1;
	back.out_max = job->in_len;
	fn = engine_pick(&back.stage[0], back.in_len, &code);
	if (!room.iov_base || !fn) {
		engine_fail(job, index, room.iov_base ? NVME_ACCEL_DEVICE_FAULT : NVME_ACCEL_NO_RESOURCES);
		return;
	}
	fn->run(t, &back.stage[0], 0, &back);
	if (back.code == NVME_ACCEL_OK && back.out_len == job->in_len && back.in_used == job->out_len &&
	    iov_equal((struct iov_pos){ job->in, job->nin, 0 }, (struct iov_pos){ &room, 1, 0 }, job->in_len,
		      &back.retval))
		job->sflags |= NVME_ACCEL_SF_VERIFIED;
	else if (back.code == NVME_ACCEL_NO_RESOURCES)
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
	else
		engine_fail(job, index, NVME_ACCEL_VERIFY_FAILED);
}

void engine_run_stage(struct engine_thread *t, const struct engine_fn *fn, unsigned int index,
		      struct job *job)
{
	const struct job_stage *stage = &job->stage[index];

	fn->run(t, stage, index, job);
	if (stage->op != NVME_ACCEL_OP_COMPRESS)
		return;
	if (job->flags & NVME_ACCEL_JOB_STORE_IF_LARGER && did_not_help(job)) {
		store_raw(job, index);
		if (job->code == NVME_ACCEL_OK && job->flags & NVME_ACCEL_JOB_VERIFY)
			verify_raw(job, index);
	} else if (job->code == NVME_ACCEL_OK && job->flags & NVME_ACCEL_JOB_VERIFY) {
		verify(t, index, job);
	}
}

void engine_reset(struct job *job)
{
	job->code = NVME_ACCEL_OK;
	job->fail_stage = 0;
	job->sflags = 0;
	job->in_used = 0;
	job->out_len = 0;
	job->out_needed = 0;
	job->out_crc = 0;
	job->retval = 0;
	memset(job->result, 0, sizeof(job->result));
	memset(job->long_result, 0, sizeof(job->long_result));
	memset(job->result_len, 0, sizeof(job->result_len));
}

/* What must hold before any stage looks at the data; 0 if the job has already failed. */
static int begin(struct engine_thread *t, struct job *job)
{
	unsigned int i;

	engine_reset(job);
	for (i = 0; i < SCRATCH_N; i++)
		t->scratch[i].used = 0;
	t->private_out = 0;
	if (!job->nstage || job->nstage > JOB_MAX_STAGES)
		engine_fail(job, 0, NVME_ACCEL_BAD_DESC);
	else if (iov_total(job->in, job->nin) < job->in_len || iov_total(job->out, job->nout) < job->out_max)
		engine_fail(job, 0, NVME_ACCEL_BAD_PARAM);
	else if (engine_stopped(job))
		engine_fail(job, 0, NVME_ACCEL_ABORTED);
	if (job->code != NVME_ACCEL_OK || !(job->flags & NVME_ACCEL_JOB_IN_CRC))
		return job->code == NVME_ACCEL_OK;
	job->sflags |= NVME_ACCEL_SF_IN_CRC_CHECKED;
	if (checksum_crc32c(0, job->in, job->nin, job->in_len) != job->in_crc)
		engine_fail(job, 0, NVME_ACCEL_IN_CRC_ERROR);
	return job->code == NVME_ACCEL_OK;
}

static int has_secrets(const struct job *job)
{
	unsigned int i;

	for (i = 0; i < job->nstage && i < JOB_MAX_STAGES; i++)
		if (job->stage[i].op == NVME_ACCEL_OP_ENCRYPT || job->stage[i].op == NVME_ACCEL_OP_DECRYPT)
			return 1;
	return 0;
}

static void end(struct engine_thread *t, struct job *job)
{
	if (has_secrets(job))
		scratch_wipe(t);
	if (job->code != NVME_ACCEL_OK) {
		job->out_len = 0;
		job->sflags &= (uint16_t)~(NVME_ACCEL_SF_OUTPUT_VALID | NVME_ACCEL_SF_VERIFIED |
					   NVME_ACCEL_SF_STORED_RAW);
		return;
	}
	job->sflags |= NVME_ACCEL_SF_OUTPUT_VALID;
	if (job->flags & NVME_ACCEL_JOB_OUT_CRC) {
		job->out_crc = checksum_crc32c(0, job->out, job->nout, job->out_len);
		job->sflags |= NVME_ACCEL_SF_OUT_CRC;
	}
}

void engine_run_fn(struct engine_thread *t, const struct engine_fn *fn, struct job *job)
{
	if (!begin(t, job))
		return;
	if (job->nstage != 1)
		engine_fail(job, 0, NVME_ACCEL_BAD_DESC);
	else if (fn->takes && !fn->takes(&job->stage[0], job->in_len))
		engine_fail(job, 0, NVME_ACCEL_BAD_PARAM);
	else
		engine_run_stage(t, fn, 0, job);
	end(t, job);
}

void engine_run(struct engine_thread *t, struct job *job)
{
	const struct engine_fn *fn;
	uint32_t code;

	if (!begin(t, job))
		return;
	if (job->nstage > 1) {
		chain_run(t, job);
	} else {
		fn = engine_pick(&job->stage[0], job->in_len, &code);
		if (fn)
			engine_run_stage(t, fn, 0, job);
		else
			engine_fail(job, 0, code);
	}
	end(t, job);
}
