// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is read from a lease record. */
#include "wire_priv.h"

#define LEASE_FLAGS	(NVME_ACCEL_LEASE_EXCLUSIVE | NVME_ACCEL_LEASE_PREEMPTIBLE)
#define LEASE_CRC_SPAN	offsetof(struct nvme_accel_lease, crc)

/* Ranges ascend and do not touch the same slot twice; their sum is nslot. */
static enum wire_err check_ranges(const struct wire_lease *l, uint32_t nslot)
{
	uint64_t next = 0, sum = 0;
	uint32_t i;

	if (l->nrange > NVME_ACCEL_NRANGE)
		return WIRE_LENGTH;
	for (i = 0; i < l->nrange; i++) {
		uint64_t first = l->range[i].first, count = l->range[i].count;

		if (!count || first < next || first + count > nslot)
			return WIRE_RANGE;
		next = first + count;
		sum += count;
	}
	return sum == l->nslot ? WIRE_OK : WIRE_RANGE;
}

static enum wire_err check_lease(const struct wire_lease *l, uint32_t nslot)
{
	if (l->state > NVME_ACCEL_LEASE_DRAINING)
		return WIRE_RANGE;
	if (l->flags & ~LEASE_FLAGS)
		return WIRE_RESERVED;
	if (l->state == NVME_ACCEL_LEASE_FREE && l->nrange)
		return WIRE_RANGE;
	return check_ranges(l, nslot);
}

static uint8_t *range_at(void *page, unsigned int i)
{
	return FIELDW(page, nvme_accel_lease, range) + i * sizeof(struct nvme_accel_range);
}

enum wire_err wire_lease_encode(const struct wire_lease *lease, void *page)
{
	enum wire_err err = check_lease(lease, 65535);
	unsigned int i;

	if (err)
		return err;
	memset(page, 0, NVME_ACCEL_PAGE);
	__builtin_memcpy(page, NVME_ACCEL_LEASE_MAGIC, 4);
	PUT8(page, nvme_accel_lease, version, WIRE_VERSION_1);
	PUT8(page, nvme_accel_lease, state, lease->state);
	PUT16(page, nvme_accel_lease, flags, lease->flags);
	PUT32(page, nvme_accel_lease, epoch, lease->epoch);
	PUT32(page, nvme_accel_lease, remaining_ms, lease->remaining_ms);
	PUTB(page, nvme_accel_lease, claim_id, lease->claim_id);
	PUTB(page, nvme_accel_lease, hostid, lease->hostid);
	wire_text_put(FIELDW(page, nvme_accel_lease, label), sizeof(lease->label) - 1, lease->label);
	PUT32(page, nvme_accel_lease, nrange, lease->nrange);
	PUT32(page, nvme_accel_lease, nslot, lease->nslot);
	for (i = 0; i < lease->nrange; i++) {
		PUT32(range_at(page, i), nvme_accel_range, first, lease->range[i].first);
		PUT32(range_at(page, i), nvme_accel_range, count, lease->range[i].count);
	}
	PUT64(page, nvme_accel_lease, bootid, lease->bootid);
	PUTB(page, nvme_accel_lease, refused_claim_id, lease->refused_claim_id);
	PUT32(page, nvme_accel_lease, refused_code, lease->refused_code);
	PUT32(page, nvme_accel_lease, duration_ms, lease->duration_ms);
	PUT32(page, nvme_accel_lease, index, lease->index);
	PUT32(page, nvme_accel_lease, crc, base_crc32c(0, page, LEASE_CRC_SPAN));
	return WIRE_OK;
}

static enum wire_err ranges_decode(struct wire_lease *lease, const uint8_t *page)
{
	size_t size = sizeof(struct nvme_accel_range);
	const uint8_t *r = FIELD(page, nvme_accel_lease, range);
	unsigned int i;

	lease->nrange = GET32(page, nvme_accel_lease, nrange);
	lease->nslot = GET32(page, nvme_accel_lease, nslot);
	if (lease->nrange > NVME_ACCEL_NRANGE)
		return WIRE_LENGTH;
	for (i = 0; i < lease->nrange; i++, r += size) {
		lease->range[i].first = GET32(r, nvme_accel_range, first);
		lease->range[i].count = GET32(r, nvme_accel_range, count);
	}
	return base_is_zero(r, (NVME_ACCEL_NRANGE - i) * size) ? WIRE_OK : WIRE_RESERVED;
}

static enum wire_err check_envelope(const uint8_t *page)
{
	size_t size = sizeof(struct nvme_accel_lease);

	if (!magic_is(page, NVME_ACCEL_LEASE_MAGIC))
		return WIRE_MAGIC;
	if (GET8(page, nvme_accel_lease, version) != WIRE_VERSION_1)
		return WIRE_VERSION;
	if (GET32(page, nvme_accel_lease, crc) != base_crc32c(0, page, LEASE_CRC_SPAN))
		return WIRE_CRC;
	if (!IS_ZERO(page, nvme_accel_lease, rsvd172) || !base_is_zero(page + size, NVME_ACCEL_PAGE - size))
		return WIRE_RESERVED;
	return WIRE_OK;
}

enum wire_err wire_lease_decode(struct wire_lease *lease, const void *page, uint32_t nslot)
{
	enum wire_err err = check_envelope(page);

	if (err)
		return err;
	memset(lease, 0, sizeof(*lease));
	lease->state = GET8(page, nvme_accel_lease, state);
	lease->flags = GET16(page, nvme_accel_lease, flags);
	lease->epoch = GET32(page, nvme_accel_lease, epoch);
	lease->remaining_ms = GET32(page, nvme_accel_lease, remaining_ms);
	GETB(lease->claim_id, page, nvme_accel_lease, claim_id);
	GETB(lease->hostid, page, nvme_accel_lease, hostid);
	lease->bootid = GET64(page, nvme_accel_lease, bootid);
	GETB(lease->refused_claim_id, page, nvme_accel_lease, refused_claim_id);
	lease->refused_code = GET32(page, nvme_accel_lease, refused_code);
	lease->duration_ms = GET32(page, nvme_accel_lease, duration_ms);
	lease->index = GET32(page, nvme_accel_lease, index);
	if (!wire_text_get(lease->label, FIELD(page, nvme_accel_lease, label), sizeof(lease->label) - 1))
		return WIRE_RANGE;
	err = ranges_decode(lease, page);
	return err ? err : check_lease(lease, nslot);
}
