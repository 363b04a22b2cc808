// SPDX-License-Identifier: BSD-2-Clause
/* Commands of the admin queue: one waits for its outcome, with the device's lock held. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "tcp.h"

void tcp_op_read(struct tcp_op *op, uint8_t opc, uint32_t nsid, void *buf, uint32_t nbytes)
{
	memset(&op->sqe, 0, sizeof(op->sqe));
	op->sqe.opc = opc;
	le32_put(&op->sqe.nsid, nsid);
	op->dir = nbytes ? TCP_TO_HOST : TCP_NODATA;
	op->iov = (struct iovec){ buf, nbytes };
}

void tcp_op_identify(struct tcp_op *op, uint8_t cns, uint32_t nsid, void *page)
{
	tcp_op_read(op, NVME_ADM_IDENTIFY, nsid, page, TCP_PAGE);
	le32_put(&op->sqe.cdw10, cns);
}

void tcp_op_log(struct tcp_op *op, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes)
{
	uint32_t numd = nbytes / 4 - 1;

	/* Of the controller, not of a namespace: but SMART and its kin are asked for by FFFFFFFFh. */
	tcp_op_read(op, NVME_ADM_GET_LOG, lid == NVME_LOG_SMART ? UINT32_MAX : 0, buf, nbytes);
	le32_put(&op->sqe.cdw10, lid | numd << 16);
	le32_put(&op->sqe.cdw11, numd >> 16);
	le32_put(&op->sqe.cdw12, (uint32_t)off);
	le32_put(&op->sqe.cdw13, (uint32_t)(off >> 32));
}

int tcp_op_start(struct transport_dev *dev, struct tcp_op *op, uint64_t now)
{
	struct tcp_req *r;

	r = tcp_req_get(&dev->admin);
	if (!r)
		return -EBUSY;
	r->sqe = op->sqe;
	r->dir = op->dir;
	r->iov = &op->iov;
	r->niov = 1;
	r->base = 0;
	r->nbytes = (uint32_t)op->iov.iov_len;
	r->user = op;
	op->busy = true;
	op->error = 0;
	op->status = 0;
	op->result = 0;
	tcp_req_queue(&dev->admin, r, now);
	return 0;
}

void tcp_op_done(struct tcp_conn *c, struct tcp_req *r)
{
	struct tcp_op *op = r->user;

	(void)c;
	op->busy = false;
	op->error = r->error;
	op->status = r->status & 0x7ff;
	op->result = r->result;
}

int tcp_admin_turn(struct transport_dev *dev, uint64_t now)
{
	struct tcp_conn *c = &dev->admin;
	int ret;

	if (c->state == TCP_CLOSED)
		return c->error ? c->error : -ENOTCONN;
	ret = tcp_send(c);
	while (!ret) {
		ret = tcp_recv(c, MSG_DONTWAIT);
		if (!ret)
			break;
		ret = ret > 0 ? tcp_send(c) : ret;
	}
	if (!ret) {
		tcp_conn_check(c, now);
		ret = c->state == TCP_CLOSED ? c->error : 0;
	}
	return ret;
}

static int wait_admin(struct transport_dev *dev, struct tcp_op *op, uint64_t deadline)
{
	uint64_t now;
	int ret;

	for (;;) {
		now = tcp_now();
		ret = tcp_admin_turn(dev, now);
		if (!op->busy)
			return op->error;
		if (ret)
			return ret;
		if (now >= deadline) {
			/* Its buffer is the caller's again only when the connection has no use for it. */
			tcp_conn_close(&dev->admin, -ETIMEDOUT);
			return -ETIMEDOUT;
		}
		poll(&(struct pollfd){ dev->admin.fd, tcp_conn_events(&dev->admin), 0 }, 1,
		     (int)((BASE_MIN(deadline, dev->admin.check_ns) - now) / TCP_NS_PER_MS) + 1);
	}
}

int tcp_admin_run(struct transport_dev *dev, struct tcp_op *op, uint64_t deadline)
{
	int ret = tcp_assoc_wait(dev, deadline);

	if (ret)
		return ret;
	ret = tcp_op_start(dev, op, tcp_now());
	if (!ret)
		ret = wait_admin(dev, op, deadline);
	if (ret && dev->admin.state == TCP_CLOSED)
		tcp_assoc_drop(dev, ret, tcp_now());
	return ret;
}

int tcp_status_errno(uint16_t status)
{
	switch (status & 0x7ff) {
	case NVME_SC_OK:
		return 0;
	case NVME_SC_INVALID_NS:
		return -ENOENT;
	case NVME_SC_ACCESS_DENIED:
		return -EACCES;
	case NVME_SC_INVALID_OPCODE:
		return -ENOTSUP;
	case NVME_SC_INVALID_LOG_PAGE:
		return -ENOENT;
	default:
		return -EIO;
	}
}
