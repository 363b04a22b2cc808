/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans: making, policy, sealing. The stages are plan_stage.c, what a job adds is plan_build.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "plan_priv.h"

#define PLAN_FLAGS (ACCEL_PLAN_VERIFY | ACCEL_PLAN_STORE_IF_LARGER | ACCEL_PLAN_OUT_CRC | ACCEL_PLAN_IN_CRC)

int plan_fail(struct accel_plan *plan, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(plan->error, sizeof(plan->error), fmt, ap);
	va_end(ap);
	return err;
}

int accel_plan_new(struct accel_ctx *ctx, struct accel_plan **plan)
{
	struct accel_plan *p;

	if (!ctx || !plan)
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->refs = 1;
	p->ctx = accel_ctx_ref(ctx);
	p->constant = true;
	*plan = p;
	return 0;
}

struct accel_plan *accel_plan_ref(struct accel_plan *plan)
{
	if (plan)
		ref_get(&plan->refs);
	return plan;
}

void accel_plan_unref(struct accel_plan *plan)
{
	struct accel_ctx *ctx;
	unsigned int i;

	if (!plan || !ref_put(&plan->refs))
		return;
	for (i = 0; i < ACCEL_MAX_STAGES; i++) {
		if (!plan->own[i].bytes)
			continue;
		api_wipe(plan->own[i].bytes, plan->own[i].nbytes);
		free(plan->own[i].bytes);
	}
	ctx = plan->ctx;
	if (plan->secret && !ctx_stale(ctx))
		ctx_forget_keys(ctx);
	free(plan);
	accel_ctx_unref(ctx);
}

const char *accel_plan_error(const struct accel_plan *plan)
{
	return plan ? plan->error : "no plan was given";
}

int plan_open(struct accel_plan *plan)
{
	if (!plan)
		return -EINVAL;
	if (ctx_stale(plan->ctx))
		return -ESTALE;
	if (plan->sealed)
		return plan_fail(plan, -EBUSY, "the plan is sealed; make a new one");
	plan->error[0] = '\0';
	return 0;
}

int accel_plan_policy(struct accel_plan *plan, enum accel_policy policy, uint32_t flags, size_t cpu_below)
{
	int err = plan_open(plan);

	if (err)
		return err;
	if ((unsigned int)policy > ACCEL_CPU_ONLY)
		return plan_fail(plan, -EINVAL, "policy %u is not one of enum accel_policy",
				 (unsigned int)policy);
	if (flags & ~PLAN_FLAGS)
		return plan_fail(plan, -EINVAL, "plan flags %#x have unknown bits (%#x)", flags,
				 flags & ~PLAN_FLAGS);
	if (cpu_below && policy != ACCEL_PREFER_DEVICE)
		return plan_fail(plan, -EINVAL, "cpu_below %zu only goes with ACCEL_PREFER_DEVICE",
				 cpu_below);
	plan->policy = policy;
	plan->flags = flags;
	plan->cpu_below = cpu_below;
	plan->job_flags = (flags & ACCEL_PLAN_VERIFY ? NVME_ACCEL_JOB_VERIFY : 0) |
			  (flags & ACCEL_PLAN_STORE_IF_LARGER ? NVME_ACCEL_JOB_STORE_IF_LARGER : 0) |
			  (flags & ACCEL_PLAN_OUT_CRC ? NVME_ACCEL_JOB_OUT_CRC : 0) |
			  (flags & ACCEL_PLAN_IN_CRC ? NVME_ACCEL_JOB_IN_CRC : 0);
	return 0;
}

/* As if with a job of the smallest size: lengths are checked job by job, in dev_takes(). */
static uint64_t plan_nominal_len(const struct wire_id *id, const struct job_stage *st)
{
	const struct wire_op *op = wire_find_op(id, st->op, st->alg);
	uint64_t k = st->arg0 & 0xff, m = st->arg0 >> 8 & 0xff, n;

	switch (st->op) {
	case ACCEL_OP_EC_ENCODE:
	case ACCEL_OP_EC_DECODE:
	case ACCEL_OP_XOR:
	case ACCEL_OP_PQ_GEN:
		return k * st->arg1;
	case ACCEL_OP_EC_UPDATE:
		return (m + 2) * st->arg1;
	}
	if (!op)
		return 0;
	n = op->granule ? op->granule : 1;
	return op->min_in ? (op->min_in + n - 1) / n * n : n;
}

/* Stages for the check, with stand-ins for what a job brings. The key is what matters. */
static int plan_nominal_work(const struct accel_plan *plan, uint8_t *buf, size_t max, struct plan_work *work)
{
	static const uint8_t zero[16];
	struct accel_params params = ACCEL_INIT(struct accel_params);
	unsigned int i;

	for (i = 0; i < plan->nstage; i++) {
		params.stage[i].iv = zero;
		params.stage[i].iv_len =
			plan->stage[i].alg == ACCEL_AES_XTS || plan->stage[i].alg == ACCEL_AES_CTR ? 16 : 12;
		params.stage[i].tag = zero;
		params.stage[i].tag_len = plan->own[i].tag_len;
		params.stage[i].lost = zero;
		params.stage[i].nlost = 1;
	}
	return plan_build(plan, &params, 0, buf, max, work);
}

static int plan_lacks(struct accel_plan *plan, const struct wire_id *id, unsigned int at, const char *who)
{
	const struct job_stage *st = &plan->stage[at];
	const char *alg = st->alg ? wire_alg_name(st->op, st->alg) : NULL;
	const char *why = "has it, but not with these values";

	if (!wire_find_op(id, st->op, st->alg))
		why = "does not have it";
	else if (plan->nstage > 1)
		why = "has it, but not at this place of a chain or not with these values";
	return plan_fail(plan, -ENOTSUP, "stage %u (%s%s%s): %s %s", at + 1, wire_op_name(st->op),
			 alg ? " " : "", alg ? alg : "", who, why);
}

