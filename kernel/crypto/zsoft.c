// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deflate in software, from list to list: the fallback of deflate, which must do whatever an accelerator does, also where the
 * crypto API's own software does not (more than 128 KiB), and the judge of what accelerators have made.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/zlib.h>
#include "nac.h"

#define WINDOW		11	/* what every inflater of the kernel reads */
#define MEM_LEVEL	8
#define LEVEL		1
#define MATCH_BYTES	4096u

struct workspace {
	struct list_head entry;
	void *deflate, *inflate;
	struct z_stream_s z;
	u8 match[MATCH_BYTES];
};

static LIST_HEAD(pool);
static DEFINE_SPINLOCK(pool_lock);
static DECLARE_WAIT_QUEUE_HEAD(pool_wait);

/* ---- Workspaces ---- */

static struct workspace *try_get(void)
{
	struct workspace *w;

	spin_lock_bh(&pool_lock);
	w = list_first_entry_or_null(&pool, struct workspace, entry);
	if (w)
		list_del(&w->entry);
	spin_unlock_bh(&pool_lock);
	return w;
}

static struct workspace *get(bool may_sleep)
{
	struct workspace *w = try_get();

	if (!w && may_sleep)
		wait_event(pool_wait, (w = try_get()));
	return w;
}

static void put(struct workspace *w)
{
	spin_lock_bh(&pool_lock);
	list_add(&w->entry, &pool);
	spin_unlock_bh(&pool_lock);
	wake_up(&pool_wait);
}

static void workspace_free(struct workspace *w)
{
	kvfree(w->deflate);
	kvfree(w->inflate);
	kfree(w);
}

static int workspace_new(void)
{
	struct workspace *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return -ENOMEM;
	w->deflate = kvzalloc(zlib_deflate_workspacesize(-WINDOW, MEM_LEVEL), GFP_KERNEL);
	w->inflate = kvzalloc(zlib_inflate_workspacesize(), GFP_KERNEL);
	if (!w->deflate || !w->inflate) {
		workspace_free(w);
		return -ENOMEM;
	}
	list_add(&w->entry, &pool);
	return 0;
}

int nac_zsoft_init(unsigned int workspaces)
{
	unsigned int i;
	int ret;

	if (!workspaces)
		workspaces = num_possible_cpus();
	for (i = 0; i < workspaces; i++) {
		ret = workspace_new();
		if (ret) {
			nac_zsoft_exit();
			return ret;
		}
	}
	return 0;
}

void nac_zsoft_exit(void)
{
	struct workspace *w, *tmp;

	list_for_each_entry_safe(w, tmp, &pool, entry) {
		list_del(&w->entry);
		workspace_free(w);
	}
}

/* ---- Lists ---- */

/* The next run of a list, as one address: every page of a 64-bit kernel has one. At most what is left. */
static u32 run_of(struct scatterlist **sg, u32 left, void **p)
{
	u32 n;

	while (*sg && left && !(*sg)->length)
		*sg = sg_next(*sg);
	if (!*sg || !left)
		return 0;
	n = min(left, (*sg)->length);
	*p = sg_virt(*sg);
	*sg = sg_next(*sg);
	return n;
}

/* A list as a stream's input or output. */
struct feed {
	struct scatterlist *sg;
	u32 left;	/* not given to the stream yet */
};

static void feed_in(struct feed *f, struct z_stream_s *z)
{
	void *p;
	u32 n;

	if (z->avail_in)
		return;
	n = run_of(&f->sg, f->left, &p);
	if (!n)
		return;
	z->next_in = p;
	z->avail_in = n;
	f->left -= n;
}

static void feed_out(struct feed *f, struct z_stream_s *z)
{
	void *p;
	u32 n;

	if (z->avail_out)
		return;
	n = run_of(&f->sg, f->left, &p);
	if (!n)
		return;
	z->next_out = p;
	z->avail_out = n;
	f->left -= n;
}

static void breathe(bool may_sleep)
{
	if (may_sleep)
		cond_resched();
}

/* ---- Work ---- */

/* The output is full: whether the end is all that is missing. */
static int full(const struct feed *in, struct z_stream_s *z)
{
	u8 probe;

	if (z->avail_in || in->left)
		return -ENOSPC;
	z->next_out = &probe;
	z->avail_out = 1;
	return zlib_deflate(z, Z_FINISH) == Z_STREAM_END && z->avail_out == 1 ? 0 : -ENOSPC;
}

