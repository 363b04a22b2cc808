/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a sealed file by Documentation/seal-format.rst and libcrypto alone, and nothing of this project.
 * seal_judge key HEX <sealed >plain, or: seal_judge pass TEXT. Exit status 0 only if everything is authentic.
 */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *why)
{
	fprintf(stderr, "seal_judge: %s\n", why);
	exit(1);
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffff;

	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* RFC 5869 with SHA-256, written out. */
static void hkdf(const uint8_t *salt, const uint8_t *ikm, size_t ikm_len, uint8_t okm[96])
{
	static const char info[] = "accel seal v1";
	uint8_t prk[32], block[32 + sizeof(info)];
	size_t n = 0;

	HMAC(EVP_sha256(), salt, 32, ikm, ikm_len, prk, NULL);
	for (uint8_t i = 1; i <= 3; i++) {
		memcpy(block + n, info, sizeof(info) - 1);
		block[n + sizeof(info) - 1] = i;
		HMAC(EVP_sha256(), prk, 32, block, n + sizeof(info), okm + 32 * (i - 1), NULL);
		memcpy(block, okm + 32 * (i - 1), 32);
		n = 32;
	}
}

static void open_record(int bits, const uint8_t *okm, uint32_t index, int last, const uint8_t *head,
			uint8_t *rec, size_t n)
{
	uint8_t iv[12] = { 0 };
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int len, good = 1;

	memcpy(iv, okm + 64, 7);
	iv[7] = index >> 24, iv[8] = index >> 16, iv[9] = index >> 8, iv[10] = index, iv[11] = last;
	good &= EVP_DecryptInit_ex(ctx, bits == 256 ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), NULL, okm, iv);
	good &= EVP_DecryptUpdate(ctx, NULL, &len, head, 128);
	good &= EVP_DecryptUpdate(ctx, rec, &len, rec, (int)n);
	good &= EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, 16, rec + n);
	if (!good || EVP_DecryptFinal_ex(ctx, rec + n, &len) != 1)
		die("a record is not authentic");
	EVP_CIPHER_CTX_free(ctx);
	if (fwrite(rec, 1, n, stdout) != n)
		die("write");
}

static size_t get_key(char **argv, const uint8_t *head, uint8_t ikm[32])
{
	size_t n = strlen(argv[2]) / 2;

	if (!strcmp(argv[1], "pass")) {
		if (head[13] != 1 ||
		    !EVP_PBE_scrypt(argv[2], strlen(argv[2]), head + 64, 16, 1ull << head[14], head[15],
				    head[16], 1ull << 30, ikm, 32))
			die("scrypt");
		return 32;
	}
	for (size_t i = 0; i < n && i < 32; i++)
		if (head[13] || sscanf(argv[2] + 2 * i, "%2hhx", &ikm[i]) != 1)
			die("key");
	return n;
}

int main(int argc, char **argv)
{
	uint8_t head[128], ikm[32], okm[96], mac[32], *rec, *next, *t;
	size_t n, m, room, key_len;
	uint32_t index = 0;

	if (argc != 3 || fread(head, 1, 128, stdin) != 128 || memcmp(head, "ACCSEAL\0\1\0\200\0", 12))
		die("no header");
	if (le32(head + 92) != crc32c(head, 92))
		die("header CRC");
	key_len = get_key(argv, head, ikm);
	if (key_len != (head[12] == 1 ? 32 : 16))
		die("key length");
	hkdf(head + 32, ikm, key_len, okm);
	HMAC(EVP_sha256(), okm + 32, 32, head, 96, mac, NULL);
	if (memcmp(mac, head + 96, 32))
		die("header MAC");
	room = le32(head + 20) + 16;
	rec = malloc(room);
	next = malloc(room);
	for (n = fread(rec, 1, room, stdin); n >= 16; n = m, t = rec, rec = next, next = t) {
		m = fread(next, 1, room, stdin);
		open_record(head[12] == 1 ? 256 : 128, okm, index++, m == 0, head, rec, n - 16);
		if (!m)
			return 0;
	}
	die("truncated");
}
