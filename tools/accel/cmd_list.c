/* SPDX-License-Identifier: BSD-2-Clause */
/* accel list: the accelerators that there are. */
#include "tool.h"
#include "names.h"
#include "noload.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1

enum { OPT_TRANSPORT = OPT_LONG, OPT_FREE };

static const struct tool_opt opts[] = {
	{ 't', "type", "TYPE", "only accelerators of this type: compression, erasure, cipher, digest, "
	  "checksum, program, data or multi", NULL },
	{ OPT_TRANSPORT, "transport", "NAME", "only those reached this way: soft, pcie, tcp, rdma, loop, fc, block",
	  NULL },
	{ OPT_FREE, "free", NULL, "only those with a free slot now", NULL },
	{ 'n', "name", "NAME", "only those of exactly this name", NULL },
	{ 'v', "verbose", NULL, "also how they are reached: address, timeouts, NUMA node, UUID", NULL },
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

/* The values are the same; there are only more of them than a line has room for. */
static void text_verbose(FILE *f, struct json_object *root)
{
	struct json_object *nqn = NULL;
	size_t n = json_object_array_length(root);

	text(f, root);
	if (!n)
		return;
	fputc('\n', f);
	out_table(f, root, names_path_columns, NULL);
	/* Cards of another interface do not have it. */
	while (n && !json_object_object_get_ex(json_object_array_get_idx(root, n - 1), "host_nqn", &nqn))
		n--;
	if (n)
		fprintf(f, "\nHost NQN: %s\n", json_object_get_string(nqn));
}

/* The operations of a device, each once. */
static void add_functions(struct json_object *o, const struct accel_dev *dev)
{
	struct json_object *list = json_object_new_array();
	struct accel_caps caps;
	uint32_t seen = 0;

	json_object_object_add(o, "functions", list);
	if (!dev)
		return;
	for (uint32_t i = 0; !accel_dev_cap(dev, i, &caps); i++) {
		const char *name = accel_op_name(caps.op);

		if (caps.op < 32 && name && !(seen >> caps.op & 1))
			json_object_array_add(list, json_object_new_string(name));
		seen |= caps.op < 32 ? 1u << caps.op : 0;
	}
}

static struct json_object *entry(struct tool *t, const struct accel_dev_info *info)
{
	struct json_object *o = json_object_new_object();
	struct accel_dev *dev;
	char uuid[37];

	if (accel_dev_open(t->ctx, info->path, &dev))
		dev = NULL;
	out_add_num(o, "schema", SCHEMA);
	names_identity(o, info);
	out_add_num(o, "slots", info->nslot);
	out_add_num(o, "slots_free", info->slots_free);
	add_functions(o, dev);
	out_add_str(o, "uuid", names_uuid(uuid, info->uuid));
	names_path(o, dev);
	out_add_str(o, "host_nqn", accel_ctx_host_nqn(t->ctx));
	accel_dev_close(dev);
	return o;
}

struct listing {
	struct tool *t;
	struct json_object *root;
	unsigned int said;
};

/* A device that cannot be asked is told of, and the others are listed. */
static void warn(void *arg, enum accel_log_level level, const char *message)
{
	struct listing *l = arg;

	(void)level;
	l->said++;
	tool_error(l->t, NULL, "%s", message);
}

static int add_all(struct listing *l, struct accel_ctx *ctx, const struct accel_filter *filter, const char *what)
{
	struct accel_list *list = NULL;
	int rc;

	l->said = 0;
	accel_ctx_set_log(ctx, warn, l, ACCEL_LOG_WARNING);
	rc = accel_scan(ctx, filter, &list);
	accel_ctx_set_log(ctx, NULL, NULL, ACCEL_LOG_WARNING);
	for (size_t i = 0; !rc && i < accel_list_count(list); i++)
		json_object_array_add(l->root, entry(l->t, accel_list_get(list, i)));
	if (!rc)
		accel_list_free(list);
	/* An address that is none, and what is wrong with it has been said. */
	if (rc == -EINVAL && l->said)
		return TOOL_USAGE;
	return rc ? tool_lib_failed(l->t, what, rc, l->said) : 0;
}

/* What somebody else offers; if it cannot be had, what is here is listed all the same. */
static int add_remote(struct listing *l, const struct accel_filter *filter)
{
	struct accel_ctx_opts o = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_ctx *ctx;
	int rc;

	o.discover = l->t->discover;
	o.flags = ACCEL_CTX_NO_SOFT | ACCEL_CTX_NO_NODES;
	rc = accel_ctx_new(&o, &ctx);
	if (rc)
		return tool_lib_error(l->t, "discovery", rc);
	rc = add_all(l, ctx, filter, "discovery");
	accel_ctx_unref(ctx);
	return rc;
}

/* Cards of another interface have none of what a filter may ask for but the way they are reached. */
static bool with_noload(const struct accel_filter *f)
{
	return !f->name && !f->type && !(f->flags & (ACCEL_FILTER_FREE | ACCEL_FILTER_SOFTWARE)) &&
	       (!f->transport || strcmp(f->transport, "pcie") == 0);
}

/* A scan that failed is no empty list: readers of the JSON see a valid one, the exit code tells. */
static int scan(struct tool *t, const struct accel_filter *filter, out_text_fn print)
{
	struct listing l = { .t = t, .root = json_object_new_array() };
	int failed, rc;

	failed = add_all(&l, t->ctx, filter, "scan");
	if (!failed && with_noload(filter))
		failed = noload_list(t, l.root);
	if (t->discover) {
		rc = add_remote(&l, filter);
		failed = failed && rc != TOOL_USAGE ? failed : rc;
	}
	if (failed == TOOL_USAGE) {
		json_object_put(l.root);
		return failed;
	}
	if (failed && !t->json && !json_object_array_length(l.root)) {
		json_object_put(l.root);
		return failed;
	}
	rc = out_listing(t, l.root, print);
	return failed ? failed : rc;
}

static bool transport_of(struct tool *t, const char *text, const char **transport)
{
	static const char *const known[] = { "soft", "pcie", "tcp", "rdma", "loop", "fc", "block", NULL };
	int i = opts_choice(t, "--transport", text, known);

	*transport = i < 0 ? NULL : known[i];
	return i >= 0;
}

/* The instance without the remote ones, which are asked for by one of their own. */
static struct accel_ctx *list_ctx(struct tool *t)
{
	const char *discover = t->discover;
	struct accel_ctx *ctx;

	t->discover = NULL;
	ctx = tool_ctx(t);
	t->discover = discover;
	return ctx;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_filter filter = ACCEL_INIT(struct accel_filter);
	out_text_fn print = text;
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (c == OPT_TRANSPORT && !transport_of(t, optarg, &filter.transport))
			return TOOL_USAGE;
		if (tool_where(t, c))
			continue;
		if (c == 'v')
			print = text_verbose;
		else if (c == OPT_FREE)
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
		return rc ? (json_object_put(root), rc) : out_listing(t, root, print);
	}
	return list_ctx(t) ? scan(t, &filter, print) : TOOL_FAILED;
}

const struct verb verb_list = {
	.name = "list",
	.summary = "List the accelerators that there are",
	.usage = "[options]",
	.opts = opts,
	.more_opts = where_opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "An empty list is success; the JSON of it is [].\n",
	.run = run,
};
