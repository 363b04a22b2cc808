// SPDX-License-Identifier: BSD-2-Clause
/* The gzip header: every field, every cut, every flag that must be refused, in one piece and in many. */
#include "compress_util.h"

#define TEXT_MAX (1u << 20)

struct head {
	uint8_t *p;
	size_t n;
};

enum { HCRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };

static void put(struct head *h, const void *p, size_t n)
{
	memcpy(h->p + h->n, p, n);
	h->n += n;
}

/* A header with these fields; name_len bytes of name. Freed by the caller. */
static struct head head_make(unsigned int flg, size_t extra_len, size_t name_len, size_t comment_len)
{
	struct head h = { calloc(1, 64 + extra_len + name_len + comment_len), 0 };
	uint8_t fixed[10] = { 0x1f, 0x8b, 8, (uint8_t)flg, 0x78, 0x56, 0x34, 0x12, 2, 3 };
	uint8_t two[2];
	uint32_t crc;

	assert_non_null(h.p);
	put(&h, fixed, sizeof(fixed));
	if (flg & EXTRA) {
		le16_put(two, (uint16_t)extra_len);
		put(&h, two, 2);
		memset(h.p + h.n, 0, extra_len);
		h.n += extra_len;
	}
	if (flg & NAME) {
		memset(h.p + h.n, 'n', name_len);
		h.n += name_len + 1;
	}
	if (flg & COMMENT) {
		memset(h.p + h.n, 'c', comment_len);
		h.n += comment_len + 1;
	}
	if (flg & HCRC) {
		crc = (uint32_t)crc32(0, h.p, (uInt)h.n);
		le16_put(two, (uint16_t)crc);
		put(&h, two, 2);
	}
	return h;
}

/* The same through the parser that streams use, in pieces of step bytes. */
static enum engine_gzip_parse in_pieces(const uint8_t *in, size_t n, size_t step, uint64_t *nbytes)
{
	enum engine_gzip_parse rc = ENGINE_GZIP_MORE;
	struct gzip_parser p;
	size_t at = 0, used;

	gzip_parser_init(&p);
	while (rc == ENGINE_GZIP_MORE && at < n) {
		size_t len = BASE_MIN(step, n - at);

		rc = gzip_parser_feed(&p, in + at, len, &used);
		if (rc == ENGINE_GZIP_MORE)
			assert_int_equal(used, len);
		at += used;
	}
	*nbytes = at;
	return rc;
}

static void fields(void **state)
{
	unsigned int flg;

	(void)state;
	for (flg = 0; flg < 32; flg++) {
		struct head h = head_make(flg, 300, 5, 7);
		struct engine_gzip_header g;
		uint64_t nbytes;
		size_t n;

		for (n = 0; n < h.n; n++)
			assert_int_equal(engine_gzip_header(h.p, n, &g), ENGINE_GZIP_MORE);
		assert_int_equal(engine_gzip_header(h.p, h.n, &g), ENGINE_GZIP_OK);
		assert_int_equal(g.nbytes, h.n);
		assert_int_equal(g.mtime, 0x12345678);
		assert_int_equal(g.flg, flg);
		assert_int_equal(g.xfl, 2);
		assert_int_equal(g.os, 3);
		assert_int_equal(g.extra != NULL, (flg & EXTRA) != 0);
		assert_int_equal(g.extra_len, flg & EXTRA ? 300 : 0);
		assert_true(!g.name == !(flg & NAME) && (!g.name || !strcmp(g.name, "nnnnn")));
		assert_true(!g.comment == !(flg & COMMENT) && (!g.comment || !strcmp(g.comment, "ccccccc")));
		if (g.extra)
			assert_ptr_equal(g.extra, h.p + 12);
		for (n = 1; n < 20; n++) {
			assert_int_equal(in_pieces(h.p, h.n, n, &nbytes), ENGINE_GZIP_OK);
			assert_int_equal(nbytes, h.n);
		}
		/* What follows is not looked at. */
		h.p[h.n] = 0xff;
		assert_int_equal(engine_gzip_header(h.p, h.n + 1, &g), ENGINE_GZIP_OK);
		assert_int_equal(g.nbytes, h.n);
		free(h.p);
	}
}

static void wrong_fixed_part(void **state)
{
	struct engine_gzip_header g;
	struct head h = head_make(0, 0, 0, 0);
	unsigned int v;

	(void)state;
	for (v = 0; v < 256; v++) {
		h.p[0] = (uint8_t)v;
		assert_int_equal(engine_gzip_header(h.p, h.n, &g),
				 v == 0x1f ? ENGINE_GZIP_OK : ENGINE_GZIP_NOT);
		assert_int_equal(engine_gzip_header(h.p, 1, &g),
				 v == 0x1f ? ENGINE_GZIP_MORE : ENGINE_GZIP_NOT);
		h.p[0] = 0x1f;
		h.p[1] = (uint8_t)v;
		assert_int_equal(engine_gzip_header(h.p, h.n, &g),
				 v == 0x8b ? ENGINE_GZIP_OK : ENGINE_GZIP_NOT);
		h.p[1] = 0x8b;
		h.p[2] = (uint8_t)v;
		assert_int_equal(engine_gzip_header(h.p, h.n, &g), v == 8 ? ENGINE_GZIP_OK : ENGINE_GZIP_BAD);
		h.p[2] = 8;
		h.p[3] = (uint8_t)v;
		if (v & 0xe0)
			assert_int_equal(engine_gzip_header(h.p, h.n, &g), ENGINE_GZIP_BAD);
		h.p[3] = 0;
	}
	free(h.p);
}

