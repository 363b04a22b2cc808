/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of decompression share. */
#ifndef ACCEL_API_STREAM_DEC_H
#define ACCEL_API_STREAM_DEC_H

#include "stream_priv.h"

/*
 * Rings as large as keeping the engines busy takes: memory that is not touched costs nothing, and the first
 * touch of a page costs more than decompressing into it. The least is what a job can take and give.
 */
#define DEC_IN_MIN (9u << 19)
#define DEC_IN_MAX (12u << 20)
#define DEC_OUT_MIN (10u << 20)
#define DEC_SMALL (1u << 20)		/* a file up to this size is given to a job whole */
#define DEC_STEP (256u << 10)		/* output of one step in the process: stays in the cache */

enum dec_state {
	DEC_MEMBER,			/* at the start of a member or frame */
	DEC_SKIP,			/* in a frame that holds nothing for us */
	DEC_ONE_JOB,			/* a job has a member whose end only its result tells */
	DEC_CHUNKS,			/* in a member of ours */
	DEC_PROCESS,			/* in a member that is decoded in the process */
	DEC_TRAILER,			/* behind such a one that began as a member of ours */
	DEC_TAIL,			/* behind the last member */
};

struct dec {
	enum dec_state state;
	bool can_member, can_chunk;	/* the device can */
	bool sum_job;			/* the CRC-32 of a chunk comes with its job */
	bool force;			/* the member here is to be decoded in the process */
	bool noted;			/* name and time of the first member */
	size_t max_in, max_out;		/* of a job */
	uint64_t retry_at;		/* not worth looking again before the input reaches this */
	uint64_t skip;			/* bytes still to be skipped */
	uint32_t why;			/* status of the job that could not do it */

	/* A member of ours. */
	size_t chunk;
	uint64_t scan;			/* no chunk end before this */
	unsigned int tries;		/* how often the chunk at its turn was cut too short */
	uint32_t crc;			/* of what is settled */
	uint64_t len;
	uint8_t *window;		/* the last bytes settled, for going on in the process */
	size_t window_len;

	/* In the process. */
	struct engine_stream *es;	/* whole members */
	struct engine_stream *mid;	/* raw deflate from a chunk's start on */
	struct engine_stream *mid_sum;
	bool fail;			/* the piece before was the last good one */
	uint32_t fail_code;
};

/* A member has ended at s->pos. */
void dec_member_done(struct accel_stream *s);
/* The member here cannot be jobs; status: why not. All must be settled. */
int dec_process(struct accel_stream *s, uint32_t status);
int dec_truncated(struct accel_stream *s);

/* ---- stream_member.c ---- */
int dec_member_feed(struct accel_stream *s);
int dec_member_ended(struct accel_stream *s, struct piece *p);

/* ---- stream_chunks.c ---- */
int dec_chunks_start(struct accel_stream *s, size_t chunk, size_t header);
int dec_chunks_feed(struct accel_stream *s);
int dec_chunk_ended(struct accel_stream *s, struct piece *p);
int dec_trailer_feed(struct accel_stream *s);

/* ---- stream_frames.c: how far a frame of LZ4 or zstd reaches, from its headers alone ---- */
enum frame_kind {
	FRAME_DATA,			/* nbytes and out_max are known */
	FRAME_SKIP,			/* nbytes without data */
	FRAME_MORE,			/* the input ends before its end */
	FRAME_LARGE,			/* larger than limit */
	FRAME_ODD,			/* not of a kind that can be walked */
	FRAME_NOT,			/* no such frame */
};

struct frame {
	uint64_t nbytes;
	uint64_t out_max;		/* bytes that it decompresses to, at most */
};

enum frame_kind frame_walk(uint16_t alg, const uint8_t *in, size_t n, uint64_t out_limit, struct frame *f);

#endif
