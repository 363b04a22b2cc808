// SPDX-License-Identifier: BSD-2-Clause
/* Sequential work of any length: hands each kind to the family that serves it. */
#include <stdlib.h>
#include "priv.h"

struct engine_stream {
	const struct stream_fns *fns;
	void *s;
};

struct engine_stream *engine_stream_new(uint16_t op, uint16_t alg, uint64_t arg1, uint32_t *code)
{
	const struct stream_fns *fns = op == NVME_ACCEL_OP_DECOMPRESS ? &comp_stream :
				       op == NVME_ACCEL_OP_DIGEST     ? &digest_stream :
				       op == NVME_ACCEL_OP_CHECKSUM   ? &checksum_stream :
									NULL;
	struct engine_stream *stream;

	*code = NVME_ACCEL_UNSUPPORTED_OP;
	if (!fns)
		return NULL;
	*code = NVME_ACCEL_NO_RESOURCES;
	stream = malloc(sizeof(*stream));
	if (!stream)
		return NULL;
	stream->fns = fns;
	stream->s = fns->open(alg, arg1, code);
	if (!stream->s) {
		free(stream);
		return NULL;
	}
	return stream;
}

enum engine_stream_state engine_stream_step(struct engine_stream *s, const void *in, size_t *in_len,
					    void *out, size_t *out_len, uint32_t *code)
{
	return s->fns->step(s->s, in, in_len, out, out_len, code);
}

size_t engine_stream_result(struct engine_stream *s, uint8_t *result)
{
	return s->fns->result ? s->fns->result(s->s, result) : 0;
}

void engine_stream_reset(struct engine_stream *s)
{
	s->fns->reset(s->s);
}

void engine_stream_free(struct engine_stream *s)
{
	if (!s)
		return;
	s->fns->close(s->s);
	free(s);
}
