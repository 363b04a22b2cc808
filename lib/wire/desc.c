// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Job descriptors. Both ways run once a job, so neither does anything twice. */
#include "wire_priv.h"

#define DESC_CRC_SPAN offsetof(struct nvme_accel_desc, crc)

static int block_ok(size_t nbytes)
{
	return nbytes == 512 || nbytes == 4096;
}

static uint32_t desc_crc(const uint8_t *block, size_t param_len)
{
	return base_crc32c(base_crc32c(0, block, DESC_CRC_SPAN), block + NVME_ACCEL_PARAM_OFF, param_len);
}

/* An abort names a job by slot and seq and needs no stage. */
static enum wire_err check_desc(uint16_t flags, uint64_t seq, unsigned int nstage)
{
	if (nstage > NVME_ACCEL_MAX_STAGES || (!nstage && !(flags & NVME_ACCEL_JOB_ABORT)))
		return WIRE_LENGTH;
	if (flags & ~NVME_ACCEL_JOB_FLAGS)
		return WIRE_RESERVED;
	return seq ? WIRE_OK : WIRE_RANGE;
}

static enum wire_err check_stage(const struct job_stage *st)
{
	if (!st->op)
		return WIRE_RANGE;
	return st->flags & ~NVME_ACCEL_STAGE_FLAGS ? WIRE_RESERVED : WIRE_OK;
}

static void stage_encode(const struct job_stage *st, uint8_t *p, size_t param_off)
{
	PUT16(p, nvme_accel_stage, op, st->op);
	PUT16(p, nvme_accel_stage, alg, st->alg);
	PUT32(p, nvme_accel_stage, flags, st->flags);
	PUT32(p, nvme_accel_stage, object, st->object);
	PUT32(p, nvme_accel_stage, arg0, st->arg0);
	PUT64(p, nvme_accel_stage, arg1, st->arg1);
	PUT16(p, nvme_accel_stage, param_off, (uint16_t)(st->param_len ? param_off : 0));
	PUT16(p, nvme_accel_stage, param_len, (uint16_t)st->param_len);
}

/* Stages and their parameters, which fill what is left of the block from byte 256 on. */
static enum wire_err stages_encode(const struct wire_desc *d, uint8_t *block, size_t room, size_t *used)
{
	uint8_t *params = block + NVME_ACCEL_PARAM_OFF, *p = FIELDW(block, nvme_accel_desc, stage);
	unsigned int i;

	*used = 0;
	for (i = 0; i < d->nstage; i++, p += sizeof(struct nvme_accel_stage)) {
		const struct job_stage *st = &d->stage[i];
		enum wire_err err = check_stage(st);

		if (err)
			return err;
		if (st->param_len > room - *used)
			return WIRE_LENGTH;
		stage_encode(st, p, *used);
		if (st->param_len)
			memcpy(params + *used, st->param, st->param_len);
		*used += st->param_len;
	}
	return WIRE_OK;
}

enum wire_err wire_desc_encode(const struct wire_desc *desc, void *block, size_t block_nbytes)
{
	enum wire_err err = check_desc(desc->flags, desc->seq, desc->nstage);
	size_t used;

	if (err)
		return err;
	if (!block_ok(block_nbytes))
		return WIRE_LENGTH;
	memset(block, 0, block_nbytes);
	err = stages_encode(desc, block, block_nbytes - NVME_ACCEL_PARAM_OFF, &used);
	if (err)
		return err;
	__builtin_memcpy(block, NVME_ACCEL_DESC_MAGIC, 4);
	PUT8(block, nvme_accel_desc, version, WIRE_VERSION_1);
	PUT8(block, nvme_accel_desc, nstage, (uint8_t)desc->nstage);
	PUT16(block, nvme_accel_desc, flags, desc->flags);
	PUT64(block, nvme_accel_desc, seq, desc->seq);
	PUTB(block, nvme_accel_desc, nonce, desc->nonce);
	PUT32(block, nvme_accel_desc, lease, desc->lease);
	PUT32(block, nvme_accel_desc, epoch, desc->epoch);
	PUT64(block, nvme_accel_desc, cookie, desc->cookie);
	PUT64(block, nvme_accel_desc, in_len, desc->in_len);
	PUT64(block, nvme_accel_desc, out_max, desc->out_max);
	PUT64(block, nvme_accel_desc, stream, desc->stream);
	PUT32(block, nvme_accel_desc, chunk, desc->chunk);
	PUT32(block, nvme_accel_desc, in_crc, desc->in_crc);
	PUT32(block, nvme_accel_desc, limit_ms, desc->limit_ms);
	PUT16(block, nvme_accel_desc, param_len, (uint16_t)used);
	PUT16(block, nvme_accel_desc, priority, desc->priority);
	PUT32(block, nvme_accel_desc, crc, desc_crc(block, used));
	return WIRE_OK;
}

