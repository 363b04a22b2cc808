// SPDX-License-Identifier: BSD-2-Clause
/* By which way a copy goes: the module's slots, the kernel's CMB memory, or ordinary memory and why. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p_priv.h"

static bool provider_wanted(const struct accel_copy *c, const char *address, const char *name)
{
	return !c->o.provider || !strcasecmp(c->o.provider, address) || !strcmp(c->o.provider, name);
}

/* Own memory first: it saves a transfer over the bus. */
static unsigned int preference(const struct accel_copy *c, const char *address)
{
	return !strcmp(address, c->src.ctrl.address) || !strcmp(address, c->dst.ctrl.address);
}

/* ---- The module ---- */

static bool client_ok(struct accel_copy *c, const struct nvme_accel_p2p_provider *p, int fd, const char *name)
{
	struct nvme_accel_p2p_verdict v;
	int ret = p2p_module_verdict(&c->module, p->id, fd, NULL, true, &v);

	if (ret)
		p2p_because(&c->why, 0, "%s and the memory of %s could not be tried: %s", name, p->pci, accel_strerror(ret));
	else if (!v.allowed)
		p2p_because(&c->why, v.reason, "%s and the memory of %s: %s", name, p->pci, v.text);
	return !ret && v.allowed;
}

static bool provider_ok(struct accel_copy *c, const struct nvme_accel_p2p_provider *p, int accel)
{
	return client_ok(c, p, c->src.disk, c->src.name) && client_ok(c, p, c->dst.disk, c->dst.name) &&
	       (accel < 0 || client_ok(c, p, accel, "the accelerator"));
}

/* The best provider; its slots are taken. */
static int find_provider(struct accel_copy *c, int accel)
{
	struct nvme_accel_p2p_provider p;
	unsigned int own, found = 0;
	int ret;

	for (own = 2; own-- > 0;) {
		memset(&p, 0, sizeof(p));
		while (!p2p_module_next(&c->module, &p)) {
			if (preference(c, p.pci) != own || !provider_wanted(c, p.pci, p.ctrl))
				continue;
			found++;
			if (!provider_ok(c, &p, accel))
				continue;
			ret = p2p_kcopy_open(&c->kcopy, &c->module, p.id, c->slot_nbytes, c->o.depth, accel >= 0);
			if (!ret) {
				memcpy(c->provider, p.pci, sizeof(c->provider));
				c->provider_id = p.id;
				return 0;
			}
			p2p_because(&c->why, 0, "no slots in the memory of %s: %s", p.pci, accel_strerror(ret));
		}
	}
	if (!found && c->o.provider)
		p2p_because(&c->why, 0, "%s has no controller memory buffer for data", c->o.provider);
	else if (!found)
		p2p_because(&c->why, 0, "no NVMe controller has a controller memory buffer for data");
	return -EREMOTEIO;
}

static int module_open(struct accel_copy *c)
{
	int ret;

	if (c->module.fd >= 0)
		return 0;
	ret = ctx_p2p_module(c->ctx, &c->module);
	if (!ret)
		return 0;
	if (ret == -EACCES || ret == -EPERM)
		p2p_because(&c->why, 0, "the device file of nvme-accel-p2pdma may not be opened (join the group accel)");
	else if (ret == -EPROTO)
		p2p_because(&c->why, 0, "nvme-accel-p2pdma is of another version than this library");
	else
		p2p_because(&c->why, 0, "nvme-accel-p2pdma is not loaded, and the kernel offers no controller memory (modprobe "
			    "nvme-accel-p2pdma)");
	return -EREMOTEIO;
}

int copy_way_module(struct accel_copy *c, int accel)
{
	int ret = module_open(c);

	if (!ret)
		ret = p2p_end_disk(&c->where, &c->src, &c->why);
	if (!ret)
		ret = p2p_end_disk(&c->where, &c->dst, &c->why);
	if (!ret)
		ret = find_provider(c, accel);
	if (!ret)
		c->tier = ACCEL_P2P_TIER_SLOTS;
	return ret;
}