/* FHCRC: each bit of a header that it covers. FLG itself may turn into another valid header or a longer one.
 */
static void header_crc(void **state)
{
	struct head h = head_make(HCRC | EXTRA | NAME | COMMENT, 20, 30, 40);
	struct engine_gzip_header g;
	size_t bit;

	(void)state;
	for (bit = 0; bit < h.n * 8; bit++) {
		enum engine_gzip_parse rc;

		h.p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		rc = engine_gzip_header(h.p, h.n, &g);
		if (bit / 8 != 3)
			assert_int_not_equal(rc, ENGINE_GZIP_OK);
		h.p[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(engine_gzip_header(h.p, h.n, &g), ENGINE_GZIP_OK);
	free(h.p);
}

/* 4-18: the largest extra field, a byte at a time. */
static void largest_extra(void **state)
{
	struct head h = head_make(HCRC | EXTRA, 65535, 0, 0);
	uint64_t nbytes;

	(void)state;
	assert_int_equal(in_pieces(h.p, h.n, 1, &nbytes), ENGINE_GZIP_OK);
	assert_int_equal(nbytes, h.n);
	assert_int_equal(in_pieces(h.p, h.n, 4096, &nbytes), ENGINE_GZIP_OK);
	h.p[65535] ^= 1;
	assert_int_equal(in_pieces(h.p, h.n, 1, &nbytes), ENGINE_GZIP_BAD);
	free(h.p);
}

/* 4-14: a name that never ends is refused after 1 MiB, whatever the pieces. */
static void endless_text(void **state)
{
	static const size_t steps[] = { 1, 7, 65536, 3u << 20 };
	unsigned int i, flg;
	uint64_t nbytes;

	(void)state;
	for (flg = NAME; flg <= COMMENT; flg += NAME) {
		struct head fits = head_make(flg, 0, TEXT_MAX - 1, TEXT_MAX - 1);
		struct head over = head_make(flg, 0, TEXT_MAX, TEXT_MAX);

		for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			assert_int_equal(in_pieces(fits.p, fits.n, steps[i], &nbytes), ENGINE_GZIP_OK);
			assert_int_equal(in_pieces(over.p, over.n, steps[i], &nbytes), ENGINE_GZIP_BAD);
		}
		free(fits.p);
		free(over.p);
	}
}

static void never_reads_beyond(void **state)
{
	struct head h = head_make(HCRC | EXTRA | NAME | COMMENT, 9, 8, 7);
	struct engine_gzip_header g;
	size_t n;

	(void)state;
	for (n = 0; n <= h.n; n++) {
		struct guarded m = guarded_new(n, 0);

		memcpy(m.p, h.p, n);
		assert_int_equal(engine_gzip_header(m.p, n, &g),
				 n == h.n ? ENGINE_GZIP_OK : ENGINE_GZIP_MORE);
		guarded_free(&m);
	}
	free(h.p);
}

/* The headers that zlib makes and reads are ours as well. */
static void zlib_makes_them(void **state)
{
	uint8_t extra[50] = { 7 }, out[400], in[10] = "some text";
	struct engine_gzip_header g;
	gz_header head = { 0 };
	z_stream z = { 0 };

	(void)state;
	head.time = 99;
	head.extra = extra;
	head.extra_len = sizeof(extra);
	head.name = (Bytef *)(uintptr_t) "a name";
	head.comment = (Bytef *)(uintptr_t) "a comment";
	head.hcrc = 1;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, 0), Z_OK);
	assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
	z.next_in = in;
	z.avail_in = sizeof(in);
	z.next_out = out;
	z.avail_out = sizeof(out);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	assert_int_equal(engine_gzip_header(out, z.total_out, &g), ENGINE_GZIP_OK);
	assert_string_equal(g.name, "a name");
	assert_string_equal(g.comment, "a comment");
	assert_int_equal(g.extra_len, sizeof(extra));
	assert_memory_equal(g.extra, extra, sizeof(extra));
	assert_int_equal(g.mtime, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),	    cmocka_unit_test(wrong_fixed_part),
		cmocka_unit_test(header_crc),	    cmocka_unit_test(largest_extra),
		cmocka_unit_test(endless_text),   cmocka_unit_test(never_reads_beyond),
		cmocka_unit_test(zlib_makes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
