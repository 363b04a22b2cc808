/* SPDX-License-Identifier: BSD-2-Clause */
/* The shard files of `accel ec`: pure encoding and decoding; see Documentation/ec-format.rst. */
#ifndef ACCEL_EC_FORMAT_H
#define ACCEL_EC_FORMAT_H

#include <stdint.h>

#define EC_HEAD_NBYTES	512u		/* at the start of a shard, and once more at its end */
#define EC_CHECK_NBYTES	4u		/* behind each block */
#define EC_UNIT		512u		/* block lengths are multiples of it */
#define EC_BLOCK_MAX	(1u << 20)
#define EC_STRIPE_MAX	(64u << 20)	/* (k + m) blocks: what a reader must be able to hold */
#define EC_SHARDS_MAX	255u
#define EC_NAME_MAX	255u

struct ec_head {
	uint8_t k, m, index;
	uint8_t uuid[16];		/* of the set: random */
	uint32_t block_nbytes;
	uint32_t last_nbytes;		/* of the blocks of the last stripe, 0 if there is none */
	uint64_t file_nbytes;
	uint64_t nstripe;
	uint32_t mode;			/* permission bits of the file */
	int64_t mtime;			/* unix seconds */
	char name[EC_NAME_MAX + 1];	/* of the file, without directories */
};

/* Sets nstripe and last_nbytes from k, block_nbytes and file_nbytes. */
void ec_head_layout(struct ec_head *h);

/* NULL, or why no set can have these parameters. */
const char *ec_head_check(const struct ec_head *h);

void ec_head_encode(const struct ec_head *h, uint8_t page[EC_HEAD_NBYTES]);

/* NULL, or what is wrong with the page. */
const char *ec_head_decode(struct ec_head *h, const uint8_t page[EC_HEAD_NBYTES]);

/* Whether two headers are of one set: everything but the index is equal. */
int ec_head_same_set(const struct ec_head *a, const struct ec_head *b);

uint32_t ec_block_nbytes(const struct ec_head *h, uint64_t stripe);
uint64_t ec_block_off(const struct ec_head *h, uint64_t stripe);
uint64_t ec_shard_nbytes(const struct ec_head *h);

/* What the CRC-32C of a block is combined with (exclusive or) to give the stored check. */
uint32_t ec_place_crc(const struct ec_head *h, unsigned int index, uint64_t stripe);

#endif
