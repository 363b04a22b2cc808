// SPDX-License-Identifier: GPL-2.0-only
/* The cipher family: AES-GCM, AES-XTS and AES-CTR by the crypto API. */
#include <crypto/aead.h>
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <crypto/skcipher.h>
#include "kpriv.h"
#include "../../lib/engine/cipher.h"

static bool is_aead(enum kprov_id id)
{
	return id == KP_GCM;
}

static void slot_free(struct kslot *s, enum kprov_id id)
{
	if (s->req)
		kfree_sensitive(s->req);
	if (s->tfm && is_aead(id))
		crypto_free_aead(s->tfm);
	else if (s->tfm)
		crypto_free_skcipher(s->tfm);
	memzero_explicit(s, sizeof(*s));
}

/* Transforms wipe their keys when they are freed; one that a lost provider still has stays. */
void cipher_thread_forget(struct cipher_thread *c)
{
	unsigned int i;

	if (!c)
		return;
	for (i = 0; i < KP_N; i++)
		if (!READ_ONCE(c->ke->prov[i].lost))
			slot_free(&c->slot[i], i);
	if (c->ghash)
		crypto_free_shash(c->ghash);
	c->ghash = NULL;
}

void cipher_thread_free(struct cipher_thread *c)
{
	cipher_thread_forget(c);
	kfree(c);
}

struct cipher_thread *kcipher_get(struct kengine_thread *t)
{
	if (!t->et->cipher)
		t->et->cipher = kzalloc(sizeof(*t->et->cipher), GFP_KERNEL);
	if (t->et->cipher)
		t->et->cipher->ke = t->ke;
	return t->et->cipher;
}

static int slot_open(struct kslot *s, enum kprov_id id, const char *driver)
{
	size_t extra = is_aead(id) ? sizeof(struct aead_request) : sizeof(struct skcipher_request);

	s->tfm = is_aead(id) ? (void *)crypto_alloc_aead(driver, 0, 0) : (void *)crypto_alloc_skcipher(driver, 0, 0);
	if (IS_ERR(s->tfm)) {
		int rc = PTR_ERR(s->tfm);

		s->tfm = NULL;
		return rc;
	}
	extra += is_aead(id) ? crypto_aead_reqsize(s->tfm) : crypto_skcipher_reqsize(s->tfm);
	s->req = kzalloc(extra, GFP_KERNEL);
	if (s->req)
		return 0;
	slot_free(s, id);
	return -ENOMEM;
}

/* The transform with this key; NULL with *code set. */
static struct kslot *slot_get(struct kengine_thread *t, enum kprov_id id, const u8 *key, u32 key_len, u32 *code)
{
	struct kprov *p = &t->ke->prov[id];
	struct cipher_thread *c = kcipher_get(t);
	struct kslot *s;
	int rc;

	*code = NVME_ACCEL_NO_RESOURCES;
	if (!c)
		return NULL;
	s = &c->slot[id];
	*code = prov_is(p) ? NVME_ACCEL_DEVICE_FAULT : NVME_ACCEL_UNSUPPORTED_OP;
	if (!prov_is(p) || READ_ONCE(p->lost))
		return NULL;
	if (!s->tfm) {
		rc = slot_open(s, id, p->driver);
		if (rc) {
			*code = rc == -ENOMEM ? NVME_ACCEL_NO_RESOURCES : NVME_ACCEL_DEVICE_FAULT;
			return NULL;
		}
	}
	*code = NVME_ACCEL_OK;
	if (s->key_len == key_len && !crypto_memneq(s->key, key, key_len))
		return s;
	s->key_len = 0;
	memcpy(s->key, key, key_len);
	/* From the copy: a hardware driver may want an address that can be translated. */
	rc = is_aead(id) ? crypto_aead_setkey(s->tfm, s->key, key_len) : crypto_skcipher_setkey(s->tfm, s->key, key_len);
	if (rc) {
		slot_free(s, id);
		*code = rc == -ENOMEM ? NVME_ACCEL_NO_RESOURCES : NVME_ACCEL_DEVICE_FAULT;
		return NULL;
	}
	s->key_len = key_len;
	return s;
}

static u32 code_of(int err)
{
	switch (err) {
	case 0:
		return NVME_ACCEL_OK;
	case -EBADMSG:
		return NVME_ACCEL_AUTH_FAILED;
	case -ENOMEM:
		return NVME_ACCEL_NO_RESOURCES;
	default:
		return NVME_ACCEL_DEVICE_FAULT;
	}
}

/* One request to a cipher without authentication; what it writes goes through memory of ours if it may come late. */
static u32 skcipher_once(struct kengine_thread *t, enum kprov_id id, bool encrypt, const u8 iv[16], struct iov_pos *in,
			 struct iov_pos *out, size_t n)
{
	struct kprov *p = &t->ke->prov[id];
	struct kslot *s = &t->et->cipher->slot[id];
	struct skcipher_request *req = s->req;
	struct kreq *q = kreq_get(t);
	unsigned int nin = 0, nout = 0;
	int err;

