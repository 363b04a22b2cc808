/* SPDX-License-Identifier: BSD-2-Clause */
/* Clock, medians and lines of the report: what the parts of bench_tcp share. */
#ifndef BENCH_TCP_UTIL_H
#define BENCH_TCP_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#endif
