// SPDX-License-Identifier: GPL-2.0-only
/* Counters: Documentation/ABI/testing/debugfs-nvme-accel-crypto. */
#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "nac.h"

#define CREATE_TRACE_POINTS
#include "nac_trace.h"

struct nac_stats nac_total;
static struct dentry *root;

/* In the order of NAC_C_REQUESTS and so on. */
enum kind { K_COMP, K_DECOMP, K_ENCRYPT, K_DECRYPT, K_CKSUM, KINDS };

static const char *const kind_name[KINDS] = { "comp", "decomp", "encrypt", "decrypt", "cksum" };
static const char *const fails_name[] = { "dc_fails", "crypt_fails", "cksum_fails" };

static const struct { enum nac_count which; const char *name; } names[] = {
	{ NAC_F_PARTIAL, "fallback_partial" },
	{ NAC_F_MIN, "fallback_threshold_min" },
	{ NAC_F_MAX, "fallback_threshold_max" },
	{ NAC_F_UNSUPPORTED, "fallback_unsupported" },
	{ NAC_F_NO_DEVICE, "fallback_no_device" },
	{ NAC_F_RECLAIM, "fallback_reclaim" },
	{ NAC_F_TIMEOUT, "fallback_timeout" },
	{ NAC_F_IO, "fallback_io_error" },
	{ NAC_F_LEASE, "fallback_lease_lost" },
	{ NAC_F_DEVICE, "fallback_device_error" },
	{ NAC_F_DATA, "fallback_data" },
	{ NAC_F_PROTOCOL, "fallback_protocol" },
	{ NAC_F_VERIFY, "fallback_verify" },
	{ NAC_F_STOPPED, "fallback_stopped" },
	{ NAC_C_REFUSED, "refused_full" },
	{ NAC_C_BACKLOGGED, "backlogged" },
	{ NAC_C_DATA_ERRORS, "data_errors" },
	{ NAC_C_ZERO_COPY_BYTES, "in_zero_copy_bytes" },
	{ NAC_C_BOUNCES, "in_bounce_requests" },
	{ NAC_C_BOUNCE_BYTES, "in_bounce_bytes" },
	{ NAC_C_OUT_BYTES, "out_copy_bytes" },
	{ NAC_C_LATE, "late_completions" },
	{ NAC_C_REREADS, "rereads" },
	{ NAC_C_CUT, "out_rereads" },
};

static enum kind kind_of(const struct nac_job *job)
{
	switch (job->op) {
	case NAC_COMPRESS:
		return K_COMP;
	case NAC_DECOMPRESS:
		return K_DECOMP;
	case NAC_GCM_ENCRYPT:
	case NAC_XTS_ENCRYPT:
		return K_ENCRYPT;
	case NAC_SHA256:
		return K_CKSUM;
	default:
		return K_DECRYPT;
	}
}

/* ---- Counting ---- */

void nac_count(struct nac_bind *bind, enum nac_count which, u64 n)
{
	this_cpu_add(nac_total.cpu->count[which], n);
	if (bind)
		this_cpu_add(bind->stats.cpu->count[which], n);
}

void nac_count_start(struct nac_bind *bind, const struct nac_job *job)
{
	nac_count(bind, NAC_C_REQUESTS + kind_of(job), 1);
	atomic_inc(&bind->stats.inflight);
	atomic_inc(&nac_total.inflight);
}

void nac_count_end(struct nac_bind *bind)
{
	atomic_dec(&bind->stats.inflight);
	atomic_dec(&nac_total.inflight);
}

void nac_count_good(struct nac_bind *bind, const struct nac_job *job)
{
	u64 ns = ktime_get_ns() - job->start_ns;
	unsigned int bin = ns ? min_t(unsigned int, ilog2(ns), NAC_LAT_BINS - 1) : 0;

	nac_count(bind, NAC_C_IN + kind_of(job), job->in_len);
	nac_count(bind, NAC_C_OUT + kind_of(job), job->out_len);
	this_cpu_inc(nac_total.cpu->lat[bin]);
	this_cpu_inc(bind->stats.cpu->lat[bin]);
}

void nac_count_fail(struct nac_bind *bind, const struct nac_job *job)
{
	static const u8 fails[KINDS] = { 0, 0, 1, 1, 2 };

	nac_count(bind, NAC_C_FAILS + fails[kind_of(job)], 1);
}

int nac_stats_init(struct nac_stats *s)
{
	s->cpu = alloc_percpu(struct nac_stats_cpu);
	return s->cpu ? 0 : -ENOMEM;
}

void nac_stats_free(struct nac_stats *s)
{
	free_percpu(s->cpu);
}

static u64 sum(const struct nac_stats *s, size_t offset)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(*(u64 *)((u8 *)per_cpu_ptr(s->cpu, cpu) + offset));
	return n;
}

