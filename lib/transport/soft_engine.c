// SPDX-License-Identifier: BSD-2-Clause
/* The engines of the software accelerator: worker threads, or whoever submits and reaps. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

#define KEEP_KEYS_NS 100000000u		/* by a worker that has nothing to do */

static void jobs_count(struct soft_node *node, int by)
{
	__atomic_store_n(&node->njobs, node->njobs + (uint32_t)by, __ATOMIC_RELEASE);
}

static void jobs_push(struct soft_node *node, struct model_job *job)
{
	struct model_job **at = &node->first;

	job->env_next = NULL;
	jobs_count(node, 1);
	if (!node->first || node->last->priority >= job->priority) {
		if (node->first)
			node->last->env_next = job;
		else
			node->first = job;
		node->last = job;
		return;
	}
	while (*at && (*at)->priority >= job->priority)
		at = &(*at)->env_next;
	job->env_next = *at;
	*at = job;
}

static struct model_job *jobs_pop(struct soft_node *node)
{
	struct model_job *job = node->first;

	if (job) {
		node->first = job->env_next;
		if (!node->first)
			node->last = NULL;
		jobs_count(node, -1);
	}
	return job;
}

/* The job, without the lock. One that was told to stop before it began is not begun. */
static void run(struct engine_thread *engine, struct job *job)
{
	if (!engine)
		job->code = NVME_ACCEL_NO_RESOURCES;
	else if (__atomic_load_n(&job->stop, __ATOMIC_RELAXED))
		job->code = NVME_ACCEL_ABORTED;
	else
		engine_run(engine, job);
}

/* Runs one job between two turns of the lock; busy: which entry of the engine page it counts for. */
static void run_unlocked(struct soft_node *node, struct engine_thread *engine, struct model_job *job,
			 struct soft_busy *busy)
{
	uint64_t start, end;

	busy->busy = true;
	busy->slot = job->slot;
	soft_unlock(node);
	start = wait_now_ns();
	__atomic_store_n(&job->start_ns, start, __ATOMIC_RELAXED);
	run(engine, &job->job);
	end = wait_now_ns();
	soft_lock(node);
	busy->busy = false;
	busy->jobs++;
	busy->busy_ns += end - start;
	model_job_done(node->model, job);
	soft_tick(node, end);
}

void soft_run_here(struct soft_node *node)
{
	struct engine_thread *engine;
	uint32_t forgets = node->forgets;
	struct model_job *job;

	if (!node->first)
		return;
	engine = node->nhere ? node->here[--node->nhere] : engine_thread_new();
	while ((job = jobs_pop(node)))
		run_unlocked(node, engine, job, &node->busy[0]);
	if (!engine)
		return;
	if (forgets != node->forgets)
		engine_thread_forget(engine);
	if (node->nhere < SOFT_NHERE)
		node->here[node->nhere++] = engine;
	else
		engine_thread_free(engine);
}

void soft_forget_here(struct soft_node *node)
{
	unsigned int i;

	soft_lock(node);
	node->forgets++;
	for (i = 0; i < node->nhere; i++)
		engine_thread_forget(node->here[i]);
	soft_unlock(node);
}

static bool has_key(const struct job *job)
{
	unsigned int i;

	for (i = 0; i < job->nstage && i < JOB_MAX_STAGES; i++)
		if (job->stage[i].op == NVME_ACCEL_OP_ENCRYPT || job->stage[i].op == NVME_ACCEL_OP_DECRYPT)
			return true;
	return false;
}

/*
 * Keys do not outlive their use for long: a worker forgets those that no job has brought for a while. Between
 * jobs that follow each other they stay, since to set one up costs more than a small job.
 */
static void worker_forget(struct soft_worker *w, uint64_t now)
{
	if (now < w->forget_ns)
		return;
	engine_thread_forget(w->engine);
	w->forget_ns = UINT64_MAX;
}

static void worker_run(struct soft_worker *w, struct model_job *job, struct soft_busy *busy)
{
	bool secret = has_key(&job->job);

	run_unlocked(w->node, w->engine, job, busy);
	if (secret)
		w->forget_ns = wait_now_ns() + KEEP_KEYS_NS;
	else if (w->forget_ns != UINT64_MAX)
		worker_forget(w, wait_now_ns());
}

/* Waits for work, with the lock held at both ends. */
static void worker_wait(struct soft_node *node, struct soft_worker *w)
{
	uint64_t now, until;
	uint32_t seen;

	if (node->nspinning == 0) {
		node->nspinning++;
		soft_unlock(node);
		wait_spin(&w->spin, &node->njobs, 0);
		soft_lock(node);
		node->nspinning--;
		if (node->first || node->stopping)
			return;
	}
	now = wait_now_ns();
	soft_tick(node, now);
	if (node->first)
		return;
	worker_forget(w, now);
	until = BASE_MIN(node->tick_ns, w->forget_ns);
	seen = node->kick;
	node->nsleeping++;
	soft_unlock(node);
	wait_sleep(&node->kick, seen, until);
	soft_lock(node);
	node->nsleeping--;
	if (node->nwoken)
		node->nwoken--;
}

