// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decompression of raw deflate, zlib and gzip. Decoders see raw deflate only: headers, trailers and their checks are our
 * own (gzip.c), the same for all of them.
 */
#include "compress.h"

#define CHUNK_END_NBYTES 4u

static int gzip_head(const struct job *job, uint64_t *head)
{
	struct src src = src_of(job);
	enum engine_gzip_parse rc = ENGINE_GZIP_MORE;
	struct gzip_parser parser;
	size_t n, used;
	const void *p;

	gzip_parser_init(&parser);
	while (rc == ENGINE_GZIP_MORE && (n = src_next(&src, &p, SIZE_MAX)) != 0)
		rc = gzip_parser_feed(&parser, p, n, &used);
	*head = parser.pos;
	return rc == ENGINE_GZIP_OK ? 0 : -1;
}

int ends_as_chunk(const struct job *job)
{
	static const uint8_t want[CHUNK_END_NBYTES] = { 0, 0, 0xff, 0xff };
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint8_t end[CHUNK_END_NBYTES];

	if (job->in_len < sizeof(end) + 1)
		return 0;
	iov_skip(&pos, job->in_len - sizeof(end));
	iov_read(&pos, end, sizeof(end));
	return !memcmp(end, want, sizeof(end));
}

int body_find(const struct job_stage *stage, unsigned int index, struct job *job, struct body *b)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint8_t head[2];
	int good = job->in_len != 0;

	b->head = 0;
	if (stage->alg == NVME_ACCEL_ALG_GZIP) {
		good = !gzip_head(job, &b->head);
	} else if (stage->alg == NVME_ACCEL_ALG_ZLIB) {
		b->head = 2;
		good = job->in_len >= 2 && iov_read(&pos, head, 2) == 2 && zlib_header_good(head);
	}
	b->len = good ? job->in_len - b->head : 0;
	if (!good)
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
	return good ? 0 : -1;
}

void inflate_finish(const struct job_stage *stage, unsigned int index, struct job *job, const struct body *b,
		    uint64_t raw, uint32_t check, uint64_t made)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	size_t ntail = wrap_tail_len(stage->alg);
	uint8_t tail[WRAP_TAIL_MAX];

	if (b->len < raw || b->len - raw < ntail) {
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
		return;
	}
	iov_skip(&pos, b->head + raw);
	iov_read(&pos, tail, ntail);
	if (!wrap_tail_good(stage->alg, tail, check, made))
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
	else if (dec_end_good(stage, index, job, b->head + raw + ntail))
		comp_done(job, b->head + raw + ntail, made);
}

static int gzip_size_agrees(const uint8_t *tail, uint64_t made)
{
	return le32_get(tail + 4) == (uint32_t)made;
}

/*
 * The output does not fit: a walk over the input says how much there would be, and whether the input is
 * worth another attempt at all. Without it, bad data could ask for more room for ever.
 */
void inflate_short(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		   const struct body *b)
{
	const uint8_t *in = engine_flat_in(t, job);
	size_t ntail = wrap_tail_len(stage->alg);
	void *work = engine_scratch(t, SCRATCH_WORK, SKIM_WORK_NBYTES);
	struct skim s;
	uint64_t used;

	if (!in || !work) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	in += b->head;
	if (deflate_skim(work, in, (size_t)b->len, stage->flags & NVME_ACCEL_STAGE_CHUNK, &s)) {
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
		return;
	}
	used = (s.end_bit + 7) / 8;
	if (b->len - used < ntail || s.out_len <= job->out_max || (!s.final && !ends_as_chunk(job)) ||
	    (stage->alg == NVME_ACCEL_ALG_GZIP && !gzip_size_agrees(in + used, s.out_len)))
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
	else if (dec_end_good(stage, index, job, b->head + used + ntail))
		comp_short(job, index, s.out_len, 1);
}

void inflate_run_init(struct dec_run *r, const struct job_stage *stage, const struct job *job, const struct body *b)
{
	memset(r, 0, sizeof(*r));
	r->src = src_of(job);
	iov_skip(&r->src.pos, b->head);
	r->src.left = b->len;
	r->sink = sink_of(job);
	r->check_alg = stage->alg;
}

void inflate_run_finish(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
			const struct body *b, const struct dec_run *r, enum dec_state state, int between)
{
	if (state == DEC_MORE && between && stage->flags & NVME_ACCEL_STAGE_CHUNK && ends_as_chunk(job))
		state = DEC_END;
	if (state == DEC_END)
		inflate_finish(stage, index, job, b, r->used, r->check, r->made);
	else if (state == DEC_FULL)
		inflate_short(t, stage, index, job, b);
	else
		dec_fail(job, index, state);
}
