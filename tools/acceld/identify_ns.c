// SPDX-License-Identifier: BSD-2-Clause
/*
 * Identify, as far as it is about namespaces: structures of one, descriptors, lists of namespaces and of controllers.
 * NSIDs up to NN are valid and inactive or active; what differs between an inactive and an invalid one is the CNS
 * value's. There is one command set, NVM (CSI 0), and nothing to choose from.
 */
#include <stdlib.h>
#include "ctrl.h"

#define NIDT_EUI64	1u
#define NIDT_NGUID	2u
#define NIDT_UUID	3u

/* Where Identify Namespace has what other structures repeat. */
#define NS_NMIC		30u
#define NS_NGUID	104u
#define NS_EUI64	120u

static uint32_t nsid_of(const struct req *req)
{
	return le32_get(&req->sqe.nsid);
}

static unsigned int csi_of(const struct req *req)
{
	return le32_get(&req->sqe.cdw11) >> 24;
}

/* In a reactor; it may have gone since the command was parsed, and is inactive then. */
static struct ns *ns_of(const struct req *req)
{
	return subsys_ns(req_ctrl(req)->subsys, nsid_of(req));
}

static void send_page(struct req *req, const uint8_t page[PAGE])
{
	data_put(req, 0, page, PAGE);
	req_complete(req, NVME_SC_OK);
}

static void execute_zero(struct req *req)
{
	data_zero(req, 0, PAGE);
	req_complete(req, NVME_SC_OK);
}

static void execute_ns(struct req *req)
{
	struct ns *ns = ns_of(req);
	uint8_t page[PAGE] = { 0 };

	if (ns)
		ns->ops->identify(ns, page);
	send_page(req, page);
}

/* CNS 08h: what is the same for all command sets. */
static void execute_independent(struct req *req)
{
	struct ns *ns = ns_of(req);
	uint8_t id[PAGE] = { 0 }, page[PAGE] = { 0 };

	if (ns) {
		ns->ops->identify(ns, id);
		page[1] = id[NS_NMIC];
		page[14] = 1;		/* NSTAT: ready */
	}
	send_page(req, page);
}

static unsigned int descriptor(uint8_t *p, unsigned int type, unsigned int n, const uint8_t *id)
{
	if (mem_is_zero(id, n))
		return 0;
	p[0] = (uint8_t)type;
	p[1] = (uint8_t)n;
	memcpy(p + 4, id, n);
	return 4 + n;
}

static void execute_descriptors(struct req *req)
{
	struct ns *ns = ns_of(req);
	uint8_t id[PAGE] = { 0 }, page[PAGE] = { 0 }, *p = page;

	if (!ns) {
		req_complete(req, FAIL(NVME_SC_INVALID_FIELD));
		return;
	}
	ns->ops->identify(ns, id);
	p += descriptor(p, NIDT_EUI64, 8, id + NS_EUI64);
	p += descriptor(p, NIDT_NGUID, 16, id + NS_NGUID);
	descriptor(p, NIDT_UUID, 16, ns->conf.uuid);
	send_page(req, page);
}

/* CNS 02h, 07h, 10h: active namespaces behind an NSID. As many as there can be fit. */
static void execute_list(struct req *req)
{
	const struct subsys *s = req_ctrl(req)->subsys;
	uint8_t page[PAGE] = { 0 };
	uint32_t nsid;
	unsigned int n = 0;

	_Static_assert(MAX_NSID <= PAGE / 4, "one list holds all");
	for (nsid = nsid_of(req) + 1; nsid <= MAX_NSID; nsid++)
		if (subsys_ns(s, nsid))
			le32_put(page + 4 * n++, nsid);
	send_page(req, page);
}

static int id_compare(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* CNS 12h, 13h: controllers of the subsystem from an id on, in order. All of them have all namespaces. */
static void execute_ctrls(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req), *c;
	struct target *t = ctrl->target;
	unsigned int first = le32_get(&req->sqe.cdw10) >> 16, n = 0, i;
	uint8_t page[PAGE] = { 0 };
	uint16_t ids[CONF_MAX_CTRLS];

	pthread_mutex_lock(&t->lock);
	for (c = t->ctrl; c && n < CONF_MAX_CTRLS; c = c->next)
		if (c->subsys == ctrl->subsys && c->cntlid >= first)
			ids[n++] = c->cntlid;
	pthread_mutex_unlock(&t->lock);
	qsort(ids, n, sizeof(ids[0]), id_compare);
	n = BASE_MIN(n, PAGE / 2 - 1);
	le16_put(page, (uint16_t)n);
	for (i = 0; i < n; i++)
		le16_put(page + 2 + 2 * i, ids[i]);
	send_page(req, page);
}

static uint16_t to_host(struct req *req, void (*execute)(struct req *req))
{
	return admin_to_host(req, PAGE, execute);
}

/* For structures of one namespace: NSIDs that can exist. */
static uint16_t one_ns(struct req *req, void (*execute)(struct req *req))
{
	uint32_t nsid = nsid_of(req);

	return nsid && nsid <= MAX_NSID ? to_host(req, execute) : FAIL(NVME_SC_INVALID_NS);
}

static uint16_t list(struct req *req)
{
	return nsid_of(req) >= 0xfffffffeu ? FAIL(NVME_SC_INVALID_NS) : to_host(req, execute_list);
}

static uint16_t attached_ctrls(struct req *req)
{
	uint16_t sc = one_ns(req, execute_ctrls);

	if (!sc && !ns_of(req))
		return FAIL(NVME_SC_INVALID_FIELD);
	return sc;
}

/* Values with a command set identifier. */
static uint16_t parse_csi(struct req *req, unsigned int cns)
{
	if (csi_of(req))
		return FAIL(NVME_SC_INVALID_FIELD);
	switch (cns) {
	case 0x05:	/* the NVM set's own of a namespace: nothing beyond CNS 00h */
		return one_ns(req, execute_zero);
	case 0x06:	/* the NVM set's own of the controller: no limits beyond MDTS */
		return to_host(req, execute_zero);
	default:
		return list(req);
	}
}

uint16_t identify_ns_parse(struct req *req, unsigned int cns)
{
	switch (cns) {
	case 0x00:
		return one_ns(req, execute_ns);
	case 0x02:
	case 0x10:
		return list(req);
	case 0x03:
		return one_ns(req, execute_descriptors);
	case 0x05:
	case 0x06:
	case 0x07:
		return parse_csi(req, cns);
	case 0x08:
		return one_ns(req, execute_independent);
	case 0x11:
		return one_ns(req, execute_ns);
	case 0x12:
		return attached_ctrls(req);
	case 0x13:
		return to_host(req, execute_ctrls);
	default:	/* 1Ch too: there is one command set (CAP.CSS) */
		return FAIL(NVME_SC_INVALID_FIELD);
	}
}
