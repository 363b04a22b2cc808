/* SPDX-License-Identifier: BSD-2-Clause */
/** Outcomes: job status codes, results, and words for them. */
#ifndef ACCEL_STATUS_H
#define ACCEL_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ACCEL_API __attribute__((visibility("default")))
#else
#define ACCEL_API
#endif

#define ACCEL_VERSION_MAJOR 0
#define ACCEL_VERSION_MINOR 1
#define ACCEL_VERSION_PATCH 0

/** Bytes of the longest result of a stage (SHA-512, BLAKE2b). */
#define ACCEL_RESULT_MAX 64
#define ACCEL_MAX_STAGES 4

/** What became of a job. The numbers are those of the namespace interface, section 7, and stable. */
enum accel_status {
	ACCEL_ST_OK = 0,
	ACCEL_ST_BAD_DESC = 1,
	ACCEL_ST_UNSUPPORTED_OP = 2,
	ACCEL_ST_BAD_PARAM = 3,
	ACCEL_ST_BAD_OBJECT = 4,
	ACCEL_ST_SHORT_WRITE = 5,
	ACCEL_ST_DATA_MISSING = 6,
	ACCEL_ST_IN_CRC_ERROR = 7,
	ACCEL_ST_OUTPUT_SHORT = 8,	/**< the output does not fit; see out_needed */
	ACCEL_ST_BAD_INPUT_DATA = 9,	/**< corrupt or truncated compressed data, or not that format */
	ACCEL_ST_AUTH_FAILED = 10,	/**< wrong tag, key, IV or AAD; the output was not touched */
	ACCEL_ST_VERIFY_FAILED = 11,
	ACCEL_ST_NOT_INVERTIBLE = 12,
	ACCEL_ST_PROGRAM_FAULT = 13,
	ACCEL_ST_PROGRAM_LIMIT = 14,
	ACCEL_ST_PROGRAM_REJECTED = 15,
	ACCEL_ST_STREAM_ERROR = 16,
	ACCEL_ST_SEQ_GAP = 17,
	ACCEL_ST_BUSY = 18,
	ACCEL_ST_NO_RESOURCES = 19,
	ACCEL_ST_LEASE_LOST = 20,
	ACCEL_ST_ABORTED = 21,		/**< cancelled */
	ACCEL_ST_TIMEOUT = 22,
	ACCEL_ST_RESET = 23,
	ACCEL_ST_DEVICE_FAULT = 24,
	ACCEL_ST_NSREF_DENIED = 25,
	ACCEL_ST_NSREF_IO = 26,
	ACCEL_ST_INCOMPRESSIBLE = 27,
	ACCEL_ST_IO_ERROR = 0x1000,	/**< the path failed (os_error, nvme_status) and retries did too */
};

/** Who did the work. */
enum accel_executor {
	ACCEL_EXEC_NONE = 0,
	ACCEL_EXEC_HARDWARE = 1,
	ACCEL_EXEC_SOFTWARE = 2,	/**< a software accelerator, or the CPU as the plan's policy asked */
	ACCEL_EXEC_RETRIED = 3,		/**< the accelerator, after at least one retry */
	ACCEL_EXEC_FALLBACK = 4,	/**< the CPU, because the accelerator could not */
};

#define ACCEL_RF_STORED_RAW	(1u << 0)	/**< the output is the input (store-if-larger) */
#define ACCEL_RF_VERIFIED	(1u << 1)	/**< the output was decompressed again and compared */
#define ACCEL_RF_NEEDED_EXACT	(1u << 2)	/**< out_needed is exact, not an estimate */
#define ACCEL_RF_OUT_CRC	(1u << 3)	/**< out_crc is valid */

/** Outcome of one job; filled by the library. */
struct accel_result {
	uint32_t status;		/**< enum accel_status */
	uint32_t executor;		/**< enum accel_executor */
	uint64_t job_id;		/**< as accel_queue_submit() gave it */
	void *user_data;
	uint64_t in_used;		/**< input bytes consumed */
	uint64_t out_len;		/**< output bytes, 0 unless status is OK */
	uint64_t out_needed;		/**< with OUTPUT_SHORT: bytes that would have done */
	uint64_t retval;		/**< compare: offset of the first difference, ~0 if none */
	uint32_t flags;			/**< ACCEL_RF_* */
	uint32_t out_crc;		/**< CRC-32C of the output */
	uint16_t nvme_status;		/**< SCT << 8 | SC of the command that failed, else 0 */
	uint16_t stage;			/**< the stage that failed */
	int32_t os_error;		/**< errno of the path, else 0 */
	uint32_t retries;
	uint32_t nstage;
	uint64_t queue_ns;		/**< waiting for an engine, by the device's clock */
	uint64_t exec_ns;		/**< in an engine */
	uint64_t total_ns;		/**< from submit to completion, by the host's clock */
	uint8_t result_len[ACCEL_MAX_STAGES];	/**< 0: that stage has no result */
	/** Digests in their standard byte order, tags, checksums as little-endian integers. */
	uint8_t result[ACCEL_MAX_STAGES][ACCEL_RESULT_MAX];
};

/** The version as text, "0.1.0"; static. Thread-safe. */
ACCEL_API const char *accel_version(void);

/**
 * A sentence for a negative errno as this library uses it ("no accelerator matches", "the handle is from
 * before fork()"); static. Thread-safe.
 */
ACCEL_API const char *accel_strerror(int err);

/** A sentence for a job status; static, never NULL. Thread-safe. */
ACCEL_API const char *accel_status_str(uint32_t status);

/** "hardware", "software", "retried", "fallback", "none". */
ACCEL_API const char *accel_executor_str(uint32_t executor);

/** The names that the command line uses ("compress", "deflate"), or NULL. */
ACCEL_API const char *accel_op_name(uint16_t op);
ACCEL_API const char *accel_alg_name(uint16_t op, uint16_t alg);

#ifdef __cplusplus
}
template <class T> static inline T accel_init_of()
{
	T t = T();
	t.size = (uint32_t)sizeof(T);
	return t;
}
#define ACCEL_INIT(type) accel_init_of<type>()
#else
/** A public struct with its size set and all else zero: struct accel_job job = ACCEL_INIT(struct accel_job); */
#define ACCEL_INIT(type) { .size = (uint32_t)sizeof(type) }
#endif
#endif
