/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of products in GF(2^8), for the erasure coding family. */
#ifndef KENGINE_GF_H
#define KENGINE_GF_H

#include <linux/types.h>

#define GF_ROWS 4u	/* rows that one pass over the sources serves */

/*
 * dst[i] = sum over j of coefficient[i][j] * src[j], for nrow <= GF_ROWS rows. tables: 32 bytes a coefficient, row by
 * row, each the products of 0..15 and of 0h, 10h, .. F0h. Returns the bytes done, from the start; the rest is the
 * caller's. Within kernel_fpu_begin().
 */
typedef size_t (*gf_dot_fn)(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst);

size_t gf_dot_ssse3(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst);
size_t gf_dot_avx2(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst);

/* Which instructions: "avx2", "ssse3", "c"; chosen when the module is loaded. For tests: by name, 0 or -EINVAL. */
int gf_use(const char *name);

#endif
