// SPDX-License-Identifier: BSD-2-Clause
/* The contract of queues: acceptance, results, back-pressure, errors, cancelling, draining, polling. */
#include <poll.h>
#include <sys/mman.h>
#include "api_util.h"

struct fixture {
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_lease *lease;
	struct accel_plan *crc, *copy, *slow;
};

static struct fixture setup(const char *name, uint32_t slots)
{
	struct fixture f;

	f.ctx = ctx_new();
	f.dev = dev_open(f.ctx, name);
	f.lease = lease_new(f.dev, slots, 0, 0);
	f.crc = crc_plan(f.ctx, f.dev, ACCEL_DEVICE_ONLY);
	f.copy = copy_plan(f.ctx, f.dev, ACCEL_DEVICE_ONLY);
	f.slow = slow_plan(f.ctx, f.dev, ACCEL_DEVICE_ONLY);
	return f;
}

static void teardown(struct fixture *f)
{
	accel_plan_unref(f->crc);
	accel_plan_unref(f->copy);
	accel_plan_unref(f->slow);
	accel_lease_release(f->lease);
	accel_dev_close(f->dev);
	accel_ctx_unref(f->ctx);
}

static struct accel_job job_of(const struct accel_plan *plan, const struct iovec *in, const struct iovec *out)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);

	job.plan = plan;
	job.in = in;
	job.nin = in ? 1 : 0;
	job.out = out;
	job.nout = out ? 1 : 0;
	return job;
}

static void test_options(void **state)
{
	struct fixture f = setup("soft:", 8);
	struct accel_queue_opts opts = ACCEL_INIT(struct accel_queue_opts);
	struct accel_queue_info info;
	struct accel_queue *q, *q2;

	(void)state;
	assert_int_equal(accel_queue_new(f.lease, NULL, &q), 0);
	assert_int_equal(accel_queue_info(q, &info), 0);
	assert_int_equal(info.depth, 8);
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -ENOSPC);
	accel_queue_free(q);
	opts.depth = 3;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q), 0);
	opts.depth = 6;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -ENOSPC);
	opts.depth = 5;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), 0);
	accel_queue_free(q2);
	opts.depth = 9;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -ENOSPC);
	opts.depth = 1;
	opts.flags = 1;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -EINVAL);
	opts.flags = 0;
	opts.timeout_ms = -2;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -EINVAL);
	opts.timeout_ms = 0;
	opts.reserved[1] = 1;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -EINVAL);
	opts.reserved[1] = 0;
	opts.size = 0;
	assert_int_equal(accel_queue_new(f.lease, &opts, &q2), -EINVAL);
	assert_int_equal(accel_queue_new(NULL, NULL, &q2), -EINVAL);
	assert_int_equal(accel_queue_info(NULL, &info), -EINVAL);
	assert_int_equal(accel_queue_fd(NULL), -EINVAL);
	assert_int_equal(accel_queue_cancel(NULL, 1), -EINVAL);
	assert_int_equal(accel_queue_drain(NULL, 0), -EINVAL);
	accel_queue_free(NULL);
	accel_queue_free(q);
	teardown(&f);
}

