// SPDX-License-Identifier: BSD-2-Clause
/* Queues: making and freeing them, submitting, reaping, cancelling. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "queue_priv.h"

#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_RETRIES 3u
#define FREE_MS 30000			/* for jobs to end that were told to */

bool list_remove(struct req_list *list, struct req *r)
{
	struct req *prev = NULL, *at;

	for (at = list->first; at && at != r; at = at->next)
		prev = at;
	if (!at)
		return false;
	if (prev)
		prev->next = r->next;
	else
		list->first = r->next;
	if (list->last == r)
		list->last = prev;
	return true;
}

static bool queue_stale(const struct accel_queue *q)
{
	return ctx_stale(q->ctx);
}

static void queue_destroy(struct accel_queue *q)
{
	struct accel_lease *lease = q->lease;
	size_t page = BASE_MAX(4 * (size_t)q->block, (size_t)NVME_ACCEL_PAGE);

	ctx_note_fork(q->ctx);
	if (q->tq)
		q->ops->queue_free(q->tq);
	queue_fd_close(q);
	if (q->pages)
		api_wipe(q->pages, q->depth * page);
	free(q->reqs);
	free(q->all_slots);
	free(q->slots);
	free(q->pages);
	free(q->iovs);
	free(q->parambuf);
	free(q->batch);
	free(q);
	lease_put(lease);
}

static int queue_memory(struct accel_queue *q)
{
	size_t page = BASE_MAX(4 * (size_t)q->block, (size_t)NVME_ACCEL_PAGE);
	void *pages = NULL;

	q->reqs = calloc(q->depth, sizeof(*q->reqs));
	q->all_slots = calloc(q->depth, sizeof(*q->all_slots));
	q->slots = calloc(q->depth, sizeof(*q->slots));
	/* Touched as far as jobs' lists reach; the rest is address space. */
	q->iovs = malloc((size_t)q->depth * 2 * QUEUE_LIST * sizeof(*q->iovs));
	q->parambuf = malloc(q->block);
	q->batch = calloc((size_t)q->depth * 3, sizeof(*q->batch));
	if (!posix_memalign(&pages, NVME_ACCEL_PAGE, q->depth * page))
		q->pages = pages;
	if (!q->reqs || !q->all_slots || !q->slots || !q->iovs || !q->parambuf || !q->batch || !q->pages)
		return -ENOMEM;
	return 0;
}

static void req_init(struct accel_queue *q, uint32_t i)
{
	size_t page = BASE_MAX(4 * (size_t)q->block, (size_t)NVME_ACCEL_PAGE);
	struct req *r = &q->reqs[i];
	uint8_t *p = q->pages + i * page;

	r->index = i;
	r->wr_iov = q->iovs + (size_t)i * 2 * QUEUE_LIST;
	r->rd_iov = r->wr_iov + QUEUE_LIST;
	r->status = p;
	r->scratch = p + q->block;
	r->ctl_block = p + 2 * (size_t)q->block;
	r->desc = p + page - q->block;
	list_push(&q->free, r);
}

void queue_read_limit(struct accel_queue *q)
{
	struct transport_info info;

	transport_get_info(q->ops, q->dev->tdev, &info);
	q->max_read = info.max_nbytes ? BASE_MAX(info.max_nbytes, (uint64_t)q->block) : UINT64_MAX;
}

static int queue_setup(struct accel_queue *q)
{
	uint32_t i;
	int ret = queue_memory(q);

	if (ret)
		return ret;
	ret = q->ops->queue_new(q->dev->tdev, 3 * q->depth, &q->tq);
	if (ret) {
		q->tq = NULL;
		return ret;
	}
	queue_read_limit(q);
	ret = lease_take(q->lease, q->depth, q->all_slots);
	if (ret)
		return ret;
	for (i = 0; i < q->depth; i++) {
		q->slots[i] = q->all_slots[i];
		req_init(q, i);
	}
	q->nslots = q->depth;
	return 0;
}

int queue_new(struct accel_lease *lease, uint32_t depth, int32_t timeout_ms, uint32_t max_retries,
	      struct accel_queue **out)
{
	struct accel_queue *q = calloc(1, sizeof(*q));
	int ret;

	if (!q)
		return -ENOMEM;
	lease_get(lease);
	q->lease = lease;
	q->dev = lease->dev;
	q->ctx = lease->dev->ctx;
	q->ops = lease->dev->ops;
	q->block = 1u << q->dev->id.lbadsx;
	q->depth = depth;
	q->timeout_ms = timeout_ms;
	q->max_retries = max_retries;
	q->borrow = (q->ops->flags & TRANSPORT_CAN_BORROW) != 0;
	q->read_first = (q->ops->flags & (TRANSPORT_CAN_BORROW | TRANSPORT_ORDERED)) != 0;
	q->wait = (q->dev->id.feat & NVME_ACCEL_FEAT_WAIT) != 0;
	q->timer_ns = UINT64_MAX;
	q->epoll_fd = q->event_fd = q->timer_fd = -1;
	ret = queue_setup(q);
	if (ret)
		queue_destroy(q);
	else
		*out = q;
	return ret;
}

