// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the library and the device model cost over the bare engines: the time of a small job alone, and the
 * throughput of large ones at full depth beside an engine that is called directly, one engine thread on each
 * side. Rounds are interleaved and medians taken, so that what else the machine does hits both alike; CPU
 * time is that of the whole process, and tells more than the clock on a machine that is shared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <accel/accel.h>
#include "../../lib/engine/engine.h"

#define ROUNDS 15
#define DEPTH 16

static double wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "bench_overhead: %s\n", what);
		exit(1);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

struct sample {
	double wall[ROUNDS], cpu[ROUNDS];
};

/* ---- One small job at a time ---- */

struct side {
	struct accel_dev *dev;
	struct accel_plan *plan;
};

static struct side side_new(struct accel_ctx *ctx, const char *name)
{
	struct side s;

	check(!accel_dev_open(ctx, name, &s.dev), "cannot open the device");
	check(!accel_plan_new(ctx, &s.plan) && !accel_plan_checksum(s.plan, ACCEL_CRC32C, 0) &&
	      !accel_plan_policy(s.plan, ACCEL_DEVICE_ONLY, 0, 0) && !accel_plan_seal(s.plan, s.dev),
	      "cannot make the plan");
	return s;
}

static void small_round(struct side *s, const uint8_t *in, uint32_t crc, unsigned int n, double *wall, double *cpu)
{
	double w = wall_ns(), c = cpu_ns();
	struct accel_result r;
	unsigned int i;

	for (i = 0; i < n; i++) {
		check(!accel_run(s->dev, s->plan, in, 4096, NULL, 0, NULL, 10000, &r) && !r.status, "job failed");
		check(!memcmp(r.result[0], &crc, 4), "wrong checksum");
	}
	*wall = (wall_ns() - w) / n;
	*cpu = (cpu_ns() - c) / n;
}

static void direct_small(struct engine_thread *t, const struct iovec *in, unsigned int n, double *wall,
			 double *cpu)
{
	double w = wall_ns(), c = cpu_ns();
	struct job job;
	unsigned int i;

	for (i = 0; i < n; i++) {
		memset(&job, 0, sizeof(job));
		job.nstage = 1;
		job.stage[0].op = ACCEL_OP_CHECKSUM;
		job.stage[0].alg = ACCEL_CRC32C;
		job.in = in;
		job.nin = 1;
		job.in_len = 4096;
		engine_run(t, &job);
		check(!job.code, "engine failed");
	}
	*wall = (wall_ns() - w) / n;
	*cpu = (cpu_ns() - c) / n;
}

static void small_jobs(struct accel_ctx *ctx)
{
	static const char *const names[] = { "soft:threads=0", "soft:threads=1" };
	static uint8_t in[4096];
	struct iovec v = { in, sizeof(in) };
	struct engine_thread *t = engine_thread_new();
	struct sample s[3];
	struct side side[2];
	uint32_t crc;
	int i, k;

	check(t != NULL, "no memory");
	memset(in, 0x5a, sizeof(in));
	crc = accel_raw_crc32c(0, in, sizeof(in));
	for (k = 0; k < 2; k++)
		side[k] = side_new(ctx, names[k]);
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < 2; k++)
			small_round(&side[k], in, crc, k ? 500 : 5000, &s[k].wall[i], &s[k].cpu[i]);
		direct_small(t, &v, 5000, &s[2].wall[i], &s[2].cpu[i]);
	}
	printf("One job of 4 KiB CRC-32C at a time: medians of %d rounds\n", ROUNDS);
	for (k = 0; k < 3; k++)
		printf("  %-28s %8.0f ns by the clock %8.0f ns of CPU time\n",
		       k == 2 ? "engine called directly" : names[k], median(s[k].wall, ROUNDS),
		       median(s[k].cpu, ROUNDS));
	for (k = 0; k < 2; k++) {
		accel_plan_unref(side[k].plan);
		accel_dev_close(side[k].dev);
	}
	engine_thread_free(t);
}

/* ---- Large jobs at full depth ---- */

struct work {
	const char *what;
	double target;
	size_t in_len, out_max;
	unsigned int njobs;
	struct accel_plan *plan;
	const struct accel_params *params;
	struct job_stage stage;			/* the same for the engine */
	uint8_t *in, *out;			/* DEPTH of each */
};

