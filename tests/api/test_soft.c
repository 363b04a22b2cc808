// SPDX-License-Identifier: BSD-2-Clause
/* The software accelerator with many threads: fairness, queues that share a lease, and random work. */
#include "api_util.h"
#include "threads.h"

struct runner {
	struct accel_dev *dev;
	struct accel_plan *plan;
	int *stop;
	uint64_t n, bad;
};

static void *runner_main(void *arg)
{
	struct runner *w = arg;
	struct accel_result r;
	static const uint8_t in[16384];

	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED)) {
		if (accel_run(w->dev, w->plan, in, sizeof(in), NULL, 0, NULL, 20000, &r) || r.status)
			w->bad++;
		w->n++;
	}
	return NULL;
}

/* 10-10: 8 threads on one accelerator get comparable shares. */
static void test_fair(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct runner w[8];
	pthread_t t[8];
	uint64_t min = UINT64_MAX, max = 0;
	int i, stop = 0;

	(void)state;
	for (i = 0; i < 8; i++) {
		w[i] = (struct runner){ dev, plan, &stop, 0, 0 };
		assert_int_equal(pthread_create(&t[i], NULL, runner_main, &w[i]), 0);
	}
	sleep_ms(4000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(w[i].bad, 0);
		min = w[i].n < min ? w[i].n : min;
		max = w[i].n > max ? w[i].n : max;
	}
	if (max >= 3 * min)
		print_error("shares from %llu to %llu\n", (unsigned long long)min, (unsigned long long)max);
	assert_true(min > 0 && max < 3 * min);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

struct feeder {
	struct accel_queue *q;
	struct accel_plan *plan;
	uint8_t fill;
	unsigned int bad;
};

/* Each thread's jobs carry its own byte: data that goes astray shows. */
static void *feeder_main(void *arg)
{
	struct feeder *f = arg;
	static const size_t len = 3000;
	uint8_t *in = malloc(4 * len), *out = malloc(4 * len);
	struct iovec vin[4], vout[4];
	struct accel_job jobs[4];
	struct accel_result r[4];
	int i, round, n;
	size_t k;

	memset(in, f->fill, 4 * len);
	for (i = 0; i < 4; i++) {
		vin[i] = (struct iovec){ in + (size_t)i * len, len };
		vout[i] = (struct iovec){ out + (size_t)i * len, len };
		jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		jobs[i].plan = f->plan;
		jobs[i].in = &vin[i];
		jobs[i].out = &vout[i];
		jobs[i].nin = jobs[i].nout = 1;
	}
	for (round = 0; round < 500; round++) {
		memset(out, 0, 4 * len);
		f->bad += accel_queue_submit(f->q, jobs, 4) != 4;
		n = accel_queue_reap(f->q, r, 4, 4, 20000);
		f->bad += n != 4;
		for (i = 0; i < n; i++)
			f->bad += r[i].status != ACCEL_ST_OK || r[i].out_len != len;
		for (k = 0; k < 4 * len; k++)
			f->bad += out[k] != f->fill;
	}
	free(in);
	free(out);
	return NULL;
}

static void two_queues(const char *name)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, name);
	struct accel_lease *lease = lease_new(dev, 8, 0, 0);
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct feeder f[2];
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++) {
		f[i] = (struct feeder){ queue_of(lease, 4), plan, (uint8_t)(0x11 * (i + 1)), 0 };
		assert_int_equal(pthread_create(&t[i], NULL, feeder_main, &f[i]), 0);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(f[i].bad, 0);
		accel_queue_free(f[i].q);
	}
	accel_plan_unref(plan);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_two_queues(void **state)
{
	(void)state;
	two_queues("soft:threads=2");
	two_queues("soft:threads=0");
}

/* 10-10, 12-08: threads that claim, work and let go, with fewer slots than they want together. */
static void *claimer_main(void *arg)
{
	struct runner *w = arg;
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_lease *lease;
	struct accel_queue *q;
	struct accel_result r;
	int i;

	opts.slots_wanted = opts.slots_min = 2;
	job.plan = w->plan;
	job.in = &v;
	job.nin = 1;
	for (i = 0; i < 60; i++) {
		if (accel_lease_acquire(w->dev, &opts, 20000, &lease)) {
			w->bad++;
			continue;
		}
		w->bad += accel_queue_new(lease, NULL, &q) != 0;
		w->bad += accel_queue_submit(q, &job, 1) != 1;
		w->bad += accel_queue_reap(q, &r, 1, 1, 20000) != 1 || r.status != ACCEL_ST_OK;
		accel_queue_free(q);
		accel_lease_release(lease);
		w->n++;
	}
	return NULL;
}

static void test_claimers(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1,slots=5");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_dev_info info;
	struct runner w[6];
	pthread_t t[6];
	int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		w[i] = (struct runner){ dev, plan, NULL, 0, 0 };
		assert_int_equal(pthread_create(&t[i], NULL, claimer_main, &w[i]), 0);
	}
	for (i = 0; i < 6; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(w[i].bad, 0);
		assert_int_equal(w[i].n, 60);
	}
	assert_int_equal(accel_dev_state(dev, &info), 0);
	assert_int_equal(info.slots_free, 5);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* Threads that opened at once and closed again leave nothing behind: no thread, no descriptor. */
