// SPDX-License-Identifier: BSD-2-Clause
/* Identify data of NVMe namespaces that need not be accelerators, and what sysfs says of them. Nothing is written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/nvme_accel.h>
#include "node.h"

int transport_node_info(struct transport_env *env, const char *name, struct transport_info *info)
{
	struct transport_dev *dev;
	int ret = node_new(env, name, &dev);

	if (ret)
		return ret;
	sysfs_read(env->sysfs, name + 5, &dev->sysfs);
	ret = dev->sysfs.nvme ? node_info(dev, info) : -ENOENT;
	node_close(dev);
	return ret;
}

/* A page as somebody has kept it. */
static int recorded(int dir, const char *name, void *page)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	char more;

	if (fd < 0)
		return -errno;
	n = read(fd, page, NVME_ACCEL_PAGE);
	if (n == (ssize_t)NVME_ACCEL_PAGE && read(fd, &more, 1) != 0)
		n = 0;
	close(fd);
	return n == (ssize_t)NVME_ACCEL_PAGE ? 0 : -EPROTO;
}

static int identify(struct transport_dev *dev, void *ns, void *ctrl)
{
	struct stat st;
	int nsid, ret;

	if (fstat(dev->fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		ret = recorded(dev->fd, "identify-namespace", ns);
		return ret ? ret : recorded(dev->fd, "identify-controller", ctrl);
	}
	if (!S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode))
		return -ENOTBLK;
	nsid = ioctl(dev->fd, NVME_IOCTL_ID);
	if (nsid <= 0)
		return -ENOTTY;
	ret = node_admin_identify(dev->fd, (uint32_t)nsid, 0, ns);
	return ret ? ret : node_admin_identify(dev->fd, 0, 1, ctrl);
}

int transport_node_identify(struct transport_env *env, const char *name, void *ns, void *ctrl)
{
	struct transport_dev *dev;
	char path[320];
	int ret = node_new(env, name, &dev);

	if (ret)
		return ret;
	if (snprintf(path, sizeof(path), "%s/%s", env->devdir, name + 5) >= (int)sizeof(path))
		ret = -ENAMETOOLONG;
	if (!ret) {
		dev->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		ret = dev->fd >= 0 ? identify(dev, ns, ctrl) : errno == EPERM ? -EACCES : -errno;
	}
	node_close(dev);
	return ret;
}
