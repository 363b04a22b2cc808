// SPDX-License-Identifier: GPL-2.0-only
/*
 * Providers: found when nvme-pci has bound a controller, given up before it lets go of it. Whoever wants one is told by the
 * PCI bus; the controller is looked at a little later, when it is ready.
 */
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include "p2p.h"

#define LOOK_PERIOD	(HZ / 5)
#define LOOK_TRIES	600		/* two minutes: CAP.TO allows as much */
#define BEGIN_POLL_MS	10
#define GONE_WAIT	(10 * HZ)
#define PULLED_WAIT	(1 * HZ)	/* its own transfers end when the driver has noticed, not before */

LIST_HEAD(p2p_providers);
DEFINE_MUTEX(p2p_providers_lock);
static u32 last_id;

/* A controller that is still to be looked at. */
struct candidate {
	struct list_head entry;
	struct pci_dev *pdev;
	unsigned int tries;
};

static LIST_HEAD(candidates);
static DEFINE_SPINLOCK(candidates_lock);
static void look_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(looking, look_work);

bool p2p_is_nvme(const struct pci_dev *pdev)
{
	return pdev->class == PCI_CLASS_STORAGE_EXPRESS && pdev->driver && !strcmp(pdev->driver->name, "nvme");
}

/* ---- Life ---- */

static void free_provider(struct kref *ref)
{
	struct p2p_provider *p = container_of(ref, struct p2p_provider, ref);

	pci_dev_put(p->pdev);
	mutex_destroy(&p->test_lock);
	mutex_destroy(&p->lock);
	kfree(p);
}

void p2p_provider_put(struct p2p_provider *p)
{
	kref_put(&p->ref, free_provider);
}

static struct p2p_provider *new_provider(struct pci_dev *pdev)
{
	struct p2p_provider *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	kref_init(&p->ref);
	p->pdev = pci_dev_get(pdev);
	p->kernel_pages = IS_ENABLED(CONFIG_PCI_P2PDMA);
	mutex_init(&p->lock);
	mutex_init(&p->test_lock);
	INIT_LIST_HEAD(&p->sets);
	INIT_LIST_HEAD(&p->pairs);
	init_waitqueue_head(&p->idle);
	return p;
}

/* With p->lock held, or before anybody else knows of it. */
static void close_memory(struct p2p_provider *p)
{
	p2p_sets_close(p);
	p2p_selftest_forget(p, NULL);
	p2p_pages_close(p);
	p2p_cmb_unmap(p);
	p->closed = true;
}

static void publish(struct p2p_provider *p)
{
	mutex_lock(&p2p_providers_lock);
	p->id = ++last_id;
	list_add_tail(&p->entry, &p2p_providers);
	mutex_unlock(&p2p_providers_lock);
	p2p_stats_show(p);
	pci_info(p->pdev, P2P_NAME ": provider %u: %llu KiB of CMB (%s)%s\n", p->id, p->size >> 10,
		 p->kind == NVME_ACCEL_P2P_KIND_1_4 ? "1.4" : "legacy", p->kernel_pages ? ", the kernel's pages" : "");
}

/* With the device locked, its driver bound. */
static int make_provider(struct pci_dev *pdev)
{
	struct p2p_provider *p;
	int ret;

	/* Where the kernel has p2pdma, nvme-pci has given it the CMB, or could not. */
	if (IS_ENABLED(CONFIG_PCI_P2PDMA) && !pci_has_p2pmem(pdev))
		return -EAGAIN;
	p = new_provider(pdev);
	if (!p)
		return -ENOMEM;
	ret = p2p_cmb_find(p);
	if (ret)
		goto put;
	ret = p2p_pages_open(p);
	if (ret)
		goto unmap;
	ret = p2p_cmb_enable(p);
	if (ret)
		goto close;
	publish(p);
	return 0;
close:
	p2p_pages_close(p);
unmap:
	p2p_cmb_unmap(p);
put:
	p2p_provider_put(p);
	return ret;
}

