/* SPDX-License-Identifier: BSD-2-Clause */
/* accel info: all that one accelerator says about itself. */
#include "tool.h"
#include "names.h"
#include "noload.h"
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1

static const struct out_column fields[] = {
	{ "device", "Device", OUT_TEXT },
	{ "name", "Name", OUT_TEXT },
	{ "type", "Type", OUT_TEXT },
	{ "transport", "Transport", OUT_TEXT },
	{ "engine", "Engine", OUT_TEXT },
	{ "state", "State", OUT_TEXT },
	{ "uuid", "UUID", OUT_TEXT },
	{ "implementation", "Implementation", OUT_TEXT },
	{ "implementation_version", "Implementation version", OUT_TEXT },
	{ "interface", "Interface version", OUT_TEXT },
	{ "features", "Features", OUT_TEXT },
	{ "slots", "Slots", OUT_NUMBER },
	{ "slots_free", "Slots free", OUT_NUMBER },
	{ "engines", "Engines", OUT_NUMBER },
	{ "engine_depth", "Jobs an engine", OUT_NUMBER },
	{ "leases", "Leases", OUT_NUMBER },
	{ "lease_min_ms", "Shortest lease, ms", OUT_NUMBER },
	{ "lease_max_ms", "Longest lease, ms", OUT_NUMBER },
	{ "hold_max_ms", "Longest held read, ms", OUT_NUMBER },
	{ "block_bytes", "Block size", OUT_BYTES },
	{ "max_stages", "Stages a job", OUT_NUMBER },
	{ "max_in_bytes", "Largest input", OUT_BYTES },
	{ "max_out_bytes", "Largest output", OUT_BYTES },
	{ "boot_id", "Boot id", OUT_TEXT },
	{ "build_date", "Build date, Unix seconds", OUT_NUMBER },
	{ "source_id", "Source id", OUT_TEXT },
	{ 0 },
};

static const struct out_column columns[] = {
	{ "operation", "OPERATION", OUT_TEXT },
	{ "algorithm", "ALGORITHM", OUT_TEXT },
	{ "chain", "CHAIN", OUT_TEXT },
	{ "min_in_bytes", "MIN IN", OUT_NUMBER },
	{ "max_in_bytes", "MAX IN", OUT_NUMBER },
	{ "max_out_bytes", "MAX OUT", OUT_NUMBER },
	{ "granule_bytes", "GRANULE", OUT_NUMBER },
	{ "align_bytes", "ALIGN", OUT_NUMBER },
	{ "limits", "LIMITS", OUT_TEXT },
	{ "estimate_mb_s", "ABOUT", OUT_RATE },
	{ "estimate_overhead_ns", "OVERHEAD", OUT_NS },
	{ 0 },
};

static void text(FILE *f, struct json_object *root)
{
	struct json_object *ops = NULL, *address = NULL;

	out_fields(f, root, fields);
	json_object_object_get_ex(root, "address", &address);
	if (address) {		/* else it is in this process */
		fputc('\n', f);
		out_fields(f, root, names_path_fields);
	}
	json_object_object_get_ex(root, "operations", &ops);
	fputc('\n', f);
	out_table(f, ops, columns, "no operations");
}

static void add_features(struct json_object *o, uint64_t feat)
{
	struct json_object *list = json_object_new_array();
	char number[16];

	for (unsigned int i = 0; i < 64; i++) {
		if (!(feat >> i & 1))
			continue;
		snprintf(number, sizeof(number), "bit%u", i);
		json_object_array_add(list, json_object_new_string(names_feature(i) ? names_feature(i) :
										      number));
	}
	json_object_object_add(o, "features", list);
}

/* "level 0-9", "k<=255 m<=254", "128 256 bit": what bounds the parameters of an operation. */
static void add_limits(struct json_object *o, const struct accel_caps *c)
{
	static const unsigned int bits[] = { 128, 192, 256, 512 };
	char buf[96] = "";
	size_t n = 0;

	if (c->level_max)
		n += (size_t)snprintf(buf, sizeof(buf), "level %u-%u", c->level_min, c->level_max);
	if (c->k_max)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%sk<=%u m<=%u", n ? " " : "", c->k_max,
				      c->m_max);
	for (unsigned int i = 0; i < 4; i++)
		if (c->key_bits_mask >> i & 1)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%skey %u", n ? " " : "", bits[i]);
	out_add_str(o, "limits", n ? buf : "-");
	out_add_num(o, "level_min", c->level_min);
	out_add_num(o, "level_max", c->level_max);
	out_add_num(o, "k_max", c->k_max);
	out_add_num(o, "m_max", c->m_max);
	out_add_num(o, "key_bits_mask", c->key_bits_mask);
}

