// SPDX-License-Identifier: BSD-2-Clause
/*
 * AES-GCM from OpenSSL's AES-CTR and our GHASH, for the usual IV of 12 bytes. OpenSSL's own GCM hashes and
 * decrypts at once and so has written plaintext before it knows the tag, which costs a copy and a wipe to
 * hold back. Here a decryption hashes first, and writes to the output only when the tag was right.
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include "cipher.h"

/* What encryption and hash go over while it is in the first-level cache. */
#define PIECE ((size_t)8 << 10)
#define STEP  ((size_t)1 << 20)

struct gcm {
	struct cipher_slot *slot;
	const struct cipher_req *r;
	struct ghash hash;
	uint8_t mask[16];	/* the first counter block, encrypted: it masks the tag */
	unsigned int index;
	struct job *job;
};

static int fail(struct gcm *c, uint32_t code)
{
	engine_fail(c->job, c->index, code);
	return 0;
}

static int crypt(struct gcm *c, void *dst, const void *src, size_t n)
{
	int len;

	return EVP_CipherUpdate(c->slot->ctx, dst, &len, src, (int)n) == 1 || fail(c, NVME_ACCEL_DEVICE_FAULT);
}

/* The hash key is what the cipher makes of zeros. */
static int set_hash_key(struct gcm *c)
{
	static const uint8_t zero[16] = { 0 };
	uint8_t h[16];

	if (c->slot->have_ghash)
		return 1;
	if (EVP_CipherInit_ex2(c->slot->ctx, NULL, NULL, zero, -1, NULL) != 1)
		return fail(c, NVME_ACCEL_DEVICE_FAULT);
	if (!crypt(c, h, zero, sizeof(h)))
		return 0;
	ghash_key_init(&c->slot->ghash, h);
	c->slot->have_ghash = 1;
	OPENSSL_cleanse(h, sizeof(h));
	return 1;
}

/* Behind the mask the key stream goes on with the text's: the counter cannot overflow its 32 bits. */
static int start(struct gcm *c)
{
	static const uint8_t zero[16] = { 0 };
	uint8_t first[16] = { 0 };

	memcpy(first, c->r->p.iv, 12);
	first[15] = 1;
	if (!cipher_slot_start(c->slot, &c->r->p, first, 0))
		return fail(c, NVME_ACCEL_DEVICE_FAULT);
	if (!c->slot->have_ghash &&
	    (!set_hash_key(c) || !cipher_slot_start(c->slot, &c->r->p, first, 0)))
		return fail(c, NVME_ACCEL_DEVICE_FAULT);
	return crypt(c, c->mask, zero, sizeof(zero));
}

/* Hashes n bytes of the list. */
static int hash(struct gcm *c, struct iov_pos *in, uint64_t n)
{
	size_t step;
	void *p;

	while (n && (step = iov_next(in, &p, BASE_MIN(n, STEP)))) {
		if (engine_stopped(c->job))
			return fail(c, NVME_ACCEL_ABORTED);
		ghash_update(&c->slot->ghash, &c->hash, p, step);
		n -= step;
	}
	return 1;
}

static int hash_aad(struct gcm *c, struct iov_pos *in)
{
	ghash_update(&c->slot->ghash, &c->hash, c->r->p.aad, c->r->p.aad_len);
	if (!hash(c, in, c->r->aad_lead))
		return 0;
	ghash_pad(&c->slot->ghash, &c->hash);
	return 1;
}

static void make_tag(struct gcm *c, uint8_t tag[16])
{
	unsigned int i;

	ghash_pad(&c->slot->ghash, &c->hash);
	ghash_final(&c->slot->ghash, &c->hash, c->r->aad_lead + c->r->p.aad_len, c->r->text_len, tag);
	for (i = 0; i < 16; i++)
		tag[i] ^= c->mask[i];
}

/* The text through the cipher, in an encryption hashed as it comes out. */
static int text(struct gcm *c, struct iov_pos *in)
{
	struct iov_pos out = { c->job->out, c->job->nout, 0 };
	size_t n, most = c->r->encrypt ? PIECE : STEP;
	uint64_t left = c->r->text_len;
	void *src, *dst;

	while (left && (n = cipher_pair(in, &out, &src, &dst, BASE_MIN(left, most)))) {
		if (engine_stopped(c->job))
			return fail(c, NVME_ACCEL_ABORTED);
		if (!crypt(c, dst, src, n))
			return 0;
		if (c->r->encrypt)
			ghash_update(&c->slot->ghash, &c->hash, dst, n);
		left -= n;
	}
	return 1;
}

static int seal(struct gcm *c, struct iov_pos *in)
{
	uint8_t tag[16];

	if (!hash_aad(c, in) || !text(c, in))
		return 0;
	make_tag(c, tag);
	engine_set_result(c->job, c->index, tag, c->r->p.tag_len);
	return 1;
}

static int open_sealed(struct gcm *c, struct iov_pos *in)
{
	struct iov_pos again;
	uint8_t tag[16];

	if (!hash_aad(c, in))
		return 0;
	again = *in;
	if (!hash(c, in, c->r->text_len))
		return 0;
	make_tag(c, tag);
	if (CRYPTO_memcmp(tag, c->r->p.tag, c->r->p.tag_len) != 0)
		return fail(c, NVME_ACCEL_AUTH_FAILED);
	return text(c, &again);
}

void cipher_clmul_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	static const struct base_iov nothing_held = { NULL, 0 };
	struct iov_pos in = { job->in, job->nin, 0 };
	struct cipher_req r;
	struct gcm c = { .r = &r, .index = index, .job = job };
	int good;

	if (!cipher_parse(&r, stage, index, job))
		return;
	c.slot = cipher_slot_get(t, NVME_ACCEL_ALG_AES_CTR, r.p.key_len, 1);
	if (!c.slot) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	good = start(&c) && (r.encrypt ? seal(&c, &in) : open_sealed(&c, &in));
	if (good)
		cipher_release(&r, job, &nothing_held);
	else if (job->code != NVME_ACCEL_AUTH_FAILED && job->code != NVME_ACCEL_ABORTED)
		cipher_slot_forget(c.slot);
	OPENSSL_cleanse(&c, sizeof(c));
}
