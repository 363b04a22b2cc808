// SPDX-License-Identifier: GPL-2.0-only
/* Devices: opening an accelerator, and letting go of it. */
#include <linux/rculist.h>
#include <linux/slab.h>
#include "nac.h"

#define IDENTITY_MS	5000u
#define CLAIM_MS	5000u
#define EXTRA_SEGMENTS	2u	/* for the descriptor, and where input that is sent as it is meets what is copied */

LIST_HEAD(nac_devs);
DEFINE_SPINLOCK(nac_devs_lock);
atomic_t nac_devs_count = ATOMIC_INIT(0);
DECLARE_WAIT_QUEUE_HEAD(nac_devs_wait);

/* ---- Letting go ---- */

static void dev_free(struct work_struct *work)
{
	struct nac_dev *dev = container_of(work, struct nac_dev, free_work);
	struct nac_bind *bind = dev->bind;

	timer_delete_sync(&dev->timer);
	nac_slots_free(dev);
	compat_bdev_close(&dev->handle);
	kfree_sensitive(dev);
	config_item_put(&bind->group.cg_item);
	if (atomic_dec_and_test(&nac_devs_count))
		wake_up(&nac_devs_wait);
}

static void dev_release(struct kref *kref)
{
	struct nac_dev *dev = container_of(kref, struct nac_dev, kref);

	queue_work(nac_slow_wq, &dev->free_work);
}

void nac_dev_put(struct nac_dev *dev)
{
	kref_put(&dev->kref, dev_release);
}

void nac_dev_lost(struct nac_dev *dev, enum nac_count why)
{
	atomic_cmpxchg(&dev->lost, NAC_F_NONE, why);
	nac_bind_kick(dev->bind);
}

void nac_dev_lost_slot(struct nac_dev *dev)
{
	unsigned long flags;
	bool all;

	spin_lock_irqsave(&dev->lock, flags);
	all = ++dev->nlost == dev->nslot;
	spin_unlock_irqrestore(&dev->lock, flags);
	if (all)
		nac_dev_lost(dev, NAC_F_DEVICE);
}

static void set_dead(struct nac_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	dev->dead = true;
	spin_unlock_irqrestore(&dev->lock, flags);
}

static void unpublish(struct nac_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	dev->live = false;
	spin_unlock_irqrestore(&dev->lock, flags);
	spin_lock(&nac_devs_lock);
	list_del_rcu(&dev->entry);
	spin_unlock(&nac_devs_lock);
	synchronize_rcu();
}

void nac_dev_kill(struct nac_dev *dev, bool now, enum nac_count why)
{
	unpublish(dev);
	nac_flush(dev, false, why);
	if (!now)
		wait_event_timeout(dev->idle, !READ_ONCE(dev->nbusy), msecs_to_jiffies(READ_ONCE(dev->bind->conf.timeout)));
	set_dead(dev);
	nac_flush(dev, true, why);
	timer_delete_sync(&dev->timer);
	nac_lease_release(dev);
	nac_dev_put(dev);
}

/* ---- Opening ---- */

static bool is_local(struct block_device *bdev)
{
	struct device *d;

	for (d = disk_to_dev(bdev->bd_disk)->parent; d; d = d->parent)
		if (d->bus || !strcmp(dev_name(d), "nvme-accel-passthru"))
			return true;
	return false;
}

static const struct { u16 op, alg; } wire_ops[NAC_OPS] = {
	[NAC_COMPRESS] = { NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE },
	[NAC_DECOMPRESS] = { NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_DEFLATE },
	[NAC_GCM_ENCRYPT] = { NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM },
	[NAC_GCM_DECRYPT] = { NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_GCM },
	[NAC_XTS_ENCRYPT] = { NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_XTS },
	[NAC_XTS_DECRYPT] = { NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_XTS },
	[NAC_SHA256] = { NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256 },
};

static u32 ops_of(const struct wire_id *id)
{
	const struct wire_op *op;
	u32 ops = 0;
	unsigned int i;

	for (i = 0; i < NAC_OPS; i++) {
		op = wire_find_op(id, wire_ops[i].op, wire_ops[i].alg);
		if (op && op->flags & NVME_ACCEL_OPF_ALONE)
			ops |= 1u << i;
	}
	return ops;
}

static int identify(struct nac_dev *dev)
{
	u8 *page = kmalloc(NVME_ACCEL_PAGE, GFP_KERNEL);
	enum wire_err err;
	int ret;

	if (!page)
		return -ENOMEM;
	ret = nac_ctl_read(dev, NVME_ACCEL_QUIET, page, NVME_ACCEL_PAGE, IDENTITY_MS);
	if (!ret) {
		err = wire_id_decode(&dev->id, page);
		ret = err == WIRE_OK ? 0 : -ENODEV;
		if (err != WIRE_OK && err != WIRE_MAGIC)
			nac_err(dev->bind, "%s: the accelerator's identity is not valid: %s", dev->bind->conf.device_path,
				wire_err_str(err));
	}
	kfree(page);
	return ret;
}

