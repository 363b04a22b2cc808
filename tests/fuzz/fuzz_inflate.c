// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decompression of raw deflate, zlib and gzip by each entry, on bytes as they come: the same verdict, the
 * same output, the same end. In front of the stream: the format and flags, and the room.
 */
#include "fuzz_compress.h"
#include <zlib.h>

/* Why zlib refuses a raw stream; NULL if it does not. */
static const char *zlib_message(const uint8_t *in, size_t n)
{
	static uint8_t out[65536];
	static char message[64];
	z_stream z = { 0 };
	int rc;

	CHECK(inflateInit2(&z, -15) == Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		rc = inflate(&z, Z_NO_FLUSH);
	} while (rc == Z_OK && !z.avail_out);
	snprintf(message, sizeof(message), "%s", z.msg ? z.msg : "");
	inflateEnd(&z);
	return rc == Z_DATA_ERROR ? message : NULL;
}

/*
 * The two fast libraries take some headers of blocks that zlib refuses: codes with symbols that the format
 * has no use for, or without an end-of-block symbol, incomplete codes, and repetitions of lengths beyond the
 * last one. What must never pass is not among these: block types, stored lengths, distances too far back.
 */
static int only_stricter(const uint8_t *in, size_t n)
{
	static const char *const known[] = { "too many length or distance symbols",
					     "invalid code -- missing end-of-block", "invalid distances set",
					     "invalid literal/lengths set", "invalid code lengths set",
					     "invalid distance code", "invalid literal/length code",
					     "invalid bit length repeat" };
	const char *message = zlib_message(in, n);
	unsigned int i;

	for (i = 0; message && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(message, known[i]))
			return 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct engine_thread *t;
	static uint8_t *in_room, *out_room;
	static uint8_t first[FUZZ_ROOM];
	uint32_t code[3];
	struct job job[3];
	struct job_stage stage = { .op = NVME_ACCEL_OP_DECOMPRESS };
	unsigned int i;
	size_t max;

	if (!t)
		t = engine_thread_new();
	if (n < 3 || n > 65536)
		return 0;
	stage.alg = 1 + data[0] % 3;
	stage.flags = data[0] >> 2 & NVME_ACCEL_STAGE_TRAILING;
	max = BASE_MIN((size_t)le16_get(data + 1) * 4, (size_t)FUZZ_ROOM);
	data += 3;
	n -= 3;
	for (i = 0; i < 3; i++) {
		uint8_t *in = flush_with_guard(&in_room, data, n),
			*out = flush_with_guard(&out_room, NULL, max);

		code[i] = fuzz_run(t, fuzz_fn(stage.op, stage.alg, i), stage, in, n, out, max, &job[i]);
		CHECK(!memcmp(in, data, n));
		if (!i)
			memcpy(first, out, max);
		else if (code[i] == NVME_ACCEL_OK && code[0] == NVME_ACCEL_OK)
			CHECK(job[i].out_len == job[0].out_len && job[i].in_used == job[0].in_used &&
			      !memcmp(first, out, job[0].out_len));
	}
	if (code[0] == code[2] && code[1] == code[2]) {
		CHECK(job[0].out_needed == job[2].out_needed && job[1].out_needed == job[2].out_needed);
		return 0;
	}
	CHECK(code[2] == NVME_ACCEL_BAD_INPUT_DATA);
	CHECK(code[0] == NVME_ACCEL_OK || code[0] == NVME_ACCEL_BAD_INPUT_DATA);
	CHECK(code[1] == NVME_ACCEL_OK || code[1] == NVME_ACCEL_BAD_INPUT_DATA);
	CHECK(stage.alg != NVME_ACCEL_ALG_DEFLATE || only_stricter(data, n));
	return 0;
}
