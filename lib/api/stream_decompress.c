/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decompression: which way a member or frame goes (stream_member.c decides), decoding in the process where
 * no job can do it, and what lies behind the last member.
 */
#include <stdlib.h>
#include "stream_dec.h"

int dec_truncated(struct accel_stream *s)
{
	return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA, "the input ends in the middle of the data");
}

/* Whether another member may follow the one that has ended. */
static bool dec_many(const struct accel_stream *s)
{
	return s->alg == ACCEL_GZIP || s->alg == ACCEL_LZ4_FRAME || s->alg == ACCEL_ZSTD;
}

void dec_member_done(struct accel_stream *s)
{
	struct dec *d = s->priv;

	s->members++;
	d->force = false;
	d->retry_at = 0;
	d->state = dec_many(s) ? DEC_MEMBER : DEC_TAIL;
	s->room_max = STREAM_CHUNK;
	s->one_by_one = false;
	if (s->flags & ACCEL_STREAM_ONE_MEMBER)
		stream_end(s);
}

/* ---- in the process ---- */

/*
 * Gives the decoder the bytes before the place where it goes on, as one stored block: a decoder of raw
 * deflate then has them as its window.
 */
static int mid_prime(struct dec *d)
{
	uint8_t head[5] = { 0 }, sink[4096];
	size_t at = 0, made = 0, in, out;
	uint32_t code = 0;

	if (!d->window_len)
		return 0;
	le16_put(head + 1, (uint16_t)d->window_len);
	le16_put(head + 3, (uint16_t)~d->window_len);
	in = sizeof(head);
	out = sizeof(sink);
	if (engine_stream_step(d->mid, head, &in, sink, &out, &code) == ENGINE_STREAM_ERROR || in)
		return -EIO;
	made = out;
	while (at < d->window_len || made < d->window_len) {
		in = d->window_len - at;
		out = sizeof(sink);
		if (engine_stream_step(d->mid, d->window + at, &in, sink, &out, &code) ==
			    ENGINE_STREAM_ERROR ||
		    (!out && in == d->window_len - at))
			return -EIO;
		at = d->window_len - in;
		made += out;
	}
	return 0;
}

static int mid_open(struct accel_stream *s, struct dec *d)
{
	uint32_t code = 0;
	int err;

	d->mid = engine_stream_new(ACCEL_OP_DECOMPRESS, ACCEL_DEFLATE, 15, &code);
	d->mid_sum = d->mid ? engine_stream_new(ACCEL_OP_CHECKSUM, ACCEL_CRC32, d->crc, &code) : NULL;
	if (!d->mid_sum)
		return stream_fail(s, status_errno(code), code, "%s", accel_status_str(code));
	err = mid_prime(d);
	return err ? stream_fail(s, err, ACCEL_ST_DEVICE_FAULT, "the decoder did not take its window") : 0;
}

static void mid_close(struct dec *d)
{
	engine_stream_free(d->mid);
	engine_stream_free(d->mid_sum);
	d->mid = d->mid_sum = NULL;
}

int dec_process(struct accel_stream *s, uint32_t status)
{
	struct dec *d = s->priv;
	bool mid = d->state == DEC_CHUNKS;
	uint32_t code = 0;
	int err = 0;

	if (s->flags & ACCEL_STREAM_DEVICE_ONLY)
		return status == ACCEL_ST_BAD_INPUT_DATA
			       ? stream_fail(s, -EBADMSG, status, "%s", accel_status_str(status))
			       : stream_fail(
					 s, -ENOTSUP, ACCEL_ST_UNSUPPORTED_OP,
					 "a member is larger than a job of the device and cannot be split");
	if (mid)
		err = mid_open(s, d);
	else if (!d->es)
		d->es = engine_stream_new(ACCEL_OP_DECOMPRESS, s->alg, 0, &code);
	if (!mid && !d->es)
		err = stream_fail(s, status_errno(code), code, "%s", accel_status_str(code));
	d->state = DEC_PROCESS;
	s->room_max = DEC_STEP;
	s->one_by_one = true;
	return err ? err : 1;
}

/* What the decoder gave, kept as a piece; a chunk member's sums are ours to keep. */
static int process_output(struct accel_stream *s, struct dec *d, size_t n)
{
	struct piece *p;
	uint32_t code = 0;
	int err = 0;

	if (!n)
		return 0;
	p = piece_bytes(s, n);
	if (d->mid)
		err = stream_sum_step(d->mid_sum, p->out.iov_base, n, &code);
	d->len += n;
	piece_ready(s, p, n);
	return err;
}

