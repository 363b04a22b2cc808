// SPDX-License-Identifier: BSD-2-Clause
/*
 * Published vectors (NIST CAVP and others) as Debian's python3-cryptography-vectors ships them, every one
 * through every implementation. What the interface does not offer must be refused, and is counted.
 */
#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include "engine_util.h"

#define ROOT "/usr/lib/python3/dist-packages/cryptography_vectors/"

static struct engine_thread *t;

static int setup(void **state)
{
	(void)state;
	t = engine_thread_new();
	return t ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	engine_thread_free(t);
	return 0;
}

struct field {
	char name[24];
	uint8_t *bytes;
	size_t n;
	char word[24];		/* the value as it stands, cut */
};

#define NFIELD 16

/* Lines "Name = hex" from one that begins a record up to the next such line. */
struct record {
	struct field field[NFIELD];
	unsigned int nfield;
	int fail;		/* a line "FAIL" was among them */
	char section[24];	/* the last "[WORD]" above it */
};

/* What came of the records of some files. */
struct tally {
	unsigned int good, refused;
};

typedef void (*record_fn)(const struct record *r, struct tally *tally);

static const struct field *get(const struct record *r, const char *name)
{
	static const struct field none = { .n = 0 };
	unsigned int i;

	for (i = 0; i < r->nfield; i++)
		if (strcasecmp(r->field[i].name, name) == 0)
			return &r->field[i];
	return &none;
}

static void store(struct record *r, const char *name, const char *value)
{
	struct field *f = &r->field[r->nfield];
	size_t i, len = strlen(value);
	unsigned int byte;

	assert_true(r->nfield < NFIELD);
	r->nfield++;
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(f->word, sizeof(f->word), "%.23s", value);
	f->n = 0;
	f->bytes = malloc(len / 2 + 1);
	assert_non_null(f->bytes);
	for (i = 0; i + 1 < len && sscanf(value + i, "%2x", &byte) == 1; i += 2)
		f->bytes[f->n++] = (uint8_t)byte;
}

static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
		s[n - 1] = 0;
	return s;
}

static void flush(struct record *r, record_fn fn, struct tally *tally)
{
	if (r->nfield)
		fn(r, tally);
	while (r->nfield)
		free(r->field[--r->nfield].bytes);
	r->fail = 0;
}

static void one_line(struct record *r, char *s, const char *begins, record_fn fn, struct tally *tally)
{
	char *eq = strchr(s, '=');

	if (*s == '#')
		return;
	if (*s == '[') {
		flush(r, fn, tally);
		s[strcspn(s, "]")] = 0;
		if (!eq)
			snprintf(r->section, sizeof(r->section), "%.23s", s + 1);
		return;
	}
	if (strcmp(s, "FAIL") == 0)
		r->fail = 1;
	if (!eq)
		return;
	*eq = 0;
	if (strcasecmp(trim(s), begins) == 0)
		flush(r, fn, tally);
	store(r, trim(s), trim(eq + 1));
}

static void run_file(const char *path, const char *begins, record_fn fn, struct tally *tally)
{
	struct record r = { .nfield = 0 };
	char full[256], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(full, sizeof(full), ROOT "%s", path);
	f = fopen(full, "r");
	if (!f)
		fail_msg("%s: %s", full, strerror(errno));
	while (getline(&line, &room, f) >= 0)
		one_line(&r, trim(line), begins, fn, tally);
	flush(&r, fn, tally);
	free(line);
	fclose(f);
}

static void report(const char *what, const struct tally *tally, const char *why)
{
	printf("# %s: %u right%s", what, tally->good, tally->refused ? "" : "\n");
	if (tally->refused)
		printf(", %u refused: %s\n", tally->refused, why);
}

