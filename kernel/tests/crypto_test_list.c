// SPDX-License-Identifier: GPL-2.0-only
/* Scatterlists of every kind, and what may not be touched around them. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "crypto_test.h"

#define ENTRIES	1024u
#define NOBODY	0xaa

enum { VM, PAGES };

u32 ct_rnd(struct ct_rnd *r)
{
	r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
	return r->state >> 33;
}

void ct_fill(struct ct_rnd *r, u8 *p, size_t n, unsigned int kind)
{
	u32 x = ct_rnd(r);
	size_t i;

	for (i = 0; i < n; i++) {
		if (kind == CT_NOISE || i % 97 == 0)
			x = x * 1664525u + 1013904223u;
		p[i] = kind == CT_NOISE ? x >> 24 : kind == CT_TEXT ? 'a' + (x >> (i % 17)) % 13 : x >> 27;
	}
}

void ct_list_close(struct ct_list *l)
{
	sg_free_table(&l->table);
	kvfree(l->piece);
	vfree(l->mem[VM]);
	if (l->mem[PAGES] && l->single)
		free_pages_exact(l->mem[PAGES], l->size);
	else if (l->mem[PAGES])
		free_pages((unsigned long)l->mem[PAGES], get_order(l->size));
	memset(l, 0, sizeof(*l));
}

/*
 * Contiguous pages of three kinds: single ones, a compound page, and a block whose pages behind the first nobody may hold, as they
 * count no references. Where memory is in pieces there are none; then all is vmalloc'ed.
 */
static u8 *contiguous(struct ct_list *l)
{
	static atomic_t kinds;
	unsigned int kind = (unsigned int)atomic_inc_return(&kinds) % 3;
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;

	l->single = !kind;
	if (l->single)
		return alloc_pages_exact(l->size, gfp);
	return (u8 *)__get_free_pages(kind == 1 ? gfp | __GFP_COMP : gfp, get_order(l->size));
}

int ct_list_open(struct ct_list *l, size_t max)
{
	memset(l, 0, sizeof(*l));
	l->size = PAGE_ALIGN(2 * (max + CT_GUARD) + 32768);
	l->max = min_t(size_t, 128 + max / 8 + 2 * max / PAGE_SIZE, ENTRIES + 2 * max / PAGE_SIZE);
	l->piece = kvcalloc(l->max, sizeof(*l->piece), GFP_KERNEL);
	l->mem[VM] = vmalloc(l->size);
	l->mem[PAGES] = contiguous(l);
	if (l->piece && l->mem[VM] && !sg_alloc_table(&l->table, l->max, GFP_KERNEL)) {
		l->sg = l->last = l->table.sgl;
		return 0;
	}
	ct_list_close(l);
	return -ENOMEM;
}

static void add_entry(struct ct_list *l, struct page *page, unsigned int off, size_t n)
{
	struct scatterlist *sg = l->nents ? sg_next(l->last) : l->table.sgl;

	sg_set_page(sg, page, n, off);
	l->last = sg;
	l->nents++;
}

/* A piece behind a gap; false: this memory has no room for it. */
static bool add_piece(struct ct_list *l, unsigned int m, size_t gap, size_t n)
{
	size_t at = l->at[m] + gap, left, len;

	if (!l->mem[m] || at + n + CT_GUARD > l->size)
		return false;
	l->piece[l->n++] = (struct ct_piece){ l->mem[m] + at, n, gap };
	memset(l->mem[m] + l->at[m], NOBODY, gap + n + CT_GUARD);
	l->at[m] = at + n;
	if (m == PAGES) {
		add_entry(l, virt_to_page(l->mem[m] + at), offset_in_page(l->mem[m] + at), n);
		return true;
	}
	for (left = n; left; left -= len, at += len) {
		len = min_t(size_t, left, PAGE_SIZE - offset_in_page(at));
		add_entry(l, vmalloc_to_page(l->mem[m] + at), offset_in_page(at), len);
	}
	return true;
}

