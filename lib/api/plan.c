/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans: making, checking of arguments, sealing. What a job adds to a plan is plan_build.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "api.h"

/* A matrix travels in a descriptor or in PLAN_PARAM_CPU bytes, beside the lists of a decode job. */
#define PLAN_MATRIX_MAX (PLAN_PARAM_CPU - 512)
#define PLAN_FLAGS (ACCEL_PLAN_VERIFY | ACCEL_PLAN_STORE_IF_LARGER | ACCEL_PLAN_OUT_CRC | ACCEL_PLAN_IN_CRC)

__attribute__((format(printf, 3, 4))) static int plan_fail(struct accel_plan *plan, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(plan->error, sizeof(plan->error), fmt, ap);
	va_end(ap);
	return err;
}

int accel_plan_new(struct accel_ctx *ctx, struct accel_plan **plan)
{
	struct accel_plan *p;

	if (!ctx || !plan)
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->refs = 1;
	p->ctx = accel_ctx_ref(ctx);
	p->constant = true;
	*plan = p;
	return 0;
}

struct accel_plan *accel_plan_ref(struct accel_plan *plan)
{
	if (plan)
		ref_get(&plan->refs);
	return plan;
}

void accel_plan_unref(struct accel_plan *plan)
{
	struct accel_ctx *ctx;
	unsigned int i;

	if (!plan || !ref_put(&plan->refs))
		return;
	for (i = 0; i < ACCEL_MAX_STAGES; i++) {
		if (!plan->own[i].bytes)
			continue;
		api_wipe(plan->own[i].bytes, plan->own[i].nbytes);
		free(plan->own[i].bytes);
	}
	ctx = plan->ctx;
	free(plan);
	accel_ctx_unref(ctx);
}

const char *accel_plan_error(const struct accel_plan *plan)
{
	return plan ? plan->error : "no plan was given";
}

