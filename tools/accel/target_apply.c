/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: makes what a document says. What is there already and as it should be is left alone. */
#include "target.h"
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#define LIVE_S	30

static int make(struct target *g, const char *path)
{
	return tg_exists(path) ? 0 : tg_mkdir(g, path);
}

static int write_in(struct target *g, const char *dir, const char *name, const char *value)
{
	char path[TG_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return tg_write(g, path, value);
}

/* ---- Controllers ---- */

static int apply_ns(struct target *g, const char *ctrl, struct json_object *ns)
{
	char dir[TG_PATH];
	int rc;

	tg_path(g, dir, TG_MODULE "/%s/namespaces/%s", ctrl, tg_str(ns, "nsid"));
	rc = make(g, dir);
	rc = rc ? rc : tg_write_attrs(g, dir, "", tg_ns_attrs, tg_get(ns, "attr"));
	return rc || !tg_get(ns, "enable") ? rc : write_in(g, dir, "enable", tg_int(ns, "enable") ? "1" : "0");
}

/* It is registered when enable has been written; what waits is only for the host's first look at it. */
int tg_wait_live(struct target *g, const char *ctrl)
{
	uint64_t end = tool_now_ns() + LIVE_S * 1000000000ull;
	char path[TG_PATH], state[64] = "", dev[80];

	tg_path(g, path, TG_MODULE "/%s/state", ctrl);
	while (tool_now_ns() < end) {
		if (tg_read(path, state, sizeof(state)) > 0 && !strcmp(state, "live") && tg_ctrl_device(g, ctrl, dev, sizeof(dev)))
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return tool_error(g->t, ctrl, "is not live within %d s: its state is '%s' (dmesg may tell why)", LIVE_S, state);
}

static int apply_ctrl(struct target *g, struct json_object *c)
{
	const char *name = tg_str(c, "name");
	char dir[TG_PATH];
	int rc;

	tg_path(g, dir, TG_MODULE "/%s", name);
	rc = make(g, dir);
	rc = rc ? rc : tg_write_attrs(g, dir, "", tg_ctrl_attrs, tg_get(c, "attr"));
	for (size_t i = 0; i < tg_len(c, "namespaces") && !rc; i++)
		rc = apply_ns(g, name, tg_at(c, "namespaces", i));
	if (rc || !tg_get(c, "enable"))
		return rc;
	rc = write_in(g, dir, "enable", tg_int(c, "enable") ? "1" : "0");
	return rc || !tg_int(c, "enable") ? rc : tg_wait_live(g, name);
}

/* ---- The inbox target ---- */

static int apply_host(struct target *g, struct json_object *h)
{
	const char *nqn = tg_str(h, "nqn");
	char dir[TG_PATH];
	int rc = 0;

	if (!tg_exists(tg_path(g, dir, "nvmet/hosts/%s", nqn)))
		rc = tg_mkdir_own(g, "host", nqn, "-");
	return rc ? rc : tg_write_attrs(g, dir, "dhchap_", tg_dhchap_attrs, tg_get(h, "dhchap"));
}

static const char *exporter(struct json_object *doc, const char *nqn)
{
	for (size_t i = 0; i < tg_len(doc, TG_SECTION); i++)
		if (tg_has_str(tg_at(doc, TG_SECTION, i), "exports", nqn))
			return tg_str(tg_at(doc, TG_SECTION, i), "name");
	return "";
}

static int make_subsys(struct target *g, const char *nqn, const char *ctrl, const char *dir)
{
	char path[TG_PATH + 64], other[64];
	int rc;

	if (tg_exists(dir)) {
		if (tg_export_of(g, nqn, other, sizeof(other)) && !strcmp(other, ctrl))
			return 0;
		return tool_error(g->t, nqn, "there is such a subsystem, and it does not export %s: choose another --nqn", ctrl);
	}
	rc = tg_mkdir_own(g, "subsystem", nqn, ctrl);
	snprintf(path, sizeof(path), "%s/passthru", dir);
	if (!rc && !tg_exists(path))
		rc = tool_error(g->t, NULL, "this kernel's nvmet exports no controllers (CONFIG_NVME_TARGET_PASSTHRU): %s is for local "
				"use only", ctrl);
	return rc;
}

/* Another device than before is taken only while it is not enabled. */
static int apply_passthru(struct target *g, const char *dir, const char *device, struct json_object *p)
{
	char path[TG_PATH + 64], now[TG_VALUE];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/passthru/device_path", dir);
	if (tg_read(path, now, sizeof(now)) < 0 || strcmp(now, device))
		rc = write_in(g, dir, "passthru/enable", "0");
	rc = rc ? rc : tg_write(g, path, device);
	rc = rc ? rc : tg_write_attrs(g, dir, "passthru/", tg_passthru_attrs, p);
	return rc ? rc : write_in(g, dir, "passthru/enable", "1");
}

static int link_all(struct target *g, const char *dir, const char *from, struct json_object *names, const char *to)
{
	char target[TG_PATH], path[TG_PATH + 256];
	int rc = 0;

	for (size_t i = 0; names && i < json_object_array_length(names) && !rc; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(names, i));

		snprintf(path, sizeof(path), "%s/%s/%s", dir, from, name);
		if (!tg_exists(path))
			rc = tg_link(g, tg_path(g, target, "nvmet/%s/%s", to, name), path);
	}
	return rc;
}

static int apply_subsys(struct target *g, struct json_object *doc, struct json_object *s)
{
	const char *nqn = tg_str(s, "nqn"), *ctrl = exporter(doc, nqn);
	char dir[TG_PATH], device[80];
	int rc;

	if (!tg_ctrl_device(g, ctrl, device, sizeof(device)))
		return tool_error(g->t, ctrl, "is not enabled: %s cannot export it", nqn);
	tg_path(g, dir, "nvmet/subsystems/%s", nqn);
	rc = make_subsys(g, nqn, ctrl, dir);
	rc = rc ? rc : tg_write_attrs(g, dir, "attr_", tg_subsys_attrs, tg_get(s, "attr"));
	rc = rc ? rc : apply_passthru(g, dir, device, tg_at(s, "passthru", 0));
	return rc ? rc : link_all(g, dir, "allowed_hosts", tg_get(s, "allowed_hosts"), "hosts");
}

/* A port that is there has the address that is wanted, or is ours and has none yet: somebody was killed. */
static int check_port(struct target *g, const char *id, const char *dir, struct json_object *addr)
{
	static const char *const same[] = { "trtype", "traddr", "trsvcid" };
	struct json_object *now = tg_read_attrs(dir, "addr_", tg_addr_attrs, true);
	int rc = 0;

	if (!*tg_str(now, "trtype") && !tg_is_own(g, "port", id, NULL, 0))
		rc = tool_error(g->t, NULL, "port %s is somebody else's, and has no address yet: choose another number (--port-id; "
				"portid in a file)", id);
	for (size_t i = 0; i < 3 && *tg_str(now, "trtype") && !rc; i++) {
		if (!tg_get(addr, same[i]) || !strcmp(tg_str(addr, same[i]), tg_str(now, same[i])))
			continue;
		rc = tool_error(g->t, NULL, "port %s is there with another address (%s %s %s): choose another number (--port-id; "
				"portid in a file)", id, tg_str(now, "trtype"), tg_str(now, "traddr"), tg_str(now, "trsvcid"));
	}
	json_object_put(now);
	return rc;
}

static int apply_port(struct target *g, struct json_object *p)
{
	struct json_object *addr = tg_get(p, "addr");
	const char *id = tg_str(p, "portid");
	char dir[TG_PATH];
	int rc;

	rc = tg_exists(tg_path(g, dir, "nvmet/ports/%s", id)) ? check_port(g, id, dir, addr) : tg_mkdir_own(g, "port", id, "-");
	if (!rc && tg_is_own(g, "port", id, NULL, 0)) {
		rc = tg_write_attrs(g, dir, "addr_", tg_addr_attrs, addr);
		rc = rc ? rc : tg_write_attrs(g, dir, "param_", tg_param_attrs, tg_get(p, "param"));
	}
	return rc ? rc : link_all(g, dir, "subsystems", tg_get(p, "subsystems"), "subsystems");
}

int tg_apply(struct target *g, struct json_object *doc)
{
	int rc = 0;

	for (size_t i = 0; i < tg_len(doc, TG_SECTION) && !rc; i++)
		rc = apply_ctrl(g, tg_at(doc, TG_SECTION, i));
	if (!rc && tg_len(doc, "subsystems") + tg_len(doc, "ports") + tg_len(doc, "hosts"))
		rc = tg_need_nvmet(g, NULL);
	for (size_t i = 0; i < tg_len(doc, "ports") && !rc; i++)
		rc = tg_need_nvmet(g, tg_str(tg_get(tg_at(doc, "ports", i), "addr"), "trtype"));
	for (size_t i = 0; i < tg_len(doc, "hosts") && !rc; i++)
		rc = apply_host(g, tg_at(doc, "hosts", i));
	for (size_t i = 0; i < tg_len(doc, "subsystems") && !rc; i++)
		rc = apply_subsys(g, doc, tg_at(doc, "subsystems", i));
	for (size_t i = 0; i < tg_len(doc, "ports") && !rc; i++)
		rc = apply_port(g, tg_at(doc, "ports", i));
	return rc;
}
