/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections 2, 4, 8: strangers, leftovers, counters. */
#include "conf.h"
#include <string.h>

enum { N = CONF_JOB_NBYTES };

static int still_claimed(struct conf *c, const char *what)
{
	struct nvme_accel_status st;
	int rc = CONF_PASS;

	for (uint64_t seq = 1; seq <= c->id.naliases && !rc; seq++) {
		rc = conf_status(c, seq, &st);
		if (!rc && st.state != NVME_ACCEL_ST_CLAIMED)
			rc = conf_fail(c, "%s: state %u", what, st.state);
	}
	return rc;
}

static int then_right(struct conf *c, uint64_t seq)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	conf_data(in, N, 51);
	rc = conf_job(c, seq, 0, in, N, &st);
	return rc ? rc : conf_right(c, seq, &st, in, N);
}

/* What a formatting tool or a copy writes: whatever becomes of the commands, no job starts. */
static int stray_slot(struct conf *c)
{
	uint8_t *p = c->buf;
	int rc = conf_begin(c);

	for (unsigned int kind = 0; kind < 3 && !rc; kind++) {
		if (kind == 2)
			conf_data(p, 16 * c->id.block, 52);
		else
			memset(p, kind ? 0xff : 0, 16 * c->id.block);
		for (uint64_t a = 0; a < c->id.naliases && !rc; a++) {
			int sc = conf_write(c, conf_addr(c, c->lease.slot, a, 0), p, 16 * c->id.block);

			/* No descriptor: refused. Only a path that failed ends the test here. */
			if (!sc)
				rc = conf_fail(c, "a write that begins with no descriptor succeeded");
			else if (sc < 0)
				rc = conf_must(c, sc, "writing to a slot");
		}
		if (!rc)
			rc = still_claimed(c, kind == 2 ? "garbage" : kind ? "ones" : "zeros");
	}
	return rc ? rc : then_right(c, 1);
}

/* Descriptors with a fault that makes them nobody's. */
static int broken(struct conf *c)
{
	static const struct {
		unsigned int at;
		uint8_t flip;
		const char *what;
	} faults[] = {
		{ 0, 1, "a wrong magic" }, { 4, 2, "another version" }, { 252, 1, "a wrong CRC" },
		{ 50, 4, "a flipped bit" }, { 8, 1, "a flipped bit of seq" }, { 255, 0x80, "a wrong CRC" },
	};
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint8_t in[N];
	int rc = conf_begin(c);

	conf_data(in, N, 53);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && !rc; i++) {
		conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
		block[faults[i].at] ^= faults[i].flip;
		if (i < 2)
			conf_desc_crc(block);
		rc = conf_must_fail(c, conf_write2(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block, in, N),
				    CONF_SC_INVALID_FIELD, faults[i].what);
		if (!rc)
			rc = still_claimed(c, faults[i].what);
	}
	return rc ? rc : then_right(c, 1);
}

/* The next holder of the slots finds nothing of the one before. */
static int zeroed(struct conf *c)
{
	uint32_t slot, epoch;
	int rc = conf_begin(c);

	if (!rc)
		rc = then_right(c, 1);
	if (rc)
		return rc;
	slot = c->lease.slot;
	epoch = c->lease.epoch;
	rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_must(c, conf_read(c, conf_addr(c, slot, 1, 1) + c->id.block, c->buf, 2 * N),
			       "reading the output of a released slot");
	if (!rc && !bytes_are_zero(c->buf, 2 * N))
		rc = conf_fail(c, "the output outlives its lease");
	if (!rc)
		rc = conf_begin(c);
	if (!rc && c->lease.slot == slot && c->lease.epoch == epoch)
		rc = conf_fail(c, "the epoch did not change");
	if (!rc)
		rc = still_claimed(c, "a new lease");
	for (uint64_t seq = 0; seq < c->id.naliases && !rc; seq++) {
		rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, seq, 1) + c->id.block, c->buf, 2 * N),
			       "reading the output of a new lease");
		if (!rc && !bytes_are_zero(c->buf, 2 * N))
			rc = conf_fail(c, "a new lease finds output of an old one");
	}
	return rc;
}

