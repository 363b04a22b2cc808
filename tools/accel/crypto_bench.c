/* SPDX-License-Identifier: BSD-2-Clause */
/* accel crypto bench: what drivers of the crypto API cost, measured in the kernel by the test module. */
#include "crypto.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTED	16
#define DRIVERS	4

enum { OPT_DRIVER = OPT_LONG };

/* Ours first, then what the kernel would take without us; a name that the kernel does not have is left out. */
static const struct op {
	const char *name, *kind;
	int back;
	const char *drivers[DRIVERS];
} ops[] = {
	{ "compress", "acomp", 0, { "deflate-nvme-accel", "deflate-scomp", "deflate-generic" } },
	{ "decompress", "acomp", 1, { "deflate-nvme-accel", "deflate-scomp", "deflate-generic" } },
	{ "sha256", "ahash", 0, { "sha256-nvme-accel", "sha256", "sha256-generic" } },
	{ "gcm", "aead", 0, { "gcm-aes-nvme-accel", "gcm(aes)", "gcm_base(ctr(aes-generic),ghash-generic)" } },
	{ "xts", "skcipher", 0, { "xts-aes-nvme-accel", "xts(aes)", "xts(ecb(aes-generic))" } },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static const char *const op_names[] = { "compress", "decompress", "sha256", "gcm", "xts", NULL };

struct list {
	uint64_t v[LISTED];
	size_t n;
};

struct bench {
	struct target g;
	struct json_object *results;
	bool op[OPS];
	const char *driver;
	struct list sizes, depths;
	uint64_t seconds;
};

static const struct tool_opt bench_opts[] = {
	{ 'p', "op", "compress|decompress|sha256|gcm|xts", "what to measure; once for each (all)", NULL },
	{ 's', "size", "BYTES[,BYTES]...", "of the requests (4k,16k,64k,128k)", NULL },
	{ 'n', "depth", "N[,N]...", "requests at once (1,32)", NULL },
	{ 't', "seconds", "N", "for each measurement (1)", NULL },
	{ OPT_DRIVER, "driver", "NAME", "this driver alone, with one --op (the accelerators', and software's)", NULL },
	{ 0 },
};

static int take_list(struct bench *b, const char *option, uint64_t min, uint64_t max, struct list *l)
{
	char *copy = strdup(optarg), *rest = copy, *word;
	int rc = copy ? 0 : tool_error(b->g.t, NULL, "%s", strerror(ENOMEM));

	l->n = 0;
	while (!rc && (word = strsep(&rest, ","))) {
		if (l->n == LISTED)
			rc = tool_usage(b->g.t, "%s: more than %u numbers", option, LISTED);
		else
			rc = opts_number(b->g.t, option, word, min, max, &l->v[l->n++]);
	}
	free(copy);
	return rc;
}

static int bench_option(struct bench *b, int c)
{
	int i;

	if (tg_option(&b->g, c))
		return 0;
	switch (c) {
	case 'p':
		i = opts_choice(b->g.t, "--op", optarg, op_names);
		if (i >= 0)
			b->op[i] = true;
		return i < 0 ? TOOL_USAGE : 0;
	case 's':
		return take_list(b, "--size", 16, 4194304, &b->sizes);
	case 'n':
		return take_list(b, "--depth", 1, 4096, &b->depths);
	case 't':
		return opts_number(b->g.t, "--seconds", optarg, 1, 3600, &b->seconds);
	default:
		b->driver = optarg;
		return 0;
	}
}

/* ---- One measurement ---- */

/* How many requests the accelerators have been given so far. */
static uint64_t given(struct bench *b)
{
	static const char *const names[] = { "comp", "decomp", "encrypt", "decrypt", "cksum" };
	char name[32];
	uint64_t sum = 0;
	int err;
	struct json_object *o = cr_stats(&b->g, NULL, &err);

	for (size_t i = 0; o && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s_requests", names[i]);
		sum += (uint64_t)tg_int(tg_get(o, "counters"), name);
	}
	json_object_put(o);
	return sum;
}

/* Asks the test module; its answer in buf. 0 or a negative errno. */
static int ask(struct bench *b, const char *line, char *buf, size_t n)
{
	char path[TG_PATH];
	ssize_t got = -1;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/kernel/debug/" CR_TEST "/run", b->g.sys);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, line, strlen(line)) < 0 || (got = pread(fd, buf, n - 1, 0)) < 0)
		err = -errno;
	close(fd);
	buf[got > 0 ? got : 0] = 0;
	return err;
}

static struct json_object *numbers(char *text)
{
	struct json_object *o = json_object_new_object();
	char *line, *value, *end;
	uint64_t v;

	while ((line = strsep(&text, "\n"))) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = 0;
		v = strtoull(value, &end, 10);
		if (*end)
			out_add_str(o, line, value);
		else
			out_add_num(o, line, v);
	}
	return o;
}

