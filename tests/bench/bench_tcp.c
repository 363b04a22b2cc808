// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a job over NVMe/TCP costs beside the bare bytes, and beside the same engines in the process:
 *
 *   bench_tcp [-q] [-t THREADS] [ACCELD]
 *
 * It starts ACCELD (build/acceld) on loopback, with one reactor and THREADS (1) engine threads. Rounds of the two
 * sides of a line take turns, and what is printed is the median of the ratios, pair by pair, with the middle half of
 * them: the two sides see the same weather. Both use the same congestion control. -q: few rounds, to see that it runs.
 */
#define _GNU_SOURCE
#include <accel/accel.h>
#include "../../lib/transport/transport.h"
#include "bench_tcp_bare.h"
#include "bench_tcp_daemon.h"

#define DEPTH	 32u
#define BIG	 16u			/* large jobs in flight */
#define JOB	 4096u
#define BLOCK	 (128u << 10)
#define MAX_PING 4000u

/* On the wire, without digests: capsules of a write (72 + descriptor + input) and a read; data and two responses. */
#define JOB_OUT	 (72u + 512u + JOB + 72u)
#define JOB_BACK (24u + 512u + 24u + 24u)
#define READ_OUT 72u
#define READ_BACK (24u + JOB + 24u)

static unsigned int rounds = 15, scale = 8;

/* The sockets that the library has opened by now, too. */
static void same_congestion(void)
{
	int fd;

	for (fd = 3; fd < 1024; fd++)
		use_congestion(fd);
}

static double p50(double *ns, unsigned int n)
{
	return median(ns, n);
}

/* ---- Jobs through the library ---- */

struct user {
	struct accel_dev *dev;
	struct accel_plan *plan;
	struct accel_lease *lease;
	struct accel_queue *queue;
};

static struct user user_new(struct accel_ctx *ctx, const char *name, unsigned int depth,
			    int (*stages)(struct accel_plan *plan))
{
	struct accel_lease_opts opts = ACCEL_INIT(struct accel_lease_opts);
	struct user u = { 0 };

	if (accel_dev_open(ctx, name, &u.dev)) {
		fprintf(stderr, "%s: ", name);
		fail("cannot open the device");
	}
	check(!accel_plan_new(ctx, &u.plan) && !stages(u.plan) &&
	      !accel_plan_policy(u.plan, ACCEL_DEVICE_ONLY, 0, 0) && !accel_plan_seal(u.plan, u.dev),
	      "cannot make the plan");
	if (!depth)
		return u;
	opts.slots_wanted = opts.slots_min = depth;
	check(!accel_lease_acquire(u.dev, &opts, 10000, &u.lease), "no lease");
	check(!accel_queue_new(u.lease, NULL, &u.queue), "no queue");
	same_congestion();
	return u;
}

static void user_free(struct user *u)
{
	accel_queue_free(u->queue);
	accel_lease_release(u->lease);
	accel_plan_unref(u->plan);
	accel_dev_close(u->dev);
}

static int crc_stage(struct accel_plan *plan)
{
	return accel_plan_checksum(plan, ACCEL_CRC32C, 0);
}

static int deflate_stage(struct accel_plan *plan)
{
	return accel_plan_compress(plan, ACCEL_DEFLATE, 1, 0, 0);
}

static int ec_stage(struct accel_plan *plan)
{
	return accel_plan_ec_encode(plan, ACCEL_RS_CAUCHY, 10, 2, BLOCK, NULL);
}

/* n jobs one at a time; the time of each to ns. */
static void user_ping(struct user *u, const uint8_t *in, uint32_t crc, double *ns, unsigned int n)
{
	struct accel_result r;
	unsigned int i;

	for (i = 0; i < n; i++) {
		double t = wall_ns();

		check(!accel_run(u->dev, u->plan, in, JOB, NULL, 0, NULL, 10000, &r) && !r.status, "job failed");
		ns[i] = wall_ns() - t;
		check(!memcmp(r.result[0], &crc, 4), "wrong checksum");
	}
}

