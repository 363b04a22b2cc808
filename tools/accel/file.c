/* SPDX-License-Identifier: BSD-2-Clause */
/* Input files. */
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int open_stdin(struct tool *t, struct file_in *in)
{
	in->is_stdin = true;
	in->name = "stdin";
	in->fd = STDIN_FILENO;
	if (fstat(in->fd, &in->st))
		return tool_file_error(t, in->name, NULL, errno);
	return 0;
}

/* What gzip only skips, with a warning, so that `accel compress *` goes on. */
static int check_kind(struct tool *t, unsigned int flags, const struct file_in *in)
{
	if (S_ISDIR(in->st.st_mode))
		return tool_warning(t, in->name, "is a directory: skipped");
	if (flags & FILE_REGULAR && !S_ISREG(in->st.st_mode))
		return tool_warning(t, in->name, "is no regular file: skipped (standard input may be any file)");
	if (flags & FILE_ONE_LINK && in->st.st_nlink > 1)
		return tool_warning(t, in->name, "has %lu other hard link%s: skipped (-f or -k goes on)",
				    (unsigned long)in->st.st_nlink - 1, in->st.st_nlink > 2 ? "s" : "");
	return 0;
}

int file_open(struct tool *t, const char *path, unsigned int flags, struct file_in *in)
{
	int rc;

	memset(in, 0, sizeof(*in));
	if (!strcmp(path, "-"))
		return open_stdin(t, in);
	in->name = path;
	/* O_NONBLOCK: a FIFO without a writer must not hold us before it is known to be one. */
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (flags & FILE_REGULAR ? O_NONBLOCK : 0) |
				    (flags & FILE_NOFOLLOW ? O_NOFOLLOW : 0));
	if (in->fd < 0 && errno == ELOOP && flags & FILE_NOFOLLOW)
		return tool_error(t, path, "is a symbolic link (-c or -f follows it)");
	if (in->fd < 0)
		return tool_file_error(t, path, NULL, errno);
	rc = fstat(in->fd, &in->st) ? tool_file_error(t, path, NULL, errno) : check_kind(t, flags, in);
	if (rc) {
		file_close(in);
		return rc;
	}
	posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

/* The head that file_peek() read comes first. */
static size_t take_head(struct file_in *in, void *buf, size_t n)
{
	size_t left = in->nhead - in->head_used;

	n = n < left ? n : left;
	memcpy(buf, in->head + in->head_used, n);
	in->head_used += (unsigned int)n;
	return n;
}

ssize_t file_peek(struct tool *t, struct file_in *in, const uint8_t **head)
{
	if (!in->nhead) {
		ssize_t got = file_read(t, in, in->head, sizeof(in->head));

		if (got < 0)
			return -1;
		in->nhead = (unsigned int)got;
	}
	*head = in->head;
	return (ssize_t)in->nhead;
}

/* n bytes, fewer only at the end of the file; off NULL: from where the file is, as a pipe must be read. */
static ssize_t read_all(struct tool *t, struct file_in *in, char *buf, size_t n, const uint64_t *off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = off ? pread(in->fd, buf + done, n - done, (off_t)(*off + done)) :
				    read(in->fd, buf + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			tool_file_error(t, in->name, "read", errno);
			return -1;
		}
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

ssize_t file_read(struct tool *t, struct file_in *in, void *buf, size_t n)
{
	/* file_peek() reads into the head itself, which is empty then. */
	size_t head = in->nhead ? take_head(in, buf, n) : 0;
	ssize_t got = read_all(t, in, (char *)buf + head, n - head, NULL);

	return got < 0 ? got : (ssize_t)head + got;
}

ssize_t file_pread(struct tool *t, struct file_in *in, void *buf, size_t n, uint64_t off)
{
	return read_all(t, in, buf, n, &off);
}

void file_close(struct file_in *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	in->fd = -1;
}
