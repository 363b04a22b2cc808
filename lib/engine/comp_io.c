// SPDX-License-Identifier: BSD-2-Clause
/* How compressors read and write a job's lists, how they end it, and what the deflate formats take and make at worst. */
#include "compress.h"

size_t sink_room(const struct sink *s, void **p, size_t max)
{
	struct iov_pos pos = s->pos;

	return iov_next(&pos, p, (size_t)BASE_MIN((uint64_t)max, s->left));
}

void sink_took(struct sink *s, size_t n)
{
	iov_skip(&s->pos, n);
	s->left -= n;
}

int sink_put(struct sink *s, const void *p, size_t n)
{
	if (n > s->left)
		return -1;
	iov_write(&s->pos, p, n);
	s->left -= n;
	return 0;
}

size_t src_next(struct src *s, const void **p, size_t max)
{
	void *q = NULL;
	size_t n = iov_next(&s->pos, &q, (size_t)BASE_MIN((uint64_t)max, s->left));

	*p = q;
	s->left -= n;
	return n;
}

int flat_open(struct engine_thread *t, unsigned int index, struct job *job, uint64_t want, struct flat *f)
{
	uint64_t max = BASE_MIN(job->out_max, want);

	f->in_len = (size_t)job->in_len;
	f->in = engine_flat_in(t, job);
	f->out_max = (size_t)max;
	f->out = iov_flat(job->out, job->nout, f->out_max);
	f->bounced = !f->out;
	if (f->bounced)
		f->out = engine_scratch(t, SCRATCH_OUT, f->out_max);
	if (f->in && f->out)
		return 0;
	engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
	return -1;
}

void comp_done(struct job *job, uint64_t in_used, uint64_t out_len)
{
	job->code = NVME_ACCEL_OK;
	job->in_used = in_used;
	job->out_len = out_len;
}

void comp_done_flat(struct job *job, const struct flat *f, uint64_t in_used, uint64_t out_len)
{
	struct iov_pos pos = { job->out, job->nout, 0 };

	if (f->bounced)
		iov_write(&pos, f->out, (size_t)out_len);
	comp_done(job, in_used, out_len);
}

void comp_short(struct job *job, unsigned int index, uint64_t needed, int exact)
{
	engine_fail(job, index, NVME_ACCEL_OUTPUT_SHORT);
	job->out_needed = needed;
	if (exact)
		job->sflags |= NVME_ACCEL_SF_NEEDED_EXACT;
}

/* What is asked of a compressor is within the interface: level, window bits, flags, size. */
int deflate_takes(const struct job_stage *stage, uint64_t in_len)
{
	uint32_t flags = stage->alg == NVME_ACCEL_ALG_DEFLATE ? NVME_ACCEL_STAGE_CHUNK : 0;

	if (stage->arg0 >= COMP_LEVELS || stage->flags & ~flags || in_len > COMP_MAX_BYTES)
		return 0;
	return !stage->arg1 || (stage->arg1 >= 9 && stage->arg1 <= 15);
}

int inflate_takes(const struct job_stage *stage, uint64_t in_len)
{
	uint32_t flags = NVME_ACCEL_STAGE_TRAILING;

	if (stage->alg == NVME_ACCEL_ALG_DEFLATE)
		flags |= NVME_ACCEL_STAGE_CHUNK;
	return !(stage->flags & ~flags) && in_len <= COMP_MAX_BYTES;
}

uint64_t deflate_bound(const struct job_stage *stage, uint64_t in_len)
{
	uint64_t n;

	if (in_len > UINT64_MAX / 4)
		return UINT64_MAX;
	/*
	 * What the stored form needs would do, as deflate_run() falls back on it; the rest lets a compressor find out
	 * for itself, with the shorter stored blocks that it may make.
	 */
	n = deflate_stored_len(in_len, stage->flags & NVME_ACCEL_STAGE_CHUNK);
	return n + in_len / 5000 * DEFLATE_STORED_HEAD + 64 + wrap_head_len(stage->alg) + wrap_tail_len(stage->alg);
}
