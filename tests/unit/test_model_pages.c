// SPDX-License-Identifier: BSD-2-Clause
/* What can be read about a device: identity, error log, engines, statistics; the quiet regions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_model_env.h"

struct fix {
	struct env e;
	uint8_t page[262144];
};

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	env_cfg(&f->e.cfg);
	*state = f;
	return env_start(&f->e);
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

static int get(struct fix *f, uint64_t off, uint64_t n)
{
	memset(f->page, 0xee, n > sizeof(f->page) ? 512 : n);
	return env_io(&f->e, MODEL_READ, off, f->page, n, 0);
}

static void claim(struct fix *f, uint32_t slots)
{
	struct wire_claim c;

	claim_fill(&c, NVME_ACCEL_LEASE_CLAIM, 5, 1, slots);
	memcpy(c.label, "pages", 6);
	assert_int_equal(env_claim(&f->e, 1, &c, 0), 0);
}

static int run(struct fix *f, uint64_t seq, uint16_t op, uint32_t code)
{
	uint8_t buf[1024] = { 0 };
	struct wire_desc d;
	int sc;

	desc_fill(&d, 5, 1, 1, seq, 512, op == NVME_ACCEL_OP_COPY ? 512 : 0);
	d.stage[0].op = op;
	d.stage[0].alg = op == NVME_ACCEL_OP_CHECKSUM ? NVME_ACCEL_ALG_CRC32C : 0;
	assert_int_equal(wire_desc_encode(&d, buf, 512), 0);
	sc = env_io(&f->e, MODEL_WRITE, wire_slot_addr(&f->e.cfg.id, 0, seq, 0), buf, 1024, 0);
	if (sc || !f->e.njob)
		return sc;
	f->e.job[0]->start_ns = f->e.now + 100;
	f->e.now += 1100;
	if (code)
		env_end(&f->e, f->e.job[0], code);
	else
		env_run(&f->e, f->e.job[0]);
	return 0;
}

static void identity(void **state)
{
	struct fix *f = *state;
	struct wire_id id;
	uint8_t page[4096];

	assert_int_equal(get(f, f->e.cfg.id.info_off, 4096), 0);
	model_identify(f->e.m, page);
	assert_memory_equal(f->page, page, 4096);
	assert_int_equal(wire_id_decode(&id, page), 0);
	assert_int_equal(id.state, NVME_ACCEL_DEV_READY);
	assert_int_equal(id.slots_free, 8);
	assert_true(id.bootid != 0);
	claim(f, 3);
	assert_int_equal(get(f, f->e.cfg.id.info_off + 512, 512), 0);	/* a part of the page */
	assert_int_equal(le32_get(f->page + 596 - 512), 5);
}

