// SPDX-License-Identifier: BSD-2-Clause
/* Sequential decompression for streams: members and frames of any length, in pieces of any size. */
#include <stdlib.h>
#include <isa-l.h>
#include <lz4frame.h>
#include <zstd.h>

#include "compress.h"

#define WINDOW_LOG_MAX	27
/* Output of one call that is summed while it is still in the cache. */
#define OUT_PIECE	(256u << 10)

enum stream_part { S_HEAD, S_BODY, S_TAIL, S_END, S_ERROR };

struct comp_stream {
	uint16_t alg;
	enum stream_part part;
	uint32_t code;			/* once part is S_ERROR */
	uint32_t check;
	uint64_t made;
	struct gzip_parser gzip;
	uint8_t side[WRAP_TAIL_MAX];	/* zlib header or a trailer, as it arrives */
	size_t nside;
	dec_step step;
	void *ctx;
};

struct window {
	const uint8_t *in;
	size_t nin;
	uint8_t *out;
	size_t nout, made;
};

static void advance(struct window *w, size_t n)
{
	w->in += n;
	w->nin -= n;
}

static int is_deflate(uint16_t alg)
{
	return alg >= NVME_ACCEL_ALG_DEFLATE && alg <= NVME_ACCEL_ALG_GZIP;
}

static void fail(struct comp_stream *s, uint32_t code)
{
	s->part = S_ERROR;
	s->code = code;
}

static void reset(void *ctx)
{
	struct comp_stream *s = ctx;

	s->part = S_HEAD;
	s->code = NVME_ACCEL_OK;
	s->made = 0;
	s->nside = 0;
	s->check = wrap_check_init(s->alg);
	gzip_parser_init(&s->gzip);
	if (is_deflate(s->alg))
		isal_inflate_init(s->ctx);
	else if (s->alg == NVME_ACCEL_ALG_LZ4F)
		LZ4F_resetDecompressionContext(s->ctx);
	else
		ZSTD_DCtx_reset(s->ctx, ZSTD_reset_session_only);
}

static void ctx_make(struct comp_stream *s)
{
	LZ4F_dctx *lz4 = NULL;

	if (is_deflate(s->alg)) {
		s->step = isal_step;
		s->ctx = comp_alloc(sizeof(struct inflate_state));
	} else if (s->alg == NVME_ACCEL_ALG_LZ4F) {
		s->step = lz4f_step;
		if (!LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)))
			s->ctx = lz4;
	} else {
		s->step = zstd_step;
		s->ctx = ZSTD_createDCtx();
		if (s->ctx)
			ZSTD_DCtx_setParameter(s->ctx, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	}
}

static void *stream_open(uint16_t alg, uint64_t arg1, uint32_t *code)
{
	struct comp_stream *s;

	(void)arg1;
	*code = NVME_ACCEL_UNSUPPORTED_OP;
	if (!is_deflate(alg) && alg != NVME_ACCEL_ALG_LZ4F && alg != NVME_ACCEL_ALG_ZSTD)
		return NULL;
	*code = NVME_ACCEL_NO_RESOURCES;
	s = comp_alloc(sizeof(*s));
	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->alg = alg;
	ctx_make(s);
	if (!s->ctx) {
		free(s);
		return NULL;
	}
	reset(s);
	*code = NVME_ACCEL_OK;
	return s;
}

static void stream_close(void *ctx)
{
	struct comp_stream *s = ctx;

	if (!s)
		return;
	if (is_deflate(s->alg))
		free(s->ctx);
	else if (s->alg == NVME_ACCEL_ALG_LZ4F)
		LZ4F_freeDecompressionContext(s->ctx);
	else
		ZSTD_freeDCtx(s->ctx);
	free(s);
}

/* Fills side up to want bytes; 1 if it is full. */
static int side_fill(struct comp_stream *s, struct window *w, size_t want)
{
	size_t n = BASE_MIN(want - s->nside, w->nin);

	if (n)
		memcpy(s->side + s->nside, w->in, n);
	s->nside += n;
	advance(w, n);
	return s->nside == want;
}

/* The parts return 1 if the next one may begin. */
static int step_head(struct comp_stream *s, struct window *w)
{
	enum engine_gzip_parse rc;
	size_t used;

	if (s->alg == NVME_ACCEL_ALG_GZIP) {
		rc = gzip_parser_feed(&s->gzip, w->in, w->nin, &used);
		advance(w, used);
		if (rc == ENGINE_GZIP_MORE)
			return 0;
		if (rc != ENGINE_GZIP_OK)
			fail(s, NVME_ACCEL_BAD_INPUT_DATA);
	} else if (s->alg == NVME_ACCEL_ALG_ZLIB) {
		if (!side_fill(s, w, 2))
			return 0;
		if (!zlib_header_good(s->side))
			fail(s, NVME_ACCEL_BAD_INPUT_DATA);
	}
	s->nside = 0;
	if (s->part == S_HEAD)
		s->part = S_BODY;
	return 1;
}

static int step_body(struct comp_stream *s, struct window *w)
{
	size_t took, made, room;
	enum dec_state state;

	do {
		took = w->nin;
		made = room = BASE_MIN(w->nout - w->made, (size_t)OUT_PIECE);
		state = s->step(s->ctx, w->in, &took, w->out + w->made, &made);
		s->check = wrap_check(s->alg, s->check, w->out + w->made, made);
		s->made += made;
		w->made += made;
		advance(w, took);
	} while (state == DEC_MORE && (took || made) && w->made < w->nout);
	if (state == DEC_END)
		s->part = is_deflate(s->alg) ? S_TAIL : S_END;
	else if (state == DEC_NO_MEMORY)
		fail(s, NVME_ACCEL_NO_RESOURCES);
	else if (state != DEC_MORE)
		fail(s, NVME_ACCEL_BAD_INPUT_DATA);
	return state != DEC_MORE;
}

static int step_tail(struct comp_stream *s, struct window *w)
{
	if (!side_fill(s, w, wrap_tail_len(s->alg)))
		return 0;
	if (wrap_tail_good(s->alg, s->side, s->check, s->made))
		s->part = S_END;
	else
		fail(s, NVME_ACCEL_BAD_INPUT_DATA);
	return 1;
}

static enum engine_stream_state stream_step(void *ctx, const void *in, size_t *in_len, void *out,
					    size_t *out_len, uint32_t *code)
{
	struct comp_stream *s = ctx;
	struct window w = { in ? in : "", *in_len, out, *out_len, 0 };
	int on = 1;

	while (on && s->part < S_END) {
		if (s->part == S_HEAD)
			on = step_head(s, &w);
		else if (s->part == S_BODY)
			on = step_body(s, &w);
		else
			on = step_tail(s, &w);
	}
	*in_len = w.nin;
	*out_len = w.made;
	*code = s->code;
	if (s->part == S_ERROR)
		return ENGINE_STREAM_ERROR;
	return s->part == S_END ? ENGINE_STREAM_END : ENGINE_STREAM_MORE;
}

const struct stream_fns comp_stream = { stream_open, stream_step, NULL, reset, stream_close };
