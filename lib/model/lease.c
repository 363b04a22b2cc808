// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lease records: who has which slots, until when. */
#include "priv.h"

/* ---- The end of a lease ---- */

/* The record can be claimed again. */
static void lease_free(struct lease *l)
{
	l->state = NVME_ACCEL_LEASE_FREE;
	l->flags = 0;
	l->nslot = l->nrange = 0;
	l->duration_ms = 0;
	l->host = 0;
	memset(l->claim_id, 0, sizeof(l->claim_id));
	memset(l->hostid, 0, sizeof(l->hostid));
	memset(l->label, 0, sizeof(l->label));
}

static void slot_end(struct model *m, struct lease *l, struct slot *s, uint32_t code)
{
	if (s->state == NVME_ACCEL_ST_LOADING)
		job_lost(m, s, code, now_ns(m));
	s->draining = 1;
	s->code = code;
	if (s->at_engine) {
		l->busy++;
		job_stop(m, s, code);
	}
	hold_answer(m, s, -1);
	if (!s->at_engine)
		slot_close(m, s);
}

void lease_end(struct model *m, struct lease *l, uint32_t code)
{
	uint32_t r, i;

	l->state = NVME_ACCEL_LEASE_DRAINING;
	l->epoch++;
	memcpy(l->ended_claim_id, l->claim_id, sizeof(l->claim_id));
	nonce_wipe(l->nonce);
	for (r = 0; r < l->nrange; r++)
		for (i = 0; i < l->range[r].count; i++)
			slot_end(m, l, slot_at(m, l->range[r].first + i), code);
	if (!l->busy)
		lease_free(l);
}

void lease_slot_drained(struct model *m, struct lease *l)
{
	(void)m;
	if (--l->busy == 0)
		lease_free(l);
}

void lease_renew(struct model *m, struct lease *l, uint64_t now)
{
	l->expires_ns = now + l->duration_ms * NS_PER_MS;
	due(m, l->expires_ns);
}

void lease_expire(struct model *m, uint64_t now)
{
	struct lease *l;

	for (l = m->leases; l < m->leases + m->id.nlease; l++) {
		if (l->state != NVME_ACCEL_LEASE_HELD)
			continue;
		if (now >= l->expires_ns) {
			m->count.lease_expiries++;
			lease_end(m, l, NVME_ACCEL_LEASE_LOST);
		} else {
			due(m, l->expires_ns);
		}
	}
}

/* ---- Claims ---- */

static int holder(const struct lease *l, const struct wire_claim *c)
{
	return l->state == NVME_ACCEL_LEASE_HELD && nonce_equal(l->nonce, c->nonce) &&
	       !memcmp(l->claim_id, c->claim_id, sizeof(l->claim_id));
}

/* A duration that was asked for; 0 if it cannot be had. */
static uint32_t duration(const struct model *m, uint32_t asked, uint32_t otherwise)
{
	if (!asked)
		return otherwise;
	return asked < m->id.leasemin_ms || asked > m->id.leasemax_ms ? 0 : asked;
}

/* Ends preemptible leases for an exclusive claim, or none if one of the others stands against it. */
static uint32_t make_way(struct model *m)
{
	uint32_t i;

	for (i = 0; i < m->id.nlease; i++)
		if (m->leases[i].state == NVME_ACCEL_LEASE_HELD &&
		    !(m->leases[i].flags & NVME_ACCEL_LEASE_PREEMPTIBLE))
			return NVME_ACCEL_REFUSED_EXCLUSIVE;
	for (i = 0; i < m->id.nlease; i++) {
		if (m->leases[i].state != NVME_ACCEL_LEASE_HELD)
			continue;
		m->count.lease_breaks++;
		lease_end(m, &m->leases[i], NVME_ACCEL_LEASE_LOST);
	}
	/* Engines may hold slots back a little longer: the claim is refused for now, and can be repeated. */
	return NVME_ACCEL_REFUSED_NOT;
}

