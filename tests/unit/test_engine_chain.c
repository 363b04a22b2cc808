// SPDX-License-Identifier: BSD-2-Clause
/* Chains of stages, and what the flags of a job want around them: checksums, VERIFY, STORE_IF_LARGER. */
#include "engine_util.h"

#define N 60000u

static struct engine_thread *t;
static uint8_t text[N], noise[N];

static int setup(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N; i++)
		text[i] = (uint8_t)"the quick brown fox jumps over "[(i * i / 64 + i) % 31];
	eu_fill(noise, N, 42);
	t = engine_thread_new();
	return t ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	engine_thread_free(t);
	return 0;
}

static struct job_stage st(uint16_t op, uint16_t alg)
{
	struct job_stage s = { .op = op, .alg = alg };

	if (op == NVME_ACCEL_OP_COMPRESS)
		s.arg0 = 1;
	return s;
}

#define COMPRESS st(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_GZIP)
#define DECOMPRESS st(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP)
#define SHA256 st(NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256)
#define SHA512 st(NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA512)
#define CRC32C st(NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_CRC32C)
#define COPY st(NVME_ACCEL_OP_COPY, 0)

/* AES-256-GCM by a fixed key; tag: that of an encryption, to open it. */
static struct job_stage gcm(const uint8_t *tag, uint8_t param[128])
{
	static const uint8_t key[32] = { 7 }, iv[12] = { 9 };
	struct wire_cipher c = { .key = key, .iv = iv, .tag = tag, .key_len = 32, .iv_len = 12, .tag_len = 16 };
	struct job_stage s = st(tag ? NVME_ACCEL_OP_DECRYPT : NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM);

	s.param = param;
	s.param_len = (uint32_t)wire_cipher_encode(&c, tag != NULL, param, 128);
	return s;
}

/* A job of the stages given; the lists are static, one job at a time. */
static struct job chain(uint32_t flags, const void *in, size_t n, void *out, size_t max, unsigned int nstage,
			struct job_stage a, struct job_stage b, struct job_stage c, struct job_stage d)
{
	static struct iovec iov[2];
	struct job job = eu_job(iov, 0, 0, in, n, out, max), before;

	job.flags = flags;
	job.nstage = nstage;
	job.stage[0] = a;
	job.stage[1] = b;
	job.stage[2] = c;
	job.stage[3] = d;
	before = job;
	engine_run(t, &job);
	/* The request comes back as it went in. */
	assert_true(job.in == before.in && job.nin == before.nin && job.in_len == before.in_len);
	assert_true(job.out == before.out && job.nout == before.nout && job.out_max == before.out_max);
	assert_true(job.nstage == before.nstage && job.flags == before.flags);
	return job;
}

static const struct job_stage none;

#define CHAIN1(f, in, n, out, max, a) chain(f, in, n, out, max, 1, a, none, none, none)
#define CHAIN2(f, in, n, out, max, a, b) chain(f, in, n, out, max, 2, a, b, none, none)
#define CHAIN3(f, in, n, out, max, a, b, c) chain(f, in, n, out, max, 3, a, b, c, none)

static void sha256_is(const struct job *job, unsigned int stage, const void *p, size_t n)
{
	static struct iovec iov[2];
	struct job one = eu_job(iov, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, p, n, NULL, 0);

	engine_run(t, &one);
	assert_int_equal(one.code, NVME_ACCEL_OK);
	assert_int_equal(job->result_len[stage], 32);
	assert_memory_equal(job->result[stage], one.result[0], 32);
}

static uint32_t crc32c(const void *p, size_t n)
{
	return base_crc32c(0, p, n);
}

static void digest_at_its_place(void **state)
{
	uint8_t out[N + 1000], back[N];
	struct job job;

	(void)state;
	job = chain(0, text, N, out, sizeof(out), 4, SHA256, COMPRESS, SHA256, CRC32C);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_true(job.out_len > 0 && job.out_len < N);
	assert_int_equal(job.in_used, N);
	sha256_is(&job, 0, text, N);
	assert_int_equal(job.result_len[1], 0);
	sha256_is(&job, 2, out, job.out_len);
	assert_int_equal(le32_get(job.result[3]), crc32c(out, job.out_len));
	job = CHAIN3(0, out, job.out_len, back, N, CRC32C, DECOMPRESS, SHA256);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, N);
	assert_memory_equal(back, text, N);
	sha256_is(&job, 2, text, N);
}

