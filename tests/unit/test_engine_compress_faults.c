// SPDX-License-Identifier: BSD-2-Clause
/*
 * Faults that other accelerators had, as tests of ours. Numbers in comments name them; tests of other layers
 * use the same.
 */
#include "compress_util.h"

#define BIG (1u << 20)

static int setup(void **state)
{
	return fixture_new(state, 2 * BIG, 4 * BIG, 12 * BIG);
}

static const uint16_t algs[] = { NVME_ACCEL_ALG_DEFLATE, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_GZIP,
				 NVME_ACCEL_ALG_LZ4,	 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_ZSTD };
#define NALGS (sizeof(algs) / sizeof(algs[0]))

static size_t pack(struct fixture *f, uint16_t alg, uint32_t level, const void *in, size_t n, void *out)
{
	struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, alg, level, 0, 0);
	struct job job;

	assert_int_equal(run_flat(f->t, NULL, s, in, n, out, engine_bound(&s, n), &job), NVME_ACCEL_OK);
	assert_int_equal(job.in_used, n);	/* 3-11: all of it, or no success */
	return job.out_len;
}

static uint32_t unpack(struct fixture *f, uint16_t alg, const void *in, size_t n, void *out, size_t max,
			   struct job *job)
{
	return run_flat(f->t, NULL, stage_of(NVME_ACCEL_OP_DECOMPRESS, alg, 0, 0, 0), in, n, out, max, job);
}

static uint32_t run_flags(struct fixture *f, struct job_stage stage, uint32_t flags, const void *in, size_t n,
			  void *out, size_t max, struct job *job)
{
	struct iovec iov[2] = { { (void *)(uintptr_t)in, n }, { out, max } };

	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->flags = flags;
	job->stage[0] = stage;
	job->in = &iov[0];
	job->out = &iov[1];
	job->nin = job->nout = 1;
	job->in_len = n;
	job->out_max = max;
	engine_run(f->t, job);
	job->in = job->out = NULL;
	return job->code;
}

/* 3-01, trap 6: noise, into as much room as it has itself; no byte passes the end. */
static void incompressible(void **state)
{
	struct fixture *f = *state;
	size_t n = 131072, k;
	unsigned int a, level;
	struct job job;

	fill_noise(f->in, n, 1);
	for (a = 0; a < NALGS; a++) {
		for (level = 0; level < COMP_LEVELS; level++) {
			struct job_stage s = stage_of(NVME_ACCEL_OP_COMPRESS, algs[a], level, 0, 0);

			memset(f->mid + n, 0xa5, 4096);
			assert_int_equal(run_flags(f, s, 0, f->in, n, f->mid, n, &job),
					 NVME_ACCEL_OUTPUT_SHORT);
			assert_true(job.out_needed > n && job.out_needed <= engine_bound(&s, n));
			assert_int_equal(job.out_len, 0);
			for (k = 0; k < 4096; k++)
				assert_int_equal(f->mid[n + k], 0xa5);
			/* Told to keep what would grow, it does, and says so. */
			assert_int_equal(
				run_flags(f, s, NVME_ACCEL_JOB_STORE_IF_LARGER, f->in, n, f->mid, n, &job),
				NVME_ACCEL_OK);
			assert_true(job.sflags & NVME_ACCEL_SF_STORED_RAW);
			assert_int_equal(job.out_len, n);
			assert_memory_equal(f->in, f->mid, n);
			/* With the room that it asked for it works, and little is lost. */
			assert_int_equal(run_flags(f, s, NVME_ACCEL_JOB_VERIFY, f->in, n, f->mid,
						   engine_bound(&s, n), &job),
					 NVME_ACCEL_OK);
			assert_true(job.sflags & NVME_ACCEL_SF_VERIFIED);
			assert_true(job.out_len <= n + n / 128);
		}
	}
}

/* Something that fails in each way a job can. */
static void fail_somehow(struct fixture *f, unsigned int how, uint16_t alg)
{
	static const uint8_t junk[300] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x55, 0xaa, 7, 7, 7 };
	size_t n = 60000, made;
	struct job job;
	uint32_t code;

	fill_text(f->in + BIG, n, how);
	made = pack(f, alg, 6, f->in + BIG, n, f->mid + 2 * BIG);
	switch (how % 6) {
	case 0:	/* no room to compress to */
		fill_noise(f->in + BIG, n, how);
		code = run_flat(f->t, NULL, stage_of(NVME_ACCEL_OP_COMPRESS, alg, how % 10, 0, 0),
				f->in + BIG, n, f->out, n / 2, &job);
		break;
	case 1:	/* no room to decompress to */
		code = unpack(f, alg, f->mid + 2 * BIG, made, f->out, n / 3, &job);
		break;
	case 2:	/* cut */
		code = unpack(f, alg, f->mid + 2 * BIG, made / 2, f->out, n, &job);
		break;
	case 3:	/* damaged in the middle */
		memset(f->mid + 2 * BIG + made / 2, 0xff, 20);
		code = unpack(f, alg, f->mid + 2 * BIG, made, f->out, n, &job);
		break;
	case 4:	/* damaged at the end: the check value */
		f->mid[2 * BIG + made - 1] ^= 0x80;
		code = unpack(f, alg, f->mid + 2 * BIG, made, f->out, n, &job);
		break;
	default:
		code = unpack(f, alg, junk, sizeof(junk), f->out, n, &job);
	}
	/* A raw stream and an LZ4 block carry no check value by which all damage could be seen. */
	if (alg != NVME_ACCEL_ALG_DEFLATE && alg != NVME_ACCEL_ALG_LZ4)
		assert_int_not_equal(code, NVME_ACCEL_OK);
}

