// SPDX-License-Identifier: BSD-2-Clause
/* Every format and level over sizes around the edges of chunks: out by a judge, and back by ourselves. */
#include "stream_util.h"

static const uint16_t algs[] = { ACCEL_DEFLATE, ACCEL_ZLIB, ACCEL_GZIP, ACCEL_LZ4_FRAME, ACCEL_ZSTD };

static void round_trip(struct accel_dev *dev, const struct accel_stream_opts *o, const struct blob *in)
{
	struct accel_stream_opts back = opts_of(ACCEL_STREAM_DECOMPRESS, o->alg, 0);
	struct blob packed = { 0 }, judged = { 0 }, again = { 0 }, peeked = { 0 };
	struct accel_stream_info info;

	assert_int_equal(run(dev, o, in->p, in->n, &packed, &info), 0);
	assert_int_equal(info.in_bytes, in->n);
	assert_int_equal(info.out_bytes, packed.n);
	assert_int_equal(info.cpu_jobs, 0);
	assert_string_equal(info.error, "");
	assert_int_equal(judge(o->alg, &packed, &judged), 0);
	assert_same(&judged, in);
	assert_int_equal(run(dev, &back, packed.p, packed.n, &again, &info), 0);
	assert_same(&again, in);
	assert_int_equal(info.in_bytes, packed.n);
	assert_int_equal(info.out_bytes, in->n);
	assert_int_equal(info.trailing_garbage, 0);
	assert_int_equal(info.trailing_zeros, 0);
	assert_int_equal(run_peek(dev, &back, packed.p, packed.n, &peeked, NULL), 0);
	assert_same(&peeked, in);
	blob_free(&packed);
	blob_free(&judged);
	blob_free(&again);
	blob_free(&peeked);
}

/* All formats and contents, sizes around a chunk of 64 KiB; 3-14: the smallest ones, too. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = {
		0, 1, 2, 20, 63, 64, 4095, 65535, 65536, 65537, 3 * 65536 + 17, 700001
	};
	struct env *e = *state;
	unsigned int a, c, i;

	for (a = 0; a < 5; a++)
		for (c = 0; c < CONTENTS; c++)
			for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
				struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, algs[a],
								     1 + c % 2);
				struct blob in = blob_make((enum content)c, sizes[i]);

				o.chunk_nbytes = 65536;
				round_trip(e->dev, &o, &in);
				blob_free(&in);
			}
}

static void test_levels(void **state)
{
	struct env *e = *state;
	unsigned int a, level;

	for (a = 0; a < 5; a++)
		for (level = 0; level <= 9; level++) {
			struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, algs[a], level);
			struct blob in = blob_make(MIXED, 300000);

			o.chunk_nbytes = 131072;
			round_trip(e->dev, &o, &in);
			blob_free(&in);
		}
}

/* The chunk that is chosen when nobody says: around its edges, and more of them than fit in flight. */
static void test_default_chunk(void **state)
{
	static const size_t sizes[] = { (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 17, 25 << 20 };
	struct env *e = *state;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
		struct blob in = blob_make(i == 4 ? ZEROS : MIXED, sizes[i]);

		round_trip(e->dev, &o, &in);
		blob_free(&in);
	}
}

/* The largest chunks, and the smallest. */
static void test_odd_chunks(void **state)
{
	static const uint32_t chunks[] = { 4096, 5000, 100003, 2 << 20, 4 << 20 };
	struct env *e = *state;
	unsigned int i, c;

	for (i = 0; i < 5; i++)
		for (c = 0; c < CONTENTS; c++) {
			struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
			struct blob in = blob_make((enum content)c, chunks[i] < 1 << 20 ? 400000 : 9 << 20);

			o.chunk_nbytes = chunks[i];
			round_trip(e->dev, &o, &in);
			blob_free(&in);
		}
}

static void test_verify(void **state)
{
	struct env *e = *state;
	unsigned int a;

	for (a = 0; a < 5; a++) {
		struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, algs[a], 3);
		struct blob in = blob_make(MIXED, 300000);

		o.chunk_nbytes = 65536;
		o.flags = ACCEL_STREAM_VERIFY | ACCEL_STREAM_DEVICE_ONLY;
		round_trip(e->dev, &o, &in);
		blob_free(&in);
	}
}

static void test_bgzf(void **state)
{
	static const size_t sizes[] = { 0, 1, 65279, 65280, 65281, 3000000 };
	struct env *e = *state;
	unsigned int i, c, level;

	for (i = 0; i < 6; i++)
		for (c = 0; c < CONTENTS; c++)
			for (level = 0; level <= 9; level += 3) {
				struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP,
								     level);
				struct blob in = blob_make((enum content)c, sizes[i]);

				if (i == 5 && level > 1 && c != MIXED) {
					blob_free(&in);
					continue;
				}
				o.flags = ACCEL_STREAM_BGZF;
				round_trip(e->dev, &o, &in);
				blob_free(&in);
			}
}

/* What comes back of our own goes through the device, not through the process. */
static void test_parallel(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 1000000);
	unsigned int a;

	for (a = 2; a < 6; a++) {
		uint16_t alg = a < 5 ? algs[a] : ACCEL_GZIP;
		struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, alg, 1);
		struct accel_stream_opts back = opts_of(ACCEL_STREAM_DECOMPRESS, alg, 0);
		struct accel_stream_info info;
		struct blob packed = { 0 }, again = { 0 };

		o.chunk_nbytes = 65536;
		o.flags = a == 5 ? ACCEL_STREAM_BGZF : 0;
		back.flags = ACCEL_STREAM_DEVICE_ONLY;
		assert_int_equal(run(e->dev, &o, in.p, in.n, &packed, &info), 0);
		assert_int_equal(info.jobs, 16);
		assert_int_equal(info.executor, ACCEL_EXEC_SOFTWARE);
		assert_int_equal(run(e->dev, &back, packed.p, packed.n, &again, &info), 0);
		assert_same(&again, &in);
		assert_true(info.jobs >= 16);
		assert_int_equal(info.cpu_bytes, 0);
		assert_int_equal(info.members, a == 2 ? 1 : a == 5 ? 17 : 16);
		blob_free(&packed);
		blob_free(&again);
	}
	blob_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	      cmocka_unit_test(test_levels),
		cmocka_unit_test(test_default_chunk), cmocka_unit_test(test_odd_chunks),
		cmocka_unit_test(test_verify),	      cmocka_unit_test(test_bgzf),
		cmocka_unit_test(test_parallel),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
