/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controllers: what the files that answer admin and fabrics commands share (ctrl.c fabrics.c admin*.c aer.c
 * identify*.c logpage*.c disc.c feature*.c) and what the target side (target.c subsys.c host.c reload.c) needs.
 *
 * A controller is an association: it begins with a Connect of an admin queue and ends with that queue's connection.
 * Its connections may be on different reactors. Each of them is a reference; the last one to go frees it, and only
 * then its controller id. While a connection is a queue of it, ctrl->queue[qid] points to the connection, and
 * whoever holds ctrl->lock may call what takes a connection from any thread.
 */
#ifndef ACCELD_CTRL_H
#define ACCELD_CTRL_H

#include "acceld.h"

#define PAGE		4096u
#define MAX_AER		4u		/* AERL + 1 */
#define MAX_ABORT	4u		/* ACL + 1 */
#define NERROR		64u		/* entries of the error log */
#define KAS_MS		100u		/* granularity of the keep alive timer */
#define ANY_CNTLID	0xffffu
#define NSID_ALL	0xffffffffu
#define VERSION		0x10400u	/* of the NVMe specification: 1.4 */

/* Asynchronous events, and the bits of feature 0Bh that enable them. */
enum event { EVENT_NS_CHANGED, EVENT_DISC_CHANGED, NEVENT };
#define AEC_NS_CHANGED	(1u << 8)
#define AEC_DISC_CHANGED (1u << 31)
#define AEC_HEALTH	0xffu		/* critical warnings, of which there are none */

#define CC_EN		1u
#define CSTS_RDY	1u
#define CSTS_CFS	2u
#define CSTS_SHST	0xcu
#define CSTS_SHST_DONE	0x8u

struct error_entry {
	uint64_t count, lba, result;
	uint32_t nsid;
	uint16_t qid, cid, status;
};

struct features {
	uint32_t arbitration, temp_over, temp_under, recovery, aec;
	uint8_t behavior[4];		/* first bytes of Host Behavior Support; the others are zero */
};

struct ctrl {
	/* Constant. */
	struct target *target;
	struct subsys *subsys;
	uint64_t host;			/* ctrl_host() */
	uint16_t cntlid;
	uint8_t hostid[16];
	char hostnqn[NVME_NQN_MAX + 1];
	/* Under target.lock. */
	struct ctrl *next;
	unsigned int nconn;		/* references: connections that are queues */
	/* Atomic. */
	uint64_t alive_ns;
	bool ready;			/* CC.EN and CSTS.RDY */
	/* The admin queue's reactor only. */
	struct reactor_timer kato_timer;
	uint32_t kato_ms;
	uint32_t cc;
	unsigned int nabort;
	struct features feat;
	/* Under lock. */
	pthread_mutex_t lock;
	bool dead;			/* ends: no Connect any more; atomic for those without the lock */
	bool used;			/* it had an I/O queue: somebody did not only look */
	uint32_t csts;
	unsigned int granted;		/* I/O queues */
	struct conn *queue[MAX_IO_QUEUES + 1];
	bool closing[MAX_IO_QUEUES + 1];	/* the connection is there still, the queue no more */
	struct req *aer[MAX_AER];
	unsigned int naer;
	uint32_t aec;			/* feat.aec, for other threads */
	bool pending[NEVENT], masked[NEVENT];
	uint64_t changed[MAX_NSID / 64];	/* bit nsid - 1 */
	struct error_entry error[NERROR];
	uint64_t nerror;
};

/* ---- ctrl.c ---- */

/* A new controller of the subsystem, with conn as its admin queue; under target.lock. NULL: no memory, or no id. */
struct ctrl *ctrl_new(struct target *t, struct subsys *s, const struct nvmf_connect_data *data, struct conn *conn);
/* The controller of that id in any subsystem, alive or not; under target.lock. */
struct ctrl *ctrl_find(struct target *t, uint16_t cntlid);
/* A connection is no longer (or has not become) a queue; the last one frees the controller. */
void ctrl_drop(struct ctrl *ctrl, uint16_t qid, struct conn *conn);
/* Any thread, a reference held or under target.lock: closes all its connections, soon. */
void ctrl_close(struct ctrl *ctrl, const char *why);
/* Closes its I/O queues: a controller reset. */
void ctrl_close_io(struct ctrl *ctrl, const char *why);
/* In the admin queue's reactor: the keep alive timer begins anew. */
void ctrl_set_kato(struct ctrl *ctrl, uint32_t kato_ms);
bool ctrl_is_discovery(const struct ctrl *ctrl);
void features_default(struct features *feat);

