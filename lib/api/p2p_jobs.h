/* SPDX-License-Identifier: BSD-2-Clause */
/* Compression of a range: what its two ways share. */
#ifndef ACCEL_API_P2P_JOBS_H
#define ACCEL_API_P2P_JOBS_H

#include "p2p_exec.h"

struct copy_jobs {
	struct accel_dev *dev;
	struct accel_plan *plan;
	uint32_t level;
	bool cancelled;

	/* By peers. */
	struct exec exec;
	struct p2p_piece *src, *dst;	/* where the ranges are on their disks */
	size_t nsrc, ndst, src_at, dst_at;
	uint64_t dst_nbytes;		/* of the destination as the caller has it; 0: a file that may grow */
	uint64_t out_pos;		/* of the next member, in the destination's range */
	uint64_t in_pos, in_len, out_max;	/* of the job under way */
	uint32_t blk;			/* members begin at multiples of it */
	uint8_t *bounce;		/* two blocks */

	/* Through memory. */
	struct accel_stream *stream;
	uint8_t *in, *out;
	size_t out_fill;
	bool finished;
};

/* p2p_stream.c. 1: done, 0: not yet, -errno. */
int copy_stream_start(struct accel_copy *c);
int copy_stream_step(struct accel_copy *c);

#endif
