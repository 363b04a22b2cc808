/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzz targets of the two ends share. An input is four bytes of settings (digests and whether the
 * connection is set up, alignment, sizes of pieces, elements of sinks) and a stream. The stream is received whole
 * and copied, and again in pieces, direct where that can be: both must see the same. Then once more with its
 * digests made right, which random bytes hardly ever have.
 */
#ifndef TESTS_FUZZ_NVMETCP_H
#define TESTS_FUZZ_NVMETCP_H

#include "../unit/test_nvmetcp_feed.h"

#define CHECK(cond) ((cond) ? (void)0 : __builtin_trap())
#define SETTINGS    4u
#define LIMIT	    4096u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each target's: a PDU that its end may receive, at most FRESH_MAX bytes, without the data and their digest. */
static size_t fresh_header(uint64_t *s, const struct ntcp_params *peer, uint8_t *b, uint32_t len);
static const enum ntcp_role role;

#define FRESH_DATA 600u
#define FRESH_MAX  (NTCP_MAX_HDR + FRESH_DATA + 4u)

static const uint8_t hlens[] = { 128, 128, 24, 24, 72, 24, 24, 24, 0, 24 };

static struct ntcp_params settings(const uint8_t *set)
{
	return (struct ntcp_params){ role, set[0] & 1, set[0] & 2, 0, set[1] & 31, LIMIT, LIMIT };
}

