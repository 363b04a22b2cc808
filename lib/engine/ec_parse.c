// SPDX-License-Identifier: BSD-2-Clause
/* Erasure coding: what a stage may say. */
#include "ec.h"

static int ascending(const uint8_t *list, unsigned int n, unsigned int limit)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (list[i] >= limit || (i && list[i] <= list[i - 1]))
			return 0;
	return 1;
}

/* Both lists are ascending. */
static int disjoint(const uint8_t *a, unsigned int na, const uint8_t *b, unsigned int nb)
{
	while (na && nb) {
		if (*a == *b)
			return 0;
		if (*a < *b) {
			a++;
			na--;
		} else {
			b++;
			nb--;
		}
	}
	return 1;
}

/* The lists and the matrix behind the stage. */
static int params_ok(struct ec_req *r, const struct job_stage *stage)
{
	uint32_t lists = r->op == NVME_ACCEL_OP_EC_DECODE ? r->nlost + r->k : 0;
	uint32_t matrix = r->alg == NVME_ACCEL_ALG_MATRIX ? r->m * r->k : 0;

	if (stage->param_len != lists + matrix)
		return 0;
	r->matrix = matrix ? stage->param + lists : NULL;
	if (!lists)
		return 1;
	r->lost = stage->param;
	r->survivors = stage->param + r->nlost;
	return ascending(r->lost, r->nlost, r->k + r->m) && ascending(r->survivors, r->k, r->k + r->m) &&
	       disjoint(r->lost, r->nlost, r->survivors, r->k);
}

/* k and m for the algorithm; a plain XOR or P+Q need not say how many parities it makes. */
static int counts_ok(struct ec_req *r, uint32_t arg0)
{
	r->k = arg0 & 0xff;
	r->m = arg0 >> 8 & 0xff;
	if (r->op == NVME_ACCEL_OP_XOR && !r->m)
		r->m = 1;
	if (r->op == NVME_ACCEL_OP_PQ_GEN && !r->m)
		r->m = 2;
	if (arg0 >> 24 || !r->k || !r->m || r->k + r->m > EC_MAX)
		return 0;
	if ((r->alg == NVME_ACCEL_ALG_XOR && r->m != 1) || (r->alg == NVME_ACCEL_ALG_PQ && r->m != 2))
		return 0;
	return 1;
}

/* How many blocks go in and come out. */
static int shape_ok(struct ec_req *r, uint32_t arg0)
{
	unsigned int third = arg0 >> 16 & 0xff;

	r->nin = r->nsrc = r->k;
	r->nout = r->nrow = r->m;
	switch (r->op) {
	case NVME_ACCEL_OP_EC_DECODE:
		r->nlost = r->nout = r->nrow = third;
		return third >= 1 && third <= r->m;
	case NVME_ACCEL_OP_EC_UPDATE:
		r->index = third;
		r->nin = 2 + r->m;
		r->nsrc = 3;	/* the block's old and new data, and one old parity */
		return third < r->k;
	default:
		return third == 0;
	}
}

int ec_parse(struct ec_req *r, const struct job_stage *stage, unsigned int index, struct job *job)
{
	memset(r, 0, sizeof(*r));
	r->op = stage->op;
	r->alg = stage->alg;
	r->block = stage->arg1;
	if (stage->flags || !counts_ok(r, stage->arg0) || !shape_ok(r, stage->arg0) ||
	    !params_ok(r, stage) || !r->block || job->in_len % r->nin || job->in_len / r->nin != r->block) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return 0;
	}
	if (job->out_max / r->nout < r->block) {
		engine_fail_short(job, index,
				  r->block > UINT64_MAX / r->nout ? UINT64_MAX : r->block * r->nout);
		return 0;
	}
	return 1;
}
