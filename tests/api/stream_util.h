/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of streams share: data, whole runs through a stream, and zlib, lz4 and zstd as judges. */
#ifndef TESTS_STREAM_UTIL_H
#define TESTS_STREAM_UTIL_H

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>
#include "api_util.h"

struct blob {
	uint8_t *p;
	size_t n, max;
};

static inline void blob_add(struct blob *b, const void *p, size_t n)
{
	if (b->n + n > b->max) {
		b->max = (b->n + n) * 2 + 64;
		b->p = realloc(b->p, b->max);
		assert_non_null(b->p);
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void blob_free(struct blob *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

static inline uint32_t rnd(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

enum content { TEXT, RANDOM, ZEROS, MARKERS, MIXED, CONTENTS };

/* MARKERS: noise in which every so often 00 00 FF FF stands, what ends a chunk. */
static inline struct blob blob_make(enum content what, size_t n)
{
	struct blob b = { malloc(n + 1), n, n + 1 };
	uint32_t x = 2463534242u;
	size_t i;

	assert_non_null(b.p);
	if (what == TEXT)
		fill_text(b.p, n);
	for (i = 0; what != TEXT && i < n; i++)
		b.p[i] = what == ZEROS ? 0 : (uint8_t)(rnd(&x) >> 11);
	for (i = 100; what == MARKERS && i + 4 < n; i += 50 + rnd(&x) % 3000)
		memcpy(b.p + i, "\0\0\xff\xff", 4);
	for (i = 0; what == MIXED && i < n; i += 70000)
		fill_text(b.p + i, n - i < 30000 ? n - i : 30000);
	return b;
}

static inline struct accel_stream_opts opts_of(uint16_t kind, uint16_t alg, uint32_t level)
{
	struct accel_stream_opts o = ACCEL_INIT(struct accel_stream_opts);

	o.kind = kind;
	o.alg = alg;
	o.level = level;
	return o;
}

/* Takes what there is, by pieces of at most step bytes; the last value of accel_stream_read(). */
static inline ssize_t drain(struct accel_stream *s, struct blob *out, size_t step)
{
	static uint8_t buf[1 << 20];
	ssize_t n;

	while ((n = accel_stream_read(s, buf, step < sizeof(buf) ? step : sizeof(buf))) > 0)
		blob_add(out, buf, (size_t)n);
	return n;
}

/* All of in through a stream by write and read; 0 or the first error. info may be NULL. */
static inline int run_steps(struct accel_dev *dev, const struct accel_stream_opts *o, const void *in,
			    size_t n, size_t wstep, size_t rstep, struct blob *out,
			    struct accel_stream_info *info)
{
	struct accel_stream *s;
	size_t at = 0;
	ssize_t k = 0;
	int err = accel_stream_open(dev, o, &s);

	if (err)
		return err;
	while (at < n && !err) {
		k = accel_stream_write(s, (const uint8_t *)in + at, n - at < wstep ? n - at : wstep);
		if (k > 0)
			at += (size_t)k;
		else if (k != -EAGAIN)
			err = (int)k;
		if (k == -EAGAIN || !err) {
			k = drain(s, out, rstep);
			if (k < 0 && !err)
				err = (int)k;
		}
	}
	if (!err)
		err = accel_stream_finish(s);
	k = drain(s, out, rstep);
	if (!err)
		err = (int)k;
	assert_int_equal(err, k);
	if (info) {
		static char sentence[200], name[300];

		assert_int_equal(accel_stream_info(s, info), 0);
		/* They live as long as the stream. */
		snprintf(sentence, sizeof(sentence), "%s", info->error);
		info->error = sentence;
		snprintf(name, sizeof(name), "%s", info->header_name ? info->header_name : "");
		info->header_name = info->header_name ? name : NULL;
	}
	accel_stream_close(s);
	return err;
}

static inline int run(struct accel_dev *dev, const struct accel_stream_opts *o, const void *in, size_t n,
		      struct blob *out, struct accel_stream_info *info)
{
	return run_steps(dev, o, in, n, 1 << 20, 1 << 16, out, info);
}

/* The same without copies. */
static inline int run_peek(struct accel_dev *dev, const struct accel_stream_opts *o, const void *in, size_t n,
			   struct blob *out, struct accel_stream_info *info)
{
	struct accel_stream *s;
	const void *q;
	size_t at = 0;
	ssize_t k;
	void *p;
	int err = accel_stream_open(dev, o, &s), ended = 0;

	if (err)
		return err;
	for (;;) {
		k = ended ? 0 : accel_stream_room(s, &p);
		if (k > 0 && at < n) {
			k = k < (ssize_t)(n - at) ? k : (ssize_t)(n - at);
			memcpy(p, (const uint8_t *)in + at, (size_t)k);
			at += (size_t)k;
			err = accel_stream_commit(s, (size_t)k);
		} else if (at == n && !ended) {
			err = accel_stream_finish(s);
			ended = 1;
		}
		k = accel_stream_peek(s, &q, ended || k <= 0);
		if (k > 0) {
			blob_add(out, q, (size_t)k);
			accel_stream_consume(s, (size_t)k);
		} else if (k < 0 || ended) {
			err = (int)k;
			break;
		}
	}
	if (info)
		accel_stream_info(s, info);
	accel_stream_close(s);
	return err;
}

/* ---- judges ---- */

/* bits: as inflateInit2(). Every member; each has to end, and nothing may be left. -1: not so. */
static inline int judge_zlib(const struct blob *in, int bits, struct blob *out)
{
	uint8_t buf[65536];
	z_stream z;
	int rc = Z_OK;

	memset(&z, 0, sizeof(z));
	assert_int_equal(inflateInit2(&z, bits), Z_OK);
	z.next_in = in->p;
	z.avail_in = (uInt)in->n;
	while (rc == Z_OK) {
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		rc = inflate(&z, Z_NO_FLUSH);
		blob_add(out, buf, sizeof(buf) - z.avail_out);
		if (rc == Z_STREAM_END && z.avail_in && bits > 15)
			rc = inflateReset(&z);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END && z.avail_in == 0 ? 0 : -1;
}

static inline int judge_lz4(const struct blob *in, struct blob *out)
{
	LZ4F_dctx *d;
	uint8_t buf[65536];
	size_t at = 0, left = 1;

	assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)));
	while (at < in->n && !LZ4F_isError(left)) {
		size_t used = in->n - at, made = sizeof(buf);

		left = LZ4F_decompress(d, buf, &made, in->p + at, &used, NULL);
		at += used;
		blob_add(out, buf, made);
	}
	LZ4F_freeDecompressionContext(d);
	return left == 0 && at == in->n ? 0 : -1;
}

static inline int judge_zstd(const struct blob *in, struct blob *out)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer i = { in->p, in->n, 0 };
	uint8_t buf[65536];
	size_t left = 1;

	do {
		ZSTD_outBuffer o = { buf, sizeof(buf), 0 };

		left = ZSTD_decompressStream(d, &o, &i);
		if (ZSTD_isError(left))
			break;
		blob_add(out, buf, o.pos);
		if (!o.pos && i.pos == i.size)
			break;
	} while (i.pos < i.size || left);
	ZSTD_freeDCtx(d);
	return left == 0 && i.pos == i.size ? 0 : -1;
}

static inline int judge(uint16_t alg, const struct blob *in, struct blob *out)
{
	switch (alg) {
	case ACCEL_DEFLATE:
		return judge_zlib(in, -15, out);
	case ACCEL_ZLIB:
		return judge_zlib(in, 15, out);
	case ACCEL_GZIP:
		return judge_zlib(in, 31, out);
	case ACCEL_LZ4_FRAME:
		return judge_lz4(in, out);
	}
	return judge_zstd(in, out);
}

static inline void assert_same(const struct blob *a, const struct blob *b)
{
	assert_int_equal(a->n, b->n);
	if (a->n)
		assert_memory_equal(a->p, b->p, a->n);
}

/* A foreign gzip member, made by zlib. */
static inline void member_add(struct blob *out, const void *in, size_t n, int level, gz_header *h)
{
	size_t max = compressBound((uLong)n) + 70000;
	uint8_t *buf = malloc(max);
	z_stream z;

	memset(&z, 0, sizeof(z));
	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	if (h)
		assert_int_equal(deflateSetHeader(&z, h), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = buf;
	z.avail_out = (uInt)max;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	blob_add(out, buf, max - z.avail_out);
	deflateEnd(&z);
	free(buf);
}

/* A device for the whole group. */
struct env {
	struct accel_ctx *ctx;
	struct accel_dev *dev;
};

static inline int env_open(void **state)
{
	struct env *e = calloc(1, sizeof(*e));

	e->ctx = ctx_new();
	e->dev = dev_open(e->ctx, "soft:threads=2");
	*state = e;
	return 0;
}

static inline int env_close(void **state)
{
	struct env *e = *state;

	accel_dev_close(e->dev);
	accel_ctx_unref(e->ctx);
	free(e);
	return 0;
}

#endif
