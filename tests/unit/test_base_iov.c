// SPDX-License-Identifier: BSD-2-Clause
/*
 * Scatter lists against a reference that knows only one flat array: random lists with empty elements, some
 * of them without memory, every element an allocation of its own so that a sanitizer sees each end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "wire_samples.h"

#define MAX_ELEMENTS 12
#define MAX_ELEMENT  40
#define MAX_TOTAL    (MAX_ELEMENTS * MAX_ELEMENT)
#define ROUNDS	     20000

struct list {
	struct iovec iov[MAX_ELEMENTS];
	unsigned int niov;
	size_t total;
	uint8_t flat[MAX_TOTAL];
};

static void list_fill(struct list *l, uint64_t *s)
{
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->niov = (unsigned int)rnd_below(s, MAX_ELEMENTS + 1);
	for (i = 0; i < l->niov; i++) {
		size_t n = rnd_below(s, 3) ? rnd_below(s, MAX_ELEMENT + 1) : 0;

		l->iov[i].iov_len = n;
		l->iov[i].iov_base = n || rnd(s) & 1 ? malloc(n ? n : 1) : NULL;
		rnd_bytes(s, l->flat + l->total, n);
		if (n)
			memcpy(l->iov[i].iov_base, l->flat + l->total, n);
		l->total += n;
	}
}

static void list_free(struct list *l)
{
	unsigned int i;

	for (i = 0; i < l->niov; i++)
		free(l->iov[i].iov_base);
}

/* What the list holds now must be what the flat array holds. */
static void list_check(const struct list *l)
{
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < l->niov; i++) {
		if (l->iov[i].iov_len)
			assert_memory_equal(l->iov[i].iov_base, l->flat + at, l->iov[i].iov_len);
		at += l->iov[i].iov_len;
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A place off bytes into the list, and how far that is. */
static size_t place(const struct list *l, struct iov_pos *pos, uint64_t *s)
{
	size_t off = rnd_below(s, l->total + 3);

	*pos = (struct iov_pos){ l->iov, l->niov, 0 };
	assert_int_equal(iov_skip(pos, off), least(off, l->total));
	return least(off, l->total);
}

static void test_total(void **state)
{
	struct iovec huge[3] = { { NULL, SIZE_MAX }, { NULL, 0 }, { NULL, 1 } };
	uint64_t s = 1;
	int round;

	(void)state;
	for (round = 0; round < 1000; round++) {
		struct list l;

		list_fill(&l, &s);
		assert_int_equal(iov_total(l.iov, l.niov), l.total);
		list_free(&l);
	}
	assert_true(iov_total(huge, 2) == SIZE_MAX);
	if (sizeof(size_t) == 8)
		assert_true(iov_total(huge, 3) == UINT64_MAX);
	assert_int_equal(iov_total(NULL, 0), 0);
}

static void test_read(void **state)
{
	uint64_t s = 2;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list l;
		struct iov_pos pos;
		uint8_t out[MAX_TOTAL + 8];
		size_t off, n, m, got;

		list_fill(&l, &s);
		off = place(&l, &pos, &s);
		n = rnd_below(&s, MAX_TOTAL + 8);
		m = least(n, l.total - off);
		memset(out, 0xa5, sizeof(out));
		got = iov_read(&pos, out, n);
		assert_int_equal(got, m);
		assert_memory_equal(out, l.flat + off, m);
		assert_true(m == sizeof(out) || out[m] == 0xa5);
		/* And what comes behind is read on from there. */
		got = iov_read(&pos, out, sizeof(out));
		assert_int_equal(got, l.total - off - m);
		assert_memory_equal(out, l.flat + off + m, got);
		list_free(&l);
	}
}

static void test_write_and_zero(void **state)
{
	uint64_t s = 3;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list l;
		struct iov_pos pos;
		uint8_t src[MAX_TOTAL + 8];
		size_t off, n, m;

		list_fill(&l, &s);
		off = place(&l, &pos, &s);
		n = rnd_below(&s, sizeof(src));
		m = least(n, l.total - off);
		if (round & 1) {
			rnd_bytes(&s, src, n);
			assert_int_equal(iov_write(&pos, src, n), m);
		} else {
			memset(src, 0, n);
			assert_int_equal(iov_zero(&pos, n), m);
		}
		memcpy(l.flat + off, src, m);
		list_check(&l);
		list_free(&l);
	}
}

