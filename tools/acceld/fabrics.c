// SPDX-License-Identifier: BSD-2-Clause
/* Fabrics commands: Connect, Property Get and Set, Disconnect. Authentication is not offered. */
#include <errno.h>
#include <string.h>
#include "ctrl.h"

/* Byte offsets of parameters, as a refused Connect reports them: in the command, and (DATA) in its data. */
#define IN_DATA		(1u << 16)
#define AT_QID		42u
#define AT_SQSIZE	44u
#define AT_HOSTID	(IN_DATA | 0u)
#define AT_CNTLID	(IN_DATA | 16u)
#define AT_SUBNQN	(IN_DATA | 256u)
#define AT_HOSTNQN	(IN_DATA | 512u)

/* A host may use the number of a queue again at once, while we still see the old connection closing. */
#define QID_WAIT_NS	NS_PER_S
#define QID_RETRY_NS	(5 * NS_PER_MS)

struct connect_wait {
	struct reactor_timer timer;
	struct req *req;
	uint64_t deadline_ns;
};

/* Why a Connect is refused; status 0: it is not. */
struct verdict {
	uint16_t status;
	uint32_t at;		/* with Connect Invalid Parameters: which one */
	const char *why;
	bool again;		/* the queue is in use: try again soon */
};

#define OK ((struct verdict){ 0 })
#define BAD(offset, text) \
	((struct verdict){ .status = FAIL(NVME_SC_CONNECT_INVALID_PARAM), .at = (offset), .why = (text) })
#define BUSY(text) ((struct verdict){ .status = NVME_SC_CONNECT_BUSY, .why = (text) })

static const struct nvmf_connect_cmd *connect_cmd(const struct req *req)
{
	return (const struct nvmf_connect_cmd *)&req->sqe;
}

static void connect_refuse(struct req *req, const struct nvmf_connect_data *data, const struct verdict *v)
{
	struct target *t = req_target(req);
	char host[256], sub[256];

	req->result = v->at;
	count(&t->count.connects_refused, 1);
	log_event(t, LOG_WARNING, "connect-refused", "reason=%s qid=%u status=%#x host=%s subsystem=%s peer=%s", v->why,
		  le16_get(&connect_cmd(req)->qid), v->status & 0x7ffu,
		  log_q(host, data->hostnqn, strnlen(data->hostnqn, NVME_NQN_FIELD)),
		  log_q(sub, data->subnqn, strnlen(data->subnqn, NVME_NQN_FIELD)), conn_peer(req->conn));
	req_complete(req, v->status);
}

/* UTF-8 is allowed, control characters never are. */
static bool nqn_ok(const char nqn[NVME_NQN_FIELD])
{
	size_t n = strnlen(nqn, NVME_NQN_FIELD), i;

	for (i = 0; i < n; i++)
		if ((uint8_t)nqn[i] < 0x20 || nqn[i] == 0x7f)
			return false;
	return n && n <= NVME_NQN_MAX;
}

/* What can be judged without knowing what there is. */
static struct verdict connect_format(const struct req *req, const struct nvmf_connect_data *data)
{
	const struct nvmf_connect_cmd *cmd = connect_cmd(req);
	const struct conf *conf = req_target(req)->conf;
	uint16_t qid = le16_get(&cmd->qid), sqsize = le16_get(&cmd->sqsize), cntlid = le16_get(&data->cntlid);
	/* An admin queue has at least 32 entries. */
	unsigned int most = qid ? conf->queue_depth : BASE_MAX(conf->queue_depth, 32u);

	if (le16_get(&cmd->recfmt))
		return (struct verdict){ .status = FAIL(NVME_SC_CONNECT_FORMAT), .why = "format" };
	if (qid > MAX_IO_QUEUES)
		return BAD(AT_QID, "qid-range");
	if (!sqsize || sqsize >= most)
		return BAD(AT_SQSIZE, "sqsize");
	if (!nqn_ok(data->subnqn))
		return BAD(AT_SUBNQN, "subnqn-malformed");
	if (!nqn_ok(data->hostnqn))
		return BAD(AT_HOSTNQN, "hostnqn-malformed");
	if (!qid && cntlid != ANY_CNTLID && cntlid != 0xfffe)
		return BAD(AT_CNTLID, "cntlid-not-dynamic");
	return OK;
}

/* Under target.lock. */
static struct verdict connect_limits(struct target *t, const struct nvmf_connect_data *data)
{
	if (__atomic_load_n(&t->stopping, __ATOMIC_RELAXED))
		return BUSY("stopping");
	if (host_nconn(t, data->hostnqn) >= t->conf->max_conns_host)
		return BUSY("max_conns_host");
	return OK;
}

