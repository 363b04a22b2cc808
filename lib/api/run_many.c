// SPDX-License-Identifier: BSD-2-Clause
/* Many jobs at the full depth of a lease, for a caller who waits for all of them. */
#include <errno.h>
#include <string.h>
#include "api.h"

#define MANY_BATCH 32u
#define MANY_TIMEOUT_MS 30000
#define MANY_RETRIES 3u
#define MANY_DRAIN_MS 30000

struct many {
	struct accel_queue *q;
	const struct accel_plan *plan;
	struct accel_job *jobs;
	struct accel_result *results;
	size_t n, sent, ended;
	bool over;			/* the time is up */
};

void lease_drop_many(struct accel_lease *lease)
{
	struct accel_queue *q;

	pthread_mutex_lock(&lease->lock);
	q = lease->many;
	lease->many = NULL;
	pthread_mutex_unlock(&lease->lock);
	accel_queue_free(q);
}

/* The queue that the lease keeps for us, or a new one over all slots that are free. */
static int many_queue(struct accel_lease *lease, struct accel_queue **q)
{
	uint32_t nfree;
	int ret;

	pthread_mutex_lock(&lease->lock);
	*q = lease->many;
	lease->many = NULL;
	nfree = lease->nfree;
	pthread_mutex_unlock(&lease->lock);
	if (*q)
		return 0;
	if (!nfree)
		return -EBUSY;
	ret = queue_new(lease, nfree, MANY_TIMEOUT_MS, MANY_RETRIES, q);
	return ret == -ENOSPC ? -EBUSY : ret;
}

static void many_queue_put(struct accel_lease *lease, struct accel_queue *q)
{
	pthread_mutex_lock(&lease->lock);
	if (!lease->many && !lease_ended(lease)) {
		lease->many = q;
		q = NULL;
	}
	pthread_mutex_unlock(&lease->lock);
	accel_queue_free(q);
}

static void set_result(struct many *m, size_t i, uint32_t status)
{
	memset(&m->results[i], 0, sizeof(m->results[i]));
	m->results[i].status = status;
	m->results[i].user_data = m->jobs[i].user_data;
	m->ended++;
}

/* Sends what the queue takes. user_data carries the job's place, and is put back in take(). */
static void send(struct many *m)
{
	struct accel_job batch[MANY_BATCH];
	unsigned int n, i;
	int got;

	while (m->sent < m->n) {
		n = (unsigned int)BASE_MIN(m->n - m->sent, (size_t)MANY_BATCH);
		for (i = 0; i < n; i++) {
			batch[i] = m->jobs[m->sent + i];
			if (!batch[i].plan)
				batch[i].plan = m->plan;
			batch[i].user_data = (void *)(uintptr_t)(m->sent + i);
		}
		got = accel_queue_submit(m->q, batch, n);
		for (i = 0; (int)i < got; i++)
			m->jobs[m->sent + i].job_id = batch[i].job_id;
		if (got > 0) {
			m->sent += (size_t)got;
		} else if (got == -EAGAIN) {
			return;
		} else {
			set_result(m, m->sent, got == -EINVAL ? ACCEL_ST_BAD_PARAM : ACCEL_ST_LEASE_LOST);
			m->sent++;
		}
	}
}

/* Half of what is in flight at a time: the device stays busy, and we wake up less often. */
static int take(struct many *m, int timeout_ms)
{
	unsigned int half = (unsigned int)BASE_MIN((m->sent - m->ended + 1) / 2, (size_t)MANY_BATCH);
	struct accel_result got[MANY_BATCH];
	int n = accel_queue_reap(m->q, got, MANY_BATCH, half, timeout_ms), k;
	size_t i;

	for (k = 0; k < n; k++) {
		i = (size_t)(uintptr_t)got[k].user_data;
		m->results[i] = got[k];
		m->results[i].user_data = m->jobs[i].user_data;
		if (m->over && got[k].status == ACCEL_ST_ABORTED)
			m->results[i].status = ACCEL_ST_TIMEOUT;
		m->ended++;
	}
	return n;
}

/* The time is up: nothing may be in flight when the call returns. */
static void stop(struct many *m)
{
	size_t i;

	m->over = true;
	for (i = 0; i < m->sent; i++)
		accel_queue_cancel(m->q, m->jobs[i].job_id);
	while (m->ended < m->sent && take(m, MANY_DRAIN_MS) > 0)
		;
	while (m->sent < m->n)
		set_result(m, m->sent++, ACCEL_ST_TIMEOUT);
}

static int run_all(struct many *m, uint64_t deadline)
{
	int n;

	while (m->ended < m->n) {
		send(m);
		if (m->ended == m->n)
			break;
		n = take(m, api_left_ms(deadline));
		if (n < 0)
			return n;
		if (n == 0) {
			stop(m);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int check(const struct many *m)
{
	struct accel_job job;
	size_t i;

	for (i = 0; i < m->n; i++) {
		job = m->jobs[i];
		if (!job.plan)
			job.plan = m->plan;
		if (job_check(&job))
			return -EINVAL;
	}
	return 0;
}

int accel_run_many(struct accel_lease *lease, const struct accel_plan *plan, struct accel_job *jobs,
		   struct accel_result *results, size_t n, int timeout_ms)
{
	struct many m = { .plan = plan, .jobs = jobs, .results = results, .n = n };
	uint64_t deadline;
	int ret;

	if (!lease || (n && (!jobs || !results)) || timeout_ms < -1 || check(&m))
		return -EINVAL;
	if (dev_stale(lease->dev) || lease_ended(lease))
		return -ESTALE;
	deadline = api_deadline(timeout_ms);
	ret = many_queue(lease, &m.q);
	if (ret)
		return ret;
	ret = run_all(&m, deadline);
	many_queue_put(lease, m.q);
	return ret;
}
