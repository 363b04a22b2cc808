// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a file's blocks are, so that devices can read and write them without the file system. That is right only while
 * they stay there and mean what they seem to:
 *
 *   file systems that write in place, ext4 and XFS, and no others (btrfs, F2FS, overlays move or compress);
 *   blocks that are allocated and written, not shared, compressed, encrypted, inline, or still in memory only;
 *   a lease on the file (fcntl(2), F_SETLEASE): a source that nobody has open for writing, a destination that nobody else
 *   has open at all. Who opens it meanwhile waits, and so do truncation and defragmentation, which open it, too;
 *   nothing of it in the page cache, which would hide what the devices write.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "p2p.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define BATCH		128u		/* extents a call */
#define PIECES_MAX	NVME_ACCEL_P2P_MAX_EXTENTS
#define LOOK_NBYTES	(256u << 20)	/* of a file's cache looked at a time */

const char *p2p_extent_refusal(uint32_t flags, bool write)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} bad[] = {
		{ FIEMAP_EXTENT_DELALLOC, "is in memory only, and has no blocks yet" },
		{ FIEMAP_EXTENT_ENCODED, "is compressed or encoded" },
		{ FIEMAP_EXTENT_DATA_ENCRYPTED, "is encrypted" },
		{ FIEMAP_EXTENT_DATA_INLINE, "is in the inode" },
		{ FIEMAP_EXTENT_DATA_TAIL, "shares a block with other files" },
		{ FIEMAP_EXTENT_NOT_ALIGNED, "is not aligned to blocks" },
		{ FIEMAP_EXTENT_SHARED, "is shared with another file (reflink)" },
		{ FIEMAP_EXTENT_UNKNOWN, "is nowhere that the file system tells" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (flags & bad[i].flag)
			return bad[i].text;
	if (flags & FIEMAP_EXTENT_UNWRITTEN)
		return write ? "is allocated, but has never been written (write zeros there once)" :
			       "has never been written";
	return NULL;
}

static int no(struct p2p_why *why, const struct p2p_end *e, const char *text)
{
	p2p_because(why, 0, "%s %s", e->name, text);
	return -EREMOTEIO;
}

/* ---- Whether the file may be used at all ---- */

/* data=journal keeps what was written last in the journal. */
static bool journals_data(const struct p2p_end *e)
{
	char line[1024], dev[32];
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return true;
	snprintf(dev, sizeof(dev), " %u:%u ", major(e->rdev), minor(e->rdev));
	while (fgets(line, sizeof(line), f))
		if (strstr(line, dev) && strstr(line, "data=journal"))
			found = true;
	fclose(f);
	return found;
}

static int check_system(const struct p2p_end *e, struct p2p_why *why)
{
	struct fsxattr attr = { 0 };
	struct statfs st;
	int flags = 0;

	if (fstatfs(e->plain, &st))
		return no(why, e, "has a file system that does not tell its kind");
	if (st.f_type != EXT4_SUPER_MAGIC && st.f_type != XFS_SUPER_MAGIC)
		return no(why, e, "is on a file system that may move blocks; ext4 and XFS do not");
	if (ioctl(e->plain, FS_IOC_GETFLAGS, &flags))
		return no(why, e, "does not tell its flags");
	if (flags & (FS_COMPR_FL | FS_ENCRYPT_FL | FS_VERITY_FL))
		return no(why, e, "is compressed, encrypted or sealed (fs-verity)");
	if (flags & FS_JOURNAL_DATA_FL || (st.f_type == EXT4_SUPER_MAGIC && journals_data(e)))
		return no(why, e, "has its data in the journal");
	if (st.f_type == XFS_SUPER_MAGIC && !ioctl(e->plain, FS_IOC_FSGETXATTR, &attr) &&
	    attr.fsx_xflags & FS_XFLAG_REALTIME)
		return no(why, e, "is on the realtime device");
	return 0;
}

/* The signal of a lease is one that nobody dies of. */
static int take_lease(struct p2p_end *e, struct p2p_why *why)
{
	/* A second opening of our own would be somebody else's. */
	close(e->fd);
	e->fd = fcntl(e->plain, F_DUPFD_CLOEXEC, 0);
	e->direct = false;
	e->leased = true;
	if (fcntl(e->plain, F_SETSIG, SIGURG))
		return no(why, e, "cannot be kept from others");
	if (!fcntl(e->plain, F_SETLEASE, e->write ? F_WRLCK : F_RDLCK))
		return 0;
	if (errno == EAGAIN)
		return no(why, e, e->write ? "is open elsewhere" : "is open for writing elsewhere");
	return no(why, e, errno == EACCES ? "belongs to another user, and only its owner may keep it from others" :
					    "cannot be kept from others (no leases on this file system)");
}

bool p2p_end_wanted(const struct p2p_end *e)
{
	return e->leased && fcntl(e->plain, F_GETLEASE) != (e->write ? F_WRLCK : F_RDLCK);
}

/* Whether pages of the range are in the cache. What cannot be seen is taken to be. */
static bool cached(const struct p2p_end *e, uint64_t off, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (n + page - 1) / page, i;
	unsigned char *vec = malloc(pages);
	void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, e->plain, (off_t)off);
	bool found = !vec || p == MAP_FAILED || mincore(p, n, vec);

	for (i = 0; !found && i < pages; i++)
		found = vec[i] & 1;
	if (p != MAP_FAILED)
		munmap(p, n);
	free(vec);
	return found;
}