/* The next piece's gap and length by style. */
static size_t next_piece(struct ct_rnd *r, unsigned int style, size_t at, size_t left, size_t *gap)
{
	static const u16 odd[] = { 1, 7, 511, 4095 };

	*gap = 0;
	switch (style) {
	case CT_PAGES:
		*gap = PAGE_ALIGN(at) - at;
		return PAGE_SIZE;
	case CT_BLOCKS:
		*gap = ALIGN(at, 512) - at + 512 * ct_below(r, 3);
		return 512 * (1 + ct_below(r, 12));
	case CT_RANDOM:
		*gap = ct_below(r, 40);
		return 1 + ct_below(r, 9000);
	case CT_SMALL:
		*gap = ct_below(r, 9);
		return 1 + ct_below(r, 48);
	case CT_ODD:
		*gap = at ? 0 : odd[ct_below(r, ARRAY_SIZE(odd))];
		return left;
	default:
		*gap = PAGE_ALIGN(at) - at;
		return left;
	}
}

static unsigned int which(struct ct_rnd *r, unsigned int style)
{
	return style == CT_FLAT ? PAGES : style == CT_PAGES || style == CT_ODD ? VM : ct_below(r, 2);
}

static void reset(struct ct_list *l)
{
	if (l->nents)
		sg_unmark_end(l->last);
	l->n = l->nents = 0;
	l->at[0] = l->at[1] = 0;
}

static void put(const struct ct_list *l, const u8 *p, size_t n)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < l->n && n; i++, n -= len, p += len) {
		len = min(n, l->piece[i].n);
		memcpy(l->piece[i].p, p, len);
	}
}

bool ct_scatter(struct ct_rnd *r, struct ct_list *l, unsigned int style, const u8 *p, size_t n)
{
	size_t left = n + CT_GUARD, gap, len;
	unsigned int m;

	reset(l);
	while (left) {
		m = which(r, style);
		len = min(next_piece(r, style, l->at[m], left, &gap), left);
		/* The entries that are left must do for the rest in pages. */
		if (l->nents + 2 * (left / PAGE_SIZE + 4) >= l->max)
			len = left;
		if (!add_piece(l, m, gap, len) && !add_piece(l, !m, 0, len))
			return false;
		left -= len;
	}
	sg_mark_end(l->last);
	if (p)
		put(l, p, n);
	return true;
}

void ct_gather(const struct ct_list *l, u8 *p, size_t n)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < l->n && n; i++, n -= len, p += len) {
		len = min(n, l->piece[i].n);
		memcpy(p, l->piece[i].p, len);
	}
}

bool ct_holds(const struct ct_list *l, const u8 *p, size_t n)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < l->n && n; i++, n -= len, p += len) {
		len = min(n, l->piece[i].n);
		if (memcmp(l->piece[i].p, p, len))
			return false;
	}
	return true;
}

static bool nobodys(const u8 *p, size_t n)
{
	return !memchr_inv(p, NOBODY, n);
}

bool ct_guarded(const struct ct_list *l, size_t n)
{
	unsigned int i;
	size_t used;

	for (i = 0; i < l->n; i++, n -= used) {
		used = min(n, l->piece[i].n);
		if (!nobodys(l->piece[i].p - l->piece[i].gap, l->piece[i].gap) ||
		    !nobodys(l->piece[i].p + used, l->piece[i].n - used))
			return false;
	}
	return (!l->at[VM] || nobodys(l->mem[VM] + l->at[VM], CT_GUARD)) &&
	       (!l->at[PAGES] || nobodys(l->mem[PAGES] + l->at[PAGES], CT_GUARD));
}

void ct_flip(const struct ct_list *l, size_t at)
{
	unsigned int i;

	for (i = 0; i < l->n; at -= l->piece[i++].n) {
		if (at < l->piece[i].n) {
			l->piece[i].p[at] ^= 1;
			return;
		}
	}
}

unsigned int ct_flat(struct scatterlist *sg, u8 *p, size_t n)
{
	unsigned int k = CT_FLAT_ENTS(n), i = 0;
	size_t len;

	sg_init_table(sg, k);
	do {
		len = min_t(size_t, n, PAGE_SIZE - offset_in_page(p));
		sg_set_page(&sg[i++], vmalloc_to_page(p), len, offset_in_page(p));
		n -= len;
		p += len;
	} while (n);
	sg_mark_end(&sg[i - 1]);
	return i;
}