static struct p2p_provider *provider_of(struct pci_dev *pdev)
{
	struct p2p_provider *p, *found = NULL;

	mutex_lock(&p2p_providers_lock);
	list_for_each_entry(p, &p2p_providers, entry)
		if (p->pdev == pdev)
			found = p;
	mutex_unlock(&p2p_providers_lock);
	return found;
}

/*
 * Its driver goes, or this module: no job begins any more, and those that run are waited for, as long as it makes sense. What
 * is left then ends by itself, and the last closes the memory.
 */
static void give_up(struct p2p_provider *p)
{
	p2p_stats_hide(p);
	mutex_lock(&p2p_providers_lock);
	list_del_init(&p->entry);
	mutex_unlock(&p2p_providers_lock);
	mutex_lock(&p->lock);
	WRITE_ONCE(p->dead, true);
	mutex_unlock(&p->lock);
	wake_up_all(&p->idle);
	if (!wait_event_timeout(p->idle, !READ_ONCE(p->running),
				pci_device_is_present(p->pdev) ? GONE_WAIT : PULLED_WAIT))
		pci_notice(p->pdev, P2P_NAME ": transfers are still under way\n");
	mutex_lock(&p->lock);
	if (!p->running && !p->closed)
		close_memory(p);
	mutex_unlock(&p->lock);
	p2p_provider_put(p);
}

/* ---- Jobs ---- */

/* 0; -EAGAIN: later */
static int try_begin(struct p2p_provider *p)
{
	int ret = 0;

	mutex_lock(&p->lock);
	if (p->dead)
		ret = -ENODEV;
	else if (!p2p_cmb_ready(p) || (p->running && !p2p_cmb_ok(p)))
		ret = -EAGAIN;
	else if (!p->running)
		ret = p2p_cmb_enable(p) ? -EAGAIN : 0;
	if (!ret)
		p->running++;
	mutex_unlock(&p->lock);
	return ret;
}

int p2p_provider_begin(struct p2p_provider *p, const int *stop, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	int ret;

	for (;;) {
		ret = try_begin(p);
		if (ret != -EAGAIN)
			return ret;
		if (READ_ONCE(*stop))
			return READ_ONCE(*stop);
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		wait_event_timeout(p->idle, READ_ONCE(p->dead), msecs_to_jiffies(BEGIN_POLL_MS));
	}
}

void p2p_provider_end(struct p2p_provider *p)
{
	mutex_lock(&p->lock);
	if (!--p->running && p->dead && !p->closed)
		close_memory(p);
	mutex_unlock(&p->lock);
	wake_up_all(&p->idle);
}

/* ---- Found by name ---- */

struct p2p_provider *p2p_provider_after(u32 id)
{
	struct p2p_provider *p, *found = NULL;

	mutex_lock(&p2p_providers_lock);
	list_for_each_entry(p, &p2p_providers, entry) {
		if (p->id > id) {
			found = p;
			kref_get(&p->ref);
			break;
		}
	}
	mutex_unlock(&p2p_providers_lock);
	return found;
}

struct p2p_provider *p2p_provider_find(u32 id)
{
	struct p2p_provider *p = id ? p2p_provider_after(id - 1) : NULL;

	if (p && p->id != id) {
		p2p_provider_put(p);
		return NULL;
	}
	return p;
}

unsigned int p2p_provider_count(void)
{
	struct list_head *e;
	unsigned int n = 0;

	mutex_lock(&p2p_providers_lock);
	list_for_each(e, &p2p_providers)
		n++;
	mutex_unlock(&p2p_providers_lock);
	return n;
}

/* ---- What is to be looked at ---- */

