// SPDX-License-Identifier: GPL-2.0-only
/*
 * GF(2^8) by SSSE3: the product of 16 bytes and a coefficient is two shuffles of its tables, by the low and by the high
 * halves of the bytes. The compiler knows nothing of these registers here, so they need not be named as clobbered.
 *
 * xmm0..3 sums of the rows, xmm4 and 5 halves of the source, xmm6 a table, xmm7 the mask.
 */
#include "gf.h"

static const u8 mask[16] __aligned(16) = { 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15 };

#define ROW(sum, t)									\
	asm volatile("movdqu %0, %%xmm6\n\t"						\
		     "pshufb %%xmm4, %%xmm6\n\t"					\
		     "pxor %%xmm6, %%" sum "\n\t"					\
		     "movdqu %1, %%xmm6\n\t"						\
		     "pshufb %%xmm5, %%xmm6\n\t"					\
		     "pxor %%xmm6, %%" sum						\
		     : : "m" (*(const u8 (*)[16])(t)), "m" (*(const u8 (*)[16])((t) + 16)))
#define STORE(sum, p) asm volatile("movdqu %%" sum ", %0" : "=m" (*(u8 (*)[16])(p)))

size_t gf_dot_ssse3(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst)
{
	const size_t row = (size_t)32 * nsrc;
	unsigned int j;
	size_t at;

	asm volatile("movdqa %0, %%xmm7" : : "m" (mask));
	for (at = 0; at + 16 <= len; at += 16) {
		const u8 *t = tables;

		asm volatile("pxor %xmm0, %xmm0\n\tpxor %xmm1, %xmm1\n\tpxor %xmm2, %xmm2\n\tpxor %xmm3, %xmm3");
		for (j = 0; j < nsrc; j++, t += 32) {
			asm volatile("movdqu %0, %%xmm4\n\t"
				     "movdqa %%xmm4, %%xmm5\n\t"
				     "psrlw $4, %%xmm5\n\t"
				     "pand %%xmm7, %%xmm4\n\t"
				     "pand %%xmm7, %%xmm5"
				     : : "m" (*(const u8 (*)[16])(src[j] + at)));
			ROW("xmm0", t);
			if (nrow > 1)
				ROW("xmm1", t + row);
			if (nrow > 2)
				ROW("xmm2", t + 2 * row);
			if (nrow > 3)
				ROW("xmm3", t + 3 * row);
		}
		STORE("xmm0", dst[0] + at);
		if (nrow > 1)
			STORE("xmm1", dst[1] + at);
		if (nrow > 2)
			STORE("xmm2", dst[2] + at);
		if (nrow > 3)
			STORE("xmm3", dst[3] + at);
	}
	return at;
}
