/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums and compresses each 128 KiB block of a file in one job (what a file system asks for), sixteen
 * jobs in flight, and says what came of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <accel/accel.h>

#define BLOCK (128u << 10)
#define DEPTH 16

struct slot {
	struct iovec in, out;
	unsigned char data[BLOCK], packed[BLOCK];
};

static struct accel_plan *make_plan(struct accel_ctx *ctx, struct accel_dev *dev)
{
	struct accel_plan *plan;

	if (accel_plan_new(ctx, &plan))
		return NULL;
	if (accel_plan_digest(plan, ACCEL_SHA256) == 0 &&
	    accel_plan_compress(plan, ACCEL_DEFLATE, 1, 0, 0) == 0 &&
	    accel_plan_policy(plan, ACCEL_PREFER_DEVICE, ACCEL_PLAN_STORE_IF_LARGER, 0) == 0 &&
	    accel_plan_seal(plan, dev) == 0)
		return plan;
	fprintf(stderr, "plan: %s\n", accel_plan_error(plan));
	accel_plan_unref(plan);
	return NULL;
}

/* Fills a slot from the file and submits it; 0 at the end of the file. */
static int start(struct accel_queue *q, struct accel_plan *plan, struct slot *s, FILE *f)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);

	s->in.iov_base = s->data;
	s->in.iov_len = fread(s->data, 1, BLOCK, f);
	if (s->in.iov_len == 0)
		return 0;
	s->out.iov_base = s->packed;
	s->out.iov_len = s->in.iov_len;
	job.plan = plan;
	job.in = &s->in;
	job.out = &s->out;
	job.nin = job.nout = 1;
	job.user_data = s;
	return accel_queue_submit(q, &job, 1) == 1;
}

static int run(struct accel_queue *q, struct accel_plan *plan, struct slot *slots, FILE *f)
{
	unsigned long long in = 0, out = 0, bad = 0;
	struct accel_result r;
	unsigned int flying = 0;

	while (flying < DEPTH && start(q, plan, &slots[flying], f))
		flying++;
	while (flying && accel_queue_reap(q, &r, 1, 1, 10000) == 1) {
		in += r.in_used;
		out += r.out_len;
		bad += r.status != ACCEL_ST_OK;
		if (r.status != ACCEL_ST_OK)
			fprintf(stderr, "job: %s\n", accel_status_str(r.status));
		if (!start(q, plan, r.user_data, f))
			flying--;
	}
	printf("%llu to %llu bytes, %llu jobs failed\n", in, out, bad);
	return bad != 0 || flying != 0;
}

int main(int argc, char **argv)
{
	struct accel_lease_opts want = ACCEL_INIT(struct accel_lease_opts);
	struct slot *slots = calloc(DEPTH, sizeof(*slots));
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : stdin;
	struct accel_ctx *ctx = NULL;
	struct accel_dev *dev = NULL;
	struct accel_lease *lease = NULL;
	struct accel_queue *q = NULL;
	struct accel_plan *plan = NULL;
	int failed = 1;

	want.slots_wanted = DEPTH;
	if (slots && f && accel_ctx_new(NULL, &ctx) == 0 && accel_dev_open(ctx, "soft:", &dev) == 0 &&
	    accel_lease_acquire(dev, &want, 1000, &lease) == 0 && accel_queue_new(lease, NULL, &q) == 0 &&
	    (plan = make_plan(ctx, dev)))
		failed = run(q, plan, slots, f);
	accel_queue_free(q);
	accel_plan_unref(plan);
	accel_lease_release(lease);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	if (f && f != stdin)
		fclose(f);
	free(slots);
	return failed;
}
