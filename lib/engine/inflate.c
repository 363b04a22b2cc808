// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decompression of raw deflate, zlib and gzip by the libraries, which see raw deflate only (inflate_wrap.c).
 */
#include <stdlib.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <zlib.h>

#include "comp_thread.h"

void inflate_free(struct comp_thread *c)
{
	free(c->isal_inflate);
	libdeflate_free_decompressor(c->ld_inflate);
	if (c->zlib_inflate)
		inflateEnd(c->zlib_inflate);
	free(c->zlib_inflate);
}

/*
 * ISA-L holds up to eight bytes that it has read but not used. At the end, and whenever it stopped for want
 * of room, they are given back, so that each byte behind the data is where the caller left it. When it
 * stopped for want of input they are part of something unfinished, which the end cannot be before more
 * bytes come. While part of a block's header is kept aside (tmp_in_size), the bytes held are older than
 * that part and must stay.
 */
static void isal_give_back(struct inflate_state *z, size_t most)
{
	size_t n = z->tmp_in_size || z->read_in_length < 0 ? 0 : (size_t)z->read_in_length / 8;

	n = BASE_MIN(n, most);
	if (!n || (z->avail_out && z->block_state != ISAL_BLOCK_FINISH))
		return;
	z->next_in -= n;
	z->avail_in += (uint32_t)n;
	z->read_in_length -= (int32_t)(8 * n);
	z->read_in &= ((uint64_t)1 << z->read_in_length) - 1;
}

enum dec_state isal_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len)
{
	struct inflate_state *z = ctx;
	uint32_t nin = (uint32_t)BASE_MIN(*in_len, (size_t)1 << 30);
	uint32_t nout = (uint32_t)BASE_MIN(*out_len, (size_t)1 << 30);
	int rc;

	z->next_in = (uint8_t *)(uintptr_t)in;
	z->avail_in = nin;
	z->next_out = out;
	z->avail_out = nout;
	rc = isal_inflate(z);
	/* On bad data 2.30 may count a byte more than it was given. */
	if (rc < 0 || rc == ISAL_NEED_DICT || z->avail_in > nin || z->avail_out > nout) {
		*in_len = nin;
		*out_len = nout - BASE_MIN(z->avail_out, nout);
		return DEC_BAD;
	}
	isal_give_back(z, nin - z->avail_in);
	*in_len = nin - z->avail_in;
	*out_len = nout - z->avail_out;
	return z->block_state == ISAL_BLOCK_FINISH ? DEC_END : DEC_MORE;
}

static struct inflate_state *isal_get(struct engine_thread *t)
{
	struct comp_thread *c = comp_get(t);

	if (!c)
		return NULL;
	if (!c->isal_inflate)
		c->isal_inflate = comp_alloc(sizeof(*c->isal_inflate));
	if (c->isal_inflate)
		isal_inflate_init(c->isal_inflate);
	return c->isal_inflate;
}

/* All input taken, all output given, and the next thing would be the header of a block. */
static int isal_between_blocks(const struct inflate_state *z)
{
	return (z->block_state == ISAL_BLOCK_NEW_HDR || z->block_state == ISAL_BLOCK_HDR) &&
	       !z->tmp_in_size && !z->read_in_length && z->tmp_out_valid == z->tmp_out_processed;
}

COMP_RUN(inflate_isal)
{
	struct inflate_state *z = isal_get(t);
	enum dec_state state;
	struct dec_run r;
	struct body b;

	if (!z)
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
	else if (!body_find(stage, index, job, &b)) {
		inflate_run_init(&r, stage, job, &b);
		state = dec_run(job, &r, isal_step, z);
		inflate_run_finish(t, stage, index, job, &b, &r, state, isal_between_blocks(z));
	}
}

static z_stream *zlib_get(struct engine_thread *t)
{
	struct comp_thread *c = comp_get(t);
	z_stream *z = c ? c->zlib_inflate : NULL;

	if (!c)
		return NULL;
	if (z)
		return inflateReset(z) == Z_OK ? z : NULL;
	z = comp_alloc(sizeof(*z));
	if (!z)
		return NULL;
	memset(z, 0, sizeof(*z));
	if (inflateInit2(z, -15) != Z_OK) {
		free(z);
		return NULL;
	}
	c->zlib_inflate = z;
	return z;
}

