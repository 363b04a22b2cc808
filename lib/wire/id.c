// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Identify Namespace: the standard fields that matter to an accelerator, and the identity behind them. */
#include "wire_priv.h"

/* Standard fields, by their bytes in the NVM command set's Identify Namespace. */
#define NS_NSZE	  0
#define NS_NCAP	  8
#define NS_NUSE	  16
#define NS_NLBAF  25
#define NS_FLBAS  26
#define NS_DPS	  29
#define NS_NMIC	  30
#define NS_NOIOB  46
#define NS_NGUID  104
#define NS_LBAF	  128
#define LBAF_NMAX 64

static uint32_t noiob(const struct wire_id *id)
{
	return 1u << (id->winsh - id->lbadsx);
}

static uint32_t hdr_crc(const uint8_t *h, size_t len)
{
	static const uint8_t none[4];
	size_t at = offsetof(struct nvme_accel_id, hdrcrc);
	uint32_t crc = base_crc32c(base_crc32c(0, h, at), none, 4);

	return base_crc32c(crc, h + at + 4, len - at - 4);
}

static int type_ok(uint16_t type)
{
	return (type >= NVME_ACCEL_TYPE_COMPRESSION && type <= NVME_ACCEL_TYPE_PROGRAM) ||
	       type == NVME_ACCEL_TYPE_DATA || type == NVME_ACCEL_TYPE_MULTI || type >= NVME_ACCEL_TYPE_TEST;
}

/* Values; regions and operations apart. */
static enum wire_err check_values(const struct wire_id *id)
{
	uint64_t holds = NVME_ACCEL_FEAT_WAIT | NVME_ACCEL_FEAT_COMPLETE_ON_DONE;
	enum wire_err err = wire_check_shifts(id);

	if (err)
		return err;
	if (id->ifminor == NVME_ACCEL_IFMINOR ? !type_ok(id->type) : !id->type)
		return WIRE_RANGE;
	if (!(id->feat & (NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT)))
		return WIRE_RANGE;
	if (id->maxstage < 1 || id->maxstage > NVME_ACCEL_MAX_STAGES)
		return WIRE_RANGE;
	if (id->holdmax_ms > 5000 || (id->feat & holds && !id->holdmax_ms))
		return WIRE_RANGE;
	if (!id->leasemin_ms || id->leasemin_ms > id->leasemax_ms)
		return WIRE_RANGE;
	if (id->state > NVME_ACCEL_DEV_FAILED || id->slots_free > id->nslot)
		return WIRE_RANGE;
	return WIRE_OK;
}

static enum wire_err check_all(const struct wire_id *id)
{
	enum wire_err err;

	if (id->ifmajor != NVME_ACCEL_IFMAJOR)
		return WIRE_VERSION;
	err = check_values(id);
	if (!err)
		err = wire_check_geometry(id);
	return err ? err : wire_check_ops(id);
}

static void standard_encode(const struct wire_id *id, uint8_t *p)
{
	le64_put(p + NS_NSZE, id->nsze);
	le64_put(p + NS_NCAP, id->nsze);
	le64_put(p + NS_NUSE, id->nsze);
	p[NS_NMIC] = id->nmic;
	le16_put(p + NS_NOIOB, (uint16_t)noiob(id));
	memcpy(p + NS_NGUID, base_is_zero(id->nguid, 16) ? id->uuid : id->nguid, 16);
	p[NS_LBAF + 2] = id->lbadsx;
}

/* The format in use must be the block size that the identity names, without metadata or protection. */
static enum wire_err standard_decode(struct wire_id *id, const uint8_t *p)
{
	unsigned int format = (p[NS_FLBAS] & 0xf) | (p[NS_FLBAS] >> 1 & 0x30);
	const uint8_t *lbaf = p + NS_LBAF + 4 * (format % LBAF_NMAX);

	id->nsze = le64_get(p + NS_NSZE);
	id->nmic = p[NS_NMIC];
	if (memcmp(p + NS_NGUID, id->uuid, 16))
		memcpy(id->nguid, p + NS_NGUID, 16);
	if (format > p[NS_NLBAF] || lbaf[2] != id->lbadsx || le16_get(lbaf) || p[NS_DPS] & 7)
		return WIRE_GEOMETRY;
	if (le16_get(p + NS_NOIOB) != noiob(id))
		return WIRE_GEOMETRY;
	return WIRE_OK;
}

