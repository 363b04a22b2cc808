// SPDX-License-Identifier: BSD-2-Clause
/* What gunzip has to make of files that are not quite what one expects, and of members that claim to be ours.
 */
#include "stream_util.h"

static int unzip(struct env *e, const struct blob *in, uint32_t flags, struct blob *out,
		 struct accel_stream_info *info)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);

	o.flags = flags;
	return run(e->dev, &o, in->p, in->n, out, info);
}

/* ---- the truth table: what gzip 1.12 and others do with these, and what we want ---- */

#define HELLO "hello, world\n"

struct truth {
	const char *what;
	int members; /* of HELLO; -1: an empty member, then HELLO; -2: an empty member */
	const void *tail;
	size_t tail_len;
	size_t cut;
	int want;
	unsigned int zeros, garbage;
};

static void truth_make(const struct truth *t, struct blob *b)
{
	int i;

	for (i = 0; i < t->members; i++)
		member_add(b, HELLO, sizeof(HELLO) - 1, 6, NULL);
	if (t->members < 0)
		member_add(b, "", 0, 6, NULL);
	if (t->members == -1)
		member_add(b, HELLO, sizeof(HELLO) - 1, 6, NULL);
	blob_add(b, t->tail, t->tail_len);
	b->n -= t->cut;
}

static void test_truth(void **state)
{
	static const uint8_t pad[512];
	static const struct truth table[] = {
		{ "two members", 2, "", 0, 0, 0, 0, 0 },
		{ "garbage behind", 1, "GARBAGE", 7, 0, 0, 0, 1 },
		{ "zeros behind", 1, pad, 512, 0, 0, 1, 0 },
		{ "zeros, then garbage", 1, "\0\0\0x", 4, 0, 0, 0, 1 },
		{ "nothing", 0, "", 0, 0, -EBADMSG, 0, 0 },
		{ "an empty member", -2, "", 0, 0, 0, 0, 0 },
		{ "an empty member, then data", -1, "", 0, 0, 0, 0, 0 },
		{ "cut by 3", 1, "", 0, 3, -EBADMSG, 0, 0 },
		{ "half a magic", 1, "\x1f", 1, 0, -EBADMSG, 0, 0 },
		{ "another byte", 1, "x", 1, 0, 0, 0, 1 },
		{ "a magic and no more", 1, "\x1f\x8b", 2, 0, -EBADMSG, 0, 0 },
		{ "a header and no more", 1, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10, 0, -EBADMSG, 0, 0 },
		{ "another method", 1, "\x1f\x8b\x07\0\0\0\0\0\0\x03", 10, 0, -EBADMSG, 0, 0 },
		{ "only garbage", 0, "GARBAGE", 7, 0, -EBADMSG, 0, 0 },
		{ "only zeros", 0, pad, 512, 0, -EBADMSG, 0, 0 },
	};
	struct env *e = *state;
	unsigned int i, k;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct blob in = { 0 }, out = { 0 };
		struct accel_stream_info info;
		int rc;

		truth_make(&table[i], &in);
		rc = unzip(e, &in, 0, &out, &info);
		if (rc != table[i].want || info.trailing_garbage != table[i].garbage)
			print_error("%s: %d, garbage %u\n", table[i].what, rc, info.trailing_garbage);
		assert_int_equal(rc, table[i].want);
		assert_int_equal(info.trailing_garbage, table[i].garbage);
		if (!table[i].garbage)
			assert_int_equal(info.trailing_zeros, table[i].zeros);
		assert_int_equal(rc ? info.error[0] != 0 : info.error[0] == 0, 1);
		for (k = 0; !table[i].cut && k + 13 <= out.n; k += 13)
			assert_memory_equal(out.p + k, HELLO, 13);
		if (table[i].members > 0 && !table[i].cut)
			assert_int_equal(out.n, 13 * table[i].members);
		blob_free(&in);
		blob_free(&out);
	}
}

/* ---- headers ---- */

static void test_header_fields(void **state)
{
	static uint8_t extra[65535];
	static char name[] = "a name.txt", comment[] = "a comment";
	struct env *e = *state;
	gz_header h = { .time = 1234567,
			.extra = extra,
			.extra_len = sizeof(extra),
			.name = (Bytef *)name,
			.comment = (Bytef *)comment,
			.hcrc = 1,
			.os = 3 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);
	struct accel_stream_info info;
	struct blob in = { 0 }, out = { 0 };

	memset(extra, 'x', sizeof(extra));
	member_add(&in, HELLO, 13, 6, &h);
	/* 4-18: an extra field of the largest size, byte by byte. */
	assert_int_equal(run_steps(e->dev, &o, in.p, in.n, 1, 1, &out, &info), 0);
	assert_int_equal(out.n, 13);
	assert_int_equal(info.header_mtime, 1234567);
	assert_string_equal(info.header_name, name);
	blob_free(&out);
	in.p[65536] ^= 1; /* in the extra field, which FHCRC covers */
	assert_int_equal(unzip(e, &in, 0, &out, NULL), -EBADMSG);
	in.p[65536] ^= 1;
	in.p[3] |= 0x20; /* a reserved flag */
	assert_int_equal(unzip(e, &in, 0, &out, NULL), -EBADMSG);
	assert_int_equal(out.n, 0);
	blob_free(&in);
	blob_free(&out);
}

