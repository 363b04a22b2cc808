/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An NVMe/TCP target for tests of the host: a thread that listens on a free port of 127.0.0.1, a thread for each
 * connection, a software accelerator behind them as namespaces 1 (compression) and 7 (all functions). It does all
 * right unless it is told to do something wrong: in struct target, or by a hook that sees each command first.
 */
#ifndef TESTS_TCP_TARGET_H
#define TESTS_TCP_TARGET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "../../lib/base/bits.h"
#include "../../lib/device/device.h"
#include "../../lib/nvmetcp/nvmetcp.h"
#include "api_util.h"
#include "port.h"

#define TGT_NQN "nqn.2026-11.test:one"
#define TGT_ICD 8192u
#define TGT_REQS 256u
#define TGT_CONNS 512u
#define TGT_DRAIN_NS 60000000000u	/* an engine's last job takes as long as it does, but not for ever */

enum tgt_stage { TGT_NEVER, TGT_ACCEPT, TGT_ICREQ, TGT_CONNECT, TGT_PROPERTY, TGT_ADMIN, TGT_IO_CONNECT, TGT_IO };
enum tgt_act { TGT_CLOSE, TGT_SILENT, TGT_TERM, TGT_GARBAGE, TGT_CUT };

struct tgt_patch {
	unsigned int off, n;
	uint64_t value;
};

struct target;
struct tgt_conn;
struct tgt_req;
typedef bool tgt_hook(struct tgt_conn *c, struct tgt_req *r);

struct tgt_req {
	struct device_cmd dev;
	struct tgt_conn *conn;
	struct tgt_req *next;		/* ended */
	bool used, running;		/* running: the device has it, or tgt_take() has not been there yet */
	struct nvme_sqe sqe;
	uint8_t *buf;
	uint32_t nbytes, got;		/* of data to come */
	bool refused;			/* answered before they came */
	struct iovec iov;
	uint16_t status;
};

struct tgt_conn {
	struct target *t;
	pthread_t thread;
	int fd, event;
	_Atomic bool running;
	bool bytewise;
	_Atomic uint16_t qid;
	struct ntcp_params p;
	struct ntcp_rx rx;
	struct tgt_req req[TGT_REQS];
	pthread_mutex_t lock;
	struct tgt_req *done;
	_Atomic uint32_t kato;
	char subnqn[NVME_NQN_FIELD];
};

struct target {
	int listener;
	unsigned int port;
	pthread_t thread;
	struct device *dev[2];
	pthread_mutex_t lock;		/* conn, and the descriptors of connections while they are cut */
	struct tgt_conn *conn[TGT_CONNS];
	_Atomic bool stop;
	/*
	 * What to do wrong. A test may change it while connections are at work, of an earlier handle at least; patches
	 * and names it sets when nobody asks for them.
	 */
	_Atomic enum tgt_stage stage;	/* the act is done there */
	_Atomic enum tgt_act act;
	atomic_uint skip;		/* after so many times */
	_Atomic bool once;		/* and then no more */
	_Atomic bool bytewise;		/* bytes leave one by one, from ICResp on */
	int sockbuf;			/* of sockets, both ways; 0: the system's */
	size_t gulp;			/* bytes of a receipt, after a rest; 0: many and none */
	_Atomic uint8_t cpda, dgst;	/* digests that are granted */
	_Atomic uint32_t maxh2c;
	struct tgt_patch ic, ctrl[4], ns, cap, csts, vs;	/* n 0: none */
	_Atomic uint32_t icd;
	_Atomic uint32_t c2h_chunk;	/* bytes of a C2HData PDU; 0: all in one */
	_Atomic uint32_t r2t_chunk;	/* bytes of an R2T */
	atomic_uint r2ts;		/* R2Ts at a time */
	_Atomic bool success;		/* C2HData with SUCCESS instead of a response */
	_Atomic bool bad_ddgst;		/* once: the next C2HData of an I/O queue */
	_Atomic uint16_t connect_status;
	_Atomic uint32_t connect_result;
	atomic_uint nqueue;
	const char *disc[4];		/* NQNs of the discovery log */
	_Atomic bool any;		/* every subsystem is this one */
	/* Sees each command that has come, with qid, before it is executed; true: that was all. */
	tgt_hook *_Atomic hook;
	tgt_hook *_Atomic early;	/* before its data are asked for */
	atomic_uint hooked;		/* what a hook counts */
	/* What was seen. */
	atomic_uint nterm, nkeep, nio, nadmin, accepted;
	_Atomic uint16_t last_fes;
};

