// SPDX-License-Identifier: BSD-2-Clause
/* Copies: from the way that is chosen to the end, and to memory where a way ends before. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p_priv.h"

/* ---- Ways ---- */

static int ring_start(struct accel_copy *c, uint64_t from, uint64_t nbytes)
{
	struct p2p_ring_opts o = {
		.src = &c->src, .dst = &c->dst, .from = from, .nbytes = nbytes,
		.chunk = c->o.chunk_nbytes, .depth = c->o.depth, .mem = c->mode == COPY_KERNEL ? c->map : NULL,
	};

	return p2p_ring_new(&o, &c->ring);
}

void copy_leave_way(struct accel_copy *c)
{
	p2p_ring_free(c->ring);
	c->ring = NULL;
	if (c->module.fd >= 0) {
		p2p_kcopy_close(&c->kcopy);
		p2p_module_close(&c->module);
	}
	if (c->map)
		munmap(c->map, c->map_nbytes);
	c->map = NULL;
	free(c->extents);
	c->extents = NULL;
	c->provider[0] = '\0';
	c->tier = ACCEL_P2P_TIER_NONE;
	p2p_end_release(&c->src);
	p2p_end_release(&c->dst);
}

static int memory_start(struct accel_copy *c)
{
	copy_leave_way(c);
	if (c->o.flags & ACCEL_COPY_NO_FALLBACK)
		return -EREMOTEIO;
	c->mode = COPY_MEMORY;
	c->p2p_nbytes = 0;
	return ring_start(c, 0, c->src.nbytes);
}

static int module_start(struct accel_copy *c)
{
	uint32_t mask = (c->src.block > c->dst.block ? c->src.block : c->dst.block) - 1;
	int ret;

	c->main_nbytes = c->src.nbytes & ~(uint64_t)mask;
	if ((c->src.off | c->dst.off) & mask || !c->main_nbytes) {
		p2p_because(&c->why, 0, "%s", c->main_nbytes ? "the offsets are no whole blocks" : "it is less than a block");
		return -EREMOTEIO;
	}
	ret = copy_way_module(c, -1);
	if (!ret)
		ret = copy_map(c);
	if (!ret)
		ret = p2p_kcopy_start(&c->kcopy, c->src.disk, c->dst.disk, c->extents, c->nextents, 0);
	if (!ret)
		c->mode = COPY_MODULE;
	else if (ret != -ENOMEM && ret != -EREMOTEIO) {
		p2p_because(&c->why, 0, "the module does not start the copy: %s", accel_strerror(ret));
		ret = -EREMOTEIO;
	}
	return ret;
}

static int kernel_start(struct accel_copy *c)
{
	uint32_t mask = BASE_MAX(c->src.block, c->dst.block) - 1;
	int ret;

	/* What is no whole block goes through memory: the page cache must not be filled from a controller's memory. */
	c->main_nbytes = c->src.nbytes & ~(uint64_t)mask;
	if (!c->main_nbytes) {
		p2p_because(&c->why, 0, "it is less than a block");
		return -EREMOTEIO;
	}
	ret = copy_way_kernel(c);
	if (!ret) {
		c->mode = COPY_KERNEL;
		ret = ring_start(c, 0, c->main_nbytes);
	}
	return ret;
}

/* Whether the kernel itself offers memory anywhere. */
static int is_kernels(void *arg, const struct p2p_ctrl *ctrl)
{
	(void)arg;
	return ctrl->kernel;
}

/*
 * What the module does not do the kernel may: by direct I/O, which a file's own file system carries out. If it does not, the
 * module's reason is the better one.
 */
static int try_kernel(struct accel_copy *c)
{
	struct p2p_why why = c->why;
	bool asked = c->module.fd >= 0;
	uint32_t depth = c->o.depth;
	int ret;

	copy_leave_way(c);
	ret = kernel_start(c);
	if (ret == -EREMOTEIO && asked)
		c->why = why;
	if (ret)
		c->o.depth = depth;
	return ret;
}

