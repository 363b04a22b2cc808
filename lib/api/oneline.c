/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that do one thing to memory of any size. What no job can take goes through a stream or the CPU. */
#include <stdlib.h>
#include "oneline.h"

#define SLICE (1u << 20) /* in the process, between looks at the clock */

bool api_overlap(const void *a, size_t na, const void *b, size_t nb)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return na && nb && x < y + nb && y < x + na;
}

void api_limits(struct accel_dev *dev, uint16_t op, uint16_t alg, uint64_t *max_in, uint64_t *max_out)
{
	struct accel_caps caps;

	*max_in = *max_out = UINT64_MAX; /* the CPU does it, whatever the size */
	if (accel_dev_caps(dev, op, alg, &caps))
		return;
	*max_in = BASE_MIN(caps.max_in, dev->info.max_in);
	*max_out = BASE_MIN(caps.max_out, dev->info.max_out);
}

static int check_args(struct accel_dev *dev, const void *in, size_t in_len)
{
	if (!dev || (in_len && !in))
		return -EINVAL;
	return dev_stale(dev) ? -ESTALE : 0;
}

int api_plan_done(struct accel_plan *plan, struct accel_dev *dev, int err)
{
	return err ? err : accel_plan_seal(plan, dev);
}

/* One job; its status as errno. */
static int run_job(struct accel_dev *dev, const struct accel_plan *plan, const void *in, size_t in_len,
		   void *out, size_t out_max, const struct accel_params *params, int timeout_ms,
		   struct accel_result *r)
{
	int err = accel_run(dev, plan, in, in_len, out, out_max, params, timeout_ms, r);

	return err ? err : status_errno(r->status);
}

static int run_cpu(struct accel_dev *dev, const struct accel_plan *plan, const void *in, size_t in_len,
		   void *out, size_t out_max, const struct accel_params *params, struct accel_result *r)
{
	struct iovec i = { (void *)in, in_len }, o = { out, out_max };
	int err;

	memset(r, 0, sizeof(*r));
	err = cpu_run(dev->ctx, plan, params, &i, 1, &o, 1, ACCEL_EXEC_FALLBACK, r);
	return err ? err : status_errno(r->status);
}

/* ---- streams over memory ---- */

struct mem_stream {
	struct accel_stream *s;
	const uint8_t *in;
	size_t in_len, in_at;
	uint8_t *out;
	size_t out_max;
	uint64_t out_at; /* may pass out_max: what would have done */
	uint64_t deadline;
};

static int mem_give(struct mem_stream *m)
{
	void *p;
	ssize_t n;

	while (m->in_at < m->in_len) {
		n = accel_stream_room(m->s, &p);
		if (n <= 0)
			return (int)n;
		n = (ssize_t)BASE_MIN((size_t)n, m->in_len - m->in_at);
		memcpy(p, m->in + m->in_at, (size_t)n);
		m->in_at += (size_t)n;
		n = accel_stream_commit(m->s, (size_t)n);
		if (n < 0)
			return (int)n;
	}
	return 0;
}

/* 1: there was output; 0: there is none. */
static int mem_take(struct mem_stream *m, int wait)
{
	const void *p;
	ssize_t n = accel_stream_peek(m->s, &p, wait);

	if (n <= 0)
		return (int)n;
	if (m->out_at < m->out_max)
		memcpy(m->out + m->out_at, p, BASE_MIN((size_t)n, m->out_max - (size_t)m->out_at));
	m->out_at += (uint64_t)n;
	accel_stream_consume(m->s, (size_t)n);
	return 1;
}

static int mem_run(struct mem_stream *m)
{
	int n = 0;

	while (m->in_at < m->in_len) {
		n = mem_give(m);
		if (n < 0)
			break;
		n = mem_take(m, m->in_at < m->in_len);
		if (n < 0)
			break;
		if (api_now_ns() > m->deadline)
			return -ETIMEDOUT;
	}
	if (n >= 0)
		accel_stream_finish(m->s);
	/* After an error this still gives what was right before it, and then the error. */
	do {
		n = mem_take(m, 1);
		if (api_now_ns() > m->deadline)
			return -ETIMEDOUT;
	} while (n > 0);
	return n;
}

static int mem_stream(struct accel_dev *dev, uint16_t kind, uint16_t alg, unsigned int level, const void *in,
		      size_t in_len, void *out, size_t *out_len, int timeout_ms)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct mem_stream m = { .in = in, .in_len = in_len, .out = out, .out_max = *out_len };
	struct accel_stream_info info;
	int err;

	m.deadline = api_deadline(timeout_ms);
	opts.kind = kind;
	opts.alg = alg;
	opts.level = level;
	opts.timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
	err = accel_stream_open(dev, &opts, &m.s);
	if (err)
		return err;
	err = mem_run(&m);
	accel_stream_info(m.s, &info);
	if (!err && info.trailing_garbage)
		err = -EBADMSG;
	if (!err && m.out_at > m.out_max)
		err = -ENOSPC;
	*out_len = err && err != -ENOSPC ? 0 : m.out_at <= SIZE_MAX ? (size_t)m.out_at : 0;
	accel_stream_close(m.s);
	return err;
}

