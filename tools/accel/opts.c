/* SPDX-License-Identifier: BSD-2-Clause */
/* Options: one table a verb, from which getopt's tables and the help are made. */
#include "tool.h"
#include <getopt.h>
#include <string.h>

enum { OPT_DEVICE2 = OPT_LONG + 0x80, OPT_SOFTWARE, OPT_HARDWARE };

static const struct tool_opt common_opts[] = {
	{ 'h', "help", NULL, "print this help", NULL },
	{ 0 },
};

static const struct tool_opt device_opts[] = {
	{ 'd', NULL, "DEVICE", NULL, NULL },
	{ 'D', "device", "DEVICE",
	  "use this accelerator: /dev/nvme0n1, /dev/ng0n1, tcp://HOST/NQN?nsid=N, uuid:..., name:..., soft:, "
	  "soft:threads=2; see accel(1), DEVICES",
	  "-d, -D, --device=DEVICE" },
	{ OPT_SOFTWARE, "software", NULL, "use the software accelerator", NULL },
	{ OPT_HARDWARE, "hardware", NULL, "use hardware or fail", NULL },
	{ 0 },
};

/* As above, where -d is gzip's. */
static const struct tool_opt device_gzip_opts[] = {
	{ 'D', "device", "DEVICE",
	  "use this accelerator: /dev/nvme0n1, /dev/ng0n1, tcp://HOST/NQN?nsid=N, uuid:..., name:..., soft:, "
	  "soft:threads=2; see accel(1), DEVICES; -d DEVICE does it too if DEVICE has one of these forms", NULL },
	{ OPT_SOFTWARE, "software", NULL, "use the software accelerator", NULL },
	{ OPT_HARDWARE, "hardware", NULL, "use hardware or fail", NULL },
	{ 0 },
};

static const struct tool_opt json_opts[] = {
	{ 'o', "output-format", "FORMAT", "text (default) or json", NULL },
	{ 0 },
};

#define MAX_TABLES 5
#define MAX_OPTS   64

/* The tables that make up a verb's options, in the order of the help. */
static unsigned int tables(const struct verb *v, const struct tool_opt **list)
{
	unsigned int n = 0;

	if (v->opts)
		list[n++] = v->opts;
	if (v->more_opts)
		list[n++] = v->more_opts;
	if (v->flags & VERB_DEVICE)
		list[n++] = v->flags & VERB_GZIP_D ? device_gzip_opts : device_opts;
	if (v->flags & VERB_JSON)
		list[n++] = json_opts;
	list[n++] = common_opts;
	return n;
}


struct getopt_tables {
	char letters[2 * MAX_OPTS + 4];
	struct option longs[MAX_OPTS + 1];
};

static void add_opt(struct getopt_tables *g, const struct tool_opt *o, unsigned int *nletters,
		    unsigned int *nlongs)
{
	if (o->code < OPT_LONG && *nletters + 3 < sizeof(g->letters)) {
		g->letters[(*nletters)++] = (char)o->code;
		if (o->arg)
			g->letters[(*nletters)++] = ':';
	}
	if (o->name && *nlongs < MAX_OPTS)
		g->longs[(*nlongs)++] = (struct option){ o->name, o->arg ? required_argument : no_argument,
							  NULL, o->code };
}

static void make_tables(const struct verb *v, struct getopt_tables *g)
{
	const struct tool_opt *list[MAX_TABLES];
	unsigned int n = tables(v, list), nletters = 0, nlongs = 0;

	memset(g, 0, sizeof(*g));
	if (v->flags & VERB_COMMAND)
		g->letters[nletters++] = '+';
	g->letters[nletters++] = ':';
	for (unsigned int i = 0; i < n; i++)
		for (const struct tool_opt *o = list[i]; o->code; o++)
			add_opt(g, o, &nletters, &nlongs);
}

