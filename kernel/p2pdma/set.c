// SPDX-License-Identifier: GPL-2.0-only
/* Sets of slots: of one open file, in one provider's CMB. */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include "p2p.h"

#define SLOT_MAX	(1u << 30)	/* a bio's length has 32 bits */

static void free_slots(struct p2p_set *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		p2p_slot_free(s->p, s->slot_bytes, &s->slots[i]);
}

static int alloc_slots(struct p2p_set *s)
{
	u32 i;
	int ret;

	for (i = 0; i < s->nr; i++) {
		ret = p2p_slot_alloc(s->p, s->slot_bytes, &s->slots[i]);
		if (ret) {
			free_slots(s);
			return ret;
		}
	}
	return 0;
}

/* Takes the slots, if the provider still has memory. */
static int attach(struct p2p_set *s)
{
	struct p2p_provider *p = s->p;
	int ret;

	mutex_lock(&p->lock);
	ret = p->dead ? -ENODEV : alloc_slots(s);
	if (!ret) {
		list_add_tail(&s->entry, &p->sets);
		p->nr_sets++;
	}
	mutex_unlock(&p->lock);
	return ret;
}

static void detach(struct p2p_set *s)
{
	struct p2p_provider *p = s->p;

	mutex_lock(&p->lock);
	list_del(&s->entry);
	p->nr_sets--;
	if (!p->closed)
		free_slots(s);
	mutex_unlock(&p->lock);
}

/* The pages are going: what the kernel's p2pdma lent is given back; user mappings end. */
void p2p_sets_close(struct p2p_provider *p)
{
	struct p2p_set *s;

	list_for_each_entry(s, &p->sets, entry) {
		p2p_mmap_zap(s);
		free_slots(s);
	}
}

static void free_set(struct p2p_set *s)
{
	p2p_provider_put(s->p);
	bitmap_free(s->busy);
	kvfree(s);
}

static int new_set(struct p2p_file *f, const struct nvme_accel_p2p_alloc *a, struct p2p_set **set)
{
	struct p2p_set *s = kvzalloc(struct_size(s, slots, a->nr_slots), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!s)
		return ret;
	s->busy = bitmap_zalloc(a->nr_slots, GFP_KERNEL);
	if (!s->busy)
		goto free;
	ret = -ENODEV;
	s->p = p2p_provider_find(a->provider);
	if (!s->p)
		goto free_busy;
	s->nr = a->nr_slots;
	s->slot_bytes = a->slot_bytes;
	s->mapping = f->mapping;
	if (p2p_allow_user_pages && !s->p->kernel_pages)
		s->mmap_offset = p2p_mmap_offset();
	ret = attach(s);
	if (ret)
		goto put;
	*set = s;
	return 0;
put:
	p2p_provider_put(s->p);
free_busy:
	bitmap_free(s->busy);
free:
	kvfree(s);
	return ret;
}

int p2p_set_alloc(struct p2p_file *f, struct nvme_accel_p2p_alloc *a)
{
	struct p2p_set *s;
	int ret;

	if (!a->nr_slots || a->nr_slots > NVME_ACCEL_P2P_MAX_SLOTS || !a->slot_bytes || a->slot_bytes > SLOT_MAX ||
	    !IS_ALIGNED(a->slot_bytes, PAGE_SIZE))
		return -EINVAL;
	if (f->nr_sets >= NVME_ACCEL_P2P_MAX_SETS)
		return -EMFILE;
	ret = new_set(f, a, &s);
	if (ret)
		return ret;
	ret = xa_alloc_cyclic(&f->sets, &a->handle, s, XA_LIMIT(1, INT_MAX), &f->next_set, GFP_KERNEL);
	if (ret < 0) {
		detach(s);
		free_set(s);
		return ret;
	}
	a->mmap_offset = s->mmap_offset;
	f->nr_sets++;
	return 0;
}

struct p2p_set *p2p_set_find(struct p2p_file *f, u32 handle)
{
	return xa_load(&f->sets, handle);
}

static void release_set(struct p2p_file *f, u32 handle, struct p2p_set *s)
{
	xa_erase(&f->sets, handle);
	f->nr_sets--;
	detach(s);
	free_set(s);
}

int p2p_set_free(struct p2p_file *f, u32 handle)
{
	struct p2p_set *s = p2p_set_find(f, handle);

	if (!s)
		return -ENOENT;
	if (!bitmap_empty(s->busy, s->nr) || !p2p_mmap_idle(s))
		return -EBUSY;
	release_set(f, handle, s);
	return 0;
}

/* The file is being closed: no job is left, and no mapping, but perhaps a page that is still pinned. */
void p2p_set_free_all(struct p2p_file *f)
{
	struct p2p_set *s;
	unsigned long handle;

	xa_for_each(&f->sets, handle, s) {
		p2p_mmap_zap(s);
		release_set(f, handle, s);
	}
}

int p2p_set_claim(struct p2p_set *s, u32 first, u32 n)
{
	if (!n || first >= s->nr || n > s->nr - first)
		return -EINVAL;
	if (find_next_bit(s->busy, first + n, first) < first + n)
		return -EBUSY;
	bitmap_set(s->busy, first, n);
	return 0;
}

void p2p_set_unclaim(struct p2p_set *s, u32 first, u32 n)
{
	bitmap_clear(s->busy, first, n);
}
