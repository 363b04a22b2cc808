// SPDX-License-Identifier: BSD-2-Clause
/* A device handle: opening, what the device says of itself, its counters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api.h"

#define DEV_TIMEOUT_MS 10000

static int id_decode(struct accel_dev *dev, const void *page, struct wire_id *id)
{
	enum wire_err err;

	if (!wire_id_present(page))
		return -ENODEV;
	err = wire_id_decode(id, page);
	if (err == WIRE_OK)
		return 0;
	ctx_log(dev->ctx, ACCEL_LOG_WARNING, "%s: malformed identity: %s", dev->info.path, wire_err_str(err));
	return -EPROTO;
}

int dev_identify(struct accel_dev *dev, struct wire_id *id)
{
	uint8_t *page = malloc(NVME_ACCEL_PAGE);
	int ret;

	if (!page)
		return -ENOMEM;
	ret = dev->ops->identify(dev->tdev, page);
	if (!ret)
		ret = id_decode(dev, page, id);
	free(page);
	return ret;
}

static void info_limits(const struct wire_id *id, struct accel_dev_info *info)
{
	info->nslot = id->nslot;
	info->slots_free = id->slots_free;
	info->nlease = id->nlease;
	info->neng = id->neng;
	info->engdepth = id->engdepth;
	info->block_nbytes = 1u << id->lbadsx;
	info->max_stages = id->maxstage;
	info->max_in = id->maxin;
	info->max_out = id->maxout;
	info->lease_min_ms = id->leasemin_ms;
	info->lease_max_ms = id->leasemax_ms;
	info->hold_max_ms = id->holdmax_ms;
	info->nops = id->nops;
}

void dev_info_from_id(const struct accel_dev *dev, const struct wire_id *id, struct accel_dev_info *info)
{
	if (info != &dev->info) {
		memset(info, 0, sizeof(*info));
		memcpy(info->path, dev->info.path, sizeof(info->path));
		memcpy(info->transport, dev->info.transport, sizeof(info->transport));
		info->numa_node = dev->info.numa_node;
	}
	memcpy(info->name, id->name, sizeof(info->name));
	memcpy(info->uuid, id->uuid, sizeof(info->uuid));
	memcpy(info->implid, id->implid, sizeof(info->implid));
	info->type = id->type;
	info->subtype = id->subtype;
	info->ifmajor = id->ifmajor;
	info->ifminor = id->ifminor;
	info->software = (id->feat & NVME_ACCEL_FEAT_SOFTWARE) != 0;
	info->state = id->state;
	info->implver = id->implver;
	info->feat = id->feat;
	info->boot_id = id->bootid;
	info->build_date = id->build_date;
	memcpy(info->source_id, id->source_id, sizeof(info->source_id));
	info_limits(id, info);
}

static void dev_destroy(struct accel_dev *dev)
{
	if (dev->tdev)
		dev->ops->close(dev->tdev);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

static int dev_setup(struct accel_dev *dev, const char *name)
{
	struct transport_info tinfo;
	int ret = dev->ops->open(&dev->ctx->env, name, &dev->tdev);

	if (ret) {
		dev->tdev = NULL;
		return ret;
	}
	snprintf(dev->info.path, sizeof(dev->info.path), "%s", name);
	transport_get_info(dev->ops, dev->tdev, &tinfo);
	memcpy(dev->info.transport, tinfo.kind, sizeof(dev->info.transport));
	dev->info.numa_node = tinfo.numa_node;
	ret = dev_identify(dev, &dev->id);
	if (!ret)
		dev_info_from_id(dev, &dev->id, &dev->info);
	return ret;
}

int dev_open_name(struct accel_ctx *ctx, const char *name, struct accel_dev **out)
{
	const struct transport_ops *ops = transport_for(name);
	struct accel_dev *dev;
	int ret;

	if (!ops)
		return -EINVAL;
	if (strlen(name) >= sizeof(dev->info.path))
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->handles = dev->refs = 1;
	dev->ctx = ctx;
	dev->ops = ops;
	pthread_mutex_init(&dev->lock, NULL);
	ret = dev_setup(dev, name);
	if (ret) {
		dev_destroy(dev);
		return ret;
	}
	accel_ctx_ref(ctx);
	*out = dev;
	return 0;
}

struct accel_dev *accel_dev_ref(struct accel_dev *dev)
{
	if (dev)
		ref_get(&dev->handles);
	return dev;
}

void dev_get(struct accel_dev *dev)
{
	ref_get(&dev->refs);
}

void dev_put(struct accel_dev *dev)
{
	struct accel_ctx *ctx;

	if (!ref_put(&dev->refs))
		return;
	ctx = dev->ctx;
	ctx_note_fork(ctx);
	if (dev->raw_idle)
		dev->ops->queue_free(dev->raw_idle);
	dev_destroy(dev);
	accel_ctx_unref(ctx);
}

/* The lock and the lease of accel_run() are the handle's, and end with it; they refer to the device. */
void accel_dev_close(struct accel_dev *dev)
{
	if (!dev || !ref_put(&dev->handles))
		return;
	run_pool_free(dev);
	lease_unlock_dev(dev);
	dev_put(dev);
}

const struct accel_dev_info *accel_dev_info(const struct accel_dev *dev)
{
	return dev ? &dev->info : NULL;
}

