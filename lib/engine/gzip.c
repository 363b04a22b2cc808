// SPDX-License-Identifier: BSD-2-Clause
/*
 * The wrappers around raw deflate. The gzip header has a parser of its own because the libraries differ
 * in what they let pass: ISA-L 2.30 takes reserved FLG bits, libdeflate 1.14 a wrong FHCRC.
 */
#ifdef __KERNEL__
#include <linux/crc32.h>
#include <linux/zutil.h>
#else
#include <libdeflate.h>
#endif
#include "compress.h"

#define GZIP_FIXED	10u
#define GZIP_TEXT_MAX	(1u << 20)	/* of FNAME and FCOMMENT each */

#ifdef __KERNEL__
static uint32_t sum_crc32(uint32_t crc, const void *p, size_t n)
{
	return ~crc32_le(~crc, p, n);
}

static uint32_t sum_adler32(uint32_t sum, const void *p, size_t n)
{
	return (uint32_t)zlib_adler32(sum, p, (unsigned int)n);
}
#else
#define sum_crc32	libdeflate_crc32
#define sum_adler32	libdeflate_adler32
#endif

enum { FHCRC = 1 << 1, FEXTRA = 1 << 2, FNAME = 1 << 3, FCOMMENT = 1 << 4, FRESERVED = 0xe0 };
enum { P_FIXED, P_XLEN, P_EXTRA, P_NAME, P_COMMENT, P_HCRC, P_DONE };

void gzip_parser_init(struct gzip_parser *p)
{
	memset(p, 0, sizeof(*p));
}

/* The state behind from that the flags ask for next. */
static void enter_next(struct gzip_parser *p, int from)
{
	p->count = 0;
	p->want = 0;
	if (from < P_XLEN && (p->flg & FEXTRA))
		p->state = P_XLEN;
	else if (from < P_NAME && (p->flg & FNAME))
		p->state = P_NAME;
	else if (from < P_COMMENT && (p->flg & FCOMMENT))
		p->state = P_COMMENT;
	else if (from < P_HCRC && (p->flg & FHCRC))
		p->state = P_HCRC;
	else
		p->state = P_DONE;
	if (p->state == P_NAME)
		p->name_off = p->pos;
	else if (p->state == P_COMMENT)
		p->comment_off = p->pos;
}

static enum engine_gzip_parse feed_fixed(struct gzip_parser *p, uint8_t byte)
{
	static const uint8_t magic[2] = { 0x1f, 0x8b };
	uint32_t at = p->count++;

	p->pos++;
	if (at < 2 && byte != magic[at])
		return ENGINE_GZIP_NOT;
	if (at == 2 && byte != 8)
		return ENGINE_GZIP_BAD;
	if (at == 3) {
		if (byte & FRESERVED)
			return ENGINE_GZIP_BAD;
		p->flg = byte;
	}
	if (at >= 4 && at < 8)
		p->mtime |= (uint32_t)byte << 8 * (at - 4);
	if (at == 8)
		p->xfl = byte;
	if (at == 9) {
		p->os = byte;
		enter_next(p, P_FIXED);
	}
	return ENGINE_GZIP_OK;
}

/* XLEN and FHCRC: two bytes, little endian. */
static enum engine_gzip_parse feed_u16(struct gzip_parser *p, uint8_t byte)
{
	p->want |= (uint16_t)(byte << 8 * p->count++);
	p->pos++;
	if (p->count < 2)
		return ENGINE_GZIP_OK;
	if (p->state == P_HCRC) {
		if (p->want != (uint16_t)p->crc)
			return ENGINE_GZIP_BAD;
		enter_next(p, P_HCRC);
		return ENGINE_GZIP_OK;
	}
	p->extra_len = p->want;
	p->extra_off = p->pos;
	p->count = 0;
	p->state = P_EXTRA;
	if (!p->extra_len)
		enter_next(p, P_EXTRA);
	return ENGINE_GZIP_OK;
}

/* As much of the extra field as there is. */
static size_t feed_extra(struct gzip_parser *p, size_t n)
{
	size_t take = BASE_MIN(n, (size_t)(p->extra_len - p->count));

	p->count += (uint32_t)take;
	p->pos += take;
	if (p->count == p->extra_len)
		enter_next(p, P_EXTRA);
	return take;
}

/* As much of a name or comment as there is; 0: it is too long. */
static size_t feed_text(struct gzip_parser *p, const uint8_t *in, size_t n)
{
	const uint8_t *end = memchr(in, 0, n);
	size_t take = end ? (size_t)(end - in) + 1 : n;

	if (take > GZIP_TEXT_MAX - p->count)
		return 0;
	p->count += (uint32_t)take;
	p->pos += take;
	if (end)
		enter_next(p, p->state);
	return take;
}

static enum engine_gzip_parse feed_some(struct gzip_parser *p, const uint8_t *in, size_t n, size_t *take)
{
	*take = 1;
	switch (p->state) {
	case P_FIXED:
		return feed_fixed(p, *in);
	case P_XLEN:
	case P_HCRC:
		return feed_u16(p, *in);
	case P_EXTRA:
		*take = feed_extra(p, n);
		return ENGINE_GZIP_OK;
	default:
		*take = feed_text(p, in, n);
		return *take ? ENGINE_GZIP_OK : ENGINE_GZIP_BAD;
	}
}

