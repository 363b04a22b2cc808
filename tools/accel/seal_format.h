/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of a sealed file and the keys made from it; see Documentation/seal-format.rst. */
#ifndef ACCEL_SEAL_FORMAT_H
#define ACCEL_SEAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_HEAD_NBYTES	128u
#define SEAL_TAG_NBYTES		16u
#define SEAL_IV_NBYTES		12u
#define SEAL_RECORD_MIN		(64u << 10)
#define SEAL_RECORD_MAX		(1u << 20)
#define SEAL_SCRYPT_MAX		(256u << 20)	/* memory that a header may ask for */
#define SEAL_SCRYPT_WORK	(1u << 22)	/* N * r * p that it may ask for: four times our own, 2 or 3 s */

enum seal_alg { SEAL_AES_256_GCM = 1, SEAL_AES_128_GCM = 2 };
enum seal_kdf { SEAL_KDF_NONE = 0, SEAL_KDF_SCRYPT = 1 };

struct seal_head {
	uint8_t alg, kdf;
	uint8_t log2n, r, p;		/* scrypt */
	uint32_t record_nbytes;		/* of plaintext */
	uint8_t salt[32];		/* of HKDF, random */
	uint8_t pass_salt[16];		/* of scrypt, random */
};

/* What the user gave. */
struct seal_secret {
	bool is_pass;
	size_t len;
	uint8_t bytes[1024];		/* key of 16 or 32 bytes, or passphrase */
};

struct seal_keys {
	size_t key_len;
	uint8_t key[32];		/* of this file */
	uint8_t mac_key[32];		/* of its header */
	uint8_t prefix[7];		/* of its nonces */
};

/* Without the MAC, which needs the keys. */
void seal_head_encode(const struct seal_head *h, uint8_t page[SEAL_HEAD_NBYTES]);
/* NULL, or what is wrong. The MAC is not checked. */
const char *seal_head_decode(struct seal_head *h, const uint8_t page[SEAL_HEAD_NBYTES]);
/* Of seal_kdf SCRYPT: NULL if we would compute it, or which bound its parameters exceed. */
const char *seal_scrypt_excess(const struct seal_head *h);

/* 0, or -errno: -EINVAL a key of a length that the algorithm has not, -ENOMEM, -EIO (libcrypto failed). */
int seal_derive(const struct seal_head *h, const struct seal_secret *s, struct seal_keys *k);
/* Computes the MAC of bytes 0..95 and stores it; or compares it with what is there. 0 or -EIO, -EBADMSG. */
int seal_head_mac(const struct seal_keys *k, uint8_t page[SEAL_HEAD_NBYTES], bool compare);
void seal_nonce(const struct seal_keys *k, uint32_t index, bool last, uint8_t iv[SEAL_IV_NBYTES]);

#endif
