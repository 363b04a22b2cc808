// SPDX-License-Identifier: GPL-2.0-only
/* Bindings: what is enabled stays so, whatever becomes of the device and of the lease. */
#include <linux/slab.h>
#include "nac.h"

static LIST_HEAD(binds);
static DEFINE_MUTEX(binds_lock);

#define TICK_MS		1000u

/* ---- Algorithms ---- */

u32 nac_binds_kinds(void)
{
	struct nac_bind *bind;
	u32 kinds = 0;

	mutex_lock(&binds_lock);
	list_for_each_entry(bind, &binds, entry)
		kinds |= bind->kinds;
	mutex_unlock(&binds_lock);
	return kinds;
}

u32 nac_bind_priority(const struct nac_bind *bind)
{
	if (bind->conf.priority_set || bind->local || !bind->kinds)
		return bind->conf.priority;
	return 0;
}

u32 nac_binds_priority(enum nac_alg alg)
{
	struct nac_bind *bind;
	u32 most = 0;

	mutex_lock(&binds_lock);
	list_for_each_entry(bind, &binds, entry)
		if (bind->kinds & 1u << alg)
			most = max(most, nac_bind_priority(bind));
	mutex_unlock(&binds_lock);
	return most;
}

static void binds_add(struct nac_bind *bind, u32 kinds)
{
	mutex_lock(&binds_lock);
	bind->kinds = kinds;
	list_add_tail(&bind->entry, &binds);
	mutex_unlock(&binds_lock);
}

static void binds_del(struct nac_bind *bind)
{
	mutex_lock(&binds_lock);
	list_del(&bind->entry);
	bind->kinds = 0;
	mutex_unlock(&binds_lock);
}

/* ---- Keeping ---- */

static bool gone(const struct nac_dev *dev)
{
	return !bdev_nr_sectors(dev->bdev) || !disk_live(dev->bdev->bd_disk);
}

/* Whether the device can go on; asks for the lease if it is time. */
static enum nac_count check(struct nac_dev *dev)
{
	unsigned long duration = msecs_to_jiffies(dev->duration_ms);
	enum nac_count lost = atomic_read(&dev->lost);
	bool asked = atomic_xchg(&dev->ask, 0);
	int ret;

	if (lost)
		return lost;
	if (gone(dev))
		return NAC_F_IO;
	if (!asked && time_before(jiffies, dev->sure + duration / 3))
		return NAC_F_NONE;
	ret = nac_lease_renew(dev);
	if (ret == -ESTALE)
		return NAC_F_LEASE;
	if (!ret)
		WRITE_ONCE(dev->sick, false);
	else if (time_after(jiffies, dev->sure + duration))
		return NAC_F_IO;
	return NAC_F_NONE;
}

static void keep(struct nac_bind *bind)
{
	struct nac_dev *dev = bind->dev;
	enum nac_count lost = check(dev);

	if (!lost)
		return;
	nac_info(bind, "%s: %s; software does its work until it is back", bind->conf.device_path,
		 lost == NAC_F_LEASE ? "the lease is lost" : "the accelerator does not answer or is gone");
	nac_count(bind, NAC_C_LEASE_LOSSES, 1);
	WRITE_ONCE(bind->dev, NULL);
	nac_dev_kill(dev, true, lost);
}

static void open_again(struct nac_bind *bind)
{
	struct nac_dev *dev = nac_dev_open(bind, true);

	if (IS_ERR(dev))
		return;
	nac_count(bind, NAC_C_REOPENS, 1);
	nac_info(bind, "%s: the accelerator is back, %u slots", bind->conf.device_path, dev->nslot);
	nac_dev_publish(dev);
	WRITE_ONCE(bind->dev, dev);
}

static void tick(struct work_struct *work)
{
	struct nac_bind *bind = container_of(work, struct nac_bind, work.work);
	unsigned int ms = TICK_MS;

	mutex_lock(&bind->lock);
	if (bind->enabled && bind->dev)
		keep(bind);
	if (bind->enabled && !bind->dev)
		open_again(bind);
	if (bind->dev)
		ms = min(ms, bind->dev->duration_ms / 6);
	if (bind->enabled)
		queue_delayed_work(nac_ctl_wq, &bind->work, msecs_to_jiffies(ms));
	mutex_unlock(&bind->lock);
}

/* From any context. */
void nac_bind_kick(struct nac_bind *bind)
{
	if (READ_ONCE(bind->enabled))
		mod_delayed_work(nac_ctl_wq, &bind->work, 1);
}

/* ---- Administration; bind->admin is held ---- */

int nac_bind_enable(struct nac_bind *bind)
{
	struct nac_dev *dev;

	dev = nac_dev_open(bind, false);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	memcpy(bind->uuid, dev->id.uuid, sizeof(bind->uuid));
	mutex_lock(&bind->lock);
	bind->local = dev->local;
	bind->dev = dev;
	WRITE_ONCE(bind->enabled, true);
	binds_add(bind, nac_algs_of(dev->ops) & nac_algs_wanted());
	nac_dev_publish(dev);
	queue_delayed_work(nac_ctl_wq, &bind->work, msecs_to_jiffies(TICK_MS));
	mutex_unlock(&bind->lock);
	nac_algs_update();
	return 0;
}

void nac_bind_disable(struct nac_bind *bind)
{
	struct nac_dev *dev;

	WRITE_ONCE(bind->stopping, true);
	mutex_lock(&bind->lock);
	WRITE_ONCE(bind->enabled, false);
	binds_del(bind);
	dev = bind->dev;
	WRITE_ONCE(bind->dev, NULL);
	mutex_unlock(&bind->lock);
	cancel_delayed_work_sync(&bind->work);
	if (dev)
		nac_dev_kill(dev, false, NAC_F_STOPPED);
	nac_algs_update();
	WRITE_ONCE(bind->stopping, false);
}

const char *nac_bind_state(const struct nac_bind *bind)
{
	if (READ_ONCE(bind->stopping))
		return "stopping";
	if (!READ_ONCE(bind->enabled))
		return "disabled";
	return READ_ONCE(bind->dev) ? "live" : "waiting";
}

struct nac_bind *nac_bind_new(void)
{
	struct nac_bind *bind = kzalloc(sizeof(*bind), GFP_KERNEL);

	if (!bind)
		return NULL;
	if (nac_stats_init(&bind->stats)) {
		kfree(bind);
		return NULL;
	}
	mutex_init(&bind->lock);
	mutex_init(&bind->admin);
	INIT_DELAYED_WORK(&bind->work, tick);
	bind->conf.slots = 32;
	bind->conf.queue_depth = 128;
	bind->conf.threshold_min = 4096;
	bind->conf.threshold_max = 131072;
	bind->conf.verify = 1;
	bind->conf.level = 1;
	bind->conf.window_bits = 11;
	bind->conf.timeout = 1000;
	bind->conf.priority = 50;
	return bind;
}

void nac_bind_free(struct nac_bind *bind)
{
	/* One that was asked for while the binding was disabled. */
	cancel_delayed_work_sync(&bind->work);
	mutex_destroy(&bind->lock);
	mutex_destroy(&bind->admin);
	nac_stats_free(&bind->stats);
	kfree(bind->conf.device_path);
	kfree(bind);
}
