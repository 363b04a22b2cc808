/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A namespace of another controller that one of ours forwards to: found, pinned and watched (lower.c, lower_watch.c).
 *
 * The other controller may be removed at any time, and nothing here holds that up: what removal waits for is commands,
 * never references. While `below` is not NULL the namespace, its controller, the controller's admin queue and its
 * driver's module are pinned; the watch gives them back as soon as removal is seen, and takes the namespace up again when
 * it comes back.
 */
#ifndef NAP_LOWER_H
#define NAP_LOWER_H

#include <linux/workqueue.h>
#include "nap.h"

/* Whose namespace it was, to know it again. */
struct nap_lower_id {
	char subnqn[NVMF_NQN_SIZE];
	char serial[20], model[40];
	struct nvme_ns_ids ids;
};

struct nap_lower {
	struct nvme_ns __rcu *below;	/* NULL: gone. Changed by the watch alone */
	bool gone;			/* removal was seen; the watch will take below away */
	u8 lba_shift;
	u32 nsid;			/* below */
	struct nap_ns *ns;		/* whom it serves */
	struct list_head entry;		/* of all, under nap_lower_lock */
	/* The watch's; before it runs, the opener's. */
	struct nvme_ctrl *ctrl;		/* of below, pinned, and its admin queue; NULL with it */
	struct request_queue *admin_q;
	struct nap_lower_id id;
	bool shared;
	int stranger;			/* instance of a controller that was told to be another one, or -1 */
	struct delayed_work watch;
	/* Identify Namespace, as last read by the watch. */
	struct mutex page_lock;
	struct nvme_id_ns *page;
	atomic_t asked;			/* how often it was asked for, */
	atomic_t answered;		/* and up to which of them the page is */
	wait_queue_head_t answer;
};

/* May sleep. What cannot be served is told in the kernel log and refused. Sets what enable() sets in ns. */
int nap_lower_open(struct nap_ns *ns, struct nap_lower **lower);
/* No command is in flight any more. Waits for the watch, which may wait for an Identify below. */
void nap_lower_close(struct nap_lower *l);
/* Identify Namespace as it is now, or as it was if what is below is gone or does not answer within 4 s. */
void nap_lower_identify(struct nap_lower *l, struct nvme_id_ns *page);
u64 nap_lower_nblocks(struct nvme_ns *below);
u32 nap_lower_max_bytes(struct nvme_ns *below);

/* Whether commands can still end well there: not on a namespace that is being removed. Atomic, under RCU. */
static inline bool nap_lower_alive(const struct nap_lower *l, struct nvme_ns *below)
{
	enum nvme_ctrl_state state = nvme_ctrl_state(below->ctrl);

	return !READ_ONCE(l->gone) && state != NVME_CTRL_DELETING && state != NVME_CTRL_DELETING_NOIO &&
	       state != NVME_CTRL_DEAD && !blk_queue_dying(below->queue) && !test_bit(NVME_NS_REMOVING, &below->flags);
}

/* Whether it is being reset or connected anew. */
static inline bool nap_lower_away(const struct nvme_ns *below)
{
	return nvme_ctrl_state(below->ctrl) != NVME_CTRL_LIVE;
}

/* Whether it is so for longer than its own users are made to wait (fast_io_fail_tmo). */
static inline bool nap_lower_lost(const struct nvme_ns *below)
{
	return nap_lower_away(below) && test_bit(NVME_CTRL_FAILFAST_EXPIRED, &below->ctrl->flags);
}

/* ---- Between lower.c and lower_watch.c ---- */

extern spinlock_t nap_lower_lock;
extern struct list_head nap_lowers;

int nap_lower_pin(struct nap_lower *l, struct nvme_ctrl *ctrl);
void nap_lower_unpin(struct nap_lower *l);
void nap_lower_id_of(struct nap_lower_id *id, struct nvme_ctrl *ctrl, struct nvme_ns *below);
bool nap_lower_same_ids(const struct nvme_ns_ids *a, const struct nvme_ns_ids *b);
/* Why it cannot be served, or NULL. */
const char *nap_lower_unfit(struct nvme_ns *below);
/* Identify Namespace by the pinned admin queue: 0, an NVMe status (> 0), or a negative errno. May take a minute. */
int nap_lower_read(struct nap_lower *l, struct nvme_id_ns *page);

void nap_lower_watch_init(struct nap_lower *l);
int nap_lower_watch_start(struct nap_lower *l);
void nap_lower_watch_stop(struct nap_lower *l);

#endif
