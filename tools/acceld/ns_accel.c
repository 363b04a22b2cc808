// SPDX-License-Identifier: BSD-2-Clause
/*
 * Accelerator namespaces: a device of lib/device each. Its commands are the requests' own (req->u.dev); they complete
 * in whatever thread ends them: the reactor's that submitted, an engine's, another reactor's by the clock.
 */
#include <errno.h>
#include <stdlib.h>
#include "ns.h"

#define BATCH_NBYTES (256u << 10)

struct ns_accel {
	struct ns ns;			/* first */
	struct device *dev;
	uint64_t nsze;			/* blocks */
};

static struct ns_accel *accel(struct ns *ns)
{
	return (struct ns_accel *)ns;
}

/* Under the device's lock. The device's statuses are NVMe's own; of a namespace that goes, that is the news. */
static void done(struct device_cmd *cmd, uint16_t nvme_status)
{
	struct req *req = (struct req *)((char *)cmd - offsetof(struct req, u.dev));
	bool cut = nvme_status == MODEL_SC_ABORTED || nvme_status == MODEL_SC_NOT_READY;

	if (cut && ns_gone(req->ns))
		nvme_status = FAIL(NVME_SC_INVALID_NS);
	req_complete(req, nvme_status);
}

static void flush(struct ns_batch *b, uint64_t now_ns)
{
	unsigned int n = b->n;

	b->n = 0;
	b->nbytes = 0;
	device_submit_at(accel(b->ns)->dev, b->cmd, n, now_ns);
}

void ns_turn_end(struct reactor *r)
{
	struct ns_batch *b = reactor_batch(r);

	if (b->n)
		flush(b, reactor_now(r));
}

/* It may still be in the batch: then it is submitted first, which may end it already. */
static void cancel(struct req *req)
{
	ns_turn_end(req_reactor(req));
	device_cancel(accel(req->ns)->dev, &req->u.dev);
}

/* The data are in req->iov, and stay until the request completes: the device may work in place. */
static void execute(struct req *req)
{
	struct reactor *r = req_reactor(req);
	struct ns_batch *b = reactor_batch(r);
	struct device_cmd *cmd = &req->u.dev;

	if (ns_gone(req->ns)) {
		req_complete(req, FAIL(NVME_SC_INVALID_NS));
		return;
	}
	cmd->m.iov = req->iov;
	cmd->m.niov = req->niov;
	if (b->n && b->ns != req->ns)
		flush(b, reactor_now(r));
	b->ns = req->ns;
	b->cmd[b->n++] = cmd;
	b->nbytes += req->nbytes;
	/* What cannot be done in place is copied under the lock: that others wait for it has a limit. */
	if (b->n == NS_BATCH || b->nbytes >= BATCH_NBYTES)
		flush(b, reactor_now(r));
}

static uint16_t parse(struct ns *ns, struct req *req)
{
	struct model_cmd *m = &req->u.dev.m;
	struct ns_range range;
	uint16_t sc;

	if (req->sqe.opc == NVME_IO_FLUSH) {
		req->execute = ns_execute_nothing;
		return NVME_SC_OK;
	}
	sc = ns_parse_rw(ns, req, accel(ns)->nsze, &range);
	if (sc)
		return sc;
	m->opcode = req->sqe.opc == NVME_IO_WRITE ? MODEL_WRITE : MODEL_READ;
	m->flags = MODEL_CMD_BORROW;
	m->off = range.off;
	m->nbytes = range.nbytes;
	m->host = ctrl_host(req_ctrl(req));
	req->u.dev.done = done;
	req->u.dev.pair = NULL;
	req->execute = execute;
	req->cancel = cancel;
	return NVME_SC_OK;
}

static void identify(struct ns *ns, void *page)
{
	device_identify(accel(ns)->dev, page);
}

static uint64_t tick(struct ns *ns)
{
	return device_tick(accel(ns)->dev);
}

unsigned int ns_held(struct ns *ns)
{
	return ns_is_accel(ns) ? device_held(accel(ns)->dev) : 0;
}

static void stop(struct ns *ns)
{
	device_stop(accel(ns)->dev);
}

static void accel_free(struct ns *ns)
{
	device_free(accel(ns)->dev);
	free(ns);
}

static const struct ns_ops accel_ops = {
	.parse = parse,
	.identify = identify,
	.tick = tick,
	.stop = stop,
	.free = accel_free,
};

/* What the device has to say; with its lock held. */
static void device_log(void *arg, int level, const char *message)
{
	struct ns *ns = arg;
	char text[256];

	log_event(ns->target, level ? LOG_WARNING : LOG_ERROR, "device", "nsid=%u what=%s", ns->conf.nsid,
		  log_q(text, message, strlen(message)));
}

static int device_make(struct target *t, const struct conf_ns *conf, struct ns_accel *na)
{
	const struct device_opts opts = {
		.kind = conf->function,
		.threads = conf->threads,
		.slots = conf->slots,
		.lbads = conf->block == 4096 ? 12 : 9,
		.here_nbytes = t->conf->small_job,
		.max_held = t->conf->max_held,
		.max_memory = t->conf->slot_memory,
		.memory = &t->slot_memory,
		.host_leases = true,
		.shared = true,
		.name = conf->name[0] ? conf->name : NULL,
		.uuid = mem_is_zero(conf->uuid, sizeof(conf->uuid)) ? NULL : conf->uuid,
		.log = device_log,
		.log_arg = na,
	};

	return device_new(&opts, &na->dev);
}

int ns_accel_new(struct target *t, const struct conf_ns *conf, struct ns **ns)
{
	struct ns_accel *na = calloc(1, sizeof(*na));
	uint8_t page[NVME_ACCEL_PAGE];
	int err;

	if (!na)
		return -ENOMEM;
	err = device_make(t, conf, na);
	if (err) {
		free(na);
		return err;
	}
	device_identify(na->dev, page);
	na->nsze = le64_get(page);	/* NSZE */
	na->ns.ops = &accel_ops;
	*ns = &na->ns;
	return 0;
}
