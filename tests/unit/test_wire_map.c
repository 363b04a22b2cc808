// SPDX-License-Identifier: BSD-2-Clause
/* The map of a namespace, addresses, and what the table of operations allows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The software devices' default, worked out by hand. */
static void test_layout_default(void **state)
{
	struct wire_id id = { .nslot = 64, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 64 };

	(void)state;
	assert_int_equal(wire_layout(&id), WIRE_OK);
	assert_int_equal(id.info_off, 0x100000);
	assert_int_equal(id.stats_off, 0x103000);	/* three pages on */
	assert_int_equal(id.lease_off, 0x108000);	/* 2 + 2 pages, to the next 8 KiB */
	assert_int_equal(id.slot_off, 0x1000000);	/* 16 MiB */
	assert_int_equal(id.nsze, (0x1000000 + 64ull * 4 * 0x800000 + 0x100000) / 512);
}

static void test_layout_refuses(void **state)
{
	static const struct wire_id bad[] = {
		{ .nslot = 0, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 1 },
		{ .nslot = 65536, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 11, .winsh = 23, .aliasb = 1, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 11, .aliasb = 1, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 25, .aliasb = 1, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 255, .aliasb = 1, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 23, .aliasb = 0, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 23, .aliasb = 4, .nlease = 1 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 0 },
		{ .nslot = 1, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 1025 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct wire_id id = bad[i];

		assert_int_equal(wire_layout(&id), WIRE_RANGE);
	}
}

/* Every slot, alias and half has its own window, in order, without gaps, and addresses decode to it. */
static void test_slot_addresses(void **state)
{
	uint64_t s = 21, seq = 0, next;
	static struct wire_id id;
	struct wire_addr a;
	uint32_t slot, alias;
	int round, half;

	(void)state;
	for (round = 0; round < 200; round++) {
		random_id(&s, &id);
		id.nslot = (uint32_t)(1 + rnd_below(&s, 50));
		wire_layout(&id);
		next = id.slot_off;
		for (slot = 0; slot < id.nslot; slot++)
			for (alias = 0; alias < 1u << id.aliasb; alias++)
				for (half = 0; half < 2; half++, next += 1ull << id.winsh) {
					uint64_t off = rnd_below(&s, 1ull << id.winsh);

					seq = (rnd(&s) >> 3 << id.aliasb) + alias;
					assert_true(wire_slot_addr(&id, slot, seq, half) == next);
					wire_addr_decode(&id, next + off, &a);
					assert_int_equal(a.region, WIRE_R_SLOTS);
					assert_true(a.slot == slot && a.alias == alias && a.half == half);
					assert_true(a.off == off);
				}
		assert_true(next + 0x100000 == id.nsze << id.lbadsx);
		slot = id.nslot - 1;
		assert_true(wire_wait_addr(&id, slot, seq) ==
			    wire_slot_addr(&id, slot, seq, 1) + (1ull << id.winsh) / 2);
	}
}

/* First and last byte of everything, by the numbers of the sample. */
static void test_regions(void **state)
{
	static const struct {
		uint64_t byte;
		enum wire_region region;
		uint64_t off;
	} want[] = {
		{ 0, WIRE_R_QUIET, 0 },
		{ 1048575, WIRE_R_QUIET, 1048575 },
		{ 1048576, WIRE_R_INFO, 0 },
		{ 1060863, WIRE_R_INFO, 12287 },
		{ 1060864, WIRE_R_STATS, 0 },
		{ 1073151, WIRE_R_STATS, 12287 },
		{ 1073152, WIRE_R_LEASES, 0 },
		{ 1089535, WIRE_R_LEASES, 16383 },
		{ 1089536, WIRE_R_QUIET, 1089536 },	/* the gap before the slots */
		{ 1179647, WIRE_R_QUIET, 1179647 },
		{ 1179648, WIRE_R_SLOTS, 0 },
		{ 1179648 + 65536, WIRE_R_SLOTS, 0 },
		{ 2228223, WIRE_R_SLOTS, 65535 },
		{ 2228224, WIRE_R_QUIET, 2228224 },	/* the tail */
		{ 3276799, WIRE_R_QUIET, 3276799 },
		{ 3276800, WIRE_R_NONE, 3276800 },
		{ UINT64_MAX, WIRE_R_NONE, UINT64_MAX },
	};
	struct wire_id id;
	struct wire_addr a;
	size_t i;

	(void)state;
	sample_id(&id);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		wire_addr_decode(&id, want[i].byte, &a);
		assert_int_equal(a.region, want[i].region);
		assert_true(a.off == want[i].off);
	}
	wire_addr_decode(&id, 2228223, &a);
	assert_true(a.slot == 3 && a.alias == 1 && a.half == 1);
}

