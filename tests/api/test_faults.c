// SPDX-License-Identifier: BSD-2-Clause
/*
 * Faults that other accelerator libraries have had and no test of one call looks for: objects freed in every
 * order, counters beyond 32 bits, who did a job, memory that goes away, holders that vanish.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include "api_util.h"

#define NOBJECTS 7

struct objects {
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_lease *lease;
	struct accel_queue *q;
	struct accel_plan *plan;
	struct accel_buf *buf;
	struct accel_stream *stream;
};

static uint8_t text[16384], out[7][16384];

/* With jobs in flight, one result not reaped, and a stream that has input. */
static void objects_open(struct objects *o, const char *name)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct accel_job job[4];
	static struct iovec vin, vout[4];
	int i;

	o->ctx = ctx_new();
	o->dev = dev_open(o->ctx, name);
	o->lease = lease_new(o->dev, 4, 0, 0);
	o->q = queue_of(o->lease, 4);
	o->plan = copy_plan(o->ctx, o->dev, ACCEL_DEVICE_ONLY);
	assert_int_equal(accel_buf_alloc(o->ctx, NULL, 4096, 0, &o->buf), 0);
	opts.kind = ACCEL_STREAM_COMPRESS;
	opts.alg = ACCEL_GZIP;
	opts.level = 1;
	assert_int_equal(accel_stream_open(o->dev, &opts, &o->stream), 0);
	assert_int_equal(accel_stream_write(o->stream, text, sizeof(text)), sizeof(text));
	vin = (struct iovec){ text, sizeof(text) };
	for (i = 0; i < 4; i++) {
		job[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		vout[i] = (struct iovec){ out[i], sizeof(out[i]) };
		job[i].plan = o->plan;
		job[i].in = &vin;
		job[i].out = &vout[i];
		job[i].nin = job[i].nout = 1;
	}
	assert_int_equal(accel_queue_submit(o->q, job, 4), 4);
}

static void objects_free(struct objects *o, unsigned int which)
{
	switch (which) {
	case 0: accel_ctx_unref(o->ctx); break;
	case 1: accel_dev_close(o->dev); break;
	case 2: accel_lease_release(o->lease); break;
	case 3: accel_queue_free(o->q); break;
	case 4: accel_plan_unref(o->plan); break;
	case 5: accel_buf_free(o->buf); break;
	default: accel_stream_close(o->stream); break;
	}
}

/* 12-05: every order; a sanitizer says whether anything leaks or is used when it is gone. */
static void all_orders(const char *name, unsigned int step)
{
	unsigned int order, n, i, k, t, pick[NOBJECTS];
	struct objects o;

	for (order = 0; order < 5040; order += step) {
		objects_open(&o, name);
		for (i = 0; i < NOBJECTS; i++)
			pick[i] = i;
		for (i = 0, n = order; i < NOBJECTS; i++) {
			k = i + n % (NOBJECTS - i);
			n /= NOBJECTS - i;
			t = pick[k];
			pick[k] = pick[i];
			pick[i] = t;
			objects_free(&o, pick[i]);
		}
	}
}

static void test_free_orders(void **state)
{
	(void)state;
	fill_text(text, sizeof(text));
	all_orders("soft:threads=0", 1);
	all_orders("soft:threads=1", 5);
}

