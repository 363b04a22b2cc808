// SPDX-License-Identifier: GPL-2.0-only
/* What a provider says of itself: to programs, and in debugfs (Documentation/ABI/testing/debugfs-nvme-accel-p2pdma). */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "p2p.h"

#define CREATE_TRACE_POINTS
#include "p2p_trace.h"

static struct dentry *root;

static const char *const counter_name[P2P_C_COUNT] = {
	[P2P_C_BYTES_IN] = "bytes_in",
	[P2P_C_BYTES_OUT] = "bytes_out",
	[P2P_C_BYTES_MEMORY] = "bytes_memory",
	[P2P_C_COMMANDS] = "commands",
	[P2P_C_JOBS_OK] = "jobs_ok",
	[P2P_C_JOBS_FAILED] = "jobs_failed",
	[P2P_C_LOSSES] = "losses",
	[P2P_C_REFUSED] = "refused",
	[P2P_C_TESTS] = "self_tests",
};

static const char *const test_name[] = {
	[NVME_ACCEL_P2P_TEST_NONE] = "none",
	[NVME_ACCEL_P2P_TEST_IN] = "in",
	[NVME_ACCEL_P2P_TEST_BOTH] = "both",
	[NVME_ACCEL_P2P_TEST_FAILED] = "failed",
};

/* ---- For programs ---- */

/* nvme-pci's controller is a child of class nvme; none while it is bound or unbound. */
static int controller_name(struct device *dev, void *name)
{
	if (!dev->class || strcmp(dev->class->name, "nvme"))
		return 0;
	strscpy(name, dev_name(dev), sizeof_field(struct nvme_accel_p2p_provider, ctrl));
	return 1;
}

static u32 state(struct p2p_provider *p)
{
	if (p->dead || p->closed || !p2p_cmb_ready(p))
		return NVME_ACCEL_P2P_RESETTING;
	return p2p_cmb_ok(p) ? NVME_ACCEL_P2P_READY : NVME_ACCEL_P2P_LOST;
}

static u64 counter(struct p2p_provider *p, enum p2p_counter c)
{
	return atomic64_read(&p->count[c]);
}

void p2p_provider_info(struct p2p_provider *p, struct nvme_accel_p2p_provider *out)
{
	out->id = p->id;
	out->kind = p->kind;
	out->size = p->size;
	out->bar_addr = capable(CAP_SYS_ADMIN) ? pci_bus_address(p->pdev, p->bar) + (p->window - pci_resource_start(p->pdev, p->bar)) : 0;
	out->cmbloc = p->cmbloc;
	out->cmbsz = p->cmbsz;
	strscpy(out->pci, pci_name(p->pdev), sizeof(out->pci));
	device_for_each_child(&p->pdev->dev, out->ctrl, controller_name);
	mutex_lock(&p->lock);
	out->state = state(p);
	out->free = p->size - p->used;
	out->sets = p->nr_sets;
	out->jobs = p->running;
	mutex_unlock(&p->lock);
	out->bytes_in = counter(p, P2P_C_BYTES_IN);
	out->bytes_out = counter(p, P2P_C_BYTES_OUT);
	out->bytes_memory = counter(p, P2P_C_BYTES_MEMORY);
	out->commands = counter(p, P2P_C_COMMANDS);
	out->jobs_ok = counter(p, P2P_C_JOBS_OK);
	out->jobs_failed = counter(p, P2P_C_JOBS_FAILED);
	out->losses = counter(p, P2P_C_LOSSES);
}

/* ---- debugfs ---- */

static int stats_show(struct seq_file *m, void *v)
{
	struct p2p_provider *p = m->private;
	unsigned int i;

	for (i = 0; i < P2P_C_COUNT; i++)
		seq_printf(m, "%s %llu\n", counter_name[i], counter(p, i));
	mutex_lock(&p->lock);
	seq_printf(m, "size %llu\nfree %llu\nsets %u\njobs %u\n", p->size, p->size - p->used, p->nr_sets, p->running);
	mutex_unlock(&p->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int pairs_show(struct seq_file *m, void *v)
{
	struct p2p_provider *p = m->private;
	struct p2p_pair *pair;

	mutex_lock(&p->lock);
	list_for_each_entry(pair, &p->pairs, entry)
		seq_printf(m, "%s %s\n", pair->pdev ? pci_name(pair->pdev) : "cpu", test_name[pair->test]);
	mutex_unlock(&p->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pairs);

void p2p_stats_show(struct p2p_provider *p)
{
	p->dir = debugfs_create_dir(pci_name(p->pdev), root);
	debugfs_create_file("stats", 0400, p->dir, p, &stats_fops);
	debugfs_create_file("pairs", 0400, p->dir, p, &pairs_fops);
}

/* Waits for those who are reading. */
void p2p_stats_hide(struct p2p_provider *p)
{
	debugfs_remove_recursive(p->dir);
	p->dir = NULL;
}

void p2p_stats_init(void)
{
	root = debugfs_create_dir(P2P_NAME, NULL);
}

void p2p_stats_exit(void)
{
	debugfs_remove_recursive(root);
	root = NULL;
}
