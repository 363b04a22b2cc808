// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of the daemon by itself: limits, who waits and who is served, whose bytes are in a buffer, what is given back.
 * with: tools/acceld/mem.c tools/acceld/mem_size.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "../../tools/acceld/mem.h"

#define MIB		(1u << 20)
#define LIMIT		(32u * MIB)		/* so data have 24 MiB, their last eighth is 3 MiB */
#define MAX_WAITS	8192

static struct reactor_msg *posted[MAX_WAITS];
static unsigned int nposted;

/* What mem.c calls of the rest of the daemon. */
void reactor_post(struct reactor *r, struct reactor_msg *msg)
{
	(void)r;
	assert_true(nposted < MAX_WAITS);
	posted[nposted++] = msg;
}

void log_event(struct target *t, enum log_level level, const char *event, const char *fmt, ...)
{
	(void)t;
	(void)level;
	(void)event;
	(void)fmt;
}

struct fix {
	struct target t;
	struct conf conf;
	struct mem *m;
	struct mem_host *a, *b;
	struct mem_wait w[MAX_WAITS];
	unsigned int n;
};

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->conf.in_capsule = 16384;
	f->t.conf = &f->conf;
	f->t.nreactor = 1;
	f->m = mem_new(&f->t, LIMIT, MIB);
	assert_non_null(f->m);
	f->a = mem_host_get(f->m, 1);
	f->b = mem_host_get(f->m, 2);
	nposted = 0;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	assert_int_equal(f->t.count.mem_used, 0);
	assert_false(mem_short(f->m));
	mem_host_put(f->m, f->a);
	mem_host_put(f->m, f->b);
	mem_free(f->m);
	free(f);
	return 0;
}

static struct mem_wait *ask(struct fix *f, struct mem_host *host, enum mem_kind kind, uint32_t nbytes, bool *got)
{
	struct mem_wait *w = &f->w[f->n++];

	assert_true(f->n <= MAX_WAITS);
	w->host = host;
	w->kind = (uint8_t)kind;
	w->nbytes = nbytes;
	*got = mem_get(f->m, w);
	if (*got)
		mem_own(f->m, w);
	return w;
}

/* As many as are given at once. */
static unsigned int take(struct fix *f, struct mem_host *host, enum mem_kind kind, uint32_t nbytes)
{
	unsigned int n = 0;
	bool got;

	for (;; n++) {
		struct mem_wait *w = ask(f, host, kind, nbytes, &got);

		if (got)
			continue;
		assert_true(mem_cancel(f->m, w));
		f->n--;
		return n;
	}
}

static void put_all(struct fix *f)
{
	while (f->n)
		if (f->w[--f->n].buf)
			mem_put(f->m, &f->w[f->n]);
}

static void one_host_has_not_all(void **state)
{
	struct fix *f = *state;
	unsigned int a, b;

	a = take(f, f->a, MEM_READ, MIB);
	assert_in_range(a, 6, 11);
	b = take(f, f->b, MEM_READ, MIB);
	assert_true(b >= 1);
	assert_true(a + b <= 12);
	put_all(f);
}

static void reads_leave_room_for_writes_and_capsules(void **state)
{
	struct fix *f = *state;

	take(f, f->a, MEM_READ, MIB);
	take(f, f->b, MEM_READ, MIB);
	assert_true(take(f, f->a, MEM_R2T, MIB) >= 4);
	take(f, f->b, MEM_R2T, MIB);
	/* What the others cannot have is there for capsules: 3 MiB, of which a host has most. */
	assert_true(take(f, f->a, MEM_ICD, 16384) >= 140);
	assert_true(take(f, f->b, MEM_ICD, 16384) >= 1);
	assert_true(f->t.count.mem_used <= LIMIT);
	put_all(f);
}

