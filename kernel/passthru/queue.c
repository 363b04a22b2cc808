// SPDX-License-Identifier: GPL-2.0-only
/* Requests of the virtual controllers: taking them, and ending them. */
#include "core.h"
#include "trace.h"

/* ---- The end ---- */

/*
 * nvme-core tries the block layer's own commands again unless DNR says that it is no use. A reset below and what a disk
 * says are for it to judge, as they would be below. What we or an accelerator answer is final.
 */
static u16 upper_status(const struct nap_req *r, struct request *rq, u16 status, enum nap_reason reason)
{
	bool judge = reason == NAP_R_RESET || (reason == NAP_R_LOWER && r->ns && !r->ns->accel);

	if (status && !judge && !blk_rq_is_passthrough(rq))
		status |= NAP_SC_DNR;
	return status;
}

void nap_complete(struct nap_req *r, u16 status, union nvme_result result, enum nap_reason reason)
{
	struct request *rq = nap_rq(r);
	struct nap_ns *ns = r->ns;

	r->reason = reason;
	status = upper_status(r, rq, status, reason);
	if (ns) {
		nap_limit_put(&ns->limit, r);
		nap_stats_done(ns, r, status, reason);
	}
	trace_nvme_accel_pt_complete(r, status, reason);
	r->ns = NULL;
	if (!nvme_try_complete_req(rq, cpu_to_le16(status << 1), result))
		nvme_complete_rq(rq);
	if (ns)
		nap_ns_put(ns);
}

/*
 * Never by a clock: a command that is ended while whoever is below may still use its pages would let somebody else
 * have them. What is below has clocks of its own.
 */
static enum blk_eh_timer_return nap_io_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

/* Requests for events have no pages and may wait for ever: the one kind that a clock ends, so that no user is stuck. */
static enum blk_eh_timer_return nap_admin_timeout(struct request *rq)
{
	struct nap_req *r = nap_req(rq);

	if (r->cmd.common.opcode == nvme_admin_async_event && nap_event_abort(nap_live(r->req.ctrl), r))
		return BLK_EH_DONE;
	return BLK_EH_RESET_TIMER;
}

/* ---- The beginning ---- */

/* Of a command of either kind of queue; upper: NULL for admin. False: it goes no further, and *ret says so. */
static bool begin(struct nvme_ns *upper, struct request *rq, blk_status_t *ret)
{
	struct nap_req *r = nap_req(rq);
	struct nap_live *l = nap_live(r->req.ctrl);

	if (!nvme_check_ready(&l->ctrl, rq, READ_ONCE(l->ready))) {
		*ret = nvme_fail_nonready_command(&l->ctrl, rq);
		return false;
	}
	*ret = nvme_setup_cmd(upper, rq);
	if (*ret)
		return false;
	r->ns = NULL;
	r->reason = NAP_R_OK;
	r->limited = false;
	r->nbytes = 0;
	r->start_ns = ktime_get_ns();
	return true;
}

/* ---- I/O ---- */

/* Ends a command that goes nowhere. */
static blk_status_t refuse(struct nap_req *r, u16 status, enum nap_reason reason)
{
	nvme_start_request(nap_rq(r));
	nap_complete(r, status, nap_result(0), reason);
	return BLK_STS_OK;
}

/* The block layer offers it again. */
static blk_status_t not_now(struct nap_req *r, blk_status_t status)
{
	struct nap_ns *ns = r->ns;

	nvme_cleanup_cmd(nap_rq(r));
	r->ns = NULL;
	nap_ns_put(ns);
	return status;
}

static blk_status_t nap_take(struct nap_live *l, struct nap_req *r, u32 nsid)
{
	struct nap_ns *ns = nap_ns_get(l->owner, nsid);
	enum nap_reason reason = NAP_R_OK;
	blk_status_t ret;
	u16 status;

	if (!ns) {
		if (READ_ONCE(l->going))
			return refuse(r, NAP_SC_PATH_INTERNAL, NAP_R_GONE);
		return refuse(r, NAP_SC_INVALID_NS, NAP_R_NSID);
	}
	r->ns = ns;
	status = nap_policy_check(&ns->conf.policy, r, ns->lba_shift, READ_ONCE(ns->nblocks), &reason);
	if (status)
		return refuse(r, status, reason);
	if (r->nbytes > ns->max_bytes)
		return refuse(r, NAP_SC_INVALID_FIELD, NAP_R_LENGTH);
	if (!nap_limit_get(&ns->limit, r)) {
		nap_stats_throttled(ns);
		return not_now(r, BLK_STS_DEV_RESOURCE);
	}
	nvme_start_request(nap_rq(r));
	trace_nvme_accel_pt_submit(r);
	ret = ns->ops->queue(ns, r);
	if (ret == BLK_STS_OK)
		return ret;
	nap_limit_undo(&ns->limit, r);
	return not_now(r, BLK_STS_RESOURCE);
}

static blk_status_t nap_queue_io(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct nvme_ns *upper = hctx->queue->queuedata;
	struct nap_req *r = nap_req(bd->rq);
	blk_status_t ret;

	if (!begin(upper, bd->rq, &ret))
		return ret;
	/* A passthrough command says its namespace itself; one of another namespace's node is nobody's. */
	if (le32_to_cpu(r->cmd.common.nsid) != upper->head->ns_id)
		return refuse(r, NAP_SC_INVALID_NS, NAP_R_NSID);
	return nap_take(nap_live(r->req.ctrl), r, upper->head->ns_id);
}

/* ---- Admin ---- */

static blk_status_t nap_queue_admin(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct nap_req *r = nap_req(rq);
	blk_status_t ret;

	if (!begin(NULL, rq, &ret))
		return ret;
	nvme_start_request(rq);
	INIT_WORK(&r->work, nap_admin_work);
	queue_work(nap_live(r->req.ctrl)->wq, &r->work);
	return BLK_STS_OK;
}

static int nap_init_request(struct blk_mq_tag_set *set, struct request *rq, unsigned int hctx_idx, unsigned int node)
{
	struct nap_req *r = nap_req(rq);
	struct nvme_ctrl *ctrl = set->driver_data;

	r->req.ctrl = ctrl;
	r->req.cmd = &r->cmd;
	r->ctrl = nap_ctrl_of(ctrl);
	return 0;
}

const struct blk_mq_ops nap_io_mq_ops = {
	.queue_rq = nap_queue_io,
	.complete = nvme_complete_rq,
	.init_request = nap_init_request,
	.timeout = nap_io_timeout,
};

const struct blk_mq_ops nap_admin_mq_ops = {
	.queue_rq = nap_queue_admin,
	.complete = nvme_complete_rq,
	.init_request = nap_init_request,
	.timeout = nap_admin_timeout,
};
