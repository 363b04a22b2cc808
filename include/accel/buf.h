/* SPDX-License-Identifier: BSD-2-Clause */
/** Buffers: memory that suits a device. */
#ifndef ACCEL_BUF_H
#define ACCEL_BUF_H

#include <accel/dev.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_buf;

#define ACCEL_BUF_HUGE	(1u << 0)	/**< huge pages if there are any */
#define ACCEL_BUF_P2P	(1u << 1)	/**< in a controller's memory */

/**
 * nbytes of zeroed memory, page aligned. dev may be NULL without ACCEL_BUF_P2P. -ENOMEM, -EINVAL.
 * With ACCEL_BUF_P2P it is in the memory of a controller (CMB) that dev reaches, for direct I/O of NVMe namespaces on
 * PCI: the kernel's own (CONFIG_PCI_P2PDMA), or that of nvme-accel-p2pdma with allow_user_pages=1. The processor's accesses
 * are slow, its contents are undefined, and a controller reset may lose them. -ENOTSUP: dev reaches none; -EADDRNOTAVAIL:
 * there is some, but the kernel gives slots and no pointers: accel_copy_range() and accel_run_range() use them; -ENOSPC: it is
 * in use; -EACCES: root only.
 */
ACCEL_API int accel_buf_alloc(struct accel_ctx *ctx, struct accel_dev *dev, size_t nbytes, uint32_t flags,
			      struct accel_buf **buf);
/** Makes the caller's memory known to the device, where that saves work; it must outlive the buffer. */
ACCEL_API int accel_buf_register(struct accel_ctx *ctx, struct accel_dev *dev, void *p, size_t nbytes,
				 struct accel_buf **buf);
ACCEL_API void *accel_buf_ptr(const struct accel_buf *buf);
ACCEL_API size_t accel_buf_size(const struct accel_buf *buf);
ACCEL_API void accel_buf_free(struct accel_buf *buf);

#ifdef __cplusplus
}
#endif
#endif
