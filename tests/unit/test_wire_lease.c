// SPDX-License-Identifier: BSD-2-Clause
/* Claims and lease pages. Offsets are the specification's numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct bad {
	uint16_t off, size;
	uint64_t value;
	enum wire_err err;
};

static void sample_claim(struct wire_claim *c)
{
	memset(c, 0, sizeof(*c));
	c->op = NVME_ACCEL_LEASE_CLAIM;
	c->flags = NVME_ACCEL_LEASE_PREEMPTIBLE;
	sample_bytes(c->claim_id, 8, 0x60);
	sample_bytes(c->nonce, 16, 0x70);
	sample_bytes(c->hostid, 16, 0x80);
	memcpy(c->label, "fio 4711", 9);
	c->slots_wanted = 16;
	c->slots_min = 2;
	c->duration_ms = 10000;
	c->epoch = 0x01020304;
}

static void golden_claim(uint8_t *b, size_t len)
{
	memset(b, 0, len);
	memcpy(b, "ACLM", 4);
	poke(b, 4, 2, 1);		/* op */
	poke(b, 6, 2, 2);		/* flags */
	sample_bytes(b + 8, 8, 0x60);	/* claim_id */
	sample_bytes(b + 16, 16, 0x70); /* nonce */
	sample_bytes(b + 32, 16, 0x80); /* hostid */
	memcpy(b + 48, "fio 4711", 8);	/* label */
	poke(b, 80, 4, 16);		/* slots_wanted */
	poke(b, 84, 4, 2);		/* slots_min */
	poke(b, 88, 4, 10000);		/* duration_ms */
	poke(b, 92, 4, 0x01020304);	/* epoch */
	fix_claim(b);
}

static void test_claim_golden(void **state)
{
	struct wire_claim c, back;
	uint8_t want[4096], got[4096];
	static const size_t lens[] = { 128, 512, 4096 };
	size_t i;

	(void)state;
	sample_claim(&c);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		golden_claim(want, lens[i]);
		memset(got, 0xee, sizeof(got));
		assert_int_equal(wire_claim_encode(&c, got, lens[i]), WIRE_OK);
		assert_memory_equal(got, want, lens[i]);
		assert_true(lens[i] == 4096 || got[lens[i]] == 0xee);
		memset(&back, 0, sizeof(back));
		assert_int_equal(wire_claim_decode(&back, want, lens[i]), WIRE_OK);
		assert_memory_equal(&back, &c, sizeof(c));
	}
}

static const struct bad bad_claims[] = {
	{ 0, 1, 'a', WIRE_MAGIC },
	{ 3, 1, 0, WIRE_MAGIC },
	{ 4, 2, 0, WIRE_RANGE },	/* op */
	{ 4, 2, 5, WIRE_RANGE },
	{ 4, 2, 4, WIRE_RANGE },	/* BREAK with a nonce */
	{ 6, 2, 4, WIRE_RESERVED },	/* flags */
	{ 6, 2, 0x8002, WIRE_RESERVED },
	{ 49, 1, '\n', WIRE_RANGE },	/* label */
	{ 49, 1, 0x1b, WIRE_RANGE },
	{ 79, 1, 'x', WIRE_RANGE },
	{ 80, 4, 1, WIRE_RANGE },	/* wanted below min */
	{ 80, 4, 0, WIRE_RANGE },
	{ 84, 4, 0, WIRE_RANGE },
	{ 84, 4, 17, WIRE_RANGE },
	{ 96, 1, 1, WIRE_RESERVED },
	{ 123, 1, 1, WIRE_RESERVED },
	{ 128, 1, 1, WIRE_RESERVED },	/* behind the claim */
	{ 511, 1, 1, WIRE_RESERVED },
};

static void test_bad_claims(void **state)
{
	struct wire_claim c;
	uint8_t *b = malloc(512);
	size_t i;

	(void)state;
	assert_non_null(b);
	for (i = 0; i < ARRAY_SIZE(bad_claims); i++) {
		golden_claim(b, 512);
		poke(b, bad_claims[i].off, bad_claims[i].size, bad_claims[i].value);
		fix_claim(b);
		if (wire_claim_decode(&c, b, 512) != bad_claims[i].err)
			fail_msg("claim %zu, byte %u", i, bad_claims[i].off);
	}
	golden_claim(b, 512);
	memset(b + 8, 0, 8);		/* no claim_id */
	fix_claim(b);
	assert_int_equal(wire_claim_decode(&c, b, 512), WIRE_RANGE);
	golden_claim(b, 512);
	memset(b + 16, 0, 16);		/* no nonce */
	fix_claim(b);
	assert_int_equal(wire_claim_decode(&c, b, 512), WIRE_RANGE);
	poke(b, 4, 2, 4);		/* as BREAK has to be */
	fix_claim(b);
	assert_int_equal(wire_claim_decode(&c, b, 512), WIRE_OK);
	golden_claim(b, 512);
	poke(b, 6, 2, 1);		/* exclusive: the numbers of slots do not matter */
	poke(b, 80, 8, 0);
	fix_claim(b);
	assert_int_equal(wire_claim_decode(&c, b, 512), WIRE_OK);
	free(b);
}

