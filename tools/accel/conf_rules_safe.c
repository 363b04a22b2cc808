/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections 2, 4, 8: strangers, leftovers, counters. */
#include "conf.h"
#include <openssl/evp.h>
#include <string.h>

enum { N = CONF_JOB_NBYTES };

static int still_claimed(struct conf *c, const char *what)
{
	struct nvme_accel_status st;
	int rc = CONF_PASS;

	for (uint64_t seq = 1; seq <= c->id.naliases && !rc; seq++) {
		rc = conf_status(c, seq, &st);
		if (!rc && st.state != NVME_ACCEL_ST_CLAIMED)
			rc = conf_fail(c, "%s: state %u", what, st.state);
	}
	return rc;
}

static int then_right(struct conf *c, uint64_t seq)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	conf_data(in, N, 51);
	rc = conf_job(c, seq, 0, in, N, &st);
	return rc ? rc : conf_right(c, seq, &st, in, N);
}

/* What a formatting tool or a copy writes: whatever becomes of the commands, no job starts. */
static int stray_slot(struct conf *c)
{
	uint8_t *p = c->buf;
	int rc = conf_begin(c);

	for (unsigned int kind = 0; kind < 3 && !rc; kind++) {
		if (kind == 2)
			conf_data(p, 16 * c->id.block, 52);
		else
			memset(p, kind ? 0xff : 0, 16 * c->id.block);
		for (uint64_t a = 0; a < c->id.naliases && !rc; a++) {
			int sc = conf_write(c, conf_addr(c, c->lease.slot, a, 0), p, 16 * c->id.block);

			/* No descriptor: refused. Only a path that failed ends the test here. */
			if (!sc)
				rc = conf_fail(c, "a write that begins with no descriptor succeeded");
			else if (sc < 0)
				rc = conf_must(c, sc, "writing to a slot");
		}
		if (!rc)
			rc = still_claimed(c, kind == 2 ? "garbage" : kind ? "ones" : "zeros");
	}
	return rc ? rc : then_right(c, 1);
}

/* Descriptors with a fault that makes them nobody's. */
static int broken(struct conf *c)
{
	static const struct {
		unsigned int at;
		uint8_t flip;
		const char *what;
	} faults[] = {
		{ 0, 1, "a wrong magic" }, { 4, 2, "another version" }, { 252, 1, "a wrong CRC" },
		{ 50, 4, "a flipped bit" }, { 8, 1, "a flipped bit of seq" }, { 255, 0x80, "a wrong CRC" },
	};
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint8_t in[N];
	int rc = conf_begin(c);

	conf_data(in, N, 53);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && !rc; i++) {
		conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
		block[faults[i].at] ^= faults[i].flip;
		if (i < 2)
			conf_desc_crc(block);
		rc = conf_must_fail(
			c, conf_write2(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block, in, N),
			CONF_SC_INVALID_FIELD, faults[i].what);
		if (!rc)
			rc = still_claimed(c, faults[i].what);
	}
	return rc ? rc : then_right(c, 1);
}

/* The next holder of the slots finds nothing of the one before. */
static int zeroed(struct conf *c)
{
	uint32_t slot, epoch;
	int rc = conf_begin(c);

	if (!rc)
		rc = then_right(c, 1);
	if (rc)
		return rc;
	slot = c->lease.slot;
	epoch = c->lease.epoch;
	rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_must(c, conf_read(c, conf_addr(c, slot, 1, 1) + c->id.block, c->buf, 2 * N),
			       "reading the output of a released slot");
	if (!rc && !bytes_are_zero(c->buf, 2 * N))
		rc = conf_fail(c, "the output outlives its lease");
	if (!rc)
		rc = conf_begin(c);
	if (!rc && c->lease.slot == slot && c->lease.epoch == epoch)
		rc = conf_fail(c, "the epoch did not change");
	if (!rc)
		rc = still_claimed(c, "a new lease");
	for (uint64_t seq = 0; seq < c->id.naliases && !rc; seq++) {
		rc = conf_must(c,
			       conf_read(c, conf_addr(c, c->lease.slot, seq, 1) + c->id.block, c->buf, 2 * N),
			       "reading the output of a new lease");
		if (!rc && !bytes_are_zero(c->buf, 2 * N))
			rc = conf_fail(c, "a new lease finds output of an old one");
	}
	return rc;
}

