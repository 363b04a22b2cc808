// SPDX-License-Identifier: BSD-2-Clause
/* Copies of lib/p2p: by io_uring between files, where files' blocks are, and the module's side against a double of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../lib/p2p/p2p.h"

static const struct p2p_where where = { "/sys", "/dev" };
static char dir[] = "/var/tmp/p2p-test-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[2][128];
	static unsigned int turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void make(const char *name, size_t n, unsigned int seed)
{
	uint8_t *p = malloc(n + 1);
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
	assert_int_equal(write(fd, p, n), (ssize_t)n);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	free(p);
}

/* n bytes at a of one file are those at b of another. */
static void same(const char *x, uint64_t a, const char *y, uint64_t b, size_t n)
{
	uint8_t *p = malloc(n + 1), *q = malloc(n + 1);
	int f = open(in_dir(x), O_RDONLY), g = open(in_dir(y), O_RDONLY);

	assert_int_equal(pread(f, p, n, (off_t)a), (ssize_t)n);
	assert_int_equal(pread(g, q, n, (off_t)b), (ssize_t)n);
	assert_memory_equal(p, q, n);
	close(f);
	close(g);
	free(p);
	free(q);
}

/* ---- Rings ---- */

struct pair {
	struct p2p_end src, dst;
	char src_name[128], dst_name[128];
};

static void open_pair(struct pair *p, uint64_t src_off, uint64_t n, uint64_t dst_off)
{
	snprintf(p->src_name, sizeof(p->src_name), "%s", in_dir("src"));
	snprintf(p->dst_name, sizeof(p->dst_name), "%s", in_dir("dst"));
	assert_int_equal(p2p_end_open(&where, &p->src, p->src_name, false, src_off, n), 0);
	assert_int_equal(p2p_end_open(&where, &p->dst, p->dst_name, true, dst_off, 0), 0);
}

static void close_pair(struct pair *p)
{
	p2p_end_close(&p->src);
	p2p_end_close(&p->dst);
}

static int ring_all(struct pair *p, uint32_t chunk, uint32_t depth, void *mem)
{
	struct p2p_ring_opts o = { &p->src, &p->dst, 0, p->src.nbytes, chunk, depth, mem };
	struct p2p_ring *r;
	int ret;

	assert_int_equal(p2p_ring_new(&o, &r), 0);
	while ((ret = p2p_ring_step(r, 50)) == 0)
		assert_true(p2p_ring_done(r) <= p->src.nbytes);
	if (ret == 1)
		assert_int_equal(p2p_ring_done(r), p->src.nbytes);
	p2p_ring_free(r);
	return ret;
}

static void test_ring(void **state)
{
	static const struct {
		uint64_t src, n, dst;
		uint32_t chunk, depth;
	} t[] = {
		{ 0, 0, 0, 65536, 4 }, { 0, 1, 0, 4096, 1 }, { 0, 4096, 4096, 4096, 64 }, { 1, 4097, 3, 4096, 2 },
		{ 4096, 1000000, 8192, 65536, 8 }, { 0, 2000003, 0, 524288, 8 }, { 513, 1999490, 4095, 8192, 5 },
	};
	struct pair p;

	(void)state;
	make("src", 2000003, 1);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		make("dst", 5000, 2);
		open_pair(&p, t[i].src, t[i].n, t[i].dst);
		assert_int_equal(ring_all(&p, t[i].chunk, t[i].depth, NULL), 1);
		same("src", t[i].src, "dst", t[i].dst, t[i].n ? t[i].n : 2000003);
		close_pair(&p);
	}
}

/* The buffers are those that were given. */
static void test_ring_mem(void **state)
{
	struct pair p;
	uint8_t *mem = aligned_alloc(4096, 4 * 65536);

	(void)state;
	memset(mem, 0, 4 * 65536);
	make("src", 4 * 65536, 3);
	make("dst", 0, 0);
	open_pair(&p, 0, 0, 0);
	assert_int_equal(ring_all(&p, 65536, 4, mem), 1);
	same("src", 0, "dst", 0, 4 * 65536);
	assert_int_not_equal(mem[0] | mem[1] | mem[2] | mem[3] | mem[65536] | mem[65537], 0);
	close_pair(&p);
	free(mem);
}

