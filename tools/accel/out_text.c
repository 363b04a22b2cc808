/* SPDX-License-Identifier: BSD-2-Clause */
/* Listings as text, from the values that JSON would show. */
#include "tool.h"
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define CELL 512

char *out_size(char *buf, size_t nbytes, uint64_t value)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)value;
	unsigned int u = 0;

	/* 1023.95 would round up to "1024.0 KiB". */
	while (v >= (u ? 1023.95 : 1024) && u < 6) {
		v /= 1024;
		u++;
	}
	if (!u)
		snprintf(buf, nbytes, "%llu byte%s", (unsigned long long)value, value == 1 ? "" : "s");
	else
		snprintf(buf, nbytes, "%.1f %s", v, units[u]);
	return buf;
}

char *out_size_exact(char *buf, size_t nbytes, uint64_t value)
{
	size_t n;

	out_size(buf, nbytes, value);
	n = strlen(buf);
	if (value >= 1024)
		snprintf(buf + n, nbytes - n, " (%llu bytes)", (unsigned long long)value);
	return buf;
}

static void format_ns(char *buf, size_t n, double ns)
{
	if (ns < 1e3)
		snprintf(buf, n, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(buf, n, "%.1f us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(buf, n, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, n, "%.1f s", ns / 1e9);
}

static void format_list(char *buf, size_t n, struct json_object *array)
{
	size_t len = 0;

	buf[0] = 0;
	for (size_t i = 0; i < json_object_array_length(array) && len < n; i++)
		len += (size_t)snprintf(buf + len, n - len, "%s%s", i ? " " : "",
					json_object_get_string(json_object_array_get_idx(array, i)));
}

/* Text of names may hold anything: control characters must not reach the terminal. */
static void make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

static void format(char *buf, size_t n, struct json_object *v, enum out_kind kind)
{
	if (!v) {
		snprintf(buf, n, "-");
		return;
	}
	switch (kind) {
	case OUT_BYTES:
		out_size_exact(buf, n, json_object_get_uint64(v));
		return;
	case OUT_RATE:
		snprintf(buf, n, "%.0f MB/s", json_object_get_double(v));
		return;
	case OUT_NS:
		format_ns(buf, n, json_object_get_double(v));
		return;
	case OUT_RATIO:
		snprintf(buf, n, "%.1f%%", 100 * json_object_get_double(v));
		return;
	case OUT_YESNO:
		snprintf(buf, n, "%s", json_object_get_boolean(v) ? "yes" : "no");
		return;
	case OUT_TEXT:
	case OUT_NUMBER:
		break;
	}
	if (json_object_is_type(v, json_type_array))
		format_list(buf, n, v);
	else
		snprintf(buf, n, "%s", json_object_get_string(v));
	if (!buf[0])
		snprintf(buf, n, "-");
	make_printable(buf);
}

static void cell(char *buf, struct json_object *object, const struct out_column *c)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(object, c->key, &v);
	format(buf, CELL, v, c->kind);
}

static bool right_aligned(enum out_kind kind)
{
	return kind != OUT_TEXT && kind != OUT_YESNO;
}

/* Characters, not bytes: what of UTF-8 is not a continuation byte. */
static int width(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void put_cell(FILE *f, const char *text, int w, enum out_kind kind, bool last)
{
	int pad = w - width(text);

	if (right_aligned(kind))
		fprintf(f, "%*s%s", pad > 0 ? pad : 0, "", text);
	else
		fprintf(f, "%s%*s", text, !last && pad > 0 ? pad : 0, "");
	fputs(last ? "\n" : "  ", f);
}

#define MAX_COLUMNS 16

void out_table(FILE *f, struct json_object *array, const struct out_column *columns, const char *empty)
{
	size_t rows = json_object_array_length(array), n = 0;
	int w[MAX_COLUMNS];
	char buf[CELL];

	if (!rows && empty) {
		fprintf(f, "%s\n", empty);
		return;
	}
	for (; columns[n].key && n < MAX_COLUMNS; n++) {
		w[n] = width(columns[n].title);
		for (size_t r = 0; r < rows; r++) {
			cell(buf, json_object_array_get_idx(array, r), &columns[n]);
			w[n] = width(buf) > w[n] ? width(buf) : w[n];
		}
	}
	for (size_t c = 0; c < n; c++)
		put_cell(f, columns[c].title, w[c], columns[c].kind, c + 1 == n);
	for (size_t r = 0; r < rows; r++) {
		for (size_t c = 0; c < n; c++) {
			cell(buf, json_object_array_get_idx(array, r), &columns[c]);
			put_cell(f, buf, w[c], columns[c].kind, c + 1 == n);
		}
	}
}

void out_fields(FILE *f, struct json_object *object, const struct out_column *fields)
{
	char buf[CELL];
	int w = 0;

	for (const struct out_column *c = fields; c->key; c++)
		w = width(c->title) > w ? width(c->title) : w;
	for (const struct out_column *c = fields; c->key; c++) {
		cell(buf, object, c);
		fprintf(f, "%s:%*s %s\n", c->title, w - width(c->title), "", buf);
	}
}
