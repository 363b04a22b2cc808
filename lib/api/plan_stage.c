/* SPDX-License-Identifier: BSD-2-Clause */
/* The stages of a plan: every argument is checked here, with a sentence that says what would do. */
#include <stdlib.h>
#include "plan_priv.h"

/* A matrix travels in a descriptor or in PLAN_PARAM_CPU bytes, beside the lists of a decode job. */
#define PLAN_MATRIX_MAX (PLAN_PARAM_CPU - 512)

static int plan_copy_own(struct accel_plan *plan, const void *bytes, size_t nbytes)
{
	struct plan_own *own = &plan->own[plan->nstage];

	own->bytes = malloc(nbytes);
	if (!own->bytes)
		return plan_fail(plan, -ENOMEM, "out of memory");
	memcpy(own->bytes, bytes, nbytes);
	own->nbytes = (uint32_t)nbytes;
	return 0;
}

/* The next stage, cleared, or NULL with *err set. It counts once the caller adds 1 to nstage. */
static struct job_stage *plan_next(struct accel_plan *plan, uint16_t op, uint16_t alg, int *err)
{
	struct job_stage *st;

	*err = plan_open(plan);
	if (*err)
		return NULL;
	if (plan->nstage == ACCEL_MAX_STAGES) {
		*err = plan_fail(plan, -E2BIG,
				 "a plan has at most %d stages; run a second plan on the output",
				 ACCEL_MAX_STAGES);
		return NULL;
	}
	st = &plan->stage[plan->nstage];
	memset(st, 0, sizeof(*st));
	memset(&plan->own[plan->nstage], 0, sizeof(plan->own[0]));
	st->op = op;
	st->alg = alg;
	return st;
}

/* The numbers of an operation's algorithms, as bits. */
static uint32_t plan_algs(uint16_t op)
{
	switch (op) {
	case ACCEL_OP_COMPRESS:
	case ACCEL_OP_DECOMPRESS:
		return 1u << ACCEL_DEFLATE | 1u << ACCEL_ZLIB | 1u << ACCEL_GZIP | 1u << ACCEL_LZ4_BLOCK |
		       1u << ACCEL_LZ4_FRAME | 1u << ACCEL_ZSTD;
	case ACCEL_OP_EC_ENCODE:
	case ACCEL_OP_EC_DECODE:
	case ACCEL_OP_EC_UPDATE:
		return 1u << ACCEL_RS_CAUCHY | 1u << ACCEL_EC_MATRIX | 1u << ACCEL_EC_XOR | 1u << ACCEL_EC_PQ;
	case ACCEL_OP_ENCRYPT:
	case ACCEL_OP_DECRYPT:
		return 1u << ACCEL_AES_GCM | 1u << ACCEL_AES_XTS | 1u << ACCEL_AES_CTR |
		       1u << ACCEL_CHACHA20_POLY1305;
	case ACCEL_OP_DIGEST:
		return 1u << ACCEL_SHA256 | 1u << ACCEL_SHA512 | 1u << ACCEL_SHA3_256 | 1u << ACCEL_BLAKE2B;
	case ACCEL_OP_CHECKSUM:
		return 1u << ACCEL_CRC32C | 1u << ACCEL_CRC32 | 1u << ACCEL_T10DIF | 1u << ACCEL_CRC64_NVME |
		       1u << ACCEL_ADLER32;
	}
	return 0;
}

static int plan_check_alg(struct accel_plan *plan, const struct job_stage *st)
{
	if (st->alg < 32 && plan_algs(st->op) & 1u << st->alg)
		return 0;
	return plan_fail(plan, -EINVAL,
			 "stage %u (%s): %u is not the number of an algorithm; see enum accel_alg",
			 plan->nstage + 1, wire_op_name(st->op), st->alg);
}

static int plan_is_deflate(uint16_t alg)
{
	return alg == ACCEL_DEFLATE || alg == ACCEL_ZLIB || alg == ACCEL_GZIP;
}

