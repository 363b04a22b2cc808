// SPDX-License-Identifier: BSD-2-Clause
/*
 * The request machine over a path that fails, loses, repeats, delays, reorders and cuts commands: every job
 * has one result, the right one, and what happened on the way is in it.
 */
#include "api_util.h"

#define N 24
#define LEN 12000

struct faults {
	const char *spec;
	unsigned int min_retried;	/* jobs that must have been retried; one may take several faults */
};

static void run_through(const char *spec, unsigned int min_retried, const char *inner)
{
	struct accel_ctx *ctx = ctx_new();
	char name[200];
	struct accel_dev *dev;
	struct accel_plan *plan;
	struct accel_lease *lease;
	struct accel_queue_opts opts = ACCEL_INIT(struct accel_queue_opts);
	struct accel_queue *q;
	uint8_t *in = malloc(N * LEN), *out = calloc(N, LEN);
	struct iovec vin[N], vout[N];
	struct accel_job jobs[N];
	struct accel_result r;
	unsigned int i, got = 0, sent = 0, retried = 0, seen[N] = { 0 };
	int n;

	snprintf(name, sizeof(name), "fault:%s,%s", spec, inner);
	dev = dev_open(ctx, name);
	plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	lease = lease_new(dev, 4, 0, 0);
	/* Which command a fault hits is chance: one job may have several in a row. */
	opts.depth = 4;
	opts.max_retries = 20;
	assert_int_equal(accel_queue_new(lease, &opts, &q), 0);
	fill_text(in, N * LEN);
	for (i = 0; i < N; i++) {
		jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		vin[i] = (struct iovec){ in + i * LEN, LEN };
		vout[i] = (struct iovec){ out + i * LEN, LEN };
		jobs[i].plan = plan;
		jobs[i].in = &vin[i];
		jobs[i].out = &vout[i];
		jobs[i].nin = jobs[i].nout = 1;
		jobs[i].user_data = (void *)(uintptr_t)i;
	}
	while (got < N) {
		if (sent < N) {
			n = accel_queue_submit(q, jobs + sent, N - sent);
			assert_true(n > 0 || n == -EAGAIN);
			sent += n > 0 ? (unsigned int)n : 0;
		}
		n = accel_queue_reap(q, &r, 1, 1, 20000);
		if (n != 1)
			print_error("%s: no result for one of %u jobs\n", spec, sent - got);
		assert_int_equal(n, 1);
		i = (unsigned int)(uintptr_t)r.user_data;
		if (r.status)
			print_error("%s: job %u: %s, os %d nvme %x retries %u\n", spec, i,
				    accel_status_str(r.status), r.os_error, r.nvme_status, r.retries);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(r.out_len, LEN);
		assert_int_equal(r.executor, r.retries ? ACCEL_EXEC_RETRIED : ACCEL_EXEC_SOFTWARE);
		retried += r.retries > 0;
		assert_int_equal(seen[i]++, 0);
		got++;
	}
	assert_memory_equal(in, out, N * LEN);
	if (retried < min_retried)
		print_error("%s: only %u retried\n", spec, retried);
	assert_true(retried >= min_retried);
	free(in);
	free(out);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_path(void **state)
{
	static const struct faults table[] = {
		{ "latew@2/3", 0 },	{ "later@1/3", 0 },	{ "failw@3/5", 1 },   { "failr@2/5", 1 },
		{ "lostw@1/4", 0 },	{ "lostr@3/6", 1 },	{ "statusw@4/6", 1 }, { "statusr@4/7", 1 },
		{ "repeatw@1/2", 0 },	{ "reorderw@1/2", 0 },	{ "splitw@1/2", 0 },  { "cutw@5/9", 1 },
		{ "failw@2/7;lostr@3/7;repeatw@5/7;reorderw@6/7", 1 },
		/* Output and input that one command does not carry. */
		{ "max=4096", 0 },	{ "max=8192", 0 },	{ "max=12288", 0 },   { "max=8192;latew@2/3", 0 },
		{ "max=8192;later@1/3", 0 }, { "max=8192;failr@2/11", 1 }, { "max=8192;lostr@2/13", 1 },
		{ "max=4096;failw@2/13;lostr@3/11;repeatw@5/7;reorderw@6/7", 1 }, { "max=4096;statusr@4/11", 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		run_through(table[i].spec, table[i].min_retried, "soft:threads=1");
		run_through(table[i].spec, table[i].min_retried, "soft:threads=0");
	}
}

static void one_job(const char *name, enum accel_policy policy, int timeout_ms, struct accel_result *r)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, name);
	struct accel_plan *plan = crc_plan(ctx, dev, policy);
	struct accel_lease *lease = lease_new(dev, 2, 0, 0);
	struct accel_queue *q = queue_of(lease, 2);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = ACCEL_INIT(struct accel_job);

	job.plan = plan;
	job.in = &v;
	job.nin = 1;
	job.timeout_ms = timeout_ms;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, r, 1, 1, 30000), 1);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* A path that is dead for good: a status, the reason, and the CPU where the plan lets it. */
