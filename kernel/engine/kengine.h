/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines inside the kernel: lib/engine's functions over buffers (struct job) by the kernel's zlib, its crypto API and
 * GF(2^8) code of our own. They know no namespace and no lease.
 *
 * What a job means is said in lib/engine/engine.h: stages, chains, flags, codes. lib/engine/{engine,chain,...}.c are the
 * frame here too; only what computes is the kernel's.
 */
#ifndef KENGINE_H
#define KENGINE_H

#include "../../lib/wire/wire.h"

#define KENGINE_MAX_BYTES	(4u << 20)	/* of input, and of output, of a job */
#define KENGINE_WHY_LEN		160u

struct kengine;
struct kengine_thread;

struct kengine_conf {
	/* enum nvme_accel_type: COMPRESSION, ERASURE, CIPHER, DIGEST, CHECKSUM, DATA, or MULTI for all of them. */
	u16 type;
	/*
	 * cra_driver_name of the crypto API's driver that must serve the type's main operation: deflate, gcm(aes) (or
	 * xts(aes), ctr(aes): whatever it implements) or sha256 (sha512, ...). NULL or "": the best one that is hardware,
	 * else the kernel's library or the best one there is; never one of this project's own (whose name says nvme-accel).
	 */
	const char *driver;
	u32 window_bits;	/* largest deflate window that a compressor uses, 9..15; 0: 15 */
};

/* Once in a module: before all else, and behind all else. May sleep. */
int kengine_init(void);
void kengine_exit(void);

/*
 * Makes the engine of a namespace: looks for providers and holds them (modules are loaded as needed). May sleep.
 * On failure a negative errno and in why (KENGINE_WHY_LEN bytes) what to tell the administrator.
 */
int kengine_new(const struct kengine_conf *conf, struct kengine **ke, char *why);
/* All its threads have been freed. */
void kengine_free(struct kengine *ke);

/* What it does: entries for the table of operations, as they are (max_in and max_out are at most KENGINE_MAX_BYTES). */
unsigned int kengine_ops(const struct kengine *ke, struct wire_op *ops, unsigned int max);
/* FEAT bits that are the engine's: IN_CRC, OUT_CRC, VERIFY, STOP, and SOFTWARE unless hardware serves its main operation. */
u64 kengine_features(const struct kengine *ke);
/* One line for the log: who serves what ("deflate: zlib; gcm(aes): generic-gcm-aesni"). */
void kengine_describe(const struct kengine *ke, char *text, size_t max);

/*
 * What an engine keeps between jobs: one a worker, used by one job at a time. NULL: no memory. May sleep. Memory
 * for the largest job so far stays until kengine_thread_forget().
 */
struct kengine_thread *kengine_thread_new(struct kengine *ke);
void kengine_thread_free(struct kengine_thread *t);
/*
 * Wipes keys and gives memory back: when a lease has ended, and when the worker has been idle for a while. Not while a job
 * runs on the thread.
 */
void kengine_thread_forget(struct kengine_thread *t);

/*
 * Runs a job to its end, in process context; sleeps. job->in and job->out are lists of any pieces at any alignment, in
 * kmalloc, page (page_address()) or vmalloc memory; they and the stages' parameters stay until it returns, and nobody
 * writes to input or parameters meanwhile. Lists may be longer than in_len and out_max.
 *
 * job->stop may be set (WRITE_ONCE) at any time from any context; the job then ends with ABORTED within some
 * milliseconds, or when the hardware that has it answers. Hardware that does not answer within 10 s is given up:
 * DEVICE_FAULT, output memory is not touched any more, and the kernel log tells.
 *
 * Memory that a job needs beyond what is there is allocated without I/O (NO_RESOURCES if there is none).
 */
void kengine_run(struct kengine_thread *t, struct job *job);

#endif
