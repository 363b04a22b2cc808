/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs of accel p2p, and compress --p2p, share. */
#ifndef ACCEL_TOOL_P2P_H
#define ACCEL_TOOL_P2P_H

#include "tool.h"

/* NAME[:OFFSET[:LENGTH]] of the command line. */
struct p2p_operand {
	struct accel_range range;	/* name is own */
	char *own;
};

/* 0, or TOOL_USAGE after a message. Free with p2p_operand_free(). */
int p2p_operand(struct tool *t, const char *text, struct p2p_operand *op);
void p2p_operand_free(struct p2p_operand *op);

/*
 * Whether a device may be written to: 0 if nobody has it for himself (a file system, swap, md, dm), if it is a file, or if that
 * cannot be told; else TOOL_FAILED after a message.
 */
int p2p_unused(struct tool *t, const char *name);

/* --root alone of the options that say where to look. */
extern const struct tool_opt p2p_root_opts[];
bool p2p_root(struct tool *t, int c);

/* All controllers; NULL after a message, *n 0 is no failure. The caller frees them. */
struct accel_p2p_ctrl *p2p_ctrls(struct tool *t, unsigned int *n);
const char *p2p_answer(uint32_t answer);
const char *p2p_reason(uint32_t reason);
/* "through the memory of 0000:03:00.0 (kernel)" or "through memory: WHY". Returns buf. */
const char *p2p_way(const struct accel_copy_info *info, char *buf, size_t nbytes);
/* A copy did not start, or failed. An exit code, after a message. */
int p2p_failed(struct tool *t, const char *src, const char *dst, int rc, const struct accel_copy_info *info);
/* Waits for the end with progress; SIGINT and SIGTERM cancel. 0 or -errno. */
int p2p_finish(struct tool *t, struct accel_copy *copy, const char *what, struct accel_copy_info *info);
/* Copies nbytes, whole blocks of both, by direct I/O as dd does it. 0 or -errno. */
int p2p_dd(const struct p2p_operand *src, const struct p2p_operand *dst, uint64_t nbytes);
/* The numbers of a finished copy. */
void p2p_add_info(struct json_object *o, const struct accel_copy_info *info);

extern const struct verb verb_p2p_list, verb_p2p_why, verb_p2p_copy, verb_p2p_bench;

#endif