/* njob jobs of in_len bytes, depth in flight, half of them collected at a time: jobs a second. */
static double user_deep(struct user *u, unsigned int depth, uint8_t *in, size_t in_len, uint8_t *out,
			size_t out_max, unsigned int njob)
{
	struct accel_job jobs[DEPTH];
	struct accel_result r[DEPTH];
	struct iovec vin[DEPTH], vout[DEPTH];
	unsigned int idle[DEPTH], nidle, sent = 0, got = 0, i, k;
	double t = wall_ns();
	int n;

	for (nidle = 0; nidle < depth; nidle++) {
		vin[nidle] = (struct iovec){ in + nidle * in_len, in_len };
		vout[nidle] = (struct iovec){ out + nidle * out_max, out_max };
		idle[nidle] = nidle;
	}
	while (got < njob) {
		for (i = 0; nidle && sent + i < njob; i++) {
			k = idle[--nidle];
			jobs[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
			jobs[i].plan = u->plan;
			jobs[i].nin = 1;
			jobs[i].nout = out_max ? 1 : 0;
			jobs[i].in = &vin[k];
			jobs[i].out = &vout[k];
			jobs[i].user_data = (void *)(uintptr_t)k;
		}
		check(!i || accel_queue_submit(u->queue, jobs, i) == (int)i, "submit failed");
		sent += i;
		n = accel_queue_reap(u->queue, r, depth, (sent - got + 1) / 2, 20000);
		check(n > 0, "no result");
		for (k = 0; k < (unsigned int)n; k++) {
			check(!r[k].status, "job failed");
			idle[nidle++] = (unsigned int)(uintptr_t)r[k].user_data;
		}
		got += (unsigned int)n;
	}
	return njob / (wall_ns() - t) * 1e9;
}

/* ---- Plain reads and writes of the RAM namespace, through the same transport ---- */

struct disk {
	const struct transport_ops *ops;
	struct transport_env env;
	struct transport_dev *dev;
	struct transport_queue *q;
	struct transport_cmd cmd[DEPTH];
	struct iovec iov[DEPTH];
	uint64_t at;
};

static void disk_open(struct disk *d, const char *name, uint8_t *mem, size_t nbytes)
{
	unsigned int i;

	memset(d, 0, sizeof(*d));
	check(!transport_env_init(&d->env), "no memory");
	d->ops = transport_for(name);
	check(d->ops && !d->ops->open(&d->env, name, &d->dev) && !d->ops->queue_new(d->dev, DEPTH, &d->q),
	      "cannot open the RAM namespace");
	for (i = 0; i < DEPTH; i++)
		d->iov[i] = (struct iovec){ mem + i * nbytes, nbytes };
}

static void disk_close(struct disk *d)
{
	d->ops->queue_free(d->q);
	d->ops->close(d->dev);
	transport_env_fini(&d->env);
}

static void disk_cmd(struct disk *d, unsigned int k, uint32_t flags, struct transport_cmd **list)
{
	struct transport_cmd *c = &d->cmd[k];

	memset(c, 0, sizeof(*c));
	c->flags = flags | TRANSPORT_BORROW;
	c->iov = &d->iov[k];
	c->niov = 1;
	c->nbytes = d->iov[k].iov_len;
	c->off = d->at;
	d->at = (d->at + c->nbytes) % BARE_RING;
	*list = c;
}

/* n commands, depth in flight, half of them collected at a time: commands a second. */
static double disk_deep(struct disk *d, uint32_t flags, unsigned int depth, unsigned int n)
{
	struct transport_cmd *list[DEPTH], *done[DEPTH];
	unsigned int idle[DEPTH], nidle, sent = 0, got = 0, k;
	double t = wall_ns();
	int r;

	for (nidle = 0; nidle < depth; nidle++)
		idle[nidle] = nidle;
	while (got < n) {
		for (k = 0; nidle && sent + k < n; k++)
			disk_cmd(d, idle[--nidle], flags, &list[k]);
		check(!k || d->ops->submit(d->q, list, k) == (int)k, "submit failed");
		sent += k;
		r = d->ops->reap(d->q, done, depth, (sent - got + 1) / 2, 20000);
		check(r > 0, "no completion");
		got += (unsigned int)r;
		for (k = 0; k < (unsigned int)r; k++) {
			check(!done[k]->error && !done[k]->nvme_status, "command failed");
			idle[nidle++] = (unsigned int)(done[k] - d->cmd);
		}
	}
	return n / (wall_ns() - t) * 1e9;
}

/* What was written is what is read; a path that loses bytes needs no figures. */
static void disk_verify(struct disk *d, uint8_t *mem, size_t nbytes)
{
	size_t i;

	d->at = 0;
	for (i = 0; i < DEPTH * nbytes; i++)
		mem[i] = (uint8_t)(i * 31 + (i >> 8));
	disk_deep(d, TRANSPORT_WRITE, 1, 8);
	memset(mem, 0, nbytes);
	/* At depth 1 all go to and come from the first buffer. */
	d->at = 0;
	disk_deep(d, TRANSPORT_READ, 1, 1);
	for (i = 0; i < nbytes; i++)
		check(mem[i] == (uint8_t)(i * 31 + (i >> 8)), "the RAM namespace returns other data");
}

/* ---- The lines ---- */

static uint8_t *text_memory(size_t n)
{
	uint8_t *p = malloc(n);
	uint32_t x = 1;
	size_t i;

	check(p != NULL, "no memory");
	for (i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)("etaoin shrdlu, cmfwyp vbgkjq xz.\n"[(x >> 24) % 33]);
	}
	return p;
}

