// SPDX-License-Identifier: BSD-2-Clause
/* Ciphers beyond the published vectors: what a bad tag leaves behind, limits, units, lists, large texts. */
#define _GNU_SOURCE
#include "engine_util.h"
#include "../../lib/engine/priv.h"

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

/* A key and all that goes with it. */
struct setting {
	uint16_t alg;
	struct wire_cipher c;
	uint32_t lead;		/* bytes of the input that are only authenticated */
	uint64_t unit;
	uint8_t key[64], iv[128], aad[64], tag[16];
	uint8_t param[512];
};

static void setting_new(struct setting *s, uint16_t alg, uint32_t key_len, uint32_t iv_len, uint32_t tag_len,
			uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	eu_fill(s->key, sizeof(s->key), seed + 1);
	eu_fill(s->iv, sizeof(s->iv), seed + 2);
	eu_fill(s->aad, sizeof(s->aad), seed + 3);
	s->alg = alg;
	s->c = (struct wire_cipher){ .key = s->key, .iv = s->iv, .tag = s->tag, .aad = s->aad,
				     .key_len = key_len, .iv_len = iv_len, .tag_len = tag_len };
}

static struct job_stage stage_of(struct setting *s, uint16_t op)
{
	int with_tag = op == NVME_ACCEL_OP_DECRYPT && s->c.tag_len;
	struct job_stage stage = { .op = op, .alg = s->alg, .arg0 = s->lead, .arg1 = s->unit,
				   .param = s->param };

	stage.param_len = (uint32_t)wire_cipher_encode(&s->c, with_tag, s->param, sizeof(s->param));
	assert_true(stage.param_len > 0);
	return stage;
}

/* in: lead bytes, then n of text; out: n bytes. A tag made is left in s->tag. */
static struct job run(const struct engine_fn *fn, struct setting *s, uint16_t op, const void *in, size_t n,
		      void *out)
{
	static struct iovec iov[2];
	struct job job = eu_job(iov, op, s->alg, in, s->lead + n, out, n);

	job.stage[0] = stage_of(s, op);
	if (fn)
		engine_run_fn(t, fn, &job);
	else
		engine_run(t, &job);
	if (op == NVME_ACCEL_OP_ENCRYPT && job.code == NVME_ACCEL_OK) {
		assert_int_equal(job.result_len[0], s->c.tag_len);
		memcpy(s->tag, job.result[0], s->c.tag_len);
	}
	if (job.code == NVME_ACCEL_OK) {
		assert_int_equal(job.out_len, n);
		assert_int_equal(job.in_used, s->lead + n);
	} else {
		assert_int_equal(job.out_len, 0);
	}
	return job;
}

/* Entry number i, or the one behind it if that one cannot serve the setting. */
static const struct engine_fn *entry(struct setting *s, uint16_t op, unsigned int i)
{
	struct job_stage stage = stage_of(s, op);
	const struct engine_fn *fn = eu_fn(op, s->alg, i);

	return fn->takes(&stage, 1000) ? fn : eu_fn(op, s->alg, i + 1);
}

static int all(const uint8_t *p, size_t n, uint8_t v)
{
	return !n || (p[0] == v && !memcmp(p, p + 1, n - 1));
}

