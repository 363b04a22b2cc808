/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lib/engine share. */
#ifndef ACCEL_ENGINE_PRIV_H
#define ACCEL_ENGINE_PRIV_H

#include "engine.h"

enum scratch { SCRATCH_IN, SCRATCH_OUT, SCRATCH_CHAIN0, SCRATCH_CHAIN1, SCRATCH_VERIFY, SCRATCH_WORK, SCRATCH_N };

struct comp_thread;
struct cipher_thread;
struct digest_thread;

struct engine_thread {
	struct comp_thread *comp;	/* NULL until first used */
	struct cipher_thread *cipher;
	struct digest_thread *digest;
	struct { void *p; size_t size; } scratch[SCRATCH_N];
};

/* Scratch memory of at least n bytes, contents undefined; NULL: no memory. Stays until the next call with
 * the same which. Aligned to 64. */
void *engine_scratch(struct engine_thread *t, enum scratch which, size_t n);

/* The job's input as one contiguous piece: in place if it is one, else gathered into scratch. NULL: no
 * memory (the job then has its code set). */
const void *engine_flat_in(struct engine_thread *t, struct job *job);

/* Sets code and stage, clears out_len. */
void engine_fail(struct job *job, unsigned int index, uint32_t code);
static inline int engine_stopped(const struct job *job)
{
	return __atomic_load_n(&job->stop, __ATOMIC_RELAXED);
}

/* A family: compress.c and its helpers, ec.c, cipher.c, digest.c, checksum.c, move.c. */
struct engine_family {
	const struct engine_fn *fns;
	unsigned int nfns;
	/* The family's entries for a table of operations; returns how many. */
	unsigned int (*ops)(struct wire_op *ops, unsigned int max);
	/* Worst case of output; UINT64_MAX if only the data can tell. */
	uint64_t (*bound)(const struct job_stage *stage, uint64_t in_len);
};

extern const struct engine_family engine_compress, engine_ec, engine_cipher, engine_digest,
	engine_checksum, engine_move;

void comp_thread_free(struct comp_thread *c);
void cipher_thread_free(struct cipher_thread *c);
void digest_thread_free(struct digest_thread *d);

/* The parts of engine_stream that a family serves; engine_stream in stream.c dispatches. */
struct stream_fns {
	void *(*open)(uint16_t alg, uint64_t arg1, uint32_t *code);
	enum engine_stream_state (*step)(void *s, const void *in, size_t *in_len, void *out,
					 size_t *out_len, uint32_t *code);
	size_t (*result)(void *s, uint8_t *result);
	void (*reset)(void *s);
	void (*close)(void *s);
};

extern const struct stream_fns comp_stream, digest_stream, checksum_stream;

#endif
