/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of shards: what is accepted makes sense and encodes to the same bytes. */
#include <stdlib.h>
#include <string.h>
#include "../../tools/accel/ec_crc.c"
#include "../../tools/accel/ec_format.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const uint8_t *page)
{
	uint8_t again[EC_HEAD_NBYTES];
	struct ec_head h;

	if (ec_head_decode(&h, page))
		return;
	if (ec_head_check(&h) || !ec_head_same_set(&h, &h) || h.index >= h.k + h.m ||
	    ec_shard_nbytes(&h) < 2 * EC_HEAD_NBYTES)
		abort();
	if (h.nstripe && (ec_block_off(&h, h.nstripe - 1) > ec_shard_nbytes(&h) ||
			  !ec_block_nbytes(&h, h.nstripe - 1) ||
			  ec_block_nbytes(&h, h.nstripe - 1) > h.block_nbytes))
		abort();
	ec_head_encode(&h, again);
	if (memcmp(again, page, sizeof(again)))
		abort();
}

/* As it is, and with a right checksum, without which hardly an input would get far. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t page[EC_HEAD_NBYTES] = { 0 };

	memcpy(page, data, size < sizeof(page) ? size : sizeof(page));
	judge(page);
	memcpy(page, magic, sizeof(magic));
	put_le(page + AT_CRC, 4, ec_crc32c(0, page, AT_CRC));
	judge(page);
	return 0;
}
