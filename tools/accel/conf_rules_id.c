/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 1: the identity. Section 2: its map. */
#include "conf.h"
#include <string.h>

#define ID(c, member) ((c)->page + NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, member))

static int id_magic(struct conf *c)
{
	if (memcmp(ID(c, magic), NVME_ACCEL_MAGIC, 8))
		return conf_fail(c, "no magic at byte 384");
	if (*ID(c, ifmajor) != NVME_ACCEL_IFMAJOR)
		return conf_fail(c, "interface %u.%u", *ID(c, ifmajor), *ID(c, ifminor));
	return CONF_PASS;
}

static int id_crc(struct conf *c)
{
	uint32_t len = (uint32_t)get_le(ID(c, hdrlen), 2), crc;
	uint8_t copy[NVME_ACCEL_PAGE];

	if (len < NVME_ACCEL_HDRLEN || len > sizeof(copy) - NVME_ACCEL_ID_OFF)
		return conf_fail(c, "HDRLEN is %u", len);
	memcpy(copy, c->page, sizeof(copy));
	memset(copy + NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, hdrcrc), 0, 4);
	crc = ec_crc32c(0, copy + NVME_ACCEL_ID_OFF, len);
	if (get_le(ID(c, hdrcrc), 4) != crc)
		return conf_fail(c, "HDRCRC is %#x, the bytes have %#x",
				 (unsigned int)get_le(ID(c, hdrcrc), 4), crc);
	return CONF_PASS;
}

/* The standard part: offsets are those of the NVM command set. */
static int id_standard(struct conf *c)
{
	const uint8_t *p = c->page, *lbaf;
	unsigned int format = (p[26] & 15u) | (p[26] >> 1 & 0x30u);

	lbaf = p + 128 + 4 * format;
	if (!get_le(p, 8) || get_le(p + 8, 8) > get_le(p, 8))
		return conf_fail(c, "NSZE %llu, NCAP %llu", (unsigned long long)get_le(p, 8),
				 (unsigned long long)get_le(p + 8, 8));
	if (lbaf[2] != *ID(c, lbadsx))
		return conf_fail(c, "LBADS %u, LBADSX %u", lbaf[2], *ID(c, lbadsx));
	if (get_le(lbaf, 2) || p[27] || p[28] || p[29])
		return conf_fail(c, "metadata or protection information is announced");
	if (get_le(p + 46, 2) != c->id.half / c->id.block)
		return conf_fail(c, "NOIOB is %u blocks, a half window has %u",
				 (unsigned int)get_le(p + 46, 2), c->id.half / c->id.block);
	if (bytes_are_zero(p + 104, 16))
		return conf_fail(c, "NGUID is zero");
	return CONF_PASS;
}

static int id_names(struct conf *c)
{
	const uint8_t *name = ID(c, name);
	size_t n = strnlen((const char *)name, 48);

	if (bytes_are_zero(ID(c, uuid), 16) || bytes_are_zero(ID(c, implid), 16))
		return conf_fail(c, "UUID or IMPLID is zero");
	for (size_t i = 0; i < n; i++)
		if (name[i] < 0x20 || name[i] > 0x7e)
			return conf_fail(c, "NAME has byte %#x", name[i]);
	if (!n || !bytes_are_zero(name + n, 48 - n))
		return conf_fail(c, "NAME is empty or not padded with zeros");
	return CONF_PASS;
}

static int id_ranges(struct conf *c)
{
	const struct conf_id *i = &c->id;

	if (!i->nslot || i->nslot > 65535 || !i->nlease || i->nlease > 1024)
		return conf_fail(c, "NSLOT %u, NLEASE %u", i->nslot, i->nlease);
	if (!*ID(c, maxstage) || *ID(c, maxstage) > NVME_ACCEL_MAX_STAGES)
		return conf_fail(c, "MAXSTAGE %u", *ID(c, maxstage));
	if (!i->holdmax_ms || i->holdmax_ms > 5000)
		return conf_fail(c, "HOLDMAX %u ms", i->holdmax_ms);
	if (!i->leasemin_ms || i->leasemin_ms > i->leasemax_ms)
		return conf_fail(c, "LEASEMIN %u, LEASEMAX %u", i->leasemin_ms, i->leasemax_ms);
	if (!i->maxin || i->maxin > i->half - i->block || !i->maxout ||
	    i->maxout > i->half / 2 - 2 * i->block)
		return conf_fail(c, "MAXIN %llu, MAXOUT %llu do not fit a half window of %u",
				 (unsigned long long)i->maxin, (unsigned long long)i->maxout, i->half);
	if (*ID(c, state) > NVME_ACCEL_DEV_FAILED)
		return conf_fail(c, "STATE %u", *ID(c, state));
	if (!i->bootid)
		return conf_fail(c, "BOOTID is zero");
	if (get_le(ID(c, slots_free), 4) > i->nslot)
		return conf_fail(c, "SLOTS_FREE is more than NSLOT");
	return CONF_PASS;
}

static int id_reserved(struct conf *c)
{
	if (!bytes_are_zero(ID(c, rsvd593), 3) || !bytes_are_zero(ID(c, rsvd604), 4) ||
	    !bytes_are_zero(ID(c, rsvd628), 8) || !bytes_are_zero(ID(c, rsvd644), 60))
		return conf_fail(c, "reserved bytes of the identity are not zero");
	return CONF_PASS;
}