static void *worker_main(void *arg)
{
	struct soft_worker *w = arg;
	struct soft_node *node = w->node;
	struct model_job *job;
	unsigned int i;

	soft_lock(node);
	for (i = 0; i < node->nworkers && node->worker[i] != w; i++)
		;
	while (!node->stopping) {
		job = jobs_pop(node);
		if (job)
			worker_run(w, job, &node->busy[i]);
		else
			worker_wait(node, w);
	}
	soft_unlock(node);
	return NULL;
}

/*
 * Signals are the application's: none is delivered to a thread of ours, but those by which the kernel reports
 * what the thread itself did. A job's buffer may be a file's mapping, and if the file shrinks, the application's
 * handler for SIGBUS has to run where the access was; blocked, the signal would end the process.
 */
static int thread_start(struct soft_worker *w, unsigned int index)
{
	static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL };
	sigset_t all, old;
	size_t i;
	char name[16];
	int ret;

	sigfillset(&all);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&w->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	snprintf(name, sizeof(name), "accel-%u.%u", w->node->opts.nsid, index);
	pthread_setname_np(w->thread, name);
	return 0;
}

static int worker_start(struct soft_node *node)
{
	struct soft_worker *w = calloc(1, sizeof(*w));
	int ret = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->node = node;
	w->forget_ns = UINT64_MAX;
	wait_spinner_init(&w->spin, node->env->ncpu);
	w->engine = engine_thread_new();
	if (!w->engine)
		goto fail;
	/* In the table first: the thread looks itself up there, once it gets the lock that we hold. */
	node->worker[node->nworkers] = w;
	ret = thread_start(w, node->nworkers);
	if (ret)
		goto fail;
	node->nworkers++;
	return 0;
fail:
	transport_log(node->env, 1, "soft: no thread for an engine: %s", strerror(-ret));
	engine_thread_free(w->engine);
	free(w);
	return ret;
}

uint32_t soft_job_start(void *ctx, struct model_job *job)
{
	struct soft_node *node = ctx;

	if (node->opts.threads) {
		if (node->njobs >= node->nsleeping + node->nspinning && node->nworkers < node->opts.threads)
			worker_start(node);
		if (!node->nworkers)
			return NVME_ACCEL_NO_RESOURCES;
		/* Those who spin, or have been woken and are on their way, take one each. */
		if (node->njobs >= node->nspinning + node->nwoken && node->nsleeping > node->nwoken) {
			node->nwoken++;
			__atomic_add_fetch(&node->kick, 1, __ATOMIC_RELEASE);
			soft_wake_later(node, &node->kick);
		}
	}
	jobs_push(node, job);
	return NVME_ACCEL_OK;
}

void soft_job_stop(void *ctx, struct model_job *job)
{
	(void)ctx;
	__atomic_store_n(&job->job.stop, 1, __ATOMIC_RELAXED);
}

void soft_engines(void *ctx, struct nvme_accel_engines *page)
{
	struct soft_node *node = ctx;
	unsigned int n = BASE_MAX(node->opts.threads, 1u), i;

	memset(page, 0, sizeof(*page));
	memcpy(page->magic, NVME_ACCEL_ENGINES_MAGIC, sizeof(page->magic));
	page->version = 1;
	le32_put(&page->nengine, n);
	le32_put(&page->queued, node->njobs);
	for (i = 0; i < n && i < NVME_ACCEL_NENGSTATE; i++) {
		page->engine[i].busy = node->busy[i].busy;
		le32_put(&page->engine[i].slot, node->busy[i].busy ? node->busy[i].slot : ~0u);
		le64_put(&page->engine[i].jobs, node->busy[i].jobs);
		le64_put(&page->engine[i].busy_ns, node->busy[i].busy_ns);
	}
}

void soft_workers_join(struct soft_node *node)
{
	unsigned int i;

	soft_lock(node);
	node->stopping = true;
	__atomic_add_fetch(&node->kick, 1, __ATOMIC_RELEASE);
	soft_unlock(node);
	wait_wake(&node->kick, INT_MAX);
	for (i = 0; i < node->nworkers; i++) {
		pthread_join(node->worker[i]->thread, NULL);
		engine_thread_free(node->worker[i]->engine);
		free(node->worker[i]);
	}
	soft_lock(node);
	node->nworkers = 0;
	node->stopping = false;
	soft_unlock(node);
}
