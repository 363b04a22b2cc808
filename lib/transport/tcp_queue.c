// SPDX-License-Identifier: BSD-2-Clause
/*
 * A transport queue: an I/O connection that comes back. Commands wait here until the connection takes them; those
 * that it had when it was lost end with an error, because nobody knows what became of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tcp.h"

#define NBUF 131072u			/* of the receive buffer */
#define HOLD_MS 1000u			/* that a command waits for a connection to come back */
#define SLICE_MS 200			/* SO_RCVTIMEO */
#define IDLE_NS 10000000u		/* after which the peer may have gone unnoticed */
#define RETRY_MIN_MS 10u
#define RETRY_MAX_MS 500u
#define PATIENCE 3u			/* failed attempts until the association is made anew */
#define SPIN_START 4
#define SPIN_MAX 16
#define SPIN_LOST 4			/* for each look in vain */
#define SPIN_PAUSE (-200)		/* waits until the next try */

/* In transport_cmd.priv. */
struct tcp_cmd {
	uint64_t issued;		/* bytes of it that have become commands of the connection */
	uint64_t give_up_ns;
	unsigned int pieces;		/* of these, in flight */
	int error;
	uint16_t status;
};
_Static_assert(sizeof(struct tcp_cmd) <= sizeof(((struct transport_cmd *)0)->priv), "priv");

static struct tcp_cmd *priv(struct transport_cmd *cmd)
{
	return (struct tcp_cmd *)cmd->priv;
}

/* ---- Ends ---- */

static void finish(struct transport_queue *q, struct transport_cmd *cmd, int error, uint16_t status)
{
	cmd->error = error;
	cmd->nvme_status = error ? 0 : status;
	transport_list_add(&q->done, cmd);
	q->ndone++;
}

static void unqueue(struct transport_queue *q, struct transport_cmd *cmd)
{
	struct transport_cmd **at = &q->unsent.first, *prev = NULL;

	while (*at && *at != cmd) {
		prev = *at;
		at = &prev->next;
	}
	if (!*at)
		return;
	*at = cmd->next;
	if (q->unsent.last == cmd)
		q->unsent.last = prev;
}

static void req_done(struct tcp_conn *c, struct tcp_req *r)
{
	struct transport_queue *q = c->o.owner;
	struct transport_cmd *cmd = r->user;
	struct tcp_cmd *t = priv(cmd);

	t->pieces--;
	if (r->error && !t->error)
		t->error = r->error;
	if (r->status && !t->status)
		t->status = r->status & 0x47ff;
	if (t->pieces || (t->issued < cmd->nbytes && !t->error && !t->status))
		return;
	if (t->issued < cmd->nbytes)
		unqueue(q, cmd);
	finish(q, cmd, t->error, t->status);
}

/* ---- The connection ---- */

static uint64_t retry_delay(const struct transport_queue *q)
{
	return BASE_MIN(RETRY_MIN_MS << BASE_MIN(q->fails, 10u), RETRY_MAX_MS) * TCP_NS_PER_MS;
}

/* With the device's lock: queue numbers are taken in turn, so that one that the target still holds rests a while. */
static int take_qid(struct transport_queue *q)
{
	struct transport_dev *dev = q->dev;
	unsigned int i, k;

	for (i = 0; !q->qid && i < dev->nqueue; i++) {
		k = (dev->last_qid + i) % dev->nqueue;
		if (dev->qids >> k & 1)
			continue;
		dev->qids |= 1ull << k;
		dev->last_qid = k + 1;
		q->qid = (uint16_t)(k + 1);
	}
	if (q->qid && q->qid <= dev->nqueue)
		return 0;
	tcp_conn_log(&q->conn, TCP_LOG_WARNING, "all %u I/O queues of the controller are in use", dev->nqueue);
	return -ENOSPC;
}

static void put_qid(struct transport_queue *q)
{
	if (q->qid)
		q->dev->qids &= ~(1ull << (q->qid - 1));
	q->qid = 0;
}

