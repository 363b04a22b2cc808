// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers as words: for messages, listings and command lines. */
#include "wire_priv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const err_names[] = {
	[WIRE_OK] = "no error",
	[WIRE_MAGIC] = "no accelerator data",
	[WIRE_VERSION] = "unknown version",
	[WIRE_CRC] = "wrong checksum",
	[WIRE_LENGTH] = "length out of range",
	[WIRE_RESERVED] = "reserved field in use",
	[WIRE_RANGE] = "forbidden value",
	[WIRE_GEOMETRY] = "impossible geometry",
	[WIRE_OPS] = "malformed table of operations",
};

static const char *const op_names[] = {
	[NVME_ACCEL_OP_COMPRESS] = "compress",
	[NVME_ACCEL_OP_DECOMPRESS] = "decompress",
	[NVME_ACCEL_OP_EC_ENCODE] = "ec-encode",
	[NVME_ACCEL_OP_EC_DECODE] = "ec-decode",
	[NVME_ACCEL_OP_EC_UPDATE] = "ec-update",
	[NVME_ACCEL_OP_ENCRYPT] = "encrypt",
	[NVME_ACCEL_OP_DECRYPT] = "decrypt",
	[NVME_ACCEL_OP_DIGEST] = "digest",
	[NVME_ACCEL_OP_CHECKSUM] = "checksum",
	[NVME_ACCEL_OP_PROGRAM] = "program",
	[NVME_ACCEL_OP_COPY] = "copy",
	[NVME_ACCEL_OP_FILL] = "fill",
	[NVME_ACCEL_OP_COMPARE] = "compare",
	[NVME_ACCEL_OP_XOR] = "xor",
	[NVME_ACCEL_OP_PQ_GEN] = "pq-gen",
	[NVME_ACCEL_OP_OBJECT_LOAD] = "object-load",
	[NVME_ACCEL_OP_OBJECT_DROP] = "object-drop",
};

static const char *const compression_names[] = {
	[NVME_ACCEL_ALG_DEFLATE] = "deflate",
	[NVME_ACCEL_ALG_ZLIB] = "zlib",
	[NVME_ACCEL_ALG_GZIP] = "gzip",
	[NVME_ACCEL_ALG_LZ4] = "lz4-block",
	[NVME_ACCEL_ALG_LZ4F] = "lz4",	/* as the command of that name writes it */
	[NVME_ACCEL_ALG_ZSTD] = "zstd",
};

static const char *const erasure_names[] = {
	[NVME_ACCEL_ALG_RS_CAUCHY] = "rs-cauchy",
	[NVME_ACCEL_ALG_MATRIX] = "matrix",
	[NVME_ACCEL_ALG_XOR] = "xor",
	[NVME_ACCEL_ALG_PQ] = "pq",
};

static const char *const cipher_names[] = {
	[NVME_ACCEL_ALG_AES_GCM] = "aes-gcm",
	[NVME_ACCEL_ALG_AES_XTS] = "aes-xts",
	[NVME_ACCEL_ALG_AES_CTR] = "aes-ctr",
	[NVME_ACCEL_ALG_CHACHA20_POLY1305] = "chacha20-poly1305",
};

static const char *const digest_names[] = {
	[NVME_ACCEL_ALG_SHA256] = "sha256",
	[NVME_ACCEL_ALG_SHA512] = "sha512",
	[NVME_ACCEL_ALG_SHA3_256] = "sha3-256",
	[NVME_ACCEL_ALG_BLAKE2B] = "blake2b",
};

static const char *const checksum_names[] = {
	[NVME_ACCEL_ALG_CRC32C] = "crc32c",
	[NVME_ACCEL_ALG_CRC32] = "crc32",
	[NVME_ACCEL_ALG_T10DIF] = "t10dif",
	[NVME_ACCEL_ALG_CRC64_NVME] = "crc64-nvme",
	[NVME_ACCEL_ALG_ADLER32] = "adler32",
};

