// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Input: lent by the command, or stored in slot memory block by block until all of it is there. */
#include "priv.h"

void alias_reset(struct alias *a)
{
	if (a->lo < a->hi)
		memset(a->map + a->lo, 0, (a->hi - a->lo) * sizeof(*a->map));
	a->lo = a->hi = a->have = 0;
}

static uint64_t bits(uint32_t first, uint32_t n)
{
	return (n == 64 ? ~0ull : (1ull << n) - 1) << first;
}

static void map_set(struct alias *a, uint32_t first, uint32_t n)
{
	uint32_t word = first / 64, bit = first % 64, part, end = (first + n + 63) / 64;

	if (a->lo == a->hi) {
		a->lo = word;
		a->hi = end;
	}
	a->lo = BASE_MIN(a->lo, word);
	a->hi = BASE_MAX(a->hi, end);
	for (; n; n -= part, word++, bit = 0) {
		part = BASE_MIN(n, 64 - bit);
		a->map[word] |= bits(bit, part);
	}
}

/* Moves a->have to the first block that is missing. */
static void map_advance(struct alias *a)
{
	uint64_t missing;
	uint32_t word;

	for (word = a->have / 64; word < a->hi; word++) {
		missing = ~a->map[word];
		if (missing) {
			a->have = word * 64 + (uint32_t)__builtin_ctzll(missing);
			return;
		}
		a->have = (word + 1) * 64;
	}
}

/* Keeps n bytes (whole blocks) of input from byte off; 0 if there is no memory for them. */
int data_store(struct model *m, struct slot *s, uint8_t alias, struct iov_pos *pos, uint64_t off, uint64_t n)
{
	struct alias *a = &s->alias[alias];

	if (!n)
		return 1;
	if (!slot_have(m, s, alias))
		return 0;
	iov_read(pos, slot_in(m, s, alias) + off, (size_t)n);
	m->count.copied += n;
	map_set(a, (uint32_t)(off >> m->id.lbadsx), (uint32_t)(n >> m->id.lbadsx));
	map_advance(a);
	return 1;
}

/* Whether the job's input is all there. */
int data_complete(const struct model *m, const struct slot *s)
{
	return (uint64_t)s->alias[s->cur].have << m->id.lbadsx >= s->mj.job.in_len;
}

/* The job's input lies in slot memory. */
void data_use_memory(struct model *m, struct slot *s)
{
	struct job *job = &s->mj.job;

	s->in_iov[0].iov_base = slot_in(m, s, s->cur);
	s->in_iov[0].iov_len = (size_t)job->in_len;
	job->in = s->in_iov;
	job->nin = job->in_len ? 1 : 0;
}

/* So will its output; 0 if there is no memory. */
int data_out_memory(struct model *m, struct slot *s)
{
	struct job *job = &s->mj.job;

	if (job->out_max && !slot_have(m, s, m->nalias))
		return 0;
	s->out_iov[0].iov_base = slot_out(m, s);
	s->out_iov[0].iov_len = (size_t)job->out_max;
	job->out = s->out_iov;
	job->nout = job->out_max ? 1 : 0;
	return 1;
}

/* Takes the whole input from a write that has all of it; 0 if there is no memory. No need of the map: nothing is missing. */
int data_copy(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };
	uint64_t n = s->mj.job.in_len;

	if (n) {
		if (!slot_have(m, s, s->cur))
			return 0;
		iov_skip(&pos, m->block);
		iov_read(&pos, slot_in(m, s, s->cur), (size_t)n);
		m->count.copied += n;
	}
	data_use_memory(m, s);
	return 1;
}

/* Lets the engine read from the buffer of a held write; 0 if that cannot be. */
int data_borrow(struct model *m, struct slot *s, struct model_cmd *cmd)
{
	struct job *job = &s->mj.job;
	int n;

	if (!(cmd->flags & MODEL_CMD_BORROW))
		return 0;
	if (cmd->iov[0].iov_len == m->block) {
		job->in = cmd->iov + 1;
		job->nin = cmd->niov - 1;
	} else {
		n = iov_slice(s->in_iov, MODEL_NIOV, cmd->iov, cmd->niov, m->block, job->in_len);
		if (n < 0)
			return 0;
		job->in = s->in_iov;
		job->nin = (unsigned int)n;
	}
	s->in_cmd = cmd;
	return 1;
}

/* A write to the input part of a write half. */
int data_write(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint64_t off)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

	if (alias == s->cur && s->state != NVME_ACCEL_ST_LOADING) {
		m->count.stale++;	/* its job has started or ended: late, or repeated */
		return MODEL_SC_OK;
	}
	if (!data_store(m, s, alias, &pos, off, cmd->nbytes))
		return MODEL_SC_NOT_READY;
	if (alias == s->cur && data_complete(m, s)) {
		data_use_memory(m, s);
		s->ready_ns = now_ns(m);
		job_start(m, s);
	}
	return MODEL_SC_OK;
}
