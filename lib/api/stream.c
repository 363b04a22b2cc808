/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams: what is common to all kinds, and the calls of the public header. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "stream_priv.h"

#define STREAM_LEN_MAX (SIZE_MAX / 2) /* what a ssize_t can say */

#define STREAM_FLAGS                                                                                         \
	(ACCEL_STREAM_BGZF | ACCEL_STREAM_ONE_MEMBER | ACCEL_STREAM_DEVICE_ONLY | ACCEL_STREAM_VERIFY)
#define STREAM_TIMEOUT_MS 30000
#define STREAM_DEPTH_MAX  64

int stream_fail(struct accel_stream *s, int err, uint32_t status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
	s->status = status;
	return err;
}

int status_errno(uint32_t status)
{
	switch (status) {
	case ACCEL_ST_OK:
		return 0;
	case ACCEL_ST_UNSUPPORTED_OP:
		return -ENOTSUP;
	case ACCEL_ST_BAD_PARAM:
		return -EINVAL;
	case ACCEL_ST_OUTPUT_SHORT:
		return -ENOSPC;
	case ACCEL_ST_BAD_INPUT_DATA:
	case ACCEL_ST_AUTH_FAILED:
		return -EBADMSG;
	case ACCEL_ST_NOT_INVERTIBLE:
		return -EINVAL;
	case ACCEL_ST_ABORTED:
		return -ECANCELED;
	case ACCEL_ST_TIMEOUT:
		return -ETIMEDOUT;
	case ACCEL_ST_NO_RESOURCES:
		return -ENOMEM;
	}
	return -EIO;
}

int stream_fail_result(struct accel_stream *s, const struct accel_result *r)
{
	if (r->os_error == ENOTCONN)
		return stream_fail(s, -ENOTCONN, r->status,
				   "%.70s: the connection was lost and is not back in time, at input byte %llu",
				   s->dev->info.path, (unsigned long long)piece_at(s, s->settled)->in_pos);
	return stream_fail(s, status_errno(r->status), r->status, "%s, at input byte %llu",
			   accel_status_str(r->status), (unsigned long long)piece_at(s, s->settled)->in_pos);
}

void stream_end(struct accel_stream *s)
{
	s->ended = true;
	s->in_done = s->pos;
}

/* The stream ends here with an error; what is settled can still be read. */
static void stream_stop(struct accel_stream *s, int err)
{
	if (!s->error[0])
		stream_fail(s, err, s->status, "%s", accel_strerror(err));
	s->err = err;
	piece_rollback(s);
	stream_end(s);
}

/* Whether the piece stays below the limit of a decompression; cuts it there if not. */
static bool stream_limit(struct accel_stream *s, struct piece *p)
{
	uint64_t left = s->max_out - s->out_total;

	if (!s->max_out || p->out_len <= left)
		return true;
	p->out_len = (size_t)left;
	return false;
}

static int stream_settle(struct accel_stream *s)
{
	while (!all_settled(s)) {
		struct piece *p = piece_at(s, s->settled);
		int n;

		if (p->state == PIECE_ENDED) {
			n = s->ops->ended(s, p);
			if (n <= 0)
				return n;
			continue;
		}
		if (p->state != PIECE_READY)
			return 0;
		n = stream_limit(s, p);
		piece_settle(s);
		if (!n)
			return stream_fail(s, -EFBIG, ACCEL_ST_OUTPUT_SHORT,
					   "the output is larger than %llu bytes",
					   (unsigned long long)s->max_out);
	}
	return 0;
}

/* Brings results in and input out, without waiting, until nothing moves. */
static void stream_pump(struct accel_stream *s)
{
	int n;

	do {
		n = piece_poll(s, false);
		if (!n)
			n = stream_settle(s);
		if (!n && !s->ended)
			n = s->ops->feed(s);
		if (n < 0)
			stream_stop(s, n);
	} while (n > 0);
	if (!s->ended)
		s->in_done = all_settled(s) ? s->pos : s->in.head;
	else if (all_settled(s))
		s->pos = s->in.tail; /* what nobody wants */
	if (all_settled(s)) {
		s->in.head = s->pos;
		ring_rewind(&s->in);
	}
}

static int stream_check(const struct accel_stream *s)
{
	if (!s)
		return -EINVAL;
	return dev_stale(s->dev) ? -ESTALE : 0;
}

ssize_t accel_stream_room(struct accel_stream *s, void **in)
{
	int err = stream_check(s);
	size_t n;

	if (err || !in)
		return err ? err : -EINVAL;
	if (s->err)
		return s->err;
	if (s->finished)
		return -EINVAL;
	/* The process works through what it has before it takes more: then the ring starts over, in memory
	 * that is warm. */
	if (s->one_by_one && stream_avail(s))
		return 0;
	n = BASE_MIN(ring_room(&s->in), s->room_max);
	n = BASE_MIN(n, ring_linear(&s->in, s->in.tail));
	/* Chunks begin where the ring has a page boundary, as long as they are filled up. */
	if (s->kind == ACCEL_STREAM_COMPRESS)
		n = BASE_MIN(n, s->chunk - stream_avail(s) % s->chunk);
	*in = ring_at(&s->in, s->in.tail);
	return (ssize_t)n;
}

