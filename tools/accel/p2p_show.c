/* SPDX-License-Identifier: BSD-2-Clause */
/* accel p2p list and why: who offers controller memory, who reaches it, and why not. */
#include "p2p.h"
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(const struct accel_p2p_ctrl *c)
{
	if (!c->cmb_nbytes)
		return "-";
	if (c->cmb_flags & ACCEL_P2P_CMB_LEGACY)
		return "legacy";
	return c->cmb_flags & ACCEL_P2P_CMB_1_4 ? "1.4" : "?";
}

static const char *server_name(const struct accel_p2p_ctrl *c)
{
	static const char *const names[] = { "nobody", "kernel", "module", "module, mapped" };

	return !c->cmb_nbytes ? "-" : names[c->tier < 4 ? c->tier : 0];
}

static const char *holds(const struct accel_p2p_ctrl *c)
{
	static const char *const names[] = { "no data", "reads", "writes", "reads and writes" };

	return !c->cmb_nbytes ? "-" : names[c->cmb_flags & 3];
}

/* ---- list ---- */

static struct json_object *peer(struct tool *t, const struct accel_p2p_ctrl *provider, const struct accel_p2p_ctrl *c)
{
	struct accel_p2p_path path = ACCEL_INIT(struct accel_p2p_path);
	struct json_object *o = json_object_new_object();
	int rc = accel_p2p_why(t->ctx, provider->address, c->address, &path);

	if (rc) {
		path.answer = ACCEL_P2P_UNKNOWN;
		snprintf(path.why, sizeof(path.why), "%s", accel_strerror(rc));
	}
	out_add_str(o, "provider", provider->name);
	out_add_str(o, "controller", c->name);
	out_add_str(o, "address", c->address);
	out_add_str(o, "verdict", p2p_answer(path.answer));
	out_add_str(o, "reason", p2p_reason(path.reason));
	out_add_str(o, "why", path.why);
	return o;
}

static struct json_object *ctrl_entry(struct tool *t, const struct accel_p2p_ctrl *c,
				      const struct accel_p2p_ctrl *all, unsigned int n)
{
	struct json_object *o = json_object_new_object(), *peers = json_object_new_array();

	out_add_num(o, "schema", 1);
	out_add_str(o, "controller", c->name);
	out_add_str(o, "address", c->address);
	out_add_str(o, "model", c->model);
	out_add_num(o, "cmb_bytes", c->cmb_nbytes);
	out_add_num(o, "free_bytes", c->free_nbytes);
	out_add_str(o, "kind", kind_name(c));
	out_add_str(o, "holds", holds(c));
	out_add_str(o, "served_by", server_name(c));
	out_add_bool(o, "lost", c->cmb_flags & ACCEL_P2P_CMB_LOST);
	out_add_num(o, "bytes_in", c->in_nbytes);
	out_add_num(o, "bytes_out", c->out_nbytes);
	out_add_num(o, "bytes_memory", c->memory_nbytes);
	for (unsigned int i = 0; c->cmb_nbytes && i < n; i++)
		if (strcmp(all[i].address, c->address) != 0)
			json_object_array_add(peers, peer(t, c, &all[i]));
	json_object_object_add(o, "peers", peers);
	return o;
}

static const char *field(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, key, &v);
	return v ? json_object_get_string(v) : "";
}

static void list_text(FILE *f, struct json_object *root)
{
	static const struct out_column columns[] = {
		{ "controller", "CONTROLLER", OUT_TEXT }, { "address", "ADDRESS", OUT_TEXT },
		{ "model", "MODEL", OUT_TEXT },		  { "cmb_bytes", "CMB", OUT_BYTES },
		{ "free_bytes", "FREE", OUT_BYTES },	  { "kind", "KIND", OUT_TEXT },
		{ "holds", "HOLDS", OUT_TEXT },		  { "served_by", "SERVED BY", OUT_TEXT },
		{ 0 },
	};
	static const struct out_column peer_columns[] = {
		{ "provider", "MEMORY OF", OUT_TEXT }, { "controller", "PEER", OUT_TEXT },
		{ "verdict", "VERDICT", OUT_TEXT },    { "why", "WHY", OUT_TEXT },
		{ 0 },
	};
	struct json_object *all = json_object_new_array(), *peers;
	bool memory = false, unserved = false;

	out_table(f, root, columns, "no NVMe controller on PCI");
	for (size_t i = 0; i < json_object_array_length(root); i++) {
		json_object_object_get_ex(json_object_array_get_idx(root, i), "peers", &peers);
		unserved = unserved || !strcmp(field(json_object_array_get_idx(root, i), "served_by"), "nobody");
		memory = memory || json_object_array_length(peers);
		for (size_t k = 0; k < json_object_array_length(peers); k++)
			json_object_array_add(all, json_object_get(json_object_array_get_idx(peers, k)));
	}
	if (json_object_array_length(all)) {
		fputc('\n', f);
		out_table(f, all, peer_columns, NULL);
	}
	if (!memory && json_object_array_length(root) > 1)
		fputs("no controller memory is shown (most kernels show it only while nvme-accel-p2pdma is loaded: modprobe "
		      "nvme-accel-p2pdma)\n", f);
	if (unserved)
		fputs("\nmemory that nobody serves is not used: modprobe nvme-accel-p2pdma\n", f);
	json_object_put(all);
}

