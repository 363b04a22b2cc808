/* SPDX-License-Identifier: BSD-2-Clause */
/* The device of a run. */
#include "tool.h"
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

struct accel_ctx *tool_ctx(struct tool *t)
{
	int rc = t->ctx ? 0 : accel_ctx_new(NULL, &t->ctx);

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
	if (rc == -EACCES)
		tool_warning(t, NULL,
			     "hardware accelerators are there but may not be opened; using software");
	rc = accel_dev_open(t->ctx, "soft:", &t->dev);
	if (rc)
		return tool_lib_error(t, "soft:", rc);
	return 0;
}

/* Why a device did not open. A path that is not there, or may not be used, is told as that first of all. */
static int open_error(struct tool *t, int rc)
{
	if (rc == -EINVAL)
		return tool_usage(t, "'%s' is no device name", t->device);
	if (rc == -ENOTSUP && *t->device == '/' && access(t->device, R_OK | W_OK))
		rc = -errno;
	if (rc == -ENOTSUP) {
		tool_error(t, t->device, "this version has no way to it (see what there is: accel list)");
		return TOOL_NODEV;
	}
	rc = tool_lib_error(t, t->device, rc);
	return rc == TOOL_FAILED ? TOOL_NODEV : rc;
}

static int open_named(struct tool *t)
{
	int rc = accel_dev_open(t->ctx, t->device, &t->dev);

	if (rc)
		return open_error(t, rc);
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

int tool_one_dev(struct tool *t, int argc, char **argv, const char *verb)
{
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0)
		;
	if (c != OPTS_END)
		return t->status;
	if (optind < argc && !t->device)
		t->device = argv[optind++];
	if (optind < argc)
		return tool_usage(t, "'%s': %s takes one device", argv[optind], verb);
	return tool_dev(t, 0, 0);
}

const char *tool_dev_label(const struct tool *t, char *buf, size_t nbytes)
{
	const struct accel_dev_info *info = t->dev ? accel_dev_info(t->dev) : NULL;

	if (!info)
		return "none";
	snprintf(buf, nbytes, "%s (%s)", info->path, info->name);
	return buf;
}
