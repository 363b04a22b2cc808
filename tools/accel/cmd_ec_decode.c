/* SPDX-License-Identifier: BSD-2-Clause */
/* accel ec decode: any k good shards become the file again. */
#include "ec_set.h"
#include <string.h>
#include <unistd.h>

static const struct tool_opt opts[] = {
	{ 'o', "output", "FILE", "output file, - for standard output (default: NAME)", NULL },
	{ 'c', "stdout", NULL, "write to standard output", NULL },
	{ 'f', "force", NULL, "replace a file that exists", NULL },
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL },
	{ 0 },
};

static int sink(struct ec_walk *w, struct ec_stripe *s)
{
	uint64_t from = s->index * w->head.k * w->head.block_nbytes, n = (uint64_t)w->head.k * s->len;

	if (n > w->head.file_nbytes - from)
		n = w->head.file_nbytes - from;
	return file_write(w->t, w->arg, s->mem, n);
}

static int walk(struct tool *t, struct ec_set *set, struct file_out *out)
{
	struct ec_walk w = { .t = t, .kind = EC_RESTORE, .head = set->head, .shard = set->shard, .sink = sink,
			     .arg = out };
	int rc;

	memset(w.want, true, set->head.k);
	progress_start(&w.progress, t, set->head.name, set->head.file_nbytes);
	rc = ec_walk(&w);
	progress_end(&w.progress);
	return rc;
}

static int decode(struct tool *t, struct ec_set *set, const char *path, unsigned int flags)
{
	struct file_out out;
	struct stat like;
	int rc;

	if (set->nfound < set->head.k) {
		ec_set_warn(t, set);
		return tool_error(t, set->base, "%u shards are there, %u of %u are needed", set->nfound,
				  set->head.k, ec_nshard(&set->head));
	}
	rc = tool_dev(t, ACCEL_OP_EC_DECODE, ACCEL_RS_CAUCHY);
	if (rc)
		return rc;
	file_signals();
	rc = file_create(t, path ? path : set->base, flags, &out);
	if (rc)
		return rc;
	rc = walk(t, set, &out);
	ec_set_warn(t, set);
	if (!rc && !fstat(out.fd, &like)) {
		like.st_mode = S_IFREG | (set->head.mode & 0777);
		like.st_mtim = (struct timespec){ .tv_sec = set->head.mtime };
		rc = file_commit(t, &out, &like, 0);
	}
	file_abort(&out);
	return rc;
}

static int run(struct tool *t, int argc, char **argv)
{
	const char *path = NULL;
	unsigned int flags = OUT_BINARY;
	struct ec_set set;
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (c == 'o')
			path = optarg;
		else if (c == 'c')
			path = "-";
		else if (c == 'f')
			flags |= OUT_FORCE;
		else if (c == 'q')
			t->quiet = true;
	}
	if (c == OPTS_STOP)
		return t->status;
	if (optind == argc)
		return tool_usage(t, "the name of the shards is needed");
	rc = ec_set_open(t, &set, argv + optind, argc - optind);
	if (rc)
		return rc;
	rc = decode(t, &set, path, flags);
	ec_set_close(&set);
	return rc;
}

const struct verb verb_ec_decode = {
	.name = "decode",
	.summary = "Restore a file from any K good shards",
	.usage = "[-o FILE] [-f] NAME|SHARD...",
	.opts = opts,
	.flags = VERB_DEVICE,
	.notes = "Missing and damaged shards are reported; the exit status is 0 if the file could be\n"
		 "restored.\n",
	.run = run,
};