/* With the lock, the association is up: as deep as asked for and as the controller takes. */
static int start_conn(struct transport_queue *q)
{
	struct transport_dev *dev = q->dev;
	unsigned int entries = BASE_MIN(q->conn.o.depth + 1, (unsigned int)(dev->cap & 0xffff) + 1);
	unsigned int i = dev->at % dev->addrs.n;
	int ret = take_qid(q);

	if (ret)
		return ret;
	q->conn.limit = BASE_MIN(entries - 1, dev->maxcmd ? dev->maxcmd : entries);
	q->conn.max_icd = dev->icd;
	q->max_nbytes = tcp_max_nbytes(dev);
	q->generation = dev->generation;
	return tcp_conn_start(&q->conn, &dev->addrs.addr[i].sa, dev->addrs.addr[i].len, dev->name.nqn, q->qid,
			      dev->cntlid, (uint16_t)entries);
}

static void conn_failed(struct transport_queue *q, int error, uint64_t now)
{
	struct transport_dev *dev = q->dev;

	q->error = error;
	q->retry_ns = now + retry_delay(q);
	q->fails++;
	if (pthread_mutex_trylock(&dev->lock))
		return;
	put_qid(q);
	if (q->fails >= PATIENCE && dev->state == TCP_UP && dev->generation == q->generation) {
		tcp_assoc_drop(dev, error, now);
		q->fails = 0;
	}
	pthread_mutex_unlock(&dev->lock);
}

/* A new connection, on an association that may have to be made anew before. */
static void reconnect(struct transport_queue *q, uint64_t now)
{
	struct transport_dev *dev = q->dev;
	int ret;

	if (now < q->retry_ns || pthread_mutex_trylock(&dev->lock))
		return;
	if (dev->state == TCP_UP && tcp_conn_hung_up(&dev->admin))
		tcp_assoc_drop(dev, -ECONNRESET, now);
	ret = tcp_assoc_drive(dev, now);
	if (!ret) {
		ret = start_conn(q);
		if (ret)
			q->retry_ns = now + retry_delay(q);
	}
	if (ret && ret != -EAGAIN)
		q->error = ret;
	pthread_mutex_unlock(&dev->lock);
}

/* Moves a connection on that is not live. */
static void drive(struct transport_queue *q, uint64_t now)
{
	int ret;

	if (q->conn.state == TCP_CLOSED)
		reconnect(q, now);
	if (q->conn.state == TCP_CLOSED)
		return;
	ret = tcp_conn_drive(&q->conn, now);
	if (ret == -EAGAIN)
		return;
	if (ret) {
		conn_failed(q, ret, now);
		return;
	}
	q->fails = 0;
	q->error = 0;
	q->conn.heard_ns = now;
}

/* What a command that cannot be sent ends with: a reason that is for good, or that it was not sent. */
static void give_up(struct transport_queue *q, uint64_t now)
{
	bool final = tcp_is_final(q->error);
	struct transport_cmd *cmd, *next;

	for (cmd = q->unsent.first; cmd; cmd = next) {
		next = cmd->next;
		if (priv(cmd)->pieces || (!final && now < priv(cmd)->give_up_ns))
			continue;
		unqueue(q, cmd);
		finish(q, cmd, final ? q->error : -ENOTCONN, 0);
	}
	/* The next command may find it otherwise. */
	if (final)
		q->error = -ENOTCONN;
}

/* ---- Commands ---- */

/* The next piece of a command: of a write the last part first, so that its job starts when all of it is there. */
static uint64_t piece(const struct transport_cmd *cmd, const struct tcp_cmd *t, uint64_t max, uint64_t *off)
{
	uint64_t left = cmd->nbytes - t->issued;

	if (left <= max) {
		*off = cmd->flags & TRANSPORT_WRITE ? 0 : t->issued;
		return left;
	}
	if (!(cmd->flags & TRANSPORT_WRITE)) {
		*off = t->issued;
		return max;
	}
	*off = (left - 1) / max * max;
	return left - *off;
}

