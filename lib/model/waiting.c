// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For environments: jobs that wait for an engine, and what an environment may want to know of one before it runs. */
#include "model.h"

void model_jobs_add(struct model_jobs *list, struct model_job *mj)
{
	mj->env_next = NULL;
	if (list->first)
		list->last->env_next = mj;
	else
		list->first = mj;
	list->last = mj;
}

void model_jobs_push(struct model_jobs *list, struct model_job *mj)
{
	struct model_job **at = &list->first;

	if (!list->first || list->last->priority >= mj->priority) {
		model_jobs_add(list, mj);
		return;
	}
	/* The last one is less urgent: the walk ends before it does. */
	while ((*at)->priority >= mj->priority)
		at = &(*at)->env_next;
	mj->env_next = *at;
	*at = mj;
}

struct model_job *model_jobs_pop(struct model_jobs *list)
{
	struct model_job *mj = list->first;

	if (mj)
		list->first = mj->env_next;
	return mj;
}

int model_job_has_key(const struct model_job *mj)
{
	const struct job *job = &mj->job;
	unsigned int i;

	for (i = 0; i < job->nstage && i < JOB_MAX_STAGES; i++)
		if (job->stage[i].op == NVME_ACCEL_OP_ENCRYPT || job->stage[i].op == NVME_ACCEL_OP_DECRYPT)
			return 1;
	return 0;
}

/* How much more work a byte is than that of a checksum, roughly; 0: too much for a thread that others wait for. */
static unsigned int weight(const struct job_stage *stage)
{
	switch (stage->op) {
	case NVME_ACCEL_OP_COMPRESS:
		return stage->arg0 <= 1 ? 4 : 0;
	case NVME_ACCEL_OP_DECOMPRESS:
		return 4;
	default:
		return 1;
	}
}

int model_job_is_small(const struct model_job *mj, uint32_t limit)
{
	const struct job *job = &mj->job;
	uint64_t most = limit;
	unsigned int i, w;

	for (i = 0; i < job->nstage && i < JOB_MAX_STAGES; i++) {
		w = weight(&job->stage[i]);
		if (!w)
			return 0;
		most = BASE_MIN(most, limit / w);
	}
	return job->in_len <= most && job->out_max <= most - job->in_len;
}
