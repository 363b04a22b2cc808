/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: takes away exports and controllers; of the inbox target's tree only what is ours. */
#include "target.h"
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From all ports; a port of ours goes with the last subsystem on it. */
static int close_ports(struct target *g, const char *nqn)
{
	char path[TG_PATH + 64];
	struct tg_names ports, left;
	int rc = 0;

	tg_list(tg_path(g, path, "nvmet/ports"), &ports);
	for (size_t i = 0; i < ports.n && !rc; i++) {
		if (!tg_exists(tg_path(g, path, "nvmet/ports/%s/subsystems/%s", ports.v[i], nqn)))
			continue;
		rc = tg_unlink(g, path);
		tg_list(tg_path(g, path, "nvmet/ports/%s/subsystems", ports.v[i]), &left);
		if (!rc && !left.n && tg_is_own(g, "port", ports.v[i], NULL, 0))
			rc = tg_rmdir(g, tg_path(g, path, "nvmet/ports/%s", ports.v[i]));
		tg_list_free(&left);
	}
	tg_list_free(&ports);
	return rc;
}

static bool host_used(struct target *g, const char *host)
{
	char path[TG_PATH];
	struct tg_names subsys;
	bool used = false;

	tg_list(tg_path(g, path, "nvmet/subsystems"), &subsys);
	for (size_t i = 0; i < subsys.n && !used; i++)
		used = tg_exists(tg_path(g, path, "nvmet/subsystems/%s/allowed_hosts/%s", subsys.v[i], host));
	tg_list_free(&subsys);
	return used;
}

static int drop_subsys(struct target *g, const char *nqn)
{
	char path[TG_PATH];
	struct tg_names hosts;
	int rc = close_ports(g, nqn);

	tg_list(tg_path(g, path, "nvmet/subsystems/%s/allowed_hosts", nqn), &hosts);
	for (size_t i = 0; i < hosts.n && !rc; i++)
		rc = tg_unlink(g, tg_path(g, path, "nvmet/subsystems/%s/allowed_hosts/%s", nqn, hosts.v[i]));
	if (!rc && tg_exists(tg_path(g, path, "nvmet/subsystems/%s/passthru/enable", nqn)))
		rc = tg_write(g, path, "0");
	rc = rc ? rc : tg_rmdir(g, tg_path(g, path, "nvmet/subsystems/%s", nqn));
	for (size_t i = 0; i < hosts.n && !rc; i++)
		if (!host_used(g, hosts.v[i]) && tg_is_own(g, "host", hosts.v[i], NULL, 0))
			rc = tg_rmdir(g, tg_path(g, path, "nvmet/hosts/%s", hosts.v[i]));
	tg_list_free(&hosts);
	return rc;
}

/* The names of nvmet/DIR that are ours and for which unused() holds go. */
static void sweep(struct target *g, const char *kind, const char *dir, bool (*unused)(struct target *g, const char *name))
{
	char path[TG_PATH];
	struct tg_names names;

	tg_list(tg_path(g, path, "nvmet/%s", dir), &names);
	for (size_t i = 0; i < names.n; i++) {
		if (!tg_is_own(g, kind, names.v[i], NULL, 0) || !unused(g, names.v[i]))
			continue;
		if (!strcmp(kind, "subsystem"))
			drop_subsys(g, names.v[i]);
		else
			tg_rmdir(g, tg_path(g, path, "nvmet/%s/%s", dir, names.v[i]));
	}
	tg_list_free(&names);
}

static bool no_ctrl(struct target *g, const char *nqn)
{
	char path[TG_PATH], ctrl[64];

	return tg_is_own(g, "subsystem", nqn, ctrl, sizeof(ctrl)) && !tg_exists(tg_path(g, path, TG_MODULE "/%s", ctrl));
}

static bool empty_port(struct target *g, const char *id)
{
	char path[TG_PATH];
	struct tg_names on;
	bool none;

	tg_list(tg_path(g, path, "nvmet/ports/%s/subsystems", id), &on);
	none = !on.n;
	tg_list_free(&on);
	return none;
}

static bool idle_host(struct target *g, const char *host)
{
	return !host_used(g, host);
}

void tg_sweep(struct target *g)
{
	tg_forget_gone(g);
	sweep(g, "subsystem", "subsystems", no_ctrl);
	sweep(g, "port", "ports", empty_port);
	sweep(g, "host", "hosts", idle_host);
	tg_keep(g);
}

int tg_unexport(struct target *g, const char *ctrl)
{
	char path[TG_PATH], of[64];
	struct tg_names subsys;
	int rc = 0;

	tg_list(tg_path(g, path, "nvmet/subsystems"), &subsys);
	for (size_t i = 0; i < subsys.n && !rc; i++)
		if (tg_export_of(g, subsys.v[i], of, sizeof(of)) && !strcmp(of, ctrl))
			rc = drop_subsys(g, subsys.v[i]);
	tg_list_free(&subsys);
	/* What is gone cannot be undone. */
	tg_keep(g);
	return rc;
}

int tg_delete(struct target *g, const char *ctrl)
{
	char path[TG_PATH];
	struct tg_names ns;
	int rc;

	rc = tg_write(g, tg_path(g, path, TG_MODULE "/%s/enable", ctrl), "0");
	tg_list(tg_path(g, path, TG_MODULE "/%s/namespaces", ctrl), &ns);
	for (size_t i = 0; i < ns.n && !rc; i++)
		rc = tg_rmdir(g, tg_path(g, path, TG_MODULE "/%s/namespaces/%s", ctrl, ns.v[i]));
	tg_list_free(&ns);
	rc = rc ? rc : tg_rmdir(g, tg_path(g, path, TG_MODULE "/%s", ctrl));
	tg_keep(g);
	return rc;
}

/* The kernel gives a block device exclusively to mounts, device mapper, md, swap: then we do not get it. */
static bool claimed(const char *node)
{
	int fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

int tg_in_use(struct target *g, const char *ctrl, uint32_t nsid)
{
	char dev[80], path[TG_PATH + 64], text[64];
	struct tg_names names;
	int rc = 0;

	if (!tg_ctrl_device(g, ctrl, dev, sizeof(dev)))
		return 0;
	snprintf(path, sizeof(path), "%s/class/nvme/%s", g->sys, dev + 5);
	tg_list(path, &names);
	for (size_t i = 0; i < names.n && !rc; i++) {
		snprintf(path, sizeof(path), "%s/class/nvme/%s/%s/nsid", g->sys, dev + 5, names.v[i]);
		if (tg_read(path, text, sizeof(text)) <= 0 || (nsid && strtoul(text, NULL, 10) != nsid))
			continue;
		snprintf(path, sizeof(path), "%s/dev/%s", g->root, names.v[i]);
		if (!claimed(path))
			continue;
		tool_error(g->t, path, "is in use on this machine (mounted, swap, or below another device; --force takes it away "
			   "all the same)");
		rc = TOOL_BUSY;
	}
	tg_list_free(&names);
	return rc;
}
