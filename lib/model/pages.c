// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What can be read about the device: identity, error log, engines, statistics. */
#include "priv.h"

#define PUT64(page, type, member, v) le64_put((uint8_t *)(page) + offsetof(struct type, member), (v))
#define PUT32(page, type, member, v) le32_put((uint8_t *)(page) + offsetof(struct type, member), (v))

/* Serves a read of pages that are made one by one. */
int pages_read(struct model *m, struct model_cmd *cmd, uint64_t off,
	       void (*make)(struct model *m, uint64_t index, void *page))
{
	uint64_t done = 0, from, n;

	while (done < cmd->nbytes) {
		from = (off + done) % NVME_ACCEL_PAGE;
		n = BASE_MIN(NVME_ACCEL_PAGE - from, cmd->nbytes - done);
		make(m, (off + done) / NVME_ACCEL_PAGE, m->page);
		read_page(cmd, m->page, done, (size_t)from, (size_t)n);
		done += n;
	}
	return MODEL_SC_OK;
}

/* ---- Error log ---- */

/* cmd, s: NULL if the error has none. nvme_status 0: code is a job's or a claim's. */
void err_log(struct model *m, const struct model_cmd *cmd, uint16_t nvme_status, uint32_t code,
	     const struct slot *s, uint64_t seq)
{
	struct err *e = &m->err[m->nerr % NVME_ACCEL_NERR];

	memset(e, 0, sizeof(*e));
	e->count = ++m->nerr;
	e->time_ns = now_ns(m);
	if (cmd) {
		e->offset = cmd->off;
		e->nbytes = (uint32_t)BASE_MIN(cmd->nbytes, 0xffffffffull);
		e->opcode = cmd->opcode;
	}
	e->nvme_status = nvme_status;
	e->code = code;
	e->slot = s ? slot_index(s) : ~0u;
	e->seq = seq;
}

static void put_err(const struct err *e, uint8_t *p)
{
	PUT64(p, nvme_accel_err, count, e->count);
	PUT64(p, nvme_accel_err, time_ns, e->time_ns);
	PUT64(p, nvme_accel_err, offset, e->offset);
	PUT32(p, nvme_accel_err, nbytes, e->nbytes);
	le16_put(p + offsetof(struct nvme_accel_err, nvme_status), e->nvme_status);
	p[offsetof(struct nvme_accel_err, opcode)] = e->opcode;
	PUT32(p, nvme_accel_err, code, e->code);
	PUT32(p, nvme_accel_err, slot, e->slot);
	PUT64(p, nvme_accel_err, seq, e->seq);
}

static void head(uint8_t *page, const char *magic)
{
	memset(page, 0, NVME_ACCEL_PAGE);
	memcpy(page, magic, 4);
	page[4] = 1;
}

static void make_errlog(const struct model *m, uint8_t *page)
{
	uint32_t i;

	head(page, NVME_ACCEL_ERRLOG_MAGIC);
	PUT64(page, nvme_accel_errlog, total, m->nerr);
	for (i = 0; i < NVME_ACCEL_NERR; i++)
		if (m->err[i].count)
			put_err(&m->err[i], page + offsetof(struct nvme_accel_errlog, err) +
						    i * sizeof(struct nvme_accel_err));
}

static void make_engines(struct model *m, void *page)
{
	uint32_t i, n = BASE_MIN(m->id.neng, NVME_ACCEL_NENGSTATE);
	uint8_t *e = (uint8_t *)page + offsetof(struct nvme_accel_engines, engine);

	head(page, NVME_ACCEL_ENGINES_MAGIC);
	PUT32(page, nvme_accel_engines, nengine, n);
	for (i = 0; i < n; i++)
		PUT32(e + i * sizeof(struct nvme_accel_engine_state), nvme_accel_engine_state, slot, ~0u);
	if (m->env.engines)
		m->env.engines(m->ctx, page);
}

