// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of a connection: accepted by one reactor, adopted by another, ICReq, Connect, a queue, an end. Whatever
 * ends it, its requests are cancelled, waited for and put before the controller hears of it and its memory goes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "conn.h"

#define END_NS		NS_PER_S	/* for the peer to take what we say last, and to close */
#define STALL_NS	(10 * NS_PER_S)	/* a peer that keeps memory from others without moving */
#define MEM_WAIT_NS	(5 * NS_PER_S)	/* then a command that finds no memory is answered, so that it is sent again */
#define MEM_LONG_NS	(25 * NS_PER_S)	/* even if others find some now and then: hosts wait for 30 s, most of them */
#define WATCH_NS	(2 * NS_PER_S)
#define FIRST_FAILED	8u		/* commands before Connect that may fail */

void conn_dirty(struct conn *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	c->dirty_next = c->r->dirty;
	c->r->dirty = c;
}

static bool sends(const struct conn *c)
{
	return c->tx_first || c->nown;
}

void conn_events(struct conn *c)
{
	uint32_t events = 0;

	if (c->state == CONN_CLOSED)
		return;
	if (!c->paused)
		events |= EPOLLIN;
	if (sends(c))
		events |= EPOLLOUT;
	if (events != c->events)
		reactor_mod(c->r, &c->src, events);
	c->events = events;
}

/* ---- Ends ---- */

static void each_req(struct conn *c, void (*fn)(struct req *req))
{
	uint32_t i, n = c->nfresh;

	if (c->first.state != REQ_FREE)
		fn(&c->first);
	for (i = 0; i < n; i++)
		if (c->table[i].state != REQ_FREE)
			fn(&c->table[i]);
}

static void to_drop(struct conn *c, struct req *req)
{
	req->next = c->drop;
	c->drop = req;
}

/* Of what is to be sent only responses are of use now; the first PDU may be half sent already. */
static void drop_r2ts(struct conn *c)
{
	struct req *req = c->tx_first, *next;
	bool first = true;

	c->tx_first = NULL;
	for (; req; req = next, first = false) {
		next = req->next;
		if (req->state == REQ_R2T && !(first && c->tx_off))
			to_drop(c, req);
		else
			tx_append(c, req);
	}
}

static void forget_input(struct conn *c)
{
	free(c->kept);
	c->kept = NULL;
	c->nkept = 0;
	c->paused = 0;
	c->rx_req = NULL;
}

void conn_end(struct conn *c, const char *why)
{
	if (c->state >= CONN_ENDING)
		return;
	log_event(c->t, LOG_DEBUG, "disconnecting", "peer=%s qid=%u reason=%s", c->peer, c->qid, why);
	c->state = CONN_ENDING;
	if (c->r->hot == c)
		c->r->hot = NULL;
	forget_input(c);
	drop_r2ts(c);
	each_req(c, req_cancel);
	reactor_timer_set(c->r, &c->timer, c->r->now + END_NS);
	conn_events(c);
	conn_dirty(c);
}

void conn_close(struct conn *c, const char *why)
{
	struct req *req;

	if (c->state == CONN_CLOSED)
		return;
	log_event(c->t, LOG_DEBUG, "disconnected", "peer=%s qid=%u reason=%s", c->peer, c->qid, why);
	c->state = CONN_CLOSED;
	if (c->r->hot == c)
		c->r->hot = NULL;
	reactor_timer_clear(c->r, &c->timer);
	close(c->src.fd);	/* and out of the epoll set */
	c->src.fd = -1;
	forget_input(c);
	c->nown = 0;
	while ((req = c->tx_first)) {
		c->tx_first = req->next;
		to_drop(c, req);
	}
	each_req(c, req_cancel);
	conn_dirty(c);
}

static void failed(struct conn *c)
{
	count(&c->t->count.conns_failed, 1);
}

void conn_fatal(struct conn *c, uint16_t fes, uint32_t fei, const char *why)
{
	if (c->state >= CONN_ENDING)
		return;
	failed(c);
	count(&c->t->count.fes[fes & 7], 1);
	log_event(c->t, LOG_WARNING, "transport-error", "peer=%s qid=%u fes=%u fei=%u reason=\"%s\"", c->peer, c->qid,
		  fes, fei, why);
	/* Unless ICResp is still on its way out, which means that the peer does not read. */
	if (!c->nown) {
		tx_own(c, ntcp_put_term(NTCP_CTRL, c->own, fes, fei, &c->rx));
		count(&c->t->count.term_sent, 1);
	}
	conn_end(c, "transport-error");
}

static void timed_out(struct reactor_timer *timer)
{
	struct conn *c = (struct conn *)((char *)timer - offsetof(struct conn, timer));

	if (c->state == CONN_ENDING) {
		conn_close(c, "ended");
		return;
	}
	failed(c);
	log_event(c->t, LOG_WARNING, "handshake-timeout", "peer=%s waited_for=%s", c->peer,
		  c->state == CONN_IC ? "ICReq" : "Connect");
	conn_close(c, "handshake-timeout");
}

