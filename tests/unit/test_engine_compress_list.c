// SPDX-License-Identifier: BSD-2-Clause
/* Where the bytes lie: lists of many elements, guard pages around every buffer, outputs of every size. */
#include "compress_util.h"

#define MAX_N 200000u
#define MAX_ELEMENTS 40u

static int setup(void **state)
{
	return fixture_new(state, 2 * MAX_N, 2 * MAX_N, 2 * MAX_N);
}

/* n bytes in pieces, each in guarded memory of its own; some are empty, some a byte. */
struct list {
	struct iovec iov[MAX_ELEMENTS];
	struct guarded g[MAX_ELEMENTS];
	unsigned int n;
};

static void list_make(struct list *l, size_t n, uint64_t *seed)
{
	unsigned int i, count = 1 + rnd(seed) % MAX_ELEMENTS;
	size_t left = n, len;

	for (i = 0; i < count; i++) {
		switch (rnd(seed) % 4) {
		case 0:
			len = rnd(seed) % 3;
			break;
		case 1:
			len = rnd(seed) % 300;
			break;
		default:
			len = rnd(seed) % (n / 3 + 1);
		}
		if (i == count - 1 || len > left)
			len = left;
		left -= len;
		l->g[i] = guarded_new(len, (int)rnd(seed) & 1);
		l->iov[i].iov_base = len || rnd(seed) % 2 ? l->g[i].p : NULL;
		l->iov[i].iov_len = len;
	}
	l->n = count;
}

static void list_free(struct list *l)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		guarded_free(&l->g[i]);
}

static void list_put(struct list *l, const uint8_t *p, size_t n)
{
	struct iov_pos pos = { l->iov, l->n, 0 };

	assert_int_equal(iov_write(&pos, p, n), n);
}

static void list_get(struct list *l, uint8_t *p, size_t n)
{
	struct iov_pos pos = { l->iov, l->n, 0 };

	assert_int_equal(iov_read(&pos, p, n), n);
}

static uint32_t run_lists(struct fixture *f, const struct engine_fn *fn, struct job_stage stage,
			  struct list *in, size_t n, struct list *out, size_t max, struct job *job)
{
	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->stage[0] = stage;
	job->in = in->iov;
	job->nin = in->n;
	job->in_len = n;
	job->out = out->iov;
	job->nout = out->n;
	job->out_max = max;
	engine_run_fn(f->t, fn, job);
	job->in = job->out = NULL;
	return job->code;
}

static size_t one_way(struct fixture *f, const struct engine_fn *fn, struct job_stage stage,
		      const uint8_t *in, size_t n, uint8_t *out, size_t max, uint64_t *seed)
{
	struct list a, b;
	struct job job;

	list_make(&a, n, seed);
	list_make(&b, max, seed);
	list_put(&a, in, n);
	assert_int_equal(run_lists(f, fn, stage, &a, n, &b, max, &job), NVME_ACCEL_OK);
	assert_int_equal(job.in_used, n);
	assert_true(job.out_len <= max);
	list_get(&b, out, job.out_len);
	list_free(&a);
	list_free(&b);
	return job.out_len;
}

static void random_lists(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 77;
	unsigned int i, k;

	for (i = 0; i < 600; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i % engine_compress.nfns];
		uint32_t level = rnd(&seed) % COMP_LEVELS;
		uint32_t flags = fn->alg == NVME_ACCEL_ALG_DEFLATE ? rnd(&seed) & NVME_ACCEL_STAGE_CHUNK : 0;
		struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, fn->alg, level, 0, flags);
		size_t n = rnd(&seed) % (i % 3 ? 20000 : MAX_N / 2), made, got;

		if (fn->op != NVME_ACCEL_OP_COMPRESS || !fn->takes(&s, n))
			continue;
		fill_mixed(f->in, n, rnd(&seed));
		made = one_way(f, fn, s, f->in, n, f->mid, engine_bound(&s, n), &seed);
		for (k = 0; k < engine_compress.nfns; k++) {
			const struct engine_fn *back = &engine_compress.fns[k];

			if (back->op != NVME_ACCEL_OP_DECOMPRESS || back->alg != fn->alg)
				continue;
			/* Exactly as much room as needed, and more. */
			got = one_way(f, back, stage_of(back->op, back->alg, 0, 0, flags), f->mid, made,
				      f->out, n + rnd(&seed) % 2 * (rnd(&seed) % 5000), &seed);
			assert_int_equal(got, n);
			assert_memory_equal(f->in, f->out, n);
		}
	}
}

