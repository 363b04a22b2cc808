/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gzip members of ours in parallel. The header says how many bytes a chunk holds; where chunks end in the
 * compressed data is found by the empty stored block that ends each. Those four bytes may also occur inside
 * a block, so a cut is a guess: only a job that used all its input, and made exactly a chunk of it or was
 * followed by the final block, proves it. A chunk refers to nothing before it, so jobs need no more than
 * that; where the guess fails for good, the process goes on from the last proven place with the bytes
 * before it as its window, which is right for any deflate stream, ours or not.
 */
#include <stdlib.h>
#include "stream_dec.h"

#define CHUNK_MIN   4096u
#define CHUNK_TRIES 8
#define FINAL_LEN   2u /* 03 00: a final block of nothing */

static const uint8_t marker[4] = { 0, 0, 0xff, 0xff };

/* No compressor makes more of a chunk. */
static size_t chunk_limit(const struct dec *d)
{
	return d->chunk + d->chunk / 8 + 4096;
}

int dec_chunks_start(struct accel_stream *s, size_t chunk, size_t header)
{
	struct dec *d = s->priv;

	if (!d->can_chunk || chunk < CHUNK_MIN || chunk > d->max_out || chunk > s->out.size / 4)
		return 0;
	d->chunk = chunk;
	if (chunk_limit(d) > d->max_in || chunk_limit(d) > s->in.size)
		return 0;
	if (!d->window)
		d->window = malloc(STREAM_WINDOW);
	if (!d->window)
		return 0;
	s->pos += header;
	d->scan = s->pos;
	d->tries = 0;
	d->crc = 0;
	d->len = 0;
	d->window_len = 0;
	d->state = DEC_CHUNKS;
	return 1;
}

/* ---- where a chunk ends ---- */

/* The first marker in [from, n); its end, or 0. One byte in 256 is 0xff, and memchr() is quick between them. */
static size_t find_marker(const uint8_t *in, size_t from, size_t n)
{
	const uint8_t *p = in + from + 2, *end = in + n;

	if (n < from + sizeof(marker))
		return 0;
	while (p + 2 <= end && (p = memchr(p, 0xff, (size_t)(end - p - 1)))) {
		if (!memcmp(p - 2, marker, sizeof(marker)))
			return (size_t)(p - in) + 2;
		p++;
	}
	return 0;
}

/*
 * Stored blocks at the start of a chunk say how long they are, and the next begins on a byte again: what
 * cannot be compressed is walked exactly, whatever it contains. Returns the end of the chunk if it is found
 * so, else 0 and how far it is certain that there is none in *walked.
 */
static size_t walk_stored(const uint8_t *in, size_t n, size_t *walked)
{
	size_t off = 0, len;

	while (off + 5 <= n && (in[off] & 7) == 0) {
		len = le16_get(in + off + 1);
		if ((len ^ le16_get(in + off + 3)) != 0xffff)
			break;
		off += 5 + len;
		if (!len) {
			*walked = off;
			return off;
		}
	}
	*walked = off;
	return 0;
}

/* The end of the chunk at s->pos as an offset from there; 0: not found in what there is. */
static size_t chunk_end(struct accel_stream *s, struct dec *d)
{
	const uint8_t *in = ring_at(&s->in, s->pos);
	size_t n = stream_avail(s), from = (size_t)(d->scan - s->pos), walked, end = 0;

	if (!from || d->tries == 0) {
		end = walk_stored(in, n, &walked);
		from = BASE_MAX(from, walked);
	}
	if (!end && from < n)
		end = find_marker(in, from, n);
	if (!end && n >= 3)
		d->scan = BASE_MAX(d->scan, s->in.tail - 3);
	return end;
}

/* ---- feeding ---- */

static int chunks_final(struct accel_stream *s, struct dec *d)
{
	const uint8_t *in = ring_at(&s->in, s->pos);

	if (!all_settled(s) || (stream_avail(s) < FINAL_LEN + GZIP_TRAILER && !s->finished))
		return 0;
	if (stream_avail(s) < FINAL_LEN + GZIP_TRAILER || in[0] != 3 || in[1] != 0)
		return dec_process(s, ACCEL_ST_BAD_INPUT_DATA);
	s->pos += FINAL_LEN;
	d->state = DEC_TRAILER;
	return 1;
}

