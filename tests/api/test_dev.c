// SPDX-License-Identifier: BSD-2-Clause
/* Scans, filters, names, what a device says of itself, its counters and its reset. */
#include "api_util.h"

static size_t count(struct accel_ctx *ctx, const struct accel_filter *f)
{
	struct accel_list *list = NULL;
	size_t n;

	assert_int_equal(accel_scan(ctx, f, &list), 0);
	n = accel_list_count(list);
	accel_list_free(list);
	return n;
}

static void test_scan(void **state)
{
	static const uint16_t types[] = { ACCEL_TYPE_COMPRESSION, ACCEL_TYPE_ERASURE, ACCEL_TYPE_CIPHER,
					  ACCEL_TYPE_DIGEST, ACCEL_TYPE_CHECKSUM, ACCEL_TYPE_DATA,
					  ACCEL_TYPE_MULTI };
	struct accel_ctx *ctx = ctx_new();
	struct accel_list *list;
	size_t i, k;

	(void)state;
	assert_int_equal(accel_scan(ctx, NULL, &list), 0);
	assert_int_equal(accel_list_count(list), 7);
	for (i = 0; i < 7; i++) {
		const struct accel_dev_info *info = accel_list_get(list, i);
		struct accel_dev *dev = dev_open(ctx, info->path);

		assert_int_equal(info->type, types[i]);
		assert_int_equal(info->software, 1);
		assert_int_equal(info->state, 1);
		assert_string_equal(info->transport, "soft");
		assert_int_equal(info->slots_free, info->nslot);
		assert_memory_equal(accel_dev_info(dev)->uuid, info->uuid, 16);
		assert_int_equal(accel_dev_info(dev)->boot_id, info->boot_id);
		for (k = 0; k < i; k++) {
			assert_memory_not_equal(accel_list_get(list, k)->uuid, info->uuid, 16);
			assert_true(strcmp(accel_list_get(list, k)->path, info->path) < 0);
		}
		accel_dev_close(dev);
	}
	assert_null(accel_list_get(list, 7));
	assert_null(accel_list_get(NULL, 0));
	accel_list_free(list);
	accel_list_free(NULL);
	accel_ctx_unref(ctx);
}

/* 3-10: a scan asks anew each time; 12-06: nothing that is not there is made up. */
static void test_no_soft(void **state)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_ctx *ctx;
	struct accel_dev *dev;

	(void)state;
	opts.flags = ACCEL_CTX_NO_SOFT;
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	assert_int_equal(count(ctx, NULL), 0);
	assert_int_equal(accel_find(ctx, NULL, &dev), -ENODEV);	/* 3-19 */
	assert_int_equal(accel_dev_open(ctx, "name:software accelerator", &dev), -ENOENT);
	/* By its own name it is there all the same. */
	dev = dev_open(ctx, "soft:");
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_soft_options(void **state)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_list *list;
	struct accel_ctx *ctx;

	(void)state;
	opts.soft = "threads=3,slots=5";
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	assert_int_equal(accel_scan(ctx, NULL, &list), 0);
	assert_int_equal(accel_list_get(list, 6)->neng, 3);
	assert_int_equal(accel_list_get(list, 6)->nslot, 5);
	accel_list_free(list);
	accel_ctx_unref(ctx);
	opts.soft = "thread=3";
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	assert_int_equal(accel_scan(ctx, NULL, &list), -EINVAL);
	accel_ctx_unref(ctx);
}

static void test_filter(void **state)
{
	struct accel_filter f = ACCEL_INIT(struct accel_filter);
	struct accel_ctx *ctx = ctx_new();
	struct accel_list *list;

	(void)state;
	assert_int_equal(count(ctx, &f), 7);
	f.type = ACCEL_TYPE_CIPHER;
	assert_int_equal(count(ctx, &f), 1);
	f.type = 0;
	f.op = ACCEL_OP_EC_ENCODE;
	assert_int_equal(count(ctx, &f), 2);
	f.alg = ACCEL_RS_CAUCHY;
	assert_int_equal(count(ctx, &f), 2);
	f.alg = 77;
	assert_int_equal(count(ctx, &f), 0);
	f.op = f.alg = 0;
	f.flags = ACCEL_FILTER_HARDWARE;
	assert_int_equal(count(ctx, &f), 0);
	f.flags = ACCEL_FILTER_SOFTWARE;
	assert_int_equal(count(ctx, &f), 7);
	f.transport = "pcie";
	assert_int_equal(count(ctx, &f), 0);
	f.transport = "soft";
	f.name = "software digest";
	assert_int_equal(count(ctx, &f), 1);
	f.numa_node = 1;
	assert_int_equal(count(ctx, &f), 0);
	f.numa_node = -1;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	f.numa_node = 0;
	f.flags = ACCEL_FILTER_HARDWARE | ACCEL_FILTER_SOFTWARE;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	f.flags = 1u << 30;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	f.flags = 0;
	f.alg = 1;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	f.alg = 0;
	f.reserved[3] = 1;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	f.reserved[3] = 0;
	f.size = 4;
	assert_int_equal(accel_scan(ctx, &f, &list), -EINVAL);
	assert_int_equal(accel_scan(NULL, NULL, &list), -EINVAL);
	assert_int_equal(accel_scan(ctx, NULL, NULL), -EINVAL);
	accel_ctx_unref(ctx);
}