/* 4-14: a name without end is refused, and not waited for. */
static void test_endless_name(void **state)
{
	struct env *e = *state;
	struct blob in = { 0 }, out = { 0 };
	uint8_t *name = malloc(12 << 20);

	blob_add(&in, "\x1f\x8b\x08\x08\0\0\0\0\0\x03", 10);
	memset(name, 'n', 12 << 20);
	blob_add(&in, name, 12 << 20);
	assert_int_equal(unzip(e, &in, 0, &out, NULL), -EBADMSG);
	free(name);
	blob_free(&in);
	blob_free(&out);
}

/* The header that we write, as zlib reads it. */
static void test_our_header(void **state)
{
	struct env *e = *state;
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 9);
	struct accel_stream_info info;
	struct blob packed = { 0 }, out = { 0 };
	uint8_t name[100], extra[100], buf[100];
	gz_header h = { .name = name, .name_max = 100, .extra = extra, .extra_max = 100 };
	z_stream z = { 0 };

	o.name = "linux.tar";
	o.mtime = 1700000000;
	o.chunk_nbytes = 128 << 10;
	assert_int_equal(run(e->dev, &o, HELLO, 13, &packed, NULL), 0);
	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	assert_int_equal(inflateGetHeader(&z, &h), Z_OK);
	z.next_in = packed.p;
	z.avail_in = (uInt)packed.n;
	z.next_out = buf;
	z.avail_out = sizeof(buf);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(h.done, 1);
	assert_string_equal((char *)name, "linux.tar");
	assert_int_equal(h.time, 1700000000);
	assert_int_equal(h.extra_len, 8);
	assert_memory_equal(extra, "Ac\4\0\0\0\2\0", 8);
	inflateEnd(&z);
	assert_int_equal(unzip(e, &packed, 0, &out, &info), 0);
	assert_string_equal(info.header_name, "linux.tar");
	assert_int_equal(info.header_mtime, 1700000000);
	blob_free(&packed);
	blob_free(&out);
}

/* ---- many members ---- */

/* 3-17, 3-22: members of random sizes, ours and foreign ones, in one file; and only the first of them. */
static void test_members(void **state)
{
	struct env *e = *state;
	struct blob in = { 0 }, want = { 0 }, out = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_info info;
	uint32_t x = 77;
	size_t first = 0;
	unsigned int i;

	o.chunk_nbytes = 32768;
	for (i = 0; i < 60; i++) {
		struct blob part = blob_make((enum content)(rnd(&x) % CONTENTS),
					     rnd(&x) % (i % 7 ? 20000 : 300000));

		o.flags = i % 5 == 1 ? ACCEL_STREAM_BGZF : 0;
		if (i % 3 == 0)
			member_add(&in, part.p, part.n, 1 + i % 9, NULL);
		else
			assert_int_equal(run(e->dev, &o, part.p, part.n, &in, NULL), 0);
		blob_add(&want, part.p, part.n);
		first = i ? first : part.n;
		blob_free(&part);
	}
	assert_int_equal(unzip(e, &in, 0, &out, &info), 0);
	assert_same(&out, &want);
	assert_true(info.members >= 60);
	assert_int_equal(info.in_bytes, in.n);
	out.n = 0;
	assert_int_equal(unzip(e, &in, ACCEL_STREAM_ONE_MEMBER, &out, &info), 0);
	assert_int_equal(out.n, first);
	assert_memory_equal(out.p, want.p, first);
	assert_int_equal(info.members, 1);
	assert_true(info.in_bytes < in.n);
	/* The rest begins exactly there. */
	in.p += info.in_bytes;
	in.n -= info.in_bytes;
	out.n = 0;
	assert_int_equal(unzip(e, &in, 0, &out, NULL), 0);
	assert_int_equal(out.n, want.n - first);
	assert_memory_equal(out.p, want.p + first, out.n);
	in.p -= info.in_bytes;
	blob_free(&in);
	blob_free(&want);
	blob_free(&out);
}

