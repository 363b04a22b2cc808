/* SPDX-License-Identifier: BSD-2-Clause */
/* 32+4 erasure coding of 16 KiB blocks: encode, lose four blocks, recover them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <accel/accel.h>

enum { K = 32, M = 4, BLOCK = 16384 };

int main(void)
{
	static unsigned char memory[K + M][BLOCK], keep[K + M][BLOCK];
	static const unsigned char lost[M] = { 0, 1, 25, 34 };
	void *blocks[K + M];
	struct accel_ctx *ctx = NULL;
	struct accel_dev *dev = NULL;
	int rc, i;

	for (i = 0; i < K + M; i++)
		blocks[i] = memory[i];
	for (i = 0; i < K * BLOCK; i++)
		memory[i / BLOCK][i % BLOCK] = (unsigned char)(i * 2654435761u >> 13);

	rc = accel_ctx_new(NULL, &ctx);
	if (rc == 0)
		rc = accel_dev_open(ctx, "soft:nsid=2", &dev);
	if (rc == 0)
		rc = accel_ec_encode(dev, K, M, BLOCK, (const void *const *)blocks, blocks + K, 1000);
	memcpy(keep, memory, sizeof(keep));
	for (i = 0; i < M; i++)
		memset(memory[lost[i]], 0xee, BLOCK);
	if (rc == 0)
		rc = accel_ec_decode(dev, K, M, BLOCK, blocks, lost, M, 1000);
	if (rc)
		fprintf(stderr, "erasure: %s\n", accel_strerror(rc));
	else
		printf("four of %d blocks recovered: %s\n", K + M,
		       memcmp(keep, memory, sizeof(keep)) ? "WRONG" : "right");
	rc = rc || memcmp(keep, memory, sizeof(keep));
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	return rc != 0;
}