static enum wire_err stage_decode(struct job_stage *st, const uint8_t *p, const uint8_t *params,
				  size_t param_len)
{
	size_t off = GET16(p, nvme_accel_stage, param_off);

	st->op = GET16(p, nvme_accel_stage, op);
	st->alg = GET16(p, nvme_accel_stage, alg);
	st->flags = GET32(p, nvme_accel_stage, flags);
	st->object = GET32(p, nvme_accel_stage, object);
	st->arg0 = GET32(p, nvme_accel_stage, arg0);
	st->arg1 = GET64(p, nvme_accel_stage, arg1);
	st->param_len = GET16(p, nvme_accel_stage, param_len);
	if (off > param_len || st->param_len > param_len - off)
		return WIRE_LENGTH;
	st->param = params + off;
	return IS_ZERO(p, nvme_accel_stage, rsvd28) ? check_stage(st) : WIRE_RESERVED;
}

static enum wire_err stages_decode(struct wire_desc *d, const uint8_t *block)
{
	const uint8_t *p = FIELD(block, nvme_accel_desc, stage), *params = block + NVME_ACCEL_PARAM_OFF;
	size_t size = sizeof(struct nvme_accel_stage);
	enum wire_err err = WIRE_OK;
	unsigned int i;

	for (i = 0; i < d->nstage && !err; i++, p += size)
		err = stage_decode(&d->stage[i], p, params, d->param_len);
	if (err)
		return err;
	memset(&d->stage[i], 0, (NVME_ACCEL_MAX_STAGES - i) * sizeof(d->stage[0]));
	return base_is_zero(p, (NVME_ACCEL_MAX_STAGES - i) * size) ? WIRE_OK : WIRE_RESERVED;
}

static enum wire_err check_envelope(const uint8_t *block, size_t block_nbytes)
{
	size_t param_len = GET16(block, nvme_accel_desc, param_len);

	if (!magic_is(block, NVME_ACCEL_DESC_MAGIC))
		return WIRE_MAGIC;
	if (GET8(block, nvme_accel_desc, version) != WIRE_VERSION_1)
		return WIRE_VERSION;
	if (param_len > block_nbytes - NVME_ACCEL_PARAM_OFF)
		return WIRE_LENGTH;
	if (GET32(block, nvme_accel_desc, crc) != desc_crc(block, param_len))
		return WIRE_CRC;
	if (!IS_ZERO(block, nvme_accel_desc, rsvd76) || !IS_ZERO(block, nvme_accel_desc, rsvd92) ||
	    !IS_ZERO(block, nvme_accel_desc, rsvd224))
		return WIRE_RESERVED;
	return WIRE_OK;
}

enum wire_err wire_desc_decode(struct wire_desc *desc, const void *block, size_t block_nbytes)
{
	enum wire_err err = block_ok(block_nbytes) ? check_envelope(block, block_nbytes) : WIRE_LENGTH;

	if (err)
		return err;
	desc->flags = GET16(block, nvme_accel_desc, flags);
	desc->seq = GET64(block, nvme_accel_desc, seq);
	GETB(desc->nonce, block, nvme_accel_desc, nonce);
	desc->lease = GET32(block, nvme_accel_desc, lease);
	desc->epoch = GET32(block, nvme_accel_desc, epoch);
	desc->cookie = GET64(block, nvme_accel_desc, cookie);
	desc->in_len = GET64(block, nvme_accel_desc, in_len);
	desc->out_max = GET64(block, nvme_accel_desc, out_max);
	desc->stream = GET64(block, nvme_accel_desc, stream);
	desc->chunk = GET32(block, nvme_accel_desc, chunk);
	desc->in_crc = GET32(block, nvme_accel_desc, in_crc);
	desc->limit_ms = GET32(block, nvme_accel_desc, limit_ms);
	desc->param_len = GET16(block, nvme_accel_desc, param_len);
	desc->priority = GET16(block, nvme_accel_desc, priority);
	desc->nstage = GET8(block, nvme_accel_desc, nstage);
	err = check_desc(desc->flags, desc->seq, desc->nstage);
	return err ? err : stages_decode(desc, block);
}