/* Runs a cipher stage by one entry; the output stands in out, the tag of an encryption in tag. */
static uint32_t cipher(const struct engine_fn *fn, struct wire_cipher *c, uint64_t arg1, const uint8_t *in,
		       size_t n, uint8_t *out, uint8_t *tag)
{
	uint8_t param[8 + 64 + 256 + 16 + 512];
	struct iovec iov[2];
	struct job job = eu_job(iov, fn->op, fn->alg, in, n, out, n);
	int with_tag = fn->op == NVME_ACCEL_OP_DECRYPT && c->tag_len;
	/* By hand: wire_cipher_encode() would refuse what the engine has to refuse. */
	uint8_t *p = param;

	assert_true(c->aad_len <= 512 && c->iv_len <= 255 && c->key_len <= 64);
	memset(p, 0, 8);
	p[0] = (uint8_t)c->key_len;
	p[1] = (uint8_t)c->iv_len;
	p[2] = (uint8_t)c->tag_len;
	le32_put(p + 4, c->aad_len);
	p += 8;
	memcpy(p, c->key, c->key_len);
	p += c->key_len;
	memcpy(p, c->iv, c->iv_len);
	p += c->iv_len;
	if (with_tag)
		memcpy(p, c->tag, c->tag_len);
	p += with_tag ? c->tag_len : 0;
	if (c->aad_len)
		memcpy(p, c->aad, c->aad_len);
	job.stage[0].param = param;
	job.stage[0].param_len = (uint32_t)(p + c->aad_len - param);
	job.stage[0].arg1 = arg1;
	engine_run_fn(t, fn, &job);
	if (tag && job.code == NVME_ACCEL_OK) {
		assert_int_equal(job.result_len[0], c->tag_len);
		memcpy(tag, job.result[0], c->tag_len);
	}
	return job.code;
}

/* A vector of an AEAD through all entries: both ways if it is a good one, refused if it must not open. */
static void aead(uint16_t alg, struct wire_cipher *c, const uint8_t *pt, const uint8_t *ct, size_t n,
		 int must_fail, int possible, struct tally *tally)
{
	uint8_t out[1024 + 1], tag[16];
	const struct engine_fn *fn;
	uint32_t code;
	unsigned int i;

	assert_true(n <= 1024);
	for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_DECRYPT, alg, i)); i++) {
		memset(out, 0xa5, sizeof(out));
		code = cipher(fn, c, 0, ct, n, out, NULL);
		if (strcmp(fn->name, "clmul") == 0 && c->iv_len != 12) {
			assert_int_equal(code, NVME_ACCEL_BAD_PARAM);	/* not its business */
			continue;
		}
		if (!possible) {
			assert_int_equal(code, NVME_ACCEL_BAD_PARAM);
			continue;
		}
		assert_int_equal(code, must_fail ? NVME_ACCEL_AUTH_FAILED : NVME_ACCEL_OK);
		assert_int_equal(out[n], 0xa5);
		if (must_fail) {
			assert_true(out[0] == 0xa5 && !memcmp(out, out + 1, n));
			continue;
		}
		assert_memory_equal(out, pt, n);
		code = cipher(eu_fn(NVME_ACCEL_OP_ENCRYPT, alg, i), c, 0, pt, n, out, tag);
		assert_int_equal(code, NVME_ACCEL_OK);
		assert_memory_equal(out, ct, n);
		assert_memory_equal(tag, c->tag, c->tag_len);
	}
	assert_true(i >= 2);
	tally->good += possible;
	tally->refused += !possible;
}

static void wire(struct wire_cipher *c, const struct record *r, const char *iv)
{
	*c = (struct wire_cipher){
		.key = get(r, "Key")->bytes, .key_len = (uint32_t)get(r, "Key")->n,
		.iv = get(r, iv)->bytes, .iv_len = (uint32_t)get(r, iv)->n,
		.aad = get(r, "AAD")->bytes, .aad_len = (uint32_t)get(r, "AAD")->n,
		.tag = get(r, "Tag")->bytes, .tag_len = (uint32_t)get(r, "Tag")->n,
	};
}

static void gcm_record(const struct record *r, struct tally *tally)
{
	struct wire_cipher c;

	wire(&c, r, "IV");
	aead(NVME_ACCEL_ALG_AES_GCM, &c, get(r, "PT")->bytes, get(r, "CT")->bytes, get(r, "CT")->n, r->fail,
	     c.key_len != 24 && c.tag_len >= 12, tally);
}

static void gcm(void **state)
{
	static const char *const files[] = { "gcmDecrypt128", "gcmDecrypt192", "gcmDecrypt256",
					     "gcmEncryptExtIV128", "gcmEncryptExtIV192", "gcmEncryptExtIV256" };
	struct tally tally = { 0, 0 };
	char path[64];
	unsigned int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "ciphers/AES/GCM/%s.rsp", files[i]);
		run_file(path, "Count", gcm_record, &tally);
	}
	report("AES-GCM", &tally, "keys of 192 bits, tags below 12 bytes");
	assert_int_equal(tally.good + tally.refused, 47250);
	assert_int_equal(tally.good, 22500);
}

