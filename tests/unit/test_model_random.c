// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random commands against a simple reference. Three clients claim leases, send jobs whole, in pieces, in any
 * order, twice and late, abort them, read too early and too much, let leases expire, reset the device.
 * The reference (test_model_ref.h) says what must come of each; every byte of every read is compared.
 *
 * Input and output words name the lease (by a number that is never used again), slot and job they belong to,
 * so a byte in the wrong place shows. Keys in the parameters have a pattern that must appear in no read.
 *
 * test_model_random [SEED [STEPS]] replays one seed.
 */
#include "test_model_ref.h"

/* ---- Commands ---- */

static struct rcmd *new_cmd(struct world *w, uint8_t opcode, uint32_t slot, uint8_t alias)
{
	uint32_t i;

	for (i = 0; i < NCMD && w->cmd[i].used; i++)
		;
	if (i == NCMD)
		return NULL;
	memset(&w->cmd[i], 0, offsetof(struct rcmd, buf));
	w->cmd[i].used = 1;
	w->cmd[i].read = opcode == MODEL_READ;
	w->cmd[i].slot = slot;
	w->cmd[i].alias = alias;
	w->cmd[i].deadline = UINT64_MAX;
	cmd_set(&w->cmd[i].c, opcode, 0, w->cmd[i].buf, 0);
	return &w->cmd[i];
}

/* The buffer in up to six pieces; most often the first is one block. */
static void cut(struct world *w, struct rcmd *r)
{
	uint64_t left = r->c.c.nbytes, n;
	uint8_t *p = r->buf;
	unsigned int i = 0;

	if (left > B && chance(w, 70)) {
		r->c.iov[i++] = (struct iovec){ p, B };
		p += B;
		left -= B;
	}
	while (left && i < 5 && chance(w, 40)) {
		n = 1 + rnd(w, left);
		r->c.iov[i++] = (struct iovec){ p, n };
		p += n;
		left -= n;
	}
	if (left)
		r->c.iov[i++] = (struct iovec){ p, left };
	r->c.c.niov = i;
}

static void submit(struct world *w, struct rcmd *r, uint64_t off, uint64_t n, uint64_t host)
{
	r->c.c.off = off;
	r->c.c.nbytes = n;
	r->c.c.flags = (r->borrow ? MODEL_CMD_BORROW : 0) | (r->local ? MODEL_CMD_LOCAL : 0);
	r->c.c.host = host;
	cut(w, r);
	w->commands++;
	env_submit(&w->e, &r->c);
}

static int host_denied(const struct world *w, const struct rslot *s, uint64_t host)
{
	return w->by_host && s->gen && (uint64_t)w->lease[s->lease].client != host;
}

static void do_read(struct world *w)
{
	uint32_t slot = w->pair >= 0 ? (uint32_t)w->pair : (uint32_t)rnd(w, NSLOT);
	struct rslot *s = &w->slot[slot];
	int next = chance(w, 60) || w->pair >= 0;
	uint8_t alias = chance(w, 70) || next ? alias_of(w, s->last + (uint64_t)next)
					      : (uint8_t)rnd(w, w->na);
	struct rcmd *r = new_cmd(w, MODEL_READ, slot, alias);
	uint64_t host = s->gen && chance(w, 90) ? (uint64_t)w->lease[s->lease].client : rnd(w, NCLIENT);
	uint64_t n = chance(w, 50) ? B + MAXIN : B * (1 + rnd(w, NBLK + 1));
	int wait = chance(w, 60) || w->pair >= 0, waits;

	if (!r)
		return;
	r->borrow = chance(w, 40) || w->pair >= 0;
	r->local = host & 1;
	r->off = chance(w, 85) ? 0 : B * rnd(w, 4);
	memset(r->buf, FILL, sizeof(r->buf));
	waits = wait && s->gen && !s->draining &&
		(current(w, s, alias) ? active(s) : s->note[alias].kind != 2);
	if (host_denied(w, s, host)) {
		r->due = 1;
		r->sc = MODEL_SC_ACCESS_DENIED;
	} else if (waits && r->off) {
		r->due = 1;
		r->sc = MODEL_SC_SEQUENCE;
	} else if (waits && !waiting_read(w, slot, -1)) {
		/* The one that was just made counts as waiting: it is not due yet. */
		wrong(w, "the reference finds no room", slot, alias);
	} else if (waits && w->held < w->e.cfg.max_held) {
		uint32_t i, others = 0;

		for (i = 0; i < NCMD; i++)
			others += w->cmd[i].used && !w->cmd[i].due && w->cmd[i].read &&
				  w->cmd[i].slot == slot && &w->cmd[i] != r;
		if (others)
			expect_answer(w, r);
		else
			hold(w, r);
	} else {
		expect_answer(w, r);
	}
	submit(w, r, wire_slot_addr(&w->e.cfg.id, slot, alias, 1) + r->off +
	       (wait ? 1ull << (w->e.cfg.id.winsh - 1) : 0), n, host);
}

