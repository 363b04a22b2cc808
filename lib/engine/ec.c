// SPDX-License-Identifier: BSD-2-Clause
/* The erasure coding family: the blocks of a job, and the table. */
#include "ec.h"

/*
 * Bytes of each block that are worked on at a time: a page of each of dozens of blocks stays in the cache for
 * the second round that ISA-L makes over the sources when there are more than a few rows.
 */
#define STEP ((uint64_t)4096)

struct blocks {
	uint8_t *in[EC_MAX + 2], *out[EC_MAX];
	uint8_t *bounce;	/* blocks that do not lie in one piece */
	size_t stride;
};

static int ranges_meet(const struct base_iov *a, const struct base_iov *b)
{
	uintptr_t pa = (uintptr_t)a->iov_base, pb = (uintptr_t)b->iov_base;

	return a->iov_len && b->iov_len && pa < pb + b->iov_len && pb < pa + a->iov_len;
}

/* The smallest range that covers the first n bytes of a list. */
static struct base_iov hull(const struct base_iov *iov, unsigned int niov, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	uintptr_t low = UINTPTR_MAX, high = 0;
	size_t len;
	void *p;

	while (n && (len = iov_next(&pos, &p, n))) {
		low = BASE_MIN(low, (uintptr_t)p);
		high = BASE_MAX(high, (uintptr_t)p + len);
		n -= len;
	}
	return (struct base_iov){ (void *)low, high > low ? high - low : 0 };
}

/* Whether any byte is both read and written: then the result would depend on the order of the work. */
static int overlap(const struct job *job, uint64_t out_len)
{
	struct base_iov all_in = hull(job->in, job->nin, job->in_len), all_out = hull(job->out, job->nout, out_len);
	struct iov_pos in = { job->in, job->nin, 0 }, out;
	struct base_iov a, b;
	uint64_t left, left2;

	if (!ranges_meet(&all_in, &all_out))
		return 0;
	for (left = job->in_len; left; left -= a.iov_len) {
		a.iov_len = iov_next(&in, &a.iov_base, left);
		if (!ranges_meet(&a, &all_out))
			continue;
		out = (struct iov_pos){ job->out, job->nout, 0 };
		for (left2 = out_len; left2; left2 -= b.iov_len) {
			b.iov_len = iov_next(&out, &b.iov_base, left2);
			if (ranges_meet(&a, &b))
				return 1;
		}
	}
	return 0;
}

/* Finds n blocks in a list; those in pieces get the next places in bounce. Returns how many those are. */
static unsigned int locate(struct blocks *b, const struct base_iov *iov, unsigned int niov, unsigned int n,
			   uint64_t block, uint8_t **ptr, unsigned int nbounced, int gather)
{
	struct iov_pos pos = { iov, niov, 0 }, next;
	unsigned int i, count = 0;
	void *p;

	for (i = 0; i < n; i++) {
		next = pos;
		if (iov_next(&next, &p, block) == block) {
			ptr[i] = p;
			pos = next;
			continue;
		}
		ptr[i] = b->bounce ? b->bounce + (nbounced + count) * b->stride : NULL;
		if (gather && ptr[i])
			iov_read(&pos, ptr[i], block);
		else
			iov_skip(&pos, block);
		count++;
	}
	return count;
}

static int find_blocks(struct engine_thread *t, const struct ec_req *r, struct job *job, struct blocks *b)
{
	unsigned int nin, nout;

	b->bounce = NULL;
	b->stride = (r->block + 63) & ~(uint64_t)63;
	nin = locate(b, job->in, job->nin, r->nin, r->block, b->in, 0, 0);
	nout = locate(b, job->out, job->nout, r->nout, r->block, b->out, nin, 0);
	if (!nin && !nout)
		return 1;
	if (b->stride < r->block || b->stride > SIZE_MAX / (nin + nout))
		return 0;
	b->bounce = engine_scratch(t, SCRATCH_WORK, (nin + nout) * b->stride);
	if (!b->bounce)
		return 0;
	locate(b, job->in, job->nin, r->nin, r->block, b->in, 0, 1);
	locate(b, job->out, job->nout, r->nout, r->block, b->out, nin, 0);
	return 1;
}

static void write_back(const struct ec_req *r, struct job *job, const struct blocks *b)
{
	struct iov_pos pos = { job->out, job->nout, 0 }, next;
	unsigned int i;
	void *p;

	for (i = 0; b->bounce && i < r->nout; i++) {
		next = pos;
		if (iov_next(&next, &p, r->block) == r->block)
			pos = next;
		else
			iov_write(&pos, b->out[i], r->block);
	}
}

