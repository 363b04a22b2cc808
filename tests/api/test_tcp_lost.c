// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections that are lost and found: in the middle of jobs, between them, for a moment and for longer; with leases
 * that live on and with leases that are gone. Every job that was accepted has one result, and it is right.
 */
#include "tcp_target.h"
#include "threads.h"

struct handle {
	struct target *t;
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_plan *plan, *crc;
};

static void log_line(void *arg, enum accel_log_level level, const char *message)
{
	(void)arg;
	print_message("# %d %s\n", level, message);
}

static struct handle handle_new(const char *options)
{
	struct handle h = { .t = target_new(), .ctx = ctx_new() };
	char name[300];

	if (getenv("TCP_LOG"))
		accel_ctx_set_log(h.ctx, log_line, NULL, ACCEL_LOG_DEBUG);
	h.dev = dev_open(h.ctx, target_name(h.t, name, sizeof(name), options));
	h.plan = copy_plan(h.ctx, h.dev, ACCEL_DEVICE_ONLY);
	h.crc = crc_plan(h.ctx, h.dev, ACCEL_DEVICE_ONLY);
	return h;
}

static void handle_free(struct handle *h)
{
	accel_plan_unref(h->plan);
	accel_plan_unref(h->crc);
	accel_dev_close(h->dev);
	accel_ctx_unref(h->ctx);
	target_free(h->t);
}

static uint32_t run(struct handle *h, size_t n, int timeout_ms, struct accel_result *r)
{
	uint8_t *in = malloc(n), *out = calloc(1, n);
	int ret;

	fill_text(in, n);
	ret = accel_run(h->dev, h->plan, in, n, out, n, NULL, timeout_ms, r);
	if (ret)
		print_error("accel_run: %s\n", accel_strerror(ret));
	assert_int_equal(ret, 0);
	if (!r->status)
		assert_memory_equal(in, out, n);
	free(in);
	free(out);
	return r->status;
}

/* Between jobs nobody notices. */
static void test_idle(void **state)
{
	struct handle h = handle_new("");
	struct accel_result r;
	int i;

	(void)state;
	assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
	for (i = 0; i < 6; i++) {
		target_cut(h.t, i & 1);
		sleep_ms(60);
		assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
		assert_int_equal(r.retries, 0);
	}
	/* Nor do calls of the admin queue. */
	target_cut(h.t, false);
	sleep_ms(60);
	assert_int_equal(accel_dev_state(h.dev, &(struct accel_dev_info){ .type = 0 }), 0);
	handle_free(&h);
}

struct cuts {
	struct target *t;
	atomic_bool begun, done;	/* jobs are at work; no more cuts come */
};

static void *cutter(void *arg)
{
	struct cuts *c = arg;
	unsigned int i;

	while (!c->begun)
		sleep_ms(1);
	for (i = 0; i < 12; i++) {
		sleep_ms(25 + i * 7 % 30);
		target_cut(c->t, i % 3 != 0);
	}
	c->done = true;
	return NULL;
}

