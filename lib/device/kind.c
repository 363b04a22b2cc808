// SPDX-License-Identifier: BSD-2-Clause
/* What a device says of itself: one for each kind of work, and one for all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "priv.h"

#define BIT(n) (1u << (n))
#define OPS_COMPRESS	(BIT(NVME_ACCEL_OP_COMPRESS) | BIT(NVME_ACCEL_OP_DECOMPRESS))
#define OPS_EC		(BIT(NVME_ACCEL_OP_EC_ENCODE) | BIT(NVME_ACCEL_OP_EC_DECODE) | \
			 BIT(NVME_ACCEL_OP_EC_UPDATE) | BIT(NVME_ACCEL_OP_XOR) | BIT(NVME_ACCEL_OP_PQ_GEN))
#define OPS_CIPHER	(BIT(NVME_ACCEL_OP_ENCRYPT) | BIT(NVME_ACCEL_OP_DECRYPT))
#define OPS_SUM		(BIT(NVME_ACCEL_OP_DIGEST) | BIT(NVME_ACCEL_OP_CHECKSUM))
#define OPS_MOVE	(BIT(NVME_ACCEL_OP_COPY) | BIT(NVME_ACCEL_OP_FILL) | BIT(NVME_ACCEL_OP_COMPARE) | \
			 BIT(NVME_ACCEL_OP_XOR) | BIT(NVME_ACCEL_OP_PQ_GEN))

/* Beside its own work a namespace has what makes sense in one chain with it. */
static const struct {
	uint16_t type, subtype;
	const char *name;
	const char *type_name;		/* in configurations */
	uint32_t ops;
} kinds[DEVICE_KINDS] = {
	{ NVME_ACCEL_TYPE_COMPRESSION, NVME_ACCEL_ALG_DEFLATE, "software compression", "compression",
	  OPS_COMPRESS | OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_ERASURE, NVME_ACCEL_ALG_RS_CAUCHY, "software erasure coding", "erasure", OPS_EC | OPS_SUM },
	{ NVME_ACCEL_TYPE_CIPHER, NVME_ACCEL_ALG_AES_GCM, "software cipher", "cipher", OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_DIGEST, NVME_ACCEL_ALG_SHA256, "software digest", "digest", OPS_SUM },
	{ NVME_ACCEL_TYPE_CHECKSUM, NVME_ACCEL_ALG_CRC32C, "software checksum", "checksum", OPS_SUM },
	{ NVME_ACCEL_TYPE_DATA, 0, "software data movement", "data", OPS_MOVE | OPS_SUM },
	{ NVME_ACCEL_TYPE_MULTI, 0, "software accelerator", "all",
	  OPS_COMPRESS | OPS_EC | OPS_CIPHER | OPS_SUM | OPS_MOVE },
};

static const uint8_t implid[16] = {
	0x6e, 0x1d, 0x0c, 0x52, 0x9b, 0x3a, 0x4f, 0x71, 0x8c, 0x25, 0x40, 0xe7, 0x11, 0xd8, 0x93, 0x5a,
};

const char *device_kind_name(unsigned int kind)
{
	return kind >= 1 && kind <= DEVICE_KINDS ? kinds[kind - 1].name : NULL;
}

unsigned int device_kind(const char *type)
{
	unsigned int kind;

	for (kind = 1; kind <= DEVICE_KINDS; kind++)
		if (strcmp(kinds[kind - 1].type_name, type) == 0)
			return kind;
	return 0;
}

/* The same accelerator of every process has the same UUID, so that scripts can name it by that. */
static void own_uuid(const struct device_opts *opts, uint8_t uuid[16])
{
	memcpy(uuid, implid, 16);
	uuid[6] = 0x81;			/* version 8: of our own making */
	uuid[10] = (uint8_t)opts->kind;
	uuid[11] = (uint8_t)opts->threads;
	le32_put(uuid + 12, opts->slots);
}

/* The engines' own limits, 0 for none, within what a job can be here. */
static uint64_t limit(uint64_t engine, uint64_t job)
{
	return engine ? BASE_MIN(engine, job) : job;
}

static void add_ops(struct wire_id *id, uint32_t mask)
{
	struct wire_op all[NVME_ACCEL_MAX_OPS];
	unsigned int n = engine_ops(all, NVME_ACCEL_MAX_OPS), i;

	id->nops = 0;
	for (i = 0; i < n && i < NVME_ACCEL_MAX_OPS; i++) {
		if (all[i].op >= 32 || !(mask & BIT(all[i].op)))
			continue;
		all[i].max_in = limit(all[i].max_in, id->maxin);
		all[i].max_out = limit(all[i].max_out, id->maxout);
		id->ops[id->nops++] = all[i];
	}
}

static uint64_t features(const struct device_opts *opts)
{
	uint64_t feat = NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT | NVME_ACCEL_FEAT_WAIT |
			NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_STOP | NVME_ACCEL_FEAT_IN_CRC |
			NVME_ACCEL_FEAT_OUT_CRC | NVME_ACCEL_FEAT_VERIFY | NVME_ACCEL_FEAT_STATS |
			NVME_ACCEL_FEAT_SOFTWARE;

	return opts->host_leases ? feat | NVME_ACCEL_FEAT_HOST_LEASES : feat;
}

static void who(const struct device_opts *opts, struct wire_id *id)
{
	const char *name = opts->name ? opts->name : kinds[opts->kind - 1].name;

	id->ifmajor = NVME_ACCEL_IFMAJOR;
	id->ifminor = NVME_ACCEL_IFMINOR;
	id->type = kinds[opts->kind - 1].type;
	id->subtype = kinds[opts->kind - 1].subtype;
	id->implver = 0x000100;
	if (opts->uuid)
		memcpy(id->uuid, opts->uuid, 16);
	else
		own_uuid(opts, id->uuid);
	memcpy(id->implid, implid, 16);
	snprintf(id->name, sizeof(id->name), "%s", name);
	id->nmic = opts->shared;
}

int kind_id(const struct device_opts *opts, struct wire_id *id)
{
	memset(id, 0, sizeof(*id));
	who(opts, id);
	id->feat = features(opts);
	id->nslot = opts->slots;
	id->lbadsx = (uint8_t)(opts->lbads ? opts->lbads : 9);
	id->winsh = 23;
	id->aliasb = 1;
	id->maxstage = NVME_ACCEL_MAX_STAGES;
	id->nlease = BASE_MIN(opts->slots, 1024u);
	id->holdmax_ms = 1000;
	id->maxin = 4u << 20;
	id->maxout = (4u << 20) - (2u << id->lbadsx);
	id->leasemin_ms = 50;
	id->leasemax_ms = 3600000;
	id->neng = BASE_MAX(opts->threads, 1u);
	id->engdepth = opts->slots;
	id->state = NVME_ACCEL_DEV_READY;
	id->slots_free = opts->slots;
	add_ops(id, kinds[opts->kind - 1].ops);
	return wire_layout(id) == WIRE_OK ? 0 : -EINVAL;
}
