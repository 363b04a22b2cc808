// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of a namespace, and where they are read: debugfs nvme-accel-passthru/CTRL/NSID/{stats,latency}, see
 * Documentation/ABI/testing/debugfs-nvme-accel-passthru.
 */
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include "nap.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* A controller's directory is there while one of its namespaces has one. */
struct ctrl_dir {
	struct list_head entry;
	const struct nap_ctrl *ctrl;
	struct dentry *dentry;
	unsigned int users;
};

static struct dentry *root;
static LIST_HEAD(ctrl_dirs);
static DEFINE_MUTEX(dirs_lock);

static const char *const class_name[] = { "read", "write", "flush", "other" };

static const char *const reason_name[NAP_R_COUNT] = {
	[NAP_R_OK] = "completed_ok",
	[NAP_R_OPCODE] = "refused_opcode",
	[NAP_R_FIELD] = "refused_field",
	[NAP_R_LENGTH] = "refused_length",
	[NAP_R_RANGE] = "refused_lba_range",
	[NAP_R_NSID] = "refused_nsid",
	[NAP_R_GONE] = "failed_device_gone",
	[NAP_R_NOMEM] = "failed_no_memory",
	[NAP_R_LOWER] = "failed_device_status",
	[NAP_R_RESET] = "failed_device_reset",
};

/* ---- Counting ---- */

static unsigned int class_of(u8 opcode)
{
	switch (opcode) {
	case nvme_cmd_read:
		return 0;
	case nvme_cmd_write:
		return 1;
	case nvme_cmd_flush:
		return 2;
	default:
		return 3;
	}
}

static unsigned int bin_of(u64 ns)
{
	return ns ? min_t(unsigned int, ilog2(ns), NAP_LAT_BINS - 1) : 0;
}

/* Completions come in interrupts, too: they are kept away, so that a count is neither lost nor seen by half. */
static struct nap_stats_cpu *count_begin(struct nap_ns *ns, unsigned long *flags)
{
	struct nap_stats_cpu *c;

	local_irq_save(*flags);
	c = this_cpu_ptr(ns->stats.cpu);
	raw_write_seqcount_begin(&c->seq);
	return c;
}

static void count_end(struct nap_stats_cpu *c, unsigned long flags)
{
	raw_write_seqcount_end(&c->seq);
	local_irq_restore(flags);
}

void nap_stats_throttled(struct nap_ns *ns)
{
	struct nap_stats_cpu *c;
	unsigned long flags;

	c = count_begin(ns, &flags);
	c->throttled++;
	count_end(c, flags);
}

void nap_stats_done(struct nap_ns *ns, const struct nap_req *r, u16 status, enum nap_reason reason)
{
	unsigned int class = class_of(r->cmd.common.opcode);
	unsigned int bin = bin_of(ktime_get_ns() - r->start_ns);
	struct nap_stats_cpu *c;
	unsigned long flags;

	/* Whoever ends a command with an error says how far it came; should that not be so, it counts as an error. */
	if (status && reason == NAP_R_OK)
		reason = NAP_R_LOWER;
	c = count_begin(ns, &flags);
	c->cmds[class]++;
	c->reason[reason]++;
	c->lat[bin]++;
	if (reason == NAP_R_OK)
		c->bytes[class] += r->nbytes;
	count_end(c, flags);
}

static void add(u64 *sum, const u64 *from, unsigned int n)
{
	while (n--)
		sum[n] += from[n];
}

static void sum_up(const struct nap_ns *ns, struct nap_stats_cpu *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct nap_stats_cpu *c = per_cpu_ptr(ns->stats.cpu, cpu);
		struct nap_stats_cpu copy;
		unsigned int seq;

		do {
			seq = read_seqcount_begin(&c->seq);
			copy = *c;
		} while (read_seqcount_retry(&c->seq, seq));
		add(sum->cmds, copy.cmds, ARRAY_SIZE(sum->cmds));
		add(sum->bytes, copy.bytes, ARRAY_SIZE(sum->bytes));
		add(sum->reason, copy.reason, NAP_R_COUNT);
		add(sum->lat, copy.lat, NAP_LAT_BINS);
		sum->throttled += copy.throttled;
	}
}

