// SPDX-License-Identifier: BSD-2-Clause
/* Ciphers by OpenSSL. */
#include <stdlib.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include "cipher.h"

/* OpenSSL counts in int; also the distance between two looks at the stop flag. A multiple of 16. */
#define STEP ((size_t)4 << 20)

static const struct {
	uint16_t alg;
	uint8_t key_len;
	const char *name;
} kinds[] = {
	{ NVME_ACCEL_ALG_AES_GCM, 16, "AES-128-GCM" },
	{ NVME_ACCEL_ALG_AES_GCM, 32, "AES-256-GCM" },
	{ NVME_ACCEL_ALG_AES_XTS, 32, "AES-128-XTS" },
	{ NVME_ACCEL_ALG_AES_XTS, 64, "AES-256-XTS" },
	{ NVME_ACCEL_ALG_AES_CTR, 16, "AES-128-CTR" },
	{ NVME_ACCEL_ALG_AES_CTR, 32, "AES-256-CTR" },
	{ NVME_ACCEL_ALG_CHACHA20_POLY1305, 32, "ChaCha20-Poly1305" },
};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

struct cipher_thread {
	struct cipher_slot slot[NKINDS][2];	/* by direction */
};

/* OpenSSL clears what it frees. */
void cipher_slot_forget(struct cipher_slot *s)
{
	EVP_CIPHER_CTX_free(s->ctx);
	OPENSSL_cleanse(s, sizeof(*s));
}

static int slot_open(struct cipher_slot *s, unsigned int kind, int encrypt)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, kinds[kind].name, NULL);

	s->ctx = EVP_CIPHER_CTX_new();
	s->iv_len = 0;
	if (!s->ctx || !cipher || EVP_CipherInit_ex2(s->ctx, cipher, NULL, NULL, encrypt, NULL) != 1)
		cipher_slot_forget(s);
	EVP_CIPHER_free(cipher);	/* the context holds it */
	return s->ctx != NULL;
}

struct cipher_slot *cipher_slot_get(struct engine_thread *t, uint16_t alg, uint32_t key_len, int encrypt)
{
	struct cipher_slot *s;
	unsigned int i;

	if (!t->cipher)
		t->cipher = calloc(1, sizeof(*t->cipher));
	if (!t->cipher)
		return NULL;
	for (i = 0; i < NKINDS - 1; i++)
		if (kinds[i].alg == alg && kinds[i].key_len == key_len)
			break;
	s = &t->cipher->slot[i][encrypt];
	return s->ctx || slot_open(s, i, encrypt) ? s : NULL;
}

void cipher_thread_forget(struct cipher_thread *c)
{
	unsigned int i;

	for (i = 0; c && i < 2 * NKINDS; i++)
		if (c->slot[i / 2][i % 2].key_len)
			cipher_slot_forget(&c->slot[i / 2][i % 2]);
}

void cipher_thread_free(struct cipher_thread *c)
{
	unsigned int i;

	for (i = 0; c && i < 2 * NKINDS; i++)
		cipher_slot_forget(&c->slot[i / 2][i % 2]);
	free(c);
}

int cipher_slot_start(struct cipher_slot *s, const struct wire_cipher *p, const uint8_t *iv, int aead)
{
	int same = s->key_len == p->key_len && CRYPTO_memcmp(s->key, p->key, p->key_len) == 0;

	if (aead && s->iv_len != p->iv_len) {
		if (EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)p->iv_len, NULL) != 1)
			return 0;
		s->iv_len = p->iv_len;
	}
	if (EVP_CipherInit_ex2(s->ctx, NULL, same ? NULL : p->key, iv, -1, NULL) != 1)
		return 0;
	if (same)
		return 1;
	memcpy(s->key, p->key, p->key_len);
	s->key_len = p->key_len;
	s->have_ghash = 0;
	return 1;
}

/* Whatever OpenSSL thinks of a checked request is a fault of ours or of its memory. */
static int fault(struct job *job, unsigned int index)
{
	engine_fail(job, index, NVME_ACCEL_DEVICE_FAULT);
	return 0;
}

static int stopped(struct job *job, unsigned int index)
{
	if (!engine_stopped(job))
		return 0;
	engine_fail(job, index, NVME_ACCEL_ABORTED);
	return 1;
}