static inline bool tgt_send(struct tgt_conn *c, const void *p, size_t n)
{
	const uint8_t *b = p;
	size_t step = c->bytewise ? 1 : n;
	ssize_t k;

	while (n) {
		k = send(c->fd, b, BASE_MIN(step, n), MSG_NOSIGNAL);
		/* A host that has closed may have said why: that is still to be read, and then comes the end. */
		if (k < 0 && (errno == EPIPE || errno == ECONNRESET))
			return true;
		if (k <= 0)
			return false;
		b += k;
		n -= (size_t)k;
	}
	return true;
}

static inline bool tgt_rsp_cid(struct tgt_conn *c, uint16_t cid, uint16_t status, uint64_t result)
{
	struct nvme_cqe cqe = { 0 };
	uint8_t hdr[NTCP_MAX_HDR];

	le64_put(&cqe.result, result);
	le16_put(&cqe.cid, cid);
	le16_put(&cqe.status, (uint16_t)(status << 1));
	return tgt_send(c, hdr, ntcp_put_rsp(&c->p, hdr, &cqe));
}

static inline bool tgt_rsp(struct tgt_conn *c, struct tgt_req *r, uint16_t status, uint64_t result)
{
	return tgt_rsp_cid(c, le16_get(&r->sqe.cid), status, result);
}

static inline bool tgt_c2h(struct tgt_conn *c, uint16_t cid, const void *p, uint32_t off, uint32_t n, bool last,
			   bool success)
{
	struct iovec v = { (void *)(uintptr_t)p, n };
	uint8_t hdr[NTCP_MAX_HDR], dgst[4];
	size_t k = ntcp_put_c2h_data(&c->p, hdr, cid, off, n, last, success);

	if (!tgt_send(c, hdr, k) || !tgt_send(c, p, n))
		return false;
	if (!c->p.ddgst)
		return true;
	ntcp_ddgst(&v, 1, n, dgst);
	if (c->qid && atomic_exchange(&c->t->bad_ddgst, false))
		dgst[0] ^= 1;
	return tgt_send(c, dgst, 4);
}

static inline bool tgt_data(struct tgt_conn *c, struct tgt_req *r, const uint8_t *p, uint32_t n)
{
	uint32_t set = c->t->c2h_chunk, chunk = set ? set : n, off, k;
	uint16_t cid = le16_get(&r->sqe.cid);
	bool success = c->t->success;

	for (off = 0; off < n; off += k) {
		k = BASE_MIN(chunk, n - off);
		if (!tgt_c2h(c, cid, p + off, off, k, off + k == n, success && off + k == n))
			return false;
	}
	return success || tgt_rsp(c, r, 0, 0);
}

static inline bool tgt_term(struct tgt_conn *c, uint16_t fes)
{
	uint8_t pdu[24 + NTCP_TERM_DATA];

	return tgt_send(c, pdu, ntcp_put_term(NTCP_CTRL, pdu, fes, 0, &c->rx));
}

static inline bool tgt_r2t(struct tgt_conn *c, uint16_t cid, uint16_t ttag, uint32_t off, uint32_t n)
{
	uint8_t hdr[NTCP_MAX_HDR];

	return tgt_send(c, hdr, ntcp_put_r2t(&c->p, hdr, cid, ttag, off, n));
}

