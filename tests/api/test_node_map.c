// SPDX-License-Identifier: BSD-2-Clause
/* Gather lists for nodes: what is used in place, what is copied, and that no byte is lost on the way. */
#include "api_util.h"
#include "../../lib/base/iov.h"
#include "../../lib/transport/node.h"

#define PAGE 4096u
#define ARENA (64u * PAGE)
#define TAIL_ROOM 65536u

static const struct node_limits fabrics = { .block = 512, .dma_mask = 3, .max_segments = 256 };
static const struct node_limits pcie = { .block = 512, .dma_mask = 3, .gap_mask = PAGE - 1, .max_segments = 128 };
static const struct node_limits old = { .block = 512, .dma_mask = 511, .gap_mask = PAGE - 1, .max_segments = 33 };
static const struct node_limits big = { .block = 4096, .dma_mask = 3, .gap_mask = PAGE - 1, .max_segments = 64 };

static uint8_t *pages(size_t n)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, PAGE, n), 0);
	memset(p, 0, n);
	return p;
}

static struct transport_cmd cmd_of(uint32_t flags, const struct iovec *iov, unsigned int niov)
{
	struct transport_cmd cmd = { .flags = flags, .iov = iov, .niov = niov, .nbytes = iov_total(iov, niov) };

	return cmd;
}

/* What the kernel asks of a list that is to stay one command. */
static void check_list(const struct node_map *m, const struct node_limits *l)
{
	uint64_t total = 0, segments = 0;
	unsigned int i;

	for (i = 0; i < m->niov; i++) {
		uintptr_t base = (uintptr_t)m->iov[i].iov_base, end = base + m->iov[i].iov_len;

		assert_int_equal(base & l->dma_mask, 0);
		assert_int_equal(m->iov[i].iov_len % l->block, 0);
		assert_int_not_equal(m->iov[i].iov_len, 0);
		if (i)
			assert_int_equal(base & l->gap_mask, 0);
		if (i + 1 < m->niov)
			assert_int_equal(end & l->gap_mask, 0);
		segments += (end + PAGE - 1) / PAGE - base / PAGE;
		total += m->iov[i].iov_len;
	}
	assert_int_equal(total, m->cmd->nbytes);
	assert_true(segments <= total / PAGE + 3);
}

/* Descriptor at the end of a page, input at the start of one: nothing is copied, on whatever path. */
static void test_in_place(void **state)
{
	const struct node_limits *limits[] = { &fabrics, &pcie, &old };
	uint8_t *p = pages(ARENA);
	struct iovec iov[2] = { { p + PAGE - 512, 512 }, { p + 8 * PAGE, 16 * PAGE } };
	struct transport_cmd cmd = cmd_of(TRANSPORT_WRITE, iov, 2);
	struct node_map m;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(node_map_make(&m, limits[i], &cmd, NULL, 0), 0);
		assert_null(m.bounce);
		assert_int_equal(m.niov, 2);
		assert_ptr_equal(m.iov[1].iov_base, iov[1].iov_base);
		node_map_end(&m, true);
	}
	free(p);
}

/* Input that does not fill its last block: one block is copied, and no more. */
static void test_tail(void **state)
{
	static uint8_t zeros[512];
	uint8_t *p = pages(ARENA);
	struct iovec iov[3] = { { p + PAGE - 512, 512 }, { p + 8 * PAGE, 16 * PAGE + 100 }, { zeros, 412 } };
	struct transport_cmd cmd = cmd_of(TRANSPORT_WRITE, iov, 3);
	struct node_map m;

	(void)state;
	memset(p + 24 * PAGE, 7, 100);
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), 0);
	assert_int_equal(m.niov, 3);
	assert_ptr_equal(m.iov[1].iov_base, iov[1].iov_base);
	assert_int_equal(m.iov[1].iov_len, 16 * PAGE);
	assert_int_equal(m.iov[2].iov_len, 512);
	assert_memory_equal(m.iov[2].iov_base, p + 24 * PAGE, 100);
	assert_memory_equal((uint8_t *)m.iov[2].iov_base + 100, zeros, 412);
	check_list(&m, &pcie);
	node_map_end(&m, true);
	free(p);
}