static bool issue_piece(struct transport_queue *q, struct transport_cmd *cmd, uint64_t now)
{
	struct transport_dev *dev = q->dev;
	struct tcp_req *r = tcp_req_get(&q->conn);
	struct tcp_cmd *t = priv(cmd);
	uint64_t off, n, slba;

	if (!r)
		return false;
	n = piece(cmd, t, q->max_nbytes, &off);
	slba = (cmd->off + off) >> dev->lbads;
	r->sqe.opc = cmd->flags & TRANSPORT_WRITE ? NVME_IO_WRITE : NVME_IO_READ;
	le32_put(&r->sqe.nsid, dev->name.nsid);
	le32_put(&r->sqe.cdw10, (uint32_t)slba);
	le32_put(&r->sqe.cdw11, (uint32_t)(slba >> 32));
	le32_put(&r->sqe.cdw12, (uint32_t)(n >> dev->lbads) - 1);
	r->dir = cmd->flags & TRANSPORT_WRITE ? TCP_TO_CTRL : TCP_TO_HOST;
	r->iov = cmd->iov;
	r->niov = cmd->niov;
	r->base = off;
	r->nbytes = (uint32_t)n;
	r->user = cmd;
	t->issued += n;
	t->pieces++;
	tcp_req_queue(&q->conn, r, now);
	return true;
}

static void issue(struct transport_queue *q, uint64_t now)
{
	struct transport_cmd *cmd;

	while ((cmd = q->unsent.first)) {
		if (!issue_piece(q, cmd, now))
			return;
		if (priv(cmd)->issued < cmd->nbytes)
			continue;
		q->unsent.first = cmd->next;
		if (!q->unsent.first)
			q->unsent.last = NULL;
	}
}

static void keep_alive(struct transport_queue *q, uint64_t now)
{
	struct transport_dev *dev = q->dev;

	if (now < q->keep_ns || !dev->name.kato_ms)
		return;
	q->keep_ns = now + dev->name.kato_ms * TCP_NS_PER_MS / 16;
	if (pthread_mutex_trylock(&dev->lock))
		return;
	tcp_assoc_keep(dev, now);
	pthread_mutex_unlock(&dev->lock);
}

/* The connection is checked, brought back if there is use for it, and gets what it can take. */
static void tend(struct transport_queue *q, uint64_t now)
{
	struct tcp_conn *c = &q->conn;

	if (c->state == TCP_LIVE && __atomic_load_n(&q->dev->generation, __ATOMIC_ACQUIRE) != q->generation)
		tcp_conn_close(c, -ECONNRESET);
	if (c->state == TCP_LIVE)
		tcp_conn_check(c, now);
	if (c->state != TCP_LIVE && q->unsent.first)
		drive(q, now);
	if (c->state == TCP_LIVE) {
		if (q->unsent.first)
			issue(q, now);
		if (c->tx_first)
			tcp_send(c);
		keep_alive(q, now);
	} else if (q->unsent.first) {
		give_up(q, now);
	}
}

