// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decompression streams on arbitrary bytes: the first byte says format and granularity, the rest is the file.
 * A stream ends with an error or with data; what it gave twice, in different pieces, must be the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <accel/accel.h>

#define MAX_OUT (1u << 20)

static struct accel_dev *device(void)
{
	static struct accel_ctx *ctx;
	static struct accel_dev *dev;

	if (!dev && (accel_ctx_new(NULL, &ctx) || accel_dev_open(ctx, "soft:threads=0,slots=8", &dev)))
		abort();
	return dev;
}

/* Everything that can be read now; negative: the stream's error. */
static ssize_t take(struct accel_stream *s, uint8_t *out, size_t *have)
{
	ssize_t n;

	while ((n = accel_stream_read(s, out + *have, MAX_OUT - *have)) > 0)
		*have += (size_t)n;
	return n;
}

/* 0 and the output, or the error and the output before it. */
static int run(uint16_t alg, const uint8_t *in, size_t n, size_t step, uint8_t *out, size_t *have)
{
	struct accel_stream_opts o = ACCEL_INIT(struct accel_stream_opts);
	struct accel_stream *s;
	size_t off = 0;
	ssize_t rc = 0;

	o.kind = ACCEL_STREAM_DECOMPRESS;
	o.alg = alg;
	o.depth = 2;
	o.max_out = MAX_OUT - 1;
	*have = 0;
	if (accel_stream_open(device(), &o, &s))
		abort();
	while (off < n && rc >= 0) {
		rc = accel_stream_write(s, in + off, step < n - off ? step : n - off);
		if (rc > 0)
			off += (size_t)rc;
		if (rc == -EAGAIN)
			rc = 0;
		if (rc >= 0)
			rc = take(s, out, have);
	}
	if (rc >= 0)
		rc = accel_stream_finish(s);
	rc = take(s, out, have) < 0 && rc >= 0 ? -EBADMSG : rc;
	accel_stream_close(s);
	return rc < 0 ? (int)rc : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint16_t algs[8] = { ACCEL_GZIP, ACCEL_GZIP, ACCEL_GZIP, ACCEL_ZLIB, ACCEL_DEFLATE,
					  ACCEL_LZ4_FRAME, ACCEL_ZSTD, ACCEL_GZIP };
	static uint8_t a[MAX_OUT], b[MAX_OUT];
	size_t na, nb;
	int ra, rb;

	if (n < 1)
		return 0;
	ra = run(algs[data[0] & 7], data + 1, n - 1, n, a, &na);
	rb = run(algs[data[0] & 7], data + 1, n - 1, 1 + (data[0] >> 3) * 7, b, &nb);
	if (!ra != !rb || (!ra && (na != nb || memcmp(a, b, na))))
		abort();
	return 0;
}
