// SPDX-License-Identifier: BSD-2-Clause
/* The cipher family: what a stage may say, and where its text goes. */
#include "cipher.h"

/* NIST SP 800-38D: 2^39 - 256 bits of text under one IV. */
#define GCM_TEXT_MAX (((uint64_t)1 << 36) - 32)
/* RFC 8439: 2^32 - 1 blocks of 64 bytes, the first of which makes the key of the authenticator. */
#define CHACHA_TEXT_MAX (((uint64_t)1 << 38) - 64)
/* IEEE 1619: 2^20 blocks of 16 bytes in a data unit. */
#define XTS_UNIT_MAX ((uint64_t)1 << 24)

static int aead_ok(const struct cipher_req *r)
{
	const struct wire_cipher *p = &r->p;

	if (p->tag_len < 12 || p->tag_len > 16)
		return 0;
	if (r->alg == NVME_ACCEL_ALG_AES_GCM)
		return (p->key_len == 16 || p->key_len == 32) && p->iv_len >= 1 && p->iv_len <= 128 &&
		       r->text_len <= GCM_TEXT_MAX;
	return p->key_len == 32 && p->iv_len == 12 && r->text_len <= CHACHA_TEXT_MAX;
}

static int xts_ok(struct cipher_req *r)
{
	const struct wire_cipher *p = &r->p;
	unsigned int i, diff = 0;

	if ((p->key_len != 32 && p->key_len != 64) || p->iv_len != 16 || p->tag_len || p->aad_len)
		return 0;
	/* Equal halves undo the tweak; IEEE 1619-2018 and FIPS 140 forbid them. No early end: a secret. */
	for (i = 0; i < p->key_len / 2; i++)
		diff |= p->key[i] ^ p->key[p->key_len / 2 + i];
	if (!diff)
		return 0;
	if (!r->unit)
		r->unit = r->text_len;
	if (!r->text_len)
		return 1;
	return r->unit >= 16 && r->unit <= XTS_UNIT_MAX &&
	       (r->text_len % r->unit == 0 || r->text_len % r->unit >= 16);
}

static int req_ok(struct cipher_req *r, const struct job_stage *stage)
{
	if (r->alg != NVME_ACCEL_ALG_AES_XTS && stage->arg1)
		return 0;
	if (r->aead)
		return aead_ok(r);
	if (stage->arg0)
		return 0;
	if (r->alg == NVME_ACCEL_ALG_AES_XTS)
		return xts_ok(r);
	return (r->p.key_len == 16 || r->p.key_len == 32) && r->p.iv_len == 16 && !r->p.tag_len &&
	       !r->p.aad_len;
}

int cipher_parse(struct cipher_req *r, const struct job_stage *stage, unsigned int index, struct job *job)
{
	memset(r, 0, sizeof(*r));
	r->alg = stage->alg;
	r->encrypt = stage->op == NVME_ACCEL_OP_ENCRYPT;
	r->aead = stage->alg == NVME_ACCEL_ALG_AES_GCM || stage->alg == NVME_ACCEL_ALG_CHACHA20_POLY1305;
	r->aad_lead = stage->arg0;
	r->unit = stage->arg1;
	if (stage->flags || r->aad_lead > job->in_len ||
	    wire_cipher_decode(&r->p, r->aead && !r->encrypt, stage->param, stage->param_len) != WIRE_OK) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return 0;
	}
	r->text_len = job->in_len - r->aad_lead;
	if (!req_ok(r, stage)) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return 0;
	}
	if (job->out_max < r->text_len) {
		engine_fail_short(job, index, r->text_len);
		return 0;
	}
	return 1;
}

int cipher_out(struct engine_thread *t, const struct cipher_req *r, unsigned int index, struct job *job,
	       struct base_iov *held, struct iov_pos *out)
{
	held->iov_base = NULL;
	held->iov_len = 0;
	*out = (struct iov_pos){ job->out, job->nout, 0 };
	if (!r->aead || r->encrypt || t->private_out)
		return 1;
	held->iov_base = engine_scratch(t, SCRATCH_OUT, r->text_len);
	held->iov_len = r->text_len;
	if (!held->iov_base) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return 0;
	}
	*out = (struct iov_pos){ held, 1, 0 };
	return 1;
}

void cipher_release(const struct cipher_req *r, struct job *job, const struct base_iov *held)
{
	struct iov_pos out = { job->out, job->nout, 0 };

	if (held->iov_base)
		iov_write(&out, held->iov_base, r->text_len);
	job->in_used = job->in_len;
	job->out_len = r->text_len;
}

size_t cipher_pair(struct iov_pos *in, struct iov_pos *out, void **src, void **dst, size_t max)
{
	struct iov_pos peek = *out;
	size_t n = iov_next(&peek, dst, max);

	n = iov_next(in, src, n);
	if (n == max)
		*out = peek;
	else
		n = iov_skip(out, n);
	return n;
}

int cipher_unit_get(struct engine_thread *t, struct cipher_unit *u, struct iov_pos *in, struct iov_pos *out,
		    size_t n)
{
	struct iov_pos src = *in, dst = *out;
	uint8_t *work = NULL;
	void *p;

	u->n = n;
	u->bounced = 0;
	if (iov_next(&src, &p, n) == n) {
		u->src = p;
		*in = src;
	} else {
		work = engine_scratch(t, SCRATCH_WORK, 2 * n);
		if (!work)
			return 0;
		iov_read(in, work, n);
		u->src = work;
	}
	if (iov_next(&dst, &p, n) == n) {
		u->dst = p;
		*out = dst;
		return 1;
	}
	if (!work)
		work = engine_scratch(t, SCRATCH_WORK, 2 * n);
	u->dst = work + n;
	u->bounced = 1;
	return work != NULL;
}

void cipher_unit_done(const struct cipher_unit *u, struct iov_pos *out)
{
	if (u->bounced)
		iov_write(out, u->dst, u->n);
}

void cipher_tweak_next(uint8_t tweak[16])
{
	unsigned int i;

	for (i = 0; i < 16 && ++tweak[i] == 0; i++)
		;
}
