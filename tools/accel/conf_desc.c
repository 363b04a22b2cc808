/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors, jobs and their outcome, for the conformance test. */
#include "conf.h"
#include <openssl/sha.h>
#include <string.h>

/* Operations of which the test knows the right result by itself. */
static const struct conf_probe probes[] = {
	{ NVME_ACCEL_OP_COPY, 0, true, true },
	{ NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_CRC32C, false, true },
	{ NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, false, true },
};

static bool suits(const struct conf *c, const struct nvme_accel_op *op, const struct conf_probe *p)
{
	uint64_t granule = get_le(&op->granule, 4);

	return get_le(&op->op, 2) == p->op && get_le(&op->alg, 2) == p->alg &&
	       get_le(&op->flags, 4) & NVME_ACCEL_OPF_ALONE && get_le(&op->min_in, 4) <= c->id.block &&
	       get_le(&op->max_in, 8) >= CONF_JOB_NBYTES && (!granule || c->id.block % granule == 0) &&
	       (!p->output || get_le(&op->max_out, 8) >= CONF_JOB_NBYTES);
}

void conf_probe_pick(struct conf *c)
{
	const struct nvme_accel_op *op = (const struct nvme_accel_op *)(c->page + NVME_ACCEL_OPS_OFF);

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		for (uint32_t j = 0; j < c->id.nops && j < NVME_ACCEL_MAX_OPS; j++) {
			if (!suits(c, &op[j], &probes[i]))
				continue;
			c->probe = probes[i];
			return;
		}
	}
}

void conf_data(uint8_t *p, size_t n, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)(x >> 24);
	}
}

void conf_desc_crc(uint8_t *block)
{
	struct nvme_accel_desc *d = (struct nvme_accel_desc *)block;
	uint32_t crc = ec_crc32c(0, block, offsetof(struct nvme_accel_desc, crc));

	crc = ec_crc32c(crc, block + NVME_ACCEL_PARAM_OFF, get_le(&d->param_len, 2));
	put_le(&d->crc, 4, crc);
}

void conf_desc(const struct conf *c, uint8_t *block, uint64_t seq, uint16_t flags, uint64_t in_len)
{
	struct nvme_accel_desc *d = (struct nvme_accel_desc *)block;

	memset(block, 0, c->id.block);
	memcpy(d->magic, NVME_ACCEL_DESC_MAGIC, 4);
	d->version = 1;
	d->nstage = 1;
	put_le(&d->flags, 2, flags);
	put_le(&d->seq, 8, seq);
	memcpy(d->nonce, c->lease.nonce, 16);
	put_le(&d->lease, 4, c->lease.index);
	put_le(&d->epoch, 4, c->lease.epoch);
	put_le(&d->cookie, 8, 0xc00c1e0000000000ull + seq);
	put_le(&d->in_len, 8, in_len);
	put_le(&d->out_max, 8, c->probe.output ? in_len : 0);
	put_le(&d->stage[0].op, 2, c->probe.op);
	put_le(&d->stage[0].alg, 2, c->probe.alg);
	conf_desc_crc(block);
}

int conf_status(struct conf *c, uint64_t seq, struct nvme_accel_status *st)
{
	uint8_t block[CONF_BLOCK_MAX];
	int rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, seq, 1), block, c->id.block),
			   "reading a status block");

	if (rc)
		return rc;
	memcpy(st, block, sizeof(*st));
	if (memcmp(st->magic, NVME_ACCEL_STATUS_MAGIC, 4) || st->version != 1)
		return conf_fail(c, "the status block has no magic, or another version");
	if (get_le(&st->crc, 4) != ec_crc32c(0, st, offsetof(struct nvme_accel_status, crc)))
		return conf_fail(c, "the CRC of the status block is wrong");
	if (!bytes_are_zero(st->rsvd240, sizeof(st->rsvd240)))
		return conf_fail(c, "reserved bytes of the status block are not zero");
	return CONF_PASS;
}

