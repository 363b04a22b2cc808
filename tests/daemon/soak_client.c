/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client for the soak test of the daemon: soak_client DEVICE SECONDS SEED
 *
 * Random jobs at random depths, some of them cancelled, over a path that is cut, stalled and restarted. Every job that
 * the library accepts must give one result, and every result that says OK must be right: checksums, copies and XORs
 * are computed here, what was compressed is decompressed by the CPU, digests are compared with the CPU's.
 * Prints a line of counts; status 0 if all was right and something was done.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <accel/accel.h>

#define POOL	(2u << 20)		/* bytes that inputs are taken from */
#define MAX_IN	(256u << 10)
#define MAX_OUT	(MAX_IN + 4096)
#define DEPTH	8u
#define XOR_K	4u
#define OPEN_MS	30000			/* the daemon may be away for so long */

enum kind { CRC, COPY, XOR, SHA, DEFLATE, KINDS };

struct flight {
	bool busy, cancelled;
	enum kind kind;
	uint64_t id;
	const uint8_t *data;
	size_t nbytes;
	struct iovec in, out;
	uint8_t *room;
};

struct client {
	struct accel_ctx *ctx;
	struct accel_dev *dev, *cpu;
	struct accel_plan *plan[KINDS], *cpu_sha, *cpu_inflate;
	struct accel_lease *lease;
	struct accel_queue *queue;
	struct flight flight[DEPTH];
	unsigned int flying;
	uint8_t *pool, *spare;
	uint64_t rnd, deadline;
	uint64_t jobs, ok, cancelled, lost, refused, retried, leases, opened, runs, by_status[32];
	const char *wrong;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t rnd(struct client *c, uint64_t below)
{
	c->rnd ^= c->rnd << 13;
	c->rnd ^= c->rnd >> 7;
	c->rnd ^= c->rnd << 17;
	return c->rnd % below;
}

/* ---- The oracle ---- */

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static bool xor_is_right(const struct flight *f, const struct accel_result *r)
{
	size_t n = f->nbytes / XOR_K;

	for (size_t i = 0; i < n; i++) {
		uint8_t x = 0;

		for (unsigned int k = 0; k < XOR_K; k++)
			x ^= f->data[k * n + i];
		if (f->room[i] != x)
			return false;
	}
	return r->out_len == n;
}

static bool sha_is_right(struct client *c, const struct flight *f, const struct accel_result *r)
{
	struct accel_result own;

	return accel_run(c->cpu, c->cpu_sha, f->data, f->nbytes, NULL, 0, NULL, 10000, &own) == 0 &&
	       own.status == ACCEL_ST_OK && memcmp(own.result[0], r->result[0], 32) == 0;
}

static bool deflate_is_right(struct client *c, const struct flight *f, const struct accel_result *r)
{
	struct accel_result own;

	return accel_run(c->cpu, c->cpu_inflate, f->room, r->out_len, c->spare, MAX_OUT, NULL, 10000, &own) == 0 &&
	       own.status == ACCEL_ST_OK && own.out_len == f->nbytes && memcmp(c->spare, f->data, f->nbytes) == 0;
}

static bool is_right(struct client *c, const struct flight *f, const struct accel_result *r)
{
	uint32_t crc;

	switch (f->kind) {
	case CRC:
		crc = crc32c(f->data, f->nbytes);
		return r->result[0][0] == (crc & 255) && r->result[0][1] == (crc >> 8 & 255) &&
		       r->result[0][2] == (crc >> 16 & 255) && r->result[0][3] == crc >> 24;
	case COPY:
		return r->out_len == f->nbytes && memcmp(f->room, f->data, f->nbytes) == 0;
	case XOR:
		return xor_is_right(f, r);
	case SHA:
		return sha_is_right(c, f, r);
	default:
		return deflate_is_right(c, f, r);
	}
}

/* ---- Jobs ---- */

static void choose(struct client *c, struct flight *f)
{
	uint64_t size = rnd(c, 10);

	f->kind = (enum kind)rnd(c, KINDS);
	f->nbytes = 1 + (size_t)rnd(c, size < 6 ? 4096 : size < 9 ? 32768 : MAX_IN);
	if (f->kind == CRC && f->nbytes > 65536)
		f->nbytes = 65536;	/* the oracle goes bit by bit */
	if (f->kind == XOR)
		f->nbytes = 65536;
	f->data = c->pool + rnd(c, POOL - MAX_IN);
	f->in = (struct iovec){ .iov_base = (void *)(uintptr_t)f->data, .iov_len = f->nbytes };
	f->out = (struct iovec){ .iov_base = f->room, .iov_len = MAX_OUT };
	memset(f->room, 0xa5, 64);
	f->cancelled = false;
}

static int submit(struct client *c, struct flight *f)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);
	int n;

	choose(c, f);
	job.plan = c->plan[f->kind];
	job.in = &f->in;
	job.nin = 1;
	if (f->kind != CRC && f->kind != SHA) {
		job.out = &f->out;
		job.nout = 1;
	}
	job.user_data = f;
	n = accel_queue_submit(c->queue, &job, 1);
	if (n != 1)
		return n;
	f->id = job.job_id;
	f->busy = true;
	c->flying++;
	c->jobs++;
	return 1;
}

