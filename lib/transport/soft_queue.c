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

/* From within a call of the device: the lock is held. */
static void cmd_done(struct device_cmd *d, uint16_t nvme_status)
{
	struct soft_cmd *sc = (struct soft_cmd *)d;	/* d is its first member */
	struct transport_queue *q = sc->q;
	struct transport_cmd *cmd = q->table[sc->index];

	cmd->error = 0;
	cmd->nvme_status = nvme_status;
	transport_list_add(&q->done, cmd);
	q->free[q->nfree++] = sc->index;
	__atomic_store_n(&q->ndone, q->ndone + 1, __ATOMIC_RELEASE);
	if (q->sleeping && enough(q)) {
		q->sleeping = false;
		device_wake_later(q->dev, &q->ndone);
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
	q->dev = dev->node->dev;
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
			device_cancel_locked(q->dev, &priv(cmd)->d);
	}
}

/*
 * A command that an engine works on cannot be cut off, as its buffers are in use. Its job is bounded by the
 * device's limits, and has been told to stop: that bounds the wait.
 */
static void wait_all(struct transport_queue *q)
{
	struct device *dev = q->dev;
	uint32_t seen;

	device_lock(dev);
	cancel_all(q);
	while (q->nfree < q->depth) {
		device_run_locked(dev);
		seen = q->ndone;
		q->want = 0;
		q->sleeping = true;
		device_unlock(dev);
		wait_sleep(&q->ndone, seen, wait_now_ns() + 10000000u);
		device_lock(dev);
		device_tick_locked(dev, wait_now_ns());
	}
	q->sleeping = false;
	device_unlock(dev);
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
	struct device_cmd *d = &sc->d;

	sc->q = q;
	sc->index = q->free[--q->nfree];
	q->table[sc->index] = cmd;
	cmd->nvme_status = 0;
	d->m.opcode = cmd->flags & TRANSPORT_WRITE ? MODEL_WRITE : MODEL_READ;
	d->m.flags = cmd->flags & TRANSPORT_BORROW ? MODEL_CMD_BORROW | MODEL_CMD_LOCAL : 0;
	d->m.off = cmd->off;
	d->m.nbytes = cmd->nbytes;
	d->m.iov = cmd->iov;
	d->m.niov = cmd->niov;
	d->m.host = 0;
	d->done = cmd_done;
	d->pair = cmd->pair ? &priv(cmd->pair)->d : NULL;
	device_submit_locked(q->dev, d);
}

int soft_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	struct device *dev = q->dev;
	unsigned int i;

	device_lock(dev);
	/* Whoever only polls never waits for the clock elsewhere; what is due comes before what is new. */
	device_tick_locked(dev, wait_now_ns());
	for (i = 0; i < n && q->nfree; i++)
		submit_one(q, cmds[i]);
	device_run_locked(dev);
	device_unlock(dev);
	return i ? (int)i : -EAGAIN;
}

/* With the lock held. */
static unsigned int take(struct transport_queue *q, struct transport_cmd **done, unsigned int max)
{
	unsigned int n = transport_list_take(&q->done, done, max);

	if (n)
		__atomic_store_n(&q->ndone, q->ndone - n, __ATOMIC_RELEASE);
	if (!q->done.first)
		fd_clear(q);
	return n;
}

/* With the lock held at both ends: until one more command or enough are done, a tick is due or time is up. */
static void wait_one(struct transport_queue *q, uint64_t deadline)
{
	struct device *dev = q->dev;
	uint32_t seen = q->ndone;
	uint64_t due;

	device_unlock(dev);
	if (wait_spin(&q->spin, &q->ndone, seen)) {
		device_lock(dev);
		return;
	}
	device_lock(dev);
	if (enough(q))
		return;
	due = device_tick_locked(dev, wait_now_ns());
	/* Without workers a job that has come meanwhile is ours to run; with them it is not worth staying up. */
	if (enough(q) || device_has_work_locked(dev))
		return;
	seen = q->ndone;
	q->sleeping = true;
	device_unlock(dev);
	wait_sleep(&q->ndone, seen, BASE_MIN(deadline, due));
	device_lock(dev);
	q->sleeping = false;
}

int soft_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
	      int timeout_ms)
{
	struct device *dev = q->dev;
	uint64_t deadline = UINT64_MAX, now;
	unsigned int n;

	device_lock(dev);
	q->want = BASE_MIN(BASE_MAX(min, 1u), max);
	if (q->done.first && (timeout_ms == 0 || enough(q))) {
		n = take(q, done, max);
		device_unlock(dev);
		return (int)n;
	}
	now = wait_now_ns();
	if (timeout_ms >= 0)
		deadline = now + (uint64_t)timeout_ms * 1000000u;
	for (;;) {
		device_tick_locked(dev, now);
		device_run_locked(dev);
		if ((q->done.first && enough(q)) || now >= deadline)
			break;
		wait_one(q, deadline);
		now = wait_now_ns();
	}
	n = take(q, done, max);
	device_unlock(dev);
	return (int)n;
}

int soft_queue_fd(struct transport_queue *q)
{
	int ret;

	device_lock(q->dev);
	if (q->fd < 0) {
		q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (q->fd >= 0 && q->done.first)
			fd_signal(q);
	}
	ret = q->fd >= 0 ? q->fd : -errno;
	device_unlock(q->dev);
	return ret;
}
