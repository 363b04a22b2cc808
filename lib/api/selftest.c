/* SPDX-License-Identifier: BSD-2-Clause */
/* Known-answer jobs for what a device says it can do, run by the device alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "api.h"
#include "selftest_vectors.h"

#define OUT_NBYTES 2048u
#define EC_BLOCK   16u
#define PART(a)                                                                                              \
	{                                                                                                    \
		(void *)(a), sizeof(a)                                                                       \
	}
#define BLOCK(a, i)                                                                                          \
	{                                                                                                    \
		(void *)((a) + (i)*EC_BLOCK), EC_BLOCK                                                       \
	}
#define BYTES(a) (a), sizeof(a)

struct cipher_extra {
	const uint8_t *key, *iv, *aad, *tag;
	uint8_t key_len, iv_len, aad_len, tag_len, bad_tag;
};

struct vector {
	uint16_t op, alg;
	const char *what;
	struct iovec in[6];
	const uint8_t *out; /* NULL: judged by the CPU (compress) or not at all */
	size_t out_len;
	const uint8_t *result;
	size_t result_len;
	uint32_t status;
	const struct cipher_extra *cipher;
	const uint8_t *lost;
	uint8_t nlost, m;
};

static const uint8_t abc[3] = { 'a', 'b', 'c' };
static const uint8_t digits[9] = { '1', '2', '3', '4', '5', '6', '7', '8', '9' };
static const uint8_t sum_crc32c[4] = { 0x83, 0x92, 0x06, 0xe3 };
static const uint8_t sum_crc32[4] = { 0x26, 0x39, 0xf4, 0xcb };
static const uint8_t sum_t10dif[2] = { 0xdb, 0xd0 };
static const uint8_t sum_crc64[8] = { 0x88, 0x98, 0x79, 0x0a, 0x86, 0x14, 0x8b, 0xae };
static const uint8_t sum_adler[4] = { 0xde, 0x01, 0x1e, 0x09 };
static const uint8_t lost_1_4[2] = { 1, 4 };
static const uint8_t lost_1[1] = { 1 };

/* clang-format off */
#define AEAD(name, k, klen, iv, aad, tag, bad) \
	static const struct cipher_extra name = { k, iv, aad, tag, klen, sizeof(iv), sizeof(aad), 16, bad }
#define PLAIN(name, k, iv) \
	static const struct cipher_extra name = { k, iv, NULL, NULL, sizeof(k), sizeof(iv), 0, 0, 0 }

AEAD(gcm128, v_gcm_key, 16, v_gcm_iv, v_gcm_aad, v_gcm128_tag, 0);
AEAD(gcm256, v_gcm_key, 32, v_gcm_iv, v_gcm_aad, v_gcm256_tag, 0);
AEAD(gcm_bad, v_gcm_key, 16, v_gcm_iv, v_gcm_aad, v_gcm128_tag, 1);
AEAD(chacha, v_chacha_key, 32, v_chacha_iv, v_chacha_aad, v_chacha_tag, 0);
AEAD(chacha_bad, v_chacha_key, 32, v_chacha_iv, v_chacha_aad, v_chacha_tag, 1);
PLAIN(xts, v_xts_key, v_xts_iv);
PLAIN(ctr, v_ctr_key, v_ctr_iv);

#define UNPACK(a, name, v) { .op = ACCEL_OP_DECOMPRESS, .alg = a, .what = name, .in = { PART(v) }, \
	.out = v_text, .out_len = sizeof(v_text) }
#define CUT(a, name, v) { .op = ACCEL_OP_DECOMPRESS, .alg = a, .what = name " cut short", \
	.in = { { (void *)(v), sizeof(v) - 2 } }, .status = ACCEL_ST_BAD_INPUT_DATA }
#define PACK(a, name) { .op = ACCEL_OP_COMPRESS, .alg = a, .what = name, .in = { PART(v_text) } }
#define SUM(o, a, name, v, want) { .op = o, .alg = a, .what = name, .in = { PART(v) }, .result = want, \
	.result_len = sizeof(want) }
#define DATA BLOCK(v_ec_data, 0), BLOCK(v_ec_data, 1), BLOCK(v_ec_data, 2), BLOCK(v_ec_data, 3)
#define ENCODE(a, name, want, nm) { .op = ACCEL_OP_EC_ENCODE, .alg = a, .what = name " encode", \
	.in = { DATA }, .out = want, .out_len = (nm) * EC_BLOCK, .m = nm }
#define UPDATE(a, name, old, want, nm) { .op = ACCEL_OP_EC_UPDATE, .alg = a, .what = name " update", \
	.in = { BLOCK(v_ec_data, 1), PART(v_ec_new), { (void *)(old), (nm) * EC_BLOCK } }, .out = want, \
	.out_len = (nm) * EC_BLOCK, .m = nm, .lost = lost_1, .nlost = 1 }
