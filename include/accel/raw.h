/* SPDX-License-Identifier: BSD-2-Clause */
/** The thin layer: plain reads and writes of a namespace, for tools and tests of the interface itself. */
#ifndef ACCEL_RAW_H
#define ACCEL_RAW_H

#include <sys/uio.h>
#include <accel/dev.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One Read or Write command: offset and the sum of iov in whole blocks. 0 and *nvme_status (SCT << 8 | SC,
 * bit 14 DNR; 0 is success), or -errno if the path failed. -EINVAL: not whole blocks. -ETIMEDOUT.
 */
ACCEL_API int accel_raw_read(struct accel_dev *dev, uint64_t offset, const struct iovec *iov,
			     unsigned int niov, int timeout_ms, uint16_t *nvme_status);
ACCEL_API int accel_raw_write(struct accel_dev *dev, uint64_t offset, const struct iovec *iov,
			      unsigned int niov, int timeout_ms, uint16_t *nvme_status);
/** Identify Namespace, 4096 bytes, as it is now. */
ACCEL_API int accel_raw_identify(struct accel_dev *dev, void *page);

/** Parts of a slot's windows (section 3 of the interface). */
enum accel_window {
	ACCEL_WINDOW_WRITE = 0,		/**< descriptor, then input */
	ACCEL_WINDOW_READ = 1,		/**< status, then output */
	ACCEL_WINDOW_WAIT = 2,		/**< the same, held until the job has ended */
};

/** Where a job's window begins, for accel_raw_read() and accel_raw_write(); UINT64_MAX: no such slot. */
ACCEL_API uint64_t accel_raw_window(const struct accel_dev *dev, uint32_t slot, uint64_t seq,
				    enum accel_window window);

/** CRC-32C of n bytes behind a part whose CRC-32C is crc; 0 to begin. Pure. */
ACCEL_API uint32_t accel_raw_crc32c(uint32_t crc, const void *p, size_t n);

/** Flags of a descriptor. */
#define ACCEL_DESC_START		(1u << 0)
#define ACCEL_DESC_EXPLICIT		(1u << 1)
#define ACCEL_DESC_COMPLETE_ON_DONE	(1u << 2)
#define ACCEL_DESC_IN_CRC		(1u << 3)
#define ACCEL_DESC_OUT_CRC		(1u << 4)
#define ACCEL_DESC_VERIFY		(1u << 5)
#define ACCEL_DESC_ABORT		(1u << 8)
#define ACCEL_DESC_RELEASE_RESULT	(1u << 9)
#define ACCEL_DESC_STORE_IF_LARGER	(1u << 12)

/** A job descriptor (section 5). */
struct accel_desc {
	uint16_t flags;			/**< ACCEL_DESC_* */
	uint16_t priority;
	uint32_t nstage;
	uint64_t seq;			/**< the slot's last one + 1 */
	uint8_t nonce[16];		/**< of the lease */
	uint32_t lease, epoch;
	uint64_t cookie;		/**< comes back in the status */
	uint64_t in_len, out_max;
	uint32_t in_crc;
	uint32_t limit_ms;		/**< 0: the device's */
	struct {
		uint16_t op, alg;
		uint32_t flags, arg0;
		uint64_t arg1;
		const uint8_t *param;	/**< param_len bytes; after decoding into the block */
		uint32_t param_len;
	} stage[ACCEL_MAX_STAGES];
};

/** A status block (section 7). */
struct accel_status_block {
	uint8_t state;			/**< 5 done, 6 failed, 7 aborted; less: not yet */
	uint8_t reserved;
	uint16_t flags, fail_stage, retry_hint;
	uint64_t seq, boot_id, cookie;
	uint32_t lease, epoch;
	uint32_t code;			/**< enum accel_status */
	uint32_t out_crc, queue_pos;
	uint64_t in_used, out_len, out_needed, queue_ns, exec_ns, retval;
	uint8_t result[ACCEL_MAX_STAGES][ACCEL_RESULT_MAX];
};

/**
 * Writes a descriptor to a block of block_nbytes (512 or 4096). Pure. -EINVAL: a field out of its range;
 * -E2BIG: the parameters do not fit.
 */
ACCEL_API int accel_desc_encode(const struct accel_desc *desc, void *block, size_t block_nbytes);
/** Reads one; every byte is checked. Pure. -EBADMSG: not a descriptor, or a wrong checksum; -EINVAL. */
ACCEL_API int accel_desc_decode(struct accel_desc *desc, const void *block, size_t block_nbytes);
/** Reads a status block; every byte is checked. Pure. -EBADMSG: not one, or a wrong checksum; -EINVAL. */
ACCEL_API int accel_status_decode(struct accel_status_block *status, const void *block, size_t block_nbytes);

#ifdef __cplusplus
}
#endif
#endif
