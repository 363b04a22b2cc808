/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench_hist.h"

/* Values below HIST_SUB have a bin each; above, every power of two is divided into HIST_SUB bins. */
static unsigned int bin_of(uint64_t v)
{
	unsigned int shift, i;

	if (v < HIST_SUB)
		return (unsigned int)v;
	shift = 63u - (unsigned int)__builtin_clzll(v) - 6;
	i = HIST_SUB * (shift + 1) + (unsigned int)(v >> shift) - HIST_SUB;
	return i < HIST_NBIN ? i : HIST_NBIN - 1;
}

/* The largest value of a bin. */
static uint64_t top_of(unsigned int i)
{
	unsigned int shift;

	if (i < HIST_SUB)
		return i;
	shift = i / HIST_SUB - 1;
	return ((uint64_t)(HIST_SUB + i % HIST_SUB + 1) << shift) - 1;
}

void bench_hist_add(struct bench_hist *h, uint64_t ns)
{
	h->n++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
	h->bin[bin_of(ns)]++;
}

void bench_hist_merge(struct bench_hist *h, const struct bench_hist *from)
{
	h->n += from->n;
	h->sum += from->sum;
	if (from->max > h->max)
		h->max = from->max;
	for (unsigned int i = 0; i < HIST_NBIN; i++)
		h->bin[i] += from->bin[i];
}

uint64_t bench_hist_at(const struct bench_hist *h, double q)
{
	uint64_t rank = (uint64_t)(q * (double)h->n), seen = 0;

	if (!h->n)
		return 0;
	if (rank >= h->n)
		rank = h->n - 1;
	for (unsigned int i = 0; i < HIST_NBIN; i++) {
		seen += h->bin[i];
		if (seen > rank)
			return top_of(i) < h->max ? top_of(i) : h->max;
	}
	return h->max;
}