/* ---- aer.c ---- */

/* Any thread, a reference held or under target.lock. */
void ctrl_event(struct ctrl *ctrl, enum event event);
/* These namespaces have come, gone or changed; bit nsid - 1. */
void ctrl_ns_changed(struct ctrl *ctrl, const uint64_t changed[MAX_NSID / 64]);
/* The log page of the event has been read: it is reported again when it happens again. Under ctrl->lock. */
void ctrl_event_seen(struct ctrl *ctrl, enum event event);
/* A controller reset: outstanding requests are aborted. */
void aer_reset(struct ctrl *ctrl);
uint16_t aer_parse(struct req *req);

/* ---- Parsing admin and fabrics commands: as cmd_parse(), each for its opcode ---- */

uint16_t fabrics_parse(struct req *req);
uint16_t identify_parse(struct req *req);
uint16_t log_parse(struct req *req);
uint16_t set_features_parse(struct req *req);
uint16_t get_features_parse(struct req *req);

#define FAIL(sc) ((uint16_t)((sc) | NVME_SC_DNR))
/* A command without data, with data to the host, from the host. */
uint16_t admin_nodata(struct req *req, void (*execute)(struct req *req));
uint16_t admin_to_host(struct req *req, uint32_t nbytes, void (*execute)(struct req *req));
uint16_t admin_to_ctrl(struct req *req, uint32_t nbytes, void (*execute)(struct req *req));
/* Bytes of the command's data, in or out, which may lie in pieces. */
void data_put(struct req *req, uint32_t off, const void *from, uint32_t n);
void data_get(const struct req *req, uint32_t off, void *to, uint32_t n);
void data_zero(struct req *req, uint32_t off, uint32_t n);

/* What is sent of a log page or a list that is made from its start: the part [skip, skip + want) of what is put. */
struct window {
	struct req *req;
	uint64_t at, skip;
	uint32_t want;
};
void window_put(struct window *w, const void *from, uint32_t n);
void window_zero(struct window *w, uint32_t n);

/* ---- identify.c ---- */

void identify_ctrl(const struct ctrl *ctrl, uint8_t page[PAGE]);
/* identify_ns.c: executes all CNS values that are about namespaces. */
uint16_t identify_ns_parse(struct req *req, unsigned int cns);
/* Space padded, as text fields are. */
void text_put(void *field, size_t size, const char *text);

/* ---- logpage.c, disc.c ---- */

/* Bytes of the discovery log page for this host. Under target.lock. */
uint64_t disc_nbytes(const struct ctrl *ctrl, const struct conn *conn);
void disc_put(const struct ctrl *ctrl, const struct conn *conn, struct window *w);
void stats_page(struct target *t, struct nvme_accel_target_stats *page);	/* logpage_stats.c */

/* ---- admin.c ---- */

extern const uint8_t admin_opcodes[];	/* that controllers serve, ends with FFh */

/* ---- subsys.c, host.c: under target.lock ---- */

/* The subsystem of this name that is not gone; NULL. */
struct subsys *subsys_find(struct target *t, const char *nqn);
bool subsys_allows(const struct subsys *s, const char *hostnqn);
unsigned int subsys_naccel(const struct subsys *s);
struct subsys *subsys_new(struct target *t, const struct conf_subsys *conf);
/* Hosts and whether any host is allowed, as conf has them. -ENOMEM; then nothing has changed. */
int subsys_set_hosts(struct subsys *s, const struct conf_subsys *conf);
void subsys_free(struct subsys *s);		/* it is not in the list; its namespaces are gone */
/* Connections of this host in all controllers. */
unsigned int host_nconn(const struct target *t, const char *hostnqn);
uint64_t host_number(const struct target *t, const struct nvmf_connect_data *data);

/* ---- target.c: the table of all accelerator namespaces, for ticks; main thread ---- */

/* -ENOSPC */
int target_ns_add(struct target *t, struct ns *ns);
/* Ticks that have begun may still use it: reactors_sync() before it is removed. */
void target_ns_del(struct target *t, struct ns *ns);

/* ---- reload.c: main thread ---- */

/* Makes what there is what conf wants. first: at the start, when no reactor runs. The first error; what failed is left
 * out (a namespace, a subsystem), all else is done. */
int target_apply(struct target *t, const struct conf *conf, bool first);

#endif
