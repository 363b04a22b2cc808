// SPDX-License-Identifier: BSD-2-Clause
/*
 * Commands that come over a path: buffers are lent, but HOLDMAX holds, what lies in a buffer is another one's
 * secret, and commands are refused, cut off, late or lost while others of the same job are not.
 */
#include "test_model_fix.h"

/* The read of a job, then its write, both lent, neither local. */
static void lend(struct fix *f, uint64_t seq, uint64_t n, uint64_t room)
{
	struct wire_desc d;

	fill(f, &d, seq, n);
	d.out_max = room;
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, seq, f->b + rounded(f, room));
	f->r.c.flags = MODEL_CMD_BORROW;
	make_write(f, &d, n);
	f->w.c.flags = MODEL_CMD_BORROW;
}

static void both_held(struct fix *f)
{
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	assert_ptr_equal(f->e.job[0]->job.in[0].iov_base, f->in);
	assert_ptr_equal(f->e.job[0]->job.out[0].iov_base, f->out + f->b);
}

/* ---- Lent buffers ---- */

static void padded(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 10000, 16384);
	both_held(f);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_memory_equal(f->out + f->b, f->in, 10000);
	assert_true(mem_is_zero(f->out + f->b + 10000, 6384));
	assert_int_equal(f->out[f->b + 16384], 0xee);
	assert_int_equal(COUNT(f, copied), 0);
}

/* Nothing that lay in the buffer, or that an engine left there, goes out with a failure. */
static void padded_failure(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	both_held(f);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_AUTH_FAILED);
	check_status(&(struct wire_status){ .state = decoded(f).state, .code = decoded(f).code, .seq = 1 },
		     NVME_ACCEL_ST_FAILED, NVME_ACCEL_AUTH_FAILED, 1);
	assert_true(mem_is_zero(f->out + f->b, 1024));
}

/* A late read of such a job, and one that is lent to no job, are padded as well. */
static void padded_late(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	assert_int_equal(env_submit(&f->e, &f->r), 0);
	assert_memory_equal(f->out + f->b, f->in, 1000);
	assert_true(mem_is_zero(f->out + f->b + 1000, 24));
}

static void lease_ends(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;

	lend(f, 1, 1000, 1024);
	both_held(f);
	claim_fill(&c, NVME_ACCEL_LEASE_RELEASE, WHO, f->epoch, 0);
	assert_int_equal(env_claim(&f->e, 0, &c, 0), 0);
	assert_int_equal(f->r.done + f->w.done, 0);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_LOST);
	assert_true(mem_is_zero(f->out + f->b, 1024));
}

/* ---- HOLDMAX ---- */

/* Not lent: it ends at HOLDMAX with the status as it is. Lent to an engine at work: with the job. */
static void holdmax(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	fill(f, &d, 1, 512);
	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	f->r.c.flags = MODEL_CMD_BORROW;
	f->e.now += 1000 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_CLAIMED);

	lend(f, 1, 1000, 1024);
	both_held(f);
	f->e.now += 1001 * MS;
	assert_true(model_tick(f->e.m) > f->e.now);	/* not again and again until the engine has ended */
	assert_int_equal(f->r.done + f->w.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->r.done + f->w.done, 2);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
	assert_memory_equal(f->out + f->b, f->in, 1000);
}

/* Lent to a job that waits for an engine: taken back, the job goes on with slot memory. */
static void taken_back(void **state)
{
	struct fix *f = *state;
	uint8_t want[10000];

	memcpy(want, f->in, sizeof(want));
	lend(f, 1, 10000, 10240);
	both_held(f);
	f->e.waits = 1;
	f->e.now += 1000 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.sc, 0);
	assert_int_equal(f->w.sc, 0);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_QUEUED);
	assert_true(mem_is_zero(f->out + f->b, 10240));
	memset(f->in, 0xaa, sizeof(f->in));
	memset(f->out, 0xbb, sizeof(f->out));
	f->e.waits = 0;
	env_run_all(&f->e);
	assert_int_equal(f->out[f->b], 0xbb);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, f->b + 10240, 0), 0);
	assert_memory_equal(f->out + f->b, want, 10000);
	assert_int_equal(status(f, 1).flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_int_equal(COUNT(f, in_place), 0);
}

/* ---- Commands that are cut off ---- */

static void cut_waiting(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	both_held(f);
	f->e.waits = 1;
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
	assert_int_equal(model_cancel(f->e.m, &f->w.c), 1);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->w.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->e.stops, 0);
	/* A host that comes back finds its job as it left it. */
	env_run_all(&f->e);
	check_output(f, 1, 1000);
}

static void cut_running(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	both_held(f);
	assert_int_equal(model_cancel(f->e.m, &f->w.c), 1);
	assert_int_equal(f->e.stops, 1);
	assert_int_equal(f->w.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->w.sc, MODEL_SC_ABORTED);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_DATA_MISSING, 1);
	assert_true(NVME_ACCEL_RETRY_MASK >> st.code & 1);
}

/* The engine was done before it saw the stop, but its output has gone with the read. */
static void cut_too_late(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	both_held(f);
	env_work(&f->e.job[0]->job);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, 0);
	assert_int_equal(st.out_len, 1000);
}

/* The answer was lost on its way: the status says that the result went with it, as often as it is asked. */
static void answer_lost(void **state)
{
	struct fix *f = *state;
	unsigned int i;

	lend(f, 1, 1000, 1024);
	both_held(f);
	env_run_all(&f->e);
	for (i = 0; i < 2; i++) {
		assert_int_equal(wait_read(f, 1, f->b + 1024), 0);
		assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
		assert_int_equal(decoded(f).flags, 0);
		assert_true(mem_is_zero(f->out + f->b, 1024));
	}
	lend(f, 2, 1000, 1024);
	both_held(f);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).flags, NVME_ACCEL_SF_OUTPUT_VALID);
}