/* Length of job seq, the same whenever it is sent. */
static uint32_t job_len(uint32_t gen, uint32_t slot, uint64_t seq)
{
	uint32_t h = gen * 7919u + slot * 104729u + (uint32_t)seq * 1299709u;

	h ^= h >> 13;
	h *= 0x5bd1e995u;
	h ^= h >> 15;
	return h % 5 == 0 ? h % B : h % (MAXIN + 1);
}

static void make_desc(struct world *w, struct wire_desc *d, uint32_t slot, uint64_t seq, uint8_t *key)
{
	struct rslot *s = &w->slot[slot];

	desc_fill(d, 0, (uint32_t)s->lease, w->lease[s->lease].epoch, seq, job_len(s->gen, slot, seq), 0);
	fill_nonce(d->nonce, s->gen);
	d->out_max = chance(w, 90) ? d->in_len : rnd(w, MAXIN + 1);
	if (chance(w, 30))
		d->flags |= NVME_ACCEL_JOB_EXPLICIT;
	if (chance(w, 50))
		d->flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	if (chance(w, 50))
		d->flags |= NVME_ACCEL_JOB_RELEASE_RESULT;
	if (chance(w, 10))
		d->limit_ms = (uint32_t)(1 + rnd(w, 400));
	fill_key(key, s->gen, seq);
	d->stage[0].param = key;
	d->stage[0].param_len = KEYLEN;
}

/* Which job a descriptor is for: mostly the next one, or the one that loads. */
static uint64_t pick_seq(struct world *w, const struct rslot *s)
{
	unsigned int p = (unsigned int)rnd(w, 100);

	if (p < 74)
		return s->last + 1;
	if (p < 88 && s->last)
		return s->last;
	if (p < 94 && s->last > 1)
		return 1 + rnd(w, s->last);
	return s->last + 2 + rnd(w, 5);
}

static uint32_t busy_slot(struct world *w)
{
	uint32_t slot = (uint32_t)rnd(w, NSLOT), i;

	for (i = 0; i < NSLOT; i++, slot = (slot + 1) % NSLOT)
		if (w->slot[slot].gen && !w->slot[slot].draining)
			return slot;
	return NSLOT;
}

