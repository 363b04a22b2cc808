// SPDX-License-Identifier: BSD-2-Clause
/* SHA-2 (FIPS 180-4), SHA-3 (FIPS 202) and BLAKE2b (RFC 7693) in plain C: to judge by, not to be fast. */
#include "digest.h"

/*
 * First 64 bits of the fractional parts of the cube roots of the first 80 primes (SHA-512); SHA-256 takes
 * the upper halves of the first 64.
 */
static const uint64_t sha2_k[80] = {
	0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
	0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
	0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
	0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
	0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
	0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
	0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
	0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
	0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
	0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
	0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
	0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
	0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
	0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
	0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
	0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

/* Likewise of the square roots of the first eight primes; BLAKE2b begins with them too. */
static const uint64_t sha2_iv[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint64_t keccak_rc[24] = {
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
	0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
	0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

static const uint8_t blake2_order[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint64_t ror64(uint64_t v, unsigned int n)
{
	return n ? v >> n | v << (64 - n) : v;
}

static uint32_t ror32(uint32_t v, unsigned int n)
{
	return v >> n | v << (32 - n);
}

static uint64_t be_get(const uint8_t *p, unsigned int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void be_put(uint8_t *p, uint64_t v, unsigned int n)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static void sha256_block(uint64_t *state, const uint8_t *p)
{
	uint32_t w[64], s[8], t1, t2;
	unsigned int i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)be_get(p + 4 * i, 4);
	for (; i < 64; i++)
		w[i] = w[i - 16] + (ror32(w[i - 15], 7) ^ ror32(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
		       (ror32(w[i - 2], 17) ^ ror32(w[i - 2], 19) ^ w[i - 2] >> 10);
	for (i = 0; i < 8; i++)
		s[i] = (uint32_t)state[i];
	for (i = 0; i < 64; i++) {
		t1 = s[7] + (ror32(s[4], 6) ^ ror32(s[4], 11) ^ ror32(s[4], 25)) +
		     ((s[4] & s[5]) ^ (~s[4] & s[6])) + (uint32_t)(sha2_k[i] >> 32) + w[i];
		t2 = (ror32(s[0], 2) ^ ror32(s[0], 13) ^ ror32(s[0], 22)) +
		     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		state[i] = (uint32_t)(state[i] + s[i]);
}

static void sha512_block(uint64_t *state, const uint8_t *p)
{
	uint64_t w[80], s[8], t1, t2;
	unsigned int i;

	for (i = 0; i < 16; i++)
		w[i] = be_get(p + 8 * i, 8);
	for (; i < 80; i++)
		w[i] = w[i - 16] + (ror64(w[i - 15], 1) ^ ror64(w[i - 15], 8) ^ w[i - 15] >> 7) + w[i - 7] +
		       (ror64(w[i - 2], 19) ^ ror64(w[i - 2], 61) ^ w[i - 2] >> 6);
	memcpy(s, state, sizeof(s));
	for (i = 0; i < 80; i++) {
		t1 = s[7] + (ror64(s[4], 14) ^ ror64(s[4], 18) ^ ror64(s[4], 41)) +
		     ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha2_k[i] + w[i];
		t2 = (ror64(s[0], 28) ^ ror64(s[0], 34) ^ ror64(s[0], 39)) +
		     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		state[i] += s[i];
}

static void keccak_round(uint64_t *a, uint64_t rc)
{
	uint64_t c[5], b, carry = a[1];
	unsigned int x, y, i, t, at = 1, turn = 0;

	for (x = 0; x < 5; x++)
		c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
	for (i = 0; i < 25; i++)
		a[i] ^= c[(i + 4) % 5] ^ ror64(c[(i + 1) % 5], 63);
	carry = a[1];
	for (x = 1, y = 0, i = 0; i < 24; i++) {	/* the lanes' walk; lane (x, y) goes to (y, 2x + 3y) */
		turn += i + 1;
		t = (2 * x + 3 * y) % 5;
		x = y;
		y = t;
		at = x + 5 * y;
		b = a[at];
		a[at] = ror64(carry, (64 - turn % 64) % 64);
		carry = b;
	}
	for (y = 0; y < 25; y += 5) {
		memcpy(c, a + y, sizeof(c));
		for (x = 0; x < 5; x++)
			a[y + x] = c[x] ^ (~c[(x + 1) % 5] & c[(x + 2) % 5]);
	}
	a[0] ^= rc;
}

static void keccak_block(uint64_t *state, const uint8_t *p, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len / 8; i++)
		state[i] ^= le64_get(p + 8 * i);
	for (i = 0; i < 24; i++)
		keccak_round(state, keccak_rc[i]);
}

static void blake2_mix(uint64_t *v, const uint8_t *order, const uint64_t *m, unsigned int column)
{
	static const uint8_t lane[8][4] = {
		{ 0, 4, 8, 12 }, { 1, 5, 9, 13 },  { 2, 6, 10, 14 }, { 3, 7, 11, 15 },
		{ 0, 5, 10, 15 }, { 1, 6, 11, 12 }, { 2, 7, 8, 13 },  { 3, 4, 9, 14 },
	};
	uint64_t *a = &v[lane[column][0]], *b = &v[lane[column][1]], *c = &v[lane[column][2]],
		 *d = &v[lane[column][3]];

	*a += *b + m[order[2 * column]];
	*d = ror64(*d ^ *a, 32);
	*c += *d;
	*b = ror64(*b ^ *c, 24);
	*a += *b + m[order[2 * column + 1]];
	*d = ror64(*d ^ *a, 16);
	*c += *d;
	*b = ror64(*b ^ *c, 63);
}

static void blake2_block(uint64_t *state, const uint8_t *p, uint64_t total, int last)
{
	uint64_t v[16], m[16];
	unsigned int i, j;

	for (i = 0; i < 16; i++)
		m[i] = le64_get(p + 8 * i);
	memcpy(v, state, 64);
	memcpy(v + 8, sha2_iv, 64);
	v[12] ^= total;
	v[14] ^= last ? UINT64_MAX : 0;
	for (i = 0; i < 12; i++)
		for (j = 0; j < 8; j++)
			blake2_mix(v, blake2_order[i % 10], m, j);
	for (i = 0; i < 8; i++)
		state[i] ^= v[i] ^ v[i + 8];
}

static void block(struct plain_digest *d, int last)
{
	switch (d->alg) {
	case NVME_ACCEL_ALG_SHA256:
		sha256_block(d->state, d->block);
		break;
	case NVME_ACCEL_ALG_SHA512:
		sha512_block(d->state, d->block);
		break;
	case NVME_ACCEL_ALG_SHA3_256:
		keccak_block(d->state, d->block, d->block_len);
		break;
	default:
		blake2_block(d->state, d->block, d->total, last);
	}
	d->fill = 0;
}

void plain_digest_init(struct plain_digest *d, uint16_t alg)
{
	unsigned int i;

	memset(d, 0, sizeof(*d));
	d->alg = alg;
	d->block_len = alg == NVME_ACCEL_ALG_SHA256 ? 64 : alg == NVME_ACCEL_ALG_SHA3_256 ? 136 : 128;
	for (i = 0; i < 8 && alg != NVME_ACCEL_ALG_SHA3_256; i++)
		d->state[i] = alg == NVME_ACCEL_ALG_SHA256 ? sha2_iv[i] >> 32 : sha2_iv[i];
	if (alg == NVME_ACCEL_ALG_BLAKE2B)
		d->state[0] ^= 0x01010040;	/* no key, fan-out 1, depth 1, 64 bytes */
}

void plain_digest_update(struct plain_digest *d, const void *in, size_t n)
{
	const uint8_t *p = in;
	size_t step;

	while (n) {
		/* BLAKE2b must know its last block, so a full one waits for the next byte. */
		if (d->fill == d->block_len)
			block(d, 0);
		step = BASE_MIN(n, (size_t)(d->block_len - d->fill));
		memcpy(d->block + d->fill, p, step);
		d->fill += (unsigned int)step;
		d->total += step;
		p += step;
		n -= step;
	}
}

static void pad(struct plain_digest *d, uint8_t first, unsigned int tail)
{
	if (d->fill == d->block_len)
		block(d, 0);
	d->block[d->fill++] = first;
	if (d->fill > d->block_len - tail) {
		memset(d->block + d->fill, 0, d->block_len - d->fill);
		block(d, 0);
	}
	memset(d->block + d->fill, 0, d->block_len - d->fill);
}

void plain_digest_final(struct plain_digest *d, uint8_t *result)
{
	unsigned int i;

	if (d->alg == NVME_ACCEL_ALG_SHA3_256) {
		pad(d, 0x06, 0);
		d->block[d->block_len - 1] |= 0x80;
		block(d, 1);
		for (i = 0; i < 4; i++)
			le64_put(result + 8 * i, d->state[i]);
	} else if (d->alg == NVME_ACCEL_ALG_BLAKE2B) {
		memset(d->block + d->fill, 0, d->block_len - d->fill);
		block(d, 1);
		for (i = 0; i < 8; i++)
			le64_put(result + 8 * i, d->state[i]);
	} else {
		unsigned int word = d->alg == NVME_ACCEL_ALG_SHA256 ? 4 : 8;

		pad(d, 0x80, 2 * word);
		if (word == 8)	/* of a 128-bit length; no input sets more than these bits */
			be_put(d->block + d->block_len - 9, d->total >> 61, 1);
		be_put(d->block + d->block_len - 8, d->total << 3, 8);
		block(d, 1);
		for (i = 0; i < 8; i++)
			be_put(result + word * i, d->state[i], word);
	}
}
