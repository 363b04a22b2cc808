/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 4: leases. */
#define _GNU_SOURCE
#include "conf.h"
#include <string.h>

static const uint8_t other_id[8] = { 0x0f, 1, 2, 3, 4, 5, 6, 7 };
static const uint8_t other_nonce[16] = { 0x0e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static struct conf_claim claim_of(const struct conf_lease *l, uint16_t op)
{
	return (struct conf_claim){ .op = op, .index = l->index, .epoch = l->epoch, .wanted = 1, .min = 1,
				    .claim_id = l->claim_id, .nonce = l->nonce };
}

static int page_of(struct conf *c, struct nvme_accel_lease *page)
{
	return conf_lease_page(c, c->lease.index, page);
}

static bool is_ours(const struct conf *c, const struct nvme_accel_lease *page)
{
	return page->state == NVME_ACCEL_LEASE_HELD && !memcmp(page->claim_id, c->lease.claim_id, 8) &&
	       get_le(&page->epoch, 4) == c->lease.epoch;
}

/* The claim is refused with the code, and the lease that the test holds stands as before. */
static int refused(struct conf *c, const struct conf_claim *claim, uint32_t code, const char *what)
{
	struct nvme_accel_lease page;
	int rc = conf_must(c, conf_claim_write(c, claim), what);

	if (!rc)
		rc = conf_lease_page(c, claim->index, &page);
	if (rc)
		return rc;
	if (memcmp(page.refused_claim_id, claim->claim_id, 8) || get_le(&page.refused_code, 4) != code)
		return conf_fail(c, "%s: refusal %u instead of %u is shown", what,
				 (unsigned int)get_le(&page.refused_code, 4), code);
	if (claim->index == c->lease.index && c->lease.held && !is_ours(c, &page))
		return conf_fail(c, "%s: the lease that stood was lost", what);
	return CONF_PASS;
}

static int pages(struct conf *c)
{
	struct nvme_accel_lease page;
	uint64_t bootid = c->id.bootid;

	for (uint32_t i = 0; i < c->id.nlease; i++) {
		if (conf_lease_page(c, i, &page))
			return CONF_FAIL;
		if (page.state > NVME_ACCEL_LEASE_DRAINING || get_le(&page.index, 4) != i)
			return conf_fail(c, "page %u: state %u, index %u", i, page.state,
					 (unsigned int)get_le(&page.index, 4));
		if (get_le(&page.bootid, 8) != bootid)
			return conf_fail(c, "page %u: BOOTID is not that of the identity", i);
		if (page.state == NVME_ACCEL_LEASE_FREE && !bytes_are_zero(page.claim_id, 8))
			return conf_fail(c, "page %u: free, with a claim_id", i);
	}
	return CONF_PASS;
}

static int granted_page(struct conf *c, const struct nvme_accel_lease *p)
{
	uint32_t nrange = (uint32_t)get_le(&p->nrange, 4), sum = 0;

	if (!nrange || nrange > NVME_ACCEL_NRANGE)
		return conf_fail(c, "%u ranges", nrange);
	for (uint32_t i = 0; i < nrange; i++) {
		uint64_t first = get_le(&p->range[i].first, 4), n = get_le(&p->range[i].count, 4);

		if (!n || first + n > c->id.nslot)
			return conf_fail(c, "a range from slot %u of %u slots", (unsigned int)first,
					 (unsigned int)n);
		sum += (uint32_t)n;
	}
	if (sum != get_le(&p->nslot, 4) || sum > 2)
		return conf_fail(c, "%u slots in ranges, %u in all, 2 wanted", sum,
				 (unsigned int)get_le(&p->nslot, 4));
	if (get_le(&p->remaining_ms, 4) > get_le(&p->duration_ms, 4) || !get_le(&p->remaining_ms, 4))
		return conf_fail(c, "%u of %u ms remain", (unsigned int)get_le(&p->remaining_ms, 4),
				 (unsigned int)get_le(&p->duration_ms, 4));
	if (strncmp((const char *)p->label, "conformance test", 32) || p->hostid[0] != 0xc0 ||
	    p->hostid[15] != 0xc0)
		return conf_fail(c, "label or hostid are not those of the claim");
	return CONF_PASS;
}

static int claim_granted(struct conf *c)
{
	struct nvme_accel_lease page;
	int rc = conf_lease_get(c, &c->lease, 2, 0, c->id.leasemax_ms);

	if (!rc)
		rc = page_of(c, &page);
	if (!rc && get_le(&page.duration_ms, 4) != c->id.leasemax_ms)
		rc = conf_fail(c, "duration %u instead of %u", (unsigned int)get_le(&page.duration_ms, 4),
			       c->id.leasemax_ms);
	return rc ? rc : granted_page(c, &page);
}

/* Nothing that can be read has the secret in it. */
static int nonce_secret(struct conf *c)
{
	uint64_t off[5];
	int rc = conf_begin(c);

	if (rc)
		return rc;
	off[0] = c->id.lease_off + (uint64_t)c->lease.index * NVME_ACCEL_LEASE_STRIDE;
	off[1] = c->id.stats_off + 2 * NVME_ACCEL_PAGE;
	off[2] = c->id.info_off + NVME_ACCEL_INFO_ERRLOG;
	off[3] = conf_addr(c, c->lease.slot, 1, 1);
	off[4] = conf_addr(c, c->lease.slot, 1, 0);
	for (unsigned int i = 0; i < 5 && !rc; i++) {
		rc = conf_must(c, conf_read(c, off[i], c->buf, NVME_ACCEL_PAGE), "reading");
		if (!rc && memmem(c->buf, NVME_ACCEL_PAGE, c->lease.nonce, 16))
			rc = conf_fail(c, "the nonce can be read at byte %#llx", (unsigned long long)off[i]);
	}
	return rc;
}

static int slots_counted(struct conf *c)
{
	uint64_t before, after;
	size_t at = NVME_ACCEL_ID_OFF + offsetof(struct nvme_accel_id, slots_free);
	int rc = conf_identify(c);

	before = get_le(c->page + at, 4);
	if (!rc)
		rc = conf_lease_get(c, &c->lease, 1, 0, 0);
	if (!rc)
		rc = conf_identify(c);
	after = get_le(c->page + at, 4);
	if (!rc && after + c->lease.nslot != before)
		rc = conf_fail(c, "SLOTS_FREE went from %u to %u for a lease of %u", (unsigned int)before,
			       (unsigned int)after, c->lease.nslot);
	return rc;
}

static int claim_held(struct conf *c)
{
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_CLAIM);
	claim.claim_id = other_id;
	claim.nonce = other_nonce;
	return refused(c, &claim, NVME_ACCEL_REFUSED_HELD, "a claim on a record that is held");
}

