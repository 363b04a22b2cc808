// SPDX-License-Identifier: BSD-2-Clause
/* Zstandard over libzstd: one frame a job, with its content size and a checksum of the content. */
#include <zstd.h>
#include <zstd_errors.h>

#include "comp_thread.h"

#define WINDOW_LOG_MAX	27	/* 128 MiB: what a frame may make a decoder keep */
#define BLOCK_MAX	(128u << 10)
#define BLOCK_HEAD	3u

void zstd_free(struct comp_thread *c)
{
	ZSTD_freeCCtx(c->zstd_c);
	ZSTD_freeDCtx(c->zstd_d);
}

uint64_t zstd_bound(uint64_t in_len)
{
	return in_len + (in_len / BLOCK_MAX + 1) * BLOCK_HEAD + in_len / 256 + 256;
}

static uint32_t code_of(size_t rc)
{
	switch (ZSTD_getErrorCode(rc)) {
	case ZSTD_error_memory_allocation:
		return NVME_ACCEL_NO_RESOURCES;
	case ZSTD_error_dstSize_tooSmall:
		return NVME_ACCEL_OUTPUT_SHORT;
	default:
		return NVME_ACCEL_BAD_INPUT_DATA;
	}
}

static ZSTD_CCtx *cctx_get(struct engine_thread *t, const struct job_stage *stage)
{
	static const int8_t level[COMP_LEVELS] = { -5, 1, 2, 3, 5, 7, 9, 12, 15, 19 };
	struct comp_thread *c = comp_get(t);

	if (!c)
		return NULL;
	if (!c->zstd_c)
		c->zstd_c = ZSTD_createCCtx();
	if (!c->zstd_c)
		return NULL;
	ZSTD_CCtx_reset(c->zstd_c, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(c->zstd_c, ZSTD_c_compressionLevel, level[stage->arg0]);
	ZSTD_CCtx_setParameter(c->zstd_c, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(c->zstd_c, ZSTD_c_contentSizeFlag, 1);
	return c->zstd_c;
}

COMP_RUN(zstd_compress)
{
	ZSTD_CCtx *cctx = cctx_get(t, stage);
	struct flat f;
	uint32_t code;
	size_t n;

	if (!cctx) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	if (flat_open(t, index, job, zstd_bound(job->in_len), &f))
		return;
	n = ZSTD_compress2(cctx, f.out, f.out_max, f.in, f.in_len);
	if (!ZSTD_isError(n)) {
		comp_done_flat(job, &f, job->in_len, n);
		return;
	}
	code = code_of(n);
	if (code == NVME_ACCEL_OUTPUT_SHORT)
		comp_short(job, index, zstd_bound(job->in_len), 0);
	else
		engine_fail(job, index, code == NVME_ACCEL_NO_RESOURCES ? code : NVME_ACCEL_DEVICE_FAULT);
}

enum dec_state zstd_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len)
{
	ZSTD_inBuffer ib = { in, *in_len, 0 };
	ZSTD_outBuffer ob = { out, *out_len, 0 };
	size_t rc = ZSTD_decompressStream(ctx, &ob, &ib);

	*in_len = ib.pos;
	*out_len = ob.pos;
	if (ZSTD_isError(rc))
		return code_of(rc) == NVME_ACCEL_NO_RESOURCES ? DEC_NO_MEMORY : DEC_BAD;
	return rc ? DEC_MORE : DEC_END;
}

static ZSTD_DCtx *dctx_get(struct engine_thread *t)
{
	struct comp_thread *c = comp_get(t);

	if (!c)
		return NULL;
	if (!c->zstd_d)
		c->zstd_d = ZSTD_createDCtx();
	if (!c->zstd_d)
		return NULL;
	ZSTD_DCtx_reset(c->zstd_d, ZSTD_reset_session_and_parameters);
	ZSTD_DCtx_setParameter(c->zstd_d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	return c->zstd_d;
}

/* Most that a frame of n bytes can hold: a block of one repeated byte takes four. */
static uint64_t content_max(uint64_t n)
{
	return (n / (BLOCK_HEAD + 1) + 1) * BLOCK_MAX;
}

static void fail_short(unsigned int index, struct job *job)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint8_t head[18];
	size_t n = iov_read(&pos, head, (size_t)BASE_MIN(job->in_len, (uint64_t)sizeof(head)));
	unsigned long long content = ZSTD_getFrameContentSize(head, n);
	uint64_t most = content_max(job->in_len), need = content;
	int known = content != ZSTD_CONTENTSIZE_UNKNOWN && content != ZSTD_CONTENTSIZE_ERROR;

	if (!known)
		need = BASE_MIN(BASE_MAX(job->out_max * 2, job->in_len * 4), most);
	/* Room for all that the bytes can hold, and still too small: they are wrong. */
	if (need <= job->out_max || need > most)
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
	else
		comp_short(job, index, need, known);
}

/* Lists go through the streaming decoder, which keeps a window for itself. */
static void decompress_list(ZSTD_DCtx *dctx, const struct job_stage *stage, unsigned int index,
			    struct job *job)
{
	struct dec_run r = { .src = src_of(job), .sink = sink_of(job), .check_alg = NVME_ACCEL_ALG_DEFLATE };
	enum dec_state state = job->in_len ? dec_run(job, &r, zstd_step, dctx) : DEC_BAD;

	if (state == DEC_FULL)
		fail_short(index, job);
	else if (state != DEC_END)
		dec_fail(job, index, state);
	else if (dec_end_good(stage, index, job, r.used))
		comp_done(job, r.used, r.made);
}

COMP_RUN(zstd_decompress)
{
	const void *in = iov_flat(job->in, job->nin, (size_t)job->in_len);
	void *out = iov_flat(job->out, job->nout, (size_t)job->out_max);
	ZSTD_DCtx *dctx = dctx_get(t);
	size_t frame, n;
	uint32_t code;

	if (!dctx) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	if (!in || !out) {
		decompress_list(dctx, stage, index, job);
		return;
	}
	frame = ZSTD_findFrameCompressedSize(in, (size_t)job->in_len);
	if (!job->in_len || ZSTD_isError(frame)) {
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
		return;
	}
	if (!dec_end_good(stage, index, job, frame))
		return;
	n = ZSTD_decompressDCtx(dctx, out, (size_t)job->out_max, in, frame);
	code = ZSTD_isError(n) ? code_of(n) : NVME_ACCEL_OK;
	if (code == NVME_ACCEL_OK)
		comp_done(job, frame, n);
	else if (code == NVME_ACCEL_OUTPUT_SHORT)
		fail_short(index, job);
	else
		engine_fail(job, index, code);
}
