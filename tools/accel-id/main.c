/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accel_id: tells udev whether a node is an NVMe accelerator, and which one. Prints properties and exits with 0, or
 * prints nothing and exits with 1 for whatever else it is. The node is opened for reading only.
 *
 * An accelerator is what says so in Identify Namespace and in its block at 1 MiB; or, where the vendor's bytes of
 * Identify are lost on the way (a plain export of a block device), what has the block, a quiet head and a clock that
 * runs. A disk that blocks of an accelerator have been copied to has no such clock and stays a disk.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <linux/nvme_ioctl.h>
#include "../../lib/wire/wire.h"

#define PAGE		NVME_ACCEL_PAGE
#define IDENTIFY	0x06
#define READ		0x02
#define TIMEOUT_S	20
#define CLOCK_LOOKS	50
#define BLOCK_DEFAULT	512u

struct node {
	int fd;
	int nsid;			/* <= 0: not the NVMe driver's */
	bool generic;			/* a character device: commands instead of reads */
	uint8_t *page;			/* PAGE bytes, aligned */
};

static bool identify(const struct node *n, void *page)
{
	struct nvme_passthru_cmd cmd = { .opcode = IDENTIFY, .nsid = (uint32_t)n->nsid, .data_len = PAGE };

	cmd.addr = (uint64_t)(uintptr_t)page;
	return n->nsid > 0 && ioctl(n->fd, NVME_IOCTL_ADMIN_CMD, &cmd) == 0;
}

static bool read_page(const struct node *n, uint64_t off, uint32_t block)
{
	struct nvme_passthru_cmd cmd = { .opcode = READ, .nsid = (uint32_t)n->nsid, .data_len = PAGE };
	uint64_t lba = off / block;

	if (!n->generic)
		return pread(n->fd, n->page, PAGE, (off_t)off) == (ssize_t)PAGE;
	cmd.addr = (uint64_t)(uintptr_t)n->page;
	cmd.cdw10 = (uint32_t)lba;
	cmd.cdw11 = (uint32_t)(lba >> 32);
	cmd.cdw12 = PAGE / block - 1;
	return ioctl(n->fd, NVME_IOCTL_IO_CMD, &cmd) == 0;
}

/* Of the format in use, from Identify Namespace. */
static uint32_t block_of(const uint8_t *page)
{
	unsigned int format = (page[26] & 0xf) | (page[26] >> 1 & 0x30), shift = page[128 + 4 * format + 2];

	return shift >= 9 && shift <= 12 ? 1u << shift : BLOCK_DEFAULT;
}

static bool uptime(const struct node *n, const struct wire_id *id, uint64_t *ns)
{
	const struct nvme_accel_stats *s = (const void *)n->page;

	if (!(id->feat & NVME_ACCEL_FEAT_STATS) || !read_page(n, id->stats_off, 1u << id->lbadsx))
		return false;
	*ns = le64_get(&s->uptime_ns);
	return memcmp(s->magic, NVME_ACCEL_STATS_MAGIC, 4) == 0;
}

static bool lives(const struct node *n, const struct wire_id *id)
{
	struct timespec pause = { 0, 2000000 };
	uint64_t first, now;
	int i;

	if (!read_page(n, 0, 1u << id->lbadsx) || !mem_is_zero(n->page, PAGE) || !uptime(n, id, &first))
		return false;
	for (i = 0; i < CLOCK_LOOKS; i++) {
		nanosleep(&pause, NULL);
		if (!uptime(n, id, &now))
			return false;
		if (now > first)
			return true;
	}
	return false;
}

static bool is_accelerator(const struct node *n, struct wire_id *id)
{
	uint8_t ident[PAGE];
	bool asked = identify(n, ident), has = asked && wire_id_present(ident);

	if (!read_page(n, NVME_ACCEL_QUIET, asked ? block_of(ident) : BLOCK_DEFAULT))
		return false;
	if (!wire_id_present(n->page) || wire_id_decode(id, n->page) || id->info_off != NVME_ACCEL_QUIET)
		return false;
	if (has)
		return memcmp(ident + NVME_ACCEL_ID_OFF, n->page + NVME_ACCEL_ID_OFF, NVME_ACCEL_HDRLEN) == 0;
	return lives(n, id);
}

static bool node_open(struct node *n, const char *path)
{
	void *page = NULL;
	struct stat st;

	n->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (n->fd < 0 || fstat(n->fd, &st) || (!S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode)))
		return false;
	n->generic = S_ISCHR(st.st_mode);
	n->nsid = ioctl(n->fd, NVME_IOCTL_ID);
	if (n->generic && n->nsid <= 0)
		return false;
	if (!n->generic && fcntl(n->fd, F_SETFL, O_DIRECT))
		return false;
	if (posix_memalign(&page, PAGE, PAGE))
		return false;
	n->page = page;
	return true;
}

/* What would mean something to udev or to a shell is none of a property's business. */
static void print_text(const char *key, const char *text)
{
	printf("%s=", key);
	for (; *text; text++)
		putchar((*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
				(*text >= 'a' && *text <= 'z') || strchr(" .,:+_-/", *text) ?
			*text :
			'_');
	putchar('\n');
}

/* As accel list calls it. */
static const char *type_name(unsigned int type, char number[16])
{
	static const char *const names[] = { NULL, "compression", "erasure", "cipher", "digest", "checksum",
					     "program", NULL, "data", "multi" };

	if (type < sizeof(names) / sizeof(names[0]) && names[type])
		return names[type];
	snprintf(number, 16, "%u", type);
	return number;
}

static void print(const struct wire_id *id)
{
	const uint8_t *u = id->uuid;
	char number[16];

	puts("ACCEL=1");
	printf("ACCEL_UUID=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", u[0], u[1], u[2],
	       u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	print_text("ACCEL_NAME", id->name);
	print_text("ACCEL_TYPE", type_name(id->type, number));
}

int main(int argc, char **argv)
{
	static struct wire_id id;
	struct node n = { .fd = -1 };

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: accel_id NODE\n");
		return 2;
	}
	alarm(TIMEOUT_S);		/* a device that does not answer is none */
	if (!node_open(&n, argv[1]) || !is_accelerator(&n, &id))
		return 1;
	print(&id);
	return fflush(stdout) ? 1 : 0;
}