/* What every call that changes a plan checks; on success the error of the call before is forgotten. */
static int plan_open(struct accel_plan *plan)
{
	if (!plan)
		return -EINVAL;
	if (ctx_stale(plan->ctx))
		return -ESTALE;
	if (plan->sealed)
		return plan_fail(plan, -EBUSY, "the plan is sealed; make a new one");
	plan->error[0] = '\0';
	return 0;
}

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
		*err = plan_fail(plan, -E2BIG, "a plan has at most %d stages; run a second plan on the output",
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
	return plan_fail(plan, -EINVAL, "stage %u (%s): %u is not the number of an algorithm; see enum accel_alg",
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
		return plan_fail(plan, -EINVAL, "stage %u (%s): flags %#x have bits that it does not know (%#x)", n,
				 op, st->flags, st->flags & ~known);
	if (st->flags & ACCEL_STAGE_CHUNK && st->alg != ACCEL_DEFLATE)
		return plan_fail(plan, -EINVAL, "stage %u (%s): chunks need raw deflate; take ACCEL_DEFLATE", n, op);
	if (st->flags & ACCEL_STAGE_TRAILING && st->alg == ACCEL_LZ4_BLOCK)
		return plan_fail(plan, -EINVAL, "stage %u (%s): an LZ4 block has no end of its own; leave out "
				 "ACCEL_STAGE_TRAILING", n, op);
	return 0;
}

static int plan_check_window(struct accel_plan *plan, const struct job_stage *st)
{
	if (!st->arg1 || (plan_is_deflate(st->alg) && st->arg1 >= 9 && st->arg1 <= 15))
		return 0;
	return plan_fail(plan, -EINVAL, "stage %u (%s): window of %llu bits; %s", plan->nstage + 1,
			 wire_op_name(st->op), (unsigned long long)st->arg1,
			 plan_is_deflate(st->alg) ? "9 to 15, or 0 for 15" : "0 for what is not of the deflate family");
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
		err = plan_fail(plan, -EINVAL, "stage %u (compress): level %u; 0 to 9", plan->nstage + 1, level);
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
		return plan_fail(plan, -EINVAL, "stage %u (%s): %u + %u blocks; at least 1 + 1 and together at most "
				 "255", n, op, k, m);
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
		return !matrix ? 0 : plan_fail(plan, -EINVAL, "stage %u (%s): a matrix without ACCEL_EC_MATRIX", n, op);
	if (!matrix)
		return plan_fail(plan, -EINVAL, "stage %u (%s): ACCEL_EC_MATRIX without a matrix", n, op);
	if (nbytes > PLAN_MATRIX_MAX)
		return plan_fail(plan, -EINVAL, "stage %u (%s): a matrix of %u bytes; at most %u", n, op, nbytes,
				 PLAN_MATRIX_MAX);
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
		err = plan_fail(plan, -EINVAL, "stage %u (%s): blocks of %zu bytes; at least 1", plan->nstage + 1,
				wire_op_name(op), block_nbytes);
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

static int plan_check_key(struct accel_plan *plan, const struct job_stage *st, const void *key, size_t key_len)
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
		return plan_fail(plan, -EINVAL, "stage %u (%s): a key of %zu bytes; %zu or %zu", n, op, key_len, a, b);
	/* IEEE 1619 and FIPS 140 forbid it: the tweak would no longer hide equal blocks. */
	if (st->alg == ACCEL_AES_XTS && !memcmp(key, (const uint8_t *)key + key_len / 2, key_len / 2))
		return plan_fail(plan, -EINVAL, "stage %u (%s): both halves of the key are the same", n, op);
	return 0;
}

static int plan_check_tag(struct accel_plan *plan, const struct job_stage *st, size_t tag_len, size_t unit_nbytes)
{
	unsigned int n = plan->nstage + 1;
	const char *op = wire_op_name(st->op);
	size_t lo = 0, hi = 0;

	if (st->alg == ACCEL_AES_GCM || st->alg == ACCEL_CHACHA20_POLY1305) {
		lo = st->alg == ACCEL_AES_GCM ? 12 : 16;
		hi = 16;
	}
	if (tag_len < lo || tag_len > hi)
		return plan_fail(plan, -EINVAL, "stage %u (%s): a tag of %zu bytes; %zu to %zu", n, op, tag_len, lo,
				 hi);
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
				plan->nstage + 1, (unsigned long long)initial, wire_alg_name(st->op, alg), len);
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

int accel_plan_policy(struct accel_plan *plan, enum accel_policy policy, uint32_t flags, size_t cpu_below)
{
	int err = plan_open(plan);

	if (err)
		return err;
	if ((unsigned int)policy > ACCEL_CPU_ONLY)
		return plan_fail(plan, -EINVAL, "policy %u is not one of enum accel_policy", (unsigned int)policy);
	if (flags & ~PLAN_FLAGS)
		return plan_fail(plan, -EINVAL, "plan flags %#x have unknown bits (%#x)", flags, flags & ~PLAN_FLAGS);
	if (cpu_below && policy != ACCEL_PREFER_DEVICE)
		return plan_fail(plan, -EINVAL, "cpu_below %zu only goes with ACCEL_PREFER_DEVICE", cpu_below);
	plan->policy = policy;
	plan->flags = flags;
	plan->cpu_below = cpu_below;
	plan->job_flags = (flags & ACCEL_PLAN_VERIFY ? NVME_ACCEL_JOB_VERIFY : 0) |
			  (flags & ACCEL_PLAN_STORE_IF_LARGER ? NVME_ACCEL_JOB_STORE_IF_LARGER : 0) |
			  (flags & ACCEL_PLAN_OUT_CRC ? NVME_ACCEL_JOB_OUT_CRC : 0) |
			  (flags & ACCEL_PLAN_IN_CRC ? NVME_ACCEL_JOB_IN_CRC : 0);
	return 0;
}

/* As if with a job of the smallest size: lengths are checked job by job, in dev_takes(). */
static uint64_t plan_nominal_len(const struct wire_id *id, const struct job_stage *st)
{
	const struct wire_op *op = wire_find_op(id, st->op, st->alg);
	uint64_t k = st->arg0 & 0xff, m = st->arg0 >> 8 & 0xff, n;

	switch (st->op) {
	case ACCEL_OP_EC_ENCODE:
	case ACCEL_OP_EC_DECODE:
	case ACCEL_OP_XOR:
	case ACCEL_OP_PQ_GEN:
		return k * st->arg1;
	case ACCEL_OP_EC_UPDATE:
		return (m + 2) * st->arg1;
	}
	if (!op)
		return 0;
	n = op->granule ? op->granule : 1;
	return op->min_in ? (op->min_in + n - 1) / n * n : n;
}

/* Stages for the check, with stand-ins for what a job brings. The key is what matters. */
static int plan_nominal_work(const struct accel_plan *plan, uint8_t *buf, size_t max, struct plan_work *work)
{
	static const uint8_t zero[16];
	struct accel_params params = ACCEL_INIT(struct accel_params);
	unsigned int i;

	for (i = 0; i < plan->nstage; i++) {
		params.stage[i].iv = zero;
		params.stage[i].iv_len = plan->stage[i].alg == ACCEL_AES_XTS || plan->stage[i].alg == ACCEL_AES_CTR ?
					 16 : 12;
		params.stage[i].tag = zero;
		params.stage[i].tag_len = plan->own[i].tag_len;
		params.stage[i].lost = zero;
		params.stage[i].nlost = 1;
	}
	return plan_build(plan, &params, 0, buf, max, work);
}

static int plan_lacks(struct accel_plan *plan, const struct wire_id *id, unsigned int at, const char *who)
{
	const struct job_stage *st = &plan->stage[at];
	const char *alg = st->alg ? wire_alg_name(st->op, st->alg) : NULL;
	const char *why = "has it, but not with these values";

	if (!wire_find_op(id, st->op, st->alg))
		why = "does not have it";
	else if (plan->nstage > 1)
		why = "has it, but not at this place of a chain or not with these values";
	return plan_fail(plan, -ENOTSUP, "stage %u (%s%s%s): %s %s", at + 1, wire_op_name(st->op), alg ? " " : "",
			 alg ? alg : "", who, why);
}

static int plan_check_table(struct accel_plan *plan, const struct wire_id *id, const char *who)
{
	uint8_t buf[PLAN_PARAM_CPU];
	struct plan_work work;
	unsigned int at = 0;
	uint32_t code;
	int err = plan_nominal_work(plan, buf, sizeof(buf), &work);

	if (err)
		return plan_fail(plan, err, "the plan cannot be built");
	code = wire_check_stages(id, work.stage, work.nstage, plan_nominal_len(id, &work.stage[0]), 0, &at);
	if (plan->secret)
		api_wipe(buf, sizeof(buf));
	if (code == NVME_ACCEL_OK)
		return 0;
	at = at < plan->nstage ? at : 0;
	return plan_lacks(plan, id, at, who);
}

/* The CPU engines as a table of operations. */
static int plan_check_cpu(struct accel_plan *plan)
{
	struct wire_id *id = calloc(1, sizeof(*id));
	int err;

	if (!id)
		return plan_fail(plan, -ENOMEM, "out of memory");
	id->maxstage = ACCEL_MAX_STAGES;
	id->maxin = id->maxout = UINT64_MAX;
	id->nops = (uint16_t)engine_ops(id->ops, NVME_ACCEL_MAX_OPS);
	err = plan_check_table(plan, id, "the CPU");
	free(id);
	return err;
}

static int plan_check_features(struct accel_plan *plan, const struct accel_dev *dev)
{
	static const struct { uint32_t flag; uint64_t feat; const char *name; } need[] = {
		{ ACCEL_PLAN_VERIFY, NVME_ACCEL_FEAT_VERIFY, "ACCEL_PLAN_VERIFY" },
		{ ACCEL_PLAN_OUT_CRC, NVME_ACCEL_FEAT_OUT_CRC, "ACCEL_PLAN_OUT_CRC" },
		{ ACCEL_PLAN_IN_CRC, NVME_ACCEL_FEAT_IN_CRC, "ACCEL_PLAN_IN_CRC" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(need) / sizeof(need[0]); i++)
		if (plan->flags & need[i].flag && !(dev->id.feat & need[i].feat))
			return plan_fail(plan, -ENOTSUP, "the device does not offer %s; leave it out", need[i].name);
	return 0;
}

static int plan_check_whole(struct accel_plan *plan)
{
	unsigned int i;

	if (!plan->nstage)
		return plan_fail(plan, -EINVAL, "the plan has no stage");
	if (!(plan->flags & (ACCEL_PLAN_VERIFY | ACCEL_PLAN_STORE_IF_LARGER)))
		return 0;
	for (i = 0; i < plan->nstage; i++)
		if (plan->stage[i].op == ACCEL_OP_COMPRESS)
			return 0;
	return plan_fail(plan, -EINVAL, "the plan's flags %#x ask for what only a compress stage can do", plan->flags);
}

static int plan_check_against(struct accel_plan *plan, const struct accel_dev *dev)
{
	int err;

	if (!dev || plan->policy == ACCEL_CPU_ONLY)
		return plan_check_cpu(plan);
	/* What a flag asks for stays an error: nobody would notice that it is missing. */
	err = plan_check_features(plan, dev);
	if (err)
		return err;
	err = plan_check_table(plan, &dev->id, "the device");
	if (err == -ENOTSUP && plan->policy == ACCEL_PREFER_DEVICE)
		err = plan_check_cpu(plan);
	return err;
}

int accel_plan_seal(struct accel_plan *plan, struct accel_dev *dev)
{
	int err = plan_open(plan);

	if (!err)
		err = plan_check_whole(plan);
	if (err)
		return err;
	if (dev && dev_stale(dev))
		return -ESTALE;
	if (!dev && plan->policy == ACCEL_DEVICE_ONLY)
		return plan_fail(plan, -EINVAL, "ACCEL_DEVICE_ONLY needs a device to seal the plan against");
	err = plan_check_against(plan, dev);
	if (err)
		return err;
	plan->error[0] = '\0';
	plan->sealed = true;
	return 0;
}

uint64_t accel_bound(const struct accel_plan *plan, uint64_t in_len)
{
	uint64_t n = in_len;
	unsigned int i;
	bool data = false;

	if (!plan || !plan->nstage)
		return UINT64_MAX;
	for (i = 0; i < plan->nstage && n != UINT64_MAX; i++) {
		/* Sums look at the data and pass it on. */
		if (plan->stage[i].op == ACCEL_OP_DIGEST || plan->stage[i].op == ACCEL_OP_CHECKSUM)
			continue;
		data = true;
		n = engine_bound(&plan->stage[i], n);
	}
	return data ? n : 0;
}