/* From now on, after skip times. */
static inline void target_wrong(struct target *t, enum tgt_stage stage, enum tgt_act act, unsigned int skip)
{
	t->act = act;
	t->skip = skip;
	t->stage = stage;
}

static inline void target_right(struct target *t)
{
	t->stage = TGT_NEVER;
}

/* Whether it is this one's turn; several connections may come at the same time. */
static inline bool tgt_turn(struct target *t, enum tgt_stage stage)
{
	unsigned int skip;

	if (t->stage != stage)
		return false;
	skip = t->skip;
	while (skip)
		if (atomic_compare_exchange_weak(&t->skip, &skip, skip - 1))
			return false;
	return !t->once || atomic_compare_exchange_strong(&t->stage, &stage, TGT_NEVER);
}

static inline bool tgt_act_now(struct tgt_conn *c, enum tgt_stage stage)
{
	struct target *t = c->t;
	enum tgt_act act;
	uint8_t junk[256];

	if (!tgt_turn(t, stage))
		return false;
	act = t->act;
	memset(junk, 0xa5, sizeof(junk));
	switch (act) {
	case TGT_TERM:
		tgt_term(c, NTCP_FES_INVALID_HDR);
		break;
	case TGT_GARBAGE:
		tgt_send(c, junk, sizeof(junk));
		break;
	case TGT_CUT:
		tgt_send(c, "\5\0\30\0\30", 5);
		break;
	default:
		break;
	}
	if (act == TGT_SILENT)
		return true;
	shutdown(c->fd, act == TGT_CLOSE || act == TGT_CUT ? SHUT_RDWR : SHUT_WR);
	return true;
}

static inline void tgt_put_patch(uint8_t *p, const struct tgt_patch *patch)
{
	unsigned int i;

	for (i = 0; i < patch->n; i++)
		p[patch->off + i] = (uint8_t)(patch->value >> 8 * i);
}

static inline uint64_t tgt_patched(uint64_t v, const struct tgt_patch *patch)
{
	uint8_t b[16];

	le64_put(b, v);
	tgt_put_patch(b, patch);
	return le64_get(b);
}

static inline struct device *tgt_ns(struct target *t, uint32_t nsid)
{
	return nsid == 1 ? t->dev[0] : nsid == 7 ? t->dev[1] : NULL;
}

static inline bool tgt_identify(struct tgt_conn *c, struct tgt_req *r)
{
	struct target *t = c->t;
	uint32_t nsid = le32_get(&r->sqe.nsid);
	uint8_t page[4096] = { 0 };
	unsigned int i;

	switch (le32_get(&r->sqe.cdw10) & 0xff) {
	case 0:
		if (tgt_ns(t, nsid))
			device_identify(tgt_ns(t, nsid), page);
		tgt_put_patch(page, &t->ns);
		break;
	case 1:
		memcpy(page + 4, "SERIAL              ", 20);
		memcpy(page + 24, "A scripted target                       ", 40);
		memcpy(page + 64, "1.0     ", 8);
		page[77] = 8;		/* 1 MiB */
		le16_put(page + 78, 1);
		page[111] = strcmp(c->subnqn, NVME_DISCOVERY_NQN) ? 1 : 2;
		le16_put(page + 320, 10);
		page[512] = 0x66;
		page[513] = 0x44;
		le16_put(page + 514, 128);
		le32_put(page + 516, 7);
		le32_put(page + 1792, 4 + t->icd / 16);
		le32_put(page + 1796, 1);
		for (i = 0; i < 4; i++)
			tgt_put_patch(page, &t->ctrl[i]);
		break;
	case 2:
		if (nsid < 1)
			le32_put(page, 1);
		le32_put(page + (nsid < 1 ? 4 : 0), nsid < 7 ? 7 : 0);
		break;
	default:
		return tgt_rsp(c, r, NVME_SC_INVALID_FIELD | NVME_SC_DNR, 0);
	}
	return tgt_data(c, r, page, sizeof(page));
}

