/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: a whole document is looked at before anything of it is done. */
#include "target.h"
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct check {
	struct target *g;
	const char *file;
	struct json_object *doc;
};

#define PLACE	512
#define MEMBERS	4096u		/* in an array; far more than there can be, and each is compared with the others */

static int wrong(const struct check *c, const char *place, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(const struct check *c, const char *place, const char *fmt, ...)
{
	char text[TG_VALUE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tool_error(c->g->t, c->file, "%s%s%s", place, *place ? ": " : "", text);
}

static bool listed(const char *key, const char *const *keys)
{
	for (; *keys; keys++)
		if (!strcmp(key, *keys))
			return true;
	return false;
}

/* An object that has no other keys than these. */
static int keys(const struct check *c, const char *place, struct json_object *o, const char *const *known)
{
	if (!json_object_is_type(o, json_type_object))
		return wrong(c, place, "is an object {...}");
	json_object_object_foreach(o, key, value) {
		(void)value;
		if (!listed(key, known))
			return wrong(c, place, "unknown key '%.64s'", key);
	}
	return 0;
}

static int attrs(const struct check *c, const char *where, const char *group, struct json_object *o,
		 const struct tg_attr *table)
{
	char place[PLACE], text[TG_VALUE];

	if (!o)
		return 0;
	snprintf(place, sizeof(place), "%s.%s", where, group);
	if (!json_object_is_type(o, json_type_object))
		return wrong(c, place, "is an object {...}");
	json_object_object_foreach(o, key, value) {
		const struct tg_attr *a = tg_attr(table, key);

		if (!a)
			return wrong(c, place, "unknown key '%.64s'", key);
		if (!tg_value(a, value, text))
			return wrong(c, place, "%s %s", key, text);
	}
	return 0;
}

/* A number that must be there. */
static int number(const struct check *c, const char *place, struct json_object *o, const char *key, int64_t min, int64_t max)
{
	struct json_object *v = tg_get(o, key);

	if (!v)
		return wrong(c, place, "has no %s", key);
	if (!json_object_is_type(v, json_type_int) || tg_int(o, key) < min || tg_int(o, key) > max)
		return wrong(c, place, "%s is a number from %" PRId64 " to %" PRId64, key, min, max);
	return 0;
}

static int flag(const struct check *c, const char *place, struct json_object *o, const char *key)
{
	return tg_get(o, key) ? number(c, place, o, key, 0, 1) : 0;
}

static int size(const struct check *c, const char *where, struct json_object *o, const char *key)
{
	if (tg_get(o, key) && !json_object_is_type(tg_get(o, key), json_type_array))
		return wrong(c, where, "%s is an array [...]", key);
	return tg_len(o, key) > MEMBERS ? wrong(c, where, "%s has more than %u members", key, MEMBERS) : 0;
}

/* The members of o[key] are objects; each is looked at by one(), and no two have the same id. */
typedef int (*check_one)(const struct check *c, const char *place, struct json_object *o);

static int array(const struct check *c, const char *where, struct json_object *o, const char *key, const char *id,
		 check_one one)
{
	int rc = size(c, where, o, key);
	char place[PLACE];

	for (size_t i = 0; i < tg_len(o, key) && !rc; i++) {
		struct json_object *m = tg_at(o, key, i);

		snprintf(place, sizeof(place), "%s%s%s[%zu]", where, *where ? "." : "", key, i);
		if (!json_object_is_type(m, json_type_object))
			return wrong(c, place, "is an object {...}");
		rc = one(c, place, m);
		if (!rc && id && tg_find(o, key, id, tg_str(m, id)) != m)
			rc = wrong(c, place, "%s %s is there twice", id, tg_str(m, id));
	}
	return rc;
}

/* The members of o[key] are NQNs, each once, and each is in the document's array. */
static int nqns(const struct check *c, const char *where, struct json_object *o, const char *key, const char *in)
{
	if (size(c, where, o, key))
		return TOOL_FAILED;
	for (size_t i = 0; i < tg_len(o, key); i++) {
		struct json_object *m = tg_at(o, key, i);
		const char *nqn = json_object_get_string(m);

		if (!json_object_is_type(m, json_type_string) || !tg_good_nqn(nqn))
			return wrong(c, where, "%s[%zu] is the NQN of %s", key, i, in);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(nqn, json_object_get_string(tg_at(o, key, j))))
				return wrong(c, where, "%s: %s is there twice", key, nqn);
		if (!tg_find(c->doc, in, "nqn", nqn))
			return wrong(c, where, "%s: %s is not among the %s of this file", key, nqn, in);
	}
	return 0;
}

static int nqn_of(const struct check *c, const char *place, struct json_object *o)
{
	if (!json_object_is_type(tg_get(o, "nqn"), json_type_string) || !tg_good_nqn(tg_str(o, "nqn")))
		return wrong(c, place, "nqn begins with nqn., has at most 223 characters, no blanks, commas, quotes, slashes");
	return 0;
}

/* ---- Ours ---- */

static int identity(const struct check *c, const char *where, struct json_object *o)
{
	static const char *const known[] = { "subsysnqn", "transport", "address", "serial", "uuid", "nguid", "eui", NULL };
	char place[PLACE];
	int rc;

	if (!o)
		return 0;
	snprintf(place, sizeof(place), "%s.identity", where);
	rc = keys(c, place, o, known);
	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
		if (!json_object_is_type(value, json_type_string))
			return wrong(c, place, "%s is a text", key);
	return *tg_str(o, "subsysnqn") ? 0 : wrong(c, place, "has no subsysnqn");
}

static int ns(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "nsid", "enable", "attr", "identity", NULL };
	struct json_object *attr = tg_get(o, "attr");
	const char *kind = tg_str(attr, "kind");
	int rc = keys(c, place, o, known);

	rc = rc ? rc : number(c, place, o, "nsid", 1, TG_MAX_NSID);
	rc = rc ? rc : flag(c, place, o, "enable");
	rc = rc ? rc : attrs(c, place, "attr", attr, tg_ns_attrs);
	rc = rc ? rc : identity(c, place, tg_get(o, "identity"));
	if (rc)
		return rc;
	if (!*kind)
		return tg_int(o, "enable") || tg_get(o, "identity") ? wrong(c, place, "attr has no kind") : 0;
	if (!strcmp(kind, "engine"))
		return tg_get(attr, "engine_type") || !tg_int(o, "enable") ? 0 : wrong(c, place, "attr has no engine_type");
	if (tg_int(o, "enable") && (!tg_get(attr, "device_path") || !tg_get(attr, "device_nsid")))
		return wrong(c, place, "attr has no device_path, or no device_nsid");
	return 0;
}

