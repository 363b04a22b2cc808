// SPDX-License-Identifier: BSD-2-Clause
/* Checksums: published values, every implementation against the bitwise one, combining, streams. */
#include "engine_util.h"

static const uint16_t algs[] = {
	NVME_ACCEL_ALG_CRC32C, NVME_ACCEL_ALG_CRC32, NVME_ACCEL_ALG_T10DIF, NVME_ACCEL_ALG_CRC64_NVME,
	NVME_ACCEL_ALG_ADLER32,
};
#define NALG (sizeof(algs) / sizeof(algs[0]))

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

static uint64_t start_of(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_ADLER32 ? 1 : 0;
}

static uint64_t sum_fn(const struct engine_fn *fn, const void *p, size_t n, uint64_t start)
{
	struct iovec iov[2];
	struct job job = eu_job(iov, fn->op, fn->alg, p, n, NULL, 0);

	job.stage[0].arg1 = start;
	engine_run_fn(t, fn, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.in_used, n);
	assert_int_equal(job.out_len, 0);
	return le64_get(job.long_result[0]);
}

static uint64_t sum(uint16_t alg, const void *p, size_t n, uint64_t start)
{
	return sum_fn(eu_fn(NVME_ACCEL_OP_CHECKSUM, alg, 0), p, n, start);
}

/* The catalogue values for "123456789", and of the empty message. */
static void published(void **state)
{
	static const uint64_t want[NALG] = {
		0xe3069283, 0xcbf43926, 0xd0db, 0xae8b14860a799888ULL, 0x091e01de,
	};
	const struct engine_fn *fn;
	unsigned int a, i;

	(void)state;
	for (a = 0; a < NALG; a++) {
		for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_CHECKSUM, algs[a], i)); i++) {
			if (fn->takes && !fn->takes(&(struct job_stage){ .op = fn->op, .alg = fn->alg }, 0))
				continue;
			assert_true(sum_fn(fn, "123456789", 9, start_of(algs[a])) == want[a]);
			assert_true(sum_fn(fn, "", 0, start_of(algs[a])) == start_of(algs[a]));
		}
		assert_true(i >= 2);
	}
}

static void lengths_and_alignments(void **state)
{
	static uint8_t data[1024], moved[1024 + 64] __attribute__((aligned(64)));
	const struct engine_fn *fn, *oracle;
	unsigned int a, i, align;
	uint64_t want;
	size_t n;

	(void)state;
	eu_fill(data, sizeof(data), 7);
	for (a = 0; a < NALG; a++) {
		oracle = eu_oracle(NVME_ACCEL_OP_CHECKSUM, algs[a]);
		for (n = 0; n <= 1024; n++) {
			want = sum_fn(oracle, data, n, 0x1234);
			for (i = 0; (fn = eu_fn(oracle->op, algs[a], i)) && fn != oracle; i++) {
				if (!fn->takes(&(struct job_stage){ .op = fn->op, .alg = fn->alg }, n))
					continue;
				for (align = n % 3; align < 64; align += 1 + (n > 256 ? 2 : 0)) {
					memcpy(moved + align, data, n);
					if (sum_fn(fn, moved + align, n, 0x1234) != want)
						fail_msg("%s, algorithm %u, %zu bytes at %u", fn->name, algs[a],
							 n, align);
				}
			}
		}
	}
}

static void scatter_and_continue(void **state)
{
	static uint8_t data[70000];
	struct iovec pieces[9], iov[2];
	uint64_t seed = 99, want, part;
	unsigned int a, round;
	size_t n, cut;
	struct job job;

	(void)state;
	eu_fill(data, sizeof(data), 8);
	for (a = 0; a < NALG; a++)
		for (round = 0; round < 40; round++) {
			n = eu_rnd(&seed) % sizeof(data);
			cut = n ? eu_rnd(&seed) % n : 0;
			want = sum_fn(eu_oracle(NVME_ACCEL_OP_CHECKSUM, algs[a]), data, n, start_of(algs[a]));
			part = sum(algs[a], data, cut, start_of(algs[a]));
			assert_true(sum(algs[a], data + cut, n - cut, part) == want);
			job = eu_job(iov, NVME_ACCEL_OP_CHECKSUM, algs[a], data, n, NULL, 0);
			job.stage[0].arg1 = start_of(algs[a]);
			job.in = pieces;
			job.nin = eu_cut(pieces, 9, data, n, &seed);
			engine_run(t, &job);
			assert_true(job.code == NVME_ACCEL_OK && le64_get(job.long_result[0]) == want);
		}
}

static uint64_t combine(uint16_t alg, uint64_t a, uint64_t b, uint64_t len2)
{
	switch (alg) {
	case NVME_ACCEL_ALG_CRC32C:
		return engine_crc32c_combine((uint32_t)a, (uint32_t)b, len2);
	case NVME_ACCEL_ALG_CRC32:
		return engine_crc32_combine((uint32_t)a, (uint32_t)b, len2);
	case NVME_ACCEL_ALG_T10DIF:
		return engine_t10dif_combine((uint16_t)a, (uint16_t)b, len2);
	case NVME_ACCEL_ALG_CRC64_NVME:
		return engine_crc64nvme_combine(a, b, len2);
	default:
		return engine_adler32_combine((uint32_t)a, (uint32_t)b, len2);
	}
}