static void nothing_but_digests(void **state)
{
	struct job job;

	(void)state;
	job = CHAIN3(NVME_ACCEL_JOB_OUT_CRC, text, N, NULL, 0, SHA256, CRC32C, SHA512);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, 0);
	assert_int_equal(job.out_crc, 0);
	assert_int_equal(job.in_used, N);
	sha256_is(&job, 0, text, N);
	assert_int_equal(le32_get(job.result[1]), crc32c(text, N));
	assert_int_equal(job.result_len[2], 64);
	assert_memory_equal(job.result[2], job.long_result[2], 32);
}

static void through_a_cipher_and_back(void **state)
{
	uint8_t sealed[N], back[N], param[128], param2[128], tag[16];
	uint64_t n;
	struct job job;

	(void)state;
	job = chain(0, text, N, sealed, N, 4, SHA256, COMPRESS, gcm(NULL, param), CRC32C);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.result_len[2], 16);
	assert_int_equal(le32_get(job.result[3]), crc32c(sealed, job.out_len));
	memcpy(tag, job.result[2], 16);
	n = job.out_len;
	job = CHAIN3(NVME_ACCEL_JOB_OUT_CRC, sealed, n, back, N, gcm(tag, param2), DECOMPRESS, SHA256);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, N);
	assert_memory_equal(back, text, N);
	sha256_is(&job, 2, text, N);
	assert_true(job.sflags & NVME_ACCEL_SF_OUT_CRC);
	assert_int_equal(job.out_crc, crc32c(text, N));
	/* A wrong tag: nothing comes out, no later stage has a result. */
	tag[15] ^= 1;
	memset(back, 0xa5, N);
	job = CHAIN3(NVME_ACCEL_JOB_OUT_CRC, sealed, n, back, N, gcm(tag, param2), DECOMPRESS, SHA256);
	assert_int_equal(job.code, NVME_ACCEL_AUTH_FAILED);
	assert_int_equal(job.fail_stage, 0);
	assert_int_equal(job.out_len, 0);
	assert_int_equal(job.result_len[2], 0);
	assert_int_equal(job.sflags & NVME_ACCEL_SF_OUTPUT_VALID, 0);
	assert_true(back[0] == 0xa5 && !memcmp(back, back + 1, N - 1));
	/* And when the decryption is the last to write. */
	job = CHAIN3(0, sealed, n, back, N, CRC32C, gcm(tag, param2), SHA256);
	assert_int_equal(job.code, NVME_ACCEL_AUTH_FAILED);
	assert_int_equal(job.fail_stage, 1);
	assert_int_equal(job.result_len[2], 0);
	assert_true(back[0] == 0xa5 && !memcmp(back, back + 1, N - 1));
}

/* The chain's middle takes what decompresses to far more than it was. */
static void middle_grows(void **state)
{
	const size_t n = 3 << 20;
	uint8_t *zeros = calloc(1, n), *out = malloc(n), small[20000], param[128];
	struct job job;

	(void)state;
	assert_true(zeros && out);
	job = CHAIN1(0, zeros, n, small, sizeof(small), COMPRESS);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_true(job.out_len * 100 < n);
	job = CHAIN3(0, small, job.out_len, out, n, DECOMPRESS, SHA256, COPY);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, n);
	assert_int_equal(memcmp(out, zeros, n), 0);
	sha256_is(&job, 1, zeros, n);
	/* One byte less than it wants. */
	job = CHAIN1(0, zeros, n, small, sizeof(small), COMPRESS);
	job = CHAIN2(0, small, job.out_len, out, n - 1, DECOMPRESS, gcm(NULL, param));
	assert_int_equal(job.code, NVME_ACCEL_OUTPUT_SHORT);
	assert_int_equal(job.out_len, 0);
	assert_true(job.out_needed == n || !(job.sflags & NVME_ACCEL_SF_NEEDED_EXACT));
	free(zeros);
	free(out);
}

