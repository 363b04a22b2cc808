// SPDX-License-Identifier: BSD-2-Clause
/*
 * From bytes to outcomes. A peer can be wrong in every field: what a PDU can get wrong by itself lib/nvmetcp has
 * refused; here it must fit a command that is in flight, and what that has been told before.
 */
#include <errno.h>
#include "tcp.h"

#define DIRECT 64u			/* elements of a caller's list that one receipt fills */
#define BIG 32768u			/* data of this size go where they belong without a stop in the buffer */
#define SMALL_WINDOW 4096u		/* of the buffer, while such data are expected */

/* Where in its header a PDU has the fields that can be wrong (TCP, figures of the PDUs). */
enum { AT_CCCID = 8, AT_CQE_CID = 8 + 12 };

static int fatal(struct tcp_conn *c, uint16_t fes, uint32_t fei, const char *why)
{
	tcp_conn_fatal(c, fes, fei, why);
	return -EPROTO;
}

/* The command of a CID that a PDU names, if there is one that has been sent. */
static struct tcp_req *find(struct tcp_conn *c, uint16_t cid)
{
	unsigned int i = cid % 1024u;
	struct tcp_req *r;

	if (i >= c->o.depth)
		return NULL;
	r = &c->reqs[i];
	return r->busy && r->cid == cid && r->sent && !r->over ? r : NULL;
}

static int response(struct tcp_conn *c, const struct nvme_cqe *cqe)
{
	struct tcp_req *r = find(c, le16_get(&cqe->cid));
	uint16_t status = le16_get(&cqe->status) >> 1;

	if (!r)
		return fatal(c, NTCP_FES_INVALID_HDR, AT_CQE_CID, "a response to a command that is not in flight");
	/* Success without all of the data is none. */
	if (!status && r->dir != TCP_NODATA && !r->icd && !ntcp_xfer_done(&r->xfer))
		return fatal(c, NTCP_FES_SEQUENCE, 0, "success, but a part of the data was not moved");
	if (!status && r->nr2t)
		return fatal(c, NTCP_FES_SEQUENCE, 0, "success before the data that an R2T asked for");
	r->status = status;
	r->result = le64_get(&cqe->result);
	tcp_req_end(c, r);
	return 0;
}

static int c2h_data(struct tcp_conn *c, const struct ntcp_pdu *pdu)
{
	struct tcp_req *r = find(c, pdu->data.cid);
	const char *why = "";
	uint32_t fei = 0;
	int fes, n;

	if (!r || r->dir != TCP_TO_HOST)
		return fatal(c, NTCP_FES_INVALID_HDR, AT_CCCID, "C2HData for no command that reads");
	fes = ntcp_xfer_take(&r->xfer, pdu, &fei, &why);
	if (fes)
		return fatal(c, (uint16_t)fes, fei, why);
	if (pdu->data.offset + r->base == 0) {
		ntcp_rx_sink(&c->rx, r->iov, r->niov);
	} else {
		n = iov_slice(c->sink, TCP_SINK, r->iov, r->niov, r->base + pdu->data.offset, pdu->data.len);
		if (n < 0)
			return fatal(c, NTCP_FES_RANGE, 0, "C2HData beyond the command's buffer");
		ntcp_rx_sink(&c->rx, c->sink, (unsigned int)n);
	}
	c->window = pdu->data.len >= BIG ? SMALL_WINDOW : c->o.nbuf;
	return 0;
}

/* All of a C2HData PDU is there. */
static int data_end(struct tcp_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	struct tcp_req *r;

	if (pdu->type != NTCP_C2H_DATA)
		return 0;
	r = find(c, pdu->data.cid);
	if (!r)
		return fatal(c, NTCP_FES_SEQUENCE, 0, "C2HData of a command that has ended");
	if (!c->rx.ddgst_ok && !r->error) {
		tcp_conn_log(c, TCP_LOG_WARNING, "data digest wrong");
		r->error = -EIO;
	}
	if (pdu->flags & NTCP_F_SUCCESS)
		tcp_req_end(c, r);
	return 0;
}