static void random_setting(struct setting *s, size_t *n, uint64_t *seed)
{
	uint16_t alg = (uint16_t)(1 + eu_rnd(seed) % 4);
	int gcm = alg == NVME_ACCEL_ALG_AES_GCM, cc = alg == NVME_ACCEL_ALG_CHACHA20_POLY1305;
	uint32_t key = cc || eu_rnd(seed) % 2 ? 32 : 16;

	*n = eu_rnd(seed) % 700;
	setting_new(s, alg, alg == NVME_ACCEL_ALG_AES_XTS ? 2 * key : key,
		    gcm && eu_rnd(seed) % 2 ? 1 + eu_rnd(seed) % 128 : gcm || cc ? 12 : 16,
		    gcm || cc ? 12 + eu_rnd(seed) % 5 : 0,
		    eu_rnd(seed));
	if (gcm || cc) {
		s->c.aad_len = eu_rnd(seed) % 60;
		s->lead = eu_rnd(seed) % 80;
	}
	if (alg == NVME_ACCEL_ALG_AES_CTR && eu_rnd(seed) % 2)
		memset(s->iv + 1, 0xff, 15);	/* the counter carries over all bytes */
	if (alg != NVME_ACCEL_ALG_AES_XTS)
		return;
	*n = BASE_MAX(*n, (size_t)16);
	s->unit = eu_rnd(seed) % 2 ? 16 + eu_rnd(seed) % 100 : 0;
	if (s->unit && *n % s->unit && *n % s->unit < 16)
		*n -= *n % s->unit;
	if (eu_rnd(seed) % 2)
		memset(s->iv, 0xff, 1 + eu_rnd(seed) % 16);	/* so does the tweak */
}

/* All implementations agree in any setting, flat or in pieces, and open what they sealed. */
static void implementations_agree(void **state)
{
	uint8_t in[1000], out[2][1000], tag[16], back[1000];
	struct iovec cut_in[5], cut_out[5];
	uint64_t seed = 1234;
	struct setting s;
	unsigned int round;
	struct job job;
	size_t n;

	(void)state;
	for (round = 0; round < 3000; round++) {
		random_setting(&s, &n, &seed);
		eu_fill(in, sizeof(in), round);
		memset(out, 0xa5, sizeof(out));
		job = run(entry(&s, NVME_ACCEL_OP_ENCRYPT, 0), &s, NVME_ACCEL_OP_ENCRYPT, in, n, out[0]);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		memcpy(tag, s.tag, 16);
		job.in = cut_in;
		job.nin = eu_cut(cut_in, 5, in, s.lead + n, &seed);
		job.out = cut_out;
		job.nout = eu_cut(cut_out, 5, out[1], n, &seed);
		engine_run_fn(t, round % 3 ? entry(&s, NVME_ACCEL_OP_ENCRYPT, round % 3 - 1) :
					     eu_oracle(NVME_ACCEL_OP_ENCRYPT, s.alg), &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_memory_equal(out[0], out[1], sizeof(out[0]));
		assert_memory_equal(tag, job.result[0], s.c.tag_len);
		memcpy(in + s.lead, out[0], n);
		job = run(round % 3 ? entry(&s, NVME_ACCEL_OP_DECRYPT, round % 3 - 1) :
				      eu_oracle(NVME_ACCEL_OP_DECRYPT, s.alg),
			  &s, NVME_ACCEL_OP_DECRYPT, in, n, back);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		eu_fill(in, sizeof(in), round);
		assert_memory_equal(back, in + s.lead, n);
	}
}

/* Every bit of the tag, of 64 bytes of ciphertext, of the AAD in both places; the output stays as it was. */
static void every_bit_matters(void **state)
{
	uint8_t in[8 + 64], out[64], ct[8 + 64];
	const struct engine_fn *fn;
	struct setting s;
	unsigned int e, bit, a;
	struct job job;

	(void)state;
	for (a = 1; a <= 4; a += 3)
		for (e = 0; (fn = eu_fn(NVME_ACCEL_OP_DECRYPT, (uint16_t)a, e)); e++) {
			setting_new(&s, (uint16_t)a, 32, 12, 16, 5);
			s.lead = 8;
			s.c.aad_len = 5;
			eu_fill(in, sizeof(in), 6);
			memcpy(ct, in, 8);
			job = run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 64, ct + 8);
			assert_int_equal(job.code, NVME_ACCEL_OK);
			for (bit = 0; bit < 128 + 8 * 72 + 40; bit++) {
				uint8_t *p = bit < 128 ? s.tag + bit / 8 :
					     bit < 128 + 8 * 72 ? ct + (bit - 128) / 8 :
								  s.aad + (bit - 128 - 8 * 72) / 8;

				*p ^= 1 << bit % 8;
				memset(out, 0xa5, sizeof(out));
				job = run(fn, &s, NVME_ACCEL_OP_DECRYPT, ct, 64, out);
				assert_int_equal(job.code, NVME_ACCEL_AUTH_FAILED);
				assert_true(all(out, 64, 0xa5));
				assert_int_equal(job.result_len[0], 0);
				*p ^= 1 << bit % 8;
			}
			job = run(fn, &s, NVME_ACCEL_OP_DECRYPT, ct, 64, out);
			assert_int_equal(job.code, NVME_ACCEL_OK);
			assert_memory_equal(out, in + 8, 64);
		}
}

