// SPDX-License-Identifier: BSD-2-Clause
/* Job descriptors. Offsets are the specification's numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t iv[12] = "twelve bytes", key[16] = "0123456789abcdef";

static void sample_desc(struct wire_desc *d)
{
	memset(d, 0, sizeof(*d));
	d->flags = NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_IN_CRC | NVME_ACCEL_JOB_OUT_CRC;
	d->seq = 0x0102030405060708;
	sample_bytes(d->nonce, 16, 0x70);
	d->lease = 3;
	d->epoch = 7;
	d->cookie = 0xc00c1ec00c1e;
	d->in_len = 65000;
	d->out_max = 30000;
	d->stream = 0x1112131415161718;
	d->chunk = 0x21222324;
	d->in_crc = 0x31323334;
	d->limit_ms = 500;
	d->priority = 2;
	d->param_len = 28;
	d->nstage = 2;
	d->stage[0] = (struct job_stage){ .op = 1, .alg = 3, .flags = 1, .object = 0x41424344, .arg0 = 6,
					  .arg1 = 15, .param = iv, .param_len = 12 };
	d->stage[1] = (struct job_stage){ .op = 6, .alg = 1, .arg0 = 9, .arg1 = 0x5152535455565758,
					  .param = key, .param_len = 16 };
}

static void golden_desc(uint8_t *b, size_t len)
{
	memset(b, 0, len);
	memcpy(b, "AJD1", 4);
	b[4] = 1;			/* version */
	b[5] = 2;			/* stages */
	poke(b, 6, 2, 0x19);		/* flags */
	poke(b, 8, 8, 0x0102030405060708); /* seq */
	sample_bytes(b + 16, 16, 0x70); /* nonce */
	poke(b, 32, 4, 3);		/* lease */
	poke(b, 36, 4, 7);		/* epoch */
	poke(b, 40, 8, 0xc00c1ec00c1e); /* cookie */
	poke(b, 48, 8, 65000);		/* in_len */
	poke(b, 56, 8, 30000);		/* out_max */
	poke(b, 64, 8, 0x1112131415161718); /* stream */
	poke(b, 72, 4, 0x21222324);	/* chunk */
	poke(b, 80, 4, 0x31323334);	/* CRC of the input */
	poke(b, 84, 4, 500);		/* limit_ms */
	poke(b, 88, 2, 28);		/* bytes of parameters */
	poke(b, 90, 2, 2);		/* priority */
	poke(b, 96, 2, 1);		/* stage 0: op */
	poke(b, 98, 2, 3);		/* alg */
	poke(b, 100, 4, 1);		/* flags */
	poke(b, 104, 4, 0x41424344);	/* object */
	poke(b, 108, 4, 6);		/* arg0 */
	poke(b, 112, 8, 15);		/* arg1 */
	poke(b, 120, 2, 0);		/* parameters: from */
	poke(b, 122, 2, 12);		/* length */
	poke(b, 128, 2, 6);		/* stage 1 */
	poke(b, 130, 2, 1);
	poke(b, 140, 4, 9);
	poke(b, 144, 8, 0x5152535455565758);
	poke(b, 152, 2, 12);
	poke(b, 154, 2, 16);
	memcpy(b + 256, "twelve bytes0123456789abcdef", 28);
	fix_desc(b, len);
}

static void assert_same_stage(const struct job_stage *a, const struct job_stage *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->alg, b->alg);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->object, b->object);
	assert_int_equal(a->arg0, b->arg0);
	assert_true(a->arg1 == b->arg1);
	assert_int_equal(a->param_len, b->param_len);
	if (a->param_len)
		assert_memory_equal(a->param, b->param, a->param_len);
}

/* Equal but for where the parameters lie, and those by their bytes. */
static void assert_same(const struct wire_desc *a, const struct wire_desc *b)
{
	unsigned int i;

	assert_int_equal(a->flags, b->flags);
	assert_true(a->seq == b->seq && a->cookie == b->cookie && a->stream == b->stream);
	assert_memory_equal(a->nonce, b->nonce, sizeof(a->nonce));
	assert_int_equal(a->lease, b->lease);
	assert_int_equal(a->epoch, b->epoch);
	assert_true(a->in_len == b->in_len && a->out_max == b->out_max);
	assert_int_equal(a->chunk, b->chunk);
	assert_int_equal(a->in_crc, b->in_crc);
	assert_int_equal(a->limit_ms, b->limit_ms);
	assert_int_equal(a->priority, b->priority);
	assert_int_equal(a->param_len, b->param_len);
	assert_int_equal(a->nstage, b->nstage);
	for (i = 0; i < 4; i++)
		assert_same_stage(&a->stage[i], &b->stage[i]);
}

