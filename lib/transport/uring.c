// SPDX-License-Identifier: BSD-2-Clause
/*
 * Commands to a node by io_uring: a ring a queue, so that the write and the held read of a job, and those of a whole
 * batch, go in one system call. Block nodes get O_DIRECT reads and writes, small ones through registered memory;
 * generic nodes get passthrough commands, whose NVMe status comes back as it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "../base/iov.h"
#include "node.h"

#define WARNING		1		/* enum accel_log_level */
#define ENTRIES_MAX	4096u
#define SMALL		8192u		/* bytes of registered memory for a command */
#define SMALL_MAX	256u		/* commands that have some */
#define NS_PER_S	1000000000ull
#define FREE_SAY_NS	(30 * NS_PER_S)
#define NO_SMALL	UINT32_MAX
#define OUTCOME_SET	1u		/* node_req.flags: nothing was sent, the outcome is known */

struct node_req {
	struct transport_cmd *cmd;
	struct node_req *next_free;
	struct node_map map;
	struct iovec *part;		/* lists of the parts of a passthrough command, or NULL */
	unsigned int pending;		/* completions to come */
	uint32_t small;			/* index of its registered memory */
	uint32_t flags;
	uint16_t status;		/* with OUTCOME_SET */
	int64_t res;			/* bytes, or what went wrong first */
};

struct transport_queue {
	struct transport_dev *dev;
	struct io_uring ring;
	unsigned int depth, inflight, pending;	/* commands; completions to come */
	unsigned int limit;		/* of commands in flight */
	struct node_req *reqs, *free;
	bool file;			/* the node is registered */
	bool fixed;			/* and so is the memory for small commands */
	uint8_t *small;
	uint32_t nsmall, *free_small;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

bool uring_allowed(void)
{
	struct io_uring ring;

	if (io_uring_queue_init(2, &ring, 0))
		return false;
	io_uring_queue_exit(&ring);
	return true;
}

/* ---- Making and freeing ---- */

/* Small commands go through memory that the kernel has pinned already: copying them costs less than pinning. */
static void small_init(struct transport_queue *q)
{
	uint32_t n = BASE_MIN(q->depth, SMALL_MAX), i;
	struct iovec iov;
	void *p;

	p = mmap(NULL, (size_t)n * SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q->free_small = malloc(n * sizeof(*q->free_small));
	if (p == MAP_FAILED || !q->free_small) {
		if (p != MAP_FAILED)
			munmap(p, (size_t)n * SMALL);
		return;
	}
	q->small = p;
	iov = (struct iovec){ p, (size_t)n * SMALL };
	/* Beyond the limit on locked memory it is ordinary memory. */
	q->fixed = !q->dev->generic && io_uring_register_buffers(&q->ring, &iov, 1) == 0;
	for (i = 0; i < n; i++)
		q->free_small[i] = i;
	q->nsmall = n;
}

static void destroy(struct transport_queue *q)
{
	uint32_t n = BASE_MIN(q->depth, SMALL_MAX);

	io_uring_queue_exit(&q->ring);
	if (q->small)
		munmap(q->small, (size_t)n * SMALL);
	free(q->free_small);
	free(q->reqs);
	free(q);
}

static int ring_init(struct transport_queue *q)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CLAMP };
	unsigned int entries = BASE_MIN(BASE_MAX(q->depth, 4u), ENTRIES_MAX);
	int ret;

	if (q->dev->generic)
		p.flags |= IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	ret = io_uring_queue_init_params(entries, &q->ring, &p);
	if (ret)
		return ret == -EINVAL && q->dev->generic ? -ENOTSUP : ret;
	/* Without these a wait for a time would itself be a command, and completions could get lost. */
	if (!(p.features & IORING_FEAT_EXT_ARG) || !(p.features & IORING_FEAT_NODROP)) {
		io_uring_queue_exit(&q->ring);
		return -ENOTSUP;
	}
	q->file = io_uring_register_files(&q->ring, &q->dev->fd, 1) == 0;
	return 0;
}

