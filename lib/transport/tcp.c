// SPDX-License-Identifier: BSD-2-Clause
/* The transport tcp: opening and closing, what there is to know of a controller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tcp.h"

static uint64_t deadline(const struct transport_dev *dev)
{
	return tcp_now() + BASE_MIN(dev->name.timeout_ms, TCP_ADMIN_MS) * TCP_NS_PER_MS;
}

static int open_device(struct transport_dev *dev, bool numeric)
{
	int ret = tcp_resolve(dev->env, &dev->name, numeric, &dev->addrs);

	if (!ret) {
		ret = tcp_assoc_wait(dev, deadline(dev));
		tcp_assoc_tell(dev, ret);
	}
	if (!ret && !dev->name.nsid)
		ret = tcp_find_namespace(dev);
	return ret;
}

/* Ways in which nobody is there come to the same. */
static int as_documented(int ret)
{
	return ret == -EHOSTDOWN || ret == -ENETUNREACH || ret == -ENETDOWN ? -EHOSTUNREACH : ret;
}

static int tcp_open(struct transport_env *env, const char *text, struct transport_dev **out)
{
	struct transport_dev *dev;
	struct tcp_name name;
	char host[sizeof(name.host)];
	int ret = tcp_name_parse(env, text, &name);

	if (ret)
		return ret;
	if (!name.hostnqn[0]) {
		transport_log(env, TCP_LOG_ERROR, "this host has no NQN; give one by ?hostnqn=");
		return -EINVAL;
	}
	tcp_host_tell(env);
	memcpy(host, name.host, sizeof(host));
	if (!name.nqn[0]) {
		ret = tcp_find_subsystem(env, &name);
		if (ret)
			return as_documented(ret);
	}
	ret = tcp_dev_new(env, &name, &dev);
	if (ret)
		return ret;
	ret = open_device(dev, strcmp(host, name.host) != 0);
	if (ret) {
		tcp_dev_free(dev);
		return as_documented(ret);
	}
	*out = dev;
	return 0;
}

/* No command says goodbye: a controller notices that its connections end, and so the inbox host's do, too. */
static void tcp_close(struct transport_dev *dev)
{
	tcp_dev_free(dev);
}

/* Runs a command to its end; what NVMe says of it as an errno. */
static int run(struct transport_dev *dev, struct tcp_op *op)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = tcp_admin_run(dev, op, deadline(dev));
	pthread_mutex_unlock(&dev->lock);
	return ret ? ret : tcp_status_errno(op->status);
}

static int tcp_identify(struct transport_dev *dev, void *page)
{
	struct tcp_op op;

	tcp_op_identify(&op, 0, dev->name.nsid, page);
	return run(dev, &op);
}

static int tcp_identify_ctrl(struct transport_dev *dev, void *page)
{
	struct tcp_op op;

	tcp_op_identify(&op, 1, 0, page);
	return run(dev, &op);
}

static int tcp_log_page(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes)
{
	uint32_t max = dev->mdts ? (uint32_t)BASE_MIN(dev->mdts, (uint64_t)65536) : 65536, n, at;
	struct tcp_op op;
	int ret;

	if (!nbytes || nbytes % 4 || off % 4)
		return -EINVAL;
	for (at = 0; at < nbytes; at += n) {
		n = BASE_MIN(nbytes - at, max);
		tcp_op_log(&op, lid, off + at, (uint8_t *)buf + at, n);
		ret = run(dev, &op);
		if (ret)
			return ret == -ENOENT || op.status == NVME_SC_INVALID_FIELD ? -ENOENT : ret;
	}
	return 0;
}

static int tcp_reset(struct transport_dev *dev)
{
	(void)dev;
	return -ENOTSUP;
}

/* A field of Identify Controller: characters padded with spaces; what is no character is shown as '?'. */
static void field(const uint8_t *src, size_t n, char *dst)
{
	size_t i;

	while (n && (src[n - 1] == ' ' || !src[n - 1]))
		n--;
	for (i = 0; i < n; i++)
		dst[i] = src[i] >= ' ' && src[i] < 0x7f ? (char)src[i] : '?';
	dst[n] = '\0';
}

static int tcp_info(struct transport_dev *dev, struct transport_info *info)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->kind, sizeof(info->kind), "tcp");
	info->numa_node = -1;
	snprintf(info->address, sizeof(info->address), "traddr=%.100s,trsvcid=%s", dev->name.host, dev->name.port);
	snprintf(info->subnqn, sizeof(info->subnqn), "%s", dev->name.nqn);
	pthread_mutex_lock(&dev->lock);
	info->max_nbytes = tcp_max_nbytes(dev);
	field(dev->ctrl + 4, 20, info->serial);
	field(dev->ctrl + 24, 40, info->model);
	field(dev->ctrl + 64, 8, info->firmware);
	pthread_mutex_unlock(&dev->lock);
	info->kato_ms = dev->name.kato_ms ? (int64_t)dev->name.kato_ms : -1;
	info->ctrl_loss_tmo_s = info->reconnect_delay_s = -1;
	return 0;
}

/* There is no node that anybody could have open. */
static int tcp_hold(struct transport_dev *dev, enum transport_hold how)
{
	(void)dev;
	(void)how;
	return 0;
}

const struct transport_ops transport_tcp = {
	.name = "tcp",
	.flags = TRANSPORT_ORDERED,
	.scan = tcp_scan,
	.open = tcp_open,
	.close = tcp_close,
	.identify = tcp_identify,
	.queue_new = tcp_queue_new,
	.queue_free = tcp_queue_free,
	.submit = tcp_queue_submit,
	.reap = tcp_queue_reap,
	.fd = tcp_queue_fd,
	.reset = tcp_reset,
	.info = tcp_info,
	.identify_ctrl = tcp_identify_ctrl,
	.log_page = tcp_log_page,
	.hold = tcp_hold,
};
