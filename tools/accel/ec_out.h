/* SPDX-License-Identifier: BSD-2-Clause */
/* Shard files being written: all of them appear, or none does. */
#ifndef ACCEL_EC_OUT_H
#define ACCEL_EC_OUT_H

#include "ec_walk.h"

struct ec_out {
	struct file_out file[EC_SHARDS_MAX];	/* path NULL: this shard is not written */
	char *done[EC_SHARDS_MAX];		/* committed, and new under its name: to take back */
};

/* 0, or TOOL_FAILED after a message. */
int ec_out_create(struct tool *t, struct ec_out *o, unsigned int index, const char *path, unsigned int flags);
/* The block of shard index of a stripe, with its check. */
int ec_out_block(struct tool *t, struct ec_out *o, const struct ec_stripe *s, unsigned int index);
/* Writes the headers, gives all files their names; like: owner, mode and times, or NULL. */
int ec_out_commit(struct tool *t, struct ec_out *o, const struct ec_head *head, const struct stat *like);
/* Removes what is not committed; harmless afterwards. */
void ec_out_abort(struct ec_out *o);

#endif
