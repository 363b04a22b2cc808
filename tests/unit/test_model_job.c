// SPDX-License-Identifier: BSD-2-Clause
/* Jobs, rule by rule: descriptors, sequence, input, results, in-place buffers, abort, limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_model_env.h"

#define WHO 7
#define ACCESS MODEL_SC_ACCESS_DENIED
#define FIELD_ MODEL_SC_INVALID_FIELD

struct fix {
	struct env e;
	uint32_t epoch;
	uint32_t b;
	uint8_t desc[4096];
	uint8_t in[32768], out[65536];
	struct cmd w, r;
};

static int setup_cfg(void **state, void (*change)(struct model_cfg *cfg))
{
	struct fix *f = calloc(1, sizeof(*f));
	struct wire_claim c;
	struct wire_lease l;
	size_t i;

	env_cfg(&f->e.cfg);
	if (change)
		change(&f->e.cfg);
	if (env_start(&f->e))
		return -1;
	f->b = 1u << f->e.cfg.id.lbadsx;
	claim_fill(&c, NVME_ACCEL_LEASE_CLAIM, WHO, 1, 4);
	if (env_claim(&f->e, 0, &c, 0) || env_lease(&f->e, 0, &l) || l.state != NVME_ACCEL_LEASE_HELD)
		return -1;
	f->epoch = l.epoch;
	for (i = 0; i < sizeof(f->in); i++)
		f->in[i] = (uint8_t)(i * 7 + (i >> 8));
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_cfg(state, NULL);
}

static int teardown(void **state)
{
	struct fix *f = *state;
	int bad;

	env_stop(&f->e);
	bad = f->e.live || f->e.twice || f->e.unclean;
	free(f);
	return bad;
}

static void fill(struct fix *f, struct wire_desc *d, uint64_t seq, uint64_t in_len)
{
	desc_fill(d, WHO, 0, f->epoch, seq, in_len, 16384);
}

static uint64_t waddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 0);
}

static uint64_t raddr(struct fix *f, uint64_t seq)
{
	return wire_slot_addr(&f->e.cfg.id, 0, seq, 1);
}

static uint64_t rounded(struct fix *f, uint64_t n)
{
	return (n + f->b - 1) / f->b * f->b;
}

/* Descriptor and the first n bytes of input in one command. */
static void make_write(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	assert_int_equal(wire_desc_encode(d, f->desc, f->b), WIRE_OK);
	cmd_set(&f->w, MODEL_WRITE, waddr(f, d->seq), f->desc, f->b);
	f->w.iov[1].iov_base = f->in;
	f->w.iov[1].iov_len = rounded(f, n);
	f->w.c.nbytes += rounded(f, n);
	f->w.c.niov = n ? 2 : 1;
}

static int send(struct fix *f, const struct wire_desc *d, uint64_t n)
{
	make_write(f, d, n);
	return env_submit(&f->e, &f->w);
}

static struct wire_status status(struct fix *f, uint64_t seq)
{
	uint8_t block[4096];
	struct wire_status st;

	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq), block, f->b, 0), 0);
	assert_int_equal(wire_status_decode(&st, block, f->b), WIRE_OK);
	return st;
}

static struct wire_status decoded(struct fix *f)
{
	struct wire_status st;

	assert_int_equal(wire_status_decode(&st, f->out, f->b), WIRE_OK);
	return st;
}

static void make_wait(struct fix *f, uint64_t seq, uint64_t n)
{
	memset(f->out, 0xee, sizeof(f->out));
	cmd_set(&f->r, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, seq), f->out, n);
}

static int wait_read(struct fix *f, uint64_t seq, uint64_t n)
{
	make_wait(f, seq, n);
	return env_submit(&f->e, &f->r);
}

/* A counter of the statistics page, by its offset. */
static uint64_t counter(struct fix *f, size_t off)
{
	struct nvme_accel_stats st;

	model_stats(f->e.m, &st);
	return le64_get((const uint8_t *)&st + off);
}
#define COUNT(f, member) counter(f, offsetof(struct nvme_accel_stats, member))

static void check_status(const struct wire_status *st, uint8_t state, uint32_t code, uint64_t seq)
{
	assert_int_equal(st->state, state);
	assert_int_equal(st->code, code);
	assert_int_equal(st->seq, seq);
}

/* ---- The usual way ---- */

static void inline_job(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 5000);
	assert_int_equal(send(f, &d, 5000), 0);
	assert_int_equal(f->e.njob, 1);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_QUEUED, 0, 1);
	f->e.job[0]->start_ns = f->e.now;
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_RUNNING, 0, 1);
	f->e.now += 300;
	env_run_all(&f->e);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, 8192, 0), 0);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_int_equal(st.out_len, 5000);
	assert_int_equal(st.in_used, 5000);
	assert_int_equal(st.cookie, 1007);
	assert_int_equal(st.exec_ns, 300);
	assert_int_equal(st.lease, 0);
	assert_int_equal(st.epoch, f->epoch);
	assert_memory_equal(f->out + f->b, f->in, 5000);
	assert_true(mem_is_zero(f->out + f->b + 5000, 8192 - f->b - 5000));
}