static void add_ratios(struct json_object *o, uint64_t ours)
{
	double bytes = (double)tg_int(o, "bytes"), jobs = (double)tg_int(o, "jobs"), mib = bytes / 1048576;

	if (!jobs || !mib)
		return;
	out_add_real(o, "mb_per_s", bytes * 1e3 / (double)tg_int(o, "wall_ns"));
	out_add_real(o, "task_ns_per_mib", (double)tg_int(o, "task_ns") / mib);
	out_add_real(o, "softirq_ns_per_mib", (double)tg_int(o, "softirq_ns") / mib);
	out_add_real(o, "busy_ns_per_mib", (double)tg_int(o, "busy_ns") / mib);
	out_add_real(o, "accelerated", (double)ours / jobs);
}

static int measure(struct bench *b, const struct op *op, const char *driver, uint64_t size, uint64_t depth)
{
	char line[512], text[2048];
	struct json_object *o;
	uint64_t before = given(b);
	int err;

	snprintf(line, sizeof(line), "kind=%s driver=%s bench=1 back=%d size=%llu depth=%llu seconds=%llu", op->kind, driver, op->back,
		 (unsigned long long)size, (unsigned long long)depth, (unsigned long long)b->seconds);
	err = ask(b, line, text, sizeof(text));
	/* A driver that this kernel does not have, or that takes no such size. */
	if ((err == -ENOENT || err == -EIO) && !b->driver)
		return 0;
	if (err)
		return tool_error(b->g.t, driver, "%s", err == -ENOENT ? "there is no such driver (see /proc/crypto)" : strerror(-err));
	o = numbers(text);
	out_add_str(o, "operation", op->name);
	out_add_str(o, "driver", driver);
	out_add_num(o, "size", size);
	out_add_num(o, "depth", depth);
	add_ratios(o, given(b) - before);
	json_object_array_add(b->results, o);
	return tg_int(o, "faults") ? tool_error(b->g.t, driver, "%s", tg_str(o, "fault")) : 0;
}

static int measure_op(struct bench *b, const struct op *op)
{
	const char *const *drivers = b->driver ? &b->driver : op->drivers;
	size_t n = b->driver ? 1 : DRIVERS;
	int rc = 0;

	for (size_t s = 0; s < b->sizes.n; s++)
		for (size_t d = 0; d < b->depths.n; d++)
			for (size_t i = 0; i < n && drivers[i] && !rc; i++)
				rc = measure(b, op, drivers[i], b->sizes.v[s], b->depths.v[d]);
	return rc;
}

/* ---- The verb ---- */

static const struct out_column columns[] = {
	{ "operation", "OPERATION", OUT_TEXT },
	{ "driver", "DRIVER", OUT_TEXT },
	{ "size", "SIZE", OUT_NUMBER },
	{ "depth", "DEPTH", OUT_NUMBER },
	{ "mb_per_s", "RATE", OUT_RATE },
	{ "task_ns_per_mib", "TASK/MiB", OUT_NS },
	{ "softirq_ns_per_mib", "SOFTIRQ/MiB", OUT_NS },
	{ "busy_ns_per_mib", "ALL CPUS/MiB", OUT_NS },
	{ "accelerated", "ACCELERATED", OUT_RATIO },
	{ 0 },
};

static void text_bench(FILE *f, struct json_object *root)
{
	out_table(f, root, columns, "no driver could be measured");
}

static int run_all(struct bench *b)
{
	char path[TG_PATH];
	bool all = true;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/kernel/debug/" CR_TEST "/run", b->g.sys);
	if (!tg_exists(path))
		tg_modprobe(&b->g, CR_TEST);
	if (!tg_exists(path)) {
		tool_error(b->g.t, NULL, "the module " CR_TEST " is not loaded, or debugfs not mounted (make modules TESTS=1 builds it)");
		return TOOL_NODEV;
	}
	for (size_t i = 0; i < OPS; i++)
		all = all && !b->op[i];
	b->results = json_object_new_array();
	for (size_t i = 0; i < OPS && !rc; i++)
		if (all || b->op[i])
			rc = measure_op(b, &ops[i]);
	return rc;
}

static int run_bench(struct tool *t, int argc, char **argv)
{
	struct bench b = { .sizes = { { 4096, 16384, 65536, 131072 }, 4 }, .depths = { { 1, 32 }, 2 }, .seconds = 1 };
	int c, rc = 0, chosen = 0, out;

	cr_init(&b.g, t);
	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		rc = bench_option(&b, c);
	if (rc || c != OPTS_END)
		return rc ? rc : t->status;
	for (size_t i = 0; i < OPS; i++)
		chosen += b.op[i];
	if (optind < argc)
		return tool_usage(t, "'%s': bench takes no operand", argv[optind]);
	if (b.driver && chosen != 1)
		return tool_usage(t, "--driver goes with one --op");
	rc = tg_begin(&b.g, TG_LOOK);
	rc = rc ? rc : run_all(&b);
	if (!b.results)
		return rc;
	out = out_listing(t, b.results, text_bench);
	return rc ? rc : out;
}

const struct verb verb_crypto_bench = {
	.name = "bench",
	.summary = "Measure drivers of the crypto API, and the processor's time that they cost",
	.usage = "[options]",
	.opts = bench_opts,
	.more_opts = tg_common_opts,
	.notes = "It needs the module " CR_TEST ", which is for tests and is not installed.\n"
		 "TASK is the time of the task that asks, SOFTIRQ that of interrupts, ALL CPUS all that\n"
		 "the machine did meanwhile.\n",
	.flags = VERB_JSON,
	.run = run_bench,
};