static int choose(struct accel_copy *c)
{
	int ret;

	if (c->o.flags & ACCEL_COPY_MEMORY) {
		p2p_because(&c->why, 0, "as it was asked for");
		return memory_start(c);
	}
	ret = module_start(c);
	if (ret == -EREMOTEIO && p2p_ctrl_each(c->where.sysfs, is_kernels, NULL) == 1)
		ret = try_kernel(c);
	return ret == -EREMOTEIO ? memory_start(c) : ret;
}

int accel_copy_start(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
		     const struct accel_copy_opts *opts, struct accel_copy **copy, struct accel_copy_info *info)
{
	struct accel_copy *c = NULL;
	int ret;

	if (!copy || (info && info->size != sizeof(*info)))
		return -EINVAL;
	ret = copy_new(ctx, src, dst, opts, false, &c);
	if (!ret)
		ret = choose(c);
	return copy_started(c, ret, copy, info);
}

/* ---- Work ---- */

static uint64_t total(const struct accel_copy *c)
{
	return c->src.nbytes;
}

void copy_tell(const struct accel_copy *c, struct accel_copy_info *info)
{
	uint64_t ring = c->ring ? p2p_ring_done(c->ring) : 0;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->tier = c->tier;
	info->total_nbytes = total(c);
	info->p2p_nbytes = c->p2p_nbytes + (c->mode == COPY_KERNEL ? ring : 0);
	if (c->mode == COPY_MODULE && c->kcopy.job)
		info->p2p_nbytes += c->kcopy.last.bytes_done;
	info->memory_nbytes = c->memory_nbytes + (c->mode == COPY_KERNEL ? 0 : ring);
	info->done_nbytes = c->jobs ? c->main_nbytes : info->p2p_nbytes + info->memory_nbytes;
	info->out_nbytes = c->jobs ? c->out_nbytes : info->done_nbytes;
	info->jobs = c->njobs;
	info->elapsed_ns = (c->ended_ns ? c->ended_ns : api_now_ns()) - c->begun_ns;
	info->reason = c->why.reason;
	info->error = c->result < 0 ? c->result : 0;
	memcpy(info->provider, c->provider, sizeof(info->provider));
	if (!c->tier || info->error)
		memcpy(info->why, c->why.text, sizeof(info->why));
}

int copy_started(struct accel_copy *c, int ret, struct accel_copy **copy, struct accel_copy_info *info)
{
	if (c && info) {
		copy_tell(c, info);
		info->error = ret;
	}
	if (ret)
		accel_copy_free(c);
	else
		*copy = c;
	return ret;
}

static int tail_start(struct accel_copy *c)
{
	p2p_ring_free(c->ring);
	c->ring = NULL;
	c->p2p_nbytes = c->main_nbytes;
	p2p_end_written(&c->dst);
	c->mode = COPY_MEMORY;
	if (c->main_nbytes == c->src.nbytes)
		return 1;
	return ring_start(c, c->main_nbytes, c->src.nbytes - c->main_nbytes);
}

/* What the module's job ended with, and what is done about it. */
static int module_ended(struct accel_copy *c, int ret)
{
	if (ret == 1)
		return tail_start(c);
	if (c->cancelled || c->timed_out)
		return ret;
	if (ret == -ESTALE && !c->again) {
		c->again = true;
		return p2p_kcopy_start(&c->kcopy, c->src.disk, c->dst.disk, c->extents, c->nextents, 0);
	}
	if (c->wanted)
		p2p_because(&c->why, 0, "somebody else opened %s meanwhile", p2p_end_wanted(&c->src) ? c->src.name : c->dst.name);
	else if (ret == -EOPNOTSUPP)
		p2p_because(&c->why, NVME_ACCEL_P2P_R_SELFTEST, "a transfer did not arrive: the devices do not reach each other");
	else if (ret == -ESTALE)
		p2p_because(&c->why, 0, "a controller reset turned the memory of %s off, twice", c->provider);
	else if (ret == -ENODEV)
		p2p_because(&c->why, 0, "the controller of the memory is gone");
	else
		return ret;
	ret = memory_start(c);
	return ret == -EREMOTEIO && c->wanted ? -EBUSY : ret;
}

