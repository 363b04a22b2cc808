// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces: made, enabled, found by commands, and taken away while commands run. */
#include "core.h"
#include <linux/nvme_accel.h>

/* Of one that goes: how often it is said that it still has commands, and how long the local host may take to drop it. */
#define DRAIN_REPORT_MS	30000u
#define UPPER_GONE_MS	60000u

struct nap_ns *nap_ns_get(struct nap_ctrl *ctrl, u32 nsid)
{
	struct nap_ns *ns;

	rcu_read_lock();
	ns = xa_load(&ctrl->ns, nsid);
	if (ns && !percpu_ref_tryget_live(&ns->users))
		ns = NULL;
	rcu_read_unlock();
	return ns;
}

static void nap_ns_users_gone(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct nap_ns, users)->drained);
}

/* ---- Making ---- */

struct nap_ns *nap_ns_new(struct nap_ctrl *c, u32 nsid)
{
	struct nap_ns *ns = kzalloc(sizeof(*ns), GFP_KERNEL);
	int ret;

	if (!ns)
		return ERR_PTR(-ENOMEM);
	ns->ctrl = c;
	ns->nsid = nsid;
	ns->conf.engine_slots = 64;
	ns->conf.engine_lbads = 12;
	ns->conf.engine_window_bits = 15;
	nap_policy_default(&ns->conf.policy);
	init_completion(&ns->drained);
	nap_limit_init(&ns->limit);
	ret = nap_stats_init(ns);
	if (ret) {
		kfree(ns);
		return ERR_PTR(ret);
	}
	config_item_get(&c->group.cg_item);
	return ns;
}

void nap_ns_free(struct nap_ns *ns)
{
	struct nap_ctrl *c = ns->ctrl;

	nap_stats_free(ns);
	kfree(ns->conf.device_path);
	kfree(ns->conf.engine_type);
	kfree(ns->conf.engine_driver);
	kfree(ns);
	config_item_put(&c->group.cg_item);
}

/* ---- Starting ---- */

int nap_ns_check(struct nap_ns *ns)
{
	switch (ns->conf.kind) {
	case NAP_KIND_DEVICE:
		if (!ns->conf.device_path || !ns->conf.device_nsid) {
			nap_ns_err(ns, "kind device needs device_path (/dev/nvmeX) and device_nsid");
			return -EINVAL;
		}
		ns->ops = &nap_device_ops;
		return 0;
	case NAP_KIND_ENGINE:
		if (!ns->conf.engine_type) {
			nap_ns_err(ns, "kind engine needs engine_type");
			return -EINVAL;
		}
		ns->ops = &nap_engine_ops;
		return 0;
	case NAP_KIND_NONE:
		break;
	}
	nap_ns_err(ns, "write device or engine to kind first");
	return -EINVAL;
}

/*
 * Whether it is an accelerator; and a namespace of another controller has an identity that must go into ours: another one
 * below, another one above.
 */
static int nap_ns_identify_below(struct nap_ns *ns, const char *subsysnqn)
{
	void *page = kzalloc(NAP_PAGE, GFP_KERNEL);
	int ret;

	if (!page)
		return -ENOMEM;
	ret = ns->ops->identify(ns, page);
	if (ret)
		nap_ns_err(ns, "what is below does not identify itself (%d)", ret);
	else if (ns->conf.kind == NAP_KIND_DEVICE)
		nap_ids_ns(ns, subsysnqn, page);
	ns->accel = !ret && !memcmp(page + NVME_ACCEL_ID_OFF, NVME_ACCEL_MAGIC, sizeof(NVME_ACCEL_MAGIC));
	kfree(page);
	return ret;
}

/* Two with one name: hosts take the first one, and leave the other out. */
static int nap_ns_is_unique(struct nap_ns *ns)
{
	unsigned long nsid;
	struct nap_ns *other;

	xa_for_each(&ns->ctrl->ns, nsid, other) {
		if (uuid_equal(&ns->conf.uuid, &other->conf.uuid) ||
		    !memcmp(ns->conf.nguid, other->conf.nguid, sizeof(ns->conf.nguid))) {
			nap_ns_err(ns, "has the uuid or nguid of namespace %u: each has its own", other->nsid);
			return -EINVAL;
		}
	}
	return 0;
}

static int nap_ns_fits(struct nap_ns *ns, struct nap_live *l)
{
	if (ns->lba_shift < SECTOR_SHIFT || !ns->nblocks || ns->max_bytes < NAP_PAGE) {
		nap_ns_err(ns, "what is below has no size, or takes less than %u bytes at once", NAP_PAGE);
		return -EINVAL;
	}
	if (l && ns->max_bytes < l->max_bytes) {
		nap_ns_err(ns, "takes %u bytes at once, the controller has promised %u: enable the namespace while the controller is disabled",
			   ns->max_bytes, l->max_bytes);
		return -EINVAL;
	}
	if (l && ns->max_segments && ns->max_segments < l->max_segments) {
		nap_ns_err(ns, "takes %u pieces at once, the controller has promised %u: enable the namespace while the controller is disabled",
			   ns->max_segments, l->max_segments);
		return -EINVAL;
	}
	return 0;
}