static void quiet(void **state)
{
	struct fix *f = *state;
	const struct wire_id *id = &f->e.cfg.id;
	uint64_t end = id->nsze << id->lbadsx, tail = end - NVME_ACCEL_QUIET;
	uint8_t block[512] = { 1 };

	assert_int_equal(get(f, 0, 16384), 0);
	assert_true(mem_is_zero(f->page, 16384));
	assert_int_equal(get(f, tail, 16384), 0);
	assert_true(mem_is_zero(f->page, 16384));
	assert_int_equal(get(f, end - 512, 512), 0);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, 0, block, 512, 0), MODEL_SC_INVALID_FIELD);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, tail, block, 512, 0), MODEL_SC_INVALID_FIELD);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, id->info_off, block, 512, 0), MODEL_SC_INVALID_FIELD);
	assert_int_equal(env_io(&f->e, MODEL_WRITE, id->stats_off, block, 512, 0), MODEL_SC_INVALID_FIELD);
	/* Across regions, and beyond the end. */
	assert_int_equal(get(f, NVME_ACCEL_QUIET - 512, 1024), MODEL_SC_INVALID_FIELD);
	assert_int_equal(get(f, NVME_ACCEL_QUIET - 512, 16384), MODEL_SC_INVALID_FIELD);
	assert_int_equal(get(f, id->stats_off - 512, 1024), MODEL_SC_INVALID_FIELD);
	assert_int_equal(get(f, tail - 512, 1024), MODEL_SC_INVALID_FIELD);
	/* The gap before the slots is quiet too; a command from the head to there has regions in it. */
	assert_true(id->slot_off - NVME_ACCEL_QUIET < sizeof(f->page));
	assert_int_equal(get(f, id->slot_off - 512, 512), 0);
	assert_true(mem_is_zero(f->page, 512));
	assert_int_equal(get(f, id->slot_off - 512, 1024), MODEL_SC_INVALID_FIELD);
	assert_int_equal(get(f, NVME_ACCEL_QUIET - 512, id->slot_off - NVME_ACCEL_QUIET + 512),
			 MODEL_SC_INVALID_FIELD);
	assert_int_equal(get(f, end, 512), MODEL_SC_LBA_RANGE);
	assert_int_equal(get(f, end - 512, 1024), MODEL_SC_LBA_RANGE);
	assert_int_equal(get(f, UINT64_MAX - 511, 512), MODEL_SC_LBA_RANGE);
	assert_int_equal(env_io(&f->e, MODEL_READ, 512, f->page, UINT64_MAX - 511, 0), MODEL_SC_LBA_RANGE);
}

static void error_log(void **state)
{
	struct fix *f = *state;
	const uint8_t *e;
	uint64_t i;

	for (i = 0; i < 70; i++)
		get(f, NVME_ACCEL_QUIET - 512, 1024);
	claim(f, 1);
	assert_int_equal(run(f, 2, NVME_ACCEL_OP_COPY, 0), 0);	/* SEQ_GAP */
	assert_int_equal(get(f, f->e.cfg.id.info_off + NVME_ACCEL_INFO_ERRLOG, 4096), 0);
	assert_memory_equal(f->page, NVME_ACCEL_ERRLOG_MAGIC, 4);
	assert_int_equal(le64_get(f->page + 8), 71);
	/* The 71st lies where the 8th was. */
	e = f->page + 64 + 64 * 7;
	assert_int_equal(le64_get(e), 71);
	assert_int_equal(le32_get(e + 32), NVME_ACCEL_SEQ_GAP);
	assert_int_equal(le32_get(e + 36), 0);
	assert_int_equal(le64_get(e + 40), 2);
	e += 64;
	assert_int_equal(le64_get(e), 9);
	assert_int_equal(le64_get(e + 16), NVME_ACCEL_QUIET - 512);
	assert_int_equal(le32_get(e + 24), 1024);
	assert_int_equal(le16_get(e + 28), MODEL_SC_INVALID_FIELD);
	assert_int_equal(e[30], MODEL_READ);
	assert_int_equal(le32_get(e + 36), 0xffffffff);
	model_reset(f->e.m);
	assert_int_equal(get(f, f->e.cfg.id.info_off + NVME_ACCEL_INFO_ERRLOG, 4096), 0);
	assert_true(mem_is_zero(f->page + 8, 4088));
}

static void engines(void **state)
{
	struct fix *f = *state;

	assert_int_equal(get(f, f->e.cfg.id.info_off + NVME_ACCEL_INFO_ENGINES, 4096), 0);
	assert_memory_equal(f->page, NVME_ACCEL_ENGINES_MAGIC, 4);
	assert_int_equal(le32_get(f->page + 8), 2);
	assert_int_equal(le32_get(f->page + 64 + 4), 0xffffffff);
}

/* What the environment knows of its engines goes into the page. */
static void fill_engines(void *ctx, struct nvme_accel_engines *page)
{
	(void)ctx;
	le32_put(&page->queued, 17);
	page->engine[1].busy = 1;
}