static int module_step(struct accel_copy *c, int timeout_ms)
{
	int ms = c->src.leased || c->dst.leased ? BASE_MIN(timeout_ms, P2P_LOOK_MS) : timeout_ms, ret;

	if (!c->wanted && (p2p_end_wanted(&c->src) || p2p_end_wanted(&c->dst))) {
		c->wanted = true;
		p2p_kcopy_cancel(&c->kcopy);
	}
	ret = p2p_kcopy_step(&c->kcopy, ms);
	return ret ? module_ended(c, ret) : 0;
}

static int ring_step(struct accel_copy *c, int timeout_ms)
{
	int ret = p2p_ring_step(c->ring, timeout_ms);

	if (c->mode == COPY_KERNEL && ret == 1)
		return tail_start(c);
	if (c->mode != COPY_KERNEL || (ret != -EREMOTEIO && ret != -EOPNOTSUPP))
		return ret;
	p2p_because(&c->why, NVME_ACCEL_P2P_R_KERNEL, "the kernel does not transfer between these devices");
	return memory_start(c);
}

static int step(struct accel_copy *c, int timeout_ms)
{
	if (c->jobs)
		return copy_jobs_step(c, timeout_ms);
	return c->mode == COPY_MODULE ? module_step(c, timeout_ms) : ring_step(c, timeout_ms);
}

static void stop(struct accel_copy *c)
{
	if (c->jobs)
		copy_jobs_cancel(c);
	else if (c->mode == COPY_MODULE)
		p2p_kcopy_cancel(&c->kcopy);
	else if (c->ring)
		p2p_ring_cancel(c->ring);
}

/* What devices wrote behind a file system's back is for the disk to flush. */
int copy_flush(const struct accel_copy *c)
{
	if (!(c->o.flags & ACCEL_COPY_SYNC))
		return 0;
	if (fdatasync(c->dst.plain) || (c->dst.disk >= 0 && fdatasync(c->dst.disk)))
		return -errno;
	return 0;
}

static void ended(struct accel_copy *c, int ret)
{
	if (ret == 1)
		ret = copy_flush(c);
	if (c->timed_out && ret == -ECANCELED)
		ret = -ETIMEDOUT;
	if (ret && !c->why.text[0])
		p2p_because(&c->why, 0, "%s", accel_strerror(ret));
	else if (ret && ret != -EREMOTEIO)
		p2p_because(&c->why, c->why.reason, "%s", accel_strerror(ret));
	c->result = ret;
	c->ended_ns = api_now_ns();
}

int accel_copy_wait(struct accel_copy *c, int timeout_ms, struct accel_copy_info *info)
{
	uint64_t deadline = api_deadline(timeout_ms);
	int ret = 0, left;

	if (!c || (info && info->size != sizeof(*info)))
		return -EINVAL;
	if (ctx_stale(c->ctx))
		return -ESTALE;
	while (c->result == 1 && !ret) {
		if (api_now_ns() >= c->deadline_ns && !c->timed_out) {
			c->timed_out = true;
			stop(c);
		}
		left = api_left_ms(BASE_MIN(deadline, c->timed_out ? UINT64_MAX : c->deadline_ns));
		ret = step(c, left < 0 ? 1000 : left);
		if (ret)
			ended(c, ret);
		else if (api_left_ms(deadline) == 0)
			ret = -EAGAIN;
	}
	if (info)
		copy_tell(c, info);
	return c->result == 1 ? -EAGAIN : c->result;
}

int accel_copy_cancel(struct accel_copy *c)
{
	if (!c)
		return -EINVAL;
	if (ctx_stale(c->ctx))
		return -ESTALE;
	c->cancelled = true;
	stop(c);
	return 0;
}

void accel_copy_free(struct accel_copy *c)
{
	if (!c)
		return;
	if (!ctx_stale(c->ctx))
		stop(c);
	copy_jobs_free(c);
	copy_leave_way(c);
	p2p_end_close(&c->src);
	p2p_end_close(&c->dst);
	free(c->src_name);
	free(c->dst_name);
	accel_ctx_unref(c->ctx);
	free(c);
}

int accel_copy_range(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
		     const struct accel_copy_opts *opts, struct accel_copy_info *info)
{
	struct accel_copy *c;
	int ret = accel_copy_start(ctx, src, dst, opts, &c, info);

	if (ret)
		return ret;
	ret = accel_copy_wait(c, -1, info);
	accel_copy_free(c);
	return ret;
}