static void test_malformed(void **state)
{
	struct fixture f = setup("soft:", 4);
	struct accel_queue *q = queue_of(f.lease, 4);
	struct accel_plan *unsealed = plan_of(f.ctx), *gcm = plan_of(f.ctx);
	struct accel_params params = ACCEL_INIT(struct accel_params);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = job_of(f.crc, &v, NULL), bad, jobs[3];
	struct accel_result r[4];
	static struct iovec many[1025];

	(void)state;
	assert_int_equal(accel_plan_encrypt(gcm, ACCEL_AES_GCM, "0123456789abcdef", 16, 16, 0), 0);
	assert_int_equal(accel_plan_seal(gcm, f.dev), 0);
	assert_int_equal(accel_queue_submit(q, NULL, 1), -EINVAL);
	assert_int_equal(accel_queue_submit(q, &job, 0), -EINVAL);
	assert_int_equal(accel_queue_submit(NULL, &job, 1), -EINVAL);
#define BAD(change) do { bad = job; change; assert_int_equal(accel_queue_submit(q, &bad, 1), -EINVAL); } while (0)
	BAD(bad.size = 8);
	BAD(bad.flags = 1);
	BAD(bad.reserved = 1);
	BAD(bad.plan = NULL);
	BAD(bad.plan = unsealed);
	BAD(bad.in = NULL);
	BAD(bad.in = many; bad.nin = 1025);
	BAD(bad.timeout_ms = -2);
	BAD(bad.plan = gcm);			/* without an IV */
	BAD(bad.plan = gcm; bad.params = &params);
	BAD(params.size = 1; bad.plan = gcm; bad.params = &params);
	BAD(v.iov_base = NULL);
	v.iov_base = (void *)"123456789";
	/* Those before the malformed one are accepted. */
	jobs[0] = jobs[1] = jobs[2] = job;
	jobs[1].flags = 7;
	assert_int_equal(accel_queue_submit(q, jobs, 3), 1);
	assert_int_equal(accel_queue_reap(q, r, 4, 4, 2000), 1);
	assert_int_equal(result_crc(&r[0]), CRC_DIGITS);
	assert_int_equal(accel_queue_reap(q, r, 1, 2, 0), -EINVAL);
	assert_int_equal(accel_queue_reap(q, NULL, 1, 0, 0), -EINVAL);
	assert_int_equal(accel_queue_reap(q, r, 1, 0, -2), -EINVAL);
	assert_int_equal(accel_queue_reap(q, NULL, 0, 0, 0), 0);
	assert_int_equal(accel_queue_reap(q, r, 4, 4, -1), 0);		/* nothing in flight: no wait */
	accel_plan_unref(unsealed);
	accel_plan_unref(gcm);
	accel_queue_free(q);
	teardown(&f);
}

static void test_depth(void **state)
{
	struct fixture f = setup("soft:threads=1", 8);
	struct accel_queue *q = queue_of(f.lease, 8);
	struct accel_job jobs[12];
	struct accel_result r[12];
	struct accel_queue_info info;
	struct iovec v = { (void *)"123456789", 9 };
	uint64_t seen = 0;
	int i, round;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 12; i++) {
			jobs[i] = job_of(f.crc, &v, NULL);
			jobs[i].user_data = (void *)(uintptr_t)(i + 100);
		}
		assert_int_equal(accel_queue_submit(q, jobs, 12), 8);
		assert_int_equal(accel_queue_submit(q, jobs + 8, 4), -EAGAIN);
		assert_int_equal(accel_queue_info(q, &info), 0);
		assert_int_equal(info.in_flight, 8);
		assert_int_equal(accel_queue_reap(q, r, 12, 8, 5000), 8);
		for (i = 0, seen = 0; i < 8; i++) {
			uintptr_t k = (uintptr_t)r[i].user_data - 100;

			assert_int_equal(r[i].status, ACCEL_ST_OK);
			assert_int_equal(result_crc(&r[i]), CRC_DIGITS);
			assert_int_equal(r[i].job_id, jobs[k].job_id);
			assert_int_equal(r[i].executor, ACCEL_EXEC_SOFTWARE);
			assert_int_equal(r[i].in_used, 9);
			assert_true(r[i].total_ns >= r[i].exec_ns);
			seen |= 1u << k;
		}
		assert_int_equal(seen, 0xff);
	}
	assert_int_equal(accel_queue_info(q, &info), 0);
	assert_int_equal(info.submitted, 24);
	assert_int_equal(info.completed, 24);
	assert_int_equal(info.in_flight, 0);
	accel_queue_free(q);
	teardown(&f);
}

