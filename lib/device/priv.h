/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of lib/device share.
 *
 * device.c  a device from its making to its end; its lock; the clock
 * cmd.c     commands
 * work.c    jobs: the queue, the threads that run them, the keys that engines keep
 * kind.c    what a device says of itself
 * wait.c    sleeping and waking
 */
#ifndef ACCEL_DEVICE_PRIV_H
#define ACCEL_DEVICE_PRIV_H

#include "device.h"
#include "wait.h"

#define NWAKE	8u
#define NHERE	16u			/* engines kept for threads that run jobs themselves */

struct worker {
	pthread_t thread;
	struct device *dev;
	struct engine_thread *engine;
	struct spinner spin;
	uint64_t forget_ns;		/* when to forget the keys that the engine keeps; UINT64_MAX: none */
};

/* For the engine page. */
struct busy {
	bool busy;
	uint32_t slot;
	uint64_t jobs, busy_ns;
};

struct device {
	struct device_opts opts;	/* name and uuid are in the model's identity; not kept here */
	pthread_mutex_t lock;
	struct model *model;
	uint64_t tick_ns;		/* when something is due next; also read without the lock */
	uint64_t now_ns, last_ns;	/* the time of this turn of the lock, 0: not yet known; of the last one */
	uint64_t poor_ns;		/* when the want of slot memory was last told of; 0: never */
	uint64_t own_memory;		/* opts.memory, if the caller has none */

	struct device_cmd *submitting;	/* the command that is with model_submit() now */
	uint16_t submit_status;		/* its status, if it has ended there; MODEL_SC_OK */

	/* Jobs that wait for an engine, the most urgent first, else in the order of arrival. */
	struct model_jobs queue;
	uint32_t njobs;			/* their number; read without the lock by those who spin */

	uint32_t kick;			/* changes with every job; idle workers sleep on it */
	unsigned int nworkers, nsleeping, nwoken, nspinning;
	bool stopping;
	struct worker *worker[DEVICE_MAX_THREADS];
	struct busy busy[DEVICE_MAX_THREADS];

	/* Small jobs of the commands that are being submitted: their thread runs them before it lets go. */
	struct model_jobs here;
	/* Engines of such threads that rest; counted up when those that do not rest are to forget keys. */
	unsigned int nengine;
	struct engine_thread *engine[NHERE];
	uint32_t forgets;
	uint64_t forget_ns;		/* when those that rest are to forget theirs; UINT64_MAX: they have none */

	/* Words on which somebody sleeps who is to be woken when the lock is free again. */
	unsigned int nwake;
	uint32_t *wake[NWAKE];
};

/* device.c: with the lock held. */
uint64_t device_now(struct device *dev);
void device_set_now(struct device *dev, uint64_t ns);

/* kind.c: the identity. 0 or -EINVAL. */
int kind_id(const struct device_opts *opts, struct wire_id *id);

/* cmd.c: of the model's environment. */
void cmd_done(void *ctx, struct model_cmd *m, uint16_t nvme_status);

/* work.c: of the model's environment. */
uint32_t work_start(void *ctx, struct model_job *job);
void work_stop(void *ctx, struct model_job *job);
int work_waits(void *ctx, const struct model_job *job);
void work_engines(void *ctx, struct nvme_accel_engines *page);
/* With the lock held, which is dropped while an engine runs: all jobs that wait, whoever they wait for. */
void work_run_queue(struct device *dev);
/* With the lock held: what is due by the clock. */
void work_tick(struct device *dev, uint64_t now);

#endif
