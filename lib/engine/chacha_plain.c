// SPDX-License-Identifier: BSD-2-Clause
/* ChaCha20 and Poly1305 (RFC 8439) in plain C. */
#include "../base/bits.h"
#include "cipher_plain.h"

static uint32_t rol(uint32_t v, unsigned int n)
{
	return v << n | v >> (32 - n);
}

static void quarter(uint32_t *x, unsigned int a, unsigned int b, unsigned int c, unsigned int d)
{
	x[a] += x[b];
	x[d] = rol(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rol(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rol(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rol(x[b] ^ x[c], 7);
}

void plain_chacha20(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12], uint8_t out[64])
{
	uint32_t s[16], x[16];
	unsigned int i;

	for (i = 0; i < 4; i++)
		s[i] = le32_get(&"expand 32-byte k"[4 * i]);
	for (i = 0; i < 8; i++)
		s[4 + i] = le32_get(key + 4 * i);
	s[12] = counter;
	for (i = 0; i < 3; i++)
		s[13 + i] = le32_get(nonce + 4 * i);
	memcpy(x, s, sizeof(x));
	for (i = 0; i < 80; i++)	/* ten times four columns and four diagonals */
		if (i % 8 < 4)
			quarter(x, i % 4, 4 + i % 4, 8 + i % 4, 12 + i % 4);
		else
			quarter(x, i % 4, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
	for (i = 0; i < 16; i++)
		le32_put(out + 4 * i, x[i] + s[i]);
}

/* Numbers modulo 2^130 - 5 as five limbs of 26 bits. */
#define LIMB 0x3ffffffu

static void limbs(uint32_t *l, const uint8_t in[16], uint32_t top)
{
	uint64_t low = le64_get(in), high = le64_get(in + 8);

	l[0] = low & LIMB;
	l[1] = low >> 26 & LIMB;
	l[2] = (low >> 52 | high << 12) & LIMB;
	l[3] = high >> 14 & LIMB;
	l[4] = (uint32_t)(high >> 40) | top;
}

void plain_poly1305_key(struct plain_poly1305 *p, const uint8_t key[32])
{
	uint8_t r[16];
	unsigned int i;

	memcpy(r, key, 16);
	for (i = 3; i < 16; i += 4)
		r[i] &= 0x0f;
	for (i = 4; i < 16; i += 4)
		r[i] &= 0xfc;
	limbs(p->r, r, 0);
	for (i = 0; i < 4; i++)
		p->s[i] = le32_get(key + 16 + 4 * i);
	memset(p->h, 0, sizeof(p->h));
}

static void carry(uint32_t *h, const uint64_t *d)
{
	uint64_t c = 0;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		c += d[i];
		h[i] = c & LIMB;
		c >>= 26;
	}
	c = h[0] + c * 5;
	h[0] = c & LIMB;
	h[1] += (uint32_t)(c >> 26);
}

void plain_poly1305_block(struct plain_poly1305 *p, const uint8_t in[16])
{
	uint32_t m[5];
	uint64_t d[5] = { 0 };
	unsigned int i, j;

	limbs(m, in, 1u << 24);
	for (i = 0; i < 5; i++)
		m[i] += p->h[i];
	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++)
			d[(i + j) % 5] += (uint64_t)m[i] * p->r[j] * (i + j < 5 ? 1 : 5);
	carry(p->h, d);
}

void plain_poly1305_tag(struct plain_poly1305 *p, uint8_t tag[16])
{
	uint64_t d[5], word, c;
	uint32_t h[5], g[5];
	unsigned int i;

	for (i = 0; i < 5; i++)
		d[i] = p->h[i];
	carry(h, d);
	for (i = 0; i < 5; i++)
		d[i] = h[i];
	carry(h, d);
	/* h - p, by adding 5 and looking whether it reaches 2^130. */
	for (i = 0, c = 5; i < 5; i++, c >>= 26) {
		c += h[i];
		g[i] = c & LIMB;
	}
	if (c)
		memcpy(h, g, sizeof(h));
	for (i = 0, c = 0; i < 4; i++, c >>= 32) {
		word = (h[i] >> 6 * i | (uint64_t)h[i + 1] << (26 - 6 * i)) & UINT32_MAX;
		c += word + p->s[i];
		le32_put(tag + 4 * i, (uint32_t)c);
	}
}
