// SPDX-License-Identifier: BSD-2-Clause
/* What hosts write to lease records, and what devices show in them. */
#include "fuzz_wire.h"

static size_t fresh(uint64_t *state, uint8_t *page)
{
	struct wire_claim claim;
	struct wire_lease lease;

	if (rnd(state) & 1) {
		random_claim(state, &claim);
		CHECK(wire_claim_encode(&claim, page, 512) == WIRE_OK);
		return 512;
	}
	random_lease(state, &lease, 4096);
	CHECK(wire_lease_encode(&lease, page) == WIRE_OK);
	return PAGE_MAX;
}

static void use_claim(const uint8_t *data, size_t size)
{
	struct wire_claim claim, back;
	uint8_t again[512];

	memset(&claim, 0, sizeof(claim));
	memset(&back, 0, sizeof(back));
	if (wire_claim_decode(&claim, data, size) != WIRE_OK)
		return;
	CHECK(memchr(claim.label, 0, sizeof(claim.label)) != NULL);
	CHECK(wire_claim_encode(&claim, again, sizeof(again)) == WIRE_OK);
	CHECK(wire_claim_decode(&back, again, sizeof(again)) == WIRE_OK);
	CHECK(memcmp(&claim, &back, sizeof(claim)) == 0);
}

static void use_lease(const uint8_t *page)
{
	struct wire_lease lease, back;
	uint8_t again[PAGE_MAX];
	uint32_t i;

	if (wire_lease_decode(&lease, page, 4096) != WIRE_OK)
		return;
	for (i = 0; i < lease.nrange; i++)
		CHECK((uint64_t)lease.range[i].first + lease.range[i].count <= 4096);
	CHECK(wire_lease_encode(&lease, again) == WIRE_OK);
	CHECK(wire_lease_decode(&back, again, 4096) == WIRE_OK);
	CHECK(memcmp(&lease, &back, sizeof(lease)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p = exact_copy(data, size, 0);

	use_claim(p, size);
	if (size >= 128)
		fix_claim(p);
	use_claim(p, size);
	free(p);
	p = exact_copy(data, size, PAGE_MAX);
	use_lease(p);
	fix_252(p);
	use_lease(p);
	free(p);
	return 0;
}
