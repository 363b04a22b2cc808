// SPDX-License-Identifier: BSD-2-Clause
/*
 * Erasure coding: every set of losses, ISA-L against plain C, lengths at which vector kernels change their
 * ways, lists in pieces, requests that must be refused.
 */
#include <isa-l.h>
#include "engine_util.h"

#define MAXB 40u	/* blocks of a test stripe */

static struct engine_thread *t;

static int setup(void **state)
{
	(void)state;
	t = engine_thread_new();
	return t ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	engine_thread_free(t);
	return 0;
}

/* A stripe: k data blocks and behind them m parity blocks, each of n bytes. */
struct stripe {
	unsigned int k, m;
	uint16_t alg;
	size_t n;
	const uint8_t *matrix;
	uint8_t *blocks;
};

static struct job_stage stage_of(const struct stripe *s, uint16_t op, unsigned int third, uint8_t *param)
{
	struct job_stage stage = {
		.op = op, .alg = s->alg, .arg0 = s->k | s->m << 8 | third << 16, .arg1 = s->n, .param = param,
	};

	if (s->alg == NVME_ACCEL_ALG_MATRIX) {
		memcpy(param, s->matrix, s->m * s->k);
		stage.param_len = s->m * s->k;
	}
	return stage;
}

static uint32_t encode_by(const struct engine_fn *fn, struct stripe *s)
{
	uint8_t param[4096];
	struct iovec iov[2];
	struct job job = eu_job(iov, NVME_ACCEL_OP_EC_ENCODE, s->alg, s->blocks, s->k * s->n,
				s->blocks + s->k * s->n, s->m * s->n);

	job.stage[0] = stage_of(s, NVME_ACCEL_OP_EC_ENCODE, 0, param);
	if (fn)
		engine_run_fn(t, fn, &job);
	else
		engine_run(t, &job);
	if (job.code == NVME_ACCEL_OK)
		assert_int_equal(job.out_len, s->m * s->n);
	return job.code;
}

static void stripe_new(struct stripe *s, unsigned int k, unsigned int m, uint16_t alg, size_t n)
{
	*s = (struct stripe){ .k = k, .m = m, .alg = alg, .n = n };
	s->blocks = calloc(k + m, n + 1);
	assert_non_null(s->blocks);
	eu_fill(s->blocks, k * n, k * 1000 + m * 10 + n);
}

/*
 * Recovers the blocks in lost (ascending) from the first k of the others, in the way that a user would, and
 * compares. Returns the job's code; a wrong block is WRONG.
 */
#define WRONG 1000u

static uint32_t recover_by(const struct engine_fn *fn, const struct stripe *s, const uint8_t *lost,
			   unsigned int nlost)
{
	uint8_t param[8192], *list = param, out[MAXB * 64], *big = out;
	struct iovec in[256], room = { out, sizeof(out) };
	struct job job = { .nstage = 1, .in = in, .nin = s->k, .in_len = s->k * s->n, .out = &room, .nout = 1 };
	unsigned int i, l = 0, have = 0;

	if (nlost * s->n > sizeof(out))
		big = malloc(nlost * s->n);
	room = (struct iovec){ big, nlost * s->n };
	job.out_max = nlost * s->n;
	memcpy(list, lost, nlost);
	for (i = 0; have < s->k; i++) {
		if (l < nlost && lost[l] == i) {
			l++;
			continue;
		}
		list[nlost + have] = (uint8_t)i;
		in[have++] = (struct iovec){ s->blocks + i * s->n, s->n };
	}
	if (s->alg == NVME_ACCEL_ALG_MATRIX)
		memcpy(list + nlost + s->k, s->matrix, s->m * s->k);
	job.stage[0] = (struct job_stage){
		.op = NVME_ACCEL_OP_EC_DECODE, .alg = s->alg, .arg0 = s->k | s->m << 8 | nlost << 16,
		.arg1 = s->n, .param = param,
		.param_len = nlost + s->k + (s->alg == NVME_ACCEL_ALG_MATRIX ? s->m * s->k : 0),
	};
	if (fn)
		engine_run_fn(t, fn, &job);
	else
		engine_run(t, &job);
	for (i = 0; job.code == NVME_ACCEL_OK && i < nlost; i++)
		if (memcmp(big + i * s->n, s->blocks + lost[i] * s->n, s->n) != 0)
			job.code = WRONG;
	if (big != out)
		free(big);
	return job.code;
}