int dec_chunks_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;
	size_t n;

	if (!stream_avail(s)) {
		if (!s->finished || !all_settled(s))
			return 0;
		return dec_truncated(s);
	}
	if (*ring_at(&s->in, s->pos) & 1)
		return chunks_final(s, d);
	n = chunk_end(s, d);
	if (!n && !s->finished && stream_avail(s) <= chunk_limit(d))
		return 0;
	if (!n || n > chunk_limit(d))
		return all_settled(s) ? dec_process(s, ACCEL_ST_BAD_INPUT_DATA) : 0;
	if (!piece_fits(s, d->chunk))
		return 0;
	piece_job(s, PIECE_CHUNK, n, 0, d->chunk, 0);
	d->scan = s->pos;
	return 1;
}

int dec_trailer_feed(struct accel_stream *s)
{
	struct dec *d = s->priv;
	const uint8_t *in = ring_at(&s->in, s->pos);

	if (stream_avail(s) < GZIP_TRAILER)
		return s->finished ? dec_truncated(s) : 0;
	if (le32_get(in) != d->crc)
		return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA,
				   "the CRC-32 of the data is %08x, the trailer says %08x", d->crc,
				   le32_get(in));
	if (le32_get(in + 4) != (uint32_t)d->len)
		return stream_fail(s, -EBADMSG, ACCEL_ST_BAD_INPUT_DATA,
				   "the length of the data is not the trailer's");
	s->pos += GZIP_TRAILER;
	dec_member_done(s);
	return 1;
}

/* ---- results ---- */

static void window_push(struct dec *d, const uint8_t *p, size_t n)
{
	size_t keep;

	if (n >= STREAM_WINDOW) {
		memcpy(d->window, p + n - STREAM_WINDOW, STREAM_WINDOW);
		d->window_len = STREAM_WINDOW;
		return;
	}
	keep = BASE_MIN(d->window_len, STREAM_WINDOW - n);
	memmove(d->window, d->window + d->window_len - keep, keep);
	memcpy(d->window + keep, p, n);
	d->window_len = keep + n;
}

static int chunk_accept(struct accel_stream *s, struct dec *d, struct piece *p)
{
	size_t n = (size_t)p->result.out_len;
	uint64_t crc = 0;
	int err = 0;

	if (d->sum_job)
		crc = le32_get(p->result.result[1]);
	else
		err = stream_sum_bytes(ACCEL_CRC32, p->out.iov_base, n, &crc);
	if (err)
		return err;
	d->crc = engine_crc32_combine(d->crc, (uint32_t)crc, n);
	d->len += n;
	d->tries = 0;
	window_push(d, p->out.iov_base, n);
	piece_ready(s, p, n);
	return 1;
}

/* The cut was a false one: the next marker, unless that has been tried too often. */
static int chunk_extend(struct accel_stream *s, struct dec *d, const struct piece *p)
{
	uint64_t end = p->in_pos + p->in_len;
	int err = piece_rollback(s);

	if (err)
		return err;
	if (++d->tries > CHUNK_TRIES)
		return dec_process(s, ACCEL_ST_BAD_INPUT_DATA);
	d->scan = end - 3;
	return 1;
}

int dec_chunk_ended(struct accel_stream *s, struct piece *p)
{
	struct dec *d = s->priv;
	const struct accel_result *r = &p->result;
	uint64_t next = p->in_pos + p->in_len;
	int err;

	if (r->status == ACCEL_ST_BAD_INPUT_DATA)
		return chunk_extend(s, d, p);
	if (r->status == ACCEL_ST_OUTPUT_SHORT || (r->status == ACCEL_ST_OK && r->in_used != p->in_len)) {
		err = piece_rollback(s);
		return err ? err : dec_process(s, ACCEL_ST_BAD_INPUT_DATA);
	}
	if (r->status != ACCEL_ST_OK)
		return stream_fail_result(s, r);
	if (r->out_len == d->chunk)
		return chunk_accept(s, d, p);
	/* A short one can only be the last, which is to say that the final block follows. */
	if (next == s->in.tail)
		return s->finished ? chunk_accept(s, d, p) : 0;
	return *ring_at(&s->in, next) & 1 ? chunk_accept(s, d, p) : chunk_extend(s, d, p);
}
