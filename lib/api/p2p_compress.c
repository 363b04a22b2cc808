// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compression of a range of a device or file to another. By peers: one job a chunk, whose gzip member goes from the
 * accelerator to the slot to the destination. Members begin at blocks, because devices write blocks: an empty member
 * with an extra field (RFC 1952, 2.3.1.1) fills what is left of the last one. Only that block passes through memory.
 * Through memory it is a stream, as of any file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "p2p_exec.h"

#define JOB_MS		30000
#define LEASE_MS	10000
#define EMPTY_NBYTES	22u		/* of an empty member without an extra field's contents */
#define STREAM_NBYTES	(1u << 20)

struct copy_jobs {
	struct accel_dev *dev;
	struct accel_plan *plan;
	uint32_t level;
	bool cancelled;

	/* By peers. */
	struct exec exec;
	uint64_t out_pos;		/* of the next member, in the destination's range */
	uint64_t in_pos, in_len, out_max;	/* of the job under way */
	uint32_t blk;			/* members begin at multiples of it */
	uint8_t *bounce;		/* two blocks */

	/* Through memory. */
	struct accel_stream *stream;
	uint8_t *in, *out;
	size_t out_fill;
	bool finished;
};

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- Through memory ---- */

static int stream_start(struct accel_copy *c)
{
	struct accel_stream_opts so = ACCEL_INIT(struct accel_stream_opts);
	struct copy_jobs *j = c->jobs;

	so.kind = ACCEL_STREAM_COMPRESS;
	so.alg = ACCEL_GZIP;
	so.level = j->level;
	if (!j->in && posix_memalign((void **)&j->in, NVME_ACCEL_PAGE, 2 * STREAM_NBYTES)) {
		j->in = NULL;
		return -ENOMEM;
	}
	j->out = j->in + STREAM_NBYTES;
	return accel_stream_open(j->dev, &so, &j->stream);
}

static int write_at(const struct p2p_end *e, const uint8_t *p, size_t n, uint64_t at)
{
	bool whole = e->direct && !((e->off + at) & (e->block - 1)) && !(n & (e->block - 1));
	size_t done = 0;
	ssize_t ret;

	while (done < n) {
		ret = pwrite(whole ? e->fd : e->plain, p + done, n - done, (off_t)(e->off + at + done));
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -ENOSPC;
		done += (size_t)ret;
	}
	return 0;
}

/* All of what is filled; a device's last block with zeros behind. */
static int flush_out(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	size_t n = j->out_fill;
	int ret;

	if (c->dst.is_block && n & (c->dst.block - 1)) {
		memset(j->out + n, 0, c->dst.block - (n & (c->dst.block - 1)));
		n = up(n, c->dst.block);
	}
	if ((c->dst.is_block || c->dst.nbytes) && j->out_pos + n > c->dst.nbytes)
		return -ENOSPC;
	ret = write_at(&c->dst, j->out, n, j->out_pos);
	j->out_pos += n;
	c->out_nbytes += j->out_fill;
	c->memory_nbytes += j->out_fill;
	j->out_fill = 0;
	return ret;
}

/* Takes what the stream has; wait: at the end. 1: the end. */
static int drain(struct accel_copy *c, bool wait)
{
	struct copy_jobs *j = c->jobs;
	const void *p;
	ssize_t n;
	int ret;

	while ((n = accel_stream_peek(j->stream, &p, wait)) > 0) {
		size_t take = BASE_MIN((size_t)n, STREAM_NBYTES - j->out_fill);

		memcpy(j->out + j->out_fill, p, take);
		accel_stream_consume(j->stream, take);
		j->out_fill += take;
		ret = j->out_fill == STREAM_NBYTES ? flush_out(c) : 0;
		if (ret)
			return ret;
	}
	return n < 0 ? (int)n : wait ? 1 : 0;
}

static int read_some(struct accel_copy *c, size_t *got)
{
	struct p2p_end *e = &c->src;
	uint64_t at = e->off + c->main_nbytes;
	size_t n = (size_t)BASE_MIN(e->nbytes - c->main_nbytes, (uint64_t)STREAM_NBYTES);
	bool whole = e->direct && !(at & (e->block - 1));
	ssize_t ret = pread(whole ? e->fd : e->plain, c->jobs->in, whole ? up(n, e->block) : n, (off_t)at);

	*got = ret > 0 ? BASE_MIN((size_t)ret, n) : 0;
	return ret > 0 ? 0 : ret ? -errno : -ENODATA;
}

static int feed(struct accel_copy *c, size_t n)
{
	struct copy_jobs *j = c->jobs;
	size_t done = 0;
	int ret = 0;

	while (done < n && !ret) {
		ssize_t took = accel_stream_write(j->stream, j->in + done, n - done);

		if (took >= 0)
			done += (size_t)took;
		ret = took < 0 && took != -EAGAIN ? (int)took : drain(c, false);
	}
	c->main_nbytes += n;
	c->memory_nbytes += n;
	return ret;
}

