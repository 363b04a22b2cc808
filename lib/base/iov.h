/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scatter lists. The same element type that the surroundings use (struct iovec in user space, struct
 * kvec in a kernel), so that a caller's list goes to an engine as it is.
 */
#ifndef ACCEL_BASE_IOV_H
#define ACCEL_BASE_IOV_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/uio.h>
#define base_iov kvec
#else
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#define base_iov iovec
#endif

/* A place in a scatter list; {iov, niov, 0} is its start. */
struct iov_pos {
	const struct base_iov *iov;
	unsigned int niov;	/* elements from iov on */
	size_t off;		/* within iov[0] */
};

/* Sum of the lengths; UINT64_MAX if it overflows. */
uint64_t iov_total(const struct base_iov *iov, unsigned int niov);

/* Moves the place n bytes on (or to the end); returns the bytes moved. */
uint64_t iov_skip(struct iov_pos *pos, uint64_t n);

/*
 * The contiguous run at the place: its start in *p, its length (at most max) returned, and the place
 * moved behind it. 0 at the end. Empty elements are passed over.
 */
size_t iov_next(struct iov_pos *pos, void **p, size_t max);

/* Copies n bytes at the place; returns the bytes copied (fewer only at the end of the list). */
size_t iov_read(struct iov_pos *pos, void *dst, size_t n);
size_t iov_write(struct iov_pos *pos, const void *src, size_t n);
size_t iov_zero(struct iov_pos *pos, size_t n);
size_t iov_copy(struct iov_pos *dst, struct iov_pos *src, size_t n);

/* The first n bytes as one contiguous piece, or NULL if they are not. n 0: never NULL. */
void *iov_flat(const struct base_iov *iov, unsigned int niov, size_t n);

/*
 * Writes to sub the elements that make up n bytes from byte off; returns their number, or -1 if they
 * are more than max or the list is shorter than off + n.
 */
int iov_slice(struct base_iov *sub, unsigned int max, const struct base_iov *iov, unsigned int niov,
	      uint64_t off, uint64_t n);

#endif
