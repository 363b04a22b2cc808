/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: steps in configfs, what the kernel says when it refuses one, and how they are undone. */
#define _GNU_SOURCE
#include "target.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum step { STEP_MKDIR, STEP_LINK, STEP_WRITE };

struct tg_undo {
	struct tg_undo *next;
	enum step step;
	char *path, *old;
};

char *tg_path(const struct target *g, char *buf, const char *fmt, ...)
{
	int n = snprintf(buf, TG_PATH, "%s/", g->cfs), m;
	va_list ap;

	va_start(ap, fmt);
	m = vsnprintf(buf + n, (size_t)(TG_PATH - n), fmt, ap);
	va_end(ap);
	if (m < 0 || n + m >= TG_PATH)
		buf[0] = 0;
	return buf;
}

static void trim(char *s)
{
	size_t n = strlen(s), start = strspn(s, " \t\n");

	while (n > start && isspace((unsigned char)s[n - 1]))
		n--;
	memmove(s, s + start, n - start);
	s[n - start] = 0;
}

int tg_read(const char *path, char *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	buf[0] = 0;
	if (fd < 0)
		return -errno;
	got = read(fd, buf, n - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	buf[got > 0 ? got : 0] = 0;
	trim(buf);
	return got < 0 ? (int)got : (int)strlen(buf);
}

bool tg_exists(const char *path)
{
	return *path && !access(path, F_OK);
}

/* ---- Why ---- */

/* The last line of the kernel's log since it was looked at last that is about what we do. */
static bool kernel_says(struct target *g, char *buf, size_t n)
{
	char own[48];
	const char *const marks[] = { own, "nvmet: ", "nvmet_" };
	char record[2048], *text, *end;
	ssize_t got;

	snprintf(own, sizeof(own), "%s: ", g->module);
	buf[0] = 0;
	for (;;) {
		got = g->kmsg < 0 ? 0 : read(g->kmsg, record, sizeof(record) - 1);
		if (got < 0 && errno == EPIPE)
			continue;
		if (got <= 0)
			break;
		record[got] = 0;
		text = strchr(record, ';');
		end = text ? strchr(text, '\n') : NULL;
		if (!end)
			continue;
		*end = 0;
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (!strncmp(text + 1, marks[i], strlen(marks[i])))
				snprintf(buf, n, "%s", text + 1);
	}
	return *buf;
}

static void forget_log(struct target *g)
{
	if (g->kmsg >= 0)
		lseek(g->kmsg, 0, SEEK_END);
}

/* explained: the kernel has said more than an errno can. */
static const char *advice(int err, bool explained)
{
	switch (err) {
	case EADDRINUSE:
		return " (another port or program has that address: choose another one)";
	case EADDRNOTAVAIL:
		return " (this machine does not have that address: see ip address)";
	default:
		break;
	}
	if (explained)
		return "";
	switch (err) {
	case EACCES:
	case EPERM:
		return " (only root may do that)";
	case ENOENT:
		return " (this kernel does not have it)";
	case EINVAL:
	case EBUSY:
		return " (dmesg may tell why)";
	default:
		return "";
	}
}

static int failed(struct target *g, const char *path, const char *doing, int err)
{
	const char *shown = strncmp(path, g->cfs, strlen(g->cfs)) ? path : path + strlen(g->cfs) + 1;
	char why[512];

	if (kernel_says(g, why, sizeof(why)))
		tool_error(g->t, shown, "%s: %s%s; the kernel says: %s", doing, strerror(err), advice(err, true), why);
	else
		tool_error(g->t, shown, "%s: %s%s", doing, strerror(err), advice(err, false));
	return err == EBUSY ? TOOL_BUSY : err == ENODEV || err == ENXIO ? TOOL_NODEV : TOOL_FAILED;
}

/* ---- Steps ---- */

static int note(struct target *g, enum step step, const char *path, const char *old)
{
	struct tg_undo *u = calloc(1, sizeof(*u));

	if (u) {
		u->path = strdup(path);
		u->old = old ? strdup(old) : NULL;
	}
	if (!u || !u->path || (old && !u->old)) {
		if (u)
			free(u->path);
		free(u);
		return tool_error(g->t, path, "%s", strerror(ENOMEM));
	}
	u->step = step;
	u->next = g->undo;
	g->undo = u;
	return 0;
}

int tg_mkdir(struct target *g, const char *path)
{
	forget_log(g);
	if (mkdir(path, 0755))
		return failed(g, path, "mkdir", errno);
	return note(g, STEP_MKDIR, path, NULL);
}

int tg_rmdir(struct target *g, const char *path)
{
	forget_log(g);
	return rmdir(path) && errno != ENOENT ? failed(g, path, "rmdir", errno) : 0;
}

int tg_link(struct target *g, const char *target, const char *path)
{
	forget_log(g);
	if (symlink(target, path))
		return failed(g, path, "symlink", errno);
	return note(g, STEP_LINK, path, NULL);
}

int tg_unlink(struct target *g, const char *path)
{
	forget_log(g);
	return unlink(path) && errno != ENOENT ? failed(g, path, "unlink", errno) : 0;
}

static int write_text(const char *path, const char *value)
{
	char line[TG_VALUE + 2];
	int n = snprintf(line, sizeof(line), "%s\n", value), fd, err = 0;

	if (n < 0 || (size_t)n >= sizeof(line))
		return E2BIG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (write(fd, line, (size_t)n) != n)
		err = errno ? errno : EIO;
	if (close(fd) && !err)
		err = errno;
	return err;
}

int tg_write(struct target *g, const char *path, const char *value)
{
	char old[TG_VALUE], doing[128];
	int err, got = tg_read(path, old, sizeof(old));

	if (got >= 0 && !strcmp(old, value))
		return 0;
	forget_log(g);
	errno = 0;
	err = write_text(path, value);
	if (err) {
		snprintf(doing, sizeof(doing), "write '%.80s'", value);
		return failed(g, path, doing, err);
	}
	return note(g, STEP_WRITE, path, got > 0 ? old : "");
}

/* ---- Undoing ---- */

/* What is in a directory that goes need not get its old value; but what is enabled must be disabled first. */
static bool goes(const struct target *g, const struct tg_undo *u)
{
	const char *base = strrchr(u->path, '/');

	if (base && !strcmp(base, "/enable"))
		return false;
	for (const struct tg_undo *d = g->undo; d; d = d->next)
		if (d->step == STEP_MKDIR && !strncmp(u->path, d->path, strlen(d->path)) && u->path[strlen(d->path)] == '/')
			return true;
	return false;
}

static void undo_one(struct target *g, const struct tg_undo *u)
{
	int err = 0;

	if (u->step == STEP_MKDIR)
		err = rmdir(u->path) ? errno : 0;
	else if (u->step == STEP_LINK)
		err = unlink(u->path) ? errno : 0;
	else if (!goes(g, u))
		err = write_text(u->path, u->old);
	if (err && err != ENOENT)
		tool_error(g->t, u->path, "could not be undone: %s", strerror(err));
}

static void drop(struct target *g)
{
	struct tg_undo *u = g->undo;

	g->undo = u->next;
	free(u->path);
	free(u->old);
	free(u);
}

void tg_rollback(struct target *g)
{
	bool any = g->undo;

	while (g->undo) {
		undo_one(g, g->undo);
		drop(g);
	}
	if (any)
		tool_warning(g->t, NULL, "what had been done before that was undone");
}

void tg_keep(struct target *g)
{
	while (g->undo)
		drop(g);
}

/* ---- Directories ---- */

static int natural(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void tg_list(const char *path, struct tg_names *names)
{
	DIR *d = opendir(path);
	struct dirent *e;

	memset(names, 0, sizeof(*names));
	while (d && (e = readdir(d))) {
		char **v, *copy;

		if (e->d_name[0] == '.')
			continue;
		v = realloc(names->v, (names->n + 1) * sizeof(*v));
		copy = strdup(e->d_name);
		if (!v || !copy) {
			free(copy);
			names->v = v ? v : names->v;
			break;
		}
		names->v = v;
		names->v[names->n++] = copy;
	}
	if (d)
		closedir(d);
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), natural);
}

void tg_list_free(struct tg_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	memset(names, 0, sizeof(*names));
}
