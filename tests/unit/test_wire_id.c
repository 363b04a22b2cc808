// SPDX-License-Identifier: BSD-2-Clause
/*
 * Identify Namespace. Offsets here are the numbers of the specification, written out, so that a slip in the
 * header that encoder and decoder share cannot hide.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct field {
	uint16_t off, size;
	uint64_t value;
};

/* sample_id() as it has to look; what is not named here is zero. */
static const struct field golden[] = {
	{ 0, 8, 6400 },		  /* NSZE */
	{ 8, 8, 6400 },		  /* NCAP */
	{ 16, 8, 6400 },	  /* NUSE */
	{ 46, 2, 128 },		  /* NOIOB */
	{ 104, 8, 0x1716151413121110 }, /* NGUID */
	{ 112, 8, 0x1f1e1d1c1b1a1918 },
	{ 130, 1, 9 },		  /* LBAF0, LBADS */
	{ 384, 8, 0x00534e4c45434341 }, /* "ACCELNS" */
	{ 392, 1, 1 },		  /* IFMAJOR */
	{ 393, 1, 0 },		  /* IFMINOR */
	{ 394, 2, 200 },	  /* HDRLEN */
	{ 400, 2, 9 },		  /* TYPE */
	{ 402, 2, 0x0102 },	  /* SUBTYPE */
	{ 404, 4, 0x01020304 },	  /* IMPLVER */
	{ 408, 8, 0x1716151413121110 }, /* UUID */
	{ 416, 8, 0x1f1e1d1c1b1a1918 },
	{ 424, 8, 0x3736353433323130 }, /* IMPLID */
	{ 432, 8, 0x3f3e3d3c3b3a3938 },
	/* 440, NAME: golden_page() */
	{ 488, 8, 0x13c0f },	  /* FEAT */
	{ 496, 4, 4 },		  /* NSLOT */
	{ 500, 1, 9 },		  /* LBADSX */
	{ 501, 1, 16 },		  /* WINSH */
	{ 502, 1, 1 },		  /* ALIASB */
	{ 503, 1, 4 },		  /* MAXSTAGE */
	{ 504, 4, 2 },		  /* NLEASE */
	{ 508, 4, 1000 },	  /* HOLDMAX */
	{ 512, 8, 65024 },	  /* MAXIN */
	{ 520, 8, 31744 },	  /* MAXOUT */
	{ 528, 4, 100 },	  /* LEASEMIN */
	{ 532, 4, 60000 },	  /* LEASEMAX */
	{ 536, 8, 1048576 },	  /* INFO_OFF */
	{ 544, 8, 1073152 },	  /* LEASE_OFF */
	{ 552, 8, 1060864 },	  /* STATS_OFF */
	{ 560, 8, 1179648 },	  /* SLOT_OFF */
	{ 568, 4, 3 },		  /* NOBJ */
	{ 572, 4, 4096 },	  /* MAXOBJ */
	{ 576, 4, 2 },		  /* NENG */
	{ 580, 4, 8 },		  /* ENGDEPTH */
	{ 584, 8, 0x1122334455667788 }, /* BOOTID */
	{ 592, 1, 1 },		  /* STATE */
	{ 596, 4, 3 },		  /* SLOTS_FREE */
	{ 600, 4, 1700000000 },	  /* BUILD_DATE */
	{ 608, 8, 0x5756555453525150 }, /* SOURCE_ID */
	{ 616, 8, 0x5f5e5d5c5b5a5958 },
	{ 624, 4, 0x63626160 },
	{ 640, 2, 3 },		  /* NOPS */
	{ 642, 2, 64 },		  /* OPSZ */
	{ 704, 2, 1 },		  /* op */
	{ 706, 2, 3 },		  /* alg */
	{ 708, 4, 0xf },	  /* flags */
	{ 712, 4, 1 },		  /* min_in */
	{ 716, 4, 1 },		  /* granule */
	{ 720, 8, 65024 },	  /* max_in */
	{ 728, 8, 31744 },	  /* max_out */
	{ 736, 2, 1 },		  /* align */
	{ 738, 1, 0 },		  /* level_min */
	{ 739, 1, 9 },		  /* level_max */
	{ 744, 4, 300 },	  /* MB/s */
	{ 748, 4, 5000 },	  /* overhead, ns */
	{ 768, 2, 3 },		  /* op */
	{ 770, 2, 1 },
	{ 772, 4, 9 },
	{ 776, 4, 2 },
	{ 780, 4, 64 },
	{ 784, 8, 32768 },
	{ 792, 8, 16384 },
	{ 800, 2, 64 },
	{ 804, 1, 32 },		  /* k_max */
	{ 805, 1, 4 },		  /* m_max */
	{ 808, 4, 6000 },
	{ 812, 4, 900 },
	{ 832, 2, 6 },
	{ 834, 2, 1 },
	{ 836, 4, 0x6 },
	{ 848, 8, 65024 },
	{ 856, 8, 31744 },
	{ 870, 2, 5 },		  /* key_bits_mask */
	{ 872, 4, 4000 },
	{ 876, 4, 700 },
};

