// SPDX-License-Identifier: BSD-2-Clause
/*
 * GHASH, eight blocks a reduction. It is computed as POLYVAL (RFC 8452, appendix A), which is GHASH with its
 * bits in the order that processors have: blocks byte-reversed, the key multiplied by x once, and each
 * product taken times x^-128, for which a reduction is two short multiplications.
 */
#include <string.h>
#include "ghash.h"

#ifdef __x86_64__
#include <immintrin.h>

#define CLMUL __attribute__((target("pclmul,ssse3")))

int ghash_usable(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
}

CLMUL static inline __m128i load(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

CLMUL static inline void store(void *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)p, v);
}

CLMUL static inline __m128i reversed(const uint8_t *p)
{
	return _mm_shuffle_epi8(load(p), _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/* A sum of products before its reduction; the middle terms apart. */
struct product {
	__m128i low, mid, high;
};

CLMUL static inline __m128i halves(__m128i v)
{
	return _mm_xor_si128(v, _mm_shuffle_epi32(v, 0x4e));
}

/* a times power i of the key. */
CLMUL static inline void add_product(struct product *s, __m128i a, const struct ghash_key *k, unsigned int i)
{
	__m128i ax = halves(a), b = load(k->power[i]), bx = load(k->sum[i]);

	s->low = _mm_xor_si128(s->low, _mm_clmulepi64_si128(a, b, 0x00));
	s->high = _mm_xor_si128(s->high, _mm_clmulepi64_si128(a, b, 0x11));
	s->mid = _mm_xor_si128(s->mid, _mm_clmulepi64_si128(ax, bx, 0x00));	/* Karatsuba's */
}

/* The sum times x^-128, modulo x^128 + x^127 + x^126 + x^121 + 1. */
CLMUL static inline __m128i reduce(const struct product *s)
{
	const __m128i poly = _mm_set_epi64x(0, (int64_t)0xc200000000000000ULL);
	__m128i mid = _mm_xor_si128(s->mid, _mm_xor_si128(s->low, s->high));
	__m128i low = _mm_xor_si128(s->low, _mm_slli_si128(mid, 8));
	__m128i high = _mm_xor_si128(s->high, _mm_srli_si128(mid, 8));

	low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
	low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
	return _mm_xor_si128(high, low);
}

CLMUL static inline __m128i multiply(__m128i a, const struct ghash_key *k)
{
	struct product s = { _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128() };

	add_product(&s, a, k, 0);
	return reduce(&s);
}

CLMUL void ghash_key_init(struct ghash_key *k, const uint8_t h[16])
{
	uint64_t v[2], carry;
	unsigned int i;

	store(v, reversed(h));
	/* Times x, without a branch on the key. */
	carry = -(v[1] >> 63);
	v[1] = (v[1] << 1 | v[0] >> 63) ^ (carry & 0xc200000000000000ULL);
	v[0] = v[0] << 1 ^ (carry & 1);
	memcpy(k->power[0], v, sizeof(v));
	store(k->sum[0], halves(load(v)));
	for (i = 1; i < GHASH_WIDE; i++) {
		store(k->power[i], multiply(load(k->power[i - 1]), k));
		store(k->sum[i], halves(load(k->power[i])));
	}
}

CLMUL static __m128i blocks(const struct ghash_key *k, __m128i acc, const uint8_t *p, size_t n)
{
	struct product s;
	unsigned int i;

	for (; n >= 16 * GHASH_WIDE; n -= 16 * GHASH_WIDE, p += 16 * GHASH_WIDE) {
		s.low = s.mid = s.high = _mm_setzero_si128();
		add_product(&s, _mm_xor_si128(acc, reversed(p)), k, GHASH_WIDE - 1);
#pragma GCC unroll 8
		for (i = 1; i < GHASH_WIDE; i++)
			add_product(&s, reversed(p + 16 * i), k, GHASH_WIDE - 1 - i);
		acc = reduce(&s);
	}
	for (; n >= 16; n -= 16, p += 16)
		acc = multiply(_mm_xor_si128(acc, reversed(p)), k);
	return acc;
}

CLMUL void ghash_update(const struct ghash_key *k, struct ghash *g, const uint8_t *p, size_t n)
{
	__m128i acc = load(g->acc);
	size_t step;

	if (g->fill) {
		step = n < 16 - g->fill ? n : 16 - g->fill;
		memcpy(g->part + g->fill, p, step);
		g->fill += (unsigned int)step;
		p += step;
		n -= step;
		if (g->fill < 16)
			return;
		acc = blocks(k, acc, g->part, 16);
		g->fill = 0;
	}
	acc = blocks(k, acc, p, n & ~(size_t)15);
	store(g->acc, acc);
	g->fill = n & 15;
	if (g->fill)
		memcpy(g->part, p + (n & ~(size_t)15), g->fill);
}

#else /* not x86-64: the table's next entry does it */

int ghash_usable(void)
{
	return 0;
}

void ghash_key_init(struct ghash_key *k, const uint8_t h[16])
{
	(void)h;
	memset(k, 0, sizeof(*k));
}

void ghash_update(const struct ghash_key *k, struct ghash *g, const uint8_t *p, size_t n)
{
	(void)k;
	(void)g;
	(void)p;
	(void)n;
}

#endif

void ghash_pad(const struct ghash_key *k, struct ghash *g)
{
	static const uint8_t zero[16];

	if (g->fill)
		ghash_update(k, g, zero, 16 - g->fill);
}

void ghash_final(const struct ghash_key *k, struct ghash *g, uint64_t aad_nbytes, uint64_t text_nbytes,
		 uint8_t out[16])
{
	uint8_t lengths[16];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		lengths[i] = (uint8_t)(aad_nbytes * 8 >> (56 - 8 * i));
		lengths[8 + i] = (uint8_t)(text_nbytes * 8 >> (56 - 8 * i));
	}
	ghash_update(k, g, lengths, 16);
	for (i = 0; i < 16; i++)
		out[i] = (uint8_t)(g->acc[1 - i / 8] >> (56 - 8 * (i % 8)));
}