int copy_map(struct accel_copy *c)
{
	struct p2p_piece *src = NULL, *dst = NULL;
	uint64_t src_nbytes = c->src.nbytes, dst_nbytes = c->dst.nbytes;
	size_t nsrc, ndst;
	int ret;

	c->src.nbytes = c->dst.nbytes = c->main_nbytes;
	ret = p2p_end_map(&c->src, &src, &nsrc, &c->why);
	if (!ret)
		ret = p2p_end_map(&c->dst, &dst, &ndst, &c->why);
	c->src.nbytes = src_nbytes;
	c->dst.nbytes = dst_nbytes;
	if (!ret)
		ret = p2p_extents_join(src, nsrc, dst, ndst, c->module.info.max_extents, &c->extents, &c->nextents);
	if (ret == -E2BIG) {
		p2p_because(&c->why, 0, "the files are in too many pieces");
		ret = -EREMOTEIO;
	}
	free(src);
	free(dst);
	return ret;
}

/* ---- The kernel's memory, by direct I/O ---- */

static bool reaches(struct accel_copy *c, const struct p2p_ctrl *provider, const struct p2p_end *e)
{
	struct p2p_chain ca, cb;
	struct p2p_verdict v;

	if (ctx_p2p_judge(c->ctx, provider, &e->ctrl, &ca, &cb, &v)) {
		p2p_because(&c->why, 0, "sysfs does not show where %s is", e->name);
		return false;
	}
	if (v.answer == P2P_YES)
		return true;
	p2p_because(&c->why, v.reason, "%s and the memory of %s: %s", e->name, provider->address, v.why);
	return false;
}

/* The kernel has the last word over each device: a block of both is read into the memory. */
static bool tried(struct accel_copy *c, const struct p2p_end *e)
{
	ssize_t n = pread(e->fd, c->map, e->block, (off_t)e->off);

	if (n == (ssize_t)e->block)
		return true;
	p2p_because(&c->why, NVME_ACCEL_P2P_R_KERNEL, "%s: the kernel does not read it into controller memory: %s", e->name,
		    n < 0 ? accel_strerror(-errno) : "it is too short");
	return false;
}

static int try_provider(void *arg, const struct p2p_ctrl *ctrl)
{
	struct accel_copy *c = arg;
	int ret;

	if (!ctrl->kernel || !provider_wanted(c, ctrl->address, ctrl->name) || !reaches(c, ctrl, &c->src) ||
	    !reaches(c, ctrl, &c->dst))
		return 0;
	/* What is not free now may be less than the whole depth. */
	while (c->o.depth > 4 && (uint64_t)c->o.chunk_nbytes * c->o.depth > ctrl->kernel_free)
		c->o.depth /= 2;
	while (c->o.chunk_nbytes > 65536 && !(c->o.chunk_nbytes / 2 % 65536) &&
	       (uint64_t)c->o.chunk_nbytes * c->o.depth > ctrl->kernel_free)
		c->o.chunk_nbytes /= 2;
	c->map_nbytes = (size_t)c->o.chunk_nbytes * c->o.depth;
	ret = p2p_kernel_map(&c->where, ctrl->address, c->map_nbytes, &c->map);
	if (ret) {
		p2p_because(&c->why, 0, "no room in the memory of %s: %s", ctrl->address, accel_strerror(ret));
		c->map = NULL;
		return 0;
	}
	if (tried(c, &c->src) && tried(c, &c->dst)) {
		memcpy(c->provider, ctrl->address, sizeof(c->provider));
		c->tier = ACCEL_P2P_TIER_KERNEL;
		return 1;
	}
	munmap(c->map, c->map_nbytes);
	c->map = NULL;
	return 0;
}

static bool can_be_direct(struct accel_copy *c, const struct p2p_end *e)
{
	if (e->no_peer.text[0]) {
		c->why = e->no_peer;
		return false;
	}
	if (e->direct && !(e->off & (e->block - 1)))
		return true;
	p2p_because(&c->why, 0, "%s: no direct I/O at that place", e->name);
	return false;
}

int copy_way_kernel(struct accel_copy *c)
{
	int ret;

	if (!can_be_direct(c, &c->src) || !can_be_direct(c, &c->dst))
		return -EREMOTEIO;
	ret = p2p_ctrl_each(c->where.sysfs, try_provider, c);
	return ret < 0 ? ret : ret ? 0 : -EREMOTEIO;
}
