// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An instance as a whole: sizes, start, end, reset; which part of it a command is for; the clock. */
#include "priv.h"

static uint64_t to_multiple(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

void model_wipe(void *p, size_t n)
{
	memset(p, 0, n);
	/* The compiler must take p's bytes for used, or it may leave the memset out. */
	__asm__ volatile("" : : "r"(p) : "memory");
}

static int counts_ok(const struct wire_id *id)
{
	if (id->lbadsx != 9 && id->lbadsx != 12)
		return 0;
	if (id->winsh < id->lbadsx + 3 || id->winsh > id->lbadsx + 15)
		return 0;
	if (id->aliasb < 1 || id->aliasb > 3 || !id->nslot || id->nslot > 65535)
		return 0;
	return id->nlease && id->nlease <= 1024 && id->holdmax_ms && id->holdmax_ms <= 5000;
}

static int cfg_ok(const struct model_cfg *cfg)
{
	const struct wire_id *id = &cfg->id;
	uint64_t b, half;

	if (!counts_ok(id))
		return 0;
	b = 1ull << id->lbadsx;
	half = 1ull << id->winsh;
	if (!id->maxin || id->maxin > half - b || !id->maxout || id->maxout > half / 2 - 2 * b)
		return 0;
	if (!id->leasemin_ms || id->leasemin_ms > cfg->lease_default_ms ||
	    cfg->lease_default_ms > id->leasemax_ms)
		return 0;
	/* An identity that promises what this version does not do would be a lie. */
	return !(id->feat & (NVME_ACCEL_FEAT_STREAMS | NVME_ACCEL_FEAT_VECTOR | NVME_ACCEL_FEAT_NSREF |
			     NVME_ACCEL_FEAT_OBJECTS | NVME_ACCEL_FEAT_CMB));
}

static uint64_t map_words(const struct wire_id *id)
{
	uint64_t blocks = (id->maxin + (1ull << id->lbadsx) - 1) >> id->lbadsx;

	return (blocks + 63) / 64;
}

static uint64_t slot_stride(const struct wire_id *id)
{
	uint64_t maps = (map_words(id) * sizeof(uint64_t)) << id->aliasb;

	return to_multiple(sizeof(struct slot) + maps + (1ull << id->lbadsx) - NVME_ACCEL_PARAM_OFF, 64);
}

size_t model_size(const struct model_cfg *cfg)
{
	uint64_t n;

	if (!cfg_ok(cfg))
		return 0;
	n = to_multiple(sizeof(struct model), 64) + to_multiple(cfg->id.nlease * sizeof(struct lease), 64);
	n += cfg->id.nslot * slot_stride(&cfg->id);
	return n > (size_t)-1 / 2 ? 0 : (size_t)n;
}

static void set_geometry(struct model *m, const struct model_cfg *cfg)
{
	m->id = cfg->id;
	m->max_held = cfg->max_held;
	m->lease_default_ms = cfg->lease_default_ms;
	m->block = 1u << m->id.lbadsx;
	m->half = 1u << m->id.winsh;
	m->wait_off = m->half / 2;
	m->nalias = 1u << m->id.aliasb;
	m->map_words = (uint32_t)map_words(&m->id);
	m->in_area = (size_t)to_multiple(m->id.maxin, NVME_ACCEL_PAGE);
	m->out_area = (size_t)to_multiple(m->id.maxout, NVME_ACCEL_PAGE);
	m->slot_mem = m->nalias * m->in_area + m->out_area;
	m->slot_stride = (size_t)slot_stride(&m->id);
	m->slots_free = m->id.nslot;
	m->bad_flags = desc_unsupported(m);
	m->lazy_memory = cfg->lazy_memory != 0;
}

static void slot_init(struct model *m, uint32_t i)
{
	struct slot *s = slot_at(m, i);
	uint64_t *map = (uint64_t *)(s + 1);
	uint32_t a;

	s->lease = NO_LEASE;
	s->mj.slot = i;
	for (a = 0; a < m->nalias; a++, map += m->map_words)
		s->alias[a].map = map;
	s->param = (uint8_t *)map;
}

static void new_bootid(struct model *m)
{
	m->env.random(m->ctx, &m->id.bootid, sizeof(m->id.bootid));
	if (!m->id.bootid)
		m->id.bootid = 1;
}

struct model *model_init(void *mem, const struct model_cfg *cfg, const struct model_env *env, void *ctx)
{
	size_t size = model_size(cfg);
	struct model *m = mem;
	uint32_t i;

	if (!size)
		return NULL;
	memset(mem, 0, size);
	set_geometry(m, cfg);
	m->env = *env;
	m->ctx = ctx;
	m->leases = (struct lease *)((uint8_t *)mem + to_multiple(sizeof(*m), 64));
	m->slots = (uint8_t *)m->leases + to_multiple(m->id.nlease * sizeof(struct lease), 64);
	for (i = 0; i < m->id.nslot; i++)
		slot_init(m, i);
	for (i = 0; i < m->id.nlease; i++)
		m->leases[i].epoch = 1;
	new_bootid(m);
	m->id.state = NVME_ACCEL_DEV_READY;
	m->id.slots_free = m->slots_free;
	m->next_due = NEVER;
	m->init_ns = now_ns(m);
	return wire_id_encode(&m->id, m->id_page) == WIRE_OK ? m : NULL;
}

static void end_all(struct model *m, uint32_t code)
{
	uint32_t i;

	for (i = 0; i < m->id.nlease; i++)
		if (m->leases[i].state == NVME_ACCEL_LEASE_HELD)
			lease_end(m, &m->leases[i], code);
}

unsigned int model_fini(struct model *m)
{
	m->dying = 1;
	m->id.state = NVME_ACCEL_DEV_NOT_READY;
	end_all(m, NVME_ACCEL_ABORTED);
	m->next_due = NEVER;
	return m->nengine;
}

void model_reset(struct model *m)
{
	new_bootid(m);
	end_all(m, NVME_ACCEL_RESET);
	memset(m->err, 0, sizeof(m->err));
	m->nerr = 0;
	m->count.resets++;
}

void model_identify(struct model *m, void *page)
{
	memcpy(page, m->id_page, NVME_ACCEL_PAGE);
	wire_id_update(page, m->id.bootid, m->id.state, m->slots_free);
}

void cmd_finish(struct model *m, struct model_cmd *cmd, uint16_t nvme_status)
{
	m->env.cmd_done(m->ctx, cmd, nvme_status);
}

/* Whether the bytes first..last of the quiet areas are all quiet: no region lies between them. */
static int all_quiet(const struct model *m, uint64_t first, uint64_t last)
{
	const uint64_t start[] = { m->id.info_off, m->id.stats_off, m->id.lease_off, m->id.slot_off };
	unsigned int i;

	for (i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		if (start[i] > first && start[i] <= last)
			return 0;
	return 1;
}

/* Where the command is for; an NVMe status if it is for nothing or for several things at once. */
static int cmd_addr(const struct model *m, const struct model_cmd *cmd, struct wire_addr *a)
{
	uint64_t end = m->id.nsze << m->id.lbadsx;
	struct wire_addr last;

	if (!cmd->nbytes || (cmd->off | cmd->nbytes) & (m->block - 1))
		return MODEL_SC_INVALID_FIELD;
	if (cmd->off >= end || cmd->nbytes > end - cmd->off)
		return MODEL_SC_LBA_RANGE;
	wire_addr_decode(&m->id, cmd->off, a);
	if (a->region == WIRE_R_SLOTS)
		return a->off + cmd->nbytes > m->half ? MODEL_SC_INVALID_FIELD : MODEL_SC_OK;
	wire_addr_decode(&m->id, cmd->off + cmd->nbytes - 1, &last);
	if (last.region != a->region)
		return MODEL_SC_INVALID_FIELD;
	if (a->region == WIRE_R_QUIET && !all_quiet(m, cmd->off, cmd->off + cmd->nbytes - 1))
		return MODEL_SC_INVALID_FIELD;
	return MODEL_SC_OK;
}

static int read_zeros(const struct model_cmd *cmd)
{
	struct iov_pos pos = { cmd->iov, cmd->niov, 0 };

	iov_zero(&pos, (size_t)cmd->nbytes);
	return MODEL_SC_OK;
}

static int do_read(struct model *m, struct model_cmd *cmd)
{
	struct wire_addr a;
	int sc = cmd_addr(m, cmd, &a);

	m->count.read_cmds++;
	if (sc != MODEL_SC_OK)
		return sc;
	switch (a.region) {
	case WIRE_R_SLOTS:
		return slot_read(m, cmd, &a);
	case WIRE_R_INFO:
		return info_read(m, cmd, a.off);
	case WIRE_R_STATS:
		return stats_read(m, cmd, a.off);
	case WIRE_R_LEASES:
		return lease_read(m, cmd, a.off);
	default:
		return read_zeros(cmd);
	}
}

static int do_write(struct model *m, struct model_cmd *cmd)
{
	struct wire_addr a;
	int sc = cmd_addr(m, cmd, &a);

	m->count.write_cmds++;
	if (sc != MODEL_SC_OK)
		return sc;
	if (a.region == WIRE_R_SLOTS)
		return slot_write(m, cmd, &a);
	if (a.region == WIRE_R_LEASES)
		return lease_write(m, cmd, a.off);
	return MODEL_SC_INVALID_FIELD;
}

static int execute(struct model *m, struct model_cmd *cmd)
{
	if (m->dying)
		return MODEL_SC_NOT_READY;
	switch (cmd->opcode) {
	case MODEL_READ:
		return do_read(m, cmd);
	case MODEL_WRITE:
		return do_write(m, cmd);
	case MODEL_FLUSH:
		return MODEL_SC_OK;	/* nothing here outlives a power loss */
	default:
		return MODEL_SC_INVALID_OPCODE;
	}
}

void model_submit(struct model *m, struct model_cmd *cmd)
{
	int sc;

	cmd->next = NULL;
	cmd->deadline_ns = NEVER;
	cmd->slot = NO_LEASE;
	cmd->alias = cmd->kind = 0;
	sc = execute(m, cmd);
	if (sc == MODEL_HELD)
		return;
	if (sc != MODEL_SC_OK) {
		m->count.protocol_errors++;
		err_log(m, cmd, (uint16_t)sc, 0, NULL, 0);
	}
	cmd_finish(m, cmd, (uint16_t)sc);
}

static void slots_tick(struct model *m, const struct lease *l, uint64_t now)
{
	uint32_t r, i;

	for (r = 0; r < l->nrange; r++)
		for (i = 0; i < l->range[r].count; i++)
			hold_tick(m, slot_at(m, l->range[r].first + i), now);
}

uint64_t model_due(const struct model *m)
{
	return m->next_due;
}

uint64_t model_tick(struct model *m)
{
	uint64_t now = now_ns(m);
	uint32_t i;

	if (now < m->next_due)
		return m->next_due;
	m->next_due = NEVER;
	lease_expire(m, now);
	for (i = 0; i < m->id.nlease; i++)
		if (m->leases[i].state == NVME_ACCEL_LEASE_HELD)
			slots_tick(m, &m->leases[i], now);
	return m->next_due;
}