/* A decryption reads the expected tag and leaves it alone, and keeps no plaintext behind. */
static void nothing_left_behind(void **state)
{
	static uint8_t in[5000], ct[5000], out[5000];
	uint8_t before[512];
	struct setting s;
	struct job job;
	unsigned int i;

	(void)state;
	setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, 8);
	memset(in, 0x77, sizeof(in));
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, sizeof(in), ct).code, NVME_ACCEL_OK);
	for (i = 0; i < 6; i++) {
		stage_of(&s, NVME_ACCEL_OP_DECRYPT);
		memcpy(before, s.param, sizeof(before));
		job = run(eu_fn(NVME_ACCEL_OP_DECRYPT, s.alg, i / 2), &s, NVME_ACCEL_OP_DECRYPT, ct, sizeof(ct),
			  out);
		assert_int_equal(job.code, i % 2 ? NVME_ACCEL_AUTH_FAILED : NVME_ACCEL_OK);
		assert_memory_equal(before, s.param, sizeof(before));
		if (i > 1)	/* OpenSSL and plain C hold the text back in there */
			assert_non_null(t->scratch[SCRATCH_OUT].p);
		if (t->scratch[SCRATCH_OUT].p)
			assert_null(memmem(t->scratch[SCRATCH_OUT].p, t->scratch[SCRATCH_OUT].size,
					   "\x77\x77\x77\x77\x77\x77\x77\x77", 8));
		s.tag[3] ^= 4;
	}
}

/* Lengths of IV and tag in range work and differ; others are refused before anything happens. */
static void iv_and_tag_lengths(void **state)
{
	uint8_t in[20] = { 1 }, out[20], seen[7][20];
	static const uint32_t ivs[] = { 1, 8, 12, 16, 64, 127, 128 };
	struct setting s;
	struct job job;
	unsigned int i;
	uint32_t len;

	(void)state;
	for (i = 0; i < 7; i++) {
		setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 16, ivs[i], 16, 9);
		assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 20, out).code, NVME_ACCEL_OK);
		memcpy(seen[i], out, 20);
		assert_true(!i || memcmp(seen[i], seen[i - 1], 20));
		/* The same with the other implementation, so that a length that is ignored shows. */
		assert_int_equal(run(eu_oracle(NVME_ACCEL_OP_DECRYPT, s.alg), &s, NVME_ACCEL_OP_DECRYPT, seen[i],
				     20, out).code, NVME_ACCEL_OK);
	}
	for (len = 0; len <= 255; len++) {
		static struct iovec iov[2];
		uint8_t param[8 + 16 + 255 + 255];

		for (i = 0; i < 2; i++) {	/* len as the IV's, then as the tag's */
			uint32_t iv = i ? 12 : len, tag = i ? len : 16;

			memset(param, 0, sizeof(param));
			param[0] = 16;
			param[1] = (uint8_t)iv;
			param[2] = (uint8_t)tag;
			job = eu_job(iov, NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_GCM, in, 20, out, 20);
			job.stage[0].param = param;
			job.stage[0].param_len = 8 + 16 + iv + tag;
			engine_run(t, &job);
			assert_int_equal(job.code, (i ? len >= 12 && len <= 16 : len >= 1 && len <= 128) ?
							   NVME_ACCEL_AUTH_FAILED : NVME_ACCEL_BAD_PARAM);
		}
	}
}

