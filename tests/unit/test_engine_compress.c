// SPDX-License-Identifier: BSD-2-Clause
/* Compression engines: round trips of every entry against every other, levels, windows, chunks, lists. */
#include "compress_util.h"

#define MAX_N 200000u

static int setup(void **state)
{
	return fixture_new(state, 4u << 20, 5u << 20, 5u << 20);
}

typedef void (*fill_fn)(uint8_t *p, size_t n, uint64_t seed);
static const fill_fn fills[] = { fill_text, fill_noise, fill_mixed };

/* What one entry made, by every decompressor of that algorithm. */
static void decompress_all(struct fixture *f, uint16_t alg, size_t made, size_t n)
{
	unsigned int i;
	struct job job;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op != NVME_ACCEL_OP_DECOMPRESS || fn->alg != alg)
			continue;
		memset(f->out, 0xa5, n + 64);
		assert_int_equal(
			run_flat(f->t, fn, stage_of(fn->op, alg, 0, 0, 0), f->mid, made, f->out, n, &job),
			NVME_ACCEL_OK);
		assert_int_equal(job.in_used, made);
		assert_int_equal(job.out_len, n);
		assert_memory_equal(f->in, f->out, n);
		assert_int_equal(f->out[n], 0xa5);
	}
}

static void round_trip(struct fixture *f, const struct engine_fn *fn, uint32_t level, size_t n)
{
	struct job_stage stage = stage_of(fn->op, fn->alg, level, 0, 0);
	uint64_t bound = engine_bound(&stage, n);
	struct job job;

	if (!fn->takes(&stage, n))
		return;
	assert_int_equal(run_flat(f->t, fn, stage, f->in, n, f->mid, bound, &job), NVME_ACCEL_OK);
	assert_int_equal(job.in_used, n);
	assert_true(job.out_len <= bound);
	decompress_all(f, fn->alg, job.out_len, n);
}

static void every_entry_and_level(void **state)
{
	struct fixture *f = *state;
	static const size_t sizes[] = { 0, 1, 2, 63, 4095, 65535, 65536, 65537, 150001 };
	unsigned int i, s, d, level;

	for (d = 0; d < sizeof(fills) / sizeof(fills[0]); d++) {
		fills[d](f->in, MAX_N, 7 + d);
		for (i = 0; i < engine_compress.nfns; i++) {
			const struct engine_fn *fn = &engine_compress.fns[i];

			if (fn->op != NVME_ACCEL_OP_COMPRESS)
				continue;
			for (level = 0; level < COMP_LEVELS; level++)
				for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
					round_trip(f, fn, level, sizes[s]);
		}
	}
}

static void random_sizes(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 42;
	unsigned int i;

	for (i = 0; i < 400; i++) {
		const struct engine_fn *fn = &engine_compress.fns[rnd(&seed) % engine_compress.nfns];
		size_t n = rnd(&seed) % (i % 2 ? MAX_N : 2000);

		if (fn->op != NVME_ACCEL_OP_COMPRESS)
			continue;
		fills[rnd(&seed) % 3](f->in, n, rnd(&seed));
		round_trip(f, fn, rnd(&seed) % COMP_LEVELS, n);
	}
}

/* Chunks made by any entry at any level, one behind the other, closed by 03 00, are one stream. */
static void chunks_join(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 3;
	unsigned int round, i, k;
	struct job job;

	for (round = 0; round < 300; round++) {
		size_t at = 0, made = 0, used;
		unsigned int n = 1 + rnd(&seed) % 4;

		for (k = 0; k < n; k++) {
			struct job_stage stage = stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE,
							  rnd(&seed) % COMP_LEVELS, 0,
							  NVME_ACCEL_STAGE_CHUNK);
			size_t len = rnd(&seed) % (round % 3 ? 40000 : 64);

			do
				i = rnd(&seed) % engine_compress.nfns;
			while (engine_compress.fns[i].op != stage.op ||
			       engine_compress.fns[i].alg != stage.alg ||
			       !engine_compress.fns[i].takes(&stage, len));
			fills[rnd(&seed) % 3](f->in + at, len, rnd(&seed));
			assert_int_equal(run_flat(f->t, &engine_compress.fns[i], stage, f->in + at, len,
						  f->mid + made, engine_bound(&stage, len), &job),
					 NVME_ACCEL_OK);
			assert_int_equal(job.in_used, len);
			assert_memory_equal(f->mid + made + job.out_len - 4, "\0\0\xff\xff", 4);
			at += len;
			made += job.out_len;
		}
		for (i = 0; i < engine_compress.nfns; i++) {
			const struct engine_fn *fn = &engine_compress.fns[i];

			if (fn->op != NVME_ACCEL_OP_DECOMPRESS || fn->alg != NVME_ACCEL_ALG_DEFLATE)
				continue;
			assert_int_equal(run_flat(f->t, fn,
						  stage_of(fn->op, fn->alg, 0, 0, NVME_ACCEL_STAGE_CHUNK),
						  f->mid, made, f->out, at, &job),
					 NVME_ACCEL_OK);
			assert_int_equal(job.in_used, made);
			assert_int_equal(job.out_len, at);
			assert_memory_equal(f->in, f->out, at);
			/* Without the flag it is a stream that was cut. */
			assert_int_equal(run_flat(f->t, fn, stage_of(fn->op, fn->alg, 0, 0, 0), f->mid, made,
						  f->out, at, &job),
					 NVME_ACCEL_BAD_INPUT_DATA);
		}
		memcpy(f->mid + made, "\3\0", 2);
		assert_int_equal(zlib_inflate(f->mid, made + 2, f->out, at + 1, -15, &used), at);
		assert_int_equal(used, made + 2);
		assert_memory_equal(f->in, f->out, at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_and_level),
		cmocka_unit_test(random_sizes),
		cmocka_unit_test(chunks_join),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
