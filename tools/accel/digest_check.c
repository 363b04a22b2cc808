/* SPDX-License-Identifier: BSD-2-Clause */
/* digest -c and checksum -c: lists of sums, in plain and in tagged form. */
#include "digest.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct tally {
	unsigned long good, wrong, unreadable, malformed, missing;
};

/* As sha256sum has it: escaped only where there would be two lines. A terminal gets no control characters. */
static void print_checked(const struct sums *s, const char *name)
{
	bool terminal = isatty(STDOUT_FILENO);

	if (strchr(name, '\n') && !terminal) {
		putchar('\\');
		sum_print_name(s, name);
		return;
	}
	for (; *name; name++)
		putchar(terminal && ((unsigned char)*name < 0x20 || *name == 0x7f) ? '?' : *name);
}

static void verdict(struct sums *s, const char *name, const char *what, bool ok)
{
	struct json_object *o;

	if (s->listing) {
		o = json_object_new_object();
		out_add_num(o, "schema", 1);
		out_add_str(o, "file", name);
		out_add_bool(o, "ok", ok);
		out_add_str(o, "result", what);
		json_object_array_add(s->listing, o);
		return;
	}
	if (s->status || (ok && s->no_ok))
		return;
	print_checked(s, name);
	printf(": %s\n", what);
	sum_printed(s);
}

static int check_one(struct sums *s, const struct sum_line *l, struct tally *n)
{
	char hex[SUM_HEX];
	struct accel_stream_info info;
	int rc;

	if (s->ignore_missing && access(l->name, F_OK) && errno == ENOENT) {
		n->missing++;
		return 0;
	}
	rc = sum_file(s, l->name, l->alg, hex, &info);
	if (rc >= TOOL_NODEV)
		return rc;
	if (rc) {
		n->unreadable++;
		verdict(s, l->name, "FAILED open or read", false);
	} else if (strcasecmp(hex, l->hex)) {
		n->wrong++;
		verdict(s, l->name, "FAILED", false);
	} else {
		n->good++;
		verdict(s, l->name, "OK", true);
	}
	return 0;
}

static int conclude(const struct sums *s, const char *path, const struct tally *n)
{
	struct tool *t = s->t;

	if (!n->good && !n->wrong && !n->unreadable && !n->missing)
		return tool_error(t, path, "no properly formatted %s lines found", s->alg->tag);
	if (n->malformed && !s->status)
		tool_warning(t, path, "%lu line%s improperly formatted", n->malformed,
			     n->malformed > 1 ? "s are" : " is");
	if (n->unreadable && !s->status)
		tool_warning(t, path, "%lu listed file%s could not be read", n->unreadable,
			     n->unreadable > 1 ? "s" : "");
	if (n->wrong && !s->status)
		tool_warning(t, path, "%lu computed sum%s did NOT match", n->wrong, n->wrong > 1 ? "s" : "");
	if (!n->good && !n->wrong && !n->unreadable)
		return tool_error(t, path, "no file was verified");
	return n->wrong || n->unreadable || (s->strict && n->malformed) ? TOOL_FAILED : 0;
}

static void chop(char *line, ssize_t len)
{
	if (len > 0 && line[len - 1] == '\n')
		line[--len] = 0;
	if (len > 0 && line[len - 1] == '\r')
		line[len - 1] = 0;
}

int sum_check(struct sums *s, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	struct tally n = { 0 };
	struct sum_line l;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	if (!f)
		return tool_file_error(s->t, path, NULL, errno);
	while (!rc && (len = getline(&line, &size, f)) >= 0) {
		chop(line, len);
		/* Comments and empty lines are neither sums nor mistakes. */
		if (!*line || *line == '#')
			continue;
		if (strlen(line) + 2 < (size_t)len || !sum_parse(s->algs, s->alg, line, &l))
			n.malformed++;
		else
			rc = check_one(s, &l, &n);
	}
	if (!rc && ferror(f))
		rc = tool_file_error(s->t, is_stdin ? "stdin" : path, "read", errno);
	free(line);
	if (!is_stdin)
		fclose(f);
	return rc ? rc : conclude(s, is_stdin ? "stdin" : path, &n);
}
