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
#define ACCEL_BUF_P2P	(1u << 1)	/**< in a controller's memory; -ENOTSUP where there is none */

/** nbytes of zeroed memory, page aligned. dev may be NULL without ACCEL_BUF_P2P. -ENOMEM, -EINVAL. */
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
