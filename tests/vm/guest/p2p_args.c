/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrong arguments of nvme-accel-p2pdma's ioctls: each kind with the error that the header promises (TAP lines), then random
 * ones, which may do anything but harm. p2p_args SRC DST FAR CALLS [SEED]: two disks that are allowed, one that is not; contents of
 * DST are lost.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include "p2p.h"

#define WRONG	((void *)8)

static int bad, node, src, dst, far, dst_ro, null;
static uint32_t provider, handle;
static uint64_t page;

static void is(const char *name, int wanted, int got)
{
	if (wanted == got) {
		printf("ok - %s\n", name);
		return;
	}
	bad = 1;
	printf("not ok - %s\n#   wanted %d (%s), got %d (%s)\n", name, wanted, strerror(wanted), got, strerror(got));
}

/* ---- A field at a time ---- */

static void info_and_list(void)
{
	struct nvme_accel_p2p_info i = { 0 };
	struct nvme_accel_p2p_provider p = { 0 };

	is("GET_INFO", 0, call(node, NVME_ACCEL_P2P_GET_INFO, &i));
	is("  the version", NVME_ACCEL_P2P_VERSION, i.version);
	page = i.slot_align;
	i.reserved[2] = 1;
	is("  a reserved field", EINVAL, call(node, NVME_ACCEL_P2P_GET_INFO, &i));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_GET_INFO, WRONG));
	is("PROVIDER: beyond the last", ENOENT, call(node, NVME_ACCEL_P2P_PROVIDER, &(struct nvme_accel_p2p_provider){ .id = -1u }));
	p.reserved[0] = 1;
	is("  a reserved field", EINVAL, call(node, NVME_ACCEL_P2P_PROVIDER, &p));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_PROVIDER, WRONG));
	is("an ioctl that is none", ENOTTY, call(node, _IOWR(NVME_ACCEL_P2P_IOC, 0x77, int), &i));
	is("another's ioctl", ENOTTY, call(node, _IO('N', 0x40), &i));
	is("GET_INFO of another size", ENOTTY, call(node, _IOWR(NVME_ACCEL_P2P_IOC, 0, uint64_t), &i));
}

static int why(uint32_t id, int fd, uint32_t flags, const char *pci, uint32_t *reason)
{
	struct nvme_accel_p2p_verdict v = { .provider = id, .fd = fd, .flags = flags };
	int err;

	snprintf(v.pci, sizeof(v.pci), "%s", pci);
	err = call(node, NVME_ACCEL_P2P_VERDICT, &v);
	*reason = v.reason;
	return err;
}

static void verdicts(void)
{
	struct nvme_accel_p2p_verdict v = { .provider = provider, .fd = -1 };
	uint32_t r;

	is("VERDICT", 0, why(provider, src, 0, "", &r));
	is("  no such provider", ENODEV, why(provider + 1000, src, 0, "", &r));
	is("  a file that is not open", EBADF, why(provider, 9999, 0, "", &r));
	is("  an unknown flag", EINVAL, why(provider, src, 8, "", &r));
	is("  both kinds of names", EINVAL, why(provider, src, 0, "0000:00:00.0", &r));
	is("  no device", 0, why(provider, null, 0, "", &r));
	is("    the reason", NVME_ACCEL_P2P_R_NOT_BLOCK, r);
	is("  no such PCI device", 0, why(provider, -1, 0, "0000:7f:00.0", &r));
	is("    the reason", NVME_ACCEL_P2P_R_NO_DEVICE, r);
	is("  a PCI device of another kind", 0, why(provider, -1, 0, "0000:00:00.0", &r));
	is("    the reason", NVME_ACCEL_P2P_R_NO_DEVICE, r);
	is("  a name that is none", 0, why(provider, -1, 0, "x", &r));
	is("    the reason", NVME_ACCEL_P2P_R_NO_DEVICE, r);
	is("  another root port", 0, why(provider, far, 0, "", &r));
	is("    the reason", NVME_ACCEL_P2P_R_HOST_BRIDGE, r);
	memset(v.pci, 'x', sizeof(v.pci));
	is("  a name without an end", EINVAL, call(node, NVME_ACCEL_P2P_VERDICT, &v));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_VERDICT, WRONG));
}

static int alloc(uint32_t id, uint32_t slots, uint64_t nbytes, uint32_t flags, uint32_t *h)
{
	struct nvme_accel_p2p_alloc a = { .provider = id, .nr_slots = slots, .slot_bytes = nbytes, .flags = flags };
	int err = call(node, NVME_ACCEL_P2P_ALLOC, &a);

	if (!err && h)
		*h = a.handle;
	return err;
}

static int release(uint32_t h)
{
	return call(node, NVME_ACCEL_P2P_FREE, &(struct nvme_accel_p2p_free){ .handle = h });
}