static void golden_page(uint8_t *page)
{
	size_t i;

	memset(page, 0, 4096);
	for (i = 0; i < ARRAY_SIZE(golden); i++)
		poke(page, golden[i].off, golden[i].size, golden[i].value);
	memcpy(page + 440, "sample accelerator", 18);
	fix_id(page);
}

static void test_golden(void **state)
{
	struct wire_id id, back;
	uint8_t page[4096], want[4096];

	(void)state;
	sample_id(&id);
	golden_page(want);
	memset(page, 0xee, sizeof(page));
	assert_int_equal(wire_id_encode(&id, page), WIRE_OK);
	assert_memory_equal(page, want, 4096);
	memset(&back, 0xee, sizeof(back));
	assert_int_equal(wire_id_decode(&back, want), WIRE_OK);
	assert_memory_equal(&back, &id, sizeof(id));
	/* The page once as a number that neither made, so that encoder and test cannot drift together. */
	assert_int_equal(slow_crc32c(page, 4096), 0xc5b6cdcb);
}

/* Libraries exist that hand out the vendor area from byte 392 instead of 384: that is no identity. */
static void test_eight_bytes_late(void **state)
{
	struct wire_id id;
	uint8_t page[4096], late[4096] = { 0 };

	(void)state;
	golden_page(page);
	assert_true(wire_id_present(page));
	assert_int_equal(wire_id_decode(&id, page), WIRE_OK);
	assert_int_equal(page[384], 'A');
	memcpy(late, page, 376);
	memcpy(late + 376, page + 384, 4096 - 384);
	assert_false(wire_id_present(late));
	assert_int_equal(wire_id_decode(&id, late), WIRE_MAGIC);
	memset(late, 0, sizeof(late));
	memcpy(late, page, 384);
	memcpy(late + 392, page + 384, 4096 - 392);
	assert_false(wire_id_present(late));
	assert_int_equal(wire_id_decode(&id, late), WIRE_MAGIC);
}

/* A page as it is with one field changed and the checksums right. */
struct bad {
	uint16_t off, size;
	uint64_t value;
	enum wire_err err;
};

