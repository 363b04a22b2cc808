/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target create, add, remove, set, delete. */
#include "target.h"
#include "target_opts.h"
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SERIAL = OPT_LONG, OPT_MODEL, OPT_DEPTH, OPT_QUEUES };

/* ---- create ---- */

struct create {
	struct target g;
	struct tg_export e;
	struct json_object *doc, *ctrl, *attr;
};

static int ctrl_attr(struct create *cr, const char *option, const char *name)
{
	const struct tg_attr *a = tg_attr(tg_ctrl_attrs, name);
	struct json_object *v = json_object_new_string(optarg);
	char text[TG_VALUE];
	bool good = tg_value(a, v, text);

	json_object_put(v);
	if (!good)
		return tool_usage(cr->g.t, "%s: %s", option, text);
	out_add_str(cr->attr, name, text);
	return 0;
}

static int create_option(struct create *cr, int c)
{
	int rc;

	switch (c) {
	case OPT_SERIAL:
		return ctrl_attr(cr, "--serial", "serial");
	case OPT_MODEL:
		return ctrl_attr(cr, "--model", "model");
	case OPT_DEPTH:
		return ctrl_attr(cr, "--queue-depth", "queue_depth");
	case OPT_QUEUES:
		return ctrl_attr(cr, "--queues", "nr_queues");
	default:
		break;
	}
	rc = tg_option(&cr->g, c) ? 0 : tg_ns_option(&cr->g, c, cr->ctrl);
	return rc < 0 ? tg_export_option(&cr->g, c, &cr->e) : rc;
}

/* The controller first: it makes its name itself if none was given. */
static int export_too(struct create *cr, const char *name)
{
	char path[TG_PATH], nqn[TG_VALUE];
	int rc = tg_need_nvmet(&cr->g, cr->e.trtype);

	if (!rc && tg_read(tg_path(&cr->g, path, TG_MODULE "/%s/subsysnqn", name), nqn, sizeof(nqn)) <= 0)
		rc = tool_error(cr->g.t, name, "tells no NQN");
	/* --nqn is the controller's; an export to this machine has one of its own. */
	cr->e.nqn = NULL;
	rc = rc ? rc : tg_export_doc(&cr->g, &cr->e, cr->doc, cr->ctrl, nqn);
	rc = rc ? rc : tg_check(&cr->g, "options", cr->doc);
	return rc ? rc : tg_apply(&cr->g, cr->doc);
}

static int create(struct create *cr, const char *name)
{
	struct target *g = &cr->g;
	bool export = cr->e.trtype;
	char path[TG_PATH], dev[80];
	int rc = tg_begin(g, TG_CHANGE);

	if (!rc && tg_exists(tg_path(g, path, TG_MODULE "/%s", name)))
		rc = tool_error(g->t, name, "there is such a controller (accel target add gives it another namespace, delete takes it "
				"away)");
	rc = rc ? rc : tg_ns_finish(g, cr->ctrl, NULL);
	rc = rc ? rc : tg_check(g, "options", cr->doc);
	rc = rc ? rc : tg_apply(g, cr->doc);
	rc = tg_end(g, rc || !export ? rc : export_too(cr, name));
	if (rc)
		return rc;
	if (tg_ctrl_device(g, name, dev, sizeof(dev)))
		printf("%s: %s\n", name, dev);
	tg_print_connect(cr->doc);
	return out_flush(g->t);
}

static const struct tool_opt create_opts[] = {
	TG_NS_OPTS,
	{ OPT_SERIAL, "serial", "TEXT", "serial number (default: derived from the NQN)", NULL },
	{ OPT_MODEL, "model", "TEXT", "model number", NULL },
	{ OPT_DEPTH, "queue-depth", "N", "commands in a queue (128)", NULL },
	{ OPT_QUEUES, "queues", "N", "queues (0: one for each processor)", NULL },
	TG_EXPORT_OPTS,
	{ 0 },
};

