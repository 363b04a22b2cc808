// SPDX-License-Identifier: BSD-2-Clause
/* Who may exchange data with whom, and who offers memory for it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "p2p_priv.h"

#define MODULE_NODE "nvme-accel-p2p"

struct p2p_where ctx_p2p_where(const struct accel_ctx *ctx)
{
	return (struct p2p_where){ ctx->sysfs ? ctx->sysfs : "/sys", ctx->devdir ? ctx->devdir : "/dev" };
}

int ctx_p2p_module(struct accel_ctx *ctx, struct p2p_module *m)
{
	struct p2p_where w = ctx_p2p_where(ctx);
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", w.devdir, MODULE_NODE) >= (int)sizeof(path)) {
		m->fd = -1;
		return -ENOENT;
	}
	return p2p_module_open(m, ctx->p2p ? ctx->p2p : &p2p_system, path);
}

/* ---- Controllers ---- */

static void ctrl_public(const struct p2p_ctrl *c, struct accel_p2p_ctrl *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->name, c->name, sizeof(out->name));
	memcpy(out->address, c->address, sizeof(out->address));
	memcpy(out->model, c->model, sizeof(out->model));
	out->cmb_nbytes = c->cmb_nbytes;
	out->cmb_flags = (c->cmb_read ? ACCEL_P2P_CMB_READ : 0) | (c->cmb_write ? ACCEL_P2P_CMB_WRITE : 0);
	if (c->kernel) {
		out->tier = ACCEL_P2P_TIER_KERNEL;
		out->free_nbytes = c->kernel_free;
	}
}

/* What the module knows better: it has read the registers. */
static void ctrl_of_module(const struct p2p_module *m, struct accel_p2p_ctrl *c)
{
	struct nvme_accel_p2p_provider p;

	if (p2p_module_provider(m, c->address, &p))
		return;
	c->cmb_nbytes = c->cmb_nbytes ? c->cmb_nbytes : p.size;
	c->free_nbytes = p.free;
	c->cmb_flags |= ACCEL_P2P_CMB_READ | ACCEL_P2P_CMB_WRITE;
	c->cmb_flags |= p.kind == NVME_ACCEL_P2P_KIND_LEGACY ? ACCEL_P2P_CMB_LEGACY :
			p.kind == NVME_ACCEL_P2P_KIND_1_4 ? ACCEL_P2P_CMB_1_4 : 0;
	c->cmb_flags |= p.state == NVME_ACCEL_P2P_LOST ? ACCEL_P2P_CMB_LOST : 0;
	c->tier = m->info.tier >= 1 && m->info.tier <= 3 ? m->info.tier : ACCEL_P2P_TIER_SLOTS;
	c->in_nbytes = p.bytes_in;
	c->out_nbytes = p.bytes_out;
	c->memory_nbytes = p.bytes_memory;
	c->losses = p.losses;
}

struct listing {
	struct accel_p2p_ctrl *ctrls;
	unsigned int max, n;
	const struct p2p_module *m;
};

static int list_one(void *arg, const struct p2p_ctrl *ctrl)
{
	struct listing *l = arg;

	if (l->n < l->max) {
		ctrl_public(ctrl, &l->ctrls[l->n]);
		ctrl_of_module(l->m, &l->ctrls[l->n]);
	}
	l->n++;
	return 0;
}

int accel_p2p_ctrls(struct accel_ctx *ctx, struct accel_p2p_ctrl *ctrls, unsigned int max)
{
	struct p2p_module m;
	struct listing l = { ctrls, max, 0, &m };
	int ret;

	if (!ctx || (max && !ctrls))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	ctx_p2p_module(ctx, &m);
	ret = p2p_ctrl_each(ctx_p2p_where(ctx).sysfs, list_one, &l);
	p2p_module_close(&m);
	return ret ? ret : (int)l.n;
}

/* ---- Why ---- */

int ctx_p2p_judge(struct accel_ctx *ctx, const struct p2p_ctrl *a, const struct p2p_ctrl *b, struct p2p_chain *ca,
		  struct p2p_chain *cb, struct p2p_verdict *v)
{
	struct p2p_where w = ctx_p2p_where(ctx);
	char cpuinfo[PATH_MAX];
	int ret;

	/* With a root of its own the tree has its own processor, too. */
	snprintf(cpuinfo, sizeof(cpuinfo), "%s/../proc/cpuinfo", w.sysfs);
	ret = p2p_chain_read(w.sysfs, a->address, ca);
	if (!ret)
		ret = p2p_chain_read(w.sysfs, b->address, cb);
	if (!ret)
		p2p_judge(ca, cb, a->kernel || b->kernel, p2p_host_known(w.sysfs, cpuinfo, ca), v);
	return ret;
}

static void add_hop(struct accel_p2p_path *path, const struct p2p_pci *pci, uint8_t side)
{
	struct accel_p2p_hop *h = &path->hop[path->nhop++];

	memcpy(h->address, pci->address, sizeof(h->address));
	memcpy(h->iommu, pci->iommu_type, sizeof(h->iommu));
	h->iommu_group = pci->iommu_group;
	h->vendor = pci->vendor;
	h->device = pci->device;
	h->acs_ctl = pci->acs_ctl;
	h->acs = (uint8_t)pci->acs;
	h->port = (uint8_t)pci->port;
	h->side = side;
}