static int plan_check_table(struct accel_plan *plan, const struct wire_id *id, const char *who)
{
	uint8_t buf[PLAN_PARAM_CPU];
	struct plan_work work;
	unsigned int at = 0;
	uint32_t code;
	int err = plan_nominal_work(plan, buf, sizeof(buf), &work);

	if (err)
		return plan_fail(plan, err, "the plan cannot be built");
	code = wire_check_stages(id, work.stage, work.nstage, plan_nominal_len(id, &work.stage[0]), 0, &at);
	if (plan->secret)
		api_wipe(buf, sizeof(buf));
	if (code == NVME_ACCEL_OK)
		return 0;
	at = at < plan->nstage ? at : 0;
	return plan_lacks(plan, id, at, who);
}

/* The CPU engines as a table of operations. */
static int plan_check_cpu(struct accel_plan *plan)
{
	struct wire_id *id = calloc(1, sizeof(*id));
	unsigned int i;
	int err;

	if (!id)
		return plan_fail(plan, -ENOMEM, "out of memory");
	id->maxstage = ACCEL_MAX_STAGES;
	id->maxin = id->maxout = UINT64_MAX;
	id->nops = (uint16_t)engine_ops(id->ops, NVME_ACCEL_MAX_OPS);
	for (i = 0; i < id->nops; i++)
		id->ops[i].max_in = id->ops[i].max_out = UINT64_MAX;
	err = plan_check_table(plan, id, "the CPU");
	free(id);
	return err;
}

static int plan_check_features(struct accel_plan *plan, const struct accel_dev *dev)
{
	static const struct {
		uint32_t flag;
		uint64_t feat;
		const char *name;
	} need[] = {
		{ ACCEL_PLAN_VERIFY, NVME_ACCEL_FEAT_VERIFY, "ACCEL_PLAN_VERIFY" },
		{ ACCEL_PLAN_OUT_CRC, NVME_ACCEL_FEAT_OUT_CRC, "ACCEL_PLAN_OUT_CRC" },
		{ ACCEL_PLAN_IN_CRC, NVME_ACCEL_FEAT_IN_CRC, "ACCEL_PLAN_IN_CRC" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(need) / sizeof(need[0]); i++)
		if (plan->flags & need[i].flag && !(dev->id.feat & need[i].feat))
			return plan_fail(plan, -ENOTSUP, "the device does not offer %s; leave it out",
					 need[i].name);
	return 0;
}

static int plan_check_whole(struct accel_plan *plan)
{
	unsigned int i;

	if (!plan->nstage)
		return plan_fail(plan, -EINVAL, "the plan has no stage");
	if (!(plan->flags & (ACCEL_PLAN_VERIFY | ACCEL_PLAN_STORE_IF_LARGER)))
		return 0;
	for (i = 0; i < plan->nstage; i++)
		if (plan->stage[i].op == ACCEL_OP_COMPRESS)
			return 0;
	return plan_fail(plan, -EINVAL, "the plan's flags %#x ask for what only a compress stage can do",
			 plan->flags);
}

static int plan_check_against(struct accel_plan *plan, const struct accel_dev *dev)
{
	int err;

	if (!dev || plan->policy == ACCEL_CPU_ONLY)
		return plan_check_cpu(plan);
	/* What a flag asks for stays an error: nobody would notice that it is missing. */
	err = plan_check_features(plan, dev);
	if (err)
		return err;
	err = plan_check_table(plan, &dev->id, "the device");
	if (err == -ENOTSUP && plan->policy == ACCEL_PREFER_DEVICE)
		err = plan_check_cpu(plan);
	return err;
}

int accel_plan_seal(struct accel_plan *plan, struct accel_dev *dev)
{
	int err = plan_open(plan);

	if (!err)
		err = plan_check_whole(plan);
	if (err)
		return err;
	if (dev && dev_stale(dev))
		return -ESTALE;
	if (!dev && plan->policy == ACCEL_DEVICE_ONLY)
		return plan_fail(plan, -EINVAL, "ACCEL_DEVICE_ONLY needs a device to seal the plan against");
	err = plan_check_against(plan, dev);
	if (err)
		return err;
	plan->error[0] = '\0';
	plan->sealed = true;
	return 0;
}

/* How many blocks are lost is known only per job: at most as many as there are parities. */
static const struct job_stage *plan_worst(const struct job_stage *stage, struct job_stage *copy)
{
	if (stage->op != ACCEL_OP_EC_DECODE)
		return stage;
	*copy = *stage;
	copy->arg0 |= (stage->arg0 >> 8 & 0xff) << 16;
	return copy;
}

uint64_t accel_bound(const struct accel_plan *plan, uint64_t in_len)
{
	struct job_stage st;
	uint64_t n = in_len;
	unsigned int i;
	bool data = false;

	if (!plan || !plan->nstage)
		return UINT64_MAX;
	for (i = 0; i < plan->nstage && n != UINT64_MAX; i++) {
		/* Sums look at the data and pass it on. */
		if (plan->stage[i].op == ACCEL_OP_DIGEST || plan->stage[i].op == ACCEL_OP_CHECKSUM)
			continue;
		data = true;
		n = engine_bound(plan_worst(&plan->stage[i], &st), n);
	}
	return data ? n : 0;
}
