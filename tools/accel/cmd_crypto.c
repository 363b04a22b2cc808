/* SPDX-License-Identifier: BSD-2-Clause */
/* accel crypto: the verbs, and what they share. */
#include "crypto.h"
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The device first; priority is preset by where it is. */
const struct tg_attr cr_attrs[] = {
	{ "device_path", TG_PATHNAME, 1, 255, NULL },
	{ "slots", TG_NUM, 1, 256, NULL },
	{ "queue_depth", TG_NUM, 1, 65536, NULL },
	{ "threshold_min", TG_NUM, 0, UINT32_MAX, NULL },
	{ "threshold_max", TG_NUM, 512, 1048576, NULL },
	{ "verify", TG_NUM, 0, 2, NULL },
	{ "level", TG_NUM, 1, 9, NULL },
	{ "window_bits", TG_NUM, 9, 15, NULL },
	{ "priority", TG_NUM, 0, 10000, NULL },
	{ "timeout", TG_NUM, 10, 600000, NULL },
	{ "allow_fabrics", TG_NUM, 0, 1, NULL },
	{ 0 },
};

void cr_init(struct target *g, struct tool *t)
{
	tg_init(g, t);
	g->module = CR_MODULE;
	g->job = "crypto";
}

void cr_names(struct target *g, struct tg_names *names)
{
	char path[TG_PATH];
	size_t n = 0;

	tg_list(tg_path(g, path, CR_MODULE), names);
	for (size_t i = 0; i < names->n; i++) {
		/* What has no such attribute is an attribute itself. */
		if (tg_exists(tg_path(g, path, CR_MODULE "/%s/enable", names->v[i])))
			names->v[n++] = names->v[i];
		else
			free(names->v[i]);
	}
	names->n = n;
}

/* 0: there is none. */
static dev_t number_of(struct target *g, const char *device)
{
	char path[TG_PATH];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", g->root, device);
	return !stat(path, &st) && S_ISBLK(st.st_mode) ? st.st_rdev : 0;
}

bool cr_is_device(struct target *g, const char *name, const char *device)
{
	char path[TG_PATH], bound[512];
	dev_t number = number_of(g, device);

	if (tg_read(tg_path(g, path, CR_MODULE "/%s/device_path", name), bound, sizeof(bound)) <= 0)
		return false;
	return !strcmp(bound, device) || (number && number_of(g, bound) == number);
}

bool cr_find(struct target *g, const char *text, char name[CR_NAME])
{
	char path[TG_PATH];
	struct tg_names names;
	bool found = false;

	if (tg_good_name(text) && tg_exists(tg_path(g, path, CR_MODULE "/%s/enable", text))) {
		snprintf(name, CR_NAME, "%s", text);
		return true;
	}
	cr_names(g, &names);
	for (size_t i = 0; i < names.n && !found; i++) {
		found = cr_is_device(g, names.v[i], text);
		if (found)
			snprintf(name, CR_NAME, "%s", names.v[i]);
	}
	tg_list_free(&names);
	if (!found)
		tool_error(g->t, text, "is no binding, and no device that is bound (see accel crypto list)");
	return found;
}

struct json_object *cr_binding(struct target *g, const char *name)
{
	static const char *const seen[] = { "state", "transport", "uuid" };
	char dir[TG_PATH], path[TG_PATH + 64], text[TG_VALUE], *word, *rest;
	struct json_object *o = json_object_new_object(), *attr, *algs;

	tg_path(g, dir, CR_MODULE "/%s", name);
	out_add_str(o, "name", name);
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, seen[i]);
		out_add_str(o, seen[i], tg_read(path, text, sizeof(text)) > 0 ? text : NULL);
	}
	algs = tg_array(o, "algorithms");
	snprintf(path, sizeof(path), "%s/algorithms", dir);
	tg_read(path, text, sizeof(text));
	for (rest = text; (word = strtok_r(rest, " ", &rest));)
		json_object_array_add(algs, json_object_new_string(word));
	attr = tg_read_attrs(dir, "", cr_attrs, false);
	json_object_object_foreach(attr, key, value)
		json_object_object_add(o, key, json_object_get(value));
	json_object_put(attr);
	return o;
}

static const struct verb *const subs[] = {
	&verb_crypto_bind, &verb_crypto_unbind, &verb_crypto_list, &verb_crypto_stats, &verb_crypto_bench, NULL,
};

const struct verb verb_crypto = {
	.name = "crypto",
	.summary = "Give accelerators to the kernel's crypto API",
	.usage = "bind|unbind|list|stats|bench [options]",
	.subs = subs,
};
