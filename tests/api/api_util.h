/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of devices, leases and queues share. */
#ifndef TESTS_API_UTIL_H
#define TESTS_API_UTIL_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <accel/accel.h>

/* CRC-32C of 32 zero bytes and of "123456789", as published with iSCSI (RFC 3720, B.4) and elsewhere. */
#define CRC_ZEROS32 0x8a9136aau
#define CRC_DIGITS 0xe3069283u

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

static inline struct accel_ctx *ctx_new(void)
{
	struct accel_ctx *ctx = NULL;

	assert_int_equal(accel_ctx_new(NULL, &ctx), 0);
	return ctx;
}

static inline struct accel_dev *dev_open(struct accel_ctx *ctx, const char *name)
{
	struct accel_dev *dev = NULL;
	int ret = accel_dev_open(ctx, name, &dev);

	if (ret)
		print_error("open %s: %s\n", name, accel_strerror(ret));
	assert_int_equal(ret, 0);
	return dev;
}

static inline struct accel_lease *lease_new(struct accel_dev *dev, uint32_t slots, uint32_t duration_ms,
					    uint32_t flags)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct accel_lease *lease = NULL;

	opts.slots_wanted = opts.slots_min = slots;
	opts.duration_ms = duration_ms;
	opts.flags = flags;
	assert_int_equal(accel_lease_acquire(dev, &opts, 2000, &lease), 0);
	return lease;
}

static inline struct accel_queue *queue_of(struct accel_lease *lease, uint32_t depth)
{
	struct accel_queue_opts opts = ACCEL_INIT(struct accel_queue_opts);
	struct accel_queue *q = NULL;

	opts.depth = depth;
	assert_int_equal(accel_queue_new(lease, &opts, &q), 0);
	return q;
}

static inline struct accel_plan *plan_of(struct accel_ctx *ctx)
{
	struct accel_plan *plan = NULL;

	assert_int_equal(accel_plan_new(ctx, &plan), 0);
	return plan;
}

static inline struct accel_plan *crc_plan(struct accel_ctx *ctx, struct accel_dev *dev, enum accel_policy policy)
{
	struct accel_plan *plan = plan_of(ctx);

	assert_int_equal(accel_plan_checksum(plan, ACCEL_CRC32C, 0), 0);
	assert_int_equal(accel_plan_policy(plan, policy, 0, 0), 0);
	assert_int_equal(accel_plan_seal(plan, dev), 0);
	return plan;
}

static inline struct accel_plan *copy_plan(struct accel_ctx *ctx, struct accel_dev *dev, enum accel_policy policy)
{
	struct accel_plan *plan = plan_of(ctx);

	assert_int_equal(accel_plan_copy(plan), 0);
	assert_int_equal(accel_plan_policy(plan, policy, 0, 0), 0);
	assert_int_equal(accel_plan_seal(plan, dev), 0);
	return plan;
}

/* A job that an engine works on for a while: compression of text-like input, a third of a second for 4 MiB. */
static inline struct accel_plan *slow_plan(struct accel_ctx *ctx, struct accel_dev *dev, enum accel_policy policy)
{
	struct accel_plan *plan = plan_of(ctx);

	assert_int_equal(accel_plan_compress(plan, ACCEL_DEFLATE, 6, 0, 0), 0);
	assert_int_equal(accel_plan_policy(plan, policy, 0, 0), 0);
	assert_int_equal(accel_plan_seal(plan, dev), 0);
	return plan;
}

static inline void fill_text(uint8_t *p, size_t n)
{
	uint32_t x = 12345;
	size_t i;

	for (i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)("etaoin shrdlu\n"[(x >> 24) % 14]);
	}
}

static inline uint32_t result_crc(const struct accel_result *r)
{
	assert_int_equal(r->result_len[0], 4);
	return r->result[0][0] | (uint32_t)r->result[0][1] << 8 | (uint32_t)r->result[0][2] << 16 |
	       (uint32_t)r->result[0][3] << 24;
}

#endif