static int uring_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **out)
{
	struct transport_queue *q = calloc(1, sizeof(*q));
	unsigned int i;
	int ret;

	if (!q)
		return -ENOMEM;
	q->dev = dev;
	q->depth = depth;
	q->limit = dev->sysfs.limits.nr_requests ? BASE_MAX(dev->sysfs.limits.nr_requests, 4u) : depth;
	q->reqs = calloc(depth, sizeof(*q->reqs));
	ret = q->reqs ? ring_init(q) : -ENOMEM;
	if (ret) {
		free(q->reqs);
		free(q);
		return ret;
	}
	for (i = 0; i < depth; i++) {
		q->reqs[i].next_free = q->free;
		q->free = &q->reqs[i];
	}
	small_init(q);
	*out = q;
	return 0;
}

/* ---- From a command to entries of the ring ---- */

static struct io_uring_sqe *get_sqe(struct transport_queue *q)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&q->ring);

	if (!sqe && io_uring_submit(&q->ring) > 0)
		sqe = io_uring_get_sqe(&q->ring);
	return sqe;
}

static void add_sqe(struct transport_queue *q, struct node_req *r, struct io_uring_sqe *sqe)
{
	if (q->file && sqe->opcode != IORING_OP_NOP)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, r);
	r->pending++;
	q->pending++;
}

static void prep_block(struct transport_queue *q, struct node_req *r, struct io_uring_sqe *sqe)
{
	const struct node_map *m = &r->map;
	int fd = q->file ? 0 : q->dev->fd;
	bool is_write = r->cmd->flags & TRANSPORT_WRITE;
	uint32_t n = (uint32_t)m->iov[0].iov_len;

	if (m->bounce_lent && q->fixed && is_write)
		io_uring_prep_write_fixed(sqe, fd, m->iov[0].iov_base, n, r->cmd->off, 0);
	else if (m->bounce_lent && q->fixed)
		io_uring_prep_read_fixed(sqe, fd, m->iov[0].iov_base, n, r->cmd->off, 0);
	else if (m->niov == 1 && is_write)
		io_uring_prep_write(sqe, fd, m->iov[0].iov_base, n, r->cmd->off);
	else if (m->niov == 1)
		io_uring_prep_read(sqe, fd, m->iov[0].iov_base, n, r->cmd->off);
	else if (is_write)
		io_uring_prep_writev(sqe, fd, m->iov, m->niov, r->cmd->off);
	else
		io_uring_prep_readv(sqe, fd, m->iov, m->niov, r->cmd->off);
	add_sqe(q, r, sqe);
}

static void prep_ng(struct transport_queue *q, struct node_req *r, struct io_uring_sqe *sqe, uint64_t off, uint64_t n,
		    const struct iovec *iov, unsigned int niov)
{
	/* The command lies in the second half of an entry of 128 bytes. */
	struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)sqe->cmd;

	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = q->file ? 0 : q->dev->fd;
	sqe->cmd_op = NVME_URING_CMD_IO_VEC;
	ng_fill(q->dev, cmd, r->cmd->flags & TRANSPORT_WRITE, off, n, iov, niov);
	add_sqe(q, r, sqe);
}

/* Passthrough commands are not split by the kernel. */
static int prep_parts(struct transport_queue *q, struct node_req *r)
{
	uint64_t max = q->dev->sysfs.limits.max_nbytes, off = 0, n;
	uint64_t nparts = (r->cmd->nbytes + max - 1) / max;
	unsigned int used = 0, room = r->map.niov + (unsigned int)nparts;
	struct io_uring_sqe *sqe;
	int niov;

	r->part = malloc(room * sizeof(*r->part));
	if (!r->part)
		return -ENOMEM;
	for (; off < r->cmd->nbytes; off += n) {
		n = BASE_MIN(max, r->cmd->nbytes - off);
		niov = iov_slice(r->part + used, room - used, r->map.iov, r->map.niov, off, n);
		sqe = niov > 0 ? get_sqe(q) : NULL;
		/* What was prepared goes; the command as a whole has failed. */
		if (!sqe)
			return -EIO;
		prep_ng(q, r, sqe, r->cmd->off + off, n, r->part + used, (unsigned int)niov);
		used += (unsigned int)niov;
	}
	return 0;
}

