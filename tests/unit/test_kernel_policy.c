// SPDX-License-Identifier: BSD-2-Clause
/* The kernel module's allow-list (kernel/passthru/policy.c): words, all 256 opcodes, lengths, fields, ranges. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "policy_kernel.h"

#define EVERYTHING "read write flush compare write-zeroes verify 0x81:ndt 0x82:ndt 0x80:none 0x83:none 0xc1:none 0xfe:ndt"
#define SHIFT 12
#define NBLOCKS 1000u

/* What the words must mean: opcode, whether it has blocks, whether these are data, direction of the data. */
struct known {
	u8 opcode;
	enum nap_len len;
	bool data, write;
};

static const struct known known[] = {
	{ 0x02, NAP_LEN_RW, true, false }, { 0x01, NAP_LEN_RW, true, true }, { 0x00, NAP_LEN_NONE, false, false },
	{ 0x05, NAP_LEN_RW, true, true }, { 0x08, NAP_LEN_RW, false, false }, { 0x0c, NAP_LEN_RW, false, false },
	{ 0x81, NAP_LEN_NDT, true, true }, { 0x82, NAP_LEN_NDT, true, false }, { 0x80, NAP_LEN_NONE, false, false },
	{ 0x83, NAP_LEN_NONE, false, false }, { 0xc1, NAP_LEN_NONE, false, false }, { 0xfe, NAP_LEN_NDT, true, false },
};

static const struct known *find(unsigned int opcode)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].opcode == opcode)
			return &known[i];
	return NULL;
}

static struct nap_policy everything(void)
{
	struct nap_policy p;

	assert_int_equal(nap_policy_parse(&p, EVERYTHING), 0);
	return p;
}

/* A command of one block, or one block's worth of dwords, with a request that fits. */
static struct nap_req make(unsigned int opcode)
{
	const struct known *k = find(opcode);
	struct nap_req r = { 0 };

	r.cmd.common.opcode = (u8)opcode;
	if (k && k->len == NAP_LEN_NDT)
		r.cmd.common.cdw10 = cpu_to_le32((1u << SHIFT) / 4);
	if (k && k->data) {
		r.rq.data_len = 1u << SHIFT;
		r.rq.nr_segments = 1;
		r.rq.write = k->write;
	}
	return r;
}

static struct nap_req make_rw(unsigned int opcode, u64 slba, u32 nlb0)
{
	struct nap_req r = make(opcode);

	r.cmd.common.cdw10 = cpu_to_le32((u32)slba);
	r.cmd.common.cdw11 = cpu_to_le32((u32)(slba >> 32));
	r.cmd.common.cdw12 = cpu_to_le32(nlb0);
	if (r.rq.data_len)
		r.rq.data_len = (nlb0 + 1) << SHIFT;
	return r;
}

static void expect_at(const struct nap_policy *p, struct nap_req r, u64 nblocks, u16 status, enum nap_reason why)
{
	enum nap_reason reason = NAP_R_OK;

	r.nbytes = 0xdeadbeef;
	assert_int_equal(nap_policy_check(p, &r, SHIFT, nblocks, &reason), status);
	assert_int_equal(reason, why);
	if (!status)
		assert_int_equal(r.nbytes, r.rq.nr_segments ? r.rq.data_len : 0);
}

static void expect(const struct nap_policy *p, struct nap_req r, u16 status, enum nap_reason why)
{
	expect_at(p, r, NBLOCKS, status, why);
}

static void test_words(void **state)
{
	static const char *const bad[] = {
		"", " ", "\n", "reads", "Read", "read read", "0x81:ndt 0x81:none", "0x7f:none", "0x00:none", "0x80:ndt",
		"0x83:ndt", "0xff:ndt", "0x81", "0x81:", "0x81:rw", "0x8:none", "0x811:none", "81:none", "0xg1:none", "0x1g:none",
		"0x81:ndtx", "0x81:nd", "x", "0x", "0x81;none", "read write bogus",
	};
	struct nap_policy p = everything(), before = p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(nap_policy_parse(&p, bad[i]), -EINVAL);
		assert_memory_equal(&p, &before, sizeof(p));	/* a refused text changes nothing */
	}
	assert_int_equal(nap_policy_parse(&p, "  flush,read\t0XfE:ndt\n"), 0);
	assert_true(test_bit(0, p.opcode) && test_bit(2, p.opcode) && test_bit(0xfe, p.opcode));
	assert_false(test_bit(1, p.opcode));
}

