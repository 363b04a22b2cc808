// SPDX-License-Identifier: BSD-2-Clause
/*
 * A transport for tests: another one, misbehaving. "fault:SPEC,NAME" opens NAME and applies the rules of
 * SPEC, which is a list of KIND@N or KIND@N/M with ';' between: the N-th command of that kind's direction
 * and, with /M, every M-th from there on. Only gathered commands count (of two elements or more), which
 * are those of jobs: leases, pages and aborts pass. Buffers are never lent, so that a device behind this
 * transport copies and holds by its own clock, as one behind a wire does.
 *
 *   failw  failr    ends with EIO and is not sent
 *   lostw  lostr    is sent, and ends with EIO all the same
 *   statusw statusr ends with NVMe status Internal Error and is not sent
 *   latew  later    ends 30 ms after it ended
 *   repeatw         is sent twice, the second time after it ended
 *   reorderw        is sent 5 ms after those that follow it
 *   splitw          is sent as two commands, the second half first
 *   cutw            only the first half is sent
 *
 * "max=N" (whole 4096 bytes) among them makes a path that carries no more than N bytes in one command: longer writes
 * are sent in two parts, the second one first, longer reads in two parts at the same time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../base/iov.h"
#include "transport.h"

#define MAX_RULES 8
#define MAX_IOV 1040
#define UNIT 4096u
#define INTERNAL_ERROR 0x006
#define LATE_NS 30000000u
#define REORDER_NS 5000000u

enum kind { FAIL, LOST, STATUS, LATE, REPEAT, REORDER, SPLIT, CUT, NKIND, NONE = NKIND };

static const char *const kind_names[NKIND] = {
	"fail", "lost", "status", "late", "repeat", "reorder", "split", "cut",
};

struct rule {
	enum kind kind;
	uint32_t dir;			/* TRANSPORT_WRITE or TRANSPORT_READ */
	unsigned int first, every;
};

struct transport_dev {
	const struct transport_ops *ops;
	struct transport_dev *dev;
	unsigned int nrules;
	struct rule rule[MAX_RULES];
	unsigned int nwrites, nreads;	/* gathered ones so far; atomic */
	uint64_t max;			/* bytes of a command; 0: any */
};

/* A command of ours; inner goes to the transport below. */
struct fcmd {
	struct transport_cmd inner, half;
	struct transport_cmd *outer;
	enum kind kind;
	unsigned int pending;		/* of inner and half */
	unsigned int sends;		/* still to come, for REPEAT */
	uint64_t due_ns;		/* to be sent (REORDER) or to end (LATE) then; 0: not waiting */
	bool send_due;
	uint64_t at;			/* where it is split */
	int error;			/* of what has ended */
	uint16_t status;
	struct fcmd *next_free;
	struct iovec iov[MAX_IOV], iov2[MAX_IOV];
};

