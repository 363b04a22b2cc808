// SPDX-License-Identifier: GPL-2.0-only
/* A controller's life on nvme-core: registers in memory, enabling, disabling, and the end when nobody has it any more. */
#include <linux/delay.h>
#include <linux/module.h>
#include "core.h"

#define SCAN_WAIT_MS 10000u	/* for the local host to look at what has been enabled */

const char *nap_ctrl_name(const struct nap_ctrl *c)
{
	return config_item_name((struct config_item *)&c->group.cg_item);
}

/* ---- Registers ---- */

static int nap_reg_read32(struct nvme_ctrl *ctrl, u32 off, u32 *val)
{
	struct nap_live *l = nap_live(ctrl);

	switch (off) {
	case NVME_REG_VS: *val = NAP_VS; return 0;
	case NVME_REG_CC: *val = READ_ONCE(l->cc); return 0;
	case NVME_REG_CSTS: *val = READ_ONCE(l->csts); return 0;
	}
	*val = 0;	/* reserved, or of what this controller has not */
	return 0;
}

static int nap_reg_read64(struct nvme_ctrl *ctrl, u32 off, u64 *val)
{
	*val = off == NVME_REG_CAP ? nap_live(ctrl)->cap : 0;
	return 0;
}

/* Only CC does something. Nothing is in flight in a controller that is being disabled: reset.c has seen to it. */
static int nap_reg_write32(struct nvme_ctrl *ctrl, u32 off, u32 val)
{
	struct nap_live *l = nap_live(ctrl);
	u32 csts = 0;

	if (off != NVME_REG_CC)
		return 0;
	if (val & NVME_CC_ENABLE)
		csts |= NVME_CSTS_RDY;
	if ((val & NVME_CC_SHN_MASK) != NVME_CC_SHN_NONE)
		csts |= NVME_CSTS_SHST_CMPLT;
	WRITE_ONCE(l->cc, val);
	WRITE_ONCE(l->csts, csts);
	return 0;
}

/* The form that libnvme takes apart: without it `nvme list` leaves the controller out. */
static int nap_get_address(struct nvme_ctrl *ctrl, char *buf, int size)
{
	return snprintf(buf, size, "traddr=%s\n", nap_ctrl_name(nap_ctrl_of(ctrl)));
}

/* nvme-core looks for namespaces when it is told to, with or without a request for events: see event.c. */
static void nap_submit_async_event(struct nvme_ctrl *ctrl)
{
}

/* ---- Memory ---- */

static void nap_live_free(struct nap_live *l)
{
	struct nap_ctrl *c = l->owner;

	kfree(l);
	config_item_put(&c->group.cg_item);
	module_put(THIS_MODULE);
}

static void nap_free_ctrl(struct nvme_ctrl *ctrl)
{
	nap_live_free(nap_live(ctrl));
}

const struct nvme_ctrl_ops nap_ctrl_ops = {
	.name = "accel",
	.module = THIS_MODULE,
	.reg_read32 = nap_reg_read32,
	.reg_read64 = nap_reg_read64,
	.reg_write32 = nap_reg_write32,
	.free_ctrl = nap_free_ctrl,
	.submit_async_event = nap_submit_async_event,
	.get_address = nap_get_address,
	COMPAT_NVME_CTRL_OPS
};

static u64 nap_cap(u32 depth)
{
	u64 cap = depth;			/* MQES, counted from 0: one more than is used */

	cap |= 1ULL << 16;			/* CQR */
	cap |= 20ULL << 24;			/* TO: 10 s */
	cap |= (u64)NVME_CAP_CSS_NVM << 37;	/* CSS: bit 43 (several command sets) needs more in CNS 03h */
	return cap;
}

static struct nap_live *nap_live_new(struct nap_ctrl *c)
{
	struct nap_live *l;

