/* SPDX-License-Identifier: BSD-2-Clause */
/* accel crypto list and stats. */
#include "crypto.h"
#include <errno.h>
#include <inttypes.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 1

static const struct out_column columns[] = {
	{ "name", "NAME", OUT_TEXT },
	{ "state", "STATE", OUT_TEXT },
	{ "device_path", "DEVICE", OUT_TEXT },
	{ "transport", "TRANSPORT", OUT_TEXT },
	{ "algorithms", "ALGORITHMS", OUT_TEXT },
	{ "priority", "PRIORITY", OUT_NUMBER },
	{ "threshold_min", "MIN", OUT_NUMBER },
	{ "threshold_max", "MAX", OUT_NUMBER },
	{ 0 },
};

/* ---- list ---- */

static void text_list(FILE *f, struct json_object *root)
{
	out_table(f, root, columns, "no bindings (accel crypto bind DEVICE makes one)");
}

static int run_list(struct tool *t, int argc, char **argv)
{
	struct json_object *root;
	struct tg_names names;
	struct target g;
	int c, rc;

	cr_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s': list takes no operand (accel crypto stats %s)", argv[optind], argv[optind]);
	rc = tg_begin(&g, TG_LOOK);
	if (rc)
		return rc;
	root = json_object_new_array();
	cr_names(&g, &names);
	for (size_t i = 0; i < names.n; i++)
		json_object_array_add(root, cr_binding(&g, names.v[i]));
	tg_list_free(&names);
	return out_listing(t, root, text_list);
}

const struct verb verb_crypto_list = {
	.name = "list",
	.summary = "List the accelerators that the crypto API uses",
	.usage = "[options]",
	.more_opts = tg_common_opts,
	.flags = VERB_JSON,
	.run = run_list,
};

/* ---- Counters: lines "name value" ---- */

static int read_file(const char *path, char *buf, size_t n)
{
	FILE *f = fopen(path, "re");
	size_t got;

	buf[0] = 0;
	if (!f)
		return -errno;
	got = fread(buf, 1, n - 1, f);
	buf[got] = 0;
	fclose(f);
	return 0;
}

/* The next line's two words; false at the end. Lines of another form are left out. */
static bool next_pair(char **text, char **name, uint64_t *value)
{
	char *line, *end;

	while ((line = strsep(text, "\n"))) {
		*name = line;
		line = strchr(line, ' ');
		if (!line)
			continue;
		*line++ = 0;
		*value = strtoull(line, &end, 10);
		if (end != line && (!*end || *end == ' '))
			return true;
	}
	return false;
}

static void add_latency(struct json_object *o, char *text)
{
	struct json_object *array = tg_array(o, "latency"), *last = NULL;
	uint64_t count;
	char *from;

	while (next_pair(&text, &from, &count)) {
		if (last)
			out_add_num(last, "to_ns", strtoull(from, NULL, 10));
		last = NULL;
		if (!count)
			continue;
		last = json_object_new_object();
		out_add_num(last, "from_ns", strtoull(from, NULL, 10));
		out_add_num(last, "requests", count);
		json_object_array_add(array, last);
	}
}

struct json_object *cr_stats(struct target *g, const char *name, int *err)
{
	char path[TG_PATH], text[16384], *rest = text, *key;
	struct json_object *o, *counters;
	uint64_t value;

	snprintf(path, sizeof(path), "%s/kernel/debug/" CR_MODULE "%s%s/stats", g->sys, name ? "/" : "", name ? name : "");
	*err = read_file(path, text, sizeof(text));
	if (*err)
		return NULL;
	o = json_object_new_object();
	out_add_str(o, "name", name);
	counters = json_object_new_object();
	json_object_object_add(o, "counters", counters);
	while (next_pair(&rest, &key, &value))
		out_add_num(counters, key, value);
	strcpy(strrchr(path, '/') + 1, "latency");
	if (!read_file(path, text, sizeof(text)))
		add_latency(o, text);
	return o;
}

static const struct out_column latency_columns[] = {
	{ "from_ns", "FROM", OUT_NS },
	{ "to_ns", "BELOW", OUT_NS },
	{ "requests", "REQUESTS", OUT_NUMBER },
	{ 0 },
};

void cr_stats_text(FILE *f, struct json_object *o)
{
	struct json_object *counters = tg_get(o, "counters");

	if (*tg_str(o, "name"))
		fprintf(f, "binding: %s\n", tg_str(o, "name"));
	json_object_object_foreach(counters, key, value)
		fprintf(f, "%s: %s\n", key, json_object_get_string(value));
	if (!tg_len(o, "latency"))
		return;
	fputc('\n', f);
	out_table(f, tg_get(o, "latency"), latency_columns, NULL);
}

struct json_object *cr_stats_of_device(struct tool *t, const char *device)
{
	struct json_object *array = NULL, *o;
	struct tg_names names;
	struct target g;
	int err;

	cr_init(&g, t);
	if (tg_begin(&g, TG_LOOK))
		return NULL;
	cr_names(&g, &names);
	for (size_t i = 0; i < names.n; i++) {
		o = cr_is_device(&g, names.v[i], device) ? cr_stats(&g, names.v[i], &err) : NULL;
		if (!o)
			continue;
		array = array ? array : json_object_new_array();
		json_object_array_add(array, o);
	}
	tg_list_free(&names);
	return array;
}

/* ---- stats ---- */

static int no_stats(struct target *g, int err)
{
	if (err == -EACCES)
		return tool_error(g->t, NULL, "debugfs is for root only (sudo %s)", g->t->name);
	tool_error(g->t, NULL, "there are no statistics: is " CR_MODULE " loaded (modprobe " CR_MODULE
		   "), and debugfs mounted (mount -t debugfs debugfs /sys/kernel/debug)?");
	return TOOL_NODEV;
}

static int run_stats(struct tool *t, int argc, char **argv)
{
	struct json_object *o;
	char name[CR_NAME];
	struct target g;
	int c, err;

	cr_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (optind + 1 < argc)
		return tool_usage(t, "'%s': stats takes the name or device of one binding, or none for all", argv[optind + 1]);
	err = tg_begin(&g, TG_LOOK);
	if (err)
		return err;
	if (optind < argc && !cr_find(&g, argv[optind], name))
		return TOOL_NODEV;
	o = cr_stats(&g, optind < argc ? name : NULL, &err);
	if (!o)
		return no_stats(&g, err);
	out_add_num(o, "schema", SCHEMA);
	return out_listing(t, o, cr_stats_text);
}

const struct verb verb_crypto_stats = {
	.name = "stats",
	.summary = "Show what the crypto API did on accelerators, and what in software and why",
	.usage = "[options] [NAME|DEVICE]",
	.more_opts = tg_common_opts,
	.flags = VERB_JSON,
	.run = run_stats,
};
