// SPDX-License-Identifier: BSD-2-Clause
/* A device from its making to its end: the model's instance and what it needs from its surroundings. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include "priv.h"

#define POOR_NS 1000000000u
#define STOP_POLL_NS 1000000u		/* between two looks at whether the engines have stopped */

/*
 * Time stands still while somebody has the lock, which is for microseconds: to read the clock costs as much as a good
 * part of a small job. And it never runs backwards, though threads read it before they have the lock.
 */
uint64_t device_now(struct device *dev)
{
	if (!dev->now_ns)
		device_set_now(dev, wait_now_ns());
	return dev->now_ns;
}

void device_set_now(struct device *dev, uint64_t ns)
{
	dev->now_ns = dev->last_ns = BASE_MAX(ns, dev->last_ns);
}

static uint64_t env_now(void *ctx)
{
	return device_now(ctx);
}

static void env_random(void *ctx, void *buf, size_t n)
{
	uint8_t *p = buf;
	ssize_t got;

	(void)ctx;
	while (n) {
		got = getrandom(p, n, 0);
		if (got < 0 && errno != EINTR)
			return;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
}

/* Takes nbytes of what all may have together; false if that would be too much. */
static bool memory_take(struct device *dev, uint64_t nbytes)
{
	uint64_t had;

	if (!dev->opts.max_memory)
		return true;
	had = __atomic_fetch_add(dev->opts.memory, nbytes, __ATOMIC_RELAXED);
	if (had <= dev->opts.max_memory && nbytes <= dev->opts.max_memory - had)
		return true;
	__atomic_fetch_sub(dev->opts.memory, nbytes, __ATOMIC_RELAXED);
	return false;
}

static void memory_give(struct device *dev, uint64_t nbytes)
{
	if (dev->opts.max_memory)
		__atomic_fetch_sub(dev->opts.memory, nbytes, __ATOMIC_RELAXED);
}

/* The host that asks is refused, and cannot know more than that. It asks again and again: once a second is told of. */
static void log_no_memory(struct device *dev, size_t nbytes)
{
	uint64_t now = device_now(dev);
	char message[160];

	if (!dev->opts.log || (dev->poor_ns && now - dev->poor_ns < POOR_NS))
		return;
	dev->poor_ns = now;
	snprintf(message, sizeof(message), "no memory for a slot of %zu bytes: slot_memory is %llu bytes, which leases "
		 "have already, or which are too few", nbytes, (unsigned long long)dev->opts.max_memory);
	dev->opts.log(dev->opts.log_arg, 1, message);
}

/* Pages come when they are touched: jobs that work in place never do. */
static void *env_mem_get(void *ctx, size_t nbytes)
{
	void *p;

	if (!memory_take(ctx, nbytes)) {
		log_no_memory(ctx, nbytes);
		return NULL;
	}
	p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED)
		return p;
	memory_give(ctx, nbytes);
	return NULL;
}

static void env_mem_zero(void *ctx, void *p, size_t nbytes)
{
	(void)ctx;
	if (madvise(p, nbytes, MADV_DONTNEED))
		memset(p, 0, nbytes);
}

static void env_mem_put(void *ctx, void *p, size_t nbytes)
{
	munmap(p, nbytes);
	memory_give(ctx, nbytes);
}

static const struct model_env device_env = {
	.now_ns = env_now,
	.random = env_random,
	.mem_get = env_mem_get,
	.mem_zero = env_mem_zero,
	.mem_put = env_mem_put,
	.job_start = work_start,
	.job_stop = work_stop,
	.job_waits = work_waits,
	.cmd_done = cmd_done,
	.engines = work_engines,
};

void device_lock(struct device *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->now_ns = 0;
}

void device_unlock(struct device *dev)
{
	uint64_t due = BASE_MIN(model_due(dev->model), dev->forget_ns);
	uint32_t *wake[NWAKE];
	unsigned int n = dev->nwake, i;

	if (n)
		memcpy(wake, dev->wake, n * sizeof(wake[0]));
	dev->nwake = 0;
	if (due != dev->tick_ns)
		__atomic_store_n(&dev->tick_ns, due, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&dev->lock);
	/* The owner of a word may be gone by now; waking nobody on an address does no harm. */
	for (i = 0; i < n; i++)
		wait_wake(wake[i], 1);
}

void device_wake_later(struct device *dev, uint32_t *word)
{
	if (dev->nwake < NWAKE)
		dev->wake[dev->nwake++] = word;
	else
		wait_wake(word, 1);
}