/* 3-02, 3-26: no failure leaves anything behind for the next job of the same thread. */
static void failures_do_not_leak(void **state)
{
	struct fixture *f = *state;
	size_t n = 50000, made, used;
	unsigned int how, a, b;
	struct job job;

	fill_text(f->in, n, 77);
	for (a = 0; a < NALGS; a++) {
		for (how = 0; how < 30; how++) {
			fail_somehow(f, how, algs[a]);
			b = how % 3 ? a : how % NALGS;
			made = pack(f, algs[b], 1 + how % 9, f->in, n, f->mid);
			if (algs[b] <= NVME_ACCEL_ALG_GZIP) {
				/* zlib checks Adler-32 and CRC-32 for us. */
				assert_int_equal(
					zlib_inflate(f->mid, made, f->out, BIG, zlib_bits_of(algs[b]), &used),
					n);
				assert_int_equal(used, made);
				assert_memory_equal(f->in, f->out, n);
			}
			fail_somehow(f, how + 1, algs[a]);
			assert_int_equal(unpack(f, algs[b], f->mid, made, f->out, n, &job), NVME_ACCEL_OK);
			assert_int_equal(job.out_len, n);
			assert_memory_equal(f->in, f->out, n);
		}
	}
}

/* 3-04: outputs far shorter than a page have their trailer right behind the data. */
static void tiny_outputs(void **state)
{
	struct fixture *f = *state;
	size_t n = 131072, made, used, k;
	unsigned int kind, level, a;

	for (kind = 0; kind < 2; kind++) {
		for (k = 0; k < n; k++)
			f->in[k] = kind ? (uint8_t)"one line, repeated\n"[k % 19] : 0;
		for (a = 0; a < 3; a++) {
			for (level = 1; level < COMP_LEVELS; level++) {
				made = pack(f, algs[a], level, f->in, n, f->mid);
				assert_true(made < 4096);
				memset(f->mid + made, 0xee, 64);
				assert_int_equal(zlib_inflate(f->mid, made + 64, f->out, n + 1,
							      zlib_bits_of(algs[a]), &used),
						 n);
				assert_int_equal(used, made);
				assert_memory_equal(f->in, f->out, n);
			}
		}
	}
}

/* 3-13: check values over sizes around 64 KiB and 1 MiB. */
static void check_values(void **state)
{
	static const size_t sizes[] = { 65535, 65536, 65537, BIG - 1, BIG, BIG + 1 };
	struct fixture *f = *state;
	unsigned int i, s, level;
	struct job job;

	fill_mixed(f->in, BIG + 1, 13);
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t n = sizes[s];

		for (i = 0; i < engine_compress.nfns; i++) {
			const struct engine_fn *fn = &engine_compress.fns[i];

			for (level = 0; level < COMP_LEVELS; level += 1 + (level > 0) * 2) {
				struct job_stage st = stage_of(fn->op, fn->alg, level, 0, 0);

				if (fn->op != NVME_ACCEL_OP_COMPRESS || !fn->takes(&st, n) ||
				    (fn->alg != NVME_ACCEL_ALG_GZIP && fn->alg != NVME_ACCEL_ALG_ZLIB))
					continue;
				assert_int_equal(run_flat(f->t, fn, st, f->in, n, f->mid, 4 * BIG, &job),
						 NVME_ACCEL_OK);
				if (fn->alg == NVME_ACCEL_ALG_GZIP) {
					assert_int_equal(le32_get(f->mid + job.out_len - 8),
							 crc32(0, f->in, (uInt)n));
					assert_int_equal(le32_get(f->mid + job.out_len - 4), n);
				} else {
					uint32_t adler = (uint32_t)adler32(1, f->in, (uInt)n);

					assert_int_equal(f->mid[job.out_len - 1], adler & 0xff);
					assert_int_equal(f->mid[job.out_len - 4], adler >> 24);
				}
			}
		}
	}
}

