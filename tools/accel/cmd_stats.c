/* SPDX-License-Identifier: BSD-2-Clause */
/* accel stats: what an accelerator has done since its last reset. */
#include "tool.h"
#include "names.h"
#include <json-c/json.h>

#define SCHEMA 1

static const struct out_column fields[] = {
	{ "device", "Device", OUT_TEXT },
	{ "engine", "Engine", OUT_TEXT },
	{ "uptime_ns", "Up for", OUT_NS },
	{ "jobs", "Jobs", OUT_NUMBER },
	{ "errors", "Jobs that failed", OUT_NUMBER },
	{ "bytes_in", "Bytes in", OUT_BYTES },
	{ "bytes_out", "Bytes out", OUT_BYTES },
	{ "queue_ns", "Time in queues", OUT_NS },
	{ "exec_ns", "Time in engines", OUT_NS },
	{ "in_place", "Jobs without a copy", OUT_NUMBER },
	{ "copied", "Jobs with a copy", OUT_NUMBER },
	{ "lease_grants", "Leases granted", OUT_NUMBER },
	{ "lease_refusals", "Leases refused", OUT_NUMBER },
	{ "lease_expiries", "Leases expired", OUT_NUMBER },
	{ "lease_breaks", "Leases broken", OUT_NUMBER },
	{ "resets", "Resets", OUT_NUMBER },
	{ "protocol_errors", "Protocol errors", OUT_NUMBER },
	{ "duplicates", "Commands repeated", OUT_NUMBER },
	{ 0 },
};

static const struct out_column op_columns[] = {
	{ "operation", "OPERATION", OUT_TEXT },
	{ "algorithm", "ALGORITHM", OUT_TEXT },
	{ "jobs", "JOBS", OUT_NUMBER },
	{ "errors", "FAILED", OUT_NUMBER },
	{ "bytes_in", "BYTES IN", OUT_NUMBER },
	{ "bytes_out", "BYTES OUT", OUT_NUMBER },
	{ "exec_ns", "TIME", OUT_NS },
	{ 0 },
};

static const struct out_column code_columns[] = {
	{ "status", "STATUS", OUT_TEXT },
	{ "jobs", "JOBS", OUT_NUMBER },
	{ 0 },
};

static const struct out_column latency_columns[] = {
	{ "from_ns", "FROM", OUT_NS },
	{ "to_ns", "BELOW", OUT_NS },
	{ "jobs", "JOBS", OUT_NUMBER },
	{ 0 },
};

static void part(FILE *f, struct json_object *root, const char *key, const struct out_column *columns)
{
	struct json_object *array = NULL;

	json_object_object_get_ex(root, key, &array);
	if (!json_object_array_length(array))
		return;
	fputc('\n', f);
	out_table(f, array, columns, NULL);
}

static void text(FILE *f, struct json_object *root)
{
	out_fields(f, root, fields);
	part(f, root, "operations", op_columns);
	part(f, root, "status", code_columns);
	part(f, root, "latency", latency_columns);
}

/* Those that were used at all; accel info has the rest. */
static struct json_object *operations(const struct accel_dev_stats *s)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < s->nop && i < sizeof(s->op) / sizeof(s->op[0]); i++) {
		struct json_object *o;

		if (!s->op[i].jobs && !s->op[i].errors)
			continue;
		o = json_object_new_object();
		names_add_op(o, s->op[i].op, s->op[i].alg);
		out_add_num(o, "jobs", s->op[i].jobs);
		out_add_num(o, "errors", s->op[i].errors);
		out_add_num(o, "bytes_in", s->op[i].bytes_in);
		out_add_num(o, "bytes_out", s->op[i].bytes_out);
		out_add_num(o, "exec_ns", s->op[i].exec_ns);
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *codes(const struct accel_dev_stats *s)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < 32; i++) {
		struct json_object *o;

		if (!s->by_code[i])
			continue;
		o = json_object_new_object();
		out_add_num(o, "code", i);
		out_add_str(o, "status", accel_status_str(i));
		out_add_num(o, "jobs", s->by_code[i]);
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *latency(const struct accel_dev_stats *s)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < 40; i++) {
		struct json_object *o;

		if (!s->latency_ns_log2[i])
			continue;
		o = json_object_new_object();
		out_add_num(o, "from_ns", 1ull << i);
		out_add_num(o, "to_ns", 2ull << i);
		out_add_num(o, "jobs", s->latency_ns_log2[i]);
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *describe(const struct accel_dev_info *info, const struct accel_dev_stats *s)
{
	struct json_object *o = json_object_new_object();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "uptime_ns", s->uptime_ns }, { "jobs", s->jobs }, { "errors", s->errors },
		{ "bytes_in", s->bytes_in }, { "bytes_out", s->bytes_out }, { "queue_ns", s->queue_ns },
		{ "exec_ns", s->exec_ns }, { "in_place", s->in_place }, { "copied", s->copied },
		{ "lease_grants", s->lease_grants }, { "lease_refusals", s->lease_refusals },
		{ "lease_expiries", s->lease_expiries }, { "lease_breaks", s->lease_breaks },
		{ "resets", s->resets }, { "protocol_errors", s->protocol_errors },
		{ "duplicates", s->duplicates },
	};

	out_add_num(o, "schema", SCHEMA);
	names_identity(o, info);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		out_add_num(o, numbers[i].key, numbers[i].value);
	json_object_object_add(o, "operations", operations(s));
	json_object_object_add(o, "status", codes(s));
	json_object_object_add(o, "latency", latency(s));
	return o;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_dev_stats stats;
	int rc;

	rc = tool_one_dev(t, argc, argv, "stats");
	if (rc || !t->dev)
		return rc;
	rc = accel_dev_stats(t->dev, &stats);
	if (rc)
		return tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
	if (accel_dev_info(t->dev)->software && !t->json)
		tool_warning(t, accel_dev_info(t->dev)->path,
			     "in-process: its counters begin with this command");
	return out_listing(t, describe(accel_dev_info(t->dev), &stats), text);
}

const struct verb verb_stats = {
	.name = "stats",
	.summary = "Show what an accelerator has done since its last reset",
	.usage = "[options] [DEVICE]",
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run,
};
