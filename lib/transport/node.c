// SPDX-License-Identifier: BSD-2-Clause
/* A device handle on a node: identity and other pages by command or by reading, flock, what is known of the path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/nvme_accel.h>
#include "../nvmetcp/nvme.h"
#include "node.h"

#define ADMIN_MS 10000

struct named {
	int (*found)(void *arg, const char *name);
	void *arg;
};

static int with_dev(void *arg, const char *name)
{
	struct named *n = arg;
	char path[64];

	snprintf(path, sizeof(path), "/dev/%.40s", name);
	return n->found(n->arg, path);
}

int node_scan(struct transport_env *env, const char *options, int (*found)(void *arg, const char *name), void *arg)
{
	struct named n = { found, arg };

	(void)options;
	return sysfs_scan(env->sysfs, with_dev, &n);
}

void node_watch(struct transport_dev *dev)
{
	char path[300];
	unsigned int i;

	for (i = 0; i < dev->sysfs.nqueue; i++) {
		snprintf(path, sizeof(path), "%s/max_sectors_kb", dev->sysfs.queue[i]);
		dev->limit_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	dev->max_nbytes = dev->sysfs.info.max_nbytes;
}

bool node_was_split(struct transport_dev *dev, struct transport_cmd *cmd)
{
	uint64_t max = __atomic_load_n(&dev->max_nbytes, __ATOMIC_RELAXED), kb;
	char text[32];
	unsigned int i;
	ssize_t n;

	if (!(cmd->flags & TRANSPORT_WHOLE) || dev->generic || cmd->nbytes <= NVME_ACCEL_PAGE)
		return false;
	for (i = 0; i < dev->sysfs.nqueue; i++) {
		n = dev->limit_fd[i] < 0 ? 0 : pread(dev->limit_fd[i], text, sizeof(text) - 1, 0);
		if (n <= 0)
			continue;
		text[n] = '\0';
		kb = strtoull(text, NULL, 10);
		if (kb)
			max = BASE_MIN(max, kb * 1024);
	}
	if (max < __atomic_load_n(&dev->max_nbytes, __ATOMIC_RELAXED))
		__atomic_store_n(&dev->max_nbytes, max, __ATOMIC_RELAXED);
	if (!max || cmd->nbytes <= max)
		return false;
	cmd->error = -EMSGSIZE;
	cmd->nvme_status = 0;
	return true;
}

/* Also in a forked child: the lock of flock() stays with the parent's descriptor, as nothing is unlocked here. */
void node_close(struct transport_dev *dev)
{
	unsigned int i;

	for (i = 0; i < NODE_NQUEUE; i++)
		if (dev->limit_fd[i] >= 0)
			close(dev->limit_fd[i]);
	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

/* 0, -EIO with an NVMe status in *status, or -errno. */
static int admin(int fd, struct nvme_passthru_cmd *cmd, uint16_t *status)
{
	int ret;

	cmd->timeout_ms = ADMIN_MS;
	do
		ret = ioctl(fd, NVME_IOCTL_ADMIN_CMD, cmd);
	while (ret < 0 && errno == EINTR);
	*status = ret > 0 ? (uint16_t)ret & 0x7ff : 0;
	return ret < 0 ? -errno : ret ? -EIO : 0;
}

int node_admin_identify(int fd, uint32_t nsid, uint8_t cns, void *page)
{
	struct nvme_passthru_cmd cmd = { .opcode = NVME_ADM_IDENTIFY, .nsid = nsid, .cdw10 = cns };
	uint16_t status;

	cmd.addr = (uint64_t)(uintptr_t)page;
	cmd.data_len = NVME_ACCEL_PAGE;
	return admin(fd, &cmd, &status);
}

int node_read(struct transport_dev *dev, uint64_t off, void *buf, uint32_t nbytes)
{
	struct iovec iov = { buf, nbytes };
	ssize_t n;
	int ret;

	if (dev->generic) {
		ret = ng_rw(dev, false, off, nbytes, &iov, 1);
		if (ret > 0)
			return (ret & 0x7ff) == NVME_SC_INVALID_NS ? -ENODEV : -EIO;
		return ret;
	}
	n = pread(dev->fd, buf, nbytes, (off_t)off);
	/* How the block layer says Invalid Namespace: it has gone, and the node has not yet. */
	if (n < 0)
		return errno == EOPNOTSUPP ? -ENODEV : -errno;
	/* A device that ends there is no accelerator, and small. */
	return n == (ssize_t)nbytes ? 0 : -ENODEV;
}

int node_identify(struct transport_dev *dev, void *page)
{
	void *buf = NULL;
	int ret;

	if (dev->admin)
		return node_admin_identify(dev->fd, dev->nsid, 0, page);
	if (posix_memalign(&buf, NVME_ACCEL_PAGE, NVME_ACCEL_PAGE))
		return -ENOMEM;
	ret = node_read(dev, NVME_ACCEL_QUIET, buf, NVME_ACCEL_PAGE);
	if (!ret)
		memcpy(page, buf, NVME_ACCEL_PAGE);
	free(buf);
	return ret;
}

int node_identify_ctrl(struct transport_dev *dev, void *page)
{
	return dev->nsid ? node_admin_identify(dev->fd, 0, 1, page) : -ENOTSUP;
}

int node_log_page(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes)
{
	struct nvme_passthru_cmd cmd = { .opcode = NVME_ADM_GET_LOG, .nsid = 0xffffffff };
	uint32_t numd = nbytes / 4 - 1;
	uint16_t status;
	int ret;

	if (!nbytes || nbytes % 4 || off % 4)
		return -EINVAL;
	if (!dev->nsid)
		return -ENOTSUP;
	cmd.addr = (uint64_t)(uintptr_t)buf;
	cmd.data_len = nbytes;
	/* RAE: whoever waits for the event that the page may belong to still gets it. */
	cmd.cdw10 = lid | 1u << 15 | (numd & 0xffff) << 16;
	cmd.cdw11 = numd >> 16;
	cmd.cdw12 = (uint32_t)off;
	cmd.cdw13 = (uint32_t)(off >> 32);
	ret = admin(dev->fd, &cmd, &status);
	if (ret == -EIO && (status == NVME_SC_INVALID_LOG_PAGE || status == NVME_SC_INVALID_FIELD))
		return -ENOENT;
	return ret;
}

int node_info(struct transport_dev *dev, struct transport_info *info)
{
	*info = dev->sysfs.info;
	info->npath = dev->sysfs.npath;
	if (dev->max_nbytes)
		info->max_nbytes = __atomic_load_n(&dev->max_nbytes, __ATOMIC_RELAXED);
	info->direct = __atomic_load_n(&dev->direct, __ATOMIC_RELAXED);
	info->copied = __atomic_load_n(&dev->copied, __ATOMIC_RELAXED);
	info->copied_nbytes = __atomic_load_n(&dev->copied_nbytes, __ATOMIC_RELAXED);
	return 0;
}

int node_hold(struct transport_dev *dev, enum transport_hold how)
{
	int op = how == TRANSPORT_HOLD_NONE ? LOCK_UN : how == TRANSPORT_HOLD_SHARED ? LOCK_SH : LOCK_EX;

	/* It is the parent's lock, too. */
	if (dev->env->forked)
		return 0;
	if (!flock(dev->fd, op | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

int node_reset(struct transport_dev *dev)
{
	(void)dev;
	return -ENOTSUP;	/* a subsystem reset would end other namespaces' work, too */
}
