/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the transport half of the daemon shares: reactors, connections, requests on their way.
 *
 * A connection and all its requests belong to one reactor. Within a turn of it, nothing is freed that somebody further
 * down the stack may still use: responses, ends of requests and connections wait in lists for the end of the turn.
 */
#ifndef ACCELD_CONN_H
#define ACCELD_CONN_H

#include "mem.h"

#define RBUF_NBYTES	65536u		/* most that is read at once besides data that go where they belong */
#define RBUF_TIGHT	8192u		/* when memory is short: a connection may have to keep so much for later */
#define ADMIN_ICD	8192u		/* least limit of in-capsule data of admin queues */
#define FIRST_NBYTES	4096u		/* most data of a command before Connect */
#define TX_NIOV		256u
#define TX_NPDU		256u
#define TX_HDRS		16384u
#define TX_NBYTES	(1u << 20)	/* of a sendmsg() */
#define DDGST_CHUNK	131072u		/* C2HData with a digest have so much at most: its sum delays the first byte */

/* Something with a file descriptor in an epoll set. */
struct source {
	void (*fn)(struct source *src, uint32_t events);
	int fd;
};

/* Counted without atomics, added to the target's counters at the end of a turn. */
struct tally {
	uint64_t admin, read, write, other, failed, aborted, ok, bytes_in, bytes_out;
	int64_t now;
	uint64_t lat_log2[40];
};

/* A PDU of a batch, for what follows from its having been sent. */
struct tx_pdu {
	struct req *req;	/* NULL: the connection's own */
	uint32_t nbytes;
	uint32_t data_end;	/* bytes of the request's data that have gone with it */
	bool ends;		/* the last one of the request */
};

struct tx_batch {
	struct iovec iov[TX_NIOV];
	struct tx_pdu pdu[TX_NPDU];
	unsigned int niov, npdu;
	size_t nbytes, nhdr;
	uint8_t hdr[TX_HDRS];
};

struct reactor {
	struct target *t;
	unsigned int index;
	pthread_t thread, self;
	int epfd, evfd;
	struct source wake;
	uint64_t now;
	struct reactor_msg *msgs;	/* atomic: newest first */
	uint32_t sleeping;		/* atomic: whoever posts must write evfd */
	bool stopping;
	struct reactor_timer timers;	/* head of a list without order */
	uint64_t timer_due;		/* no timer is due before */
	uint64_t tick_due, tick_ns;	/* of the namespaces; when it was asked for */
	uint64_t poll_ns, poll_end;	/* busy poll: longest; end of the present one, 0: none */
	int32_t credit;
	unsigned int npoll;		/* turns of the busy poll */
	struct conn *hot;		/* the connection that brought something last */
	struct conn *conns, *dirty;
	uint32_t nconn;			/* atomic: also those that are on their way to it */
	uint32_t nbusy;			/* atomic: commands in flight that end by themselves */
	bool draining;
	struct reactor_timer stall;
	struct reactor_msg drain, stop;
	struct tally tally;
	struct ns_batch batch;
	struct tx_batch tx;
	uint8_t rbuf[RBUF_NBYTES];
};

uint64_t now_ns(void);
unsigned int reactors_ncpu(void);		/* that the process may use */
void reactors_drain(struct target *t);		/* no new commands are taken from now on; not in a reactor */
unsigned int reactors_busy(const struct target *t);	/* commands in flight that end by themselves */
int reactor_add(struct reactor *r, struct source *src, uint32_t events);	/* 0 or -errno */
void reactor_mod(struct reactor *r, struct source *src, uint32_t events);
void reactor_del(struct reactor *r, struct source *src);

/* ---- Connections ---- */

enum conn_state {
	CONN_IC,		/* waits for ICReq */
	CONN_NEW,		/* for Connect; one command at a time */
	CONN_LIVE,		/* a queue */
	CONN_ENDING,		/* what is complete is sent, perhaps a TermReq; what comes is dropped */
	CONN_CLOSED,		/* no socket any more; waits for its requests */
};

enum { PAUSE_MEM = 1, PAUSE_DRAIN = 2 };

