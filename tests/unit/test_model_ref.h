/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference that test_model_random.c compares the model with. It keeps for every slot no more than what
 * the interface says about it, and for every command whether it is due and what it must bring.
 */
#ifndef TEST_MODEL_REF_H
#define TEST_MODEL_REF_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "test_model_env.h"

#define B 512u
#define NBLK 16u			/* blocks of input at most */
#define MAXIN (NBLK * B)
#define NSLOT 6u
#define NLEASE 4u
#define NCLIENT 3u
#define NCMD 40u
#define BUF (B + MAXIN + B)
#define FILL 0xee
#define KEYLEN 48u
#define OUT_XOR 0x0101010101010101ull

enum fault { FAULT_NONE, FAULT_BAD_OUTPUT, FAULT_SHARED_MEMORY, FAULT_LATE_WRITE, FAULT_LOST_COMPLETION };

struct view {
	uint8_t state;
	uint32_t code;
	uint64_t seq;
};

/* What a read must bring. */
struct expect {
	struct view view;
	int unowned;			/* nobody's slot: no lease in the status */
	int output;			/* out_len bytes of job gen, slot, seq */
	uint32_t gen, out_len;
	int bare;			/* not padded behind the output */
	int lost;			/* the engine may have written its output, for which nobody vouches */
};

struct rcmd {
	struct cmd c;
	int used, due, borrow, read;
	int local;			/* as are all commands of a client with an odd number */
	uint32_t slot;
	uint8_t alias;
	uint64_t deadline, off;		/* off: of a read within the half, without the WAIT bit */
	uint16_t sc;
	struct expect x;
	uint8_t buf[BUF];
};

struct rslot {
	uint32_t gen;			/* 0: free */
	int lease;
	uint64_t last;
	uint8_t state;
	uint32_t code;
	uint32_t in_len, out_max, out_len;
	uint16_t flags;
	int engine, draining, released;
	uint32_t stop_code;
	uint64_t limit;
	uint64_t ran;			/* the last job that an engine has got */
	struct rcmd *lent_in, *lent_out;
	uint64_t have[8][NBLK];		/* whose data lies there: seq, 0: none */
	struct { int kind; uint64_t seq; uint32_t code; } note[8];
};

struct rlease {
	int state, client;
	uint32_t gen, epoch, duration, busy;
	uint64_t expires;
};

struct world {
	struct env e;
	struct rslot slot[NSLOT];
	struct rlease lease[NLEASE];
	struct rcmd *cmd;
	uint32_t gens, na, held;
	int by_host;
	uint64_t step, commands;
	char why[160];			/* what was wrong; empty: nothing */
	enum fault fault;
	uint8_t *shared;
	int pair;			/* a held read and its write, both lent: the slot; -1: no */
	unsigned int in_place, results, completions;
	uint64_t ended[32];
};

static uint64_t rnd(struct world *w, uint64_t n)
{
	return env_rand(&w->e) % n;
}

static int chance(struct world *w, unsigned int percent)
{
	return rnd(w, 100) < percent;
}

static void wrong(struct world *w, const char *what, uint64_t a, uint64_t b)
{
	if (!w->why[0])
		snprintf(w->why, sizeof(w->why), "step %llu: %s (%llu, %llu)", (unsigned long long)w->step,
			 what, (unsigned long long)a, (unsigned long long)b);
}

/* ---- Bytes that say whose they are ---- */

static uint8_t data_byte(uint32_t gen, uint32_t slot, uint64_t seq, uint64_t i, int output)
{
	uint64_t word = 0xd47aull << 48 | (uint64_t)gen << 32 | (uint64_t)slot << 28 | (seq & 0xffff) << 12 |
			(i / 8 & 0xfff);

	if (output)
		word ^= OUT_XOR;
	return (uint8_t)(word >> i % 8 * 8);
}

static void fill_data(uint8_t *p, uint32_t gen, uint32_t slot, uint64_t seq, uint64_t off, uint64_t n,
		      int output)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		p[i] = data_byte(gen, slot, seq, off + i, output);
}

static void fill_nonce(uint8_t *p, uint32_t gen)
{
	memcpy(p, "NONCE!NONCE!", 12);
	le32_put(p + 12, gen * 2654435761u | 1);
}

