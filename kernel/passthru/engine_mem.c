// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of slots. The model asks for an area when a job first needs it (lazy_memory), so jobs that work in place
 * cost none; what a lease has had is wiped and given back when it ends.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "engine.h"

static unsigned int max_slot_memory;
module_param(max_slot_memory, uint, 0644);
MODULE_PARM_DESC(max_slot_memory, "MiB of slot memory that the leases of an engine namespace may have together; "
		 "0: an eighth of the machine's memory");

static u64 limit(void)
{
	u64 mib = READ_ONCE(max_slot_memory);

	return mib ? mib << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 3;
}

/*
 * Called in the worker, with the lock. It may be that memory is reclaimed by way of this very namespace, so there is no
 * waiting for I/O (the thread is in memalloc_noio_save()), and no trying for long: the host is told NO_RESOURCES and
 * comes back, or does without.
 */
void *eng_mem_get(void *ctx, size_t nbytes)
{
	struct nap_engine *e = ctx;
	void *p = NULL;

	if (e->memory + nbytes <= limit())
		p = __vmalloc(nbytes, GFP_NOIO | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN);
	if (p)
		e->memory += nbytes;
	else
		pr_warn_ratelimited(NAP_NAME ": %s namespace %u: no memory for a slot: leases have %llu of at most "
				    "%llu MiB (parameter max_slot_memory)\n", nap_ctrl_name(e->ns->ctrl), e->ns->nsid,
				    e->memory >> 20, limit() >> 20);
	return p;
}

void eng_mem_zero(void *ctx, void *p, size_t nbytes)
{
	memset(p, 0, nbytes);
}

void eng_mem_put(void *ctx, void *p, size_t nbytes)
{
	struct nap_engine *e = ctx;

	vfree(p);
	e->memory -= nbytes;
	e->forgets++;
}
