// SPDX-License-Identifier: BSD-2-Clause
/* Decoders over lists: pieces go in, pieces come out, and how that may end. */
#include "compress.h"

/* Room of one call: what comes out is summed while it is in the cache. */
#define OUT_PIECE	ENGINE_STEP(256u << 10)

struct piece {
	const uint8_t *p;
	size_t n, off;
};

/* One call. *stuck: nothing went in or out. */
static enum dec_state dec_once(struct dec_run *r, struct piece *in, dec_step step, void *ctx, int *stuck)
{
	size_t took = in->n - in->off, room, made;
	enum dec_state state;
	uint8_t probe;
	void *out;

	room = made = sink_room(&r->sink, &out, OUT_PIECE);
	if (!room) {
		/* Full: an end without output may still come, and a single byte proves that more does. */
		out = &probe;
		made = 1;
	}
	state = step(ctx, in->p + in->off, &took, out, &made);
	in->off += took;
	r->used += took;
	*stuck = !took && !made;
	if (!room)
		return made ? DEC_FULL : state;
	sink_took(&r->sink, made);
	r->made += made;
	r->check = wrap_check(r->check_alg, r->check, out, made);
	return state;
}

enum dec_state dec_run(const struct job *job, struct dec_run *r, dec_step step, void *ctx)
{
	struct piece in = { (const uint8_t *)"", 0, 0 };
	enum dec_state state;
	const void *p;
	int stuck = 0;

	r->check = wrap_check_init(r->check_alg);
	for (;;) {
		if (in.off == in.n && r->src.left) {
			if (engine_stopped(job))
				return DEC_STOPPED;
			in.n = src_next(&r->src, &p, COMP_PIECE);
			in.p = p;
			in.off = 0;
		}
		state = dec_once(r, &in, step, ctx, &stuck);
		if (state != DEC_MORE)
			return state;
		if (!stuck || (in.off == in.n && r->src.left))
			continue;
		return in.off == in.n ? DEC_MORE : DEC_BAD;
	}
}

void dec_fail(struct job *job, unsigned int index, enum dec_state state)
{
	uint32_t code = NVME_ACCEL_BAD_INPUT_DATA;

	if (state == DEC_STOPPED)
		code = NVME_ACCEL_ABORTED;
	else if (state == DEC_NO_MEMORY)
		code = NVME_ACCEL_NO_RESOURCES;
	engine_fail(job, index, code);
}

int dec_end_good(const struct job_stage *stage, unsigned int index, struct job *job, uint64_t in_used)
{
	if (in_used == job->in_len || (in_used < job->in_len && stage->flags & NVME_ACCEL_STAGE_TRAILING))
		return 1;
	engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
	return 0;
}
