// SPDX-License-Identifier: BSD-2-Clause
/* The self-test of a device and the calibration against the CPU. */
#include "api_util.h"

/* Every namespace of the software accelerator passes, and for each operation something was run. */
static void test_all(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_list *list;
	size_t i;

	(void)state;
	assert_int_equal(accel_scan(ctx, NULL, &list), 0);
	assert_true(accel_list_count(list) >= 7);
	for (i = 0; i < accel_list_count(list); i++) {
		const struct accel_dev_info *info = accel_list_get(list, i);
		struct accel_dev *dev = dev_open(ctx, info->path);
		struct accel_selftest report;

		assert_int_equal(accel_dev_selftest(dev, 10000, &report), 0);
		assert_int_equal(report.failed, 0);
		/* Fill and compare are no plan's; all else has at least one vector. */
		assert_true(report.ran + 2 >= info->nops);
		assert_string_equal(report.what, "");
		assert_int_equal(accel_dev_selftest(dev, -1, NULL), 0);
		accel_dev_close(dev);
	}
	accel_list_free(list);
	accel_ctx_unref(ctx);
}

/* Which operations were exercised is seen from the device's own counters. */
static void test_covers(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=2,slots=8");
	struct accel_dev_stats stats;
	struct accel_selftest report;
	uint32_t i, unused = 0;

	(void)state;
	assert_int_equal(accel_dev_selftest(dev, 10000, &report), 0);
	assert_int_equal(accel_dev_stats(dev, &stats), 0);
	assert_int_equal(stats.nop, accel_dev_info(dev)->nops);
	for (i = 0; i < stats.nop; i++) {
		if (stats.op[i].op == ACCEL_OP_FILL || stats.op[i].op == ACCEL_OP_COMPARE)
			continue;
		if (!stats.op[i].jobs)
			print_error("%u/%u was not tested\n", stats.op[i].op, stats.op[i].alg);
		unused += !stats.op[i].jobs;
	}
	assert_int_equal(unused, 0);
	assert_true(stats.by_code[ACCEL_ST_AUTH_FAILED] >= 2);
	assert_true(stats.by_code[ACCEL_ST_BAD_INPUT_DATA] >= 5);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* Somebody else holds the whole accelerator: -EBUSY in time. */
static void test_busy(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *a = dev_open(ctx, "soft:"), *b = dev_open(ctx, "soft:");
	struct accel_selftest report;
	uint64_t start;

	(void)state;
	assert_int_equal(accel_dev_lock(a, 2000), 0);
	start = now_ns();
	assert_int_equal(accel_dev_selftest(b, 100, &report), -EBUSY);
	assert_true(now_ns() - start < 5000000000u);
	assert_int_equal(accel_dev_selftest(a, 5000, &report), 0);
	assert_int_equal(accel_dev_unlock(a), 0);
	assert_int_equal(accel_dev_selftest(b, 5000, &report), 0);
	assert_int_equal(accel_dev_selftest(NULL, 100, &report), -EINVAL);
	accel_dev_close(a);
	accel_dev_close(b);
	accel_ctx_unref(ctx);
}

/* A figure for every kind of work, or a clear refusal. */
static void test_calibrate(void **state)
{
	static const struct {
		uint16_t op, alg;
	} good[] = {
		{ ACCEL_OP_COMPRESS, ACCEL_DEFLATE },
		{ ACCEL_OP_DECOMPRESS, ACCEL_ZSTD },
		{ ACCEL_OP_DECOMPRESS, ACCEL_LZ4_BLOCK },
		{ ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY },
		{ ACCEL_OP_EC_DECODE, ACCEL_EC_XOR },
		{ ACCEL_OP_XOR, 0 },
		{ ACCEL_OP_PQ_GEN, 0 },
		{ ACCEL_OP_ENCRYPT, ACCEL_AES_GCM },
		{ ACCEL_OP_ENCRYPT, ACCEL_AES_XTS },
		{ ACCEL_OP_DIGEST, ACCEL_SHA256 },
		{ ACCEL_OP_CHECKSUM, ACCEL_ADLER32 },
		{ ACCEL_OP_COPY, 0 },
	};
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:"), *sums = dev_open(ctx, "soft:nsid=5");
	unsigned int i;
	size_t below;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		below = 12345;
		assert_int_equal(accel_calibrate(dev, good[i].op, good[i].alg, 20000, &below), 0);
		assert_true(below == SIZE_MAX || below <= 1 << 20);
	}
	assert_int_equal(accel_calibrate(sums, ACCEL_OP_COMPRESS, ACCEL_DEFLATE, 1000, &below), -ENOTSUP);
	assert_int_equal(accel_calibrate(dev, ACCEL_OP_FILL, 0, 1000, &below), -ENOTSUP);
	assert_int_equal(accel_calibrate(dev, 99, 0, 1000, &below), -ENOTSUP);
	assert_int_equal(accel_calibrate(dev, ACCEL_OP_COPY, 0, 1000, NULL), -EINVAL);
	assert_int_equal(accel_calibrate(NULL, ACCEL_OP_COPY, 0, 1000, &below), -EINVAL);
	accel_dev_close(dev);
	accel_dev_close(sums);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_calibrate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
