/* SPDX-License-Identifier: BSD-2-Clause */
/* accel compress and decompress: options, which are gzip's where gzip has them. */
#include "compress.h"
#include <getopt.h>
#include <string.h>

enum { OPT_SYNC = OPT_LONG, OPT_VERIFY, OPT_BGZF, OPT_LIMIT, OPT_FORMAT, OPT_P2P, OPT_NO_FALLBACK };

static const struct tool_opt shared_opts[] = {
	{ 'c', "stdout", NULL, "write to standard output, keep the files", "-c, --stdout, --to-stdout" },
	{ 'c', "to-stdout", NULL, NULL, NULL },
	{ 'f', "force", NULL, "replace existing output, follow symbolic links, use a terminal", NULL },
	{ 'F', "format", "FORMAT", "gzip, zlib, deflate, lz4 or zstd", NULL },
	{ 'k', "keep", NULL, "keep the input files", NULL },
	{ 'l', "list", NULL, "list sizes and ratio of compressed files; decodes them, so it is exact", NULL },
	{ 'n', "no-name", NULL, "neither store nor restore name and time", NULL },
	{ 'N', "name", NULL, "store (default) or restore name and time", NULL },
	{ 'o', "output", "FILE", "write to FILE, keep the input", NULL },
	{ OPT_FORMAT, "output-format", "FORMAT", "of -l: text (default) or json", NULL },
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL },
	{ 'r', "recursive", NULL, "go into directories", NULL },
	{ 'S', "suffix", "SUFFIX", "use this suffix for compressed files", NULL },
	{ OPT_SYNC, "synchronous", NULL, "wait until the output is on the disk", NULL },
	{ 't', "test", NULL, "test the compressed files", NULL },
	{ 'v', "verbose", NULL, "say ratio, speed and who did the work", NULL },
	{ OPT_LIMIT, "limit", "SIZE", "decompress no file to more than SIZE bytes", NULL },
	{ 0 },
};

static const struct tool_opt compress_opts[] = {
	{ '0', NULL, NULL, "level: 0 stores, 1 is fastest, 9 smallest; default 6", "-0 ... -9" },
	{ '1', "fast", NULL, "the same as -1", "    --fast" },
	{ '2', NULL, NULL, NULL, NULL },
	{ '3', NULL, NULL, NULL, NULL },
	{ '4', NULL, NULL, NULL, NULL },
	{ '5', NULL, NULL, NULL, NULL },
	{ '6', NULL, NULL, NULL, NULL },
	{ '7', NULL, NULL, NULL, NULL },
	{ '8', NULL, NULL, NULL, NULL },
	{ '9', "best", NULL, "the same as -9", "    --best" },
	{ 'd', "decompress", NULL, "decompress", NULL },
	{ OPT_VERIFY, "verify", NULL, "decompress and compare each piece before it is written", NULL },
	{ OPT_BGZF, "bgzf", NULL, "write block gzip, as bgzip does", NULL },
	{ OPT_P2P, "p2p", NULL, "from device to device: FILE and -o are DEVICE[:OFFSET[:LENGTH]]", NULL },
	{ OPT_NO_FALLBACK, "no-fallback", NULL, "with --p2p: fail rather than go through memory", NULL },
	{ 0 },
};

static const struct tool_opt decompress_opts[] = {
	{ 'd', "decompress", NULL, "decompress (default)", NULL },
	{ 0 },
};

static int set_suffix(struct squeeze *s, const char *suffix)
{
	if (!*suffix || strchr(suffix, '/'))
		return tool_usage(s->t, "--suffix: '%s' is no suffix", suffix);
	s->suffix = suffix;
	return 0;
}

static int set_listing(struct squeeze *s, const char *text)
{
	static const char *const formats[] = { "text", "json", NULL };
	int i = opts_choice(s->t, "--output-format", text, formats);

	s->t->json = i == 1;
	return i < 0 ? TOOL_USAGE : 0;
}

static int set_format(struct squeeze *s, const char *text)
{
	const struct format *f = format_named(s->t, text);

	s->alg = f ? f->alg : 0;
	return f ? 0 : TOOL_USAGE;
}

/* Where an option with a value puts it. */
static int set_value(struct squeeze *s, int c)
{
	switch (c) {
	case 'F':
		return set_format(s, optarg);
	case 'S':
		return set_suffix(s, optarg);
	case 'o':
		s->output = optarg;
		return *optarg ? 0 : tool_usage(s->t, "--output: an empty name");
	case OPT_FORMAT:
		return set_listing(s, optarg);
	case OPT_LIMIT:
		return opts_number(s->t, "--limit", optarg, 1, UINT64_MAX, &s->limit);
	default:
		return tool_usage(s->t, "option -%c is not known here", c);
	}
}