static bool may_be_lost(uint32_t status)
{
	switch (status) {
	case ACCEL_ST_LEASE_LOST:
	case ACCEL_ST_RESET:
	case ACCEL_ST_TIMEOUT:
	case ACCEL_ST_NO_RESOURCES:
	case ACCEL_ST_BUSY:
	case ACCEL_ST_IO_ERROR:
		return true;
	}
	return false;
}

static void count_end(struct client *c, const struct flight *f, const struct accel_result *r)
{
	c->by_status[r->status < 31 ? r->status : 31]++;
	c->retried += r->retries != 0;
	if (r->status == ACCEL_ST_OK) {
		c->ok++;
		if (!is_right(c, f, r))
			c->wrong = "a result is wrong";
		else if (r->executor == ACCEL_EXEC_FALLBACK || r->executor == ACCEL_EXEC_NONE)
			c->wrong = "the CPU has done what the device was to do";
	} else if (r->status == ACCEL_ST_ABORTED && f->cancelled) {
		c->cancelled++;
	} else if (may_be_lost(r->status)) {
		c->lost++;
		fprintf(stderr, "soak_client: %s, os_error %d, nvme_status %#x, retries %u\n", accel_status_str(r->status),
			r->os_error, r->nvme_status, r->retries);
	} else {
		fprintf(stderr, "soak_client: kind %d, %zu bytes: %s, cancelled %d, os_error %d, nvme_status %#x\n",
			f->kind, f->nbytes, accel_status_str(r->status), f->cancelled, r->os_error, r->nvme_status);
		c->wrong = "a job has failed";
	}
}

static bool take(struct client *c, const struct accel_result *r)
{
	struct flight *f = r->user_data;

	if (f < c->flight || f >= c->flight + DEPTH || !f->busy || f->id != r->job_id) {
		c->wrong = "a result for a job that is not in flight";
		return false;
	}
	f->busy = false;
	c->flying--;
	count_end(c, f, r);
	return !c->wrong;
}

/* Reaps until at most left are in flight: false if results do not come, or are wrong. */
static bool reap(struct client *c, unsigned int left)
{
	uint64_t end = now_ms() + 60000;
	struct accel_result r[DEPTH];

	while (c->flying > left && !c->wrong) {
		int n = accel_queue_reap(c->queue, r, DEPTH, 1, 5000);

		for (int i = 0; i < n; i++)
			if (!take(c, &r[i]))
				return false;
		if (n < 0)
			c->wrong = "accel_queue_reap() failed";
		else if (now_ms() > end)
			c->wrong = "an accepted job has had no result for a minute";
	}
	return !c->wrong;
}

static void cancel_one(struct client *c)
{
	struct flight *f = &c->flight[rnd(c, DEPTH)];

	if (f->busy) {
		f->cancelled = true;
		accel_queue_cancel(c->queue, f->id);
	}
}

static bool lease_is_there(struct client *c)
{
	struct accel_lease_info info;

	return accel_lease_info(c->lease, &info) != -ESTALE;
}

