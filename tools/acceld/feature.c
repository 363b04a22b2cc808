// SPDX-License-Identifier: BSD-2-Clause
/* Set Features and Get Features. No feature can be saved; all are the controller's, none a namespace's. */
#include "ctrl.h"

#define SAVE		(1u << 31)
#define CHANGEABLE	4u		/* capabilities, as Select 3 reports them */
#define NBEHAVIOR	512u
#define OVER		0u		/* THSEL of feature 04h */
#define UNDER		1u

enum select { CURRENT, DEFAULT, SAVED, SUPPORTED };

static uint8_t fid_of(const struct req *req)
{
	return (uint8_t)le32_get(&req->sqe.cdw10);
}

static uint32_t dw11_of(const struct req *req)
{
	return le32_get(&req->sqe.cdw11);
}

/* Whether this kind of controller has the feature. */
static bool has_feature(const struct ctrl *ctrl, uint8_t fid)
{
	switch (fid) {
	case NVME_FID_ASYNC_EVENT:
	case NVME_FID_KATO:
	case NVME_FID_HOST_ID:
		return true;
	case NVME_FID_ARBITRATION:
	case NVME_FID_POWER:
	case NVME_FID_TEMPERATURE:
	case NVME_FID_ERROR_RECOVERY:
	case NVME_FID_NUM_QUEUES:
	case NVME_FID_HOST_BEHAVIOR:
		return !ctrl_is_discovery(ctrl);
	default:
		return false;	/* 06h too: there is no write cache */
	}
}

/* ---- Set ---- */

static uint16_t set_temperature(struct features *feat, uint32_t dw11)
{
	unsigned int sensor = dw11 >> 16 & 0xf, which = dw11 >> 20 & 3;

	/* The composite temperature is the only one; Fh is all of them. */
	if ((sensor && sensor != 0xf) || which > UNDER)
		return FAIL(NVME_SC_INVALID_FIELD);
	*(which == OVER ? &feat->temp_over : &feat->temp_under) = dw11 & 0xffff;
	return NVME_SC_OK;
}

static bool has_io_queues(const struct ctrl *ctrl)
{
	unsigned int i;

	for (i = 1; i <= MAX_IO_QUEUES; i++)
		if (ctrl->queue[i] && !ctrl->closing[i])
			return true;
	return false;
}

/* Numbers of submission and completion queues are asked for apart and granted alike: a queue is both. */
static uint16_t set_queues(struct ctrl *ctrl, struct req *req)
{
	uint32_t nsq = dw11_of(req) & 0xffff, ncq = dw11_of(req) >> 16, n;
	uint16_t sc = NVME_SC_OK;

	if (nsq == 0xffff || ncq == 0xffff)
		return FAIL(NVME_SC_INVALID_FIELD);
	n = BASE_MIN(BASE_MIN(nsq, ncq) + 1, ctrl->target->conf->io_queues);
	pthread_mutex_lock(&ctrl->lock);
	if (has_io_queues(ctrl))
		sc = FAIL(NVME_SC_CMD_SEQ_ERROR);
	else
		ctrl->granted = n;
	pthread_mutex_unlock(&ctrl->lock);
	if (!sc)
		req->result = (n - 1) << 16 | (n - 1);
	return sc;
}

static uint16_t set_async(struct ctrl *ctrl, uint32_t dw11)
{
	if (dw11 & ~(AEC_HEALTH | (ctrl_is_discovery(ctrl) ? AEC_DISC_CHANGED : AEC_NS_CHANGED)))
		return FAIL(NVME_SC_INVALID_FIELD);
	ctrl->feat.aec = dw11;
	pthread_mutex_lock(&ctrl->lock);
	ctrl->aec = dw11;
	pthread_mutex_unlock(&ctrl->lock);
	return NVME_SC_OK;
}

static uint16_t set_behavior(struct ctrl *ctrl, const struct req *req)
{
	uint8_t data[NBEHAVIOR];

	/* Byte 0 is ACRE: with no command retry delays to report it makes no difference. The others are not offered. */
	data_get(req, 0, data, sizeof(data));
	if (data[0] > 1 || !mem_is_zero(data + 1, sizeof(data) - 1))
		return FAIL(NVME_SC_INVALID_FIELD);
	memcpy(ctrl->feat.behavior, data, sizeof(ctrl->feat.behavior));
	return NVME_SC_OK;
}

static uint16_t set_feature(struct ctrl *ctrl, struct req *req)
{
	uint32_t dw11 = dw11_of(req);

	switch (fid_of(req)) {
	case NVME_FID_ARBITRATION:
		ctrl->feat.arbitration = dw11;
		return NVME_SC_OK;
	case NVME_FID_POWER:	/* there is power state 0 */
		return dw11 & 0x1f ? FAIL(NVME_SC_INVALID_FIELD) : NVME_SC_OK;
	case NVME_FID_TEMPERATURE:
		return set_temperature(&ctrl->feat, dw11);
	case NVME_FID_ERROR_RECOVERY:
		if (dw11 >> 16)	/* no deallocated blocks that reads could report */
			return FAIL(NVME_SC_INVALID_FIELD);
		ctrl->feat.recovery = dw11;
		return NVME_SC_OK;
	case NVME_FID_NUM_QUEUES:
		return set_queues(ctrl, req);
	case NVME_FID_ASYNC_EVENT:
		return set_async(ctrl, dw11);
	case NVME_FID_KATO:
		ctrl_set_kato(ctrl, dw11);
		return NVME_SC_OK;
	case NVME_FID_HOST_BEHAVIOR:
		return set_behavior(ctrl, req);
	default:		/* the Host Identifier is that of Connect */
		return FAIL(NVME_SC_CMD_SEQ_ERROR);
	}
}