static void sets(void)
{
	struct nvme_accel_p2p_provider p = { .id = provider - 1 };
	uint32_t h, list[NVME_ACCEL_P2P_MAX_SETS + 1], n;
	int err;

	is("ALLOC: no such provider", ENODEV, alloc(provider + 1000, 1, page, 0, NULL));
	is("  no slots", EINVAL, alloc(provider, 0, page, 0, NULL));
	is("  too many slots", EINVAL, alloc(provider, NVME_ACCEL_P2P_MAX_SLOTS + 1, page, 0, NULL));
	is("  slots of nothing", EINVAL, alloc(provider, 1, 0, 0, NULL));
	is("  slots that are not aligned", EINVAL, alloc(provider, 1, page + 512, 0, NULL));
	is("  slots of 2^63", EINVAL, alloc(provider, 1, 1ull << 63, 0, NULL));
	is("  an unknown flag", EINVAL, alloc(provider, 1, page, 1, NULL));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_ALLOC, WRONG));
	call(node, NVME_ACCEL_P2P_PROVIDER, &p);
	is("  more than there is", ENOSPC, alloc(provider, 1, (p.size + (1 << 20)) & ~(page - 1), 0, NULL));
	is("  more in all than there is", ENOSPC, alloc(provider, 1024, 1 << 20, 0, NULL));
	is("  nothing was taken by that", 0, alloc(provider, 1, p.free / 2 & ~(page - 1), 0, &h));
	is("  there is no room for as much again and some", ENOSPC, alloc(provider, 2, p.free / 2 & ~(page - 1), 0, NULL));
	is("FREE", 0, release(h));
	is("  twice", ENOENT, release(h));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_FREE, WRONG));
	is("  padding", EINVAL, call(node, NVME_ACCEL_P2P_FREE, &(struct nvme_accel_p2p_free){ .handle = h, .pad = 1 }));
	for (n = 0, err = 0; n <= NVME_ACCEL_P2P_MAX_SETS; n++) {
		err = alloc(provider, 1, page, 0, &list[n]);
		if (err)
			break;
	}
	is("too many sets", EMFILE, err);
	is("  how many", NVME_ACCEL_P2P_MAX_SETS, n);
	while (n--)
		release(list[n]);
}

/* ---- Copies ---- */

static struct nvme_accel_p2p_extent one;
static struct nvme_accel_p2p_copy good(void)
{
	one = (struct nvme_accel_p2p_extent){ 0, 0, 1 << 20 };
	return (struct nvme_accel_p2p_copy){ .handle = handle, .src_fd = src, .dst_fd = dst, .extents = PTR(&one), .nr_extents = 1 };
}

static int wait_for(uint32_t job, struct nvme_accel_p2p_wait *w)
{
	*w = (struct nvme_accel_p2p_wait){ .job = job, .timeout_ms = 60000 };
	return call(node, NVME_ACCEL_P2P_WAIT, w);
}

/* What it says at once, or how it ended. */
static int copy(struct nvme_accel_p2p_copy c)
{
	struct nvme_accel_p2p_wait w;
	int err = call(node, NVME_ACCEL_P2P_COPY, &c);

	if (err)
		return err;
	err = wait_for(c.job, &w);
	return err ? -err : -w.error;
}

#define copy_with(field, value) ({ struct nvme_accel_p2p_copy c = good(); c.field = value; copy(c); })

static int copy_extent(uint64_t from, uint64_t to, uint64_t len)
{
	struct nvme_accel_p2p_copy c = good();

	one = (struct nvme_accel_p2p_extent){ from, to, len };
	return copy(c);
}

