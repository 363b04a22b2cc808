// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs of accelerator namespaces (NVMe accelerator namespace interface, sections 3, 5 to 7) on data that stay in the CMB: storage to slot,
 * slot to the write half, read half to slot, slot to storage. One after the other in a work of their own; a program that wants more
 * at once starts more jobs. Descriptor and status block are the accelerator's protocol and pass through memory: each lies at
 * the end of a page, so that with the slot's pages behind it the gather list has no gap and the command stays one.
 */
#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include "compat.h"
#include "p2p.h"
#include "p2p_trace.h"
#include "../../lib/wire/wire.h"

#define DEFAULT_MS	30000u
#define AGAIN_MS	2	/* between two looks at a status that is not final, should the accelerator not hold reads */

struct exec {
	struct p2p_job job;
	struct nvme_accel_p2p_exec a;
	const struct p2p_slot *slot;
	u64 out_at;			/* of the output, in the slot */
	void *header, *status;		/* pages; the block is the last a.header_bytes of them */
	struct wire_status st;
};

struct transfer {
	struct bio bio;
	struct bio_vec vec[2];
	struct completion done;
};

static struct exec *to_exec(struct p2p_job *job)
{
	return container_of(job, struct exec, job);
}

/* ---- Transfers ---- */

static void transfer_done(struct bio *bio)
{
	struct transfer *t = container_of(bio, struct transfer, bio);

	complete(&t->done);
}

static void prepare_transfer(struct transfer *t, const struct p2p_client *client, blk_opf_t opf, u64 off)
{
	init_completion(&t->done);
	bio_init(&t->bio, client->bdev, t->vec, ARRAY_SIZE(t->vec), opf);
	t->bio.bi_iter.bi_sector = off >> SECTOR_SHIFT;
	t->bio.bi_end_io = transfer_done;
}

/* A block at the end of a page in memory, and what follows it in the slot. */
static void add_block(struct exec *e, struct transfer *t, void *page, u64 at, u64 nbytes)
{
	u32 bs = e->a.header_bytes;

	__bio_add_page(&t->bio, virt_to_page(page), bs, PAGE_SIZE - bs);
	if (nbytes)
		__bio_add_page(&t->bio, e->slot->page + (at >> PAGE_SHIFT), nbytes, 0);
}

/* The device ends every transfer, or its driver does: there is no time limit here. */
static int finish_transfer(struct exec *e, struct transfer *t, const struct p2p_client *client, bool write, u64 off, u32 len)
{
	int ret;

	wait_for_completion_io(&t->done);
	ret = blk_status_to_errno(t->bio.bi_status);
	trace_nvme_accel_p2p_complete(&e->job, client, write, off, len, ret);
	bio_uninit(&t->bio);
	return ret;
}

/* Between storage and slot. */
static int move(struct exec *e, const struct p2p_client *client, bool write, u64 off, u64 at, u64 len)
{
	struct page *page = e->slot->page + (at >> PAGE_SHIFT);
	u32 where = write ? NVME_ACCEL_P2P_AT_DESTINATION : NVME_ACCEL_P2P_AT_SOURCE;
	int ret;

	if (p2p_job_stopped(&e->job))
		return -ECANCELED;
	trace_nvme_accel_p2p_submit(&e->job, client, write, off, len);
	ret = p2p_io(client->bdev, write ? REQ_OP_WRITE | REQ_SYNC : REQ_OP_READ, off, page, 0, len);
	trace_nvme_accel_p2p_complete(&e->job, client, write, off, len, ret);
	if (ret) {
		p2p_job_fail(&e->job, ret, where);
		return ret;
	}
	p2p_job_moved(&e->job, !write, len);
	return p2p_job_intact(&e->job) ? 0 : -ESTALE;
}

/* ---- The accelerator ---- */

static void begin_write(struct exec *e, struct transfer *t)
{
	prepare_transfer(t, &e->job.accel, REQ_OP_WRITE | REQ_SYNC, e->a.write_off);
	add_block(e, t, e->header, 0, e->a.in_bytes);
	trace_nvme_accel_p2p_submit(&e->job, &e->job.accel, true, e->a.write_off, t->bio.bi_iter.bi_size);
	submit_bio(&t->bio);
}

static void begin_read(struct exec *e, struct transfer *t)
{
	prepare_transfer(t, &e->job.accel, REQ_OP_READ | REQ_SYNC, e->a.read_off);
	add_block(e, t, e->status, e->out_at, e->a.out_bytes);
	trace_nvme_accel_p2p_submit(&e->job, &e->job.accel, false, e->a.read_off, t->bio.bi_iter.bi_size);
	submit_bio(&t->bio);
}