int tcp_queue_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n)
{
	uint64_t now = tcp_now(), mask = (1ull << q->dev->lbads) - 1;
	uint64_t hold = BASE_MIN(q->dev->name.timeout_ms, HOLD_MS) * TCP_NS_PER_MS;
	struct tcp_conn *c = &q->conn;
	struct transport_cmd *cmd;
	unsigned int i;

	if (c->state == TCP_LIVE && !c->nbusy && now - c->heard_ns > IDLE_NS && tcp_conn_hung_up(c))
		tcp_conn_close(c, -ECONNRESET);
	for (i = 0; i < n && q->nheld < q->depth; i++) {
		cmd = cmds[i];
		memset(cmd->priv, 0, sizeof(struct tcp_cmd));
		priv(cmd)->give_up_ns = now + hold;
		if (cmd->give_up_ns)
			priv(cmd)->give_up_ns = BASE_MIN(priv(cmd)->give_up_ns, cmd->give_up_ns);
		q->nheld++;
		if (!cmd->nbytes || ((cmd->off | cmd->nbytes) & mask)) {
			finish(q, cmd, -EINVAL, 0);
			continue;
		}
		if (cmd->flags & TRANSPORT_WHOLE && q->max_nbytes && cmd->nbytes > q->max_nbytes) {
			finish(q, cmd, -EMSGSIZE, 0);
			continue;
		}
		transport_list_add(&q->unsent, cmd);
	}
	c->heard_ns = now;
	tend(q, now);
	tcp_queue_watch(q, now);
	return i ? (int)i : -EAGAIN;
}

/* ---- Waiting ---- */

static bool spin_worth(struct transport_queue *q)
{
	return q->spin_ns && (q->credit > 0 || ++q->credit > 0);
}

/* Looks for what comes at once: a sleep and a wake-up cost more than a small job. Whether something came. */
static bool spin(struct transport_queue *q, uint64_t deadline)
{
	uint64_t now = tcp_now(), end = BASE_MIN(now + q->spin_ns, deadline);
	int n;

	do {
		n = tcp_recv(&q->conn, MSG_DONTWAIT);
		if (n) {
			q->credit = BASE_MIN(q->credit + 1, SPIN_MAX);
			return true;
		}
		now = tcp_now();
	} while (now < end);
	q->credit -= SPIN_LOST;
	if (q->credit <= 0)
		q->credit = SPIN_PAUSE;
	return false;
}

static int ms_until(uint64_t now, uint64_t when)
{
	if (when <= now)
		return 0;
	when = (when - now + TCP_NS_PER_MS - 1) / TCP_NS_PER_MS;
	return (int)BASE_MIN(when, (uint64_t)SLICE_MS);
}

/* There is no connection: its socket, or the association's, has the next word, or the clock. */
static void wait_down(struct transport_queue *q, uint64_t now, uint64_t deadline)
{
	struct pollfd p = { q->conn.fd, q->conn.fd >= 0 ? tcp_conn_events(&q->conn) : 0, 0 };
	int ms = ms_until(now, deadline);

	if (q->unsent.first)
		ms = BASE_MIN(ms, (int)TCP_TICK_MS);
	if (q->conn.fd < 0 && q->unsent.first && !pthread_mutex_trylock(&q->dev->lock)) {
		p.fd = q->dev->admin.fd;
		p.events = tcp_conn_events(&q->dev->admin);
		pthread_mutex_unlock(&q->dev->lock);
	}
	poll(&p, 1, ms);
}

/* Waits for something to come, and takes it in. */
static void wait_live(struct transport_queue *q, uint64_t now, uint64_t deadline)
{
	struct tcp_conn *c = &q->conn;
	struct pollfd p = { c->fd, tcp_conn_events(c), 0 };
	int ms;

	if (c->nbusy && !c->tx_first && spin_worth(q)) {
		if (spin(q, deadline))
			return;
		now = tcp_now();
	}
	ms = ms_until(now, BASE_MIN(deadline, c->check_ns));
	/* The usual case in one call: the socket wakes up by itself after a slice. */
	if (c->nbusy && ms == SLICE_MS && !c->tx_first) {
		tcp_recv(c, 0);
		return;
	}
	if (poll(&p, 1, ms) <= 0)
		return;
	if (p.revents & ~POLLOUT)
		tcp_recv(c, MSG_DONTWAIT);
	if (c->state == TCP_LIVE && p.revents & POLLOUT)
		tcp_send(c);
}

