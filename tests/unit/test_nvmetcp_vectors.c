// SPDX-License-Identifier: BSD-2-Clause
/*
 * PDUs written down byte by byte after the figures of the NVMe/TCP Transport Specification, 3.6.2, with digests
 * computed elsewhere: the builder makes just these bytes, the receiver reads just these values.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "test_nvmetcp_feed.h"

#define Z4  0, 0, 0, 0
#define Z8  Z4, Z4
#define Z24 Z8, Z8, Z8

static const struct ntcp_params ctrl_plain = { .role = NTCP_CTRL, .max_icd = 8192, .max_data = 65536 };
static const struct ntcp_params host_plain = { .role = NTCP_HOST, .max_data = 65536 };
/* Both digests; the controller asked for data at multiples of 16, the host at multiples of 128 bytes. */
static const struct ntcp_params ctrl_all = { NTCP_CTRL, true, true, 31, 3, 8192, 65536 };
static const struct ntcp_params host_all = { NTCP_HOST, true, true, 3, 31, 0, 65536 };

/* ICReq: HPDA 31, both digests, MAXR2T 15. */
static const uint8_t icreq[128] = { 0x00, 0, 128, 0, 128, 0, 0, 0, 0, 0, 31, 3, 15, 0, 0, 0 };
/* ICResp: CPDA 3, header digest, MAXH2CDATA 131072. */
static const uint8_t icresp[128] = { 0x01, 0, 128, 0, 128, 0, 0, 0, 0, 0, 3, 1, 0, 0, 2, 0 };

#define SQE                                                                                                  \
	0x01, 0x40, 0x34, 0x12, 2, 0, 0, 0, Z8, Z8, Z8, 8, 0, 0, 0, 0, 0, 0, 0x01, Z24
/* CapsuleCmd: Write, CID 1234h, NSID 2, eight bytes of data in the capsule. */
static const uint8_t cmd_plain[] = { 0x04, 0, 72, 72, 80, 0, 0, 0, SQE, '1', '2', '3', '4', '5', '6', '7', '8' };
static const uint8_t cmd_bare[] = { 0x04, 0, 72, 0, 72, 0, 0, 0, SQE };
/* What follows a CapsuleCmd with digests: data and the digest of them. */
static const uint8_t cmd_tail[] = { '1', '2', '3', '4', '5', '6', '7', '8', 0x9a, 0x80, 0x87, 0x60 };

#define CQE 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0x34, 0x12, 0x04, 0x80
static const uint8_t rsp_plain[] = { 0x05, 0, 24, 0, 24, 0, 0, 0, CQE };
static const uint8_t rsp_all[] = { 0x05, 1, 24, 0, 28, 0, 0, 0, CQE, 0xc9, 0x31, 0x28, 0x7c };

/* H2CData: CCCID 1234h, TTAG 5678h, offset 4096, 12 bytes, LAST. */
#define H2C_FIELDS 0x34, 0x12, 0x78, 0x56, 0, 0x10, 0, 0, 12, 0, 0, 0, Z4
#define HELLO	   'h', 'e', 'l', 'l', 'o', ',', ' ', 'w', 'o', 'r', 'l', 'd'
static const uint8_t h2c_plain[] = { 0x06, 4, 24, 24, 36, 0, 0, 0, H2C_FIELDS, HELLO };
static const uint8_t h2c_all[] = { 0x06, 7, 24, 32, 48, 0, 0, 0, H2C_FIELDS, 0xfa, 0xbe, 0x43, 0x9d, Z4,
				   HELLO, 0x1f, 0xa4, 0x99, 0x69 };