static void in_place(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 10000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, 1, f->b + 16384);
	f->r.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	make_write(f, &d, 10000);
	f->w.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	assert_int_equal(f->e.njob, 1);
	assert_ptr_equal(f->e.job[0]->job.in[0].iov_base, f->in);
	assert_ptr_equal(f->e.job[0]->job.out[0].iov_base, f->out + f->b);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->w.sc, 0);
	assert_int_equal(f->r.sc, 0);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, NVME_ACCEL_SF_OUTPUT_VALID);
	assert_memory_equal(f->out + f->b, f->in, 10000);
	assert_int_equal(f->out[f->b + 10000], 0xee);
	assert_int_equal(COUNT(f, in_place), 1);
	assert_int_equal(COUNT(f, copied), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.flags, 0);
	assert_int_equal(st.out_len, 10000);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, f->b + 16384, 0), 0);
	assert_true(mem_is_zero(f->out + f->b, 16384));
}

/* ---- Input ---- */

static void inline_no_output(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 777);
	d.stage[0].op = NVME_ACCEL_OP_CHECKSUM;
	d.stage[0].alg = NVME_ACCEL_ALG_CRC32C;
	d.out_max = 0;
	assert_int_equal(send(f, &d, 777), 0);
	env_run_all(&f->e);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(le32_get(st.result[0]), base_crc32c(0, f->in, 777));
}

static void empty_input(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 0);
	assert_int_equal(send(f, &d, 0), 0);
	assert_int_equal(f->e.njob, 1);
	env_run_all(&f->e);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_int_equal(st.out_len, 0);
}

static int data(struct fix *f, uint64_t seq, uint64_t off, uint64_t n)
{
	return env_io(&f->e, MODEL_WRITE, waddr(f, seq) + f->b + off, f->in + off, n, 0);
}

static void check_output(struct fix *f, uint64_t seq, uint64_t n)
{
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq), f->out, f->b + rounded(f, n), 0), 0);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
	assert_int_equal(decoded(f).out_len, n);
	assert_memory_equal(f->out + f->b, f->in, n);
}

static void explicit_any_order(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 8000);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(data(f, 1, 4096, 3072), 0);
	assert_int_equal(data(f, 1, 1024, 3072), 0);
	assert_int_equal(send(f, &d, 0), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_LOADING, 0, 1);
	assert_int_equal(data(f, 1, 0, 1024), 0);
	assert_int_equal(f->e.njob, 0);
	assert_int_equal(data(f, 1, 0, 512), 0);	/* repeated: counts once */
	assert_int_equal(f->e.njob, 0);
	assert_int_equal(data(f, 1, 7168, 1024), 0);
	assert_int_equal(f->e.njob, 1);
	assert_int_equal(f->e.job[0]->job.in_len, 8000);
	env_run_all(&f->e);
	check_output(f, 1, 8000);
}

static void explicit_descriptor_last(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	fill(f, &d, 1, 4096);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(data(f, 1, 0, 4096), 0);
	assert_int_equal(send(f, &d, 0), 0);
	assert_int_equal(f->e.njob, 1);
	env_run_all(&f->e);
	check_output(f, 1, 4096);
}

/* Every permutation of the pieces of a split inline write gives the same job. */
static void split_inline(void **state)
{
	static const uint8_t order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct fix *f = *state;
	struct wire_desc d;
	uint64_t seq;
	int i;

	for (seq = 1; seq <= 6; seq++) {
		fill(f, &d, seq, 6000);
		f->in[0] = (uint8_t)seq;
		for (i = 0; i < 3; i++) {
			assert_int_equal(f->e.njob, 0);
			if (order[seq - 1][i] == 0)
				assert_int_equal(send(f, &d, 2048), 0);
			else
				assert_int_equal(data(f, seq, 2048u * order[seq - 1][i], 2048), 0);
		}
		assert_int_equal(f->e.njob, 1);
		env_run_all(&f->e);
		check_output(f, seq, 6000);
	}
}

/* Blocks that arrived for one job do not count for a later one in the same alias. */
static void arrival_forgotten(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint64_t seq;

	for (seq = 1; seq <= 6; seq++) {
		fill(f, &d, seq, 4096);
		d.flags |= NVME_ACCEL_JOB_EXPLICIT;
		assert_int_equal(send(f, &d, 0), 0);
		assert_int_equal(f->e.njob, 0);
		assert_int_equal(data(f, seq, 512, 3584), 0);
		assert_int_equal(f->e.njob, 0);
		assert_int_equal(data(f, seq, 0, 512), 0);
		assert_int_equal(f->e.njob, 1);
		env_run_all(&f->e);
		assert_int_equal(data(f, seq, 0, 4096), 0);	/* late: no job's */
	}
	assert_int_equal(COUNT(f, stale), 6);
}

/* Writes that come late do not change the input of a running job. */
static void late_data_ignored(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint8_t junk[4096];

	memset(junk, 0x99, sizeof(junk));
	fill(f, &d, 1, 4096);
	assert_int_equal(send(f, &d, 4096), 0);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + f->b, junk, 4096, 0), 0);
	env_run_all(&f->e);
	check_output(f, 1, 4096);
}