/* 3-08: any length, any place, in any pieces; nothing written behind the output. */
static void test_shapes(void **state)
{
	static const size_t lens[] = { 0, 1, 511, 512, 513, 4095, 4096, 4097, 65536, 100001 };
	static const size_t offs[] = { 0, 1, 7, 511, 4095 };
	struct fixture f = setup("soft:threads=0", 4);
	struct accel_queue *q = queue_of(f.lease, 1);
	uint8_t *in = malloc(110000), *out = malloc(110000);
	struct accel_result r;
	size_t i, k;

	(void)state;
	fill_text(in, 110000);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (k = 0; k < 5; k++) {
			size_t n = lens[i], a = n / 3;
			struct iovec vin[3] = { { in + offs[k], a }, { NULL, 0 }, { in + offs[k] + a, n - a } };
			struct iovec vout[2] = { { out + offs[k], n - a }, { out + offs[k] + n - a, a } };
			struct accel_job job = job_of(f.copy, vin, vout);

			job.nin = 3;
			job.nout = 2;
			memset(out, 0xa5, 110000);
			assert_int_equal(accel_queue_submit(q, &job, 1), 1);
			assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
			assert_int_equal(r.status, ACCEL_ST_OK);
			assert_int_equal(r.out_len, n);
			assert_memory_equal(out + offs[k], in + offs[k], n);
			assert_int_equal(out[offs[k] + n], 0xa5);
			assert_true(offs[k] == 0 || out[offs[k] - 1] == 0xa5);
		}
	}
	free(in);
	free(out);
	accel_queue_free(q);
	teardown(&f);
}

static void test_thousand_pieces(void **state)
{
	struct fixture f = setup("soft:threads=1", 2);
	struct accel_queue *q = queue_of(f.lease, 1);
	static struct iovec vin[1024], vout[1024];
	static uint8_t in[20 * 1024], out[20 * 1024];
	struct accel_job job = job_of(f.copy, vin, vout);
	struct accel_result r;
	int i;

	(void)state;
	fill_text(in, sizeof(in));
	for (i = 0; i < 1024; i++) {
		vin[i] = (struct iovec){ in + 20 * i, 20 };
		vout[i] = (struct iovec){ out + 20 * i, 20 };
	}
	job.nin = job.nout = 1024;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_memory_equal(in, out, sizeof(in));
	accel_queue_free(q);
	teardown(&f);
}

/* 3-29: memory that was never touched is memory all the same. */
static void test_untouched(void **state)
{
	struct fixture f = setup("soft:threads=1", 2);
	struct accel_queue *q = queue_of(f.lease, 1);
	uint8_t *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec vin = { p, 1 << 20 }, vout = { p + (1 << 20), 1 << 20 };
	struct accel_job job = job_of(f.copy, &vin, &vout);
	struct accel_result r;

	(void)state;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.out_len, 1 << 20);
	assert_int_equal(p[(2 << 20) - 1], 0);
	munmap(p, 2 << 20);
	accel_queue_free(q);
	teardown(&f);
}

/* 3-01, 3-28: too little room is said, with what would do, and nothing lies behind it. */
static void test_output_short(void **state)
{
	struct fixture f = setup("soft:threads=0", 2);
	struct accel_queue *q = queue_of(f.lease, 1);
	uint8_t in[4096], out[4096];
	struct iovec vin = { in, sizeof(in) }, vout = { out, 100 };
	struct accel_job job = job_of(f.copy, &vin, &vout);
	struct accel_result r;
	int i;

	(void)state;
	fill_text(in, sizeof(in));
	memset(out, 0xa5, sizeof(out));
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OUTPUT_SHORT);
	assert_int_equal(r.out_len, 0);
	assert_int_equal(r.out_needed, 4096);
	for (i = 100; i < 4096; i++)
		assert_int_equal(out[i], 0xa5);
	/* And the next job is right. */
	vout.iov_len = 4096;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_memory_equal(in, out, 4096);
	accel_queue_free(q);
	teardown(&f);
}