/* All sets of nlost out of n; returns how many, stops at the first that fails. */
static unsigned int all_losses(const struct engine_fn *fn, const struct stripe *s, unsigned int nlost,
			       uint32_t *code)
{
	uint8_t lost[8];
	unsigned int n = s->k + s->m, i, count = 0;
	int at;

	for (i = 0; i < nlost; i++)
		lost[i] = (uint8_t)i;
	for (;;) {
		count++;
		*code = recover_by(fn, s, lost, nlost);
		if (*code != NVME_ACCEL_OK)
			return count;
		for (at = (int)nlost - 1; at >= 0 && lost[at] == n - nlost + (unsigned int)at; at--)
			;
		if (at < 0)
			return count;
		lost[at]++;
		for (i = (unsigned int)at + 1; i < nlost; i++)
			lost[i] = (uint8_t)(lost[i - 1] + 1);
	}
}

/* The talk's 32+4: all 58,905 ways to lose four blocks, and all to lose fewer. */
static void all_of_32_4(void **state)
{
	static const unsigned int want[5] = { 0, 36, 630, 7140, 58905 };
	struct stripe s;
	unsigned int n;
	uint32_t code;

	(void)state;
	stripe_new(&s, 32, 4, NVME_ACCEL_ALG_RS_CAUCHY, 16);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	for (n = 1; n <= 4; n++) {
		assert_int_equal(all_losses(NULL, &s, n, &code), want[n]);
		assert_int_equal(code, NVME_ACCEL_OK);
	}
	free(s.blocks);
}

/* Every k up to 32 with up to four parities: all sets up to k = 20, 500 random ones beyond. */
static void all_small_codes(void **state)
{
	unsigned int k, m, i, j, sets;
	struct stripe s;
	uint64_t seed = 21;
	uint32_t code;

	(void)state;
	for (k = 1; k <= 32; k++)
		for (m = 1; m <= 4; m++) {
			stripe_new(&s, k, m, NVME_ACCEL_ALG_RS_CAUCHY, 8);
			assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
			if (k <= 20 || m <= 2) {
				all_losses(NULL, &s, m, &code);
				assert_int_equal(code, NVME_ACCEL_OK);
				free(s.blocks);
				continue;
			}
			for (sets = 0; sets < 500; sets++) {
				uint8_t lost[4], n = 0, pick[36] = { 0 };

				for (j = 0; j < m; j++)
					pick[eu_rnd(&seed) % (k + m)] = 1;
				for (i = 0; i < k + m; i++)
					if (pick[i])
						lost[n++] = (uint8_t)i;
				assert_int_equal(recover_by(NULL, &s, lost, n), NVME_ACCEL_OK);
			}
			free(s.blocks);
		}
}

/* Codes and losses that broke other libraries and tools. */
static void known_bad_elsewhere(void **state)
{
	static const uint8_t nine[] = { 0, 1, 2, 5, 7, 9, 10, 14, 16 };
	static const uint8_t first[] = { 0, 1, 25, 34 }, twenty[] = { 0, 10, 21, 24 };
	static const uint8_t more[][2] = { { 4, 6 }, { 1, 1 }, { 1, 4 }, { 2, 8 }, { 3, 5 } };
	struct stripe s;
	unsigned int i;
	uint32_t code;

	(void)state;
	stripe_new(&s, 9, 9, NVME_ACCEL_ALG_RS_CAUCHY, 40);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	assert_int_equal(recover_by(NULL, &s, nine, sizeof(nine)), NVME_ACCEL_OK);
	free(s.blocks);
	stripe_new(&s, 32, 4, NVME_ACCEL_ALG_RS_CAUCHY, 40);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	assert_int_equal(recover_by(NULL, &s, first, 4), NVME_ACCEL_OK);
	free(s.blocks);
	stripe_new(&s, 22, 4, NVME_ACCEL_ALG_RS_CAUCHY, 40);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	assert_int_equal(recover_by(NULL, &s, twenty, 4), NVME_ACCEL_OK);
	free(s.blocks);
	for (i = 0; i < 5; i++) {	/* fewer data than parity */
		stripe_new(&s, more[i][0], more[i][1], NVME_ACCEL_ALG_RS_CAUCHY, 33);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		all_losses(NULL, &s, BASE_MIN(s.m, 8u), &code);
		assert_int_equal(code, NVME_ACCEL_OK);
		free(s.blocks);
	}
}

