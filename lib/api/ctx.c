// SPDX-License-Identifier: BSD-2-Clause
/* The library instance: options, log sink, idle CPU engines, time and randomness. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "api.h"

uint64_t api_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t api_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : api_now_ns() + (uint64_t)timeout_ms * API_NS_PER_MS;
}

int api_left_ms(uint64_t deadline_ns)
{
	uint64_t now, left;

	if (deadline_ns == UINT64_MAX)
		return -1;
	now = api_now_ns();
	if (now >= deadline_ns)
		return 0;
	left = (deadline_ns - now + API_NS_PER_MS - 1) / API_NS_PER_MS;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

int api_random(void *p, size_t size)
{
	uint8_t *at = p;
	ssize_t got;

	while (size) {
		got = getrandom(at, size, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

void api_wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

static bool opts_ok(const struct accel_ctx_opts *opts)
{
	return opts->size == sizeof(*opts) && !(opts->flags & ~(ACCEL_CTX_NO_SOFT | ACCEL_CTX_NO_NODES)) &&
	       mem_is_zero(opts->reserved, sizeof(opts->reserved));
}

static void env_log(void *arg, int level, const char *message)
{
	ctx_log(arg, (enum accel_log_level)level, "%s", message);
}

static int copy_opts(struct accel_ctx *ctx, const struct accel_ctx_opts *opts)
{
	const char *root = opts ? opts->root : NULL, *discover = opts ? opts->discover : NULL;

	ctx->flags = opts ? opts->flags : 0;
	ctx->soft = strdup(opts && opts->soft ? opts->soft : "");
	if (!ctx->soft)
		return -ENOMEM;
	if (discover && !(ctx->discover = strdup(discover)))
		return -ENOMEM;
	if (!root)
		return 0;
	if (asprintf(&ctx->sysfs, "%s/sys", root) < 0) {
		ctx->sysfs = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ctx->devdir, "%s/dev", root) < 0) {
		ctx->devdir = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void free_opts(struct accel_ctx *ctx)
{
	free(ctx->soft);
	free(ctx->discover);
	free(ctx->sysfs);
	free(ctx->devdir);
}

static int ctx_init(struct accel_ctx *ctx, const struct accel_ctx_opts *opts)
{
	int ret;

	ctx->refs = 1;
	ctx->log_level = -1;
	ret = copy_opts(ctx, opts);
	if (!ret)
		ret = fork_mark_init(&ctx->mark);
	if (ret)
		return ret;
	ctx->env.log = env_log;
	ctx->env.log_arg = ctx;
	ret = transport_env_init(&ctx->env);
	if (!ret && ctx->sysfs) {
		ctx->env.sysfs = ctx->sysfs;
		ctx->env.devdir = ctx->devdir;
	}
	return ret;
}

int accel_ctx_new(const struct accel_ctx_opts *opts, struct accel_ctx **out)
{
	struct accel_ctx *ctx;
	int ret;

	if (!out || (opts && !opts_ok(opts)))
		return -EINVAL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ret = ctx_init(ctx, opts);
	if (ret) {
		fork_mark_fini(&ctx->mark);
		free_opts(ctx);
		free(ctx);
		return ret;
	}
	pthread_mutex_init(&ctx->lock, NULL);
	*out = ctx;
	return 0;
}

struct accel_ctx *accel_ctx_ref(struct accel_ctx *ctx)
{
	if (ctx)
		ref_get(&ctx->refs);
	return ctx;
}

const char *accel_ctx_host_nqn(const struct accel_ctx *ctx)
{
	return ctx ? ctx->env.hostnqn : NULL;
}

void accel_ctx_unref(struct accel_ctx *ctx)
{
	unsigned int i;

	if (!ctx || !ref_put(&ctx->refs))
		return;
	ctx_note_fork(ctx);
	transport_env_fini(&ctx->env);
	/* In a child another thread of the parent may have been in the middle of one of these. */
	if (!ctx->env.forked) {
		for (i = 0; i < ctx->nidle; i++)
			engine_thread_free(ctx->idle[i]);
		pthread_mutex_destroy(&ctx->lock);
	}
	fork_mark_fini(&ctx->mark);
	free_opts(ctx);
	free(ctx);
}

void accel_ctx_set_log(struct accel_ctx *ctx, accel_log_fn fn, void *arg, enum accel_log_level level)
{
	if (!ctx || ctx_stale(ctx))
		return;
	pthread_mutex_lock(&ctx->lock);
	ctx->log_fn = fn;
	ctx->log_arg = arg;
	__atomic_store_n(&ctx->log_level, fn ? (int)level : -1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ctx->lock);
}

void ctx_log(struct accel_ctx *ctx, enum accel_log_level level, const char *fmt, ...)
{
	accel_log_fn fn;
	char message[256];
	va_list ap;
	void *arg;

	if (level <= ACCEL_LOG_WARNING)
		__atomic_fetch_add(&ctx->nwarned, 1, __ATOMIC_RELAXED);
	if ((int)level > __atomic_load_n(&ctx->log_level, __ATOMIC_RELAXED))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	/* The sink is called without the lock, so that it may call us. */
	pthread_mutex_lock(&ctx->lock);
	fn = ctx->log_fn;
	arg = ctx->log_arg;
	pthread_mutex_unlock(&ctx->lock);
	if (fn)
		fn(arg, level, message);
}