/* Beyond the device's limits: by the plan's policy the CPU, or a status. 3-19: never the CPU if it may not. */
static void test_policy(void **state)
{
	struct fixture f = setup("soft:threads=0,nsid=7", 2);
	struct accel_queue *q = queue_of(f.lease, 1);
	struct accel_plan *prefer = copy_plan(f.ctx, f.dev, ACCEL_PREFER_DEVICE);
	struct accel_plan *cpu = copy_plan(f.ctx, f.dev, ACCEL_CPU_ONLY), *below = plan_of(f.ctx);
	size_t n = 9 << 20;
	uint8_t *in = calloc(1, n), *out = calloc(1, n);
	struct iovec vin = { in, n }, vout = { out, n };
	struct accel_job job = job_of(f.copy, &vin, &vout);
	struct accel_queue_info info;
	struct accel_dev_stats st;
	struct accel_result r;

	(void)state;
	in[n - 1] = 77;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_BAD_PARAM);
	assert_int_equal(r.executor, ACCEL_EXEC_NONE);
	assert_int_equal(out[n - 1], 0);
	job.plan = prefer;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 0, 0), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_int_equal(out[n - 1], 77);
	job.plan = cpu;
	vin.iov_len = vout.iov_len = 10;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_drain(q, 5000), 0);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 0), 1);
	assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	assert_int_equal(accel_dev_stats(f.dev, &st), 0);
	assert_int_equal(st.jobs, 0);
	assert_int_equal(accel_plan_copy(below), 0);
	assert_int_equal(accel_plan_policy(below, ACCEL_PREFER_DEVICE, 0, 100), 0);
	assert_int_equal(accel_plan_seal(below, f.dev), 0);
	job.plan = below;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(accel_dev_stats(f.dev, &st), 0);
	assert_int_equal(st.jobs, 0);
	vin.iov_len = vout.iov_len = 100;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(accel_dev_stats(f.dev, &st), 0);
	assert_int_equal(st.jobs, 1);
	assert_int_equal(accel_queue_info(q, &info), 0);
	assert_int_equal(info.fallbacks, 1);
	free(in);
	free(out);
	accel_plan_unref(prefer);
	accel_plan_unref(cpu);
	accel_plan_unref(below);
	accel_queue_free(q);
	teardown(&f);
}

#define SLOW_N (4u << 20)

static void test_cancel(void **state)
{
	struct fixture f = setup("soft:threads=1", 8);
	struct accel_queue *q = queue_of(f.lease, 8);
	uint8_t *in = malloc(SLOW_N), *out = malloc(8 * (SLOW_N - 1024));
	struct iovec vin = { in, SLOW_N }, vout[8];
	struct accel_job jobs[8];
	struct accel_result r[8];
	unsigned int i, nabort = 0, n;
	uint64_t t;

	(void)state;
	fill_text(in, SLOW_N);
	for (i = 0; i < 8; i++) {
		vout[i] = (struct iovec){ out + i * (SLOW_N - 1024), SLOW_N - 1024 };
		jobs[i] = job_of(f.slow, &vin, &vout[i]);
	}
	assert_int_equal(accel_queue_submit(q, jobs, 8), 8);
	assert_int_equal(accel_queue_cancel(q, 12345), -ENOENT);
	assert_int_equal(accel_queue_cancel(q, 0), -ENOENT);
	for (i = 1; i < 8; i++)
		assert_int_equal(accel_queue_cancel(q, jobs[i].job_id), 0);
	assert_int_equal(accel_queue_cancel(q, jobs[7].job_id), 0);	/* twice does no harm */
	for (n = 0; n < 8; n += (unsigned int)i) {
		i = (unsigned int)accel_queue_reap(q, r + n, 8 - n, 1, 20000);
		assert_true((int)i > 0);
	}
	for (i = 0; i < 8; i++) {
		if (r[i].status == ACCEL_ST_ABORTED)
			nabort++;
		else
			assert_int_equal(r[i].status, ACCEL_ST_OK);
	}
	assert_true(nabort >= 6);
	assert_int_equal(accel_queue_cancel(q, jobs[0].job_id), -ENOENT);
	/* Freed with jobs in flight: they are told to stop, and it does not take their time. */
	for (i = 0; i < 8; i++)
		jobs[i].job_id = 0;
	assert_int_equal(accel_queue_submit(q, jobs, 8), 8);
	t = now_ns();
	accel_queue_free(q);
	assert_true(now_ns() - t < 15000000000u);
	/* The slots are free again and in step. */
	q = queue_of(f.lease, 8);
	vin.iov_len = 9;
	memcpy(in, "123456789", 9);
	for (i = 0; i < 8; i++)
		jobs[i] = job_of(f.crc, &vin, NULL);
	assert_int_equal(accel_queue_submit(q, jobs, 8), 8);
	assert_int_equal(accel_queue_reap(q, r, 8, 8, 5000), 8);
	for (i = 0; i < 8; i++)
		assert_int_equal(result_crc(&r[i]), CRC_DIGITS);
	accel_queue_free(q);
	free(in);
	free(out);
	teardown(&f);
}