/* Whether node and identity belong together, and there is something to be had. */
static const char *objection(const struct nac_dev *dev, int *ret)
{
	const struct nac_bind *bind = dev->bind;

	*ret = -ENODEV;
	if (1u << dev->id.lbadsx != dev->block || dev->id.nsze << dev->id.lbadsx > (u64)bdev_nr_sectors(dev->bdev) << SECTOR_SHIFT)
		return "the block device is not what the accelerator says of itself";
	if (dev->id.state != NVME_ACCEL_DEV_READY && dev->id.state != NVME_ACCEL_DEV_DEGRADED)
		return "the accelerator is not ready";
	if (!dev->id.nlease || !(dev->id.feat & NVME_ACCEL_FEAT_INLINE))
		return "the accelerator has no leases, or does not take jobs in one write";
	if (bind->enabled && memcmp(bind->uuid, dev->id.uuid, sizeof(bind->uuid)))
		return "this is another accelerator than before; disable the binding, and enable it, to use this one";
	*ret = -EOPNOTSUPP;
	if (!(nac_algs_of(dev->ops) & nac_algs_wanted()))
		return "it serves none of the algorithms";
	return NULL;
}

/* What one command takes along, and of that what the administrator wants. */
static int limits(struct nac_dev *dev)
{
	struct request_queue *q = bdev_get_queue(dev->bdev);
	u64 most = (u64)queue_max_sectors(q) << SECTOR_SHIFT;
	u64 in = dev->bind->conf.threshold_max;
	u64 out = in + in / 10 + dev->block;

	if (queue_max_segments(q) <= EXTRA_SEGMENTS)
		return -EOPNOTSUPP;
	most = min_t(u64, most, (u64)(queue_max_segments(q) - EXTRA_SEGMENTS) * NAC_UNIT) - dev->block;
	dev->max_in = min3(in, dev->id.maxin, most);
	dev->ratio = NAC_RATIO_MOST;
	dev->max_out = min3(out, dev->id.maxout, most) & ~(dev->block - 1);
	return dev->max_in && dev->max_out ? 0 : -EOPNOTSUPP;
}

static int examine(struct nac_dev *dev, bool quiet)
{
	struct nac_bind *bind = dev->bind;
	const char *why;
	int ret;

	dev->block = bdev_logical_block_size(dev->bdev);
	dev->stable = bdev_stable_writes(dev->bdev);
	dev->local = is_local(dev->bdev);
	ret = bdev_is_partition(dev->bdev) || (dev->block != 512 && dev->block != 4096) ? -ENODEV : identify(dev);
	if (ret) {
		if (!quiet)
			nac_err(bind, "%s: %s (error %d)", bind->conf.device_path,
				ret == -ENODEV ? "no accelerator namespace" : "its identity cannot be read", -ret);
		return ret;
	}
	dev->ops = ops_of(&dev->id);
	why = objection(dev, &ret);
	if (why) {
		if (!quiet)
			nac_err(bind, "%s: %s", bind->conf.device_path, why);
		return ret;
	}
	ret = limits(dev);
	if (ret && !quiet)
		nac_err(bind, "%s: its queue takes too little in one command", bind->conf.device_path);
	return ret;
}

static int lease(struct nac_dev *dev, bool quiet)
{
	struct nac_bind *bind = dev->bind;
	struct wire_lease lease;
	int ret;

	ret = nac_lease_claim(dev, min(bind->conf.slots, dev->id.nslot), &lease, quiet ? 0 : CLAIM_MS);
	if (ret) {
		if (!quiet)
			nac_err(bind, "%s: no lease (error %d)%s", bind->conf.device_path, -ret,
				ret == -EBUSY ? ": others have all slots; `accel lease list` tells who" : "");
		return ret;
	}
	nac_count(bind, NAC_C_LEASE_CLAIMS, 1);
	return nac_slots_new(dev, &lease);
}

static struct nac_dev *dev_new(struct nac_bind *bind)
{
	struct nac_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->bind = bind;
	config_item_get(&bind->group.cg_item);
	kref_init(&dev->kref);
	INIT_WORK(&dev->free_work, dev_free);
	nac_queue_init(dev);
	atomic_inc(&nac_devs_count);
	return dev;
}

struct nac_dev *nac_dev_open(struct nac_bind *bind, bool quiet)
{
	struct nac_dev *dev;
	int ret;

	if (!bind->conf.device_path)
		return ERR_PTR(-ENOENT);
	dev = dev_new(bind);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	ret = compat_bdev_open(&dev->handle, bind->conf.device_path, bind);
	if (ret) {
		if (!quiet)
			nac_err(bind, "%s cannot be opened (error %d)%s", bind->conf.device_path, -ret,
				ret == -EBUSY ? ": another binding or a file system has it" : "");
		goto out_put;
	}
	dev->bdev = dev->handle.bdev;
	ret = examine(dev, quiet) ?: lease(dev, quiet);
	if (ret)
		goto out_release;
	return dev;

out_release:
	set_dead(dev);
	nac_lease_release(dev);
out_put:
	nac_dev_put(dev);
	return ERR_PTR(ret);
}

void nac_dev_publish(struct nac_dev *dev)
{
	dev->live = true;
	spin_lock(&nac_devs_lock);
	list_add_tail_rcu(&dev->entry, &nac_devs);
	spin_unlock(&nac_devs_lock);
}