static void test_claim_lengths(void **state)
{
	struct wire_claim c;
	uint8_t *b;
	size_t n;

	(void)state;
	for (n = 0; n < 128; n++) {
		b = malloc(n ? n : 1);
		assert_non_null(b);
		memset(b, 'A', n ? n : 1);
		assert_int_equal(wire_claim_decode(&c, b, n), WIRE_LENGTH);
		sample_claim(&c);
		assert_int_equal(wire_claim_encode(&c, b, n), WIRE_LENGTH);
		free(b);
	}
}

static void test_claim_encoder(void **state)
{
	struct wire_claim c, back;
	uint8_t b[512];

	(void)state;
	sample_claim(&c);
	c.op = 9;
	assert_int_equal(wire_claim_encode(&c, b, 512), WIRE_RANGE);
	sample_claim(&c);
	c.flags = 8;
	assert_int_equal(wire_claim_encode(&c, b, 512), WIRE_RESERVED);
	sample_claim(&c);
	memset(c.label, 'L', 32);	/* all 32 bytes, and no NUL on the wire */
	assert_int_equal(wire_claim_encode(&c, b, 512), WIRE_OK);
	assert_int_equal(wire_claim_decode(&back, b, 512), WIRE_OK);
	assert_string_equal(back.label, c.label);
	memcpy(c.label, "a\tb\xc3\xa4", 6);
	assert_int_equal(wire_claim_encode(&c, b, 512), WIRE_OK);
	assert_int_equal(wire_claim_decode(&back, b, 512), WIRE_OK);
	assert_string_equal(back.label, "a?b??");
}

static void test_claim_round_trip(void **state)
{
	struct wire_claim c, back;
	uint8_t *b = malloc(512 + 3);
	uint64_t s = 31;
	int i;

	(void)state;
	assert_non_null(b);
	for (i = 0; i < 20000; i++) {
		random_claim(&s, &c);
		assert_int_equal(wire_claim_encode(&c, b + i % 4, 512), WIRE_OK);
		memset(&back, 0, sizeof(back));
		assert_int_equal(wire_claim_decode(&back, b + i % 4, 512), WIRE_OK);
		assert_memory_equal(&back, &c, sizeof(c));
	}
	free(b);
}