static void test_timeout(void **state)
{
	struct fixture f = setup("soft:threads=1", 8);
	struct accel_queue *q = queue_of(f.lease, 8);
	uint8_t *in = malloc(SLOW_N), *out = malloc(8 * (SLOW_N - 1024));
	struct iovec vin = { in, SLOW_N }, vout[8];
	struct accel_job jobs[8];
	struct accel_result r[8];
	unsigned int i, late = 0;
	int n = 0, k;

	(void)state;
	fill_text(in, SLOW_N);
	for (i = 0; i < 8; i++) {
		vout[i] = (struct iovec){ out + i * (SLOW_N - 1024), SLOW_N - 1024 };
		jobs[i] = job_of(f.slow, &vin, &vout[i]);
		jobs[i].timeout_ms = 5;
	}
	assert_int_equal(accel_queue_submit(q, jobs, 8), 8);
	while (n < 8) {
		k = accel_queue_reap(q, r + n, (unsigned int)(8 - n), 1, 20000);
		assert_true(k > 0);
		n += k;
	}
	for (i = 0; i < 8; i++) {
		late += r[i].status == ACCEL_ST_TIMEOUT;
		assert_true(r[i].status == ACCEL_ST_TIMEOUT || r[i].status == ACCEL_ST_OK);
		assert_int_equal(r[i].retries, 0);
	}
	assert_true(late >= 6);
	accel_queue_free(q);
	free(in);
	free(out);
	teardown(&f);
}

static void test_drain(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	struct accel_queue *q = queue_of(f.lease, 4);
	uint8_t *in = malloc(SLOW_N), *out = malloc(4 * (SLOW_N - 1024));
	struct iovec vin = { in, SLOW_N }, vout[4];
	struct accel_queue_info info;
	struct accel_job jobs[4];
	struct accel_result r[4];
	unsigned int i;

	(void)state;
	fill_text(in, SLOW_N);
	for (i = 0; i < 4; i++) {
		vout[i] = (struct iovec){ out + i * (SLOW_N - 1024), SLOW_N - 1024 };
		jobs[i] = job_of(f.slow, &vin, &vout[i]);
	}
	assert_int_equal(accel_queue_drain(q, 0), 0);
	assert_int_equal(accel_queue_submit(q, jobs, 4), 4);
	assert_int_equal(accel_queue_drain(q, 0), -ETIMEDOUT);
	assert_int_equal(accel_queue_drain(q, 1), -ETIMEDOUT);
	assert_int_equal(accel_queue_drain(q, 60000), 0);
	assert_int_equal(accel_queue_info(q, &info), 0);
	assert_int_equal(info.completed, 4);
	assert_int_equal(info.in_flight, 4);		/* until it is reaped */
	assert_int_equal(accel_queue_reap(q, r, 4, 4, 0), 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(r[i].status, ACCEL_ST_OK);
	accel_queue_free(q);
	free(in);
	free(out);
	teardown(&f);
}

static int readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms);
}

static void test_fd(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	struct accel_queue *q = queue_of(f.lease, 4);
	struct accel_plan *cpu = crc_plan(f.ctx, f.dev, ACCEL_CPU_ONLY);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = job_of(f.crc, &v, NULL);
	uint8_t *in = malloc(SLOW_N), *out = malloc(SLOW_N - 1024);
	struct iovec vin = { in, SLOW_N }, vout = { out, SLOW_N - 1024 };
	struct accel_result r[4];
	int fd = accel_queue_fd(q), i, n;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(accel_queue_fd(q), fd);
	assert_int_equal(readable(fd, 0), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(accel_queue_submit(q, &job, 1), 1);
		do
			assert_int_equal(readable(fd, 5000), 1);
		while ((n = accel_queue_reap(q, r, 4, 0, 0)) == 0);
		assert_int_equal(n, 1);
		assert_int_equal(readable(fd, 0), 0);
	}
	/* Work for the CPU counts as something to do. */
	job.plan = cpu;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(readable(fd, 5000), 1);
	assert_int_equal(accel_queue_reap(q, r, 4, 0, 0), 1);
	assert_int_equal(readable(fd, 0), 0);
	/* So does a deadline, for one who only polls. */
	fill_text(in, SLOW_N);
	job = job_of(f.slow, &vin, &vout);
	job.timeout_ms = 5;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	do
		assert_int_equal(readable(fd, 20000), 1);
	while ((n = accel_queue_reap(q, r, 4, 0, 0)) == 0);
	assert_true(r[0].status == ACCEL_ST_TIMEOUT || r[0].status == ACCEL_ST_OK);
	accel_plan_unref(cpu);
	accel_queue_free(q);
	free(in);
	free(out);
	teardown(&f);
}

