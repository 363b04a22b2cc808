// SPDX-License-Identifier: BSD-2-Clause
/* Digests: SHA-256, SHA-512, SHA3-256, BLAKE2b-512 by OpenSSL, with plain C as the oracle. */
#include <stdlib.h>
#include <openssl/evp.h>
#include "digest.h"

/* Between two looks at the stop flag. */
#define STEP ((size_t)4 << 20)

static const struct {
	uint16_t alg;
	uint8_t len;
	const char *name;
} kinds[] = {
	{ NVME_ACCEL_ALG_SHA256, 32, "SHA256" },
	{ NVME_ACCEL_ALG_SHA512, 64, "SHA512" },
	{ NVME_ACCEL_ALG_SHA3_256, 32, "SHA3-256" },
	{ NVME_ACCEL_ALG_BLAKE2B, 64, "BLAKE2B-512" },
};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Fetching an algorithm and making a context cost more than the digest of a small job. */
struct digest_thread {
	EVP_MD_CTX *ctx[NKINDS];
};

static int kind_of(uint16_t alg)
{
	unsigned int i;

	for (i = 0; i < NKINDS; i++)
		if (kinds[i].alg == alg)
			return (int)i;
	return -1;
}

/* A context that needs only EVP_DigestInit_ex2(ctx, NULL, NULL). */
static EVP_MD_CTX *ctx_new(int kind)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_MD *md = EVP_MD_fetch(NULL, kinds[kind].name, NULL);

	if (!ctx || !md || EVP_DigestInit_ex2(ctx, md, NULL) != 1) {
		EVP_MD_CTX_free(ctx);
		ctx = NULL;
	}
	EVP_MD_free(md);	/* the context holds it */
	return ctx;
}

static EVP_MD_CTX *ctx_get(struct engine_thread *t, int kind)
{
	if (!t->digest)
		t->digest = calloc(1, sizeof(*t->digest));
	if (!t->digest)
		return NULL;
	if (!t->digest->ctx[kind])
		t->digest->ctx[kind] = ctx_new(kind);
	return t->digest->ctx[kind];
}

void digest_thread_free(struct digest_thread *d)
{
	unsigned int i;

	for (i = 0; d && i < NKINDS; i++)
		EVP_MD_CTX_free(d->ctx[i]);
	free(d);
}

static int takes(const struct job_stage *stage, uint64_t in_len)
{
	(void)in_len;
	return !stage->arg0 && !stage->arg1 && !stage->param_len && !stage->flags;
}

/* The next piece of the input; 0 at the end or when the job was stopped (then it has failed). */
static size_t next_piece(struct job *job, unsigned int index, struct iov_pos *pos, uint64_t *left, void **p)
{
	size_t n;

	if (!*left)
		return 0;
	n = iov_next(pos, p, BASE_MIN(*left, STEP));
	if (!n || engine_stopped(job)) {
		engine_fail(job, index, NVME_ACCEL_ABORTED);
		return 0;
	}
	*left -= n;
	return n;
}

static void openssl_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			struct job *job)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint64_t left = job->in_len;
	int kind = kind_of(stage->alg), good;
	EVP_MD_CTX *ctx = ctx_get(t, kind);
	uint8_t result[JOB_LONG_LEN];
	size_t n;
	void *p;

	if (!ctx) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	good = EVP_DigestInit_ex2(ctx, NULL, NULL) == 1;
	while (good && (n = next_piece(job, index, &pos, &left, &p)))
		good = EVP_DigestUpdate(ctx, p, n) == 1;
	if (job->code != NVME_ACCEL_OK)
		return;
	if (!good || EVP_DigestFinal_ex(ctx, result, NULL) != 1) {
		/* OpenSSL is out of memory or worse; a new context next time. */
		EVP_MD_CTX_free(ctx);
		t->digest->ctx[kind] = NULL;
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	engine_set_result(job, index, result, kinds[kind].len);
	job->in_used = job->in_len;
}

