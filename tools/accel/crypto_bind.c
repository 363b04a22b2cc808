/* SPDX-License-Identifier: BSD-2-Clause */
/* accel crypto bind and unbind. */
#include "crypto.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { OPT_NAME = OPT_LONG, OPT_WAIT, OPT_FABRICS, OPT_NUMBERS };

/* Options that are an attribute's number, with OPT_NUMBERS + i. */
static const char *const numbers[] = {
	"threshold-min", "threshold-max", "priority", "timeout", "slots", "queue-depth", "level", "window-bits",
};

static const char *const verify_words[] = { "none", "device", "cpu", NULL };

struct bind {
	struct target g;
	struct json_object *attr;	/* what was given */
	const char *name;
	uint64_t wait;
};

static const struct tool_opt bind_opts[] = {
	{ OPT_NAME, "name", "NAME", "of the binding (default: from the device's)", NULL },
	{ OPT_NUMBERS + 0, "threshold-min", "BYTES", "requests with less input are done in software (4k)", NULL },
	{ OPT_NUMBERS + 1, "threshold-max", "BYTES", "and those with more (128k)", NULL },
	{ 'v', "verify", "none|device|cpu", "who checks each compression (device)", NULL },
	{ OPT_NUMBERS + 2, "priority", "N", "of the algorithms among others of the same name (50; behind a fabric 0)", NULL },
	{ OPT_NUMBERS + 3, "timeout", "MS", "after so long a request is done in software (1000)", NULL },
	{ OPT_NUMBERS + 4, "slots", "N", "jobs on the accelerator at once (32)", NULL },
	{ OPT_NUMBERS + 5, "queue-depth", "N", "requests that wait for a slot (128)", NULL },
	{ OPT_NUMBERS + 6, "level", "1..9", "of compression (1)", NULL },
	{ OPT_NUMBERS + 7, "window-bits", "9..15", "of compression (11: the kernel's own deflate reads no more)", NULL },
	{ OPT_FABRICS, "allow-fabrics", NULL, "also what is asked for while the kernel needs memory (zswap) goes over a network", NULL },
	{ OPT_WAIT, "wait", "SECONDS", "wait so long for a device that is not there yet (0)", NULL },
	{ 0 },
};

/* "threshold-min": threshold_min */
static void attr_of(const char *option, char *buf, size_t n)
{
	snprintf(buf, n, "%s", option);
	for (char *p = buf; *p; p++)
		*p = *p == '-' ? '_' : *p;
}

static int take_number(struct bind *b, const char *option)
{
	const struct tg_attr *a;
	char name[32], shown[32];
	uint64_t value;
	int rc;

	attr_of(option, name, sizeof(name));
	snprintf(shown, sizeof(shown), "--%s", option);
	a = tg_attr(cr_attrs, name);
	rc = opts_number(b->g.t, shown, optarg, a->min, a->max, &value);
	if (!rc)
		out_add_num(b->attr, name, value);
	return rc;
}

static int bind_option(struct bind *b, int c)
{
	int i;

	if (tg_option(&b->g, c))
		return 0;
	switch (c) {
	case OPT_NAME:
		b->name = optarg;
		return tg_good_name(optarg) ? 0 : tool_usage(b->g.t, "--name: '%s': a name has 1 to 48 letters, digits and ._-", optarg);
	case OPT_WAIT:
		return opts_number(b->g.t, "--wait", optarg, 0, 3600, &b->wait);
	case OPT_FABRICS:
		out_add_num(b->attr, "allow_fabrics", 1);
		return 0;
	case 'v':
		i = opts_choice(b->g.t, "--verify", optarg, verify_words);
		if (i >= 0)
			out_add_num(b->attr, "verify", (uint64_t)i);
		return i < 0 ? TOOL_USAGE : 0;
	default:
		return take_number(b, numbers[c - OPT_NUMBERS]);
	}
}

