// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checksums of a whole from those of its parts. A part of n bytes behind a message multiplies the
 * message's remainder by x^(8n); initial values and final inversions that are all ones cancel out.
 */
#include "engine.h"

struct field {
	uint64_t poly;		/* reflected, without the leading term */
	unsigned int width;
};

/* a * b modulo the polynomial; reflected: the top bit of width is x^0. */
static uint64_t multiply(const struct field *f, uint64_t a, uint64_t b)
{
	uint64_t bit, r = 0;

	for (bit = (uint64_t)1 << (f->width - 1); bit; bit >>= 1) {
		r ^= b & -(uint64_t)!!(a & bit);
		b = b >> 1 ^ (f->poly & -(b & 1));
	}
	return r;
}

/* crc * x^(8 n), by squaring. */
static uint64_t shift(const struct field *f, uint64_t crc, uint64_t n)
{
	uint64_t square = (uint64_t)1 << (f->width - 1 - 8);	/* x^8 */

	for (; n; n >>= 1) {
		if (n & 1)
			crc = multiply(f, square, crc);
		square = multiply(f, square, square);
	}
	return crc;
}

uint32_t engine_crc32_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	static const struct field f = { 0xedb88320, 32 };

	return (uint32_t)shift(&f, crc1, len2) ^ crc2;
}

uint32_t engine_crc32c_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	static const struct field f = { 0x82f63b78, 32 };

	return (uint32_t)shift(&f, crc1, len2) ^ crc2;
}

uint64_t engine_crc64nvme_combine(uint64_t crc1, uint64_t crc2, uint64_t len2)
{
	static const struct field f = { 0x9a6c9329ac4bc9b5ULL, 64 };

	return shift(&f, crc1, len2) ^ crc2;
}

static uint16_t mirror(uint16_t v)
{
	unsigned int i, r = 0;

	for (i = 0; i < 16; i++)
		r |= (v >> i & 1u) << (15 - i);
	return (uint16_t)r;
}

uint16_t engine_t10dif_combine(uint16_t crc1, uint16_t crc2, uint64_t len2)
{
	static const struct field f = { 0xedd1, 16 };	/* 0x8bb7 mirrored */

	return mirror((uint16_t)shift(&f, mirror(crc1), len2)) ^ crc2;
}

uint32_t engine_adler32_combine(uint32_t a1, uint32_t a2, uint64_t len2)
{
	const uint32_t mod = 65521;
	uint32_t n = (uint32_t)(len2 % mod), low1 = a1 & 0xffff, low, high;

	/* The second part was summed from 1, not from low1; each of its bytes counts that difference. */
	low = (low1 + (a2 & 0xffff) + mod - 1) % mod;
	high = (uint32_t)(((a1 >> 16) + (a2 >> 16) + (uint64_t)n * ((low1 + mod - 1) % mod)) % mod);
	return high << 16 | low;
}
