// SPDX-License-Identifier: BSD-2-Clause
/* Jobs at the engines: in threads of their own, or in those that submit and tick. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define KEEP_KEYS_NS 100000000u		/* by an engine that has nothing to do */

static void queue_count(struct device *dev, int by)
{
	__atomic_store_n(&dev->njobs, dev->njobs + (uint32_t)by, __ATOMIC_RELEASE);
}

static void queue_push(struct device *dev, struct model_job *job)
{
	job->env_priv = dev;		/* see work_waits() */
	queue_count(dev, 1);
	model_jobs_push(&dev->queue, job);
}

static struct model_job *queue_pop(struct device *dev)
{
	struct model_job *job = model_jobs_pop(&dev->queue);

	if (job) {
		job->env_priv = NULL;
		queue_count(dev, -1);
	}
	return job;
}

/* The job, without the lock. One that was told to stop before it began is not begun. Returns when it ended. */
static uint64_t run(struct engine_thread *engine, struct model_job *mj, uint64_t now)
{
	struct job *job = &mj->job;

	__atomic_store_n(&mj->start_ns, now, __ATOMIC_RELAXED);
	if (!engine)
		job->code = NVME_ACCEL_NO_RESOURCES;
	else if (__atomic_load_n(&job->stop, __ATOMIC_RELAXED))
		job->code = NVME_ACCEL_ABORTED;
	else
		engine_run(engine, job);
	return wait_now_ns();
}

/* Runs one job between two turns of the lock; busy: which entry of the engine page it counts for. */
static void run_unlocked(struct device *dev, struct engine_thread *engine, struct model_job *job,
			 struct busy *busy)
{
	uint64_t start, end;

	busy->busy = true;
	busy->slot = job->slot;
	device_unlock(dev);
	start = wait_now_ns();
	end = run(engine, job, start);
	device_lock(dev);
	device_set_now(dev, end);
	busy->busy = false;
	busy->jobs++;
	busy->busy_ns += end - start;
	model_job_done(dev->model, job);
	device_tick_locked(dev, end);
}

/* ---- In threads that submit and tick ---- */

static struct engine_thread *engine_take(struct device *dev)
{
	return dev->nengine ? dev->engine[--dev->nengine] : engine_thread_new();
}

/* forgets: dev->forgets when it was taken. */
static void engine_give(struct device *dev, struct engine_thread *engine, uint32_t forgets, bool secret)
{
	if (!engine)
		return;
	if (forgets != dev->forgets)
		engine_thread_forget(engine);
	else if (secret)
		dev->forget_ns = device_now(dev) + KEEP_KEYS_NS;
	if (dev->nengine < NHERE)
		dev->engine[dev->nengine++] = engine;
	else
		engine_thread_free(engine);
}

void work_run_queue(struct device *dev)
{
	struct engine_thread *engine;
	uint32_t forgets = dev->forgets;
	struct model_job *job;
	bool secret = false;

	if (!dev->queue.first)
		return;
	engine = engine_take(dev);
	while ((job = queue_pop(dev))) {
		secret |= model_job_has_key(job);
		run_unlocked(dev, engine, job, &dev->busy[0]);
	}
	engine_give(dev, engine, forgets, secret);
}

/*
 * The small jobs of this turn, all in one turn without the lock. They count for the first entry of the engine
 * page, but do not make it busy, which may be somebody else's work.
 */
static void run_here(struct device *dev)
{
	struct model_jobs list = dev->here;
	uint32_t forgets = dev->forgets;
	struct engine_thread *engine = engine_take(dev);
	uint64_t start, now;
	struct model_job *job;
	bool secret = false;

	dev->here.first = NULL;
	device_unlock(dev);
	start = now = wait_now_ns();
	for (job = list.first; job; job = job->env_next) {
		secret |= model_job_has_key(job);
		now = run(engine, job, now);
	}
	device_lock(dev);
	device_set_now(dev, now);
	dev->busy[0].busy_ns += now - start;
	while ((job = model_jobs_pop(&list))) {
		dev->busy[0].jobs++;
		model_job_done(dev->model, job);
	}
	engine_give(dev, engine, forgets, secret);
	device_tick_locked(dev, now);
}

