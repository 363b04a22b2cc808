/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"
#include <string.h>

static const struct {
	uint16_t type;
	const char *name;
} types[] = {
	{ ACCEL_TYPE_COMPRESSION, "compression" },
	{ ACCEL_TYPE_ERASURE, "erasure" },
	{ ACCEL_TYPE_CIPHER, "cipher" },
	{ ACCEL_TYPE_DIGEST, "digest" },
	{ ACCEL_TYPE_CHECKSUM, "checksum" },
	{ ACCEL_TYPE_PROGRAM, "program" },
	{ ACCEL_TYPE_DATA, "data" },
	{ ACCEL_TYPE_MULTI, "multi" },
};

#define NTYPES (sizeof(types) / sizeof(types[0]))

const char *names_type(unsigned int type)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].type == type)
			return types[i].name;
	return type == 0x7fff ? "test" : type >= 0x8000 ? "vendor" : "unknown";
}

int names_type_of(struct tool *t, const char *text, uint16_t *type)
{
	const char *names[NTYPES + 1];
	int i;

	for (size_t k = 0; k < NTYPES; k++)
		names[k] = types[k].name;
	names[NTYPES] = NULL;
	i = opts_choice(t, "--type", text, names);
	if (i < 0)
		return TOOL_USAGE;
	*type = types[i].type;
	return 0;
}

const char *names_state(unsigned int state)
{
	static const char *const names[] = { "not ready", "ready", "degraded", "needs reset", "failed" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

const char *names_feature(unsigned int i)
{
	static const char *const names[] = {
		[0] = "inline", [1] = "explicit", [2] = "wait", [3] = "complete-on-done", [4] = "streams",
		[5] = "vector", [6] = "nsref", [7] = "host-leases", [8] = "objects", [9] = "stop",
		[10] = "in-crc", [11] = "out-crc", [12] = "verify", [13] = "statistics", [15] = "cmb",
		[16] = "software",
	};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

void names_identity(struct json_object *o, const struct accel_dev_info *info)
{
	out_add_str(o, "device", info->path);
	out_add_str(o, "name", info->name);
	out_add_str(o, "type", names_type(info->type));
	out_add_str(o, "transport", info->transport);
	out_add_str(o, "engine", info->software ? "software" : "hardware");
	out_add_str(o, "state", names_state(info->state));
}

char *names_uuid(char *buf, const uint8_t uuid[16])
{
	char hex[33];

	out_hex(hex, uuid, 16);
	snprintf(buf, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return buf;
}

void names_add_op(struct json_object *o, uint16_t op, uint16_t alg)
{
	const char *name = accel_op_name(op), *algname = alg ? accel_alg_name(op, alg) : "-";
	char number[16];

	snprintf(number, sizeof(number), "%u", op);
	out_add_str(o, "operation", name ? name : number);
	snprintf(number, sizeof(number), "%u", alg);
	out_add_str(o, "algorithm", algname ? algname : number);
}