static uint32_t grant(struct model *m, struct lease *l, const struct wire_claim *c)
{
	uint32_t wanted = BASE_MAX(c->slots_wanted, 1), min = BASE_MAX(c->slots_min, 1), code;

	if (c->flags & NVME_ACCEL_LEASE_EXCLUSIVE) {
		code = make_way(m);
		if (code)
			return code;
		wanted = min = m->id.nslot;
	}
	return grant_slots(m, l, (uint32_t)(l - m->leases), BASE_MAX(wanted, min), min);
}

static uint32_t claim(struct model *m, struct lease *l, const struct model_cmd *cmd,
		      const struct wire_claim *c, uint64_t now)
{
	uint32_t ms = duration(m, c->duration_ms, m->lease_default_ms), code;

	if (holder(l, c))	/* the command once more: it has been granted already */
		return host_ok(m, l, cmd->host) ? NVME_ACCEL_REFUSED_NOT : NVME_ACCEL_REFUSED_HOST;
	if (c->epoch != l->epoch)
		return NVME_ACCEL_REFUSED_EPOCH;
	if (l->state != NVME_ACCEL_LEASE_FREE)
		return NVME_ACCEL_REFUSED_HELD;
	if (!ms)
		return NVME_ACCEL_REFUSED_DURATION;
	code = grant(m, l, c);
	if (code)
		return code;
	l->state = NVME_ACCEL_LEASE_HELD;
	l->flags = c->flags;
	l->duration_ms = ms;
	l->host = cmd->host;
	memcpy(l->claim_id, c->claim_id, sizeof(l->claim_id));
	memcpy(l->nonce, c->nonce, sizeof(l->nonce));
	memcpy(l->hostid, c->hostid, sizeof(l->hostid));
	memcpy(l->label, c->label, sizeof(l->label));
	l->jobs = l->errors = l->bytes_in = l->bytes_out = l->exec_ns = 0;
	m->count.lease_grants++;
	lease_renew(m, l, now);
	return NVME_ACCEL_REFUSED_NOT;
}

/* What RENEW and RELEASE ask before they do anything. */
static uint32_t check_holder(const struct model *m, const struct lease *l, const struct model_cmd *cmd,
			     const struct wire_claim *c)
{
	if (c->epoch != l->epoch)
		return NVME_ACCEL_REFUSED_EPOCH;
	if (!holder(l, c))
		return NVME_ACCEL_REFUSED_NOT_HOLDER;
	return host_ok(m, l, cmd->host) ? NVME_ACCEL_REFUSED_NOT : NVME_ACCEL_REFUSED_HOST;
}

static uint32_t renew(struct model *m, struct lease *l, const struct model_cmd *cmd,
		      const struct wire_claim *c, uint64_t now)
{
	uint32_t code = check_holder(m, l, cmd, c), ms;

	if (code)
		return code;
	ms = duration(m, c->duration_ms, l->duration_ms);
	if (!ms)
		return NVME_ACCEL_REFUSED_DURATION;
	l->duration_ms = ms;
	lease_renew(m, l, now);
	return NVME_ACCEL_REFUSED_NOT;
}

/* The command that ended the lease just before, once more. */
static int ended_already(const struct lease *l, const struct wire_claim *c)
{
	return l->state != NVME_ACCEL_LEASE_HELD && c->epoch + 1 == l->epoch &&
	       !memcmp(l->ended_claim_id, c->claim_id, sizeof(l->ended_claim_id));
}

static uint32_t release(struct model *m, struct lease *l, const struct model_cmd *cmd,
			const struct wire_claim *c)
{
	uint32_t code;

	if (ended_already(l, c))
		return NVME_ACCEL_REFUSED_NOT;
	code = check_holder(m, l, cmd, c);
	if (code)
		return code;
	m->count.lease_releases++;
	lease_end(m, l, NVME_ACCEL_LEASE_LOST);
	return NVME_ACCEL_REFUSED_NOT;
}

/* By somebody else: that it names the holder and the epoch shows that it has seen whom it breaks. */
static uint32_t break_lease(struct model *m, struct lease *l, const struct model_cmd *cmd,
			    const struct wire_claim *c)
{
	if (ended_already(l, c))
		return NVME_ACCEL_REFUSED_NOT;
	if (c->epoch != l->epoch)
		return NVME_ACCEL_REFUSED_EPOCH;
	if (l->state != NVME_ACCEL_LEASE_HELD || memcmp(l->claim_id, c->claim_id, sizeof(l->claim_id)))
		return NVME_ACCEL_REFUSED_NOT_HOLDER;
	if (!host_ok(m, l, cmd->host))
		return NVME_ACCEL_REFUSED_HOST;
	m->count.lease_breaks++;
	lease_end(m, l, NVME_ACCEL_LEASE_LOST);
	return NVME_ACCEL_REFUSED_NOT;
}

