// SPDX-License-Identifier: BSD-2-Clause
/* From commands to bytes: capsules and H2CData, gathered into as few sends as the socket takes. */
#include <errno.h>
#include <string.h>
#include "tcp.h"

#define GATHER 256u			/* elements of one send */
#define CID_INDEX 1024u			/* above it, a count that tells a late answer from a new one */
#define CID_COUNTS 63u			/* FFFFh is no CID */

struct tcp_req *tcp_req_get(struct tcp_conn *c)
{
	struct tcp_req *r = c->free;
	uint16_t index, count;

	if (!r || c->nbusy >= c->limit)
		return NULL;
	c->free = r->next;
	c->nbusy++;
	index = r->cid % CID_INDEX;
	count = (uint16_t)((r->cid / CID_INDEX + 1) % CID_COUNTS);
	r->cid = (uint16_t)(count * CID_INDEX + index);
	r->busy = true;
	r->queued = r->icd = r->sent = r->over = false;
	r->dir = TCP_NODATA;
	r->nbytes = 0;
	r->nr2t = 0;
	r->hdr_at = r->hdr_len = r->data_left = 0;
	r->dgst_at = r->dgst_len = 0;
	r->error = 0;
	r->status = 0;
	r->result = 0;
	r->user = NULL;
	memset(&r->sqe, 0, sizeof(r->sqe));
	return r;
}

static void tx_push(struct tcp_conn *c, struct tcp_req *r)
{
	r->queued = true;
	r->next = NULL;
	if (c->tx_first)
		c->tx_last->next = r;
	else
		c->tx_first = r;
	c->tx_last = r;
}

static void tx_remove(struct tcp_conn *c, struct tcp_req *r)
{
	struct tcp_req **at = &c->tx_first, *prev = NULL;

	while (*at != r) {
		prev = *at;
		at = &prev->next;
	}
	*at = r->next;
	if (c->tx_last == r)
		c->tx_last = prev;
	r->queued = false;
}

/* n bytes of the command's data from byte off follow the header. */
static void set_data(struct tcp_conn *c, struct tcp_req *r, uint64_t off, uint32_t n)
{
	struct iov_pos pos;
	uint32_t crc = 0, left = n;
	size_t k;
	void *p;

	r->pos = (struct iov_pos){ r->iov, r->niov, 0 };
	iov_skip(&r->pos, r->base + off);
	r->data_left = n;
	r->dgst_at = r->dgst_len = 0;
	if (!n || !c->p.ddgst)
		return;
	for (pos = r->pos; left && (k = iov_next(&pos, &p, left)); left -= (uint32_t)k)
		crc = base_crc32c(crc, p, k);
	le32_put(r->dgst, crc);
	r->dgst_len = sizeof(r->dgst);
}

/* Any controller takes the data of fabrics commands in their capsules. */
static uint32_t icd_limit(const struct tcp_conn *c, const struct tcp_req *r)
{
	return r->sqe.opc == NVME_OPC_FABRICS || !c->qid ? TCP_FABRICS_ICD : c->max_icd;
}

void tcp_req_queue(struct tcp_conn *c, struct tcp_req *r, uint64_t now)
{
	uint32_t icd;

	r->icd = r->dir == TCP_TO_CTRL && r->nbytes <= icd_limit(c, r);
	icd = r->icd ? r->nbytes : 0;
	le16_put(&r->sqe.cid, r->cid);
	r->sqe.flags = NVME_SQE_SGL;
	r->sqe.sgl.type = r->icd ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT;
	le32_put(&r->sqe.sgl.len, r->nbytes);
	r->xfer = (struct ntcp_xfer){ .cid = r->cid, .end = r->nbytes };
	r->hdr_len = (uint32_t)ntcp_put_cmd(&c->p, r->hdr, &r->sqe, icd);
	r->hdr_at = 0;
	set_data(c, r, 0, icd);
	r->due_ns = now + c->o.timeout_ms * TCP_NS_PER_MS;
	c->check_ns = BASE_MIN(c->check_ns, r->due_ns);
	tx_push(c, r);
}