/* ---- compression ---- */

static int compress_with(struct accel_dev *dev, const struct accel_plan *plan, uint16_t alg,
			 unsigned int level, const void *in, size_t in_len, void *out, size_t *out_len,
			 int timeout_ms)
{
	uint64_t max_in, max_out, bound = accel_bound(plan, in_len);
	size_t room = (size_t)BASE_MIN(*out_len, bound);
	struct accel_result r;
	int err;

	api_limits(dev, ACCEL_OP_COMPRESS, alg, &max_in, &max_out);
	if (in_len <= max_in && bound <= max_out)
		err = run_job(dev, plan, in, in_len, out, room, NULL, timeout_ms, &r);
	else if (alg == ACCEL_LZ4_BLOCK)
		err = run_cpu(dev, plan, in, in_len, out, room, NULL, &r);
	else
		return mem_stream(dev, ACCEL_STREAM_COMPRESS, alg, level, in, in_len, out, out_len,
				  timeout_ms);
	*out_len = !err ? (size_t)r.out_len : err == -ENOSPC ? (size_t)bound : 0;
	return err;
}

int accel_compress(struct accel_dev *dev, uint16_t alg, unsigned int level, const void *in, size_t in_len,
		   void *out, size_t *out_len, int timeout_ms)
{
	struct accel_plan *plan;
	int err = check_args(dev, in, in_len);

	if (err || !out_len || (*out_len && !out) || api_overlap(in, in_len, out, *out_len))
		return err ? err : -EINVAL;
	err = accel_plan_new(dev->ctx, &plan);
	if (err)
		return err;
	err = api_plan_done(plan, dev, accel_plan_compress(plan, alg, level, 0, 0));
	if (!err)
		err = compress_with(dev, plan, alg, level, in, in_len, out, out_len, timeout_ms);
	accel_plan_unref(plan);
	return err;
}

/* An LZ4 block has no length in it, so what would do is known only if the engine says so. */
static int decompress_block(struct accel_dev *dev, const struct accel_plan *plan, const void *in,
			    size_t in_len, void *out, size_t *out_len, int timeout_ms)
{
	uint64_t max_in, max_out;
	struct accel_result r;
	int err;

	api_limits(dev, ACCEL_OP_DECOMPRESS, ACCEL_LZ4_BLOCK, &max_in, &max_out);
	if (in_len <= max_in && *out_len <= max_out)
		err = run_job(dev, plan, in, in_len, out, *out_len, NULL, timeout_ms, &r);
	else
		err = run_cpu(dev, plan, in, in_len, out, *out_len, NULL, &r);
	*out_len = !err ? (size_t)r.out_len : err == -ENOSPC ? (size_t)r.out_needed : 0;
	return err;
}

/* One job if it is one member and fits; else, and to find out how much room would do, a stream. */
static int decompress_with(struct accel_dev *dev, const struct accel_plan *plan, uint16_t alg, const void *in,
			   size_t in_len, void *out, size_t *out_len, int timeout_ms)
{
	uint64_t max_in, max_out;
	struct accel_result r;
	int err = -ENOSPC;

	api_limits(dev, ACCEL_OP_DECOMPRESS, alg, &max_in, &max_out);
	if (in_len <= max_in)
		err = run_job(dev, plan, in, in_len, out, (size_t)BASE_MIN(*out_len, max_out), NULL,
			      timeout_ms, &r);
	if (!err && r.in_used == in_len) {
		*out_len = (size_t)r.out_len;
		return 0;
	}
	if (!err || err == -ENOSPC)
		return mem_stream(dev, ACCEL_STREAM_DECOMPRESS, alg, 0, in, in_len, out, out_len, timeout_ms);
	*out_len = 0;
	return err;
}

int accel_decompress(struct accel_dev *dev, uint16_t alg, const void *in, size_t in_len, void *out,
		     size_t *out_len, int timeout_ms)
{
	struct accel_plan *plan;
	int err = check_args(dev, in, in_len);

	if (err || !out_len || (*out_len && !out) || api_overlap(in, in_len, out, *out_len))
		return err ? err : -EINVAL;
	err = accel_plan_new(dev->ctx, &plan);
	if (err)
		return err;
	err = api_plan_done(
		plan, dev,
		accel_plan_decompress(plan, alg, alg == ACCEL_LZ4_BLOCK ? 0 : ACCEL_STAGE_TRAILING));
	if (!err && alg == ACCEL_LZ4_BLOCK)
		err = decompress_block(dev, plan, in, in_len, out, out_len, timeout_ms);
	else if (!err)
		err = decompress_with(dev, plan, alg, in, in_len, out, out_len, timeout_ms);
	accel_plan_unref(plan);
	return err;
}

/* ---- digests and checksums ---- */

