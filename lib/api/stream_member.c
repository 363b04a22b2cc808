/* SPDX-License-Identifier: BSD-2-Clause */
/* At the start of a member or frame: what it is, and whether jobs can do it. */
#include <stdlib.h>
#include "stream_dec.h"

/* At the end of the input, or where something else follows. Needs all settled. */
static int member_none(struct accel_stream *s, const char *what)
{
	struct dec *d = s->priv;

	if (!all_settled(s))
		return 0;
	if (!s->members && !stream_avail(s))
		return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA, "the input is empty");
	if (!s->members)
		return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA, "the input is not %s data", what);
	d->state = DEC_TAIL;
	return 1;
}

/* The input ends within a header. */
static int member_more(struct accel_stream *s)
{
	struct dec *d = s->priv;

	if (s->finished)
		return all_settled(s) ? dec_truncated(s) : 0;
	/* Looking again at every byte would take for ever where bytes come one by one. */
	d->retry_at = s->in.tail + stream_avail(s) / 8;
	if (ring_room(&s->in) == 0 && s->in.head == s->pos && all_settled(s))
		return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA, "a header is too long");
	return 0;
}

static int member_process(struct accel_stream *s, uint32_t status)
{
	return all_settled(s) ? dec_process(s, status) : 0;
}

/* ---- jobs of whole members ---- */

/* A job over n bytes that are exactly a member. 0: no room now. */
static int member_job(struct accel_stream *s, size_t n, size_t out_max)
{
	if (!piece_fits(s, out_max))
		return 0;
	piece_job(s, PIECE_MEMBER, n, 0, out_max, 0);
	return 1;
}

/* One over all that there is: the result tells where the member ended. The last four bytes are the length
 * of the data if only one member is there, which saves asking for the most that a job can give. */
static int member_one_job(struct accel_stream *s, size_t n)
{
	struct dec *d = s->priv;
	size_t out_max = d->max_out;
	uint32_t guess;

	if (!all_settled(s))
		return 0;
	if (s->alg == ACCEL_GZIP && n >= 18) {
		guess = le32_get(ring_at(&s->in, s->pos) + n - 4);
		if (guess <= out_max && guess / 1032 <= n)
			out_max = guess;
	}
	if (!member_job(s, n, out_max))
		return 0;
	d->state = DEC_ONE_JOB;
	return 1;
}

/* A member of unknown extent: as one job if the rest of the input is small enough for that. */
static int member_unknown(struct accel_stream *s)
{
	struct dec *d = s->priv;
	size_t n = stream_avail(s);
	bool only = s->flags & ACCEL_STREAM_DEVICE_ONLY;
	size_t most = only ? d->max_in : BASE_MIN(d->max_in, DEC_SMALL);

	if (!d->can_member || d->force)
		return member_process(s, d->why);
	if (!only && (s->members || n > most || (n == most && !s->finished)))
		return member_process(s, ACCEL_ST_UNSUPPORTED_OP);
	if (!s->finished && n < most)
		return 0;
	return member_one_job(s, BASE_MIN(n, most));
}

static int one_job_ended(struct accel_stream *s, struct piece *p)
{
	size_t used = (size_t)p->result.in_used;

	s->pos = p->in_pos + used;
	p->in_len = used;
	piece_ready(s, p, (size_t)p->result.out_len);
	dec_member_done(s);
	return 1;
}

int dec_member_ended(struct accel_stream *s, struct piece *p)
{
	struct dec *d = s->priv;
	const struct accel_result *r = &p->result;
	bool one = d->state == DEC_ONE_JOB;
	uint32_t status = r->status;
	int err;

	if (status == ACCEL_ST_OK && r->in_used <= p->in_len && r->in_used && r->out_len <= p->out.iov_len) {
		if (one)
			return one_job_ended(s, p);
		if (r->in_used == p->in_len) {
			piece_ready(s, p, (size_t)r->out_len);
			s->members++;
			return 1;
		}
	}
	if (status != ACCEL_ST_OK && status != ACCEL_ST_OUTPUT_SHORT && status != ACCEL_ST_BAD_INPUT_DATA)
		return stream_fail_result(s, r);
	/* The decoder in the process finds out what is wrong, and gives what is right before it. */
	err = piece_rollback(s);
	if (err)
		return err;
	d->force = true;
	/* What was cut to a job's size may be damaged or may just be larger than that. */
	if (status == ACCEL_ST_OUTPUT_SHORT || (one && (!s->finished || p->in_pos + p->in_len < s->in.tail)))
		d->why = ACCEL_ST_UNSUPPORTED_OP;
	else
		d->why = ACCEL_ST_BAD_INPUT_DATA;
	d->state = DEC_MEMBER;
	return 1;
}

