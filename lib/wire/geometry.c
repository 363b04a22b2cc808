// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The map of a namespace: where each region lies and what an address means. */
#include "wire_priv.h"

#define NSZE_BYTES_MAX ((uint64_t)INT64_MAX)	/* hosts count bytes in a signed number */

struct region {
	uint64_t off, nbytes, align;
};

enum wire_err wire_check_shifts(const struct wire_id *id)
{
	if (id->lbadsx != 9 && id->lbadsx != 12)
		return WIRE_RANGE;
	/* A half holds two blocks before the WAIT alias and one to spare; NOIOB has 16 bits. */
	if (id->winsh < id->lbadsx + 3 || id->winsh > id->lbadsx + 15)
		return WIRE_RANGE;
	if (id->aliasb < 1 || id->aliasb > 3)
		return WIRE_RANGE;
	if (id->nslot < 1 || id->nslot > 65535 || id->nlease < 1 || id->nlease > 1024)
		return WIRE_RANGE;
	return WIRE_OK;
}

uint64_t wire_stats_nbytes(uint32_t nlease)
{
	uint64_t n = NVME_ACCEL_STATS_LEASES + (uint64_t)nlease * sizeof(struct nvme_accel_lease_stats);

	return (n + NVME_ACCEL_PAGE - 1) & ~(uint64_t)(NVME_ACCEL_PAGE - 1);
}

static uint64_t slots_nbytes(const struct wire_id *id)
{
	return (uint64_t)id->nslot << (id->aliasb + 1 + id->winsh);
}

/* The four regions; only after wire_check_shifts(). */
static void regions(const struct wire_id *id, struct region r[4])
{
	r[0] = (struct region){ id->info_off, NVME_ACCEL_INFO_PAGES * NVME_ACCEL_PAGE, NVME_ACCEL_PAGE };
	r[1] = (struct region){ id->stats_off, wire_stats_nbytes(id->nlease), NVME_ACCEL_PAGE };
	r[2] = (struct region){ id->lease_off, (uint64_t)id->nlease * NVME_ACCEL_LEASE_STRIDE,
				NVME_ACCEL_PAGE };
	r[3] = (struct region){ id->slot_off, slots_nbytes(id), (uint64_t)2 << id->winsh };
}

static int overlap(const struct region *a, const struct region *b)
{
	/* Neither sum overflows: both were found to end within the namespace. */
	return a->off < b->off + b->nbytes && b->off < a->off + a->nbytes;
}

enum wire_err wire_check_geometry(const struct wire_id *id)
{
	uint64_t b = (uint64_t)1 << id->lbadsx, half = (uint64_t)1 << id->winsh, end;
	struct region r[4];
	unsigned int i, j;

	if (id->maxin > half - b || id->maxout > half / 2 - 2 * b)
		return WIRE_GEOMETRY;
	/* Who sees blocks only finds the identity because it is always here. */
	if (id->info_off != NVME_ACCEL_QUIET)
		return WIRE_GEOMETRY;
	if (id->nsze > NSZE_BYTES_MAX >> id->lbadsx || id->nsze << id->lbadsx < 2 * (uint64_t)NVME_ACCEL_QUIET)
		return WIRE_GEOMETRY;
	end = (id->nsze << id->lbadsx) - NVME_ACCEL_QUIET;
	regions(id, r);
	for (i = 0; i < 4; i++) {
		if (r[i].off < NVME_ACCEL_QUIET || r[i].off % r[i].align)
			return WIRE_GEOMETRY;
		if (r[i].off > end || r[i].nbytes > end - r[i].off)
			return WIRE_GEOMETRY;
		for (j = 0; j < i; j++)
			if (overlap(&r[i], &r[j]))
				return WIRE_GEOMETRY;
	}
	return WIRE_OK;
}

static uint64_t up_to(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

enum wire_err wire_layout(struct wire_id *id)
{
	enum wire_err err = wire_check_shifts(id);

	if (err)
		return err;
	id->info_off = NVME_ACCEL_QUIET;
	id->stats_off = id->info_off + NVME_ACCEL_INFO_PAGES * NVME_ACCEL_PAGE;
	id->lease_off = up_to(id->stats_off + wire_stats_nbytes(id->nlease), NVME_ACCEL_LEASE_STRIDE);
	id->slot_off = up_to(id->lease_off + (uint64_t)id->nlease * NVME_ACCEL_LEASE_STRIDE,
			     (uint64_t)2 << id->winsh);
	id->nsze = (id->slot_off + slots_nbytes(id) + NVME_ACCEL_QUIET) >> id->lbadsx;
	return WIRE_OK;
}

static int within(uint64_t byte, uint64_t off, uint64_t nbytes, uint64_t *rel)
{
	if (byte < off || byte - off >= nbytes)
		return 0;
	*rel = byte - off;
	return 1;
}

static void slot_addr_decode(const struct wire_id *id, uint64_t rel, struct wire_addr *addr)
{
	uint64_t window = rel >> (id->winsh + 1);

	addr->region = WIRE_R_SLOTS;
	addr->off = rel & (((uint64_t)1 << id->winsh) - 1);
	addr->half = rel >> id->winsh & 1;
	addr->alias = (uint8_t)(window & ((1u << id->aliasb) - 1));
	addr->slot = (uint32_t)(window >> id->aliasb);
}

void wire_addr_decode(const struct wire_id *id, uint64_t byte, struct wire_addr *addr)
{
	uint64_t rel;

	*addr = (struct wire_addr){ .region = WIRE_R_NONE, .off = byte };
	if (within(byte, id->slot_off, slots_nbytes(id), &rel)) {
		slot_addr_decode(id, rel, addr);
		return;
	}
	if (within(byte, id->info_off, NVME_ACCEL_INFO_PAGES * NVME_ACCEL_PAGE, &rel))
		addr->region = WIRE_R_INFO;
	else if (within(byte, id->stats_off, wire_stats_nbytes(id->nlease), &rel))
		addr->region = WIRE_R_STATS;
	else if (within(byte, id->lease_off, (uint64_t)id->nlease * NVME_ACCEL_LEASE_STRIDE, &rel))
		addr->region = WIRE_R_LEASES;
	else if (within(byte, 0, id->nsze << id->lbadsx, &rel))
		addr->region = WIRE_R_QUIET;
	else
		return;
	addr->off = rel;
}

uint64_t wire_slot_addr(const struct wire_id *id, uint32_t slot, uint64_t seq, int half)
{
	uint64_t window = ((uint64_t)slot << id->aliasb) + (seq & ((1u << id->aliasb) - 1));

	return id->slot_off + ((window * 2 + (half != 0)) << id->winsh);
}

uint64_t wire_wait_addr(const struct wire_id *id, uint32_t slot, uint64_t seq)
{
	return wire_slot_addr(id, slot, seq, 1) + ((uint64_t)1 << (id->winsh - 1));
}
