// SPDX-License-Identifier: BSD-2-Clause
/* Buffers in a controller's memory, by what the kernel offers: its own p2pmem, or a set of slots that may be mapped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p_priv.h"

int p2p_kernel_map(const struct p2p_where *where, const char *address, size_t nbytes, void **p)
{
	char path[PATH_MAX];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/p2pmem/allocate", where->sysfs, address);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*p == MAP_FAILED)
		ret = errno == ENOMEM ? -ENOSPC : -errno;
	close(fd);
	return ret;
}

struct search {
	struct accel_ctx *ctx;
	const struct p2p_ctrl *client;
	size_t nbytes;
	void **p;
	int ret;			/* of the last provider that could be */
};

/* The kernel's own: by what sysfs shows of the way. */
static int try_kernel(void *arg, const struct p2p_ctrl *ctrl)
{
	struct search *s = arg;
	struct p2p_where w = ctx_p2p_where(s->ctx);
	struct p2p_chain ca, cb;
	struct p2p_verdict v;

	if (!ctrl->kernel || ctx_p2p_judge(s->ctx, ctrl, s->client, &ca, &cb, &v) || v.answer != P2P_YES)
		return 0;
	s->ret = p2p_kernel_map(&w, ctrl->address, s->nbytes, s->p);
	return s->ret ? 0 : 1;
}

static int map_set(struct p2p_module *m, uint32_t provider, size_t nbytes, void **p)
{
	struct nvme_accel_p2p_alloc a = { .provider = provider, .nr_slots = 1, .slot_bytes = nbytes };
	int ret = p2p_module_call(m, NVME_ACCEL_P2P_ALLOC, &a);

	if (ret)
		return ret;
	*p = m->sys->map(m->fd, a.mmap_offset, nbytes);
	return *p ? 0 : -errno;
}

static int try_module(struct accel_ctx *ctx, const struct p2p_ctrl *client, size_t nbytes, void **p, int *fd)
{
	struct nvme_accel_p2p_provider pr = { 0 };
	struct nvme_accel_p2p_verdict v;
	struct p2p_module m;
	int ret = ctx_p2p_module(ctx, &m), best = -ENOTSUP;

	if (ret)
		return ret == -EACCES ? ret : -ENOTSUP;
	while (!p2p_module_next(&m, &pr)) {
		if (p2p_module_verdict(&m, pr.id, -1, client->address, false, &v) || !v.allowed)
			continue;
		/* There is memory, and it gives no pointers to it. */
		best = m.info.features & NVME_ACCEL_P2P_FEAT_MMAP ? map_set(&m, pr.id, nbytes, p) : -EADDRNOTAVAIL;
		if (best)
			continue;
		/* The set lives as long as the file. */
		*fd = m.fd;
		return 0;
	}
	p2p_module_close(&m);
	return best;
}

int p2p_buf_map(struct accel_ctx *ctx, struct accel_dev *dev, size_t nbytes, void **p, size_t *mapped, int *fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct p2p_where w = ctx_p2p_where(ctx);
	struct p2p_ctrl client;
	unsigned int reason;
	struct search s = { ctx, &client, 0, p, -ENOTSUP };
	int ret;

	if (p2p_ctrl_find(w.sysfs, dev->info.path, &client, &reason))
		return -ENOTSUP;
	*fd = -1;
	*mapped = s.nbytes = (nbytes + page - 1) / page * page;
	ret = p2p_ctrl_each(w.sysfs, try_kernel, &s);
	if (ret < 0)
		return ret;
	if (ret == 1)
		return 0;
	if (s.ret != -ENOTSUP)
		return s.ret;
	ret = try_module(ctx, &client, s.nbytes, p, fd);
	if (ret == -EADDRNOTAVAIL)
		ctx_log(ctx, ACCEL_LOG_ERROR, "%s: this kernel gives slots of controller memory and no pointers to it; use "
			"accel_copy_range() or accel_run_range()", dev->info.path);
	return ret;
}

void p2p_buf_close(struct accel_ctx *ctx, int fd)
{
	(ctx->p2p ? ctx->p2p : &p2p_system)->close(fd);
}
