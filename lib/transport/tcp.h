/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own NVMe/TCP host: what its files share.
 *
 *   tcp_name.c   names: what they say
 *   tcp_conn.c   a connection: sockets, the handshake up to the Connect command, its end
 *   tcp_send.c   from a command to bytes: capsules, H2CData
 *   tcp_recv.c   from bytes to outcomes: C2HData, R2T, responses; all that a peer may get wrong
 *   tcp_admin.c  commands of the admin queue
 *   tcp_assoc.c  the association with a controller: set up, kept alive, set up again
 *   tcp_find.c   discovery, scans, the namespace that a name without one means
 *   tcp_queue.c  a transport queue: an I/O connection that comes back
 *   tcp_watch.c  its descriptor to poll
 *   tcp.c        the transport's table
 *
 * Nothing here waits but what is said to: a connection and an association are driven by whoever calls, a step at
 * a time (-EAGAIN: not there yet). A queue has its connection to itself; the association (device, admin
 * connection) is under the device's lock, which is held for no longer than a step, except while a call waits
 * for an admin command.
 */
#ifndef ACCEL_TRANSPORT_TCP_H
#define ACCEL_TRANSPORT_TCP_H

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include "../base/bits.h"
#include "../base/iov.h"
#include "../nvmetcp/nvmetcp.h"
#include "transport.h"

/* enum accel_log_level */
enum { TCP_LOG_ERROR, TCP_LOG_WARNING, TCP_LOG_INFO, TCP_LOG_DEBUG };

#define TCP_NS_PER_MS	1000000ull
#define TCP_PAGE	4096u
#define TCP_TIMEOUT_MS	30000u		/* for an answer to an I/O command */
#define TCP_ADMIN_MS	10000u		/* to any other, and to each step of a connection */
#define TCP_KATO_MS	120000u
#define TCP_POLL_US	20u
#define TCP_MAX_ADDR	8u
#define TCP_MAX_QIDS	64u
#define TCP_MAX_DEPTH	1000u		/* commands of a connection in flight: index and count make a CID */
#define TCP_R2TS	4u		/* R2Ts of a command that may be outstanding */
#define TCP_SINK	1056u		/* elements of a caller's list, and a few */
#define TCP_ADMIN_DEPTH	8u
#define TCP_FABRICS_ICD	8192u		/* data that any controller takes in the capsules of admin and Connect */

static inline uint64_t tcp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A name, taken apart. */
struct tcp_name {
	char host[256], port[6];
	char nqn[NVME_NQN_MAX + 1];	/* "": the one subsystem with accelerators */
	uint32_t nsid;			/* 0: the one accelerator */
	bool hdgst, ddgst;
	uint32_t kato_ms, timeout_ms, poll_us;
	char hostnqn[NVME_NQN_MAX + 1];
	uint8_t hostid[16];
};

struct tcp_addrs {
	unsigned int n;
	struct {
		struct sockaddr_storage sa;
		socklen_t len;
	} addr[TCP_MAX_ADDR];
};

/* ---- Connections ---- */

enum tcp_state { TCP_CLOSED, TCP_CONNECTING, TCP_IC, TCP_FABRIC, TCP_LIVE };
enum tcp_dir { TCP_NODATA, TCP_TO_CTRL, TCP_TO_HOST };

