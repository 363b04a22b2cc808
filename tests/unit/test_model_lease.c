// SPDX-License-Identifier: BSD-2-Clause
/* Leases, rule by rule: claim, renew, release, break, expiry, drain, memory, hosts, reset. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_model_env.h"

#define CLAIM	NVME_ACCEL_LEASE_CLAIM
#define RENEW	NVME_ACCEL_LEASE_RENEW
#define RELEASE NVME_ACCEL_LEASE_RELEASE
#define BREAK	NVME_ACCEL_LEASE_BREAK
#define FREE	NVME_ACCEL_LEASE_FREE
#define HELD	NVME_ACCEL_LEASE_HELD
#define DRAINING NVME_ACCEL_LEASE_DRAINING

struct fix {
	struct env e;
	uint8_t desc[512], in[8192], out[32768];
	struct cmd w, r;
};

static int setup_cfg(void **state, void (*change)(struct model_cfg *cfg))
{
	struct fix *f = calloc(1, sizeof(*f));

	env_cfg(&f->e.cfg);
	if (change)
		change(&f->e.cfg);
	*state = f;
	memset(f->in, 0x3c, sizeof(f->in));
	return env_start(&f->e);
}

static int setup(void **state)
{
	return setup_cfg(state, NULL);
}

static void host_leases(struct model_cfg *cfg)
{
	cfg->id.feat |= NVME_ACCEL_FEAT_HOST_LEASES;
}

static int setup_hosts(void **state)
{
	return setup_cfg(state, host_leases);
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

static struct wire_lease lease(struct fix *f, uint32_t index)
{
	struct wire_lease l;

	assert_int_equal(env_lease(&f->e, index, &l), 0);
	assert_int_equal(l.index, index);
	return l;
}

/* Writes a claim; returns the refusal that the record shows for it, 0 if it was granted or done. */
static uint32_t put(struct fix *f, uint32_t index, const struct wire_claim *c, uint64_t host)
{
	struct nvme_accel_stats st;
	uint64_t before;

	model_stats(f->e.m, &st);
	before = le64_get(&st.lease_refusals);
	assert_int_equal(env_claim(&f->e, index, c, host), 0);
	model_stats(f->e.m, &st);
	if (le64_get(&st.lease_refusals) == before)
		return 0;
	assert_memory_equal(lease(f, index).refused_claim_id, c->claim_id, 8);
	return lease(f, index).refused_code;
}

static uint32_t act(struct fix *f, uint16_t op, uint32_t index, uint8_t who, uint32_t epoch, uint32_t slots)
{
	struct wire_claim c;

	claim_fill(&c, op, who, epoch, slots);
	return put(f, index, &c, 0);
}

/* Starts a job in a slot; held until it is done with lent buffers if lend. */
static int start(struct fix *f, uint32_t slot, uint8_t who, uint32_t index, uint32_t epoch, uint64_t seq,
		 int lend)
{
	struct wire_desc d;

	desc_fill(&d, who, index, epoch, seq, 4096, 4096);
	if (lend)
		d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	assert_int_equal(wire_desc_encode(&d, f->desc, 512), 0);
	cmd_set(&f->w, MODEL_WRITE, wire_slot_addr(&f->e.cfg.id, slot, seq, 0), f->desc, 512);
	f->w.iov[1] = (struct iovec){ f->in, 4096 };
	f->w.c.niov = 2;
	f->w.c.nbytes = 4608;
	if (lend) {
		f->w.c.flags = IN_PLACE;
		cmd_set(&f->r, MODEL_READ, wire_wait_addr(&f->e.cfg.id, slot, seq), f->out, 4608);
		f->r.c.flags = IN_PLACE;
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	}
	return env_submit(&f->e, &f->w);
}

