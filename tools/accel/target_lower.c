/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accel target: namespaces of other controllers, by name and by what they are. nvmeX is the order in which controllers
 * appeared; what stays is the subsystem's NQN, the controller's address and the namespace's UUID, NGUID or EUI64.
 */
#include "target.h"
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool sys_attr(const struct target *g, const char *ctrl, const char *ns, const char *name, char *buf, size_t n)
{
	char path[TG_PATH];

	snprintf(path, sizeof(path), "%s/class/nvme/%s/%s%s%s", g->sys, ctrl, ns, *ns ? "/" : "", name);
	return tg_read(path, buf, n) > 0;
}

/* Directories of namespaces below a controller: nvmeXnY, or nvmeXcZnY where there is a multipath head. */
static bool is_ns(const char *name)
{
	return !strncmp(name, "nvme", 4) && isdigit((unsigned char)name[4]) && strchr(name + 4, 'n');
}

static bool find_ns(const struct target *g, const char *ctrl, uint32_t nsid, char *ns, size_t n)
{
	char path[TG_PATH], text[64];
	struct tg_names names;
	bool found = false;

	snprintf(path, sizeof(path), "%s/class/nvme/%s", g->sys, ctrl);
	tg_list(path, &names);
	for (size_t i = 0; i < names.n && !found; i++) {
		if (!is_ns(names.v[i]) || !sys_attr(g, ctrl, names.v[i], "nsid", text, sizeof(text)) ||
		    strtoul(text, NULL, 10) != nsid)
			continue;
		found = true;
		snprintf(ns, n, "%s", names.v[i]);
	}
	tg_list_free(&names);
	return found;
}

bool tg_lower_has(struct target *g, const char *ctrl, uint32_t nsid)
{
	char ns[64];

	return find_ns(g, ctrl, nsid, ns, sizeof(ns));
}

/* A local port of a connection changes with each connection. */
static void cut_source(char *address)
{
	char *p = strstr(address, ",src_addr=");

	if (p)
		*p = 0;
}

static void add(const struct target *g, struct json_object *o, const char *key, const char *ctrl, const char *ns,
		const char *name)
{
	char text[TG_VALUE];

	if (!sys_attr(g, ctrl, ns, name, text, sizeof(text)))
		return;
	/* Where a namespace has none, the driver shows zeros, or says so in the log. */
	if (*ns && strspn(text, "0-: ") == strlen(text))
		return;
	if (!strcmp(key, "address"))
		cut_source(text);
	out_add_str(o, key, text);
}

struct json_object *tg_lower_identity(struct target *g, const char *path, uint32_t nsid)
{
	const char *ctrl = strncmp(path, "/dev/", 5) ? path : path + 5;
	struct json_object *o;
	char ns[64], text[TG_VALUE];

	if (!sys_attr(g, ctrl, "", "subsysnqn", text, sizeof(text)))
		return NULL;
	o = json_object_new_object();
	add(g, o, "subsysnqn", ctrl, "", "subsysnqn");
	add(g, o, "transport", ctrl, "", "transport");
	add(g, o, "address", ctrl, "", "address");
	add(g, o, "serial", ctrl, "", "serial");
	if (find_ns(g, ctrl, nsid, ns, sizeof(ns))) {
		add(g, o, "uuid", ctrl, ns, "uuid");
		add(g, o, "nguid", ctrl, ns, "nguid");
		add(g, o, "eui", ctrl, ns, "eui");
	}
	return o;
}

/* ---- By name ---- */

static bool live(const struct target *g, const char *ctrl)
{
	char text[64];

	return sys_attr(g, ctrl, "", "state", text, sizeof(text)) && !strcmp(text, "live");
}

