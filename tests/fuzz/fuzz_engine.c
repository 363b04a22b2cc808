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
