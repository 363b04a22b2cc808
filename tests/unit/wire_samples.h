/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Valid structures for the tests and fuzz targets of lib/wire, fixed and random, and a CRC-32C that shares
 * nothing with lib/base.
 */
#ifndef TESTS_WIRE_SAMPLES_H
#define TESTS_WIRE_SAMPLES_H

#include "../../lib/wire/wire.h"

static inline uint64_t rnd(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline uint64_t rnd_below(uint64_t *state, uint64_t n)
{
	return rnd(state) % n;
}

static inline void rnd_bytes(uint64_t *state, void *buf, size_t n)
{
	uint8_t *b = buf;

	while (n--)
		*b++ = (uint8_t)(rnd(state) >> 11);
}

static inline void rnd_text(uint64_t *state, char *text, size_t max)
{
	size_t n = rnd_below(state, max + 1), i;

	for (i = 0; i < n; i++)
		text[i] = (char)(0x20 + rnd_below(state, 0x5f));
	text[n] = 0;
}

#ifdef WIRE_SAMPLES_FAST
/* For fuzz targets, which need many and trust lib/base. */
static inline uint32_t slow_crc32c_more(uint32_t crc, const void *p, size_t n)
{
	return base_crc32c(crc, p, n);
}
#else
/* A bit at a time, by the definition. */
static inline uint32_t slow_crc32c_more(uint32_t crc, const void *p, size_t n)
{
	const uint8_t *b = p;
	int i;

	for (crc = ~crc; n; b++, n--)
		for (crc ^= *b, i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	return ~crc;
}
#endif

static inline uint32_t slow_crc32c(const void *p, size_t n)
{
	return slow_crc32c_more(0, p, n);
}

/* A little-endian number of size bytes at byte off: offsets in tests are numbers, not names. */
static inline void poke(void *page, size_t off, unsigned int size, uint64_t v)
{
	uint8_t *b = (uint8_t *)page + off;

	for (; size; size--, v >>= 8)
		*b++ = (uint8_t)v;
}

static inline uint64_t peek(const void *page, size_t off, unsigned int size)
{
	const uint8_t *b = (const uint8_t *)page + off;
	uint64_t v = 0;

	while (size--)
		v = v << 8 | b[size];
	return v;
}

/* Makes the checksums of a page right again, so that what lies behind them is looked at. */
static inline void fix_id(void *page)
{
	uint64_t len = peek(page, 394, 2), nops = peek(page, 640, 2);

	if (len > 3712)
		len = 3712;
	poke(page, 636, 4, slow_crc32c((uint8_t *)page + 704, 64 * (nops > 52 ? 52 : nops)));
	poke(page, 396, 4, 0);
	poke(page, 396, 4, slow_crc32c((uint8_t *)page + 384, len));
}

static inline void fix_claim(void *page)
{
	poke(page, 124, 4, slow_crc32c(page, 124));
}

/* Lease pages and status blocks alike. */
static inline void fix_252(void *page)
{
	poke(page, 252, 4, slow_crc32c(page, 252));
}

static inline void fix_desc(void *block, size_t block_nbytes)
{
	uint64_t n = peek(block, 88, 2);

	if (n > block_nbytes - 256)
		n = block_nbytes - 256;
	poke(block, 252, 4, slow_crc32c_more(slow_crc32c(block, 252), (uint8_t *)block + 256, n));
}

static inline void sample_bytes(uint8_t *b, size_t n, uint8_t first)
{
	while (n--)
		*b++ = first++;
}

static inline void sample_id(struct wire_id *id)
{
	memset(id, 0, sizeof(*id));
	id->ifmajor = 1;
	id->type = NVME_ACCEL_TYPE_MULTI;
	id->subtype = 0x0102;
	id->implver = 0x01020304;
	sample_bytes(id->uuid, 16, 0x10);
	sample_bytes(id->implid, 16, 0x30);
	memcpy(id->name, "sample accelerator", 19);
	id->feat = 0x13c0f;
	id->nslot = 4;
	id->lbadsx = 9;
	id->winsh = 16;
	id->aliasb = 1;
	id->maxstage = 4;
	id->nlease = 2;
	id->holdmax_ms = 1000;
	id->maxin = 65024;
	id->maxout = 31744;
	id->leasemin_ms = 100;
	id->leasemax_ms = 60000;
	id->info_off = 1048576;
	id->stats_off = 1060864;
	id->lease_off = 1073152;
	id->slot_off = 1179648;
	id->nsze = 6400;
	id->nobj = 3;
	id->maxobj = 4096;
	id->neng = 2;
	id->engdepth = 8;
	id->bootid = 0x1122334455667788;
	id->state = NVME_ACCEL_DEV_READY;
	id->slots_free = 3;
	id->build_date = 1700000000;
	sample_bytes(id->source_id, 20, 0x50);
	id->nops = 3;
	id->ops[0] = (struct wire_op){ .op = 1, .alg = 3, .flags = 0xf, .min_in = 1, .granule = 1,
				       .max_in = 65024, .max_out = 31744, .align = 1, .level_min = 0,
				       .level_max = 9, .est_mbps = 300, .est_overhead_ns = 5000 };
	id->ops[1] = (struct wire_op){ .op = 3, .alg = 1, .flags = 0x9, .min_in = 2, .granule = 64,
				       .max_in = 32768, .max_out = 16384, .align = 64, .k_max = 32,
				       .m_max = 4, .est_mbps = 6000, .est_overhead_ns = 900 };
	id->ops[2] = (struct wire_op){ .op = 6, .alg = 1, .flags = 0x6, .max_in = 65024, .max_out = 31744,
				       .key_bits_mask = 5, .est_mbps = 4000, .est_overhead_ns = 700 };
}

static inline void random_op(uint64_t *s, const struct wire_id *id, unsigned int i, struct wire_op *op)
{
	*op = (struct wire_op){ .op = (uint16_t)(1 + i % 17), .alg = (uint16_t)(i / 17),
				.flags = 1u << rnd_below(s, 4) | (uint32_t)rnd_below(s, 64),
				.granule = (uint32_t)rnd(s), .max_in = rnd_below(s, id->maxin + 1),
				.max_out = rnd_below(s, id->maxout + 1), .align = 1 << rnd_below(s, 16),
				.level_min = (uint8_t)rnd_below(s, 5), .k_max = (uint8_t)rnd(s),
				.m_max = (uint8_t)rnd(s), .key_bits_mask = (uint16_t)rnd_below(s, 16),
				.est_mbps = (uint32_t)rnd(s), .est_overhead_ns = (uint32_t)rnd(s) };
	op->level_max = (uint8_t)(op->level_min + rnd_below(s, 5));
	op->min_in = (uint32_t)rnd_below(s, op->max_in + 1 > UINT32_MAX ? UINT32_MAX : op->max_in + 1);
}

/* Anything that the interface allows. */
static inline void random_id(uint64_t *s, struct wire_id *id)
{
	uint64_t b, half;
	unsigned int i;

	memset(id, 0, sizeof(*id));
	id->ifmajor = 1;
	id->type = (uint16_t)(rnd(s) & 1 ? 1 + rnd_below(s, 6) : 0x7fff + rnd_below(s, 0x8001));
	id->subtype = (uint16_t)rnd(s);
	id->implver = (uint32_t)rnd(s);
	rnd_bytes(s, id->uuid, 16);
	rnd_bytes(s, id->implid, 16);
	rnd_text(s, id->name, 48);
	id->feat = rnd(s) | 1u << rnd_below(s, 2);
	id->nslot = (uint32_t)(1 + rnd_below(s, 65535));
	id->lbadsx = rnd(s) & 1 ? 9 : 12;
	id->winsh = (uint8_t)(id->lbadsx + 3 + rnd_below(s, 13));
	id->aliasb = (uint8_t)(1 + rnd_below(s, 3));
	id->maxstage = (uint8_t)(1 + rnd_below(s, 4));
	id->nlease = (uint32_t)(1 + rnd_below(s, 1024));
	id->holdmax_ms = (uint32_t)(1 + rnd_below(s, 5000));
	b = 1ull << id->lbadsx;
	half = 1ull << id->winsh;
	id->maxin = rnd_below(s, half - b + 1);
	id->maxout = rnd_below(s, half / 2 - 2 * b + 1);
	id->leasemin_ms = (uint32_t)(1 + rnd_below(s, 1000));
	id->leasemax_ms = (uint32_t)(id->leasemin_ms + rnd_below(s, 100000));
	id->nobj = (uint32_t)rnd(s);
	id->maxobj = (uint32_t)rnd(s);
	id->neng = (uint32_t)rnd(s);
	id->engdepth = (uint32_t)rnd(s);
	id->bootid = rnd(s);
	id->state = (uint8_t)rnd_below(s, 5);
	id->slots_free = (uint32_t)rnd_below(s, id->nslot + 1);
	id->build_date = (uint32_t)rnd(s);
	rnd_bytes(s, id->source_id, 20);
	id->nmic = (uint8_t)rnd(s);
	wire_layout(id);
	id->nops = (uint16_t)(1 + rnd_below(s, 52));
	for (i = 0; i < id->nops; i++)
		random_op(s, id, i, &id->ops[i]);
}

static inline void random_desc(uint64_t *s, struct wire_desc *d, uint8_t *params, size_t room)
{
	unsigned int i;

	memset(d, 0, sizeof(*d));
	d->flags = (uint16_t)(rnd(s) & 0x1fff);
	d->seq = rnd(s) | 1;
	rnd_bytes(s, d->nonce, 16);
	d->lease = (uint32_t)rnd(s);
	d->epoch = (uint32_t)rnd(s);
	d->cookie = rnd(s);
	d->in_len = rnd(s);
	d->out_max = rnd(s);
	d->stream = rnd(s);
	d->chunk = (uint32_t)rnd(s);
	d->in_crc = (uint32_t)rnd(s);
	d->limit_ms = (uint32_t)rnd(s);
	d->priority = (uint16_t)rnd(s);
	d->nstage = (uint16_t)(1 + rnd_below(s, 4));
	for (i = 0; i < d->nstage; i++) {
		struct job_stage *st = &d->stage[i];

		*st = (struct job_stage){ .op = (uint16_t)(1 + rnd_below(s, 65535)), .alg = (uint16_t)rnd(s),
					  .flags = (uint32_t)rnd_below(s, 4), .object = (uint32_t)rnd(s),
					  .arg0 = (uint32_t)rnd(s), .arg1 = rnd(s), .param = params };
		st->param_len = (uint32_t)rnd_below(s, room + 1);
		rnd_bytes(s, params, st->param_len);
		params += st->param_len;
		room -= st->param_len;
		d->param_len = (uint16_t)(d->param_len + st->param_len);
	}
}

static inline void random_status(uint64_t *s, struct wire_status *st)
{
	rnd_bytes(s, st, sizeof(*st));
	st->state = (uint8_t)rnd_below(s, 10);
	st->fail_stage &= 3;
	st->flags &= st->state == NVME_ACCEL_ST_DONE ? 0x7f : 0x7e;
	st->out_len = st->state == NVME_ACCEL_ST_DONE ? st->out_len : 0;
	st->code = st->state == NVME_ACCEL_ST_DONE ? 0 : 1 + st->code % 27;
}

static inline void random_claim(uint64_t *s, struct wire_claim *c)
{
	memset(c, 0, sizeof(*c));
	c->op = (uint16_t)(1 + rnd_below(s, 4));
	c->flags = (uint16_t)rnd_below(s, 4);
	rnd_bytes(s, c->claim_id, 8);
	c->claim_id[0] |= 1;
	if (c->op != NVME_ACCEL_LEASE_BREAK) {
		rnd_bytes(s, c->nonce, 16);
		c->nonce[5] |= 1;
	}
	rnd_bytes(s, c->hostid, 16);
	rnd_text(s, c->label, 32);
	c->slots_min = (uint32_t)(1 + rnd_below(s, 100));
	c->slots_wanted = (uint32_t)(c->slots_min + rnd_below(s, 100));
	c->duration_ms = (uint32_t)rnd(s);
	c->epoch = (uint32_t)rnd(s);
}

static inline void random_lease(uint64_t *s, struct wire_lease *l, uint32_t nslot)
{
	uint32_t next = 0, i;

	memset(l, 0, sizeof(*l));
	l->state = (uint8_t)rnd_below(s, 3);
	l->flags = (uint16_t)rnd_below(s, 4);
	l->epoch = (uint32_t)rnd(s);
	l->remaining_ms = (uint32_t)rnd(s);
	rnd_bytes(s, l->claim_id, 8);
	rnd_bytes(s, l->hostid, 16);
	rnd_text(s, l->label, 32);
	for (i = 0; l->state && i < 8 && next + 2 < nslot; i++) {
		l->range[i].first = (uint32_t)(next + rnd_below(s, (nslot - next) / 2));
		l->range[i].count = (uint32_t)(1 + rnd_below(s, (nslot - l->range[i].first + 1) / 2));
		next = l->range[i].first + l->range[i].count;
		l->nslot += l->range[i].count;
		l->nrange++;
	}
	l->bootid = rnd(s);
	rnd_bytes(s, l->refused_claim_id, 8);
	l->refused_code = (uint32_t)rnd_below(s, 10);
	l->duration_ms = (uint32_t)rnd(s);
	l->index = (uint32_t)rnd_below(s, 1024);
}

#endif
