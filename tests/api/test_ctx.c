// SPDX-License-Identifier: BSD-2-Clause
/* The library instance, words for numbers, conventions of the headers. */
#define _GNU_SOURCE
#include "node_util.h"

struct sink {
	unsigned int n;
	enum accel_log_level last;
	char text[256];
};

static void log_to(void *arg, enum accel_log_level level, const char *message)
{
	struct sink *s = arg;

	s->n++;
	s->last = level;
	snprintf(s->text, sizeof(s->text), "%s", message);
}

static void test_options(void **state)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_ctx *ctx;

	(void)state;
	assert_int_equal(accel_ctx_new(NULL, NULL), -EINVAL);
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	accel_ctx_unref(ctx);
	opts.size--;
	assert_int_equal(accel_ctx_new(&opts, &ctx), -EINVAL);
	opts.size++;
	opts.flags = 1u << 31;
	assert_int_equal(accel_ctx_new(&opts, &ctx), -EINVAL);
	opts.flags = 0;
	opts.reserved[3] = 1;
	assert_int_equal(accel_ctx_new(&opts, &ctx), -EINVAL);
}

static void test_references(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	int i;

	(void)state;
	assert_ptr_equal(accel_ctx_ref(ctx), ctx);
	accel_ctx_unref(ctx);
	accel_ctx_unref(ctx);
	accel_ctx_unref(NULL);
	assert_null(accel_ctx_host_nqn(NULL));
	assert_null(accel_ctx_ref(NULL));
	for (i = 0; i < 3; i++)
		accel_ctx_unref(ctx_new());
}

/* A node whose controller is away is something to speak of. */
static void test_log(void **state)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct sink sink = { 0 };
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct tree t;

	(void)state;
	tree_new(&t);
	tree_put(&t, "sys/class/nvme/nvme7/state", "connecting\n");
	tree_put(&t, "sys/class/nvme/nvme7/nvme7n1/dev", "259:0\n");
	opts.root = t.root;
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	/* Nobody listens: nothing happens. */
	assert_int_equal(accel_dev_open(ctx, "/dev/nvme7n1", &dev), -ENOTCONN);
	accel_ctx_set_log(ctx, log_to, &sink, ACCEL_LOG_ERROR);
	assert_int_equal(accel_dev_open(ctx, "/dev/nvme7n1", &dev), -ENOTCONN);
	assert_int_equal(sink.n, 0);		/* no more than was asked for */
	accel_ctx_set_log(ctx, log_to, &sink, ACCEL_LOG_WARNING);
	assert_int_equal(accel_dev_open(ctx, "/dev/nvme7n1", &dev), -ENOTCONN);
	assert_int_equal(sink.n, 1);
	assert_int_equal(sink.last, ACCEL_LOG_WARNING);
	assert_non_null(strstr(sink.text, "/dev/nvme7n1"));
	accel_ctx_set_log(ctx, NULL, NULL, ACCEL_LOG_DEBUG);
	assert_int_equal(accel_dev_open(ctx, "/dev/nvme7n1", &dev), -ENOTCONN);
	assert_int_equal(sink.n, 1);
	accel_ctx_unref(ctx);
	tree_free(&t);
}

static void test_words(void **state)
{
	static const int errs[] = { -EINVAL, -ENOMEM, -ENODEV, -ENOENT, -EACCES, -EBUSY, -ESTALE, -ETIMEDOUT };
	uint32_t i, k;

	(void)state;
	assert_string_equal(accel_version(), "0.1.0");
	for (i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		assert_true(strlen(accel_strerror(errs[i])) > 3);
		assert_string_equal(accel_strerror(errs[i]), accel_strerror(-errs[i]));
		for (k = 0; k < i; k++)
			assert_string_not_equal(accel_strerror(errs[i]), accel_strerror(errs[k]));
	}
	assert_non_null(accel_strerror(-123456));
	for (i = 0; i <= ACCEL_ST_INCOMPRESSIBLE; i++) {
		assert_string_not_equal(accel_status_str(i), "unknown status");
		for (k = 0; k < i; k++)
			assert_string_not_equal(accel_status_str(i), accel_status_str(k));
	}
	assert_string_equal(accel_status_str(28), "unknown status");
	assert_string_equal(accel_status_str(UINT32_MAX), "unknown status");
	assert_string_not_equal(accel_status_str(ACCEL_ST_IO_ERROR), "unknown status");
	assert_string_equal(accel_executor_str(ACCEL_EXEC_HARDWARE), "hardware");
	assert_string_equal(accel_executor_str(ACCEL_EXEC_FALLBACK), "fallback");
	assert_string_equal(accel_executor_str(5), "unknown");
	assert_string_equal(accel_op_name(ACCEL_OP_COMPRESS), "compress");
	assert_string_equal(accel_alg_name(ACCEL_OP_COMPRESS, ACCEL_DEFLATE), "deflate");
	assert_null(accel_op_name(999));
	assert_null(accel_alg_name(ACCEL_OP_COMPRESS, 999));
}

/* Different instances share nothing, not even their software accelerators. */
static void test_apart(void **state)
{
	struct accel_ctx *a = ctx_new(), *b = ctx_new();
	struct accel_dev *da = dev_open(a, "soft:"), *db = dev_open(b, "soft:");

	(void)state;
	assert_int_equal(accel_dev_lock(da, 0), 0);
	assert_int_equal(accel_dev_lock(db, 0), 0);
	accel_dev_close(da);
	accel_dev_close(db);
	accel_ctx_unref(a);
	accel_ctx_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options), cmocka_unit_test(test_references),
		cmocka_unit_test(test_log),	cmocka_unit_test(test_words),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