int accel_stream_commit(struct accel_stream *s, size_t n)
{
	int err = stream_check(s);

	if (err)
		return err;
	if (s->err)
		return s->err;
	if (s->finished || n > ring_room(&s->in))
		return -EINVAL;
	s->in.tail += n;
	stream_pump(s);
	return s->err;
}

/* Room of at least a byte, waiting for jobs if that is what it takes. -EAGAIN: take output first. */
static ssize_t stream_wait_room(struct accel_stream *s, void **in)
{
	const void *out;
	ssize_t n = accel_stream_room(s, in);

	if (n)
		return n;
	n = accel_stream_peek(s, &out, 1);
	if (n < 0)
		return n;
	if (n > 0)
		return -EAGAIN;
	n = accel_stream_room(s, in);
	/* Full, nothing to read and nothing runs: what is there cannot be worked on. */
	return n ? n : -EIO;
}

ssize_t accel_stream_write(struct accel_stream *s, const void *in, size_t in_len)
{
	int err = stream_check(s);
	size_t done = 0;
	ssize_t n = 0;
	void *p;

	if (err || (in_len && !in) || in_len > STREAM_LEN_MAX)
		return err ? err : -EINVAL;
	while (done < in_len) {
		n = stream_wait_room(s, &p);
		if (n <= 0)
			break;
		n = (ssize_t)BASE_MIN((size_t)n, in_len - done);
		memcpy(p, (const uint8_t *)in + done, (size_t)n);
		done += (size_t)n;
		n = accel_stream_commit(s, (size_t)n);
		if (n < 0)
			break;
	}
	if (n < 0 && n != -EAGAIN)
		return n;
	return done || !in_len ? (ssize_t)done : n;
}

int accel_stream_finish(struct accel_stream *s)
{
	int err = stream_check(s);

	if (err)
		return err;
	s->finished = true;
	stream_pump(s);
	return s->err;
}

/* The piece to read from; *popped: empty ones were removed, which may have made the room that was lacking. */
static struct piece *stream_first_ready(struct accel_stream *s, bool *popped)
{
	*popped = false;
	while (s->settled) {
		struct piece *p = piece_at(s, 0);

		if (p->out_done < p->out_len)
			return p;
		piece_pop(s);
		*popped = true;
	}
	return NULL;
}

ssize_t accel_stream_peek(struct accel_stream *s, const void **out, int wait)
{
	int err = stream_check(s);
	struct piece *p;
	bool popped;

	if (err || !out)
		return err ? err : -EINVAL;
	for (;;) {
		stream_pump(s);
		p = stream_first_ready(s, &popped);
		if (p) {
			*out = ring_at(&s->out, p->out_pos) + p->out_done;
			return (ssize_t)(p->out_len - p->out_done);
		}
		if (popped)
			continue;
		if (s->err)
			return s->err;
		if (!wait || !s->running)
			return 0;
		err = piece_poll(s, true);
		if (err)
			stream_stop(s, err);
	}
}

void accel_stream_consume(struct accel_stream *s, size_t n)
{
	struct piece *p;

	if (stream_check(s) || !s->settled)
		return;
	p = piece_at(s, 0);
	p->out_done += BASE_MIN(n, p->out_len - p->out_done);
	if (p->out_done == p->out_len)
		piece_pop(s);
}

ssize_t accel_stream_read(struct accel_stream *s, void *out, size_t max)
{
	size_t done = 0;
	const void *p;
	ssize_t n = 0;

	if (!s || (max && !out) || max > STREAM_LEN_MAX)
		return -EINVAL;
	while (done < max) {
		n = accel_stream_peek(s, &p, s->finished && !done);
		if (n <= 0)
			break;
		n = (ssize_t)BASE_MIN((size_t)n, max - done);
		memcpy((uint8_t *)out + done, p, (size_t)n);
		accel_stream_consume(s, (size_t)n);
		done += (size_t)n;
	}
	return done ? (ssize_t)done : n;
}

int accel_stream_result(struct accel_stream *s, uint8_t result[ACCEL_RESULT_MAX])
{
	const void *p;
	ssize_t n;

	if (stream_check(s))
		return stream_check(s);
	if (!result || !s->finished || s->kind == ACCEL_STREAM_COMPRESS || s->kind == ACCEL_STREAM_DECOMPRESS)
		return -EINVAL;
	n = accel_stream_peek(s, &p, 1);
	return n < 0 ? (int)n : stream_sum_result(s, result);
}

