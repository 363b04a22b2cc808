// SPDX-License-Identifier: BSD-2-Clause
/* The walk over deflate streams, against zlib: lengths, ends, last blocks, and what both refuse. */
#include "compress_util.h"

#define MAX_N 200000u

static uint64_t work[SKIM_WORK_NBYTES / 8];

static int setup(void **state)
{
	return fixture_new(state, MAX_N, 2 * MAX_N, 1u << 20);
}

struct blocks {
	uint64_t last_bit, end_bit, out_len;
};

/* Where zlib finds the last block: it stops behind each one if asked to. -1: bad stream. */
static int zlib_blocks(const uint8_t *in, size_t n, uint8_t *out, size_t max, struct blocks *b)
{
	z_stream z = { 0 };
	int rc;

	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = (uInt)max;
	b->last_bit = b->end_bit = 0;
	do {
		rc = inflate(&z, Z_BLOCK);
		if (rc == Z_OK && z.data_type & 0x80) {
			b->last_bit = b->end_bit;
			b->end_bit = (uint64_t)z.total_in * 8 - (z.data_type & 0x3f);
		}
	} while (rc == Z_OK && z.avail_out && (z.avail_in || z.data_type & 0x80));
	b->out_len = z.total_out;
	inflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -1;
}

static void agree(struct fixture *f, size_t n)
{
	struct blocks b;
	struct skim s;
	int bad = zlib_blocks(f->mid, n, f->out, 1u << 20, &b);

	assert_int_equal(deflate_skim(work, f->mid, n, 0, &s), bad);
	if (bad)
		return;
	assert_int_equal(s.out_len, b.out_len);
	assert_int_equal(s.end_bit, b.end_bit);
	assert_int_equal(s.last_bit, b.last_bit);
	assert_int_equal(s.final, 1);
}

static size_t zlib_make(struct fixture *f, size_t n, int level, int strategy, int mem_level, int flush_at)
{
	z_stream z = { 0 };
	size_t half = flush_at ? n / 2 : n;

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, mem_level, strategy), Z_OK);
	z.next_in = f->in;
	z.avail_in = (uInt)half;
	z.next_out = f->mid;
	z.avail_out = 2 * MAX_N;
	if (flush_at)
		assert_int_equal(deflate(&z, flush_at), Z_OK);
	z.avail_in = (uInt)(n - (z.next_in - f->in));
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

/* Every strategy of zlib, which between them make every kind of block (4-18: Z_FIXED as well). */
static void streams_of_all_kinds(void **state)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED };
	static const int flushes[] = { 0, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK };
	struct fixture *f = *state;
	uint64_t seed = 8;
	unsigned int i;

	for (i = 0; i < 1500; i++) {
		size_t n = rnd(&seed) % (i % 4 ? 3000 : MAX_N / 2);

		switch (rnd(&seed) % 3) {
		case 0:
			fill_text(f->in, n, rnd(&seed));
			break;
		case 1:
			fill_noise(f->in, n, rnd(&seed));
			break;
		default:
			fill_mixed(f->in, n, rnd(&seed));
		}
		agree(f, zlib_make(f, n, (int)(rnd(&seed) % 10), strategies[rnd(&seed) % 5],
				   1 + (int)(rnd(&seed) % 9), flushes[rnd(&seed) % 5]));
	}
}

static void damaged_and_cut(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 9;
	unsigned int i, k;
	size_t n, made, bad = 0;
	struct blocks b;

	for (i = 0; i < 6000; i++) {
		n = 1 + rnd(&seed) % 4000;
		fill_mixed(f->in, n, rnd(&seed));
		made = zlib_make(f, n, (int)(rnd(&seed) % 10), Z_DEFAULT_STRATEGY, 8, 0);
		if (i % 3 == 0)
			made = rnd(&seed) % made;
		else
			for (k = 0; k < 1 + i % 3; k++)
				f->mid[rnd(&seed) % made] ^= (uint8_t)(1u << rnd(&seed) % 8);
		bad += zlib_blocks(f->mid, made, f->out, 1u << 20, &b) != 0;
		agree(f, made);
	}
	assert_true(bad > 2000);
}

static void noise_as_stream(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 10;
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		size_t n = 1 + rnd(&seed) % 100;

		fill_noise(f->mid, n, rnd(&seed));
		/* Mostly dynamic and fixed blocks: a stored one made of noise fails at once. */
		if (i % 4)
			f->mid[0] = (uint8_t)((f->mid[0] & 0xf8) | (i & 1) | (i & 2 ? 2 : 4));
		agree(f, n);
	}
}

/* No byte outside the input is looked at, wherever it is cut. */
static void stays_inside(void **state)
{
	struct fixture *f = *state;
	size_t made, n;
	struct skim s;

	fill_text(f->in, 3000, 4);
	made = zlib_make(f, 3000, 6, Z_DEFAULT_STRATEGY, 8, 0);
	for (n = 0; n <= made; n++) {
		struct guarded g = guarded_new(n, (int)(n & 1));

		memcpy(g.p, f->mid, n);
		assert_int_equal(deflate_skim(work, g.p, n, 0, &s), n == made ? 0 : -1);
		guarded_free(&g);
	}
}

static void chunk_may_end_between_blocks(void **state)
{
	static const uint8_t flush[] = { 0, 0, 0, 0xff, 0xff };
	struct fixture *f = *state;
	size_t made;
	struct skim s;

	assert_int_equal(deflate_skim(work, flush, sizeof(flush), 0, &s), -1);
	assert_int_equal(deflate_skim(work, flush, sizeof(flush), 1, &s), 0);
	assert_int_equal(s.final, 0);
	assert_int_equal(s.out_len, 0);
	assert_int_equal(s.end_bit, 40);
	assert_int_equal(deflate_skim(work, flush, 0, 1, &s), -1);
	fill_text(f->in, 3000, 4);
	made = zlib_make(f, 3000, 6, Z_DEFAULT_STRATEGY, 8, 0);
	memcpy(f->mid + made, flush, sizeof(flush));
	/* Behind a final block nothing counts. */
	assert_int_equal(deflate_skim(work, f->mid, made + 5, 1, &s), 0);
	assert_int_equal(s.final, 1);
	assert_int_equal((s.end_bit + 7) / 8, made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_of_all_kinds), cmocka_unit_test(damaged_and_cut),
		cmocka_unit_test(noise_as_stream),	 cmocka_unit_test(stays_inside),
		cmocka_unit_test(chunk_may_end_between_blocks),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
