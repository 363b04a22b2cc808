// SPDX-License-Identifier: GPL-2.0-only
/* What the engines cost over the functions of the crypto API and the library that they call: ratios, for machines differ. */
#include <crypto/acompress.h>
#include <crypto/hash.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <linux/zlib.h>
#include "engine_test.h"

#define N	T_MAX
#define SMALL	(64u << 10)	/* what the crypto API's software takes */
#define TIMES	9	/* in turn; what counts is the median of the ratios */

struct bench {
	struct t *t;
	struct kengine_thread *th;
	unsigned int level;
	size_t n;		/* of the compressed data */
	struct crypto_shash *sha;
	struct crypto_acomp *acomp;
	struct acomp_req *req;
	struct scatterlist in, out;
	u8 *small, *made;
};

static void *deflate_work, *inflate_work;

/* Direct: one call over contiguous memory. Returns the bytes made. */
static size_t direct_deflate(const u8 *in, u8 *out, unsigned int level)
{
	struct z_stream_s z = { .workspace = deflate_work, .next_in = in, .avail_in = N, .next_out = out, .avail_out = N };

	zlib_deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
	zlib_deflate(&z, Z_FINISH);
	return z.total_out;
}

static void direct_inflate(const u8 *in, size_t n, u8 *out)
{
	struct z_stream_s z = { .workspace = inflate_work, .next_in = in, .avail_in = n, .next_out = out, .avail_out = N };

	zlib_inflateInit2(&z, -15);
	zlib_inflate(&z, Z_FINISH);
}

static void job(struct bench *b, u8 *in, size_t n, u8 *out, size_t max, u16 op, u16 alg)
{
	struct t *t = b->t;
	struct job job;

	t->in.v[0] = (struct kvec){ in, n };
	t->in.n = 1;
	t->out.v[0] = (struct kvec){ out, max };
	t->out.n = 1;
	t_job(t, &job, n, max);
	job.stage[0] = (struct job_stage){ .op = op, .alg = alg, .arg0 = b->level };
	kengine_run(b->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK);
}

static void engine_deflate(struct bench *b)
{
	job(b, b->t->data, N, b->t->got, N, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE);
}

static void zlib_there(struct bench *b)
{
	b->n = direct_deflate(b->t->data, b->t->want, b->level);
}

static void engine_inflate(struct bench *b)
{
	b->level = 0;
	job(b, b->t->want, b->n, b->t->got, N, NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_DEFLATE);
}

static void zlib_back(struct bench *b)
{
	direct_inflate(b->t->want, b->n, b->t->got);
}

static void engine_sha256(struct bench *b)
{
	b->level = 0;
	job(b, b->t->data, N, b->t->got, N, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256);
}

static void direct_sha256(struct bench *b)
{
	crypto_shash_tfm_digest(b->sha, b->t->data, N, b->t->want);
}

static void engine_acomp(struct bench *b)
{
	job(b, b->small, SMALL, b->made, 2 * SMALL, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE);
}

static void direct_acomp(struct bench *b)
{
	DECLARE_CRYPTO_WAIT(wait);

	sg_init_one(&b->in, b->small, SMALL);
	sg_init_one(&b->out, b->made, 2 * SMALL);
	acomp_request_set_params(b->req, &b->in, &b->out, SMALL, 2 * SMALL);
	acomp_request_set_callback(b->req, CRYPTO_TFM_REQ_MAY_BACKLOG, crypto_req_done, &wait);
	t_check(b->t, !crypto_wait_req(crypto_acomp_compress(b->req), &wait));
}

/* ---- In turn ---- */

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 v[TIMES])
{
	sort(v, TIMES, sizeof(*v), compare, NULL);
	return max(v[TIMES / 2], 1ull);
}

static u64 timed(struct bench *b, void (*fn)(struct bench *b))
{
	u64 start = ktime_get_ns();

	fn(b);
	return max(ktime_get_ns() - start, 1ull);
}

/*
 * The one that comes first changes, so that a machine that gets slower is unfair to neither. The ratio is that of speeds:
 * below 1 is what the engine costs.
 */
static void in_turn(struct bench *b, const char *what, size_t n, void (*engine)(struct bench *b),
		    void (*direct)(struct bench *b))
{
	u64 e[TIMES], d[TIMES], ratio[TIMES], r, em, dm;
	unsigned int i;

	direct(b);
	engine(b);
	for (i = 0; i < TIMES; i++) {
		if (i & 1)
			e[i] = timed(b, engine);
		d[i] = timed(b, direct);
		if (!(i & 1))
			e[i] = timed(b, engine);
		ratio[i] = div64_u64(d[i] * 1000, e[i]);
		cond_resched();
	}
	r = median(ratio);
	em = median(e);
	dm = median(d);
	pr_info("# bench: %s of %zu bytes: %llu MB/s, direct %llu MB/s, ratio %llu.%03llu\n", what, n,
		(u64)n * 1000 / em, (u64)n * 1000 / dm, r / 1000, r % 1000);
}

static void bench_zlib(struct bench *b)
{
	static const unsigned int levels[] = { 1, 6 };
	char what[40];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		b->level = levels[i];
		snprintf(what, sizeof(what), "deflate level %u by zlib", levels[i]);
		in_turn(b, what, N, engine_deflate, zlib_there);
	}
	in_turn(b, "inflate by zlib", N, engine_inflate, zlib_back);
}

static void bench_sha256(struct bench *b)
{
	b->sha = crypto_alloc_shash("sha256", 0, 0);
	if (IS_ERR(b->sha))
		return;
	in_turn(b, "SHA-256 by the crypto API", N, engine_sha256, direct_sha256);
	crypto_free_shash(b->sha);
}

/* The same driver of the crypto API behind an engine and without one. */
static void bench_acomp(struct bench *b)
{
	struct kengine_conf conf = { .type = NVME_ACCEL_TYPE_COMPRESSION, .driver = "deflate-scomp" };
	char why[KENGINE_WHY_LEN];
	struct kengine *ke;

	b->acomp = crypto_alloc_acomp("deflate-scomp", 0, 0);
	if (IS_ERR(b->acomp))
		return;
	b->req = acomp_request_alloc(b->acomp);
	b->small = kmalloc(SMALL, GFP_KERNEL);
	b->made = kmalloc(2 * SMALL, GFP_KERNEL);
	if (b->req && b->small && b->made && !kengine_new(&conf, &ke, why)) {
		b->th = kengine_thread_new(ke);
		memcpy(b->small, b->t->data, SMALL);
		b->level = 6;
		if (b->th)
			in_turn(b, "deflate by the crypto API", SMALL, engine_acomp, direct_acomp);
		kengine_thread_free(b->th);
		kengine_free(ke);
	}
	kfree(b->made);
	kfree(b->small);
	if (b->req)
		acomp_request_free(b->req);
	crypto_free_acomp(b->acomp);
}

void bench(struct t *t)
{
	struct bench b = { .t = t, .th = t->th };

	t->name = "bench";
	t->ok = true;
	deflate_work = vmalloc(zlib_deflate_workspacesize(-15, 8));
	inflate_work = vmalloc(zlib_inflate_workspacesize());
	if (deflate_work && inflate_work) {
		t_fill(t, t->data, N, 1);
		bench_zlib(&b);
		bench_sha256(&b);
		bench_acomp(&b);
	}
	vfree(deflate_work);
	vfree(inflate_work);
}