static void copies(void)
{
	struct nvme_accel_p2p_extent two[2] = { { 0, 0, 8192 }, { 1 << 20, 4096, 8192 } };
	struct nvme_accel_p2p_copy c = good();
	struct nvme_accel_p2p_wait w;
	int i, err = 0;

	is("COPY", 0, copy(c));
	is("  no such set", ENOENT, copy_with(handle, handle + 1000));
	is("  an unknown flag", EINVAL, copy_with(flags, 1));
	is("  padding", EINVAL, copy_with(pad, 1));
	is("  a reserved field", EINVAL, copy_with(reserved[1], 1));
	is("  no extents", EINVAL, copy_with(nr_extents, 0));
	is("  too many extents", E2BIG, copy_with(nr_extents, NVME_ACCEL_P2P_MAX_EXTENTS + 1));
	is("  extents nowhere", EFAULT, copy_with(extents, 8));
	is("  extents beyond memory", EFAULT, copy_with(nr_extents, 60000));
	is("  a source that is not open", EBADF, copy_with(src_fd, 9999));
	is("  no destination", EBADF, copy_with(dst_fd, -1));
	is("  a destination open for reading", EBADF, copy_with(dst_fd, dst_ro));
	is("  a source that is no disk", EOPNOTSUPP, copy_with(src_fd, null));
	is("  a source on another root port", EOPNOTSUPP, copy_with(src_fd, far));
	is("  a destination on another root port", EOPNOTSUPP, copy_with(dst_fd, far));
	is("  deeper than there are slots", EINVAL, copy_with(depth, 5));
	is("  chunks larger than slots", EINVAL, copy_with(chunk, 2 << 20));
	is("  chunks of no blocks", EINVAL, copy_with(chunk, 100));
	is("  small chunks", 0, copy_with(chunk, 4096));
	is("  nothing to copy", EINVAL, copy_extent(0, 0, 0));
	is("  not in blocks", EINVAL, copy_extent(0, 0, 100));
	is("  a source off its blocks", EINVAL, copy_extent(1, 0, 4096));
	is("  a destination off its blocks", EINVAL, copy_extent(0, 3, 4096));
	is("  beyond the source's end", ERANGE, copy_extent(1ull << 40, 0, 4096));
	is("  beyond the destination's end", ERANGE, copy_extent(0, 1ull << 40, 4096));
	is("  beyond the end of numbers", ERANGE, copy_extent(-4096ull, 0, 8192));
	c.extents = PTR(two);
	c.nr_extents = 2;
	is("  destinations that overlap", EINVAL, copy(c));
	c = good();
	c.src_fd = dst;
	one.dst_off = 4096;
	is("  source and destination that overlap on one disk", EINVAL, copy(c));
	c = good();
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_COPY, WRONG));
	one.len = 32 << 20;
	is("  a long one begins", 0, call(node, NVME_ACCEL_P2P_COPY, &c));
	i = c.job;
	is("  its slots are busy", EBUSY, call(node, NVME_ACCEL_P2P_COPY, &c));
	is("  its set cannot be freed", EBUSY, release(handle));
	is("CANCEL", 0, call(node, NVME_ACCEL_P2P_CANCEL, &(struct nvme_accel_p2p_cancel){ .job = i }));
	is("  padding", EINVAL, call(node, NVME_ACCEL_P2P_CANCEL, &(struct nvme_accel_p2p_cancel){ .job = i, .pad = 1 }));
	is("WAIT", 0, wait_for(i, &w));
	is("  cancelled", ECANCELED, -w.error);
	is("  is gone", ENOENT, wait_for(i, &w));
	is("CANCEL of what is gone", ENOENT, call(node, NVME_ACCEL_P2P_CANCEL, &(struct nvme_accel_p2p_cancel){ .job = i }));
	w = (struct nvme_accel_p2p_wait){ .pad = 1 };
	is("WAIT: padding", EINVAL, call(node, NVME_ACCEL_P2P_WAIT, &w));
	w = (struct nvme_accel_p2p_wait){ .status = 8 };
	is("  room of no size", EINVAL, call(node, NVME_ACCEL_P2P_WAIT, &w));
	w = (struct nvme_accel_p2p_wait){ .status_bytes = 5000 };
	is("  too much room", EINVAL, call(node, NVME_ACCEL_P2P_WAIT, &w));
	c = good();
	one.len = 32 << 20;
	c.timeout_ms = 1;
	c.chunk = 4096;
	err = copy(c);
	is("a time limit", ETIMEDOUT, err);
	is("mmap without tier 3", 1, mmap(NULL, page, PROT_READ, MAP_SHARED, node, 0) == MAP_FAILED);
}

/* ---- Jobs ---- */

static int exec_with(struct nvme_accel_p2p_exec e)
{
	return call(node, NVME_ACCEL_P2P_EXEC, &e);
}
#define EXEC(...) ((struct nvme_accel_p2p_exec){ .handle = handle, .src_fd = -1, .dst_fd = -1, .accel_fd = dst, .header = PTR(header), \
						 .header_bytes = 512, __VA_ARGS__ })