static void header_encode(const struct wire_id *id, uint8_t *h)
{
	memcpy(h, NVME_ACCEL_MAGIC, 8);
	PUT8(h, nvme_accel_id, ifmajor, id->ifmajor);
	PUT8(h, nvme_accel_id, ifminor, id->ifminor);
	PUT16(h, nvme_accel_id, hdrlen, NVME_ACCEL_HDRLEN);
	PUT16(h, nvme_accel_id, type, id->type);
	PUT16(h, nvme_accel_id, subtype, id->subtype);
	PUT32(h, nvme_accel_id, implver, id->implver);
	PUTB(h, nvme_accel_id, uuid, id->uuid);
	PUTB(h, nvme_accel_id, implid, id->implid);
	wire_text_put(FIELDW(h, nvme_accel_id, name), FIELD_SIZE(nvme_accel_id, name), id->name);
	PUT64(h, nvme_accel_id, feat, id->feat);
	PUT32(h, nvme_accel_id, nslot, id->nslot);
	PUT8(h, nvme_accel_id, lbadsx, id->lbadsx);
	PUT8(h, nvme_accel_id, winsh, id->winsh);
	PUT8(h, nvme_accel_id, aliasb, id->aliasb);
	PUT8(h, nvme_accel_id, maxstage, id->maxstage);
	PUT32(h, nvme_accel_id, nlease, id->nlease);
	PUT32(h, nvme_accel_id, holdmax_ms, id->holdmax_ms);
	PUT64(h, nvme_accel_id, maxin, id->maxin);
	PUT64(h, nvme_accel_id, maxout, id->maxout);
	PUT32(h, nvme_accel_id, leasemin_ms, id->leasemin_ms);
	PUT32(h, nvme_accel_id, leasemax_ms, id->leasemax_ms);
	PUT64(h, nvme_accel_id, info_off, id->info_off);
	PUT64(h, nvme_accel_id, lease_off, id->lease_off);
	PUT64(h, nvme_accel_id, stats_off, id->stats_off);
	PUT64(h, nvme_accel_id, slot_off, id->slot_off);
	PUT32(h, nvme_accel_id, nobj, id->nobj);
	PUT32(h, nvme_accel_id, maxobj, id->maxobj);
	PUT32(h, nvme_accel_id, neng, id->neng);
	PUT32(h, nvme_accel_id, engdepth, id->engdepth);
	PUT32(h, nvme_accel_id, hdrcrc, hdr_crc(h, NVME_ACCEL_HDRLEN));
	PUT32(h, nvme_accel_id, build_date, id->build_date);
	PUTB(h, nvme_accel_id, source_id, id->source_id);
}

static void header_decode(struct wire_id *id, const uint8_t *h)
{
	id->ifmajor = GET8(h, nvme_accel_id, ifmajor);
	id->ifminor = GET8(h, nvme_accel_id, ifminor);
	id->type = GET16(h, nvme_accel_id, type);
	id->subtype = GET16(h, nvme_accel_id, subtype);
	id->implver = GET32(h, nvme_accel_id, implver);
	GETB(id->uuid, h, nvme_accel_id, uuid);
	GETB(id->implid, h, nvme_accel_id, implid);
	id->feat = GET64(h, nvme_accel_id, feat);
	id->nslot = GET32(h, nvme_accel_id, nslot);
	id->lbadsx = GET8(h, nvme_accel_id, lbadsx);
	id->winsh = GET8(h, nvme_accel_id, winsh);
	id->aliasb = GET8(h, nvme_accel_id, aliasb);
	id->maxstage = GET8(h, nvme_accel_id, maxstage);
	id->nlease = GET32(h, nvme_accel_id, nlease);
	id->holdmax_ms = GET32(h, nvme_accel_id, holdmax_ms);
	id->maxin = GET64(h, nvme_accel_id, maxin);
	id->maxout = GET64(h, nvme_accel_id, maxout);
	id->leasemin_ms = GET32(h, nvme_accel_id, leasemin_ms);
	id->leasemax_ms = GET32(h, nvme_accel_id, leasemax_ms);
	id->info_off = GET64(h, nvme_accel_id, info_off);
	id->lease_off = GET64(h, nvme_accel_id, lease_off);
	id->stats_off = GET64(h, nvme_accel_id, stats_off);
	id->slot_off = GET64(h, nvme_accel_id, slot_off);
	id->nobj = GET32(h, nvme_accel_id, nobj);
	id->maxobj = GET32(h, nvme_accel_id, maxobj);
	id->neng = GET32(h, nvme_accel_id, neng);
	id->engdepth = GET32(h, nvme_accel_id, engdepth);
	id->bootid = GET64(h, nvme_accel_id, bootid);
	id->state = GET8(h, nvme_accel_id, state);
	id->slots_free = GET32(h, nvme_accel_id, slots_free);
	id->build_date = GET32(h, nvme_accel_id, build_date);
	GETB(id->source_id, h, nvme_accel_id, source_id);
	id->nops = GET16(h, nvme_accel_id, nops);
}