static void plain_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint64_t left = job->in_len;
	struct plain_digest d;
	uint8_t result[JOB_LONG_LEN];
	size_t n;
	void *p;

	(void)t;
	plain_digest_init(&d, stage->alg);
	while ((n = next_piece(job, index, &pos, &left, &p)))
		plain_digest_update(&d, p, n);
	if (job->code != NVME_ACCEL_OK)
		return;
	plain_digest_final(&d, result);
	engine_set_result(job, index, result, kinds[kind_of(stage->alg)].len);
	job->in_used = job->in_len;
}

#define FN(alg, name) { NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_##alg, #name, takes, name##_run }
static const struct engine_fn fns[] = {
	FN(SHA256, openssl), FN(SHA256, plain), FN(SHA512, openssl), FN(SHA512, plain),
	FN(SHA3_256, openssl), FN(SHA3_256, plain), FN(BLAKE2B, openssl), FN(BLAKE2B, plain),
};
#undef FN

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define OP(a, mbps)                                                                                          \
	{ .op = NVME_ACCEL_OP_DIGEST, .alg = NVME_ACCEL_ALG_##a, .flags = ANYWHERE, .granule = 1,            \
	  .align = 1, .est_mbps = mbps, .est_overhead_ns = 250 }
/* Estimates: 128 KiB jobs on one server core of 2021 (with SHA instructions). */
static const struct wire_op table[] = {
	OP(SHA256, 1500), OP(SHA512, 600), OP(SHA3_256, 320), OP(BLAKE2B, 700),
};
#undef OP

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = BASE_MIN(max, (unsigned int)NKINDS);

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	(void)stage;
	(void)in_len;
	return 0;
}

const struct engine_family engine_digest = { fns, sizeof(fns) / sizeof(fns[0]), ops, bound };

/* The stream. result() may be asked at any time and does not end it. */
struct md_stream {
	EVP_MD_CTX *ctx, *copy;
	int kind, bad;
};

static void md_close(void *stream)
{
	struct md_stream *s = stream;

	EVP_MD_CTX_free(s->ctx);
	EVP_MD_CTX_free(s->copy);
	free(s);
}

static void *md_open(uint16_t alg, uint64_t arg1, uint32_t *code)
{
	struct md_stream *s;

	*code = kind_of(alg) < 0 ? NVME_ACCEL_UNSUPPORTED_OP : NVME_ACCEL_BAD_PARAM;
	if (kind_of(alg) < 0 || arg1)
		return NULL;
	*code = NVME_ACCEL_NO_RESOURCES;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->kind = kind_of(alg);
	s->ctx = ctx_new(s->kind);
	s->copy = EVP_MD_CTX_new();
	if (!s->ctx || !s->copy) {
		md_close(s);
		return NULL;
	}
	*code = NVME_ACCEL_OK;
	return s;
}

static enum engine_stream_state md_step(void *stream, const void *in, size_t *in_len, void *out,
					size_t *out_len, uint32_t *code)
{
	struct md_stream *s = stream;

	(void)out;
	*out_len = 0;
	if (!s->bad && EVP_DigestUpdate(s->ctx, in, *in_len) != 1)
		s->bad = 1;
	*code = s->bad ? NVME_ACCEL_NO_RESOURCES : NVME_ACCEL_OK;
	if (s->bad)
		return ENGINE_STREAM_ERROR;
	*in_len = 0;
	return ENGINE_STREAM_MORE;
}

static size_t md_result(void *stream, uint8_t *result)
{
	struct md_stream *s = stream;
	uint8_t whole[JOB_LONG_LEN];

	if (s->bad || EVP_MD_CTX_copy_ex(s->copy, s->ctx) != 1 ||
	    EVP_DigestFinal_ex(s->copy, whole, NULL) != 1)
		return 0;
	memcpy(result, whole, kinds[s->kind].len);
	return kinds[s->kind].len;
}

static void md_reset(void *stream)
{
	struct md_stream *s = stream;

	s->bad = EVP_DigestInit_ex2(s->ctx, NULL, NULL) != 1;
}

const struct stream_fns digest_stream = { md_open, md_step, md_result, md_reset, md_close };
