/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target export, unexport: the document of an export; which port, which name. */
#include "target.h"
#include "target_opts.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

struct address {
	char host[64], service[8];
	const char *family;
	bool local;			/* loop, or an address that only this machine has */
};

static int bad_address(struct target *g, const struct tg_export *e)
{
	return tool_usage(g->t, "--%s: '%s' is no address of this machine: 192.0.2.1, 192.0.2.1:4420, 2001:db8::1 or "
			  "[2001:db8::1]:4420",
			  e->trtype, e->address);
}

static int parse_address(struct target *g, const struct tg_export *e, struct address *a)
{
	const char *host = e->address, *port = NULL, *end;
	unsigned char bin[16];
	uint64_t n = 4420;
	size_t len;

	memset(a, 0, sizeof(*a));
	a->local = !host;
	if (!host)
		return 0;
	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return bad_address(g, e);
		port = end[1] ? end + 2 : NULL;
	} else {
		end = strchr(host, ':');
		/* More than one colon: an IPv6 address without a port. */
		if (end && !strchr(end + 1, ':'))
			port = end + 1;
		else
			end = host + strlen(host);
	}
	len = (size_t)(end - host);
	if (!len || len >= sizeof(a->host) || (port && (opts_parse_number(port, &n) || !n || n > 65535)))
		return bad_address(g, e);
	memcpy(a->host, host, len);
	snprintf(a->service, sizeof(a->service), "%u", (unsigned int)n);
	a->family = inet_pton(AF_INET, a->host, bin) == 1 ? "ipv4" : inet_pton(AF_INET6, a->host, bin) == 1 ? "ipv6" : NULL;
	if (!a->family)
		return bad_address(g, e);
	a->local = !strncmp(a->host, "127.", 4) || !strcmp(a->host, "::1");
	return 0;
}

int tg_export_check(struct target *g, const struct tg_export *e)
{
	struct address a;

	if (!e->trtype)
		return tool_usage(g->t, "say over what to export it: --tcp=ADDRESS, --rdma=ADDRESS or --loop");
	if (!e->hosts && !e->any_host)
		return tool_usage(g->t, "say who may connect: --host=NQN (that of a host is in its /etc/nvme/hostnqn), or --any-host");
	if (e->hosts && e->any_host)
		return tool_usage(g->t, "--host and --any-host exclude each other");
	return parse_address(g, e, &a);
}

/*
 * A machine that is its own host must not see two subsystems with one name: there the export has another one, made of the
 * controller's: another last digit of its UUID, or an ending.
 */
static void local_nqn(const char *nqn, char *buf, size_t n)
{
	size_t len = strlen(nqn);
	char *last;

	if (strncmp(nqn, "nqn.2014-08.org.nvmexpress:uuid:", 32) || !isxdigit((unsigned char)nqn[len - 1])) {
		snprintf(buf, n, "%.*s:local", 223 - 6, nqn);
		return;
	}
	snprintf(buf, n, "%s", nqn);
	last = buf + strlen(buf) - 1;
	*last = "0123456789abcdef"[(unsigned int)strtoul(last, NULL, 16) ^ 1];
}

/* The port with that address, the one that was asked for, or the first number that is free. */
static uint64_t find_port(struct target *g, const struct tg_export *e, const struct address *a)
{
	char path[TG_PATH], id[24];
	struct tg_names names;
	uint64_t found = e->port_id;

	tg_list(tg_path(g, path, "nvmet/ports"), &names);
	for (size_t i = 0; i < names.n && !found; i++) {
		struct json_object *o = tg_read_attrs(tg_path(g, path, "nvmet/ports/%s", names.v[i]), "addr_", tg_addr_attrs, true);

		if (!strcmp(tg_str(o, "trtype"), e->trtype) &&
		    (!e->address || (!strcmp(tg_str(o, "traddr"), a->host) && !strcmp(tg_str(o, "trsvcid"), a->service))))
			found = strtoull(names.v[i], NULL, 10);
		json_object_put(o);
	}
	tg_list_free(&names);
	for (unsigned int n = 1; !found; n++) {
		snprintf(id, sizeof(id), "%u", n);
		if (!tg_exists(tg_path(g, path, "nvmet/ports/%s", id)))
			found = n;
	}
	return found;
}