/* A descriptor, with all, some or none of its input. */
static void do_desc(struct world *w)
{
	uint32_t slot = w->pair >= 0 ? (uint32_t)w->pair : busy_slot(w), blocks, whole, code = 0;
	int kind = chance(w, 3) ? 1 : chance(w, 3) ? 2 : 0;
	struct wire_desc d;
	struct rcmd *r;
	uint8_t key[KEYLEN];
	uint64_t host;

	if (slot == NSLOT)
		return;
	make_desc(w, &d, slot, w->pair >= 0 ? w->slot[slot].last + 1 : pick_seq(w, &w->slot[slot]), key);
	if (w->pair >= 0)
		d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	r = new_cmd(w, MODEL_WRITE, slot, alias_of(w, d.seq));
	if (!r)
		return;
	r->borrow = chance(w, 50) || w->pair >= 0;
	r->local = w->lease[w->slot[slot].lease].client & 1;
	if (chance(w, 5)) {
		d.stage[0].op = NVME_ACCEL_OP_COMPRESS;
		code = NVME_ACCEL_UNSUPPORTED_OP;
	}
	if (chance(w, 5))
		d.flags &= (uint16_t)~NVME_ACCEL_JOB_START;
	if (chance(w, 6))
		d.flags |= NVME_ACCEL_JOB_ABORT;
	whole = (uint32_t)((d.in_len + B - 1) / B);
	blocks = chance(w, 60) || w->pair >= 0 ? whole : (uint32_t)rnd(w, whole + 1);
	if (kind == 1)
		d.nonce[13] ^= 4;
	host = (uint64_t)w->lease[w->slot[slot].lease].client;
	wire_desc_encode(&d, r->buf, B);
	if (kind == 2)
		r->buf[rnd(w, 252)] ^= (uint8_t)(1 + rnd(w, 255));
	fill_data(r->buf + B, w->slot[slot].gen, slot, d.seq, 0, blocks * B, 0);
	ref_whole(w, slot, &d, r, blocks, kind, code);
	submit(w, r, wire_slot_addr(&w->e.cfg.id, slot, d.seq, 0), B + blocks * B, host);
}

/*
 * Input alone: of the job that loads, of one ahead whose alias is open, or late and repeated. Ghosts of a job
 * whose alias has been opened for a later one are left out: no device can tell them from that one's input.
 */
static void do_data(struct world *w)
{
	uint32_t slot = busy_slot(w), first, n;
	struct rslot *s;
	struct rcmd *r;
	uint64_t seq, host;

	if (slot == NSLOT)
		return;
	s = &w->slot[slot];
	seq = chance(w, 70) && s->last ? s->last : s->last + 1 + rnd(w, w->na - 1);
	r = new_cmd(w, MODEL_WRITE, slot, alias_of(w, seq));
	if (!r)
		return;
	first = (uint32_t)rnd(w, NBLK);
	n = 1 + (uint32_t)rnd(w, NBLK - first);
	if (chance(w, 40)) {
		first = 0;
		n = NBLK;
	}
	r->due = 1;
	host = (uint64_t)w->lease[s->lease].client;
	fill_data(r->buf, s->gen, slot, seq, first * B, n * B, 0);
	if (w->by_host && chance(w, 10)) {	/* another host's: denied */
		host = (host + 1) % NCLIENT;
		r->sc = MODEL_SC_ACCESS_DENIED;
		memset(r->buf, 0xbd, n * B);
	} else {
		ref_data(w, slot, seq, first, n);
	}
	submit(w, r, wire_slot_addr(&w->e.cfg.id, slot, seq, 0) + B + first * B, n * B, host);
}

static void check_free_slots(struct world *w)
{
	uint8_t page[NVME_ACCEL_PAGE];
	uint32_t i, n = 0;

	for (i = 0; i < NSLOT; i++)
		n += !w->slot[i].gen;
	model_identify(w->e.m, page);
	if (le32_get(page + 596) != n)
		wrong(w, "free slots: says, has", le32_get(page + 596), n);
	if (w->e.live != (long)(NSLOT - n))
		wrong(w, "pieces of slot memory", (uint64_t)w->e.live, NSLOT - n);
}

