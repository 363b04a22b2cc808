/* SPDX-License-Identifier: BSD-2-Clause */
/* Latencies in bins of less than 1.6% width, so that a percentile needs no list of samples. */
#ifndef ACCEL_BENCH_HIST_H
#define ACCEL_BENCH_HIST_H

#include <stdint.h>

enum { HIST_SUB = 64, HIST_NBIN = HIST_SUB * 36 };

struct bench_hist {
	uint64_t n, sum, max;
	uint64_t bin[HIST_NBIN];
};

void bench_hist_add(struct bench_hist *h, uint64_t ns);
void bench_hist_merge(struct bench_hist *h, const struct bench_hist *from);
/* The value below or at which the part q (0..1) of the samples lies; 0 without samples. */
uint64_t bench_hist_at(const struct bench_hist *h, double q);

#endif
