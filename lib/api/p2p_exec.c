// SPDX-License-Identifier: BSD-2-Clause
/* One job of an accelerator on data in a slot of the module. Lease, number, descriptor and status are the library's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "p2p_exec.h"

#define END_S	 60u			/* for a job to end that was told to */
#define LEASE_MS 10000

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- The accelerator's end ---- */

static int open_node(struct exec *x, struct p2p_why *why)
{
	const char *path = x->dev->info.path;

	if (strncmp(path, "/dev/nvme", 9) != 0) {
		p2p_because(why, NVME_ACCEL_P2P_R_NOT_BLOCK, "the accelerator %s is no NVMe block device", path);
		return -EREMOTEIO;
	}
	x->fd = open(path, O_RDWR | O_CLOEXEC);
	if (x->fd >= 0)
		return 0;
	p2p_because(why, 0, "the accelerator %s may not be opened: %s", path, accel_strerror(errno));
	return -EREMOTEIO;
}

static int take_slot(struct exec *x, int timeout_ms)
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	int ret;

	opts.slots_wanted = opts.slots_min = 1;
	ret = accel_lease_acquire(x->dev, &opts, timeout_ms, &x->lease);
	if (ret) {
		x->lease = NULL;
		return ret;
	}
	ret = lease_take(x->lease, 1, &x->which);
	if (ret)
		x->which = UINT32_MAX;
	return ret;
}

int exec_open(struct exec *x, struct accel_dev *dev, int timeout_ms, struct p2p_why *why)
{
	int ret;

	memset(x, 0, sizeof(*x));
	x->fd = -1;
	x->which = UINT32_MAX;
	x->dev = accel_dev_ref(dev);
	x->block = dev->info.block_nbytes;
	ret = open_node(x, why);
	if (ret)
		return ret;
	if (posix_memalign((void **)&x->head, NVME_ACCEL_PAGE, 2 * NVME_ACCEL_PAGE)) {
		x->head = NULL;
		return -ENOMEM;
	}
	memset(x->head, 0, 2 * NVME_ACCEL_PAGE);
	x->status = x->head + NVME_ACCEL_PAGE;
	return take_slot(x, timeout_ms);
}

void exec_close(struct exec *x, const struct p2p_module *m)
{
	struct accel_result result;
	unsigned int i;

	exec_cancel(x, m);
	for (i = 0; x->job && i < END_S; i++)
		exec_step(x, m, 1000, &result);
	if (x->lease && x->which != UINT32_MAX)
		lease_give(x->lease, 1, &x->which);
	if (x->lease)
		accel_lease_release(x->lease);
	if (x->fd >= 0)
		close(x->fd);
	free(x->head);
	accel_dev_close(x->dev);
	memset(x, 0, sizeof(*x));
	x->fd = -1;
	x->which = UINT32_MAX;
}

/* ---- A job ---- */

/* The module puts the output at the next page; what it rounds up to beyond that, the set's own making does. */
uint64_t exec_slot_nbytes(const struct exec *x, uint64_t in_len, uint64_t out_max)
{
	uint64_t align = (uint64_t)sysconf(_SC_PAGESIZE);

	return up(up(up(in_len, x->block), align) + up(out_max, x->block), align);
}

static int fill_head(struct exec *x, const struct exec_job *job)
{
	uint8_t params[NVME_ACCEL_PAGE];
	struct plan_work work;
	struct wire_desc d;
	int ret = plan_build(job->plan, job->params, job->in_len, params, x->block - NVME_ACCEL_PARAM_OFF, &work);

	if (ret)
		return ret;
	/* What leads the input would have to be in the slot. */
	if (work.nlead)
		return -EREMOTEIO;
	memset(&d, 0, sizeof(d));
	d.flags = (uint16_t)(NVME_ACCEL_JOB_START | (job->plan->job_flags & ~(uint32_t)NVME_ACCEL_JOB_IN_CRC));
	if (x->dev->id.feat & NVME_ACCEL_FEAT_COMPLETE_ON_DONE)
		d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	d.seq = x->seq;
	d.lease = x->lease->index;
	d.epoch = x->lease->epoch;
	memcpy(d.nonce, x->lease->nonce, sizeof(d.nonce));
	d.in_len = job->in_len;
	d.out_max = job->out_max;
	d.limit_ms = (uint32_t)job->timeout_ms;
	d.nstage = (uint16_t)work.nstage;
	memcpy(d.stage, work.stage, work.nstage * sizeof(d.stage[0]));
	ret = wire_desc_encode(&d, x->head, x->block) == WIRE_OK ? 0 : -E2BIG;
	if (job->plan->secret)
		api_wipe(params, sizeof(params));
	return ret;
}

/* Nobody knows how far the slot's numbers have come: another lease begins anew. */
static int other_lease(struct exec *x)
{
	lease_give(x->lease, 1, &x->which);
	x->which = UINT32_MAX;
	accel_lease_release(x->lease);
	x->lease = NULL;
	return take_slot(x, LEASE_MS);
}