/* A command that fails whatever the state, or that says nothing about jobs. */
static void do_other(struct world *w)
{
	static uint8_t page[8192];
	const struct wire_id *id = &w->e.cfg.id;
	uint64_t regions[] = { 0, id->info_off, id->stats_off, id->slot_off - 4096, (id->nsze << 9) - 4096 };
	uint32_t slot = (uint32_t)rnd(w, NSLOT);
	struct cmd c;
	int sc;

	cmd_set(&c, MODEL_READ, regions[rnd(w, 5)], page, 512 * (1 + rnd(w, 8)));
	if (chance(w, 30)) {		/* the read half takes no writes */
		c.c.opcode = MODEL_WRITE;
		c.c.off = wire_slot_addr(id, slot, rnd(w, 2), 1) + B * rnd(w, 20);
	} else if (chance(w, 10)) {
		c.c.off = id->nsze << 9;
	} else if (chance(w, 10)) {
		c.c.off += 1;
	}
	w->commands++;
	sc = env_submit(&w->e, &c);
	if (c.done != 1 || (c.c.opcode == MODEL_WRITE && sc == 0))
		wrong(w, "a command that must fail or end at once", c.c.off, (uint64_t)sc);
	if (!sc && secret_in(page, c.c.nbytes))
		wrong(w, "a secret in a page", c.c.off, 0);
	check_free_slots(w);
}

/* ---- Leases ---- */

static int put_claim(struct world *w, uint16_t op, uint32_t l, uint32_t gen, uint32_t epoch, int client)
{
	struct wire_claim c;

	claim_fill(&c, op, 1, epoch, 1 + (uint32_t)rnd(w, 3));
	le32_put(c.claim_id, gen);
	if (op != NVME_ACCEL_LEASE_BREAK)
		fill_nonce(c.nonce, gen);
	if (op == NVME_ACCEL_LEASE_CLAIM) {
		c.slots_min = 1;
		c.duration_ms = 100 + (uint32_t)rnd(w, 3000);
		if (chance(w, 5))
			c.flags = NVME_ACCEL_LEASE_EXCLUSIVE;
		else if (chance(w, 30))
			c.flags = NVME_ACCEL_LEASE_PREEMPTIBLE;
	}
	w->commands++;
	return env_claim(&w->e, l, &c, (uint64_t)client);
}

static void check_page(struct world *w, const struct wire_lease *p, uint32_t l)
{
	if (p->state != w->lease[l].state)
		wrong(w, "lease state: has, expected", p->state, (uint64_t)w->lease[l].state);
	if (p->epoch != w->lease[l].epoch)
		wrong(w, "lease epoch: has, expected", p->epoch, w->lease[l].epoch);
}

static int read_lease(struct world *w, uint32_t l, struct wire_lease *p)
{
	expire(w);
	w->commands++;
	if (env_lease(&w->e, l, p)) {
		wrong(w, "a lease page does not decode", l, 0);
		return 0;
	}
	return 1;
}

/* Takes over which slots the device has given; they must have been free. */
static void granted(struct world *w, const struct wire_lease *p, uint32_t l, uint32_t gen, int client)
{
	struct rlease *le = &w->lease[l];
	uint32_t r, i;

	le->state = NVME_ACCEL_LEASE_HELD;
	le->client = client;
	le->gen = gen;
	le->duration = p->duration_ms;
	le->expires = w->e.now + p->duration_ms * MS;
	for (r = 0; r < p->nrange; r++)
		for (i = p->range[r].first; i < p->range[r].first + p->range[r].count; i++) {
			if (w->slot[i].gen)
				wrong(w, "a slot was given away twice", i, w->slot[i].gen);
			slot_clear(w, i);
			w->slot[i].gen = gen;
			w->slot[i].lease = (int)l;
			w->slot[i].state = NVME_ACCEL_ST_CLAIMED;
		}
}

/* An exclusive claim has ended the preemptible leases, whether it was then granted or not. */
static void preempted(struct world *w, uint32_t but)
{
	struct wire_lease p;
	uint32_t l;

	for (l = 0; l < NLEASE; l++)
		if (l != but && w->lease[l].state == NVME_ACCEL_LEASE_HELD && !env_lease(&w->e, l, &p) &&
		    p.epoch == w->lease[l].epoch + 1)
			lease_over(w, (int)l, NVME_ACCEL_LEASE_LOST);
}