	if (!try_module_get(THIS_MODULE))
		return NULL;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l) {
		module_put(THIS_MODULE);
		return NULL;
	}
	config_item_get(&c->group.cg_item);
	l->owner = c;
	nap_ids_ctrl(c, &l->id);
	l->nr_queues = min(c->conf.nr_queues ?: num_online_cpus(), NAP_MAX_QUEUES);
	l->cap = nap_cap(l->id.queue_depth);
	l->since = ktime_get_boottime();
	mutex_init(&l->feat_lock);
	nap_event_init(l);
	nap_features_reset(l);
	return l;
}

/* ---- What all namespaces can ---- */

static bool all_allow(struct nap_ctrl *c, u8 opcode)
{
	unsigned long nsid;
	struct nap_ns *ns;

	xa_for_each(&c->ns, nsid, ns)
		if (!test_bit(opcode, ns->conf.policy.opcode))
			return false;
	return !xa_empty(&c->ns);
}

static void nap_live_abilities(struct nap_live *l)
{
	struct nap_ctrl *c = l->owner;
	unsigned long nsid;
	struct nap_ns *ns;

	l->max_bytes = NAP_MDTS_BYTES;
	l->max_segments = NAP_MDTS_BYTES / NVME_CTRL_PAGE_SIZE + 1;
	xa_for_each(&c->ns, nsid, ns) {
		l->max_bytes = min(l->max_bytes, ns->max_bytes);
		if (ns->max_segments)
			l->max_segments = min_t(u32, l->max_segments, ns->max_segments);
	}
	l->max_bytes = rounddown_pow_of_two(max(l->max_bytes, NAP_PAGE));
	if (all_allow(c, nvme_cmd_compare))
		l->oncs |= 1 << 0;
	if (all_allow(c, nvme_cmd_write_zeroes))
		l->oncs |= 1 << 3;
	if (all_allow(c, nvme_cmd_verify))
		l->oncs |= 1 << 7;
}

/* ---- Namespaces with the controller ---- */

static int nap_start_namespaces(struct nap_ctrl *c, struct nap_live *l)
{
	unsigned long nsid;
	struct nap_ns *ns;
	int ret = 0;

	xa_for_each(&c->made, nsid, ns) {
		if (!ns->enabled)
			continue;
		ret = nap_ns_start(ns, NULL);
		if (ret)
			break;
	}
	if (!ret)
		nap_live_abilities(l);
	return ret;
}

static void nap_hide_namespaces(struct nap_ctrl *c)
{
	unsigned long nsid;
	struct nap_ns *ns;

	xa_for_each(&c->made, nsid, ns)
		if (ns->active)
			nap_ns_hide(ns);
}

static void nap_stop_namespaces(struct nap_ctrl *c)
{
	unsigned long nsid;
	struct nap_ns *ns;

	xa_for_each(&c->made, nsid, ns)
		if (ns->active)
			nap_ns_stop(ns);
}

/* ---- Enable ---- */

static void nap_live_publish(struct nap_ctrl *c, struct nap_live *l)
{
	spin_lock_irq(&c->live_lock);
	c->live = l;
	spin_unlock_irq(&c->live_lock);
}