static int claim_execute(struct model *m, struct lease *l, const struct model_cmd *cmd)
{
	const struct wire_claim *c = &m->claim;
	uint64_t now = now_ns(m);
	uint32_t code;

	lease_expire(m, now);
	switch (c->op) {
	case NVME_ACCEL_LEASE_CLAIM:
		code = claim(m, l, cmd, c, now);
		break;
	case NVME_ACCEL_LEASE_RENEW:
		code = renew(m, l, cmd, c, now);
		break;
	case NVME_ACCEL_LEASE_RELEASE:
		code = release(m, l, cmd, c);
		break;
	case NVME_ACCEL_LEASE_BREAK:
		code = break_lease(m, l, cmd, c);
		break;
	default:
		return MODEL_SC_INVALID_FIELD;
	}
	if (code) {
		memcpy(l->refused_claim_id, c->claim_id, sizeof(l->refused_claim_id));
		l->refused_code = code;
		m->count.lease_refusals++;
		err_log(m, cmd, 0, code, NULL, 0);
	}
	return MODEL_SC_OK;
}

int lease_write(struct model *m, struct model_cmd *cmd, uint64_t off)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };
	int sc = MODEL_SC_INVALID_FIELD;

	/* Odd pages are guards; a claim begins with its page. */
	if (off % NVME_ACCEL_LEASE_STRIDE || cmd->nbytes > NVME_ACCEL_PAGE)
		return sc;
	iov_read(&pos, m->page, (size_t)cmd->nbytes);
	if (wire_claim_decode(&m->claim, m->page, (size_t)cmd->nbytes) == WIRE_OK) {
		/* The page is scratch of whatever the claim sets off. */
		model_wipe(m->page, sizeof(struct nvme_accel_claim));
		sc = claim_execute(m, &m->leases[off / NVME_ACCEL_LEASE_STRIDE], cmd);
	}
	model_wipe(m->page, sizeof(struct nvme_accel_claim));
	model_wipe(&m->claim, sizeof(m->claim));
	return sc;
}

/* ---- Lease pages ---- */

static uint32_t remaining_ms(const struct lease *l, uint64_t now)
{
	if (l->state != NVME_ACCEL_LEASE_HELD || l->expires_ns <= now)
		return 0;
	/* Rounded up: a lease that is held has time left. */
	return (uint32_t)((l->expires_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void make_page(struct model *m, uint64_t index, void *page)
{
	struct wire_lease *w = &m->lease_page;
	const struct lease *l = &m->leases[index / 2];
	uint32_t r;

	memset(page, 0, NVME_ACCEL_PAGE);
	if (index & 1)
		return;
	memset(w, 0, sizeof(*w));
	w->state = l->state;
	w->flags = l->flags;
	w->epoch = l->epoch;
	w->remaining_ms = remaining_ms(l, now_ns(m));
	memcpy(w->claim_id, l->claim_id, sizeof(w->claim_id));
	memcpy(w->hostid, l->hostid, sizeof(w->hostid));
	memcpy(w->label, l->label, sizeof(w->label));
	w->nrange = l->nrange;
	w->nslot = l->nslot;
	for (r = 0; r < l->nrange; r++) {
		w->range[r].first = l->range[r].first;
		w->range[r].count = l->range[r].count;
	}
	w->bootid = m->id.bootid;
	memcpy(w->refused_claim_id, l->refused_claim_id, sizeof(w->refused_claim_id));
	w->refused_code = l->refused_code;
	w->duration_ms = l->duration_ms;
	w->index = (uint32_t)(index / 2);
	wire_lease_encode(w, page);
}

int lease_read(struct model *m, struct model_cmd *cmd, uint64_t off)
{
	lease_expire(m, now_ns(m));
	return pages_read(m, cmd, off, make_page);
}
