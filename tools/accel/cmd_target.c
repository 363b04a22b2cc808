/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: the verbs; and those that move the whole configuration: save, restore, clear. */
#include "target.h"
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

enum { OPT_CLEAR = OPT_LONG, OPT_WAIT, OPT_DRY };

/* The file that was named, or the default; false after a message. */
static bool file_of(struct tool *t, int argc, char **argv, const char *verb, const char **file)
{
	*file = optind < argc ? argv[optind] : TG_FILE;
	if (optind + 1 >= argc)
		return true;
	tool_usage(t, "'%s': %s takes one file", argv[optind + 1], verb);
	return false;
}

/* ---- save ---- */

static int run_save(struct tool *t, int argc, char **argv)
{
	struct json_object *doc;
	const char *file;
	struct target g;
	int c, rc;

	tg_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (!file_of(t, argc, argv, "save", &file))
		return TOOL_USAGE;
	rc = tg_begin(&g, TG_LOCK);
	if (!rc) {
		doc = tg_model(&g);
		/* Nothing is undone here, so a signal may end it; the temporary file goes then. */
		tg_end(&g, 0);
		rc = tg_worth_saving(&g, file, doc);
		rc = rc ? rc : tg_save(&g, file, doc);
		json_object_put(doc);
	}
	return tg_end(&g, rc);
}

static const struct verb verb_target_save = {
	.name = "save",
	.summary = "Write the configuration to a file",
	.usage = "[FILE]",
	.more_opts = tg_common_opts,
	.notes = "FILE is " TG_FILE " if none is given; -: standard output. The file appears whole\n"
		 "or not at all, readable by its owner only. accel-target.service restores it at boot.\n",
	.run = run_save,
};

/* ---- restore ---- */

struct restore {
	struct target g;
	bool clear, dry;
	uint64_t wait;
};

/* The controllers that doc names. */
static int clear_named(struct target *g, struct json_object *doc)
{
	char path[TG_PATH];
	int rc = 0;

	for (size_t i = 0; i < tg_len(doc, TG_SECTION) && !rc; i++) {
		const char *name = tg_str(tg_at(doc, TG_SECTION, i), "name");

		if (!tg_exists(tg_path(g, path, TG_MODULE "/%s/enable", name)))
			continue;
		rc = tg_unexport(g, name);
		rc = rc ? rc : tg_delete(g, name);
	}
	return rc;
}

/* What --clear took away comes back if its successor cannot be made. */
static int replace(struct restore *r, struct json_object *doc)
{
	struct target *g = &r->g;
	struct json_object *before = r->clear ? tg_model(g) : NULL;
	int rc = r->clear ? clear_named(g, doc) : 0;

	rc = rc ? rc : tg_apply(g, doc);
	if (rc == TOOL_BUSY && !r->clear)
		tool_warning(g->t, NULL, "what is there and differs from the file stays as it is; --clear replaces it");
	if (!rc || !r->clear) {
		json_object_put(before);
		return rc;
	}
	tg_rollback(g);
	if (tg_apply(g, before))
		tg_rollback(g);
	else
		tool_warning(g->t, NULL, "what there was before is back");
	tg_keep(g);
	json_object_put(before);
	return rc;
}

static int restore(struct restore *r, const char *file)
{
	struct target *g = &r->g;
	struct json_object *doc = tg_load(g, file);
	int rc = doc ? tg_check(g, file, doc) : TOOL_FAILED;

	/* It may take long: others may work meanwhile, and a signal ends it. */
	rc = rc ? rc : tg_begin(g, TG_ROOT);
	if (!rc)
		tg_lower_wait(g, doc, (unsigned int)r->wait);
	rc = rc ? rc : tg_begin(g, TG_CHANGE);
	rc = rc ? rc : tg_lower_resolve(g, doc);
	if (!rc && !r->dry)
		rc = replace(r, doc);
	json_object_put(doc);
	return tg_end(g, rc);
}

static const struct tool_opt restore_opts[] = {
	{ OPT_CLEAR, "clear", NULL, "take away the controllers that the file names, and their exports, first", NULL },
	{ OPT_WAIT, "wait", "SECONDS", "wait so long for controllers and namespaces below that are not there yet (0)", NULL },
	{ 'n', "dry-run", NULL, "only check the file, and find what is below", NULL },
	{ 0 },
};

static int run_restore(struct tool *t, int argc, char **argv)
{
	struct restore r = { 0 };
	const char *file;
	int c, rc;

	tg_init(&r.g, t);
	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (tg_option(&r.g, c))
			continue;
		if (c == OPT_CLEAR)
			r.clear = true;
		else if (c == 'n')
			r.dry = true;
		else if ((rc = opts_number(t, "--wait", optarg, 0, 3600, &r.wait)))
			return rc;
	}
	if (c != OPTS_END)
		return t->status;
	return file_of(t, argc, argv, "restore", &file) ? restore(&r, file) : TOOL_USAGE;
}

static const struct verb verb_target_restore = {
	.name = "restore",
	.summary = "Make what a file says",
	.usage = "[--clear] [--wait=SECONDS] [FILE]",
	.opts = restore_opts,
	.more_opts = tg_common_opts,
	.notes = "The whole file is checked before anything is done. What is there already and the same is\n"
		 "left alone, and so is all that the file does not name. A failure undoes what was done.\n",
	.run = run_restore,
};

/* ---- clear ---- */

static int run_clear(struct tool *t, int argc, char **argv)
{
	struct json_object *doc;
	struct target g;
	int c, rc;

	tg_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s': clear takes no operand (accel target delete NAME)", argv[optind]);
	rc = tg_begin(&g, TG_LOCK);
	if (!rc) {
		doc = tg_model(&g);
		rc = clear_named(&g, doc);
		json_object_put(doc);
	}
	return tg_end(&g, rc);
}

static const struct verb verb_target_clear = {
	.name = "clear",
	.summary = "Take away all virtual controllers and their exports",
	.usage = "[options]",
	.more_opts = tg_common_opts,
	.notes = "Whoever uses them loses them. Subsystems, ports and hosts of others stay.\n",
	.run = run_clear,
};

static const struct verb *const subs[] = {
	&verb_target_create, &verb_target_add,	  &verb_target_remove, &verb_target_set,  &verb_target_export,  &verb_target_unexport,
	&verb_target_delete, &verb_target_list,	  &verb_target_show,   &verb_target_save, &verb_target_restore, &verb_target_clear,
	NULL,
};

const struct verb verb_target = {
	.name = "target",
	.summary = "Export accelerators of this machine by the kernel",
	.usage = "create|add|remove|set|export|unexport|delete|list|show|save|restore|clear [options]",
	.subs = subs,
};