static const char *const code_names[NVME_ACCEL_CODES] = {
	[NVME_ACCEL_OK] = "OK",
	[NVME_ACCEL_BAD_DESC] = "BAD_DESC",
	[NVME_ACCEL_UNSUPPORTED_OP] = "UNSUPPORTED_OP",
	[NVME_ACCEL_BAD_PARAM] = "BAD_PARAM",
	[NVME_ACCEL_BAD_OBJECT] = "BAD_OBJECT",
	[NVME_ACCEL_SHORT_WRITE] = "SHORT_WRITE",
	[NVME_ACCEL_DATA_MISSING] = "DATA_MISSING",
	[NVME_ACCEL_IN_CRC_ERROR] = "IN_CRC_ERROR",
	[NVME_ACCEL_OUTPUT_SHORT] = "OUTPUT_SHORT",
	[NVME_ACCEL_BAD_INPUT_DATA] = "BAD_INPUT_DATA",
	[NVME_ACCEL_AUTH_FAILED] = "AUTH_FAILED",
	[NVME_ACCEL_VERIFY_FAILED] = "VERIFY_FAILED",
	[NVME_ACCEL_NOT_INVERTIBLE] = "NOT_INVERTIBLE",
	[NVME_ACCEL_PROGRAM_FAULT] = "PROGRAM_FAULT",
	[NVME_ACCEL_PROGRAM_LIMIT] = "PROGRAM_LIMIT",
	[NVME_ACCEL_PROGRAM_REJECTED] = "PROGRAM_REJECTED",
	[NVME_ACCEL_STREAM_ERROR] = "STREAM_ERROR",
	[NVME_ACCEL_SEQ_GAP] = "SEQ_GAP",
	[NVME_ACCEL_BUSY] = "BUSY",
	[NVME_ACCEL_NO_RESOURCES] = "NO_RESOURCES",
	[NVME_ACCEL_LEASE_LOST] = "LEASE_LOST",
	[NVME_ACCEL_ABORTED] = "ABORTED",
	[NVME_ACCEL_TIMEOUT] = "TIMEOUT",
	[NVME_ACCEL_RESET] = "RESET",
	[NVME_ACCEL_DEVICE_FAULT] = "DEVICE_FAULT",
	[NVME_ACCEL_NSREF_DENIED] = "NSREF_DENIED",
	[NVME_ACCEL_NSREF_IO] = "NSREF_IO",
	[NVME_ACCEL_INCOMPRESSIBLE] = "INCOMPRESSIBLE",
};

static const char *const type_names[] = {
	[NVME_ACCEL_TYPE_COMPRESSION] = "compression",
	[NVME_ACCEL_TYPE_ERASURE] = "erasure coding",
	[NVME_ACCEL_TYPE_CIPHER] = "cipher",
	[NVME_ACCEL_TYPE_DIGEST] = "digest",
	[NVME_ACCEL_TYPE_CHECKSUM] = "checksum",
	[NVME_ACCEL_TYPE_PROGRAM] = "program",
	[NVME_ACCEL_TYPE_DATA] = "data movement",
	[NVME_ACCEL_TYPE_MULTI] = "several functions",
};

/* The names of the algorithms that an operation may have. */
static const char *const *alg_table(uint16_t op, size_t *n)
{
	switch (op) {
	case NVME_ACCEL_OP_COMPRESS:
	case NVME_ACCEL_OP_DECOMPRESS:
		*n = COUNT(compression_names);
		return compression_names;
	case NVME_ACCEL_OP_EC_ENCODE:
	case NVME_ACCEL_OP_EC_DECODE:
	case NVME_ACCEL_OP_EC_UPDATE:
	case NVME_ACCEL_OP_XOR:
	case NVME_ACCEL_OP_PQ_GEN:
		*n = COUNT(erasure_names);
		return erasure_names;
	case NVME_ACCEL_OP_ENCRYPT:
	case NVME_ACCEL_OP_DECRYPT:
		*n = COUNT(cipher_names);
		return cipher_names;
	case NVME_ACCEL_OP_DIGEST:
		*n = COUNT(digest_names);
		return digest_names;
	case NVME_ACCEL_OP_CHECKSUM:
		*n = COUNT(checksum_names);
		return checksum_names;
	default:
		*n = 0;
		return NULL;
	}
}

static const char *name_at(const char *const *names, size_t n, uint32_t i)
{
	return i < n ? names[i] : NULL;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static uint16_t number_of(const char *const *names, size_t n, const char *name)
{
	size_t i;

	for (i = 0; name && i < n; i++)
		if (names[i] && same(names[i], name))
			return (uint16_t)i;
	return 0;
}

const char *wire_err_str(enum wire_err err)
{
	const char *name = name_at(err_names, COUNT(err_names), err);

	return name ? name : "unknown error";
}

const char *wire_op_name(uint16_t op)
{
	return name_at(op_names, COUNT(op_names), op);
}

const char *wire_alg_name(uint16_t op, uint16_t alg)
{
	size_t n;
	const char *const *names = alg_table(op, &n);

	return name_at(names, n, alg);
}

const char *wire_code_name(uint32_t code)
{
	return name_at(code_names, COUNT(code_names), code);
}

const char *wire_type_name(uint16_t type)
{
	if (type == NVME_ACCEL_TYPE_TEST)
		return "test";
	if (type >= NVME_ACCEL_TYPE_VENDOR)
		return "vendor";
	return name_at(type_names, COUNT(type_names), type);
}

uint16_t wire_op_number(const char *name)
{
	return number_of(op_names, COUNT(op_names), name);
}

uint16_t wire_alg_number(uint16_t op, const char *name)
{
	size_t n;
	const char *const *names = alg_table(op, &n);

	return number_of(names, n, name);
}
