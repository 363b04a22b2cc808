/* SPDX-License-Identifier: BSD-2-Clause */
/* The device of a run. */
#include "tool.h"
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { OPT_DISCOVER = OPT_LONG + 64, OPT_ROOT };

const struct tool_opt where_opts[] = {
	{ OPT_DISCOVER, "discover", "HOST[:PORT]", "also the accelerators that the NVMe/TCP discovery controller there "
	  "tells of (port 4420)", NULL },
	{ OPT_ROOT, "root", "DIR", "look for nodes in DIR/sys and DIR/dev instead of /sys and /dev", NULL },
	{ 0 },
};

bool tool_where(struct tool *t, int c)
{
	if (c == OPT_DISCOVER)
		t->discover = optarg;
	else if (c == OPT_ROOT)
		t->root = optarg;
	return c == OPT_DISCOVER || c == OPT_ROOT;
}

struct accel_ctx *tool_ctx(struct tool *t)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	int rc;

	opts.discover = t->discover;
	opts.root = t->root;
	rc = t->ctx ? 0 : accel_ctx_new(&opts, &t->ctx);
	if (rc) {
		t->ctx = NULL;
		tool_lib_error(t, NULL, rc);
	}
	return t->ctx;
}

/* Looks for hardware with an instance that sees nothing else: opening every software device costs time. */
static int find_hardware(struct tool *t, uint16_t op, uint16_t alg)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_filter filter = ACCEL_INIT(struct accel_filter);
	struct accel_ctx *ctx;
	int rc;

	opts.flags = ACCEL_CTX_NO_SOFT;
	filter.flags = ACCEL_FILTER_HARDWARE;
	filter.op = op;
	filter.alg = op ? alg : 0;
	rc = accel_ctx_new(&opts, &ctx);
	if (rc)
		return rc;
	/* The device holds the instance. */
	rc = accel_find(ctx, &filter, &t->dev);
	accel_ctx_unref(ctx);
	if (rc)
		t->dev = NULL;
	return rc;
}

/* The best hardware for the operation, else the software accelerator. */
static int open_best(struct tool *t, uint16_t op, uint16_t alg)
{
	int rc = t->software ? -ENODEV : find_hardware(t, op, alg);

	if (!rc)
		return 0;
	if (t->hardware)
		return tool_lib_error(t, "no hardware accelerator", rc);
	/* What may not be opened may as well be ordinary disks; the links are made for accelerators. */
	if (rc == -EACCES && !access("/dev/accel/by-uuid", F_OK))
		tool_warning(t, NULL,
			     "accelerators are there but may not be opened; using software (join the group accel)");
	rc = accel_dev_open(t->ctx, "soft:", &t->dev);
	if (rc)
		return tool_lib_error(t, "soft:", rc);
	return 0;
}

/* Why a device did not open; said: how often the library has said something of it. */
static int open_error(struct tool *t, int rc, unsigned int said)
{
	if (rc == -EINVAL) {
		if (!said)
			tool_error(t, NULL, "'%s' is no device name (see accel(1), DEVICES)", t->device);
		return TOOL_USAGE;
	}
	if (rc == -ENOTSUP) {
		tool_error(t, t->device, "the kernel lacks what such a node needs (try the block device, /dev/nvmeXnY)");
		return TOOL_NODEV;
	}
	rc = tool_lib_failed(t, t->device, rc, said);
	return rc == TOOL_FAILED ? TOOL_NODEV : rc;
}

struct heard {
	const struct tool *t;
	unsigned int said;
};

/* The library knows best what is wrong with a name, or with what answers there. */
static void hear(void *arg, enum accel_log_level level, const char *message)
{
	struct heard *h = arg;

	/* A warning is no reason. */
	h->said += level == ACCEL_LOG_ERROR;
	tool_error(h->t, NULL, "%s", message);
}

static int open_named(struct tool *t)
{
	struct heard heard = { t, 0 };
	int rc;

	/* Names that are searched for pass by devices that are nobody's business. */
	accel_ctx_set_log(t->ctx, hear, &heard, strncmp(t->device, "tcp://", 6) ? ACCEL_LOG_ERROR : ACCEL_LOG_WARNING);
	rc = accel_dev_open(t->ctx, t->device, &t->dev);
	accel_ctx_set_log(t->ctx, NULL, NULL, ACCEL_LOG_ERROR);
	if (rc)
		return open_error(t, rc, heard.said);
	if (t->hardware && accel_dev_info(t->dev)->software) {
		tool_error(t, t->device, "is not hardware, as --hardware insists");
		return TOOL_NODEV;
	}
	if (t->software && !accel_dev_info(t->dev)->software) {
		tool_error(t, t->device, "is not software, as --software insists");
		return TOOL_NODEV;
	}
	return 0;
}

int tool_dev(struct tool *t, uint16_t op, uint16_t alg)
{
	struct accel_caps caps;
	int rc;

	if (!t->dev) {
		if (!tool_ctx(t))
			return TOOL_FAILED;
		rc = t->device ? open_named(t) : open_best(t, op, alg);
		if (rc) {
			accel_dev_close(t->dev);
			t->dev = NULL;
			return rc;
		}
	}
	if (!op || !accel_dev_caps(t->dev, op, alg, &caps))
		return 0;
	tool_error(t, accel_dev_info(t->dev)->path, "has no %s%s%s (see accel info)", accel_op_name(op),
		   alg ? " " : "", alg ? accel_alg_name(op, alg) : "");
	return TOOL_NODEV;
}

bool tool_one_name(struct tool *t, int argc, char **argv, const char *verb, int *rc)
{
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0)
		tool_where(t, c);
	*rc = t->status;
	if (c != OPTS_END)
		return false;
	if (optind < argc && !t->device)
		t->device = argv[optind++];
	*rc = optind < argc ? tool_usage(t, "'%s': %s takes one device", argv[optind], verb) : 0;
	return optind >= argc;
}

int tool_one_dev(struct tool *t, int argc, char **argv, const char *verb)
{
	int rc;

	return tool_one_name(t, argc, argv, verb, &rc) ? tool_dev(t, 0, 0) : rc;
}

const char *tool_dev_label(const struct tool *t, char *buf, size_t nbytes)
{
	const struct accel_dev_info *info = t->dev ? accel_dev_info(t->dev) : NULL;

	if (!info)
		return "none";
	snprintf(buf, nbytes, "%s (%s)", info->path, info->name);
	return buf;
}
