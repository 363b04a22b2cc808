// SPDX-License-Identifier: BSD-2-Clause
/*
 * Receiving: bytes that are data with a place go there straight from the socket, all else through the reactor's
 * buffer, with as few calls as possible. While a connection is paused it keeps what had been read already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "conn.h"

#define READS_A_TURN	8u	/* then others have their turn; epoll tells of the rest again */
#define DISCARD_READS	64u	/* from a peer that has been told goodbye */

/* nbytes of data that come next belong to the request from off on. */
void conn_place(struct conn *c, struct req *req, uint32_t off, uint32_t nbytes)
{
	unsigned int i, n = 0;

	for (i = 0; i < req->niov && nbytes; i++) {
		/* A capsule may carry more than an admin command needs; the buffer has room for all of it. */
		size_t len = req->buf && !i ? req->buf_nbytes : req->iov[i].iov_len, k;

		if (off >= len) {
			off -= (uint32_t)len;
			continue;
		}
		k = BASE_MIN(len - off, (size_t)nbytes);
		c->sink[n].iov_base = (uint8_t *)req->iov[i].iov_base + off;
		c->sink[n++].iov_len = k;
		nbytes -= (uint32_t)k;
		off = 0;
	}
	ntcp_rx_sink(&c->rx, c->sink, n);
	c->rx_req = req;
	conn_watch(c);
}

static void send_icresp(struct conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	const struct conf *conf = c->t->conf;
	struct ntcp_params *p = &c->p;
	uint8_t dgst;

	p->hdgst = conf->hdgst && pdu->icreq.dgst & NTCP_F_HDGST;
	p->ddgst = conf->ddgst && pdu->icreq.dgst & NTCP_F_DDGST;
	p->tx_pda = pdu->icreq.hpda;
	p->rx_pda = 0;
	p->max_icd = BASE_MAX(conf->in_capsule, ADMIN_ICD);
	p->max_data = conf->max_transfer;
	ntcp_rx_ready(&c->rx, p);
	dgst = (uint8_t)((p->hdgst ? NTCP_F_HDGST : 0) | (p->ddgst ? NTCP_F_DDGST : 0));
	tx_own(c, ntcp_put_icresp(c->own, 0, dgst, conf->max_transfer));
	c->state = CONN_NEW;
	/* The same time again for Connect. */
	reactor_timer_set(c->r, &c->timer, c->r->now + conf->handshake_ms * NS_PER_MS);
}

static void peer_terminated(struct conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;

	count(&c->t->count.term_received, 1);
	log_event(c->t, LOG_WARNING, "term-received", "peer=%s qid=%u fes=%u reason=\"%s\" fei=%u", c->peer, c->qid,
		  pdu->term.fes, ntcp_fes_str(pdu->term.fes), pdu->term.fei);
	conn_close(c, "term-received");
}

/* While the daemon drains, what has begun may end and nothing else begins. */
static bool refuse_new(struct conn *c)
{
	return c->r->draining && !c->ntransfer;
}

static void take_header(struct conn *c)
{
	switch (c->rx.pdu.type) {
	case NTCP_ICREQ:
		send_icresp(c);
		break;
	case NTCP_CMD:
		if (refuse_new(c)) {
			c->paused |= PAUSE_DRAIN;
			conn_events(c);
			break;
		}
		req_command(c);
		break;
	case NTCP_H2C_DATA:
		req_data_begin(c);
		break;
	default:	/* the receiver lets nothing else through to a controller */
		peer_terminated(c);
	}
}

static void take_data_end(struct conn *c)
{
	struct req *req = c->rx_req;

	c->rx_req = NULL;
	c->r->tally.bytes_in += c->rx.pdu.data_len;
	if (!c->rx.ddgst_ok) {
		count(&c->t->count.digest_errors, 1);
		log_event(c->t, LOG_WARNING, "data-digest", "peer=%s qid=%u", c->peer, c->qid);
	}
	if (!req)
		return;
	if (c->rx.pdu.type == NTCP_CMD)
		req_capsule_end(req, c->rx.ddgst_ok);
	else
		req_data_end(req, c->rx.ddgst_ok);
}

