/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings whose every range is contiguous: the same memory is mapped twice, end to end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>
#include "stream_priv.h"

static int ring_map(struct ring *r, int fd)
{
	uint8_t *p = mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	r->base = p;
	if (mmap(p, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(p + r->size, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -ENOMEM;
	/* A child would share it, and has no use for it: its handle is stale. */
	madvise(p, 2 * r->size, MADV_DONTFORK);
	return 0;
}

int ring_init(struct ring *r, size_t nbytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd, err;

	memset(r, 0, sizeof(*r));
	r->size = (nbytes + page - 1) / page * page;
	fd = memfd_create("accel-stream", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ftruncate(fd, (off_t)r->size) ? -errno : ring_map(r, fd);
	close(fd);
	if (err)
		ring_fini(r);
	return err;
}

void ring_fini(struct ring *r)
{
	if (r->base)
		munmap(r->base, 2 * r->size);
	r->base = NULL;
}

void ring_rewind(struct ring *r)
{
	if (r->head == r->tail)
		r->zero = r->head;
}
