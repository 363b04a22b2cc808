/* SPDX-License-Identifier: BSD-2-Clause */
/* Clock, medians and lines of the report: what the parts of bench_tcp share. */
#ifndef BENCH_TCP_UTIL_H
#define BENCH_TCP_UTIL_H

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define BENCH_CONGESTION "cubic"
#define POLL_US	   1000u	/* longest spin, of either side, where polling is compared */
#define MAX_ROUNDS 31

static double wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_tcp: %s\n", what);
	exit(1);
}

static inline void check(int ok, const char *what)
{
	if (!ok)
		fail(what);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts v. */
static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* The two sides of a comparison, a value a round each. */
struct pairs {
	unsigned int n;
	double ours[MAX_ROUNDS], theirs[MAX_ROUNDS];
};

static void pairs_add(struct pairs *p, double ours, double theirs)
{
	p->ours[p->n] = ours;
	p->theirs[p->n++] = theirs;
}

/* Median of the ratios, pair by pair, with the middle half of them; then the median of each side, in unit. */
static void pairs_print(struct pairs *p, const char *what, const char *peer, const char *unit, double per_unit)
{
	double ratio[MAX_ROUNDS], mid;
	unsigned int i;

	for (i = 0; i < p->n; i++)
		ratio[i] = p->ours[i] / p->theirs[i];
	mid = median(ratio, p->n);
	printf("  %-46s %6.2f of %-24s (%.2f..%.2f)  %9.1f / %9.1f %s\n", what, mid, peer, ratio[p->n / 4],
	       ratio[p->n - 1 - p->n / 4], median(p->ours, p->n) / per_unit, median(p->theirs, p->n) / per_unit, unit);
	fflush(stdout);
}

/*
 * Where the two ends of a ping-pong sit decides more than what they do: a wake-up on the same processor is some
 * microseconds, on another that sleeps tens. So both comparisons have their ends in the same places.
 */
enum place { PLACE_ANY, PLACE_ONE_CPU, PLACE_TWO_CPUS };

/* The n-th processor that the process may use; -1: it has no more than n. */
static int nth_cpu(const cpu_set_t *allowed, int n)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && !n--)
			return cpu;
	return -1;
}

/* All threads of a process. */
static void pin(pid_t pid, const cpu_set_t *set)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			sched_setaffinity(atoi(e->d_name), sizeof(*set), set);
	if (dir)
		closedir(dir);
}

/* us goes to the first processor, the peers to the first or the second; PLACE_ANY: all go where they like. */
static void place(enum place where, const cpu_set_t *allowed, pid_t us, pid_t peer1, pid_t peer2)
{
	int cpu = nth_cpu(allowed, where == PLACE_TWO_CPUS);
	cpu_set_t first = *allowed, other = *allowed;

	if (where != PLACE_ANY) {
		CPU_ZERO(&first);
		CPU_SET(nth_cpu(allowed, 0), &first);
		CPU_ZERO(&other);
		CPU_SET(cpu >= 0 ? cpu : nth_cpu(allowed, 0), &other);
	}
	pin(us, &first);
	pin(peer1, &other);
	pin(peer2, &other);
}

#endif