static void execs(void)
{
	char header[512] = "AJD1";

	is("EXEC: no such set", ENOENT, exec_with(EXEC(.handle = handle + 1000)));
	is("  no such slot", EINVAL, exec_with(EXEC(.slot = 99)));
	is("  an unknown flag", EINVAL, exec_with(EXEC(.flags = 1)));
	is("  a header of another size", EINVAL, exec_with(EXEC(.header_bytes = 100)));
	is("  a header nowhere", EFAULT, exec_with(EXEC(.header = 8)));
	is("  input without source", EINVAL, exec_with(EXEC(.in_bytes = 512)));
	is("  source of nothing", EINVAL, exec_with(EXEC(.src_fd = src)));
	is("  more input than source", EINVAL, exec_with(EXEC(.src_fd = src, .src_bytes = 4096, .in_bytes = 8192)));
	is("  room without destination", EINVAL, exec_with(EXEC(.dst_max = 4096)));
	is("  no room in the slot", ENOBUFS, exec_with(EXEC(.src_fd = src, .src_bytes = 1 << 20, .out_bytes = 4096)));
	is("  2^63 of output", ENOBUFS, exec_with(EXEC(.out_bytes = 1ull << 63)));
	is("  accelerator not open", EBADF, exec_with(EXEC(.accel_fd = -1)));
	is("  accelerator open for reading", EBADF, exec_with(EXEC(.accel_fd = dst_ro)));
	is("  accelerator elsewhere", EOPNOTSUPP, exec_with(EXEC(.accel_fd = far)));
	is("  written beyond its end", ERANGE, exec_with(EXEC(.write_off = 1ull << 50)));
	is("  read off its blocks", EINVAL, exec_with(EXEC(.read_off = 7)));
	is("  a wrong pointer", EFAULT, call(node, NVME_ACCEL_P2P_EXEC, WRONG));
	header[0] = 'X';
	is("  no descriptor", EINVAL, exec_with(EXEC()));
	is("the set is free again", 0, release(handle));
}

/* ---- At random ---- */

static uint64_t state;
static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t value(void)
{
	static const int fds[] = { -1, 0, 1, 9999 };
	const int mine[] = { node, src, dst, far, dst_ro, null };

	switch (rnd() % 8) {
	case 0:
		return mine[rnd() % 6];
	case 1:
		return fds[rnd() % 4];
	case 2:
		return rnd() % 64;
	case 3:
		return (rnd() % 64) * 4096;
	case 4:
		return 1ull << rnd() % 64;
	case 5:
		return PTR(&one);
	case 6:
		return provider;
	default:
		return rnd() % 4 ? 0 : rnd();
	}
}

/* Mostly right structures with a field or two that are not; the job that comes of it, if one does, is ended. */
static void one_call(void)
{
	static const unsigned long cmds[] = { NVME_ACCEL_P2P_GET_INFO, NVME_ACCEL_P2P_PROVIDER, NVME_ACCEL_P2P_VERDICT, NVME_ACCEL_P2P_ALLOC,
		NVME_ACCEL_P2P_FREE, NVME_ACCEL_P2P_COPY, NVME_ACCEL_P2P_EXEC, NVME_ACCEL_P2P_WAIT, NVME_ACCEL_P2P_CANCEL };
	unsigned long cmd = cmds[rnd() % 9];
	uint32_t words[128] = { 0 };
	uint32_t n = _IOC_SIZE(cmd) / 4, i, changes = rnd() % 4;

	if (cmd == NVME_ACCEL_P2P_COPY && rnd() % 2)
		*(struct nvme_accel_p2p_copy *)words = good();
	else if (rnd() % 2)
		for (i = 0; i < n; i++)
			words[i] = value();
	while (changes--)
		words[rnd() % n] = value();
	if (cmd == NVME_ACCEL_P2P_WAIT)
		words[1] %= 20;		/* milliseconds */
	one = (struct nvme_accel_p2p_extent){ value(), value(), value() };
	call(node, cmd, rnd() % 50 ? words : WRONG);
}

static void fuzz(unsigned long calls)
{
	struct nvme_accel_p2p_wait w;
	unsigned long i;
	uint32_t job;

	alloc(provider, 4, 1 << 20, 0, &handle);
	for (i = 0; i < calls; i++) {
		if (i % 500 == 499) {		/* what there is now ends with the file */
			close(node);
			node = open_node();
			alloc(provider, 4, 1 << 20, 0, &handle);
		}
		one_call();
	}
	close(node);
	node = open_node();
	is("after random calls: ALLOC", 0, alloc(provider, 4, 1 << 20, 0, &handle));
	is("  COPY", 0, copy(good()));
	for (job = 1; job < 4; job++)
		wait_for(job, &w);
}

int main(int argc, char *argv[])
{
	if (argc < 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	node = open_node();
	src = open_disk(argv[1], O_RDONLY);
	dst = open_disk(argv[2], O_RDWR);
	dst_ro = open_disk(argv[2], O_RDONLY);
	far = open_disk(argv[3], O_RDWR);
	null = open_disk("/dev/null", O_RDWR);
	state = argc > 5 ? strtoull(argv[5], NULL, 0) : 88172645463325252ull;
	provider = first_provider(node);
	info_and_list();
	verdicts();
	sets();
	alloc(provider, 4, 1 << 20, 0, &handle);
	copies();
	execs();
	fuzz(strtoul(argv[4], NULL, 0));
	return bad;
}