struct conn {
	struct source src;
	struct reactor *r;
	struct target *t;
	struct conn *prev, *next, *dirty_next;
	enum conn_state state;
	bool dirty, no_sqflow, shut;
	uint8_t paused;			/* bits: not read */
	uint32_t events;		/* of epoll */
	struct ctrl *ctrl;
	uint16_t qid, sqsize, sqhd;
	struct ntcp_params p;
	struct ntcp_rx rx;
	struct req *rx_req;		/* whose data arrives; NULL: nobody's */
	struct iovec sink[REQ_NIOV];
	uint8_t *kept;			/* bytes that came while it was paused */
	size_t nkept;
	/* Requests: before Connect one, then a table. */
	struct req first;
	struct req *table, *free;
	uint16_t *hash;			/* of CIDs in flight: index + 1 of the first one */
	uint32_t ntable, nfresh, hash_mask;
	uint32_t inflight, ntransfer;	/* requests not free; those that wait for H2CData */
	uint32_t nmem;			/* those that wait for memory without being waited for */
	uint32_t nfailed;		/* commands that failed before Connect */
	struct mem_host *mh;
	/* Sending. */
	struct req *tx_first, *tx_last, *drop;
	size_t tx_off;			/* bytes of the first PDU that have gone already */
	bool dgst_known;
	uint8_t dgst[4];		/* data digest of that PDU */
	uint8_t own[24 + NTCP_TERM_DATA];	/* ICResp or TermReq */
	uint32_t nown;
	bool own_first;
	/* Time, messages. */
	uint64_t progress_ns;
	struct reactor_timer timer;
	struct reactor_msg msg, close_msg;
	uint32_t close_posted;		/* atomic */
	bool close_ran;
	const char *close_why;
	struct sockaddr_storage local;
	char peer[64];
};

/* conn.c */
void conn_start(struct reactor *r, int fd, const struct sockaddr_storage *peer);	/* any thread; owns fd */
void conn_fatal(struct conn *c, uint16_t fes, uint32_t fei, const char *why);
void conn_end(struct conn *c, const char *why);		/* sends what is complete, then closes */
void conn_close(struct conn *c, const char *why);	/* at once */
void conn_dirty(struct conn *c);
void conn_events(struct conn *c);			/* what epoll is to tell, as things are */
void conns_turn_end(struct reactor *r);
void tally_flush(struct reactor *r);
void conns_drain(struct reactor *r);
void conns_close(struct reactor *r);
void conns_stalled(struct reactor_timer *timer);
/* A transfer has begun that needs the peer: it is watched from now on. */
void conn_watch(struct conn *c);

/* conn_rx.c */
bool conn_readable(struct conn *c);		/* whether something came */
void conn_resume(struct conn *c, uint8_t pause);
void conn_place(struct conn *c, struct req *req, uint32_t off, uint32_t nbytes);

/* conn_req.c */
enum req_state {
	REQ_FREE,
	REQ_CAPSULE,		/* data of its capsule arrives, or is dropped */
	REQ_MEM,		/* waits for memory */
	REQ_R2T,		/* its R2T is to be sent */
	REQ_DATA,		/* waits for H2CData */
	REQ_EXEC,
	REQ_DONE,		/* the response is to be sent */
};

#define REQ_F_BAD_DGST	1u
#define REQ_F_MEM	2u	/* wait.buf is its data's memory */
#define REQ_F_MALLOC	4u	/* buf is malloc()ed */
#define REQ_F_ABORTED	8u	/* Abort ended it before its execution */
#define REQ_F_BUSY	16u	/* counted in nbusy */
#define REQ_F_HASHED	32u
#define REQ_F_COPY	64u	/* the data to send are to be copied to buf first */
#define REQ_F_READY	128u	/* the response is as it will be sent */

/* The connection's part of struct req. */
struct req_priv {
	struct mem_wait wait;	/* its msg also brings completions home */
	uint32_t tx_done;	/* bytes of data sent */
	uint32_t capsule;	/* bytes of data in the capsule */
	uint16_t index, hash_next, sqhd;
	uint8_t flags, gen;
};
_Static_assert(sizeof(struct req_priv) <= sizeof(((struct req *)0)->priv), "struct req: priv");

static inline struct req_priv *priv(struct req *req)
{
	return (struct req_priv *)req->priv;
}

int reqs_init(struct conn *c, uint32_t n);	/* a table of n; 0 or -ENOMEM */
void reqs_free(struct conn *c);
void req_command(struct conn *c);		/* c->rx.pdu is a command capsule */
void req_capsule_end(struct req *req, bool dgst_ok);
void req_data_begin(struct conn *c);		/* c->rx.pdu is an H2CData */
void req_data_end(struct req *req, bool dgst_ok);
void req_finish(struct req *req, uint16_t status);	/* without execution */
void req_cancel(struct req *req);		/* its connection is going away */
/* Those that have waited for memory since before, and nobody like them has got any; or since long_before. */
void reqs_expire(struct conn *c, uint64_t before_ns, uint64_t long_before_ns);
void req_put(struct req *req);
struct req *req_by_cid(struct conn *c, uint16_t cid);

/* conn_tx.c */
void tx_append(struct conn *c, struct req *req);
void tx_own(struct conn *c, size_t nbytes);	/* c->own is to be sent */
void conn_send(struct conn *c);

#endif
