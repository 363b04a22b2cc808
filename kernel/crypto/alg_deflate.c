// SPDX-License-Identifier: GPL-2.0-only
/* acomp deflate: raw deflate, whole buffers. */
#include <crypto/internal/acompress.h>
#include <linux/module.h>
#include "nac.h"

#define LIST_MAX	(128u << 10)	/* of an output that the caller leaves to the algorithm */

static struct nac_job *job_of(struct acomp_req *req)
{
	return acomp_request_ctx(req);
}

static struct acomp_req *req_of(struct nac_job *job)
{
	return container_of(job->req, struct acomp_req, base);
}

static u32 level_of(const struct nac_dev *dev, const struct wire_op *op)
{
	return clamp_t(u32, READ_ONCE(dev->bind->conf.level), op->level_min, op->level_max);
}

static int stage(struct nac_job *job, const struct nac_dev *dev, struct job_stage *s, u8 *param, size_t room)
{
	bool compress = job->op == NAC_COMPRESS;
	const struct wire_op *op;

	s->op = compress ? NVME_ACCEL_OP_COMPRESS : NVME_ACCEL_OP_DECOMPRESS;
	s->alg = NVME_ACCEL_ALG_DEFLATE;
	op = wire_find_op(&dev->id, s->op, s->alg);
	if (!op)
		return -EOPNOTSUPP;
	if (compress) {
		s->arg0 = level_of(dev, op);
		s->arg1 = READ_ONCE(dev->bind->conf.window_bits);
	} else {
		/* As software does: what follows the end is nobody's business. */
		s->flags = NVME_ACCEL_STAGE_TRAILING;
	}
	return 0;
}

static int finish(struct nac_job *job, const struct wire_status *st)
{
	req_of(job)->dlen = job->out_len;
	return 0;
}

static int soft(struct nac_job *job, bool may_sleep)
{
	struct acomp_req *req = req_of(job);
	u32 n;
	int ret;

	if (job->op == NAC_COMPRESS)
		ret = nac_zsoft_compress(req->src, req->slen, req->dst, req->dlen, &n, may_sleep);
	else
		ret = nac_zsoft_decompress(req->src, req->slen, req->dst, req->dlen, &n, may_sleep);
	if (ret && ret != -EAGAIN)
		nac_count(job->bind, NAC_C_DATA_ERRORS, 1);
	if (ret)
		return ret;
	req->dlen = job->out_len = n;
	return 0;
}

static const struct nac_job_ops job_ops = { stage, finish, soft };

/* The most that deflate makes of so much, and more. */
static u32 bound(u32 n)
{
	return n + n / 8 + 64;
}

/* Kernels before 6.15 let the caller leave the output to the algorithm. */
static int output(struct acomp_req *req, bool compress)
{
	u32 n = req->dlen && req->dlen <= LIST_MAX ? req->dlen : LIST_MAX;

	if (compress)
		n = min(n, bound(req->slen));
	req->dst = sgl_alloc(n, req->base.flags & CRYPTO_TFM_REQ_MAY_SLEEP ? GFP_KERNEL : GFP_ATOMIC, NULL);
	if (!req->dst)
		return -ENOMEM;
	req->dlen = n;
	return 0;
}

static int run(struct acomp_req *req, enum nac_op op)
{
	struct nac_job *job = job_of(req);
	int ret;

	if (!req->src || !req->slen || (req->dst && !req->dlen))
		return -EINVAL;
	if (!req->dst) {
		ret = output(req, op == NAC_COMPRESS);
		if (ret)
			return ret;
	}
	nac_job_init(job, &req->base, &job_ops, op);
	job->src = req->src;
	job->in_len = req->slen;
	job->dst = req->dst;
	job->out_max = op == NAC_COMPRESS ? min(req->dlen, bound(req->slen)) : req->dlen;
	job->clamped = job->out_max < req->dlen;
	return nac_submit(job);
}

static int compress(struct acomp_req *req)
{
	return run(req, NAC_COMPRESS);
}

static int decompress(struct acomp_req *req)
{
	return run(req, NAC_DECOMPRESS);
}

static int init(struct crypto_acomp *tfm)
{
	return 0;
}

static void leave(struct crypto_acomp *tfm)
{
	nac_algs_check_later();
}

static struct acomp_alg alg = {
	.compress = compress,
	.decompress = decompress,
	compat_acomp_dst_free(sgl_free)
	.init = init,
	.exit = leave,
	compat_acomp_reqsize(sizeof(struct nac_job))
	.base = {
		.cra_name = "deflate",
		.cra_driver_name = "deflate-nvme-accel",
		.cra_flags = NAC_ALG_FLAGS,
		.cra_module = THIS_MODULE,
		compat_acomp_base_reqsize(sizeof(struct nac_job))
	},
};

static int reg(u32 priority)
{
	alg.base.cra_priority = priority;
	return crypto_register_acomp(&alg);
}

static void unreg(void)
{
	crypto_unregister_acomp(&alg);
}

static bool idle(void)
{
	return refcount_read(&alg.base.cra_refcnt) == 1;
}

const struct nac_alg_ops nac_deflate_alg = { reg, unreg, idle };
