// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compression of a range of a device or file to another, by peers: one job a chunk, whose gzip member goes from the
 * accelerator to the slot to the destination. Members begin at blocks, because devices write blocks: an empty member
 * with an extra field (RFC 1952, 2.3.1.1) fills what is left of the last one. Only that block passes through memory.
 * Where that cannot be, or ends before, all of it is done through memory: p2p_stream.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "p2p_jobs.h"

#define JOB_MS		30000
#define LEASE_MS	10000
#define EMPTY_NBYTES	22u		/* of an empty member without an extra field's contents */
#define IN_MIN		(64u << 10)	/* of a job that is made smaller so that its output fits a piece of a file */
#define FILL_NBYTES	(128u << 10)	/* more than what is left of a piece that such a job does not fit */
#define MEMBER_NBYTES	(32u << 10)	/* of the members that fill it */

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
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
	c->dst.nbytes = j->dst_nbytes;
	j->out_pos = 0;
	return copy_stream_start(c);
}

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
	const struct p2p_piece *p = &j->dst[j->dst_at];
	size_t used = (size_t)(end & (j->blk - 1)), room = j->blk - used, n;
	uint64_t at = p->phys + (end - used - p->off);

	if (!used)
		return 0;
	n = room < EMPTY_NBYTES ? room + j->blk : room;
	if (end + n > p->off + p->nbytes)
		return -ENOSPC;
	if (pread(c->dst.disk, j->bounce, j->blk, (off_t)at) != (ssize_t)j->blk)
		return -EIO;
	empty_member(j->bounce + used, n);
	if (pwrite(c->dst.disk, j->bounce, used + n, (off_t)at) != (ssize_t)(used + n))
		return -EIO;
	c->memory_nbytes += j->blk + used + n;
	j->out_pos = end + n;
	return 0;
}

/* The piece that has byte pos of a range, and how much there is from there; NULL: none. */
static const struct p2p_piece *piece_at(const struct p2p_piece *list, size_t n, size_t *at, uint64_t pos, uint64_t *left)
{
	while (*at < n && pos >= list[*at].off + list[*at].nbytes)
		(*at)++;
	if (*at == n)
		return NULL;
	*left = list[*at].off + list[*at].nbytes - pos;
	return &list[*at];
}

/* Bytes of output, and what fills its last block: at most two blocks. */
static uint64_t out_room(const struct copy_jobs *j, uint64_t in_len)
{
	return up(up(accel_bound(j->plan, in_len), j->exec.block), j->blk) + 2ull * j->blk;
}

/* Room that no job's output fits, up to where the next piece begins. */
static int fill_piece(struct accel_copy *c, const struct p2p_piece *dst, uint64_t room)
{
	struct copy_jobs *j = c->jobs;
	uint64_t at = dst->phys + (j->out_pos - dst->off), done, n;

	if (room > FILL_NBYTES || room < j->blk)
		return -EXDEV;
	for (done = 0; done < room; done += n) {
		n = BASE_MIN(room - done, (uint64_t)MEMBER_NBYTES);
		empty_member(j->bounce + done, (size_t)n);
	}
	if (pwrite(c->dst.disk, j->bounce, (size_t)room, (off_t)at) != (ssize_t)room)
		return -EIO;
	c->memory_nbytes += room;
	j->out_pos += room;
	return 0;
}

/* A piece for at least IN_MIN bytes of input or all that are left; in the last one the output may be what it will. */
static int find_room(struct accel_copy *c, const struct p2p_piece **dst, uint64_t *room)
{
	struct copy_jobs *j = c->jobs;
	int ret = 0;

	while (!ret && (*dst = piece_at(j->dst, j->ndst, &j->dst_at, j->out_pos, room))) {
		if (j->dst_at + 1 == j->ndst || out_room(j, BASE_MIN(j->in_len, (uint64_t)IN_MIN)) <= *room)
			return 0;
		ret = fill_piece(c, *dst, *room);
	}
	return ret ? ret : -ENOSPC;
}

