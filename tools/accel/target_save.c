/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target save: what could not be restored does not replace a file that can. */
#include "target.h"
#include <json-c/json.h>
#include <string.h>

/* Whether what a namespace of a virtual controller was made of is there, and its identity is that. */
static bool is_below(struct target *g, const char *ctrl, struct json_object *ns)
{
	char dev[80], dir[TG_PATH];

	if (!tg_get(ns, "identity"))
		return false;
	/* nvmeX may be another one by now: then the virtual controller has an empty place there. */
	if (!tg_ctrl_device(g, ctrl, dev, sizeof(dev)))
		return true;
	snprintf(dir, sizeof(dir), "%s/class/nvme/%s", g->sys, dev + 5);
	return !tg_exists(dir) || tg_lower_has(g, dev + 5, (uint32_t)tg_int(ns, "nsid"));
}

/* What is away cannot be identified, and by its name alone another one may be found. */
static int all_below(struct target *g, struct json_object *c)
{
	for (size_t i = 0; i < tg_len(c, "namespaces"); i++) {
		struct json_object *ns = tg_at(c, "namespaces", i), *attr = tg_get(ns, "attr");

		if (!tg_int(ns, "enable") || strcmp(tg_str(attr, "kind"), "device") || is_below(g, tg_str(c, "name"), ns))
			continue;
		return tool_error(g->t, NULL, "%s/%s: what is below it (it was %s,nsid=%s) is not there: connect it first, or take the "
				  "namespace out (accel target remove %s %s)", tg_str(c, "name"), tg_str(ns, "nsid"),
				  tg_str(attr, "device_path"), tg_str(attr, "device_nsid"), tg_str(c, "name"), tg_str(ns, "nsid"));
	}
	return 0;
}

/* What is there must be what restore takes: else the file that was saved before is worth more. */
int tg_worth_saving(struct target *g, const char *file, struct json_object *doc)
{
	char path[TG_PATH];
	int rc = 0;

	if (!tg_exists(tg_path(g, path, TG_MODULE)))
		return tool_error(g->t, NULL, "the module " TG_MODULE " is not loaded: there is nothing to save, and %s is left as it is",
				  file);
	rc = tg_check(g, "what there is", doc);
	for (size_t i = 0; i < tg_len(doc, TG_SECTION) && !rc; i++)
		rc = all_below(g, tg_at(doc, TG_SECTION, i));
	if (rc)
		tool_error(g->t, NULL, "restore could not make that again (accel target set, remove, delete change it): %s is left as it is",
			   file);
	return rc;
}
