// SPDX-License-Identifier: BSD-2-Clause
/*
 * The coefficients of an erasure coding operation.
 *
 * A decode inverts no k x k matrix. Of the data blocks that are not among the survivors there are as many
 * as there are parity blocks among them, e; those parities with the known data taken out are e equations
 * for the e missing blocks. So the work is e^3 + e^2 k, and e is at most m.
 */
#include "ec.h"

/* A thread serves few kinds of stripes, but may meet many sets of losses. */
#define NPLAN 16u

struct ec_thread {
	struct ec_plan *first;		/* most recently used first */
};

/* Rows k..k+m-1 of the Cauchy code's generator, m rows of k. */
static void cauchy(const struct ec_field *f, uint8_t *parity, unsigned int k, unsigned int m)
{
	unsigned int i, j;

	for (i = 0; i < m; i++)
		for (j = 0; j < k; j++)
			parity[i * k + j] = f->inv((uint8_t)((k + i) ^ j));
}

/* Row p of the code's parity: its coefficients for data 0..k-1. */
static void generator(const struct ec_req *r, const struct ec_field *f, uint8_t *parity)
{
	unsigned int j;
	uint8_t g = 1;

	switch (r->alg) {
	case NVME_ACCEL_ALG_RS_CAUCHY:
		cauchy(f, parity, r->k, r->m);
		break;
	case NVME_ACCEL_ALG_MATRIX:
		memcpy(parity, r->matrix, (size_t)r->m * r->k);
		break;
	case NVME_ACCEL_ALG_PQ:
		/* Q as RAID-6 has it: the powers of 2, block 0 by 1. */
		for (j = 0; j < r->k; j++, g = f->mul(g, 2))
			parity[r->k + j] = g;
		memset(parity, 1, r->k);
		break;
	default:
		memset(parity, 1, r->k);
	}
}

/* dst[0..n-1] += c * src */
static void row_add(const struct ec_field *f, uint8_t *dst, const uint8_t *src, uint8_t c, unsigned int n)
{
	unsigned int j;

	for (j = 0; c && j < n; j++)
		dst[j] ^= f->mul(c, src[j]);
}

/* Gauss and Jordan: inverts a (e x e, spoiled) into inv; 0 if it is singular. */
static int invert(const struct ec_field *f, uint8_t *a, uint8_t *inv, unsigned int e)
{
	unsigned int col, row, j;
	uint8_t c, swap;

	memset(inv, 0, (size_t)e * e);
	for (j = 0; j < e; j++)
		inv[j * e + j] = 1;
	for (col = 0; col < e; col++) {
		for (row = col; row < e && !a[row * e + col]; row++)
			;
		if (row == e)
			return 0;
		for (j = 0; row != col && j < e; j++) {
			swap = a[row * e + j], a[row * e + j] = a[col * e + j], a[col * e + j] = swap;
			swap = inv[row * e + j], inv[row * e + j] = inv[col * e + j], inv[col * e + j] = swap;
		}
		c = f->inv(a[col * e + col]);
		for (j = 0; j < e; j++) {
			a[col * e + j] = f->mul(c, a[col * e + j]);
			inv[col * e + j] = f->mul(c, inv[col * e + j]);
		}
		for (row = 0; row < e; row++) {
			if (row == col)
				continue;
			c = a[row * e + col];
			row_add(f, inv + row * e, inv + col * e, c, e);
			row_add(f, a + row * e, a + col * e, c, e);
		}
	}
	return 1;
}

struct decode {
	const struct ec_req *r;
	const struct ec_field *f;
	const uint8_t *parity;		/* m x k */
	uint8_t missing[EC_MAX];	/* data blocks that are no survivors */
	uint8_t place[EC_MAX];		/* of a surviving data block among the survivors */
	unsigned int nmissing, ndata;	/* ndata: survivors that are data; the others are parity */
	uint8_t *rows;			/* nmissing rows of k: missing data from survivors */
	uint8_t *a, *inv;
};

