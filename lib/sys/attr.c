/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "attr.h"
#include <fcntl.h>
#include <unistd.h>

bool attr_text(const char *dir, const char *name, char *text, size_t room)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	ssize_t n;

	text[0] = '\0';
	if (at < 0)
		return false;
	fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	close(at);
	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}
