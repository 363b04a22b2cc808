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
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "../../lib/base/bits.h"
#include "../../lib/device/device.h"
#include "../../lib/nvmetcp/nvmetcp.h"
#include "api_util.h"

#define TGT_NQN "nqn.2026-11.test:one"
#define TGT_ICD 8192u
#define TGT_REQS 256u
#define TGT_CONNS 512u

enum tgt_stage { TGT_NEVER, TGT_ACCEPT, TGT_ICREQ, TGT_CONNECT, TGT_PROPERTY, TGT_ADMIN, TGT_IO_CONNECT, TGT_IO };
enum tgt_act { TGT_CLOSE, TGT_SILENT, TGT_TERM, TGT_GARBAGE, TGT_CUT };

struct tgt_patch {
	unsigned int off, n;
	uint64_t value;
};

struct target;

struct tgt_req {
	struct device_cmd dev;
	struct tgt_conn *conn;
	struct tgt_req *next;		/* ended */
	bool used;
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
	bool running, bytewise;
	uint16_t qid;
	struct ntcp_params p;
	struct ntcp_rx rx;
	struct tgt_req req[TGT_REQS];
	pthread_mutex_t lock;
	struct tgt_req *done;
	uint32_t kato;
	char subnqn[NVME_NQN_FIELD];
};

struct target {
	int listener;
	unsigned int port;
	pthread_t thread;
	struct device *dev[2];
	pthread_mutex_t lock;		/* conn, and the descriptors of connections while they are cut */
	struct tgt_conn *conn[TGT_CONNS];
	bool stop;
	/* What to do wrong. */
	enum tgt_stage stage;		/* the act is done there */
	enum tgt_act act;
	unsigned int skip;		/* after so many times (atomic) */
	bool once;			/* and then no more */
	bool bytewise;			/* bytes leave one by one, from ICResp on */
	int sockbuf;			/* of sockets, both ways; 0: the system's */
	size_t gulp;			/* bytes of a receipt, after a rest; 0: many and none */
	uint8_t cpda, dgst;		/* digests that are granted */
	uint32_t maxh2c;
	struct tgt_patch ic, ctrl[4], ns, cap, csts, vs;	/* n 0: none */
	uint32_t icd;
	uint32_t c2h_chunk;		/* bytes of a C2HData PDU; 0: all in one */
	uint32_t r2t_chunk;		/* bytes of an R2T */
	unsigned int r2ts;		/* R2Ts at a time */
	bool success;			/* C2HData with SUCCESS instead of a response */
	bool bad_ddgst;			/* once: the next C2HData */
	uint16_t connect_status;
	uint32_t connect_result;
	unsigned int nqueue;
	const char *disc[4];		/* NQNs of the discovery log */
	bool any;			/* every subsystem is this one */
	/* Sees each command that has come, with qid, before it is executed; true: that was all. */
	bool (*hook)(struct tgt_conn *c, struct tgt_req *r);
	bool (*early)(struct tgt_conn *c, struct tgt_req *r);	/* before its data are asked for */
	unsigned int hooked;		/* what a hook counts */
	/* What was seen. */
	unsigned int nterm, nkeep, nio, nadmin, accepted;
	uint16_t last_fes;
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
	if (c->t->bad_ddgst && c->qid)
		dgst[0] ^= 1;
	if (c->qid)
		c->t->bad_ddgst = false;
	return tgt_send(c, dgst, 4);
}

