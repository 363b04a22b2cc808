/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target list and show. */
#include "target.h"
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1

static const struct out_column columns[] = {
	{ "name", "NAME", OUT_TEXT },
	{ "state", "STATE", OUT_TEXT },
	{ "device", "DEVICE", OUT_TEXT },
	{ "contents", "NAMESPACES", OUT_TEXT },
	{ "addresses", "EXPORTED", OUT_TEXT },
	{ "allowed", "HOSTS", OUT_TEXT },
	{ 0 },
};

static const struct out_column ns_columns[] = {
	{ "nsid", "NSID", OUT_NUMBER },
	{ "enabled", "ENABLED", OUT_YESNO },
	{ "kind", "KIND", OUT_TEXT },
	{ "of", "OF", OUT_TEXT },
	{ "allow", "ALLOW", OUT_TEXT },
	{ "max_inflight", "INFLIGHT", OUT_NUMBER },
	{ "max_bytes_per_sec", "BYTES/S", OUT_NUMBER },
	{ "max_cmds_per_sec", "COMMANDS/S", OUT_NUMBER },
	{ "uuid", "UUID", OUT_TEXT },
	{ 0 },
};

static const struct out_column fields[] = {
	{ "name", "Name", OUT_TEXT },
	{ "state", "State", OUT_TEXT },
	{ "device", "Device", OUT_TEXT },
	{ "subsysnqn", "NQN", OUT_TEXT },
	{ "serial", "Serial number", OUT_TEXT },
	{ "model", "Model", OUT_TEXT },
	{ "queue_depth", "Queue depth", OUT_NUMBER },
	{ "export", "Exported as", OUT_TEXT },
	{ "addresses", "Exported at", OUT_TEXT },
	{ "allowed", "Hosts", OUT_TEXT },
	{ 0 },
};

static struct json_object *describe_ns(struct json_object *ns)
{
	struct json_object *o = json_object_new_object(), *attr = tg_get(ns, "attr");
	bool engine = !strcmp(tg_str(attr, "kind"), "engine");
	char of[320];

	out_add_num(o, "nsid", (uint64_t)tg_int(ns, "nsid"));
	out_add_bool(o, "enabled", tg_int(ns, "enable"));
	json_object_object_foreach(attr, key, value)
		json_object_object_add(o, key, json_object_get(value));
	if (engine || !*tg_str(attr, "device_path"))
		snprintf(of, sizeof(of), "%s", engine ? tg_str(attr, "engine_type") : "nothing");
	else
		snprintf(of, sizeof(of), "%s,nsid=%s", tg_str(attr, "device_path"), tg_str(attr, "device_nsid"));
	out_add_str(o, "of", of);
	return o;
}

static void add_exports(struct json_object *o, struct json_object *doc, struct json_object *c)
{
	struct json_object *addresses = tg_array(o, "addresses"), *allowed = tg_array(o, "allowed"), *s;
	const char *nqn = tg_len(c, "exports") ? json_object_get_string(tg_at(c, "exports", 0)) : NULL;
	char text[512];

	out_add_str(o, "export", nqn);
	if (!nqn)
		return;
	s = tg_find(doc, "subsystems", "nqn", nqn);
	for (size_t i = 0; i < tg_len(s, "allowed_hosts"); i++)
		json_object_array_add(allowed, json_object_get(tg_at(s, "allowed_hosts", i)));
	if (!strcmp(tg_str(tg_get(s, "attr"), "allow_any_host"), "1"))
		json_object_array_add(allowed, json_object_new_string("any"));
	for (size_t i = 0; i < tg_len(doc, "ports"); i++) {
		struct json_object *p = tg_at(doc, "ports", i), *addr = tg_get(p, "addr");
		bool v6 = strchr(tg_str(addr, "traddr"), ':');

		if (!tg_has_str(p, "subsystems", nqn))
			continue;
		if (!*tg_str(addr, "traddr"))
			snprintf(text, sizeof(text), "%s", tg_str(addr, "trtype"));
		else
			snprintf(text, sizeof(text), "%s://%s%s%s:%s", tg_str(addr, "trtype"), v6 ? "[" : "", tg_str(addr, "traddr"),
				 v6 ? "]" : "", tg_str(addr, "trsvcid"));
		json_object_array_add(addresses, json_object_new_string(text));
	}
}

