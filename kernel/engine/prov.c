// SPDX-License-Identifier: GPL-2.0-only
/* Who of the crypto API serves an engine. */
#include <crypto/acompress.h>
#include <crypto/aead.h>
#include <crypto/hash.h>
#include <crypto/skcipher.h>
#include "kpriv.h"

enum kind { K_ACOMP, K_AEAD, K_SKCIPHER, K_HASH };

/*
 * Where the best provider is one of our own, which would send the job to an accelerator that may be this very engine,
 * these are asked by name instead.
 */
static const struct {
	const char *alg;
	u8 kind;
	u16 op, code;			/* operation and algorithm of the interface */
	const char *next[4];
} algs[KP_N] = {
	[KP_DEFLATE] = { "deflate", K_ACOMP, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE,
			 { "qat_deflate", "deflate-iaa" } },
	[KP_GCM] = { "gcm(aes)", K_AEAD, NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM,
		     { "generic-gcm-vaes-avx10_512", "generic-gcm-vaes-avx10_256", "generic-gcm-aesni",
		       "gcm_base(ctr(aes-generic),ghash-generic)" } },
	[KP_XTS] = { "xts(aes)", K_SKCIPHER, NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_XTS,
		     { "xts-aes-vaes-avx2", "xts-aes-aesni", "xts(ecb(aes-generic))" } },
	[KP_CTR] = { "ctr(aes)", K_SKCIPHER, NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_CTR,
		     { "ctr-aes-aesni", "ctr(aes-generic)" } },
	[KP_SHA256] = { "sha256", K_HASH, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256,
			{ "sha256-ni", "sha256-avx2", "sha256-ssse3", "sha256-generic" } },
	[KP_SHA512] = { "sha512", K_HASH, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA512,
			{ "sha512-avx2", "sha512-ssse3", "sha512-generic" } },
	[KP_SHA3] = { "sha3-256", K_HASH, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA3_256, { "sha3-256-generic" } },
	[KP_BLAKE2B] = { "blake2b-512", K_HASH, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_BLAKE2B, { "blake2b-512-generic" } },
};

static enum kprov_id find(u16 op, u16 code)
{
	unsigned int i;

	for (i = 0; i < KP_N; i++)
		if (algs[i].op == op && algs[i].code == code)
			break;
	return i;
}

enum kprov_id prov_of_digest(u16 alg)
{
	return find(NVME_ACCEL_OP_DIGEST, alg);
}

enum kprov_id prov_of_cipher(u16 alg)
{
	return find(NVME_ACCEL_OP_ENCRYPT, alg);
}

const char *prov_alg(enum kprov_id id)
{
	return algs[id].alg;
}

static void *tfm_new(u8 kind, const char *name, u32 type, u32 mask)
{
	switch (kind) {
	case K_ACOMP:
		return crypto_alloc_acomp(name, type, mask);
	case K_AEAD:
		return crypto_alloc_aead(name, type, mask);
	case K_SKCIPHER:
		return crypto_alloc_skcipher(name, type, mask);
	default:
		return crypto_alloc_ahash(name, type, mask);
	}
}

static struct crypto_tfm *base_of(u8 kind, void *tfm)
{
	switch (kind) {
	case K_ACOMP:
		return crypto_acomp_tfm(tfm);
	case K_AEAD:
		return crypto_aead_tfm(tfm);
	case K_SKCIPHER:
		return crypto_skcipher_tfm(tfm);
	default:
		return crypto_ahash_tfm(tfm);
	}
}

static void tfm_free(u8 kind, void *tfm)
{
	switch (kind) {
	case K_ACOMP:
		crypto_free_acomp(tfm);
		break;
	case K_AEAD:
		crypto_free_aead(tfm);
		break;
	case K_SKCIPHER:
		crypto_free_skcipher(tfm);
		break;
	default:
		crypto_free_ahash(tfm);
	}
}

/*
 * Processor instructions come wrapped as asynchronous algorithms, for callers in interrupts; below such a wrapper there is
 * an internal one by the same name behind two underscores.
 */
static bool is_hard(const struct crypto_alg *alg)
{
	char inner[CRYPTO_MAX_ALG_NAME + 2];

	if (!(alg->cra_flags & CRYPTO_ALG_ASYNC))
		return false;
	snprintf(inner, sizeof(inner), "__%s", alg->cra_driver_name);
	return strlen(inner) >= CRYPTO_MAX_ALG_NAME || !crypto_has_alg(inner, CRYPTO_ALG_INTERNAL, CRYPTO_ALG_INTERNAL);
}