static void ops_encode(const struct wire_id *id, uint8_t *page)
{
	uint8_t *h = page + NVME_ACCEL_ID_OFF, *ops = page + NVME_ACCEL_OPS_OFF;
	unsigned int i;

	for (i = 0; i < id->nops; i++)
		wire_op_encode(&id->ops[i], ops + i * sizeof(struct nvme_accel_op));
	PUT32(h, nvme_accel_id, opscrc, base_crc32c(0, ops, id->nops * sizeof(struct nvme_accel_op)));
	PUT16(h, nvme_accel_id, nops, id->nops);
	PUT16(h, nvme_accel_id, opsz, sizeof(struct nvme_accel_op));
}

static enum wire_err ops_decode(struct wire_id *id, const uint8_t *page)
{
	const uint8_t *h = page + NVME_ACCEL_ID_OFF, *ops = page + NVME_ACCEL_OPS_OFF;
	size_t size = sizeof(struct nvme_accel_op);
	enum wire_err err = WIRE_OK;
	unsigned int i;

	if (GET16(h, nvme_accel_id, opsz) != size || id->nops > NVME_ACCEL_MAX_OPS)
		return WIRE_OPS;
	if (GET32(h, nvme_accel_id, opscrc) != base_crc32c(0, ops, id->nops * size))
		return WIRE_OPS;
	for (i = 0; i < id->nops && !err; i++)
		err = wire_op_decode(&id->ops[i], ops + i * size, id->ifminor == NVME_ACCEL_IFMINOR);
	return err;
}

enum wire_err wire_id_encode(const struct wire_id *id, void *page)
{
	enum wire_err err = check_all(id);

	if (err)
		return err;
	memset(page, 0, NVME_ACCEL_PAGE);
	standard_encode(id, page);
	header_encode(id, (uint8_t *)page + NVME_ACCEL_ID_OFF);
	ops_encode(id, page);
	wire_id_update(page, id->bootid, id->state, id->slots_free);
	return WIRE_OK;
}

/* What must be right before any field may be believed. */
static enum wire_err check_envelope(const uint8_t *h)
{
	size_t len = GET16(h, nvme_accel_id, hdrlen);

	if (__builtin_memcmp(h, NVME_ACCEL_MAGIC, 8))
		return WIRE_MAGIC;
	if (GET8(h, nvme_accel_id, ifmajor) != NVME_ACCEL_IFMAJOR)
		return WIRE_VERSION;
	if (len < NVME_ACCEL_HDRLEN || len > NVME_ACCEL_PAGE - NVME_ACCEL_ID_OFF)
		return WIRE_LENGTH;
	if (GET32(h, nvme_accel_id, hdrcrc) != hdr_crc(h, len))
		return WIRE_CRC;
	return WIRE_OK;
}

static int reserved_zero(const uint8_t *h)
{
	return IS_ZERO(h, nvme_accel_id, rsvd593) && IS_ZERO(h, nvme_accel_id, rsvd604) &&
	       IS_ZERO(h, nvme_accel_id, rsvd628) && IS_ZERO(h, nvme_accel_id, rsvd644);
}

enum wire_err wire_id_decode(struct wire_id *id, const void *page)
{
	const uint8_t *h = (const uint8_t *)page + NVME_ACCEL_ID_OFF;
	enum wire_err err = check_envelope(h);

	if (err)
		return err;
	memset(id, 0, sizeof(*id));
	header_decode(id, h);
	if (!wire_text_get(id->name, FIELD(h, nvme_accel_id, name), FIELD_SIZE(nvme_accel_id, name)))
		return WIRE_RANGE;
	/* A later minor version may have given a reserved field a meaning that an old host can do without. */
	if (id->ifminor == NVME_ACCEL_IFMINOR && !reserved_zero(h))
		return WIRE_RESERVED;
	err = check_values(id);
	if (!err)
		err = standard_decode(id, page);
	if (!err)
		err = ops_decode(id, page);
	return err ? err : check_all(id);
}

int wire_id_present(const void *page)
{
	return !__builtin_memcmp((const uint8_t *)page + NVME_ACCEL_ID_OFF, NVME_ACCEL_MAGIC, 8);
}

void wire_id_update(void *page, uint64_t bootid, uint8_t state, uint32_t slots_free)
{
	uint8_t *h = (uint8_t *)page + NVME_ACCEL_ID_OFF;

	PUT64(h, nvme_accel_id, bootid, bootid);
	PUT8(h, nvme_accel_id, state, state);
	PUT32(h, nvme_accel_id, slots_free, slots_free);
}