static int end_transfer(struct exec *e, struct transfer *t, bool write)
{
	u64 payload = write ? e->a.in_bytes : e->a.out_bytes;
	int ret;

	ret = finish_transfer(e, t, &e->job.accel, write, write ? e->a.write_off : e->a.read_off, e->a.header_bytes + payload);
	if (ret) {
		p2p_job_fail(&e->job, ret, NVME_ACCEL_P2P_AT_ACCEL);
		return ret;
	}
	p2p_job_memory(&e->job, e->a.header_bytes);
	p2p_job_moved(&e->job, !write, payload);
	return p2p_job_intact(&e->job) ? 0 : -ESTALE;
}

static u64 seq_of(struct exec *e)
{
	struct nvme_accel_desc *desc = e->header + PAGE_SIZE - e->a.header_bytes;

	return get_unaligned_le64(&desc->seq);
}

/* 1: it has ended well; 0: not yet; or why not. */
static int judge(struct exec *e)
{
	const struct wire_status *st = &e->st;

	if (wire_status_decode(&e->st, e->status + PAGE_SIZE - e->a.header_bytes, e->a.header_bytes))
		return -EPROTO;
	/* The read may have been faster than the write. */
	if (st->seq != seq_of(e))
		return st->seq < seq_of(e) ? 0 : -EPROTO;
	switch (st->state) {
	case NVME_ACCEL_ST_DONE:
		return 1;
	case NVME_ACCEL_ST_FREE:
	case NVME_ACCEL_ST_CLAIMED:
	case NVME_ACCEL_ST_LOADING:
	case NVME_ACCEL_ST_QUEUED:
	case NVME_ACCEL_ST_RUNNING:
		return 0;
	default:
		return -EREMOTEIO;
	}
}

/* Write and held read are on their way together: one round trip. */
static int first_round(struct exec *e)
{
	struct transfer *t = kmalloc_array(2, sizeof(*t), GFP_KERNEL);
	int ret, read;

	if (!t)
		return -ENOMEM;
	begin_write(e, &t[0]);
	begin_read(e, &t[1]);
	ret = end_transfer(e, &t[0], true);
	read = end_transfer(e, &t[1], false);
	kfree(t);
	return ret ?: read;
}

static int read_again(struct exec *e)
{
	struct transfer *t = kmalloc(sizeof(*t), GFP_KERNEL);
	int ret;

	if (!t)
		return -ENOMEM;
	begin_read(e, t);
	ret = end_transfer(e, t, false);
	kfree(t);
	return ret;
}

static int run_accelerator(struct exec *e)
{
	int ret = first_round(e);

	while (!ret) {
		ret = judge(e);
		if (ret || p2p_job_stopped(&e->job))
			break;
		msleep(AGAIN_MS);
		ret = read_again(e);
	}
	if (ret <= 0) {
		p2p_job_fail(&e->job, ret ?: -ECANCELED, NVME_ACCEL_P2P_AT_ACCEL);
		return -EIO;
	}
	e->job.out_len = e->st.out_len;
	return 0;
}

/* ---- The job ---- */

static int write_out(struct exec *e)
{
	u32 bs = bdev_logical_block_size(e->job.dst.bdev);
	u64 len = ALIGN(e->st.out_len, bs);
	struct p2p_slot slot = { .vaddr = e->slot->vaddr + e->out_at, .page = e->slot->page + (e->out_at >> PAGE_SHIFT) };
	int ret;

	if (e->st.out_len > e->a.out_bytes || len > ALIGN_DOWN(e->a.out_bytes, bs) || len > e->a.dst_max) {
		p2p_job_fail(&e->job, -EMSGSIZE, NVME_ACCEL_P2P_AT_DESTINATION);
		return -EMSGSIZE;
	}
	WRITE_ONCE(e->job.bytes_total, len);
	if (!len)
		return 0;
	ret = p2p_selftest_out(e->job.p, &e->job.dst, e->a.dst_off, len, &slot);
	if (ret) {
		p2p_job_fail(&e->job, ret, NVME_ACCEL_P2P_AT_DESTINATION);
		return ret;
	}
	ret = move(e, &e->job.dst, true, e->a.dst_off, e->out_at, len);
	if (!ret)
		WRITE_ONCE(e->job.bytes_done, len);
	return ret;
}

static int test_pair(struct exec *e, const struct p2p_client *c, u32 where)
{
	int ret = c->file ? p2p_selftest_in(e->job.p, c) : 0;

	if (ret)
		p2p_job_fail(&e->job, ret, where);
	return ret;
}

static int run(struct exec *e)
{
	struct p2p_job *job = &e->job;
	int ret;

	ret = p2p_job_begin(job);
	if (!ret)
		ret = test_pair(e, &job->src, NVME_ACCEL_P2P_AT_SOURCE);
	if (!ret)
		ret = test_pair(e, &job->dst, NVME_ACCEL_P2P_AT_DESTINATION);
	if (!ret)
		ret = test_pair(e, &job->accel, NVME_ACCEL_P2P_AT_ACCEL);
	if (!ret && job->src.file)
		ret = move(e, &job->src, false, e->a.src_off, 0, e->a.src_bytes);
	if (!ret)
		ret = run_accelerator(e);
	if (!ret && job->dst.file)
		ret = write_out(e);
	return ret;
}

