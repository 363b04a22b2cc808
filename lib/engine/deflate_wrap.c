// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compression to raw deflate, zlib and gzip. Each compressor makes raw deflate into a sink; the wrappers,
 * chunks and what happens if the output does not fit are the same for all of them.
 */
#include "compress.h"

uint64_t deflate_stored_len(uint64_t in_len, int chunk)
{
	uint64_t blocks = in_len / DEFLATE_STORED_MAX + (in_len % DEFLATE_STORED_MAX != 0);

	if (chunk)
		return in_len + (blocks + 1) * DEFLATE_STORED_HEAD;
	return in_len + BASE_MAX(blocks, 1u) * DEFLATE_STORED_HEAD;
}

static int put_stored_head(struct sink *s, unsigned int len, int final)
{
	uint8_t head[DEFLATE_STORED_HEAD] = { (uint8_t)final };

	le16_put(head + 1, (uint16_t)len);
	le16_put(head + 3, (uint16_t)~len);
	return sink_put(s, head, sizeof(head));
}

enum raw_state raw_stored(struct raw *r)
{
	struct iov_pos in = { r->job->in, r->job->nin, 0 };
	uint64_t left = r->job->in_len;

	if (deflate_stored_len(left, r->chunk) > r->sink.left)
		return RAW_SHORT;
	while (left || !r->job->in_len) {
		unsigned int len = (unsigned int)BASE_MIN(left, (uint64_t)DEFLATE_STORED_MAX);

		left -= len;
		if (!len && r->chunk)
			break;
		put_stored_head(&r->sink, len, !left && !r->chunk);
		iov_copy(&r->sink.pos, &in, len);
		r->sink.left -= len;
		if (!left)
			break;
	}
	if (r->chunk)
		put_stored_head(&r->sink, 0, 0);
	return RAW_OK;
}

static enum raw_state raw_empty(struct raw *r)
{
	static const uint8_t final[2] = { 3, 0 };

	if (r->chunk)
		return put_stored_head(&r->sink, 0, 0) ? RAW_SHORT : RAW_OK;
	return sink_put(&r->sink, final, sizeof(final)) ? RAW_SHORT : RAW_OK;
}

static uint32_t code_of(enum raw_state state)
{
	switch (state) {
	case RAW_STOPPED:
		return NVME_ACCEL_ABORTED;
	case RAW_NO_MEMORY:
		return NVME_ACCEL_NO_RESOURCES;
	default:
		return NVME_ACCEL_DEVICE_FAULT;
	}
}

/* What would do: at level 0 exactly, else at worst. */
static uint64_t needed(const struct job_stage *stage, uint64_t in_len)
{
	if (stage->arg0)
		return deflate_bound(stage, in_len);
	if (!in_len && !(stage->flags & NVME_ACCEL_STAGE_CHUNK))
		return 2 + wrap_head_len(stage->alg) + wrap_tail_len(stage->alg);
	return deflate_stored_len(in_len, stage->flags & NVME_ACCEL_STAGE_CHUNK) +
	       wrap_head_len(stage->alg) + wrap_tail_len(stage->alg);
}

/* Head, raw deflate, tail. What no compressor fits is stored if that fits. */
void deflate_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		 raw_fn fn)
{
	struct raw r = { t, comp_get(t), stage, job, sink_of(job),
			 stage->flags & NVME_ACCEL_STAGE_CHUNK };
	uint8_t head[WRAP_HEAD_MAX], tail[WRAP_TAIL_MAX];
	size_t ntail = wrap_tail_len(stage->alg);
	enum raw_state rc = RAW_SHORT;
	struct sink begin;
	uint32_t check;

	if (!r.c) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	if (!sink_put(&r.sink, head, wrap_head(stage, head)) && r.sink.left >= ntail) {
		r.sink.left -= ntail;
		begin = r.sink;
		rc = job->in_len ? fn(&r) : raw_empty(&r);
		if (rc == RAW_SHORT && fn != raw_stored) {
			r.sink = begin;
			rc = raw_stored(&r);
		}
	}
	if (rc == RAW_SHORT) {
		comp_short(job, index, needed(stage, job->in_len), stage->arg0 == 0);
	} else if (rc != RAW_OK) {
		engine_fail(job, index, code_of(rc));
	} else {
		check = wrap_check_list(stage->alg, job->in, job->nin, job->in_len);
		wrap_tail(stage->alg, check, job->in_len, tail);
		r.sink.left += ntail;
		sink_put(&r.sink, tail, ntail);
		comp_done(job, job->in_len, job->out_max - r.sink.left);
	}
}
