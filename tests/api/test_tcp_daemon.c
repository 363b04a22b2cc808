// SPDX-License-Identifier: BSD-2-Clause
/*
 * The library against the daemon itself: each namespace, every operation that the self-test knows, and the daemon
 * killed and started again under load. The daemon is the one beside these tests.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "../../lib/base/bits.h"
#include "api_util.h"
#include "port.h"

#define NQN "nqn.2026-11.local.accel:acceld"
#define THREADS 4
#define READY_NS 60000000000u		/* for the daemon to start */
#define STOP_NS 120000000000u		/* and to end: it gives commands 30 s */
#define LOAD_NS 4500000000u
#define BY_CPU_MS 8000			/* of which half is for waiting */

struct daemon {
	pid_t pid;
	unsigned int port;
	char path[600];
	int err;			/* what it says: a file */
};

static void find_binary(struct daemon *d)
{
	char self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int i;

	assert_true(n > 0);
	self[n] = '\0';
	for (i = 0; i < 3; i++)		/* BUILD/tests/api/test_tcp_daemon */
		*strrchr(self, '/') = '\0';
	snprintf(d->path, sizeof(d->path), "%s/acceld", self);
	if (access(d->path, X_OK))
		fail_msg("%s is missing: build it first (make)", d->path);
}

