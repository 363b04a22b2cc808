// SPDX-License-Identifier: GPL-2.0-only
/* acomp: deflate, there and back, crossed with the generic driver. */
#include <crypto/acompress.h>
#include <linux/slab.h>
#include "crypto_test.h"

enum { COMPRESS, DECOMPRESS, DAMAGED, CUT };

/* So large no deflate driver makes n bytes. */
static size_t bound(size_t n)
{
	return n + n / 100 + 200;
}

static void *open_acomp(const char *name)
{
	return crypto_alloc_acomp(name, 0, 0);
}

static void close(struct ct_thread *c)
{
	if (c->ref_req)
		acomp_request_free(c->ref_req);
	if (c->ref)
		crypto_free_acomp(c->ref);
	if (c->tfm)
		crypto_free_acomp(c->tfm);
	c->ref_req = c->ref = c->tfm = NULL;
}

static int open(struct ct_thread *c)
{
	void *tfm = open_acomp(c->run->o.driver);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	c->tfm = tfm;
	c->ref = ct_reference(c, open_acomp);
	c->ref_req = c->ref ? acomp_request_alloc(c->ref) : NULL;
	if (c->ref_req)
		return 0;
	close(c);
	return -ENOENT;
}

static void slot_close(struct ct_slot *s)
{
	if (s->req)
		acomp_request_free(s->req);
}

static int slot_open(struct ct_slot *s)
{
	s->req = acomp_request_alloc(s->c->tfm);
	return s->req ? 0 : -ENOMEM;
}

/* The generic driver, from one vmalloc'ed buffer into another: bytes or an error. */
static ssize_t generic(struct ct_thread *c, bool back, u8 *in, size_t n, u8 *out, size_t room)
{
	struct acomp_req *req = c->ref_req;
	DECLARE_CRYPTO_WAIT(wait);
	int rc;

	ct_flat(c->flat[0], in, n);
	ct_flat(c->flat[1], out, room);
	acomp_request_set_params(req, c->flat[0], c->flat[1], n, room);
	acomp_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
	rc = crypto_wait_req(back ? crypto_acomp_decompress(req) : crypto_acomp_compress(req), &wait);
	return rc ? rc : req->dlen;
}

static bool prepare_compress(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;

	s->room = bound(s->n);
	if (!ct_below(r, 4))
		s->room = ct_below(r, 2) ? s->n : 1 + ct_below(r, s->n + 1);
	s->room = max_t(size_t, s->room, 1);
	/* Nothing at all is what some drivers refuse. */
	s->may_fail = s->room < bound(s->n) || bound(s->n) > CT_GENERIC_MAX || !s->n;
	return ct_scatter(r, &s->in, ct_style(s->c), s->data, s->n);
}

/* want: the compressed form, by the generic driver; it may be cut or damaged, or have a byte more than it should. */
static bool prepare_decompress(struct ct_slot *s)
{
	struct ct_rnd *r = &s->c->rnd;
	ssize_t len;

	if (!s->n || bound(s->n) > CT_GENERIC_MAX)
		return false;
	len = generic(s->c, false, s->data, s->n, s->want, bound(s->n));
	if (len <= 0)
		return false;
	s->op = ct_below(r, 8) ? DECOMPRESS : ct_below(r, 2) ? DAMAGED : CUT;
	if (s->op == CUT)
		len = ct_below(r, len);
	else if (s->op == DAMAGED)
		s->want[ct_below(r, len)] ^= 1 << ct_below(r, 8);
	else if (!ct_below(r, 8))
		s->want[len++] = ct_rnd(r);
	s->len = len;
	s->room = s->n + (ct_below(r, 2) ? ct_below(r, 5000) : 0);
	if (!ct_below(r, 8))
		s->room = 1 + ct_below(r, s->n);
	s->room = min_t(size_t, s->room, CT_GENERIC_MAX);
	s->may_fail = s->op != DECOMPRESS || s->room < s->n;
	return len && ct_scatter(r, &s->in, ct_style(s->c), s->want, len);
}

static bool prepare(struct ct_slot *s)
{
	const struct ct_opts *o = &s->c->run->o;
	struct ct_rnd *r = &s->c->rnd;
	bool back = ct_below(r, 2);

	s->n = ct_size(s->c);
	ct_fill(r, s->data, s->n, o->fill < CT_FILLS ? o->fill : ct_below(r, CT_FILLS));
	s->op = COMPRESS;
	if (back ? !prepare_decompress(s) : !prepare_compress(s))
		return false;
	s->len = back ? s->len : s->n;
	return ct_scatter(r, &s->out, ct_style(s->c), NULL, s->room);
}