/* C2HData: CCCID 1234h, offset 0, 4 bytes, LAST and SUCCESS; with digests at 128. */
#define C2H_FIELDS 0x34, 0x12, 0, 0, Z4, 4, 0, 0, 0, Z4
static const uint8_t c2h_plain[] = { 0x07, 12, 24, 24, 28, 0, 0, 0, C2H_FIELDS, 1, 2, 3, 4 };
/* R2T: CCCID 1234h, TTAG 5678h, offset 4096, length 8192. */
#define R2T_FIELDS 0x34, 0x12, 0x78, 0x56, 0, 0x10, 0, 0, 0, 0x20, 0, 0, Z4
static const uint8_t r2t_plain[] = { 0x09, 0, 24, 0, 24, 0, 0, 0, R2T_FIELDS };
static const uint8_t r2t_all[] = { 0x09, 1, 24, 0, 28, 0, 0, 0, R2T_FIELDS, 0x57, 0x9d, 0x8a, 0x21 };
/* TermReqs: FES 1, FEI 4, and the header that was wrong: of a CapsuleResp here, of an H2CData there. */
static const uint8_t h2c_term[] = { 0x02, 0, 24, 0, 48, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0, 0, Z8,
				    0x05, 0, 24, 0, 25, 0, 0, 0, CQE };
static const uint8_t c2h_term[] = { 0x03, 0, 24, 0, 32, 0, 0, 0, 3, 0, 0xef, 0xbe, 0xad, 0xde, 0, 0, Z8,
				    0x06, 4, 24, 24, 36, 0, 0, 0 };

static const struct nvme_sqe *the_sqe(void)
{
	static struct nvme_sqe sqe;

	memcpy(&sqe, cmd_bare + 8, sizeof(sqe));
	return &sqe;
}

static const struct nvme_cqe *the_cqe(void)
{
	static struct nvme_cqe cqe;

	memcpy(&cqe, rsp_plain + 8, sizeof(cqe));
	return &cqe;
}

/* With both digests and at multiples of 16. */
static size_t cmd_all(uint8_t *b)
{
	static const uint8_t head[] = { 0x04, 3, 72, 80, 92, 0, 0, 0, SQE };

	memcpy(b, head, 72);
	le32_put(b + 72, 0xa8688514);
	memset(b + 76, 0, 4);
	memcpy(b + 80, cmd_tail, sizeof(cmd_tail));
	return 92;
}

static size_t c2h_all(uint8_t *b)
{
	static const uint8_t head[] = { 0x07, 15, 24, 128, 136, 0, 0, 0, C2H_FIELDS };

	memset(b, 0, 136);
	memcpy(b, head, 24);
	le32_put(b + 24, 0xf70f852d);
	memcpy(b + 128, (uint8_t[]){ 1, 2, 3, 4 }, 4);
	le32_put(b + 132, 0x29308cf4);
	return 136;
}

#define SAME(hdr, n, golden, len)                                                                            \
	do {                                                                                                 \
		assert_int_equal(n, len);                                                                    \
		assert_memory_equal(hdr, golden, len);                                                       \
	} while (0)

static void test_built_plain(void **state)
{
	uint8_t h[NTCP_MAX_HDR];

	(void)state;
	SAME(h, ntcp_put_icreq(h, 31, 3, 15), icreq, 128);
	SAME(h, ntcp_put_icresp(h, 3, 1, 131072), icresp, 128);
	SAME(h, ntcp_put_cmd(&host_plain, h, the_sqe(), 8), cmd_plain, 72);
	SAME(h, ntcp_put_cmd(&host_plain, h, the_sqe(), 0), cmd_bare, 72);
	SAME(h, ntcp_put_rsp(&ctrl_plain, h, the_cqe()), rsp_plain, 24);
	SAME(h, ntcp_put_h2c_data(&host_plain, h, 0x1234, 0x5678, 4096, 12, true), h2c_plain, 24);
	SAME(h, ntcp_put_c2h_data(&ctrl_plain, h, 0x1234, 0, 4, false, true), c2h_plain, 24);
	SAME(h, ntcp_put_r2t(&ctrl_plain, h, 0x1234, 0x5678, 4096, 8192), r2t_plain, 24);
}

