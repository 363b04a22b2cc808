/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport moves Read and Write commands between the library and a namespace and never looks inside
 * them. All else (slots, sequence, retries, held reads) is lib/api's, once, for all transports.
 */
#ifndef ACCEL_TRANSPORT_H
#define ACCEL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/*
 * What the transports of one library instance share; nothing is kept anywhere else. The soft transport's
 * namespaces live here, so that all handles of an instance mean the same ones.
 */
struct transport_env {
	void (*log)(void *arg, int level, const char *message);	/* enum accel_log_level */
	void *log_arg;
	bool forked;			/* this is a child: free memory, touch no lock, thread or device */
	unsigned int ncpu;		/* that the process may use */
	struct soft_nodes *soft;
	/*
	 * Who this host is to controllers over a network; the same as the inbox initiator's where that has an identity
	 * (/etc/nvme/hostnqn, /etc/nvme/hostid), else made from /etc/machine-id. Set by transport_env_init().
	 */
	char hostnqn[224];
	const char *hostid_bad;		/* a file of /etc that is no such thing, until it has been told of; NULL: none */
	uint8_t hostid[16];
	const char *sysfs, *devdir;	/* "/sys", "/dev"; tests have trees of their own */
};

/* 0 or -ENOMEM. log must be set before; no transport device may be open any more at the end. */
int transport_env_init(struct transport_env *env);
void transport_env_fini(struct transport_env *env);
/*
 * Somebody's key has ended: engines in this process that run in their callers' threads forget those they keep,
 * the busy ones after their job. Engines with threads of their own forget by themselves when they idle.
 */