static inline bool tgt_log(struct tgt_conn *c, struct tgt_req *r)
{
	uint32_t n = ((le32_get(&r->sqe.cdw10) >> 16) + 1) * 4, off = le32_get(&r->sqe.cdw12);
	uint8_t *log = calloc(1, 65536 + 5 * 1024);
	unsigned int i;
	bool ok;

	for (i = 0; i < 4 && c->t->disc[i]; i++) {
		struct nvmf_disc_entry *e = (void *)(log + 1024 * (i + 1));

		e->trtype = NVMF_TRTYPE_TCP;
		e->adrfam = NVMF_ADRFAM_IPV4;
		e->subtype = NVMF_SUBTYPE_NVME;
		memset(e->trsvcid, ' ', sizeof(e->trsvcid));
		memcpy(e->subnqn, c->t->disc[i], strlen(c->t->disc[i]));
		memcpy(e->traddr, "127.0.0.1 ", 10);
		e->trsvcid[snprintf(e->trsvcid, 32, "%u", c->t->port)] = ' ';
	}
	le64_put(log, 5);
	le64_put(log + 8, i);
	ok = tgt_data(c, r, log + BASE_MIN(off, 5120u), BASE_MIN(n, 65536u));
	free(log);
	return ok;
}

static inline bool tgt_property(struct tgt_conn *c, struct tgt_req *r)
{
	const struct nvmf_property_cmd *cmd = (const void *)&r->sqe;
	struct target *t = c->t;

	if (cmd->fctype == NVME_FC_PROPERTY_SET)
		return tgt_rsp(c, r, 0, 0);
	switch (le32_get(&cmd->ofst)) {
	case NVME_PROP_CAP:
		return tgt_rsp(c, r, 0, tgt_patched(127 | 20ull << 24 | 1ull << 37, &t->cap));
	case NVME_PROP_VS:
		return tgt_rsp(c, r, 0, tgt_patched(0x20000, &t->vs));
	default:
		return tgt_rsp(c, r, 0, tgt_patched(1, &t->csts));
	}
}

static inline bool tgt_connect(struct tgt_conn *c, struct tgt_req *r)
{
	const struct nvmf_connect_cmd *cmd = (const void *)&r->sqe;
	const struct nvmf_connect_data *d = (const void *)r->buf;

	c->qid = le16_get(&cmd->qid);
	c->kato = le32_get(&cmd->kato);
	memcpy(c->subnqn, d->subnqn, sizeof(c->subnqn));
	if (tgt_act_now(c, c->qid ? TGT_IO_CONNECT : TGT_CONNECT))
		return c->t->act == TGT_SILENT;
	if (c->t->connect_status)
		return tgt_rsp(c, r, c->t->connect_status, c->t->connect_result);
	if (!c->t->any && strcmp(d->subnqn, TGT_NQN) && strcmp(d->subnqn, NVME_DISCOVERY_NQN))
		return tgt_rsp(c, r, NVME_SC_CONNECT_INVALID_PARAM | NVME_SC_DNR, 0x10000 | 256);
	return tgt_rsp(c, r, 0, 1);
}

static inline void tgt_io_done(struct device_cmd *cmd, uint16_t status)
{
	struct tgt_req *r = (struct tgt_req *)cmd;
	struct tgt_conn *c = r->conn;
	uint64_t one = 1;

	r->status = status;
	pthread_mutex_lock(&c->lock);
	r->next = c->done;
	c->done = r;
	if (write(c->event, &one, sizeof(one)) < 0)
		abort();
	pthread_mutex_unlock(&c->lock);
}

