/* SPDX-License-Identifier: BSD-2-Clause */
/* Listings as JSON: what text is printed from, and what -o json prints. */
#include "tool.h"
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence at s (RFC 3629), 0 if there is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = 0;

	if (*s < 0x80)
		n = 1;
	else if (*s >= 0xc2)
		n = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

/* File names are bytes, JSON is UTF-8: what is not becomes U+FFFD. */
static struct json_object *valid_string(const char *text)
{
	size_t len = strlen(text), n = 0;
	char *buf = malloc(3 * len + 1);
	struct json_object *o;

	if (!buf)
		return json_object_new_string("");
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t k = utf8_len(s);

		memcpy(buf + n, k ? (const char *)s : "\xef\xbf\xbd", k ? k : 3);
		n += k ? k : 3;
		s += k ? k : 1;
	}
	o = json_object_new_string_len(buf, (int)n);
	free(buf);
	return o;
}

void out_add_str(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text ? valid_string(text) : NULL);
}

void out_add_num(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void out_add_int(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void out_add_real(struct json_object *object, const char *key, double value)
{
	char text[64];

	/* JSON has no infinity; %.17g would print noise. */
	if (!isfinite(value)) {
		json_object_object_add(object, key, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

void out_add_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

char *out_hex(char *buf, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++) {
		buf[2 * i] = digits[b[i] >> 4];
		buf[2 * i + 1] = digits[b[i] & 15];
	}
	buf[2 * n] = 0;
	return buf;
}

void out_add_hex(struct json_object *object, const char *key, const void *bytes, size_t n)
{
	char text[2 * 256 + 1];

	out_add_str(object, key, out_hex(text, bytes, n > 256 ? 256 : n));
}

int out_flush_after(struct tool *t, int err)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return tool_file_error(t, "stdout", "write", err ? err : errno ? errno : EIO);
}

int out_flush(struct tool *t)
{
	return out_flush_after(t, 0);
}

int out_listing(struct tool *t, struct json_object *root, out_text_fn text)
{
	int err;

	if (!root)
		return tool_file_error(t, "listing", NULL, ENOMEM);
	errno = 0;
	if (t->json)
		printf("%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							      JSON_C_TO_STRING_SPACED |
							      JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		text(stdout, root);
	err = ferror(stdout) ? errno : 0;
	json_object_put(root);
	return out_flush_after(t, err);
}
