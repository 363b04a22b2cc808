// SPDX-License-Identifier: BSD-2-Clause
/* Compression of a range through memory: a stream, as of any file, read and written with direct I/O where that can be. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "p2p_jobs.h"

#define STREAM_NBYTES	(1u << 20)

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

int copy_stream_start(struct accel_copy *c)
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

int copy_stream_step(struct accel_copy *c)
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