static void do_claim(struct world *w)
{
	uint32_t l = (uint32_t)rnd(w, NLEASE), gen = w->gens + 1, epoch;
	int client = (int)rnd(w, NCLIENT);
	struct wire_lease p;
	uint8_t id[8];

	expire(w);
	epoch = w->lease[l].epoch - chance(w, 10);
	w->gens = gen;
	w->e.gets = 0;
	w->e.fail_at = chance(w, 10) ? 1 + (unsigned int)rnd(w, 3) : 0;
	put_claim(w, NVME_ACCEL_LEASE_CLAIM, l, gen, epoch, client);
	preempted(w, l);
	if (!read_lease(w, l, &p))
		return;
	memset(id, 1, sizeof(id));
	le32_put(id, gen);
	if (p.state == NVME_ACCEL_LEASE_HELD && !memcmp(p.claim_id, id, 8)) {
		if (w->lease[l].state != NVME_ACCEL_LEASE_FREE || epoch != w->lease[l].epoch)
			wrong(w, "a claim was granted that must lose", l, epoch);
		granted(w, &p, l, gen, client);
	}
	check_page(w, &p, l);
}

static void do_lease(struct world *w)
{
	uint32_t l = (uint32_t)rnd(w, NLEASE);
	struct rlease *le = &w->lease[l];
	int held, own = chance(w, 80);
	struct wire_lease p;

	expire(w);
	held = le->state == NVME_ACCEL_LEASE_HELD;
	if (chance(w, 70)) {
		put_claim(w, NVME_ACCEL_LEASE_RENEW, l, own ? le->gen : le->gen + 1000, le->epoch,
			  le->client);
		if (held && own)
			le->expires = w->e.now + le->duration * MS;
	} else if (chance(w, 80)) {
		put_claim(w, NVME_ACCEL_LEASE_RELEASE, l, own ? le->gen : le->gen + 1000, le->epoch,
			  le->client);
		if (held && own)
			lease_over(w, (int)l, NVME_ACCEL_LEASE_LOST);
	} else {
		put_claim(w, NVME_ACCEL_LEASE_BREAK, l, own ? le->gen : le->gen + 1000, le->epoch,
			  le->client);
		if (held && own)
			lease_over(w, (int)l, NVME_ACCEL_LEASE_LOST);
	}
	if (read_lease(w, l, &p))
		check_page(w, &p, l);
}

/* ---- Engines and the clock ---- */

static void check_input(struct world *w, const struct model_job *mj, const struct rslot *s)
{
	struct iov_pos pos = { mj->job.in, mj->job.nin, 0 };
	uint8_t key[KEYLEN];
	uint64_t i = 0, n, k;
	void *p;

	for (; i < mj->job.in_len && (n = iov_next(&pos, &p, mj->job.in_len - i)); i += n)
		for (k = 0; k < n; k++)
			if (((uint8_t *)p)[k] != data_byte(s->gen, mj->slot, mj->seq, i + k, 0)) {
				wrong(w, "input of a job", mj->slot, i + k);
				return;
			}
	if (i != mj->job.in_len)
		wrong(w, "input of a job ends early", i, mj->job.in_len);
	fill_key(key, s->gen, mj->seq);
	if (mj->job.stage[0].param_len != KEYLEN || memcmp(mj->job.stage[0].param, key, KEYLEN))
		wrong(w, "parameters of a job", mj->slot, mj->seq);
}

static void write_output(struct world *w, struct model_job *mj, const struct rslot *s)
{
	struct iov_pos pos = { mj->job.out, mj->job.nout, 0 };
	uint8_t buf[MAXIN];

	fill_data(buf, s->gen, mj->slot, mj->seq, 0, mj->job.in_len, 1);
	if (w->fault == FAULT_BAD_OUTPUT && mj->job.in_len && w->results > 20)
		buf[rnd(w, mj->job.in_len)] ^= 0x20;
	mj->job.out_len = iov_write(&pos, buf, mj->job.in_len);
	mj->job.in_used = mj->job.in_len;
}

