// SPDX-License-Identifier: BSD-2-Clause
/* Commands to and from the software accelerator. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "soft.h"

static struct soft_cmd *priv(struct transport_cmd *cmd)
{
	return (struct soft_cmd *)cmd->priv;
}

static void fd_signal(struct transport_queue *q)
{
	uint64_t one = 1;

	if (q->fd < 0 || q->signalled)
		return;
	q->signalled = write(q->fd, &one, sizeof(one)) == sizeof(one);
}

static void fd_clear(struct transport_queue *q)
{
	uint64_t n;

	if (q->signalled && read(q->fd, &n, sizeof(n)) == sizeof(n))
		q->signalled = false;
}

/* With the lock held: whether whoever waits has what it waits for, or all that there will be. */
static bool enough(const struct transport_queue *q)
{
	return q->ndone >= q->want || q->nfree == q->depth;
}

/* From within a call of the model: the lock is held. */
void soft_cmd_done(void *ctx, struct model_cmd *m, uint16_t nvme_status)
{
	struct soft_cmd *sc = (struct soft_cmd *)m;	/* m is its first member */
	struct transport_queue *q = sc->q;
	struct transport_cmd *cmd = q->table[sc->index];

	cmd->error = 0;
	cmd->nvme_status = nvme_status;
	cmd->next = NULL;
	if (q->first)
		q->last->next = cmd;
	else
		q->first = cmd;
	q->last = cmd;
	q->free[q->nfree++] = sc->index;
	__atomic_store_n(&q->ndone, q->ndone + 1, __ATOMIC_RELEASE);
	if (q->sleeping && enough(q)) {
		q->sleeping = false;
		soft_wake_later(ctx, &q->ndone);
	}
	fd_signal(q);
}

int soft_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **out)
{
	struct transport_queue *q = calloc(1, sizeof(*q));
	unsigned int i;

	if (!q)
		return -ENOMEM;
	q->node = dev->node;
	q->fd = -1;
	q->depth = q->nfree = depth;
	wait_spinner_init(&q->spin, dev->node->env->ncpu);
	q->free = calloc(depth, sizeof(*q->free));
	q->table = calloc(depth, sizeof(*q->table));
	if (!q->free || !q->table) {
		free(q->free);
		free(q->table);
		free(q);
		return -ENOMEM;
	}
	for (i = 0; i < depth; i++)
		q->free[i] = i;
	*out = q;
	return 0;
}

/* With the lock held: the commands that are still in flight end, or nearly so. */
static void cancel_all(struct transport_queue *q)
{
	struct transport_cmd *cmd;
	unsigned int i, k;
	bool taken;

	for (i = 0; i < q->depth && q->nfree < q->depth; i++) {
		cmd = q->table[i];
		taken = cmd != NULL;
		for (k = 0; k < q->nfree && taken; k++)
			taken = q->free[k] != i;
		if (taken)
			model_cancel(q->node->model, &priv(cmd)->m);
	}
}

/*
 * A command that an engine works on cannot be cut off, as its buffers are in use. Its job is bounded by the
 * device's limits, and has been told to stop: that bounds the wait.
 */
static void wait_all(struct transport_queue *q)
{
	struct soft_node *node = q->node;
	uint32_t seen;

	soft_lock(node);
	cancel_all(q);
	while (q->nfree < q->depth) {
		if (!node->opts.threads)
			soft_run_here(node);
		seen = q->ndone;
		q->want = 0;
		q->sleeping = true;
		soft_unlock(node);
		wait_sleep(&q->ndone, seen, wait_now_ns() + 10000000u);
		soft_lock(node);
		soft_tick(node, wait_now_ns());
	}
	q->sleeping = false;
	soft_unlock(node);
}

void soft_queue_free(struct transport_queue *q)
{
	if (!q->node->env->forked)
		wait_all(q);
	if (q->fd >= 0)
		close(q->fd);
	free(q->free);
	free(q->table);
	free(q);
}

