// SPDX-License-Identifier: GPL-2.0-only
/* Identify. What the controller says of itself is what works; what a namespace says is what is below, in one form. */
#include "core.h"
#include <linux/nvme_accel.h>

static void pad(char *out, size_t n, const char *text)
{
	size_t len = strnlen(text, n);

	memcpy(out, text, len);
	memset(out + len, ' ', n - len);
}

static u32 count_accel(struct nap_ctrl *c)
{
	unsigned long nsid;
	struct nap_ns *ns;
	u32 n = 0;

	rcu_read_lock();
	xa_for_each(&c->ns, nsid, ns)
		n += ns->accel;
	rcu_read_unlock();
	return n;
}

static u16 identify_ctrl(struct nap_live *l, void *page)
{
	struct nvme_accel_ctrl_id *accel = page + NVME_ACCEL_CTRL_OFF;
	struct nvme_id_ctrl *id = page;

	pad(id->sn, sizeof(id->sn), l->id.serial);
	pad(id->mn, sizeof(id->mn), l->id.model);
	pad(id->fr, sizeof(id->fr), l->id.firmware);
	id->mdts = ilog2(l->max_bytes / NAP_PAGE);
	id->cntlid = cpu_to_le16(1);
	id->ver = cpu_to_le32(NAP_VS);
	id->oaes = cpu_to_le32(NVME_AEN_CFG_NS_ATTR);
	id->cntrltype = NVME_CTRL_IO;
	id->acl = 3;
	id->aerl = NAP_AERL - 1;
	id->frmw = 0x03;		/* one slot, read only */
	id->lpa = 0x06;			/* supported commands and effects; offsets */
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = cpu_to_le32(NAP_MAX_NSID);
	id->oncs = cpu_to_le16(l->oncs);
	id->vwc = 0x05;			/* there may be one; Flush is for one namespace */
	id->sgls = cpu_to_le32(1);	/* data may lie anywhere */
	strscpy(id->subnqn, l->id.subsysnqn, sizeof(id->subnqn));

	memcpy(accel->magic, NVME_ACCEL_CTRL_MAGIC, sizeof(accel->magic));
	accel->naccel = cpu_to_le32(count_accel(l->owner));
	return 0;
}

/*
 * One LBA format, the one in use (others cannot be chosen), no metadata, and an identity of our own. From byte 384 on the
 * page is the vendor's, and stays as it is.
 */
static void canonical(const struct nap_ns *ns, struct nvme_id_ns *id)
{
	u8 index = (id->flbas & 0xf) | (id->flbas & 0x60) >> 1;
	u8 rp = id->lbaf[index].rp & 3;
	u64 nblocks = READ_ONCE(ns->nblocks);

	id->nsze = cpu_to_le64(nblocks);
	id->ncap = id->nsze;
	if (le64_to_cpu(id->nuse) > nblocks)
		id->nuse = id->nsze;
	id->nsfeat &= 0x12;		/* its atomic sizes, its preferred sizes */
	id->nlbaf = 0;
	id->flbas = 0;
	id->mc = 0;
	id->dpc = 0;
	id->dps = 0;
	id->nmic = 0;
	id->rescap = 0;
	id->fpi = 0;
	id->anagrpid = 0;
	id->nvmsetid = 0;
	id->endgid = 0;
	memcpy(id->nguid, ns->conf.nguid, sizeof(id->nguid));
	memset(id->eui64, 0, sizeof(id->eui64));
	memset(id->lbaf, 0, sizeof(id->lbaf));
	id->lbaf[0].ds = ns->lba_shift;
	id->lbaf[0].rp = rp;
}

static u16 identify_ns(struct nap_live *l, u32 nsid, void *page)
{
	struct nap_ns *ns;
	int ret;

	if (!nsid || nsid > NAP_MAX_NSID)
		return NAP_SC_INVALID_NS;
	ns = nap_ns_get(l->owner, nsid);
	if (!ns)
		return 0;	/* one that could be: all zeros */
	ret = ns->ops->identify(ns, page);
	if (!ret)
		canonical(ns, page);
	nap_ns_put(ns);
	return ret ? NAP_SC_INTERNAL : 0;
}

static u16 identify_active(struct nap_live *l, u32 after, void *page)
{
	__le32 *list = page;
	unsigned long nsid;
	struct nap_ns *ns;
	unsigned int n = 0;

	if (after >= NVME_NSID_ALL - 1)
		return NAP_SC_INVALID_NS;
	rcu_read_lock();
	xa_for_each_start(&l->owner->ns, nsid, ns, after + 1ul) {
		if (n == NAP_PAGE / sizeof(*list))
			break;
		list[n++] = cpu_to_le32(nsid);
	}
	rcu_read_unlock();
	return 0;
}

static size_t descriptor(u8 *out, u8 type, const void *value, u8 n)
{
	struct nvme_ns_id_desc *desc = (struct nvme_ns_id_desc *)out;

	desc->nidt = type;
	desc->nidl = n;
	memcpy(out + sizeof(*desc), value, n);
	return sizeof(*desc) + n;
}

static u16 identify_descriptors(struct nap_live *l, u32 nsid, void *page)
{
	static const u8 none[16];
	struct nap_ns *ns;
	size_t n = 0;

	ns = nap_ns_get(l->owner, nsid);
	if (!ns)
		return NAP_SC_INVALID_NS;
	if (memcmp(ns->conf.nguid, none, sizeof(none)))
		n += descriptor(page, NVME_NIDT_NGUID, ns->conf.nguid, NVME_NIDT_NGUID_LEN);
	descriptor(page + n, NVME_NIDT_UUID, &ns->conf.uuid, NVME_NIDT_UUID_LEN);
	nap_ns_put(ns);
	return 0;
}

u16 nap_identify(struct nap_live *l, struct nap_req *r)
{
	u32 nsid = le32_to_cpu(r->cmd.identify.nsid);
	void *page = kzalloc(NAP_PAGE, GFP_KERNEL);
	u16 status;

	if (!page)
		return NAP_SC_INTERNAL;
	switch (r->cmd.identify.cns) {
	case NVME_ID_CNS_NS:
		status = identify_ns(l, nsid, page);
		break;
	case NVME_ID_CNS_CTRL:
		status = identify_ctrl(l, page);
		break;
	case NVME_ID_CNS_NS_ACTIVE_LIST:
		status = identify_active(l, nsid, page);
		break;
	case NVME_ID_CNS_NS_DESC_LIST:
		status = identify_descriptors(l, nsid, page);
		break;
	default:	/* command sets, namespace management: not of a controller of version 1.4 that has neither */
		status = NAP_SC_INVALID_FIELD;
	}
	if (!status)
		nap_admin_reply(r, page, NAP_PAGE);
	kfree(page);
	return status;
}
