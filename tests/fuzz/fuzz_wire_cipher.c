// SPDX-License-Identifier: BSD-2-Clause
/* Parameters of a cipher stage: lengths that must not lead out of the block. No checksum guards them. */
#include "fuzz_wire.h"

static size_t fresh(uint64_t *state, uint8_t *page)
{
	static const uint8_t key_lens[] = { 16, 24, 32, 64 };
	uint8_t bytes[512];
	struct wire_cipher c = { bytes, bytes + 64, bytes + 192, bytes + 208, key_lens[rnd_below(state, 4)],
				 (uint32_t)(1 + rnd_below(state, 128)), (uint32_t)(12 + rnd_below(state, 5)),
				 (uint32_t)rnd_below(state, 300) };
	size_t n;

	rnd_bytes(state, bytes, sizeof(bytes));
	page[0] = (uint8_t)(rnd(state) & 1);
	n = wire_cipher_encode(&c, page[0], page + 1, PAGE_MAX - 1);
	CHECK(n != 0);
	return n + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int with_tag = size ? data[0] & 1 : 0;
	size_t len = size ? size - 1 : 0;
	uint8_t *p = exact_copy(data + (size != 0), len, 0), *again;
	struct wire_cipher c;

	if (wire_cipher_decode(&c, with_tag, p, len) == WIRE_OK) {
		again = malloc(len);
		CHECK(again != NULL);
		/* What was taken apart goes together again, to the byte and not to one more. */
		CHECK(wire_cipher_encode(&c, with_tag, again, len - 1) == 0);
		CHECK(wire_cipher_encode(&c, with_tag, again, len) == len);
		CHECK(memcmp(again, p, len) == 0);
		free(again);
	}
	free(p);
	return 0;
}