/* Input of the next job may come while this one runs. */
static void data_ahead(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	fill(f, &d, 1, 4096);
	assert_int_equal(send(f, &d, 4096), 0);
	assert_int_equal(data(f, 2, 0, 8192), 0);
	env_run_all(&f->e);
	check_output(f, 1, 4096);
	fill(f, &d, 2, 8192);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(send(f, &d, 0), 0);
	assert_int_equal(f->e.njob, 1);
	env_run_all(&f->e);
	check_output(f, 2, 8192);
}

static void no_explicit(struct model_cfg *cfg)
{
	cfg->id.feat &= ~(uint64_t)NVME_ACCEL_FEAT_EXPLICIT;
}

static int setup_no_explicit(void **state)
{
	return setup_cfg(state, no_explicit);
}

static void short_write(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 4096);
	assert_int_equal(send(f, &d, 2048), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_SHORT_WRITE, 1);
	fill(f, &d, 2, 4096);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT;
	assert_int_equal(send(f, &d, 4096), 0);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_UNSUPPORTED_OP, 2);
	assert_int_equal(f->e.started, 0);
}

/* ---- Descriptors ---- */

static void foreign_descriptors(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		fill(f, &d, 1, 512);
		if (i == 0)
			d.nonce[15] ^= 1;
		else if (i == 1)
			d.epoch++;
		else if (i == 2)
			d.lease = 1;
		else if (i == 3)
			d.lease = 4;	/* there are 4 */
		else
			d.lease = 0xffffffff;
		assert_int_equal(send(f, &d, 512), ACCESS);
	}
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_CLAIMED, 0, 0);
	assert_int_equal(f->e.started, 0);
	assert_int_equal(COUNT(f, protocol_errors), 5);
	/* A slot that belongs to nobody. */
	fill(f, &d, 1, 512);
	make_write(f, &d, 512);
	f->w.c.off = wire_slot_addr(&f->e.cfg.id, 6, 1, 0);
	assert_int_equal(env_submit(&f->e, &f->w), ACCESS);
}

/* Any byte changed: refused, or a job error, but never run; and the right one runs afterwards. */
static void damaged_descriptors(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint32_t i;

	fill(f, &d, 1, 512);
	for (i = 0; i < 256; i++) {
		make_write(f, &d, 512);
		f->desc[i] ^= 0x10;
		assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	}
	assert_int_equal(f->e.started, 0);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 1);
}

static void fix_crc(uint8_t *desc)
{
	uint32_t n = le16_get(desc + 88);

	le32_put(desc + 252, base_crc32c(base_crc32c(0, desc, 252), desc + 256, n > 256 ? 256 : n));
}

/* Reserved fields, with a right checksum: the job fails, the number is used up. */
static void reserved_fields(void **state)
{
	static const uint16_t at[] = { 76, 92, 96 + 28, 96 + 32, 96 + 32 * 3, 224, 251 };
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	uint64_t seq = 1;
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++, seq++) {
		fill(f, &d, seq, 512);
		make_write(f, &d, 512);
		f->desc[at[i]] = 1;
		fix_crc(f->desc);
		assert_int_equal(env_submit(&f->e, &f->w), 0);
		st = status(f, seq);
		check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_BAD_DESC, seq);
		assert_int_equal(st.cookie, d.cookie);
	}
	assert_int_equal(f->e.started, 0);
	assert_int_equal(COUNT(f, by_code[NVME_ACCEL_BAD_DESC]), i);
}

static void wrong_alias(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	fill(f, &d, 1, 512);
	make_write(f, &d, 512);
	f->w.c.off = waddr(f, 2);
	assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	assert_int_equal(f->e.started, 0);
}

static void job_errors(void **state)
{
	static const struct {
		uint16_t flags;
		uint16_t op;
		uint32_t object, stage_flags;
		uint64_t in_len, out_max;
		uint32_t code;
	} bad[] = {
		{ NVME_ACCEL_JOB_VECTOR, 11, 0, 0, 512, 512, NVME_ACCEL_UNSUPPORTED_OP },
		{ NVME_ACCEL_JOB_NSREF, 11, 0, 0, 512, 512, NVME_ACCEL_UNSUPPORTED_OP },
		{ NVME_ACCEL_JOB_STREAM_FIRST, 11, 0, 0, 512, 512, NVME_ACCEL_UNSUPPORTED_OP },
		{ NVME_ACCEL_JOB_STREAM_LAST, 11, 0, 0, 512, 512, NVME_ACCEL_UNSUPPORTED_OP },
		{ 0, 1, 0, 0, 512, 512, NVME_ACCEL_UNSUPPORTED_OP },
		{ 0, 11, 5, 0, 512, 512, NVME_ACCEL_BAD_OBJECT },
		{ 0, 11, 0, 0, 24577, 512, NVME_ACCEL_BAD_DESC },
		{ 0, 11, 0, 0, UINT64_MAX, 512, NVME_ACCEL_BAD_DESC },
		{ 0, 11, 0, 0, 512, 24577, NVME_ACCEL_BAD_DESC },
		{ 0, 11, 0, 0, 512, UINT64_MAX, NVME_ACCEL_BAD_DESC },
	};
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	uint64_t seq = 1;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++, seq++) {
		fill(f, &d, seq, bad[i].in_len);
		d.out_max = bad[i].out_max;
		d.flags |= bad[i].flags;
		d.stage[0].op = bad[i].op;
		d.stage[0].object = bad[i].object;
		d.stage[0].flags = bad[i].stage_flags;
		assert_int_equal(send(f, &d, 512), 0);
		st = status(f, seq);
		check_status(&st, NVME_ACCEL_ST_FAILED, bad[i].code, seq);
	}
	assert_int_equal(f->e.started, 0);
}