/* Input that waits at the end of a lease is not there for the next job. */
static int input_gone(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce EXPLICIT");
	rc = conf_begin(c);
	conf_data(in, N, 54);
	if (!rc)
		rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block, in, N),
			       "writing input");
	if (!rc)
		rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_begin(c);
	if (rc)
		return rc;
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT, N);
	rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block),
		       "writing a descriptor without input");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc && st.state != NVME_ACCEL_ST_LOADING)
		rc = conf_fail(c, "the job found the input of an old lease (state %u)", st.state);
	return rc;
}

static int stale_epoch(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint8_t in[N];
	uint64_t at;
	int rc = conf_begin(c);

	if (rc)
		return rc;
	conf_data(in, N, 55);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	at = conf_addr(c, c->lease.slot, 1, 0);
	rc = conf_lease_put(c, &c->lease);
	if (!rc)
		rc = conf_must_fail(c, conf_write2(c, at, block, c->id.block, in, N), CONF_SC_ACCESS_DENIED,
				    "a descriptor of a lease that has ended");
	return rc;
}

/* ---- A wrong tag releases nothing ---- */

static const uint8_t key[16] = "conformance key", iv[12] = "conf. nonce";

static bool seal_here(const uint8_t *plain, uint8_t *cipher, uint8_t tag[16])
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n, good;

	good = ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, iv) &&
	       EVP_EncryptUpdate(ctx, cipher, &n, plain, N) && EVP_EncryptFinal_ex(ctx, cipher + n, &n) &&
	       EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, 16, tag);
	EVP_CIPHER_CTX_free(ctx);
	return good;
}

static int decrypt(struct conf *c, uint64_t seq, const uint8_t *in, const uint8_t tag[16],
		   struct nvme_accel_status *st)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_desc *d = (struct nvme_accel_desc *)block;
	uint8_t *p = block + NVME_ACCEL_PARAM_OFF;
	int rc;

	conf_desc(c, block, seq, NVME_ACCEL_JOB_START, N);
	put_le(&d->out_max, 8, N);
	put_le(&d->stage[0].op, 2, NVME_ACCEL_OP_DECRYPT);
	put_le(&d->stage[0].alg, 2, NVME_ACCEL_ALG_AES_GCM);
	put_le(&d->stage[0].param_len, 2, 8 + 16 + 12 + 16);
	put_le(&d->param_len, 2, 8 + 16 + 12 + 16);
	p[0] = 16;
	p[1] = 12;
	p[2] = 16;
	memcpy(p + 8, key, 16);
	memcpy(p + 24, iv, 12);
	memcpy(p + 36, tag, 16);
	conf_desc_crc(block);
	rc = conf_must(c, conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, N),
		       "writing a decryption");
	return rc ? rc : conf_wait(c, seq, st);
}

static bool has_gcm(const struct conf *c)
{
	const struct nvme_accel_op *op = (const struct nvme_accel_op *)(c->page + NVME_ACCEL_OPS_OFF);

	for (uint32_t i = 0; i < c->id.nops && i < NVME_ACCEL_MAX_OPS; i++)
		if (get_le(&op[i].op, 2) == NVME_ACCEL_OP_DECRYPT &&
		    get_le(&op[i].alg, 2) == NVME_ACCEL_ALG_AES_GCM)
			return get_le(&op[i].key_bits_mask, 2) & 1 && get_le(&op[i].max_in, 8) >= N;
	return false;
}

static int released(struct conf *c, uint64_t seq, const uint8_t *plain, bool right)
{
	int rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, seq, 1) + c->id.block, c->buf, N),
			   "reading the output");

	if (rc)
		return rc;
	if (right)
		return memcmp(c->buf, plain, N) ? conf_fail(c, "the plaintext is wrong") : CONF_PASS;
	return bytes_are_zero(c->buf, N) ? CONF_PASS : conf_fail(c, "a wrong tag released something");
}

