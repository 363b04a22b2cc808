/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression: the input in chunks, each a job. Chunks of the deflate family end on a byte without a final
 * block, so that they follow one another in one stream; LZ4 and zstd give a frame a chunk.
 */
#include <stdlib.h>
#include "stream_priv.h"

struct compress {
	uint32_t sum; /* CRC-32 or Adler-32 of what is settled */
	uint64_t len; /* its length */
	bool sum_job; /* the job's first stage is the checksum */
	bool head;    /* the header has been given out */
	bool any;     /* there has been a chunk */
};

static bool is_deflate(const struct accel_stream *s)
{
	return s->alg == ACCEL_DEFLATE || s->alg == ACCEL_ZLIB || s->alg == ACCEL_GZIP;
}

static uint16_t sum_alg(const struct accel_stream *s)
{
	if (s->alg == ACCEL_GZIP)
		return ACCEL_CRC32;
	return s->alg == ACCEL_ZLIB ? ACCEL_ADLER32 : 0;
}

/* ---- the plan ---- */

static int compress_plan(struct accel_stream *s, bool with_sum, enum accel_policy policy)
{
	uint32_t flags = is_deflate(s) && !(s->flags & ACCEL_STREAM_BGZF) ? ACCEL_STAGE_CHUNK : 0;
	struct accel_plan *plan;
	int err = accel_plan_new(s->dev->ctx, &plan);

	if (err)
		return err;
	if (with_sum)
		err = accel_plan_checksum(plan, sum_alg(s), sum_alg(s) == ACCEL_ADLER32);
	if (!err)
		err = accel_plan_compress(plan, is_deflate(s) ? ACCEL_DEFLATE : s->alg, s->level, 0, flags);
	if (!err)
		err = accel_plan_policy(plan, policy, s->flags & ACCEL_STREAM_VERIFY ? ACCEL_PLAN_VERIFY : 0,
					0);
	if (!err)
		err = accel_plan_seal(plan, s->dev);
	if (err)
		accel_plan_unref(plan);
	else
		s->plan = plan;
	return err;
}

/* Checksum and compression in one job, or the checksum here, or, if it may, all by the CPU. */
static int compress_choose(struct accel_stream *s, struct compress *c)
{
	bool may = !(s->flags & ACCEL_STREAM_DEVICE_ONLY);
	int err = -ENOTSUP;

	c->sum_job = sum_alg(s);
	if (c->sum_job)
		err = compress_plan(s, true, ACCEL_DEVICE_ONLY);
	if (err == -ENOTSUP) {
		c->sum_job = false;
		err = compress_plan(s, false, ACCEL_DEVICE_ONLY);
	}
	if (err == -ENOTSUP && may) {
		c->sum_job = sum_alg(s);
		err = compress_plan(s, c->sum_job, ACCEL_PREFER_DEVICE);
	}
	/* The device can: from here on a single job may still fall back. */
	if (!err && may)
		s->plan->policy = ACCEL_PREFER_DEVICE;
	return err;
}

/* ---- format ---- */

/* A frame that holds nothing, for an empty input. */
static const uint8_t empty_lz4[] = { 4, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0, 0, 0, 0, 5, 0x5d, 0xcc, 2 };
static const uint8_t empty_zstd[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0 };

static void zlib_put_header(uint8_t *p, uint32_t level)
{
	static const uint8_t flg[10] = { 0x01, 0x01, 0x5e, 0x5e, 0x5e, 0x5e, 0x9c, 0xda, 0xda, 0xda };

	p[0] = 0x78;
	p[1] = flg[level > 9 ? 9 : level];
}

static void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static int compress_header(struct accel_stream *s, struct compress *c)
{
	struct piece *p;
	size_t n = s->alg == ACCEL_GZIP ? gzip_header_size(s) : 2;

	if (!(s->flags & ACCEL_STREAM_BGZF) && (s->alg == ACCEL_GZIP || s->alg == ACCEL_ZLIB)) {
		if (!piece_fits(s, n))
			return 0;
		p = piece_bytes(s, n);
		if (s->alg == ACCEL_GZIP)
			gzip_put_header(s, p->out.iov_base);
		else
			zlib_put_header(p->out.iov_base, s->level);
		piece_ready(s, p, n);
	}
	c->head = true;
	return 1;
}

static size_t compress_end_bytes(const struct accel_stream *s, const struct compress *c, uint8_t *p)
{
	static const uint8_t final_block[2] = { 3, 0 };

	if (s->flags & ACCEL_STREAM_BGZF) {
		memcpy(p, bgzf_eof, sizeof(bgzf_eof));
		return sizeof(bgzf_eof);
	}
	if (!is_deflate(s)) {
		if (c->any)
			return 0;
		memcpy(p, s->alg == ACCEL_ZSTD ? empty_zstd : empty_lz4,
		       s->alg == ACCEL_ZSTD ? sizeof(empty_zstd) : sizeof(empty_lz4));
		return s->alg == ACCEL_ZSTD ? sizeof(empty_zstd) : sizeof(empty_lz4);
	}
	memcpy(p, final_block, 2);
	if (s->alg == ACCEL_GZIP)
		gzip_put_trailer(p + 2, c->sum, c->len);
	else if (s->alg == ACCEL_ZLIB)
		put_be32(p + 2, c->sum);
	return 2 + (s->alg == ACCEL_GZIP ? GZIP_TRAILER : s->alg == ACCEL_ZLIB ? 4 : 0);
}

/* Trailers hold sums of the whole, so all jobs must have ended. */
static int compress_end(struct accel_stream *s, struct compress *c)
{
	struct piece *p;

	if (!all_settled(s) || !piece_fits(s, 64))
		return 0;
	p = piece_bytes(s, 64);
	piece_ready(s, p, compress_end_bytes(s, c, p->out.iov_base));
	stream_end(s);
	return 1;
}

