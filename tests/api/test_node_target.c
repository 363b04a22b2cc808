// SPDX-License-Identifier: BSD-2-Clause
/* Statistics of targets: every byte of the log page is looked at. How devices are reached. */
#include "api_util.h"
#include "../../lib/api/dev_priv.h"

static void page_of(struct nvme_accel_target_stats *p)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->magic, NVME_ACCEL_TARGET_MAGIC, 4);
	p->version = 1;
	le64_put(&p->uptime_ns, 1);
	le64_put(&p->conns, 2);
	le64_put(&p->cmds_read, 9);
	le64_put(&p->held_now, 25);
	le64_put(&p->fes[7], 77);
	le64_put(&p->lat_log2[39], 39);
	le16_put(&p->sc[0].status, 0x002);
	le64_put(&p->sc[0].count, 5);
	le16_put(&p->sc[1].status, 0x286);
	le64_put(&p->sc[1].count, 6);
}

static void test_decode(void **state)
{
	struct nvme_accel_target_stats p;
	struct accel_target_stats s;
	unsigned int i;

	(void)state;
	page_of(&p);
	assert_int_equal(target_stats_decode(&p, &s), 0);
	assert_int_equal(s.size, sizeof(s));
	assert_int_equal(s.uptime_ns, 1);
	assert_int_equal(s.conns, 2);
	assert_int_equal(s.cmds_read, 9);
	assert_int_equal(s.held_now, 25);
	assert_int_equal(s.fes[7], 77);
	assert_int_equal(s.latency_ns_log2[39], 39);
	assert_int_equal(s.nsc, 2);
	assert_int_equal(s.sc[1].status, 0x286);
	assert_int_equal(s.sc[1].count, 6);
	for (i = 0; i < NVME_ACCEL_NTARGET_SC; i++) {
		le16_put(&p.sc[i].status, (uint16_t)(i + 1));
		le64_put(&p.sc[i].count, 1);
	}
	assert_int_equal(target_stats_decode(&p, &s), 0);
	assert_int_equal(s.nsc, NVME_ACCEL_NTARGET_SC);
}

/* Whatever byte is wrong that has but one value: told. */
static void test_bytes(void **state)
{
	struct nvme_accel_target_stats p;
	struct accel_target_stats s;
	size_t i;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(p); i++) {
		page_of(&p);
		((uint8_t *)&p)[i] ^= 0x80;
		ret = target_stats_decode(&p, &s);
		if (i < 4)
			assert_int_equal(ret, -ENOTSUP);	/* somebody else's page */
		else if (i < 8 || (i >= 208 && i < 256) || (i >= 640 && i < 1024) || i >= 1024 + 32)
			assert_int_equal(ret, -EPROTO);
	}
	page_of(&p);
	le16_put(&p.sc[1].status, 0x002);		/* twice */
	assert_int_equal(target_stats_decode(&p, &s), -EPROTO);
	le16_put(&p.sc[1].status, 0);			/* success is no error */
	assert_int_equal(target_stats_decode(&p, &s), -EPROTO);
	le16_put(&p.sc[1].status, 0x800);
	assert_int_equal(target_stats_decode(&p, &s), -EPROTO);
}

static void test_calls(void **state)
{
	struct accel_path_info info = ACCEL_INIT(struct accel_path_info);
	struct accel_target_stats stats = ACCEL_INIT(struct accel_target_stats);
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");

	(void)state;
	assert_int_equal(accel_dev_path_info(dev, &info), 0);
	assert_string_equal(info.transport, "soft");
	assert_string_equal(info.address, "");
	assert_int_equal(info.numa_node, -1);
	assert_int_equal(info.kato_ms, -1);
	assert_int_equal(info.ctrl_loss_tmo_s, -1);
	assert_int_equal(accel_dev_target_stats(dev, &stats), -ENOTSUP);
	info.size--;
	assert_int_equal(accel_dev_path_info(dev, &info), -EINVAL);
	stats.size++;
	assert_int_equal(accel_dev_target_stats(dev, &stats), -EINVAL);
	assert_int_equal(accel_dev_path_info(NULL, &info), -EINVAL);
	assert_int_equal(accel_dev_target_stats(dev, NULL), -EINVAL);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* Locked, unlocked, closed and opened again, many times: never in the way of oneself. */
static void test_lock_loop(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		dev = dev_open(ctx, "soft:nsid=5,slots=2,threads=1");
		assert_int_equal(accel_dev_lock(dev, 0), 0);
		if (i % 2)
			assert_int_equal(accel_dev_unlock(dev), 0);
		accel_dev_close(dev);
	}
	accel_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode), cmocka_unit_test(test_bytes), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_lock_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