static void test_lease_ends(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	struct accel_lease *lease = lease_new(f.dev, 4, 400, 0);
	struct accel_queue *q = queue_of(lease, 4), *q2;
	struct accel_plan *prefer = crc_plan(f.ctx, f.dev, ACCEL_PREFER_DEVICE);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = job_of(f.crc, &v, NULL);
	struct accel_result r;

	(void)state;
	sleep_ms(600);
	/* The library does not know yet; the device does. */
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_LEASE_LOST);
	assert_int_equal(accel_queue_submit(q, &job, 1), -ESTALE);
	assert_int_equal(accel_queue_new(lease, NULL, &q2), -ESTALE);
	accel_queue_free(q);
	accel_lease_release(lease);
	/* With a policy that allows it the CPU steps in, and says so. */
	lease = lease_new(f.dev, 4, 400, 0);
	q = queue_of(lease, 4);
	sleep_ms(600);
	job.plan = prefer;
	assert_int_equal(accel_queue_submit(q, &job, 1), 1);
	assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_FALLBACK);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	accel_queue_free(q);
	accel_lease_release(lease);
	accel_plan_unref(prefer);
	teardown(&f);
}

/*
 * A holder that does not know that it is none any more sends into slots that are another's by now: it is told
 * at once, and the other's jobs neither see it nor end up with it.
 */
