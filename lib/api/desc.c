// SPDX-License-Identifier: BSD-2-Clause
/* The interface's blocks as public structures: for tools and tests that speak it themselves. */
#include <errno.h>
#include <string.h>
#include "api.h"

static bool block_ok(const void *p, const void *block, size_t block_nbytes)
{
	return p && block && (block_nbytes == 512 || block_nbytes == 4096);
}

static int wire_errno(enum wire_err err)
{
	switch (err) {
	case WIRE_OK:
		return 0;
	case WIRE_MAGIC:
	case WIRE_VERSION:
	case WIRE_CRC:
		return -EBADMSG;
	default:
		return -EINVAL;
	}
}

uint64_t accel_raw_window(const struct accel_dev *dev, uint32_t slot, uint64_t seq, enum accel_window window)
{
	if (!dev || slot >= dev->id.nslot)
		return UINT64_MAX;
	switch (window) {
	case ACCEL_WINDOW_WRITE:
		return wire_slot_addr(&dev->id, slot, seq, 0);
	case ACCEL_WINDOW_READ:
		return wire_slot_addr(&dev->id, slot, seq, 1);
	case ACCEL_WINDOW_WAIT:
		return wire_wait_addr(&dev->id, slot, seq);
	default:
		return UINT64_MAX;
	}
}

static void stages_to_wire(const struct accel_desc *d, struct wire_desc *w)
{
	unsigned int i;

	for (i = 0; i < d->nstage; i++) {
		w->stage[i].op = d->stage[i].op;
		w->stage[i].alg = d->stage[i].alg;
		w->stage[i].flags = d->stage[i].flags;
		w->stage[i].arg0 = d->stage[i].arg0;
		w->stage[i].arg1 = d->stage[i].arg1;
		w->stage[i].param = d->stage[i].param;
		w->stage[i].param_len = d->stage[i].param_len;
	}
}

/* All parameters lie one behind the other in what the block has behind its head. */
static int params_ok(const struct accel_desc *d, size_t block_nbytes)
{
	size_t room = block_nbytes - NVME_ACCEL_PARAM_OFF;
	unsigned int i;

	for (i = 0; i < d->nstage; i++) {
		if (d->stage[i].param_len && !d->stage[i].param)
			return -EINVAL;
		if (d->stage[i].param_len > room)
			return -E2BIG;
		room -= d->stage[i].param_len;
	}
	return 0;
}

int accel_desc_encode(const struct accel_desc *d, void *block, size_t block_nbytes)
{
	struct wire_desc w;
	int ret;

	if (!block_ok(d, block, block_nbytes) || d->nstage > ACCEL_MAX_STAGES)
		return -EINVAL;
	ret = params_ok(d, block_nbytes);
	if (ret)
		return ret;
	memset(&w, 0, sizeof(w));
	w.flags = d->flags;
	w.priority = d->priority;
	w.nstage = (uint16_t)d->nstage;
	w.seq = d->seq;
	memcpy(w.nonce, d->nonce, sizeof(w.nonce));
	w.lease = d->lease;
	w.epoch = d->epoch;
	w.cookie = d->cookie;
	w.in_len = d->in_len;
	w.out_max = d->out_max;
	w.in_crc = d->in_crc;
	w.limit_ms = d->limit_ms;
	stages_to_wire(d, &w);
	return wire_desc_encode(&w, block, block_nbytes) == WIRE_OK ? 0 : -EINVAL;
}

static void stages_from_wire(const struct wire_desc *w, struct accel_desc *d)
{
	unsigned int i;

	for (i = 0; i < w->nstage; i++) {
		d->stage[i].op = w->stage[i].op;
		d->stage[i].alg = w->stage[i].alg;
		d->stage[i].flags = w->stage[i].flags;
		d->stage[i].arg0 = w->stage[i].arg0;
		d->stage[i].arg1 = w->stage[i].arg1;
		d->stage[i].param = w->stage[i].param;
		d->stage[i].param_len = w->stage[i].param_len;
	}
}

int accel_desc_decode(struct accel_desc *d, const void *block, size_t block_nbytes)
{
	struct wire_desc w;
	int ret;

	if (!block_ok(d, block, block_nbytes))
		return -EINVAL;
	ret = wire_errno(wire_desc_decode(&w, block, block_nbytes));
	if (ret)
		return ret;
	memset(d, 0, sizeof(*d));
	d->flags = w.flags;
	d->priority = w.priority;
	d->nstage = w.nstage;
	d->seq = w.seq;
	memcpy(d->nonce, w.nonce, sizeof(d->nonce));
	d->lease = w.lease;
	d->epoch = w.epoch;
	d->cookie = w.cookie;
	d->in_len = w.in_len;
	d->out_max = w.out_max;
	d->in_crc = w.in_crc;
	d->limit_ms = w.limit_ms;
	stages_from_wire(&w, d);
	return 0;
}

int accel_status_decode(struct accel_status_block *s, const void *block, size_t block_nbytes)
{
	struct wire_status w;
	int ret;

	if (!block_ok(s, block, block_nbytes))
		return -EINVAL;
	ret = wire_errno(wire_status_decode(&w, block, block_nbytes));
	if (ret)
		return ret;
	memset(s, 0, sizeof(*s));
	s->state = w.state;
	s->flags = w.flags;
	s->fail_stage = w.fail_stage;
	s->retry_hint = w.retry_hint;
	s->seq = w.seq;
	s->boot_id = w.bootid;
	s->cookie = w.cookie;
	s->lease = w.lease;
	s->epoch = w.epoch;
	s->code = w.code;
	s->out_crc = w.out_crc;
	s->queue_pos = w.queue_pos;
	s->in_used = w.in_used;
	s->out_len = w.out_len;
	s->out_needed = w.out_needed;
	s->queue_ns = w.queue_ns;
	s->exec_ns = w.exec_ns;
	s->retval = w.retval;
	memcpy(s->result, w.long_result, sizeof(s->result));
	return 0;
}
