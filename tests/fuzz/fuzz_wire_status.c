// SPDX-License-Identifier: BSD-2-Clause
/* Status blocks from an untrusted device. */
#include "fuzz_wire.h"

static size_t fresh(uint64_t *state, uint8_t *page)
{
	size_t n = rnd(state) & 1 ? 512 : 4096;
	struct wire_status st;

	random_status(state, &st);
	CHECK(wire_status_encode(&st, page, n) == WIRE_OK);
	return n;
}

static void use(const uint8_t *block, size_t n)
{
	struct wire_status st, back;
	uint8_t again[PAGE_MAX];

	memset(&st, 0, sizeof(st));
	memset(&back, 0, sizeof(back));
	if (wire_status_decode(&st, block, n) != WIRE_OK)
		return;
	CHECK(!(st.flags & NVME_ACCEL_SF_OUTPUT_VALID) || st.code == NVME_ACCEL_OK);
	CHECK(st.fail_stage < NVME_ACCEL_MAX_STAGES);
	CHECK(wire_status_encode(&st, again, n) == WIRE_OK);
	CHECK(wire_status_decode(&back, again, n) == WIRE_OK);
	CHECK(memcmp(&st, &back, sizeof(st)) == 0);
	CHECK(memcmp(again, block, 512) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size > 512 ? 4096 : 512;
	uint8_t *block = exact_copy(data, size > n ? n : size, n);

	use(block, n);
	fix_252(block);
	use(block, n);
	free(block);
	return 0;
}
