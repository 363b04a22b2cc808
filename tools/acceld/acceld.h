/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acceld: what its files share. An NVMe/TCP controller side in four parts, each knowing only what is here:
 *
 *   conf*.c                            the configuration file, parsed into struct conf (immutable)
 *   target.c subsys.c host.c reload.c  what there is: subsystems, namespaces, hosts; changing it while it works
 *   ctrl.c fabrics.c admin_*.c disc.c  controllers (associations) and what they answer: parse, then execute
 *   ns*.c                              namespaces: accelerators (lib/device) and plain RAM
 *   reactor.c listen.c conn*.c mem.c   sockets, PDUs, data transfers, memory, time
 *   log.c main.c
 *
 * Threads: reactors (one a core), each the only one to touch its connections and their requests; engines' own
 * threads (lib/device); the main thread, which waits for signals and changes the configuration. What several
 * reactors reach is under target.lock (subsystems, hosts, the list of controllers) or ctrl.lock (one controller);
 * target.lock is taken first. Neither is needed for an I/O command.
 */
#ifndef ACCELD_H
#define ACCELD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <linux/nvme_accel.h>
#include "../../lib/base/bits.h"
#include "../../lib/device/device.h"
#include "../../lib/nvmetcp/nvmetcp.h"

struct target;
struct reactor;
struct conn;
struct req;
struct ctrl;
struct subsys;
struct ns;

#define ACCELD_VERSION	"0.1.0"		/* also Firmware Revision: 8 characters at most */
#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull
#define MAX_REACTORS	64u
#define MAX_QUEUE_DEPTH	1024u		/* commands; MQES + 1 */
#define MAX_IO_QUEUES	64u		/* of a controller */
#define MAX_NSID	1024u		/* of a subsystem; so one active list holds all */
#define CONF_MAX_CTRLS	4096u		/* what max_ctrls may be at most */

/* ---- Log (log.c): one line an event, "LEVEL event key=value ...", to stderr; rate limited by event ---- */

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };	/* syslog prefixes <3> <4> <6> <7> under systemd */

struct logger;				/* in struct target; counts what it suppresses */
struct mem;				/* of struct target, too: data buffers (mem.c) */
struct listeners;			/* and sockets that listen (listen.c) */

