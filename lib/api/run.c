// SPDX-License-Identifier: BSD-2-Clause
/*
 * One job from start to end. A device handle keeps a lease for that, with a queue of one job for each thread
 * that calls at once; the lease may be taken by whoever wants the whole accelerator, and ends by itself when
 * it is not used. A handle that has locked the accelerator uses the lock's lease.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api.h"

#define POOL_QUEUES 64u
#define RUN_ATTEMPTS 4
#define RUN_RETRIES 3u

struct run_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct accel_lease *lease;	/* a reference, or our own lease */
	bool own;			/* ours to release */
	bool busy;			/* somebody changes the lease */
	unsigned int nidle, nqueues;
	struct accel_queue *idle[POOL_QUEUES];
};

static struct run_pool *pool_new(void)
{
	struct run_pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t attr;

	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->changed, &attr);
	pthread_condattr_destroy(&attr);
	return pool;
}

static struct run_pool *pool_of(struct accel_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (!dev->pool)
		dev->pool = pool_new();
	pthread_mutex_unlock(&dev->lock);
	return dev->pool;
}

/* What a lease and its idle queues take; freed without the pool's lock. */
struct remains {
	struct accel_lease *lease;
	bool own;
	unsigned int n;
	struct accel_queue *queue[POOL_QUEUES];
};

static void remains_free(struct remains *old)
{
	unsigned int i;

	for (i = 0; i < old->n; i++)
		accel_queue_free(old->queue[i]);
	if (old->own)
		accel_lease_release(old->lease);
	else if (old->lease)
		lease_put(old->lease);
}

/* With the lock held. */
static void pool_strip(struct run_pool *pool, struct remains *old)
{
	old->lease = pool->lease;
	old->own = pool->own;
	old->n = pool->nidle;
	memcpy(old->queue, pool->idle, pool->nidle * sizeof(pool->idle[0]));
	pool->lease = NULL;
	pool->own = false;
	pool->nidle = pool->nqueues = 0;
}

void run_pool_free(struct accel_dev *dev)
{
	struct run_pool *pool = dev->pool;
	struct remains old;

	if (!pool)
		return;
	dev->pool = NULL;
	pool_strip(pool, &old);
	remains_free(&old);
	if (!dev_stale(dev)) {
		pthread_cond_destroy(&pool->changed);
		pthread_mutex_destroy(&pool->lock);
	}
	free(pool);
}

struct accel_lease *lock_lease(struct accel_dev *dev)
{
	struct accel_lease *lease;

	pthread_mutex_lock(&dev->lock);
	lease = dev->locked;
	if (lease)
		lease_get(lease);
	pthread_mutex_unlock(&dev->lock);
	return lease;
}

static int own_lease(struct accel_dev *dev, uint64_t deadline, int path_ms, struct accel_lease **lease)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);

	opts.flags = ACCEL_LEASE_PREEMPTIBLE;
	opts.slots_wanted = BASE_MAX(BASE_MIN(16u, dev->id.nslot / 4), 1u);
	return lease_acquire(dev, &opts, api_left_ms(deadline), path_ms, lease);
}

/* Whether the pool's lease is the one to use now. */
static bool lease_fits(const struct run_pool *pool, const struct accel_lease *locked)
{
	if (!pool->lease || lease_ended(pool->lease))
		return false;
	return locked ? pool->lease == locked : pool->own;
}

/* With the lock held at both ends: exchanges the lease. */
static int pool_change(struct accel_dev *dev, struct run_pool *pool, struct accel_lease *locked,
		       uint64_t deadline, int path_ms)
{
	struct accel_lease *lease = locked;
	struct remains old;
	int ret = 0;

	pool->busy = true;
	pool_strip(pool, &old);
	pthread_mutex_unlock(&pool->lock);
	remains_free(&old);
	if (!locked)
		ret = own_lease(dev, deadline, path_ms, &lease);
	pthread_mutex_lock(&pool->lock);
	pool->busy = false;
	if (!ret) {
		pool->lease = lease;
		pool->own = !locked;
		if (locked)
			lease_get(locked);
	}
	pthread_cond_broadcast(&pool->changed);
	return ret;
}

static int pool_wait(struct run_pool *pool, uint64_t deadline)
{
	struct timespec ts;

	if (deadline == UINT64_MAX)
		return pthread_cond_wait(&pool->changed, &pool->lock);
	ts.tv_sec = (time_t)(deadline / 1000000000u);
	ts.tv_nsec = (long)(deadline % 1000000000u);
	return pthread_cond_timedwait(&pool->changed, &pool->lock, &ts);
}

/* A queue to have for oneself, with the lock held: an idle one, or one more. */
static int pool_take(struct run_pool *pool, struct accel_queue **q)
{
	int ret;

	if (pool->nidle) {
		*q = pool->idle[--pool->nidle];
		return 0;
	}
	if (pool->nqueues >= BASE_MIN(POOL_QUEUES, pool->lease->nslot))
		return -EAGAIN;
	ret = queue_new(pool->lease, 1, -1, RUN_RETRIES, q);
	if (ret)
		return ret == -ENOSPC ? -EAGAIN : ret;
	queue_set_bare(*q);
	pool->nqueues++;
	return 0;
}