/*
 * Neither one host nor those that only look around, which any host may, have all controllers: the others would be shut
 * out. Under target.lock.
 */
static struct verdict connect_share(const struct target *t, const struct subsys *s, const char *hostnqn)
{
	unsigned int all = 0, discovery = 0, host = 0, most = t->conf->max_ctrls, part = most - most / 4;
	const struct ctrl *c;

	for (c = t->ctrl; c; c = c->next) {
		all++;
		discovery += c->subsys->discovery;
		host += !strcmp(c->hostnqn, hostnqn);
	}
	if (all >= most)
		return BUSY("max_ctrls");
	if (host >= part)
		return BUSY("max_ctrls-of-a-host");
	return s->discovery && discovery >= part ? BUSY("max_ctrls-of-discovery") : OK;
}

/* A new controller. Under target.lock. */
static struct verdict connect_admin(struct req *req, const struct nvmf_connect_data *data, struct ctrl **ctrl)
{
	struct target *t = req_target(req);
	struct subsys *s = subsys_find(t, data->subnqn);
	struct verdict v;

	if (!s)
		return BAD(AT_SUBNQN, "unknown-subsystem");
	if (!subsys_allows(s, data->hostnqn))
		return (struct verdict){ .status = FAIL(NVME_SC_CONNECT_INVALID_HOST), .why = "host-not-allowed" };
	v = connect_limits(t, data);
	if (v.status)
		return v;
	v = connect_share(t, s, data->hostnqn);
	if (v.status)
		return v;
	*ctrl = ctrl_new(t, s, data, req->conn);
	return *ctrl ? OK : BUSY("no-memory");
}

/* Whether this host may have a queue of this controller. Under target.lock. */
static struct verdict connect_match(const struct ctrl *ctrl, const struct nvmf_connect_data *data)
{
	if (!ctrl)
		return BAD(AT_CNTLID, "unknown-cntlid");
	if (strcmp(ctrl->subsys->conf.nqn, data->subnqn))
		return BAD(AT_SUBNQN, "other-subsystem");
	if (strcmp(ctrl->hostnqn, data->hostnqn))
		return BAD(AT_HOSTNQN, "other-host");
	if (memcmp(ctrl->hostid, data->hostid, sizeof(ctrl->hostid)))
		return BAD(AT_HOSTID, "other-hostid");
	return OK;
}

/* Another queue of a controller. Under target.lock. */
static struct verdict connect_io(struct req *req, const struct nvmf_connect_data *data, struct ctrl **found)
{
	struct target *t = req_target(req);
	struct ctrl *ctrl = ctrl_find(t, le16_get(&data->cntlid));
	uint16_t qid = le16_get(&connect_cmd(req)->qid);
	struct verdict v = connect_match(ctrl, data);

	if (!v.status)
		v = connect_limits(t, data);
	if (v.status)
		return v;
	pthread_mutex_lock(&ctrl->lock);
	if (ctrl->dead) {
		v = BAD(AT_CNTLID, "controller-ends");
	} else if (qid > ctrl->granted) {
		v = BAD(AT_QID, "qid-not-granted");
	} else if (!__atomic_load_n(&ctrl->ready, __ATOMIC_ACQUIRE)) {
		v = BAD(AT_QID, "controller-not-enabled");
	} else if (ctrl->queue[qid]) {
		v = BAD(AT_QID, "qid-in-use");
		v.again = true;
	} else {
		ctrl->queue[qid] = req->conn;
		ctrl->nconn++;
		*found = ctrl;
	}
	pthread_mutex_unlock(&ctrl->lock);
	return v;
}

/* Of the queues that come at the same time, one is the first. */
static bool first_use(struct ctrl *ctrl)
{
	bool used;

	pthread_mutex_lock(&ctrl->lock);
	used = ctrl->used;
	ctrl->used = true;
	pthread_mutex_unlock(&ctrl->lock);
	return !used;
}