void transport_env_forget(struct transport_env *env);
void transport_log(struct transport_env *env, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct transport_dev;		/* a namespace, reached by a transport */
struct transport_queue;		/* commands in flight, one thread at a time */

#define TRANSPORT_WRITE		1u
#define TRANSPORT_READ		2u
#define TRANSPORT_BORROW	4u	/* buffers stay valid and unread until the completion: use them in place */

/*
 * A read that is right only if it goes as one command all the way (one of a WAIT alias, whose parts would be
 * answered at different times): it ends with -EMSGSIZE if it may have been split, and info() then says what fits.
 */
#define TRANSPORT_WHOLE		8u

/* What a transport is like (transport_ops.flags). */
#define TRANSPORT_CAN_BORROW	1u	/* BORROW saves copies, if the read of a job comes before its write */
/*
 * Commands of one queue arrive in the order of their submission, so that the read of a job may come first and lend
 * the device its buffer. The result is then released with the first answer (RELEASE_RESULT): if that answer is lost
 * on the way, the job is run again.
 */
#define TRANSPORT_ORDERED	2u

struct transport_cmd {
	uint32_t flags;
	unsigned int niov;
	uint64_t off;			/* bytes; whole blocks */
	uint64_t nbytes;
	const struct iovec *iov;
	/* On completion. */
	int error;			/* 0, or -errno of the path (the outcome is unknown), NVMe status apart */
	uint16_t nvme_status;		/* SCT << 8 | SC, bit 14 DNR; 0 is success */
	void *user;
	/*
	 * A read submitted before this write and of no use without it: if the write is refused at once, the
	 * read is ended too. NULL: none.
	 */
	struct transport_cmd *pair;
	/*
	 * Set by the caller: a transport that loses its way to the device and finds it again keeps a command that
	 * it could not send for a second, but not beyond this time (ns of CLOCK_MONOTONIC; 0: none); it then ends
	 * with -ENOTCONN, which says that it has not left.
	 */
	uint64_t give_up_ns;
	struct transport_cmd *next;	/* the transport's while it has the command */
	uint64_t priv[16];		/* the transport's */
};

/* How a namespace is reached, for people and for limits. Strings are "" where they are not known. */
struct transport_info {
	char kind[16];			/* "soft", "tcp", "pcie", "rdma", "loop", "fc" */
	int numa_node;			/* -1: unknown */
	/*
	 * Most bytes of a command that stay one command on the way; 0: any. Longer ones are split by the transport
	 * (writes) or must not be sent as one (reads of the WAIT alias: the rest is read when the job has ended).
	 */
	uint64_t max_nbytes;
	char address[128];		/* "traddr=127.0.0.1,trsvcid=4420" */
	char subnqn[224], serial[21], model[41], firmware[9];
	int64_t kato_ms, ctrl_loss_tmo_s, reconnect_delay_s;	/* -1: unknown or none */
	uint32_t npath;			/* controllers that reach it; 0: unknown */
	/* Commands from and to the caller's memory where it lay; those that needed a copy, and its bytes. */
	uint64_t direct, copied, copied_nbytes;
};

enum transport_hold { TRANSPORT_HOLD_NONE, TRANSPORT_HOLD_SHARED, TRANSPORT_HOLD_EXCLUSIVE };

/* Commands in a row, by their next: completed ones that nobody has taken, or ones that wait. */
struct transport_list {
	struct transport_cmd *first, *last;
};

static inline void transport_list_add(struct transport_list *list, struct transport_cmd *cmd)
{
	cmd->next = NULL;
	if (list->first)
		list->last->next = cmd;
	else
		list->first = cmd;
	list->last = cmd;
}

/* Moves the first ones, at most max, to cmds; their number. */
static inline unsigned int transport_list_take(struct transport_list *list, struct transport_cmd **cmds,
					       unsigned int max)
{
	unsigned int n = 0;

	while (n < max && list->first) {
		cmds[n++] = list->first;
		list->first = list->first->next;
	}
	return n;
}

struct transport_ops {
	const char *name;		/* "soft", "block", "uring", "tcp" */
	uint32_t flags;
	/*
	 * Calls found(arg, name) for each namespace that this transport sees, by a name that open() takes.
	 * 0 or -errno; stops with found's result if that is not 0.
	 */
	int (*scan)(struct transport_env *env, const char *options,
		    int (*found)(void *arg, const char *name), void *arg);
	/* -ENOENT: no such namespace; -EINVAL: the name is not this transport's or is malformed. */
	int (*open)(struct transport_env *env, const char *name, struct transport_dev **dev);
	void (*close)(struct transport_dev *dev);	/* its queues are free already */
	/* Identify Namespace, 4096 bytes, as they are now. 0 or -errno. */
	int (*identify)(struct transport_dev *dev, void *page);
	/* depth: commands in flight at most. fd: becomes readable when a completion may be there. */
	int (*queue_new)(struct transport_dev *dev, unsigned int depth, struct transport_queue **q);
	void (*queue_free)(struct transport_queue *q);	/* ends what is in flight first, within seconds */
	/* Takes all n, or the first few (returned), or -errno if none. */
	int (*submit)(struct transport_queue *q, struct transport_cmd **cmds, unsigned int n);
	/*
	 * Completed commands, at most max; waits up to timeout_ms (-1: for ever) for the first, or until
	 * about min are there or nothing is in flight any more, where waking up less often is a gain. Also
	 * does the work of a transport that has no thread of its own.
	 */
	int (*reap)(struct transport_queue *q, struct transport_cmd **done, unsigned int max,
		    unsigned int min, int timeout_ms);
	/* An fd to poll for completions, made at the first call; -errno. */
	int (*fd)(struct transport_queue *q);
	/* A subsystem reset; -ENOTSUP where that is not the transport's to do. */
	int (*reset)(struct transport_dev *dev);
	/* Fills what is known; cheap, no command is sent. */
	int (*info)(struct transport_dev *dev, struct transport_info *info);
	/* Identify Controller, 4096 bytes; -ENOTSUP. */
	int (*identify_ctrl)(struct transport_dev *dev, void *page);
	/* nbytes (a multiple of 4) of a log page of the controller from byte off; -ENOTSUP, -ENOENT: it has none. */
	int (*log_page)(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes);
	/* flock() of a node, so that what looks at disks keeps away. 0, -EBUSY at once; 0 where there is no node. */
	int (*hold)(struct transport_dev *dev, enum transport_hold how);
};

extern const struct transport_ops transport_soft;	/* soft:[threads=N][,slots=N][,nsid=N] */
extern const struct transport_ops transport_tcp;	/* tcp://HOST[:PORT][/NQN][?nsid=N&...] */
extern const struct transport_ops transport_uring;	/* /dev/nvmeXnY: io_uring, O_DIRECT; /dev/ngXnY: passthrough */
extern const struct transport_ops transport_block;	/* /dev/nvmeXnY, where io_uring is forbidden: threads */
extern const struct transport_ops transport_fault;	/* fault:SPEC,NAME: another transport, misbehaving */

/* Whether this process may use io_uring. */
bool uring_allowed(void);

/* The transport that a device name belongs to, or NULL. */
const struct transport_ops *transport_for(const char *name);

/*
 * Any NVMe namespace of the inbox driver, accelerator or not: what sysfs says of "/dev/nvme0n1", without opening it
 * (-ENOENT: sysfs has none); and Identify Namespace and Identify Controller, 4096 bytes each, with the node opened for
 * reading only. A directory instead of a node has them as files identify-namespace and identify-controller.
 */
int transport_node_info(struct transport_env *env, const char *name, struct transport_info *info);
int transport_node_identify(struct transport_env *env, const char *name, void *ns, void *ctrl);

/* The members that not every transport has, with what it means to have none. */
void transport_get_info(const struct transport_ops *ops, struct transport_dev *dev, struct transport_info *info);
int transport_identify_ctrl(const struct transport_ops *ops, struct transport_dev *dev, void *page);
int transport_log_page(const struct transport_ops *ops, struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf,
		       uint32_t nbytes);
int transport_hold(const struct transport_ops *ops, struct transport_dev *dev, enum transport_hold how);

#endif
