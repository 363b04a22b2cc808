// SPDX-License-Identifier: BSD-2-Clause
/* gzip headers: the parser in one piece, in two, and zlib's must say the same. */
#include "fuzz_compress.h"
#include <zlib.h>

/* 0: not a header; 1: one, its length in *nbytes; 2: it ends too early. */
static int zlib_header(const uint8_t *in, size_t n, uint64_t *nbytes)
{
	uint8_t out[1];
	gz_header head = { 0 };
	z_stream z = { 0 };
	int rc, verdict;

	CHECK(inflateInit2(&z, 31) == Z_OK);
	CHECK(inflateGetHeader(&z, &head) == Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = 0;
	/* Z_BLOCK stops behind the header. */
	rc = inflate(&z, Z_BLOCK);
	*nbytes = z.total_in;
	verdict = head.done == 1 ? 1 : rc == Z_DATA_ERROR ? 0 : 2;
	inflateEnd(&z);
	return verdict;
}

static void in_two(const uint8_t *in, size_t n, size_t cut, enum engine_gzip_parse want, size_t nbytes)
{
	struct gzip_parser p;
	enum engine_gzip_parse rc;
	size_t used, more = 0;

	gzip_parser_init(&p);
	rc = gzip_parser_feed(&p, in, cut, &used);
	if (rc == ENGINE_GZIP_MORE) {
		CHECK(used == cut);
		rc = gzip_parser_feed(&p, in + cut, n - cut, &more);
	}
	CHECK(rc == want);
	CHECK(rc != ENGINE_GZIP_OK || used + more == nbytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct engine_gzip_header h;
	enum engine_gzip_parse rc;
	uint64_t nbytes;
	int verdict;
	size_t cut;

	if (n < 1 || n > FUZZ_ROOM)
		return 0;
	cut = data[0] % n;
	data++;
	n--;
	cut = BASE_MIN(cut, n);
	rc = engine_gzip_header(data, n, &h);
	in_two(data, n, cut, rc, h.nbytes);
	verdict = zlib_header(data, n, &nbytes);
	if (rc == ENGINE_GZIP_OK) {
		CHECK(verdict == 1 && nbytes == h.nbytes);
		CHECK(!h.name || h.name + strlen(h.name) < (const char *)data + n);
		CHECK(!h.comment || h.comment + strlen(h.comment) < (const char *)data + n);
		CHECK(!h.extra || h.extra + h.extra_len <= data + n);
	} else {
		CHECK(verdict != 1);
		/* zlib judges FLG two bytes at a time, so that it may see later than we do. */
		CHECK(rc != ENGINE_GZIP_MORE || verdict == 2);
	}
	return 0;
}
