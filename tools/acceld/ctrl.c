// SPDX-License-Identifier: BSD-2-Clause
/* Controllers: their life, their keep alive timer, their error log. */
#include <stdlib.h>
#include "ctrl.h"

#define TEMPERATURE_MAX	0xffffu
/* A discovery controller without keep alive ends when nothing has been asked of it for so long. */
#define DISCOVERY_IDLE_NS (300 * NS_PER_S)
#define ALIVE_STEP_NS	NS_PER_MS

bool ctrl_is_discovery(const struct ctrl *ctrl)
{
	return ctrl->subsys->discovery;
}

uint64_t ctrl_host(const struct ctrl *ctrl)
{
	return ctrl->host;
}

struct subsys *ctrl_subsys(const struct ctrl *ctrl)
{
	return ctrl->subsys;
}

void features_default(struct features *feat)
{
	memset(feat, 0, sizeof(*feat));
	feat->temp_over = TEMPERATURE_MAX;
	feat->aec = AEC_NS_CHANGED | AEC_DISC_CHANGED;
}

struct ctrl *ctrl_find(struct target *t, uint16_t cntlid)
{
	struct ctrl *c;

	for (c = t->ctrl; c; c = c->next)
		if (c->cntlid == cntlid)
			return c;
	return NULL;
}

/* Ids are given out in turn, so that a late Connect to a controller that is gone does not find another one. */
static uint16_t next_cntlid(struct target *t)
{
	unsigned int i;

	for (i = 0; i < 0xffef; i++) {
		t->cntlid = t->cntlid >= 0xffef ? 1 : (uint16_t)(t->cntlid + 1);
		if (!ctrl_find(t, t->cntlid))
			return t->cntlid;
	}
	return 0;
}

struct ctrl *ctrl_new(struct target *t, struct subsys *s, const struct nvmf_connect_data *data, struct conn *conn)
{
	uint16_t cntlid = next_cntlid(t);
	struct ctrl *ctrl = cntlid ? calloc(1, sizeof(*ctrl)) : NULL;

	if (!ctrl)
		return NULL;
	if (pthread_mutex_init(&ctrl->lock, NULL)) {
		free(ctrl);
		return NULL;
	}
	ctrl->target = t;
	ctrl->subsys = s;
	ctrl->cntlid = cntlid;
	ctrl->host = host_number(t, data);
	memcpy(ctrl->hostid, data->hostid, sizeof(ctrl->hostid));
	memcpy(ctrl->hostnqn, data->hostnqn, NVME_NQN_MAX);
	features_default(&ctrl->feat);
	ctrl->aec = ctrl->feat.aec;
	ctrl->granted = s->discovery ? 0 : t->conf->io_queues;
	ctrl->queue[0] = conn;
	ctrl->nconn = 1;
	ctrl->next = t->ctrl;
	t->ctrl = ctrl;
	s->nctrl++;
	count(&t->count.ctrls, 1);
	count(&t->count.ctrls_now, 1);
	return ctrl;
}

/* The last connection is gone. Under target.lock. */
static void ctrl_free(struct ctrl *ctrl)
{
	struct target *t = ctrl->target;
	struct subsys *s = ctrl->subsys;
	struct ctrl **p;

	for (p = &t->ctrl; *p; p = &(*p)->next)
		if (*p == ctrl) {
			*p = ctrl->next;
			break;
		}
	if (!--s->nctrl && s->gone)
		subsys_free(s);
	count(&t->count.ctrls_now, -1ull);
	pthread_mutex_destroy(&ctrl->lock);
	free(ctrl);
}

void ctrl_drop(struct ctrl *ctrl, uint16_t qid, struct conn *conn)
{
	struct target *t = ctrl->target;

	pthread_mutex_lock(&t->lock);
	pthread_mutex_lock(&ctrl->lock);
	if (qid <= MAX_IO_QUEUES && ctrl->queue[qid] == conn) {
		ctrl->queue[qid] = NULL;
		ctrl->closing[qid] = false;
	}
	pthread_mutex_unlock(&ctrl->lock);
	if (!--ctrl->nconn)
		ctrl_free(ctrl);
	pthread_mutex_unlock(&t->lock);
}

static void close_queues(struct ctrl *ctrl, unsigned int first, const char *why)
{
	unsigned int i;

	for (i = first; i <= MAX_IO_QUEUES; i++)
		if (ctrl->queue[i]) {
			ctrl->closing[i] = true;
			conn_close_later(ctrl->queue[i], why);
		}
}

void ctrl_close(struct ctrl *ctrl, const char *why)
{
	pthread_mutex_lock(&ctrl->lock);
	__atomic_store_n(&ctrl->dead, true, __ATOMIC_RELAXED);
	__atomic_store_n(&ctrl->ready, false, __ATOMIC_RELEASE);
	close_queues(ctrl, 0, why);
	pthread_mutex_unlock(&ctrl->lock);
}

