// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of the namespaces below. The driver core calls back when controllers and disks come and go; removal of a
 * disk calls before it waits for the disk's commands, so those that follow fail at once. All else is done by one delayed
 * work a namespace, the watch: giving back what is gone, looking for what may have come back, and every two seconds
 * the size, which changes without a call. A PCI bus notifier would tell nothing more: a controller that is unbound
 * is in state DELETING first, which every command looks at.
 */
#include <linux/string.h>
#include "lower.h"

#define WATCH_PERIOD	(2 * HZ)
#define ANSWER_TIMEOUT	(4 * HZ)	/* Identify of the upper namespace has 5 s */

/* ---- Gone ---- */

static void take_away(struct nap_lower *l, struct nvme_ns *below)
{
	WRITE_ONCE(l->gone, true);
	rcu_assign_pointer(l->below, NULL);
	synchronize_rcu();
	nap_ns_info(l->ns, "%s namespace %u is gone; it will be taken up again when it comes back",
		    dev_name(l->ctrl->device), l->nsid);
	nvme_put_ns(below);
	nap_lower_unpin(l);
	nap_event_ns_changed(l->ns->ctrl, l->ns->nsid);
}

/* The format below has changed under us: blocks of another size, or with metadata, must not be taken for the old ones. */
static bool reformatted(struct nap_lower *l, struct nvme_ns *below)
{
	const char *why = nap_lower_unfit(below);

	if (!why && compat_nvme_ns_lba_shift(below) != l->lba_shift)
		why = "its block size has changed";
	if (!why)
		return false;
	nap_ns_err(l->ns, "%s namespace %u can be used no longer: %s", dev_name(l->ctrl->device), l->nsid, why);
	return true;
}

static void check_size(struct nap_lower *l, struct nvme_ns *below)
{
	u64 nblocks = nap_lower_nblocks(below);

	if (nblocks == l->ns->nblocks)
		return;
	nap_ns_info(l->ns, "%s namespace %u has %llu blocks now, it had %llu", dev_name(l->ctrl->device), l->nsid,
		    nblocks, l->ns->nblocks);
	WRITE_ONCE(l->ns->nblocks, nblocks);
	nap_event_ns_changed(l->ns->ctrl, l->ns->nsid);
}

static void check(struct nap_lower *l, struct nvme_ns *below)
{
	struct nvme_ns *now;

	/* Not even a removal that nobody called back about goes unseen. */
	now = nvme_find_get_ns(l->ctrl, l->nsid);
	if (now)
		nvme_put_ns(now);
	if (now != below || !nap_lower_alive(l, below) || (nap_lower_nblocks(below) && reformatted(l, below)))
		take_away(l, below);
	else if (nap_lower_nblocks(below))
		check_size(l, below);
}

/* ---- Back ---- */

static bool same_controller(const struct nap_lower_id *id, const struct nvme_subsystem *subsys)
{
	return !memcmp(id->subnqn, subsys->subnqn, sizeof(id->subnqn)) &&
	       !memcmp(id->serial, subsys->serial, sizeof(id->serial)) &&
	       !memcmp(id->model, subsys->model, sizeof(id->model));
}

/* Why a namespace with the number on a controller of the name is not the one that is gone, or NULL. */
static const char *is_stranger(struct nap_lower *l, struct nvme_ns *below)
{
	const char *why = nap_lower_unfit(below);

	if (!nap_lower_same_ids(&l->id.ids, &below->head->ids))
		return "its identifiers are others";
	if (why)
		return why;
	if (compat_nvme_ns_lba_shift(below) != l->lba_shift)
		return "its block size is another";
	if (nap_lower_max_bytes(below) < l->ns->max_bytes)
		return "it takes only shorter transfers than before";
	return NULL;
}

static void take_up(struct nap_lower *l, struct nvme_ns *below)
{
	l->stranger = -1;
	WRITE_ONCE(l->ns->nblocks, nap_lower_nblocks(below));
	WRITE_ONCE(l->gone, false);
	rcu_assign_pointer(l->below, below);
	atomic_inc(&l->asked);
	nap_ns_info(l->ns, "%s namespace %u is back", dev_name(l->ctrl->device), l->nsid);
	nap_event_ns_changed(l->ns->ctrl, l->ns->nsid);
}

/* Said once of each controller that looks like it by its name or its number. */
static void tell_stranger(struct nap_lower *l, struct nvme_ctrl *ctrl, const char *why)
{
	if (l->stranger != ctrl->instance)
		nap_ns_err(l->ns, "%s namespace %u is not the one that is gone: %s; disable and enable to use it",
			   dev_name(ctrl->device), l->nsid, why);
	l->stranger = ctrl->instance;
}

