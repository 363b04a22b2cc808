/* SPDX-License-Identifier: BSD-2-Clause */
/* accel p2p copy: a range of a device or file to another. */
#include "p2p.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_NO_FALLBACK = OPT_LONG, OPT_MEMORY, OPT_SYNC, OPT_PROVIDER, OPT_CHUNK, OPT_DEPTH, OPT_TIMEOUT };

static const struct tool_opt opts[] = {
	{ OPT_NO_FALLBACK, "no-fallback", NULL, "fail rather than go through memory", NULL },
	{ OPT_MEMORY, "memory", NULL, "go through memory", NULL },
	{ OPT_PROVIDER, "provider", "DEVICE", "only through the memory of this controller (nvme0, or a PCI address)", NULL },
	{ OPT_CHUNK, "chunk", "SIZE", "bytes of one transfer (2 MiB)", NULL },
	{ OPT_DEPTH, "depth", "N", "transfers at a time (8)", NULL },
	{ OPT_TIMEOUT, "timeout", "SECONDS", "give up after so long (never)", NULL },
	{ OPT_SYNC, "synchronous", NULL, "wait until the destination has it for good", NULL },
	{ 'f', "force", NULL, "write to a device that is in use (mounted, or part of another)", NULL },
	{ 'q', "quiet", NULL, "no progress, no summary, no warning", NULL },
	{ 0 },
};

static int set_option(struct tool *t, int c, struct accel_copy_opts *o, bool *force)
{
	uint64_t v = 0;
	int rc = 0;

	if (c == OPT_NO_FALLBACK)
		o->flags |= ACCEL_COPY_NO_FALLBACK;
	else if (c == OPT_MEMORY)
		o->flags |= ACCEL_COPY_MEMORY;
	else if (c == OPT_SYNC)
		o->flags |= ACCEL_COPY_SYNC;
	else if (c == OPT_PROVIDER)
		o->provider = strncmp(optarg, "/dev/", 5) ? optarg : optarg + 5;
	else if (c == 'f')
		*force = true;
	else if (c == 'q')
		t->quiet = true;
	else if (c == OPT_CHUNK && !(rc = opts_number(t, "--chunk", optarg, 4096, 16 << 20, &v)))
		o->chunk_nbytes = (uint32_t)v;
	else if (c == OPT_DEPTH && !(rc = opts_number(t, "--depth", optarg, 1, 64, &v)))
		o->depth = (uint32_t)v;
	else if (c == OPT_TIMEOUT && !(rc = opts_number(t, "--timeout", optarg, 1, 2000000, &v)))
		o->timeout_ms = (int32_t)v * 1000;
	if (!rc && o->chunk_nbytes % 4096)
		rc = tool_usage(t, "--chunk: '%s' is no multiple of 4096", optarg);
	if (!rc && o->flags & ACCEL_COPY_MEMORY && o->flags & ACCEL_COPY_NO_FALLBACK)
		rc = tool_usage(t, "--memory and --no-fallback exclude each other");
	return rc;
}

static void text(FILE *f, struct json_object *o)
{
	static const struct out_column fields[] = {
		{ "bytes", "copied", OUT_BYTES },	      { "bytes_p2p", "through controller memory", OUT_BYTES },
		{ "bytes_memory", "through system memory", OUT_BYTES }, { "provider", "memory of", OUT_TEXT },
		{ "elapsed_ns", "time", OUT_NS },	      { "megabytes", "speed", OUT_RATE },
		{ 0 },
	};

	out_fields(f, o, fields);
}

static int summary(struct tool *t, const struct p2p_operand *src, const struct p2p_operand *dst,
		   const struct accel_copy_info *info)
{
	struct json_object *o = json_object_new_object();
	char way[400];

	if (!info->tier && info->why[0])
		tool_warning(t, NULL, "%s", p2p_way(info, way, sizeof(way)));
	if (t->quiet && !t->json) {
		json_object_put(o);
		return 0;
	}
	out_add_num(o, "schema", 1);
	out_add_str(o, "source", src->own);
	out_add_str(o, "destination", dst->own);
	p2p_add_info(o, info);
	if (!t->json)
		out_add_real(o, "megabytes", info->elapsed_ns ? (double)info->done_nbytes * 1e3 / (double)info->elapsed_ns : 0);
	return out_listing(t, o, text);
}

/* A file that is not there yet is made; what exists is written into, not replaced. */
static int make_file(struct tool *t, const char *name, bool *made)
{
	int fd;

	*made = false;
	if (!access(name, F_OK) || errno != ENOENT || !strncmp(name, "/dev/", 5))
		return 0;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return tool_file_error(t, name, "create", errno);
	close(fd);
	*made = true;
	return 0;
}

static int copy(struct tool *t, const struct p2p_operand *src, const struct p2p_operand *dst,
		const struct accel_copy_opts *o, bool force)
{
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	struct accel_copy *cp;
	bool made = false;
	int rc;

	if (access(src->own, R_OK))
		return tool_file_error(t, src->own, "open", errno);
	rc = force ? 0 : p2p_unused(t, dst->own);
	if (!rc)
		rc = make_file(t, dst->own, &made);
	if (rc)
		return rc;
	rc = accel_copy_start(t->ctx, &src->range, &dst->range, o, &cp, &info);
	if (!rc)
		rc = p2p_finish(t, cp, src->own, &info);
	if (!rc)
		return summary(t, src, dst, &info);
	if (made)
		unlink(dst->own);
	return p2p_failed(t, src->own, dst->own, rc, &info);
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_copy_opts o = ACCEL_INIT(struct accel_copy_opts);
	struct p2p_operand src = { .own = NULL }, dst = { .own = NULL };
	bool force = false;
	int c, rc = 0;

	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		if (!p2p_root(t, c))
			rc = set_option(t, c, &o, &force);
	if (rc || c != OPTS_END)
		return rc ? rc : t->status;
	if (argc - optind != 2)
		return tool_usage(t, "copy takes a source and a destination");
	rc = p2p_operand(t, argv[optind], &src);
	rc = rc ? rc : p2p_operand(t, argv[optind + 1], &dst);
	if (!rc)
		rc = tool_ctx(t) ? copy(t, &src, &dst, &o, force) : TOOL_FAILED;
	p2p_operand_free(&src);
	p2p_operand_free(&dst);
	return rc;
}

const struct verb verb_p2p_copy = {
	.name = "copy",
	.summary = "Copy from device to device",
	.usage = "[options] SOURCE[:OFFSET[:LENGTH]] DESTINATION[:OFFSET]",
	.opts = opts,
	.more_opts = p2p_root_opts,
	.flags = VERB_JSON,
	.notes = "SOURCE and DESTINATION are block devices or files. What is at DESTINATION is overwritten without a\n"
		 "question, but not what is in use. Where devices do not reach each other it goes through memory,\n"
		 "and why is said.\n",
	.run = run,
};