/* Jobs on one lease, until it is lost or a number of them is done. */
static void work(struct client *c)
{
	unsigned int todo = 100 + (unsigned int)rnd(c, 900), depth = 1 + (unsigned int)rnd(c, DEPTH);
	uint64_t lost = c->lost;

	while (todo-- && !c->wrong && now_ms() < c->deadline) {
		struct flight *f = c->flight;
		int n;

		while (f->busy)
			f++;
		n = submit(c, f);
		if (n == -ESTALE)
			break;
		if (n != 1 && n != -EAGAIN) {
			fprintf(stderr, "soak_client: submit: %s\n", accel_strerror(n));
			c->wrong = "a job was not accepted";
		}
		if (rnd(c, 50) == 0)
			cancel_one(c);
		if (!reap(c, depth - 1))
			return;
		if (c->lost > lost && !lease_is_there(c))
			break;
		lost = c->lost;
	}
	reap(c, 0);
}

static bool make_plan(struct client *c, enum kind kind)
{
	struct accel_plan *p;
	int rc;

	if (accel_plan_new(c->ctx, &p))
		return false;
	c->plan[kind] = p;
	rc = kind == CRC ? accel_plan_checksum(p, ACCEL_CRC32C, 0) :
	     kind == COPY ? accel_plan_copy(p) :
	     kind == XOR ? accel_plan_xor(p, XOR_K, 65536 / XOR_K) :
	     kind == SHA ? accel_plan_digest(p, ACCEL_SHA256) : accel_plan_compress(p, ACCEL_DEFLATE, 1, 0, 0);
	if (rc == 0)
		rc = accel_plan_policy(p, ACCEL_DEVICE_ONLY, 0, 0);
	if (rc == 0)
		rc = accel_plan_seal(p, c->dev);
	if (rc)
		fprintf(stderr, "soak_client: plan: %s\n", accel_plan_error(p));
	return rc == 0;
}

static bool make_oracle(struct client *c)
{
	return accel_dev_open(c->ctx, "soft:", &c->cpu) == 0 && accel_plan_new(c->ctx, &c->cpu_sha) == 0 &&
	       accel_plan_new(c->ctx, &c->cpu_inflate) == 0 && accel_plan_digest(c->cpu_sha, ACCEL_SHA256) == 0 &&
	       accel_plan_decompress(c->cpu_inflate, ACCEL_DEFLATE, 0) == 0 &&
	       accel_plan_policy(c->cpu_sha, ACCEL_CPU_ONLY, 0, 0) == 0 &&
	       accel_plan_policy(c->cpu_inflate, ACCEL_CPU_ONLY, 0, 0) == 0 &&
	       accel_plan_seal(c->cpu_sha, NULL) == 0 && accel_plan_seal(c->cpu_inflate, NULL) == 0;
}

static bool open_device(struct client *c, const char *name)
{
	uint64_t end = now_ms() + OPEN_MS;
	int rc;

	do {
		rc = accel_dev_open(c->ctx, name, &c->dev);
		if (rc == 0)
			break;
		usleep(100000);
	} while (now_ms() < end);
	if (rc) {
		fprintf(stderr, "soak_client: %s: %s\n", name, accel_strerror(rc));
		c->wrong = "the device cannot be opened";
		return false;
	}
	c->opened++;
	for (int k = 0; k < KINDS; k++)
		if (!make_plan(c, (enum kind)k)) {
			c->wrong = "a plan cannot be made";
			return false;
		}
	return true;
}

static void close_device(struct client *c)
{
	for (int k = 0; k < KINDS; k++) {
		accel_plan_unref(c->plan[k]);
		c->plan[k] = NULL;
	}
	accel_dev_close(c->dev);
	c->dev = NULL;
}

/* One job by the call that owns its lease. */
static void run_one(struct client *c)
{
	struct flight *f = &c->flight[0];
	struct accel_result r;
	int rc;

	choose(c, f);
	c->runs++;
	rc = accel_run(c->dev, c->plan[f->kind], f->data, f->nbytes, f->room, MAX_OUT, NULL, 30000, &r);
	/* It tries three times again, which so many cuts may outlast. */
	if (rc || may_be_lost(r.status))
		c->refused++;
	else
		count_end(c, f, &r);
}

