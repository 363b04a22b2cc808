// SPDX-License-Identifier: BSD-2-Clause
/* NVMe controllers on PCI, their controller memory buffers, and which controller a node is of. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../sys/attr.h"
#include "p2p.h"

#define CTRLS_MAX 4096u

/* CMBSZ (NVMe 1.4, 3.1.12): what the buffer may hold, its unit and its size. */
#define CMBSZ_RDS	(1u << 3)
#define CMBSZ_WDS	(1u << 4)

static uint32_t hex_attr(const char *dir, const char *name)
{
	char text[32];

	return attr_text(dir, name, text, sizeof(text)) ? (uint32_t)strtoul(text, NULL, 16) : 0;
}

static void read_cmb(const char *dir, struct p2p_ctrl *c)
{
	uint32_t sz = hex_attr(dir, "cmbsz"), unit = sz >> 8 & 15;

	if (!sz || unit > 6)
		return;
	c->cmb_nbytes = (uint64_t)(sz >> 12) << (12 + 4 * unit);
	c->cmb_read = sz & CMBSZ_RDS;
	c->cmb_write = sz & CMBSZ_WDS;
}

static void read_kernel(const char *sysfs, struct p2p_ctrl *c)
{
	char dir[PATH_MAX], text[32];

	snprintf(dir, sizeof(dir), "%s/bus/pci/devices/%s/p2pmem", sysfs, c->address);
	c->kernel = attr_text(dir, "available", text, sizeof(text));
	c->kernel_free = c->kernel ? strtoull(text, NULL, 10) : 0;
}

/* -ENODEV: it is not on PCI; -ENOENT: it is not there. */
static int read_ctrl(const char *sysfs, const char *name, struct p2p_ctrl *c, unsigned int *reason)
{
	char dir[PATH_MAX], text[64];

	memset(c, 0, sizeof(*c));
	snprintf(dir, sizeof(dir), "%s/class/nvme/%s", sysfs, name);
	if (!attr_text(dir, "transport", text, sizeof(text)))
		return -ENOENT;
	*reason = NVME_ACCEL_P2P_R_FABRIC;
	if (strcmp(text, "pcie") != 0)
		return -ENODEV;
	*reason = NVME_ACCEL_P2P_R_NO_DEVICE;
	if (!attr_text(dir, "address", text, sizeof(text)) || !p2p_is_address(text))
		return -ENODEV;
	*reason = NVME_ACCEL_P2P_R_OK;
	snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->address, sizeof(c->address), "%.*s", (int)sizeof(c->address) - 1, text);
	attr_text(dir, "model", c->model, sizeof(c->model));
	read_cmb(dir, c);
	read_kernel(sysfs, c);
	return 0;
}

/* ---- All ---- */

static int number(const char *name)
{
	char *end;
	long n;

	if (strncmp(name, "nvme", 4) != 0 || name[4] < '0' || name[4] > '9')
		return -1;
	n = strtol(name + 4, &end, 10);
	return *end || n > INT_MAX ? -1 : (int)n;
}

static int is_ctrl(const struct dirent *e)
{
	return number(e->d_name) >= 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return number((*a)->d_name) - number((*b)->d_name);
}

int p2p_ctrl_each(const char *sysfs, int (*fn)(void *arg, const struct p2p_ctrl *ctrl), void *arg)
{
	struct dirent **names = NULL;
	struct p2p_ctrl ctrl;
	unsigned int reason;
	char dir[PATH_MAX];
	int n, i, ret = 0;

	snprintf(dir, sizeof(dir), "%s/class/nvme", sysfs);
	n = scandir(dir, &names, is_ctrl, by_number);
	if (n < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (i = 0; i < n; i++) {
		if (!ret && !read_ctrl(sysfs, names[i]->d_name, &ctrl, &reason))
			ret = fn(arg, &ctrl);
		free(names[i]);
	}
	free(names);
	return ret;
}

/* ---- One ---- */

struct wanted {
	const char *address;
	struct p2p_ctrl *ctrl;
};

static int same_address(void *arg, const struct p2p_ctrl *ctrl)
{
	struct wanted *w = arg;

	if (strcasecmp(ctrl->address, w->address) != 0)
		return 0;
	*w->ctrl = *ctrl;
	return 1;
}

/* Only the one controller of a subsystem is certain to be the way. */
static int ctrl_of_subsystem(const char *dir, char *name)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_ctrl, by_number), i;

	if (n >= 1)
		snprintf(name, P2P_NAME, "%.*s", P2P_NAME - 1, names[0]->d_name);
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return n == 1 ? 0 : n > 1 ? -EMLINK : -ENOENT;
}

/* The controller of a block device: its device is the controller, or the subsystem. */
static int ctrl_of_disk(const char *disk, char *name, unsigned int *reason)
{
	char path[PATH_MAX + 8], *real;
	const char *base;
	int ret;

	snprintf(path, sizeof(path), "%s/device", disk);
	real = realpath(path, NULL);
	*reason = NVME_ACCEL_P2P_R_NOT_NVME;
	if (!real)
		return -ENODEV;
	base = strrchr(real, '/') + 1;
	if (number(base) >= 0) {
		snprintf(name, P2P_NAME, "%.*s", P2P_NAME - 1, base);
		ret = 0;
	} else if (!strncmp(base, "nvme-subsys", 11)) {
		ret = ctrl_of_subsystem(real, name);
		*reason = ret == -EMLINK ? NVME_ACCEL_P2P_R_MULTIPATH : NVME_ACCEL_P2P_R_NO_DEVICE;
	} else {
		ret = -ENODEV;
	}
	free(real);
	return ret ? -ENODEV : 0;
}

/* A partition is a directory in that of its disk. */
static int find_node(const char *sysfs, const char *name, struct p2p_ctrl *ctrl, unsigned int *reason)
{
	char path[PATH_MAX], found[P2P_NAME], text[8];
	char *disk;
	int ret;

	snprintf(path, sizeof(path), "%s/class/block/%s", sysfs, name);
	disk = realpath(path, NULL);
	if (!disk)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	if (attr_text(disk, "partition", text, sizeof(text)))
		*strrchr(disk, '/') = '\0';
	ret = ctrl_of_disk(disk, found, reason);
	free(disk);
	return ret ? ret : read_ctrl(sysfs, found, ctrl, reason);
}

int p2p_ctrl_find(const char *sysfs, const char *name, struct p2p_ctrl *ctrl, unsigned int *reason)
{
	struct wanted w = { name, ctrl };
	int ret;

	*reason = NVME_ACCEL_P2P_R_OK;
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (p2p_is_address(name)) {
		ret = p2p_ctrl_each(sysfs, same_address, &w);
		*reason = ret ? NVME_ACCEL_P2P_R_OK : NVME_ACCEL_P2P_R_NO_DEVICE;
		return ret < 0 ? ret : ret ? 0 : -ENODEV;
	}
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= P2P_NAME)
		return -ENOENT;
	if (number(name) >= 0)
		return read_ctrl(sysfs, name, ctrl, reason);
	return find_node(sysfs, name, ctrl, reason);
}