static void needs_features(struct model_cfg *cfg)
{
	cfg->id.feat &= ~(uint64_t)(NVME_ACCEL_FEAT_COMPLETE_ON_DONE | NVME_ACCEL_FEAT_IN_CRC |
				    NVME_ACCEL_FEAT_OUT_CRC | NVME_ACCEL_FEAT_VERIFY | NVME_ACCEL_FEAT_WAIT);
}

static int setup_needs_features(void **state)
{
	return setup_cfg(state, needs_features);
}

static void missing_features(void **state)
{
	static const uint16_t flags[] = { NVME_ACCEL_JOB_COMPLETE_ON_DONE, NVME_ACCEL_JOB_IN_CRC,
					  NVME_ACCEL_JOB_OUT_CRC, NVME_ACCEL_JOB_VERIFY };
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	uint64_t seq;

	for (seq = 1; seq <= 4; seq++) {
		fill(f, &d, seq, 512);
		d.flags |= flags[seq - 1];
		assert_int_equal(send(f, &d, 512), 0);
		st = status(f, seq);
		check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_UNSUPPORTED_OP, seq);
	}
	/* No WAIT alias: it answers at once. */
	assert_int_equal(wait_read(f, 5, f->b), 0);
}

static void checked_only(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 512);
	d.flags = 0;
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_CLAIMED, 0, 1);
	d.stage[0].op = NVME_ACCEL_OP_COMPRESS;
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_CLAIMED, NVME_ACCEL_UNSUPPORTED_OP, 1);
	assert_int_equal(f->e.started, 0);
	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 1);
}

/* ---- Sequence ---- */

static void duplicates(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_true(st.flags & NVME_ACCEL_SF_DUPLICATE_SEEN);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 1);
	assert_int_equal(COUNT(f, duplicates), 2);
	check_output(f, 1, 512);
	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	st = status(f, 2);
	assert_false(st.flags & NVME_ACCEL_SF_DUPLICATE_SEEN);
	fill(f, &d, 1, 512);	/* old */
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 2);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_SUPERSEDED, 0, 1);
	check_output(f, 2, 512);
}

static void gaps(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_SEQ_GAP, 2);
	fill(f, &d, UINT64_MAX, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 0);
	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	/* The result of 1 outlives a gap in its own alias. */
	fill(f, &d, 3, 512);
	assert_int_equal(send(f, &d, 512), 0);
	check_output(f, 1, 512);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	check_output(f, 2, 512);
}

static void busy(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	fill(f, &d, 2, 1024);
	assert_int_equal(send(f, &d, 1024), 0);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_BUSY, 2);
	assert_int_equal(f->e.started, 1);
	env_run_all(&f->e);
	check_output(f, 1, 512);
	assert_int_equal(send(f, &d, 1024), 0);
	assert_int_equal(f->e.started, 2);
	env_run_all(&f->e);
	check_output(f, 2, 1024);
}

static void loading_superseded(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd next;
	struct wire_status st;

	fill(f, &d, 1, 4096);
	d.flags |= NVME_ACCEL_JOB_EXPLICIT | NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	assert_int_equal(send(f, &d, 0), ENV_HELD);
	/* The model has f->w: the next one goes from another. */
	fill(f, &d, 2, 512);
	assert_int_equal(wire_desc_encode(&d, f->desc, f->b), WIRE_OK);
	cmd_set(&next, MODEL_WRITE, waddr(f, 2), f->desc, f->b);
	next.iov[1] = (struct iovec){ f->in, 512 };
	next.c.niov = 2;
	next.c.nbytes += 512;
	assert_int_equal(env_submit(&f->e, &next), 0);
	assert_int_equal(f->w.done, 1);
	env_run_all(&f->e);
	check_output(f, 2, 512);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_SUPERSEDED, 0, 1);
	assert_int_equal(COUNT(f, by_code[NVME_ACCEL_DATA_MISSING]), 1);
}

static void result_until_next(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	int i;

	fill(f, &d, 1, 3000);
	assert_int_equal(send(f, &d, 3000), 0);
	env_run_all(&f->e);
	for (i = 0; i < 5; i++)
		check_output(f, 1, 3000);
	/* Parts, the WAIT alias, both. */
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1) + f->b + 2560, f->out, 1024, 0), 0);
	assert_memory_equal(f->out, f->in + 2560, 440);
	assert_true(mem_is_zero(f->out + 440, 584));
	assert_int_equal(wait_read(f, 1, f->b + 4096), 0);
	assert_memory_equal(f->out + f->b, f->in, 3000);
	assert_true(mem_is_zero(f->out + f->b + 3000, 1096));
	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, f->b + 4096, 0), 0);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_SUPERSEDED);
	assert_true(mem_is_zero(f->out + f->b, 4096));
	/* No output before the end. */
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 2), f->out, f->b + 4096, 0), 0);
	assert_true(mem_is_zero(f->out + f->b, 4096));
}