enum engine_gzip_parse gzip_parser_feed(struct gzip_parser *p, const uint8_t *in, size_t n, size_t *used)
{
	enum engine_gzip_parse rc;
	size_t at = 0, take;
	int counts;

	*used = 0;
	while (p->state != P_DONE) {
		if (at == n)
			return ENGINE_GZIP_MORE;
		/* FLG comes after three bytes that FHCRC covers, so the fixed part is summed in any case. */
		counts = p->state == P_FIXED || (p->flg & FHCRC && p->state != P_HCRC);
		rc = feed_some(p, in + at, n - at, &take);
		if (rc != ENGINE_GZIP_OK)
			return rc;
		if (counts)
			p->crc = sum_crc32(p->crc, in + at, take);
		at += take;
		*used = at;
	}
	return ENGINE_GZIP_OK;
}

enum engine_gzip_parse engine_gzip_header(const void *in, size_t n, struct engine_gzip_header *h)
{
	const uint8_t *b = in;
	struct gzip_parser p;
	enum engine_gzip_parse rc;

	memset(h, 0, sizeof(*h));
	gzip_parser_init(&p);
	rc = gzip_parser_feed(&p, b, n, &h->nbytes);
	if (rc != ENGINE_GZIP_OK) {
		h->nbytes = 0;
		return rc;
	}
	h->mtime = p.mtime;
	h->flg = p.flg;
	h->xfl = p.xfl;
	h->os = p.os;
	if (p.flg & FEXTRA) {
		h->extra = b + p.extra_off;
		h->extra_len = p.extra_len;
	}
	if (p.flg & FNAME)
		h->name = (const char *)b + p.name_off;
	if (p.flg & FCOMMENT)
		h->comment = (const char *)b + p.comment_off;
	return ENGINE_GZIP_OK;
}

size_t wrap_head_len(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_GZIP ? 10 : alg == NVME_ACCEL_ALG_ZLIB ? 2 : 0;
}

size_t wrap_tail_len(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_GZIP ? 8 : alg == NVME_ACCEL_ALG_ZLIB ? 4 : 0;
}

static void zlib_head(const struct job_stage *stage, uint8_t *head)
{
	unsigned int bits = stage->arg1 ? (unsigned int)stage->arg1 : 15;
	unsigned int effort = stage->arg0 < 2 ? 0 : stage->arg0 < 6 ? 1 : stage->arg0 == 6 ? 2 : 3;

	head[0] = (uint8_t)(8 | (bits - 8) << 4);
	head[1] = (uint8_t)(effort << 6);
	head[1] |= (uint8_t)(31 - (head[0] << 8 | head[1]) % 31);
}

size_t wrap_head(const struct job_stage *stage, uint8_t head[WRAP_HEAD_MAX])
{
	if (stage->alg == NVME_ACCEL_ALG_ZLIB) {
		zlib_head(stage, head);
	} else if (stage->alg == NVME_ACCEL_ALG_GZIP) {
		/* No time and an unknown system: the same input gives the same bytes anywhere. */
		memset(head, 0, GZIP_FIXED);
		head[0] = 0x1f;
		head[1] = 0x8b;
		head[2] = 8;
		head[8] = stage->arg0 == 9 ? 2 : stage->arg0 < 2 ? 4 : 0;
		head[9] = 255;
	}
	return wrap_head_len(stage->alg);
}

static void be32_put(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

size_t wrap_tail(uint16_t alg, uint32_t check, uint64_t total, uint8_t tail[WRAP_TAIL_MAX])
{
	if (alg == NVME_ACCEL_ALG_ZLIB) {
		be32_put(tail, check);
	} else if (alg == NVME_ACCEL_ALG_GZIP) {
		le32_put(tail, check);
		le32_put(tail + 4, (uint32_t)total);
	}
	return wrap_tail_len(alg);
}

int wrap_tail_good(uint16_t alg, const uint8_t *tail, uint32_t check, uint64_t total)
{
	uint8_t want[WRAP_TAIL_MAX];

	return !memcmp(tail, want, wrap_tail(alg, check, total, want));
}

int zlib_header_good(const uint8_t head[2])
{
	return (head[0] & 15) == 8 && head[0] >> 4 <= 7 && !(head[1] & 0x20) &&
	       (head[0] << 8 | head[1]) % 31 == 0;
}

uint32_t wrap_check_init(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_ZLIB ? 1 : 0;
}

uint32_t wrap_check(uint16_t alg, uint32_t check, const void *p, size_t n)
{
	if (!n)
		return check;
	if (alg == NVME_ACCEL_ALG_ZLIB)
		return sum_adler32(check, p, n);
	return alg == NVME_ACCEL_ALG_GZIP ? sum_crc32(check, p, n) : check;
}

uint32_t wrap_check_list(uint16_t alg, const struct base_iov *iov, unsigned int niov, uint64_t n)
{
	struct src s = { { iov, niov, 0 }, n };
	uint32_t check = wrap_check_init(alg);
	const void *p;
	size_t len;

	if (alg == NVME_ACCEL_ALG_DEFLATE)
		return check;
	while ((len = src_next(&s, &p, SIZE_MAX)) != 0)
		check = wrap_check(alg, check, p, len);
	return check;
}