/* A command from its capsule to its response. */
struct tcp_req {
	struct tcp_req *next;		/* in the list of free ones, or of those with bytes to send */
	uint16_t cid;
	bool busy, queued;		/* in flight; in the list of those to send */
	bool icd;			/* its data are in the capsule */
	bool sent;			/* the capsule has left */
	bool over;			/* answered while a part of its data was half sent */
	uint8_t dir;
	const struct iovec *iov;
	unsigned int niov;
	uint64_t base;			/* where in the list its data begin */
	uint32_t nbytes;
	struct nvme_sqe sqe;
	struct ntcp_xfer xfer;		/* TO_HOST: what has come; TO_CTRL: what R2Ts have asked for */
	struct {
		uint16_t ttag;
		uint32_t next, end;
	} r2t[TCP_R2TS];
	unsigned int nr2t;
	/* The PDU that is being sent. */
	uint8_t hdr[NTCP_MAX_HDR];
	uint32_t hdr_at, hdr_len, data_left;
	struct iov_pos pos;
	uint8_t dgst[4];
	uint8_t dgst_at, dgst_len;
	uint64_t due_ns;		/* to be answered by then */
	/* The outcome. */
	int error;
	uint16_t status;		/* enum nvme_sc */
	uint64_t result;
	void *user;			/* struct transport_cmd or struct tcp_op */
};

struct tcp_conn;

struct tcp_conn_opts {
	struct transport_env *env;
	const struct tcp_name *name;
	unsigned int depth;		/* commands in flight at most */
	uint32_t timeout_ms;		/* for answers once it is live */
	size_t nbuf;			/* bytes of the receive buffer */
	void (*done)(struct tcp_conn *conn, struct tcp_req *req);	/* the request is free again afterwards */
	void *owner;
};

struct tcp_conn {
	struct tcp_conn_opts o;
	enum tcp_state state;
	int fd;				/* -1 */
	int error;			/* why it is closed, or is about to be */
	unsigned int starts;		/* how often it was opened */
	uint16_t qid, cntlid, sqsize;
	unsigned int limit;		/* commands in flight at most now */
	uint32_t max_icd;		/* bytes of data that a capsule may carry */
	uint64_t due_ns;		/* of the step of the handshake */
	uint64_t check_ns;		/* no command is overdue before */
	uint64_t heard_ns;		/* when it was last used */
	struct ntcp_params p;
	struct ntcp_rx rx;
	uint32_t maxh2c;
	struct tcp_req *reqs, *free, *tx_first, *tx_last;
	unsigned int nbusy;
	struct tcp_req *connect;	/* the Connect command */
	uint8_t ic[NTCP_IC_LEN];
	uint32_t ic_at;
	struct nvmf_connect_data data;
	struct iovec data_iov;
	struct iovec *sink;		/* of data that do not begin where a list does */
	uint8_t *buf;
	size_t window;			/* of buf, used for the next receipt */
};

int tcp_conn_init(struct tcp_conn *c, const struct tcp_conn_opts *o);
void tcp_conn_fini(struct tcp_conn *c);
/*
 * Begins to connect to queue qid of subsystem nqn; sqsize: entries. 0 or -errno. cntlid FFFFh for the admin queue.
 */
int tcp_conn_start(struct tcp_conn *c, const struct sockaddr_storage *sa, socklen_t len, const char *nqn,
		   uint16_t qid, uint16_t cntlid, uint16_t sqsize);
