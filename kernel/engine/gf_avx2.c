// SPDX-License-Identifier: GPL-2.0-only
/*
 * GF(2^8) by AVX2, 64 bytes of each source at a time: see gf_ssse3.c.
 *
 * ymm0..7 sums of the rows (two each), ymm8 and 9 low halves, ymm10 and 11 high halves of the source, ymm12 the mask,
 * ymm13 and 14 tables, ymm15 products.
 */
#include "gf.h"

static const u8 mask[16] __aligned(16) = { 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15 };

#define ROW(sum, sum2, t)								\
	asm volatile("vbroadcasti128 %0, %%ymm13\n\t"					\
		     "vbroadcasti128 %1, %%ymm14\n\t"					\
		     "vpshufb %%ymm8, %%ymm13, %%ymm15\n\t"				\
		     "vpxor %%ymm15, %%" sum ", %%" sum "\n\t"				\
		     "vpshufb %%ymm9, %%ymm13, %%ymm13\n\t"				\
		     "vpxor %%ymm13, %%" sum2 ", %%" sum2 "\n\t"			\
		     "vpshufb %%ymm10, %%ymm14, %%ymm15\n\t"				\
		     "vpxor %%ymm15, %%" sum ", %%" sum "\n\t"				\
		     "vpshufb %%ymm11, %%ymm14, %%ymm14\n\t"				\
		     "vpxor %%ymm14, %%" sum2 ", %%" sum2				\
		     : : "m" (*(const u8 (*)[16])(t)), "m" (*(const u8 (*)[16])((t) + 16)))
#define STORE(sum, sum2, p)								\
	asm volatile("vmovdqu %%" sum ", %0\n\tvmovdqu %%" sum2 ", %1"			\
		     : "=m" (*(u8 (*)[32])(p)), "=m" (*(u8 (*)[32])((p) + 32)))
#define ZERO(sum) asm volatile("vpxor %" sum ", %" sum ", %" sum)

static void halves(const u8 *p)
{
	asm volatile("vmovdqu %0, %%ymm8\n\t"
		     "vmovdqu %1, %%ymm9\n\t"
		     "vpsrlw $4, %%ymm8, %%ymm10\n\t"
		     "vpsrlw $4, %%ymm9, %%ymm11\n\t"
		     "vpand %%ymm12, %%ymm8, %%ymm8\n\t"
		     "vpand %%ymm12, %%ymm9, %%ymm9\n\t"
		     "vpand %%ymm12, %%ymm10, %%ymm10\n\t"
		     "vpand %%ymm12, %%ymm11, %%ymm11"
		     : : "m" (*(const u8 (*)[32])p), "m" (*(const u8 (*)[32])(p + 32)));
}

size_t gf_dot_avx2(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst)
{
	const size_t row = (size_t)32 * nsrc;
	unsigned int j;
	size_t at;

	asm volatile("vbroadcasti128 %0, %%ymm12" : : "m" (mask));
	for (at = 0; at + 64 <= len; at += 64) {
		const u8 *t = tables;

		ZERO("ymm0"); ZERO("ymm1"); ZERO("ymm2"); ZERO("ymm3");
		ZERO("ymm4"); ZERO("ymm5"); ZERO("ymm6"); ZERO("ymm7");
		for (j = 0; j < nsrc; j++, t += 32) {
			halves(src[j] + at);
			ROW("ymm0", "ymm1", t);
			if (nrow > 1)
				ROW("ymm2", "ymm3", t + row);
			if (nrow > 2)
				ROW("ymm4", "ymm5", t + 2 * row);
			if (nrow > 3)
				ROW("ymm6", "ymm7", t + 3 * row);
		}
		STORE("ymm0", "ymm1", dst[0] + at);
		if (nrow > 1)
			STORE("ymm2", "ymm3", dst[1] + at);
		if (nrow > 2)
			STORE("ymm4", "ymm5", dst[2] + at);
		if (nrow > 3)
			STORE("ymm6", "ymm7", dst[3] + at);
	}
	asm volatile("vzeroupper");
	return at;
}
