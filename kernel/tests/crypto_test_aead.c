// SPDX-License-Identifier: GPL-2.0-only
/* aead: gcm(aes) and rfc4106(gcm(aes)), with each length of key and tag, good and bad ones, in place and not. */
#include <crypto/aead.h>
#include <linux/slab.h>
#include "crypto_test.h"

enum { ENCRYPT, DECRYPT, FORGED };

#define AAD_MAX	300u

static void *open_aead(const char *name)
{
	return crypto_alloc_aead(name, 0, CRYPTO_ALG_ASYNC);
}

static void close(struct ct_thread *c)
{
	if (c->ref_req)
		aead_request_free(c->ref_req);
	if (c->ref)
		crypto_free_aead(c->ref);
	c->ref_req = c->ref = NULL;
}

static int open(struct ct_thread *c)
{
	c->ref = ct_reference(c, open_aead);
	c->ref_req = c->ref ? aead_request_alloc(c->ref, GFP_KERNEL) : NULL;
	if (c->ref_req)
		return 0;
	close(c);
	return -ENOENT;
}

static void slot_close(struct ct_slot *s)
{
	if (s->req)
		aead_request_free(s->req);
	if (s->tfm)
		crypto_free_aead(s->tfm);
}

static bool rfc4106(struct ct_slot *s)
{
	return crypto_aead_ivsize((struct crypto_aead *)s->tfm) == 8;
}

/* What is measured is what everybody takes: 256 bits, and a tag of 16 bytes. */
static int new_key(struct ct_slot *s)
{
	bool bench = s->c->run->o.bench;
	unsigned int len = bench ? 32 : 16 + 8 * ct_below(&s->c->rnd, 3);
	int rc;

	ct_fill(&s->c->rnd, s->key, sizeof(s->key), CT_NOISE);
	s->authsize = rfc4106(s) ? 8 + 4 * ct_below(&s->c->rnd, 3) : 12 + ct_below(&s->c->rnd, 5);
	if (!rfc4106(s) && !ct_below(&s->c->rnd, 8))
		s->authsize = ct_below(&s->c->rnd, 2) ? 4 : 8;
	if (bench)
		s->authsize = 16;
	rc = crypto_aead_setkey(s->tfm, s->key, len + (rfc4106(s) ? 4 : 0));
	s->room = len;		/* the length of the key, for the reference */
	return rc ? rc : crypto_aead_setauthsize(s->tfm, s->authsize);
}

static int slot_open(struct ct_slot *s)
{
	void *tfm = crypto_alloc_aead(s->c->run->o.driver, 0, 0);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	s->tfm = tfm;
	s->req = aead_request_alloc(tfm, GFP_KERNEL);
	return s->req ? new_key(s) : -ENOMEM;
}

/* Encrypts data (additional data first) into want, with the generic driver and this job's key. */
static int generic(struct ct_slot *s)
{
	struct aead_request *req = s->c->ref_req;
	size_t n = s->aad + s->n + s->authsize;
	DECLARE_CRYPTO_WAIT(wait);
	u8 iv[16];
	int rc;

	rc = crypto_aead_setkey(s->c->ref, s->key, s->room + (rfc4106(s) ? 4 : 0)) ?: crypto_aead_setauthsize(s->c->ref, s->authsize);
	memcpy(s->want, s->data, s->aad + s->n);
	memcpy(iv, s->iv_was, sizeof(iv));
	ct_flat(s->c->flat[0], s->want, n);
	aead_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
	aead_request_set_ad(req, s->aad);
	aead_request_set_crypt(req, s->c->flat[0], s->c->flat[0], s->n, iv);
	return rc ?: crypto_wait_req(crypto_aead_encrypt(req), &wait);
}

static bool lists(struct ct_slot *s, unsigned int style_in, unsigned int style_out)
{
	size_t plain = s->aad + s->n, all = plain + s->authsize;
	bool good;

	s->len = s->op == ENCRYPT ? plain : all;
	/* In place the list is as long as the longer of the two. */
	if (s->in_place) {
		memset(s->data + plain, 0xaa, s->authsize);
		return ct_scatter(&s->c->rnd, &s->in, style_in, s->op == ENCRYPT ? s->data : s->want, all);
	}
	good = ct_scatter(&s->c->rnd, &s->in, style_in, s->op == ENCRYPT ? s->data : s->want, s->len);
	return good && ct_scatter(&s->c->rnd, &s->out, style_out, NULL, s->op == ENCRYPT ? all : plain);
}

