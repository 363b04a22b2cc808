/* SPDX-License-Identifier: BSD-2-Clause */
/* accel lease list and unlock: who has slots of an accelerator, and how to take them away. */
#include "tool.h"
#include "names.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 1
#define MAX_LEASES 1024

enum { OPT_ALL = OPT_LONG, OPT_EPOCH };

static const struct out_column columns[] = {
	{ "index", "INDEX", OUT_NUMBER },
	{ "epoch", "EPOCH", OUT_NUMBER },
	{ "state", "STATE", OUT_TEXT },
	{ "exclusive", "EXCLUSIVE", OUT_YESNO },
	{ "slots", "SLOTS", OUT_NUMBER },
	{ "remaining_ms", "ENDS IN MS", OUT_NUMBER },
	{ "mine", "MINE", OUT_YESNO },
	{ "host", "HOST", OUT_TEXT },
	{ "label", "HOLDER", OUT_TEXT },
	{ 0 },
};

static void text(FILE *f, struct json_object *root)
{
	out_table(f, root, columns, "no leases");
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = { "free", "held", "draining" };

	return state < 3 ? names[state] : "unknown";
}

static struct json_object *describe(const char *path, const struct accel_lease_info *i)
{
	struct json_object *o = json_object_new_object();
	char buf[64];

	out_add_num(o, "schema", SCHEMA);
	out_add_str(o, "device", path);
	out_add_num(o, "index", i->index);
	out_add_num(o, "epoch", i->epoch);
	out_add_str(o, "state", state_name(i->state));
	out_add_bool(o, "exclusive", i->flags & ACCEL_LEASE_EXCLUSIVE);
	out_add_bool(o, "preemptible", i->flags & ACCEL_LEASE_PREEMPTIBLE);
	out_add_num(o, "slots", i->nslot);
	out_add_num(o, "remaining_ms", i->remaining_ms);
	out_add_num(o, "duration_ms", i->duration_ms);
	out_add_bool(o, "mine", i->mine);
	out_add_hex(o, "claim_id", i->claim_id, sizeof(i->claim_id));
	out_add_str(o, "host", names_uuid(buf, i->hostid));
	out_add_str(o, "label", i->label);
	return o;
}

/* All leases of t->dev; the caller frees *infos. Returns their number, or -1 with *rc after a message. */
static int read_leases(struct tool *t, struct accel_lease_info **infos, int *rc)
{
	int n;

	*infos = calloc(MAX_LEASES, sizeof(**infos));
	if (!*infos) {
		*rc = tool_file_error(t, accel_dev_info(t->dev)->path, NULL, ENOMEM);
		return -1;
	}
	n = accel_lease_list(t->dev, *infos, MAX_LEASES);
	if (n >= 0)
		return n < MAX_LEASES ? n : MAX_LEASES;
	*rc = tool_lib_error(t, accel_dev_info(t->dev)->path, n);
	free(*infos);
	*infos = NULL;
	return -1;
}

static int list(struct tool *t)
{
	struct json_object *root;
	struct accel_lease_info *infos;
	int rc = TOOL_FAILED, n = read_leases(t, &infos, &rc);

	if (n < 0)
		return rc;
	root = json_object_new_array();
	for (int i = 0; i < n; i++)
		json_object_array_add(root, describe(accel_dev_info(t->dev)->path, &infos[i]));
	free(infos);
	return out_listing(t, root, text);
}

static int run_list(struct tool *t, int argc, char **argv)
{
	int rc;

	rc = tool_one_dev(t, argc, argv, "lease list");
	return rc || !t->dev ? rc : list(t);
}

static const struct verb verb_lease_list = {
	.name = "list",
	.summary = "List the leases of an accelerator",
	.usage = "[options] [DEVICE]",
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run_list,
};

/* ---- unlock ---- */

struct unlock {
	bool force, all;
	uint64_t index, epoch;
	bool has_index, has_epoch;
};

