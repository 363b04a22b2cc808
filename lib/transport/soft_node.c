// SPDX-License-Identifier: BSD-2-Clause
/* A namespace of the software accelerator: the model's instance and what it needs from its surroundings. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include "soft.h"

static uint64_t env_now(void *ctx)
{
	(void)ctx;
	return wait_now_ns();
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

/* Pages come when they are touched: jobs that work in place never do. */
static void *env_mem_get(void *ctx, size_t nbytes)
{
	void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)ctx;
	return p == MAP_FAILED ? NULL : p;
}

static void env_mem_zero(void *ctx, void *p, size_t nbytes)
{
	(void)ctx;
	if (madvise(p, nbytes, MADV_DONTNEED))
		memset(p, 0, nbytes);
}

static void env_mem_put(void *ctx, void *p, size_t nbytes)
{
	(void)ctx;
	munmap(p, nbytes);
}

static const struct model_env soft_env = {
	.now_ns = env_now,
	.random = env_random,
	.mem_get = env_mem_get,
	.mem_zero = env_mem_zero,
	.mem_put = env_mem_put,
	.job_start = soft_job_start,
	.job_stop = soft_job_stop,
	.cmd_done = soft_cmd_done,
	.engines = soft_engines,
};

void soft_lock(struct soft_node *node)
{
	pthread_mutex_lock(&node->lock);
}

void soft_unlock(struct soft_node *node)
{
	uint32_t *wake[SOFT_NWAKE];
	unsigned int n = node->nwake, i;

	if (n)
		memcpy(wake, node->wake, n * sizeof(wake[0]));
	node->nwake = 0;
	pthread_mutex_unlock(&node->lock);
	/* The owner of a word may be gone by now; waking nobody on an address does no harm. */
	for (i = 0; i < n; i++)
		wait_wake(wake[i], 1);
}

void soft_wake_later(struct soft_node *node, uint32_t *word)
{
	if (node->nwake < SOFT_NWAKE)
		node->wake[node->nwake++] = word;
	else
		wait_wake(word, 1);
}

void soft_tick(struct soft_node *node, uint64_t now_ns)
{
	if (now_ns >= node->tick_ns)
		node->tick_ns = model_tick(node->model);
}

static int node_make_model(struct soft_node *node)
{
	struct model_cfg *cfg = calloc(1, sizeof(*cfg));
	void *mem = NULL;
	int ret = -ENOMEM;
	size_t n;

	if (!cfg)
		return -ENOMEM;
	if (soft_id(&node->opts, &cfg->id)) {
		ret = -EINVAL;
		goto out;
	}
	cfg->max_held = 4 * node->opts.slots;
	cfg->lease_default_ms = 10000;
	n = model_size(cfg);
	if (!n) {
		ret = -EINVAL;
		goto out;
	}
	if (posix_memalign(&mem, 64, n))
		goto out;
	node->model = model_init(mem, cfg, &soft_env, node);
	if (!node->model) {
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

static int node_new(struct transport_env *env, const struct soft_opts *opts, struct soft_node **out)
{
	struct soft_node *node = calloc(1, sizeof(*node));
	int ret;

	if (!node)
		return -ENOMEM;
	node->env = env;
	node->opts = *opts;
	ret = node_make_model(node);
	if (ret) {
		free(node);
		return ret;
	}
	lock_init(&node->lock);
	*out = node;
	return 0;
}

static bool same(const struct soft_opts *a, const struct soft_opts *b)
{
	return a->nsid == b->nsid && a->threads == b->threads && a->slots == b->slots;
}

int soft_node_open(struct transport_env *env, const struct soft_opts *opts, struct soft_node **out)
{
	struct soft_nodes *nodes = env->soft;
	struct soft_node *node;
	int ret = 0;

	pthread_mutex_lock(&nodes->lock);
	for (node = nodes->first; node && !same(&node->opts, opts); node = node->next)
		;
	if (!node) {
		ret = node_new(env, opts, &node);
		if (!ret) {
			node->next = nodes->first;
			nodes->first = node;
		}
	}
	if (!ret) {
		node->opens++;
		*out = node;
	}
	pthread_mutex_unlock(&nodes->lock);
	return ret;
}

/* Threads go with the last handle; the namespace, and whoever's leases, stay until the instance goes. */
void soft_node_close(struct soft_node *node)
{
	struct transport_env *env = node->env;

	if (env->forked)
		return;
	pthread_mutex_lock(&env->soft->lock);
	if (--node->opens == 0)
		soft_workers_join(node);
	pthread_mutex_unlock(&env->soft->lock);
}

void soft_node_free(struct soft_node *node)
{
	unsigned int i;

	if (node->env->forked) {
		/* The workers are the parent's; a job that one had is cut off for ever, so no model_fini(). */
		for (i = 0; i < node->nworkers; i++)
			free(node->worker[i]);
		free(node->model);
		free(node);
		return;
	}
	soft_lock(node);
	while (model_fini(node->model)) {
		/* Jobs nobody waited for: no worker is left, and they have been told to stop. */
		soft_run_here(node);
	}
	soft_unlock(node);
	while (node->nhere)
		engine_thread_free(node->here[--node->nhere]);
	pthread_mutex_destroy(&node->lock);
	free(node->model);
	free(node);
}