static bool has_ended(const struct nvme_accel_status *st, uint64_t seq)
{
	return get_le(&st->seq, 8) == seq && st->state >= NVME_ACCEL_ST_DONE;
}

int conf_wait(struct conf *c, uint64_t seq, struct nvme_accel_status *st)
{
	uint64_t until = tool_now_ns() + CONF_TIMEOUT_MS * 1000000ull;

	do {
		int rc = conf_status(c, seq, st);

		if (rc || has_ended(st, seq))
			return rc;
		conf_sleep_ms(1);
	} while (tool_now_ns() < until);
	return conf_fail(c, "job %llu did not end in %d ms (state %u)", (unsigned long long)seq,
			 CONF_TIMEOUT_MS, st->state);
}

int conf_job(struct conf *c, uint64_t seq, uint16_t flags, const uint8_t *in, uint64_t in_len,
	     struct nvme_accel_status *st)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	int rc;

	conf_desc(c, block, seq, NVME_ACCEL_JOB_START | flags, in_len);
	rc = conf_must(c, conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, in_len),
		       "writing descriptor and input");
	return rc ? rc : conf_wait(c, seq, st);
}

int conf_state(struct conf *c, const struct nvme_accel_status *st, unsigned int state, unsigned int code)
{
	if (st->state != state || get_le(&st->code, 4) != code)
		return conf_fail(c, "state %u, code %u instead of state %u, code %u", st->state,
				 (unsigned int)get_le(&st->code, 4), state, code);
	return CONF_PASS;
}

static int right_output(struct conf *c, uint64_t seq, const uint8_t *in, uint64_t in_len)
{
	int rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, seq, 1) + c->id.block, c->buf,
					in_len + c->id.block), "reading the output");

	if (rc)
		return rc;
	if (memcmp(c->buf, in, in_len))
		return conf_fail(c, "the output is wrong");
	if (!bytes_are_zero(c->buf + in_len, c->id.block))
		return conf_fail(c, "bytes beyond out_len are not zero");
	return CONF_PASS;
}

static bool right_result(const struct conf *c, const struct nvme_accel_status *st, const uint8_t *in,
			 uint64_t in_len)
{
	uint8_t want[NVME_ACCEL_RESULT_LEN] = { 0 };

	if (c->probe.op == NVME_ACCEL_OP_CHECKSUM)
		put_le(want, 4, ec_crc32c(0, in, in_len));
	else
		SHA256(in, in_len, want);
	return !memcmp(st->result[0], want, sizeof(want));
}

int conf_right(struct conf *c, uint64_t seq, const struct nvme_accel_status *st, const uint8_t *in,
	       uint64_t in_len)
{
	int rc = conf_state(c, st, NVME_ACCEL_ST_DONE, NVME_ACCEL_OK);

	if (rc)
		return rc;
	if (!(get_le(&st->flags, 2) & NVME_ACCEL_SF_OUTPUT_VALID))
		return conf_fail(c, "OUTPUT_VALID is not set");
	if (get_le(&st->in_used, 8) != in_len || get_le(&st->out_len, 8) != (c->probe.output ? in_len : 0))
		return conf_fail(c, "in_used %llu, out_len %llu of %llu bytes",
				 (unsigned long long)get_le(&st->in_used, 8),
				 (unsigned long long)get_le(&st->out_len, 8), (unsigned long long)in_len);
	if (c->probe.output)
		return right_output(c, seq, in, in_len);
	return right_result(c, st, in, in_len) ? CONF_PASS : conf_fail(c, "the result is wrong");
}

int conf_begin(struct conf *c)
{
	if (!c->probe.any)
		return conf_skip(
			c, "the device has none of copy, CRC-32C and SHA-256, of which the test knows the "
			   "result");
	return conf_lease_get(c, &c->lease, 1, 0, 0);
}