/* ---- gzip ---- */

static int gzip_note(struct accel_stream *s, const struct engine_gzip_header *h)
{
	struct dec *d = s->priv;

	if (d->noted)
		return 0;
	d->noted = true;
	s->header_mtime = h->mtime;
	if (h->name)
		s->header_name = strdup(h->name);
	return h->name && !s->header_name ? -ENOMEM : 0;
}

/* BGZF: the header says how long the member is, its end how long the data. 2: it is none that we trust. */
static int gzip_bgzf(struct accel_stream *s, const struct engine_gzip_header *h)
{
	struct dec *d = s->priv;
	size_t n = gzip_extra_bgzf(h), out;

	if (n < h->nbytes + 2 + GZIP_TRAILER || n > d->max_in || d->force || !d->can_member)
		return 2;
	if (stream_avail(s) < n)
		return s->finished ? 2 : 0;
	out = le32_get(ring_at(&s->in, s->pos) + n - 4);
	return out > 65536 || out > d->max_out ? 2 : member_job(s, n, out);
}

static int gzip_member(struct accel_stream *s, const struct engine_gzip_header *h)
{
	struct dec *d = s->priv;
	size_t chunk = gzip_extra_chunk(h);
	int n = gzip_note(s, h);

	if (n)
		return n;
	n = gzip_bgzf(s, h);
	if (n != 2)
		return n;
	if (!all_settled(s))
		return 0;
	if (chunk && !d->force && dec_chunks_start(s, chunk, h->nbytes))
		return 1;
	return member_unknown(s);
}

static int gzip_feed(struct accel_stream *s)
{
	const uint8_t *in = ring_at(&s->in, s->pos);
	size_t n = stream_avail(s);
	struct engine_gzip_header h;

	/* Half a magic, also behind a member: a file may have been cut there. */
	if (n == 1 && s->finished)
		return *in != 0x1f ? member_none(s, "gzip") : member_more(s);
	switch (engine_gzip_header(in, n, &h)) {
	case ENGINE_GZIP_OK:
		return gzip_member(s, &h);
	case ENGINE_GZIP_MORE:
		return member_more(s);
	case ENGINE_GZIP_NOT:
		return member_none(s, "gzip");
	case ENGINE_GZIP_BAD:
		break;
	}
	return !all_settled(s)
		       ? 0
		       : stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA, "a gzip header is damaged");
}

/* ---- LZ4 and zstd ---- */

static int frame_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;
	size_t n = stream_avail(s), limit = BASE_MIN(d->max_in, s->in.size / 2);
	struct frame f = { 0 };

	switch (frame_walk(s->alg, ring_at(&s->in, s->pos), n, d->max_out, &f)) {
	case FRAME_NOT:
		return member_none(s, s->alg == ACCEL_ZSTD ? "zstd" : "LZ4 frame");
	case FRAME_SKIP:
		d->skip = f.nbytes;
		d->state = DEC_SKIP;
		return 1;
	case FRAME_MORE:
		if (s->finished || n >= limit)
			break;
		return member_more(s);
	case FRAME_LARGE:
	case FRAME_ODD:
		break;
	case FRAME_DATA:
		if (f.nbytes > limit || !d->can_member || d->force)
			break;
		return member_job(s, (size_t)f.nbytes, (size_t)f.out_max);
	}
	return member_process(s, d->force ? d->why : ACCEL_ST_UNSUPPORTED_OP);
}

int dec_member_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;

	if (!stream_avail(s))
		return s->finished ? member_none(s, "compressed") : 0;
	if (s->in.tail < d->retry_at && !s->finished)
		return 0;
	if (s->alg == ACCEL_GZIP)
		return gzip_feed(s);
	if (s->alg == ACCEL_ZSTD || s->alg == ACCEL_LZ4_FRAME)
		return frame_feed(s);
	return member_unknown(s);
}