static void test_dead_path(void **state)
{
	struct accel_result r;

	(void)state;
	one_job("fault:failw@1/1,soft:threads=0", ACCEL_DEVICE_ONLY, 0, &r);
	assert_int_equal(r.status, ACCEL_ST_IO_ERROR);
	assert_int_equal(r.os_error, EIO);
	assert_int_equal(r.retries, 3);
	assert_int_equal(r.executor, ACCEL_EXEC_NONE);
	one_job("fault:failw@1/1,soft:threads=0", ACCEL_PREFER_DEVICE, 0, &r);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	one_job("fault:statusw@1/1,soft:threads=0", ACCEL_DEVICE_ONLY, 0, &r);
	assert_int_equal(r.status, ACCEL_ST_IO_ERROR);
	assert_int_equal(r.nvme_status, 6);
	/* A read that carries one block only is not counted by the faulty path: use output. */
}

static void test_dead_reads(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "fault:failr@1/1,soft:threads=0");
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_PREFER_DEVICE);
	struct accel_lease *lease = lease_new(dev, 2, 0, 0);
	struct accel_queue *q = queue_of(lease, 1);
	uint8_t in[700], out[700];
	struct iovec vin = { in, 700 }, vout = { out, 700 };
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct accel_result r;

	(void)state;
	fill_text(in, sizeof(in));
	job.plan = plan;
	job.in = &vin;
	job.out = &vout;
	job.nin = job.nout = 1;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 30000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_memory_equal(in, out, 700);
	/* Its only slot is in doubt now: the next job is still accepted, and has a result. */
	memset(out, 0, 700);
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 30000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_memory_equal(in, out, 700);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* The deadline holds while a retry waits. */
static void test_deadline(void **state)
{
	struct accel_result r;
	uint64_t t = now_ns();

	(void)state;
	one_job("fault:failw@1/1,soft:threads=0", ACCEL_DEVICE_ONLY, 3, &r);
	assert_true(r.status == ACCEL_ST_TIMEOUT || r.status == ACCEL_ST_IO_ERROR);
	assert_true(now_ns() - t < 10000000000u);
}

/* Names of faulty devices are checked like others. */
static void test_names(void **state)
{
	static const char *const bad[] = {
		"fault:", "fault:failw@1", "fault:failw@0,soft:", "fault:nothing@1,soft:", "fault:failx@1,soft:",
		"fault:max=,soft:", "fault:max=0,soft:", "fault:max=512,soft:", "fault:max=8192x,soft:",
		"fault:failw@1x,soft:", "fault:repeatr@1,soft:", "fault:failw@1,nothing:", "fault:failw,soft:",
	};
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(accel_dev_open(ctx, bad[i], &dev), -EINVAL);
	dev = dev_open(ctx, "fault:,soft:nsid=3");
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* Leases are real through it, too; without borrowing the device copies. */
static void test_copied(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "fault:,soft:threads=0"), *same = dev_open(ctx, "soft:threads=0");
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_dev_stats st;
	struct accel_result r;
	char out[9];

	(void)state;
	assert_int_equal(accel_run(dev, plan, "123456789", 9, out, 9, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_memory_equal(out, "123456789", 9);
	assert_int_equal(accel_dev_stats(same, &st), 0);
	assert_int_equal(st.jobs, 1);
	assert_int_equal(st.in_place, 0);
	assert_true(st.copied >= 18);
	assert_int_equal(accel_dev_lock(same, 0), 0);
	assert_int_equal(accel_dev_lock(dev, 0), -EBUSY);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_dev_close(same);
	accel_ctx_unref(ctx);
}

/* Longer than HOLDMAX: the read comes back without an end, and is sent again. */
static void test_holdmax(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "fault:,soft:threads=1");
	struct accel_plan *plan = slow_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_lease *lease = lease_new(dev, 16, 0, 0);
	struct accel_queue *q = queue_of(lease, 16);
	size_t n = 4 << 20;
	uint8_t *in = malloc(n), *out = malloc(16 * n);
	struct iovec vin = { in, n }, vout[16];
	struct accel_job jobs[16];
	struct accel_result r;
	struct accel_dev_stats st;
	unsigned int i;

	(void)state;
	fill_text(in, n);
	for (i = 0; i < 16; i++) {
		jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		vout[i] = (struct iovec){ out + i * n, n - 1024 };
		jobs[i].plan = plan;
		jobs[i].in = &vin;
		jobs[i].out = &vout[i];
		jobs[i].nin = jobs[i].nout = 1;
	}
	assert_int_equal(accel_queue_submit(q, jobs, 16), 16);
	for (i = 0; i < 16; i++) {
		assert_int_equal(accel_queue_reap(q, &r, 1, 1, 60000), 1);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(r.retries, 0);
	}
	for (i = 1; i < 16; i++)
		assert_memory_equal(out, out + i * n, r.out_len);
	assert_int_equal(accel_dev_stats(dev, &st), 0);
	assert_int_equal(st.jobs, 16);
	free(in);
	free(out);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),	 cmocka_unit_test(test_dead_path),
		cmocka_unit_test(test_dead_reads), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_copied),
		cmocka_unit_test(test_holdmax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