/* No text and no AAD: the tag is E(K, J0) alone, here AES of 0..01 by key 0 (SP 800-38D, case 1 and 13). */
static void empty_text(void **state)
{
	static const uint8_t want128[16] = { 0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e, 0x30, 0x61,
					     0x36, 0x7f, 0x1d, 0x57, 0xa4, 0xe7, 0x45, 0x5a };
	static const uint8_t want256[16] = { 0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,
					     0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b };
	struct setting s;
	unsigned int e;

	(void)state;
	for (e = 0; e < 3; e++) {
		const struct engine_fn *fn = eu_fn(NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM, e);

		setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 16, 12, 16, 1);
		memset(s.key, 0, 64);
		memset(s.iv, 0, 128);
		assert_int_equal(run(fn, &s, NVME_ACCEL_OP_ENCRYPT, NULL, 0, NULL).code, NVME_ACCEL_OK);
		assert_memory_equal(s.tag, want128, 16);
		s.c.key_len = 32;
		assert_int_equal(run(fn, &s, NVME_ACCEL_OP_ENCRYPT, NULL, 0, NULL).code, NVME_ACCEL_OK);
		assert_memory_equal(s.tag, want256, 16);
		fn = eu_fn(NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_GCM, e);
		assert_int_equal(run(fn, &s, NVME_ACCEL_OP_DECRYPT, NULL, 0, NULL).code, NVME_ACCEL_OK);
		setting_new(&s, NVME_ACCEL_ALG_AES_XTS, 32, 16, 0, 1);
		fn = eu_fn(NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_XTS, e % 2);
		assert_int_equal(run(fn, &s, NVME_ACCEL_OP_ENCRYPT, NULL, 0, NULL).code, NVME_ACCEL_OK);
	}
}

/* Units of a job are what jobs of one unit each would be, the tweak counting on. */
static void xts_units(void **state)
{
	uint8_t in[1000], whole[1000], single[1000];
	struct setting s;
	size_t off, n;

	(void)state;
	eu_fill(in, sizeof(in), 3);
	setting_new(&s, NVME_ACCEL_ALG_AES_XTS, 64, 16, 0, 2);
	s.iv[0] = 0xfe;
	s.iv[1] = 0xff;
	s.unit = 64;
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 1000, whole).code, NVME_ACCEL_OK);
	s.unit = 0;
	for (off = 0; off < 1000; off += n) {
		n = BASE_MIN((size_t)64, 1000 - off);
		assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in + off, n, single + off).code,
				 NVME_ACCEL_OK);
		if (++s.iv[0] == 0 && ++s.iv[1] == 0)
			s.iv[2]++;
	}
	assert_memory_equal(whole, single, 1000);
}

static void refused(void **state)
{
	static uint8_t in[1 << 10], out[1 << 10];
	struct iovec big = { in, (size_t)1 << 37 };
	struct setting s;
	struct job job;

	(void)state;
	/* More text than one IV may cover: refused by its length alone, none of it is read. */
	setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, 3);
	job = (struct job){ .nstage = 1, .in = &big, .nin = 1, .out = &big, .nout = 1,
			    .in_len = ((uint64_t)1 << 36) - 31, .out_max = (uint64_t)1 << 37 };
	job.stage[0] = stage_of(&s, NVME_ACCEL_OP_ENCRYPT);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	/* AAD longer than the input that it leads. */
	s.lead = 11;
	job = eu_job((struct iovec[2]){ { 0 } }, 0, 0, in, 10, out, 10);
	job.stage[0] = stage_of(&s, NVME_ACCEL_OP_ENCRYPT);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	s.lead = 0x80000000u;
	job.stage[0] = stage_of(&s, NVME_ACCEL_OP_ENCRYPT);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_BAD_PARAM);
	s.lead = 0;
	s.unit = 1;	/* only XTS has units */
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 10, out).code, NVME_ACCEL_BAD_PARAM);
	setting_new(&s, NVME_ACCEL_ALG_AES_XTS, 32, 16, 0, 3);
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 15, out).code, NVME_ACCEL_BAD_PARAM);
	s.unit = 15;
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 30, out).code, NVME_ACCEL_BAD_PARAM);
	s.unit = 32;
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 47, out).code, NVME_ACCEL_BAD_PARAM);
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 48, out).code, NVME_ACCEL_OK);
	s.unit = ((uint64_t)1 << 24) + 1;
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 48, out).code, NVME_ACCEL_BAD_PARAM);
	memcpy(s.key + 16, s.key, 16);
	s.unit = 0;
	assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 48, out).code, NVME_ACCEL_BAD_PARAM);
	setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, 3);
	job = eu_job((struct iovec[2]){ { 0 } }, 0, 0, in, 10, out, 9);
	job.stage[0] = stage_of(&s, NVME_ACCEL_OP_ENCRYPT);
	engine_run(t, &job);
	assert_int_equal(job.code, NVME_ACCEL_OUTPUT_SHORT);
	assert_int_equal(job.out_needed, 10);
}