static const struct bad bad_fields[] = {
	{ 384, 1, 'a', WIRE_MAGIC },
	{ 391, 1, 1, WIRE_MAGIC },
	{ 392, 1, 0, WIRE_VERSION },
	{ 392, 1, 2, WIRE_VERSION },
	{ 394, 2, 0, WIRE_LENGTH },
	{ 394, 2, 199, WIRE_LENGTH },
	{ 394, 2, 3713, WIRE_LENGTH },
	{ 394, 2, 65535, WIRE_LENGTH },
	{ 400, 2, 0, WIRE_RANGE },
	{ 400, 2, 7, WIRE_RANGE },
	{ 400, 2, 10, WIRE_RANGE },
	{ 400, 2, 0x7ffe, WIRE_RANGE },
	{ 441, 1, 7, WIRE_RANGE },		/* NAME: bell */
	{ 441, 1, 0xe4, WIRE_RANGE },		/* not ASCII */
	{ 470, 1, 'x', WIRE_RANGE },		/* behind its end */
	{ 488, 8, 4, WIRE_RANGE },		/* FEAT: neither inline nor explicit */
	{ 496, 4, 0, WIRE_RANGE },		/* NSLOT */
	{ 496, 4, 65536, WIRE_RANGE },
	{ 496, 4, 5, WIRE_GEOMETRY },		/* reaches into the tail */
	{ 500, 1, 0, WIRE_RANGE },		/* LBADSX */
	{ 500, 1, 8, WIRE_RANGE },
	{ 500, 1, 10, WIRE_RANGE },
	{ 500, 1, 12, WIRE_GEOMETRY },		/* not what LBAF0 says */
	{ 501, 1, 0, WIRE_RANGE },		/* WINSH */
	{ 501, 1, 11, WIRE_RANGE },
	{ 501, 1, 25, WIRE_RANGE },
	{ 501, 1, 255, WIRE_RANGE },
	{ 501, 1, 15, WIRE_GEOMETRY },		/* not what NOIOB says */
	{ 502, 1, 0, WIRE_RANGE },		/* ALIASB */
	{ 502, 1, 4, WIRE_RANGE },
	{ 502, 1, 2, WIRE_GEOMETRY },		/* slots grow beyond the tail */
	{ 503, 1, 0, WIRE_RANGE },		/* MAXSTAGE */
	{ 503, 1, 5, WIRE_RANGE },
	{ 504, 4, 0, WIRE_RANGE },		/* NLEASE */
	{ 504, 4, 1025, WIRE_RANGE },
	{ 504, 4, 100, WIRE_GEOMETRY },		/* reaches into the slots */
	{ 508, 4, 0, WIRE_RANGE },		/* HOLDMAX: WAIT is offered */
	{ 508, 4, 5001, WIRE_RANGE },
	{ 512, 8, 65025, WIRE_GEOMETRY },	/* MAXIN: no room behind the descriptor */
	{ 512, 8, UINT64_MAX, WIRE_GEOMETRY },
	{ 520, 8, 31745, WIRE_GEOMETRY },	/* MAXOUT: reaches the WAIT alias */
	{ 520, 8, UINT64_MAX, WIRE_GEOMETRY },
	{ 528, 4, 0, WIRE_RANGE },		/* LEASEMIN */
	{ 528, 4, 60001, WIRE_RANGE },
	{ 536, 8, 0, WIRE_GEOMETRY },		/* INFO_OFF */
	{ 536, 8, 1052672, WIRE_GEOMETRY },
	{ 536, 8, 1089536, WIRE_GEOMETRY },	/* room there, but nobody would look there */
	{ 544, 8, 1073153, WIRE_GEOMETRY },	/* LEASE_OFF: not a whole page */
	{ 544, 8, 1060864, WIRE_GEOMETRY },	/* on the statistics */
	{ 544, 8, 1069056, WIRE_GEOMETRY },	/* on the last page of them */
	{ 544, 8, 1167360, WIRE_GEOMETRY },	/* its last page on the slots */
	{ 544, 8, 0, WIRE_GEOMETRY },		/* in the head */
	{ 544, 8, 0xfffffffffffff000, WIRE_GEOMETRY },
	{ 552, 8, 1048576, WIRE_GEOMETRY },	/* STATS_OFF: on INFO */
	{ 552, 8, 1056768, WIRE_GEOMETRY },
	{ 552, 8, 1085440, WIRE_GEOMETRY },	/* on the last page of the leases */
	{ 552, 8, 0xfffffffffffff000, WIRE_GEOMETRY },
	{ 560, 8, 1179648 + 65536, WIRE_GEOMETRY }, /* SLOT_OFF: half a window off */
	{ 560, 8, 1179648 + 131072, WIRE_GEOMETRY }, /* reaches into the tail */
	{ 560, 8, 0xfffffffffffe0000, WIRE_GEOMETRY },
	{ 560, 8, 0, WIRE_GEOMETRY },
	{ 592, 1, 5, WIRE_RANGE },		/* STATE */
	{ 593, 1, 1, WIRE_RESERVED },
	{ 595, 1, 0x80, WIRE_RESERVED },
	{ 596, 4, 5, WIRE_RANGE },		/* SLOTS_FREE */
	{ 604, 4, 1, WIRE_RESERVED },
	{ 628, 8, 1, WIRE_RESERVED },
	{ 644, 1, 1, WIRE_RESERVED },
	{ 703, 1, 1, WIRE_RESERVED },
	{ 640, 2, 0, WIRE_OPS },		/* NOPS */
	{ 640, 2, 53, WIRE_OPS },
	{ 640, 2, 4, WIRE_OPS },		/* an entry of zeros */
	{ 642, 2, 32, WIRE_OPS },		/* OPSZ */
	{ 704, 2, 0, WIRE_OPS },		/* op */
	{ 704, 2, 18, WIRE_OPS },
	{ 708, 4, 0x10, WIRE_OPS },		/* may stand nowhere */
	{ 708, 4, 0x4f, WIRE_OPS },		/* unknown flag */
	{ 712, 4, 65025, WIRE_OPS },		/* min_in above max_in */
	{ 720, 8, 65025, WIRE_OPS },		/* max_in above MAXIN */
	{ 728, 8, 31745, WIRE_OPS },		/* max_out above MAXOUT */
	{ 736, 2, 3, WIRE_OPS },		/* align */
	{ 738, 1, 10, WIRE_OPS },		/* level_min above level_max */
	{ 752, 1, 1, WIRE_OPS },		/* reserved */
	{ 767, 1, 1, WIRE_OPS },
	{ 768, 4, 0x00030001, WIRE_OPS },	/* the first entry's op and alg once more */
	{ 870, 2, 0x10, WIRE_OPS },		/* key_bits_mask */
	{ 0, 8, 6399, WIRE_GEOMETRY },		/* NSZE: cuts the tail */
	{ 0, 8, 0, WIRE_GEOMETRY },
	{ 0, 8, 1ull << 54, WIRE_GEOMETRY },	/* bytes no longer fit a signed number */
	{ 0, 8, UINT64_MAX, WIRE_GEOMETRY },
	{ 26, 1, 1, WIRE_GEOMETRY },		/* FLBAS: a format that is not there */
	{ 26, 1, 0x2f, WIRE_GEOMETRY },
	{ 29, 1, 1, WIRE_GEOMETRY },		/* protection information */
	{ 46, 2, 0, WIRE_GEOMETRY },		/* NOIOB */
	{ 46, 2, 64, WIRE_GEOMETRY },
	{ 128, 2, 8, WIRE_GEOMETRY },		/* metadata */
	{ 130, 1, 12, WIRE_GEOMETRY },		/* LBADS */
};

