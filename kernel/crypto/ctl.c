// SPDX-License-Identifier: GPL-2.0-only
/* Pages of an accelerator, read and written by those who can wait, but not for ever. */
#include <linux/completion.h>
#include <linux/mm.h>
#include "nac.h"

/* Its page stays until the bio is back, whether anybody still waits or not. */
struct ctl {
	struct nac_dev *dev;
	refcount_t refs;
	struct completion done;
	struct page *page;
	struct bio bio;
	struct bio_vec vec;
	blk_status_t status;
};

static void ctl_put(struct ctl *c)
{
	struct nac_dev *dev = c->dev;

	if (!refcount_dec_and_test(&c->refs))
		return;
	/* Nonces of leases have been in it. */
	clear_highpage(c->page);
	__free_page(c->page);
	bio_uninit(&c->bio);
	kfree(c);
	nac_dev_put(dev);
}

static void ctl_done(struct bio *bio)
{
	struct ctl *c = bio->bi_private;

	c->status = bio->bi_status;
	complete(&c->done);
	ctl_put(c);
}

static struct ctl *ctl_new(struct nac_dev *dev, blk_opf_t opf, u64 off, u32 n)
{
	struct ctl *c = kzalloc(sizeof(*c), GFP_NOIO | __GFP_NOWARN);

	if (!c)
		return NULL;
	c->page = alloc_page(GFP_NOIO | __GFP_NOWARN | __GFP_ZERO);
	if (!c->page) {
		kfree(c);
		return NULL;
	}
	c->dev = dev;
	kref_get(&dev->kref);
	refcount_set(&c->refs, 1);
	init_completion(&c->done);
	bio_init(&c->bio, dev->bdev, &c->vec, 1, opf | REQ_NOMERGE | REQ_SYNC | REQ_META | REQ_PRIO);
	c->bio.bi_iter.bi_sector = off >> SECTOR_SHIFT;
	c->bio.bi_end_io = ctl_done;
	c->bio.bi_private = c;
	__bio_add_page(&c->bio, c->page, n, 0);
	return c;
}

static int ctl_run(struct ctl *c, unsigned int ms)
{
	refcount_inc(&c->refs);
	submit_bio(&c->bio);
	if (!wait_for_completion_timeout(&c->done, msecs_to_jiffies(ms)))
		return -ETIMEDOUT;
	return blk_status_to_errno(c->status);
}

int nac_ctl_read(struct nac_dev *dev, u64 off, void *data, u32 n, unsigned int ms)
{
	struct ctl *c = ctl_new(dev, REQ_OP_READ, off, n);
	int ret;

	if (!c)
		return -ENOMEM;
	ret = ctl_run(c, ms);
	if (!ret)
		memcpy(data, page_address(c->page), n);
	ctl_put(c);
	return ret;
}

int nac_ctl_write(struct nac_dev *dev, u64 off, const void *data, u32 n, unsigned int ms)
{
	struct ctl *c = ctl_new(dev, REQ_OP_WRITE, off, n);
	int ret;

	if (!c)
		return -ENOMEM;
	memcpy(page_address(c->page), data, n);
	ret = ctl_run(c, ms);
	ctl_put(c);
	return ret;
}