static int ctrl(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "name", "enable", "attr", "namespaces", "exports", NULL };
	int rc = keys(c, place, o, known);

	if (rc)
		return rc;
	if (!json_object_is_type(tg_get(o, "name"), json_type_string) || !tg_good_name(tg_str(o, "name")))
		return wrong(c, place, "name has 1 to 48 letters, digits and ._-, and no dot first; it is not version or features");
	rc = flag(c, place, o, "enable");
	rc = rc ? rc : attrs(c, place, "attr", tg_get(o, "attr"), tg_ctrl_attrs);
	rc = rc ? rc : array(c, place, o, "namespaces", "nsid", ns);
	rc = rc ? rc : nqns(c, place, o, "exports", "subsystems");
	if (!rc && tg_len(o, "exports") > 1)
		rc = wrong(c, place, "exports: a controller can be exported by one subsystem only");
	if (!rc && tg_len(o, "exports") && tg_get(o, "enable") && !tg_int(o, "enable"))
		rc = wrong(c, place, "is exported, but enable is 0");
	return rc;
}

/* ---- The inbox target's ---- */

static int host(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "nqn", "dhchap", NULL };
	int rc = keys(c, place, o, known);

	rc = rc ? rc : nqn_of(c, place, o);
	return rc ? rc : attrs(c, place, "dhchap", tg_get(o, "dhchap"), tg_dhchap_attrs);
}