static void xts_record(const struct record *r, struct tally *tally)
{
	const struct field *pt = get(r, "PT"), *ct = get(r, "CT"), *seq = get(r, "DataUnitSeqNumber");
	const struct engine_fn *fn;
	uint8_t out[1024], iv[16] = { 0 };
	struct wire_cipher c;
	unsigned int i;

	wire(&c, r, "i");
	if (seq->word[0]) {
		le64_put(iv, strtoull(seq->word, NULL, 10));
		c.iv = iv;
		c.iv_len = 16;
	}
	if (strtoul(get(r, "DataUnitLen")->word, NULL, 10) % 8) {
		tally->refused++;
		return;
	}
	for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_XTS, i)); i++) {
		assert_int_equal(cipher(fn, &c, 0, pt->bytes, pt->n, out, NULL), NVME_ACCEL_OK);
		assert_memory_equal(out, ct->bytes, ct->n);
		fn = eu_fn(NVME_ACCEL_OP_DECRYPT, NVME_ACCEL_ALG_AES_XTS, i);
		assert_int_equal(cipher(fn, &c, 0, ct->bytes, ct->n, out, NULL), NVME_ACCEL_OK);
		assert_memory_equal(out, pt->bytes, pt->n);
	}
	tally->good++;
}

static void xts(void **state)
{
	static const char *const files[] = {
		"tweak-128hexstr/XTSGenAES128", "tweak-128hexstr/XTSGenAES256",
		"tweak-dataunitseqno/XTSGenAES128", "tweak-dataunitseqno/XTSGenAES256",
	};
	struct tally tally = { 0, 0 };
	char path[96];
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "ciphers/AES/XTS/%s.rsp", files[i]);
		run_file(path, "COUNT", xts_record, &tally);
	}
	report("AES-XTS", &tally, "not whole bytes, which no descriptor can say");
	assert_true(tally.good >= 1000);
}

static void ctr_record(const struct record *r, struct tally *tally)
{
	const struct field *pt = get(r, "PLAINTEXT"), *ct = get(r, "CIPHERTEXT");
	struct wire_cipher c;
	uint8_t out[1024];
	unsigned int i;

	wire(&c, r, "IV");
	for (i = 0; i < 2; i++) {
		const struct engine_fn *fn = eu_fn(NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_CTR, i);

		if (c.key_len == 24) {
			assert_int_equal(cipher(fn, &c, 0, pt->bytes, pt->n, out, NULL), NVME_ACCEL_BAD_PARAM);
			continue;
		}
		assert_int_equal(cipher(fn, &c, 0, pt->bytes, pt->n, out, NULL), NVME_ACCEL_OK);
		assert_memory_equal(out, ct->bytes, ct->n);
	}
	tally->good += c.key_len != 24;
	tally->refused += c.key_len == 24;
}

static void ctr(void **state)
{
	struct tally tally = { 0, 0 };

	(void)state;
	run_file("ciphers/AES/CTR/aes-128-ctr.txt", "COUNT", ctr_record, &tally);
	run_file("ciphers/AES/CTR/aes-192-ctr.txt", "COUNT", ctr_record, &tally);
	run_file("ciphers/AES/CTR/aes-256-ctr.txt", "COUNT", ctr_record, &tally);
	report("AES-CTR", &tally, "keys of 192 bits");
	assert_true(tally.good >= 6);
}

static void chacha_record(const struct record *r, struct tally *tally)
{
	struct wire_cipher c;

	wire(&c, r, "IV");
	aead(NVME_ACCEL_ALG_CHACHA20_POLY1305, &c, get(r, "Plaintext")->bytes, get(r, "Ciphertext")->bytes,
	     get(r, "Ciphertext")->n, get(r, "Result")->word[0] == 'C', c.iv_len == 12 && c.tag_len >= 12, tally);
}

static void chacha(void **state)
{
	struct tally tally = { 0, 0 };

	(void)state;
	run_file("ciphers/ChaCha20Poly1305/openssl.txt", "COUNT", chacha_record, &tally);
	report("ChaCha20-Poly1305", &tally, "nonces that are not 12 bytes");
	assert_true(tally.good >= 5);
}

static void hash(const struct engine_fn *fn, const uint8_t *msg, size_t n, uint8_t result[64])
{
	struct iovec iov[2];
	struct job job = eu_job(iov, fn->op, fn->alg, msg, n, NULL, 0);

	engine_run_fn(t, fn, &job);
	assert_int_equal(job.code, NVME_ACCEL_OK);
	memcpy(result, job.long_result[0], 64);
}