static bool with_lease(struct client *c)
{
	struct accel_queue_opts opts = ACCEL_INIT(struct accel_queue_opts);
	struct accel_lease_opts want = ACCEL_INIT(struct accel_lease_opts);

	opts.max_retries = 100;
	want.slots_wanted = DEPTH;
	want.slots_min = DEPTH;
	if (accel_lease_acquire(c->dev, &want, 15000, &c->lease))
		return false;
	c->leases++;
	if (accel_queue_new(c->lease, &opts, &c->queue)) {
		accel_lease_release(c->lease);
		return false;
	}
	work(c);
	if (rnd(c, 4) == 0)		/* what is in flight when a queue is freed is cancelled, and waited for */
		for (unsigned int i = 0; i < DEPTH && !c->wrong; i++)
			submit(c, &c->flight[i]);
	accel_queue_free(c->queue);
	for (unsigned int i = 0; i < DEPTH; i++)
		c->flight[i].busy = false;
	c->flying = 0;
	accel_lease_release(c->lease);
	return true;
}

static long rss_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		if (fscanf(f, "%*s %ld", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int nfds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3;	/* ".", ".." and its own */

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool prepare(struct client *c)
{
	c->pool = malloc(POOL);
	c->spare = malloc(MAX_OUT);
	for (unsigned int i = 0; i < DEPTH; i++)
		if (!(c->flight[i].room = malloc(MAX_OUT)))
			return false;
	if (!c->pool || !c->spare)
		return false;
	/* Half words of a small alphabet, half noise. */
	for (size_t i = 0; i < POOL; i++)
		c->pool[i] = (uint8_t)(i >> 15 & 1 ? rnd(c, 256) : (uint64_t)"the quick brown fox "[rnd(c, 20)]);
	return accel_ctx_new(NULL, &c->ctx) == 0 && make_oracle(c);
}

int main(int argc, char **argv)
{
	struct client c = { 0 };
	uint64_t start = now_ms(), seconds;
	long rss_early = 0;
	int fds_early = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: soak_client DEVICE SECONDS SEED\n");
		return 2;
	}
	seconds = strtoull(argv[2], NULL, 10);
	c.rnd = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	c.deadline = start + seconds * 1000;
	if (!prepare(&c)) {
		fprintf(stderr, "soak_client: cannot prepare\n");
		return 1;
	}
	while (!c.wrong && now_ms() < c.deadline && open_device(&c, argv[1])) {
		for (uint64_t n = 1 + rnd(&c, 20); n && !c.wrong && now_ms() < c.deadline; n--) {
			if (rnd(&c, 3) == 0)
				run_one(&c);
			else if (!with_lease(&c))
				c.refused++;
		}
		close_device(&c);
		if (!rss_early && now_ms() - start > seconds * 1000 / 3) {
			rss_early = rss_kib();
			fds_early = nfds();
		}
	}
	printf("jobs=%" PRIu64 " runs=%" PRIu64 " ok=%" PRIu64 " cancelled=%" PRIu64 " lost=%" PRIu64 " refused=%" PRIu64
	       " retried=%" PRIu64 " leases=%" PRIu64 " opened=%" PRIu64 " rss_early=%ld rss=%ld fds_early=%d fds=%d wrong=%s\n",
	       c.jobs, c.runs, c.ok, c.cancelled, c.lost, c.refused, c.retried, c.leases, c.opened, rss_early, rss_kib(),
	       fds_early, nfds(), c.wrong ? c.wrong : "none");
	close_device(&c);
	accel_plan_unref(c.cpu_sha);
	accel_plan_unref(c.cpu_inflate);
	accel_dev_close(c.cpu);
	accel_ctx_unref(c.ctx);
	for (unsigned int i = 0; i < DEPTH; i++)
		free(c.flight[i].room);
	free(c.pool);
	free(c.spare);
	return c.wrong || !c.ok;
}
