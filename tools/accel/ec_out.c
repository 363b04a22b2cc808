/* SPDX-License-Identifier: BSD-2-Clause */
#include "ec_out.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int ec_out_create(struct tool *t, struct ec_out *o, unsigned int index, const char *path, unsigned int flags)
{
	struct stat st;

	/* Not even opened: a FIFO would make us wait for its reader, with signals held back. */
	if (!stat(path, &st) && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return tool_error(t, path, "is no regular file");
	return file_create(t, path, flags | OUT_NO_ASK, &o->file[index]);
}

static int write_all(struct tool *t, struct file_out *f, struct iovec *iov, int niov, uint64_t off)
{
	while (niov) {
		ssize_t n = pwritev(f->fd, iov, niov, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tool_file_error(t, f->path, "write", errno);
		off += (uint64_t)n;
		while (niov && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			niov--;
		}
		if (niov) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

int ec_out_block(struct tool *t, struct ec_out *o, const struct ec_stripe *s, unsigned int index)
{
	uint8_t check[EC_CHECK_NBYTES];
	struct iovec iov[2] = { { ec_block(s, index), s->len }, { check, sizeof(check) } };

	memcpy(check, s->check[index], sizeof(check));
	return write_all(t, &o->file[index], iov, 2, ec_block_off(&s->walk->head, s->index));
}

static int write_heads(struct tool *t, struct file_out *f, const struct ec_head *head, unsigned int index)
{
	uint64_t end = ec_shard_nbytes(head) - EC_HEAD_NBYTES;
	uint8_t page[EC_HEAD_NBYTES];
	struct ec_head h = *head;
	struct iovec iov = { page, sizeof(page) };
	int rc;

	h.index = (uint8_t)index;
	ec_head_encode(&h, page);
	rc = write_all(t, f, &iov, 1, 0);
	iov = (struct iovec){ page, sizeof(page) };
	return rc ? rc : write_all(t, f, &iov, 1, end);
}

static int commit_one(struct tool *t, struct ec_out *o, unsigned int i, const struct stat *like)
{
	char *name = o->file[i].replace ? NULL : strdup(o->file[i].path);
	int rc = file_commit(t, &o->file[i], like, 0);

	if (rc) {
		free(name);
		return rc;
	}
	o->done[i] = name;
	return 0;
}

int ec_out_commit(struct tool *t, struct ec_out *o, const struct ec_head *head, const struct stat *like)
{
	int rc = 0;

	for (unsigned int i = 0; i < EC_SHARDS_MAX && !rc; i++)
		if (o->file[i].path)
			rc = write_heads(t, &o->file[i], head, i);
	for (unsigned int i = 0; i < EC_SHARDS_MAX && !rc; i++)
		if (o->file[i].path)
			rc = commit_one(t, o, i, like);
	for (unsigned int i = 0; i < EC_SHARDS_MAX; i++) {
		if (o->done[i] && rc)
			unlink(o->done[i]);
		free(o->done[i]);
		o->done[i] = NULL;
	}
	return rc;
}

void ec_out_abort(struct ec_out *o)
{
	for (unsigned int i = 0; i < EC_SHARDS_MAX; i++)
		file_abort(&o->file[i]);
}