static int run_list(struct tool *t, int argc, char **argv)
{
	struct json_object *root;
	struct accel_p2p_ctrl *ctrls;
	unsigned int n;
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0)
		p2p_root(t, c);
	if (c != OPTS_END)
		return t->status;
	if (optind < argc)
		return tool_usage(t, "'%s': list takes no operand", argv[optind]);
	ctrls = p2p_ctrls(t, &n);
	if (!ctrls)
		return TOOL_FAILED;
	root = json_object_new_array();
	for (unsigned int i = 0; i < n; i++)
		json_object_array_add(root, ctrl_entry(t, &ctrls[i], ctrls, n));
	free(ctrls);
	return out_listing(t, root, list_text);
}

const struct verb verb_p2p_list = {
	.name = "list",
	.summary = "List NVMe controllers, their memory, and who reaches it",
	.usage = "[options]",
	.more_opts = p2p_root_opts,
	.flags = VERB_JSON,
	.notes = "An empty list is success; the JSON of it is []. Without root, what redirects (ACS) is not shown.\n",
	.run = run_list,
};

/* ---- why ---- */

static const char *port_name(uint8_t port)
{
	static const char *const names[] = {
		"?", "device", "root port", "switch, upstream port", "switch, downstream port", "bridge",
	};

	return port < 6 ? names[port] : "?";
}

static const char *acs_text(const struct accel_p2p_hop *h, char *buf, size_t n)
{
	bool redirects = h->acs_ctl & 0x2c;

	if (h->acs == 1)
		snprintf(buf, n, "%s (control %04x)", redirects ? "redirects" : "does not redirect", h->acs_ctl);
	else
		snprintf(buf, n, "%s", h->acs ? "shown to root alone" : "none");
	return buf;
}

static const char *iommu_text(const struct accel_p2p_hop *h, char *buf, size_t n)
{
	if (h->iommu_group < 0)
		snprintf(buf, n, "off");
	else
		snprintf(buf, n, "group %d, %s", (int)h->iommu_group, h->iommu);
	return buf;
}

static struct json_object *hop_entry(const struct accel_p2p_path *p, const struct accel_p2p_hop *h)
{
	struct json_object *o = json_object_new_object();
	char text[64];

	out_add_str(o, "of", h->side == 1 ? p->a.name : h->side == 2 ? p->b.name : "both");
	out_add_str(o, "address", h->address);
	out_add_str(o, "kind", port_name(h->port));
	snprintf(text, sizeof(text), "%04x:%04x", h->vendor, h->device);
	out_add_str(o, "id", text);
	out_add_str(o, "acs", acs_text(h, text, sizeof(text)));
	out_add_str(o, "iommu", iommu_text(h, text, sizeof(text)));
	return o;
}

static struct json_object *why_json(const struct accel_p2p_path *p, const char *a, const char *b)
{
	static const char *const tests[] = { "not run", "device to memory", "both ways", "failed" };
	struct json_object *o = json_object_new_object(), *hops = json_object_new_array();

	out_add_num(o, "schema", 1);
	out_add_str(o, "a", a);
	out_add_str(o, "b", b);
	out_add_str(o, "host_bridge", p->host);
	for (uint32_t i = 0; i < p->nhop; i++)
		json_object_array_add(hops, hop_entry(p, &p->hop[i]));
	json_object_object_add(o, "path", hops);
	out_add_num(o, "cmb_bytes_a", p->a.cmb_nbytes);
	out_add_num(o, "cmb_bytes_b", p->b.cmb_nbytes);
	out_add_str(o, "verdict", p2p_answer(p->answer));
	out_add_str(o, "reason", p2p_reason(p->reason));
	out_add_str(o, "why", p->why);
	out_add_str(o, "way_out", p->way_out);
	out_add_str(o, "said_by", p->by_module ? "module" : "sysfs");
	out_add_str(o, "self_test", p->by_module ? tests[p->selftest & 3] : "-");
	return o;
}

