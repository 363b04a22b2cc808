/* SPDX-License-Identifier: BSD-2-Clause */
/* accel p2p bench: from device to device, with direct I/O through memory, and as dd does that, side by side. */
#include "p2p.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OPT_ROUNDS = OPT_LONG, OPT_CHUNK, OPT_DEPTH, OPT_PROVIDER };

#define ROUNDS_MAX 100

static const struct tool_opt opts[] = {
	{ OPT_ROUNDS, "rounds", "N", "copy N times each way, in turn (3)", NULL },
	{ OPT_PROVIDER, "provider", "DEVICE", "only through the memory of this controller", NULL },
	{ OPT_CHUNK, "chunk", "SIZE", "bytes of one transfer (2 MiB)", NULL },
	{ OPT_DEPTH, "depth", "N", "transfers at a time (8)", NULL },
	{ 'f', "force", NULL, "write to a device that is in use (mounted, or part of another)", NULL },
	{ 'q', "quiet", NULL, "no progress", NULL },
	{ 0 },
};

struct bench;

/* One way, over all rounds. */
struct way {
	const char *name;
	int (*copy)(struct bench *b, const struct way *w, struct accel_copy_info *info);
	uint32_t flag;
	struct accel_copy_info last;
	uint64_t bytes, p2p, memory, ns;
	double own_cpu, machine_cpu;	/* seconds */
	int rc;
};

struct bench {
	struct tool *t;
	struct p2p_operand src, dst;
	struct accel_copy_opts o;
	uint64_t rounds;
	bool force;
	struct way way[3];	/* device to device, through memory, as dd */
};

static double own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/*
 * Of all processors together but for idling: kernel threads and interrupts count, and so does whatever else runs. By what was
 * idle, which the kernel measures; the rest it samples, and short interrupts slip through.
 */
static double machine_cpu(void)
{
	unsigned long long v[5] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	double all = (double)tool_now_ns() / 1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN), idle = 0;

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4]) == 5)
		idle = (double)(v[3] + v[4]) / (double)sysconf(_SC_CLK_TCK);
	fclose(f);
	return all - idle;
}

static int by_library(struct bench *b, const struct way *w, struct accel_copy_info *info)
{
	struct accel_copy_opts o = b->o;
	struct accel_copy *cp;
	int rc;

	o.flags = w->flag | ACCEL_COPY_SYNC;
	rc = accel_copy_start(b->t->ctx, &b->src.range, &b->dst.range, &o, &cp, info);
	return rc ? rc : p2p_finish(b->t, cp, w->name, info);
}

/* What is less than a block is left out. */
static int by_dd(struct bench *b, const struct way *w, struct accel_copy_info *info)
{
	uint64_t nbytes = b->way[1].last.total_nbytes & ~4095ull;
	uint64_t begun = tool_now_ns();
	int rc = nbytes ? p2p_dd(&b->src, &b->dst, nbytes) : -EINVAL;

	(void)w;
	info->elapsed_ns = tool_now_ns() - begun;
	info->done_nbytes = info->memory_nbytes = nbytes;
	return rc;
}

static int round_of(struct bench *b, struct way *w)
{
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	double own = own_cpu(), machine = machine_cpu();
	int rc = w->copy(b, w, &info);

	w->last = info;
	if (rc)
		return rc;
	w->bytes += info.done_nbytes;
	w->p2p += info.p2p_nbytes;
	w->memory += info.memory_nbytes;
	w->ns += info.elapsed_ns;
	w->own_cpu += own_cpu() - own;
	machine = machine_cpu() - machine;
	w->machine_cpu += machine > 0 ? machine : 0;
	return 0;
}

static double speed(const struct way *w)
{
	return w->ns ? (double)w->bytes * 1e3 / (double)w->ns : 0;
}

static double cpu_per_gib(const struct way *w)
{
	return w->bytes ? w->machine_cpu * (double)(1u << 30) / (double)w->bytes : 0;
}

static struct json_object *way_json(const struct way *w)
{
	struct json_object *o = json_object_new_object();
	double gib = (double)w->bytes / (double)(1u << 30), all = (double)(w->p2p + w->memory);

	out_add_str(o, "way", w->name);
	out_add_str(o, "provider", w->last.provider);
	out_add_num(o, "bytes", w->bytes);
	out_add_real(o, "megabytes_per_second", speed(w));
	out_add_real(o, "process_cpu_seconds_per_gib", gib > 0 ? w->own_cpu / gib : 0);
	out_add_real(o, "machine_cpu_seconds_per_gib", cpu_per_gib(w));
	out_add_real(o, "p2p_share", all > 0 ? (double)w->p2p / all : 0);
	/* What is read into memory is written from it again. */
	out_add_real(o, "memory_bytes_per_byte", w->bytes ? 2.0 * (double)w->memory / (double)w->bytes : 0);
	return o;
}

static void text(FILE *f, struct json_object *root)
{
	static const struct out_column columns[] = {
		{ "way", "WAY", OUT_TEXT },
		{ "bytes", "COPIED", OUT_BYTES },
		{ "megabytes_per_second", "SPEED", OUT_RATE },
		{ "process_cpu_seconds_per_gib", "CPU s/GiB, OWN", OUT_NUMBER },
		{ "machine_cpu_seconds_per_gib", "MACHINE", OUT_NUMBER },
		{ "p2p_share", "THROUGH CMB", OUT_RATIO },
		{ "memory_bytes_per_byte", "MEMORY BYTES PER BYTE", OUT_NUMBER },
		{ 0 },
	};
	static const struct out_column ratios[] = {
		{ "cpu_ratio", "CPU time, device to device : as dd", OUT_NUMBER },
		{ "speed_ratio", "speed, device to device : as dd", OUT_NUMBER },
		{ 0 },
	};
	struct json_object *ways, *cpu;

	json_object_object_get_ex(root, "ways", &ways);
	out_table(f, ways, columns, NULL);
	if (json_object_object_get_ex(root, "cpu_ratio", &cpu) && cpu) {
		fputc('\n', f);
		out_fields(f, root, ratios);
	}
}