static void make_info(struct model *m, uint64_t index, void *page)
{
	if (index == NVME_ACCEL_INFO_ERRLOG / NVME_ACCEL_PAGE)
		make_errlog(m, page);
	else if (index == NVME_ACCEL_INFO_ENGINES / NVME_ACCEL_PAGE)
		make_engines(m, page);
	else
		model_identify(m, page);
}

int info_read(struct model *m, struct model_cmd *cmd, uint64_t off)
{
	return pages_read(m, cmd, off, make_info);
}

/* ---- Counting ---- */

static unsigned int bin(uint64_t ns)
{
	unsigned int log2 = 63 - (unsigned int)__builtin_clzll(ns | 1);

	return BASE_MIN(log2, NVME_ACCEL_NLAT - 1);
}

static void count_lease(struct lease *l, const struct slot *s)
{
	l->jobs++;
	l->errors += s->code != NVME_ACCEL_OK;
	l->bytes_in += s->mj.job.in_used;
	l->bytes_out += s->mj.job.out_len;
	l->exec_ns += s->exec_ns;
}

static void count_op(struct op_count *c, const struct slot *s)
{
	c->jobs++;
	c->errors += s->code != NVME_ACCEL_OK;
	c->bytes_in += s->mj.job.in_used;
	c->bytes_out += s->mj.job.out_len;
	c->exec_ns += s->exec_ns;
}

/* A job has ended; its lenders' commands have not. */
void count_job(struct model *m, struct slot *s, uint64_t now)
{
	const struct job *job = &s->mj.job;
	struct count *c = &m->count;

	c->jobs++;
	c->bytes_in += job->in_used;
	c->bytes_out += job->out_len;
	c->queue_ns += s->queue_ns;
	c->exec_ns += s->exec_ns;
	c->by_code[s->code % NVME_ACCEL_NCODE]++;
	c->lat_total[bin(now - s->accept_ns)]++;
	c->lat_exec[bin(s->exec_ns)]++;
	if (s->in_cmd && (s->out_cmd || !job->out_max))
		c->in_place++;
	count_lease(&m->leases[s->lease], s);
	if (s->op < m->id.nops)
		count_op(&m->op_count[s->op], s);
}

/* ---- Statistics ---- */

static uint64_t held_reads_now(struct model *m)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; m->nheld && i < m->id.nslot; i++)
		n += (uint64_t)hold_has_read(slot_at(m, i));
	return n;
}

static void put_counts(const struct count *c, void *page)
{
	uint32_t i;

	PUT64(page, nvme_accel_stats, jobs, c->jobs);
	PUT64(page, nvme_accel_stats, bytes_in, c->bytes_in);
	PUT64(page, nvme_accel_stats, bytes_out, c->bytes_out);
	PUT64(page, nvme_accel_stats, queue_ns, c->queue_ns);
	PUT64(page, nvme_accel_stats, exec_ns, c->exec_ns);
	PUT64(page, nvme_accel_stats, read_cmds, c->read_cmds);
	PUT64(page, nvme_accel_stats, write_cmds, c->write_cmds);
	PUT64(page, nvme_accel_stats, held_reads, c->held_reads);
	PUT64(page, nvme_accel_stats, hold_timeouts, c->hold_timeouts);
	PUT64(page, nvme_accel_stats, hold_refused, c->hold_refused);
	PUT64(page, nvme_accel_stats, duplicates, c->duplicates);
	PUT64(page, nvme_accel_stats, stale, c->stale);
	PUT64(page, nvme_accel_stats, protocol_errors, c->protocol_errors);
	PUT64(page, nvme_accel_stats, in_place, c->in_place);
	PUT64(page, nvme_accel_stats, copied, c->copied);
	PUT64(page, nvme_accel_stats, lease_grants, c->lease_grants);
	PUT64(page, nvme_accel_stats, lease_refusals, c->lease_refusals);
	PUT64(page, nvme_accel_stats, lease_expiries, c->lease_expiries);
	PUT64(page, nvme_accel_stats, lease_releases, c->lease_releases);
	PUT64(page, nvme_accel_stats, lease_breaks, c->lease_breaks);
	PUT64(page, nvme_accel_stats, resets, c->resets);
	for (i = 0; i < NVME_ACCEL_NCODE; i++)
		PUT64(page, nvme_accel_stats, by_code[i], c->by_code[i]);
	for (i = 0; i < NVME_ACCEL_NLAT; i++) {
		PUT64(page, nvme_accel_stats, lat_total[i], c->lat_total[i]);
		PUT64(page, nvme_accel_stats, lat_exec[i], c->lat_exec[i]);
	}
}