static void test_golden(void **state)
{
	static const size_t lens[] = { 512, 4096 };
	struct wire_desc d, back;
	uint8_t want[4096], got[4096];
	size_t i;

	(void)state;
	sample_desc(&d);
	for (i = 0; i < 2; i++) {
		golden_desc(want, lens[i]);
		memset(got, 0xee, sizeof(got));
		assert_int_equal(wire_desc_encode(&d, got, lens[i]), WIRE_OK);
		assert_memory_equal(got, want, lens[i]);
		assert_true(i || got[512] == 0xee);
		memset(&back, 0, sizeof(back));
		assert_int_equal(wire_desc_decode(&back, want, lens[i]), WIRE_OK);
		assert_same(&back, &d);
		assert_ptr_equal(back.stage[0].param, want + 256);
		assert_ptr_equal(back.stage[1].param, want + 268);
	}
}

static const struct {
	uint16_t off, size;
	uint64_t value;
	enum wire_err err;
} bad[] = {
	{ 0, 1, 'a', WIRE_MAGIC },
	{ 3, 1, '2', WIRE_MAGIC },
	{ 4, 1, 0, WIRE_VERSION },
	{ 4, 1, 2, WIRE_VERSION },
	{ 5, 1, 0, WIRE_LENGTH },		/* no stage */
	{ 5, 1, 5, WIRE_LENGTH },
	{ 5, 1, 255, WIRE_LENGTH },
	{ 5, 1, 1, WIRE_RESERVED },		/* a stage that is not counted */
	{ 5, 1, 3, WIRE_RANGE },		/* a stage without an operation */
	{ 6, 2, 0x2001, WIRE_RESERVED },	/* flags */
	{ 6, 2, 0x8001, WIRE_RESERVED },
	{ 8, 8, 0, WIRE_RANGE },		/* seq */
	{ 76, 4, 1, WIRE_RESERVED },
	{ 88, 2, 257, WIRE_LENGTH },		/* more parameters than the block holds */
	{ 88, 2, 65535, WIRE_LENGTH },
	{ 88, 2, 27, WIRE_LENGTH },		/* fewer than the stages use */
	{ 88, 2, 0, WIRE_LENGTH },
	{ 92, 4, 1, WIRE_RESERVED },
	{ 96, 2, 0, WIRE_RANGE },		/* op */
	{ 100, 4, 4, WIRE_RESERVED },		/* stage flags */
	{ 103, 1, 0x80, WIRE_RESERVED },
	{ 120, 2, 17, WIRE_LENGTH },		/* parameters that reach past the end */
	{ 120, 2, 29, WIRE_LENGTH },
	{ 120, 2, 65535, WIRE_LENGTH },
	{ 122, 2, 29, WIRE_LENGTH },
	{ 122, 2, 65535, WIRE_LENGTH },
	{ 152, 4, 0xffffffff, WIRE_LENGTH },
	{ 124, 4, 1, WIRE_RESERVED },
	{ 160, 1, 1, WIRE_RESERVED },		/* stages that are not used */
	{ 223, 1, 1, WIRE_RESERVED },
	{ 224, 1, 1, WIRE_RESERVED },
	{ 251, 1, 1, WIRE_RESERVED },
};

static void test_bad_fields(void **state)
{
	struct wire_desc d;
	uint8_t *b = malloc(512);
	size_t i;

	(void)state;
	assert_non_null(b);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		enum wire_err err;

		golden_desc(b, 512);
		poke(b, bad[i].off, bad[i].size, bad[i].value);
		fix_desc(b, 512);
		err = wire_desc_decode(&d, b, 512);
		if (err != bad[i].err)
			fail_msg("byte %u = %#llx: %s, not %s", bad[i].off, (unsigned long long)bad[i].value,
				 wire_err_str(err), wire_err_str(bad[i].err));
	}
	golden_desc(b, 512);
	b[252] ^= 1;
	assert_int_equal(wire_desc_decode(&d, b, 512), WIRE_CRC);
	golden_desc(b, 512);
	b[283] ^= 1;	/* the last byte of the parameters */
	assert_int_equal(wire_desc_decode(&d, b, 512), WIRE_CRC);
	free(b);
}

