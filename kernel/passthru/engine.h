/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Namespaces of kind engine: the device model (lib/model) over engines of the kernel (kernel/engine).
 *
 *   engine.c       a namespace from enable to disable; its lock; the clock
 *   engine_cmd.c   commands: from requests to the model and back
 *   engine_work.c  the worker, which gives commands to the model, and the threads that run jobs
 *   engine_mem.c   memory of slots
 *   engine_id.c    what the namespace says of itself
 *
 * Whoever calls the model has eng.lock, a mutex: calls copy up to megabytes. Engines work, and commands are completed,
 * without it. queue() takes no lock at all: it puts the request on a list and wakes the worker.
 *
 * All threads here are in the path of I/O, which may be on behalf of reclaim (a compressor of swapped pages above us), so
 * they allocate with memalloc_noio_save(), and nothing that a command needs to make progress has to be allocated.
 */
#ifndef NAP_ENGINE_H
#define NAP_ENGINE_H

#include <linux/kthread.h>
#include <linux/wait.h>
#include "nap.h"
#include "../engine/kengine.h"
#include "../../lib/model/model.h"

#define ENG_MAX_THREADS	64u
#define ENG_INLINE_IOV	8u		/* pieces of a command that need no memory of their own */
#define ENG_NSPARE	4u		/* lists for the largest command, for when memory is short */
#define ENG_HERE_NBYTES	16384u		/* jobs up to this are run by the worker: cheaper than to wake another thread */
#define ENG_NEVER	(~0ull)

/* In nap_req.eng.space. */
struct eng_cmd {
	struct model_cmd m;		/* m.next is ours again when the model is done with it */
	struct kvec *list;		/* iov, or memory to be given back */
	s8 spare;			/* list is this spare one; -1: it is not */
	u16 status;
	struct kvec iov[ENG_INLINE_IOV];
};

static_assert(sizeof(struct eng_cmd) <= sizeof_field(struct nap_req, eng.space));

static inline struct eng_cmd *eng_cmd(struct nap_req *r)
{
	return (struct eng_cmd *)r->eng.space;
}

static inline struct nap_req *eng_req(struct eng_cmd *c)
{
	return container_of((u64 *)c, struct nap_req, eng.space[0]);
}

/* A thread that runs jobs, and what the engine page says of it. */
struct eng_thread {
	struct nap_engine *e;
	struct task_struct *task;
	struct kengine_thread *ke;
	u64 forget_ns;			/* when to forget keys and give memory back; ENG_NEVER: it has none */
	unsigned int forgets;		/* e->forgets when it last did */
	bool busy;
	u32 slot;
	u64 jobs, busy_ns;
};

struct nap_engine {
	struct nap_ns *ns;
	struct kengine *ke;
	struct model_cfg *cfg;

	/* From queue() to the worker. */
	struct llist_head in;
	struct task_struct *worker;
	struct kengine_thread *here_ke;	/* its engine for small jobs */
	/* The worker's alone. */
	struct llist_node *todo;	/* taken from in, in the order of arrival */
	u64 here_forget_ns;

	struct mutex lock;
	/* With the lock. */
	struct model *model;
	u64 now_ns, last_ns;		/* the time of this turn of the lock, 0: not yet known; of the one before */
	u64 due_ns;			/* when the model has something to do; the worker reads it without the lock */
	struct model_cmd *done, **done_end;	/* to be completed when the lock is free */
	bool submitting;		/* the worker is in model_submit(): it can run small jobs itself */
	struct model_jobs here;		/* those */
	struct model_jobs jobs;		/* that wait for a thread, the most urgent first */
	u32 njobs;			/* their number; threads read it without the lock */
	unsigned int nwake;		/* threads to wake when the lock is free */
	unsigned int forgets;		/* counts leases that have ended: keys are not kept beyond that */
	u32 held;			/* of ctrl->held, ours */
	u64 memory;			/* bytes of slot memory */

	struct wait_queue_head wait;	/* threads with nothing to do */
	unsigned int nthreads;
	struct eng_thread *thread;

	spinlock_t spare_lock;
	unsigned long spare_used;	/* bit i: spare[i] is in use */
	struct kvec *spare[ENG_NSPARE];
	bool starved;			/* the worker waits for a spare list */
};

/* engine.c */
void eng_lock(struct nap_engine *e);
void eng_unlock(struct nap_engine *e);	/* completes commands and wakes threads: no other lock may be held */
u64 eng_now(struct nap_engine *e);
void eng_set_now(struct nap_engine *e, u64 ns);
void eng_tick(struct nap_engine *e, u64 now);

/* engine_cmd.c */
blk_status_t eng_queue(struct nap_ns *ns, struct nap_req *r);
bool eng_cmd_prepare(struct nap_engine *e, struct nap_req *r);
void eng_cmd_complete(struct nap_engine *e, struct model_cmd *list);
void eng_cmd_done(void *ctx, struct model_cmd *cmd, u16 status);	/* of model_env */
int eng_spare_init(struct nap_engine *e);
void eng_spare_free(struct nap_engine *e);

/* engine_work.c */
int eng_work_start(struct nap_engine *e);
void eng_work_stop(struct nap_engine *e);
u32 eng_job_start(void *ctx, struct model_job *job);			/* of model_env */
void eng_job_stop(void *ctx, struct model_job *job);
int eng_job_waits(void *ctx, const struct model_job *job);
void eng_engines(void *ctx, struct nvme_accel_engines *page);

/* engine_mem.c: of model_env */
void *eng_mem_get(void *ctx, size_t nbytes);
void eng_mem_zero(void *ctx, void *p, size_t nbytes);
void eng_mem_put(void *ctx, void *p, size_t nbytes);

/* engine_id.c */
u16 eng_type(const char *name);		/* enum nvme_accel_type; 0: no such kind */
int eng_id(struct nap_engine *e, struct wire_id *id);

#endif
