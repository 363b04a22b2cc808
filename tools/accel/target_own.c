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

#define MAKING "making"		/* instead of the inode's number, until it is there */

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

static int write_note(struct target *g, const char *path, const char *id, const char *note)
{
	char text[256];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int n = snprintf(text, sizeof(text), "%s %s\n", id, note);

	if (fd < 0 || write(fd, text, (size_t)n) != n) {
		tool_error(g->t, path, "write: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return TOOL_FAILED;
	}
	close(fd);
	return 0;
}

int tg_own(struct target *g, const char *kind, const char *name, const char *note)
{
	char path[TG_PATH], id[64];

	note_path(g, kind, name, path);
	if (!stamp(g, kind, name, id, sizeof(id)))
		return tool_error(g->t, name, "%s: %s", kind, strerror(errno));
	return write_note(g, path, id, note);
}

int tg_mkdir_own(struct target *g, const char *kind, const char *name, const char *note)
{
	char path[TG_PATH], dir[TG_PATH];
	int rc;

	/* Who is killed between the two steps has said whose it is. */
	note_path(g, kind, name, path);
	rc = write_note(g, path, MAKING, note);
	if (rc)
		return rc;
	rc = tg_mkdir(g, tg_path(g, dir, "nvmet/%s/%s", dir_of(kind), name));
	if (!rc)
		return tg_own(g, kind, name, note);
	unlink(path);
	return rc;
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
	if (!stamp(g, kind, name, id, sizeof(id)) || (strcmp(id, text) && strcmp(text, MAKING))) {
		/* Left by one that has gone. */
		if (g->lock >= 0)
			unlink(path);
		return false;
	}
	if (note)
		snprintf(note, n, "%s", blank ? blank + 1 : "");
	/* By now it is known which one it is. */
	if (!strcmp(text, MAKING) && g->lock >= 0)
		tg_own(g, kind, name, blank ? blank + 1 : "-");
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

void tg_forget_gone(struct target *g)
{
	static const char *const kinds[] = { "subsystem", "port", "host" };
	struct tg_names notes;
	char path[TG_PATH];

	if (!tg_exists(tg_path(g, path, "nvmet")))
		return;
	tg_list(g->run, &notes);
	for (size_t i = 0; i < notes.n; i++)
		for (size_t k = 0; k < 3; k++) {
			size_t n = strlen(kinds[k]);

			if (!strncmp(notes.v[i], kinds[k], n) && notes.v[i][n] == '-')
				tg_is_own(g, kinds[k], notes.v[i] + n + 1, NULL, 0);
		}
	tg_list_free(&notes);
}