static void test_stale_holder(void **state)
{
	struct fixture f = setup("soft:threads=0,slots=6", 2);
	struct accel_lease *old = lease_new(f.dev, 4, 400, 0), *new;
	struct accel_queue *q = queue_of(old, 4), *q2;
	uint8_t mine[512], theirs[512], got_mine[512], got_theirs[512];
	struct iovec vm = { mine, 512 }, vt = { theirs, 512 }, om = { got_mine, 512 }, ot = { got_theirs, 512 };
	struct accel_job jm[4], jt[4];
	struct accel_result r[4];
	int i, round;

	(void)state;
	memset(mine, 1, 512);
	memset(theirs, 2, 512);
	sleep_ms(600);
	new = lease_new(f.dev, 4, 0, 0);
	q2 = queue_of(new, 4);
	for (i = 0; i < 4; i++) {
		jm[i] = job_of(f.copy, &vm, &om);
		jt[i] = job_of(f.copy, &vt, &ot);
	}
	memset(got_mine, 0xa5, 512);
	assert_int_equal(accel_queue_submit(q, jm, 4), 4);
	for (round = 0; round < 3; round++) {
		memset(got_theirs, 0, 512);
		assert_int_equal(accel_queue_submit(q2, jt, 4), 4);
		assert_int_equal(accel_queue_reap(q2, r, 4, 4, 5000), 4);
		for (i = 0; i < 4; i++) {
			assert_int_equal(r[i].status, ACCEL_ST_OK);
			assert_int_equal(r[i].retries, 0);
		}
		assert_memory_equal(got_theirs, theirs, 512);
	}
	assert_int_equal(accel_queue_reap(q, r, 4, 4, 5000), 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(r[i].status, ACCEL_ST_LEASE_LOST);
	for (i = 0; i < 512; i++)
		assert_int_equal(got_mine[i], 0xa5);
	accel_queue_free(q);
	accel_queue_free(q2);
	accel_lease_release(old);
	accel_lease_release(new);
	teardown(&f);
}

/* A lease with jobs lives on; so does one whose holder only waits in reap for a long job. */
static void test_lease_kept(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	struct accel_lease *lease = lease_new(f.dev, 4, 1500, 0);
	struct accel_queue *q = queue_of(lease, 4);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_job job = job_of(f.crc, &v, NULL);
	struct accel_result r;
	int i;

	(void)state;
	for (i = 0; i < 16; i++) {
		assert_int_equal(accel_queue_submit(q, &job, 1), 1);
		assert_int_equal(accel_queue_reap(q, &r, 1, 1, 5000), 1);
		assert_int_equal(r.status, ACCEL_ST_OK);
		sleep_ms(150);
	}
	assert_int_equal(accel_lease_renew(lease), 0);
	accel_queue_free(q);
	accel_lease_release(lease);
	teardown(&f);
}

/* Jobs that take longer than the lease lasts, waited for in either way. */
static void test_lease_kept_waiting(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	uint8_t *in = malloc(SLOW_N), *out = malloc(6 * (SLOW_N - 1024));
	struct iovec vin = { in, SLOW_N }, vout[6];
	struct accel_job jobs[6];
	struct accel_result r;
	int way, i, n, got, polls;

	(void)state;
	fill_text(in, SLOW_N);
	for (way = 0; way < 2; way++) {
		struct accel_lease *lease = lease_new(f.dev, 6, 1000, 0);
		struct accel_queue *q = queue_of(lease, 6);
		int fd = way ? accel_queue_fd(q) : -1;
		uint64_t t = now_ns();

		for (i = 0; i < 6; i++) {
			vout[i] = (struct iovec){ out + i * (SLOW_N - 1024), SLOW_N - 1024 };
			jobs[i] = job_of(f.slow, &vin, &vout[i]);
		}
		assert_int_equal(accel_queue_submit(q, jobs, 6), 6);
		for (got = polls = 0; got < 6; got += n, polls++) {
			if (way)
				assert_int_equal(readable(fd, 30000), 1);
			n = accel_queue_reap(q, &r, 1, !way, way ? 0 : 30000);
			assert_true(n >= 0);
			assert_true(!n || r.status == ACCEL_ST_OK);
		}
		/* Woken up when there is something to do, and not all the time. */
		assert_true(polls < 300);
		if (now_ns() - t < 1000000000)
			print_message("the jobs took less time than the lease lasts\n");
		assert_int_equal(accel_lease_renew(lease), 0);
		accel_queue_free(q);
		accel_lease_release(lease);
	}
	free(in);
	free(out);
	teardown(&f);
}

/* Released with jobs in flight: each still has its result, and the queue can be freed later. */
static void test_release_first(void **state)
{
	struct fixture f = setup("soft:threads=1", 4);
	struct accel_lease *lease = lease_new(f.dev, 8, 0, 0);
	struct accel_queue *q = queue_of(lease, 8);
	uint8_t *in = malloc(SLOW_N), *out = malloc(8 * (SLOW_N - 1024));
	struct iovec vin = { in, SLOW_N }, vout[8];
	struct accel_job jobs[8];
	struct accel_result r[8];
	unsigned int i, gone = 0;
	int n = 0, k;

	(void)state;
	fill_text(in, SLOW_N);
	for (i = 0; i < 8; i++) {
		vout[i] = (struct iovec){ out + i * (SLOW_N - 1024), SLOW_N - 1024 };
		jobs[i] = job_of(f.slow, &vin, &vout[i]);
	}
	assert_int_equal(accel_queue_submit(q, jobs, 8), 8);
	accel_lease_release(lease);
	while (n < 8) {
		k = accel_queue_reap(q, r + n, (unsigned int)(8 - n), 1, 20000);
		assert_true(k > 0);
		n += k;
	}
	for (i = 0; i < 8; i++) {
		gone += r[i].status == ACCEL_ST_LEASE_LOST;
		assert_true(r[i].status == ACCEL_ST_LEASE_LOST || r[i].status == ACCEL_ST_OK);
	}
	assert_true(gone >= 7);
	assert_int_equal(accel_queue_submit(q, jobs, 1), -ESTALE);
	accel_queue_free(q);
	free(in);
	free(out);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	      cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_depth),	      cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_thousand_pieces), cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_output_short),  cmocka_unit_test(test_policy),
		cmocka_unit_test(test_cancel),	      cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_drain),	      cmocka_unit_test(test_fd),
		cmocka_unit_test(test_lease_ends),    cmocka_unit_test(test_lease_kept),
		cmocka_unit_test(test_stale_holder), cmocka_unit_test(test_lease_kept_waiting),
		cmocka_unit_test(test_release_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