static void connect_done(struct req *req, struct ctrl *ctrl, const struct nvmf_connect_data *data)
{
	const struct nvmf_connect_cmd *cmd = connect_cmd(req);
	uint16_t qid = le16_get(&cmd->qid), sqsize = le16_get(&cmd->sqsize);
	int err = conn_become_queue(req->conn, ctrl, qid, sqsize, cmd->cattr & NVMF_CATTR_NO_SQFLOW);
	struct verdict v = BUSY(err == -ENOMEM ? "no-memory" : "connection-ends");
	char host[256];

	if (err) {
		ctrl_drop(ctrl, qid, req->conn);
		connect_refuse(req, data, &v);
		return;
	}
	if (!qid)
		ctrl_set_kato(ctrl, le32_get(&cmd->kato));
	/* Whoever lists what there is makes many controllers and uses none. */
	log_event(ctrl->target, qid && first_use(ctrl) ? LOG_INFO : LOG_DEBUG,
		  qid ? "queue-connected" : "controller-connected", "cntlid=%u qid=%u sqsize=%u kato_ms=%u host=%s subsystem=\"%s\" peer=%s", ctrl->cntlid, qid,
		  sqsize + 1u, qid ? 0 : ctrl->kato_ms, log_q(host, ctrl->hostnqn, strlen(ctrl->hostnqn)), ctrl->subsys->conf.nqn,
		  conn_peer(req->conn));
	req->result = ctrl->cntlid;
	req_complete(req, NVME_SC_OK);
}

static void connect_try(struct req *req, struct connect_wait *wait);

static void connect_again(struct reactor_timer *timer)
{
	struct connect_wait *wait = (struct connect_wait *)((char *)timer - offsetof(struct connect_wait, timer));

	wait->req->cancel = NULL;
	connect_try(wait->req, wait);
}

static void connect_cancel(struct req *req)
{
	struct connect_wait *wait = (struct connect_wait *)&req->u;

	req->cancel = NULL;
	reactor_timer_clear(req_reactor(req), &wait->timer);
	req_complete(req, FAIL(NVME_SC_ABORT_REQ));
}

static void connect_try(struct req *req, struct connect_wait *wait)
{
	struct target *t = req_target(req);
	struct nvmf_connect_data data;
	struct ctrl *ctrl = NULL;
	struct verdict v;

	/* Another Connect of this connection may have come first while this one waited. */
	if (req_ctrl(req)) {
		req_complete(req, FAIL(NVME_SC_CMD_SEQ_ERROR));
		return;
	}
	data_get(req, 0, &data, sizeof(data));
	v = connect_format(req, &data);
	if (!v.status) {
		pthread_mutex_lock(&t->lock);
		v = le16_get(&connect_cmd(req)->qid) ? connect_io(req, &data, &ctrl) : connect_admin(req, &data, &ctrl);
		pthread_mutex_unlock(&t->lock);
	}
	if (v.again && reactor_now(req_reactor(req)) < wait->deadline_ns) {
		req->cancel = connect_cancel;
		reactor_timer_set(req_reactor(req), &wait->timer, reactor_now(req_reactor(req)) + QID_RETRY_NS);
	} else if (v.status) {
		connect_refuse(req, &data, &v);
	} else {
		connect_done(req, ctrl, &data);
	}
}

static void connect_execute(struct req *req)
{
	struct connect_wait *wait = (struct connect_wait *)&req->u;

	_Static_assert(sizeof(*wait) <= sizeof(req->u), "fits in a request");
	*wait = (struct connect_wait){ .timer.fn = connect_again, .req = req,
				       .deadline_ns = reactor_now(req_reactor(req)) + QID_WAIT_NS };
	connect_try(req, wait);
}

/* ---- Properties ---- */

static uint64_t property_cap(const struct target *t)
{
	return (t->conf->queue_depth - 1) |	/* MQES */
	       1ull << 16 |			/* CQR: queues are contiguous */
	       20ull << 24 |			/* TO: 10 s */
	       1ull << 37;			/* CSS: the NVM command set, and no choice of sets */
}

static const struct nvmf_property_cmd *property_cmd(const struct req *req)
{
	return (const struct nvmf_property_cmd *)&req->sqe;
}

static void property_get(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);

	switch (le32_get(&property_cmd(req)->ofst)) {
	case NVME_PROP_CAP:
		req->result = property_cap(ctrl->target);
		break;
	case NVME_PROP_VS:
		req->result = VERSION;
		break;
	case NVME_PROP_CC:
		req->result = ctrl->cc;
		break;
	default:
		pthread_mutex_lock(&ctrl->lock);
		req->result = ctrl->csts;
		pthread_mutex_unlock(&ctrl->lock);
	}
	req_complete(req, NVME_SC_OK);
}

static void set_csts(struct ctrl *ctrl, uint32_t clear, uint32_t set)
{
	pthread_mutex_lock(&ctrl->lock);
	ctrl->csts = (ctrl->csts & ~clear) | set;
	__atomic_store_n(&ctrl->ready, ctrl->csts & CSTS_RDY && !ctrl->dead, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ctrl->lock);
}