/* A status block at the start of a page before page-aligned output: the block moves, the output does not. */
static void test_status_block(void **state)
{
	uint8_t *p = pages(ARENA);
	struct iovec iov[2] = { { p, 512 }, { p + 8 * PAGE, 4 * PAGE } };
	struct transport_cmd cmd = cmd_of(TRANSPORT_READ, iov, 2);
	struct node_map m;

	(void)state;
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), 0);
	check_list(&m, &pcie);
	assert_int_equal(m.niov, 2);
	assert_ptr_equal(m.iov[1].iov_base, iov[1].iov_base);
	memset(m.iov[0].iov_base, 9, 512);
	node_map_end(&m, true);
	assert_int_equal(p[0], 9);
	assert_int_equal(p[511], 9);
	assert_int_equal(p[512], 0);
	/* A command that failed leaves the caller's memory alone. */
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), 0);
	memset(m.iov[0].iov_base, 1, 512);
	node_map_end(&m, false);
	assert_int_equal(p[0], 9);
	free(p);
}

static void test_small(void **state)
{
	uint8_t *p = pages(ARENA), *lent = pages(2 * PAGE), zeros[512] = { 0 };
	struct iovec iov[2] = { { p + 1, 512 }, { p + 1001, 4096 } };
	struct transport_cmd cmd = cmd_of(TRANSPORT_WRITE, iov, 2);
	struct node_map m;

	(void)state;
	memset(p, 5, 8192);
	assert_int_equal(node_map_make(&m, &pcie, &cmd, lent, 2 * PAGE), 0);
	assert_int_equal(m.niov, 1);
	assert_ptr_equal(m.iov[0].iov_base, lent);
	assert_memory_equal(lent, p, 4608);
	node_map_end(&m, true);
	/* The descriptor may have carried a key. */
	assert_memory_equal(lent, zeros, 512);
	free(lent);
	free(p);
}

static void test_refused(void **state)
{
	uint8_t *p = pages(PAGE);
	struct iovec iov = { p, 512 };
	struct transport_cmd cmd = cmd_of(TRANSPORT_WRITE, &iov, 1);
	struct node_map m;

	(void)state;
	cmd.off = 100;
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), -EINVAL);
	cmd.off = 0;
	cmd.nbytes = 1024;	/* more than the list has */
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), -EINVAL);
	cmd.nbytes = 0;
	assert_int_equal(node_map_make(&m, &pcie, &cmd, NULL, 0), -EINVAL);
	free(p);
}

static uint32_t rnd(uint32_t *x, uint32_t n)
{
	*x = *x * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(*x >> 4) * n) >> 28);
}

/* A list of odd elements in the arena, a multiple of the block in all. */
static unsigned int odd_list(uint32_t *x, struct iovec *iov, uint8_t *arena, uint32_t block)
{
	unsigned int niov = 1 + rnd(x, 12), i;
	uint64_t total = 0, rest;
	size_t at = 0;

	for (i = 0; i < niov; i++) {
		static const uint32_t aligns[] = { 1, 4, 512, PAGE };
		uint32_t align = aligns[rnd(x, 4)];
		size_t len = rnd(x, 4) ? rnd(x, 9000) : (rnd(x, 4) + 1) * 512;

		at = (at + rnd(x, 600) + align - 1) / align * align;
		iov[i] = (struct iovec){ arena + at, len };
		at += len;
		total += len;
	}
	rest = (block - total % block) % block + (total ? 0 : block);
	iov[niov] = (struct iovec){ arena + at + rnd(x, 64), (size_t)rest };
	return niov + 1;
}

static void gather(const struct iovec *iov, unsigned int niov, uint8_t *out)
{
	struct iov_pos pos = { iov, niov, 0 };

	iov_read(&pos, out, (size_t)iov_total(iov, niov));
}

