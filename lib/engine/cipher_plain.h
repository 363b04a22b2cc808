/* SPDX-License-Identifier: BSD-2-Clause */
/* Block and stream ciphers and authenticators in plain C: to judge by, not to be fast. */
#ifndef ACCEL_ENGINE_CIPHER_PLAIN_H
#define ACCEL_ENGINE_CIPHER_PLAIN_H

#include <stddef.h>
#include <stdint.h>

struct plain_aes {
	uint8_t round[15][16];
	unsigned int nround;
};

void plain_aes_key(struct plain_aes *aes, const uint8_t *key, unsigned int key_len);
void plain_aes_encrypt(const struct plain_aes *aes, const uint8_t in[16], uint8_t out[16]);
void plain_aes_decrypt(const struct plain_aes *aes, const uint8_t in[16], uint8_t out[16]);

/* A block at a time; n below 16 is padded with zeros. */
struct plain_ghash {
	uint8_t h[16], y[16];
};

void plain_ghash_block(struct plain_ghash *g, const uint8_t *p, size_t n);

void plain_chacha20(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12], uint8_t out[64]);

struct plain_poly1305 {
	uint32_t r[5], s[4], h[5];
};

void plain_poly1305_key(struct plain_poly1305 *p, const uint8_t key[32]);
/* A block of sixteen bytes, which is all that an AEAD feeds it. */
void plain_poly1305_block(struct plain_poly1305 *p, const uint8_t in[16]);
void plain_poly1305_tag(struct plain_poly1305 *p, uint8_t tag[16]);

#endif