static void test_bad_fields(void **state)
{
	struct wire_id id;
	uint8_t *page = malloc(4096);
	size_t i;

	(void)state;
	assert_non_null(page);
	for (i = 0; i < ARRAY_SIZE(bad_fields); i++) {
		const struct bad *b = &bad_fields[i];
		enum wire_err err;

		golden_page(page);
		poke(page, b->off, b->size, b->value);
		fix_id(page);
		err = wire_id_decode(&id, page);
		if (err != b->err)
			fail_msg("byte %u = %#llx: %s, not %s", b->off, (unsigned long long)b->value,
				 wire_err_str(err), wire_err_str(b->err));
	}
	free(page);
}

/* What a later minor version may do without being locked out. */
static void test_higher_minor(void **state)
{
	struct wire_id id;
	uint8_t page[4096];

	(void)state;
	golden_page(page);
	page[393] = 7;
	poke(page, 394, 2, 512);	/* a longer header */
	poke(page, 400, 2, 10);		/* a type that we do not know */
	poke(page, 488, 8, 0xff00000000013c0f);
	page[593] = page[604] = page[630] = page[650] = 1;
	poke(page, 704, 2, 18);		/* an operation that we do not know */
	poke(page, 708, 4, 0x4f);
	page[752] = 1;
	fix_id(page);
	assert_int_equal(wire_id_decode(&id, page), WIRE_OK);
	assert_int_equal(id.ifminor, 7);
	assert_int_equal(id.type, 10);
	assert_true(id.feat == 0xff00000000013c0f);
	assert_int_equal(id.ops[0].op, 18);
}

/* Another block format than the first may be the one in use. */
static void test_other_format(void **state)
{
	struct wire_id id;
	uint8_t page[4096];

	(void)state;
	golden_page(page);
	page[25] = 17;
	page[26] = 0x21;	/* format 17 */
	page[130] = 12;
	page[128 + 4 * 17 + 2] = 9;
	assert_int_equal(wire_id_decode(&id, page), WIRE_OK);
	page[26] = 0;
	assert_int_equal(wire_id_decode(&id, page), WIRE_GEOMETRY);
}

static void test_wrong_checksums(void **state)
{
	struct wire_id id;
	uint8_t page[4096];

	(void)state;
	golden_page(page);
	page[396] ^= 1;
	assert_int_equal(wire_id_decode(&id, page), WIRE_CRC);
	golden_page(page);
	page[636] ^= 1;
	assert_int_equal(wire_id_decode(&id, page), WIRE_OPS);
	/* Another major version may keep its checksum elsewhere: it is told apart before. */
	golden_page(page);
	page[392] = 2;
	assert_int_equal(wire_id_decode(&id, page), WIRE_VERSION);
}

