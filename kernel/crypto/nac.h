/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvme-accel-crypto: the kernel's crypto API served by accelerator namespaces.
 *
 * A request of the crypto API is a job (struct nac_job, in the request's context). nac_submit() gives it to a device
 * (struct nac_dev: an open accelerator with a lease), where it waits for a slot, or does it in software. A slot has all that
 * its jobs need, made when the device is opened: two bios, a descriptor and a status block, room for the whole input and
 * output. Nothing is allocated for a request.
 *
 * Who owns a job: the caller until nac_submit(); then the queue of its device or the slot that has it in `job`, both under
 * dev->lock; whoever takes it from there (the slot's work, the timer, nac_dev_kill()) ends it, once. A slot whose job was
 * taken away keeps its memory, and the pages of the input, until its bios are back.
 *
 * A binding (struct nac_bind) is what the administrator made: it opens devices, one at a time, and another one when that
 * was lost. A device stays until its last bio is back.
 */
#ifndef NAC_H
#define NAC_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/crypto.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "../../lib/wire/wire.h"

#define NAC_NAME "nvme-accel-crypto"
#define NAC_VERSION "0.1"

#define NAC_UNIT		4096u		/* NVMe's page: what lists may have gaps at */
#define NAC_MAX_SLOTS		256u
#define NAC_MAX_BYTES		(1u << 20)
#define NAC_LAT_BINS		40u
#define NAC_RATIO_ONE		1024u		/* of what compression makes */
#define NAC_RATIO_MOST		(2 * NAC_RATIO_ONE)
#define NAC_MAX_PRIORITY	10000u

/* What can be asked of an accelerator. */
enum nac_op {
	NAC_COMPRESS,
	NAC_DECOMPRESS,
	NAC_GCM_ENCRYPT,
	NAC_GCM_DECRYPT,
	NAC_XTS_ENCRYPT,
	NAC_XTS_DECRYPT,
	NAC_SHA256,
	NAC_OPS,
};

/* The algorithms, in the order of nac_alg_name(). */
enum nac_alg { NAC_A_DEFLATE, NAC_A_SHA256, NAC_A_GCM, NAC_A_XTS, NAC_ALGS };

/* Counters; the names are in stats.c. Up to NAC_F_LAST each is a reason why software did a request. */
enum nac_count {
	NAC_F_NONE,
	NAC_F_PARTIAL,
	NAC_F_MIN,
	NAC_F_MAX,
	NAC_F_UNSUPPORTED,
	NAC_F_NO_DEVICE,
	NAC_F_RECLAIM,
	NAC_F_TIMEOUT,
	NAC_F_IO,
	NAC_F_LEASE,
	NAC_F_DEVICE,
	NAC_F_DATA,
	NAC_F_PROTOCOL,
	NAC_F_VERIFY,
	NAC_F_STOPPED,
	NAC_F_LAST = NAC_F_STOPPED,
	NAC_C_REQUESTS,				/* NAC_KINDS of each */
	NAC_C_IN = NAC_C_REQUESTS + 5,
	NAC_C_OUT = NAC_C_IN + 5,
	NAC_C_FAILS = NAC_C_OUT + 5,
	NAC_C_REFUSED = NAC_C_FAILS + 3,
	NAC_C_BACKLOGGED,
	NAC_C_DATA_ERRORS,
	NAC_C_ZERO_COPY_BYTES,
	NAC_C_BOUNCES,
	NAC_C_BOUNCE_BYTES,
	NAC_C_OUT_BYTES,
	NAC_C_LATE,
	NAC_C_REREADS,
	NAC_C_CUT,
	NAC_C_LEASE_CLAIMS,			/* of bindings only */
	NAC_C_LEASE_LOSSES,
	NAC_C_REOPENS,
	NAC_COUNTS,
};

struct nac_stats_cpu {
	u64 count[NAC_COUNTS];
	u64 lat[NAC_LAT_BINS];
};

struct nac_stats {
	struct nac_stats_cpu __percpu *cpu;
	atomic_t inflight, queued;
};

struct nac_job;
struct nac_dev;
struct nac_slot;

/* What differs between the kinds of requests. */
struct nac_job_ops {
	/*
	 * Fills the stage; its parameters go to param, which has room for so many bytes, and which is wiped after the job.
	 * The job's src, src_off and in_len can be changed here. Not 0: an accelerator cannot do it.
	 */
	int (*stage)(struct nac_job *job, const struct nac_dev *dev, struct job_stage *stage, u8 *param, size_t room);
	/* Takes the result of a job that ended well: 0, or the request's error. The output is there already. */
	int (*finish)(struct nac_job *job, const struct wire_status *st);
	/*
	 * Does the request in software. may_sleep: it may wait. Its error, -EINPROGRESS if nac_done() comes later, -EAGAIN if
	 * it would have had to wait.
	 */
	int (*soft)(struct nac_job *job, bool may_sleep);
};

/* A request; in the context that the crypto API has for it. */
struct nac_job {
	const struct nac_job_ops *ops;
	struct crypto_async_request *req;
	struct nac_bind *bind;		/* that took it, for its counters; NULL: none */
	struct list_head entry;
	struct work_struct work;
	struct scatterlist *src, *dst;
	u32 src_off, in_len, dst_off, out_max;	/* out_max 0: no output but the result */
	u32 out_len;
	unsigned long deadline;		/* jiffies */
	u64 start_ns;			/* since boot, as ktime_get_ns() has it */
	u8 op;
	bool clamped;			/* out_max is less than the caller has room for */
};

enum nac_step { NAC_START, NAC_JOB, NAC_REREAD, NAC_SYNC, NAC_RESYNC };

struct nac_slot {
	struct nac_dev *dev;
	struct nac_job *job;		/* dev->lock; NULL: taken away, or in the hands of the work */
	struct list_head entry;		/* in dev->free */
	u32 number;
	u8 step;
	bool lost;			/* could not be brought in order */
	u8 tries;
	u64 seq;
	atomic_t pending;		/* bios */
	struct delayed_work work;
	struct bio wbio, rbio;
	blk_status_t wstatus, rstatus;
	struct bio_vec *wvec, *rvec;
	struct page **pages;		/* of mem */
	struct page **pinned;		/* of the caller's input */
	unsigned int npinned;
	u8 *mem;			/* descriptor page, input, status page, output */
	u8 *desc, *in, *status, *out;
	u32 read_len;			/* of the output: with the status it is read */
	u64 sent_ns;
	u16 flags;			/* of the descriptor */
	u8 verify;
	bool bios;			/* are initialised */
	u8 param[256];
};

/* An open accelerator with a lease. */
struct nac_dev {
	struct nac_bind *bind;
	struct kref kref;		/* the binding's, one of each slot that is not free, of works */
	struct list_head entry;		/* of nac_devs, RCU */
	struct compat_bdev handle;
	struct block_device *bdev;
	struct wire_id id;
	u32 block;			/* bytes */
	u32 max_in, max_out;		/* bytes of a job */
	u32 ops;			/* 1 << enum nac_op */
	bool local, stable;		/* stable: data must not change while it is written */
	u32 ratio;			/* what compression makes of NAC_RATIO_ONE bytes, lately; no lock: it is a guess */

	u32 lease_index, lease_epoch, duration_ms;
	u8 nonce[16], claim_id[8];
	unsigned long sure;		/* jiffies: when the lease was last known to be ours, or asked for */

	spinlock_t lock;
	bool live, dead;		/* live: takes jobs; dead: its slots are not used any more */
	bool sick;			/* a job's time has passed, and the device has not answered since */
	bool leased;
	struct list_head free, queue, backlog;
	u32 nqueue, nbusy, nlost;
	struct timer_list timer;
	wait_queue_head_t idle;
	atomic_t lost;			/* enum nac_count: why it cannot go on; 0: it can */
	atomic_t ask;			/* the lease is to be looked at soon */
	struct work_struct free_work;
	u32 nslot;
	struct nac_slot *slots;
};

struct nac_conf {
	char *device_path;
	u32 slots, queue_depth, threshold_min, threshold_max, verify, level, window_bits, timeout, allow_fabrics;
	u32 priority;
	bool priority_set;
};

struct nac_bind {
	struct config_group group;
	struct list_head entry;		/* of nac_binds */
	struct mutex admin;		/* who enables and disables */
	struct mutex lock;		/* enabled, dev */
	struct nac_conf conf;
	bool enabled, stopping;
	u32 kinds;			/* algorithms that its accelerator serves: 1 << enum nac_alg, while enabled */
	bool local;
	u8 uuid[16];
	struct nac_dev *dev;
	struct delayed_work work;	/* keeps the lease, opens devices again */
	struct nac_stats stats;
	struct dentry *dir;
};

/* Jobs, software, leases; what frees and registers. */
extern struct workqueue_struct *nac_wq, *nac_soft_wq, *nac_ctl_wq, *nac_slow_wq;
extern struct list_head nac_devs;	/* RCU; nac_devs_lock to write */
extern spinlock_t nac_devs_lock;
extern atomic_t nac_devs_count;		/* with those that wait for their last bio */
extern wait_queue_head_t nac_devs_wait;
extern struct nac_stats nac_total;

#define nac_err(bind, fmt, ...) \
	pr_err_ratelimited(NAC_NAME ": %s: " fmt "\n", config_item_name(&(bind)->group.cg_item), ##__VA_ARGS__)
#define nac_info(bind, fmt, ...) \
	pr_info_ratelimited(NAC_NAME ": %s: " fmt "\n", config_item_name(&(bind)->group.cg_item), ##__VA_ARGS__)

/* Of what is registered, and of what is asked for as its fallback: never one of ours. */
#define NAC_ALG_FLAGS	(CRYPTO_ALG_ASYNC | CRYPTO_ALG_KERN_DRIVER_ONLY | CRYPTO_ALG_NEED_FALLBACK)
#define NAC_NOT_OURS	(CRYPTO_ALG_NEED_FALLBACK | CRYPTO_ALG_ALLOCATES_MEMORY)
/* The crypto API waits a minute for an algorithm to pass its tests; those of debug kernels take longer on slow machines. */
#define NAC_FALLBACK_TRIES	10u

/* ---- queue.c: where a job goes ---- */

/* All 0 but what is given. */
void nac_job_init(struct nac_job *job, struct crypto_async_request *req, const struct nac_job_ops *ops, enum nac_op op);

/* Gives a job to a device or does it in software: as crypto operations return, -EINPROGRESS and so on. */
int nac_submit(struct nac_job *job);
/* Does it in software, for that reason; only for a caller that may be answered by a return value. */
int nac_software(struct nac_job *job, enum nac_count why);
/* The same for a job whose caller was answered EINPROGRESS or EBUSY. */
void nac_fall_back(struct nac_job *job, enum nac_count why);
/* Ends such a job. */
void nac_done(struct nac_job *job, int err);
/* The next job for a slot that has done its own; NULL: none, and the slot is not the caller's any more. */
struct nac_job *nac_next(struct nac_dev *dev, struct nac_slot *slot);
/* Sees to it that a job ends in time. With dev->lock. */
void nac_arm(struct nac_dev *dev, unsigned long deadline);
/* In the queue, or no more. */
void nac_count_queued(struct nac_bind *bind, int n);
/* A job of the backlog is told that it moves up. */
void nac_notify(struct nac_job *job);
/* What waits, and (all) what the slots have: to software. */
void nac_flush(struct nac_dev *dev, bool all, enum nac_count why);
void nac_queue_init(struct nac_dev *dev);
bool nac_may_sleep(const struct nac_job *job);

/* ---- slot.c, build.c: a job on the accelerator ---- */

int nac_slots_new(struct nac_dev *dev, const struct wire_lease *lease);
void nac_slots_free(struct nac_dev *dev);
/* Starts slot->job, which may be gone by then; it may sleep. */
void nac_slot_start(struct nac_slot *slot);
void nac_slot_work(struct work_struct *work);
/* Descriptor, input and room for the output in the slot's bios, for the number slot->seq. Not 0: why it cannot be. */
enum nac_count nac_build(struct nac_slot *slot, struct nac_job *job);
void nac_build_read(struct nac_slot *slot);
/* How long the output of a compression was: that of the next one will be about as long. */
void nac_learn(struct nac_dev *dev, const struct nac_job *job);
int nac_build_abort(struct nac_slot *slot);
void nac_unpin(struct nac_slot *slot);
void nac_wipe(struct nac_slot *slot);
bool nac_verify(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st);

/* ---- answer.c: what is read of a job ---- */

enum nac_outcome { NAC_ENDED, NAC_RUNNING, NAC_UNKNOWN };
/* The status that a slot has read; *why: of NAC_UNKNOWN. */
enum nac_outcome nac_judge(const struct nac_slot *slot, struct wire_status *st, enum nac_count *why);
/* Why software does a job that the accelerator has ended with this code. */
enum nac_count nac_reason(u32 code);

/* ---- dev.c, lease.c, ctl.c: devices ---- */

struct nac_dev *nac_dev_open(struct nac_bind *bind, bool quiet);
void nac_dev_publish(struct nac_dev *dev);
/* Takes it away: its jobs go to software at once (now) or when they do not end within the binding's timeout. */
void nac_dev_kill(struct nac_dev *dev, bool now, enum nac_count why);
void nac_dev_put(struct nac_dev *dev);
/* It cannot go on; its binding will see to it. */
void nac_dev_lost(struct nac_dev *dev, enum nac_count why);
/* One of its slots cannot. */
void nac_dev_lost_slot(struct nac_dev *dev);
int nac_ctl_read(struct nac_dev *dev, u64 off, void *page, u32 n, unsigned int ms);
int nac_ctl_write(struct nac_dev *dev, u64 off, const void *data, u32 n, unsigned int ms);
int nac_lease_claim(struct nac_dev *dev, u32 slots, struct wire_lease *lease, unsigned int ms);
int nac_lease_renew(struct nac_dev *dev);
void nac_lease_release(struct nac_dev *dev);

/* ---- bind.c, configfs.c ---- */

int nac_bind_enable(struct nac_bind *bind);
void nac_bind_disable(struct nac_bind *bind);
void nac_bind_kick(struct nac_bind *bind);
const char *nac_bind_state(const struct nac_bind *bind);
struct nac_bind *nac_bind_new(void);
void nac_bind_free(struct nac_bind *bind);
u32 nac_bind_priority(const struct nac_bind *bind);
/* Algorithms that enabled bindings serve, and the priority to register one with. */
u32 nac_binds_kinds(void);
u32 nac_binds_priority(enum nac_alg alg);
int nac_configfs_init(void);
void nac_configfs_exit(void);

/* ---- algs.c and a file for each ---- */

const char *nac_alg_name(enum nac_alg alg);
u32 nac_algs_of(u32 ops);
u32 nac_algs_wanted(void);
void nac_algs_update(void);
/* Of an algorithm that is not wanted any more a transform is freed. */
void nac_algs_check_later(void);
u32 nac_algs_registered(void);
int nac_algs_init(void);
void nac_algs_exit(void);

extern const struct nac_alg_ops {
	int (*reg)(u32 priority);
	void (*unreg)(void);
	bool (*idle)(void);
} nac_deflate_alg, nac_sha256_alg, nac_gcm_alg, nac_xts_alg;

/* ---- zsoft.c: deflate in software ---- */

int nac_zsoft_init(unsigned int workspaces);
void nac_zsoft_exit(void);
/* -EAGAIN: no workspace is free, and the caller may not wait. Else 0 with the length in *out_len, -ENOSPC, -EINVAL. */
int nac_zsoft_compress(struct scatterlist *src, u32 in_len, struct scatterlist *dst, u32 max, u32 *out_len, bool may_sleep);
int nac_zsoft_decompress(struct scatterlist *src, u32 in_len, struct scatterlist *dst, u32 max, u32 *out_len, bool may_sleep);
/* Whether the n bytes at p are deflate of src, whole. May sleep. */
bool nac_zsoft_matches(const u8 *p, u32 n, struct scatterlist *src, u32 in_len);

/* ---- stats.c ---- */

int nac_stats_init(struct nac_stats *s);
void nac_stats_free(struct nac_stats *s);
/* In the module's counters and in the binding's, if there is one. */
void nac_count(struct nac_bind *bind, enum nac_count which, u64 n);
void nac_count_start(struct nac_bind *bind, const struct nac_job *job);
void nac_count_end(struct nac_bind *bind);
void nac_count_good(struct nac_bind *bind, const struct nac_job *job);
void nac_count_fail(struct nac_bind *bind, const struct nac_job *job);
void nac_stats_show_dir(struct nac_bind *bind);
void nac_stats_hide_dir(struct nac_bind *bind);
int nac_stats_module_init(void);
void nac_stats_module_exit(void);

#endif
