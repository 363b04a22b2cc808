/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections 5 and 7: descriptors, input in one command or in many, status and output. */
#include "conf.h"
#include <string.h>

enum { N = CONF_JOB_NBYTES };

static uint8_t *data(uint8_t *buf, uint32_t seed)
{
	conf_data(buf, N, seed);
	return buf;
}

static int inline_job(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	/* Every alias is used twice. */
	for (uint64_t seq = 1; seq <= 2 * c->id.naliases && !rc; seq++) {
		rc = conf_job(c, seq, 0, data(in, (uint32_t)seq), N, &st);
		if (!rc)
			rc = conf_right(c, seq, &st, in, N);
	}
	return rc;
}

static int status_contents(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (!rc)
		rc = conf_job(c, 1, 0, data(in, 7), N, &st);
	if (rc)
		return rc;
	if (get_le(&st.seq, 8) != 1 || get_le(&st.cookie, 8) != 0xc00c1e0000000001ull)
		return conf_fail(c, "seq %llu, cookie %#llx", (unsigned long long)get_le(&st.seq, 8),
				 (unsigned long long)get_le(&st.cookie, 8));
	if (get_le(&st.bootid, 8) != c->id.bootid)
		return conf_fail(c, "BOOTID is not that of the identity");
	if (get_le(&st.lease, 4) != c->lease.index || get_le(&st.epoch, 4) != c->lease.epoch)
		return conf_fail(c, "lease %u, epoch %u", (unsigned int)get_le(&st.lease, 4),
				 (unsigned int)get_le(&st.epoch, 4));
	if (get_le(&st.exec_ns, 8) > CONF_TIMEOUT_MS * 1000000ull)
		return conf_fail(c, "exec_ns is %llu", (unsigned long long)get_le(&st.exec_ns, 8));
	return get_le(&st.flags, 2) & NVME_ACCEL_SF_DUPLICATE_SEEN ?
		       conf_fail(c, "DUPLICATE_SEEN without a duplicate") : CONF_PASS;
}

static int fresh_slot(struct conf *c)
{
	struct nvme_accel_status st;
	int rc = conf_begin(c);

	if (!rc)
		rc = conf_status(c, 1, &st);
	return rc ? rc : conf_state(c, &st, NVME_ACCEL_ST_CLAIMED, NVME_ACCEL_OK);
}

/* Reads change nothing: neither of results, nor of how often they can be read. */
static int repeatable(struct conf *c)
{
	struct nvme_accel_status st, again;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (!rc)
		rc = conf_job(c, 1, 0, data(in, 3), N, &st);
	for (unsigned int i = 0; i < 4 && !rc; i++) {
		rc = conf_right(c, 1, &st, in, N);
		if (!rc)
			rc = conf_status(c, 1, &again);
		if (!rc && memcmp(&st, &again, sizeof(st)))
			rc = conf_fail(c, "the status of a job that has ended changed between reads");
		if (!rc && conf_feat(c, NVME_ACCEL_FEAT_WAIT))
			rc = conf_must(c,
				       conf_read(c, conf_wait_addr(c, c->lease.slot, 1), c->buf, c->id.block),
				       "reading the WAIT alias");
	}
	return rc;
}

/* A read that begins behind the status, in the middle of the output. */
static int partial_read(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!c->probe.output)
		return conf_skip(c, "no operation with output that the test can judge");
	rc = conf_begin(c);
	if (!rc)
		rc = conf_job(c, 1, 0, data(in, 4), N, &st);
	if (!rc)
		rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, 1, 1) + 3 * c->id.block, c->buf,
					    c->id.block), "reading a piece of the output");
	if (!rc && memcmp(c->buf, in + 2 * c->id.block, c->id.block))
		rc = conf_fail(c, "a piece of the output is wrong");
	return rc;
}

static int write_half_hidden(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (!rc)
		rc = conf_job(c, 1, 0, data(in, 5), N, &st);
	if (!rc)
		rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, 1, 0), c->buf, N),
			       "reading a write half");
	if (!rc && !bytes_are_zero(c->buf, N))
		rc = conf_fail(c, "input or descriptor can be read back");
	return rc;
}

static int old_alias(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (!rc)
		rc = conf_job(c, 1, 0, data(in, 8), N, &st);
	if (!rc)
		rc = conf_job(c, 2, 0, data(in, 9), N, &st);
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc)
		rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, 1, 1) + c->id.block, c->buf, N),
			       "reading the output of the job before");
	if (rc)
		return rc;
	if (st.state != NVME_ACCEL_ST_SUPERSEDED)
		return conf_fail(c, "the job before shows state %u", st.state);
	return bytes_are_zero(c->buf, N) ? CONF_PASS
					 : conf_fail(c, "the output of the job before is still there");
}

/* ---- EXPLICIT ---- */