static uint32_t run_job(struct world *w, struct model_job *mj, const struct rslot *s)
{
	if (mj->job.stop && chance(w, 60))
		return NVME_ACCEL_ABORTED;
	if (chance(w, 8))
		return NVME_ACCEL_AUTH_FAILED;
	if (mj->job.in_len > mj->job.out_max)
		return NVME_ACCEL_OUTPUT_SHORT;
	write_output(w, mj, s);
	return NVME_ACCEL_OK;
}

static void do_engine(struct world *w)
{
	struct model_job *mj;
	struct rslot *s;
	uint8_t *late = NULL;
	uint32_t code;

	if (!w->e.njob)
		return;
	mj = w->e.job[rnd(w, w->e.njob)];
	if (mj->slot >= NSLOT || !w->slot[mj->slot].engine || mj->seq != w->slot[mj->slot].last) {
		wrong(w, "a job that should not run", mj->slot, mj->seq);
		return;
	}
	s = &w->slot[mj->slot];
	check_input(w, mj, s);
	if (mj->seq <= s->ran)
		wrong(w, "a job ran twice", mj->slot, mj->seq);
	s->ran = mj->seq;
	if (chance(w, 50))
		__atomic_store_n(&mj->start_ns, w->e.now, __ATOMIC_RELAXED);
	if (chance(w, 20))
		return;			/* takes longer */
	code = run_job(w, mj, s);
	if (w->fault == FAULT_LATE_WRITE && !code && mj->job.nout && mj->job.out[0].iov_len && !s->lent_out)
		late = mj->job.out[0].iov_base;
	ref_done(w, mj->slot, code, (uint32_t)mj->job.out_len);
	env_end(&w->e, mj, code);
	if (late && s->gen)		/* else its memory has gone with the lease */
		*late ^= 0x40;
}

/* do_engine() may look at a job more than once; it must not count that as running twice. */
static void engine_step(struct world *w)
{
	uint64_t ran[NSLOT];
	unsigned int i, before = w->e.njob;

	for (i = 0; i < NSLOT; i++)
		ran[i] = w->slot[i].ran;
	do_engine(w);
	if (w->e.njob == before)
		for (i = 0; i < NSLOT; i++)
			w->slot[i].ran = ran[i];
}

static void do_tick(struct world *w)
{
	uint64_t next;

	w->e.now += chance(w, 90) ? rnd(w, 60 * MS) : rnd(w, 2500 * MS);
	if (chance(w, 10))
		return;			/* nobody has called in time */
	ref_tick(w);
	next = model_tick(w->e.m);
	if (next <= w->e.now)
		wrong(w, "model_tick() left something undone", next, w->e.now);
}

static void do_cancel(struct world *w)
{
	struct rcmd *r = &w->cmd[rnd(w, NCMD)];
	struct rslot *s = &w->slot[r->slot];

	if (!r->used || r->due)
		return;
	r->sc = MODEL_SC_ABORTED;
	if (lent(s, r))
		stop(w, r->slot, r->local ? NVME_ACCEL_ABORTED : NVME_ACCEL_DATA_MISSING);
	else
		settle(w, r);
	if (!model_cancel(w->e.m, &r->c.c))
		wrong(w, "model_cancel() knows nothing of a held command", r->slot, 0);
}

static void do_host_gone(struct world *w)
{
	uint64_t host = rnd(w, NCLIENT);
	uint32_t i;

	for (i = 0; i < NCMD; i++) {
		struct rcmd *r = &w->cmd[i];

		if (!r->used || r->due || r->c.c.host != host)
			continue;
		r->sc = MODEL_SC_ABORTED;
		if (lent(&w->slot[r->slot], r))
			stop(w, r->slot, r->local ? NVME_ACCEL_ABORTED : NVME_ACCEL_DATA_MISSING);
		else
			settle(w, r);
	}
	model_host_gone(w->e.m, host);
}

