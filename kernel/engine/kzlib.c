// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compression family: deflate, zlib and gzip by the kernel's zlib, level 0 by hand, and what an acomp driver takes
 * by that. The library's workspaces are a thread's and stay; it reads and writes the job's lists as they are.
 */
#include <linux/zlib.h>
#include "kpriv.h"

#define WINDOW_MAX	15
#define MEM_LEVEL	8
/* Where a chunk is put together: see raw_zlib(). */
#define STAGING		((size_t)64 << 10)

struct comp_thread {
	struct z_stream_s deflate, inflate;	/* workspace NULL: not yet */
	u8 *staging;
};

struct comp_thread *comp_get(struct engine_thread *t)
{
	if (!t->comp)
		t->comp = engine_zalloc(sizeof(*t->comp));
	return t->comp;
}

void comp_thread_free(struct comp_thread *c)
{
	if (!c)
		return;
	kvfree(c->deflate.workspace);
	kvfree(c->inflate.workspace);
	kvfree(c->staging);
	kvfree(c);
}

static struct z_stream_s *deflate_get(struct raw *r)
{
	u32 most = kthread_of(r->t)->ke->window_bits, bits = r->stage->arg1 ? r->stage->arg1 : WINDOW_MAX;
	struct z_stream_s *z = &r->c->deflate;

	if (!z->workspace)
		z->workspace = kvzalloc(zlib_deflate_workspacesize(-WINDOW_MAX, MEM_LEVEL), GFP_KERNEL);
	if (r->chunk && !r->c->staging)
		r->c->staging = kvmalloc(STAGING, GFP_KERNEL);
	if (!z->workspace || (r->chunk && !r->c->staging))
		return NULL;
	if (zlib_deflateInit2(z, r->stage->arg0, Z_DEFLATED, -(int)min(bits, most), MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	return z;
}

/* Room for what comes next: the output's own, or the staging buffer. */
static size_t room(struct raw *r, struct z_stream_s *z)
{
	size_t n = STAGING;
	void *p = r->c->staging;

	if (!r->chunk)
		n = sink_room(&r->sink, &p, COMP_PIECE);
	z->next_out = p;
	z->avail_out = n;
	return n;
}

static enum raw_state took(struct raw *r, size_t n)
{
	if (r->chunk)
		return sink_put(&r->sink, r->c->staging, n) ? RAW_SHORT : RAW_OK;
	sink_took(&r->sink, n);
	return RAW_OK;
}

/* The output is full: whether the end is all that is missing. */
static enum raw_state last_byte(struct z_stream_s *z, int flush)
{
	u8 probe;

	z->next_out = &probe;
	z->avail_out = 1;
	return flush == Z_FINISH && zlib_deflate(z, flush) == Z_STREAM_END && z->avail_out == 1 ? RAW_OK : RAW_SHORT;
}

/* Everything that a piece of input makes, and behind the last one the end. */
static enum raw_state piece(struct raw *r, struct z_stream_s *z, int flush)
{
	enum raw_state state;
	size_t n;
	int rc;

	do {
		n = room(r, z);
		if (!n)
			return z->avail_in || flush != Z_FINISH ? RAW_SHORT : last_byte(z, flush);
		rc = zlib_deflate(z, flush);
		if (rc != Z_OK && rc != Z_STREAM_END && (rc != Z_BUF_ERROR || flush == Z_FINISH))
			return RAW_FAULT;
		state = took(r, n - z->avail_out);
		if (state != RAW_OK)
			return state;
		if (engine_stopped(r->job))
			return RAW_STOPPED;
	} while (rc != Z_STREAM_END && (!z->avail_out || flush == Z_FINISH));
	return z->avail_in ? RAW_FAULT : RAW_OK;
}

/*
 * A flush that just fills its room cannot be told from one that wants more, and asking again makes another empty block:
 * chunks therefore go through a buffer that is never the measure of what fits.
 */
static enum raw_state raw_zlib(struct raw *r)
{
	struct z_stream_s *z = deflate_get(r);
	struct src src = src_of(r->job);
	enum raw_state rc;
	const void *p;

	if (!z)
		return RAW_NO_MEMORY;
	do {
		if (engine_stopped(r->job))
			return RAW_STOPPED;
		z->avail_in = src_next(&src, &p, COMP_PIECE);
		z->next_in = p;
		rc = piece(r, z, src.left ? Z_NO_FLUSH : r->chunk ? Z_FULL_FLUSH : Z_FINISH);
	} while (rc == RAW_OK && src.left);
	return rc;
}

/* What a driver does not take or cannot fit is the library's. */
static enum raw_state raw_best(struct raw *r)
{
	struct sink begin = r->sink;
	enum raw_state rc;

	if (kacomp_compress(r, &rc))
		return rc;
	r->sink = begin;
	return raw_zlib(r);
}

static COMP_RUN(run_stored)
{
	deflate_run(t, stage, index, job, raw_stored);
}

static COMP_RUN(run_best)
{
	deflate_run(t, stage, index, job, raw_best);
}

static COMP_RUN(run_zlib)
{
	deflate_run(t, stage, index, job, raw_zlib);
}

static struct z_stream_s *inflate_get(struct engine_thread *t)
{
	struct comp_thread *c = comp_get(t);

	if (c && !c->inflate.workspace)
		c->inflate.workspace = kvzalloc(zlib_inflate_workspacesize(), GFP_KERNEL);
	if (!c || !c->inflate.workspace || zlib_inflateInit2(&c->inflate, -WINDOW_MAX) != Z_OK)
		return NULL;
	return &c->inflate;
}

struct zlib_run {
	struct z_stream_s *z;
	bool between;	/* the last bytes taken ended a block, on a byte boundary */
};

static enum dec_state zlib_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len)
{
	struct zlib_run *run = ctx;
	struct z_stream_s *z = run->z;
	size_t nin = *in_len, nout = *out_len;
	int rc;