static void large_ones_leave_room_for_small_ones(void **state)
{
	struct fix *f = *state;
	struct mem_host *h[16];
	unsigned int i, n;

	for (i = 0; i < 16; i++) {
		h[i] = mem_host_get(f->m, 10 + i);
		take(f, h[i], MEM_R2T, MIB);
		take(f, h[i], MEM_READ, MIB);
	}
	n = take(f, f->a, MEM_READ, 4096);
	assert_true(n >= 16);
	assert_true(take(f, f->a, MEM_R2T, 4096) >= 16);
	put_all(f);
	for (i = 0; i < 16; i++)
		mem_host_put(f->m, h[i]);
}

static void small_ones_do_not_starve_a_large_one(void **state)
{
	struct fix *f = *state;
	struct mem_wait *large;
	unsigned int i, n;
	bool got;

	n = take(f, f->a, MEM_READ, 4096) + take(f, f->b, MEM_READ, 4096);
	assert_true(n > 1000);
	large = ask(f, f->b, MEM_READ, MIB, &got);
	assert_false(got);
	/* As each small one ends, another wants its place. */
	for (i = 0; i + 1 < n && !nposted; i++) {
		struct mem_wait again = { .host = f->a, .kind = MEM_READ, .nbytes = 4096 };

		mem_put(f->m, &f->w[i]);
		if (mem_get(f->m, &again))
			mem_put(f->m, &again);
		else
			assert_true(mem_cancel(f->m, &again));
	}
	assert_int_equal(nposted, 1);
	assert_ptr_equal(posted[0], &large->msg);
	mem_own(f->m, large);
	put_all(f);
}

static void waiting_is_in_order_and_hosts_take_turns(void **state)
{
	struct fix *f = *state;
	struct mem_wait *a1, *a2, *b1;
	unsigned int i, na, nb;
	bool got;

	na = take(f, f->a, MEM_READ, MIB);
	nb = take(f, f->b, MEM_READ, MIB);
	a1 = ask(f, f->a, MEM_READ, MIB, &got);
	assert_false(got);
	a2 = ask(f, f->a, MEM_READ, MIB, &got);
	assert_false(got);
	b1 = ask(f, f->b, MEM_READ, MIB, &got);
	assert_false(got);
	assert_true(mem_short(f->m));
	assert_true(f->t.count.mem_waits >= 3);
	for (i = 0; i < na; i++)
		mem_put(f->m, &f->w[i]);
	assert_int_equal(nposted, 3);
	assert_ptr_equal(posted[2], &a2->msg);
	assert_true(posted[0] == &a1->msg || posted[0] == &b1->msg);
	assert_true(posted[1] == &a1->msg || posted[1] == &b1->msg);
	assert_ptr_not_equal(posted[0], posted[1]);
	for (i = 0; i < nb; i++)
		mem_put(f->m, &f->w[na + i]);
	mem_put(f->m, a1);
	mem_put(f->m, a2);
	mem_put(f->m, b1);
	f->n = 0;
}

static void cancelled_ones_get_nothing(void **state)
{
	struct fix *f = *state;
	struct mem_wait *w, *v;
	unsigned int n;
	bool got;

	n = take(f, f->a, MEM_READ, MIB);
	w = ask(f, f->a, MEM_READ, MIB, &got);
	assert_false(got);
	v = ask(f, f->a, MEM_READ, MIB, &got);
	assert_false(got);
	assert_true(mem_cancel(f->m, w));
	assert_false(mem_cancel(f->m, w));
	assert_true(n > 2);
	mem_put(f->m, &f->w[0]);
	assert_int_equal(nposted, 1);
	assert_ptr_equal(posted[0], &v->msg);
	assert_false(mem_cancel(f->m, v));
	assert_null(w->buf);
	put_all(f);
}

static void no_byte_of_another_host(void **state)
{
	struct fix *f = *state;
	struct mem_wait *w;
	void *first;
	bool got;

	w = ask(f, f->a, MEM_R2T, 300000, &got);
	assert_true(got);
	first = w->buf;
	memset(w->buf, 0xa5, 300000);
	mem_put(f->m, w);
	/* The same host finds what it left; so it is the same buffer. */
	w = ask(f, f->a, MEM_READ, 270000, &got);
	assert_ptr_equal(w->buf, first);
	assert_int_equal(((uint8_t *)w->buf)[1000], 0xa5);
	mem_put(f->m, w);
	/* Another one gets zeros, behind what the last one used, too. */
	w = ask(f, f->b, MEM_READ, 524288, &got);
	assert_ptr_equal(w->buf, first);
	assert_true(mem_is_zero(w->buf, 524288));
	mem_put(f->m, w);
	f->n = 0;
}

