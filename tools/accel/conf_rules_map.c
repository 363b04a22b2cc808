/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 2: what each region gives and takes. */
#include "conf.h"
#include <string.h>

static int zeros_at(struct conf *c, uint64_t off, const char *what)
{
	uint8_t buf[CONF_BLOCK_MAX];
	int rc = conf_must(c, conf_read(c, off, buf, c->id.block), what);

	if (rc)
		return rc;
	return bytes_are_zero(buf, c->id.block) ? CONF_PASS : conf_fail(c, "%s: not zeros", what);
}

static int refused_at(struct conf *c, uint64_t off, int sc, const char *what)
{
	uint8_t buf[CONF_BLOCK_MAX];
	int rc;

	memset(buf, 0, sizeof(buf));
	rc = conf_must_fail(c, conf_write(c, off, buf, c->id.block), sc, what);
	memset(buf, 0x5a, sizeof(buf));
	return rc ? rc : conf_must_fail(c, conf_write(c, off, buf, c->id.block), sc, what);
}

/* Where partition tables and file systems look and write. */
static int quiet_read(struct conf *c)
{
	uint64_t tail = c->id.nbytes - NVME_ACCEL_QUIET;
	const uint64_t at[] = { 0,	 c->id.block,	 0x400 / c->id.block * c->id.block,
				0x10000, 0x40000,	 NVME_ACCEL_QUIET - c->id.block,
				tail,	 tail + 0x80000, c->id.nbytes - c->id.block };
	int rc = CONF_PASS;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]) && !rc; i++)
		rc = zeros_at(c, at[i], "reading a quiet area");
	return rc;
}

static int quiet_write(struct conf *c)
{
	uint64_t tail = c->id.nbytes - NVME_ACCEL_QUIET;
	const uint64_t at[] = { 0, 0x10000, NVME_ACCEL_QUIET - c->id.block, tail,
				c->id.nbytes - c->id.block };
	int rc = CONF_PASS;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]) && !rc; i++)
		rc = refused_at(c, at[i], CONF_SC_INVALID_FIELD, "writing to a quiet area");
	return rc;
}

static int info_write(struct conf *c)
{
	int rc = refused_at(c, c->id.info_off, CONF_SC_INVALID_FIELD, "writing to INFO");

	return rc ? rc : refused_at(c, c->id.stats_off, CONF_SC_INVALID_FIELD, "writing to STATS");
}

static int info_pages(struct conf *c)
{
	struct nvme_accel_errlog log;
	struct nvme_accel_engines eng;
	int rc = conf_must(c, conf_read(c, c->id.info_off + NVME_ACCEL_INFO_ERRLOG, &log, sizeof(log)),
			   "reading the error log");

	if (!rc)
		rc = conf_must(c, conf_read(c, c->id.info_off + NVME_ACCEL_INFO_ENGINES, &eng, sizeof(eng)),
			       "reading the engine page");
	if (rc)
		return rc;
	if (memcmp(log.magic, NVME_ACCEL_ERRLOG_MAGIC, 4) || log.version != 1)
		return conf_fail(c, "the error log has no magic, or another version");
	if (memcmp(eng.magic, NVME_ACCEL_ENGINES_MAGIC, 4) || eng.version != 1)
		return conf_fail(c, "the engine page has no magic, or another version");
	if (get_le(&eng.nengine, 4) > NVME_ACCEL_NENGSTATE)
		return conf_fail(c, "%u engines in a page of %u", (unsigned int)get_le(&eng.nengine, 4),
				 NVME_ACCEL_NENGSTATE);
	return CONF_PASS;
}

/* What the test did wrong on purpose so far stands in the log. */
static int info_errlog(struct conf *c)
{
	struct nvme_accel_errlog log;
	uint64_t total, newest = 0;
	int rc = refused_at(c, 0, CONF_SC_INVALID_FIELD, "writing to block 0");

	if (!rc)
		rc = conf_must(c, conf_read(c, c->id.info_off + NVME_ACCEL_INFO_ERRLOG, &log, sizeof(log)),
			       "reading the error log");
	if (rc)
		return rc;
	total = get_le(&log.total, 8);
	for (unsigned int i = 0; i < NVME_ACCEL_NERR; i++) {
		uint64_t count = get_le(&log.err[i].count, 8);

		newest = count > newest ? count : newest;
	}
	if (total < 2 || newest != total)
		return conf_fail(c, "total is %llu, the newest entry %llu after two refused writes",
				 (unsigned long long)total, (unsigned long long)newest);
	return CONF_PASS;
}

static int lease_guard(struct conf *c)
{
	int rc = zeros_at(c, c->id.lease_off + NVME_ACCEL_PAGE, "reading the guard of a lease page");

	return rc ? rc : refused_at(c, c->id.lease_off + NVME_ACCEL_PAGE, CONF_SC_INVALID_FIELD,
				    "writing to the guard of a lease page");
}

static int beyond(struct conf *c)
{
	uint8_t buf[CONF_BLOCK_MAX];
	int rc = conf_must_fail(c, conf_read(c, c->id.nbytes, buf, c->id.block), CONF_SC_LBA_RANGE,
				"reading behind the end");

	return rc ? rc : refused_at(c, c->id.nbytes, CONF_SC_LBA_RANGE, "writing behind the end");
}

