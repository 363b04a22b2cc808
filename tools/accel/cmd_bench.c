/* SPDX-License-Identifier: BSD-2-Clause */
/* accel bench: throughput, latency and processor use over depth. */
#include "bench.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_OP = OPT_LONG + 1, OPT_SIZE, OPT_DEPTH, OPT_THREADS, OPT_MODE, OPT_SECONDS, OPT_INPUT, OPT_PLOT,
	OPT_LEVEL, OPT_SCHEME,
};

enum { LIST_MAX = 32, INPUT_MAX = 64 << 20 };

struct list {
	uint64_t v[LIST_MAX];
	unsigned int n;
};

struct bench {
	struct tool *t;
	struct bench_op op[LIST_MAX];
	unsigned int nop;
	struct list size, depth, threads;
	bool sync, async;
	double seconds;
	const char *input, *plot;
	unsigned int level, k, m, flags;
	uint8_t *text;
	size_t ntext;
	struct bench_point *point;
	size_t npoint, ndone;
	struct progress progress;
};

static const struct tool_opt opts[] = {
	{ OPT_OP, "op", "OP,...", "operations (default compress,crc32c,seal,ec)", NULL },
	{ OPT_SIZE, "size", "SIZE,...", "bytes of a job; erasure coding: of a block (default 128k)", NULL },
	{ OPT_DEPTH, "depth", "N,...", "jobs in flight a thread (default 1,2,4,8,16)", NULL },
	{ OPT_THREADS, "threads", "N,...", "threads that give jobs (default 1)", NULL },
	{ OPT_MODE, "mode", "MODE", "sync, async or both (default sync,async)", NULL },
	{ 's', "seconds", "S", "length of a measurement (default 0.3)", NULL },
	{ OPT_INPUT, "input", "FILE", "what to work on, up to 64 MiB of it (default: made text)", NULL },
	{ OPT_LEVEL, "level", "N", "of compression (default 1)", NULL },
	{ OPT_SCHEME, "scheme", "K+M", "of erasure coding (default 10+2)", NULL },
	{ OPT_PLOT, "plot", "FILE", "draw throughput and processor use over depth: FILE.svg or FILE.png",
	  NULL },
	{ 'f', "force", NULL, "replace a picture that exists", NULL },
	{ 0 },
};

/* ---- Options ---- */

/* Calls each() for the words of text between commas. */
static int words(struct bench *b, const char *text, int (*each)(struct bench *b, const char *word, void *arg),
		 void *arg)
{
	char word[64];

	while (*text) {
		size_t n = strcspn(text, ",");
		int rc;

		if (n >= sizeof(word))
			return tool_usage(b->t, "'%s' is too long", text);
		memcpy(word, text, n);
		word[n] = 0;
		rc = each(b, word, arg);
		if (rc)
			return rc;
		text += n + (text[n] == ',');
	}
	return 0;
}

struct number {
	const char *option;
	struct list *list;
	uint64_t max;
};

static int add_number(struct bench *b, const char *word, void *arg)
{
	struct number *n = arg;

	if (n->list->n == LIST_MAX)
		return tool_usage(b->t, "%s: more than %d values", n->option, LIST_MAX);
	return opts_number(b->t, n->option, word, 1, n->max, &n->list->v[n->list->n++]);
}

static int numbers(struct bench *b, const char *option, uint64_t max, struct list *list)
{
	struct number n = { option, list, max };

	list->n = 0;
	return words(b, optarg, add_number, &n);
}

static int add_op(struct bench *b, const char *word, void *arg)
{
	(void)arg;
	if (b->nop == LIST_MAX)
		return tool_usage(b->t, "--op: more than %d operations", LIST_MAX);
	if (!bench_op_find(word, &b->op[b->nop])) {
		opts_choice(b->t, "--op", word, bench_op_names);
		return TOOL_USAGE;
	}
	b->nop++;
	return 0;
}

static int add_mode(struct bench *b, const char *word, void *arg)
{
	static const char *const modes[] = { "sync", "async", NULL };
	int i = opts_choice(b->t, "--mode", word, modes);

	(void)arg;
	if (i < 0)
		return TOOL_USAGE;
	*(i ? &b->async : &b->sync) = true;
	return 0;
}

