// SPDX-License-Identifier: BSD-2-Clause
/* Levels and windows: that asking for them changes what comes out, and how. */
#include "compress_util.h"

#define N (600u << 10)

static int setup(void **state)
{
	return fixture_new(state, N, 2 * N, 2 * N);
}

/* Noise that returns at every distance up to period, so that a match of that distance is always worth it. */
static void fill_period(uint8_t *p, size_t n, size_t period)
{
	size_t i;

	fill_noise(p, BASE_MIN(period, n), 99);
	for (i = period; i < n; i++)
		p[i] = p[i - period];
}

/* Inflates with a window of so many bits and nothing more: a byte of room at a time. -1: it does not do. */
static long inflate_in_window(const uint8_t *in, size_t n, uint8_t *out, size_t max, int wbits)
{
	z_stream z = { 0 };
	int rc = Z_OK;
	long made;

	assert_int_equal(inflateInit2(&z, wbits), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = out;
	while (rc == Z_OK && z.total_out <= max) {
		z.avail_out = 1;
		rc = inflate(&z, Z_NO_FLUSH);
	}
	made = rc == Z_STREAM_END ? (long)z.total_out : -1;
	inflateEnd(&z);
	return made;
}

static void windows_are_kept(void **state)
{
	struct fixture *f = *state;
	unsigned int i, bits, level;
	struct job job;

	for (bits = 9; bits <= 15; bits++) {
		/* Just out of the window's reach, just within, and text. */
		for (i = 0; i < 3; i++) {
			size_t n = 120000;

			if (i < 2)
				fill_period(f->in, n, ((size_t)1 << bits) + (i ? -300 : 40));
			else
				fill_text(f->in, n, bits);
			for (level = 1; level < COMP_LEVELS; level++) {
				struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE,
							      level, bits, 0);

				assert_int_equal(
					run_flat(f->t, NULL, s, f->in, n, f->mid, engine_bound(&s, n), &job),
					NVME_ACCEL_OK);
				assert_int_equal(
					inflate_in_window(f->mid, job.out_len, f->out, n, -(int)bits), n);
				assert_memory_equal(f->in, f->out, n);
			}
		}
	}
}

/* The test above could not fail if no match ever reached beyond a small window: at 15 bits they do. */
static void windows_matter(void **state)
{
	struct fixture *f = *state;
	size_t n = 120000, small, large;
	unsigned int level;
	struct job job;

	fill_text(f->in, n, 11);
	for (level = 1; level < COMP_LEVELS; level++) {
		struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, level, 15, 0);

		assert_int_equal(run_flat(f->t, NULL, s, f->in, n, f->mid, 2 * N, &job), NVME_ACCEL_OK);
		large = job.out_len;
		assert_int_equal(inflate_in_window(f->mid, large, f->out, n, -9), -1);
		assert_int_equal(inflate_in_window(f->mid, large, f->out, n, -15), n);
		s.arg1 = 9;
		assert_int_equal(run_flat(f->t, NULL, s, f->in, n, f->mid, 2 * N, &job), NVME_ACCEL_OK);
		small = job.out_len;
		/* Usually larger, but greedy matching of words can gain by looking less far. */
		assert_int_not_equal(large, small);
	}
}

/* The zlib header names the window: a decoder with that one and no larger takes the stream. */
static void zlib_header_names_window(void **state)
{
	struct fixture *f = *state;
	unsigned int bits, level;
	struct job job;

	fill_text(f->in, N, 5);
	for (bits = 9; bits <= 15; bits++) {
		for (level = 0; level < COMP_LEVELS; level++) {
			struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_ZLIB, level,
						      bits, 0);

			assert_int_equal(run_flat(f->t, NULL, s, f->in, 50000, f->mid, 2 * N, &job),
					 NVME_ACCEL_OK);
			assert_int_equal(f->mid[0] >> 4, bits - 8);
			assert_int_equal(inflate_in_window(f->mid, job.out_len, f->out, 50000, (int)bits),
					 50000);
			assert_memory_equal(f->in, f->out, 50000);
		}
	}
}

static void levels_shrink(void **state)
{
	struct fixture *f = *state;
	static const uint16_t algs[] = { NVME_ACCEL_ALG_DEFLATE, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_GZIP,
					 NVME_ACCEL_ALG_LZ4,	 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_ZSTD };
	unsigned int a, level;
	struct job job;
	size_t size[COMP_LEVELS];
	unsigned int back;

	fill_text(f->in, N, 6);
	for (a = 0; a < sizeof(algs) / sizeof(algs[0]); a++) {
		/* Neighbours among Zstandard's levels may swap places on some data; every third does not. */
		back = algs[a] == NVME_ACCEL_ALG_ZSTD ? 3 : 1;
		for (level = 0; level < COMP_LEVELS; level++) {
			struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, algs[a], level, 0, 0);

			assert_int_equal(run_flat(f->t, NULL, s, f->in, N, f->mid, 2 * N, &job),
					 NVME_ACCEL_OK);
			size[level] = job.out_len;
			if (level >= back)
				assert_true(size[level] <= size[level - back]);
		}
		assert_true(size[9] < size[1] && size[1] < size[0]);
	}
}

static void level_0_is_stored(void **state)
{
	struct fixture *f = *state;
	struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 0, 0, 0);
	struct job job;

	fill_text(f->in, N, 6);
	assert_int_equal(run_flat(f->t, NULL, s, f->in, N, f->mid, 2 * N, &job), NVME_ACCEL_OK);
	assert_int_equal(job.out_len, N + 5 * ((N + 65534) / 65535));
	assert_memory_equal(f->mid + 5, f->in, 65535);
}

static void bad_parameters(void **state)
{
	struct fixture *f = *state;
	const struct job_stage bad[] = {
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 10, 0, 0),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, 8, 0),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, 16, 0),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, (uint64_t)1 << 32 | 15, 0),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_GZIP, 1, 0, NVME_ACCEL_STAGE_CHUNK),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, 0, NVME_ACCEL_STAGE_TRAILING),
		stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_ZSTD, 1, 15, 0),
		stage_of(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP, 0, 0, NVME_ACCEL_STAGE_CHUNK),
		stage_of(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_LZ4, 0, 0, NVME_ACCEL_STAGE_TRAILING),
	};
	unsigned int i;
	struct job job;
	struct iovec iov = { f->in, N };

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&job, 0, sizeof(job));
		job.nstage = job.nin = job.nout = 1;
		job.stage[0] = bad[i];
		job.in = job.out = &iov;
		job.in_len = job.out_max = 100;
		assert_null(fn_first(&bad[i], 100));
		engine_run(f->t, &job);
		assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_kept),	     cmocka_unit_test(windows_matter),
		cmocka_unit_test(zlib_header_names_window), cmocka_unit_test(levels_shrink),
		cmocka_unit_test(level_0_is_stored),	     cmocka_unit_test(bad_parameters),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
