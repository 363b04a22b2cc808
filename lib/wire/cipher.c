// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The inline parameters of a cipher stage: a head, then key, iv, tag and additional data back to back. */
#include "wire_priv.h"

#define CIPHER_HEAD sizeof(struct nvme_accel_cipher)
#define IV_MAX	    128
#define TAG_MIN	    12
#define TAG_MAX	    16

static int lengths_ok(const struct wire_cipher *c)
{
	if (c->key_len != 16 && c->key_len != 24 && c->key_len != 32 && c->key_len != 64)
		return 0;
	if (!c->iv_len || c->iv_len > IV_MAX)
		return 0;
	return !c->tag_len || (c->tag_len >= TAG_MIN && c->tag_len <= TAG_MAX);
}

static uint8_t *append(uint8_t *p, const uint8_t *src, size_t n)
{
	if (n)
		memcpy(p, src, n);
	return p + n;
}

/* Bytes of head, key, iv and tag; additional data comes on top. */
static size_t fixed_len(const struct wire_cipher *c, int with_tag)
{
	return CIPHER_HEAD + c->key_len + c->iv_len + (with_tag ? c->tag_len : 0);
}

size_t wire_cipher_encode(const struct wire_cipher *c, int with_tag, void *buf, size_t max)
{
	uint8_t *p = buf;

	if (!lengths_ok(c) || max < fixed_len(c, with_tag) || c->aad_len > max - fixed_len(c, with_tag))
		return 0;
	memset(p, 0, CIPHER_HEAD);
	PUT8(p, nvme_accel_cipher, key_len, (uint8_t)c->key_len);
	PUT8(p, nvme_accel_cipher, iv_len, (uint8_t)c->iv_len);
	PUT8(p, nvme_accel_cipher, tag_len, (uint8_t)c->tag_len);
	PUT32(p, nvme_accel_cipher, aad_len, c->aad_len);
	p = append(p + CIPHER_HEAD, c->key, c->key_len);
	p = append(p, c->iv, c->iv_len);
	p = append(p, c->tag, with_tag ? c->tag_len : 0);
	p = append(p, c->aad, c->aad_len);
	return (size_t)(p - (uint8_t *)buf);
}

enum wire_err wire_cipher_decode(struct wire_cipher *c, int with_tag, const void *param, size_t len)
{
	const uint8_t *p = param;

	memset(c, 0, sizeof(*c));
	if (len < CIPHER_HEAD)
		return WIRE_LENGTH;
	if (GET8(p, nvme_accel_cipher, rsvd3))
		return WIRE_RESERVED;
	c->key_len = GET8(p, nvme_accel_cipher, key_len);
	c->iv_len = GET8(p, nvme_accel_cipher, iv_len);
	c->tag_len = GET8(p, nvme_accel_cipher, tag_len);
	c->aad_len = GET32(p, nvme_accel_cipher, aad_len);
	if (!lengths_ok(c))
		return WIRE_RANGE;
	if (len < fixed_len(c, with_tag) || c->aad_len != len - fixed_len(c, with_tag))
		return WIRE_LENGTH;
	c->key = p + CIPHER_HEAD;
	c->iv = c->key + c->key_len;
	if (with_tag)
		c->tag = c->iv + c->iv_len;
	c->aad = p + fixed_len(c, with_tag);
	return WIRE_OK;
}
