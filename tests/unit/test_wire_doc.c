// SPDX-License-Identifier: BSD-2-Clause
/*
 * The worked example of the specification: the bytes that are printed there are what the decoders take and
 * what the encoders make, and its addresses are those of the layout. Runs from the top of the tree.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "wire_samples.h"

#define DOCUMENT "Documentation/namespace-interface.rst"

/* The claim, the descriptor and the status block, in the order of the text. */
static uint8_t blocks[3][512];

/* A row "  0010  a0 a1 ..." into block; the offset, 512 at the end of a dump, -1 if it is no row. */
static long row(const char *line, uint8_t *block)
{
	unsigned int v[16], i;
	char *rest;
	long at;

	if (strncmp(line, "    ", 4) != 0)
		return -1;
	at = strtol(line + 4, &rest, 16);
	if (rest != line + 8 || at % 16 || at < 0 || at > 512)
		return -1;
	if (at == 512)
		return at;
	if (sscanf(rest, "%2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x", &v[0], &v[1], &v[2],
		   &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12], &v[13], &v[14],
		   &v[15]) != 16)
		return -1;
	for (i = 0; i < 16; i++)
		block[at + i] = (uint8_t)v[i];
	return at;
}

static int read_document(void **state)
{
	unsigned int n = 0, rows = 0;
	char line[512];
	FILE *f = fopen(DOCUMENT, "r");
	long at;

	(void)state;
	if (!f) {
		print_error("%s: not to be read from here\n", DOCUMENT);
		return -1;
	}
	while (n < 3 && fgets(line, sizeof(line), f)) {
		at = row(line, blocks[n]);
		rows += at >= 0;
		n += at == 512;
	}
	fclose(f);
	return n == 3 && rows > 20 ? 0 : -1;
}

static void test_claim(void **state)
{
	struct wire_claim c = { 0 };
	uint8_t again[512];

	(void)state;
	assert_int_equal(wire_claim_decode(&c, blocks[0], 512), WIRE_OK);
	assert_int_equal(c.op, NVME_ACCEL_LEASE_CLAIM);
	assert_int_equal(c.slots_wanted, 16);
	assert_int_equal(c.epoch, 1);
	assert_int_equal(wire_claim_encode(&c, again, 512), WIRE_OK);
	assert_memory_equal(again, blocks[0], 512);
}

static void test_desc(void **state)
{
	struct wire_desc d;
	struct wire_cipher c;
	uint8_t again[512];

	(void)state;
	assert_int_equal(wire_desc_decode(&d, blocks[1], 512), WIRE_OK);
	assert_int_equal(d.nstage, 2);
	assert_int_equal(d.flags, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_OUT_CRC);
	assert_int_equal(d.in_len, 10000);
	assert_int_equal(d.out_max, 16384);
	assert_int_equal(d.stage[0].op, NVME_ACCEL_OP_COMPRESS);
	assert_int_equal(d.stage[0].arg0, 6);
	assert_int_equal(d.stage[0].arg1, 15);
	assert_int_equal(d.stage[1].op, NVME_ACCEL_OP_ENCRYPT);
	assert_int_equal(d.param_len, 36);
	assert_int_equal(wire_cipher_decode(&c, 0, d.stage[1].param, d.stage[1].param_len), WIRE_OK);
	assert_int_equal(c.key_len, 16);
	assert_int_equal(c.iv_len, 12);
	assert_int_equal(c.tag_len, 16);
	assert_int_equal(wire_desc_encode(&d, again, 512), WIRE_OK);
	assert_memory_equal(again, blocks[1], 512);
}

static void test_status(void **state)
{
	struct wire_status st;
	uint8_t again[512];

	(void)state;
	assert_int_equal(wire_status_decode(&st, blocks[2], 512), WIRE_OK);
	assert_int_equal(st.state, NVME_ACCEL_ST_DONE);
	assert_int_equal(st.flags, NVME_ACCEL_SF_OUTPUT_VALID | NVME_ACCEL_SF_OUT_CRC);
	assert_int_equal(st.in_used, 10000);
	assert_int_equal(st.out_len, 3217);
	assert_int_equal(st.exec_ns, 78400);
	assert_memory_equal(st.result[1], st.long_result[1], 16);
	assert_int_equal(wire_status_encode(&st, again, 512), WIRE_OK);
	assert_memory_equal(again, blocks[2], 512);
}

static void test_addresses(void **state)
{
	struct wire_id id = { .nslot = 64, .lbadsx = 9, .winsh = 23, .aliasb = 1, .nlease = 64 };

	(void)state;
	assert_int_equal(wire_layout(&id), WIRE_OK);
	assert_int_equal(id.stats_off, 0x103000);
	assert_int_equal(id.lease_off, 0x108000);
	assert_int_equal(id.slot_off, 0x1000000);
	assert_int_equal(id.nsze, 4229120);
	assert_int_equal(wire_slot_addr(&id, 2, 1, 0), 0x6000000);
	assert_int_equal(wire_slot_addr(&id, 2, 1, 1), 0x6800000);
	assert_int_equal(wire_wait_addr(&id, 2, 1), 0x6c00000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claim),
		cmocka_unit_test(test_desc),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests_name("wire_doc", tests, read_document, NULL);
}