/* ---- Held commands ---- */

static void held_read(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	assert_int_equal(wait_read(f, 1, f->b + 1024), ENV_HELD);
	fill(f, &d, 1, 700);
	assert_int_equal(send(f, &d, 700), 0);
	assert_int_equal(f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
	assert_memory_equal(f->out + f->b, f->in, 700);
	assert_true(mem_is_zero(f->out + f->b + 700, 324));
	/* For the next job of the alias: waits although the old result is not gone. */
	assert_int_equal(wait_read(f, 2, f->b), ENV_HELD);
	fill(f, &d, 2, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).seq, 2);
	assert_int_equal(COUNT(f, held_reads), 2);
}

static void held_one_a_slot(void **state)
{
	struct fix *f = *state;
	struct cmd second;
	uint8_t block[4096];

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	cmd_set(&second, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 1), block, f->b);
	assert_int_equal(env_submit(&f->e, &second), 0);
	cmd_set(&second, MODEL_READ, wire_wait_addr(&f->e.cfg.id, 0, 2), block, f->b);
	assert_int_equal(env_submit(&f->e, &second), 0);
	assert_int_equal(COUNT(f, hold_refused), 2);
	assert_int_equal(COUNT(f, held_now), 1);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 1);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(model_cancel(f->e.m, &f->r.c), 0);
}

static void held_max(struct model_cfg *cfg)
{
	cfg->max_held = 1;
}

static int setup_held_max(void **state)
{
	return setup_cfg(state, held_max);
}

/* With no room to hold, a write with lent buffers is copied and ends at once; nothing is lost. */
static void held_in_all(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b + 4096), ENV_HELD);
	fill(f, &d, 1, 4000);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	make_write(f, &d, 4000);
	f->w.c.flags = MODEL_CMD_BORROW;
	assert_int_equal(env_submit(&f->e, &f->w), 0);
	memset(f->in, 0, 4000);		/* the sender has its buffer back */
	env_run_all(&f->e);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(f->out[f->b + 1], 7);
}

static void holdmax(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	fill(f, &d, 1, 512);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	f->e.now += 500 * MS;
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	assert_true(model_tick(f->e.m) <= f->e.now + 500 * MS);
	f->e.now += 499 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->r.done, 0);
	f->e.now += MS;
	assert_true(model_tick(f->e.m) == f->e.now + 500 * MS);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_QUEUED);
	assert_int_equal(f->w.done, 0);
	f->e.now += 500 * MS;
	model_tick(f->e.m);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->w.sc, 0);
	assert_int_equal(COUNT(f, hold_timeouts), 2);
	env_run_all(&f->e);
	check_output(f, 1, 512);
}

static void complete_on_done(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct cmd again;

	fill(f, &d, 1, 512);
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	again = f->w;
	assert_int_equal(env_submit(&f->e, &again), ENV_HELD);	/* a repeated one waits as well */
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(again.done, 1);
	assert_int_equal(env_submit(&f->e, &again), 0);
	assert_int_equal(f->e.started, 1);
}

/* A write that fails lets go the read that waits for its job. */
static void broken_write_frees_read(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;

	assert_int_equal(wait_read(f, 1, f->b), ENV_HELD);
	fill(f, &d, 1, 512);
	make_write(f, &d, 512);
	f->desc[60] ^= 1;
	f->w.c.host = 9;
	assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	assert_int_equal(f->r.done, 0);		/* another host's */
	f->w.c.host = 0;
	assert_int_equal(env_submit(&f->e, &f->w), FIELD_);
	assert_int_equal(f->r.done, 1);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_CLAIMED);
}

/* ---- In place ---- */

static void lend(struct fix *f, uint64_t seq, uint64_t n, uint64_t room)
{
	struct wire_desc d;

	fill(f, &d, seq, n);
	d.out_max = room;
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT;
	make_wait(f, seq, f->b + rounded(f, room));
	f->r.c.flags = MODEL_CMD_BORROW;
	make_write(f, &d, n);
	f->w.c.flags = MODEL_CMD_BORROW;
}

static void in_place_list_shapes(void **state)
{
	struct fix *f = *state;
	uint64_t seq;
	unsigned int n, i;

	/* Lists of n pieces of one block each, the first holding more than a block in every other job. */
	for (seq = 1, n = 1; n <= 19; n++, seq++) {
		uint64_t bytes = n * 512u, joined = n & 1 ? 512 : 0;

		lend(f, seq, bytes - 3, bytes);
		for (i = 0; i < n; i++) {
			f->w.iov[i + 1] = (struct iovec){ f->in + i * 512u, 512 };
			f->r.iov[i + 1] = (struct iovec){ f->out + f->b + i * 512u, 512 };
		}
		f->r.iov[0].iov_len = f->b;
		f->w.c.niov = f->r.c.niov = n + 1;
		if (joined) {
			memcpy(f->out + 60000, f->desc, f->b);
			memcpy(f->out + 60000 + f->b, f->in, 512);
			f->w.iov[0] = (struct iovec){ f->out + 60000, f->b + 512 };
			f->w.iov[1].iov_len = 0;
			f->r.iov[0].iov_len = f->b + 512;
			f->r.iov[1].iov_len = 0;
		}
		f->in[5] = (uint8_t)n;
		if (joined)
			f->out[60000 + f->b + 5] = (uint8_t)n;
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		env_run_all(&f->e);
		assert_int_equal(f->w.done, 1);
		assert_int_equal(f->r.done, 1);
		assert_int_equal(decoded(f).flags & NVME_ACCEL_SF_OUTPUT_VALID, NVME_ACCEL_SF_OUTPUT_VALID);
		assert_memory_equal(f->out + f->b, f->in, bytes - 3);
		assert_int_equal(f->out[f->b + bytes - 3], 0xee);	/* never padded */
		assert_int_equal(f->out[f->b + bytes], 0xee);
	}
	assert_true(COUNT(f, in_place) >= 12);
	assert_true(COUNT(f, in_place) < 19);	/* lists that are too long were copied */
}

