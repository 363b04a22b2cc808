// SPDX-License-Identifier: BSD-2-Clause
/*
 * Asynchronous events. An event that has been reported is not reported again until the host has read its log page;
 * an event that finds no outstanding request waits for one. Everything here is under ctrl->lock, but requests are
 * completed without it: what has been taken off the list is ours alone.
 */
#include "ctrl.h"

/* Dword 0 of the completion: type 2 (notice), information, log page. */
static const struct {
	uint32_t enable, result;
} events[NEVENT] = {
	[EVENT_NS_CHANGED] = { AEC_NS_CHANGED, NVME_LOG_CHANGED_NS << 16 | 0x00 << 8 | 2 },
	[EVENT_DISC_CHANGED] = { AEC_DISC_CHANGED, NVME_LOG_DISCOVERY << 16 | 0xf0 << 8 | 2 },
};

static void aer_remove(struct ctrl *ctrl, unsigned int i)
{
	ctrl->naer--;
	for (; i < ctrl->naer; i++)
		ctrl->aer[i] = ctrl->aer[i + 1];
}

/* The request to complete now, if there are both an event to report and a request. Under the lock. */
static struct req *aer_match(struct ctrl *ctrl)
{
	struct req *req;
	unsigned int i;

	for (i = 0; i < NEVENT; i++) {
		if (!ctrl->pending[i] || ctrl->masked[i] || !ctrl->naer || !(ctrl->aec & events[i].enable))
			continue;
		req = ctrl->aer[0];
		aer_remove(ctrl, 0);
		req->result = events[i].result;
		ctrl->pending[i] = false;
		ctrl->masked[i] = true;
		return req;
	}
	return NULL;
}

/* Reports what there is. */
static void aer_report(struct ctrl *ctrl)
{
	struct req *req;

	do {
		pthread_mutex_lock(&ctrl->lock);
		req = aer_match(ctrl);
		pthread_mutex_unlock(&ctrl->lock);
		if (req)
			req_complete(req, NVME_SC_OK);
	} while (req);
}

void ctrl_event(struct ctrl *ctrl, enum event event)
{
	pthread_mutex_lock(&ctrl->lock);
	/* What has been reported and not read yet covers this one; what the host does not want to hear is not kept. */
	if (!ctrl->masked[event] && ctrl->aec & events[event].enable)
		ctrl->pending[event] = true;
	pthread_mutex_unlock(&ctrl->lock);
	aer_report(ctrl);
}

void ctrl_ns_changed(struct ctrl *ctrl, const uint64_t changed[MAX_NSID / 64])
{
	unsigned int i;

	pthread_mutex_lock(&ctrl->lock);
	for (i = 0; i < MAX_NSID / 64; i++)
		ctrl->changed[i] |= changed[i];
	pthread_mutex_unlock(&ctrl->lock);
	ctrl_event(ctrl, EVENT_NS_CHANGED);
}

void ctrl_event_seen(struct ctrl *ctrl, enum event event)
{
	ctrl->masked[event] = ctrl->pending[event] = false;
}

/* Abort, or the connection is closing. In the connection's reactor; the request may have just been completed. */
static void aer_cancel(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&ctrl->lock);
	for (i = 0; i < ctrl->naer && !found; i++)
		if (ctrl->aer[i] == req) {
			aer_remove(ctrl, i);
			found = true;
		}
	pthread_mutex_unlock(&ctrl->lock);
	if (found)
		req_complete(req, FAIL(NVME_SC_ABORT_REQ));
}

void aer_reset(struct ctrl *ctrl)
{
	struct req *aer[MAX_AER];
	unsigned int i, n;

	pthread_mutex_lock(&ctrl->lock);
	n = ctrl->naer;
	memcpy(aer, ctrl->aer, sizeof(aer));
	ctrl->naer = 0;
	memset(ctrl->pending, 0, sizeof(ctrl->pending));
	memset(ctrl->masked, 0, sizeof(ctrl->masked));
	memset(ctrl->changed, 0, sizeof(ctrl->changed));
	pthread_mutex_unlock(&ctrl->lock);
	for (i = 0; i < n; i++)
		req_complete(aer[i], FAIL(NVME_SC_ABORT_REQ));
}

static void aer_execute(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	bool taken = false;

	req->cancel = aer_cancel;
	pthread_mutex_lock(&ctrl->lock);
	if (ctrl->naer < MAX_AER) {
		ctrl->aer[ctrl->naer++] = req;
		taken = true;
	}
	pthread_mutex_unlock(&ctrl->lock);
	if (taken)
		aer_report(ctrl);
	else
		req_complete(req, FAIL(NVME_SC_AER_LIMIT));
}

uint16_t aer_parse(struct req *req)
{
	return admin_nodata(req, aer_execute);
}
