/* SPDX-License-Identifier: BSD-2-Clause */
/* A plan and the parameters of one job, joined to stages with parameter bytes. */
#include <errno.h>
#include "api.h"

/* Where parameters go. */
struct room {
	uint8_t *p;
	size_t left;
};

typedef int (*build_fn)(const struct accel_plan *plan, const struct accel_params *params, unsigned int i,
			struct room *room, struct plan_work *work);

static int build_put(struct room *room, const void *src, size_t n)
{
	if (n > room->left)
		return -E2BIG;
	if (n)
		memcpy(room->p, src, n);
	room->p += n;
	room->left -= n;
	return 0;
}

static int build_check_iv(const struct job_stage *st, const void *iv, uint32_t len)
{
	uint32_t lo = 1, hi = 128;

	if (st->alg == ACCEL_AES_XTS || st->alg == ACCEL_AES_CTR)
		lo = hi = 16;
	else if (st->alg == ACCEL_CHACHA20_POLY1305)
		lo = hi = 12;
	return iv && len >= lo && len <= hi ? 0 : -EINVAL;
}

static int build_cipher(const struct accel_plan *plan, const struct accel_params *params, unsigned int i,
			struct room *room, struct plan_work *work)
{
	struct job_stage *st = &work->stage[i];
	const struct plan_own *own = &plan->own[i];
	int with_tag = st->op == ACCEL_OP_DECRYPT && own->tag_len;
	struct wire_cipher c = { 0 };
	size_t n;

	c.key = own->bytes;
	c.key_len = own->key_len;
	c.tag_len = own->tag_len;
	c.iv = params->stage[i].iv;
	c.iv_len = params->stage[i].iv_len;
	c.tag = with_tag ? params->stage[i].tag : NULL;
	c.aad = params->stage[i].aad;
	c.aad_len = params->stage[i].aad_len;
	if (build_check_iv(st, c.iv, c.iv_len) || (c.aad_len && (!c.aad || !own->tag_len)))
		return -EINVAL;
	if (with_tag && (!c.tag || params->stage[i].tag_len != own->tag_len))
		return -EINVAL;
	n = wire_cipher_encode(&c, with_tag, room->p, room->left);
	if (!n && c.aad_len) {
		/* Only the first stage's data can be led by something of the caller's. */
		if (i)
			return room->left < PLAN_PARAM_CPU ? -E2BIG : -EINVAL;
		work->lead = c.aad;
		work->nlead = c.aad_len;
		st->arg0 = c.aad_len;
		c.aad_len = 0;
		n = wire_cipher_encode(&c, with_tag, room->p, room->left);
	}
	if (!n)
		return -E2BIG;
	st->param = room->p;
	st->param_len = (uint32_t)n;
	room->p += n;
	room->left -= n;
	return 0;
}

/* n indexes below max, ascending. */
static int build_check_list(const uint8_t *list, unsigned int n, unsigned int max)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (list[i] >= max || (i && list[i] <= list[i - 1]))
			return -EINVAL;
	return 0;
}

static int build_disjoint(const uint8_t *a, unsigned int na, const uint8_t *b, unsigned int nb)
{
	unsigned int i, j = 0;

	for (i = 0; i < na; i++) {
		while (j < nb && b[j] < a[i])
			j++;
		if (j < nb && b[j] == a[i])
			return -EINVAL;
	}
	return 0;
}

/* The first k blocks that are not lost. */
static void build_survivors(uint8_t *surv, unsigned int k, const uint8_t *lost, unsigned int nlost)
{
	unsigned int i, n = 0, j = 0;

	for (i = 0; n < k; i++) {
		if (j < nlost && lost[j] == i)
			j++;
		else
			surv[n++] = (uint8_t)i;
	}
}

static int build_decode(const struct accel_plan *plan, const struct accel_params *params, unsigned int i,
			struct room *room, struct plan_work *work)
{
	struct job_stage *st = &work->stage[i];
	unsigned int k = plan->own[i].k, m = plan->own[i].m, nlost = params->stage[i].nlost;
	const uint8_t *lost = params->stage[i].lost, *surv = params->stage[i].survivors;
	uint8_t first[256], *start = room->p;
	int err;

	if (!lost || !nlost || nlost > m || build_check_list(lost, nlost, k + m))
		return -EINVAL;
	if (!surv) {
		build_survivors(first, k, lost, nlost);
		surv = first;
	} else if (build_check_list(surv, k, k + m) || build_disjoint(surv, k, lost, nlost)) {
		return -EINVAL;
	}
	err = build_put(room, lost, nlost);
	if (!err)
		err = build_put(room, surv, k);
	if (!err)
		err = build_put(room, plan->own[i].bytes, plan->own[i].nbytes);
	st->arg0 |= nlost << 16;
	st->param = start;
	st->param_len = (uint32_t)(room->p - start);
	return err;
}

static int build_update(const struct accel_plan *plan, const struct accel_params *params, unsigned int i,
			struct room *room, struct plan_work *work)
{
	struct job_stage *st = &work->stage[i];
	const uint8_t *index = params->stage[i].lost;
	uint8_t *start = room->p;
	int err;

	if (!index || params->stage[i].nlost > 1 || *index >= plan->own[i].k)
		return -EINVAL;
	err = build_put(room, plan->own[i].bytes, plan->own[i].nbytes);
	st->arg0 |= (uint32_t)*index << 16;
	st->param = start;
	st->param_len = (uint32_t)(room->p - start);
	return err;
}

static build_fn build_for(uint16_t op)
{
	switch (op) {
	case ACCEL_OP_ENCRYPT:
	case ACCEL_OP_DECRYPT:
		return build_cipher;
	case ACCEL_OP_EC_DECODE:
		return build_decode;
	}
	return build_update;
}

/* What is constant stays where it is, in the plan; it only has to fit into a descriptor too. */
static int build_constant(const struct job_stage *st, struct room *room)
{
	if (st->param_len > room->left)
		return -E2BIG;
	room->left -= st->param_len;
	return 0;
}

int plan_build(const struct accel_plan *plan, const struct accel_params *params, uint64_t in_len,
	       uint8_t *parambuf, size_t max, struct plan_work *work)
{
	struct room room = { parambuf, max };
	unsigned int i;
	int err;

	if (params && (params->size != sizeof(*params) || params->reserved))
		return -EINVAL;
	work->nstage = plan->nstage;
	work->lead = NULL;
	work->nlead = 0;
	for (i = 0; i < plan->nstage; i++) {
		work->stage[i] = plan->stage[i];
		if (!plan->own[i].per_job)
			err = build_constant(&plan->stage[i], &room);
		else
			err = params ? build_for(plan->stage[i].op)(plan, params, i, &room, work) : -EINVAL;
		if (err)
			return err;
	}
	return in_len > UINT64_MAX - work->nlead ? -EINVAL : 0;
}

uint32_t dev_takes(const struct accel_dev *dev, const struct plan_work *work, uint64_t in_len,
		   uint64_t out_max, unsigned int *at)
{
	return wire_check_stages(&dev->id, work->stage, work->nstage, in_len, out_max, at);
}
