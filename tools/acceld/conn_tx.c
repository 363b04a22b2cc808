// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending: whatever is ready, in as few sendmsg() as possible. PDUs are built for one call and forgotten; what the
 * socket did not take is built again, the same, when there is room: a connection remembers only how far it got.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "conn.h"

#define BATCHES_A_TURN	8	/* then others have their turn */

void tx_append(struct conn *c, struct req *req)
{
	req->next = NULL;
	if (c->tx_first)
		c->tx_last->next = req;
	else
		c->tx_first = req;
	c->tx_last = req;
}

void tx_own(struct conn *c, size_t nbytes)
{
	/* ICResp goes before everything, a TermReq behind it. */
	c->own_first = c->state == CONN_IC;
	c->nown = (uint32_t)nbytes;
	conn_dirty(c);
}

/* ---- A response before it is built ---- */

static unsigned int log2_of(uint64_t v)
{
	return v ? 63u - (unsigned int)__builtin_clzll(v) : 0;
}

static void tally_end(struct conn *c, const struct req *req)
{
	struct tally *t = &c->r->tally;
	uint16_t sc = req->status & 0x7ff;
	uint64_t ns = c->r->now - req->arrived_ns;

	if (!req->status) {
		t->ok++;
	} else {
		t->failed++;
		count(&c->t->count.by_sc[sc >> 8 & 3][sc & 0xff], 1);
	}
	t->aborted += sc == NVME_SC_ABORT_REQ;
	if (c->qid && (req->sqe.opc == NVME_IO_READ || req->sqe.opc == NVME_IO_WRITE))
		t->lat_log2[BASE_MIN(log2_of(ns), 39u)]++;
}

/* The data as they are now, for a digest that holds while others write to where they come from. */
static void copy_data(struct req *req)
{
	uint32_t left = req->out_nbytes, n, at = 0;
	unsigned int i;

	for (i = 0; i < req->niov && left; i++) {
		n = (uint32_t)BASE_MIN(req->iov[i].iov_len, (size_t)left);
		memcpy((uint8_t *)req->buf + at, req->iov[i].iov_base, n);
		at += n;
		left -= n;
	}
	req->iov[0] = (struct iovec){ .iov_base = req->buf, .iov_len = at };
	req->niov = 1;
}

static void finalize(struct conn *c, struct req *req)
{
	struct req_priv *p = priv(req);

	p->flags |= REQ_F_READY;
	if (req->status || req->dir != REQ_TO_HOST)
		req->out_nbytes = 0;
	else if (!req->out_nbytes || req->out_nbytes > req->nbytes)
		req->out_nbytes = req->nbytes;
	if (p->flags & REQ_F_COPY && req->out_nbytes)
		copy_data(req);
	p->sqhd = c->no_sqflow ? 0 : c->sqhd;
	/* The answer to Connect says by this that the host's wish is granted. */
	if (c->no_sqflow && req == &c->first)
		p->sqhd = 0xffff;
	tally_end(c, req);
	c->r->tally.bytes_out += req->out_nbytes;
	if (req->status && c->ctrl)
		ctrl_error(c->ctrl, req);
	if (req->status && !c->ctrl)
		c->nfailed++;
}

/* ---- A batch ---- */

static bool has_room(const struct tx_batch *b)
{
	return b->niov + REQ_NIOV + 2 <= TX_NIOV && b->npdu < TX_NPDU && b->nhdr + NTCP_MAX_HDR + 4 <= TX_HDRS &&
	       b->nbytes < TX_NBYTES;
}

static void add(struct tx_batch *b, const void *p, size_t n)
{
	struct iovec *last = &b->iov[b->niov];

	b->nbytes += n;
	/* Headers that follow one another are one piece. */
	if (b->niov && (uint8_t *)last[-1].iov_base + last[-1].iov_len == p) {
		last[-1].iov_len += n;
		return;
	}
	*last = (struct iovec){ .iov_base = (void *)p, .iov_len = n };
	b->niov++;
}

