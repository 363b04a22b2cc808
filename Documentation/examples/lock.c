/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes a whole accelerator for itself, shows that another claim is refused, and gives it back. */
#include <errno.h>
#include <stdio.h>
#include <accel/accel.h>

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "soft:nsid=1";
	struct accel_dev *mine = NULL, *other = NULL;
	struct accel_ctx *ctx = NULL;
	int rc, second = 0;

	rc = accel_ctx_new(NULL, &ctx);
	if (rc == 0)
		rc = accel_dev_open(ctx, name, &mine);
	if (rc == 0)
		rc = accel_dev_open(ctx, name, &other);
	if (rc == 0)
		rc = accel_dev_lock(mine, 1000);
	if (rc == 0) {
		second = accel_dev_lock(other, 100);
		printf("%s is locked; a second lock says: %s\n", name, accel_strerror(second));
		rc = accel_dev_unlock(mine);
	} else {
		fprintf(stderr, "%s: %s\n", name, accel_strerror(rc));
	}
	accel_dev_close(other);
	accel_dev_close(mine);
	accel_ctx_unref(ctx);
	return rc != 0 || second != -EBUSY;
}
