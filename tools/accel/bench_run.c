/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One measurement: threads that keep the device busy for a time. Synchronous: a call at a time, with as many
 * jobs in it as the depth says. Asynchronous: a queue that is kept full. Contents are compared outside the
 * measured time, on the outputs that the last jobs left.
 */
#include "bench.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LEASE_WAIT_MS = 2000, BATCH = 64 };

/* A job's place: its buffer, its input, when it went out. */
struct seat {
	struct iovec in, out;
	struct accel_job job;
	struct accel_result result;
	uint64_t start_ns;
	unsigned int input;
	bool used;
};

struct worker {
	pthread_t thread;
	const struct bench_case *c;
	const struct bench_point *p;
	pthread_barrier_t *gate;
	struct accel_lease *lease;
	struct accel_queue *queue;
	struct seat *seat;
	struct accel_job *jobs;		/* synchronous: what accel_run_many() takes */
	struct accel_result *results;
	uint64_t until_ns, end_ns;
	uint64_t njob, wrong, verified, executor[5];
	int rc;				/* -errno of the library */
	struct bench_hist hist;
};

static void seats_free(struct worker *w)
{
	for (unsigned int i = 0; w->seat && i < w->p->depth; i++)
		free(w->seat[i].out.iov_base);
	free(w->seat);
	free(w->jobs);
	free(w->results);
}

static int seats_init(struct worker *w)
{
	const struct bench_case *c = w->c;

	w->seat = calloc(w->p->depth, sizeof(*w->seat));
	w->jobs = calloc(w->p->depth, sizeof(*w->jobs));
	w->results = calloc(w->p->depth, sizeof(*w->results));
	if (!w->seat || !w->jobs || !w->results)
		return -ENOMEM;
	for (unsigned int i = 0; i < w->p->depth; i++) {
		struct seat *s = &w->seat[i];
		void *mem;

		if (posix_memalign(&mem, 4096, c->out_max ? c->out_max : 64))
			return -ENOMEM;
		/* Pages are there before the clock runs; and no right answer stands in them. */
		memset(mem, 0xa5, c->out_max ? c->out_max : 64);
		s->out = (struct iovec){ mem, c->out_max };
		s->input = i % BENCH_NINPUT;
		s->in = (struct iovec){ c->in[s->input], c->in_len[s->input] };
		s->job = (struct accel_job){ .size = sizeof(s->job), .plan = c->plan, .in = &s->in, .nin = 1,
					     .out = &s->out, .nout = c->out_max ? 1 : 0,
					     .params = &c->params[s->input], .user_data = s };
		w->jobs[i] = s->job;
	}
	return 0;
}

static int setup(struct worker *w)
{
	struct accel_lease_opts lo = ACCEL_INIT(struct accel_lease_opts);
	struct accel_queue_opts qo = ACCEL_INIT(struct accel_queue_opts);
	int rc = seats_init(w);

	if (rc)
		return rc;
	lo.slots_wanted = lo.slots_min = w->p->depth;
	lo.label = "accel bench";
	rc = accel_lease_acquire(w->c->t->dev, &lo, LEASE_WAIT_MS, &w->lease);
	if (rc || w->p->mode == BENCH_SYNC)
		return rc;
	qo.depth = w->p->depth;
	return accel_queue_new(w->lease, &qo, &w->queue);
}

static void account(struct worker *w, struct seat *s, const struct accel_result *r, uint64_t now)
{
	bench_hist_add(&w->hist, now - s->start_ns);
	w->njob++;
	w->executor[r->executor < 5 ? r->executor : 0]++;
	if (!bench_case_quick(w->c, s->input, r))
		w->wrong++;
	s->result = *r;
	s->used = true;
}

/* ---- Asynchronous ---- */

static int submit(struct worker *w, struct seat **seats, unsigned int n)
{
	struct accel_job batch[BATCH];
	uint64_t now = tool_now_ns();
	int rc;

	while (n) {
		unsigned int m = n < BATCH ? n : BATCH;

		for (unsigned int i = 0; i < m; i++) {
			batch[i] = seats[i]->job;
			seats[i]->start_ns = now;
		}
		rc = accel_queue_submit(w->queue, batch, m);
		if (rc <= 0)
			return rc ? rc : -EIO;
		seats += rc;
		n -= (unsigned int)rc;
	}
	return 0;
}

static int first_round(struct worker *w)
{
	for (unsigned int i = 0; i < w->p->depth; i++) {
		struct seat *s = &w->seat[i];
		int rc = submit(w, &s, 1);

		if (rc)
			return rc;
	}
	return 0;
}

static int run_async(struct worker *w)
{
	unsigned int in_flight = w->p->depth;
	struct accel_result res[BATCH];
	struct seat *again[BATCH];
	int rc = first_round(w);

	while (!rc && in_flight) {
		int n = accel_queue_reap(w->queue, res, BATCH, 1, 60000);
		uint64_t now = tool_now_ns();

		if (n <= 0)
			return n ? n : -ETIMEDOUT;
		for (int i = 0; i < n; i++) {
			again[i] = res[i].user_data;
			account(w, again[i], &res[i], now);
		}
		w->end_ns = now;
		if (now < w->until_ns)
			rc = submit(w, again, (unsigned int)n);
		else
			in_flight -= (unsigned int)n;
	}
	return rc;
}

/* ---- Synchronous ---- */

static int one_call(struct worker *w)
{
	struct seat *s = w->seat;

	if (w->p->depth > 1)
		return accel_run_many(w->lease, w->c->plan, w->jobs, w->results, w->p->depth, 60000);
	return accel_run(w->c->t->dev, w->c->plan, s->in.iov_base, s->in.iov_len, s->out.iov_base,
			 s->out.iov_len, s->job.params, 60000, w->results);
}

