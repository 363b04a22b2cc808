// SPDX-License-Identifier: BSD-2-Clause
/* The device file of nvme-accel-p2pdma. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "p2p.h"

static int system_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int system_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static void system_close(int fd)
{
	close(fd);
}

static void *system_map(int fd, uint64_t off, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);

	return p == MAP_FAILED ? NULL : p;
}

const struct p2p_sys p2p_system = { system_open, system_ioctl, system_close, system_map };

int p2p_module_call(const struct p2p_module *m, unsigned long request, void *arg)
{
	return m->fd < 0 ? -ENOENT : m->sys->ioctl(m->fd, request, arg);
}

int p2p_module_open(struct p2p_module *m, const struct p2p_sys *sys, const char *path)
{
	int ret;

	memset(m, 0, sizeof(*m));
	m->sys = sys;
	m->fd = sys->open(path);
	if (m->fd < 0)
		return m->fd;
	ret = p2p_module_call(m, NVME_ACCEL_P2P_GET_INFO, &m->info);
	if (!ret && m->info.version != NVME_ACCEL_P2P_VERSION)
		ret = -EPROTO;
	if (ret == -ENOTTY)
		ret = -EPROTO;
	if (ret)
		p2p_module_close(m);
	return ret;
}

void p2p_module_close(struct p2p_module *m)
{
	if (m->fd >= 0)
		m->sys->close(m->fd);
	m->fd = -1;
}

int p2p_module_next(const struct p2p_module *m, struct nvme_accel_p2p_provider *p)
{
	uint32_t last = p->id;
	int ret;

	memset(p, 0, sizeof(*p));
	p->id = last;
	ret = p2p_module_call(m, NVME_ACCEL_P2P_PROVIDER, p);
	p->pci[sizeof(p->pci) - 1] = p->ctrl[sizeof(p->ctrl) - 1] = '\0';
	/* Whoever answered with the same one again would be asked for ever. */
	return ret ? ret : p->id > last ? 0 : -ENOENT;
}

int p2p_module_provider(const struct p2p_module *m, const char *name, struct nvme_accel_p2p_provider *p)
{
	int ret;

	memset(p, 0, sizeof(*p));
	while (!(ret = p2p_module_next(m, p)))
		if (!strcasecmp(p->pci, name) || !strcmp(p->ctrl, name))
			return 0;
	return ret;
}

int p2p_module_verdict(const struct p2p_module *m, uint32_t provider, int fd, const char *address, bool test,
		       struct nvme_accel_p2p_verdict *v)
{
	int ret;

	memset(v, 0, sizeof(*v));
	v->provider = provider;
	v->fd = fd;
	v->flags = test ? NVME_ACCEL_P2P_VERDICT_TEST : 0;
	if (fd < 0 && address)
		strncpy(v->pci, address, sizeof(v->pci) - 1);
	ret = p2p_module_call(m, NVME_ACCEL_P2P_VERDICT, v);
	v->pci[sizeof(v->pci) - 1] = v->common[sizeof(v->common) - 1] = v->acs_at[sizeof(v->acs_at) - 1] = '\0';
	v->text[sizeof(v->text) - 1] = '\0';
	return ret;
}