static int compress_feed(struct accel_stream *s)
{
	struct compress *c = s->priv;
	size_t n = BASE_MIN(stream_avail(s), s->chunk);
	size_t lead = s->flags & ACCEL_STREAM_BGZF ? BGZF_HEADER : 0;
	size_t tail = lead ? GZIP_TRAILER : 0;

	if (!c->head)
		return compress_header(s, c);
	if (n < s->chunk && !s->finished)
		return 0;
	if (!n)
		return compress_end(s, c);
	if (!piece_fits(s, lead + s->chunk_out + tail))
		return 0;
	piece_job(s, PIECE_CHUNK, n, lead, s->chunk_out, tail);
	c->any = true;
	return 1;
}

static int compress_sum(struct accel_stream *s, struct compress *c, const struct piece *p)
{
	uint64_t v;
	int err = 0;

	if (!sum_alg(s))
		return 0;
	if (c->sum_job)
		v = le32_get(p->result.result[0]);
	else
		err = stream_sum_bytes(sum_alg(s), p->in.iov_base, p->in_len, &v);
	if (err)
		return err;
	/* BGZF: each block has its own. */
	if (s->flags & ACCEL_STREAM_BGZF)
		c->sum = (uint32_t)v;
	else if (s->alg == ACCEL_GZIP)
		c->sum = engine_crc32_combine(c->sum, (uint32_t)v, p->in_len);
	else
		c->sum = engine_adler32_combine(c->sum, (uint32_t)v, p->in_len);
	c->len += p->in_len;
	return 0;
}

static int compress_ended(struct accel_stream *s, struct piece *p)
{
	struct compress *c = s->priv;
	size_t n = (size_t)p->result.out_len;
	uint8_t *room = ring_at(&s->out, p->out_pos);
	int err;

	if (p->result.status != ACCEL_ST_OK)
		return stream_fail_result(s, &p->result);
	if (p->result.in_used != p->in_len || p->result.out_len > p->out.iov_len)
		return stream_fail(s, -EIO, ACCEL_ST_DEVICE_FAULT,
				   "a job used %llu of %zu bytes and called it done",
				   (unsigned long long)p->result.in_used, p->in_len);
	err = compress_sum(s, c, p);
	if (err)
		return err;
	if (s->flags & ACCEL_STREAM_BGZF) {
		if (BGZF_HEADER + n + GZIP_TRAILER > 65536)
			return stream_fail(s, -EIO, ACCEL_ST_DEVICE_FAULT,
					   "a block of %zu bytes is too large for BGZF", n);
		bgzf_put_header(room, n);
		gzip_put_trailer(room + BGZF_HEADER + n, c->sum, p->in_len);
		n += BGZF_HEADER + GZIP_TRAILER;
	}
	piece_ready(s, p, n);
	return 1;
}

static void compress_close(struct accel_stream *s)
{
	free(s->priv);
}

static const struct stream_ops compress_ops = { compress_feed, compress_ended, compress_close };

/* ---- sizes ---- */

/* The largest chunk, at most want, whose input and worst output a job can take; 0: none. */
static size_t compress_chunk(const struct accel_stream *s, size_t want)
{
	uint64_t max_in = s->dev->info.max_in, max_out = s->dev->info.max_out;
	struct accel_caps caps;

	if (accel_dev_caps(s->dev, ACCEL_OP_COMPRESS, is_deflate(s) ? ACCEL_DEFLATE : s->alg, &caps) == 0) {
		max_in = BASE_MIN(max_in, caps.max_in);
		max_out = BASE_MIN(max_out, caps.max_out);
	} else {
		max_in = max_out = UINT64_MAX; /* the CPU does it */
	}
	while (want >= 4096 && (want > max_in || accel_bound(s->plan, want) > max_out))
		want /= 2;
	return want >= 4096 ? want : 0;
}

static int compress_sizes(struct accel_stream *s)
{
	bool bgzf = s->flags & ACCEL_STREAM_BGZF;
	size_t want = s->chunk ? s->chunk : STREAM_CHUNK, room;
	unsigned int n;

	if (s->chunk && s->chunk < 4096)
		return -EINVAL;
	if (bgzf)
		want = BASE_MIN(want, BGZF_CHUNK);
	s->chunk = compress_chunk(s, want);
	if (!s->chunk)
		return -ENOTSUP;
	s->chunk_out = (size_t)accel_bound(s->plan, s->chunk);
	room = s->chunk_out + BGZF_HEADER + GZIP_TRAILER + 4096;
	if (bgzf)
		s->depth *= 2; /* small jobs */
	n = (unsigned int)BASE_MIN(STREAM_RING_MAX / room, s->depth + 2);
	n = BASE_MAX(n, 2);
	s->depth = BASE_MIN(s->depth, n);
	s->room_max = s->chunk;
	/* A room for which the ring has no place before its end makes it one room longer. */
	return stream_memory(s, (n + 1) * s->chunk, false, (n + 1) * room + 2 * 8192, n + 2);
}

int stream_open_compress(struct accel_stream *s)
{
	struct compress *c;
	int err;

	if (s->alg == ACCEL_LZ4_BLOCK || s->alg > ACCEL_ZSTD || s->alg == 0 || s->level > 9 ||
	    s->flags & ACCEL_STREAM_ONE_MEMBER || (s->flags & ACCEL_STREAM_BGZF && s->alg != ACCEL_GZIP))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	s->priv = c;
	s->ops = &compress_ops;
	s->max_out = 0;
	c->sum = s->alg == ACCEL_ZLIB;
	err = compress_choose(s, c);
	return err ? err : compress_sizes(s);
}