int exec_start(struct exec *x, const struct accel_copy *c, const struct exec_job *job)
{
	struct nvme_accel_p2p_exec e;
	struct lease_slot *slot;
	int ret = x->lease->slots[x->which].dirty || lease_ended(x->lease) ? other_lease(x) : 0;

	if (ret)
		return ret;
	slot = &x->lease->slots[x->which];
	x->seq = slot->seq + 1;
	x->plan = job->plan;
	ret = fill_head(x, job);
	if (ret)
		return ret;
	memset(&e, 0, sizeof(e));
	e.handle = c->kcopy.set;
	e.src_fd = c->src.disk;
	e.dst_fd = c->dst.disk;
	e.accel_fd = x->fd;
	e.src_off = job->src_off;
	e.in_bytes = up(job->in_len, x->block);
	e.src_bytes = up(e.in_bytes, c->src.disk_block);
	e.write_off = wire_slot_addr(&x->dev->id, slot->slot, x->seq, 0);
	e.read_off = x->dev->id.feat & NVME_ACCEL_FEAT_WAIT ? wire_wait_addr(&x->dev->id, slot->slot, x->seq) :
							      wire_slot_addr(&x->dev->id, slot->slot, x->seq, 1);
	e.header = (uintptr_t)x->head;
	e.header_bytes = x->block;
	e.timeout_ms = (uint32_t)job->timeout_ms;
	e.out_bytes = up(job->out_max, x->block);
	e.dst_off = job->dst_off;
	e.dst_max = job->dst_max;
	ret = p2p_module_call(c->kcopy.m, NVME_ACCEL_P2P_EXEC, &e);
	api_wipe(x->head, x->block);
	if (ret)
		return ret;
	/* From now on the number may have been used. */
	slot->seq = x->seq;
	slot->dirty = true;
	x->job = e.job;
	return x->job ? 0 : -EPROTO;
}

/* From a status block that the kernel has checked, and that is checked here all the same. */
static int take_status(const struct exec *x, struct accel_result *r)
{
	struct wire_status s;
	unsigned int i;

	if (x->last.status_len < x->block || wire_status_decode(&s, x->status, x->block) != WIRE_OK || s.seq != x->seq)
		return -EPROTO;
	memset(r, 0, sizeof(*r));
	r->status = s.code;
	r->executor = x->dev->info.software ? ACCEL_EXEC_SOFTWARE : ACCEL_EXEC_HARDWARE;
	r->in_used = s.in_used;
	r->out_len = s.code == ACCEL_ST_OK ? s.out_len : 0;
	r->out_needed = s.out_needed;
	r->retval = s.retval;
	r->out_crc = s.out_crc;
	r->stage = s.fail_stage;
	r->queue_ns = s.queue_ns;
	r->exec_ns = s.exec_ns;
	r->total_ns = x->last.elapsed_ns;
	r->nstage = x->plan->nstage;
	for (i = 0; i < r->nstage; i++) {
		r->result_len[i] = x->plan->result_len[i];
		memcpy(r->result[i], s.long_result[i], r->result_len[i]);
	}
	return 0;
}

/* What the way failed with, or that the job has ended one way or the other. */
static int ended(struct exec *x, struct accel_result *result)
{
	int err = x->last.error, ret = take_status(x, result);

	x->job = 0;
	if (!ret)
		x->lease->slots[x->which].dirty = false;
	if (x->last.state == NVME_ACCEL_P2P_JOB_OK)
		return ret ? ret : 1;
	if (x->last.state == NVME_ACCEL_P2P_JOB_CANCELLED)
		return -ECANCELED;
	/* The accelerator's own answer is the job's outcome, not a failure of the way. */
	if ((err == -EREMOTEIO || err == -EMSGSIZE) && !ret && result->status != ACCEL_ST_OK)
		return 1;
	return err < 0 && err >= -4095 && err != -EREMOTEIO ? err : -EIO;
}

int exec_step(struct exec *x, const struct p2p_module *m, int timeout_ms, struct accel_result *result)
{
	int ret;

	if (!x->job)
		return -ENOENT;
	memset(&x->last, 0, sizeof(x->last));
	x->last.job = x->job;
	x->last.timeout_ms = timeout_ms < 0 ? 1000 : (uint32_t)timeout_ms;
	x->last.status = (uintptr_t)x->status;
	x->last.status_bytes = x->block;
	ret = p2p_module_call(m, NVME_ACCEL_P2P_WAIT, &x->last);
	if (ret == -EINTR || (!ret && x->last.state == NVME_ACCEL_P2P_JOB_RUNNING)) {
		lease_keep(x->lease, api_now_ns());
		return 0;
	}
	if (!ret)
		return ended(x, result);
	x->job = 0;
	return ret;
}

void exec_cancel(struct exec *x, const struct p2p_module *m)
{
	struct nvme_accel_p2p_cancel cancel = { .job = x->job };

	if (x->job)
		p2p_module_call(m, NVME_ACCEL_P2P_CANCEL, &cancel);
}
