/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs of a stripe: a checksum a block, and encoding or decoding in slices that the device takes. */
#include "ec_walk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ec_bytes.h"

enum { NPLAN = 8 };	/* two operations; a whole and a last slice, of a whole and of a last stripe */

struct ec_plan {
	uint16_t op;
	uint32_t nbytes;
	struct accel_plan *plan;
};

struct ec_crc_work {
	struct jobq_work work;
	struct ec_stripe *stripe;
	struct iovec iov;
	unsigned int index;
};

struct ec_work {
	struct jobq_work work;
	struct ec_stripe *stripe;
};

static int add_stage(struct accel_plan *plan, const struct ec_head *h, uint16_t op, uint32_t nbytes)
{
	switch (op) {
	case ACCEL_OP_CHECKSUM:
		return accel_plan_checksum(plan, ACCEL_CRC32C, 0);
	case ACCEL_OP_EC_ENCODE:
		return accel_plan_ec_encode(plan, ACCEL_RS_CAUCHY, h->k, h->m, nbytes, NULL);
	default:
		return accel_plan_ec_decode(plan, ACCEL_RS_CAUCHY, h->k, h->m, nbytes, NULL);
	}
}

/* Checksums may always be the CPU's: --hardware asks for the erasure code. */
static int make_plan(struct ec_walk *w, struct ec_plan *p)
{
	enum accel_policy policy = w->t->hardware && p->op != ACCEL_OP_CHECKSUM ? ACCEL_DEVICE_ONLY :
				   ACCEL_PREFER_DEVICE;
	int rc;

	rc = accel_plan_new(tool_ctx(w->t), &p->plan);
	if (!rc)
		rc = add_stage(p->plan, &w->head, p->op, p->nbytes);
	if (!rc)
		rc = accel_plan_policy(p->plan, policy, 0, 0);
	if (!rc)
		rc = accel_plan_seal(p->plan, w->t->dev);
	if (rc && p->plan && *accel_plan_error(p->plan))
		tool_error(w->t, accel_dev_info(w->t->dev)->path, "%s", accel_plan_error(p->plan));
	else if (rc)
		tool_lib_error(w->t, accel_dev_info(w->t->dev)->path, rc);
	if (rc) {
		accel_plan_unref(p->plan);
		p->plan = NULL;
	}
	return rc;
}

static struct accel_plan *get_plan(struct ec_walk *w, uint16_t op, uint32_t nbytes)
{
	struct ec_plan *p = w->plan;

	for (; p < w->plan + NPLAN && p->plan; p++)
		if (p->op == op && p->nbytes == nbytes)
			return p->plan;
	if (p == w->plan + NPLAN)
		return NULL;
	p->op = op;
	p->nbytes = nbytes;
	return make_plan(w, p) ? NULL : p->plan;
}

/* How much of a block goes into one job: any range of bytes of the blocks is independent of the others. */
static uint32_t slice_for(struct ec_walk *w, uint16_t op)
{
	struct accel_caps caps;
	uint64_t n = w->head.block_nbytes;

	if (accel_dev_caps(w->t->dev, op, ACCEL_RS_CAUCHY, &caps))
		return (uint32_t)n;
	if (caps.max_in && caps.max_in / w->head.k < n)
		n = caps.max_in / w->head.k;
	if (caps.max_out && caps.max_out / w->head.m < n)
		n = caps.max_out / w->head.m;
	n -= n % EC_UNIT;
	return n ? (uint32_t)n : EC_UNIT;
}

int ec_jobs_init(struct ec_walk *w)
{
	uint32_t dec = slice_for(w, ACCEL_OP_EC_DECODE);

	w->slice_nbytes = slice_for(w, ACCEL_OP_EC_ENCODE);
	if (dec < w->slice_nbytes)
		w->slice_nbytes = dec;
	w->nslice = (w->head.block_nbytes + w->slice_nbytes - 1) / w->slice_nbytes;
	w->plan = calloc(NPLAN, sizeof(*w->plan));
	if (!w->plan)
		return tool_error(w->t, NULL, "out of memory");
	return get_plan(w, ACCEL_OP_CHECKSUM, 0) ? 0 : TOOL_FAILED;
}

void ec_jobs_fini(struct ec_walk *w)
{
	for (int i = 0; w->plan && i < NPLAN; i++)
		accel_plan_unref(w->plan[i].plan);
	free(w->plan);
}

int ec_stripe_init(struct ec_walk *w, struct ec_stripe *s)
{
	unsigned int n = ec_nshard(&w->head), nblock = n + (w->kind == EC_VERIFY ? w->head.m : 0);
	void *mem;

	s->walk = w;
	s->params.size = sizeof(s->params);
	if (posix_memalign(&mem, 4096, (size_t)nblock * w->head.block_nbytes))
		return -ENOMEM;
	s->mem = mem;
	s->crc = calloc(n, sizeof(*s->crc));
	s->ec = calloc(w->nslice, sizeof(*s->ec));
	s->iov = calloc((size_t)w->nslice * n, sizeof(*s->iov));
	return s->crc && s->ec && s->iov ? 0 : -ENOMEM;
}

