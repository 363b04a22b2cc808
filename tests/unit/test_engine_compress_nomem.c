// SPDX-License-Identifier: BSD-2-Clause
/*
 * 3-05: each allocation of each engine failed in turn, those of the libraries below included: this program's
 * own malloc() stands in front of the C library's for all of them.
 */
#include "compress_util.h"

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define CAN_FAIL 0
#else
#define CAN_FAIL 1
#endif

static long fail_at = -1;	/* allocations until one fails; -1: none does */
static int fail_all_after;	/* and every one behind it */
static long failures;

#if CAN_FAIL
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static int fails(void)
{
	if (fail_at < 0)
		return 0;
	if (fail_at > 0) {
		fail_at--;
		return 0;
	}
	if (!fail_all_after)
		fail_at = -1;
	failures++;
	return 1;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	return fails() ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : __libc_memalign(align, n);
}
#endif

#define N 30000u

static uint8_t in[N], mid[2 * N], out[N];

/* In two elements, so that gathering allocates as well. */
static uint32_t run(struct engine_thread *t, const struct engine_fn *fn, struct job_stage stage, uint8_t *src,
		    size_t n, uint8_t *dst, size_t max, struct job *job)
{
	struct iovec a[2] = { { src, n / 2 }, { src + n / 2, n - n / 2 } };
	struct iovec b[2] = { { dst, max / 2 }, { dst + max / 2, max - max / 2 } };

	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->stage[0] = stage;
	job->in = a;
	job->out = b;
	job->nin = job->nout = 2;
	job->in_len = n;
	job->out_max = max;
	engine_run_fn(t, fn, job);
	job->in = job->out = NULL;
	return job->code;
}

static size_t made_by(const struct engine_fn *fn, uint32_t level)
{
	struct engine_thread *t = engine_thread_new();
	struct job job;

	fill_text(in, N, 3);
	if (fn->op == NVME_ACCEL_OP_DECOMPRESS)
		assert_int_equal(run_flat(t, NULL, stage_of(NVME_ACCEL_OP_COMPRESS, fn->alg, level, 0, 0), in,
					  N, mid, sizeof(mid), &job),
				 NVME_ACCEL_OK);
	engine_thread_free(t);
	return fn->op == NVME_ACCEL_OP_DECOMPRESS ? job.out_len : N;
}

static void one_entry(const struct engine_fn *fn, uint32_t level, uint64_t bits, int all)
{
	struct job_stage stage = stage_of(fn->op, fn->alg, level, bits, 0);
	size_t n = made_by(fn, level);
	int compresses = fn->op == NVME_ACCEL_OP_COMPRESS;
	uint8_t *src = compresses ? in : mid, *dst = compresses ? mid : out;
	size_t max = compresses ? sizeof(mid) : N;
	long at, before, hits = 0;
	struct job job;

	for (at = 0;; at++) {
		struct engine_thread *t = engine_thread_new();
		uint32_t code;

		before = failures;
		fail_all_after = all;
		fail_at = at;
		code = run(t, fn, stage, src, n, dst, max, &job);
		fail_at = -1;
		hits += failures != before;
		if (code != NVME_ACCEL_OK) {
			assert_int_equal(code, NVME_ACCEL_NO_RESOURCES);
			assert_int_equal(job.out_len, 0);
			assert_true(failures > before);
		}
		/* With memory again, the same thread does it. */
		assert_int_equal(run(t, fn, stage, src, n, dst, max, &job), NVME_ACCEL_OK);
		if (!compresses)
			assert_memory_equal(in, out, N);
		engine_thread_free(t);
		if (failures == before)
			break;
	}
	assert_true(hits > 0);
}

static void jobs(void **state)
{
	unsigned int i, level;

	(void)state;
	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		for (level = 0; level < COMP_LEVELS; level += 1 + (level > 3)) {
			struct job_stage s = stage_of(fn->op, fn->alg, level, 0, 0);

			if (!fn->takes(&s, N) || (fn->op == NVME_ACCEL_OP_DECOMPRESS && level != 3))
				continue;
			one_entry(fn, level, 0, 0);
			one_entry(fn, level, 0, 1);
		}
	}
	one_entry(fn_named(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, "zlib"), 6, 11, 0);
}

static void streams(void **state)
{
	static const uint16_t algs[] = { NVME_ACCEL_ALG_DEFLATE, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_GZIP,
					 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_ZSTD };
	unsigned int a, all;
	uint32_t code;

	(void)state;
	for (a = 0; a < 2 * sizeof(algs) / sizeof(algs[0]); a++) {
		const struct engine_fn *fn = fn_named(NVME_ACCEL_OP_DECOMPRESS, algs[a / 2],
						      a / 2 == 3 ? "lz4" : a / 2 == 4 ? "zstd" : "isal");
		size_t n = made_by(fn, 3), in_len, out_len;
		long at, before;

		all = a & 1;
		for (at = 0;; at++) {
			enum engine_stream_state st = ENGINE_STREAM_ERROR;
			struct engine_stream *s;

			before = failures;
			fail_all_after = (int)all;
			fail_at = at;
			s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, algs[a / 2], 0, &code);
			if (s) {
				in_len = n;
				out_len = N;
				st = engine_stream_step(s, mid, &in_len, out, &out_len, &code);
			}
			fail_at = -1;
			if (st != ENGINE_STREAM_END) {
				assert_int_equal(code, NVME_ACCEL_NO_RESOURCES);
				assert_true(failures > before);
			} else {
				assert_int_equal(out_len, N);
				assert_memory_equal(in, out, N);
			}
			engine_stream_free(s);
			if (failures == before)
				break;
		}
		assert_true(at > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs),
		cmocka_unit_test(streams),
	};

	if (!CAN_FAIL) {
		puts("1..1\nok 1 - without memory # SKIP malloc() is the sanitizer's here, or another C "
		     "library's");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