static struct json_object *describe(struct target *g, struct json_object *doc, struct json_object *c)
{
	struct json_object *o = json_object_new_object(), *attr = tg_get(c, "attr"), *contents = json_object_new_array();
	const char *name = tg_str(c, "name");
	char path[TG_PATH], text[400], dev[80];

	out_add_num(o, "schema", SCHEMA);
	out_add_str(o, "name", name);
	out_add_bool(o, "enabled", tg_int(c, "enable"));
	tg_read(tg_path(g, path, TG_MODULE "/%s/state", name), text, sizeof(text));
	out_add_str(o, "state", text);
	out_add_str(o, "device", tg_ctrl_device(g, name, dev, sizeof(dev)) ? dev : NULL);
	json_object_object_foreach(attr, key, value)
		json_object_object_add(o, key, json_object_get(value));
	json_object_object_add(o, "contents", contents);
	tg_array(o, "namespaces");
	for (size_t i = 0; i < tg_len(c, "namespaces"); i++) {
		struct json_object *ns = describe_ns(tg_at(c, "namespaces", i));

		snprintf(text, sizeof(text), "%s:%s", tg_str(ns, "nsid"), tg_str(ns, "of"));
		json_object_array_add(contents, json_object_new_string(text));
		json_object_array_add(tg_array(o, "namespaces"), ns);
	}
	add_exports(o, doc, c);
	return o;
}

static void text_list(FILE *f, struct json_object *root)
{
	out_table(f, root, columns, "no virtual controllers (accel target create makes one)");
}

static void text_one(FILE *f, struct json_object *o)
{
	out_fields(f, o, fields);
	fputc('\n', f);
	out_table(f, tg_get(o, "namespaces"), ns_columns, "no namespaces");
}

static void text_verbose(FILE *f, struct json_object *root)
{
	if (!json_object_array_length(root))
		text_list(f, root);
	for (size_t i = 0; i < json_object_array_length(root); i++) {
		if (i)
			fputc('\n', f);
		text_one(f, json_object_array_get_idx(root, i));
	}
}

/* ---- list ---- */

static const struct tool_opt list_opts[] = {
	{ 'v', "verbose", NULL, "all that show tells of each", NULL },
	{ 0 },
};

static int run_list(struct tool *t, int argc, char **argv)
{
	struct json_object *doc, *root;
	out_text_fn print = text_list;
	struct target g;
	int c, rc;

	tg_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		if (!tg_option(&g, c))
			print = text_verbose;
	if (c != OPTS_END)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s': list takes no operand (accel target show NAME)", argv[optind]);
	rc = tg_begin(&g, TG_LOOK);
	if (rc)
		return rc;
	doc = tg_model(&g);
	root = json_object_new_array();
	for (size_t i = 0; i < tg_len(doc, TG_SECTION); i++)
		json_object_array_add(root, describe(&g, doc, tg_at(doc, TG_SECTION, i)));
	json_object_put(doc);
	return out_listing(t, root, print);
}

const struct verb verb_target_list = {
	.name = "list",
	.summary = "List virtual controllers and where they are exported",
	.usage = "[options]",
	.opts = list_opts,
	.more_opts = tg_common_opts,
	.flags = VERB_JSON,
	.run = run_list,
};

/* ---- show ---- */

static int run_show(struct tool *t, int argc, char **argv)
{
	struct json_object *doc, *o;
	struct target g;
	int c, rc;

	tg_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (optind + 1 != argc)
		return tool_usage(t, "show takes the name of one controller");
	rc = tg_begin(&g, TG_LOOK);
	rc = rc ? rc : tg_ctrl_exists(&g, argv[optind]);
	if (rc)
		return rc;
	doc = tg_model(&g);
	o = describe(&g, doc, tg_find(doc, TG_SECTION, "name", argv[optind]));
	json_object_put(doc);
	return out_listing(t, o, text_one);
}

const struct verb verb_target_show = {
	.name = "show",
	.summary = "Show all of a virtual controller",
	.usage = "[options] NAME",
	.more_opts = tg_common_opts,
	.flags = VERB_JSON,
	.run = run_show,
};
