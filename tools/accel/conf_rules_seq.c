/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 6: whose descriptor it is, its order, repeats, aborts. */
#include "conf.h"
#include <string.h>

enum { N = CONF_JOB_NBYTES };

/* Writes descriptor and input as they are. */
static int put(struct conf *c, uint64_t seq, const uint8_t *block, const uint8_t *in, size_t n)
{
	return conf_write2(c, conf_addr(c, c->lease.slot, seq, 0), block, c->id.block, in, n);
}

static int duplicate(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N], other[N];
	int rc = conf_begin(c);

	conf_data(in, N, 21);
	conf_data(other, N, 22);
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	if (rc)
		return rc;
	/* The same sequence number with other input: were it run, the result would tell. */
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	rc = conf_must(c, put(c, 1, block, other, N), "writing the same descriptor again");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	if (!rc && !(get_le(&st.flags, 2) & NVME_ACCEL_SF_DUPLICATE_SEEN))
		rc = conf_fail(c, "DUPLICATE_SEEN is not set");
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

static int old_seq(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	uint64_t last = c->id.naliases + 2, old = 2;
	struct nvme_accel_status st;
	uint8_t in[N], other[N];
	int rc = conf_begin(c);

	conf_data(in, N, 23);
	conf_data(other, N, 24);
	for (uint64_t seq = 1; seq <= last && !rc; seq++)
		rc = conf_job(c, seq, 0, in, N, &st);
	if (rc)
		return rc;
	/* Of the same alias as the last job: the one that could do harm. */
	conf_desc(c, block, old, NVME_ACCEL_JOB_START, N);
	rc = conf_must(c, put(c, old, block, other, N), "writing an old descriptor");
	if (!rc)
		rc = conf_wait(c, last, &st);
	return rc ? rc : conf_right(c, last, &st, in, N);
}

static int gap(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	conf_data(in, N, 25);
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	if (rc)
		return rc;
	conf_desc(c, block, 4, NVME_ACCEL_JOB_START, N);
	rc = conf_must(c, put(c, 4, block, in, N), "writing a descriptor with a gap");
	if (!rc)
		rc = conf_status(c, 4, &st);
	if (!rc && get_le(&st.seq, 8) != 4)
		rc = conf_fail(c, "the status is of seq %llu", (unsigned long long)get_le(&st.seq, 8));
	if (!rc)
		rc = conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_SEQ_GAP);
	/* The number after the last job is still the next one. */
	if (!rc)
		rc = conf_job(c, 2, 0, in, N, &st);
	return rc ? rc : conf_right(c, 2, &st, in, N);
}

static int wrong_alias(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (rc)
		return rc;
	conf_data(in, N, 26);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	rc = conf_must_fail(c, conf_write2(c, conf_addr(c, c->lease.slot, 2, 0), block, c->id.block, in, N),
			    CONF_SC_INVALID_FIELD, "a descriptor in another alias than its seq's");
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

/* Descriptors that prove no right to the slot. */
static int wrong_holder(struct conf *c)
{
	static const struct {
		unsigned int at;
		const char *what;
	} faults[] = {
		{ 16, "a wrong nonce" },
		{ 31, "a wrong nonce" },
		{ 32, "another lease" },
		{ 36, "a wrong epoch" },
	};
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	conf_data(in, N, 27);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && !rc; i++) {
		conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
		block[faults[i].at] ^= 1;
		conf_desc_crc(block);
		rc = conf_must_fail(c, put(c, 1, block, in, N), CONF_SC_ACCESS_DENIED, faults[i].what);
		if (!rc)
			rc = conf_status(c, 1, &st);
		if (!rc && st.state != NVME_ACCEL_ST_CLAIMED)
			rc = conf_fail(c, "%s: had an effect (state %u)", faults[i].what, st.state);
	}
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

static int check_only(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (rc)
		return rc;
	conf_data(in, N, 28);
	conf_desc(c, block, 1, 0, N);
	rc = conf_must(c, put(c, 1, block, in, 0), "a descriptor without START");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc && (st.state != NVME_ACCEL_ST_CLAIMED || get_le(&st.code, 4)))
		rc = conf_fail(c, "state %u, code %u", st.state, (unsigned int)get_le(&st.code, 4));
	conf_desc(c, block, 1, 0, N);
	put_le(block + 96, 2, 0x7777);
	conf_desc_crc(block);
	if (!rc)
		rc = conf_must(c, put(c, 1, block, in, 0), "a descriptor without START");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc && get_le(&st.code, 4) != NVME_ACCEL_UNSUPPORTED_OP)
		rc = conf_fail(c, "an unknown operation, only checked: code %u",
			       (unsigned int)get_le(&st.code, 4));
	/* The sequence number is not used up. */
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

