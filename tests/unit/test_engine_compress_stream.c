// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sequential decompression: pieces of any size, the exact end, what follows it; and the truth table of what
 * tools make of odd gzip files, as far as it is a matter of the engine.
 */
#include "compress_util.h"
#include <lz4frame.h>
#include <zstd.h>

#define MAX_N 300000u

static int setup(void **state)
{
	return fixture_new(state, MAX_N, 2 * MAX_N, 2 * MAX_N);
}

static const uint16_t algs[] = { NVME_ACCEL_ALG_DEFLATE, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_GZIP,
				 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_ZSTD };
#define NALGS (sizeof(algs) / sizeof(algs[0]))

/* One member in pieces of at most in_step and out_step bytes (random ones if seed); where it ended. */
static enum engine_stream_state member(struct engine_stream *s, const uint8_t *in, size_t n, size_t in_step,
				       uint8_t *out, size_t out_step, uint64_t *seed, size_t *used,
				       size_t *made)
{
	enum engine_stream_state st = ENGINE_STREAM_MORE;
	size_t at = 0, left, took, room;
	unsigned int idle = 0;
	uint32_t code;

	*made = 0;
	while (st == ENGINE_STREAM_MORE && idle < 2) {
		took = left = least(n - at, seed ? rnd(seed) % (in_step + 1) : in_step);
		room = seed ? rnd(seed) % (out_step + 1) : out_step;
		st = engine_stream_step(s, in + at, &left, out + *made, &room, &code);
		assert_true(left <= took);
		assert_true(st != ENGINE_STREAM_ERROR || code != NVME_ACCEL_OK);
		took -= left;
		at += took;
		*made += room;
		idle = at == n && !room ? idle + 1 : 0;
		assert_true(*made <= 2 * MAX_N - out_step);
	}
	*used = at;
	return st;
}

static void pieces_of_any_size(void **state)
{
	static const size_t steps[] = { 1, 2, 3, 7, 100, 4096, 65536, MAX_N };
	struct fixture *f = *state;
	unsigned int a, i, o, level;
	size_t n = 20000, made, used, got;
	uint32_t code;
	struct job job;

	fill_mixed(f->in, n, 3);
	for (a = 0; a < NALGS; a++) {
		struct engine_stream *s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, algs[a], 0, &code);

		assert_non_null(s);
		for (level = 0; level < COMP_LEVELS; level += 3) {
			assert_int_equal(run_flat(f->t, NULL,
						  stage_of(NVME_ACCEL_OP_COMPRESS, algs[a], level, 0, 0),
						  f->in, n, f->mid, 2 * MAX_N, &job),
					 NVME_ACCEL_OK);
			made = job.out_len;
			memset(f->mid + made, 0x5a, 32);
			for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
				for (o = 0; o < sizeof(steps) / sizeof(steps[0]); o += 1 + (i > 2)) {
					engine_stream_reset(s);
					assert_int_equal(member(s, f->mid, made + 32, steps[i], f->out,
								steps[o], NULL, &used, &got),
							 ENGINE_STREAM_END);
					assert_int_equal(used, made);
					assert_int_equal(got, n);
					assert_memory_equal(f->in, f->out, n);
				}
			}
		}
		engine_stream_free(s);
	}
}

/* Random pieces, empty ones among them; members one behind the other; what is left is exact. (3-22, 4-02) */
static void members_in_random_pieces(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 31;
	unsigned int round, k;
	size_t used, got;
	uint32_t code;
	struct job job;

	for (round = 0; round < 400; round++) {
		uint16_t alg = algs[round % NALGS];
		struct engine_stream *s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, alg, 0, &code);
		size_t at[4] = { 0 }, end[4] = { 0 }, from = 0, to = 0;

		assert_non_null(s);
		for (k = 0; k < 3; k++) {
			size_t n = rnd(&seed) % (round % 3 ? 500 : 60000);

			fill_mixed(f->in + from, n, rnd(&seed));
			assert_int_equal(run_flat(f->t, NULL,
						  stage_of(NVME_ACCEL_OP_COMPRESS, alg, rnd(&seed) % 8, 0, 0),
						  f->in + from, n, f->mid + to, 2 * MAX_N - to, &job),
					 NVME_ACCEL_OK);
			from += n;
			to += job.out_len;
			at[k + 1] = from;
			end[k] = to;
		}
		for (k = 0, to = 0; k < 3; k++) {
			engine_stream_reset(s);
			assert_int_equal(member(s, f->mid + to, end[2] - to, round % 7 ? 300 : 70000, f->out,
						round % 5 ? 300 : 70000, &seed, &used, &got),
					 ENGINE_STREAM_END);
			to += used;
			assert_int_equal(to, end[k]);
			assert_int_equal(got, at[k + 1] - at[k]);
			assert_memory_equal(f->in + at[k], f->out, got);
		}
		engine_stream_free(s);
	}
}