static void add_chain(struct json_object *o, const struct accel_caps *c)
{
	static const char *const places[] = { "first", "middle", "last", "alone" };
	const uint8_t may[] = { c->first, c->middle, c->last, c->alone };
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < 4; i++)
		if (may[i])
			json_object_array_add(list, json_object_new_string(places[i]));
	json_object_object_add(o, "chain", list);
}

static struct json_object *operation(const struct accel_caps *c)
{
	struct json_object *o = json_object_new_object();

	names_add_op(o, c->op, c->alg);
	add_chain(o, c);
	out_add_num(o, "min_in_bytes", c->min_in);
	out_add_num(o, "max_in_bytes", c->max_in);
	out_add_num(o, "max_out_bytes", c->max_out);
	out_add_num(o, "granule_bytes", c->granule);
	out_add_num(o, "align_bytes", c->align);
	add_limits(o, c);
	out_add_num(o, "estimate_mb_s", c->est_mbps);
	out_add_num(o, "estimate_overhead_ns", c->est_overhead_ns);
	return o;
}

static void add_numbers(struct json_object *o, const struct accel_dev_info *info)
{
	out_add_num(o, "slots", info->nslot);
	out_add_num(o, "slots_free", info->slots_free);
	out_add_num(o, "engines", info->neng);
	out_add_num(o, "engine_depth", info->engdepth);
	out_add_num(o, "leases", info->nlease);
	out_add_num(o, "lease_min_ms", info->lease_min_ms);
	out_add_num(o, "lease_max_ms", info->lease_max_ms);
	out_add_num(o, "hold_max_ms", info->hold_max_ms);
	out_add_num(o, "block_bytes", info->block_nbytes);
	out_add_num(o, "max_stages", info->max_stages);
	out_add_num(o, "max_in_bytes", info->max_in);
	out_add_num(o, "max_out_bytes", info->max_out);
}

static struct json_object *describe(struct accel_dev *dev, const struct accel_dev_info *info)
{
	struct json_object *o = json_object_new_object(), *ops = json_object_new_array();
	struct accel_caps caps;
	char buf[64];

	out_add_num(o, "schema", SCHEMA);
	names_identity(o, info);
	out_add_str(o, "uuid", names_uuid(buf, info->uuid));
	out_add_str(o, "implementation", names_uuid(buf, info->implid));
	snprintf(buf, sizeof(buf), "0x%08x", info->implver);
	out_add_str(o, "implementation_version", buf);
	snprintf(buf, sizeof(buf), "%u.%u", info->ifmajor, info->ifminor);
	out_add_str(o, "interface", buf);
	add_features(o, info->feat);
	add_numbers(o, info);
	names_path(o, dev);
	snprintf(buf, sizeof(buf), "%016llx", (unsigned long long)info->boot_id);
	out_add_str(o, "boot_id", buf);
	out_add_num(o, "build_date", info->build_date);
	out_add_hex(o, "source_id", info->source_id, sizeof(info->source_id));
	for (uint32_t i = 0; !accel_dev_cap(dev, i, &caps); i++)
		json_object_array_add(ops, operation(&caps));
	json_object_object_add(o, "operations", ops);
	return o;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_dev_info info;
	int rc;

	if (!tool_one_name(t, argc, argv, "info", &rc) || noload_info(t, &rc))
		return rc;
	rc = tool_dev(t, 0, 0);
	if (rc)
		return rc;
	rc = accel_dev_state(t->dev, &info);
	if (rc)
		return tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
	return out_listing(t, describe(t->dev, &info), text);
}

const struct verb verb_info = {
	.name = "info",
	.summary = "Show all that an accelerator says about itself",
	.usage = "[options] [DEVICE]",
	.more_opts = where_opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run,
};
