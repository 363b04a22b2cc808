// SPDX-License-Identifier: BSD-2-Clause
/* Parameters of cipher stages, and names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct wire_cipher sample = {
	.key = (const uint8_t *)"0123456789abcdef", .key_len = 16,
	.iv = (const uint8_t *)"twelve bytes", .iv_len = 12,
	.tag = (const uint8_t *)"THIS IS THE TAG.", .tag_len = 16,
	.aad = (const uint8_t *)"more", .aad_len = 4,
};

static const char opened[] = "\x10\x0c\x10\x00\x04\x00\x00\x00" "0123456789abcdef" "twelve bytes"
			     "THIS IS THE TAG." "more";
static const char sealed[] = "\x10\x0c\x10\x00\x04\x00\x00\x00" "0123456789abcdef" "twelve bytes" "more";

static void assert_cipher(const struct wire_cipher *c, int with_tag)
{
	assert_int_equal(c->key_len, 16);
	assert_memory_equal(c->key, sample.key, 16);
	assert_int_equal(c->iv_len, 12);
	assert_memory_equal(c->iv, sample.iv, 12);
	assert_int_equal(c->tag_len, 16);
	assert_true((c->tag != NULL) == with_tag);
	if (with_tag)
		assert_memory_equal(c->tag, sample.tag, 16);
	assert_int_equal(c->aad_len, 4);
	assert_memory_equal(c->aad, sample.aad, 4);
}

static void test_golden(void **state)
{
	struct wire_cipher c;
	uint8_t b[64];

	(void)state;
	assert_int_equal(wire_cipher_encode(&sample, 1, b, sizeof(b)), 56);
	assert_memory_equal(b, opened, 56);
	assert_int_equal(wire_cipher_encode(&sample, 0, b, sizeof(b)), 40);
	assert_memory_equal(b, sealed, 40);
	assert_int_equal(wire_cipher_decode(&c, 1, opened, 56), WIRE_OK);
	assert_cipher(&c, 1);
	assert_int_equal(wire_cipher_decode(&c, 0, sealed, 40), WIRE_OK);
	assert_cipher(&c, 0);
	/* One with a tag is not one without. */
	assert_int_equal(wire_cipher_decode(&c, 0, opened, 56), WIRE_LENGTH);
	assert_int_equal(wire_cipher_decode(&c, 1, sealed, 40), WIRE_LENGTH);
}

static void test_every_length(void **state)
{
	struct wire_cipher c;
	size_t n;

	(void)state;
	for (n = 0; n < 60; n++) {
		uint8_t *b = malloc(n ? n : 1);

		assert_non_null(b);
		assert_int_equal(wire_cipher_encode(&sample, 1, b, n), n >= 56 ? 56 : 0);
		memcpy(b, opened, n < 56 ? n : 56);
		assert_int_equal(wire_cipher_decode(&c, 1, b, n), n == 56 ? WIRE_OK : WIRE_LENGTH);
		free(b);
	}
}

static void test_bad_fields(void **state)
{
	static const struct {
		uint8_t off, value;
		enum wire_err err;
	} bad[] = {
		{ 0, 0, WIRE_RANGE },	{ 0, 15, WIRE_RANGE },	{ 0, 33, WIRE_RANGE },
		{ 0, 255, WIRE_RANGE }, { 1, 0, WIRE_RANGE },	{ 1, 129, WIRE_RANGE },
		{ 2, 1, WIRE_RANGE },	{ 2, 11, WIRE_RANGE },	{ 2, 17, WIRE_RANGE },
		{ 3, 1, WIRE_RESERVED }, { 0, 32, WIRE_LENGTH }, { 1, 13, WIRE_LENGTH },
		{ 2, 15, WIRE_LENGTH }, { 4, 3, WIRE_LENGTH },	{ 4, 5, WIRE_LENGTH },
		{ 7, 255, WIRE_LENGTH },
	};
	struct wire_cipher c;
	uint8_t b[56];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(b, opened, 56);
		b[bad[i].off] = bad[i].value;
		if (wire_cipher_decode(&c, 1, b, 56) != bad[i].err)
			fail_msg("case %zu", i);
	}
	c = sample;
	c.key_len = 20;
	assert_int_equal(wire_cipher_encode(&c, 1, b, 56), 0);
	c = sample;
	c.aad_len = UINT32_MAX;
	assert_int_equal(wire_cipher_encode(&c, 1, b, 56), 0);
}