/* In the middle of them: the lease lives, jobs go on where they were or are done again. */
static void jobs_with_cuts(const char *options, size_t len, uint32_t depth, bool use_fd)
{
	struct handle h = handle_new(options);
	struct accel_lease *lease = lease_new(h.dev, depth, 0, 0);
	struct accel_queue_opts opts = ACCEL_INIT(struct accel_queue_opts);
	struct accel_queue *q;
	uint8_t *in = malloc(len * depth), *out = malloc(len * depth);
	struct iovec *vin = calloc(depth, sizeof(*vin)), *vout = calloc(depth, sizeof(*vout));
	bool *busy = calloc(depth, sizeof(*busy));
	unsigned int sent = 0, got = 0, retried = 0, i;
	struct cuts cuts = { .t = h.t };
	struct accel_result r;
	pthread_t thread;
	struct pollfd p;
	int n;

	opts.depth = depth;
	opts.max_retries = 20;
	assert_int_equal(accel_queue_new(lease, &opts, &q), 0);
	p = (struct pollfd){ use_fd ? accel_queue_fd(q) : -1, POLLIN, 0 };
	fill_text(in, len * depth);
	assert_int_equal(pthread_create(&thread, NULL, cutter, &cuts), 0);
	while (got < sent || !cuts.done) {
		for (i = 0; i < depth && !cuts.done; i++) {
			struct accel_job job = ACCEL_INIT(struct accel_job);

			if (busy[i])
				continue;
			memset(out + i * len, 0, len);
			vin[i] = (struct iovec){ in + i * len, len };
			vout[i] = (struct iovec){ out + i * len, len };
			job.plan = h.plan;
			job.in = &vin[i];
			job.out = &vout[i];
			job.nin = job.nout = 1;
			job.user_data = (void *)(uintptr_t)i;
			assert_int_equal(accel_queue_submit(q, &job, 1), 1);
			busy[i] = true;
			sent++;
		}
		cuts.begun = true;
		if (got == sent)
			break;
		if (use_fd) {
			if (poll(&p, 1, 20000) <= 0)
				fail_msg("nothing came for twenty seconds");
			n = accel_queue_reap(q, &r, 1, 0, 0);
		} else {
			n = accel_queue_reap(q, &r, 1, 1, 20000);
			assert_int_equal(n, 1);
		}
		if (n != 1)
			continue;
		i = (unsigned int)(uintptr_t)r.user_data;
		if (r.status)
			print_error("job %u: %s, os %d nvme %x retries %u\n", i, accel_status_str(r.status), r.os_error,
				    r.nvme_status, r.retries);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_true(busy[i]);
		assert_memory_equal(in + i * len, out + i * len, len);
		busy[i] = false;
		retried += r.retries > 0;
		got++;
	}
	pthread_join(thread, NULL);
	assert_int_equal(got, sent);
	if (!retried)
		print_error("%u jobs, none retried: the cuts came between them\n", got);
	assert_true(retried > 0);
	accel_queue_free(q);
	accel_lease_release(lease);
	handle_free(&h);
	free(in);
	free(out);
	free(vin);
	free(vout);
	free(busy);
}

static void test_cuts(void **state)
{
	(void)state;
	jobs_with_cuts("", 6000, 8, false);
	jobs_with_cuts("", 300000, 4, true);
	jobs_with_cuts("&hdgst=1&ddgst=1&poll=0", 2000000, 3, false);
}

struct away {
	struct handle *h;
	unsigned int ms;
	bool reset;
};

static void *go_away(void *arg)
{
	struct away *a = arg;

	sleep_ms(30);
	target_stop(a->h->t);
	if (a->reset)
		device_reset(a->h->t->dev[1]);
	sleep_ms(a->ms);
	target_start(a->h->t);
	return NULL;
}

/* The target is away for a while: jobs wait, as long as they may. */
static void test_away(void **state)
{
	struct handle h = handle_new("");
	struct away a = { &h, 1500, false };
	struct accel_result r;
	pthread_t thread;
	uint64_t end;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, go_away, &a), 0);
	end = now_ns() + 2500000000u;
	while (now_ns() < end)
		assert_int_equal(run(&h, 9000, 10000, &r), ACCEL_ST_OK);
	pthread_join(thread, NULL);
	handle_free(&h);
}

/* It comes back without its leases: whoever owns one takes a new one, and the job is run there. */
static void test_restart(void **state)
{
	struct handle h = handle_new("");
	struct away a = { &h, 300, true };
	struct accel_result r;
	pthread_t thread;
	uint64_t end;
	int round;

	(void)state;
	for (round = 0; round < 3; round++) {
		assert_int_equal(pthread_create(&thread, NULL, go_away, &a), 0);
		end = now_ns() + 700000000u;
		while (now_ns() < end)
			assert_int_equal(run(&h, 9000, 10000, &r), ACCEL_ST_OK);
		pthread_join(thread, NULL);
	}
	handle_free(&h);
}

/* A lease of the caller's is gone, and that is what its jobs say. */
static void test_lease_gone(void **state)
{
	struct handle h = handle_new("");
	struct accel_lease *lease = lease_new(h.dev, 2, 0, 0);
	struct accel_queue *q = queue_of(lease, 2);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct accel_result r;

	(void)state;
	job.plan = h.crc;
	job.in = &v;
	job.nin = 1;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	target_stop(h.t);
	device_reset(h.t->dev[1]);
	target_start(h.t);
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_true(r.status == ACCEL_ST_RESET || r.status == ACCEL_ST_LEASE_LOST);
	assert_int_equal(accel_queue_submit(q, &job, 1), -ESTALE);
	accel_queue_free(q);
	accel_lease_release(lease);
	handle_free(&h);
}

