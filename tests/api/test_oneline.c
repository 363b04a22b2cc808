// SPDX-License-Identifier: BSD-2-Clause
/* The calls that do one thing, below and above what a job takes, and their errors. */
#include "stream_util.h"

static const uint16_t algs[] = { ACCEL_DEFLATE,	  ACCEL_ZLIB,	   ACCEL_GZIP,
				 ACCEL_LZ4_BLOCK, ACCEL_LZ4_FRAME, ACCEL_ZSTD };

/* Round trips of all formats, small ones, one job's worth, and several. */
static void test_compress(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 4 << 20, (4 << 20) + 1, 11 << 20 };
	struct env *e = *state;
	unsigned int a, i, c;

	for (a = 0; a < 6; a++)
		for (i = 0; i < 6; i++)
			for (c = RANDOM; c <= MIXED; c += MIXED - RANDOM) {
				struct blob in = blob_make((enum content)c, sizes[i]);
				size_t n = sizes[i] + sizes[i] / 64 + 1000, m = sizes[i] + 1;
				uint8_t *packed = malloc(n), *out = malloc(m);

				assert_int_equal(
					accel_compress(e->dev, algs[a], 1, in.p, in.n, packed, &n, 20000), 0);
				if (algs[a] != ACCEL_LZ4_BLOCK) {
					struct blob p = { packed, n, n }, judged = { 0 };

					assert_int_equal(judge(algs[a], &p, &judged), 0);
					assert_same(&judged, &in);
					blob_free(&judged);
				}
				assert_int_equal(accel_decompress(e->dev, algs[a], packed, n, out, &m, 20000),
						 0);
				assert_int_equal(m, in.n);
				assert_memory_equal(out, in.p, in.n);
				free(packed);
				free(out);
				blob_free(&in);
			}
}

/* Too little room: -ENOSPC, and with what it says the second try succeeds. */
static void test_short(void **state)
{
	static const size_t sizes[] = { 1000, 3 << 20, 6 << 20 };
	struct env *e = *state;
	unsigned int a, i;

	for (a = 0; a < 6; a++)
		for (i = 0; i < 3; i++) {
			struct blob in = blob_make(MIXED, sizes[i]);
			size_t n = 10, m = 20, full;
			uint8_t *packed = malloc(in.n * 2 + 1000), *out = malloc(in.n);

			assert_int_equal(accel_compress(e->dev, algs[a], 1, in.p, in.n, packed, &n, 20000),
					 -ENOSPC);
			assert_true(n > 10 && n < in.n * 2);
			assert_int_equal(accel_compress(e->dev, algs[a], 1, in.p, in.n, packed, &n, 20000),
					 0);
			assert_int_equal(accel_decompress(e->dev, algs[a], packed, n, out, &m, 20000),
					 -ENOSPC);
			if (algs[a] != ACCEL_LZ4_BLOCK || m) {
				assert_int_equal(m, in.n);
			}
			full = in.n;
			assert_int_equal(accel_decompress(e->dev, algs[a], packed, n, out, &full, 20000), 0);
			assert_memory_equal(out, in.p, in.n);
			free(packed);
			free(out);
			blob_free(&in);
		}
}

