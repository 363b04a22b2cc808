// SPDX-License-Identifier: BSD-2-Clause
/* The cipher family: its table in user space. */
#include "cipher.h"

static int takes(const struct job_stage *stage, uint64_t in_len)
{
	(void)in_len;
	return !stage->flags;
}

/* The parameters are checked when the job runs; here only a length counts that the entry cannot serve. */
static int takes_clmul(const struct job_stage *stage, uint64_t in_len)
{
	return takes(stage, in_len) && ghash_usable() && stage->param_len > 8 &&
	       stage->param[offsetof(struct nvme_accel_cipher, iv_len)] == 12;
}

#define PAIR(alg, name)                                                                                      \
	{ NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_##alg, #name, takes, cipher_##name##_run },                  \
	{ NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_##alg, #name, takes, cipher_##name##_run }
static const struct engine_fn fns[] = {
	{ NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM, "clmul", takes_clmul, cipher_clmul_run },
	{ NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_GCM, "clmul", takes_clmul, cipher_clmul_run },
	PAIR(AES_GCM, openssl), PAIR(AES_GCM, plain), PAIR(AES_XTS, openssl), PAIR(AES_XTS, plain),
	PAIR(AES_CTR, openssl), PAIR(AES_CTR, plain), PAIR(CHACHA20_POLY1305, openssl),
	PAIR(CHACHA20_POLY1305, plain),
};
#undef PAIR

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define K128 1
#define K256 4
#define K512 8
#define OP(a, o, min, keys, mbps)                                                                            \
	{ .op = NVME_ACCEL_OP_##o, .alg = NVME_ACCEL_ALG_##a, .flags = ANYWHERE, .min_in = min,              \
	  .granule = 1, .align = 1, .key_bits_mask = keys, .est_mbps = mbps, .est_overhead_ns = 500 }
/* Estimates: 128 KiB jobs on one server core of 2021 (with AES instructions), 256-bit keys. */
static const struct wire_op table[] = {
	OP(AES_GCM, ENCRYPT, 0, K128 | K256, 3500), OP(AES_GCM, DECRYPT, 0, K128 | K256, 3200),
	OP(AES_XTS, ENCRYPT, 0, K256 | K512, 5500), OP(AES_XTS, DECRYPT, 0, K256 | K512, 5500),
	OP(AES_CTR, ENCRYPT, 0, K128 | K256, 7000), OP(AES_CTR, DECRYPT, 0, K128 | K256, 7000),
	OP(CHACHA20_POLY1305, ENCRYPT, 0, K256, 2200), OP(CHACHA20_POLY1305, DECRYPT, 0, K256, 1800),
};
#undef OP

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = BASE_MIN(max, (unsigned int)(sizeof(table) / sizeof(table[0])));

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	(void)stage;
	return in_len;
}

const struct engine_family engine_cipher = { fns, sizeof(fns) / sizeof(fns[0]), ops, bound };