static void caps_from_op(const struct wire_op *op, struct accel_caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	caps->op = op->op;
	caps->alg = op->alg;
	caps->first = (op->flags & NVME_ACCEL_OPF_FIRST) != 0;
	caps->middle = (op->flags & NVME_ACCEL_OPF_MIDDLE) != 0;
	caps->last = (op->flags & NVME_ACCEL_OPF_LAST) != 0;
	caps->alone = (op->flags & NVME_ACCEL_OPF_ALONE) != 0;
	caps->level_min = op->level_min;
	caps->level_max = op->level_max;
	caps->k_max = op->k_max;
	caps->m_max = op->m_max;
	caps->key_bits_mask = op->key_bits_mask;
	caps->align = op->align;
	caps->min_in = op->min_in;
	caps->granule = op->granule;
	caps->max_in = op->max_in;
	caps->max_out = op->max_out;
	caps->est_mbps = op->est_mbps;
	caps->est_overhead_ns = op->est_overhead_ns;
}

int accel_dev_cap(const struct accel_dev *dev, uint32_t i, struct accel_caps *caps)
{
	if (!dev || !caps)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	if (i >= dev->id.nops)
		return -ERANGE;
	caps_from_op(&dev->id.ops[i], caps);
	return 0;
}

int accel_dev_caps(const struct accel_dev *dev, uint16_t op, uint16_t alg, struct accel_caps *caps)
{
	unsigned int i;

	if (!dev || !caps)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	for (i = 0; i < dev->id.nops; i++) {
		if (dev->id.ops[i].op == op && (!alg || dev->id.ops[i].alg == alg)) {
			caps_from_op(&dev->id.ops[i], caps);
			return 0;
		}
	}
	return -ENOTSUP;
}

int accel_dev_state(struct accel_dev *dev, struct accel_dev_info *info)
{
	struct wire_id *id;
	int ret;

	if (!dev || !info)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	id = malloc(sizeof(*id));
	if (!id)
		return -ENOMEM;
	ret = dev_identify(dev, id);
	if (!ret)
		dev_info_from_id(dev, id, info);
	free(id);
	return ret;
}

#define GET(field) le64_get(&page->field)

static int stats_totals(const struct nvme_accel_stats *page, struct accel_dev_stats *s)
{
	unsigned int i;

	if (memcmp(page->magic, NVME_ACCEL_STATS_MAGIC, 4) != 0 || page->version != 1)
		return -EPROTO;
	s->jobs = GET(jobs);
	s->bytes_in = GET(bytes_in);
	s->bytes_out = GET(bytes_out);
	s->queue_ns = GET(queue_ns);
	s->exec_ns = GET(exec_ns);
	s->uptime_ns = GET(uptime_ns);
	s->lease_grants = GET(lease_grants);
	s->lease_refusals = GET(lease_refusals);
	s->lease_expiries = GET(lease_expiries);
	s->lease_breaks = GET(lease_breaks);
	s->resets = GET(resets);
	s->protocol_errors = GET(protocol_errors);
	s->duplicates = GET(duplicates);
	s->in_place = GET(in_place);
	s->copied = GET(copied);
	for (i = 0; i < NVME_ACCEL_NCODE; i++)
		s->by_code[i] = GET(by_code[i]);
	for (i = 1; i < NVME_ACCEL_NCODE; i++)
		s->errors += s->by_code[i];
	for (i = 0; i < NVME_ACCEL_NLAT; i++)
		s->latency_ns_log2[i] = GET(lat_total[i]);
	return 0;
}

static void stats_ops(const struct accel_dev *dev, const struct nvme_accel_op_stats *op,
		      struct accel_dev_stats *s)
{
	unsigned int i, n = BASE_MIN((unsigned int)dev->id.nops, (unsigned int)NVME_ACCEL_MAX_OPS);

	for (i = 0; i < n && le16_get(&op[i].op); i++) {
		s->op[i].op = le16_get(&op[i].op);
		s->op[i].alg = le16_get(&op[i].alg);
		s->op[i].jobs = le64_get(&op[i].jobs);
		s->op[i].errors = le64_get(&op[i].errors);
		s->op[i].bytes_in = le64_get(&op[i].bytes_in);
		s->op[i].bytes_out = le64_get(&op[i].bytes_out);
		s->op[i].exec_ns = le64_get(&op[i].exec_ns);
	}
	s->nop = i;
}

int accel_dev_stats(struct accel_dev *dev, struct accel_dev_stats *stats)
{
	uint8_t *page;
	int ret;

	if (!dev || !stats)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	if (!(dev->id.feat & NVME_ACCEL_FEAT_STATS))
		return -ENOTSUP;
	page = malloc(2 * NVME_ACCEL_PAGE);
	if (!page)
		return -ENOMEM;
	memset(stats, 0, sizeof(*stats));
	ret = dev_read(dev, dev->id.stats_off, page, 2 * NVME_ACCEL_PAGE, DEV_TIMEOUT_MS);
	if (!ret)
		ret = stats_totals((const void *)page, stats);
	if (!ret)
		stats_ops(dev, (const void *)(page + NVME_ACCEL_STATS_OPS), stats);
	free(page);
	return ret;
}

int accel_dev_reset(struct accel_dev *dev, uint32_t flags)
{
	if (!dev || flags != ACCEL_RESET_YES)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	return dev->ops->reset(dev->tdev);
}