static int set_seconds(struct bench *b)
{
	char *end;

	b->seconds = strtod(optarg, &end);
	/* The comparison is false for what is not a number, too. */
	if (end == optarg || *end || !(b->seconds >= 0.01 && b->seconds <= 3600))
		return tool_usage(b->t, "--seconds: '%s' is not between 0.01 and 3600", optarg);
	return 0;
}

static int set_scheme(struct bench *b)
{
	char k[8] = "";
	size_t n = strcspn(optarg, "+");
	uint64_t v;

	if (!optarg[n] || n >= sizeof(k))
		return tool_usage(b->t, "--scheme: '%s' is not of the form 10+2", optarg);
	memcpy(k, optarg, n);
	if (opts_number(b->t, "--scheme", k, 1, 254, &v))
		return TOOL_USAGE;
	b->k = (unsigned int)v;
	if (opts_number(b->t, "--scheme", optarg + n + 1, 1, 255 - b->k, &v))
		return TOOL_USAGE;
	b->m = (unsigned int)v;
	return 0;
}

static int option(struct bench *b, int c)
{
	uint64_t v;
	int rc;

	switch (c) {
	case OPT_OP:
		return words(b, optarg, add_op, NULL);
	case OPT_SIZE:
		return numbers(b, "--size", 1 << 30, &b->size);
	case OPT_DEPTH:
		return numbers(b, "--depth", BENCH_DEPTH_MAX, &b->depth);
	case OPT_THREADS:
		return numbers(b, "--threads", BENCH_THREADS_MAX, &b->threads);
	case OPT_MODE:
		return words(b, optarg, add_mode, NULL);
	case 's':
		return set_seconds(b);
	case OPT_INPUT:
		b->input = optarg;
		return 0;
	case OPT_PLOT:
		b->plot = optarg;
		return bench_plot_check(b->t, optarg);
	case OPT_LEVEL:
		rc = opts_number(b->t, "--level", optarg, 0, 9, &v);
		b->level = (unsigned int)v;
		return rc;
	case OPT_SCHEME:
		return set_scheme(b);
	case 'f':
		b->flags |= OUT_FORCE;
		return 0;
	}
	return 0;
}

static void defaults(struct bench *b)
{
	static const char *const names[] = { "compress", "crc32c", "seal", "ec" };

	for (unsigned int i = 0; !b->nop && i < 4; i++)
		bench_op_find(names[i], &b->op[i]);
	if (!b->nop)
		b->nop = 4;
	if (!b->size.n)
		b->size = (struct list){ { 128 << 10 }, 1 };
	if (!b->depth.n)
		b->depth = (struct list){ { 1, 2, 4, 8, 16 }, 5 };
	if (!b->threads.n)
		b->threads = (struct list){ { 1 }, 1 };
	if (!b->sync && !b->async)
		b->sync = b->async = true;
}

/* ---- Input ---- */

/* Prose of sorts: words of a small vocabulary in an order without pattern; deflate makes a third of it. */
static void make_text(uint8_t *p, size_t n)
{
	static const char vocabulary[] =
		"the of and a to in is accelerator queue block page write read command stripe parity digest "
		"window stream buffer latency throughput namespace controller descriptor lease slot epoch "
		"compress erasure cipher checksum depth thread device kernel memory storage fabric target "
		"host ";
	uint64_t x = 88172645463325252u;
	size_t at = 0;

	while (at < n) {
		size_t i, start;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		start = (size_t)(x % (sizeof(vocabulary) - 16));
		for (i = start; vocabulary[i] != ' '; i++)
			;
		do
			p[at++] = (uint8_t)vocabulary[i++];
		while (at < n && vocabulary[i] && vocabulary[i] != ' ');
		if (at < n && x >> 60 == 0)
			p[at++] = (uint8_t)('0' + (x >> 32) % 10);
	}
}

static int load(struct bench *b)
{
	struct file_in in;
	ssize_t n;

	b->ntext = b->input ? INPUT_MAX : 4 << 20;
	b->text = malloc(b->ntext);
	if (!b->text)
		return tool_error(b->t, NULL, "out of memory");
	if (!b->input) {
		make_text(b->text, b->ntext);
		return 0;
	}
	if (file_open(b->t, b->input, 0, &in))
		return TOOL_FAILED;
	n = file_read(b->t, &in, b->text, b->ntext);
	file_close(&in);
	if (n < 0)
		return TOOL_FAILED;
	b->ntext = (size_t)n;
	return n ? 0 : tool_error(b->t, b->input, "is empty");
}

