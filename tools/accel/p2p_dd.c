/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy as dd does it with iflag=direct oflag=direct: one block is read, then written, then the next one. */
#define _GNU_SOURCE
#include "p2p.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK	(1u << 20)
#define ALIGN	4096u

static int move(int from, int to, uint8_t *buf, const struct p2p_operand *src, const struct p2p_operand *dst, uint64_t nbytes)
{
	for (uint64_t done = 0; done < nbytes;) {
		size_t n = nbytes - done < BLOCK ? (size_t)(nbytes - done) : BLOCK;
		ssize_t got = pread(from, buf, n, (off_t)(src->range.offset + done));

		if (got > 0)
			got = pwrite(to, buf, (size_t)got, (off_t)(dst->range.offset + done));
		if (got <= 0)
			return got ? -errno : -ENODATA;
		done += (uint64_t)got;
	}
	return fdatasync(to) ? -errno : 0;
}

int p2p_dd(const struct p2p_operand *src, const struct p2p_operand *dst, uint64_t nbytes)
{
	int from = open(src->own, O_RDONLY | O_DIRECT | O_CLOEXEC), rc = from < 0 ? -errno : 0;
	int to = rc ? -1 : open(dst->own, O_WRONLY | O_DIRECT | O_CLOEXEC);
	void *buf = NULL;

	if (!rc && to < 0)
		rc = -errno;
	if (!rc && posix_memalign(&buf, ALIGN, BLOCK))
		rc = -ENOMEM;
	if (!rc)
		rc = move(from, to, buf, src, dst, nbytes);
	free(buf);
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return rc;
}
