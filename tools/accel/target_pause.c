/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: a controller that is disabled for a moment comes again with another nvmeX; what exports it must know. */
#include "target.h"
#include <json-c/json.h>
#include <string.h>

int tg_pause(struct target *g, const char *ctrl)
{
	char path[TG_PATH];

	g->paused = tg_model_ctrl(g, ctrl);
	return tg_int(g->paused, "enable") ? tg_write(g, tg_path(g, path, TG_MODULE "/%s/enable", ctrl), "0") : 0;
}

static int point(struct target *g, const char *nqn, const char *dev)
{
	char path[TG_PATH];
	int rc = tg_write(g, tg_path(g, path, "nvmet/subsystems/%s/passthru/enable", nqn), "0");

	rc = rc ? rc : tg_write(g, tg_path(g, path, "nvmet/subsystems/%s/passthru/device_path", nqn), dev);
	return rc ? rc : tg_write(g, tg_path(g, path, "nvmet/subsystems/%s/passthru/enable", nqn), "1");
}

static int point_all(struct target *g, const char *ctrl)
{
	char dev[80];
	int rc = 0;

	for (size_t i = 0; i < tg_len(g->paused, "exports") && !rc; i++)
		if (tg_ctrl_device(g, ctrl, dev, sizeof(dev)))
			rc = point(g, json_object_get_string(tg_at(g->paused, "exports", i)), dev);
	return rc;
}

int tg_enable(struct target *g, const char *ctrl)
{
	char path[TG_PATH];
	int rc;

	g->paused = tg_model_ctrl(g, ctrl);
	rc = tg_write(g, tg_path(g, path, TG_MODULE "/%s/enable", ctrl), "1");
	rc = rc ? rc : tg_wait_live(g, ctrl);
	rc = rc ? rc : point_all(g, ctrl);
	json_object_put(g->paused);
	g->paused = NULL;
	return rc;
}

int tg_resume(struct target *g, const char *ctrl, int rc)
{
	char path[TG_PATH];
	bool was = tg_int(g->paused, "enable");

	if (!rc && was)
		rc = tg_write(g, tg_path(g, path, TG_MODULE "/%s/enable", ctrl), "1");
	if (!rc && was)
		rc = tg_wait_live(g, ctrl);
	rc = rc ? rc : point_all(g, ctrl);
	if (rc) {
		/* This enables it again. */
		tg_rollback(g);
		point_all(g, ctrl);
		tg_keep(g);
	}
	json_object_put(g->paused);
	g->paused = NULL;
	return rc;
}