static void combining(void **state)
{
	static uint8_t data[200000];
	uint64_t seed = 5, start;
	unsigned int a, round;
	size_t n, cut;

	(void)state;
	eu_fill(data, sizeof(data), 9);
	memset(data, 0xff, 100000);	/* Adler's sums come close to their modulus */
	for (a = 0; a < NALG; a++)
		for (round = 0; round < 200; round++) {
			n = eu_rnd(&seed) % sizeof(data);
			cut = round % 10 == 0 ? 0 : round % 10 == 1 ? n : eu_rnd(&seed) % (n + 1);
			start = start_of(algs[a]);
			assert_true(combine(algs[a], sum(algs[a], data, cut, start),
					    sum(algs[a], data + cut, n - cut, start), n - cut) ==
				    sum(algs[a], data, n, start));
		}
}

/* One element of more than 2^31 bytes: a length that some libraries take as a negative int. */
static void more_than_two_gigabytes(void **state)
{
	const size_t n = ((size_t)1 << 31) + 17, mega = (size_t)1 << 20;
	uint8_t *zeros = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t want, part;
	unsigned int a, i;

	(void)state;
	assert_true(zeros != MAP_FAILED);
	for (a = 0; a < NALG; a++) {
		want = sum(algs[a], zeros, mega, start_of(algs[a]));
		for (i = 20; i < 31; i++)
			want = combine(algs[a], want, want, (uint64_t)1 << i);
		part = sum(algs[a], zeros, 17, start_of(algs[a]));
		want = combine(algs[a], want, part, 17);
		assert_true(sum(algs[a], zeros, n, start_of(algs[a])) == want);
	}
	munmap(zeros, n);
}

static void refused(void **state)
{
	static const struct { uint16_t alg; uint64_t arg1; } bad[] = {
		{ NVME_ACCEL_ALG_CRC32C, 1ULL << 32 },	{ NVME_ACCEL_ALG_CRC32, 1ULL << 32 },
		{ NVME_ACCEL_ALG_T10DIF, 0x10000 },	{ NVME_ACCEL_ALG_ADLER32, 65521 },
		{ NVME_ACCEL_ALG_ADLER32, 65521u << 16 }, { NVME_ACCEL_ALG_ADLER32, 1ULL << 32 },
	};
	struct iovec iov[2];
	unsigned int i;
	struct job job;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		job = eu_job(iov, NVME_ACCEL_OP_CHECKSUM, bad[i].alg, "x", 1, NULL, 0);
		job.stage[0].arg1 = bad[i].arg1;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
		assert_int_equal(job.result_len[0], 0);
	}
	job = eu_job(iov, NVME_ACCEL_OP_CHECKSUM, 5, "x", 1, NULL, 0);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_UNSUPPORTED_OP);
	job = eu_job(iov, NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_CRC32C, "x", 1, NULL, 0);
	job.stage[0].object = 3;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_OBJECT);
}

static void streams(void **state)
{
	static uint8_t data[100000];
	struct engine_stream *s;
	uint8_t result[64];
	unsigned int a, pass;
	size_t off, n, out;
	uint64_t seed = 3;
	uint32_t code;

	(void)state;
	eu_fill(data, sizeof(data), 10);
	for (a = 0; a < NALG; a++) {
		s = engine_stream_new(NVME_ACCEL_OP_CHECKSUM, algs[a], start_of(algs[a]), &code);
		assert_non_null(s);
		for (pass = 0; pass < 2; pass++) {
			for (off = 0; off < sizeof(data); off += n) {
				size_t left;

				n = eu_rnd(&seed) % 4 ? eu_rnd(&seed) % 5000 : 0;
				n = BASE_MIN(n, sizeof(data) - off);
				left = n;
				out = 0;
				assert_int_equal(engine_stream_step(s, data + off, &left, NULL, &out, &code),
						 ENGINE_STREAM_MORE);
				assert_int_equal(left, 0);
			}
			memset(result, 0, sizeof(result));
			assert_true(engine_stream_result(s, result) >= 2);
			assert_true(le64_get(result) == sum(algs[a], data, sizeof(data), start_of(algs[a])));
			engine_stream_reset(s);
		}
		engine_stream_free(s);
	}
	assert_null(engine_stream_new(NVME_ACCEL_OP_CHECKSUM, 77, 0, &code));
	assert_int_equal(code, NVME_ACCEL_UNSUPPORTED_OP);
	assert_null(engine_stream_new(NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_CRC32, 1ULL << 40, &code));
	assert_int_equal(code, NVME_ACCEL_BAD_PARAM);
	assert_null(engine_stream_new(NVME_ACCEL_OP_ENCRYPT, 1, 0, &code));
	assert_int_equal(code, NVME_ACCEL_UNSUPPORTED_OP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),	    cmocka_unit_test(lengths_and_alignments),
		cmocka_unit_test(scatter_and_continue), cmocka_unit_test(combining),
		cmocka_unit_test(more_than_two_gigabytes), cmocka_unit_test(refused),
		cmocka_unit_test(streams),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