/* Only those with a free slot; and the best match is the one with most of them. */
static void test_free_only(void **state)
{
	struct accel_filter f = ACCEL_INIT(struct accel_filter);
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=5"), *found;

	(void)state;
	f.flags = ACCEL_FILTER_FREE;
	f.type = ACCEL_TYPE_CHECKSUM;
	assert_int_equal(count(ctx, &f), 1);
	assert_int_equal(accel_find(ctx, &f, &found), 0);
	accel_dev_close(found);
	assert_int_equal(accel_dev_lock(dev, 0), 0);
	assert_int_equal(count(ctx, &f), 0);
	assert_int_equal(accel_find(ctx, &f, &found), -ENODEV);
	f.type = 0;
	f.op = ACCEL_OP_CHECKSUM;
	f.flags = 0;
	assert_int_equal(accel_find(ctx, &f, &found), 0);
	assert_string_not_equal(accel_dev_info(found)->path, "soft:nsid=5");
	accel_dev_close(found);
	assert_int_equal(accel_dev_unlock(dev), 0);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		int ret;
	} bad[] = {
		{ "", -EINVAL }, { "soft", -EINVAL }, { "nonsense:", -EINVAL },
		{ "soft:nsid=8", -ENOENT }, { "soft:nsid=0", -ENOENT }, { "soft:threads=", -EINVAL },
		{ "soft:threads=65", -EINVAL }, { "soft:threads=-1", -EINVAL }, { "soft:threads=1,", -EINVAL },
		{ "soft:slots=0", -EINVAL }, { "soft:slots=9999999999", -EINVAL }, { "soft:x=1", -EINVAL },
		{ "soft: nsid=1", -EINVAL }, { "/dev/nvme999n1", -ENOENT }, { "/dev/null", -ENOTBLK },
		{ "uuid:", -EINVAL }, { "uuid:zz", -EINVAL }, { "name:", -EINVAL }, { "name:nobody", -ENOENT },
		{ "uuid:00000000-0000-0000-0000-000000000001", -ENOENT },
		{ "uuid:00000000-0000-0000-0000-0000000000011", -EINVAL },
	};
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	char longname[600];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int ret = accel_dev_open(ctx, bad[i].name, &dev);

		if (ret != bad[i].ret)
			print_error("%s: %d\n", bad[i].name, ret);
		assert_int_equal(ret, bad[i].ret);
	}
	memset(longname, '1', sizeof(longname) - 1);
	memcpy(longname, "soft:nsid=", 10);
	longname[sizeof(longname) - 1] = '\0';
	assert_int_equal(accel_dev_open(ctx, longname, &dev), -EINVAL);
	assert_int_equal(accel_dev_open(ctx, NULL, &dev), -EINVAL);
	assert_int_equal(accel_dev_open(ctx, "soft:", NULL), -EINVAL);
	assert_int_equal(accel_dev_open(NULL, "soft:", &dev), -EINVAL);
	accel_ctx_unref(ctx);
}

