// SPDX-License-Identifier: BSD-2-Clause
/*
 * fork() with open handles (faults 3-23, 3-40, 10-01, 10-04): in the child every handle says -ESTALE at once,
 * letting go of them neither hangs nor touches what is the parent's, and the parent goes on.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "api_util.h"

struct all {
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_lease *lease;
	struct accel_queue *q;
	struct accel_plan *plan;
	struct accel_buf *buf;
	struct accel_job job;
	struct iovec v;
	volatile int stop;
	pthread_t busy;
};

/* Keeps locks of the library taken and workers running while the fork happens. */
static void *busy_main(void *arg)
{
	struct all *a = arg;
	struct accel_result r;

	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED))
		if (accel_run(a->dev, a->plan, "123456789", 9, NULL, 0, NULL, 10000, &r) || r.status)
			return arg;
	return NULL;
}

static void open_all(struct all *a, const char *name)
{
	memset(a, 0, sizeof(*a));
	a->ctx = ctx_new();
	a->dev = dev_open(a->ctx, name);
	a->lease = lease_new(a->dev, 4, 0, 0);
	a->q = queue_of(a->lease, 4);
	a->plan = crc_plan(a->ctx, a->dev, ACCEL_DEVICE_ONLY);
	assert_int_equal(accel_buf_alloc(a->ctx, NULL, 4096, 0, &a->buf), 0);
	a->v = (struct iovec){ (void *)"123456789", 9 };
	a->job = (struct accel_job)ACCEL_INIT(struct accel_job);
	a->job.plan = a->plan;
	a->job.in = &a->v;
	a->job.nin = 1;
	assert_true(accel_queue_fd(a->q) >= 0);
	assert_int_equal(pthread_create(&a->busy, NULL, busy_main, a), 0);
	assert_int_equal(accel_queue_submit(a->q, &a->job, 1), 1);
}

static void free_all(struct all *a)
{
	accel_buf_free(a->buf);
	accel_queue_free(a->q);
	accel_lease_release(a->lease);
	accel_plan_unref(a->plan);
	accel_dev_close(a->dev);
	accel_ctx_unref(a->ctx);
}

/* The number of the first call that does not say -ESTALE; 0: all do. */
static int child_calls(struct all *a)
{
	struct accel_lease_info li;
	struct accel_queue_info qi;
	struct accel_dev_info di;
	struct accel_dev_stats st;
	struct accel_caps caps;
	struct accel_result r;
	struct accel_queue *q;
	struct accel_lease *l;
	struct accel_list *list;
	struct accel_dev *dev;
	struct accel_plan *p;
	struct accel_buf *b;
	uint8_t page[4096];
	struct iovec v = { page, 512 };
	uint16_t sc;
	int n = 0;

#define STALE(call) do { n++; if ((call) != -ESTALE) return n; } while (0)
	STALE(accel_scan(a->ctx, NULL, &list));
	STALE(accel_find(a->ctx, NULL, &dev));
	STALE(accel_dev_open(a->ctx, "soft:", &dev));
	STALE(accel_dev_state(a->dev, &di));
	STALE(accel_dev_stats(a->dev, &st));
	STALE(accel_dev_caps(a->dev, ACCEL_OP_CHECKSUM, 0, &caps));
	STALE(accel_dev_reset(a->dev, ACCEL_RESET_YES));
	STALE(accel_dev_lock(a->dev, 0));
	STALE(accel_dev_unlock(a->dev));
	STALE(accel_lease_acquire(a->dev, NULL, 0, &l));
	STALE(accel_lease_renew(a->lease));
	STALE(accel_lease_info(a->lease, &li));
	STALE(accel_lease_list(a->dev, &li, 1));
	STALE(accel_lease_break(a->dev, 0, 1));
	STALE(accel_queue_new(a->lease, NULL, &q));
	STALE(accel_queue_info(a->q, &qi));
	STALE(accel_queue_fd(a->q));
	STALE(accel_queue_submit(a->q, &a->job, 1));
	STALE(accel_queue_reap(a->q, &r, 1, 1, -1));
	STALE(accel_queue_cancel(a->q, 1));
	STALE(accel_queue_drain(a->q, -1));
	STALE(accel_run(a->dev, a->plan, "1", 1, NULL, 0, NULL, -1, &r));
	STALE(accel_run_many(a->lease, a->plan, &a->job, &r, 1, -1));
	STALE(accel_plan_new(a->ctx, &p));
	STALE(accel_raw_read(a->dev, 0, &v, 1, -1, &sc));
	STALE(accel_raw_write(a->dev, 0, &v, 1, -1, &sc));
	STALE(accel_raw_identify(a->dev, page));
	STALE(accel_buf_alloc(a->ctx, NULL, 4096, 0, &b));
	accel_ctx_set_log(a->ctx, NULL, NULL, ACCEL_LOG_ERROR);
	return 0;
}

