// SPDX-License-Identifier: BSD-2-Clause
/* A connection: its socket, the handshake up to the Connect command, its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tcp.h"

#define PEER_GONE_MS 10000		/* unacknowledged for so long: nobody is there */
#define PROBE_IDLE_S 5
#define PROBE_EVERY_S 5
#define PROBES 2
#define SLICE_US 200000			/* of a receipt that waits; see tcp_queue.c */
#define DRAIN 64			/* receipts, so that the peer may read why it is left */

void tcp_conn_log(const struct tcp_conn *c, int level, const char *fmt, ...)
{
	char text[440], addr[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tcp_name_addr(c->o.name, addr, sizeof(addr));
	transport_log(c->o.env, level, "tcp://%.60s queue %u: %s", addr, c->qid, text);
}

int tcp_conn_init(struct tcp_conn *c, const struct tcp_conn_opts *o)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->o = *o;
	c->fd = -1;
	c->limit = o->depth;
	c->reqs = calloc(o->depth, sizeof(*c->reqs));
	c->sink = malloc(TCP_SINK * sizeof(*c->sink));
	c->buf = malloc(o->nbuf);
	if (!c->reqs || !c->sink || !c->buf) {
		tcp_conn_fini(c);
		return -ENOMEM;
	}
	for (i = o->depth; i-- > 0;) {
		c->reqs[i].cid = (uint16_t)i;
		c->reqs[i].next = c->free;
		c->free = &c->reqs[i];
	}
	return 0;
}

void tcp_conn_fini(struct tcp_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->reqs);
	free(c->sink);
	free(c->buf);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

/* What fails here costs latency or a late answer, no more. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} table[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, PEER_GONE_MS },
		{ IPPROTO_TCP, TCP_KEEPIDLE, PROBE_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, PROBES },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
	};
	struct timeval slice = { 0, SLICE_US };
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		setsockopt(fd, table[i].level, table[i].name, &table[i].value, sizeof(table[i].value));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
}

static void set_due(struct tcp_conn *c, uint64_t now)
{
	uint32_t ms = BASE_MIN(c->o.name->timeout_ms, TCP_ADMIN_MS);

	c->due_ns = now + ms * TCP_NS_PER_MS;
}

/* Until then the limits are those of any controller; params must be right for the builder of Connect. */
static void reset_params(struct tcp_conn *c)
{
	memset(&c->p, 0, sizeof(c->p));
	c->p.role = NTCP_HOST;
	c->p.max_data = UINT32_MAX;
	ntcp_rx_init(&c->rx, &c->p);
	c->window = c->o.nbuf;
	c->check_ns = UINT64_MAX;
	c->connect = NULL;
	c->tx_first = c->tx_last = NULL;
}

static void fill_connect(struct tcp_conn *c, const char *nqn)
{
	memset(&c->data, 0, sizeof(c->data));
	memcpy(c->data.hostid, c->o.name->hostid, sizeof(c->data.hostid));
	le16_put(&c->data.cntlid, c->cntlid);
	memcpy(c->data.subnqn, nqn, strlen(nqn));
	memcpy(c->data.hostnqn, c->o.name->hostnqn, strlen(c->o.name->hostnqn));
	c->data_iov = (struct iovec){ &c->data, sizeof(c->data) };
}

int tcp_conn_start(struct tcp_conn *c, const struct sockaddr_storage *sa, socklen_t len, const char *nqn,
		   uint16_t qid, uint16_t cntlid, uint16_t sqsize)
{
	uint8_t dgst = (uint8_t)((c->o.name->hdgst ? NTCP_F_HDGST : 0) | (c->o.name->ddgst ? NTCP_F_DDGST : 0));

	c->fd = socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	c->starts++;
	c->qid = qid;
	c->cntlid = cntlid;
	c->sqsize = sqsize;
	reset_params(c);
	set_options(c->fd);
	fill_connect(c, nqn);
	ntcp_put_icreq(c->ic, 0, dgst, TCP_R2TS - 1);
	c->ic_at = 0;
	c->state = TCP_CONNECTING;
	c->error = 0;
	set_due(c, tcp_now());
	if (connect(c->fd, (const struct sockaddr *)sa, len) && errno != EINPROGRESS) {
		int ret = -errno;

		tcp_conn_close(c, ret);
		return ret;
	}
	return 0;
}

short tcp_conn_events(const struct tcp_conn *c)
{
	if (c->state == TCP_CONNECTING)
		return POLLOUT;
	if ((c->state == TCP_IC && c->ic_at < NTCP_IC_LEN) || c->tx_first)
		return POLLIN | POLLOUT;
	return POLLIN;
}

static int failed(struct tcp_conn *c, int error)
{
	tcp_conn_close(c, error);
	return error;
}

/*
 * A connection to a port of this machine that nobody listens on may meet itself, if the system chooses that very
 * port for this end.
 */
static bool is_self(int fd)
{
	struct sockaddr_storage a, b;
	socklen_t na = sizeof(a), nb = sizeof(b);

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (getsockname(fd, (struct sockaddr *)&a, &na) || getpeername(fd, (struct sockaddr *)&b, &nb))
		return false;
	return na == nb && memcmp(&a, &b, na) == 0;
}

