// SPDX-License-Identifier: GPL-2.0-only
/* ahash: in one call, in pieces, and with the state taken out and put back in between. */
#include <crypto/hash.h>
#include <linux/slab.h>
#include "crypto_test.h"

enum { DIGEST, PIECES, MOVED };

static void *open_shash(const char *name)
{
	return crypto_alloc_shash(name, 0, 0);
}

static void close(struct ct_thread *c)
{
	if (c->ref)
		crypto_free_shash(c->ref);
	if (c->tfm)
		crypto_free_ahash(c->tfm);
	c->ref = c->tfm = NULL;
}

static int open(struct ct_thread *c)
{
	struct crypto_ahash *tfm = crypto_alloc_ahash(c->run->o.driver, 0, 0);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	c->tfm = tfm;
	c->ref = ct_reference(c, open_shash);
	if (c->ref && crypto_shash_digestsize(c->ref) == crypto_ahash_digestsize(tfm) && crypto_ahash_digestsize(tfm) <= 64)
		return 0;
	close(c);
	return -ENOENT;
}

static void slot_close(struct ct_slot *s)
{
	if (s->req)
		ahash_request_free(s->req);
	kfree(s->tfm);
}

/* tfm: here the state that is taken out. */
static int slot_open(struct ct_slot *s)
{
	s->req = ahash_request_alloc(s->c->tfm, GFP_KERNEL);
	s->tfm = kmalloc(crypto_ahash_statesize(s->c->tfm), GFP_KERNEL);
	return s->req && s->tfm ? 0 : -ENOMEM;
}

static bool prepare(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;

	s->n = ct_size(s->c);
	s->op = ct_below(r, 2) ? DIGEST : 1 + ct_below(r, 2);
	s->may_fail = false;
	ct_fill(r, s->data, s->n, CT_NOISE);
	memset(s->digest, 0xaa, sizeof(s->digest));
	return ct_scatter(r, &s->in, ct_style(s->c), s->data, s->n);
}

static bool prepare_bench(struct ct_slot *s)
{
	s->op = DIGEST;
	ct_fill(&s->c->rnd, s->data, s->n, CT_NOISE);
	return ct_scatter(&s->c->rnd, &s->in, CT_PAGES, s->data, s->n);
}

static int move(struct ct_slot *s)
{
	int rc = crypto_ahash_export(s->req, s->tfm);

	/* What the request holds besides is nobody's now. */
	memset(ahash_request_ctx(s->req), 0x5a, crypto_ahash_reqsize(s->c->tfm));
	return rc ? rc : crypto_ahash_import(s->req, s->tfm);
}

/* All but the last call, each waited for. */
static int in_pieces(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;
	size_t at = 0, len;
	int rc = ct_wait(s, crypto_ahash_init(s->req));

	while (!rc && ct_below(r, 5)) {
		len = ct_below(r, s->n - at + 1);
		if (!ct_scatter(r, &s->in, ct_style(s->c), s->data + at, len))
			return -ENOMEM;
		ahash_request_set_crypt(s->req, s->in.sg, NULL, len);
		rc = ct_wait(s, crypto_ahash_update(s->req));
		at += len;
		if (!rc && s->op == MOVED && ct_below(r, 2))
			rc = move(s);
	}
	if (rc)
		return rc;
	if (!ct_scatter(r, &s->in, ct_style(s->c), s->data + at, s->n - at))
		return -ENOMEM;
	ahash_request_set_crypt(s->req, s->in.sg, s->digest, s->n - at);
	if (ct_below(r, 2))
		return crypto_ahash_finup(s->req);
	rc = ct_wait(s, crypto_ahash_update(s->req));
	return rc ? rc : crypto_ahash_final(s->req);
}

static int submit(struct ct_slot *s, u32 flags)
{
	ahash_request_set_callback(s->req, flags, ct_done, s);
	ahash_request_set_crypt(s->req, s->in.sg, s->digest, s->n);
	return s->op == DIGEST ? crypto_ahash_digest(s->req) : in_pieces(s);
}

static void check(struct ct_slot *s)
{
	unsigned int len = crypto_ahash_digestsize(s->c->tfm);
	int rc = crypto_shash_tfm_digest(s->c->ref, s->data, s->n, s->want);

	if (rc == -ENOMEM) {
		atomic64_inc(&s->c->run->skipped);
		return;
	}
	if (!ct_check(s, !s->err, "no digest"))
		return;
	ct_check(s, !memcmp(s->digest, s->want, len), "another digest than the generic driver's");
	ct_check(s, !memchr_inv(s->digest + len, 0xaa, sizeof(s->digest) - len), "written behind the digest");
	ct_check(s, s->op != DIGEST || (ct_holds(&s->in, s->data, s->n) && ct_guarded(&s->in, s->n)), "the input was changed");
}

const struct ct_kind ct_ahash = {
	.name = "ahash",
	.references = { "sha256-generic", "sha256-lib" },
	.open = open,
	.close = close,
	.slot_open = slot_open,
	.slot_close = slot_close,
	.prepare = prepare,
	.prepare_bench = prepare_bench,
	.submit = submit,
	.check = check,
};
