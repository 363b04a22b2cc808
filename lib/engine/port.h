/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What engines want of their surroundings: memory, and memory wiped. The frame of the engines (engine.c, chain.c, decode.c,
 * the wraps, ec.c, cipher.c, move.c and what those call) is the same in user space and in a kernel; what computes is not.
 */
#ifndef ACCEL_ENGINE_PORT_H
#define ACCEL_ENGINE_PORT_H

#ifdef __KERNEL__
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

/* Aligned to 64 from that size on. */
static inline void *engine_alloc(size_t n)
{
	return kvmalloc(n, GFP_KERNEL);
}

static inline void *engine_zalloc(size_t n)
{
	return kvzalloc(n, GFP_KERNEL);
}

static inline void *engine_alloc64(size_t n)
{
	return kvmalloc((n + 63) & ~(size_t)63, GFP_KERNEL);
}

static inline void engine_free(void *p)
{
	kvfree(p);
}

static inline void engine_wipe(void *p, size_t n)
{
	memzero_explicit(p, n);
}

/* Bytes between two looks at the stop flag: there the processor is given up, too. */
#define ENGINE_STEP(user)	((size_t)64 << 10)
#else
#include <stdlib.h>
#include <openssl/crypto.h>

static inline void *engine_alloc(size_t n)
{
	return malloc(n);
}

static inline void *engine_zalloc(size_t n)
{
	return calloc(1, n);
}

static inline void *engine_alloc64(size_t n)
{
	return aligned_alloc(64, (n + 63) & ~(size_t)63);
}

static inline void engine_free(void *p)
{
	free(p);
}

static inline void engine_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

#define ENGINE_STEP(user)	(user)
#endif

#endif
