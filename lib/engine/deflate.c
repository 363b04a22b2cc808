// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compression to raw deflate by the libraries; deflate_wrap.c makes zlib and gzip of it.
 */
#include <stdlib.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <zlib.h>

#include "comp_thread.h"

#define LEVEL_BUF_NBYTES BASE_MAX(ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT)
/* Behind a chunk: an empty stored block, its three header bits and the padding in front of it. */
#define FLUSH_NBYTES	5u

void deflate_free(struct comp_thread *c)
{
	unsigned int i;

	free(c->isal);
	free(c->isal_level_buf);
	for (i = 0; i < COMP_LEVELS; i++)
		libdeflate_free_compressor(c->ld[i]);
	if (c->zlib_deflate)
		deflateEnd(c->zlib_deflate);
	free(c->zlib_deflate);
}

static struct isal_zstream *isal_get(struct raw *r)
{
	struct comp_thread *c = r->c;
	struct isal_zstream *z;

	if (!c->isal)
		c->isal = comp_alloc(sizeof(*c->isal));
	if (!c->isal_level_buf)
		c->isal_level_buf = comp_alloc(LEVEL_BUF_NBYTES);
	if (!c->isal || !c->isal_level_buf)
		return NULL;
	z = c->isal;
	isal_deflate_init(z);
	z->level = r->stage->arg0;
	z->level_buf = c->isal_level_buf;
	z->level_buf_size = z->level == 1 ? ISAL_DEF_LVL1_DEFAULT : ISAL_DEF_LVL2_DEFAULT;
	z->hist_bits = (uint16_t)r->stage->arg1;
	return z;
}

static int isal_flushed(const struct isal_zstream *z)
{
	if (z->avail_in)
		return 0;
	if (z->end_of_stream)
		return z->internal_state.state == ZSTATE_END;
	return z->flush == NO_FLUSH || z->internal_state.state == ZSTATE_NEW_HDR;
}

/* Everything that a piece of input makes. */
static enum raw_state isal_piece(struct raw *r, struct isal_zstream *z)
{
	size_t room;
	void *p;

	do {
		uint32_t in_before = z->avail_in;
		enum isal_zstate_state state = z->internal_state.state;

		room = sink_room(&r->sink, &p, COMP_PIECE);
		if (!room)
			return RAW_SHORT;
		z->next_out = p;
		z->avail_out = (uint32_t)room;
		if (isal_deflate(z) != COMP_OK)
			return RAW_FAULT;
		room -= z->avail_out;
		sink_took(&r->sink, room);
		if (!room && z->avail_in == in_before && z->internal_state.state == state && !isal_flushed(z))
			return RAW_FAULT;
	} while (!z->avail_out || !isal_flushed(z));
	return RAW_OK;
}

static enum raw_state raw_isal(struct raw *r)
{
	struct isal_zstream *z = isal_get(r);
	struct src src = src_of(r->job);
	enum raw_state rc;
	const void *p;

	if (!z)
		return RAW_NO_MEMORY;
	do {
		if (engine_stopped(r->job))
			return RAW_STOPPED;
		z->avail_in = (uint32_t)src_next(&src, &p, COMP_PIECE);
		z->next_in = (uint8_t *)(uintptr_t)p;
		z->end_of_stream = !src.left && !r->chunk;
		/* The full flush keeps this chunk's matches out of the next one, whoever makes that. */
		z->flush = !src.left && r->chunk ? FULL_FLUSH : NO_FLUSH;
		rc = isal_piece(r, z);
	} while (rc == RAW_OK && src.left);
	return rc;
}

/* A contiguous place for raw output: the sink's own if it serves, else scratch. */
static uint8_t *raw_place(struct raw *r, size_t want, size_t *max)
{
	void *p;

	*max = sink_room(&r->sink, &p, want);
	if (*max == want || *max == r->sink.left)
		return *max ? p : (uint8_t *)"";
	*max = (size_t)BASE_MIN((uint64_t)want, r->sink.left);
	return engine_scratch(r->t, SCRATCH_OUT, *max);
}

static enum raw_state raw_placed(struct raw *r, const uint8_t *place, size_t n)
{
	void *p;

	if (sink_room(&r->sink, &p, n) == n && p == place) {
		sink_took(&r->sink, n);
		return RAW_OK;
	}
	return sink_put(&r->sink, place, n) ? RAW_SHORT : RAW_OK;
}

