/* SPDX-License-Identifier: BSD-2-Clause */
/* accel list: the accelerators that there are. */
#include "tool.h"
#include "names.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1

enum { OPT_TRANSPORT = OPT_LONG, OPT_FREE };

static const struct tool_opt opts[] = {
	{ 't', "type", "TYPE", "only accelerators of this type: compression, erasure, cipher, digest, "
	  "checksum, program, data or multi", NULL },
	{ OPT_TRANSPORT, "transport", "NAME", "only those reached this way: soft, pcie, tcp, rdma, loop",
	  NULL },
	{ OPT_FREE, "free", NULL, "only those with a free slot now", NULL },
	{ 'n', "name", "NAME", "only those of exactly this name", NULL },
	{ 0 },
};

static const struct out_column columns[] = {
	{ "device", "DEVICE", OUT_TEXT },
	{ "name", "NAME", OUT_TEXT },
	{ "type", "TYPE", OUT_TEXT },
	{ "transport", "TRANSPORT", OUT_TEXT },
	{ "engine", "ENGINE", OUT_TEXT },
	{ "state", "STATE", OUT_TEXT },
	{ "slots", "SLOTS", OUT_NUMBER },
	{ "slots_free", "FREE", OUT_NUMBER },
	{ "functions", "FUNCTIONS", OUT_TEXT },
	{ 0 },
};

static void text(FILE *f, struct json_object *root)
{
	out_table(f, root, columns, "no accelerator found");
}

/* The operations of a device, each once. */
static void add_functions(struct tool *t, struct json_object *o, const char *path)
{
	struct json_object *list = json_object_new_array();
	struct accel_caps caps;
	struct accel_dev *dev;
	uint32_t seen = 0;

	json_object_object_add(o, "functions", list);
	if (accel_dev_open(t->ctx, path, &dev))
		return;
	for (uint32_t i = 0; !accel_dev_cap(dev, i, &caps); i++) {
		const char *name = accel_op_name(caps.op);

		if (caps.op < 32 && name && !(seen >> caps.op & 1))
			json_object_array_add(list, json_object_new_string(name));
		seen |= caps.op < 32 ? 1u << caps.op : 0;
	}
	accel_dev_close(dev);
}

static struct json_object *entry(struct tool *t, const struct accel_dev_info *info)
{
	struct json_object *o = json_object_new_object();

	out_add_num(o, "schema", SCHEMA);
	names_identity(o, info);
	out_add_num(o, "slots", info->nslot);
	out_add_num(o, "slots_free", info->slots_free);
	add_functions(t, o, info->path);
	return o;
}

/* A device that cannot be asked is told of, and the others are listed. */
static void warn(void *arg, enum accel_log_level level, const char *message)
{
	(void)level;
	tool_error(arg, NULL, "%s", message);
}

static int scan(struct tool *t, const struct accel_filter *filter)
{
	struct json_object *root = json_object_new_array();
	struct accel_list *list = NULL;
	int failed, rc;

	accel_ctx_set_log(t->ctx, warn, t, ACCEL_LOG_WARNING);
	rc = accel_scan(t->ctx, filter, &list);
	for (size_t i = 0; !rc && i < accel_list_count(list); i++)
		json_object_array_add(root, entry(t, accel_list_get(list, i)));
	if (!rc)
		accel_list_free(list);
	/* A scan that failed is no empty list: readers of the JSON see a valid one, the exit code tells. */
	failed = rc ? tool_lib_error(t, "scan", rc) : 0;
	if (failed && !t->json) {
		json_object_put(root);
		return failed;
	}
	rc = out_listing(t, root, text);
	return failed ? failed : rc;
}

static bool transport_of(struct tool *t, const char *text, const char **transport)
{
	static const char *const known[] = { "soft", "pcie", "tcp", "rdma", "loop", NULL };
	int i = opts_choice(t, "--transport", text, known);

	*transport = i < 0 ? NULL : known[i];
	return i >= 0;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_filter filter = ACCEL_INIT(struct accel_filter);
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (c == OPT_TRANSPORT && !transport_of(t, optarg, &filter.transport))
			return TOOL_USAGE;
		if (c == OPT_FREE)
			filter.flags |= ACCEL_FILTER_FREE;
		else if (c == 'n')
			filter.name = optarg;
		else if (c == 't' && names_type_of(t, optarg, &filter.type))
			return TOOL_USAGE;
	}
	if (c != OPTS_END)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s': list takes no operand", argv[optind]);
	filter.flags |= t->hardware ? ACCEL_FILTER_HARDWARE : t->software ? ACCEL_FILTER_SOFTWARE : 0;
	/* One device is asked for by its name: what else would choose among several has nothing to choose. */
	if (t->device && (filter.name || filter.transport || filter.type || filter.flags & ACCEL_FILTER_FREE))
		return tool_usage(t, "--device does not go with --type, --transport, --free and --name");
	if (t->device) {
		struct json_object *root = json_object_new_array();
		int rc = tool_dev(t, 0, 0);

		if (!rc)
			json_object_array_add(root, entry(t, accel_dev_info(t->dev)));
		return rc ? (json_object_put(root), rc) : out_listing(t, root, text);
	}
	return tool_ctx(t) ? scan(t, &filter) : TOOL_FAILED;
}

const struct verb verb_list = {
	.name = "list",
	.summary = "List the accelerators that there are",
	.usage = "[options]",
	.opts = opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "An empty list is success; the JSON of it is [].\n",
	.run = run,
};
