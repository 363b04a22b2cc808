// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is written to a lease record. */
#include "wire_priv.h"

#define CLAIM_FLAGS	(NVME_ACCEL_LEASE_EXCLUSIVE | NVME_ACCEL_LEASE_PREEMPTIBLE)
#define CLAIM_CRC_SPAN	offsetof(struct nvme_accel_claim, crc)

static enum wire_err check_claim(const struct wire_claim *c)
{
	int break_it = c->op == NVME_ACCEL_LEASE_BREAK;

	if (c->op < NVME_ACCEL_LEASE_CLAIM || c->op > NVME_ACCEL_LEASE_BREAK)
		return WIRE_RANGE;
	if (c->flags & ~CLAIM_FLAGS)
		return WIRE_RESERVED;
	/* A record that nobody holds shows a claim_id of zeros, and keeps a nonce of zeros. */
	if (base_is_zero(c->claim_id, sizeof(c->claim_id)))
		return WIRE_RANGE;
	if (base_is_zero(c->nonce, sizeof(c->nonce)) != break_it)
		return WIRE_RANGE;
	if (c->op != NVME_ACCEL_LEASE_CLAIM || c->flags & NVME_ACCEL_LEASE_EXCLUSIVE)
		return WIRE_OK;
	return c->slots_min && c->slots_min <= c->slots_wanted ? WIRE_OK : WIRE_RANGE;
}

enum wire_err wire_claim_encode(const struct wire_claim *claim, void *buf, size_t len)
{
	enum wire_err err = check_claim(claim);

	if (err)
		return err;
	if (len < sizeof(struct nvme_accel_claim))
		return WIRE_LENGTH;
	memset(buf, 0, len);
	__builtin_memcpy(buf, NVME_ACCEL_CLAIM_MAGIC, 4);
	PUT16(buf, nvme_accel_claim, op, claim->op);
	PUT16(buf, nvme_accel_claim, flags, claim->flags);
	PUTB(buf, nvme_accel_claim, claim_id, claim->claim_id);
	PUTB(buf, nvme_accel_claim, nonce, claim->nonce);
	PUTB(buf, nvme_accel_claim, hostid, claim->hostid);
	wire_text_put(FIELDW(buf, nvme_accel_claim, label), FIELD_SIZE(nvme_accel_claim, label), claim->label);
	PUT32(buf, nvme_accel_claim, slots_wanted, claim->slots_wanted);
	PUT32(buf, nvme_accel_claim, slots_min, claim->slots_min);
	PUT32(buf, nvme_accel_claim, duration_ms, claim->duration_ms);
	PUT32(buf, nvme_accel_claim, epoch, claim->epoch);
	PUT32(buf, nvme_accel_claim, crc, base_crc32c(0, buf, CLAIM_CRC_SPAN));
	return WIRE_OK;
}

enum wire_err wire_claim_decode(struct wire_claim *claim, const void *buf, size_t len)
{
	size_t size = sizeof(struct nvme_accel_claim);

	if (len < size)
		return WIRE_LENGTH;
	if (!magic_is(buf, NVME_ACCEL_CLAIM_MAGIC))
		return WIRE_MAGIC;
	if (GET32(buf, nvme_accel_claim, crc) != base_crc32c(0, buf, CLAIM_CRC_SPAN))
		return WIRE_CRC;
	if (!IS_ZERO(buf, nvme_accel_claim, rsvd96) || !base_is_zero((const uint8_t *)buf + size, len - size))
		return WIRE_RESERVED;
	claim->op = GET16(buf, nvme_accel_claim, op);
	claim->flags = GET16(buf, nvme_accel_claim, flags);
	GETB(claim->claim_id, buf, nvme_accel_claim, claim_id);
	GETB(claim->nonce, buf, nvme_accel_claim, nonce);
	GETB(claim->hostid, buf, nvme_accel_claim, hostid);
	claim->slots_wanted = GET32(buf, nvme_accel_claim, slots_wanted);
	claim->slots_min = GET32(buf, nvme_accel_claim, slots_min);
	claim->duration_ms = GET32(buf, nvme_accel_claim, duration_ms);
	claim->epoch = GET32(buf, nvme_accel_claim, epoch);
	if (!wire_text_get(claim->label, FIELD(buf, nvme_accel_claim, label), sizeof(claim->label) - 1))
		return WIRE_RANGE;
	return check_claim(claim);
}
