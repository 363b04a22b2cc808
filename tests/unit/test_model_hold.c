// SPDX-License-Identifier: BSD-2-Clause
/* Jobs from the engine on: commands that wait, buffers that are lent, what engines answer, abort, limits. */
#include <sys/mman.h>
#include "test_model_fix.h"

/* ---- Held commands ---- */

static void held_read(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	assert_int_equal(wait_read(f, 1, f->b + 1024), ENV_HELD);
	fill(f, &d, 1, 700);
	assert_int_equal(send(f, &d, 700), 0);
	assert_int_equal(f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_memory_equal(f->out + f->b, f->in, 700);
	assert_true(mem_is_zero(f->out + f->b + 700, 324));
	/* For the next job of the alias: waits although the old result is not gone. */
	assert_int_equal(wait_read(f, 2, f->b), ENV_HELD);
	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).seq, 2);
	assert_int_equal(COUNT(f, held_reads), 2);
}

static void held_one_a_slot(void **state)
{
	struct fix *f = *state;
	struct cmd second;
	uint8_t block[4096];

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	cmd_set(&second, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 1), block, f->b);
	assert_int_equal(env_submit(&f->e, &second), 0);
	cmd_set(&second, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 2), block, f->b);
	assert_int_equal(env_submit(&f->e, &second), 0);
	assert_int_equal(COUNT(f, hold_refused), 2);
	assert_int_equal(COUNT(f, held_now), 1);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 0);
}

static void held_max(struct model_cfg *cfg)
{
	cfg->max_held = 1;
}

static int setup_held_max(void **state)
{
	return setup_cfg(state, held_max);
}

/* With no room to hold, a write with lent buffers is copied and ends at once; nothing is lost. */
static void held_in_all(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b + 4096), ENV_HELD);
	fill(f, &d, 1, 4000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	make_write(f, &d, 4000);
	f->w.c.flags = IN_PLACE;
	assert_int_equal(env_submit(&f->e, &f->w), 0);
	memset(f->in, 0, 4000);		/* the sender has its buffer back */
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->out[f->b + 1], 7);
}

static void holdmax(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	fill(f, &d, 1, 512);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	f->e.now += 500 * MS;
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	assert_true(model_tick(f->e.m) <= f->e.now + 500 * MS);
	f->e.now += 499 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 0);
	f->e.now += MS;
	assert_true(model_tick(f->e.m) == f->e.now + 500 * MS);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_QUEUED);
	assert_int_equal(f->w.done, 0);
	f->e.now += 500 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->w.sc, 0);
	assert_int_equal(COUNT(f, hold_timeouts), 2);
	env_run_all(&f->e);
	check_output(f, 1, 512);
}

static void complete_on_done(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd again;

	fill(f, &d, 1, 512);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	again = f->w;
	assert_int_equal(env_submit(&f->e, &again), ENV_HELD);	/* a repeated one waits as well */
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(again.done, 1);
	assert_int_equal(env_submit(&f->e, &again), 0);
	assert_int_equal(f->e.started, 1);
}

/* A write that fails lets go the read that waits for its job. */
static void broken_write_frees_read(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	fill(f, &d, 1, 512);
	make_write(f, &d, 512);
	f->desc[60] ^= 1;
	f->w.c.host = 9;
	assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	assert_int_equal(f->r.done, 0);		/* another host's */
	f->w.c.host = 0;
	assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_CLAIMED);
}

/* ---- In place ---- */

static void in_place(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 10000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, 1, f->b + 16384);
	f->r.c.flags = IN_PLACE;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	make_write(f, &d, 10000);
	f->w.c.flags = IN_PLACE;
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

static void lend(struct fix *f, uint64_t seq, uint64_t n, uint64_t room)
{
	struct wire_desc d;

	fill(f, &d, seq, n);
	d.out_max = room;
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, seq, f->b + rounded(f, room));
	f->r.c.flags = IN_PLACE;
	make_write(f, &d, n);
	f->w.c.flags = IN_PLACE;
}

