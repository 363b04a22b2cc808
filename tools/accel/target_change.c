/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target remove, set, delete. */
#include "target.h"
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const struct tool_opt force_opts[] = {
	{ 'f', "force", NULL, "whoever uses it", NULL },
	{ 0 },
};

/* Options of a verb that has --force; operands begin at argv[optind]. False: return *rc. */
static bool options(struct target *g, struct tool *t, int argc, char **argv, int *rc)
{
	int c;

	tg_init(g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		if (!tg_option(g, c))
			g->force = true;
	*rc = t->status;
	return c == OPTS_END;
}

/* ---- remove ---- */

static int run_remove(struct tool *t, int argc, char **argv)
{
	struct target g;
	const char *name;
	char path[TG_PATH];
	uint64_t nsid;
	int rc;

	if (!options(&g, t, argc, argv, &rc))
		return rc;
	if (optind + 2 != argc)
		return tool_usage(t, "remove takes a controller and the number of a namespace");
	name = argv[optind];
	if (opts_number(t, "NSID", argv[optind + 1], 1, TG_MAX_NSID, &nsid))
		return TOOL_USAGE;
	rc = tg_begin(&g, TG_CHANGE);
	rc = rc ? rc : tg_ctrl_exists(&g, name);
	tg_path(&g, path, TG_MODULE "/%s/namespaces/%u", name, (unsigned int)nsid);
	if (!rc && !tg_exists(path))
		rc = tool_error(t, name, "has no namespace %u (see accel target show %s)", (unsigned int)nsid, name);
	rc = rc || g.force ? rc : tg_in_use(&g, name, (uint32_t)nsid);
	return tg_end(&g, rc ? rc : tg_rmdir(&g, path));
}

const struct verb verb_target_remove = {
	.name = "remove",
	.summary = "Take a namespace out of a virtual controller",
	.usage = "[--force] NAME NSID",
	.opts = force_opts,
	.more_opts = tg_common_opts,
	.run = run_remove,
};

/* ---- delete ---- */

static int run_delete(struct tool *t, int argc, char **argv)
{
	struct json_object *now;
	struct target g;
	const char *name;
	int rc;

	if (!options(&g, t, argc, argv, &rc))
		return rc;
	if (optind + 1 != argc)
		return tool_usage(t, "delete takes the name of one controller");
	name = argv[optind];
	rc = tg_begin(&g, TG_CHANGE);
	rc = rc ? rc : tg_ctrl_exists(&g, name);
	if (!rc && !g.force) {
		now = tg_model_ctrl(&g, name);
		if (tg_len(now, "exports")) {
			tool_error(t, name, "is exported as %s (unexport it first, or --force)",
				   json_object_get_string(tg_at(now, "exports", 0)));
			rc = TOOL_BUSY;
		}
		json_object_put(now);
		rc = rc ? rc : tg_in_use(&g, name, 0);
	}
	rc = rc ? rc : tg_unexport(&g, name);
	return tg_end(&g, rc ? rc : tg_delete(&g, name));
}

const struct verb verb_target_delete = {
	.name = "delete",
	.summary = "Take a virtual controller away",
	.usage = "[--force] NAME",
	.opts = force_opts,
	.more_opts = tg_common_opts,
	.notes = "Refuses what is exported, or used on this machine; --force ends the export and takes it\n"
		 "away: hosts lose it, commands under way end with an error.\n",
	.run = run_delete,
};

/* ---- set ---- */

/* The attributes by their text, as members of an object that tg_write_attrs() takes. */
static int parse_attrs(struct tool *t, const struct tg_attr *table, int argc, char **argv, struct json_object *o)
{
	char text[TG_VALUE];

	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		const struct tg_attr *a;
		struct json_object *v;

		if (!value)
			return tool_usage(t, "'%s': give ATTRIBUTE=VALUE", argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "enable")) {
			if (strcmp(value, "0") && strcmp(value, "1"))
				return tool_usage(t, "enable=%s: is 0 or 1", value);
			out_add_str(o, "enable", value);
			continue;
		}
		a = tg_attr(table, argv[i]);
		if (!a)
			return tool_usage(t, "there is no attribute '%s' (see accel-target(1), ATTRIBUTES)", argv[i]);
		/* As in --engine and --device. */
		for (char *c = value; !strcmp(a->name, "allow") && *c; c++)
			*c = *c == '+' ? ' ' : *c;
		v = json_object_new_string(value);
		json_object_object_add(o, argv[i], v);
		if (!tg_value(a, v, text))
			return tool_usage(t, "%s=%s: %s", argv[i], value, text);
	}
	return 0;
}

