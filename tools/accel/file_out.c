/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output files. Nothing stands under the final name before it is whole: data goes to a temporary file in
 * the same directory, every write and the close are checked, then it is renamed.
 */
#define _GNU_SOURCE
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * The temporary file that a signal must remove. The one place where the command needs state that is not
 * an argument: a handler gets none. Written with signals blocked.
 */
static struct {
	volatile sig_atomic_t active;
	int dirfd;
	char name[32];
} pending;

static const int fatal_signals[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };
#define NFATAL (sizeof(fatal_signals) / sizeof(fatal_signals[0]))

static void on_fatal(int sig)
{
	if (pending.active) {
		pending.active = 0;
		unlinkat(pending.dirfd, pending.name, 0);
	}
	/* The handler was installed with SA_RESETHAND: this ends the process as the signal would have. */
	raise(sig);
}

void file_signals(void)
{
	struct sigaction sa = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND }, old;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < NFATAL; i++)
		sigaddset(&sa.sa_mask, fatal_signals[i]);
	for (size_t i = 0; i < NFATAL; i++)
		if (!sigaction(fatal_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(fatal_signals[i], &sa, NULL);
}

static void set_pending(const struct file_out *out)
{
	sigset_t set, old;

	sigemptyset(&set);
	for (size_t i = 0; i < NFATAL; i++)
		sigaddset(&set, fatal_signals[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	pending.active = out != NULL;
	if (out) {
		pending.dirfd = out->dirfd;
		memcpy(pending.name, out->tmp, sizeof(pending.name));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void drop(struct file_out *out)
{
	if (out->fd > STDERR_FILENO)
		close(out->fd);
	if (out->dirfd > STDERR_FILENO)
		close(out->dirfd);
	free(out->path);
	free(out->base);
	memset(out, 0, sizeof(*out));
	out->fd = out->dirfd = -1;
}

void file_abort(struct file_out *out)
{
	/* Zeroed by the caller and never opened. */
	if (!out->path)
		return;
	if (out->tmp[0]) {
		unlinkat(out->dirfd, out->tmp, 0);
		set_pending(NULL);
	}
	drop(out);
}

static int create_stdout(struct tool *t, unsigned int flags, struct file_out *out)
{
	out->is_stdout = out->direct = true;
	out->fd = STDOUT_FILENO;
	out->path = strdup("stdout");
	if (!out->path)
		return tool_file_error(t, "stdout", NULL, ENOMEM);
	if (flags & OUT_BINARY && !(flags & OUT_FORCE) && isatty(out->fd)) {
		tool_error(t, "stdout", "will not write binary data to a terminal (-f forces it)");
		drop(out);
		return TOOL_FAILED;
	}
	return 0;
}

/* Splits path into a directory, opened, and a last component. */
static int open_dir(struct tool *t, const char *path, struct file_out *out)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	int err;

	out->path = strdup(path);
	out->base = strdup(base);
	if (!dir || !out->path || !out->base) {
		free(dir);
		return tool_file_error(t, path, NULL, ENOMEM);
	}
	out->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A directory that may be written but not read is rare but legal. */
	if (out->dirfd < 0 && errno == EACCES)
		out->dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = errno;
	if (out->dirfd < 0)
		tool_file_error(t, dir, NULL, err);
	free(dir);
	if (out->dirfd < 0)
		return TOOL_FAILED;
	if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
		return tool_file_error(t, path, NULL, EISDIR);
	return 0;
}

/* "y" typed at a terminal. */
static bool ask(const struct tool *t, const char *path)
{
	char line[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fprintf(stderr, "%s: %s exists already; replace it (y or n)? ", t->name, path);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* There is something under the name. 0: go on, to replace it or (out->direct) to write into it. */
static int existing(struct tool *t, const char *path, unsigned int flags, const struct stat *st,
		    struct file_out *out)
{
	struct stat target = *st;

	if (S_ISLNK(st->st_mode) && fstatat(out->dirfd, out->base, &target, 0))
		target = *st;
	if (S_ISDIR(target.st_mode))
		return tool_file_error(t, path, NULL, EISDIR);
	if (S_ISBLK(target.st_mode))
		return tool_error(t, path, "is a block device: not written");
	if (S_ISCHR(target.st_mode) || S_ISFIFO(target.st_mode)) {
		out->direct = true;
		return 0;
	}
	out->replace = true;
	if (flags & OUT_FORCE || (!(flags & OUT_NO_ASK) && ask(t, path)))
		return 0;
	return tool_error(t, path, "exists already (-f replaces it)");
}

static int create_tmp(struct tool *t, struct file_out *out)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t r;

		if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
			return tool_file_error(t, out->path, "getrandom", errno);
		snprintf(out->tmp, sizeof(out->tmp), ".accel-%012llx.tmp",
			 (unsigned long long)(r & 0xffffffffffff));
		out->fd = openat(out->dirfd, out->tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				 0600);
		if (out->fd >= 0) {
			set_pending(out);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	out->tmp[0] = 0;
	return tool_file_error(t, out->path, "create", errno);
}

int file_create(struct tool *t, const char *path, unsigned int flags, struct file_out *out)
{
	struct stat st;
	int rc;

	memset(out, 0, sizeof(*out));
	out->fd = out->dirfd = -1;
	if (!path || !strcmp(path, "-"))
		return create_stdout(t, flags, out);
	rc = open_dir(t, path, out);
	if (!rc && !fstatat(out->dirfd, out->base, &st, AT_SYMLINK_NOFOLLOW))
		rc = existing(t, path, flags, &st, out);
	else if (!rc && errno != ENOENT)
		rc = tool_file_error(t, path, NULL, errno);
	if (!rc && out->direct) {
		out->fd = openat(out->dirfd, out->base, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		if (out->fd < 0)
			rc = tool_file_error(t, path, NULL, errno);
	} else if (!rc) {
		rc = create_tmp(t, out);
	}
	if (rc)
		drop(out);
	return rc;
}

int file_write(struct tool *t, struct file_out *out, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t put = write(out->fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return tool_file_error(t, out->path, "write", errno);
		p += put;
		n -= (size_t)put;
		out->nbytes += (size_t)put;
	}
	return 0;
}

/* Owner first: fchown() clears the set-id bits that fchmod() then must not give to the wrong owner. */
static void copy_attributes(struct tool *t, struct file_out *out, const struct stat *like)
{
	struct timespec times[2];
	mode_t mode;

	if (!like) {
		mode_t mask = umask(0);

		umask(mask);
		if (fchmod(out->fd, 0666 & ~mask))
			tool_warning(t, out->path, "mode: %s", strerror(errno));
		return;
	}
	mode = like->st_mode & 0777;
	if (fchown(out->fd, (uid_t)-1, like->st_gid))
		mode &= 0707;
	if (fchown(out->fd, like->st_uid, (gid_t)-1) && errno != EPERM)
		tool_warning(t, out->path, "owner: %s", strerror(errno));
	if (fchmod(out->fd, mode))
		tool_warning(t, out->path, "mode: %s", strerror(errno));
	times[0] = like->st_atim;
	times[1] = like->st_mtim;
	if (futimens(out->fd, times))
		tool_warning(t, out->path, "time: %s", strerror(errno));
}

/* Gives the temporary file its name. Without replace, a file that appeared meanwhile is not overwritten. */
static int give_name(struct file_out *out)
{
	if (out->replace)
		return renameat(out->dirfd, out->tmp, out->dirfd, out->base) ? errno : 0;
	if (!renameat2(out->dirfd, out->tmp, out->dirfd, out->base, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* A file system without RENAME_NOREPLACE: link() refuses an existing name too. */
	if (linkat(out->dirfd, out->tmp, out->dirfd, out->base, 0))
		return errno;
	unlinkat(out->dirfd, out->tmp, 0);
	return 0;
}

static int commit_tmp(struct tool *t, struct file_out *out, const struct stat *like, unsigned int flags)
{
	int err;

	copy_attributes(t, out, like);
	if (flags & OUT_SYNC && fsync(out->fd))
		return tool_file_error(t, out->path, "fsync", errno);
	err = close(out->fd) ? errno : 0;
	out->fd = -1;
	if (err)
		return tool_file_error(t, out->path, "close", err);
	err = give_name(out);
	if (err)
		return tool_file_error(t, out->path, "rename", err);
	out->tmp[0] = 0;
	set_pending(NULL);
	if (flags & OUT_SYNC && fsync(out->dirfd))
		return tool_file_error(t, out->path, "fsync of its directory", errno);
	return 0;
}

int file_commit(struct tool *t, struct file_out *out, const struct stat *like, unsigned int flags)
{
	int rc = 0;

	if (!out->direct) {
		rc = commit_tmp(t, out, like, flags);
	} else if (out->is_stdout) {
		/* Network file systems report a failed write only at close: ask without losing the fd. */
		int fd = dup(out->fd);

		if (fd >= 0 && close(fd))
			rc = tool_file_error(t, out->path, "close", errno);
	} else if (close(out->fd)) {
		out->fd = -1;
		rc = tool_file_error(t, out->path, "close", errno);
	} else {
		out->fd = -1;
	}
	file_abort(out);
	return rc;
}
