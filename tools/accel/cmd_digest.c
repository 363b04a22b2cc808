/* SPDX-License-Identifier: BSD-2-Clause */
/* accel digest and checksum: the output and the habits of sha256sum. */
#include "digest.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1

enum { OPT_TAG = OPT_LONG, OPT_MISSING, OPT_QUIET, OPT_STATUS, OPT_STRICT };

static const struct sum_alg digests[] = {
	{ "sha256", "SHA256", ACCEL_SHA256, 32 },
	{ "sha512", "SHA512", ACCEL_SHA512, 64 },
	{ "sha3-256", "SHA3-256", ACCEL_SHA3_256, 32 },
	{ "blake2b", "BLAKE2b", ACCEL_BLAKE2B, 64 },
	{ 0 },
};

static const struct sum_alg checksums[] = {
	{ "crc32c", "CRC32C", ACCEL_CRC32C, 4 },
	{ "crc32", "CRC32", ACCEL_CRC32, 4 },
	{ "t10dif", "T10DIF", ACCEL_T10DIF, 2 },
	{ "crc64nvme", "CRC64NVME", ACCEL_CRC64_NVME, 8 },
	{ "adler32", "ADLER32", ACCEL_ADLER32, 4 },
	{ 0 },
};

static const struct tool_opt shared_opts[] = {
	{ 'c', "check", NULL, "read lists of such lines from the FILEs and check what they name", NULL },
	{ 'z', "zero", NULL, "end lines with NUL, escape nothing", NULL },
	{ 'b', "binary", NULL, "accepted for sha256sum's sake; there is no other mode", NULL },
	{ OPT_MISSING, "ignore-missing", NULL, "-c: pass over files that are not there", NULL },
	{ OPT_QUIET, "quiet", NULL, "-c: no line for what is right", NULL },
	{ OPT_STATUS, "status", NULL, "-c: print nothing, the exit status tells", NULL },
	{ OPT_STRICT, "strict", NULL, "-c: a malformed line is a failure", NULL },
	{ 'q', NULL, NULL, "no warning if the CPU did what was meant for the device of -d", NULL },
	{ 'v', "verbose", NULL, "say who did the work, and how fast", NULL },
	{ 0 },
};

static const struct tool_opt digest_opts[] = {
	{ 'a', "algorithm", "ALG", "sha256 (default), sha512, sha3-256 or blake2b", NULL },
	{ OPT_TAG, "tag", NULL, "print lines with the algorithm's name: SHA256 (FILE) = ...", NULL },
	{ 0 },
};

static const struct tool_opt checksum_opts[] = {
	{ 'a', "algorithm", "ALG", "crc32c (default), crc32, t10dif, crc64nvme or adler32", NULL },
	{ OPT_TAG, "tag", NULL, "print lines with the algorithm's name: CRC32C (FILE) = ...", NULL },
	{ 0 },
};

/* Digests come in their byte order, checksums as little-endian integers, which people write big-endian. */
static void value_hex(const struct sums *s, const struct sum_alg *alg, const uint8_t *value, char *hex)
{
	uint8_t turned[ACCEL_RESULT_MAX];

	for (unsigned int i = 0; i < alg->nbytes; i++)
		turned[i] = value[s->checksum ? alg->nbytes - 1u - i : i];
	out_hex(hex, turned, alg->nbytes);
}

/* Nothing falls back in silence: on standard error, as the lines on standard output are for other programs. */
static void report(struct sums *s, const struct file_in *in, const struct accel_stream_info *info, uint64_t ns)
{
	const char *what = s->checksum ? "such input" : "a digest of so much data";
	char who[640];

	pump_who(s->t, info, what, who, sizeof(who));
	if (s->verbose)
		tool_error(s->t, in->name, "%llu bytes, %.0f MB/s by %s", (unsigned long long)info->in_bytes,
			   ns ? (double)info->in_bytes * 1e3 / (double)ns : 0, who);
	else if (!s->warned && !s->status && pump_passed_over(s->t, info))
		s->warned = tool_warning(s->t, in->name, "done by %s", who) != 0;
}

static int run_stream(struct sums *s, struct accel_stream *stream, struct file_in *in,
		      const struct sum_alg *alg, char hex[SUM_HEX], struct accel_stream_info *info)
{
	uint8_t value[ACCEL_RESULT_MAX] = { 0 };
	uint64_t start = tool_now_ns();
	struct progress progress;
	int rc;

	progress_start(&progress, s->t, in->name, S_ISREG(in->st.st_mode) ? (uint64_t)in->st.st_size : 0);
	rc = pump(s->t, stream, in, NULL, &progress);
	progress_end(&progress);
	if (rc)
		return rc;
	rc = accel_stream_result(stream, value);
	if (rc < alg->nbytes || accel_stream_info(stream, info))
		return tool_error(s->t, in->name, "%s", rc < 0 ? accel_strerror(rc) : "the result is short");
	report(s, in, info, tool_now_ns() - start);
	value_hex(s, alg, value, hex);
	return 0;
}

int sum_file(struct sums *s, const char *path, const struct sum_alg *alg, char hex[SUM_HEX],
	     struct accel_stream_info *info)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct accel_stream *stream;
	struct tool *t = s->t;
	struct file_in in;
	int rc = file_open(t, path, 0, &in);

	/* A directory cannot be summed: no mere warning here. */
	if (rc)
		return TOOL_FAILED;
	opts.kind = s->checksum ? ACCEL_STREAM_CHECKSUM : ACCEL_STREAM_DIGEST;
	opts.alg = alg->alg;
	opts.flags = t->hardware ? ACCEL_STREAM_DEVICE_ONLY : 0;
	rc = tool_dev(t, s->checksum ? ACCEL_OP_CHECKSUM : ACCEL_OP_DIGEST, alg->alg);
	if (!rc) {
		rc = accel_stream_open(t->dev, &opts, &stream);
		if (rc)
			rc = tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
		else {
			rc = run_stream(s, stream, &in, alg, hex, info);
			accel_stream_close(stream);
		}
	}
	file_close(&in);
	return rc;
}