	if (!q || kreq_add(&q->in, &q->max_in, &nin, in, n) || (p->hard && kreq_bounce(q, n)))
		return NVME_ACCEL_NO_RESOURCES;
	err = p->hard ? kreq_add_flat(&q->out, &q->max_out, &nout, q->bounce, n) :
			kreq_add(&q->out, &q->max_out, &nout, out, n);
	if (err)
		return NVME_ACCEL_NO_RESOURCES;
	kreq_end(q->in, nin);
	kreq_end(q->out, nout);
	memcpy(q->iv, iv, sizeof(q->iv));
	skcipher_request_set_tfm(req, s->tfm);
	skcipher_request_set_callback(req, CRYPTO_TFM_REQ_MAY_BACKLOG | CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done,
				      &q->wait);
	skcipher_request_set_crypt(req, q->in, q->out, n, q->iv);
	err = encrypt ? crypto_skcipher_encrypt(req) : crypto_skcipher_decrypt(req);
	err = kreq_wait(t, p, q, err);
	if (READ_ONCE(p->lost)) {
		memset(s, 0, sizeof(*s));
		return NVME_ACCEL_DEVICE_FAULT;
	}
	if (!err && p->hard)
		iov_write(out, q->bounce, n);
	if (p->hard)
		memzero_explicit(q->bounce, n);
	return code_of(err);
}

u32 kcipher_ctr(struct kengine_thread *t, const u8 *key, u32 key_len, const u8 iv[16], struct iov_pos *in,
		struct iov_pos *out, u64 n)
{
	u32 code;

	if (!slot_get(t, KP_CTR, key, key_len, &code))
		return code;
	return n ? skcipher_once(t, KP_CTR, true, iv, in, out, n) : NVME_ACCEL_OK;
}

/* Data unit by data unit: the crypto API knows one tweak a request. */
static u32 xts(struct kengine_thread *t, const struct cipher_req *r, struct job *job, struct iov_pos *in,
	       struct iov_pos *out)
{
	u64 left = r->text_len, n;
	u8 tweak[16];
	u32 code;

	if (!slot_get(t, KP_XTS, r->p.key, r->p.key_len, &code))
		return code;
	memcpy(tweak, r->p.iv, sizeof(tweak));
	for (; left; left -= n) {
		if (engine_stopped(job))
			return NVME_ACCEL_ABORTED;
		n = min(left, r->unit);
		code = skcipher_once(t, KP_XTS, r->encrypt, tweak, in, out, n);
		if (code)
			return code;
		cipher_tweak_next(tweak);
	}
	return NVME_ACCEL_OK;
}

static void skcipher_run(struct engine_thread *et, const struct job_stage *stage, unsigned int index, struct job *job)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out = { job->out, job->nout, 0 };
	struct kengine_thread *t = kthread_of(et);
	struct cipher_req r;
	u32 code;

	if (!cipher_parse(&r, stage, index, job))
		return;
	if (r.alg == NVME_ACCEL_ALG_AES_XTS)
		code = xts(t, &r, job, &in, &out);
	else
		code = kcipher_ctr(t, r.p.key, r.p.key_len, r.p.iv, &in, &out, r.text_len);
	if (code) {
		engine_fail(job, index, code);
		return;
	}
	job->in_used = job->in_len;
	job->out_len = r.text_len;
}

/*
 * The lists of an AEAD request: additional data of the parameters, then of the input, text, tag. direct: the text goes to
 * the job's output at once; else into bounce, with room for the additional data in front of it.
 */
static int aead_lists(struct kreq *q, const struct cipher_req *r, const struct job *job, bool direct)
{
	struct iov_pos in = { job->in, job->nin, 0 }, lead = in, out = { job->out, job->nout, 0 };
	unsigned int nin = 0, nout = 0;
	size_t assoc = r->p.aad_len + r->aad_lead;
	int rc;

	if (r->p.aad_len > sizeof(q->aad) || (!direct && kreq_bounce(q, assoc + r->text_len)))
		return -ENOMEM;
	memcpy(q->aad, r->p.aad, r->p.aad_len);
	memset(q->tag, 0, sizeof(q->tag));
	if (!r->encrypt)
		memcpy(q->tag, r->p.tag, r->p.tag_len);
	rc = kreq_add_flat(&q->in, &q->max_in, &nin, q->aad, r->p.aad_len) ?:
	     kreq_add(&q->in, &q->max_in, &nin, &in, job->in_len) ?:
	     kreq_add_flat(&q->in, &q->max_in, &nin, q->tag, sizeof(q->tag));
	if (!rc && direct)
		rc = kreq_add_flat(&q->out, &q->max_out, &nout, q->aad, r->p.aad_len) ?:
		     kreq_add(&q->out, &q->max_out, &nout, &lead, r->aad_lead) ?:
		     kreq_add(&q->out, &q->max_out, &nout, &out, r->text_len);
	else if (!rc)
		rc = kreq_add_flat(&q->out, &q->max_out, &nout, q->bounce, assoc + r->text_len);
	rc = rc ?: kreq_add_flat(&q->out, &q->max_out, &nout, q->tag, sizeof(q->tag));
	kreq_end(q->in, nin);
	kreq_end(q->out, nout);
	return rc;
}