static void test_block_sizes(void **state)
{
	struct wire_desc d;
	uint8_t b[4096] = { 0 };
	size_t n;

	(void)state;
	sample_desc(&d);
	for (n = 0; n <= 4096; n += n == 511 || n == 512 || n >= 4094 ? 1 : 73) {
		enum wire_err want = n == 512 || n == 4096 ? WIRE_OK : WIRE_LENGTH;

		assert_int_equal(wire_desc_encode(&d, b, n), want);
		golden_desc(b, 4096);
		assert_int_equal(wire_desc_decode(&d, b, n), want);
		sample_desc(&d);
	}
}

/* An abort names a job and nothing else; it may also be the job's own descriptor once more. */
static void test_abort(void **state)
{
	struct wire_desc d, back;
	uint8_t b[512];

	(void)state;
	memset(&d, 0, sizeof(d));
	d.seq = 5;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_LENGTH);
	d.flags = NVME_ACCEL_JOB_ABORT;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_OK);
	assert_int_equal(wire_desc_decode(&back, b, 512), WIRE_OK);
	assert_same(&back, &d);
	sample_desc(&d);
	d.flags |= NVME_ACCEL_JOB_ABORT;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_OK);
	assert_int_equal(wire_desc_decode(&back, b, 512), WIRE_OK);
	assert_same(&back, &d);
}

static void test_encoder_refuses(void **state)
{
	struct wire_desc d;
	uint8_t b[512], params[4096] = { 0 };

	(void)state;
	sample_desc(&d);
	d.nstage = 5;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_LENGTH);
	sample_desc(&d);
	d.flags = 0x2000;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_RESERVED);
	sample_desc(&d);
	d.seq = 0;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_RANGE);
	sample_desc(&d);
	d.stage[1].op = 0;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_RANGE);
	sample_desc(&d);
	d.stage[1].flags = 4;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_RESERVED);
	sample_desc(&d);
	d.stage[1].param = params;
	d.stage[1].param_len = 256 - 12;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_OK);
	d.stage[1].param_len++;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_LENGTH);
	d.stage[1].param_len = UINT32_MAX;
	assert_int_equal(wire_desc_encode(&d, b, 512), WIRE_LENGTH);
}

static void test_round_trip(void **state)
{
	struct wire_desc d, back;
	uint8_t params[4096], *buf = malloc(4096 + 512 + 7);
	uint64_t s = 41;
	int i;

	(void)state;
	assert_non_null(buf);
	for (i = 0; i < 20000; i++) {
		size_t len = i & 1 ? 512 : 4096;
		uint8_t *b = buf + i % 8 + 4096 + 512 - 8 - len + 8;

		random_desc(&s, &d, params, len - 256);
		assert_int_equal(wire_desc_encode(&d, b, len), WIRE_OK);
		memset(&back, 0, sizeof(back));
		assert_int_equal(wire_desc_decode(&back, b, len), WIRE_OK);
		assert_same(&back, &d);
	}
	free(buf);
}

/* One bit wrong is refused wherever a bit has a meaning, and harmless behind the parameters. */
static void test_every_bit(void **state)
{
	struct wire_desc good = { 0 }, d;
	uint8_t b[512];
	size_t bit;

	(void)state;
	golden_desc(b, 512);
	assert_int_equal(wire_desc_decode(&good, b, 512), WIRE_OK);
	for (bit = 0; bit < 512 * 8; bit++) {
		enum wire_err err;

		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memset(&d, 0, sizeof(d));
		err = wire_desc_decode(&d, b, 512);
		assert_true((err == WIRE_OK) == (bit / 8 >= 256 + 28));
		if (err == WIRE_OK)
			assert_same(&d, &good);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_block_sizes), cmocka_unit_test(test_abort),
		cmocka_unit_test(test_encoder_refuses), cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_bit),
	};

	return cmocka_run_group_tests_name("wire_desc", tests, NULL, NULL);
}