static void claim_and_release(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	struct wire_lease l = lease(f, 2);
	uint8_t page[4096];
	size_t i;

	assert_int_equal(l.state, FREE);
	claim_fill(&c, CLAIM, 3, l.epoch, 2);
	c.duration_ms = 5000;
	memcpy(c.label, "worker", 7);
	memset(c.hostid, 0x44, 16);
	assert_int_equal(put(f, 2, &c, 0), 0);
	l = lease(f, 2);
	assert_int_equal(l.state, HELD);
	assert_memory_equal(l.claim_id, c.claim_id, 8);
	assert_memory_equal(l.hostid, c.hostid, 16);
	assert_string_equal(l.label, "worker");
	assert_int_equal(l.nslot, 2);
	assert_int_equal(l.nrange, 1);
	assert_int_equal(l.duration_ms, 5000);
	assert_int_equal(l.remaining_ms, 5000);
	assert_int_equal(f->e.live, 2);
	/* The nonce is not to be seen. */
	assert_int_equal(env_io(&f->e, MODEL_READ, lease_addr(&f->e, 2), page, sizeof(page), 0), 0);
	assert_true(memchr(page, 0x83, 250) == NULL);
	assert_int_equal(act(f, RELEASE, 2, 3, l.epoch, 0), 0);
	l = lease(f, 2);
	assert_int_equal(l.state, FREE);
	assert_int_equal(l.epoch, c.epoch + 1);
	assert_int_equal(l.nslot, 0);
	assert_true(mem_is_zero(l.claim_id, 8));
	assert_int_equal(f->e.live, 0);
	/* And is gone with the lease. */
	for (i = 0; i + 16 <= model_size(&f->e.cfg); i++)
		assert_memory_not_equal((uint8_t *)f->e.mem + i, c.nonce, 16);
}

static void claims_that_lose(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	struct wire_lease l;

	assert_int_equal(act(f, CLAIM, 0, 1, 2, 1), NVME_ACCEL_REFUSED_EPOCH);
	assert_int_equal(act(f, CLAIM, 0, 1, 1, 9), NVME_ACCEL_REFUSED_SLOTS);
	claim_fill(&c, CLAIM, 1, 1, 1);
	c.duration_ms = 99;
	assert_int_equal(put(f, 0, &c, 0), NVME_ACCEL_REFUSED_DURATION);
	c.duration_ms = 60001;
	assert_int_equal(put(f, 0, &c, 0), NVME_ACCEL_REFUSED_DURATION);
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(f->e.live, 0);
	assert_int_equal(act(f, CLAIM, 0, 1, 1, 5), 0);
	l = lease(f, 0);
	/* Two that read the same page: the second loses and changes nothing. */
	assert_int_equal(act(f, CLAIM, 0, 2, 1, 1), NVME_ACCEL_REFUSED_HELD);
	assert_memory_equal(lease(f, 0).claim_id, l.claim_id, 8);
	assert_int_equal(lease(f, 0).nslot, 5);
	assert_int_equal(act(f, CLAIM, 1, 2, 1, 4), NVME_ACCEL_REFUSED_SLOTS);
	claim_fill(&c, CLAIM, 2, 1, 4);
	c.slots_min = 1;		/* takes what there is */
	assert_int_equal(put(f, 1, &c, 0), 0);
	assert_int_equal(lease(f, 1).nslot, 3);
}

/* The same command again (its answer was lost) is granted, not refused; so is a repeated release. */
static void repeated_commands(void **state)
{
	struct fix *f = *state;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(lease(f, 0).nslot, 2);
	assert_int_equal(f->e.live, 2);
	assert_int_equal(act(f, RELEASE, 0, 1, 1, 0), 0);
	assert_int_equal(act(f, RELEASE, 0, 1, 1, 0), 0);
	assert_int_equal(lease(f, 0).epoch, 2);
	/* Another's would be one too many. */
	assert_int_equal(act(f, RELEASE, 0, 2, 1, 0), NVME_ACCEL_REFUSED_EPOCH);
	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), NVME_ACCEL_REFUSED_EPOCH);
	/* Broken, and the answer lost. */
	assert_int_equal(act(f, CLAIM, 0, 1, 2, 2), 0);
	assert_int_equal(act(f, BREAK, 0, 1, 2, 0), 0);
	assert_int_equal(act(f, BREAK, 0, 1, 2, 0), 0);
	assert_int_equal(lease(f, 0).epoch, 3);
}

