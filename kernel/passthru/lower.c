// SPDX-License-Identifier: GPL-2.0-only
/* A namespace of another controller: found by the path of the controller and its number, judged, pinned. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include "lower.h"

/* Taken in callbacks of the driver core, which may sleep; never in a command's path or an interrupt. */
DEFINE_SPINLOCK(nap_lower_lock);
LIST_HEAD(nap_lowers);

/* ---- The controller ---- */

/*
 * Opening a device of another kind may do something (rewind a tape), so only character devices are opened; that one is
 * no NVMe controller can be told after that only.
 */
static struct file *open_controller(struct nap_ns *ns, const char *name)
{
	struct path path;
	struct file *file;
	umode_t mode;
	int ret;

	ret = kern_path(name, LOOKUP_FOLLOW, &path);
	if (ret) {
		nap_ns_err(ns, "device_path %s: cannot be found (error %d)", name, ret);
		return ERR_PTR(ret);
	}
	mode = d_backing_inode(path.dentry)->i_mode;
	path_put(&path);
	if (!S_ISCHR(mode)) {
		nap_ns_err(ns, "device_path %s is not a character device; give the controller (/dev/nvme0) there, and its namespace in device_nsid",
			   name);
		return ERR_PTR(-EINVAL);
	}
	file = filp_open(name, O_RDONLY | O_NONBLOCK, 0);
	if (IS_ERR(file))
		nap_ns_err(ns, "device_path %s: cannot be opened (error %ld); is its state live?", name, PTR_ERR(file));
	return file;
}

/* Its admin queue may be freed before the controller is, and its driver's module before both. */
int nap_lower_pin(struct nap_lower *l, struct nvme_ctrl *ctrl)
{
	struct request_queue *q = READ_ONCE(ctrl->admin_q);

	if (!try_module_get(ctrl->ops->module))
		return -ENODEV;
	if (!q || !blk_get_queue(q)) {
		module_put(ctrl->ops->module);
		return -ENODEV;
	}
	nvme_get_ctrl(ctrl);
	l->ctrl = ctrl;
	l->admin_q = q;
	return 0;
}

void nap_lower_unpin(struct nap_lower *l)
{
	struct module *module = l->ctrl->ops->module;

	blk_put_queue(l->admin_q);
	nvme_put_ctrl(l->ctrl);
	module_put(module);
	l->admin_q = NULL;
	l->ctrl = NULL;
}

static int pin_by_path(struct nap_lower *l, const char *name)
{
	struct file *file = open_controller(l->ns, name);
	struct nvme_ctrl *ctrl;
	int ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ctrl = nvme_ctrl_from_file(file);
	if (!ctrl) {
		nap_ns_err(l->ns, "device_path %s is not the character device of an NVMe controller", name);
		ret = -EINVAL;
	} else if (ctrl->ops == &nap_ctrl_ops) {
		nap_ns_err(l->ns, "device_path %s is a virtual controller of this module; name the real one", name);
		ret = -ELOOP;
	} else {
		ret = nap_lower_pin(l, ctrl);
		if (ret)
			nap_ns_err(l->ns, "device_path %s: its controller is being removed", name);
	}
	filp_close(file, NULL);
	return ret;
}

/* ---- The namespace ---- */

bool nap_lower_same_ids(const struct nvme_ns_ids *a, const struct nvme_ns_ids *b)
{
	return !memcmp(a->eui64, b->eui64, sizeof(a->eui64)) && !memcmp(a->nguid, b->nguid, sizeof(a->nguid)) &&
	       uuid_equal(&a->uuid, &b->uuid) && a->csi == b->csi;
}

void nap_lower_id_of(struct nap_lower_id *id, struct nvme_ctrl *ctrl, struct nvme_ns *below)
{
	memcpy(id->subnqn, ctrl->subsys->subnqn, sizeof(id->subnqn));
	memcpy(id->serial, ctrl->subsys->serial, sizeof(id->serial));
	memcpy(id->model, ctrl->subsys->model, sizeof(id->model));
	id->ids = below->head->ids;
}

const char *nap_lower_unfit(struct nvme_ns *below)
{
	unsigned int shift = compat_nvme_ns_lba_shift(below);

	if (below->head->ids.csi != NVME_CSI_NVM)
		return "it has another command set than NVM (zoned or key-value)";
	if (compat_nvme_ns_metadata(below))
		return "its format has metadata; format it without (nvme format)";
	if (shift < SECTOR_SHIFT || shift > PAGE_SHIFT)
		return "its block size is out of range (512 bytes to a page)";
	if (!nap_lower_nblocks(below))
		return "it has no blocks";
	return NULL;
}

u64 nap_lower_nblocks(struct nvme_ns *below)
{
	return get_capacity(below->disk) >> (compat_nvme_ns_lba_shift(below) - SECTOR_SHIFT);
}

u32 nap_lower_max_bytes(struct nvme_ns *below)
{
	u64 bytes = (u64)queue_max_hw_sectors(below->queue) << SECTOR_SHIFT;

	/* A segment is a page of the controller at least, but for the first and the last one. */
	bytes = min_t(u64, bytes, (u64)queue_max_segments(below->queue) * NVME_CTRL_PAGE_SIZE);
	return min_t(u64, bytes, NAP_MDTS_BYTES);
}

int nap_lower_read(struct nap_lower *l, struct nvme_id_ns *page)
{
	struct nvme_command c = { };

	c.identify.opcode = nvme_admin_identify;
	c.identify.nsid = cpu_to_le32(l->nsid);
	c.identify.cns = NVME_ID_CNS_NS;
	return nvme_submit_sync_cmd(l->admin_q, &c, page, sizeof(*page));
}

