/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software accelerator in the process: what the files of the soft transport share.
 *
 * A node is one namespace: a device (lib/device) and how often it is open. Queues live under the device's lock:
 * completions go to the queue that the command came by; sleepers are woken after the lock is let go.
 */
#ifndef ACCEL_TRANSPORT_SOFT_H
#define ACCEL_TRANSPORT_SOFT_H

#include <pthread.h>
#include "../device/device.h"
#include "../device/wait.h"
#include "transport.h"

struct soft_opts {
	unsigned int nsid;		/* the device's kind */
	unsigned int threads;		/* 0: engines run in the threads that submit and reap */
	unsigned int slots;
};

struct soft_node {
	struct soft_node *next;
	struct transport_env *env;
	struct soft_opts opts;
	struct device *dev;
	unsigned int opens;
};

struct soft_nodes {
	pthread_mutex_t lock;
	struct soft_node *first;
};

struct transport_dev {
	struct soft_node *node;
};

struct transport_queue {
	struct soft_node *node;
	struct device *dev;		/* the node's */
	struct transport_list done;
	uint32_t ndone;			/* their number; read without the lock */
	uint32_t want;			/* so many are waited for */
	bool sleeping;			/* somebody sleeps on ndone */
	bool signalled;			/* the eventfd has been written and not read */
	int fd;				/* -1: nobody asked for it */
	struct spinner spin;
	unsigned int depth, nfree;
	uint32_t *free;			/* indexes of the table that are free */
	struct transport_cmd **table;	/* in flight */
};

/* In transport_cmd.priv. */
struct soft_cmd {
	struct device_cmd d;
	struct transport_queue *q;
	uint32_t index;
};

_Static_assert(sizeof(struct soft_cmd) <= sizeof(((struct transport_cmd *)0)->priv), "priv is too small");

/* soft_node.c: -errno; a node is made at the first open and lives as long as the environment. */
int soft_node_open(struct transport_env *env, const struct soft_opts *opts, struct soft_node **node);
void soft_node_close(struct soft_node *node);
void soft_node_free(struct soft_node *node);
/* Keys that engines keep are wiped. */
void soft_forget_here(struct soft_node *node);

/* soft_queue.c */
int soft_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **q);
void soft_queue_free(struct transport_queue *q);
int soft_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n);
int soft_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
	      int timeout_ms);
int soft_queue_fd(struct transport_queue *q);

#endif