void ec_stripe_fini(struct ec_stripe *s)
{
	free(s->mem);
	free(s->crc);
	free(s->ec);
	free(s->iov);
}

static void job_ended(struct ec_stripe *s, const struct accel_result *res)
{
	if (res->status != ACCEL_ST_OK && !s->rc)
		s->rc = tool_job_error(s->walk->t, s->walk->head.name, res);
	if (!--s->pending)
		ec_advance(s);
}

static void crc_done(struct jobq_work *work, const struct accel_result *res)
{
	struct ec_crc_work *c = (struct ec_crc_work *)work;
	struct ec_stripe *s = c->stripe;
	struct ec_walk *w = s->walk;
	uint32_t crc = (uint32_t)get_le(res->result[0], 4) ^ ec_place_crc(&w->head, c->index, s->index);

	if (s->state[c->index] != EC_B_READ)
		put_le(s->check[c->index], EC_CHECK_NBYTES, crc);
	else
		s->state[c->index] = crc == get_le(s->check[c->index], 4) ? EC_B_GOOD : EC_B_BAD;
	if (s->state[c->index] == EC_B_BAD && res->status == ACCEL_ST_OK) {
		struct ec_shard *shard = &w->shard[c->index];

		if (!shard->nbad++ || s->index < shard->first_bad)
			shard->first_bad = s->index;
	}
	job_ended(s, res);
}

void ec_add_crc(struct ec_stripe *s, unsigned int index)
{
	struct ec_crc_work *c = &s->crc[index];

	c->stripe = s;
	c->index = index;
	c->iov = (struct iovec){ ec_block(s, index), s->len };
	c->work.done = crc_done;
	c->work.job = (struct accel_job){ .plan = s->walk->plan[0].plan, .in = &c->iov, .nin = 1 };
	s->pending++;
	jobq_add(&s->walk->q, &c->work);
}

static void ec_done(struct jobq_work *work, const struct accel_result *res)
{
	job_ended(((struct ec_work *)work)->stripe, res);
}

/* Adds the jobs for all slices; in[] and out[] are the starts of the blocks. */
static int add_slices(struct ec_stripe *s, uint16_t op, uint8_t *const *in, uint8_t *const *out,
		      unsigned int nout)
{
	struct ec_walk *w = s->walk;
	unsigned int nin = w->head.k, i = 0;
	uint32_t off, n;

	for (off = 0; off < s->len; off += n, i++) {
		struct iovec *iov = s->iov + (size_t)i * ec_nshard(&w->head);
		struct accel_plan *plan;

		n = s->len - off < w->slice_nbytes ? s->len - off : w->slice_nbytes;
		plan = get_plan(w, op, n);
		if (!plan)
			return TOOL_FAILED;
		for (unsigned int j = 0; j < nin; j++)
			iov[j] = (struct iovec){ in[j] + off, n };
		for (unsigned int j = 0; j < nout; j++)
			iov[nin + j] = (struct iovec){ out[j] + off, n };
		s->ec[i].stripe = s;
		s->ec[i].work.done = ec_done;
		s->ec[i].work.job = (struct accel_job){ .plan = plan, .in = iov, .nin = nin, .out = iov + nin,
							.nout = nout, .params = &s->params };
		s->pending++;
		jobq_add(&w->q, &s->ec[i].work);
	}
	return 0;
}

int ec_add_encode(struct ec_stripe *s, uint8_t *parity)
{
	const struct ec_head *h = &s->walk->head;
	uint8_t *in[EC_SHARDS_MAX], *out[EC_SHARDS_MAX];

	for (unsigned int i = 0; i < h->k; i++)
		in[i] = ec_block(s, i);
	for (unsigned int i = 0; i < h->m; i++)
		out[i] = parity + (size_t)i * s->len;
	memset(s->params.stage, 0, sizeof(s->params.stage));
	return add_slices(s, ACCEL_OP_EC_ENCODE, in, out, h->m);
}

int ec_add_decode(struct ec_stripe *s)
{
	uint8_t *in[EC_SHARDS_MAX], *out[EC_SHARDS_MAX];

	for (unsigned int i = 0; i < s->walk->head.k; i++)
		in[i] = ec_block(s, s->survivors[i]);
	for (unsigned int i = 0; i < s->nlost; i++)
		out[i] = ec_block(s, s->lost[i]);
	s->params.stage[0].lost = s->lost;
	s->params.stage[0].nlost = s->nlost;
	s->params.stage[0].survivors = s->survivors;
	return add_slices(s, ACCEL_OP_EC_DECODE, in, out, s->nlost);
}
