// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every field of every PDU wrong, at both ends and at every point of a connection: which FES and FEI it gets.
 * What is expected is written down here once more, from the specification, and PDUs are made by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "test_nvmetcp_feed.h"

#define OK	      0ull
#define FAULT(fes, fei) ((uint64_t)(fes) << 32 | (uint32_t)(fei))
#define DATA	      16u	/* bytes of data of a good PDU that has any */
#define LIMIT	      4096u

struct good {
	struct ntcp_params p;	/* of the receiver */
	uint8_t type, hlen, first, tail;
	bool data;
	uint8_t b[512];
	size_t n;
};

enum { ICREQ, ICRESP, H2C_TERM, C2H_TERM, CMD, RSP, H2C_DATA, C2H_DATA, R2T = 9, TYPES };
static const uint8_t hlens[TYPES] = { 128, 128, 24, 24, 72, 24, 24, 24, 0, 24 };

static bool has_digests(unsigned int type)
{
	return type >= CMD;
}

static bool to_ctrl(unsigned int type)
{
	return type == ICREQ || type == H2C_TERM || type == CMD || type == H2C_DATA;
}

static bool has_data(unsigned int type)
{
	return type == CMD || type == H2C_DATA || type == C2H_DATA;
}

static void sign(struct good *g)
{
	if (g->first > g->hlen)
		le32_put(g->b + g->hlen, base_crc32c(0, g->b, g->hlen));
}

static void good_fields(struct good *g)
{
	uint8_t *b = g->b;

	if (g->type == ICRESP)
		le32_put(b + 12, LIMIT);
	if (g->type == CMD)
		memset(b + 8, 0x5a, 64);
	if (g->type == H2C_DATA || g->type == C2H_DATA || g->type == R2T) {
		le16_put(b + 8, 7);
		le32_put(b + 12, 512);
		le32_put(b + 16, DATA);
	}
}

/* A PDU in order, of this type, where digests (bits 0 and 1) were agreed on and data are at multiples of align. */
static void make(struct good *g, unsigned int type, unsigned int digests, unsigned int align)
{
	memset(g, 0, sizeof(*g));
	g->p = (struct ntcp_params){ to_ctrl(type) ? NTCP_CTRL : NTCP_HOST, digests & 1, digests & 2, 0,
				     (uint8_t)(align / 4 - 1), LIMIT, LIMIT };
	g->type = (uint8_t)type;
	g->hlen = g->first = hlens[type];
	g->data = has_data(type);
	g->b[0] = g->type;
	g->b[2] = g->hlen;
	if (has_digests(type) && digests & 1) {
		g->b[1] |= 1;
		g->first += 4;
	}
	g->n = g->first;
	if (g->data) {
		g->n = (g->n + align - 1) / align * align;
		g->b[3] = (uint8_t)g->n;
		g->n += DATA;
		if (digests & 2) {
			g->b[1] |= 2;
			g->tail = 4;
			le32_put(g->b + g->n, base_crc32c(0, g->b + g->n - DATA, DATA));
			g->n += 4;
		}
	}
	le32_put(g->b + 4, (uint32_t)g->n);
	good_fields(g);
	sign(g);
}

/* OK if the header is taken, or the fault. Whole or byte by byte, it is the same; and it is the last word. */
static uint64_t outcome_at(const struct good *g, bool ready)
{
	enum ntcp_event event, again;
	static struct feed f[2];
	uint8_t term[24 + NTCP_TERM_DATA];
	unsigned int i;
	size_t n;

	for (i = 0; i < 2; i++) {
		feed_init(&f[i], &g->p, ready);
		f[i].nsink = 0;
		f[i].piece = i;
		feed(&f[i], g->b, g->n);
	}
	assert_true(f[0].nrec && feed_same(&f[0], &f[1]));
	if (f[0].rec[0].event == NTCP_HEADER)
		return OK;
	assert_int_equal(f[0].rec[0].event, NTCP_ERROR);
	assert_int_equal(f[0].nrec, 1);
	assert_true(f[0].at == 8 || f[0].at == g->first);
	assert_non_null(f[0].rec[0].why);
	assert_int_equal(ntcp_rx(&f[0].rx, g->b, g->n, &event), 0);
	assert_int_equal(event, NTCP_ERROR);
	assert_int_equal(ntcp_rx(&f[0].rx, NULL, 0, &again), 0);
	assert_int_equal(again, NTCP_ERROR);
	n = ntcp_put_term(g->p.role, term, f[0].rx.fes, f[0].rx.fei, &f[0].rx);
	assert_int_equal(n, 24 + (f[0].at == 8 ? 8 : g->hlen));
	assert_memory_equal(term + 24, g->b, n - 24);
	return FAULT(f[0].rec[0].fes, f[0].rec[0].fei);
}

