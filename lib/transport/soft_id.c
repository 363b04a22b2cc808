// SPDX-License-Identifier: BSD-2-Clause
/* What the software accelerator says of itself: a namespace for each kind of work, and one for all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "soft.h"

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
	uint32_t ops;
} kinds[SOFT_NS_ALL] = {
	{ NVME_ACCEL_TYPE_COMPRESSION, NVME_ACCEL_ALG_DEFLATE, "software compression",
	  OPS_COMPRESS | OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_ERASURE, NVME_ACCEL_ALG_RS_CAUCHY, "software erasure coding", OPS_EC | OPS_SUM },
	{ NVME_ACCEL_TYPE_CIPHER, NVME_ACCEL_ALG_AES_GCM, "software cipher", OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_DIGEST, NVME_ACCEL_ALG_SHA256, "software digest", OPS_SUM },
	{ NVME_ACCEL_TYPE_CHECKSUM, NVME_ACCEL_ALG_CRC32C, "software checksum", OPS_SUM },
	{ NVME_ACCEL_TYPE_DATA, 0, "software data movement", OPS_MOVE | OPS_SUM },
	{ NVME_ACCEL_TYPE_MULTI, 0, "software accelerator",
	  OPS_COMPRESS | OPS_EC | OPS_CIPHER | OPS_SUM | OPS_MOVE },
};

static const uint8_t soft_implid[16] = {
	0x6e, 0x1d, 0x0c, 0x52, 0x9b, 0x3a, 0x4f, 0x71, 0x8c, 0x25, 0x40, 0xe7, 0x11, 0xd8, 0x93, 0x5a,
};

const char *soft_ns_name(unsigned int nsid)
{
	return nsid >= 1 && nsid <= SOFT_NS_ALL ? kinds[nsid - 1].name : NULL;
}

/* The same accelerator of every process has the same UUID, so that scripts can name it by that. */
static void soft_uuid(const struct soft_opts *opts, uint8_t uuid[16])
{
	memcpy(uuid, soft_implid, 16);
	uuid[6] = 0x81;			/* version 8: of our own making */
	uuid[10] = (uint8_t)opts->nsid;
	uuid[11] = (uint8_t)opts->threads;
	le32_put(uuid + 12, opts->slots);
}

/* The engines' own limits, 0 for none, within what a job can be here. */
static uint64_t limit(uint64_t engine, uint64_t job)
{
	return engine ? BASE_MIN(engine, job) : job;
}

static void soft_ops(struct wire_id *id, uint32_t mask)
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

int soft_id(const struct soft_opts *opts, struct wire_id *id)
{
	memset(id, 0, sizeof(*id));
	id->ifmajor = NVME_ACCEL_IFMAJOR;
	id->ifminor = NVME_ACCEL_IFMINOR;
	id->type = kinds[opts->nsid - 1].type;
	id->subtype = kinds[opts->nsid - 1].subtype;
	id->implver = 0x000100;
	soft_uuid(opts, id->uuid);
	memcpy(id->implid, soft_implid, 16);
	snprintf(id->name, sizeof(id->name), "%s", kinds[opts->nsid - 1].name);
	id->feat = NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT | NVME_ACCEL_FEAT_WAIT |
		   NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_STOP | NVME_ACCEL_FEAT_IN_CRC |
		   NVME_ACCEL_FEAT_OUT_CRC | NVME_ACCEL_FEAT_VERIFY | NVME_ACCEL_FEAT_STATS |
		   NVME_ACCEL_FEAT_SOFTWARE;
	id->nslot = opts->slots;
	id->lbadsx = 9;
	id->winsh = 23;
	id->aliasb = 1;
	id->maxstage = NVME_ACCEL_MAX_STAGES;
	id->nlease = BASE_MIN(opts->slots, 1024u);
	id->holdmax_ms = 1000;
	id->maxin = 4u << 20;
	id->maxout = (4u << 20) - 2 * 512;
	id->leasemin_ms = 50;
	id->leasemax_ms = 3600000;
	id->neng = BASE_MAX(opts->threads, 1u);
	id->engdepth = opts->slots;
	id->state = NVME_ACCEL_DEV_READY;
	id->slots_free = opts->slots;
	soft_ops(id, kinds[opts->nsid - 1].ops);
	return wire_layout(id) == WIRE_OK ? 0 : -EINVAL;
}