uint64_t device_tick_locked(struct device *dev, uint64_t now_ns)
{
	uint64_t due = model_due(dev->model);

	device_set_now(dev, now_ns);
	if (now_ns >= due)
		due = model_tick(dev->model);
	if (now_ns >= dev->forget_ns)
		work_tick(dev, now_ns);
	return BASE_MIN(due, dev->forget_ns);
}

uint64_t device_tick(struct device *dev)
{
	uint64_t due = __atomic_load_n(&dev->tick_ns, __ATOMIC_RELAXED), now;

	if (due == UINT64_MAX)
		return due;
	now = wait_now_ns();
	if (now < due)
		return due;
	device_lock(dev);
	due = device_tick_locked(dev, now);
	device_unlock(dev);
	return due;
}

void device_identify(struct device *dev, void *page)
{
	device_lock(dev);
	device_tick_locked(dev, device_now(dev));
	model_identify(dev->model, page);
	device_unlock(dev);
}

void device_stats(struct device *dev, struct nvme_accel_stats *page)
{
	device_lock(dev);
	model_stats(dev->model, page);
	device_unlock(dev);
}

unsigned int device_held(struct device *dev)
{
	unsigned int n;

	device_lock(dev);
	n = model_held(dev->model);
	device_unlock(dev);
	return n;
}

void device_reset(struct device *dev)
{
	device_lock(dev);
	model_reset(dev->model);
	device_unlock(dev);
}

static int make_model(struct device *dev)
{
	struct model_cfg *cfg = calloc(1, sizeof(*cfg));
	void *mem = NULL;
	int ret = -ENOMEM;
	size_t n;

	if (!cfg)
		return -ENOMEM;
	if (kind_id(&dev->opts, &cfg->id)) {
		ret = -EINVAL;
		goto out;
	}
	cfg->max_held = dev->opts.max_held ? dev->opts.max_held : 4 * dev->opts.slots;
	cfg->lease_default_ms = 10000;
	n = model_size(cfg);
	if (!n) {
		ret = -EINVAL;
		goto out;
	}
	if (posix_memalign(&mem, 64, n))
		goto out;
	dev->model = model_init(mem, cfg, &device_env, dev);
	if (!dev->model) {
		free(mem);
		ret = -EINVAL;
		goto out;
	}
	ret = 0;
out:
	free(cfg);
	return ret;
}

/* Held for about a microsecond at a time: a short look at it is cheaper than a sleep. */
static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static unsigned int count_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return BASE_MAX((unsigned int)CPU_COUNT(&set), 1u);
}

static bool opts_ok(const struct device_opts *o)
{
	if (!device_kind_name(o->kind) || o->threads > DEVICE_MAX_THREADS)
		return false;
	if (!o->slots || o->slots > DEVICE_MAX_SLOTS)
		return false;
	return !o->lbads || o->lbads == 9 || o->lbads == 12;
}

int device_new(const struct device_opts *opts, struct device **out)
{
	struct device *dev;
	int ret;

	if (!opts_ok(opts))
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->opts = *opts;
	if (!opts->ncpu)
		dev->opts.ncpu = count_cpus();
	if (!opts->memory)
		dev->opts.memory = &dev->own_memory;
	dev->forget_ns = dev->tick_ns = UINT64_MAX;
	ret = make_model(dev);
	if (ret) {
		free(dev);
		return ret;
	}
	dev->opts.name = NULL;
	dev->opts.uuid = NULL;
	lock_init(&dev->lock);
	*out = dev;
	return 0;
}

void device_stop(struct device *dev)
{
	struct timespec ts = { 0, STOP_POLL_NS };

	device_lock(dev);
	while (model_fini(dev->model)) {
		/* What waits has been told to stop: that is done soonest here, and needs no thread. */
		work_run_queue(dev);
		if (!model_fini(dev->model))
			break;
		device_unlock(dev);
		nanosleep(&ts, NULL);
		device_lock(dev);
	}
	device_unlock(dev);
	device_rest(dev);
}

void device_free(struct device *dev)
{
	device_stop(dev);
	while (dev->nengine)
		engine_thread_free(dev->engine[--dev->nengine]);
	pthread_mutex_destroy(&dev->lock);
	free(dev->model);
	free(dev);
}

void device_free_forked(struct device *dev)
{
	unsigned int i;

	/* The workers are the parent's; a job that one had is cut off for ever, so no model_fini(). */
	for (i = 0; i < dev->nworkers; i++)
		free(dev->worker[i]);
	free(dev->model);
	free(dev);
}
