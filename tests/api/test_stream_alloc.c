// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every allocation of a use of streams, plans and one-line calls fails once: the call says so or does
 * without, nothing leaks and nothing is wrong in silence. See test_soft_alloc.c for the rest.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include "stream_util.h"

static __thread long countdown = -1; /* allocations until one fails; -1: none does */
static __thread int hit;

static int fails(void)
{
	if (countdown < 0)
		return 0;
	if (countdown-- > 0)
		return 0;
	hit = 1;
	errno = ENOMEM;
	return 1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void *__interceptor_malloc(size_t n);
void *__interceptor_calloc(size_t n, size_t size);
#define REAL(name) __interceptor_##name
#else
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
#define REAL(name) __libc_##name
#endif

void *malloc(size_t n)
{
	return fails() ? NULL : REAL(malloc)(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : REAL(calloc)(n, size);
}

#define N 30000
static uint8_t in[N], packed[2 * N], out[N];

/* All of from through a stream to to; its length or an error. No allocation of our own. */
static int through(struct accel_dev *dev, uint16_t kind, uint16_t alg, const void *from, size_t n, void *to,
		   size_t max)
{
	struct accel_stream_opts o = ACCEL_INIT(struct accel_stream_opts);
	struct accel_stream *s;
	size_t at = 0, len = 0;
	ssize_t k = 0;
	int err;

	o.kind = kind;
	o.alg = alg;
	o.chunk_nbytes = kind == ACCEL_STREAM_COMPRESS ? 8192 : 0;
	o.name = "name";
	err = accel_stream_open(dev, &o, &s);
	if (err)
		return err;
	while (at < n && k >= 0) {
		k = accel_stream_write(s, (const uint8_t *)from + at, n - at);
		at += k > 0 ? (size_t)k : 0;
		if (k == -EAGAIN || k > 0)
			k = accel_stream_read(s, (uint8_t *)to + len, max - len);
		len += k > 0 ? (size_t)k : 0;
	}
	if (k >= 0)
		accel_stream_finish(s);
	while ((k = accel_stream_read(s, (uint8_t *)to + len, max - len)) > 0)
		len += (size_t)k;
	accel_stream_close(s);
	return k < 0 ? (int)k : (int)len;
}

static int stream_use(struct accel_dev *dev, uint16_t alg)
{
	int n = through(dev, ACCEL_STREAM_COMPRESS, alg, in, N, packed, sizeof(packed)), m;

	if (n < 0)
		return n;
	memset(out, 0, N);
	m = through(dev, ACCEL_STREAM_DECOMPRESS, alg, packed, (size_t)n, out, N);
	if (m < 0)
		return m;
	return m == N && !memcmp(in, out, N) ? 0 : -EPROTO;
}

static int oneline_use(struct accel_dev *dev)
{
	uint8_t digest[32], tag[16], key[16] = { 1 };
	size_t n = sizeof(packed), m = N;
	uint32_t crc;
	int err = accel_compress(dev, ACCEL_GZIP, 1, in, N, packed, &n, 20000);

	if (!err)
		err = accel_decompress(dev, ACCEL_GZIP, packed, n, out, &m, 20000);
	if (!err && (m != N || memcmp(in, out, N)))
		return -EPROTO;
	if (!err)
		err = accel_sha256(dev, in, N, digest, 20000);
	if (!err)
		err = accel_crc32c(dev, "123456789", 9, &crc, 20000);
	if (!err && crc != CRC_DIGITS)
		return -EPROTO;
	if (!err)
		err = accel_aes_gcm_seal(dev, key, 16, key, NULL, 0, in, N, packed, tag, 20000);
	if (!err)
		err = accel_aes_gcm_open(dev, key, 16, key, NULL, 0, packed, N, tag, out, 20000);
	return err ? err : memcmp(in, out, N) ? -EPROTO : 0;
}

static int whole_use(uint16_t alg)
{
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	int err = accel_ctx_new(NULL, &ctx);

	if (err)
		return err;
	err = accel_dev_open(ctx, "soft:threads=0,slots=8", &dev);
	if (!err) {
		err = alg ? stream_use(dev, alg) : oneline_use(dev);
		accel_dev_close(dev);
	}
	accel_ctx_unref(ctx);
	return err;
}

static void loop(uint16_t alg)
{
	long n;
	int err = 0;

	fill_text(in, N);
	for (n = 0; n < 3000; n++) {
		hit = 0;
		countdown = n;
		err = whole_use(alg);
		countdown = -1;
		if (!hit)
			break;
		if (err && err != -ENOMEM)
			print_error("%u: allocation %ld: %d\n", alg, n, err);
		assert_true(err == 0 || err == -ENOMEM);
	}
	assert_int_equal(err, 0);
	assert_true(n > 10 && n < 3000);
}

static void test_gzip(void **state)
{
	(void)state;
	loop(ACCEL_GZIP);
}

static void test_zlib(void **state)
{
	(void)state;
	loop(ACCEL_ZLIB);
}

static void test_zstd(void **state)
{
	(void)state;
	loop(ACCEL_ZSTD);
}

static void test_oneline(void **state)
{
	(void)state;
	loop(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_oneline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