static int op_check(struct conf *c, uint32_t i, const struct nvme_accel_op *op)
{
	if (!get_le(&op->op, 2))
		return conf_fail(c, "entry %u has operation 0", i);
	if (!bytes_are_zero(op->rsvd48, sizeof(op->rsvd48)) || get_le(&op->flags, 4) >> 6)
		return conf_fail(c, "entry %u: reserved bytes or flags are not zero", i);
	if (!(get_le(&op->flags, 4) & 15))
		return conf_fail(c, "entry %u can stand nowhere", i);
	if (get_le(&op->max_in, 8) > c->id.maxin || get_le(&op->max_out, 8) > c->id.maxout)
		return conf_fail(c, "entry %u: max_in or max_out is beyond MAXIN or MAXOUT", i);
	if (get_le(&op->min_in, 4) > get_le(&op->max_in, 8) || op->level_min > op->level_max)
		return conf_fail(c, "entry %u: a minimum is above its maximum", i);
	return CONF_PASS;
}

static int id_ops(struct conf *c)
{
	const uint8_t *table = c->page + NVME_ACCEL_OPS_OFF;
	int rc = CONF_PASS;

	if (get_le(ID(c, opsz), 2) != sizeof(struct nvme_accel_op) || !c->id.nops ||
	    c->id.nops > NVME_ACCEL_MAX_OPS)
		return conf_fail(c, "NOPS %u, OPSZ %u", c->id.nops, (unsigned int)get_le(ID(c, opsz), 2));
	if (get_le(ID(c, opscrc), 4) != ec_crc32c(0, table, c->id.nops * sizeof(struct nvme_accel_op)))
		return conf_fail(c, "OPSCRC is not that of the table");
	for (uint32_t i = 0; i < c->id.nops && !rc; i++)
		rc = op_check(c, i, (const struct nvme_accel_op *)table + i);
	return rc;
}

/* Same but for what changes while it is read. */
static int id_copy(struct conf *c)
{
	uint8_t copy[NVME_ACCEL_PAGE];
	size_t run = NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, state);
	size_t rest = NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, build_date);
	int rc = conf_must(c, conf_read(c, c->id.info_off, copy, sizeof(copy)),
			   "reading the copy of the identity");

	if (rc)
		return rc;
	if (memcmp(copy, c->page, run) || memcmp(copy + rest, c->page + rest, sizeof(copy) - rest))
		return conf_fail(c, "the copy at INFO_OFF differs from Identify Namespace");
	return CONF_PASS;
}

/* Of what this version defines, a device announces what it does and nothing else. */
static int id_features(struct conf *c)
{
	const uint64_t reserved = NVME_ACCEL_FEAT_STREAMS | NVME_ACCEL_FEAT_VECTOR | NVME_ACCEL_FEAT_NSREF |
				  NVME_ACCEL_FEAT_OBJECTS | NVME_ACCEL_FEAT_CMB;

	if (!conf_feat(c, NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT))
		return conf_fail(c, "neither INLINE nor EXPLICIT");
	if (*ID(c, ifminor) == NVME_ACCEL_IFMINOR && c->id.feat & reserved)
		return conf_fail(c, "features %#llx are reserved in this version",
				 (unsigned long long)(c->id.feat & reserved));
	return CONF_PASS;
}

static int map_layout(struct conf *c)
{
	const struct conf_id *i = &c->id;
	uint64_t window = 2ull * i->half;
	uint64_t slots = (uint64_t)i->nslot * i->naliases * window, leases = (uint64_t)i->nlease * 8192;

	if (i->info_off != NVME_ACCEL_QUIET)
		return conf_fail(c, "INFO_OFF is %#llx", (unsigned long long)i->info_off);
	if (i->info_off + NVME_ACCEL_INFO_PAGES * NVME_ACCEL_PAGE > i->stats_off ||
	    i->stats_off + 3 * NVME_ACCEL_PAGE > i->lease_off || i->lease_off + leases > i->slot_off)
		return conf_fail(c, "regions overlap or are out of order");
	if ((i->stats_off | i->lease_off) % NVME_ACCEL_PAGE)
		return conf_fail(c, "STATS_OFF or LEASE_OFF is not aligned to 4096");
	if (i->slot_off % window)
		return conf_fail(c, "SLOT_OFF is no multiple of two half windows");
	if (i->slot_off + slots + NVME_ACCEL_QUIET > i->nbytes)
		return conf_fail(c, "slots and quiet tail do not fit into NSZE");
	return CONF_PASS;
}

static int id_stable(struct conf *c)
{
	uint8_t first[NVME_ACCEL_PAGE];
	size_t run = NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, state);
	int rc;

	memcpy(first, c->page, sizeof(first));
	rc = conf_identify(c);
	if (!rc && memcmp(first, c->page, run))
		rc = conf_fail(c, "what does not change at run time has changed");
	return rc;
}

const struct conf_rule conf_rules_id[] = {
	{ "R-5 R-6", "identity-magic", "magic and major version of the interface", id_magic },
	{ "R-6", "identity-crc", "HDRCRC is that of the header", id_crc },
	{ "R-7 R-8", "identity-standard", "the standard fields: sizes, block, no metadata, NOIOB, NGUID",
	  id_standard },
	{ "R-6", "identity-names", "UUIDs are set, NAME is printable and padded", id_names },
	{ "R-6 R-16", "identity-ranges", "numbers within their ranges", id_ranges },
	{ "R-4", "identity-features", "INLINE or EXPLICIT; nothing that is reserved", id_features },
	{ "R-1", "identity-reserved", "reserved bytes are zero", id_reserved },
	{ "R-9", "identity-operations", "table of operations: CRC, limits, reserved bytes", id_ops },
	{ "R-3", "identity-copy", "the same page can be read at INFO_OFF", id_copy },
	{ "R-6", "identity-stable", "Identify again gives the same", id_stable },
	{ "R-11", "map-layout", "regions in order, aligned, within the namespace", map_layout },
	{ 0 },
};
