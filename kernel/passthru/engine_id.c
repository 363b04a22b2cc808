// SPDX-License-Identifier: GPL-2.0-only
/* What an engine namespace says of itself: by its kind of work, and by what the engines can do. */
#include "engine.h"

#define OPS_COMPRESS	(BIT(NVME_ACCEL_OP_COMPRESS) | BIT(NVME_ACCEL_OP_DECOMPRESS))
#define OPS_EC		(BIT(NVME_ACCEL_OP_EC_ENCODE) | BIT(NVME_ACCEL_OP_EC_DECODE) | BIT(NVME_ACCEL_OP_EC_UPDATE) | \
			 BIT(NVME_ACCEL_OP_XOR) | BIT(NVME_ACCEL_OP_PQ_GEN))
#define OPS_CIPHER	(BIT(NVME_ACCEL_OP_ENCRYPT) | BIT(NVME_ACCEL_OP_DECRYPT))
#define OPS_SUM		(BIT(NVME_ACCEL_OP_DIGEST) | BIT(NVME_ACCEL_OP_CHECKSUM))
#define OPS_MOVE	(BIT(NVME_ACCEL_OP_COPY) | BIT(NVME_ACCEL_OP_FILL) | BIT(NVME_ACCEL_OP_COMPARE) | \
			 BIT(NVME_ACCEL_OP_XOR) | BIT(NVME_ACCEL_OP_PQ_GEN))

/* Beside its own work a namespace has what makes sense in one chain with it: the same as in user space. */
static const struct {
	u16 type, subtype;
	const char *type_name;
	const char *name;
	u32 ops;
} kinds[] = {
	{ NVME_ACCEL_TYPE_COMPRESSION, NVME_ACCEL_ALG_DEFLATE, "compression", "kernel compression",
	  OPS_COMPRESS | OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_ERASURE, NVME_ACCEL_ALG_RS_CAUCHY, "erasure", "kernel erasure coding", OPS_EC | OPS_SUM },
	{ NVME_ACCEL_TYPE_CIPHER, NVME_ACCEL_ALG_AES_GCM, "cipher", "kernel cipher", OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_DIGEST, NVME_ACCEL_ALG_SHA256, "digest", "kernel digest", OPS_SUM },
	{ NVME_ACCEL_TYPE_CHECKSUM, NVME_ACCEL_ALG_CRC32C, "checksum", "kernel checksum", OPS_SUM },
	{ NVME_ACCEL_TYPE_DATA, 0, "data", "kernel data movement", OPS_MOVE | OPS_SUM },
	{ NVME_ACCEL_TYPE_MULTI, 0, "all", "kernel accelerator",
	  OPS_COMPRESS | OPS_EC | OPS_CIPHER | OPS_SUM | OPS_MOVE },
};

static const u8 implid[16] = {
	0xb1, 0x07, 0x5e, 0x94, 0x2c, 0xd6, 0x48, 0x3f, 0xa0, 0x6b, 0x1e, 0x7d, 0x39, 0x82, 0xc5, 0x14,
};

static unsigned int find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (name && !strcmp(kinds[i].type_name, name))
			break;
	return i;
}

u16 eng_type(const char *name)
{
	unsigned int i = find(name);

	return i < ARRAY_SIZE(kinds) ? kinds[i].type : 0;
}

/* The engines' own limits, 0 for none, within what a job can be here. */
static u64 within(u64 engine, u64 job)
{
	return engine ? min(engine, job) : job;
}

static void add_ops(struct nap_engine *e, struct wire_id *id, u32 mask)
{
	unsigned int n = kengine_ops(e->ke, id->ops, NVME_ACCEL_MAX_OPS), i;
	struct wire_op *op;

	id->nops = 0;
	for (i = 0; i < n; i++) {
		op = &id->ops[i];
		if (op->op >= 32 || !(mask & BIT(op->op)))
			continue;
		op->max_in = within(op->max_in, id->maxin);
		op->max_out = within(op->max_out, id->maxout);
		id->ops[id->nops++] = *op;
	}
}

static void set_size(struct nap_engine *e, struct wire_id *id)
{
	const struct nap_ns_conf *conf = &e->ns->conf;

	id->nslot = conf->engine_slots;
	id->lbadsx = conf->engine_lbads;
	id->winsh = 23;
	id->aliasb = 1;
	id->maxstage = NVME_ACCEL_MAX_STAGES;
	id->nlease = min(id->nslot, 1024u);
	id->holdmax_ms = 1000;
	id->maxin = KENGINE_MAX_BYTES;
	id->maxout = KENGINE_MAX_BYTES - (2u << id->lbadsx);
	id->leasemin_ms = 50;
	id->leasemax_ms = 3600000;
	id->neng = e->nthreads;
	id->engdepth = id->nslot;
	id->slots_free = id->nslot;
}

/*
 * HOST_LEASES is not among the features: hosts behind nvmet, and processes here, all come as one controller's commands,
 * so that a lease cannot belong to one of them. The nonce still keeps others from using it.
 */
int eng_id(struct nap_engine *e, struct wire_id *id)
{
	unsigned int i = find(e->ns->conf.engine_type);

	if (i == ARRAY_SIZE(kinds))
		return -EINVAL;
	memset(id, 0, sizeof(*id));
	id->ifmajor = NVME_ACCEL_IFMAJOR;
	id->ifminor = NVME_ACCEL_IFMINOR;
	id->type = kinds[i].type;
	id->subtype = kinds[i].subtype;
	id->implver = 0x000100;
	/* The namespace's own, which stays the same from one start of the machine to the next. */
	memcpy(id->uuid, e->ns->conf.uuid.b, 16);
	memcpy(id->nguid, e->ns->conf.nguid, 16);
	memcpy(id->implid, implid, 16);
	strscpy(id->name, kinds[i].name, sizeof(id->name));
	id->feat = NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT | NVME_ACCEL_FEAT_WAIT |
		   NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_STATS | kengine_features(e->ke);
	set_size(e, id);
	id->state = NVME_ACCEL_DEV_READY;
	add_ops(e, id, kinds[i].ops);
	return wire_layout(id) == WIRE_OK ? 0 : -EINVAL;
}