static int aead_start(struct kslot *s, struct kreq *q, const struct cipher_req *r)
{
	struct aead_request *req = s->req;

	if (s->tag_len != r->p.tag_len) {
		int rc = crypto_aead_setauthsize(s->tfm, r->p.tag_len);

		s->tag_len = rc ? 0 : r->p.tag_len;
		if (rc)
			return rc;
	}
	memcpy(q->iv, r->p.iv, r->p.iv_len);
	aead_request_set_tfm(req, s->tfm);
	aead_request_set_callback(req, CRYPTO_TFM_REQ_MAY_BACKLOG | CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &q->wait);
	aead_request_set_ad(req, r->p.aad_len + r->aad_lead);
	aead_request_set_crypt(req, q->in, q->out, r->text_len + (r->encrypt ? 0 : r->p.tag_len), q->iv);
	return r->encrypt ? crypto_aead_encrypt(req) : crypto_aead_decrypt(req);
}

/* Plaintext is held back until the tag is known to be right, unless the output is memory that nobody else sees. */
static u32 gcm(struct kengine_thread *t, const struct cipher_req *r, const struct job *job)
{
	struct kprov *p = &t->ke->prov[KP_GCM];
	bool direct = !p->hard && (r->encrypt || t->et->private_out);
	struct iov_pos out = { job->out, job->nout, 0 };
	size_t assoc = r->p.aad_len + r->aad_lead;
	struct kreq *q = kreq_get(t);
	struct kslot *s;
	u32 code;
	int err;

	s = slot_get(t, KP_GCM, r->p.key, r->p.key_len, &code);
	if (!s)
		return code;
	if (!q || aead_lists(q, r, job, direct))
		return NVME_ACCEL_NO_RESOURCES;
	err = kreq_wait(t, p, q, aead_start(s, q, r));
	if (READ_ONCE(p->lost)) {
		memset(s, 0, sizeof(*s));
		return NVME_ACCEL_DEVICE_FAULT;
	}
	if (!err && !direct)
		iov_write(&out, q->bounce + assoc, r->text_len);
	if (!direct)
		memzero_explicit(q->bounce, assoc + r->text_len);
	return code_of(err);
}

static void gcm_run(struct engine_thread *et, const struct job_stage *stage, unsigned int index, struct job *job)
{
	struct kengine_thread *t = kthread_of(et);
	struct cipher_req r;
	u32 code;

	if (!cipher_parse(&r, stage, index, job))
		return;
	if (r.p.iv_len != 12) {
		kgcm_any_iv(t, &r, index, job);
		return;
	}
	code = gcm(t, &r, job);
	if (code) {
		engine_fail(job, index, code);
		return;
	}
	if (r.encrypt)
		engine_set_result(job, index, t->kreq->tag, r.p.tag_len);
	job->in_used = job->in_len;
	job->out_len = r.text_len;
}

static int takes(const struct job_stage *stage, uint64_t in_len)
{
	return !stage->flags;
}

#define PAIR(alg, run)										\
	{ NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_##alg, "crypto", takes, run },			\
	{ NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_##alg, "crypto", takes, run }
static const struct engine_fn entries[] = {
	PAIR(AES_GCM, gcm_run), PAIR(AES_XTS, skcipher_run), PAIR(AES_CTR, skcipher_run),
};
#undef PAIR

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define OP(a, o, keys)										\
	{ .op = NVME_ACCEL_OP_##o, .alg = NVME_ACCEL_ALG_##a, .flags = ANYWHERE, .granule = 1,		\
	  .align = 1, .key_bits_mask = keys }
#define K128 1
#define K256 4
#define K512 8
static const struct wire_op table[] = {
	OP(AES_GCM, ENCRYPT, K128 | K256), OP(AES_GCM, DECRYPT, K128 | K256),
	OP(AES_XTS, ENCRYPT, K256 | K512), OP(AES_XTS, DECRYPT, K256 | K512),
	OP(AES_CTR, ENCRYPT, K128 | K256), OP(AES_CTR, DECRYPT, K128 | K256),
};
#undef OP

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = min_t(unsigned int, max, ARRAY_SIZE(table));

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return in_len;
}

const struct engine_family engine_cipher = { entries, ARRAY_SIZE(entries), ops, bound };
