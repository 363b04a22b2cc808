// SPDX-License-Identifier: BSD-2-Clause
/* Plans: what is refused and with which words, sealing, parameters per job, bounds. */
#include "api_util.h"

static void refused(struct accel_plan *plan, int rc, const char *word)
{
	assert_int_equal(rc, -EINVAL);
	if (!strstr(accel_plan_error(plan), word))
		print_error("'%s' lacks '%s'\n", accel_plan_error(plan), word);
	assert_non_null(strstr(accel_plan_error(plan), word));
}

static void test_ranges(void **state)
{
	static const uint8_t key[64] = { 1 }, same[64] = { 0 }, matrix[64 * 64] = { 1 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_plan *p = plan_of(ctx);

	(void)state;
	assert_string_equal(accel_plan_error(p), "");
	refused(p, accel_plan_compress(p, ACCEL_GZIP, 10, 0, 0), "level 10");
	refused(p, accel_plan_compress(p, ACCEL_GZIP, 6, 8, 0), "9 to 15");
	refused(p, accel_plan_compress(p, ACCEL_GZIP, 6, 16, 0), "9 to 15");
	refused(p, accel_plan_compress(p, ACCEL_ZSTD, 6, 15, 0), "deflate family");
	refused(p, accel_plan_compress(p, 0, 6, 0, 0), "algorithm");
	refused(p, accel_plan_compress(p, 7, 6, 0, 0), "algorithm");
	refused(p, accel_plan_compress(p, 40000, 6, 0, 0), "algorithm");
	refused(p, accel_plan_compress(p, ACCEL_GZIP, 6, 0, ACCEL_STAGE_CHUNK), "ACCEL_DEFLATE");
	refused(p, accel_plan_compress(p, ACCEL_DEFLATE, 6, 0, ACCEL_STAGE_TRAILING), "flags");
	refused(p, accel_plan_decompress(p, ACCEL_GZIP, 4), "flags");
	refused(p, accel_plan_decompress(p, ACCEL_LZ4_BLOCK, ACCEL_STAGE_TRAILING), "LZ4");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 0, 4, 64, NULL), "0 + 4");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 4, 0, 64, NULL), "4 + 0");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 200, 56, 64, NULL), "255");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, ~0u, 2, 64, NULL), "255");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 4, 2, 0, NULL), "0 bytes");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 4, 2, SIZE_MAX, NULL), "bytes");
	refused(p, accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 4, 2, 64, matrix), "without ACCEL_EC_MATRIX");
	refused(p, accel_plan_ec_encode(p, ACCEL_EC_MATRIX, 4, 2, 64, NULL), "without a matrix");
	refused(p, accel_plan_ec_encode(p, ACCEL_EC_MATRIX, 64, 64, 64, matrix), "4096");
	refused(p, accel_plan_ec_decode(p, ACCEL_EC_XOR, 4, 2, 64, NULL), "1 parity");
	refused(p, accel_plan_ec_update(p, ACCEL_EC_PQ, 4, 3, 64, NULL), "2 parity");
	refused(p, accel_plan_xor(p, 0, 64), "0 + 1");
	refused(p, accel_plan_pq(p, 254, 64), "254 + 2");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_GCM, key, 17, 16, 0), "17 bytes");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_GCM, NULL, 16, 16, 0), "no key");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_GCM, key, 16, 11, 0), "12 to 16");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_GCM, key, 16, 17, 0), "12 to 16");
	refused(p, accel_plan_decrypt(p, ACCEL_AES_GCM, key, 16, 3, 0), "12 to 16");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_GCM, key, 16, 16, 512), "AES-XTS");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_XTS, key, 16, 0, 0), "32 or 64");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_XTS, same, 64, 0, 0), "halves");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_XTS, key, 64, 16, 0), "tag");
	refused(p, accel_plan_encrypt(p, ACCEL_AES_XTS, key, 64, 0, 15), "15 bytes");
	refused(p, accel_plan_digest(p, 4), "algorithm");
	refused(p, accel_plan_checksum(p, 5, 0), "algorithm");
	refused(p, accel_plan_checksum(p, ACCEL_CRC32C, 1ull << 32), "4 bytes");
	refused(p, accel_plan_checksum(p, ACCEL_T10DIF, 65536), "2 bytes");
	refused(p, accel_plan_policy(p, (enum accel_policy)3, 0, 0), "policy");
	refused(p, accel_plan_policy(p, ACCEL_PREFER_DEVICE, 16, 0), "flags");
	refused(p, accel_plan_policy(p, ACCEL_DEVICE_ONLY, 0, 1), "cpu_below");
	refused(p, accel_plan_seal(p, NULL), "no stage");
	assert_int_equal(accel_plan_compress(NULL, ACCEL_GZIP, 6, 0, 0), -EINVAL);
	/* None of these has left a stage behind. */
	assert_int_equal(accel_plan_copy(p), 0);
	assert_string_equal(accel_plan_error(p), "");
	assert_int_equal(accel_plan_seal(p, NULL), 0);
	accel_plan_unref(p);
	accel_plan_unref(NULL);
	accel_ctx_unref(ctx);
}

