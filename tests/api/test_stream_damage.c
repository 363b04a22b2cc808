// SPDX-License-Identifier: BSD-2-Clause
/* Files that are cut at every byte, and files with every bit wrong: an error, and no wrong byte called right.
 */
#include "stream_util.h"

#define CHUNK 4096

static const uint16_t algs[] = { ACCEL_DEFLATE, ACCEL_ZLIB, ACCEL_GZIP, ACCEL_LZ4_FRAME, ACCEL_ZSTD };

struct sample {
	struct blob in, packed;
	uint16_t alg;
};

/* foreign: made by zlib, so that no chunk is announced. */
static void sample_make(struct env *e, struct sample *s, uint16_t alg, uint32_t flags, int foreign)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, alg, 6);
	size_t i;

	memset(s, 0, sizeof(*s));
	s->alg = alg;
	s->in = blob_make(TEXT, 3 * CHUNK + 100);
	/* Long runs keep the file small, as it is cut at every byte. */
	for (i = 0; i < s->in.n; i++)
		if (i / 64 % 8)
			s->in.p[i] = 'a';
	o.chunk_nbytes = CHUNK;
	o.flags = flags;
	if (foreign)
		member_add(&s->packed, s->in.p, s->in.n, 6, NULL);
	else
		assert_int_equal(run(e->dev, &o, s->in.p, s->in.n, &s->packed, NULL), 0);
}

static void sample_free(struct sample *s)
{
	blob_free(&s->in);
	blob_free(&s->packed);
}

static void assert_prefix(const struct blob *out, const struct sample *s)
{
	assert_true(out->n <= s->in.n);
	if (out->n)
		assert_memory_equal(out->p, s->in.p, out->n);
}

/* Each cut is an error, except where a frame ends; and what came out is a beginning of the right thing. */
static void cut_all(struct env *e, const struct sample *s, int frames)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, s->alg, 0);
	struct blob out = { 0 };
	size_t n;
	int rc, good = 0;

	for (n = 0; n < s->packed.n; n++) {
		out.n = 0;
		rc = run(e->dev, &o, s->packed.p, n, &out, NULL);
		if (rc == 0) {
			good++;
			assert_int_equal(out.n % CHUNK, 0);
			assert_true(out.n > 0);
		} else {
			assert_int_equal(rc, -EBADMSG);
		}
		assert_prefix(&out, s);
	}
	assert_int_equal(good, frames);
	blob_free(&out);
}

static void test_cut(void **state)
{
	struct env *e = *state;
	struct sample s;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		sample_make(e, &s, algs[i], 0, 0);
		cut_all(e, &s, algs[i] >= ACCEL_LZ4_FRAME ? 3 : 0);
		sample_free(&s);
	}
	sample_make(e, &s, ACCEL_GZIP, 0, 1);
	cut_all(e, &s, 0);
	sample_free(&s);
}

/* zlib and gzip carry a sum: success means that the data are right. Others must at least survive. */
static void flip_all(struct env *e, struct sample *s, int summed, unsigned int step)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, s->alg, 0);
	struct blob out = { 0 };
	size_t bit;
	int rc, wrong = 0, errors = 0;

	o.max_out = 1 << 20;
	for (bit = 0; bit < 8 * s->packed.n; bit += step) {
		struct accel_stream_info info;

		out.n = 0;
		s->packed.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = run(e->dev, &o, s->packed.p, s->packed.n, &out, &info);
		s->packed.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		errors += rc != 0;
		/* A frame whose magic is wrong is rubbish behind the others, and said to be. */
		if (rc == 0 && !info.trailing_garbage && !info.trailing_zeros)
			wrong += out.n != s->in.n || memcmp(out.p, s->in.p, out.n);
		assert_true(rc == 0 || rc == -EBADMSG || rc == -EFBIG);
	}
	if (summed)
		assert_int_equal(wrong, 0);
	assert_true(errors > 0);
	blob_free(&out);
}

static void test_flips(void **state)
{
	struct env *e = *state;
	struct sample s;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		sample_make(e, &s, algs[i], 0, 0);
		flip_all(e, &s, algs[i] != ACCEL_DEFLATE, 13);
		sample_free(&s);
	}
	sample_make(e, &s, ACCEL_GZIP, 0, 1);
	flip_all(e, &s, 1, 23);
	sample_free(&s);
	sample_make(e, &s, ACCEL_GZIP, ACCEL_STREAM_BGZF, 0);
	flip_all(e, &s, 1, 23);
	sample_free(&s);
}

/* Bytes of chance behind a good magic, a good header, a good first chunk. */
static void test_noise(void **state)
{
	struct env *e = *state;
	struct blob noise = blob_make(RANDOM, 100000), out = { 0 };
	struct sample s;
	unsigned int i, k;

	for (i = 0; i < 5; i++) {
		sample_make(e, &s, algs[i], 0, 0);
		for (k = 0; k < 40; k++) {
			struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, algs[i], 0);
			struct blob in = { 0 };
			int rc;

			o.max_out = 64 << 20;
			blob_add(&in, s.packed.p, k < 20 ? k : s.packed.n / 2);
			blob_add(&in, noise.p + 1000 * k, 50000);
			out.n = 0;
			rc = run(e->dev, &o, in.p, in.n, &out, NULL);
			/* Raw deflate is ended by chance now and then. */
			assert_true(rc == -EBADMSG || rc == -EFBIG || (rc == 0 && algs[i] == ACCEL_DEFLATE));
			blob_free(&in);
		}
		sample_free(&s);
	}
	blob_free(&noise);
	blob_free(&out);
}

/* A large member of ours that is damaged in its middle: all chunks before come out, then the error. */
static void test_late_damage(void **state)
{
	struct env *e = *state;
	struct accel_stream_opts c = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);
	struct blob in = blob_make(TEXT, 2000000), packed = { 0 }, out = { 0 };
	struct accel_stream_info info;
	size_t at;

	c.chunk_nbytes = 100000;
	assert_int_equal(run(e->dev, &c, in.p, in.n, &packed, NULL), 0);
	at = packed.n * 3 / 4;
	memset(packed.p + at, 0xff, 64);
	assert_int_equal(run(e->dev, &o, packed.p, packed.n, &out, &info), -EBADMSG);
	assert_true(out.n >= 1400000);
	assert_memory_equal(out.p, in.p, 1400000);
	assert_int_equal(info.status, ACCEL_ST_BAD_INPUT_DATA);
	/* Only the trailer's sum, then only its length, is wrong: all the data come out, and the error. */
	out.n = packed.n = 0;
	assert_int_equal(run(e->dev, &c, in.p, in.n, &packed, NULL), 0);
	for (at = packed.n - 8; at < packed.n; at += 4) {
		out.n = 0;
		packed.p[at] ^= 1;
		assert_int_equal(run(e->dev, &o, packed.p, packed.n, &out, &info), -EBADMSG);
		packed.p[at] ^= 1;
		assert_same(&out, &in);
		assert_non_null(strstr(info.error, at == packed.n - 8 ? "CRC-32" : "length"));
	}
	blob_free(&in);
	blob_free(&packed);
	blob_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_late_damage),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