/* ---- Measuring ---- */

static int measure(struct bench *b, struct bench_case *c, enum bench_mode mode, unsigned int threads,
		   unsigned int depth, const char *skip)
{
	struct bench_point *p = &b->point[b->ndone++];
	const struct accel_dev_info *info = accel_dev_info(b->t->dev);
	/* accel_run() has a slot of its own beside the lease of the thread. */
	unsigned int slots = threads * (depth + (mode == BENCH_SYNC && depth == 1));
	int rc = 0;

	p->op = c->op.name;
	p->size = c->size;
	p->mode = mode;
	p->threads = threads;
	p->depth = depth;
	if (skip)
		snprintf(p->skip, sizeof(p->skip), "%s", skip);
	else if (slots > info->nslot)
		snprintf(p->skip, sizeof(p->skip), "the device has %u slots", info->nslot);
	else
		rc = bench_run(c, p, b->seconds);
	progress_update(&b->progress, b->ndone);
	return rc;
}

static int series(struct bench *b, const struct bench_op *op, size_t size)
{
	struct bench_case c = { .t = b->t, .op = *op, .level = b->level, .k = b->k, .m = b->m, .size = size };
	const char *skip = NULL;
	int rc = bench_case_init(&c, b->text, b->ntext, &skip);

	for (unsigned int t = 0; rc <= 0 && t < b->threads.n; t++) {
		for (unsigned int mode = BENCH_SYNC; mode <= BENCH_ASYNC; mode++) {
			if (!(mode == BENCH_SYNC ? b->sync : b->async))
				continue;
			for (unsigned int d = 0; d < b->depth.n && rc <= 0; d++)
				rc = measure(b, &c, mode, (unsigned int)b->threads.v[t],
					     (unsigned int)b->depth.v[d], skip);
		}
	}
	bench_case_fini(&c);
	return rc > 0 ? rc : 0;
}

static int measure_all(struct bench *b)
{
	int rc = 0;

	b->npoint = (size_t)b->nop * b->size.n * b->depth.n * b->threads.n * (b->sync + b->async);
	b->point = calloc(b->npoint, sizeof(*b->point));
	if (!b->point)
		return tool_error(b->t, NULL, "out of memory");
	progress_start(&b->progress, b->t, "bench", b->npoint);
	for (unsigned int o = 0; o < b->nop && !rc; o++)
		for (unsigned int s = 0; s < b->size.n && !rc; s++)
			rc = series(b, &b->op[o], b->size.v[s]);
	progress_end(&b->progress);
	return rc;
}

/* ---- Listing ---- */

static const char *executors(const struct bench_point *p)
{
	unsigned int best = 0;

	for (unsigned int e = 1; e < 5; e++)
		if (p->executor[e] > p->executor[best])
			best = e;
	return p->executor[best] == p->jobs ? accel_executor_str(best) : "mixed";
}

static struct json_object *point_json(const struct bench_point *p)
{
	struct json_object *o = json_object_new_object(), *by = json_object_new_object();

	out_add_str(o, "op", p->op);
	out_add_num(o, "size", p->size);
	out_add_str(o, "mode", p->mode == BENCH_SYNC ? "sync" : "async");
	out_add_num(o, "threads", p->threads);
	out_add_num(o, "depth", p->depth);
	out_add_str(o, "skipped", p->skip);
	out_add_num(o, "jobs", p->jobs);
	out_add_real(o, "seconds", p->seconds);
	out_add_num(o, "bytes_per_second", (uint64_t)p->bytes_per_s);
	out_add_num(o, "jobs_per_second", (uint64_t)p->jobs_per_s);
	out_add_num(o, "latency_mean_ns", p->mean_ns);
	out_add_num(o, "latency_p50_ns", p->p50_ns);
	out_add_num(o, "latency_p99_ns", p->p99_ns);
	out_add_num(o, "latency_p999_ns", p->p999_ns);
	out_add_num(o, "latency_max_ns", p->max_ns);
	out_add_real(o, "cpu", p->cpu);
	out_add_num(o, "verified", p->verified);
	out_add_num(o, "wrong", p->wrong);
	for (unsigned int e = 1; e < 5; e++)
		out_add_num(by, accel_executor_str(e), p->executor[e]);
	out_add_str(o, "executor", p->skip[0] ? "none" : executors(p));
	json_object_object_add(o, "executors", by);
	return o;
}