/* Cut anywhere, it never ends; damaged anywhere, it never ends well with other output. */
static void cut_or_damaged(void **state)
{
	struct fixture *f = *state;
	size_t n = 1500, made, used, got, i;
	unsigned int a;
	uint32_t code;
	struct job job;

	fill_text(f->in, n, 8);
	for (a = 0; a < NALGS; a++) {
		struct engine_stream *s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, algs[a], 0, &code);

		assert_int_equal(run_flat(f->t, NULL, stage_of(NVME_ACCEL_OP_COMPRESS, algs[a], 6, 0, 0),
					  f->in, n, f->mid, 2 * MAX_N, &job),
				 NVME_ACCEL_OK);
		made = job.out_len;
		for (i = 0; i < made; i++) {
			engine_stream_reset(s);
			assert_int_equal(member(s, f->mid, i, 50, f->out, 300, NULL, &used, &got),
					 ENGINE_STREAM_MORE);
			assert_int_equal(used, i);
		}
		for (i = 0; i < made * 8; i += 3) {
			engine_stream_reset(s);
			f->mid[i / 8] ^= (uint8_t)(1u << i % 8);
			if (member(s, f->mid, made, 99, f->out, 2000, NULL, &used, &got) ==
				    ENGINE_STREAM_END &&
			    algs[a] != NVME_ACCEL_ALG_DEFLATE && i / 8 > 10) {
				assert_int_equal(got, n);
				assert_memory_equal(f->in, f->out, n);
			}
			f->mid[i / 8] ^= (uint8_t)(1u << i % 8);
		}
		/* And after all that the same stream object still works. */
		engine_stream_reset(s);
		assert_int_equal(member(s, f->mid, made, 99, f->out, 2000, NULL, &used, &got),
				 ENGINE_STREAM_END);
		assert_memory_equal(f->in, f->out, n);
		engine_stream_free(s);
	}
}

static void error_stays(void **state)
{
	struct fixture *f = *state;
	struct engine_stream *s;
	uint32_t code;
	size_t in_len, out_len;

	s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP, 0, &code);
	in_len = 4;
	out_len = 100;
	assert_int_equal(engine_stream_step(s, "\x1f\x8b\x09\x00", &in_len, f->out, &out_len, &code),
			 ENGINE_STREAM_ERROR);
	assert_int_equal(code, NVME_ACCEL_BAD_INPUT_DATA);
	in_len = 10;
	assert_int_equal(
		engine_stream_step(s, "\x1f\x8b\x08\0\0\0\0\0\0\3", &in_len, f->out, &out_len, &code),
		ENGINE_STREAM_ERROR);
	engine_stream_free(s);
	assert_null(engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_LZ4, 0, &code));
	assert_int_equal(code, NVME_ACCEL_UNSUPPORTED_OP);
}

/* Files of the table, as a tool would read them: members until the end, then a verdict on what is left. */
enum verdict { V_GOOD, V_BAD, V_GARBAGE, V_ZEROS };

static enum verdict read_file(struct fixture *f, const uint8_t *in, size_t n, size_t *made)
{
	uint32_t code;
	struct engine_stream *s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP, 0, &code);
	enum engine_stream_state st = ENGINE_STREAM_END;
	struct engine_gzip_header h;
	size_t at = 0, used, got;
	enum engine_gzip_parse next;

	*made = 0;
	do {
		engine_stream_reset(s);
		st = member(s, in + at, n - at, 1000, f->out + *made, 1000, NULL, &used, &got);
		at += used;
		*made += got;
		next = engine_gzip_header(in + at, n - at, &h);
	} while (st == ENGINE_STREAM_END && at < n && next != ENGINE_GZIP_NOT);
	engine_stream_free(s);
	if (st != ENGINE_STREAM_END)
		return V_BAD;
	if (at == n)
		return V_GOOD;
	return mem_is_zero(in + at, n - at) ? V_ZEROS : V_GARBAGE;
}

static size_t gzip_of(struct fixture *f, const void *p, size_t n, uint8_t *to)
{
	struct job job;

	assert_int_equal(run_flat(f->t, NULL, stage_of(NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_GZIP, 6, 0, 0),
				  p, n, to, 10000, &job),
			 NVME_ACCEL_OK);
	return job.out_len;
}

/* The one-job view of the same file: strict, and with trailing bytes allowed. */
static void as_job(struct fixture *f, const uint8_t *in, size_t n, uint32_t strict, uint32_t trailing,
		   size_t used)
{
	unsigned int i;
	struct job job;

	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op != NVME_ACCEL_OP_DECOMPRESS || fn->alg != NVME_ACCEL_ALG_GZIP)
			continue;
		assert_int_equal(
			run_flat(f->t, fn, stage_of(fn->op, fn->alg, 0, 0, 0), in, n, f->out, 1000, &job),
			strict);
		assert_int_equal(run_flat(f->t, fn,
					  stage_of(fn->op, fn->alg, 0, 0, NVME_ACCEL_STAGE_TRAILING), in, n,
					  f->out, 1000, &job),
				 trailing);
		if (trailing == NVME_ACCEL_OK)
			assert_int_equal(job.in_used, used);
	}
}

