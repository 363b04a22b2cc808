// SPDX-License-Identifier: GPL-2.0-only
/* What the engines cost over the functions that they call: ratios, for machines differ. */
#include <crypto/hash.h>
#include <linux/vmalloc.h>
#include <linux/zlib.h>
#include "engine_test.h"

#define N	T_MAX
#define TIMES	3

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

static void flat_job(struct t *t, struct job *job, u8 *in, size_t n, u16 op, u16 alg, u32 level)
{
	t->in.v[0] = (struct kvec){ in, n };
	t->in.n = 1;
	t->out.v[0] = (struct kvec){ t->got, N };
	t->out.n = 1;
	t_job(t, job, n, N);
	job->stage[0] = (struct job_stage){ .op = op, .alg = alg, .arg0 = level };
}

static void say(const char *what, u64 engine, u64 direct)
{
	pr_info("# bench: %s: %llu MB/s, direct %llu MB/s\n", what, (u64)N * 1000 / max(engine, 1ull),
		(u64)N * 1000 / max(direct, 1ull));
}

static void bench_deflate(struct t *t, unsigned int level)
{
	u64 best = U64_MAX, direct = U64_MAX, back = U64_MAX, direct_back = U64_MAX, start;
	unsigned int i;
	struct job job;
	char what[40];
	size_t n = 0;

	for (i = 0; i < TIMES; i++) {
		start = ktime_get_ns();
		n = direct_deflate(t->data, t->want, level);
		direct = min(direct, ktime_get_ns() - start);
		flat_job(t, &job, t->data, N, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, level);
		start = ktime_get_ns();
		kengine_run(t->th, &job);
		best = min(best, ktime_get_ns() - start);
		flat_job(t, &job, t->want, n, NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_DEFLATE, 0);
		start = ktime_get_ns();
		kengine_run(t->th, &job);
		back = min(back, ktime_get_ns() - start);
		start = ktime_get_ns();
		direct_inflate(t->want, n, t->got);
		direct_back = min(direct_back, ktime_get_ns() - start);
	}
	snprintf(what, sizeof(what), "deflate level %u (%zu of %u)", level, n, N);
	say(what, best, direct);
	say("inflate", back, direct_back);
}

static void bench_sha256(struct t *t)
{
	struct crypto_shash *tfm = crypto_alloc_shash("sha256", 0, 0);
	u64 best = U64_MAX, direct = U64_MAX, start;
	unsigned int i;
	struct job job;

	for (i = 0; i < TIMES && !IS_ERR(tfm); i++) {
		start = ktime_get_ns();
		crypto_shash_tfm_digest(tfm, t->data, N, t->want);
		direct = min(direct, ktime_get_ns() - start);
		flat_job(t, &job, t->data, N, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, 0);
		start = ktime_get_ns();
		kengine_run(t->th, &job);
		best = min(best, ktime_get_ns() - start);
	}
	if (!IS_ERR(tfm))
		crypto_free_shash(tfm);
	say("SHA-256", best, direct);
}

void bench(struct t *t)
{
	deflate_work = vmalloc(zlib_deflate_workspacesize(-15, 8));
	inflate_work = vmalloc(zlib_inflate_workspacesize());
	if (deflate_work && inflate_work) {
		t_fill(t, t->data, N, 1);
		bench_deflate(t, 1);
		bench_deflate(t, 6);
		bench_sha256(t);
	}
	vfree(deflate_work);
	vfree(inflate_work);
}