static void test_built_all(void **state)
{
	uint8_t h[NTCP_MAX_HDR], b[256], dgst[4];
	struct iovec iov[3] = { { (void *)(uintptr_t)"1234", 4 }, { NULL, 0 }, { (void *)(uintptr_t)"56789", 5 } };

	(void)state;
	cmd_all(b);
	SAME(h, ntcp_put_cmd(&host_all, h, the_sqe(), 8), b, 80);
	ntcp_ddgst(iov, 3, 8, dgst);
	assert_memory_equal(dgst, cmd_tail + 8, 4);
	SAME(h, ntcp_put_rsp(&ctrl_all, h, the_cqe()), rsp_all, 28);
	SAME(h, ntcp_put_h2c_data(&host_all, h, 0x1234, 0x5678, 4096, 12, true), h2c_all, 32);
	c2h_all(b);
	SAME(h, ntcp_put_c2h_data(&ctrl_all, h, 0x1234, 0, 4, true, true), b, 128);
	SAME(h, ntcp_put_r2t(&ctrl_all, h, 0x1234, 0x5678, 4096, 8192), r2t_all, 28);
	/* The catalogue's check value, as the four bytes that travel. */
	ntcp_ddgst(iov, 3, 9, dgst);
	assert_memory_equal(dgst, "\x83\x92\x06\xe3", 4);
	ntcp_ddgst(NULL, 0, 0, dgst);
	assert_memory_equal(dgst, "\0\0\0\0", 4);
}

/* One PDU in a fresh receiver, whole and byte by byte: its header, and the end of the data if there are any. */
static const struct ntcp_pdu *one(const struct ntcp_params *p, const uint8_t *b, size_t n, uint32_t data)
{
	static struct feed f[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		feed_init(&f[i], p, b[0] > 1);
		f[i].piece = i;
		assert_true(feed(&f[i], b, n));
		assert_int_equal(f[i].nrec, data ? 2 : 1);
		assert_int_equal(f[i].rec[0].event, NTCP_HEADER);
		assert_int_equal(f[i].at, n);
		if (data) {
			assert_int_equal(f[i].rec[1].event, NTCP_DATA_END);
			assert_true(f[i].rec[1].ddgst_ok);
			assert_int_equal(f[i].nroom, data);
		}
		feed_free(&f[i]);
	}
	assert_true(feed_same(&f[0], &f[1]));
	assert_int_equal(f[0].rec[0].pdu.type, b[0]);
	assert_int_equal(f[0].rec[0].pdu.flags, b[1]);
	assert_int_equal(f[0].rec[0].pdu.hlen, b[2]);
	assert_int_equal(f[0].rec[0].pdu.pdo, b[3]);
	assert_int_equal(f[0].rec[0].pdu.plen, n);
	assert_int_equal(f[0].rec[0].pdu.data_len, data);
	return &f[0].rec[0].pdu;
}

static void test_read_ic(void **state)
{
	const struct ntcp_pdu *pdu;

	(void)state;
	pdu = one(&ctrl_all, icreq, 128, 0);
	assert_int_equal(pdu->icreq.pfv, 0);
	assert_int_equal(pdu->icreq.hpda, 31);
	assert_int_equal(pdu->icreq.dgst, 3);
	assert_int_equal(pdu->icreq.maxr2t, 15);
	pdu = one(&host_all, icresp, 128, 0);
	assert_int_equal(pdu->icresp.pfv, 0);
	assert_int_equal(pdu->icresp.cpda, 3);
	assert_int_equal(pdu->icresp.dgst, 1);
	assert_int_equal(pdu->icresp.maxh2cdata, 131072);
}

static void test_read_capsules(void **state)
{
	const struct ntcp_pdu *pdu;
	uint8_t b[128];

	(void)state;
	pdu = one(&ctrl_plain, cmd_plain, sizeof(cmd_plain), 8);
	assert_memory_equal(&pdu->sqe, the_sqe(), 64);
	pdu = one(&ctrl_plain, cmd_bare, sizeof(cmd_bare), 0);
	assert_memory_equal(&pdu->sqe, the_sqe(), 64);
	pdu = one(&ctrl_all, b, cmd_all(b), 8);
	assert_memory_equal(&pdu->sqe, the_sqe(), 64);
	pdu = one(&host_plain, rsp_plain, sizeof(rsp_plain), 0);
	assert_memory_equal(&pdu->cqe, the_cqe(), 16);
	pdu = one(&host_all, rsp_all, sizeof(rsp_all), 0);
	assert_memory_equal(&pdu->cqe, the_cqe(), 16);
}

