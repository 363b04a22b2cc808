/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: attributes of configfs and their bounds; values of JSON. */
#include "target.h"
#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define ENGINES "compression erasure cipher digest checksum data all"

/* Documentation/ABI/testing/configfs-nvme-accel-passthru */
const struct tg_attr tg_ctrl_attrs[] = {
	{ "subsysnqn", TG_NQN, 0, 0, NULL },
	{ "serial", TG_TEXT, 0, 20, NULL },
	{ "model", TG_TEXT, 0, 40, NULL },
	{ "firmware", TG_TEXT, 0, 8, NULL },
	{ "queue_depth", TG_NUM, 2, 1024, NULL },
	{ "nr_queues", TG_NUM, 0, 128, NULL },
	{ 0 },
};

const struct tg_attr tg_ns_attrs[] = {
	{ "kind", TG_WORD, 0, 0, "device engine" },
	{ "device_path", TG_PATHNAME, 1, 255, NULL },
	{ "device_nsid", TG_NUM, 1, 0xfffffffe, NULL },
	{ "shared", TG_NUM, 0, 1, NULL },
	{ "engine_type", TG_WORD, 0, 0, ENGINES },
	{ "engine_threads", TG_NUM, 0, 1024, NULL },
	{ "engine_slots", TG_NUM, 1, 1024, NULL },
	{ "engine_driver", TG_TEXT, 0, 127, NULL },
	{ "engine_lbads", TG_WORD, 0, 0, "9 12" },
	{ "engine_window_bits", TG_NUM, 9, 15, NULL },
	{ "allow", TG_TEXT, 1, 1500, NULL },
	{ "max_inflight", TG_NUM, 0, UINT32_MAX, NULL },
	{ "max_bytes_per_sec", TG_NUM, 65536, UINT64_MAX, "no limit" },
	{ "max_cmds_per_sec", TG_NUM, 10, UINT64_MAX, "no limit" },
	{ "uuid", TG_UUID, 0, 0, NULL },
	{ "nguid", TG_NGUID, 0, 0, NULL },
	{ 0 },
};

/* The inbox target's. */
const struct tg_attr tg_subsys_attrs[] = {
	{ "allow_any_host", TG_NUM, 0, 1, NULL },
	{ "cntlid_min", TG_NUM, 1, 0xffef, NULL },
	{ "cntlid_max", TG_NUM, 1, 0xffef, NULL },
	{ "qid_max", TG_NUM, 1, 128, NULL },
	{ "pi_enable", TG_NUM, 0, 1, NULL },
	{ "serial", TG_TEXT, 0, 20, NULL },
	{ "model", TG_TEXT, 0, 40, NULL },
	{ "firmware", TG_TEXT, 0, 8, NULL },
	{ "ieee_oui", TG_TEXT, 0, 8, NULL },
	{ "version", TG_TEXT, 0, 8, NULL },
	{ 0 },
};

/* The type first: it resets what belongs to a type. */
const struct tg_attr tg_addr_attrs[] = {
	{ "trtype", TG_WORD, 0, 0, "tcp rdma loop fc" },
	{ "adrfam", TG_TEXT, 0, 8, NULL },
	{ "traddr", TG_TEXT, 0, 255, NULL },
	{ "trsvcid", TG_TEXT, 0, 31, NULL },
	{ "treq", TG_TEXT, 0, 31, NULL },
	{ "tsas", TG_TEXT, 0, 31, NULL },
	{ 0 },
};

const struct tg_attr tg_param_attrs[] = {
	{ "inline_data_size", TG_TEXT, 0, 10, NULL },
	{ "max_queue_size", TG_TEXT, 0, 10, NULL },
	{ "pi_enable", TG_NUM, 0, 1, NULL },
	{ "mdts", TG_TEXT, 0, 10, NULL },
	{ 0 },
};

const struct tg_attr tg_passthru_attrs[] = {
	{ "clear_ids", TG_NUM, 0, 1, NULL },
	{ "admin_timeout", TG_NUM, 0, UINT32_MAX, NULL },
	{ "io_timeout", TG_NUM, 0, UINT32_MAX, NULL },
	{ 0 },
};

const struct tg_attr tg_dhchap_attrs[] = {
	{ "hash", TG_TEXT, 0, 31, NULL },
	{ "dhgroup", TG_TEXT, 0, 31, NULL },
	{ "key", TG_TEXT, 0, 512, NULL },
	{ "ctrl_key", TG_TEXT, 0, 512, NULL },
	{ 0 },
};

