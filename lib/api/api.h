/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of lib/api share: the insides of the public objects, and the calls between their files.
 * Every object holds a reference on the one it was made from (queue, lease, device, context), so that a
 * caller may let them go in any order.
 */
#ifndef ACCEL_API_API_H
#define ACCEL_API_API_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <accel/accel.h>
#include "../base/job.h"
#include "../engine/engine.h"
#include "../transport/transport.h"
#include "../wire/wire.h"

#define API_NS_PER_MS 1000000ull

/* References: atomic, so that letting go needs no lock (which a forked child might find held). */
static inline void ref_get(int *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

/* true: that was the last one. */
static inline bool ref_put(int *refs)
{
	return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

/* ---- ctx.c, log.c, fork.c ---- */

struct fork_mark {
	volatile uint32_t *alive;	/* in a page that a child finds zeroed; NULL: compare pid */
	int pid;
};

#define CTX_NENGINE 16			/* idle CPU engines that are kept */

struct accel_ctx {
	int refs;
	uint32_t flags;
	char *soft;			/* options of "soft:" in scans, "" if none */
	char *discover;			/* discovery controller for scans, NULL if none */
	char *sysfs, *devdir;		/* NULL: the system's */
	const struct p2p_sys *p2p;	/* how the device file of nvme-accel-p2pdma is used; NULL: the system's */
	struct fork_mark mark;
	struct transport_env env;
	pthread_mutex_t lock;		/* the fields below */
	accel_log_fn log_fn;
	void *log_arg;
	int log_level;			/* read without the lock; -1: nobody listens */
	unsigned int nwarned;		/* atomic: messages of warnings and errors, whether somebody listens or not */
	unsigned int nidle;
	struct engine_thread *idle[CTX_NENGINE];
	uint32_t forgets;		/* counted up when keys are to be forgotten */
	struct accel_lease *leases;	/* all that are held */
};

int fork_mark_init(struct fork_mark *mark);
void fork_mark_fini(struct fork_mark *mark);
bool fork_mark_stale(const struct fork_mark *mark);

/* Whether ctx is from before a fork() and this is the child: nothing of it may be used but its memory. */
static inline bool ctx_stale(const struct accel_ctx *ctx)
{
	if (ctx->mark.alive)
		return *ctx->mark.alive == 0;
	return fork_mark_stale(&ctx->mark);
}

/* Before anything of the transports is closed or freed: in a child it must not touch what is the parent's. */
static inline void ctx_note_fork(struct accel_ctx *ctx)
{
	if (ctx_stale(ctx))
		ctx->env.forked = true;
}

void ctx_log(struct accel_ctx *ctx, enum accel_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A CPU engine for one thread for a while; NULL: no memory. Put it back when the job has ended, with what
 * *since was then.
 */
struct engine_thread *ctx_engine_get(struct accel_ctx *ctx, uint32_t *since);
void ctx_engine_put(struct accel_ctx *ctx, struct engine_thread *t, uint32_t since);
/* A key has ended: no engine of the instance keeps it any longer than it works or, a device's, than it idles. */
void ctx_forget_keys(struct accel_ctx *ctx);

/* Monotonic time. */
uint64_t api_now_ns(void);
/* timeout_ms from now as a point in time; UINT64_MAX: never. */
uint64_t api_deadline(int timeout_ms);
/* What is left until then, rounded up, for a call that takes timeout_ms. */
int api_left_ms(uint64_t deadline_ns);
/* size bytes from the system's random source; -EIO if it has none. */
int api_random(void *p, size_t size);
/* memset(p, 0, n) that no compiler drops. */
void api_wipe(void *p, size_t n);

/* ---- dev.c ---- */

struct run_pool;			/* run.c: cached lease and queues of a device handle */

struct accel_dev {
	int handles;			/* the caller's references */
	int refs;			/* leases, and one for all handles together */
	struct accel_ctx *ctx;
	const struct transport_ops *ops;
	struct transport_dev *tdev;
	struct accel_dev_info info;
	struct wire_id id;
	pthread_mutex_t lock;		/* the fields below */
	struct transport_queue *raw_idle;
	unsigned int nshared, nexclusive;	/* leases that hold the node */
	enum transport_hold held;
	struct accel_lease *locked;	/* accel_dev_lock() */
	struct run_pool *pool;
	uint64_t down_ns;		/* atomic; see dev_down() */
};

/*
 * A way to the device that is down is waited for so long; and where the CPU can do the work instead. Who waits for
 * ever waits for it no longer either.
 */
#define PATH_WAIT_MS 30000
#define PATH_PREFER_MS 5000
#define DEV_DOWN_MIN_MS 1000u		/* of waiting in vain, before others need not wait any more */
#define DEV_DOWN_MS 5000u		/* after which a way that was down is waited for again */

static inline bool dev_stale(const struct accel_dev *dev)
{
	return ctx_stale(dev->ctx);
}

/* References of leases: they keep the memory and the way to the device, not the caller's handle. */
void dev_get(struct accel_dev *dev);
void dev_put(struct accel_dev *dev);
/* Opens by a transport's own name (no uuid: or name:). */
int dev_open_name(struct accel_ctx *ctx, const char *name, struct accel_dev **dev);
/* Identify, decoded. */
int dev_identify(struct accel_dev *dev, struct wire_id *id);
void dev_info_from_id(const struct accel_dev *dev, const struct wire_id *id, struct accel_dev_info *info);

/*
 * The way to the device was waited for in vain a moment ago: what begins now tries once and does not wait again.
 */
static inline bool dev_down(const struct accel_dev *dev, uint64_t now)
{
	uint64_t since = __atomic_load_n(&dev->down_ns, __ATOMIC_RELAXED);

	return since && now - since < DEV_DOWN_MS * API_NS_PER_MS;
}

/* 0: it is there. */
static inline void dev_set_down(struct accel_dev *dev, uint64_t now)
{
	__atomic_store_n(&dev->down_ns, now, __ATOMIC_RELAXED);
}

/* One whole page or block at an offset; an NVMe status becomes -EIO (with Access Denied -EACCES). */
int dev_read(struct accel_dev *dev, uint64_t offset, void *buf, size_t nbytes, int timeout_ms);
int dev_write(struct accel_dev *dev, uint64_t offset, const void *buf, size_t nbytes, int timeout_ms);

/* ---- lease.c ---- */

struct lease_slot {
	uint32_t slot;			/* number at the device */
	bool taken;			/* by a queue */
	bool lost;			/* its numbers are out of order: not used again */
	bool dirty;			/* nobody knows what became of the job sent last */
	uint64_t seq;			/* of the last job sent */
};

struct accel_lease {
	int refs;
	struct accel_lease *next;	/* in accel_ctx.leases */
	struct accel_dev *dev;
	uint32_t index, epoch, nslot, duration_ms, flags;
	uint8_t claim_id[8], nonce[16], hostid[16];
	uint64_t bootid;
	bool holds;			/* the node, with dev->nshared or nexclusive */
	int ended;			/* atomic: released, or the device said that it is gone */
	uint64_t active_ns;		/* atomic: of the last command that was to renew it */
	uint64_t sure_ns;		/* atomic: when the last one was sent that surely did */
	pthread_mutex_t lock;		/* the fields below */
	uint32_t nfree;			/* slots that no queue has */
	struct accel_queue *many;	/* accel_run_many(): an idle queue over all slots */
	struct lease_slot *slots;
};

static inline bool lease_ended(const struct accel_lease *lease)
{
	return __atomic_load_n(&lease->ended, __ATOMIC_ACQUIRE);
}

void lease_set_ended(struct accel_lease *lease);
/* path_ms: for a way to the device that is down, at most; within timeout_ms. */
int lease_acquire(struct accel_dev *dev, const struct accel_lease_opts *opts, int timeout_ms, int path_ms,
		  struct accel_lease **lease);
/* For accel_dev_close(): gives up the lock, if there is one. */
void lease_unlock_dev(struct accel_dev *dev);
void lease_get(struct accel_lease *lease);
/* The lease of the handle's lock, with a reference; NULL: it is not locked. */
struct accel_lease *lock_lease(struct accel_dev *dev);
void lease_put(struct accel_lease *lease);
/* A command that was sent at that time has reached the device, which took it for the lease's. */
static inline void lease_sure(struct accel_lease *lease, uint64_t sent_ns)
{
	if (sent_ns > __atomic_load_n(&lease->sure_ns, __ATOMIC_RELAXED))
		__atomic_store_n(&lease->sure_ns, sent_ns, __ATOMIC_RELAXED);
}

/* Renews if half of the duration has passed since the last activity. */
void lease_keep(struct accel_lease *lease, uint64_t now_ns);
/* Takes n slots for a queue: indexes into lease->slots. -ENOSPC. */
int lease_take(struct accel_lease *lease, uint32_t n, uint32_t *which);
void lease_give(struct accel_lease *lease, uint32_t n, const uint32_t *which);

/* ---- plan.c ---- */

/* What a stage owns beside the numbers in accel_plan.stage. */
struct plan_own {
	uint8_t *bytes;			/* key or matrix; wiped before it is freed; NULL: none */
	uint32_t nbytes;
	uint32_t key_len, tag_len;	/* cipher */
	uint8_t k, m;			/* erasure coding */
	bool per_job;			/* needs accel_params.stage[i] */
};

struct accel_plan {
	int refs;
	struct accel_ctx *ctx;		/* holds a reference */
	bool sealed;
	bool constant;			/* no stage is per_job: stage[] goes into a descriptor as it is */
	bool secret;			/* parameters hold a key: wipe copies of them */
	enum accel_policy policy;
	uint32_t flags;			/* ACCEL_PLAN_* */
	uint32_t job_flags;		/* the same as NVME_ACCEL_JOB_* for a descriptor or an engine */
	size_t cpu_below;
	unsigned int nstage;
	/* Without what a job brings; param NULL or, where the parameters are constant, into own[].bytes. */
	struct job_stage stage[ACCEL_MAX_STAGES];
	uint8_t result_len[ACCEL_MAX_STAGES];	/* bytes of accel_result.result that the stage fills */
	struct plan_own own[ACCEL_MAX_STAGES];
	char error[160];
};

/* A plan with the parameters of one job: what a descriptor carries, and what an engine runs. */
struct plan_work {
	unsigned int nstage;
	struct job_stage stage[ACCEL_MAX_STAGES];	/* param into parambuf or into the plan */
	/* Additional authenticated data that found no room inline and leads the input instead. */
	const void *lead;
	size_t nlead;
};

/*
 * Joins plan and parameters (NULL: none). parambuf takes up to max bytes of parameters: the room that a
 * descriptor has (block size - 256), or PLAN_PARAM_CPU for the CPU, where everything fits. No allocation;
 * thread-safe on a sealed plan; in_len is the caller's input without nlead.
 * 0; -EINVAL: params are malformed or lack what a stage needs; -E2BIG: they are right, but max is too small.
 */
#define PLAN_PARAM_CPU 4096u
int plan_build(const struct accel_plan *plan, const struct accel_params *params, uint64_t in_len,
	       uint8_t *parambuf, size_t max, struct plan_work *work);

/* ---- cpu.c ---- */

/*
 * Runs a plan on a CPU engine, here and now, whatever its policy says. Fills status, executor (as given),
 * lengths, digests and exec_ns of *result and leaves ids and user_data alone. -EINVAL as plan_build().
 */
int cpu_run(struct accel_ctx *ctx, const struct accel_plan *plan, const struct accel_params *params,
	    const struct iovec *in, unsigned int nin, const struct iovec *out, unsigned int nout,
	    uint32_t executor, struct accel_result *result);
/* The same with stages that are built already and an engine that the caller has. */
void cpu_run_work(struct engine_thread *t, const struct accel_plan *plan, const struct plan_work *work,
		  const struct iovec *in, unsigned int nin, uint64_t in_len, const struct iovec *out,
		  unsigned int nout, uint64_t out_max, uint32_t executor, struct accel_result *result);

/* Whether the device takes these stages at these lengths: OK or a code, the stage at fault in *at. */
uint32_t dev_takes(const struct accel_dev *dev, const struct plan_work *work, uint64_t in_len,
		   uint64_t out_max, unsigned int *at);

/* ---- queue*.c ---- */

/* accel_queue_new() with checked options. */
int queue_new(struct accel_lease *lease, uint32_t depth, int32_t timeout_ms, uint32_t max_retries,
	      struct accel_queue **queue);
/* Whether a job is well formed: 0 or -EINVAL. */
int job_check(const struct accel_job *job);

/* Ends of the lease are not answered by the CPU but reported: the caller gets another lease. */
void queue_set_bare(struct accel_queue *queue);

/* ---- run.c ---- */

void run_pool_free(struct accel_dev *dev);
/* Frees the queue that accel_run_many() keeps, so that its slots can be had. */
void lease_drop_many(struct accel_lease *lease);

#endif
