/* SPDX-License-Identifier: BSD-2-Clause */
/* One job of an accelerator on data in a slot of the module: from device to slot to accelerator to slot to device. */
#ifndef ACCEL_API_P2P_EXEC_H
#define ACCEL_API_P2P_EXEC_H

#include "p2p_priv.h"

struct exec {
	struct accel_dev *dev;		/* a reference */
	struct accel_lease *lease;
	uint32_t which;			/* of its slots; UINT32_MAX: none */
	int fd;				/* the accelerator's block node; -1: not open */
	uint32_t block;			/* bytes of its blocks */
	uint8_t *head, *status;		/* blocks: descriptor, status */
	uint64_t seq;			/* of the job under way, and its plan */
	const struct accel_plan *plan;
	uint32_t job;			/* the module's; 0: none */
	struct nvme_accel_p2p_wait last;
};

struct exec_job {
	const struct accel_plan *plan;
	const struct accel_params *params;
	uint64_t src_off, in_len;	/* src_off: of the disk */
	uint64_t dst_off, dst_max;
	uint64_t out_max;		/* as the descriptor has it */
	int32_t timeout_ms;
};

/* 0, or -errno; -EREMOTEIO with why: dev is no node that the module can use. */
int exec_open(struct exec *x, struct accel_dev *dev, int timeout_ms, struct p2p_why *why);
void exec_close(struct exec *x, const struct p2p_module *m);
/* Bytes of a slot for so much input and output. */
uint64_t exec_slot_nbytes(const struct exec *x, uint64_t in_len, uint64_t out_max);
/* On slot 0 of the set. */
int exec_start(struct exec *x, const struct accel_copy *c, const struct exec_job *job);
/*
 * 1: it has ended, see *result; 0: not yet; -errno: the way failed. result: status, lengths, digests as accel_run().
 */
int exec_step(struct exec *x, const struct p2p_module *m, int timeout_ms, struct accel_result *result);
void exec_cancel(struct exec *x, const struct p2p_module *m);

#endif
