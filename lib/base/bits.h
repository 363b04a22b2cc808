/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Little-endian loads and stores at any alignment, and what every layer does with numbers. */
#ifndef ACCEL_BASE_BITS_H
#define ACCEL_BASE_BITS_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#include <linux/limits.h>
#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif
#ifndef INT64_MAX
#define INT64_MAX S64_MAX
#endif
#else
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

static inline uint16_t le16_get(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t le32_get(const void *p)
{
	const uint8_t *b = p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t le64_get(const void *p)
{
	const uint8_t *b = p;

	return le32_get(b) | (uint64_t)le32_get(b + 4) << 32;
}

static inline void le16_put(void *p, uint16_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static inline void le32_put(void *p, uint32_t v)
{
	le16_put(p, (uint16_t)v);
	le16_put((uint8_t *)p + 2, (uint16_t)(v >> 16));
}

static inline void le64_put(void *p, uint64_t v)
{
	le32_put(p, (uint32_t)v);
	le32_put((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

/* Whether n bytes are all zero. */
static inline int base_is_zero(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t any = 0;

	for (; n >= 8; b += 8, n -= 8)
		any |= le64_get(b);
	for (; n; b++, n--)
		any |= *b;
	return any == 0;
}

#ifndef __KERNEL__
/* Kernels have a function of this name, some of them. */
static inline int mem_is_zero(const void *p, size_t n)
{
	return base_is_zero(p, n);
}
#endif

#define BASE_MIN(a, b) ((a) < (b) ? (a) : (b))
#define BASE_MAX(a, b) ((a) > (b) ? (a) : (b))

/*
 * CRC-32C (Castagnoli, reflected, initial value and final inversion as iSCSI and NVMe use it) of n
 * bytes behind a part whose CRC-32C is crc; 0 to begin.
 */
uint32_t base_crc32c(uint32_t crc, const void *p, size_t n);

/* The same without the processor's instruction: what a machine that has none runs. */
uint32_t base_crc32c_table(uint32_t crc, const void *p, size_t n);

#endif
