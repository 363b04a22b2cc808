// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who this host is to controllers. The same as to the inbox initiator where that has been told; else the same at
 * every start, made from the machine's id (which is not shown: a digest of it is); else, on a machine without one,
 * something random for this instance.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../engine/digest.h"
#include "../nvmetcp/nvme.h"
#include "hostid.h"

#define NQN_UUID "nqn.2014-08.org.nvmexpress:uuid:"

/* The first line of a file, without its end; false: not there, empty or too long. */
static bool line(const char *dir, const char *name, char *text, size_t room)
{
	char path[512];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, text, room);
	close(fd);
	if (n <= 0 || n >= (ssize_t)room)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	for (n = (ssize_t)strlen(text); n > 0 && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	return n > 0;
}

/* Whether the file has anything in it; one that may not be read has. */
static bool is_there(const char *dir, const char *name)
{
	char path[512];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) && !stat(path, &st) && st.st_size;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 digits, with or without the hyphens of a UUID, and nothing else. */
static bool parse_id(const char *text, uint8_t id[16])
{
	bool hyphens = strlen(text) == 36;
	unsigned int i, n = 0;

	for (i = 0; text[i]; i++) {
		if (hyphens && (i == 8 || i == 13 || i == 18 || i == 23)) {
			if (text[i] != '-')
				return false;
			continue;
		}
		if (hex(text[i]) < 0 || n == 32)
			return false;
		id[n / 2] = (uint8_t)(id[n / 2] << 4 | hex(text[i]));
		n++;
	}
	return n == 32 && !mem_is_zero(id, 16);
}

static bool nqn_ok(const char *nqn)
{
	size_t i, n = strlen(nqn);

	if (n <= 4 || n > NVME_NQN_MAX || strncmp(nqn, "nqn.", 4) != 0)
		return false;
	for (i = 0; i < n; i++)
		if (nqn[i] < 0x21 || nqn[i] > 0x7e)
			return false;
	return true;
}

static bool random_id(uint8_t id[16])
{
	return getrandom(id, 16, 0) == 16;
}

static void make_id(const char *etc, uint8_t id[16])
{
	static const char salt[] = "NVMe accelerator host id";
	struct plain_digest d;
	uint8_t digest[64];
	char text[64];

	if (line(etc, "machine-id", text, sizeof(text)) && parse_id(text, id)) {
		plain_digest_init(&d, NVME_ACCEL_ALG_SHA256);
		plain_digest_update(&d, salt, sizeof(salt));
		plain_digest_update(&d, id, 16);
		plain_digest_final(&d, digest);
		memcpy(id, digest, 16);
	} else if (!random_id(id)) {
		memset(id, 0xff, 16);
	}
	id[6] = (id[6] & 0x0f) | 0x80;		/* a UUID of one's own making (version 8) */
	id[8] = (id[8] & 0x3f) | 0x80;
}

const char *hostid_read(const char *etc, char nqn[NVME_NQN_MAX + 1], uint8_t id[16])
{
	char text[NVME_NQN_FIELD + 2];
	const char *bad = NULL;
	bool have_nqn, have_id;

	have_nqn = line(etc, "nvme/hostnqn", text, sizeof(text)) && nqn_ok(text);
	if (have_nqn)
		strcpy(nqn, text);
	else if (is_there(etc, "nvme/hostnqn"))
		bad = "nvme/hostnqn";
	have_id = line(etc, "nvme/hostid", text, sizeof(text)) && parse_id(text, id);
	if (!have_id && !bad && is_there(etc, "nvme/hostid"))
		bad = "nvme/hostid";
	if (!have_id && have_nqn && strncmp(nqn, NQN_UUID, strlen(NQN_UUID)) == 0)
		have_id = parse_id(nqn + strlen(NQN_UUID), id);
	if (!have_id)
		make_id(etc, id);
	if (!have_nqn)
		snprintf(nqn, NVME_NQN_MAX + 1,
			 NQN_UUID "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0], id[1],
			 id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
			 id[15]);
	return bad;
}
