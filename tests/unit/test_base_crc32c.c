// SPDX-License-Identifier: BSD-2-Clause
/* CRC-32C by both implementations, and the little helpers of bits.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

typedef uint32_t (*crc_fn)(uint32_t crc, const void *p, size_t n);

static const crc_fn both[] = { base_crc32c, base_crc32c_table };

/* The catalogue's check value and the examples of RFC 3720, B.4. */
static void test_published(void **state)
{
	uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];
	size_t i;

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	for (i = 0; i < 32; i++) {
		up[i] = (uint8_t)i;
		down[i] = (uint8_t)(31 - i);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(both[i](0, "123456789", 9), 0xe3069283);
		assert_int_equal(both[i](0, zeros, 32), 0x8a9136aa);
		assert_int_equal(both[i](0, ones, 32), 0x62a8ab43);
		assert_int_equal(both[i](0, up, 32), 0x46dd794e);
		assert_int_equal(both[i](0, down, 32), 0x113fdb5c);
		assert_int_equal(both[i](0, NULL, 0), 0);
	}
}

static void test_every_length_and_alignment(void **state)
{
	uint64_t s = 88172645463325252ull;
	uint8_t buf[4200];
	size_t n, at, i;

	(void)state;
	rnd_bytes(&s, buf, sizeof(buf));
	for (n = 0; n < 300; n++)
		for (at = 0; at < 9; at++)
			for (i = 0; i < 2; i++)
				assert_int_equal(both[i](0, buf + at, n), slow_crc32c(buf + at, n));
	for (at = 0; at < 17; at++)
		for (i = 0; i < 2; i++)
			assert_int_equal(both[i](0, buf + at, 4096), slow_crc32c(buf + at, 4096));
}

/* The CRC of a whole is that of its second part begun with that of its first. */
static void test_continues(void **state)
{
	uint64_t s = 4101842887655102017ull;
	uint8_t buf[1000];
	int round;

	(void)state;
	rnd_bytes(&s, buf, sizeof(buf));
	for (round = 0; round < 2000; round++) {
		size_t n = rnd_below(&s, sizeof(buf) + 1), cut = rnd_below(&s, n + 1), i;

		for (i = 0; i < 2; i++)
			assert_int_equal(both[i](both[i](0, buf, cut), buf + cut, n - cut),
					 slow_crc32c(buf, n));
	}
}

/* One wrong number in the tables of single bits would show in one bit of one byte position. */
static void test_every_table_entry(void **state)
{
	uint8_t block[8] = { 0 };
	unsigned int at, v;

	(void)state;
	for (at = 0; at < 8; at++) {
		for (v = 0; v < 256; v++) {
			block[at] = (uint8_t)v;
			assert_int_equal(base_crc32c_table(0, block, 8), slow_crc32c(block, 8));
		}
		block[at] = 0;
	}
}

static void test_little_endian(void **state)
{
	uint8_t b[17] = { 0 };
	size_t at;

	(void)state;
	for (at = 0; at < 8; at++) {
		memset(b, 0xee, sizeof(b));
		le64_put(b + at, 0x0123456789abcdefull);
		assert_memory_equal(b + at, "\xef\xcd\xab\x89\x67\x45\x23\x01", 8);
		assert_true(le64_get(b + at) == 0x0123456789abcdefull);
		assert_int_equal(le32_get(b + at), 0x89abcdef);
		assert_int_equal(le16_get(b + at), 0xcdef);
		assert_int_equal(b[at + 8], 0xee);
		le32_put(b + at, 0xfedcba98);
		le16_put(b + at + 4, 0x7654);
		assert_memory_equal(b + at, "\x98\xba\xdc\xfe\x54\x76\x23\x01", 8);
	}
}

static void test_mem_is_zero(void **state)
{
	size_t n, at;

	(void)state;
	for (n = 0; n < 70; n++) {
		uint8_t *b = calloc(1, n ? n : 1);

		assert_non_null(b);
		assert_true(mem_is_zero(b, n));
		for (at = 0; at < n; at++) {
			b[at] = (uint8_t)(1 << at % 8);
			assert_false(mem_is_zero(b, n));
			assert_true(mem_is_zero(b, at));
			b[at] = 0;
		}
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_every_length_and_alignment),
		cmocka_unit_test(test_continues),
		cmocka_unit_test(test_every_table_entry),
		cmocka_unit_test(test_little_endian),
		cmocka_unit_test(test_mem_is_zero),
	};

	return cmocka_run_group_tests_name("base_crc32c", tests, NULL, NULL);
}