static void test_claim_every_bit(void **state)
{
	struct wire_claim c;
	uint8_t b[512];
	size_t bit;

	(void)state;
	golden_claim(b, 512);
	for (bit = 0; bit < 512 * 8; bit++) {
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(wire_claim_decode(&c, b, 512), WIRE_OK);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(wire_claim_decode(&c, b, 512), WIRE_OK);
}

static void sample_lease(struct wire_lease *l)
{
	memset(l, 0, sizeof(*l));
	l->state = NVME_ACCEL_LEASE_HELD;
	l->flags = NVME_ACCEL_LEASE_PREEMPTIBLE;
	l->epoch = 7;
	l->remaining_ms = 9876;
	sample_bytes(l->claim_id, 8, 0x60);
	sample_bytes(l->hostid, 16, 0x80);
	memcpy(l->label, "fio 4711", 9);
	l->nrange = 2;
	l->nslot = 5;
	l->range[0].first = 1;
	l->range[0].count = 3;
	l->range[1].first = 8;
	l->range[1].count = 2;
	l->bootid = 0x1122334455667788;
	sample_bytes(l->refused_claim_id, 8, 0xa0);
	l->refused_code = NVME_ACCEL_REFUSED_HELD;
	l->duration_ms = 10000;
	l->index = 1;
}

static void golden_lease(uint8_t *p)
{
	memset(p, 0, 4096);
	memcpy(p, "ALSE", 4);
	p[4] = 1;			/* version */
	p[5] = 1;			/* state */
	poke(p, 6, 2, 2);		/* flags */
	poke(p, 8, 4, 7);		/* epoch */
	poke(p, 12, 4, 9876);		/* remaining_ms */
	sample_bytes(p + 16, 8, 0x60);	/* claim_id */
	sample_bytes(p + 24, 16, 0x80); /* hostid */
	memcpy(p + 40, "fio 4711", 8);	/* label */
	poke(p, 72, 4, 2);		/* nrange */
	poke(p, 76, 4, 5);		/* nslot */
	poke(p, 80, 4, 1);		/* ranges */
	poke(p, 84, 4, 3);
	poke(p, 88, 4, 8);
	poke(p, 92, 4, 2);
	poke(p, 144, 8, 0x1122334455667788); /* bootid */
	sample_bytes(p + 152, 8, 0xa0); /* refused_claim_id */
	poke(p, 160, 4, 2);		/* refused_code */
	poke(p, 164, 4, 10000);		/* duration_ms */
	poke(p, 168, 4, 1);		/* index */
	fix_252(p);
}

static void test_lease_golden(void **state)
{
	struct wire_lease l, back;
	uint8_t want[4096], got[4096];

	(void)state;
	sample_lease(&l);
	golden_lease(want);
	memset(got, 0xee, sizeof(got));
	assert_int_equal(wire_lease_encode(&l, got), WIRE_OK);
	assert_memory_equal(got, want, 4096);
	memset(&back, 0xee, sizeof(back));
	assert_int_equal(wire_lease_decode(&back, want, 10), WIRE_OK);
	assert_memory_equal(&back, &l, sizeof(l));
	/* The second range ends where a smaller device does. */
	assert_int_equal(wire_lease_decode(&back, want, 9), WIRE_RANGE);
}

static const struct bad bad_leases[] = {
	{ 0, 1, 'a', WIRE_MAGIC },
	{ 4, 1, 0, WIRE_VERSION },
	{ 4, 1, 2, WIRE_VERSION },
	{ 5, 1, 3, WIRE_RANGE },		/* state */
	{ 5, 1, 0, WIRE_RANGE },		/* FREE with slots */
	{ 6, 2, 4, WIRE_RESERVED },		/* flags */
	{ 41, 1, 1, WIRE_RANGE },		/* label */
	{ 71, 1, 'x', WIRE_RANGE },
	{ 72, 4, 9, WIRE_LENGTH },		/* nrange */
	{ 72, 4, UINT32_MAX, WIRE_LENGTH },
	{ 72, 4, 1, WIRE_RESERVED },		/* a range that is not counted */
	{ 72, 4, 3, WIRE_RANGE },		/* an empty range */
	{ 76, 4, 4, WIRE_RANGE },		/* nslot */
	{ 80, 4, 6, WIRE_RANGE },		/* the ranges overlap */
	{ 84, 4, 8, WIRE_RANGE },
	{ 84, 4, 0, WIRE_RANGE },
	{ 88, 4, 0, WIRE_RANGE },		/* they descend */
	{ 92, 4, 93, WIRE_RANGE },		/* beyond the last slot */
	{ 88, 8, 0xffffffff00000002, WIRE_RANGE },
	{ 96, 1, 1, WIRE_RESERVED },
	{ 172, 1, 1, WIRE_RESERVED },
	{ 251, 1, 1, WIRE_RESERVED },
	{ 256, 1, 1, WIRE_RESERVED },
	{ 4095, 1, 1, WIRE_RESERVED },
};

static void test_bad_leases(void **state)
{
	struct wire_lease l;
	uint8_t *p = malloc(4096);
	size_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < ARRAY_SIZE(bad_leases); i++) {
		golden_lease(p);
		poke(p, bad_leases[i].off, bad_leases[i].size, bad_leases[i].value);
		fix_252(p);
		if (wire_lease_decode(&l, p, 100) != bad_leases[i].err)
			fail_msg("lease %zu, byte %u", i, bad_leases[i].off);
	}
	sample_lease(&l);
	l.nrange = 9;
	assert_int_equal(wire_lease_encode(&l, p), WIRE_LENGTH);
	sample_lease(&l);
	l.range[1].first = 3;
	assert_int_equal(wire_lease_encode(&l, p), WIRE_RANGE);
	free(p);
}

static void test_lease_round_trip(void **state)
{
	struct wire_lease l, back;
	uint8_t *p = malloc(4096 + 3);
	uint64_t s = 32;
	int i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < 20000; i++) {
		uint32_t nslot = (uint32_t)(1 + rnd_below(&s, 65535));

		random_lease(&s, &l, nslot);
		assert_int_equal(wire_lease_encode(&l, p + i % 4), WIRE_OK);
		memset(&back, 0xee, sizeof(back));
		assert_int_equal(wire_lease_decode(&back, p + i % 4, nslot), WIRE_OK);
		assert_memory_equal(&back, &l, sizeof(l));
	}
	free(p);
}

static void test_lease_every_bit(void **state)
{
	struct wire_lease l;
	uint8_t p[4096];
	size_t bit;

	(void)state;
	golden_lease(p);
	for (bit = 0; bit < 4096 * 8; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(wire_lease_decode(&l, p, 10), WIRE_OK);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(wire_lease_decode(&l, p, 10), WIRE_OK);
	p[252] ^= 1;
	assert_int_equal(wire_lease_decode(&l, p, 10), WIRE_CRC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claim_golden),	  cmocka_unit_test(test_bad_claims),
		cmocka_unit_test(test_claim_lengths),	  cmocka_unit_test(test_claim_encoder),
		cmocka_unit_test(test_claim_round_trip), cmocka_unit_test(test_claim_every_bit),
		cmocka_unit_test(test_lease_golden),	  cmocka_unit_test(test_bad_leases),
		cmocka_unit_test(test_lease_round_trip), cmocka_unit_test(test_lease_every_bit),
	};

	return cmocka_run_group_tests_name("wire_lease", tests, NULL, NULL);
}
