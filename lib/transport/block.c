// SPDX-License-Identifier: BSD-2-Clause
/*
 * Commands to a node by threads, where io_uring is forbidden (a seccomp filter, kernel.io_uring_disabled). Each
 * command occupies a thread until it ends, held ones too; threads are made as they are needed, and at most so many
 * as there may be commands. They take commands in the order of submission, so that a write is never kept from its
 * thread by the reads of jobs behind it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "../base/iov.h"
#include "node.h"

#define MAX_THREADS	256u
#define STACK		(128u * 1024)

struct transport_queue {
	struct transport_dev *dev;
	unsigned int depth, inflight;
	pthread_mutex_t lock;		/* all below */
	pthread_cond_t work, ended;
	struct transport_list todo, done;
	unsigned int ntodo, ndone, nbusy, nthread;
	bool stop;
	int fd;				/* eventfd; -1: nobody asked */
	bool signalled;
	pthread_t thread[MAX_THREADS];
};

/* ---- In a thread ---- */

static int64_t run_ng(const struct transport_dev *dev, const struct node_map *map)
{
	const struct transport_cmd *cmd = map->cmd;
	uint64_t max = dev->sysfs.limits.max_nbytes, off, n;
	struct iovec *part = malloc((map->niov + 1) * sizeof(*part));
	int64_t ret = part ? 0 : -ENOMEM;
	int niov;

	for (off = 0; off < cmd->nbytes && !ret; off += n) {
		n = BASE_MIN(max, cmd->nbytes - off);
		niov = iov_slice(part, map->niov + 1, map->iov, map->niov, off, n);
		ret = niov > 0 ? ng_rw(dev, cmd->flags & TRANSPORT_WRITE, cmd->off + off, n, part, (unsigned int)niov) :
				 -EIO;
	}
	free(part);
	return ret;
}

static int64_t run_block(const struct transport_dev *dev, const struct node_map *map)
{
	const struct transport_cmd *cmd = map->cmd;
	ssize_t n;

	if (cmd->flags & TRANSPORT_WRITE)
		n = pwritev(dev->fd, map->iov, (int)map->niov, (off_t)cmd->off);
	else
		n = preadv(dev->fd, map->iov, (int)map->niov, (off_t)cmd->off);
	return n < 0 ? -errno : n;
}

static void run(struct transport_dev *dev, struct transport_cmd *cmd)
{
	struct node_map map;
	int ret = node_too_long(dev, cmd) ? -EMSGSIZE : node_map_make(&map, &dev->sysfs.limits, cmd, NULL, 0);

	if (ret) {
		cmd->error = ret;
		cmd->nvme_status = 0;
		return;
	}
	if (!dev->generic && node_crosses(&dev->sysfs.limits, cmd)) {
		node_map_end(&map, false);
		return;
	}
	__atomic_fetch_add(map.bounce ? &dev->copied : &dev->direct, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&dev->copied_nbytes, map.bounce_nbytes, __ATOMIC_RELAXED);
	if (dev->generic)
		node_outcome_ng(cmd, run_ng(dev, &map));
	else
		node_outcome(cmd, run_block(dev, &map));
	if (!cmd->error || cmd->error == -EIO)
		node_was_split(dev, cmd);
	node_map_end(&map, !cmd->error && !cmd->nvme_status);
}

/* With the lock held. */
static void tell(struct transport_queue *q)
{
	uint64_t one = 1;

	pthread_cond_signal(&q->ended);
	if (q->fd >= 0 && !q->signalled)
		q->signalled = write(q->fd, &one, sizeof(one)) == sizeof(one);
}

static void *worker(void *arg)
{
	struct transport_queue *q = arg;
	struct transport_cmd *cmd;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->todo.first && !q->stop)
			pthread_cond_wait(&q->work, &q->lock);
		cmd = q->todo.first;
		if (!cmd)
			break;
		q->todo.first = cmd->next;
		q->ntodo--;
		q->nbusy++;
		pthread_mutex_unlock(&q->lock);
		run(q->dev, cmd);
		pthread_mutex_lock(&q->lock);
		q->nbusy--;
		transport_list_add(&q->done, cmd);
		q->ndone++;
		tell(q);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* With the lock held. Signals are for the application's threads. */
