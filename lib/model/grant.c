// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which slots a lease gets, and the memory of a slot from the grant of its lease to the end. */
#include "priv.h"

static int mem_open(struct model *m, struct slot *s)
{
	uint8_t *p;
	uint32_t i;

	if (m->lazy_memory)
		return 1;
	p = m->env.mem_get(m->ctx, m->slot_mem);
	if (!p)
		return 0;
	for (i = 0; i <= m->nalias; i++)
		s->area[i] = p + i * m->in_area;
	return 1;
}

static size_t area_nbytes(const struct model *m, uint32_t area)
{
	return area < m->nalias ? m->in_area : m->out_area;
}

/* Whether an area of the slot has memory, now at the latest. */
int slot_have(struct model *m, struct slot *s, uint32_t area)
{
	if (!s->area[area])
		s->area[area] = m->env.mem_get(m->ctx, area_nbytes(m, area));
	return s->area[area] != NULL;
}

static void mem_give(struct model *m, uint8_t *p, size_t n)
{
	if (!p)
		return;
	m->env.mem_zero(m->ctx, p, n);
	m->env.mem_put(m->ctx, p, n);
}

static void mem_close(struct model *m, struct slot *s)
{
	uint32_t i;

	if (!m->lazy_memory)
		mem_give(m, s->area[0], m->slot_mem);
	for (i = 0; i <= m->nalias; i++) {
		if (m->lazy_memory)
			mem_give(m, s->area[i], area_nbytes(m, i));
		s->area[i] = NULL;
	}
}

static int slot_open(struct model *m, struct slot *s, uint32_t lease)
{
	if (!mem_open(m, s))
		return 0;
	s->lease = lease;
	s->state = NVME_ACCEL_ST_CLAIMED;
	s->limit_ns = NEVER;
	m->slots_free--;
	return 1;
}

/* Nothing of the lease stays behind: neither in slot memory nor in the slot itself. */
void slot_close(struct model *m, struct slot *s)
{
	struct model_job *mj = &s->mj;
	uint32_t i;

	mem_close(m, s);
	s->lease = NO_LEASE;
	s->state = NVME_ACCEL_ST_FREE;
	s->cur = s->draining = s->dup_seen = s->released = 0;
	s->code = s->stop_code = NVME_ACCEL_OK;
	s->flags = s->sflags = s->fail_stage = 0;
	s->last_seq = s->cookie = s->stream = 0;
	s->limit_ns = NEVER;
	s->in_cmd = s->out_cmd = NULL;
	for (i = 0; i < m->nalias; i++) {
		alias_reset(&s->alias[i]);
		s->alias[i].note = NOTE_NONE;
	}
	memset(&mj->job, 0, sizeof(mj->job));
	m->slots_free++;
}

struct run {
	uint32_t first, count;
};

/* The shortest run of free slots that suffices, else the longest: few ranges, little fragmentation. */
static struct run best_run(struct model *m, uint32_t wanted)
{
	struct run best = { 0, 0 }, run = { 0, 0 };
	uint32_t i;

	for (i = 0; i <= m->id.nslot; i++) {
		if (i < m->id.nslot && slot_at(m, i)->lease == NO_LEASE) {
			run.first = run.count ? run.first : i;
			run.count++;
			continue;
		}
		if (best.count < wanted ? run.count > best.count
					: run.count >= wanted && run.count < best.count)
			best = run;
		run.count = 0;
	}
	best.count = BASE_MIN(best.count, wanted);
	return best;
}

static void ungrant(struct model *m, struct lease *l)
{
	uint32_t r, i;

	for (r = 0; r < l->nrange; r++)
		for (i = 0; i < l->range[r].count; i++)
			slot_close(m, slot_at(m, l->range[r].first + i));
	l->nrange = l->nslot = 0;
}

/* Ranges ascend, in whatever order the runs were found. */
static void range_add(struct lease *l, uint32_t first, uint32_t count)
{
	uint32_t i = l->nrange++;

	for (; i > 0 && l->range[i - 1].first > first; i--)
		l->range[i] = l->range[i - 1];
	l->range[i].first = first;
	l->range[i].count = count;
	l->nslot += count;
}

/* Opens the slots of one run; fewer than its length if memory has run out. */
static uint32_t open_run(struct model *m, struct lease *l, uint32_t index, struct run run)
{
	uint32_t n = 0;

	while (n < run.count && slot_open(m, slot_at(m, run.first + n), index))
		n++;
	if (n)
		range_add(l, run.first, n);
	return n;
}

/* Gives the lease up to wanted slots; a refusal, and none, if they would be fewer than min. */
uint32_t grant_slots(struct model *m, struct lease *l, uint32_t index, uint32_t wanted, uint32_t min)
{
	uint32_t code = NVME_ACCEL_REFUSED_SLOTS;
	struct run run;

	if (m->slots_free < min)
		return code;
	while (l->nslot < wanted && l->nrange < NVME_ACCEL_NRANGE) {
		run = best_run(m, wanted - l->nslot);
		if (!run.count)
			break;
		if (open_run(m, l, index, run) < run.count) {
			code = NVME_ACCEL_REFUSED_MEMORY;
			break;
		}
	}
	if (l->nslot >= min)
		return NVME_ACCEL_REFUSED_NOT;
	ungrant(m, l);
	return code;
}
