// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any job that a descriptor could name, on small buffers: a descriptor's fields from the first bytes, the
 * rest is parameters and input. Whatever comes out must keep the engine's promises: no byte beyond out_max,
 * no output unless the code is OK, the request unchanged.
 */
#include <stdlib.h>
#include "../../lib/engine/engine.h"

#define OUT_MAX 8192u
#define GUARD	64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

struct input {
	const uint8_t *p;
	size_t n;
};

static uint64_t take(struct input *in, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--) {
		v = v << 8 | (in->n ? *in->p : 0);
		in->p += !!in->n;
		in->n -= !!in->n;
	}
	return v;
}

/* Mostly operations and algorithms that exist; now and then any number. */
static uint16_t number(struct input *in, unsigned int most)
{
	uint64_t v = take(in, 1);

	return (uint16_t)(v < 250 ? v % (most + 1) : take(in, 2));
}

static void stage(struct job_stage *s, struct input *in)
{
	s->op = number(in, NVME_ACCEL_OP_OBJECT_DROP);
	s->alg = number(in, 6);
	s->flags = (uint32_t)take(in, 1) & 7;
	s->object = take(in, 1) > 250;
	s->arg0 = (uint32_t)take(in, 4);
	s->arg1 = take(in, 2);
	if (take(in, 1) > 250)
		s->arg1 = take(in, 8);
	s->param_len = (uint32_t)take(in, 1);
	if (s->param_len > in->n)
		s->param_len = (uint32_t)in->n;
	/* A copy of its own, so that a read beyond it is seen. */
	s->param = malloc(s->param_len);
	if (s->param)
		memcpy((uint8_t *)(uintptr_t)s->param, in->p, s->param_len);
	else
		s->param_len = 0;
	in->p += s->param_len;
	in->n -= s->param_len;
}

static unsigned int cut(struct iovec iov[2], uint8_t *p, size_t n, size_t at)
{
	if (at > n)
		at = n;
	iov[0].iov_base = p;
	iov[0].iov_len = at;
	iov[1].iov_base = p + at;
	iov[1].iov_len = n - at;
	return 2;
}

static void check(const struct job *job, const struct job *before, const uint8_t *out)
{
	size_t i;

	if (memcmp(job, before, offsetof(struct job, code)) != 0 || job->code >= NVME_ACCEL_CODES)
		abort();
	if (job->out_len > (job->code == NVME_ACCEL_OK ? job->out_max : 0))
		abort();
	for (i = job->out_max; i < OUT_MAX + GUARD; i++)
		if (out[i] != 0xa5)
			abort();
	for (i = 0; i < JOB_MAX_STAGES; i++)
		if (job->result_len[i] > JOB_LONG_LEN)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct engine_thread *t;
	static uint8_t out[OUT_MAX + GUARD];
	struct input in = { data, size };
	struct iovec in_iov[2], out_iov[2];
	struct job job = { .nstage = 0 }, before;
	uint8_t *copy;
	unsigned int i;

	if (!t)
		t = engine_thread_new();
	if (!t)
		return 0;
	job.nstage = 1 + (uint32_t)take(&in, 1) % JOB_MAX_STAGES;
	job.flags = (uint32_t)take(&in, 2) & (NVME_ACCEL_JOB_IN_CRC | NVME_ACCEL_JOB_OUT_CRC |
					      NVME_ACCEL_JOB_VERIFY | NVME_ACCEL_JOB_STORE_IF_LARGER);
	if (take(&in, 1) > 8)	/* a checksum that fits is not to be guessed */
		job.flags &= ~(uint32_t)NVME_ACCEL_JOB_IN_CRC;
	job.out_max = take(&in, 2) % (OUT_MAX + 1);
	job.nout = cut(out_iov, out, OUT_MAX, take(&in, 1) * 16);
	for (i = 0; i < job.nstage; i++)
		stage(&job.stage[i], &in);
	i = (unsigned int)take(&in, 1);
	copy = malloc(in.n ? in.n : 1);
	if (!copy)
		return 0;
	memcpy(copy, in.p, in.n);
	job.in = in_iov;
	job.nin = cut(in_iov, copy, in.n, i);
	job.in_len = in.n;
	job.out = out_iov;
	memset(out, 0xa5, sizeof(out));
	before = job;
	engine_run(t, &job);
	check(&job, &before, out);
	for (i = 0; i < job.nstage; i++)
		free((void *)(uintptr_t)job.stage[i].param);
	free(copy);
	return 0;
}