static void test_copy(void **state)
{
	uint64_t s = 4;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list a, b;
		struct iov_pos to, from;
		size_t at, src, n, m;
		uint8_t next;

		list_fill(&a, &s);
		list_fill(&b, &s);
		at = place(&a, &to, &s);
		src = place(&b, &from, &s);
		n = rnd_below(&s, MAX_TOTAL);
		m = least(n, least(a.total - at, b.total - src));
		assert_int_equal(iov_copy(&to, &from, n), m);
		memcpy(a.flat + at, b.flat + src, m);
		list_check(&a);
		list_check(&b);
		/* Both places have moved by what was copied. */
		assert_int_equal(iov_skip(&to, UINT64_MAX), a.total - at - m);
		if (iov_read(&from, &next, 1))
			assert_int_equal(next, b.flat[src + m]);
		else
			assert_int_equal(src + m, b.total);
		list_free(&a);
		list_free(&b);
	}
}

static void test_next(void **state)
{
	uint64_t s = 5;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list l;
		struct iov_pos pos;
		size_t at, n;
		void *p = NULL;

		list_fill(&l, &s);
		at = place(&l, &pos, &s);
		assert_int_equal(iov_next(&pos, &p, 0), 0);
		for (;;) {
			size_t max = 1 + rnd_below(&s, MAX_ELEMENT);

			n = iov_next(&pos, &p, max);
			if (!n)
				break;
			assert_true(n <= max && at + n <= l.total);
			assert_memory_equal(p, l.flat + at, n);
			at += n;
		}
		assert_int_equal(at, l.total);
		list_free(&l);
	}
}

static void test_flat(void **state)
{
	uint64_t s = 6;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list l;
		size_t first = 0, n;
		unsigned int i;
		void *p;

		list_fill(&l, &s);
		for (i = 0; i < l.niov && !first; i++)
			first = l.iov[i].iov_len;
		n = rnd_below(&s, MAX_ELEMENT + 2);
		p = iov_flat(l.iov, l.niov, n);
		assert_true((p != NULL) == (n == 0 || n <= first));
		if (p && n)
			assert_memory_equal(p, l.flat, n);
		list_free(&l);
	}
	assert_non_null(iov_flat(NULL, 0, 0));
	assert_null(iov_flat(NULL, 0, 1));
}

/* How many elements n bytes from off touch. */
static int touched(const struct list *l, size_t off, size_t n)
{
	size_t at = 0;
	int count = 0;
	unsigned int i;

	for (i = 0; i < l->niov; at += l->iov[i].iov_len, i++)
		count += l->iov[i].iov_len && at < off + n && off < at + l->iov[i].iov_len && n;
	return count;
}

static void test_slice(void **state)
{
	uint64_t s = 7;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct list l;
		struct iovec sub[MAX_ELEMENTS + 1] = { { NULL, 0 } };
		size_t off, n, at;
		unsigned int max;
		int got, want, i;

		list_fill(&l, &s);
		off = rnd_below(&s, l.total + 2);
		n = rnd_below(&s, l.total + 2);
		max = (unsigned int)rnd_below(&s, MAX_ELEMENTS + 1);
		want = off > l.total || n > l.total - off ? -1 : touched(&l, off, n);
		if (want > (int)max)
			want = -1;
		sub[max].iov_len = 12345;
		got = iov_slice(sub, max, l.iov, l.niov, off, n);
		assert_int_equal(got, want);
		assert_int_equal(sub[max].iov_len, 12345);
		for (i = 0, at = off; i < got; at += sub[i++].iov_len)
			assert_memory_equal(sub[i].iov_base, l.flat + at, sub[i].iov_len);
		if (got >= 0)
			assert_int_equal(at, off + n);
		list_free(&l);
	}
	assert_int_equal(iov_slice(NULL, 0, NULL, 0, UINT64_MAX, UINT64_MAX), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_total), cmocka_unit_test(test_read),
		cmocka_unit_test(test_write_and_zero), cmocka_unit_test(test_copy),
		cmocka_unit_test(test_next), cmocka_unit_test(test_flat), cmocka_unit_test(test_slice),
	};

	return cmocka_run_group_tests_name("base_iov", tests, NULL, NULL);
}