static void other_codes(void **state)
{
	unsigned int k;
	struct stripe s;
	uint32_t code;

	(void)state;
	for (k = 1; k <= 20; k++) {
		stripe_new(&s, k, 1, NVME_ACCEL_ALG_XOR, 24);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		all_losses(NULL, &s, 1, &code);
		assert_int_equal(code, NVME_ACCEL_OK);
		free(s.blocks);
		stripe_new(&s, k, 2, NVME_ACCEL_ALG_PQ, 24);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		all_losses(NULL, &s, 2, &code);
		assert_int_equal(code, NVME_ACCEL_OK);
		all_losses(NULL, &s, 1, &code);
		assert_int_equal(code, NVME_ACCEL_OK);
		free(s.blocks);
	}
	stripe_new(&s, 253, 2, NVME_ACCEL_ALG_PQ, 9);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	assert_int_equal(recover_by(NULL, &s, (const uint8_t[]){ 0, 252 }, 2), NVME_ACCEL_OK);
	assert_int_equal(recover_by(NULL, &s, (const uint8_t[]){ 7, 254 }, 2), NVME_ACCEL_OK);
	free(s.blocks);
}

/* Largest stripes, and many losses at once. */
static void wide_codes(void **state)
{
	static const uint8_t shapes[][2] = { { 254, 1 }, { 251, 4 }, { 128, 127 }, { 1, 254 }, { 2, 253 } };
	uint8_t lost[128];
	struct stripe s;
	unsigned int i, j, n;

	(void)state;
	for (i = 0; i < 5; i++) {
		stripe_new(&s, shapes[i][0], shapes[i][1], NVME_ACCEL_ALG_RS_CAUCHY, 65);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		n = BASE_MIN(s.m, 40u);
		for (j = 0; j < n; j++)
			lost[j] = (uint8_t)(j * ((s.k + s.m) / n));
		assert_int_equal(recover_by(NULL, &s, lost, n), NVME_ACCEL_OK);
		free(s.blocks);
	}
}

/* The published matrix: parities equal what ISA-L makes of its own gf_gen_cauchy1_matrix(). */
static void same_code_as_isal(void **state)
{
	uint8_t a[36 * 32], tables[32 * 32 * 4], want[4][100], *src[32], *dst[4];
	struct stripe s;
	unsigned int i;

	(void)state;
	stripe_new(&s, 32, 4, NVME_ACCEL_ALG_RS_CAUCHY, 100);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	gf_gen_cauchy1_matrix(a, 36, 32);
	ec_init_tables(32, 4, a + 32 * 32, tables);
	for (i = 0; i < 32; i++)
		src[i] = s.blocks + 100 * i;
	for (i = 0; i < 4; i++)
		dst[i] = want[i];
	ec_encode_data(100, 32, 4, tables, src, dst);
	for (i = 0; i < 4; i++)
		assert_memory_equal(s.blocks + 100 * (32 + i), want[i], 100);
	free(s.blocks);
}

/* P and Q as RAID-6 defines them, worked out here byte by byte. */
static void same_pq_as_raid6(void **state)
{
	struct stripe s;
	unsigned int i;
	size_t at;

	(void)state;
	stripe_new(&s, 11, 2, NVME_ACCEL_ALG_PQ, 97);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	for (at = 0; at < s.n; at++) {
		uint8_t p = 0, q = 0;

		for (i = s.k; i-- > 0;) {	/* Horner: the highest block first */
			p ^= s.blocks[i * s.n + at];
			q = (uint8_t)(q << 1 ^ (q & 0x80 ? 0x1d : 0)) ^ s.blocks[i * s.n + at];
		}
		assert_int_equal(s.blocks[s.k * s.n + at], p);
		assert_int_equal(s.blocks[(s.k + 1) * s.n + at], q);
	}
	free(s.blocks);
}