static void test_stages_and_seal(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_plan *p = plan_of(ctx);
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(accel_plan_checksum(p, ACCEL_CRC32C, 0), 0);
	assert_int_equal(accel_plan_digest(p, ACCEL_SHA256), -E2BIG);
	assert_non_null(strstr(accel_plan_error(p), "4 stages"));
	assert_int_equal(accel_plan_seal(p, NULL), 0);
	assert_int_equal(accel_plan_seal(p, NULL), -EBUSY);
	assert_int_equal(accel_plan_copy(p), -EBUSY);
	assert_int_equal(accel_plan_policy(p, ACCEL_CPU_ONLY, 0, 0), -EBUSY);
	assert_ptr_equal(accel_plan_ref(p), p);
	accel_plan_unref(p);
	accel_plan_unref(p);
	p = plan_of(ctx);
	assert_int_equal(accel_plan_copy(p), 0);
	assert_int_equal(accel_plan_policy(p, ACCEL_PREFER_DEVICE, ACCEL_PLAN_VERIFY, 0), 0);
	refused(p, accel_plan_seal(p, NULL), "compress");
	assert_int_equal(accel_plan_policy(p, ACCEL_DEVICE_ONLY, 0, 0), 0);
	refused(p, accel_plan_seal(p, NULL), "device");
	accel_plan_unref(p);
	accel_ctx_unref(ctx);
}