static void short_at_the_end(void **state)
{
	uint8_t out[N], param[128];
	struct job job;

	(void)state;
	job = CHAIN2(0, text, N, out, N - 1, COPY, gcm(NULL, param));
	assert_int_equal(job.code, NVME_ACCEL_OUTPUT_SHORT);
	assert_int_equal(job.fail_stage, 1);
	assert_int_equal(job.out_needed, N);
	assert_true(job.sflags & NVME_ACCEL_SF_NEEDED_EXACT);
}

static void trailing_bytes(void **state)
{
	uint8_t gz[N], back[N];
	struct job_stage d = DECOMPRESS;
	struct job job;
	uint64_t n;

	(void)state;
	job = CHAIN1(0, text, N, gz, N, COMPRESS);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	n = job.out_len;
	memset(gz + n, 0x55, 9);
	d.flags = NVME_ACCEL_STAGE_TRAILING;
	job = CHAIN3(0, gz, n + 9, back, N, CRC32C, d, CRC32C);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.in_used, n);
	assert_int_equal(le32_get(job.result[0]), crc32c(gz, n + 9));
	assert_int_equal(le32_get(job.result[2]), crc32c(text, N));
}

static void to_erasure_coding(void **state)
{
	uint8_t sealed[600], parity[200], want[200], param[128], param2[128];
	struct job_stage ec = st(NVME_ACCEL_OP_EC_ENCODE, NVME_ACCEL_ALG_RS_CAUCHY);
	struct job job;

	(void)state;
	ec.arg0 = 6 | 2 << 8;
	ec.arg1 = 100;
	job = CHAIN2(0, text, 600, parity, 200, gcm(NULL, param), ec);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, 200);
	assert_int_equal(CHAIN1(0, text, 600, sealed, 600, gcm(NULL, param2)).code, NVME_ACCEL_OK);
	assert_int_equal(CHAIN1(0, sealed, 600, want, 200, ec).code, NVME_ACCEL_OK);
	assert_memory_equal(parity, want, 200);
}

static void refused(void **state)
{
	uint8_t out[N];
	struct job_stage bad = st(NVME_ACCEL_OP_CHECKSUM, 55), obj = SHA256;
	struct iovec iov[2];
	struct job job;

	(void)state;
	job = CHAIN2(0, text, N, out, N, COPY, st(NVME_ACCEL_OP_FILL, 0));
	assert_true(job.code == NVME_ACCEL_BAD_PARAM && job.fail_stage == 1);
	job = CHAIN2(0, text, N, out, N, st(NVME_ACCEL_OP_COMPARE, 0), COPY);
	assert_true(job.code == NVME_ACCEL_BAD_PARAM && job.fail_stage == 0);
	job = CHAIN3(0, text, N, out, N, COPY, CRC32C, bad);
	assert_true(job.code == NVME_ACCEL_UNSUPPORTED_OP && job.fail_stage == 2 && job.out_len == 0);
	job = CHAIN2(0, text, N, out, N, COPY, st(NVME_ACCEL_OP_PROGRAM, 1));
	assert_true(job.code == NVME_ACCEL_UNSUPPORTED_OP && job.fail_stage == 1);
	job = CHAIN2(0, text, N, out, N, COPY, st(999, 1));
	assert_true(job.code == NVME_ACCEL_UNSUPPORTED_OP && job.fail_stage == 1);
	obj.object = 1;
	job = CHAIN2(0, text, N, out, N, COPY, obj);
	assert_true(job.code == NVME_ACCEL_BAD_OBJECT && job.fail_stage == 1);
	job = CHAIN3(0, text, N, out, N, COPY, DECOMPRESS, CRC32C);
	assert_true(job.code == NVME_ACCEL_BAD_INPUT_DATA && job.fail_stage == 1);
	job = chain(0, text, N, out, N, 0, COPY, none, none, none);
	assert_int_equal(job.code, NVME_ACCEL_BAD_DESC);
	job = chain(0, text, N, out, N, 5, COPY, COPY, COPY, COPY);
	assert_int_equal(job.code, NVME_ACCEL_BAD_DESC);
	job = CHAIN2(NVME_ACCEL_JOB_STORE_IF_LARGER, text, N, out, N, COMPRESS, COMPRESS);
	assert_true(job.code == NVME_ACCEL_BAD_PARAM && job.fail_stage == 1);
	/* Lists shorter than the job says. */
	job = eu_job(iov, NVME_ACCEL_OP_COPY, 0, text, 100, out, 100);
	job.in_len = 101;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	job.in_len = 100;
	job.out_max = 101;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	job.out_max = 100;
	job.stop = 1;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_ABORTED);
}