/* Its outcome is known, and comes back in its turn as all others do. */
static void prep_nop(struct transport_queue *q, struct node_req *r, struct io_uring_sqe *sqe, int err)
{
	io_uring_prep_nop(sqe);
	r->flags |= OUTCOME_SET;
	r->res = err;
	add_sqe(q, r, sqe);
}

static void put_req(struct transport_queue *q, struct node_req *r, bool ok)
{
	node_map_end(&r->map, ok);
	if (r->small != NO_SMALL)
		q->free_small[q->nsmall++] = r->small;
	free(r->part);
	r->part = NULL;
	r->next_free = q->free;
	q->free = r;
	q->inflight--;
}

static struct node_req *take_req(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct node_req *r = q->free;

	q->free = r->next_free;
	q->inflight++;
	r->cmd = cmd;
	r->pending = 0;
	r->flags = 0;
	r->status = 0;
	r->res = 0;
	r->part = NULL;
	r->small = NO_SMALL;
	if (cmd->nbytes <= SMALL && q->nsmall)
		r->small = q->free_small[--q->nsmall];
	return r;
}

static void note(struct transport_dev *dev, const struct node_map *map)
{
	__atomic_fetch_add(map->bounce ? &dev->copied : &dev->direct, 1, __ATOMIC_RELAXED);
	if (map->bounce)
		__atomic_fetch_add(&dev->copied_nbytes, map->bounce_nbytes, __ATOMIC_RELAXED);
}

static bool start(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct io_uring_sqe *sqe = get_sqe(q);
	struct node_req *r;
	int ret;

	if (!sqe)
		return false;
	r = take_req(q, cmd);
	ret = node_map_make(&r->map, &q->dev->sysfs.limits, cmd,
			    r->small == NO_SMALL ? NULL : q->small + (size_t)r->small * SMALL, SMALL);
	if (!ret)
		note(q->dev, &r->map);
	if (!ret && node_too_long(q->dev, cmd))
		ret = -EMSGSIZE;
	if (ret) {
		prep_nop(q, r, sqe, ret);
	} else if (!q->dev->generic && node_crosses(&q->dev->sysfs.limits, cmd)) {
		prep_nop(q, r, sqe, 0);
		r->status = cmd->nvme_status;
	} else if (!q->dev->generic) {
		prep_block(q, r, sqe);
	} else if (cmd->nbytes <= q->dev->sysfs.limits.max_nbytes) {
		prep_ng(q, r, sqe, cmd->off, cmd->nbytes, r->map.iov, r->map.niov);
	} else {
		/* The entry in hand must be something: it stands for the parts together. */
		prep_nop(q, r, sqe, 0);
		r->flags = 0;
		r->res = prep_parts(q, r);
	}
	return true;
}

static int uring_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && q->free && q->inflight < q->limit; i++)
		if (!start(q, cmds[i]))
			break;
	/* What the kernel does not take now stays in the ring, and goes with the next look at it. */
	if (i)
		io_uring_submit(&q->ring);
	return i ? (int)i : -EAGAIN;
}

/* ---- Completions ---- */

static void collect(struct transport_queue *q, struct node_req *r, int64_t res)
{
	if (r->flags & OUTCOME_SET)
		return;
	if (!q->dev->generic)
		r->res = res;
	else if (!r->res)
		r->res = res;		/* of several parts the first that failed */
}

static struct transport_cmd *complete(struct transport_queue *q, struct io_uring_cqe *cqe)
{
	struct node_req *r = io_uring_cqe_get_data(cqe);
	struct transport_cmd *cmd;

