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

void soft_run_here(struct soft_node *node, struct engine_thread **engine)
{
	struct model_job *job;

	while ((job = jobs_pop(node))) {
		if (!*engine)
			*engine = engine_thread_new();
		run_unlocked(node, *engine, job, &node->busy[0]);
	}
}

/* Waits for work, with the lock held at both ends. */
static void worker_wait(struct soft_node *node, struct soft_worker *w)
{
	uint64_t tick;
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
	soft_tick(node, wait_now_ns());
	if (node->first)
		return;
	tick = node->tick_ns;
	seen = node->kick;
	node->nsleeping++;
	soft_unlock(node);
	wait_sleep(&node->kick, seen, tick);
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
			run_unlocked(node, w->engine, job, &node->busy[i]);
		else
			worker_wait(node, w);
	}
	soft_unlock(node);
	return NULL;
}

/* Signals are the application's: none is delivered to a thread of ours. */
static int thread_start(struct soft_worker *w, unsigned int index)
{
	sigset_t all, old;
	char name[16];
	int ret;

	sigfillset(&all);
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
