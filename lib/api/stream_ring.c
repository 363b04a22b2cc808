/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings. A mirrored one has the same memory mapped twice, end to end, so that every range is contiguous. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>
#include "stream_priv.h"

#define HUGE_PAGE ((size_t)2 << 20)

static int ring_map_twice(struct ring *r, int fd)
{
	uint8_t *p = mmap(NULL, r->map_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	r->map = r->base = p;
	if (mmap(p, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(p + r->size, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -ENOMEM;
	return 0;
}

static int ring_mirrored(struct ring *r, size_t nbytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd, err;

	r->size = (nbytes + page - 1) / page * page;
	r->map_len = 2 * r->size;
	fd = memfd_create("accel-stream", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ftruncate(fd, (off_t)r->size) ? -errno : ring_map_twice(r, fd);
	close(fd);
	return err;
}

/* Large pages save most of the faults of a short stream, and of the TLB misses of a long one. */
static int ring_plain(struct ring *r, size_t nbytes)
{
	uint8_t *p;

	r->size = nbytes;
	r->map_len = (nbytes + 2 * HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	p = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	r->map = p;
	r->base = (uint8_t *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	madvise(r->base, nbytes, MADV_HUGEPAGE);
	return 0;
}

int ring_init(struct ring *r, size_t nbytes, bool mirrored)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->mirrored = mirrored;
	err = mirrored ? ring_mirrored(r, nbytes) : ring_plain(r, nbytes);
	if (err) {
		ring_fini(r);
		return err;
	}
	/* A child would share it, and has no use for it: its handle is stale. */
	madvise(r->map, r->map_len, MADV_DONTFORK);
	return 0;
}

void ring_fini(struct ring *r)
{
	if (r->map)
		munmap(r->map, r->map_len);
	r->map = r->base = NULL;
}

void ring_rewind(struct ring *r)
{
	if (r->head == r->tail)
		r->zero = r->head;
}
