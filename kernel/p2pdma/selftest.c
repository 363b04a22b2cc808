// SPDX-License-Identifier: GPL-2.0-only
/*
 * Before a pair is used, one transfer in each direction is compared by the processor: what registers and lists say of a
 * topology is one thing, whether the bytes arrive is another. Both tests use data that is there: the device's first page is read to
 * memory and to the CMB; and the first block that a job writes anyway is read back.
 */
#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/slab.h>
#include "p2p.h"

#define TRIES	3	/* somebody else may write the page between the two reads */

int p2p_io(struct block_device *bdev, blk_opf_t opf, u64 off, struct page *page, unsigned int page_off, unsigned int len)
{
	struct bio_vec vec;
	struct bio bio;
	int ret;

	bio_init(&bio, bdev, &vec, 1, opf);
	bio.bi_iter.bi_sector = off >> SECTOR_SHIFT;
	__bio_add_page(&bio, page, len, page_off);
	ret = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return ret;
}

/* ---- What is known ---- */

static struct p2p_pair *find(struct p2p_provider *p, const struct pci_dev *pdev)
{
	struct p2p_pair *pair;

	list_for_each_entry(pair, &p->pairs, entry)
		if (pair->pdev == pdev)
			return pair;
	return NULL;
}

u32 p2p_selftest_state(struct p2p_provider *p, const struct pci_dev *pdev)
{
	struct p2p_pair *pair;
	u32 test;

	mutex_lock(&p->lock);
	pair = find(p, pdev);
	test = pair ? pair->test : NVME_ACCEL_P2P_TEST_NONE;
	mutex_unlock(&p->lock);
	return test;
}

/* A failure is never forgotten for a success. */
static int remember(struct p2p_provider *p, struct pci_dev *pdev, u32 test)
{
	struct p2p_pair *pair, *new = kzalloc(sizeof(*new), GFP_KERNEL);

	mutex_lock(&p->lock);
	pair = find(p, pdev);
	if (!pair && new) {
		pair = new;
		new = NULL;
		pair->pdev = pci_dev_get(pdev);
		list_add(&pair->entry, &p->pairs);
	}
	if (pair)
		pair->test = max(pair->test, test);
	mutex_unlock(&p->lock);
	kfree(new);
	if (!pair)
		return -ENOMEM;
	if (test == NVME_ACCEL_P2P_TEST_FAILED)
		pci_err(p->pdev, P2P_NAME ": self-test with %s failed: what is transferred does not arrive; refused from now on\n",
			pdev ? pci_name(pdev) : "the processor");
	return 0;
}

void p2p_selftest_forget(struct p2p_provider *p, const struct pci_dev *pdev)
{
	struct p2p_pair *pair, *next;

	list_for_each_entry_safe(pair, next, &p->pairs, entry) {
		if (pdev && pair->pdev != pdev)
			continue;
		list_del(&pair->entry);
		pci_dev_put(pair->pdev);
		kfree(pair);
	}
}

/* ---- From the device to the CMB ---- */

static unsigned int first_page(const struct block_device *bdev)
{
	unsigned int bs = bdev_logical_block_size((struct block_device *)bdev);

	return min_t(u64, max_t(unsigned int, bs, 4096), bdev_nr_bytes((struct block_device *)bdev));
}

/* What the CMB must not have already: every byte of it is another one. */
static void opposite(void *cmb, const u8 *memory, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		WRITE_ONCE(((u8 *)cmb)[i], ~memory[i]);
	mb();
	(void)READ_ONCE(*(u8 *)cmb);
}

/* 1: arrived, 0: not */
static int try_in(const struct p2p_client *c, const struct p2p_slot *slot, struct page *page, unsigned int len)
{
	int ret;

	ret = p2p_io(c->bdev, REQ_OP_READ, 0, page, 0, len);
	if (ret)
		return ret;
	opposite(slot->vaddr, page_address(page), len);
	ret = p2p_io(c->bdev, REQ_OP_READ, 0, slot->page, 0, len);
	if (ret)
		return ret;
	return !memcmp(slot->vaddr, page_address(page), len);
}

static int test_in(struct p2p_provider *p, const struct p2p_client *c, const struct p2p_slot *slot)
{
	unsigned int len = first_page(c->bdev);
	struct page *page;
	int tries, ret = 0;

	if (!len || len > PAGE_SIZE)
		return -EIO;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	for (tries = 0; !ret && tries < TRIES; tries++) {
		ret = try_in(c, slot, page, len);
		p2p_count(p, P2P_C_BYTES_MEMORY, len);
		p2p_count(p, P2P_C_COMMANDS, 2);
	}
	__free_page(page);
	p2p_count(p, P2P_C_TESTS, 1);
	if (ret < 0)
		return ret;
	if (!p2p_cmb_ok(p))
		return -ESTALE;
	return remember(p, c->pdev, ret ? NVME_ACCEL_P2P_TEST_IN : NVME_ACCEL_P2P_TEST_FAILED) ?: ret ? 0 : -EOPNOTSUPP;
}

int p2p_selftest_in(struct p2p_provider *p, const struct p2p_client *c)
{
	struct p2p_slot slot = { .vaddr = p->kept.vaddr + PAGE_SIZE, .page = p->kept.page + 1 };
	u32 state;
	int ret = 0;

	mutex_lock(&p->test_lock);
	state = p2p_selftest_state(p, c->pdev);
	if (state == NVME_ACCEL_P2P_TEST_FAILED)
		ret = -EOPNOTSUPP;
	else if (state == NVME_ACCEL_P2P_TEST_NONE)
		ret = test_in(p, c, &slot);
	mutex_unlock(&p->test_lock);
	return ret;
}

/* ---- From the CMB to the device ---- */

static int test_out(struct p2p_provider *p, const struct p2p_client *c, u64 off, unsigned int len, const struct p2p_slot *slot,
		    struct page *page)
{
	bool same;
	int ret;

	ret = p2p_io(c->bdev, REQ_OP_WRITE | REQ_SYNC, off, slot->page, 0, len) ?:
	      p2p_io(c->bdev, REQ_OP_READ, off, page, 0, len);
	p2p_count(p, P2P_C_BYTES_MEMORY, len);
	p2p_count(p, P2P_C_COMMANDS, 2);
	p2p_count(p, P2P_C_TESTS, 1);
	if (ret)
		return ret;
	if (!p2p_cmb_ok(p))
		return -ESTALE;
	same = !memcmp(slot->vaddr, page_address(page), len);
	return remember(p, c->pdev, same ? NVME_ACCEL_P2P_TEST_BOTH : NVME_ACCEL_P2P_TEST_FAILED) ?: same ? 0 : -EOPNOTSUPP;
}

int p2p_selftest_out(struct p2p_provider *p, const struct p2p_client *c, u64 off, u32 len, const struct p2p_slot *slot)
{
	struct page *page;
	int ret;

	switch (p2p_selftest_state(p, c->pdev)) {
	case NVME_ACCEL_P2P_TEST_BOTH:
		return 0;
	case NVME_ACCEL_P2P_TEST_FAILED:
		return -EOPNOTSUPP;
	default:
		break;
	}
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	ret = test_out(p, c, off, min_t(u32, len, PAGE_SIZE), slot, page);
	__free_page(page);
	return ret;
}