static void test_find_op(void **state)
{
	struct wire_id id;

	(void)state;
	sample_id(&id);
	assert_ptr_equal(wire_find_op(&id, 3, 1), &id.ops[1]);
	assert_null(wire_find_op(&id, 3, 2));
	assert_null(wire_find_op(&id, 2, 3));
	assert_null(wire_find_op(&id, 0, 0));	/* an entry behind the last is no entry */
}

static const uint8_t key16[9] = { 16, 12, 16 }, key24[9] = { 24 }, key32[9] = { 32 }, key64[9] = { 64 },
		     key9[9] = { 9 };

#define COMPRESS(level) { .op = 1, .alg = 3, .arg0 = (level) }
#define ENCODE(k, m)	{ .op = 3, .alg = 1, .arg0 = (k) | (m) << 8 }
#define ENCRYPT(key)	{ .op = 6, .alg = 1, .param = (key), .param_len = 9 }

static const struct {
	struct job_stage stage[4];
	unsigned int nstage;
	uint64_t in_len, out_max;
	uint32_t code;
	unsigned int at;
} jobs[] = {
	{ { COMPRESS(9) }, 1, 1, 31744, NVME_ACCEL_OK, 0 },
	{ { COMPRESS(0) }, 1, 65024, 0, NVME_ACCEL_OK, 0 },
	{ { COMPRESS(10) }, 1, 1, 0, NVME_ACCEL_BAD_PARAM, 0 },
	{ { COMPRESS(1) }, 1, 0, 0, NVME_ACCEL_BAD_PARAM, 0 },		/* below min_in */
	{ { COMPRESS(1) }, 1, 65025, 0, NVME_ACCEL_BAD_PARAM, 0 },	/* above max_in */
	{ { COMPRESS(1) }, 1, 1, 31745, NVME_ACCEL_BAD_PARAM, 0 },	/* above max_out */
	{ { COMPRESS(1) }, 1, 1, UINT64_MAX, NVME_ACCEL_BAD_PARAM, 0 },
	{ { COMPRESS(1) }, 0, 1, 0, NVME_ACCEL_UNSUPPORTED_OP, 0 },
	{ { COMPRESS(1) }, 5, 1, 0, NVME_ACCEL_UNSUPPORTED_OP, 0 },
	{ { { .op = 1, .alg = 1 } }, 1, 1, 0, NVME_ACCEL_UNSUPPORTED_OP, 0 },
	{ { { .op = 2, .alg = 3 } }, 1, 1, 0, NVME_ACCEL_UNSUPPORTED_OP, 0 },
	{ { ENCODE(32, 4) }, 1, 64, 16384, NVME_ACCEL_OK, 0 },
	{ { ENCODE(1, 1) }, 1, 32768, 0, NVME_ACCEL_OK, 0 },
	{ { ENCODE(33, 4) }, 1, 64, 0, NVME_ACCEL_BAD_PARAM, 0 },
	{ { ENCODE(32, 5) }, 1, 64, 0, NVME_ACCEL_BAD_PARAM, 0 },
	{ { ENCODE(0, 4) }, 1, 64, 0, NVME_ACCEL_BAD_PARAM, 0 },
	{ { ENCODE(4, 0) }, 1, 64, 0, NVME_ACCEL_BAD_PARAM, 0 },
	{ { ENCODE(4, 2) }, 1, 65, 0, NVME_ACCEL_BAD_PARAM, 0 },	/* not a multiple of the granule */
	{ { ENCRYPT(key16) }, 1, 5, 5, NVME_ACCEL_UNSUPPORTED_OP, 0 },	/* may not stand alone */
	{ { COMPRESS(1), ENCRYPT(key16) }, 2, 5, 5, NVME_ACCEL_OK, 0 },
	{ { COMPRESS(1), ENCRYPT(key32) }, 2, 5, 5, NVME_ACCEL_OK, 0 },
	{ { COMPRESS(1), ENCRYPT(key24) }, 2, 5, 5, NVME_ACCEL_BAD_PARAM, 1 },
	{ { COMPRESS(1), ENCRYPT(key64) }, 2, 5, 5, NVME_ACCEL_BAD_PARAM, 1 },
	{ { COMPRESS(1), ENCRYPT(key9) }, 2, 5, 5, NVME_ACCEL_BAD_PARAM, 1 },
	{ { COMPRESS(1), { .op = 6, .alg = 1, .param = key16, .param_len = 7 } }, 2, 5, 5,
	  NVME_ACCEL_BAD_PARAM, 1 },
	{ { COMPRESS(1), ENCRYPT(key16), COMPRESS(1) }, 3, 5, 5, NVME_ACCEL_OK, 0 },
	{ { COMPRESS(1), ENCODE(2, 2), COMPRESS(1) }, 3, 5, 5, NVME_ACCEL_UNSUPPORTED_OP, 1 },
	{ { ENCRYPT(key16), COMPRESS(1) }, 2, 5, 5, NVME_ACCEL_UNSUPPORTED_OP, 0 },
	{ { COMPRESS(1), ENCODE(2, 2) }, 2, 5, 5, NVME_ACCEL_UNSUPPORTED_OP, 1 },
};