void model_stats(struct model *m, struct nvme_accel_stats *page)
{
	head((uint8_t *)page, NVME_ACCEL_STATS_MAGIC);
	PUT64(page, nvme_accel_stats, bootid, m->id.bootid);
	PUT64(page, nvme_accel_stats, uptime_ns, now_ns(m) - m->init_ns);
	PUT64(page, nvme_accel_stats, held_now, held_reads_now(m));
	put_counts(&m->count, page);
}

static void make_ops(const struct model *m, uint8_t *page)
{
	uint8_t *p = page;
	uint32_t i;

	memset(page, 0, NVME_ACCEL_PAGE);
	for (i = 0; i < m->id.nops; i++, p += sizeof(struct nvme_accel_op_stats)) {
		le16_put(p + offsetof(struct nvme_accel_op_stats, op), m->id.ops[i].op);
		le16_put(p + offsetof(struct nvme_accel_op_stats, alg), m->id.ops[i].alg);
		PUT64(p, nvme_accel_op_stats, jobs, m->op_count[i].jobs);
		PUT64(p, nvme_accel_op_stats, errors, m->op_count[i].errors);
		PUT64(p, nvme_accel_op_stats, bytes_in, m->op_count[i].bytes_in);
		PUT64(p, nvme_accel_op_stats, bytes_out, m->op_count[i].bytes_out);
		PUT64(p, nvme_accel_op_stats, exec_ns, m->op_count[i].exec_ns);
	}
}

static void put_lease(const struct lease *l, uint8_t *p)
{
	memcpy(p + offsetof(struct nvme_accel_lease_stats, claim_id), l->claim_id, sizeof(l->claim_id));
	PUT32(p, nvme_accel_lease_stats, epoch, l->epoch);
	p[offsetof(struct nvme_accel_lease_stats, state)] = l->state;
	PUT64(p, nvme_accel_lease_stats, jobs, l->jobs);
	PUT64(p, nvme_accel_lease_stats, errors, l->errors);
	PUT64(p, nvme_accel_lease_stats, bytes_in, l->bytes_in);
	PUT64(p, nvme_accel_lease_stats, bytes_out, l->bytes_out);
	PUT64(p, nvme_accel_lease_stats, exec_ns, l->exec_ns);
	memcpy(p + offsetof(struct nvme_accel_lease_stats, label), l->label, 32);
}

static void make_leases(const struct model *m, uint64_t page_index, uint8_t *page)
{
	const uint32_t per_page = NVME_ACCEL_PAGE / sizeof(struct nvme_accel_lease_stats);
	uint32_t i, first = (uint32_t)page_index * per_page;

	memset(page, 0, NVME_ACCEL_PAGE);
	for (i = 0; i < per_page && first + i < m->id.nlease; i++)
		put_lease(&m->leases[first + i], page + i * sizeof(struct nvme_accel_lease_stats));
}

static void make_stats(struct model *m, uint64_t index, void *page)
{
	if (index == 0)
		model_stats(m, page);
	else if (index == 1)
		make_ops(m, page);
	else
		make_leases(m, index - NVME_ACCEL_STATS_LEASES / NVME_ACCEL_PAGE, page);
}

int stats_read(struct model *m, struct model_cmd *cmd, uint64_t off)
{
	if (!feature(m, NVME_ACCEL_FEAT_STATS)) {
		struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

		iov_zero(&pos, (size_t)cmd->nbytes);
		return MODEL_SC_OK;
	}
	return pages_read(m, cmd, off, make_stats);
}
