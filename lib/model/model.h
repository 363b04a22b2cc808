/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device side of the namespace interface: one instance is one accelerator namespace. It takes Read,
 * Write and Flush commands by byte range and answers them; time, randomness, memory, engines and the
 * completion of commands are callbacks. Freestanding C11: nothing from a C library but mem*, no floating
 * point, no recursion, no allocation except through the callbacks.
 *
 * Calls on one instance must be serialised by the caller. Callbacks run inside these calls and must not
 * call back into the instance (an engine that ends at once reports it after the call has returned).
 */
#ifndef ACCEL_MODEL_H
#define ACCEL_MODEL_H

#include "../wire/wire.h"

struct model;

enum model_opcode { MODEL_READ = 2, MODEL_WRITE = 1, MODEL_FLUSH = 0 };	/* NVM opcodes */

/* NVMe status: SCT << 8 | SC, bit 14 DNR. */
#define MODEL_SC_OK		0x000
#define MODEL_SC_INVALID_FIELD	0x4002	/* with DNR */
#define MODEL_SC_INVALID_OPCODE	0x4001
#define MODEL_SC_SEQUENCE	0x400c	/* output asked for by WAIT before there is any */
#define MODEL_SC_LBA_RANGE	0x4080
#define MODEL_SC_ACCESS_DENIED	0x4286
#define MODEL_SC_NOT_READY	0x0082
#define MODEL_SC_ABORTED	0x4007	/* by Abort or controller shutdown */

#define MODEL_CMD_BORROW	1u
#define MODEL_CMD_LOCAL		2u
/*
 * BORROW: the command's buffers may be used in place until it ends.
 *
 * A write with COMPLETE_ON_DONE that carries the whole input lends it to the engine and is held until the
 * job has ended. A read of the WAIT alias that is held when the job starts, begins with the status block
 * and has room for out_max behind it lends its buffer to a job with RELEASE_RESULT; such a result cannot
 * be read again (its status can, without OUTPUT_VALID: whoever lost the answer runs the job again). So submit
 * the read first, then the write: with both no payload is copied and no slot memory touched. Where lending is
 * not possible (the write could not be held for want of room, a list in too many pieces) the model copies,
 * and all else is the same.
 *
 * While an engine uses a buffer its command cannot end, at HOLDMAX neither; what is lent to a job that no
 * engine has begun (job_waits()) is taken back first. model_cancel() and the like stop the job, and the
 * command completes from model_job_done(): with LOCAL the job is ABORTED, without it is DATA_MISSING, which
 * tells a host that has come back by another path to run it again.
 *
 * LOCAL: the buffers are memory of the one process that sends and executes; no path between them loses or
 * cuts off a command, and nothing in a buffer is another one's secret. So a held command knows no HOLDMAX, and
 * a read with BORROW of a job with RELEASE_RESULT is not padded: what lies beyond out_len (beyond the status
 * block if the job did not end well) is as the caller, or a job that was stopped, left it. All other reads
 * have zeros there.
 */

/*
 * Reads that wait for nothing. Nobody tells the model which read waits for which write, and the slot may be
 * another process's by the time the write comes. But a held read may end early at any time, as at HOLDMAX,
 * and whoever still wants the job asks again. So a write to a write half that is refused, for whatever reason,
 * ends the held reads of the same host, slot and alias, but for those that an engine has. With FEAT.7
 * nobody else's can be there; without it the other hosts' go on. LOCAL reads stay where a write is refused with
 * Access Denied: their buffers are not to be touched for somebody else's slot, and their sender knows what belongs
 * together and cancels them.
 */

/*
 * Sequence numbers, where the interface leaves room. The first one of a lease is 1. SEQ_GAP and BUSY (the
 * job before is queued or running) leave the number unused: send the same one again. Any other outcome
 * uses it up, ABORTED too: an abort may overtake its job, which is then never run. An engine that takes
 * no job gives NO_RESOURCES. Input of job n + 2^a - 1 (a: alias bits) may be sent once descriptor n has been
 * accepted; what comes earlier is ignored as late data of the alias's last job.
 *
 * What no device can tell: input carries neither seq nor nonce, so a write that a path delivers after its
 * alias has been opened for a later job (or its slot for a later lease of the same host) counts as that
 * one's. Where paths may do so, send the descriptor when the input's writes have completed, or send IN_CRC.
 */

struct model_cmd {
	/* Set by the caller, who owns the structure until cmd_done. */
	uint8_t opcode;
	uint32_t flags;
	uint64_t off;			/* first byte of the namespace */
	uint64_t nbytes;		/* whole blocks */
	const struct base_iov *iov;	/* at least nbytes */
	unsigned int niov;
	uint64_t host;			/* whose command: any number that tells hosts apart */
	/* The model's. */
	struct model_cmd *next;
	uint64_t deadline_ns;
	uint32_t slot;
	uint8_t alias, kind;
};

struct model_job {
	struct job job;			/* for the engine */
	uint32_t slot;
	uint64_t seq;
	uint8_t alias;
	uint32_t limit_ms;		/* 0: none */
	uint16_t priority;
	/*
	 * When an engine took the job up (now_ns()); the environment may store it, atomically. 0: unknown,
	 * the job counts as QUEUED and its time as execution.
	 */
	uint64_t start_ns;
	void *env_priv;			/* for the environment while it has the job */
	struct model_job *env_next;
};

