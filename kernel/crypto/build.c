// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job as bios: one write of descriptor and input, one read of status and output. Whatever a list looks like, nobody splits
 * the write: the descriptor ends a page, and behind it comes the part of the input that lies in whole pages, as it is, and
 * then the rest, copied.
 */
#include <crypto/scatterwalk.h>
#include <linux/crc32c.h>
#include <linux/mm.h>
#include "nac.h"

/* A place in a caller's list. */
struct place {
	struct scatterlist *sg;
	u32 off;
};

static void seek(struct place *p, u32 n)
{
	p->off += n;
	while (p->sg && p->off >= p->sg->length) {
		p->off -= p->sg->length;
		p->sg = sg_next(p->sg);
	}
}

static struct page *page_at(const struct place *p, u32 *offset)
{
	u32 at = p->sg->offset + p->off;

	*offset = offset_in_page(at);
	return sg_page(p->sg) + (at >> PAGE_SHIFT);
}

/*
 * Whether a reference keeps the page as it is, until an answer comes that nobody waits for any more. Slabs' pages are used again
 * all the same, and the tails of larger blocks that are not compound have no references of their own.
 */
static bool can_pin(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio_ref_count(folio) > 0 && !folio_test_slab(folio) && !is_zone_device_page(page);
}

/* How much of a list can be sent as it is: whole pages of NVMe, and the end if it is a whole block. */
static u32 direct_len(const struct nac_dev *dev, struct scatterlist *sg, u32 off, u32 len)
{
	struct place p = { sg, 0 };
	u32 n = 0, here, offset;
	struct page *page;

	if (dev->stable)
		return 0;
	for (seek(&p, off); n < len && p.sg; seek(&p, here)) {
		page = page_at(&p, &offset);
		here = min3((u32)PAGE_SIZE - offset, (u32)(p.sg->length - p.off), len - n);
		if (!can_pin(page) || offset % NAC_UNIT)
			break;
		if (n + here < len && here % NAC_UNIT) {
			n += here - here % NAC_UNIT;
			break;
		}
		n += here;
	}
	return n % dev->block ? n - n % NAC_UNIT : n;
}

static int add_direct(struct nac_slot *slot, struct scatterlist *sg, u32 off, u32 len)
{
	struct place p = { sg, 0 };
	struct page *page;
	u32 here, offset;

	for (seek(&p, off); len && p.sg; seek(&p, here), len -= here) {
		page = page_at(&p, &offset);
		here = min3((u32)PAGE_SIZE - offset, (u32)(p.sg->length - p.off), len);
		if (bio_add_page(&slot->wbio, page, here, offset) != here)
			return -E2BIG;
		get_page(page);
		slot->pinned[slot->npinned++] = page;
	}
	return len ? -EINVAL : 0;
}

void nac_unpin(struct nac_slot *slot)
{
	while (slot->npinned)
		put_page(slot->pinned[--slot->npinned]);
}

/* Of the slot's own memory. */
static int add_own(struct nac_slot *slot, struct bio *bio, const u8 *p, u32 len)
{
	u32 here, at;

	for (at = p - slot->mem; len; at += here, len -= here) {
		here = min_t(u32, PAGE_SIZE - offset_in_page(at), len);
		if (bio_add_page(bio, slot->pages[at >> PAGE_SHIFT], here, offset_in_page(at)) != here)
			return -E2BIG;
	}
	return 0;
}

static u32 in_crc(struct nac_slot *slot, struct scatterlist *sg, u32 off, u32 direct, u32 len)
{
	struct place p = { sg, 0 };
	u32 crc = ~0u, n, here, offset;
	struct page *page;
	void *at;

	for (n = 0, seek(&p, off); n < direct; n += here, seek(&p, here)) {
		page = page_at(&p, &offset);
		here = min3((u32)PAGE_SIZE - offset, (u32)(p.sg->length - p.off), direct - n);
		at = kmap_local_page(page);
		crc = crc32c(crc, at + offset, here);
		kunmap_local(at);
	}
	return ~crc32c(crc, slot->in + direct, len - direct);
}

static void count_input(const struct nac_job *job, u32 direct)
{
	u32 bounced = job->in_len - direct;

	if (direct)
		nac_count(job->bind, NAC_C_ZERO_COPY_BYTES, direct);
	if (!bounced)
		return;
	nac_count(job->bind, NAC_C_BOUNCES, 1);
	nac_count(job->bind, NAC_C_BOUNCE_BYTES, bounced);
}

