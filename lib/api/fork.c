// SPDX-License-Identifier: BSD-2-Clause
/*
 * Telling a child of fork() from the process that made a handle. A page that the kernel clears in the child
 * makes the question one load; where there is no such page the process id answers it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "api.h"

int fork_mark_init(struct fork_mark *mark)
{
	void *p;

	mark->pid = getpid();
	mark->alive = NULL;
	p = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	if (madvise(p, sizeof(uint32_t), MADV_WIPEONFORK)) {
		munmap(p, sizeof(uint32_t));
		return 0;
	}
	mark->alive = p;
	*mark->alive = 1;
	return 0;
}

void fork_mark_fini(struct fork_mark *mark)
{
	if (mark->alive)
		munmap((void *)(uintptr_t)mark->alive, sizeof(uint32_t));
	mark->alive = NULL;
}

bool fork_mark_stale(const struct fork_mark *mark)
{
	if (mark->alive)
		return *mark->alive == 0;
	return getpid() != mark->pid;
}