static int set_option(struct squeeze *s, int c)
{
	const struct {
		int c;
		bool *flag;
	} flags[] = {
		{ 'c', &s->to_stdout }, { 'd', &s->decompress }, { 'f', &s->force }, { 'k', &s->keep },
		{ 'l', &s->list }, { 'q', &s->t->quiet }, { 'r', &s->recursive }, { 't', &s->test },
		{ OPT_SYNC, &s->sync }, { OPT_VERIFY, &s->verify }, { OPT_BGZF, &s->bgzf },
		{ OPT_P2P, &s->p2p }, { OPT_NO_FALLBACK, &s->no_fallback },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (flags[i].c == c) {
			*flags[i].flag = true;
			return 0;
		}
	}
	if (c >= '0' && c <= '9') {
		s->level = (uint32_t)(c - '0');
		return 0;
	}
	if (c == 'n' || c == 'N') {
		s->no_name = c == 'n';
		s->restore_name = c == 'N';
		return 0;
	}
	if (c == 'v') {
		s->verbose++;
		return 0;
	}
	return set_value(s, c);
}

static int check_p2p(struct squeeze *s, int nfiles)
{
	if (s->no_fallback && !s->p2p)
		return tool_usage(s->t, "--no-fallback goes with --p2p");
	if (!s->p2p)
		return 0;
	if (nfiles != 1 || !s->output)
		return tool_usage(s->t, "--p2p takes one FILE, and -o");
	if (s->decompress || s->recursive || s->bgzf || s->verify || s->alg != ACCEL_GZIP)
		return tool_usage(s->t, "--p2p compresses to gzip, and goes with neither -d, -r, --bgzf nor --verify");
	return 0;
}

static int check(struct squeeze *s, int nfiles)
{
	if (s->test || s->list)
		s->decompress = true;
	if (s->output && s->to_stdout)
		return tool_usage(s->t, "-o and -c exclude each other");
	if (s->output && (s->test || s->list))
		return tool_usage(s->t, "-o has no use with -t or -l");
	if (s->output && (nfiles > 1 || s->recursive))
		return tool_usage(s->t, "-o takes one input file");
	if (!s->decompress && !s->alg)
		s->alg = ACCEL_GZIP;
	if (s->bgzf && (s->decompress || s->alg != ACCEL_GZIP))
		return tool_usage(s->t, "--bgzf is for compression to gzip");
	return check_p2p(s, nfiles);
}

static int run(struct tool *t, int argc, char **argv, bool decompress)
{
	struct squeeze s = { .t = t, .decompress = decompress, .level = 6 };
	static char dash[] = "-";
	char *standard[] = { dash };
	int c, n, rc, result = 0;
	char **files;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		rc = set_option(&s, c);
		if (rc)
			return rc;
	}
	if (c != OPTS_END)
		return t->status;
	n = argc - optind;
	rc = check(&s, n);
	if (rc)
		return rc;
	if (s.p2p)
		return squeeze_p2p(&s, argv[optind]);
	files = n ? argv + optind : standard;
	file_signals();
	for (int i = 0; i < (n ? n : 1) && result < TOOL_NODEV; i++)
		result = worse(result, squeeze_path(&s, files[i]));
	if (s.list)
		result = worse(result, listing_print(&s));
	return result;
}

static int run_compress(struct tool *t, int argc, char **argv)
{
	return run(t, argc, argv, false);
}

static int run_decompress(struct tool *t, int argc, char **argv)
{
	return run(t, argc, argv, true);
}

const struct verb verb_compress = {
	.name = "compress",
	.summary = "Compress files, with the habits of gzip",
	.usage = "[options] [FILE...]",
	.opts = compress_opts,
	.more_opts = shared_opts,
	.notes = "Without FILE, or with -, standard input goes to standard output. Each FILE is replaced\n"
		 "with FILE.gz (.zz, .deflate, .lz4, .zst), which keeps its mode, owner and time.\n",
	.flags = VERB_DEVICE | VERB_GZIP_D,
	.run = run_compress,
};

const struct verb verb_decompress = {
	.name = "decompress",
	.summary = "Decompress files, with the habits of gunzip",
	.usage = "[options] [FILE...]",
	.opts = decompress_opts,
	.more_opts = shared_opts,
	.notes = "The format is found out from the data (deflate: from the suffix or -F). Exit status 2\n"
		 "also means a warning, as of gzip: the output is whole, but something behind the data\n"
		 "was ignored.\n",
	.flags = VERB_DEVICE | VERB_GZIP_D,
	.run = run_decompress,
};