static inline bool tgt_io(struct tgt_conn *c, struct tgt_req *r)
{
	struct device *dev = tgt_ns(c->t, le32_get(&r->sqe.nsid));
	struct device_cmd *cmd = &r->dev;

	c->t->nio++;
	if (tgt_act_now(c, TGT_IO))
		return c->t->act == TGT_SILENT;
	if (!dev)
		return tgt_rsp(c, r, NVME_SC_INVALID_NS | NVME_SC_DNR, 0);
	memset(cmd, 0, sizeof(*cmd));
	r->iov = (struct iovec){ r->buf, r->nbytes };
	cmd->m.opcode = r->sqe.opc;
	cmd->m.off = (le32_get(&r->sqe.cdw10) | (uint64_t)le32_get(&r->sqe.cdw11) << 32) << 9;
	cmd->m.nbytes = r->nbytes;
	cmd->m.iov = &r->iov;
	cmd->m.niov = 1;
	cmd->m.host = 1;
	cmd->done = tgt_io_done;
	r->running = true;
	device_submit(dev, &cmd, 1);
	return true;
}

static inline void tgt_req_free(struct tgt_req *r)
{
	free(r->buf);
	r->buf = NULL;
	r->used = false;
}

/* All data of the command are there. true: it has ended, or will; false: the connection has. */
static inline bool tgt_execute(struct tgt_conn *c, struct tgt_req *r, bool *ended)
{
	struct target *t = c->t;
	tgt_hook *hook = t->hook;
	bool fabrics = r->sqe.opc == NVME_OPC_FABRICS, connect = fabrics && ((uint8_t *)&r->sqe)[4] == NVME_FC_CONNECT;

	*ended = true;
	if (hook && hook(c, r))
		return true;
	if (connect)
		return tgt_connect(c, r);
	if (fabrics)
		return tgt_act_now(c, TGT_PROPERTY) ? t->act == TGT_SILENT : tgt_property(c, r);
	if (c->qid) {
		*ended = false;
		return tgt_io(c, r);
	}
	t->nadmin++;
	if (tgt_act_now(c, TGT_ADMIN))
		return t->act == TGT_SILENT;
	switch (r->sqe.opc) {
	case NVME_ADM_IDENTIFY:
		return tgt_identify(c, r);
	case NVME_ADM_GET_LOG:
		return tgt_log(c, r);
	case NVME_ADM_SET_FEATURES:
		return tgt_rsp(c, r, 0, (t->nqueue - 1) * 0x10001u);
	case NVME_ADM_KEEP_ALIVE:
		t->nkeep++;
		return tgt_rsp(c, r, 0, 0);
	default:
		return tgt_rsp(c, r, NVME_SC_INVALID_OPCODE | NVME_SC_DNR, 0);
	}
}

static inline bool tgt_run(struct tgt_conn *c, struct tgt_req *r)
{
	bool ended, ok = tgt_execute(c, r, &ended);

	if (ended)
		tgt_req_free(r);
	return ok;
}

/* R2Ts for the next part or parts. */
static inline bool tgt_ask(struct tgt_conn *c, struct tgt_req *r)
{
	uint32_t set = c->t->r2t_chunk, chunk = set ? set : r->nbytes, at = r->got, n;
	unsigned int r2ts = c->t->r2ts, i;

	if (at % (chunk * r2ts) && at < r->nbytes)
		return true;
	for (i = 0; i < r2ts && at < r->nbytes; i++, at += n) {
		n = BASE_MIN(chunk, r->nbytes - at);
		if (!tgt_r2t(c, le16_get(&r->sqe.cid), (uint16_t)(r - c->req), at, n))
			return false;
	}
	return true;
}

static inline bool tgt_command(struct tgt_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	tgt_hook *early = c->t->early;
	struct tgt_req *r = NULL;
	unsigned int i;

	for (i = 0; i < TGT_REQS && !r; i++)
		if (!c->req[i].used)
			r = &c->req[i];
	if (!r)
		return false;
	r->used = true;
	r->conn = c;
	r->sqe = pdu->sqe;
	r->nbytes = le32_get(&pdu->sqe.sgl.len);
	r->got = 0;
	r->buf = malloc(r->nbytes ? r->nbytes : 1);
	if (pdu->data_len) {
		r->iov = (struct iovec){ r->buf, pdu->data_len };
		ntcp_rx_sink(&c->rx, &r->iov, 1);
		return true;
	}
	r->refused = false;
	if (early && early(c, r)) {
		if (!r->refused)
			tgt_req_free(r);
		return true;
	}
	if (r->nbytes && (r->sqe.opc & 3) == 1)
		return tgt_ask(c, r);
	return tgt_run(c, r);
}