	collect(q, r, cqe->res);
	q->pending--;
	if (--r->pending)
		return NULL;
	cmd = r->cmd;
	if (r->flags & OUTCOME_SET) {
		cmd->error = (int)r->res;
		cmd->nvme_status = r->status;
	} else if (q->dev->generic) {
		node_outcome_ng(cmd, r->res);
	} else {
		node_outcome(cmd, r->res);
	}
	if (!cmd->error || cmd->error == -EIO)
		node_was_split(q->dev, cmd);
	put_req(q, r, !cmd->error && !cmd->nvme_status);
	return cmd;
}

static unsigned int take(struct transport_queue *q, struct transport_cmd **done, unsigned int max)
{
	struct io_uring_cqe *cqe;
	struct transport_cmd *cmd;
	unsigned int n = 0;

	while (n < max && io_uring_peek_cqe(&q->ring, &cqe) == 0) {
		cmd = complete(q, cqe);
		io_uring_cqe_seen(&q->ring, cqe);
		if (cmd)
			done[n++] = cmd;
	}
	return n;
}

/* For about n completions, or until the time is up; false: it is. */
static bool wait_for(struct transport_queue *q, unsigned int n, uint64_t deadline)
{
	struct __kernel_timespec ts, *limit = NULL;
	struct io_uring_cqe *cqe;
	uint64_t now;

	if (deadline != UINT64_MAX) {
		now = now_ns();
		if (now >= deadline)
			return false;
		ts.tv_sec = (long long)((deadline - now) / NS_PER_S);
		ts.tv_nsec = (long long)((deadline - now) % NS_PER_S);
		limit = &ts;
	} else if (!q->pending) {
		return false;		/* nothing will ever come */
	}
	io_uring_wait_cqes(&q->ring, &cqe, BASE_MAX(BASE_MIN(n, q->pending), 1u), limit, NULL);
	return true;
}

static int uring_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
		      int timeout_ms)
{
	unsigned int want = BASE_MIN(BASE_MAX(min, 1u), max), n;
	uint64_t deadline = UINT64_MAX;

	if (io_uring_sq_ready(&q->ring))
		io_uring_submit(&q->ring);
	n = take(q, done, max);
	if (n >= want || !timeout_ms || (n && !q->inflight))
		return (int)n;
	if (timeout_ms > 0)
		deadline = now_ns() + (uint64_t)timeout_ms * 1000000u;
	while (n < want && (!n || q->inflight) && wait_for(q, want - n, deadline))
		n += take(q, done + n, max - n);
	return (int)n;
}

static int uring_fd(struct transport_queue *q)
{
	return q->ring.ring_fd;
}

/*
 * The kernel cannot take a command back that it has sent. Held ones end by the device's clock, and those of a path
 * that is gone by the kernel's (ctrl_loss_tmo). Until then the caller's memory is in use.
 */
static void wait_all(struct transport_queue *q)
{
	uint64_t say = now_ns() + FREE_SAY_NS;
	struct transport_cmd *done[16];

	while (q->inflight) {
		uring_reap(q, done, 16, 1, 1000);
		if (!q->inflight || now_ns() < say)
			continue;
		transport_log(q->dev->env, WARNING, "%s: %u commands have not ended yet; the kernel ends them when it "
			      "gives up the path (ctrl_loss_tmo)", q->dev->name, q->inflight);
		say = now_ns() + FREE_SAY_NS;
	}
}

static void uring_queue_free(struct transport_queue *q)
{
	if (!q->dev->env->forked)
		wait_all(q);
	destroy(q);
}

const struct transport_ops transport_uring = {
	.name = "uring",
	.scan = node_scan,
	.open = node_open,
	.close = node_close,
	.identify = node_identify,
	.queue_new = uring_queue_new,
	.queue_free = uring_queue_free,
	.submit = uring_submit,
	.reap = uring_reap,
	.fd = uring_fd,
	.reset = node_reset,
	.info = node_info,
	.identify_ctrl = node_identify_ctrl,
	.log_page = node_log_page,
	.hold = node_hold,
};
