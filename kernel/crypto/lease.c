// SPDX-License-Identifier: GPL-2.0-only
/* Leases, by plain reads and writes of the lease pages; the device alone decides. */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "nac.h"

#define LEASE_IO_MS	2000u
#define RELEASE_MS	1000u
#define BACKOFF_MS	50u

/* What became of one attempt at one record. */
enum attempt { GRANTED, TAKEN, FULL, FAILED };

static u64 record(const struct nac_dev *dev, u32 index)
{
	return dev->id.lease_off + (u64)index * NVME_ACCEL_LEASE_STRIDE;
}

static int lease_read(struct nac_dev *dev, u32 index, struct wire_lease *lease)
{
	u8 *page = kmalloc(NVME_ACCEL_PAGE, GFP_NOIO | __GFP_NOWARN);
	int ret;

	if (!page)
		return -ENOMEM;
	ret = nac_ctl_read(dev, record(dev, index), page, NVME_ACCEL_PAGE, LEASE_IO_MS);
	if (!ret && wire_lease_decode(lease, page, dev->id.nslot) != WIRE_OK)
		ret = -EPROTO;
	kfree(page);
	return ret;
}

static int lease_write(struct nac_dev *dev, u32 index, const struct wire_claim *claim, unsigned int ms)
{
	u8 *page = kzalloc(dev->block, GFP_NOIO | __GFP_NOWARN);
	int ret;

	if (!page)
		return -ENOMEM;
	ret = wire_claim_encode(claim, page, dev->block) == WIRE_OK ? 0 : -EINVAL;
	if (!ret)
		ret = nac_ctl_write(dev, record(dev, index), page, dev->block, ms);
	kfree_sensitive(page);
	return ret;
}

static enum attempt refused(const struct wire_lease *lease, const struct wire_claim *claim, int *err)
{
	/* Somebody else's refusal stands there by now: what became of ours is not known. */
	if (memcmp(lease->refused_claim_id, claim->claim_id, sizeof(claim->claim_id)))
		return TAKEN;
	switch (lease->refused_code) {
	case NVME_ACCEL_REFUSED_SLOTS:
	case NVME_ACCEL_REFUSED_EXCLUSIVE:
	case NVME_ACCEL_REFUSED_MEMORY:
		return FULL;
	case NVME_ACCEL_REFUSED_HOST:
		*err = -EACCES;
		return FAILED;
	case NVME_ACCEL_REFUSED_STATE:
	case NVME_ACCEL_REFUSED_DURATION:
		*err = -ENODEV;
		return FAILED;
	default:
		return TAKEN;
	}
}

static enum attempt try_record(struct nac_dev *dev, u32 index, struct wire_claim *claim, struct wire_lease *lease, int *err)
{
	*err = lease_read(dev, index, lease);
	if (*err)
		return FAILED;
	if (lease->state != NVME_ACCEL_LEASE_FREE)
		return TAKEN;
	claim->epoch = lease->epoch;
	dev->sure = jiffies;
	*err = lease_write(dev, index, claim, LEASE_IO_MS);
	if (!*err)
		*err = lease_read(dev, index, lease);
	if (*err)
		return FAILED;
	if (lease->state == NVME_ACCEL_LEASE_HELD && !memcmp(lease->claim_id, claim->claim_id, sizeof(claim->claim_id)))
		return GRANTED;
	return refused(lease, claim, err);
}

/* Begins at a random record, so that claimers do not all fight for the first. */
static enum attempt try_all(struct nac_dev *dev, struct wire_claim *claim, struct wire_lease *lease, int *err)
{
	u32 first = get_random_u32() % dev->id.nlease, i;
	enum attempt a;

	for (i = 0; i < dev->id.nlease; i++) {
		dev->lease_index = (first + i) % dev->id.nlease;
		a = try_record(dev, dev->lease_index, claim, lease, err);
		if (a != TAKEN)
			return a;
	}
	return FULL;
}

static void own(const struct nac_dev *dev, u16 op, struct wire_claim *claim)
{
	memset(claim, 0, sizeof(*claim));
	claim->op = op;
	claim->epoch = dev->lease_epoch;
	memcpy(claim->claim_id, dev->claim_id, sizeof(claim->claim_id));
	memcpy(claim->nonce, dev->nonce, sizeof(claim->nonce));
}

static int granted(struct nac_dev *dev, const struct wire_claim *claim, const struct wire_lease *lease)
{
	dev->lease_epoch = lease->epoch;
	dev->duration_ms = clamp_t(u32, lease->duration_ms, 100, 3600000);
	memcpy(dev->nonce, claim->nonce, sizeof(dev->nonce));
	memcpy(dev->claim_id, claim->claim_id, sizeof(dev->claim_id));
	dev->leased = true;
	/* The identity was read before: a reset in between shows here, and the next look finds the new one. */
	return lease->bootid == dev->id.bootid && lease->nslot ? 0 : -EAGAIN;
}

int nac_lease_claim(struct nac_dev *dev, u32 slots, struct wire_lease *lease, unsigned int ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(ms);
	struct wire_claim claim = { .op = NVME_ACCEL_LEASE_CLAIM, .slots_wanted = slots, .slots_min = 1 };
	enum attempt a;
	int err;

	snprintf(claim.label, sizeof(claim.label), "nvme-accel-crypto %.13s", config_item_name(&dev->bind->group.cg_item));
	get_random_bytes(claim.nonce, sizeof(claim.nonce));
	for (;;) {
		/* A new one each time: a refusal must not be taken for that of another claim. */
		get_random_bytes(claim.claim_id, sizeof(claim.claim_id));
		err = 0;
		a = try_all(dev, &claim, lease, &err);
		if (a == GRANTED)
			err = granted(dev, &claim, lease);
		else if (a == FULL)
			err = -EBUSY;
		if (a != FULL || time_after_eq(jiffies, deadline))
			break;
		msleep(BACKOFF_MS);
	}
	memzero_explicit(&claim, sizeof(claim));
	return err;
}

static bool still_ours(const struct nac_dev *dev, const struct wire_lease *lease)
{
	return lease->state == NVME_ACCEL_LEASE_HELD && lease->epoch == dev->lease_epoch && lease->bootid == dev->id.bootid &&
	       !memcmp(lease->claim_id, dev->claim_id, sizeof(dev->claim_id));
}

int nac_lease_renew(struct nac_dev *dev)
{
	unsigned long now = jiffies;
	struct wire_lease lease;
	struct wire_claim claim;
	int wrote, ret;

	own(dev, NVME_ACCEL_LEASE_RENEW, &claim);
	wrote = lease_write(dev, dev->lease_index, &claim, LEASE_IO_MS);
	memzero_explicit(&claim, sizeof(claim));
	if (wrote == -ETIMEDOUT || wrote == -ENOMEM)
		return wrote;
	/* A write that was refused may be so because the lease is lost: the page tells. */
	ret = lease_read(dev, dev->lease_index, &lease);
	if (ret)
		return ret;
	if (!still_ours(dev, &lease))
		return -ESTALE;
	if (!wrote)
		dev->sure = now;
	return wrote;
}

void nac_lease_release(struct nac_dev *dev)
{
	struct wire_claim claim;

	if (!dev->leased)
		return;
	dev->leased = false;
	own(dev, NVME_ACCEL_LEASE_RELEASE, &claim);
	lease_write(dev, dev->lease_index, &claim, RELEASE_MS);
	memzero_explicit(&claim, sizeof(claim));
}
