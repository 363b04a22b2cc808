// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a command is: cmd_parse() and the table of admin commands; the commands that are too short for a file of their
 * own; access to the data of a command.
 */
#include "ctrl.h"

const uint8_t admin_opcodes[] = {
	NVME_ADM_GET_LOG, NVME_ADM_IDENTIFY, NVME_ADM_ABORT, NVME_ADM_SET_FEATURES, NVME_ADM_GET_FEATURES,
	NVME_ADM_AER, NVME_ADM_KEEP_ALIVE, 0xff,
};

/* ---- Data ---- */

/* The next piece of the data from off on, at most n bytes; 0: there is none. */
static uint32_t data_piece(const struct req *req, uint32_t off, uint32_t n, uint8_t **piece)
{
	unsigned int i;

	for (i = 0; i < req->niov; i++) {
		if (off < req->iov[i].iov_len) {
			*piece = (uint8_t *)req->iov[i].iov_base + off;
			return (uint32_t)BASE_MIN(n, req->iov[i].iov_len - off);
		}
		off -= (uint32_t)req->iov[i].iov_len;
	}
	return 0;
}

void data_put(struct req *req, uint32_t off, const void *from, uint32_t n)
{
	const uint8_t *p = from;
	uint8_t *piece;
	uint32_t part;

	for (; n && (part = data_piece(req, off, n, &piece)); off += part, p += part, n -= part)
		memcpy(piece, p, part);
}

void data_get(const struct req *req, uint32_t off, void *to, uint32_t n)
{
	uint8_t *p = to, *piece;
	uint32_t part;

	for (; n && (part = data_piece(req, off, n, &piece)); off += part, p += part, n -= part)
		memcpy(p, piece, part);
	memset(p, 0, n);
}

void data_zero(struct req *req, uint32_t off, uint32_t n)
{
	uint8_t *piece;
	uint32_t part;

	for (; n && (part = data_piece(req, off, n, &piece)); off += part, n -= part)
		memset(piece, 0, part);
}

/* The part of the next n bytes that is wanted: where it begins among them, and where it goes. */
static uint32_t window_part(struct window *w, uint32_t n, uint32_t *from, uint32_t *to)
{
	uint64_t begin = BASE_MAX(w->at, w->skip), end = BASE_MIN(w->at + n, w->skip + w->want);

	*from = (uint32_t)(begin - w->at);
	*to = (uint32_t)(begin - w->skip);
	w->at += n;
	return begin < end ? (uint32_t)(end - begin) : 0;
}

void window_put(struct window *w, const void *from, uint32_t n)
{
	uint32_t begin, to, part = window_part(w, n, &begin, &to);

	if (part)
		data_put(w->req, to, (const uint8_t *)from + begin, part);
}

void window_zero(struct window *w, uint32_t n)
{
	uint32_t begin, to, part = window_part(w, n, &begin, &to);

	if (part)
		data_zero(w->req, to, part);
}

uint16_t admin_nodata(struct req *req, void (*execute)(struct req *req))
{
	req->execute = execute;
	req->dir = REQ_NODATA;
	req->nbytes = 0;
	return NVME_SC_OK;
}

uint16_t admin_to_host(struct req *req, uint32_t nbytes, void (*execute)(struct req *req))
{
	req->execute = execute;
	req->dir = REQ_TO_HOST;
	req->nbytes = nbytes;
	req->exact = false;
	return NVME_SC_OK;
}

uint16_t admin_to_ctrl(struct req *req, uint32_t nbytes, void (*execute)(struct req *req))
{
	admin_to_host(req, nbytes, execute);
	req->dir = REQ_TO_CTRL;
	return NVME_SC_OK;
}

/* ---- Keep Alive ---- */

static void keep_alive(struct req *req)
{
	/* That it came is enough (ctrl_alive). */
	req_complete(req, NVME_SC_OK);
}

/* ---- Abort: in the reactor of the command that is meant, answered from there ---- */

struct abort_work {
	struct reactor_msg msg;
	struct req *req;
	struct conn *conn;
	uint16_t qid, cid;
	bool found;
};

static void abort_end(struct abort_work *w)
{
	struct req *req = w->req;

	req->result = !w->found;	/* bit 0: it was not aborted */
	req_complete(req, NVME_SC_OK);
}

/* The admin queue's reactor again: nabort is its. */
static void abort_back(struct reactor_msg *msg)
{
	struct abort_work *w = (struct abort_work *)((char *)msg - offsetof(struct abort_work, msg));

	req_ctrl(w->req)->nabort--;
	abort_end(w);
}