static int process_end(struct accel_stream *s, struct dec *d)
{
	uint8_t r[ACCEL_RESULT_MAX] = { 0 };

	if (!d->mid) {
		engine_stream_reset(d->es);
		dec_member_done(s);
		return 1;
	}
	engine_stream_result(d->mid_sum, r);
	d->crc = le32_get(r);
	mid_close(d);
	s->one_by_one = false; /* the trailer may lie across */
	d->state = DEC_TRAILER;
	return 1;
}

/* One call of the decoder, its output made bytes into the room that the next piece will have. */
static enum engine_stream_state process_step(struct accel_stream *s, struct dec *d, size_t *made)
{
	size_t avail = stream_avail(s), in = avail, out = DEC_STEP - *made;
	enum engine_stream_state st;

	st = engine_stream_step(d->mid ? d->mid : d->es, ring_at(&s->in, s->pos), &in,
				ring_at(&s->out, s->out.tail) + *made, &out, &d->fail_code);
	s->pos += avail - in;
	s->cpu_bytes += avail - in;
	s->by_executor[ACCEL_EXEC_SOFTWARE] += avail - in;
	*made += out;
	return st;
}

/* Whether another foreign member follows here, so that its output can join that of the one before: a file of
 * small members would otherwise come out in as many small pieces. */
static bool process_goes_on(const struct accel_stream *s, const struct dec *d, size_t made)
{
	struct engine_gzip_header h;

	if (s->alg != ACCEL_GZIP || d->mid || s->flags & ACCEL_STREAM_ONE_MEMBER || made >= DEC_STEP / 2)
		return false;
	return engine_gzip_header(ring_at(&s->in, s->pos), stream_avail(s), &h) == ENGINE_GZIP_OK &&
	       !gzip_extra_bgzf(&h) && !gzip_extra_chunk(&h);
}

/* A piece. It waits until all earlier output is read, so that its own stays in the same warm memory. */
static int process_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;
	uint64_t start = s->pos;
	enum engine_stream_state st;
	size_t made = 0;
	int err;

	if (d->fail)
		return stream_fail(s, status_errno(d->fail_code), d->fail_code, "%s, at input byte %llu",
				   accel_status_str(d->fail_code), (unsigned long long)s->pos);
	if (s->count || (!stream_avail(s) && !s->finished))
		return 0;
	while ((st = process_step(s, d, &made)) == ENGINE_STREAM_END && process_goes_on(s, d, made)) {
		engine_stream_reset(d->es);
		s->members++;
	}
	err = process_output(s, d, made);
	if (err)
		return err;
	if (st == ENGINE_STREAM_END)
		return process_end(s, d);
	if (st == ENGINE_STREAM_ERROR) {
		d->fail = true;
		return 1;
	}
	if (made || s->pos != start)
		return 1;
	return s->finished ? dec_truncated(s) : 0;
}

/* ---- around ---- */

static int skip_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;
	size_t n = (size_t)BASE_MIN(d->skip, stream_avail(s));

	s->pos += n;
	d->skip -= n;
	if (d->skip) {
		if (s->finished && !stream_avail(s) && all_settled(s))
			return dec_truncated(s);
		return n > 0;
	}
	d->state = DEC_MEMBER;
	return 1;
}

/* Zeros are what tapes and disks pad with; anything else is told to the caller, as gzip does. */
static int tail_feed(struct accel_stream *s)
{
	size_t n = stream_avail(s);
	uint64_t end = s->pos;

	if (!all_settled(s))
		return 0;
	if (!n) {
		if (s->finished)
			stream_end(s);
		return 0;
	}
	if (mem_is_zero(ring_at(&s->in, s->pos), n)) {
		s->trailing_zeros = 1;
		s->pos += n;
		return 1;
	}
	s->trailing_garbage = 1;
	stream_end(s);
	s->in_done = end;
	return 1;
}

static int dec_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;

	switch (d->state) {
	case DEC_MEMBER:
		return dec_member_feed(s);
	case DEC_SKIP:
		return skip_feed(s);
	case DEC_ONE_JOB:
		return 0;
	case DEC_CHUNKS:
		return dec_chunks_feed(s);
	case DEC_PROCESS:
		return process_feed(s);
	case DEC_TRAILER:
		return dec_trailer_feed(s);
	case DEC_TAIL:
		return tail_feed(s);
	}
	return 0;
}

