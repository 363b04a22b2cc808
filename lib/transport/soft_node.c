// SPDX-License-Identifier: BSD-2-Clause
/* The namespaces of the soft transport: one for each way to ask for it, as long as the environment lives. */
#include <errno.h>
#include <stdlib.h>
#include "soft.h"

static int node_new(struct transport_env *env, const struct soft_opts *opts, struct soft_node **out)
{
	const struct device_opts d = {
		.kind = opts->nsid,
		.threads = opts->threads,
		.slots = opts->slots,
		.ncpu = env->ncpu,
		.log = env->log,
		.log_arg = env->log_arg,
	};
	struct soft_node *node = calloc(1, sizeof(*node));
	int ret;

	if (!node)
		return -ENOMEM;
	ret = device_new(&d, &node->dev);
	if (ret) {
		free(node);
		return ret;
	}
	node->env = env;
	node->opts = *opts;
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
		device_rest(node->dev);
	pthread_mutex_unlock(&env->soft->lock);
}

void soft_node_free(struct soft_node *node)
{
	if (node->env->forked)
		device_free_forked(node->dev);
	else
		device_free(node->dev);
	free(node);
}

void soft_forget_here(struct soft_node *node)
{
	device_forget(node->dev);
}
