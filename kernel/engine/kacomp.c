// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deflate by a driver of the crypto API (acomp): hardware, or the one that the administrator names. It knows raw deflate,
 * whole buffers and no levels; what it does not take, or does not do, the library does, so that a job means the same
 * whoever runs it.
 */
#include <crypto/acompress.h>
#include "kpriv.h"

#define SOFT_MAX	(128u << 10)	/* what software behind this interface takes */
#define SOFT_BITS	11u		/* and its window */
#define HARD_BITS	15u

/* A named software driver serves what it can; nobody else's software is better than the library. */
static struct kprov *usable(struct kengine_thread *t)
{
	struct kprov *p = &t->ke->prov[KP_DEFLATE];

	return p->tfm && !READ_ONCE(p->lost) ? p : NULL;
}

static u32 bits_of(const struct kengine_thread *t, const struct job_stage *stage)
{
	return min_t(u32, stage->arg1 ? stage->arg1 : 15, t->ke->window_bits);
}

static struct acomp_req *req_get(struct kengine_thread *t, struct kprov *p)
{
	if (!t->acomp)
		t->acomp = acomp_request_alloc(p->tfm);
	return t->acomp;
}

/* Runs a request; 0 with the bytes made in *made, and they are in bounce. */
static int run(struct kengine_thread *t, struct kprov *p, struct iov_pos in, u64 in_len, size_t max, bool compress,
	       size_t *made)
{
	struct kreq *q = kreq_get(t);
	struct acomp_req *req = req_get(t, p);
	unsigned int nin = 0, nout = 0;
	int rc;

	if (!q || !req || kreq_bounce(q, max))
		return -ENOMEM;
	rc = kreq_add(&q->in, &q->max_in, &nin, &in, in_len) ?: kreq_add_flat(&q->out, &q->max_out, &nout, q->bounce, max);
	if (rc)
		return rc;
	kreq_end(q->in, nin);
	kreq_end(q->out, nout);
	acomp_request_set_params(req, q->in, q->out, in_len, max);
	acomp_request_set_callback(req, CRYPTO_TFM_REQ_MAY_BACKLOG | CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &q->wait);
	rc = kreq_wait(t, p, q, compress ? crypto_acomp_compress(req) : crypto_acomp_decompress(req));
	if (READ_ONCE(p->lost))
		t->acomp = NULL;
	*made = rc ? 0 : req->dlen;
	return rc ?: *made > max ? -EOVERFLOW : 0;
}

bool kacomp_compress(struct raw *r, enum raw_state *rc)
{
	struct kengine_thread *t = kthread_of(r->t);
	struct kprov *p = usable(t);
	struct iov_pos in = { r->job->in, r->job->nin, 0 };
	u64 max = deflate_bound(r->stage, r->job->in_len);
	size_t made;

	/*
	 * A chunk ends in a way that drivers do not know. Some need more room than they fill: it is not the output's, so
	 * that what just fits does fit.
	 */
	if (!p || r->chunk || bits_of(t, r->stage) < (p->hard ? HARD_BITS : SOFT_BITS))
		return false;
	if (!p->hard && r->job->in_len > SOFT_MAX)
		return false;
	if (run(t, p, in, r->job->in_len, max, true, &made) || !made || sink_put(&r->sink, t->kreq->bounce, made))
		return false;
	*rc = RAW_OK;
	return true;
}

/*
 * Whether the stream takes n bytes to its end. A driver does not say how much of its input it has used, and bytes behind
 * the stream mean nothing to it.
 */
static bool fills(struct kengine_thread *t, struct job *job, const struct body *b, u64 n)
{
	const u8 *in = engine_flat_in(t->et, job);
	void *work = engine_scratch(t->et, SCRATCH_WORK, SKIM_WORK_NBYTES);
	struct skim s;

	return in && work && !deflate_skim(work, in + b->head, n, 0, &s) && DIV_ROUND_UP(s.end_bit, 8) == n;
}

/*
 * What a driver made counts only where a check value and a length behind the data bear it out: zlib and gzip that fill
 * their input.
 */
bool kacomp_decompress(struct kengine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		       const struct body *b)
{
	size_t ntail = wrap_tail_len(stage->alg), made;
	struct iov_pos in = { job->in, job->nin, 0 }, out = { job->out, job->nout, 0 };
	struct kprov *p = usable(t);
	u64 max = min_t(u64, job->out_max, KENGINE_MAX_BYTES);
	u32 check = wrap_check_init(stage->alg);

	if (!p || stage->alg == NVME_ACCEL_ALG_DEFLATE || stage->flags || b->len <= ntail || !max)
		return false;
	if (!p->hard && (b->len > SOFT_MAX || max > SOFT_MAX))
		return false;
	iov_skip(&in, b->head);
	if (!fills(t, job, b, b->len - ntail) || run(t, p, in, b->len - ntail, max, false, &made))
		return false;
	check = wrap_check(stage->alg, check, t->kreq->bounce, made);
	inflate_finish(stage, index, job, b, b->len - ntail, check, made);
	if (job->code != NVME_ACCEL_OK) {
		/* The library is the judge of input that looks wrong. */
		job->code = NVME_ACCEL_OK;
		job->fail_stage = 0;
		return false;
	}
	iov_write(&out, t->kreq->bounce, made);
	return true;
}
