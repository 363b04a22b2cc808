/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Namespaces behind the inbox driver, reached by their nodes: what the files of these transports share.
 *
 *   sysfs.c        what the kernel says of a node without it being opened
 *   node_open.c    opening one, and the proof that it is an accelerator, before anything is ever written to it
 *   node.c         the rest of a device handle: identity, pages, flock
 *   node_map.c     from a caller's gather list to one that the kernel sends as one command
 *   node_status.c  what an errno of the block layer says about the NVMe status behind it
 *   uring.c        commands by io_uring: block nodes, and generic nodes by passthrough
 *   block.c        the same by threads, where io_uring is forbidden
 *   ng.c           passthrough commands of generic nodes
 */
#ifndef ACCEL_TRANSPORT_NODE_H
#define ACCEL_TRANSPORT_NODE_H

#include <linux/nvme_ioctl.h>
#include <sys/types.h>
#include "../base/bits.h"
#include "transport.h"

/* ---- sysfs.c ---- */

/* What a command may be like to stay one command. */
struct node_limits {
	uint32_t block;			/* bytes of a logical block */
	uint32_t dma_mask;		/* bits that are clear in the address of a buffer */
	uint32_t gap_mask;		/* elements of a list must meet where these bits are clear; 0: anywhere */
	uint32_t max_segments;
	uint32_t nr_requests;		/* that the kernel takes at a time; 0: unknown */
	uint64_t max_nbytes;
	uint64_t chunk_nbytes;		/* no command crosses a multiple of this; 0: unknown */
};

#define NODE_NQUEUE 8u			/* block devices whose limits are watched: the node and its paths */

struct node_sysfs {
	bool nvme;			/* a namespace of the inbox driver, and not just some disk */
	bool live;			/* a controller is there to take commands */
	char state[24];			/* of the controller asked: "live", "connecting", ... */
	uint32_t npath;			/* controllers that reach it */
	uint32_t major, minor;		/* 0, 0: unknown */
	struct node_limits limits;
	struct transport_info info;
	unsigned int nqueue;
	char queue[NODE_NQUEUE][256];	/* directories of their limits */
};

/*
 * Calls found with the name of each namespace of the inbox driver, once: nvme0n1, or ng0n1 where there is no
 * block device. Path nodes (nvme0c1n1) are no namespaces. 0, -ENOMEM, -EIO (sysfs is there and cannot be read)
 * or what found returned, if that is not 0.
 */
int sysfs_scan(const char *sysfs, int (*found)(void *arg, const char *name), void *arg);
/* name: without "/dev/". What is not known stays at defaults that are safe. */
void sysfs_read(const char *sysfs, const char *name, struct node_sysfs *node);
/* Whether name is nvmeXnY (generic: ngXnY) and nothing else. */
bool sysfs_is_block(const char *name);
bool sysfs_is_generic(const char *name);

/* ---- node_open.c, node.c ---- */

struct transport_dev {
	struct transport_env *env;
	int fd;
	bool generic;			/* /dev/ngXnY: passthrough commands */
	bool admin;			/* Identify Namespace by command is allowed, and has our magic */
	uint32_t nsid;			/* 0: unknown, not a namespace of the inbox driver */
	char name[256];
	struct node_sysfs sysfs;
	int limit_fd[NODE_NQUEUE];	/* max_sectors_kb of each in sysfs.queue; -1: not there */
	uint64_t max_nbytes;		/* atomic: as sysfs.info, or less if it has been made less since */
	/* Commands that went from and to the caller's memory as it lay there, and those that needed a copy; atomic. */
	uint64_t direct, copied, copied_nbytes;
};

int node_scan(struct transport_env *env, const char *options, int (*found)(void *arg, const char *name), void *arg);
int node_open(struct transport_env *env, const char *name, struct transport_dev **dev);
void node_close(struct transport_dev *dev);
int node_identify(struct transport_dev *dev, void *page);
int node_identify_ctrl(struct transport_dev *dev, void *page);
int node_log_page(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes);
int node_info(struct transport_dev *dev, struct transport_info *info);
int node_hold(struct transport_dev *dev, enum transport_hold how);
int node_reset(struct transport_dev *dev);

/* An Identify command to whatever NVMe node fd is, 4096 bytes. -EACCES: the kernel does not let us. */
int node_admin_identify(int fd, uint32_t nsid, uint8_t cns, void *page);
/*
 * After a read that must have gone as one command (TRANSPORT_WHOLE): limits can be made smaller at any time, by a rule
 * of udev or by hand. Whether it may have been split; if so the command has its error.
 */
bool node_was_split(struct transport_dev *dev, struct transport_cmd *cmd);
/* Whether it would be, as far as is known before it is sent. */
static inline bool node_too_long(const struct transport_dev *dev, const struct transport_cmd *cmd)
{
	uint64_t max = __atomic_load_n(&dev->max_nbytes, __ATOMIC_RELAXED);

	return cmd->flags & TRANSPORT_WHOLE && max && cmd->nbytes > max;
}
void node_watch(struct transport_dev *dev);
/* Makes a handle for a name, without opening anything. */
int node_new(struct transport_env *env, const char *name, struct transport_dev **dev);
/* Whole blocks by one plain read. 0 or -errno; short is -EIO. */
int node_read(struct transport_dev *dev, uint64_t off, void *buf, uint32_t nbytes);

/* ---- node_map.c ---- */

#define NODE_NIOV 8u			/* elements that need no memory of their own */

/* A gather list that the kernel takes as it is, and where its parts come from. */
struct node_map {
	const struct transport_cmd *cmd;
	unsigned int niov;
	struct iovec *iov;		/* few, or memory */
	bool *own;			/* element i is a copy; copies lie in bounce */
	void *bounce;			/* NULL: no copies */
	bool bounce_lent;		/* it is the caller's of node_map_make() */
	uint64_t bounce_nbytes;
	struct iovec few[NODE_NIOV];
	bool few_own[NODE_NIOV];
};

/*
 * Makes the list for cmd, copying what does not fit the limits, for a write the data too. lent: room of lent_nbytes,
 * aligned to a page, that is used if all of the command goes into it and it is small enough to be worth it; NULL:
 * none. 0, -ENOMEM, -EINVAL (not whole blocks).
 */
int node_map_make(struct node_map *map, const struct node_limits *limits, const struct transport_cmd *cmd, void *lent,
		  size_t lent_nbytes);
/* The command has ended; ok: what a read brought goes to the caller's memory. */
void node_map_end(struct node_map *map, bool ok);

/* ---- node_status.c ---- */

/*
 * Whether the block layer would make several commands of one that crosses a half window (NOIOB), each of which may
 * be right: it ends as the device would end it, and is not sent.
 */
bool node_crosses(const struct node_limits *limits, struct transport_cmd *cmd);
/* The outcome of a read or write of a block device: res as io_uring has it (bytes, or -errno). */
void node_outcome(struct transport_cmd *cmd, int64_t res);
/* The outcome of a passthrough command: an NVMe status field as the kernel gives it, or -errno. */
void node_outcome_ng(struct transport_cmd *cmd, int64_t res);

/* ---- ng.c ---- */

/* A Read or Write of n bytes at off by a list of niov elements. */
void ng_fill(const struct transport_dev *dev, struct nvme_uring_cmd *cmd, bool is_write, uint64_t off, uint64_t n,
	     const struct iovec *iov, unsigned int niov);
/* The same at once, in the caller's thread: 0 or an NVMe status, or -errno. */
int ng_rw(const struct transport_dev *dev, bool is_write, uint64_t off, uint64_t n, const struct iovec *iov,
	  unsigned int niov);

#endif
