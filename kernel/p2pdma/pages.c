// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CMB's pages: made here, or the kernel's own where it has p2pdma; and the slots that are cut from them.
 *
 * The block layer takes no reference on pages of a bio that is built in the kernel, so in tier 2 their counts stay as they are when idle;
 * who may have taken one in tier 3 is looked at before they go (mmap.c).
 */
#include <linux/bitmap.h>
#include <linux/pci-p2pdma.h>
#include "p2p.h"

/* Nobody frees a page here: its count stays above zero. The core wants the function all the same. */
static void page_free(struct page *page)
{
}

static const struct dev_pagemap_ops pgmap_ops = { .page_free = page_free };

/*
 * The type maps uncached, and keeps the pages out of what is for memory alone, with CONFIG_PCI_P2PDMA or not. NUMA: as the
 * device. The range is the BAR's, which nvme-pci has claimed as a resource.
 */
static int map_pages(struct p2p_provider *p)
{
	p->pgmap.type = MEMORY_DEVICE_PCI_P2PDMA;
	p->pgmap.ops = &pgmap_ops;
	p->pgmap.range.start = p->window;
	p->pgmap.range.end = p->window + p->size - 1;
	p->pgmap.nr_range = 1;
	p->vaddr = memremap_pages(&p->pgmap, dev_to_node(&p->pdev->dev));
	if (IS_ERR(p->vaddr)) {
		int ret = PTR_ERR(p->vaddr);

		pci_notice(p->pdev, P2P_NAME ": the kernel has no room for pages of %pa..+%llx (%d)%s\n", &p->window, p->size, ret,
			   ret == -E2BIG || ret == -EINVAL || ret == -ERANGE ? "; try nokaslr" : "");
		p->vaddr = NULL;
		return ret;
	}
	return 0;
}

static int own_open(struct p2p_provider *p)
{
	int ret;

	p->npages = p->size >> PAGE_SHIFT;
	p->map = bitmap_zalloc(p->npages, GFP_KERNEL);
	if (!p->map)
		return -ENOMEM;
	ret = map_pages(p);
	if (ret) {
		bitmap_free(p->map);
		p->map = NULL;
	}
	return ret;
}

static void own_close(struct p2p_provider *p)
{
	memunmap_pages(&p->pgmap);
	p->vaddr = NULL;
	bitmap_free(p->map);
	p->map = NULL;
}

static int own_alloc(struct p2p_provider *p, u64 nbytes, struct p2p_slot *slot)
{
	unsigned long n = nbytes >> PAGE_SHIFT, at;

	at = bitmap_find_next_zero_area(p->map, p->npages, 0, n, 0);
	if (at >= p->npages)
		return -ENOSPC;
	bitmap_set(p->map, at, n);
	slot->vaddr = p->vaddr + (at << PAGE_SHIFT);
	return 0;
}

int p2p_slot_alloc(struct p2p_provider *p, u64 nbytes, struct p2p_slot *slot)
{
	int ret = 0;

	if (nbytes > p->size - p->used)
		return -ENOSPC;
	if (p->kernel_pages) {
		slot->vaddr = pci_alloc_p2pmem(p->pdev, nbytes);
		ret = slot->vaddr ? 0 : -ENOSPC;
	} else {
		ret = own_alloc(p, nbytes, slot);
	}
	if (ret)
		return ret;
	slot->page = virt_to_page(slot->vaddr);
	p->used += nbytes;
	return 0;
}

void p2p_slot_free(struct p2p_provider *p, u64 nbytes, struct p2p_slot *slot)
{
	if (!slot->vaddr)
		return;
	if (p->kernel_pages)
		pci_free_p2pmem(p->pdev, slot->vaddr, nbytes);
	else
		bitmap_clear(p->map, (slot->vaddr - p->vaddr) >> PAGE_SHIFT, nbytes >> PAGE_SHIFT);
	slot->vaddr = NULL;
	slot->page = NULL;
	p->used -= nbytes;
}

int p2p_pages_open(struct p2p_provider *p)
{
	int ret;

	if (!p->kernel_pages) {
		ret = own_open(p);
		if (ret)
			return ret;
	}
	ret = p2p_slot_alloc(p, P2P_KEPT, &p->kept);
	if (ret && !p->kernel_pages)
		own_close(p);
	return ret;
}

void p2p_pages_close(struct p2p_provider *p)
{
	p2p_slot_free(p, P2P_KEPT, &p->kept);
	if (!p->kernel_pages)
		own_close(p);
}
