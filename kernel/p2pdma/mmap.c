// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tier 3: a set in a program's memory, so that O_DIRECT of any file on an NVMe namespace moves data between devices. The kernel does not
 * know these pages for what they are, and what a program does with them is not looked at: for root, behind a parameter that
 * taints. Every area has offsets of its own, so that it can be found and taken away when the provider goes.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include "p2p.h"
#include "compat.h"

#define AREA_SHIFT	40		/* bytes of offsets that a set has: MAX_SLOTS of 1 GiB */
#define PIN_POLL_MS	20
#define PIN_TELL	(10 * HZ)

static atomic_t last_area = ATOMIC_INIT(0);

u64 p2p_mmap_offset(void)
{
	return (u64)(atomic_inc_return(&last_area) & 0x3fffff) << AREA_SHIFT;
}

/* ---- Who has pages ---- */

/* A page that nobody has counts one. */
static bool pinned(const struct p2p_set *s)
{
	unsigned long n = s->slot_bytes >> PAGE_SHIFT, i;
	u32 slot;

	for (slot = 0; slot < s->nr; slot++)
		for (i = 0; s->slots[slot].page && i < n; i++)
			if (page_ref_count(s->slots[slot].page + i) > 1)
				return true;
	return false;
}

bool p2p_mmap_idle(struct p2p_set *s)
{
	return !s->mmap_offset || (!atomic_read(&s->mapped) && !pinned(s));
}

/* Transfers end by themselves. Somebody who keeps pages for longer (fixed buffers of io_uring) is waited for, and told of. */
void p2p_mmap_zap(struct p2p_set *s)
{
	unsigned long tell = jiffies + PIN_TELL;

	if (!s->mmap_offset)
		return;
	unmap_mapping_range(s->mapping, s->mmap_offset, 1ull << AREA_SHIFT, 1);
	while (pinned(s)) {
		msleep(PIN_POLL_MS);
		if (time_before(jiffies, tell))
			continue;
		pci_notice(s->p->pdev, P2P_NAME ": a program still holds pages of the CMB\n");
		tell = jiffies + PIN_TELL;
	}
}

/* ---- Areas ---- */

static void area_open(struct vm_area_struct *vma)
{
	struct p2p_set *s = vma->vm_private_data;

	atomic_inc(&s->mapped);
}

static void area_close(struct vm_area_struct *vma)
{
	struct p2p_set *s = vma->vm_private_data;

	atomic_dec(&s->mapped);
}

/* No fault(): what is touched after it was taken away is SIGBUS. */
static const struct vm_operations_struct area_ops = { .open = area_open, .close = area_close };

static struct p2p_set *find_area(struct p2p_file *f, u64 offset)
{
	struct p2p_set *s;
	unsigned long handle;

	xa_for_each(&f->sets, handle, s)
		if (s->mmap_offset && s->mmap_offset == offset)
			return s;
	return NULL;
}

/* Nothing of what was there before is shown. */
static void clear(struct p2p_set *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		memset_io((void __iomem *)s->slots[i].vaddr, 0, s->slot_bytes);
}

static int insert(struct p2p_set *s, struct vm_area_struct *vma)
{
	unsigned long n = s->slot_bytes >> PAGE_SHIFT, at = vma->vm_start, i;
	u32 slot;
	int ret;

	for (slot = 0; slot < s->nr; slot++) {
		for (i = 0; i < n; i++, at += PAGE_SIZE) {
			ret = vm_insert_page(vma, at, s->slots[slot].page + i);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int map_set(struct p2p_set *s, struct vm_area_struct *vma)
{
	int ret;

	if (vma->vm_end - vma->vm_start != s->nr * s->slot_bytes || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	mutex_lock(&s->p->lock);
	ret = s->p->dead ? -ENODEV : 0;
	if (!ret) {
		clear(s);
		vma->vm_ops = &area_ops;
		vma->vm_private_data = s;
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
		compat_vm_flags_set(vma, VM_MIXEDMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
		ret = insert(s, vma);
		if (!ret)
			atomic_inc(&s->mapped);
	}
	mutex_unlock(&s->p->lock);
	return ret;
}

int p2p_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct p2p_file *f = file->private_data;
	struct p2p_set *s;
	int ret;

	if (!p2p_allow_user_pages || IS_ENABLED(CONFIG_PCI_P2PDMA))
		return -ENODEV;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	mutex_lock(&f->lock);
	s = find_area(f, (u64)vma->vm_pgoff << PAGE_SHIFT);
	ret = s ? map_set(s, vma) : -EINVAL;
	mutex_unlock(&f->lock);
	return ret;
}