void queue_set_bare(struct accel_queue *q)
{
	q->bare = true;
}

static bool opts_ok(const struct accel_queue_opts *o)
{
	return o->size == sizeof(*o) && !o->flags && o->timeout_ms >= -1 && !o->reserved32 &&
	       mem_is_zero(o->reserved, sizeof(o->reserved));
}

int accel_queue_new(struct accel_lease *lease, const struct accel_queue_opts *opts, struct accel_queue **queue)
{
	uint32_t depth = opts ? opts->depth : 0;

	if (!lease || !queue || (opts && !opts_ok(opts)))
		return -EINVAL;
	if (dev_stale(lease->dev) || lease_ended(lease))
		return -ESTALE;
	lease_drop_many(lease);
	if (!depth)
		depth = lease->nslot;
	if (depth > lease->nslot)
		return -ENOSPC;
	return queue_new(lease, depth, opts && opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS,
			 opts && opts->max_retries ? opts->max_retries : DEFAULT_RETRIES, queue);
}

int accel_queue_info(struct accel_queue *q, struct accel_queue_info *info)
{
	if (!q || !info)
		return -EINVAL;
	if (queue_stale(q))
		return -ESTALE;
	memset(info, 0, sizeof(*info));
	info->depth = q->depth;
	info->in_flight = q->in_flight;
	info->submitted = q->submitted;
	info->completed = q->completed;
	info->retried = q->retried;
	info->fallbacks = q->fallbacks;
	return 0;
}

int accel_queue_fd(struct accel_queue *q)
{
	if (!q)
		return -EINVAL;
	if (queue_stale(q))
		return -ESTALE;
	return queue_fd_make(q);
}

static int submit_one(struct accel_queue *q, struct accel_job *job, uint64_t now)
{
	struct req *r;
	int ret;

	if (job_check(job))
		return -EINVAL;
	r = list_pop(&q->free);
	if (!r)
		return -EAGAIN;
	ret = req_start(q, r, job, now);
	if (ret) {
		r->state = REQ_FREE;
		list_push(&q->free, r);
		return ret;
	}
	job->job_id = r->result.job_id;
	return 0;
}

int accel_queue_submit(struct accel_queue *q, struct accel_job *jobs, unsigned int n)
{
	unsigned int i;
	uint64_t now;
	int ret = 0;

	if (!q || !jobs || !n)
		return -EINVAL;
	if (queue_stale(q) || lease_ended(q->lease))
		return -ESTALE;
	now = api_now_ns();
	for (i = 0; i < n; i++) {
		ret = submit_one(q, &jobs[i], now);
		if (ret)
			break;
	}
	if (q->slot.first)
		queue_fill_slots(q, now);
	queue_flush(q);
	queue_fd_arm(q);
	return i ? (int)i : ret;
}

/* Takes in what the transport has, waiting up to timeout_ms for about so many results. */
static int poll_transport(struct accel_queue *q, unsigned int min, int timeout_ms)
{
	/* Two commands a job; one less, because a job that is read again has but one in flight. */
	unsigned int want = min ? 2 * BASE_MIN(min, QUEUE_BATCH / 2) - 1 : 0;
	struct transport_cmd *cmds[QUEUE_BATCH];
	uint64_t now;
	int n, i;

	n = q->ops->reap(q->tq, cmds, QUEUE_BATCH, want, timeout_ms);
	now = api_now_ns();
	for (i = 0; i < n; i++)
		queue_command_done(q, cmds[i], now);
	queue_timers(q, now);
	if (q->slot.first)
		queue_fill_slots(q, now);
	queue_flush(q);
	/* Jobs that run long send no descriptor that would renew the lease. A way that is down is the jobs' to try. */
	if (q->in_flight > q->ndone && !q->down)
		lease_keep(q->lease, now);
	return n;
}

static unsigned int take_done(struct accel_queue *q, struct accel_result *results, unsigned int max)
{
	unsigned int n = 0;
	struct req *r;

	while (n < max && (r = list_pop(&q->done))) {
		if (r->known && r->result.status == ACCEL_ST_OK)
			lease_sure(q->lease, r->submit_ns);
		results[n++] = r->result;
		r->state = REQ_FREE;
		list_push(&q->free, r);
	}
	q->ndone -= n;
	q->in_flight -= n;
	return n;
}

/* How long the transport may be waited for: until something is due here, or the caller's time is up. */
static int wait_ms(const struct accel_queue *q, uint64_t deadline)
{
	uint64_t renew = __atomic_load_n(&q->lease->active_ns, __ATOMIC_RELAXED) +
			 (uint64_t)q->lease->duration_ms * API_NS_PER_MS / 2;

	if (!lease_ended(q->lease))
		deadline = BASE_MIN(deadline, renew);
	return api_left_ms(BASE_MIN(deadline, q->timer_ns));
}

