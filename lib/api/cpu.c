/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans on the CPU: the fallback, and what a policy asks for. */
#include <errno.h>
#include <stdlib.h>
#include "api.h"

/* Flags that concern the way to a device have no meaning here. */
#define CPU_JOB_FLAGS (NVME_ACCEL_JOB_VERIFY | NVME_ACCEL_JOB_STORE_IF_LARGER | NVME_ACCEL_JOB_OUT_CRC)

struct engine_thread *ctx_engine_get(struct accel_ctx *ctx, uint32_t *since)
{
	struct engine_thread *t = NULL;

	pthread_mutex_lock(&ctx->lock);
	if (ctx->nidle)
		t = ctx->idle[--ctx->nidle];
	*since = ctx->forgets;
	pthread_mutex_unlock(&ctx->lock);
	return t ? t : engine_thread_new();
}

void ctx_engine_put(struct accel_ctx *ctx, struct engine_thread *t, uint32_t since)
{
	if (!t)
		return;
	pthread_mutex_lock(&ctx->lock);
	if (since != ctx->forgets)
		engine_thread_forget(t);
	if (ctx->nidle < CTX_NENGINE) {
		ctx->idle[ctx->nidle++] = t;
		t = NULL;
	}
	pthread_mutex_unlock(&ctx->lock);
	engine_thread_free(t);
}

void ctx_forget_keys(struct accel_ctx *ctx)
{
	unsigned int i;

	pthread_mutex_lock(&ctx->lock);
	ctx->forgets++;
	for (i = 0; i < ctx->nidle; i++)
		engine_thread_forget(ctx->idle[i]);
	pthread_mutex_unlock(&ctx->lock);
	transport_env_forget(&ctx->env);
}

static uint32_t cpu_flags(const struct job *job)
{
	static const struct {
		uint16_t sf;
		uint32_t rf;
	} map[] = {
		{ NVME_ACCEL_SF_STORED_RAW, ACCEL_RF_STORED_RAW },
		{ NVME_ACCEL_SF_VERIFIED, ACCEL_RF_VERIFIED },
		{ NVME_ACCEL_SF_NEEDED_EXACT, ACCEL_RF_NEEDED_EXACT },
		{ NVME_ACCEL_SF_OUT_CRC, ACCEL_RF_OUT_CRC },
	};
	uint32_t flags = 0;
	unsigned int i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (job->sflags & map[i].sf)
			flags |= map[i].rf;
	return flags;
}

static void cpu_result(const struct accel_plan *plan, const struct job *job, size_t nlead,
		       struct accel_result *result)
{
	unsigned int i;

	result->status = job->code;
	result->stage = job->code == NVME_ACCEL_OK ? 0 : job->fail_stage;
	result->nstage = job->nstage;
	result->in_used = job->in_used > nlead ? job->in_used - nlead : 0;
	result->out_len = job->code == NVME_ACCEL_OK ? job->out_len : 0;
	result->out_needed = job->out_needed;
	result->out_crc = job->out_crc;
	result->retval = job->retval;
	result->flags = cpu_flags(job);
	for (i = 0; i < job->nstage; i++) {
		result->result_len[i] = job->code == NVME_ACCEL_OK ? plan->result_len[i] : 0;
		memcpy(result->result[i], job->long_result[i], result->result_len[i]);
	}
}

void cpu_run_work(struct engine_thread *t, const struct accel_plan *plan, const struct plan_work *work,
		  const struct iovec *in, unsigned int nin, uint64_t in_len, const struct iovec *out,
		  unsigned int nout, uint64_t out_max, uint32_t executor, struct accel_result *result)
{
	uint64_t start = api_now_ns();
	struct job job;

	memset(&job, 0, sizeof(job));
	job.nstage = work->nstage;
	memcpy(job.stage, work->stage, work->nstage * sizeof(job.stage[0]));
	job.flags = plan->job_flags & CPU_JOB_FLAGS;
	job.in = in;
	job.nin = nin;
	job.in_len = in_len;
	job.out = out;
	job.nout = nout;
	job.out_max = out_max;
	engine_run(t, &job);
	cpu_result(plan, &job, work->nlead, result);
	result->executor = executor;
	result->queue_ns = 0;
	result->exec_ns = api_now_ns() - start;
	api_wipe(job.result, sizeof(job.result));
	api_wipe(job.long_result, sizeof(job.long_result));
}

/* The caller's input behind what leads it; *list is in itself or a copy to be freed. */
static int cpu_lead(const struct plan_work *work, const struct iovec *in, unsigned int nin,
		    struct iovec **list)
{
	struct iovec *v;

	*list = NULL;
	if (!work->nlead)
		return 0;
	v = malloc((nin + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	v[0].iov_base = (void *)work->lead;
	v[0].iov_len = work->nlead;
	if (nin)
		memcpy(v + 1, in, nin * sizeof(*v));
	*list = v;
	return 0;
}

int cpu_run(struct accel_ctx *ctx, const struct accel_plan *plan, const struct accel_params *params,
	    const struct iovec *in, unsigned int nin, const struct iovec *out, unsigned int nout,
	    uint32_t executor, struct accel_result *result)
{
	uint64_t in_len = iov_total(in, nin), out_max = iov_total(out, nout);
	uint8_t buf[PLAN_PARAM_CPU];
	struct engine_thread *t = NULL;
	struct iovec *led = NULL;
	struct plan_work work;
	uint32_t since = 0;
	int err;

	if (in_len == UINT64_MAX || out_max == UINT64_MAX)
		return -EINVAL;
	err = plan_build(plan, params, in_len, buf, sizeof(buf), &work);
	if (!err)
		err = cpu_lead(&work, in, nin, &led);
	if (!err) {
		t = ctx_engine_get(ctx, &since);
		err = t ? 0 : -ENOMEM;
	}
	if (!err)
		cpu_run_work(t, plan, &work, led ? led : in, led ? nin + 1 : nin, in_len + work.nlead, out,
			     nout, out_max, executor, result);
	ctx_engine_put(ctx, t, since);
	free(led);
	if (plan->secret)
		api_wipe(buf, sizeof(buf));
	return err;
}