/* Around 16 MiB and at 64 MiB, in pieces of odd sizes; the tag is that of the flat text. */
static void large_texts(void **state)
{
	static const size_t sizes[] = { (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 1 << 26 };
	struct iovec pieces[7], room;
	struct setting s;
	struct job job;
	uint8_t *in = malloc(1 << 26), *ct = malloc(1 << 26), *back = malloc(1 << 26), tag[16];
	uint64_t seed = 5;
	unsigned int i;

	(void)state;
	assert_true(in && ct && back);
	for (i = 0; i < 1 << 26; i += 4096)
		eu_fill(in + i, 4096, i);
	for (i = 0; i < 4; i++) {
		setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, i);
		assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, sizes[i], ct).code, NVME_ACCEL_OK);
		memcpy(tag, s.tag, 16);
		job = (struct job){ .nstage = 1, .in = pieces, .out = &room, .nout = 1, .in_len = sizes[i],
				    .out_max = sizes[i] };
		room = (struct iovec){ back, sizes[i] };
		job.nin = eu_cut(pieces, 7, in, sizes[i], &seed);
		job.stage[0] = stage_of(&s, NVME_ACCEL_OP_ENCRYPT);
		engine_run(t, &job);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_memory_equal(job.result[0], tag, 16);
		assert_int_equal(memcmp(ct, back, sizes[i]), 0);
		assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_DECRYPT, ct, sizes[i], back).code, NVME_ACCEL_OK);
		assert_int_equal(memcmp(in, back, sizes[i]), 0);
		memset(back, 0, sizes[i]);
		job = run(eu_fn(NVME_ACCEL_OP_DECRYPT, s.alg, 1), &s, NVME_ACCEL_OP_DECRYPT, ct, sizes[i], back);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_int_equal(memcmp(in, back, sizes[i]), 0);
	}
	free(in);
	free(ct);
	free(back);
}

/* Offsets in a page, both ends at pages that are not there. */
static void alignments_and_guards(void **state)
{
	static const size_t offsets[] = { 0, 1, 7, 511, 4095 };
	static uint8_t area[3][4096 + 600];
	const size_t n = 523;
	struct eu_guard g[2];
	struct setting s;
	uint8_t *in, *out, want[600], lead[600];
	unsigned int a, b;

	(void)state;
	for (a = 0; a < 5; a++)
		for (b = 0; b < 5; b++) {
			setting_new(&s, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, 7);
			eu_fill(area[0] + offsets[a], n, 1);
			run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, area[0] + offsets[a], n, area[1] + offsets[b]);
			if (a || b)
				assert_memory_equal(area[1] + offsets[b], want, n);
			memcpy(want, area[1] + offsets[b], n);
			assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_DECRYPT, area[1] + offsets[b], n,
					     area[2] + offsets[a]).code, NVME_ACCEL_OK);
			assert_memory_equal(area[2] + offsets[a], area[0] + offsets[a], n);
		}
	eu_fill(lead, n, 1);
	for (a = 0; a < 4; a++) {
		in = eu_guard_new(&g[0], n, a & 1);
		out = eu_guard_new(&g[1], n, a >> 1);
		memcpy(in, lead, n);
		assert_int_equal(run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, n, out).code, NVME_ACCEL_OK);
		assert_memory_equal(out, want, n);
		eu_guard_free(&g[0]);
		eu_guard_free(&g[1]);
	}
}