static void test_show(void **state)
{
	char page[PAGE_SIZE], all[PAGE_SIZE] = "", word[16];
	struct nap_policy p, again;
	unsigned int i;

	(void)state;
	memset(&p, 0, sizeof(p));
	memset(&again, 0, sizeof(again));
	nap_policy_default(&p);
	assert_int_equal(nap_policy_show(&p, page), strlen("read write flush\n"));
	assert_string_equal(page, "read write flush\n");
	/* All there can be, once there and back. */
	strcpy(all, "read write flush compare write-zeroes verify");
	for (i = 0x80; i < 256; i++) {
		snprintf(word, sizeof(word), " 0x%02x:%s", i, i % 4 == 1 || i % 4 == 2 ? "ndt" : "none");
		strcat(all, word);
	}
	assert_int_equal(nap_policy_parse(&p, all), 0);
	assert_int_equal(nap_policy_show(&p, page), strlen(all) + 1);
	page[strlen(all)] = '\0';
	assert_string_equal(page, all);
	assert_int_equal(nap_policy_parse(&again, page), 0);
	assert_memory_equal(&p, &again, sizeof(p));
}

static void test_every_opcode(void **state)
{
	struct nap_policy none, all = everything(), standard;
	unsigned int i;

	(void)state;
	memset(&none, 0, sizeof(none));
	nap_policy_default(&standard);
	for (i = 0; i < 256; i++) {
		expect(&none, make(i), MODEL_SC_INVALID_OPCODE, NAP_R_OPCODE);
		if (find(i))
			expect(&all, make(i), 0, NAP_R_OK);
		else
			expect(&all, make(i), MODEL_SC_INVALID_OPCODE, NAP_R_OPCODE);
		if (i <= 2)
			expect(&standard, make(i), 0, NAP_R_OK);
		else
			expect(&standard, make(i), MODEL_SC_INVALID_OPCODE, NAP_R_OPCODE);
	}
}

/* Bits that may be set in CDW10 to CDW15 of a command that has none of them wrong (range and length apart). */
static u32 allowed_bits(const struct known *k, unsigned int dword)
{
	if (k->opcode >= 0x80)
		return k->len == NAP_LEN_NDT && (dword == 10 || dword == 11) ? 0 : 0xffffffff;
	if (k->len != NAP_LEN_RW)
		return 0;
	if (dword == 12)
		return k->opcode == 0x08 ? 0xc2000000 : 0xc0000000;
	return dword == 13 && (k->opcode == 1 || k->opcode == 2) ? 0xff : 0;
}

static void test_every_field(void **state)
{
	struct nap_policy p = everything();
	unsigned int i, dword, bit;
	const struct known *k;
	struct nap_req r;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		k = &known[i];
		for (bit = 0; bit < 8; bit++) {		/* FUSE, PSDT, reserved */
			r = make(k->opcode);
			r.cmd.common.flags = (u8)(1 << bit);
			expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_FIELD);
		}
		for (dword = 2; dword <= 15; dword++)
			for (bit = 0; bit < 32; bit++) {
				if (k->len == NAP_LEN_RW && (dword < 10 ? false : dword < 12 || (dword == 12 && bit < 16)))
					continue;	/* address and number of blocks */
				if (k->len == NAP_LEN_NDT && dword == 10)
					continue;	/* the length */
				r = make(k->opcode);
				r.cmd.dw[dword] |= cpu_to_le32(1u << bit);
				if (dword >= 6 && dword <= 9)	/* the data pointer is whoever's, and is not looked at */
					expect(&p, r, 0, NAP_R_OK);
				else if (dword >= 10 && allowed_bits(k, dword) >> bit & 1)
					expect(&p, r, 0, NAP_R_OK);
				else
					expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_FIELD);
			}
	}
}

static void test_request_kinds(void **state)
{
	struct nap_policy p = everything();
	struct nap_req r = make(0x02);

	(void)state;
	r.rq.rq_flags = RQF_SPECIAL_PAYLOAD;
	expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_FIELD);
	r = make(0x02);
	r.rq.cmd_flags = REQ_INTEGRITY;
	expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_FIELD);
	/* The block layer's write-zeroes has a length and no data. */
	r = make_rw(0x08, 0, 7);
	r.rq.data_len = 8 << SHIFT;
	expect(&p, r, 0, NAP_R_OK);
}

static void test_length(void **state)
{
	struct nap_policy p = everything();
	unsigned int i;
	struct nap_req r;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		r = make(known[i].opcode);
		if (!known[i].data) {
			r.rq.nr_segments = 1;	/* data that the command does not have */
			r.rq.data_len = 4096;
			expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
			continue;
		}
		r.rq.write = !known[i].write;
		expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
		r = make(known[i].opcode);
		r.rq.data_len--;
		expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
		r.rq.data_len += 2;
		expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
		r.rq.data_len = 0;
		r.rq.nr_segments = 0;
		expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
	}
}