static size_t resident(void *p, size_t n)
{
	unsigned char vec[256];
	size_t i, pages = n / 4096, sum = 0;

	assert_true(pages <= 256);
	assert_int_equal(mincore(p, n, vec), 0);
	for (i = 0; i < pages; i++)
		sum += vec[i] & 1;
	return sum;
}

static void rested_buffers_lose_their_pages(void **state)
{
	struct fix *f = *state;
	uint64_t now = NS_PER_S, next = 0;
	struct mem_wait *w;
	unsigned int i;
	void *p;
	bool got;

	assert_int_equal(mem_tick(f->m, now), UINT64_MAX);
	w = ask(f, f->a, MEM_R2T, MIB, &got);
	p = w->buf;
	memset(p, 1, MIB);
	mem_put(f->m, w);
	f->n = 0;
	assert_int_equal(resident(p, MIB), 256);
	for (i = 0; i < 10 && next != UINT64_MAX; i++) {
		next = mem_tick(f->m, now);
		now = next;
	}
	assert_int_equal(next, UINT64_MAX);
	assert_int_equal(resident(p, MIB), 0);
	w = ask(f, f->b, MEM_READ, MIB, &got);
	assert_true(mem_is_zero(w->buf, MIB));
	put_all(f);
}

/* One size after another takes all there may be: what has pages never exceeds the limit. */
static void sizes_share_the_limit(void **state)
{
	struct fix *f = *state;
	uint32_t nbytes;
	uint64_t used;

	for (nbytes = 4096; nbytes <= MIB; nbytes *= 2) {
		take(f, f->a, MEM_R2T, nbytes);
		take(f, f->b, MEM_READ, nbytes);
		used = f->t.count.mem_used;
		assert_true(used > LIMIT / 4 && used <= LIMIT);
		put_all(f);
	}
}

static void tables_have_a_limit_of_their_own(void **state)
{
	struct fix *f = *state;

	assert_int_equal(mem_reserve(f->m, LIMIT / 4), 0);
	assert_int_not_equal(mem_reserve(f->m, 1), 0);
	assert_true(take(f, f->a, MEM_READ, MIB) >= 6);
	put_all(f);
	mem_unreserve(f->m, LIMIT / 4);
	assert_int_equal(mem_reserve(f->m, 1), 0);
	mem_unreserve(f->m, 1);
	assert_int_not_equal(mem_reserve(f->m, UINT64_MAX), 0);
}

static void plenty_is_true_only_when_it_is(void **state)
{
	struct fix *f = *state;

	assert_true(mem_plenty(f->m, f->a, 65536));
	take(f, f->a, MEM_R2T, MIB);
	take(f, f->b, MEM_R2T, MIB);
	take(f, f->b, MEM_READ, MIB);
	assert_false(mem_plenty(f->m, f->a, 65536));
	put_all(f);
	assert_true(mem_plenty(f->m, f->a, 65536));
}

static void too_little_is_refused(void **state)
{
	struct fix *f = *state;

	assert_null(mem_new(&f->t, 3 * MIB, MIB));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_host_has_not_all),
		TEST(reads_leave_room_for_writes_and_capsules),
		TEST(large_ones_leave_room_for_small_ones),
		TEST(small_ones_do_not_starve_a_large_one),
		TEST(waiting_is_in_order_and_hosts_take_turns),
		TEST(cancelled_ones_get_nothing),
		TEST(no_byte_of_another_host),
		TEST(rested_buffers_lose_their_pages),
		TEST(sizes_share_the_limit),
		TEST(tables_have_a_limit_of_their_own),
		TEST(plenty_is_true_only_when_it_is),
		TEST(too_little_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
