/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctls of nvme-accel-p2pdma from a shell, for tests: prints NAME=VALUE.
 *
 * p2p info | list
 * p2p why PROVIDER DEVICE|PCI [test]      PROVIDER: an id, or 0 for the first
 * p2p copy SRC:OFF DST:OFF LENGTH [NAME=VALUE]...  slots, bytes (of a slot), provider, depth, chunk, timeout (ms), extents,
 *                                         seconds (again and again for so long; retries what ends with ESTALE), cancel (after ms)
 * p2p hold SLOTS BYTES                    allocates, says "held" and sleeps
 * p2p mark DEVICE BLOCK                   a Verify command of that block, for the emulator's trace, and no other command
 * p2p acs PCI [CONTROL]                   writes the ACS control of a bridge, and prints it
 * p2p load FILE                           loads a module
 * On a kernel with fault injection: with FAIL_NTH=N in the environment the N-th allocation fails that the kernel makes for what is
 * asked here, with FAIL_ANY=1 those that the injectors choose. What starts the program is spared.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/nvme_ioctl.h>
#include "p2p.h"

static const char *name_of(int err)
{
	return err ? strerrorname_np(err) ?: "?" : "0";
}

static int info(int f)
{
	struct nvme_accel_p2p_info i = { 0 };
	int err = call(f, NVME_ACCEL_P2P_GET_INFO, &i);

	if (err)
		die("GET_INFO", err);
	printf("version=%u features=%u tier=%u providers=%u extents=%u slots=%u sets=%u jobs=%u align=%llu\n", i.version, i.features,
	       i.tier, i.nr_providers, i.max_extents, i.max_slots, i.max_sets, i.max_jobs, i.slot_align);
	return 0;
}

static int list(int f)
{
	struct nvme_accel_p2p_provider p = { 0 };
	int err;

	while (!(err = call(f, NVME_ACCEL_P2P_PROVIDER, &p)))
		printf("id=%u pci=%s ctrl=%s kind=%u state=%u size=%llu free=%llu addr=0x%llx sets=%u jobs=%u in=%llu out=%llu memory=%llu "
		       "commands=%llu ok=%llu failed=%llu losses=%llu\n", p.id, p.pci, p.ctrl, p.kind, p.state, p.size, p.free, p.bar_addr,
		       p.sets, p.jobs, p.bytes_in, p.bytes_out, p.bytes_memory, p.commands, p.jobs_ok, p.jobs_failed, p.losses);
	return err != ENOENT;
}

static int why(int f, const char *provider, const char *device, int test)
{
	struct nvme_accel_p2p_verdict v = { .fd = -1, .provider = strtoul(provider, NULL, 0) ?: first_provider(f) };
	int err;

	if (*device == '/')
		v.fd = open_disk(device, O_RDONLY);
	else
		snprintf(v.pci, sizeof(v.pci), "%s", device);
	if (test)
		v.flags = NVME_ACCEL_P2P_VERDICT_TEST;
	err = call(f, NVME_ACCEL_P2P_VERDICT, &v);
	if (err && !v.text[0])
		die("VERDICT", err);
	printf("allowed=%u reason=%u path=%u iommu=%u selftest=%u distance=%u pci=%s common=%s acs=%s error=%s text=%s\n", v.allowed,
	       v.reason, v.path, v.iommu, v.selftest, v.distance, v.pci, v.common, v.acs_at, name_of(err), v.text);
	return 0;
}

/* ---- Copies ---- */

struct options {
	uint64_t slots, bytes, provider, depth, chunk, timeout, extents, seconds, cancel;
};

static void option(struct options *o, char *word)
{
	static const char *const names[] = { "slots", "bytes", "provider", "depth", "chunk", "timeout", "extents", "seconds", "cancel" };
	char *value = strchr(word, '=');
	unsigned int i;

	for (i = 0; value && i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(word, names[i], value - word) && !names[i][value - word]) {
			(&o->slots)[i] = strtoull(value + 1, NULL, 0);
			return;
		}
	die(word, EINVAL);
}

static int open_place(char *word, int flags, uint64_t *off)
{
	char *colon = strrchr(word, ':');

	if (!colon)
		die(word, EINVAL);
	*colon = 0;
	*off = strtoull(colon + 1, NULL, 0);
	return open_disk(word, flags);
}

/* The range in so many pieces, the last one first. */
static struct nvme_accel_p2p_extent *cut(uint64_t src, uint64_t dst, uint64_t len, uint64_t n)
{
	struct nvme_accel_p2p_extent *e = calloc(n, sizeof(*e));
	uint64_t size = len / n / 4096 * 4096, i;

	if (!e)
		die("memory", ENOMEM);
	for (i = 0; i < n; i++)
		e[n - 1 - i] = (struct nvme_accel_p2p_extent){ src + i * size, dst + i * size, i + 1 < n ? size : len - i * size };
	return e;
}

static struct nvme_accel_p2p_wait run(int f, struct nvme_accel_p2p_copy *c, uint64_t cancel)
{
	struct nvme_accel_p2p_wait w = { 0 };
	struct nvme_accel_p2p_cancel stop = { 0 };
	int err = call(f, NVME_ACCEL_P2P_COPY, c);

	if (err)
		die("COPY", err);
	stop.job = w.job = c->job;
	if (cancel) {
		usleep(cancel * 1000);
		err = call(f, NVME_ACCEL_P2P_CANCEL, &stop);
		if (err)
			die("CANCEL", err);
	}
	do {
		memset(&w, 0, sizeof(w));
		w.job = c->job;
		w.timeout_ms = 1000;
		err = call(f, NVME_ACCEL_P2P_WAIT, &w);
		if (err)
			die("WAIT", err);
	} while (w.state == NVME_ACCEL_P2P_JOB_RUNNING);
	return w;
}