/* A job that fails in any way leaves nothing that the next one on the same thread could meet. */
static void good_after_bad(void **state)
{
	uint8_t in[300], ct[300], out[300], junk[300], tag[16];
	struct setting good, bad;
	unsigned int kind;

	(void)state;
	eu_fill(in, sizeof(in), 4);
	setting_new(&good, NVME_ACCEL_ALG_AES_GCM, 32, 12, 16, 11);
	run(NULL, &good, NVME_ACCEL_OP_ENCRYPT, in, 300, ct);
	memcpy(tag, good.tag, 16);
	for (kind = 0; kind < 5; kind++) {
		setting_new(&bad, NVME_ACCEL_ALG_AES_GCM, 32, kind == 1 ? 77 : 12, kind == 2 ? 13 : 16, 12);
		bad.lead = kind == 3 ? 5 : 0;
		bad.unit = kind == 4;
		assert_int_not_equal(run(NULL, &bad, NVME_ACCEL_OP_DECRYPT, in, 200, junk).code, NVME_ACCEL_OK);
		memset(good.tag, 0, 16);
		assert_int_equal(run(NULL, &good, NVME_ACCEL_OP_ENCRYPT, in, 300, out).code, NVME_ACCEL_OK);
		assert_memory_equal(out, ct, 300);
		assert_memory_equal(good.tag, tag, 16);
	}
}

/* A key that stays with the thread is used for the very same key only, and goes when it is told to go. */
static void keys_that_stay(void **state)
{
	static const struct { uint16_t alg; uint32_t key, iv, tag; } kinds[] = {
		{ NVME_ACCEL_ALG_AES_GCM, 16, 12, 16 }, { NVME_ACCEL_ALG_AES_GCM, 32, 12, 16 },
		{ NVME_ACCEL_ALG_AES_GCM, 32, 20, 16 }, { NVME_ACCEL_ALG_AES_XTS, 64, 16, 0 },
		{ NVME_ACCEL_ALG_AES_CTR, 32, 16, 0 },	{ NVME_ACCEL_ALG_CHACHA20_POLY1305, 32, 12, 16 },
	};
	uint8_t in[200], out[200], want[200], tag[16];
	struct setting s;
	unsigned int i, round;
	uint64_t seed = 17;
	struct job job;

	(void)state;
	eu_fill(in, sizeof(in), 3);
	for (round = 0; round < 200; round++) {
		i = eu_rnd(&seed) % 6;
		setting_new(&s, kinds[i].alg, kinds[i].key, kinds[i].iv, kinds[i].tag, eu_rnd(&seed) % 3);
		if (eu_rnd(&seed) % 2)
			s.key[eu_rnd(&seed) % kinds[i].key] ^= 1;
		s.iv[0] = (uint8_t)eu_rnd(&seed);
		job = run(eu_oracle(NVME_ACCEL_OP_ENCRYPT, s.alg), &s, NVME_ACCEL_OP_ENCRYPT, in, 200, want);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		memcpy(tag, s.tag, 16);
		job = run(NULL, &s, NVME_ACCEL_OP_ENCRYPT, in, 200, out);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_memory_equal(out, want, 200);
		assert_memory_equal(s.tag, tag, 16);
		job = run(NULL, &s, NVME_ACCEL_OP_DECRYPT, want, 200, out);
		assert_int_equal(job.code, NVME_ACCEL_OK);
		assert_memory_equal(out, in, 200);
		if (round % 20 == 19)
			engine_thread_forget(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(implementations_agree), cmocka_unit_test(every_bit_matters),
		cmocka_unit_test(nothing_left_behind),	 cmocka_unit_test(iv_and_tag_lengths),
		cmocka_unit_test(empty_text),		 cmocka_unit_test(xts_units),
		cmocka_unit_test(refused),		 cmocka_unit_test(large_texts),
		cmocka_unit_test(alignments_and_guards), cmocka_unit_test(good_after_bad),
		cmocka_unit_test(keys_that_stay),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