/* A step of the handshake: 0 when it is live, -EAGAIN, or -errno with the connection closed. */
int tcp_conn_drive(struct tcp_conn *c, uint64_t now);
/* Closes it; what is in flight ends with error. Also when it is closed. */
void tcp_conn_close(struct tcp_conn *c, int error);
/* The same after telling the peer what it did wrong. */
void tcp_conn_fatal(struct tcp_conn *c, uint16_t fes, uint32_t fei, const char *why);
/* Events to poll its socket for. */
short tcp_conn_events(const struct tcp_conn *c);
/* Ends the connection with -ETIMEDOUT if a command is overdue; when to ask again. */
void tcp_conn_check(struct tcp_conn *c, uint64_t now);
/* Whether the peer has closed it, if that is known without a word to it. */
bool tcp_conn_hung_up(const struct tcp_conn *c);
/* ICResp and the response to Connect have come. */
int tcp_conn_ic(struct tcp_conn *c, const struct ntcp_pdu *pdu);
void tcp_conn_connect_done(struct tcp_conn *c, const struct tcp_req *r);
void tcp_conn_log(const struct tcp_conn *c, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- tcp_send.c ---- */

/* NULL: as many are in flight as may be. */
struct tcp_req *tcp_req_get(struct tcp_conn *c);
/* sqe, dir, iov, niov, base, nbytes and user are set; cid, flags and SGL are not. To be sent by tcp_send(). */
void tcp_req_queue(struct tcp_conn *c, struct tcp_req *r, uint64_t now);
/* Sends what it can. 0, or -errno with the connection closed. */
int tcp_send(struct tcp_conn *c);
/* The next part of what R2Ts asked for is due. */
void tcp_req_send_data(struct tcp_conn *c, struct tcp_req *r);
/* Nothing of the PDU has left yet. */
static inline bool tcp_req_unsent(const struct tcp_req *r)
{
	return r->hdr_at == 0;
}
/* The request has its outcome. */
void tcp_req_end(struct tcp_conn *c, struct tcp_req *r);

/* ---- tcp_recv.c ---- */

/* One receipt and all that it brought: bytes, 0 (there is nothing), or -errno with the connection closed. */
int tcp_recv(struct tcp_conn *c, int flags);

/* ---- The association ---- */

/* A command of the admin queue. */
struct tcp_op {
	struct nvme_sqe sqe;
	uint8_t dir;
	struct iovec iov;
	bool busy;
	int error;
	uint16_t status;
	uint64_t result;
};

enum tcp_assoc { TCP_DOWN, TCP_ADMIN, TCP_SETUP, TCP_UP };

struct transport_dev {
	struct transport_env *env;
	struct tcp_name name;
	struct tcp_addrs addrs;
	pthread_mutex_t lock;		/* all below */
	struct tcp_conn admin;
	enum tcp_assoc state;
	unsigned int step, at;		/* of the set-up; of the addresses, to be tried next */
	bool asked;			/* the step's command has been sent */
	uint32_t generation;		/* of the association; counts up with each */
	struct tcp_op op, keep;		/* of the set-up; Keep Alive */
	uint64_t ready_ns;		/* for CSTS.RDY */
	uint8_t *page;			/* of the set-up */
	bool discovery;			/* the controller is one */
	int error;			/* why it is down */
	unsigned int fails;
	uint64_t retry_ns;
	uint64_t keep_ns;		/* Keep Alive is due then */
	/* What the controller is like. */
	uint64_t cap;
	uint16_t cntlid, maxcmd;
	uint32_t icd, nqueue;
	uint64_t mdts;			/* bytes; 0: any */
	uint64_t qids;			/* in use; bit 0: of queue 1 */
	unsigned int last_qid;
	uint32_t lbads;
	bool known;			/* the fields below are from an association before */
	uint8_t ctrl[TCP_PAGE];		/* Identify Controller */
	uint8_t same[40];		/* of Identify Namespace: what must be the same */
};

/* ---- tcp_admin.c: with the device's lock held ---- */

void tcp_op_read(struct tcp_op *op, uint8_t opc, uint32_t nsid, void *buf, uint32_t nbytes);
void tcp_op_identify(struct tcp_op *op, uint8_t cns, uint32_t nsid, void *page);
void tcp_op_log(struct tcp_op *op, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes);
/* 0 or -EBUSY. */
int tcp_op_start(struct transport_dev *dev, struct tcp_op *op, uint64_t now);
void tcp_op_done(struct tcp_conn *c, struct tcp_req *r);
/* Sends and receives what there is. 0, or -errno with the connection closed. */
int tcp_admin_turn(struct transport_dev *dev, uint64_t now);
/* Waits for the association, then for the command; an NVMe status is in op. deadline in ns. */
int tcp_admin_run(struct transport_dev *dev, struct tcp_op *op, uint64_t deadline);
/* Outcome of a command that nobody wants the number of, as an errno. */
int tcp_status_errno(uint16_t status);

/* ---- tcp_assoc.c: with the device's lock held ---- */

int tcp_dev_new(struct transport_env *env, const struct tcp_name *name, struct transport_dev **dev);
void tcp_dev_free(struct transport_dev *dev);	/* without the lock */
/* Looks the host up, which may block as long as the system's resolver does. */
int tcp_resolve(struct transport_env *env, const struct tcp_name *name, bool numeric, struct tcp_addrs *addrs);
/* 0: it is up; -EAGAIN: not yet; -errno: it failed, and is tried again after retry_ns. */
int tcp_assoc_drive(struct transport_dev *dev, uint64_t now);
/* The same, waiting. The first failure is the result. */
int tcp_assoc_wait(struct transport_dev *dev, uint64_t deadline);
/* The association is of no use any more. */
void tcp_assoc_drop(struct transport_dev *dev, int error, uint64_t now);
/* Keep Alive, if it is due. */
void tcp_assoc_keep(struct transport_dev *dev, uint64_t now);
/* No further attempt will help, as far as can be known. */
bool tcp_is_final(int error);
/* Identify Namespace lies in dev->page: is it one that can be used, and the same as before? 0 or -errno. */
int tcp_take_namespace(struct transport_dev *dev);
/* Says of an association that nobody was there to make it with. */
void tcp_assoc_tell(const struct transport_dev *dev, int error);
/* Once an instance: this host's name is not what its files seem to say. */
void tcp_host_tell(struct transport_env *env);
/* Most bytes of one command. */
uint64_t tcp_max_nbytes(const struct transport_dev *dev);

/* ---- tcp_name.c ---- */

/* 0 or -EINVAL after a log line that says what is wrong. */
int tcp_name_parse(struct transport_env *env, const char *text, struct tcp_name *name);
/* HOST[:PORT] alone, for scans. */
int tcp_name_host(struct transport_env *env, const char *text, struct tcp_name *name);
/* "HOST:PORT", IPv6 in brackets. */
void tcp_name_addr(const struct tcp_name *name, char *buf, size_t n);

/* ---- tcp_find.c ---- */

/* Fills in nqn, and nsid, where the name has none. */
int tcp_find_subsystem(struct transport_env *env, struct tcp_name *name);
int tcp_find_namespace(struct transport_dev *dev);
int tcp_scan(struct transport_env *env, const char *options, int (*found)(void *arg, const char *name), void *arg);

/* ---- tcp_queue.c, tcp_watch.c ---- */

#define TCP_TICK_MS 5u			/* while there is no connection */

struct transport_queue {
	struct transport_dev *dev;
	struct tcp_conn conn;
	unsigned int depth, nheld;	/* commands that the caller has here at most, and now */
	uint16_t qid;			/* 0: none */
	uint32_t generation;		/* of the association that the connection belongs to */
	int error;			/* why there is no connection */
	unsigned int fails;
	uint64_t retry_ns, keep_ns;	/* Keep Alive need not be thought of before */
	uint64_t max_nbytes;		/* of one command */
	struct transport_list unsent;	/* or not all of it */
	struct transport_list done;
	unsigned int ndone;
	/* Looking at the socket before sleeping on it. */
	uint64_t spin_ns;
	int credit;
	/* For whoever polls. */
	int epoll_fd, timer_fd;
	unsigned int watched;		/* the connection that the first one knows */
	short events;			/* and what it waits for there */
	uint64_t armed_ns;
};

int tcp_queue_new(struct transport_dev *dev, unsigned int depth, struct transport_queue **q);
void tcp_queue_free(struct transport_queue *q);
int tcp_queue_submit(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n);
int tcp_queue_reap(struct transport_queue *q, struct transport_cmd **done, unsigned int max, unsigned int min,
		   int timeout_ms);
int tcp_queue_fd(struct transport_queue *q);
/* After every call: what the descriptor is to wait for from now on. */
void tcp_queue_watch(struct transport_queue *q, uint64_t now);

#endif
