// SPDX-License-Identifier: BSD-2-Clause
/* The cipher family's oracle: modes in plain C over the primitives in plain C. */
#include <openssl/crypto.h>
#include "cipher.h"
#include "cipher_plain.h"

/* One running job. Everything is fed in blocks of sixteen, whatever the lists look like. */
struct plain {
	const struct cipher_req *r;
	struct plain_aes aes, tweak_aes;
	struct plain_ghash ghash;
	struct plain_poly1305 poly;
	uint8_t counter[16];		/* GCM and CTR: the next block's */
	uint8_t first[16];		/* GCM: encrypted, what masks the tag */
	uint8_t stream[64];
	uint32_t block;			/* ChaCha20: the next one's number */
};

static void be64_put(uint8_t *p, uint64_t v)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
}

/* Adds one to the last n bytes, big endian. */
static void count(uint8_t *counter, unsigned int n)
{
	unsigned int i;

	for (i = 15; i >= 16 - n && ++counter[i] == 0 && i > 0; i--)
		;
}

static void gcm_start(struct plain *c)
{
	const struct wire_cipher *p = &c->r->p;
	uint8_t lengths[16] = { 0 };
	uint32_t i;

	plain_aes_key(&c->aes, p->key, p->key_len);
	plain_aes_encrypt(&c->aes, c->ghash.h, c->ghash.h);
	if (p->iv_len == 12) {
		memcpy(c->counter, p->iv, 12);
		c->counter[15] = 1;
	} else {
		for (i = 0; i < p->iv_len; i += 16)
			plain_ghash_block(&c->ghash, p->iv + i, BASE_MIN(p->iv_len - i, 16u));
		be64_put(lengths + 8, (uint64_t)p->iv_len * 8);
		plain_ghash_block(&c->ghash, lengths, 16);
		memcpy(c->counter, c->ghash.y, 16);
		memset(c->ghash.y, 0, 16);
	}
	plain_aes_encrypt(&c->aes, c->counter, c->first);
	count(c->counter, 4);
}

static void start(struct plain *c)
{
	const struct wire_cipher *p = &c->r->p;

	switch (c->r->alg) {
	case NVME_ACCEL_ALG_AES_GCM:
		gcm_start(c);
		break;
	case NVME_ACCEL_ALG_AES_XTS:
		plain_aes_key(&c->aes, p->key, p->key_len / 2);
		plain_aes_key(&c->tweak_aes, p->key + p->key_len / 2, p->key_len / 2);
		break;
	case NVME_ACCEL_ALG_AES_CTR:
		plain_aes_key(&c->aes, p->key, p->key_len);
		memcpy(c->counter, p->iv, 16);
		break;
	default:
		plain_chacha20(p->key, 0, p->iv, c->stream);
		plain_poly1305_key(&c->poly, c->stream);
		c->block = 1;
	}
}

/* The authenticator's next block, n of its bytes given. */
static void authenticate(struct plain *c, const uint8_t *p, size_t n)
{
	uint8_t full[16] = { 0 };

	if (!c->r->aead)
		return;
	memcpy(full, p, n);
	if (c->r->alg == NVME_ACCEL_ALG_AES_GCM)
		plain_ghash_block(&c->ghash, full, 16);
	else
		plain_poly1305_block(&c->poly, full);
}

/* Sixteen bytes of key stream for the text's block number i. */
static const uint8_t *key_stream(struct plain *c, uint64_t i)
{
	if (c->r->alg == NVME_ACCEL_ALG_CHACHA20_POLY1305) {
		if (i % 4 == 0)
			plain_chacha20(c->r->p.key, c->block++, c->r->p.iv, c->stream);
		return c->stream + 16 * (i % 4);
	}
	plain_aes_encrypt(&c->aes, c->counter, c->stream);
	count(c->counter, c->r->alg == NVME_ACCEL_ALG_AES_GCM ? 4 : 16);
	return c->stream;
}

static void text(struct plain *c, struct iov_pos *in, struct iov_pos *out)
{
	uint8_t src[16], dst[16];
	const uint8_t *key;
	uint64_t done;
	size_t n, i;

	for (done = 0; done < c->r->text_len; done += n) {
		n = BASE_MIN(c->r->text_len - done, (uint64_t)16);
		iov_read(in, src, n);
		key = key_stream(c, done / 16);
		for (i = 0; i < n; i++)
			dst[i] = src[i] ^ key[i];
		authenticate(c, c->r->encrypt ? dst : src, n);
		iov_write(out, dst, n);
	}
}

/* What stands in the parameters first, then what leads the input, as one string. */
static void aad(struct plain *c, struct iov_pos *in)
{
	const struct wire_cipher *p = &c->r->p;
	struct base_iov head = { (void *)(uintptr_t)p->aad, p->aad_len };
	struct iov_pos pos = { &head, 1, 0 };
	uint64_t left = c->r->aad_lead;
	uint8_t b[16];
	size_t n;

	for (;;) {
		n = iov_read(&pos, b, 16);
		if (n < 16 && left) {
			size_t more = iov_read(in, b + n, (size_t)BASE_MIN(left, (uint64_t)(16 - n)));

			left -= more;
			n += more;
		}
		if (!n)
			return;
		authenticate(c, b, n);
	}
}

