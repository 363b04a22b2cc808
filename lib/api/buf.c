// SPDX-License-Identifier: BSD-2-Clause
/* Memory for input and output: page aligned, huge pages where there are any. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p_priv.h"

#define BUF_HUGE_NBYTES (2u << 20)

struct accel_buf {
	struct accel_ctx *ctx;
	void *p;
	size_t nbytes;
	size_t mapped;			/* 0: the caller's memory */
	int fd;				/* keeps memory of a controller; -1: none */
};

static int buf_new(struct accel_ctx *ctx, size_t nbytes, struct accel_buf **out)
{
	struct accel_buf *buf = calloc(1, sizeof(*buf));

	if (!buf)
		return -ENOMEM;
	buf->ctx = accel_ctx_ref(ctx);
	buf->nbytes = nbytes;
	buf->fd = -1;
	*out = buf;
	return 0;
}

static void *map(size_t nbytes, int flags)
{
	void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Reserved huge pages, else ordinary ones that the kernel may join. */
static int buf_map(struct accel_buf *buf, uint32_t flags)
{
	if (flags & ACCEL_BUF_HUGE) {
		buf->mapped = round_up(buf->nbytes, BUF_HUGE_NBYTES);
		buf->p = map(buf->mapped, MAP_HUGETLB);
		if (buf->p)
			return 0;
	}
	buf->mapped = round_up(buf->nbytes, (size_t)sysconf(_SC_PAGESIZE));
	buf->p = map(buf->mapped, 0);
	if (!buf->p)
		return -ENOMEM;
	if (flags & ACCEL_BUF_HUGE)
		madvise(buf->p, buf->mapped, MADV_HUGEPAGE);
	return 0;
}

int accel_buf_alloc(struct accel_ctx *ctx, struct accel_dev *dev, size_t nbytes, uint32_t flags,
		    struct accel_buf **out)
{
	struct accel_buf *buf;
	int ret;

	if (!ctx || !out || !nbytes || nbytes > SIZE_MAX / 2 || flags & ~(ACCEL_BUF_HUGE | ACCEL_BUF_P2P))
		return -EINVAL;
	if (flags & ACCEL_BUF_P2P && !dev)
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	ret = buf_new(ctx, nbytes, &buf);
	if (ret)
		return ret;
	ret = flags & ACCEL_BUF_P2P ? p2p_buf_map(ctx, dev, nbytes, &buf->p, &buf->mapped, &buf->fd) :
				      buf_map(buf, flags);
	if (ret) {
		buf->mapped = 0;
		accel_buf_free(buf);
		return ret;
	}
	*out = buf;
	return 0;
}

int accel_buf_register(struct accel_ctx *ctx, struct accel_dev *dev, void *p, size_t nbytes,
		       struct accel_buf **out)
{
	struct accel_buf *buf;
	int ret;

	(void)dev;			/* the transports so far use any memory as it is */
	if (!ctx || !out || !p || !nbytes || nbytes > UINTPTR_MAX - (uintptr_t)p)
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	ret = buf_new(ctx, nbytes, &buf);
	if (ret)
		return ret;
	buf->p = p;
	*out = buf;
	return 0;
}

void *accel_buf_ptr(const struct accel_buf *buf)
{
	return buf ? buf->p : NULL;
}

size_t accel_buf_size(const struct accel_buf *buf)
{
	return buf ? buf->nbytes : 0;
}

void accel_buf_free(struct accel_buf *buf)
{
	if (!buf)
		return;
	if (buf->mapped)
		munmap(buf->p, buf->mapped);
	if (buf->fd >= 0)
		p2p_buf_close(buf->ctx, buf->fd);
	accel_ctx_unref(buf->ctx);
	free(buf);
}
