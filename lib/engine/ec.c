// SPDX-License-Identifier: BSD-2-Clause
/* The erasure coding family: the blocks of a job, and the table. */
#include "ec.h"

/*
 * Bytes of each block that are worked on at a time: a page of each of dozens of blocks stays in the cache for
 * the second round that ISA-L makes over the sources when there are more than a few rows.
 */
#define STEP ((uint64_t)4096)
#define FEW_PAIRS ((uint64_t)4096)	/* of pieces, that are compared one by one */

/* Where every block of a job is worked on, in the lists as they are: nothing is gathered. */
struct blocks {
	struct iov_pos in[EC_MAX + 2], out[EC_MAX];
	uint8_t *src[EC_MAX + 2], *dst[EC_MAX];
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

/*
 * Pages that pieces touch, by the lower bits of their numbers: adds those of one, or says whether one touches any of
 * them. Two pieces without a page in common have no byte in common.
 */
#define PAGES_NBITS	65536u
#define PAGES_NBYTES	(PAGES_NBITS / 8)
#define PAGES_SHIFT	12

static int pages(uint64_t *bits, const struct base_iov *a, int add)
{
	uintptr_t page = (uintptr_t)a->iov_base >> PAGES_SHIFT;
	uintptr_t last = ((uintptr_t)a->iov_base + a->iov_len - 1) >> PAGES_SHIFT;
	uint64_t *word, bit;

	for (; page <= last; page++) {
		word = &bits[page % PAGES_NBITS / 64];
		bit = (uint64_t)1 << page % 64;
		if (add)
			*word |= bit;
		else if (*word & bit)
			return 1;
	}
	return 0;
}

static int meets_list(const struct base_iov *a, const struct base_iov *iov, unsigned int niov, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	struct base_iov b;

	for (; n && (b.iov_len = iov_next(&pos, &b.iov_base, n)); n -= b.iov_len)
		if (ranges_meet(a, &b))
			return 1;
	return 0;
}

/* The pages of an output of many pieces; NULL: of few, which are compared as they are (or no memory). */
static uint64_t *out_pages(struct engine_thread *t, const struct job *job, uint64_t n)
{
	uint64_t *bits = (uint64_t)job->nin * job->nout <= FEW_PAIRS ? NULL : engine_scratch(t, SCRATCH_WORK, PAGES_NBYTES);
	struct iov_pos pos = { job->out, job->nout, 0 };
	struct base_iov a;

	if (!bits)
		return NULL;
	memset(bits, 0, PAGES_NBYTES);
	for (; n && (a.iov_len = iov_next(&pos, &a.iov_base, n)); n -= a.iov_len)
		pages(bits, &a, 1);
	return bits;
}

/* Whether any byte is both read and written: then the result would depend on the order of the work. */
static int overlap(struct engine_thread *t, const struct job *job, uint64_t out_len)
{
	struct base_iov all_in = hull(job->in, job->nin, job->in_len), all_out = hull(job->out, job->nout, out_len), a;
	struct iov_pos in = { job->in, job->nin, 0 };
	uint64_t left, *bits;

	if (!ranges_meet(&all_in, &all_out))
		return 0;
	bits = out_pages(t, job, out_len);
	for (left = job->in_len; left && (a.iov_len = iov_next(&in, &a.iov_base, left)); left -= a.iov_len)
		if (ranges_meet(&a, &all_out) && (!bits || pages(bits, &a, 0)) &&
		    meets_list(&a, job->out, job->nout, out_len))
			return 1;
	return 0;
}

/* The places where n blocks of a list begin. */
static void locate(const struct base_iov *iov, unsigned int niov, unsigned int n, uint64_t block, struct iov_pos *at)
{
	struct iov_pos pos = { iov, niov, 0 };
	unsigned int i;

	for (i = 0; i < n; i++) {
		at[i] = pos;
		iov_skip(&pos, block);
	}
}

/* What of n blocks lies in one piece from where they are, the same length of each, at most max. */
static size_t common_run(const struct iov_pos *at, unsigned int n, uint8_t **ptr, size_t max)
{
	unsigned int i;
	void *p;

	for (i = 0; i < n; i++) {
		struct iov_pos pos = at[i];

		max = iov_next(&pos, &p, max);
		ptr[i] = p;
	}
	return max;
}

static void advance(struct iov_pos *at, unsigned int n, size_t len)
{
	for (; n; n--, at++)
		iov_skip(at, len);
}

/* The same piece of every block, at most max bytes of each; how many: 0 if a list is shorter than it should be. */
static size_t step(const struct ec_plan *plan, const struct ec_req *r, struct blocks *b, size_t max)
{
	size_t len = common_run(b->in, r->nin, b->src, max);
	uint8_t *three[3];
	unsigned int i;

	len = common_run(b->out, r->nout, b->dst, len);
	if (!len)
		return 0;
	if (r->op != NVME_ACCEL_OP_EC_UPDATE)
		plan->by->kernel(plan, 0, r->nrow, len, b->src, b->dst);
	for (i = 0; r->op == NVME_ACCEL_OP_EC_UPDATE && i < r->m; i++) {
		three[0] = b->src[0];
		three[1] = b->src[1];
		three[2] = b->src[2 + i];
		plan->by->kernel(plan, i, 1, len, three, b->dst + i);
	}
	advance(b->in, r->nin, len);
	advance(b->out, r->nout, len);
	return len;
}

static void run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		const struct ec_backend *by)
{
	const struct ec_plan *plan;
	struct blocks *b;
	struct ec_req r;
	uint64_t off;
	uint32_t code;
	size_t n;

	if (!ec_parse(&r, stage, index, job))
		return;
	if (overlap(t, job, r.block * r.nout)) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return;
	}
	plan = ec_plan_get(t, &r, by, &code);
	b = engine_scratch(t, SCRATCH_WORK, sizeof(*b));
	if (!plan || !b) {
		engine_fail(job, index, plan ? NVME_ACCEL_NO_RESOURCES : code);
		return;
	}
	locate(job->in, job->nin, r.nin, r.block, b->in);
	locate(job->out, job->nout, r.nout, r.block, b->out);
	for (off = 0; off < r.block; off += n) {
		n = engine_stopped(job) ? 0 : step(plan, &r, b, BASE_MIN(r.block - off, STEP));
		if (!n) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
	}
	job->in_used = job->in_len;
	job->out_len = r.block * r.nout;
}

static void fast_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job)
{
	run(t, stage, index, job, &ec_fast);
}

static void plain_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job)
{
	run(t, stage, index, job, &ec_plain);
}

#ifdef __KERNEL__
#define FAST "gf"
#else
#define FAST "isal"
#endif
#define FN(op, alg) \
	{ NVME_ACCEL_OP_##op, NVME_ACCEL_ALG_##alg, FAST, NULL, fast_run }, \
	{ NVME_ACCEL_OP_##op, NVME_ACCEL_ALG_##alg, "plain", NULL, plain_run }
#define FNS(alg) FN(EC_ENCODE, alg), FN(EC_DECODE, alg), FN(EC_UPDATE, alg)
static const struct engine_fn entries[] = {
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

const struct engine_family engine_ec = { entries, sizeof(entries) / sizeof(entries[0]), ops, bound };