static uint32_t stream_executor(const struct accel_stream *s)
{
	uint32_t i, best = ACCEL_EXEC_NONE;

	for (i = ACCEL_EXEC_HARDWARE; i <= ACCEL_EXEC_FALLBACK; i++)
		if (s->by_executor[i] > s->by_executor[best])
			best = i;
	return best;
}

int accel_stream_info(const struct accel_stream *s, struct accel_stream_info *info)
{
	if (!s || !info)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->in_bytes = s->in_done;
	info->out_bytes = s->out_total;
	info->jobs = s->jobs;
	info->cpu_jobs = s->cpu_jobs;
	info->cpu_bytes = s->cpu_bytes;
	info->executor = stream_executor(s);
	info->members = s->members;
	info->trailing_zeros = s->trailing_zeros;
	info->trailing_garbage = s->trailing_garbage;
	info->status = s->status;
	info->exec_ns = s->exec_ns;
	info->error = s->error;
	info->header_mtime = s->header_mtime;
	info->header_name = s->header_name;
	return 0;
}

static int stream_check_opts(const struct accel_stream_opts *o)
{
	unsigned int i;

	if (!o || o->size != sizeof(*o) || o->flags & ~STREAM_FLAGS)
		return -EINVAL;
	for (i = 0; i < sizeof(o->reserved) / sizeof(o->reserved[0]); i++)
		if (o->reserved[i])
			return -EINVAL;
	if (o->chunk_nbytes > STREAM_CHUNK_MAX || o->timeout_ms < 0 || o->depth > STREAM_DEPTH_MAX)
		return -EINVAL;
	/* A name in a header ends with a zero and cannot be as long as readers give up at. */
	return o->name && strlen(o->name) > 4096 ? -EINVAL : 0;
}

static int stream_take_opts(struct accel_stream *s, const struct accel_stream_opts *o)
{
	unsigned int neng = s->dev->info.neng ? s->dev->info.neng : 1;

	s->kind = o->kind;
	s->alg = o->alg;
	s->flags = o->flags;
	s->level = o->level;
	s->mtime = o->mtime;
	s->chunk = o->chunk_nbytes;
	s->timeout_ms = o->timeout_ms ? o->timeout_ms : STREAM_TIMEOUT_MS;
	s->max_out = o->max_out;
	s->depth = o->depth ? o->depth : BASE_MIN(2 * neng + 2, STREAM_DEPTH_MAX);
	if (o->name)
		s->name = strdup(o->name);
	return o->name && !s->name ? -ENOMEM : 0;
}

static int stream_open_kind(struct accel_stream *s)
{
	switch (s->kind) {
	case ACCEL_STREAM_COMPRESS:
		return stream_open_compress(s);
	case ACCEL_STREAM_DECOMPRESS:
		return stream_open_decompress(s);
	case ACCEL_STREAM_DIGEST:
	case ACCEL_STREAM_CHECKSUM:
		return stream_open_sum(s);
	}
	return -EINVAL;
}

int accel_stream_open(struct accel_dev *dev, const struct accel_stream_opts *opts,
		      struct accel_stream **stream)
{
	struct accel_stream *s;
	int err = stream_check_opts(opts);

	if (!dev || !stream || err)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->dev = accel_dev_ref(dev);
	err = stream_take_opts(s, opts);
	if (!err)
		err = stream_open_kind(s);
	if (!err)
		err = stream_lease(s);
	/* As when the device goes away in the middle. */
	if (err == -ENODEV && !(s->flags & ACCEL_STREAM_DEVICE_ONLY)) {
		s->no_device = true;
		err = 0;
	}
	if (err)
		accel_stream_close(s);
	else
		*stream = s;
	return err;
}

int stream_memory(struct accel_stream *s, size_t in_nbytes, bool mirrored, size_t out_nbytes,
		  unsigned int npiece)
{
	int err = ring_init(&s->in, in_nbytes, mirrored);

	if (!err)
		err = ring_init(&s->out, out_nbytes, false);
	s->npiece = npiece;
	s->piece = calloc(npiece, sizeof(*s->piece));
	return !err && !s->piece ? -ENOMEM : err;
}

void accel_stream_close(struct accel_stream *s)
{
	bool stale;

	if (!s)
		return;
	stale = dev_stale(s->dev);
	stream_unlease(s);
	if (s->ops && s->ops->close)
		s->ops->close(s);
	/* A child did not inherit the rings; their addresses may be somebody else's by now. */
	if (!stale) {
		ring_fini(&s->in);
		ring_fini(&s->out);
	}
	accel_plan_unref(s->plan);
	accel_plan_unref(s->member_plan);
	free(s->piece);
	free(s->name);
	free(s->header_name);
	accel_dev_close(s->dev);
	free(s);
}
