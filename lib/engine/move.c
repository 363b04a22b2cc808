// SPDX-License-Identifier: BSD-2-Clause
/* Data movement: copy, fill, compare. */
#include "priv.h"

/* Between two looks at the stop flag. */
#define STEP ((uint64_t)ENGINE_STEP(4u << 20))

int iov_equal(struct iov_pos a, struct iov_pos b, uint64_t n, uint64_t *at)
{
	uint64_t done = 0;
	size_t la, i;
	void *pa, *pb;

	while (done < n) {
		struct iov_pos peek = b;
		size_t lb = iov_next(&peek, &pb, n - done);

		la = iov_next(&a, &pa, lb);
		if (!la)
			break;
		iov_skip(&b, la);
		if (memcmp(pa, pb, la) != 0) {
			for (i = 0; ((uint8_t *)pa)[i] == ((uint8_t *)pb)[i]; i++)
				;
			*at = done + i;
			return 0;
		}
		done += la;
	}
	*at = done;
	return done == n;
}

static void copy_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		     struct job *job)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out = { job->out, job->nout, 0 };
	uint64_t done, n;

	(void)t;
	if (stage->arg0 || stage->arg1 || stage->param_len || stage->flags) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return;
	}
	if (job->out_max < job->in_len) {
		engine_fail_short(job, index, job->in_len);
		return;
	}
	for (done = 0; done < job->in_len; done += n) {
		n = BASE_MIN(job->in_len - done, STEP);
		if (engine_stopped(job)) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
		iov_copy(&out, &in, n);
	}
	job->in_used = job->out_len = job->in_len;
}

/* The pattern goes on over the joints of the list. */
static void fill_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		     struct job *job)
{
	struct iov_pos out = { job->out, job->nout, 0 };
	uint8_t pattern[512 + 8];
	uint64_t done, n;
	size_t i;
	void *p;

	(void)t;
	if (stage->arg0 || stage->param_len || stage->flags || job->in_len) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return;
	}
	for (i = 0; i < sizeof(pattern); i += 8)
		le64_put(pattern + i, stage->arg1);
	for (done = 0; done < job->out_max && !engine_stopped(job); done += n) {
		n = iov_next(&out, &p, BASE_MIN(job->out_max - done, STEP));
		if (!n)
			break;
		for (i = 0; i < n; i += 512)
			memcpy((uint8_t *)p + i, pattern + (done & 7), BASE_MIN(n - i, 512u));
	}
	if (done < job->out_max)
		engine_fail(job, index, NVME_ACCEL_ABORTED);
	else
		job->out_len = done;
}

static void compare_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			struct job *job)
{
	struct iov_pos a = { job->in, job->nin, 0 }, b = a;
	uint64_t half = job->in_len / 2, at, done, n;

	(void)t;
	if (stage->arg0 || stage->arg1 || stage->param_len || stage->flags || job->in_len % 2) {
		engine_fail(job, index, NVME_ACCEL_BAD_PARAM);
		return;
	}
	iov_skip(&b, half);
	job->in_used = job->in_len;
	for (done = 0; done < half; done += n) {
		n = BASE_MIN(half - done, STEP);
		if (engine_stopped(job)) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
		if (!iov_equal(a, b, n, &at)) {
			job->retval = done + at;
			return;
		}
		iov_skip(&a, n);
		iov_skip(&b, n);
	}
	job->retval = UINT64_MAX;
}

static const struct engine_fn entries[] = {
	{ NVME_ACCEL_OP_COPY, 0, "plain", NULL, copy_run },
	{ NVME_ACCEL_OP_FILL, 0, "plain", NULL, fill_run },
	{ NVME_ACCEL_OP_COMPARE, 0, "plain", NULL, compare_run },
};

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)

/* Estimates: 1 MiB jobs on a server core of 2021, within the caches. */
static const struct wire_op table[] = {
	{ .op = NVME_ACCEL_OP_COPY, .flags = ANYWHERE, .granule = 1, .align = 1, .est_mbps = 25000,
	  .est_overhead_ns = 50 },
	{ .op = NVME_ACCEL_OP_FILL, .flags = NVME_ACCEL_OPF_ALONE, .granule = 1, .align = 1,
	  .est_mbps = 20000, .est_overhead_ns = 50 },
	{ .op = NVME_ACCEL_OP_COMPARE, .flags = NVME_ACCEL_OPF_ALONE, .granule = 2, .align = 1,
	  .est_mbps = 50000, .est_overhead_ns = 50 },
};

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = BASE_MIN(max, (unsigned int)(sizeof(table) / sizeof(table[0])));

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return stage->op == NVME_ACCEL_OP_COPY ? in_len : 0;
}

const struct engine_family engine_move = { entries, sizeof(entries) / sizeof(entries[0]), ops, bound };