bool opts_is_device(const char *text)
{
	static const char *const starts[] = { "soft:", "uuid:", "name:", "tcp://", "/dev/nvme", "/dev/ng" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static int stop(struct tool *t, int status)
{
	t->status = status;
	return OPTS_STOP;
}

static int bad_option(struct tool *t, int c, char **argv)
{
	const char *what = c == ':' ? "needs an argument" : "is unknown or ambiguous";

	if (optopt > 0 && optopt < OPT_LONG && c == '?' && strncmp(argv[optind - 1], "--", 2))
		return stop(t, tool_usage(t, "option -%c is unknown", optopt));
	if (optopt > 0 && optopt < OPT_LONG && strncmp(argv[optind - 1], "--", 2))
		return stop(t, tool_usage(t, "option -%c needs an argument", optopt));
	if (c == '?' && optopt)
		what = "takes no argument";
	return stop(t, tool_usage(t, "option %s %s", argv[optind - 1], what));
}

static int set_device(struct tool *t, const char *name)
{
	if (!*name)
		return stop(t, tool_usage(t, "--device: an empty name"));
	t->device = name;
	return 0;
}

static int set_format(struct tool *t, const char *text)
{
	static const char *const formats[] = { "text", "json", NULL };
	int i = opts_choice(t, "--output-format", text, formats);

	if (i < 0)
		return stop(t, TOOL_USAGE);
	t->json = i == 1;
	return 0;
}

/* Options that every verb of a kind has. 0: done here; c: the verb's own. */
static int common(struct tool *t, int c, int argc, char **argv)
{
	unsigned int flags = t->verb->flags;

	if (c == 'h') {
		opts_help(t, stdout);
		return stop(t, out_flush(t));
	}
	if (flags & VERB_DEVICE && flags & VERB_GZIP_D && c == 'd') {
		if (optind < argc && opts_is_device(argv[optind]))
			return set_device(t, argv[optind++]);
		return c;
	}
	if (flags & VERB_DEVICE && (c == 'd' || c == 'D'))
		return set_device(t, optarg);
	if (c == OPT_SOFTWARE || c == OPT_HARDWARE) {
		*(c == OPT_SOFTWARE ? &t->software : &t->hardware) = true;
		if (t->software && t->hardware)
			return stop(t, tool_usage(t, "--software and --hardware exclude each other"));
		return 0;
	}
	if (flags & VERB_JSON && c == 'o')
		return set_format(t, optarg);
	return c;
}

int opts_next(struct tool *t, int argc, char **argv)
{
	struct getopt_tables g;

	make_tables(t->verb, &g);
	opterr = 0;
	for (;;) {
		int c;

		optopt = 0;
		c = getopt_long(argc, argv, g.letters, g.longs, NULL);
		if (c == -1)
			return OPTS_END;
		if (c == '?' || c == ':')
			return bad_option(t, c, argv);
		c = common(t, c, argc, argv);
		if (c)
			return c;
	}
}

/* ---- Help ---- */

static void option_label(const struct tool_opt *o, char *buf, size_t n)
{
	int len = 0;

	if (o->show) {
		snprintf(buf, n, "%s", o->show);
		return;
	}
	if (o->code < OPT_LONG)
		len = snprintf(buf, n, "-%c%s", o->code, o->name ? ", " : "");
	if (o->name)
		len += snprintf(buf + len, n - (size_t)len, "--%s", o->name);
	if (o->arg)
		snprintf(buf + len, n - (size_t)len, "%s%s", o->name ? "=" : " ", o->arg);
}

#define HELP_COLUMN 28
#define HELP_WIDTH  100

/* Words of text from column HELP_COLUMN on, at being the column now. */
static void wrap(FILE *f, const char *text, unsigned int at)
{
	if (at + 2 > HELP_COLUMN) {
		fputc('\n', f);
		at = 0;
	}
	for (unsigned int gap = 0; *text; gap = 1) {
		size_t n = strcspn(text, " ");
		unsigned int pad;

		if (at + n >= HELP_WIDTH) {
			fputc('\n', f);
			at = 0;
		}
		pad = at < HELP_COLUMN ? HELP_COLUMN - at : gap;
		fprintf(f, "%*s%.*s", (int)pad, "", (int)n, text);
		at += pad + (unsigned int)n;
		text += n + strspn(text + n, " ");
	}
	fputc('\n', f);
}

static void help_usage(const struct tool *t, FILE *f)
{
	const char *u = t->verb->usage, *start = "Usage:";

	while (u && *u) {
		size_t n = strcspn(u, "\n");

		fprintf(f, "%-6s %s %.*s\n", start, t->name, (int)n, u);
		start = "";
		u += n + (u[n] == '\n');
	}
	fprintf(f, "%s.\n", t->verb->summary);
}

static void help_subs(const struct verb *v, FILE *f)
{
	fprintf(f, "\nVerbs:\n");
	for (const struct verb *const *s = v->subs; *s; s++)
		fprintf(f, "  %-12s %s\n", (*s)->name, (*s)->summary);
}

static void help_options(const struct verb *v, FILE *f)
{
	const struct tool_opt *list[MAX_TABLES];
	unsigned int n = tables(v, list);
	char label[64];

	fprintf(f, "\nOptions:\n");
	for (unsigned int i = 0; i < n; i++) {
		for (const struct tool_opt *o = list[i]; o->code; o++) {
			if (!o->help)
				continue;
			option_label(o, label, sizeof(label));
			wrap(f, o->help, (unsigned int)fprintf(f, "  %s%s", o->code < OPT_LONG ? "" : "    ",
							       label));
		}
	}
}

void opts_help(const struct tool *t, FILE *f)
{
	help_usage(t, f);
	if (t->verb->subs)
		help_subs(t->verb, f);
	else
		help_options(t->verb, f);
	if (t->verb->notes)
		fprintf(f, "\n%s", t->verb->notes);
}

int opts_choice(struct tool *t, const char *option, const char *text, const char *const *names)
{
	char all[256] = "";
	size_t n = 0;

	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], text))
			return i;
	for (int i = 0; names[i] && n < sizeof(all); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "", names[i]);
	tool_usage(t, "%s: '%s' is none of %s", option, text, all);
	return -1;
}
