// SPDX-License-Identifier: BSD-2-Clause
/* Buffers of one size, with pages and without. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "../../lib/base/bits.h"
#include "mem_size.h"

#define STEP_NBYTES	(1u << 20)

int size_init(struct size *s, uint32_t log2, uint64_t limit)
{
	s->log2 = log2;
	s->nblock = (uint32_t)BASE_MIN(limit >> log2, (uint64_t)NO_BLOCK - 1);
	s->first = s->last = s->blank = NO_BLOCK;
	/* No more than addresses: where the system counts what may be used, this is nothing yet. */
	s->base = mmap(NULL, (size_t)s->nblock << log2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return -ENOMEM;
	}
	/* A huge page behind a small buffer would be memory that nobody has counted; and dumps hold no user data. */
	madvise(s->base, (size_t)s->nblock << log2, MADV_NOHUGEPAGE);
	madvise(s->base, (size_t)s->nblock << log2, MADV_DONTDUMP);
	s->block = calloc(s->nblock, sizeof(*s->block));
	return s->block ? 0 : -ENOMEM;
}

void size_fini(struct size *s)
{
	if (s->base)
		munmap(s->base, (size_t)s->nblock << s->log2);
	free(s->block);
}

static uint32_t block_of(const struct size *s, const void *buf)
{
	return (uint32_t)((size_t)((const uint8_t *)buf - s->base) >> s->log2);
}

static void *buf_of(const struct size *s, uint32_t i)
{
	return s->base + ((size_t)i << s->log2);
}

static void take_out(struct size *s, uint32_t i)
{
	struct block *b = &s->block[i];

	*(b->prev != NO_BLOCK ? &s->block[b->prev].next : &s->first) = b->next;
	*(b->next != NO_BLOCK ? &s->block[b->next].prev : &s->last) = b->prev;
	s->nfree--;
	s->low = BASE_MIN(s->low, s->nfree);
}

void *size_get_used(struct size *s)
{
	uint32_t i = s->first;

	if (i == NO_BLOCK)
		return NULL;
	take_out(s, i);
	return buf_of(s, i);
}

/* Makes some more usable, a few at a time. */
static bool extend(struct size *s)
{
	uint32_t n = BASE_MIN(BASE_MAX(STEP_NBYTES >> s->log2, 1u), s->nblock - s->ready);

	if (!n || mprotect(buf_of(s, s->ready), (size_t)n << s->log2, PROT_READ | PROT_WRITE))
		return false;
	s->ready += n;
	return true;
}

void *size_get_blank(struct size *s)
{
	uint32_t i = s->blank;

	if (i != NO_BLOCK)
		s->blank = s->block[i].next;
	else if (s->fresh < s->ready || extend(s))
		i = s->fresh++;
	else
		return NULL;
	return buf_of(s, i);
}

void size_put(struct size *s, void *buf)
{
	uint32_t i = block_of(s, buf);
	struct block *b = &s->block[i];

	b->prev = NO_BLOCK;
	b->next = s->first;
	*(b->next != NO_BLOCK ? &s->block[b->next].prev : &s->last) = i;
	s->first = i;
	s->nfree++;
}

uint32_t size_take_oldest(struct size *s)
{
	uint32_t i = s->last;

	if (i != NO_BLOCK)
		take_out(s, i);
	return i;
}

void size_give_back(struct size *s, uint32_t i)
{
	madvise(buf_of(s, i), (size_t)1 << s->log2, MADV_DONTNEED);
	s->block[i].owner = 0;
	s->block[i].dirty = 0;
}

void size_put_blank(struct size *s, uint32_t i)
{
	s->block[i].next = s->blank;
	s->blank = i;
}

void size_own(struct size *s, void *buf, uint64_t owner, uint32_t nbytes)
{
	struct block *b = &s->block[block_of(s, buf)];

	if (b->owner != owner) {
		memset(buf, 0, b->dirty);
		b->owner = owner;
		b->dirty = 0;
	}
	b->dirty = BASE_MAX(b->dirty, nbytes);
}