static u64 count(const struct nac_stats *s, unsigned int which)
{
	return sum(s, offsetof(struct nac_stats_cpu, count) + which * sizeof(u64));
}

/* ---- debugfs ---- */

static void show_kinds(struct seq_file *m, const struct nac_stats *s)
{
	unsigned int i;

	for (i = 0; i < KINDS; i++) {
		seq_printf(m, "%s_requests %llu\n", kind_name[i], count(s, NAC_C_REQUESTS + i));
		seq_printf(m, "%s_total_in_bytes %llu\n", kind_name[i], count(s, NAC_C_IN + i));
		if (i != K_CKSUM)
			seq_printf(m, "%s_total_out_bytes %llu\n", kind_name[i], count(s, NAC_C_OUT + i));
		if (i == K_DECOMP || i == K_DECRYPT || i == K_CKSUM)
			seq_printf(m, "%s %llu\n", fails_name[i / 2], count(s, NAC_C_FAILS + i / 2));
	}
}

static void show(struct seq_file *m, const struct nac_stats *s)
{
	u64 fallbacks = 0;
	unsigned int i;

	show_kinds(m, s);
	for (i = NAC_F_NONE + 1; i <= NAC_F_LAST; i++)
		fallbacks += count(s, i);
	seq_printf(m, "fallback_requests %llu\n", fallbacks);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		seq_printf(m, "%s %llu\n", names[i].name, count(s, names[i].which));
	seq_printf(m, "in_flight %d\n", atomic_read(&s->inflight));
	seq_printf(m, "queued %d\n", atomic_read(&s->queued));
}

static void show_latency(struct seq_file *m, const struct nac_stats *s)
{
	unsigned int i;

	for (i = 0; i < NAC_LAT_BINS; i++)
		seq_printf(m, "%llu %llu\n", i ? 1ull << i : 0ull,
			   sum(s, offsetof(struct nac_stats_cpu, lat) + i * sizeof(u64)));
}

static int total_show(struct seq_file *m, void *v)
{
	show(m, &nac_total);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(total);

static int total_latency_show(struct seq_file *m, void *v)
{
	show_latency(m, &nac_total);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(total_latency);

static void show_lease(struct seq_file *m, struct nac_bind *bind)
{
	u32 slots = 0, usable = 0, epoch = 0, i;
	struct nac_dev *dev;

	mutex_lock(&bind->lock);
	dev = bind->dev;
	for (i = 0; dev && i < dev->nslot; i++) {
		const struct nac_slot *slot = &dev->slots[i];
		u8 step = READ_ONCE(slot->step);

		slots++;
		usable += !READ_ONCE(slot->lost) && step != NAC_SYNC && step != NAC_RESYNC;
	}
	if (dev)
		epoch = dev->lease_epoch;
	mutex_unlock(&bind->lock);
	seq_printf(m, "slots %u\nslots_usable %u\nlease_epoch %u\n", slots, usable, epoch);
}

static int bind_show(struct seq_file *m, void *v)
{
	struct nac_bind *bind = m->private;

	show(m, &bind->stats);
	show_lease(m, bind);
	seq_printf(m, "lease_claims %llu\n", count(&bind->stats, NAC_C_LEASE_CLAIMS));
	seq_printf(m, "lease_losses %llu\n", count(&bind->stats, NAC_C_LEASE_LOSSES));
	seq_printf(m, "reopens %llu\n", count(&bind->stats, NAC_C_REOPENS));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bind);

static int bind_latency_show(struct seq_file *m, void *v)
{
	const struct nac_bind *bind = m->private;

	show_latency(m, &bind->stats);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bind_latency);

/* Without debugfs, or without memory for it, a binding works all the same. */
void nac_stats_show_dir(struct nac_bind *bind)
{
	bind->dir = debugfs_create_dir(config_item_name(&bind->group.cg_item), root);
	debugfs_create_file("stats", 0400, bind->dir, bind, &bind_fops);
	debugfs_create_file("latency", 0400, bind->dir, bind, &bind_latency_fops);
}

/* Waits for those who are reading. */
void nac_stats_hide_dir(struct nac_bind *bind)
{
	debugfs_remove_recursive(bind->dir);
	bind->dir = NULL;
}

int nac_stats_module_init(void)
{
	int ret = nac_stats_init(&nac_total);

	if (ret)
		return ret;
	root = debugfs_create_dir(NAC_NAME, NULL);
	debugfs_create_file("stats", 0400, root, NULL, &total_fops);
	debugfs_create_file("latency", 0400, root, NULL, &total_latency_fops);
	return 0;
}

void nac_stats_module_exit(void)
{
	debugfs_remove_recursive(root);
	nac_stats_free(&nac_total);
}