static uint8_t *hdr_at(struct tx_batch *b)
{
	return b->hdr + b->nhdr;
}

static void add_hdr(struct tx_batch *b, size_t n)
{
	add(b, hdr_at(b), n);
	b->nhdr += n;
}

/* nbytes of the data from off on, as pieces. */
static unsigned int slice(const struct req *req, uint32_t off, uint32_t nbytes, struct iovec out[REQ_NIOV])
{
	unsigned int i, n = 0;

	for (i = 0; i < req->niov && nbytes; i++) {
		size_t len = req->iov[i].iov_len, k;

		if (off >= len) {
			off -= (uint32_t)len;
			continue;
		}
		k = BASE_MIN(len - off, (size_t)nbytes);
		out[n].iov_base = (uint8_t *)req->iov[i].iov_base + off;
		out[n++].iov_len = k;
		nbytes -= (uint32_t)k;
		off = 0;
	}
	return n;
}

/* Of the PDU that is half sent the digest is remembered: a slow reader must not make us compute it again and again. */
static void add_digest(struct conn *c, const struct iovec *iov, unsigned int niov, uint32_t nbytes, bool first)
{
	struct tx_batch *b = &c->r->tx;
	uint8_t *dgst = hdr_at(b);

	if (first && c->dgst_known)
		memcpy(dgst, c->dgst, 4);
	else
		ntcp_ddgst(iov, niov, nbytes, dgst);
	if (first) {
		memcpy(c->dgst, dgst, 4);
		c->dgst_known = true;
	}
	add_hdr(b, 4);
}

static void pdu_done(struct tx_batch *b, struct req *req, size_t before, uint32_t data_end, bool ends)
{
	b->pdu[b->npdu++] = (struct tx_pdu){ .req = req, .nbytes = (uint32_t)(b->nbytes - before),
					     .data_end = data_end, .ends = ends };
}

static void put_own(struct conn *c)
{
	struct tx_batch *b = &c->r->tx;
	size_t before = b->nbytes;

	add(b, c->own, c->nown);
	pdu_done(b, NULL, before, 0, true);
}

static void put_r2t(struct conn *c, struct req *req)
{
	struct tx_batch *b = &c->r->tx;
	size_t before = b->nbytes;

	add_hdr(b, ntcp_put_r2t(&c->p, hdr_at(b), le16_get(&req->sqe.cid), req->ttag, 0, req->nbytes));
	pdu_done(b, req, before, 0, true);
}

static void put_rsp(struct conn *c, struct req *req)
{
	struct tx_batch *b = &c->r->tx;
	struct nvme_cqe cqe = { .cid = req->sqe.cid };
	size_t before = b->nbytes;

	le64_put(&cqe.result, req->result);
	le16_put(&cqe.sqhd, priv(req)->sqhd);
	le16_put(&cqe.status, (uint16_t)(req->status << 1));
	add_hdr(b, ntcp_put_rsp(&c->p, hdr_at(b), &cqe));
	pdu_done(b, req, before, req->out_nbytes, true);
}

/* The next part of the data; true if no response follows it. */
static bool put_data(struct conn *c, struct req *req, uint32_t *off, bool first)
{
	struct tx_batch *b = &c->r->tx;
	struct iovec iov[REQ_NIOV];
	uint32_t n = req->out_nbytes - *off;
	size_t before = b->nbytes;
	unsigned int i, niov;
	bool last, success;

	if (c->p.ddgst)
		n = BASE_MIN(n, DDGST_CHUNK);
	last = *off + n == req->out_nbytes;
	success = last && c->no_sqflow && !req->result;
	niov = slice(req, *off, n, iov);
	add_hdr(b, ntcp_put_c2h_data(&c->p, hdr_at(b), le16_get(&req->sqe.cid), *off, n, last, success));
	for (i = 0; i < niov; i++)
		add(b, iov[i].iov_base, iov[i].iov_len);
	if (c->p.ddgst)
		add_digest(c, iov, niov, n, first);
	*off += n;
	pdu_done(b, req, before, *off, success);
	return success;
}