static int auth_failed(struct conf *c)
{
	uint8_t plain[N], cipher[N], tag[16], wrong[16];
	struct nvme_accel_status st;
	int rc;

	if (!has_gcm(c))
		return conf_skip(c, "the device does not decrypt AES-128-GCM");
	rc = conf_lease_get(c, &c->lease, 1, 0, 0);
	conf_data(plain, N, 56);
	if (!rc && !seal_here(plain, cipher, tag))
		rc = conf_skip(c, "libcrypto failed");
	for (uint64_t seq = 1; seq <= 17 && !rc; seq++) {
		/* Each byte of the tag wrong in turn, then none. */
		memcpy(wrong, tag, 16);
		if (seq <= 16)
			wrong[seq - 1] ^= 0x10;
		rc = decrypt(c, seq, cipher, wrong, &st);
		if (!rc)
			rc = seq <= 16 ? conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_AUTH_FAILED) :
					 conf_state(c, &st, NVME_ACCEL_ST_DONE, NVME_ACCEL_OK);
		if (!rc)
			rc = released(c, seq, plain, seq > 16);
	}
	return rc;
}

static int read_stats(struct conf *c, struct nvme_accel_stats *s)
{
	int rc = conf_must(c, conf_read(c, c->id.stats_off, s, sizeof(*s)), "reading the statistics");

	if (!rc && (memcmp(s->magic, NVME_ACCEL_STATS_MAGIC, 4) || s->version != 1))
		rc = conf_fail(c, "the statistics have no magic, or another version");
	if (!rc && get_le(&s->bootid, 8) != c->id.bootid)
		rc = conf_fail(c, "the statistics' BOOTID is not that of the identity");
	return rc;
}

/* Every counter only grows; those that the test has moved have grown by it at least. */
static int statistics(struct conf *c)
{
	const size_t first = offsetof(struct nvme_accel_stats, uptime_ns);
	struct nvme_accel_stats a, b;
	uint64_t sum = 0;
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_STATS))
		return conf_skip(c, "the device does not announce statistics");
	rc = read_stats(c, &a);
	if (!rc)
		rc = conf_begin(c);
	for (uint64_t seq = 1; seq <= 5 && !rc; seq++)
		rc = then_right(c, seq);
	if (!rc)
		rc = read_stats(c, &b);
	if (rc)
		return rc;
	for (size_t at = first; at < offsetof(struct nvme_accel_stats, rsvd1152); at += 8)
		if (at != offsetof(struct nvme_accel_stats, held_now) &&
		    get_le((uint8_t *)&b + at, 8) < get_le((uint8_t *)&a + at, 8))
			return conf_fail(c, "the counter at byte %zu went down", at);
	if (get_le(&b.jobs, 8) < get_le(&a.jobs, 8) + 5 ||
	    get_le(&b.bytes_in, 8) < get_le(&a.bytes_in, 8) + 5 * N ||
	    get_le(&b.by_code[0], 8) < get_le(&a.by_code[0], 8) + 5 ||
	    get_le(&b.lease_grants, 8) < get_le(&a.lease_grants, 8) + 1)
		return conf_fail(c, "five jobs of a new lease are not in the counters");
	for (unsigned int i = 0; i < NVME_ACCEL_NCODE; i++)
		sum += get_le(&b.by_code[i], 8);
	return sum == get_le(&b.jobs, 8) ? CONF_PASS :
	       conf_fail(c, "the counters by code make %llu, of %llu jobs", (unsigned long long)sum,
			 (unsigned long long)get_le(&b.jobs, 8));
}

const struct conf_rule conf_rules_safe[] = {
	{ "R-62", "stray-writes", "zeros, ones and garbage written to a slot start nothing", stray_slot },
	{ "R-31", "broken-descriptor", "no magic, other version, wrong CRC: refused without effect", broken },
	{ "R-30", "ended-lease", "descriptors of a lease that has ended are refused", stale_epoch },
	{ "R-63", "zeroed", "outputs end with the lease", zeroed },
	{ "R-63", "input-gone", "inputs end with the lease", input_gone },
	{ "R-58", "auth-failed", "a wrong tag of AES-GCM releases nothing", auth_failed },
	{ "section 2", "statistics", "counters only grow, and count", statistics },
	{ 0 },
};