/*
 * Random bytes hardly ever name a job that is right in all its parts, so now and then the mutator begins from
 * one: a stage that works, or its inverse on what the stage made.
 */
static uint64_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static size_t put(uint8_t *p, uint64_t v, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
	return bytes;
}

/* In the order in which the target takes it. */
static size_t put_job(uint8_t *to, const struct job_stage *s, const uint8_t *data, size_t n)
{
	uint8_t *p = to;

	p += put(p, 0, 1 + 2 + 1);	/* one stage, no flags */
	p += put(p, OUT_MAX, 2);
	p += put(p, 20, 1);
	p += put(p, s->op, 1);
	p += put(p, s->alg, 1);
	p += put(p, s->flags, 1);
	p += put(p, 0, 1);
	p += put(p, s->arg0, 4);
	p += put(p, s->arg1, 2);
	p += put(p, 0, 1);
	p += put(p, s->param_len, 1);
	if (s->param_len)
		memcpy(p, s->param, s->param_len);
	p += s->param_len;
	p += put(p, 10, 1);
	memcpy(p, data, n);
	return (size_t)(p + n - to);
}

/* A stage that n bytes suit. n may become less. */
static void random_stage(struct job_stage *s, uint8_t *param, size_t *n, uint64_t *state)
{
	struct wire_cipher c = { .key = param + 128, .iv = param + 192, .key_len = 32, .iv_len = 12,
				 .tag_len = 16 };
	unsigned int k = 1 + rnd(state) % 5, m = 1 + rnd(state) % 3, i;

	for (i = 0; i < 256; i++)
		param[i] = (uint8_t)rnd(state);
	*s = (struct job_stage){ .param = param };
	switch (rnd(state) % 3) {
	case 0:
		s->op = NVME_ACCEL_OP_COMPRESS;
		s->alg = (uint16_t)(1 + rnd(state) % 6);
		s->arg0 = (uint32_t)(1 + rnd(state) % 9);
		break;
	case 1:
		s->op = NVME_ACCEL_OP_ENCRYPT;
		s->alg = (uint16_t)(1 + rnd(state) % 4);
		if (s->alg == NVME_ACCEL_ALG_AES_XTS)
			c.key_len = 64;
		if (s->alg == NVME_ACCEL_ALG_AES_XTS || s->alg == NVME_ACCEL_ALG_AES_CTR)
			c.iv_len = 16, c.tag_len = 0;
		s->param_len = (uint32_t)wire_cipher_encode(&c, 0, param, 128);
		break;
	default:
		s->op = NVME_ACCEL_OP_EC_ENCODE;
		s->alg = NVME_ACCEL_ALG_RS_CAUCHY;
		s->arg0 = k | m << 8;
		s->arg1 = *n / k;
		*n = *n / k * k;
	}
}

static size_t fresh(uint8_t *to, uint64_t *state)
{
	static struct engine_thread *t;
	static uint8_t data[512], out[4096];
	uint8_t param[256];
	size_t n = 16 + rnd(state) % (sizeof(data) - 16), i;
	struct iovec iov[2] = { { data, n }, { out, sizeof(out) } };
	struct job job = { .nstage = 1, .in = iov, .nin = 1, .out = iov + 1, .nout = 1, .out_max = sizeof(out) };
	struct job_stage *s = &job.stage[0];

	for (i = 0; i < n; i++)
		data[i] = (uint8_t)("compressible text "[i % 18] + (rnd(state) % 8 == 0));
	random_stage(s, param, &n, state);
	if (s->op == NVME_ACCEL_OP_EC_ENCODE || rnd(state) & 1)
		return put_job(to, s, data, n);
	t = t ? t : engine_thread_new();
	job.in_len = n;
	if (t)
		engine_run(t, &job);
	if (!t || job.code != NVME_ACCEL_OK || job.out_len > 1024)
		return put_job(to, s, data, n);
	s->op++;	/* decompress behind compress, decrypt behind encrypt */
	s->arg0 = 0;
	if (job.result_len[0]) {
		memcpy(param + s->param_len, job.result[0], job.result_len[0]);
		s->param_len += job.result_len[0];
	}
	return put_job(to, s, out, job.out_len);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint64_t state = seed;
	uint8_t made[2048];

	if (rnd(&state) % 8 || max_size < 64)
		return LLVMFuzzerMutate(data, size, max_size);
	size = fresh(made, &state);
	if (size > max_size)
		size = max_size;
	memcpy(data, made, size);
	return size;
}