static void test_refusals(void **state)
{
	struct env *e = *state;
	uint8_t buf[1000] = { 0 }, out[1000];
	size_t n = 500;

	assert_int_equal(accel_compress(e->dev, ACCEL_GZIP, 1, buf, 600, buf + 500, &n, 1000), -EINVAL);
	assert_int_equal(accel_decompress(e->dev, ACCEL_GZIP, buf, 600, buf, &n, 1000), -EINVAL);
	assert_int_equal(accel_compress(e->dev, 99, 1, buf, 10, out, &n, 1000), -EINVAL);
	assert_int_equal(accel_compress(e->dev, ACCEL_GZIP, 10, buf, 10, out, &n, 1000), -EINVAL);
	assert_int_equal(accel_compress(NULL, ACCEL_GZIP, 1, buf, 10, out, &n, 1000), -EINVAL);
	assert_int_equal(accel_compress(e->dev, ACCEL_GZIP, 1, NULL, 10, out, &n, 1000), -EINVAL);
	assert_int_equal(accel_compress(e->dev, ACCEL_GZIP, 1, buf, 10, out, NULL, 1000), -EINVAL);
	/* Corrupt, cut, empty, something else behind; zeros behind are padding. */
	n = sizeof(out);
	assert_int_equal(accel_compress(e->dev, ACCEL_GZIP, 1, "hello", 5, out, &n, 1000), 0);
	memcpy(buf, out, n);
	buf[n] = 'x';
#define UNPACK(len, want)                                                                                    \
	do {                                                                                                 \
		size_t m = sizeof(out);                                                                      \
		assert_int_equal(accel_decompress(e->dev, ACCEL_GZIP, buf, len, out, &m, 1000), want);       \
		assert_int_equal(m, (want) ? 0 : 5);                                                         \
	} while (0)
	UNPACK(n, 0);
	UNPACK(n + 1, -EBADMSG);
	UNPACK(n - 1, -EBADMSG);
	UNPACK(0, -EBADMSG);
	buf[n] = 0;
	UNPACK(n + 1, 0);
	UNPACK(n + 100, 0);
	buf[n - 6] ^= 1;
	UNPACK(n, -EBADMSG);
}

/* More than one member: all of them. */
static void test_members(void **state)
{
	struct env *e = *state;
	struct blob in = { 0 };
	uint8_t out[100];
	size_t n = sizeof(out);

	member_add(&in, "hello ", 6, 6, NULL);
	member_add(&in, "", 0, 6, NULL);
	member_add(&in, "world", 5, 6, NULL);
	assert_int_equal(accel_decompress(e->dev, ACCEL_GZIP, in.p, in.n, out, &n, 1000), 0);
	assert_int_equal(n, 11);
	assert_memory_equal(out, "hello world", 11);
	n = 8;
	assert_int_equal(accel_decompress(e->dev, ACCEL_GZIP, in.p, in.n, out, &n, 1000), -ENOSPC);
	assert_int_equal(n, 11);
	blob_free(&in);
}