static bool is_nonzero(const void *p, size_t n)
{
	return memchr_inv(p, 0, n);
}

/* Whether two lowers are one physical namespace, as far as they tell. */
static bool same_namespace(const struct nap_lower *a, const struct nap_lower *b)
{
	const struct nvme_ns_ids *x = &a->id.ids, *y = &b->id.ids;

	if (a->nsid == b->nsid && !memcmp(a->id.subnqn, b->id.subnqn, sizeof(a->id.subnqn)) &&
	    !memcmp(a->id.serial, b->id.serial, sizeof(a->id.serial)))
		return true;
	return (is_nonzero(x->nguid, sizeof(x->nguid)) && !memcmp(x->nguid, y->nguid, sizeof(x->nguid))) ||
	       (!uuid_is_null(&x->uuid) && uuid_equal(&x->uuid, &y->uuid)) ||
	       (is_nonzero(x->eui64, sizeof(x->eui64)) && !memcmp(x->eui64, y->eui64, sizeof(x->eui64)));
}

/* Puts it on the list of all, unless another namespace of ours has the same one and one of both does not share. */
static int enlist(struct nap_lower *l)
{
	struct nap_lower *other;
	int ret = 0;

	spin_lock(&nap_lower_lock);
	list_for_each_entry(other, &nap_lowers, entry) {
		if (!same_namespace(l, other) || (l->shared && other->shared))
			continue;
		nap_ns_err(l->ns, "%s namespace %u is used by %s namespace %u; write 1 to shared of both if they may share it",
			   l->ns->conf.device_path, l->nsid, nap_ctrl_name(other->ns->ctrl), other->ns->nsid);
		ret = -EBUSY;
		break;
	}
	if (!ret)
		list_add_tail(&l->entry, &nap_lowers);
	spin_unlock(&nap_lower_lock);
	return ret;
}

/* After that nobody starts its watch any more but the watch itself. */
static void delist(struct nap_lower *l)
{
	spin_lock(&nap_lower_lock);
	list_del(&l->entry);
	spin_unlock(&nap_lower_lock);
}

static void set_geometry(struct nap_lower *l, struct nvme_ns *below)
{
	l->lba_shift = compat_nvme_ns_lba_shift(below);
	l->ns->lba_shift = l->lba_shift;
	l->ns->nblocks = nap_lower_nblocks(below);
	l->ns->max_bytes = nap_lower_max_bytes(below);
	l->ns->max_segments = queue_max_segments(below->queue);
}

/* Finds the namespace and what is to be known of it; with the controller pinned. */
static int find_below(struct nap_lower *l)
{
	const char *path = l->ns->conf.device_path, *why;
	struct nvme_ns *below = nvme_find_get_ns(l->ctrl, l->nsid);
	int ret;

	if (!below) {
		nap_ns_err(l->ns, "%s has no namespace %u (`nvme list-ns %s` lists them)", path, l->nsid, path);
		return -ENODEV;
	}
	why = nap_lower_unfit(below);
	if (why) {
		nap_ns_err(l->ns, "%s namespace %u cannot be used: %s", path, l->nsid, why);
		ret = -EOPNOTSUPP;
		goto put;
	}
	ret = nap_lower_read(l, l->page);
	if (ret) {
		nap_ns_err(l->ns, "%s namespace %u does not answer to Identify (%s %d)", path, l->nsid,
			   ret > 0 ? "status" : "error", ret);
		ret = ret > 0 ? -EIO : ret;
		goto put;
	}
	set_geometry(l, below);
	nap_lower_id_of(&l->id, l->ctrl, below);
	RCU_INIT_POINTER(l->below, below);
	return 0;
put:
	nvme_put_ns(below);
	return ret;
}

static struct nap_lower *lower_alloc(struct nap_ns *ns)
{
	struct nap_lower *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	l->page = kzalloc(sizeof(*l->page), GFP_KERNEL);
	if (!l->page) {
		kfree(l);
		return NULL;
	}
	l->ns = ns;
	l->nsid = ns->conf.device_nsid;
	l->shared = ns->conf.shared;
	nap_lower_watch_init(l);
	return l;
}

static void lower_free(struct nap_lower *l)
{
	struct nvme_ns *below = rcu_dereference_protected(l->below, true);

	if (below)
		nvme_put_ns(below);
	if (l->ctrl)
		nap_lower_unpin(l);
	kfree(l->page);
	kfree(l);
}

int nap_lower_open(struct nap_ns *ns, struct nap_lower **lower)
{
	struct nap_lower *l;
	int ret;

	if (!ns->conf.device_path || !ns->conf.device_nsid) {
		nap_ns_err(ns, "device_path (/dev/nvme0) and device_nsid must be written before it is enabled");
		return -EINVAL;
	}
	l = lower_alloc(ns);
	if (!l)
		return -ENOMEM;
	ret = pin_by_path(l, ns->conf.device_path);
	if (ret)
		goto free;
	ret = find_below(l);
	if (ret)
		goto free;
	ret = enlist(l);
	if (ret)
		goto free;
	ret = nap_lower_watch_start(l);
	if (ret)
		goto delist;
	*lower = l;
	return 0;
delist:
	delist(l);
free:
	lower_free(l);
	return ret;
}

void nap_lower_close(struct nap_lower *l)
{
	delist(l);
	nap_lower_watch_stop(l);
	/* Commands have ended, but whoever started the last of them may still be on the way out of queue(). */
	synchronize_rcu();
	lower_free(l);
}