/* l: the controller's if it is live; NULL while it is being enabled, and has promised nothing yet. */
int nap_ns_start(struct nap_ns *ns, struct nap_live *l)
{
	struct nap_ctrl *c = ns->ctrl;
	struct nap_ctrl_conf id;
	int ret;

	lockdep_assert_held(&c->lock);
	ret = nap_ns_check(ns);
	if (ret)
		return ret;
	nap_ids_ctrl(c, &id);
	nap_ids_ns(ns, id.subsysnqn, NULL);
	reinit_completion(&ns->drained);
	ret = percpu_ref_init(&ns->users, nap_ns_users_gone, 0, GFP_KERNEL);
	if (ret)
		return ret;
	nap_limit_init(&ns->limit);
	ret = ns->ops->enable(ns);
	if (ret)
		goto out_users;
	ret = nap_ns_fits(ns, l);
	if (!ret)
		ret = nap_ns_identify_below(ns, id.subsysnqn);
	if (!ret)
		ret = nap_ns_is_unique(ns);
	if (ret)
		goto out_disable;
	ret = xa_err(xa_store(&c->ns, ns->nsid, ns, GFP_KERNEL));
	if (ret)
		goto out_disable;
	ns->active = true;
	nap_stats_show_dir(ns);
	return 0;

out_disable:
	if (ns->ops->cancel)
		ns->ops->cancel(ns);
	ns->ops->disable(ns);
out_users:
	percpu_ref_exit(&ns->users);
	return ret;
}

/* ---- Stopping ---- */

void nap_ns_hide(struct nap_ns *ns)
{
	lockdep_assert_held(&ns->ctrl->lock);
	xa_erase(&ns->ctrl->ns, ns->nsid);
	/* Who has found it is in queue_rq, an RCU reader: none of them is before ops->queue() any more. */
	synchronize_rcu();
	if (ns->ops->cancel)
		ns->ops->cancel(ns);
	nap_limit_stop(&ns->limit);
}

void nap_ns_stop(struct nap_ns *ns)
{
	lockdep_assert_held(&ns->ctrl->lock);
	percpu_ref_kill(&ns->users);
	while (!wait_for_completion_timeout(&ns->drained, msecs_to_jiffies(DRAIN_REPORT_MS)))
		nap_ns_info(ns, "waiting for commands that are still with what is below");
	synchronize_rcu();
	percpu_ref_exit(&ns->users);
	nap_stats_hide_dir(ns);
	ns->ops->disable(ns);
	ns->active = false;
}

/* ---- By the administrator ---- */

int nap_ns_enable(struct nap_ns *ns)
{
	struct nap_live *l = ns->ctrl->live;
	int ret;

	if (!l) {
		ret = nap_ns_check(ns);
	} else {
		ret = nap_ns_start(ns, l);
		if (!ret)
			nap_event_ns_changed(ns->ctrl, ns->nsid);
	}
	if (!ret)
		ns->enabled = true;
	return ret;
}

/* Until the local host has dropped the namespace: it does so when it finds it missing, which a reset may delay. */
static void nap_ns_wait_upper(struct nap_ns *ns, struct nap_live *l)
{
	unsigned long end = jiffies + msecs_to_jiffies(UPPER_GONE_MS);
	struct nvme_ctrl *ctrl = &l->ctrl;
	struct nvme_ns *upper;

	while (time_before(jiffies, end)) {
		flush_work(&ctrl->reset_work);
		nap_event_ns_changed(ns->ctrl, ns->nsid);
		flush_work(&ctrl->scan_work);
		upper = nvme_find_get_ns(ctrl, ns->nsid);
		if (!upper)
			return;
		nvme_put_ns(upper);
		if (nvme_ctrl_state(ctrl) != NVME_CTRL_LIVE && nvme_ctrl_state(ctrl) != NVME_CTRL_RESETTING)
			return;
		msleep(10);
	}
	nap_ns_info(ns, "the local host has not dropped it in %u s; its commands fail", UPPER_GONE_MS / 1000);
}

void nap_ns_disable(struct nap_ns *ns)
{
	ns->enabled = false;
	if (!ns->active)
		return;
	nap_ns_hide(ns);
	nap_ns_wait_upper(ns, ns->ctrl->live);
	nap_ns_stop(ns);
}