/* In the last piece the output may be as long as what is left; before, a job is made small enough for its piece. */
static int next_job(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	uint64_t left, room = 0, bound;
	const struct p2p_piece *src = piece_at(j->src, j->nsrc, &j->src_at, j->in_pos, &left), *dst = NULL;
	struct exec_job job = { .plan = j->plan, .timeout_ms = JOB_MS };
	int ret;

	if (!src)
		return -ENODATA;
	j->in_len = BASE_MIN(left, (uint64_t)c->o.chunk_nbytes);
	ret = find_room(c, &dst, &room);
	if (ret)
		return ret;
	while (j->dst_at + 1 < j->ndst && out_room(j, j->in_len) > room)
		j->in_len = BASE_MAX(j->in_len / 2 & ~4095ull, (uint64_t)IN_MIN);
	bound = accel_bound(j->plan, j->in_len);
	job.src_off = src->phys + (j->in_pos - src->off);
	job.in_len = j->in_len;
	job.dst_off = dst->phys + (j->out_pos - dst->off);
	job.dst_max = BASE_MIN(up(up(bound, j->exec.block), j->blk), room & ~(uint64_t)(j->blk - 1));
	if (!job.dst_max)
		return -ENOSPC;
	job.out_max = j->out_max = BASE_MIN(bound, job.dst_max);
	return exec_start(&j->exec, c, &job);
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
	if (j->in_pos == c->src.nbytes) {
		p2p_end_written(&c->dst);
		return 1;
	}
	j->out_pos = end;
	ret = fill_block(c, end);
	if (!ret && (p2p_end_wanted(&c->src) || p2p_end_wanted(&c->dst)))
		ret = -EBUSY;
	return ret ? ret : next_job(c);
}

/* What ends the way by peers, and is done through memory instead. */
static int peers_failed(struct accel_copy *c, int ret)
{
	struct copy_jobs *j = c->jobs;

	if (j->cancelled)
		return -ECANCELED;
	if (ret == -ESTALE && !c->again) {
		c->again = true;
		return next_job(c);
	}
	if (ret == -ENOMEM || (ret == -ENOSPC && j->dst_nbytes))
		return ret;
	if (ret == -ENOSPC)
		p2p_because(&c->why, 0, "%s is shorter than the output, and blocks must be there before", c->dst.name);
	else if (ret == -EBUSY)
		p2p_because(&c->why, 0, "somebody else opened one of the files meanwhile");
	else if (ret == -EXDEV)
		p2p_because(&c->why, 0, "%s is in too many pieces", c->dst.name);
	else
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
	return c->mode == COPY_JOBS ? peers_step(c, timeout_ms) : copy_stream_step(c);
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
	free(j->src);
	free(j->dst);
	accel_dev_close(j->dev);
	free(j);
	c->jobs = NULL;
}

/*
 * Where both ranges are. A file's last block is a whole one on its disk, a device's end is what it is; a destination that is
 * a file ends where it ends now.
 */
static int map_ends(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	uint64_t mask = j->dev->info.block_nbytes - 1;
	int ret;

	if (c->src.is_block && c->src.nbytes & mask) {
		p2p_because(&c->why, 0, "%s: the length is no multiple of the accelerator's blocks", c->src.name);
		return -EREMOTEIO;
	}
	if ((c->src.off & (c->src.block - 1)) || (c->dst.off & (c->dst.block - 1))) {
		p2p_because(&c->why, 0, "the offsets are no whole blocks");
		return -EREMOTEIO;
	}
	if (!c->dst.nbytes && c->dst.size > c->dst.off)
		c->dst.nbytes = c->dst.size - c->dst.off;
	if (!c->dst.nbytes) {
		p2p_because(&c->why, 0, "%s is empty, and blocks must be there before", c->dst.name);
		return -EREMOTEIO;
	}
	ret = p2p_end_map(&c->src, &j->src, &j->nsrc, &c->why);
	return ret ? ret : p2p_end_map(&c->dst, &j->dst, &j->ndst, &c->why);
}

/* Slots for the longest job, and the first one. */
static int peers_first(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	uint64_t chunk = BASE_MIN((uint64_t)c->o.chunk_nbytes, j->dev->info.max_in & ~4095ull);
	int ret;

	if (posix_memalign((void **)&j->bounce, NVME_ACCEL_PAGE, FILL_NBYTES + 2 * 65536)) {
		j->bounce = NULL;
		return -ENOMEM;
	}
	c->o.depth = 1;
	c->o.chunk_nbytes = (uint32_t)chunk;
	c->slot_nbytes = (uint32_t)exec_slot_nbytes(&j->exec, chunk, accel_bound(j->plan, chunk));
	ret = copy_way_module(c, j->exec.fd);
	if (ret)
		return ret;
	j->blk = c->dst.disk_block;
	return next_job(c);
}

static int peers_start(struct accel_copy *c)
{
	struct copy_jobs *j = c->jobs;
	int ret = exec_open(&j->exec, j->dev, LEASE_MS, &c->why);

	if (!ret)
		ret = map_ends(c);
	if (!ret)
		ret = peers_first(c);
	if (!ret)
		c->mode = COPY_JOBS;
	else if (ret != -ENOMEM && ret != -EREMOTEIO && (ret != -ENOSPC || !j->dst_nbytes)) {
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
	j->dst_nbytes = c->dst.nbytes;
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
	return copy_started(c, ret, copy, info);
}
