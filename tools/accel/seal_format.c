/* SPDX-License-Identifier: BSD-2-Clause */
/* Header and key schedule of sealed files. */
#include "seal_format.h"
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>
#include "ec_bytes.h"

static const uint8_t magic[8] = "ACCSEAL";
static const char info[] = "accel seal v1";

enum { VERSION = 1 };
enum {
	AT_VERSION = 8,
	AT_LENGTH = 10,
	AT_ALG = 12,
	AT_KDF = 13,
	AT_LOG2N = 14,
	AT_R = 15,
	AT_P = 16,
	AT_RSVD = 17,
	AT_RECORD = 20,
	AT_RSVD2 = 24,
	AT_SALT = 32,
	AT_PASS_SALT = 64,
	AT_RSVD3 = 80,
	AT_CRC = 92,
	AT_MAC = 96,
};

void seal_head_encode(const struct seal_head *h, uint8_t page[SEAL_HEAD_NBYTES])
{
	memset(page, 0, SEAL_HEAD_NBYTES);
	memcpy(page, magic, sizeof(magic));
	put_le(page + AT_VERSION, 2, VERSION);
	put_le(page + AT_LENGTH, 2, SEAL_HEAD_NBYTES);
	page[AT_ALG] = h->alg;
	page[AT_KDF] = h->kdf;
	page[AT_LOG2N] = h->log2n;
	page[AT_R] = h->r;
	page[AT_P] = h->p;
	put_le(page + AT_RECORD, 4, h->record_nbytes);
	memcpy(page + AT_SALT, h->salt, sizeof(h->salt));
	memcpy(page + AT_PASS_SALT, h->pass_salt, sizeof(h->pass_salt));
	put_le(page + AT_CRC, 4, ec_crc32c(0, page, AT_CRC));
}

const char *seal_scrypt_excess(const struct seal_head *h)
{
	uint64_t n = 1ull << (h->log2n & 63);

	if (h->log2n < 10 || h->log2n > 20)
		return "N is not within 2^10 to 2^20";
	if (h->r < 1 || h->r > 32)
		return "r is not within 1 to 32";
	if (h->p < 1 || h->p > 16)
		return "p is not within 1 to 16";
	/* RFC 7914's own bound, which libcrypto enforces. */
	if (h->log2n >= 16 * h->r)
		return "N is not below 2^(16 * r)";
	if (128 * n * h->r > SEAL_SCRYPT_MAX)
		return "128 * N * r is above 256 MiB";
	return n * h->r * h->p > SEAL_SCRYPT_WORK ? "N * r * p is above 2^22" : NULL;
}

/* Before anything is authentic: what a stranger may make us compute and allocate is bounded here. */
static const char *check(const struct seal_head *h)
{
	if (h->alg != SEAL_AES_256_GCM && h->alg != SEAL_AES_128_GCM)
		return "is sealed with an algorithm that this program does not know";
	if (h->kdf == SEAL_KDF_NONE &&
	    (h->log2n || h->r || h->p || !bytes_are_zero(h->pass_salt, sizeof(h->pass_salt))))
		return "has reserved bytes in its header that are not zero";
	if (h->kdf != SEAL_KDF_NONE && h->kdf != SEAL_KDF_SCRYPT)
		return "uses a key derivation that this program does not know";
	if (h->kdf == SEAL_KDF_SCRYPT && h->alg != SEAL_AES_256_GCM)
		return "is sealed with a passphrase and an algorithm that goes with none";
	if (h->kdf == SEAL_KDF_SCRYPT && seal_scrypt_excess(h))
		return "has scrypt parameters out of range in its header";
	if (h->record_nbytes < SEAL_RECORD_MIN || h->record_nbytes > SEAL_RECORD_MAX ||
	    h->record_nbytes % 4096)
		return "has a record size out of range in its header";
	return NULL;
}