/* A job that waits for input, which it will not get. */
static int load_half(struct conf *c, uint64_t seq, const uint8_t *in)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];

	conf_desc(c, block, seq, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT, N);
	return conf_must(c, put(c, seq, block, in, N / 2), "writing half of a job");
}

static int abort_job(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "without EXPLICIT no job can be kept from running");
	rc = conf_begin(c);
	conf_data(in, N, 29);
	if (!rc)
		rc = load_half(c, 1, in);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_ABORT, N);
	for (unsigned int i = 0; i < 2 && !rc; i++) {
		rc = conf_must(c, put(c, 1, block, in, 0), "aborting");
		if (!rc)
			rc = conf_wait(c, 1, &st);
		if (!rc)
			rc = conf_state(c, &st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED);
	}
	/* Input that arrives late starts nothing. */
	if (!rc)
		rc = conf_must(c,
			       conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block + N / 2,
					  in + N / 2, N / 2),
			       "writing the rest of an aborted job");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc)
		rc = conf_state(c, &st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED);
	if (!rc)
		rc = conf_job(c, 2, 0, in, N, &st);
	return rc ? rc : conf_right(c, 2, &st, in, N);
}

/* The abort has overtaken its job: the number is used up, the job will not run. */
static int abort_first(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	if (rc)
		return rc;
	conf_data(in, N, 34);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_ABORT, N);
	rc = conf_must(c, put(c, 1, block, in, 0), "aborting a job that has not come");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	if (!rc)
		rc = conf_state(c, &st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START, N);
	if (!rc)
		rc = conf_must(c, put(c, 1, block, in, N), "writing the descriptor of an aborted job");
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc)
		rc = conf_state(c, &st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED);
	if (!rc)
		rc = conf_job(c, 2, 0, in, N, &st);
	return rc ? rc : conf_right(c, 2, &st, in, N);
}

/* The next descriptor comes while input is missing: the job is lost, the next one is not. */
static int overtaken(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce EXPLICIT");
	rc = conf_begin(c);
	conf_data(in, N, 35);
	if (!rc)
		rc = load_half(c, 1, in);
	if (!rc)
		rc = conf_job(c, 2, 0, in, N, &st);
	if (!rc)
		rc = conf_right(c, 2, &st, in, N);
	if (!rc)
		rc = conf_status(c, 1, &st);
	if (!rc && st.state != NVME_ACCEL_ST_SUPERSEDED)
		rc = conf_fail(c, "the job that lost its input shows state %u", st.state);
	return rc;
}

/* With RELEASE_RESULT the output may be gone after one read; what there is must be true. */
static int release_result(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N];
	size_t n = c->id.block + N;
	int rc = conf_begin(c);

	conf_data(in, N, 36);
	if (!rc)
		rc = conf_job(c, 1, NVME_ACCEL_JOB_RELEASE_RESULT, in, N, &st);
	if (!rc)
		rc = conf_right(c, 1, &st, in, N);
	for (unsigned int i = 0; i < 2 && !rc; i++) {
		rc = conf_must(c, conf_read(c, conf_addr(c, c->lease.slot, 1, 1), c->buf, n),
			       "reading status and output");
		memcpy(&st, c->buf, sizeof(st));
		if (!rc)
			rc = conf_state(c, &st, NVME_ACCEL_ST_DONE, NVME_ACCEL_OK);
		if (rc || !c->probe.output)
			continue;
		if (get_le(&st.flags, 2) & NVME_ACCEL_SF_OUTPUT_VALID ? memcmp(c->buf + c->id.block, in, N) :
		    !bytes_are_zero(c->buf + c->id.block, N))
			rc = conf_fail(c, "OUTPUT_VALID and output contradict each other");
	}
	if (!rc)
		rc = conf_job(c, 2, 0, in, N, &st);
	return rc ? rc : conf_right(c, 2, &st, in, N);
}