int log_start(struct target *t, int level);	/* 0 or -ENOMEM; before it and without a target all is printed */
void log_stop(struct target *t);
void log_set_level(struct target *t, int level);
/* event: one word, a constant ("connect-refused"). fmt: key=value pairs; text from outside goes through log_q(). */
void log_event(struct target *t, enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* text of at most n bytes, quoted, what is not printable escaped, cut at 230 characters; in buf (256), returned. */
const char *log_q(char buf[256], const void *text, size_t n);

/* ---- Configuration (conf.c; acceld.conf(5)) ---- */

enum ns_kind { NS_ACCEL, NS_RAM };

struct conf_ns {
	uint32_t nsid;
	enum ns_kind kind;
	unsigned int function;		/* NS_ACCEL: device kind */
	unsigned int threads, slots;	/* NS_ACCEL */
	uint64_t nbytes;		/* NS_RAM */
	uint32_t block;			/* bytes: 512 or 4096 */
	uint8_t uuid[16];
	char name[49];
};

struct conf_host {
	char nqn[NVME_NQN_MAX + 1];
};

struct conf_subsys {
	char nqn[NVME_NQN_MAX + 1];
	char serial[21], model[41];
	bool allow_any;
	uint32_t nhost, nns;
	struct conf_host *host;		/* in the order of strcmp() */
	struct conf_ns *ns;		/* in the order of nsid */
};

struct conf_listen {
	struct sockaddr_storage addr;
	socklen_t addrlen;
	char text[80];			/* "127.0.0.1:4420", "[::1]:4420" */
	uint16_t port;			/* atomic: that it has got, as a number (listen_update) */
};

struct conf {
	uint32_t nlisten, nsubsys;
	struct conf_listen *listen;
	struct conf_subsys *subsys;
	/* Limits; a change of these needs a restart, and a reload says so. */
	unsigned int reactors;		/* 0: one a CPU */
	unsigned int max_conns;		/* TCP connections in all */
	unsigned int max_conns_host;	/* of one Host NQN */
	unsigned int max_ctrls;
	unsigned int io_queues;		/* of a controller, 2..MAX_IO_QUEUES: a host has one for leases, one for jobs */
	unsigned int queue_depth;	/* 16..MAX_QUEUE_DEPTH */
	uint32_t in_capsule;		/* bytes of data in a command capsule, 4096.. 65536 */
	uint32_t max_transfer;		/* bytes; MDTS: a power of two */
	uint64_t memory;		/* bytes of data buffers and request tables, for all connections together */
	uint64_t slot_memory;		/* bytes of slot memory of all accelerators (DEVICE max_memory) */
	unsigned int max_held;		/* held commands of an accelerator */
	uint32_t small_job;		/* bytes: jobs up to this run on the reactor */
	unsigned int handshake_ms;	/* for ICReq, and for Connect */
	unsigned int drain_ms;		/* at SIGTERM, for commands in flight */
	unsigned int poll_us;		/* longest adaptive busy poll of a reactor; 0: none */
	bool hdgst, ddgst;		/* granted when a host asks (default true) */
	int log_level;
	char congestion[16];		/* TCP congestion control of connections; "": the system's */
};

/* path NULL: the defaults (127.0.0.1:4420, one subsystem, a namespace of each function and none of RAM). NULL after
 * messages "PATH:LINE: ..." on stderr. */
struct conf *conf_load(const char *path);
void conf_free(struct conf *conf);
/* One more listener: "127.0.0.1:4420", "[::1]:4420"; port 4420 if none is given, 0 takes a free one. NULL, or what is
 * wrong with it. (The command line's listeners replace the file's: set nlisten to 0 first.) */
const char *conf_listen_add(struct conf *conf, const char *text);

/* ---- Reactors (reactor.c) ---- */

struct reactor_msg {
	struct reactor_msg *next;
	void (*fn)(struct reactor_msg *msg);	/* in the reactor's thread */
};

struct reactor_timer {
	struct reactor_timer *prev, *next;
	uint64_t due_ns;			/* 0: not set */
	void (*fn)(struct reactor_timer *timer);
};

/* Any thread. A message is the reactor's until its fn runs. */
void reactor_post(struct reactor *r, struct reactor_msg *msg);
bool reactor_is_self(const struct reactor *r);
/* Only in the reactor's thread. Coarse: may be some ms late. */
void reactor_timer_set(struct reactor *r, struct reactor_timer *timer, uint64_t due_ns);
void reactor_timer_clear(struct reactor *r, struct reactor_timer *timer);
uint64_t reactor_now(const struct reactor *r);	/* CLOCK_MONOTONIC at the begin of this turn */
/* Every reactor has finished the turn that it was in (what it looked up then it has forgotten). Not in a reactor. */
void reactors_sync(struct target *t);

int reactors_start(struct target *t, unsigned int n);
/* Connections are closed, threads joined; false: something does not end, and all is as it was. */
bool reactors_stop(struct target *t);
/* Then, and when no other thread is left that may have posted: a message is run, and what it was about ended, before
 * reactor_post() has returned. */
void reactors_free(struct target *t);

/* ---- Statistics of the target: log page C1h (struct nvme_accel_target_stats), atomically counted ---- */

struct counters {
	uint64_t conns, conns_now, conns_refused, conns_failed, ctrls, ctrls_now, connects_refused;
	uint64_t cmds_admin, cmds_read, cmds_write, cmds_other, cmds_failed, cmds_aborted, cmds_now;
	uint64_t bytes_in, bytes_out, term_sent, term_received, digest_errors, keepalive_expiries;
	uint64_t mem_used, mem_waits;
	uint64_t by_sc[4][256];			/* completions by SCT, SC; [0][0] is success */
	uint64_t lat_log2[40];			/* read and write commands, ns from capsule to response */
	uint64_t fes[8];			/* fatal transport errors by FES that we found */
};
static inline void count(uint64_t *c, uint64_t n)
{
	__atomic_fetch_add(c, n, __ATOMIC_RELAXED);
}

/* ---- Requests: a command from its capsule to its response ---- */

enum req_dir { REQ_NODATA, REQ_TO_CTRL, REQ_TO_HOST };

#define REQ_NIOV 4u

struct req {
	/* Set by the connection before parsing; read only afterwards. */
	struct conn *conn;
	struct nvme_sqe sqe;
	/* Set by parsing (cmd_parse). */
	void (*execute)(struct req *req);	/* when the data of a TO_CTRL command is there; completes now or later */
	uint32_t nbytes;			/* of data that the command moves; 0 with REQ_NODATA */
	uint8_t dir;				/* enum req_dir */
	bool exact;				/* the SGL's length must be nbytes (I/O); else at least nbytes (admin) */
	struct ns *ns;				/* of an I/O command: a reference; the connection puts it at the end */
	void (*cancel)(struct req *req);	/* while it executes: it is to complete soon; NULL: it does so anyway */
	/*
	 * The data. Parsing leaves niov 0 and the connection provides the memory, or parsing points to memory that
	 * stays until the request is put (RAM namespaces), to be filled or sent as it is. A few elements at most.
	 */
	struct iovec iov[REQ_NIOV];
	unsigned int niov;
	/* The outcome: */
	uint16_t status;			/* enum nvme_sc, with DNR */
	uint64_t result;			/* dwords 0 and 1 */
	uint32_t out_nbytes;			/* TO_HOST: bytes to send; execute may lower it (admin; zero = nbytes) */
	/* For whoever executes it. */
	union {
		struct device_cmd dev;
		uint64_t word[24];
	} u;
	/* The connection's; see conn.h. */
	uint64_t arrived_ns;
	uint32_t state;
	uint16_t ttag;
	uint32_t buf_nbytes;
	void *buf;
	struct ntcp_xfer xfer;
	struct req *next;
	uint64_t priv[13];
};

/* Any thread, also under the lock of a device; once a request. */
void req_complete(struct req *req, uint16_t status);
struct ctrl *req_ctrl(const struct req *req);	/* NULL before Connect */
uint16_t req_qid(const struct req *req);
struct target *req_target(const struct req *req);
struct reactor *req_reactor(const struct req *req);

/* ---- Connections, as the rest sees them (conn.c) ---- */

/* A successful Connect, in the connection's reactor: it is queue qid of ctrl now. The connection gets request
 * tables for sqsize + 1 commands (-ENOMEM: the memory limit). no_sqflow: SQHD is not reported, SUCCESS may be used. */
int conn_become_queue(struct conn *conn, struct ctrl *ctrl, uint16_t qid, uint16_t sqsize, bool no_sqflow);
/* Any thread: closes the connection soon; what is in flight is cancelled, then queue_gone() is called. why: a
 * constant word for the log. Only while the caller's reference to the queue is protected by ctrl.lock. */
void conn_close_later(struct conn *conn, const char *why);
struct target *conn_target(const struct conn *conn);
struct reactor *conn_reactor(const struct conn *conn);
/* "127.0.0.1:40302", for logs. */
const char *conn_peer(const struct conn *conn);
/* The address that the host connected to (for discovery records of wildcard listeners). */
const struct sockaddr_storage *conn_local(const struct conn *conn);
/* Abort: cancels the command cid of this queue if it can be; true if it was found executing. In the reactor of the
 * connection only (the admin code posts a message there). */
bool conn_abort(struct conn *conn, uint16_t cid);
/* Commands in flight of the connection; its reactor only. */
unsigned int conn_inflight(const struct conn *conn);

/* ---- Commands (ctrl.c and its kin): called in the connection's reactor ---- */

/*
 * Decides what a command is: sets execute, dir, nbytes, ns, ... and returns NVME_SC_OK, or the status to complete it
 * with (then nothing of it is executed and nothing needs to be put). Checks opcode, FUSE, PSDT, NSID, fields; not the
 * SGL, which the connection checks against dir and nbytes. Never looks at data.
 */
uint16_t cmd_parse(struct req *req);
/* The connection of a queue is gone and has nothing in flight any more. ctrl NULL never comes here. Of the admin queue:
 * the association ends, its other connections are closed. */
void queue_gone(struct ctrl *ctrl, uint16_t qid, struct conn *conn);
/* Every command that arrives on a queue is a sign of life (TBKAS): cheap, called once a batch. */
void ctrl_alive(struct ctrl *ctrl, uint64_t now_ns);
/* A number that tells hosts (Host NQN and Host ID) apart, for device_cmd.m.host. */
uint64_t ctrl_host(const struct ctrl *ctrl);
/* A command of a queue has failed with req->status: an entry of the error log. The connection calls it once before
 * it sends the response; for no other reason than that log. */
void ctrl_error(struct ctrl *ctrl, const struct req *req);
struct subsys *ctrl_subsys(const struct ctrl *ctrl);

/* ---- Namespaces (ns.c, ns_accel.c, ns_ram.c) ---- */

struct ns_ops {
	/* An I/O command: as cmd_parse(); opcode, nsid and ns are right already. Sets req->execute, dir, nbytes, iov. */
	uint16_t (*parse)(struct ns *ns, struct req *req);
	void (*identify)(struct ns *ns, void *page);	/* CNS 00h, 4096 bytes, zeroed before */
	uint64_t (*tick)(struct ns *ns);		/* what is due by the clock; when next; any reactor */
	void (*stop)(struct ns *ns);			/* all its requests complete; main thread; blocks for it */
	void (*free)(struct ns *ns);
};

struct ns {
	const struct ns_ops *ops;
	struct target *target;
	struct conf_ns conf;
	uint32_t refs;			/* atomic: requests in flight, and one of the subsystem */
	bool gone;			/* atomic: removed; requests complete with Invalid Namespace, DNR */
};

/* ns NULL after a log line; -errno. */
int ns_new(struct target *t, const struct conf_ns *conf, struct ns **ns);
void ns_get(struct ns *ns);
void ns_put(struct ns *ns);			/* frees with the last one */
/* Removed from its subsystem and reactors_sync()ed: stops it, waits for its requests, drops the subsystem's ref. */
void ns_remove(struct ns *ns);
bool ns_is_accel(const struct ns *ns);
/* Commands that it holds now, for the statistics. */
unsigned int ns_held(struct ns *ns);

/*
 * Accelerators take the commands that arrive in one turn of a reactor together: one turn of the device's lock serves
 * them all. Whoever executes commands sees to it that ns_turn_end() follows before it sends, or sleeps.
 */
#define NS_BATCH 64u
struct ns_batch {
	struct ns *ns;			/* of all of them */
	unsigned int n;
	uint32_t nbytes;
	struct device_cmd *cmd[NS_BATCH];
};
struct ns_batch *reactor_batch(struct reactor *r);
void ns_turn_end(struct reactor *r);

/* ---- The target ---- */

struct subsys {
	struct subsys *next;
	struct conf_subsys conf;	/* without ns and host: these follow */
	uint32_t nhost;
	struct conf_host *host;
	bool gone;			/* removed by a reload: no Connect any more */
	unsigned int nctrl;
	struct ns *ns[MAX_NSID + 1];	/* by nsid; read by reactors without a lock (subsys_ns) */
	uint64_t discovery;		/* true for the discovery subsystem */
};

/* In a reactor, good until the end of its turn (ns_get() to keep it): NULL: inactive. */
static inline struct ns *subsys_ns(const struct subsys *s, uint32_t nsid)
{
	return nsid && nsid <= MAX_NSID ? __atomic_load_n(&s->ns[nsid], __ATOMIC_ACQUIRE) : NULL;
}

struct target {
	struct conf *conf;		/* limits: as at the start; the rest as of the last reload */
	struct logger *log;
	struct mem *mem;
	struct listeners *listeners;
	struct counters count;
	uint64_t start_ns;
	unsigned int nreactor;
	struct reactor *reactor[MAX_REACTORS];
	uint64_t slot_memory;		/* atomic, for device_opts.memory */
	uint32_t stopping;		/* atomic: draining; Connect is refused */
	uint8_t salt[16];		/* random: what ctrl_host() is made with */
	pthread_mutex_t lock;		/* the fields below */
	struct subsys *subsys;		/* the discovery subsystem among them */
	struct ctrl *ctrl;
	uint64_t genctr;		/* of the discovery log */
	uint16_t cntlid;		/* given out last */
	/* For ticks: all accelerator namespaces; changed only between reactors_sync()s. */
	unsigned int nns;
	struct ns *ns_all[4096];
};

/* Does what is due at all namespaces; when to call next. Any reactor, before it sleeps; cheap. */
uint64_t target_tick(struct target *t);
/* t is zeroed but for log. Subsystems and namespaces are made; conf is taken over, also if it fails: 0 or -errno after
 * a log line. Before reactors_start(); target_fini() is after reactors_stop(), and frees the reactors. */
int target_init(struct target *t, struct conf *conf);
void target_fini(struct target *t);
/* What SIGHUP does: conf is taken over, listen_update() called. Says what changed, what cannot change without a restart.
 * target.conf stays where it is with the limits it has; its lists are exchanged under target.lock. */
int target_reload(struct target *t, struct conf *conf);

/* listen.c: 0 or -errno after a message that names the address. Listeners of addresses that are not in conf any more
 * are closed (their connections stay). */
int listen_update(struct target *t, struct conf *conf);
void listen_stop(struct target *t);

#endif