static int nap_live_register(struct nap_live *l)
{
	struct nvme_ctrl *ctrl = &l->ctrl;
	int ret;

	ctrl->sqsize = l->id.queue_depth;	/* of which nvme-core makes the depth of the tag set */
	ctrl->queue_count = l->nr_queues + 1;
	ctrl->max_hw_sectors = l->max_bytes >> SECTOR_SHIFT;
	ctrl->max_segments = l->max_segments;	/* nvmet makes its own limit of it, too */
	INIT_WORK(&ctrl->reset_work, nap_reset_work);

	l->wq = alloc_workqueue("nap-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, nap_ctrl_name(l->owner));
	if (!l->wq) {
		nap_live_free(l);
		return -ENOMEM;
	}
	ret = nvme_init_ctrl(ctrl, nap_parent, &nap_ctrl_ops, 0);
	if (ret) {
		destroy_workqueue(l->wq);
		nap_live_free(l);
		return ret;
	}
	ret = nvme_add_ctrl(ctrl);
	if (ret)
		goto out_put;
	ret = nvme_alloc_admin_tag_set(ctrl, &l->admin_tags, &nap_admin_mq_ops, sizeof(struct nap_req));
	if (ret)
		goto out_uninit;
	if (!nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING)) {
		ret = -EBUSY;
		goto out_admin;
	}
	ret = nap_live_start(l);
	if (ret)
		goto out_admin;
	ret = nvme_alloc_io_tag_set(ctrl, &l->io_tags, &nap_io_mq_ops, 1, sizeof(struct nap_req));
	if (ret)
		goto out_admin;
	if (!nvme_change_ctrl_state(ctrl, NVME_CTRL_LIVE)) {
		ret = -EBUSY;
		goto out_io;
	}
	return 0;

out_io:
	nvme_remove_io_tag_set(ctrl);
out_admin:
	nvme_stop_ctrl(ctrl);
	nvme_remove_admin_tag_set(ctrl);
out_uninit:
	nvme_uninit_ctrl(ctrl);
out_put:
	destroy_workqueue(l->wq);
	nvme_put_ctrl(ctrl);
	return ret;
}

int nap_ctrl_enable(struct nap_ctrl *c)
{
	struct nap_live *l;
	int ret;

	lockdep_assert_held(&c->lock);
	l = nap_live_new(c);
	if (!l)
		return -ENOMEM;
	ret = nap_start_namespaces(c, l);
	if (ret) {
		nap_live_free(l);
		goto out_namespaces;
	}
	ret = nap_live_register(l);	/* frees it if it fails */
	if (ret) {
		nap_err(c, "nvme-core refuses the controller (%d): another one may have its subsysnqn; nvme-core's lines in the log say more", ret);
		goto out_namespaces;
	}
	nap_live_publish(c, l);
	nvme_start_ctrl(&l->ctrl);
	nap_info(c, "enabled as %s", dev_name(l->ctrl.device));
	return 0;

out_namespaces:
	nap_hide_namespaces(c);
	nap_stop_namespaces(c);
	return ret;
}

/* ---- Disable ---- */

/*
 * Whatever runs: no new command finds a namespace, what waits inside ends, and what is below ends the rest, which is
 * waited for. A reset that is under way stops where it sees that the controller goes.
 */
void nap_ctrl_disable(struct nap_ctrl *c)
{
	struct nap_live *l = c->live;
	struct nvme_ctrl *ctrl = &l->ctrl;

	lockdep_assert_held(&c->lock);
	WRITE_ONCE(c->disabling, true);
	nap_live_publish(c, NULL);
	WRITE_ONCE(l->going, true);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING);	/* it stays DEAD if a reset has failed */
	nap_hide_namespaces(c);
	flush_work(&ctrl->reset_work);
	nvme_stop_ctrl(ctrl);
	nvme_remove_namespaces(ctrl);
	nap_event_close(l);
	nvme_disable_ctrl(ctrl, true);
	nvme_remove_io_tag_set(ctrl);
	nvme_remove_admin_tag_set(ctrl);
	destroy_workqueue(l->wq);
	nap_stop_namespaces(c);
	nvme_uninit_ctrl(ctrl);
	WRITE_ONCE(c->disabling, false);
	nap_info(c, "disabled");
	nvme_put_ctrl(ctrl);
}

/*
 * For the convenience of scripts, nodes are there when the write to `enable` returns; but a namespace whose device below
 * does not answer must not hold the writer, and the directory with it.
 */
void nap_ctrl_unlock_scan(struct nap_ctrl *c, bool wait)
{
	struct nap_live *l = wait ? c->live : NULL;
	unsigned long end;

	if (l)
		nvme_get_ctrl(&l->ctrl);
	mutex_unlock(&c->lock);
	if (!l)
		return;
	end = jiffies + msecs_to_jiffies(SCAN_WAIT_MS);
	while (work_busy(&l->ctrl.scan_work) && time_before(jiffies, end) && !msleep_interruptible(5))
		;
	nvme_put_ctrl(&l->ctrl);
}