/* One run with the input flush against a page that faults and the output of exactly max bytes likewise. */
static uint32_t run_guarded(struct fixture *f, const struct engine_fn *fn, struct job_stage stage,
			    const uint8_t *in, size_t n, size_t max, uint8_t *out, int low, struct job *job)
{
	struct guarded a = guarded_new(n, low), b = guarded_new(max, low);
	uint32_t code;

	memcpy(a.p, in, n);
	memset(b.p, 0xa5, max);
	code = run_flat(f->t, fn, stage, a.p, n, b.p, max, job);
	if (code == NVME_ACCEL_OK)
		memcpy(out, b.p, job->out_len);
	assert_memory_equal(a.p, in, n);
	guarded_free(&a);
	guarded_free(&b);
	return code;
}

/* Every room from nothing to the bound: never a byte too many, and always enough at the bound. (3-01, 3-28)
 */
static void every_room(void **state)
{
	struct fixture *f = *state;
	unsigned int i, kind, step;
	size_t n = 700, max;
	struct job job;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		for (kind = 0; kind < 2 * COMP_LEVELS; kind++) {
			struct job_stage s = stage_of(fn->op, fn->alg, kind / 2, 0, 0);
			uint64_t bound = engine_bound(&s, n), made = 0;

			if (fn->op != NVME_ACCEL_OP_COMPRESS || !fn->takes(&s, n))
				continue;
			if (kind % 2)
				fill_noise(f->in, n, kind);
			else
				fill_text(f->in, n, kind);
			step = kind < 4 ? 1 : 13;
			for (max = 0; max < bound; max += step) {
				uint32_t code = run_guarded(f, fn, s, f->in, n, max, f->out, (int)(max & 1),
							    &job);

				if (code == NVME_ACCEL_OK) {
					made = job.out_len;
					assert_int_equal(job.in_used, n);
					continue;
				}
				assert_int_equal(code, NVME_ACCEL_OUTPUT_SHORT);
				assert_true(job.out_needed > max);
				assert_true(job.out_needed <= bound);
				assert_int_equal(made, 0);
			}
			assert_int_equal(run_guarded(f, fn, s, f->in, n, bound, f->mid, 0, &job),
					 NVME_ACCEL_OK);
		}
	}
}

/* Decompression into every room: OUTPUT_SHORT says what would do, exactly where it says exactly. */
static void every_room_back(void **state)
{
	struct fixture *f = *state;
	size_t n = 3000, max, made;
	unsigned int i;
	struct job job;

	fill_mixed(f->in, n, 12);
	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];
		struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, fn->alg, 6, 0, 0);

		if (fn->op != NVME_ACCEL_OP_DECOMPRESS)
			continue;
		assert_int_equal(run_flat(f->t, NULL, s, f->in, n, f->mid, 2 * MAX_N, &job), NVME_ACCEL_OK);
		made = job.out_len;
		s = stage_of(fn->op, fn->alg, 0, 0, 0);
		for (max = 0; max < n; max += 7) {
			assert_int_equal(
				run_guarded(f, fn, s, f->mid, made, max, f->out, (int)(max & 1), &job),
				NVME_ACCEL_OUTPUT_SHORT);
			assert_int_equal(job.out_needed, n);
			assert_true(job.sflags & NVME_ACCEL_SF_NEEDED_EXACT);
		}
		assert_int_equal(run_guarded(f, fn, s, f->mid, made, n, f->out, 0, &job), NVME_ACCEL_OK);
		assert_memory_equal(f->in, f->out, n);
	}
}

