/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor to measure against: the same bytes over a plain TCP connection between two processes that do nothing
 * else. One end answers each request of so many bytes by so many, sending what is due at once, or takes a
 * stream; like those of the daemon its reads block, or spin where polling is compared with polling.
 */
#ifndef BENCH_TCP_BARE_H
#define BENCH_TCP_BARE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench_tcp_util.h"

#define BARE_DEPTH 32u			/* requests in flight at most */
#define BARE_CHUNKS 16u
#define BARE_RING  (16u << 20)		/* a stream is received to memory of this size, as RAM disks have it */

struct bare {
	int fd;
	pid_t pid;
	size_t out, back;		/* bytes of a request, of a reply; back 0: a stream, total bytes long */
	size_t total;
	bool spin;
	uint8_t *buf;
};

/* The same congestion control on every TCP socket of this process, also the library's. */
static void use_congestion(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, BENCH_CONGESTION, strlen(BENCH_CONGESTION));
}

/*
 * At least one byte; 0 at the end of the connection. Spinning is bounded, as the daemon's is: who is not being
 * measured leaves the processor to who is.
 */
static size_t bare_recv(const struct bare *b, void *p, size_t n)
{
	double until = b->spin ? wall_ns() + POLL_US * 1e3 : 0;
	bool again = false;
	ssize_t got;

	do {
		/* Both ends may be on one processor just now. */
		if (again)
			sched_yield();
		again = b->spin && wall_ns() < until;
		got = recv(b->fd, p, n, again ? MSG_DONTWAIT : 0);
	} while (got < 0 && (errno == EINTR || (again && errno == EAGAIN)));
	return got > 0 ? (size_t)got : 0;
}

static bool bare_send(const struct bare *b, const uint8_t *p, size_t n)
{
	ssize_t did;

	for (; n; p += did, n -= (size_t)did) {
		did = send(b->fd, p, n, MSG_NOSIGNAL);
		if (did <= 0)
			return false;
	}
	return true;
}

static void bare_answer(const struct bare *b)
{
	size_t have = 0, n, cap = BARE_DEPTH * b->out;

	while ((n = bare_recv(b, b->buf, cap))) {
		have += n;
		n = have / b->out;
		have %= b->out;
		if (n && !bare_send(b, b->buf, n * b->back))
			return;
	}
}

static void bare_take(const struct bare *b)
{
	size_t have = 0, at = 0, n, room;

	for (;;) {
		room = b->total - have < BARE_RING - at ? b->total - have : BARE_RING - at;
		n = bare_recv(b, b->buf + at, room < 1 << 20 ? room : 1 << 20);
		if (!n)
			return;
		at = (at + n) % BARE_RING;
		have += n;
		if (have < b->total)
			continue;
		have = 0;
		if (!bare_send(b, b->buf, 1))
			return;
	}
}

static void bare_socket(int fd)
{
	struct timeval limit = { .tv_sec = 20 };
	int one = 1;

	use_congestion(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static void bare_end(struct bare *b, int lfd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	b->fd = accept(lfd, NULL, NULL);
	if (b->fd < 0)
		_exit(1);
	bare_socket(b->fd);
	if (b->back)
		bare_answer(b);
	else
		bare_take(b);
	_exit(0);
}

static void bare_start(struct bare *b)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = 20 };
	size_t most = b->back > b->out ? b->back : b->out;
	int lfd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t self = getpid();
	socklen_t len = sizeof(sa);

	/* Touched here, so that neither end's first rounds pay for its pages. */
	b->buf = malloc(b->back ? BARE_DEPTH * most : BARE_RING);
	check(b->buf != NULL, "no memory");
	memset(b->buf, 0x5a, b->back ? BARE_DEPTH * most : BARE_RING);
	check(lfd >= 0 && !bind(lfd, (struct sockaddr *)&sa, sizeof(sa)) && !listen(lfd, 1) &&
	      !getsockname(lfd, (struct sockaddr *)&sa, &len), "cannot listen on loopback");
	b->pid = fork();
	check(b->pid >= 0, "cannot fork");
	if (!b->pid)
		bare_end(b, lfd, self);
	b->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(b->fd >= 0 && !connect(b->fd, (struct sockaddr *)&sa, sizeof(sa)), "cannot connect on loopback");
	close(lfd);
	bare_socket(b->fd);
	setsockopt(b->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void bare_stop(struct bare *b)
{
	close(b->fd);
	waitpid(b->pid, NULL, 0);
	free(b->buf);
}

/* n requests one at a time; the time of each to ns. */
static void bare_ping(struct bare *b, double *ns, unsigned int n)
{
	size_t got, step;
	unsigned int i;

	for (i = 0; i < n; i++) {
		double t = wall_ns();

		check(bare_send(b, b->buf, b->out), "bare send failed");
		for (got = 0; got < b->back; got += step) {
			step = bare_recv(b, b->buf, b->back - got);
			check(step != 0, "bare reply did not come");
		}
		ns[i] = wall_ns() - t;
	}
}

/* n requests, BARE_DEPTH in flight, half of them sent and received at a time: requests a second. */
static double bare_deep(struct bare *b, unsigned int n)
{
	unsigned int sent = 0, got = 0, burst = BARE_DEPTH;
	size_t have = 0, step;
	double t = wall_ns();

	while (got < n) {
		if (burst > n - sent)
			burst = n - sent;
		check(bare_send(b, b->buf, burst * b->out), "bare send failed");
		sent += burst;
		burst = (sent - got + 1) / 2;
		while (have < burst * b->back) {
			step = bare_recv(b, b->buf, BARE_DEPTH * b->back - have);
			check(step != 0, "bare replies did not come");
			have += step;
		}
		burst = (unsigned int)(have / b->back);
		have %= b->back;
		got += burst;
	}
	return n / (wall_ns() - t) * 1e9;
}

/* A stream of total bytes from a few chunks, as a queue's buffers are, one at a time until the other end has them all: bytes a second. */
static double bare_stream(struct bare *b, size_t chunk)
{
	size_t n, at = 0, left = b->total;
	double t = wall_ns();
	uint8_t ack;

	for (; left; left -= n, at = (at + n) % (BARE_CHUNKS * chunk)) {
		n = chunk < left ? chunk : left;
		check(bare_send(b, b->buf + at, n), "bare send failed");
	}
	check(bare_recv(b, &ack, 1) == 1, "the stream was not taken");
	return (double)b->total / (wall_ns() - t) * 1e9;
}

#endif
