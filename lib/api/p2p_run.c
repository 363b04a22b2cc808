// SPDX-License-Identifier: BSD-2-Clause
/* One job whose input and output are ranges of devices or files. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p_exec.h"

struct run {
	struct accel_copy *c;
	struct accel_dev *dev;
	const struct accel_plan *plan;
	const struct accel_params *params;
	struct accel_result *result;
	uint64_t out_max, deadline;
};

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- By peers ---- */

static int wait_peers(struct run *r, struct exec *x)
{
	int ret = 0;

	while (!ret) {
		int left = api_left_ms(r->deadline);

		if (!left)
			exec_cancel(x, &r->c->module);
		ret = exec_step(x, &r->c->module, left > 0 ? BASE_MIN(left, 1000) : 1000, r->result);
	}
	if (ret == -ECANCELED)
		return -ETIMEDOUT;
	return ret == 1 ? 0 : ret;
}

/* Where a range begins on its disk; a job takes no range in several pieces. */
static int find_start(struct accel_copy *c, struct p2p_end *e, uint64_t *phys)
{
	struct p2p_piece *piece = NULL;
	size_t n = 0;
	int ret;

	if (e->off & (e->block - 1)) {
		p2p_because(&c->why, 0, "%s: the offset is no whole block", e->name);
		return -EREMOTEIO;
	}
	ret = p2p_end_map(e, &piece, &n, &c->why);
	if (!ret && n != 1) {
		p2p_because(&c->why, 0, "%s is in %zu pieces, and a job takes one", e->name, n);
		ret = -EREMOTEIO;
	}
	if (!ret)
		*phys = piece->phys;
	free(piece);
	return ret;
}

static int find_places(struct run *r, struct exec_job *job)
{
	struct accel_copy *c = r->c;
	int ret;

	if (c->src.is_block && c->src.nbytes % r->dev->info.block_nbytes) {
		p2p_because(&c->why, 0, "%s: the length is no multiple of the accelerator's blocks", c->src.name);
		return -EREMOTEIO;
	}
	if (!c->dst.nbytes && c->dst.size > c->dst.off)
		c->dst.nbytes = c->dst.size - c->dst.off;
	/* No more of it than the output can need has to be in place. */
	if (c->dst.nbytes > up(r->out_max, c->dst.block))
		c->dst.nbytes = up(r->out_max, c->dst.block);
	ret = find_start(c, &c->src, &job->src_off);
	if (!ret)
		ret = find_start(c, &c->dst, &job->dst_off);
	job->dst_max = c->dst.nbytes;
	return ret;
}

static int job_peers(struct run *r, struct exec *x)
{
	struct accel_copy *c = r->c;
	int left = api_left_ms(r->deadline), ret;
	struct exec_job job = {
		.plan = r->plan, .params = r->params, .in_len = c->src.nbytes, .out_max = r->out_max,
		.timeout_ms = left > 0 ? left : 30000,
	};

	ret = find_places(r, &job);
	if (ret)
		return ret;
	c->o.depth = 1;
	c->slot_nbytes = (uint32_t)exec_slot_nbytes(x, job.in_len, job.out_max);
	ret = copy_way_module(c, x->fd);
	if (!ret) {
		job.dst_max &= ~(uint64_t)(c->dst.disk_block - 1);
		ret = exec_start(x, c, &job);
	}
	return ret ? ret : wait_peers(r, x);
}

static int peers(struct run *r)
{
	struct accel_copy *c = r->c;
	uint64_t dst_nbytes = c->dst.nbytes;
	struct exec x;
	int ret = exec_open(&x, r->dev, api_left_ms(r->deadline), &c->why);

	if (!ret)
		ret = job_peers(r, &x);
	exec_close(&x, &c->module);
	if (!ret) {
		c->p2p_nbytes = c->src.nbytes + r->result->out_len;
		p2p_end_written(&c->dst);
	} else if (ret != -EREMOTEIO && ret != -ETIMEDOUT && ret != -ENOMEM) {
		p2p_because(&c->why, 0, "the job between the devices failed: %s", accel_strerror(ret));
		ret = -EREMOTEIO;
	}
	c->dst.nbytes = dst_nbytes;
	return ret;
}

/* ---- Through memory ---- */