struct zlib_run {
	z_stream *z;
	int between;	/* the last bytes taken ended a block, on a byte boundary */
};

static enum dec_state zlib_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len)
{
	struct zlib_run *run = ctx;
	z_stream *z = run->z;
	uInt nin = (uInt)BASE_MIN(*in_len, (size_t)1 << 30), nout = (uInt)BASE_MIN(*out_len, (size_t)1 << 30);
	int rc;

	z->next_in = (Bytef *)(uintptr_t)in;
	z->avail_in = nin;
	z->next_out = out;
	z->avail_out = nout;
	rc = inflate(z, Z_NO_FLUSH);
	*in_len = nin - z->avail_in;
	*out_len = nout - z->avail_out;
	/* data_type: 128 just behind a block, below that the bits left of the last byte. */
	if (*in_len || *out_len)
		run->between = z->data_type & 0x80 && !(z->data_type & 0x3f);
	if (rc == Z_STREAM_END)
		return DEC_END;
	if (rc == Z_MEM_ERROR)
		return DEC_NO_MEMORY;
	return rc == Z_OK || rc == Z_BUF_ERROR ? DEC_MORE : DEC_BAD;
}

COMP_RUN(inflate_zlib)
{
	struct zlib_run run = { zlib_get(t), 0 };
	enum dec_state state;
	struct dec_run r;
	struct body b;

	if (!run.z)
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
	else if (!body_find(stage, index, job, &b)) {
		inflate_run_init(&r, stage, job, &b);
		state = dec_run(job, &r, zlib_step, &run);
		inflate_run_finish(t, stage, index, job, &b, &r, state, run.between);
	}
}

/* The body with a final block behind it, for a library that will not end without one. NULL: no memory. */
static const uint8_t *with_final(struct engine_thread *t, const uint8_t *in, size_t n)
{
	static const uint8_t final[2] = { 3, 0 };
	uint8_t *copy = engine_scratch(t, SCRATCH_WORK, n + sizeof(final));

	if (!copy)
		return NULL;
	memcpy(copy, in, n);
	memcpy(copy + n, final, sizeof(final));
	return copy;
}

static void libdeflate_end(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			   struct job *job, const struct body *b, enum libdeflate_result rc, size_t used,
			   size_t made, const uint8_t *out)
{
	uint32_t check = wrap_check_init(stage->alg);

	if (rc == LIBDEFLATE_INSUFFICIENT_SPACE) {
		inflate_short(t, stage, index, job, b);
		return;
	}
	/* Two bytes more than there are: the final block that was put behind the chunk. One: half of it. */
	if (used == b->len + 2 && ends_as_chunk(job))
		used = (size_t)b->len;
	if (rc != LIBDEFLATE_SUCCESS || used > b->len) {
		engine_fail(job, index, NVME_ACCEL_BAD_INPUT_DATA);
		return;
	}
	inflate_finish(stage, index, job, b, used, wrap_check(stage->alg, check, out, made), made);
}

COMP_RUN(inflate_libdeflate)
{
	const uint8_t *in = iov_flat(job->in, job->nin, (size_t)job->in_len);
	uint8_t *out = iov_flat(job->out, job->nout, (size_t)job->out_max);
	struct comp_thread *c = comp_get(t);
	size_t n, used = 0, made = 0;
	enum libdeflate_result rc;
	struct body b;

	/* It wants one piece each; lists are better served by ISA-L than by copies. */
	if (!in || !out) {
		inflate_isal(t, stage, index, job);
		return;
	}
	if (c && !c->ld_inflate)
		c->ld_inflate = libdeflate_alloc_decompressor();
	if (!c || !c->ld_inflate) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	if (body_find(stage, index, job, &b))
		return;
	in += b.head;
	n = (size_t)b.len;
	if (stage->flags & NVME_ACCEL_STAGE_CHUNK) {
		in = with_final(t, in, n);
		n += 2;
	}
	if (!in) {
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
		return;
	}
	rc = libdeflate_deflate_decompress_ex(c->ld_inflate, in, n, out, (size_t)job->out_max, &used, &made);
	libdeflate_end(t, stage, index, job, &b, rc, used, made, out);
}
