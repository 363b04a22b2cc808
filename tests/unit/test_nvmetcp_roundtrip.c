// SPDX-License-Identifier: BSD-2-Clause
/*
 * What one end builds the other end reads: all PDUs in one stream, with every combination of digests and
 * alignments, cut in every way, copied and received directly, into sinks of one and of many elements.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "test_nvmetcp_feed.h"

#define STREAM 65536

struct out {
	uint8_t b[STREAM];
	size_t n;
	size_t data_at[FEED_EVENTS];	/* where the data of each PDU are */
	uint32_t sum[FEED_EVENTS];	/* of them */
	unsigned int ndata;
};

static void out_data(struct out *o, const struct ntcp_params *p, uint32_t len)
{
	struct iovec iov = { o->b + o->n, len };
	uint32_t i;

	for (i = 0; i < len; i++)
		o->b[o->n + i] = (uint8_t)(i * 7 + len + o->ndata);
	o->data_at[o->ndata] = o->n;
	o->sum[o->ndata++] = base_crc32c(0, o->b + o->n, len);
	o->n += len;
	if (p->ddgst) {
		ntcp_ddgst(&iov, 1, len, o->b + o->n);
		o->n += 4;
	}
}

static const uint32_t lens[] = { 1, 3, 4, 511, 512, 4096, 4099 };
#define LENS (sizeof(lens) / sizeof(lens[0]))

/* All that a host sends, as its parameters p have it. */
static void out_host(struct out *o, const struct ntcp_params *p)
{
	struct nvme_sqe sqe = { .opc = 1, .cid = 77 };
	unsigned int i;

	memset(o, 0, sizeof(*o));
	o->n = ntcp_put_icreq(o->b, p->rx_pda, p->hdgst | p->ddgst << 1, 0);
	o->n += ntcp_put_cmd(p, o->b + o->n, &sqe, 0);
	for (i = 0; i < LENS; i++) {
		o->n += ntcp_put_cmd(p, o->b + o->n, &sqe, lens[i]);
		out_data(o, p, lens[i]);
		o->n += ntcp_put_h2c_data(p, o->b + o->n, 77, 3, 4096 * i, lens[i], i & 1);
		out_data(o, p, lens[i]);
	}
	o->n += ntcp_put_term(NTCP_HOST, o->b + o->n, 1, 2, NULL);
}

static void out_ctrl(struct out *o, const struct ntcp_params *p)
{
	struct nvme_cqe cqe = { .cid = 77, .result = 5 };
	unsigned int i;

	memset(o, 0, sizeof(*o));
	o->n = ntcp_put_icresp(o->b, p->rx_pda, p->hdgst | p->ddgst << 1, 65536);
	for (i = 0; i < LENS; i++) {
		o->n += ntcp_put_c2h_data(p, o->b + o->n, 77, 4096 * i, lens[i], i & 1, i & 2);
		out_data(o, p, lens[i]);
		o->n += ntcp_put_rsp(p, o->b + o->n, &cqe);
		o->n += ntcp_put_r2t(p, o->b + o->n, 77, 3, 512, lens[i]);
	}
	o->n += ntcp_put_term(NTCP_CTRL, o->b + o->n, 1, 2, NULL);
}

struct way {
	size_t piece;
	bool direct;
	unsigned int nsink;
	uint64_t rnd;
};

