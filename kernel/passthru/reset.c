// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset. A command that is below cannot be taken back, as whoever has it may still write to its pages: a reset waits for
 * it, for a while, and no longer than that is kept from its end; then it goes on and the command ends when it ends, once.
 */
#include "core.h"

#define RESET_PATIENCE_MS 30000u

/* From CC.EN = 0 to a controller that nvme-core knows; in the state CONNECTING. */
int nap_live_start(struct nap_live *l)
{
	int ret;

	ret = nvme_enable_ctrl(&l->ctrl);
	if (ret)
		return ret;
	nap_event_open(l);
	WRITE_ONCE(l->ready, true);
	/* The init sequence's own commands go by an admin queue that runs. */
	nvme_unquiesce_admin_queue(&l->ctrl);
	return nvme_init_ctrl_finish(&l->ctrl, false);
}

static bool count_started(struct request *rq, void *data)
{
	if (blk_mq_request_started(rq) && !blk_mq_request_completed(rq))
		++*(unsigned int *)data;
	return true;
}

static unsigned int in_flight(struct nap_live *l)
{
	unsigned int n = 0;

	blk_mq_tagset_busy_iter(&l->io_tags, count_started, &n);
	return n;
}

static void nap_live_drain(struct nap_live *l)
{
	unsigned long end = jiffies + msecs_to_jiffies(RESET_PATIENCE_MS);
	unsigned int n;

	while ((n = in_flight(l)) && time_before(jiffies, end) && !READ_ONCE(l->going))
		msleep(5);
	if (n && !READ_ONCE(l->going))
		nap_info(l->owner, "reset goes on while %u commands are still with what is below", n);
}

/* No command is taken any more, and those that are here end. */
static void nap_live_quiesce(struct nap_live *l)
{
	struct nvme_ctrl *ctrl = &l->ctrl;

	nvme_stop_ctrl(ctrl);
	nvme_quiesce_io_queues(ctrl);
	nvme_quiesce_admin_queue(ctrl);
	WRITE_ONCE(l->ready, false);
	nap_event_close(l);
	flush_workqueue(l->wq);
	nap_live_drain(l);
	nap_features_reset(l);
}

/* Nothing comes after it: what waits in the queues fails, and the administrator disables the controller. */
static void nap_live_dead(struct nap_live *l, int ret)
{
	struct nvme_ctrl *ctrl = &l->ctrl;

	nap_err(l->owner, "reset failed (%d): disable the controller and enable it again", ret);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING);
	nvme_mark_namespaces_dead(ctrl);
	nvme_unquiesce_io_queues(ctrl);
	nvme_unquiesce_admin_queue(ctrl);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_DEAD);
}

void nap_reset_work(struct work_struct *work)
{
	struct nvme_ctrl *ctrl = container_of(work, struct nvme_ctrl, reset_work);
	struct nap_live *l = nap_live(ctrl);
	int ret;

	if (nvme_ctrl_state(ctrl) != NVME_CTRL_RESETTING)
		return;
	nap_live_quiesce(l);
	ret = nvme_disable_ctrl(ctrl, false);
	if (!ret && !nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING))
		ret = -ENODEV;
	if (!ret)
		ret = nap_live_start(l);
	if (!ret && !nvme_change_ctrl_state(ctrl, NVME_CTRL_LIVE))
		ret = -ENODEV;
	if (!ret) {
		nvme_start_ctrl(ctrl);
		return;
	}
	if (!READ_ONCE(l->going)) {
		nap_live_dead(l, ret);
		return;
	}
	/* Disabled meanwhile: whoever does it takes the queues as they are in a controller that runs. */
	WRITE_ONCE(l->ready, true);
	nvme_unquiesce_admin_queue(ctrl);
	nvme_unquiesce_io_queues(ctrl);
}