static int run_create(struct tool *t, int argc, char **argv)
{
	struct create cr = { .doc = json_object_new_object(), .ctrl = json_object_new_object(), .attr = json_object_new_object() };
	int c, rc = 0;

	tg_init(&cr.g, t);
	json_object_object_add(cr.ctrl, "attr", cr.attr);
	out_add_num(cr.ctrl, "enable", 1);
	json_object_array_add(tg_array(cr.doc, TG_SECTION), cr.ctrl);
	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		rc = create_option(&cr, c);
	if (!rc && c != OPTS_END) {
		rc = t->status;
		goto out;
	}
	if (!rc && optind + 1 != argc)
		rc = tool_usage(t, "create takes one name");
	if (!rc && !tg_good_name(argv[optind]))
		rc = tool_usage(t, "'%s': a name has 1 to 48 letters, digits and ._-, and no dot first; it is not version or features", argv[optind]);
	if (!rc && !tg_len(cr.ctrl, "namespaces"))
		rc = tool_usage(t, "what should be in it? --engine=TYPE, --device=/dev/nvmeXnY");
	if (!rc && (cr.e.trtype || cr.e.hosts || cr.e.any_host))
		rc = tg_export_check(&cr.g, &cr.e);
	if (!rc) {
		out_add_str(cr.ctrl, "name", argv[optind]);
		if (cr.e.nqn)
			out_add_str(cr.attr, "subsysnqn", cr.e.nqn);
		rc = create(&cr, argv[optind]);
	}
out:
	json_object_put(cr.doc);
	json_object_put(cr.e.hosts);
	return rc;
}

const struct verb verb_target_create = {
	.name = "create",
	.summary = "Make a virtual controller, and export it if it is said over what",
	.usage = "NAME --engine=TYPE|--device=/dev/nvmeXnY... [options]\n"
		 "NAME --engine=TYPE|--device=/dev/nvmeXnY... --tcp=ADDRESS --host=NQN [options]",
	.opts = create_opts,
	.more_opts = tg_common_opts,
	.notes = "Prints its device, and the command with which hosts connect if it is exported. A failure\n"
		 "leaves nothing behind. accel target save keeps it over a reboot.\n",
	.run = run_create,
};

/* ---- add ---- */

static int add(struct target *g, struct json_object *doc, struct json_object *ctrl, const char *name)
{
	struct json_object *now;
	int rc = tg_begin(g, TG_CHANGE);

	rc = rc ? rc : tg_ctrl_exists(g, name);
	if (!rc) {
		now = tg_model_ctrl(g, name);
		rc = tg_ns_finish(g, ctrl, now);
		json_object_put(now);
	}
	rc = rc ? rc : tg_check(g, "options", doc);
	if (!rc && g->force)
		rc = tg_resume(g, name, tg_pause(g, name) ? TOOL_FAILED : tg_apply(g, doc));
	else if (!rc)
		rc = tg_apply(g, doc);
	rc = tg_end(g, rc);
	for (size_t i = 0; i < tg_len(ctrl, "namespaces") && !rc; i++)
		printf("%s/%s\n", name, tg_str(tg_at(ctrl, "namespaces", i), "nsid"));
	return rc ? rc : out_flush(g->t);
}

static const struct tool_opt add_opts[] = {
	TG_NS_OPTS,
	{ 'f', "force", NULL, "disable the controller for a moment: whoever uses it loses it", NULL },
	{ 0 },
};

static int run_add(struct tool *t, int argc, char **argv)
{
	struct json_object *doc = json_object_new_object(), *ctrl = json_object_new_object();
	struct target g;
	int c, rc = 0;

	tg_init(&g, t);
	json_object_array_add(tg_array(doc, TG_SECTION), ctrl);
	while (!rc && (c = opts_next(t, argc, argv)) >= 0) {
		g.force |= c == 'f';
		rc = c == 'f' || tg_option(&g, c) ? 0 : tg_ns_option(&g, c, ctrl);
	}
	if (!rc && c != OPTS_END) {
		json_object_put(doc);
		return t->status;
	}
	if (!rc && optind + 1 != argc)
		rc = tool_usage(t, "add takes the name of one controller");
	if (!rc && !tg_len(ctrl, "namespaces"))
		rc = tool_usage(t, "what should be added? --engine=TYPE, --device=/dev/nvmeXnY");
	if (!rc) {
		out_add_str(ctrl, "name", argv[optind]);
		rc = add(&g, doc, ctrl, argv[optind]);
	}
	json_object_put(doc);
	return rc;
}

const struct verb verb_target_add = {
	.name = "add",
	.summary = "Add namespaces to a virtual controller",
	.usage = "[--force] NAME --engine=TYPE|--device=/dev/nvmeXnY...",
	.opts = add_opts,
	.more_opts = tg_common_opts,
	.notes = "Local hosts see a new namespace at once; remote ones after nvme ns-rescan or at their\n"
		 "next connection. One that takes smaller commands than the controller has promised needs\n"
		 "--force, or a place in create.\n",
	.run = run_add,
};