/* One turn of waiting for min results. false: there is nothing to wait for, or the time is up. */
static bool turn(struct accel_queue *q, unsigned int min, uint64_t deadline)
{
	struct req *r;

	if (q->in_flight == q->ndone)
		return false;
	r = list_pop(&q->cpu);
	if (r) {
		req_run_cpu(q, r);
		poll_transport(q, 0, 0);
		return true;
	}
	if (deadline == 0 || (deadline != UINT64_MAX && api_now_ns() >= deadline))
		return false;
	poll_transport(q, min, wait_ms(q, deadline));
	return true;
}

int accel_queue_reap(struct accel_queue *q, struct accel_result *results, unsigned int max, unsigned int min,
		     int timeout_ms)
{
	unsigned int n = 0;
	uint64_t deadline = 0;

	if (!q || (max && !results) || min > max || timeout_ms < -1)
		return -EINVAL;
	if (queue_stale(q))
		return -ESTALE;
	/* A caller who waits gets what is there all the same, without a look at the path in vain. */
	if (q->ndone < max && (!min || !timeout_ms || q->nbatch))
		poll_transport(q, 0, 0);
	n = take_done(q, results, max);
	if (n < min && timeout_ms)
		deadline = api_deadline(timeout_ms);
	/* With nothing to give, one job for the CPU is run even for a caller that does not wait. */
	if (!n && !min && max && q->cpu.first) {
		turn(q, 0, 0);
		n = take_done(q, results, max);
	}
	while (n < min && turn(q, min - n, deadline))
		n += take_done(q, results + n, max - n);
	if (!q->done.first && !q->cpu.first)
		queue_event_clear(q);
	else
		queue_event(q);
	queue_fd_arm(q);
	return (int)n;
}

int accel_queue_drain(struct accel_queue *q, int timeout_ms)
{
	uint64_t deadline;

	if (!q || timeout_ms < -1)
		return -EINVAL;
	if (queue_stale(q))
		return -ESTALE;
	deadline = timeout_ms ? api_deadline(timeout_ms) : 0;
	poll_transport(q, 0, 0);
	while (turn(q, q->in_flight - q->ndone, deadline))
		;
	queue_fd_arm(q);
	return q->in_flight == q->ndone ? 0 : -ETIMEDOUT;
}

static void cancel(struct accel_queue *q, struct req *r, uint64_t now)
{
	r->cancelled = true;
	switch (r->state) {
	case REQ_CPU:
		list_remove(&q->cpu, r);
		r->result.executor = ACCEL_EXEC_NONE;
		req_drop(q, r, now);
		break;
	case REQ_SLOT:
		list_remove(&q->slot, r);
		req_drop(q, r, now);
		break;
	case REQ_DELAY:
		if (r->after == NEXT_SEND || r->after == NEXT_SYNC) {
			req_drop(q, r, now);
			break;
		}
		req_abort(q, r, now);
		req_read(q, r, true, now);
		break;
	case REQ_SENT:
		req_abort(q, r, now);
		break;
	default:
		break;
	}
}

int accel_queue_cancel(struct accel_queue *q, uint64_t job_id)
{
	uint32_t index = (uint32_t)job_id - 1;
	struct req *r;

	if (!q)
		return -EINVAL;
	if (queue_stale(q))
		return -ESTALE;
	if (index >= q->depth)
		return -ENOENT;
	r = &q->reqs[index];
	if (r->state == REQ_FREE || r->result.job_id != job_id)
		return -ENOENT;
	cancel(q, r, api_now_ns());
	queue_flush(q);
	return 0;
}

/* Slots whose jobs have not ended by now are to be brought in order before they are used again. */
static void abandon(struct accel_queue *q)
{
	uint32_t i;

	for (i = 0; i < q->depth; i++)
		if (q->reqs[i].which != QUEUE_NO_SLOT && q->reqs[i].state != REQ_FREE)
			q->lease->slots[q->reqs[i].which].dirty = true;
}

static void drop_plans(struct accel_queue *q)
{
	uint32_t i;

	for (i = 0; i < q->depth; i++)
		if (q->reqs[i].state != REQ_FREE)
			accel_plan_unref(q->reqs[i].plan);
}

void accel_queue_free(struct accel_queue *q)
{
	uint64_t now;
	uint32_t i;

	if (!q)
		return;
	if (!queue_stale(q)) {
		now = api_now_ns();
		for (i = 0; i < q->depth; i++)
			cancel(q, &q->reqs[i], now);
		queue_flush(q);
		if (accel_queue_drain(q, FREE_MS))
			abandon(q);
		lease_give(q->lease, q->depth, q->all_slots);
	}
	drop_plans(q);
	queue_destroy(q);
}