/* The next H2CData PDU of the first R2T. */
static void fill_h2c(struct tcp_conn *c, struct tcp_req *r)
{
	uint32_t next = r->r2t[0].next, left = r->r2t[0].end - next, n = BASE_MIN(left, c->maxh2c);

	r->hdr_len = (uint32_t)ntcp_put_h2c_data(&c->p, r->hdr, r->cid, r->r2t[0].ttag, next, n, n == left);
	r->hdr_at = 0;
	set_data(c, r, next, n);
	r->r2t[0].next = next + n;
}

void tcp_req_send_data(struct tcp_conn *c, struct tcp_req *r)
{
	if (r->queued)
		return;
	fill_h2c(c, r);
	tx_push(c, r);
}

static unsigned int gather_one(const struct tcp_req *r, struct iovec *v, unsigned int max)
{
	struct iov_pos pos = r->pos;
	uint32_t left = r->data_left;
	unsigned int n = 0;
	size_t k;
	void *p;

	if (r->hdr_at < r->hdr_len)
		v[n++] = (struct iovec){ (void *)(uintptr_t)(r->hdr + r->hdr_at), r->hdr_len - r->hdr_at };
	while (left && n < max && (k = iov_next(&pos, &p, left))) {
		v[n++] = (struct iovec){ p, k };
		left -= (uint32_t)k;
	}
	if (!left && n < max && r->dgst_at < r->dgst_len)
		v[n++] = (struct iovec){ (void *)(uintptr_t)(r->dgst + r->dgst_at), r->dgst_len - r->dgst_at };
	return n;
}

static unsigned int gather(const struct tcp_conn *c, struct iovec *v)
{
	const struct tcp_req *r;
	unsigned int n = 0;

	for (r = c->tx_first; r && n < GATHER; r = r->next)
		n += gather_one(r, v + n, GATHER - n);
	return n;
}

/* The PDU has left. */
static void pdu_sent(struct tcp_conn *c, struct tcp_req *r)
{
	c->tx_first = r->next;
	r->queued = false;
	if (r->over) {
		tcp_req_end(c, r);
		return;
	}
	r->sent = true;
	if (r->nr2t && r->r2t[0].next == r->r2t[0].end) {
		r->nr2t--;
		memmove(r->r2t, r->r2t + 1, r->nr2t * sizeof(r->r2t[0]));
	}
	if (r->nr2t)
		tcp_req_send_data(c, r);
}

static void advance(struct tcp_conn *c, size_t n)
{
	struct tcp_req *r;
	size_t k;

	while (n) {
		r = c->tx_first;
		k = BASE_MIN(n, (size_t)(r->hdr_len - r->hdr_at));
		r->hdr_at += (uint32_t)k;
		n -= k;
		k = BASE_MIN(n, (size_t)r->data_left);
		iov_skip(&r->pos, k);
		r->data_left -= (uint32_t)k;
		n -= k;
		if (r->data_left || r->hdr_at < r->hdr_len)
			return;
		k = BASE_MIN(n, (size_t)(r->dgst_len - r->dgst_at));
		r->dgst_at = (uint8_t)(r->dgst_at + k);
		n -= k;
		if (r->dgst_at < r->dgst_len)
			return;
		pdu_sent(c, r);
	}
}

int tcp_send(struct tcp_conn *c)
{
	struct iovec v[GATHER];
	struct msghdr msg = { .msg_iov = v };
	ssize_t n;
	int ret;

	while (c->tx_first) {
		msg.msg_iovlen = gather(c, v);
		n = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0) {
			ret = -errno;
			tcp_conn_close(c, ret);
			return ret;
		}
		advance(c, (size_t)n);
	}
	return 0;
}

/*
 * A PDU that has begun to leave must leave whole, from the caller's buffers: so long the request is not over for its
 * owner.
 */
void tcp_req_end(struct tcp_conn *c, struct tcp_req *r)
{
	bool connect = r == c->connect;

	if (r->queued && !tcp_req_unsent(r)) {
		r->over = true;
		r->nr2t = 0;
		return;
	}
	if (r->queued)
		tx_remove(c, r);
	if (connect)
		tcp_conn_connect_done(c, r);
	else
		c->o.done(c, r);
	r->busy = false;
	r->next = c->free;
	c->free = r;
	c->nbusy--;
}
