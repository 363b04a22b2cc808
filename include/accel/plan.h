/* SPDX-License-Identifier: BSD-2-Clause */
/** Plans: a checked pipeline of one to four operations with their parameters. */
#ifndef ACCEL_PLAN_H
#define ACCEL_PLAN_H

#include <accel/dev.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_plan;

/** Who may do the work of a plan. */
enum accel_policy {
	ACCEL_PREFER_DEVICE = 0,	/**< the device; the CPU where it cannot (default) */
	ACCEL_DEVICE_ONLY = 1,		/**< never the CPU */
	ACCEL_CPU_ONLY = 2,		/**< never the device */
};

#define ACCEL_PLAN_VERIFY		(1u << 0)	/**< decompress and compare what was compressed */
#define ACCEL_PLAN_STORE_IF_LARGER	(1u << 1)	/**< output the input if it would grow */
#define ACCEL_PLAN_OUT_CRC		(1u << 2)	/**< CRC-32C of the output in the result */
#define ACCEL_PLAN_IN_CRC		(1u << 3)	/**< send a CRC-32C of the input for the device to check */

/** Deflate without final block, ended on a byte, so that chunks concatenate; and its reverse. */
#define ACCEL_STAGE_CHUNK	(1u << 0)
/** Decompress: bytes behind the end of the data are no error; in_used tells where it was. */
#define ACCEL_STAGE_TRAILING	(1u << 1)

/** A new, empty plan; the caller owns a reference. -ENOMEM. */
ACCEL_API int accel_plan_new(struct accel_ctx *ctx, struct accel_plan **plan);
ACCEL_API struct accel_plan *accel_plan_ref(struct accel_plan *plan);
/**
 * With the last reference the plan's keys are wiped, and the engines in this process forget them: at once, the
 * busy ones after their job, worker threads of soft: once they have had no job with a key for 0.1 s.
 */
ACCEL_API void accel_plan_unref(struct accel_plan *plan);

/*
 * Each of the following appends a stage. -E2BIG: there are four already; -EBUSY: the plan is sealed;
 * -EINVAL: an argument out of its range.
 */

/** level 0..9; window_bits 9..15 for the deflate family, 0 for 15 and for the others. */
ACCEL_API int accel_plan_compress(struct accel_plan *plan, uint16_t alg, uint32_t level, uint32_t window_bits,
				  uint32_t stage_flags);
ACCEL_API int accel_plan_decompress(struct accel_plan *plan, uint16_t alg, uint32_t stage_flags);
/** k data blocks of block_nbytes in, m parity blocks out; k + m <= 255. matrix: m x k bytes for
 *  ACCEL_EC_MATRIX, else NULL; copied. */
ACCEL_API int accel_plan_ec_encode(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
				   size_t block_nbytes, const uint8_t *matrix);
/** The k survivors in ascending order in, the lost blocks out; which ones: accel_params.lost, per job. */
ACCEL_API int accel_plan_ec_decode(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
				   size_t block_nbytes, const uint8_t *matrix);
/** Old data block, new data block, m old parity blocks in; m new ones out. index: accel_params.lost[0]. */
ACCEL_API int accel_plan_ec_update(struct accel_plan *plan, uint16_t alg, unsigned int k, unsigned int m,
				   size_t block_nbytes, const uint8_t *matrix);
ACCEL_API int accel_plan_xor(struct accel_plan *plan, unsigned int k, size_t block_nbytes);
ACCEL_API int accel_plan_pq(struct accel_plan *plan, unsigned int k, size_t block_nbytes);
/** key: 16 or 32 bytes (AES-XTS: 32 or 64), copied and wiped with the plan. unit_nbytes: AES-XTS data unit,
 *  0 for one unit a job. IV, AAD and tag: accel_params, per job. */
ACCEL_API int accel_plan_encrypt(struct accel_plan *plan, uint16_t alg, const void *key, size_t key_len,
				 size_t tag_len, size_t unit_nbytes);
ACCEL_API int accel_plan_decrypt(struct accel_plan *plan, uint16_t alg, const void *key, size_t key_len,
				 size_t tag_len, size_t unit_nbytes);
ACCEL_API int accel_plan_digest(struct accel_plan *plan, uint16_t alg);
/** initial: the checksum of what comes before (0; Adler-32: 1). */
ACCEL_API int accel_plan_checksum(struct accel_plan *plan, uint16_t alg, uint64_t initial);
ACCEL_API int accel_plan_copy(struct accel_plan *plan);

/** flags: ACCEL_PLAN_*. cpu_below: inputs shorter than this many bytes go to the CPU (0: none;
 *  accel_calibrate() measures it); only with ACCEL_PREFER_DEVICE. */
ACCEL_API int accel_plan_policy(struct accel_plan *plan, enum accel_policy policy, uint32_t flags,
				size_t cpu_below);
/**
 * Checks the plan against a device; from then on it cannot change and may be shared by threads and used
 * with any device of the same abilities. dev NULL: against the CPU engines.
 * -ENOTSUP: the device lacks a stage (accel_plan_error() says which and why) and the policy does not let
 * the CPU do it. -EINVAL: empty.
 */
ACCEL_API int accel_plan_seal(struct accel_plan *plan, struct accel_dev *dev);
/** Why the last accel_plan_*() call on this plan failed; "" if none did. Valid until the next call. */
ACCEL_API const char *accel_plan_error(const struct accel_plan *plan);

/** Worst case of output bytes for in_len bytes; UINT64_MAX if only the data can tell (decompress). */
ACCEL_API uint64_t accel_bound(const struct accel_plan *plan, uint64_t in_len);

#ifdef __cplusplus
}
#endif
#endif