static int add_thread(struct transport_queue *q)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int ret;

	if (q->nthread == BASE_MIN(q->depth, MAX_THREADS))
		return -EAGAIN;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&q->thread[q->nthread], &attr, worker, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!ret)
		q->nthread++;
	return -ret;
}

/* ---- In the caller's thread ---- */

static int block_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **out)
{
	struct transport_queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;
	int ret;

	if (!q)
		return -ENOMEM;
	q->dev = dev;
	q->depth = depth;
	q->fd = -1;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->ended, &attr);
	pthread_condattr_destroy(&attr);
	/* One there must be; if there can be no more, commands wait for each other. */
	ret = add_thread(q);
	if (ret) {
		free(q);
		return ret;
	}
	*out = q;
	return 0;
}

static int block_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	unsigned int i;

	pthread_mutex_lock(&q->lock);
	for (i = 0; i < n && q->inflight < q->depth; i++) {
		transport_list_add(&q->todo, cmds[i]);
		q->ntodo++;
		q->inflight++;
	}
	while (q->ntodo > q->nthread - q->nbusy && add_thread(q) == 0)
		;
	pthread_cond_broadcast(&q->work);
	pthread_mutex_unlock(&q->lock);
	return i ? (int)i : -EAGAIN;
}

static unsigned int take(struct transport_queue *q, struct transport_cmd **done, unsigned int max)
{
	unsigned int n = transport_list_take(&q->done, done, max);
	uint64_t count;

	q->ndone -= n;
	q->inflight -= n;
	if (!q->done.first && q->signalled && read(q->fd, &count, sizeof(count)) == sizeof(count))
		q->signalled = false;
	return n;
}

static struct timespec until(int timeout_ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += timeout_ms / 1000;
	ts.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

static int block_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
		      int timeout_ms)
{
	unsigned int want = BASE_MIN(BASE_MAX(min, 1u), max), n;
	struct timespec ts = { 0 };
	int ret = 0;

	if (timeout_ms > 0)
		ts = until(timeout_ms);
	pthread_mutex_lock(&q->lock);
	while (timeout_ms && !ret && q->ndone < want && (!q->ndone || q->ndone < q->inflight)) {
		if (timeout_ms > 0)
			ret = pthread_cond_timedwait(&q->ended, &q->lock, &ts);
		else if (q->inflight)
			ret = pthread_cond_wait(&q->ended, &q->lock);
		else
			break;		/* nothing will ever come */
	}
	n = take(q, done, max);
	pthread_mutex_unlock(&q->lock);
	return (int)n;
}

static int block_fd(struct transport_queue *q)
{
	int ret;

	pthread_mutex_lock(&q->lock);
	if (q->fd < 0) {
		q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (q->fd >= 0 && q->done.first)
			tell(q);
	}
	ret = q->fd >= 0 ? q->fd : -errno;
	pthread_mutex_unlock(&q->lock);
	return ret;
}

/* Commands that run are waited for, as with io_uring: their memory is in use. */
static void block_queue_free(struct transport_queue *q)
{
	struct transport_cmd *done[16];
	unsigned int i;

	if (!q->dev->env->forked) {
		while (q->inflight)
			block_reap(q, done, 16, 1, 1000);
		pthread_mutex_lock(&q->lock);
		q->stop = true;
		pthread_cond_broadcast(&q->work);
		pthread_mutex_unlock(&q->lock);
		for (i = 0; i < q->nthread; i++)
			pthread_join(q->thread[i], NULL);
		pthread_cond_destroy(&q->work);
		pthread_cond_destroy(&q->ended);
		pthread_mutex_destroy(&q->lock);
	}
	if (q->fd >= 0)
		close(q->fd);
	free(q);
}

const struct transport_ops transport_block = {
	.name = "block",
	.scan = node_scan,
	.open = node_open,
	.close = node_close,
	.identify = node_identify,
	.queue_new = block_queue_new,
	.queue_free = block_queue_free,
	.submit = block_submit,
	.reap = block_reap,
	.fd = block_fd,
	.reset = node_reset,
	.info = node_info,
	.identify_ctrl = node_identify_ctrl,
	.log_page = node_log_page,
	.hold = node_hold,
};