static void renew_and_expiry(void **state)
{
	struct fix *f = *state;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(lease(f, 0).remaining_ms, 10000);
	assert_true(model_tick(f->e.m) <= f->e.now + 10000 * MS);
	f->e.now += 9999 * MS;
	model_tick(f->e.m);
	assert_int_equal(lease(f, 0).state, HELD);
	assert_int_equal(act(f, RENEW, 0, 1, 1, 0), 0);
	assert_int_equal(lease(f, 0).remaining_ms, 10000);
	/* Who is not the holder. */
	assert_int_equal(act(f, RENEW, 0, 2, 1, 0), NVME_ACCEL_REFUSED_NOT_HOLDER);
	assert_int_equal(act(f, RENEW, 0, 1, 2, 0), NVME_ACCEL_REFUSED_EPOCH);
	assert_int_equal(act(f, RELEASE, 0, 2, 1, 0), NVME_ACCEL_REFUSED_NOT_HOLDER);
	assert_int_equal(act(f, RENEW, 1, 1, 1, 0), NVME_ACCEL_REFUSED_NOT_HOLDER);
	f->e.now += 9000 * MS;
	/* A valid descriptor renews; an invalid one does not. */
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), 0);
	assert_int_equal(lease(f, 0).remaining_ms, 10000);
	f->e.now += 5000 * MS;
	assert_int_equal(start(f, 0, 2, 0, 1, 2, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(lease(f, 0).remaining_ms, 5000);
	env_run_all(&f->e);
	f->e.now += 5000 * MS;
	/* Seen without any tick. */
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(lease(f, 0).epoch, 2);
	assert_int_equal(f->e.live, 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 2, 0), MODEL_SC_ACCESS_DENIED);
}

/* A descriptor that comes too late finds the lease gone, tick or not. */
static void expiry_seen_by_descriptor(void **state)
{
	struct fix *f = *state;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	f->e.now += 10000 * MS;
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(f->e.live, 0);
	assert_int_equal(lease(f, 0).epoch, 2);
}

static void renew_changes_duration(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	claim_fill(&c, RENEW, 1, 1, 0);
	c.duration_ms = 200;
	assert_int_equal(put(f, 0, &c, 0), 0);
	assert_int_equal(lease(f, 0).duration_ms, 200);
	c.duration_ms = 60001;
	assert_int_equal(put(f, 0, &c, 0), NVME_ACCEL_REFUSED_DURATION);
	f->e.now += 200 * MS;
	model_tick(f->e.m);
	assert_int_equal(lease(f, 0).state, FREE);
}

static void break_by_another(void **state)
{
	struct fix *f = *state;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(act(f, BREAK, 0, 2, 1, 0), NVME_ACCEL_REFUSED_NOT_HOLDER);
	assert_int_equal(act(f, BREAK, 0, 1, 3, 0), NVME_ACCEL_REFUSED_EPOCH);
	assert_int_equal(lease(f, 0).state, HELD);
	assert_int_equal(act(f, BREAK, 0, 1, 1, 0), 0);	/* claim_id as anybody can read it */
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), MODEL_SC_ACCESS_DENIED);
}

static uint32_t exclusive(struct fix *f, uint32_t index, uint8_t who, uint16_t flags)
{
	struct wire_claim c;

	claim_fill(&c, CLAIM, who, lease(f, index).epoch, 0);
	c.flags = NVME_ACCEL_LEASE_EXCLUSIVE | flags;
	return put(f, index, &c, 0);
}

static void exclusive_leases(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 1), 0);
	assert_int_equal(exclusive(f, 1, 2, 0), NVME_ACCEL_REFUSED_EXCLUSIVE);
	assert_int_equal(act(f, RELEASE, 0, 1, 1, 0), 0);
	assert_int_equal(exclusive(f, 1, 2, 0), 0);
	assert_int_equal(lease(f, 1).nslot, 8);
	assert_int_equal(act(f, CLAIM, 0, 1, 2, 1), NVME_ACCEL_REFUSED_SLOTS);
	assert_int_equal(exclusive(f, 0, 1, 0), NVME_ACCEL_REFUSED_EXCLUSIVE);
	assert_int_equal(act(f, RELEASE, 1, 2, 1, 0), 0);
	/* A preemptible one gives way, unless another that is not stands by. */
	claim_fill(&c, CLAIM, 4, lease(f, 2).epoch, 2);
	c.flags = NVME_ACCEL_LEASE_PREEMPTIBLE;
	assert_int_equal(put(f, 2, &c, 0), 0);
	assert_int_equal(act(f, CLAIM, 0, 1, 2, 1), 0);
	assert_int_equal(exclusive(f, 1, 2, 0), NVME_ACCEL_REFUSED_EXCLUSIVE);
	assert_int_equal(lease(f, 2).state, HELD);
	assert_int_equal(act(f, RELEASE, 0, 1, 2, 0), 0);
	assert_int_equal(exclusive(f, 1, 2, 0), 0);
	assert_int_equal(lease(f, 2).state, FREE);
	assert_int_equal(lease(f, 1).nslot, 8);
}