/* The first block of a command in pieces. */
static void fragmented_blocks(void **state)
{
	struct fix *f = *state;

	lend(f, 1, 1000, 1024);
	f->w.iov[2] = f->w.iov[1];
	f->w.iov[0].iov_len = 100;
	f->w.iov[1] = (struct iovec){ f->desc + 100, f->b - 100 };
	f->w.c.niov = 3;
	f->r.iov[0] = (struct iovec){ f->out, 200 };
	f->r.iov[1] = (struct iovec){ f->out + 200, f->b + 1024 - 200 };
	f->r.c.niov = 2;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	assert_int_equal(decoded(f).state, NVME_ACCEL_ST_DONE);
	assert_memory_equal(f->out + f->b, f->in, 1000);
}

/* Reads that may not be lent to: too small, not from the status on, not at all. The result stays. */
static void not_lent(void **state)
{
	struct fix *f = *state;
	uint64_t seq;

	for (seq = 1; seq <= 4; seq++) {
		lend(f, seq, 1000, 2048);
		if (seq == 1)
			f->r.c.nbytes = f->b + 1024;
		if (seq == 2)
			f->r.c.off += f->b;
		if (seq == 3)
			f->r.c.flags = 0;
		if (seq != 4)
			assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		if (seq == 4)
			assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);	/* after the start */
		env_run_all(&f->e);
		assert_int_equal(f->r.done, 1);
		assert_memory_equal(f->out + (seq == 2 ? 0 : f->b), f->in, 1000);
		check_output(f, seq, 1000);
		check_output(f, seq, 1000);
	}
	assert_int_equal(COUNT(f, in_place), 0);
}

static void in_place_failure(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_AUTH_FAILED);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_AUTH_FAILED, 1);
	assert_int_equal(st.out_len, 0);
	assert_int_equal(st.flags, 0);
	assert_int_equal(f->out[f->b], 0xee);
	assert_int_equal(f->out[f->b + 1023], 0xee);
}

static void cancel_lent(void **state)
{
	struct fix *f = *state;
	struct wire_status st;
	unsigned int round;

	for (round = 1; round <= 2; round++) {
		struct cmd *cut = round == 1 ? &f->r : &f->w, *other = round == 1 ? &f->w : &f->r;

		lend(f, round, 1000, 1024);
		assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
		assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
		assert_int_equal(model_cancel(f->e.m, &cut->c), 1);
		assert_int_equal(cut->done, 0);		/* the engine has its buffer */
		assert_int_equal(f->e.stops, round);
		assert_int_equal(f->e.job[0]->job.stop, 1);
		env_run_all(&f->e);
		assert_int_equal(cut->done, 1);
		assert_int_equal(cut->sc, MODEL_SC_ABORTED);
		assert_int_equal(other->done, 1);
		assert_int_equal(other->sc, 0);
		st = status(f, round);
		check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, round);
	}
}

static void host_gone(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	lend(f, 1, 1000, 1024);
	f->r.c.host = f->w.c.host = 5;
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	model_host_gone(f->e.m, 4);
	assert_int_equal(f->r.done, 0);
	model_host_gone(f->e.m, 5);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	model_host_gone(f->e.m, 5);
	assert_int_equal(f->w.done + f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->w.sc, MODEL_SC_ABORTED);
	assert_int_equal(f->r.sc, MODEL_SC_ABORTED);
	/* The lease lives on. */
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 1);
}

/* ---- The engine's answer ---- */

static void engine_refuses(void **state)
{
	struct fix *f = *state;
	struct wire_status st;

	f->e.refuse = NVME_ACCEL_BUSY;
	lend(f, 1, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->r), ENV_HELD);
	env_submit(&f->e, &f->w);
	assert_int_equal(f->w.done, 1);
	assert_int_equal(f->r.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_NO_RESOURCES, 1);
	assert_int_equal(st.retry_hint, 1);
	f->e.refuse = 0;
	lend(f, 2, 1000, 1024);
	assert_int_equal(env_submit(&f->e, &f->w), ENV_HELD);
	env_run_all(&f->e);
	check_output(f, 2, 1000);
}