static void test_sums(void **state)
{
	static const uint8_t abc[32] = {
		/* FIPS 180-4 example */
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
		0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
		0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	static const size_t sizes[] = { 0, 1, 4 << 20, (4 << 20) + 1, 300 << 20 };
	struct env *e = *state;
	struct blob in = blob_make(ZEROS, 300 << 20);
	uint8_t digest[32];
	uint32_t crc, part[2];
	unsigned int i;

	assert_int_equal(accel_sha256(e->dev, "abc", 3, digest, 1000), 0);
	assert_memory_equal(digest, abc, 32);
	assert_int_equal(accel_crc32c(e->dev, "123456789", 9, &crc, 1000), 0);
	assert_int_equal(crc, CRC_DIGITS);
	for (i = 0; i < in.n; i += 4093)
		in.p[i] = (uint8_t)(i >> 12);
	for (i = 0; i < 5; i++) {
		struct accel_plan *plan = plan_of(e->ctx);
		struct accel_result r;
		size_t cut = sizes[i] / 3;

		/* By one job on the CPU, of any size. */
		assert_int_equal(accel_plan_checksum(plan, ACCEL_CRC32C, 0), 0);
		assert_int_equal(accel_plan_policy(plan, ACCEL_CPU_ONLY, 0, 0), 0);
		assert_int_equal(accel_plan_seal(plan, NULL), 0);
		assert_int_equal(accel_run(e->dev, plan, in.p, sizes[i], NULL, 0, NULL, -1, &r), 0);
		assert_int_equal(accel_crc32c(e->dev, in.p, sizes[i], &crc, 20000), 0);
		assert_int_equal(crc, result_crc(&r));
		assert_int_equal(accel_crc32c(e->dev, in.p, cut, &part[0], 20000), 0);
		assert_int_equal(accel_crc32c(e->dev, in.p + cut, sizes[i] - cut, &part[1], 20000), 0);
		accel_plan_unref(plan);
	}
	assert_int_equal(accel_sha256(e->dev, in.p, 5 << 20, digest, 20000), 0);
	assert_int_equal(accel_sha256(e->dev, in.p, 300 << 20, digest, 1), -ETIMEDOUT);
	assert_int_equal(accel_crc32c(e->dev, NULL, 1, &crc, 1000), -EINVAL);
	assert_int_equal(accel_sha256(e->dev, "x", 1, NULL, 1000), -EINVAL);
	blob_free(&in);
}

/* k + m blocks of any length; every pattern of losses of a small code. */
static void test_ec(void **state)
{
	static const size_t blocks[] = { 1, 17, 4096, 1 << 20, (2 << 20) + 77 };
	enum { K = 4, M = 2 };
	struct env *e = *state;
	unsigned int i, a, b, k;

	for (i = 0; i < 5; i++) {
		void *whole[K + M], *work[K + M];
		struct blob data = blob_make(RANDOM, K * blocks[i]);
		uint8_t lost[2];

		for (k = 0; k < K + M; k++) {
			whole[k] = malloc(blocks[i]);
			work[k] = malloc(blocks[i]);
			if (k < K)
				memcpy(whole[k], data.p + k * blocks[i], blocks[i]);
		}
		assert_int_equal(accel_ec_encode(e->dev, K, M, blocks[i], (const void *const *)whole,
						 whole + K, 20000),
				 0);
		for (a = 0; a < K + M; a++)
			for (b = a; b < K + M; b++) {
				if (blocks[i] > 4096 && (a + b) % 4)
					continue;
				for (k = 0; k < K + M; k++)
					memcpy(work[k], whole[k], blocks[i]);
				memset(work[a], 0xee, blocks[i]);
				memset(work[b], 0xee, blocks[i]);
				lost[0] = (uint8_t)a;
				lost[1] = (uint8_t)b;
				assert_int_equal(accel_ec_decode(e->dev, K, M, blocks[i], work, lost,
								 a == b ? 1 : 2, 20000),
						 0);
				for (k = 0; k < K + M; k++)
					assert_memory_equal(work[k], whole[k], blocks[i]);
			}
		for (k = 0; k < K + M; k++) {
			free(whole[k]);
			free(work[k]);
		}
		blob_free(&data);
	}
}

static void test_ec_refusals(void **state)
{
	struct env *e = *state;
	uint8_t mem[6][64] = { { 0 } };
	void *b[6] = { mem[0], mem[1], mem[2], mem[3], mem[4], mem[5] };
	const void *const *in = (const void *const *)b;
	static const uint8_t three[] = { 0, 1, 2 }, high[] = { 6 }, same[] = { 1, 1 };

	assert_int_equal(accel_ec_encode(e->dev, 4, 2, 64, in, b + 4, 1000), 0);
	assert_int_equal(accel_ec_encode(e->dev, 0, 2, 64, in, b + 4, 1000), -EINVAL);
	assert_int_equal(accel_ec_encode(e->dev, 4, 252, 64, in, b + 4, 1000), -EINVAL);
	assert_int_equal(accel_ec_encode(e->dev, 4, 2, 0, in, b + 4, 1000), -EINVAL);
	assert_int_equal(accel_ec_encode(e->dev, 4, 2, 65, in, b + 4, 1000), -EINVAL); /* they overlap */
	assert_int_equal(accel_ec_encode(e->dev, 4, 2, 64, NULL, b + 4, 1000), -EINVAL);
	assert_int_equal(accel_ec_decode(e->dev, 4, 2, 64, b, three, 3, 1000), -EINVAL);
	assert_int_equal(accel_ec_decode(e->dev, 4, 2, 64, b, high, 1, 1000), -EINVAL);
	assert_int_equal(accel_ec_decode(e->dev, 4, 2, 64, b, same, 2, 1000), -EINVAL);
	assert_int_equal(accel_ec_decode(e->dev, 4, 2, 64, b, NULL, 0, 1000), 0);
	b[5] = NULL;
	assert_int_equal(accel_ec_encode(e->dev, 4, 2, 64, in, b + 4, 1000), -EINVAL);
}

static void gcm_round(struct env *e, size_t n, size_t aad_len, size_t key_len)
{
	static const uint8_t key[32] = { 3, 1, 4, 1, 5, 9 }, iv[12] = { 2, 7 };
	struct blob in = blob_make(RANDOM, n), aad = blob_make(TEXT, aad_len);
	uint8_t *sealed = malloc(n + 1), *out = malloc(n + 1), tag[16];
	size_t i;

	assert_int_equal(
		accel_aes_gcm_seal(e->dev, key, key_len, iv, aad.p, aad.n, in.p, n, sealed, tag, 20000), 0);
	assert_int_equal(
		accel_aes_gcm_open(e->dev, key, key_len, iv, aad.p, aad.n, sealed, n, tag, out, 20000), 0);
	assert_memory_equal(out, in.p, n);
	memset(out, 0x33, n);
	tag[15] ^= 0x80;
	assert_int_equal(
		accel_aes_gcm_open(e->dev, key, key_len, iv, aad.p, aad.n, sealed, n, tag, out, 20000),
		-EBADMSG);
	for (i = 0; i < n; i++)
		if (out[i] != 0x33)
			fail_msg("byte %zu of the output was touched", i);
	free(sealed);
	free(out);
	blob_free(&in);
	blob_free(&aad);
}

static void test_gcm(void **state)
{
	/* McGrew and Viega, test case 2: a block of zeros under a key and IV of zeros. */
	static const uint8_t zero[16], sealed[16] = { 0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
						      0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78 };
	static const uint8_t want[16] = { 0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd,
					  0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf };
	struct env *e = *state;
	uint8_t out[32], tag[16];

	assert_int_equal(accel_aes_gcm_seal(e->dev, zero, 16, zero, NULL, 0, zero, 16, out, tag, 1000), 0);
	assert_memory_equal(out, sealed, 16);
	assert_memory_equal(tag, want, 16);
	gcm_round(e, 0, 0, 16);
	gcm_round(e, 0, 20, 32);
	gcm_round(e, 1000, 5000, 32);
	gcm_round(e, (4 << 20) - 1024, 0, 16);
	gcm_round(e, 5 << 20, 100, 32);
	gcm_round(e, 100, 6 << 20, 32);
	assert_int_equal(accel_aes_gcm_seal(e->dev, zero, 15, zero, NULL, 0, zero, 16, out, tag, 1000),
			 -EINVAL);
	assert_int_equal(accel_aes_gcm_seal(e->dev, NULL, 16, zero, NULL, 0, zero, 16, out, tag, 1000),
			 -EINVAL);
	assert_int_equal(accel_aes_gcm_seal(e->dev, zero, 16, zero, NULL, 0, out, 16, out + 8, tag, 1000),
			 -EINVAL);
	assert_int_equal(accel_aes_gcm_seal(e->dev, zero, 16, zero, NULL, 5, zero, 16, out, tag, 1000),
			 -EINVAL);
}

/* A device that cannot: the CPU does it. */
static void test_lacking(void **state)
{
	struct env *e = *state;
	struct accel_dev *dev = dev_open(e->ctx, "soft:nsid=5");
	uint8_t mem[3][100] = { "one", "two" }, digest[32], out[1000], tag[16], key[16] = { 0 },
		iv[12] = { 0 };
	const void *data[2] = { mem[0], mem[1] };
	void *parity[1] = { mem[2] };
	size_t n = sizeof(out);

	assert_int_equal(accel_compress(dev, ACCEL_GZIP, 1, "hello", 5, out, &n, 1000), 0);
	assert_int_equal(accel_ec_encode(dev, 2, 1, 100, data, parity, 1000), 0);
	assert_int_equal(accel_aes_gcm_seal(dev, key, 16, iv, NULL, 0, "hello", 5, out, tag, 1000), 0);
	assert_int_equal(accel_sha256(dev, "abc", 3, digest, 1000), 0);
	accel_dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compress),    cmocka_unit_test(test_short),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_members),
		cmocka_unit_test(test_sums),	    cmocka_unit_test(test_ec),
		cmocka_unit_test(test_ec_refusals), cmocka_unit_test(test_gcm),
		cmocka_unit_test(test_lacking),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