static const struct way ways[] = {
	{ 0, false, 1, 0 },	 { 1, false, 1, 0 },	 { 1, true, 1, 0 },
	{ 0, true, 1, 0 },	 { 0, true, 7, 0 },	 { 0, false, 7, 0 },
	{ 1, true, 4, 0 },	 { 200, true, 5, 12345 }, { 200, false, 2, 12345 },
	{ 5000, true, 3, 99 },	 { 5000, false, 6, 99 },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void run(struct feed *f, const struct out *o, const struct ntcp_params *agreed, const struct way *w)
{
	feed_init(f, agreed, false);
	f->piece = w->piece;
	f->direct = w->direct;
	f->nsink = w->nsink;
	f->rnd = w->rnd;
	assert_true(feed(f, o->b, o->n));
	feed_free(f);
	assert_int_equal(f->at, o->n);
}

/* Every header is in its place and the data are those that were sent. */
static void check_events(const struct feed *f, const struct out *o, const struct ntcp_params *p)
{
	unsigned int i, ends = 0;

	for (i = 0; i < f->nrec; i++) {
		const struct feed_rec *r = &f->rec[i];

		if (r->event == NTCP_HEADER && r->pdu.data_len && r->pdu.type > NTCP_C2H_TERM) {
			assert_int_equal(r->pdu.pdo % ((p->rx_pda + 1) * 4), 0);
			assert_int_equal(r->pdu.data_len, lens[r->pdu.type == NTCP_C2H_DATA ? ends : ends / 2]);
			assert_int_equal(r->at - r->pdu.hlen - (p->hdgst ? 4 : 0) + r->pdu.pdo,
					 o->data_at[ends]);
		}
		if (r->event != NTCP_DATA_END)
			continue;
		assert_true(r->ddgst_ok);
		assert_int_equal(r->sum, o->sum[ends]);
		ends++;
	}
	assert_int_equal(ends, o->ndata);
}

static void one_setting(enum ntcp_role role, bool hdgst, bool ddgst, uint8_t pda)
{
	const struct ntcp_params tx = { role == NTCP_CTRL ? NTCP_HOST : NTCP_CTRL, hdgst, ddgst, pda, 0, 0, 0 };
	const struct ntcp_params rx = { role, hdgst, ddgst, 0, pda, 4099, 4099 };
	static struct feed first, f;
	static struct out o;
	unsigned int i;

	if (role == NTCP_CTRL)
		out_host(&o, &tx);
	else
		out_ctrl(&o, &tx);
	run(&first, &o, &rx, &ways[0]);
	/* Each PDU, and the end of each one's data. */
	assert_int_equal(first.nrec, role == NTCP_CTRL ? 1 + 1 + 4 * LENS + 1 : 1 + 4 * LENS + 1);
	check_events(&first, &o, &rx);
	for (i = 1; i < WAYS; i++) {
		run(&f, &o, &rx, &ways[i]);
		assert_true(feed_same(&first, &f));
	}
}

static void test_all_settings(void **state)
{
	static const uint8_t pdas[] = { 0, 1, 2, 3, 15, 30, 31 };
	unsigned int digests, i;

	(void)state;
	for (digests = 0; digests < 4; digests++)
		for (i = 0; i < sizeof(pdas); i++) {
			one_setting(NTCP_CTRL, digests & 1, digests & 2, pdas[i]);
			one_setting(NTCP_HOST, digests & 1, digests & 2, pdas[i]);
		}
}

/* What a receiver asked for is what counts: data at multiples of 4 are not at multiples of 128. */
static void test_alignment_is_insisted_on(void **state)
{
	struct ntcp_params tx = { .role = NTCP_HOST }, rx = { .role = NTCP_CTRL, .rx_pda = 31, .max_icd = 4099,
							     .max_data = 4099 };
	static struct out o;
	struct feed f;

	(void)state;
	out_host(&o, &tx);
	feed_init(&f, &rx, false);
	assert_false(feed(&f, o.b, o.n));
	/* ICReq and the command without data are right. */
	assert_int_equal(f.nrec, 3);
	assert_int_equal(f.rec[2].fes, NTCP_FES_INVALID_HDR);
	assert_int_equal(f.rec[2].fei, 3);
	feed_free(&f);
}

/* A wrong digest of data is told and nothing else happens: the PDUs behind are read. */
static void test_data_digest(void **state)
{
	struct ntcp_params tx = { NTCP_HOST, true, true, 3, 0, 0, 0 };
	struct ntcp_params rx = { NTCP_CTRL, true, true, 0, 3, 4099, 4099 };
	unsigned int i, k, which, ends;
	static struct out o;
	struct feed f;

	(void)state;
	out_host(&o, &tx);
	for (which = 0; which < o.ndata; which++) {
		/* A bit of the data, and one of the digest. */
		for (k = 0; k < 2 * WAYS; k++) {
			const struct way *w = &ways[k / 2];
			size_t at = o.data_at[which] + (k & 1 ? lens[which / 2] + 3 : lens[which / 2] - 1);

			o.b[at] ^= 0x80;
			run(&f, &o, &rx, w);
			o.b[at] ^= 0x80;
			for (i = ends = 0; i < f.nrec; i++)
				if (f.rec[i].event == NTCP_DATA_END) {
					assert_int_equal(f.rec[i].ddgst_ok, ends != which);
					ends++;
				}
			assert_int_equal(ends, o.ndata);
		}
	}
}

/* Dropped data are checked all the same. */
static void test_no_sink(void **state)
{
	const struct way drop[] = { { 0, false, 0, 0 }, { 1, true, 0, 0 }, { 300, true, 0, 4 } };
	struct ntcp_params tx = { NTCP_CTRL, true, true, 3, 0, 0, 0 };
	struct ntcp_params rx = { NTCP_HOST, true, true, 0, 3, 0, 4099 };
	unsigned int i, k, bad;
	static struct out o;
	struct feed f;

	(void)state;
	out_ctrl(&o, &tx);
	o.b[o.data_at[3] + 5] ^= 1;
	for (k = 0; k < 3; k++) {
		run(&f, &o, &rx, &drop[k]);
		for (i = bad = 0; i < f.nrec; i++)
			bad += f.rec[i].event == NTCP_DATA_END && !f.rec[i].ddgst_ok;
		assert_int_equal(bad, 1);
	}
}

static size_t one_c2h(uint8_t *b, const struct ntcp_params *tx)
{
	size_t n = ntcp_put_c2h_data(tx, b, 1, 0, 12, true, false);
	struct iovec iov = { b + n, 12 };

	memcpy(b + n, "hello, world", 12);
	ntcp_ddgst(&iov, 1, 12, b + n + 12);
	return n + 16;
}

/* An owner whose sink is too short loses data and nothing else. */
static void test_short_sink(void **state)
{
	struct ntcp_params tx = { NTCP_CTRL, true, true, 0, 0, 0, 0 };
	struct ntcp_params rx = { NTCP_HOST, true, true, 0, 0, 0, 64 };
	uint8_t b[128], room[8];
	struct iovec sink[2] = { { room, 4 }, { room + 4, 1 } }, to[4];
	enum ntcp_event event;
	struct ntcp_rx r;
	size_t n, used;
	int direct;

	(void)state;
	n = one_c2h(b, &tx);
	for (direct = 0; direct < 2; direct++) {
		memset(room, 0xee, sizeof(room));
		ntcp_rx_init(&r, &rx);
		ntcp_rx_ready(&r, &rx);
		used = ntcp_rx(&r, b, n, &event);
		assert_int_equal(event, NTCP_HEADER);
		ntcp_rx_sink(&r, sink, 2);
		if (direct) {
			assert_int_equal(ntcp_rx_direct(&r, to, 4), 2);
			memcpy(room, b + used, 5);
			ntcp_rx_direct_done(&r, 5);
			assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
			used += 5;
		}
		used += ntcp_rx(&r, b + used, n - used, &event);
		assert_int_equal(event, NTCP_DATA_END);
		assert_true(r.ddgst_ok);
		assert_int_equal(used, n);
		assert_memory_equal(room, "hello\xee\xee\xee", 8);
	}
}

/* The places for direct reception: never beyond the data, as many as asked for, none but for data. */
static void test_direct_places(void **state)
{
	struct ntcp_params tx = { NTCP_CTRL, true, true, 3, 0, 0, 0 };
	struct ntcp_params rx = { NTCP_HOST, true, true, 0, 3, 0, 64 };
	uint8_t b[128], room[32];
	struct iovec sink[4] = { { room, 3 }, { NULL, 0 }, { room + 3, 4 }, { room + 7, 25 } }, to[4];
	enum ntcp_event event;
	struct ntcp_rx r;
	size_t n, used;

	(void)state;
	n = one_c2h(b, &tx);
	ntcp_rx_init(&r, &rx);
	ntcp_rx_ready(&r, &rx);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
	used = ntcp_rx(&r, b, n, &event);
	assert_int_equal(event, NTCP_HEADER);
	ntcp_rx_sink(&r, sink, 4);
	/* 28 bytes so far; the padding up to 32 is not for the sink. */
	assert_int_equal(used, 28);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
	ntcp_rx_direct_done(&r, 5);
	used += ntcp_rx(&r, b + used, 4, &event);
	assert_int_equal(event, NTCP_NEED);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 3);
	assert_ptr_equal(to[0].iov_base, room);
	assert_int_equal(to[0].iov_len, 3);
	assert_ptr_equal(to[1].iov_base, room + 3);
	assert_int_equal(to[1].iov_len, 4);
	assert_ptr_equal(to[2].iov_base, room + 7);
	assert_int_equal(to[2].iov_len, 5);
	assert_int_equal(ntcp_rx_direct(&r, to, 1), 1);
	assert_int_equal(ntcp_rx_direct(&r, to, 0), 0);
	memcpy(room, "hello", 5);
	ntcp_rx_direct_done(&r, 5);
	assert_int_equal(ntcp_rx(&r, NULL, 0, &event), 0);
	assert_int_equal(event, NTCP_NEED);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 2);
	assert_ptr_equal(to[0].iov_base, room + 5);
	assert_int_equal(to[0].iov_len, 2);
	memcpy(room + 5, ", world", 7);
	/* More than there was a place for counts as no more than that. */
	ntcp_rx_direct_done(&r, 700);
	/* The digest is to come yet. */
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
	ntcp_rx(&r, NULL, 0, &event);
	assert_int_equal(event, NTCP_NEED);
	ntcp_rx(&r, b + n - 4, 4, &event);
	assert_int_equal(event, NTCP_DATA_END);
	assert_true(r.ddgst_ok);
	assert_memory_equal(room, "hello, world", 12);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
	ntcp_rx_direct_done(&r, 100);
	ntcp_rx(&r, NULL, 0, &event);
	assert_int_equal(event, NTCP_NEED);
}