/* A device without the stage: refused by name, or left to the CPU. */
static void test_seal_device(void **state)
{
	static const uint8_t key[32] = { 1 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *digest = dev_open(ctx, "soft:nsid=4"), *all = dev_open(ctx, "soft:");
	enum accel_policy policy;

	(void)state;
	for (policy = ACCEL_PREFER_DEVICE; policy <= ACCEL_CPU_ONLY; policy++) {
		struct accel_plan *p = plan_of(ctx);

		assert_int_equal(accel_plan_checksum(p, ACCEL_CRC32, 0), 0);
		assert_int_equal(accel_plan_compress(p, ACCEL_ZSTD, 3, 0, 0), 0);
		assert_int_equal(accel_plan_encrypt(p, ACCEL_AES_GCM, key, 32, 16, 0), 0);
		assert_int_equal(accel_plan_policy(p, policy, 0, 0), 0);
		if (policy == ACCEL_DEVICE_ONLY) {
			assert_int_equal(accel_plan_seal(p, digest), -ENOTSUP);
			assert_non_null(strstr(accel_plan_error(p), "stage 2"));
			assert_non_null(strstr(accel_plan_error(p), "zstd"));
			assert_int_equal(accel_plan_seal(p, all), 0);
		} else {
			assert_int_equal(accel_plan_seal(p, digest), 0);
		}
		assert_string_equal(accel_plan_error(p), "");
		accel_plan_unref(p);
	}
	accel_dev_close(digest);
	accel_dev_close(all);
	accel_ctx_unref(ctx);
}

/* What a job lacks or has too much of is refused when it is given. */
static void test_params(void **state)
{
	static const uint8_t key[16] = { 1 }, iv[129], tag[16], lost[] = { 1, 4 }, twice[] = { 1, 1 },
			     high[] = { 6 }, down[] = { 4, 1 }, surv[] = { 0, 2, 3, 5 },
			     clash[] = { 0, 1, 2, 3 }, four[] = { 4 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_plan *gcm = plan_of(ctx), *dec = plan_of(ctx), *upd = plan_of(ctx);
	struct accel_params pr = ACCEL_INIT(struct accel_params);
	struct accel_result r;
	uint8_t in[256] = { 0 }, out[256];

	(void)state;
	assert_int_equal(accel_plan_decrypt(gcm, ACCEL_AES_GCM, key, 16, 16, 0), 0);
	assert_int_equal(accel_plan_ec_decode(dec, ACCEL_RS_CAUCHY, 4, 2, 16, NULL), 0);
	assert_int_equal(accel_plan_ec_update(upd, ACCEL_RS_CAUCHY, 4, 2, 16, NULL), 0);
	assert_int_equal(accel_plan_seal(gcm, dev), 0);
	assert_int_equal(accel_plan_seal(dec, dev), 0);
	assert_int_equal(accel_plan_seal(upd, dev), 0);
#define RUN(plan, n, params) accel_run(dev, plan, in, n, out, sizeof(out), params, 2000, &r)
#define GCM(v, vl, t, tl, want)                                                                              \
	do {                                                                                                 \
		pr.stage[0].iv = v;                                                                          \
		pr.stage[0].iv_len = vl;                                                                     \
		pr.stage[0].tag = t;                                                                         \
		pr.stage[0].tag_len = tl;                                                                    \
		assert_int_equal(RUN(gcm, 16, &pr), want);                                                   \
	} while (0)
	assert_int_equal(RUN(gcm, 16, NULL), -EINVAL);
	GCM(NULL, 12, tag, 16, -EINVAL);
	GCM(iv, 0, tag, 16, -EINVAL);
	GCM(iv, 129, tag, 16, -EINVAL);
	GCM(iv, 12, NULL, 16, -EINVAL);
	GCM(iv, 12, tag, 12, -EINVAL);
	GCM(iv, 12, tag, 16, 0);
	assert_int_equal(r.status, ACCEL_ST_AUTH_FAILED);
	GCM(iv, 128, tag, 16, 0);
	pr.reserved = 1;
	GCM(iv, 12, tag, 16, -EINVAL);
	pr.reserved = 0;
	pr.size = 8;
	GCM(iv, 12, tag, 16, -EINVAL);
	pr.size = sizeof(pr);
#define EC(l, n, s, want)                                                                                    \
	do {                                                                                                 \
		pr.stage[0].lost = l;                                                                        \
		pr.stage[0].nlost = n;                                                                       \
		pr.stage[0].survivors = s;                                                                   \
		assert_int_equal(RUN(dec, 64, &pr), want);                                                   \
	} while (0)
	assert_int_equal(RUN(dec, 64, NULL), -EINVAL);
	EC(NULL, 1, NULL, -EINVAL);
	EC(lost, 0, NULL, -EINVAL);
	EC(lost, 3, NULL, -EINVAL);
	EC(twice, 2, NULL, -EINVAL);
	EC(down, 2, NULL, -EINVAL);
	EC(high, 1, NULL, -EINVAL);
	EC(lost, 2, clash, -EINVAL);
	EC(lost, 2, surv, 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.out_len, 32);
	EC(lost, 2, NULL, 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	pr.stage[0].lost = four;
	pr.stage[0].nlost = 1;
	assert_int_equal(RUN(upd, 64, &pr), -EINVAL);
	pr.stage[0].lost = lost;
	assert_int_equal(RUN(upd, 64, &pr), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	accel_plan_unref(gcm);
	accel_plan_unref(dec);
	accel_plan_unref(upd);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* Authenticated data of any length: inline as long as it fits, then in front of the input. */
static void test_long_aad(void **state)
{
	static const size_t lens[] = { 0, 1, 100, 180, 190, 200, 220, 256, 1000, 5000, 100000 };
	static const uint8_t key[16] = { 9 }, iv[12] = { 7 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	uint8_t *aad = malloc(100000), in[1000], a[1000], b[1000], back[1000];
	unsigned int i, k;

	(void)state;
	fill_text(aad, 100000);
	fill_text(in, sizeof(in));
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct accel_params pr = ACCEL_INIT(struct accel_params);
		struct accel_plan *plan[3];
		struct accel_result r[2], u;

		pr.stage[0].iv = iv;
		pr.stage[0].iv_len = 12;
		pr.stage[0].aad = aad;
		pr.stage[0].aad_len = (uint32_t)lens[i];
		for (k = 0; k < 3; k++) {
			plan[k] = plan_of(ctx);
			assert_int_equal(k < 2 ? accel_plan_encrypt(plan[k], ACCEL_AES_GCM, key, 16, 16, 0)
					       : accel_plan_decrypt(plan[k], ACCEL_AES_GCM, key, 16, 16, 0),
					 0);
			assert_int_equal(
				accel_plan_policy(plan[k], k == 1 ? ACCEL_CPU_ONLY : ACCEL_DEVICE_ONLY, 0, 0),
				0);
			assert_int_equal(accel_plan_seal(plan[k], dev), 0);
		}
		assert_int_equal(accel_run(dev, plan[0], in, sizeof(in), a, sizeof(a), &pr, 2000, &r[0]), 0);
		assert_int_equal(accel_run(dev, plan[1], in, sizeof(in), b, sizeof(b), &pr, 2000, &r[1]), 0);
		assert_int_equal(r[0].status, ACCEL_ST_OK);
		assert_int_equal(r[1].status, ACCEL_ST_OK);
		assert_int_equal(r[0].in_used, sizeof(in));
		assert_int_equal(r[1].in_used, sizeof(in));
		assert_memory_equal(a, b, sizeof(a));
		assert_memory_equal(r[0].result[0], r[1].result[0], 16);
		pr.stage[0].tag = r[0].result[0];
		pr.stage[0].tag_len = 16;
		assert_int_equal(accel_run(dev, plan[2], a, sizeof(a), back, sizeof(back), &pr, 2000, &u), 0);
		assert_int_equal(u.status, ACCEL_ST_OK);
		assert_memory_equal(back, in, sizeof(in));
		if (lens[i]) {
			memset(back, 0x55, sizeof(back));
			aad[lens[i] - 1] ^= 1;
			assert_int_equal(
				accel_run(dev, plan[2], a, sizeof(a), back, sizeof(back), &pr, 2000, &u), 0);
			aad[lens[i] - 1] ^= 1;
			assert_int_equal(u.status, ACCEL_ST_AUTH_FAILED);
			for (k = 0; k < sizeof(back); k++)
				assert_int_equal(back[k], 0x55);
		}
		for (k = 0; k < 3; k++)
			accel_plan_unref(plan[k]);
	}
	free(aad);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* 3-01, 3-14, 4-08: the bound is enough for what does not compress, at every level, down to nothing. */
static void test_bound(void **state)
{
	static const size_t sizes[] = { 0,    1,     2,	    3,	   20,	  63,	 64,
					1000, 16383, 16384, 65535, 65536, 70000, 1 << 20 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=2");
	uint8_t *in = malloc(1 << 20), *out = malloc((1 << 20) + (1 << 17));
	uint32_t x = 99;
	unsigned int alg, level, i;
	size_t k;

	(void)state;
	for (k = 0; k < 1 << 20; k++)
		in[k] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
	for (alg = ACCEL_DEFLATE; alg <= ACCEL_ZSTD; alg++)
		for (level = 0; level <= 9; level += alg < ACCEL_LZ4_BLOCK ? 1 : 3) {
			struct accel_plan *plan = plan_of(ctx);

			assert_int_equal(accel_plan_compress(plan, (uint16_t)alg, level, 0, 0), 0);
			assert_int_equal(accel_plan_policy(plan, ACCEL_DEVICE_ONLY, 0, 0), 0);
			assert_int_equal(accel_plan_seal(plan, dev), 0);
			for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) - (level > 6); i++) {
				uint64_t bound = accel_bound(plan, sizes[i]);
				struct accel_result r;

				assert_true(bound < sizes[i] + (1 << 16));
				out[bound] = 0xa5;
				assert_int_equal(
					accel_run(dev, plan, in, sizes[i], out, bound, NULL, 5000, &r), 0);
				assert_int_equal(r.status, ACCEL_ST_OK);
				assert_int_equal(r.in_used, sizes[i]);
				assert_true(r.out_len <= bound);
				assert_int_equal(out[bound], 0xa5);
				/* One byte less than it needed: a clean refusal, not a byte behind. */
				out[r.out_len - 1] = 0x5a;
				k = (size_t)r.out_len;
				assert_int_equal(
					accel_run(dev, plan, in, sizes[i], out, k - 1, NULL, 5000, &r), 0);
				assert_true(r.status == ACCEL_ST_OUTPUT_SHORT || r.status == ACCEL_ST_OK);
				assert_int_equal(out[k - 1], 0x5a);
			}
			accel_plan_unref(plan);
		}
	assert_true(accel_bound(NULL, 1) == UINT64_MAX);
	free(in);
	free(out);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_bound_kinds(void **state)
{
	static const uint8_t key[16] = { 1 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_plan *p;

	(void)state;
#define BOUND(stage, n, want)                                                                                \
	do {                                                                                                 \
		p = plan_of(ctx);                                                                            \
		assert_int_equal(stage, 0);                                                                  \
		assert_true(accel_bound(p, n) == (want));                                                    \
		accel_plan_unref(p);                                                                         \
	} while (0)
	BOUND(accel_plan_decompress(p, ACCEL_GZIP, 0), 100, UINT64_MAX);
	BOUND(accel_plan_digest(p, ACCEL_SHA256), 100, 0);
	BOUND(accel_plan_checksum(p, ACCEL_CRC32, 0), 100, 0);
	BOUND(accel_plan_copy(p), 100, 100);
	BOUND(accel_plan_encrypt(p, ACCEL_AES_GCM, key, 16, 16, 0), 100, 100);
	BOUND(accel_plan_ec_encode(p, ACCEL_RS_CAUCHY, 4, 2, 16, NULL), 64, 32);
	BOUND(accel_plan_ec_decode(p, ACCEL_RS_CAUCHY, 4, 2, 16, NULL), 64, 32);
	BOUND(accel_plan_xor(p, 4, 16), 64, 16);
	BOUND(accel_plan_pq(p, 4, 16), 64, 32);
	p = plan_of(ctx);
	assert_int_equal(accel_plan_checksum(p, ACCEL_CRC32, 0), 0);
	assert_int_equal(accel_plan_copy(p), 0);
	assert_int_equal(accel_plan_digest(p, ACCEL_SHA256), 0);
	assert_true(accel_bound(p, 77) == 77);
	accel_plan_unref(p);
	assert_true(accel_bound(NULL, 1) == UINT64_MAX);
	accel_ctx_unref(ctx);
}

/* 3-43: much output from little input, and the room decides, not the input's length. */
static void test_expansion(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	size_t n = 1 << 20, packed_len = 1 << 16, out_len = n;
	uint8_t *zeros = calloc(1, n), *packed = malloc(packed_len), *out = malloc(n);

	(void)state;
	assert_int_equal(accel_compress(dev, ACCEL_GZIP, 6, zeros, n, packed, &packed_len, 5000), 0);
	assert_true(packed_len < n / 100);
	memset(out, 1, n);
	assert_int_equal(accel_decompress(dev, ACCEL_GZIP, packed, packed_len, out, &out_len, 5000), 0);
	assert_int_equal(out_len, n);
	assert_memory_equal(out, zeros, n);
	free(zeros);
	free(packed);
	free(out);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* One sealed plan, many threads: 16 of them run its jobs at once. */
struct shared {
	struct accel_dev *dev;
	struct accel_plan *plan;
	int good;
};

static void *share(void *arg)
{
	struct shared *s = arg;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct accel_result r;

		accel_plan_ref(s->plan);
		if (accel_run(s->dev, s->plan, "123456789", 9, NULL, 0, NULL, 10000, &r) == 0 &&
		    r.status == ACCEL_ST_OK && result_crc(&r) == CRC_DIGITS)
			__atomic_add_fetch(&s->good, 1, __ATOMIC_RELAXED);
		accel_plan_unref(s->plan);
	}
	return NULL;
}

static void test_shared(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct shared s = { dev_open(ctx, "soft:"), NULL, 0 };
	pthread_t t[16];
	unsigned int i;

	(void)state;
	s.plan = crc_plan(ctx, s.dev, ACCEL_PREFER_DEVICE);
	for (i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&t[i], NULL, share, &s), 0);
	for (i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(s.good, 800);
	accel_plan_unref(s.plan);
	accel_dev_close(s.dev);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),	    cmocka_unit_test(test_stages_and_seal),
		cmocka_unit_test(test_seal_device), cmocka_unit_test(test_params),
		cmocka_unit_test(test_long_aad),    cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_kinds), cmocka_unit_test(test_expansion),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