static void exec_work(struct work_struct *work)
{
	struct exec *e = to_exec(container_of(work, struct p2p_job, work));

	run(e);
	if (e->job.dst.file)
		p2p_client_sync(&e->job.dst, e->a.dst_off, e->a.dst_max, true);
	e->job.status = e->status + PAGE_SIZE - e->a.header_bytes;
	e->job.status_len = e->st.seq ? e->a.header_bytes : 0;
	p2p_job_end(&e->job);
}

/* ---- Arguments ---- */

static int check_accel(struct exec *e)
{
	const struct nvme_accel_p2p_exec *a = &e->a;
	const struct nvme_accel_desc *desc = e->header + PAGE_SIZE - a->header_bytes;
	struct p2p_client *c = &e->job.accel;
	int ret;

	ret = p2p_client_use(c, e->job.p, a->accel_fd, FMODE_READ | FMODE_WRITE);
	if (ret)
		return ret;
	if (a->header_bytes != bdev_logical_block_size(c->bdev) || memcmp(desc->magic, NVME_ACCEL_DESC_MAGIC, sizeof(desc->magic)))
		return -EINVAL;
	return p2p_client_range(c, a->write_off, a->header_bytes + a->in_bytes) ?:
	       p2p_client_range(c, a->read_off, a->header_bytes + a->out_bytes);
}

static int check_storage(struct exec *e)
{
	const struct nvme_accel_p2p_exec *a = &e->a;
	struct p2p_job *job = &e->job;
	int ret = 0;

	if (a->src_fd != -1)
		ret = p2p_job_source(job, a->src_fd) ?: p2p_client_range(&job->src, a->src_off, a->src_bytes);
	if (!ret && a->dst_fd != -1)
		ret = p2p_job_destination(job, a->dst_fd) ?: p2p_client_range(&job->dst, a->dst_off, a->dst_max);
	return ret;
}

/* What must be so whatever the devices are. */
static int check_form(const struct nvme_accel_p2p_exec *a)
{
	if (a->flags || a->pad || a->reserved[0] || a->reserved[1] || a->src_fd < -1 || a->dst_fd < -1)
		return -EINVAL;
	if (a->header_bytes != 512 && a->header_bytes != 4096)
		return -EINVAL;
	if (a->src_fd == -1 ? a->src_bytes || a->src_off || a->in_bytes : !a->src_bytes || a->in_bytes > a->src_bytes)
		return -EINVAL;
	return a->dst_fd == -1 && (a->dst_max || a->dst_off) ? -EINVAL : 0;
}

static int check_room(struct exec *e)
{
	u64 room = e->job.set->slot_bytes;

	if (e->a.src_bytes > room || e->a.out_bytes > room)
		return -ENOBUFS;
	e->out_at = PAGE_ALIGN(e->a.src_bytes);
	return e->out_at + e->a.out_bytes > room ? -ENOBUFS : 0;
}

static void release(struct p2p_job *job)
{
	struct exec *e = to_exec(job);

	free_page((unsigned long)e->header);
	free_page((unsigned long)e->status);
	kfree(e);
}

static struct exec *new_exec(struct p2p_file *f, const struct nvme_accel_p2p_exec *a)
{
	struct exec *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return NULL;
	e->a = *a;
	e->header = (void *)get_zeroed_page(GFP_KERNEL);
	e->status = (void *)get_zeroed_page(GFP_KERNEL);
	p2p_job_init(&e->job, f, exec_work);
	e->job.release = release;
	e->job.timeout_ms = a->timeout_ms ?: DEFAULT_MS;
	if (e->header && e->status)
		return e;
	p2p_job_put(&e->job);
	return NULL;
}

static int prepare(struct exec *e)
{
	const struct nvme_accel_p2p_exec *a = &e->a;
	int ret;

	if (copy_from_user(e->header + PAGE_SIZE - a->header_bytes, u64_to_user_ptr(a->header), a->header_bytes))
		return -EFAULT;
	ret = p2p_job_claim(&e->job, a->handle, a->slot, 1) ?: check_room(e) ?: check_storage(e) ?: check_accel(e);
	if (ret)
		return ret;
	e->slot = &e->job.set->slots[a->slot];
	if (e->job.src.file)
		ret = p2p_client_sync(&e->job.src, a->src_off, a->src_bytes, false);
	if (!ret && e->job.dst.file)
		ret = p2p_client_sync(&e->job.dst, a->dst_off, a->dst_max, true);
	return ret;
}

int p2p_exec(struct p2p_file *f, const struct nvme_accel_p2p_exec *a, u32 __user *id)
{
	struct exec *e;
	int ret;

	ret = check_form(a);
	if (ret)
		return ret;
	e = new_exec(f, a);
	if (!e)
		return -ENOMEM;
	ret = prepare(e);
	if (!ret)
		ret = p2p_job_start(&e->job, id);
	if (ret)
		p2p_job_abandon(&e->job);
	return ret;
}
