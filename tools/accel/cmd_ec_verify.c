/* SPDX-License-Identifier: BSD-2-Clause */
/* accel ec verify and accel ec repair. */
#include "ec_set.h"
#include "ec_out.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a check of the whole set found beside what stands in the shards. */
struct outcome {
	uint64_t inconsistent;		/* stripes of good blocks whose parity is not that of the data */
	uint64_t first;
	uint64_t hopeless;		/* stripes with fewer than k good blocks */
	struct ec_out *out;		/* repair; the same: */
	const char *dir;		/* where missing shards go */
	bool made[EC_SHARDS_MAX];	/* by the repair */
};

static int check_sink(struct ec_walk *w, struct ec_stripe *s)
{
	struct outcome *o = w->arg;
	unsigned int good = 0;

	for (unsigned int i = 0; i < ec_nshard(&w->head); i++)
		good += s->state[i] == EC_B_GOOD;
	o->hopeless += good < w->head.k;
	if (s->nbad && !o->inconsistent++)
		o->first = s->index;
	return 0;
}

static int check_all(struct tool *t, struct ec_set *set, struct outcome *o)
{
	struct ec_walk w = { .t = t, .kind = EC_VERIFY, .head = set->head, .shard = set->shard,
			     .sink = check_sink, .arg = o };
	int rc;

	progress_start(&w.progress, t, set->head.name, set->head.file_nbytes);
	rc = ec_walk(&w);
	progress_end(&w.progress);
	return rc;
}

static void text_listing(FILE *f, struct json_object *root)
{
	static const struct out_column columns[] = {
		{ "index", "SHARD", OUT_NUMBER }, { "kind", "KIND", OUT_TEXT }, { "path", "FILE", OUT_TEXT },
		{ "state", "STATE", OUT_TEXT }, { 0 },
	};
	static const struct out_column fields[] = {
		{ "name", "File", OUT_TEXT }, { "set", "Set", OUT_TEXT }, { "k", "Data shards", OUT_NUMBER },
		{ "m", "Parity shards", OUT_NUMBER }, { "block_bytes", "Block", OUT_BYTES },
		{ "file_bytes", "Length", OUT_BYTES }, { "result", "Result", OUT_TEXT }, { 0 },
	};
	struct json_object *shards = NULL;

	out_fields(f, root, fields);
	fputc('\n', f);
	json_object_object_get_ex(root, "shards", &shards);
	out_table(f, shards, columns, "no shards");
}

/* Says of the shards that were made anew what they were before, and where they are. */
static void mark_made(struct json_object *root, const struct ec_set *set, const struct outcome *o)
{
	struct json_object *shards = NULL;
	char buf[160], text[200];

	json_object_object_get_ex(root, "shards", &shards);
	for (unsigned int i = 0; i < ec_nshard(&set->head); i++) {
		struct json_object *shard = json_object_array_get_idx(shards, i);
		char *path = o->made[i] ? ec_set_path(set, o->dir, i) : NULL;

		out_add_bool(shard, "made_anew", o->made[i]);
		if (!path)
			continue;
		snprintf(text, sizeof(text), "made anew; was: %s", ec_shard_state(set, i, buf, sizeof(buf)));
		out_add_str(shard, "state", text);
		out_add_str(shard, "path", path);
		free(path);
	}
}

static int list(struct tool *t, const struct ec_set *set, const struct outcome *o, const char *result)
{
	struct json_object *root = ec_set_json(set);

	out_add_num(root, "stripes_inconsistent", o->inconsistent);
	out_add_num(root, "stripes_lost", o->hopeless);
	out_add_str(root, "result", result);
	if (o->out)
		mark_made(root, set, o);
	return out_listing(t, root, text_listing);
}

static unsigned int count_needs(const struct ec_set *set)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ec_nshard(&set->head); i++)
		n += ec_set_needs(set, i);
	return n;
}

static int open_and_check(struct tool *t, struct ec_set *set, struct outcome *o, int argc, char **argv)
{
	int rc;

	if (optind == argc)
		return tool_usage(t, "the name of the shards is needed");
	rc = ec_set_open(t, set, argv + optind, argc - optind);
	if (rc)
		return rc;
	rc = tool_dev(t, ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY);
	if (!rc)
		rc = check_all(t, set, o);
	if (rc)
		ec_set_close(set);
	return rc;
}

static int say_inconsistent(struct tool *t, const struct ec_set *set, const struct outcome *o)
{
	if (!o->inconsistent)
		return 0;
	return tool_error(
		t, set->base,
		"in %llu stripes, the first is %llu, the parity is not that of the data though every "
		"block is as it was written",
		(unsigned long long)o->inconsistent, (unsigned long long)o->first);
}

/* ---- verify ---- */

static const struct tool_opt verify_opts[] = {
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL },
	{ 0 },
};

static int run_verify(struct tool *t, int argc, char **argv)
{
	struct outcome o = { 0 };
	struct ec_set set;
	const char *result = "all shards are good";
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0)
		if (c == 'q')
			t->quiet = true;
	if (c == OPTS_STOP)
		return t->status;
	rc = open_and_check(t, &set, &o, argc, argv);
	if (rc)
		return rc;
	if (o.hopeless || set.nfound < set.head.k)
		result = "damaged beyond repair";
	else if (o.inconsistent)
		result = "the parity is not that of the data";
	else if (count_needs(&set))
		result = "damaged, the file can be restored";
	rc = list(t, &set, &o, result);
	say_inconsistent(t, &set, &o);
	if (count_needs(&set) || o.inconsistent)
		rc = TOOL_FAILED;
	ec_set_close(&set);
	return rc;
}

