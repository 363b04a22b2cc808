// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CRC-32C: the processor's instructions where there are some, eight bytes a step by tables elsewhere.
 *
 * A register that is fed with byte n is a linear function of the bits of n, so a table of 256 is made of the
 * eight values for single bits, and the compiler does it: 64 numbers here stand for the 2048 of the tables.
 */
#include "bits.h"

/* The value for n, from those for its bits. */
#define VAL(n, a, b, c, d, e, f, g, h)                                                                       \
	(((n) & 1 ? (a) : 0) ^ ((n) & 2 ? (b) : 0) ^ ((n) & 4 ? (c) : 0) ^ ((n) & 8 ? (d) : 0) ^             \
	 ((n) & 16 ? (e) : 0) ^ ((n) & 32 ? (f) : 0) ^ ((n) & 64 ? (g) : 0) ^ ((n) & 128 ? (h) : 0))
#define V4(n, ...)  VAL(n, __VA_ARGS__), VAL((n) + 1, __VA_ARGS__), VAL((n) + 2, __VA_ARGS__), \
		    VAL((n) + 3, __VA_ARGS__)
#define V16(n, ...) V4(n, __VA_ARGS__), V4((n) + 4, __VA_ARGS__), V4((n) + 8, __VA_ARGS__), \
		    V4((n) + 12, __VA_ARGS__)
#define V64(n, ...) V16(n, __VA_ARGS__), V16((n) + 16, __VA_ARGS__), V16((n) + 32, __VA_ARGS__), \
		    V16((n) + 48, __VA_ARGS__)
#define SLICE(...)  { V64(0, __VA_ARGS__), V64(64, __VA_ARGS__), V64(128, __VA_ARGS__), \
		      V64(192, __VA_ARGS__) }

/* crc_slice[i][n]: what byte n, followed by i zero bytes, does to a register of zero. */
static const uint32_t crc_slice[8][256] = {
	SLICE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu,
	      0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
	SLICE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u,
	      0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
	SLICE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u,
	      0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
	SLICE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u,
	      0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
	SLICE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u,
	      0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
	SLICE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu,
	      0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
	SLICE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u,
	      0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
	SLICE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau,
	      0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};

static uint32_t crc_by_byte(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--)
		crc = crc >> 8 ^ crc_slice[0][(uint8_t)(crc ^ *p++)];
	return crc;
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint32_t lo = crc ^ le32_get(p), hi = le32_get(p + 4);

		crc = crc_slice[7][lo & 0xff] ^ crc_slice[6][lo >> 8 & 0xff] ^
		      crc_slice[5][lo >> 16 & 0xff] ^ crc_slice[4][lo >> 24] ^
		      crc_slice[3][hi & 0xff] ^ crc_slice[2][hi >> 8 & 0xff] ^
		      crc_slice[1][hi >> 16 & 0xff] ^ crc_slice[0][hi >> 24];
	}
	return crc_by_byte(crc, p, n);
}

#if defined(__x86_64__) && !defined(__KERNEL__)
/* A kernel may use the instructions too, but has its own ways to ask for it; there the tables do. */
#define INSN __attribute__((target("sse4.2,pclmul")))
#define LANE_SHORT 80u			/* thrice it is what a descriptor and a status have */
#define LANE_LONG 512u

/*
 * What n zero bytes would make of a register: its product with x^8n. The instruction takes a product of 64 bits modulo
 * the polynomial and multiplies by x^32, and the two factors' order of bits by one more x: by is x^(8n - 33).
 */
INSN static inline uint64_t crc_shift(uint64_t crc, uint32_t by)
{
	typedef long long v2di __attribute__((vector_size(16)));
	v2di product = __builtin_ia32_pclmulqdq128((v2di){ (long long)crc, 0 }, (v2di){ by, 0 }, 0);

	return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

/* Three thirds at once, as the instruction can be begun three times before it has ended once. by: for one lane, two. */
INSN static inline uint64_t crc_lanes(uint64_t crc, const uint8_t *p, size_t lane, uint32_t by1, uint32_t by2)
{
	uint64_t b = 0, c = 0;
	size_t i;

	for (i = 0; i < lane; i += 8) {
		crc = __builtin_ia32_crc32di(crc, le64_get(p + i));
		b = __builtin_ia32_crc32di(b, le64_get(p + lane + i));
		c = __builtin_ia32_crc32di(c, le64_get(p + 2 * lane + i));
	}
	return crc_shift(crc, by2) ^ crc_shift(b, by1) ^ c;
}

INSN static uint32_t crc_by_insn(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t c = crc;

	for (; n >= 3 * LANE_LONG; p += 3 * LANE_LONG, n -= 3 * LANE_LONG)
		c = crc_lanes(c, p, LANE_LONG, 0xdd7e3b0cu, 0x170076fau);
	for (; n >= 3 * LANE_SHORT; p += 3 * LANE_SHORT, n -= 3 * LANE_SHORT)
		c = crc_lanes(c, p, LANE_SHORT, 0x39d3b296u, 0x878a92a7u);
	for (; n >= 8; p += 8, n -= 8)
		c = __builtin_ia32_crc32di(c, le64_get(p));
	for (crc = (uint32_t)c; n; p++, n--)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}

/* Two loads and two tests: the compiler's run time asks the processor before main() does. */
static int have_insn(void)
{
#if defined(__SSE4_2__) && defined(__PCLMUL__)
	return 1;
#else
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
#endif
}
#else
static uint32_t crc_by_insn(uint32_t crc, const uint8_t *p, size_t n)
{
	return crc_by_table(crc, p, n);
}

static int have_insn(void)
{
	return 0;
}
#endif

uint32_t base_crc32c(uint32_t crc, const void *p, size_t n)
{
	return ~(have_insn() ? crc_by_insn(~crc, p, n) : crc_by_table(~crc, p, n));
}

uint32_t base_crc32c_table(uint32_t crc, const void *p, size_t n)
{
	return ~crc_by_table(~crc, p, n);
}