static int stream_step(struct accel_copy *c)
{
	struct accel_stream_info info;
	struct copy_jobs *j = c->jobs;
	size_t n = 0;
	int ret;

	if (j->cancelled)
		return -ECANCELED;
	if (c->main_nbytes < c->src.nbytes) {
		ret = read_some(c, &n);
		return ret ? ret : feed(c, n);
	}
	ret = accel_stream_finish(j->stream);
	if (!ret)
		ret = drain(c, true);
	if (ret == 1)
		ret = flush_out(c);
	if (!ret && !accel_stream_info(j->stream, &info))
		c->njobs = info.jobs;
	return ret ? ret : 1;
}

static int jobs_memory(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;

	exec_close(&j->exec, &c->module);
	if (c->o.flags & ACCEL_COPY_NO_FALLBACK)
		return -EREMOTEIO;
	copy_leave_way(c);
	c->mode = COPY_MEMORY;
	c->main_nbytes = c->p2p_nbytes = c->memory_nbytes = c->out_nbytes = c->njobs = 0;
	j->out_pos = 0;
	return stream_start(c);
}

/* ---- By peers ---- */

/* n bytes that decompress to nothing; n at least EMPTY_NBYTES. */
static void empty_member(uint8_t *p, size_t n)
{
	static const uint8_t head[10] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255 };
	size_t extra = n - EMPTY_NBYTES;

	memset(p, 0, n);
	memcpy(p, head, sizeof(head));
	le16_put(p + 10, (uint16_t)extra);
	/* A subfield, so that readers that look into the field find it whole. */
	if (extra >= 4) {
		p[12] = 'n';
		p[13] = 'a';
		le16_put(p + 14, (uint16_t)(extra - 4));
	}
	p[12 + extra] = 3;		/* the empty block of fixed codes; CRC-32 and length behind it are 0 */
}

/* Fills the last block of a member, which the accelerator has ended with zeros. */
static int fill_block(struct accel_copy *c, uint64_t end)
{
	struct copy_jobs *j = c->jobs;
	size_t used = (size_t)(end & (j->blk - 1)), room = j->blk - used, n;
	uint64_t at = c->dst.off + end - used;

	if (!used)
		return 0;
	n = room < EMPTY_NBYTES ? room + j->blk : room;
	if (pread(c->dst.fd, j->bounce, j->blk, (off_t)at) != (ssize_t)j->blk)
		return -EIO;
	empty_member(j->bounce + used, n);
	if (pwrite(c->dst.fd, j->bounce, used + n, (off_t)at) != (ssize_t)(used + n))
		return -EIO;
	c->memory_nbytes += j->blk + used + n;
	j->out_pos = end + n;
	return 0;
}

static int next_job(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	uint64_t room = c->dst.nbytes - j->out_pos, bound;
	struct exec_job job = { .plan = j->plan, .timeout_ms = JOB_MS };

	j->in_len = BASE_MIN(c->src.nbytes - j->in_pos, (uint64_t)c->o.chunk_nbytes);
	bound = accel_bound(j->plan, j->in_len);
	job.src_off = c->src.off + j->in_pos;
	job.in_len = j->in_len;
	job.dst_off = c->dst.off + j->out_pos;
	job.dst_max = BASE_MIN(up(up(bound, j->exec.block), j->blk), room & ~(uint64_t)(j->blk - 1));
	job.out_max = j->out_max = BASE_MIN(bound, job.dst_max);
	/* Behind the last member there must be room for what fills its block. */
	return job.dst_max ? exec_start(&j->exec, c, &job) : -ENOSPC;
}