static void add_hops(struct accel_p2p_path *path, const struct p2p_chain *a, const struct p2p_chain *b,
		     unsigned int common)
{
	unsigned int i;

	snprintf(path->host, sizeof(path->host), "%s", a->host);
	for (i = 0; i < common; i++)
		add_hop(path, &a->at[i], 0);
	for (i = common; i < a->n; i++)
		add_hop(path, &a->at[i], 1);
	for (i = common; i < b->n; i++)
		add_hop(path, &b->at[i], 2);
}

static const char *no_ctrl(unsigned int reason)
{
	switch (reason) {
	case NVME_ACCEL_P2P_R_FABRIC:
		return "is NVMe, but not on PCI";
	case NVME_ACCEL_P2P_R_MULTIPATH:
		return "is reached by several controllers, and which one may change";
	case NVME_ACCEL_P2P_R_NO_DEVICE:
		return "is no PCI device with an NVMe controller";
	default:
		return "is no NVMe namespace";
	}
}

/* The controller of a name, or a refusal in *path (returned 1). */
static int why_ctrl(struct accel_ctx *ctx, const char *name, struct p2p_ctrl *ctrl, struct accel_p2p_path *path)
{
	unsigned int reason;
	int ret = p2p_ctrl_find(ctx_p2p_where(ctx).sysfs, name, ctrl, &reason);

	if (ret != -ENODEV)
		return ret;
	path->answer = ACCEL_P2P_NO;
	path->reason = reason;
	snprintf(path->why, sizeof(path->why), "%s %s", name, no_ctrl(reason));
	if (reason == NVME_ACCEL_P2P_R_MULTIPATH)
		snprintf(path->way_out, sizeof(path->way_out), "load nvme_core with multipath=N");
	return 1;
}

/* A node is given opened, because blocks have properties that its controller does not show. */
static int open_node(const struct accel_ctx *ctx, const char *name)
{
	char path[PATH_MAX];

	if (p2p_is_address(name))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", ctx_p2p_where(ctx).devdir, strncmp(name, "/dev/", 5) ? name : name + 5);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void ask_module(struct accel_ctx *ctx, const struct p2p_module *m, uint32_t provider, const char *client,
		       const char *address, struct accel_p2p_path *path)
{
	struct nvme_accel_p2p_verdict v;
	int fd = open_node(ctx, client), ret;

	ret = p2p_module_verdict(m, provider, fd, address, false, &v);
	/* A controller's character device is none that the module takes. */
	if (fd >= 0 && (ret || (!v.allowed && v.reason == NVME_ACCEL_P2P_R_NOT_BLOCK)))
		ret = p2p_module_verdict(m, provider, -1, address, false, &v);
	if (fd >= 0)
		close(fd);
	if (ret)
		return;
	path->by_module = 1;
	path->answer = v.allowed ? ACCEL_P2P_YES : ACCEL_P2P_NO;
	path->reason = v.reason;
	path->selftest = v.selftest;
	/* The way out that was found before fits only the same refusal. */
	if (!v.text[0])
		return;
	snprintf(path->why, sizeof(path->why), "%s", v.text);
	path->way_out[0] = '\0';
}

static void why_module(struct accel_ctx *ctx, const char *a, const char *b, struct accel_p2p_path *path)
{
	struct nvme_accel_p2p_provider p;
	struct p2p_module m;

	if (ctx_p2p_module(ctx, &m))
		return;
	ctrl_of_module(&m, &path->a);
	ctrl_of_module(&m, &path->b);
	if (!p2p_module_provider(&m, path->a.address, &p))
		ask_module(ctx, &m, p.id, b, path->b.address, path);
	else if (!p2p_module_provider(&m, path->b.address, &p))
		ask_module(ctx, &m, p.id, a, path->a.address, path);
	p2p_module_close(&m);
}

static int why_pair(struct accel_ctx *ctx, const char *a, const char *b, struct accel_p2p_path *path)
{
	struct p2p_ctrl ctrl_a, ctrl_b;
	struct p2p_chain ca, cb;
	struct p2p_verdict v;
	int ret;

	ret = why_ctrl(ctx, a, &ctrl_a, path);
	if (!ret)
		ret = why_ctrl(ctx, b, &ctrl_b, path);
	if (!ret)
		ret = ctx_p2p_judge(ctx, &ctrl_a, &ctrl_b, &ca, &cb, &v);
	if (ret)
		return ret == 1 ? 0 : ret;
	ctrl_public(&ctrl_a, &path->a);
	ctrl_public(&ctrl_b, &path->b);
	path->answer = v.answer;
	path->reason = v.reason;
	memcpy(path->why, v.why, sizeof(path->why));
	memcpy(path->way_out, v.way_out, sizeof(path->way_out));
	add_hops(path, &ca, &cb, v.common);
	why_module(ctx, a, b, path);
	return 0;
}

int accel_p2p_why(struct accel_ctx *ctx, const char *a, const char *b, struct accel_p2p_path *path)
{
	if (!ctx || !a || !b || !path || path->size != sizeof(*path))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	memset(path, 0, sizeof(*path));
	path->size = sizeof(*path);
	return why_pair(ctx, a, b, path);
}
