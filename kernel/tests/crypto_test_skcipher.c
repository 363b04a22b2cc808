// SPDX-License-Identifier: GPL-2.0-only
/* skcipher: xts(aes), with stealing of ciphertext, in place and not. */
#include <crypto/skcipher.h>
#include <linux/slab.h>
#include "crypto_test.h"

enum { ENCRYPT, DECRYPT, SHORT };

static void *open_skcipher(const char *name)
{
	return crypto_alloc_skcipher(name, 0, CRYPTO_ALG_ASYNC);
}

static void close(struct ct_thread *c)
{
	if (c->ref_req)
		skcipher_request_free(c->ref_req);
	if (c->ref)
		crypto_free_skcipher(c->ref);
	c->ref_req = c->ref = NULL;
}

static int open(struct ct_thread *c)
{
	c->ref = ct_reference(c, open_skcipher);
	c->ref_req = c->ref ? skcipher_request_alloc(c->ref, GFP_KERNEL) : NULL;
	if (c->ref_req)
		return 0;
	close(c);
	return -ENOENT;
}

static void slot_close(struct ct_slot *s)
{
	if (s->req)
		skcipher_request_free(s->req);
	if (s->tfm)
		crypto_free_skcipher(s->tfm);
}

/* authsize: here the length of the key. */
static int new_key(struct ct_slot *s)
{
	ct_fill(&s->c->rnd, s->key, sizeof(s->key), CT_NOISE);
	s->authsize = !s->c->run->o.bench && ct_below(&s->c->rnd, 2) ? 32 : 64;
	return crypto_skcipher_setkey(s->tfm, s->key, s->authsize);
}

static int slot_open(struct ct_slot *s)
{
	void *tfm = crypto_alloc_skcipher(s->c->run->o.driver, 0, 0);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	s->tfm = tfm;
	s->req = skcipher_request_alloc(tfm, GFP_KERNEL);
	return s->req ? new_key(s) : -ENOMEM;
}

/* Encrypts data into want with the generic driver. */
static int generic(struct ct_slot *s)
{
	struct skcipher_request *req = s->c->ref_req;
	DECLARE_CRYPTO_WAIT(wait);
	u8 iv[16];
	int rc = crypto_skcipher_setkey(s->c->ref, s->key, s->authsize);

	memcpy(s->want, s->data, s->n);
	memcpy(iv, s->iv_was, sizeof(iv));
	ct_flat(s->c->flat[0], s->want, s->n);
	skcipher_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
	skcipher_request_set_crypt(req, s->c->flat[0], s->c->flat[0], s->n, iv);
	return rc ?: crypto_wait_req(crypto_skcipher_encrypt(req), &wait);
}

static bool lists(struct ct_slot *s, unsigned int style_in, unsigned int style_out)
{
	if (!ct_scatter(&s->c->rnd, &s->in, style_in, s->op == DECRYPT ? s->want : s->data, s->n))
		return false;
	return s->in_place || ct_scatter(&s->c->rnd, &s->out, style_out, NULL, s->n);
}

static bool prepare(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;

	if (!ct_below(r, 8) && new_key(s))
		return ct_check(s, false, "the key is refused");
	s->op = ct_below(r, 32) ? ct_below(r, 2) : SHORT;
	s->n = s->op == SHORT ? 1 + ct_below(r, 15) : max_t(size_t, ct_size(s->c), 16);
	/* Most users have whole blocks. */
	if (s->op != SHORT && ct_below(r, 2))
		s->n &= ~(size_t)15;
	s->in_place = ct_below(r, 2);
	ct_fill(r, s->data, s->n, CT_NOISE);
	ct_fill(r, s->iv_was, sizeof(s->iv_was), CT_NOISE);
	if (s->op != SHORT && generic(s))
		return false;
	return lists(s, ct_style(s->c), ct_style(s->c));
}

static bool prepare_bench(struct ct_slot *s)
{
	s->op = s->c->run->o.back ? DECRYPT : ENCRYPT;
	s->in_place = false;
	ct_fill(&s->c->rnd, s->data, s->n, CT_NOISE);
	return !generic(s) && lists(s, CT_PAGES, CT_PAGES);
}

static int submit(struct ct_slot *s, u32 flags)
{
	memcpy(s->iv, s->iv_was, sizeof(s->iv));
	skcipher_request_set_callback(s->req, flags, ct_done, s);
	skcipher_request_set_crypt(s->req, s->in.sg, s->in_place ? s->in.sg : s->out.sg, s->n, s->iv);
	return s->op == DECRYPT ? crypto_skcipher_decrypt(s->req) : crypto_skcipher_encrypt(s->req);
}

static void check(struct ct_slot *s)
{
	const struct ct_list *out = s->in_place ? &s->in : &s->out;
	const u8 *in = s->op == DECRYPT ? s->want : s->data, *want = s->op == DECRYPT ? s->data : s->want;

	ct_check(s, ct_guarded(out, s->n), "written behind the end of the output");
	if (!s->in_place)
		ct_check(s, ct_guarded(&s->in, s->n) && ct_holds(&s->in, in, s->n), "the input was changed");
	if (s->op == SHORT) {
		ct_check(s, s->err == -EINVAL, "less than a block is taken");
		atomic64_inc(&s->c->run->refused);
		return;
	}
	ct_check(s, !s->err, "refused what should work");
	ct_check(s, s->err || ct_holds(out, want, s->n), "another result than the generic driver's");
}

const struct ct_kind ct_skcipher = {
	.name = "skcipher",
	.references = { "xts(ecb(aes-generic))" },
	.open = open,
	.close = close,
	.slot_open = slot_open,
	.slot_close = slot_close,
	.prepare = prepare,
	.prepare_bench = prepare_bench,
	.submit = submit,
	.check = check,
};
