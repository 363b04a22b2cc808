/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvme-accel-passthru: virtual NVMe controllers whose namespaces are namespaces of other controllers (kind `device`) or
 * accelerators made of kernel engines (kind `engine`). What the files of the module share.
 *
 *   main.c      module, identifiers            configfs.c  what the administrator makes
 *   ctrl.c      a controller's life            queue.c     tag sets, queue_rq, completion
 *   admin.c     admin commands, emulated       identify.c  Identify pages       event.c  AERs
 *   ns.c        namespaces, their life         policy.c    which commands, of what length
 *   lower.c     the controller below: finding, pinning, watching it
 *   device.c    namespaces of kind device: forwarding
 *   engine.c    namespaces of kind engine: the model, its worker and its engines (kernel/engine)
 *   limit.c     commands in flight, bytes/s, commands/s
 *   stats.c     counters, debugfs              trace.h     tracepoints
 *
 * Locks, outermost first: nap_ctrl.lock (mutex: configuration and life), nap_ns.lock of a kind (its own). queue_rq takes
 * neither: it finds its namespace by RCU in nap_ctrl.ns and holds a percpu reference (nap_ns.users) until the command
 * has ended.
 */
#ifndef NAP_H
#define NAP_H

#include <linux/bitmap.h>
#include <linux/blk-mq.h>
#include <linux/configfs.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/seqlock.h>
#include <linux/uuid.h>
#include <linux/xarray.h>
#include "nvme_private.h"

#define NAP_NAME	"nvme-accel-passthru"
#define NAP_MAX_NSID	1024u		/* a virtual controller's highest namespace identifier */
#define NAP_MAX_DEPTH	1024u
#define NAP_MDTS_BYTES	(4u << 20)	/* at most; less if what is below takes less */

struct nap_ctrl;
struct nap_ns;
struct nap_req;

/* ---- Why a command failed, for the counters: how far it came ---- */
enum nap_reason {
	NAP_R_OK,
	NAP_R_OPCODE,		/* not on the namespace's list */
	NAP_R_FIELD,		/* a field that may not be forwarded: FUSE, PSDT, metadata, reserved */
	NAP_R_LENGTH,		/* data length is not what the command says */
	NAP_R_RANGE,		/* beyond the namespace's end */
	NAP_R_NSID,		/* no such namespace, or it is not enabled */
	NAP_R_GONE,		/* what is below is gone or being removed */
	NAP_R_NOMEM,
	NAP_R_LOWER,		/* what is below answered with an error */
	NAP_R_RESET,		/* a reset of what is below, or a break of the way to it, has ended it */
	NAP_R_COUNT,
};

/* ---- Commands ---- */

/* The driver's part of every request, admin and I/O. */
struct nap_req {
	struct nvme_request req;	/* first: nvme-core's (req.cmd points to cmd) */
	struct nvme_command cmd;	/* as the upper side sent it */
	struct nap_ctrl *ctrl;
	struct nap_ns *ns;		/* I/O: with a reference until completion; admin: NULL */
	u64 start_ns;			/* ktime_get_ns() when queue_rq took it */
	u32 nbytes;			/* of data, checked against the command by nap_policy_check() */
	u8 reason;			/* enum nap_reason, set by whoever completes it with an error */
	bool limited;			/* nap_limit_get() has counted it */
	struct work_struct work;	/* for who needs process context */
	union {				/* the kind's */
		struct {
			struct bio bio;	/* the first clone: most commands need no other */
		} dev;
		struct {
			struct llist_node node;
			u64 space[28];	/* struct eng_cmd (engine.h): no command needs memory of its own */
		} eng;
	};
};

static inline struct nap_req *nap_req(struct request *rq) { return blk_mq_rq_to_pdu(rq); }
static inline struct request *nap_rq(struct nap_req *r) { return blk_mq_rq_from_pdu(r); }

/*
 * Ends a command, once, from any context. status: SCT << 8 | SC, bit 14 DNR, as MODEL_SC_* (not shifted for the phase
 * bit). Gives back the limits' share and the reference to the namespace, counts and traces. queue.c
 */
void nap_complete(struct nap_req *r, u16 status, union nvme_result result, enum nap_reason reason);

/* ---- Allow-list: policy.c ---- */

enum nap_len { NAP_LEN_NONE, NAP_LEN_RW, NAP_LEN_NDT };	/* no data; NLB blocks; dwords in CDW10 (vendor format) */

struct nap_policy {
	DECLARE_BITMAP(opcode, 256);
	u8 len[256];				/* enum nap_len */
};

/* Words: read write flush compare write-zeroes verify 0xNN:none 0xNN:ndt (vendor opcodes 80h..FFh). -EINVAL. */
int nap_policy_parse(struct nap_policy *p, const char *text);
ssize_t nap_policy_show(const struct nap_policy *p, char *page);	/* in a form that parse takes */
void nap_policy_default(struct nap_policy *p);				/* read write flush */
/*
 * Whether the command may go on: 0, or the status to end it with and why (in *reason). Sets r->nbytes, which equals
 * blk_rq_payload_bytes(). lba_shift and nblocks are the namespace's. Atomic context.
 */