static void set_execute(struct req *req)
{
	req_complete(req, set_feature(req_ctrl(req), req));
}

uint16_t set_features_parse(struct req *req)
{
	uint32_t nsid = le32_get(&req->sqe.nsid);

	if (!has_feature(req_ctrl(req), fid_of(req)))
		return FAIL(NVME_SC_INVALID_FIELD);
	if (le32_get(&req->sqe.cdw10) & SAVE)
		return FAIL(NVME_SC_FEATURE_NOT_SAVEABLE);
	if (nsid && nsid != NSID_ALL)
		return FAIL(NVME_SC_FEATURE_NOT_NS);
	if (fid_of(req) == NVME_FID_HOST_BEHAVIOR)
		return admin_to_ctrl(req, NBEHAVIOR, set_execute);
	return admin_nodata(req, set_execute);
}

/* ---- Get ---- */

static uint16_t get_temperature(const struct features *feat, struct req *req)
{
	uint32_t dw11 = dw11_of(req);
	unsigned int sensor = dw11 >> 16 & 0xf, which = dw11 >> 20 & 3;

	if (sensor || which > UNDER)
		return FAIL(NVME_SC_INVALID_FIELD);
	req->result = which == OVER ? feat->temp_over : feat->temp_under;
	return NVME_SC_OK;
}

static uint32_t get_queues(struct ctrl *ctrl, bool current)
{
	unsigned int n = ctrl->target->conf->io_queues;

	pthread_mutex_lock(&ctrl->lock);
	if (current)
		n = ctrl->granted;
	pthread_mutex_unlock(&ctrl->lock);
	return (n - 1) << 16 | (n - 1);
}

static uint16_t get_data(struct ctrl *ctrl, struct req *req, const struct features *feat)
{
	if (fid_of(req) == NVME_FID_HOST_ID) {
		data_put(req, 0, ctrl->hostid, sizeof(ctrl->hostid));
		return NVME_SC_OK;
	}
	data_zero(req, 0, NBEHAVIOR);
	data_put(req, 0, feat->behavior, sizeof(feat->behavior));
	return NVME_SC_OK;
}

static uint16_t get_feature(struct ctrl *ctrl, struct req *req, bool current)
{
	struct features feat = ctrl->feat;

	if (!current)
		features_default(&feat);
	switch (fid_of(req)) {
	case NVME_FID_ARBITRATION:
		req->result = feat.arbitration;
		return NVME_SC_OK;
	case NVME_FID_POWER:
		return NVME_SC_OK;
	case NVME_FID_TEMPERATURE:
		return get_temperature(&feat, req);
	case NVME_FID_ERROR_RECOVERY:
		req->result = feat.recovery;
		return NVME_SC_OK;
	case NVME_FID_NUM_QUEUES:
		req->result = get_queues(ctrl, current);
		return NVME_SC_OK;
	case NVME_FID_ASYNC_EVENT:
		req->result = feat.aec & (ctrl_is_discovery(ctrl) ? ~AEC_NS_CHANGED : ~AEC_DISC_CHANGED);
		return NVME_SC_OK;
	case NVME_FID_KATO:
		req->result = current ? ctrl->kato_ms : 0;
		return NVME_SC_OK;
	default:
		return get_data(ctrl, req, &feat);
	}
}

static enum select select_of(const struct req *req)
{
	return le32_get(&req->sqe.cdw10) >> 8 & 7;
}

static void get_execute(struct req *req)
{
	/* Nothing is ever saved: the saved value is the default. */
	req_complete(req, get_feature(req_ctrl(req), req, select_of(req) == CURRENT));
}

static void get_capabilities(struct req *req)
{
	req->result = fid_of(req) == NVME_FID_HOST_ID ? 0 : CHANGEABLE;
	req_complete(req, NVME_SC_OK);
}

uint16_t get_features_parse(struct req *req)
{
	uint8_t fid = fid_of(req);

	if (!has_feature(req_ctrl(req), fid) || select_of(req) > SUPPORTED)
		return FAIL(NVME_SC_INVALID_FIELD);
	if (select_of(req) == SUPPORTED)
		return admin_nodata(req, get_capabilities);
	if (fid == NVME_FID_HOST_BEHAVIOR)
		return admin_to_host(req, NBEHAVIOR, get_execute);
	if (fid != NVME_FID_HOST_ID)
		return admin_nodata(req, get_execute);
	/* Over fabrics it has 16 bytes (EXHID). */
	if (!(dw11_of(req) & 1))
		return FAIL(NVME_SC_INVALID_FIELD);
	return admin_to_host(req, 16, get_execute);
}