/* sha256sum's rule: in a line that begins with '\', backslash, newline and carriage return are escaped. */
void sum_print_name(const struct sums *s, const char *name)
{
	for (; *name; name++) {
		if (!s->zero && *name == '\\')
			fputs("\\\\", stdout);
		else if (!s->zero && *name == '\n')
			fputs("\\n", stdout);
		else if (!s->zero && *name == '\r')
			fputs("\\r", stdout);
		else
			putchar(*name);
	}
}

static void print_line(const struct sums *s, const char *path, const char *hex)
{
	if (!s->zero && strpbrk(path, "\\\n\r"))
		putchar('\\');
	if (s->tag) {
		printf("%s (", s->alg->tag);
		sum_print_name(s, path);
		printf(") = %s", hex);
	} else {
		printf("%s  ", hex);
		sum_print_name(s, path);
	}
	putchar(s->zero ? '\0' : '\n');
}

static void add_json(struct sums *s, const char *path, const char *hex, const struct accel_stream_info *info)
{
	struct json_object *o = json_object_new_object();

	out_add_num(o, "schema", SCHEMA);
	out_add_str(o, "file", path);
	out_add_str(o, "algorithm", s->alg->name);
	out_add_str(o, s->checksum ? "checksum" : "digest", hex);
	out_add_num(o, "bytes", info->in_bytes);
	out_add_str(o, "device", accel_dev_info(s->t->dev)->path);
	out_add_str(o, "executor", pump_executor(info));
	out_add_num(o, "cpu_bytes", info->cpu_bytes);
	json_object_array_add(s->listing, o);
}

void sum_printed(struct sums *s)
{
	if (ferror(stdout) && !s->out_err)
		s->out_err = errno;
}

static int sum_print(struct sums *s, const char *path)
{
	char hex[SUM_HEX];
	struct accel_stream_info info;
	int rc = sum_file(s, path, s->alg, hex, &info);

	if (rc)
		return rc;
	if (s->listing)
		add_json(s, path, hex, &info);
	else
		print_line(s, path, hex);
	sum_printed(s);
	return 0;
}

static int set_alg(struct sums *s, const char *text)
{
	const char *names[8] = { NULL };
	int i;

	for (i = 0; s->algs[i].name; i++)
		names[i] = s->algs[i].name;
	i = opts_choice(s->t, "--algorithm", text, names);
	if (i < 0)
		return TOOL_USAGE;
	s->alg = &s->algs[i];
	return 0;
}

static int set_option(struct sums *s, int c)
{
	const struct {
		int c;
		bool *flag;
	} flags[] = {
		{ 'c', &s->check }, { OPT_TAG, &s->tag }, { 'z', &s->zero },
		{ OPT_MISSING, &s->ignore_missing }, { OPT_QUIET, &s->no_ok },
		{ OPT_STATUS, &s->status }, { OPT_STRICT, &s->strict },
		{ 'v', &s->verbose }, { 'q', &s->t->quiet },
	};

	if (c == 'a')
		return set_alg(s, optarg);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].c == c)
			*flags[i].flag = true;
	return 0;
}

static int run_files(struct sums *s, int n, char **files)
{
	static char dash[] = "-";
	char *standard[] = { dash };
	int rc = 0, result = 0;

	if (s->t->json)
		s->listing = json_object_new_array();
	for (int i = 0; i < (n ? n : 1) && result < TOOL_NODEV; i++) {
		const char *path = n ? files[i] : standard[0];

		rc = s->check ? sum_check(s, path) : sum_print(s, path);
		result = rc > result ? rc : result;
	}
	rc = s->listing ? out_listing(s->t, s->listing, NULL)
			: out_flush_after(s->t, s->out_err);
	return result ? result : rc;
}

static int run(struct sums *s, int argc, char **argv)
{
	struct tool *t = s->t;
	int c, rc;

	s->alg = s->algs;
	while ((c = opts_next(t, argc, argv)) >= 0) {
		rc = set_option(s, c);
		if (rc)
			return rc;
	}
	if (c != OPTS_END)
		return t->status;
	if (!s->check && (s->ignore_missing || s->no_ok || s->status || s->strict))
		return tool_usage(t, "--ignore-missing, --quiet, --status and --strict go with --check");
	if (s->check && (s->tag || s->zero))
		return tool_usage(t, "--tag and --zero do not go with --check");
	return run_files(s, argc - optind, argv + optind);
}

static int run_digest(struct tool *t, int argc, char **argv)
{
	struct sums s = { .t = t, .algs = digests };

	return run(&s, argc, argv);
}

static int run_checksum(struct tool *t, int argc, char **argv)
{
	struct sums s = { .t = t, .algs = checksums, .checksum = true };

	return run(&s, argc, argv);
}

const struct verb verb_digest = {
	.name = "digest",
	.summary = "Print or check digests of files, in the format of sha256sum",
	.usage = "[options] [FILE...]",
	.opts = digest_opts,
	.more_opts = shared_opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run_digest,
};

const struct verb verb_checksum = {
	.name = "checksum",
	.summary = "Print or check checksums of files",
	.usage = "[options] [FILE...]",
	.opts = checksum_opts,
	.more_opts = shared_opts,
	.notes = "A checksum finds accidents, not forgery: see accel digest.\n",
	.flags = VERB_DEVICE | VERB_JSON,
	.run = run_checksum,
};
