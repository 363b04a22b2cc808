// SPDX-License-Identifier: GPL-2.0-only
/* Erasure coding: each set of instructions against plain C. */
#include "engine_test.h"
#include "../engine/gf.h"
#include "../../lib/engine/ec.h"

#define BLOCKS 40u

struct ec {
	u16 op, alg;
	unsigned int k, m, n;
	size_t block;
	u8 param[256];
	u32 param_len;
};

static void stage(struct job *job, const struct ec *e)
{
	job->stage[0] = (struct job_stage){ .op = e->op, .alg = e->alg, .arg0 = e->k | e->m << 8 | e->n << 16,
					    .arg1 = e->block, .param = e->param, .param_len = e->param_len };
}

/* The same job by the fastest and by plain C; the output of the latter is left in got. */
static bool both(struct t *t, const struct ec *e, const u8 *in, size_t in_len, size_t out_len)
{
	struct job job;

	t_scatter(t, &t->in, in, in_len);
	t_scatter(t, &t->out, NULL, out_len + 100);
	t_job(t, &job, in_len, out_len + t_below(t, 50));
	stage(&job, e);
	kengine_run(t->th, &job);
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.out_len == out_len && t_untouched(&t->out, out_len, 100)))
		return false;
	t_gather(&t->out, t->want, out_len);
	engine_run_fn(t->th->et, t_fn(e->op, e->alg, "plain"), &job);
	t_gather(&t->out, t->got, out_len);
	return t_check(t, job.code == NVME_ACCEL_OK && job.out_len == out_len && !memcmp(t->want, t->got, out_len));
}

/* Loses some blocks of all (data, then parity) and asks for them back. */
static void lose(struct t *t, struct ec *e, const u8 *all)
{
	u8 *in = t->data + T_MAX, matrix[256];
	unsigned int i, lost = 1 + t_below(t, e->m), left = e->k, at = 0;
	u32 have = e->param_len;
	bool gone[BLOCKS] = {};

	memcpy(matrix, e->param, have);
	for (i = 0; i < lost; i++) {
		unsigned int x = t_below(t, e->k + e->m);

		while (gone[x])
			x = (x + 1) % (e->k + e->m);
		gone[x] = true;
	}
	for (i = 0; i < e->k + e->m; i++)
		if (gone[i])
			e->param[at++] = i;
	for (i = 0; i < e->k + e->m && left; i++)
		if (!gone[i]) {
			memcpy(in + (e->k - left) * e->block, all + i * e->block, e->block);
			e->param[at++] = i;
			left--;
		}
	memcpy(e->param + at, matrix, have);
	e->param_len = at + have;
	e->op = NVME_ACCEL_OP_EC_DECODE;
	e->n = lost;
	if (!both(t, e, in, e->k * e->block, lost * e->block))
		return;
	for (i = 0, at = 0; i < e->k + e->m; i++)
		if (gone[i])
			t_check(t, !memcmp(t->got + at++ * e->block, all + i * e->block, e->block));
	memcpy(e->param, matrix, have);
	e->param_len = have;
}

/* One block changes: the parities by update are those of encoding it all again. */
static void update(struct t *t, struct ec *e, u8 *all)
{
	u8 *in = t->data + T_MAX;
	unsigned int x = t_below(t, e->k);
	size_t b = e->block;

	memcpy(in, all + x * b, b);
	t_fill(t, in + b, b, 0);
	memcpy(in + 2 * b, all + e->k * b, e->m * b);
	memcpy(all + x * b, in + b, b);
	e->op = NVME_ACCEL_OP_EC_UPDATE;
	e->n = x;
	if (!both(t, e, in, (2 + e->m) * b, e->m * b))
		return;
	memcpy(in, t->got, e->m * b);
	e->op = NVME_ACCEL_OP_EC_ENCODE;
	e->n = 0;
	if (both(t, e, all, e->k * b, e->m * b))
		t_check(t, !memcmp(in, t->got, e->m * b));
}

