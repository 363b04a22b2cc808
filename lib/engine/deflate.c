// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compression to raw deflate, zlib and gzip. Each compressor makes raw deflate into a sink; the wrappers,
 * chunks and what happens if the output does not fit are the same for all of them.
 */
#include <stdlib.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <zlib.h>

#include "compress.h"

#define LEVEL_BUF_NBYTES BASE_MAX(ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT)
/* Behind a chunk: an empty stored block, its three header bits and the padding in front of it. */
#define FLUSH_NBYTES	5u

enum raw_state { RAW_OK, RAW_SHORT, RAW_STOPPED, RAW_NO_MEMORY, RAW_FAULT };

struct raw {
	struct engine_thread *t;
	struct comp_thread *c;
	const struct job_stage *stage;
	struct job *job;
	struct sink sink;
	int chunk;
};

typedef enum raw_state (*raw_fn)(struct raw *r);

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

static enum raw_state raw_stored(struct raw *r)
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
static size_t make_chunk(uint8_t *out, size_t n)
{
	static const uint8_t empty[4] = { 0, 0, 0xff, 0xff };
	struct skim s;
	size_t at, used;

	if (deflate_skim(out, n, 0, &s) || s.end_bit > (uint64_t)n * 8)
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
	uint8_t *out;

	out = raw_place(r, (size_t)comp_bound(r->stage, r->job->in_len), &max);
	if (!ld || !in || !out)
		return RAW_NO_MEMORY;
	if (max <= spare)
		return RAW_SHORT;
	n = libdeflate_deflate_compress(ld, in, (size_t)r->job->in_len, out, max - spare);
	if (!n)
		return RAW_SHORT;
	if (r->chunk) {
		n = make_chunk(out, n);
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
		return comp_bound(stage, in_len);
	if (!in_len && !(stage->flags & NVME_ACCEL_STAGE_CHUNK))
		return 2 + wrap_head_len(stage->alg) + wrap_tail_len(stage->alg);
	return deflate_stored_len(in_len, stage->flags & NVME_ACCEL_STAGE_CHUNK) +
	       wrap_head_len(stage->alg) + wrap_tail_len(stage->alg);
}

/* Head, raw deflate, tail. What no compressor fits is stored if that fits. */
static void run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
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

COMP_RUN(deflate_plain)
{
	run(t, stage, index, job, raw_stored);
}

COMP_RUN(deflate_isal)
{
	run(t, stage, index, job, raw_isal);
}

COMP_RUN(deflate_libdeflate)
{
	run(t, stage, index, job, raw_libdeflate);
}

COMP_RUN(deflate_zlib)
{
	run(t, stage, index, job, raw_zlib);
}
