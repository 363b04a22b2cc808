// SPDX-License-Identifier: BSD-2-Clause
/* Zstandard frames as they come: one piece and lists go through different decoders of the library. */
#include "fuzz_compress.h"

static uint32_t run_list(struct engine_thread *t, struct job_stage stage, uint8_t *in, size_t n, uint8_t *out,
			 size_t max, struct job *job)
{
	struct iovec a[2] = { { in, n / 3 }, { in + n / 3, n - n / 3 } };
	struct iovec b[2] = { { out, max / 3 }, { out + max / 3, max - max / 3 } };

	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->stage[0] = stage;
	job->in = a;
	job->out = b;
	job->nin = job->nout = 2;
	job->in_len = n;
	job->out_max = max;
	engine_run_fn(t, fuzz_fn(stage.op, stage.alg, 0), job);
	job->in = job->out = NULL;
	return job->code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct engine_thread *t;
	static uint8_t *in_room, *a_room, *b_room;
	struct job_stage stage = { .op = NVME_ACCEL_OP_DECOMPRESS, .alg = NVME_ACCEL_ALG_ZSTD };
	uint8_t *in, *a, *b;
	uint32_t code, list;
	struct job job[2];
	size_t max;

	if (!t)
		t = engine_thread_new();
	if (n < 3 || n > 65536)
		return 0;
	stage.flags = data[0] & NVME_ACCEL_STAGE_TRAILING;
	max = le16_get(data + 1) * 4u;
	in = flush_with_guard(&in_room, data + 3, n - 3);
	a = flush_with_guard(&a_room, NULL, max);
	b = flush_with_guard(&b_room, NULL, max);
	code = fuzz_run(t, fuzz_fn(stage.op, stage.alg, 0), stage, in, n - 3, a, max, &job[0]);
	list = run_list(t, stage, in, n - 3, b, max, &job[1]);
	if (code == NVME_ACCEL_OK && list == NVME_ACCEL_OK)
		CHECK(job[0].out_len == job[1].out_len && job[0].in_used == job[1].in_used &&
		      !memcmp(a, b, job[0].out_len));
	return 0;
}
