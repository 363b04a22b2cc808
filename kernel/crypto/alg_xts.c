// SPDX-License-Identifier: GPL-2.0-only
/* skcipher xts(aes): each request is one data unit. */
#include <crypto/aes.h>
#include <crypto/algapi.h>
#include <crypto/internal/skcipher.h>
#include <crypto/xts.h>
#include <linux/module.h>
#include "nac.h"

struct ctx {
	struct crypto_skcipher *soft;
	u8 key[2 * AES_KEYSIZE_256];
	u32 key_len;			/* 0: not one for accelerators */
};

struct reqctx {
	struct nac_job job;
	struct skcipher_request soft;	/* its context follows */
};

static struct skcipher_request *req_of(struct nac_job *job)
{
	return skcipher_request_cast(job->req);
}

static struct ctx *ctx_of(struct skcipher_request *req)
{
	return crypto_skcipher_ctx(crypto_skcipher_reqtfm(req));
}

static int stage(struct nac_job *job, const struct nac_dev *dev, struct job_stage *s, u8 *param, size_t room)
{
	struct skcipher_request *req = req_of(job);
	struct ctx *ctx = ctx_of(req);
	struct wire_cipher c = { .key = ctx->key, .key_len = ctx->key_len, .iv = req->iv, .iv_len = XTS_BLOCK_SIZE };

	s->op = job->op == NAC_XTS_ENCRYPT ? NVME_ACCEL_OP_ENCRYPT : NVME_ACCEL_OP_DECRYPT;
	s->alg = NVME_ACCEL_ALG_AES_XTS;
	s->param = param;
	s->param_len = wire_cipher_encode(&c, 0, param, room);
	return s->param_len ? 0 : -E2BIG;
}

static int finish(struct nac_job *job, const struct wire_status *st)
{
	return job->out_len == job->in_len ? 0 : -EPROTO;
}

static void soft_done(compat_crypto_arg *arg, int err)
{
	/* Otherwise it has moved up in its driver's queue: our caller was told already that it is on its way. */
	if (err != -EINPROGRESS)
		nac_done(compat_crypto_data(arg), err);
}

static int soft(struct nac_job *job, bool may_sleep)
{
	struct skcipher_request *req = req_of(job);
	struct reqctx *r = skcipher_request_ctx(req);
	int ret;

	skcipher_request_set_tfm(&r->soft, ctx_of(req)->soft);
	skcipher_request_set_callback(&r->soft, CRYPTO_TFM_REQ_MAY_BACKLOG | (may_sleep ? CRYPTO_TFM_REQ_MAY_SLEEP : 0),
				      soft_done, job);
	skcipher_request_set_crypt(&r->soft, req->src, req->dst, req->cryptlen, req->iv);
	ret = job->op == NAC_XTS_ENCRYPT ? crypto_skcipher_encrypt(&r->soft) : crypto_skcipher_decrypt(&r->soft);
	return ret == -EBUSY ? -EINPROGRESS : ret;
}

static const struct nac_job_ops job_ops = { stage, finish, soft };

static int crypt(struct skcipher_request *req, enum nac_op op)
{
	struct reqctx *r = skcipher_request_ctx(req);
	struct nac_job *job = &r->job;

	if (req->cryptlen < XTS_BLOCK_SIZE)
		return -EINVAL;
	nac_job_init(job, &req->base, &job_ops, op);
	job->src = req->src;
	job->dst = req->dst;
	job->in_len = job->out_max = req->cryptlen;
	if (!ctx_of(req)->key_len)
		return nac_software(job, NAC_F_UNSUPPORTED);
	return nac_submit(job);
}

static int encrypt(struct skcipher_request *req)
{
	return crypt(req, NAC_XTS_ENCRYPT);
}

static int decrypt(struct skcipher_request *req)
{
	return crypt(req, NAC_XTS_DECRYPT);
}

/* Some accelerators refuse keys whose halves are the same, as FIPS 140 wants it. */
static bool fits(const u8 *key, unsigned int len)
{
	return (len == 2 * AES_KEYSIZE_128 || len == 2 * AES_KEYSIZE_256) && crypto_memneq(key, key + len / 2, len / 2);
}

static int setkey(struct crypto_skcipher *tfm, const u8 *key, unsigned int len)
{
	struct ctx *ctx = crypto_skcipher_ctx(tfm);
	int ret = xts_verify_key(tfm, key, len);

	if (ret)
		return ret;
	crypto_skcipher_clear_flags(ctx->soft, CRYPTO_TFM_REQ_MASK);
	crypto_skcipher_set_flags(ctx->soft, crypto_skcipher_get_flags(tfm) & CRYPTO_TFM_REQ_MASK);
	ret = crypto_skcipher_setkey(ctx->soft, key, len);
	if (ret)
		return ret;
	ctx->key_len = fits(key, len) ? len : 0;
	memcpy(ctx->key, key, ctx->key_len);
	return 0;
}

static int init_tfm(struct crypto_skcipher *tfm)
{
	struct ctx *ctx = crypto_skcipher_ctx(tfm);

	ctx->soft = crypto_alloc_skcipher("xts(aes)", 0, NAC_NOT_OURS);
	if (IS_ERR(ctx->soft))
		return PTR_ERR(ctx->soft);
	crypto_skcipher_set_reqsize(tfm, sizeof(struct reqctx) + crypto_skcipher_reqsize(ctx->soft));
	return 0;
}

static void exit_tfm(struct crypto_skcipher *tfm)
{
	struct ctx *ctx = crypto_skcipher_ctx(tfm);

	memzero_explicit(ctx->key, sizeof(ctx->key));
	crypto_free_skcipher(ctx->soft);
	nac_algs_check_later();
}

static struct skcipher_alg alg = {
	.setkey = setkey,
	.encrypt = encrypt,
	.decrypt = decrypt,
	.init = init_tfm,
	.exit = exit_tfm,
	.min_keysize = 2 * AES_MIN_KEY_SIZE,
	.max_keysize = 2 * AES_MAX_KEY_SIZE,
	.ivsize = XTS_BLOCK_SIZE,
	.base = {
		.cra_name = "xts(aes)",
		.cra_driver_name = "xts-aes-nvme-accel",
		.cra_flags = NAC_ALG_FLAGS,
		.cra_blocksize = XTS_BLOCK_SIZE,
		.cra_ctxsize = sizeof(struct ctx),
		.cra_module = THIS_MODULE,
	},
};

/* Kept while the algorithm is registered: its modules are there, and it has passed its tests, before anybody wants ours. */
static struct crypto_skcipher *kept;

static int reg(u32 priority)
{
	unsigned int tries = NAC_FALLBACK_TRIES;
	int ret;

	do {
		kept = crypto_alloc_skcipher("xts(aes)", 0, NAC_NOT_OURS);
	} while (kept == ERR_PTR(-ETIMEDOUT) && --tries);
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	alg.base.cra_priority = priority;
	ret = crypto_register_skcipher(&alg);
	if (ret)
		crypto_free_skcipher(kept);
	return ret;
}

static void unreg(void)
{
	crypto_unregister_skcipher(&alg);
	crypto_free_skcipher(kept);
}

static bool idle(void)
{
	return refcount_read(&alg.base.cra_refcnt) == 1;
}

const struct nac_alg_ops nac_xts_alg = { reg, unreg, idle };