/* A preempted lease whose job still runs holds its slot back: refused now, granted later. */
static void exclusive_waits_for_drain(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;

	claim_fill(&c, CLAIM, 4, 1, 2);
	c.flags = NVME_ACCEL_LEASE_PREEMPTIBLE;
	assert_int_equal(put(f, 2, &c, 0), 0);
	assert_int_equal(start(f, 0, 4, 2, 1, 1, 0), 0);
	assert_int_equal(exclusive(f, 1, 2, 0), NVME_ACCEL_REFUSED_SLOTS);
	assert_int_equal(lease(f, 2).state, DRAINING);
	env_run_all(&f->e);
	assert_int_equal(lease(f, 2).state, FREE);
	assert_int_equal(exclusive(f, 1, 2, 0), 0);
}

/* The end of a lease with jobs at the engine: draining, nothing freed under the engine, late results lost. */
static void draining(void **state)
{
	struct fix *f = *state;
	struct wire_status st;
	uint8_t block[512];

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(start(f, 1, 1, 0, 1, 1, 0), 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 1), ENV_HELD);
	assert_int_equal(act(f, RELEASE, 0, 1, 1, 0), 0);
	assert_int_equal(f->e.stops, 2);
	assert_int_equal(lease(f, 0).state, DRAINING);
	assert_int_equal(lease(f, 0).epoch, 2);
	assert_int_equal(act(f, CLAIM, 0, 2, 2, 1), NVME_ACCEL_REFUSED_HELD);
	assert_int_equal(act(f, CLAIM, 1, 2, 1, 7), NVME_ACCEL_REFUSED_SLOTS);
	assert_int_equal(f->e.live, 2);
	assert_int_equal(f->e.njob, 2);
	/* Nothing can be sent or had meanwhile. */
	assert_int_equal(
		env_io(&f->e, MODEL_WRITE, wire_slot_addr(&f->e.cfg.id, 1, 1, 0) + 512, f->in, 512, 0),
		MODEL_SC_ACCESS_DENIED);
	assert_int_equal(env_io(&f->e, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 1, 1), block, 512, 0), 0);
	assert_int_equal(wire_status_decode(&st, block, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_LOST);
	assert_int_equal(st.code, NVME_ACCEL_LEASE_LOST);
	assert_int_equal(st.epoch, 1);
	/* The engine ends them as if nothing had been. */
	assert_int_equal(f->w.done + f->r.done, 0);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	assert_int_equal(lease(f, 0).state, DRAINING);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(f->e.live, 0);
	assert_int_equal(f->w.done + f->r.done, 2);
	assert_int_equal(wire_status_decode(&st, f->out, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_LOST);
	assert_int_equal(st.seq, 1);
	assert_int_equal(env_io(&f->e, MODEL_READ, wire_slot_addr(&f->e.cfg.id, 1, 1, 1), block, 512, 0), 0);
	assert_int_equal(wire_status_decode(&st, block, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_FREE);
}

/* A held read and a write that waits end with the lease. */
static void held_end_with_lease(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	cmd_set(&f->r, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 1), f->out, 4608);
	f->r.c.flags = IN_PLACE;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	f->e.now += 10000 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->r.sc, 0);
	assert_int_equal(wire_status_decode(&st, f->out, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_LOST);
	assert_int_equal(st.code, NVME_ACCEL_LEASE_LOST);
	assert_true(mem_is_zero(f->out + 512, 4096));
}

/* A client dies between its input and its result: the next owner starts clean. */
static void next_owner_starts_clean(void **state)
{
	struct fix *f = *state;
	struct wire_status st;
	struct wire_desc d;
	uint64_t seq;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 8), 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), 0);
	env_run_all(&f->e);
	assert_int_equal(
		env_io(&f->e, MODEL_WRITE, wire_slot_addr(&f->e.cfg.id, 0, 2, 0) + 512, f->in, 4096, 0), 0);
	f->e.now += 10000 * MS;
	model_tick(f->e.m);
	assert_int_equal(act(f, CLAIM, 0, 2, 2, 8), 0);
	assert_int_equal(env_io(&f->e, MODEL_READ, wire_slot_addr(&f->e.cfg.id, 0, 1, 1), f->out, 32768, 0),
			 0);
	assert_int_equal(wire_status_decode(&st, f->out, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_CLAIMED);
	assert_int_equal(st.seq, 0);
	assert_true(mem_is_zero(f->out + 512, 32256));
	/* Its sequence begins at 1 again, and the input that lay there does not count. */
	for (seq = 1; seq <= 2; seq++) {
		desc_fill(&d, 2, 0, 2, seq, 4096, 4096);
		d.flags |= NVME_ACCEL_JOB_EXPLICIT;
		assert_int_equal(wire_desc_encode(&d, f->desc, 512), 0);
		assert_int_equal(env_io(&f->e, MODEL_WRITE, wire_slot_addr(&f->e.cfg.id, 0, seq, 0), f->desc,
					512, 0), 0);
	}
	assert_int_equal(f->e.njob, 0);
}