/* ---- The device ---- */

/* In a tree of a test there are no nodes, only files. */
static bool there(struct target *g, const char *device, struct stat *st)
{
	char path[TG_PATH];

	snprintf(path, sizeof(path), "%s%s", g->root, device);
	return !stat(path, st);
}

static bool wait_for(struct bind *b, const char *device, struct stat *st)
{
	uint64_t end = tool_now_ns() + b->wait * 1000000000ull;

	while (!there(&b->g, device, st)) {
		if (tool_now_ns() >= end)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	}
	return true;
}

static int check_device(struct bind *b, const char *device)
{
	struct tool *t = b->g.t;
	struct stat st;

	if (strncmp(device, "/dev/", 5) || strlen(device) > 255 || strstr(device, "/../"))
		return tool_usage(t, "'%s': give the block device of an accelerator, as /dev/nvme0n1 or /dev/accel/by-uuid/...", device);
	if (!wait_for(b, device, &st)) {
		tool_error(t, device, "is not there (accel list shows the accelerators that are)");
		return TOOL_NODEV;
	}
	if (!strncmp(device, "/dev/ng", 7))
		return tool_usage(t, "%s is a generic node: its block device is /dev/nvme%s", device, device + 7);
	if (!*b->g.root && !S_ISBLK(st.st_mode))
		return tool_usage(t, "%s is no block device (accel list shows those of accelerators)", device);
	return 0;
}

/* The last part of the path, as far as names go. */
static void default_name(const char *device, char name[CR_NAME])
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *base = strrchr(device, '/') + 1;
	size_t n = 0;

	for (; *base && n < CR_NAME - 1; base++, n++)
		name[n] = strchr(good, *base) && (n || *base != '.') ? *base : '_';
	name[n] = 0;
}

/* ---- bind ---- */

static int made_by_others(struct target *g, const char *name, const char *device)
{
	tool_error(g->t, name, "is the name of another device's binding (--name gives %s another one; accel crypto unbind %s)", device,
		   name);
	return TOOL_BUSY;
}

/* Another binding has the device already: it is meant. */
static void bound_already(struct bind *b, const char *device, char name[CR_NAME])
{
	struct tg_names names;

	cr_names(&b->g, &names);
	for (size_t i = 0; i < names.n && !b->name; i++)
		if (cr_is_device(&b->g, names.v[i], device))
			snprintf(name, CR_NAME, "%s", names.v[i]);
	tg_list_free(&names);
}

/* Nothing would ever go to the accelerator. */
static int check_thresholds(struct bind *b, const char *dir)
{
	struct json_object *attr = tg_read_attrs(dir, "", cr_attrs, false);
	int64_t min = tg_int(attr, "threshold_min"), max = tg_int(attr, "threshold_max");

	json_object_put(attr);
	return min <= max ? 0 : tool_usage(b->g.t, "--threshold-min %lld is more than --threshold-max %lld: lower the one or raise the other",
					   (long long)min, (long long)max);
}

static int apply(struct bind *b, const char *name, const char *device)
{
	struct target *g = &b->g;
	char dir[TG_PATH], path[TG_PATH];
	bool is_new = !tg_exists(tg_path(g, path, CR_MODULE "/%s/enable", name));
	int rc = 0;

	tg_path(g, dir, CR_MODULE "/%s", name);
	if (is_new) {
		out_add_str(b->attr, "device_path", device);
		rc = tg_mkdir(g, dir);
	} else if (!cr_is_device(g, name, device)) {
		return made_by_others(g, name, device);
	}
	rc = rc ? rc : tg_write_attrs(g, dir, "", cr_attrs, b->attr);
	if (rc == TOOL_BUSY && !is_new)
		tool_warning(g->t, name, "is enabled: accel crypto unbind it first, or change only what may change while it is");
	rc = rc ? rc : check_thresholds(b, dir);
	return rc ? rc : tg_write(g, tg_path(g, path, CR_MODULE "/%s/enable", name), "1");
}

