/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers of one size: address space for as many as the limit of all memory allows, of which those have pages that are
 * used or were used last. Whoever calls holds the lock of the memory, if not told otherwise.
 */
#ifndef ACCELD_MEM_SIZE_H
#define ACCELD_MEM_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_BLOCK	UINT32_MAX

/* What is known of a buffer. */
struct block {
	uint64_t owner;			/* whose bytes are in it */
	uint32_t dirty;			/* bytes from its begin that may be other than zero */
	uint32_t prev, next;		/* of the free list, the last used first; of the blank list next only */
};

struct size {
	uint8_t *base;
	struct block *block;
	uint32_t log2, nblock;
	uint32_t first, last, nfree;	/* with pages */
	uint32_t blank, fresh;		/* without: those that had some, and those from fresh on that never had */
	uint32_t ready;			/* those from here on cannot be accessed yet */
	uint32_t low;			/* least nfree since the last look: so many were not needed */
};

int size_init(struct size *s, uint32_t log2, uint64_t limit);	/* 0 or -ENOMEM; size_fini() in any case */
void size_fini(struct size *s);

/* One with pages, or NULL. */
void *size_get_used(struct size *s);
/* One without, which reads as zeros; NULL: there is none. */
void *size_get_blank(struct size *s);
void size_put(struct size *s, void *buf);

/* The one that was used longest ago leaves the list; NO_BLOCK. Then, without the lock: its pages are given back. Then
 * it is blank. */
uint32_t size_take_oldest(struct size *s);
void size_give_back(struct size *s, uint32_t i);
void size_put_blank(struct size *s, uint32_t i);

/* The first nbytes are for this owner from now on: bytes of others are wiped. By whoever has the buffer, without the
 * lock. */
void size_own(struct size *s, void *buf, uint64_t owner, uint32_t nbytes);

#endif