static uint64_t outcome(const struct good *g)
{
	return outcome_at(g, g->type > ICRESP);
}

/* Calls fn for each type, every combination of digests and three alignments. */
static void each(void (*fn)(const struct good *g))
{
	static const unsigned int aligns[] = { 4, 16, 128 };
	unsigned int type, digests, i;
	struct good g;

	for (type = 0; type < TYPES; type++)
		for (digests = 0; hlens[type] && digests < 4; digests++)
			for (i = 0; i < 3; i++) {
				make(&g, type, digests, aligns[i]);
				assert_int_equal(outcome(&g), OK);
				fn(&g);
			}
}

static void test_type_and_sequence(void **state)
{
	unsigned int type, role, ready;
	struct good g;

	(void)state;
	for (type = 0; type < 256; type++)
		for (role = 0; role < 2; role++)
			for (ready = 0; ready < 2; ready++) {
				bool known = type < TYPES && hlens[type];
				bool early = type <= C2H_TERM;
				uint64_t want = OK;

				make(&g, known ? type : CMD, 0, 4);
				g.b[0] = (uint8_t)type;
				g.p.role = role;
				if (!known || to_ctrl(type) != (role == NTCP_CTRL))
					want = FAULT(1, 0);
				else if (ready ? type <= ICRESP : !early)
					want = FAULT(2, 0);
				assert_int_equal(outcome_at(&g, ready), want);
			}
}

static void flags_of(const struct good *g)
{
	unsigned int v, free_bits;

	for (v = 0; v < 256; v++) {
		struct good x = *g;
		bool right = (v & 3) == (g->b[1] & 3u);

		free_bits = v & ~3u;
		if (free_bits)
			right &= (free_bits == 4 && (g->type == H2C_DATA || g->type == C2H_DATA)) ||
				 (free_bits == 12 && g->type == C2H_DATA);
		x.b[1] = (uint8_t)v;
		sign(&x);
		assert_int_equal(outcome(&x), right ? OK : FAULT(1, 1));
	}
}

static void hlen_of(const struct good *g)
{
	unsigned int v;

	for (v = 0; v < 256; v++) {
		struct good x = *g;

		x.b[2] = (uint8_t)v;
		sign(&x);
		assert_int_equal(outcome(&x), v == g->hlen ? OK : FAULT(1, 2));
	}
}

/* PLEN goes with PDO, so that nothing but the place of the data changes. */
static void pdo_of(const struct good *g)
{
	unsigned int v, align = (g->p.rx_pda + 1u) * 4;

	for (v = 0; v < 256; v++) {
		struct good x = *g;
		uint64_t want = v >= g->first && v <= g->first + 128u && v % align == 0 ? OK : FAULT(1, 3);

		if (!g->data)
			want = v ? FAULT(1, 3) : OK;
		else if (!v && g->type == CMD)
			/* No data: no digest of them either, and then PLEN is too much. */
			want = g->tail ? FAULT(1, 1) : FAULT(1, 4);
		x.b[3] = (uint8_t)v;
		if (g->data)
			le32_put(x.b + 4, (v ? v : g->first) + DATA + g->tail);
		sign(&x);
		if (want == OK)
			x.n = le32_get(x.b + 4);
		assert_int_equal(outcome(&x), want);
	}
}

static uint64_t plen_wants(const struct good *g, uint64_t v)
{
	uint64_t least = g->data ? g->b[3] + g->tail + 1u : g->first, most = least;

	if (g->type == H2C_TERM || g->type == C2H_TERM)
		most = 24 + NTCP_TERM_DATA;
	else if (g->data)
		most = least + LIMIT - 1;
	if (v < least || (v > most && g->type != H2C_DATA && g->type != C2H_DATA))
		return FAULT(1, 4);
	if (v > most)
		return g->type == H2C_DATA ? FAULT(5, 0) : FAULT(4, 0);
	/* The length in the PDU does not change with it. */
	return v == g->n || g->type == CMD || !g->data ? OK : FAULT(1, 16);
}