static void line_latency(struct accel_ctx *ctx, const struct daemon_proc *d, enum place where)
{
	static const char *const places[] = { "", ", 1 CPU", ", 2 CPUs" };
	struct bare bare = { .out = JOB_OUT, .back = JOB_BACK, .spin = d->poll_us };
	static double ns[MAX_PING];
	unsigned int i, n = 500 * scale;
	uint8_t *in = text_memory(JOB);
	uint32_t crc = accel_raw_crc32c(0, in, JOB);
	struct pairs p = { 0 };
	char name[192], what[64];
	cpu_set_t allowed;
	struct user u;
	double ours;

	check(!sched_getaffinity(0, sizeof(allowed), &allowed), "no set of processors");
	bare_start(&bare);
	place(where, &allowed, getpid(), d->pid, bare.pid);
	u = user_new(ctx, daemon_name(d, NSID_ALL, name), 0, crc_stage);
	user_ping(&u, in, crc, ns, 10);
	same_congestion();
	bare_ping(&bare, ns, 10);
	for (i = 0; i < rounds; i++) {
		user_ping(&u, in, crc, ns, n);
		ours = p50(ns, n);
		bare_ping(&bare, ns, n);
		pairs_add(&p, ours, p50(ns, n));
	}
	snprintf(what, sizeof(what), "CRC-32C 4 KiB, depth 1, %s%s: p50", d->poll_us ? "polling" : "blocking",
		 places[where]);
	pairs_print(&p, what, "bare ping-pong's time", "us", 1e3);
	place(PLACE_ANY, &allowed, getpid(), d->pid, bare.pid);
	user_free(&u);
	bare_stop(&bare);
	free(in);
}

static void line_depth(struct accel_ctx *ctx, const struct daemon_proc *d)
{
	struct bare job_bare = { .out = JOB_OUT, .back = JOB_BACK, .spin = d->poll_us };
	struct bare read_bare = { .out = READ_OUT, .back = READ_BACK, .spin = d->poll_us };
	struct pairs jobs = { 0 }, reads = { 0 }, both = { 0 };
	unsigned int i, n = 5000 * scale;
	uint8_t *in = text_memory(DEPTH * JOB), *mem = text_memory(DEPTH * JOB);
	const char *how = d->poll_us ? "polling" : "blocking";
	char name[192], what[64];
	struct disk disk;
	struct user u;
	double j, r;

	bare_start(&job_bare);
	bare_start(&read_bare);
	u = user_new(ctx, daemon_name(d, NSID_ALL, name), DEPTH, crc_stage);
	disk_open(&disk, daemon_name(d, NSID_RAM, name), mem, JOB);
	disk_verify(&disk, mem, JOB);
	same_congestion();
	for (i = 0; i < rounds; i++) {
		j = user_deep(&u, DEPTH, in, JOB, NULL, 0, n);
		pairs_add(&jobs, j, bare_deep(&job_bare, n));
		r = disk_deep(&disk, TRANSPORT_READ, DEPTH, n);
		pairs_add(&reads, r, bare_deep(&read_bare, n));
		pairs_add(&both, j, r);
	}
	snprintf(what, sizeof(what), "CRC-32C of 4 KiB, depth 32, %s: jobs/s", how);
	pairs_print(&jobs, what, "bare, 32 in flight", "k/s", 1e3);
	pairs_print(&both, what, "4 KiB RAM reads/s", "k/s", 1e3);
	snprintf(what, sizeof(what), "4 KiB reads of RAM, depth 32, %s", how);
	pairs_print(&reads, what, "bare, 32 in flight", "k/s", 1e3);
	disk_close(&disk);
	user_free(&u);
	bare_stop(&read_bare);
	bare_stop(&job_bare);
	free(in);
	free(mem);
}

struct large {
	const char *what;
	size_t in_len, out_len;		/* out_len 0: what the plan says */
	unsigned int njob;
	bool stream;			/* computed so fast that the way bounds it: beside a stream, too */
	int (*stages)(struct accel_plan *plan);
};