static void make_tag(struct plain *c, uint8_t *tag)
{
	uint64_t naad = c->r->p.aad_len + c->r->aad_lead;
	uint8_t lengths[16];
	unsigned int i;

	if (c->r->alg == NVME_ACCEL_ALG_AES_GCM) {
		be64_put(lengths, naad * 8);
		be64_put(lengths + 8, c->r->text_len * 8);
		plain_ghash_block(&c->ghash, lengths, 16);
		for (i = 0; i < 16; i++)
			tag[i] = c->ghash.y[i] ^ c->first[i];
		return;
	}
	le64_put(lengths, naad);
	le64_put(lengths + 8, c->r->text_len);
	plain_poly1305_block(&c->poly, lengths);
	plain_poly1305_tag(&c->poly, tag);
}

static void xts_block(struct plain *c, const uint8_t *tweak, const uint8_t *in, uint8_t *out)
{
	uint8_t b[16];
	unsigned int i;

	for (i = 0; i < 16; i++)
		b[i] = in[i] ^ tweak[i];
	if (c->r->encrypt)
		plain_aes_encrypt(&c->aes, b, b);
	else
		plain_aes_decrypt(&c->aes, b, b);
	for (i = 0; i < 16; i++)
		out[i] = b[i] ^ tweak[i];
}

static void xts_double(uint8_t *tweak)
{
	unsigned int i, c = 0, next;

	for (i = 0; i < 16; i++, c = next) {
		next = tweak[i] >> 7;
		tweak[i] = (uint8_t)(tweak[i] << 1 | c);
	}
	tweak[0] ^= c ? 0x87 : 0;
}

/* The last full block and the rest swap their ciphertexts; a decryption meets the tweaks in turned order. */
static void xts_steal(struct plain *c, uint8_t *tweak, const uint8_t *in, uint8_t *out, size_t rest)
{
	uint8_t later[16], mixed[16], b[16];

	memcpy(later, tweak, 16);
	xts_double(later);
	xts_block(c, c->r->encrypt ? tweak : later, in, b);
	memcpy(mixed, in + 16, rest);
	memcpy(mixed + rest, b + rest, 16 - rest);
	memcpy(out + 16, b, rest);
	xts_block(c, c->r->encrypt ? later : tweak, mixed, out);
}

static void xts_unit(struct plain *c, const uint8_t iv[16], const struct cipher_unit *u)
{
	size_t rest = u->n % 16, full = rest ? u->n / 16 - 1 : u->n / 16, i;
	uint8_t tweak[16];

	plain_aes_encrypt(&c->tweak_aes, iv, tweak);
	for (i = 0; i < full; i++) {
		xts_block(c, tweak, u->src + 16 * i, u->dst + 16 * i);
		xts_double(tweak);
	}
	if (rest)
		xts_steal(c, tweak, u->src + 16 * full, u->dst + 16 * full, rest);
}

static int xts(struct engine_thread *t, struct plain *c, struct iov_pos *in, struct iov_pos *out)
{
	uint64_t left = c->r->text_len;
	struct cipher_unit u;
	uint8_t iv[16];

	memcpy(iv, c->r->p.iv, 16);
	for (; left; left -= u.n) {
		if (!cipher_unit_get(t, &u, in, out, (size_t)BASE_MIN(left, c->r->unit)))
			return 0;
		xts_unit(c, iv, &u);
		cipher_unit_done(&u, out);
		cipher_tweak_next(iv);
	}
	return 1;
}

/* 0: the tag was wrong. */
static int finish(struct plain *c, unsigned int index, struct job *job)
{
	uint8_t tag[16];

	if (!c->r->aead)
		return 1;
	make_tag(c, tag);
	if (c->r->encrypt)
		engine_set_result(job, index, tag, c->r->p.tag_len);
	else if (CRYPTO_memcmp(tag, c->r->p.tag, c->r->p.tag_len) != 0)
		return 0;
	return 1;
}

void cipher_plain_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job)
{
	struct iov_pos in = { job->in, job->nin, 0 }, out;
	struct base_iov held;
	struct cipher_req r;
	struct plain c = { .r = &r };

	if (!cipher_parse(&r, stage, index, job) || !cipher_out(t, &r, index, job, &held, &out))
		return;
	start(&c);
	aad(&c, &in);
	if (r.alg != NVME_ACCEL_ALG_AES_XTS)
		text(&c, &in, &out);
	else if (!xts(t, &c, &in, &out))
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
	if (job->code == NVME_ACCEL_OK && !finish(&c, index, job))
		engine_fail(job, index, NVME_ACCEL_AUTH_FAILED);
	if (job->code == NVME_ACCEL_OK)
		cipher_release(&r, job, &held);
	OPENSSL_cleanse(&c, sizeof(c));
}
