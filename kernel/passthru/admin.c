// SPDX-License-Identifier: GPL-2.0-only
/*
 * Admin commands: all are answered here, none goes to what is below. Format, firmware, security, namespace management,
 * virtualization, directives and vendor commands are not: they would be about a controller that others use, too.
 */
#include <linux/highmem.h>
#include "core.h"

void nap_admin_reply(struct nap_req *r, const void *data, size_t n)
{
	struct request *rq = nap_rq(r);
	struct req_iterator iter;
	struct bio_vec bv;
	size_t done = 0;

	if (rq_data_dir(rq) != READ)
		return;
	rq_for_each_segment(bv, rq, iter) {
		size_t some = min_t(size_t, n - done, bv.bv_len);

		if (some)
			memcpy_to_page(bv.bv_page, bv.bv_offset, data + done, some);
		if (some < bv.bv_len)
			memzero_page(bv.bv_page, bv.bv_offset + some, bv.bv_len - some);
		done += some;
	}
}

/* Fused commands, and pointers in a form that passthrough does not have, are nobody's. */
static bool plain(const struct nvme_command *cmd)
{
	return !(cmd->common.flags & 0x3f);
}

static u16 nap_admin_execute(struct nap_live *l, struct nap_req *r, u32 *result)
{
	switch (r->cmd.common.opcode) {
	case nvme_admin_identify:
		return nap_identify(l, r);
	case nvme_admin_get_log_page:
		return nap_get_log(l, r);
	case nvme_admin_set_features:
		return nap_feature_set(l, &r->cmd, result);
	case nvme_admin_get_features:
		return nap_feature_get(l, &r->cmd, result);
	case nvme_admin_abort_cmd:
		*result = 1;	/* not aborted: what is below cannot be called back */
		return 0;
	case nvme_admin_keep_alive:
		return 0;	/* no timer runs */
	}
	return NAP_SC_INVALID_OPCODE;
}

static enum nap_reason admin_reason(u16 status)
{
	switch (status) {
	case 0: return NAP_R_OK;
	case NAP_SC_INVALID_OPCODE: return NAP_R_OPCODE;
	case NAP_SC_INVALID_NS: return NAP_R_NSID;
	case NAP_SC_INTERNAL: return NAP_R_LOWER;
	}
	return NAP_R_FIELD;
}

void nap_admin_work(struct work_struct *work)
{
	struct nap_req *r = container_of(work, struct nap_req, work);
	struct nap_live *l = nap_live(r->req.ctrl);
	u32 result = 0;
	u16 status;

	if (!plain(&r->cmd)) {
		status = NAP_SC_INVALID_FIELD;
	} else if (r->cmd.common.opcode == nvme_admin_async_event) {
		status = nap_event_request(l, r);
		if (!status)
			return;
	} else {
		status = nap_admin_execute(l, r, &result);
	}
	nap_complete(r, status, nap_result(result), admin_reason(status));
}