/* Slots in pieces: ranges, at most eight of them, the largest first. */
static void many_slots(struct model_cfg *cfg)
{
	cfg->id.nslot = 64;
	cfg->id.nlease = 40;
}

static int setup_many(void **state)
{
	return setup_cfg(state, many_slots);
}

static void ranges(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	struct wire_lease l;
	uint32_t i, sum = 0;

	for (i = 0; i < 32; i++)
		assert_int_equal(act(f, CLAIM, i, (uint8_t)(i + 1), 1, i < 31 ? 1 : 33), 0);
	for (i = 0; i < 31; i += 2)	/* slots 0, 2, 4, ... 30 */
		assert_int_equal(act(f, RELEASE, i, (uint8_t)(i + 1), 1, 0), 0);
	claim_fill(&c, CLAIM, 50, 1, 20);
	c.slots_min = 9;
	assert_int_equal(put(f, 39, &c, 0), NVME_ACCEL_REFUSED_SLOTS);	/* eight ranges of one */
	assert_int_equal(f->e.live, 15 + 33);
	c.slots_min = 8;
	assert_int_equal(put(f, 39, &c, 0), 0);
	l = lease(f, 39);
	assert_int_equal(l.nrange, 8);
	assert_int_equal(l.nslot, 8);
	/* The run that fits best is taken before the larger one. */
	assert_int_equal(act(f, RELEASE, 31, 32, 1, 0), 0);
	assert_int_equal(act(f, CLAIM, 38, 51, 1, 1), 0);
	assert_true(lease(f, 38).range[0].first < 31);
	assert_int_equal(act(f, CLAIM, 37, 52, 1, 33), 0);
	assert_int_equal(lease(f, 37).nrange, 1);
	for (i = 0; i < 40; i++)
		sum += lease(f, i).nslot;
	model_identify(f->e.m, f->out);
	assert_int_equal(64 - sum, le32_get(f->out + 596));
}

/* mem_get() fails from the n-th on, for every n: fewer slots, or a refusal with nothing left behind. */
static void memory_short(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	uint32_t n, epoch;

	for (n = 1; n <= 9; n++) {
		f->e.fail_at = n;
		f->e.gets = 0;
		epoch = lease(f, 0).epoch;
		claim_fill(&c, CLAIM, 1, epoch, 8);
		assert_int_equal(put(f, 0, &c, 0), n <= 8 ? NVME_ACCEL_REFUSED_MEMORY : 0);
		assert_int_equal(f->e.live, n <= 8 ? 0 : 8);
		if (n > 8)
			assert_int_equal(act(f, RELEASE, 0, 1, epoch, 0), 0);
		f->e.gets = 0;
		epoch = lease(f, 0).epoch;
		claim_fill(&c, CLAIM, 1, epoch, 8);
		c.slots_min = 3;
		assert_int_equal(put(f, 0, &c, 0), n <= 3 ? NVME_ACCEL_REFUSED_MEMORY : 0);
		assert_int_equal(f->e.live, n <= 3 ? 0 : n - 1);
		assert_int_equal(lease(f, 0).nslot, n <= 3 ? 0 : n - 1);
		if (n > 3)
			assert_int_equal(act(f, RELEASE, 0, 1, epoch, 0), 0);
		f->e.gets = 0;
		assert_int_equal(exclusive(f, 1, 2, 0), n <= 8 ? NVME_ACCEL_REFUSED_MEMORY : 0);
	}
}