/* 100 + n: call n was wrong. 1: the child took more than a second of CPU time (3-23: it spins). */
static int child(struct all *a)
{
	struct rusage ru;
	int n = child_calls(a);

	if (n)
		return 100 + n;
	free_all(a);
	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_utime.tv_sec + ru.ru_stime.tv_sec >= 1;
}

static void wait_child(pid_t pid)
{
	int status = 0, i;

	for (i = 0; i < 2000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		sleep_ms(10);
	}
	if (i == 2000) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		fail_msg("the child hangs");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		print_error("child: status %x\n", status);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void through_fork(const char *name)
{
	struct accel_result r;
	struct all a;
	void *bad;
	pid_t pid;
	int i;

	open_all(&a, name);
	assert_int_equal(accel_dev_info(a.dev)->nslot > 0, 1);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0)
			_exit(child(&a));
		assert_true(pid > 0);
		wait_child(pid);
	}
	/* The parent's job, lease, queue and threads are as they were. */
	assert_int_equal(accel_queue_reap(a.q, &r, 1, 1, 10000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(accel_lease_renew(a.lease), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(accel_queue_submit(a.q, &a.job, 1), 1);
		assert_int_equal(accel_queue_reap(a.q, &r, 1, 1, 10000), 1);
		assert_int_equal(r.status, ACCEL_ST_OK);
	}
	__atomic_store_n(&a.stop, 1, __ATOMIC_RELAXED);
	pthread_join(a.busy, &bad);
	assert_null(bad);
	free_all(&a);
}

static void test_threads(void **state)
{
	(void)state;
	through_fork("soft:threads=2");
}

static void test_no_threads(void **state)
{
	(void)state;
	through_fork("soft:threads=0");
}

/* A child may make handles of its own. */
static void test_fresh(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct accel_ctx *c;
		struct accel_dev *d;
		struct accel_plan *p;
		struct accel_result r;

		if (accel_ctx_new(NULL, &c) || accel_dev_open(c, "soft:threads=1", &d) || accel_plan_new(c, &p) ||
		    accel_plan_checksum(p, ACCEL_CRC32C, 0) || accel_plan_seal(p, d) ||
		    accel_run(d, p, "123456789", 9, NULL, 0, NULL, 10000, &r) || r.status)
			_exit(1);
		accel_plan_unref(p);
		accel_dev_close(d);
		accel_ctx_unref(c);
		accel_dev_close(dev);
		accel_ctx_unref(ctx);
		_exit(0);
	}
	wait_child(pid);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* 10-01, 10-04: a child neither keeps a lock alive nor lets it go. */
static void test_lock(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:"), *other = dev_open(ctx, "soft:");
	pid_t pid;

	(void)state;
	assert_int_equal(accel_dev_lock(dev, 0), 0);
	pid = fork();
	if (pid == 0) {
		int ret = accel_dev_unlock(dev);

		accel_dev_close(dev);
		_exit(ret == -ESTALE ? 0 : 1);
	}
	wait_child(pid);
	assert_int_equal(accel_dev_lock(other, 0), -EBUSY);
	assert_int_equal(accel_dev_lock(dev, 0), -EALREADY);
	pid = fork();
	if (pid == 0) {
		sleep_ms(300);
		_exit(0);
	}
	accel_dev_close(dev);		/* the child still lives */
	assert_int_equal(accel_dev_lock(other, 0), 0);
	wait_child(pid);
	accel_dev_close(other);
	accel_ctx_unref(ctx);
}

/* No descriptor of ours goes through exec(). */
static void test_cloexec(void **state)
{
	struct all a;
	void *bad;
	pid_t pid;

	(void)state;
	open_all(&a, "soft:threads=1");
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "ls -l /proc/self/fd | grep -q 'anon_inode' && exit 1; exit 0", NULL);
		_exit(2);
	}
	wait_child(pid);
	__atomic_store_n(&a.stop, 1, __ATOMIC_RELAXED);
	pthread_join(a.busy, &bad);
	assert_null(bad);
	free_all(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), cmocka_unit_test(test_no_threads), cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_lock),	cmocka_unit_test(test_cloexec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