/* Paths of the head nvmeXnY: those controllers that have nvmeXcZnY. Prefers a live one. */
static unsigned int paths_of(const struct target *g, unsigned int x, unsigned int y, char *ctrl, size_t n, char *all,
			     size_t nall)
{
	struct tg_names ctrls, ns;
	unsigned int found = 0, a, b, c, used = 0;
	bool is_live = false;
	char path[TG_PATH];

	snprintf(path, sizeof(path), "%s/class/nvme", g->sys);
	tg_list(path, &ctrls);
	for (size_t i = 0; i < ctrls.n; i++) {
		snprintf(path, sizeof(path), "%s/class/nvme/%s", g->sys, ctrls.v[i]);
		tg_list(path, &ns);
		for (size_t j = 0; j < ns.n; j++) {
			if (sscanf(ns.v[j], "nvme%uc%un%u", &a, &b, &c) != 3 || a != x || c != y)
				continue;
			if (used < nall)
				used += (unsigned int)snprintf(all + used, nall - used, "%s%s", found ? ", " : "", ctrls.v[i]);
			if (!found++ || (!is_live && live(g, ctrls.v[i]))) {
				snprintf(ctrl, n, "%s", ctrls.v[i]);
				is_live = live(g, ctrl);
			}
		}
		tg_list_free(&ns);
	}
	tg_list_free(&ctrls);
	return found;
}

