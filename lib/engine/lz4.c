// SPDX-License-Identifier: BSD-2-Clause
/* LZ4, blocks and frames, over liblz4. */
#include <stdlib.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>

#include "comp_thread.h"

#define HC_FROM		3u	/* levels from here on use the slow match finder */
#define FAST_ACCEL	8	/* level 0 */
#define FRAME_OVERHEAD	64u	/* header with content size, end mark, checksum; and more */
#define FRAME_BLOCK	(4u << 20)
#define MAX_RATIO	255u	/* no byte of LZ4 stands for more than 255 */

void lz4_free(struct comp_thread *c)
{
	free(c->lz4);
	free(c->lz4hc);
	LZ4F_freeCompressionContext(c->lz4f_c);
	LZ4F_freeDecompressionContext(c->lz4f_d);
}

uint64_t lz4_bound(uint64_t in_len)
{
	return in_len + in_len / 255 + 16;
}

/* Blocks that would grow are stored, each behind its four bytes of length. */
uint64_t lz4f_bound(uint64_t in_len)
{
	return in_len + (in_len / (64u << 10) + 1) * 8 + FRAME_OVERHEAD;
}

static void *state_get(void **state, int nbytes)
{
	if (!*state)
		*state = comp_alloc((size_t)nbytes);
	return *state;
}

static int block_compress(const struct job_stage *stage, const struct flat *f, void *state)
{
	int n = (int)f->in_len, max = (int)BASE_MIN(f->out_max, (size_t)LZ4_compressBound(n));

	if (stage->arg0 >= HC_FROM)
		return LZ4_compress_HC_extStateHC(state, (const char *)f->in, (char *)f->out, n, max,
						  (int)stage->arg0);
	return LZ4_compress_fast_extState(state, (const char *)f->in, (char *)f->out, n, max,
					  stage->arg0 ? 1 : FAST_ACCEL);
}

COMP_RUN(lz4_compress)
{
	struct comp_thread *c = comp_get(t);
	void *state = NULL;
	struct flat f;
	int n;

	if (c)
		state = stage->arg0 >= HC_FROM ? state_get(&c->lz4hc, LZ4_sizeofStateHC()) :
						 state_get(&c->lz4, LZ4_sizeofState());
	if (!state) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	if (flat_open(t, index, job, lz4_bound(job->in_len), &f))
		return;
	n = f.out_max ? block_compress(stage, &f, state) : 0;
	if (n > 0)
		comp_done_flat(job, &f, job->in_len, (uint64_t)n);
	else
		comp_short(job, index, lz4_bound(job->in_len), 0);
}

/* Whether a block is right, and what it makes; -1 if it is wrong. */
static int64_t block_size(const uint8_t *in, size_t n)
{
	return lz4_plain(in, n, NULL, UINT64_MAX);
}

static void block_finish(unsigned int index, struct job *job, const struct flat *f, int64_t made)
{
	int64_t need;

	if (made >= 0 && (uint64_t)made <= job->out_max) {
		comp_done_flat(job, f, job->in_len, (uint64_t)made);
		return;
	}
	need = block_size(f->in, f->in_len);
	if (need > 0 && (uint64_t)need > job->out_max)
		comp_short(job, index, (uint64_t)need, 1);
	else if (!need)	/* liblz4 with no room at all takes one form of an empty block only */
		comp_done(job, job->in_len, 0);
	else
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
}

static uint64_t block_most(const struct job *job)
{
	return BASE_MIN(job->in_len * MAX_RATIO + 16, (uint64_t)INT32_MAX);
}

COMP_RUN(lz4_decompress)
{
	struct flat f;

	if (flat_open(t, index, job, block_most(job), &f))
		return;
	block_finish(index, job, &f, LZ4_decompress_safe((const char *)f.in, (char *)f.out, (int)f.in_len,
							  (int)f.out_max));
	(void)stage;
}

COMP_RUN(lz4_decompress_plain)
{
	struct flat f;

	if (flat_open(t, index, job, block_most(job), &f))
		return;
	block_finish(index, job, &f, lz4_plain(f.in, f.in_len, f.out, f.out_max));
	(void)stage;
}

static LZ4F_preferences_t frame_prefs(const struct job_stage *stage, uint64_t in_len)
{
	LZ4F_preferences_t p;

	memset(&p, 0, sizeof(p));
	p.frameInfo.blockSizeID = in_len <= 64u << 10  ? LZ4F_max64KB :
				  in_len <= 256u << 10 ? LZ4F_max256KB :
				  in_len <= 1u << 20   ? LZ4F_max1MB :
							 LZ4F_max4MB;
	p.frameInfo.blockMode = LZ4F_blockIndependent;
	p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	p.frameInfo.contentSize = in_len;
	p.compressionLevel = stage->arg0 ? (int)stage->arg0 : 1 - FAST_ACCEL;
	p.autoFlush = 1;
	return p;
}

