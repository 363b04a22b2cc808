/* SPDX-License-Identifier: BSD-2-Clause */
/* Lease pages and claims, for the conformance test. */
#include "conf.h"
#include <string.h>
#include <sys/random.h>

int conf_lease_page(struct conf *c, uint32_t index, struct nvme_accel_lease *page)
{
	uint8_t buf[NVME_ACCEL_PAGE];
	int rc = conf_read(c, c->id.lease_off + (uint64_t)index * NVME_ACCEL_LEASE_STRIDE, buf, sizeof(buf));

	rc = conf_must(c, rc, "reading a lease page");
	if (rc)
		return rc;
	memcpy(page, buf, sizeof(*page));
	if (memcmp(page->magic, NVME_ACCEL_LEASE_MAGIC, 4) || page->version != 1)
		return conf_fail(c, "lease page %u: no magic, or another version", index);
	if (get_le(&page->crc, 4) != ec_crc32c(0, buf, offsetof(struct nvme_accel_lease, crc)))
		return conf_fail(c, "lease page %u: its CRC is wrong", index);
	if (!bytes_are_zero(buf + sizeof(*page), sizeof(buf) - sizeof(*page)))
		return conf_fail(c, "lease page %u: bytes behind the record are not zero", index);
	return CONF_PASS;
}

void conf_claim_encode(const struct conf *c, const struct conf_claim *claim, uint8_t *block)
{
	struct nvme_accel_claim *p = (struct nvme_accel_claim *)block;

	memset(block, 0, c->id.block);
	memcpy(p->magic, NVME_ACCEL_CLAIM_MAGIC, 4);
	put_le(&p->op, 2, claim->op);
	put_le(&p->flags, 2, claim->flags);
	memcpy(p->claim_id, claim->claim_id, 8);
	if (claim->nonce)
		memcpy(p->nonce, claim->nonce, 16);
	memset(p->hostid, 0xc0, sizeof(p->hostid));
	strcpy((char *)p->label, "conformance test");
	put_le(&p->slots_wanted, 4, claim->wanted);
	put_le(&p->slots_min, 4, claim->min);
	put_le(&p->duration_ms, 4, claim->duration_ms);
	put_le(&p->epoch, 4, claim->epoch);
	put_le(&p->crc, 4, ec_crc32c(0, block, offsetof(struct nvme_accel_claim, crc)));
}

int conf_claim_write(struct conf *c, const struct conf_claim *claim)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];

	conf_claim_encode(c, claim, block);
	return conf_write(c, c->id.lease_off + (uint64_t)claim->index * NVME_ACCEL_LEASE_STRIDE, block,
			  c->id.block);
}

int conf_lease_find(struct conf *c, uint32_t *index, uint32_t *epoch)
{
	struct nvme_accel_lease page;

	for (uint32_t i = 0; i < c->id.nlease; i++) {
		if (conf_lease_page(c, i, &page))
			return CONF_FAIL;
		if (page.state != NVME_ACCEL_LEASE_FREE)
			continue;
		*index = i;
		*epoch = (uint32_t)get_le(&page.epoch, 4);
		return CONF_PASS;
	}
	return conf_skip(c, "no lease record is free");
}

static void fresh(struct conf_lease *l)
{
	memset(l, 0, sizeof(*l));
	/* Random numbers that all-zero fields would make invalid; getrandom does not fail for so few bytes.
	 */
	while (getrandom(l->claim_id, sizeof(l->claim_id), 0) != (ssize_t)sizeof(l->claim_id) ||
	       getrandom(l->nonce, sizeof(l->nonce), 0) != (ssize_t)sizeof(l->nonce))
		;
	l->claim_id[0] |= 1;
	l->nonce[0] |= 1;
}

int conf_lease_get(struct conf *c, struct conf_lease *l, uint32_t wanted, uint16_t flags,
		   uint32_t duration_ms)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .flags = flags, .wanted = wanted,
				    .min = wanted ? 1 : 0, .duration_ms = duration_ms };
	struct nvme_accel_lease page;
	int rc;

	fresh(l);
	rc = conf_lease_find(c, &claim.index, &claim.epoch);
	if (rc)
		return rc;
	claim.claim_id = l->claim_id;
	claim.nonce = l->nonce;
	rc = conf_must(c, conf_claim_write(c, &claim), "writing a claim");
	if (!rc)
		rc = conf_lease_page(c, claim.index, &page);
	if (rc)
		return rc;
	if (memcmp(page.claim_id, l->claim_id, 8))
		return conf_skip(c, "the claim was refused with code %u (slots in use?)",
				 (unsigned int)get_le(&page.refused_code, 4));
	l->held = true;
	l->index = claim.index;
	l->epoch = (uint32_t)get_le(&page.epoch, 4);
	l->slot = (uint32_t)get_le(&page.range[0].first, 4);
	l->nslot = (uint32_t)get_le(&page.nslot, 4);
	return CONF_PASS;
}

int conf_lease_put(struct conf *c, struct conf_lease *l)
{
	struct conf_claim claim = { .op = NVME_ACCEL_LEASE_RELEASE, .index = l->index, .epoch = l->epoch,
				    .claim_id = l->claim_id, .nonce = l->nonce };

	if (!l->held)
		return CONF_PASS;
	l->held = false;
	return conf_must(c, conf_claim_write(c, &claim), "releasing a lease");
}