/* Input that waits at the end of a lease is not there for the next job. */
static int input_gone(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce EXPLICIT");
	rc = conf_begin(c);
	conf_data(in, N, 54);
	if (!rc)
		rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block, in, N),
			       "writing input");
	if (!rc)
		rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_begin(c);
	if (rc)
		return rc;
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT, N);
	rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block),
		       "writing a descriptor without input");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc && st.state != NVME_ACCEL_ST_LOADING)
		rc = conf_fail(c, "the job found the input of an old lease (state %u)", st.state);
	return rc;
}

static int stale_epoch(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint8_t in[N];
	uint64_t at;
	int rc = conf_begin(c);

	if (rc)
		return rc;
	conf_data(in, N, 55);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	at = conf_addr(c, c->lease.slot, 1, 0);
	rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_must_fail(c, conf_write2(c, at, block, c->id.block, in, N), CONF_SC_ACCESS_DENIED,
				    "a descriptor of a lease that has ended");
	return rc;
}

static int read_stats(struct conf *c, struct nvme_accel_stats *s)
{
	int rc = conf_must(c, conf_read(c, c->id.stats_off, s, sizeof(*s)), "reading the statistics");

	if (!rc && (memcmp(s->magic, NVME_ACCEL_STATS_MAGIC, 4) || s->version != 1))
		rc = conf_fail(c, "the statistics have no magic, or another version");
	if (!rc && get_le(&s->bootid, 8) != c->id.bootid)
		rc = conf_fail(c, "the statistics' BOOTID is not that of the identity");
	return rc;
}

/* Every counter only grows; those that the test has moved have grown by it at least. */
static int statistics(struct conf *c)
{
	const size_t first = offsetof(struct nvme_accel_stats, uptime_ns);
	struct nvme_accel_stats a, b;
	uint64_t sum = 0;
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_STATS))
		return conf_skip(c, "the device does not announce statistics");
	rc = read_stats(c, &a);
	if (!rc)
		rc = conf_begin(c);
	for (uint64_t seq = 1; seq <= 5 && !rc; seq++)
		rc = then_right(c, seq);
	if (!rc)
		rc = read_stats(c, &b);
	if (rc)
		return rc;
	for (size_t at = first; at < offsetof(struct nvme_accel_stats, rsvd1152); at += 8)
		if (at != offsetof(struct nvme_accel_stats, held_now) &&
		    get_le((uint8_t *)&b + at, 8) < get_le((uint8_t *)&a + at, 8))
			return conf_fail(c, "the counter at byte %zu went down", at);
	if (get_le(&b.jobs, 8) < get_le(&a.jobs, 8) + 5 || get_le(&b.bytes_in, 8) < get_le(&a.bytes_in, 8) + 5 * N ||
	    get_le(&b.by_code[0], 8) < get_le(&a.by_code[0], 8) + 5 ||
	    get_le(&b.lease_grants, 8) < get_le(&a.lease_grants, 8) + 1)
		return conf_fail(c, "five jobs of a new lease are not in the counters");
	for (unsigned int i = 0; i < NVME_ACCEL_NCODE; i++)
		sum += get_le(&b.by_code[i], 8);
	return sum == get_le(&b.jobs, 8) ? CONF_PASS :
	       conf_fail(c, "the counters by code make %llu, of %llu jobs", (unsigned long long)sum,
			 (unsigned long long)get_le(&b.jobs, 8));
}

const struct conf_rule conf_rules_safe[] = {
	{ "R-62", "stray-writes", "zeros, ones and garbage written to a slot start nothing", stray_slot },
	{ "R-31", "broken-descriptor", "no magic, other version, wrong CRC: refused without effect", broken },
	{ "R-30", "ended-lease", "descriptors of a lease that has ended are refused", stale_epoch },
	{ "R-63", "zeroed", "outputs end with the lease", zeroed },
	{ "R-63", "input-gone", "inputs end with the lease", input_gone },
	{ "section 2", "statistics", "counters only grow, and count", statistics },
	{ 0 },
};