u16 nap_policy_check(const struct nap_policy *p, struct nap_req *r, u8 lba_shift, u64 nblocks, enum nap_reason *reason);
/* What goes to a lower namespace: every field that is forwarded, and no other (no pointers, FUSE, PSDT); its nsid. */
void nap_policy_command(const struct nap_policy *p, const struct nap_req *r, struct nvme_command *out, u32 nsid);

/* ---- Limits: limit.c ---- */

#define NAP_LIMIT_PARTIES 64u	/* upper hardware queues that take turns; more share one */

struct nap_limit {
	/* The administrator's; 0: none. WRITE_ONCE(), then nap_limit_changed(), also while commands run. */
	u32 max_inflight;
	u64 max_bytes_per_sec;
	u64 max_cmds_per_sec;
	/* Inside. */
	spinlock_t lock;
	atomic_t inflight;
	u64 bytes_at_ns, cmds_at_ns;		/* virtual clocks: when the rate's account is even */
	u64 parties;				/* those that were refused since they were served last */
	u64 turn_until_ns;			/* until then the party in turn is served first */
	u8 turn;
	bool stopped;
	bool waiting;				/* commands may wait: the queue is run when there is room */
	u32 echo_ns;				/* until the queue is run once more; see limit.c */
	struct hrtimer timer;			/* runs the queue */
	struct request_queue *queue;		/* the upper queue, with a reference; NULL: none has waited */
	struct request_queue *old;		/* the one before, until drop has put it */
	struct work_struct drop;
};

void nap_limit_init(struct nap_limit *l);	/* also after nap_limit_stop(), to begin again; the limits are kept */
/*
 * Ends limiting: all that waits is offered again and let through (by then nap_ns_get() should find nothing), and nobody
 * is woken any more when it returns. Sleeps. When the namespace goes, before its upper queue does.
 */
void nap_limit_stop(struct nap_limit *l);
void nap_limit_changed(struct nap_limit *l);	/* what waits is offered again under the new limits. Atomic. */
/* Atomic. False: not now (return BLK_STS_DEV_RESOURCE); the queue is run again as soon as there is room. */
bool nap_limit_get(struct nap_limit *l, struct nap_req *r);
void nap_limit_put(struct nap_limit *l, struct nap_req *r);	/* any context; nothing if r is not counted */
void nap_limit_undo(struct nap_limit *l, struct nap_req *r);	/* as put, of a command that went no further: it costs nothing */

/* ---- Statistics: stats.c ---- */

#define NAP_LAT_BINS 40		/* bin i counts [2^i, 2^(i+1)) ns */

struct nap_stats_cpu {
	u64 cmds[4], bytes[4];	/* read, write, flush, other */
	u64 reason[NAP_R_COUNT];
	u64 throttled;
	u64 lat[NAP_LAT_BINS];
	seqcount_t seq;		/* a command is counted as a whole or not at all, on 64-bit machines too */
};

struct nap_stats {
	struct nap_stats_cpu __percpu *cpu;
	struct dentry *dir;
};

int nap_stats_module_init(void);	/* debugfs/nvme-accel-passthru */
void nap_stats_module_exit(void);
int nap_stats_init(struct nap_ns *ns);	/* counters: when the namespace is made */
void nap_stats_free(struct nap_ns *ns);
void nap_stats_show_dir(struct nap_ns *ns);	/* debugfs directory CTRL/NSID: while it is enabled */
void nap_stats_hide_dir(struct nap_ns *ns);
void nap_stats_throttled(struct nap_ns *ns);	/* nap_limit_get() said no */
void nap_stats_done(struct nap_ns *ns, const struct nap_req *r, u16 status, enum nap_reason reason);

/* ---- Namespaces ---- */

enum nap_kind { NAP_KIND_NONE, NAP_KIND_DEVICE, NAP_KIND_ENGINE };

struct nap_ns_ops {
	/*
	 * Makes it ready: may sleep, with ctrl->lock held. Sets ns->lba_shift, nblocks, max_bytes. On failure it leaves
	 * nothing behind, and says why in the kernel log (nap_ns_err()).
	 */
	int (*enable)(struct nap_ns *ns);
	/* No command comes any more (users is dead and drained). May sleep. */
	void (*disable)(struct nap_ns *ns);
	/*
	 * Makes commands that wait inside end soon, before users is waited for: called when the namespace or the
	 * controller goes. May sleep; called once before each disable(). May be NULL.
	 */
	void (*cancel)(struct nap_ns *ns);
	/*
	 * Takes a checked command, which ends by nap_complete(). Atomic. BLK_STS_OK: taken. BLK_STS_RESOURCE: not now, to
	 * be offered again (nothing was kept). No other value.
	 */
	blk_status_t (*queue)(struct nap_ns *ns, struct nap_req *r);
	/* CNS 00h: the 4096 bytes as they are now. May sleep, at most 5 s. 0 or a negative errno. */
	int (*identify)(struct nap_ns *ns, void *page);
};

