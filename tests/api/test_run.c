// SPDX-License-Identifier: BSD-2-Clause
/* accel_run(), accel_runv() and accel_run_many(). */
#include "api_util.h"

static void test_basic(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY), *unsealed = plan_of(ctx);
	struct iovec v[2] = { { (void *)"1234", 4 }, { (void *)"56789", 5 } };
	uint8_t zeros[32] = { 0 };
	struct accel_result r;

	(void)state;
	assert_int_equal(accel_run(dev, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	assert_int_equal(accel_run(dev, plan, zeros, 32, NULL, 0, NULL, -1, &r), 0);
	assert_int_equal(result_crc(&r), CRC_ZEROS32);
	assert_int_equal(accel_runv(dev, plan, v, 2, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(accel_run(dev, plan, NULL, 0, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(result_crc(&r), 0);
	assert_int_equal(accel_run(NULL, plan, NULL, 0, NULL, 0, NULL, 0, &r), -EINVAL);
	assert_int_equal(accel_run(dev, NULL, NULL, 0, NULL, 0, NULL, 0, &r), -EINVAL);
	assert_int_equal(accel_run(dev, unsealed, NULL, 0, NULL, 0, NULL, 0, &r), -EINVAL);
	assert_int_equal(accel_run(dev, plan, NULL, 5, NULL, 0, NULL, 0, &r), -EINVAL);
	assert_int_equal(accel_run(dev, plan, NULL, 0, NULL, 0, NULL, -2, &r), -EINVAL);
	assert_int_equal(accel_run(dev, plan, NULL, 0, NULL, 0, NULL, 0, NULL), -EINVAL);
	accel_plan_unref(unsealed);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* The kept lease runs out while nobody calls: the next call gets another, and says nothing of fallback. */
static void test_idle(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=0");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_PREFER_DEVICE);
	struct accel_lease_info info[2];
	struct accel_result r;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		assert_int_equal(accel_run(dev, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
		assert_int_equal(result_crc(&r), CRC_DIGITS);
		assert_int_equal(accel_lease_list(dev, info, 2), 1);
		assert_int_equal(accel_lease_break(dev, info[0].index, info[0].epoch), 0);
	}
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_policy(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=1"), *other = dev_open(ctx, "soft:nsid=5");
	struct accel_plan *cpu = crc_plan(ctx, dev, ACCEL_CPU_ONLY);
	struct accel_plan *wrong = copy_plan(ctx, NULL, ACCEL_PREFER_DEVICE);
	struct accel_dev_stats st;
	struct accel_result r;
	char out[9];

	(void)state;
	assert_int_equal(accel_run(dev, cpu, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	assert_int_equal(accel_dev_stats(dev, &st), 0);
	assert_int_equal(st.jobs, 0);
	assert_int_equal(st.lease_grants, 0);
	/* A device that cannot do it. */
	assert_int_equal(accel_run(other, wrong, "123456789", 9, out, 9, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_memory_equal(out, "123456789", 9);
	accel_plan_unref(cpu);
	accel_plan_unref(wrong);
	accel_dev_close(dev);
	accel_dev_close(other);
	accel_ctx_unref(ctx);
}

struct caller {
	struct accel_dev *dev;
	struct accel_plan *plan;
	unsigned int n, bad;
};

static void *caller_main(void *arg)
{
	struct caller *c = arg;
	struct accel_result r;
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		if (accel_run(c->dev, c->plan, "123456789", 9, NULL, 0, NULL, 20000, &r) || r.status ||
		    r.result[0][3] != 0xe3 || r.result[0][0] != 0x83)
			c->bad++;
	}
	return NULL;
}

/* 12-08: more threads than slots: they take turns. */
static void test_threads(void **state)
{
	static const char *const names[] = { "soft:threads=1,slots=4", "soft:threads=0,slots=3" };
	pthread_t t[8];
	struct caller c[8];
	unsigned int k, i;

	(void)state;
	for (k = 0; k < 2; k++) {
		struct accel_ctx *ctx = ctx_new();
		struct accel_dev *dev = dev_open(ctx, names[k]);
		struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);

		for (i = 0; i < 8; i++) {
			c[i] = (struct caller){ dev, plan, 200, 0 };
			assert_int_equal(pthread_create(&t[i], NULL, caller_main, &c[i]), 0);
		}
		for (i = 0; i < 8; i++) {
			pthread_join(t[i], NULL);
			assert_int_equal(c[i].bad, 0);
		}
		accel_plan_unref(plan);
		accel_dev_close(dev);
		accel_ctx_unref(ctx);
	}
}

#define MANY 1000

static void test_many(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	struct accel_lease *lease = lease_new(dev, 16, 0, 0);
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY), *crc = crc_plan(ctx, dev, 1);
	static struct accel_job jobs[MANY];
	static struct accel_result results[MANY];
	static uint8_t in[MANY][64], out[MANY][64];
	static struct iovec vin[MANY], vout[MANY];
	struct accel_queue *q;
	unsigned int i, round;

	(void)state;
	fill_text(&in[0][0], sizeof(in));
	for (round = 0; round < 3; round++) {
		memset(out, 0, sizeof(out));
		for (i = 0; i < MANY; i++) {
			jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
			vin[i] = (struct iovec){ in[i], 64 };
			vout[i] = (struct iovec){ out[i], 64 };
			jobs[i].in = &vin[i];
			jobs[i].nin = 1;
			jobs[i].user_data = (void *)(uintptr_t)(i * 7);
			if (i % 3) {
				jobs[i].out = &vout[i];
				jobs[i].nout = 1;
			} else {
				jobs[i].plan = crc;
			}
		}
		assert_int_equal(accel_run_many(lease, plan, jobs, results, MANY, 20000), 0);
		for (i = 0; i < MANY; i++) {
			assert_int_equal(results[i].status, ACCEL_ST_OK);
			assert_int_equal(results[i].job_id, jobs[i].job_id);
			assert_int_equal((uintptr_t)results[i].user_data, i * 7);
			if (i % 3)
				assert_memory_equal(in[i], out[i], 64);
			else
				assert_int_equal(result_crc(&results[i]), accel_raw_crc32c(0, in[i], 64));
		}
	}
	/* The queue that it kept does not stand in another's way. */
	q = queue_of(lease, 16);
	assert_int_equal(accel_run_many(lease, plan, jobs, results, MANY, 20000), -EBUSY);
	accel_queue_free(q);
	assert_int_equal(accel_run_many(lease, plan, jobs, results, 0, 0), 0);
	jobs[5].flags = 1;
	assert_int_equal(accel_run_many(lease, plan, jobs, results, MANY, 1000), -EINVAL);
	jobs[5].flags = 0;
	jobs[7].plan = NULL;
	assert_int_equal(accel_run_many(lease, NULL, jobs, results, MANY, 1000), -EINVAL);
	assert_int_equal(accel_run_many(NULL, plan, jobs, results, 1, 1000), -EINVAL);
	assert_int_equal(accel_run_many(lease, plan, NULL, results, 1, 1000), -EINVAL);
	accel_plan_unref(plan);
	accel_plan_unref(crc);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_many_timeout(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	struct accel_lease *lease = lease_new(dev, 4, 0, 0);
	struct accel_plan *plan = slow_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	size_t n = 2 << 20;
	uint8_t *in = malloc(n), *out = malloc(12 * n);
	struct accel_job jobs[12];
	struct accel_result results[12];
	struct iovec vin = { in, n }, vout[12];
	unsigned int i, late = 0;

	(void)state;
	fill_text(in, n);
	for (i = 0; i < 12; i++) {
		jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		vout[i] = (struct iovec){ out + i * n, n };
		jobs[i].in = &vin;
		jobs[i].out = &vout[i];
		jobs[i].nin = jobs[i].nout = 1;
	}
	assert_int_equal(accel_run_many(lease, plan, jobs, results, 12, 10), -ETIMEDOUT);
	for (i = 0; i < 12; i++) {
		late += results[i].status == ACCEL_ST_TIMEOUT;
		assert_true(results[i].status == ACCEL_ST_TIMEOUT || results[i].status == ACCEL_ST_OK);
	}
	assert_true(late >= 10);
	/* None is in flight: the buffers can go. */
	free(in);
	free(out);
	accel_plan_unref(plan);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic),	cmocka_unit_test(test_idle), cmocka_unit_test(test_policy),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_many), cmocka_unit_test(test_many_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
