/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accel target: what is ours. A subsystem is if its passthru device is one of our controllers. What else we make in the
 * inbox target's tree (ports, hosts, and subsystems whose controller has gone) cannot be told from others' there, so it
 * is noted in /run: a file for each, with the number of its directory's inode, which another one of that name does not have.
 */
#include "target.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir_of(const char *kind)
{
	return !strcmp(kind, "port") ? "ports" : !strcmp(kind, "host") ? "hosts" : "subsystems";
}

static void note_path(const struct target *g, const char *kind, const char *name, char *path)
{
	snprintf(path, TG_PATH, "%s/%s-%s", g->run, kind, name);
}

/* configfs gives a new directory a new inode, whatever its name. */
static bool stamp(const struct target *g, const char *kind, const char *name, char *buf, size_t n)
{
	char path[TG_PATH];
	struct stat st;

	if (stat(tg_path(g, path, "nvmet/%s/%s", dir_of(kind), name), &st))
		return false;
	snprintf(buf, n, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return true;
}

int tg_own(struct target *g, const char *kind, const char *name, const char *note)
{
	char path[TG_PATH], text[256], id[64];
	int fd, n;

	note_path(g, kind, name, path);
	if (!stamp(g, kind, name, id, sizeof(id)))
		return tool_error(g->t, name, "%s: %s", kind, strerror(errno));
	n = snprintf(text, sizeof(text), "%s %s\n", id, note);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n) {
		tool_error(g->t, path, "write: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return TOOL_FAILED;
	}
	close(fd);
	return 0;
}

bool tg_is_own(struct target *g, const char *kind, const char *name, char *note, size_t n)
{
	char path[TG_PATH], text[256], id[64];
	char *blank;

	note_path(g, kind, name, path);
	if (tg_read(path, text, sizeof(text)) <= 0)
		return false;
	blank = strchr(text, ' ');
	if (blank)
		*blank = 0;
	if (!stamp(g, kind, name, id, sizeof(id)) || strcmp(id, text)) {
		/* Left by one that has gone. */
		if (g->lock >= 0)
			unlink(path);
		return false;
	}
	if (note)
		snprintf(note, n, "%s", blank ? blank + 1 : "");
	return true;
}

bool tg_ctrl_device(struct target *g, const char *ctrl, char *dev, size_t n)
{
	char path[TG_PATH], name[64];

	if (tg_read(tg_path(g, path, TG_MODULE "/%s/device", ctrl), name, sizeof(name)) <= 0)
		return false;
	snprintf(dev, n, "/dev/%s", name);
	return true;
}

bool tg_export_of(struct target *g, const char *nqn, char *ctrl, size_t n)
{
	char path[TG_PATH], device[TG_VALUE], dev[80];
	struct tg_names names;
	bool found = false;

	/* What we noted is certain; a path may be that of a controller that had this nvmeX before. */
	if (tg_is_own(g, "subsystem", nqn, ctrl, n))
		return true;
	tg_path(g, path, "nvmet/subsystems/%s/passthru/device_path", nqn);
	if (tg_read(path, device, sizeof(device)) <= 0)
		device[0] = 0;
	tg_list(tg_path(g, path, TG_MODULE), &names);
	for (size_t i = 0; i < names.n && !found; i++) {
		if (!tg_ctrl_device(g, names.v[i], dev, sizeof(dev)) || strcmp(dev, device))
			continue;
		found = true;
		snprintf(ctrl, n, "%s", names.v[i]);
	}
	tg_list_free(&names);
	return found;
}
