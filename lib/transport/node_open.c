// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening a node. A disk must never be written to by mistake, so that a node is opened for reading first, and for
 * writing only when it has proven to be an accelerator:
 *
 *   its block at 1 MiB carries the identity, with the right checksum;
 *   Identify Namespace says the same, if the kernel lets us ask and the vendor's bytes came through;
 *   else (a plain block export, or a user without privilege) its clock runs: a disk that a copy of an accelerator's
 *   blocks has been written to shows the same time for ever, and its quiet head reads as zeros.
 *
 * Opening a disk for reading has no effect that others see; closing one that was open for writing makes udev probe it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/fs.h>
#include <time.h>
#include <unistd.h>
#include "../wire/wire.h"
#include "node.h"

#define ERROR	0			/* enum accel_log_level */
#define WARNING	1
#define INFO	2

#define CLOCK_NS	2000000		/* between two looks at the clock */
#define CLOCK_LOOKS	50

struct proof {
	uint8_t *ident, *copy, *block;	/* pages, aligned */
	struct wire_id *id;
};

static int say(struct transport_dev *dev, int level, int err, const char *what)
{
	transport_log(dev->env, level, "%s: %s", dev->name, what);
	return err;
}

static bool same_identity(const uint8_t *a, const uint8_t *b)
{
	size_t at = NVME_ACCEL_ID_OFF;

	/* What lies before is the standard's, and rewritten on the way; what follows up to the table changes. */
	return memcmp(a + at, b + at, NVME_ACCEL_HDRLEN) == 0 &&
	       memcmp(a + NVME_ACCEL_OPS_OFF, b + NVME_ACCEL_OPS_OFF, NVME_ACCEL_PAGE - NVME_ACCEL_OPS_OFF) == 0;
}

static int uptime(struct transport_dev *dev, const struct proof *p, uint64_t *ns)
{
	const struct nvme_accel_stats *s = (const void *)p->block;
	int ret = node_read(dev, p->id->stats_off, p->block, NVME_ACCEL_PAGE);

	if (ret)
		return ret;
	*ns = le64_get(&s->uptime_ns);
	return memcmp(s->magic, NVME_ACCEL_STATS_MAGIC, 4) == 0 && le64_get(&s->bootid) == p->id->bootid ? 0 : -ENODEV;
}

static int clock_runs(struct transport_dev *dev, const struct proof *p)
{
	struct timespec pause = { 0, CLOCK_NS };
	uint64_t first, now;
	int i, ret = uptime(dev, p, &first);

	for (i = 0; !ret && i < CLOCK_LOOKS; i++) {
		nanosleep(&pause, NULL);
		ret = uptime(dev, p, &now);
		if (!ret && now > first)
			return 0;
	}
	return ret ? ret : -ENODEV;
}

static int quiet_head(struct transport_dev *dev, const struct proof *p)
{
	int ret = node_read(dev, 0, p->block, NVME_ACCEL_PAGE);

	return ret ? ret : mem_is_zero(p->block, NVME_ACCEL_PAGE) ? 0 : -ENODEV;
}

static int size_fits(struct transport_dev *dev, const struct wire_id *id)
{
	uint64_t nbytes;

	if (dev->generic)
		return 0;
	if (ioctl(dev->fd, BLKGETSIZE64, &nbytes))
		return -errno;
	return nbytes >> id->lbadsx == id->nsze ? 0 : -ENODEV;
}

/* Without Identify only what the blocks themselves show counts. */
static int proven_by_blocks(struct transport_dev *dev, const struct proof *p)
{
	int ret = size_fits(dev, p->id);

	if (!ret)
		ret = quiet_head(dev, p);
	if (!ret && !(p->id->feat & NVME_ACCEL_FEAT_STATS))
		return say(dev, ERROR, -EACCES, "Identify is refused and there is no other proof that this is an "
			   "accelerator and not a copy of one");
	if (!ret)
		ret = clock_runs(dev, p);
	if (ret == -ENODEV)
		say(dev, WARNING, ret, "has an accelerator's identity in its blocks, but is a disk: not used");
	return ret;
}

static int prove(struct transport_dev *dev, const struct proof *p)
{
	int ret = node_read(dev, NVME_ACCEL_QUIET, p->copy, NVME_ACCEL_PAGE);
	enum wire_err err;

	if (ret)
		return ret;
	if (!wire_id_present(p->copy))
		return -ENODEV;
	err = wire_id_decode(p->id, p->copy);
	if (err) {
		transport_log(dev->env, WARNING, "%s: malformed identity: %s", dev->name, wire_err_str(err));
		return -EPROTO;
	}
	if (p->id->info_off != NVME_ACCEL_QUIET)
		return say(dev, WARNING, -EPROTO, "its identity does not lie where it says");
	dev->admin = dev->nsid && !node_admin_identify(dev->fd, dev->nsid, 0, p->ident) && wire_id_present(p->ident);
	if (!dev->admin)
		return proven_by_blocks(dev, p);
	if (same_identity(p->ident, p->copy))
		return 0;
	return say(dev, ERROR, -EPROTO, "Identify Namespace and its copy in the blocks do not agree");
}