static void abort_there(struct reactor_msg *msg)
{
	struct abort_work *w = (struct abort_work *)((char *)msg - offsetof(struct abort_work, msg));
	struct ctrl *ctrl = req_ctrl(w->req);
	bool same;

	/* The connection may have gone in the meantime, and its memory may be another's, in another reactor. */
	pthread_mutex_lock(&ctrl->lock);
	same = ctrl->queue[w->qid] == w->conn && reactor_is_self(conn_reactor(w->conn));
	pthread_mutex_unlock(&ctrl->lock);
	w->found = same && conn_abort(w->conn, w->cid);
	msg->fn = abort_back;
	reactor_post(req_reactor(w->req), msg);
}

static void abort_execute(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	struct abort_work *w = (struct abort_work *)&req->u;
	uint32_t what = le32_get(&req->sqe.cdw10);
	struct reactor *r = NULL;

	_Static_assert(sizeof(*w) <= sizeof(req->u), "fits in a request");
	if (ctrl->nabort >= MAX_ABORT) {
		req_complete(req, FAIL(NVME_SC_ABORT_LIMIT));
		return;
	}
	*w = (struct abort_work){ .msg.fn = abort_there, .req = req, .qid = (uint16_t)what,
				  .cid = (uint16_t)(what >> 16) };
	pthread_mutex_lock(&ctrl->lock);
	if (w->qid <= MAX_IO_QUEUES && ctrl->queue[w->qid]) {
		w->conn = ctrl->queue[w->qid];
		r = conn_reactor(w->conn);
	}
	pthread_mutex_unlock(&ctrl->lock);
	if (!r) {
		abort_end(w);
		return;
	}
	ctrl->nabort++;
	reactor_post(r, &w->msg);
}

/* ---- Parsing ---- */

static uint16_t keep_alive_parse(struct req *req)
{
	return admin_nodata(req, keep_alive);
}

static uint16_t abort_parse(struct req *req)
{
	return admin_nodata(req, abort_execute);
}

static uint16_t admin_parse(struct req *req)
{
	switch (req->sqe.opc) {
	case NVME_ADM_GET_LOG:
		return log_parse(req);
	case NVME_ADM_IDENTIFY:
		return identify_parse(req);
	case NVME_ADM_ABORT:
		return abort_parse(req);
	case NVME_ADM_SET_FEATURES:
		return set_features_parse(req);
	case NVME_ADM_GET_FEATURES:
		return get_features_parse(req);
	case NVME_ADM_AER:
		return aer_parse(req);
	case NVME_ADM_KEEP_ALIVE:
		return keep_alive_parse(req);
	default:
		return FAIL(NVME_SC_INVALID_OPCODE);
	}
}

static uint16_t io_parse(struct req *req, struct ctrl *ctrl)
{
	struct ns *ns;
	uint16_t sc;

	if (req->sqe.opc > NVME_IO_READ)
		return FAIL(NVME_SC_INVALID_OPCODE);
	ns = subsys_ns(ctrl->subsys, le32_get(&req->sqe.nsid));
	if (!ns)
		return FAIL(NVME_SC_INVALID_NS);
	ns_get(ns);
	req->ns = ns;
	sc = ns->ops->parse(ns, req);
	if (sc) {
		req->ns = NULL;
		ns_put(ns);
	}
	return sc;
}

/* Before it is enabled nothing but properties is in order. What still arrives at a queue that is about to be closed
 * may well be tried again on another path. */
static uint16_t not_ready(const struct req *req, const struct ctrl *ctrl)
{
	if (ctrl && (req_qid(req) || __atomic_load_n(&ctrl->dead, __ATOMIC_RELAXED)))
		return NVME_SC_SQ_DELETED;
	return FAIL(NVME_SC_CMD_SEQ_ERROR);
}

uint16_t cmd_parse(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);

	if (req->sqe.flags & NVME_SQE_FUSE || (req->sqe.flags & NVME_SQE_PSDT) != NVME_SQE_SGL)
		return FAIL(NVME_SC_INVALID_FIELD);
	if (req->sqe.opc == NVME_OPC_FABRICS)
		return fabrics_parse(req);
	if (!ctrl || !__atomic_load_n(&ctrl->ready, __ATOMIC_ACQUIRE))
		return not_ready(req, ctrl);
	return req_qid(req) ? io_parse(req, ctrl) : admin_parse(req);
}