static inline struct tgt_req *tgt_of_cid(struct tgt_conn *c, uint16_t cid)
{
	unsigned int i;

	for (i = 0; i < TGT_REQS; i++)
		if (c->req[i].used && le16_get(&c->req[i].sqe.cid) == cid)
			return &c->req[i];
	return NULL;
}

static inline bool tgt_header(struct tgt_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	struct tgt_req *r;
	uint8_t ic[NTCP_MAX_HDR];

	switch (pdu->type) {
	case NTCP_ICREQ:
		if (tgt_act_now(c, TGT_ICREQ))
			return c->t->act == TGT_SILENT;
		c->p.hdgst = pdu->icreq.dgst & c->t->dgst & 1;
		c->p.ddgst = pdu->icreq.dgst & c->t->dgst & 2;
		c->p.tx_pda = pdu->icreq.hpda;
		c->p.rx_pda = c->t->cpda;
		ntcp_put_icresp(ic, c->t->cpda, pdu->icreq.dgst & c->t->dgst, c->t->maxh2c);
		tgt_put_patch(ic, &c->t->ic);
		ntcp_rx_ready(&c->rx, &c->p);
		c->bytewise = c->t->bytewise;
		return tgt_send(c, ic, NTCP_IC_LEN);
	case NTCP_CMD:
		return tgt_command(c);
	case NTCP_H2C_DATA:
		r = pdu->data.ttag < TGT_REQS ? &c->req[pdu->data.ttag] : NULL;
		if (!r || !r->used || pdu->data.offset != r->got || pdu->data.len > r->nbytes - r->got ||
		    pdu->data.cid != le16_get(&r->sqe.cid)) {
			print_error("target: H2CData off %u len %u of %u: not what was asked for\n", pdu->data.offset,
				    pdu->data.len, r ? r->nbytes : 0);
			return false;
		}
		r->iov = (struct iovec){ r->buf + r->got, pdu->data.len };
		ntcp_rx_sink(&c->rx, &r->iov, 1);
		return true;
	case NTCP_H2C_TERM:
		c->t->last_fes = pdu->term.fes;
		c->t->nterm++;
		return false;
	default:
		return false;
	}
}

static inline bool tgt_data_end(struct tgt_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	struct tgt_req *r;

	if (pdu->type == NTCP_CMD)
		r = tgt_of_cid(c, le16_get(&pdu->sqe.cid));
	else if (pdu->type == NTCP_H2C_DATA)
		r = &c->req[pdu->data.ttag];
	else
		return true;
	if (!c->rx.ddgst_ok) {
		print_error("target: data digest wrong\n");
		return false;
	}
	r->got += pdu->data_len;
	return r->got < r->nbytes ? tgt_ask(c, r) : tgt_run(c, r);
}

static inline bool tgt_feed(struct tgt_conn *c, const uint8_t *p, size_t n)
{
	enum ntcp_event ev;
	bool ok = true;
	size_t used;

	do {
		used = ntcp_rx(&c->rx, p, n, &ev);
		p += used;
		n -= used;
		if (ev == NTCP_HEADER)
			ok = tgt_header(c);
		else if (ev == NTCP_DATA_END)
			ok = tgt_data_end(c);
		else if (ev == NTCP_ERROR) {
			print_error("target: the host broke the protocol: %s\n", c->rx.why);
			ok = false;
		}
	} while (ok && ev != NTCP_NEED);
	return ok;
}

