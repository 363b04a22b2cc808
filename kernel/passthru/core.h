/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files that make the controllers share: main, configfs*, ids, ctrl, reset, queue, admin, feature, identify,
 * log, event, ns.
 */
#ifndef NAP_CORE_H
#define NAP_CORE_H

#include "nap.h"

#define NAP_VERSION	"0.1.0"	/* eight characters at most: the firmware revision */
#define NAP_MODEL	"nvme-accel virtual controller"
#define NAP_VS		NVME_VS(1, 4, 0)
#define NAP_MAX_QUEUES	128u
#define NAP_AERL	4u		/* asynchronous event requests that may wait, of users */
#define NAP_PAGE	4096u

/* NVMe status: SCT << 8 | SC. The ones with DNR are never worth another try. */
#define NAP_SC_DNR		0x4000
#define NAP_SC_INVALID_OPCODE	0x4001
#define NAP_SC_INVALID_FIELD	0x4002
#define NAP_SC_INTERNAL		0x0006
#define NAP_SC_ABORTED		0x4007
#define NAP_SC_INVALID_NS	0x400b
#define NAP_SC_INVALID_LOG	0x4109
#define NAP_SC_AER_LIMIT	0x4105
#define NAP_SC_NOT_CHANGEABLE	0x410e
#define NAP_SC_NOT_SAVEABLE	0x410d
#define NAP_SC_NOT_PER_NS	0x410f
#define NAP_SC_PATH_INTERNAL	0x4300	/* what is below is gone */
#define NAP_SC_HOST_ABORTED	0x0371	/* it was being reset */

/* Features of the controller that hold a value. */
struct nap_features {
	u32 arbitration, error_recovery, write_atomicity, aer_config;
	u16 temp_over, temp_under;	/* kelvin; there is no sensor */
};

/*
 * A controller that is registered with nvme-core. Made to enable, and freed by nvme-core's last reference: whoever has
 * /dev/nvmeX open keeps it, after the controller is disabled too.
 */
struct nap_live {
	struct nvme_ctrl ctrl;
	struct nap_ctrl *owner;		/* with a reference */
	struct blk_mq_tag_set admin_tags, io_tags;
	struct workqueue_struct *wq;	/* admin commands */
	/* Registers. */
	u64 cap;
	u32 cc, csts;
	bool ready;			/* commands are taken: between enable and disable */
	bool going;			/* being disabled: what comes now finds nothing */
	/* What it says of itself, as long as it lives. */
	struct nap_ctrl_conf id;
	u32 nr_queues;
	u32 max_bytes, max_segments;	/* of one command: MDTS */
	u16 oncs;
	ktime_t since;
	struct mutex feat_lock;
	struct nap_features feat;
	/* Events (event.c). */
	spinlock_t aer_lock;
	struct nap_req *aer[NAP_AERL];	/* of users, that wait */
	bool aer_open;
	bool ns_wanted, ns_event, ns_masked;	/* feature 0Bh; one is due; one was told, and the log not read since */
	DECLARE_BITMAP(ns_changed, NAP_MAX_NSID + 1);
};

static inline struct nap_live *nap_live(struct nvme_ctrl *ctrl) { return container_of(ctrl, struct nap_live, ctrl); }
static inline struct nap_ctrl *nap_ctrl_of(struct nvme_ctrl *ctrl) { return nap_live(ctrl)->owner; }
static inline union nvme_result nap_result(u64 value) { return (union nvme_result){ .u64 = cpu_to_le64(value) }; }

#define nap_err(c, fmt, ...) pr_err_ratelimited(NAP_NAME ": %s: " fmt "\n", nap_ctrl_name(c), ##__VA_ARGS__)
#define nap_info(c, fmt, ...) pr_info(NAP_NAME ": %s: " fmt "\n", nap_ctrl_name(c), ##__VA_ARGS__)

/* main.c */
extern struct device *nap_parent;	/* of every controller */

/* configfs.c, configfs_ns.c */
int nap_configfs_init(void);
void nap_configfs_exit(void);
extern const struct config_item_type nap_ns_group_type;
/* The lines of an attribute's text; -EINVAL with a line in the log: the name of the attribute, and what it may be. */
int nap_parse_u32(struct nap_ctrl *c, const char *name, const char *page, u32 min, u32 max, u32 *value);
int nap_parse_bool(struct nap_ctrl *c, const char *name, const char *page, bool *value);
/* Printable, without blanks at its ends, at most max characters, in *text (kfree). */
int nap_parse_text(struct nap_ctrl *c, const char *name, const char *page, size_t max, char **text);

/* ids.c */
void nap_ids_ctrl(struct nap_ctrl *c, struct nap_ctrl_conf *out);	/* the configuration, what is empty derived */
void nap_ids_ns(struct nap_ns *ns, const char *subsysnqn, const void *page);	/* page: Identify of what is below, or NULL */

/* ctrl.c, with c->lock held */
int nap_ctrl_enable(struct nap_ctrl *c);
void nap_ctrl_disable(struct nap_ctrl *c);
/* Unlocks c->lock; and waits until the local host has looked for namespaces. */
void nap_ctrl_unlock_scan(struct nap_ctrl *c, bool wait);

/* reset.c */
void nap_reset_work(struct work_struct *work);
int nap_live_start(struct nap_live *l);		/* from CC.EN = 0 to a controller that nvme-core knows */

/* queue.c */
extern const struct blk_mq_ops nap_admin_mq_ops, nap_io_mq_ops;

/* admin.c, feature.c: in process context */
void nap_admin_work(struct work_struct *work);
/* Copies what fits to the command's buffer and clears the rest of it. */
void nap_admin_reply(struct nap_req *r, const void *data, size_t n);
void nap_features_reset(struct nap_live *l);
u16 nap_feature_set(struct nap_live *l, const struct nvme_command *cmd, u32 *result);
u16 nap_feature_get(struct nap_live *l, const struct nvme_command *cmd, u32 *result);

/* identify.c, log.c */
u16 nap_identify(struct nap_live *l, struct nap_req *r);
u16 nap_get_log(struct nap_live *l, struct nap_req *r);

/* event.c */
void nap_event_init(struct nap_live *l);
u16 nap_event_request(struct nap_live *l, struct nap_req *r);	/* 0: it waits, and ends later */
bool nap_event_abort(struct nap_live *l, struct nap_req *r);	/* whether it waited; it has ended then */
void nap_event_open(struct nap_live *l);
void nap_event_close(struct nap_live *l);			/* none waits any more, and none will */
void nap_event_config(struct nap_live *l, u32 config);		/* feature 0Bh */
void nap_event_log(struct nap_live *l, __le32 *list, bool clear);	/* 1024 entries */

/* ns.c, with ctrl->lock held */
struct nap_ns *nap_ns_new(struct nap_ctrl *c, u32 nsid);
void nap_ns_free(struct nap_ns *ns);
int nap_ns_check(struct nap_ns *ns);			/* whether its attributes are complete */
int nap_ns_start(struct nap_ns *ns, struct nap_live *l);
void nap_ns_hide(struct nap_ns *ns);			/* no command finds it any more, and what waits inside ends */
void nap_ns_stop(struct nap_ns *ns);			/* after nap_ns_hide(): waits for its commands, then ops->disable() */
int nap_ns_enable(struct nap_ns *ns);			/* the administrator's: now, or when the controller is enabled */
void nap_ns_disable(struct nap_ns *ns);

#endif