static void add_candidate(struct pci_dev *pdev)
{
	struct candidate *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c) {
		pci_notice(pdev, P2P_NAME ": no memory to look for a CMB\n");
		return;
	}
	c->pdev = pci_dev_get(pdev);
	spin_lock(&candidates_lock);
	list_add_tail(&c->entry, &candidates);
	spin_unlock(&candidates_lock);
	mod_delayed_work(system_wq, &looking, LOOK_PERIOD / 4);
}

static void free_candidate(struct candidate *c)
{
	list_del(&c->entry);
	pci_dev_put(c->pdev);
	kfree(c);
}

static void drop_candidates(struct pci_dev *pdev)
{
	struct candidate *c, *next;
	LIST_HEAD(gone);

	spin_lock(&candidates_lock);
	list_for_each_entry_safe(c, next, &candidates, entry)
		if (!pdev || c->pdev == pdev)
			list_move(&c->entry, &gone);
	spin_unlock(&candidates_lock);
	list_for_each_entry_safe(c, next, &gone, entry)
		free_candidate(c);
}

/* Whether it is to be looked at again. The lock keeps the driver where it is. */
static bool look_at(struct candidate *c)
{
	int ret = -ENODEV;

	if (!device_trylock(&c->pdev->dev))
		return true;
	if (p2p_is_nvme(c->pdev) && !provider_of(c->pdev))
		ret = make_provider(c->pdev);
	device_unlock(&c->pdev->dev);
	return ret == -EAGAIN && c->tries++ < LOOK_TRIES;
}

static void look_work(struct work_struct *work)
{
	struct candidate *c, *next;
	LIST_HEAD(now);
	LIST_HEAD(again);

	spin_lock(&candidates_lock);
	list_splice_init(&candidates, &now);
	spin_unlock(&candidates_lock);
	list_for_each_entry_safe(c, next, &now, entry) {
		if (look_at(c)) {
			list_move_tail(&c->entry, &again);
			continue;
		}
		free_candidate(c);
	}
	if (list_empty(&again))
		return;
	spin_lock(&candidates_lock);
	list_splice_tail(&again, &candidates);
	spin_unlock(&candidates_lock);
	queue_delayed_work(system_wq, &looking, LOOK_PERIOD);
}

/* ---- The bus ---- */

static void client_gone(struct pci_dev *pdev)
{
	struct p2p_provider *p;

	mutex_lock(&p2p_providers_lock);
	list_for_each_entry(p, &p2p_providers, entry) {
		mutex_lock(&p->lock);
		p2p_selftest_forget(p, pdev);
		mutex_unlock(&p->lock);
	}
	mutex_unlock(&p2p_providers_lock);
}

static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	struct p2p_provider *p;

	if (pdev->class != PCI_CLASS_STORAGE_EXPRESS)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_BOUND_DRIVER) {
		add_candidate(pdev);
	} else if (action == BUS_NOTIFY_UNBIND_DRIVER) {
		drop_candidates(pdev);
		p = provider_of(pdev);
		if (p)
			give_up(p);
		client_gone(pdev);
	}
	return NOTIFY_OK;
}

static struct notifier_block bus_watch = { .notifier_call = bus_event };

int p2p_providers_init(void)
{
	struct pci_dev *pdev = NULL;
	int ret;

	ret = bus_register_notifier(&pci_bus_type, &bus_watch);
	if (ret)
		return ret;
	for_each_pci_dev(pdev)
		if (p2p_is_nvme(pdev))
			add_candidate(pdev);
	/* Who loads the module wants to use it: what is ready is found at once. */
	flush_delayed_work(&looking);
	return 0;
}

void p2p_providers_exit(void)
{
	struct p2p_provider *p;

	bus_unregister_notifier(&pci_bus_type, &bus_watch);
	drop_candidates(NULL);
	cancel_delayed_work_sync(&looking);
	drop_candidates(NULL);
	while ((p = list_first_entry_or_null(&p2p_providers, struct p2p_provider, entry)))
		give_up(p);
}
