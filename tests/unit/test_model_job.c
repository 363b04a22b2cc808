// SPDX-License-Identifier: BSD-2-Clause
/* Jobs, rule by rule: descriptors, sequence, input, results, in-place buffers, abort, limits. */
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

static int setup_cfg(void **state, void (*change)(struct model_cfg *cfg))
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

static int setup(void **state)
{
	return setup_cfg(state, NULL);
}

static int teardown(void **state)
{
	struct fix *f = *state;
	int bad;

	env_stop(&f->e);
	bad = f->e.live || f->e.twice || f->e.unclean;
	free(f);
	return bad;
}

static void fill(struct fix *f, struct wire_desc *d, uint64_t seq, uint64_t in_len)
{
	desc_fill(d, WHO, 0, f->epoch, seq, in_len, 16384);
}

static uint64_t waddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 0);
}

static uint64_t raddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 1);
}

static uint64_t rounded(struct fix *f, uint64_t n)
{
	return (n + f->b - 1) / f->b * f->b;
}

/* Descriptor and the first n bytes of input in one command. */
static void make_write(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	assert_int_equal(wire_desc_encode(d, f->desc, f->b), WIRE_OK);
	cmd_set(&f->w, MODEL_WRITE, waddr(f, d->seq), f->desc, f->b);
	f->w.iov[1].iov_base = f->in;
	f->w.iov[1].iov_len = rounded(f, n);
	f->w.c.nbytes += rounded(f, n);
	f->w.c.niov = n ? 2 : 1;
}

static int send(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	make_write(f, d, n);
	return env_submit(&f->e, &f->w);
}

static struct wire_status status(struct fix *f, uint64_t seq)
{
	uint8_t block[4096];
	struct wire_status st;

	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq), block, f->b, 0), 0);
	assert_int_equal(wire_status_decode(&st, block, f->b), WIRE_OK);
	return st;
}

static struct wire_status decoded(struct fix *f)
{
	struct wire_status st;

	assert_int_equal(wire_status_decode(&st, f->out, f->b), WIRE_OK);
	return st;
}

static void make_wait(struct fix *f, uint64_t seq, uint64_t n)
{
	memset(f->out, 0xee, sizeof(f->out));
	cmd_set(&f->r, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, seq), f->out, n);
}

static int wait_read(struct fix *f, uint64_t seq, uint64_t n)
{
	make_wait(f, seq, n);
	return env_submit(&f->e, &f->r);
}

/* A counter of the statistics page, by its offset. */
static uint64_t counter(struct fix *f, size_t off)
{
	struct nvme_accel_stats st;

	model_stats(f->e.m, &st);
	return le64_get((const uint8_t *)&st + off);
}
#define COUNT(f, member) counter(f, offsetof(struct nvme_accel_stats, member))

static void check_status(const struct wire_status *st, uint8_t state, uint32_t code, uint64_t seq)
{
	assert_int_equal(st->state, state);
	assert_int_equal(st->code, code);
	assert_int_equal(st->seq, seq);
}

/* ---- The usual way ---- */

static void inline_job(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 5000);
	assert_int_equal(send(f, &d, 5000), 0);
	assert_int_equal(f->e.njob, 1);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_QUEUED, 0, 1);
	f->e.job[0]->start_ns = f->e.now;
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_RUNNING, 0, 1);
	f->e.now += 300;
	env_run_all(&f->e);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, 8192, 0), 0);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_int_equal(st.out_len, 5000);
	assert_int_equal(st.in_used, 5000);
	assert_int_equal(st.cookie, 1007);
	assert_int_equal(st.exec_ns, 300);
	assert_int_equal(st.lease, 0);
	assert_int_equal(st.epoch, f->epoch);
	assert_memory_equal(f->out + f->b, f->in, 5000);
	assert_true(mem_is_zero(f->out + f->b + 5000, 8192 - f->b - 5000));
}

static void in_place(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 10000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, 1, f->b + 16384);
	f->r.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	make_write(f, &d, 10000);
	f->w.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	assert_int_equal(f->e.njob, 1);
	assert_ptr_equal(f->e.job[0]->job.in[0].iov_base, f->in);
	assert_ptr_equal(f->e.job[0]->job.out[0].iov_base, f->out + f->b);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->w.sc, 0);
	assert_int_equal(f->r.sc, 0);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_memory_equal(f->out + f->b, f->in, 10000);
	assert_int_equal(f->out[f->b + 10000], 0xee);
	assert_int_equal(COUNT(f, in_place), 1);
	assert_int_equal(COUNT(f, copied), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, 0);
	assert_int_equal(st.out_len, 10000);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, f->b + 16384, 0), 0);
	assert_true(mem_is_zero(f->out + f->b, 16384));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inline_job, setup, teardown),
		cmocka_unit_test_setup_teardown(in_place, setup, teardown),
	};
	(void)wait_read;
	return cmocka_run_group_tests_name("model_job", tests, NULL, NULL);
}