static void in_place_list_shapes(void **state)
{
	struct fix *f = *state;
	uint64_t seq;
	unsigned int n, i;

	/* Lists of n pieces of one block each, the first holding more than a block in every other job. */
	for (seq = 1, n = 1; n <= 19; n++, seq++) {
		uint64_t bytes = n * 512u, joined = n & 1 ? 512 : 0;

		lend(f, seq, bytes - 3, bytes);
		for (i = 0; i < n; i++) {
			f->w.iov[i + 1] = (struct iovec){ f->in + i * 512u, 512 };
			f->r.iov[i + 1] = (struct iovec){ f->out + f->b + i * 512u, 512 };
		}
		f->r.iov[0].iov_len = f->b;
		f->w.c.niov = f->r.c.niov = n + 1;
		if (joined) {
			memcpy(f->out + 60000, f->desc, f->b);
			memcpy(f->out + 60000 + f->b, f->in, 512);
			f->w.iov[0] = (struct iovec){ f->out + 60000, f->b + 512 };
			f->w.iov[1].iov_len = 0;
			f->r.iov[0].iov_len = f->b + 512;
			f->r.iov[1].iov_len = 0;
		}
		f->in[5] = (uint8_t)n;
		if (joined)
			f->out[60000 + f->b + 5] = (uint8_t)n;
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		env_run_all(&f->e);
		assert_int_equal(f->w.done, 1);
		assert_int_equal(f->r.done, 1);
		assert_int_equal(decoded(f).flags & NVME_ACCEL_SF_OUTPUT_VALID, NVME_ACCEL_SF_OUTPUT_VALID);
		assert_memory_equal(f->out + f->b, f->in, bytes - 3);
		assert_int_equal(f->out[f->b + bytes - 3], 0xee);	/* never padded */
		assert_int_equal(f->out[f->b + bytes], 0xee);
	}
	assert_true(COUNT(f, in_place) >= 12);
	assert_true(COUNT(f, in_place) < 19);	/* lists that are too long were copied */
}

static void *mem_get_none(void *ctx, size_t n)
{
	void *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	((struct env *)ctx)->live++;
	return p == MAP_FAILED ? NULL : p;
}

static void mem_zero_none(void *ctx, void *p, size_t n)
{
	(void)ctx;
	(void)p;
	(void)n;
}

static void mem_put_none(void *ctx, void *p, size_t n)
{
	((struct env *)ctx)->live--;
	munmap(p, n);
}

/* Slot memory that cannot be touched: no page of it is faulted in from claim to release. */
static void in_place_touches_no_slot_memory(void **state)
{
	struct fix *f = *state;
	struct model_env ops = env_ops;
	struct wire_claim c;
	uint64_t seq;

	env_stop(&f->e);
	assert_int_equal(env_start(&f->e), 0);
	ops.mem_get = mem_get_none;
	ops.mem_zero = mem_zero_none;
	ops.mem_put = mem_put_none;
	f->e.m = model_init(f->e.mem, &f->e.cfg, &ops, &f->e);
	assert_non_null(f->e.m);
	claim_fill(&c, NVME_ACCEL_LEASE_CLAIM, WHO, 1, 4);
	assert_int_equal(env_claim(&f->e, 0, &c, 0), 0);
	f->epoch = 1;
	for (seq = 1; seq <= 5; seq++) {
		lend(f, seq, 10000, 10240);
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		env_run_all(&f->e);
		assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
		assert_memory_equal(f->out + f->b, f->in, 10000);
	}
	claim_fill(&c, NVME_ACCEL_LEASE_RELEASE, WHO, 1, 0);
	assert_int_equal(env_claim(&f->e, 0, &c, 0), 0);
	assert_int_equal(f->e.live, 0);
}