static void fill_key(uint8_t *p, uint32_t gen, uint64_t seq)
{
	uint32_t i;

	for (i = 0; i < KEYLEN; i += 8) {
		memcpy(p + i, "KeY", 3);
		p[i + 3] = (uint8_t)gen;
		le32_put(p + i + 4, (uint32_t)seq);
	}
}

static int secret_in(const uint8_t *p, uint64_t n)
{
	const uint8_t *q = p, *end = p + n;

	for (; end - q >= 6; q++)
		if ((*q == 'K' && !memcmp(q, "KeY", 3)) || (*q == 'N' && !memcmp(q, "NONCE!", 6)))
			return 1;
	return 0;
}

/* ---- The reference: what a slot shows, and who is answered ---- */

static uint8_t alias_of(const struct world *w, uint64_t seq)
{
	return (uint8_t)(seq & (w->na - 1));
}

static int active(const struct rslot *s)
{
	return s->state == NVME_ACCEL_ST_LOADING || s->state == NVME_ACCEL_ST_QUEUED;
}

static int current(const struct world *w, const struct rslot *s, uint8_t alias)
{
	return s->state != NVME_ACCEL_ST_CLAIMED && alias_of(w, s->last) == alias;
}

static struct view view_of(const struct world *w, const struct rslot *s, uint8_t alias)
{
	struct view v = { NVME_ACCEL_ST_FREE, 0, 0 };
	uint64_t seq;

	if (!s->gen)
		return v;
	if (s->draining)
		return (struct view){ NVME_ACCEL_ST_LOST, s->code, s->last };
	if (current(w, s, alias))
		return (struct view){ s->state, active(s) ? 0 : s->code, s->last };
	if (s->note[alias].kind)
		return (struct view){ s->note[alias].kind == 1 ? NVME_ACCEL_ST_CLAIMED : NVME_ACCEL_ST_FAILED,
				      s->note[alias].code, s->note[alias].seq };
	v.state = NVME_ACCEL_ST_CLAIMED;
	for (seq = s->last; seq > 0 && s->last - seq < w->na; seq--)
		if (alias_of(w, seq) == alias)
			return (struct view){ NVME_ACCEL_ST_SUPERSEDED, 0, seq };
	return v;
}

/* The read r is to be answered by how its slot stands now. */
static void expect_answer(struct world *w, struct rcmd *r)
{
	struct rslot *s = &w->slot[r->slot];
	struct expect *x = &r->x;
	int lent = s->lent_out == r;

	r->due = 1;
	r->sc = 0;
	memset(x, 0, sizeof(*x));
	x->view = view_of(w, s, r->alias);
	x->unowned = !s->gen;
	x->gen = s->gen;
	x->out_len = s->out_len;
	x->output = x->view.state == NVME_ACCEL_ST_DONE && (lent || !s->released);
	x->lost = lent && s->draining;
	x->bare = (lent && r->local) || (r->borrow && r->local && s->gen && alias_of(w, s->last) == r->alias &&
			   s->flags & NVME_ACCEL_JOB_RELEASE_RESULT);
}

static int lent(const struct rslot *s, const struct rcmd *r)
{
	return s->engine && (r == s->lent_in || r == s->lent_out);
}

static void settle(struct world *w, struct rcmd *r)
{
	struct rslot *s = &w->slot[r->slot];

	w->held--;
	if (r->sc == MODEL_SC_ABORTED)
		r->due = 1;
	else
		expect_answer(w, r);
	if (r == s->lent_in)
		s->lent_in = NULL;
	if (r == s->lent_out)
		s->lent_out = NULL;
}

/* alias -1: all of the slot's. */
static void answer(struct world *w, uint32_t slot, int alias)
{
	uint32_t i;

	for (i = 0; i < NCMD; i++) {
		struct rcmd *r = &w->cmd[i];

		if (r->used && !r->due && r->slot == slot && (alias < 0 || r->alias == alias) &&
		    !lent(&w->slot[slot], r))
			settle(w, r);
	}
}

static struct rcmd *waiting_read(struct world *w, uint32_t slot, int alias)
{
	uint32_t i;

	for (i = 0; i < NCMD; i++)
		if (w->cmd[i].used && !w->cmd[i].due && w->cmd[i].read && w->cmd[i].slot == slot &&
		    (alias < 0 || w->cmd[i].alias == alias))
			return &w->cmd[i];
	return NULL;
}

