/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tier 3 of nvme-accel-p2pdma (allow_user_pages=1): CMB pages in a program (TAP lines). p2p_user SRC DST: two disks that are allowed;
 * contents of DST are lost. p2p_user SRC touch: maps, says "mapped", reads SRC into it without end; SIGBUS is exit status 3.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "p2p.h"

#define SLOT	(1u << 20)
#define SLOTS	4u

static int bad;

static void is(const char *name, int good)
{
	printf("%sok - %s\n", good ? "" : "not ", name);
	bad |= !good;
}

static struct nvme_accel_p2p_alloc alloc(int node, uint32_t slots)
{
	struct nvme_accel_p2p_alloc a = { .provider = first_provider(node), .nr_slots = slots, .slot_bytes = SLOT };
	int err = call(node, NVME_ACCEL_P2P_ALLOC, &a);

	if (err)
		die("ALLOC", err);
	return a;
}

static int release(int node, uint32_t handle)
{
	return call(node, NVME_ACCEL_P2P_FREE, &(struct nvme_accel_p2p_free){ .handle = handle });
}

static int map_error(int node, size_t len, int prot, int flags, uint64_t off)
{
	void *p = mmap(NULL, len, prot, flags, node, off);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, len);
	return 0;
}

static void wrong(int node, const struct nvme_accel_p2p_alloc *a)
{
	const int rw = PROT_READ | PROT_WRITE;
	const size_t all = SLOT * SLOTS;

	is("mapped private: refused", map_error(node, all, rw, MAP_PRIVATE, a->mmap_offset) == EINVAL);
	is("a part of the set", map_error(node, SLOT, rw, MAP_SHARED, a->mmap_offset) == EINVAL);
	is("more than the set", map_error(node, all + 4096, rw, MAP_SHARED, a->mmap_offset) == EINVAL);
	is("at another offset", map_error(node, all, rw, MAP_SHARED, a->mmap_offset + 4096) == EINVAL);
	is("at no set's offset", map_error(node, all, rw, MAP_SHARED, 0) == EINVAL);
	is("nothing", map_error(node, 0, rw, MAP_SHARED, a->mmap_offset) == EINVAL);
}

static int all_zero(const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i += 509)
		if (p[i])
			return 0;
	return 1;
}

/* O_DIRECT from one disk into the CMB and from there to another; compared by way of memory. */
static void direct(const char *from, const char *to, unsigned char *cmb)
{
	int src = open_disk(from, O_RDONLY | O_DIRECT), dst = open_disk(to, O_RDWR | O_DIRECT);
	void *x = aligned_alloc(4096, SLOT), *y = aligned_alloc(4096, SLOT);

	is("O_DIRECT reads into the CMB", pread(src, cmb, SLOT, 0) == SLOT);
	is("  and writes from it", pwrite(dst, cmb, SLOT, 0) == SLOT);
	is("  what was written", pread(src, x, SLOT, 0) == SLOT && pread(dst, y, SLOT, 0) == SLOT && !memcmp(x, y, SLOT));
	is("  what the processor sees", !memcmp(cmb, x, SLOT));
	free(x);
	free(y);
	close(src);
	close(dst);
}

static int run(const char *from, const char *to)
{
	int node = open_node(), status;
	struct nvme_accel_p2p_alloc a = alloc(node, SLOTS);
	unsigned char *p;
	pid_t child;

	is("a set that can be mapped", a.mmap_offset != 0);
	wrong(node, &a);
	p = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, node, a.mmap_offset);
	if (p == MAP_FAILED)
		die("mmap", errno);
	is("mapped: cleared", all_zero(p, SLOT * SLOTS));
	direct(from, to, p + SLOT);
	is("it cannot be freed while it is mapped", release(node, a.handle) == EBUSY);
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(*(volatile unsigned char *)p);
	}
	waitpid(child, &status, 0);
	is("a child has no part in it", WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	munmap(p, SLOT * SLOTS);
	is("unmapped: freed", release(node, a.handle) == 0);
	a = alloc(node, SLOTS);
	p = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, node, a.mmap_offset);
	is("mapped again: nothing of before is seen", p != MAP_FAILED && all_zero(p, SLOT * SLOTS));
	return bad;
}

static void on_bus(int sig)
{
	(void)sig;
	_exit(3);
}

static _Noreturn void touch(const char *from)
{
	int node = open_node(), src = open_disk(from, O_RDONLY | O_DIRECT);
	struct nvme_accel_p2p_alloc a = alloc(node, SLOTS);
	volatile unsigned char *p = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, node, a.mmap_offset);

	if (p == MAP_FAILED)
		die("mmap", errno);
	signal(SIGBUS, on_bus);
	puts("mapped");
	fflush(stdout);
	for (;;) {
		(void)!pread(src, (void *)p, SLOT * SLOTS, 0);
		p[12345]++;
	}
}

int main(int argc, char *argv[])
{
	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[2], "touch"))
		touch(argv[1]);
	return run(argv[1], argv[2]);
}
