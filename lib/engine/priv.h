/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lib/engine share. */
#ifndef ACCEL_ENGINE_PRIV_H
#define ACCEL_ENGINE_PRIV_H

#include "engine.h"
#include "port.h"

enum scratch {
	SCRATCH_IN, SCRATCH_OUT, SCRATCH_CHAIN0, SCRATCH_CHAIN1, SCRATCH_VERIFY, SCRATCH_WORK, SCRATCH_N
};

struct comp_thread;
struct cipher_thread;
struct digest_thread;
struct checksum_thread;
struct ec_thread;

struct engine_thread {
	struct comp_thread *comp;	/* NULL until first used */
	struct cipher_thread *cipher;
	struct digest_thread *digest;
	struct checksum_thread *checksum;
	struct ec_thread *ec;
	/* used: most bytes asked for since the job began, which is what a wipe has to cover. */
	struct { void *p; size_t size, used; } scratch[SCRATCH_N];
	/* The output of the stage that runs is scratch of a chain: nobody else sees it before its end. */
	int private_out;
	void *env;			/* the surroundings'; engines of a kernel find their providers there */
};

/* Scratch memory of at least n bytes, contents undefined; NULL: no memory. Stays until the next call with
 * the same which. Aligned to 64. */
void *engine_scratch(struct engine_thread *t, enum scratch which, size_t n);

/* The job's input as one contiguous piece: in place if it is one, else gathered into scratch. NULL: no
 * memory (the job then has its code set). */
const void *engine_flat_in(struct engine_thread *t, struct job *job);

/* The outcome of a job before it begins. */
void engine_reset(struct job *job);

/* Sets code and stage, clears out_len. */
void engine_fail(struct job *job, unsigned int index, uint32_t code);

/* OUTPUT_SHORT with the exact number of bytes that would have done. */
void engine_fail_short(struct job *job, unsigned int index, uint64_t needed);

/* The result of a stage, at most JOB_LONG_LEN bytes. */
void engine_set_result(struct job *job, unsigned int index, const void *result, size_t n);

/* The entry that the table prefers for a stage; NULL with *code set if there is none. */
const struct engine_fn *engine_pick(const struct job_stage *stage, uint64_t in_len, uint32_t *code);

/* chain.c: more than one stage. */
void chain_run(struct engine_thread *t, struct job *job);
/* engine.c: one stage with what the job's flags want around it (STORE_IF_LARGER, VERIFY). */
void engine_run_stage(struct engine_thread *t, const struct engine_fn *fn, unsigned int index,
		      struct job *job);

/* Whether the first n bytes of two lists are the same; *at is the first difference. */
int iov_equal(struct iov_pos a, struct iov_pos b, uint64_t n, uint64_t *at);

/* CRC-32C by the fastest means there is, over the first n bytes of a list. */
uint32_t checksum_crc32c(uint32_t crc, const struct base_iov *iov, unsigned int niov, uint64_t n);

static inline int engine_stopped(const struct job *job)
{
#ifdef __KERNEL__
	cond_resched();
#endif
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
void cipher_thread_forget(struct cipher_thread *c);
void digest_thread_free(struct digest_thread *d);
void checksum_thread_free(struct checksum_thread *c);
void ec_thread_free(struct ec_thread *e);

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