/* 3-25: a stretch that is stored, then text, in one stream; and a job after it. */
static void stored_then_text(void **state)
{
	struct fixture *f = *state;
	size_t n = 400000, made, used;
	unsigned int a, level, round;
	struct job job;

	fill_noise(f->in, n / 2, 25);
	fill_text(f->in + n / 2, n / 2, 25);
	for (a = 0; a < NALGS; a++) {
		for (level = 0; level < COMP_LEVELS; level++) {
			for (round = 0; round < 2; round++) {
				made = pack(f, algs[a], level, f->in, n, f->mid);
				if (algs[a] <= NVME_ACCEL_ALG_GZIP)
					assert_int_equal(zlib_inflate(f->mid, made, f->out, BIG,
								      zlib_bits_of(algs[a]), &used),
							 n);
				assert_int_equal(unpack(f, algs[a], f->mid, made, f->out, BIG, &job),
						 NVME_ACCEL_OK);
				assert_int_equal(job.out_len, n);
				assert_memory_equal(f->in, f->out, n);
			}
		}
	}
}

/* 3-43: one to a hundred, into a large output. */
static void high_ratio(void **state)
{
	struct fixture *f = *state;
	size_t n = 2 * BIG, made;
	unsigned int a;
	struct job job;

	memset(f->in, 'x', n);
	for (a = 0; a < NALGS; a++) {
		made = pack(f, algs[a], 6, f->in, n, f->mid);
		assert_true(made * 100 < n);
		assert_int_equal(unpack(f, algs[a], f->mid, made, f->out, 12 * BIG, &job), NVME_ACCEL_OK);
		assert_int_equal(job.out_len, n);
		assert_memory_equal(f->in, f->out, n);
	}
}

/* 3-08: buffers that begin anywhere. */
static void odd_offsets(void **state)
{
	static const size_t offsets[] = { 0, 1, 7, 511, 4095 };
	struct fixture *f = *state;
	size_t n = 30011, made;
	unsigned int a, i, o;
	struct job job;

	for (a = 0; a < NALGS; a++) {
		for (i = 0; i < 5; i++) {
			for (o = 0; o < 5; o++) {
				fill_text(f->in + offsets[i], n, i);
				made = pack(f, algs[a], 1 + (i + o) % 9, f->in + offsets[i], n,
						f->mid + offsets[o]);
				assert_int_equal(unpack(f, algs[a], f->mid + offsets[o], made,
							    f->out + offsets[i], n, &job),
						 NVME_ACCEL_OK);
				assert_memory_equal(f->in + offsets[i], f->out + offsets[i], n);
			}
		}
	}
}

/*
 * 3-44, 3-47: every bit of a stream of about 1 KiB flipped, for each decompressor, in guarded memory. Formats
 * with a check value never succeed with other data; the rest never write where they should not; and
 * each decompressor's verdict is the same as that of the others.
 */