/* What odd gzip files have to give, a row each. */
static void truth_table(void **state)
{
	const uint32_t ok = NVME_ACCEL_OK, bad = NVME_ACCEL_BAD_INPUT_DATA;
	struct fixture *f = *state;
	uint8_t *m = f->mid;
	size_t one, two, made, empty;
	uint32_t crc;

	one = gzip_of(f, "hello hello hello", 17, m);

	two = one + gzip_of(f, "world", 5, m + one);
	assert_int_equal(read_file(f, m, two, &made), V_GOOD);
	assert_int_equal(made, 22);
	assert_memory_equal(f->out, "hello hello helloworld", 22);
	as_job(f, m, two, bad, ok, one);

	memcpy(m + one, "GARBAGE", 7);
	assert_int_equal(read_file(f, m, one + 7, &made), V_GARBAGE);
	assert_int_equal(made, 17);
	as_job(f, m, one + 7, bad, ok, one);

	memset(m + one, 0, 512);
	assert_int_equal(read_file(f, m, one + 512, &made), V_ZEROS);
	assert_int_equal(made, 17);
	as_job(f, m, one + 512, bad, ok, one);

	assert_int_equal(read_file(f, m, 0, &made), V_BAD);
	as_job(f, m, 0, bad, bad, 0);

	assert_int_equal(read_file(f, m, one - 3, &made), V_BAD);
	as_job(f, m, one - 3, bad, bad, 0);

	memcpy(m + one, "\x1f\x8b", 2);
	assert_int_equal(read_file(f, m, one + 2, &made), V_BAD);
	assert_int_equal(made, 17);

	empty = gzip_of(f, "", 0, m);
	assert_int_equal(read_file(f, m, empty, &made), V_GOOD);
	assert_int_equal(made, 0);
	as_job(f, m, empty, ok, ok, empty);
	two = empty + gzip_of(f, "data", 4, m + empty);
	assert_int_equal(read_file(f, m, two, &made), V_GOOD);
	assert_int_equal(made, 4);
	assert_memory_equal(f->out, "data", 4);

	/* FEXTRA, FNAME, FCOMMENT and FHCRC before the data of the first member. */
	one = gzip_of(f, "hello hello hello", 17, m + 100);
	memcpy(m, "\x1f\x8b\x08\x1e\0\0\0\0\0\3\2\0xxname\0comment\0", 27);
	crc = (uint32_t)crc32(0, m, 27);
	le16_put(m + 27, (uint16_t)crc);
	memmove(m + 29, m + 110, one - 10);
	assert_int_equal(read_file(f, m, 29 + one - 10, &made), V_GOOD);
	assert_int_equal(made, 17);
	as_job(f, m, 29 + one - 10, ok, ok, 29 + one - 10);
	m[27] ^= 1;
	assert_int_equal(read_file(f, m, 29 + one - 10, &made), V_BAD);
	assert_int_equal(made, 0);
	as_job(f, m, 29 + one - 10, bad, bad, 0);

	one = gzip_of(f, "hello hello hello", 17, m);
	for (made = 0x20; made <= 0x80; made <<= 1) {
		size_t got;

		m[3] = (uint8_t)made;
		assert_int_equal(read_file(f, m, one, &got), V_BAD);
		as_job(f, m, one, bad, bad, 0);
	}
}

/* 3-17, 3-22: hundreds of members of sizes from nothing to large. */
static void many_members(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 21;
	size_t to = 0, from = 0, made;

	while (from < MAX_N - 9000) {
		size_t n = rnd(&seed) % 4 ? rnd(&seed) % 9000 : 0;

		fill_text(f->in + from, n, rnd(&seed));
		to += gzip_of(f, f->in + from, n, f->mid + to);
		from += n;
	}
	assert_int_equal(read_file(f, f->mid, to, &made), V_GOOD);
	assert_int_equal(made, from);
	assert_memory_equal(f->in, f->out, from);
}

/* A frame that asks for a window of 2 GiB is refused rather than served. */
static void zstd_window_limit(void **state)
{
	/* Magic, descriptor without content size, window descriptor, then a block of 1 byte. */
	uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0, 0, 'a' };
	struct fixture *f = *state;
	size_t used, got;
	uint32_t code;
	struct engine_stream *s = engine_stream_new(NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_ZSTD, 0, &code);

	assert_int_equal(member(s, frame, sizeof(frame), 100, f->out, 100, NULL, &used, &got),
			 ENGINE_STREAM_ERROR);
	engine_stream_reset(s);
	frame[5] = 10 << 3;	/* 1 MiB */
	assert_int_equal(member(s, frame, sizeof(frame), 100, f->out, 100, NULL, &used, &got),
			 ENGINE_STREAM_END);
	assert_int_equal(got, 1);
	engine_stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_any_size), cmocka_unit_test(members_in_random_pieces),
		cmocka_unit_test(cut_or_damaged),     cmocka_unit_test(error_stays),
		cmocka_unit_test(truth_table),	      cmocka_unit_test(many_members),
		cmocka_unit_test(zstd_window_limit),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