bool device_has_work_locked(const struct device *dev)
{
	return dev->here.first || (dev->queue.first && !dev->opts.threads);
}

void device_run_locked(struct device *dev)
{
	if (dev->here.first)
		run_here(dev);
	if (!dev->opts.threads)
		work_run_queue(dev);
}

static void forget_resting(struct device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->nengine; i++)
		engine_thread_forget(dev->engine[i]);
	dev->forget_ns = UINT64_MAX;
}

void device_forget(struct device *dev)
{
	device_lock(dev);
	dev->forgets++;
	forget_resting(dev);
	device_unlock(dev);
}

void work_tick(struct device *dev, uint64_t now)
{
	if (now >= dev->forget_ns)
		forget_resting(dev);
}

/* ---- In threads of their own ---- */

/*
 * Keys do not outlive their use for long: a worker forgets those that no job has brought for a while. Between
 * jobs that follow each other they stay, since to set one up costs more than a small job.
 */
static void worker_forget(struct worker *w, uint64_t now)
{
	if (now < w->forget_ns)
		return;
	engine_thread_forget(w->engine);
	w->forget_ns = UINT64_MAX;
}

static void worker_run(struct worker *w, struct model_job *job, struct busy *busy)
{
	bool secret = model_job_has_key(job);

	run_unlocked(w->dev, w->engine, job, busy);
	if (secret)
		w->forget_ns = device_now(w->dev) + KEEP_KEYS_NS;
	else if (w->forget_ns != UINT64_MAX)
		worker_forget(w, device_now(w->dev));
}

/* Waits for work, with the lock held at both ends. */
static void worker_wait(struct device *dev, struct worker *w)
{
	uint64_t now, until;
	uint32_t seen;

	if (dev->nspinning == 0) {
		dev->nspinning++;
		device_unlock(dev);
		wait_spin(&w->spin, &dev->njobs, 0);
		device_lock(dev);
		dev->nspinning--;
		if (dev->queue.first || dev->stopping)
			return;
	}
	now = device_now(dev);
	until = device_tick_locked(dev, now);
	if (dev->queue.first)
		return;
	worker_forget(w, now);
	until = BASE_MIN(until, w->forget_ns);
	seen = dev->kick;
	dev->nsleeping++;
	device_unlock(dev);
	wait_sleep(&dev->kick, seen, until);
	device_lock(dev);
	dev->nsleeping--;
	if (dev->nwoken)
		dev->nwoken--;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct device *dev = w->dev;
	struct model_job *job;
	unsigned int i;

	device_lock(dev);
	for (i = 0; i < dev->nworkers && dev->worker[i] != w; i++)
		;
	while (!dev->stopping) {
		job = queue_pop(dev);
		if (job)
			worker_run(w, job, &dev->busy[i]);
		else
			worker_wait(dev, w);
	}
	device_unlock(dev);
	return NULL;
}

/*
 * Signals are the application's: none is delivered to a thread of ours, but those by which the kernel reports
 * what the thread itself did. A job's buffer may be a file's mapping, and if the file shrinks, the application's
 * handler for SIGBUS has to run where the access was; blocked, the signal would end the process.
 */
static int thread_start(struct worker *w, unsigned int index)
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
	snprintf(name, sizeof(name), "accel-%u.%u", w->dev->opts.kind, index);
	pthread_setname_np(w->thread, name);
	return 0;
}

static void log_no_thread(struct device *dev, int error)
{
	char message[128];

	if (!dev->opts.log)
		return;
	snprintf(message, sizeof(message), "software %s: no thread for an engine: %s",
		 device_kind_name(dev->opts.kind), strerror(error));
	dev->opts.log(dev->opts.log_arg, 1, message);
}