/* The first block of a command in pieces. */
static void fragmented_blocks(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	f->w.iov[2] = f->w.iov[1];
	f->w.iov[0].iov_len = 100;
	f->w.iov[1] = (struct iovec){ f->desc + 100, f->b - 100 };
	f->w.c.niov = 3;
	f->r.iov[0] = (struct iovec){ f->out, 200 };
	f->r.iov[1] = (struct iovec){ f->out + 200, f->b + 1024 - 200 };
	f->r.c.niov = 2;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
	assert_memory_equal(f->out + f->b, f->in, 1000);
}

/* Reads that may not be lent to: too small, not at all, too late. The result stays. */
static void not_lent(void **state)
{
	struct fix *f = *state;
	uint64_t seq;

	for (seq = 1; seq <= 3; seq++) {
		lend(f, seq, 1000, 2048);
		if (seq == 1)
			f->r.c.nbytes = f->b + 1024;
		if (seq == 2)
			f->r.c.flags = 0;
		if (seq != 3)
			assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		if (seq == 3)
			assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);	/* after the start */
		env_run_all(&f->e);
		assert_int_equal(f->r.done, 1);
		assert_memory_equal(f->out + f->b, f->in, 1000);
		check_output(f, seq, 1000);
		check_output(f, seq, 1000);
	}
	assert_int_equal(COUNT(f, in_place), 0);
}

/*
 * A read that was split on the way: the part with the status waits; one without it is refused until there is output,
 * whether it comes before its job, with it, or while a read is held, and never answered with what is not there.
 */
static void split_on_the_way(void **state)
{
	struct fix *f = *state;
	uint64_t seq;
	int early;

	for (seq = 1; seq <= 4; seq++) {
		struct cmd part = { 0 };
		struct iovec iov = { f->out + f->b + 512, 1024 };

		early = (int)(seq % 2);
		lend(f, seq, 2000, 2048);
		f->r.c.flags = 0;
		f->w.c.flags = 0;
		part.c = f->r.c;
		part.c.iov = &iov;
		part.c.niov = 1;
		part.c.nbytes = 1024;
		part.c.off = f->r.c.off + f->b + 512;
		if (part.c.off % f->b)
			return;		/* blocks are larger here */
		if (early)
			assert_int_equal(env_submit(&f->e, &part), MODEL_SC_SEQUENCE);
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		part.done = 0;
		assert_int_equal(env_submit(&f->e, &part), MODEL_SC_SEQUENCE);
		env_run_all(&f->e);
		assert_int_equal(f->r.done, 1);
		part.done = 0;
		assert_int_equal(env_submit(&f->e, &part), MODEL_SC_OK);
		assert_memory_equal(f->out + f->b + 512, f->in + 512, 1024);
	}
}

static void in_place_failure(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_AUTH_FAILED);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_AUTH_FAILED, 1);
	assert_int_equal(st.out_len, 0);
	assert_int_equal(st.flags, 0);
	assert_int_equal(f->out[f->b], 0xee);
	assert_int_equal(f->out[f->b + 1023], 0xee);
}

static void cancel_lent(void **state)
{
	struct fix *f = *state;
	struct wire_status st;
	unsigned int round;

	for (round = 1; round <= 2; round++) {
		struct cmd *cut = round == 1 ? &f->r : &f->w, *other = round == 1 ? &f->w : &f->r;

		lend(f, round, 1000, 1024);
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		assert_int_equal(model_cancel(f->e.m, &cut->c), 1);
		assert_int_equal(cut->done, 0);		/* the engine has its buffer */
		assert_int_equal(f->e.stops, round);
		assert_int_equal(f->e.job[0]->job.stop, 1);
		env_run_all(&f->e);
		assert_int_equal(cut->done, 1);
		assert_int_equal(cut->sc, MODEL_SC_ABORTED);
		assert_int_equal(other->done, 1);
		assert_int_equal(other->sc, 0);
		st = status(f, round);
		check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, round);
	}
}