static void slot_clear(struct world *w, uint32_t i)
{
	memset(&w->slot[i], 0, sizeof(w->slot[i]));
	w->slot[i].lease = -1;
}

static void job_ended(struct world *w, uint32_t i, uint32_t code)
{
	struct rslot *s = &w->slot[i];

	s->code = code;
	s->state = code == 0 ? NVME_ACCEL_ST_DONE
			     : code == NVME_ACCEL_ABORTED ? NVME_ACCEL_ST_ABORTED : NVME_ACCEL_ST_FAILED;
	w->ended[code]++;
	answer(w, i, alias_of(w, s->last));
}

static void stop(struct world *w, uint32_t i, uint32_t code)
{
	struct rslot *s = &w->slot[i];

	if (!s->engine) {
		s->out_len = 0;
		job_ended(w, i, code);
	} else if (!s->stop_code) {
		s->stop_code = code;
	}
}

static void lease_over(struct world *w, int l, uint32_t code)
{
	struct rlease *le = &w->lease[l];
	uint32_t i;

	le->epoch++;
	le->busy = 0;
	for (i = 0; i < NSLOT; i++) {
		struct rslot *s = &w->slot[i];

		if (!s->gen || s->draining || s->lease != l)
			continue;
		s->draining = 1;
		s->code = code;
		answer(w, i, -1);
		if (s->engine) {
			le->busy++;
			if (!s->stop_code)
				s->stop_code = code;
		} else {
			slot_clear(w, i);
		}
	}
	le->state = le->busy ? NVME_ACCEL_LEASE_DRAINING : NVME_ACCEL_LEASE_FREE;
}

static void expire(struct world *w)
{
	uint32_t l;

	for (l = 0; l < NLEASE; l++)
		if (w->lease[l].state == NVME_ACCEL_LEASE_HELD && w->e.now >= w->lease[l].expires)
			lease_over(w, (int)l, NVME_ACCEL_LEASE_LOST);
}

static void hold(struct world *w, struct rcmd *r)
{
	w->held++;
	r->due = 0;
	if (!r->local)
		r->deadline = w->e.now + 1000 * MS;
}

/* ---- The reference: what writes, engines and the clock do ---- */