/* The encoder refuses what the decoder would. */
static void test_encoder_refuses(void **state)
{
	struct wire_id id;
	uint8_t page[4096];

	(void)state;
	sample_id(&id);
	id.ifmajor = 2;
	assert_int_equal(wire_id_encode(&id, page), WIRE_VERSION);
	sample_id(&id);
	id.maxstage = 5;
	assert_int_equal(wire_id_encode(&id, page), WIRE_RANGE);
	sample_id(&id);
	id.slot_off += 4096;
	assert_int_equal(wire_id_encode(&id, page), WIRE_GEOMETRY);
	sample_id(&id);
	id.nops = 53;
	assert_int_equal(wire_id_encode(&id, page), WIRE_OPS);
	sample_id(&id);
	id.ops[1] = id.ops[0];
	assert_int_equal(wire_id_encode(&id, page), WIRE_OPS);
}

static void test_round_trip(void **state)
{
	static struct wire_id id, back;
	uint8_t *at = malloc(4096 + 7);
	uint64_t s = 11;
	int i;

	(void)state;
	assert_non_null(at);
	for (i = 0; i < 3000; i++) {
		uint8_t *page = at + i % 8;	/* also where no number is aligned, up to the very end */

		random_id(&s, &id);
		assert_int_equal(wire_id_encode(&id, page), WIRE_OK);
		memset(&back, 0x5a, sizeof(back));
		assert_int_equal(wire_id_decode(&back, page), WIRE_OK);
		assert_memory_equal(&back, &id, sizeof(id));
	}
	free(at);
}

/* One bit wrong: refused in the header; elsewhere refused or without effect on what addresses are made of. */
static void test_every_bit(void **state)
{
	static struct wire_id good, id;
	uint8_t page[4096];
	size_t bit;

	(void)state;
	golden_page(page);
	assert_int_equal(wire_id_decode(&good, page), WIRE_OK);
	for (bit = 0; bit < 4096 * 8; bit++) {
		size_t at = bit / 8;
		enum wire_err err;

		page[at] ^= (uint8_t)(1 << bit % 8);
		err = wire_id_decode(&id, page);
		if (at >= 384 && at < 584)
			assert_int_not_equal(err, WIRE_OK);
		if (at >= 704 && at < 704 + 3 * 64)
			assert_int_equal(err, WIRE_OPS);
		if (err == WIRE_OK) {
			assert_true(id.nsze >= good.nsze);
			assert_true(id.slot_off == good.slot_off && id.lease_off == good.lease_off);
			assert_true(id.winsh == good.winsh && id.lbadsx == good.lbadsx);
			assert_memory_equal(id.ops, good.ops, sizeof(id.ops));
		}
		page[at] ^= (uint8_t)(1 << bit % 8);
	}
}

static void test_update(void **state)
{
	struct wire_id id;
	uint8_t page[4096];

	(void)state;
	golden_page(page);
	wire_id_update(page, 0xfedcba9876543210, NVME_ACCEL_DEV_DEGRADED, 1);
	assert_true(peek(page, 584, 8) == 0xfedcba9876543210);
	assert_int_equal(page[592], 2);
	assert_int_equal(peek(page, 596, 4), 1);
	assert_int_equal(wire_id_decode(&id, page), WIRE_OK);
	assert_true(id.bootid == 0xfedcba9876543210);
	assert_int_equal(id.state, 2);
	assert_int_equal(id.slots_free, 1);
}

/* Blocks of zeros, of ones and of noise are no identity. */
static void test_other_pages(void **state)
{
	struct wire_id id;
	uint8_t page[4096] = { 0 };
	uint64_t s = 12;
	int i;

	(void)state;
	assert_int_equal(wire_id_decode(&id, page), WIRE_MAGIC);
	memset(page, 0xff, sizeof(page));
	assert_int_equal(wire_id_decode(&id, page), WIRE_MAGIC);
	for (i = 0; i < 100; i++) {
		rnd_bytes(&s, page, sizeof(page));
		assert_int_equal(wire_id_decode(&id, page), WIRE_MAGIC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_eight_bytes_late),
		cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_higher_minor),
		cmocka_unit_test(test_other_format),
		cmocka_unit_test(test_wrong_checksums),
		cmocka_unit_test(test_encoder_refuses),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_other_pages),
	};

	return cmocka_run_group_tests_name("wire_id", tests, NULL, NULL);
}
