// SPDX-License-Identifier: BSD-2-Clause
/* CRC-64/NVMe: sixteen bytes a step by tables, and 64 bytes a step by carry-less multiplication. */
#include "checksum.h"

void crc64_slices(struct checksum_thread *c)
{
	unsigned int i, j;

	for (i = 0; i < 256; i++) {
		uint64_t crc = i;

		for (j = 0; j < 8; j++)
			crc = crc >> 1 ^ (CRC64_NVME_POLY & -(crc & 1));
		c->slice[0][i] = crc;
	}
	for (j = 1; j < 16; j++)
		for (i = 0; i < 256; i++)
			c->slice[j][i] = c->slice[j - 1][i] >> 8 ^ c->slice[0][c->slice[j - 1][i] & 0xff];
}

static inline uint64_t eight(const uint64_t (*t)[256], uint64_t v)
{
	return t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^ t[4][v >> 24 & 0xff] ^
	       t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^ t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
}

uint64_t crc64_slice16(const struct checksum_thread *c, uint64_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 16; n -= 16, p += 16)
		crc = eight(&c->slice[8], crc ^ le64_get(p)) ^ eight(&c->slice[0], le64_get(p + 8));
	while (n--)
		crc = crc >> 8 ^ c->slice[0][(crc ^ *p++) & 0xff];
	return crc;
}

#if defined(__x86_64__) && !defined(__KERNEL__)
#include <immintrin.h>

/*
 * A 128-bit block is folded over d bits by multiplying its halves: bit-reflected, the low half (which
 * comes first) by x^(d+64-1) and the high half by x^(d-1), both modulo the polynomial. The minus one is
 * because the product of two reflected 64-bit numbers comes out one bit low.
 */
#define X_127 0x21e9761e252621acULL
#define X_191 0xeadc41fd2ba3d420ULL
#define X_511 0x62242240ace5045aULL
#define X_575 0x0c32cdb31e18a84aULL
/* x^128 divided by the polynomial, without its leading term. */
#define MU    0x13f67d194d77cfbbULL

#define CLMUL __attribute__((target("pclmul,sse4.1")))

int crc64_clmul_usable(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

/* (high * x^64 + low) modulo the polynomial, by Barrett's method. */
CLMUL static inline uint64_t reduce(uint64_t high, uint64_t low)
{
	__m128i k = _mm_set_epi64x((int64_t)CRC64_NVME_POLY, (int64_t)MU), v;
	uint64_t q;

	v = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)high), k, 0x00);
	q = high ^ (uint64_t)_mm_cvtsi128_si64(v) << 1;
	v = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)q), k, 0x10);
	return low ^ (uint64_t)_mm_extract_epi64(v, 1) << 1 ^ (uint64_t)_mm_cvtsi128_si64(v) >> 63;
}

CLMUL static inline __m128i fold(__m128i v, __m128i k, __m128i next)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(v, k, 0x00), _mm_clmulepi64_si128(v, k, 0x11)),
			     next);
}

CLMUL static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* At least 64 bytes; *p and *n move over whole blocks of sixteen. */
CLMUL static uint64_t fold_blocks(uint64_t crc, const uint8_t **p, size_t *n)
{
	const __m128i k512 = _mm_set_epi64x((int64_t)X_511, (int64_t)X_575);
	const __m128i k128 = _mm_set_epi64x((int64_t)X_127, (int64_t)X_191);
	__m128i a = _mm_xor_si128(load(*p), _mm_cvtsi64_si128((int64_t)crc)), b = load(*p + 16),
		c = load(*p + 32), d = load(*p + 48);

	for (*p += 64, *n -= 64; *n >= 64; *p += 64, *n -= 64) {
		a = fold(a, k512, load(*p));
		b = fold(b, k512, load(*p + 16));
		c = fold(c, k512, load(*p + 32));
		d = fold(d, k512, load(*p + 48));
	}
	a = fold(fold(fold(a, k128, b), k128, c), k128, d);
	for (; *n >= 16; *p += 16, *n -= 16)
		a = fold(a, k128, load(*p));
	b = _mm_clmulepi64_si128(a, k128, 0x10);
	return reduce((uint64_t)_mm_cvtsi128_si64(b) ^ (uint64_t)_mm_extract_epi64(a, 1),
		      (uint64_t)_mm_extract_epi64(b, 1));
}

CLMUL uint64_t crc64_clmul(uint64_t crc, const uint8_t *p, size_t n)
{
	uint64_t v = 0;
	size_t i;

	if (n >= 64)
		crc = fold_blocks(crc, &p, &n);
	for (; n >= 8; n -= 8, p += 8)
		crc = reduce(crc ^ le64_get(p), 0);
	if (!n)
		return crc;
	for (i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return crc >> 8 * n ^ reduce((crc ^ v) << (64 - 8 * n), 0);
}

#else /* not x86-64: the table's next entry does it */

int crc64_clmul_usable(void)
{
	return 0;
}

uint64_t crc64_clmul(uint64_t crc, const uint8_t *p, size_t n)
{
	(void)p;
	(void)n;
	return crc;
}

#endif
