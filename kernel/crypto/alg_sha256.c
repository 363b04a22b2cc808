// SPDX-License-Identifier: GPL-2.0-only
/* ahash sha256: whole messages (digest) on the accelerator; messages in pieces are software's, whose state this is. */
#include <crypto/internal/hash.h>
#include <crypto/sha2.h>
#include <linux/module.h>
#include "nac.h"

struct ctx {
	struct crypto_ahash *soft;
};

struct reqctx {
	struct nac_job job;
	struct ahash_request soft;	/* its context follows */
};

static struct ahash_request *req_of(struct nac_job *job)
{
	return ahash_request_cast(job->req);
}

static struct ahash_request *soft_req(struct ahash_request *req, bool may_sleep)
{
	struct ctx *ctx = crypto_ahash_ctx(crypto_ahash_reqtfm(req));
	struct reqctx *r = ahash_request_ctx(req);

	ahash_request_set_tfm(&r->soft, ctx->soft);
	ahash_request_set_callback(&r->soft, may_sleep ? CRYPTO_TFM_REQ_MAY_SLEEP : 0, NULL, NULL);
	ahash_request_set_crypt(&r->soft, req->src, req->result, req->nbytes);
	return &r->soft;
}

static struct ahash_request *piece(struct ahash_request *req)
{
	return soft_req(req, req->base.flags & CRYPTO_TFM_REQ_MAY_SLEEP);
}

static int init(struct ahash_request *req)
{
	nac_count(NULL, NAC_F_PARTIAL, 1);
	return crypto_ahash_init(piece(req));
}

static int update(struct ahash_request *req)
{
	return crypto_ahash_update(piece(req));
}

static int final(struct ahash_request *req)
{
	return crypto_ahash_final(piece(req));
}

static int finup(struct ahash_request *req)
{
	return crypto_ahash_finup(piece(req));
}

static int export(struct ahash_request *req, void *out)
{
	struct reqctx *r = ahash_request_ctx(req);

	return crypto_ahash_export(&r->soft, out);
}

static int import(struct ahash_request *req, const void *in)
{
	return crypto_ahash_import(piece(req), in);
}

static int stage(struct nac_job *job, const struct nac_dev *dev, struct job_stage *s, u8 *param, size_t room)
{
	s->op = NVME_ACCEL_OP_DIGEST;
	s->alg = NVME_ACCEL_ALG_SHA256;
	return 0;
}

static int finish(struct nac_job *job, const struct wire_status *st)
{
	memcpy(req_of(job)->result, st->result[0], SHA256_DIGEST_SIZE);
	return 0;
}

static int soft(struct nac_job *job, bool may_sleep)
{
	return crypto_ahash_digest(soft_req(req_of(job), may_sleep));
}

static const struct nac_job_ops job_ops = { stage, finish, soft };

static int digest(struct ahash_request *req)
{
	struct reqctx *r = ahash_request_ctx(req);

	nac_job_init(&r->job, &req->base, &job_ops, NAC_SHA256);
	r->job.src = req->src;
	r->job.in_len = req->nbytes;
	return nac_submit(&r->job);
}

static int init_tfm(struct crypto_ahash *tfm)
{
	struct ctx *ctx = crypto_ahash_ctx(tfm);

	/* One that answers at once: its state is to be had at any time. */
	ctx->soft = crypto_alloc_ahash("sha256", 0, CRYPTO_ALG_ASYNC | NAC_NOT_OURS);
	if (IS_ERR(ctx->soft))
		return PTR_ERR(ctx->soft);
	if (crypto_ahash_statesize(ctx->soft) != sizeof(struct sha256_state)) {
		crypto_free_ahash(ctx->soft);
		return -EOPNOTSUPP;
	}
	crypto_ahash_set_reqsize(tfm, sizeof(struct reqctx) + crypto_ahash_reqsize(ctx->soft));
	return 0;
}

static void exit_tfm(struct crypto_ahash *tfm)
{
	struct ctx *ctx = crypto_ahash_ctx(tfm);

	crypto_free_ahash(ctx->soft);
	nac_algs_check_later();
}

static struct ahash_alg alg = {
	.init = init,
	.update = update,
	.final = final,
	.finup = finup,
	.digest = digest,
	.export = export,
	.import = import,
	.init_tfm = init_tfm,
	.exit_tfm = exit_tfm,
	.halg = {
		.digestsize = SHA256_DIGEST_SIZE,
		.statesize = sizeof(struct sha256_state),
		.base = {
			.cra_name = "sha256",
			.cra_driver_name = "sha256-nvme-accel",
			.cra_flags = NAC_ALG_FLAGS,
			.cra_blocksize = SHA256_BLOCK_SIZE,
			.cra_ctxsize = sizeof(struct ctx),
			.cra_module = THIS_MODULE,
		},
	},
};

/* Kept while the algorithm is registered: its modules are there, and it has passed its tests, before anybody wants ours. */
static struct crypto_ahash *kept;

static int reg(u32 priority)
{
	unsigned int tries = NAC_FALLBACK_TRIES;
	int ret;

	do {
		kept = crypto_alloc_ahash("sha256", 0, CRYPTO_ALG_ASYNC | NAC_NOT_OURS);
	} while (kept == ERR_PTR(-ETIMEDOUT) && --tries);
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	alg.halg.base.cra_priority = priority;
	ret = crypto_register_ahash(&alg);
	if (ret)
		crypto_free_ahash(kept);
	return ret;
}

static void unreg(void)
{
	crypto_unregister_ahash(&alg);
	crypto_free_ahash(kept);
}

static bool idle(void)
{
	return refcount_read(&alg.halg.base.cra_refcnt) == 1;
}

const struct nac_alg_ops nac_sha256_alg = { reg, unreg, idle };
