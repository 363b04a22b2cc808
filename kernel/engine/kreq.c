// SPDX-License-Identifier: GPL-2.0-only
/* Requests to the crypto API: scatterlists of any memory, and waiting with a limit. */
#include <linux/vmalloc.h>
#include "kpriv.h"

#define ENTRIES_FIRST 64u

struct kreq *kreq_get(struct kengine_thread *t)
{
	if (!t->kreq) {
		t->kreq = kzalloc(sizeof(*t->kreq), GFP_KERNEL);
		if (t->kreq)
			crypto_init_wait(&t->kreq->wait);
	}
	return t->kreq;
}

void kreq_free(struct kreq *q)
{
	if (!q)
		return;
	kvfree(q->in);
	kvfree(q->out);
	kvfree(q->bounce);
	kfree_sensitive(q);
}

int kreq_bounce(struct kreq *q, size_t n)
{
	if (n <= q->bounce_len)
		return 0;
	kvfree(q->bounce);
	q->bounce_len = 0;
	n = PAGE_ALIGN(n + n / 4);
	q->bounce = kvmalloc(n, GFP_KERNEL);
	if (!q->bounce)
		return -ENOMEM;
	q->bounce_len = n;
	return 0;
}

/* Makes room for one entry more. */
static int grow(struct scatterlist **sg, unsigned int *max, unsigned int used)
{
	unsigned int more = *max ? *max * 2 : ENTRIES_FIRST;
	struct scatterlist *p;

	if (used < *max)
		return 0;
	p = kvmalloc_array(more, sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	if (used)
		memcpy(p, *sg, used * sizeof(*p));
	kvfree(*sg);
	*sg = p;
	*max = more;
	return 0;
}

/* The part of a piece that lies in one page, or all of it where addresses are physical ones. */
static struct page *page_of(const void *p, size_t *n)
{
	if (!is_vmalloc_addr(p))
		return virt_to_page(p);
	*n = min_t(size_t, *n, PAGE_SIZE - offset_in_page(p));
	return vmalloc_to_page(p);
}

int kreq_add_flat(struct scatterlist **sg, unsigned int *max, unsigned int *used, const void *p, size_t n)
{
	const u8 *at = p;
	struct page *page;
	size_t len;

	for (; n; n -= len, at += len) {
		if (grow(sg, max, *used))
			return -ENOMEM;
		len = n;
		page = page_of(at, &len);
		sg_init_table(*sg + *used, 1);
		sg_unmark_end(*sg + *used);
		sg_set_page(*sg + *used, page, len, offset_in_page(at));
		++*used;
	}
	return 0;
}

int kreq_add(struct scatterlist **sg, unsigned int *max, unsigned int *used, struct iov_pos *pos, u64 n)
{
	size_t len;
	void *p;

	for (; n; n -= len) {
		len = iov_next(pos, &p, n);
		if (!len)
			return -EINVAL;
		if (kreq_add_flat(sg, max, used, p, len))
			return -ENOMEM;
	}
	return 0;
}

void kreq_end(struct scatterlist *sg, unsigned int used)
{
	if (used)
		sg_mark_end(sg + used - 1);
}

int kreq_wait(struct kengine_thread *t, struct kprov *p, struct kreq *q, int err)
{
	if (err != -EINPROGRESS && err != -EBUSY)
		return err;
	/* Software behind a work queue always answers. */
	if (!p->hard) {
		wait_for_completion(&q->wait.completion);
	} else if (!wait_for_completion_timeout(&q->wait.completion, KENGINE_WAIT)) {
		WRITE_ONCE(p->lost, true);
		t->kreq = NULL;
		pr_err("nvme-accel: %s has not answered for %u s and is not used any more\n", p->driver, KENGINE_WAIT / HZ);
		return -ETIMEDOUT;
	}
	reinit_completion(&q->wait.completion);
	return q->wait.err;
}
