// SPDX-License-Identifier: GPL-2.0-only
/* Checksums, digests, data movement, chains. */
#include <crypto/hash.h>
#include "engine_test.h"
#include "../../lib/engine/checksum.h"

static u64 bitwise(u64 poly, u64 crc, const u8 *p, size_t n)
{
	unsigned int bit;

	while (n--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (poly & -(crc & 1));
	}
	return crc;
}

/* From the polynomials alone. */
static u64 reference(u16 alg, u64 value, const u8 *p, size_t n)
{
	u32 a = value & 0xffff, b = value >> 16, bit;

	switch (alg) {
	case NVME_ACCEL_ALG_CRC32C:
		return (u32)~bitwise(0x82f63b78, (u32)~value, p, n);
	case NVME_ACCEL_ALG_CRC32:
		return (u32)~bitwise(0xedb88320, (u32)~value, p, n);
	case NVME_ACCEL_ALG_CRC64_NVME:
		return ~bitwise(CRC64_NVME_POLY, ~value, p, n);
	case NVME_ACCEL_ALG_T10DIF:
		for (; n; n--)
			for (value ^= *p++ << 8, bit = 0; bit < 8; bit++)
				value = (value << 1 ^ (value & 0x8000 ? 0x8bb7 : 0)) & 0xffff;
		return value;
	default:
		for (; n; n--) {
			a = (a + *p++) % 65521;
			b = (b + a) % 65521;
		}
		return (u64)b << 16 | a;
	}
}

static const struct {
	u16 alg;
	u64 check;		/* of 123456789 */
} sums[] = {
	{ NVME_ACCEL_ALG_CRC32C, 0xe3069283 }, { NVME_ACCEL_ALG_CRC32, 0xcbf43926 },
	{ NVME_ACCEL_ALG_T10DIF, 0xd0db },     { NVME_ACCEL_ALG_CRC64_NVME, 0xae8b14860a799888ull },
	{ NVME_ACCEL_ALG_ADLER32, 0x091e01de },
};

static u64 sum(struct t *t, u16 alg, u64 start, const u8 *p, size_t n)
{
	struct job job;

	t_scatter(t, &t->in, p, n);
	t_job(t, &job, n, 0);
	job.nout = 0;
	job.stage[0].op = NVME_ACCEL_OP_CHECKSUM;
	job.stage[0].alg = alg;
	job.stage[0].arg1 = start;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK && job.in_used == n && !job.out_len);
	return le64_get(job.long_result[0]);
}

void test_checksum(struct t *t)
{
	unsigned int i = t_below(t, ARRAY_SIZE(sums));
	size_t n = t_below(t, 100000), cut = t_below(t, n + 1);
	u64 start = sums[i].alg == NVME_ACCEL_ALG_ADLER32, whole, part;

	t_check(t, sum(t, sums[i].alg, start, "123456789", 9) == sums[i].check);
	t_fill(t, t->data, n, 0);
	whole = sum(t, sums[i].alg, start, t->data, n);
	t_check(t, whole == reference(sums[i].alg, start, t->data, n));
	part = sum(t, sums[i].alg, start, t->data, cut);
	t_check(t, sum(t, sums[i].alg, part, t->data + cut, n - cut) == whole);
}

static const struct {
	u16 alg;
	u8 len;
	const char *name;
	u8 abc[8];		/* how the digest of abc begins */
} digests[] = {
	{ NVME_ACCEL_ALG_SHA256, 32, "sha256-generic", { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea } },
	{ NVME_ACCEL_ALG_SHA512, 64, "sha512-generic", { 0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba } },
	{ NVME_ACCEL_ALG_SHA3_256, 32, "sha3-256-generic", { 0x3a, 0x98, 0x5d, 0xa7, 0x4f, 0xe2, 0x25, 0xb2 } },
	{ NVME_ACCEL_ALG_BLAKE2B, 64, "blake2b-512-generic", { 0xba, 0x80, 0xa5, 0x3f, 0x98, 0x1c, 0x4d, 0x0d } },
};

static void digest(struct t *t, u16 alg, const u8 *p, size_t n, struct job *job)
{
	t_scatter(t, &t->in, p, n);
	t_job(t, job, n, 0);
	job->nout = 0;
	job->stage[0].op = NVME_ACCEL_OP_DIGEST;
	job->stage[0].alg = alg;
	kengine_run(t->th, job);
}

void test_digest(struct t *t)
{
	unsigned int i = t_below(t, ARRAY_SIZE(digests));
	struct crypto_shash *tfm = crypto_alloc_shash(digests[i].name, 0, 0);
	size_t n = t_below(t, 200000);
	struct job job;

	if (!t_check(t, !IS_ERR(tfm)))
		return;
	digest(t, digests[i].alg, "abc", 3, &job);
	t_check(t, job.code == NVME_ACCEL_OK && !memcmp(job.result[0], digests[i].abc, 8));
	t_fill(t, t->data, n, 0);
	digest(t, digests[i].alg, t->data, n, &job);
	crypto_shash_tfm_digest(tfm, t->data, n, t->want);
	t_check(t, job.code == NVME_ACCEL_OK && job.result_len[0] == digests[i].len &&
		   !memcmp(job.long_result[0], t->want, digests[i].len));
	crypto_free_shash(tfm);
}

