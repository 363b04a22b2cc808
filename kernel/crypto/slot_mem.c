// SPDX-License-Identifier: GPL-2.0-only
/* What a slot has for its jobs, made when its device is opened. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "nac.h"

static int slot_memory(struct nac_slot *slot, u32 nin, u32 nout)
{
	struct nac_dev *dev = slot->dev;
	u32 n = 2 + nin + nout, i;

	slot->mem = vzalloc(array_size(n, PAGE_SIZE));
	slot->pages = kvcalloc(n, sizeof(*slot->pages), GFP_KERNEL);
	/* NVMe's pages may be less than the processor's: lists of the caller's have as many of the latter at most. */
	slot->pinned = kvcalloc(dev->max_in / NAC_UNIT + 2, sizeof(*slot->pinned), GFP_KERNEL);
	slot->wvec = kvcalloc(dev->max_in / NAC_UNIT + 4, sizeof(*slot->wvec), GFP_KERNEL);
	slot->rvec = kvcalloc(nout + 2, sizeof(*slot->rvec), GFP_KERNEL);
	if (!slot->mem || !slot->pages || !slot->pinned || !slot->wvec || !slot->rvec)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		slot->pages[i] = vmalloc_to_page(slot->mem + (size_t)i * PAGE_SIZE);
	slot->in = slot->mem + PAGE_SIZE;
	slot->desc = slot->in - dev->block;
	slot->out = slot->in + (size_t)(nin + 1) * PAGE_SIZE;
	slot->status = slot->out - dev->block;
	return 0;
}

static int slot_init(struct nac_dev *dev, struct nac_slot *slot, u32 number)
{
	u32 nin = DIV_ROUND_UP(dev->max_in, PAGE_SIZE), nout = DIV_ROUND_UP(dev->max_out, PAGE_SIZE);
	int ret;

	slot->dev = dev;
	slot->number = number;
	INIT_DELAYED_WORK(&slot->work, nac_slot_work);
	ret = slot_memory(slot, nin, nout);
	if (ret)
		return ret;
	bio_init(&slot->wbio, dev->bdev, slot->wvec, dev->max_in / NAC_UNIT + 4, REQ_OP_WRITE);
	bio_init(&slot->rbio, dev->bdev, slot->rvec, nout + 2, REQ_OP_READ);
	slot->bios = true;
	list_add_tail(&slot->entry, &dev->free);
	return 0;
}

int nac_slots_new(struct nac_dev *dev, const struct wire_lease *lease)
{
	u32 r, i, n = 0;
	int ret;

	dev->slots = kvcalloc(lease->nslot, sizeof(*dev->slots), GFP_KERNEL);
	if (!dev->slots)
		return -ENOMEM;
	dev->nslot = lease->nslot;
	for (r = 0; r < lease->nrange; r++) {
		for (i = 0; i < lease->range[r].count && n < lease->nslot; i++) {
			ret = slot_init(dev, &dev->slots[n++], lease->range[r].first + i);
			if (ret)
				return ret;
		}
	}
	return n == dev->nslot ? 0 : -EPROTO;
}

static void slot_free(struct nac_slot *slot)
{
	if (slot->bios) {
		bio_uninit(&slot->wbio);
		bio_uninit(&slot->rbio);
	}
	kvfree(slot->rvec);
	kvfree(slot->wvec);
	kvfree(slot->pinned);
	kvfree(slot->pages);
	vfree(slot->mem);
}

void nac_slots_free(struct nac_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->nslot; i++)
		slot_free(&dev->slots[i]);
	kvfree(dev->slots);
}
