/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses standard input (at most 64 MiB) to standard output, on the best accelerator there is. */
#include <stdio.h>
#include <stdlib.h>
#include <accel/accel.h>

#define MAX (64u << 20)

int main(void)
{
	struct accel_filter want = ACCEL_INIT(struct accel_filter);
	struct accel_ctx *ctx = NULL;
	struct accel_dev *dev = NULL;
	char *in = malloc(MAX), *out = malloc(MAX + MAX / 8);
	size_t n = in ? fread(in, 1, MAX, stdin) : 0, len = MAX + MAX / 8;
	int rc = in && out ? accel_ctx_new(NULL, &ctx) : -1;

	want.op = ACCEL_OP_COMPRESS;
	want.alg = ACCEL_GZIP;
	if (rc == 0)
		rc = accel_find(ctx, &want, &dev);
	if (rc == 0)
		rc = accel_compress(dev, ACCEL_GZIP, 6, in, n, out, &len, -1);
	if (rc == 0)
		fprintf(stderr, "%s: %zu to %zu bytes\n", accel_dev_info(dev)->name, n, len);
	else
		fprintf(stderr, "compress: %s\n", accel_strerror(rc));
	if (rc == 0 && fwrite(out, 1, len, stdout) != len)
		rc = -1;
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	free(in);
	free(out);
	return rc != 0;
}