static bool prepare_bench(struct ct_slot *s)
{
	ssize_t len = s->n;

	ct_fill(&s->c->rnd, s->data, s->n, CT_TEXT);
	s->op = s->c->run->o.back ? DECOMPRESS : COMPRESS;
	s->room = s->op == COMPRESS ? min_t(size_t, bound(s->n), CT_GENERIC_MAX) : s->n;
	if (s->op == DECOMPRESS)
		len = generic(s->c, false, s->data, s->n, s->want, min_t(size_t, bound(s->n), CT_GENERIC_MAX));
	if (len <= 0)
		return false;
	s->len = len;
	return ct_scatter(&s->c->rnd, &s->in, CT_PAGES, s->op == COMPRESS ? s->data : s->want, len) &&
	       ct_scatter(&s->c->rnd, &s->out, CT_PAGES, NULL, s->room);
}

static int submit(struct ct_slot *s, u32 flags)
{
	struct acomp_req *req = s->req;

	acomp_request_set_params(req, s->in.sg, s->out.sg, s->len, s->room);
	acomp_request_set_callback(req, flags, ct_done, s);
	return s->op == COMPRESS ? crypto_acomp_compress(req) : crypto_acomp_decompress(req);
}

static void check_compress(struct ct_slot *s, size_t len)
{
	ssize_t back;

	ct_gather(&s->out, s->want, len);
	back = generic(s->c, true, s->want, len, s->got, s->n);
	if (!s->n)
		ct_check(s, back <= 0, "nothing became something");
	else if (back == -ENOMEM)
		atomic64_inc(&s->c->run->skipped);
	else
		ct_check(s, back == s->n && !memcmp(s->got, s->data, s->n), "the generic driver does not get back what was compressed");
}

/* What is damaged may be refused; what comes out must be what the generic driver makes of it. */
static void check_damaged(struct ct_slot *s, size_t len)
{
	ssize_t good = generic(s->c, true, s->want, s->len, s->got, s->room);

	if (good >= 0)
		ct_check(s, good == len && ct_holds(&s->out, s->got, len), "damaged data: another result than the generic driver's");
}

static void check(struct ct_slot *s)
{
	struct acomp_req *req = s->req;
	size_t len = s->err ? 0 : req->dlen;
	const u8 *in = s->op == COMPRESS ? s->data : s->want;

	ct_check(s, req->src == s->in.sg && req->dst == s->out.sg && req->slen == s->len, "the request was changed");
	ct_check(s, ct_holds(&s->in, in, s->len) && ct_guarded(&s->in, s->len), "the input was changed");
	if (!ct_check(s, len <= s->room && ct_guarded(&s->out, s->room), "written behind the end of the output"))
		return;
	if (s->err) {
		atomic64_inc(&s->c->run->refused);
		ct_check(s, s->may_fail, "refused what should work");
		return;
	}
	if (s->op == COMPRESS)
		check_compress(s, len);
	else if (s->op == DAMAGED)
		check_damaged(s, len);
	else if (s->op == CUT)
		ct_check(s, false, "half a stream was taken for a whole one");
	else
		ct_check(s, len == s->n && ct_holds(&s->out, s->data, s->n), "decompressed to something else");
}

/*
 * One transform of the kernel's own deflate stays: that of 6.12 counts a first user whose scratch memory was refused,
 * gives none to the next, and falls over.
 */
static struct crypto_acomp *held;

void ct_comp_hold(void)
{
	unsigned int i;

	held = ERR_PTR(-ENOENT);
	for (i = 0; i < ARRAY_SIZE(ct_acomp.references) && ct_acomp.references[i] && IS_ERR(held); i++)
		held = open_acomp(ct_acomp.references[i]);
}

void ct_comp_release(void)
{
	if (!IS_ERR(held))
		crypto_free_acomp(held);
}

const struct ct_kind ct_acomp = {
	.name = "acomp",
	/* Before 6.15 and since. */
	.references = { "deflate-scomp", "deflate-generic" },
	.extra = CT_GENERIC_MAX / 8,
	.open = open,
	.close = close,
	.slot_open = slot_open,
	.slot_close = slot_close,
	.prepare = prepare,
	.prepare_bench = prepare_bench,
	.submit = submit,
	.check = check,
};