void ctrl_close_io(struct ctrl *ctrl, const char *why)
{
	pthread_mutex_lock(&ctrl->lock);
	close_queues(ctrl, 1, why);
	pthread_mutex_unlock(&ctrl->lock);
}

void queue_gone(struct ctrl *ctrl, uint16_t qid, struct conn *conn)
{
	enum log_level level;
	char host[256];

	if (!qid) {
		reactor_timer_clear(conn_reactor(conn), &ctrl->kato_timer);
		pthread_mutex_lock(&ctrl->lock);
		level = ctrl->used ? LOG_INFO : LOG_DEBUG;
		pthread_mutex_unlock(&ctrl->lock);
		log_event(ctrl->target, level, "controller-gone", "cntlid=%u host=%s peer=%s", ctrl->cntlid,
			  log_q(host, ctrl->hostnqn, strlen(ctrl->hostnqn)), conn_peer(conn));
		pthread_mutex_lock(&ctrl->lock);
		if (ctrl->queue[0] == conn)
			ctrl->queue[0] = NULL;
		pthread_mutex_unlock(&ctrl->lock);
		ctrl_close(ctrl, "association-ended");
	}
	ctrl_drop(ctrl, qid, conn);
}

/* ---- Keep alive ---- */

void ctrl_alive(struct ctrl *ctrl, uint64_t now_ns)
{
	uint64_t was = __atomic_load_n(&ctrl->alive_ns, __ATOMIC_RELAXED);

	/* Many queues write here; once a millisecond is enough. */
	if (now_ns > was + ALIVE_STEP_NS)
		__atomic_store_n(&ctrl->alive_ns, now_ns, __ATOMIC_RELAXED);
}

/* How long silence may last: a quarter more than was asked for, because a sign of life needs time to get here. */
static uint64_t patience_ns(const struct ctrl *ctrl)
{
	if (!ctrl->kato_ms)
		return ctrl_is_discovery(ctrl) ? DISCOVERY_IDLE_NS : 0;
	return ctrl->kato_ms * NS_PER_MS + ctrl->kato_ms * NS_PER_MS / 4;
}

static void kato_due(struct reactor_timer *timer)
{
	struct ctrl *ctrl = (struct ctrl *)((char *)timer - offsetof(struct ctrl, kato_timer));
	struct reactor *r = conn_reactor(ctrl->queue[0]);
	uint64_t due = __atomic_load_n(&ctrl->alive_ns, __ATOMIC_RELAXED) + patience_ns(ctrl);
	char host[256];

	if (reactor_now(r) < due) {
		reactor_timer_set(r, timer, due);
		return;
	}
	count(&ctrl->target->count.keepalive_expiries, 1);
	log_event(ctrl->target, LOG_WARNING, "keep-alive-expired", "cntlid=%u kato_ms=%u host=%s", ctrl->cntlid,
		  ctrl->kato_ms, log_q(host, ctrl->hostnqn, strlen(ctrl->hostnqn)));
	pthread_mutex_lock(&ctrl->lock);
	ctrl->csts |= CSTS_CFS;
	pthread_mutex_unlock(&ctrl->lock);
	ctrl_close(ctrl, "keep-alive-expired");
}

void ctrl_set_kato(struct ctrl *ctrl, uint32_t kato_ms)
{
	struct reactor *r = conn_reactor(ctrl->queue[0]);
	uint64_t now = reactor_now(r);

	/* Up to the granularity; the largest number stays within 32 bits. */
	ctrl->kato_ms = kato_ms > UINT32_MAX - KAS_MS ? UINT32_MAX : (kato_ms + KAS_MS - 1) / KAS_MS * KAS_MS;
	__atomic_store_n(&ctrl->alive_ns, now, __ATOMIC_RELAXED);
	ctrl->kato_timer.fn = kato_due;
	if (patience_ns(ctrl))
		reactor_timer_set(r, &ctrl->kato_timer, now + patience_ns(ctrl));
	else
		reactor_timer_clear(r, &ctrl->kato_timer);
}

/* ---- The error log ---- */

void ctrl_error(struct ctrl *ctrl, const struct req *req)
{
	const struct nvme_sqe *sqe = &req->sqe;
	bool io = req_qid(req) != 0 && sqe->opc != NVME_OPC_FABRICS;
	struct error_entry *e;

	pthread_mutex_lock(&ctrl->lock);
	e = &ctrl->error[ctrl->nerror++ % NERROR];
	e->count = ctrl->nerror;
	e->qid = req_qid(req);
	e->cid = le16_get(&sqe->cid);
	e->status = req->status;
	e->nsid = sqe->opc == NVME_OPC_FABRICS ? 0 : le32_get(&sqe->nsid);
	e->lba = io ? le32_get(&sqe->cdw10) | (uint64_t)le32_get(&sqe->cdw11) << 32 : 0;
	e->result = req->result;
	pthread_mutex_unlock(&ctrl->lock);
}
