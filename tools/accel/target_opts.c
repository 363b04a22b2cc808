/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: documents from options. */
#include "target.h"
#include "target_opts.h"
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* ---- Namespaces ---- */

struct key {
	const char *key, *attr;		/* attr NULL: special */
	bool engine, device;
};

static const struct key keys[] = {
	{ "threads", "engine_threads", true, false },
	{ "slots", "engine_slots", true, false },
	{ "driver", "engine_driver", true, false },
	{ "window", "engine_window_bits", true, false },
	{ "block", NULL, true, false },
	{ "nsid", NULL, true, true },
	{ "as", NULL, false, true },
	{ "shared", NULL, false, true },
	{ "allow", "allow", true, true },
	{ "uuid", "uuid", true, true },
	{ 0 },
};

static const struct key *find_key(const char *name, bool engine)
{
	for (const struct key *k = keys; k->key; k++)
		if (!strcmp(k->key, name) && (engine ? k->engine : k->device))
			return k;
	return NULL;
}

/* One attribute by its text, which was given as key; 0 or TOOL_USAGE. */
static int put(struct target *g, const char *option, const char *key, struct json_object *attr, const char *name, const char *value)
{
	const struct tg_attr *a = tg_attr(tg_ns_attrs, name);
	struct json_object *v = json_object_new_string(value);
	char text[TG_VALUE];
	bool good = tg_value(a, v, text);

	json_object_put(v);
	if (!good)
		return tool_usage(g->t, "%s: %s%s%s: %s", option, key, *key ? "=" : "", value, text);
	if (a->type == TG_NUM)
		out_add_num(attr, name, strtoull(text, NULL, 10));
	else
		out_add_str(attr, name, text);
	return 0;
}

struct spec {
	const char *option;
	bool engine;
	uint64_t nsid, as;
	struct json_object *attr;
};

static int put_special(struct target *g, struct spec *s, const char *key, char *value)
{
	char name[32];

	snprintf(name, sizeof(name), "%s: %s", s->option, key);
	if (!strcmp(key, "nsid"))
		return opts_number(g->t, name, value, 1, s->engine ? TG_MAX_NSID : 0xfffffffe, s->engine ? &s->as : &s->nsid);
	if (!strcmp(key, "as"))
		return opts_number(g->t, name, value, 1, TG_MAX_NSID, &s->as);
	if (!strcmp(key, "block")) {
		if (strcmp(value, "512") && strcmp(value, "4096"))
			return tool_usage(g->t, "%s=%s: is 512 or 4096", name, value);
		out_add_num(s->attr, "engine_lbads", strcmp(value, "512") ? 12 : 9);
		return 0;
	}
	out_add_num(s->attr, "shared", 1);
	return 0;
}

static int parse_keys(struct target *g, struct spec *s, char *rest)
{
	char *save = NULL;
	int rc = 0;

	for (char *p = strtok_r(rest, ",", &save); p && !rc; p = strtok_r(NULL, ",", &save)) {
		char *value = strchr(p, '=');
		const struct key *k;

		if (value)
			*value++ = 0;
		k = find_key(p, s->engine);
		if (!k)
			return tool_usage(g->t, "%s: unknown key '%s'", s->option, p);
		if (!value && strcmp(p, "shared"))
			return tool_usage(g->t, "%s: %s needs a value (%s=...)", s->option, p, p);
		if (value && !strcmp(p, "shared"))
			return tool_usage(g->t, "%s: shared takes no value", s->option);
		for (char *c = value; value && !strcmp(p, "allow") && *c; c++)
			*c = *c == '+' ? ' ' : *c;
		rc = k->attr ? put(g, s->option, p, s->attr, k->attr, value) : put_special(g, s, p, value);
	}
	return rc;
}

static int add_ns(struct target *g, bool engine, const char *text, struct json_object *ctrl)
{
	struct json_object *ns = json_object_new_object(), *attr = json_object_new_object();
	struct spec s = { .option = engine ? "--engine" : "--device", .engine = engine, .attr = attr };
	char *copy = strdup(text), *comma = copy ? strchr(copy, ',') : NULL, *rest = comma ? comma + 1 : NULL;
	int rc = 0;

	if (comma)
		*comma = 0;
	json_object_object_add(ns, "attr", attr);
	out_add_num(ns, "enable", 1);
	json_object_array_add(tg_array(ctrl, "namespaces"), ns);
	out_add_str(attr, "kind", engine ? "engine" : "device");
	if (engine)
		rc = put(g, s.option, "", attr, "engine_type", copy ? copy : "");
	if (!rc && rest)
		rc = parse_keys(g, &s, rest);
	if (s.as)
		out_add_num(ns, "nsid", s.as);
	/* /sys is asked later, when it is known where that is. */
	if (!engine && !rc) {
		out_add_str(attr, "device_path", copy ? copy : "");
		if (s.nsid)
			out_add_num(attr, "device_nsid", s.nsid);
	}
	free(copy);
	return rc;
}