static int drop_cache(const struct p2p_end *e, struct p2p_why *why)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = e->off & ~(page - 1), end = e->off + e->nbytes, n;

	if (fsync(e->plain) && errno != EROFS)
		return no(why, e, "cannot be written out");
	if (!e->write)
		return 0;
	/* All of it: the cache is in pieces that may be larger than the range. */
	posix_fadvise(e->plain, 0, 0, POSIX_FADV_DONTNEED);
	for (; at < end; at += n) {
		n = end - at < LOOK_NBYTES ? end - at : LOOK_NBYTES;
		if (cached(e, at, (size_t)n))
			return no(why, e, "stays in the page cache");
	}
	return 0;
}

/* ---- Its extents ---- */

struct map {
	struct p2p_piece *piece;
	size_t n, room;
	uint64_t at, end;		/* still to be found */
};

static int add(struct map *m, uint64_t off, uint64_t phys, uint64_t nbytes)
{
	struct p2p_piece *last = m->n ? &m->piece[m->n - 1] : NULL;
	size_t room = m->room ? 2 * m->room : 16;
	void *p;

	if (last && last->phys + last->nbytes == phys) {
		last->nbytes += nbytes;
		return 0;
	}
	if (m->n == PIECES_MAX)
		return -E2BIG;
	if (m->n == m->room) {
		p = realloc(m->piece, room * sizeof(*m->piece));
		if (!p)
			return -ENOMEM;
		m->piece = p;
		m->room = room;
	}
	m->piece[m->n++] = (struct p2p_piece){ off, phys, nbytes };
	return 0;
}

static int take_extent(const struct p2p_end *e, struct map *m, const struct fiemap_extent *x, struct p2p_why *why)
{
	const char *text = p2p_extent_refusal(x->fe_flags, e->write);
	uint64_t skip, n;
	int ret;

	if (x->fe_logical > m->at || x->fe_logical + x->fe_length <= m->at)
		text = "is a hole";
	if (text) {
		p2p_because(why, 0, "%s: at byte %llu it %s", e->name, (unsigned long long)m->at, text);
		return -EREMOTEIO;
	}
	skip = m->at - x->fe_logical;
	n = x->fe_length - skip;
	n = n < m->end - m->at ? n : m->end - m->at;
	ret = add(m, m->at - e->off, x->fe_physical + skip, n);
	if (ret == -E2BIG)
		return no(why, e, "is in too many pieces");
	m->at += n;
	return ret;
}

static int map_batch(const struct p2p_end *e, struct map *m, struct fiemap *f, struct p2p_why *why)
{
	uint32_t i;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->fm_start = m->at;
	f->fm_length = m->end - m->at;
	f->fm_flags = FIEMAP_FLAG_SYNC;
	f->fm_extent_count = BATCH;
	if (ioctl(e->plain, FS_IOC_FIEMAP, f))
		return no(why, e, "does not tell where its blocks are");
	if (!f->fm_mapped_extents) {
		p2p_because(why, 0, "%s: at byte %llu it is a hole", e->name, (unsigned long long)m->at);
		return -EREMOTEIO;
	}
	for (i = 0; !ret && i < f->fm_mapped_extents && i < BATCH && m->at < m->end; i++)
		ret = take_extent(e, m, &f->fm_extents[i], why);
	return ret;
}

static int map_file(const struct p2p_end *e, struct map *m, struct p2p_why *why)
{
	struct fiemap *f = malloc(sizeof(*f) + BATCH * sizeof(struct fiemap_extent));
	int ret = f ? 0 : -ENOMEM;

	m->at = e->off;
	m->end = e->off + e->nbytes;
	if (e->write && m->end > e->size)
		ret = no(why, e, "is shorter than what is to be written, and blocks must be there before");
	while (!ret && m->at < m->end)
		ret = map_batch(e, m, f, why);
	free(f);
	return ret;
}

int p2p_end_map(struct p2p_end *e, struct p2p_piece **pieces, size_t *n, struct p2p_why *why)
{
	struct map m = { 0 };
	int ret;

	if (e->is_block) {
		ret = add(&m, 0, e->off, e->nbytes);
	} else {
		ret = check_system(e, why);
		if (!ret)
			ret = take_lease(e, why);
		if (!ret)
			ret = drop_cache(e, why);
		if (!ret)
			ret = map_file(e, &m, why);
	}
	if (ret) {
		free(m.piece);
		return ret;
	}
	*pieces = m.piece;
	*n = m.n;
	return 0;
}

int p2p_extents_join(const struct p2p_piece *src, size_t nsrc, const struct p2p_piece *dst, size_t ndst, uint32_t max,
		     struct nvme_accel_p2p_extent **list, uint32_t *n)
{
	size_t room = nsrc + ndst, s = 0, d = 0;
	struct nvme_accel_p2p_extent *x = calloc(room ? room : 1, sizeof(*x));
	uint64_t sskip = 0, dskip = 0, len;

	if (!x)
		return -ENOMEM;
	for (*n = 0; s < nsrc && d < ndst; (*n)++) {
		len = src[s].nbytes - sskip < dst[d].nbytes - dskip ? src[s].nbytes - sskip : dst[d].nbytes - dskip;
		x[*n] = (struct nvme_accel_p2p_extent){ src[s].phys + sskip, dst[d].phys + dskip, len };
		sskip += len;
		dskip += len;
		if (sskip == src[s].nbytes) {
			s++;
			sskip = 0;
		}
		if (dskip == dst[d].nbytes) {
			d++;
			dskip = 0;
		}
	}
	if (*n <= max) {
		*list = x;
		return 0;
	}
	free(x);
	return -E2BIG;
}