static void tell(struct target *g, const char *name)
{
	struct json_object *o = cr_binding(g, name);

	printf("%s: %s:", name, tg_str(o, "state"));
	for (size_t i = 0; i < tg_len(o, "algorithms"); i++)
		printf(" %s", json_object_get_string(tg_at(o, "algorithms", i)));
	putchar('\n');
	json_object_put(o);
}

static int bind_device(struct bind *b, const char *device)
{
	char name[CR_NAME];
	int rc = check_device(b, device);

	rc = rc ? rc : tg_begin(&b->g, TG_CHANGE);
	if (!rc) {
		if (b->name)
			snprintf(name, sizeof(name), "%s", b->name);
		else
			default_name(device, name);
		bound_already(b, device, name);
		rc = apply(b, name, device);
	}
	rc = tg_end(&b->g, rc);
	if (!rc) {
		tell(&b->g, name);
		rc = out_flush(b->g.t);
	}
	return rc;
}

static int run_bind(struct tool *t, int argc, char **argv)
{
	struct bind b = { .attr = json_object_new_object() };
	int c, rc = 0;

	cr_init(&b.g, t);
	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		rc = bind_option(&b, c);
	if (!rc && c != OPTS_END)
		rc = t->status;
	else if (!rc && optind + 1 != argc)
		rc = tool_usage(t, "bind takes one block device of an accelerator (accel list shows them)");
	else if (!rc)
		rc = bind_device(&b, argv[optind]);
	json_object_put(b.attr);
	return rc;
}

const struct verb verb_crypto_bind = {
	.name = "bind",
	.summary = "Have the kernel's crypto API use an accelerator",
	.usage = "[options] DEVICE",
	.opts = bind_opts,
	.more_opts = tg_common_opts,
	.notes = "DEVICE is the block device of an accelerator, best by a path that stays:\n"
		 "/dev/accel/by-uuid/... . Binding it again changes what may change.\n",
	.run = run_bind,
};

/* ---- unbind ---- */

static int unbind_one(struct target *g, const char *name)
{
	char path[TG_PATH];
	int rc = tg_write(g, tg_path(g, path, CR_MODULE "/%s/enable", name), "0");

	return rc ? rc : tg_rmdir(g, tg_path(g, path, CR_MODULE "/%s", name));
}

static int unbind_all(struct target *g)
{
	struct tg_names names;
	int rc = 0;

	cr_names(g, &names);
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = unbind_one(g, names.v[i]);
	tg_list_free(&names);
	return rc;
}

static const struct tool_opt unbind_opts[] = {
	{ 'a', "all", NULL, "all bindings", NULL },
	{ 0 },
};

static int run_unbind(struct tool *t, int argc, char **argv)
{
	struct target g;
	char name[CR_NAME];
	bool all = false;
	int c, rc;

	cr_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		if (!tg_option(&g, c))
			all = true;
	if (c != OPTS_END)
		return t->status;
	if (optind + !all != argc)
		return tool_usage(t, "unbind takes the name or the device of one binding, or --all (accel crypto list)");
	rc = tg_begin(&g, TG_LOCK);
	if (!rc && all)
		rc = unbind_all(&g);
	else if (!rc)
		rc = cr_find(&g, argv[optind], name) ? unbind_one(&g, name) : TOOL_NODEV;
	/* A binding that is half gone is of no use: nothing comes back. */
	tg_keep(&g);
	return tg_end(&g, rc);
}

const struct verb verb_crypto_unbind = {
	.name = "unbind",
	.summary = "Take an accelerator from the crypto API",
	.usage = "NAME|DEVICE\n--all",
	.opts = unbind_opts,
	.more_opts = tg_common_opts,
	.notes = "Requests under way are done in software; whoever uses the algorithms notices nothing.\n",
	.run = run_unbind,
};