static int worker_start(struct device *dev)
{
	struct worker *w = calloc(1, sizeof(*w));
	int ret = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->dev = dev;
	w->forget_ns = UINT64_MAX;
	wait_spinner_init(&w->spin, dev->opts.ncpu);
	w->engine = engine_thread_new();
	if (!w->engine)
		goto fail;
	/* In the table first: the thread looks itself up there, once it gets the lock that we hold. */
	dev->worker[dev->nworkers] = w;
	ret = thread_start(w, dev->nworkers);
	if (ret)
		goto fail;
	dev->nworkers++;
	return 0;
fail:
	log_no_thread(dev, -ret);
	engine_thread_free(w->engine);
	free(w);
	return ret;
}

/* Sees to it that somebody will take the job that is about to be queued. */
static bool have_worker(struct device *dev)
{
	if (dev->njobs >= dev->nsleeping + dev->nspinning && dev->nworkers < dev->opts.threads)
		worker_start(dev);
	if (!dev->nworkers)
		return false;
	/* Those who spin, or have been woken and are on their way, take one each. */
	if (dev->njobs >= dev->nspinning + dev->nwoken && dev->nsleeping > dev->nwoken) {
		dev->nwoken++;
		__atomic_add_fetch(&dev->kick, 1, __ATOMIC_RELEASE);
		device_wake_later(dev, &dev->kick);
	}
	return true;
}

uint32_t work_start(void *ctx, struct model_job *job)
{
	struct device *dev = ctx;

	if (dev->submitting && dev->opts.here_nbytes && model_job_is_small(job, dev->opts.here_nbytes)) {
		job->env_priv = NULL;
		model_jobs_add(&dev->here, job);
		return NVME_ACCEL_OK;
	}
	if (dev->opts.threads && !have_worker(dev))
		return NVME_ACCEL_NO_RESOURCES;
	queue_push(dev, job);
	return NVME_ACCEL_OK;
}

void work_stop(void *ctx, struct model_job *job)
{
	(void)ctx;
	__atomic_store_n(&job->job.stop, 1, __ATOMIC_RELAXED);
}

/* The lock is held, and a job is begun by whoever takes it from the queue. */
int work_waits(void *ctx, const struct model_job *job)
{
	(void)ctx;
	return job->env_priv != NULL;
}

void work_engines(void *ctx, struct nvme_accel_engines *page)
{
	struct device *dev = ctx;
	unsigned int n = BASE_MAX(dev->opts.threads, 1u), i;

	memset(page, 0, sizeof(*page));
	memcpy(page->magic, NVME_ACCEL_ENGINES_MAGIC, sizeof(page->magic));
	page->version = 1;
	le32_put(&page->nengine, n);
	le32_put(&page->queued, dev->njobs);
	for (i = 0; i < n && i < NVME_ACCEL_NENGSTATE; i++) {
		page->engine[i].busy = dev->busy[i].busy;
		le32_put(&page->engine[i].slot, dev->busy[i].busy ? dev->busy[i].slot : ~0u);
		le64_put(&page->engine[i].jobs, dev->busy[i].jobs);
		le64_put(&page->engine[i].busy_ns, dev->busy[i].busy_ns);
	}
}

void device_rest(struct device *dev)
{
	unsigned int i;

	device_lock(dev);
	dev->stopping = true;
	__atomic_add_fetch(&dev->kick, 1, __ATOMIC_RELEASE);
	device_unlock(dev);
	wait_wake(&dev->kick, INT_MAX);
	for (i = 0; i < dev->nworkers; i++) {
		pthread_join(dev->worker[i]->thread, NULL);
		engine_thread_free(dev->worker[i]->engine);
		free(dev->worker[i]);
	}
	device_lock(dev);
	dev->nworkers = 0;
	dev->stopping = false;
	device_unlock(dev);
}
