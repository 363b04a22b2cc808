/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of sealed files: what is accepted is within its bounds and encodes to the same bytes. */
#include <stdlib.h>
#include <string.h>
#include "../../tools/accel/ec_crc.c"
#include "../../tools/accel/seal_format.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const uint8_t *page)
{
	uint8_t again[SEAL_HEAD_NBYTES];
	struct seal_head h;

	if (seal_head_decode(&h, page))
		return;
	if (h.record_nbytes < SEAL_RECORD_MIN || h.record_nbytes > SEAL_RECORD_MAX)
		abort();
	if (h.kdf == SEAL_KDF_SCRYPT && (((uint64_t)128 * h.r << h.log2n) > SEAL_SCRYPT_MAX ||
					 ((uint64_t)h.r * h.p << h.log2n) > SEAL_SCRYPT_WORK))
		abort();
	seal_head_encode(&h, again);
	if (memcmp(again, page, AT_MAC))
		abort();
}

/* As it is, and with a right checksum, without which hardly an input would get far. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t page[SEAL_HEAD_NBYTES] = { 0 };

	memcpy(page, data, size < sizeof(page) ? size : sizeof(page));
	judge(page);
	memcpy(page, magic, sizeof(magic));
	put_le(page + AT_CRC, 4, ec_crc32c(0, page, AT_CRC));
	judge(page);
	return 0;
}