static int dec_ended(struct accel_stream *s, struct piece *p)
{
	return p->kind == PIECE_CHUNK ? dec_chunk_ended(s, p) : dec_member_ended(s, p);
}

static void dec_close(struct accel_stream *s)
{
	struct dec *d = s->priv;

	if (!d)
		return;
	mid_close(d);
	engine_stream_free(d->es);
	free(d->window);
	free(d);
}

static const struct stream_ops dec_ops = { dec_feed, dec_ended, dec_close };

/* ---- opening ---- */

static int dec_plan(struct accel_stream *s, uint16_t alg, uint32_t flags, bool with_sum,
		    struct accel_plan **out)
{
	struct accel_plan *plan;
	int err = accel_plan_new(s->dev->ctx, &plan);

	if (err)
		return err;
	err = accel_plan_decompress(plan, alg, flags);
	if (!err && with_sum)
		err = accel_plan_checksum(plan, ACCEL_CRC32, 0);
	if (!err)
		err = accel_plan_policy(plan, ACCEL_DEVICE_ONLY, 0, 0);
	if (!err)
		err = accel_plan_seal(plan, s->dev);
	if (err) {
		accel_plan_unref(plan);
		return err;
	}
	if (!(s->flags & ACCEL_STREAM_DEVICE_ONLY))
		plan->policy = ACCEL_PREFER_DEVICE;
	*out = plan;
	return 0;
}

static int dec_plans(struct accel_stream *s, struct dec *d)
{
	int err = dec_plan(s, s->alg, ACCEL_STAGE_TRAILING, false, &s->member_plan);

	if (err && (err != -ENOTSUP || s->flags & ACCEL_STREAM_DEVICE_ONLY))
		return err;
	d->can_member = !err;
	if (s->alg != ACCEL_GZIP)
		return 0;
	d->sum_job = true;
	err = dec_plan(s, ACCEL_DEFLATE, ACCEL_STAGE_CHUNK, true, &s->plan);
	if (err == -ENOTSUP) {
		d->sum_job = false;
		err = dec_plan(s, ACCEL_DEFLATE, ACCEL_STAGE_CHUNK, false, &s->plan);
	}
	d->can_chunk = !err;
	return err == -ENOTSUP ? 0 : err;
}

static void dec_limits(struct accel_stream *s, struct dec *d)
{
	uint64_t max_in = s->dev->info.max_in, max_out = s->dev->info.max_out;
	struct accel_caps caps;

	if (accel_dev_caps(s->dev, ACCEL_OP_DECOMPRESS, s->alg, &caps) == 0) {
		max_in = BASE_MIN(max_in, caps.max_in);
		max_out = BASE_MIN(max_out, caps.max_out);
	}
	d->max_in = (size_t)BASE_MIN(max_in, s->in.size - 4096);
	d->max_out = (size_t)BASE_MIN(max_out, s->out.size / 2 - 4096);
}

static int dec_memory(struct accel_stream *s)
{
	size_t neng = BASE_MAX(s->dev->info.neng, 1u), unit = STREAM_CHUNK;
	size_t in = BASE_MAX(DEC_IN_MIN, (neng + 2) * unit),
	       out = BASE_MAX(DEC_OUT_MIN, (2 * neng + 6) * unit);

	/* Members of BGZF are small: more of them in flight. */
	return stream_memory(s, BASE_MIN(in, DEC_IN_MAX), true, BASE_MIN(out, STREAM_RING_MAX),
			     BASE_MAX(2 * s->depth, 16));
}

int stream_open_decompress(struct accel_stream *s)
{
	struct dec *d;
	int err;

	if (s->alg == ACCEL_LZ4_BLOCK || s->alg > ACCEL_ZSTD || s->alg == 0 ||
	    s->flags & (ACCEL_STREAM_BGZF | ACCEL_STREAM_VERIFY))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	s->priv = d;
	s->ops = &dec_ops;
	s->room_max = STREAM_CHUNK;
	err = dec_plans(s, d);
	if (!err)
		err = dec_memory(s);
	if (!err)
		dec_limits(s, d);
	return err;
}