static void plen_of(const struct good *g)
{
	static const uint32_t far[] = { 4095, 4096, 4120, 4124, 4168, 4172, 4223, 4224, 4225, 4228, 4229,
					65536, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffe, 0xffffffff };
	unsigned int i;
	uint32_t v;

	for (i = 0; i < 320 + sizeof(far) / sizeof(far[0]); i++) {
		struct good x = *g;

		v = i < 320 ? i : far[i - 320];
		le32_put(x.b + 4, v);
		sign(&x);
		assert_int_equal(outcome(&x), plen_wants(g, v));
	}
}

static void test_flags(void **state)
{
	(void)state;
	each(flags_of);
}

static void test_hlen(void **state)
{
	(void)state;
	each(hlen_of);
}

static void test_pdo(void **state)
{
	(void)state;
	each(pdo_of);
}

static void test_plen(void **state)
{
	(void)state;
	each(plen_of);
}

/* Any bit of a header that has a digest, behind the common header, and any bit of the digest. */
static void digest_of(const struct good *g)
{
	unsigned int bit;

	if (g->first == g->hlen)
		return;
	for (bit = 64; bit < g->first * 8u; bit++) {
		struct good x = *g;

		x.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(outcome(&x), FAULT(3, le32_get(x.b + g->hlen)));
	}
}

static void test_header_digest(void **state)
{
	(void)state;
	each(digest_of);
}

struct field {
	uint8_t type, at, bytes;
	uint32_t value;
	uint64_t want;
};

static const struct field fields[] = {
	{ ICREQ, 8, 2, 1, FAULT(6, 8) }, { ICREQ, 8, 2, 0x100, FAULT(6, 8) }, { ICREQ, 8, 2, 0xffff, FAULT(6, 8) },
	{ ICREQ, 10, 1, 31, OK }, { ICREQ, 10, 1, 32, FAULT(1, 10) }, { ICREQ, 10, 1, 255, FAULT(1, 10) },
	{ ICREQ, 11, 1, 3, OK }, { ICREQ, 11, 1, 4, FAULT(1, 11) }, { ICREQ, 11, 1, 0xff, FAULT(1, 11) },
	{ ICREQ, 12, 4, 0xffffffff, OK }, { ICREQ, 16, 4, 0xffffffff, OK },
	{ ICRESP, 8, 2, 1, FAULT(6, 8) }, { ICRESP, 8, 2, 0x8000, FAULT(6, 8) },
	{ ICRESP, 10, 1, 31, OK }, { ICRESP, 10, 1, 32, FAULT(1, 10) },
	{ ICRESP, 11, 1, 3, OK }, { ICRESP, 11, 1, 0x80, FAULT(1, 11) },
	{ ICRESP, 12, 4, 0, FAULT(1, 12) }, { ICRESP, 12, 4, 4092, FAULT(1, 12) },
	{ ICRESP, 12, 4, 4095, FAULT(1, 12) }, { ICRESP, 12, 4, 4096, OK }, { ICRESP, 12, 4, 4097, FAULT(1, 12) },
	{ ICRESP, 12, 4, 4098, FAULT(1, 12) }, { ICRESP, 12, 4, 4100, OK }, { ICRESP, 12, 4, 0xffffffff, FAULT(1, 12) },
	{ ICRESP, 12, 4, 0xfffffffc, OK },
	{ H2C_DATA, 8, 2, 0xffff, OK }, { H2C_DATA, 10, 2, 0xffff, OK }, { H2C_DATA, 20, 4, 0xffffffff, OK },
	{ H2C_DATA, 12, 4, 0xffffffef, OK }, { H2C_DATA, 12, 4, 0xfffffff0, FAULT(4, 0) },
	{ H2C_DATA, 12, 4, 0xffffffff, FAULT(4, 0) },
	{ H2C_DATA, 16, 4, 0, FAULT(1, 16) }, { H2C_DATA, 16, 4, DATA - 1, FAULT(1, 16) },
	{ H2C_DATA, 16, 4, DATA + 1, FAULT(1, 16) }, { H2C_DATA, 16, 4, 0xffffffff, FAULT(1, 16) },
	{ H2C_DATA, 16, 4, DATA + 4, FAULT(1, 16) }, { H2C_DATA, 16, 4, LIMIT + 1, FAULT(1, 16) },
	{ C2H_DATA, 8, 2, 0xffff, OK }, { C2H_DATA, 10, 2, 0xffff, OK },
	{ C2H_DATA, 12, 4, 0xfffffff0, FAULT(4, 0) }, { C2H_DATA, 16, 4, 0, FAULT(1, 16) },
	{ C2H_DATA, 16, 4, DATA + 1, FAULT(1, 16) }, { C2H_DATA, 16, 4, 0xffffffff, FAULT(1, 16) },
	{ R2T, 12, 4, 0xffffffef, OK }, { R2T, 12, 4, 0xfffffff0, FAULT(4, 0) },
	{ R2T, 16, 4, 0, FAULT(1, 16) }, { R2T, 16, 4, 1, OK }, { R2T, 16, 4, 0xffffffff, FAULT(4, 0) },
	{ H2C_TERM, 8, 2, 0, OK }, { H2C_TERM, 8, 2, 7, OK }, { H2C_TERM, 8, 2, 0xffff, OK },
	{ C2H_TERM, 8, 2, 0xffff, OK }, { C2H_TERM, 10, 4, 0xffffffff, OK }, { C2H_TERM, 14, 4, 0xffffffff, OK },
};