static void test_length_edges(void **state)
{
	struct nap_policy p = everything();
	struct nap_req r;

	(void)state;
	/* 65536 blocks, and of blocks so large that the length has more than 32 bits and comes out 0 in them. */
	expect_at(&p, make_rw(0x02, 0, 0xffff), 65536, 0, NAP_R_OK);
	r = make_rw(0x02, 0, 0xffff);
	r.rq.data_len = 0;
	{
		enum nap_reason reason;

		assert_int_equal(nap_policy_check(&p, &r, 16, 65536, &reason), MODEL_SC_INVALID_FIELD);
		assert_int_equal(reason, NAP_R_LENGTH);
	}
	/* 2^30 dwords are 2^32 bytes, which are 0 in 32 bits. */
	r = make(0x82);
	r.cmd.common.cdw10 = cpu_to_le32(1u << 30);
	r.rq.data_len = 0;
	expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
	r.rq.nr_segments = 0;
	expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
	r.cmd.common.cdw10 = cpu_to_le32((1u << 30) + 1);
	r.rq.nr_segments = 1;
	r.rq.data_len = 4;
	expect(&p, r, MODEL_SC_INVALID_FIELD, NAP_R_LENGTH);
	r.cmd.common.cdw10 = cpu_to_le32(1);
	expect(&p, r, 0, NAP_R_OK);
	/* No dwords: no data. */
	r = make(0x81);
	r.cmd.common.cdw10 = 0;
	r.rq.nr_segments = 0;
	r.rq.data_len = 0;
	expect(&p, r, 0, NAP_R_OK);
}

static void test_range(void **state)
{
	static const u8 ranged[] = { 0x01, 0x02, 0x05, 0x08, 0x0c };
	struct nap_policy p = everything();
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ranged); i++) {
		u8 o = ranged[i];

		expect(&p, make_rw(o, NBLOCKS - 1, 0), 0, NAP_R_OK);
		expect(&p, make_rw(o, 0, NBLOCKS - 1), 0, NAP_R_OK);
		expect(&p, make_rw(o, NBLOCKS, 0), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect(&p, make_rw(o, NBLOCKS - 1, 1), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect(&p, make_rw(o, 0, NBLOCKS), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect(&p, make_rw(o, UINT64_MAX, 0), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect(&p, make_rw(o, UINT64_MAX - 9, 19), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect(&p, make_rw(o, 1ull << 32, 0), MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect_at(&p, make_rw(o, UINT64_MAX - 1, 0), UINT64_MAX, 0, NAP_R_OK);
		expect_at(&p, make_rw(o, UINT64_MAX, 0), UINT64_MAX, MODEL_SC_LBA_RANGE, NAP_R_RANGE);
		expect_at(&p, make_rw(o, 0, 0), 0, MODEL_SC_LBA_RANGE, NAP_R_RANGE);
	}
	expect_at(&p, make(0x00), 0, 0, NAP_R_OK);	/* a flush of nothing */
}

/* Nothing travels but opcode, the lower nsid and the dwords that the kind of command has. */
static void test_command(void **state)
{
	struct nap_policy p = everything();
	struct nvme_command out;
	unsigned int i, dword;
	struct nap_req r;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const struct known *k = &known[i];
		unsigned int n = k->opcode >= 0x80 ? 6 : k->len == NAP_LEN_RW ? 4 : 0;

		memset(&r, 0xa5, sizeof(r));
		memset(&out, 0x5a, sizeof(out));
		r.cmd.common.opcode = k->opcode;
		nap_policy_command(&p, &r, &out, 0x01020304);
		assert_int_equal(out.bytes[0], k->opcode);
		assert_int_equal(out.common.flags, 0);
		assert_int_equal(out.common.command_id, 0);
		assert_int_equal(le32_to_cpu(out.common.nsid), 0x01020304);
		for (dword = 2; dword < 16; dword++)
			assert_int_equal(out.dw[dword], dword >= 10 && dword < 10 + n ? 0xa5a5a5a5 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	      cmocka_unit_test(test_show),
		cmocka_unit_test(test_every_opcode),  cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_request_kinds), cmocka_unit_test(test_length),
		cmocka_unit_test(test_length_edges),  cmocka_unit_test(test_range),
		cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests_name("kernel_policy", tests, NULL, NULL);
}
