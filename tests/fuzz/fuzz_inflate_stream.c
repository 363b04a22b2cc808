// SPDX-License-Identifier: BSD-2-Clause
/* Sequential decompression in random pieces, against one job over the same bytes. */
#include "fuzz_compress.h"

static uint8_t whole[FUZZ_ROOM], out[FUZZ_ROOM];

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

/* The end, an error, or MORE when the input has run out. */
static enum engine_stream_state pieces(struct engine_stream *s, const uint8_t *in, size_t n, uint32_t seed,
				       size_t *used, size_t *made)
{
	uint32_t step = 1 + seed % 300;
	enum engine_stream_state st = ENGINE_STREAM_MORE;
	unsigned int idle = 0;
	uint32_t code;

	*used = *made = 0;
	while (st == ENGINE_STREAM_MORE && idle < 3 && *made < FUZZ_ROOM) {
		uint32_t in_step = next(&seed) % (step + 1), out_step = 1 + next(&seed) % (step * 8);
		size_t give = BASE_MIN(in_step, n - *used), left = give;
		size_t room = BASE_MIN(out_step, FUZZ_ROOM - *made);

		st = engine_stream_step(s, in + *used, &left, out + *made, &room, &code);
		CHECK(left <= give);
		*used += give - left;
		*made += room;
		CHECK(*made <= FUZZ_ROOM);
		idle = *used == n && !room ? idle + 1 : 0;
	}
	return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint16_t algs[] = { NVME_ACCEL_ALG_DEFLATE, NVME_ACCEL_ALG_ZLIB, NVME_ACCEL_ALG_GZIP,
					 NVME_ACCEL_ALG_LZ4F, NVME_ACCEL_ALG_ZSTD };
	/* What reads lists reads by pieces as well; libdeflate and zstd's other decoder differ in details. */
	static const unsigned int nth[] = { 1, 1, 1, 0, 0 };
	static struct engine_thread *t;
	enum engine_stream_state st;
	struct job_stage stage = { .op = NVME_ACCEL_OP_DECOMPRESS, .flags = NVME_ACCEL_STAGE_TRAILING };
	struct engine_stream *s;
	size_t used, made;
	uint32_t code;
	struct job job;

	if (!t)
		t = engine_thread_new();
	if (n < 5 || n > 65536)
		return 0;
	stage.alg = algs[data[0] % 5];
	s = engine_stream_new(stage.op, stage.alg, 0, &code);
	CHECK(s);
	st = pieces(s, data + 5, n - 5, le32_get(data + 1), &used, &made);
	code = fuzz_run(t, fuzz_fn(stage.op, stage.alg, nth[data[0] % 5]), stage, data + 5, n - 5, whole,
			FUZZ_ROOM, &job);
	if (made < FUZZ_ROOM && stage.alg != NVME_ACCEL_ALG_ZSTD)
		CHECK((code == NVME_ACCEL_OK) == (st == ENGINE_STREAM_END));
	if (code == NVME_ACCEL_OK && st == ENGINE_STREAM_END)
		CHECK(job.in_used == used && job.out_len == made && !memcmp(whole, out, made));
	engine_stream_free(s);
	return 0;
}
