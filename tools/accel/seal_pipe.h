/* SPDX-License-Identifier: BSD-2-Clause */
/* Records through the device, in order, in constant memory. */
#ifndef ACCEL_SEAL_PIPE_H
#define ACCEL_SEAL_PIPE_H

#include "jobq.h"
#include "seal_format.h"

struct seal_record;

struct seal_pipe {
	struct tool *t;
	bool sealing;			/* else opening */
	const struct seal_keys *keys;
	const uint8_t *head;		/* SEAL_HEAD_NBYTES: additional data of every record */
	uint32_t record_nbytes;
	struct file_in *in;
	struct file_out *out;
	struct progress *progress;
	/* The pipe's own. */
	struct jobq q;
	struct accel_plan *plan;
	struct seal_record *ring;
	unsigned int nring;
	bool at_end;
};

/* 0, or an exit code after a message. What was written before a record failed was authentic. */
int seal_pipe_run(struct seal_pipe *p);

#endif