void test_move(struct t *t)
{
	size_t n = t_below(t, 100000), i, at;
	struct job job;

	t_fill(t, t->data, n, 0);
	t_scatter(t, &t->in, t->data, n);
	t_scatter(t, &t->out, NULL, n + 100);
	t_job(t, &job, n, n + 50);
	job.stage[0].op = NVME_ACCEL_OP_COPY;
	kengine_run(t->th, &job);
	t_gather(&t->out, t->got, n);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && !memcmp(t->got, t->data, n));
	t_check(t, t_untouched(&t->out, n, 100));

	t_job(t, &job, 0, n);
	job.stage[0].op = NVME_ACCEL_OP_FILL;
	job.stage[0].arg1 = 0x0807060504030201ull;
	kengine_run(t->th, &job);
	t_gather(&t->out, t->got, n);
	for (i = 0; i < n && t->got[i] == i % 8 + 1; i++)
		;
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && i == n && t_untouched(&t->out, n, 100));

	memcpy(t->data + n, t->data, n);
	at = n ? t_below(t, n) : 0;
	if (n)
		t->data[n + at] ^= 1;
	t_scatter(t, &t->in, t->data, 2 * n);
	t_job(t, &job, 2 * n, 0);
	job.nout = 0;
	job.stage[0].op = NVME_ACCEL_OP_COMPARE;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK && job.retval == (n ? at : U64_MAX));
}

static void chain_there(struct t *t, struct job *job, size_t n, const u8 *param, u32 len)
{
	t_scatter(t, &t->in, t->data, n);
	t_scatter(t, &t->out, NULL, n + 2000);
	t_job(t, job, n, n + 1000);
	job->nstage = 4;
	job->flags = NVME_ACCEL_JOB_OUT_CRC | NVME_ACCEL_JOB_VERIFY;
	job->stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_CHECKSUM, .alg = NVME_ACCEL_ALG_CRC32C };
	job->stage[1] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = NVME_ACCEL_ALG_GZIP, .arg0 = 3 };
	job->stage[2] = (struct job_stage){ .op = NVME_ACCEL_OP_ENCRYPT, .alg = NVME_ACCEL_ALG_AES_GCM, .param = param,
					    .param_len = len };
	job->stage[3] = (struct job_stage){ .op = NVME_ACCEL_OP_DIGEST, .alg = NVME_ACCEL_ALG_SHA256 };
	kengine_run(t->th, job);
}

/* Sums, compresses, encrypts, hashes; and back. */
void test_chain(struct t *t)
{
	static const u8 key[32] = "a key of the tests, 32 bytes lon", iv[12] = "of 12 bytes.";
	struct wire_cipher c = { .key = key, .key_len = 32, .iv = iv, .iv_len = 12, .tag_len = 16 };
	size_t n = 1 + t_below(t, 50000), len;
	struct job job, hash;
	u8 param[128], tag[16];

	t_fill(t, t->data, n, t_rnd(t));
	chain_there(t, &job, n, param, wire_cipher_encode(&c, 0, param, sizeof(param)));
	len = job.out_len;
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.in_used == n && job.sflags & NVME_ACCEL_SF_VERIFIED))
		return;
	t_check(t, le32_get(job.result[0]) == reference(NVME_ACCEL_ALG_CRC32C, 0, t->data, n));
	t_gather(&t->out, t->want, len);
	t_check(t, t_untouched(&t->out, job.out_max, 1000));
	t_check(t, job.out_crc == reference(NVME_ACCEL_ALG_CRC32C, 0, t->want, len));
	digest(t, NVME_ACCEL_ALG_SHA256, t->want, len, &hash);
	t_check(t, !memcmp(hash.result[0], job.result[3], 32));

	memcpy(tag, job.result[2], 16);
	c.tag = tag;
	t_scatter(t, &t->in, t->want, len);
	t_scatter(t, &t->out, NULL, n + 100);
	t_job(t, &job, len, n);
	job.nstage = 2;
	job.flags = NVME_ACCEL_JOB_IN_CRC;
	job.in_crc = reference(NVME_ACCEL_ALG_CRC32C, 0, t->want, len);
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_DECRYPT, .alg = NVME_ACCEL_ALG_AES_GCM, .param = param,
					   .param_len = wire_cipher_encode(&c, 1, param, sizeof(param)) };
	job.stage[1] = (struct job_stage){ .op = NVME_ACCEL_OP_DECOMPRESS, .alg = NVME_ACCEL_ALG_GZIP };
	kengine_run(t->th, &job);
	t_gather(&t->out, t->got, n);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && !memcmp(t->got, t->data, n));
	t_check(t, t_untouched(&t->out, n, 100));

	job.in_crc ^= 1;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_IN_CRC_ERROR);
	job.in_crc ^= 1;
	job.stage[1].alg = NVME_ACCEL_ALG_ZLIB;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA && job.fail_stage == 1 && !job.out_len);
	param[8 + 32 + 12] ^= 1;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_AUTH_FAILED && job.fail_stage == 0);
}