static int claim_epoch(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .wanted = 1, .min = 1, .claim_id = other_id,
				    .nonce = other_nonce };
	int rc = conf_lease_find(c, &claim.index, &claim.epoch);

	claim.epoch--;
	return rc ? rc : refused(c, &claim, NVME_ACCEL_REFUSED_EPOCH, "a claim with an old epoch");
}

static int claim_repeat(struct conf *c)
{
	struct nvme_accel_lease page;
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_CLAIM);
	rc = conf_must(c, conf_claim_write(c, &claim), "the same claim once more");
	if (!rc)
		rc = page_of(c, &page);
	if (!rc && (!is_ours(c, &page) || !memcmp(page.refused_claim_id, c->lease.claim_id, 8)))
		rc = conf_fail(c, "a repeated claim did harm");
	return rc;
}

static int claim_slots(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .wanted = c->id.nslot + 1,
				    .min = c->id.nslot + 1, .claim_id = other_id, .nonce = other_nonce };
	int rc = conf_lease_find(c, &claim.index, &claim.epoch);

	return rc ? rc
		  : refused(c, &claim, NVME_ACCEL_REFUSED_SLOTS, "a claim for more slots than there are");
}

static int claim_duration(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .wanted = 1, .min = 1, .claim_id = other_id,
				    .nonce = other_nonce, .duration_ms = c->id.leasemax_ms + 1 };
	int rc = conf_lease_find(c, &claim.index, &claim.epoch);

	if (!rc)
		rc = refused(c, &claim, NVME_ACCEL_REFUSED_DURATION, "a claim for too long");
	claim.duration_ms = c->id.leasemin_ms - 1;
	if (!rc && claim.duration_ms)
		rc = refused(c, &claim, NVME_ACCEL_REFUSED_DURATION, "a claim for too short");
	return rc;
}

