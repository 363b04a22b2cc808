/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says of the threads of this process; for its first thread to ask. */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include "api_util.h"

/* Their number; how many of the others are not asleep. */
static inline unsigned int threads_count(unsigned int *awake)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], stat[256], *end;
	unsigned int n = 0;
	struct dirent *e;
	FILE *f;

	assert_non_null(dir);
	*awake = 0;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		if (atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", e->d_name);
		f = fopen(path, "re");
		end = f && fgets(stat, sizeof(stat), f) ? strrchr(stat, ')') : NULL;
		*awake += end && end[1] == ' ' && end[2] != 'S';
		if (f)
			fclose(f);
	}
	closedir(dir);
	return n;
}

/*
 * Until all others sleep: the allocator of a sanitizer is not made for a fork() while one of them is in it. Whatever
 * they do has been begun, and they do nothing of themselves.
 */
static inline void threads_rest(void)
{
	unsigned int i, awake = 1;

	for (i = 0; i < 2000 && awake; i++) {
		sleep_ms(10);
		threads_count(&awake);
	}
	assert_int_equal(awake, 0);
}

/* A thread that has been joined is still counted for a moment. */
static inline void threads_gone(unsigned int want)
{
	unsigned int i, awake;

	for (i = 0; i < 2000 && threads_count(&awake) > want; i++)
		sleep_ms(5);
	assert_int_equal(threads_count(&awake), want);
}

/* The exit status of a child that has this long; it is ended after that. */
static inline int child_status(pid_t pid, unsigned int seconds)
{
	unsigned int i;
	int status = 0;

	for (i = 0; i < 100 * seconds; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sleep_ms(10);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	print_error("a child does not end within %u s\n", seconds);
	return status;
}

#endif