static void close_msg(struct reactor_msg *msg)
{
	struct conn *c = (struct conn *)((char *)msg - offsetof(struct conn, close_msg));

	c->close_ran = true;
	conn_end(c, c->close_why);
	conn_dirty(c);
}

void conn_close_later(struct conn *c, const char *why)
{
	if (__atomic_exchange_n(&c->close_posted, 1, __ATOMIC_ACQ_REL))
		return;
	c->close_why = why;
	c->close_msg.fn = close_msg;
	reactor_post(c->r, &c->close_msg);
}

/* ---- The end of a turn ---- */

static void unlink_conn(struct conn *c)
{
	*(c->prev ? &c->prev->next : &c->r->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
}

static void leave_ctrl(struct conn *c)
{
	struct ctrl *ctrl = c->ctrl;

	c->ctrl = NULL;
	if (ctrl)
		queue_gone(ctrl, c->qid, c);
}

static void conn_free(struct conn *c)
{
	leave_ctrl(c);
	/* Nobody knows the connection any more, but a message may still be on its way. */
	if (__atomic_load_n(&c->close_posted, __ATOMIC_ACQUIRE) && !c->close_ran)
		return;
	unlink_conn(c);
	reqs_free(c);
	if (c->mh)
		mem_host_put(c->t->mem, c->mh);
	count(&c->t->count.conns_now, -1);
	__atomic_fetch_sub(&c->r->nconn, 1, __ATOMIC_RELEASE);
	free(c);
}

/* Of a queue nothing is left then, however long the peer keeps the connection. */
static void say_goodbye(struct conn *c)
{
	if (!c->shut && !sends(c)) {
		c->shut = true;
		shutdown(c->src.fd, SHUT_WR);
	}
	if (c->shut && !c->inflight && !c->drop)
		leave_ctrl(c);
}

/* True: nothing is left of it. */
static bool turn_end(struct conn *c)
{
	struct req *req;

	while ((req = c->drop)) {
		c->drop = req->next;
		req_put(req);
	}
	if (c->state != CONN_CLOSED)
		conn_send(c);
	if (c->nfailed >= FIRST_FAILED)
		conn_end(c, "not-connected");
	if (c->state == CONN_ENDING)
		say_goodbye(c);
	return c->state == CONN_CLOSED && !c->inflight && !c->drop && !c->dirty;
}

static void add(uint64_t *to, uint64_t *n)
{
	if (*n)
		count(to, *n);
	*n = 0;
}

void tally_flush(struct reactor *r)
{
	struct counters *to = &r->t->count;
	struct tally *t = &r->tally;
	uint64_t now = (uint64_t)t->now;
	unsigned int i;

	add(&to->cmds_now, &now);
	t->now = 0;
	if (!(t->admin | t->read | t->write | t->other | t->ok | t->failed | t->bytes_in | t->bytes_out))
		return;
	add(&to->cmds_admin, &t->admin);
	add(&to->cmds_read, &t->read);
	add(&to->cmds_write, &t->write);
	add(&to->cmds_other, &t->other);
	add(&to->cmds_failed, &t->failed);
	add(&to->cmds_aborted, &t->aborted);
	add(&to->by_sc[0][0], &t->ok);
	add(&to->bytes_in, &t->bytes_in);
	add(&to->bytes_out, &t->bytes_out);
	for (i = 0; i < 40; i++)
		add(&to->lat_log2[i], &t->lat_log2[i]);
}

void conns_turn_end(struct reactor *r)
{
	struct conn *c;

	ns_turn_end(r);
	if (r->dirty)
		r->now = now_ns();
	while ((c = r->dirty)) {
		r->dirty = c->dirty_next;
		c->dirty = false;
		if (turn_end(c))
			conn_free(c);
		ns_turn_end(r);		/* what it executed because there was memory, or room, again */
	}
	tally_flush(r);
}

/* ---- The begin ---- */

static void on_event(struct source *src, uint32_t events)
{
	struct conn *c = (struct conn *)src;	/* src is its first member */

	if (c->state == CONN_CLOSED)
		return;
	/* Told of whether asked for or not, so there must be an end to it. */
	if (events & (EPOLLERR | EPOLLHUP) && (c->paused || c->state == CONN_ENDING)) {
		conn_close(c, "closed-by-peer");
		return;
	}
	if (events & EPOLLOUT)
		conn_dirty(c);
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		conn_readable(c);
}

/* In its own reactor. */
static void adopt(struct reactor_msg *msg)
{
	struct conn *c = (struct conn *)((char *)msg - offsetof(struct conn, msg));
	struct reactor *r = c->r;
	int rc;

	c->next = r->conns;
	if (c->next)
		c->next->prev = c;
	r->conns = c;
	c->progress_ns = r->now;
	c->timer.fn = timed_out;
	c->events = EPOLLIN;
	rc = reactor_add(r, &c->src, c->events);
	if (rc)
		log_event(c->t, LOG_ERROR, "epoll", "peer=%s error=\"%s\"", c->peer, strerror(-rc));
	if (rc || r->draining) {
		conn_close(c, "stopping");
		return;
	}
	reactor_timer_set(r, &c->timer, r->now + c->t->conf->handshake_ms * NS_PER_MS);
}

static void peer_text(struct conn *c, const struct sockaddr_storage *ss)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (ss->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(c->peer, sizeof(c->peer), "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(c->peer, sizeof(c->peer), "%s:%u", host, ntohs(in->sin_port));
	}
}

void conn_start(struct reactor *r, int fd, const struct sockaddr_storage *peer)
{
	static const struct ntcp_params params = { .role = NTCP_CTRL };
	struct conn *c = calloc(1, sizeof(*c));
	socklen_t len = sizeof(c->local);

	if (!c) {
		count(&r->t->count.conns_refused, 1);
		close(fd);
		return;
	}
	c->src = (struct source){ .fn = on_event, .fd = fd };
	c->r = r;
	c->t = r->t;
	c->p = params;
	c->first.conn = c;
	ntcp_rx_init(&c->rx, &params);
	peer_text(c, peer);
	getsockname(fd, (struct sockaddr *)&c->local, &len);
	count(&c->t->count.conns, 1);
	count(&c->t->count.conns_now, 1);
	__atomic_fetch_add(&r->nconn, 1, __ATOMIC_RELAXED);
	c->msg.fn = adopt;
	reactor_post(r, &c->msg);
}

int conn_become_queue(struct conn *c, struct ctrl *ctrl, uint16_t qid, uint16_t sqsize, bool no_sqflow)
{
	if (c->state != CONN_NEW)
		return -ENOTCONN;
	if (sqsize >= MAX_QUEUE_DEPTH)	/* transfer tags have room for no more */
		return -EINVAL;
	if (reqs_init(c, sqsize + 1u))
		return -ENOMEM;
	c->mh = mem_host_get(c->t->mem, ctrl_host(ctrl));
	if (!c->mh) {
		reqs_free(c);
		return -ENOMEM;
	}
	c->ctrl = ctrl;
	c->qid = qid;
	c->sqsize = sqsize;
	c->no_sqflow = no_sqflow;
	c->sqhd = 1;	/* behind Connect */
	if (qid)
		c->p.max_icd = c->rx.p.max_icd = c->t->conf->in_capsule;
	c->state = CONN_LIVE;
	reactor_timer_clear(c->r, &c->timer);
	return 0;
}

/* ---- All of a reactor ---- */

void conns_drain(struct reactor *r)
{
	r->draining = true;
}

void conns_close(struct reactor *r)
{
	struct conn *c;

	r->draining = true;
	for (c = r->conns; c; c = c->next)
		conn_close(c, "stopping");
}

static bool needs_peer(const struct conn *c)
{
	return c->state != CONN_CLOSED && (c->ntransfer || c->nmem || c->rx_req || sends(c));
}

void conn_watch(struct conn *c)
{
	struct reactor *r = c->r;

	if (!r->stall.due_ns)
		reactor_timer_set(r, &r->stall, r->now + WATCH_NS);
}

void conns_stalled(struct reactor_timer *timer)
{
	struct reactor *r = (struct reactor *)((char *)timer - offsetof(struct reactor, stall));
	bool is_short = mem_short(r->t->mem);
	struct conn *c;

	for (c = r->conns; c; c = c->next) {
		if (!needs_peer(c))
			continue;
		conn_watch(c);
		if (c->nmem)
			reqs_expire(c, r->now - MEM_WAIT_NS, r->now - MEM_LONG_NS);
		/* One that waits for memory itself is not read, and may well send. */
		if (!is_short || ((c->paused || !(c->ntransfer || c->rx_req)) && !sends(c)) ||
		    r->now - c->progress_ns < STALL_NS)
			continue;
		log_event(r->t, LOG_WARNING, "stalled", "peer=%s qid=%u hint=\"others wait for the memory it has\"",
			  c->peer, c->qid);
		conn_close(c, "stalled");
	}
}

/* ---- For the rest of the daemon ---- */

struct target *conn_target(const struct conn *c)
{
	return c->t;
}

struct reactor *conn_reactor(const struct conn *c)
{
	return c->r;
}

const char *conn_peer(const struct conn *c)
{
	return c->peer;
}

const struct sockaddr_storage *conn_local(const struct conn *c)
{
	return &c->local;
}

unsigned int conn_inflight(const struct conn *c)
{
	return c->inflight;
}
