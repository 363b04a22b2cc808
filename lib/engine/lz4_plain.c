// SPDX-License-Identifier: BSD-2-Clause
/* An LZ4 block decoder in plain C, byte by byte: the second opinion on liblz4, and a measure of outputs. */
#include "compress.h"

/* Rules for the end of a block: the last five bytes are literals, the last match begins 12 before the end. */
#define LAST_LITERALS	5u
#define MATCH_LIMIT	12u
#define MIN_MATCH	4u

struct lz4_in {
	const uint8_t *p, *end;
};

/* A length whose four bits in the token are all ones goes on in bytes, until one is not 255. */
static int length(struct lz4_in *in, unsigned int bits, uint64_t *len)
{
	uint8_t byte;

	*len = bits;
	if (bits != 15)
		return 0;
	do {
		if (in->p == in->end)
			return -1;
		byte = *in->p++;
		*len += byte;
	} while (byte == 255);
	return 0;
}

static int literals(struct lz4_in *in, uint64_t n, uint8_t *out, uint64_t at, uint64_t max)
{
	if (n > (uint64_t)(in->end - in->p) || n > max - at)
		return -1;
	if (out && n)
		memcpy(out + at, in->p, n);
	in->p += n;
	return 0;
}

static int match(struct lz4_in *in, unsigned int token, uint8_t *out, uint64_t *at, uint64_t max)
{
	uint64_t len, i;
	unsigned int dist;

	if (in->end - in->p < 2)
		return -1;
	dist = le16_get(in->p);
	in->p += 2;
	if (!dist)
		return LZ4_PLAIN_NO_DISTANCE;
	if (length(in, token & 15, &len) || dist > *at)
		return -1;
	len += MIN_MATCH;
	if (len > max - *at)
		return -1;
	for (i = 0; out && i < len; i++)
		out[*at + i] = out[*at + i - dist];
	*at += len;
	return 0;
}

int64_t lz4_plain(const uint8_t *in, size_t n, uint8_t *out, uint64_t max)
{
	struct lz4_in s = { in, in + n };
	uint64_t at = 0, len, match_at = 0;
	unsigned int token;
	int any = 0, rc;

	while (s.p != s.end) {
		token = *s.p++;
		if (length(&s, token >> 4, &len) || literals(&s, len, out, at, max))
			return -1;
		at += len;
		if (s.p == s.end) {
			if (any && (len < LAST_LITERALS || at - match_at < MATCH_LIMIT))
				return LZ4_PLAIN_BAD_END;
			return (int64_t)at;
		}
		match_at = at;
		any = 1;
		rc = match(&s, token, out, &at, max);
		if (rc)
			return rc;
	}
	return -1;
}
