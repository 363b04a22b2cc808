/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzz targets of the compression engines share. A disagreement ends in abort(). */
#ifndef FUZZ_COMPRESS_H
#define FUZZ_COMPRESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../lib/engine/compress.h"

#define FUZZ_ROOM (256u << 10)

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* FUZZ_ROOM bytes with a page that faults behind them, made once; place n bytes flush with it. */
static inline uint8_t *flush_with_guard(uint8_t **room, const uint8_t *p, size_t n)
{
	if (!*room) {
		*room = mmap(NULL, FUZZ_ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		CHECK(*room != MAP_FAILED);
		CHECK(!mprotect(*room + FUZZ_ROOM, 4096, PROT_NONE));
	}
	CHECK(n <= FUZZ_ROOM);
	if (p && n)
		memcpy(*room + FUZZ_ROOM - n, p, n);
	return *room + FUZZ_ROOM - n;
}

static inline uint32_t fuzz_run(struct engine_thread *t, const struct engine_fn *fn, struct job_stage stage,
				const uint8_t *in, size_t n, uint8_t *out, size_t max, struct job *job)
{
	struct iovec iov[2] = { { (void *)(uintptr_t)in, n }, { out, max } };

	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->stage[0] = stage;
	job->in = &iov[0];
	job->out = &iov[1];
	job->nin = job->nout = 1;
	job->in_len = n;
	job->out_max = max;
	engine_run_fn(t, fn, job);
	job->in = job->out = NULL;
	CHECK(job->out_len <= max && job->in_used <= n);
	CHECK(job->code == NVME_ACCEL_OK || !job->out_len);
	CHECK(job->code != NVME_ACCEL_OUTPUT_SHORT || job->out_needed > max);
	return job->code;
}

static inline const struct engine_fn *fuzz_fn(uint16_t op, uint16_t alg, unsigned int nth)
{
	unsigned int i;

	for (i = 0; i < engine_compress.nfns; i++)
		if (engine_compress.fns[i].op == op && engine_compress.fns[i].alg == alg && !nth--)
			return &engine_compress.fns[i];
	return NULL;
}

#endif