struct transport_queue {
	struct transport_dev *dev;
	struct transport_queue *q;
	unsigned int depth;
	struct fcmd *cmds, *free;
	struct transport_list ended;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int parse_rule(const char *s, size_t len, struct rule *rule)
{
	char text[64], name[16];
	unsigned int k;
	int n = 0;

	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = '\0';
	rule->every = 0;
	if (sscanf(text, "%15[a-z]@%u%n/%u%n", name, &rule->first, &n, &rule->every, &n) < 2 ||
	    (size_t)n != len || !rule->first)
		return -EINVAL;
	len = strlen(name);
	if (len < 2 || (name[len - 1] != 'w' && name[len - 1] != 'r'))
		return -EINVAL;
	rule->dir = name[len - 1] == 'w' ? TRANSPORT_WRITE : TRANSPORT_READ;
	name[len - 1] = '\0';
	for (k = 0; k < NKIND && strcmp(name, kind_names[k]) != 0; k++)
		;
	if (k == NKIND || (k >= REPEAT && rule->dir == TRANSPORT_READ))
		return -EINVAL;
	rule->kind = (enum kind)k;
	return 0;
}

static int parse_max(const char *s, size_t len, uint64_t *max)
{
	unsigned int value;
	char text[32];
	int n = 0;

	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = '\0';
	if (sscanf(text, "max=%9u%n", &value, &n) != 1 || (size_t)n != len || !value || value % UNIT)
		return -EINVAL;
	*max = value;
	return 0;
}

static int parse(struct transport_dev *dev, const char *spec, size_t len)
{
	const char *end = spec + len, *stop;

	for (; spec < end; spec = stop < end ? stop + 1 : end) {
		stop = memchr(spec, ';', (size_t)(end - spec));
		if (!stop)
			stop = end;
		if (stop - spec > 4 && memcmp(spec, "max=", 4) == 0) {
			if (parse_max(spec, (size_t)(stop - spec), &dev->max))
				return -EINVAL;
			continue;
		}
		if (dev->nrules == MAX_RULES || parse_rule(spec, (size_t)(stop - spec), &dev->rule[dev->nrules]))
			return -EINVAL;
		dev->nrules++;
	}
	return 0;
}

static int fault_open(struct transport_env *env, const char *name, struct transport_dev **out)
{
	const char *comma = strchr(name, ',');
	struct transport_dev *dev;
	int ret;

	if (strncmp(name, "fault:", 6) != 0 || !comma)
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->ops = transport_for(comma + 1);
	ret = dev->ops ? parse(dev, name + 6, (size_t)(comma - name) - 6) : -EINVAL;
	if (!ret)
		ret = dev->ops->open(env, comma + 1, &dev->dev);
	if (ret)
		free(dev);
	else
		*out = dev;
	return ret;
}

static void fault_close(struct transport_dev *dev)
{
	dev->ops->close(dev->dev);
	free(dev);
}

static int fault_scan(struct transport_env *env, const char *options,
		      int (*found)(void *arg, const char *name), void *arg)
{
	(void)env;
	(void)options;
	(void)found;
	(void)arg;
	return 0;			/* such a device is only ever opened by name */
}

static int fault_identify(struct transport_dev *dev, void *page)
{
	return dev->ops->identify(dev->dev, page);
}

static int fault_reset(struct transport_dev *dev)
{
	return dev->ops->reset(dev->dev);
}

static int fault_info(struct transport_dev *dev, struct transport_info *info)
{
	transport_get_info(dev->ops, dev->dev, info);
	if (dev->max && (!info->max_nbytes || dev->max < info->max_nbytes))
		info->max_nbytes = dev->max;
	return 0;
}

static int fault_identify_ctrl(struct transport_dev *dev, void *page)
{
	return transport_identify_ctrl(dev->ops, dev->dev, page);
}

static int fault_log_page(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes)
{
	return transport_log_page(dev->ops, dev->dev, lid, off, buf, nbytes);
}

static int fault_hold(struct transport_dev *dev, enum transport_hold how)
{
	return transport_hold(dev->ops, dev->dev, how);
}

static void queue_destroy(struct transport_queue *q)
{
	free(q->cmds);
	free(q);
}

static int fault_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **out)
{
	struct transport_queue *q = calloc(1, sizeof(*q));
	unsigned int i;
	int ret;

	if (!q)
		return -ENOMEM;
	q->dev = dev;
	q->depth = depth;
	q->cmds = calloc(depth, sizeof(*q->cmds));
	ret = q->cmds ? dev->ops->queue_new(dev->dev, 2 * depth, &q->q) : -ENOMEM;
	if (ret) {
		queue_destroy(q);
		return ret;
	}
	for (i = 0; i < depth; i++) {
		q->cmds[i].next_free = q->free;
		q->free = &q->cmds[i];
	}
	*out = q;
	return 0;
}

static void fault_queue_free(struct transport_queue *q)
{
	q->dev->ops->queue_free(q->q);
	queue_destroy(q);
}

static enum kind choose(struct transport_dev *dev, const struct transport_cmd *cmd)
{
	uint32_t dir = cmd->flags & (TRANSPORT_WRITE | TRANSPORT_READ);
	unsigned int n, i, k;

	if (cmd->niov < 2)
		return NONE;
	n = __atomic_add_fetch(dir == TRANSPORT_WRITE ? &dev->nwrites : &dev->nreads, 1, __ATOMIC_RELAXED);
	for (i = 0; i < dev->nrules; i++) {
		k = dev->rule[i].every;
		if (dev->rule[i].dir != dir || n < dev->rule[i].first)
			continue;
		if (n == dev->rule[i].first || (k && (n - dev->rule[i].first) % k == 0))
			return dev->rule[i].kind;
	}
	return NONE;
}

static void end(struct transport_queue *q, struct fcmd *f, int error, uint16_t status)
{
	struct transport_cmd *cmd = f->outer;

	cmd->error = error;
	cmd->nvme_status = status;
	transport_list_add(&q->ended, cmd);
	f->due_ns = 0;
	f->next_free = q->free;
	q->free = f;
}

static void send_inner(struct transport_queue *q, struct fcmd *f, struct transport_cmd *cmd)
{
	cmd->user = f;
	f->pending++;
	if (q->dev->ops->submit(q->q, &cmd, 1) != 1) {
		f->pending--;
		f->error = -EIO;
		f->due_ns = 1;		/* ends at the next look at the clock */
	}
}

/* The part of a command that begins at block-aligned off; 0 if the list has too many pieces. */
static int slice(struct fcmd *f, struct transport_cmd *cmd, struct iovec *iov, uint64_t off, uint64_t n)
{
	int niov = iov_slice(iov, MAX_IOV, f->outer->iov, f->outer->niov, off, n);

	if (niov <= 0)
		return 0;
	cmd->flags = f->outer->flags & ~TRANSPORT_BORROW;
	cmd->give_up_ns = f->outer->give_up_ns;
	cmd->iov = iov;
	cmd->niov = (unsigned int)niov;
	cmd->off = f->outer->off + off;
	cmd->nbytes = n;
	return 1;
}

