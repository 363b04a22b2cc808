/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software accelerator in the process: what the files of the soft transport share.
 *
 * A node is one namespace: an instance of the device model, the engines behind it and one lock over both.
 * Whoever calls the model holds the lock; engines run without it. Completions go to the queue that the
 * command came by, under the same lock; sleepers are woken after it is let go.
 */
#ifndef ACCEL_TRANSPORT_SOFT_H
#define ACCEL_TRANSPORT_SOFT_H

#include <pthread.h>
#include "../engine/engine.h"
#include "../model/model.h"
#include "transport.h"

#define SOFT_NS_ALL	7u		/* the namespace with all functions; 1..6 are special ones */
#define SOFT_MAX_THREADS 64u
#define SOFT_NWAKE	8u
#define SOFT_NHERE	8u		/* engines kept for threads that run jobs themselves */

struct soft_opts {
	unsigned int nsid;		/* 1..SOFT_NS_ALL */
	unsigned int threads;		/* 0: engines run in the threads that submit and reap */
	unsigned int slots;
};

/* How long it pays to look at a word before sleeping on it; learns from how it went. */
struct spinner {
	int32_t credit;
};

struct soft_worker {
	pthread_t thread;
	struct soft_node *node;
	struct engine_thread *engine;
	struct spinner spin;
	uint64_t forget_ns;		/* when to forget the keys that the engine keeps; UINT64_MAX: none */
};

/* For the engine page. */
struct soft_busy {
	bool busy;
	uint32_t slot;
	uint64_t jobs, busy_ns;
};

struct soft_node {
	struct soft_node *next;
	struct transport_env *env;
	struct soft_opts opts;
	pthread_mutex_t lock;
	struct model *model;
	unsigned int opens;
	uint64_t tick_ns;		/* when model_tick() is due next, as far as is known */

	/* Jobs that wait for an engine, the most urgent first, else in the order of arrival. */
	struct model_job *first, *last;
	uint32_t njobs;			/* their number; read without the lock by those who spin */

	uint32_t kick;			/* changes with every job; idle workers sleep on it */
	unsigned int nworkers, nsleeping, nwoken, nspinning;
	bool stopping;
	struct soft_worker *worker[SOFT_MAX_THREADS];
	struct soft_busy busy[SOFT_MAX_THREADS];

	/* For soft_run_here(): engines that rest; counted up when those that do not are to forget keys. */
	unsigned int nhere;
	struct engine_thread *here[SOFT_NHERE];
	uint32_t forgets;

	/* Words on which somebody sleeps who is to be woken when the lock is free again. */
	unsigned int nwake;
	uint32_t *wake[SOFT_NWAKE];
};

struct soft_nodes {
	pthread_mutex_t lock;
	struct soft_node *first;
};

struct transport_dev {
	struct soft_node *node;
};

struct transport_queue {
	struct soft_node *node;
	struct transport_cmd *first, *last;	/* completed */
	uint32_t ndone;			/* their number; read without the lock */
	uint32_t want;			/* so many are waited for */
	bool sleeping;			/* somebody sleeps on ndone */
	bool signalled;			/* the eventfd has been written and not read */
	int fd;				/* -1: nobody asked for it */
	struct spinner spin;
	unsigned int depth, nfree;
	uint32_t *free;			/* indexes of the table that are free */
	struct transport_cmd **table;	/* in flight */
};

/* In transport_cmd.priv. */
struct soft_cmd {
	struct model_cmd m;
	struct transport_queue *q;
	uint32_t index;
};

_Static_assert(sizeof(struct soft_cmd) <= sizeof(((struct transport_cmd *)0)->priv), "priv is too small");

/* soft_node.c: -errno; a node is made at the first open and lives as long as the environment. */
int soft_node_open(struct transport_env *env, const struct soft_opts *opts, struct soft_node **node);
void soft_node_close(struct soft_node *node);
void soft_node_free(struct soft_node *node);

void soft_lock(struct soft_node *node);
void soft_unlock(struct soft_node *node);	/* and wakes */
/* To be woken by the next soft_unlock(). */
void soft_wake_later(struct soft_node *node, uint32_t *word);
/* Lets the model do what is due. With the lock held. */
void soft_tick(struct soft_node *node, uint64_t now_ns);

/* soft_id.c: the identity of a namespace; NULL name: there is none with that number. */
const char *soft_ns_name(unsigned int nsid);
int soft_id(const struct soft_opts *opts, struct wire_id *id);

/* soft_engine.c: all with the lock held. */
uint32_t soft_job_start(void *ctx, struct model_job *job);
void soft_job_stop(void *ctx, struct model_job *job);
void soft_engines(void *ctx, struct nvme_accel_engines *page);
/* Runs all jobs that wait, in this thread; drops the lock while an engine runs. */
void soft_run_here(struct soft_node *node);
/* Takes and drops the lock by itself. */
void soft_forget_here(struct soft_node *node);
/* Ends the workers; takes and drops the lock by itself. */
void soft_workers_join(struct soft_node *node);

/* soft_queue.c */
void soft_cmd_done(void *ctx, struct model_cmd *cmd, uint16_t nvme_status);
int soft_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **q);
void soft_queue_free(struct transport_queue *q);
int soft_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n);
int soft_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
	      int timeout_ms);
int soft_queue_fd(struct transport_queue *q);

/* wait.c */
uint64_t wait_now_ns(void);
/* Sleeps while *word is value, at most until deadline_ns. */
void wait_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns);
void wait_wake(uint32_t *word, int n);
void wait_spinner_init(struct spinner *s, unsigned int ncpu);
/* Looks at *word for a short while; true: it is not value any more. */
bool wait_spin(struct spinner *s, const uint32_t *word, uint32_t value);

#endif