/* All that is there without waiting, as far as the caller has room for it. */
static void poll_live(struct transport_queue *q, unsigned int max)
{
	size_t window;
	int n;

	do {
		window = q->conn.window;
		n = tcp_recv(&q->conn, MSG_DONTWAIT);
	} while (n > 0 && (size_t)n >= window && q->ndone < max);
}

static unsigned int take(struct transport_queue *q, struct transport_cmd **done, unsigned int max)
{
	unsigned int n = transport_list_take(&q->done, done, max);

	q->ndone -= n;
	q->nheld -= n;
	return n;
}

int tcp_queue_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
		   int timeout_ms)
{
	unsigned int want = BASE_MIN(BASE_MAX(min, 1u), max);
	uint64_t now = tcp_now(), deadline = UINT64_MAX;
	bool live;

	if (timeout_ms >= 0)
		deadline = now + (uint64_t)timeout_ms * TCP_NS_PER_MS;
	if (!timeout_ms && q->conn.state == TCP_LIVE && q->conn.nbusy)
		poll_live(q, max);
	for (;;) {
		tend(q, now);
		if (q->ndone >= want || (q->ndone && q->ndone == q->nheld) || now >= deadline)
			break;
		live = q->conn.state == TCP_LIVE;
		if (live)
			wait_live(q, now, deadline);
		else
			wait_down(q, now, deadline);
		now = tcp_now();
		if (live)
			q->conn.heard_ns = now;
	}
	max = take(q, done, max);
	tcp_queue_watch(q, now);
	return (int)max;
}

/* ---- Making and ending ---- */

static void queue_destroy(struct transport_queue *q)
{
	tcp_conn_fini(&q->conn);
	if (q->timer_fd >= 0)
		close(q->timer_fd);
	if (q->epoll_fd >= 0)
		close(q->epoll_fd);
	free(q);
}

/*
 * A first connection. A path that is down for the moment is no reason to have no queue: its commands will find out
 * whether it has come back.
 */
static int connect_first(struct transport_queue *q)
{
	uint64_t now = tcp_now();
	uint64_t deadline = now + BASE_MIN(q->dev->name.timeout_ms, HOLD_MS) * TCP_NS_PER_MS;

	for (;;) {
		drive(q, now);
		if (q->conn.state == TCP_LIVE)
			return 0;
		if (tcp_is_final(q->error) || q->error == -ENOSPC || q->error == -ENOMEM || q->error == -EMFILE)
			return q->error;
		if (q->error == -ECONNREFUSED || now >= deadline)
			return 0;
		wait_down(q, now, BASE_MIN(deadline, now + TCP_TICK_MS * TCP_NS_PER_MS));
		now = tcp_now();
	}
}

int tcp_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **out)
{
	struct transport_queue *q = calloc(1, sizeof(*q));
	struct tcp_conn_opts o = { .env = dev->env, .name = &dev->name, .timeout_ms = dev->name.timeout_ms,
				   .nbuf = NBUF, .done = req_done, .owner = q };
	int ret;

	if (!q)
		return -ENOMEM;
	q->dev = dev;
	q->depth = depth;
	q->epoll_fd = q->timer_fd = -1;
	q->conn.fd = -1;
	q->spin_ns = dev->env->ncpu > 1 ? dev->name.poll_us * 1000ull : 0;
	q->credit = SPIN_START;
	o.depth = BASE_MIN(BASE_MAX(depth, 1u), TCP_MAX_DEPTH);
	ret = tcp_conn_init(&q->conn, &o);
	if (!ret)
		ret = connect_first(q);
	if (ret)
		tcp_queue_free(q);
	else
		*out = q;
	return ret;
}

/* What is in flight ends with the connection, and so does the use of its buffers. */
void tcp_queue_free(struct transport_queue *q)
{
	if (!q->dev->env->forked) {
		tcp_conn_close(&q->conn, -ECANCELED);
		pthread_mutex_lock(&q->dev->lock);
		put_qid(q);
		pthread_mutex_unlock(&q->dev->lock);
	}
	queue_destroy(q);
}
