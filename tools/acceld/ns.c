// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces, whatever is behind them: from the configuration to the last request. */
#include <errno.h>
#include <time.h>
#include "ns.h"

#define REMOVE_WAIT_MS	2000u		/* for requests whose hosts owe data, or do not take any */

/* CDW12 of Read and Write. */
#define RW_NLB		0xffffu
#define RW_DTYPE	(0xfu << 20)	/* Write: directive type; there are no directives here */

int ns_new(struct target *t, const struct conf_ns *conf, struct ns **out)
{
	struct ns *ns;
	int err = conf->kind == NS_ACCEL ? ns_accel_new(t, conf, &ns) : ns_ram_new(t, conf, &ns);

	if (err) {
		log_event(t, LOG_ERROR, "namespace-not-made", "nsid=%u kind=%s error=%d%s", conf->nsid,
			  conf->kind == NS_ACCEL ? "accelerator" : "ram", -err,
			  err == -ENOMEM ? " what=\"not enough memory\"" : "");
		return err;
	}
	ns->target = t;
	ns->conf = *conf;
	ns->refs = 1;
	*out = ns;
	return 0;
}

void ns_get(struct ns *ns)
{
	__atomic_fetch_add(&ns->refs, 1, __ATOMIC_RELAXED);
}

void ns_put(struct ns *ns)
{
	if (__atomic_fetch_sub(&ns->refs, 1, __ATOMIC_ACQ_REL) == 1)
		ns->ops->free(ns);
}

bool ns_is_accel(const struct ns *ns)
{
	return ns->conf.kind == NS_ACCEL;
}

void ns_remove(struct ns *ns)
{
	struct timespec ms = { 0, NS_PER_MS };
	unsigned int waited, left;

	__atomic_store_n(&ns->gone, true, __ATOMIC_RELEASE);
	ns->ops->stop(ns);
	for (waited = 0; waited < REMOVE_WAIT_MS; waited++) {
		if (__atomic_load_n(&ns->refs, __ATOMIC_ACQUIRE) == 1)
			break;
		nanosleep(&ms, NULL);
	}
	left = __atomic_load_n(&ns->refs, __ATOMIC_ACQUIRE) - 1;
	/* What is left waits for its host, and executes nothing any more: its memory goes with the last of it. */
	if (left)
		log_event(ns->target, LOG_WARNING, "namespace-lingers", "nsid=%u requests=%u", ns->conf.nsid, left);
	ns_put(ns);
}

/*
 * There are neither metadata nor protection information nor volatile data that a power loss could spare: PRINFO, FUA
 * and LR change nothing, as the specifications want it. A directive that does not exist is an error.
 */
uint16_t ns_parse_rw(struct ns *ns, struct req *req, uint64_t nsze, struct ns_range *range)
{
	uint64_t slba = le32_get(&req->sqe.cdw10) | (uint64_t)le32_get(&req->sqe.cdw11) << 32, nbytes;
	uint32_t cdw12 = le32_get(&req->sqe.cdw12), nlb = (cdw12 & RW_NLB) + 1;

	if (req->sqe.opc == NVME_IO_WRITE && cdw12 & RW_DTYPE)
		return FAIL(NVME_SC_INVALID_FIELD);
	nbytes = (uint64_t)nlb * ns->conf.block;
	if (nbytes > ns->target->conf->max_transfer)
		return FAIL(NVME_SC_INVALID_FIELD);
	if (slba >= nsze || nlb > nsze - slba)
		return FAIL(NVME_SC_LBA_RANGE);
	range->off = slba * ns->conf.block;
	range->nbytes = (uint32_t)nbytes;
	req->nbytes = (uint32_t)nbytes;
	req->dir = req->sqe.opc == NVME_IO_WRITE ? REQ_TO_CTRL : REQ_TO_HOST;
	req->exact = true;
	return NVME_SC_OK;
}

void ns_execute_nothing(struct req *req)
{
	req_complete(req, ns_gone(req->ns) ? FAIL(NVME_SC_INVALID_NS) : NVME_SC_OK);
}