static void checksums_of_a_job(void **state)
{
	uint8_t out[N];
	struct iovec iov[2];
	struct job job = eu_job(iov, NVME_ACCEL_OP_COPY, 0, text, N, out, N);

	(void)state;
	job.flags = NVME_ACCEL_JOB_IN_CRC | NVME_ACCEL_JOB_OUT_CRC;
	job.in_crc = crc32c(text, N);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_crc, job.in_crc);
	assert_int_equal(job.sflags, NVME_ACCEL_SF_IN_CRC_CHECKED | NVME_ACCEL_SF_OUT_CRC |
				     NVME_ACCEL_SF_OUTPUT_VALID);
	memset(out, 0, N);
	job.in_crc ^= 0x100;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_IN_CRC_ERROR);
	assert_true(NVME_ACCEL_RETRY_MASK >> job.code & 1);
	assert_int_equal(job.out_len, 0);
	assert_int_equal(out[0], 0);
	assert_int_equal(job.sflags & NVME_ACCEL_SF_OUT_CRC, 0);
}

/* What compresses badly is handed back as it came, with the flag that says so. */
static void store_if_larger(void **state)
{
	const uint32_t f = NVME_ACCEL_JOB_STORE_IF_LARGER;
	uint8_t out[N + 1000], param[128], param2[128], tag[16], back[N];
	struct job job;

	(void)state;
	job = CHAIN1(f, noise, N, out, N, COMPRESS);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_true(job.sflags & NVME_ACCEL_SF_STORED_RAW);
	assert_int_equal(job.out_len, N);
	assert_int_equal(job.in_used, N);
	assert_memory_equal(out, noise, N);
	job = CHAIN1(f | NVME_ACCEL_JOB_VERIFY, noise, N, out, sizeof(out), COMPRESS);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, N);
	assert_true(job.sflags & NVME_ACCEL_SF_STORED_RAW);
	memset(out, 0xa5, N);
	job = CHAIN1(f, noise, N, out, N - 1, COMPRESS);
	assert_true(job.code == NVME_ACCEL_OUTPUT_SHORT || job.code == NVME_ACCEL_INCOMPRESSIBLE);
	assert_int_equal(job.out_len, 0);
	assert_int_equal(job.out_needed, N);
	assert_int_equal(out[N - 1], 0xa5);
	assert_int_equal(job.sflags & NVME_ACCEL_SF_STORED_RAW, 0);
	/* Text compresses, and then nothing is said. */
	job = CHAIN1(f, text, N, out, N, COMPRESS);
	assert_true(job.code == NVME_ACCEL_OK && job.out_len < N && !(job.sflags & NVME_ACCEL_SF_STORED_RAW));
	/* In a chain the next stage takes the input as it came. */
	job = CHAIN2(f, noise, N, out, N, COMPRESS, gcm(NULL, param));
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, N);
	assert_true(job.sflags & NVME_ACCEL_SF_STORED_RAW);
	memcpy(tag, job.result[1], 16);
	job = CHAIN1(0, out, N, back, N, gcm(tag, param2));
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_memory_equal(back, noise, N);
	/* Nothing at all. */
	job = CHAIN1(f, text, 0, out, 100, COMPRESS);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_int_equal(job.out_len, 0);
	assert_true(job.sflags & NVME_ACCEL_SF_STORED_RAW);
}

static unsigned int spoil_at;

/* A compressor that now and then gets a bit of its output wrong. */
static void spoil_run(struct engine_thread *thread, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	eu_fn(stage->op, stage->alg, 0)->run(thread, stage, index, job);
	if (job->code == NVME_ACCEL_OK)
		((uint8_t *)job->out[0].iov_base)[spoil_at % job->out_len] ^= 0x10;
}

