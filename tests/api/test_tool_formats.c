/* SPDX-License-Identifier: BSD-2-Clause */
/* The command's file formats and its histogram, against their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "../../tools/accel/bench_hist.c"
#include "../../tools/accel/ec_crc.c"
#include "../../tools/accel/ec_format.c"

static struct ec_head head(unsigned int k, unsigned int m, uint32_t block, uint64_t nbytes)
{
	struct ec_head h = { .k = (uint8_t)k, .m = (uint8_t)m, .block_nbytes = block, .file_nbytes = nbytes,
			     .mode = 0644, .mtime = -5, .name = "name" };

	memset(h.uuid, 7, sizeof(h.uuid));
	ec_head_layout(&h);
	return h;
}

static void crc_check_value(void **state)
{
	(void)state;
	assert_int_equal(ec_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(ec_crc32c(ec_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
	assert_int_equal(ec_crc32c(0, "", 0), 0);
}

/* Every byte of the file has one place, and the padding is less than 512 bytes a block. */
static void layout(void **state)
{
	static const struct { unsigned int k, m; uint32_t block; } shapes[] = {
		{ 1, 1, 512 }, { 10, 2, 65536 }, { 32, 4, 131072 }, { 254, 1, 512 }, { 3, 2, 1536 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		uint64_t stripe = (uint64_t)shapes[i].k * shapes[i].block;
		const uint64_t sizes[] = { 0,	       1,      511,	   512,		     513,
					   stripe - 1, stripe, stripe + 1, 3 * stripe + 777 };

		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			struct ec_head h = head(shapes[i].k, shapes[i].m, shapes[i].block, sizes[j]);
			uint64_t room = 0, blocks = 0;

			assert_null(ec_head_check(&h));
			for (uint64_t s = 0; s < h.nstripe; s++) {
				uint32_t n = ec_block_nbytes(&h, s);

				assert_true(n && n <= h.block_nbytes && n % 512 == 0);
				assert_int_equal(ec_block_off(&h, s), 512 + blocks);
				room += (uint64_t)n * h.k;
				blocks += n + 4;
			}
			assert_true(room >= sizes[j] && room - sizes[j] < 512ull * h.k + 512);
			assert_int_equal(ec_shard_nbytes(&h), 1024 + blocks);
		}
	}
}

static void header_round_trip(void **state)
{
	struct ec_head h = head(10, 2, 65536, 3000000), got;
	uint8_t page[EC_HEAD_NBYTES];

	(void)state;
	h.index = 11;
	ec_head_encode(&h, page);
	assert_null(ec_head_decode(&got, page));
	assert_memory_equal(&h.uuid, &got.uuid, 16);
	assert_string_equal(got.name, "name");
	assert_int_equal(got.index, 11);
	assert_int_equal(got.mtime, -5);
	assert_true(ec_head_same_set(&h, &got));
	got.mode = 0600;
	assert_false(ec_head_same_set(&h, &got));
}

/* No bit of a header may change, whether its checksum is made right again or not, but those that are free. */
static void header_bits(void **state)
{
	struct ec_head h = head(10, 2, 65536, 3000000), got;
	uint8_t page[EC_HEAD_NBYTES], bad[EC_HEAD_NBYTES];
	unsigned int free_bits = 0;

	(void)state;
	ec_head_encode(&h, page);
	for (unsigned int bit = 0; bit < 8 * EC_HEAD_NBYTES; bit++) {
		memcpy(bad, page, sizeof(bad));
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_non_null(ec_head_decode(&got, bad));
		if (bit / 8 >= AT_CRC)
			continue;
		put_le(bad + AT_CRC, 4, ec_crc32c(0, bad, AT_CRC));
		if (!ec_head_decode(&got, bad)) {
			assert_false(got.index == h.index && ec_head_same_set(&h, &got));
			free_bits++;
		}
	}
	/* uuid and mtime any, name and mode nearly, index and the length within what fits the layout. */
	assert_in_range(free_bits, 128 + 64, 128 + 64 + 12 + 32 + 8 + 32);
}

static void names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/", "../../etc/passwd" };
	struct ec_head h = head(10, 2, 512, 1), got;
	uint8_t page[EC_HEAD_NBYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(h.name, bad[i]);
		ec_head_encode(&h, page);
		assert_non_null(ec_head_decode(&got, page));
	}
	memset(h.name, 'x', EC_NAME_MAX);
	ec_head_encode(&h, page);
	assert_null(ec_head_decode(&got, page));
	assert_int_equal(strlen(got.name), 255);
}

/* The check tells sets, shards and stripes apart. */
static void places(void **state)
{
	struct ec_head a = head(10, 2, 512, 100000), b = a;

	(void)state;
	b.uuid[15] ^= 1;
	assert_int_not_equal(ec_place_crc(&a, 0, 0), ec_place_crc(&b, 0, 0));
	assert_int_not_equal(ec_place_crc(&a, 0, 1), ec_place_crc(&a, 1, 0));
	assert_int_not_equal(ec_place_crc(&a, 0, 1), ec_place_crc(&a, 0, 1ull << 32));
}

static void percentiles(void **state)
{
	static struct bench_hist h, half[2];
	const double q[] = { 0, 0.01, 0.5, 0.9, 0.99, 0.999, 1 };
	uint64_t n = 1000000, last = 0;

	(void)state;
	for (uint64_t v = 1; v <= n; v++)
		bench_hist_add(&half[v & 1], v * 37);
	bench_hist_merge(&h, &half[0]);
	bench_hist_merge(&h, &half[1]);
	assert_int_equal(h.n, n);
	assert_int_equal(h.max, n * 37);
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		double want = 37 * (q[i] * (double)n < 1 ? 1 : q[i] * (double)n);
		uint64_t got = bench_hist_at(&h, q[i]);

		assert_true((double)got >= want * 0.999 && (double)got <= want * 1.017 + 37);
		assert_true(got >= last);
		last = got;
	}
}

static void histogram_ends(void **state)
{
	static struct bench_hist h;

	(void)state;
	assert_int_equal(bench_hist_at(&h, 0.5), 0);
	bench_hist_add(&h, 0);
	assert_int_equal(bench_hist_at(&h, 1), 0);
	bench_hist_add(&h, UINT64_MAX);
	assert_int_equal(bench_hist_at(&h, 0.4), 0);
	assert_true(bench_hist_at(&h, 1) >= 1ull << 40);
	/* Bins join without gap or overlap. */
	for (uint64_t v = 1; v < 1 << 20; v++)
		assert_in_range(bin_of(v) - bin_of(v - 1), 0, 1);
	for (unsigned int i = 0; i + 1 < HIST_NBIN; i++)
		assert_true(bin_of(top_of(i)) == i && bin_of(top_of(i) + 1) == i + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_check_value),
		cmocka_unit_test(layout),
		cmocka_unit_test(header_round_trip),
		cmocka_unit_test(header_bits),
		cmocka_unit_test(names),
		cmocka_unit_test(places),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(histogram_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