static void test_round_trip(void **state)
{
	static const uint8_t key_lens[] = { 16, 24, 32, 64 };
	uint8_t data[512], b[4096];
	uint64_t s = 61;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct wire_cipher c = { data, data + 64, data + 192, data + 208,
					 key_lens[rnd_below(&s, 4)], (uint32_t)(1 + rnd_below(&s, 128)),
					 (uint32_t)(rnd(&s) & 1 ? 12 + rnd_below(&s, 5) : 0),
					 (uint32_t)rnd_below(&s, 300) };
		int with_tag = (int)rnd_below(&s, 2);
		struct wire_cipher d;
		size_t n;

		rnd_bytes(&s, data, sizeof(data));
		n = wire_cipher_encode(&c, with_tag, b, sizeof(b));
		assert_int_equal(n, 8 + c.key_len + c.iv_len + (with_tag ? c.tag_len : 0) + c.aad_len);
		assert_int_equal(wire_cipher_decode(&d, with_tag, b, n), WIRE_OK);
		assert_true(d.key_len == c.key_len && d.iv_len == c.iv_len);
		assert_true(d.tag_len == c.tag_len && d.aad_len == c.aad_len);
		assert_memory_equal(d.key, c.key, c.key_len);
		assert_memory_equal(d.iv, c.iv, c.iv_len);
		if (with_tag)
			assert_memory_equal(d.tag, c.tag, c.tag_len);
		assert_memory_equal(d.aad, c.aad, c.aad_len);
	}
}

/* Every operation and algorithm has one name, and the name leads back to it. */
static void test_names(void **state)
{
	unsigned int op, alg, nalg = 0, nop = 0;

	(void)state;
	for (op = 0; op < 70000; op++) {
		const char *name = wire_op_name((uint16_t)op);

		if (op < 65536 && name) {
			nop++;
			assert_int_equal(wire_op_number(name), op);
		}
		for (alg = 0; alg < 300 && op < 100; alg++) {
			name = wire_alg_name((uint16_t)op, (uint16_t)alg);
			if (name) {
				nalg++;
				assert_int_equal(wire_alg_number((uint16_t)op, name), alg);
			}
		}
	}
	assert_int_equal(nop, 17);
	assert_int_equal(nalg, 2 * 6 + 5 * 4 + 2 * 4 + 4 + 5);
	assert_int_equal(wire_op_number("compres"), 0);
	assert_int_equal(wire_op_number("compress "), 0);
	assert_int_equal(wire_op_number(""), 0);
	assert_int_equal(wire_op_number(NULL), 0);
	assert_int_equal(wire_alg_number(11, "deflate"), 0);
	assert_int_equal(wire_alg_number(1, "gzip"), 3);
	assert_string_equal(wire_alg_name(9, 4), "crc64-nvme");
}

static void test_codes_and_types(void **state)
{
	uint32_t code;
	int err;

	(void)state;
	for (code = 0; code < 28; code++)
		assert_non_null(wire_code_name(code));
	assert_null(wire_code_name(28));
	assert_null(wire_code_name(UINT32_MAX));
	assert_string_equal(wire_code_name(8), "OUTPUT_SHORT");
	assert_string_equal(wire_code_name(27), "INCOMPRESSIBLE");
	for (err = 0; err < 9; err++)
		assert_string_not_equal(wire_err_str((enum wire_err)err), "unknown error");
	assert_string_equal(wire_err_str((enum wire_err)9), "unknown error");
	assert_null(wire_type_name(0));
	assert_null(wire_type_name(7));
	assert_null(wire_type_name(0x7ffe));
	assert_string_equal(wire_type_name(2), "erasure coding");
	assert_string_equal(wire_type_name(0x7fff), "test");
	assert_string_equal(wire_type_name(0xffff), "vendor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	   cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_bad_fields), cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_codes_and_types),
	};

	return cmocka_run_group_tests_name("wire_cipher", tests, NULL, NULL);
}