/* 10-09: one accelerator, whatever the name that it is opened by. */
static void test_same_device(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *a = dev_open(ctx, "soft:"), *b = dev_open(ctx, "soft:nsid=7"), *c, *d;
	const uint8_t *u = accel_dev_info(a)->uuid;
	char name[64], *p = name + sprintf(name, "uuid:");
	int i;

	(void)state;
	for (i = 0; i < 16; i++)
		p += sprintf(p, "%02x%s", u[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
	c = dev_open(ctx, name);
	d = dev_open(ctx, "name:software accelerator");
	assert_int_equal(accel_dev_lock(a, 0), 0);
	assert_int_equal(accel_dev_lock(b, 0), -EBUSY);
	assert_int_equal(accel_dev_lock(c, 0), -EBUSY);
	assert_int_equal(accel_dev_lock(d, 30), -EBUSY);
	assert_int_equal(accel_dev_unlock(a), 0);
	assert_int_equal(accel_dev_lock(d, 0), 0);
	assert_int_equal(accel_dev_lock(a, 0), -EBUSY);
	accel_dev_close(d);		/* and with it its lock */
	assert_int_equal(accel_dev_lock(a, 0), 0);
	accel_dev_close(a);
	accel_dev_close(b);
	accel_dev_close(c);
	accel_ctx_unref(ctx);
}

/* 3-41: opened and closed again and again, twice at once, and nothing closed. */
static void test_open_close(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *a, *b;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		a = dev_open(ctx, "soft:");
		b = dev_open(ctx, "soft:");
		assert_ptr_equal(accel_dev_ref(a), a);
		accel_dev_close(a);
		accel_dev_close(b);
		accel_dev_close(a);
	}
	accel_dev_close(NULL);
	assert_null(accel_dev_ref(NULL));
	assert_null(accel_dev_info(NULL));
	/* The context's last reference may go first. */
	a = dev_open(ctx, "soft:");
	accel_ctx_unref(ctx);
	accel_dev_close(a);
}

static void test_caps(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=4");
	struct accel_caps caps;
	uint32_t i;

	(void)state;
	assert_int_equal(accel_dev_caps(dev, ACCEL_OP_DIGEST, ACCEL_SHA256, &caps), 0);
	assert_int_equal(caps.op, ACCEL_OP_DIGEST);
	assert_int_equal(caps.alg, ACCEL_SHA256);
	assert_true(caps.alone);
	assert_true(caps.max_in >= 1u << 20);
	assert_int_equal(accel_dev_caps(dev, ACCEL_OP_CHECKSUM, 0, &caps), 0);
	assert_int_equal(accel_dev_caps(dev, ACCEL_OP_COMPRESS, 0, &caps), -ENOTSUP);
	assert_int_equal(accel_dev_caps(dev, ACCEL_OP_DIGEST, 99, &caps), -ENOTSUP);
	for (i = 0; i < accel_dev_info(dev)->nops; i++)
		assert_int_equal(accel_dev_cap(dev, i, &caps), 0);
	assert_int_equal(accel_dev_cap(dev, i, &caps), -ERANGE);
	assert_int_equal(accel_dev_cap(dev, 0, NULL), -EINVAL);
	assert_int_equal(accel_dev_caps(NULL, 1, 1, &caps), -EINVAL);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_state_and_stats(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=5");
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	struct accel_dev_stats s0, s1;
	struct accel_dev_info info;
	struct accel_result r;
	uint8_t buf[4096] = { 0 };
	uint64_t in_hist = 0;
	int i;

	(void)state;
	assert_int_equal(accel_dev_stats(dev, &s0), 0);
	for (i = 0; i < 10; i++)
		assert_int_equal(accel_run(dev, plan, buf, sizeof(buf), NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(accel_dev_stats(dev, &s1), 0);
	assert_int_equal(s1.jobs - s0.jobs, 10);
	assert_int_equal(s1.bytes_in - s0.bytes_in, 40960);
	assert_int_equal(s1.by_code[0] - s0.by_code[0], 10);
	assert_int_equal(s1.errors, 0);
	assert_int_equal(s1.copied, 0);			/* in place, all of them */
	assert_int_equal(s1.in_place - s0.in_place, 10);
	assert_int_equal(s1.lease_grants - s0.lease_grants, 1);
	for (i = 0; i < 40; i++)
		in_hist += s1.latency_ns_log2[i];
	assert_int_equal(in_hist, s1.jobs);
	for (i = 0; i < (int)s1.nop; i++)
		if (s1.op[i].op == ACCEL_OP_CHECKSUM && s1.op[i].alg == ACCEL_CRC32C)
			assert_int_equal(s1.op[i].jobs, 10);
	assert_int_equal(accel_dev_state(dev, &info), 0);
	assert_int_equal(info.slots_free, info.nslot - 16);	/* accel_run() holds some */
	assert_int_equal(accel_dev_state(NULL, &info), -EINVAL);
	assert_int_equal(accel_dev_stats(dev, NULL), -EINVAL);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_reset(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	struct accel_lease *lease = lease_new(dev, 4, 10000, 0);
	struct accel_plan *plan = crc_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	uint64_t boot = accel_dev_info(dev)->boot_id;
	struct accel_dev_info info;
	struct accel_result r;

	(void)state;
	assert_int_equal(accel_dev_reset(dev, 1), -EINVAL);
	assert_int_equal(accel_dev_reset(dev, ACCEL_RESET_YES), 0);
	assert_int_equal(accel_dev_state(dev, &info), 0);
	assert_true(info.boot_id != boot);
	assert_int_equal(info.slots_free, info.nslot);
	assert_int_equal(accel_lease_renew(lease), -ESTALE);
	/* A new lease is had without asking. */
	assert_int_equal(accel_run(dev, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(result_crc(&r), CRC_DIGITS);
	assert_int_equal(accel_dev_reset(dev, ACCEL_RESET_YES), 0);
	assert_int_equal(accel_run(dev, plan, "123456789", 9, NULL, 0, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.executor, ACCEL_EXEC_SOFTWARE);
	accel_lease_release(lease);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),	    cmocka_unit_test(test_no_soft),
		cmocka_unit_test(test_soft_options), cmocka_unit_test(test_filter),
		cmocka_unit_test(test_free_only),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_same_device), cmocka_unit_test(test_open_close),
		cmocka_unit_test(test_caps),	    cmocka_unit_test(test_state_and_stats),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