static void test_ring_short(void **state)
{
	struct pair p;

	(void)state;
	make("src", 1000000, 4);
	make("dst", 0, 0);
	open_pair(&p, 0, 0, 0);
	/* The source becomes shorter after it was looked at. */
	assert_int_equal(truncate(p.src_name, 300001), 0);
	assert_int_equal(ring_all(&p, 65536, 4, NULL), -ENODATA);
	close_pair(&p);
}

static void test_ring_full(void **state)
{
	struct rlimit old, low;
	struct pair p;

	(void)state;
	make("src", 1000000, 4);
	make("dst", 0, 0);
	open_pair(&p, 0, 0, 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 200000;
	setrlimit(RLIMIT_FSIZE, &low);
	assert_true(ring_all(&p, 65536, 4, NULL) < 0);
	setrlimit(RLIMIT_FSIZE, &old);
	close_pair(&p);
}

static void test_ring_cancel(void **state)
{
	struct p2p_ring_opts o = { .chunk = 4096, .depth = 2 };
	struct p2p_ring *r;
	struct pair p;
	int ret;

	(void)state;
	make("src", 4000000, 5);
	make("dst", 0, 0);
	open_pair(&p, 0, 0, 0);
	o.src = &p.src;
	o.dst = &p.dst;
	o.nbytes = p.src.nbytes;
	assert_int_equal(p2p_ring_new(&o, &r), 0);
	ret = p2p_ring_step(r, 0);
	assert_int_equal(ret, 0);
	p2p_ring_cancel(r);
	while ((ret = p2p_ring_step(r, 50)) == 0)
		;
	assert_int_equal(ret, -ECANCELED);
	assert_true(p2p_ring_done(r) < p.src.nbytes);
	p2p_ring_free(r);
	/* Freed in the middle. */
	assert_int_equal(p2p_ring_new(&o, &r), 0);
	p2p_ring_step(r, 0);
	p2p_ring_free(r);
	close_pair(&p);
}

/* ---- Ends ---- */

static void test_ends(void **state)
{
	struct p2p_end e;
	char name[128];

	(void)state;
	make("src", 10000, 1);
	snprintf(name, sizeof(name), "%s", in_dir("src"));
	assert_int_equal(p2p_end_open(&where, &e, name, false, 10001, 0), -ENODATA);
	assert_int_equal(p2p_end_open(&where, &e, name, false, 1, 10000), -ENODATA);
	assert_int_equal(p2p_end_open(&where, &e, name, false, UINT64_MAX, 2), -ENODATA);
	assert_int_equal(p2p_end_open(&where, &e, name, true, INT64_MAX, 2), -EINVAL);
	assert_int_equal(p2p_end_open(&where, &e, "/dev/null", false, 0, 0), -ENOTBLK);
	assert_int_equal(p2p_end_open(&where, &e, dir, false, 0, 0), -ENOTBLK);
	assert_int_equal(p2p_end_open(&where, &e, in_dir("none"), false, 0, 0), -ENOENT);
	assert_int_equal(p2p_end_open(&where, &e, name, false, 10, 0), 0);
	assert_int_equal(e.nbytes, 9990);
	/* A file of this machine is on no NVMe namespace, or it is: then it has a controller. */
	assert_true(e.no_peer.text[0] || e.ctrl.address[0]);
	p2p_end_close(&e);
}

/* What p2p_end_map() says about bytes [off, off + n) of a file: 0, or the reason in *why. */
static int map_of(const char *name, bool write, uint64_t off, uint64_t n, struct p2p_why *why, uint64_t *total)
{
	struct p2p_piece *piece = NULL;
	struct p2p_end e;
	size_t count = 0;
	int ret;

	memset(why, 0, sizeof(*why));
	assert_int_equal(p2p_end_open(&where, &e, name, write, off, n), 0);
	ret = p2p_end_map(&e, &piece, &count, why);
	for (*total = 0; !ret && count--;)
		*total += piece[count].nbytes;
	free(piece);
	p2p_end_close(&e);
	return ret;
}

static void refused(const char *name, bool write, uint64_t n, const char *text)
{
	struct p2p_why why;
	uint64_t total;

	assert_int_equal(map_of(name, write, 0, n, &why, &total), -EREMOTEIO);
	if (!strstr(why.text, text))
		print_error("'%s' does not say '%s'\n", why.text, text);
	assert_non_null(strstr(why.text, text));
}

static bool in_place(void)
{
	struct statfs st;

	return !statfs(dir, &st) && (st.f_type == 0xef53 || st.f_type == 0x58465342);
}

static void test_map(void **state)
{
	struct p2p_why why;
	uint64_t total;
	char name[128];
	int fd;

	(void)state;
	if (!in_place())
		skip();
	make("file", 1 << 20, 7);
	snprintf(name, sizeof(name), "%s", in_dir("file"));
	assert_int_equal(map_of(name, false, 0, 1 << 20, &why, &total), 0);
	assert_int_equal(total, 1 << 20);
	/* For writing, even though its pages are in the cache. */
	assert_int_equal(map_of(name, true, 4096, 65536, &why, &total), 0);
	assert_int_equal(total, 65536);
	refused(name, true, 2 << 20, "shorter");
	fd = open(name, O_RDWR);
	refused(name, true, 65536, "open elsewhere");
	refused(name, false, 65536, "open for writing elsewhere");
	close(fd);
	fd = open(name, O_RDONLY);
	refused(name, true, 65536, "open elsewhere");
	assert_int_equal(map_of(name, false, 0, 65536, &why, &total), 0);
	close(fd);
	snprintf(name, sizeof(name), "%s", in_dir("hole"));
	fd = open(name, O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	close(fd);
	refused(name, false, 1 << 20, "hole");
	snprintf(name, sizeof(name), "%s", in_dir("unwritten"));
	fd = open(name, O_RDWR | O_CREAT, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 1 << 20), 0);
	close(fd);
	refused(name, false, 1 << 20, "never been written");
	refused(name, true, 1 << 20, "write zeros");
}

/* Memory has no blocks. */
static void test_map_memory(void **state)
{
	int fd = memfd_create("p2p", 0);
	char name[64];

	(void)state;
	assert_int_equal(ftruncate(fd, 65536), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	refused(name, false, 65536, "may move");
	refused(name, true, 65536, "may move");
	close(fd);
}

/* Somebody who opens the file is noticed, has to wait, and gets it when it is released. */
static void test_wanted(void **state)
{
	struct p2p_piece *piece;
	struct p2p_why why;
	struct p2p_end e;
	char name[128];
	size_t n;
	int fd;

	(void)state;
	if (!in_place())
		skip();
	make("file", 1 << 16, 7);
	snprintf(name, sizeof(name), "%s", in_dir("file"));
	assert_int_equal(p2p_end_open(&where, &e, name, true, 0, 1 << 16), 0);
	assert_int_equal(p2p_end_map(&e, &piece, &n, &why), 0);
	assert_false(p2p_end_wanted(&e));
	/* The signal that the lease brings is one that is ignored. */
	fd = open(name, O_RDONLY | O_NONBLOCK);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_true(p2p_end_wanted(&e));
	p2p_end_release(&e);
	assert_false(p2p_end_wanted(&e));
	fd = open(name, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	close(fd);
	free(piece);
	p2p_end_close(&e);
}

/* ---- The module, played ---- */

static struct {
	uint32_t version, providers, room, slots, job, state;
	uint64_t slot_bytes;
	int error, open_error;
	unsigned int waits, eintr, allocs, frees, cancels, opens, closes;
	bool same_id, endless_text;
} mod;

static int mod_open(const char *path)
{
	assert_non_null(strstr(path, "nvme-accel-p2p"));
	mod.opens += !mod.open_error;
	return mod.open_error ? mod.open_error : 77;
}

static void mod_close(int fd)
{
	assert_int_equal(fd, 77);
	mod.closes++;
}

static int mod_wait(struct nvme_accel_p2p_wait *w)
{
	assert_int_equal(w->job, 5);
	if (mod.eintr && mod.eintr--)
		return -EINTR;
	w->bytes_done = 4096;
	w->state = mod.waits && mod.waits-- ? NVME_ACCEL_P2P_JOB_RUNNING : mod.state;
	w->error = mod.error;
	return 0;
}

static int mod_ioctl(int fd, unsigned long request, void *arg)
{
	struct nvme_accel_p2p_provider *p = arg;
	struct nvme_accel_p2p_verdict *v = arg;
	struct nvme_accel_p2p_alloc *a = arg;

	assert_int_equal(fd, 77);
	switch (request) {
	case NVME_ACCEL_P2P_GET_INFO:
		*(struct nvme_accel_p2p_info *)arg = (struct nvme_accel_p2p_info){ .version = mod.version, .slot_align = 4096 };
		return 0;
	case NVME_ACCEL_P2P_PROVIDER:
		if (p->id >= mod.providers)
			return -ENOENT;
		p->id += mod.same_id ? 0 : 1;
		snprintf(p->pci, sizeof(p->pci), "0000:0%u:00.0", p->id);
		memset(p->ctrl, 'x', sizeof(p->ctrl));
		return 0;
	case NVME_ACCEL_P2P_VERDICT:
		memset(v->text, 'y', sizeof(v->text));
		memset(v->common, 'y', sizeof(v->common));
		v->allowed = 1;
		return 0;
	case NVME_ACCEL_P2P_ALLOC:
		mod.allocs++;
		if (a->nr_slots * a->slot_bytes > mod.room)
			return -ENOSPC;
		mod.slots = a->nr_slots;
		mod.slot_bytes = a->slot_bytes;
		a->handle = 3;
		return 0;
	case NVME_ACCEL_P2P_FREE:
		mod.frees++;
		return 0;
	case NVME_ACCEL_P2P_COPY:
		((struct nvme_accel_p2p_copy *)arg)->job = mod.job;
		return 0;
	case NVME_ACCEL_P2P_WAIT:
		return mod_wait(arg);
	case NVME_ACCEL_P2P_CANCEL:
		mod.cancels++;
		mod.state = NVME_ACCEL_P2P_JOB_CANCELLED;
		mod.error = -ECANCELED;
		return 0;
	}
	return -ENOTTY;
}

static const struct p2p_sys played = { mod_open, mod_ioctl, mod_close, NULL };

static void mod_start(struct p2p_module *m)
{
	memset(&mod, 0, sizeof(mod));
	mod.version = NVME_ACCEL_P2P_VERSION;
	mod.providers = 3;
	mod.room = 1 << 20;
	mod.job = 5;
	mod.state = NVME_ACCEL_P2P_JOB_OK;
	assert_int_equal(p2p_module_open(m, &played, "/dev/nvme-accel-p2p"), 0);
}

static void test_module(void **state)
{
	struct nvme_accel_p2p_provider p = { 0 };
	struct nvme_accel_p2p_verdict v;
	struct p2p_module m;
	unsigned int n = 0;

	(void)state;
	mod_start(&m);
	for (; !p2p_module_next(&m, &p); n++)
		assert_int_equal(strlen(p.ctrl), sizeof(p.ctrl) - 1);
	assert_int_equal(n, 3);
	assert_int_equal(p2p_module_provider(&m, "0000:02:00.0", &p), 0);
	assert_int_equal(p.id, 2);
	assert_int_equal(p2p_module_provider(&m, "0000:09:00.0", &p), -ENOENT);
	/* An answer that never comes to an end. */
	mod.same_id = true;
	assert_int_equal(p2p_module_provider(&m, "0000:09:00.0", &p), -ENOENT);
	assert_int_equal(p2p_module_verdict(&m, 1, -1, "0000:04:00.0", false, &v), 0);
	assert_int_equal(strlen(v.text), sizeof(v.text) - 1);
	assert_int_equal(strlen(v.common), sizeof(v.common) - 1);
	p2p_module_close(&m);
	p2p_module_close(&m);
	assert_int_equal(mod.closes, 1);
	assert_int_equal(p2p_module_call(&m, NVME_ACCEL_P2P_FREE, &v), -ENOENT);
	mod.version = 2;
	assert_int_equal(p2p_module_open(&m, &played, "/dev/nvme-accel-p2p"), -EPROTO);
	assert_int_equal(mod.closes, mod.opens);
	mod.open_error = -EACCES;
	assert_int_equal(p2p_module_open(&m, &played, "/dev/nvme-accel-p2p"), -EACCES);
}

static int run_job(const struct p2p_module *m, struct p2p_kcopy *k)
{
	struct nvme_accel_p2p_extent x = { 0, 0, 4096 };
	int ret;

	ret = p2p_kcopy_open(k, m, 1, 65536, 8, false);
	assert_int_equal(ret, 0);
	ret = p2p_kcopy_start(k, 1, 2, &x, 1, 0);
	while (!ret)
		ret = p2p_kcopy_step(k, 10);
	return ret;
}

static void test_jobs(void **state)
{
	static const struct {
		uint32_t state;
		int error, want;
	} t[] = {
		{ NVME_ACCEL_P2P_JOB_OK, 0, 1 },
		{ NVME_ACCEL_P2P_JOB_FAILED, -ESTALE, -ESTALE },
		{ NVME_ACCEL_P2P_JOB_FAILED, -EIO, -EIO },
		{ NVME_ACCEL_P2P_JOB_FAILED, 0, -EIO },
		{ NVME_ACCEL_P2P_JOB_FAILED, 5, -EIO },
		{ NVME_ACCEL_P2P_JOB_FAILED, -100000, -EIO },
		{ NVME_ACCEL_P2P_JOB_CANCELLED, 0, -ECANCELED },
		{ 99, 0, -EIO },
	};
	struct p2p_module m;
	struct p2p_kcopy k;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		mod_start(&m);
		mod.state = t[i].state;
		mod.error = t[i].error;
		mod.waits = 3;
		mod.eintr = 2;
		assert_int_equal(run_job(&m, &k), t[i].want);
		p2p_kcopy_close(&k);
		assert_int_equal(mod.frees, 1);
		assert_int_equal(mod.cancels, 0);
		p2p_module_close(&m);
	}
}

static void test_slots(void **state)
{
	struct nvme_accel_p2p_extent x = { 0, 0, 4096 };
	struct p2p_module m;
	struct p2p_kcopy k;

	(void)state;
	mod_start(&m);
	mod.room = 3 * 65536;
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 65536, 8, false), 0);
	assert_int_equal(mod.allocs, 3);
	/* Closed while it runs: told to end, waited for, freed. */
	assert_int_equal(p2p_kcopy_start(&k, 1, 2, &x, 1, 0), 0);
	mod.waits = 4;
	p2p_kcopy_close(&k);
	assert_int_equal(mod.cancels, 1);
	assert_int_equal(mod.waits, 0);
	assert_int_equal(mod.frees, 1);
	mod.room = 65536;
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 65536, 8, false), -ENOSPC);
	/* Less room: four slots, then smaller ones, but not of jobs, whose slots hold what they hold. */
	mod.allocs = 0;
	mod.room = 1 << 20;
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 1 << 20, 16, false), 0);
	assert_int_equal(mod.allocs, 5);
	assert_int_equal(mod.slots, 4);
	assert_int_equal(mod.slot_bytes, 256 << 10);
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 1 << 20, 1, true), 0);
	assert_int_equal(mod.slots, 1);
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 2 << 20, 1, true), -ENOSPC);
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 1 << 20, 8, true), -ENOSPC);
	mod.frees = 1;
	k.set = 0;
	p2p_kcopy_close(&k);
	assert_int_equal(mod.frees, 1);
	/* Numbers that are none. */
	mod_start(&m);
	mod.job = 0;
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 65536, 2, false), 0);
	assert_int_equal(p2p_kcopy_start(&k, 1, 2, &x, 1, 0), -EPROTO);
	p2p_kcopy_close(&k);
	m.info.slot_align = 3;
	assert_int_equal(p2p_kcopy_open(&k, &m, 1, 65536, 2, false), -EPROTO);
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	static const char *const names[] = { "src", "dst", "file", "hole", "unwritten" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_dir(names[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),	   cmocka_unit_test(test_ring_mem), cmocka_unit_test(test_ring_short),
		cmocka_unit_test(test_ring_full),  cmocka_unit_test(test_ring_cancel), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_map),	   cmocka_unit_test(test_map_memory), cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_module),	   cmocka_unit_test(test_jobs),	     cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