static int plan_check_flags(struct accel_plan *plan, const struct job_stage *st)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);
	uint32_t known = ACCEL_STAGE_CHUNK | (st->op == ACCEL_OP_DECOMPRESS ? ACCEL_STAGE_TRAILING : 0);

	if (st->flags & ~known)
		return plan_fail(plan, -EINVAL,
				 "stage %u (%s): flags %#x have bits that it does not know (%#x)", n, op,
				 st->flags, st->flags & ~known);
	if (st->flags & ACCEL_STAGE_CHUNK && st->alg != ACCEL_DEFLATE)
		return plan_fail(plan, -EINVAL, "stage %u (%s): chunks need raw deflate; take ACCEL_DEFLATE",
				 n, op);
	if (st->flags & ACCEL_STAGE_TRAILING && st->alg == ACCEL_LZ4_BLOCK)
		return plan_fail(plan, -EINVAL,
				 "stage %u (%s): an LZ4 block has no end of its own; leave out "
				 "ACCEL_STAGE_TRAILING",
				 n, op);
	return 0;
}

static int plan_check_window(struct accel_plan *plan, const struct job_stage *st)
{
	if (!st->arg1 || (plan_is_deflate(st->alg) && st->arg1 >= 9 && st->arg1 <= 15))
		return 0;
	return plan_fail(plan, -EINVAL, "stage %u (%s): window of %llu bits; %s", plan->nstage + 1,
			 wire_op_name(st->op), (unsigned long long)st->arg1,
			 plan_is_deflate(st->alg) ? "9 to 15, or 0 for 15"
						  : "0 for what is not of the deflate family");
}

int accel_plan_compress(struct accel_plan *plan, uint16_t alg, uint32_t level, uint32_t window_bits,
			uint32_t stage_flags)
{
	int err;
	struct job_stage *st = plan_next(plan, ACCEL_OP_COMPRESS, alg, &err);

	if (!st)
		return err;
	st->arg0 = level;
	st->arg1 = window_bits;
	st->flags = stage_flags;
	err = plan_check_alg(plan, st);
	if (!err && level > 9)
		err = plan_fail(plan, -EINVAL, "stage %u (compress): level %u; 0 to 9", plan->nstage + 1,
				level);
	if (!err)
		err = plan_check_window(plan, st);
	if (!err)
		err = plan_check_flags(plan, st);
	if (!err)
		plan->nstage++;
	return err;
}

int accel_plan_decompress(struct accel_plan *plan, uint16_t alg, uint32_t stage_flags)
{
	int err;
	struct job_stage *st = plan_next(plan, ACCEL_OP_DECOMPRESS, alg, &err);

	if (!st)
		return err;
	st->flags = stage_flags;
	err = plan_check_alg(plan, st);
	if (!err)
		err = plan_check_flags(plan, st);
	if (!err)
		plan->nstage++;
	return err;
}

static int plan_check_km(struct accel_plan *plan, const struct job_stage *st, unsigned int k, unsigned int m)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);

	if (k < 1 || m < 1 || k > 254 || m > 254 || k + m > 255)
		return plan_fail(plan, -EINVAL,
				 "stage %u (%s): %u + %u blocks; at least 1 + 1 and together at most "
				 "255",
				 n, op, k, m);
	if (st->alg == ACCEL_EC_XOR && m != 1)
		return plan_fail(plan, -EINVAL, "stage %u (%s): xor makes 1 parity block, not %u", n, op, m);
	if (st->alg == ACCEL_EC_PQ && m != 2)
		return plan_fail(plan, -EINVAL, "stage %u (%s): P+Q makes 2 parity blocks, not %u", n, op, m);
	return 0;
}

static int plan_check_matrix(struct accel_plan *plan, const struct job_stage *st, unsigned int nbytes,
			     const uint8_t *matrix)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);

	if (st->alg != ACCEL_EC_MATRIX)
		return !matrix ? 0
			       : plan_fail(plan, -EINVAL, "stage %u (%s): a matrix without ACCEL_EC_MATRIX",
					   n, op);
	if (!matrix)
		return plan_fail(plan, -EINVAL, "stage %u (%s): ACCEL_EC_MATRIX without a matrix", n, op);
	if (nbytes > PLAN_MATRIX_MAX)
		return plan_fail(plan, -EINVAL, "stage %u (%s): a matrix of %u bytes; at most %u", n, op,
				 nbytes, PLAN_MATRIX_MAX);
	return plan_copy_own(plan, matrix, nbytes);
}