/* Nobody comes back: the caller's time limit holds. */
static void test_gone(void **state)
{
	struct handle h = handle_new("");
	struct accel_lease *lease = lease_new(h.dev, 2, 60000, 0);
	struct accel_queue *q = queue_of(lease, 2);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct accel_result r;
	uint64_t start;
	int i;

	(void)state;
	target_stop(h.t);
	job.plan = h.crc;
	job.in = &v;
	job.nin = 1;
	job.timeout_ms = 2000;
	for (i = 0; i < 2; i++) {
		start = now_ns();
		assert_int_equal(accel_queue_submit(q, &job, 1), 1);
		/* A call that does not wait does not wait. */
		assert_int_equal(accel_queue_reap(q, &r, 1, 0, 0), 0);
		assert_true(now_ns() - start < 1500000000u);
		assert_int_equal(accel_queue_reap(q, &r, 1, 1, 20), 0);
		assert_true(now_ns() - start < 1900000000u);
		assert_int_equal(accel_queue_reap(q, &r, 1, 1, 10000), 1);
		assert_int_equal(r.status, ACCEL_ST_TIMEOUT);
		assert_true(now_ns() - start >= 2000000000u);
		assert_true(now_ns() - start < 7000000000u);
	}
	/* And when it is there again the slots are good for use: none was lost by that. */
	job.timeout_ms = 8000;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 1500), 0);
	target_start(h.t);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 10000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.retries, 0);
	for (i = 0; i < 6; i++) {
		job.timeout_ms = 5000;
		assert_int_equal(accel_queue_submit(q, &job, 1), 1);
		assert_int_equal(accel_queue_reap(q, &r, 1, 1, 10000), 1);
		if (r.status)
			print_error("%s os %d nvme %x\n", accel_status_str(r.status), r.os_error, r.nvme_status);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(result_crc(&r), CRC_DIGITS);
	}
	accel_queue_free(q);
	accel_lease_release(lease);
	handle_free(&h);
}

/* What the CPU can do as well it does, within the time of the job; those that come later do not wait once more. */
static void test_prefer(void **state)
{
	struct handle h = handle_new("");
	struct accel_plan *plan = copy_plan(h.ctx, h.dev, ACCEL_PREFER_DEVICE);
	uint8_t in[4096], out[4096];
	struct accel_result r;
	uint64_t start;
	int i;

	(void)state;
	fill_text(in, sizeof(in));
	assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
	target_stop(h.t);
	for (i = 0; i < 3; i++) {
		memset(out, 0, sizeof(out));
		start = now_ns();
		assert_int_equal(accel_run(h.dev, plan, in, sizeof(in), out, sizeof(out), NULL, 8000, &r), 0);
		assert_int_equal(r.status, ACCEL_ST_OK);
		assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
		assert_memory_equal(in, out, sizeof(in));
		assert_true(now_ns() - start < (i ? 3500000000u : 7500000000u));
	}
	target_start(h.t);
	assert_int_equal(run(&h, 5000, 10000, &r), ACCEL_ST_OK);
	assert_int_equal(r.executor == ACCEL_EXEC_FALLBACK, 0);
	accel_plan_unref(plan);
	handle_free(&h);
}

/* A job that comes while nobody is there has not been tried: it is sent when it can be, and that is no retry. */
static void test_late(void **state)
{
	struct handle h = handle_new("");
	struct accel_lease *lease = lease_new(h.dev, 2, 60000, 0);
	struct accel_queue *q = queue_of(lease, 2);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct accel_result r;

	(void)state;
	target_stop(h.t);
	job.plan = h.crc;
	job.in = &v;
	job.nin = 1;
	/* One whose end says that the loss is known: before that a job may have been sent, into what was ending. */
	job.timeout_ms = 500;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 20000), 1);
	assert_int_equal(r.status, ACCEL_ST_TIMEOUT);
	job.timeout_ms = 0;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 1500), 0);
	target_start(h.t);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 10000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.retries, 0);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	accel_queue_free(q);
	accel_lease_release(lease);
	handle_free(&h);
}

