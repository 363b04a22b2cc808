/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a request, the same above every transport.
 *
 *   queue.c       making, freeing, submitting, reaping, cancelling: the public calls
 *   queue_send.c  from a job to commands: checks, descriptor, gather lists
 *   queue_done.c  from completions to a result: status, second reads, retries, the CPU
 *   queue_timer.c what is due by the clock: deadlines, delays, the fd to poll
 *
 * A job is two commands: a write of descriptor and input that completes when the job does, and a read of
 * status and output that the device holds until then. A request is done with when both are back, because
 * until then the caller's buffers are in use. Its slot is free again when the device has said that the job
 * ended, which is the same moment unless the path failed.
 *
 * A path may be down for a while (-ENOTCONN: what was to be sent has not left). Requests then wait, by their own
 * deadlines, and their retries are not counted. A request that ends without the device having said so leaves a
 * slot of which nobody knows how far its numbers have come: the next job there first aborts the number that was
 * sent last, which uses it up whatever had become of it.
 *
 * Where the path cannot carry all of the output along with the status in one command, the rest is read when the
 * job has ended, and then the status once more: it says whether all that was still the job's.
 */
#ifndef ACCEL_API_QUEUE_PRIV_H
#define ACCEL_API_QUEUE_PRIV_H

#include "api.h"

#define QUEUE_NIOV	1024u		/* elements of a caller's list */
#define QUEUE_LIST	(QUEUE_NIOV + 3)	/* and the block before, the lead and the rest behind */
#define QUEUE_BATCH	64u
#define QUEUE_GRACE_MS	5000u		/* for a job to end after it was told to */
#define QUEUE_PATH_MS	30000u		/* that a job without a deadline waits for a path to come back */
#define QUEUE_PREFER_MS 5000u		/* and one that the CPU can do instead, at most half of its time */
#define QUEUE_NO_SLOT	UINT32_MAX

enum req_state {
	REQ_FREE,
	REQ_CPU,		/* waits for the CPU to run it, in accel_queue_reap() */
	REQ_SLOT,		/* waits for a slot */
	REQ_SENT,		/* commands are in flight */
	REQ_DELAY,		/* waits until due_ns to go on with what next says */
	REQ_DONE,		/* has its result */
};

enum req_next {
	NEXT_SEND,		/* the job again, by the number in seq */
	NEXT_READ,		/* its status and output again, as they are then */
	NEXT_WAIT,		/* the same, when it has ended */
	NEXT_SYNC,		/* the abort of the number that the slot may still be at */
};

enum req_part {
	PART_STATUS,		/* the read is of the status and as much output as goes with it */
	PART_REST,		/* of the rest of the output */
	PART_CHECK,		/* of the status once more */
};

struct req {
	struct req *next;		/* in the list of its state: free, cpu, slot, done */
	uint8_t state, after;		/* enum req_state; enum req_next for REQ_DELAY */
	uint8_t part;			/* enum req_part */
	bool wr_busy, rd_busy, ctl_busy;
	bool cancelled;			/* by the caller */
	bool timed_out;			/* by its deadline */
	bool aborted;			/* the device was told */
	bool first_read;		/* the read that was submitted along with the job */
	bool waited;			/* the read was one of the WAIT alias */
	bool clamped;			/* the device was given less room than the caller gave */
	bool known;			/* the device has said that the number in seq ended */
	bool sync;			/* seq is not the job's yet: the slot is being brought in order */
	uint32_t index;			/* in the queue's table */
	uint32_t generation;		/* in the job id */
	uint32_t which;			/* of the lease's slots; QUEUE_NO_SLOT: none */
	uint64_t seq;
	unsigned int retries, rereads;

	/* The job, copied. */
	struct accel_plan *plan;
	const struct accel_params *params;
	const struct iovec *in, *out;
	uint32_t nin, nout;
	uint64_t in_len, out_len;	/* bytes of the caller's lists */
	uint64_t dev_in, dev_out;	/* of the job at the device: with what leads, as far as it takes */
	uint64_t have;			/* bytes of output that the last reads have brought */
	uint64_t submit_ns, deadline_ns, due_ns, abort_ns, read_ns;
	uint64_t down_ns;		/* since when the path is down; 0: it is not */

	struct transport_cmd wr, rd, ctl;
	struct iovec ctl_iov;
	struct iovec *wr_iov, *rd_iov;
	/* Blocks of the request's own page or pages; the descriptor ends where a page does. */
	uint8_t *status, *scratch, *ctl_block, *desc;
	struct accel_result result;
};