static void reset_bio(struct nac_slot *slot, struct bio *bio, blk_opf_t opf, u64 byte)
{
	bio_reset(bio, slot->dev->bdev, opf | REQ_NOMERGE | REQ_SYNC | REQ_META | REQ_PRIO);
	bio->bi_iter.bi_sector = byte >> SECTOR_SHIFT;
}

/* The input; *direct: how much of it went as it is. */
static int write_fill(struct nac_slot *slot, const struct nac_job *job, u32 *direct)
{
	struct nac_dev *dev = slot->dev;
	u32 padded = round_up(job->in_len, dev->block);
	int ret;

	*direct = direct_len(dev, job->src, job->src_off, job->in_len);
	if (*direct < job->in_len)
		scatterwalk_map_and_copy(slot->in + *direct, job->src, job->src_off + *direct, job->in_len - *direct, 0);
	memset(slot->in + job->in_len, 0, padded - job->in_len);
	reset_bio(slot, &slot->wbio, REQ_OP_WRITE, wire_slot_addr(&dev->id, slot->number, slot->seq, 0));
	ret = add_own(slot, &slot->wbio, slot->desc, dev->block);
	if (!ret)
		ret = add_direct(slot, job->src, job->src_off, *direct);
	if (!ret)
		ret = add_own(slot, &slot->wbio, slot->in + *direct, padded - *direct);
	return ret;
}

void nac_build_read(struct nac_slot *slot)
{
	struct nac_dev *dev = slot->dev;
	u64 byte = dev->id.feat & NVME_ACCEL_FEAT_WAIT ? wire_wait_addr(&dev->id, slot->number, slot->seq) :
							  wire_slot_addr(&dev->id, slot->number, slot->seq, 1);

	/* What is not answered must not look like the answer before. */
	memset(slot->status, 0, dev->block);
	reset_bio(slot, &slot->rbio, REQ_OP_READ, byte);
	/* They are as long as their tables: this cannot fail. */
	add_own(slot, &slot->rbio, slot->status, dev->block);
	add_own(slot, &slot->rbio, slot->out, slot->read_len);
}

static u16 job_flags(const struct nac_dev *dev, const struct nac_job *job, u32 verify)
{
	u16 flags = NVME_ACCEL_JOB_START;

	if (dev->id.feat & NVME_ACCEL_FEAT_COMPLETE_ON_DONE)
		flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	if (!verify)
		return flags;
	if (dev->id.feat & NVME_ACCEL_FEAT_IN_CRC)
		flags |= NVME_ACCEL_JOB_IN_CRC;
	if (dev->id.feat & NVME_ACCEL_FEAT_OUT_CRC && job->out_max)
		flags |= NVME_ACCEL_JOB_OUT_CRC;
	if (dev->id.feat & NVME_ACCEL_FEAT_VERIFY && job->op == NAC_COMPRESS)
		flags |= NVME_ACCEL_JOB_VERIFY;
	return flags;
}

static void desc_common(const struct nac_slot *slot, struct wire_desc *d)
{
	const struct nac_dev *dev = slot->dev;

	memset(d, 0, sizeof(*d));
	d->seq = slot->seq;
	d->lease = dev->lease_index;
	d->epoch = dev->lease_epoch;
	d->cookie = slot->seq << 16 ^ slot->number;
	memcpy(d->nonce, dev->nonce, sizeof(d->nonce));
}

static u32 left_ms(const struct nac_job *job)
{
	long left = job->deadline - jiffies;

	return left > 0 ? jiffies_to_msecs(left) + 1 : 1;
}

/*
 * How much of the output is read along with the status. Compressions have room for more than they make, and reading room costs
 * as much as reading data: it is what they have made lately, and an eighth more. Small ones are not worth guessing.
 */
static u32 guess(const struct nac_dev *dev, const struct nac_job *job)
{
	u32 most = round_up(job->out_max, dev->block), ratio = READ_ONCE(dev->ratio);
	u64 n;

	if (job->op != NAC_COMPRESS || job->in_len < NAC_UNIT)
		return most;
	n = (u64)job->in_len * (ratio + ratio / 8) / NAC_RATIO_ONE + 1;
	return min_t(u64, most, round_up(n, dev->block));
}