static void ctrl_enable(struct ctrl *ctrl, uint32_t cc)
{
	/* CSS, MPS, AMS 0; entries of 64 and 16 bytes. */
	bool good = !(cc & 0x3ff0) && (cc >> 16 & 0xf) == 6 && (cc >> 20 & 0xf) == 4;

	if (!good)
		log_event(ctrl->target, LOG_WARNING, "enable-refused", "cntlid=%u cc=%#x", ctrl->cntlid, cc);
	set_csts(ctrl, CSTS_CFS | CSTS_SHST, good ? CSTS_RDY : CSTS_CFS);
}

/* A controller reset: I/O queues go, the admin queue stays for properties. */
static void ctrl_disable(struct ctrl *ctrl)
{
	set_csts(ctrl, CSTS_RDY | CSTS_CFS | CSTS_SHST, 0);
	ctrl_close_io(ctrl, "controller-reset");
	aer_reset(ctrl);
	features_default(&ctrl->feat);
	pthread_mutex_lock(&ctrl->lock);
	ctrl->aec = ctrl->feat.aec;
	ctrl->granted = ctrl_is_discovery(ctrl) ? 0 : ctrl->target->conf->io_queues;
	pthread_mutex_unlock(&ctrl->lock);
}

static void cc_set(struct ctrl *ctrl, uint32_t cc)
{
	uint32_t was = ctrl->cc;
	bool shut = cc >> 14 & 3, was_shut = was >> 14 & 3;

	ctrl->cc = cc;
	if (cc & CC_EN && !(was & CC_EN))
		ctrl_enable(ctrl, cc);
	else if (!(cc & CC_EN) && was & CC_EN)
		ctrl_disable(ctrl);
	/* There is nothing to write back: a shutdown is complete at once. */
	if (shut && !was_shut)
		set_csts(ctrl, CSTS_SHST, CSTS_SHST_DONE);
	else if (!shut && was_shut)
		set_csts(ctrl, CSTS_SHST, 0);
}

static void property_set(struct req *req)
{
	cc_set(req_ctrl(req), (uint32_t)le64_get(&property_cmd(req)->value));
	req_complete(req, NVME_SC_OK);
}

static uint16_t property_parse(struct req *req, bool set)
{
	const struct nvmf_property_cmd *cmd = property_cmd(req);
	unsigned int size = cmd->attrib & 7;
	uint32_t ofst = le32_get(&cmd->ofst);
	bool known = ofst == NVME_PROP_CAP || ofst == NVME_PROP_VS || ofst == NVME_PROP_CC || ofst == NVME_PROP_CSTS;

	/* Without DNR: nvme-cli's effects-log and show-regs ask for each property that there is on PCI, and take this
	 * very status for "not here". */
	if (!known && !set)
		return NVME_SC_INVALID_FIELD;
	if (!known || size != (ofst == NVME_PROP_CAP) || (set && ofst != NVME_PROP_CC))
		return FAIL(NVME_SC_INVALID_FIELD);
	return admin_nodata(req, set ? property_set : property_get);
}

/* ---- Disconnect ---- */

static void disconnect(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	struct conn *conn = req->conn;
	uint16_t qid = req_qid(req);

	req_complete(req, NVME_SC_OK);
	pthread_mutex_lock(&ctrl->lock);
	if (ctrl->queue[qid] == conn) {
		ctrl->closing[qid] = true;
		conn_close_later(conn, "disconnect");
	}
	pthread_mutex_unlock(&ctrl->lock);
}

static uint16_t disconnect_parse(struct req *req)
{
	if (!req_qid(req))
		return FAIL(NVME_SC_INVALID_QUEUE_TYPE);
	if (le16_get(&req->sqe.cdw10))
		return FAIL(NVME_SC_CONNECT_FORMAT);
	return admin_nodata(req, disconnect);
}

uint16_t fabrics_parse(struct req *req)
{
	unsigned int fctype = connect_cmd(req)->fctype;
	bool connected = req_ctrl(req);

	if (fctype == NVME_FC_CONNECT && !connected)
		return admin_to_ctrl(req, sizeof(struct nvmf_connect_data), connect_execute);
	if (fctype == NVME_FC_CONNECT || !connected)
		return FAIL(NVME_SC_CMD_SEQ_ERROR);
	if (fctype == NVME_FC_DISCONNECT)
		return disconnect_parse(req);
	/* Properties are the admin queue's. */
	if (req_qid(req) || (fctype != NVME_FC_PROPERTY_GET && fctype != NVME_FC_PROPERTY_SET))
		return FAIL(NVME_SC_INVALID_OPCODE);
	return property_parse(req, fctype == NVME_FC_PROPERTY_SET);
}
