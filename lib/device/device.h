/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software accelerator namespace: an instance of the device model, the engines behind it and one lock over
 * both. The soft transport has them in the process of an application, acceld behind a network.
 *
 * Whoever calls the model holds the lock; engines run without it. A command's done() is called once, under the
 * lock, in whatever thread: it must be short and may call nothing here but device_wake_later().
 */
#ifndef ACCEL_DEVICE_H
#define ACCEL_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include "../engine/engine.h"
#include "../model/model.h"

#define DEVICE_KINDS	WIRE_NKINDS	/* 1..7; 7 has all functions */
#define DEVICE_ALL	7u
#define DEVICE_MAX_THREADS 64u
#define DEVICE_MAX_SLOTS 4096u

struct device;

/* Memory of a leased slot, at most: two aliases of input and one of output (kind.c). */
#define DEVICE_SLOT_NBYTES	(12u << 20)

struct device_opts {
	unsigned int kind;		/* 1..DEVICE_KINDS */
	unsigned int threads;		/* engines with threads of their own; 0: whoever submits and ticks runs jobs */
	unsigned int slots;
	unsigned int lbads;		/* log2 of the block size, 9 or 12; 0: 9 */
	uint32_t here_nbytes;		/* with threads: jobs of at most so many bytes, input and output room
					 * together, run in the thread that submitted them, before device_submit()
					 * returns; 0: none. A quarter of that where it decompresses or compresses
					 * at level 0 or 1, never at higher levels */
	uint32_t max_held;		/* commands that the model holds at most; 0: 4 * slots */
	uint64_t max_memory;		/* bytes of slot memory that leases may have; 0: no limit */
	uint64_t *memory;		/* what all devices that share max_memory have now (atomic); NULL: own */
	unsigned int ncpu;		/* that the process may use; 0: the device asks the system */
	bool host_leases;		/* FEAT.7: a lease belongs to the host that claimed it */
	bool shared;			/* several controllers reach it (NMIC bit 0) */
	const char *name;		/* NULL: of the kind */
	const uint8_t *uuid;		/* 16 bytes; NULL: from kind, threads and slots, the same in every process */
	void (*log)(void *arg, int level, const char *message);	/* may be NULL */
	void *log_arg;
};

struct device_cmd {
	struct model_cmd m;		/* the caller fills opcode, flags, off, nbytes, iov, niov, host */
	void (*done)(struct device_cmd *cmd, uint16_t nvme_status);
	/* A read submitted before this write and of no use without it: if the write is refused, it is ended too. */
	struct device_cmd *pair;
};

/* 0, -EINVAL, -ENOMEM. No thread is started before the first job needs one. name and uuid are copied. */
int device_new(const struct device_opts *opts, struct device **dev);
/* No command may be in flight (device_stop() sees to that). In a forked child: device_free_forked(). */
void device_free(struct device *dev);
void device_free_forked(struct device *dev);	/* memory only: threads, lock and jobs are the parent's */
/* Ends what is held and stops what runs; returns when every command has had its done(). What is submitted from then
 * on ends with NOT_READY. At most seconds: an engine looks at its stop mark often. */
void device_stop(struct device *dev);
/* Ends the threads, which the next job starts again. */
void device_rest(struct device *dev);

void device_submit(struct device *dev, struct device_cmd *const *cmds, unsigned int n);
/* For whoever knows the time of a moment ago (ns of CLOCK_MONOTONIC), and need not have it read again. */
void device_submit_at(struct device *dev, struct device_cmd *const *cmds, unsigned int n, uint64_t now_ns);
/* Abort, or a lost connection: the command ends soon. False if it was not held any more. cmd must be the caller's
 * still: submitted, and not given to anybody else since. */
bool device_cancel(struct device *dev, struct device_cmd *cmd);
/* Does what is due; when to call next at the latest, in ns of CLOCK_MONOTONIC (UINT64_MAX: never). Cheap: no lock is
 * taken before something is due. device_submit() may bring that time forward. */
uint64_t device_tick(struct device *dev);
void device_identify(struct device *dev, void *page);
void device_stats(struct device *dev, struct nvme_accel_stats *page);
unsigned int device_held(struct device *dev);	/* commands that are held now */
void device_reset(struct device *dev);
/* Keys that engines keep are wiped: at once where they rest, after the job where they work. Without this call they
 * are when the engine has had no job with a key for a tenth of a second, if somebody ticks. */
void device_forget(struct device *dev);

/* Only within done(): *word is woken (wait_wake) as soon as the lock is free. */
void device_wake_later(struct device *dev, uint32_t *word);

/*
 * For callers that keep state of their own under the device's lock, and for several steps in one turn of it. What
 * ends in _locked is called with the lock held; device_run_locked() drops it while engines work.
 */
void device_lock(struct device *dev);
void device_unlock(struct device *dev);		/* and wakes */
/* device_run_locked() must follow before the lock is dropped. */
void device_submit_locked(struct device *dev, struct device_cmd *cmd);
bool device_cancel_locked(struct device *dev, struct device_cmd *cmd);
/* Runs the jobs that are this thread's to run: small ones that it submitted; without threads, all. */
void device_run_locked(struct device *dev);
/* Whether device_run_locked() would have anything to do. */
bool device_has_work_locked(const struct device *dev);
/* Does what is due at now_ns (wait_now_ns()); when to call next at the latest. */
uint64_t device_tick_locked(struct device *dev, uint64_t now_ns);

/* "software compression", ...; NULL: no such kind. And the other way round by the kind's type: "compression",
 * "erasure", "cipher", "digest", "checksum", "data", "all"; 0: none. */
const char *device_kind_name(unsigned int kind);
unsigned int device_kind(const char *type);

#endif
