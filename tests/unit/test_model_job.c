// SPDX-License-Identifier: BSD-2-Clause
/* Jobs up to the engine: descriptors, sequence, input, addresses; and their results. */
#include "test_model_fix.h"

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

/* A write that was split, its second part lost, and sent again as a whole: the job starts, and once. */
static void split_and_lost(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	uint64_t seq;

	for (seq = 1; seq <= 4; seq++) {
		fill(f, &d, seq, 6000);
		assert_int_equal(send(f, &d, 2048), 0);
		assert_int_equal(f->e.njob, 0);
		/* Half of it again, then all, then all once more. */
		assert_int_equal(send(f, &d, 2048), 0);
		assert_int_equal(f->e.njob, 0);
		assert_int_equal(send(f, &d, 6144), 0);
		assert_int_equal(f->e.njob, 1);
		assert_int_equal(send(f, &d, 6144), 0);
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

/* No job has the number 0: such a descriptor is an old one, even before the first job. */
static void number_zero(void **state)
{
	struct fix *f = *state;
	struct wire_desc d;
	struct wire_status st;

	fill(f, &d, 2, 512);
	make_write(f, &d, 512);
	le64_put(f->desc + 8, 0);
	fix_crc(f->desc);
	assert_int_equal(env_submit(&f->e, &f->w), 0);
	st = status(f, 2);
	check_status(&st, NVME_ACCEL_ST_CLAIMED, 0, 0);
	assert_int_equal(COUNT(f, stale), 1);
	fill(f, &d, 1, 512);
	assert_int_equal(send(f, &d, 512), 0);
	assert_int_equal(f->e.started, 1);
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

/* ---- Addresses ---- */

static void windows(void **state)
{
	struct fix *f = *state;
	uint64_t half = 1u << f->e.cfg.id.winsh;

	/* The read half does not take writes; the input ends after maxin. */
	assert_int_equal(env_io(&f->e, MODEL_WRITE, raddr(f, 1), f->in, 512, 0), FIELD_);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + f->b + 24576 - 512, f->in, 512, 0), 0);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, 1) + f->b + 24576 - 512, f->in, 1024, 0),
			 FIELD_);
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

static void many_blocks_cfg(struct model_cfg *cfg)
{
	unsigned int i;

	cfg->id.winsh = 19;
	cfg->id.maxin = cfg->id.maxout = 200 * 512 + 100;
	for (i = 0; i < cfg->id.nops; i++)
		cfg->id.ops[i].max_in = cfg->id.maxin;
}

static int setup_many_blocks(void **state)
{
	return setup_cfg(state, many_blocks_cfg);
}

static int arrived(const uint8_t *there, uint32_t blocks)
{
	return !memchr(there, 0, blocks);
}

/* Up to 201 blocks of input in random pieces: the job starts with the last one, be it which it may. */
static void many_blocks(void **state)
{
	struct fix *f = *state;
	uint8_t there[201], *in = calloc(1, sizeof(there) * 512);
	struct wire_desc d;
	uint32_t first, n, blocks;
	uint64_t seq;

	assert_non_null(in);
	for (seq = 1; seq <= 300; seq++) {
		memset(there, 0, sizeof(there));
		fill(f, &d, seq, 1 + env_rand(&f->e) % f->e.cfg.id.maxin);
		blocks = (uint32_t)((d.in_len + 511) / 512);
		d.flags |= NVME_ACCEL_JOB_EXPLICIT;
		assert_int_equal(send(f, &d, 0), 0);
		while (!arrived(there, blocks)) {
			assert_int_equal(f->e.njob, 0);
			first = (uint32_t)(env_rand(&f->e) % blocks);
			n = 1 + (uint32_t)(env_rand(&f->e) % (env_rand(&f->e) & 1 ? 201 - first : 3));
			n = n > 201 - first ? 201 - first : n;
			memset(in, (int)(seq & 0xff), n * 512u);
			assert_int_equal(env_io(&f->e, MODEL_WRITE, waddr(f, seq) + 512 + first * 512u, in,
						n * 512u, 0), 0);
			memset(there + first, 1, n);
		}
		assert_int_equal(f->e.njob, 1);
		memset(in, (int)(seq & 0xff), sizeof(there) * 512);
		assert_memory_equal(f->e.job[0]->job.in[0].iov_base, in, d.in_len);
		env_end(&f->e, f->e.job[0], NVME_ACCEL_OK);
	}
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(inline_job), T(inline_no_output), T(empty_input), T(explicit_any_order),
		T(explicit_descriptor_last), T(split_inline), T(split_and_lost), T(arrival_forgotten), T(late_data_ignored),
		T(data_ahead), TS(short_write, setup_no_explicit), T(foreign_descriptors),
		T(damaged_descriptors), T(reserved_fields), T(number_zero), T(wrong_alias), T(job_errors),
		TS(missing_features, setup_needs_features), T(checked_only), T(duplicates), T(gaps),
		T(busy), T(loading_superseded), T(result_until_next), T(windows),
		TS(eight_aliases, setup_big_blocks),
		TS(many_blocks, setup_many_blocks),
	};

	return cmocka_run_group_tests_name("model_job", tests, NULL, NULL);
}