static void host_gone(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	f->r.c.host = f->w.c.host = 5;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	model_host_gone(f->e.m, 4);
	assert_int_equal(f->r.done, 0);
	model_host_gone(f->e.m, 5);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	model_host_gone(f->e.m, 5);
	assert_int_equal(f->w.done + f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->w.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	/* The lease lives on. */
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 1);
}

/* ---- The engine's answer ---- */

static void engine_refuses(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	f->e.refuse = NVME_ACCEL_BUSY;
	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	env_submit(&f->e, &f->w);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_NO_RESOURCES, 1);
	assert_int_equal(st.retry_hint, 1);
	f->e.refuse = 0;
	lend(f, 2, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	check_output(f, 2, 1000);
}

static void engine_lies(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	uint64_t seq;

	for (seq = 1; seq <= 4; seq++) {
		fill(f, &d, seq, 512);
		assert_int_equal(send(f, &d, 512), 0);
		env_work(&f->e.job[0]->job);
		if (seq == 1)
			f->e.job[0]->job.out_len = 16385;
		if (seq == 2)
			f->e.job[0]->job.fail_stage = 9;
		if (seq == 4)
			f->e.job[0]->job.sflags = 0xffff;
		env_end(&f->e, f->e.job[0], seq == 2 ? NVME_ACCEL_BAD_PARAM : seq == 3 ? 28 : 0);
		st = status(f, seq);
		if (seq == 4)
			assert_int_equal(st.flags, 0x3f);
		else
			check_status(&st, NVME_ACCEL_ST_FAILED,
				     seq == 2 ? NVME_ACCEL_BAD_PARAM : NVME_ACCEL_DEVICE_FAULT, seq);
		assert_int_equal(st.fail_stage, 0);
		assert_int_equal(st.out_len, seq == 4 ? 512 : 0);
		if (seq < 4) {
			assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq) + f->b, f->out, 512, 0), 0);
			assert_true(mem_is_zero(f->out, 512));
		}
	}
	/* Reported twice, or never started. */
	model_job_done(f->e.m, &(struct model_job){ .slot = 99 });
	model_job_done(f->e.m, &(struct model_job){ .slot = 1 });
}

/* OUTPUT_SHORT tells how much, and writes nothing that can be read. */
static void output_short(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 2000);
	d.out_max = 1999;
	assert_int_equal(send(f, &d, 2000), 0);
	env_run_all(&f->e);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_OUTPUT_SHORT, 1);
	assert_int_equal(st.out_needed, 2000);
	assert_int_equal(st.out_len, 0);
}

static void key_material(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint8_t key[64];
	size_t n = model_size(&f->e.cfg), i;

	memset(key, 0, sizeof(key));
	key[0] = 32;
	key[1] = 12;
	key[2] = 16;
	for (i = 8; i < sizeof(key); i++)
		key[i] = (uint8_t)(0xc0 ^ i * 29);
	fill(f, &d, 1, 512);
	d.stage[0].op = NVME_ACCEL_OP_ENCRYPT;
	d.stage[0].alg = NVME_ACCEL_ALG_AES_GCM;
	d.stage[0].param = key;
	d.stage[0].param_len = sizeof(key);
	make_write(f, &d, 512);
	assert_int_equal(env_submit(&f->e, &f->w), 0);
	memset(f->desc, 0, sizeof(f->desc));	/* a private copy, not the sender's buffer */
	assert_memory_equal(f->e.job[0]->job.stage[0].param, key, sizeof(key));
	/* The write half reads as zeros. */
	assert_int_equal(env_io(&f->e, MODEL_READ, waddr(f, 1), f->out, 8192, 0), 0);
	assert_true(mem_is_zero(f->out, 8192));
	env_run_all(&f->e);
	for (i = 0; i + 32 <= n; i++)
		assert_memory_not_equal((uint8_t *)f->e.mem + i, key + 16, 32);
	memset(f->desc, 0, 512);
	for (i = 0; i + 16 <= n; i++)	/* the nonce: in the lease record only */
		if (!memcmp((uint8_t *)f->e.mem + i, d.nonce, 16))
			break;
	assert_true(i + 16 <= n);
	for (i++; i + 16 <= n; i++)
		assert_memory_not_equal((uint8_t *)f->e.mem + i, d.nonce, 16);
}