static int sha256_process(const uint8_t *in, size_t in_len, uint8_t *digest, uint64_t deadline)
{
	uint8_t r[ACCEL_RESULT_MAX] = { 0 };
	uint32_t code = 0;
	struct engine_stream *es = engine_stream_new(ACCEL_OP_DIGEST, ACCEL_SHA256, 0, &code);
	size_t at, n;
	int err = es ? 0 : status_errno(code);

	for (at = 0; at < in_len && !err; at += n) {
		n = BASE_MIN(in_len - at, SLICE);
		err = stream_sum_step(es, in + at, n, &code);
		if (!err && api_now_ns() > deadline)
			err = -ETIMEDOUT;
	}
	if (!err && engine_stream_result(es, r) != 32)
		err = -EIO;
	if (!err)
		memcpy(digest, r, 32);
	engine_stream_free(es);
	return err;
}

int accel_sha256(struct accel_dev *dev, const void *in, size_t in_len, uint8_t digest[32], int timeout_ms)
{
	struct accel_plan *plan;
	struct accel_result r;
	uint64_t max_in, max_out;
	int err = check_args(dev, in, in_len);

	if (err || !digest)
		return err ? err : -EINVAL;
	api_limits(dev, ACCEL_OP_DIGEST, ACCEL_SHA256, &max_in, &max_out);
	if (in_len > max_in)
		return sha256_process(in, in_len, digest, api_deadline(timeout_ms));
	err = accel_plan_new(dev->ctx, &plan);
	if (err)
		return err;
	err = api_plan_done(plan, dev, accel_plan_digest(plan, ACCEL_SHA256));
	if (!err)
		err = run_job(dev, plan, in, in_len, NULL, 0, NULL, timeout_ms, &r);
	if (!err)
		memcpy(digest, r.result[0], 32);
	accel_plan_unref(plan);
	return err;
}

/* ---- AES-GCM ---- */

struct gcm {
	const void *key, *iv, *aad, *tag, *in;
	void *out;
	size_t key_len, aad_len, in_len;
	int timeout_ms;
};

static int gcm_run(struct accel_dev *dev, const struct gcm *g, bool seal, struct accel_result *r)
{
	struct accel_params params = ACCEL_INIT(struct accel_params);
	struct accel_plan *plan;
	uint64_t max_in, max_out;
	int err = accel_plan_new(dev->ctx, &plan);

	if (err)
		return err;
	params.stage[0].iv = g->iv;
	params.stage[0].iv_len = 12;
	params.stage[0].aad = g->aad;
	params.stage[0].aad_len = (uint32_t)g->aad_len;
	params.stage[0].tag = g->tag;
	params.stage[0].tag_len = g->tag ? 16 : 0;
	err = api_plan_done(plan, dev,
			    seal ? accel_plan_encrypt(plan, ACCEL_AES_GCM, g->key, g->key_len, 16, 0)
				 : accel_plan_decrypt(plan, ACCEL_AES_GCM, g->key, g->key_len, 16, 0));
	api_limits(dev, seal ? ACCEL_OP_ENCRYPT : ACCEL_OP_DECRYPT, ACCEL_AES_GCM, &max_in, &max_out);
	max_in = BASE_MIN(max_in, max_out);
	/* One tag for all of it: it cannot be split. */
	if (!err && (g->in_len > max_in || g->aad_len > max_in - g->in_len))
		err = run_cpu(dev, plan, g->in, g->in_len, g->out, g->in_len, &params, r);
	else if (!err)
		err = run_job(dev, plan, g->in, g->in_len, g->out, g->in_len, &params, g->timeout_ms, r);
	accel_plan_unref(plan);
	return err;
}

static int gcm_check(struct accel_dev *dev, const struct gcm *g)
{
	int err = check_args(dev, g->in, g->in_len);

	if (err)
		return err;
	if (!g->key || !g->iv || (g->aad_len && !g->aad) || (g->in_len && !g->out) || g->aad_len > UINT32_MAX)
		return -EINVAL;
	if (api_overlap(g->in, g->in_len, g->out, g->in_len) ||
	    api_overlap(g->aad, g->aad_len, g->out, g->in_len))
		return -EINVAL;
	return 0;
}

int accel_aes_gcm_seal(struct accel_dev *dev, const void *key, size_t key_len, const uint8_t iv[12],
		       const void *aad, size_t aad_len, const void *in, size_t in_len, void *out,
		       uint8_t tag[16], int timeout_ms)
{
	struct gcm g = { key, iv, aad, NULL, in, out, key_len, aad_len, in_len, timeout_ms };
	struct accel_result r;
	int err = gcm_check(dev, &g);

	if (err || !tag)
		return err ? err : -EINVAL;
	err = gcm_run(dev, &g, true, &r);
	if (!err)
		memcpy(tag, r.result[0], 16);
	return err;
}

int accel_aes_gcm_open(struct accel_dev *dev, const void *key, size_t key_len, const uint8_t iv[12],
		       const void *aad, size_t aad_len, const void *in, size_t in_len, const uint8_t tag[16],
		       void *out, int timeout_ms)
{
	struct gcm g = { key, iv, aad, tag, in, out, key_len, aad_len, in_len, timeout_ms };
	struct accel_result r;
	int err = gcm_check(dev, &g);

	if (err || !tag)
		return err ? err : -EINVAL;
	return gcm_run(dev, &g, false, &r);
}