static struct json_object *port_doc(struct target *g, const struct tg_export *e, const struct address *a, const char *nqn)
{
	struct json_object *o = json_object_new_object(), *addr = json_object_new_object();

	out_add_num(o, "portid", find_port(g, e, a));
	out_add_str(addr, "trtype", e->trtype);
	if (e->address) {
		out_add_str(addr, "adrfam", a->family);
		out_add_str(addr, "traddr", a->host);
		out_add_str(addr, "trsvcid", a->service);
	}
	json_object_object_add(o, "addr", addr);
	json_object_array_add(tg_array(o, "subsystems"), json_object_new_string(nqn));
	return o;
}

/* One that is exported already keeps its name, and gets a port or hosts more. */
static void subsys_doc(const struct tg_export *e, bool clear, const char *nqn, struct json_object *doc)
{
	struct json_object *s = json_object_new_object(), *attr = json_object_new_object(), *p = json_object_new_object();

	out_add_str(s, "nqn", nqn);
	out_add_str(attr, "allow_any_host", e->any_host ? "1" : "0");
	json_object_object_add(s, "attr", attr);
	if (clear)
		out_add_num(p, "clear_ids", 1);
	json_object_array_add(tg_array(s, "passthru"), p);
	for (size_t i = 0; e->hosts && i < json_object_array_length(e->hosts); i++) {
		const char *host = json_object_get_string(json_object_array_get_idx(e->hosts, i));
		struct json_object *h;

		if (tg_has_str(s, "allowed_hosts", host))
			continue;
		h = json_object_new_object();
		out_add_str(h, "nqn", host);
		json_object_array_add(tg_array(doc, "hosts"), h);
		json_object_array_add(tg_array(s, "allowed_hosts"), json_object_new_string(host));
	}
	json_object_array_add(tg_array(doc, "subsystems"), s);
}

int tg_export_doc(struct target *g, const struct tg_export *e, struct json_object *doc, struct json_object *ctrl,
		  const char *ctrl_nqn)
{
	struct json_object *now = tg_model_ctrl(g, tg_str(ctrl, "name"));
	const char *has = tg_len(now, "exports") ? json_object_get_string(tg_at(now, "exports", 0)) : NULL;
	char nqn[256];
	struct address a;
	int rc = parse_address(g, e, &a);

	if (!rc && has && e->nqn && strcmp(has, e->nqn))
		rc = tool_error(g->t, tg_str(ctrl, "name"), "is exported as %s, and can have one name only: unexport it first", has);
	if (!rc) {
		if (e->nqn || has)
			snprintf(nqn, sizeof(nqn), "%s", e->nqn ? e->nqn : has);
		else if (a.local)
			local_nqn(ctrl_nqn, nqn, sizeof(nqn));
		else
			snprintf(nqn, sizeof(nqn), "%s", ctrl_nqn);
		subsys_doc(e, e->clear_ids || a.local, nqn, doc);
		json_object_array_add(tg_array(doc, "ports"), port_doc(g, e, &a, nqn));
		json_object_array_add(tg_array(ctrl, "exports"), json_object_new_string(nqn));
	}
	json_object_put(now);
	return rc;
}

void tg_print_connect(struct json_object *doc)
{
	for (size_t i = 0; i < tg_len(doc, "ports"); i++) {
		struct json_object *p = tg_at(doc, "ports", i), *addr = tg_get(p, "addr");
		const char *host = tg_str(addr, "traddr");

		for (size_t j = 0; j < tg_len(p, "subsystems"); j++) {
			printf("nvme connect -t %s", tg_str(addr, "trtype"));
			if (strcmp(tg_str(addr, "trtype"), "loop"))
				printf(" -a %s -s %s", !strcmp(host, "0.0.0.0") || !strcmp(host, "::") ? "ADDRESS" : host,
				       tg_str(addr, "trsvcid"));
			printf(" -n %s\n", json_object_get_string(tg_at(p, "subsystems", j)));
		}
	}
}