/* Large jobs over TCP beside the same in the process, with as many engine threads. */
static void line_engines(struct accel_ctx *ctx, const struct daemon_proc *d, unsigned int threads,
			 const struct large *w)
{
	size_t in_len = w->in_len, out_max;
	uint8_t *in = text_memory(BIG * in_len), *out, *keep;
	struct bare bare = { .total = w->njob * in_len };
	struct pairs p = { 0 }, stream = { 0 };
	struct user tcp, soft;
	char name[192];
	unsigned int i;
	double t;

	bare_start(&bare);
	tcp = user_new(ctx, daemon_name(d, NSID_ALL, name), BIG, w->stages);
	snprintf(name, sizeof(name), "soft:threads=%u", threads);
	soft = user_new(ctx, name, BIG, w->stages);
	out_max = w->out_len ? w->out_len : (size_t)accel_bound(tcp.plan, in_len);
	out = calloc(BIG, out_max);
	keep = malloc(out_max);
	check(out && keep, "no memory");
	user_deep(&soft, BIG, in, in_len, out, out_max, BIG);
	memcpy(keep, out, out_max);
	memset(out, 0, out_max);
	user_deep(&tcp, BIG, in, in_len, out, out_max, BIG);
	check(!memcmp(keep, out, 4096), "the results differ");
	for (i = 0; i < rounds; i++) {
		t = user_deep(&tcp, BIG, in, in_len, out, out_max, w->njob) * (double)in_len;
		pairs_add(&p, t, user_deep(&soft, BIG, in, in_len, out, out_max, w->njob) * (double)in_len);
		if (w->stream)
			pairs_add(&stream, t, bare_stream(&bare, BLOCK));
	}
	pairs_print(&p, w->what, "soft:'s rate", "MB/s", 1e6);
	if (w->stream)
		pairs_print(&stream, w->what, "a one-way stream", "MB/s", 1e6);
	bare_stop(&bare);
	user_free(&tcp);
	user_free(&soft);
	free(in);
	free(out);
	free(keep);
}

static void line_writes(const struct daemon_proc *d)
{
	unsigned int i, n = 250 * scale;
	struct bare bare = { .out = BLOCK, .total = (size_t)n * BLOCK, .spin = d->poll_us };
	uint8_t *mem = text_memory(DEPTH * BLOCK);
	struct pairs p = { 0 };
	struct disk disk;
	char name[192], what[64];
	double rate;

	bare_start(&bare);
	disk_open(&disk, daemon_name(d, NSID_RAM, name), mem, BLOCK);
	disk_verify(&disk, mem, BLOCK);
	same_congestion();
	for (i = 0; i < rounds; i++) {
		rate = disk_deep(&disk, TRANSPORT_WRITE, BIG, n) * BLOCK;
		pairs_add(&p, rate, bare_stream(&bare, BLOCK));
	}
	snprintf(what, sizeof(what), "128 KiB writes to RAM, depth 16, %s", d->poll_us ? "polling" : "blocking");
	pairs_print(&p, what, "a one-way stream", "MB/s", 1e6);
	disk_close(&disk);
	bare_stop(&bare);
	free(mem);
}

static void both_ways(const char *path, unsigned int threads)
{
	const struct large deflate = { "deflate level 1 of 1 MiB, depth 16", 1 << 20, 0, 4 * scale, false,
				       deflate_stage };
	const struct large ec = { "erasure 10+2 of 128 KiB, depth 16", 10 * BLOCK, 2 * BLOCK, 25 * scale, true,
				  ec_stage };
	struct daemon_proc d[2];
	struct accel_ctx *ctx;
	unsigned int i;

	for (i = 0; i < 2; i++)
		daemon_start(&d[i], path, i ? POLL_US : 0, threads);
	check(!accel_ctx_new(NULL, &ctx), "no context");
	line_latency(ctx, &d[0], PLACE_ONE_CPU);
	line_latency(ctx, &d[0], PLACE_TWO_CPUS);
	line_latency(ctx, &d[1], PLACE_ANY);
	for (i = 0; i < 2; i++)
		line_depth(ctx, &d[i]);
	for (i = 0; i < 2; i++)
		line_writes(&d[i]);
	line_engines(ctx, &d[0], threads, &deflate);
	line_engines(ctx, &d[0], threads, &ec);
	accel_ctx_unref(ctx);
	for (i = 0; i < 2; i++)
		daemon_stop(&d[i]);
}

int main(int argc, char **argv)
{
	unsigned int threads = 1;
	double load;
	int c;

	while ((c = getopt(argc, argv, "qt:")) != -1) {
		if (c == 'q')
			rounds = 3, scale = 1;
		else if (c == 't' && atoi(optarg) > 0)
			threads = (unsigned int)atoi(optarg);
		else
			fail("usage: bench_tcp [-q] [-t THREADS] [ACCELD]");
	}
	if (getloadavg(&load, 1) != 1)
		load = -1;
	printf("Over NVMe/TCP on loopback, %s on both sides, %u engine thread%s: medians of %u interleaved rounds\n"
	       "  (ratio; the middle half of them; our median / theirs; load average before: %.1f)\n",
	       BENCH_CONGESTION, threads, threads > 1 ? "s" : "", rounds, load);
	/* Whatever hangs ends; the other processes end with this one. */
	alarm(900);
	both_ways(optind < argc ? argv[optind] : "build/acceld", threads);
	return 0;
}
