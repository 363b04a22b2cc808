/* SPDX-License-Identifier: BSD-2-Clause */
/* Many jobs at the full depth of a lease, each with a function to call at its end: ec, seal, open. */
#ifndef ACCEL_JOBQ_H
#define ACCEL_JOBQ_H

#include "tool.h"

/* Part of a larger thing that the caller keeps until done() was called. */
struct jobq_work {
	struct accel_job job;
	void (*done)(struct jobq_work *work, const struct accel_result *result);
	struct jobq_work *next;
};

struct jobq {
	struct tool *t;
	struct accel_lease *lease;
	struct accel_queue *queue;
	uint32_t depth, in_flight;
	unsigned int nlost;		/* leases that ended under it */
	struct jobq_work *first, **last;	/* not submitted yet */
	uint64_t njobs, ncpu;			/* ended; of them done by the CPU in the device's place */
};

/* Takes a lease and a queue on t->dev. 0, or an exit code after a message. */
int jobq_open(struct jobq *q, struct tool *t);
/* Never waits: the work stands in line until the queue has room. done() runs in jobq_turn(). */
void jobq_add(struct jobq *q, struct jobq_work *work);
/* Submits what fits and takes results; wait: until one has come. 0, or an exit code after a message. */
int jobq_turn(struct jobq *q, bool wait);
bool jobq_idle(const struct jobq *q);
/* Says so if the CPU did jobs in the device's place: nothing falls back in silence. */
void jobq_report(const struct jobq *q, const char *subject);
/* Cancels what is in flight; done() is not called for it. Harmless on a zeroed structure. */
void jobq_close(struct jobq *q);

#endif
