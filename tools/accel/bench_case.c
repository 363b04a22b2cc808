/* SPDX-License-Identifier: BSD-2-Clause */
/* Inputs, plans and expected outcomes. The CPU engines make what is expected, once, before the clock runs. */
#include "bench.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint16_t op, alg;
} ops[] = {
	{ "compress", ACCEL_OP_COMPRESS, ACCEL_DEFLATE },
	{ "compress:gzip", ACCEL_OP_COMPRESS, ACCEL_GZIP },
	{ "compress:zlib", ACCEL_OP_COMPRESS, ACCEL_ZLIB },
	{ "compress:lz4", ACCEL_OP_COMPRESS, ACCEL_LZ4_FRAME },
	{ "compress:zstd", ACCEL_OP_COMPRESS, ACCEL_ZSTD },
	{ "decompress", ACCEL_OP_DECOMPRESS, ACCEL_DEFLATE },
	{ "decompress:gzip", ACCEL_OP_DECOMPRESS, ACCEL_GZIP },
	{ "decompress:zlib", ACCEL_OP_DECOMPRESS, ACCEL_ZLIB },
	{ "decompress:lz4", ACCEL_OP_DECOMPRESS, ACCEL_LZ4_FRAME },
	{ "decompress:zstd", ACCEL_OP_DECOMPRESS, ACCEL_ZSTD },
	{ "digest", ACCEL_OP_DIGEST, ACCEL_SHA256 },
	{ "sha256", ACCEL_OP_DIGEST, ACCEL_SHA256 },
	{ "sha512", ACCEL_OP_DIGEST, ACCEL_SHA512 },
	{ "sha3-256", ACCEL_OP_DIGEST, ACCEL_SHA3_256 },
	{ "blake2b", ACCEL_OP_DIGEST, ACCEL_BLAKE2B },
	{ "crc32c", ACCEL_OP_CHECKSUM, ACCEL_CRC32C },
	{ "crc32", ACCEL_OP_CHECKSUM, ACCEL_CRC32 },
	{ "crc64", ACCEL_OP_CHECKSUM, ACCEL_CRC64_NVME },
	{ "adler32", ACCEL_OP_CHECKSUM, ACCEL_ADLER32 },
	{ "ec", ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY },
	{ "ec-decode", ACCEL_OP_EC_DECODE, ACCEL_RS_CAUCHY },
	{ "xor", ACCEL_OP_XOR, ACCEL_EC_XOR },
	{ "seal", ACCEL_OP_ENCRYPT, ACCEL_AES_GCM },
	{ "open", ACCEL_OP_DECRYPT, ACCEL_AES_GCM },
	{ "copy", ACCEL_OP_COPY, 0 },
};

const char *const bench_op_names[] = {
	"compress[:gzip|zlib|lz4|zstd]",
	"decompress[:...]",
	"digest",
	"sha256",
	"sha512",
	"sha3-256",
	"blake2b",
	"crc32c",
	"crc32",
	"crc64",
	"adler32",
	"ec",
	"ec-decode",
	"xor",
	"seal",
	"open",
	"copy",
	NULL,
};

bool bench_op_find(const char *name, struct bench_op *op)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, name))
			continue;
		*op = (struct bench_op){ ops[i].name, ops[i].op, ops[i].alg };
		return true;
	}
	return false;
}

/* Any key will do: nothing of it is secret. */
static const uint8_t key[32] = "a key that protects nobody";

static int stage(const struct bench_case *c, struct accel_plan *plan, uint16_t op)
{
	switch (op) {
	case ACCEL_OP_COMPRESS:
		return accel_plan_compress(plan, c->op.alg, c->level, 0, 0);
	case ACCEL_OP_DECOMPRESS:
		return accel_plan_decompress(plan, c->op.alg, 0);
	case ACCEL_OP_DIGEST:
		return accel_plan_digest(plan, c->op.alg);
	case ACCEL_OP_CHECKSUM:
		return accel_plan_checksum(plan, c->op.alg, c->op.alg == ACCEL_ADLER32);
	case ACCEL_OP_EC_ENCODE:
		return accel_plan_ec_encode(plan, c->op.alg, c->k, c->m, c->size, NULL);
	case ACCEL_OP_EC_DECODE:
		return accel_plan_ec_decode(plan, c->op.alg, c->k, c->m, c->size, NULL);
	case ACCEL_OP_XOR:
		return accel_plan_xor(plan, c->k, c->size);
	case ACCEL_OP_ENCRYPT:
		return accel_plan_encrypt(plan, c->op.alg, key, sizeof(key), 16, 0);
	case ACCEL_OP_DECRYPT:
		return accel_plan_decrypt(plan, c->op.alg, key, sizeof(key), 16, 0);
	default:
		return accel_plan_copy(plan);
	}
}

