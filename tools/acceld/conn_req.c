// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests: from a capsule through memory, data and execution to the response that is to be sent. States and what
 * moves them are in conn.h; each request has exactly one response, however many things are wrong with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "conn.h"

#define TTAG_BITS	10u	/* of an index; the rest counts the uses of the entry, so that an old tag is known */

_Static_assert(MAX_QUEUE_DEPTH <= 1u << TTAG_BITS, "TTAG");

/* ---- The table ---- */

static uint32_t hash_size(uint32_t n)
{
	uint32_t size = 1;

	while (size < 2 * n)
		size *= 2;
	return size;
}

static size_t table_nbytes(uint32_t n)
{
	return n * sizeof(struct req) + hash_size(n) * sizeof(uint16_t);
}

/* With what else a queue may take: itself, and what is kept of a read. */
static uint64_t queue_nbytes(uint32_t n)
{
	return table_nbytes(n) + RBUF_TIGHT + sizeof(struct conn);
}

/* Pages of the table are touched as deep as the queue is used, and go with it; the account has all of it. */
int reqs_init(struct conn *c, uint32_t n)
{
	void *p;

	if (mem_reserve(c->t->mem, queue_nbytes(n)))
		return -ENOMEM;
	p = mmap(NULL, table_nbytes(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		mem_unreserve(c->t->mem, queue_nbytes(n));
		return -ENOMEM;
	}
	c->table = p;
	c->hash = (uint16_t *)(c->table + n);
	c->hash_mask = hash_size(n) - 1;
	c->ntable = n;
	return 0;
}

void reqs_free(struct conn *c)
{
	if (!c->ntable)
		return;
	munmap(c->table, table_nbytes(c->ntable));
	mem_unreserve(c->t->mem, queue_nbytes(c->ntable));
	c->table = NULL;
	c->hash = NULL;
	c->ntable = 0;
}

static struct req *table_get(struct conn *c)
{
	struct req *req = c->free;

	if (req) {
		c->free = req->next;
	} else if (c->nfresh < c->ntable) {
		req = &c->table[c->nfresh];
		req->conn = c;
		priv(req)->index = (uint16_t)c->nfresh++;
	}
	return req;
}

static struct req *req_get(struct conn *c)
{
	struct req *req;

	if (c->state == CONN_LIVE)
		req = table_get(c);
	else
		req = c->first.state == REQ_FREE ? &c->first : NULL;
	if (!req)
		return NULL;
	c->inflight++;
	c->r->tally.now++;
	req->state = REQ_CAPSULE;
	req->execute = NULL;
	req->cancel = NULL;
	req->ns = NULL;
	req->nbytes = req->out_nbytes = 0;
	req->dir = REQ_NODATA;
	req->exact = false;
	req->niov = 0;
	req->status = NVME_SC_OK;
	req->result = 0;
	req->next = NULL;
	priv(req)->flags = 0;
	priv(req)->tx_done = 0;
	memset(&req->u, 0, sizeof(req->u));
	return req;
}

/* ---- By command identifier ---- */

static uint16_t *bucket(struct conn *c, uint16_t cid)
{
	return &c->hash[(cid * 0x9e37u >> 4 ^ cid) & c->hash_mask];
}

struct req *req_by_cid(struct conn *c, uint16_t cid)
{
	uint32_t i;

	if (c->first.state != REQ_FREE && le16_get(&c->first.sqe.cid) == cid)
		return &c->first;
	if (!c->hash)
		return NULL;
	for (i = *bucket(c, cid); i; i = priv(&c->table[i - 1])->hash_next)
		if (le16_get(&c->table[i - 1].sqe.cid) == cid)
			return &c->table[i - 1];
	return NULL;
}

static void hash_add(struct conn *c, struct req *req)
{
	uint16_t *b;

	if (req == &c->first)
		return;
	b = bucket(c, le16_get(&req->sqe.cid));
	priv(req)->hash_next = *b;
	*b = (uint16_t)(priv(req)->index + 1);
	priv(req)->flags |= REQ_F_HASHED;
}

static void hash_del(struct conn *c, struct req *req)
{
	uint16_t *b = bucket(c, le16_get(&req->sqe.cid));

	while (*b != priv(req)->index + 1)
		b = &priv(&c->table[*b - 1])->hash_next;
	*b = priv(req)->hash_next;
}

/* ---- The end ---- */

static void busy_end(struct req *req)
{
	if (priv(req)->flags & REQ_F_BUSY)
		__atomic_fetch_sub(&req->conn->r->nbusy, 1, __ATOMIC_RELAXED);
	priv(req)->flags &= (uint8_t)~REQ_F_BUSY;
}

void req_put(struct req *req)
{
	struct conn *c = req->conn;
	uint8_t flags = priv(req)->flags;

	busy_end(req);
	if (flags & REQ_F_MEM)
		mem_put(c->t->mem, &priv(req)->wait);
	if (flags & REQ_F_MALLOC)
		free(req->buf);
	req->buf = NULL;
	if (req->ns)
		ns_put(req->ns);
	req->ns = NULL;
	if (flags & REQ_F_HASHED)
		hash_del(c, req);
	req->state = REQ_FREE;
	c->inflight--;
	c->r->tally.now--;
	if (req == &c->first)
		return;
	req->next = c->free;
	c->free = req;
}

/* The response joins those that are to be sent; of an ending connection none is sent any more. Under the lock of a
 * device perhaps: nothing is freed here. */
static void done(struct req *req)
{
	struct conn *c = req->conn;

	req->state = REQ_DONE;
	if (c->state >= CONN_ENDING) {
		req->next = c->drop;
		c->drop = req;
	} else {
		tx_append(c, req);
	}
	conn_dirty(c);
}

void req_finish(struct req *req, uint16_t status)
{
	req->status = status;
	done(req);
}

static void done_msg(struct reactor_msg *msg)
{
	struct req *req = (struct req *)((char *)msg - offsetof(struct req, priv) -
					 offsetof(struct req_priv, wait.msg));

	done(req);
}

void req_complete(struct req *req, uint16_t status)
{
	req->status = status;
	if (reactor_is_self(req->conn->r)) {
		done(req);
		return;
	}
	priv(req)->wait.msg.fn = done_msg;
	reactor_post(req->conn->r, &priv(req)->wait.msg);
}

/* ---- Execution ---- */

static void execute(struct req *req)
{
	req->state = REQ_EXEC;
	req->execute(req);
}

static void ask_for_data(struct req *req)
{
	struct conn *c = req->conn;

	req->ttag = (uint16_t)(priv(req)->index | ++priv(req)->gen << TTAG_BITS);
	req->xfer = (struct ntcp_xfer){ .cid = le16_get(&req->sqe.cid), .ttag = req->ttag, .end = req->nbytes };
	req->state = REQ_R2T;
	c->ntransfer++;
	conn_watch(c);
	tx_append(c, req);
	conn_dirty(c);
}

/* Its memory is there: what comes next. The data of a capsule are already at the door. */
static void go_on(struct req *req)
{
	if (priv(req)->capsule) {
		req->state = REQ_CAPSULE;
		conn_place(req->conn, req, 0, priv(req)->capsule);
	} else if (req->dir == REQ_TO_CTRL) {
		ask_for_data(req);
	} else {
		execute(req);
	}
}

/* ---- Memory ---- */

static void mem_came(struct req *req)
{
	struct req_priv *p = priv(req);

	mem_own(req->conn->t->mem, &p->wait);
	p->flags |= REQ_F_MEM;
	req->buf = p->wait.buf;
	req->buf_nbytes = p->wait.nbytes;
	/* With COPY the data are elsewhere, until the execution has ended. */
	if (p->flags & REQ_F_COPY)
		return;
	req->iov[0] = (struct iovec){ .iov_base = req->buf, .iov_len = req->nbytes };
	req->niov = 1;
}

static void mem_msg(struct reactor_msg *msg)
{
	struct req *req = (struct req *)((char *)msg - offsetof(struct req, priv) -
					 offsetof(struct req_priv, wait.msg));
	struct conn *c = req->conn;

	mem_came(req);
	c->nmem -= !priv(req)->capsule;
	if (c->state >= CONN_ENDING || priv(req)->flags & REQ_F_ABORTED) {
		done(req);
		return;
	}
	go_on(req);
	if (priv(req)->capsule)
		conn_resume(c, PAUSE_MEM);
}

/* Before Connect there is no account to take from, and little is needed. */
static bool first_mem(struct req *req, uint32_t nbytes)
{
	req->buf = nbytes <= FIRST_NBYTES ? malloc(nbytes) : NULL;
	if (!req->buf)
		return false;
	priv(req)->flags |= REQ_F_MALLOC;
	req->buf_nbytes = nbytes;
	req->iov[0] = (struct iovec){ .iov_base = req->buf, .iov_len = req->nbytes };
	req->niov = 1;
	return true;
}

static void get_mem(struct req *req)
{
	struct conn *c = req->conn;
	struct mem_wait *w = &priv(req)->wait;

	w->host = c->mh;
	w->reactor = c->r;
	w->msg.fn = mem_msg;
	w->nbytes = BASE_MAX(req->nbytes, priv(req)->capsule);
	w->since_ns = c->r->now;
	w->kind = priv(req)->capsule ? MEM_ICD : req->dir == REQ_TO_CTRL ? MEM_R2T : MEM_READ;
	req->state = REQ_MEM;
	if (mem_get(c->t->mem, w)) {
		mem_came(req);
		go_on(req);
		return;
	}
	/* What comes next on the connection are the data that have no place yet. */
	if (priv(req)->capsule) {
		c->paused |= PAUSE_MEM;
		conn_events(c);
	} else {
		c->nmem++;
		conn_watch(c);
	}
}

static void provide(struct req *req)
{
	struct conn *c = req->conn;

	/* Memory that others write meanwhile cannot be sent with a digest: the two would disagree. */
	if (req->niov && req->dir == REQ_TO_HOST && c->p.ddgst)
		priv(req)->flags |= REQ_F_COPY;
	if (req->niov && !(priv(req)->flags & REQ_F_COPY)) {
		go_on(req);
	} else if (c->mh) {
		get_mem(req);
	} else if (first_mem(req, BASE_MAX(req->nbytes, priv(req)->capsule))) {
		go_on(req);
	} else {
		/* It cannot be placed: data in the capsule are dropped first. */
		req->status = NVME_SC_DATA_XFER_ERROR;
		if (!priv(req)->capsule)
			done(req);
	}
}

/* ---- The capsule ---- */

static uint16_t check_length(const struct req *req, uint32_t len)
{
	if (len > req->conn->t->conf->max_transfer || len < req->nbytes || (req->exact && len != req->nbytes))
		return NVME_SC_SGL_INVALID_LEN | NVME_SC_DNR;
	return NVME_SC_OK;
}

/* Against what the command moves. Nothing has been allocated yet. */
static uint16_t check_sgl(const struct req *req)
{
	uint32_t len = le32_get(&req->sqe.sgl.len), capsule = priv((struct req *)req)->capsule;

	if (req->dir == REQ_NODATA)
		return NVME_SC_OK;
	if (req->sqe.sgl.type == NVME_SGL_TRANSPORT)
		return capsule ? NVME_SC_INVALID_FIELD | NVME_SC_DNR : check_length(req, len);
	if (req->sqe.sgl.type != NVME_SGL_OFFSET || req->dir != REQ_TO_CTRL)
		return NVME_SC_SGL_INVALID_TYPE | NVME_SC_DNR;
	if (le64_get(&req->sqe.sgl.addr))
		return NVME_SC_SGL_INVALID_OFFSET | NVME_SC_DNR;
	if (len != capsule)
		return NVME_SC_SGL_INVALID_LEN | NVME_SC_DNR;
	return check_length(req, len);
}

static bool is_connect(const struct nvme_sqe *sqe)
{
	return sqe->opc == NVME_OPC_FABRICS && ((const struct nvmf_connect_cmd *)sqe)->fctype == NVME_FC_CONNECT;
}

static uint16_t parse(struct req *req, bool conflict)
{
	uint16_t status;

	if (conflict)
		return NVME_SC_CID_CONFLICT | NVME_SC_DNR;
	if (!req->conn->ctrl && !is_connect(&req->sqe))
		return NVME_SC_CMD_SEQ_ERROR | NVME_SC_DNR;
	status = cmd_parse(req);
	if (status)
		return status;
	if (!req->nbytes)
		req->dir = REQ_NODATA;
	return check_sgl(req);
}

static void tally_command(struct conn *c, struct req *req)
{
	struct tally *t = &c->r->tally;

	if (!c->qid)
		t->admin++;
	else if (req->sqe.opc == NVME_IO_READ)
		t->read++;
	else if (req->sqe.opc == NVME_IO_WRITE)
		t->write++;
	else
		t->other++;
	/* An AER is not waited for by anybody who waits for commands to end. */
	if (c->qid || req->sqe.opc != NVME_ADM_AER) {
		priv(req)->flags |= REQ_F_BUSY;
		__atomic_fetch_add(&c->r->nbusy, 1, __ATOMIC_RELAXED);
	}
}

static void start(struct req *req)
{
	struct conn *c = req->conn;

	if (req->status || req->dir == REQ_NODATA) {
		/* Data in the capsule that nobody wants are dropped first. */
		if (priv(req)->capsule)
			c->rx_req = req;
		else if (req->status)
			done(req);
		else
			execute(req);
		return;
	}
	provide(req);
	/* Without data in the capsule it may be executing elsewhere by now. */
	if (priv(req)->capsule && req->status)
		c->rx_req = req;
}

void req_command(struct conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	bool conflict = req_by_cid(c, le16_get(&pdu->sqe.cid));
	struct req *req = req_get(c);

	if (!req) {
		conn_fatal(c, NTCP_FES_SEQUENCE, 0, c->state == CONN_LIVE ? "more commands than the queue has entries"
									  : "a command before the end of Connect");
		return;
	}
	req->sqe = pdu->sqe;
	req->arrived_ns = c->r->now;
	priv(req)->capsule = pdu->data_len;
	if (!conflict && c->hash)
		hash_add(c, req);
	c->sqhd = c->sqhd == c->sqsize ? 0 : (uint16_t)(c->sqhd + 1);
	tally_command(c, req);
	if (!c->qid)	/* it may be the one that reads the counters */
		tally_flush(c->r);
	req->status = parse(req, conflict);
	start(req);
}

void req_capsule_end(struct req *req, bool dgst_ok)
{
	if (req->status)
		done(req);
	else if (!dgst_ok)
		req_finish(req, NVME_SC_TRANSIENT_TRANSPORT);
	else
		execute(req);
}

/* ---- Data that were asked for ---- */

static struct req *req_by_ttag(struct conn *c, uint16_t ttag)
{
	uint32_t i = ttag & ((1u << TTAG_BITS) - 1);
	struct req *req = c->table ? &c->table[i] : &c->first;

	if (i >= (c->table ? c->nfresh : 1) || req->state != REQ_DATA || req->ttag != ttag)
		return NULL;
	return req;
}

void req_data_begin(struct conn *c)
{
	const struct ntcp_pdu *pdu = &c->rx.pdu;
	struct req *req = req_by_ttag(c, pdu->data.ttag);
	uint32_t fei = 0;
	const char *why;
	int fes;

	if (!c->ntransfer) {
		conn_fatal(c, NTCP_FES_SEQUENCE, 0, "H2CData: no R2T is outstanding");
		return;
	}
	if (!req) {
		conn_fatal(c, NTCP_FES_INVALID_HDR, 10, "H2CData: no R2T has this TTAG");
		return;
	}
	fes = ntcp_xfer_take(&req->xfer, pdu, &fei, &why);
	if (fes)
		conn_fatal(c, (uint16_t)fes, fei, why);
	else
		conn_place(c, req, pdu->data.offset, pdu->data_len);
}

void req_data_end(struct req *req, bool dgst_ok)
{
	if (!dgst_ok)
		priv(req)->flags |= REQ_F_BAD_DGST;
	if (!ntcp_xfer_done(&req->xfer))
		return;
	req->conn->ntransfer--;
	if (priv(req)->flags & REQ_F_BAD_DGST)
		req_finish(req, NVME_SC_TRANSIENT_TRANSPORT);
	else
		execute(req);
}

/* ---- Cut short ---- */

/* It waits for memory no more. If that is on its way already, the end comes with it. */
static void give_up(struct req *req, uint16_t status)
{
	req->status = status;
	priv(req)->flags |= REQ_F_ABORTED;
	if (!mem_cancel(req->conn->t->mem, &priv(req)->wait))
		return;
	req->conn->nmem -= !priv(req)->capsule;
	done(req);
}

/* Of a connection that is ENDING or CLOSED already. Those that are to be sent are not the caller's concern. */
void req_cancel(struct req *req)
{
	switch (req->state) {
	case REQ_EXEC:
		if (req->cancel)
			req->cancel(req);
		break;
	case REQ_MEM:
		give_up(req, NVME_SC_ABORT_REQ);
		break;
	case REQ_CAPSULE:
	case REQ_DATA:
		done(req);
		break;
	default:
		break;
	}
}

bool conn_abort(struct conn *c, uint16_t cid)
{
	struct req *req = req_by_cid(c, cid);

	if (!req || c->state >= CONN_ENDING)
		return false;
	if (req->state == REQ_EXEC && req->cancel) {
		req->cancel(req);
		return true;
	}
	if (req->state != REQ_MEM || priv(req)->capsule)
		return false;
	give_up(req, NVME_SC_ABORT_REQ | NVME_SC_DNR);
	return true;
}

void reqs_expire(struct conn *c, uint64_t before_ns, uint64_t long_before_ns)
{
	struct mem_wait *w;
	struct req *req;
	uint32_t i;

	for (i = 0; i < c->nfresh && c->nmem; i++) {
		req = &c->table[i];
		w = &priv(req)->wait;
		if (req->state != REQ_MEM || priv(req)->capsule || w->since_ns >= before_ns)
			continue;
		if (w->since_ns < long_before_ns || mem_served(c->t->mem, w) < before_ns)
			give_up(req, NVME_SC_TRANSIENT_TRANSPORT);
	}
}

struct ctrl *req_ctrl(const struct req *req)
{
	return req->conn->ctrl;
}

uint16_t req_qid(const struct req *req)
{
	return req->conn->qid;
}

struct target *req_target(const struct req *req)
{
	return req->conn->t;
}

struct reactor *req_reactor(const struct req *req)
{
	return req->conn->r;
}