struct model_env {
	uint64_t (*now_ns)(void *ctx);			/* monotonic */
	void (*random)(void *ctx, void *buf, size_t n);
	/*
	 * Zeroed memory for a slot; NULL if there is none. The model asks when a lease is granted, or (cfg.lazy_memory)
	 * for each area of a slot when a job first needs it.
	 */
	void *(*mem_get)(void *ctx, size_t nbytes);
	/* Makes memory read as zeros (may give its pages back). */
	void (*mem_zero)(void *ctx, void *p, size_t nbytes);
	void (*mem_put)(void *ctx, void *p, size_t nbytes);	/* zeroed by the model before */
	/* Gives a job to an engine: OK, or BUSY or NO_RESOURCES. Ended by model_job_done(). */
	uint32_t (*job_start)(void *ctx, struct model_job *job);
	/* The job should end soon; it still ends by model_job_done(). */
	void (*job_stop)(void *ctx, struct model_job *job);
	/*
	 * Whether no engine has begun the job, and none will before the call of the model that asks returns: the
	 * model may then give the job other buffers. May be NULL: nobody knows.
	 */
	int (*job_waits)(void *ctx, const struct model_job *job);
	void (*cmd_done)(void *ctx, struct model_cmd *cmd, uint16_t nvme_status);
	/* How many engines are busy and how many jobs wait, for the pages; may be NULL. */
	void (*engines)(void *ctx, struct nvme_accel_engines *page);
};

struct model_cfg {
	struct wire_id id;		/* geometry, operations, name, uuid; offsets by wire_layout() */
	uint32_t max_held;		/* held commands in all: half of what the controller takes */
	uint32_t lease_default_ms;	/* 10000 */
	/*
	 * For surroundings whose memory is used up from when it is got, not from when it is touched: areas of slots
	 * (an input for each alias, an output) get theirs when a job cannot work in place. A job for which there is none
	 * ends with NO_RESOURCES, a write of input alone with Namespace Not Ready.
	 */
	int lazy_memory;
};

/* Bytes that an instance needs, 0 if the configuration is out of range. */
size_t model_size(const struct model_cfg *cfg);

/* Makes an instance in mem (model_size() bytes, aligned to 64). NULL if the configuration is refused. */
struct model *model_init(void *mem, const struct model_cfg *cfg, const struct model_env *env, void *ctx);

/*
 * Ends the instance: held commands complete with ABORTED, running jobs are stopped. Returns the number of
 * jobs that engines still have; the caller brings those to model_job_done() and calls again until it is 0.
 */
unsigned int model_fini(struct model *m);

/* Executes or holds a command; cmd_done() is called once, now or later. */
void model_submit(struct model *m, struct model_cmd *cmd);

/* An engine has ended the job, its outcome in job->job. */
void model_job_done(struct model *m, struct model_job *job);

/* Cuts short a held command (Abort, lost connection): it ends with ABORTED, at once unless an engine has its
 * buffers. 0 if it was not held any more. */
int model_cancel(struct model *m, struct model_cmd *cmd);

/* A host is gone for good (its association ended): its held commands end. Leases live on. */
void model_host_gone(struct model *m, uint64_t host);

/*
 * Does what is due by the clock (lease expiry, HOLDMAX, time limits); returns when to call next, in ns of
 * now_ns(), UINT64_MAX for never. Any other call may bring that forward: ask again before a long sleep. A
 * call before anything is due costs no more than reading the clock.
 */
uint64_t model_tick(struct model *m);

/* When model_tick() has something to do, at the earliest; UINT64_MAX: never. Does not read the clock. */
uint64_t model_due(const struct model *m);

/* Commands that are held now. */
uint32_t model_held(const struct model *m);

/* Changes cfg.max_held, where others share what the controller takes. What is held already stays. */
void model_set_max_held(struct model *m, uint32_t max_held);

/* A subsystem reset: leases end, jobs stop, BOOTID changes. */
void model_reset(struct model *m);

/* The 4096 bytes of Identify Namespace as they are now. */
void model_identify(struct model *m, void *page);

/* For whoever shows the state of a device from inside: the statistics page. */
void model_stats(struct model *m, struct nvme_accel_stats *page);

/* ---- For environments: jobs that wait for an engine (waiting.c) ---- */

struct model_jobs {
	struct model_job *first, *last;	/* last: only if there is a first */
};

void model_jobs_add(struct model_jobs *list, struct model_job *mj);	/* in the order of arrival */
void model_jobs_push(struct model_jobs *list, struct model_job *mj);	/* the most urgent first, else in that order */
struct model_job *model_jobs_pop(struct model_jobs *list);		/* NULL: there is none */
/* Whether it ciphers: whoever has run it has seen a key. */
int model_job_has_key(const struct model_job *mj);
/* Whether it is no more work than a checksum of limit bytes. */
int model_job_is_small(const struct model_job *mj, uint32_t limit);

#endif