static int deflate(struct workspace *w, struct feed *in, struct feed *out, bool may_sleep)
{
	struct z_stream_s *z = &w->z;
	int rc;

	memset(z, 0, sizeof(*z));
	z->workspace = w->deflate;
	if (zlib_deflateInit2(z, LEVEL, Z_DEFLATED, -WINDOW, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -EINVAL;
	for (;;) {
		feed_in(in, z);
		feed_out(out, z);
		if (!z->avail_out)
			return full(in, z);
		rc = zlib_deflate(z, in->left ? Z_NO_FLUSH : Z_FINISH);
		if (rc == Z_STREAM_END)
			return z->avail_in ? -EINVAL : 0;
		if (rc != Z_OK && (rc != Z_BUF_ERROR || z->avail_out))
			return -EINVAL;
		breathe(may_sleep);
	}
}

/* Until the stream ends; -EINVAL if it does not, whatever it is that is wrong. */
static int inflate(struct workspace *w, struct feed *in, struct feed *out, bool may_sleep)
{
	struct z_stream_s *z = &w->z;
	u8 probe;
	bool full;
	int rc;

	memset(z, 0, sizeof(*z));
	z->workspace = w->inflate;
	if (zlib_inflateInit2(z, -MAX_WBITS) != Z_OK)
		return -EINVAL;
	for (;;) {
		feed_in(in, z);
		feed_out(out, z);
		/* The output may be full and its end still to be read. */
		full = !z->avail_out;
		if (full) {
			z->next_out = &probe;
			z->avail_out = 1;
		}
		rc = zlib_inflate(z, Z_NO_FLUSH);
		if (full && !z->avail_out)
			return -ENOSPC;
		if (full)
			z->avail_out = 0;
		if (rc == Z_STREAM_END)
			return 0;
		if ((rc != Z_OK && rc != Z_BUF_ERROR) || (!z->avail_in && !in->left && z->avail_out))
			return -EINVAL;
		if (full && !z->avail_in && !in->left)
			return -EINVAL;
		breathe(may_sleep);
	}
}

static int run(int (*code)(struct workspace *w, struct feed *in, struct feed *out, bool may_sleep), struct feed in, struct feed out,
	       u32 *out_len, bool may_sleep)
{
	struct workspace *w = get(may_sleep);
	int ret;

	if (!w)
		return -EAGAIN;
	ret = code(w, &in, &out, may_sleep);
	*out_len = ret ? 0 : w->z.total_out;
	put(w);
	return ret;
}

int nac_zsoft_compress(struct scatterlist *src, u32 in_len, struct scatterlist *dst, u32 max, u32 *out_len, bool may_sleep)
{
	return run(deflate, (struct feed){ src, in_len }, (struct feed){ dst, max }, out_len, may_sleep);
}

int nac_zsoft_decompress(struct scatterlist *src, u32 in_len, struct scatterlist *dst, u32 max, u32 *out_len, bool may_sleep)
{
	return run(inflate, (struct feed){ src, in_len }, (struct feed){ dst, max }, out_len, may_sleep);
}

/* ---- Verification ---- */

/* Whether n bytes are what comes next in the list. */
static bool next_is(struct scatterlist **sg, u32 *off, const u8 *p, u32 n)
{
	u32 here;

	while (n && *sg) {
		here = min(n, (*sg)->length - *off);
		if (memcmp(sg_virt(*sg) + *off, p, here))
			return false;
		p += here;
		n -= here;
		*off += here;
		if (*off == (*sg)->length) {
			*sg = sg_next(*sg);
			*off = 0;
		}
	}
	return !n;
}

static bool matches(struct workspace *w, struct scatterlist *src, u32 in_len)
{
	struct z_stream_s *z = &w->z;
	u32 off = 0, n;
	int rc;

	do {
		z->next_out = w->match;
		z->avail_out = MATCH_BYTES;
		rc = zlib_inflate(z, Z_NO_FLUSH);
		n = MATCH_BYTES - z->avail_out;
		if ((rc != Z_OK && rc != Z_STREAM_END) || n > in_len || !next_is(&src, &off, w->match, n))
			return false;
		in_len -= n;
		cond_resched();
	} while (rc == Z_OK && (n || z->avail_in));
	return rc == Z_STREAM_END && !in_len && !z->avail_in;
}

bool nac_zsoft_matches(const u8 *p, u32 n, struct scatterlist *src, u32 in_len)
{
	struct workspace *w = get(true);
	bool same;

	memset(&w->z, 0, sizeof(w->z));
	w->z.workspace = w->inflate;
	w->z.next_in = p;
	w->z.avail_in = n;
	same = zlib_inflateInit2(&w->z, -MAX_WBITS) == Z_OK && matches(w, src, in_len);
	put(w);
	return same;
}
