// SPDX-License-Identifier: GPL-2.0-only
/*
 * AES-GCM with an IV that is not 12 bytes long (NIST SP 800-38D, section 7.1), which the crypto API's AEAD does not
 * take: put together from its AES-CTR and its GHASH. Where a kernel has no GHASH of its own such a job is
 * UNSUPPORTED_OP.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include "kpriv.h"
#include "../../lib/engine/cipher.h"

#define BLOCK 16u

struct gcm {
	struct kengine_thread *t;
	const struct cipher_req *r;
	struct job *job;
	struct shash_desc *desc;
	u8 *work;		/* two blocks that a scatterlist may point to */
	u8 j0[BLOCK];
};

static u32 ctr(const struct gcm *g, const u8 iv[BLOCK], struct iov_pos *in, struct iov_pos *out, u64 n)
{
	return kcipher_ctr(g->t, g->r->p.key, g->r->p.key_len, iv, in, out, n);
}

/* One block, encrypted: what counting from it makes of zeros. */
static u32 block(const struct gcm *g, const u8 in[BLOCK], u8 out[BLOCK])
{
	struct kvec zero = { g->work, BLOCK }, made = { g->work + BLOCK, BLOCK };
	struct iov_pos from = { &zero, 1, 0 }, to = { &made, 1, 0 };
	u32 code;

	memset(g->work, 0, BLOCK);
	code = ctr(g, in, &from, &to, BLOCK);
	memcpy(out, g->work + BLOCK, BLOCK);
	memzero_explicit(g->work, 2 * BLOCK);
	return code;
}

/* Zeros up to a whole block. */
static int pad(struct gcm *g, u64 n)
{
	static const u8 zeros[BLOCK];

	return n % BLOCK ? crypto_shash_update(g->desc, zeros, BLOCK - n % BLOCK) : 0;
}

static int hash_list(struct gcm *g, struct iov_pos *pos, u64 n)
{
	size_t len;
	void *p;
	int rc = 0;

	for (; n && !rc; n -= len) {
		len = iov_next(pos, &p, min_t(u64, n, ENGINE_STEP(0)));
		if (!len)
			return -EINVAL;
		rc = crypto_shash_update(g->desc, p, len);
		cond_resched();
	}
	return rc;
}

static int lengths(struct gcm *g, u64 first, u64 second, u8 out[BLOCK])
{
	__be64 len[2] = { cpu_to_be64(first * 8), cpu_to_be64(second * 8) };

	return crypto_shash_finup(g->desc, (u8 *)len, sizeof(len), out);
}

static int first_counter(struct gcm *g)
{
	u32 n = g->r->p.iv_len;

	return crypto_shash_init(g->desc) ?: crypto_shash_update(g->desc, g->r->p.iv, n) ?: pad(g, n) ?:
	       lengths(g, 0, n, g->j0);
}

/* text: the ciphertext. */
static int tag(struct gcm *g, struct iov_pos text, const u8 mask[BLOCK], u8 out[BLOCK])
{
	struct iov_pos lead = { g->job->in, g->job->nin, 0 };
	u64 aad = g->r->p.aad_len + g->r->aad_lead;
	int rc;

	rc = crypto_shash_init(g->desc) ?: crypto_shash_update(g->desc, g->r->p.aad, g->r->p.aad_len) ?:
	     hash_list(g, &lead, g->r->aad_lead) ?: pad(g, aad) ?: hash_list(g, &text, g->r->text_len) ?:
	     pad(g, g->r->text_len) ?: lengths(g, aad, g->r->text_len, out);
	if (!rc)
		crypto_xor(out, mask, BLOCK);
	return rc;
}

/* GCM counts in the last four bytes of the block only, AES-CTR in all of it: two parts where those four overflow. */
static u32 text(struct gcm *g, struct iov_pos in, struct iov_pos out)
{
	u64 left = g->r->text_len, until;
	u8 iv[BLOCK];
	u32 count, code;
	__be32 be;

	memcpy(iv, g->j0, BLOCK);
	memcpy(&be, iv + 12, sizeof(be));
	count = be32_to_cpu(be) + 1;
	be = cpu_to_be32(count);
	memcpy(iv + 12, &be, sizeof(be));
	until = min(left, ((1ull << 32) - count) * BLOCK);
	code = ctr(g, iv, &in, &out, until);
	memset(iv + 12, 0, sizeof(be));
	return code ?: ctr(g, iv, &in, &out, left - until);
}

static u32 hash_open(struct gcm *g)
{
	struct kengine_thread *t = g->t;
	struct cipher_thread *c = kcipher_get(t);
	u8 h[BLOCK] = {};
	u32 code;
	int rc;

	if (!c)
		return NVME_ACCEL_NO_RESOURCES;
	if (!c->ghash) {
		c->ghash = crypto_alloc_shash("ghash", 0, 0);
		if (IS_ERR(c->ghash)) {
			rc = PTR_ERR(c->ghash);
			c->ghash = NULL;
			return rc == -ENOMEM ? NVME_ACCEL_NO_RESOURCES : NVME_ACCEL_UNSUPPORTED_OP;
		}
	}
	g->work = engine_scratch(t->et, SCRATCH_WORK, 2 * BLOCK);
	g->desc = engine_scratch(t->et, SCRATCH_OUT, sizeof(*g->desc) + crypto_shash_descsize(c->ghash));
	if (!g->work || !g->desc)
		return NVME_ACCEL_NO_RESOURCES;
	g->desc->tfm = c->ghash;
	code = block(g, h, h);
	if (!code && crypto_shash_setkey(c->ghash, h, BLOCK))
		code = NVME_ACCEL_DEVICE_FAULT;
	memzero_explicit(h, sizeof(h));
	return code;
}

static u32 run(struct gcm *g, unsigned int index)
{
	struct iov_pos in = { g->job->in, g->job->nin, 0 }, out = { g->job->out, g->job->nout, 0 };
	const struct cipher_req *r = g->r;
	u8 mask[BLOCK], made[BLOCK];
	u32 code;

	code = hash_open(g);
	if (!code && first_counter(g))
		code = NVME_ACCEL_DEVICE_FAULT;
	code = code ?: block(g, g->j0, mask);
	if (code)
		return code;
	iov_skip(&in, r->aad_lead);
	if (r->encrypt) {
		code = text(g, in, out);
		if (!code && tag(g, out, mask, made))
			code = NVME_ACCEL_DEVICE_FAULT;
		if (!code)
			engine_set_result(g->job, index, made, r->p.tag_len);
		return code;
	}
	if (tag(g, in, mask, made))
		return NVME_ACCEL_DEVICE_FAULT;
	if (crypto_memneq(made, r->p.tag, r->p.tag_len))
		return NVME_ACCEL_AUTH_FAILED;
	return text(g, in, out);
}

void kgcm_any_iv(struct kengine_thread *t, const struct cipher_req *r, unsigned int index, struct job *job)
{
	struct gcm g = { .t = t, .r = r, .job = job };
	u32 code = run(&g, index);

	memzero_explicit(&g, sizeof(g));
	if (code) {
		engine_fail(job, index, code);
		return;
	}
	job->in_used = job->in_len;
	job->out_len = r->text_len;
}
