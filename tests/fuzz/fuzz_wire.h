/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzz targets of lib/wire share. Inputs are pages. Random bytes hardly ever carry a right CRC, so
 * the mutator begins from what an encoder made of a random structure, and each target decodes an input as it
 * is and once more with its checksums made right.
 */
#ifndef TESTS_FUZZ_WIRE_H
#define TESTS_FUZZ_WIRE_H

#include <stdlib.h>
#define WIRE_SAMPLES_FAST
#include "../unit/wire_samples.h"

#define CHECK(cond) ((cond) ? (void)0 : __builtin_trap())

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each target's: a page of one of its kinds, its length returned. */
static size_t fresh(uint64_t *state, uint8_t *page);

#define PAGE_MAX 4096

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
	uint8_t page[PAGE_MAX];
	int i;

	if (size < 64 || rnd_below(&state, 16) == 0) {
		size = fresh(&state, page);
		if (size > max_size)
			size = max_size;
		memcpy(data, page, size);
		return size;
	}
	if (rnd_below(&state, 8) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	/* Mostly a few bytes in place: a page whose length changed is refused for that alone. */
	for (i = (int)rnd_below(&state, 6); i >= 0; i--) {
		size_t at = rnd_below(&state, size < 768 ? size : 768);

		data[at] = (uint8_t)(rnd(&state) & 1 ? rnd(&state) : data[at] ^ 1u << rnd_below(&state, 8));
	}
	return size;
}

/* A copy that ends where its allocation ends, padded with zeros to at least min. */
static uint8_t *exact_copy(const uint8_t *data, size_t size, size_t min)
{
	size_t n = size < min ? min : size;
	uint8_t *p = calloc(1, n ? n : 1);

	if (!p)
		abort();
	if (size)
		memcpy(p, data, size);
	return p;
}

#endif