/* Input in pieces, in an order of its own, the descriptor before piece number desc_at. */
static int in_pieces(struct conf *c, uint64_t seq, const uint8_t *in, unsigned int desc_at)
{
	static const uint8_t order[8] = { 5, 2, 7, 0, 3, 6, 1, 4 };
	uint64_t base = conf_addr(c, c->lease.slot, seq, 0);
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint32_t piece = N / 8 / c->id.block * c->id.block;
	struct nvme_accel_status st;
	int rc = CONF_PASS;

	piece = piece ? piece : c->id.block;
	for (unsigned int i = 0; i <= 8 && !rc; i++) {
		if (i == desc_at) {
			conf_desc(c, block, seq, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT, 8 * piece);
			rc = conf_must(c, conf_write(c, base, block, c->id.block), "writing a descriptor");
			if (!rc && i < 8)
				rc = conf_status(c, seq, &st);
			if (!rc && i < 8 && st.state != NVME_ACCEL_ST_LOADING)
				rc = conf_fail(c, "state %u while input is missing", st.state);
		}
		if (i < 8 && !rc)
			rc = conf_must(c,
				       conf_write(c, base + c->id.block + order[i] * piece,
						  in + order[i] * piece, piece),
				       "writing a piece of input");
	}
	if (!rc)
		rc = conf_wait(c, seq, &st);
	return rc ? rc : conf_right(c, seq, &st, in, 8 * piece);
}

static int explicit_order(struct conf *c)
{
	uint8_t *in = c->buf + c->nbuf / 2;
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce EXPLICIT");
	rc = conf_begin(c);
	conf_data(in, 8 * CONF_BLOCK_MAX, 11);
	for (unsigned int i = 0; i < 9 && !rc; i++)
		rc = in_pieces(c, i + 1, in, i);
	return rc;
}

/* An INLINE write that was split on its way: the descriptor with a part of the input, then the rest. */
static int split_inline(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint64_t base;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (rc)
		return rc;
	base = conf_addr(c, c->lease.slot, 1, 0);
	data(in, 12);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	rc = conf_must(c, conf_write2(c, base, block, c->id.block, in, N / 2),
		       "writing half of an INLINE job");
	if (!rc && !conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT)) {
		rc = conf_wait(c, 1, &st);
		return rc ? rc : conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_SHORT_WRITE);
	}
	if (!rc)
		rc = conf_must(c, conf_write(c, base + c->id.block + N / 2, in + N / 2, N / 2),
			       "writing the rest");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

/* ---- Checks of the request ---- */

static int in_crc(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_desc *d = (struct nvme_accel_desc *)block;
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_IN_CRC))
		return conf_skip(c, "the device does not announce input CRC");
	rc = conf_begin(c);
	data(in, 13);
	for (uint64_t seq = 1; seq <= 2 && !rc; seq++) {
		conf_desc(c, block, seq, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_IN_CRC, N);
		put_le(&d->in_crc, 4, ec_crc32c(0, in, N) ^ (seq == 2));
		conf_desc_crc(block);
		rc = conf_must(c,
			       conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, N),
			       "writing descriptor and input");
		if (!rc)
			rc = conf_wait(c, seq, &st);
		if (!rc && seq == 1)
			rc = conf_right(c, seq, &st, in, N);
		if (!rc && seq == 1 && !(get_le(&st.flags, 2) & NVME_ACCEL_SF_IN_CRC_CHECKED))
			rc = conf_fail(c, "IN_CRC_CHECKED is not set");
		if (!rc && seq == 2)
			rc = conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_IN_CRC_ERROR);
	}
	return rc;
}

static int out_crc(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_OUT_CRC) || !c->probe.output)
		return conf_skip(c, "no output CRC, or no operation with output that the test can judge");
	rc = conf_begin(c);
	if (!rc)
		rc = conf_job(c, 1, NVME_ACCEL_JOB_OUT_CRC, data(in, 14), N, &st);
	if (!rc)
		rc = conf_right(c, 1, &st, in, N);
	if (!rc && (!(get_le(&st.flags, 2) & NVME_ACCEL_SF_OUT_CRC) ||
		    get_le(&st.out_crc, 4) != ec_crc32c(0, in, N)))
		rc = conf_fail(c, "out_crc is %#x, the output has %#x", (unsigned int)get_le(&st.out_crc, 4),
			       ec_crc32c(0, in, N));
	return rc;
}

static int output_short(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!c->probe.output)
		return conf_skip(c, "no operation with output that the test can judge");
	rc = conf_begin(c);
	if (rc)
		return rc;
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	put_le(&((struct nvme_accel_desc *)block)->out_max, 8, N / 2);
	conf_desc_crc(block);
	rc = conf_must(c,
		       conf_write2(c, conf_addr(c, c->lease.slot, 1, 0), block, c->id.block, data(in, 15), N),
		       "writing descriptor and input");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	if (!rc)
		rc = conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_OUTPUT_SHORT);
	if (!rc && (get_le(&st.out_len, 8) || get_le(&st.out_needed, 8) < N))
		rc = conf_fail(c, "out_len %llu, out_needed %llu", (unsigned long long)get_le(&st.out_len, 8),
			       (unsigned long long)get_le(&st.out_needed, 8));
	return rc;
}