static void bound_to_host(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	uint64_t w = wire_slot_addr(&f->e.cfg.id, 0, 1, 0);

	claim_fill(&c, CLAIM, 1, 1, 2);
	assert_int_equal(put(f, 0, &c, 77), 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), MODEL_SC_ACCESS_DENIED);	/* right nonce, host 0 */
	assert_int_equal(env_io(&f->e, MODEL_READ, w, f->out, 512, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(env_io(&f->e, MODEL_READ, w + 65536, f->out, 512, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(env_io(&f->e, MODEL_READ, w + 65536, f->out, 512, 77), 0);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, w + 512, f->in, 512, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, w + 512, f->in, 512, 77), 0);
	assert_int_equal(put(f, 0, &c, 78), NVME_ACCEL_REFUSED_HOST);
	c.op = RENEW;
	assert_int_equal(put(f, 0, &c, 78), NVME_ACCEL_REFUSED_HOST);
	c.op = RELEASE;
	assert_int_equal(put(f, 0, &c, 78), NVME_ACCEL_REFUSED_HOST);
	claim_fill(&c, BREAK, 1, 1, 0);
	assert_int_equal(put(f, 0, &c, 78), NVME_ACCEL_REFUSED_HOST);
	assert_int_equal(put(f, 0, &c, 77), 0);
	assert_int_equal(lease(f, 0).state, FREE);
}

static void malformed_claims(void **state)
{
	struct fix *f = *state;
	struct wire_claim c;
	uint8_t page[8192];
	uint32_t i;

	claim_fill(&c, CLAIM, 1, 1, 2);
	for (i = 0; i < 512; i++) {
		assert_int_equal(wire_claim_encode(&c, page, 512), 0);
		page[i] ^= 1;
		assert_int_equal(env_io(&f->e, MODEL_WRITE, lease_addr(&f->e, 0), page, 512, 0),
				 MODEL_SC_INVALID_FIELD);
	}
	assert_int_equal(wire_claim_encode(&c, page, 512), 0);
	/* Guards, pages off their beginning, too long, across records. */
	assert_int_equal(env_io(&f->e, MODEL_WRITE, lease_addr(&f->e, 0) + 4096, page, 512, 0),
			 MODEL_SC_INVALID_FIELD);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, lease_addr(&f->e, 0) + 512, page, 512, 0),
			 MODEL_SC_INVALID_FIELD);
	memset(page + 512, 0, sizeof(page) - 512);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, lease_addr(&f->e, 0), page, 8192, 0),
			 MODEL_SC_INVALID_FIELD);
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, lease_addr(&f->e, 0), page, 4096, 0), 0);
	assert_int_equal(lease(f, 0).state, FREE + 1);
	/* Odd pages read as zeros, whole records in one command. */
	memset(page, 1, sizeof(page));
	assert_int_equal(env_io(&f->e, MODEL_READ, lease_addr(&f->e, 0), page, 8192, 0), 0);
	assert_true(mem_is_zero(page + 4096, 4096));
	assert_memory_equal(page, NVME_ACCEL_LEASE_MAGIC, 4);
}

static void reset(void **state)
{
	struct fix *f = *state;
	struct wire_status st;
	uint64_t boot;

	model_identify(f->e.m, f->out);
	boot = le64_get(f->out + 584);
	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 1), ENV_HELD);
	model_reset(f->e.m);
	model_identify(f->e.m, f->out);
	assert_true(le64_get(f->out + 584) != boot);
	assert_int_equal(lease(f, 0).state, DRAINING);
	assert_int_equal(f->w.done, 0);
	memset(f->out, 0xee, 512);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(wire_status_decode(&st, f->out, 512), 0);
	assert_int_equal(st.state, NVME_ACCEL_ST_LOST);
	assert_int_equal(st.code, NVME_ACCEL_RESET);
	assert_int_equal(lease(f, 0).state, FREE);
	assert_int_equal(lease(f, 0).epoch, 2);
	assert_int_equal(act(f, CLAIM, 0, 1, 2, 8), 0);
}