static void split(struct decode *d)
{
	const struct ec_req *r = d->r;
	unsigned int i, s = 0;

	for (i = 0; i < r->k; i++) {
		if (s < r->k && r->survivors[s] == i)
			d->place[i] = (uint8_t)s++;
		else
			d->missing[d->nmissing++] = (uint8_t)i;
	}
	d->ndata = s;
}

/* Missing data as combinations of the survivors. */
static int solve(struct decode *d)
{
	const struct ec_req *r = d->r;
	unsigned int e = d->nmissing, i, j, p;

	for (p = 0; p < e; p++) {
		const uint8_t *row = d->parity + (size_t)(r->survivors[d->ndata + p] - r->k) * r->k;

		for (j = 0; j < e; j++)
			d->a[p * e + j] = row[d->missing[j]];
	}
	if (!invert(d->f, d->a, d->inv, e))
		return 0;
	memset(d->rows, 0, (size_t)e * r->k);
	for (i = 0; i < e; i++) {
		uint8_t *out = d->rows + (size_t)i * r->k;

		for (p = 0; p < e; p++) {
			const uint8_t *row = d->parity + (size_t)(r->survivors[d->ndata + p] - r->k) * r->k;
			uint8_t c = d->inv[i * e + p];

			out[d->ndata + p] = c;
			for (j = 0; c && j < d->ndata; j++)
				out[j] ^= d->f->mul(c, row[r->survivors[j]]);
		}
	}
	return 1;
}

/* Lost block number i of the list as a combination of the survivors. */
static void lost_row(const struct decode *d, unsigned int i, uint8_t *out)
{
	const struct ec_req *r = d->r;
	unsigned int j, lost = r->lost[i];
	const uint8_t *row;

	memset(out, 0, r->k);
	if (lost < r->k) {
		for (j = 0; d->missing[j] != lost; j++)
			;
		memcpy(out, d->rows + (size_t)j * r->k, r->k);
		return;
	}
	row = d->parity + (size_t)(lost - r->k) * r->k;
	for (j = 0; j < d->ndata; j++)
		out[j] ^= row[r->survivors[j]];
	for (j = 0; j < d->nmissing; j++)
		row_add(d->f, out, d->rows + (size_t)j * r->k, row[d->missing[j]], r->k);
}

size_t ec_work_nbytes(const struct ec_req *r)
{
	size_t e = BASE_MIN(r->k, r->m);

	return (size_t)r->m * r->k + e * r->k + 2 * e * e;
}

uint32_t ec_coefficients(const struct ec_req *r, const struct ec_field *f, uint8_t *coef, uint8_t *work)
{
	struct decode d = { .r = r, .f = f, .parity = work };
	size_t e = BASE_MIN(r->k, r->m);
	unsigned int i;

	generator(r, f, work);
	if (r->op == NVME_ACCEL_OP_EC_UPDATE) {
		for (i = 0; i < r->m; i++) {
			coef[3 * i] = coef[3 * i + 1] = work[(size_t)i * r->k + r->index];
			coef[3 * i + 2] = 1;
		}
		return NVME_ACCEL_OK;
	}
	if (r->op != NVME_ACCEL_OP_EC_DECODE) {
		memcpy(coef, work, (size_t)r->m * r->k);
		return NVME_ACCEL_OK;
	}
	d.rows = work + (size_t)r->m * r->k;
	d.a = d.rows + e * r->k;
	d.inv = d.a + e * e;
	split(&d);
	if (!solve(&d))
		return NVME_ACCEL_NOT_INVERTIBLE;
	for (i = 0; i < r->nlost; i++)
		lost_row(&d, i, coef + (size_t)i * r->k);
	return NVME_ACCEL_OK;
}

static size_t lists_len(const struct ec_req *r)
{
	return r->lost ? r->nlost + r->k : 0;
}

static size_t matrix_len(const struct ec_req *r)
{
	return r->matrix ? (size_t)r->m * r->k : 0;
}