void test_ec(struct t *t)
{
	static const char *const sets[] = { "avx2", "ssse3", "c" };
	struct ec e = { .op = NVME_ACCEL_OP_EC_ENCODE, .alg = 1 + t_below(t, 4) };
	unsigned int i;

	/* What the processor does not have stays as it was. */
	gf_use(sets[t_below(t, ARRAY_SIZE(sets))]);
	e.k = 1 + t_below(t, 32);
	e.m = e.alg == NVME_ACCEL_ALG_XOR ? 1 : e.alg == NVME_ACCEL_ALG_PQ ? 2 : 1 + t_below(t, 6);
	e.block = 1 + t_below(t, t_rnd(t) % 4 ? 3000 : 20000);
	if (e.alg == NVME_ACCEL_ALG_MATRIX) {
		/* Cauchy's, numbered from another place: any square of it can be inverted. */
		e.k = min(e.k, 200 / e.m);
		for (i = 0; i < e.m * e.k; i++)
			e.param[i] = ec_field_plain.inv((100 + i / e.k) ^ (i % e.k));
		e.param_len = e.m * e.k;
	}
	t_fill(t, t->data, e.k * e.block, 0);
	if (!both(t, &e, t->data, e.k * e.block, e.m * e.block))
		return;
	memcpy(t->data + e.k * e.block, t->got, e.m * e.block);
	lose(t, &e, t->data);
	update(t, &e, t->data);
	if (e.alg < NVME_ACCEL_ALG_XOR)
		return;
	e.op = e.alg == NVME_ACCEL_ALG_XOR ? NVME_ACCEL_OP_XOR : NVME_ACCEL_OP_PQ_GEN;
	e.n = 0;
	both(t, &e, t->data, e.k * e.block, e.m * e.block);
	gf_use("avx2");
}

/* Output that shares a byte with the input: refused, whether the lists are short or long. */
static void overlap(struct t *t, struct ec *e)
{
	size_t len = 2 * e->block;
	struct job job;
	unsigned int i;

	t_scatter(t, &t->in, t->data, len);
	t_scatter(t, &t->out, NULL, len);
	t_job(t, &job, len, len);
	stage(&job, e);
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK);
	i = t_below(t, t->in.n);
	t->out.v[0] = (struct kvec){ t->in.v[i].iov_base, 1 };
	for (i = 1; i < len && i < T_LIST; i++)
		t->out.v[i] = (struct kvec){ t->got + 2 * i, i == min_t(size_t, len, T_LIST) - 1 ? len : 1 };
	t->out.n = i;
	job.nout = i;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_BAD_PARAM);
	t->out.v[0].iov_base = t->got;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK);
}

void test_ec_rules(struct t *t)
{
	struct ec e = { .op = NVME_ACCEL_OP_EC_DECODE, .alg = NVME_ACCEL_ALG_MATRIX, .k = 2, .m = 2, .n = 2, .block = 16 };
	/* Both parities are the same: what two lost blocks were cannot be known. */
	static const u8 param[] = { 0, 1, 2, 3, 1, 1, 1, 1 };
	struct job job;

	memcpy(e.param, param, sizeof(param));
	e.param_len = sizeof(param);
	t_scatter(t, &t->in, t->data, 32);
	t_scatter(t, &t->out, NULL, 32);
	t_job(t, &job, 32, 32);
	stage(&job, &e);
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_NOT_INVERTIBLE && t_untouched(&t->out, 0, 32));
	job.stage[0].param_len--;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_BAD_PARAM);
	job.stage[0].param_len++;
	job.out_max = 31;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OUTPUT_SHORT && job.out_needed == 32);

	e = (struct ec){ .op = NVME_ACCEL_OP_EC_ENCODE, .alg = NVME_ACCEL_ALG_RS_CAUCHY, .k = 2, .m = 2, .block = 16 };
	overlap(t, &e);
	e.block = 8000;
	overlap(t, &e);
}
