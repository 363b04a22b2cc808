// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of operations, and whether it allows what a job asks for. */
#include "wire_priv.h"

#define OPF_PLACE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define OPF_KNOWN (OPF_PLACE | NVME_ACCEL_OPF_STREAM | NVME_ACCEL_OPF_VECTOR)
#define KEY_KNOWN 0xfu

void wire_op_encode(const struct wire_op *op, uint8_t *p)
{
	memset(p, 0, sizeof(struct nvme_accel_op));
	PUT16(p, nvme_accel_op, op, op->op);
	PUT16(p, nvme_accel_op, alg, op->alg);
	PUT32(p, nvme_accel_op, flags, op->flags);
	PUT32(p, nvme_accel_op, min_in, op->min_in);
	PUT32(p, nvme_accel_op, granule, op->granule);
	PUT64(p, nvme_accel_op, max_in, op->max_in);
	PUT64(p, nvme_accel_op, max_out, op->max_out);
	PUT16(p, nvme_accel_op, align, op->align);
	PUT8(p, nvme_accel_op, level_min, op->level_min);
	PUT8(p, nvme_accel_op, level_max, op->level_max);
	PUT8(p, nvme_accel_op, k_max, op->k_max);
	PUT8(p, nvme_accel_op, m_max, op->m_max);
	PUT16(p, nvme_accel_op, key_bits_mask, op->key_bits_mask);
	PUT32(p, nvme_accel_op, est_mbps, op->est_mbps);
	PUT32(p, nvme_accel_op, est_overhead_ns, op->est_overhead_ns);
}

/* strict: the page is of our own minor version, which gives reserved bits no meaning. */
enum wire_err wire_op_decode(struct wire_op *op, const uint8_t *p, int strict)
{
	op->op = GET16(p, nvme_accel_op, op);
	op->alg = GET16(p, nvme_accel_op, alg);
	op->flags = GET32(p, nvme_accel_op, flags);
	op->min_in = GET32(p, nvme_accel_op, min_in);
	op->granule = GET32(p, nvme_accel_op, granule);
	op->max_in = GET64(p, nvme_accel_op, max_in);
	op->max_out = GET64(p, nvme_accel_op, max_out);
	op->align = GET16(p, nvme_accel_op, align);
	op->level_min = GET8(p, nvme_accel_op, level_min);
	op->level_max = GET8(p, nvme_accel_op, level_max);
	op->k_max = GET8(p, nvme_accel_op, k_max);
	op->m_max = GET8(p, nvme_accel_op, m_max);
	op->key_bits_mask = GET16(p, nvme_accel_op, key_bits_mask);
	op->est_mbps = GET32(p, nvme_accel_op, est_mbps);
	op->est_overhead_ns = GET32(p, nvme_accel_op, est_overhead_ns);
	if (strict && !IS_ZERO(p, nvme_accel_op, rsvd48))
		return WIRE_OPS;
	return WIRE_OK;
}

static int op_ok(const struct wire_id *id, const struct wire_op *op)
{
	int strict = id->ifminor == NVME_ACCEL_IFMINOR;

	if (!op->op || !(op->flags & OPF_PLACE))
		return 0;
	if (strict && (op->op > NVME_ACCEL_OP_OBJECT_DROP || op->flags & ~(uint32_t)OPF_KNOWN ||
		       op->key_bits_mask & ~KEY_KNOWN))
		return 0;
	if (op->min_in > op->max_in || op->max_in > id->maxin || op->max_out > id->maxout)
		return 0;
	return !(op->align & (op->align - 1)) && op->level_min <= op->level_max;
}

enum wire_err wire_check_ops(const struct wire_id *id)
{
	unsigned int i;

	if (!id->nops || id->nops > NVME_ACCEL_MAX_OPS)
		return WIRE_OPS;
	for (i = 0; i < id->nops; i++)
		if (!op_ok(id, &id->ops[i]) || wire_find_op(id, id->ops[i].op, id->ops[i].alg) != &id->ops[i])
			return WIRE_OPS;
	return WIRE_OK;
}