static void compare_engines(unsigned int k, unsigned int m, uint16_t alg, size_t n, unsigned int misalign)
{
	static uint8_t area[2][(32 + 6) * 1100 + 64] __attribute__((aligned(64)));
	struct stripe s = { .k = k, .m = m, .alg = alg, .n = n };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		s.blocks = area[i] + misalign;
		eu_fill(s.blocks, k * n, n + k);
		memset(s.blocks + k * n, 0x5a, m * n + 8);
		assert_int_equal(encode_by(eu_fn(NVME_ACCEL_OP_EC_ENCODE, alg, i), &s), NVME_ACCEL_OK);
	}
	if (memcmp(area[0] + misalign, area[1] + misalign, (k + m) * n + 8) != 0)
		fail_msg("k %u m %u algorithm %u, %zu bytes, offset %u", k, m, alg, n, misalign);
}

static void lengths_0_to_1025(void **state)
{
	unsigned int k, m;
	size_t n;

	(void)state;
	for (n = 1; n <= 1025; n++) {
		k = 1 + (unsigned int)n % 32;
		m = 1 + (unsigned int)n % 6;
		compare_engines(k, m, NVME_ACCEL_ALG_RS_CAUCHY, n, n % 64);
		compare_engines(33 - k, 7 - m, NVME_ACCEL_ALG_RS_CAUCHY, n, 0);
		compare_engines(2 + k % 8, 1, NVME_ACCEL_ALG_XOR, n, 0);
		compare_engines(2 + k % 8, 2, NVME_ACCEL_ALG_PQ, n, 0);
	}
	for (k = 1; k <= 32; k++)
		for (m = 1; m <= 6; m++)
			for (n = 31; n <= 65; n += 1 + n % 3)
				compare_engines(k, m, NVME_ACCEL_ALG_RS_CAUCHY, n, 1);
}

static void sizes_of_the_talk(void **state)
{
	static const size_t sizes[] = { 4096, 16384, 65537, 131072, 131073 };
	struct stripe s;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		stripe_new(&s, 10, 4, NVME_ACCEL_ALG_RS_CAUCHY, sizes[i]);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		assert_int_equal(recover_by(NULL, &s, (const uint8_t[]){ 0, 3, 9, 12 }, 4), NVME_ACCEL_OK);
		free(s.blocks);
	}
}

/* Input and output cut anywhere give what flat ones give; nothing beyond the output is touched. */
static void scattered(void **state)
{
	uint64_t seed = 77;
	unsigned int round;

	(void)state;
	for (round = 0; round < 200; round++) {
		unsigned int k = 1 + eu_rnd(&seed) % 12, m = 1 + eu_rnd(&seed) % 5;
		size_t n = 1 + eu_rnd(&seed) % 3000;
		struct iovec in[20], out[20];
		struct stripe s;
		struct job job = { .nstage = 1, .in = in, .out = out };
		uint8_t param[8], *got = malloc(m * n + 64);

		stripe_new(&s, k, m, NVME_ACCEL_ALG_RS_CAUCHY, n);
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		memset(got, 0xa5, m * n + 64);
		job.nin = eu_cut(in, 20, s.blocks, k * n, &seed);
		job.nout = eu_cut(out, 20, got, m * n + 64, &seed);
		job.in_len = k * n;
		job.out_max = m * n + (round % 2 ? 64 : 0);
		job.stage[0] = stage_of(&s, NVME_ACCEL_OP_EC_ENCODE, 0, param);
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(job.out_len, m * n);
		assert_memory_equal(got, s.blocks + k * n, m * n);
		assert_true(got[m * n] == 0xa5 && !memcmp(got + m * n, got + m * n + 1, 63));
		free(got);
		free(s.blocks);
	}
}

static void updates(void **state)
{
	static const uint16_t algs[] = { NVME_ACCEL_ALG_RS_CAUCHY, NVME_ACCEL_ALG_XOR, NVME_ACCEL_ALG_PQ };
	const struct engine_fn *fn;
	unsigned int a, e, i, m;
	uint64_t seed = 31;

	(void)state;
	for (a = 0; a < 3; a++)
		for (e = 0; (fn = eu_fn(NVME_ACCEL_OP_EC_UPDATE, algs[a], e)); e++)
			for (i = 0; i < 9; i++) {
				uint8_t param[8], in[8 * 777], out[6 * 777];
				struct iovec iov[2];
				struct stripe s;
				struct job job;

				m = algs[a] == NVME_ACCEL_ALG_XOR ? 1 : algs[a] == NVME_ACCEL_ALG_PQ ? 2 : 6;
				stripe_new(&s, 9, m, algs[a], 777);
				assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
				memcpy(in, s.blocks + i * s.n, s.n);
				eu_fill(s.blocks + i * s.n, s.n, eu_rnd(&seed));
				memcpy(in + s.n, s.blocks + i * s.n, s.n);
				memcpy(in + 2 * s.n, s.blocks + 9 * s.n, m * s.n);
				job = eu_job(iov, 0, 0, in, (2 + m) * s.n, out, m * s.n);
				job.stage[0] = stage_of(&s, NVME_ACCEL_OP_EC_UPDATE, i, param);
				engine_run_fn(t, fn, &job);
				assert_int_equal(job.code, NVME_ACCEL_OK);
				assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
				assert_memory_equal(out, s.blocks + 9 * s.n, m * s.n);
				free(s.blocks);
			}
}

