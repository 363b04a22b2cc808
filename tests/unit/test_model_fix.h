/* SPDX-License-Identifier: BSD-2-Clause */
/* One client with a lease of four slots, and the commands of a job in the first of them. */
#ifndef TEST_MODEL_FIX_H
#define TEST_MODEL_FIX_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_model_env.h"

#define WHO 7
#define ACCESS MODEL_SC_ACCESS_DENIED
#define FIELD_ MODEL_SC_INVALID_FIELD

struct fix {
	struct env e;
	uint32_t epoch;
	uint32_t b;
	uint8_t desc[4096];
	uint8_t in[32768], out[65536];
	struct cmd w, r;
};

static inline int setup_cfg(void **state, void (*change)(struct model_cfg *cfg))
{
	struct fix *f = calloc(1, sizeof(*f));
	struct wire_claim c;
	struct wire_lease l;
	size_t i;

	env_cfg(&f->e.cfg);
	if (change)
		change(&f->e.cfg);
	if (env_start(&f->e))
		return -1;
	f->b = 1u << f->e.cfg.id.lbadsx;
	claim_fill(&c, NVME_ACCEL_LEASE_CLAIM, WHO, 1, 4);
	if (env_claim(&f->e, 0, &c, 0) || env_lease(&f->e, 0, &l) || l.state != NVME_ACCEL_LEASE_HELD)
		return -1;
	f->epoch = l.epoch;
	for (i = 0; i < sizeof(f->in); i++)
		f->in[i] = (uint8_t)(i * 7 + (i >> 8));
	*state = f;
	return 0;
}

static inline int setup(void **state)
{
	return setup_cfg(state, NULL);
}

static inline int teardown(void **state)
{
	struct fix *f = *state;
	int bad;

	env_stop(&f->e);
	bad = f->e.live || f->e.twice || f->e.unclean;
	free(f);
	return bad;
}

static inline void fill(struct fix *f, struct wire_desc *d, uint64_t seq, uint64_t in_len)
{
	desc_fill(d, WHO, 0, f->epoch, seq, in_len, 16384);
}

static inline uint64_t waddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 0);
}

static inline uint64_t raddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 1);
}

static inline uint64_t rounded(struct fix *f, uint64_t n)
{
	return (n + f->b - 1) / f->b * f->b;
}

/* Descriptor and the first n bytes of input in one command. */
static inline void make_write(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	assert_int_equal(wire_desc_encode(d, f->desc, f->b), WIRE_OK);
	cmd_set(&f->w, MODEL_WRITE, waddr(f, d->seq), f->desc, f->b);
	f->w.iov[1].iov_base = f->in;
	f->w.iov[1].iov_len = rounded(f, n);
	f->w.c.nbytes += rounded(f, n);
	f->w.c.niov = n ? 2 : 1;
}

static inline int send(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	make_write(f, d, n);
	return env_submit(&f->e, &f->w);
}

static inline struct wire_status status(struct fix *f, uint64_t seq)
{
	uint8_t block[4096];
	struct wire_status st;

	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq), block, f->b, 0), 0);
	assert_int_equal(wire_status_decode(&st, block, f->b), WIRE_OK);
	return st;
}

static inline struct wire_status decoded(struct fix *f)
{
	struct wire_status st;

	assert_int_equal(wire_status_decode(&st, f->out, f->b), WIRE_OK);
	return st;
}

static inline void make_wait(struct fix *f, uint64_t seq, uint64_t n)
{
	memset(f->out, 0xee, sizeof(f->out));
	cmd_set(&f->r, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, seq), f->out, n);
}

static inline int wait_read(struct fix *f, uint64_t seq, uint64_t n)
{
	make_wait(f, seq, n);
	return env_submit(&f->e, &f->r);
}

/* A counter of the statistics page, by its offset. */
static inline uint64_t counter(struct fix *f, size_t off)
{
	struct nvme_accel_stats st;

	model_stats(f->e.m, &st);
	return le64_get((const uint8_t *)&st + off);
}
#define COUNT(f, member) counter(f, offsetof(struct nvme_accel_stats, member))

static inline void check_status(const struct wire_status *st, uint8_t state, uint32_t code, uint64_t seq)
{
	assert_int_equal(st->state, state);
	assert_int_equal(st->code, code);
	assert_int_equal(st->seq, seq);
}

static inline int data(struct fix *f, uint64_t seq, uint64_t off, uint64_t n)
{
	return env_io(&f->e, MODEL_WRITE, waddr(f, seq) + f->b + off, f->in + off, n, 0);
}

static inline void check_output(struct fix *f, uint64_t seq, uint64_t n)
{
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq), f->out, f->b + rounded(f, n), 0), 0);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
	assert_int_equal(decoded(f).out_len, n);
	assert_memory_equal(f->out + f->b, f->in, n);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TS(name, start) cmocka_unit_test_setup_teardown(name, start, teardown)

#endif