/* What the device has ended. */
static inline struct tgt_req *tgt_take(struct tgt_conn *c)
{
	struct tgt_req *list, *r;
	uint64_t n;

	if (read(c->event, &n, sizeof(n)) < 0)
		return NULL;
	pthread_mutex_lock(&c->lock);
	list = c->done;
	c->done = NULL;
	pthread_mutex_unlock(&c->lock);
	for (r = list; r; r = r->next)
		r->running = false;
	return list;
}

static inline bool tgt_answer(struct tgt_conn *c)
{
	struct tgt_req *r, *list = tgt_take(c);
	bool ok = true;

	while ((r = list)) {
		list = r->next;
		if (ok && !r->status && r->sqe.opc == NVME_IO_READ)
			ok = tgt_data(c, r, r->buf, r->nbytes);
		else if (ok)
			ok = tgt_rsp(c, r, r->status, 0);
		tgt_req_free(r);
	}
	return ok;
}

static inline void tgt_tick(struct target *t)
{
	device_tick(t->dev[0]);
	device_tick(t->dev[1]);
}

static inline bool tgt_runs(const struct tgt_conn *c)
{
	unsigned int i;

	for (i = 0; i < TGT_REQS; i++)
		if (c->req[i].running)
			return true;
	return false;
}

/* What the device still has of a connection that has ended must come back before it is freed. */
static inline void tgt_drain(struct tgt_conn *c)
{
	uint64_t end = now_ns() + TGT_DRAIN_NS;
	struct pollfd p = { c->event, POLLIN, 0 };
	unsigned int i;

	for (i = 0; i < TGT_REQS; i++)
		if (c->req[i].running)
			device_cancel(tgt_ns(c->t, le32_get(&c->req[i].sqe.nsid)), &c->req[i].dev);
	for (tgt_take(c); tgt_runs(c); tgt_take(c)) {
		if (now_ns() > end) {
			print_error("target: the device does not give a command back\n");
			abort();
		}
		tgt_tick(c->t);
		poll(&p, 1, 2);
	}
	for (i = 0; i < TGT_REQS; i++)
		free(c->req[i].buf);
}

static inline void *tgt_conn_main(void *arg)
{
	struct tgt_conn *c = arg;
	struct pollfd p[2] = { { c->fd, POLLIN, 0 }, { c->event, POLLIN, 0 } };
	uint8_t buf[65536];
	bool acted = tgt_act_now(c, TGT_ACCEPT), silent = acted && c->t->act == TGT_SILENT, ok = !acted || silent;
	ssize_t n;

	while (ok && !c->t->stop) {
		tgt_tick(c->t);
		if (poll(p, 2, 2) < 0)
			break;
		if (p[1].revents)
			ok = tgt_answer(c);
		if (!ok || !p[0].revents)
			continue;
		if (c->t->gulp)
			sleep_ms(1);
		n = recv(c->fd, buf, c->t->gulp ? c->t->gulp : sizeof(buf), 0);
		ok = n > 0 && (silent || tgt_feed(c, buf, (size_t)n));
	}
	shutdown(c->fd, SHUT_WR);
	/* Bytes that are on their way would turn the end of the stream into an error. */
	while (!c->t->stop && poll(p, 1, 50) > 0 &&
	       recv(c->fd, buf, sizeof(buf), 0) > 0)
		;
	pthread_mutex_lock(&c->t->lock);
	close(c->fd);
	c->fd = -1;
	pthread_mutex_unlock(&c->t->lock);
	tgt_drain(c);
	c->running = false;
	return NULL;
}