struct req_list {
	struct req *first, *last;
};

struct accel_queue {
	struct accel_lease *lease;
	struct accel_dev *dev;
	struct accel_ctx *ctx;
	const struct transport_ops *ops;
	struct transport_queue *tq;
	uint32_t block;			/* bytes */
	uint32_t depth, in_flight, ndone;
	int32_t timeout_ms;
	uint32_t max_retries;
	bool bare;			/* see queue_set_bare() */
	bool borrow, wait;		/* how the device and the way to it are */
	bool down;			/* the way, when it was last tried */
	uint64_t down_ns;		/* since when */
	uint64_t skip_ns;		/* until when what the CPU can do does not try it */
	bool read_first;		/* the read goes before its write, the result with the first answer */
	uint64_t max_read;		/* bytes of a read that is one command all the way */
	uint64_t timer_ns;		/* nothing is due before */
	uint64_t submitted, completed, retried, fallbacks;

	struct req *reqs;
	struct req_list free, cpu, slot, done;
	uint32_t *slots;		/* indexes into the lease's, free ones first */
	uint32_t *all_slots;
	uint32_t nslots, nlost;		/* free ones; ones not to be used any more */
	uint8_t *pages;
	struct iovec *iovs;
	uint8_t *parambuf;

	/* Commands on their way to the transport. */
	struct transport_cmd **batch;
	uint32_t nbatch;

	int epoll_fd, event_fd, timer_fd;	/* -1: nobody asked */
	bool event_set;
	uint64_t timer_fd_ns;
};

static inline void list_push(struct req_list *list, struct req *r)
{
	r->next = NULL;
	if (list->first)
		list->last->next = r;
	else
		list->first = r;
	list->last = r;
}

static inline struct req *list_pop(struct req_list *list)
{
	struct req *r = list->first;

	if (r)
		list->first = r->next;
	return r;
}

bool list_remove(struct req_list *list, struct req *r);

static inline void timer_by(struct accel_queue *q, uint64_t ns)
{
	if (ns < q->timer_ns)
		q->timer_ns = ns;
}

/* queue_send.c */
int req_start(struct accel_queue *q, struct req *r, const struct accel_job *job, uint64_t now);
/* Sends the job by the number in r->seq, or again by it. */
void req_send(struct accel_queue *q, struct req *r, uint64_t now);
/* Reads status and output; wait: by the WAIT alias. */
void req_read(struct accel_queue *q, struct req *r, bool wait, uint64_t now);
/* Reads the output from byte r->have up to out_len; the status alone. */
/* What one read may carry, as the path is now. */
void queue_read_limit(struct accel_queue *q);
void req_read_rest(struct accel_queue *q, struct req *r, uint64_t out_len, uint64_t now);
void req_read_check(struct accel_queue *q, struct req *r, uint64_t now);
/* Aborts the number in seq, whatever it was, and reads what became of it. */
void req_sync(struct accel_queue *q, struct req *r, uint64_t now);
void req_abort(struct accel_queue *q, struct req *r, uint64_t now);
/* Gives waiting requests the slots that are free. */
void queue_fill_slots(struct accel_queue *q, uint64_t now);
/* Hands the batch to the transport. */
void queue_flush(struct accel_queue *q);

/* queue_done.c */
void queue_command_done(struct accel_queue *q, struct transport_cmd *cmd, uint64_t now);
void req_finish(struct accel_queue *q, struct req *r, uint32_t status, uint64_t now);
/* The CPU if the plan's policy lets it, else a result with this status. */
void req_fallback(struct accel_queue *q, struct req *r, uint32_t status, uint64_t now);
void req_cpu(struct accel_queue *q, struct req *r, uint32_t executor);
void req_run_cpu(struct accel_queue *q, struct req *r);
/* The result of a job that need not be waited for: cancelled, or out of time, before it was sent. */
void req_drop(struct accel_queue *q, struct req *r, uint64_t now);

/* queue_timer.c */
void queue_timers(struct accel_queue *q, uint64_t now);
void queue_event(struct accel_queue *q);
void queue_event_clear(struct accel_queue *q);
int queue_fd_make(struct accel_queue *q);
void queue_fd_arm(struct accel_queue *q);
void queue_fd_close(struct accel_queue *q);

#endif