/* From here on the socket waits where it is asked to. */
static int connected(struct tcp_conn *c, uint64_t now)
{
	struct pollfd p = { c->fd, POLLOUT, 0 };
	socklen_t len = sizeof(int);
	int err = 0;

	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (!err && is_self(c->fd))
		err = ECONNREFUSED;
	if (!err && fcntl(c->fd, F_SETFL, 0))
		err = errno;
	if (err)
		return failed(c, -err);
	c->state = TCP_IC;
	c->heard_ns = now;
	set_due(c, now);
	return 0;
}

static int send_ic(struct tcp_conn *c)
{
	ssize_t n;

	if (c->ic_at == NTCP_IC_LEN)
		return 0;
	n = send(c->fd, c->ic + c->ic_at, NTCP_IC_LEN - c->ic_at, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0)
		c->ic_at += (uint32_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		return failed(c, -errno);
	return 0;
}

int tcp_conn_ic(struct tcp_conn *c, const struct ntcp_pdu *pdu)
{
	uint8_t want = c->ic[11], got = pdu->icresp.dgst;

	if (c->state != TCP_IC || c->ic_at < NTCP_IC_LEN)
		return -EPROTO;
	if (want != got) {
		tcp_conn_log(c, TCP_LOG_ERROR, "digests asked for: %u, granted: %u (1 header, 2 data); %s", want, got,
			     got & ~want ? "nobody asked" : "try without hdgst=1 and ddgst=1");
		return -EPROTO;
	}
	c->p.hdgst = got & NTCP_F_HDGST;
	c->p.ddgst = got & NTCP_F_DDGST;
	c->p.tx_pda = pdu->icresp.cpda;
	c->maxh2c = pdu->icresp.maxh2cdata;
	ntcp_rx_ready(&c->rx, &c->p);
	c->state = TCP_FABRIC;
	return 0;
}

static int send_connect(struct tcp_conn *c, uint64_t now)
{
	struct nvmf_connect_cmd *cmd;
	struct tcp_req *r = tcp_req_get(c);

	if (!r)
		return failed(c, -EPROTO);
	cmd = (struct nvmf_connect_cmd *)&r->sqe;
	cmd->opc = NVME_OPC_FABRICS;
	cmd->fctype = NVME_FC_CONNECT;
	le16_put(&cmd->qid, c->qid);
	le16_put(&cmd->sqsize, (uint16_t)(c->sqsize - 1));
	cmd->cattr = NVMF_CATTR_NO_SQFLOW;
	if (!c->qid)
		le32_put(&cmd->kato, c->o.name->kato_ms);
	r->dir = TCP_TO_CTRL;
	r->iov = &c->data_iov;
	r->niov = 1;
	r->base = 0;
	r->nbytes = sizeof(c->data);
	c->connect = r;
	set_due(c, now);
	tcp_req_queue(c, r, now);
	return 0;
}

/* What the controller found wrong with it. */
static const char *connect_why(const struct tcp_conn *c, const struct tcp_req *r, int *error)
{
	uint32_t at = (uint32_t)r->result & 0xffff;
	bool data = r->result & 0x10000;
	/* An I/O queue: its number may still be in use there, or the association be gone; both can be mended. */
	int refused = c->qid ? -EBUSY : -EPROTO;

	switch (r->status & 0x7ff) {
	case NVME_SC_CONNECT_INVALID_HOST:
		*error = -EACCES;
		return "the target must list this host";
	case NVME_SC_ACCESS_DENIED:
		*error = -EACCES;
		return "access denied";
	case NVME_SC_AUTH_REQUIRED:
		*error = -EACCES;
		return "the subsystem wants hosts to authenticate, which is not supported";
	case NVME_SC_CONNECT_BUSY:
		*error = -EBUSY;
		return c->qid ? "the controller is busy or has no room for more connections" :
				"the target takes no more controllers (max_ctrls) or connections of this host "
				"(max_conns_host in acceld.conf), or it stops";
	case NVME_SC_CONNECT_INVALID_PARAM:
		if (data && at == offsetof(struct nvmf_connect_data, subnqn)) {
			*error = -ENOENT;
			return "there is no such subsystem (see accel list --discover HOST:PORT)";
		}
		*error = data && at == offsetof(struct nvmf_connect_data, hostnqn) ? -EACCES : refused;
		return "a parameter is refused";
	default:
		*error = refused;
		return "refused";
	}
}

/* Who this host is, is what the target has to list: nobody else knows it. */
static void connect_tell(const struct tcp_conn *c, const struct tcp_req *r, const char *why)
{
	uint16_t status = r->status & 0x7ff;

	if (status == NVME_SC_CONNECT_INVALID_HOST)
		tcp_conn_log(c, TCP_LOG_ERROR, "Connect to %.100s: %s: host = %.223s in acceld.conf", c->data.subnqn, why,
			     c->data.hostnqn);
	else
		tcp_conn_log(c, c->error == -EBUSY && c->qid ? TCP_LOG_INFO : TCP_LOG_ERROR,
			     "Connect to %.100s: %s (status %03xh, %08xh)", c->data.subnqn, why, status,
			     (unsigned int)r->result);
}

void tcp_conn_connect_done(struct tcp_conn *c, const struct tcp_req *r)
{
	static const struct tcp_req auth = { .status = NVME_SC_AUTH_REQUIRED };
	const char *why;

	c->connect = NULL;
	if (r->error) {
		c->error = r->error;
		return;
	}
	if (r->status) {
		why = connect_why(c, r, &c->error);
		connect_tell(c, r, why);
		return;
	}
	/* AUTHREQ: authentication is wanted, by this protocol or another. */
	if (r->result & 0x60000) {
		tcp_conn_log(c, TCP_LOG_ERROR, "%s", connect_why(c, &auth, &c->error));
		return;
	}
	c->cntlid = (uint16_t)r->result;
	c->state = TCP_LIVE;
}

static int handshake(struct tcp_conn *c, uint64_t now)
{
	enum tcp_state was;
	int ret = send_ic(c);

	while (!ret) {
		was = c->state;
		ret = tcp_send(c);
		if (ret)
			return ret;
		ret = tcp_recv(c, MSG_DONTWAIT);
		if (ret < 0)
			return ret;
		if (c->error)
			return failed(c, c->error);
		if (c->state == TCP_LIVE)
			return 0;
		if (c->state == TCP_FABRIC && was == TCP_IC) {
			ret = send_connect(c, now);
			continue;
		}
		if (!ret)
			return -EAGAIN;
		ret = 0;
	}
	return ret;
}

int tcp_conn_drive(struct tcp_conn *c, uint64_t now)
{
	int ret = 0;

	if (c->state == TCP_LIVE)
		return 0;
	if (c->state == TCP_CLOSED)
		return c->error ? c->error : -ENOTCONN;
	if (c->state == TCP_CONNECTING)
		ret = connected(c, now);
	if (!ret)
		ret = handshake(c, now);
	if (ret == -EAGAIN && now >= c->due_ns) {
		tcp_conn_log(c, TCP_LOG_WARNING, "no answer to %s in time",
			     c->state == TCP_CONNECTING ? "the TCP connection" :
			     c->state == TCP_IC ? "ICReq" : "Connect");
		return failed(c, -ETIMEDOUT);
	}
	return ret;
}

/* Nothing touches the buffers of commands once the socket is closed. */
void tcp_conn_close(struct tcp_conn *c, int error)
{
	unsigned int i;

	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	c->state = TCP_CLOSED;
	c->error = error;
	c->tx_first = c->tx_last = NULL;
	for (i = 0; i < c->o.depth; i++) {
		struct tcp_req *r = &c->reqs[i];

		if (!r->busy)
			continue;
		r->queued = false;
		r->hdr_at = r->hdr_len = r->data_left = r->dgst_at = r->dgst_len = 0;
		if (!r->over)
			r->error = error;
		tcp_req_end(c, r);
	}
	c->connect = NULL;
}

/* Between two PDUs one more may be sent. */
static bool between_pdus(const struct tcp_conn *c)
{
	const struct tcp_req *r = c->tx_first;

	return c->ic_at == NTCP_IC_LEN && (!r || tcp_req_unsent(r));
}

/*
 * Bytes that nobody reads when a socket is closed make the system say so in a way that may cost the peer what was
 * sent before.
 */
static void part(struct tcp_conn *c)
{
	unsigned int i;

	shutdown(c->fd, SHUT_WR);
	for (i = 0; i < DRAIN && recv(c->fd, c->buf, c->o.nbuf, MSG_DONTWAIT) > 0; i++)
		;
}

void tcp_conn_fatal(struct tcp_conn *c, uint16_t fes, uint32_t fei, const char *why)
{
	uint8_t pdu[24 + NTCP_TERM_DATA];
	size_t n;

	tcp_conn_log(c, TCP_LOG_ERROR, "the target broke the protocol: %s; the connection is given up", why);
	if (between_pdus(c)) {
		n = ntcp_put_term(NTCP_HOST, pdu, fes, fei, &c->rx);
		if (send(c->fd, pdu, n, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			part(c);
	}
	tcp_conn_close(c, -EPROTO);
}

void tcp_conn_check(struct tcp_conn *c, uint64_t now)
{
	uint64_t first = UINT64_MAX;
	unsigned int i;

	if (now < c->check_ns)
		return;
	for (i = 0; i < c->o.depth; i++)
		if (c->reqs[i].busy)
			first = BASE_MIN(first, c->reqs[i].due_ns);
	c->check_ns = first;
	if (now < first)
		return;
	tcp_conn_log(c, TCP_LOG_WARNING, "no answer to a command for %u ms; the connection is given up",
		     c->o.timeout_ms);
	tcp_conn_close(c, -ETIMEDOUT);
}

bool tcp_conn_hung_up(const struct tcp_conn *c)
{
	uint8_t byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