static int prove_alloc(struct transport_dev *dev)
{
	struct proof p = { 0 };
	void *pages = NULL;
	int ret = -ENOMEM;

	p.id = malloc(sizeof(*p.id));
	if (p.id && !posix_memalign(&pages, NVME_ACCEL_PAGE, 3 * NVME_ACCEL_PAGE)) {
		p.ident = pages;
		p.copy = p.ident + NVME_ACCEL_PAGE;
		p.block = p.copy + NVME_ACCEL_PAGE;
		ret = prove(dev, &p);
	}
	if (!ret)
		dev->sysfs.limits.block = 1u << p.id->lbadsx;
	free(pages);
	free(p.id);
	return ret;
}

/* Whoever refuses (modes, a control group, a security module), it is a matter of permission. */
static int open_errno(int err)
{
	return err == EPERM ? -EACCES : err == ENXIO ? -ENODEV : -err;
}

/* The same node for writing: by way of the descriptor, since the name may be another's by now. */
static int open_for_writing(struct transport_dev *dev, const char *path)
{
	struct stat a, b;
	char self[40];
	int fd, ro = 0;

	if (!ioctl(dev->fd, BLKROGET, &ro) && ro)
		return -EROFS;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", dev->fd);
	fd = open(self, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return open_errno(errno);
	if (fstat(dev->fd, &a) || fstat(fd, &b) || a.st_rdev != b.st_rdev || !S_ISBLK(b.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	close(dev->fd);
	dev->fd = fd;
	return 0;
}

static int check_kind(struct transport_dev *dev, const char *node)
{
	struct stat st;
	int nsid;

	if (fstat(dev->fd, &st))
		return -errno;
	if (dev->generic ? !S_ISCHR(st.st_mode) : !S_ISBLK(st.st_mode))
		return dev->generic ? -ENOTTY : -ENOTBLK;
	/* sysfs speaks of this node, or of another that had the name before. */
	if (dev->sysfs.nvme && (major(st.st_rdev) != dev->sysfs.major || minor(st.st_rdev) != dev->sysfs.minor))
		sysfs_read("/nonexistent", node, &dev->sysfs);
	nsid = ioctl(dev->fd, NVME_IOCTL_ID);
	if (dev->generic && nsid < 0)
		return -ENOTTY;
	dev->nsid = nsid > 0 ? (uint32_t)nsid : 0;
	return 0;
}

static int open_node(struct transport_dev *dev, const char *node)
{
	int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK, ret;
	char path[320];

	if (snprintf(path, sizeof(path), "%s/%s", dev->env->devdir, node) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	sysfs_read(dev->env->sysfs, node, &dev->sysfs);
	dev->generic = sysfs_is_generic(node);
	if (strstr(dev->sysfs.info.model, "Eideticom"))
		return say(dev, INFO, -ENODEV, "a NoLoad card, whose interface is another one (accel info shows it)");
	if (!dev->sysfs.live) {
		transport_log(dev->env, WARNING, "%s: its controller is not connected (%s)", dev->name,
			      dev->sysfs.state[0] ? dev->sysfs.state : "no path");
		return -ENOTCONN;
	}
	dev->fd = open(path, flags | (dev->generic ? O_RDWR : O_RDONLY));
	if (dev->fd < 0)
		return open_errno(errno);
	ret = check_kind(dev, node);
	/* Only now: a pipe or a terminal does not know it, and has its own error. */
	if (!ret && fcntl(dev->fd, F_SETFL, dev->generic ? 0 : O_DIRECT))
		ret = -errno;
	if (!ret)
		ret = prove_alloc(dev);
	if (!ret && !dev->generic)
		ret = open_for_writing(dev, path);
	if (!ret)
		node_watch(dev);
	return ret;
}

int node_new(struct transport_env *env, const char *name, struct transport_dev **out)
{
	struct transport_dev *dev;

	if (strncmp(name, "/dev/", 5) != 0 || !name[5] || strlen(name) >= sizeof(dev->name))
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->env = env;
	dev->fd = -1;
	memset(dev->limit_fd, 0xff, sizeof(dev->limit_fd));
	strcpy(dev->name, name);
	*out = dev;
	return 0;
}

int node_open(struct transport_env *env, const char *name, struct transport_dev **out)
{
	struct transport_dev *dev;
	int ret = node_new(env, name, &dev);

	if (ret)
		return ret;
	ret = open_node(dev, name + 5);
	if (ret) {
		node_close(dev);
	} else {
		*out = dev;
	}
	return ret;
}