/* Blocks of all erasure operations. How many bytes a job must bring is the engine's to check. */
static int plan_ec(struct accel_plan *plan, uint16_t op, uint16_t alg, unsigned int k, unsigned int m,
		   size_t block_nbytes, const uint8_t *matrix)
{
	int err;
	struct job_stage *st = plan_next(plan, op, alg, &err);
	struct plan_own *own;

	if (!st)
		return err;
	err = plan_algs(op) ? plan_check_alg(plan, st) : 0;
	if (!err)
		err = plan_check_km(plan, st, k, m);
	if (!err && (!block_nbytes || block_nbytes > SIZE_MAX / 512))
		err = plan_fail(plan, -EINVAL, "stage %u (%s): blocks of %zu bytes; at least 1",
				plan->nstage + 1, wire_op_name(op), block_nbytes);
	if (!err)
		err = plan_check_matrix(plan, st, k * m, matrix);
	if (err)
		return err;
	own = &plan->own[plan->nstage];
	own->k = (uint8_t)k;
	own->m = (uint8_t)m;
	own->per_job = op == ACCEL_OP_EC_DECODE || op == ACCEL_OP_EC_UPDATE;
	st->arg0 = k | m << 8;
	st->arg1 = block_nbytes;
	if (!own->per_job) {
		st->param = own->bytes;
		st->param_len = own->nbytes;
	}
	plan->constant = plan->constant && !own->per_job;
	plan->nstage++;
	return 0;
}

int accel_plan_ec_encode(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
			 size_t block_nbytes, const uint8_t *matrix)
{
	return plan_ec(plan, ACCEL_OP_EC_ENCODE, alg, k, m, block_nbytes, matrix);
}

int accel_plan_ec_decode(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
			 size_t block_nbytes, const uint8_t *matrix)
{
	return plan_ec(plan, ACCEL_OP_EC_DECODE, alg, k, m, block_nbytes, matrix);
}

int accel_plan_ec_update(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
			 size_t block_nbytes, const uint8_t *matrix)
{
	return plan_ec(plan, ACCEL_OP_EC_UPDATE, alg, k, m, block_nbytes, matrix);
}

int accel_plan_xor(struct accel_plan *plan, unsigned int k, size_t block_nbytes)
{
	return plan_ec(plan, ACCEL_OP_XOR, ACCEL_EC_XOR, k, 1, block_nbytes, NULL);
}

int accel_plan_pq(struct accel_plan *plan, unsigned int k, size_t block_nbytes)
{
	return plan_ec(plan, ACCEL_OP_PQ_GEN, ACCEL_EC_PQ, k, 2, block_nbytes, NULL);
}

static int plan_check_key(struct accel_plan *plan, const struct job_stage *st, const void *key,
			  size_t key_len)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);
	size_t a = 16, b = 32;

	if (st->alg == ACCEL_AES_XTS) {
		a = 32;
		b = 64;
	} else if (st->alg == ACCEL_CHACHA20_POLY1305) {
		a = 32;
	}
	if (!key)
		return plan_fail(plan, -EINVAL, "stage %u (%s): no key", n, op);
	if (key_len != a && key_len != b)
		return plan_fail(plan, -EINVAL, "stage %u (%s): a key of %zu bytes; %zu or %zu", n, op,
				 key_len, a, b);
	/* IEEE 1619 and FIPS 140 forbid it: the tweak would no longer hide equal blocks. */
	if (st->alg == ACCEL_AES_XTS && !memcmp(key, (const uint8_t *)key + key_len / 2, key_len / 2))
		return plan_fail(plan, -EINVAL, "stage %u (%s): both halves of the key are the same", n, op);
	return 0;
}