static void hash_record(uint16_t alg, const struct record *r, struct tally *tally)
{
	const struct field *md = get(r, "MD");
	size_t n = strtoul(get(r, "Len")->word, NULL, 10) / 8;
	const struct engine_fn *fn;
	uint8_t result[64];
	unsigned int i;

	if (!md->n)
		return;
	assert_true(n <= get(r, "Msg")->n || !n);
	for (i = 0; (fn = eu_fn(NVME_ACCEL_OP_DIGEST, alg, i)); i++) {
		hash(fn, get(r, "Msg")->bytes, n, result);
		assert_memory_equal(result, md->bytes, md->n);
	}
	tally->good++;
}

#define HASH(name, alg)                                                                                      \
	static void name(const struct record *r, struct tally *tally)                                        \
	{                                                                                                    \
		hash_record(alg, r, tally);                                                                  \
	}
HASH(sha256, NVME_ACCEL_ALG_SHA256)
HASH(sha512, NVME_ACCEL_ALG_SHA512)
HASH(sha3_256, NVME_ACCEL_ALG_SHA3_256)
HASH(blake2b, NVME_ACCEL_ALG_BLAKE2B)

static void digests(void **state)
{
	static const struct { const char *path; record_fn fn; } files[] = {
		{ "SHA2/SHA256ShortMsg.rsp", sha256 },	   { "SHA2/SHA256LongMsg.rsp", sha256 },
		{ "SHA2/SHA512ShortMsg.rsp", sha512 },	   { "SHA2/SHA512LongMsg.rsp", sha512 },
		{ "SHA3/SHA3_256ShortMsg.rsp", sha3_256 }, { "SHA3/SHA3_256LongMsg.rsp", sha3_256 },
		{ "blake2/blake2b.txt", blake2b },
	};
	struct tally tally;
	char path[64];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		tally = (struct tally){ 0, 0 };
		snprintf(path, sizeof(path), "hashes/%s", files[i].path);
		run_file(path, "Len", files[i].fn, &tally);
		report(files[i].path, &tally, "");
		assert_true(tally.good > 0);
	}
}

/* The Monte Carlo test: a thousand digests a value, each of what came before. */
static struct {
	uint16_t alg;
	int sha3;
	uint8_t last[64];
} monte;

static void monte_record(const struct record *r, struct tally *tally)
{
	const struct engine_fn *fn = eu_fn(NVME_ACCEL_OP_DIGEST, monte.alg, tally->good & 1);
	size_t n = monte.alg == NVME_ACCEL_ALG_SHA512 ? 64 : 32;
	uint8_t md[3][64], msg[192];
	unsigned int i;

	if (get(r, "Seed")->n)
		memcpy(monte.last, get(r, "Seed")->bytes, n);
	if (!get(r, "MD")->n)
		return;
	for (i = 0; i < 3; i++)
		memcpy(md[i], monte.last, n);
	for (i = 0; i < 1000; i++) {
		memcpy(msg, md[0], n);
		memcpy(msg + n, md[1], n);
		memcpy(msg + 2 * n, md[2], n);
		memcpy(md[0], md[1], n);
		memcpy(md[1], md[2], n);
		hash(fn, monte.sha3 ? msg + 2 * n : msg, monte.sha3 ? n : 3 * n, md[2]);
	}
	assert_memory_equal(md[2], get(r, "MD")->bytes, n);
	memcpy(monte.last, md[2], n);
	tally->good++;
}

static void monte_carlo(void **state)
{
	static const struct { const char *path; uint16_t alg; } files[] = {
		{ "hashes/SHA2/SHA256Monte.rsp", NVME_ACCEL_ALG_SHA256 },
		{ "hashes/SHA2/SHA512Monte.rsp", NVME_ACCEL_ALG_SHA512 },
		{ "hashes/SHA3/SHA3_256Monte.rsp", NVME_ACCEL_ALG_SHA3_256 },
	};
	struct tally tally;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		tally = (struct tally){ 0, 0 };
		monte.alg = files[i].alg;
		monte.sha3 = monte.alg == NVME_ACCEL_ALG_SHA3_256;
		run_file(files[i].path, "COUNT", monte_record, &tally);
		report(files[i].path, &tally, "");
		assert_int_equal(tally.good, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcm),	   cmocka_unit_test(xts),     cmocka_unit_test(ctr),
		cmocka_unit_test(chacha),  cmocka_unit_test(digests), cmocka_unit_test(monte_carlo),
	};

	/* cmocka says "not ok" of a test that it skips. */
	if (access(ROOT, R_OK) != 0) {
		printf("1..1\nok 1 - published vectors # SKIP python3-cryptography-vectors is not installed\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
