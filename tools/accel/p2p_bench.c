/* SPDX-License-Identifier: BSD-2-Clause */
/* accel p2p bench: from device to device, and with direct I/O through memory, side by side. */
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
	{ OPT_CHUNK, "chunk", "SIZE", "bytes of one transfer (512 KiB)", NULL },
	{ OPT_DEPTH, "depth", "N", "transfers at a time (8)", NULL },
	{ 'q', "quiet", NULL, "no progress", NULL },
	{ 0 },
};

/* One way, over all rounds. */
struct way {
	const char *name;
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
	struct way way[2];
};

static double own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Of all processors together but for idling: kernel threads and interrupts count, and so does whatever else runs. */
static double machine_cpu(void)
{
	unsigned long long v[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	double ticks = 0;

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6]) == 7)
		ticks = (double)(v[0] + v[1] + v[2] + v[5] + v[6]);
	fclose(f);
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

static int round_of(struct bench *b, struct way *w)
{
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	struct accel_copy_opts o = b->o;
	double own = own_cpu(), machine = machine_cpu();
	struct accel_copy *cp;
	int rc;

	o.flags = w->flag | ACCEL_COPY_SYNC;
	rc = accel_copy_start(b->t->ctx, &b->src.range, &b->dst.range, &o, &cp, &info);
	if (!rc)
		rc = p2p_finish(b->t, cp, w->name, &info);
	w->last = info;
	if (rc)
		return rc;
	w->bytes += info.done_nbytes;
	w->p2p += info.p2p_nbytes;
	w->memory += info.memory_nbytes;
	w->ns += info.elapsed_ns;
	w->own_cpu += own_cpu() - own;
	w->machine_cpu += machine_cpu() - machine;
	return 0;
}

static struct json_object *way_json(const struct way *w)
{
	struct json_object *o = json_object_new_object();
	double gib = (double)w->bytes / (double)(1u << 30), all = (double)(w->p2p + w->memory);

	out_add_str(o, "way", w->name);
	out_add_str(o, "provider", w->last.provider);
	out_add_num(o, "bytes", w->bytes);
	out_add_real(o, "megabytes_per_second", w->ns ? (double)w->bytes * 1e3 / (double)w->ns : 0);
	out_add_real(o, "process_cpu_seconds_per_gib", gib > 0 ? w->own_cpu / gib : 0);
	out_add_real(o, "machine_cpu_seconds_per_gib", gib > 0 ? w->machine_cpu / gib : 0);
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
	struct json_object *ways;

	json_object_object_get_ex(root, "ways", &ways);
	out_table(f, ways, columns, NULL);
}

static int report(struct bench *b)
{
	struct json_object *root = json_object_new_object(), *ways = json_object_new_array();

	out_add_num(root, "schema", 1);
	out_add_str(root, "source", b->src.own);
	out_add_str(root, "destination", b->dst.own);
	for (unsigned int i = 0; i < 2; i++)
		if (!b->way[i].rc)
			json_object_array_add(ways, way_json(&b->way[i]));
	json_object_object_add(root, "ways", ways);
	out_add_str(root, "why_not_p2p", b->way[0].rc ? b->way[0].last.why : "");
	return out_listing(b->t, root, text);
}

/* In turn, so that what else happens on the machine falls on both. Without the first way the second is still shown. */
static int bench(struct bench *b)
{
	static const struct way ways[2] = {
		{ .name = "device to device", .flag = ACCEL_COPY_NO_FALLBACK },
		{ .name = "direct I/O, memory", .flag = ACCEL_COPY_MEMORY },
	};
	int rc;

	memcpy(b->way, ways, sizeof(ways));
	for (uint64_t r = 0; r < b->rounds; r++)
		for (unsigned int i = 0; i < 2; i++)
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
