// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Commands that wait: reads of the WAIT alias and writes that complete with their job. */
#include "priv.h"

int hold_room(const struct model *m)
{
	return m->nheld < m->max_held;
}

uint32_t model_held(const struct model *m)
{
	return m->nheld;
}

void model_set_max_held(struct model *m, uint32_t max_held)
{
	m->max_held = max_held;
}

void hold(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint64_t now)
{
	cmd->slot = slot_index(s);
	cmd->alias = alias;
	cmd->next = s->held;
	s->held = cmd;
	m->nheld++;
	if (cmd->opcode == MODEL_READ)
		m->count.held_reads++;
	if (cmd->flags & MODEL_CMD_LOCAL)
		return;
	cmd->deadline_ns = now + m->id.holdmax_ms * NS_PER_MS;
	due(m, cmd->deadline_ns);
}

struct model_cmd *hold_find_read(const struct slot *s, uint8_t alias)
{
	struct model_cmd *c;

	for (c = s->held; c; c = c->next)
		if (c->opcode == MODEL_READ && c->alias == alias)
			return c;
	return NULL;
}

int hold_has_read(const struct slot *s)
{
	struct model_cmd *c;

	for (c = s->held; c; c = c->next)
		if (c->opcode == MODEL_READ)
			return 1;
	return 0;
}

/* An engine works on the command's buffers: it cannot end now. */
static int lent(const struct slot *s, const struct model_cmd *cmd)
{
	return s->at_engine && (cmd == s->in_cmd || cmd == s->out_cmd);
}

/* Ends a command that is no longer in the list. */
static void answer(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	uint16_t sc = MODEL_SC_OK;

	m->nheld--;
	if (m->dying || cmd->kind & KIND_CANCELLED)
		sc = MODEL_SC_ABORTED;
	else if (cmd->opcode == MODEL_READ)
		read_answer(m, s, cmd);
	if (cmd == s->in_cmd)
		s->in_cmd = NULL;
	if (cmd == s->out_cmd)
		s->out_cmd = NULL;
	cmd_finish(m, cmd, sc);
}

/* Ends what waits for an alias (-1: for any), except what an engine has. */
void hold_answer(struct model *m, struct slot *s, int alias)
{
	struct model_cmd **link = &s->held, *c;

	while ((c = *link)) {
		if ((alias >= 0 && c->alias != alias) || lent(s, c)) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		answer(m, s, c);
	}
}

/*
 * A write of the host has been refused: the reads that wait for its job would wait for nothing. See model.h, also for
 * what happens if a read was somebody else's of the same host.
 */
void hold_refused(struct model *m, struct slot *s, uint8_t alias, uint64_t host, int sc)
{
	struct model_cmd **link = &s->held, *c;

	while ((c = *link)) {
		if (c->alias != alias || c->host != host || c->opcode != MODEL_READ || lent(s, c) ||
		    (c->flags & MODEL_CMD_LOCAL && sc == MODEL_SC_ACCESS_DENIED)) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		answer(m, s, c);
	}
}

/* Gives a job that no engine has begun slot memory instead of the command's buffer; 0 if one has, or there is none. */
static int take_back(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	if (!m->env.job_waits || !m->env.job_waits(m->ctx, &s->mj))
		return 0;
	if (cmd == s->in_cmd) {
		if (!data_copy(m, s, cmd))
			return 0;
		s->in_cmd = NULL;
	} else {
		if (!data_out_memory(m, s))
			return 0;
		s->out_cmd = NULL;
	}
	return 1;
}

/* HOLDMAX and the time limit of the job. */
void hold_tick(struct model *m, struct slot *s, uint64_t now)
{
	struct model_cmd **link = &s->held, *c;

	if (slot_active(s) && !s->stop_code) {
		if (s->limit_ns <= now)
			job_stop(m, s, NVME_ACCEL_TIMEOUT);
		else
			due(m, s->limit_ns);
	}
	while ((c = *link)) {
		if (c->deadline_ns > now)
			due(m, c->deadline_ns);
		/* One that stays for an engine ends with the job: there is nothing to be called for. */
		if (c->deadline_ns > now || (lent(s, c) && !take_back(m, s, c))) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		m->count.hold_timeouts++;
		answer(m, s, c);
	}
}

static void cancel(struct model *m, struct slot *s, struct model_cmd **link)
{
	struct model_cmd *cmd = *link;

	int local = cmd->flags & MODEL_CMD_LOCAL;

	cmd->kind |= KIND_CANCELLED;
	if (lent(s, cmd) && (local || !take_back(m, s, cmd))) {
		job_stop(m, s, local ? NVME_ACCEL_ABORTED : NVME_ACCEL_DATA_MISSING);
		return;
	}
	*link = cmd->next;
	answer(m, s, cmd);
}

int model_cancel(struct model *m, struct model_cmd *cmd)
{
	struct model_cmd **link;
	struct slot *s;

	if (cmd->slot >= m->id.nslot)
		return 0;
	s = slot_at(m, cmd->slot);
	for (link = &s->held; *link; link = &(*link)->next) {
		if (*link == cmd) {
			cancel(m, s, link);
			return 1;
		}
	}
	return 0;
}

static void host_gone_slot(struct model *m, struct slot *s, uint64_t host)
{
	struct model_cmd **link = &s->held, *c;

	while ((c = *link)) {
		if (c->host == host)
			cancel(m, s, link);
		if (*link == c)
			link = &c->next;
	}
}

void model_host_gone(struct model *m, uint64_t host)
{
	uint32_t i;

	for (i = 0; m->nheld && i < m->id.nslot; i++)
		host_gone_slot(m, slot_at(m, i), host);
}
