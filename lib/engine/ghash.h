/* SPDX-License-Identifier: BSD-2-Clause */
/* GHASH (NIST SP 800-38D) by carry-less multiplication. */
#ifndef ACCEL_ENGINE_GHASH_H
#define ACCEL_ENGINE_GHASH_H

#include "../base/bits.h"

#define GHASH_WIDE 8u		/* blocks that share one reduction */

struct ghash_key {
	uint64_t power[GHASH_WIDE][2];	/* of the hash key, the first power first */
	uint64_t sum[GHASH_WIDE][2];	/* of the power's halves, in both halves */
};

struct ghash {
	uint64_t acc[2];
	uint8_t part[16];
	unsigned int fill;
};

int ghash_usable(void);
void ghash_key_init(struct ghash_key *k, const uint8_t h[16]);
void ghash_update(const struct ghash_key *k, struct ghash *g, const uint8_t *p, size_t n);
/* Zeros up to a whole block: between the additional data and the text, and behind the text. */
void ghash_pad(const struct ghash_key *k, struct ghash *g);
void ghash_final(const struct ghash_key *k, struct ghash *g, uint64_t aad_nbytes, uint64_t text_nbytes,
		 uint8_t out[16]);

#endif
