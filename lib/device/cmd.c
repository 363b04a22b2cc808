// SPDX-License-Identifier: BSD-2-Clause
/* Commands to the model and back. */
#include "priv.h"

/* From within a call of the model: the lock is held. */
void cmd_done(void *ctx, struct model_cmd *m, uint16_t nvme_status)
{
	struct device_cmd *cmd = (struct device_cmd *)m;	/* m is its first member */
	struct device *dev = ctx;

	if (cmd == dev->submitting)
		dev->submit_status = nvme_status;
	cmd->done(cmd, nvme_status);
}

void device_submit_locked(struct device *dev, struct device_cmd *cmd)
{
	struct device_cmd *pair = cmd->pair;

	dev->submitting = cmd;
	dev->submit_status = MODEL_SC_OK;
	model_submit(dev->model, &cmd->m);
	dev->submitting = NULL;
	/*
	 * The read may be held in a slot that is somebody else's by now, whose next job would answer it, or
	 * lend its buffer: it must not outlive this turn of the lock.
	 */
	if (pair && dev->submit_status != MODEL_SC_OK)
		model_cancel(dev->model, &pair->m);
}

bool device_cancel_locked(struct device *dev, struct device_cmd *cmd)
{
	return model_cancel(dev->model, &cmd->m) != 0;
}

void device_submit_at(struct device *dev, struct device_cmd *const *cmds, unsigned int n, uint64_t now_ns)
{
	unsigned int i;

	device_lock(dev);
	/* What is due comes before what is new. */
	device_tick_locked(dev, now_ns);
	for (i = 0; i < n; i++)
		device_submit_locked(dev, cmds[i]);
	device_run_locked(dev);
	device_unlock(dev);
}

void device_submit(struct device *dev, struct device_cmd *const *cmds, unsigned int n)
{
	device_submit_at(dev, cmds, n, wait_now_ns());
}

bool device_cancel(struct device *dev, struct device_cmd *cmd)
{
	bool held;

	device_lock(dev);
	held = device_cancel_locked(dev, cmd);
	device_unlock(dev);
	return held;
}