static void step(const struct ec_plan *plan, const struct blocks *b, uint64_t off, size_t len,
		 ec_kernel kernel)
{
	const struct ec_req *r = &plan->req;
	uint8_t *src[EC_MAX], *dst[EC_MAX];
	unsigned int i;

	for (i = 0; i < r->nout; i++)
		dst[i] = b->out[i] + off;
	if (r->op != NVME_ACCEL_OP_EC_UPDATE) {
		for (i = 0; i < r->nsrc; i++)
			src[i] = b->in[i] + off;
		kernel(plan, 0, r->nrow, len, src, dst);
		return;
	}
	src[0] = b->in[0] + off;
	src[1] = b->in[1] + off;
	for (i = 0; i < r->m; i++) {
		src[2] = b->in[2 + i] + off;
		kernel(plan, i, 1, len, src, dst + i);
	}
}

static void run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		const struct ec_field *field, ec_kernel kernel)
{
	const struct ec_plan *plan;
	struct blocks b;
	struct ec_req r;
	uint64_t off, n;
	uint32_t code;

	if (!ec_parse(&r, stage, index, job))
		return;
	if (overlap(job, r.block * r.nout)) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return;
	}
	plan = ec_plan_get(t, &r, field, &code);
	if (!plan || !find_blocks(t, &r, job, &b)) {
		engine_fail(job, index, plan ? NVME_ACCEL_NO_RESOURCES : code);
		return;
	}
	for (off = 0; off < r.block; off += n) {
		n = BASE_MIN(r.block - off, STEP);
		if (engine_stopped(job)) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
		step(plan, &b, off, n, kernel);
	}
	write_back(&r, job, &b);
	job->in_used = job->in_len;
	job->out_len = r.block * r.nout;
}

static void isal_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		     struct job *job)
{
	run(t, stage, index, job, &ec_field_isal, ec_kernel_isal);
}

static void plain_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	run(t, stage, index, job, &ec_field_plain, ec_kernel_plain);
}

#define FN(op, alg) \
	{ NVME_ACCEL_OP_##op, NVME_ACCEL_ALG_##alg, "isal", NULL, isal_run }, \
	{ NVME_ACCEL_OP_##op, NVME_ACCEL_ALG_##alg, "plain", NULL, plain_run }
#define FNS(alg) FN(EC_ENCODE, alg), FN(EC_DECODE, alg), FN(EC_UPDATE, alg)
static const struct engine_fn fns[] = {
	FNS(RS_CAUCHY), FNS(MATRIX), FNS(XOR), FNS(PQ), FN(XOR, XOR), FN(PQ_GEN, PQ),
};
#undef FN
#undef FNS

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define OP(o, a, most_m, mbps)                                                                               \
	{ .op = NVME_ACCEL_OP_##o, .alg = NVME_ACCEL_ALG_##a, .flags = ANYWHERE, .min_in = 1, .granule = 1,  \
	  .align = 1, .k_max = (uint8_t)(EC_MAX - 1), .m_max = most_m, .est_mbps = mbps, .est_overhead_ns = 200 }
#define OPS(a, m, mbps) OP(EC_ENCODE, a, m, mbps), OP(EC_DECODE, a, m, mbps), OP(EC_UPDATE, a, m, mbps)
/* Estimates: input bytes of 10+2 (or 10 to 1 or 2) blocks of 64 KiB on one server core of 2021. */
static const struct wire_op table[] = {
	OPS(RS_CAUCHY, EC_MAX - 1, 14000), OPS(MATRIX, EC_MAX - 1, 14000), OPS(XOR, 1, 40000),
	OPS(PQ, 2, 14000), OP(XOR, XOR, 1, 40000), OP(PQ_GEN, PQ, 2, 14000),
};
#undef OP
#undef OPS

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = BASE_MIN(max, (unsigned int)(sizeof(table) / sizeof(table[0])));

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

/* Blocks that come out, of the size that the stage says. */
static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	unsigned int n = stage->arg0 >> 8 & 0xff;

	(void)in_len;
	if (stage->op == NVME_ACCEL_OP_EC_DECODE)
		n = stage->arg0 >> 16 & 0xff;
	else if (!n && stage->op == NVME_ACCEL_OP_XOR)
		n = 1;
	else if (!n && stage->op == NVME_ACCEL_OP_PQ_GEN)
		n = 2;
	/* No input has blocks of more than its length; a stage that says so fails anyway. */
	return n * BASE_MIN(stage->arg1, in_len);
}

const struct engine_family engine_ec = { fns, sizeof(fns) / sizeof(fns[0]), ops, bound };