static void do_reset(struct world *w)
{
	uint32_t l;

	for (l = 0; l < NLEASE; l++)
		if (w->lease[l].state == NVME_ACCEL_LEASE_HELD)
			lease_over(w, (int)l, NVME_ACCEL_RESET);
	model_reset(w->e.m);
}

/* As a client would: the read first, then the write, neither copied. */
static void do_pair(struct world *w)
{
	uint32_t slot = busy_slot(w);

	if (slot == NSLOT)
		return;
	w->pair = (int)slot;
	do_read(w);
	check_all(w);
	do_desc(w);
	w->pair = -1;
}

/* ---- A run ---- */

static void step(struct world *w)
{
	unsigned int p = (unsigned int)rnd(w, 1000);

	w->e.refuse = chance(w, 2) ? NVME_ACCEL_BUSY : 0;
	if (p < 180)
		do_desc(w);
	else if (p < 290)
		do_pair(w);
	else if (p < 400)
		do_data(w);
	else if (p < 590)
		do_read(w);
	else if (p < 850)
		engine_step(w);
	else if (p < 890)
		do_claim(w);
	else if (p < 910)
		do_lease(w);
	else if (p < 970)
		do_tick(w);
	else if (p < 983)
		do_other(w);
	else if (p < 995)
		do_cancel(w);
	else if (p < 998)
		do_host_gone(w);
	else
		do_reset(w);
}

static struct world *fault_world;	/* for the callbacks of a broken environment */

static void *shared_get(void *ctx, size_t n)
{
	void *p = env_mem_get(ctx, n);

	if (!fault_world->shared)
		fault_world->shared = calloc(1, n);
	free(p);
	return p ? fault_world->shared : NULL;
}

static void shared_put(void *ctx, void *p, size_t n)
{
	(void)p;
	(void)n;
	((struct env *)ctx)->live--;
}

static void lossy_done(void *ctx, struct model_cmd *c, uint16_t sc)
{
	if (fault_world->completions > 50 && env_rand(ctx) % 10 == 0)
		return;
	env_cmd_done(ctx, c, sc);
}

static void world_init(struct world *w, uint64_t seed, enum fault fault)
{
	struct model_env ops = env_ops;
	uint32_t i;

	memset(w, 0, sizeof(*w));
	w->fault = fault;
	w->pair = -1;
	w->cmd = calloc(NCMD, sizeof(*w->cmd));
	assert_non_null(w->cmd);
	w->e.rng = seed * 0x9e3779b97f4a7c15ull | 1;
	env_rand(&w->e);
	env_cfg(&w->e.cfg);
	w->e.cfg.id.nslot = NSLOT;
	w->e.cfg.id.nlease = NLEASE;
	w->e.cfg.id.maxin = w->e.cfg.id.maxout = MAXIN;
	for (i = 0; i < w->e.cfg.id.nops; i++) {
		w->e.cfg.id.ops[i].max_in = MAXIN;
		w->e.cfg.id.ops[i].max_out = w->e.cfg.id.ops[i].max_out ? MAXIN : 0;
	}
	w->e.cfg.id.aliasb = (uint8_t)(1 + rnd(w, 3));
	w->na = 1u << w->e.cfg.id.aliasb;
	w->e.cfg.max_held = (uint32_t)(chance(w, 50) ? 20 : 1 + rnd(w, 5));
	w->by_host = chance(w, 50);
	if (w->by_host)
		w->e.cfg.id.feat |= NVME_ACCEL_FEAT_HOST_LEASES;
	assert_int_equal(env_start(&w->e), 0);
	fault_world = w;
	if (fault == FAULT_SHARED_MEMORY) {
		ops.mem_get = shared_get;
		ops.mem_put = shared_put;
	}
	if (fault == FAULT_LOST_COMPLETION)
		ops.cmd_done = lossy_done;
	if (fault)
		w->e.m = model_init(w->e.mem, &w->e.cfg, &ops, &w->e);
	for (i = 0; i < NSLOT; i++)
		slot_clear(w, i);
	for (i = 0; i < NLEASE; i++)
		w->lease[i].epoch = 1;
}

