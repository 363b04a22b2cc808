// SPDX-License-Identifier: BSD-2-Clause
/* The table of transports, and what they share. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

static unsigned int count_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return BASE_MAX((unsigned int)CPU_COUNT(&set), 1u);
}

int transport_env_init(struct transport_env *env)
{
	env->forked = false;
	env->ncpu = count_cpus();
	env->soft = calloc(1, sizeof(*env->soft));
	if (!env->soft)
		return -ENOMEM;
	pthread_mutex_init(&env->soft->lock, NULL);
	return 0;
}

void transport_env_fini(struct transport_env *env)
{
	struct soft_node *node, *next;

	for (node = env->soft->first; node; node = next) {
		next = node->next;
		soft_node_free(node);
	}
	if (!env->forked)
		pthread_mutex_destroy(&env->soft->lock);
	free(env->soft);
}

void transport_env_forget(struct transport_env *env)
{
	struct soft_node *node;

	pthread_mutex_lock(&env->soft->lock);
	for (node = env->soft->first; node; node = node->next)
		soft_forget_here(node);
	pthread_mutex_unlock(&env->soft->lock);
}

void transport_log(struct transport_env *env, int level, const char *fmt, ...)
{
	char message[256];
	va_list ap;

	if (!env->log)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	env->log(env->log_arg, level, message);
}

const struct transport_ops *transport_for(const char *name)
{
	static const struct {
		const char *prefix;
		const struct transport_ops *ops;
	} table[] = {
		{ "soft:", &transport_soft },
		{ "fault:", &transport_fault },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0)
			return table[i].ops;
	return NULL;
}
