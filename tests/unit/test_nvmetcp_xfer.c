// SPDX-License-Identifier: BSD-2-Clause
/* Transfers that were announced, TermReqs as they are received, and the names of numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "test_nvmetcp_feed.h"

static struct ntcp_pdu part(uint8_t type, uint32_t offset, uint32_t len, bool last)
{
	struct ntcp_pdu pdu = { .type = type, .flags = last ? NTCP_F_LAST : 0, .data_len = len };

	pdu.data.cid = 7;
	pdu.data.ttag = type == NTCP_H2C_DATA ? 9 : 0;
	pdu.data.offset = offset;
	pdu.data.len = len;
	return pdu;
}

static struct ntcp_xfer announced(uint32_t next, uint32_t end)
{
	return (struct ntcp_xfer){ .cid = 7, .ttag = 9, .next = next, .end = end };
}

static void took(struct ntcp_xfer *x, struct ntcp_pdu pdu)
{
	uint32_t fei = 1234, before = x->next;
	const char *why = NULL;

	assert_int_equal(ntcp_xfer_take(x, &pdu, &fei, &why), 0);
	assert_int_equal(x->next, before + pdu.data.len);
}

/* Refused, and the transfer has not moved. */
static void refused(struct ntcp_xfer *x, struct ntcp_pdu pdu, int fes, uint32_t at)
{
	struct ntcp_xfer before = *x;
	const char *why = NULL;
	uint32_t fei = 1234;

	assert_int_equal(ntcp_xfer_take(x, &pdu, &fei, &why), fes);
	assert_int_equal(fei, at);
	assert_non_null(why);
	assert_memory_equal(x, &before, sizeof(before));
}

static void test_in_order(void **state)
{
	static const uint8_t types[] = { NTCP_H2C_DATA, NTCP_C2H_DATA };
	struct ntcp_xfer x;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		x = announced(4096, 12288);
		assert_false(ntcp_xfer_done(&x));
		took(&x, part(types[i], 4096, 4096, false));
		took(&x, part(types[i], 8192, 1, false));
		assert_false(ntcp_xfer_done(&x));
		took(&x, part(types[i], 8193, 4095, true));
		assert_true(ntcp_xfer_done(&x));
		/* There is no more to come. */
		refused(&x, part(types[i], 12288, 1, true), NTCP_FES_RANGE, 0);
		refused(&x, part(types[i], 8193, 4095, true), NTCP_FES_RANGE, 0);
		x = announced(0, 0xffffffff);
		took(&x, part(types[i], 0, 0xfffffff0, false));
		took(&x, part(types[i], 0xfffffff0, 15, true));
		assert_true(ntcp_xfer_done(&x));
	}
}

static void test_out_of_range(void **state)
{
	struct ntcp_xfer x = announced(0, 4096);

	(void)state;
	refused(&x, part(NTCP_H2C_DATA, 4096, 4096, true), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 0xfffffff0, 0x20, true), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 0, 4097, true), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 0, 0xffffffff, true), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 512, 512, false), NTCP_FES_RANGE, 0);
	took(&x, part(NTCP_H2C_DATA, 0, 2048, false));
	refused(&x, part(NTCP_H2C_DATA, 0, 2048, false), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 2047, 2049, true), NTCP_FES_RANGE, 0);
	refused(&x, part(NTCP_H2C_DATA, 2048, 2049, true), NTCP_FES_RANGE, 0);
	/* Sums that overflow end in range. */
	refused(&x, part(NTCP_H2C_DATA, 2048, 0xfffff800, true), NTCP_FES_RANGE, 0);
	took(&x, part(NTCP_H2C_DATA, 2048, 2048, true));
}

static void test_identity(void **state)
{
	struct ntcp_xfer x = announced(0, 4096);
	struct ntcp_pdu pdu = part(NTCP_H2C_DATA, 0, 4096, true);

	(void)state;
	pdu.data.cid = 8;
	refused(&x, pdu, NTCP_FES_INVALID_HDR, 8);
	pdu = part(NTCP_H2C_DATA, 0, 4096, true);
	pdu.data.ttag = 8;
	refused(&x, pdu, NTCP_FES_INVALID_HDR, 10);
	/* A C2HData has no tag that could be wrong. */
	pdu.type = NTCP_C2H_DATA;
	took(&x, pdu);
}

static void test_last(void **state)
{
	struct ntcp_xfer x = announced(0, 4096);

	(void)state;
	refused(&x, part(NTCP_C2H_DATA, 0, 4096, false), NTCP_FES_INVALID_HDR, 1);
	refused(&x, part(NTCP_C2H_DATA, 0, 4095, true), NTCP_FES_INVALID_HDR, 1);
	took(&x, part(NTCP_C2H_DATA, 0, 4095, false));
	took(&x, part(NTCP_C2H_DATA, 4095, 1, true));
}

/* Every amount of data a TermReq can have, and one byte more; both ends, whatever was agreed on. */
static void test_term_lengths(void **state)
{
	uint8_t b[24 + NTCP_TERM_DATA + 1] = { 0 };
	struct feed f;
	unsigned int n, role;

	(void)state;
	for (role = 0; role < 2; role++)
		for (n = 0; n <= NTCP_TERM_DATA + 1; n++) {
			struct ntcp_params p = { .role = role, .hdgst = true, .ddgst = true, .rx_pda = 31 };

			ntcp_put_term(role == NTCP_HOST ? NTCP_CTRL : NTCP_HOST, b, 0xffff, 5, NULL);
			le32_put(b + 4, 24 + n);
			feed_init(&f, &p, true);
			assert_int_equal(feed(&f, b, 24 + n), n <= NTCP_TERM_DATA);
			assert_int_equal(f.rec[0].event, n <= NTCP_TERM_DATA ? NTCP_HEADER : NTCP_ERROR);
			assert_int_equal(f.nrec, n && n <= NTCP_TERM_DATA ? 2 : 1);
			feed_free(&f);
		}
}

static void test_names(void **state)
{
	unsigned int i, k;

	(void)state;
	assert_string_equal(ntcp_fes_str(1), "invalid PDU header field");
	assert_string_equal(ntcp_fes_str(2), "PDU sequence error");
	assert_string_equal(ntcp_fes_str(3), "header digest error");
	assert_string_equal(ntcp_fes_str(4), "data transfer out of range");
	assert_string_equal(ntcp_fes_str(6), "unsupported parameter");
	assert_string_equal(ntcp_fes_str(0), "unknown");
	for (i = 7; i < 0x10000; i++)
		assert_string_equal(ntcp_fes_str(i), "unknown");
	assert_string_equal(ntcp_type_str(NTCP_ICREQ), "ICReq");
	assert_string_equal(ntcp_type_str(NTCP_R2T), "R2T");
	assert_string_equal(ntcp_type_str(8), "unknown");
	for (i = 10; i < 300; i++)
		assert_string_equal(ntcp_type_str(i), "unknown");
	for (i = 0; i < 10; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(ntcp_type_str(i), ntcp_type_str(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order), cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_identity), cmocka_unit_test(test_last),
		cmocka_unit_test(test_term_lengths), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
