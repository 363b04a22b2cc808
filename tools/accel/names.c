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

const struct out_column names_path_columns[] = {
	{ "device", "DEVICE", OUT_TEXT },
	{ "address", "ADDRESS", OUT_TEXT },
	{ "paths", "PATHS", OUT_NUMBER },
	{ "kato_ms", "KATO MS", OUT_NUMBER },
	{ "ctrl_loss_tmo_s", "CTRL LOSS TMO S", OUT_NUMBER },
	{ "reconnect_delay_s", "RECONNECT DELAY S", OUT_NUMBER },
	{ "numa_node", "NUMA", OUT_NUMBER },
	{ "uuid", "UUID", OUT_TEXT },
	{ "subsystem", "SUBSYSTEM", OUT_TEXT },
	{ 0 },
};

const struct out_column names_path_fields[] = {
	{ "address", "Address", OUT_TEXT },
	{ "subsystem", "Subsystem", OUT_TEXT },
	{ "serial", "Serial number", OUT_TEXT },
	{ "model", "Model", OUT_TEXT },
	{ "firmware", "Firmware revision", OUT_TEXT },
	{ "paths", "Paths", OUT_NUMBER },
	{ "kato_ms", "Keep alive timeout, ms", OUT_NUMBER },
	{ "ctrl_loss_tmo_s", "Controller loss timeout, s", OUT_NUMBER },
	{ "reconnect_delay_s", "Reconnect delay, s", OUT_NUMBER },
	{ "max_command_bytes", "Largest command", OUT_BYTES },
	{ "numa_node", "NUMA node", OUT_NUMBER },
	{ 0 },
};

/* What is not known is null, and "-" in text. */
static void add_known(struct json_object *o, const char *key, int64_t value, int64_t least)
{
	if (value >= least)
		out_add_int(o, key, value);
	else
		out_add_str(o, key, NULL);
}

static void add_text(struct json_object *o, const char *key, const char *text)
{
	out_add_str(o, key, *text ? text : NULL);
}

void names_path(struct json_object *o, struct accel_dev *dev)
{
	struct accel_path_info p = ACCEL_INIT(struct accel_path_info);

	if (!dev || accel_dev_path_info(dev, &p))
		p = (struct accel_path_info){ .numa_node = -1, .kato_ms = -1, .ctrl_loss_tmo_s = -1,
					      .reconnect_delay_s = -1 };
	add_text(o, "address", p.address);
	add_text(o, "subsystem", p.subnqn);
	add_text(o, "serial", p.serial);
	add_text(o, "model", p.model);
	add_text(o, "firmware", p.firmware);
	add_known(o, "paths", p.npath, 1);
	add_known(o, "kato_ms", p.kato_ms, 0);
	add_known(o, "ctrl_loss_tmo_s", p.ctrl_loss_tmo_s, 0);
	add_known(o, "reconnect_delay_s", p.reconnect_delay_s, 0);
	add_known(o, "max_command_bytes", (int64_t)p.max_nbytes, 1);
	add_known(o, "numa_node", p.numa_node, 0);
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
