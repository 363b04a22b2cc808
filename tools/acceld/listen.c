// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sockets that listen. The first reactor accepts and gives each connection to the reactor that has the fewest. At the
 * limit connections are accepted and closed at once: that costs nothing and tells the peer.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "conn.h"

#define BACKLOG		1024
#define ACCEPTS_A_TURN	64
#define PAUSE_NS	(100 * NS_PER_MS)	/* when the system has no more sockets */

struct listener {
	struct source src;
	struct listener *next;
	struct listeners *all;
	struct reactor_timer pause;
	struct conf_listen conf;	/* as configured */
	struct sockaddr_storage actual;	/* with the port that the system chose for 0 */
	bool wanted, is_new;
};

struct listeners {
	struct target *t;
	struct listener *first;
	int spare_fd;			/* given up for a moment to refuse a connection when there are no more */
	unsigned int turn;
};

/* ---- Accepting ---- */

static struct reactor *least_loaded(struct listeners *all)
{
	struct target *t = all->t;
	unsigned int i, n, least = UINT32_MAX;
	struct reactor *r, *best = NULL;

	all->turn++;
	for (i = 0; i < t->nreactor; i++) {
		r = t->reactor[(i + all->turn) % t->nreactor];
		n = __atomic_load_n(&r->nconn, __ATOMIC_RELAXED);
		if (n < least) {
			least = n;
			best = r;
		}
	}
	return best;
}

static bool at_limit(const struct target *t)
{
	return __atomic_load_n(&t->count.conns_now, __ATOMIC_RELAXED) >= t->conf->max_conns;
}

static void refuse(struct target *t, int fd)
{
	close(fd);
	count(&t->count.conns_refused, 1);
	log_event(t, LOG_WARNING, "connection-refused", "reason=max_conns limit=%u", t->conf->max_conns);
}

static void resume(struct reactor_timer *timer)
{
	struct listener *l = (struct listener *)((char *)timer - offsetof(struct listener, pause));

	reactor_mod(l->all->t->reactor[0], &l->src, EPOLLIN);
}

/* A connection stays in the queue and would be told of again at once, so there is no listening for a moment. */
static void pause_listener(struct listener *l)
{
	struct reactor *r = l->all->t->reactor[0];

	reactor_mod(r, &l->src, 0);
	l->pause.fn = resume;
	reactor_timer_set(r, &l->pause, r->now + PAUSE_NS);
}

static void no_more_files(struct listener *l, int error)
{
	struct listeners *all = l->all;
	int fd;

	log_event(all->t, LOG_ERROR, "accept", "error=\"%s\" hint=\"raise LimitNOFILE or lower max_conns\"",
		  strerror(error));
	if (error == EMFILE && all->spare_fd >= 0) {
		close(all->spare_fd);
		fd = accept4(l->src.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		all->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		count(&all->t->count.conns_refused, 1);
	}
	pause_listener(l);
}

/* False: nothing more to accept for now. */
static bool accept_one(struct listener *l)
{
	struct target *t = l->all->t;
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(l->src.fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		no_more_files(l, errno);
		return false;
	}
	if (fd < 0)	/* one that was reset meanwhile is no reason to stop */
		return errno == ECONNABORTED || errno == EINTR;
	if (at_limit(t))
		refuse(t, fd);
	else
		conn_start(least_loaded(l->all), fd, &peer);
	return true;
}

static void on_listen(struct source *src, uint32_t events)
{
	struct listener *l = (struct listener *)src;	/* its first member */
	int i = 0;

	(void)events;
	while (i++ < ACCEPTS_A_TURN && accept_one(l))
		;
}

/* ---- Opening ---- */

static void option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

/* Connections inherit these, so that none of it is done for each. A peer that is gone without a word is noticed
 * within a minute. */
static void set_options(struct target *t, int fd)
{
	const char *cc = t->conf->congestion;

	option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
	option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
	option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 60000);
	if (*cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)))
		log_event(t, LOG_WARNING, "congestion-control",
			  "name=%s error=\"%s\" hint=\"see /proc/sys/net/ipv4/tcp_allowed_congestion_control; "
			  "the system's default is used\"", cc, strerror(errno));
}

static const char *hint(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another program listens there: stop it or choose another port with -l ADDR:PORT";
	case EACCES:
	case EPERM:
		return "ports below 1024 need CAP_NET_BIND_SERVICE: choose another port, 4420 is usual";
	case EADDRNOTAVAIL:
		return "this machine has no such address";
	case EAFNOSUPPORT:
		return "this machine does not speak this version of IP";
	default:
		return "";
	}
}

