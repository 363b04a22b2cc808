// SPDX-License-Identifier: BSD-2-Clause
/* Streams over a path that misbehaves: what comes out is right, or there is an error behind what is right. */
#include "stream_util.h"

static const char *const faults[] = {
	"latew@2/5;later@3/5", "repeatw@1/3",
	"reorderw@2/4",	       "splitw@1/2",
	"lostw@2/6;lostr@5/7", "statusw@3/7;failr@2/9",
	"failw@2/5",	       "later@3/7;repeatw@5/9;lostw@7/11;failr@11/13",
};

static struct accel_dev *faulty(struct accel_ctx *ctx, const char *spec)
{
	char name[200];

	snprintf(name, sizeof(name), "fault:%s,soft:threads=2", spec);
	return dev_open(ctx, name);
}

static void round_trip(struct accel_dev *dev, uint16_t alg, uint32_t flags, const struct blob *in)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, alg, 1);
	struct accel_stream_opts back = opts_of(ACCEL_STREAM_DECOMPRESS, alg, 0);
	struct blob packed = { 0 }, judged = { 0 }, out = { 0 };
	int rc;

	o.chunk_nbytes = 65536;
	o.flags = back.flags = flags & ACCEL_STREAM_DEVICE_ONLY;
	o.flags |= flags & ACCEL_STREAM_BGZF;
	rc = run(dev, &o, in->p, in->n, &packed, NULL);
	/* With the CPU to fall back on nothing may fail. */
	assert_true(rc == 0 || (rc == -EIO && flags & ACCEL_STREAM_DEVICE_ONLY));
	if (!rc) {
		assert_int_equal(judge(alg, &packed, &judged), 0);
		assert_same(&judged, in);
		rc = run(dev, &back, packed.p, packed.n, &out, NULL);
		assert_true(rc == 0 || (rc == -EIO && flags & ACCEL_STREAM_DEVICE_ONLY));
		assert_true(out.n <= in->n);
		assert_true(rc || out.n == in->n);
		if (out.n)
			assert_memory_equal(out.p, in->p, out.n);
	}
	blob_free(&packed);
	blob_free(&judged);
	blob_free(&out);
}

static void test_faults(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct blob in = blob_make(MIXED, 900000);
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct accel_dev *dev = faulty(ctx, faults[i]);

		round_trip(dev, ACCEL_GZIP, 0, &in);
		round_trip(dev, ACCEL_GZIP, ACCEL_STREAM_BGZF, &in);
		round_trip(dev, ACCEL_ZSTD, 0, &in);
		round_trip(dev, ACCEL_GZIP, ACCEL_STREAM_DEVICE_ONLY, &in);
		round_trip(dev, ACCEL_LZ4_FRAME, ACCEL_STREAM_DEVICE_ONLY, &in);
		accel_dev_close(dev);
	}
	blob_free(&in);
	accel_ctx_unref(ctx);
}

/* A path on which nothing of a job arrives: all by the CPU, and counted so; or an error. */
static void test_dead(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = faulty(ctx, "failw@1/1");
	struct blob in = blob_make(TEXT, 300000), out = { 0 }, judged = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_info info;

	(void)state;
	o.chunk_nbytes = 65536;
	o.timeout_ms = 20000;
	assert_int_equal(run(dev, &o, in.p, in.n, &out, &info), 0);
	assert_int_equal(judge_zlib(&out, 31, &judged), 0);
	assert_same(&judged, &in);
	assert_int_equal(info.jobs, 0);
	assert_int_equal(info.cpu_jobs, 5);
	assert_int_equal(info.cpu_bytes, in.n);
	assert_int_equal(info.executor, ACCEL_EXEC_FALLBACK);
	out.n = 0;
	o.flags = ACCEL_STREAM_DEVICE_ONLY;
	assert_int_equal(run(dev, &o, in.p, in.n, &out, &info), -EIO);
	assert_true(info.error[0] != 0);
	/* The header came out before anything went wrong. */
	assert_int_equal(out.n, 20);
	accel_dev_close(dev);
	blob_free(&in);
	blob_free(&out);
	blob_free(&judged);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
