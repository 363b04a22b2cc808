/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the rules and lists the verdicts. */
#include "conf.h"
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *title;
	const struct conf_rule *rules;
} groups[] = {
	{ "identity", conf_rules_id }, { "map", conf_rules_map }, { "leases", conf_rules_lease },
	{ "jobs", conf_rules_job }, { "order", conf_rules_seq }, { "waiting", conf_rules_hold },
	{ "safety", conf_rules_safe },
};

struct tally {
	uint64_t n[3];
	struct json_object *list;
};

enum { TRIES = 4 };

/* What a device does wrong it does wrong each time; what this machine did too late it hardly does so four times. */
static int judge(struct conf *c, const struct conf_rule *rule)
{
	int v;

	for (int i = 0; i < TRIES; i++) {
		conf_lease_put(c, &c->lease);
		memset(&c->lease, 0, sizeof(c->lease));
		c->msg[0] = 0;
		c->late = false;
		v = rule->check(c);
		if (v != CONF_FAIL || !c->late)
			break;
	}
	return v;
}

static void run_rule(struct conf *c, const char *group, const struct conf_rule *rule, struct tally *tally)
{
	static const char *const verdicts[] = { "pass", "fail", "skip" };
	struct json_object *o = json_object_new_object();
	uint64_t start = tool_now_ns();
	int v;

	memset(&c->lease, 0, sizeof(c->lease));
	v = judge(c, rule);
	out_add_str(o, "group", group);
	out_add_str(o, "rule", rule->name);
	out_add_str(o, "ref", rule->ref);
	out_add_str(o, "what", rule->what);
	out_add_str(o, "verdict", verdicts[v]);
	out_add_str(o, "reason", v == CONF_PASS ? "" : c->msg);
	out_add_num(o, "ns", tool_now_ns() - start);
	json_object_array_add(tally->list, o);
	tally->n[v]++;
	conf_lease_put(c, &c->lease);
}

static bool wanted(const char *only, const char *group, const char *name)
{
	return !only || !strcmp(only, group) || !strcmp(only, name);
}

static void run_rules(struct conf *c, const char *only, struct tally *tally)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct conf_rule *r = groups[g].rules; r->name; r++)
			if (wanted(only, groups[g].title, r->name))
				run_rule(c, groups[g].title, r, tally);
}

static void text_listing(FILE *f, struct json_object *root)
{
	struct json_object *list = NULL, *v;
#define STR(o, key) (json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "")
#define NUM(o, key) (json_object_object_get_ex(o, key, &v) ? (long long)json_object_get_int64(v) : 0)
	json_object_object_get_ex(root, "rules", &list);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		fprintf(f, "%-4s  ", STR(o, "verdict"));
		fprintf(f, "%-20s ", STR(o, "rule"));
		fprintf(f, "%-12s ", STR(o, "ref"));
		fprintf(f, "%s", STR(o, "what"));
		if (*STR(o, "reason"))
			fprintf(f, "\n      %s", STR(o, "reason"));
		fputc('\n', f);
	}
	fprintf(f, "%s  %lld passed, ", STR(root, "device"), NUM(root, "passed"));
	fprintf(f, "%lld failed, ", NUM(root, "failed"));
	fprintf(f, "%lld skipped\n", NUM(root, "skipped"));
#undef STR
#undef NUM
}

static int report(struct conf *c, struct tally *tally)
{
	struct json_object *root = json_object_new_object();
	const struct accel_dev_info *info = accel_dev_info(c->dev);
	int rc;

	out_add_str(root, "device", info->path);
	out_add_str(root, "name", info->name);
	out_add_num(root, "passed", tally->n[CONF_PASS]);
	out_add_num(root, "failed", tally->n[CONF_FAIL]);
	out_add_num(root, "skipped", tally->n[CONF_SKIP]);
	json_object_object_add(root, "rules", tally->list);
	rc = out_listing(c->t, root, text_listing);
	return tally->n[CONF_FAIL] ? TOOL_FAILED : rc;
}

static int prepare(struct conf *c)
{
	if (conf_identify(c))
		return tool_error(c->t, accel_dev_info(c->dev)->path, "%s", c->msg);
	c->nbuf = c->id.half < (1u << 20) ? c->id.half : 1u << 20;
	if (c->id.maxin < CONF_JOB_NBYTES ||
	    c->nbuf < 2 * (CONF_JOB_NBYTES + CONF_BLOCK_MAX) + 8 * CONF_BLOCK_MAX)
		return tool_error(c->t, accel_dev_info(c->dev)->path,
				  "its slots are too small for this test");
	c->buf = malloc(c->nbuf);
	if (!c->buf)
		return tool_error(c->t, NULL, "out of memory");
	conf_probe_pick(c);
	return 0;
}

int conf_run(struct tool *t, const char *only)
{
	struct conf *c = calloc(1, sizeof(*c));
	struct tally tally = { .list = json_object_new_array() };
	int rc;

	if (!c)
		return tool_error(t, NULL, "out of memory");
	c->t = t;
	c->dev = t->dev;
	rc = prepare(c);
	if (!rc)
		run_rules(c, only, &tally);
	if (!rc && !(tally.n[0] + tally.n[1] + tally.n[2]))
		rc = tool_usage(t, "--rule: there is no rule or group '%s'", only);
	if (rc)
		json_object_put(tally.list);
	else
		rc = report(c, &tally);
	free(c->buf);
	free(c);
	return rc;
}