static void callers_matrix(void **state)
{
	/* Rows 0 and 1 agree on blocks 2 and 3: losing those two cannot be made good. */
	static const uint8_t matrix[12] = { 1, 1, 1, 2, 1, 2, 1, 2, 3, 7, 9, 11 };
	static const uint8_t other[12] = { 1, 1, 1, 1, 1, 2, 4, 8, 3, 7, 9, 11 };
	const struct engine_fn *fn;
	struct stripe s;
	unsigned int e;

	(void)state;
	stripe_new(&s, 4, 3, NVME_ACCEL_ALG_MATRIX, 50);
	s.matrix = matrix;
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	for (e = 0; (fn = eu_fn(NVME_ACCEL_OP_EC_DECODE, NVME_ACCEL_ALG_MATRIX, e)); e++) {
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 0, 1 }, 2), NVME_ACCEL_OK);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 1, 2 }, 2), NVME_ACCEL_OK);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 2, 3 }, 2), NVME_ACCEL_NOT_INVERTIBLE);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 2, 5 }, 2), NVME_ACCEL_OK);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 2, 3, 4 }, 3), NVME_ACCEL_OK);
		/* Another matrix of the same shape is another code, whatever was cached. */
		s.matrix = other;
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 2, 3 }, 2), NVME_ACCEL_OK);
		s.matrix = matrix;
		assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
		assert_int_equal(recover_by(fn, &s, (const uint8_t[]){ 2, 3 }, 2), NVME_ACCEL_NOT_INVERTIBLE);
	}
	assert_int_equal(e, 2);
	free(s.blocks);
}