static void every_bit(void **state)
{
	struct fixture *f = *state;
	size_t n = 2600, made, bit, failed;
	unsigned int a, i;
	struct job job;

	for (a = 0; a < NALGS; a++) {
		struct guarded in, out = guarded_new(n, 0);

		fill_text(f->in, n - 500, 3);
		fill_noise(f->in + n - 500, 500, 3);
		made = pack(f, algs[a], 6, f->in, n, f->mid);
		assert_true(made > 700);
		in = guarded_new(made, 0);
		memcpy(in.p, f->mid, made);
		for (bit = 0, failed = 0; bit < made * 8; bit++) {
			uint32_t first_code = 0;
			uint64_t first_len = 0;
			unsigned int nth = 0;

			in.p[bit / 8] ^= (uint8_t)(1u << bit % 8);
			for (i = 0; i < engine_compress.nfns; i++) {
				const struct engine_fn *fn = &engine_compress.fns[i];

				if (fn->op != NVME_ACCEL_OP_DECOMPRESS || fn->alg != algs[a])
					continue;
				run_flat(f->t, fn, stage_of(fn->op, fn->alg, 0, 0, 0), in.p, made, out.p, n,
					 &job);
				if (!nth++) {
					first_code = job.code;
					first_len = job.out_len;
					memcpy(f->out, out.p, n);
				}
				/* libdeflate takes a few headers of blocks that zlib calls wrong. */
				if (job.code == NVME_ACCEL_OK && first_code == NVME_ACCEL_OK) {
					assert_int_equal(job.out_len, first_len);
					assert_memory_equal(f->out, out.p, first_len);
				}
				if (job.code == NVME_ACCEL_OK && algs[a] != NVME_ACCEL_ALG_DEFLATE &&
				    algs[a] != NVME_ACCEL_ALG_LZ4) {
					/* Bits without meaning: flags of headers, padding. */
					assert_int_equal(job.out_len, n);
					assert_memory_equal(f->in, out.p, n);
				}
				failed += job.code != NVME_ACCEL_OK;
			}
			in.p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_true(failed > made);
		guarded_free(&in);
		guarded_free(&out);
	}
}

/* 4-20 and 4-06: a bomb costs no more than the output that was allowed, and says what it would need. */
static void bomb(void **state)
{
	struct fixture *f = *state;
	size_t n = 10 * BIG, made;
	struct job job;

	/* Zeros by zlib: the most that deflate can do, about 1032 to 1. */
	{
		uLongf len = 4 * BIG;

		memset(f->out, 0, n);
		assert_int_equal(compress2(f->mid, &len, f->out, n, 9), Z_OK);
		made = len;
	}
	assert_true(n / made > 900);
	assert_int_equal(unpack(f, NVME_ACCEL_ALG_ZLIB, f->mid, made, f->out, 4096, &job),
			 NVME_ACCEL_OUTPUT_SHORT);
	assert_int_equal(job.out_needed, n);
	assert_true(job.sflags & NVME_ACCEL_SF_NEEDED_EXACT);
	/* 4-06: what is wrong somewhere else is not asked to come back with more room for ever. */
	f->mid[made / 2] ^= 0x10;
	f->mid[made / 2 + 1] ^= 0x01;
	if (unpack(f, NVME_ACCEL_ALG_ZLIB, f->mid, made, f->out, 4096, &job) == NVME_ACCEL_OUTPUT_SHORT) {
		size_t need = job.out_needed;

		assert_true(need <= made * 1032);
		assert_true(need <= 12 * BIG);
		assert_int_equal(unpack(f, NVME_ACCEL_ALG_ZLIB, f->mid, made, f->out, need, &job),
				 NVME_ACCEL_BAD_INPUT_DATA);
	} else {
		assert_int_equal(job.code, NVME_ACCEL_BAD_INPUT_DATA);
	}
}

/* Trap 4: truncated anywhere, nothing succeeds, at any entry. */
static void truncated(void **state)
{
	struct fixture *f = *state;
	size_t n = 1000, made, len;
	unsigned int i;
	struct job job;

	fill_text(f->in, n, 4);
	for (i = 0; i < engine_compress.nfns; i++) {
		const struct engine_fn *fn = &engine_compress.fns[i];

		if (fn->op != NVME_ACCEL_OP_DECOMPRESS)
			continue;
		made = pack(f, fn->alg, 6, f->in, n, f->mid);
		for (len = 0; len < made; len++) {
			struct guarded g = guarded_new(len, 0);

			memcpy(g.p, f->mid, len);
			run_flat(f->t, fn, stage_of(fn->op, fn->alg, 0, 0, 0), g.p, len, f->out, n, &job);
			/* A cut LZ4 block may be a shorter one: nothing in it says where it ends. */
			if (fn->alg != NVME_ACCEL_ALG_LZ4)
				assert_int_equal(job.code, NVME_ACCEL_BAD_INPUT_DATA);
			else if (job.code == NVME_ACCEL_OK)
				assert_memory_equal(f->in, f->out, job.out_len);
			guarded_free(&g);
		}
	}
}

/* A size in a frame's header that its bytes cannot hold is no reason to ask for memory. */
static void absurd_content_size(void **state)
{
	/* zstd: descriptor with an 8-byte content size and a single segment, then one raw block of one byte.
	 */
	static const uint8_t z[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40, 9, 0, 0, 'a' };
	struct fixture *f = *state;
	struct job job;
	size_t made;

	assert_int_equal(unpack(f, NVME_ACCEL_ALG_ZSTD, z, sizeof(z), f->out, 0, &job),
			 NVME_ACCEL_BAD_INPUT_DATA);
	assert_int_equal(unpack(f, NVME_ACCEL_ALG_ZSTD, z, sizeof(z), f->out, 100, &job),
			 NVME_ACCEL_BAD_INPUT_DATA);
	fill_text(f->in, 5000, 1);
	made = pack(f, NVME_ACCEL_ALG_LZ4F, 1, f->in, 5000, f->mid);
	memset(f->mid + 6, 0xff, 7);	/* the content size; the header's own check now fails as well */
	assert_int_equal(unpack(f, NVME_ACCEL_ALG_LZ4F, f->mid, made, f->out, 4000, &job),
			 NVME_ACCEL_BAD_INPUT_DATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incompressible),   cmocka_unit_test(failures_do_not_leak),
		cmocka_unit_test(tiny_outputs),	    cmocka_unit_test(check_values),
		cmocka_unit_test(stored_then_text), cmocka_unit_test(high_ratio),
		cmocka_unit_test(odd_offsets),	    cmocka_unit_test(every_bit),
		cmocka_unit_test(bomb),		    cmocka_unit_test(truncated),
		cmocka_unit_test(absurd_content_size),
	};

	return cmocka_run_group_tests(tests, setup, fixture_free);
}