static void one_random(uint32_t *x, const struct node_limits *l, uint8_t *arena, uint8_t *a, uint8_t *b)
{
	struct iovec iov[16];
	unsigned int niov = odd_list(x, iov, arena, l->block);
	struct transport_cmd cmd = cmd_of(rnd(x, 2) ? TRANSPORT_WRITE : TRANSPORT_READ, iov, niov);
	struct node_map m;
	size_t i;

	for (i = 0; i < ARENA + TAIL_ROOM; i++)
		arena[i] = (uint8_t)rnd(x, 256);
	assert_int_equal(node_map_make(&m, l, &cmd, NULL, 0), 0);
	check_list(&m, l);
	if (cmd.flags & TRANSPORT_WRITE) {
		gather(iov, niov, a);
		gather(m.iov, m.niov, b);
		assert_memory_equal(a, b, cmd.nbytes);
		node_map_end(&m, true);
		return;
	}
	/* The device fills the list it was given; the caller finds the same in his. */
	for (i = 0; i < cmd.nbytes; i++)
		a[i] = (uint8_t)rnd(x, 256);
	iov_write(&(struct iov_pos){ m.iov, m.niov, 0 }, a, (size_t)cmd.nbytes);
	node_map_end(&m, true);
	gather(iov, niov, b);
	assert_memory_equal(a, b, cmd.nbytes);
}

static void test_random(void **state)
{
	const struct node_limits *limits[] = { &fabrics, &pcie, &old, &big };
	uint8_t *arena = pages(ARENA + TAIL_ROOM), *a = pages(ARENA), *b = pages(ARENA);
	uint32_t x = 4711, i;

	(void)state;
	for (i = 0; i < 2000; i++)
		one_random(&x, limits[i % 4], arena, a, b);
	free(arena);
	free(a);
	free(b);
}

/* Elements that one by one would fit, each on two pages: more pieces than the controller gathers, so copied. */
static void test_segments(void **state)
{
	uint8_t *p = pages(ARENA);
	struct iovec iov[30];
	struct transport_cmd cmd;
	struct node_map m;
	unsigned int i;

	(void)state;
	for (i = 0; i < 30; i++)
		iov[i] = (struct iovec){ p + i * 2 * PAGE + PAGE / 2, PAGE };
	cmd = cmd_of(TRANSPORT_READ, iov, 30);
	assert_int_equal(node_map_make(&m, &fabrics, &cmd, NULL, 0), 0);
	check_list(&m, &fabrics);
	assert_int_equal(m.niov, 1);
	node_map_end(&m, true);
	free(p);
}

struct outcome {
	int64_t res;
	int error;
	uint16_t status;
};

/* What refuses a command is known to refuse it; of all else the outcome is unknown, never a success. */
static void test_outcomes(void **state)
{
	static const struct outcome block[] = {
		{ 4096, 0, 0 },
		{ 0, 0, 0x4080 }, { 512, 0, 0x4080 },
		{ -EOPNOTSUPP, 0, 0x4002 }, { -EINVAL, 0, 0x4002 },
		{ -ENODATA, 0, 0x4286 }, { -ENOSPC, 0, 0x4080 },
		{ -EIO, -EIO, 0 }, { -ENOLINK, -ENOLINK, 0 }, { -ETIMEDOUT, -ETIMEDOUT, 0 },
		{ -EREMOTEIO, -EREMOTEIO, 0 }, { -EBADE, -EBADE, 0 }, { -EAGAIN, -EAGAIN, 0 },
	};
	static const struct outcome ng[] = {
		{ 0, 0, 0 }, { 0x4002, 0, 0x4002 }, { 0x4286, 0, 0x4286 }, { 0x6, 0, 0x6 },
		{ 0x3022, 0, 0x22 }, { -EIO, -EIO, 0 }, { -EINTR, -EINTR, 0 }, { -EACCES, -EACCES, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(block) / sizeof(block[0]); i++) {
		struct transport_cmd cmd = { .nbytes = 4096, .error = 1, .nvme_status = 1 };

		node_outcome(&cmd, block[i].res);
		assert_int_equal(cmd.error, block[i].error);
		assert_int_equal(cmd.nvme_status, block[i].status);
	}
	for (i = 0; i < sizeof(ng) / sizeof(ng[0]); i++) {
		struct transport_cmd cmd = { .nbytes = 4096, .error = 1, .nvme_status = 1 };

		node_outcome_ng(&cmd, ng[i].res);
		assert_int_equal(cmd.error, ng[i].error);
		assert_int_equal(cmd.nvme_status, ng[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place), cmocka_unit_test(test_tail), cmocka_unit_test(test_status_block),
		cmocka_unit_test(test_small),	 cmocka_unit_test(test_refused), cmocka_unit_test(test_random),
		cmocka_unit_test(test_segments), cmocka_unit_test(test_outcomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