/* Another namespace answers by the same name: nothing is sent to it. */
static void test_other(void **state)
{
	struct handle h = handle_new("");
	struct accel_result r;
	uint8_t in[512] = { 1 }, out[512];
	unsigned int nio;
	int ret;

	(void)state;
	assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
	target_stop(h.t);
	h.t->ns = (struct tgt_patch){ 104, 8, 0x1122334455667788 };
	target_start(h.t);
	nio = h.t->nio;
	ret = accel_run(h.dev, h.plan, in, 512, out, 512, NULL, 1000, &r);
	assert_true(ret || r.status);
	assert_int_equal(h.t->nio, nio);
	target_stop(h.t);
	h.t->ns = (struct tgt_patch){ 0, 0, 0 };
	target_start(h.t);
	assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
	handle_free(&h);
}

/* Half of the keep-alive time is over: a call says so to the target; KATO 0 says that none is wanted. */
static void test_keep_alive(void **state)
{
	struct handle h = handle_new("&kato=400");
	uint64_t start = now_ns();
	struct accel_result r;
	unsigned int i;

	(void)state;
	assert_int_equal(h.t->conn[0]->kato, 400);
	/* Every 200 ms, as far as there are calls. */
	for (i = 0; i < 400 && h.t->nkeep < 3; i++) {
		assert_int_equal(run(&h, 600, 5000, &r), ACCEL_ST_OK);
		sleep_ms(80);
	}
	assert_true(h.t->nkeep >= 3);
	assert_true(h.t->nkeep <= (now_ns() - start) / 200000000u + 1);
	handle_free(&h);
	h = handle_new("&kato=0");
	assert_int_equal(h.t->conn[0]->kato, 0);
	handle_free(&h);
}

/* The controller takes few queues: threads that need one wait for each other or are told. */
static void *one_run(void *arg)
{
	struct handle *h = arg;
	struct accel_result r;
	int i;

	for (i = 0; i < 30; i++)
		assert_int_equal(run(h, 3000, 10000, &r), ACCEL_ST_OK);
	return NULL;
}

static void test_few_queues(void **state)
{
	struct handle h;
	struct accel_ctx *ctx = ctx_new();
	pthread_t thread[6];
	char name[300];
	int i;

	(void)state;
	h.t = target_new();
	h.t->nqueue = 3;
	h.ctx = ctx;
	h.dev = dev_open(ctx, target_name(h.t, name, sizeof(name), ""));
	h.plan = copy_plan(ctx, h.dev, ACCEL_DEVICE_ONLY);
	h.crc = crc_plan(ctx, h.dev, ACCEL_DEVICE_ONLY);
	for (i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, one_run, &h), 0);
	for (i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	handle_free(&h);
}

/* A child has the handle, and the parent's stream is not disturbed by its end. */
static void test_fork(void **state)
{
	struct handle h = handle_new("");
	struct accel_lease *lease = lease_new(h.dev, 2, 0, 0);
	struct accel_queue *q = queue_of(lease, 2);
	struct accel_result r;
	pid_t pid;
	int i;

	(void)state;
	assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
	for (i = 0; i < 3; i++) {
		threads_rest();
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			uint8_t b[512] = { 0 };

			if (accel_run(h.dev, h.plan, b, 512, b, 512, NULL, 1000, &r) != -ESTALE)
				_exit(1);
			accel_queue_free(q);
			accel_lease_release(lease);
			accel_plan_unref(h.plan);
			accel_plan_unref(h.crc);
			accel_dev_close(h.dev);
			accel_ctx_unref(h.ctx);
			_exit(0);
		}
		assert_int_equal(child_status(pid, 60), 0);
		assert_int_equal(run(&h, 5000, 5000, &r), ACCEL_ST_OK);
		assert_int_equal(r.retries, 0);
	}
	accel_queue_free(q);
	accel_lease_release(lease);
	assert_int_equal(h.t->nterm, 0);
	handle_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),	  cmocka_unit_test(test_cuts),	     cmocka_unit_test(test_away),
		cmocka_unit_test(test_restart),	  cmocka_unit_test(test_lease_gone), cmocka_unit_test(test_gone),
		cmocka_unit_test(test_late),	  cmocka_unit_test(test_other),	     cmocka_unit_test(test_prefer),
		cmocka_unit_test(test_keep_alive), cmocka_unit_test(test_few_queues),
		cmocka_unit_test(test_fork),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
