/* SPDX-License-Identifier: BSD-2-Clause */
/* accel stats: what an accelerator has done since its last reset. */
#include "crypto.h"
#include "names.h"
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

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
	{ "copied", "Bytes copied", OUT_BYTES },
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

static const struct out_column target_fields[] = {
	{ "uptime_ns", "Target up for", OUT_NS },
	{ "connections", "Connections", OUT_NUMBER },
	{ "connections_now", "Connections now", OUT_NUMBER },
	{ "connections_refused", "Connections refused", OUT_NUMBER },
	{ "connections_failed", "Connections that failed", OUT_NUMBER },
	{ "controllers", "Associations", OUT_NUMBER },
	{ "controllers_now", "Associations now", OUT_NUMBER },
	{ "connects_refused", "Associations refused", OUT_NUMBER },
	{ "admin_commands", "Admin commands", OUT_NUMBER },
	{ "read_commands", "Read commands", OUT_NUMBER },
	{ "write_commands", "Write commands", OUT_NUMBER },
	{ "other_commands", "Other commands", OUT_NUMBER },
	{ "failed_commands", "Commands that failed", OUT_NUMBER },
	{ "aborted_commands", "Commands aborted", OUT_NUMBER },
	{ "commands_now", "Commands now", OUT_NUMBER },
	{ "held_now", "Commands held now", OUT_NUMBER },
	{ "bytes_in", "Data received", OUT_BYTES },
	{ "bytes_out", "Data sent", OUT_BYTES },
	{ "terminations_sent", "Terminations sent", OUT_NUMBER },
	{ "terminations_received", "Terminations received", OUT_NUMBER },
	{ "digest_errors", "Digest errors", OUT_NUMBER },
	{ "keep_alive_expiries", "Keep alive expiries", OUT_NUMBER },
	{ "memory_limit_bytes", "Memory, limit", OUT_BYTES },
	{ "memory_used_bytes", "Memory, used", OUT_BYTES },
	{ "memory_waits", "Waits for memory", OUT_NUMBER },
	{ 0 },
};

static const struct out_column reason_columns[] = {
	{ "kind", "ERROR", OUT_TEXT },
	{ "code", "CODE", OUT_TEXT },
	{ "count", "COUNT", OUT_NUMBER },
	{ 0 },
};

static const struct out_column target_latency_columns[] = {
	{ "from_ns", "FROM", OUT_NS },
	{ "to_ns", "BELOW", OUT_NS },
	{ "commands", "COMMANDS", OUT_NUMBER },
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
	struct json_object *target = NULL;

	out_fields(f, root, fields);
	part(f, root, "operations", op_columns);
	part(f, root, "status", code_columns);
	part(f, root, "latency", latency_columns);
	json_object_object_get_ex(root, "target", &target);
	if (target) {
		fputc('\n', f);
		out_fields(f, target, target_fields);
		part(f, target, "errors", reason_columns);
		part(f, target, "latency", target_latency_columns);
	}
	for (size_t i = 0; i < tg_len(root, "crypto"); i++) {
		fputs("\ncrypto API, ", f);
		cr_stats_text(f, tg_at(root, "crypto", i));
	}
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

static struct json_object *latency(const uint64_t bins[40], const char *what)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < 40; i++) {
		struct json_object *o;

		if (!bins[i])
			continue;
		o = json_object_new_object();
		out_add_num(o, "from_ns", 1ull << i);
		out_add_num(o, "to_ns", 2ull << i);
		out_add_num(o, what, bins[i]);
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
	json_object_object_add(o, "latency", latency(s->latency_ns_log2, "jobs"));
	return o;
}

static void add_reason(struct json_object *array, const char *kind, unsigned int code, uint64_t count)
{
	struct json_object *o = json_object_new_object();
	char buf[16];

	out_add_str(o, "kind", kind);
	snprintf(buf, sizeof(buf), "0x%02x", code);
	out_add_str(o, "code", buf);
	out_add_num(o, "count", count);
	json_object_array_add(array, o);
}

/* NVMe statuses by SCT and SC, and what ended connections, by FES. */
static struct json_object *reasons(const struct accel_target_stats *s)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < s->nsc; i++)
		add_reason(array, "status", s->sc[i].status, s->sc[i].count);
	for (unsigned int i = 0; i < sizeof(s->fes) / sizeof(s->fes[0]); i++)
		if (s->fes[i])
			add_reason(array, "transport", i, s->fes[i]);
	return array;
}

static struct json_object *describe_target(const struct accel_target_stats *s)
{
	struct json_object *o = json_object_new_object();
	const uint64_t values[] = {
		s->uptime_ns, s->conns, s->conns_now, s->conns_refused, s->conns_failed, s->ctrls, s->ctrls_now,
		s->connects_refused, s->cmds_admin, s->cmds_read, s->cmds_write, s->cmds_other, s->cmds_failed,
		s->cmds_aborted, s->cmds_now, s->held_now, s->bytes_in, s->bytes_out, s->term_sent, s->term_received,
		s->digest_errors, s->keepalive_expiries, s->mem_limit, s->mem_used, s->mem_waits,
	};

	_Static_assert(sizeof(values) / sizeof(values[0]) == sizeof(target_fields) / sizeof(target_fields[0]) - 1,
		       "a value for each field, in the same order");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		out_add_num(o, target_fields[i].key, values[i]);
	json_object_object_add(o, "errors", reasons(s));
	json_object_object_add(o, "latency", latency(s->latency_ns_log2, "commands"));
	return o;
}

/* Null where the accelerator is behind no such target, or the kernel does not let this user ask it. */
static void add_target(struct tool *t, struct json_object *o)
{
	struct accel_target_stats s = ACCEL_INIT(struct accel_target_stats);
	int rc = accel_dev_target_stats(t->dev, &s);

	json_object_object_add(o, "target", rc ? NULL : describe_target(&s));
	if (rc == -EACCES)
		tool_warning(t, accel_dev_info(t->dev)->path, "the kernel shows the target's statistics to root only");
	else if (rc && rc != -ENOTSUP)
		tool_warning(t, accel_dev_info(t->dev)->path, "statistics of the target: %s", accel_strerror(rc));
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_dev_stats stats;
	struct json_object *o;
	int rc;

	rc = tool_one_dev(t, argc, argv, "stats");
	if (rc || !t->dev)
		return rc;
	rc = accel_dev_stats(t->dev, &stats);
	if (rc)
		return tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
	if (!strcmp(accel_dev_info(t->dev)->transport, "soft") && !t->json)
		tool_warning(t, accel_dev_info(t->dev)->path,
			     "in-process: its counters begin with this command");
	o = describe(accel_dev_info(t->dev), &stats);
	add_target(t, o);
	json_object_object_add(o, "crypto", cr_stats_of_device(t, accel_dev_info(t->dev)->path));
	return out_listing(t, o, text);
}

const struct verb verb_stats = {
	.name = "stats",
	.summary = "Show what an accelerator has done since its last reset",
	.usage = "[options] [DEVICE]",
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run,
};