static int add_limit(struct target *g, struct json_object *ctrl, const char *option, const char *name)
{
	struct json_object *limits = tg_get(ctrl, "limits");

	if (!limits) {
		limits = json_object_new_object();
		json_object_object_add(ctrl, "limits", limits);
	}
	return put(g, option, "", limits, name, optarg);
}

int tg_ns_option(struct target *g, int c, struct json_object *ctrl)
{
	switch (c) {
	case 'e':
	case 'd':
		return add_ns(g, c == 'e', optarg, ctrl);
	case OPT_INFLIGHT:
		return add_limit(g, ctrl, "--max-inflight", "max_inflight");
	case OPT_BYTES:
		return add_limit(g, ctrl, "--max-bytes-per-sec", "max_bytes_per_sec");
	case OPT_CMDS:
		return add_limit(g, ctrl, "--max-cmds-per-sec", "max_cmds_per_sec");
	default:
		return -1;
	}
}

static int give_number(struct target *g, struct json_object *ctrl, struct json_object *used, struct json_object *ns)
{
	char text[16];

	if (tg_get(ns, "nsid")) {
		if (tg_find(used, "namespaces", "nsid", tg_str(ns, "nsid")) ||
		    tg_find(ctrl, "namespaces", "nsid", tg_str(ns, "nsid")) != ns)
			return tool_error(g->t, tg_str(ctrl, "name"), "has a namespace %s already", tg_str(ns, "nsid"));
		return 0;
	}
	for (unsigned int n = 1; n <= TG_MAX_NSID; n++) {
		snprintf(text, sizeof(text), "%u", n);
		if (tg_find(used, "namespaces", "nsid", text) || tg_find(ctrl, "namespaces", "nsid", text))
			continue;
		out_add_num(ns, "nsid", n);
		return 0;
	}
	return tool_error(g->t, tg_str(ctrl, "name"), "has %u namespaces, the most that there can be", TG_MAX_NSID);
}

int tg_ns_finish(struct target *g, struct json_object *ctrl, struct json_object *used)
{
	struct json_object *limits = tg_get(ctrl, "limits");
	int rc = 0;

	for (size_t i = 0; i < tg_len(ctrl, "namespaces") && !rc; i++) {
		struct json_object *ns = tg_at(ctrl, "namespaces", i), *attr = tg_get(ns, "attr");

		if (!strcmp(tg_str(attr, "kind"), "device"))
			rc = tg_lower_named(g, tg_str(attr, "device_path"), (uint32_t)tg_int(attr, "device_nsid"), ns);
		rc = rc ? rc : give_number(g, ctrl, used, ns);
		if (!limits)
			continue;
		json_object_object_foreach(limits, key, value)
			json_object_object_add(attr, key, json_object_get(value));
	}
	json_object_object_del(ctrl, "limits");
	return rc;
}

/* ---- Exports ---- */

static int transport(struct target *g, struct tg_export *e, const char *trtype)
{
	if (e->trtype)
		return tool_usage(g->t, "one of --tcp, --rdma, --loop; export it again for another one");
	e->trtype = trtype;
	e->address = strcmp(trtype, "loop") ? optarg : NULL;
	return 0;
}

static int add_host(struct target *g, struct tg_export *e)
{
	if (!tg_good_nqn(optarg))
		return tool_usage(g->t, "--host: '%s' is no NQN (that of a host is in its /etc/nvme/hostnqn)", optarg);
	e->hosts = e->hosts ? e->hosts : json_object_new_array();
	json_object_array_add(e->hosts, json_object_new_string(optarg));
	return 0;
}

int tg_export_option(struct target *g, int c, struct tg_export *e)
{
	switch (c) {
	case OPT_TCP:
		return transport(g, e, "tcp");
	case OPT_RDMA:
		return transport(g, e, "rdma");
	case OPT_LOOP:
		return transport(g, e, "loop");
	case OPT_HOST:
		return add_host(g, e);
	case OPT_ANY_HOST:
		e->any_host = true;
		return 0;
	case OPT_PORT_ID:
		return opts_number(g->t, "--port-id", optarg, 1, 65535, &e->port_id);
	case OPT_NQN:
		e->nqn = optarg;
		return tg_good_nqn(optarg) ? 0 : tool_usage(g->t, "--nqn: '%s' is no NQN (nqn.YYYY-MM.DOMAIN:NAME)", optarg);
	case OPT_CLEAR_IDS:
		e->clear_ids = true;
		return 0;
	default:
		return -1;
	}
}