/* Turns n bytes of a finished stream, with room for FLUSH_NBYTES more, into a chunk. 0: it is no stream. */
static size_t make_chunk(void *work, uint8_t *out, size_t n)
{
	static const uint8_t empty[4] = { 0, 0, 0xff, 0xff };
	struct skim s;
	size_t at, used;

	if (deflate_skim(work, out, n, 0, &s) || s.end_bit > (uint64_t)n * 8)
		return 0;
	out[s.last_bit / 8] &= (uint8_t)~(1u << s.last_bit % 8);
	used = (size_t)((s.end_bit + 7) / 8);
	at = (size_t)((s.end_bit + 3 + 7) / 8);
	if (s.end_bit % 8)
		out[used - 1] &= (uint8_t)((1u << s.end_bit % 8) - 1);
	if (at > used)
		out[used] = 0;
	memcpy(out + at, empty, sizeof(empty));
	return at + sizeof(empty);
}

static struct libdeflate_compressor *libdeflate_get(struct raw *r)
{
	/* Chosen so that each of our levels is smaller, and level 6 about what zlib's is. */
	static const uint8_t map[COMP_LEVELS] = { 0, 1, 1, 1, 3, 4, 6, 7, 8, 9 };
	struct libdeflate_compressor **ld = &r->c->ld[r->stage->arg0];

	if (!*ld)
		*ld = libdeflate_alloc_compressor(map[r->stage->arg0]);
	return *ld;
}

static enum raw_state raw_libdeflate(struct raw *r)
{
	struct libdeflate_compressor *ld = libdeflate_get(r);
	const void *in = engine_flat_in(r->t, r->job);
	size_t max, n, spare = r->chunk ? FLUSH_NBYTES : 0;
	void *work = r->chunk ? engine_scratch(r->t, SCRATCH_WORK, SKIM_WORK_NBYTES) : NULL;
	uint8_t *out;

	out = raw_place(r, (size_t)comp_bound(r->stage, r->job->in_len), &max);
	if (!ld || !in || !out || (r->chunk && !work))
		return RAW_NO_MEMORY;
	if (max <= spare)
		return RAW_SHORT;
	n = libdeflate_deflate_compress(ld, in, (size_t)r->job->in_len, out, max - spare);
	if (!n)
		return RAW_SHORT;
	if (r->chunk) {
		n = make_chunk(work, out, n);
		if (!n)
			return RAW_FAULT;
	}
	return raw_placed(r, out, n);
}

static z_stream *zlib_get(struct raw *r)
{
	int level = (int)r->stage->arg0, bits = r->stage->arg1 ? (int)r->stage->arg1 : 15;
	z_stream *z = r->c->zlib_deflate;

	if (z && r->c->zlib_level == level && r->c->zlib_bits == bits)
		return deflateReset(z) == Z_OK ? z : NULL;
	if (!z)
		z = comp_alloc(sizeof(*z));
	else
		deflateEnd(z);
	r->c->zlib_deflate = NULL;
	if (!z)
		return NULL;
	memset(z, 0, sizeof(*z));
	if (deflateInit2(z, level, Z_DEFLATED, -bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		return NULL;
	}
	r->c->zlib_deflate = z;
	r->c->zlib_level = level;
	r->c->zlib_bits = bits;
	return z;
}

/* Through scratch with room for anything: zlib cannot tell a flush that just fitted from one that did not. */
static enum raw_state raw_zlib(struct raw *r)
{
	z_stream *z = zlib_get(r);
	struct src src = src_of(r->job);
	size_t max, n;
	uint8_t *out;
	const void *p;

	if (!z)
		return RAW_NO_MEMORY;
	max = deflateBound(z, (uLong)r->job->in_len) + 64;
	out = engine_scratch(r->t, SCRATCH_OUT, max);
	if (!out)
		return RAW_NO_MEMORY;
	z->next_out = out;
	z->avail_out = (uInt)max;
	do {
		if (engine_stopped(r->job))
			return RAW_STOPPED;
		n = src_next(&src, &p, COMP_PIECE);
		z->next_in = (Bytef *)(uintptr_t)p;
		z->avail_in = (uInt)n;
		deflate(z, src.left ? Z_NO_FLUSH : r->chunk ? Z_FULL_FLUSH : Z_FINISH);
		if (!z->avail_out || z->avail_in)
			return RAW_FAULT;
	} while (src.left);
	return raw_placed(r, out, max - z->avail_out);
}

COMP_RUN(deflate_plain)
{
	deflate_run(t, stage, index, job, raw_stored);
}

COMP_RUN(deflate_isal)
{
	deflate_run(t, stage, index, job, raw_isal);
}

COMP_RUN(deflate_libdeflate)
{
	deflate_run(t, stage, index, job, raw_libdeflate);
}

COMP_RUN(deflate_zlib)
{
	deflate_run(t, stage, index, job, raw_zlib);
}