static void ref_start(struct world *w, uint32_t slot)
{
	struct rslot *s = &w->slot[slot];
	struct rcmd *r = waiting_read(w, slot, alias_of(w, s->last));

	if (w->e.refuse) {
		s->out_len = 0;
		s->engine = 0;
		if (r && r->borrow && s->flags & NVME_ACCEL_JOB_RELEASE_RESULT && r->off == 0 &&
		    r->c.c.nbytes - B >= s->out_max)
			s->lent_out = r;	/* for a moment */
		job_ended(w, slot, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	s->state = NVME_ACCEL_ST_QUEUED;
	s->engine = 1;
	if (r && r->borrow && s->flags & NVME_ACCEL_JOB_RELEASE_RESULT && r->off == 0 &&
	    r->c.c.nbytes - B >= s->out_max)
		s->lent_out = r;
}

static int all_there(const struct rslot *s, uint8_t alias)
{
	uint32_t b;

	for (b = 0; b * B < s->in_len; b++)
		if (!s->have[alias][b])
			return 0;
	return 1;
}

static void ref_data(struct world *w, uint32_t slot, uint64_t seq, uint32_t first, uint32_t n)
{
	struct rslot *s = &w->slot[slot];
	uint8_t alias = alias_of(w, seq);
	uint32_t b;

	if (alias == alias_of(w, s->last) && s->state != NVME_ACCEL_ST_LOADING)
		return;
	for (b = first; b < first + n; b++)
		s->have[alias][b] = seq;
	if (alias == alias_of(w, s->last) && all_there(s, alias))
		ref_start(w, slot);
}

static void ref_note(struct world *w, uint32_t slot, int kind, uint64_t seq, uint32_t code)
{
	struct rslot *s = &w->slot[slot];
	uint8_t alias = alias_of(w, seq);

	if (current(w, s, alias))
		return;
	s->note[alias].kind = kind;
	s->note[alias].seq = seq;
	s->note[alias].code = code;
	if (kind == 2)
		answer(w, slot, alias);
}

/* r is not due and not counted as held: that is decided here. */
static void ref_accept(struct world *w, uint32_t slot, const struct wire_desc *d, struct rcmd *r,
		       uint32_t blocks, uint32_t code)
{
	struct rslot *s = &w->slot[slot];
	uint8_t before = alias_of(w, s->last), alias = alias_of(w, d->seq);
	int had = s->state != NVME_ACCEL_ST_CLAIMED, held;
	uint32_t i;

	memset(s->have[before], 0, sizeof(s->have[before]));
	memset(s->note, 0, sizeof(s->note));
	s->last = d->seq;
	s->state = NVME_ACCEL_ST_LOADING;
	s->flags = d->flags;
	s->in_len = (uint32_t)d->in_len;
	s->out_max = (uint32_t)d->out_max;
	s->out_len = 0;
	s->released = 0;
	s->stop_code = 0;
	s->limit = d->limit_ms ? w->e.now + d->limit_ms * MS : UINT64_MAX;
	r->due = 1;		/* for answer(): not one of those that wait */
	if (had)
		answer(w, slot, before);
	if (d->flags & NVME_ACCEL_JOB_ABORT)
		code = NVME_ACCEL_ABORTED;
	if (code) {
		job_ended(w, slot, code);
		return;
	}
	held = d->flags & NVME_ACCEL_JOB_COMPLETE_ON_DONE && w->held < w->e.cfg.max_held;
	if (held)
		hold(w, r);
	if (blocks * B >= s->in_len) {
		for (i = 0; i * B < s->in_len; i++)
			s->have[alias][i] = d->seq;
		if (held && r->borrow)
			s->lent_in = r;
		ref_start(w, slot);
		return;
	}
	for (i = 0; i < blocks; i++)
		s->have[alias][i] = d->seq;
	if (all_there(s, alias))
		ref_start(w, slot);
}

static void ref_desc(struct world *w, uint32_t slot, const struct wire_desc *d, struct rcmd *r,
		     uint32_t blocks, uint32_t code)
{
	struct rslot *s = &w->slot[slot];

	r->due = 1;
	if (d->seq == s->last && s->state != NVME_ACCEL_ST_CLAIMED) {
		if (d->flags & NVME_ACCEL_JOB_ABORT) {
			if (active(s))
				stop(w, slot, NVME_ACCEL_ABORTED);
		} else if (d->flags & NVME_ACCEL_JOB_START) {
			ref_data(w, slot, d->seq, 0, blocks);
		}
		if (d->flags & NVME_ACCEL_JOB_COMPLETE_ON_DONE && active(s) && w->held < w->e.cfg.max_held)
			hold(w, r);
	} else if (d->seq > s->last + 1) {
		ref_note(w, slot, 2, d->seq, NVME_ACCEL_SEQ_GAP);
	} else if (d->seq == s->last + 1) {
		if (!(d->flags & (NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_ABORT)))
			ref_note(w, slot, 1, d->seq, code);
		else if (s->engine)
			ref_note(w, slot, 2, d->seq, NVME_ACCEL_BUSY);
		else
			ref_accept(w, slot, d, r, blocks, code);
	}
}

static void ref_whole(struct world *w, uint32_t slot, const struct wire_desc *d, struct rcmd *r,
		      uint32_t blocks, int kind, uint32_t code)
{
	struct rslot *s = &w->slot[slot];
	struct rlease *l = &w->lease[s->lease];

	r->due = 1;
	if (kind) {		/* a stranger's, or damaged: its host's read on the alias is let go */
		struct rcmd *x = waiting_read(w, slot, r->alias);

		r->sc = kind == 1 ? MODEL_SC_ACCESS_DENIED : MODEL_SC_INVALID_FIELD;
		if (x && !lent(s, x) && x->c.c.host == (uint64_t)l->client && !(kind == 1 && x->local))
			settle(w, x);
		return;
	}
	if (w->e.now >= l->expires) {
		r->sc = MODEL_SC_ACCESS_DENIED;
		expire(w);
		return;
	}
	l->expires = w->e.now + l->duration * MS;
	ref_desc(w, slot, d, r, blocks, code);
}

/* What the reference makes of the end of a job. */
static void ref_done(struct world *w, uint32_t slot, uint32_t code, uint32_t out_len)
{
	struct rslot *s = &w->slot[slot];
	uint32_t l = (uint32_t)s->lease;

	s->engine = 0;
	s->out_len = code ? 0 : out_len;
	if (s->draining) {
		answer(w, slot, -1);
		slot_clear(w, slot);
		if (--w->lease[l].busy == 0)
			w->lease[l].state = NVME_ACCEL_LEASE_FREE;
		return;
	}
	if (code == NVME_ACCEL_ABORTED && s->stop_code)
		code = s->stop_code;
	if (s->lent_in && s->lent_out)
		w->in_place++;
	s->released = s->lent_out != NULL;
	job_ended(w, slot, code);
}

static void ref_tick(struct world *w)
{
	uint32_t i;

	expire(w);
	for (i = 0; i < NSLOT; i++) {
		struct rslot *s = &w->slot[i];

		if (s->gen && !s->draining && active(s) && !s->stop_code && s->limit <= w->e.now)
			stop(w, i, NVME_ACCEL_TIMEOUT);
	}
	for (i = 0; i < NCMD; i++) {
		struct rcmd *r = &w->cmd[i];

		if (r->used && !r->due && r->deadline <= w->e.now && !lent(&w->slot[r->slot], r))
			settle(w, r);
	}
}

/* ---- Checking ---- */

static void check_block(struct world *w, struct rcmd *r)
{
	const struct expect *x = &r->x;
	struct wire_status st;

	if (wire_status_decode(&st, r->buf, B)) {
		wrong(w, "status block does not decode", r->slot, r->alias);
		return;
	}
	if (st.state == NVME_ACCEL_ST_RUNNING)
		st.state = NVME_ACCEL_ST_QUEUED;
	if (st.state != x->view.state)
		wrong(w, "state: has, expected", st.state, x->view.state);
	if (st.code != x->view.code)
		wrong(w, "code: has, expected", st.code, x->view.code);
	if (st.seq != x->view.seq)
		wrong(w, "seq: has, expected", st.seq, x->view.seq);
	if (!(st.flags & NVME_ACCEL_SF_OUTPUT_VALID) != !x->output)
		wrong(w, "OUTPUT_VALID", st.flags, (uint64_t)x->output);
	if (st.state == NVME_ACCEL_ST_DONE && st.out_len != x->out_len)
		wrong(w, "out_len", st.out_len, x->out_len);
	if (x->unowned && (st.lease || st.epoch || st.cookie))
		wrong(w, "a free slot tells of a lease", st.lease, st.epoch);
}

static uint8_t expected_byte(const struct rcmd *r, uint64_t o)
{
	const struct expect *x = &r->x;

	if (x->output && o < x->out_len)
		return data_byte(x->gen, r->slot, x->view.seq, o, 1);
	return x->bare ? FILL : 0;
}

static void check_read(struct world *w, struct rcmd *r)
{
	uint64_t i = 0, off = r->off;

	if (off == 0) {
		check_block(w, r);
		i = B;
	}
	for (; i < r->c.c.nbytes; i++)
		if (r->buf[i] != expected_byte(r, off + i - B) &&
		    !(r->x.lost &&
		      r->buf[i] == data_byte(r->x.gen, r->slot, r->x.view.seq, off + i - B, 1))) {
			wrong(w, "byte of the output", off + i - B, r->buf[i]);
			return;
		}
	if (r->x.output && off == 0)
		w->results++;
	if (secret_in(r->buf, r->c.c.nbytes))
		wrong(w, "a secret was read", r->slot, 0);
}

static void check_all(struct world *w)
{
	uint32_t i, n = 0;

	for (i = 0; i < NCMD; i++) {
		struct rcmd *r = &w->cmd[i];

		if (!r->used)
			continue;
		if (r->c.done > 1)
			wrong(w, "a command completed twice", i, 0);
		if (r->due && !r->c.done)
			wrong(w, "a command should have completed", r->slot, r->read);
		if (!r->due && r->c.done)
			wrong(w, "a command should still be held", r->slot, r->read);
		if (!r->due) {
			n++;
			continue;
		}
		if (r->c.sc != r->sc)
			wrong(w, "NVMe status: has, expected", r->c.sc, r->sc);
		else if (r->read && !r->sc)
			check_read(w, r);
		r->used = 0;
		w->completions++;
	}
	if (n != w->held)
		wrong(w, "the reference lost count", n, w->held);
}

#endif