static size_t fresh_stream(uint64_t *s, uint8_t *b, size_t max)
{
	struct ntcp_params peer = { .role = role == NTCP_HOST ? NTCP_CTRL : NTCP_HOST };
	size_t n = SETTINGS;

	le32_put(b, feed_rnd(s));
	b[0] &= 7;
	if (!(b[0] & 4))
		n += role == NTCP_CTRL ? ntcp_put_icreq(b + n, b[1] & 31, b[0] & 3, 0)
				       : ntcp_put_icresp(b + n, 3, b[0] & 3, 8192);
	peer.hdgst = b[0] & 1;
	peer.ddgst = b[0] & 2;
	peer.tx_pda = b[1] & 31;
	while (n + FRESH_MAX <= max && feed_rnd(s) % 8) {
		uint32_t len = 1 + feed_rnd(s) % FRESH_DATA, plen;
		size_t at = n;

		n += fresh_header(s, &peer, b + n, len);
		plen = le32_get(b + at + 4);
		memset(b + n, 0x5a, plen - (n - at));
		n = at + plen;
	}
	return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
	int i;

	if (max_size >= FRESH_MAX + NTCP_IC_LEN && (size < 12 || feed_rnd(&s) % 16 == 0))
		return fresh_stream(&s, data, BASE_MIN(max_size, 4096u));
	if (size < 12 || feed_rnd(&s) % 4 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	for (i = (int)(feed_rnd(&s) % 4); i >= 0; i--) {
		size_t at = feed_rnd(&s) % (feed_rnd(&s) & 1 ? BASE_MIN(size, 160u) : size);

		data[at] = (uint8_t)(feed_rnd(&s) & 1 ? feed_rnd(&s) : data[at] ^ 1u << feed_rnd(&s) % 8);
	}
	return size;
}

static void fix_data(uint8_t *pdu, uint32_t plen)
{
	struct iovec iov;

	if (!(pdu[1] & NTCP_F_DDGST) || plen < pdu[3] + 4u)
		return;
	iov = (struct iovec){ pdu + pdu[3], plen - 4 - pdu[3] };
	ntcp_ddgst(&iov, 1, (uint32_t)iov.iov_len, pdu + plen - 4);
}

/* Makes the digests right of as many PDUs as can be found. */
static void fix(uint8_t *b, size_t n, bool hdgst)
{
	while (n >= 8) {
		uint8_t hlen = b[0] < sizeof(hlens) ? hlens[b[0]] : 0;
		uint32_t plen = le32_get(b + 4);

		if (!hlen || plen < hlen || n < hlen + 4u)
			return;
		if (hdgst && b[0] >= NTCP_CMD) {
			b[1] |= NTCP_F_HDGST;
			le32_put(b + hlen, base_crc32c(0, b, hlen));
		}
		if (plen > n)
			return;
		fix_data(b, plen);
		b += plen;
		n -= plen;
	}
}

static void check_header(const struct feed *f, const struct feed_rec *r, size_t start)
{
	const struct ntcp_pdu *pdu = &r->pdu;
	bool hdgst = pdu->flags & NTCP_F_HDGST;

	CHECK(pdu->type < sizeof(hlens) && pdu->hlen && pdu->hlen == hlens[pdu->type]);
	CHECK(r->at == start + pdu->hlen + (hdgst ? 4 : 0));
	CHECK(hdgst == (f->agreed.hdgst && pdu->type >= NTCP_CMD));
	CHECK(pdu->data_len <= LIMIT && pdu->plen >= pdu->hlen + pdu->data_len);
	if (pdu->type <= NTCP_ICRESP)
		CHECK(!pdu->icreq.pfv && pdu->icreq.hpda <= NTCP_MAX_PDA && pdu->icreq.dgst < 4);
	if (pdu->type == NTCP_H2C_DATA || pdu->type == NTCP_C2H_DATA)
		CHECK(pdu->data.len && pdu->data.len == pdu->data_len);
	if (pdu->type == NTCP_H2C_DATA || pdu->type == NTCP_C2H_DATA || pdu->type == NTCP_R2T)
		CHECK(pdu->data.offset + pdu->data.len > pdu->data.offset);
}

/* An owner's transfers stay within what was announced, whatever comes. */
static void check_xfer(struct ntcp_xfer *x, const struct ntcp_pdu *pdu)
{
	uint32_t fei, before = x->next;
	const char *why = NULL;
	int fes;

	if (pdu->type != NTCP_H2C_DATA && pdu->type != NTCP_C2H_DATA)
		return;
	x->cid = pdu->data.cid;
	fes = ntcp_xfer_take(x, pdu, &fei, &why);
	CHECK(x->next <= x->end && x->next >= before && x->next - before == (fes ? 0 : pdu->data.len));
	CHECK(!fes == !why);
	if (ntcp_xfer_done(x))
		*x = (struct ntcp_xfer){ .end = 8192 };
}

static void check_events(const struct feed *f, size_t n)
{
	struct ntcp_xfer x = { .end = 8192 };
	size_t start = 0;
	unsigned int i;

	CHECK(f->at <= n);
	for (i = 0; i < f->nrec; i++) {
		const struct feed_rec *r = &f->rec[i];

		if (r->event == NTCP_ERROR) {
			CHECK(i + 1 == f->nrec && r->fes >= 1 && r->fes <= 6 && r->why);
			CHECK(r->fes == NTCP_FES_HDGST || r->fei < NTCP_IC_LEN);
		} else if (r->event == NTCP_HEADER) {
			check_header(f, r, start);
			check_xfer(&x, &r->pdu);
			if (!r->pdu.data_len)
				start += r->pdu.plen;
		} else {
			CHECK(r->event == NTCP_DATA_END && i && f->rec[i - 1].event == NTCP_HEADER);
			CHECK(r->ddgst_ok || r->pdu.flags & NTCP_F_DDGST);
			start += r->pdu.plen;
			CHECK(r->at == start);
		}
	}
}

static void check_term(struct feed *f)
{
	uint8_t term[24 + NTCP_TERM_DATA];
	enum ntcp_event event;
	struct feed peer;
	size_t n;

	CHECK(ntcp_rx(&f->rx, "x", 1, &event) == 0 && event == NTCP_ERROR);
	n = ntcp_put_term(role, term, f->rx.fes, f->rx.fei, &f->rx);
	CHECK(n >= 24 + 8 && n <= 24 + NTCP_IC_LEN);
	feed_init(&peer, &(struct ntcp_params){ .role = role == NTCP_HOST ? NTCP_CTRL : NTCP_HOST }, true);
	CHECK(feed(&peer, term, n) && peer.nrec == 2 && peer.rec[0].pdu.term.fes == f->rx.fes);
	feed_free(&peer);
}

static void use(const uint8_t *set, const uint8_t *b, size_t n)
{
	static struct feed whole, cut;
	const struct ntcp_params p = settings(set);

	feed_init(&whole, &p, set[0] & 4);
	feed(&whole, b, n);
	check_events(&whole, n);
	feed_init(&cut, &p, set[0] & 4);
	cut.direct = set[0] & 8 || set[2] & 1;
	cut.piece = 1u << set[2] % 12;
	cut.rnd = set[2] & 128 ? 1 + set[3] : 0;
	cut.nsink = 1 + set[3] % FEED_SINK;
	feed(&cut, b, n);
	CHECK(feed_same(&whole, &cut));
	if (whole.rx.state == NTCP_RX_FAILED && whole.nrec < FEED_EVENTS)
		check_term(&whole);
	feed_free(&whole);
	feed_free(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *b;
	size_t n;

	if (size < SETTINGS + 8 || size > 65536)
		return 0;
	n = size - SETTINGS;
	b = malloc(n);
	if (!b)
		abort();
	memcpy(b, data + SETTINGS, n);
	use(data, b, n);
	fix(b, n, data[0] & 1);
	use(data, b, n);
	free(b);
	return 0;
}

#endif