static int read_all(const struct p2p_end *e, uint8_t *p)
{
	bool whole = e->direct && !(e->off & (e->block - 1));
	uint64_t done = 0;
	ssize_t ret;

	while (done < e->nbytes) {
		uint64_t n = e->nbytes - done;

		ret = pread(whole ? e->fd : e->plain, p + done, whole ? up(n, e->block) : n, (off_t)(e->off + done));
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -ENODATA;
		done += BASE_MIN((uint64_t)ret, n);
		/* A part that is no whole block is the end of a file. */
		whole = whole && !(done & (e->block - 1));
	}
	return 0;
}

static int write_all(const struct p2p_end *e, uint8_t *p, uint64_t n)
{
	uint64_t len = e->is_block ? up(n, e->block) : n, done = 0;
	bool whole = e->direct && !((e->off | len) & (e->block - 1));
	ssize_t ret;

	memset(p + n, 0, len - n);
	while (done < len) {
		ret = pwrite(whole ? e->fd : e->plain, p + done, len - done, (off_t)(e->off + done));
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -ENOSPC;
		done += (uint64_t)ret;
	}
	return 0;
}

static int memory(struct run *r)
{
	struct accel_copy *c = r->c;
	size_t in = (size_t)up(c->src.nbytes + 1, 65536), out = (size_t)up(r->out_max + 1, 65536);
	uint8_t *p = mmap(NULL, in + out, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (p == MAP_FAILED)
		return -ENOMEM;
	copy_leave_way(c);
	c->mode = COPY_MEMORY;
	ret = read_all(&c->src, p);
	if (!ret)
		ret = accel_run(r->dev, r->plan, p, c->src.nbytes, p + in, r->out_max, r->params,
				api_left_ms(r->deadline), r->result);
	if (!ret && r->result->status == ACCEL_ST_OK)
		ret = write_all(&c->dst, p + in, r->result->out_len);
	if (!ret)
		c->memory_nbytes = c->src.nbytes + r->result->out_len;
	munmap(p, in + out);
	return ret;
}

/* Room for the output: no more than it can need. */
static int limits(struct run *r)
{
	struct accel_copy *c = r->c;
	uint64_t bound = accel_bound(r->plan, c->src.nbytes), room = c->dst.nbytes;

	if (!c->dst.is_block && !room)
		room = UINT64_MAX;
	r->out_max = BASE_MIN(BASE_MIN(bound, room), r->dev->info.max_out);
	if (c->src.nbytes > r->dev->info.max_in || c->src.nbytes > SIZE_MAX / 4 || r->out_max > SIZE_MAX / 4)
		return -EMSGSIZE;
	if (c->dst.is_block)
		r->out_max = BASE_MIN(r->out_max, room);
	return 0;
}

static int run_range(struct run *r)
{
	struct accel_copy *c = r->c;
	int ret = limits(r);

	if (ret)
		return ret;
	if (c->o.flags & ACCEL_COPY_MEMORY)
		p2p_because(&c->why, 0, "as it was asked for");
	ret = c->o.flags & ACCEL_COPY_MEMORY ? -EREMOTEIO : peers(r);
	if (ret == -EREMOTEIO && !(c->o.flags & ACCEL_COPY_NO_FALLBACK))
		ret = memory(r);
	return ret ? ret : copy_flush(c);
}

int accel_run_range(struct accel_dev *dev, const struct accel_plan *plan, const struct accel_range *src,
		    const struct accel_range *dst, const struct accel_params *params, const struct accel_copy_opts *opts,
		    int timeout_ms, struct accel_result *result, struct accel_copy_info *info)
{
	struct run r = { NULL, dev, plan, params, result, 0, api_deadline(timeout_ms) };
	int ret;

	if (!dev || !plan || !plan->sealed || !result || (info && info->size != sizeof(*info)))
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	memset(result, 0, sizeof(*result));
	ret = copy_new(dev->ctx, src, dst, opts, true, &r.c);
	if (!ret)
		ret = run_range(&r);
	if (r.c && info) {
		r.c->main_nbytes = r.c->src.nbytes;
		r.c->out_nbytes = ret ? 0 : result->out_len;
		copy_tell(r.c, info);
		info->done_nbytes = ret ? 0 : r.c->src.nbytes;
		info->out_nbytes = r.c->out_nbytes;
		info->error = ret;
	}
	accel_copy_free(r.c);
	return ret;
}