static void xor_and_pq(void **state)
{
	uint8_t in[7 * 100], p[100], q[200], want = 0;
	struct iovec iov[2];
	struct job job;
	unsigned int i, m;

	(void)state;
	eu_fill(in, sizeof(in), 3);
	for (i = 0; i < 7; i++)
		want ^= in[100 * i + 42];
	for (m = 0; m <= 2; m++) {
		job = eu_job(iov, NVME_ACCEL_OP_XOR, NVME_ACCEL_ALG_XOR, in, sizeof(in), p, sizeof(p));
		job.stage[0].arg0 = 7 | m << 8;
		job.stage[0].arg1 = 100;
		engine_run(t, &job);
		assert_int_equal(job.code, m == 2 ? NVME_ACCEL_BAD_PARAM : NVME_ACCEL_OK);
		assert_int_equal(p[42], want);
		job = eu_job(iov, NVME_ACCEL_OP_PQ_GEN, NVME_ACCEL_ALG_PQ, in, sizeof(in), q, sizeof(q));
		job.stage[0].arg0 = 7 | m << 8;
		job.stage[0].arg1 = 100;
		engine_run(t, &job);
		assert_int_equal(job.code, m == 1 ? NVME_ACCEL_BAD_PARAM : NVME_ACCEL_OK);
		if (m != 1)
			assert_memory_equal(q, p, 100);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *why;
		uint16_t op;
		uint32_t arg0;
		uint64_t arg1;
		size_t in_len;
		uint8_t param[8];
		uint32_t param_len;
	} bad[] = {
		{ "no data blocks", NVME_ACCEL_OP_EC_ENCODE, 0 | 2 << 8, 64, 256, { 0 }, 0 },
		{ "no parity blocks", NVME_ACCEL_OP_EC_ENCODE, 4, 64, 256, { 0 }, 0 },
		{ "k + m = 256", NVME_ACCEL_OP_EC_ENCODE, 4 | 252 << 8, 64, 256, { 0 }, 0 },
		{ "a third number", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8 | 1 << 16, 64, 256, { 0 }, 0 },
		{ "a fourth number", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8 | 1u << 24, 64, 256, { 0 }, 0 },
		{ "parameters of no use", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8, 64, 256, { 0 }, 1 },
		{ "blocks of no bytes", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8, 0, 0, { 0 }, 0 },
		{ "blocks that overflow", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8, 1ULL << 62, 0, { 0 }, 0 },
		{ "blocks that overflow to fit", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8, (1ULL << 62) + 64, 256,
		  { 0 }, 0 },
		{ "input not k blocks", NVME_ACCEL_OP_EC_ENCODE, 4 | 2 << 8, 64, 255, { 0 }, 0 },
		{ "nothing lost", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8, 64, 256, { 0, 1, 2, 3 }, 4 },
		{ "more lost than parities", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 3 << 16, 64, 256,
		  { 0, 1, 2, 3, 4, 5, 6 }, 7 },
		{ "lost twice", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256, { 1, 1, 2, 3, 4, 5 }, 6 },
		{ "lost unsorted", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256, { 1, 0, 2, 3, 4, 5 },
		  6 },
		{ "lost and survivor", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256,
		  { 0, 2, 2, 3, 4, 5 }, 6 },
		{ "survivor twice", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256, { 0, 1, 2, 2, 4, 5 },
		  6 },
		{ "survivors unsorted", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256,
		  { 0, 1, 3, 2, 4, 5 }, 6 },
		{ "survivor out of range", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 2 << 16, 64, 256,
		  { 0, 1, 2, 3, 4, 6 }, 6 },
		{ "lost out of range", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 1 << 16, 64, 256, { 6, 0, 1, 2, 3 },
		  5 },
		{ "lists too short", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 1 << 16, 64, 256, { 0, 1, 2, 3 }, 4 },
		{ "lists too long", NVME_ACCEL_OP_EC_DECODE, 4 | 2 << 8 | 1 << 16, 64, 256, { 0, 1, 2, 3, 4, 5 },
		  6 },
		{ "update of a parity", NVME_ACCEL_OP_EC_UPDATE, 4 | 2 << 8 | 4 << 16, 64, 256, { 0 }, 0 },
		{ "update without parities", NVME_ACCEL_OP_EC_UPDATE, 4 | 2 << 8, 64, 128, { 0 }, 0 },
	};
	uint8_t in[256], out[256];
	struct iovec iov[2];
	unsigned int i;
	struct job job;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(out, 0xa5, sizeof(out));
		job = eu_job(iov, bad[i].op, NVME_ACCEL_ALG_RS_CAUCHY, in, bad[i].in_len, out, sizeof(out));
		job.stage[0].arg0 = bad[i].arg0;
		job.stage[0].arg1 = bad[i].arg1;
		job.stage[0].param = bad[i].param;
		job.stage[0].param_len = bad[i].param_len;
		engine_run(t, &job);
		if (job.code != NVME_ACCEL_BAD_PARAM || job.out_len || out[0] != 0xa5)
			fail_msg("%s: code %u", bad[i].why, job.code);
	}
	job = eu_job(iov, NVME_ACCEL_OP_EC_ENCODE, NVME_ACCEL_ALG_RS_CAUCHY, in, 256, out, 127);
	job.stage[0].arg0 = 4 | 2 << 8;
	job.stage[0].arg1 = 64;
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OUTPUT_SHORT);
	assert_int_equal(job.out_needed, 128);
	assert_true(job.sflags & NVME_ACCEL_SF_NEEDED_EXACT);
}