/* ---- Writes that are refused ---- */

/* Somebody else of the same host has the slot by now; the read that is held may be anybody's of them. */
static void denied(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	desc_fill(&d, WHO + 1, 0, f->epoch, 1, 512, 16384);
	make_write(f, &d, 512);
	f->w.c.host = 9;
	assert_int_equal(env_submit(&f->e, &f->w), ACCESS);
	assert_int_equal(f->r.done, 0);			/* another host's */
	f->w.c.host = 0;
	f->w.c.off = waddr(f, 2);
	assert_int_equal(env_submit(&f->e, &f->w), ACCESS);
	assert_int_equal(f->r.done, 0);			/* another alias */
	f->w.c.off = waddr(f, 1);
	assert_int_equal(env_submit(&f->e, &f->w), ACCESS);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->r.sc, 0);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_CLAIMED);
	/* The holder's read, if it was that: nothing is lost, it asks again. */
	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(wait_read(f, 1, f->b + 512), ENV_HELD);
	env_run_all(&f->e);
	assert_memory_equal(f->out + f->b, f->in, 512);
}

static void denied_running(void **state)
{
	struct fix *f = *state;
	uint8_t block[512];
	struct wire_desc d;

	lend(f, 1, 1000, 1024);
	both_held(f);
	desc_fill(&d, WHO + 1, 0, f->epoch, 1, 512, 16384);
	assert_int_equal(wire_desc_encode(&d, block, f->b), WIRE_OK);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1), block, f->b, 0), ACCESS);
	assert_int_equal(f->r.done, 0);			/* the engine has its buffer */
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).flags, NVME_ACCEL_SF_OUTPUT_VALID);
}

/* In one process the sender of both sees to it, and its buffer stays as it is. */
static void denied_local(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	make_wait(f, 1, f->b + 512);
	f->r.c.flags = IN_PLACE;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	desc_fill(&d, WHO + 1, 0, f->epoch, 1, 512, 16384);
	assert_int_equal(send(f, &d, 512), ACCESS);
	assert_int_equal(f->r.done, 0);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
	assert_int_equal(f->out[0], 0xee);
}

/* Input behind the end of the write half is no input of the job. */
static void denied_data(void **state)
{
	struct fix *f = *state;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	assert_int_equal(data(f, 1, rounded(f, f->e.cfg.id.maxin), f->b), FIELD_);
	assert_int_equal(f->r.done, 1);
}

static void by_host(struct model_cfg *cfg)
{
	cfg->id.feat |= NVME_ACCEL_FEAT_HOST_LEASES;
}

static int setup_by_host(void **state)
{
	return setup_cfg(state, by_host);
}

/* With FEAT.7 a stranger neither reads nor ends anything. */
static void strangers(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd r;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	r = f->r;
	r.c.host = 9;
	assert_int_equal(env_submit(&f->e, &r), ACCESS);
	fill(f, &d, 1, 512);
	make_write(f, &d, 512);
	f->w.c.host = 9;
	assert_int_equal(env_submit(&f->e, &f->w), ACCESS);
	assert_int_equal(f->r.done, 0);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
}

/* ---- Reads before, after, in pieces, not at all ---- */

/*
 * Of a read that was split on the way one part is held, and the others are refused: none of them is told zeros for what
 * is not there yet. When it is there they are answered.
 */
static void pieces(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd rest;

	assert_int_equal(wait_read(f, 1, f->b + 1024), ENV_HELD);
	cmd_set(&rest, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 1) + f->b + 1024, f->out + f->b + 1024, 1024);
	assert_int_equal(env_submit(&f->e, &rest), MODEL_SC_SEQUENCE);
	fill(f, &d, 1, 2000);
	assert_int_equal(send(f, &d, 2000), 0);
	assert_int_equal(env_submit(&f->e, &rest), MODEL_SC_SEQUENCE);
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).out_len, 2000);
	assert_int_equal(env_submit(&f->e, &rest), 0);
	assert_memory_equal(f->out + f->b, f->in, 2000);
}

/* The later part came first. The one with the status has room for less than the output and is lent to no job. */
static void pieces_reordered(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd rest;

	cmd_set(&rest, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 1) + f->b + 1024, f->in + 16384, 1024);
	rest.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &rest), MODEL_SC_SEQUENCE);
	make_wait(f, 1, f->b + 1024);
	f->r.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	fill(f, &d, 1, 2000);
	d.out_max = 2048;
	d.flags |= NVME_ACCEL_JOB_RELEASE_RESULT;
	assert_int_equal(send(f, &d, 2000), 0);
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_memory_equal(f->out + f->b, f->in, 1024);
	assert_int_equal(env_submit(&f->e, &rest), 0);
	assert_memory_equal(f->in + 16384, f->in + 1024, 976);
	assert_true(mem_is_zero(f->in + 16384 + 976, 48));
	check_output(f, 1, 2000);
}

static void no_read(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	check_output(f, 1, 1000);
	check_output(f, 1, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(padded), T(padded_failure), T(padded_late), T(lease_ends), T(holdmax), T(taken_back),
		T(cut_waiting), T(cut_running), T(cut_too_late), T(answer_lost), T(denied), T(denied_running),
		T(denied_local), T(denied_data), TS(strangers, setup_by_host), T(pieces), T(pieces_reordered),
		T(no_read),
	};

	return cmocka_run_group_tests_name("model_network", tests, NULL, NULL);
}
