/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Little-endian fields and CRC-32C for the file formats and for the conformance test. The tool has its own
 * so that the test judges the library and not a shared mistake.
 */
#ifndef ACCEL_EC_BYTES_H
#define ACCEL_EC_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void put_le(void *p, unsigned int nbytes, uint64_t v)
{
	uint8_t *b = p;
	unsigned int i;

	for (i = 0; i < nbytes; i++)
		b[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t get_le(const void *p, unsigned int nbytes)
{
	const uint8_t *b = p;
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < nbytes; i++)
		v |= (uint64_t)b[i] << 8 * i;
	return v;
}

static inline int bytes_are_zero(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint8_t any = 0;
	size_t i;

	for (i = 0; i < n; i++)
		any |= b[i];
	return any == 0;
}

/* CRC-32C of n bytes behind a part whose CRC-32C is crc; 0 to begin. For headers: four bits a step. */
uint32_t ec_crc32c(uint32_t crc, const void *p, size_t n);

#endif
