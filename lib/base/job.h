/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A job as engines see it: what to do, on which bytes, and what came of it. The model fills it from a
 * descriptor; an engine runs it; no byte order and no lease is left in it.
 */
#ifndef ACCEL_BASE_JOB_H
#define ACCEL_BASE_JOB_H

#include "iov.h"

#define JOB_MAX_STAGES	4
#define JOB_RESULT_LEN	32
#define JOB_LONG_LEN	64

struct job_stage {
	uint16_t op;		/* enum nvme_accel_opcode */
	uint16_t alg;		/* enum nvme_accel_alg */
	uint32_t flags;		/* enum nvme_accel_stage_flags */
	uint32_t object;
	uint32_t arg0;
	uint64_t arg1;
	const uint8_t *param;	/* param_len bytes, not aligned */
	uint32_t param_len;
};

struct job {
	/* The request; an engine does not change it. */
	uint32_t nstage;
	uint32_t flags;		/* enum nvme_accel_desc_flags: VERIFY, OUT_CRC, IN_CRC, STORE_IF_LARGER */
	struct job_stage stage[JOB_MAX_STAGES];
	const struct base_iov *in;
	unsigned int nin;
	unsigned int nout;
	uint64_t in_len;	/* bytes of in that are input (in may be longer) */
	const struct base_iov *out;
	uint64_t out_max;	/* bytes of out that may be written (out may be longer) */
	uint32_t in_crc;	/* checked if flags has IN_CRC */
	int stop;		/* set to 1 atomically from elsewhere: end soon with ABORTED */

	/* The outcome. */
	uint32_t code;		/* enum nvme_accel_code */
	uint16_t fail_stage;
	uint16_t sflags;	/* enum nvme_accel_status_flags, without DUPLICATE_SEEN */
	uint64_t in_used;
	uint64_t out_len;	/* 0 unless code is OK */
	uint64_t out_needed;	/* with OUTPUT_SHORT */
	uint32_t out_crc;
	uint64_t retval;
	uint8_t result[JOB_MAX_STAGES][JOB_RESULT_LEN];	/* first bytes of each stage's result */
	uint8_t long_result[JOB_MAX_STAGES][JOB_LONG_LEN];	/* whole results of up to 64 bytes */
	uint8_t result_len[JOB_MAX_STAGES];	/* 0: the stage has no result */
};

#endif
