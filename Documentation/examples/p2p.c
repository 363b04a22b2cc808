// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies a device or file to another, from device to device where that can be:
 *   cc p2p.c -laccel; ./a.out SOURCE DESTINATION
 * DESTINATION is overwritten.
 */
#include <errno.h>
#include <stdio.h>
#include <accel/accel.h>

static void tell(const struct accel_copy_info *info)
{
	printf("%llu bytes: %llu through controller memory, %llu through system memory\n",
	       (unsigned long long)info->done_nbytes, (unsigned long long)info->p2p_nbytes,
	       (unsigned long long)info->memory_nbytes);
	if (info->why[0])
		printf("%s\n", info->why);
}

int main(int argc, char **argv)
{
	struct accel_range src = ACCEL_INIT(struct accel_range), dst = ACCEL_INIT(struct accel_range);
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	struct accel_copy *copy;
	struct accel_ctx *ctx;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: %s SOURCE DESTINATION\n", argv[0]);
		return 2;
	}
	src.name = argv[1];
	dst.name = argv[2];
	rc = accel_ctx_new(NULL, &ctx);
	if (!rc)
		rc = accel_copy_start(ctx, &src, &dst, NULL, &copy, &info);
	if (!rc) {
		/* Whoever has other things to do looks in now and then. */
		while ((rc = accel_copy_wait(copy, 500, &info)) == -EAGAIN)
			printf("%llu of %llu\n", (unsigned long long)info.done_nbytes,
			       (unsigned long long)info.total_nbytes);
		accel_copy_free(copy);
	}
	if (rc)
		fprintf(stderr, "%s to %s: %s %s\n", argv[1], argv[2], accel_strerror(rc), info.why);
	else
		tell(&info);
	accel_ctx_unref(ctx);
	return rc ? 1 : 0;
}
