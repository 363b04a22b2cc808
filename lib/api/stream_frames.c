/* SPDX-License-Identifier: BSD-2-Clause */
/* How far LZ4 (frame format 1.6) and zstd (RFC 8878) frames reach: their headers say it, block by block. */
#include "stream_dec.h"

#define LZ4_MAGIC      0x184d2204u
#define ZSTD_MAGIC     0xfd2fb528u
#define SKIP_MAGIC     0x184d2a50u /* the last four bits are free */
#define ZSTD_BLOCK_MAX (128u << 10)

#define LZ4_FLG_DICT	    0x01
#define LZ4_FLG_CONTENT_SUM 0x04
#define LZ4_FLG_SIZE	    0x08
#define LZ4_FLG_BLOCK_SUM   0x10

static enum frame_kind lz4_walk(const uint8_t *in, size_t n, uint64_t out_limit, struct frame *f)
{
	uint64_t block_max, out = 0, size = UINT64_MAX, off = 7;
	uint32_t v;
	uint8_t flg, bd;

	if (n < 19)
		return FRAME_MORE;
	flg = in[4];
	bd = in[5];
	if (flg >> 6 != 1 || flg & 2 || bd & 0x8f || bd >> 4 < 4)
		return FRAME_ODD;
	block_max = 1ull << (8 + 2 * (bd >> 4));
	if (flg & LZ4_FLG_SIZE) {
		size = le64_get(in + 6);
		off += 8;
	}
	off += flg & LZ4_FLG_DICT ? 4 : 0;
	for (;;) {
		if (off + 4 > n)
			return FRAME_MORE;
		v = le32_get(in + off);
		off += 4;
		if (!v)
			break;
		out += v >> 31 ? v & 0x7fffffff : block_max;
		off += (v & 0x7fffffff) + (flg & LZ4_FLG_BLOCK_SUM ? 4u : 0u);
		if (BASE_MIN(out, size) > out_limit && out > block_max)
			return FRAME_LARGE;
	}
	f->nbytes = off + (flg & LZ4_FLG_CONTENT_SUM ? 4 : 0);
	f->out_max = BASE_MIN(out, size);
	return f->nbytes > n ? FRAME_MORE : f->out_max > out_limit ? FRAME_LARGE : FRAME_DATA;
}

/* Bytes of the header of a zstd frame, its content size in *size (UINT64_MAX: it does not say). 0: odd. */
static size_t zstd_header(const uint8_t *in, uint64_t *size)
{
	static const uint8_t dict_len[4] = { 0, 1, 2, 4 };
	uint8_t fhd = in[4];
	unsigned int fcs = fhd >> 6, single = fhd >> 5 & 1;
	size_t off = 5 + !single + dict_len[fhd & 3];

	*size = UINT64_MAX;
	if (fhd & 8)
		return 0;
	if (fcs == 0 && single)
		*size = in[off];
	else if (fcs == 1)
		*size = (uint64_t)le16_get(in + off) + 256;
	else if (fcs == 2)
		*size = le32_get(in + off);
	else if (fcs == 3)
		*size = le64_get(in + off);
	return off + (fcs ? (size_t)1 << fcs : single);
}

static enum frame_kind zstd_walk(const uint8_t *in, size_t n, uint64_t out_limit, struct frame *f)
{
	uint8_t head[18] = { 0 };
	uint64_t size, out = 0, off;
	uint32_t v, len;

	memcpy(head, in, BASE_MIN(n, sizeof(head)));
	if (n < 5)
		return FRAME_MORE;
	off = zstd_header(head, &size);
	if (!off)
		return FRAME_ODD;
	if (off > n)
		return FRAME_MORE;
	if (size != UINT64_MAX && size > out_limit)
		return FRAME_LARGE;
	do {
		if (off + 3 > n)
			return FRAME_MORE;
		v = le16_get(in + off) | (uint32_t)in[off + 2] << 16;
		len = v >> 3;
		out += (v >> 1 & 3) == 2 ? ZSTD_BLOCK_MAX : len;
		off += 3 + ((v >> 1 & 3) == 1 ? 1 : len);
		if ((v >> 1 & 3) == 3)
			return FRAME_ODD;
		if (BASE_MIN(out, size) > out_limit)
			return FRAME_LARGE;
	} while (!(v & 1));
	f->nbytes = off + (in[4] & 4 ? 4 : 0);
	f->out_max = BASE_MIN(out, size);
	return f->nbytes > n ? FRAME_MORE : FRAME_DATA;
}

enum frame_kind frame_walk(uint16_t alg, const uint8_t *in, size_t n, uint64_t out_limit, struct frame *f)
{
	uint32_t want = alg == ACCEL_ZSTD ? ZSTD_MAGIC : LZ4_MAGIC, magic;
	uint8_t head[4] = { 0 };

	le32_put(head, want);
	if (n < 4)
		return memcmp(in, head, n) && (in[0] & 0xf0) != (SKIP_MAGIC & 0xf0) ? FRAME_NOT : FRAME_MORE;
	magic = le32_get(in);
	if ((magic & ~0xfu) == SKIP_MAGIC) {
		if (n < 8)
			return FRAME_MORE;
		f->nbytes = 8 + (uint64_t)le32_get(in + 4);
		f->out_max = 0;
		return FRAME_SKIP;
	}
	if (magic != want)
		return FRAME_NOT;
	return alg == ACCEL_ZSTD ? zstd_walk(in, n, out_limit, f) : lz4_walk(in, n, out_limit, f);
}