static void engine_lies(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;
	uint64_t seq;

	for (seq = 1; seq <= 4; seq++) {
		fill(f, &d, seq, 512);
		assert_int_equal(send(f, &d, 512), 0);
		env_work(&f->e.job[0]->job);
		if (seq == 1)
			f->e.job[0]->job.out_len = 16385;
		if (seq == 2)
			f->e.job[0]->job.fail_stage = 9;
		if (seq == 4)
			f->e.job[0]->job.sflags = 0xffff;
		env_end(&f->e, f->e.job[0], seq == 2 ? NVME_ACCEL_BAD_PARAM : seq == 3 ? 28 : 0);
		st = status(f, seq);
		if (seq == 4)
			assert_int_equal(st.flags, 0x3f);
		else
			check_status(&st, NVME_ACCEL_ST_FAILED,
				     seq == 2 ? NVME_ACCEL_BAD_PARAM : NVME_ACCEL_DEVICE_FAULT, seq);
		assert_int_equal(st.fail_stage, 0);
		assert_int_equal(st.out_len, seq == 4 ? 512 : 0);
		if (seq < 4) {
			assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, seq) + f->b, f->out, 512, 0), 0);
			assert_true(mem_is_zero(f->out, 512));
		}
	}
	/* Reported twice, or never started. */
	model_job_done(f->e.m, &(struct model_job){ .slot = 99 });
	model_job_done(f->e.m, &(struct model_job){ .slot = 1 });
}

/* OUTPUT_SHORT tells how much, and writes nothing that can be read. */
static void output_short(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 2000);
	d.out_max = 1999;
	assert_int_equal(send(f, &d, 2000), 0);
	env_run_all(&f->e);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_OUTPUT_SHORT, 1);
	assert_int_equal(st.out_needed, 2000);
	assert_int_equal(st.out_len, 0);
}

static void key_material(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint8_t key[64];
	size_t n = model_size(&f->e.cfg), i;

	memset(key, 0, sizeof(key));
	key[0] = 32;
	key[1] = 12;
	key[2] = 16;
	for (i = 8; i < sizeof(key); i++)
		key[i] = (uint8_t)(0xc0 ^ i * 29);
	fill(f, &d, 1, 512);
	d.stage[0].op = NVME_ACCEL_OP_ENCRYPT;
	d.stage[0].alg = NVME_ACCEL_ALG_AES_GCM;
	d.stage[0].param = key;
	d.stage[0].param_len = sizeof(key);
	make_write(f, &d, 512);
	assert_int_equal(env_submit(&f->e, &f->w), 0);
	memset(f->desc, 0, sizeof(f->desc));	/* a private copy, not the sender's buffer */
	assert_memory_equal(f->e.job[0]->job.stage[0].param, key, sizeof(key));
	/* The write half reads as zeros. */
	assert_int_equal(env_io(&f->e, MODEL_READ, waddr(f, 1), f->out, 8192, 0), 0);
	assert_true(mem_is_zero(f->out, 8192));
	env_run_all(&f->e);
	for (i = 0; i + 32 <= n; i++)
		assert_memory_not_equal((uint8_t *)f->e.mem + i, key + 16, 32);
	memset(f->desc, 0, 512);
	for (i = 0; i + 16 <= n; i++)	/* the nonce: in the lease record only */
		if (!memcmp((uint8_t *)f->e.mem + i, d.nonce, 16))
			break;
	assert_true(i + 16 <= n);
	for (i++; i + 16 <= n; i++)
		assert_memory_not_equal((uint8_t *)f->e.mem + i, d.nonce, 16);
}

/* ---- Abort and limits ---- */

static int abort_job(struct fix *f, uint64_t seq)
{
	uint8_t block[4096];
	struct wire_desc d;

	fill(f, &d, seq, 0);
	d.flags = NVME_ACCEL_JOB_ABORT;
	d.nstage = 0;
	assert_int_equal(wire_desc_encode(&d, block, f->b), WIRE_OK);
	return env_io(&f->e, MODEL_WRITE, waddr(f, seq), block, f->b, 0);
}

static void abort_states(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 4096);		/* LOADING */
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(abort_job(f, 1), 0);
	assert_int_equal(abort_job(f, 1), 0);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 1);
	assert_int_equal(data(f, 1, 512, 3584), 0);
	assert_int_equal(f->e.started, 0);

	fill(f, &d, 2, 512);		/* RUNNING */
	d.flags |= NVME_ACCEL_JOB_COMPLETE_ON_DONE;
	assert_int_equal(wait_read(f, 2, f->b), ENV_HELD);
	assert_int_equal(send(f, &d, 512), ENV_HELD);
	assert_int_equal(abort_job(f, 2), 0);
	assert_int_equal(abort_job(f, 2), 0);
	assert_int_equal(f->e.stops, 1);
	assert_int_equal(f->r.done, 0);
	env_run_all(&f->e);
	assert_int_equal(f->w.done, 1);
	st = decoded(f);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 2);

	/* Before the job: it is never run. */
	assert_int_equal(wait_read(f, 3, f->b), ENV_HELD);
	assert_int_equal(abort_job(f, 3), 0);
	assert_int_equal(f->r.done, 1);
	fill(f, &d, 3, 512);
	assert_int_equal(send(f, &d, 512), 0);
	st = status(f, 3);
	check_status(&st, NVME_ACCEL_ST_ABORTED, NVME_ACCEL_ABORTED, 3);
	assert_int_equal(f->e.started, 1);

	/* Too late: the result stands. */
	fill(f, &d, 4, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_run_all(&f->e);
	assert_int_equal(abort_job(f, 4), 0);
	check_output(f, 4, 512);
	/* Of an old job, and of one far ahead. */
	assert_int_equal(abort_job(f, 3), 0);
	assert_int_equal(abort_job(f, 9), 0);
	check_output(f, 4, 512);
}