/*
 * A sink is one PDU's: what is left of it is not the next one's. And the header stays for a TermReq, until the
 * next one begins, as often as the receiver is asked for more.
 */
static void test_sink_and_header_are_of_one_pdu(void **state)
{
	struct ntcp_params tx = { NTCP_CTRL, true, true, 0, 0, 0, 0 };
	struct ntcp_params rx = { NTCP_HOST, true, true, 0, 0, 0, 64 };
	uint8_t b[256], room[32] = { 0 }, term[24 + NTCP_TERM_DATA];
	struct iovec sink[2] = { { room, 16 }, { room + 16, 16 } }, to[4];
	enum ntcp_event event;
	struct ntcp_rx r;
	size_t n, used;

	(void)state;
	n = one_c2h(b, &tx);
	one_c2h(b + n, &tx);
	ntcp_rx_init(&r, &rx);
	ntcp_rx_ready(&r, &rx);
	used = ntcp_rx(&r, b, n, &event);
	ntcp_rx_sink(&r, sink, 2);
	used += ntcp_rx(&r, b + used, n - used, &event);
	assert_int_equal(event, NTCP_DATA_END);
	ntcp_rx(&r, NULL, 0, &event);
	assert_int_equal(event, NTCP_NEED);
	assert_int_equal(ntcp_put_term(NTCP_HOST, term, 1, 0, &r), 48);
	assert_memory_equal(term + 24, b, 24);
	memset(room, 0xee, sizeof(room));
	used += ntcp_rx(&r, b + used, 2 * n - used, &event);
	assert_int_equal(event, NTCP_HEADER);
	assert_int_equal(ntcp_rx_direct(&r, to, 4), 0);
	used += ntcp_rx(&r, b + used, 2 * n - used, &event);
	assert_int_equal(event, NTCP_DATA_END);
	assert_true(r.ddgst_ok);
	assert_int_equal(used, 2 * n);
	for (n = 0; n < sizeof(room); n++)
		assert_int_equal(room[n], 0xee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_settings), cmocka_unit_test(test_alignment_is_insisted_on),
		cmocka_unit_test(test_data_digest),  cmocka_unit_test(test_no_sink),
		cmocka_unit_test(test_short_sink),   cmocka_unit_test(test_direct_places),
		cmocka_unit_test(test_sink_and_header_are_of_one_pdu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
