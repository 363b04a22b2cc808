// SPDX-License-Identifier: BSD-2-Clause
/* Digests: published values, OpenSSL against plain C, lengths around the blocks, long messages, streams. */
#include "engine_util.h"

static const uint16_t algs[] = {
	NVME_ACCEL_ALG_SHA256, NVME_ACCEL_ALG_SHA512, NVME_ACCEL_ALG_SHA3_256, NVME_ACCEL_ALG_BLAKE2B,
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

static unsigned int len_of(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_SHA512 || alg == NVME_ACCEL_ALG_BLAKE2B ? 64 : 32;
}

static void digest(const struct engine_fn *fn, const struct iovec *in, unsigned int nin, size_t n,
		   uint8_t result[64])
{
	struct job job = { .nstage = 1, .in = in, .nin = nin, .in_len = n };

	job.stage[0].op = fn->op;
	job.stage[0].alg = fn->alg;
	engine_run_fn(t, fn, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, 0);
	assert_int_equal(job.in_used, n);
	assert_int_equal(job.result_len[0], len_of(fn->alg));
	assert_memory_equal(job.result[0], job.long_result[0], 32);
	memcpy(result, job.long_result[0], 64);
}

static void hex(char *text, const uint8_t *p, unsigned int n)
{
	while (n--)
		text += sprintf(text, "%02x", *p++);
}

static void published(void **state)
{
	static const struct { uint16_t alg; const char *msg, *want; } vec[] = {
		{ NVME_ACCEL_ALG_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ NVME_ACCEL_ALG_SHA256, "abc",
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ NVME_ACCEL_ALG_SHA512, "abc",
		  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
		  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
		{ NVME_ACCEL_ALG_SHA3_256, "",
		  "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a" },
		{ NVME_ACCEL_ALG_SHA3_256, "abc",
		  "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532" },
		{ NVME_ACCEL_ALG_BLAKE2B, "abc",
		  "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
		  "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923" },
	};
	const struct engine_fn *fn;
	uint8_t result[64];
	unsigned int v, i;
	char text[129];

	(void)state;
	for (v = 0; v < sizeof(vec) / sizeof(vec[0]); v++)
		for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_DIGEST, vec[v].alg, i)); i++) {
			struct iovec in = { (void *)(uintptr_t)vec[v].msg, strlen(vec[v].msg) };

			digest(fn, &in, 1, in.iov_len, result);
			hex(text, result, len_of(fn->alg));
			assert_string_equal(text, vec[v].want);
		}
}

/* Every length over several blocks, in pieces, some of them empty. */
static void lengths(void **state)
{
	static uint8_t data[700];
	uint8_t want[64], got[64];
	struct iovec whole, pieces[6];
	const struct engine_fn *fn;
	uint64_t seed = 11;
	unsigned int a, i;
	size_t n;

	(void)state;
	eu_fill(data, sizeof(data), 12);
	for (a = 0; a < NALG; a++)
		for (n = 0; n <= sizeof(data); n++) {
			whole = (struct iovec){ data, n };
			digest(eu_oracle(NVME_ACCEL_OP_DIGEST, algs[a]), &whole, 1, n, want);
			for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_DIGEST, algs[a], i)); i++) {
				digest(fn, pieces, eu_cut(pieces, 6, data, n, &seed), n, got);
				assert_memory_equal(got, want, 64);
			}
		}
}

static void no_input_at_all(void **state)
{
	const struct engine_fn *fn;
	uint8_t result[64];
	unsigned int i;
	char text[129];

	(void)state;
	for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, i)); i++) {
		digest(fn, NULL, 0, 0, result);
		hex(text, result, 32);
		assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	}
}

/* 2^29 bytes: the length in bits needs more than 32 bits. The value is sha256sum's for as many zeros. */
static void long_message(void **state)
{
	const size_t n = (size_t)1 << 29;
	uint8_t *zeros = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec in = { zeros, n };
	uint8_t result[64];
	char text[129];

	(void)state;
	assert_true(zeros != MAP_FAILED);
	digest(eu_fn(NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, 0), &in, 1, n, result);
	hex(text, result, 32);
	assert_string_equal(text, "9acca8e8c22201155389f65abbf6bc9723edc7384ead80503839f49dcc56d767");
	munmap(zeros, n);
}

static void streams(void **state)
{
	static uint8_t data[50000];
	uint8_t want[64], got[64];
	struct iovec whole = { data, sizeof(data) };
	struct engine_stream *s;
	unsigned int a, pass;
	size_t off, n, left, out;
	uint64_t seed = 4;
	uint32_t code;

	(void)state;
	eu_fill(data, sizeof(data), 13);
	for (a = 0; a < NALG; a++) {
		digest(eu_fn(NVME_ACCEL_OP_DIGEST, algs[a], 0), &whole, 1, sizeof(data), want);
		s = engine_stream_new(NVME_ACCEL_OP_DIGEST, algs[a], 0, &code);
		assert_non_null(s);
		for (pass = 0; pass < 2; pass++) {
			for (off = 0; off < sizeof(data); off += n) {
				n = eu_rnd(&seed) % 4 ? eu_rnd(&seed) % 700 : 0;	/* update(0) too */
				left = n = BASE_MIN(n, sizeof(data) - off);
				out = 0;
				assert_int_equal(engine_stream_step(s, data + off, &left, NULL, &out, &code),
						 ENGINE_STREAM_MORE);
				assert_int_equal(left, 0);
				if (off == 0)	/* a look in between does not end it */
					engine_stream_result(s, got);
			}
			memset(got, 0, sizeof(got));
			assert_int_equal(engine_stream_result(s, got), len_of(algs[a]));
			assert_memory_equal(got, want, 64);
			engine_stream_reset(s);
		}
		engine_stream_free(s);
	}
	assert_null(engine_stream_new(NVME_ACCEL_OP_DIGEST, 4, 0, &code));
	assert_int_equal(code, NVME_ACCEL_UNSUPPORTED_OP);
	assert_null(engine_stream_new(NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, 1, &code));
	assert_int_equal(code, NVME_ACCEL_BAD_PARAM);
}

static void refused(void **state)
{
	struct iovec iov[2];
	struct job job = eu_job(iov, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, "x", 1, NULL, 0);

	(void)state;
	job.stage[0].arg1 = 1;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	job.stage[0].arg1 = 0;
	job.stage[0].alg = 4;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_UNSUPPORTED_OP);
	job.stage[0].alg = NVME_ACCEL_ALG_SHA256;
	job.stop = 1;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_ABORTED);
	job.stop = 0;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),	cmocka_unit_test(lengths), cmocka_unit_test(no_input_at_all),
		cmocka_unit_test(long_message), cmocka_unit_test(streams), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