static int plan_check_tag(struct accel_plan *plan, const struct job_stage *st, size_t tag_len,
			  size_t unit_nbytes)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);
	size_t lo = 0, hi = 0;

	if (st->alg == ACCEL_AES_GCM || st->alg == ACCEL_CHACHA20_POLY1305) {
		lo = st->alg == ACCEL_AES_GCM ? 12 : 16;
		hi = 16;
	}
	if (tag_len < lo || tag_len > hi)
		return plan_fail(plan, -EINVAL, "stage %u (%s): a tag of %zu bytes; %zu to %zu", n, op,
				 tag_len, lo, hi);
	if (unit_nbytes && st->alg != ACCEL_AES_XTS)
		return plan_fail(plan, -EINVAL, "stage %u (%s): data units are AES-XTS's; give 0", n, op);
	if (unit_nbytes && unit_nbytes < 16)
		return plan_fail(plan, -EINVAL, "stage %u (%s): data units of %zu bytes; at least 16", n, op,
				 unit_nbytes);
	return 0;
}

static int plan_cipher(struct accel_plan *plan, uint16_t op, uint16_t alg, const void *key, size_t key_len,
		       size_t tag_len, size_t unit_nbytes)
{
	int err;
	struct job_stage *st = plan_next(plan, op, alg, &err);
	struct plan_own *own;

	if (!st)
		return err;
	err = plan_check_alg(plan, st);
	if (!err)
		err = plan_check_key(plan, st, key, key_len);
	if (!err)
		err = plan_check_tag(plan, st, tag_len, unit_nbytes);
	if (!err)
		err = plan_copy_own(plan, key, key_len);
	if (err)
		return err;
	own = &plan->own[plan->nstage];
	own->key_len = (uint32_t)key_len;
	own->tag_len = (uint32_t)tag_len;
	own->per_job = true;
	st->arg1 = unit_nbytes;
	plan->result_len[plan->nstage] = op == ACCEL_OP_ENCRYPT ? (uint8_t)tag_len : 0;
	plan->constant = false;
	plan->secret = true;
	plan->nstage++;
	return 0;
}

int accel_plan_encrypt(struct accel_plan *plan, uint16_t alg, const void *key, size_t key_len, size_t tag_len,
		       size_t unit_nbytes)
{
	return plan_cipher(plan, ACCEL_OP_ENCRYPT, alg, key, key_len, tag_len, unit_nbytes);
}

int accel_plan_decrypt(struct accel_plan *plan, uint16_t alg, const void *key, size_t key_len, size_t tag_len,
		       size_t unit_nbytes)
{
	return plan_cipher(plan, ACCEL_OP_DECRYPT, alg, key, key_len, tag_len, unit_nbytes);
}

int accel_plan_digest(struct accel_plan *plan, uint16_t alg)
{
	int err;
	struct job_stage *st = plan_next(plan, ACCEL_OP_DIGEST, alg, &err);

	if (!st)
		return err;
	err = plan_check_alg(plan, st);
	if (err)
		return err;
	plan->result_len[plan->nstage++] = alg == ACCEL_SHA512 || alg == ACCEL_BLAKE2B ? 64 : 32;
	return 0;
}

static uint8_t plan_checksum_len(uint16_t alg)
{
	if (alg == ACCEL_T10DIF)
		return 2;
	return alg == ACCEL_CRC64_NVME ? 8 : 4;
}

int accel_plan_checksum(struct accel_plan *plan, uint16_t alg, uint64_t initial)
{
	int err;
	struct job_stage *st = plan_next(plan, ACCEL_OP_CHECKSUM, alg, &err);
	uint8_t len = plan_checksum_len(alg);

	if (!st)
		return err;
	st->arg1 = initial;
	err = plan_check_alg(plan, st);
	if (!err && len < 8 && initial >> 8 * len)
		err = plan_fail(plan, -EINVAL, "stage %u (checksum): %#llx to go on from; %s has %u bytes",
				plan->nstage + 1, (unsigned long long)initial, wire_alg_name(st->op, alg),
				len);
	if (err)
		return err;
	plan->result_len[plan->nstage++] = len;
	return 0;
}

int accel_plan_copy(struct accel_plan *plan)
{
	int err;
	struct job_stage *st = plan_next(plan, ACCEL_OP_COPY, 0, &err);

	if (!st)
		return err;
	plan->nstage++;
	return 0;
}