/* Parts are asked for in order, and none twice. */
static int r2t(struct tcp_conn *c, const struct ntcp_pdu *pdu)
{
	struct tcp_req *r = find(c, pdu->r2t.cid);

	if (!r || r->dir != TCP_TO_CTRL || r->icd)
		return fatal(c, NTCP_FES_INVALID_HDR, AT_CCCID, "R2T for no command that has data to send");
	if (r->nr2t == TCP_R2TS)
		return fatal(c, NTCP_FES_LIMIT, 0, "more R2Ts than MAXR2T");
	if (pdu->r2t.offset != r->xfer.next || pdu->r2t.len > r->xfer.end - r->xfer.next)
		return fatal(c, NTCP_FES_RANGE, 0, "R2T for other than the next part of the command's data");
	r->r2t[r->nr2t].ttag = pdu->r2t.ttag;
	r->r2t[r->nr2t].next = pdu->r2t.offset;
	r->r2t[r->nr2t].end = pdu->r2t.offset + pdu->r2t.len;
	r->nr2t++;
	r->xfer.next += pdu->r2t.len;
	tcp_req_send_data(c, r);
	return 0;
}

static int terminated(struct tcp_conn *c, const struct ntcp_pdu *pdu)
{
	tcp_conn_log(c, TCP_LOG_ERROR, "the target ended the connection: %s (FES %u, FEI %u)",
		     ntcp_fes_str(pdu->term.fes), pdu->term.fes, pdu->term.fei);
	tcp_conn_close(c, -EPROTO);
	return -EPROTO;
}

static int header(struct tcp_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;

	switch (pdu->type) {
	case NTCP_ICRESP:
		if (tcp_conn_ic(c, pdu))
			return fatal(c, NTCP_FES_SEQUENCE, 0, "ICResp is not what was asked for");
		return 0;
	case NTCP_RSP:
		return response(c, &pdu->cqe);
	case NTCP_C2H_DATA:
		return c2h_data(c, pdu);
	case NTCP_R2T:
		return r2t(c, pdu);
	case NTCP_C2H_TERM:
		return terminated(c, pdu);
	default:
		return fatal(c, NTCP_FES_INVALID_HDR, 0, "a PDU that a controller does not send");
	}
}

/* Takes n bytes apart. 0, or -errno with the connection closed. */
static int feed(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	enum ntcp_event event;
	size_t used;
	int ret = 0;

	do {
		used = ntcp_rx(&c->rx, p, n, &event);
		p += used;
		n -= used;
		if (event == NTCP_HEADER)
			ret = header(c);
		else if (event == NTCP_DATA_END)
			ret = data_end(c);
		else if (event == NTCP_ERROR)
			ret = fatal(c, c->rx.fes, c->rx.fei, c->rx.why);
	} while (!ret && event != NTCP_NEED);
	return ret;
}

static int closed(struct tcp_conn *c, int error)
{
	tcp_conn_log(c, TCP_LOG_DEBUG, "closed by the target");
	tcp_conn_close(c, error);
	return error;
}

/* What lies in the way of the stream: first where the data belong, then the buffer. */
static size_t places(struct tcp_conn *c, struct iovec *v, unsigned int *n)
{
	size_t direct = 0;
	unsigned int i;

	*n = ntcp_rx_direct(&c->rx, v, DIRECT);
	for (i = 0; i < *n; i++)
		direct += v[i].iov_len;
	/* Where not all places fit the list the buffer would be too early. */
	if (direct < c->rx.left && *n)
		return direct;
	v[(*n)++] = (struct iovec){ c->buf, c->window };
	return direct;
}

int tcp_recv(struct tcp_conn *c, int flags)
{
	struct iovec v[DIRECT + 1];
	struct msghdr msg = { .msg_iov = v };
	unsigned int nv;
	size_t direct;
	ssize_t n;
	int ret;

	direct = places(c, v, &nv);
	msg.msg_iovlen = nv;
	n = nv == 1 ? recv(c->fd, v[0].iov_base, v[0].iov_len, flags) : recvmsg(c->fd, &msg, flags);
	if (n == 0)
		return closed(c, -ECONNRESET);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : closed(c, -errno);
	direct = BASE_MIN(direct, (size_t)n);
	if (direct) {
		ntcp_rx_direct_done(&c->rx, direct);
		ret = feed(c, NULL, 0);
		if (ret)
			return ret;
	}
	if ((size_t)n > direct) {
		ret = feed(c, c->buf, (size_t)n - direct);
		if (ret)
			return ret;
	}
	return (int)n;
}