/* The end: everything that is held ends, engines give up their jobs, all memory comes back. */
static void world_fini(struct world *w)
{
	uint32_t i;

	while (model_fini(w->e.m) && w->e.njob)
		while (w->e.njob)
			env_end(&w->e, w->e.job[0], NVME_ACCEL_ABORTED);
	for (i = 0; i < NCMD; i++)
		if (w->cmd[i].used && w->cmd[i].c.done != 1)
			wrong(w, "a command was left behind", i, (uint64_t)w->cmd[i].c.done);
	if (w->e.live)
		wrong(w, "slot memory was left behind", (uint64_t)w->e.live, 0);
	if (w->e.unclean)
		wrong(w, "slot memory was given back with something in it", w->e.unclean, 0);
	if (w->e.twice)
		wrong(w, "a command completed twice", w->e.twice, 0);
	free(w->e.mem);
	free(w->cmd);
	free(w->shared);
}

/* Empty: nothing was wrong. */
static const char *run(struct world *w, uint64_t seed, uint64_t steps, enum fault fault)
{
	static char why[200];

	world_init(w, seed, fault);
	for (w->step = 0; w->step < steps && !w->why[0]; w->step++) {
		step(w);
		check_all(w);
	}
	world_fini(w);
	why[0] = 0;
	if (w->why[0])
		snprintf(why, sizeof(why), "seed %llu, %s", (unsigned long long)seed, w->why);
	return why;
}

static uint64_t first_seed = 1, nseed = 240, nstep = 1500;

static void random_commands(void **state)
{
	uint64_t seed, commands = 0, in_place = 0, results = 0, aborted = 0, timeouts = 0, completions = 0;
	struct world w;
	const char *why;

	(void)state;
	for (seed = first_seed; seed < first_seed + nseed; seed++) {
		why = run(&w, seed, nstep, FAULT_NONE);
		if (why[0])
			fail_msg("%s", why);
		commands += w.commands;
		in_place += w.in_place;
		results += w.results;
		completions += w.completions;
		aborted += w.ended[NVME_ACCEL_ABORTED];
		timeouts += w.ended[NVME_ACCEL_TIMEOUT];
	}
	printf("# seeds %llu..%llu: %llu commands, %llu results, %llu in place, %llu aborted, %llu timed "
	       "out\n",
	       (unsigned long long)first_seed, (unsigned long long)seed - 1, (unsigned long long)commands,
	       (unsigned long long)results, (unsigned long long)in_place, (unsigned long long)aborted,
	       (unsigned long long)timeouts);
	if (nseed > 1) {
		assert_true(commands >= 200000);
		assert_true(results > 10000);
		assert_true(in_place > 500);
		assert_true(completions > results);
		assert_true(aborted > 500);
		assert_true(timeouts > 100);
	}
}

/* The test can fail: each fault of the environment is found, and soon. */
static void faults_are_found(void **state)
{
	enum fault fault;
	struct world w;
	uint64_t seed;

	(void)state;
	for (fault = FAULT_BAD_OUTPUT; fault <= FAULT_LOST_COMPLETION; fault++)
		for (seed = 1; seed <= 5; seed++)
			assert_true(run(&w, seed, 20000, fault)[0] != 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_commands),
		cmocka_unit_test(faults_are_found),
	};

	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 0);
		nseed = 1;
		nstep = argc > 2 ? strtoull(argv[2], NULL, 0) : nstep;
	}
	return cmocka_run_group_tests_name("model_random", tests, NULL, NULL);
}