/* For every controller there is, until one is taken. */
static int try_controller(struct device *dev, void *data)
{
	struct nvme_ctrl *ctrl = dev_get_drvdata(dev);
	struct nap_lower *l = data;
	struct nvme_ns *below;
	const char *why;

	if (ctrl->ops == &nap_ctrl_ops || nvme_ctrl_state(ctrl) != NVME_CTRL_LIVE || !ctrl->subsys)
		return 0;
	if (!same_controller(&l->id, ctrl->subsys)) {
		if (!strcmp(dev_name(dev), kbasename(l->ns->conf.device_path)))
			tell_stranger(l, ctrl, "its controller is another one");
		return 0;
	}
	if (nap_lower_pin(l, ctrl))
		return 0;
	below = nvme_find_get_ns(ctrl, l->nsid);
	if (!below)
		goto unpin;
	why = is_stranger(l, below);
	if (!why) {
		take_up(l, below);
		return 1;
	}
	tell_stranger(l, ctrl, why);
	nvme_put_ns(below);
unpin:
	nap_lower_unpin(l);
	return 0;
}

/* ---- Identify ---- */

static void answer(struct nap_lower *l)
{
	int asked = atomic_read(&l->asked);
	struct nvme_id_ns *page;

	if (asked == atomic_read(&l->answered))
		return;
	page = kmalloc(sizeof(*page), GFP_KERNEL);
	/* A controller that is being reset answers when that is over, which may take long. */
	if (page && l->ctrl && nvme_ctrl_state(l->ctrl) == NVME_CTRL_LIVE && !nap_lower_read(l, page)) {
		mutex_lock(&l->page_lock);
		swap(l->page, page);
		mutex_unlock(&l->page_lock);
	}
	kfree(page);
	atomic_set(&l->answered, asked);
	wake_up_all(&l->answer);
}

void nap_lower_identify(struct nap_lower *l, struct nvme_id_ns *page)
{
	int asked = atomic_inc_return(&l->asked);

	mod_delayed_work(system_unbound_wq, &l->watch, 0);
	wait_event_timeout(l->answer, atomic_read(&l->answered) - asked >= 0, ANSWER_TIMEOUT);
	mutex_lock(&l->page_lock);
	*page = *l->page;
	mutex_unlock(&l->page_lock);
}

/* ---- The watch ---- */

/* Of the controllers of nvme-core, all in one class, and of disks; known since the first namespace was opened. */
static typeof_member(struct device, class) controller_class;
static struct class_interface disks;
static DEFINE_MUTEX(watchers_lock);
static unsigned int watchers;

static void watch(struct work_struct *work)
{
	struct nap_lower *l = container_of(work, struct nap_lower, watch.work);
	struct nvme_ns *below = rcu_dereference_protected(l->below, true);

	if (below)
		check(l, below);
	if (!rcu_access_pointer(l->below))
		class_for_each_device(controller_class, NULL, l, try_controller);
	answer(l);
	queue_delayed_work(system_unbound_wq, &l->watch, WATCH_PERIOD);
}

/* A disk is added when its controller is live and its identifiers are known: it may be one that is missed. */
static int disk_added(COMPAT_CLASS_INTERFACE_PARAMS)
{
	struct nap_lower *l;

	spin_lock(&nap_lower_lock);
	list_for_each_entry(l, &nap_lowers, entry)
		if (!rcu_access_pointer(l->below))
			mod_delayed_work(system_unbound_wq, &l->watch, HZ / 50);
	spin_unlock(&nap_lower_lock);
	return 0;
}

static void disk_removed(COMPAT_CLASS_INTERFACE_PARAMS)
{
	struct nvme_ns *below;
	struct nap_lower *l;

	spin_lock(&nap_lower_lock);
	rcu_read_lock();
	list_for_each_entry(l, &nap_lowers, entry) {
		below = rcu_dereference(l->below);
		if (!below || disk_to_dev(below->disk) != dev)
			continue;
		WRITE_ONCE(l->gone, true);
		mod_delayed_work(system_unbound_wq, &l->watch, 0);
	}
	rcu_read_unlock();
	spin_unlock(&nap_lower_lock);
}

void nap_lower_watch_init(struct nap_lower *l)
{
	INIT_DELAYED_WORK(&l->watch, watch);
	mutex_init(&l->page_lock);
	init_waitqueue_head(&l->answer);
	l->stranger = -1;
}

int nap_lower_watch_start(struct nap_lower *l)
{
	struct nvme_ns *below = rcu_dereference_protected(l->below, true);
	int ret = 0;

	mutex_lock(&watchers_lock);
	if (!watchers) {
		controller_class = l->ctrl->device->class;
		disks.class = disk_to_dev(below->disk)->class;
		disks.add_dev = disk_added;
		disks.remove_dev = disk_removed;
		ret = class_interface_register(&disks);
	}
	if (!ret)
		watchers++;
	mutex_unlock(&watchers_lock);
	if (!ret)
		queue_delayed_work(system_unbound_wq, &l->watch, WATCH_PERIOD);
	return ret;
}

void nap_lower_watch_stop(struct nap_lower *l)
{
	cancel_delayed_work_sync(&l->watch);
	mutex_lock(&watchers_lock);
	if (!--watchers)
		class_interface_unregister(&disks);
	mutex_unlock(&watchers_lock);
}
