// SPDX-License-Identifier: BSD-2-Clause
/* The thin layer: the interface spoken by hand, from a claim to a job's output. */
#include "api_util.h"

static void test_checks(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=0");
	static uint8_t page[8192];
	struct iovec v[2] = { { page, 512 }, { page + 512, 100 } };
	uint16_t sc = 7;

	(void)state;
	assert_int_equal(accel_raw_read(dev, 0, v, 1, 1000, &sc), 0);
	assert_int_equal(sc, 0);
	assert_int_equal(accel_raw_read(dev, 0, v, 2, 1000, &sc), -EINVAL);	/* not whole blocks */
	assert_int_equal(accel_raw_read(dev, 100, v, 1, 1000, &sc), -EINVAL);
	v[1].iov_len = 0;
	assert_int_equal(accel_raw_read(dev, 0, v + 1, 1, 1000, &sc), -EINVAL);
	assert_int_equal(accel_raw_read(dev, 0, v, 0, 1000, &sc), -EINVAL);
	assert_int_equal(accel_raw_read(dev, 0, NULL, 1, 1000, &sc), -EINVAL);
	assert_int_equal(accel_raw_read(dev, 0, v, 1, 1000, NULL), -EINVAL);
	assert_int_equal(accel_raw_read(NULL, 0, v, 1, 1000, &sc), -EINVAL);
	assert_int_equal(accel_raw_read(dev, 0, v, 1, -2, &sc), -EINVAL);
	/* The quiet head cannot be written: Invalid Field, do not retry. Beyond the end: LBA Out of Range. */
	assert_int_equal(accel_raw_write(dev, 0, v, 1, 1000, &sc), 0);
	assert_int_equal(sc, 0x4002);
	assert_int_equal(accel_raw_read(dev, 1ull << 50, v, 1, 1000, &sc), 0);
	assert_int_equal(sc, 0x4080);
	assert_int_equal(accel_raw_identify(dev, page), 0);
	assert_memory_equal(page + 384, "ACCELNS", 8);
	/* The same bytes are readable at 1 MiB. */
	v[0].iov_len = 4096;
	v[0].iov_base = page + 4096;
	assert_int_equal(accel_raw_read(dev, 1 << 20, v, 1, 1000, &sc), 0);
	assert_memory_equal(page, page + 4096, 4096);
	assert_int_equal(accel_raw_identify(dev, NULL), -EINVAL);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_crc(void **state)
{
	(void)state;
	assert_int_equal(accel_raw_crc32c(0, "123456789", 9), CRC_DIGITS);
	assert_int_equal(accel_raw_crc32c(accel_raw_crc32c(0, "1234", 4), "56789", 5), CRC_DIGITS);
	assert_int_equal(accel_raw_crc32c(0, NULL, 0), 0);
	assert_int_equal(accel_raw_crc32c(7, NULL, 0), 7);
}

static void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* A claim as the interface's document describes it, byte by byte. */
static void by_hand_claim(struct accel_dev *dev, uint64_t lease_off, uint32_t *epoch, uint32_t *slot,
			  const uint8_t nonce[16])
{
	static uint8_t page[4096], claim[512];
	struct iovec v = { page, 4096 }, c = { claim, 512 };
	uint16_t sc;

	assert_int_equal(accel_raw_read(dev, lease_off, &v, 1, 1000, &sc), 0);
	assert_memory_equal(page, "ALSE", 4);
	assert_int_equal(page[5], 0);
	*epoch = get32(page + 8);
	memset(claim, 0, sizeof(claim));
	memcpy(claim, "ACLM", 4);
	claim[4] = 1;
	memcpy(claim + 8, "claimid!", 8);
	memcpy(claim + 16, nonce, 16);
	memcpy(claim + 48, "by hand", 7);
	put32(claim + 80, 2);
	put32(claim + 84, 1);
	put32(claim + 92, *epoch);
	put32(claim + 124, accel_raw_crc32c(0, claim, 124));
	assert_int_equal(accel_raw_write(dev, lease_off, &c, 1, 1000, &sc), 0);
	assert_int_equal(sc, 0);
	assert_int_equal(accel_raw_read(dev, lease_off, &v, 1, 1000, &sc), 0);
	assert_int_equal(page[5], 1);
	assert_memory_equal(page + 16, "claimid!", 8);
	*epoch = get32(page + 8);
	*slot = get32(page + 80);
}

static void test_by_hand(void **state)
{
	static const uint8_t nonce[16] = "0123456789abcde";
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	static uint8_t id[4096], wr[1024], rd[1024];
	struct iovec vw[2] = { { wr, 512 }, { wr + 512, 512 } }, vr = { rd, 1024 };
	struct accel_desc d = { 0 }, back;
	struct accel_status_block sb;
	uint32_t epoch, slot;
	uint64_t lease_off;
	uint16_t sc;

	(void)state;
	assert_int_equal(accel_raw_identify(dev, id), 0);
	lease_off = get64(id + 544);
	by_hand_claim(dev, lease_off, &epoch, &slot, nonce);
	d.flags = ACCEL_DESC_START;
	d.nstage = 1;
	d.seq = 1;
	memcpy(d.nonce, nonce, 16);
	d.epoch = epoch;
	d.cookie = 0x1122334455667788;
	d.in_len = d.out_max = 9;
	d.stage[0].op = ACCEL_OP_COPY;
	memcpy(wr + 512, "123456789", 9);
	assert_int_equal(accel_desc_encode(&d, wr, 512), 0);
	assert_int_equal(accel_desc_decode(&back, wr, 512), 0);
	assert_int_equal(back.cookie, d.cookie);
	assert_int_equal(back.stage[0].op, ACCEL_OP_COPY);
	assert_int_equal(accel_raw_write(dev, accel_raw_window(dev, slot, 1, ACCEL_WINDOW_WRITE), vw, 2, 1000, &sc),
			 0);
	assert_int_equal(sc, 0);
	assert_int_equal(accel_raw_read(dev, accel_raw_window(dev, slot, 1, ACCEL_WINDOW_WAIT), &vr, 1, 5000, &sc),
			 0);
	assert_int_equal(sc, 0);
	assert_int_equal(accel_status_decode(&sb, rd, 512), 0);
	assert_int_equal(sb.state, 5);
	assert_int_equal(sb.code, 0);
	assert_int_equal(sb.seq, 1);
	assert_int_equal(sb.cookie, d.cookie);
	assert_int_equal(sb.out_len, 9);
	assert_memory_equal(rd + 512, "123456789\0\0", 11);
	assert_int_equal(accel_raw_window(dev, 1000000, 1, ACCEL_WINDOW_READ), UINT64_MAX);
	assert_int_equal(accel_raw_window(dev, 0, 1, (enum accel_window)9), UINT64_MAX);
	/* A held read that is not answered in time: the time is kept, and the buffer is ours again. */
	assert_int_equal(accel_raw_read(dev, accel_raw_window(dev, slot, 2, ACCEL_WINDOW_WAIT), &vr, 1, 20, &sc),
			 -ETIMEDOUT);
	assert_int_equal(accel_raw_read(dev, 0, &vr, 1, 1000, &sc), 0);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_codec(void **state)
{
	static uint8_t block[4096], params[300];
	struct accel_desc d = { 0 }, back;
	struct accel_status_block sb;
	unsigned int i;

	(void)state;
	d.nstage = 2;
	d.flags = ACCEL_DESC_START | ACCEL_DESC_VERIFY;
	d.seq = 77;
	d.stage[0].op = ACCEL_OP_COMPRESS;
	d.stage[0].alg = ACCEL_DEFLATE;
	d.stage[1].op = ACCEL_OP_ENCRYPT;
	d.stage[1].alg = ACCEL_AES_GCM;
	d.stage[1].param = params;
	d.stage[1].param_len = 200;
	memset(params, 0x3c, sizeof(params));
	assert_int_equal(accel_desc_encode(&d, block, 512), 0);
	assert_int_equal(accel_desc_decode(&back, block, 512), 0);
	assert_int_equal(back.nstage, 2);
	assert_int_equal(back.stage[1].param_len, 200);
	assert_memory_equal(back.stage[1].param, params, 200);
	for (i = 0; i < 456; i++) {
		block[i] ^= 0x10;
		assert_true(accel_desc_decode(&back, block, 512) < 0);
		block[i] ^= 0x10;
	}
	d.stage[1].param_len = 257;
	assert_int_equal(accel_desc_encode(&d, block, 512), -E2BIG);
	assert_int_equal(accel_desc_encode(&d, block, 4096), 0);
	assert_int_equal(accel_desc_encode(&d, block, 1024), -EINVAL);
	d.stage[1].param = NULL;
	assert_int_equal(accel_desc_encode(&d, block, 4096), -EINVAL);
	d.nstage = 5;
	assert_int_equal(accel_desc_encode(&d, block, 512), -EINVAL);
	assert_int_equal(accel_desc_encode(NULL, block, 512), -EINVAL);
	assert_int_equal(accel_desc_encode(&d, NULL, 512), -EINVAL);
	memset(block, 0, sizeof(block));
	assert_int_equal(accel_desc_decode(&back, block, 512), -EBADMSG);
	assert_int_equal(accel_status_decode(&sb, block, 512), -EBADMSG);
	assert_int_equal(accel_status_decode(&sb, block, 100), -EINVAL);
	assert_int_equal(accel_status_decode(NULL, block, 512), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_codec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