const char *seal_head_decode(struct seal_head *h, const uint8_t page[SEAL_HEAD_NBYTES])
{
	if (memcmp(page, magic, sizeof(magic)))
		return "is not a sealed file";
	if (get_le(page + AT_CRC, 4) != ec_crc32c(0, page, AT_CRC))
		return "has a damaged header";
	if (get_le(page + AT_VERSION, 2) != VERSION || get_le(page + AT_LENGTH, 2) != SEAL_HEAD_NBYTES)
		return "is sealed in a version that this program does not know";
	if (!bytes_are_zero(page + AT_RSVD, AT_RECORD - AT_RSVD) ||
	    !bytes_are_zero(page + AT_RSVD2, AT_SALT - AT_RSVD2) ||
	    !bytes_are_zero(page + AT_RSVD3, AT_CRC - AT_RSVD3))
		return "has reserved bytes in its header that are not zero";
	h->alg = page[AT_ALG];
	h->kdf = page[AT_KDF];
	h->log2n = page[AT_LOG2N];
	h->r = page[AT_R];
	h->p = page[AT_P];
	h->record_nbytes = (uint32_t)get_le(page + AT_RECORD, 4);
	memcpy(h->salt, page + AT_SALT, sizeof(h->salt));
	memcpy(h->pass_salt, page + AT_PASS_SALT, sizeof(h->pass_salt));
	return check(h);
}

static int kdf(const char *name, const OSSL_PARAM *params, uint8_t *out, size_t n)
{
	EVP_KDF *type = EVP_KDF_fetch(NULL, name, NULL);
	EVP_KDF_CTX *ctx = type ? EVP_KDF_CTX_new(type) : NULL;
	int ok = ctx && EVP_KDF_derive(ctx, out, n, params) > 0;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(type);
	return ok ? 0 : -EIO;
}

static int scrypt(const struct seal_head *h, const struct seal_secret *s, uint8_t ikm[32])
{
	uint64_t n = 1ull << h->log2n, r = h->r, p = h->p, mem = SEAL_SCRYPT_MAX + (32u << 20);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, (void *)s->bytes, s->len),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)h->pass_salt,
						  sizeof(h->pass_salt)),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_R, &r),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_P, &p),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &mem),
		OSSL_PARAM_construct_end(),
	};

	return kdf("SCRYPT", params, ikm, 32);
}

static int hkdf(const struct seal_head *h, const uint8_t *ikm, size_t ikm_len, uint8_t *okm, size_t n)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)ikm, ikm_len),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)h->salt, sizeof(h->salt)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, sizeof(info) - 1),
		OSSL_PARAM_construct_end(),
	};

	return kdf("HKDF", params, okm, n);
}

int seal_derive(const struct seal_head *h, const struct seal_secret *s, struct seal_keys *k)
{
	uint8_t ikm[32], okm[71];
	size_t n = h->alg == SEAL_AES_256_GCM ? 32 : 16;
	int rc = 0;

	memset(k, 0, sizeof(*k));
	if (h->kdf == SEAL_KDF_SCRYPT)
		rc = scrypt(h, s, ikm);
	else if (s->len != n)
		return -EINVAL;
	else
		memcpy(ikm, s->bytes, n);
	if (!rc)
		rc = hkdf(h, ikm, n, okm, sizeof(okm));
	if (!rc) {
		k->key_len = n;
		memcpy(k->key, okm, 32);
		memcpy(k->mac_key, okm + 32, 32);
		memcpy(k->prefix, okm + 64, 7);
	}
	OPENSSL_cleanse(ikm, sizeof(ikm));
	OPENSSL_cleanse(okm, sizeof(okm));
	return rc;
}

int seal_head_mac(const struct seal_keys *k, uint8_t page[SEAL_HEAD_NBYTES], bool compare)
{
	uint8_t mac[32];
	unsigned int n = sizeof(mac);

	if (!HMAC(EVP_sha256(), k->mac_key, sizeof(k->mac_key), page, AT_MAC, mac, &n))
		return -EIO;
	if (compare)
		return CRYPTO_memcmp(mac, page + AT_MAC, sizeof(mac)) ? -EBADMSG : 0;
	memcpy(page + AT_MAC, mac, sizeof(mac));
	return 0;
}

void seal_nonce(const struct seal_keys *k, uint32_t index, bool last, uint8_t iv[SEAL_IV_NBYTES])
{
	memcpy(iv, k->prefix, sizeof(k->prefix));
	iv[7] = (uint8_t)(index >> 24);
	iv[8] = (uint8_t)(index >> 16);
	iv[9] = (uint8_t)(index >> 8);
	iv[10] = (uint8_t)index;
	iv[11] = last;
}
