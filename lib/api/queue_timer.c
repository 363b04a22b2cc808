// SPDX-License-Identifier: BSD-2-Clause
/* What is due by the clock, and the descriptor to poll by. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "queue_priv.h"

static void deadline_passed(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->timed_out = true;
	if (r->state == REQ_SLOT) {
		list_remove(&q->slot, r);
		req_drop(q, r, now);
	} else if (r->state == REQ_SENT) {
		req_abort(q, r, now);
	} else if (r->after == NEXT_SEND || r->after == NEXT_SYNC) {
		req_drop(q, r, now);
	} else {
		req_abort(q, r, now);
		req_read(q, r, true, now);
	}
}

static void one(struct accel_queue *q, struct req *r, uint64_t now)
{
	if (r->state != REQ_SLOT && r->state != REQ_SENT && r->state != REQ_DELAY)
		return;
	if (!r->timed_out && now >= r->deadline_ns)
		deadline_passed(q, r, now);
	if (r->state == REQ_DELAY && now >= r->due_ns) {
		if (r->after == NEXT_SEND)
			req_send(q, r, now);
		else if (r->after == NEXT_SYNC)
			req_sync(q, r, now);
		else
			req_read(q, r, r->after == NEXT_WAIT, now);
	}
	if (r->state == REQ_DELAY)
		timer_by(q, r->due_ns);
	if (r->state != REQ_CPU && r->state != REQ_DONE && !r->timed_out)
		timer_by(q, r->deadline_ns);
}

void queue_timers(struct accel_queue *q, uint64_t now)
{
	uint32_t i;

	if (now < q->timer_ns)
		return;
	q->timer_ns = UINT64_MAX;
	for (i = 0; i < q->depth; i++)
		one(q, &q->reqs[i], now);
}

/* A result or a job for the CPU is there without anything having come from the transport. */
void queue_event(struct accel_queue *q)
{
	uint64_t one_more = 1;

	if (q->event_fd >= 0 && !q->event_set)
		q->event_set = write(q->event_fd, &one_more, sizeof(one_more)) == sizeof(one_more);
}

void queue_event_clear(struct accel_queue *q)
{
	uint64_t n;

	if (q->event_set && read(q->event_fd, &n, sizeof(n)) == sizeof(n))
		q->event_set = false;
}

/* So that a deadline is kept by a caller who only polls. */
void queue_fd_arm(struct accel_queue *q)
{
	struct itimerspec it = { { 0, 0 }, { 0, 0 } };
	uint64_t renew, when = q->timer_ns;

	if (q->timer_fd < 0)
		return;
	if (q->in_flight > q->ndone && !lease_ended(q->lease)) {
		renew = __atomic_load_n(&q->lease->active_ns, __ATOMIC_RELAXED) +
			(uint64_t)q->lease->duration_ms * API_NS_PER_MS / 2;
		when = BASE_MIN(when, renew);
	}
	if (when == q->timer_fd_ns)
		return;
	q->timer_fd_ns = when;
	if (when != UINT64_MAX) {
		it.it_value.tv_sec = (time_t)(when / 1000000000u);
		it.it_value.tv_nsec = (long)(when % 1000000000u);
	}
	timerfd_settime(q->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static int watch(struct accel_queue *q, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (fd < 0)
		return fd;
	return epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int fd_or_errno(int fd)
{
	return fd < 0 ? -errno : fd;
}

int queue_fd_make(struct accel_queue *q)
{
	int ret;

	if (q->epoll_fd >= 0)
		return q->epoll_fd;
	q->epoll_fd = fd_or_errno(epoll_create1(EPOLL_CLOEXEC));
	if (q->epoll_fd < 0)
		return q->epoll_fd;
	q->event_fd = fd_or_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	ret = watch(q, q->event_fd);
	if (!ret) {
		q->timer_fd = fd_or_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
		ret = watch(q, q->timer_fd);
	}
	if (!ret)
		ret = watch(q, q->ops->fd(q->tq));
	if (ret) {
		queue_fd_close(q);
		return ret;
	}
	q->timer_fd_ns = UINT64_MAX;
	if (q->done.first || q->cpu.first)
		queue_event(q);
	queue_fd_arm(q);
	return q->epoll_fd;
}

void queue_fd_close(struct accel_queue *q)
{
	if (q->epoll_fd >= 0)
		close(q->epoll_fd);
	if (q->event_fd >= 0)
		close(q->event_fd);
	if (q->timer_fd >= 0)
		close(q->timer_fd);
	q->epoll_fd = q->event_fd = q->timer_fd = -1;
	q->event_set = false;
}