static inline void tgt_add(struct target *t, int fd)
{
	struct tgt_conn *c;
	unsigned int i;
	int on = 1;

	for (i = 0; i < TGT_CONNS; i++) {
		c = t->conn[i];
		if (c && c->running)
			continue;
		if (c) {
			pthread_join(c->thread, NULL);
			close(c->event);
			free(c);
		}
		break;
	}
	if (i == TGT_CONNS) {
		close(fd);
		return;
	}
	c = t->conn[i] = calloc(1, sizeof(*c));
	c->t = t;
	c->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (t->sockbuf)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &t->sockbuf, sizeof(t->sockbuf));
	c->event = eventfd(0, EFD_NONBLOCK);
	c->p.role = NTCP_CTRL;
	c->p.max_icd = 1 << 20;
	c->p.max_data = t->maxh2c;
	pthread_mutex_init(&c->lock, NULL);
	ntcp_rx_init(&c->rx, &c->p);
	c->running = true;
	pthread_create(&c->thread, NULL, tgt_conn_main, c);
}

static inline void tgt_accept(struct target *t)
{
	int fd = accept(t->listener, NULL, NULL);

	if (fd < 0)
		return;
	t->accepted++;
	pthread_mutex_lock(&t->lock);
	tgt_add(t, fd);
	pthread_mutex_unlock(&t->lock);
}

static inline void *tgt_main(void *arg)
{
	struct target *t = arg;
	struct pollfd p = { t->listener, POLLIN, 0 };

	while (!t->stop)
		if (poll(&p, 1, 10) > 0)
			tgt_accept(t);
	return NULL;
}

static inline void tgt_listen(struct target *t)
{
	if (!t->port)
		t->port = port_pick();
	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The receive window is agreed on before there is a connection to set it for. */
	if (t->sockbuf)
		setsockopt(t->listener, SOL_SOCKET, SO_RCVBUF, &t->sockbuf, sizeof(t->sockbuf));
	assert_int_equal(port_bind(t->listener, t->port), 0);
	assert_int_equal(listen(t->listener, 64), 0);
	t->stop = false;
	assert_int_equal(pthread_create(&t->thread, NULL, tgt_main, t), 0);
}

static inline struct target *target_new(void)
{
	struct device_opts o = { .kind = 1, .threads = 1, .slots = 64, .shared = true };
	struct target *t = calloc(1, sizeof(*t));

	pthread_mutex_init(&t->lock, NULL);
	assert_int_equal(device_new(&o, &t->dev[0]), 0);
	o.kind = DEVICE_ALL;
	assert_int_equal(device_new(&o, &t->dev[1]), 0);
	t->maxh2c = 131072;
	t->dgst = 3;
	t->icd = TGT_ICD;
	t->r2ts = 1;
	t->nqueue = 16;
	t->disc[0] = TGT_NQN;
	tgt_listen(t);
	return t;
}

/* All connections end and nobody listens; target_start() goes on where it was. */
static inline void target_stop(struct target *t)
{
	unsigned int i;

	t->stop = true;
	pthread_join(t->thread, NULL);
	close(t->listener);
	for (i = 0; i < TGT_CONNS; i++) {
		if (!t->conn[i])
			continue;
		pthread_join(t->conn[i]->thread, NULL);
		close(t->conn[i]->event);
		free(t->conn[i]);
		t->conn[i] = NULL;
	}
}

static inline void target_start(struct target *t)
{
	tgt_listen(t);
}

/* Cuts all connections, or those of I/O queues. */
static inline void target_cut(struct target *t, bool io_only)
{
	unsigned int i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < TGT_CONNS; i++)
		if (t->conn[i] && t->conn[i]->fd >= 0 &&
		    (!io_only || t->conn[i]->qid))
			shutdown(t->conn[i]->fd, SHUT_RDWR);
	pthread_mutex_unlock(&t->lock);
}

static inline void target_free(struct target *t)
{
	target_stop(t);
	device_stop(t->dev[0]);
	device_stop(t->dev[1]);
	device_free(t->dev[0]);
	device_free(t->dev[1]);
	free(t);
}

/* The name of namespace 7 behind it, with further options. */
static inline const char *target_name(const struct target *t, char *buf, size_t n, const char *options)
{
	snprintf(buf, n, "tcp://127.0.0.1:%u/" TGT_NQN "?nsid=7%s", t->port, options);
	return buf;
}

#endif