static int make_plan(const struct bench_case *c, uint16_t op, enum accel_policy policy,
		     struct accel_plan **plan)
{
	int rc = accel_plan_new(tool_ctx(c->t), plan);

	if (!rc)
		rc = stage(c, *plan, op);
	if (!rc)
		rc = accel_plan_policy(*plan, policy, 0, 0);
	if (!rc)
		rc = accel_plan_seal(*plan, c->t->dev);
	return rc;
}

/* One job by the CPU, for inputs and for what is expected. */
static int by_cpu(const struct bench_case *c, uint16_t op, const uint8_t *in, size_t in_len, uint8_t *out,
		  size_t out_max, const struct accel_params *params, struct accel_result *r)
{
	struct accel_plan *plan = NULL;
	int rc = make_plan(c, op, ACCEL_CPU_ONLY, &plan);

	if (!rc)
		rc = accel_run(c->t->dev, plan, in, in_len, out, out_max, params, 30000, r);
	accel_plan_unref(plan);
	if (!rc && r->status != ACCEL_ST_OK)
		return tool_job_error(c->t, c->op.name, r);
	return rc ? tool_lib_error(c->t, c->op.name, rc) : 0;
}

static bool is_blocks(uint16_t op)
{
	return op == ACCEL_OP_EC_ENCODE || op == ACCEL_OP_EC_DECODE || op == ACCEL_OP_XOR;
}

/* Different text for each input, from the caller's. */
static uint8_t *piece(const uint8_t *text, size_t ntext, unsigned int i, size_t n)
{
	uint8_t *p = malloc(n ? n : 1);
	size_t at = ntext / BENCH_NINPUT * i, done = 0, part;

	while (p && done < n) {
		part = ntext - at < n - done ? ntext - at : n - done;
		memcpy(p + done, text + at, part);
		done += part;
		at = 0;
	}
	return p;
}

static int expect_plain(struct bench_case *c, unsigned int i, uint8_t *plain)
{
	struct accel_result r;
	int rc;

	c->in[i] = plain;
	c->in_len[i] = c->plain;
	if (c->op.op == ACCEL_OP_COMPRESS) {
		c->out[i] = malloc(c->plain);
		if (c->out[i])
			memcpy(c->out[i], plain, c->plain);
		return c->out[i] ? 0 : tool_error(c->t, c->op.name, "out of memory");
	}
	c->out[i] = calloc(1, c->out_max ? c->out_max : 1);
	if (!c->out[i])
		return tool_error(c->t, c->op.name, "out of memory");
	rc = by_cpu(c, c->op.op, plain, c->plain, c->out[i], c->out_max, &c->params[i], &r);
	c->out_len[i] = r.out_len;
	c->result_len = r.result_len[0];
	memcpy(c->result[i], r.result[0], ACCEL_RESULT_MAX);
	return rc;
}

/* Operations whose input is another's output: decompress, open. */
static int expect_reverse(struct bench_case *c, unsigned int i, uint8_t *plain)
{
	uint16_t op = c->op.op == ACCEL_OP_DECOMPRESS ? ACCEL_OP_COMPRESS : ACCEL_OP_ENCRYPT;
	size_t room = c->plain + c->plain / 8 + 4096;
	struct accel_params params = c->params[i];
	struct accel_result r;
	int rc;

	c->out[i] = plain;
	c->out_len[i] = c->plain;
	c->in[i] = malloc(room);
	if (!c->in[i])
		return tool_error(c->t, c->op.name, "out of memory");
	params.stage[0].tag = NULL;
	params.stage[0].tag_len = 0;
	rc = by_cpu(c, op, plain, c->plain, c->in[i], room, &params, &r);
	c->in_len[i] = r.out_len;
	memcpy(c->tag[i], r.result[0], sizeof(c->tag[i]));
	return rc;
}

/* The first data block is lost: the survivors are the other data and the first parity. */
static int expect_decode(struct bench_case *c, unsigned int i, uint8_t *plain)
{
	struct accel_params none = ACCEL_INIT(struct accel_params);
	uint8_t *parity = malloc(c->m * c->size);
	struct accel_result r;
	int rc;

	c->in[i] = plain;
	c->in_len[i] = c->plain;
	c->out[i] = malloc(c->size);
	c->out_len[i] = c->size;
	if (!parity || !c->out[i]) {
		free(parity);
		return tool_error(c->t, c->op.name, "out of memory");
	}
	rc = by_cpu(c, ACCEL_OP_EC_ENCODE, plain, c->plain, parity, c->m * c->size, &none, &r);
	memcpy(c->out[i], plain, c->size);
	memmove(plain, plain + c->size, (c->k - 1) * c->size);
	memcpy(plain + (c->k - 1) * c->size, parity, c->size);
	free(parity);
	return rc;
}