/* An engine that had ended before it saw the abort: what it made is the result. */
static void abort_lost_race(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	env_work(&f->e.job[0]->job);
	assert_int_equal(abort_job(f, 1), 0);
	env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_DONE, 0, 1);
}

static void time_limits(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 1, 4096);		/* LOADING */
	d.limit_ms = 30;
	assert_int_equal(send(f, &d, 512), 0);
	f->e.now += 29 * MS;
	assert_true(model_tick(f->e.m) == f->e.now + MS);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_LOADING, 0, 1);
	f->e.now += MS;
	model_tick(f->e.m);
	st = status(f, 1);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_TIMEOUT, 1);

	fill(f, &d, 2, 512);		/* at the engine */
	d.limit_ms = 30;
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.job[0]->limit_ms, 30);
	f->e.now += 31 * MS;
	model_tick(f->e.m);
	model_tick(f->e.m);
	assert_int_equal(f->e.stops, 1);
	assert_int_equal(abort_job(f, 2), 0);	/* the first reason stays */
	env_run_all(&f->e);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_FAILED, NVME_ACCEL_TIMEOUT, 2);
}

/* ---- Addresses ---- */

static void windows(void **state)
{
	struct fix *f = *state;
	uint64_t half = 1u << f->e.cfg.id.winsh;

	/* The read half does not take writes; the input ends after maxin. */
	assert_int_equal(env_io(&f->e, MODEL_WRITE, raddr(f, 1), f->in, 512, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + f->b + 24576 - 512, f->in, 512, 0), 0);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + f->b + 24576 - 512, f->in, 1024, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + half - 512, f->in, 512, 0), FIELD_);
	/* Across halves, aliases, the WAIT alias. */
	assert_int_equal(env_io(&f->e, MODEL_READ, waddr(f, 1) + half - 512, f->out, 1024, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1) + half - 512, f->out, 1024, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1) + half / 2 - 512, f->out, 1024, 0), FIELD_);
	/* Ends of the output. */
	memset(f->out, 1, 1024);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1) + half / 2 - 512, f->out, 512, 0), 0);
	assert_true(mem_is_zero(f->out, 512));
	/* Not whole blocks. */
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1) + 1, f->out, 512, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, 511, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_READ, raddr(f, 1), f->out, 0, 0), FIELD_);
	assert_int_equal(env_io(&f->e, 9, raddr(f, 1), f->out, 512, 0), MODEL_SC_INVALID_OPCODE);
	assert_int_equal(env_io(&f->e, MODEL_FLUSH, 0, NULL, 0, 0), 0);
}

static void big_blocks(struct model_cfg *cfg)
{
	cfg->id.lbadsx = 12;
	cfg->id.aliasb = 3;
}

static int setup_big_blocks(void **state)
{
	return setup_cfg(state, big_blocks);
}

/* Blocks of 4096 and eight aliases: a chain of jobs, inputs sent ahead. */
static void eight_aliases(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint64_t seq;

	for (seq = 1; seq <= 40; seq++) {
		f->in[0] = (uint8_t)(seq % 3);
		fill(f, &d, seq, 8192 - seq);
		if (seq % 3 == 0)
			assert_int_equal(data(f, seq, 0, 8192), 0);
		assert_int_equal(send(f, &d, seq % 3 ? 8192 : 0), 0);
		assert_int_equal(f->e.njob, 1);
		env_run_all(&f->e);
		check_output(f, seq, 8192 - seq);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TS(name, start) cmocka_unit_test_setup_teardown(name, start, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(inline_job), T(in_place), T(inline_no_output), T(empty_input), T(explicit_any_order),
		T(explicit_descriptor_last), T(split_inline), T(arrival_forgotten), T(late_data_ignored),
		T(data_ahead), TS(short_write, setup_no_explicit), T(foreign_descriptors),
		T(damaged_descriptors), T(reserved_fields), T(wrong_alias), T(job_errors),
		TS(missing_features, setup_needs_features), T(checked_only), T(duplicates), T(gaps), T(busy),
		T(loading_superseded), T(result_until_next), T(held_read), T(held_one_a_slot),
		TS(held_in_all, setup_held_max), T(holdmax), T(complete_on_done), T(broken_write_frees_read),
		T(in_place_list_shapes), T(fragmented_blocks), T(not_lent), T(in_place_failure),
		T(cancel_lent), T(host_gone), T(engine_refuses), T(engine_lies), T(output_short),
		T(key_material), T(abort_states), T(abort_lost_race), T(time_limits), T(windows),
		TS(eight_aliases, setup_big_blocks),
	};

	return cmocka_run_group_tests_name("model_job", tests, NULL, NULL);
}
