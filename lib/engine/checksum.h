/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the checksum family share. */
#ifndef ACCEL_ENGINE_CHECKSUM_H
#define ACCEL_ENGINE_CHECKSUM_H

#include "priv.h"

/* CRC-64/NVMe: reflected, initial value and final inversion all ones. */
#define CRC64_NVME_POLY 0x9a6c9329ac4bc9b5ULL

/* Tables for sixteen bytes at a time. */
struct checksum_thread {
	uint64_t slice[16][256];
};

void crc64_slices(struct checksum_thread *c);
/* Without the inversions. */
uint64_t crc64_slice16(const struct checksum_thread *c, uint64_t crc, const uint8_t *p, size_t n);

/* By carry-less multiplication, without the inversions; only if the processor has it. */
int crc64_clmul_usable(void);
uint64_t crc64_clmul(uint64_t crc, const uint8_t *p, size_t n);

#endif