/* An output that shares a byte with an input is refused, one that only lies between them is not. */
static void overlapping(void **state)
{
	uint8_t area[1024];
	struct iovec in[2], out[2];
	struct job job = { .nstage = 1, .in = in, .nin = 2, .in_len = 256, .out = out, .nout = 2, .out_max = 128 };
	static const struct { unsigned int a, b; uint32_t code; } cases[] = {
		{ 128, 720, NVME_ACCEL_OK },	    { 65, 720, NVME_ACCEL_OK },
		{ 63, 720, NVME_ACCEL_BAD_PARAM },  { 720, 512 - 63, NVME_ACCEL_BAD_PARAM },
		{ 720, 512 + 191, NVME_ACCEL_BAD_PARAM }, { 800, 512 - 64, NVME_ACCEL_OK },
		{ 900, 704, NVME_ACCEL_OK },	    { 0, 720, NVME_ACCEL_BAD_PARAM },
	};
	unsigned int i;

	(void)state;
	eu_fill(area, sizeof(area), 1);
	in[0] = (struct iovec){ area, 64 };
	in[1] = (struct iovec){ area + 512, 192 };
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_EC_ENCODE, .alg = NVME_ACCEL_ALG_RS_CAUCHY,
					   .arg0 = 4 | 2 << 8, .arg1 = 64 };
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out[0] = (struct iovec){ area + cases[i].a, 64 };
		out[1] = (struct iovec){ area + cases[i].b, 64 };
		engine_run(t, &job);
		if (job.code != cases[i].code)
			fail_msg("case %u: code %u", i, job.code);
	}
}

/* The same of lists of many pieces, which are not compared each with each: pages in no order, one byte of one of them. */
static void overlapping_pages(void **state)
{
	enum { PAGES = 200, K = 4, BLOCK = PAGES / K * 4096 };
	static uint8_t area[2 * PAGES * 4096 + 4096];
	struct iovec in[PAGES], out[PAGES];
	struct job job = { .nstage = 1, .in = in, .nin = PAGES, .in_len = K * BLOCK, .out = out, .nout = PAGES,
			   .out_max = K * BLOCK };
	unsigned int i;

	(void)state;
	for (i = 0; i < PAGES; i++) {
		in[i] = (struct iovec){ area + (size_t)(i * 77 % PAGES) * 8192, 4096 };
		out[i] = (struct iovec){ area + (size_t)(i * 33 % PAGES) * 8192 + 4096, 4096 };
	}
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_EC_ENCODE, .alg = NVME_ACCEL_ALG_RS_CAUCHY,
					   .arg0 = K | K << 8, .arg1 = BLOCK };
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	for (i = 0; i < PAGES; i += 7) {
		out[i].iov_base = (uint8_t *)out[i].iov_base + 1;
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
		out[i].iov_base = (uint8_t *)out[i].iov_base - 1;
	}
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
}

/* The tests above have to fail for an engine that is wrong in a single byte. */
static void spoil_run(struct engine_thread *thread, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	const struct engine_fn *good = eu_fn(stage->op, stage->alg, 0);

	good->run(thread, stage, index, job);
	if (job->code == NVME_ACCEL_OK && stage->op == NVME_ACCEL_OP_EC_DECODE)
		((uint8_t *)job->out[0].iov_base)[job->out_len - 1] ^= 0x40;
}

static void broken_engine_is_noticed(void **state)
{
	static const struct engine_fn broken = { NVME_ACCEL_OP_EC_DECODE, NVME_ACCEL_ALG_RS_CAUCHY, "broken",
						 NULL, spoil_run };
	struct stripe s;
	uint32_t code;

	(void)state;
	stripe_new(&s, 6, 3, NVME_ACCEL_ALG_RS_CAUCHY, 32);
	assert_int_equal(encode_by(NULL, &s), NVME_ACCEL_OK);
	assert_int_equal(all_losses(NULL, &s, 3, &code), 84);
	assert_int_equal(code, NVME_ACCEL_OK);
	assert_int_equal(all_losses(&broken, &s, 3, &code), 1);
	assert_int_equal(code, WRONG);
	s.blocks[6 * 32 + 5] ^= 1;	/* nor does a wrong parity go unseen */
	all_losses(NULL, &s, 3, &code);
	assert_int_equal(code, WRONG);
	free(s.blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_32_4),	     cmocka_unit_test(all_small_codes),
		cmocka_unit_test(known_bad_elsewhere), cmocka_unit_test(other_codes),
		cmocka_unit_test(wide_codes),	     cmocka_unit_test(same_code_as_isal),
		cmocka_unit_test(same_pq_as_raid6),  cmocka_unit_test(lengths_0_to_1025),
		cmocka_unit_test(sizes_of_the_talk), cmocka_unit_test(scattered),
		cmocka_unit_test(updates),	     cmocka_unit_test(callers_matrix),
		cmocka_unit_test(xor_and_pq),	     cmocka_unit_test(refused),
		cmocka_unit_test(overlapping),	     cmocka_unit_test(overlapping_pages),
		cmocka_unit_test(broken_engine_is_noticed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