/* Short, but no shorter than a busy machine may take from one command to the next. */
static uint32_t short_lease_ms(const struct conf *c)
{
	uint32_t ms = c->id.leasemin_ms < 1500 ? 1500 : c->id.leasemin_ms;

	return ms > c->id.leasemax_ms ? c->id.leasemax_ms : ms;
}

static int renew(struct conf *c)
{
	struct nvme_accel_lease page;
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, short_lease_ms(c));

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_RENEW);
	claim.duration_ms = c->id.leasemax_ms;
	rc = conf_must(c, conf_claim_write(c, &claim), "renewing");
	if (!rc)
		rc = page_of(c, &page);
	if (!rc && (!is_ours(c, &page) || get_le(&page.remaining_ms, 4) + 1000 < c->id.leasemax_ms))
		rc = conf_fail(c, "after RENEW %u ms remain of %u",
			       (unsigned int)get_le(&page.remaining_ms, 4), c->id.leasemax_ms);
	return rc;
}

static int renewed_by_jobs(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[CONF_JOB_NBYTES];
	uint32_t ms = short_lease_ms(c);
	uint64_t until;
	int rc;

	if (!c->probe.any || c->id.leasemin_ms > 5000)
		return conf_skip(c, "no operation that the test can judge, or no lease that is short enough");
	rc = conf_lease_get(c, &c->lease, 1, 0, ms);
	conf_data(in, sizeof(in), 61);
	until = tool_now_ns() + (ms + ms / 2) * 1000000ull;
	for (uint64_t seq = 1; !rc && tool_now_ns() < until; seq++) {
		rc = conf_job(c, seq, 0, in, sizeof(in), &st);
		conf_sleep_ms(ms / 5);
	}
	return rc;
}

static int not_holder(struct conf *c)
{
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_RENEW);
	claim.nonce = other_nonce;
	rc = refused(c, &claim, NVME_ACCEL_REFUSED_NOT_HOLDER, "RENEW with a wrong nonce");
	claim.op = NVME_ACCEL_LEASE_RELEASE;
	if (!rc)
		rc = refused(c, &claim, NVME_ACCEL_REFUSED_NOT_HOLDER, "RELEASE with a wrong nonce");
	claim.nonce = c->lease.nonce;
	claim.epoch++;
	if (!rc)
		rc = refused(c, &claim, NVME_ACCEL_REFUSED_EPOCH, "RELEASE with a wrong epoch");
	return rc;
}

/* The record becomes free, with the next epoch; engines may take a moment to let go. */
static int becomes_free(struct conf *c, unsigned int ms, const char *what)
{
	struct nvme_accel_lease page;
	uint64_t until = tool_now_ns() + ms * 1000000ull;
	int rc;

	do {
		rc = page_of(c, &page);
		if (rc)
			return rc;
		if (get_le(&page.epoch, 4) == c->lease.epoch + 1 && page.state == NVME_ACCEL_LEASE_FREE) {
			c->lease.held = false;
			return CONF_PASS;
		}
		conf_sleep_ms(5);
	} while (tool_now_ns() < until);
	return conf_fail(c, "%s: state %u, epoch %u after epoch %u", what, page.state,
			 (unsigned int)get_le(&page.epoch, 4), c->lease.epoch);
}

