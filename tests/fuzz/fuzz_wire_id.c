// SPDX-License-Identifier: BSD-2-Clause
/* Identify Namespace from an untrusted controller. */
#include "fuzz_wire.h"

static size_t fresh(uint64_t *state, uint8_t *page)
{
	static struct wire_id id;

	random_id(state, &id);
	CHECK(wire_id_encode(&id, page) == WIRE_OK);
	if (rnd_below(state, 4) == 0) {
		page[393] = (uint8_t)rnd(state);
		fix_id(page);
	}
	return PAGE_MAX;
}

/* Whatever was accepted makes addresses within the namespace, and is accepted again when encoded. */
static void use(const uint8_t *page)
{
	static struct wire_id id, back;
	static uint8_t again[PAGE_MAX];
	uint64_t end, seq;
	struct wire_addr a;
	uint32_t slot;

	if (wire_id_decode(&id, page) != WIRE_OK)
		return;
	CHECK(wire_id_present(page));
	end = id.nsze << id.lbadsx;
	seq = le64_get(page + 24);
	slot = (uint32_t)(seq % id.nslot);
	CHECK(wire_wait_addr(&id, slot, seq) < end - NVME_ACCEL_QUIET);
	wire_addr_decode(&id, wire_slot_addr(&id, slot, seq, 1), &a);
	CHECK(a.region == WIRE_R_SLOTS && a.slot == slot && a.half == 1 && a.off == 0);
	wire_addr_decode(&id, end - 1, &a);
	CHECK(a.region == WIRE_R_QUIET);
	wire_addr_decode(&id, end, &a);
	CHECK(a.region == WIRE_R_NONE);
	CHECK(wire_id_encode(&id, again) == WIRE_OK);
	CHECK(wire_id_decode(&back, again) == WIRE_OK);
	CHECK(memcmp(&id, &back, sizeof(id)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *page = exact_copy(data, size, PAGE_MAX);

	use(page);
	fix_id(page);
	use(page);
	free(page);
	return 0;
}
