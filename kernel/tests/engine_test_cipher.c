// SPDX-License-Identifier: GPL-2.0-only
/* Ciphers against published vectors and against the crypto API's generic implementations. */
#include <crypto/aead.h>
#include <crypto/skcipher.h>
#include <linux/kernel.h>	/* hex2bin() */
#include "engine_test.h"
#include "../../lib/engine/cipher.h"

#define TEXT "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
	     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define AAD "feedfacedeadbeeffeedfacedeadbeefabaddad2"

/* Test cases 4, 5 and 6 of the paper that defines GCM, and an IV for which the counter's last word overflows at once. */
static const struct {
	const char *iv, *text, *tag;
} vectors[] = {
	{ "cafebabefacedbaddecaf888",
	  "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
	  "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091", "5bc94fbc3221a5db94fae95ae7121a47" },
	{ "cafebabefacedbad",
	  "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
	  "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598", "3612d2e79e3b0785561be14aaca2fccb" },
	{ "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57"
	  "a637b39b",
	  "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
	  "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5", "619cc5aefffe0bfa462af43c1699d050" },
	{ "190dd3a29e5c35bf37f22b610fa0798b",
	  "501ccf43707610a31e67f338e03b6477be13a0df8d1fa7c46dcca8f34e1db5d0"
	  "c6513adfb53bd6d3f9c0ff09e673e51941916a7ae7b7681ef99cc349", "3001b2eb807a5d13762733662d5af129" },
};

static size_t hex(u8 *p, const char *text)
{
	size_t n = strlen(text) / 2;

	return hex2bin(p, text, n) ? 0 : n;
}

/* arg0: how much of the input's head is additional data. */
static void run(struct t *t, struct job *job, bool encrypt, u16 alg, const struct wire_cipher *c, u32 arg0, u64 arg1,
		const u8 *in, size_t n)
{
	u8 *param = kmalloc(2048, GFP_KERNEL);

	t_scatter(t, &t->in, in, n);
	t_scatter(t, &t->out, NULL, n + 100);
	t_job(t, job, n, n);
	job->stage[0] = (struct job_stage){
		.op = encrypt ? NVME_ACCEL_OP_ENCRYPT : NVME_ACCEL_OP_DECRYPT, .alg = alg, .arg0 = arg0, .arg1 = arg1,
		.param = param, .param_len = wire_cipher_encode(c, !encrypt && c->tag_len, param, 2048),
	};
	kengine_run(t->th, job);
	kfree(param);
}

void test_gcm_vectors(struct t *t)
{
	u8 key[16], iv[64], aad[20], tag[16], text[64];
	struct wire_cipher c = { .key = key, .iv = iv, .tag = tag, .aad = aad, .key_len = 16, .tag_len = 16, .aad_len = 20 };
	unsigned int i;
	struct job job;
	size_t n;

	hex(key, "feffe9928665731c6d6a8f9467308308");
	hex(aad, AAD);
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		n = hex(text, TEXT);
		hex(t->want, vectors[i].text);
		hex(tag, vectors[i].tag);
		c.iv_len = hex(iv, vectors[i].iv);
		run(t, &job, true, NVME_ACCEL_ALG_AES_GCM, &c, 0, 0, text, n);
		t_gather(&t->out, t->got, n);
		t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && !memcmp(t->got, t->want, n));
		t_check(t, job.result_len[0] == 16 && !memcmp(job.result[0], tag, 16));
		run(t, &job, false, NVME_ACCEL_ALG_AES_GCM, &c, 0, 0, t->want, n);
		t_gather(&t->out, t->got, n);
		t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && !memcmp(t->got, text, n));
		tag[15] ^= 1;
		run(t, &job, false, NVME_ACCEL_ALG_AES_GCM, &c, 0, 0, t->want, n);
		t_check(t, job.code == NVME_ACCEL_AUTH_FAILED && !job.out_len && t_untouched(&t->out, 0, n));
	}
}

/* By the generic driver: additional data, text and tag lie in p, and are replaced there. */
static int generic_gcm(const struct wire_cipher *c, u8 *p, size_t aad, size_t n)
{
	struct crypto_aead *tfm = crypto_alloc_aead("gcm_base(ctr(aes-generic),ghash-generic)", 0, CRYPTO_ALG_ASYNC);
	struct scatterlist *sg = NULL;
	struct aead_request *req;
	unsigned int max = 0, used = 0;
	DECLARE_CRYPTO_WAIT(wait);
	u8 iv[16];
	int rc;

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	req = aead_request_alloc(tfm, GFP_KERNEL);
	memcpy(iv, c->iv, 12);
	rc = req ? 0 : -ENOMEM;
	rc = rc ?: crypto_aead_setkey(tfm, c->key, c->key_len) ?: crypto_aead_setauthsize(tfm, c->tag_len) ?:
	     kreq_add_flat(&sg, &max, &used, p, aad + n + c->tag_len);
	if (!rc) {
		kreq_end(sg, used);
		aead_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
		aead_request_set_ad(req, aad);
		aead_request_set_crypt(req, sg, sg, n, iv);
		rc = crypto_wait_req(crypto_aead_encrypt(req), &wait);
	}
	aead_request_free(req);
	crypto_free_aead(tfm);
	kvfree(sg);
	return rc;
}

