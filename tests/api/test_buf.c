// SPDX-License-Identifier: BSD-2-Clause
/* Buffers. */
#include "api_util.h"

static void test_alloc(void **state)
{
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 3 << 20 };
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_buf *b;
	uint32_t flags;
	size_t i, k;

	(void)state;
	for (flags = 0; flags <= ACCEL_BUF_HUGE; flags++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			uint8_t *p;

			assert_int_equal(accel_buf_alloc(ctx, flags ? dev : NULL, sizes[i], flags, &b), 0);
			p = accel_buf_ptr(b);
			assert_int_equal((uintptr_t)p % 4096, 0);
			assert_int_equal(accel_buf_size(b), sizes[i]);
			for (k = 0; k < sizes[i]; k++)
				if (p[k])
					fail();
			memset(p, 0xff, sizes[i]);
			accel_buf_free(b);
		}
	}
	assert_int_equal(accel_buf_alloc(ctx, dev, 4096, ACCEL_BUF_P2P, &b), -ENOTSUP);
	assert_int_equal(accel_buf_alloc(ctx, NULL, 4096, ACCEL_BUF_P2P, &b), -EINVAL);
	assert_int_equal(accel_buf_alloc(ctx, dev, 0, 0, &b), -EINVAL);
	assert_int_equal(accel_buf_alloc(ctx, dev, SIZE_MAX, 0, &b), -EINVAL);
	assert_int_equal(accel_buf_alloc(ctx, dev, SIZE_MAX / 4, 0, &b), -ENOMEM);
	assert_int_equal(accel_buf_alloc(ctx, dev, 1, 1u << 9, &b), -EINVAL);
	assert_int_equal(accel_buf_alloc(NULL, dev, 1, 0, &b), -EINVAL);
	assert_int_equal(accel_buf_alloc(ctx, dev, 1, 0, NULL), -EINVAL);
	accel_buf_free(NULL);
	assert_null(accel_buf_ptr(NULL));
	assert_int_equal(accel_buf_size(NULL), 0);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_register(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=0");
	struct accel_plan *plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	static uint8_t mem[10000];
	struct accel_buf *in, *out;
	struct accel_result r;

	(void)state;
	fill_text(mem, sizeof(mem));
	assert_int_equal(accel_buf_register(ctx, dev, mem + 1, 9000, &in), 0);
	assert_ptr_equal(accel_buf_ptr(in), mem + 1);
	assert_int_equal(accel_buf_alloc(ctx, dev, 9000, 0, &out), 0);
	assert_int_equal(accel_run(dev, plan, accel_buf_ptr(in), 9000, accel_buf_ptr(out), 9000, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_memory_equal(accel_buf_ptr(out), mem + 1, 9000);
	assert_int_equal(accel_buf_register(ctx, dev, NULL, 1, &in), -EINVAL);
	assert_int_equal(accel_buf_register(ctx, dev, mem, 0, &in), -EINVAL);
	assert_int_equal(accel_buf_register(ctx, dev, mem, SIZE_MAX, &in), -EINVAL);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	accel_buf_free(in);		/* holds what it needs by itself */
	accel_buf_free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_alloc), cmocka_unit_test(test_register) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