static int open_socket(struct target *t, const struct conf_listen *conf)
{
	int fd = socket(conf->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	set_options(t, fd);
	/* What listens on all addresses of IPv6 leaves those of IPv4 to others. */
	if (conf->addr.ss_family == AF_INET6)
		option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!bind(fd, (const struct sockaddr *)&conf->addr, conf->addrlen) && !listen(fd, BACKLOG))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static in_port_t *port_of(struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		return &((struct sockaddr_in6 *)ss)->sin6_port;
	return &((struct sockaddr_in *)ss)->sin_port;
}

/* The address as it is, with the port that the system may have chosen. */
static void say(const struct listener *l, const char *event)
{
	struct sockaddr_storage actual = l->actual;
	const char *colon = strrchr(l->conf.text, ':');

	log_event(l->all->t, LOG_INFO, event, "addr=%.*s:%u",
		  colon ? (int)(colon - l->conf.text) : (int)strlen(l->conf.text), l->conf.text,
		  ntohs(*port_of(&actual)));
}

static void learn_address(struct listener *l)
{
	socklen_t len = sizeof(l->actual);

	if (getsockname(l->src.fd, (struct sockaddr *)&l->actual, &len))
		l->actual = l->conf.addr;
}

static int listener_open(struct listeners *all, const struct conf_listen *conf)
{
	struct listener *l = calloc(1, sizeof(*l));
	int rc = -ENOMEM;

	if (l) {
		l->src = (struct source){ .fn = on_listen, .fd = open_socket(all->t, conf) };
		l->all = all;
		l->conf = *conf;
		l->wanted = l->is_new = true;
		rc = l->src.fd < 0 ? l->src.fd : reactor_add(all->t->reactor[0], &l->src, EPOLLIN);
	}
	if (!rc) {
		l->next = all->first;
		all->first = l;
		learn_address(l);
		say(l, "listening");
		return 0;
	}
	log_event(all->t, LOG_ERROR, "listen", "addr=%s error=\"%s\" hint=\"%s\"", conf->text, strerror(-rc),
		  hint(-rc));
	if (l && l->src.fd >= 0)
		close(l->src.fd);
	free(l);
	return rc;
}

/* ---- Closing: the reactor may be in the middle of accepting, so it is waited for ---- */

struct quiet {
	struct reactor_msg msg;
	struct listener *l;
};

/* A timer can be cleared in its own reactor only. */
static void quiet(struct reactor_msg *msg)
{
	struct listener *l = ((struct quiet *)msg)->l;
	struct reactor *r = l->all->t->reactor[0];

	reactor_timer_clear(r, &l->pause);
	reactor_del(r, &l->src);
}

static void listener_close(struct listener *l)
{
	struct quiet q = { .msg.fn = quiet, .l = l };
	struct target *t = l->all->t;

	if (t->nreactor) {
		reactor_post(t->reactor[0], &q.msg);
		/* Events of the turn in which it was removed may still name it; in the second one none does. */
		reactors_sync(t);
		reactors_sync(t);
	}
	say(l, "not-listening");
	close(l->src.fd);
	free(l);
}

static void close_unwanted(struct listeners *all)
{
	struct listener **at = &all->first, *l;

	while ((l = *at)) {
		if (l->wanted) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		listener_close(l);
	}
}

/* One that listens there, be it that this was configured or that the system chose it. */
static struct listener *find(struct listeners *all, const struct conf_listen *conf)
{
	struct sockaddr_storage actual;
	struct listener *l;

	for (l = all->first; l; l = l->next) {
		actual = l->conf.addr;
		*port_of(&actual) = *port_of(&l->actual);
		if (l->conf.addrlen == conf->addrlen && (!memcmp(&l->conf.addr, &conf->addr, conf->addrlen) ||
							 !memcmp(&actual, &conf->addr, conf->addrlen)))
			return l;
	}
	return NULL;
}

static struct listeners *listeners_get(struct target *t)
{
	struct listeners *all = t->listeners;

	if (all)
		return all;
	all = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	all->t = t;
	all->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	t->listeners = all;
	return all;
}

/* If one address cannot be had, all is as it was before; each such address is named. */
static void keep_old(struct listeners *all, bool old)
{
	struct listener *l;

	for (l = all->first; l; l = l->next) {
		if (old)
			l->wanted = !l->is_new;
		l->is_new = false;
	}
}

int listen_update(struct target *t, struct conf *conf)
{
	struct listeners *all = listeners_get(t);
	struct listener *l;
	int rc = 0, one;
	uint32_t i;

	if (!all)
		return -ENOMEM;
	for (l = all->first; l; l = l->next)
		l->wanted = false;
	for (i = 0; i < conf->nlisten; i++) {
		l = find(all, &conf->listen[i]);
		one = l ? 0 : listener_open(all, &conf->listen[i]);
		if (l)
			l->wanted = true;
		if (one)
			rc = one;
		else
			__atomic_store_n(&conf->listen[i].port, ntohs(*port_of(l ? &l->actual : &all->first->actual)),
					 __ATOMIC_RELAXED);
	}
	keep_old(all, rc);
	close_unwanted(all);
	return rc;
}

void listen_stop(struct target *t)
{
	struct listeners *all = t->listeners;
	struct listener *l;

	if (!all)
		return;
	for (l = all->first; l; l = l->next)
		l->wanted = false;
	close_unwanted(all);
	if (all->spare_fd >= 0)
		close(all->spare_fd);
	free(all);
	t->listeners = NULL;
}