static int release(struct conf *c)
{
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_RELEASE);
	rc = conf_must(c, conf_claim_write(c, &claim), "releasing");
	if (!rc)
		rc = becomes_free(c, 5000, "RELEASE");
	/* Once more, as a path that repeats commands does. */
	return rc ? rc : conf_must(c, conf_claim_write(c, &claim), "releasing again");
}

static int expiry(struct conf *c)
{
	uint64_t start = tool_now_ns(), took;
	int rc;

	if (c->id.leasemin_ms > 15000)
		return conf_skip(c, "the shortest lease is %u ms", c->id.leasemin_ms);
	rc = conf_lease_get(c, &c->lease, 1, 0, c->id.leasemin_ms);
	if (!rc)
		rc = becomes_free(c, c->id.leasemin_ms + 3000, "expiry");
	took = (tool_now_ns() - start) / 1000000;
	if (!rc && took + 20 < c->id.leasemin_ms)
		rc = conf_fail(c, "expired after %u ms of %u", (unsigned int)took, c->id.leasemin_ms);
	return rc;
}

static int break_it(struct conf *c)
{
	struct conf_claim claim;
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (rc)
		return rc;
	claim = claim_of(&c->lease, NVME_ACCEL_LEASE_BREAK);
	claim.nonce = NULL;
	claim.epoch++;
	rc = refused(c, &claim, NVME_ACCEL_REFUSED_EPOCH, "BREAK with a wrong epoch");
	claim.epoch--;
	claim.claim_id = other_id;
	if (!rc)
		rc = refused(c, &claim, NVME_ACCEL_REFUSED_NOT_HOLDER, "BREAK that names another");
	claim.claim_id = c->lease.claim_id;
	if (!rc)
		rc = conf_must(c, conf_claim_write(c, &claim), "breaking");
	return rc ? rc : becomes_free(c, 5000, "BREAK");
}

static int exclusive_refused(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .flags = NVME_ACCEL_LEASE_EXCLUSIVE,
				    .claim_id = other_id, .nonce = other_nonce };
	int rc = conf_lease_get(c, &c->lease, 1, 0, 0);

	if (!rc)
		rc = conf_lease_find(c, &claim.index, &claim.epoch);
	return rc ? rc
		  : refused(c, &claim, NVME_ACCEL_REFUSED_EXCLUSIVE, "an exclusive claim beside a lease");
}

static int exclusive(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .wanted = 1, .min = 1, .claim_id = other_id,
				    .nonce = other_nonce };
	int rc = conf_lease_get(c, &c->lease, 0, NVME_ACCEL_LEASE_EXCLUSIVE, 0);

	if (rc)
		return rc;
	if (c->lease.nslot != c->id.nslot)
		return conf_fail(c, "an exclusive lease has %u of %u slots", c->lease.nslot, c->id.nslot);
	if (c->id.nlease < 2)
		return CONF_PASS;
	rc = conf_lease_find(c, &claim.index, &claim.epoch);
	return rc ? rc : refused(c, &claim, NVME_ACCEL_REFUSED_SLOTS, "a claim beside an exclusive lease");
}

static int preempted(struct conf *c)
{
	struct conf_lease first = { 0 };
	struct nvme_accel_lease page;
	int rc = conf_lease_get(c, &first, 1, NVME_ACCEL_LEASE_PREEMPTIBLE, 0);

	if (!rc)
		rc = conf_lease_get(c, &c->lease, 0, NVME_ACCEL_LEASE_EXCLUSIVE, 0);
	if (!rc)
		rc = conf_lease_page(c, first.index, &page);
	if (!rc && get_le(&page.epoch, 4) == first.epoch && first.index != c->lease.index)
		rc = conf_fail(c, "the preemptible lease still stands");
	if (rc == CONF_SKIP)
		conf_lease_put(c, &first);
	return rc;
}

