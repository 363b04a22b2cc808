// SPDX-License-Identifier: BSD-2-Clause
/* A descriptor to poll for completions: of the socket that there is now, and of what is due by the clock. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "tcp.h"

static void watch_socket(struct transport_queue *q)
{
	struct tcp_conn *c = &q->conn;
	struct epoll_event ev = { .events = 0 };
	short events = tcp_conn_events(c);

	if (c->fd < 0 || (q->watched == c->starts && q->events == events))
		return;
	ev.events = (events & POLLIN ? EPOLLIN : 0u) | (events & POLLOUT ? EPOLLOUT : 0u);
	/* A socket that was closed is not in the set any more, whatever its number. */
	epoll_ctl(q->epoll_fd, q->watched == c->starts ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev);
	q->watched = c->starts;
	q->events = events;
}

/* When a call is due at the latest; UINT64_MAX: not before something comes. */
static uint64_t due(const struct transport_queue *q, uint64_t now)
{
	if (q->done.first)
		return now;
	if (q->conn.state != TCP_LIVE)
		return q->unsent.first ? now + TCP_TICK_MS * TCP_NS_PER_MS : UINT64_MAX;
	return q->conn.nbusy ? q->conn.check_ns : UINT64_MAX;
}

/* Set again when it has gone off (which makes it unreadable), or is too late; too early does no harm. */
void tcp_queue_watch(struct transport_queue *q, uint64_t now)
{
	struct itimerspec it = { { 0, 0 }, { 0, 0 } };
	uint64_t when;

	if (q->epoll_fd < 0)
		return;
	watch_socket(q);
	when = due(q, now);
	if (q->armed_ns > now && when >= q->armed_ns)
		return;
	q->armed_ns = when;
	if (when != UINT64_MAX) {
		it.it_value.tv_sec = (time_t)(when / 1000000000u);
		it.it_value.tv_nsec = (long)(when % 1000000000u);
	}
	timerfd_settime(q->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

int tcp_queue_fd(struct transport_queue *q)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (q->epoll_fd >= 0)
		return q->epoll_fd;
	q->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (q->epoll_fd < 0)
		return -errno;
	q->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (q->timer_fd < 0 || epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, q->timer_fd, &ev)) {
		int ret = -errno;

		if (q->timer_fd >= 0)
			close(q->timer_fd);
		close(q->epoll_fd);
		q->epoll_fd = q->timer_fd = -1;
		return ret;
	}
	q->armed_ns = UINT64_MAX;
	tcp_queue_watch(q, tcp_now());
	return q->epoll_fd;
}