/* Anywhere but where the IV stands twice. */
static void forge(struct ct_slot *s)
{
	size_t iv = rfc4106(s) ? 8 : 0, at = ct_below(&s->c->rnd, s->aad + s->n + s->authsize - iv);

	s->want[at >= s->aad - iv ? at + iv : at] ^= 1;
}

static bool prepare(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;

	if (!ct_below(r, 8) && new_key(s))
		return ct_check(s, false, "the key or the length of the tag is refused");
	s->n = ct_size(s->c);
	s->aad = rfc4106(s) ? 16 + 4 * ct_below(r, 2) : ct_below(r, 2) ? ct_below(r, AAD_MAX) : 16;
	s->op = ct_below(r, 2) ? ENCRYPT : ct_below(r, 4) ? DECRYPT : FORGED;
	s->in_place = ct_below(r, 2);
	ct_fill(r, s->data, s->aad + s->n, CT_NOISE);
	ct_fill(r, s->iv_was, sizeof(s->iv_was), CT_NOISE);
	/* The last bytes of the additional data are the IV there. */
	if (rfc4106(s))
		memcpy(s->data + s->aad - 8, s->iv_was, 8);
	if (generic(s))
		return false;
	if (s->op == FORGED)
		forge(s);
	return lists(s, ct_style(s->c), ct_style(s->c));
}

static bool prepare_bench(struct ct_slot *s)
{
	s->aad = 16;
	s->op = s->c->run->o.back ? DECRYPT : ENCRYPT;
	s->in_place = false;
	ct_fill(&s->c->rnd, s->data, s->aad + s->n, CT_NOISE);
	return !generic(s) && lists(s, CT_PAGES, CT_PAGES);
}

static int submit(struct ct_slot *s, u32 flags)
{
	struct aead_request *req = s->req;

	memcpy(s->iv, s->iv_was, sizeof(s->iv));
	aead_request_set_callback(req, flags, ct_done, s);
	aead_request_set_ad(req, s->aad);
	aead_request_set_crypt(req, s->in.sg, s->in_place ? s->in.sg : s->out.sg, s->n + (s->op == ENCRYPT ? 0 : s->authsize), s->iv);
	return s->op == ENCRYPT ? crypto_aead_encrypt(req) : crypto_aead_decrypt(req);
}

static void check(struct ct_slot *s)
{
	const struct ct_list *out = s->in_place ? &s->in : &s->out;
	size_t plain = s->aad + s->n, all = plain + s->authsize;
	const u8 *want = s->op == ENCRYPT ? s->want : s->data;

	ct_check(s, ct_guarded(out, s->op == ENCRYPT || s->in_place ? all : plain), "written behind the end of the output");
	if (!s->in_place)
		ct_check(s, ct_guarded(&s->in, s->len) && ct_holds(&s->in, s->op == ENCRYPT ? s->data : s->want, s->len),
			 "the input was changed");
	if (s->op == FORGED) {
		ct_check(s, s->err == -EBADMSG, "what was forged is taken for good");
		atomic64_inc(&s->c->run->refused);
		return;
	}
	if (!ct_check(s, !s->err, "refused what should work"))
		return;
	/* Whether additional data is copied is left to drivers. */
	ct_gather(out, s->got, all);
	ct_check(s, !s->in_place || !memcmp(s->got, s->data, s->aad), "the additional data was changed");
	ct_check(s, !memcmp(s->got + s->aad, want + s->aad, s->n + (s->op == ENCRYPT ? s->authsize : 0)),
		 "another result than the generic driver's");
	/* The caller's tag is its own. */
	if (s->op == DECRYPT && s->in_place)
		ct_check(s, !memcmp(s->got + plain, s->want + plain, s->authsize), "the expected tag was changed");
}

const struct ct_kind ct_aead = {
	.name = "aead",
	.references = { "gcm_base(ctr(aes-generic),ghash-generic)" },
	.extra = AAD_MAX + 16,
	.open = open,
	.close = close,
	.slot_open = slot_open,
	.slot_close = slot_close,
	.prepare = prepare,
	.prepare_bench = prepare_bench,
	.submit = submit,
	.check = check,
};
