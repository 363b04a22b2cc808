// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Status blocks. */
#include "wire_priv.h"

#define STATUS_CRC_SPAN offsetof(struct nvme_accel_status, crc)
#define STATUS_FLAGS	0x7fu
#define LONG_SIZE	(NVME_ACCEL_MAX_STAGES * JOB_LONG_LEN)

_Static_assert(LONG_SIZE == NVME_ACCEL_LONG_LEN, "longer results fill their place");

static int block_ok(size_t nbytes)
{
	return nbytes == 512 || nbytes == 4096;
}

static enum wire_err check_status(const struct wire_status *st)
{
	if (st->state > NVME_ACCEL_ST_SUPERSEDED || st->fail_stage >= NVME_ACCEL_MAX_STAGES)
		return WIRE_RANGE;
	if (st->flags & ~STATUS_FLAGS)
		return WIRE_RESERVED;
	/* Success is said twice, and output is only promised with it. */
	if (st->state == NVME_ACCEL_ST_DONE)
		return st->code == NVME_ACCEL_OK ? WIRE_OK : WIRE_RANGE;
	if (st->flags & NVME_ACCEL_SF_OUTPUT_VALID || st->out_len)
		return WIRE_RANGE;
	if (st->code == NVME_ACCEL_OK && st->state >= NVME_ACCEL_ST_FAILED && st->state <= NVME_ACCEL_ST_LOST)
		return WIRE_RANGE;
	return WIRE_OK;
}

enum wire_err wire_status_encode(const struct wire_status *st, void *block, size_t block_nbytes)
{
	enum wire_err err = block_ok(block_nbytes) ? check_status(st) : WIRE_LENGTH;

	if (err)
		return err;
	memset(block, 0, block_nbytes);
	__builtin_memcpy(block, NVME_ACCEL_STATUS_MAGIC, 4);
	PUT8(block, nvme_accel_status, version, WIRE_VERSION_1);
	PUT8(block, nvme_accel_status, state, st->state);
	PUT16(block, nvme_accel_status, flags, st->flags);
	PUT64(block, nvme_accel_status, seq, st->seq);
	PUT64(block, nvme_accel_status, bootid, st->bootid);
	PUT32(block, nvme_accel_status, lease, st->lease);
	PUT32(block, nvme_accel_status, epoch, st->epoch);
	PUT64(block, nvme_accel_status, cookie, st->cookie);
	PUT32(block, nvme_accel_status, code, st->code);
	PUT16(block, nvme_accel_status, fail_stage, st->fail_stage);
	PUT16(block, nvme_accel_status, retry_hint, st->retry_hint);
	PUT64(block, nvme_accel_status, in_used, st->in_used);
	PUT64(block, nvme_accel_status, out_len, st->out_len);
	PUT64(block, nvme_accel_status, out_needed, st->out_needed);
	PUT32(block, nvme_accel_status, out_crc, st->out_crc);
	PUT32(block, nvme_accel_status, queue_pos, st->queue_pos);
	PUT64(block, nvme_accel_status, queue_ns, st->queue_ns);
	PUT64(block, nvme_accel_status, exec_ns, st->exec_ns);
	PUT64(block, nvme_accel_status, retval, st->retval);
	PUT64(block, nvme_accel_status, stream, st->stream);
	PUTB(block, nvme_accel_status, result, st->result);
	PUT32(block, nvme_accel_status, crc, base_crc32c(0, block, STATUS_CRC_SPAN));
	memcpy((uint8_t *)block + NVME_ACCEL_LONG_OFF, st->long_result, LONG_SIZE);
	return WIRE_OK;
}

static enum wire_err check_envelope(const uint8_t *block)
{
	if (!magic_is(block, NVME_ACCEL_STATUS_MAGIC))
		return WIRE_MAGIC;
	if (GET8(block, nvme_accel_status, version) != WIRE_VERSION_1)
		return WIRE_VERSION;
	if (GET32(block, nvme_accel_status, crc) != base_crc32c(0, block, STATUS_CRC_SPAN))
		return WIRE_CRC;
	return IS_ZERO(block, nvme_accel_status, rsvd240) ? WIRE_OK : WIRE_RESERVED;
}

enum wire_err wire_status_decode(struct wire_status *st, const void *block, size_t block_nbytes)
{
	enum wire_err err = block_ok(block_nbytes) ? check_envelope(block) : WIRE_LENGTH;

	if (err)
		return err;
	st->state = GET8(block, nvme_accel_status, state);
	st->flags = GET16(block, nvme_accel_status, flags);
	st->seq = GET64(block, nvme_accel_status, seq);
	st->bootid = GET64(block, nvme_accel_status, bootid);
	st->lease = GET32(block, nvme_accel_status, lease);
	st->epoch = GET32(block, nvme_accel_status, epoch);
	st->cookie = GET64(block, nvme_accel_status, cookie);
	st->code = GET32(block, nvme_accel_status, code);
	st->fail_stage = GET16(block, nvme_accel_status, fail_stage);
	st->retry_hint = GET16(block, nvme_accel_status, retry_hint);
	st->in_used = GET64(block, nvme_accel_status, in_used);
	st->out_len = GET64(block, nvme_accel_status, out_len);
	st->out_needed = GET64(block, nvme_accel_status, out_needed);
	st->out_crc = GET32(block, nvme_accel_status, out_crc);
	st->queue_pos = GET32(block, nvme_accel_status, queue_pos);
	st->queue_ns = GET64(block, nvme_accel_status, queue_ns);
	st->exec_ns = GET64(block, nvme_accel_status, exec_ns);
	st->retval = GET64(block, nvme_accel_status, retval);
	st->stream = GET64(block, nvme_accel_status, stream);
	GETB(st->result, block, nvme_accel_status, result);
	memcpy(st->long_result, (const uint8_t *)block + NVME_ACCEL_LONG_OFF, LONG_SIZE);
	return check_status(st);
}