/* Of the first way to dd; null without one of the two. */
static void add_ratios(const struct bench *b, struct json_object *root)
{
	const struct way *p2p = &b->way[0], *dd = &b->way[2];
	bool both = !p2p->rc && !dd->rc && cpu_per_gib(dd) > 0 && speed(dd) > 0;

	json_object_object_add(root, "cpu_ratio", NULL);
	json_object_object_add(root, "speed_ratio", NULL);
	if (!both)
		return;
	out_add_real(root, "cpu_ratio", cpu_per_gib(p2p) / cpu_per_gib(dd));
	out_add_real(root, "speed_ratio", speed(p2p) / speed(dd));
}

static int report(struct bench *b)
{
	struct json_object *root = json_object_new_object(), *ways = json_object_new_array();

	out_add_num(root, "schema", 1);
	out_add_str(root, "source", b->src.own);
	out_add_str(root, "destination", b->dst.own);
	for (unsigned int i = 0; i < 3; i++)
		if (!b->way[i].rc)
			json_object_array_add(ways, way_json(&b->way[i]));
	json_object_object_add(root, "ways", ways);
	add_ratios(b, root);
	out_add_str(root, "why_not_p2p", b->way[0].rc ? b->way[0].last.why : "");
	return out_listing(b->t, root, text);
}

/* In turn, so that what else happens on the machine falls on all. Without the first way, or dd's, the others are still shown. */
static int bench(struct bench *b)
{
	static const struct way ways[3] = {
		{ .name = "device to device", .copy = by_library, .flag = ACCEL_COPY_NO_FALLBACK },
		{ .name = "direct I/O, memory", .copy = by_library, .flag = ACCEL_COPY_MEMORY },
		{ .name = "as dd, 1 MiB", .copy = by_dd },
	};
	int rc;

	memcpy(b->way, ways, sizeof(ways));
	for (uint64_t r = 0; r < b->rounds; r++)
		for (unsigned int i = 0; i < 3; i++)
			if (!b->way[i].rc)
				b->way[i].rc = round_of(b, &b->way[i]);
	if (b->way[1].rc)
		return p2p_failed(b->t, b->src.own, b->dst.own, b->way[1].rc, &b->way[1].last);
	if (b->way[0].rc == -EREMOTEIO)
		tool_warning(b->t, NULL, "not from device to device: %s", b->way[0].last.why);
	rc = b->way[0].rc && b->way[0].rc != -EREMOTEIO ?
		     p2p_failed(b->t, b->src.own, b->dst.own, b->way[0].rc, &b->way[0].last) : 0;
	return rc ? rc : report(b);
}

static int set_option(struct bench *b, int c)
{
	uint64_t v = 0;
	int rc = 0;

	if (c == OPT_ROUNDS)
		return opts_number(b->t, "--rounds", optarg, 1, ROUNDS_MAX, &b->rounds);
	if (c == OPT_PROVIDER)
		b->o.provider = strncmp(optarg, "/dev/", 5) ? optarg : optarg + 5;
	else if (c == 'f')
		b->force = true;
	else if (c == 'q')
		b->t->quiet = true;
	else if (c == OPT_DEPTH && !(rc = opts_number(b->t, "--depth", optarg, 1, 64, &v)))
		b->o.depth = (uint32_t)v;
	else if (c == OPT_CHUNK && !(rc = opts_number(b->t, "--chunk", optarg, 4096, 16 << 20, &v)))
		b->o.chunk_nbytes = (uint32_t)v;
	if (!rc && b->o.chunk_nbytes % 4096)
		rc = tool_usage(b->t, "--chunk: '%s' is no multiple of 4096", optarg);
	return rc;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct bench b = { .t = t, .o = ACCEL_INIT(struct accel_copy_opts), .rounds = 3 };
	int c, rc = 0;

	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		if (!p2p_root(t, c))
			rc = set_option(&b, c);
	if (rc || c != OPTS_END)
		return rc ? rc : t->status;
	if (argc - optind != 2)
		return tool_usage(t, "bench takes a source and a destination");
	rc = p2p_operand(t, argv[optind], &b.src);
	rc = rc ? rc : p2p_operand(t, argv[optind + 1], &b.dst);
	if (!rc && !b.force)
		rc = p2p_unused(t, b.dst.own);
	if (!rc)
		rc = tool_ctx(t) ? bench(&b) : TOOL_FAILED;
	p2p_operand_free(&b.src);
	p2p_operand_free(&b.dst);
	return rc;
}

const struct verb verb_p2p_bench = {
	.name = "bench",
	.summary = "Compare copies from device to device with copies through memory",
	.usage = "[options] SOURCE[:OFFSET[:LENGTH]] DESTINATION[:OFFSET]",
	.opts = opts,
	.more_opts = p2p_root_opts,
	.flags = VERB_JSON,
	.notes = "DESTINATION is overwritten. CPU time is that of the process, and of the whole machine but for idling.\n",
	.run = run,
};