static int job_outcome(const struct accel_result *r)
{
	switch (r->status) {
	case ACCEL_ST_OK:
		return 0;
	case ACCEL_ST_OUTPUT_SHORT:
		return -ENOSPC;
	case ACCEL_ST_LEASE_LOST:
	case ACCEL_ST_RESET:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

static int job_done(struct accel_copy *c, const struct accel_result *r)
{
	struct copy_jobs *j = c->jobs;
	uint64_t end = j->out_pos + r->out_len;
	int ret = job_outcome(r);

	if (!ret && r->out_len > j->out_max)
		ret = -EPROTO;
	if (ret)
		return ret;
	c->njobs++;
	c->p2p_nbytes += j->in_len + r->out_len;
	j->in_pos += j->in_len;
	c->main_nbytes = j->in_pos;
	c->out_nbytes = end;
	if (j->in_pos == c->src.nbytes)
		return 1;
	j->out_pos = end;
	ret = end + 2 * j->blk > c->dst.nbytes ? -ENOSPC : fill_block(c, end);
	return ret ? ret : next_job(c);
}

/* What ends the way by peers, and is done through memory instead. */
static int peers_failed(struct accel_copy *c, int ret)
{
	if (c->jobs->cancelled)
		return -ECANCELED;
	if (ret == -ESTALE && !c->again) {
		c->again = true;
		return next_job(c);
	}
	if (ret == -ENOSPC || ret == -ENOMEM)
		return ret;
	p2p_because(&c->why, 0, "a job between the devices failed: %s", accel_strerror(ret));
	return jobs_memory(c);
}

static int peers_step(struct accel_copy *c, int timeout_ms)
{
	struct accel_result result;
	int ret = exec_step(&c->jobs->exec, &c->module, timeout_ms, &result);

	if (ret == 1)
		ret = job_done(c, &result);
	return ret < 0 ? peers_failed(c, ret) : ret;
}

int copy_jobs_step(struct accel_copy *c, int timeout_ms)
{
	return c->mode == COPY_JOBS ? peers_step(c, timeout_ms) : stream_step(c);
}

void copy_jobs_cancel(struct accel_copy *c)
{
	c->jobs->cancelled = true;
	if (c->mode == COPY_JOBS)
		exec_cancel(&c->jobs->exec, &c->module);
}

void copy_jobs_free(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;

	if (!j)
		return;
	if (j->exec.dev)
		exec_close(&j->exec, &c->module);
	accel_stream_close(j->stream);
	accel_plan_unref(j->plan);
	free(j->in);
	free(j->bounce);
	accel_dev_close(j->dev);
	free(j);
	c->jobs = NULL;
}

/* Jobs go straight to devices: a file's blocks are not one piece in general, and its tail is no block. */
static int peers_possible(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;

	if (!c->src.is_block || !c->dst.is_block)
		p2p_because(&c->why, 0, "jobs go from device to device, and %s is a file",
			    c->src.is_block ? c->dst.name : c->src.name);
	else if (c->src.nbytes % j->dev->info.block_nbytes)
		p2p_because(&c->why, 0, "%s: the length is no multiple of the accelerator's blocks", c->src.name);
	else
		return 0;
	return -EREMOTEIO;
}

static int peers_start(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	int ret = peers_possible(c);

	if (!ret)
		ret = exec_open(&j->exec, j->dev, LEASE_MS, &c->why);
	if (ret)
		return ret;
	j->blk = BASE_MAX(c->dst.block, 512u);
	if (posix_memalign((void **)&j->bounce, NVME_ACCEL_PAGE, 2 * (size_t)BASE_MAX(j->blk, NVME_ACCEL_PAGE)))
		return -ENOMEM;
	c->o.depth = 1;
	c->o.chunk_nbytes = (uint32_t)BASE_MIN((uint64_t)c->o.chunk_nbytes, j->dev->info.max_in & ~4095ull);
	c->slot_nbytes = (uint32_t)exec_slot_nbytes(&j->exec, c->o.chunk_nbytes,
						    accel_bound(j->plan, c->o.chunk_nbytes));
	ret = copy_way_module(c, j->exec.fd);
	if (!ret)
		ret = next_job(c);
	if (!ret)
		c->mode = COPY_JOBS;
	else if (ret != -ENOMEM && ret != -ENOSPC && ret != -EREMOTEIO) {
		p2p_because(&c->why, 0, "the module does not start the job: %s", accel_strerror(ret));
		ret = -EREMOTEIO;
	}
	return ret;
}

static int make_plan(struct copy_jobs *j)
{
	int ret = accel_plan_new(j->dev->ctx, &j->plan);

	if (!ret)
		ret = accel_plan_compress(j->plan, ACCEL_GZIP, j->level, 0, 0);
	return ret ? ret : accel_plan_seal(j->plan, j->dev);
}

static int jobs_start(struct accel_copy *c, struct accel_dev *dev, unsigned int level)
{
	struct copy_jobs *j = c->jobs = calloc(1, sizeof(*c->jobs));
	int ret;

	if (!j)
		return -ENOMEM;
	j->dev = accel_dev_ref(dev);
	j->level = level;
	j->exec.fd = -1;
	j->exec.which = UINT32_MAX;
	ret = make_plan(j);
	if (ret)
		return ret;
	if (c->o.flags & ACCEL_COPY_MEMORY)
		p2p_because(&c->why, 0, "as it was asked for");
	ret = c->o.flags & ACCEL_COPY_MEMORY ? -EREMOTEIO : peers_start(c);
	return ret == -EREMOTEIO ? jobs_memory(c) : ret;
}

int accel_compress_start(struct accel_dev *dev, unsigned int level, const struct accel_range *src,
			 const struct accel_range *dst, const struct accel_copy_opts *opts, struct accel_copy **copy,
			 struct accel_copy_info *info)
{
	struct accel_copy *c = NULL;
	int ret;

	if (!dev || !copy || level > 9 || (info && info->size != sizeof(*info)))
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	ret = copy_new(dev->ctx, src, dst, opts, true, &c);
	if (!ret)
		ret = jobs_start(c, dev, level);
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
