/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of a stream, and the queue that works on them. */
#include "stream_priv.h"

#define ROOM_ALIGN 4096u /* a job's output begins on a page: no gap for a DMA list */
#define REAP_MAX   16

static size_t room_size(size_t out_cap)
{
	return (out_cap + ROOM_ALIGN - 1) & ~(size_t)(ROOM_ALIGN - 1);
}

bool piece_fits(const struct accel_stream *s, size_t out_cap)
{
	size_t n = room_size(out_cap);

	return s->count < s->npiece && ring_room(&s->out) >= ring_skip(&s->out, n) + n;
}

static struct piece *piece_add(struct accel_stream *s, enum piece_kind kind, size_t in_len, size_t out_cap)
{
	struct piece *p = piece_at(s, s->count++);

	memset(p, 0, sizeof(*p));
	p->kind = (uint8_t)kind;
	p->in_pos = s->pos;
	p->in_len = in_len;
	p->out_cap = room_size(out_cap);
	p->out_pos = s->out.tail + ring_skip(&s->out, p->out_cap);
	s->out.tail = p->out_pos + p->out_cap;
	s->pos += in_len;
	return p;
}

struct piece *piece_job(struct accel_stream *s, enum piece_kind kind, size_t in_len, size_t lead,
			size_t out_max, size_t tail)
{
	struct piece *p = piece_add(s, kind, in_len, lead + out_max + tail);

	p->lead = lead;
	p->in.iov_base = ring_at(&s->in, p->in_pos);
	p->in.iov_len = in_len;
	p->out.iov_base = ring_at(&s->out, p->out_pos) + lead;
	p->out.iov_len = out_max;
	return p;
}

struct piece *piece_bytes(struct accel_stream *s, size_t cap)
{
	struct piece *p = piece_add(s, PIECE_BYTES, 0, cap);

	p->out.iov_base = ring_at(&s->out, p->out_pos);
	p->out.iov_len = cap;
	return p;
}

void piece_ready(struct accel_stream *s, struct piece *p, size_t out_len)
{
	(void)s;
	p->out_len = out_len;
	p->state = PIECE_READY;
}

static void piece_count(struct accel_stream *s, const struct piece *p)
{
	const struct accel_result *r = &p->result;

	if (p->kind == PIECE_BYTES)
		return;
	if (r->executor <= ACCEL_EXEC_FALLBACK)
		s->by_executor[r->executor] += BASE_MAX(p->in_len, 1u);	/* an empty input has one, too */
	s->exec_ns += r->exec_ns;
	if (r->executor == ACCEL_EXEC_FALLBACK) {
		s->cpu_jobs++;
		s->cpu_bytes += p->in_len;
	} else {
		s->jobs++;
	}
}

void piece_settle(struct accel_stream *s)
{
	struct piece *p = piece_at(s, s->settled++);

	piece_count(s, p);
	s->out_total += p->out_len;
	s->in.head = s->settled < s->count ? piece_at(s, s->settled)->in_pos : s->pos;
	ring_rewind(&s->in);
}

void piece_pop(struct accel_stream *s)
{
	struct piece *p = piece_at(s, 0);

	s->out.head = p->out_pos + p->out_cap;
	ring_rewind(&s->out);
	s->first = (s->first + 1) % s->npiece;
	s->count--;
	s->settled--;
}

/* ---- the lease and the queue ---- */

int lease_for(struct accel_dev *dev, uint32_t slots, int timeout_ms, int path_ms,
	      struct accel_lease **lease, bool *own)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);

	pthread_mutex_lock(&dev->lock);
	*lease = dev->locked;
	if (*lease)
		lease_get(*lease);
	pthread_mutex_unlock(&dev->lock);
	*own = !*lease;
	if (*lease)
		return 0;
	opts.slots_wanted = slots;
	return lease_acquire(dev, &opts, timeout_ms, path_ms, lease);
}

void lease_done(struct accel_lease *lease, bool own)
{
	if (lease && own)
		accel_lease_release(lease);
	else if (lease)
		lease_put(lease);
}

void stream_unlease(struct accel_stream *s)
{
	accel_queue_free(s->queue);
	lease_done(s->lease, s->own_lease);
	s->queue = NULL;
	s->lease = NULL;
}