static uint32_t alloc(int f, const struct options *o)
{
	struct nvme_accel_p2p_alloc a = { .provider = o->provider ?: first_provider(f), .nr_slots = o->slots, .slot_bytes = o->bytes };
	int err = call(f, NVME_ACCEL_P2P_ALLOC, &a);

	if (err)
		die("ALLOC", err);
	return a.handle;
}

static int copy(int f, char *argv[])
{
	struct options o = { .slots = 8, .bytes = 1 << 20, .extents = 1 };
	uint64_t src, dst, len = strtoull(argv[2], NULL, 0), runs = 0, lost = 0;
	struct nvme_accel_p2p_copy c = { 0 };
	struct nvme_accel_p2p_wait w;
	time_t end;
	int i;

	for (i = 3; argv[i]; i++)
		option(&o, argv[i]);
	c.src_fd = open_place(argv[0], O_RDONLY, &src);
	c.dst_fd = open_place(argv[1], O_RDWR, &dst);
	c.extents = PTR(cut(src, dst, len, o.extents));
	c.nr_extents = o.extents;
	c.depth = o.depth;
	c.chunk = o.chunk;
	c.timeout_ms = o.timeout;
	c.handle = alloc(f, &o);
	end = time(NULL) + o.seconds;
	do {
		w = run(f, &c, o.cancel);
		runs++;
		lost += w.error == -ESTALE;
	} while ((!w.error || w.error == -ESTALE) && time(NULL) < end);
	printf("state=%u error=%s where=%u total=%llu done=%llu in=%llu out=%llu memory=%llu commands=%llu ns=%llu runs=%lu lost=%lu\n",
	       w.state, name_of(-w.error), w.where, w.bytes_total, w.bytes_done, w.bytes_in, w.bytes_out, w.bytes_memory, w.commands,
	       w.elapsed_ns, runs, lost);
	return w.state != NVME_ACCEL_P2P_JOB_OK;
}

static int hold(int f, const char *slots, const char *bytes)
{
	struct options o = { .slots = strtoull(slots, NULL, 0), .bytes = strtoull(bytes, NULL, 0) };

	alloc(f, &o);
	puts("held");
	fflush(stdout);
	pause();
	return 0;
}

static int mark(const char *device, const char *block)
{
	struct nvme_passthru_cmd cmd = { .opcode = 0x0c, .cdw10 = strtoul(block, NULL, 0) };
	int disk = open_disk(device, O_RDONLY), nsid = ioctl(disk, NVME_IOCTL_ID);

	cmd.nsid = nsid;
	return nsid < 0 || ioctl(disk, NVME_IOCTL_IO_CMD, &cmd);
}

/* PCI Express Base Specification, Access Control Services extended capability: id 000dh, control 6 bytes behind it. */
static int acs(const char *pci, const char *control)
{
	uint32_t head = 0, at = 0x100;
	uint16_t value = control ? strtoul(control, NULL, 0) : 0;
	char path[128];
	int f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", pci);
	f = open_disk(path, O_RDWR);
	while (pread(f, &head, 4, at) == 4 && (head & 0xffff) != 0xd && head >> 20 > at)
		at = head >> 20;
	if ((head & 0xffff) != 0xd || (control && pwrite(f, &value, 2, at + 6) != 2) || pread(f, &value, 2, at + 6) != 2)
		die("no ACS", ENODEV);
	printf("0x%02x\n", value);
	return 0;
}

static int injector = -1;

/* What ends the program is spared, too. */
static void disarm(void)
{
	if (injector >= 0 && write(injector, "0", 1) < 0)
		injector = -1;
}

/* All of the program is in memory before, as the file system that it comes from would fail, and not forget it. */
static void arm(void)
{
	const char *nth = getenv("FAIL_NTH"), *any = getenv("FAIL_ANY");

	if (!nth && !any)
		return;
	injector = open(nth ? "/proc/self/fail-nth" : "/proc/self/make-it-fail", O_WRONLY | O_CLOEXEC);
	if (injector < 0 || mlockall(MCL_CURRENT | MCL_FUTURE) || atexit(disarm) ||
	    write(injector, nth ?: any, strlen(nth ?: any)) < 0)
		die("fault injection", errno);
}

static int load(const char *path)
{
	int f = open_disk(path, O_RDONLY);
	struct stat st;
	void *image;

	if (fstat(f, &st))
		die(path, errno);
	image = malloc(st.st_size);
	if (!image || read(f, image, st.st_size) != st.st_size)
		die(path, EIO);
	arm();
	if (syscall(SYS_init_module, image, st.st_size, ""))
		die("init_module", errno);
	return 0;
}

int main(int argc, char *argv[])
{
	const char *verb = argc > 1 ? argv[1] : "";
	int f;

	if (!strcmp(verb, "acs") && argc >= 3)
		return acs(argv[2], argv[3]);
	if (!strcmp(verb, "load") && argc == 3)
		return load(argv[2]);
	if (!strcmp(verb, "mark") && argc == 4)
		return mark(argv[2], argv[3]);
	f = open_node();
	arm();
	if (!strcmp(verb, "info"))
		return info(f);
	if (!strcmp(verb, "list"))
		return list(f);
	if (!strcmp(verb, "why") && argc >= 4)
		return why(f, argv[2], argv[3], argc > 4);
	if (!strcmp(verb, "copy") && argc >= 5)
		return copy(f, argv + 2);
	if (!strcmp(verb, "hold") && argc == 4)
		return hold(f, argv[2], argv[3]);
	fprintf(stderr, "p2p: what?\n");
	return 2;
}