/* What it has said. */
static const char *said(const struct daemon *d)
{
	static char text[256 << 10];
	ssize_t n = pread(d->err, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool complain(const struct daemon *d, const char *what, int status)
{
	print_error("acceld: %s, status %#x; it said:\n%s", what, (unsigned int)status, said(d));
	return false;
}

static bool wait_ready(const struct daemon *d)
{
	uint64_t end = now_ns() + READY_NS;
	int status;

	while (!strstr(said(d), " ready ")) {
		if (waitpid(d->pid, &status, WNOHANG) == d->pid)
			return complain(d, "ended at its start", status);
		if (now_ns() > end)
			return complain(d, "is not ready", 0);
		sleep_ms(5);
	}
	return true;
}

/* No assertion here and in daemon_end(): there are threads at work meanwhile, which would be left behind. */
static bool daemon_begin(struct daemon *d)
{
	char listen[64];

	snprintf(listen, sizeof(listen), "127.0.0.1:%u", d->port);
	d->err = memfd_create("acceld", MFD_CLOEXEC);
	d->pid = d->err < 0 ? -1 : fork();
	if (!d->pid) {
		dup2(d->err, 2);
		execl(d->path, "acceld", "-c", "/dev/null", "-l", listen, (char *)NULL);
		_exit(127);
	}
	return d->pid > 0 && wait_ready(d);
}

static bool daemon_end(struct daemon *d, int sig)
{
	uint64_t until = now_ns() + STOP_NS;
	int status = 0;
	bool ok = true;

	kill(d->pid, sig);
	while (waitpid(d->pid, &status, WNOHANG) != d->pid) {
		if (now_ns() > until) {
			kill(d->pid, SIGKILL);
			ok = complain(d, "does not end", 0);
		}
		sleep_ms(5);
	}
	/* A sanitizer may have had something to say before the end that we have sent. */
	if (ok && ((sig == SIGTERM && status) || strstr(said(d), "Sanitizer")))
		ok = complain(d, "ended", status);
	close(d->err);
	return ok;
}

static void start(struct daemon *d)
{
	d->port = d->port ? d->port : port_pick();
	assert_true(d->port > 0);
	assert_true(daemon_begin(d));
}

static void stop(struct daemon *d, int sig)
{
	assert_true(daemon_end(d, sig));
}

static const char *name_of(const struct daemon *d, unsigned int nsid, char *buf, size_t n, const char *options)
{
	snprintf(buf, n, "tcp://127.0.0.1:%u/" NQN "?nsid=%u%s", d->port, nsid, options);
	return buf;
}

static void test_each(void **state)
{
	static const char *const options[] = { "", "&hdgst=1&ddgst=1", "&poll=0" };
	struct daemon d = { .port = 0 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	char name[300];
	unsigned int nsid;
	size_t i;
	int ret;

	(void)state;
	find_binary(&d);
	start(&d);
	for (nsid = 1; nsid <= 7; nsid++) {
		for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
			struct accel_selftest r = { 0 };

			dev = dev_open(ctx, name_of(&d, nsid, name, sizeof(name), options[i]));
			ret = accel_dev_selftest(dev, 30000, &r);
			if (ret || r.failed)
				print_error("%s: %d, %u failed: %s\n", name, ret, r.failed, r.what);
			assert_int_equal(ret, 0);
			assert_int_equal(r.failed, 0);
			assert_true(r.ran > 0);
			accel_dev_close(dev);
		}
	}
	accel_ctx_unref(ctx);
	stop(&d, SIGTERM);
}

struct load {
	char name[300];
	struct accel_dev *dev;
	uint64_t end;
	unsigned int jobs, kind;
	_Atomic bool begun;
};

/* All is there that the work needs: its time begins, and the daemon may be killed. */
static void load_begins(struct load *l)
{
	l->end = now_ns() + LOAD_NS;
	l->begun = true;
}

static void run_jobs(struct load *l, struct accel_ctx *ctx)
{
	struct accel_plan *plan = copy_plan(ctx, l->dev, ACCEL_DEVICE_ONLY);
	size_t n = 40000;
	uint8_t *in = malloc(n), *out = malloc(n);
	struct accel_result r;
	int ret;

	fill_text(in, n);
	load_begins(l);
	do {
		memset(out, 0, n);
		ret = accel_run(l->dev, plan, in, n, out, n, NULL, 20000, &r);
		if (ret || r.status)
			print_error("%d (%s), %s, os %d\n", ret, accel_strerror(ret), accel_status_str(r.status),
				    r.os_error);
		assert_int_equal(ret, 0);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_memory_equal(in, out, n);
		l->jobs++;
	} while (now_ns() < l->end);
	accel_plan_unref(plan);
	free(in);
	free(out);
}

/* A checksum of more than one job takes, under a lease of the call's own. */
static void run_oneline(struct load *l)
{
	size_t n = 10u << 20;
	uint8_t *in = malloc(n);
	uint32_t crc, want;

	fill_text(in, n);
	want = accel_raw_crc32c(0, in, n);
	load_begins(l);
	do {
		crc = 0;
		assert_int_equal(accel_crc32c(l->dev, in, n, &crc, 20000), 0);
		assert_int_equal(crc, want);
		l->jobs++;
	} while (now_ns() < l->end);
	free(in);
}

static void one_stream(struct accel_dev *dev, const uint8_t *in, size_t n, uint8_t *out, size_t max)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct accel_stream *s;
	size_t at = 0, got = 0, back = max / 2;
	ssize_t k;

	opts.flags = ACCEL_STREAM_DEVICE_ONLY;
	opts.kind = ACCEL_STREAM_COMPRESS;
	opts.alg = ACCEL_GZIP;
	opts.level = 1;
	opts.chunk_nbytes = 65536;
	assert_int_equal(accel_stream_open(dev, &opts, &s), 0);
	while (at < n) {
		k = accel_stream_write(s, in + at, n - at);
		if (k < 0 && k != -EAGAIN)
			fail_msg("stream: %s", accel_strerror((int)k));
		at += k > 0 ? (size_t)k : 0;
		while ((k = accel_stream_read(s, out + got, back - got)) > 0)
			got += (size_t)k;
		assert_true(k == 0);
	}
	assert_int_equal(accel_stream_finish(s), 0);
	while ((k = accel_stream_read(s, out + got, back - got)) > 0)
		got += (size_t)k;
	if (k < 0)
		fail_msg("stream: %s", accel_strerror((int)k));
	accel_stream_close(s);
	k = (ssize_t)n;
	assert_int_equal(accel_decompress(dev, ACCEL_GZIP, out, got, out + back, (size_t *)&k, 20000), 0);
	assert_int_equal(k, n);
	assert_memory_equal(out + back, in, n);
}

static void run_streams(struct load *l)
{
	size_t n = 2u << 20;
	uint8_t *in = malloc(n), *out = malloc(3 * n);

	fill_text(in, n);
	load_begins(l);
	do {
		one_stream(l->dev, in, n, out, 3 * n);
		l->jobs++;
	} while (now_ns() < l->end);
	free(in);
	free(out);
}

static void *load_main(void *arg)
{
	struct load *l = arg;
	struct accel_ctx *ctx = ctx_new();

	l->dev = dev_open(ctx, l->name);
	if (l->kind == 0)
		run_oneline(l);
	else if (l->kind == 1)
		run_streams(l);
	else
		run_jobs(l, ctx);
	accel_dev_close(l->dev);
	accel_ctx_unref(ctx);
	return NULL;
}

/* Killed and ended by turns, and away for a while. */
static bool torment(struct daemon *d)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		sleep_ms(500);
		if (!daemon_end(d, i % 2 ? SIGTERM : SIGKILL))
			return false;
		sleep_ms(100 + 200 * i);
		if (!daemon_begin(d))
			return false;
	}
	return true;
}

/* The daemon has to be there until they have opened their devices. */
static bool all_begun(struct load *load)
{
	uint64_t until = now_ns() + READY_NS;
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		while (!load[i].begun && now_ns() < until)
			sleep_ms(5);
		if (!load[i].begun) {
			print_error("thread %u does not begin\n", i);
			return false;
		}
	}
	return true;
}

/* Whoever owns a lease of its own gets another one; every piece of work comes to its end, and is right. */
static void test_killed(void **state)
{
	struct daemon d = { .port = 0 };
	pthread_t thread[THREADS];
	static struct load load[THREADS];
	unsigned int i;
	bool ok;

	(void)state;
	find_binary(&d);
	start(&d);
	for (i = 0; i < THREADS; i++) {
		name_of(&d, 7, load[i].name, sizeof(load[i].name), "");
		load[i].kind = i;
		assert_int_equal(pthread_create(&thread[i], NULL, load_main, &load[i]), 0);
	}
	ok = all_begun(load) && torment(&d);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_true(ok);
	for (i = 0; i < THREADS; i++) {
		if (!load[i].jobs)
			print_error("thread %u did nothing\n", i);
		assert_true(load[i].jobs > 0);
	}
	stop(&d, SIGTERM);
}