static int slot_halves(struct conf *c)
{
	int rc = conf_begin(c);
	uint32_t slot = c->lease.slot;

	if (rc)
		return rc;
	rc = zeros_at(c, conf_addr(c, slot, 1, 0), "reading a write half");
	if (!rc)
		rc = refused_at(c, conf_addr(c, slot, 1, 1), CONF_SC_INVALID_FIELD, "writing to a read half");
	if (!rc)
		rc = refused_at(c, conf_wait_addr(c, slot, 1), CONF_SC_INVALID_FIELD,
				"writing to a WAIT alias");
	if (!rc && c->id.maxin + 2 * c->id.block <= c->id.half)
		rc = refused_at(c, conf_addr(c, slot, 1, 1) - c->id.block, CONF_SC_INVALID_FIELD,
				"writing to the guard of a write half");
	return rc;
}

/* A path may split such a command; then it does not reach the namespace as one, and nothing can be said. */
static int slot_crossing(struct conf *c)
{
	int rc = conf_begin(c), got;

	if (rc)
		return rc;
	got = conf_read(c, conf_addr(c, c->lease.slot, 0, 1) - c->id.block, c->buf, 2 * c->id.block);
	if (!got && !accel_dev_info(c->dev)->software)
		return conf_skip(c, "the path splits commands at NOIOB");
	return conf_must_fail(c, got, CONF_SC_INVALID_FIELD, "reading across two halves");
}

static int free_status(struct conf *c, uint32_t slot)
{
	uint32_t held = c->lease.slot;
	struct nvme_accel_status st;
	int rc;

	c->lease.slot = slot;
	rc = conf_status(c, 1, &st);
	c->lease.slot = held;
	if (!rc && (st.state != NVME_ACCEL_ST_FREE || get_le(&st.bootid, 8) != c->id.bootid))
		rc = conf_fail(c, "a free slot shows state %u, BOOTID %#llx", st.state,
			       (unsigned long long)get_le(&st.bootid, 8));
	return rc;
}

/* A write that begins well and reaches beyond the input area: refused as a whole. */
static int too_far(struct conf *c)
{
	uint64_t room = (c->id.maxin + c->id.block - 1) / c->id.block * c->id.block + c->id.block;
	struct nvme_accel_status st;
	int rc = conf_begin(c);

	if (rc)
		return rc;
	if (room + c->id.block > c->id.half)
		return conf_skip(c, "the input area fills the half window");
	memset(c->buf, 0, 2 * c->id.block);
	rc = conf_must_fail(c,
			    conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + room - c->id.block, c->buf,
				       2 * c->id.block),
			    CONF_SC_INVALID_FIELD, "writing beyond the input area");
	if (!rc)
		rc = conf_status(c, 1, &st);
	return rc ? rc : conf_state(c, &st, NVME_ACCEL_ST_CLAIMED, NVME_ACCEL_OK);
}

/* The slots of all leases are in their pages; any other is nobody's. */
static int unleased(struct conf *c)
{
	struct nvme_accel_lease page;
	uint32_t slot = c->id.nslot - 1;
	int rc = CONF_PASS;

	for (uint32_t i = 0; i < c->id.nlease && !rc; i++) {
		rc = conf_lease_page(c, i, &page);
		for (unsigned int r = 0; r < NVME_ACCEL_NRANGE && !rc; r++) {
			uint64_t first = get_le(&page.range[r].first, 4), n = get_le(&page.range[r].count, 4);

			if (page.state != NVME_ACCEL_LEASE_FREE && slot >= first && slot < first + n)
				return conf_skip(c, "the last slot is leased");
		}
	}
	if (rc)
		return rc;
	rc = refused_at(c, conf_addr(c, slot, 1, 0), CONF_SC_ACCESS_DENIED,
			"writing to a slot without lease");
	if (!rc)
		rc = refused_at(c, conf_addr(c, slot, 1, 0) + c->id.block, CONF_SC_ACCESS_DENIED,
				"writing to a slot without lease");
	if (!rc)
		rc = free_status(c, slot);
	return rc ? rc
		  : zeros_at(c, conf_addr(c, slot, 1, 1) + c->id.block, "reading the output of a free slot");
}

const struct conf_rule conf_rules_map[] = {
	{ "R-11", "quiet-read", "quiet areas read as zeros", quiet_read },
	{ "R-12", "quiet-write", "quiet areas refuse writes: Invalid Field, DNR", quiet_write },
	{ "R-12", "info-write", "INFO and STATS refuse writes", info_write },
	{ "section 2", "info-pages", "error log and engine pages are well-formed", info_pages },
	{ "section 2", "error-log", "a refused write appears in the error log", info_errlog },
	{ "R-12", "lease-guard", "guards between lease pages read as zeros and refuse writes", lease_guard },
	{ "R-2", "range", "commands beyond NSZE fail", beyond },
	{ "R-12 R-17 R-18", "slot-halves", "write halves read as zeros; read halves and guards refuse writes",
	  slot_halves },
	{ "R-13", "slot-crossing", "a command across two halves fails", slot_crossing },
	{ "R-20", "slot-free", "a slot without lease is FREE, refuses writes, shows no output", unleased },
	{ "R-17", "input-area", "a write beyond the input area fails as a whole", too_far },
	{ 0 },
};