static int passthru(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "device", "enable", "clear_ids", "admin_timeout", "io_timeout", NULL };
	static const char *const device[] = { "path", NULL };
	int rc = keys(c, place, o, known);
	char text[TG_VALUE];

	if (!rc && tg_get(o, "device"))
		rc = keys(c, place, tg_get(o, "device"), device);
	rc = rc ? rc : flag(c, place, o, "enable");
	for (const struct tg_attr *a = tg_passthru_attrs; a->name && !rc; a++)
		if (tg_get(o, a->name) && !tg_value(a, tg_get(o, a->name), text))
			rc = wrong(c, place, "%s %s", a->name, text);
	return rc;
}

static unsigned int exporters(const struct check *c, const char *nqn)
{
	unsigned int n = 0;

	for (size_t i = 0; i < tg_len(c->doc, TG_SECTION); i++)
		n += tg_has_str(tg_at(c->doc, TG_SECTION, i), "exports", nqn);
	return n;
}

static int subsys(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "nqn", "attr", "allowed_hosts", "namespaces", "passthru", NULL };
	int rc = keys(c, place, o, known);
	unsigned int n;

	rc = rc ? rc : nqn_of(c, place, o);
	rc = rc ? rc : attrs(c, place, "attr", tg_get(o, "attr"), tg_subsys_attrs);
	rc = rc ? rc : nqns(c, place, o, "allowed_hosts", "hosts");
	rc = rc ? rc : array(c, place, o, "passthru", NULL, passthru);
	if (rc)
		return rc;
	if (tg_len(o, "namespaces"))
		return wrong(c, place, "has namespaces of its own: nvmetcli restores such subsystems");
	if (tg_len(o, "passthru") > 1)
		return wrong(c, place, "passthru has one member");
	if (tg_len(o, "allowed_hosts") && !strcmp(tg_str(tg_get(o, "attr"), "allow_any_host"), "1"))
		return wrong(c, place, "has allowed_hosts, and allow_any_host is 1: take out one of them");
	n = exporters(c, tg_str(o, "nqn"));
	if (n != 1)
		return wrong(c, place, n ? "is in the exports of %u controllers of " TG_SECTION :
			     "is in the exports of %u controllers of " TG_SECTION ": nvmetcli restores what is not ours", n);
	return 0;
}

static int port(const struct check *c, const char *place, struct json_object *o)
{
	static const char *const known[] = { "portid", "addr", "param", "subsystems", "ana_groups", "referrals", NULL };
	struct json_object *addr = tg_get(o, "addr");
	int rc = keys(c, place, o, known);

	rc = rc ? rc : number(c, place, o, "portid", 0, 65535);
	rc = rc ? rc : attrs(c, place, "addr", addr, tg_addr_attrs);
	rc = rc ? rc : attrs(c, place, "param", tg_get(o, "param"), tg_param_attrs);
	rc = rc ? rc : nqns(c, place, o, "subsystems", "subsystems");
	if (rc)
		return rc;
	if (!tg_get(addr, "trtype"))
		return wrong(c, place, "addr has no trtype");
	if (strcmp(tg_str(addr, "trtype"), "loop") && !*tg_str(addr, "traddr"))
		return wrong(c, place, "addr has no traddr");
	if (tg_len(o, "referrals"))
		return wrong(c, place, "has referrals: nvmetcli restores such ports");
	return 0;
}

int tg_check(struct target *g, const char *file, struct json_object *doc)
{
	static const char *const known[] = { "hosts", "ports", "subsystems", TG_SECTION, NULL };
	const struct check c = { .g = g, .file = file, .doc = doc };
	int rc = keys(&c, "", doc, known);

	rc = rc ? rc : array(&c, "", doc, TG_SECTION, "name", ctrl);
	rc = rc ? rc : array(&c, "", doc, "hosts", "nqn", host);
	rc = rc ? rc : array(&c, "", doc, "subsystems", "nqn", subsys);
	return rc ? rc : array(&c, "", doc, "ports", "portid", port);
}
