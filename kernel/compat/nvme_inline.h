/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nvme-core's private header has besides types and prototypes, written anew; reviewed for 6.1 and 6.12.
 * Included by nvme_private.h alone.
 */
#ifndef NVME_INLINE_H
#define NVME_INLINE_H

/* ---- Exported variables, which BTF does not have ---- */

#ifdef BTF_EXPORT_nvme_wq
extern struct workqueue_struct *nvme_wq;
#endif
#ifdef BTF_EXPORT_nvme_reset_wq
extern struct workqueue_struct *nvme_reset_wq;
#endif
#ifdef BTF_EXPORT_nvme_delete_wq
extern struct workqueue_struct *nvme_delete_wq;
#endif
#ifdef BTF_EXPORT_nvme_io_timeout
extern unsigned int nvme_io_timeout;
#define NVME_IO_TIMEOUT (nvme_io_timeout * HZ)
#endif
#ifdef BTF_EXPORT_admin_timeout
extern unsigned int admin_timeout;
#define NVME_ADMIN_TIMEOUT (admin_timeout * HZ)
#endif

/* ---- Flags ---- */

#define NVME_F_FABRICS			(1u << 0)	/* nvme_ctrl_ops.flags */
#define NVME_F_METADATA_SUPPORTED	(1u << 1)
#define REQ_NVME_MPATH			REQ_DRV		/* request.cmd_flags: came by a multipath head */
#define NVME_NS_REMOVING		0		/* bits of nvme_ns.flags */
#define NVME_CTRL_PAGE_SHIFT		12
#define NVME_CTRL_PAGE_SIZE		(1 << NVME_CTRL_PAGE_SHIFT)

/* ---- Requests ---- */

static inline struct nvme_request *nvme_req(struct request *rq)
{
	return blk_mq_rq_to_pdu(rq);
}

static inline u16 nvme_req_qid(struct request *rq)
{
	return rq->q->queuedata ? rq->mq_hctx->queue_num + 1 : 0;
}

static inline enum nvme_ctrl_state nvme_ctrl_state(struct nvme_ctrl *ctrl)
{
	return READ_ONCE(ctrl->state);
}

#if BTF_HAVE___nvme_check_ready == 4
#define nvme_not_live(ctrl, rq, queue_live, state) __nvme_check_ready(ctrl, rq, queue_live, state)
#elif BTF_HAVE___nvme_check_ready == 3
#define nvme_not_live(ctrl, rq, queue_live, state) __nvme_check_ready(ctrl, rq, queue_live)
#else
#error "__nvme_check_ready() of this kernel is not known"
#endif

/* Whether the request may go to the controller as it is now: nearly always a live one. */
static inline bool nvme_check_ready(struct nvme_ctrl *ctrl, struct request *rq, bool queue_live)
{
	enum nvme_ctrl_state state = nvme_ctrl_state(ctrl);

	if (likely(state == NVME_CTRL_LIVE))
		return true;
	if (state == NVME_CTRL_DELETING && ctrl->ops->flags & NVME_F_FABRICS)
		return queue_live;
	return nvme_not_live(ctrl, rq, queue_live, state);
}

static inline void nvme_start_request(struct request *rq)
{
#ifdef BTF_HAVE_nvme_mpath_start_request
	if (rq->cmd_flags & REQ_NVME_MPATH)
		nvme_mpath_start_request(rq);
#endif
	blk_mq_start_request(rq);
}

/*
 * Ends a request with what the controller said; status has the phase bit at the bottom. False: it is on its way to the
 * CPU that sent it; true: the caller completes it (nvme_complete_rq() by its blk_mq_ops.complete).
 */
static inline bool nvme_try_complete_req(struct request *req, __le16 status, union nvme_result result)
{
	struct nvme_request *r = nvme_req(req);

	if (!(r->ctrl->quirks & NVME_QUIRK_SKIP_CID_GEN))
		r->genctr++;
	r->status = le16_to_cpu(status) >> 1;
	r->result = result;
#ifdef BTF_EXPORT_nvme_should_fail
	nvme_should_fail(req);
#endif
	if (unlikely(blk_should_fake_timeout(req->q)))
		return true;
	return blk_mq_complete_request_remote(req);
}

/* ---- Controllers ---- */

static inline void nvme_get_ctrl(struct nvme_ctrl *ctrl)
{
	get_device(ctrl->device);
}

static inline void nvme_put_ctrl(struct nvme_ctrl *ctrl)
{
	put_device(ctrl->device);
}

#endif