static void test_threads_end(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_result r;
	unsigned int before, awake;
	int i;

	(void)state;
	before = threads_count(&awake);
	assert_true(before >= 1);
	for (i = 0; i < 2; i++) {
		struct accel_dev *dev = dev_open(ctx, "soft:threads=4");
		struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);

		assert_int_equal(accel_run(dev, plan, "123456789", 9, NULL, 0, NULL, 20000, &r), 0);
		assert_true(threads_count(&awake) > before);
		accel_plan_unref(plan);
		accel_dev_close(dev);
		threads_gone(before);
	}
	accel_ctx_unref(ctx);
}

struct pending {
	uint64_t id;
	unsigned int kind;
	uint8_t *in, *out;
	struct iovec vin, vout;
	int live;
};

static uint32_t rnd(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

static void check(const struct pending *p, const struct accel_result *r, unsigned int *ended)
{
	switch (r->status) {
	case ACCEL_ST_OK:
		if (p->kind == 0)
			assert_int_equal(result_crc(r), accel_raw_crc32c(0, p->in, p->vin.iov_len));
		if (p->kind == 1) {
			assert_int_equal(r->out_len, p->vin.iov_len);
			assert_memory_equal(p->in, p->out, p->vin.iov_len);
		}
		break;
	case ACCEL_ST_ABORTED:
	case ACCEL_ST_TIMEOUT:
		(*ended)++;
		assert_int_equal(r->out_len, 0);
		break;
	default:
		fail_msg("status %u", r->status);
	}
}

/* Jobs of all kinds with cancels and short time limits: every accepted job has one result, and a right one. */
static void stress(const char *name, uint32_t seed, unsigned int njobs)
{
	enum { DEPTH = 16, MAX = 200000 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, name);
	struct accel_lease *lease = lease_new(dev, DEPTH, 0, 0);
	struct accel_queue *q = queue_of(lease, DEPTH);
	struct accel_plan *plans[4] = { crc_plan(ctx, dev, ACCEL_DEVICE_ONLY), copy_plan(ctx, dev, ACCEL_DEVICE_ONLY),
					slow_plan(ctx, dev, ACCEL_DEVICE_ONLY), copy_plan(ctx, dev, ACCEL_CPU_ONLY) };
	struct pending p[DEPTH] = { 0 };
	unsigned int sent = 0, got = 0, ended = 0, i, live = 0;
	struct accel_result r[DEPTH];
	int n, k;

	for (i = 0; i < DEPTH; i++) {
		p[i].in = malloc(MAX);
		p[i].out = malloc(2 * MAX);
		fill_text(p[i].in, MAX);
	}
	while (got < njobs) {
		for (i = 0; i < DEPTH && sent < njobs; i++) {
			struct accel_job job = ACCEL_INIT(struct accel_job);

			if (p[i].live || rnd(&seed) % 3 == 0)
				continue;
			p[i].kind = rnd(&seed) % 4;
			p[i].vin = (struct iovec){ p[i].in, rnd(&seed) % MAX };
			p[i].vout = (struct iovec){ p[i].out, 2 * MAX };
			job.plan = plans[p[i].kind];
			job.in = &p[i].vin;
			job.out = &p[i].vout;
			job.nin = 1;
			job.nout = p[i].kind ? 1 : 0;
			job.user_data = &p[i];
			job.timeout_ms = rnd(&seed) % 8 ? 0 : 1 + (int)(rnd(&seed) % 3);
			n = accel_queue_submit(q, &job, 1);
			assert_int_equal(n, 1);
			p[i].id = job.job_id;
			p[i].live = 1;
			live++;
			sent++;
			if (rnd(&seed) % 6 == 0)
				assert_int_equal(accel_queue_cancel(q, job.job_id), 0);
		}
		n = accel_queue_reap(q, r, DEPTH, live ? rnd(&seed) % 2 : 0, 20000);
		assert_true(n >= 0);
		for (k = 0; k < n; k++) {
			struct pending *one = r[k].user_data;

			assert_int_equal(one->live, 1);
			assert_int_equal(one->id, r[k].job_id);
			check(one, &r[k], &ended);
			one->live = 0;
			live--;
			got++;
			assert_int_equal(accel_queue_cancel(q, one->id), -ENOENT);
		}
	}
	assert_int_equal(live, 0);
	assert_int_equal(accel_queue_reap(q, r, DEPTH, 0, 0), 0);
	assert_true(ended > 0);
	for (i = 0; i < DEPTH; i++) {
		free(p[i].in);
		free(p[i].out);
	}
	for (i = 0; i < 4; i++)
		accel_plan_unref(plans[i]);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_stress(void **state)
{
	(void)state;
	stress("soft:threads=2", 1, 1500);
	stress("soft:threads=1", 2, 1500);
	stress("soft:threads=0", 3, 1000);
	stress("fault:later@3/7;repeatw@5/9;lostw@7/11;failr@11/13,soft:threads=1", 4, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fair),	    cmocka_unit_test(test_two_queues),
		cmocka_unit_test(test_claimers),    cmocka_unit_test(test_threads_end),
		cmocka_unit_test(test_stress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
