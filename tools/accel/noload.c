/* SPDX-License-Identifier: BSD-2-Clause */
#include "noload.h"
#include "names.h"
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#define SCHEMA 1
#define MAX_CARDS 64

static const struct out_column fields[] = {
	{ "device", "Device", OUT_TEXT },
	{ "name", "Name", OUT_TEXT },
	{ "interface", "Interface", OUT_TEXT },
	{ "state", "State", OUT_TEXT },
	{ "model", "Model", OUT_TEXT },
	{ "serial", "Serial number", OUT_TEXT },
	{ "firmware", "Firmware revision", OUT_TEXT },
	{ "version", "Version", OUT_TEXT },
	{ "status", "Status", OUT_TEXT },
	{ "lock", "Lock word", OUT_TEXT },
	{ "noload_type", "Type", OUT_NUMBER },
	{ "noload_features", "Features", OUT_TEXT },
	{ "hardware_version", "Hardware version", OUT_TEXT },
	{ "hardware_built", "Hardware built", OUT_TEXT },
	{ "firmware_built", "Firmware built", OUT_TEXT },
	{ 0 },
};

static const struct out_column columns[] = {
	{ "engine", "ENGINE", OUT_NUMBER },
	{ "status", "STATUS", OUT_TEXT },
	{ "job_state", "JOB STATE", OUT_TEXT },
	{ "handshake", "HANDSHAKE", OUT_TEXT },
	{ "spec", "SPEC", OUT_TEXT },
	{ 0 },
};

static void text(FILE *f, struct json_object *root)
{
	struct json_object *engines = NULL;

	out_fields(f, root, fields);
	json_object_object_get_ex(root, "engines", &engines);
	if (!engines || !json_object_array_length(engines))
		return;
	fputc('\n', f);
	out_table(f, engines, columns, NULL);
}

static void add_word(struct json_object *o, const char *key, uint32_t value)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "0x%08x", value);
	out_add_str(o, key, buf);
}

static void add_date(struct json_object *o, const char *key, const struct accel_noload_date *d)
{
	char buf[48];

	snprintf(buf, sizeof(buf), "%04u-%02u-%02u %02u:%02u:%02u", d->year, d->month, d->day, d->hour, d->minute,
		 d->second);
	out_add_str(o, key, d->year ? buf : NULL);
}

static const char *state(const struct accel_noload *n)
{
	if (!n->has_lock)
		return NULL;
	return n->lock ? "locked" : n->status & 1 ? "ready" : "not ready";
}

static struct json_object *engines(const struct accel_noload *n)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < n->nengine; i++) {
		struct json_object *o = json_object_new_object();

		out_add_num(o, "engine", i);
		add_word(o, "status", n->engine[i].status);
		add_word(o, "job_state", n->engine[i].job_state);
		add_word(o, "handshake", n->engine[i].handshake);
		out_add_hex(o, "spec", n->engine[i].spec, n->engine[i].spec_len);
		json_object_array_add(array, o);
	}
	return array;
}

static void add_layout(struct json_object *o, const struct accel_noload *n)
{
	char buf[32];

	snprintf(buf, sizeof(buf), n->layout ? "NoLoad V%u" : "NoLoad, unknown", n->layout);
	out_add_str(o, "interface", buf);
	if (n->layout)
		add_word(o, "version", n->version);
	else
		out_add_str(o, "version", NULL);
	if (n->has_lock) {
		add_word(o, "status", n->status);
		add_word(o, "lock", n->lock);
	} else {
		out_add_str(o, "status", NULL);
		out_add_str(o, "lock", NULL);
	}
	if (n->layout == 6) {
		out_add_num(o, "noload_type", n->type);
		add_word(o, "noload_features", n->features);
	} else {
		out_add_str(o, "noload_type", NULL);
		out_add_str(o, "noload_features", NULL);
	}
}

/* The keys that entries of accel list have, so that one reader takes both, and those of a card. */
static struct json_object *describe(const struct accel_noload *n)
{
	struct json_object *o = json_object_new_object();

	out_add_num(o, "schema", SCHEMA);
	out_add_str(o, "device", n->path);
	out_add_str(o, "name", n->name);
	out_add_str(o, "type", "noload");
	out_add_str(o, "transport", "pcie");
	out_add_str(o, "engine", "hardware");
	out_add_str(o, "state", state(n));
	out_add_str(o, "slots", NULL);
	out_add_str(o, "slots_free", NULL);
	json_object_object_add(o, "functions", json_object_new_array());
	names_path(o, NULL);
	out_add_str(o, "serial", n->serial);
	out_add_str(o, "model", n->model);
	out_add_str(o, "firmware", n->firmware);
	add_layout(o, n);
	add_word(o, "hardware_version", n->hardware_version);
	add_date(o, "hardware_built", &n->hardware_built);
	add_date(o, "firmware_built", &n->firmware_built);
	json_object_object_add(o, "engines", engines(n));
	return o;
}

int noload_list(struct tool *t, struct json_object *array)
{
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	char paths[MAX_CARDS][ACCEL_NOLOAD_PATH];
	int count = accel_noload_list(t->ctx, paths, MAX_CARDS), rc;

	if (count < 0)
		return tool_lib_error(t, "NoLoad cards", count);
	for (int i = 0; i < count && i < MAX_CARDS; i++) {
		rc = accel_noload_info(t->ctx, paths[i], &n);
		if (!rc || rc == -ENOTSUP)
			json_object_array_add(array, describe(&n));
		else
			tool_error(t, NULL, "%s: a NoLoad card: %s", paths[i], accel_strerror(rc));
	}
	return 0;
}

bool noload_info(struct tool *t, int *rc)
{
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	int ret;

	if (!t->device || strncmp(t->device, "/dev/", 5) != 0 || !tool_ctx(t))
		return false;
	ret = accel_noload_info(t->ctx, t->device, &n);
	if (ret && (ret != -ENOTSUP || !n.model[0]))
		return false;
	*rc = out_listing(t, describe(&n), text);
	return true;
}
