/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: what there is, as a document. The inbox target's part has the form of nvmetcli. */
#include "target.h"
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static int64_t read_int(const char *path)
{
	char text[64];

	return tg_read(path, text, sizeof(text)) > 0 ? strtoll(text, NULL, 0) : 0;
}

static void add_read_int(struct json_object *o, const char *key, const char *dir)
{
	char path[TG_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, key);
	out_add_int(o, key, read_int(path));
}

/* ---- Ours ---- */

/* What belongs to the other kind only confuses. */
static void drop_other_kind(struct json_object *attr)
{
	const char *other = !strcmp(tg_str(attr, "kind"), "engine") ? "device_" : "engine_";

	for (const struct tg_attr *a = tg_ns_attrs; a->name; a++)
		if (!strncmp(a->name, other, strlen(other)) || (*other == 'd' && !strcmp(a->name, "shared")))
			json_object_object_del(attr, a->name);
}

/* What reads so as long as nobody has written it, and cannot be written. */
static void drop_unset(struct json_object *attr)
{
	if (!strcmp(tg_str(attr, "kind"), "none"))
		json_object_object_del(attr, "kind");
	if (!tg_int(attr, "device_nsid"))
		json_object_object_del(attr, "device_nsid");
}

static struct json_object *model_ns(struct target *g, const char *dir, const char *name)
{
	struct json_object *o = json_object_new_object(), *attr, *identity;

	out_add_num(o, "nsid", strtoull(name, NULL, 10));
	add_read_int(o, "enable", dir);
	attr = tg_read_attrs(dir, "", tg_ns_attrs, false);
	drop_other_kind(attr);
	drop_unset(attr);
	json_object_object_add(o, "attr", attr);
	if (!strcmp(tg_str(attr, "kind"), "device")) {
		identity = tg_lower_identity(g, tg_str(attr, "device_path"), (uint32_t)tg_int(attr, "device_nsid"));
		if (identity)
			json_object_object_add(o, "identity", identity);
	}
	return o;
}

static void add_exports(struct target *g, struct json_object *o, const char *name)
{
	char path[TG_PATH], ctrl[64];
	struct tg_names names;

	tg_list(tg_path(g, path, "nvmet/subsystems"), &names);
	for (size_t i = 0; i < names.n; i++)
		if (tg_export_of(g, names.v[i], ctrl, sizeof(ctrl)) && !strcmp(ctrl, name))
			json_object_array_add(tg_array(o, "exports"), json_object_new_string(names.v[i]));
	tg_list_free(&names);
}

struct json_object *tg_model_ctrl(struct target *g, const char *name)
{
	struct json_object *o = json_object_new_object(), *attr;
	char dir[TG_PATH], path[TG_PATH + 64], version[64];
	struct tg_names names;

	tg_path(g, dir, TG_MODULE "/%s", name);
	out_add_str(o, "name", name);
	add_read_int(o, "enable", dir);
	attr = tg_read_attrs(dir, "", tg_ctrl_attrs, false);
	/* The module's version is no wish of anybody's. */
	if (tg_read(tg_path(g, path, TG_MODULE "/version"), version, sizeof(version)) > 0 &&
	    !strcmp(tg_str(attr, "firmware"), version))
		json_object_object_del(attr, "firmware");
	json_object_object_add(o, "attr", attr);
	tg_array(o, "namespaces");
	snprintf(path, sizeof(path), "%s/namespaces", dir);
	tg_list(path, &names);
	for (size_t i = 0; i < names.n; i++) {
		snprintf(path, sizeof(path), "%s/namespaces/%s", dir, names.v[i]);
		json_object_array_add(tg_array(o, "namespaces"), model_ns(g, path, names.v[i]));
	}
	tg_list_free(&names);
	tg_array(o, "exports");
	add_exports(g, o, name);
	return o;
}

/* ---- The inbox target's ---- */

static void add_names(struct json_object *o, const char *key, const char *dir)
{
	struct tg_names names;

	tg_array(o, key);
	tg_list(dir, &names);
	for (size_t i = 0; i < names.n; i++)
		json_object_array_add(tg_array(o, key), json_object_new_string(names.v[i]));
	tg_list_free(&names);
}

static struct json_object *model_subsys(struct target *g, const char *nqn)
{
	struct json_object *o = json_object_new_object(), *p = json_object_new_object(), *device = json_object_new_object(), *attr;
	char dir[TG_PATH], path[TG_PATH + 64], text[TG_VALUE];

