// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a namespace: commands in flight, bytes/s, commands/s.
 *
 * Each rate is a virtual clock: a command moves it on by what it costs, and may start when the clock is not ahead of
 * time. The clock may be behind by NAP_BURST_NS at most. So in any time t no more than rate * (t + NAP_BURST_NS) and one
 * command are let through, and a command of any size gets its turn.
 *
 * A command that is refused stays in the block layer, which offers it again when its queue is run: by a timer when the
 * rates have room, and when a command ends. Between our refusal and the moment at which the command lies where a run
 * finds it there is a gap without a bound, so a run may come too early. Therefore runs are repeated like an echo, at
 * doubling distances, until they have brought no refusal for about a second.
 *
 * Where room is scarce, hardware queues take turns: one that is refused for want of room goes to the end of the line,
 * and the next one has NAP_GRACE_NS to come before anybody may take its place.
 */
#include <linux/math64.h>
#include "nap.h"
#include "compat.h"

#define NAP_BURST_NS	(10 * NSEC_PER_MSEC)
#define NAP_GRACE_NS	NSEC_PER_MSEC
#define NAP_ECHO_MIN_NS	((u32)NSEC_PER_MSEC)
#define NAP_ECHO_MAX_NS	(512 * NAP_ECHO_MIN_NS)

static bool limited(const struct nap_limit *l)
{
	return READ_ONCE(l->max_inflight) || READ_ONCE(l->max_bytes_per_sec) || READ_ONCE(l->max_cmds_per_sec);
}

static bool inflight_room(const struct nap_limit *l)
{
	u32 max = READ_ONCE(l->max_inflight);

	return !max || (u32)atomic_read(&l->inflight) < max;
}

/* From when the rates let a command pass. */
static u64 rates_room_at(const struct nap_limit *l)
{
	u64 at = 0;

	if (READ_ONCE(l->max_bytes_per_sec))
		at = l->bytes_at_ns;
	if (READ_ONCE(l->max_cmds_per_sec))
		at = max(at, l->cmds_at_ns);
	return at;
}

/* What a command costs, in time; 0 where there is no such limit. */
struct cost {
	u64 bytes_ns, cmds_ns;
};

static struct cost cost_of(const struct nap_limit *l, u32 nbytes)
{
	u64 bytes = READ_ONCE(l->max_bytes_per_sec), cmds = READ_ONCE(l->max_cmds_per_sec);

	return (struct cost){
		.bytes_ns = bytes ? DIV64_U64_ROUND_UP((u64)nbytes * NSEC_PER_SEC, bytes) : 0,
		.cmds_ns = cmds ? DIV64_U64_ROUND_UP(NSEC_PER_SEC, cmds) : 0,
	};
}

static void charge(struct nap_limit *l, u32 nbytes, u64 now)
{
	u64 oldest = now - min_t(u64, now, NAP_BURST_NS);
	struct cost cost = cost_of(l, nbytes);

	l->bytes_at_ns = max(l->bytes_at_ns, oldest) + cost.bytes_ns;
	l->cmds_at_ns = max(l->cmds_at_ns, oldest) + cost.cmds_ns;
}

/* ---- Who waits, and how it is woken; all with l->lock held ---- */