static void check_range(const struct ntcp_pdu *pdu, uint16_t ttag, uint32_t offset, uint32_t len)
{
	assert_int_equal(pdu->data.cid, 0x1234);
	assert_int_equal(pdu->data.ttag, ttag);
	assert_int_equal(pdu->data.offset, offset);
	assert_int_equal(pdu->data.len, len);
}

static void test_read_data(void **state)
{
	uint8_t b[256];

	(void)state;
	check_range(one(&ctrl_plain, h2c_plain, sizeof(h2c_plain), 12), 0x5678, 4096, 12);
	check_range(one(&ctrl_all, h2c_all, sizeof(h2c_all), 12), 0x5678, 4096, 12);
	check_range(one(&host_plain, c2h_plain, sizeof(c2h_plain), 4), 0, 0, 4);
	check_range(one(&host_all, b, c2h_all(b), 4), 0, 0, 4);
	check_range(one(&host_plain, r2t_plain, sizeof(r2t_plain), 0), 0x5678, 4096, 8192);
	check_range(one(&host_all, r2t_all, sizeof(r2t_all), 0), 0x5678, 4096, 8192);
	/* Bytes that are reserved in a C2HData are nobody's tag. */
	memcpy(b, c2h_plain, sizeof(c2h_plain));
	b[10] = b[20] = 0xff;
	check_range(one(&host_plain, b, sizeof(c2h_plain), 4), 0, 0, 4);
}

static void test_read_term(void **state)
{
	const struct ntcp_pdu *pdu;

	(void)state;
	pdu = one(&ctrl_plain, h2c_term, sizeof(h2c_term), 24);
	assert_int_equal(pdu->term.fes, 1);
	assert_int_equal(pdu->term.fei, 4);
	/* TermReqs have no digests, whatever was agreed. */
	pdu = one(&host_all, c2h_term, sizeof(c2h_term), 8);
	assert_int_equal(pdu->term.fes, 3);
	assert_int_equal(pdu->term.fei, 0xdeadbeef);
}

/* The TermReqs above are what these faults lead to. */
static void test_built_term(void **state)
{
	static const uint8_t rsp_long[] = { 0x05, 0, 24, 0, 25, 0, 0, 0, CQE };
	uint8_t t[24 + NTCP_TERM_DATA];
	struct feed f;

	(void)state;
	feed_init(&f, &host_plain, true);
	memcpy(f.rx.hdr, rsp_long, sizeof(rsp_long));
	f.rx.nhdr = sizeof(rsp_long);
	SAME(t, ntcp_put_term(NTCP_HOST, t, NTCP_FES_INVALID_HDR, 4, &f.rx), h2c_term, sizeof(h2c_term));

	feed_init(&f, &ctrl_plain, true);
	assert_true(feed(&f, h2c_plain, 8));
	SAME(t, ntcp_put_term(NTCP_CTRL, t, NTCP_FES_HDGST, 0xdeadbeef, &f.rx), c2h_term, sizeof(c2h_term));
	/* Without a header: nothing came, or nobody has it. */
	feed_init(&f, &ctrl_plain, true);
	assert_int_equal(ntcp_put_term(NTCP_CTRL, t, 2, 0, &f.rx), 24);
	assert_int_equal(ntcp_put_term(NTCP_CTRL, t, 2, 0, NULL), 24);
	assert_int_equal(le32_get(t + 4), 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_plain), cmocka_unit_test(test_built_all),
		cmocka_unit_test(test_read_ic),	    cmocka_unit_test(test_read_capsules),
		cmocka_unit_test(test_read_data),   cmocka_unit_test(test_read_term),
		cmocka_unit_test(test_built_term),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