extern const struct nap_ns_ops nap_device_ops;	/* device.c */
extern const struct nap_ns_ops nap_engine_ops;	/* engine.c */

/* The administrator's words for a namespace; strings are NULL or kmalloc()ed without a line end. */
struct nap_ns_conf {
	enum nap_kind kind;
	/* device */
	char *device_path;		/* /dev/nvmeX: the controller's character device */
	u32 device_nsid;
	bool shared;			/* the same lower namespace may be in several; each must say so */
	/* engine */
	char *engine_type;		/* compression erasure cipher digest checksum all */
	u32 engine_threads;		/* 0: as many as processors */
	u32 engine_slots;		/* 1..1024; 64 */
	char *engine_driver;		/* crypto driver name that must serve it; NULL: the best that is not ours */
	u32 engine_lbads;		/* 9 or 12 */
	u32 engine_window_bits;		/* largest deflate window offered: 9..15 */
	/* both */
	struct nap_policy policy;
	uuid_t uuid;			/* of the virtual namespace (CNS 03h) */
	u8 nguid[16];
};

struct nap_ns {
	struct config_item item;	/* its reference count; holds one on the controller's */
	struct nap_ctrl *ctrl;
	u32 nsid;			/* of the virtual controller */
	bool enabled;			/* what the administrator wants; under ctrl->lock */
	bool active;			/* enabled, in an enabled controller: ops->enable() has succeeded; under ctrl->lock */
	bool uuid_given, nguid_given;	/* by the administrator; else derived, before ops->enable() */
	struct nap_ns_conf conf;	/* changed only while not enabled, under ctrl->lock */
	const struct nap_ns_ops *ops;	/* of conf.kind */
	void *priv;			/* the kind's, between enable and disable */
	struct percpu_ref users;	/* commands in flight; killed to disable */
	struct completion drained;
	struct nap_limit limit;
	struct nap_stats stats;
	/* Set by enable(); the kind may change nblocks later and then calls nap_event_ns_changed(). */
	u8 lba_shift;
	u64 nblocks;
	u32 max_bytes;			/* largest transfer */
	u16 max_segments;		/* and of how many pieces; 0: any */
	bool accel;			/* an accelerator, says its Identify page */
};

#define nap_ns_err(ns, fmt, ...) \
	pr_err(NAP_NAME ": %s namespace %u: " fmt "\n", nap_ctrl_name((ns)->ctrl), (ns)->nsid, ##__VA_ARGS__)
#define nap_ns_info(ns, fmt, ...) \
	pr_info(NAP_NAME ": %s namespace %u: " fmt "\n", nap_ctrl_name((ns)->ctrl), (ns)->nsid, ##__VA_ARGS__)

/* Enabled namespace of a running controller, with a reference on users, or NULL. Atomic. ns.c */
struct nap_ns *nap_ns_get(struct nap_ctrl *ctrl, u32 nsid);
static inline void nap_ns_put(struct nap_ns *ns) { percpu_ref_put(&ns->users); }

/* ---- Controllers ---- */

struct nap_live;			/* core.h: what is registered with nvme-core while the controller is enabled */

struct nap_ctrl_conf {			/* changed only while not enabled, under nap_ctrl.lock */
	char subsysnqn[NVMF_NQN_FIELD_LEN];	/* "": derived */
	char serial[21], model[41], firmware[9];	/* "": derived, ours, the module's version */
	u32 queue_depth, nr_queues;	/* nr_queues 0: one a processor */
};

struct nap_ctrl {
	struct config_group group;	/* whose reference count is that of the whole; struct nap_live holds one */
	struct config_group ns_group;	/* its directory `namespaces` */
	struct mutex lock;
	struct nap_ctrl_conf conf;
	struct xarray made;		/* nsid -> struct nap_ns that has a directory; under lock */
	struct xarray ns;		/* nsid -> struct nap_ns that is active; RCU */
	struct nap_live *live;		/* NULL while not enabled; under lock, and without it for nap_event_ns_changed() */
	spinlock_t live_lock;		/* that one's */
	bool disabling;			/* nap_ctrl_disable() has not ended */
	atomic_t held;			/* commands that engine namespaces hold: at most half of the tags of a queue */
};

const char *nap_ctrl_name(const struct nap_ctrl *c);	/* the name of its configfs directory */

/*
 * Events, from any context: a namespace has come, gone or changed its size or identity. The local host and whoever
 * reads the Changed Namespace List log page learns of it by an asynchronous event (Notice, 00h). event.c
 */
void nap_event_ns_changed(struct nap_ctrl *c, u32 nsid);

/* ---- What is below: lower.c, for device.c ---- */

extern const struct nvme_ctrl_ops nap_ctrl_ops;		/* ctrl.c; to know our own controllers */

#endif