static void test_check_stages(void **state)
{
	struct wire_id id;
	unsigned int at;
	size_t i;

	(void)state;
	sample_id(&id);
	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		uint32_t code = wire_check_stages(&id, jobs[i].stage, jobs[i].nstage, jobs[i].in_len,
						  jobs[i].out_max, &at);

		if (code != jobs[i].code || at != jobs[i].at)
			fail_msg("job %zu: %s at %u, not %s at %u", i, wire_code_name(code), at,
				 wire_code_name(jobs[i].code), jobs[i].at);
	}
	id.maxstage = 1;
	assert_int_equal(wire_check_stages(&id, jobs[19].stage, 2, 5, 5, &at), NVME_ACCEL_UNSUPPORTED_OP);
}

/* k + m never exceeds what GF(2^8) has, whatever the table says; XOR and P+Q have no m. */
static void test_erasure_limits(void **state)
{
	struct job_stage st = { .op = 3, .alg = 1, .arg0 = 255 | 1 << 8 };
	struct wire_id id;
	unsigned int at;

	(void)state;
	sample_id(&id);
	id.ops[1].k_max = id.ops[1].m_max = 255;
	assert_int_equal(wire_check_stages(&id, &st, 1, 64, 0, &at), NVME_ACCEL_BAD_PARAM);
	st.arg0 = 254 | 1 << 8;
	assert_int_equal(wire_check_stages(&id, &st, 1, 64, 0, &at), NVME_ACCEL_OK);
	id.ops[1].op = st.op = NVME_ACCEL_OP_XOR;
	st.arg0 = 255;
	assert_int_equal(wire_check_stages(&id, &st, 1, 64, 0, &at), NVME_ACCEL_OK);
	st.arg0 = 0;
	assert_int_equal(wire_check_stages(&id, &st, 1, 64, 0, &at), NVME_ACCEL_BAD_PARAM);
	id.ops[1].op = st.op = NVME_ACCEL_OP_COPY;
	assert_int_equal(wire_check_stages(&id, &st, 1, 64, 0, &at), NVME_ACCEL_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout_default),
		cmocka_unit_test(test_layout_refuses),
		cmocka_unit_test(test_slot_addresses),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_find_op),
		cmocka_unit_test(test_check_stages),
		cmocka_unit_test(test_erasure_limits),
	};

	return cmocka_run_group_tests_name("wire_map", tests, NULL, NULL);
}