static int same(const struct ec_plan *p, const struct ec_req *r, const struct ec_backend *by)
{
	const struct ec_req *q = &p->req;

	return p->by == by && q->op == r->op && q->alg == r->alg && q->k == r->k && q->m == r->m &&
	       q->nlost == r->nlost && q->index == r->index &&
	       (!lists_len(r) || !memcmp(q->lost, r->lost, lists_len(r))) &&
	       (!matrix_len(r) || !memcmp(q->matrix, r->matrix, matrix_len(r)));
}

/*
 * How a backend lays tables out is its own affair (ISA-L since 2.31 by the processor's instructions), so rows that
 * are to be used one at a time, as an update does, have tables of their own.
 */
static void init_tables(struct ec_plan *p)
{
	unsigned int nsrc = p->req.nsrc, together = p->req.op == NVME_ACCEL_OP_EC_UPDATE ? 1 : p->req.nrow, i;

	for (i = 0; p->by->tables && i < p->req.nrow; i += together)
		p->by->tables(p->coef + i * nsrc, nsrc, together, p->tables + (size_t)32 * i * nsrc);
}

static struct ec_plan *plan_new(const struct ec_req *r, const struct ec_backend *by, uint32_t *code)
{
	size_t nlists = lists_len(r), nmatrix = matrix_len(r), ncoef = (size_t)r->nrow * r->nsrc;
	struct ec_plan *p = engine_zalloc(sizeof(*p) + nlists + nmatrix);
	uint8_t *work = engine_alloc(ec_work_nbytes(r));

	*code = NVME_ACCEL_NO_RESOURCES;
	if (p)
		p->tables = engine_alloc64(33 * ncoef);
	if (p && p->tables && work) {
		p->req = *r;
		p->by = by;
		p->coef = p->tables + 32 * ncoef;
		if (nlists)
			memcpy(p->own, r->lost, nlists);
		if (nmatrix)
			memcpy(p->own + nlists, r->matrix, nmatrix);
		p->req.lost = nlists ? p->own : NULL;
		p->req.survivors = nlists ? p->own + r->nlost : NULL;
		p->req.matrix = nmatrix ? p->own + nlists : NULL;
		*code = ec_coefficients(r, by->field, p->coef, work);
	}
	engine_free(work);
	if (*code == NVME_ACCEL_OK) {
		init_tables(p);
		return p;
	}
	if (p)
		engine_free(p->tables);
	engine_free(p);
	return NULL;
}

static void plan_free(struct ec_plan *p)
{
	engine_free(p->tables);
	engine_free(p);
}

/* The one that was used longest ago goes. */
static void trim(struct ec_thread *e)
{
	struct ec_plan **at = &e->first;
	unsigned int i;

	for (i = 0; *at && i < NPLAN; i++)
		at = &(*at)->next;
	if (!*at)
		return;
	plan_free(*at);
	*at = NULL;
}

const struct ec_plan *ec_plan_get(struct engine_thread *t, const struct ec_req *r, const struct ec_backend *by,
				  uint32_t *code)
{
	struct ec_plan **at, *p;

	if (!t->ec)
		t->ec = engine_zalloc(sizeof(*t->ec));
	*code = NVME_ACCEL_NO_RESOURCES;
	if (!t->ec)
		return NULL;
	for (at = &t->ec->first; *at && !same(*at, r, by); at = &(*at)->next)
		;
	p = *at;
	if (p)
		*at = p->next;
	else
		p = plan_new(r, by, code);
	if (!p)
		return NULL;
	p->next = t->ec->first;
	t->ec->first = p;
	trim(t->ec);
	*code = NVME_ACCEL_OK;
	return p;
}

void ec_thread_free(struct ec_thread *e)
{
	struct ec_plan *p;

	while (e && (p = e->first)) {
		e->first = p->next;
		plan_free(p);
	}
	engine_free(e);
}
