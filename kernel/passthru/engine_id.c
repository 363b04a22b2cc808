// SPDX-License-Identifier: GPL-2.0-only
/* What an engine namespace says of itself: by its kind of work, and by what the engines can do. */
#include "engine.h"

static const u8 implid[16] = {
	0xb1, 0x07, 0x5e, 0x94, 0x2c, 0xd6, 0x48, 0x3f, 0xa0, 0x6b, 0x1e, 0x7d, 0x39, 0x82, 0xc5, 0x14,
};

u16 eng_type(const char *name)
{
	const struct wire_kind *k = wire_kind_by_word(name);

	return k ? k->type : 0;
}

/*
 * HOST_LEASES is not among the features: hosts behind nvmet, and processes here, all come as one controller's commands,
 * so that a lease cannot belong to one of them. The nonce still keeps others from using it.
 */
int eng_id(struct nap_engine *e, struct wire_id *id)
{
	const struct nap_ns_conf *conf = &e->ns->conf;
	const struct wire_kind *k = wire_kind_by_word(conf->engine_type);

	if (!k)
		return -EINVAL;
	wire_kind_id(k, conf->engine_slots, conf->engine_lbads, e->nthreads, id);
	/* The namespace's own, which stays the same from one start of the machine to the next. */
	memcpy(id->uuid, conf->uuid.b, 16);
	memcpy(id->nguid, conf->nguid, 16);
	memcpy(id->implid, implid, 16);
	snprintf(id->name, sizeof(id->name), "kernel %s", k->what);
	id->feat = NVME_ACCEL_FEAT_INLINE | NVME_ACCEL_FEAT_EXPLICIT | NVME_ACCEL_FEAT_WAIT |
		   NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_STATS | kengine_features(e->ke);
	wire_kind_ops(k, id->ops, kengine_ops(e->ke, id->ops, NVME_ACCEL_MAX_OPS), id);
	return wire_layout(id) == WIRE_OK ? 0 : -EINVAL;
}
