// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two things by the first byte. Even: the bytes are a raw deflate stream, on which the walk and zlib must
 * agree (validity, length, where the last block begins and ends). Odd: they are data, which each compressor
 * must turn into a stream that zlib turns back, at any level and window, as a chunk or whole.
 */
#include "fuzz_compress.h"
#include <zlib.h>

static uint8_t out[FUZZ_ROOM * 8];
static uint64_t work[SKIM_WORK_NBYTES / 8];

static void walk(const uint8_t *in, size_t n)
{
	uint64_t last = 0, end = 0;
	z_stream z = { 0 };
	struct skim s;
	int rc;

	CHECK(inflateInit2(&z, -15) == Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	do {
		/* The window keeps what zlib needs, so the room can be used again. */
		z.next_out = out;
		z.avail_out = sizeof(out);
		rc = inflate(&z, Z_BLOCK);
		if (rc == Z_OK && z.data_type & 0x80) {
			last = end;
			end = (uint64_t)z.total_in * 8 - (z.data_type & 0x3f);
		}
	} while (rc == Z_OK && (z.avail_in || !z.avail_out || z.data_type & 0x80));
	CHECK(deflate_skim(work, in, n, 0, &s) == (rc == Z_STREAM_END ? 0 : -1));
	if (rc == Z_STREAM_END)
		CHECK(s.out_len == z.total_out && s.last_bit == last && s.end_bit == end && s.final);
	inflateEnd(&z);
}

static void round_trip(struct engine_thread *t, const uint8_t *in, size_t n, uint32_t level, uint64_t bits,
		       uint32_t flags)
{
	static uint8_t *room;
	struct job_stage stage = { .op = NVME_ACCEL_OP_COMPRESS,
				   .alg = NVME_ACCEL_ALG_DEFLATE,
				   .flags = flags,
				   .arg0 = level,
				   .arg1 = bits };
	size_t bound = engine_bound(&stage, n);
	unsigned int i;

	for (i = 0; i < 4; i++) {
		const struct engine_fn *fn = fuzz_fn(stage.op, stage.alg, i);
		uint8_t *made = flush_with_guard(&room, NULL, bound);
		z_stream z = { 0 };
		struct job job;

		if (!fn->takes(&stage, n))
			continue;
		CHECK(fuzz_run(t, fn, stage, in, n, made, bound, &job) == NVME_ACCEL_OK);
		CHECK(job.in_used == n);
		CHECK(inflateInit2(&z, bits ? -(int)bits : -15) == Z_OK);
		z.next_in = made;
		z.avail_in = (uInt)job.out_len;
		z.next_out = out;
		z.avail_out = sizeof(out);
		CHECK(inflate(&z, Z_SYNC_FLUSH) == (flags ? Z_OK : Z_STREAM_END));
		CHECK(!z.avail_in && z.total_out == n && (!n || !memcmp(out, in, n)));
		inflateEnd(&z);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct engine_thread *t;

	if (!t)
		t = engine_thread_new();
	if (n < 3 || n > 65536)
		return 0;
	if (data[0] & 1)
		round_trip(t, data + 3, n - 3, data[1] % COMP_LEVELS, data[2] & 8 ? 9 + data[2] % 7 : 0,
			   data[0] >> 1 & NVME_ACCEL_STAGE_CHUNK);
	else
		walk(data + 1, n - 1);
	return 0;
}
