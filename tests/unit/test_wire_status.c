// SPDX-License-Identifier: BSD-2-Clause
/* Status blocks. Offsets are the specification's numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void sample_status(struct wire_status *st)
{
	unsigned int i;

	memset(st, 0, sizeof(*st));
	st->state = NVME_ACCEL_ST_DONE;
	st->flags = NVME_ACCEL_SF_OUTPUT_VALID | NVME_ACCEL_SF_OUT_CRC;
	st->seq = 0x0102030405060708;
	st->bootid = 0x1122334455667788;
	st->lease = 3;
	st->epoch = 7;
	st->cookie = 0xc00c1ec00c1e;
	st->fail_stage = 2;
	st->retry_hint = 4;
	st->in_used = 65000;
	st->out_len = 20000;
	st->out_needed = 20001;
	st->out_crc = 0x31323334;
	st->queue_pos = 5;
	st->queue_ns = 1000001;
	st->exec_ns = 2000002;
	st->retval = 0x4142434445464748;
	st->stream = 0x1112131415161718;
	for (i = 0; i < 4; i++) {
		sample_bytes(st->result[i], 32, (uint8_t)(32 * i));
		sample_bytes(st->long_result[i], 64, (uint8_t)(64 * i + 128));
	}
}

static void golden_status(uint8_t *b, size_t len)
{
	memset(b, 0, len);
	memcpy(b, "AJS1", 4);
	b[4] = 1;			/* version */
	b[5] = 5;			/* state */
	poke(b, 6, 2, 5);		/* flags */
	poke(b, 8, 8, 0x0102030405060708); /* seq */
	poke(b, 16, 8, 0x1122334455667788); /* BOOTID */
	poke(b, 24, 4, 3);		/* lease */
	poke(b, 28, 4, 7);		/* epoch */
	poke(b, 32, 8, 0xc00c1ec00c1e); /* cookie */
	poke(b, 40, 4, 0);		/* code */
	poke(b, 44, 2, 2);		/* failing stage */
	poke(b, 46, 2, 4);		/* retry hint */
	poke(b, 48, 8, 65000);		/* in_used */
	poke(b, 56, 8, 20000);		/* out_len */
	poke(b, 64, 8, 20001);		/* out_needed */
	poke(b, 72, 4, 0x31323334);	/* CRC of the output */
	poke(b, 76, 4, 5);		/* queue position */
	poke(b, 80, 8, 1000001);	/* queue ns */
	poke(b, 88, 8, 2000002);	/* exec ns */
	poke(b, 96, 8, 0x4142434445464748); /* return value */
	poke(b, 104, 8, 0x1112131415161718); /* stream */
	sample_bytes(b + 112, 128, 0);	/* results */
	sample_bytes(b + 256, 256, 128); /* longer results */
	fix_252(b);
}

static void test_golden(void **state)
{
	static const size_t lens[] = { 512, 4096 };
	struct wire_status st, back;
	uint8_t want[4096], got[4096];
	size_t i;

	(void)state;
	sample_status(&st);
	for (i = 0; i < 2; i++) {
		golden_status(want, lens[i]);
		memset(got, 0xee, sizeof(got));
		assert_int_equal(wire_status_encode(&st, got, lens[i]), WIRE_OK);
		assert_memory_equal(got, want, lens[i]);
		assert_true(i || got[512] == 0xee);
		memset(&back, 0, sizeof(back));
		assert_int_equal(wire_status_decode(&back, want, lens[i]), WIRE_OK);
		assert_memory_equal(&back, &st, sizeof(st));
	}
}

static const struct {
	uint16_t off, size;
	uint64_t value;
	enum wire_err err;
} bad[] = {
	{ 0, 1, 'a', WIRE_MAGIC },
	{ 2, 1, 'D', WIRE_MAGIC },		/* a descriptor is no status */
	{ 4, 1, 0, WIRE_VERSION },
	{ 4, 1, 2, WIRE_VERSION },
	{ 5, 1, 10, WIRE_RANGE },		/* state */
	{ 5, 1, 255, WIRE_RANGE },
	{ 6, 2, 0x80, WIRE_RESERVED },		/* flags */
	{ 6, 2, 0x8000, WIRE_RESERVED },
	{ 40, 4, 8, WIRE_RANGE },		/* DONE with an error code */
	{ 5, 1, 6, WIRE_RANGE },		/* FAILED with valid output */
	{ 6, 2, 4, WIRE_OK },
	{ 44, 2, 4, WIRE_RANGE },		/* failing stage */
	{ 240, 1, 1, WIRE_RESERVED },
	{ 251, 1, 1, WIRE_RESERVED },
};