/* Begin, one piece after the other, end. The frame's length, or 0 with *code set. */
static size_t frame_make(LZ4F_cctx *cctx, const struct job_stage *stage, struct job *job, const uint8_t *in,
			 uint8_t *out, size_t max, uint32_t *code)
{
	LZ4F_preferences_t prefs = frame_prefs(stage, job->in_len);
	LZ4F_compressOptions_t opts = { .stableSrc = 1 };
	size_t at, n, len, left = (size_t)job->in_len;

	*code = NVME_ACCEL_DEVICE_FAULT;
	at = LZ4F_compressBegin(cctx, out, max, &prefs);
	if (LZ4F_isError(at))
		return 0;
	for (; left; left -= len, in += len, at += n) {
		if (engine_stopped(job)) {
			*code = NVME_ACCEL_ABORTED;
			return 0;
		}
		len = BASE_MIN(left, (size_t)FRAME_BLOCK);
		n = LZ4F_compressUpdate(cctx, out + at, max - at, in, len, &opts);
		if (LZ4F_isError(n))
			return 0;
	}
	n = LZ4F_compressEnd(cctx, out + at, max - at, &opts);
	return LZ4F_isError(n) ? 0 : at + n;
}

/*
 * The library wants the worst case of room before it begins, so a frame goes straight to the output only
 * where that is there, and by way of scratch otherwise.
 */
COMP_RUN(lz4f_compress)
{
	struct comp_thread *c = comp_get(t);
	LZ4F_preferences_t prefs = frame_prefs(stage, job->in_len);
	size_t want = LZ4F_compressFrameBound((size_t)job->in_len, &prefs) + FRAME_OVERHEAD, n;
	const void *in = engine_flat_in(t, job);
	struct sink sink = sink_of(job);
	int bounced;
	uint32_t code;
	void *out;

	if (c && !c->lz4f_c && LZ4F_isError(LZ4F_createCompressionContext(&c->lz4f_c, LZ4F_VERSION)))
		c->lz4f_c = NULL;
	bounced = sink_room(&sink, &out, want) < want;
	if (bounced)
		out = engine_scratch(t, SCRATCH_OUT, want);
	if (!c || !c->lz4f_c || !in || !out) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	n = frame_make(c->lz4f_c, stage, job, in, out, want, &code);
	if (!n)
		engine_fail(job, index, code);
	else if (n > job->out_max)
		comp_short(job, index, n, 1);
	else {
		if (bounced)
			sink_put(&sink, out, n);
		comp_done(job, job->in_len, n);
	}
}

enum dec_state lz4f_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len)
{
	size_t rc = LZ4F_decompress(ctx, out, out_len, in, in_len, NULL);

	if (LZ4F_isError(rc)) {
		*in_len = *out_len = 0;
		/* The numbers of the errors are not part of the stable interface, their names are. */
		return strcmp(LZ4F_getErrorName(rc), "ERROR_allocation_failed") ? DEC_BAD : DEC_NO_MEMORY;
	}
	return rc ? DEC_MORE : DEC_END;
}

/* What the frame says that it holds, 0 if it does not say; no more than its bytes can hold. */
static uint64_t frame_content(struct comp_thread *c, struct job *job)
{
	uint8_t head[32];
	struct iov_pos pos = { job->in, job->nin, 0 };
	size_t n = iov_read(&pos, head, (size_t)BASE_MIN(job->in_len, (uint64_t)sizeof(head)));
	LZ4F_frameInfo_t info;

	LZ4F_resetDecompressionContext(c->lz4f_d);
	memset(&info, 0, sizeof(info));
	if (LZ4F_isError(LZ4F_getFrameInfo(c->lz4f_d, &info, head, &n)))
		return 0;
	return info.contentSize > job->in_len * MAX_RATIO ? 0 : info.contentSize;
}

static void frame_short(struct comp_thread *c, unsigned int index, struct job *job)
{
	uint64_t content = frame_content(c, job);

	if (content > job->out_max)
		comp_short(job, index, content, 1);
	else
		comp_short(job, index, BASE_MAX(job->out_max * 2, job->in_len * 4), 0);
}

COMP_RUN(lz4f_decompress)
{
	struct comp_thread *c = comp_get(t);
	struct dec_run r = { .src = src_of(job), .sink = sink_of(job), .check_alg = NVME_ACCEL_ALG_DEFLATE };
	enum dec_state state;

	if (c && !c->lz4f_d && LZ4F_isError(LZ4F_createDecompressionContext(&c->lz4f_d, LZ4F_VERSION)))
		c->lz4f_d = NULL;
	if (!c || !c->lz4f_d) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	LZ4F_resetDecompressionContext(c->lz4f_d);
	state = dec_run(job, &r, lz4f_step, c->lz4f_d);
	if (state == DEC_FULL)
		frame_short(c, index, job);
	else if (state != DEC_END)
		dec_fail(job, index, state);
	else if (dec_end_good(stage, index, job, r.used))
		comp_done(job, r.used, r.made);
}
