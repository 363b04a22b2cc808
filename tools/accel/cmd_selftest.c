/* SPDX-License-Identifier: BSD-2-Clause */
/* accel selftest: known answers, and conformance to the namespace interface. */
#include "conf.h"
#include <errno.h>
#include <json-c/json.h>
#include <unistd.h>

enum { OPT_CONFORMANCE = OPT_LONG + 1, OPT_RULE };

static const struct tool_opt opts[] = {
	{ OPT_CONFORMANCE, "conformance", NULL,
	  "judge the device by the rules of the namespace interface, by plain reads and writes", NULL },
	{ OPT_RULE, "rule", "NAME", "with --conformance: only this rule or group of rules", NULL },
	{ 0 },
};

static void text_listing(FILE *f, struct json_object *root)
{
	static const struct out_column fields[] = {
		{ "device", "Device", OUT_TEXT },
		{ "name", "Name", OUT_TEXT },
		{ "ran", "Tests", OUT_NUMBER },
		{ "failed", "Failed", OUT_NUMBER },
		{ "first_failure", "First failure", OUT_TEXT },
		{ 0 },
	};

	out_fields(f, root, fields);
}

static int known_answers(struct tool *t)
{
	const struct accel_dev_info *info = accel_dev_info(t->dev);
	struct accel_selftest report = { 0 };
	struct json_object *root;
	int rc = accel_dev_selftest(t->dev, 30000, &report), out;

	if (rc && rc != -EBADMSG)
		return tool_lib_error(t, info->path, rc);
	root = json_object_new_object();
	out_add_str(root, "device", info->path);
	out_add_str(root, "name", info->name);
	out_add_num(root, "ran", report.ran);
	out_add_num(root, "failed", report.failed);
	out_add_str(root, "first_failure", report.what);
	out = out_listing(t, root, text_listing);
	if (rc)
		return tool_error(t, info->path, "%u of %u tests failed", report.failed, report.ran);
	return out;
}

static int run(struct tool *t, int argc, char **argv)
{
	bool conformance = false;
	const char *rule = NULL;
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0) {
		if (c == OPT_CONFORMANCE)
			conformance = true;
		else if (c == OPT_RULE)
			rule = optarg;
	}
	if (c == OPTS_STOP)
		return t->status;
	if (optind < argc || (rule && !conformance))
		return tool_usage(t,
				  rule ? "--rule goes with --conformance"
				       : "'%s' is not wanted (-d names the device)",
				  rule ? "" : argv[optind]);
	rc = tool_dev(t, 0, 0);
	if (rc)
		return rc;
	return conformance ? conf_run(t, rule) : known_answers(t);
}

const struct verb verb_selftest = {
	.name = "selftest",
	.summary = "Test a device: known answers, or conformance to the interface",
	.usage = "[-d DEVICE] [-o json]\n--conformance [--rule NAME] [-d DEVICE] [-o json]",
	.opts = opts,
	.flags = VERB_DEVICE | VERB_JSON,
	.notes = "Exit status 0 if all tests passed, 1 if one failed. The conformance test takes seconds;\n"
		 "its rules about exclusive leases and statistics need a device that nobody else uses.\n",
	.run = run,
};
