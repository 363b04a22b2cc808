// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kinds of namespaces that software makes, and what all of them have in common. */
#include "wire_priv.h"

#define OP(name)	(1u << NVME_ACCEL_OP_##name)
#define OPS_COMPRESS	(OP(COMPRESS) | OP(DECOMPRESS))
#define OPS_EC		(OP(EC_ENCODE) | OP(EC_DECODE) | OP(EC_UPDATE) | OP(XOR) | OP(PQ_GEN))
#define OPS_CIPHER	(OP(ENCRYPT) | OP(DECRYPT))
#define OPS_SUM		(OP(DIGEST) | OP(CHECKSUM))
#define OPS_MOVE	(OP(COPY) | OP(FILL) | OP(COMPARE) | OP(XOR) | OP(PQ_GEN))

/* Beside its own work a namespace has what makes sense in one chain with it. */
const struct wire_kind wire_kinds[WIRE_NKINDS] = {
	{ NVME_ACCEL_TYPE_COMPRESSION, NVME_ACCEL_ALG_DEFLATE, "compression", "compression",
	  OPS_COMPRESS | OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_ERASURE, NVME_ACCEL_ALG_RS_CAUCHY, "erasure", "erasure coding", OPS_EC | OPS_SUM },
	{ NVME_ACCEL_TYPE_CIPHER, NVME_ACCEL_ALG_AES_GCM, "cipher", "cipher", OPS_CIPHER | OPS_SUM },
	{ NVME_ACCEL_TYPE_DIGEST, NVME_ACCEL_ALG_SHA256, "digest", "digest", OPS_SUM },
	{ NVME_ACCEL_TYPE_CHECKSUM, NVME_ACCEL_ALG_CRC32C, "checksum", "checksum", OPS_SUM },
	{ NVME_ACCEL_TYPE_DATA, 0, "data", "data movement", OPS_MOVE | OPS_SUM },
	{ NVME_ACCEL_TYPE_MULTI, 0, "all", "accelerator", OPS_COMPRESS | OPS_EC | OPS_CIPHER | OPS_SUM | OPS_MOVE },
};

static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct wire_kind *wire_kind_by_word(const char *word)
{
	unsigned int i;

	for (i = 0; i < WIRE_NKINDS; i++)
		if (same(wire_kinds[i].word, word))
			return &wire_kinds[i];
	return NULL;
}

const struct wire_kind *wire_kind_of(uint16_t type)
{
	unsigned int i;

	for (i = 0; i < WIRE_NKINDS; i++)
		if (wire_kinds[i].type == type)
			return &wire_kinds[i];
	return NULL;
}

void wire_kind_id(const struct wire_kind *k, uint32_t nslot, uint8_t lbads, uint32_t neng, struct wire_id *id)
{
	memset(id, 0, sizeof(*id));
	id->ifmajor = NVME_ACCEL_IFMAJOR;
	id->ifminor = NVME_ACCEL_IFMINOR;
	id->type = k->type;
	id->subtype = k->subtype;
	id->implver = 0x000100;
	id->nslot = nslot;
	id->lbadsx = lbads;
	id->winsh = 23;
	id->aliasb = 1;
	id->maxstage = NVME_ACCEL_MAX_STAGES;
	id->nlease = BASE_MIN(nslot, 1024u);
	id->holdmax_ms = 1000;
	id->maxin = 4u << 20;
	id->maxout = id->maxin - (2u << lbads);
	id->leasemin_ms = 50;
	id->leasemax_ms = 3600000;
	id->neng = neng;
	id->engdepth = nslot;
	id->state = NVME_ACCEL_DEV_READY;
	id->slots_free = nslot;
}

/* The engines' own limits, 0 for none, within what a job can be here. */
static uint64_t within(uint64_t engine, uint64_t job)
{
	return engine ? BASE_MIN(engine, job) : job;
}

void wire_kind_ops(const struct wire_kind *k, const struct wire_op *ops, unsigned int n, struct wire_id *id)
{
	unsigned int i;

	id->nops = 0;
	for (i = 0; i < n && i < NVME_ACCEL_MAX_OPS; i++) {
		struct wire_op *op = &id->ops[id->nops];

		if (ops[i].op >= 32 || !(k->ops >> ops[i].op & 1))
			continue;
		*op = ops[i];
		op->max_in = within(op->max_in, id->maxin);
		op->max_out = within(op->max_out, id->maxout);
		id->nops++;
	}
}