/* Whose memory the data could go through if neither of the two has any. */
static void add_others(struct tool *t, struct json_object *o, const struct accel_p2p_path *p)
{
	struct json_object *list = json_object_new_array();
	unsigned int n = 0;
	struct accel_p2p_ctrl *ctrls = p->a.name[0] && p->b.name[0] ? p2p_ctrls(t, &n) : NULL;

	for (unsigned int i = 0; i < n; i++) {
		if (!ctrls[i].cmb_nbytes || !strcmp(ctrls[i].name, p->a.name) || !strcmp(ctrls[i].name, p->b.name))
			continue;
		json_object_array_add(list, peer(t, &ctrls[i], &p->a));
		json_object_array_add(list, peer(t, &ctrls[i], &p->b));
	}
	free(ctrls);
	json_object_object_add(o, "through_others", list);
}

static bool has_memory(struct json_object *o)
{
	struct json_object *a, *b;

	return (json_object_object_get_ex(o, "cmb_bytes_a", &a) && json_object_get_int64(a)) ||
	       (json_object_object_get_ex(o, "cmb_bytes_b", &b) && json_object_get_int64(b));
}

static void why_text(FILE *f, struct json_object *o)
{
	static const struct out_column hops[] = {
		{ "of", "OF", OUT_TEXT },   { "address", "ADDRESS", OUT_TEXT }, { "kind", "KIND", OUT_TEXT },
		{ "id", "ID", OUT_TEXT },   { "acs", "ACS", OUT_TEXT },		{ "iommu", "IOMMU", OUT_TEXT },
		{ 0 },
	};
	static const struct out_column fields[] = {
		{ "host_bridge", "host bridge", OUT_TEXT },
		{ "cmb_bytes_a", "memory of the first", OUT_BYTES },
		{ "cmb_bytes_b", "memory of the second", OUT_BYTES },
		{ "self_test", "self-test", OUT_TEXT },
		{ "said_by", "said by", OUT_TEXT },
		{ 0 },
	};
	static const struct out_column others[] = {
		{ "provider", "MEMORY OF", OUT_TEXT }, { "controller", "PEER", OUT_TEXT },
		{ "verdict", "VERDICT", OUT_TEXT },    { "why", "WHY", OUT_TEXT },
		{ 0 },
	};
	struct json_object *v;

	json_object_object_get_ex(o, "path", &v);
	if (json_object_array_length(v)) {
		out_table(f, v, hops, NULL);
		fputc('\n', f);
		out_fields(f, o, fields);
	}
	fprintf(f, "verdict: %s: %s\n", field(o, "verdict"), field(o, "why"));
	if (*field(o, "way_out"))
		fprintf(f, "way out: %s\n", field(o, "way_out"));
	json_object_object_get_ex(o, "through_others", &v);
	if (!has_memory(o))
		fprintf(f, "\nneither has memory that is shown; a copy between them takes %s\n", json_object_array_length(v) ?
			"another's that both reach:" : "system memory, unless another controller has some that both reach");
	if (json_object_array_length(v)) {
		if (has_memory(o))
			fputc('\n', f);
		out_table(f, v, others, NULL);
	}
}

static int why(struct tool *t, const char *a, const char *b)
{
	struct accel_p2p_path path = ACCEL_INIT(struct accel_p2p_path);
	struct json_object *o;
	int rc = tool_ctx(t) ? accel_p2p_why(t->ctx, a, b, &path) : -ENOMEM;

	if (rc == -ENOENT) {
		tool_error(t, NULL, "%s and %s: one of them is no NVMe controller, namespace or PCI address (accel p2p list "
			   "shows what there is)", a, b);
		return TOOL_NODEV;
	}
	if (rc)
		return tool_lib_error(t, a, rc);
	o = why_json(&path, a, b);
	add_others(t, o, &path);
	rc = out_listing(t, o, why_text);
	return rc ? rc : path.answer == ACCEL_P2P_YES ? 0 : TOOL_FAILED;
}

static int run_why(struct tool *t, int argc, char **argv)
{
	int c;

	while ((c = opts_next(t, argc, argv)) >= 0)
		p2p_root(t, c);
	if (c != OPTS_END)
		return t->status;
	if (argc - optind != 2)
		return tool_usage(t, "why takes two devices");
	return why(t, argv[optind], argv[optind + 1]);
}

const struct verb verb_p2p_why = {
	.name = "why",
	.summary = "Tell whether two devices may exchange data, and why not",
	.usage = "[options] A B",
	.more_opts = p2p_root_opts,
	.flags = VERB_JSON,
	.notes = "A and B: nvme0, /dev/nvme0n1, /dev/nvme0n1p1, or a PCI address. Exit status 0: they may; 1: they may\n"
		 "not, or it takes root to see; 3: no such device.\n",
	.run = run_why,
};