const struct tg_attr *tg_attr(const struct tg_attr *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

/* ---- Values ---- */

static bool printable(const char *s, size_t min, size_t max)
{
	size_t n = strlen(s);

	for (const char *p = s; *p; p++)
		if (!isprint((unsigned char)*p) || (unsigned char)*p >= 0x80)
			return false;
	return n >= min && n <= max && (!n || (*s != ' ' && s[n - 1] != ' '));
}

bool tg_good_nqn(const char *nqn)
{
	return printable(nqn, 5, 223) && !strncmp(nqn, "nqn.", 4) && !strpbrk(nqn, " ,\"'\\/");
}

bool tg_good_name(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return *name && *name != '.' && strlen(name) <= 48 && strspn(name, chars) == strlen(name) &&
	       strcmp(name, "version") && strcmp(name, "features");
}

static bool hex(const char *s, const char *form)
{
	bool any = false;

	for (; *form && *s; form++, s++) {
		if (*form == '-' ? *s != '-' : !isxdigit((unsigned char)*s))
			return false;
		any |= *s != '-' && *s != '0';
	}
	return !*form && !*s && any;
}

static bool is_word(const char *text, const char *words)
{
	size_t n = strlen(text);

	for (const char *w = words; n && *w; w += strspn(w, " ")) {
		size_t len = strcspn(w, " ");

		if (len == n && !strncmp(w, text, n))
			return true;
		w += len;
	}
	return false;
}

static bool bad(char *buf, const char *fmt, const char *arg)
{
	snprintf(buf, TG_VALUE, fmt, arg);
	return false;
}

static bool number(const struct tg_attr *a, const char *text, char *buf)
{
	uint64_t v;

	if (opts_parse_number(text, &v) || v > a->max || (v < a->min && (v || !a->words))) {
		snprintf(buf, TG_VALUE, "is a number from %" PRIu64 " to %" PRIu64 "%s%s", a->min, a->max,
			 a->words ? ", or 0: " : "", a->words ? a->words : "");
		return false;
	}
	snprintf(buf, TG_VALUE, "%" PRIu64, v);
	return true;
}

bool tg_value(const struct tg_attr *a, struct json_object *value, char *buf)
{
	enum json_type type = json_object_get_type(value);
	const char *text = json_object_get_string(value);
	char *copy;
	bool good;

	if ((type != json_type_string && type != json_type_int) || (type == json_type_string &&
	    strlen(text) != (size_t)json_object_get_string_len(value)))
		return bad(buf, "is a %s", a->type == TG_NUM ? "number" : "text");
	switch (a->type) {
	case TG_NUM:
		copy = strdup(text);
		good = copy && number(a, copy, buf);
		free(copy);
		return good;
	case TG_WORD:
		if (!is_word(text, a->words))
			return bad(buf, "is one of %s", a->words);
		break;
	case TG_NQN:
		if (*text && !tg_good_nqn(text))
			return bad(buf, "begins with nqn., has at most 223 characters, no blanks, commas, quotes, slashes", "");
		break;
	case TG_UUID:
		if (*text && !hex(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
			return bad(buf, "is 8-4-4-4-12 hexadecimal digits, not all 0", "");
		break;
	case TG_NGUID:
		if (*text && !hex(text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"))
			return bad(buf, "is 32 hexadecimal digits, not all 0", "");
		break;
	case TG_PATHNAME:
		if (strncmp(text, "/dev/", 5) || strstr(text, "/../"))
			return bad(buf, "is a device in /dev", "");
		/* fall through */
	case TG_TEXT:
		if (!printable(text, a->min, a->max)) {
			snprintf(buf, TG_VALUE, "has %" PRIu64 " to %" PRIu64 " characters, printable ASCII, no blanks at its ends",
				 a->min, a->max);
			return false;
		}
		break;
	}
	snprintf(buf, TG_VALUE, "%s", text);
	/* As the kernel shows them. */
	for (char *p = buf; (a->type == TG_UUID || a->type == TG_NGUID) && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return true;
}

/* ---- Groups of attributes ---- */

static bool empty(const struct tg_attr *a, const char *text)
{
	return !*text || (a->type == TG_UUID && strspn(text, "0-") == strlen(text)) ||
	       (a->type == TG_NGUID && strspn(text, "0-") == strlen(text));
}

struct json_object *tg_read_attrs(const char *dir, const char *prefix, const struct tg_attr *table, bool strings)
{
	struct json_object *o = json_object_new_object();
	char path[TG_PATH + 64], text[TG_VALUE];

	for (const struct tg_attr *a = table; a->name; a++) {
		snprintf(path, sizeof(path), "%s/%s%s", dir, prefix, a->name);
		if (tg_read(path, text, sizeof(text)) < 0 || empty(a, text))
			continue;
		if (strings || (a->type != TG_NUM && a->type != TG_WORD) || !isdigit((unsigned char)*text))
			out_add_str(o, a->name, text);
		else
			out_add_num(o, a->name, strtoull(text, NULL, 10));
	}
	return o;
}

int tg_write_attrs(struct target *g, const char *dir, const char *prefix, const struct tg_attr *table,
		   struct json_object *obj)
{
	char path[TG_PATH + 64], text[TG_VALUE];
	struct json_object *v;
	int rc = 0;

	for (const struct tg_attr *a = table; a->name && !rc; a++) {
		v = tg_get(obj, a->name);
		if (!v)
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", dir, prefix, a->name);
		if (!tg_value(a, v, text))
			return tool_error(g->t, a->name, "%s", text);
		rc = tg_write(g, path, text);
	}
	return rc;
}

/* ---- JSON ---- */

struct json_object *tg_get(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, key, &v);
	return v;
}

const char *tg_str(struct json_object *o, const char *key)
{
	struct json_object *v = tg_get(o, key);

	return v ? json_object_get_string(v) : "";
}

int64_t tg_int(struct json_object *o, const char *key)
{
	return json_object_get_int64(tg_get(o, key));
}

size_t tg_len(struct json_object *o, const char *key)
{
	struct json_object *v = tg_get(o, key);

	return json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
}

struct json_object *tg_at(struct json_object *o, const char *key, size_t i)
{
	return i < tg_len(o, key) ? json_object_array_get_idx(tg_get(o, key), i) : NULL;
}

bool tg_has_str(struct json_object *o, const char *key, const char *text)
{
	for (size_t i = 0; i < tg_len(o, key); i++)
		if (!strcmp(json_object_get_string(tg_at(o, key, i)), text))
			return true;
	return false;
}

struct json_object *tg_find(struct json_object *o, const char *array, const char *key, const char *text)
{
	for (size_t i = 0; i < tg_len(o, array); i++)
		if (!strcmp(tg_str(tg_at(o, array, i), key), text))
			return tg_at(o, array, i);
	return NULL;
}

struct json_object *tg_array(struct json_object *o, const char *key)
{
	struct json_object *v = tg_get(o, key);

	if (!v) {
		v = json_object_new_array();
		json_object_object_add(o, key, v);
	}
	return v;
}