int nap_stats_init(struct nap_ns *ns)
{
	int cpu;

	ns->stats.cpu = alloc_percpu(struct nap_stats_cpu);
	if (!ns->stats.cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		seqcount_init(&per_cpu_ptr(ns->stats.cpu, cpu)->seq);
	return 0;
}

void nap_stats_free(struct nap_ns *ns)
{
	free_percpu(ns->stats.cpu);
	ns->stats.cpu = NULL;
}

/* ---- debugfs ---- */

static int stats_show(struct seq_file *m, void *v)
{
	const struct nap_ns *ns = m->private;
	struct nap_stats_cpu *sum;
	unsigned int i;

	sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	sum_up(ns, sum);
	for (i = 0; i < ARRAY_SIZE(class_name); i++)
		seq_printf(m, "%s_commands %llu\n", class_name[i], sum->cmds[i]);
	for (i = 0; i < ARRAY_SIZE(class_name); i++)
		if (i != 2)	/* flushes carry none */
			seq_printf(m, "%s_bytes %llu\n", class_name[i], sum->bytes[i]);
	for (i = 0; i < NAP_R_COUNT; i++)
		seq_printf(m, "%s %llu\n", reason_name[i], sum->reason[i]);
	seq_printf(m, "throttled %llu\n", sum->throttled);
	seq_printf(m, "inflight %d\n", atomic_read(&ns->limit.inflight));
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int latency_show(struct seq_file *m, void *v)
{
	struct nap_stats_cpu *sum;
	unsigned int i;

	sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	sum_up(m->private, sum);
	for (i = 0; i < NAP_LAT_BINS; i++)
		seq_printf(m, "%llu %llu\n", i ? 1ull << i : 0ull, sum->lat[i]);
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(latency);

static struct ctrl_dir *ctrl_dir_get(const struct nap_ctrl *ctrl)
{
	struct ctrl_dir *d;

	list_for_each_entry(d, &ctrl_dirs, entry) {
		if (d->ctrl == ctrl) {
			d->users++;
			return d;
		}
	}
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return NULL;
	d->ctrl = ctrl;
	d->users = 1;
	d->dentry = debugfs_create_dir(nap_ctrl_name(ctrl), root);
	list_add(&d->entry, &ctrl_dirs);
	return d;
}

static void ctrl_dir_put(const struct nap_ctrl *ctrl)
{
	struct ctrl_dir *d;

	list_for_each_entry(d, &ctrl_dirs, entry)
		if (d->ctrl == ctrl)
			break;
	if (list_entry_is_head(d, &ctrl_dirs, entry) || --d->users)
		return;
	list_del(&d->entry);
	debugfs_remove_recursive(d->dentry);
	kfree(d);
}

/* Without debugfs, or without memory for it, a namespace works all the same. */
void nap_stats_show_dir(struct nap_ns *ns)
{
	struct ctrl_dir *d;
	char name[12];

	mutex_lock(&dirs_lock);
	d = ns->stats.dir ? NULL : ctrl_dir_get(ns->ctrl);
	if (d) {
		snprintf(name, sizeof(name), "%u", ns->nsid);
		ns->stats.dir = debugfs_create_dir(name, d->dentry);
		debugfs_create_file("stats", 0400, ns->stats.dir, ns, &stats_fops);
		debugfs_create_file("latency", 0400, ns->stats.dir, ns, &latency_fops);
	}
	mutex_unlock(&dirs_lock);
}

/* Waits for those who are reading. */
void nap_stats_hide_dir(struct nap_ns *ns)
{
	mutex_lock(&dirs_lock);
	if (ns->stats.dir) {
		debugfs_remove_recursive(ns->stats.dir);
		ns->stats.dir = NULL;
		ctrl_dir_put(ns->ctrl);
	}
	mutex_unlock(&dirs_lock);
}

int nap_stats_module_init(void)
{
	root = debugfs_create_dir(NAP_NAME, NULL);
	return 0;
}

void nap_stats_module_exit(void)
{
	debugfs_remove_recursive(root);
	root = NULL;
}