/* *lease: the pool's at that time, not referenced: only to be compared. */
static int pool_get(struct accel_dev *dev, struct run_pool *pool, uint64_t deadline, int path_ms,
		    struct accel_queue **q, const struct accel_lease **lease, bool *waited)
{
	struct accel_lease *locked = lock_lease(dev);
	int ret;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		ret = -EAGAIN;
		if (!pool->busy) {
			ret = 0;
			if (!lease_fits(pool, locked)) {
				*waited = true;
				ret = pool_change(dev, pool, locked, deadline, path_ms);
			}
			if (!ret)
				ret = pool_take(pool, q);
		}
		if (ret != -EAGAIN)
			break;
		*waited = true;
		if (pool_wait(pool, deadline)) {
			ret = -EBUSY;
			break;
		}
	}
	*lease = pool->lease;
	pthread_mutex_unlock(&pool->lock);
	if (locked)
		lease_put(locked);
	return ret;
}

static void pool_put(struct run_pool *pool, struct accel_queue *q, const struct accel_lease *lease)
{
	pthread_mutex_lock(&pool->lock);
	if (pool->lease == lease && !lease_ended(lease) && pool->nidle < POOL_QUEUES) {
		pool->idle[pool->nidle++] = q;
		q = NULL;
		pthread_cond_signal(&pool->changed);
	}
	pthread_mutex_unlock(&pool->lock);
	/* Otherwise it is a queue of a lease that the pool has no more. */
	accel_queue_free(q);
}

static int run_cpu(struct accel_dev *dev, struct accel_job *job, uint32_t executor, uint64_t start,
		   struct accel_result *result)
{
	int ret;

	memset(result, 0, sizeof(*result));
	ret = cpu_run(dev->ctx, job->plan, job->params, job->in, job->nin, job->out, job->nout, executor, result);
	result->user_data = job->user_data;
	result->total_ns = api_now_ns() - start;
	return ret;
}

/* -ESTALE: the lease had ended; try with another. */
static int run_on(struct accel_queue *q, struct accel_job *job, int timeout_ms, struct accel_result *result)
{
	int n;

	job->timeout_ms = timeout_ms < 0 ? -1 : BASE_MAX(timeout_ms, 1);
	n = accel_queue_submit(q, job, 1);
	if (n < 0)
		return n;
	/* The job has the time limit; its one result comes in any case. */
	n = accel_queue_reap(q, result, 1, 1, -1);
	if (n != 1)
		return n < 0 ? n : -EIO;
	return result->status == ACCEL_ST_LEASE_LOST || result->status == ACCEL_ST_RESET ? -ESTALE : 0;
}

/* The CPU needs a part of the time, where it does what the device cannot be reached for. */
static int path_ms(const struct accel_plan *plan, uint64_t deadline)
{
	int left = api_left_ms(deadline);

	if (plan->policy != ACCEL_PREFER_DEVICE)
		return PATH_WAIT_MS;
	return left < 0 ? PATH_PREFER_MS : BASE_MIN(left / 2, PATH_PREFER_MS);
}

static int run_device(struct accel_dev *dev, struct accel_job *job, int timeout_ms, uint64_t deadline,
		      struct accel_result *result)
{
	struct run_pool *pool = pool_of(dev);
	const struct accel_lease *lease;
	struct accel_queue *q;
	bool waited = false;
	int ret = -ESTALE, i;

	if (!pool)
		return -ENOMEM;
	for (i = 0; i < RUN_ATTEMPTS && ret == -ESTALE; i++) {
		ret = pool_get(dev, pool, deadline, path_ms(job->plan, deadline), &q, &lease, &waited);
		if (ret)
			return ret;
		/* At the first attempt hardly any time has passed, if no slot had to be waited for. */
		ret = run_on(q, job, i || waited ? api_left_ms(deadline) : timeout_ms, result);
		pool_put(pool, q, lease);
	}
	/* The result says LEASE_LOST or RESET by now, if there was one at all. */
	return ret;
}

static int run_job(struct accel_dev *dev, struct accel_job *job, int timeout_ms, struct accel_result *result)
{
	const struct accel_plan *plan = job->plan;
	uint64_t start = api_now_ns(), deadline;
	int ret;

	deadline = timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * API_NS_PER_MS;
	if (plan->policy == ACCEL_CPU_ONLY ||
	    (plan->policy == ACCEL_PREFER_DEVICE && plan->cpu_below &&
	     iov_total(job->in, job->nin) < plan->cpu_below))
		return run_cpu(dev, job, ACCEL_EXEC_SOFTWARE, start, result);
	ret = run_device(dev, job, timeout_ms, deadline, result);
	if (ret == 0 || ret == -EINVAL || ret == -EBUSY || ret == -ENOMEM)
		return ret;
	if (plan->policy == ACCEL_DEVICE_ONLY)
		return ret == -ESTALE ? -ENODEV : ret;
	return run_cpu(dev, job, ACCEL_EXEC_FALLBACK, start, result);
}

int accel_runv(struct accel_dev *dev, const struct accel_plan *plan, const struct iovec *in, unsigned int nin,
	       const struct iovec *out, unsigned int nout, const struct accel_params *params, int timeout_ms,
	       struct accel_result *result)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);

	if (!dev || !result || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	job.plan = plan;
	job.in = in;
	job.nin = nin;
	job.out = out;
	job.nout = nout;
	job.params = params;
	if (job_check(&job))
		return -EINVAL;
	return run_job(dev, &job, timeout_ms, result);
}

int accel_run(struct accel_dev *dev, const struct accel_plan *plan, const void *in, size_t in_len, void *out,
	      size_t out_max, const struct accel_params *params, int timeout_ms, struct accel_result *result)
{
	struct iovec vin = { (void *)(uintptr_t)in, in_len }, vout = { out, out_max };

	return accel_runv(dev, plan, &vin, in_len ? 1 : 0, &vout, out_max ? 1 : 0, params, timeout_ms, result);
}
