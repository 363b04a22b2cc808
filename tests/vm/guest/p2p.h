/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs that test nvme-accel-p2pdma in guests share. */
#ifndef TEST_P2P_H
#define TEST_P2P_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/nvme_accel_p2p.h>

#define PTR(p) ((uint64_t)(uintptr_t)(p))

/* 0 or the errno. */
static inline int call(int f, unsigned long cmd, void *arg)
{
	return ioctl(f, cmd, arg) ? errno : 0;
}

static inline void die(const char *what, int err)
{
	fprintf(stderr, "p2p: %s: %s\n", what, strerrorname_np(err) ?: "?");
	exit(1);
}

static inline int open_node(void)
{
	int f = open(NVME_ACCEL_P2P_DEV, O_RDWR | O_CLOEXEC);

	if (f < 0)
		die(NVME_ACCEL_P2P_DEV, errno);
	return f;
}

static inline int open_disk(const char *path, int flags)
{
	int f = open(path, flags | O_CLOEXEC);

	if (f < 0)
		die(path, errno);
	return f;
}

static inline uint32_t first_provider(int f)
{
	struct nvme_accel_p2p_provider p = { 0 };
	int err = call(f, NVME_ACCEL_P2P_PROVIDER, &p);

	if (err)
		die("no provider", err);
	return p.id;
}

#endif
