// SPDX-License-Identifier: GPL-2.0-only
/* aead gcm(aes). */
#include <crypto/aes.h>
#include <crypto/gcm.h>
#include <crypto/internal/aead.h>
#include <crypto/scatterwalk.h>
#include <linux/module.h>
#include "nac.h"

#define TAG_MIN		12u	/* shorter ones are software's */
#define AAD_INLINE	192u	/* more of it than fits the descriptor leads the input */

struct ctx {
	struct crypto_aead *soft;
	u8 key[AES_KEYSIZE_256];
	u32 key_len;			/* 0: not one for accelerators */
};

struct reqctx {
	struct nac_job job;
	struct aead_request soft;	/* its context follows */
};

static struct aead_request *req_of(struct nac_job *job)
{
	return container_of(job->req, struct aead_request, base);
}

static struct ctx *ctx_of(struct aead_request *req)
{
	return crypto_aead_ctx(crypto_aead_reqtfm(req));
}

static u32 tag_len(struct aead_request *req)
{
	return crypto_aead_authsize(crypto_aead_reqtfm(req));
}

static u32 text_len(const struct nac_job *job, struct aead_request *req)
{
	return req->cryptlen - (job->op == NAC_GCM_DECRYPT ? tag_len(req) : 0);
}

static size_t encode(struct nac_job *job, u32 aad_len, u8 *param, size_t room)
{
	struct aead_request *req = req_of(job);
	struct ctx *ctx = ctx_of(req);
	u8 aad[AAD_INLINE], tag[AES_BLOCK_SIZE];
	struct wire_cipher c = {
		.key = ctx->key, .key_len = ctx->key_len, .iv = req->iv, .iv_len = GCM_AES_IV_SIZE, .tag = tag,
		.tag_len = tag_len(req), .aad = aad, .aad_len = aad_len,
	};

	if (job->op == NAC_GCM_DECRYPT)
		scatterwalk_map_and_copy(tag, req->src, req->assoclen + text_len(job, req), c.tag_len, 0);
	if (aad_len)
		scatterwalk_map_and_copy(aad, req->src, 0, aad_len, 0);
	return wire_cipher_encode(&c, job->op == NAC_GCM_DECRYPT, param, room);
}

static int stage(struct nac_job *job, const struct nac_dev *dev, struct job_stage *s, u8 *param, size_t room)
{
	struct aead_request *req = req_of(job);

	s->op = job->op == NAC_GCM_ENCRYPT ? NVME_ACCEL_OP_ENCRYPT : NVME_ACCEL_OP_DECRYPT;
	s->alg = NVME_ACCEL_ALG_AES_GCM;
	s->param = param;
	s->param_len = req->assoclen <= AAD_INLINE ? encode(job, req->assoclen, param, room) : 0;
	if (s->param_len)
		return 0;
	s->param_len = encode(job, 0, param, room);
	s->arg0 = req->assoclen;
	job->src_off = 0;
	job->in_len = req->assoclen + text_len(job, req);
	return s->param_len ? 0 : -E2BIG;
}

static int finish(struct nac_job *job, const struct wire_status *st)
{
	struct aead_request *req = req_of(job);
	u8 tag[AES_BLOCK_SIZE];

	if (job->out_len != text_len(job, req))
		return -EPROTO;
	if (job->op == NAC_GCM_ENCRYPT) {
		memcpy(tag, st->result[0], sizeof(tag));
		scatterwalk_map_and_copy(tag, req->dst, req->assoclen + req->cryptlen, tag_len(req), 1);
	}
	return 0;
}

static void soft_done(compat_crypto_arg *arg, int err)
{
	struct nac_job *job = compat_crypto_data(arg);

	/* It has moved up in its driver's queue: our caller was told already that it is on its way. */
	if (err == -EINPROGRESS)
		return;
	if (err == -EBADMSG)
		nac_count(job->bind, NAC_C_DATA_ERRORS, 1);
	nac_done(job, err);
}

static int soft(struct nac_job *job, bool may_sleep)
{
	struct aead_request *req = req_of(job);
	struct reqctx *r = aead_request_ctx(req);
	int ret;

	aead_request_set_tfm(&r->soft, ctx_of(req)->soft);
	aead_request_set_callback(&r->soft, CRYPTO_TFM_REQ_MAY_BACKLOG | (may_sleep ? CRYPTO_TFM_REQ_MAY_SLEEP : 0), soft_done,
				  job);
	aead_request_set_crypt(&r->soft, req->src, req->dst, req->cryptlen, req->iv);
	aead_request_set_ad(&r->soft, req->assoclen);
	ret = job->op == NAC_GCM_ENCRYPT ? crypto_aead_encrypt(&r->soft) : crypto_aead_decrypt(&r->soft);
	if (ret == -EBADMSG)
		nac_count(job->bind, NAC_C_DATA_ERRORS, 1);
	return ret == -EBUSY ? -EINPROGRESS : ret;
}

