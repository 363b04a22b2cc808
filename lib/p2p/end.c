// SPDX-License-Identifier: BSD-2-Clause
/* One end of a copy: opening it, its range, and the disk that it is on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "../sys/attr.h"
#include "p2p.h"

#define FILE_BLOCK 4096u		/* of direct I/O to files: right for every file system in use */

void p2p_because(struct p2p_why *why, unsigned int reason, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return;
	why->reason = reason;
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
}

static const char *reason_text(unsigned int reason)
{
	switch (reason) {
	case NVME_ACCEL_P2P_R_FABRIC:
		return "is NVMe, but not on PCI";
	case NVME_ACCEL_P2P_R_MULTIPATH:
		return "is reached by several controllers (nvme_core.multipath=N makes each a device of its own)";
	case NVME_ACCEL_P2P_R_NO_DEVICE:
		return "has no controller on PCI";
	default:
		return "is no NVMe namespace (md, dm, loop, SATA and others are not used by peers)";
	}
}

/* Blocks of a partition are blocks of its disk, too. */
static void find_whole(const char *dir, struct p2p_end *e)
{
	char up[PATH_MAX], text[32];
	unsigned int maj, min;

	e->whole = e->rdev;
	e->start = 0;
	snprintf(up, sizeof(up), "%s/..", dir);
	if (!attr_text(dir, "partition", text, sizeof(text)) || !attr_text(up, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &maj, &min) != 2 || !attr_text(dir, "start", text, sizeof(text)))
		return;
	e->whole = makedev(maj, min);
	e->start = strtoull(text, NULL, 10) * 512;
}

/* The disk of a device number, and its controller, as sysfs has them. */
static void find_disk(const struct p2p_where *where, struct p2p_end *e)
{
	char path[PATH_MAX], *real;
	unsigned int reason = NVME_ACCEL_P2P_R_NOT_NVME;
	int ret = -ENODEV;

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", where->sysfs, major(e->rdev), minor(e->rdev));
	e->whole = e->rdev;
	real = realpath(path, NULL);
	if (real) {
		find_whole(real, e);
		snprintf(e->disk_name, sizeof(e->disk_name), "%.*s", P2P_NAME - 1, strrchr(real, '/') + 1);
		ret = p2p_ctrl_find(where->sysfs, e->disk_name, &e->ctrl, &reason);
		free(real);
	}
	if (ret)
		p2p_because(&e->no_peer, reason, "%s%s%s %s", e->name, e->is_block ? "" : ": its file system's device ",
			    e->is_block ? "" : e->disk_name, reason_text(reason));
}

static int reopen_direct(struct p2p_end *e)
{
	int flags = (e->write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_DIRECT;

	e->fd = open(e->name, flags);
	e->direct = e->fd >= 0;
	if (!e->direct)
		e->fd = fcntl(e->plain, F_DUPFD_CLOEXEC, 0);
	return e->fd < 0 ? -errno : 0;
}

static int measure(struct p2p_end *e)
{
	struct stat st;
	int block = 0;

	if (fstat(e->plain, &st))
		return -errno;
	e->is_block = S_ISBLK(st.st_mode);
	e->rdev = e->is_block ? st.st_rdev : st.st_dev;
	e->ino = e->is_block ? 0 : st.st_ino;
	if (S_ISREG(st.st_mode)) {
		e->size = (uint64_t)st.st_size;
		e->block = FILE_BLOCK;
		return 0;
	}
	if (!e->is_block)
		return -ENOTBLK;
	if (ioctl(e->plain, BLKGETSIZE64, &e->size) || ioctl(e->plain, BLKSSZGET, &block))
		return -errno;
	if (block < 512 || block > 65536 || block & (block - 1))
		return -EINVAL;
	e->block = (uint32_t)block;
	return 0;
}

/* A destination that is a file may grow; a device may not. */
static int find_range(struct p2p_end *e, uint64_t off, uint64_t nbytes)
{
	bool fixed = e->is_block || !e->write;

	if (fixed && off > e->size)
		return e->write ? -ENOSPC : -ENODATA;
	if (!nbytes && fixed)
		nbytes = e->size - off;
	if (fixed && nbytes > e->size - off)
		return e->write ? -ENOSPC : -ENODATA;
	if (off > INT64_MAX || nbytes > INT64_MAX - off)
		return -EINVAL;
	if (e->is_block && (off | nbytes) & (e->block - 1))
		return -EINVAL;
	e->off = off;
	e->nbytes = nbytes;
	return 0;
}

int p2p_end_open(const struct p2p_where *where, struct p2p_end *e, const char *name, bool write, uint64_t off,
		 uint64_t nbytes)
{
	int ret;

	memset(e, 0, sizeof(*e));
	e->name = name;
	e->write = write;
	e->fd = e->disk = -1;
	/* Never waits for the other end of a pipe, should it be one. */
	e->plain = open(name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (e->plain < 0)
		return -errno;
	ret = measure(e);
	/* io_uring would answer rather than wait, too. */
	if (!ret && fcntl(e->plain, F_SETFL, 0))
		ret = -errno;
	if (!ret)
		ret = find_range(e, off, nbytes);
	if (!ret)
		ret = reopen_direct(e);
	if (ret)
		p2p_end_close(e);
	else
		find_disk(where, e);
	return ret;
}

void p2p_end_release(struct p2p_end *e)
{
	if (!e->leased)
		return;
	fcntl(e->plain, F_SETLEASE, F_UNLCK);
	e->leased = false;
	close(e->fd);
	reopen_direct(e);
}

void p2p_end_close(struct p2p_end *e)
{
	if (e->fd >= 0)
		close(e->fd);
	if (e->disk >= 0)
		close(e->disk);
	if (e->plain >= 0)
		close(e->plain);
	e->fd = e->plain = e->disk = -1;
}

int p2p_end_disk(const struct p2p_where *where, struct p2p_end *e, struct p2p_why *why)
{
	char path[PATH_MAX];
	struct stat st;
	int block = 0;

	if (e->disk >= 0)
		return 0;
	if (e->no_peer.text[0]) {
		*why = e->no_peer;
		return -EREMOTEIO;
	}
	snprintf(path, sizeof(path), "%s/%s", where->devdir, e->disk_name);
	e->disk = open(e->is_block ? e->name : path, (e->write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_DIRECT);
	if (e->disk < 0 && errno == EBUSY) {
		p2p_because(why, 0, "%s is in use, and this kernel lets nobody else write to it (for mounted devices: "
			    "bdev_allow_write_mounted=1 on its command line)", e->is_block ? e->name : path);
		return -EREMOTEIO;
	}
	if (e->disk < 0) {
		p2p_because(why, 0, "%s may not be opened: %s", e->is_block ? e->name : path, strerrordesc_np(errno));
		return -EREMOTEIO;
	}
	/* The node must be that of the number: a file system's blocks on another disk are somebody else's. */
	if (!fstat(e->disk, &st) && S_ISBLK(st.st_mode) && st.st_rdev == e->rdev &&
	    !ioctl(e->disk, BLKSSZGET, &block) && block >= 512 && block <= 65536) {
		e->disk_block = (uint32_t)block;
		return 0;
	}
	p2p_because(why, 0, "%s is not the device that %s is on", path, e->name);
	close(e->disk);
	e->disk = -1;
	return -EREMOTEIO;
}

void p2p_end_written(struct p2p_end *e)
{
	if (e->is_block)
		return;
	posix_fadvise(e->plain, 0, 0, POSIX_FADV_DONTNEED);
	futimens(e->plain, NULL);
}