static void test_bad_fields(void **state)
{
	struct wire_status st;
	uint8_t *b = malloc(512);
	size_t i;

	(void)state;
	assert_non_null(b);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		golden_status(b, 512);
		poke(b, bad[i].off, bad[i].size, bad[i].value);
		fix_252(b);
		if (wire_status_decode(&st, b, 512) != bad[i].err)
			fail_msg("case %zu, byte %u", i, bad[i].off);
	}
	golden_status(b, 512);
	b[252] ^= 1;
	assert_int_equal(wire_status_decode(&st, b, 512), WIRE_CRC);
	free(b);
}

/* Success is said by state and code together. */
static void test_state_and_code(void **state)
{
	struct wire_status st;
	uint8_t b[512];
	unsigned int i;

	(void)state;
	memset(&st, 0, sizeof(st));
	for (i = 0; i < 10; i++) {
		int ended_badly = i >= 6 && i <= 8;

		st.state = (uint8_t)i;
		st.code = NVME_ACCEL_OK;
		assert_int_equal(wire_status_encode(&st, b, 512), ended_badly ? WIRE_RANGE : WIRE_OK);
		st.code = NVME_ACCEL_BUSY;
		assert_int_equal(wire_status_encode(&st, b, 512), i == 5 ? WIRE_RANGE : WIRE_OK);
		st.out_len = 1;
		st.code = i == 5 ? NVME_ACCEL_OK : NVME_ACCEL_BUSY;
		assert_int_equal(wire_status_encode(&st, b, 512), i == 5 ? WIRE_OK : WIRE_RANGE);
		st.out_len = 0;
		st.flags = NVME_ACCEL_SF_OUTPUT_VALID;
		st.code = i == 5 ? NVME_ACCEL_OK : NVME_ACCEL_BUSY;
		assert_int_equal(wire_status_encode(&st, b, 512), i == 5 ? WIRE_OK : WIRE_RANGE);
		st.flags = 0;
	}
}

static void test_block_sizes(void **state)
{
	struct wire_status st;
	uint8_t b[4096];
	size_t n;

	(void)state;
	for (n = 0; n <= 4096; n += n == 511 || n == 512 || n >= 4094 ? 1 : 73) {
		enum wire_err want = n == 512 || n == 4096 ? WIRE_OK : WIRE_LENGTH;

		sample_status(&st);
		assert_int_equal(wire_status_encode(&st, b, n), want);
		golden_status(b, 4096);
		assert_int_equal(wire_status_decode(&st, b, n), want);
	}
}

static void test_round_trip(void **state)
{
	struct wire_status st, back;
	uint8_t *buf = malloc(4096 + 7);
	uint64_t s = 51;
	int i;

	(void)state;
	assert_non_null(buf);
	for (i = 0; i < 20000; i++) {
		size_t len = i & 1 ? 512 : 4096;
		uint8_t *b = buf + 4096 + i % 8 - len;

		random_status(&s, &st);
		assert_int_equal(wire_status_encode(&st, b, len), WIRE_OK);
		memcpy(&back, &st, sizeof(back));	/* what lies between the members */
		back.seq = ~st.seq;
		memset(back.long_result, 0, sizeof(back.long_result));
		assert_int_equal(wire_status_decode(&back, b, len), WIRE_OK);
		assert_memory_equal(&back, &st, sizeof(st));
	}
	free(buf);
}

/* Every bit of the block proper is guarded; the longer results are data, whose CRC the job can ask for. */
static void test_every_bit(void **state)
{
	struct wire_status good, st;
	uint8_t b[512];
	size_t bit;

	(void)state;
	golden_status(b, 512);
	assert_int_equal(wire_status_decode(&good, b, 512), WIRE_OK);
	for (bit = 0; bit < 512 * 8; bit++) {
		enum wire_err err;

		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		err = wire_status_decode(&st, b, 512);
		assert_true((err == WIRE_OK) == (bit / 8 >= 256));
		if (err == WIRE_OK) {
			assert_memory_equal(st.result, good.result, sizeof(st.result));
			assert_true(st.seq == good.seq && st.out_len == good.out_len);
		}
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	   cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_state_and_code), cmocka_unit_test(test_block_sizes),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_every_bit),
	};

	return cmocka_run_group_tests_name("wire_status", tests, NULL, NULL);
}
