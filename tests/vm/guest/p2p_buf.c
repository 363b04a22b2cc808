// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that need devices, for p2p_cli.sh; linked with the library's insides.
 *   p2p_buf buf NODE OTHER     accel_buf_alloc(ACCEL_BUF_P2P) for NODE, and direct I/O of NODE and OTHER with it; prints
 *                              "refused ERRNO" or "moved BYTES"
 *   p2p_buf run ACCEL SRC DST  one job, from SRC (1 MiB at 0) to DST; prints the outcome and the bytes each way
 * No accelerator of a guest is on PCI, so that for buf a device of the process is given the name of an SSD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../../../lib/api/api.h"

#define NBYTES (1u << 20)

static int fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, accel_strerror(err));
	return 1;
}

static void say(void *arg, enum accel_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "%s\n", message);
}

static int move(void *p, const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_DIRECT), out = open(to, O_RDWR | O_DIRECT);

	if (in < 0 || out < 0 || pread(in, p, NBYTES, 0) != NBYTES || pwrite(out, p, NBYTES, 0) != NBYTES)
		return fail(from, -errno);
	printf("moved %u\n", NBYTES);
	return 0;
}

static int buf(struct accel_ctx *ctx, const char *node, const char *other)
{
	struct accel_buf *b;
	struct accel_dev *dev;
	int rc = accel_dev_open(ctx, "soft:", &dev);

	if (rc)
		return fail("soft:", rc);
	snprintf(dev->info.path, sizeof(dev->info.path), "%s", node);
	rc = accel_buf_alloc(ctx, dev, NBYTES, ACCEL_BUF_P2P, &b);
	accel_dev_close(dev);
	if (rc) {
		printf("refused %d\n", -rc);
		return 0;
	}
	rc = move(accel_buf_ptr(b), node, other);
	accel_buf_free(b);
	return rc;
}

static int run(struct accel_ctx *ctx, const char *name, const char *src, const char *dst)
{
	struct accel_range s = ACCEL_INIT(struct accel_range), d = ACCEL_INIT(struct accel_range);
	struct accel_copy_opts o = ACCEL_INIT(struct accel_copy_opts);
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	struct accel_result r;
	struct accel_plan *plan;
	struct accel_dev *dev;
	int rc = accel_dev_open(ctx, name, &dev);

	if (rc)
		return fail(name, rc);
	s.name = src;
	s.nbytes = NBYTES;
	d.name = dst;
	o.flags = ACCEL_COPY_NO_FALLBACK;
	rc = accel_plan_new(ctx, &plan);
	rc = rc ? rc : accel_plan_compress(plan, ACCEL_GZIP, 6, 0, 0);
	rc = rc ? rc : accel_plan_seal(plan, dev);
	rc = rc ? rc : accel_run_range(dev, plan, &s, &d, NULL, &o, 30000, &r, &info);
	if (rc)
		return fail(info.why[0] ? info.why : "run", rc);
	printf("status %u out %llu p2p %llu memory %llu\n", r.status, (unsigned long long)r.out_len,
	       (unsigned long long)info.p2p_nbytes, (unsigned long long)info.memory_nbytes);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	return 0;
}

int main(int argc, char **argv)
{
	struct accel_ctx *ctx;
	int rc = accel_ctx_new(NULL, &ctx);

	if (rc)
		return fail("ctx", rc);
	accel_ctx_set_log(ctx, say, NULL, ACCEL_LOG_ERROR);
	if (argc == 4 && !strcmp(argv[1], "buf"))
		rc = buf(ctx, argv[2], argv[3]);
	else if (argc == 5 && !strcmp(argv[1], "run"))
		rc = run(ctx, argv[2], argv[3], argv[4]);
	else
		rc = 2;
	accel_ctx_unref(ctx);
	return rc;
}