static const struct nac_job_ops job_ops = { stage, finish, soft };

static int crypt(struct aead_request *req, enum nac_op op)
{
	struct reqctx *r = aead_request_ctx(req);
	struct nac_job *job = &r->job;

	if (op == NAC_GCM_DECRYPT && req->cryptlen < tag_len(req))
		return -EINVAL;
	nac_job_init(job, &req->base, &job_ops, op);
	job->src = req->src;
	job->dst = req->dst;
	job->src_off = job->dst_off = req->assoclen;
	job->in_len = job->out_max = text_len(job, req);
	if (!ctx_of(req)->key_len || tag_len(req) < TAG_MIN)
		return nac_software(job, NAC_F_UNSUPPORTED);
	return nac_submit(job);
}

static int encrypt(struct aead_request *req)
{
	return crypt(req, NAC_GCM_ENCRYPT);
}

static int decrypt(struct aead_request *req)
{
	return crypt(req, NAC_GCM_DECRYPT);
}

static int setkey(struct crypto_aead *tfm, const u8 *key, unsigned int len)
{
	struct ctx *ctx = crypto_aead_ctx(tfm);
	int ret;

	crypto_aead_clear_flags(ctx->soft, CRYPTO_TFM_REQ_MASK);
	crypto_aead_set_flags(ctx->soft, crypto_aead_get_flags(tfm) & CRYPTO_TFM_REQ_MASK);
	ret = crypto_aead_setkey(ctx->soft, key, len);
	if (ret)
		return ret;
	ctx->key_len = len == AES_KEYSIZE_128 || len == AES_KEYSIZE_256 ? len : 0;
	memcpy(ctx->key, key, ctx->key_len);
	return 0;
}

static int setauthsize(struct crypto_aead *tfm, unsigned int size)
{
	struct ctx *ctx = crypto_aead_ctx(tfm);

	return crypto_aead_setauthsize(ctx->soft, size);
}

static int init_tfm(struct crypto_aead *tfm)
{
	struct ctx *ctx = crypto_aead_ctx(tfm);

	ctx->soft = crypto_alloc_aead("gcm(aes)", 0, NAC_NOT_OURS);
	if (IS_ERR(ctx->soft))
		return PTR_ERR(ctx->soft);
	crypto_aead_set_reqsize(tfm, sizeof(struct reqctx) + crypto_aead_reqsize(ctx->soft));
	return 0;
}

static void exit_tfm(struct crypto_aead *tfm)
{
	struct ctx *ctx = crypto_aead_ctx(tfm);

	memzero_explicit(ctx->key, sizeof(ctx->key));
	crypto_free_aead(ctx->soft);
	nac_algs_check_later();
}

static struct aead_alg alg = {
	.setkey = setkey,
	.setauthsize = setauthsize,
	.encrypt = encrypt,
	.decrypt = decrypt,
	.init = init_tfm,
	.exit = exit_tfm,
	.ivsize = GCM_AES_IV_SIZE,
	.maxauthsize = AES_BLOCK_SIZE,
	.chunksize = AES_BLOCK_SIZE,
	.base = {
		.cra_name = "gcm(aes)",
		.cra_driver_name = "gcm-aes-nvme-accel",
		.cra_flags = NAC_ALG_FLAGS,
		.cra_blocksize = 1,
		.cra_ctxsize = sizeof(struct ctx),
		.cra_module = THIS_MODULE,
	},
};

/* Kept while the algorithm is registered: its modules are there, and it has passed its tests, before anybody wants ours. */
static struct crypto_aead *kept;

static int reg(u32 priority)
{
	unsigned int tries = NAC_FALLBACK_TRIES;
	int ret;

	do {
		kept = crypto_alloc_aead("gcm(aes)", 0, NAC_NOT_OURS);
	} while (kept == ERR_PTR(-ETIMEDOUT) && --tries);
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	alg.base.cra_priority = priority;
	ret = crypto_register_aead(&alg);
	if (ret)
		crypto_free_aead(kept);
	return ret;
}

static void unreg(void)
{
	crypto_unregister_aead(&alg);
	crypto_free_aead(kept);
}

static bool idle(void)
{
	return refcount_read(&alg.base.cra_refcnt) == 1;
}

const struct nac_alg_ops nac_gcm_alg = { reg, unreg, idle };