static void engines_of_the_environment(void **state)
{
	struct fix *f = *state;
	struct model_env ops = env_ops;

	ops.engines = fill_engines;
	f->e.m = model_init(f->e.mem, &f->e.cfg, &ops, &f->e);
	assert_non_null(f->e.m);
	assert_int_equal(get(f, f->e.cfg.id.info_off + NVME_ACCEL_INFO_ENGINES, 4096), 0);
	assert_int_equal(le32_get(f->page + 12), 17);
	assert_int_equal(f->page[64 + 32], 1);
	assert_int_equal(f->page[64], 0);
}

static void no_statistics(void **state)
{
	struct fix *f = *state;

	f->e.cfg.id.feat &= ~(uint64_t)NVME_ACCEL_FEAT_STATS;
	f->e.m = model_init(f->e.mem, &f->e.cfg, &env_ops, &f->e);
	assert_non_null(f->e.m);
	assert_int_equal(get(f, f->e.cfg.id.stats_off, 8192), 0);
	assert_true(mem_is_zero(f->page, 8192));
}

static void statistics(void **state)
{
	struct fix *f = *state;
	struct nvme_accel_stats st;
	const struct nvme_accel_op_stats *op;
	const struct nvme_accel_lease_stats *l;

	claim(f, 1);
	assert_int_equal(run(f, 1, NVME_ACCEL_OP_COPY, 0), 0);
	assert_int_equal(run(f, 2, NVME_ACCEL_OP_CHECKSUM, 0), 0);
	assert_int_equal(run(f, 3, NVME_ACCEL_OP_COPY, NVME_ACCEL_BAD_INPUT_DATA), 0);
	assert_int_equal(run(f, 4, NVME_ACCEL_OP_PROGRAM, 0), 0);
	assert_int_equal(get(f, f->e.cfg.id.stats_off, 12288), 0);
	memcpy(&st, f->page, sizeof(st));
	assert_memory_equal(st.magic, NVME_ACCEL_STATS_MAGIC, 4);
	assert_int_equal(le64_get(&st.jobs), 4);
	assert_int_equal(le64_get(&st.bytes_in), 1024);
	assert_int_equal(le64_get(&st.bytes_out), 512);
	assert_int_equal(le64_get(&st.queue_ns), 300);
	assert_int_equal(le64_get(&st.exec_ns), 3000);
	assert_int_equal(le64_get(&st.uptime_ns), 3300);
	assert_int_equal(le64_get(&st.by_code[NVME_ACCEL_OK]), 2);
	assert_int_equal(le64_get(&st.by_code[NVME_ACCEL_BAD_INPUT_DATA]), 1);
	assert_int_equal(le64_get(&st.by_code[NVME_ACCEL_UNSUPPORTED_OP]), 1);
	assert_int_equal(le64_get(&st.lat_total[10]), 3);	/* 1100 ns */
	assert_int_equal(le64_get(&st.lat_exec[9]), 3);		/* 1000 ns */
	assert_int_equal(le64_get(&st.lat_exec[0]), 1);
	assert_int_equal(le64_get(&st.write_cmds), 5);
	assert_int_equal(le64_get(&st.lease_grants), 1);
	op = (const void *)(f->page + 4096);
	assert_int_equal(le16_get(&op[0].op), NVME_ACCEL_OP_COPY);
	assert_int_equal(le64_get(&op[0].jobs), 2);
	assert_int_equal(le64_get(&op[0].errors), 1);
	assert_int_equal(le64_get(&op[1].jobs), 1);
	assert_int_equal(le64_get(&op[1].bytes_in), 512);
	l = (const void *)(f->page + NVME_ACCEL_STATS_LEASES);
	assert_int_equal(le64_get(&l[1].jobs), 4);
	assert_int_equal(le64_get(&l[1].errors), 2);
	assert_int_equal(l[1].state, NVME_ACCEL_LEASE_HELD);
	assert_memory_equal(l[1].label, "pages", 6);
	assert_true(mem_is_zero(l[0].claim_id, 8));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(identity), T(quiet), T(error_log), T(engines), T(engines_of_the_environment),
		T(no_statistics), T(statistics),
	};

	return cmocka_run_group_tests_name("model_pages", tests, NULL, NULL);
}
