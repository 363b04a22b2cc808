// SPDX-License-Identifier: BSD-2-Clause
/* Leases and the lock: claiming, waiting, renewing, ending, breaking, and a holder that died. */
#include "api_util.h"

static int acquire(struct accel_dev *dev, uint32_t min, uint32_t want, uint32_t flags, uint32_t ms, int timeout,
		   struct accel_lease **lease)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);

	opts.slots_min = min;
	opts.slots_wanted = want;
	opts.flags = flags;
	opts.duration_ms = ms;
	return accel_lease_acquire(dev, &opts, timeout, lease);
}

static void test_options(void **state)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_lease *lease;
	struct accel_lease_info info;

	(void)state;
	assert_int_equal(accel_lease_acquire(dev, NULL, 0, &lease), 0);
	assert_int_equal(accel_lease_info(lease, &info), 0);
	assert_int_equal(info.nslot, 16);
	assert_int_equal(info.duration_ms, 10000);
	assert_int_equal(info.state, 1);
	assert_int_equal(info.mine, 1);
	assert_true(info.remaining_ms > 9000 && info.remaining_ms <= 10000);
	assert_true(strlen(info.label) > 0);
	accel_lease_release(lease);
	assert_int_equal(acquire(dev, 0, 64, 0, 0, 0, &lease), 0);
	accel_lease_release(lease);
	assert_int_equal(acquire(dev, 0, 9999, 0, 0, 0, &lease), 0);	/* as many as there are */
	assert_int_equal(accel_lease_info(lease, &info), 0);
	assert_int_equal(info.nslot, accel_dev_info(dev)->nslot);
	accel_lease_release(lease);
	assert_int_equal(acquire(dev, 8, 4, 0, 0, 0, &lease), -EINVAL);
	assert_int_equal(acquire(dev, 65, 65, 0, 0, 0, &lease), -EINVAL);
	assert_int_equal(acquire(dev, 0, 0, 1u << 7, 0, 0, &lease), -EINVAL);
	assert_int_equal(acquire(dev, 0, 0, 0, accel_dev_info(dev)->lease_min_ms - 1, 0, &lease), -EINVAL);
	assert_int_equal(acquire(dev, 0, 0, 0, accel_dev_info(dev)->lease_max_ms + 1, 0, &lease), -EINVAL);
	opts.pad = 1;
	assert_int_equal(accel_lease_acquire(dev, &opts, 0, &lease), -EINVAL);
	opts.pad = 0;
	opts.size = 3;
	assert_int_equal(accel_lease_acquire(dev, &opts, 0, &lease), -EINVAL);
	assert_int_equal(accel_lease_acquire(NULL, NULL, 0, &lease), -EINVAL);
	assert_int_equal(accel_lease_acquire(dev, NULL, -2, &lease), -EINVAL);
	assert_int_equal(accel_lease_renew(NULL), -EINVAL);
	assert_int_equal(accel_lease_info(NULL, &info), -EINVAL);
	accel_lease_release(NULL);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_busy(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:slots=8");
	struct accel_lease *a, *b, *c;
	uint64_t t;

	(void)state;
	assert_int_equal(acquire(dev, 6, 6, 0, 0, 0, &a), 0);
	assert_int_equal(acquire(dev, 3, 3, 0, 0, 0, &b), -EBUSY);
	t = now_ns();
	assert_int_equal(acquire(dev, 3, 3, 0, 0, 60, &b), -EBUSY);
	t = now_ns() - t;
	assert_true(t >= 60000000 && t < 3000000000u);
	assert_int_equal(acquire(dev, 1, 3, 0, 0, 0, &b), 0);	/* gets the two that are left */
	assert_int_equal(acquire(dev, 1, 1, 0, 0, 0, &c), -EBUSY);
	accel_lease_release(a);
	assert_int_equal(acquire(dev, 6, 6, 0, 0, 0, &c), 0);
	accel_lease_release(b);
	accel_lease_release(c);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_expiry(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_lease *a = lease_new(dev, 64, 1500, 0), *b;
	struct accel_lease_info info;
	struct accel_dev_stats st;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {	/* renewed, it lives beyond its duration */
		sleep_ms(450);
		assert_int_equal(accel_lease_renew(a), 0);
	}
	sleep_ms(2000);
	assert_int_equal(accel_lease_renew(a), -ESTALE);
	assert_int_equal(accel_lease_info(a, &info), -ESTALE);
	assert_int_equal(accel_dev_stats(dev, &st), 0);
	assert_int_equal(st.lease_expiries, 1);
	assert_int_equal(acquire(dev, 64, 64, 0, 0, 0, &b), 0);
	/* What is done with the old one does not hurt the new one. */
	accel_lease_release(a);
	assert_int_equal(accel_lease_renew(b), 0);
	accel_lease_release(b);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* 10-12, 10-07: a holder is gone without a word; the next owner starts clean. */
static void test_crashed_holder(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1,slots=4");
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	uint64_t t = now_ns();
	struct accel_lease *gone = lease_new(dev, 4, 100, ACCEL_LEASE_EXCLUSIVE), *next = NULL;
	struct accel_queue *q = queue_of(gone, 1), *q2;
	struct accel_job job = ACCEL_INIT(struct accel_job);
	uint8_t in[8192], out[8192], zero[8192] = { 0 };
	struct iovec vin = { in, sizeof(in) }, vout = { out, sizeof(out) };
	struct accel_result r;

	(void)state;
	memset(in, 0x5a, sizeof(in));
	job.plan = plan;
	job.in = &vin;
	job.out = &vout;
	job.nin = job.nout = 1;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	/* Not reaped, not released. The lock is free when the lease has run out, and not before. */
	assert_int_equal(acquire(dev, 4, 4, ACCEL_LEASE_EXCLUSIVE, 0, 5000, &next), 0);
	assert_true(now_ns() - t >= 100000000);
	q2 = queue_of(next, 4);
	memset(out, 0xa5, sizeof(out));
	/* No byte of the old job's: the slots' windows read as zeros and as free. */
	{
		uint8_t page[8192 + 512];
		struct iovec v = { page, sizeof(page) };
		struct accel_status_block sb;
		uint16_t sc;
		uint32_t s;

		for (s = 0; s < 4; s++) {
			assert_int_equal(accel_raw_read(dev, accel_raw_window(dev, s, 1, ACCEL_WINDOW_READ), &v, 1,
							1000, &sc), 0);
			assert_int_equal(sc, 0);
			assert_int_equal(accel_status_decode(&sb, page, 512), 0);
			assert_true(sb.state < 2);
			assert_memory_equal(page + 512, zero, sizeof(zero));
		}
	}
	assert_int_equal(accel_queue_submit(q2, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q2, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_memory_equal(in, out, sizeof(in));
	accel_queue_free(q2);
	accel_lease_release(next);
	accel_queue_free(q);
	accel_lease_release(gone);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_exclusive(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_lease *a = lease_new(dev, 1, 0, 0), *x;
	struct accel_lease_info info;

	(void)state;
	assert_int_equal(acquire(dev, 0, 0, ACCEL_LEASE_EXCLUSIVE, 0, 20, &x), -EBUSY);
	assert_int_equal(accel_lease_renew(a), 0);
	accel_lease_release(a);
	a = lease_new(dev, 1, 0, ACCEL_LEASE_PREEMPTIBLE);
	assert_int_equal(acquire(dev, 0, 0, ACCEL_LEASE_EXCLUSIVE, 0, 1000, &x), 0);
	assert_int_equal(accel_lease_renew(a), -ESTALE);
	assert_int_equal(accel_lease_info(x, &info), 0);
	assert_int_equal(info.nslot, accel_dev_info(dev)->nslot);
	assert_int_equal(info.flags & ACCEL_LEASE_EXCLUSIVE, ACCEL_LEASE_EXCLUSIVE);
	accel_lease_release(a);
	assert_int_equal(acquire(dev, 1, 1, 0, 0, 0, &a), -EBUSY);
	accel_lease_release(x);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_list_and_break(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct accel_lease *a, *b = lease_new(dev, 2, 0, 0);
	struct accel_lease_info info[4];
	int i, ia;

	(void)state;
	opts.label = "a label longer than the thirty-two bytes it may have";
	opts.slots_wanted = 3;
	assert_int_equal(accel_lease_acquire(dev, &opts, 0, &a), 0);
	assert_int_equal(accel_lease_list(dev, NULL, 0), 2);
	assert_int_equal(accel_lease_list(dev, info, 1), 2);
	assert_int_equal(accel_lease_list(dev, info, 4), 2);
	ia = info[0].nslot == 3 ? 0 : 1;
	assert_int_equal(info[ia].nslot, 3);
	assert_string_equal(info[ia].label, "a label longer than the thirty-t");
	for (i = 0; i < 2; i++)
		assert_int_equal(info[i].mine, 1);
	assert_int_equal(accel_lease_break(dev, info[ia].index, info[ia].epoch + 1), -ESTALE);
	assert_int_equal(accel_lease_break(dev, 100000, 1), -EINVAL);
	assert_int_equal(accel_lease_renew(a), 0);
	assert_int_equal(accel_lease_break(dev, info[ia].index, info[ia].epoch), 0);
	assert_int_equal(accel_lease_break(dev, info[ia].index, info[ia].epoch), -ESTALE);
	assert_int_equal(accel_lease_renew(a), -ESTALE);
	assert_int_equal(accel_lease_renew(b), 0);
	assert_int_equal(accel_lease_list(dev, info, 4), 1);
	assert_int_equal(accel_lease_list(dev, NULL, 1), -EINVAL);
	accel_lease_release(a);
	accel_lease_release(b);
	assert_int_equal(accel_lease_list(dev, info, 4), 0);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_lock(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *a = dev_open(ctx, "soft:"), *b = dev_open(ctx, "soft:");
	struct accel_plan *plan = crc_plan(ctx, a, ACCEL_DEVICE_ONLY);
	struct accel_lease_info info[2];
	struct accel_result r;
	int i;

	(void)state;
	assert_int_equal(accel_dev_unlock(a), -EPERM);
	/* The lease that accel_run() keeps gives way. */
	assert_int_equal(accel_run(b, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(accel_dev_lock(a, 1000), 0);
	assert_int_equal(accel_dev_lock(a, 0), -EALREADY);
	assert_int_equal(accel_dev_lock(b, 0), -EBUSY);
	memset(&r, 0, sizeof(r));
	i = accel_run(b, plan, "123456789", 9, NULL, 0, NULL, 200, &r);
	assert_true(i == -EBUSY || (i == 0 && r.status == ACCEL_ST_TIMEOUT));
	/* The holder's own calls use the lock's lease. */
	assert_int_equal(accel_run(a, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(accel_lease_list(a, info, 2), 1);
	assert_int_equal(accel_dev_unlock(a), 0);
	assert_int_equal(accel_dev_unlock(a), -EPERM);
	assert_int_equal(accel_run(a, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(accel_run(b, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	/* A lock that somebody broke is no lock any more, and is said to be so. */
	assert_int_equal(accel_dev_lock(a, 1000), 0);
	assert_int_equal(accel_lease_list(b, info, 2), 1);
	assert_int_equal(accel_lease_break(b, info[0].index, info[0].epoch), 0);
	assert_int_equal(accel_dev_unlock(a), -ESTALE);
	assert_int_equal(accel_dev_lock(a, 1000), 0);
	assert_int_equal(accel_lease_list(b, info, 2), 1);
	assert_int_equal(accel_lease_break(b, info[0].index, info[0].epoch), 0);
	assert_int_equal(accel_dev_lock(a, 1000), 0);
	assert_int_equal(accel_dev_lock(NULL, 0), -EINVAL);
	assert_int_equal(accel_dev_unlock(NULL), -EINVAL);
	accel_plan_unref(plan);
	accel_dev_close(a);
	accel_dev_close(b);
	accel_ctx_unref(ctx);
}

/* 10-03 */
static void test_lock_loop(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		struct accel_dev *dev;

		if (accel_dev_open(ctx, "soft:slots=2,nsid=6", &dev))
			fail();
		if (accel_dev_lock(dev, 0))
			fail_msg("lock %d", i);
		if (i & 1 && accel_dev_unlock(dev))
			fail();
		accel_dev_close(dev);
	}
	accel_ctx_unref(ctx);
}

/* 12-05: whatever is let go first. */
static void test_close_orders(void **state)
{
	unsigned int order;

	(void)state;
	for (order = 0; order < 24; order++) {
		struct accel_ctx *ctx = ctx_new();
		struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
		struct accel_lease *lease = lease_new(dev, 2, 0, 0);
		struct accel_queue *q = queue_of(lease, 2);
		unsigned int pick[4] = { 0, 1, 2, 3 }, n = order, i, k, t;

		for (i = 0; i < 4; i++) {
			k = i + n % (4 - i);
			n /= 4 - i;
			t = pick[k];
			pick[k] = pick[i];
			pick[i] = t;
			if (t == 0)
				accel_ctx_unref(ctx);
			else if (t == 1)
				accel_dev_close(dev);
			else if (t == 2)
				accel_lease_release(lease);
			else
				accel_queue_free(q);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	       cmocka_unit_test(test_busy),
		cmocka_unit_test(test_expiry),	       cmocka_unit_test(test_crashed_holder),
		cmocka_unit_test(test_exclusive),      cmocka_unit_test(test_list_and_break),
		cmocka_unit_test(test_lock),	       cmocka_unit_test(test_lock_loop),
		cmocka_unit_test(test_close_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