static uint64_t half_of(const struct fcmd *f)
{
	return f->outer->nbytes / 2 & ~(uint64_t)4095;
}

/* Where a command is split, 0: nowhere. */
static uint64_t split_at(const struct transport_queue *q, const struct fcmd *f)
{
	if (f->kind == SPLIT)
		return half_of(f);
	if (f->kind == REPEAT || f->kind == CUT || !q->dev->max || f->outer->nbytes <= q->dev->max)
		return 0;
	return q->dev->max;
}

/* Two parts: of a write the second one first, of a read both at once. */
static bool start_split(struct transport_queue *q, struct fcmd *f)
{
	f->at = split_at(q, f);
	if (!f->at || !slice(f, &f->inner, f->iov, 0, f->at) ||
	    !slice(f, &f->half, f->iov2, f->at, f->outer->nbytes - f->at))
		return false;
	if (f->outer->flags & TRANSPORT_WRITE)
		f->sends = 1;
	else
		send_inner(q, f, &f->inner);
	send_inner(q, f, &f->half);
	return true;
}

static void start(struct transport_queue *q, struct fcmd *f)
{
	uint64_t half = half_of(f);

	f->inner = *f->outer;
	f->inner.flags &= ~TRANSPORT_BORROW;
	f->inner.error = 0;
	f->inner.pair = NULL;
	if (f->kind == CUT && half && slice(f, &f->inner, f->iov, 0, half)) {
		send_inner(q, f, &f->inner);
		return;
	}
	if (start_split(q, f))
		return;
	f->at = 0;
	f->sends = f->kind == REPEAT;
	send_inner(q, f, &f->inner);
}

static void submit_one(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct fcmd *f = q->free;

	q->free = f->next_free;
	f->outer = cmd;
	f->kind = choose(q->dev, cmd);
	f->pending = f->sends = 0;
	f->due_ns = 0;
	f->send_due = false;
	f->error = f->status = 0;
	if (f->kind == FAIL) {
		end(q, f, -EIO, 0);
	} else if (f->kind == STATUS) {
		end(q, f, 0, INTERNAL_ERROR);
	} else if (f->kind == REORDER) {
		f->due_ns = now_ns() + REORDER_NS;
		f->send_due = true;
	} else {
		start(q, f);
	}
}

static int fault_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && q->free; i++)
		submit_one(q, cmds[i]);
	return i ? (int)i : -EAGAIN;
}

static void inner_done(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct fcmd *f = cmd->user;

	f->pending--;
	if (cmd->error && !f->error)
		f->error = cmd->error;
	if (cmd->nvme_status && !f->status)
		f->status = cmd->nvme_status;
	if (f->sends) {
		f->sends--;
		f->inner.error = f->inner.nvme_status = 0;
		send_inner(q, f, &f->inner);
	}
	if (f->pending)
		return;
	if (f->kind == LATE)
		f->due_ns = now_ns() + LATE_NS;
	else if (f->kind == LOST)
		end(q, f, -EIO, 0);
	else
		end(q, f, f->error, f->status);
}

static void timers(struct transport_queue *q)
{
	uint64_t now = now_ns();
	unsigned int i;

	for (i = 0; i < q->depth; i++) {
		struct fcmd *f = &q->cmds[i];

		if (!f->due_ns || now < f->due_ns || f->pending)
			continue;
		f->due_ns = 0;
		if (f->send_due) {
			f->send_due = false;
			start(q, f);
		} else {
			end(q, f, f->error, f->status);
		}
	}
}

/* Waits in steps of a millisecond, so that what is late here is not later than it should be. */
static int fault_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
		      int timeout_ms)
{
	struct transport_cmd *inner[16];
	uint64_t deadline = timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * 1000000u;
	unsigned int n;
	int got, i, wait = 0;

	(void)min;
	for (;;) {
		got = q->dev->ops->reap(q->q, inner, 16, 1, wait);
		for (i = 0; i < got; i++)
			inner_done(q, inner[i]);
		timers(q);
		n = transport_list_take(&q->ended, done, max);
		if (n || now_ns() >= deadline)
			return (int)n;
		wait = 1;
	}
}

static int fault_fd(struct transport_queue *q)
{
	return q->dev->ops->fd(q->q);
}

const struct transport_ops transport_fault = {
	.name = "fault",
	.scan = fault_scan,
	.open = fault_open,
	.close = fault_close,
	.identify = fault_identify,
	.queue_new = fault_queue_new,
	.queue_free = fault_queue_free,
	.submit = fault_submit,
	.reap = fault_reap,
	.fd = fault_fd,
	.reset = fault_reset,
	.info = fault_info,
	.identify_ctrl = fault_identify_ctrl,
	.log_page = fault_log_page,
	.hold = fault_hold,
};
