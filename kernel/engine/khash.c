// SPDX-License-Identifier: GPL-2.0-only
/* The digest family: by the crypto API, on the lists as they are where the processor does it. */
#include <crypto/hash.h>
#include "kpriv.h"

static const struct {
	u16 alg;
	u8 len;
} kinds[] = {
	{ NVME_ACCEL_ALG_SHA256, 32 }, { NVME_ACCEL_ALG_SHA512, 64 },
	{ NVME_ACCEL_ALG_SHA3_256, 32 }, { NVME_ACCEL_ALG_BLAKE2B, 64 },
};

struct digest_thread {
	struct shash_desc *desc[KP_N];
};

void digest_thread_free(struct digest_thread *d)
{
	unsigned int i;

	for (i = 0; d && i < KP_N; i++)
		kfree_sensitive(d->desc[i]);
	kfree(d);
}

static struct shash_desc *desc_get(struct engine_thread *t, enum kprov_id id, struct crypto_shash *tfm)
{
	if (!t->digest)
		t->digest = kzalloc(sizeof(*t->digest), GFP_KERNEL);
	if (!t->digest)
		return NULL;
	if (!t->digest->desc[id])
		t->digest->desc[id] = kmalloc(sizeof(struct shash_desc) + crypto_shash_descsize(tfm), GFP_KERNEL);
	if (t->digest->desc[id])
		t->digest->desc[id]->tfm = tfm;
	return t->digest->desc[id];
}

/* Piece by piece; the processor is given up between them. */
static u32 soft(struct engine_thread *t, enum kprov_id id, struct crypto_shash *tfm, struct job *job, u8 *result)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	struct shash_desc *desc = desc_get(t, id, tfm);
	u64 left = job->in_len;
	size_t n;
	void *p;
	int rc;

	if (!desc)
		return NVME_ACCEL_NO_RESOURCES;
	rc = crypto_shash_init(desc);
	for (; left && !rc; left -= n) {
		n = iov_next(&pos, &p, min_t(u64, left, ENGINE_STEP(0)));
		if (!n || engine_stopped(job))
			return NVME_ACCEL_ABORTED;
		rc = crypto_shash_update(desc, p, n);
	}
	rc = rc ?: crypto_shash_final(desc, result);
	return rc ? NVME_ACCEL_DEVICE_FAULT : NVME_ACCEL_OK;
}

static u32 hard(struct kengine_thread *t, struct kprov *p, struct job *job, u8 *result)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	struct crypto_ahash *tfm = p->tfm;
	struct kreq *q = kreq_get(t);
	struct ahash_request *req = ahash_request_alloc(tfm, GFP_KERNEL);
	unsigned int used = 0;
	u32 code = NVME_ACCEL_DEVICE_FAULT;
	int rc;

	if (!q || !req || kreq_add(&q->in, &q->max_in, &used, &pos, job->in_len) ||
	    kreq_add_flat(&q->in, &q->max_in, &used, q->tag, 1)) {
		ahash_request_free(req);
		return NVME_ACCEL_NO_RESOURCES;
	}
	kreq_end(q->in, used);
	ahash_request_set_callback(req, CRYPTO_TFM_REQ_MAY_BACKLOG | CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &q->wait);
	/* aad is where a late answer does no harm. */
	ahash_request_set_crypt(req, q->in, q->aad, job->in_len);
	rc = kreq_wait(t, p, q, crypto_ahash_digest(req));
	if (READ_ONCE(p->lost))
		return code;
	if (!rc) {
		memcpy(result, q->aad, crypto_ahash_digestsize(tfm));
		code = NVME_ACCEL_OK;
	}
	ahash_request_free(req);
	return code;
}

static u8 len_of(u16 alg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds) - 1 && kinds[i].alg != alg; i++)
		;
	return kinds[i].len;
}

static void run(struct engine_thread *et, const struct job_stage *stage, unsigned int index, struct job *job)
{
	struct kengine_thread *t = kthread_of(et);
	enum kprov_id id = prov_of_digest(stage->alg);
	struct kprov *p = &t->ke->prov[id];
	u8 result[JOB_LONG_LEN];
	u32 code;

	if (!prov_is(p))
		code = NVME_ACCEL_UNSUPPORTED_OP;
	else if (READ_ONCE(p->lost))
		code = NVME_ACCEL_DEVICE_FAULT;
	else
		code = p->hard ? hard(t, p, job, result) : soft(et, id, p->tfm, job, result);
	if (code) {
		engine_fail(job, index, code);
		return;
	}
	engine_set_result(job, index, result, len_of(stage->alg));
	job->in_used = job->in_len;
}

static int takes(const struct job_stage *stage, uint64_t in_len)
{
	return !stage->arg0 && !stage->arg1 && !stage->param_len && !stage->flags;
}

#define FN(alg) { NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_##alg, "crypto", takes, run }
static const struct engine_fn entries[] = { FN(SHA256), FN(SHA512), FN(SHA3_256), FN(BLAKE2B) };
#undef FN

static unsigned int ops(struct wire_op *op, unsigned int max)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds) && i < max; i++)
		op[i] = (struct wire_op){
			.op = NVME_ACCEL_OP_DIGEST, .alg = kinds[i].alg, .granule = 1, .align = 1,
			.flags = NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST |
				 NVME_ACCEL_OPF_ALONE,
		};
	return i;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return 0;
}

const struct engine_family engine_digest = { entries, ARRAY_SIZE(entries), ops, bound };