static void arm(struct nap_limit *l, u64 now)
{
	u64 at = rates_room_at(l);

	/* Nothing can pass before a command ends: nap_limit_put() comes then. */
	if (at <= now && !inflight_room(l))
		return;
	if (at <= now)
		at = now + l->echo_ns;
	if (hrtimer_is_queued(&l->timer) && hrtimer_get_expires(&l->timer) <= ns_to_ktime(at))
		return;
	hrtimer_start(&l->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

static void run_queue(struct nap_limit *l)
{
	blk_mq_run_hw_queues(l->queue, true);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct nap_limit *l = container_of(timer, struct nap_limit, timer);
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&l->lock, flags);
	if (l->waiting && !l->stopped) {
		now = ktime_get_ns();
		if (rates_room_at(l) <= now) {
			run_queue(l);
			l->echo_ns *= 2;
		}
		if (l->echo_ns > NAP_ECHO_MAX_NS && inflight_room(l)) {
			l->waiting = false;
			l->parties = 0;
		} else {
			l->echo_ns = min(l->echo_ns, NAP_ECHO_MAX_NS);
			arm(l, now);
		}
	}
	spin_unlock_irqrestore(&l->lock, flags);
	return HRTIMER_NORESTART;	/* arm() has started it again */
}

/* Puts the reference where it may sleep. */
static void drop_old(struct work_struct *work)
{
	struct nap_limit *l = container_of(work, struct nap_limit, drop);
	struct request_queue *q;
	unsigned long flags;

	spin_lock_irqsave(&l->lock, flags);
	q = l->old;
	l->old = NULL;
	spin_unlock_irqrestore(&l->lock, flags);
	if (q)
		blk_put_queue(q);
}

/*
 * q is the queue that waits from now on. The upper driver may have made a new one for the namespace since the last
 * time. False: it cannot be, as q is going away or there are two old ones; then nothing must wait.
 */
static bool adopt(struct nap_limit *l, struct request_queue *q)
{
	if (l->queue == q)
		return true;
	if (l->old || !blk_get_queue(q))
		return false;
	l->old = l->queue;
	l->queue = q;
	if (l->old)
		schedule_work(&l->drop);
	return true;
}

/* ---- Turns ---- */

static bool others_turn(const struct nap_limit *l, u8 party, u64 now)
{
	return l->turn != party && (l->parties & BIT_ULL(l->turn)) && now < l->turn_until_ns;
}

static void to_the_end_of_the_line(struct nap_limit *l, u8 party, u64 now)
{
	u64 behind;

	l->parties |= BIT_ULL(party);
	if (l->turn != party && (l->parties & BIT_ULL(l->turn)))
		return;
	behind = party == NAP_LIMIT_PARTIES - 1 ? 0 : l->parties & GENMASK_ULL(NAP_LIMIT_PARTIES - 1, party + 1);
	l->turn = __ffs64(behind ? behind : l->parties);
	l->turn_until_ns = max(rates_room_at(l), now) + NAP_GRACE_NS;
}

/* ---- Calls ---- */

static void refuse(struct nap_limit *l, u64 now)
{
	l->echo_ns = NAP_ECHO_MIN_NS;
	arm(l, now);
}

static bool may_pass(struct nap_limit *l, struct request_queue *q, u8 party, u64 now)
{
	if (!others_turn(l, party, now)) {
		if (rates_room_at(l) <= now && inflight_room(l))
			return true;
		to_the_end_of_the_line(l, party, now);
	} else {
		l->parties |= BIT_ULL(party);
	}
	if (!adopt(l, q))
		return true;
	WRITE_ONCE(l->waiting, true);
	/* Either nap_limit_put() sees that somebody waits, or its room is seen here: pairs with its barrier. */
	smp_mb();
	return rates_room_at(l) <= now && inflight_room(l) && !others_turn(l, party, now);
}

bool nap_limit_get(struct nap_limit *l, struct nap_req *r)
{
	struct request *rq = nap_rq(r);
	u8 party = rq->mq_hctx->queue_num % NAP_LIMIT_PARTIES;
	unsigned long flags;
	bool pass = true;
	u64 now;

	if (limited(l)) {
		spin_lock_irqsave(&l->lock, flags);
		now = ktime_get_ns();
		pass = l->stopped || may_pass(l, rq->q, party, now);
		if (pass) {
			l->parties &= ~BIT_ULL(party);
			charge(l, r->nbytes, now);
			atomic_inc(&l->inflight);
		} else {
			refuse(l, now);
		}
		spin_unlock_irqrestore(&l->lock, flags);
	} else {
		atomic_inc(&l->inflight);
	}
	r->limited = pass;
	return pass;
}

void nap_limit_put(struct nap_limit *l, struct nap_req *r)
{
	unsigned long flags;
	u64 now;

	if (!r->limited)
		return;
	r->limited = false;
	atomic_dec(&l->inflight);
	smp_mb__after_atomic();
	if (!READ_ONCE(l->waiting) || !READ_ONCE(l->max_inflight))
		return;
	spin_lock_irqsave(&l->lock, flags);
	now = ktime_get_ns();
	if (l->waiting && !l->stopped && rates_room_at(l) <= now) {
		l->turn_until_ns = now + NAP_GRACE_NS;
		run_queue(l);
		arm(l, now);
	}
	spin_unlock_irqrestore(&l->lock, flags);
}

void nap_limit_undo(struct nap_limit *l, struct nap_req *r)
{
	unsigned long flags;
	struct cost cost;

	if (r->limited && limited(l)) {
		spin_lock_irqsave(&l->lock, flags);
		cost = cost_of(l, r->nbytes);
		l->bytes_at_ns -= min(l->bytes_at_ns, cost.bytes_ns);
		l->cmds_at_ns -= min(l->cmds_at_ns, cost.cmds_ns);
		spin_unlock_irqrestore(&l->lock, flags);
	}
	nap_limit_put(l, r);
}

void nap_limit_changed(struct nap_limit *l)
{
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&l->lock, flags);
	now = ktime_get_ns();
	/* Debts under the old rates are forgiven: a new one counts from here. */
	l->bytes_at_ns = now;
	l->cmds_at_ns = now;
	if (l->waiting && !l->stopped) {
		l->echo_ns = NAP_ECHO_MIN_NS;
		run_queue(l);
		arm(l, now);
	}
	spin_unlock_irqrestore(&l->lock, flags);
}

void nap_limit_init(struct nap_limit *l)
{
	u64 now = ktime_get_ns();

	spin_lock_init(&l->lock);
	atomic_set(&l->inflight, 0);
	l->bytes_at_ns = now;
	l->cmds_at_ns = now;
	l->parties = 0;
	l->turn = 0;
	l->turn_until_ns = 0;
	l->stopped = false;
	l->waiting = false;
	l->echo_ns = NAP_ECHO_MIN_NS;
	l->queue = NULL;
	l->old = NULL;
	INIT_WORK(&l->drop, drop_old);
	hrtimer_setup(&l->timer, timer_fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void nap_limit_stop(struct nap_limit *l)
{
	struct request_queue *q;
	unsigned long flags;

	spin_lock_irqsave(&l->lock, flags);
	l->stopped = true;
	WRITE_ONCE(l->waiting, false);
	q = l->queue;
	l->queue = NULL;
	spin_unlock_irqrestore(&l->lock, flags);
	hrtimer_cancel(&l->timer);
	flush_work(&l->drop);
	if (!q)
		return;
	/*
	 * Waits until whoever was just being told no has put its command back; then unquiesce runs the queue, which finds
	 * all that there is.
	 */
	blk_mq_quiesce_queue(q);
	blk_mq_unquiesce_queue(q);
	blk_put_queue(q);
}