/* ---- Abort and limits ---- */

static int abort_job(struct fix *f, uint64_t seq)
{
	uint8_t block[4096];
	struct wire_desc d;

	fill(f, &d, seq, 0);
	d.flags = NVME_ACCEL_JOB_ABORT;
	d.nstage = 0;
	assert_int_equal(wire_desc_encode(&d, block, f->b), WIRE_OK);
	return env_io(&f->e, MODEL_WRITE, waddr(f, seq), block, f->b, 0);
}

static void abort_states(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 4096);		/* LOADING */
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(abort_job(f, 1), 0);
	assert_int_equal(abort_job(f, 1), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 1);
	assert_int_equal(data(f, 1, 512, 3584), 0);
	assert_int_equal(f->e.started, 0);

	fill(f, &d, 2, 512);		/* RUNNING */
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	assert_int_equal(wait_read(f, 2, f->b), ENV_HELD);
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	assert_int_equal(abort_job(f, 2), 0);
	assert_int_equal(abort_job(f, 2), 0);
	assert_int_equal(f->e.stops, 1);
	assert_int_equal(f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 2);

	/* Before the job: it is never run. */
	assert_int_equal(wait_read(f, 3, f->b), ENV_HELD);
	assert_int_equal(abort_job(f, 3), 0);
	assert_int_equal(f->r.done, 1);
	fill(f, &d, 3, 512);
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 3);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 3);
	assert_int_equal(f->e.started, 1);

	/* Too late: the result stands. */
	fill(f, &d, 4, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	assert_int_equal(abort_job(f, 4), 0);
	check_output(f, 4, 512);
	/* Of an old job, and of one far ahead. */
	assert_int_equal(abort_job(f, 3), 0);
	assert_int_equal(abort_job(f, 9), 0);
	check_output(f, 4, 512);
}

/* An engine that had ended before it saw the abort: what it made is the result. */
static void abort_lost_race(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_work(&f->e.job[0]->job);
	assert_int_equal(abort_job(f, 1), 0);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
}

static void time_limits(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 4096);		/* LOADING */
	d.limit_ms = 30;
	assert_int_equal(send(f, &d, 512), 0);
	f->e.now += 29 * MS;
	assert_true(model_tick(f->e.m) == f->e.now + MS);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_LOADING, 0, 1);
	f->e.now += MS;
	model_tick(f->e.m);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_TIMEOUT, 1);

	fill(f, &d, 2, 512);		/* at the engine */
	d.limit_ms = 30;
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.job[0]->limit_ms, 30);
	f->e.now += 31 * MS;
	model_tick(f->e.m);
	model_tick(f->e.m);
	assert_int_equal(f->e.stops, 1);
	assert_int_equal(abort_job(f, 2), 0);	/* the first reason stays */
	env_run_all(&f->e);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_TIMEOUT, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(held_read), T(held_one_a_slot), TS(held_in_all, setup_held_max), T(holdmax),
		T(complete_on_done), T(broken_write_frees_read), T(in_place), T(in_place_list_shapes),
		T(in_place_touches_no_slot_memory),
		T(fragmented_blocks), T(not_lent), T(split_on_the_way), T(in_place_failure), T(cancel_lent), T(host_gone),
		T(engine_refuses), T(engine_lies), T(output_short), T(key_material), T(abort_states),
		T(abort_lost_race), T(time_limits),
	};

	return cmocka_run_group_tests_name("model_hold", tests, NULL, NULL);
}