int stream_lease(struct accel_stream *s)
{
	int path_ms = s->flags & ACCEL_STREAM_DEVICE_ONLY ? PATH_WAIT_MS : PATH_PREFER_MS;
	int err = lease_for(s->dev, s->depth, s->timeout_ms, path_ms, &s->lease, &s->own_lease);

	if (!err)
		err = queue_new(s->lease, s->depth < s->lease->nslot ? s->depth : s->lease->nslot,
				s->timeout_ms, STREAM_RETRIES, &s->queue);
	if (err)
		stream_unlease(s);
	return err;
}

static const struct accel_plan *piece_plan(const struct accel_stream *s, const struct piece *p)
{
	return p->kind == PIECE_MEMBER ? s->member_plan : s->plan;
}

/* 1: the queue has it; 0: not now. */
static int piece_submit(struct accel_stream *s, struct piece *p)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);
	int n;

	job.plan = piece_plan(s, p);
	job.in = &p->in;
	job.nin = 1;
	job.out = &p->out;
	job.nout = p->out.iov_len ? 1 : 0;
	job.user_data = p;
	n = accel_queue_submit(s->queue, &job, 1);
	if (n == -ESTALE) {
		s->lost = true;
		return 0;
	}
	if (n < 0)
		return n == -EAGAIN ? 0 : n;
	p->job_id = job.job_id;
	p->state = PIECE_RUNNING;
	s->running++;
	return 1;
}

static int piece_on_cpu(struct accel_stream *s, struct piece *p)
{
	int err = cpu_run(s->dev->ctx, piece_plan(s, p), NULL, &p->in, 1, &p->out, p->out.iov_len ? 1 : 0,
			  ACCEL_EXEC_FALLBACK, &p->result);

	p->state = PIECE_ENDED;
	return err ? err : 1;
}

static int piece_submit_all(struct accel_stream *s)
{
	unsigned int i;
	int n;

	for (i = s->settled; i < s->count && !s->lost; i++) {
		struct piece *p = piece_at(s, i);

		if (p->state != PIECE_PENDING)
			continue;
		n = s->no_device ? piece_on_cpu(s, p) : piece_submit(s, p);
		if (n <= 0)
			return n;
	}
	return 0;
}

static void piece_take_result(struct accel_stream *s, const struct accel_result *r)
{
	struct piece *p = r->user_data;

	s->running--;
	p->result = *r;
	p->state = PIECE_ENDED;
	if ((r->status == ACCEL_ST_LEASE_LOST || r->status == ACCEL_ST_RESET) && p->tries < STREAM_TRIES) {
		p->tries++;
		p->state = PIECE_PENDING;
		s->lost = true;
	}
}

static int piece_reap(struct accel_stream *s, bool wait)
{
	struct accel_result r[REAP_MAX];
	int i, n;

	if (!s->running)
		return 0;
	/* The queue ends every job in time; the limit is for a queue that does not keep its word. */
	n = accel_queue_reap(s->queue, r, REAP_MAX, wait ? 1 : 0, wait ? s->timeout_ms + 60000 : 0);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		piece_take_result(s, &r[i]);
	return wait && !n ? -ETIMEDOUT : 0;
}

static int stream_renew_lease(struct accel_stream *s)
{
	int err;

	stream_unlease(s);
	s->lost = false;
	err = stream_lease(s);
	if (!err || s->flags & ACCEL_STREAM_DEVICE_ONLY)
		return err;
	s->no_device = true;
	return 0;
}

int piece_poll(struct accel_stream *s, bool wait)
{
	int err = piece_submit_all(s);

	if (!err)
		err = piece_reap(s, wait);
	if (!err && s->lost && !s->running)
		err = stream_renew_lease(s);
	if (!err)
		err = piece_submit_all(s);
	return err;
}

int piece_rollback(struct accel_stream *s)
{
	struct piece *p;
	unsigned int i;
	int err = 0;

	if (all_settled(s))
		return 0;
	for (i = s->settled; i < s->count; i++)
		if (piece_at(s, i)->state == PIECE_RUNNING)
			accel_queue_cancel(s->queue, piece_at(s, i)->job_id);
	while (s->running && !err)
		err = piece_reap(s, true);
	if (err)
		return err;
	p = piece_at(s, s->settled);
	s->pos = p->in_pos;
	s->out.tail = p->out_pos;
	s->count = s->settled;
	if (!s->count)
		s->out.head = s->out.tail;
	ring_rewind(&s->out);
	return 0;
}