static void library_round(struct accel_queue *q, struct work *w, double *wall, double *cpu)
{
	struct accel_result r[DEPTH];
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct iovec vin[DEPTH], vout[DEPTH];
	unsigned int sent = 0, got = 0, k;
	unsigned int idle[DEPTH], head = 0, tail = 0;	/* in the order that they became idle, as directly */
	double t = wall_ns(), c = cpu_ns();
	int n;

	job.plan = w->plan;
	job.params = w->params;
	job.nin = job.nout = 1;
	for (k = 0; k < DEPTH; k++) {
		vin[k] = (struct iovec){ w->in + k * w->in_len, w->in_len };
		vout[k] = (struct iovec){ w->out + k * w->out_max, w->out_max };
		idle[tail++ % DEPTH] = k;
	}
	while (got < w->njobs) {
		while (head != tail && sent < w->njobs) {
			k = idle[head++ % DEPTH];
			job.in = &vin[k];
			job.out = &vout[k];
			job.user_data = (void *)(uintptr_t)k;
			check(accel_queue_submit(q, &job, 1) == 1, "submit failed");
			sent++;
		}
		/* Half of them at a time, as one does who wants throughput. */
		n = accel_queue_reap(q, r, DEPTH, (sent - got + 1) / 2, 20000);
		check(n > 0, "no result");
		for (k = 0; k < (unsigned int)n; k++) {
			check(!r[k].status && r[k].executor == ACCEL_EXEC_SOFTWARE, "job failed");
			idle[tail++ % DEPTH] = (unsigned int)(uintptr_t)r[k].user_data;
		}
		got += (unsigned int)n;
	}
	*wall = wall_ns() - t;
	*cpu = cpu_ns() - c;
}

static void direct_round(struct engine_thread *t, struct work *w, double *wall, double *cpu, uint64_t *out_len)
{
	double s = wall_ns(), c = cpu_ns();
	struct iovec vin, vout;
	struct job job;
	unsigned int i, k;

	for (i = 0; i < w->njobs; i++) {
		k = i % DEPTH;
		vin = (struct iovec){ w->in + k * w->in_len, w->in_len };
		vout = (struct iovec){ w->out + k * w->out_max, w->out_max };
		memset(&job, 0, sizeof(job));
		job.nstage = 1;
		job.stage[0] = w->stage;
		job.in = &vin;
		job.out = &vout;
		job.nin = job.nout = 1;
		job.in_len = w->in_len;
		job.out_max = w->out_max;
		engine_run(t, &job);
		check(!job.code, "engine failed");
		*out_len = job.out_len;
	}
	*wall = wall_ns() - s;
	*cpu = cpu_ns() - c;
}

static void full_depth(struct accel_ctx *ctx, struct work *w)
{
	static const char *const names[] = { "soft:threads=1", "soft:threads=0" };
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct engine_thread *t = engine_thread_new();
	struct accel_lease *lease[2];
	struct accel_queue *q[2];
	struct accel_dev *dev[2];
	double ratio[2][ROUNDS], cpu_ratio[2][ROUNDS], direct[ROUNDS], wd, cd, wl, cl;
	uint8_t *keep = malloc(w->out_max);
	uint64_t out_len = 0;
	int i, k;

	check(t && keep, "no memory");
	opts.slots_wanted = opts.slots_min = DEPTH;
	for (k = 0; k < 2; k++)
		check(!accel_dev_open(ctx, names[k], &dev[k]) &&
		      !accel_lease_acquire(dev[k], &opts, 1000, &lease[k]) &&
		      !accel_queue_new(lease[k], NULL, &q[k]), "no queue");
	for (i = 0; i < ROUNDS; i++) {
		direct_round(t, w, &wd, &cd, &out_len);
		memcpy(keep, w->out, (size_t)out_len);
		direct[i] = (double)w->in_len * w->njobs / wd * 1e9 / 1048576;
		for (k = 0; k < 2; k++) {
			memset(w->out, 0, w->out_max);
			library_round(q[k], w, &wl, &cl);
			check(!memcmp(keep, w->out, (size_t)out_len), "library and engine differ");
			ratio[k][i] = wd / wl;
			cpu_ratio[k][i] = cd / cl;
		}
	}
	printf("  %-24s %7.0f MiB/s directly; library/engine %.3f (target %.2f, by CPU time %.3f), in the "
	       "caller's thread %.3f (by CPU time %.3f)\n",
	       w->what, median(direct, ROUNDS), median(ratio[0], ROUNDS), w->target, median(cpu_ratio[0], ROUNDS),
	       median(ratio[1], ROUNDS), median(cpu_ratio[1], ROUNDS));
	for (k = 0; k < 2; k++) {
		accel_queue_free(q[k]);
		accel_lease_release(lease[k]);
		accel_dev_close(dev[k]);
	}
	engine_thread_free(t);
	free(keep);
	free(w->in);
	free(w->out);
	accel_plan_unref(w->plan);
}

