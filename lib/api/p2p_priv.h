/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about peer-to-peer share. */
#ifndef ACCEL_API_P2P_PRIV_H
#define ACCEL_API_P2P_PRIV_H

#include "api.h"
#include "../p2p/p2p.h"

#define P2P_CHUNK	(2u << 20)
#define P2P_JOB_CHUNK	(512u << 10)
#define P2P_CHUNK_MAX	(16u << 20)
#define P2P_DEPTH	8u
#define P2P_DEPTH_MAX	64u
#define P2P_LOOK_MS	100		/* between two looks at whether somebody wants the file */

/* ---- p2p.c ---- */

struct p2p_where ctx_p2p_where(const struct accel_ctx *ctx);
/* The module's device file. Errors as of p2p_module_open(). */
int ctx_p2p_module(struct accel_ctx *ctx, struct p2p_module *m);
/* The judgement of sysfs over two functions. */
int ctx_p2p_judge(struct accel_ctx *ctx, const struct p2p_ctrl *a, const struct p2p_ctrl *b, struct p2p_chain *ca,
		  struct p2p_chain *cb, struct p2p_verdict *v);

/* ---- p2p_buf.c ---- */

/* nbytes of a CMB that dev reaches: mapped, with the file that keeps it (-1: none). Errors of accel_buf_alloc(). */
int p2p_buf_map(struct accel_ctx *ctx, struct accel_dev *dev, size_t nbytes, void **p, size_t *mapped, int *fd);
void p2p_buf_close(struct accel_ctx *ctx, int fd);
/* Room in the kernel's own CMB memory of a function; -errno. */
int p2p_kernel_map(const struct p2p_where *where, const char *address, size_t nbytes, void **p);

/* ---- p2p_new.c, p2p_way.c, p2p_copy.c, p2p_compress.c ---- */

enum copy_mode { COPY_NONE, COPY_MEMORY, COPY_KERNEL, COPY_MODULE, COPY_JOBS };

struct copy_jobs;			/* p2p_compress.c */

struct accel_copy {
	struct accel_ctx *ctx;
	struct p2p_where where;
	struct p2p_end src, dst;
	char *src_name, *dst_name;
	struct accel_copy_opts o;	/* with defaults filled in */
	enum copy_mode mode;
	struct p2p_module module;
	struct p2p_kcopy kcopy;
	struct p2p_ring *ring;
	struct nvme_accel_p2p_extent *extents;
	uint32_t nextents;
	void *map;			/* of the kernel's CMB memory */
	size_t map_nbytes;
	struct copy_jobs *jobs;
	struct p2p_why why;
	char provider[P2P_NAME];
	uint32_t provider_id, tier;
	uint64_t main_nbytes;		/* of whole blocks, which go by peers; of jobs: input that is done */
	uint32_t slot_nbytes;		/* of a slot of the module */
	uint64_t begun_ns, deadline_ns, ended_ns;
	uint64_t p2p_nbytes, memory_nbytes, out_nbytes, njobs;
	bool again;			/* a second attempt, after a loss of the CMB */
	bool wanted;			/* somebody waits for the file */
	bool cancelled, timed_out;
	int result;			/* 1: not yet; else what it ended with */
};

/* Opens both ends and checks them against each other; jobs: the output is not as long as the input. The ends are closed with the copy. */
int copy_new(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
	     const struct accel_copy_opts *opts, bool jobs, struct accel_copy **copy);
/* Gives up module, slots and memory of the way that was chosen. */
void copy_leave_way(struct accel_copy *c);
/* ACCEL_COPY_SYNC. */
int copy_flush(const struct accel_copy *c);
void copy_tell(const struct accel_copy *c, struct accel_copy_info *info);
/* The end of starting one, which came to ret: the caller gets the copy, or it (NULL, too) is freed; info, if given, tells. Returns ret. */
int copy_started(struct accel_copy *c, int ret, struct accel_copy **copy, struct accel_copy_info *info);
/*
 * The best way from device to device: 0, or -EREMOTEIO with why; other errors end the copy. accel: a third party that must
 * reach the CMB, too (-1: none).
 */
int copy_way_module(struct accel_copy *c, int accel);
/* Both ends' pieces, joined in c->extents. */
int copy_map(struct accel_copy *c);
int copy_way_kernel(struct accel_copy *c);

/* p2p_compress.c: 1: done, 0: not yet, -errno. */
int copy_jobs_step(struct accel_copy *c, int timeout_ms);
void copy_jobs_cancel(struct accel_copy *c);
void copy_jobs_free(struct accel_copy *c);

#endif
