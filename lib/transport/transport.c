// SPDX-License-Identifier: BSD-2-Clause
/* The table of transports, and what they share. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hostid.h"
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
	env->hostid_bad = hostid_read("/etc", env->hostnqn, env->hostid);
	env->sysfs = "/sys";
	env->devdir = "/dev";
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
	char message[512];		/* an NQN, and what is wrong with it */
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
		{ "tcp://", &transport_tcp },
		{ "/dev/", &transport_uring },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0)
			break;
	if (i == sizeof(table) / sizeof(table[0]))
		return NULL;
	if (table[i].ops == &transport_uring && !uring_allowed())
		return &transport_block;
	return table[i].ops;
}

/* ---- What not every transport has ---- */

void transport_get_info(const struct transport_ops *ops, struct transport_dev *dev, struct transport_info *info)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->kind, sizeof(info->kind), "%s", ops->name);
	info->numa_node = -1;
	info->kato_ms = info->ctrl_loss_tmo_s = info->reconnect_delay_s = -1;
	if (ops->info)
		ops->info(dev, info);
}

int transport_identify_ctrl(const struct transport_ops *ops, struct transport_dev *dev, void *page)
{
	return ops->identify_ctrl ? ops->identify_ctrl(dev, page) : -ENOTSUP;
}

int transport_log_page(const struct transport_ops *ops, struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf,
		       uint32_t nbytes)
{
	return ops->log_page ? ops->log_page(dev, lid, off, buf, nbytes) : -ENOTSUP;
}

int transport_hold(const struct transport_ops *ops, struct transport_dev *dev, enum transport_hold how)
{
	return ops->hold ? ops->hold(dev, how) : 0;
}