/* 3-14: the shortest inputs, whose wrapper is longer than they are. 4-08: no level passes its bound. */
static void short_inputs_and_bounds(void **state)
{
	struct fixture *f = *state;
	unsigned int i, level;
	uint64_t seed = 5;
	struct job job;
	size_t n;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		for (level = 0; level < COMP_LEVELS; level++) {
			struct job_stage s = stage_of(fn->op, fn->alg, level, 0, 0);

			for (n = 0; fn->op == NVME_ACCEL_OP_COMPRESS && n <= 70000;
			     n += n < 65 ? 1 : 1 + n / 3) {
				size_t made;

				if (!fn->takes(&s, n))
					continue;
				fill_noise(f->in, n, rnd(&seed));
				assert_int_equal(
					run_guarded(f, fn, s, f->in, n, engine_bound(&s, n), f->mid, 0, &job),
					NVME_ACCEL_OK);
				made = job.out_len;
				assert_int_equal(
					run_guarded(f, NULL,
						    stage_of(NVME_ACCEL_OP_DECOMPRESS, fn->alg, 0, 0, 0),
						    f->mid, made, n, f->out, 0, &job),
					NVME_ACCEL_OK);
				assert_int_equal(job.out_len, n);
				assert_memory_equal(f->in, f->out, n);
			}
		}
	}
}

/* The stored form is the least that always works: with that much room nothing may fail. */
static void stored_size_suffices(void **state)
{
	struct fixture *f = *state;
	static const size_t sizes[] = { 1, 100, 65535, 65536, 131070, 131071, 199999 };
	unsigned int i, k, level, chunk;
	struct job job;

	fill_noise(f->in, MAX_N, 4);
	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op != NVME_ACCEL_OP_COMPRESS || fn->alg > NVME_ACCEL_ALG_GZIP)
			continue;
		for (level = 0; level < COMP_LEVELS; level++) {
			for (k = 0; k < 2 * sizeof(sizes) / sizeof(sizes[0]); k++) {
				size_t n = sizes[k / 2], max;
				struct job_stage s;

				chunk = fn->alg == NVME_ACCEL_ALG_DEFLATE ? k & 1 : 0;
				s = stage_of(fn->op, fn->alg, level, 0, chunk);
				max = deflate_stored_len(n, (int)chunk) + wrap_head_len(fn->alg) +
				      wrap_tail_len(fn->alg);
				if (!fn->takes(&s, n))
					continue;
				assert_int_equal(run_guarded(f, fn, s, f->in, n, max, f->mid, 0, &job),
						 NVME_ACCEL_OK);
				assert_int_equal(job.in_used, n);
			}
		}
	}
}

/* A job stopped before it begins, and the thread as good as before. */
static void stop_flag(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	fill_text(f->in, 1000, 1);
	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];
		struct iovec iov[2] = { { f->in, 1000 }, { f->out, MAX_N } };
		struct job job = { .nstage = 1, .in = &iov[0], .nin = 1, .out = &iov[1], .nout = 1,
				   .in_len = 1000, .out_max = MAX_N, .stop = 1 };

		job.stage[0] = stage_of(fn->op, fn->alg, 1, 0, 0);
		engine_run_fn(f->t, fn, &job);
		if (fn->takes(&job.stage[0], 1000))
			assert_int_equal(job.code, NVME_ACCEL_ABORTED);
	}
	/* Within a stage as well: the entries that work in pieces look between them. */
	for (i = 0; i < 2; i++) {
		struct iovec iov[2] = { { f->in, 1000 }, { f->out, MAX_N } };
		struct job job = { .nstage = 1, .in = &iov[0], .nin = 1, .out = &iov[1], .nout = 1,
				   .in_len = 1000, .out_max = MAX_N, .stop = 1 };
		const struct engine_fn *fn = fn_named(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_GZIP,
						      i ? "isal" : "zlib");

		job.stage[0] = stage_of(fn->op, fn->alg, 1, 0, 0);
		fn->run(f->t, &job.stage[0], 0, &job);
		assert_int_equal(job.code, NVME_ACCEL_ABORTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lists),		 cmocka_unit_test(every_room),
		cmocka_unit_test(every_room_back),	 cmocka_unit_test(short_inputs_and_bounds),
		cmocka_unit_test(stored_size_suffices), cmocka_unit_test(stop_flag),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