struct fault {
	unsigned int at, nbytes;
	uint64_t value;
	unsigned int code, other;	/* either will do */
	const char *what;
};

/* Faults of a descriptor whose CRC is right: its job fails, with a code that says why. */
static int bad_field(struct conf *c, uint64_t seq, const struct fault *f, const uint8_t *in)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	unsigned int code;
	int rc;

	conf_desc(c, block, seq, NVME_ACCEL_JOB_START, N);
	put_le(block + f->at, f->nbytes, f->value);
	conf_desc_crc(block);
	rc = conf_must(c, conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, N),
		       f->what);
	if (!rc)
		rc = conf_wait(c, seq, &st);
	if (rc)
		return rc;
	code = (unsigned int)get_le(&st.code, 4);
	if (st.state != NVME_ACCEL_ST_FAILED || (code != f->code && code != f->other))
		return conf_fail(c, "%s: state %u, code %u", f->what, st.state, code);
	return get_le(&st.out_len, 8) ? conf_fail(c, "%s: out_len is not 0", f->what) : CONF_PASS;
}

static int bad_fields(struct conf *c)
{
	static const struct fault faults[] = {
		{ 5, 1, 0, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "no stage" },
		{ 5, 1, 5, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "five stages" },
		{ 6, 2, 0x8001, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "an unknown flag" },
		{ 76, 4, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "a reserved field (76)" },
		{ 92, 4, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "a reserved field (92)" },
		{ 124, 4, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "a reserved field of a stage" },
		{ 128, 2, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC,
		  "something in a stage that is not used" },
		{ 224, 1, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "a reserved field (224)" },
		{ 251, 1, 1, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC, "a reserved field (251)" },
		{ 122, 2, 8, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_DESC,
		  "parameters of a stage beyond param_len" },
		{ 96, 2, 0x7777, NVME_ACCEL_UNSUPPORTED_OP, NVME_ACCEL_UNSUPPORTED_OP,
		  "an unknown operation" },
		{ 98, 2, 0x7777, NVME_ACCEL_UNSUPPORTED_OP, NVME_ACCEL_UNSUPPORTED_OP,
		  "an unknown algorithm" },
		{ 104, 4, 9, NVME_ACCEL_BAD_OBJECT, NVME_ACCEL_UNSUPPORTED_OP,
		  "an object that is not there" },
		{ 48, 8, 1ull << 40, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_PARAM, "in_len beyond MAXIN" },
		{ 56, 8, 1ull << 40, NVME_ACCEL_BAD_DESC, NVME_ACCEL_BAD_PARAM, "out_max beyond MAXOUT" },
	};
	uint8_t in[N];
	int rc = conf_begin(c);

	data(in, 16);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && !rc; i++)
		rc = bad_field(c, i + 1, &faults[i], in);
	return rc;
}

/* After every kind of failure the next job is right. */
static int after_failure(struct conf *c)
{
	static const struct fault fault = {
		96, 2, 0x7777, NVME_ACCEL_UNSUPPORTED_OP, NVME_ACCEL_UNSUPPORTED_OP, "an unknown operation"
	};
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	data(in, 17);
	for (uint64_t seq = 1; seq < 8 && !rc; seq += 2) {
		rc = bad_field(c, seq, &fault, in);
		if (!rc)
			rc = conf_job(c, seq + 1, 0, in, N, &st);
		if (!rc)
			rc = conf_right(c, seq + 1, &st, in, N);
	}
	return rc;
}

const struct conf_rule conf_rules_job[] = {
	{ "R-38", "slot-claimed", "a slot of a new lease is CLAIMED", fresh_slot },
	{ "R-34 R-38", "inline", "a job in one command runs and gives the right result", inline_job },
	{ "section 7", "status", "the status names seq, cookie, boot, lease, epoch", status_contents },
	{ "R-42", "repeatable", "results can be read any number of times; reads change nothing", repeatable },
	{ "R-19", "output-piece", "any piece of the output can be read", partial_read },
	{ "R-18", "write-half", "input and descriptor cannot be read back", write_half_hidden },
	{ "R-42", "superseded", "the next job takes the result of the one before", old_alias },
	{ "R-34", "explicit", "input in any order, descriptor first, last or between", explicit_order },
	{ "R-35", "split", "an INLINE write that was split works, or is SHORT_WRITE", split_inline },
	{ "section 5", "input-crc", "a wrong CRC of the input is found", in_crc },
	{ "section 5", "output-crc", "the CRC of the output is right", out_crc },
	{ "R-55 R-60", "output-short", "OUTPUT_SHORT with out_needed, and no output", output_short },
	{ "R-10 R-32", "descriptor-checks", "a wrong field of a descriptor gives its code", bad_fields },
	{ "R-39", "after-failure", "the job after a failed one is right", after_failure },
	{ 0 },
};
