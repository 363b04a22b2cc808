// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine as a whole: the table of operations, bounds, data movement, two threads at once, and memory
 * that runs out at every place where any is asked for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include "engine_util.h"

/*
 * Memory that can run out: this program's own malloc and its kin stand before the C library's, for the
 * engine and for the libraries under it alike.
 */
static _Thread_local long fail_at;	/* the allocation that fails, counted from 1; 0: none */
static _Thread_local long nalloc;

static int runs_out(void)
{
	nalloc++;
	if (nalloc != fail_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

/* dlsym() may itself allocate before it has found anything. */
static char early[4096] __attribute__((aligned(64)));
static size_t early_used;

static void *early_alloc(size_t n)
{
	char *p = early + early_used;

	early_used += (n + 63) & ~(size_t)63;
	return early_used <= sizeof(early) ? p : NULL;
}

static int is_early(const void *p)
{
	return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

#define NEXT(type, name)                                                                                     \
	static type next;                                                                                    \
	static int looking;                                                                                  \
	if (!next && !looking) {                                                                             \
		looking = 1;                                                                                 \
		next = (type)dlsym(RTLD_NEXT, name);                                                         \
		looking = 0;                                                                                 \
	}

/*
 * Seen by the libraries too, whatever the build makes of visibility. AddressSanitizer wants to be the first
 * to be asked for memory, so there only the engine's own allocations fail.
 */
#ifdef __SANITIZE_ADDRESS__
#pragma GCC visibility push(hidden)
#else
#pragma GCC visibility push(default)
#endif

typedef void *(*malloc_fn)(size_t);
typedef void *(*two_fn)(size_t, size_t);
typedef void *(*realloc_fn)(void *, size_t);
typedef int (*posix_fn)(void **, size_t, size_t);
typedef void (*free_fn)(void *);

void *malloc(size_t n)
{
	NEXT(malloc_fn, "malloc")
	return !next ? early_alloc(n) : runs_out() ? NULL : next(n);
}

void *calloc(size_t a, size_t b)
{
	NEXT(two_fn, "calloc")
	return !next ? early_alloc(a * b) : runs_out() ? NULL : next(a, b);
}

void *realloc(void *p, size_t n)
{
	NEXT(realloc_fn, "realloc")
	return !next || is_early(p) ? NULL : runs_out() ? NULL : next(p, n);
}

void *aligned_alloc(size_t a, size_t n)
{
	NEXT(two_fn, "aligned_alloc")
	return !next ? NULL : runs_out() ? NULL : next(a, n);
}

int posix_memalign(void **p, size_t a, size_t n)
{
	NEXT(posix_fn, "posix_memalign")
	return !next || runs_out() ? ENOMEM : next(p, a, n);
}

void free(void *p)
{
	NEXT(free_fn, "free")
	if (next && !is_early(p))
		next(p);
}

#pragma GCC visibility pop

static struct engine_thread *t;

static int setup(void **state)
{
	(void)state;
	t = engine_thread_new();
	return t ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	engine_thread_free(t);
	return 0;
}

static void table_of_operations(void **state)
{
	struct wire_op ops[NVME_ACCEL_MAX_OPS], few[3];
	unsigned int i, j, n = engine_ops(ops, NVME_ACCEL_MAX_OPS);
	const struct engine_fn *fn;

	(void)state;
	assert_true(n > 30 && n <= NVME_ACCEL_MAX_OPS);
	assert_int_equal(engine_ops(few, 3), 3);
	assert_memory_equal(few, ops, sizeof(few));
	for (i = 0; i < n; i++) {
		assert_non_null(eu_fn(ops[i].op, ops[i].alg, 0));
		assert_non_null(wire_op_name(ops[i].op));
		assert_true(ops[i].flags & NVME_ACCEL_OPF_ALONE);
		assert_true(ops[i].est_mbps > 0 && ops[i].est_overhead_ns > 0);
		assert_true(ops[i].granule && ops[i].align);
		for (j = 0; j < i; j++)
			assert_true(ops[i].op != ops[j].op || ops[i].alg != ops[j].alg);
	}
	for (j = 0; (fn = engine_fn_at(j)); j++) {
		for (i = 0; i < n && (ops[i].op != fn->op || ops[i].alg != fn->alg); i++)
			;
		if (i == n)
			fail_msg("operation %u, algorithm %u by %s is in no entry", fn->op, fn->alg, fn->name);
	}
	assert_null(engine_fn_at(10000));
}

static void bounds(void **state)
{
	struct job_stage s = { .op = NVME_ACCEL_OP_ENCRYPT, .alg = NVME_ACCEL_ALG_AES_GCM };

	(void)state;
	assert_int_equal(engine_bound(&s, 1000), 1000);
	s = (struct job_stage){ .op = NVME_ACCEL_OP_EC_ENCODE, .alg = 1, .arg0 = 10 | 4 << 8, .arg1 = 100 };
	assert_int_equal(engine_bound(&s, 1000), 400);
	s.op = NVME_ACCEL_OP_EC_DECODE;
	s.arg0 |= 2 << 16;
	assert_int_equal(engine_bound(&s, 1000), 200);
	s = (struct job_stage){ .op = NVME_ACCEL_OP_DIGEST, .alg = 1 };
	assert_int_equal(engine_bound(&s, 1000), 0);
	s = (struct job_stage){ .op = NVME_ACCEL_OP_COPY };
	assert_int_equal(engine_bound(&s, 1000), 1000);
	s = (struct job_stage){ .op = NVME_ACCEL_OP_DECOMPRESS, .alg = NVME_ACCEL_ALG_GZIP };
	assert_true(engine_bound(&s, 1000) == UINT64_MAX);
	s = (struct job_stage){ .op = 500 };
	assert_int_equal(engine_bound(&s, 1000), 0);
}

static void copy(void **state)
{
	uint8_t in[3000], out[3000 + 1];
	struct iovec a[9], b[9];
	uint64_t seed = 6;
	unsigned int round;
	struct job job = { .nstage = 1, .in = a, .out = b };

	(void)state;
	eu_fill(in, sizeof(in), 2);
	job.stage[0].op = NVME_ACCEL_OP_COPY;
	for (round = 0; round < 200; round++) {
		size_t n = eu_rnd(&seed) % 3001;

		memset(out, 0xa5, sizeof(out));
		job.nin = eu_cut(a, 9, in, n, &seed);
		job.nout = eu_cut(b, 9, out, sizeof(out), &seed);
		job.in_len = n;
		job.out_max = n;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(job.out_len, n);
		assert_memory_equal(in, out, n);
		assert_int_equal(out[n], 0xa5);
		if (n) {
			job.out_max = n - 1;
			engine_run(t, &job);
			assert_int_equal(job.code, NVME_ACCEL_OUTPUT_SHORT);
			assert_int_equal(job.out_needed, n);
		}
	}
}

static void fill(void **state)
{
	const uint64_t pattern = 0x8877665544332211ULL;
	uint8_t out[3000 + 1];
	struct iovec b[9];
	uint64_t seed = 7;
	unsigned int round;
	struct job job = { .nstage = 1, .out = b };
	size_t i, n;

	(void)state;
	job.stage[0].op = NVME_ACCEL_OP_FILL;
	job.stage[0].arg1 = pattern;
	for (round = 0; round < 200; round++) {
		n = eu_rnd(&seed) % 3001;
		memset(out, 0xa5, sizeof(out));
		job.nout = eu_cut(b, 9, out, sizeof(out), &seed);
		job.out_max = n;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(job.out_len, n);
		for (i = 0; i < n; i++)
			assert_int_equal(out[i], 0x11 * (1 + i % 8));
		assert_int_equal(out[n], 0xa5);
	}
	job.in = b;
	job.nin = job.nout;
	job.in_len = 1;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
}

static void compare(void **state)
{
	uint8_t both[2 * 1500];
	struct iovec a[9];
	uint64_t seed = 8;
	unsigned int round;
	struct job job = { .nstage = 1, .in = a };

	(void)state;
	job.stage[0].op = NVME_ACCEL_OP_COMPARE;
	for (round = 0; round < 300; round++) {
		size_t n = eu_rnd(&seed) % 1501, at = n ? eu_rnd(&seed) % n : 0;

		eu_fill(both, n, 3);
		memcpy(both + n, both, n);
		job.nin = eu_cut(a, 9, both, 2 * n, &seed);
		job.in_len = 2 * n;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_true(job.retval == UINT64_MAX);
		if (!n)
			continue;
		both[n + at] ^= 1 << round % 8;
		if (at + 1 < n)
			both[n - 1] ^= 1;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(job.retval, at);
		assert_int_equal(job.out_len, 0);
	}
	job.in_len = 1;
	job.in = &(struct iovec){ both, 1 };
	job.nin = 1;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
}

/* A stage of any kind but compression that n bytes suit; the bytes that come out are returned. */
static size_t any_stage(const struct engine_fn *fn, struct job_stage *s, uint8_t param[256], size_t n)
{
	struct wire_cipher c = { .key = param + 128, .iv = param + 192, .key_len = 32, .iv_len = 12, .tag_len = 16 };

	*s = (struct job_stage){ .op = fn->op, .alg = fn->alg, .param = param };
	switch (fn->op) {
	case NVME_ACCEL_OP_ENCRYPT:
		eu_fill(param, 256, 3);
		if (fn->alg == NVME_ACCEL_ALG_AES_XTS)
			c.key_len = 64, c.iv_len = 16, c.tag_len = 0;
		if (fn->alg == NVME_ACCEL_ALG_AES_CTR)
			c.iv_len = 16, c.tag_len = 0;
		s->param_len = (uint32_t)wire_cipher_encode(&c, 0, param, 128);
		return n;
	case NVME_ACCEL_OP_EC_ENCODE:
		s->arg0 = 1 | (fn->alg == NVME_ACCEL_ALG_XOR ? 1 : 2) << 8;
		s->arg1 = n;
		if (fn->alg == NVME_ACCEL_ALG_MATRIX)
			param[0] = param[1] = 5, s->param_len = 2;
		return n * (s->arg0 >> 8);
	case NVME_ACCEL_OP_COPY:
		return n;
	default:
		return 0;
	}
}

/* Every entry, its input and output against pages that are not there, in front and behind. */
static void guard_pages(void **state)
{
	static const size_t sizes[] = { 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 523, 4095, 4096, 4097 };
	const struct engine_fn *fn;
	unsigned int i, k, ends, runs = 0;

	(void)state;
	for (i = 0; (fn = engine_fn_at(i)); i++) {
		if (fn->op != NVME_ACCEL_OP_ENCRYPT && fn->op != NVME_ACCEL_OP_DIGEST &&
		    fn->op != NVME_ACCEL_OP_CHECKSUM && fn->op != NVME_ACCEL_OP_EC_ENCODE &&
		    fn->op != NVME_ACCEL_OP_COPY)
			continue;
		for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			for (ends = 0; ends < 4; ends++) {
				uint8_t param[256] = { 0 }, *in, *out;
				struct eu_guard g[2];
				struct iovec iov[2];
				struct job_stage s;
				struct job job;
				size_t max = any_stage(fn, &s, param, sizes[k]);

				in = eu_guard_new(&g[0], sizes[k], ends & 1);
				out = eu_guard_new(&g[1], max, ends >> 1);
				memset(in, 0x5c, sizes[k]);
				job = eu_job(iov, fn->op, fn->alg, in, sizes[k], out, max);
				job.stage[0] = s;
				engine_run_fn(t, fn, &job);
				if (job.code != NVME_ACCEL_OK || job.out_len != max)
					fail_msg("%u %u %s: code %u", fn->op, fn->alg, fn->name, job.code);
				eu_guard_free(&g[0]);
				eu_guard_free(&g[1]);
				runs++;
			}
	}
	assert_true(runs > 30 * 14 * 4);
}

/* A mixture that touches every family; returns how many jobs failed or gave another result than want. */
#define NMIX 10u
static const uint8_t key_param[8 + 32 + 12] = { 32, 12, 16 };

static struct job mix_job(unsigned int i, struct iovec *iov, const uint8_t *in, size_t n, uint8_t *out,
			  size_t max)
{
	struct job job = eu_job(iov, NVME_ACCEL_OP_COPY, 0, in, n, out, max);
	struct job_stage *s = job.stage;

	switch (i) {
	case 0:
		s->op = NVME_ACCEL_OP_COMPRESS, s->alg = NVME_ACCEL_ALG_GZIP, s->arg0 = 6;
		job.flags = NVME_ACCEL_JOB_VERIFY;
		break;
	case 1:
		s->op = NVME_ACCEL_OP_COMPRESS, s->alg = NVME_ACCEL_ALG_ZSTD, s->arg0 = 1;
		job.flags = NVME_ACCEL_JOB_VERIFY;
		break;
	case 2:
		s->op = NVME_ACCEL_OP_COMPRESS, s->alg = NVME_ACCEL_ALG_LZ4F, s->arg0 = 1;
		s[1].op = NVME_ACCEL_OP_DECOMPRESS, s[1].alg = NVME_ACCEL_ALG_LZ4F;
		job.nstage = 2;
		break;
	case 3:
	case 4:
		s->op = NVME_ACCEL_OP_DIGEST, s->alg = i == 3 ? NVME_ACCEL_ALG_SHA256 : NVME_ACCEL_ALG_BLAKE2B;
		break;
	case 5:
		s->op = NVME_ACCEL_OP_CHECKSUM, s->alg = NVME_ACCEL_ALG_CRC64_NVME;
		break;
	case 6:
		s->op = NVME_ACCEL_OP_ENCRYPT, s->alg = NVME_ACCEL_ALG_AES_GCM;
		s->param = key_param, s->param_len = sizeof(key_param);
		break;
	case 7:
		s->op = NVME_ACCEL_OP_COMPRESS, s->alg = NVME_ACCEL_ALG_DEFLATE, s->arg0 = 1;
		s[1].op = NVME_ACCEL_OP_ENCRYPT, s[1].alg = NVME_ACCEL_ALG_AES_GCM;
		s[1].param = key_param, s[1].param_len = sizeof(key_param);
		s[2].op = NVME_ACCEL_OP_DIGEST, s[2].alg = NVME_ACCEL_ALG_SHA512;
		job.nstage = 3;
		break;
	case 8:
		s->op = NVME_ACCEL_OP_EC_ENCODE, s->alg = NVME_ACCEL_ALG_RS_CAUCHY;
		s->arg0 = 4 | 2 << 8, s->arg1 = n / 4;
		job.in_len = n / 4 * 4;
		break;
	default:
		break;
	}
	return job;
}

static int same_outcome(const struct job *a, const struct job *b)
{
	return a->code == b->code && a->out_len == b->out_len && a->sflags == b->sflags &&
	       !memcmp(a->long_result, b->long_result, sizeof(a->long_result)) &&
	       !memcmp(a->out[0].iov_base, b->out[0].iov_base, a->out_len);
}

#define MIX_N 50000u

struct worker {
	pthread_t id;
	const uint8_t *in;
	uint8_t *out;
	struct job want[NMIX];
	unsigned int rounds, bad;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct engine_thread *own = engine_thread_new();
	struct iovec iov[2];
	unsigned int i, r;
	struct job job;

	for (r = 0; own && r < w->rounds; r++)
		for (i = 0; i < NMIX; i++) {
			job = mix_job(i, iov, w->in, MIX_N, w->out, 2 * MIX_N);
			engine_run(own, &job);
			w->bad += !same_outcome(&job, &w->want[i]);
		}
	w->bad += !own;
	engine_thread_free(own);
	return NULL;
}

static void two_threads(void **state)
{
	static uint8_t in[MIX_N], out[2][2 * MIX_N], want[NMIX][2 * MIX_N];
	static struct iovec iov[NMIX][2];
	static struct worker w[2];
	unsigned int i;

	(void)state;
	for (i = 0; i < MIX_N; i++)
		in[i] = (uint8_t)("abcdefgh"[i * i % 8] + i / 3000);
	for (i = 0; i < NMIX; i++) {
		w[0].want[i] = mix_job(i, iov[i], in, MIX_N, want[i], 2 * MIX_N);
		engine_run(t, &w[0].want[i]);
		assert_int_equal(w[0].want[i].code, NVME_ACCEL_OK);
	}
	w[0].rounds = 20;
	w[0].in = in;
	w[1] = w[0];
	for (i = 0; i < 2; i++) {
		w[i].out = out[i];
		assert_int_equal(pthread_create(&w[i].id, NULL, work, &w[i]), 0);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(w[i].id, NULL);
		assert_int_equal(w[i].bad, 0);
	}
}

/*
 * For each job of the mixture the first, second, third... allocation fails: the job says that memory was
 * short, never that all is well with a wrong result, and the same thread does it right the next time.
 */
static void memory_runs_out(void **state)
{
	static uint8_t in[MIX_N], out[2 * MIX_N], want[2 * MIX_N];
	struct iovec iov[2], iov2[2];
	struct engine_thread *own;
	struct job job, good;
	unsigned int i;
	long n, failures;

	(void)state;
	eu_fill(in, MIX_N, 5);
	memset(in + 100, 'x', MIX_N / 2);
	for (i = 0; i < NMIX; i++) {
		good = mix_job(i, iov2, in, MIX_N, want, sizeof(want));
		engine_run(t, &good);
		assert_int_equal(good.code, NVME_ACCEL_OK);
		for (n = 1, failures = 0;; n++) {
			nalloc = 0;
			fail_at = n;
			own = engine_thread_new();
			job = mix_job(i, iov, in, MIX_N, out, sizeof(out));
			if (own)
				engine_run(own, &job);
			fail_at = 0;
			if (nalloc < n) {	/* there were not so many */
				assert_non_null(own);
				assert_true(same_outcome(&job, &good));
				engine_thread_free(own);
				break;
			}
			failures++;
			if (!own)
				continue;
			/* A library may do without the memory, but then the result has to be right. */
			if (job.code == NVME_ACCEL_OK)
				assert_true(same_outcome(&job, &good));
			else if (!(NVME_ACCEL_RETRY_MASK >> job.code & 1))
				fail_msg("job %u, allocation %ld: code %u", i, n, job.code);
			job = mix_job(i, iov, in, MIX_N, out, sizeof(out));
			engine_run(own, &job);
			assert_true(same_outcome(&job, &good));
			engine_thread_free(own);
		}
		printf("# job %u: %ld allocations failed in turn\n", i, failures);
		assert_true(failures > 0 && n < 10000);
	}
}

/* A stop from another thread ends a long job. */
static void *stopper(void *arg)
{
	struct job *job = arg;

	usleep(2000);
	__atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void stop_from_elsewhere(void **state)
{
	static const struct { uint16_t op, alg; } kinds[] = {
		{ NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA3_256 }, { NVME_ACCEL_OP_CHECKSUM, 1 },
	};
	const size_t n = (size_t)1 << 32;
	uint8_t *zeros = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec iov[2];
	unsigned int i;
	pthread_t id;
	struct job job;

	(void)state;
	assert_true(zeros != MAP_FAILED);
	for (i = 0; i < 2; i++) {
		job = eu_job(iov, kinds[i].op, kinds[i].alg, zeros, n, NULL, 0);
		assert_int_equal(pthread_create(&id, NULL, stopper, &job), 0);
		engine_run(t, &job);
		pthread_join(id, NULL);
		assert_int_equal(job.code, NVME_ACCEL_ABORTED);
		assert_int_equal(job.result_len[0], 0);
	}
	munmap(zeros, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_of_operations), cmocka_unit_test(bounds),
		cmocka_unit_test(copy),		       cmocka_unit_test(fill),
		cmocka_unit_test(compare),	       cmocka_unit_test(guard_pages),
		cmocka_unit_test(two_threads),
		cmocka_unit_test(memory_runs_out),     cmocka_unit_test(stop_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
