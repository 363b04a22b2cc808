/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests in plain C, the oracles of the digest family. */
#ifndef ACCEL_ENGINE_DIGEST_H
#define ACCEL_ENGINE_DIGEST_H

#include "priv.h"

struct plain_digest {
	uint16_t alg;
	uint8_t block[144];
	unsigned int block_len, fill;
	uint64_t total;			/* bytes */
	uint64_t state[25];		/* SHA-256: 32 bits of each */
};

void plain_digest_init(struct plain_digest *d, uint16_t alg);
void plain_digest_update(struct plain_digest *d, const void *in, size_t n);
void plain_digest_final(struct plain_digest *d, uint8_t *result);

#endif