const struct verb verb_ec_verify = {
	.name = "verify",
	.summary = "Read all shards, compute the parity again, list what is damaged",
	.usage = "[-o json] NAME|SHARD...",
	.opts = verify_opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "Exit status 0 if every shard is there and good, 1 if not.\n",
	.run = run_verify,
};

/* ---- repair ---- */

enum { OPT_DIRECTORY = OPT_LONG + 1 };

static const struct tool_opt repair_opts[] = {
	{ OPT_DIRECTORY, "directory", "DIR", "where missing shards go (default: beside the others)", NULL },
	{ 'f', "force", NULL, "replace a shard of another set, or a file in DIR, that stands in the place of a "
	  "missing one", NULL },
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL },
	{ 0 },
};

static int repair_sink(struct ec_walk *w, struct ec_stripe *s)
{
	struct outcome *o = w->arg;
	int rc = 0;

	if (ec_signalled())
		return TOOL_FAILED;
	for (unsigned int i = 0; i < ec_nshard(&w->head) && !rc; i++)
		if (w->want[i])
			rc = ec_out_block(w->t, o->out, s, i);
	return rc;
}

/* Opens an output for each shard that is to be made anew, under its own name. */
static int create_wanted(struct tool *t, const struct ec_set *set, const struct ec_walk *w, struct outcome *o,
			 bool force)
{
	int rc = 0;

	for (unsigned int i = 0; i < ec_nshard(&set->head) && !rc; i++) {
		bool in_place = force || set->shard[i].path || (set->unknown[i] && !set->foreign[i]);
		char *path;

		if (!w->want[i])
			continue;
		path = ec_set_path(set, o->dir, i);
		if (!path)
			return tool_error(t, set->base, "out of memory");
		rc = ec_out_create(t, o->out, i, path, in_place ? OUT_FORCE : 0);
		free(path);
	}
	return rc;
}

/* Owner, mode and times of a new shard: those of one that is there. */
static const struct stat *a_shard(const struct ec_set *set, struct stat *st)
{
	for (unsigned int i = 0; i < ec_nshard(&set->head); i++)
		if (set->shard[i].fd >= 0 && !fstat(set->shard[i].fd, st))
			return st;
	return NULL;
}

static int rebuild(struct tool *t, struct ec_set *set, struct ec_walk *w, bool force)
{
	struct outcome *o = w->arg;
	struct stat st;
	int rc;

	rc = create_wanted(t, set, w, o, force);
	if (rc)
		return rc;
	progress_start(&w->progress, t, set->head.name, set->head.file_nbytes);
	rc = ec_walk(w);
	progress_end(&w->progress);
	if (!rc && ec_signalled())
		rc = TOOL_FAILED;
	if (!rc)
		rc = ec_out_commit(t, o->out, &set->head, a_shard(set, &st));
	return rc;
}

static int repair(struct tool *t, struct ec_set *set, struct outcome *o, bool force)
{
	struct ec_shard scratch[EC_SHARDS_MAX];
	struct ec_walk w = { .t = t, .kind = EC_RESTORE, .head = set->head, .shard = scratch, .arg = o,
			     .sink = repair_sink, .want_checks = true };
	unsigned int n = count_needs(set);
	char result[64];
	int rc;

	if (o->hopeless || set->nfound < set->head.k) {
		ec_set_warn(t, set);
		if (set->nfound < set->head.k)
			return tool_error(t, set->base, "%u shards are there, %u of %u are needed",
					  set->nfound, set->head.k, ec_nshard(&set->head));
		return tool_error(t, set->base,
				  "in %llu stripes fewer than %u blocks are good: nothing changed",
				  (unsigned long long)o->hopeless, set->head.k);
	}
	/* Parity that contradicts the data makes every block of the stripe suspect: keep what there is. */
	if (o->inconsistent)
		return say_inconsistent(t, set, o);
	/* The walk counts bad blocks anew; the listing is to show them once. */
	memcpy(scratch, set->shard, sizeof(scratch));
	for (unsigned int i = 0; i < ec_nshard(&set->head); i++)
		w.want[i] = o->made[i] = ec_set_needs(set, i);
	rc = n ? rebuild(t, set, &w, force) : 0;
	if (rc)
		return rc;
	if (n)
		snprintf(result, sizeof(result), "%u shards made anew", n);
	else
		snprintf(result, sizeof(result), "all shards were good");
	return list(t, set, o, result);
}

static int run_repair(struct tool *t, int argc, char **argv)
{
	struct ec_out out = { 0 };
	struct outcome o = { .out = &out };
	struct ec_set set;
	bool force = false;
	sigset_t old;
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (c == OPT_DIRECTORY)
			o.dir = optarg;
		else if (c == 'f')
			force = true;
		else if (c == 'q')
			t->quiet = true;
	}
	if (c == OPTS_STOP)
		return t->status;
	/* Before signals are held back: a device may take its time, and whoever waits may want to end that. */
	rc = tool_dev(t, ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY);
	if (rc)
		return rc;
	ec_signals_hold(&old);
	rc = open_and_check(t, &set, &o, argc, argv);
	if (!rc) {
		rc = repair(t, &set, &o, force);
		ec_out_abort(&out);
		ec_set_close(&set);
	}
	ec_signals_release(&old);
	return rc;
}

const struct verb verb_ec_repair = {
	.name = "repair",
	.summary = "Make lost and damaged shards anew, in place",
	.usage = "[--directory DIR] [-f] [-o json] NAME|SHARD...",
	.opts = repair_opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "A shard is replaced as a whole, and only when all shards could be made. The listing\n"
		 "shows what they were before.\n",
	.run = run_repair,
};
