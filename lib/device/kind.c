// SPDX-License-Identifier: BSD-2-Clause
/* What a device says of itself: one for each kind of work, and one for all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "priv.h"

static const uint8_t implid[16] = {
	0x6e, 0x1d, 0x0c, 0x52, 0x9b, 0x3a, 0x4f, 0x71, 0x8c, 0x25, 0x40, 0xe7, 0x11, 0xd8, 0x93, 0x5a,
};

const char *device_kind_name(unsigned int kind)
{
	return kind >= 1 && kind <= DEVICE_KINDS ? wire_kinds[kind - 1].what : NULL;
}

unsigned int device_kind(const char *type)
{
	const struct wire_kind *k = wire_kind_by_word(type);

	return k ? (unsigned int)(k - wire_kinds) + 1 : 0;
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
	if (opts->uuid)
		memcpy(id->uuid, opts->uuid, 16);
	else
		own_uuid(opts, id->uuid);
	memcpy(id->implid, implid, 16);
	if (opts->name)
		snprintf(id->name, sizeof(id->name), "%s", opts->name);
	else
		snprintf(id->name, sizeof(id->name), "software %s", device_kind_name(opts->kind));
	id->nmic = opts->shared;
}

int kind_id(const struct device_opts *opts, struct wire_id *id)
{
	const struct wire_kind *k = &wire_kinds[opts->kind - 1];

	wire_kind_id(k, opts->slots, (uint8_t)(opts->lbads ? opts->lbads : 9), BASE_MAX(opts->threads, 1u), id);
	who(opts, id);
	id->feat = features(opts);
	wire_kind_ops(k, id->ops, engine_ops(id->ops, NVME_ACCEL_MAX_OPS), id);
	return wire_layout(id) == WIRE_OK ? 0 : -EINVAL;
}