/* Very many, very small: right, and not in as many small pieces. */
static void test_tiny_members(void **state)
{
	struct env *e = *state;
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);
	struct accel_stream_info info;
	struct blob in = { 0 }, one = { 0 };
	struct accel_stream *s;
	size_t at = 0, len = 0, peeks = 0;
	const void *q;
	ssize_t n;

	member_add(&one, HELLO, 13, 6, NULL);
	while (in.n < 3 << 20)
		blob_add(&in, one.p, one.n);
	assert_int_equal(accel_stream_open(e->dev, &o, &s), 0);
	for (;;) {
		if (at < in.n) {
			n = accel_stream_write(s, in.p + at, in.n - at);
			assert_true(n > 0 || n == -EAGAIN);
			at += n > 0 ? (size_t)n : 0;
			if (at == in.n)
				assert_int_equal(accel_stream_finish(s), 0);
		}
		n = accel_stream_peek(s, &q, 1);
		assert_true(n >= 0);
		if (!n && at == in.n)
			break;
		assert_int_equal(len % 13 ? 'h' : ((const char *)q)[0], 'h');
		len += (size_t)n;
		peeks++;
		accel_stream_consume(s, (size_t)n);
	}
	assert_int_equal(accel_stream_info(s, &info), 0);
	accel_stream_close(s);
	assert_int_equal(info.members, in.n / one.n);
	assert_int_equal(len, in.n / one.n * 13);
	assert_true(peeks < 1000);
	blob_free(&in);
	blob_free(&one);
}

/* ---- members that say that they are ours ---- */

struct forge {
	struct blob file;
	z_stream z;
	uLong crc;
	size_t len;
};

static void forge_open(struct forge *f, uint32_t chunk)
{
	uint8_t head[20] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 8, 0, 'A', 'c', 4, 0 };

	memset(f, 0, sizeof(*f));
	memcpy(head + 16,
	       (uint8_t[4]){ (uint8_t)chunk, (uint8_t)(chunk >> 8), (uint8_t)(chunk >> 16),
			     (uint8_t)(chunk >> 24) },
	       4);
	blob_add(&f->file, head, sizeof(head));
	f->crc = crc32(0, NULL, 0);
	assert_int_equal(deflateInit2(&f->z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
}

static void forge_add(struct forge *f, const void *in, size_t n, int level, int flush)
{
	uint8_t buf[4096];

	/* Changing the level ends a block of the old one. */
	f->z.next_in = (Bytef *)(uintptr_t) "";
	f->z.avail_in = 0;
	do {
		f->z.next_out = buf;
		f->z.avail_out = sizeof(buf);
		deflateParams(&f->z, level, Z_DEFAULT_STRATEGY);
		blob_add(&f->file, buf, sizeof(buf) - f->z.avail_out);
	} while (f->z.avail_out == 0);
	f->z.next_in = (Bytef *)(uintptr_t)in;
	f->z.avail_in = (uInt)n;
	do {
		f->z.next_out = buf;
		f->z.avail_out = sizeof(buf);
		deflate(&f->z, flush);
		blob_add(&f->file, buf, sizeof(buf) - f->z.avail_out);
	} while (f->z.avail_out == 0);
	f->crc = crc32(f->crc, in, (uInt)n);
	f->len += n;
}

static void forge_close(struct forge *f)
{
	uint8_t t[8];
	unsigned int i;

	forge_add(f, "", 0, 6, Z_FINISH);
	for (i = 0; i < 4; i++) {
		t[i] = (uint8_t)(f->crc >> 8 * i);
		t[4 + i] = (uint8_t)(f->len >> 8 * i);
	}
	blob_add(&f->file, t, 8);
	deflateEnd(&f->z);
}

static void forge_check(struct env *e, struct forge *f, const struct blob *want, int process)
{
	struct blob out = { 0 }, judged = { 0 };
	struct accel_stream_info info;

	assert_int_equal(judge_zlib(&f->file, 31, &judged), 0);
	assert_same(&judged, want);
	assert_int_equal(unzip(e, &f->file, 0, &out, &info), 0);
	assert_same(&out, want);
	if (process >= 0)
		assert_int_equal(info.cpu_bytes > 0, process);
	blob_free(&out);
	blob_free(&judged);
	blob_free(&f->file);
}

/* The chunk size of the header is a lie, smaller or larger than the truth, or absurd. */
static void test_wrong_chunk(void **state)
{
	static const uint32_t chunks[] = { 0,	  1,	  100,	   4096,    20000,    32768,
					   98304, 131072, 1 << 20, 2 << 20, 1u << 31, ~0u };
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 655360);
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	unsigned int i, k;

	o.chunk_nbytes = 65536;
	for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		struct forge f = { 0 };

		assert_int_equal(run(e->dev, &o, in.p, in.n, &f.file, NULL), 0);
		for (k = 0; k < 4; k++)
			f.file.p[16 + k] = (uint8_t)(chunks[i] >> 8 * k);
		/* An absurd one is not believed, and twice the truth does: the device can do both. */
		forge_check(e, &f, &in, chunks[i] >= 4096 && chunks[i] <= 2 << 20 && chunks[i] != 131072);
	}
	blob_free(&in);
}