static int abort_done(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc = conf_begin(c);

	conf_data(in, N, 30);
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_ABORT, N);
	if (!rc)
		rc = conf_must(c, put(c, 1, block, in, 0), "aborting a job that has ended");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	return rc ? rc : conf_right(c, 1, &st, in, N);
}

/* Data of a job that has ended, or of the alias of another: the job at hand must not see them. */
static int late_data(struct conf *c)
{
	struct nvme_accel_status st;
	uint8_t in[N], other[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "the device does not announce EXPLICIT");
	rc = conf_begin(c);
	conf_data(in, N, 31);
	conf_data(other, N, 32);
	if (!rc)
		rc = conf_job(c, 1, 0, in, N, &st);
	if (!rc)
		rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block, other, N),
			       "writing late data");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	if (!rc)
		rc = conf_right(c, 1, &st, in, N);
	if (!rc)
		rc = load_half(c, 2, in);
	if (!rc)
		rc = conf_must(c, conf_write(c, conf_addr(c, c->lease.slot, 1, 0) + c->id.block, other, N),
			       "writing late data");
	if (!rc)
		rc = conf_status(c, 2, &st);
	if (!rc && st.state != NVME_ACCEL_ST_LOADING)
		rc = conf_fail(c, "data of another alias completed the job (state %u)", st.state);
	if (!rc)
		rc = conf_must(c,
			       conf_write(c, conf_addr(c, c->lease.slot, 2, 0) + c->id.block + N / 2,
					  in + N / 2, N / 2),
			       "writing the rest");
	if (!rc)
		rc = conf_wait(c, 2, &st);
	return rc ? rc : conf_right(c, 2, &st, in, N);
}

static int time_limit(struct conf *c)
{
	_Alignas(8) uint8_t block[CONF_BLOCK_MAX];
	struct nvme_accel_status st;
	uint8_t in[N];
	int rc;

	if (!conf_feat(c, NVME_ACCEL_FEAT_EXPLICIT))
		return conf_skip(c, "without EXPLICIT no job can be kept from running");
	rc = conf_begin(c);
	if (rc)
		return rc;
	conf_data(in, N, 33);
	conf_desc(c, block, 1, NVME_ACCEL_JOB_START | NVME_ACCEL_JOB_EXPLICIT, N);
	put_le(&((struct nvme_accel_desc *)block)->limit_ms, 4, 100);
	conf_desc_crc(block);
	rc = conf_must(c, put(c, 1, block, in, N / 2), "writing half of a job with a time limit");
	if (!rc)
		rc = conf_wait(c, 1, &st);
	return rc ? rc : conf_state(c, &st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_TIMEOUT);
}

const struct conf_rule conf_rules_seq[] = {
	{ "R-31", "holder", "wrong nonce, lease or epoch: refused without effect", wrong_holder },
	{ "R-39", "duplicate", "the same seq again is not run again", duplicate },
	{ "R-39", "old-seq", "an old seq is ignored", old_seq },
	{ "R-39 R-40", "gap", "a gap is SEQ_GAP and uses nothing up", gap },
	{ "R-31", "alias", "a descriptor in another alias than its seq's is refused", wrong_alias },
	{ "R-41", "check-only", "without START a descriptor is only checked", check_only },
	{ "R-36", "late-data", "data for an old job do no harm", late_data },
	{ "R-44", "abort", "ABORT ends a job, and may be repeated", abort_job },
	{ "R-44", "abort-first", "an ABORT that overtakes its job uses the number up", abort_first },
	{ "R-37", "overtaken", "a job whose input is missing is lost to the next", overtaken },
	{ "R-43", "release-result", "RELEASE_RESULT: status and output stay true", release_result },
	{ "R-44", "abort-done", "ABORT of a job that has ended changes nothing", abort_done },
	{ "R-45", "time-limit", "a job beyond its time limit ends with TIMEOUT", time_limit },
	{ 0 },
};