static int run_sync(struct worker *w)
{
	uint64_t now = tool_now_ns();

	do {
		uint64_t start = now;
		int rc = one_call(w);

		if (rc)
			return rc;
		now = tool_now_ns();
		for (unsigned int i = 0; i < w->p->depth; i++) {
			w->seat[i].start_ns = start;
			account(w, &w->seat[i], &w->results[i], now);
		}
	} while (now < w->until_ns);
	w->end_ns = now;
	return 0;
}

/* ---- Threads ---- */

static void verify(struct worker *w)
{
	for (unsigned int i = 0; i < w->p->depth; i++) {
		struct seat *s = &w->seat[i];

		if (!s->used)
			continue;
		if (!bench_case_whole(w->c, s->input, s->out.iov_base, &s->result))
			w->wrong++;
		w->verified++;
	}
}

static int measure(struct worker *w)
{
	return w->p->mode == BENCH_SYNC ? run_sync(w) : run_async(w);
}

/* Meetings: all are ready; the clock runs; all have ended; the clock has been read. */
static void *work(void *arg)
{
	struct worker *w = arg;

	w->rc = setup(w);
	/* A first round warms caches and shows what is wrong before time is spent on it. */
	w->until_ns = 0;
	if (!w->rc)
		w->rc = measure(w);
	memset(&w->hist, 0, sizeof(w->hist));
	memset(w->executor, 0, sizeof(w->executor));
	w->njob = 0;
	pthread_barrier_wait(w->gate);
	pthread_barrier_wait(w->gate);
	if (!w->rc)
		w->rc = measure(w);
	pthread_barrier_wait(w->gate);
	pthread_barrier_wait(w->gate);
	if (!w->rc)
		verify(w);
	accel_queue_free(w->queue);
	accel_lease_release(w->lease);
	return NULL;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void take_time(struct worker *w, struct bench_point *p, pthread_barrier_t *gate, double seconds)
{
	uint64_t start, end = 0;
	double cpu;

	pthread_barrier_wait(gate);
	start = tool_now_ns();
	cpu = cpu_seconds();
	for (unsigned int i = 0; i < p->threads; i++)
		w[i].until_ns = start + (uint64_t)(seconds * 1e9);
	pthread_barrier_wait(gate);
	pthread_barrier_wait(gate);
	cpu = cpu_seconds() - cpu;
	pthread_barrier_wait(gate);
	for (unsigned int i = 0; i < p->threads; i++)
		if (w[i].end_ns > end)
			end = w[i].end_ns;
	p->seconds = end > start ? (double)(end - start) / 1e9 : seconds;
	p->cpu = cpu / p->seconds;
}

static void sum_up(const struct worker *w, struct bench_point *p, const struct bench_case *c,
		   struct bench_hist *all)
{
	for (unsigned int i = 0; i < p->threads; i++) {
		p->jobs += w[i].njob;
		p->wrong += w[i].wrong;
		p->verified += w[i].verified;
		for (unsigned int e = 0; e < 5; e++)
			p->executor[e] += w[i].executor[e];
		bench_hist_merge(all, &w[i].hist);
	}
	p->bytes = p->jobs * c->plain;
	p->bytes_per_s = (double)p->bytes / p->seconds;
	p->jobs_per_s = (double)p->jobs / p->seconds;
	p->mean_ns = all->n ? all->sum / all->n : 0;
	p->p50_ns = bench_hist_at(all, 0.5);
	p->p99_ns = bench_hist_at(all, 0.99);
	p->p999_ns = bench_hist_at(all, 0.999);
	p->max_ns = all->max;
}

static int start_threads(struct worker *w, const struct bench_case *c, struct bench_point *p,
			 pthread_barrier_t *gate)
{
	for (unsigned int i = 0; i < p->threads; i++) {
		w[i].c = c;
		w[i].p = p;
		w[i].gate = gate;
		/* Those that run already wait for all: without the rest they would wait for ever. */
		if (pthread_create(&w[i].thread, NULL, work, &w[i])) {
			tool_error(c->t, NULL, "cannot start thread %u of %u", i + 1, p->threads);
			exit(TOOL_FAILED);
		}
	}
	return 0;
}

static int outcome(struct worker *w, struct bench_point *p, const struct bench_case *c)
{
	for (unsigned int i = 0; i < p->threads; i++) {
		if (w[i].rc == -EBUSY || w[i].rc == -ENOSPC) {
			snprintf(p->skip, sizeof(p->skip), "not enough free slots for %u x %u jobs",
				 p->threads, p->depth);
			return 0;
		}
		if (w[i].rc)
			return tool_lib_error(c->t, accel_dev_info(c->t->dev)->path, w[i].rc);
	}
	return 0;
}

int bench_run(const struct bench_case *c, struct bench_point *p, double seconds)
{
	struct worker *w = calloc(p->threads, sizeof(*w));
	struct bench_hist *all = calloc(1, sizeof(*all));
	pthread_barrier_t gate;
	int rc = 0;

	if (!w || !all || pthread_barrier_init(&gate, NULL, p->threads + 1)) {
		free(w);
		free(all);
		return tool_error(c->t, NULL, "out of memory");
	}
	start_threads(w, c, p, &gate);
	take_time(w, p, &gate, seconds);
	for (unsigned int i = 0; i < p->threads; i++)
		pthread_join(w[i].thread, NULL);
	rc = outcome(w, p, c);
	if (!rc && !p->skip[0])
		sum_up(w, p, c, all);
	for (unsigned int i = 0; i < p->threads; i++)
		seats_free(&w[i]);
	pthread_barrier_destroy(&gate);
	free(all);
	free(w);
	return rc;
}