	z->next_in = in;
	z->avail_in = nin;
	z->next_out = out;
	z->avail_out = nout;
	rc = zlib_inflate(z, Z_NO_FLUSH);
	*in_len = nin - z->avail_in;
	*out_len = nout - z->avail_out;
	cond_resched();
	/* data_type: 128 just behind a block, below that the bits left of the last byte. */
	if (*in_len || *out_len)
		run->between = z->data_type & 0x80 && !(z->data_type & 0x3f);
	if (rc == Z_STREAM_END)
		return DEC_END;
	return rc == Z_OK || rc == Z_BUF_ERROR ? DEC_MORE : DEC_BAD;
}

static void inflate_body(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
			 const struct body *b)
{
	struct zlib_run run = { inflate_get(t), false };
	enum dec_state state;
	struct dec_run r;

	if (!run.z) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	inflate_run_init(&r, stage, job, b);
	state = dec_run(job, &r, zlib_step, &run);
	inflate_run_finish(t, stage, index, job, b, &r, state, run.between);
}

static COMP_RUN(run_inflate)
{
	struct body b;

	if (!body_find(stage, index, job, &b))
		inflate_body(t, stage, index, job, &b);
}

static COMP_RUN(run_inflate_best)
{
	struct body b;

	if (body_find(stage, index, job, &b))
		return;
	if (!kacomp_decompress(kthread_of(t), stage, index, job, &b))
		inflate_body(t, stage, index, job, &b);
}

static int takes_stored(const struct job_stage *stage, uint64_t in_len)
{
	return deflate_takes(stage, in_len) && stage->arg0 == 0;
}

static int takes_inflate(const struct job_stage *stage, uint64_t in_len)
{
	return inflate_takes(stage, in_len);
}

#define FAMILY(alg)										\
	{ NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_##alg, "stored", takes_stored, run_stored },	\
	{ NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_##alg, "crypto", deflate_takes, run_best },	\
	{ NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_##alg, "zlib", deflate_takes, run_zlib },	\
	{ NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_##alg, "crypto", takes_inflate, run_inflate_best }, \
	{ NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_##alg, "zlib", takes_inflate, run_inflate }
static const struct engine_fn entries[] = { FAMILY(DEFLATE), FAMILY(ZLIB), FAMILY(GZIP) };
#undef FAMILY

static unsigned int ops(struct wire_op *op, unsigned int max)
{
	unsigned int n = 0;
	u16 code, alg;

	for (code = NVME_ACCEL_OP_COMPRESS; code <= NVME_ACCEL_OP_DECOMPRESS; code++) {
		for (alg = NVME_ACCEL_ALG_DEFLATE; alg <= NVME_ACCEL_ALG_GZIP && n < max; alg++) {
			struct wire_op *o = &op[n++];

			memset(o, 0, sizeof(*o));
			o->op = code;
			o->alg = alg;
			o->flags = NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST |
				   NVME_ACCEL_OPF_ALONE;
			o->granule = 1;
			o->align = 1;
			o->level_max = code == NVME_ACCEL_OP_COMPRESS ? COMP_LEVELS - 1 : 0;
		}
	}
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return stage->op == NVME_ACCEL_OP_COMPRESS ? deflate_bound(stage, in_len) : UINT64_MAX;
}

const struct engine_family engine_compress = { entries, ARRAY_SIZE(entries), ops, bound };