/* Data block 1 and, of two, the first parity are lost; what comes back begins with the data block. */
#define DECODE(a, name, par, nm) { .op = ACCEL_OP_EC_DECODE, .alg = a, .what = name " decode", \
	.in = { BLOCK(v_ec_data, 0), BLOCK(v_ec_data, 2), BLOCK(v_ec_data, 3), BLOCK(par, (nm) - 1) }, \
	.out = v_ec_data + EC_BLOCK, .out_len = EC_BLOCK, .m = nm, .lost = lost_1_4, .nlost = nm }
#define CRYPT(a, name, x, plain, sealed, tag, ntag) \
	{ .op = ACCEL_OP_ENCRYPT, .alg = a, .what = name " encrypt", .in = { PART(plain) }, .out = sealed, \
	  .out_len = sizeof(sealed), .result = tag, .result_len = ntag, .cipher = &x }, \
	{ .op = ACCEL_OP_DECRYPT, .alg = a, .what = name " decrypt", .in = { PART(sealed) }, .out = plain, \
	  .out_len = sizeof(plain), .cipher = &x }
#define BAD_TAG(a, name, x, sealed) { .op = ACCEL_OP_DECRYPT, .alg = a, .what = name " with a wrong tag", \
	.in = { PART(sealed) }, .status = ACCEL_ST_AUTH_FAILED, .cipher = &x }

static const struct vector vectors[] = {
	PACK(ACCEL_DEFLATE, "deflate"), PACK(ACCEL_ZLIB, "zlib"), PACK(ACCEL_GZIP, "gzip"),
	PACK(ACCEL_LZ4_BLOCK, "LZ4 block"), PACK(ACCEL_LZ4_FRAME, "LZ4 frame"), PACK(ACCEL_ZSTD, "zstd"),
	UNPACK(ACCEL_DEFLATE, "inflate", v_deflate), UNPACK(ACCEL_ZLIB, "zlib inflate", v_zlib),
	UNPACK(ACCEL_GZIP, "gunzip", v_gzip), UNPACK(ACCEL_LZ4_BLOCK, "LZ4 block decode", v_lz4_block),
	UNPACK(ACCEL_LZ4_FRAME, "LZ4 frame decode", v_lz4_frame), UNPACK(ACCEL_ZSTD, "zstd decode", v_zstd),
	CUT(ACCEL_DEFLATE, "deflate", v_deflate), CUT(ACCEL_ZLIB, "zlib", v_zlib),
	CUT(ACCEL_GZIP, "gzip", v_gzip),
	CUT(ACCEL_LZ4_FRAME, "LZ4 frame", v_lz4_frame), CUT(ACCEL_ZSTD, "zstd", v_zstd),
	ENCODE(ACCEL_RS_CAUCHY, "Reed-Solomon", v_ec_rs, 2), ENCODE(ACCEL_EC_MATRIX, "matrix", v_ec_rs, 2),
	ENCODE(ACCEL_EC_XOR, "XOR", v_ec_pq, 1), ENCODE(ACCEL_EC_PQ, "P+Q", v_ec_pq, 2),
	UPDATE(ACCEL_RS_CAUCHY, "Reed-Solomon", v_ec_rs, v_ec_rs_new, 2),
	UPDATE(ACCEL_EC_MATRIX, "matrix", v_ec_rs, v_ec_rs_new, 2),
	UPDATE(ACCEL_EC_XOR, "XOR", v_ec_pq, v_ec_pq_new, 1),
	UPDATE(ACCEL_EC_PQ, "P+Q", v_ec_pq, v_ec_pq_new, 2),
	DECODE(ACCEL_RS_CAUCHY, "Reed-Solomon", v_ec_rs, 2), DECODE(ACCEL_EC_MATRIX, "matrix", v_ec_rs, 2),
	DECODE(ACCEL_EC_XOR, "XOR", v_ec_pq, 1), DECODE(ACCEL_EC_PQ, "P+Q", v_ec_pq, 2),
	{ .op = ACCEL_OP_XOR, .alg = ACCEL_EC_XOR, .what = "xor", .in = { DATA }, .out = v_ec_pq,
	  .out_len = EC_BLOCK },
	{ .op = ACCEL_OP_PQ_GEN, .alg = ACCEL_EC_PQ, .what = "P+Q of RAID", .in = { DATA }, .out = v_ec_pq,
	  .out_len = 2 * EC_BLOCK },
	CRYPT(ACCEL_AES_GCM, "AES-128-GCM", gcm128, v_gcm_in, v_gcm128_out, v_gcm128_tag, 16),
	CRYPT(ACCEL_AES_GCM, "AES-256-GCM", gcm256, v_gcm_in, v_gcm256_out, v_gcm256_tag, 16),
	CRYPT(ACCEL_AES_XTS, "AES-128-XTS", xts, v_xts_in, v_xts_out, NULL, 0),
	CRYPT(ACCEL_AES_CTR, "AES-128-CTR", ctr, v_ctr_in, v_ctr_out, NULL, 0),
	CRYPT(ACCEL_CHACHA20_POLY1305, "ChaCha20-Poly1305", chacha, v_chacha_in, v_chacha_out, v_chacha_tag,
	      16),
	BAD_TAG(ACCEL_AES_GCM, "AES-128-GCM", gcm_bad, v_gcm128_out),
	BAD_TAG(ACCEL_CHACHA20_POLY1305, "ChaCha20-Poly1305", chacha_bad, v_chacha_out),
	SUM(ACCEL_OP_DIGEST, ACCEL_SHA256, "SHA-256", abc, v_sha256),
	SUM(ACCEL_OP_DIGEST, ACCEL_SHA512, "SHA-512", abc, v_sha512),
	SUM(ACCEL_OP_DIGEST, ACCEL_SHA3_256, "SHA3-256", abc, v_sha3_256),
	SUM(ACCEL_OP_DIGEST, ACCEL_BLAKE2B, "BLAKE2b", abc, v_blake2b),
	SUM(ACCEL_OP_CHECKSUM, ACCEL_CRC32C, "CRC-32C", digits, sum_crc32c),
	SUM(ACCEL_OP_CHECKSUM, ACCEL_CRC32, "CRC-32", digits, sum_crc32),
	SUM(ACCEL_OP_CHECKSUM, ACCEL_T10DIF, "T10-DIF", digits, sum_t10dif),
	SUM(ACCEL_OP_CHECKSUM, ACCEL_CRC64_NVME, "CRC-64/NVMe", digits, sum_crc64),
	SUM(ACCEL_OP_CHECKSUM, ACCEL_ADLER32, "Adler-32", digits, sum_adler),
	{ .op = ACCEL_OP_COPY, .what = "copy", .in = { PART(v_text) }, .out = v_text,
	  .out_len = sizeof(v_text) },
};
/* clang-format on */