/* Up at once, because what is read in vain costs a round trip, and down slowly. */
void nac_learn(struct nac_dev *dev, const struct nac_job *job)
{
	u32 was = READ_ONCE(dev->ratio), now;

	if (job->op != NAC_COMPRESS || job->in_len < NAC_UNIT)
		return;
	now = min_t(u64, (u64)job->out_len * NAC_RATIO_ONE / job->in_len, NAC_RATIO_MOST);
	WRITE_ONCE(dev->ratio, now > was ? now : was - (was - now) / 8);
}

/* The stage, and whether the accelerator's table of operations has it. */
static enum nac_count stage_fill(struct nac_slot *slot, struct nac_job *job, struct job_stage *stage)
{
	struct nac_dev *dev = slot->dev;
	size_t room = min_t(size_t, sizeof(slot->param), dev->block - NVME_ACCEL_PARAM_OFF);
	unsigned int at;

	if (job->ops->stage(job, dev, stage, slot->param, room))
		return NAC_F_UNSUPPORTED;
	if (job->in_len > dev->max_in)
		return NAC_F_MAX;
	if (job->out_max > dev->max_out) {
		job->out_max = dev->max_out;
		job->clamped = true;
	}
	return wire_check_stages(&dev->id, stage, 1, job->in_len, job->out_max, &at) ? NAC_F_UNSUPPORTED : NAC_F_NONE;
}

static int desc_fill(struct nac_slot *slot, struct nac_job *job, const struct job_stage *stage, u32 direct)
{
	struct wire_desc d;
	int ret;

	desc_common(slot, &d);
	d.flags = job_flags(slot->dev, job, slot->verify);
	if (d.flags & NVME_ACCEL_JOB_IN_CRC)
		d.in_crc = in_crc(slot, job->src, job->src_off, direct, job->in_len);
	d.in_len = job->in_len;
	d.out_max = job->out_max;
	d.limit_ms = left_ms(job);
	d.nstage = 1;
	d.stage[0] = *stage;
	slot->flags = d.flags;
	ret = wire_desc_encode(&d, slot->desc, slot->dev->block);
	memzero_explicit(&d, sizeof(d));
	return ret == WIRE_OK ? 0 : -EINVAL;
}

enum nac_count nac_build(struct nac_slot *slot, struct nac_job *job)
{
	struct job_stage stage = { 0 };
	enum nac_count why;
	u32 direct;

	why = stage_fill(slot, job, &stage);
	if (why)
		return why;
	slot->verify = READ_ONCE(slot->dev->bind->conf.verify);
	if (write_fill(slot, job, &direct) || desc_fill(slot, job, &stage, direct)) {
		nac_unpin(slot);
		return NAC_F_UNSUPPORTED;
	}
	count_input(job, direct);
	slot->read_len = guess(slot->dev, job);
	nac_build_read(slot);
	return NAC_F_NONE;
}

int nac_build_abort(struct nac_slot *slot)
{
	struct nac_dev *dev = slot->dev;
	struct wire_desc d;
	int ret;

	desc_common(slot, &d);
	d.flags = NVME_ACCEL_JOB_ABORT;
	ret = wire_desc_encode(&d, slot->desc, dev->block) == WIRE_OK ? 0 : -EINVAL;
	memzero_explicit(&d, sizeof(d));
	if (ret)
		return ret;
	reset_bio(slot, &slot->wbio, REQ_OP_WRITE, wire_slot_addr(&dev->id, slot->number, slot->seq, 0));
	ret = add_own(slot, &slot->wbio, slot->desc, dev->block);
	slot->read_len = 0;
	nac_build_read(slot);
	return ret;
}

/* Keys do not stay in memory that nobody uses. */
void nac_wipe(struct nac_slot *slot)
{
	memzero_explicit(slot->param, sizeof(slot->param));
	memzero_explicit(slot->desc, slot->dev->block);
}

bool nac_verify(struct nac_slot *slot, struct nac_job *job, const struct wire_status *st)
{
	bool crc = slot->flags & NVME_ACCEL_JOB_OUT_CRC;

	if (!slot->verify)
		return true;
	if (crc && (!(st->flags & NVME_ACCEL_SF_OUT_CRC) || ~crc32c(~0u, slot->out, st->out_len) != st->out_crc))
		return false;
	if (job->op != NAC_COMPRESS)
		return true;
	if (slot->verify == 1 && crc && st->flags & NVME_ACCEL_SF_VERIFIED)
		return true;
	return nac_zsoft_matches(slot->out, st->out_len, job->src, job->in_len);
}
