/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: the document as a file. */
#include "target.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILE	(8u << 20)
#define MAX_DEPTH	16

static void at(const char *text, size_t off, unsigned int *line, unsigned int *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < off; i++) {
		*column = text[i] == '\n' ? 1 : *column + 1;
		*line += text[i] == '\n';
	}
}

/* ---- What the parser takes, and we do not ---- */

/* From its first quote to behind its last one; *zero: it has a zero byte, where it would end for the kernel. */
static const char *skip_string(const char *s, bool *zero)
{
	for (s++; *s && *s != '"'; s += *s == '\\' && s[1] ? 2 : 1)
		*zero |= !strncmp(s, "\\u0000", 6);
	return *s ? s + 1 : s;
}

/* Whether the name (with its quotes) of a member is new in its object. */
static bool new_member(struct json_object *seen, const char *name, size_t n)
{
	char *copy = strndup(name, n);
	struct json_object *text = copy ? json_tokener_parse(copy) : NULL;
	bool fresh = text && !tg_get(seen, json_object_get_string(text));

	if (fresh)
		json_object_object_add(seen, json_object_get_string(text), json_object_new_boolean(true));
	json_object_put(text);
	free(copy);
	return fresh;
}

/*
 * Of two members with one name the parser keeps the last, and which one was meant nobody knows. text is JSON that it has
 * taken. Returns where something is wrong, and what, or NULL.
 */
static const char *find_wrong(const char *text, const char **what)
{
	struct json_object *seen[MAX_DEPTH + 2] = { NULL };
	const char *s = text, *end, *wrong = NULL;
	unsigned int depth = 0;
	bool zero = false;

	while (*s && !wrong) {
		end = *s == '"' ? skip_string(s, &zero) : s + 1;
		if (*s == '{' || *s == '[') {
			depth += depth < MAX_DEPTH + 1;
			seen[depth] = *s == '{' ? json_object_new_object() : NULL;
		} else if (*s == '}' || *s == ']') {
			json_object_put(seen[depth]);
			seen[depth] = NULL;
			depth -= depth > 0;
		} else if (zero) {
			wrong = s;
			*what = "has a zero byte";
		} else if (*s == '"' && end[strspn(end, " \t\r\n")] == ':' && !new_member(seen[depth], s, (size_t)(end - s))) {
			wrong = s;
			*what = "is there twice in one object";
		}
		s = end;
	}
	for (; depth; depth--)
		json_object_put(seen[depth]);
	return wrong;
}

static bool unambiguous(struct target *g, const char *file, const char *text)
{
	const char *what, *wrong = find_wrong(text, &what);
	unsigned int line, column;
	bool zero = false;
	int n;

	if (!wrong)
		return true;
	at(text, (size_t)(wrong - text), &line, &column);
	n = (int)(skip_string(wrong, &zero) - wrong);
	tool_error(g->t, file, "line %u, column %u: %.*s %s", line, column, n < 64 ? n : 64, wrong, what);
	return false;
}

/* ---- Reading ---- */

static struct json_object *parse(struct target *g, const char *file, const char *text, size_t n)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *doc = NULL;
	enum json_tokener_error err;
	unsigned int line, column;
	size_t end;

	if (!tok) {
		tool_error(g->t, file, "%s", strerror(ENOMEM));
		return NULL;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* With its final 0, which ends a number or a word. */
	doc = json_tokener_parse_ex(tok, text, (int)n + 1);
	err = json_tokener_get_error(tok);
	end = json_tokener_get_parse_end(tok);
	at(text, end < n ? end : n, &line, &column);
	if (err == json_tokener_continue || (err != json_tokener_success && end >= n))
		tool_error(g->t, file, "line %u: the file ends before its last } (is it cut off?)", line);
	else if (err != json_tokener_success)
		tool_error(g->t, file, "line %u, column %u: no JSON: %s", line, column, json_tokener_error_desc(err));
	else if (end < n && text[end + strspn(text + end, " \t\r\n")])
		tool_error(g->t, file, "line %u, column %u: something follows the end of the document", line, column);
	else if (!json_object_is_type(doc, json_type_object))
		tool_error(g->t, file, "is no configuration: it begins with {");
	else if (unambiguous(g, file, text))
		goto out;
	json_object_put(doc);
	doc = NULL;
out:
	json_tokener_free(tok);
	return doc;
}

struct json_object *tg_load(struct target *g, const char *file)
{
	struct json_object *doc = NULL;
	struct file_in in;
	char *text;
	ssize_t n;

	if (file_open(g->t, file, FILE_REGULAR, &in))
		return NULL;
	text = malloc(MAX_FILE + 1);
	n = text ? file_read(g->t, &in, text, MAX_FILE) : -1;
	if (!text)
		tool_error(g->t, file, "%s", strerror(ENOMEM));
	else if (n == MAX_FILE)
		tool_error(g->t, file, "is larger than any configuration");
	else if (n >= 0) {
		text[n] = 0;
		if (strlen(text) == (size_t)n)
			doc = parse(g, file, text, (size_t)n);
		else
			tool_error(g->t, file, "is no text");
	}
	free(text);
	file_close(&in);
	return doc;
}

/* The directory of the default file; others are the caller's. */
static int make_dir(struct target *g, const char *file)
{
	char dir[] = TG_FILE;

	*strrchr(dir, '/') = 0;
	if (strcmp(file, TG_FILE) || !mkdir(dir, 0755) || errno == EEXIST)
		return 0;
	return tool_error(g->t, dir, "cannot be made: %s", strerror(errno));
}

int tg_save(struct target *g, const char *file, struct json_object *doc)
{
	const char *text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	/* There may be keys in it. */
	struct stat like = { .st_mode = 0600, .st_uid = geteuid(), .st_gid = getegid() };
	struct file_out out;
	int rc = make_dir(g, file);

	clock_gettime(CLOCK_REALTIME, &like.st_mtim);
	like.st_atim = like.st_mtim;
	file_signals();
	rc = rc ? rc : file_create(g->t, file, OUT_FORCE | OUT_SYNC | OUT_NO_ASK, &out);
	if (rc)
		return rc;
	rc = file_write(g->t, &out, text, strlen(text));
	rc = rc ? rc : file_write(g->t, &out, "\n", 1);
	rc = rc ? rc : file_commit(g->t, &out, &like, OUT_SYNC);
	if (rc)
		file_abort(&out);
	return rc ? TOOL_FAILED : 0;
}