/* 3-16: more than 4 GiB through one device. */
static void test_wide_counters(void **state)
{
	const uint64_t size = 4 << 20, times = 1030;
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct accel_dev_stats before, after;
	struct accel_result r;
	uint64_t i;

	(void)state;
	assert_true(p != MAP_FAILED);
	assert_int_equal(accel_dev_stats(dev, &before), 0);
	for (i = 0; i < times; i++) {
		assert_int_equal(accel_run(dev, plan, p, size, NULL, 0, NULL, 20000, &r), 0);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	}
	assert_int_equal(accel_dev_stats(dev, &after), 0);
	assert_true(size * times > UINT32_MAX);
	assert_int_equal(after.jobs - before.jobs, times);
	assert_int_equal(after.bytes_in - before.bytes_in, size * times);
	munmap(p, size);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static uint64_t op_jobs(const struct accel_dev_stats *s, uint64_t *errors)
{
	uint32_t i;

	*errors = 0;
	for (i = 0; i < s->nop; i++) {
		if (s->op[i].op != ACCEL_OP_COPY)
			continue;
		*errors = s->op[i].errors;
		return s->op[i].jobs;
	}
	return 0;
}

/* 12-06: each result says who did the job, and the device counts what it did and nothing else. */
static void test_who_did_it(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=7,slots=8");
	struct accel_plan *device = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_plan *cpu = copy_plan(ctx, dev, ACCEL_CPU_ONLY);
	struct accel_dev_stats s[3];
	struct accel_result r;
	uint64_t errors[3], jobs[3];
	int i;

	(void)state;
	assert_int_equal(accel_dev_stats(dev, &s[0]), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(accel_run(dev, device, text, 1000, out[0], 1000, NULL, 5000, &r), 0);
		assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(accel_run(dev, device, text, 1000, out[0], 999, NULL, 5000, &r), 0);
		assert_int_equal(r.status, ACCEL_ST_OUTPUT_SHORT);
	}
	assert_int_equal(accel_dev_stats(dev, &s[1]), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(accel_run(dev, cpu, text, 1000, out[0], 1000, NULL, 5000, &r), 0);
		assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	}
	assert_int_equal(accel_dev_stats(dev, &s[2]), 0);
	for (i = 0; i < 3; i++)
		jobs[i] = op_jobs(&s[i], &errors[i]);
	assert_int_equal(jobs[1] - jobs[0], 7);
	assert_int_equal(errors[1] - errors[0], 2);
	assert_int_equal(s[1].bytes_out - s[0].bytes_out, 5000);
	assert_int_equal(s[1].by_code[ACCEL_ST_OUTPUT_SHORT] - s[0].by_code[ACCEL_ST_OUTPUT_SHORT], 2);
	assert_int_equal(jobs[2], jobs[1]);
	assert_int_equal(s[2].jobs, s[1].jobs);
	assert_int_equal(s[2].bytes_in, s[1].bytes_in);
	accel_plan_unref(device);
	accel_plan_unref(cpu);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static volatile sig_atomic_t bus_errors;

/* What an application that maps files does: a page of zeros where the file has none any more. */
static void bus_error(int sig, siginfo_t *si, void *context)
{
	void *page = (void *)((uintptr_t)si->si_addr & ~(uintptr_t)4095);

	(void)context;
	if (si->si_code != BUS_ADRERR ||
	    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page) {
		signal(sig, SIG_DFL);
		return;
	}
	bus_errors++;
}

/* 3-29: the application's handler runs wherever the engine does, and the job goes on. */
static void shrunken_file(const char *name)
{
	struct sigaction sa = { .sa_sigaction = bus_error, .sa_flags = SA_SIGINFO }, old;
	char path[] = "/tmp/accel-test-XXXXXX";
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, name);
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	static uint8_t whole[8192];
	struct accel_result r;
	uint32_t want;
	int fd = mkstemp(path);
	uint8_t *p;

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 16384), 0);
	p = mmap(NULL, 16384, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(pwrite(fd, text, 4096, 0), 4096);
	memcpy(whole, text, 4096);
	assert_int_equal(accel_crc32c(dev, whole, sizeof(whole), &want, 5000), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(sigaction(SIGBUS, &sa, &old), 0);
	bus_errors = 0;
	assert_int_equal(accel_run(dev, plan, p, 8192, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(sigaction(SIGBUS, &old, NULL), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(result_crc(&r), want);
	assert_true(bus_errors >= 1);
	munmap(p, 16384);
	close(fd);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_shrunken_file(void **state)
{
	(void)state;
	fill_text(text, sizeof(text));
	shrunken_file("soft:threads=1");
	shrunken_file("soft:threads=0");
}

/* Blocked signals of other kinds stay with the application's threads: none ends up in a worker. */
static volatile sig_atomic_t taken_elsewhere;
static pthread_t main_thread;

static void count_signal(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), main_thread))
		taken_elsewhere++;
}

static void test_signals_stay(void **state)
{
	struct sigaction sa = { .sa_handler = count_signal }, old;
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=2");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_result r;
	sigset_t set;
	int i, sig;

	(void)state;
	main_thread = pthread_self();
	assert_int_equal(accel_run(dev, plan, text, 4096, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(sigaction(SIGUSR1, &sa, &old), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < 100; i++) {
		kill(getpid(), SIGUSR1);
		assert_int_equal(accel_run(dev, plan, text, 4096, NULL, 0, NULL, 5000, &r), 0);
		assert_int_equal(sigwait(&set, &sig), 0);
		assert_int_equal(sig, SIGUSR1);
	}
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	assert_int_equal(taken_elsewhere, 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_orders),   cmocka_unit_test(test_wide_counters),
		cmocka_unit_test(test_who_did_it),    cmocka_unit_test(test_shrunken_file),
		cmocka_unit_test(test_signals_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