static void submit_one(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct soft_cmd *sc = priv(cmd);

	sc->q = q;
	sc->index = q->free[--q->nfree];
	q->table[sc->index] = cmd;
	cmd->nvme_status = 0;
	sc->m.opcode = cmd->flags & TRANSPORT_WRITE ? MODEL_WRITE : MODEL_READ;
	sc->m.flags = cmd->flags & TRANSPORT_BORROW ? MODEL_CMD_BORROW : 0;
	sc->m.off = cmd->off;
	sc->m.nbytes = cmd->nbytes;
	sc->m.iov = cmd->iov;
	sc->m.niov = cmd->niov;
	sc->m.host = 0;
	sc->m.next = NULL;
	model_submit(q->node->model, &sc->m);
	/*
	 * The read may be held in a slot that is somebody else's by now, whose next job would answer it, or
	 * lend its buffer: it must not outlive this turn of the lock.
	 */
	if (cmd->nvme_status && cmd->pair)
		model_cancel(q->node->model, &priv(cmd->pair)->m);
}

int soft_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	struct soft_node *node = q->node;
	unsigned int i;

	soft_lock(node);
	/* Whoever only polls never waits for the clock elsewhere; what is due comes before what is new. */
	node->tick_ns = model_tick(node->model);
	for (i = 0; i < n && q->nfree; i++)
		submit_one(q, cmds[i]);
	if (!node->opts.threads)
		soft_run_here(node);
	soft_unlock(node);
	return i ? (int)i : -EAGAIN;
}

/* With the lock held. */
static unsigned int take(struct transport_queue *q, struct transport_cmd **done, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && q->first) {
		done[n++] = q->first;
		q->first = q->first->next;
	}
	if (n)
		__atomic_store_n(&q->ndone, q->ndone - n, __ATOMIC_RELEASE);
	if (!q->first)
		fd_clear(q);
	return n;
}

/* With the lock held at both ends: until one more command or enough are done, a tick is due or time is up. */
static void wait_one(struct transport_queue *q, uint64_t deadline)
{
	struct soft_node *node = q->node;
	uint32_t seen = q->ndone;

	soft_unlock(node);
	if (wait_spin(&q->spin, &q->ndone, seen)) {
		soft_lock(node);
		return;
	}
	soft_lock(node);
	if (enough(q))
		return;
	node->tick_ns = model_tick(node->model);
	/* Without workers a job that has come meanwhile is ours to run; with them it is not worth staying up. */
	if (enough(q) || (node->first && !node->opts.threads))
		return;
	seen = q->ndone;
	q->sleeping = true;
	deadline = BASE_MIN(deadline, node->tick_ns);
	soft_unlock(node);
	wait_sleep(&q->ndone, seen, deadline);
	soft_lock(node);
	q->sleeping = false;
}

int soft_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
	      int timeout_ms)
{
	struct soft_node *node = q->node;
	uint64_t deadline = UINT64_MAX, now;
	unsigned int n;

	soft_lock(node);
	q->want = BASE_MIN(BASE_MAX(min, 1u), max);
	if (q->first && (timeout_ms == 0 || enough(q))) {
		n = take(q, done, max);
		soft_unlock(node);
		return (int)n;
	}
	now = wait_now_ns();
	if (timeout_ms >= 0)
		deadline = now + (uint64_t)timeout_ms * 1000000u;
	for (;;) {
		soft_tick(node, now);
		if (!node->opts.threads)
			soft_run_here(node);
		if ((q->first && enough(q)) || now >= deadline)
			break;
		wait_one(q, deadline);
		now = wait_now_ns();
	}
	n = take(q, done, max);
	soft_unlock(node);
	return (int)n;
}

int soft_queue_fd(struct transport_queue *q)
{
	int ret;

	soft_lock(q->node);
	if (q->fd < 0) {
		q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (q->fd >= 0 && q->first)
			fd_signal(q);
	}
	ret = q->fd >= 0 ? q->fd : -errno;
	soft_unlock(q->node);
	return ret;
}
