// SPDX-License-Identifier: BSD-2-Clause
/*
 * A copy by io_uring: each buffer is read into, then written from, by itself; so many are on their way at once. The
 * buffers are memory, or a CMB that is mapped. Where io_uring is forbidden, the same is done one by one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "p2p.h"

#define NS_PER_MS 1000000ull
#define FREE_S	  120u
#define AGAIN_MAX 1000u

struct slot {
	struct slot *next;		/* in the list of free ones */
	uint8_t *buf;
	uint64_t pos;			/* of the range */
	uint32_t n, have;		/* bytes of it; read, or written */
	bool writing;
	unsigned int again;		/* how often in a row nothing was done */
};

struct p2p_ring {
	struct p2p_ring_opts o;
	struct io_uring uring;
	bool has_uring, cancelled;
	void *own;
	size_t own_nbytes;
	struct slot *slots, *free;
	unsigned int inflight;
	uint64_t next, done;
	int error;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- Making and freeing ---- */

static int buffers(struct p2p_ring *r)
{
	uint8_t *mem = r->o.mem;
	unsigned int i;

	if (!mem) {
		r->own_nbytes = (size_t)r->o.chunk * r->o.depth;
		mem = mmap(NULL, r->own_nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem == MAP_FAILED)
			return -ENOMEM;
		r->own = mem;
	}
	for (i = 0; i < r->o.depth; i++) {
		r->slots[i].buf = mem + (size_t)i * r->o.chunk;
		r->slots[i].next = r->free;
		r->free = &r->slots[i];
	}
	return 0;
}

int p2p_ring_new(const struct p2p_ring_opts *opts, struct p2p_ring **ring)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CLAMP };
	struct p2p_ring *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	r->o = *opts;
	r->slots = calloc(opts->depth, sizeof(*r->slots));
	ret = r->slots ? buffers(r) : -ENOMEM;
	if (ret) {
		p2p_ring_free(r);
		return ret;
	}
	r->has_uring = !io_uring_queue_init_params(2 * opts->depth, &r->uring, &p);
	if (r->has_uring && !(p.features & IORING_FEAT_EXT_ARG)) {
		io_uring_queue_exit(&r->uring);
		r->has_uring = false;
	}
	*ring = r;
	return 0;
}

void p2p_ring_cancel(struct p2p_ring *r)
{
	r->cancelled = true;
}

uint64_t p2p_ring_done(const struct p2p_ring *r)
{
	return r->done;
}

void p2p_ring_free(struct p2p_ring *r)
{
	unsigned int i;

	if (!r)
		return;
	p2p_ring_cancel(r);
	/* The devices' own time limits are shorter. What is left then, the ring's end waits for. */
	for (i = 0; r->inflight && i < FREE_S; i++)
		p2p_ring_step(r, 1000);
	if (r->has_uring)
		io_uring_queue_exit(&r->uring);
	if (r->own)
		munmap(r->own, r->own_nbytes);
	free(r->slots);
	free(r);
}

/* ---- One transfer ---- */

struct transfer {
	int fd;
	uint64_t off;
	uint32_t n;
};

/* Direct if place and length are whole blocks, which a read is rounded up to, and a write to a device filled up to. */
static struct transfer transfer_of(const struct p2p_ring *r, struct slot *s)
{
	const struct p2p_end *e = s->writing ? r->o.dst : r->o.src;
	struct transfer t = { e->plain, e->off + r->o.from + s->pos + s->have, s->n - s->have };
	uint32_t rest = t.n & (e->block - 1);

	if (!e->direct || t.off & (e->block - 1) || (rest && e->write && !e->is_block))
		return t;
	if (rest && e->write)
		memset(s->buf + s->n, 0, e->block - rest);
	t.fd = e->fd;
	t.n += rest ? e->block - rest : 0;
	return t;
}

static void finish(struct p2p_ring *r, struct slot *s, int error)
{
	if (error && !r->error)
		r->error = error;
	if (!error)
		r->done += s->n;
	s->next = r->free;
	r->free = s;
}

static void submit(struct p2p_ring *r, struct slot *s);