/* A claim with one fault, which must be refused as a command and have no effect. */
static int malformed_one(struct conf *c, const struct conf_claim *claim, unsigned int at, unsigned int value,
			 bool crc, const char *what)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_lease page;
	uint64_t off = c->id.lease_off + (uint64_t)claim->index * NVME_ACCEL_LEASE_STRIDE;
	int rc;

	conf_claim_encode(c, claim, block);
	block[at] ^= (uint8_t)value;
	if (crc)
		put_le(block + 124, 4, ec_crc32c(0, block, 124));
	rc = conf_must_fail(c, conf_write(c, off, block, c->id.block), CONF_SC_INVALID_FIELD, what);
	if (!rc)
		rc = conf_lease_page(c, claim->index, &page);
	if (!rc && (page.state != NVME_ACCEL_LEASE_FREE || get_le(&page.epoch, 4) != claim->epoch))
		rc = conf_fail(c, "%s: had an effect", what);
	return rc;
}

static int malformed(struct conf *c)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .wanted = 1, .min = 1, .claim_id = other_id,
				    .nonce = other_nonce };
	static const struct {
		unsigned int at, value;
		bool crc;
		const char *what;
	} faults[] = {
		{ 0, 1, true, "a claim with a wrong magic" },
		{ 124, 1, false, "a claim with a wrong CRC" },
		{ 50, 1, false, "a claim with a flipped bit" },
		{ 4, 8, true, "a claim with an unknown operation" },
		{ 7, 0x80, true, "a claim with an unknown flag" },
		{ 96, 1, true, "a claim with a reserved byte" },
		{ 123, 1, true, "a claim with a reserved byte" },
		{ 128, 1, true, "a claim with something behind it" },
		{ 511, 1, true, "a claim with something behind it" },
	};
	int rc = conf_lease_find(c, &claim.index, &claim.epoch);

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && !rc; i++)
		rc = malformed_one(c, &claim, faults[i].at, faults[i].value, faults[i].crc, faults[i].what);
	return rc;
}

const struct conf_rule conf_rules_lease[] = {
	{ "section 4", "lease-pages", "every lease page is well-formed", pages },
	{ "R-24", "claim", "a claim is granted: ranges, label, time", claim_granted },
	{ "R-22 R-24", "claim-held", "a claim on a held record is refused without effect", claim_held },
	{ "R-22 R-24", "claim-epoch", "a claim with an old epoch is refused", claim_epoch },
	{ "R-24", "claim-repeat", "the same claim once more changes nothing", claim_repeat },
	{ "R-24", "claim-slots", "more slots than there are: refused", claim_slots },
	{ "R-24", "claim-duration", "a duration out of range is refused", claim_duration },
	{ "R-21", "claim-malformed", "malformed claims fail and have no effect", malformed },
	{ "section 1", "slots-free", "SLOTS_FREE follows leases", slots_counted },
	{ "R-61", "nonce-secret", "the nonce can be read nowhere", nonce_secret },
	{ "R-26", "renew", "RENEW extends", renew },
	{ "R-26", "renew-by-jobs", "descriptors of the holder renew the lease", renewed_by_jobs },
	{ "R-26 R-27", "not-holder", "wrong nonce or epoch: RENEW and RELEASE refused", not_holder },
	{ "R-27 R-30", "release", "RELEASE frees the record, epoch + 1, and may be repeated", release },
	{ "R-27", "break", "BREAK by claim_id and epoch only", break_it },
	{ "R-25", "exclusive-refused", "an exclusive claim beside a lease is refused", exclusive_refused },
	{ "R-25", "exclusive", "an exclusive lease has all slots", exclusive },
	{ "R-25", "preempt", "an exclusive claim ends preemptible leases", preempted },
	{ "R-27", "expiry", "a lease without activity ends in its time", expiry },
	{ 0 },
};
