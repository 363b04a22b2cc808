/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the compression engines share: entries by name, data, guarded memory, one-stage jobs. */
#ifndef TEST_COMPRESS_UTIL_H
#define TEST_COMPRESS_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include <zlib.h>

#include "../../lib/engine/compress.h"

#define PAGE 4096u

static inline uint32_t rnd(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* Unlike the macro, safe with arguments that change something. */
static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Text of sorts: words of a small vocabulary with numbers between, as logs and sources have them. */
static inline void fill_text(uint8_t *p, size_t n, uint64_t seed)
{
	static const char *const words[] = { "static ", "int ",	     "return ", "error: ", "device ",
					     "0x",	"\n\t",	     "buffer",	"(void)",  " = ",
					     "; ",	"namespace", "queue->", "the " };
	size_t at = 0;

	while (at < n) {
		char num[12];
		const char *w = words[rnd(&seed) % (sizeof(words) / sizeof(words[0]))];
		size_t len;

		if (rnd(&seed) % 5 == 0) {
			snprintf(num, sizeof(num), "%u", rnd(&seed) % 100000);
			w = num;
		}
		len = BASE_MIN(strlen(w), n - at);
		memcpy(p + at, w, len);
		at += len;
	}
}

static inline void fill_noise(uint8_t *p, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)rnd(&seed);
}

/* Runs, text and noise by turns. */
static inline void fill_mixed(uint8_t *p, size_t n, uint64_t seed)
{
	size_t at, len;

	for (at = 0; at < n; at += len) {
		len = least(1 + rnd(&seed) % 9000, n - at);
		switch (rnd(&seed) % 4) {
		case 0:
			memset(p + at, (int)rnd(&seed) & 0xff, len);
			break;
		case 1:
			fill_noise(p + at, len, rnd(&seed));
			break;
		default:
			fill_text(p + at, len, rnd(&seed));
		}
	}
}

/* n bytes with a page that faults before and behind them, flush with the one behind (or before). */
struct guarded {
	uint8_t *map, *p;
	size_t map_nbytes, n;
};

static inline struct guarded guarded_new(size_t n, int low)
{
	struct guarded g;
	size_t room = (n + PAGE - 1) / PAGE * PAGE;

	g.n = n;
	g.map_nbytes = room + 2 * PAGE;
	g.map = mmap(NULL, g.map_nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	if (room)
		assert_int_equal(mprotect(g.map + PAGE, room, PROT_READ | PROT_WRITE), 0);
	g.p = low ? g.map + PAGE : g.map + PAGE + room - n;
	return g;
}

static inline void guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_nbytes);
}

static inline const struct engine_fn *fn_named(uint16_t op, uint16_t alg, const char *name)
{
	unsigned int i;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op == op && fn->alg == alg && !strcmp(fn->name, name))
			return fn;
	}
	fail_msg("no entry %u %u %s", op, alg, name);
	return NULL;
}

/* The entry that the table prefers. */
static inline const struct engine_fn *fn_first(const struct job_stage *stage, uint64_t in_len)
{
	unsigned int i;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op == stage->op && fn->alg == stage->alg && fn->takes(stage, in_len))
			return fn;
	}
	return NULL;
}

static inline struct job_stage stage_of(uint16_t op, uint16_t alg, uint32_t level, uint64_t bits,
					uint32_t flags)
{
	struct job_stage s = { .op = op, .alg = alg, .flags = flags, .arg0 = level, .arg1 = bits };

	return s;
}

/* A job of one stage over two flat buffers; the outcome in *job. fn NULL: the preferred entry. */
static inline uint32_t run_flat(struct engine_thread *t, const struct engine_fn *fn, struct job_stage stage,
				const void *in, size_t n, void *out, size_t max, struct job *job)
{
	struct iovec iov[2] = { { (void *)(uintptr_t)in, n }, { out, max } };

	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->stage[0] = stage;
	job->in = &iov[0];
	job->nin = 1;
	job->in_len = n;
	job->out = &iov[1];
	job->nout = 1;
	job->out_max = max;
	if (!fn)
		fn = fn_first(&stage, n);
	assert_non_null(fn);
	engine_run_fn(t, fn, job);
	job->in = job->out = NULL;
	if (job->code != NVME_ACCEL_OK)
		assert_int_equal(job->out_len, 0);
	return job->code;
}

/* zlib's verdict on a whole stream: bytes made, or -1. wbits as inflateInit2 takes it. */
static inline long zlib_inflate(const void *in, size_t n, void *out, size_t max, int wbits, size_t *used)
{
	z_stream z = { 0 };
	long made = -1;

	assert_int_equal(inflateInit2(&z, wbits), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = (uInt)max;
	if (inflate(&z, Z_FINISH) == Z_STREAM_END)
		made = (long)z.total_out;
	if (used)
		*used = z.total_in;
	inflateEnd(&z);
	return made;
}

static inline int zlib_bits_of(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_DEFLATE ? -15 : alg == NVME_ACCEL_ALG_ZLIB ? 15 : 31;
}

struct fixture {
	struct engine_thread *t;
	uint8_t *in, *mid, *out;
};

/* An engine thread and three buffers, as a test's state. */
static inline int fixture_new(void **state, size_t nin, size_t nmid, size_t nout)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->t = engine_thread_new();
	f->in = malloc(nin);
	f->mid = malloc(nmid);
	f->out = malloc(nout);
	*state = f;
	return !(f->t && f->in && f->mid && f->out);
}

static inline int fixture_free(void **state)
{
	struct fixture *f = *state;

	engine_thread_free(f->t);
	free(f->in);
	free(f->mid);
	free(f->out);
	free(f);
	return 0;
}

#endif
