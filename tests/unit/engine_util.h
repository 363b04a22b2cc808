/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of lib/engine share: jobs in one line, reproducible data, buffers with guard pages. */
#ifndef TEST_ENGINE_UTIL_H
#define TEST_ENGINE_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../lib/engine/engine.h"

#define EU __attribute__((unused)) static inline

/* xorshift64*; a test's own seed makes it the same in every run. */
EU uint64_t eu_rnd(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dULL;
}

EU void eu_fill(void *p, size_t n, uint64_t seed)
{
	uint8_t *b = p;

	for (seed |= 1; n; n--)
		*b++ = (uint8_t)(eu_rnd(&seed) >> 32);
}

/* n bytes that begin and end (both, when n is a multiple of a page) at an unmapped page. */
struct eu_guard {
	uint8_t *map;
	size_t map_len;
};

EU uint8_t *eu_guard_new(struct eu_guard *g, size_t n, int at_start)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (n + page - 1) / page * page;

	g->map_len = body + 2 * page;
	g->map = mmap(NULL, g->map_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g->map != MAP_FAILED);
	if (body)
		assert_int_equal(mprotect(g->map + page, body, PROT_READ | PROT_WRITE), 0);
	return at_start ? g->map + page : g->map + page + body - n;
}

EU void eu_guard_free(struct eu_guard *g)
{
	munmap(g->map, g->map_len);
}

/* Cuts n bytes at p into up to max pieces, some of them empty. Returns their number. */
EU unsigned int eu_cut(struct iovec *iov, unsigned int max, void *p, size_t n, uint64_t *seed)
{
	unsigned int i, count = 1 + (unsigned int)(eu_rnd(seed) % max);
	size_t len;

	for (i = 0; i < count; i++) {
		len = i + 1 == count ? n : eu_rnd(seed) % 4 ? eu_rnd(seed) % (n + 1) : 0;
		iov[i].iov_base = p;
		iov[i].iov_len = len;
		p = (uint8_t *)p + len;
		n -= len;
	}
	return count;
}

/* A job of one stage over two plain buffers. iov[2] has to live as long as the job. */
EU struct job eu_job(struct iovec *iov, uint16_t op, uint16_t alg, const void *in, size_t in_len, void *out,
		     size_t out_max)
{
	struct job job = { .nstage = 1, .nin = 1, .nout = 1, .in_len = in_len, .out_max = out_max };

	iov[0].iov_base = (void *)(uintptr_t)in;
	iov[0].iov_len = in_len;
	iov[1].iov_base = out;
	iov[1].iov_len = out_max;
	job.in = &iov[0];
	job.out = &iov[1];
	job.stage[0].op = op;
	job.stage[0].alg = alg;
	return job;
}

/* Entry number i (from 0) for an operation. */
EU const struct engine_fn *eu_fn(uint16_t op, uint16_t alg, unsigned int i)
{
	const struct engine_fn *fn;
	unsigned int at;

	for (at = 0; (fn = engine_fn_at(at)); at++)
		if (fn->op == op && fn->alg == alg && i-- == 0)
			return fn;
	return NULL;
}

EU const struct engine_fn *eu_oracle(uint16_t op, uint16_t alg)
{
	const struct engine_fn *fn, *last = NULL;
	unsigned int i;

	for (i = 0; (fn = eu_fn(op, alg, i)); i++)
		last = fn;
	return last;
}

#endif