static inline uint32_t op_key(uint16_t op, uint16_t alg)
{
	return op | (uint32_t)alg << 16;
}

/* Called several times a job: one load and one comparison an entry. */
const struct wire_op *wire_find_op(const struct wire_id *id, uint16_t op, uint16_t alg)
{
	const struct wire_op *o = id->ops, *end = o + id->nops;
	uint32_t key = op_key(op, alg);

	for (; o < end; o++)
		if (op_key(o->op, o->alg) == key)
			return o;
	return NULL;
}

static uint32_t place(unsigned int i, unsigned int n)
{
	if (n == 1)
		return NVME_ACCEL_OPF_ALONE;
	if (i == 0)
		return NVME_ACCEL_OPF_FIRST;
	return i == n - 1 ? NVME_ACCEL_OPF_LAST : NVME_ACCEL_OPF_MIDDLE;
}

static int key_ok(const struct wire_op *op, const struct job_stage *st)
{
	if (st->param_len < sizeof(struct nvme_accel_cipher))
		return 0;
	switch (st->param[offsetof(struct nvme_accel_cipher, key_len)]) {
	case 16:
		return op->key_bits_mask & 1;
	case 24:
		return op->key_bits_mask & 2;
	case 32:
		return op->key_bits_mask & 4;
	case 64:
		return op->key_bits_mask & 8;
	default:
		return 0;
	}
}

static int blocks_ok(const struct wire_op *op, const struct job_stage *st, int parity)
{
	uint32_t k = st->arg0 & 0xff, m = st->arg0 >> 8 & 0xff;

	if (!k || k > op->k_max)
		return 0;
	return !parity || (m && m <= op->m_max && k + m <= 255);
}

/* What the table says about the arguments of one stage. */
static int args_ok(const struct wire_op *op, const struct job_stage *st)
{
	switch (st->op) {
	case NVME_ACCEL_OP_COMPRESS:
		return st->arg0 >= op->level_min && st->arg0 <= op->level_max;
	case NVME_ACCEL_OP_EC_ENCODE:
	case NVME_ACCEL_OP_EC_DECODE:
	case NVME_ACCEL_OP_EC_UPDATE:
		return blocks_ok(op, st, 1);
	case NVME_ACCEL_OP_XOR:
	case NVME_ACCEL_OP_PQ_GEN:
		return blocks_ok(op, st, 0);
	case NVME_ACCEL_OP_ENCRYPT:
	case NVME_ACCEL_OP_DECRYPT:
		return key_ok(op, st);
	default:
		return 1;
	}
}

static int in_len_ok(const struct wire_op *op, uint64_t in_len)
{
	if (in_len < op->min_in || in_len > op->max_in)
		return 0;
	return op->granule < 2 || in_len % op->granule == 0;
}

uint32_t wire_check_stages(const struct wire_id *id, const struct job_stage *stage, unsigned int nstage,
			   uint64_t in_len, uint64_t out_max, unsigned int *at)
{
	const struct wire_op *op = NULL;
	unsigned int i;

	*at = 0;
	if (!nstage || nstage > id->maxstage)
		return NVME_ACCEL_UNSUPPORTED_OP;
	for (i = 0; i < nstage; i++) {
		*at = i;
		op = wire_find_op(id, stage[i].op, stage[i].alg);
		if (!op || !(op->flags & place(i, nstage)))
			return NVME_ACCEL_UNSUPPORTED_OP;
		if (!args_ok(op, &stage[i]) || (i == 0 && !in_len_ok(op, in_len)))
			return NVME_ACCEL_BAD_PARAM;
	}
	if (out_max > op->max_out)
		return NVME_ACCEL_BAD_PARAM;
	*at = 0;
	return NVME_ACCEL_OK;
}