/* The PDUs of a request as far as there is room; false: there was not. first: the next PDU is the connection's first
 * one. */
static bool put_req(struct conn *c, struct req *req, bool first)
{
	struct tx_batch *b = &c->r->tx;
	uint32_t off = priv(req)->tx_done;

	if (req->state == REQ_R2T) {
		put_r2t(c, req);
		return true;
	}
	if (!(priv(req)->flags & REQ_F_READY))
		finalize(c, req);
	while (off < req->out_nbytes) {
		if (!has_room(b))
			return false;
		if (put_data(c, req, &off, first))
			return true;
		first = false;
	}
	if (!has_room(b))
		return false;
	put_rsp(c, req);
	return true;
}

static void build(struct conn *c)
{
	struct tx_batch *b = &c->r->tx;
	struct req *req;

	b->niov = b->npdu = 0;
	b->nbytes = b->nhdr = 0;
	if (c->nown && c->own_first)
		put_own(c);
	for (req = c->tx_first; req && has_room(b); req = req->next)
		if (!put_req(c, req, !b->npdu))
			return;
	if (c->nown && !c->own_first && !req && has_room(b))
		put_own(c);
}

/* ---- After sendmsg() ---- */

static void sent_own(struct conn *c)
{
	c->nown = 0;
	c->own_first = false;
}

static void sent_last(struct conn *c, struct req *req)
{
	c->tx_first = req->next;
	if (req->state != REQ_R2T) {
		req_put(req);
	} else if (c->state >= CONN_ENDING) {
		req->next = c->drop;
		c->drop = req;
	} else {
		req->state = REQ_DATA;
	}
}

static void advance(struct conn *c, size_t n)
{
	struct tx_batch *b = &c->r->tx;
	unsigned int i;

	n += c->tx_off;
	for (i = 0; i < b->npdu && n >= b->pdu[i].nbytes; i++) {
		struct tx_pdu *pdu = &b->pdu[i];

		n -= pdu->nbytes;
		c->dgst_known = false;
		if (!pdu->req) {
			sent_own(c);
			continue;
		}
		priv(pdu->req)->tx_done = pdu->data_end;
		if (pdu->ends)
			sent_last(c, pdu->req);
	}
	c->tx_off = n;
}

/* What has gone already of the first PDU is left out. */
static unsigned int skip(struct tx_batch *b, size_t n)
{
	unsigned int i = 0;

	while (i < b->niov && n >= b->iov[i].iov_len)
		n -= b->iov[i++].iov_len;
	if (n) {
		b->iov[i].iov_base = (uint8_t *)b->iov[i].iov_base + n;
		b->iov[i].iov_len -= n;
	}
	return i;
}

/* 1: all of the batch has gone; 0: the socket is full; -1: it is dead. */
static int send_batch(struct conn *c)
{
	struct tx_batch *b = &c->r->tx;
	size_t want = b->nbytes - c->tx_off;
	unsigned int from = skip(b, c->tx_off);
	struct msghdr msg = { .msg_iov = b->iov + from, .msg_iovlen = b->niov - from };
	ssize_t n;

	do {
		n = sendmsg(c->src.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
	c->progress_ns = c->r->now;
	advance(c, (size_t)n);
	return (size_t)n == want;
}

static bool pending(const struct conn *c)
{
	return c->tx_first || c->nown;
}

void conn_send(struct conn *c)
{
	int rc = 1, i;

	for (i = 0; i < BATCHES_A_TURN && rc > 0 && pending(c); i++) {
		build(c);
		rc = send_batch(c);
	}
	if (rc < 0) {
		conn_close(c, "send");
		return;
	}
	if (pending(c))
		conn_watch(c);
	conn_events(c);
}