static inline bool tgt_data(struct tgt_conn *c, struct tgt_req *r, const uint8_t *p, uint32_t n)
{
	uint32_t chunk = c->t->c2h_chunk ? c->t->c2h_chunk : n, off, k;
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

static inline enum tgt_act tgt_act_of(const struct target *t)
{
	return __atomic_load_n(&t->act, __ATOMIC_RELAXED);
}

/* From now on, after skip times. */
static inline void target_wrong(struct target *t, enum tgt_stage stage, enum tgt_act act, unsigned int skip)
{
	__atomic_store_n(&t->act, act, __ATOMIC_RELAXED);
	__atomic_store_n(&t->skip, skip, __ATOMIC_RELAXED);
	__atomic_store_n(&t->stage, stage, __ATOMIC_RELEASE);
}

static inline void target_right(struct target *t)
{
	__atomic_store_n(&t->stage, TGT_NEVER, __ATOMIC_RELEASE);
}

static inline bool tgt_act_now(struct tgt_conn *c, enum tgt_stage stage)
{
	struct target *t = c->t;
	enum tgt_act act = tgt_act_of(t);
	uint8_t junk[256];

	if (__atomic_load_n(&t->stage, __ATOMIC_ACQUIRE) != stage)
		return false;
	if (__atomic_load_n(&t->skip, __ATOMIC_RELAXED)) {
		__atomic_sub_fetch(&t->skip, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (t->once)
		__atomic_store_n(&t->stage, TGT_NEVER, __ATOMIC_RELAXED);
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

	__atomic_store_n(&c->qid, le16_get(&cmd->qid), __ATOMIC_RELAXED);
	c->kato = le32_get(&cmd->kato);
	memcpy(c->subnqn, d->subnqn, sizeof(c->subnqn));
	if (tgt_act_now(c, c->qid ? TGT_IO_CONNECT : TGT_CONNECT))
		return tgt_act_of(c->t) == TGT_SILENT;
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

	__atomic_add_fetch(&c->t->nio, 1, __ATOMIC_RELAXED);
	if (tgt_act_now(c, TGT_IO))
		return tgt_act_of(c->t) == TGT_SILENT;
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
	bool fabrics = r->sqe.opc == NVME_OPC_FABRICS, connect = fabrics && ((uint8_t *)&r->sqe)[4] == NVME_FC_CONNECT;

	*ended = true;
	if (t->hook && t->hook(c, r))
		return true;
	if (connect)
		return tgt_connect(c, r);
	if (fabrics)
		return tgt_act_now(c, TGT_PROPERTY) ? tgt_act_of(t) == TGT_SILENT : tgt_property(c, r);
	if (c->qid) {
		*ended = false;
		return tgt_io(c, r);
	}
	__atomic_add_fetch(&t->nadmin, 1, __ATOMIC_RELAXED);
	if (tgt_act_now(c, TGT_ADMIN))
		return tgt_act_of(t) == TGT_SILENT;
	switch (r->sqe.opc) {
	case NVME_ADM_IDENTIFY:
		return tgt_identify(c, r);
	case NVME_ADM_GET_LOG:
		return tgt_log(c, r);
	case NVME_ADM_SET_FEATURES:
		return tgt_rsp(c, r, 0, (t->nqueue - 1) * 0x10001u);
	case NVME_ADM_KEEP_ALIVE:
		__atomic_add_fetch(&t->nkeep, 1, __ATOMIC_RELAXED);
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
	uint32_t chunk = c->t->r2t_chunk ? c->t->r2t_chunk : r->nbytes, at = r->got, n;
	unsigned int i;

	if (at % (chunk * c->t->r2ts) && at < r->nbytes)
		return true;
	for (i = 0; i < c->t->r2ts && at < r->nbytes; i++, at += n) {
		n = BASE_MIN(chunk, r->nbytes - at);
		if (!tgt_r2t(c, le16_get(&r->sqe.cid), (uint16_t)(r - c->req), at, n))
			return false;
	}
	return true;
}

static inline bool tgt_command(struct tgt_conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
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
	if (c->t->early && c->t->early(c, r)) {
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
			return tgt_act_of(c->t) == TGT_SILENT;
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
		__atomic_add_fetch(&c->t->nterm, 1, __ATOMIC_RELEASE);
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

static inline bool tgt_answer(struct tgt_conn *c)
{
	struct tgt_req *r, *list;
	bool ok = true;
	uint64_t n;

	if (read(c->event, &n, sizeof(n)) < 0)
		return true;
	pthread_mutex_lock(&c->lock);
	list = c->done;
	c->done = NULL;
	pthread_mutex_unlock(&c->lock);
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

/* What the device still has of a connection that has ended must come back before it is freed. */
static inline void tgt_drain(struct tgt_conn *c)
{
	unsigned int i, k;

	for (k = 0; k < 2; k++) {
		device_lock(c->t->dev[k]);
		for (i = 0; i < TGT_REQS; i++)
			if (c->req[i].used && c->req[i].dev.done)
				device_cancel_locked(c->t->dev[k], &c->req[i].dev);
		device_unlock(c->t->dev[k]);
	}
	sleep_ms(20);
	for (i = 0; i < TGT_REQS; i++)
		free(c->req[i].buf);
}

static inline void *tgt_conn_main(void *arg)
{
	struct tgt_conn *c = arg;
	struct pollfd p[2] = { { c->fd, POLLIN, 0 }, { c->event, POLLIN, 0 } };
	uint8_t buf[65536];
	bool acted = tgt_act_now(c, TGT_ACCEPT), silent = acted && tgt_act_of(c->t) == TGT_SILENT, ok = !acted || silent;
	ssize_t n;

	while (ok && !__atomic_load_n(&c->t->stop, __ATOMIC_RELAXED)) {
		device_tick(c->t->dev[0]);
		device_tick(c->t->dev[1]);
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
	while (!__atomic_load_n(&c->t->stop, __ATOMIC_RELAXED) && poll(p, 1, 50) > 0 &&
	       recv(c->fd, buf, sizeof(buf), 0) > 0)
		;
	pthread_mutex_lock(&c->t->lock);
	close(c->fd);
	c->fd = -1;
	pthread_mutex_unlock(&c->t->lock);
	tgt_drain(c);
	__atomic_store_n(&c->running, false, __ATOMIC_RELEASE);
	return NULL;
}

static inline void tgt_add(struct target *t, int fd)
{
	struct tgt_conn *c;
	unsigned int i;
	int on = 1;

	for (i = 0; i < TGT_CONNS; i++) {
		c = t->conn[i];
		if (c && __atomic_load_n(&c->running, __ATOMIC_ACQUIRE))
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
	__atomic_add_fetch(&t->accepted, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&t->lock);
	tgt_add(t, fd);
	pthread_mutex_unlock(&t->lock);
}

static inline void *tgt_main(void *arg)
{
	struct target *t = arg;
	struct pollfd p = { t->listener, POLLIN, 0 };

	while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED))
		if (poll(&p, 1, 10) > 0)
			tgt_accept(t);
	return NULL;
}

static inline void tgt_listen(struct target *t)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)t->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int on = 1;

	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(t->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* The receive window is agreed on before there is a connection to set it for. */
	if (t->sockbuf)
		setsockopt(t->listener, SOL_SOCKET, SO_RCVBUF, &t->sockbuf, sizeof(t->sockbuf));
	assert_int_equal(bind(t->listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(t->listener, 64), 0);
	getsockname(t->listener, (struct sockaddr *)&a, &len);
	t->port = ntohs(a.sin_port);
	__atomic_store_n(&t->stop, false, __ATOMIC_RELAXED);
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

	__atomic_store_n(&t->stop, true, __ATOMIC_RELAXED);
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
		    (!io_only || __atomic_load_n(&t->conn[i]->qid, __ATOMIC_RELAXED)))
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