/* Any lengths; additional data in the parameters and in the input. */
void test_gcm(struct t *t)
{
	size_t n = t_below(t, t_rnd(t) % 4 ? 5000 : 200000), aad = t_below(t, 300), lead = t_below(t, 2) * t_below(t, 3000);
	u8 key[32], iv[128], tag[16], *d = t->data;
	struct wire_cipher c = { .key = key, .iv = iv, .tag = tag, .aad = d, .aad_len = aad,
				 .key_len = t_below(t, 2) ? 16 : 32, .tag_len = 12 + t_below(t, 5) };
	struct job job;

	t_fill(t, key, sizeof(key), 0);
	t_fill(t, iv, sizeof(iv), 0);
	t_fill(t, d, aad + lead + n, 0);
	c.iv_len = t_below(t, 2) ? 12 : 1 + t_below(t, 128);
	run(t, &job, true, NVME_ACCEL_ALG_AES_GCM, &c, lead, 0, d + aad, lead + n);
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && job.result_len[0] == c.tag_len))
		return;
	t_check(t, t_untouched(&t->out, n, lead + 100));
	memcpy(t->want, d + aad, lead);
	t_gather(&t->out, t->want + lead, n);
	memcpy(tag, job.result[0], 16);
	if (c.iv_len == 12) {
		memcpy(t->got, d, aad + lead + n);
		t_check(t, !generic_gcm(&c, t->got, aad + lead, n));
		t_check(t, !memcmp(t->got + aad + lead, t->want + lead, n) &&
			   !memcmp(t->got + aad + lead + n, tag, c.tag_len));
	}
	run(t, &job, false, NVME_ACCEL_ALG_AES_GCM, &c, lead, 0, t->want, lead + n);
	t_gather(&t->out, t->got, n);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && !memcmp(t->got, d + aad + lead, n));
	if (lead + n)
		t->want[t_below(t, lead + n)] ^= 1;
	else
		tag[0] ^= 1;
	run(t, &job, false, NVME_ACCEL_ALG_AES_GCM, &c, lead, 0, t->want, lead + n);
	t_check(t, job.code == NVME_ACCEL_AUTH_FAILED && !job.out_len && t_untouched(&t->out, 0, lead + n + 100));
}

static int generic_skcipher(const char *name, const struct wire_cipher *c, u8 *p, size_t n, u8 *iv)
{
	struct crypto_skcipher *tfm = crypto_alloc_skcipher(name, 0, CRYPTO_ALG_ASYNC);
	struct scatterlist *sg = NULL;
	struct skcipher_request *req;
	unsigned int max = 0, used = 0;
	DECLARE_CRYPTO_WAIT(wait);
	int rc;

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	req = skcipher_request_alloc(tfm, GFP_KERNEL);
	rc = req ? crypto_skcipher_setkey(tfm, c->key, c->key_len) : -ENOMEM;
	rc = rc ?: kreq_add_flat(&sg, &max, &used, p, n);
	if (!rc && n) {
		kreq_end(sg, used);
		skcipher_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
		skcipher_request_set_crypt(req, sg, sg, n, iv);
		rc = crypto_wait_req(crypto_skcipher_encrypt(req), &wait);
	}
	skcipher_request_free(req);
	crypto_free_skcipher(tfm);
	kvfree(sg);
	return rc;
}

static void reference(struct t *t, bool xts, const struct wire_cipher *c, size_t n, size_t unit)
{
	u8 tweak[16], iv[16];
	size_t at, len;
	int rc = 0;

	memcpy(tweak, c->iv, 16);
	for (at = 0; at < n && !rc; at += len) {
		len = min(n - at, unit);
		memcpy(iv, tweak, 16);
		rc = generic_skcipher(xts ? "xts(ecb(aes-generic))" : "ctr(aes-generic)", c, t->want + at, len, iv);
		cipher_tweak_next(tweak);
	}
	t_check(t, !rc);
}

void test_skcipher(struct t *t)
{
	bool xts = t_below(t, 2), small = t_below(t, 2);
	size_t n = t_below(t, 50000), unit = n;
	u8 key[64], iv[16];
	struct wire_cipher c = { .key = key, .iv = iv, .iv_len = 16 };
	u16 alg = xts ? NVME_ACCEL_ALG_AES_XTS : NVME_ACCEL_ALG_AES_CTR;
	struct job job;

	t_fill(t, key, sizeof(key), 0);
	t_fill(t, iv, sizeof(iv), 0);
	if (t_below(t, 2))
		memset(iv + 1, 0xff, 15);
	c.key_len = (t_below(t, 2) ? 16 : 32) << xts;
	if (xts)
		n = max_t(size_t, n, 16);
	unit = n;
	if (xts && small) {
		unit = 16 + t_below(t, 5000);
		n = n / unit * unit + (n % unit >= 16 ? n % unit : 0);
	}
	t_fill(t, t->data, n, 0);
	memcpy(t->want, t->data, n);
	run(t, &job, true, alg, &c, 0, xts && small ? unit : 0, t->data, n);
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && t_untouched(&t->out, n, 100)))
		return;
	t_gather(&t->out, t->got, n);
	reference(t, xts, &c, n, unit);
	t_check(t, !memcmp(t->got, t->want, n));
	run(t, &job, false, alg, &c, 0, xts && small ? unit : 0, t->want, n);
	t_gather(&t->out, t->got, n);
	t_check(t, job.code == NVME_ACCEL_OK && !memcmp(t->got, t->data, n));
	if (xts) {
		memcpy(key + c.key_len / 2, key, c.key_len / 2);
		run(t, &job, true, alg, &c, 0, 0, t->data, n);
		t_check(t, job.code == NVME_ACCEL_BAD_PARAM);
	}
}