static void verify(void **state)
{
	static const uint16_t algs[] = { NVME_ACCEL_ALG_GZIP, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_DEFLATE,
					 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_LZ4, NVME_ACCEL_ALG_ZSTD };
	struct engine_fn broken = { NVME_ACCEL_OP_COMPRESS, 0, "broken", NULL, spoil_run };
	uint8_t out[N + 1000], param[128];
	struct iovec iov[2];
	struct job job;
	unsigned int i, caught;

	(void)state;
	for (i = 0; i < 6; i++) {
		job = CHAIN1(NVME_ACCEL_JOB_VERIFY, text, N, out, sizeof(out),
			     st(NVME_ACCEL_OP_COMPRESS, algs[i]));
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_true(job.sflags & NVME_ACCEL_SF_VERIFIED);
		for (spoil_at = 0, caught = 0; spoil_at < 200; spoil_at++) {
			job = eu_job(iov, NVME_ACCEL_OP_COMPRESS, algs[i], text, N, out, sizeof(out));
			job.stage[0].arg0 = 1;
			job.flags = NVME_ACCEL_JOB_VERIFY;
			broken.alg = algs[i];
			engine_run_fn(t, &broken, &job);
			caught += job.code == NVME_ACCEL_VERIFY_FAILED;
			if (job.code == NVME_ACCEL_VERIFY_FAILED)
				assert_true(job.out_len == 0 && !(job.sflags & NVME_ACCEL_SF_VERIFIED));
		}
		/* Some bits of a header (mtime, level hint) do not matter; all of the data's do. */
		assert_true(caught >= 190);
	}
	job = CHAIN2(NVME_ACCEL_JOB_VERIFY, text, N, out, N, COMPRESS, gcm(NULL, param));
	assert_int_equal(job.code, NVME_ACCEL_OK);
	assert_true(job.sflags & NVME_ACCEL_SF_VERIFIED);
	/* Nothing was verified where there is nothing to verify, and nothing says that it was. */
	job = CHAIN1(NVME_ACCEL_JOB_VERIFY, text, N, out, N, COPY);
	assert_int_equal(job.sflags & NVME_ACCEL_SF_VERIFIED, 0);
}

/* After a job that failed in any way the next one on the thread is as good as on a new one. */
static void good_after_bad(void **state)
{
	uint8_t out[N + 1000], want[N + 1000], junk[50];
	struct job job, good;
	unsigned int kind;

	(void)state;
	good = chain(0, text, N, want, sizeof(want), 4, SHA256, COMPRESS, CRC32C, SHA512);
	assert_int_equal(good.code, NVME_ACCEL_OK);
	for (kind = 0; kind < 4; kind++) {
		if (kind == 0)
			job = CHAIN2(0, noise, N, junk, 50, COMPRESS, SHA256);
		else if (kind == 1)
			job = CHAIN2(0, noise, N, out, N, DECOMPRESS, SHA256);
		else if (kind == 2)
			job = CHAIN1(0, text, N, junk, 50, COMPRESS);
		else
			job = CHAIN2(0, text, N, junk, 50, CRC32C, COPY);
		assert_int_not_equal(job.code, NVME_ACCEL_OK);
		job = chain(0, text, N, out, sizeof(out), 4, SHA256, COMPRESS, CRC32C, SHA512);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(job.out_len, good.out_len);
		assert_memory_equal(out, want, good.out_len);
		assert_memory_equal(job.long_result, good.long_result, sizeof(job.long_result));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_at_its_place), cmocka_unit_test(nothing_but_digests),
		cmocka_unit_test(through_a_cipher_and_back), cmocka_unit_test(middle_grows),
		cmocka_unit_test(short_at_the_end),    cmocka_unit_test(trailing_bytes),
		cmocka_unit_test(to_erasure_coding),   cmocka_unit_test(refused),
		cmocka_unit_test(checksums_of_a_job),  cmocka_unit_test(store_if_larger),
		cmocka_unit_test(verify),	       cmocka_unit_test(good_after_bad),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