static void *tfm_best(enum kprov_id id)
{
	/* Software deflate of the crypto API can do less than the library: only hardware is of interest. */
	u32 want = algs[id].kind == K_ACOMP ? CRYPTO_ALG_ASYNC : 0;
	void *tfm = tfm_new(algs[id].kind, algs[id].alg, want, want);
	unsigned int i;

	if (!IS_ERR(tfm) && strstr(base_of(algs[id].kind, tfm)->__crt_alg->cra_driver_name, KENGINE_OURS)) {
		tfm_free(algs[id].kind, tfm);
		tfm = ERR_PTR(-ENOENT);
		for (i = 0; IS_ERR(tfm) && i < ARRAY_SIZE(algs[id].next) && algs[id].next[i]; i++)
			tfm = tfm_new(algs[id].kind, algs[id].next[i], 0, 0);
	}
	return tfm;
}

/*
 * Takes what was found and keeps it, which keeps its module: threads make their own transforms of ciphers and find the
 * same driver by its name.
 */
static int take(struct kprov *p, enum kprov_id id, void *tfm)
{
	struct crypto_alg *alg = base_of(algs[id].kind, tfm)->__crt_alg;
	struct crypto_shash *shash;

	strscpy(p->driver, alg->cra_driver_name, sizeof(p->driver));
	p->hard = is_hard(alg);
	if (algs[id].kind != K_HASH || p->hard) {
		p->tfm = tfm;
		return 0;
	}
	tfm_free(algs[id].kind, tfm);
	shash = crypto_alloc_shash(p->driver, 0, 0);
	if (IS_ERR(shash)) {
		p->driver[0] = 0;
		return PTR_ERR(shash);
	}
	p->tfm = shash;
	return 0;
}

static bool wanted(const struct kengine *ke, enum kprov_id id)
{
	return ke->ops & 1u << algs[id].op;
}

/* The driver that the administrator names, tried as each of the type's algorithms that it may implement. */
static int open_named(struct kengine *ke, const char *driver, char *why)
{
	unsigned int i;
	void *tfm;
	int rc;

	if (strstr(driver, KENGINE_OURS)) {
		snprintf(why, KENGINE_WHY_LEN, "driver %s gives its work to accelerators, and cannot be one", driver);
		return -EINVAL;
	}
	for (i = 0; i < KP_N; i++) {
		if (!wanted(ke, i))
			continue;
		tfm = tfm_new(algs[i].kind, driver, 0, 0);
		if (IS_ERR(tfm))
			continue;
		if (strcmp(base_of(algs[i].kind, tfm)->__crt_alg->cra_name, algs[i].alg) ||
		    strcmp(base_of(algs[i].kind, tfm)->__crt_alg->cra_driver_name, driver)) {
			tfm_free(algs[i].kind, tfm);
			continue;
		}
		rc = take(&ke->prov[i], i, tfm);
		if (rc)
			snprintf(why, KENGINE_WHY_LEN, "driver %s is not usable (error %d)", driver, -rc);
		ke->named = true;
		ke->by_name = i;
		return rc;
	}
	snprintf(why, KENGINE_WHY_LEN,
		 "no driver %s for an operation of this type (see the lines `driver` of /proc/crypto)", driver);
	return -ENOENT;
}

int prov_open(struct kengine *ke, const char *driver, char *why)
{
	unsigned int i;
	void *tfm;
	int rc;

	if (driver && *driver) {
		rc = open_named(ke, driver, why);
		if (rc)
			return rc;
	}
	/* Its module is there when a job with an unusual IV wants it. */
	if (wanted(ke, KP_GCM))
		crypto_has_alg("ghash", 0, 0);
	for (i = 0; i < KP_N; i++) {
		if (!wanted(ke, i) || prov_is(&ke->prov[i]))
			continue;
		tfm = tfm_best(i);
		if (!IS_ERR(tfm) && take(&ke->prov[i], i, tfm))
			pr_warn("nvme-accel: %s is not usable\n", algs[i].alg);
	}
	return 0;
}

void prov_close(struct kengine *ke)
{
	unsigned int i;

	for (i = 0; i < KP_N; i++) {
		struct kprov *p = &ke->prov[i];

		/* One that owes an answer keeps its transform. */
		if (!p->tfm || p->lost)
			continue;
		if (algs[i].kind == K_HASH && !p->hard)
			crypto_free_shash(p->tfm);
		else
			tfm_free(algs[i].kind, p->tfm);
		p->tfm = NULL;
	}
}