/* Part of it is there: from whole blocks on it can go on, and a file may have ended. */
static void completed(struct p2p_ring *r, struct slot *s, int res)
{
	if ((res == -EINTR || res == -EAGAIN) && s->again++ < AGAIN_MAX) {
		submit(r, s);
		return;
	}
	s->again = 0;
	if (res == -EINTR || res == -EAGAIN)
		res = -EIO;
	if (res <= 0)
		res = res ? res : s->writing ? -ENOSPC : -ENODATA;
	if (res < 0 || (r->error && !s->writing)) {
		finish(r, s, res < 0 ? res : r->error);
		return;
	}
	s->have += (uint32_t)res < s->n - s->have ? (uint32_t)res : s->n - s->have;
	if (s->have == s->n && s->writing) {
		finish(r, s, 0);
		return;
	}
	if (s->have == s->n) {
		s->writing = true;
		s->have = 0;
	}
	submit(r, s);
}

static void submit(struct p2p_ring *r, struct slot *s)
{
	struct transfer t = transfer_of(r, s);
	struct io_uring_sqe *sqe = r->has_uring ? io_uring_get_sqe(&r->uring) : NULL;
	ssize_t res;

	if (sqe) {
		if (s->writing)
			io_uring_prep_write(sqe, t.fd, s->buf + s->have, t.n, t.off);
		else
			io_uring_prep_read(sqe, t.fd, s->buf + s->have, t.n, t.off);
		io_uring_sqe_set_data(sqe, s);
		r->inflight++;
		return;
	}
	res = s->writing ? pwrite(t.fd, s->buf + s->have, t.n, (off_t)t.off) :
			   pread(t.fd, s->buf + s->have, t.n, (off_t)t.off);
	completed(r, s, res < 0 ? -errno : (int)res);
}

/* ---- All ---- */

static void start_more(struct p2p_ring *r)
{
	struct slot *s;

	while ((s = r->free) && r->next < r->o.nbytes && !r->error && !r->cancelled) {
		r->free = s->next;
		s->pos = r->next;
		s->n = r->o.nbytes - r->next < r->o.chunk ? (uint32_t)(r->o.nbytes - r->next) : r->o.chunk;
		s->have = 0;
		s->writing = false;
		r->next += s->n;
		submit(r, s);
		if (!r->has_uring)
			return;
	}
}

/* At least one completion, if any comes in time. */
static int reap(struct p2p_ring *r, uint64_t left_ms)
{
	struct __kernel_timespec ts = { (long long)(left_ms / 1000), (long long)(left_ms % 1000 * NS_PER_MS) };
	struct io_uring_cqe *cqe;
	struct slot *s;
	int ret, n = 0;

	ret = left_ms ? io_uring_submit_and_wait_timeout(&r->uring, &cqe, 1, &ts, NULL) : io_uring_submit(&r->uring);
	if (ret < 0 && ret != -ETIME && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
		return ret;
	while (!io_uring_peek_cqe(&r->uring, &cqe)) {
		s = io_uring_cqe_get_data(cqe);
		ret = cqe->res;
		io_uring_cqe_seen(&r->uring, cqe);
		r->inflight--;
		completed(r, s, ret);
		n++;
	}
	return n;
}

static int outcome(const struct p2p_ring *r)
{
	if (r->inflight)
		return 0;
	if (r->error)
		return r->error;
	if (r->done == r->o.nbytes)
		return 1;
	return r->cancelled ? -ECANCELED : 0;
}

int p2p_ring_step(struct p2p_ring *r, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * NS_PER_MS, now, left = 0;
	int ret;

	do {
		start_more(r);
		now = now_ns();
		/* Of what has been started the ring knows at least at the end of the step. */
		left = end == UINT64_MAX ? 1000 : now < end ? (end - now) / NS_PER_MS + 1 : 0;
		if (r->inflight) {
			ret = reap(r, left);
			if (ret < 0 && !r->error)
				r->error = ret;
		}
		ret = outcome(r);
	} while (!ret && now < end);
	return ret;
}
