// SPDX-License-Identifier: BSD-2-Clause
/* Erasure coding by ISA-L, which picks its kernels by the processor (AVX2, AVX-512, GFNI). */
#include <isa-l.h>
#include "ec.h"

static uint8_t isal_mul(uint8_t a, uint8_t b)
{
	return gf_mul(a, b);
}

static uint8_t isal_inv(uint8_t a)
{
	return gf_inv(a);
}

static const struct ec_field isal_field = { isal_mul, isal_inv };

static int aligned32(uint8_t **p, unsigned int n)
{
	uintptr_t any = 0;

	while (n--)
		any |= (uintptr_t)p[n];
	return !(any & 31);
}

/*
 * ISA-L's kernel for plain XOR, several times as fast as the general one, wants aligned buffers in one array;
 * returns the bytes done. (Its kernel for P+Q is slower than the general one and not used.)
 */
static size_t xor_only(const struct ec_plan *p, size_t len, uint8_t **src, uint8_t **dst)
{
	void *all[EC_MAX];
	unsigned int k = p->req.nsrc;

	len &= ~(size_t)31;
	if (!len || k < 2 || !aligned32(src, k) || !aligned32(dst, 1))
		return 0;
	memcpy(all, src, k * sizeof(*all));
	all[k] = dst[0];
	return xor_gen((int)(k + 1), (int)len, all) ? 0 : len;
}

static void isal_kernel(const struct ec_plan *p, unsigned int first, unsigned int n, size_t len, uint8_t **src,
			uint8_t **dst)
{
	uint8_t *s[EC_MAX], *d[EC_MAX], *tables = p->tables + (size_t)32 * first * p->req.nsrc;
	unsigned int i;
	size_t done = 0;

	/* A decode of XOR is the same sum over the survivors; an update is not. */
	if (p->req.alg == NVME_ACCEL_ALG_XOR && p->req.op != NVME_ACCEL_OP_EC_UPDATE)
		done = xor_only(p, len, src, dst);
	if (done == len)
		return;
	for (i = 0; i < p->req.nsrc; i++)
		s[i] = src[i] + done;
	for (i = 0; i < n; i++)
		d[i] = dst[i] + done;
	ec_encode_data((int)(len - done), (int)p->req.nsrc, (int)n, tables, s, d);
}

static void isal_tables(const uint8_t *coef, unsigned int nsrc, unsigned int nrow, uint8_t *tables)
{
	ec_init_tables((int)nsrc, (int)nrow, (unsigned char *)(uintptr_t)coef, tables);
}

const struct ec_backend ec_fast = { &isal_field, isal_kernel, isal_tables };
