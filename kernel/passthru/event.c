// SPDX-License-Identifier: GPL-2.0-only
/*
 * Namespaces that come, go or change. The local nvme-core is told at once, whatever it asked for: for it this is no more
 * than to look again, and a request that it has not sent yet cannot lose the news. Users may send requests for events
 * through the character device, and these are answered by the rules: only what feature 0Bh asks for, not again before the
 * log has been read, not more requests than Identify says.
 */
#include "core.h"

#define EVENT_NS_CHANGED (NVME_AER_NOTICE | NVME_AER_NOTICE_NS_CHANGED << 8 | NVME_LOG_CHANGED_NS << 16)

void nap_event_init(struct nap_live *l)
{
	spin_lock_init(&l->aer_lock);
}

/* The oldest request, if there is news for it; it has left the list. */
static struct nap_req *take_if_due(struct nap_live *l)
{
	struct nap_req *r = l->aer[0];

	lockdep_assert_held(&l->aer_lock);
	if (!r || !l->ns_event || l->ns_masked || !l->ns_wanted)
		return NULL;
	memmove(&l->aer[0], &l->aer[1], sizeof(l->aer) - sizeof(l->aer[0]));
	l->aer[NAP_AERL - 1] = NULL;
	l->ns_event = false;
	l->ns_masked = true;
	return r;
}

static void answer(struct nap_req *r)
{
	if (r)
		nap_complete(r, 0, nap_result(EVENT_NS_CHANGED), NAP_R_OK);
}

static void news(struct nap_live *l, u32 nsid)
{
	struct nap_req *r;
	unsigned long flags;

	spin_lock_irqsave(&l->aer_lock, flags);
	__set_bit(nsid, l->ns_changed);
	l->ns_event = true;
	r = take_if_due(l);
	spin_unlock_irqrestore(&l->aer_lock, flags);
	answer(r);
}

void nap_event_ns_changed(struct nap_ctrl *c, u32 nsid)
{
	union nvme_result result = nap_result(EVENT_NS_CHANGED);
	unsigned long flags;

	if (WARN_ON_ONCE(!nsid || nsid > NAP_MAX_NSID))
		return;
	spin_lock_irqsave(&c->live_lock, flags);
	if (c->live) {
		news(c->live, nsid);
		nvme_complete_async_event(&c->live->ctrl, 0, &result);
	}
	spin_unlock_irqrestore(&c->live_lock, flags);
}

void nap_event_config(struct nap_live *l, u32 config)
{
	struct nap_req *r;
	unsigned long flags;

	spin_lock_irqsave(&l->aer_lock, flags);
	l->ns_wanted = config & NVME_AEN_CFG_NS_ATTR;
	r = take_if_due(l);
	spin_unlock_irqrestore(&l->aer_lock, flags);
	answer(r);
}

u16 nap_event_request(struct nap_live *l, struct nap_req *r)
{
	u16 status = NAP_SC_AER_LIMIT;
	struct nap_req *first;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&l->aer_lock, flags);
	if (!l->aer_open)
		status = NAP_SC_ABORTED;
	for (i = 0; l->aer_open && i < NAP_AERL && status; i++) {
		if (l->aer[i])
			continue;
		l->aer[i] = r;
		status = 0;
	}
	first = take_if_due(l);
	spin_unlock_irqrestore(&l->aer_lock, flags);
	answer(first);
	return status;
}

bool nap_event_abort(struct nap_live *l, struct nap_req *r)
{
	unsigned long flags;
	bool found = false;
	unsigned int i;

	spin_lock_irqsave(&l->aer_lock, flags);
	for (i = 0; i < NAP_AERL; i++) {
		if (l->aer[i] == r)
			found = true;
		if (found)
			l->aer[i] = i + 1 < NAP_AERL ? l->aer[i + 1] : NULL;
	}
	spin_unlock_irqrestore(&l->aer_lock, flags);
	if (found)
		nap_complete(r, NAP_SC_ABORTED, nap_result(0), NAP_R_OK);
	return found;
}

void nap_event_open(struct nap_live *l)
{
	spin_lock_irq(&l->aer_lock);
	l->aer_open = true;
	spin_unlock_irq(&l->aer_lock);
}

void nap_event_close(struct nap_live *l)
{
	struct nap_req *r;

	spin_lock_irq(&l->aer_lock);
	l->aer_open = false;
	spin_unlock_irq(&l->aer_lock);
	while ((r = READ_ONCE(l->aer[0])))
		nap_event_abort(l, r);
}

void nap_event_log(struct nap_live *l, __le32 *list, bool clear)
{
	struct nap_req *r = NULL;
	unsigned long flags;
	unsigned int nsid, n = 0;

	spin_lock_irqsave(&l->aer_lock, flags);
	for_each_set_bit(nsid, l->ns_changed, NAP_MAX_NSID + 1)
		list[n++] = cpu_to_le32(nsid);
	if (clear) {
		bitmap_zero(l->ns_changed, NAP_MAX_NSID + 1);
		l->ns_event = false;
		l->ns_masked = false;
		r = take_if_due(l);
	}
	spin_unlock_irqrestore(&l->aer_lock, flags);
	answer(r);
}