static void the_end(void **state)
{
	struct fix *f = *state;
	struct cmd waits;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 2), 0);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 1), ENV_HELD);
	cmd_set(&waits, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 1, 1), f->in + 4096, 512);
	assert_int_equal(env_submit(&f->e, &waits), ENV_HELD);
	assert_int_equal(model_fini(f->e.m), 1);
	assert_int_equal(waits.done, 1);
	assert_int_equal(waits.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->r.done, 0);
	assert_int_equal(env_io(&f->e, MODEL_READ, 0, f->in, 512, 0), MODEL_SC_NOT_READY);
	env_run_all(&f->e);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->w.sc, MODEL_SC_ABORTED);
	assert_int_equal(model_fini(f->e.m), 0);
	assert_int_equal(f->e.live, 0);
}

/* Two clients, one namespace, no lock between them: neither sees the other's data. */
static void two_clients(void **state)
{
	struct fix *f = *state;

	assert_int_equal(act(f, CLAIM, 0, 1, 1, 4), 0);
	assert_int_equal(act(f, CLAIM, 1, 2, 1, 4), 0);
	assert_int_equal(lease(f, 0).range[0].first, 0);
	assert_int_equal(lease(f, 1).range[0].first, 4);
	assert_int_equal(start(f, 0, 1, 0, 1, 1, 0), 0);
	/* The other one's descriptor in this slot: denied, whatever it says. */
	assert_int_equal(start(f, 0, 2, 1, 1, 2, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(start(f, 0, 2, 0, 1, 2, 0), MODEL_SC_ACCESS_DENIED);
	assert_int_equal(start(f, 4, 2, 1, 1, 1, 0), 0);
	assert_int_equal(f->e.njob, 2);
}

/* Each of these makes a configuration that is refused. */
static void spoil(struct model_cfg *cfg, int i)
{
	if (i < 2)
		cfg->id.lbadsx = i ? 10 : 8;
	else if (i < 4)
		cfg->id.winsh = i == 2 ? 40 : 11;
	else if (i < 6)
		cfg->id.aliasb = i == 4 ? 4 : 0;
	else if (i < 8)
		cfg->id.nslot = i == 6 ? 65536 : 0;
	else if (i < 10)
		cfg->id.nlease = i == 8 ? 1025 : 0;
	else if (i < 12)
		cfg->id.maxin = i == 10 ? 65536 : 0;
	else if (i < 14)
		cfg->id.maxout = i == 12 ? 32768 : 0;
	else if (i < 16)
		cfg->id.holdmax_ms = i == 14 ? 5001 : 0;
	else if (i < 18)
		cfg->lease_default_ms = i == 16 ? 70000 : 0;
	else
		cfg->id.feat |= i == 18 ? NVME_ACCEL_FEAT_STREAMS : NVME_ACCEL_FEAT_OBJECTS;
}

static void refused_configurations(void **state)
{
	struct model_cfg cfg;
	uint8_t mem[64];
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		env_cfg(&cfg);
		spoil(&cfg, i);
		assert_int_equal(model_size(&cfg), 0);
		assert_null(model_init(mem, &cfg, &env_ops, NULL));
	}
	env_cfg(&cfg);
	assert_true(model_size(&cfg) > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TS(name, start) cmocka_unit_test_setup_teardown(name, start, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(claim_and_release), T(claims_that_lose), T(repeated_commands), T(renew_and_expiry),
		T(expiry_seen_by_descriptor), T(renew_changes_duration), T(break_by_another),
		T(exclusive_leases), T(exclusive_waits_for_drain), T(draining), T(held_end_with_lease),
		T(next_owner_starts_clean), TS(ranges, setup_many), T(memory_short),
		TS(bound_to_host, setup_hosts), T(malformed_claims), T(reset), T(the_end), T(two_clients),
		cmocka_unit_test(refused_configurations),
	};

	return cmocka_run_group_tests_name("model_lease", tests, NULL, NULL);
}