static int expect(struct bench_case *c, const uint8_t *text, size_t ntext)
{
	static const uint8_t iv[12] = "bench nonce";
	int rc = 0;

	for (unsigned int i = 0; i < BENCH_NINPUT && !rc; i++) {
		uint8_t *plain = piece(text, ntext, i, c->plain);

		if (!plain)
			return tool_error(c->t, c->op.name, "out of memory");
		c->params[i].size = sizeof(c->params[i]);
		if (c->op.op == ACCEL_OP_ENCRYPT || c->op.op == ACCEL_OP_DECRYPT) {
			c->params[i].stage[0].iv = iv;
			c->params[i].stage[0].iv_len = sizeof(iv);
		}
		if (c->op.op == ACCEL_OP_DECRYPT) {
			c->params[i].stage[0].tag = c->tag[i];
			c->params[i].stage[0].tag_len = 16;
		}
		if (c->op.op == ACCEL_OP_EC_DECODE) {
			c->params[i].stage[0].lost = c->lost;
			c->params[i].stage[0].nlost = 1;
			rc = expect_decode(c, i, plain);
		} else if (c->op.op == ACCEL_OP_DECOMPRESS || c->op.op == ACCEL_OP_DECRYPT) {
			rc = expect_reverse(c, i, plain);
		} else {
			rc = expect_plain(c, i, plain);
		}
	}
	return rc;
}

static const char *limits(const struct bench_case *c)
{
	struct accel_caps caps;

	if (accel_dev_caps(c->t->dev, c->op.op, c->op.alg, &caps))
		return "the device has not got this operation";
	if (c->plain > caps.max_in || c->plain < caps.min_in)
		return "the device does not take inputs of this size";
	if (is_blocks(c->op.op) && c->op.op != ACCEL_OP_XOR && (c->k > caps.k_max || c->m > caps.m_max))
		return "the device does not take so many blocks";
	return NULL;
}

int bench_case_init(struct bench_case *c, const uint8_t *text, size_t ntext, const char **why)
{
	int rc;

	c->plain = is_blocks(c->op.op) ? c->k * c->size : c->size;
	*why = limits(c);
	if (*why)
		return -1;
	rc = make_plan(c, c->op.op, c->t->hardware ? ACCEL_DEVICE_ONLY : ACCEL_PREFER_DEVICE, &c->plan);
	if (rc == -ENOTSUP) {
		*why = "the device has not got this operation";
		return -1;
	}
	if (!rc && c->op.op == ACCEL_OP_COMPRESS)
		rc = make_plan(c, ACCEL_OP_DECOMPRESS, ACCEL_CPU_ONLY, &c->check);
	if (rc)
		return tool_lib_error(c->t, c->op.name, rc);
	c->out_max = accel_bound(c->plan, c->plain);
	if (c->op.op == ACCEL_OP_DECOMPRESS)
		c->out_max = c->plain;
	return expect(c, text, ntext);
}

void bench_case_fini(struct bench_case *c)
{
	for (unsigned int i = 0; i < BENCH_NINPUT; i++) {
		free(c->in[i]);
		free(c->out[i]);
		c->in[i] = c->out[i] = NULL;
	}
	accel_plan_unref(c->plan);
	accel_plan_unref(c->check);
	c->plan = c->check = NULL;
}

bool bench_case_quick(const struct bench_case *c, unsigned int input, const struct accel_result *r)
{
	if (r->status != ACCEL_ST_OK || r->in_used != c->in_len[input])
		return false;
	if (c->op.op == ACCEL_OP_COMPRESS)
		return r->out_len > 0 && r->out_len <= c->out_max;
	return r->out_len == c->out_len[input] && !memcmp(r->result[0], c->result[input], c->result_len);
}

bool bench_case_whole(const struct bench_case *c, unsigned int input, const uint8_t *out,
		      const struct accel_result *r)
{
	struct accel_result check;
	uint8_t *plain;
	bool same;

	if (!bench_case_quick(c, input, r))
		return false;
	if (c->op.op != ACCEL_OP_COMPRESS)
		return !memcmp(out, c->out[input], c->out_len[input]);
	plain = malloc(c->plain);
	same = plain &&
	       !accel_run(c->t->dev, c->check, out, r->out_len, plain, c->plain, NULL, 30000, &check) &&
	       check.status == ACCEL_ST_OK && check.out_len == c->plain &&
	       !memcmp(plain, c->out[input], c->plain);
	free(plain);
	return same;
}