static int feed_aad(struct cipher_slot *s, const struct cipher_req *r, unsigned int index, struct job *job,
		    struct iov_pos *in)
{
	uint64_t left = r->aad_lead;
	size_t n;
	void *p;
	int len;

	if (r->p.aad_len && EVP_CipherUpdate(s->ctx, NULL, &len, r->p.aad, (int)r->p.aad_len) != 1)
		return fault(job, index);
	while (left && (n = iov_next(in, &p, BASE_MIN(left, STEP)))) {
		if (stopped(job, index))
			return 0;
		if (EVP_CipherUpdate(s->ctx, NULL, &len, p, (int)n) != 1)
			return fault(job, index);
		left -= n;
	}
	return 1;
}

static int feed_text(struct cipher_slot *s, const struct cipher_req *r, unsigned int index, struct job *job,
		     struct iov_pos *in, struct iov_pos *out)
{
	uint64_t left = r->text_len;
	void *src, *dst;
	size_t n;
	int len;

	while (left && (n = cipher_pair(in, out, &src, &dst, BASE_MIN(left, STEP)))) {
		if (stopped(job, index))
			return 0;
		if (EVP_CipherUpdate(s->ctx, dst, &len, src, (int)n) != 1)
			return fault(job, index);
		left -= n;
	}
	return 1;
}

/* The tag, made or checked. */
static int finish(struct cipher_slot *s, const struct cipher_req *r, unsigned int index, struct job *job)
{
	uint8_t tag[16], none[16];
	int len;

	if (!r->aead)
		return 1;
	if (!r->encrypt) {
		if (EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, (int)r->p.tag_len,
					(void *)(uintptr_t)r->p.tag) != 1)
			return fault(job, index);
		if (EVP_CipherFinal_ex(s->ctx, none, &len) == 1)
			return 1;
		engine_fail(job, index, NVME_ACCEL_AUTH_FAILED);
		return 0;
	}
	if (EVP_CipherFinal_ex(s->ctx, none, &len) != 1 ||
	    EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, (int)r->p.tag_len, tag) != 1)
		return fault(job, index);
	engine_set_result(job, index, tag, r->p.tag_len);
	return 1;
}

static int xts(struct engine_thread *t, struct cipher_slot *s, const struct cipher_req *r,
	       unsigned int index, struct job *job, struct iov_pos *in, struct iov_pos *out)
{
	uint64_t left = r->text_len;
	struct cipher_unit u;
	uint8_t tweak[16];
	int len;

	memcpy(tweak, r->p.iv, sizeof(tweak));
	for (; left; left -= u.n) {
		if (stopped(job, index))
			return 0;
		if (!cipher_unit_get(t, &u, in, out, BASE_MIN(left, r->unit))) {
			engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
			return 0;
		}
		/* The first unit's tweak is in place already. */
		if (left != r->text_len && EVP_CipherInit_ex2(s->ctx, NULL, NULL, tweak, -1, NULL) != 1)
			return fault(job, index);
		if (EVP_CipherUpdate(s->ctx, u.dst, &len, u.src, (int)u.n) != 1)
			return fault(job, index);
		cipher_unit_done(&u, out);
		cipher_tweak_next(tweak);
	}
	return 1;
}

void cipher_openssl_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			struct job *job)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out;
	struct cipher_slot *s;
	struct cipher_req r;
	struct base_iov held;
	int good;

	if (!cipher_parse(&r, stage, index, job) || !cipher_out(t, &r, index, job, &held, &out))
		return;
	s = cipher_slot_get(t, r.alg, r.p.key_len, r.encrypt);
	if (!s) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	good = cipher_slot_start(s, &r.p, r.p.iv, r.aead) || fault(job, index);
	if (good && r.alg == NVME_ACCEL_ALG_AES_XTS)
		good = xts(t, s, &r, index, job, &in, &out);
	else if (good)
		good = feed_aad(s, &r, index, job, &in) && feed_text(s, &r, index, job, &in, &out) &&
		       finish(s, &r, index, job);
	if (good)
		cipher_release(&r, job, &held);
	else if (job->code != NVME_ACCEL_AUTH_FAILED)
		cipher_slot_forget(s);		/* in whatever state it is */
}
