/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32C (Castagnoli, reflected), by a table of sixteen. */
#include "ec_bytes.h"

uint32_t ec_crc32c(uint32_t crc, const void *p, size_t n)
{
	static const uint32_t step[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *b = p;
	size_t i;

	crc = ~crc;
	for (i = 0; i < n; i++) {
		crc ^= b[i];
		crc = crc >> 4 ^ step[crc & 15];
		crc = crc >> 4 ^ step[crc & 15];
	}
	return ~crc;
}