/* Those that may change at any time. */
static bool all_limits(struct json_object *o)
{
	bool all = true;

	json_object_object_foreach(o, key, value) {
		(void)value;
		all &= !strncmp(key, "max_", 4) || !strcmp(key, "enable");
	}
	return all;
}

static int write_enable(struct target *g, const char *dir, const char *value)
{
	char path[TG_PATH + 64];

	snprintf(path, sizeof(path), "%s/enable", dir);
	return *value ? tg_write(g, path, value) : 0;
}

/* Of a namespace that is enabled, what is no limit is written while it is disabled. */
static int set_ns(struct target *g, const char *dir, struct json_object *o, bool cycle)
{
	int rc = cycle ? write_enable(g, dir, "0") : 0;

	rc = rc ? rc : tg_write_attrs(g, dir, "", tg_ns_attrs, o);
	return rc ? rc : write_enable(g, dir, *tg_str(o, "enable") ? tg_str(o, "enable") : cycle ? "1" : "");
}

static int set_ctrl(struct target *g, const char *name, const char *dir, struct json_object *o)
{
	const char *enable = tg_str(o, "enable");
	int rc = 0;

	if (!all_limits(o)) {
		rc = tg_pause(g, name);
		rc = rc ? rc : tg_write_attrs(g, dir, "", tg_ctrl_attrs, o);
		rc = tg_resume(g, name, rc);
	}
	return rc ? rc : strcmp(enable, "1") ? write_enable(g, dir, enable) : tg_enable(g, name);
}

static int set(struct target *g, const char *name, const char *nsid, struct json_object *o)
{
	char dir[TG_PATH], path[TG_PATH + 64], enabled[16];
	bool cycle;
	int rc = tg_begin(g, TG_CHANGE);

	rc = rc ? rc : tg_ctrl_exists(g, name);
	tg_path(g, dir, nsid ? TG_MODULE "/%s/namespaces/%s" : TG_MODULE "/%s", name, nsid);
	if (!rc && !tg_exists(dir))
		rc = tool_error(g->t, name, "has no namespace %s (see accel target show %s)", nsid, name);
	if (rc)
		return tg_end(g, rc);
	snprintf(path, sizeof(path), "%s/enable", dir);
	cycle = tg_read(path, enabled, sizeof(enabled)) > 0 && !strcmp(enabled, "1") && !all_limits(o);
	if (cycle && !g->force) {
		tool_error(g->t, name, "only max_* can change while it is enabled (--force disables it for a moment; whoever uses it "
			   "loses it)");
		return tg_end(g, TOOL_BUSY);
	}
	rc = nsid ? set_ns(g, dir, o, cycle) : set_ctrl(g, name, dir, o);
	return tg_end(g, rc);
}

static int run_set(struct tool *t, int argc, char **argv)
{
	struct json_object *o = json_object_new_object();
	struct target g;
	char *nsid;
	int rc;

	if (!options(&g, t, argc, argv, &rc))
		goto out;
	rc = 0;
	if (optind + 1 >= argc)
		rc = tool_usage(t, "set takes NAME or NAME/NSID, and ATTRIBUTE=VALUE");
	nsid = rc ? NULL : strchr(argv[optind], '/');
	if (nsid)
		*nsid++ = 0;
	if (nsid && (!*nsid || strspn(nsid, "0123456789") != strlen(nsid)))
		rc = tool_usage(t, "'%s' is no number of a namespace", nsid);
	rc = rc ? rc : parse_attrs(t, nsid ? tg_ns_attrs : tg_ctrl_attrs, argc - optind - 1, argv + optind + 1, o);
	rc = rc ? rc : set(&g, argv[optind], nsid, o);
out:
	json_object_put(o);
	return rc;
}

const struct verb verb_target_set = {
	.name = "set",
	.summary = "Change attributes of a virtual controller or of a namespace",
	.usage = "[--force] NAME ATTRIBUTE=VALUE...\nNAME/NSID ATTRIBUTE=VALUE...",
	.opts = force_opts,
	.more_opts = tg_common_opts,
	.notes = "Attributes have the names of configfs: max_inflight, max_bytes_per_sec, max_cmds_per_sec,\n"
		 "enable, and with --force all that are in accel-target(1).\n",
	.run = run_set,
};
