/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of jobs before an accel_queue: whoever has work adds it, the queue takes it as it has room. */
#include "jobq.h"
#include <errno.h>
#include <string.h>

enum { LEASE_WAIT_MS = 10000, BATCH = 32, LOST_MAX = 16 };

static int open_queue(struct jobq *q)
{
	struct accel_lease_opts lo = ACCEL_INIT(struct accel_lease_opts);
	struct accel_queue_opts qo = ACCEL_INIT(struct accel_queue_opts);
	struct accel_queue_info info;
	struct tool *t = q->t;
	int rc;

	rc = accel_lease_acquire(t->dev, &lo, LEASE_WAIT_MS, &q->lease);
	if (!rc)
		rc = accel_queue_new(q->lease, &qo, &q->queue);
	if (!rc)
		rc = accel_queue_info(q->queue, &info);
	if (rc) {
		rc = tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
		jobq_close(q);
		return rc;
	}
	q->depth = info.depth;
	return 0;
}

int jobq_open(struct jobq *q, struct tool *t)
{
	memset(q, 0, sizeof(*q));
	q->t = t;
	q->last = &q->first;
	return open_queue(q);
}

void jobq_add(struct jobq *q, struct jobq_work *work)
{
	work->job.size = sizeof(work->job);
	work->job.user_data = work;
	work->next = NULL;
	*q->last = work;
	q->last = &work->next;
}

bool jobq_idle(const struct jobq *q)
{
	return !q->first && !q->in_flight;
}

/* The library copies jobs, so a batch of copies in line is enough. */
static int submit(struct jobq *q)
{
	struct accel_job batch[BATCH];

	while (q->first && q->in_flight < q->depth) {
		struct jobq_work *w = q->first;
		unsigned int n = 0;
		int rc;

		while (w && n < BATCH && q->in_flight + n < q->depth) {
			batch[n++] = w->job;
			w = w->next;
		}
		rc = accel_queue_submit(q->queue, batch, n);
		if (rc == -EAGAIN || (rc == -ESTALE && q->in_flight))
			return 0;
		/* The device restarted, or was away for longer than the lease: nothing of ours is there any more. */
		if (rc == -ESTALE && q->nlost++ < LOST_MAX) {
			jobq_close(q);
			rc = open_queue(q);
			if (!rc)
				continue;
			return rc;
		}
		if (rc < 0)
			return tool_lib_error(q->t, accel_dev_info(q->t->dev)->path, rc);
		q->in_flight += (uint32_t)rc;
		while (rc--)
			q->first = q->first->next;
		if (!q->first)
			q->last = &q->first;
	}
	return 0;
}

static int take(struct jobq *q, bool wait)
{
	struct accel_result res[BATCH];
	int n;

	n = accel_queue_reap(q->queue, res, BATCH, wait ? 1 : 0, wait ? -1 : 0);
	if (n < 0)
		return tool_lib_error(q->t, accel_dev_info(q->t->dev)->path, n);
	for (int i = 0; i < n; i++) {
		struct jobq_work *w = res[i].user_data;

		q->in_flight--;
		q->njobs++;
		q->ncpu += res[i].executor == ACCEL_EXEC_FALLBACK;
		w->done(w, &res[i]);
	}
	return 0;
}

int jobq_turn(struct jobq *q, bool wait)
{
	int rc = submit(q);

	if (!rc && q->in_flight)
		rc = take(q, wait);
	/* What the results made possible goes out at once, so that engines do not stand idle. */
	return rc ? rc : submit(q);
}

void jobq_report(const struct jobq *q, const char *subject)
{
	if (q->ncpu)
		tool_warning(q->t, subject, "the CPU did %llu of %llu jobs, which %s did not take",
			     (unsigned long long)q->ncpu, (unsigned long long)q->njobs,
			     accel_dev_info(q->t->dev)->path);
}

void jobq_close(struct jobq *q)
{
	accel_queue_free(q->queue);
	accel_lease_release(q->lease);
	q->queue = NULL;
	q->lease = NULL;
	q->in_flight = 0;
}
