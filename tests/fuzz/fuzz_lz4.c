// SPDX-License-Identifier: BSD-2-Clause
/* LZ4 blocks by both decoders, in room of the given size, and frames. */
#include "fuzz_compress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct engine_thread *t;
	static uint8_t *in_room, *a_room, *b_room;
	struct job_stage stage = { .op = NVME_ACCEL_OP_DECOMPRESS, .alg = NVME_ACCEL_ALG_LZ4 };
	uint8_t *in, *a, *b;
	uint32_t code[2];
	struct job job[2];
	size_t max;

	if (!t)
		t = engine_thread_new();
	if (n < 3 || n > 65536)
		return 0;
	max = le16_get(data + 1);
	in = flush_with_guard(&in_room, data + 3, n - 3);
	a = flush_with_guard(&a_room, NULL, max);
	b = flush_with_guard(&b_room, NULL, max);
	if (data[0] & 1) {
		stage.alg = NVME_ACCEL_ALG_LZ4F;
		stage.flags = data[0] & NVME_ACCEL_STAGE_TRAILING;
		fuzz_run(t, fuzz_fn(stage.op, stage.alg, 0), stage, in, n - 3, a, max, &job[0]);
		return 0;
	}
	code[0] = fuzz_run(t, fuzz_fn(stage.op, stage.alg, 0), stage, in, n - 3, a, max, &job[0]);
	code[1] = fuzz_run(t, fuzz_fn(stage.op, stage.alg, 1), stage, in, n - 3, b, max, &job[1]);
	if (code[0] != code[1]) {
		CHECK(code[0] == NVME_ACCEL_OK);
		CHECK(lz4_plain(in, n - 3, b, max) == LZ4_PLAIN_NO_DISTANCE ||
		      lz4_plain(in, n - 3, b, max) == LZ4_PLAIN_BAD_END);
		return 0;
	}
	CHECK(job[0].out_len == job[1].out_len && job[0].out_needed == job[1].out_needed);
	CHECK(!memcmp(a, b, job[0].out_len));
	return 0;
}