static int nsid_of(struct target *g, const char *path, const char *ctrl, const char *ns, uint32_t *nsid)
{
	char text[64];

	if (!sys_attr(g, ctrl, ns, "nsid", text, sizeof(text))) {
		tool_error(g->t, path, "/sys does not tell its namespace's number (name the controller: /dev/%s,nsid=N)", ctrl);
		return TOOL_NODEV;
	}
	*nsid = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

/* /dev/nvmeXnY, /dev/ngXnY: which controller, and which of its namespaces. */
static int from_node(struct target *g, const char *path, unsigned int x, unsigned int y, char *ctrl, size_t n,
		     uint32_t *nsid)
{
	char ns[64], all[256] = "", dir[TG_PATH];
	unsigned int npaths;
	struct tg_names names;
	bool plain = false;

	snprintf(ctrl, n, "nvme%u", x);
	snprintf(ns, sizeof(ns), "nvme%un%u", x, y);
	snprintf(dir, sizeof(dir), "%s/class/nvme/%s/%s", g->sys, ctrl, ns);
	plain = tg_exists(dir);
	if (plain)
		return nsid_of(g, path, ctrl, ns, nsid);
	npaths = paths_of(g, x, y, ctrl, n, all, sizeof(all));
	if (!npaths) {
		tool_error(g->t, path, "there is no such namespace (see nvme list)");
		return TOOL_NODEV;
	}
	if (npaths > 1)
		tool_warning(g->t, path, "is reached by %s; took %s (to choose another one: /dev/nvmeX,nsid=N)", all, ctrl);
	snprintf(dir, sizeof(dir), "%s/class/nvme/%s", g->sys, ctrl);
	tg_list(dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		unsigned int a, b, c;

		if (sscanf(names.v[i], "nvme%uc%un%u", &a, &b, &c) == 3 && a == x && c == y)
			snprintf(ns, sizeof(ns), "%s", names.v[i]);
	}
	tg_list_free(&names);
	return nsid_of(g, path, ctrl, ns, nsid);
}

static bool ours(struct target *g, const char *ctrl)
{
	char path[TG_PATH], dev[80];
	struct tg_names names;
	bool found = false;

	tg_list(tg_path(g, path, TG_MODULE), &names);
	for (size_t i = 0; i < names.n && !found; i++)
		found = tg_ctrl_device(g, names.v[i], dev, sizeof(dev)) && !strcmp(dev + 5, ctrl);
	tg_list_free(&names);
	return found;
}

/*
 * /dev/nvmeXnY or /dev/ngXnY: 2; /dev/nvmeX: 1; else 0. Numbers are written in one way only, and sscanf() takes others, so the
 * name is made again of what it has found.
 */
static int parse_node(const char *path, unsigned int *x, unsigned int *y)
{
	static const struct {
		const char *form;
		int n;
	} forms[] = { { "/dev/nvme%un%u", 2 }, { "/dev/ng%un%u", 2 }, { "/dev/nvme%u", 1 } };
	char again[80];

	for (size_t i = 0; i < 3; i++) {
		if (sscanf(path, forms[i].form, x, y) != forms[i].n)
			continue;
		snprintf(again, sizeof(again), forms[i].form, *x, *y);
		if (!strcmp(path, again))
			return forms[i].n;
	}
	return 0;
}

int tg_lower_named(struct target *g, const char *path, uint32_t nsid, struct json_object *ns)
{
	struct json_object *attr = tg_get(ns, "attr"), *identity;
	unsigned int x = 0, y = 0;
	char ctrl[64], text[80];
	int rc = 0, kind = parse_node(path, &x, &y);

	if (kind == 2) {
		if (nsid)
			return tool_usage(g->t, "--device=%s: nsid= goes with a controller (/dev/nvme%u)", path, x);
		rc = from_node(g, path, x, y, ctrl, sizeof(ctrl), &nsid);
	} else if (kind == 1) {
		snprintf(ctrl, sizeof(ctrl), "nvme%u", x);
		if (!nsid)
			return tool_usage(g->t, "--device=%s: which namespace? (%s,nsid=N, or /dev/nvme%unY)", path, path, x);
	} else {
		return tool_usage(g->t, "--device=%s: give /dev/nvmeXnY, or /dev/nvmeX,nsid=N", path);
	}
	if (rc)
		return rc;
	if (ours(g, ctrl))
		return tool_error(g->t, path, "is a virtual controller itself; name the real one");
	snprintf(text, sizeof(text), "/dev/%s", ctrl);
	identity = tg_lower_identity(g, text, nsid);
	if (!identity) {
		tool_error(g->t, path, "there is no controller %s (see nvme list)", ctrl);
		return TOOL_NODEV;
	}
	out_add_str(attr, "device_path", text);
	out_add_num(attr, "device_nsid", nsid);
	json_object_object_add(ns, "identity", identity);
	return 0;
}

/* ---- By identity ---- */

/* Whether one of the numbers for ever is the same; -1: there is none to compare. */
static int same_ids(struct json_object *want, struct json_object *have)
{
	static const char *const ids[] = { "uuid", "nguid", "eui" };
	bool any = false;

	for (size_t i = 0; i < 3; i++) {
		const char *w = tg_str(want, ids[i]);

		if (!*w)
			continue;
		any = true;
		if (!strcasecmp(w, tg_str(have, ids[i])))
			return 1;
	}
	return any ? 0 : -1;
}

/* How well a namespace is the one that is looked for; 0: it is another one. */
static unsigned int score(struct target *g, struct json_object *want, const char *ctrl, uint32_t nsid, uint32_t want_nsid,
			  const char *want_path)
{
	char dev[80];
	struct json_object *have;
	unsigned int n = 0;
	int same;

	snprintf(dev, sizeof(dev), "/dev/%s", ctrl);
	have = tg_lower_identity(g, dev, nsid);
	if (have && !strcmp(tg_str(want, "subsysnqn"), tg_str(have, "subsysnqn"))) {
		same = same_ids(want, have);
		if (same > 0 || (same < 0 && nsid == want_nsid && !strcmp(tg_str(want, "serial"), tg_str(have, "serial"))))
			n = 1 + (strcmp(tg_str(want, "address"), tg_str(have, "address")) ? 0 : 4) +
			    (strcmp(want_path, dev) ? 0 : 2) + (live(g, ctrl) ? 8 : 0);
	}
	json_object_put(have);
	return n;
}

struct found {
	char ctrl[64];
	uint32_t nsid;
	unsigned int score;
};

static void look(struct target *g, struct json_object *want, uint32_t nsid, const char *path, struct found *best)
{
	struct tg_names ctrls, names;
	char dir[TG_PATH], text[64];

	memset(best, 0, sizeof(*best));
	snprintf(dir, sizeof(dir), "%s/class/nvme", g->sys);
	tg_list(dir, &ctrls);
	for (size_t i = 0; i < ctrls.n; i++) {
		if (ours(g, ctrls.v[i]))
			continue;
		snprintf(dir, sizeof(dir), "%s/class/nvme/%s", g->sys, ctrls.v[i]);
		tg_list(dir, &names);
		for (size_t j = 0; j < names.n; j++) {
			unsigned int s;
			uint32_t have;

			if (!is_ns(names.v[j]) || !sys_attr(g, ctrls.v[i], names.v[j], "nsid", text, sizeof(text)))
				continue;
			have = (uint32_t)strtoul(text, NULL, 10);
			s = score(g, want, ctrls.v[i], have, nsid, path);
			if (s <= best->score)
				continue;
			*best = (struct found){ .nsid = have, .score = s };
			snprintf(best->ctrl, sizeof(best->ctrl), "%s", ctrls.v[i]);
		}
		tg_list_free(&names);
	}
	tg_list_free(&ctrls);
}

static const char *id_text(struct json_object *want, char *buf, size_t n)
{
	static const char *const ids[] = { "uuid", "nguid", "eui" };

	for (size_t i = 0; i < 3; i++) {
		if (!*tg_str(want, ids[i]))
			continue;
		snprintf(buf, n, "%s %s", ids[i], tg_str(want, ids[i]));
		return buf;
	}
	snprintf(buf, n, "serial %s", tg_str(want, "serial"));
	return buf;
}

/* 0; TOOL_NODEV: not there now. last: says so, and else puts what was found into the namespace. */
static int resolve_one(struct target *g, const char *ctrl, struct json_object *ns, bool last)
{
	struct json_object *attr = tg_get(ns, "attr"), *want = tg_get(ns, "identity");
	const char *path = tg_str(attr, "device_path");
	uint32_t nsid = (uint32_t)tg_int(attr, "device_nsid");
	char place[128], id[TG_VALUE], dev[80];
	struct found best;

	snprintf(place, sizeof(place), "%s/%s", ctrl, tg_str(ns, "nsid"));
	if (!want)
		return 0;
	look(g, want, nsid, path, &best);
	if (!best.score) {
		if (last)
			tool_error(g->t, place, "%s of subsystem %s (it was %s,nsid=%u) is not there: connect it first, or take the "
				   "namespace out of the file", id_text(want, id, sizeof(id)), tg_str(want, "subsysnqn"), path, nsid);
		return TOOL_NODEV;
	}
	if (!last)
		return 0;
	snprintf(dev, sizeof(dev), "/dev/%s", best.ctrl);
	if (strcmp(dev, path) || best.nsid != nsid)
		tool_warning(g->t, place, "found by its %s: %s,nsid=%u (it was %s,nsid=%u)", id_text(want, id, sizeof(id)), dev,
			     best.nsid, path, nsid);
	out_add_str(attr, "device_path", dev);
	out_add_num(attr, "device_nsid", best.nsid);
	return 0;
}

static int resolve_all(struct target *g, struct json_object *doc, bool last)
{
	int rc = 0;

	for (size_t i = 0; i < tg_len(doc, TG_SECTION) && !rc; i++) {
		struct json_object *c = tg_at(doc, TG_SECTION, i);

		for (size_t j = 0; j < tg_len(c, "namespaces") && !rc; j++) {
			struct json_object *ns = tg_at(c, "namespaces", j);

			if (!strcmp(tg_str(tg_get(ns, "attr"), "kind"), "device"))
				rc = resolve_one(g, tg_str(c, "name"), ns, last);
		}
	}
	return rc;
}

void tg_lower_wait(struct target *g, struct json_object *doc, unsigned int wait_s)
{
	uint64_t end = tool_now_ns() + wait_s * 1000000000ull;

	while (tool_now_ns() < end && resolve_all(g, doc, false) == TOOL_NODEV)
		nanosleep(&(struct timespec){ .tv_nsec = 250000000 }, NULL);
}

int tg_lower_resolve(struct target *g, struct json_object *doc)
{
	return resolve_all(g, doc, true);
}
