/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers and trailers of gzip members, our own and BGZF's; see Documentation/stream-format.rst. */
#include "stream_priv.h"

#define GZIP_FEXTRA  4
#define GZIP_FNAME   8
#define GZIP_OS_UNIX 3
#define GZIP_FIXED   10u /* bytes before the optional fields */

/* Our subfield: 'A' 'c', length 4, bytes of a chunk. */
#define EXTRA_NBYTES 8u

const uint8_t bgzf_eof[28] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0, 27, 0, 3 };

static uint8_t gzip_xfl(uint32_t level)
{
	if (level >= 9)
		return 2;
	return level == 1 ? 4 : 0;
}

size_t gzip_header_size(const struct accel_stream *s)
{
	return GZIP_FIXED + 2 + EXTRA_NBYTES + (s->name ? strlen(s->name) + 1 : 0);
}

void gzip_put_header(const struct accel_stream *s, uint8_t *p)
{
	p[0] = 0x1f;
	p[1] = 0x8b;
	p[2] = 8;
	p[3] = GZIP_FEXTRA | (s->name ? GZIP_FNAME : 0);
	le32_put(p + 4, s->mtime);
	p[8] = gzip_xfl(s->level);
	p[9] = GZIP_OS_UNIX;
	le16_put(p + 10, EXTRA_NBYTES);
	p[12] = 'A';
	p[13] = 'c';
	le16_put(p + 14, 4);
	le32_put(p + 16, (uint32_t)s->chunk);
	if (s->name)
		memcpy(p + 20, s->name, strlen(s->name) + 1);
}

void gzip_put_trailer(uint8_t *p, uint32_t crc, uint64_t len)
{
	le32_put(p, crc);
	le32_put(p + 4, (uint32_t)len);
}

void bgzf_put_header(uint8_t *p, size_t nbytes)
{
	memcpy(p, bgzf_eof, BGZF_HEADER);
	le16_put(p + 16, (uint16_t)(BGZF_HEADER + nbytes + GZIP_TRAILER - 1));
}

/* The subfield with this id and length, or NULL. */
static const uint8_t *gzip_subfield(const struct engine_gzip_header *h, char a, char b, size_t len)
{
	size_t off = 0, n;

	while (h->extra && off + 4 <= h->extra_len) {
		n = le16_get(h->extra + off + 2);
		if (n > h->extra_len - off - 4)
			return NULL;
		if (h->extra[off] == (uint8_t)a && h->extra[off + 1] == (uint8_t)b && n == len)
			return h->extra + off + 4;
		off += 4 + n;
	}
	return NULL;
}

size_t gzip_extra_bgzf(const struct engine_gzip_header *h)
{
	const uint8_t *p = gzip_subfield(h, 'B', 'C', 2);

	return p ? (size_t)le16_get(p) + 1 : 0;
}

size_t gzip_extra_chunk(const struct engine_gzip_header *h)
{
	const uint8_t *p = gzip_subfield(h, 'A', 'c', 4);

	return p ? le32_get(p) : 0;
}