static const struct tool_opt unlock_opts[] = {
	{ 'i', "index", "N", "the lease of this index, as accel lease list shows", NULL },
	{ 'e', "epoch", "N", "only if it is still the one of this epoch", NULL },
	{ 'a', "all", NULL, "all leases", NULL },
	{ 'f', "force", NULL, "break it; without it, unlock only says who would lose it", NULL },
	{ 0 },
};

static bool wanted(const struct unlock *u, const struct accel_lease_info *i)
{
	if (i->mine || !i->state)
		return false;
	return u->all || (u->index == i->index && (!u->has_epoch || u->epoch == i->epoch));
}

static int break_one(struct tool *t, const struct unlock *u, const struct accel_lease_info *i)
{
	const char *path = accel_dev_info(t->dev)->path;
	int rc;

	if (!u->force) {
		tool_error(t, path,
			   "lease %u (epoch %u, %u slots) belongs to '%s', ends by itself in %u ms without "
			   "activity (-f breaks it; its jobs are lost)",
			   i->index, i->epoch, i->nslot, i->label, i->remaining_ms);
		return TOOL_BUSY;
	}
	rc = accel_lease_break(t->dev, i->index, i->epoch);
	/* It ended by itself in between: what was wanted. */
	if (rc && rc != -ESTALE)
		return tool_lib_error(t, path, rc);
	printf("%s: lease %u of '%s' %s\n", path, i->index, i->label, rc ? "had ended" : "broken");
	return 0;
}

static int unlock(struct tool *t, const struct unlock *u)
{
	struct accel_lease_info *infos;
	int rc = TOOL_FAILED, found = 0, n = read_leases(t, &infos, &rc);

	if (n < 0)
		return rc;
	rc = 0;
	for (int i = 0; i < n; i++) {
		int rc2;

		if (!wanted(u, &infos[i]))
			continue;
		found++;
		rc2 = break_one(t, u, &infos[i]);
		rc = rc ? rc : rc2;
	}
	free(infos);
	if (!found && !u->all)
		return tool_error(t, accel_dev_info(t->dev)->path,
				  "has no such lease (see accel lease list)");
	return rc ? rc : out_flush(t);
}

static int unlock_option(struct tool *t, struct unlock *u, int c)
{
	switch (c) {
	case 'i':
		u->has_index = true;
		return opts_number(t, "--index", optarg, 0, UINT32_MAX, &u->index);
	case 'e':
		u->has_epoch = true;
		return opts_number(t, "--epoch", optarg, 0, UINT32_MAX, &u->epoch);
	case 'a':
		u->all = true;
		return 0;
	default:
		u->force = true;
		return 0;
	}
}

static int run_unlock(struct tool *t, int argc, char **argv)
{
	struct unlock u = { 0 };
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		rc = unlock_option(t, &u, c);
		if (rc)
			return rc;
	}
	if (c != OPTS_END)
		return t->status;
	if (optind < argc && !t->device)
		t->device = argv[optind++];
	if (optind < argc)
		return tool_usage(t, "'%s': lease unlock takes one device", argv[optind]);
	if (u.all == u.has_index)
		return tool_usage(t, "give either --index or --all");
	rc = tool_dev(t, 0, 0);
	return rc ? rc : unlock(t, &u);
}

static const struct verb verb_lease_unlock = {
	.name = "unlock",
	.summary = "Break somebody's lease",
	.usage = "[options] --index=N|--all [DEVICE]",
	.opts = unlock_opts,
	.notes = "A lock ends by itself with the command that it was taken for, and within its duration\n"
		 "if its holder died. Only its holder can release a lease; unlock is for one that must\n"
		 "not be waited for, and takes it away: its jobs end as lost, its memory is zeroed.\n",
	.flags = VERB_DEVICE,
	.run = run_unlock,
};

static const struct verb *const subs[] = { &verb_lease_list, &verb_lease_lock, &verb_lease_unlock,
					   NULL };

const struct verb verb_lease = {
	.name = "lease",
	.summary = "List, take and break leases of accelerators",
	.usage = "list|lock|unlock [options]",
	.subs = subs,
};