/* Flushed where ours are, but with references across: only the first chunk can be decoded alone. */
static void test_references_across(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(TEXT, 500000);
	struct forge f;
	size_t at;

	forge_open(&f, 50000);
	for (at = 0; at < in.n; at += 50000)
		forge_add(&f, in.p + at, 50000, 6, Z_SYNC_FLUSH);
	forge_close(&f);
	forge_check(e, &f, &in, 1);
	/* The same with chunks smaller than a window, so that it spans several. */
	forge_open(&f, 5000);
	for (at = 0; at < in.n; at += 5000)
		forge_add(&f, in.p + at, 5000, 6, at < 100000 ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
	forge_close(&f);
	forge_check(e, &f, &in, 1);
	blob_free(&in);
}

/* A flush in the middle of a chunk: a true place between blocks, but no end of a chunk. */
static void test_flush_inside(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(TEXT, 400000);
	struct forge f;
	size_t at;

	forge_open(&f, 40000);
	for (at = 0; at < in.n; at += 20000)
		forge_add(&f, in.p + at, 20000, 6, at % 40000 ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
	forge_close(&f);
	forge_check(e, &f, &in, 0);
	blob_free(&in);
}

/* What ends a chunk, inside stored blocks behind others: a few times (tried on), many times (in the process).
 */
static void test_false_markers(void **state)
{
	struct env *e = *state;
	unsigned int many;

	for (many = 0; many < 2; many++) {
		struct blob in = { 0 }, noise = blob_make(RANDOM, 20000), text = blob_make(TEXT, 20000);
		struct forge f;
		unsigned int i, k;

		for (k = 0; k < (many ? 40 : 4); k++)
			memcpy(noise.p + 100 + 400 * k, "\0\0\xff\xff", 4);
		forge_open(&f, 40000);
		for (i = 0; i < 12; i++) {
			forge_add(&f, text.p, text.n, 6, Z_NO_FLUSH);
			forge_add(&f, noise.p, noise.n, 0, Z_FULL_FLUSH);
			blob_add(&in, text.p, text.n);
			blob_add(&in, noise.p, noise.n);
		}
		forge_close(&f);
		forge_check(e, &f, &in, (int)many);
		blob_free(&in);
		blob_free(&noise);
		blob_free(&text);
	}
}

/* An empty block more at the end, a last block that is not empty, no chunk at all. */
static void test_odd_ends(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(TEXT, 100000), none = { 0 };
	struct forge f;

	forge_open(&f, 50000);
	forge_add(&f, in.p, 50000, 6, Z_FULL_FLUSH);
	forge_add(&f, in.p + 50000, 50000, 6, Z_FULL_FLUSH);
	forge_add(&f, "", 0, 6, Z_FULL_FLUSH);
	forge_close(&f);
	forge_check(e, &f, &in, -1);
	forge_open(&f, 50000);
	forge_add(&f, in.p, 50000, 6, Z_FULL_FLUSH);
	forge_add(&f, in.p + 50000, 50000, 6, Z_NO_FLUSH);
	forge_close(&f);
	forge_check(e, &f, &in, 1);
	forge_open(&f, 50000);
	forge_close(&f);
	forge_check(e, &f, &none, -1);
	blob_free(&in);
}

/* BGZF whose BSIZE is a lie. */
static void test_wrong_bsize(void **state)
{
	static const int by[] = { -1000, -1, 1, 1000, 30000 };
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 200000), packed = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	unsigned int i;

	o.flags = ACCEL_STREAM_BGZF;
	assert_int_equal(run(e->dev, &o, in.p, in.n, &packed, NULL), 0);
	for (i = 0; i < 5; i++) {
		int bsize = packed.p[16] | packed.p[17] << 8, lie = bsize + by[i];
		struct forge f = { 0 };

		blob_add(&f.file, packed.p, packed.n);
		f.file.p[16] = (uint8_t)lie;
		f.file.p[17] = (uint8_t)(lie >> 8);
		forge_check(e, &f, &in, 1);
	}
	blob_free(&in);
	blob_free(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),	     cmocka_unit_test(test_header_fields),
		cmocka_unit_test(test_endless_name), cmocka_unit_test(test_our_header),
		cmocka_unit_test(test_members),	     cmocka_unit_test(test_tiny_members),
		cmocka_unit_test(test_wrong_chunk),  cmocka_unit_test(test_references_across),
		cmocka_unit_test(test_flush_inside), cmocka_unit_test(test_false_markers),
		cmocka_unit_test(test_odd_ends),     cmocka_unit_test(test_wrong_bsize),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