/* What was read is kept until the connection goes on. */
static void keep(struct conn *c, const uint8_t *p, size_t n)
{
	if (!n)
		return;
	c->kept = malloc(n);
	if (!c->kept) {
		conn_close(c, "no-memory");
		return;
	}
	memcpy(c->kept, p, n);
	c->nkept = n;
}

/* Takes n bytes; true if a command was among them. */
static bool take(struct conn *c, const uint8_t *p, size_t n)
{
	bool commands = false;
	enum ntcp_event ev;
	size_t used;

	for (;;) {
		used = ntcp_rx(&c->rx, p, n, &ev);
		p += used;
		n -= used;
		if (ev == NTCP_NEED)
			return commands;
		if (ev == NTCP_ERROR) {
			conn_fatal(c, c->rx.fes, c->rx.fei, c->rx.why);
			return commands;
		}
		commands |= ev == NTCP_HEADER && c->rx.pdu.type == NTCP_CMD;
		if (ev == NTCP_HEADER)
			take_header(c);
		else
			take_data_end(c);
		if (c->state >= CONN_ENDING)
			return commands;
		if (c->paused) {
			keep(c, p, n);
			return commands;
		}
	}
}

static void take_all(struct conn *c, const uint8_t *p, size_t n)
{
	if (take(c, p, n) && c->ctrl && c->state < CONN_ENDING)
		ctrl_alive(c->ctrl, c->r->now);
}

void conn_resume(struct conn *c, uint8_t pause)
{
	uint8_t *kept = c->kept;
	size_t n = c->nkept;

	c->paused &= (uint8_t)~pause;
	if (c->paused)
		return;
	c->kept = NULL;
	c->nkept = 0;
	take_all(c, kept, n);
	free(kept);
	if (c->state != CONN_CLOSED)
		conn_events(c);
}

/* -1: nothing there; 0: the end. */
static ssize_t fill(struct conn *c, struct iovec *iov, unsigned int niov)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = niov };
	ssize_t n;

	do {
		n = recvmsg(c->src.fd, &msg, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS))
		return -1;
	return n < 0 ? 0 : n;
}

enum input { INPUT_NONE, INPUT_SOME, INPUT_MORE };	/* MORE: there may be more */

static enum input read_some(struct conn *c)
{
	struct iovec iov[REQ_NIOV + 1];
	unsigned int i, n = ntcp_rx_direct(&c->rx, iov, REQ_NIOV);
	size_t direct = 0, there, size = RBUF_NBYTES;
	ssize_t got;

	for (i = 0; i < n; i++)
		direct += iov[i].iov_len;
	if (!mem_plenty(c->t->mem, c->mh, RBUF_NBYTES))
		size = RBUF_TIGHT;
	iov[n] = (struct iovec){ .iov_base = c->r->rbuf, .iov_len = size };
	got = fill(c, iov, n + 1);
	if (got < 0)
		return INPUT_NONE;
	if (!got) {
		conn_close(c, "closed-by-peer");
		return INPUT_SOME;
	}
	c->progress_ns = c->r->now;
	there = BASE_MIN((size_t)got, direct);
	if (there)
		ntcp_rx_direct_done(&c->rx, there);
	take_all(c, c->r->rbuf, (size_t)got - there);
	return (size_t)got == direct + size ? INPUT_MORE : INPUT_SOME;
}

/* A peer that gets a TermReq may have sent much already; unread, it would turn our end into a reset. */
static void discard(struct conn *c)
{
	struct iovec iov = { .iov_base = c->r->rbuf, .iov_len = RBUF_NBYTES };
	unsigned int i;
	ssize_t n = 1;

	for (i = 0; i < DISCARD_READS && n > 0; i++)
		n = fill(c, &iov, 1);
	if (!n)
		conn_close(c, "ended");
}

bool conn_readable(struct conn *c)
{
	enum input in = INPUT_NONE;
	unsigned int i;

	if (c->state == CONN_ENDING) {
		discard(c);
		return true;
	}
	for (i = 0; i < READS_A_TURN && c->state < CONN_ENDING && !c->paused; i++) {
		in = read_some(c);
		if (in != INPUT_MORE)
			break;
		c->r->now = now_ns();
	}
	if (in != INPUT_NONE)
		c->r->hot = c->state < CONN_ENDING && !c->paused ? c : NULL;
	return i || in != INPUT_NONE;
}