/* No renewal comes through any more: the lease has ended when its duration is over, not before and not never. */
static void test_lease_cut_off(void **state)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct daemon d = { .port = 0 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_lease *lease;
	struct accel_dev *dev;
	char name[300];
	uint64_t begin;
	int ret = 0;

	(void)state;
	find_binary(&d);
	start(&d);
	dev = dev_open(ctx, name_of(&d, 2, name, sizeof(name), ""));
	opts.flags = ACCEL_LEASE_EXCLUSIVE;
	opts.duration_ms = 3000;
	assert_int_equal(accel_lease_acquire(dev, &opts, 5000, &lease), 0);
	begin = now_ns();
	assert_int_equal(accel_lease_renew(lease), 0);
	stop(&d, SIGKILL);
	while (ret != -ESTALE && now_ns() - begin < 20000000000u) {
		sleep_ms(100);
		ret = accel_lease_renew(lease);
		assert_int_not_equal(ret, 0);
		if (ret == -ESTALE)
			assert_true(now_ns() - begin >= 3000000000u);
	}
	assert_int_equal(ret, -ESTALE);
	assert_int_equal(accel_lease_renew(lease), -ESTALE);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void one_by_cpu(struct accel_dev *dev, const uint8_t *in, size_t n, uint8_t *out, size_t max, uint64_t most_ms)
{
	uint64_t start = now_ns();
	uint32_t crc = 0;
	size_t len = max;

	assert_int_equal(accel_compress(dev, ACCEL_GZIP, 1, in, n, out, &len, BY_CPU_MS), 0);
	assert_true(len > 0 && len < n);
	assert_true(now_ns() - start < most_ms * 1000000);
	start = now_ns();
	assert_int_equal(accel_crc32c(dev, in, n, &crc, BY_CPU_MS), 0);
	assert_int_equal(crc, accel_raw_crc32c(0, in, n));
	assert_true(now_ns() - start < most_ms * 1000000);
}

/* Whether all of it is the device's. */
static bool by_device(struct accel_stream *stream, const uint8_t *in, size_t n)
{
	struct accel_stream_info info;
	uint8_t *drop = malloc(n);
	size_t at = 0;
	ssize_t k;

	assert_non_null(drop);
	while (at < n) {
		k = accel_stream_write(stream, in + at, n - at);
		if (k == -EAGAIN)
			k = 0;
		assert_true(k >= 0);
		at += (size_t)k;
		assert_true(accel_stream_read(stream, drop, n) >= 0);
	}
	assert_int_equal(accel_stream_finish(stream), 0);
	while ((k = accel_stream_read(stream, drop, n)) > 0)
		;
	assert_int_equal(k, 0);
	assert_int_equal(accel_stream_info(stream, &info), 0);
	free(drop);
	return info.jobs > 0 && !info.cpu_jobs;
}

/* The target is gone for good: the CPU does it within the caller's time, and later calls do not wait for it again. */
static void test_by_cpu(void **state)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct daemon d = { .port = 0 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_stream *stream;
	struct accel_dev *dev;
	size_t n = 5u << 20, max = 6u << 20;
	uint8_t *in = malloc(n), *out = malloc(max);
	char name[300];
	uint64_t begin;
	bool again = false;
	int i;

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	fill_text(in, n);
	find_binary(&d);
	start(&d);
	dev = dev_open(ctx, name_of(&d, 7, name, sizeof(name), ""));
	one_by_cpu(dev, in, 4096, out, max, 20000);
	stop(&d, SIGKILL);
	one_by_cpu(dev, in, 4096, out, max, BY_CPU_MS);
	one_by_cpu(dev, in, 4096, out, max, BY_CPU_MS / 2 - 500);
	one_by_cpu(dev, in, n, out, max, BY_CPU_MS);
	/* Who insists on the device is told, and does not wait again either. */
	opts.kind = ACCEL_STREAM_COMPRESS;
	opts.alg = ACCEL_GZIP;
	opts.flags = ACCEL_STREAM_DEVICE_ONLY;
	begin = now_ns();
	assert_int_equal(accel_stream_open(dev, &opts, &stream), -ENODEV);
	assert_true(now_ns() - begin < 4500000000u);
	/* It is there again: so is its work. */
	start(&d);
	opts.flags = 0;
	for (i = 0; i < 10 && !again; i++) {
		sleep_ms(1500);
		assert_int_equal(accel_stream_open(dev, &opts, &stream), 0);
		again = by_device(stream, in, n);
		accel_stream_close(stream);
	}
	assert_true(again);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	stop(&d, SIGTERM);
	free(in);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_lease_cut_off),
		cmocka_unit_test(test_by_cpu),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