static unsigned int vector_nin(const struct vector *v)
{
	unsigned int n = 0;

	while (n < 6 && v->in[n].iov_len)
		n++;
	return n;
}

static int vector_stage(const struct vector *v, const struct accel_caps *caps, struct accel_plan *plan)
{
	const struct cipher_extra *x = v->cipher;
	const uint8_t *matrix = v->alg == ACCEL_EC_MATRIX ? v_ec_matrix : NULL;
	uint32_t level = BASE_MAX(caps->level_min, BASE_MIN(caps->level_max, 6));

	switch (v->op) {
	case ACCEL_OP_COMPRESS:
		return accel_plan_compress(plan, v->alg, level, 0, 0);
	case ACCEL_OP_DECOMPRESS:
		return accel_plan_decompress(plan, v->alg, 0);
	case ACCEL_OP_EC_ENCODE:
		return accel_plan_ec_encode(plan, v->alg, 4, v->m, EC_BLOCK, matrix);
	case ACCEL_OP_EC_DECODE:
		return accel_plan_ec_decode(plan, v->alg, 4, v->m, EC_BLOCK, matrix);
	case ACCEL_OP_EC_UPDATE:
		return accel_plan_ec_update(plan, v->alg, 4, v->m, EC_BLOCK, matrix);
	case ACCEL_OP_XOR:
		return accel_plan_xor(plan, 4, EC_BLOCK);
	case ACCEL_OP_PQ_GEN:
		return accel_plan_pq(plan, 4, EC_BLOCK);
	case ACCEL_OP_ENCRYPT:
		return accel_plan_encrypt(plan, v->alg, x->key, x->key_len, x->tag_len, 0);
	case ACCEL_OP_DECRYPT:
		return accel_plan_decrypt(plan, v->alg, x->key, x->key_len, x->tag_len, 0);
	case ACCEL_OP_DIGEST:
		return accel_plan_digest(plan, v->alg);
	case ACCEL_OP_CHECKSUM:
		return accel_plan_checksum(plan, v->alg, v->alg == ACCEL_ADLER32);
	}
	return accel_plan_copy(plan);
}

static void vector_params(const struct vector *v, struct accel_params *p, uint8_t tag[16])
{
	const struct cipher_extra *x = v->cipher;

	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->stage[0].lost = v->lost;
	p->stage[0].nlost = v->nlost;
	if (!x)
		return;
	p->stage[0].iv = x->iv;
	p->stage[0].iv_len = x->iv_len;
	p->stage[0].aad = x->aad;
	p->stage[0].aad_len = x->aad_len;
	if (v->op != ACCEL_OP_DECRYPT || !x->tag_len)
		return;
	memcpy(tag, x->tag, 16);
	tag[7] ^= x->bad_tag;
	p->stage[0].tag = tag;
	p->stage[0].tag_len = x->tag_len;
}

