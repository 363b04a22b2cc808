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

#ifdef __cplusplus
}
#endif
#endif