static void test_fields(void **state)
{
	unsigned int i, digests;
	struct good g;

	(void)state;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (digests = 0; digests < 4; digests++) {
			const struct field *f = &fields[i];

			make(&g, f->type, digests, 4);
			if (f->bytes == 1)
				g.b[f->at] = (uint8_t)f->value;
			else if (f->bytes == 2)
				le16_put(g.b + f->at, (uint16_t)f->value);
			else
				le32_put(g.b + f->at, f->value);
			sign(&g);
			if (outcome(&g) != f->want)
				fail_msg("type %u, byte %u = %x: %llx", f->type, f->at, f->value,
					 (unsigned long long)outcome(&g));
		}
}

/* A capsule with a header digest nobody agreed on, whose length is all ones, overran a receiver's buffer. */
static void test_overlong_capsule(void **state)
{
	unsigned int digests;
	struct good g;

	(void)state;
	for (digests = 0; digests < 4; digests++) {
		make(&g, CMD, digests, 4);
		g.b[1] = 1;
		g.b[3] = 76;
		le32_put(g.b + 4, 0xffffffff);
		/* Where just the header digest was agreed on it is the length that is wrong. */
		assert_int_equal(outcome(&g), FAULT(1, digests == 1 ? 4 : 1));
	}
}

/* The limit of data in capsules is told from that of H2CData; none at all is a limit, too. */
static void test_limits(void **state)
{
	struct good g;

	(void)state;
	make(&g, CMD, 0, 4);
	g.p.max_icd = DATA;
	assert_int_equal(outcome(&g), OK);
	g.p.max_icd = DATA - 1;
	assert_int_equal(outcome(&g), FAULT(1, 4));
	g.p.max_icd = 0;
	assert_int_equal(outcome(&g), FAULT(1, 4));
	make(&g, H2C_DATA, 3, 4);
	g.p.max_data = DATA;
	assert_int_equal(outcome(&g), OK);
	g.p.max_data = DATA - 1;
	assert_int_equal(outcome(&g), FAULT(5, 0));
	make(&g, C2H_DATA, 3, 4);
	g.p.max_data = DATA - 1;
	assert_int_equal(outcome(&g), FAULT(4, 0));
}

/* Commands without data where data digests were agreed on: no digest, and no flag of one. */
static void test_bare_capsule(void **state)
{
	unsigned int digests;
	struct good g;

	(void)state;
	for (digests = 0; digests < 4; digests++) {
		make(&g, CMD, digests, 4);
		g.b[1] &= 1;
		g.b[3] = 0;
		g.n = g.first;
		le32_put(g.b + 4, (uint32_t)g.n);
		sign(&g);
		assert_int_equal(outcome(&g), OK);
		g.b[1] |= 2;
		sign(&g);
		assert_int_equal(outcome(&g), FAULT(1, 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_type_and_sequence), cmocka_unit_test(test_flags),
		cmocka_unit_test(test_hlen),		  cmocka_unit_test(test_pdo),
		cmocka_unit_test(test_plen),		  cmocka_unit_test(test_header_digest),
		cmocka_unit_test(test_fields),		  cmocka_unit_test(test_overlong_capsule),
		cmocka_unit_test(test_limits),		  cmocka_unit_test(test_bare_capsule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