	tg_path(g, dir, "nvmet/subsystems/%s", nqn);
	out_add_str(o, "nqn", nqn);
	attr = tg_read_attrs(dir, "attr_", tg_subsys_attrs, true);
	/* These are the kernel's and the controller's. */
	json_object_object_del(attr, "firmware");
	json_object_object_del(attr, "version");
	json_object_object_add(o, "attr", attr);
	snprintf(path, sizeof(path), "%s/allowed_hosts", dir);
	add_names(o, "allowed_hosts", path);
	tg_array(o, "namespaces");
	snprintf(path, sizeof(path), "%s/passthru/device_path", dir);
	if (tg_read(path, text, sizeof(text)) > 0)
		out_add_str(device, "path", text);
	json_object_object_add(p, "device", device);
	snprintf(path, sizeof(path), "%s/passthru", dir);
	add_read_int(p, "clear_ids", path);
	add_read_int(p, "admin_timeout", path);
	add_read_int(p, "io_timeout", path);
	json_object_array_add(tg_array(o, "passthru"), p);
	return o;
}

/* With those of its subsystems that are in doc; NULL: none is. */
static struct json_object *model_port(struct target *g, struct json_object *doc, const char *id)
{
	struct json_object *o, *all = json_object_new_object();
	char dir[TG_PATH], path[TG_PATH + 64];

	tg_path(g, dir, "nvmet/ports/%s", id);
	snprintf(path, sizeof(path), "%s/subsystems", dir);
	add_names(all, "subsystems", path);
	o = json_object_new_object();
	out_add_num(o, "portid", strtoull(id, NULL, 10));
	tg_array(o, "subsystems");
	for (size_t i = 0; i < tg_len(all, "subsystems"); i++) {
		const char *nqn = json_object_get_string(tg_at(all, "subsystems", i));

		if (tg_find(doc, "subsystems", "nqn", nqn))
			json_object_array_add(tg_array(o, "subsystems"), json_object_new_string(nqn));
	}
	json_object_put(all);
	if (!tg_len(o, "subsystems")) {
		json_object_put(o);
		return NULL;
	}
	json_object_object_add(o, "addr", tg_read_attrs(dir, "addr_", tg_addr_attrs, true));
	json_object_object_add(o, "param", tg_read_attrs(dir, "param_", tg_param_attrs, true));
	tg_array(o, "ana_groups");
	tg_array(o, "referrals");
	return o;
}

static void add_host(struct target *g, struct json_object *doc, const char *nqn)
{
	struct json_object *o, *dhchap;
	char dir[TG_PATH];

	if (tg_find(doc, "hosts", "nqn", nqn))
		return;
	o = json_object_new_object();
	out_add_str(o, "nqn", nqn);
	dhchap = tg_read_attrs(tg_path(g, dir, "nvmet/hosts/%s", nqn), "dhchap_", tg_dhchap_attrs, true);
	/* Without a key, the rest are the kernel's own. */
	if (tg_get(dhchap, "key"))
		json_object_object_add(o, "dhchap", dhchap);
	else
		json_object_put(dhchap);
	json_object_array_add(tg_array(doc, "hosts"), o);
}

struct json_object *tg_model(struct target *g)
{
	struct json_object *doc = json_object_new_object(), *o;
	char path[TG_PATH];
	struct tg_names names;

	tg_array(doc, "hosts");
	tg_array(doc, "ports");
	tg_array(doc, "subsystems");
	tg_array(doc, TG_SECTION);
	tg_list(tg_path(g, path, TG_MODULE), &names);
	for (size_t i = 0; i < names.n; i++)
		if (tg_exists(tg_path(g, path, TG_MODULE "/%s/enable", names.v[i])))
			json_object_array_add(tg_array(doc, TG_SECTION), tg_model_ctrl(g, names.v[i]));
	tg_list_free(&names);
	for (size_t i = 0; i < tg_len(doc, TG_SECTION); i++) {
		struct json_object *c = tg_at(doc, TG_SECTION, i);

		for (size_t j = 0; j < tg_len(c, "exports"); j++) {
			o = model_subsys(g, json_object_get_string(tg_at(c, "exports", j)));
			json_object_array_add(tg_array(doc, "subsystems"), o);
			for (size_t k = 0; k < tg_len(o, "allowed_hosts"); k++)
				add_host(g, doc, json_object_get_string(tg_at(o, "allowed_hosts", k)));
		}
	}
	tg_list(tg_path(g, path, "nvmet/ports"), &names);
	for (size_t i = 0; i < names.n; i++) {
		o = model_port(g, doc, names.v[i]);
		if (o)
			json_object_array_add(tg_array(doc, "ports"), o);
	}
	tg_list_free(&names);
	return doc;
}
