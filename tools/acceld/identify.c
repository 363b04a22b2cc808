// SPDX-License-Identifier: BSD-2-Clause
/* Identify Controller, and which CNS value goes where. */
#include <stdlib.h>
#include "ctrl.h"

#define CNS_CTRL	0x01u

void text_put(void *field, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	memset(field, ' ', size);
	memcpy(field, text, n);
}

static unsigned int log2_of(uint64_t n)
{
	return n ? 63u - (unsigned int)__builtin_clzll(n) : 0;
}

/* What all controllers say of themselves. */
static void identify_common(const struct ctrl *ctrl, uint8_t *p)
{
	const struct conf *conf = ctrl->target->conf;
	bool disc = ctrl_is_discovery(ctrl);

	text_put(p + 4, 20, ctrl->subsys->conf.serial);
	text_put(p + 24, 40, ctrl->subsys->conf.model);
	text_put(p + 64, 8, ACCELD_VERSION);
	p[77] = (uint8_t)(log2_of(conf->max_transfer) - 12);	/* MDTS */
	le16_put(p + 78, ctrl->cntlid);
	le32_put(p + 80, VERSION);
	le32_put(p + 92, disc ? AEC_DISC_CHANGED : AEC_NS_CHANGED);	/* OAES */
	le32_put(p + 96, 1 | 1 << 6);		/* CTRATT: host identifier of 128 bits, traffic based keep alive */
	p[111] = disc ? 2 : 1;			/* CNTRLTYPE */
	p[259] = MAX_AER - 1;			/* AERL */
	p[261] = 1 << 1 | 1 << 2;		/* LPA: effects log, offsets and long lengths */
	p[262] = NERROR - 1;			/* ELPE */
	le16_put(p + 320, KAS_MS / 100);	/* KAS */
	le16_put(p + 514, (uint16_t)conf->queue_depth);	/* MAXCMD */
	le32_put(p + 536, 1 | 1u << 20 | 1u << 21);	/* SGLS: there are, with offsets, and the transport's */
	strncpy((char *)p + 768, ctrl->subsys->conf.nqn, NVME_NQN_FIELD - 1);
	le32_put(p + 1796, 1);			/* IORCSZ */
	p[1803] = 1;				/* MSDBD */
}

/* What controllers with namespaces say. */
static void identify_io(const struct ctrl *ctrl, uint8_t *p)
{
	struct nvme_accel_ctrl_id *id = (struct nvme_accel_ctrl_id *)(p + NVME_ACCEL_CTRL_OFF);

	p[76] = 3;				/* CMIC: several ports, several controllers */
	le32_put(p + 84, 1000000);		/* RTD3R, RTD3E: us */
	le32_put(p + 88, 1000000);
	p[258] = MAX_ABORT - 1;			/* ACL */
	p[260] = 1 << 1 | 1;			/* FRMW: one slot, read only */
	le16_put(p + 266, 343);			/* WCTEMP, CCTEMP: K */
	le16_put(p + 268, 373);
	p[512] = 0x66;				/* SQES */
	p[513] = 0x44;				/* CQES */
	le32_put(p + 516, MAX_NSID);		/* NN */
	p[525] = 2 << 1;			/* VWC: no cache; Flush is of one namespace */
	le32_put(p + 1792, (64 + ctrl->target->conf->in_capsule) / 16);	/* IOCCSZ */
	le16_put(p + 1804, 1);			/* OFCS: Disconnect */
	memcpy(id->magic, NVME_ACCEL_CTRL_MAGIC, sizeof(id->magic));
	le32_put(&id->naccel, subsys_naccel(ctrl->subsys));
}

void identify_ctrl(const struct ctrl *ctrl, uint8_t page[PAGE])
{
	memset(page, 0, PAGE);
	identify_common(ctrl, page);
	if (!ctrl_is_discovery(ctrl))
		identify_io(ctrl, page);
}

static void identify_ctrl_execute(struct req *req)
{
	uint8_t page[PAGE];

	identify_ctrl(req_ctrl(req), page);
	data_put(req, 0, page, PAGE);
	req_complete(req, NVME_SC_OK);
}

uint16_t identify_parse(struct req *req)
{
	unsigned int cns = le32_get(&req->sqe.cdw10) & 0xff;

	if (cns == CNS_CTRL)
		return admin_to_host(req, PAGE, identify_ctrl_execute);
	if (ctrl_is_discovery(req_ctrl(req)))
		return FAIL(NVME_SC_INVALID_FIELD);
	return identify_ns_parse(req, cns);
}