/* ---- export, unexport ---- */

int tg_ctrl_exists(struct target *g, const char *name)
{
	char path[TG_PATH];

	if (tg_good_name(name) && tg_exists(tg_path(g, path, TG_MODULE "/%s/enable", name)))
		return 0;
	tool_error(g->t, *name ? name : "''", "there is no such virtual controller (see accel target list)");
	return TOOL_NODEV;
}

static const struct tool_opt export_opts[] = { TG_EXPORT_OPTS, { 0 } };

static int export_it(struct target *g, const struct tg_export *e, const char *name)
{
	struct json_object *doc = json_object_new_object(), *c = json_object_new_object();
	char path[TG_PATH], nqn[TG_VALUE];
	int rc = tg_begin(g, TG_CHANGE);

	out_add_str(c, "name", name);
	json_object_array_add(tg_array(doc, TG_SECTION), c);
	rc = rc ? rc : tg_ctrl_exists(g, name);
	if (!rc && tg_read(tg_path(g, path, TG_MODULE "/%s/subsysnqn", name), nqn, sizeof(nqn)) <= 0)
		rc = tool_error(g->t, name, "tells no NQN");
	rc = rc ? rc : tg_need_nvmet(g, e->trtype);
	rc = rc ? rc : tg_export_doc(g, e, doc, c, nqn);
	rc = rc ? rc : tg_check(g, "options", doc);
	rc = tg_end(g, rc ? rc : tg_apply(g, doc));
	if (!rc)
		tg_print_connect(doc);
	json_object_put(doc);
	return rc ? rc : out_flush(g->t);
}

static int run_export(struct tool *t, int argc, char **argv)
{
	struct tg_export e = { 0 };
	struct target g;
	int c, rc = 0;

	tg_init(&g, t);
	while (!rc && (c = opts_next(t, argc, argv)) >= 0)
		rc = tg_option(&g, c) ? 0 : tg_export_option(&g, c, &e);
	if (!rc && c != OPTS_END) {
		json_object_put(e.hosts);
		return t->status;
	}
	if (!rc && optind + 1 != argc)
		rc = tool_usage(t, "export takes the name of one controller");
	rc = rc ? rc : tg_export_check(&g, &e);
	rc = rc ? rc : export_it(&g, &e, argv[optind]);
	json_object_put(e.hosts);
	return rc;
}

const struct verb verb_target_export = {
	.name = "export",
	.summary = "Let hosts connect to a virtual controller",
	.usage = "NAME --tcp=ADDRESS[:PORT]|--rdma=ADDRESS[:PORT]|--loop --host=NQN|--any-host",
	.opts = export_opts,
	.more_opts = tg_common_opts,
	.notes = "Prints the commands with which hosts connect. One that is exported already gets a port or\n"
		 "a host more. What a machine exports to itself (--loop, 127.0.0.1) has another NQN than\n"
		 "its controller, and its UUIDs are hidden: one host must not see a name twice.\n",
	.run = run_export,
};

static int run_unexport(struct tool *t, int argc, char **argv)
{
	struct target g;
	int c, rc;

	tg_init(&g, t);
	while ((c = opts_next(t, argc, argv)) >= 0)
		tg_option(&g, c);
	if (c != OPTS_END)
		return t->status;
	if (optind + 1 != argc)
		return tool_usage(t, "unexport takes the name of one controller");
	rc = tg_begin(&g, TG_CHANGE);
	rc = rc ? rc : tg_ctrl_exists(&g, argv[optind]);
	return tg_end(&g, rc ? rc : tg_unexport(&g, argv[optind]));
}

const struct verb verb_target_unexport = {
	.name = "unexport",
	.summary = "End all exports of a virtual controller; it stays for local use",
	.usage = "NAME",
	.more_opts = tg_common_opts,
	.run = run_unexport,
};