static void work_memory(struct work *w)
{
	uint32_t x = 1;
	size_t i;

	w->in = malloc(DEPTH * w->in_len);
	w->out = malloc(DEPTH * w->out_max);
	check(w->in && w->out, "no memory");
	memset(w->out, 0, DEPTH * w->out_max);
	for (i = 0; i < DEPTH * w->in_len; i++) {
		x = x * 1664525u + 1013904223u;
		w->in[i] = (uint8_t)("etaoin shrdlu, cmfwyp vbgkjq xz.\n"[(x >> 24) % 33]);
	}
}

static struct accel_plan *plan_new(struct accel_ctx *ctx)
{
	struct accel_plan *plan;

	check(!accel_plan_new(ctx, &plan), "no plan");
	return plan;
}

static void seal(struct accel_plan *plan)
{
	check(!accel_plan_policy(plan, ACCEL_DEVICE_ONLY, 0, 0), "policy");
}

static void sealed(struct accel_ctx *ctx, struct accel_plan *plan)
{
	struct accel_dev *dev;

	seal(plan);
	check(!accel_dev_open(ctx, "soft:threads=0", &dev) && !accel_plan_seal(plan, dev), "seal");
	accel_dev_close(dev);
}

static void bench_gcm(struct accel_ctx *ctx)
{
	static const uint8_t key[32] = { 1, 2, 3 }, iv[12] = { 4, 5, 6 };
	struct accel_params params = ACCEL_INIT(struct accel_params);
	struct work w = { .what = "AES-256-GCM 128 KiB", .target = 0.93, .njobs = 400, .in_len = 128 << 10,
			  .out_max = 128 << 10 };
	struct wire_cipher c = { .key = key, .iv = iv, .key_len = 32, .iv_len = 12, .tag_len = 16 };
	uint8_t param[128];

	params.stage[0].iv = iv;
	params.stage[0].iv_len = 12;
	w.params = &params;
	w.plan = plan_new(ctx);
	check(!accel_plan_encrypt(w.plan, ACCEL_AES_GCM, key, 32, 16, 0), "plan");
	sealed(ctx, w.plan);
	w.stage.op = ACCEL_OP_ENCRYPT;
	w.stage.alg = ACCEL_AES_GCM;
	w.stage.param = param;
	w.stage.param_len = (uint32_t)wire_cipher_encode(&c, 0, param, sizeof(param));
	work_memory(&w);
	full_depth(ctx, &w);
}

static void bench_ec(struct accel_ctx *ctx)
{
	struct work w = { .what = "erasure 10+2 64 KiB", .target = 0.90, .njobs = 200, .in_len = 10 * (64 << 10),
			  .out_max = 2 * (64 << 10) };

	w.plan = plan_new(ctx);
	check(!accel_plan_ec_encode(w.plan, ACCEL_RS_CAUCHY, 10, 2, 64 << 10, NULL), "plan");
	sealed(ctx, w.plan);
	w.stage.op = ACCEL_OP_EC_ENCODE;
	w.stage.alg = ACCEL_RS_CAUCHY;
	w.stage.arg0 = 10 | 2 << 8;
	w.stage.arg1 = 64 << 10;
	work_memory(&w);
	full_depth(ctx, &w);
}

static void bench_deflate(struct accel_ctx *ctx)
{
	struct work w = { .what = "deflate level 1 128 KiB", .target = 0.97, .njobs = 64, .in_len = 128 << 10 };

	w.plan = plan_new(ctx);
	check(!accel_plan_compress(w.plan, ACCEL_DEFLATE, 1, 0, 0), "plan");
	sealed(ctx, w.plan);
	w.out_max = (size_t)accel_bound(w.plan, w.in_len);
	w.stage.op = ACCEL_OP_COMPRESS;
	w.stage.alg = ACCEL_DEFLATE;
	w.stage.arg0 = 1;
	w.stage.arg1 = 15;
	work_memory(&w);
	full_depth(ctx, &w);
}

int main(void)
{
	struct accel_ctx *ctx;

	check(!accel_ctx_new(NULL, &ctx), "no context");
	small_jobs(ctx);
	printf("At depth %d, one engine thread on each side: medians of %d interleaved rounds\n", DEPTH, ROUNDS);
	bench_gcm(ctx);
	bench_ec(ctx);
	bench_deflate(ctx);
	accel_ctx_unref(ctx);
	return 0;
}
