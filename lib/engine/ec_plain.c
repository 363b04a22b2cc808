// SPDX-License-Identifier: BSD-2-Clause
/* GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1 in plain C: the oracle of the erasure coding family. */
#include "ec.h"

static uint8_t plain_mul(uint8_t a, uint8_t b)
{
	uint8_t r = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			r ^= a;
		a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1d : 0));
	}
	return r;
}

/* a^254: the group of the field has 255 elements. */
static uint8_t plain_inv(uint8_t a)
{
	uint8_t r = 1;
	int i;

	for (i = 0; i < 7; i++) {
		a = plain_mul(a, a);
		r = plain_mul(r, a);
	}
	return r;
}

const struct ec_field ec_field_plain = { plain_mul, plain_inv };

static void mul_add(uint8_t c, const uint8_t *src, uint8_t *dst, size_t len)
{
	uint8_t product[256];
	unsigned int v;
	size_t i;

	for (v = 0; v < 256; v++)
		product[v] = plain_mul(c, (uint8_t)v);
	for (i = 0; i < len; i++)
		dst[i] ^= product[src[i]];
}

static void plain_kernel(const struct ec_plan *p, unsigned int first, unsigned int n, size_t len, uint8_t **src,
			 uint8_t **dst)
{
	unsigned int i, j;

	for (i = 0; i < n; i++) {
		memset(dst[i], 0, len);
		for (j = 0; j < p->req.nsrc; j++)
			mul_add(p->coef[(first + i) * p->req.nsrc + j], src[j], dst[i], len);
	}
}

const struct ec_backend ec_plain = { &ec_field_plain, plain_kernel, NULL };
