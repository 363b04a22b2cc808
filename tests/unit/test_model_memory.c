// SPDX-License-Identifier: BSD-2-Clause
/* Slot memory that comes when a job needs it (cfg.lazy_memory), and what happens when there is none. */
#include "test_model_fix.h"

static void lazy(struct model_cfg *cfg)
{
	cfg->lazy_memory = 1;
}

static int setup_lazy(void **state)
{
	return setup_cfg(state, lazy);
}

/* The n-th mem_get() from now on fails, and those behind it. */
static void fail_from(struct fix *f, unsigned int n)
{
	f->e.gets = 0;
	f->e.fail_at = n;
}

/* A job that works in place, submitted. */
static void submit_in_place(struct fix *f, uint64_t seq)
{
	struct wire_desc d;

	make_wait(f, seq, f->b + 16384);
	f->r.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	fill(f, &d, seq, 4000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_write(f, &d, 4000);
	f->w.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
}

/* A lease costs nothing, nor does a job in place; others take what they need, and it is all given back. */
static void when_needed(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	assert_int_equal(f->e.live, 0);
	submit_in_place(f, 1);
	env_run_all(&f->e);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_memory_equal(f->out + f->b, f->in, 4000);
	assert_int_equal(f->e.live, 0);

	fill(f, &d, 2, 5000);		/* input of one alias, and the output */
	assert_int_equal(send(f, &d, 5000), 0);
	assert_int_equal(f->e.live, 2);
	env_run_all(&f->e);
	check_output(f, 2, 5000);
	fill(f, &d, 3, 5000);		/* the other alias; the output is there */
	assert_int_equal(send(f, &d, 5000), 0);
	assert_int_equal(f->e.live, 3);
	env_run_all(&f->e);
	check_output(f, 3, 5000);
	fill(f, &d, 4, 5000);
	assert_int_equal(send(f, &d, 5000), 0);
	assert_int_equal(f->e.live, 3);
	env_run_all(&f->e);
	check_output(f, 4, 5000);
	model_reset(f->e.m);
	assert_int_equal(f->e.live, 0);
	assert_int_equal(f->e.unclean, 0);
}

/* The job ends with a code after which it may be tried again, and the sequence number is used up. */
static void none_for_input(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fail_from(f, 1);
	fill(f, &d, 1, 5000);
	assert_int_equal(send(f, &d, 5000), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_NO_RESOURCES, 1);
	assert_int_equal(f->e.started, 0);
	fill(f, &d, 2, 5000);		/* its input would come in pieces */
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_NO_RESOURCES, 2);
	fail_from(f, 0);
	fill(f, &d, 3, 5000);
	assert_int_equal(send(f, &d, 5000), 0);
	env_run_all(&f->e);
	check_output(f, 3, 5000);
}

/* The input is lent, the output has no place. */
static void none_for_output(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fail_from(f, 1);
	fill(f, &d, 1, 4000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	make_write(f, &d, 4000);
	f->w.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->w), MODEL_SC_OK);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_NO_RESOURCES, 1);
	assert_int_equal(f->e.started, 0);
	assert_int_equal(COUNT(f, held_now), 0);
}

/* Input alone: its sender is told that it is not there, and whoever waits for its job is. */
static void none_for_data(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	fill(f, &d, 1, 5000);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(send(f, &d, 0), 0);
	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	fail_from(f, 1);
	assert_int_equal(data(f, 1, 0, 5120), MODEL_SC_NOT_READY);
	assert_int_equal(f->r.done, 1);
	fail_from(f, 0);
	assert_int_equal(data(f, 1, 0, 5120), 0);
	env_run_all(&f->e);
	check_output(f, 1, 5000);
}

/* What is lent cannot be taken back at HOLDMAX without memory: it ends with the job. */
static void none_to_take_back(void **state)
{
	struct fix *f = *state;

	submit_in_place(f, 1);
	f->e.waits = 1;
	fail_from(f, 1);
	f->e.now += 1001 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 0);
	assert_int_equal(f->w.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->w.done, 1);
	assert_memory_equal(f->out + f->b, f->in, 4000);
}

static void taken_back(void **state)
{
	struct fix *f = *state;

	submit_in_place(f, 1);
	f->e.waits = 1;
	f->e.now += 1001 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->e.live, 2);
	env_run_all(&f->e);
	check_output(f, 1, 4000);
}

/* Others share the tags: what is held may be limited at any time, and what is held already stays. */
static void set_max_held(void **state)
{
	struct fix *f = *state;

	model_set_max_held(f->e.m, 0);
	assert_int_equal(wait_read(f, 1, f->b), 0);
	model_set_max_held(f->e.m, 1);
	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	model_set_max_held(f->e.m, 0);
	assert_int_equal(f->r.done, 0);
	assert_int_equal(model_held(f->e.m), 1);
}

#define TL(name) TS(name, setup_lazy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TL(when_needed), TL(none_for_input), TL(none_for_output), TL(none_for_data), TL(none_to_take_back),
		TL(taken_back), T(set_max_held),
	};

	return cmocka_run_group_tests_name("model_memory", tests, NULL, NULL);
}