static void text_listing(FILE *f, struct json_object *root)
{
	struct json_object *points = NULL;

	json_object_object_get_ex(root, "points", &points);
	fprintf(f, "%-16s %9s %-5s %3s %5s %9s %9s %9s %9s %9s %6s  %s\n", "OP", "SIZE", "MODE", "THR",
		"DEPTH", "MB/s", "JOBS/s", "p50 us", "p99 us", "p99.9 us", "CPU %", "BY");
	for (size_t i = 0; i < json_object_array_length(points); i++) {
		struct json_object *o = json_object_array_get_idx(points, i), *v;
		char size[32];
#define NUM(key) (json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : 0)
#define STR(key) (json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "")
		fprintf(f, "%-16s ", STR("op"));
		fprintf(f, "%9s ", out_size(size, sizeof(size), (uint64_t)NUM("size")));
		fprintf(f, "%-5s %3.0f ", STR("mode"), NUM("threads"));
		fprintf(f, "%5.0f ", NUM("depth"));
		if (*STR("skipped")) {
			fprintf(f, "skipped: %s\n", STR("skipped"));
			continue;
		}
		fprintf(f, "%9.1f ", NUM("bytes_per_second") / 1e6);
		fprintf(f, "%9.0f ", NUM("jobs_per_second"));
		fprintf(f, "%9.1f ", NUM("latency_p50_ns") / 1e3);
		fprintf(f, "%9.1f ", NUM("latency_p99_ns") / 1e3);
		fprintf(f, "%9.1f ", NUM("latency_p999_ns") / 1e3);
		fprintf(f, "%6.0f  ", 100 * NUM("cpu"));
		fprintf(f, "%s%s\n", STR("executor"), NUM("wrong") ? "  WRONG RESULTS" : "");
#undef NUM
#undef STR
	}
}

static int report(struct bench *b)
{
	struct json_object *root = json_object_new_object(), *points = json_object_new_array();
	const struct accel_dev_info *info = accel_dev_info(b->t->dev);
	uint64_t wrong = 0;
	int rc;

	out_add_str(root, "device", info->path);
	out_add_str(root, "name", info->name);
	out_add_bool(root, "software", info->software);
	out_add_num(root, "engines", info->neng);
	out_add_num(root, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < b->ndone; i++) {
		wrong += b->point[i].wrong;
		json_object_array_add(points, point_json(&b->point[i]));
	}
	json_object_object_add(root, "points", points);
	rc = out_listing(b->t, root, text_listing);
	if (wrong)
		return tool_error(b->t, info->path, "%llu results were wrong", (unsigned long long)wrong);
	return rc;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct bench b = { .t = t, .seconds = 0.3, .level = 1, .k = 10, .m = 2 };
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		rc = option(&b, c);
		if (rc)
			return rc;
	}
	if (c == OPTS_STOP)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s' is not wanted (--input names a file)", argv[optind]);
	defaults(&b);
	rc = tool_dev(t, 0, 0);
	if (!rc)
		rc = load(&b);
	if (!rc)
		rc = measure_all(&b);
	if (!rc)
		rc = report(&b);
	if (!rc && b.plot)
		rc = bench_plot(t, b.plot, b.flags, b.point, b.ndone);
	free(b.text);
	free(b.point);
	return rc;
}

const struct verb verb_bench = {
	.name = "bench",
	.summary = "Measure throughput, latency and processor use over depth",
	.usage = "[--op OP,...] [--size SIZE,...] [--depth N,...] [--threads N,...] [--mode MODE] [--plot "
		 "FILE]",
	.opts = opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "MB are millions of bytes of input (decompress, open: of output). A synchronous\n"
		 "measurement at depth N is one call with N jobs at a time, an asynchronous one a queue\n"
		 "kept full with N jobs. Latency is from submission to the return of the result. CPU is\n"
		 "that of the whole process, 100 is one processor. Status, length, digest and tag of every\n"
		 "result are checked, and the contents of the last ones.\n",
	.run = run,
};