/* What was compressed must come back on the CPU. */
static bool unpacks(struct accel_ctx *ctx, const struct vector *v, const uint8_t *packed, size_t n)
{
	struct iovec in = { (void *)packed, n }, out;
	struct accel_result r = { 0 };
	struct accel_plan *plan;
	uint8_t text[sizeof(v_text)];
	bool ok;

	if (accel_plan_new(ctx, &plan))
		return false;
	out.iov_base = text;
	out.iov_len = sizeof(text);
	ok = !accel_plan_decompress(plan, v->alg, 0) && !accel_plan_seal(plan, NULL) &&
	     !cpu_run(ctx, plan, NULL, &in, 1, &out, 1, ACCEL_EXEC_SOFTWARE, &r) && r.status == ACCEL_ST_OK &&
	     r.out_len == sizeof(text) && !memcmp(text, v_text, sizeof(text));
	accel_plan_unref(plan);
	return ok;
}

static bool vector_right(struct accel_ctx *ctx, const struct vector *v, const struct accel_result *r,
			 const uint8_t *out)
{
	if (r->status != v->status)
		return false;
	if (v->status != ACCEL_ST_OK)
		return true;
	if (v->op == ACCEL_OP_COMPRESS)
		return unpacks(ctx, v, out, (size_t)r->out_len);
	if (v->out && (r->out_len < v->out_len || memcmp(out, v->out, v->out_len)))
		return false;
	return !v->result ||
	       (r->result_len[0] == v->result_len && !memcmp(r->result[0], v->result, v->result_len));
}

/* A plan for the vector, or NULL if the device has the operation but not for this one. */
static struct accel_plan *vector_plan(struct accel_dev *dev, const struct vector *v, int *err)
{
	struct accel_plan *plan = NULL;
	struct accel_caps caps;
	uint64_t len = iov_total(v->in, vector_nin(v));

	*err = 0;
	if (accel_dev_caps(dev, v->op, v->alg, &caps) || caps.op != v->op || caps.alg != v->alg ||
	    !caps.alone)
		return NULL;
	if (len < caps.min_in || len > caps.max_in || (caps.granule > 1 && len % caps.granule))
		return NULL;
	*err = accel_plan_new(dev->ctx, &plan);
	if (!*err)
		*err = vector_stage(v, &caps, plan);
	if (!*err)
		*err = accel_plan_policy(plan, ACCEL_DEVICE_ONLY, 0, 0);
	if (!*err)
		*err = accel_plan_seal(plan, dev);
	if (!*err)
		return plan;
	accel_plan_unref(plan);
	*err = *err == -ENOTSUP ? 0 : *err;
	return NULL;
}

static void vector_failed(struct accel_selftest *report, const struct vector *v, uint32_t status)
{
	if (report->failed++)
		return;
	report->op = v->op;
	report->alg = v->alg;
	report->status = status;
	snprintf(report->what, sizeof(report->what), "%s: %s", v->what,
		 status == v->status ? "a wrong answer" : accel_status_str(status));
}

static int vector_run(struct accel_dev *dev, const struct vector *v, uint8_t *out, int timeout_ms,
		      struct accel_selftest *report)
{
	struct iovec o = { out, OUT_NBYTES };
	struct accel_params params;
	struct accel_result r;
	uint8_t tag[16];
	int err;
	struct accel_plan *plan = vector_plan(dev, v, &err);

	if (!plan)
		return err;
	vector_params(v, &params, tag);
	err = accel_runv(dev, plan, v->in, vector_nin(v), &o, 1, &params, timeout_ms, &r);
	accel_plan_unref(plan);
	if (err)
		return err;
	report->ran++;
	if (!vector_right(dev->ctx, v, &r, out))
		vector_failed(report, v, r.status);
	return 0;
}

int accel_dev_selftest(struct accel_dev *dev, int timeout_ms, struct accel_selftest *report)
{
	struct accel_selftest own;
	uint64_t deadline;
	uint8_t *out;
	unsigned int i;
	int err = 0;

	if (!dev || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	report = report ? report : &own;
	memset(report, 0, sizeof(*report));
	out = calloc(1, OUT_NBYTES);
	if (!out)
		return -ENOMEM;
	deadline = api_deadline(timeout_ms);
	for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]) && !err; i++)
		err = vector_run(dev, &vectors[i], out, api_left_ms(deadline), report);
	free(out);
	return !err && report->failed ? -EBADMSG : err;
}
