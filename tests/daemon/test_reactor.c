// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reactors by themselves: messages, timers, sources, going round, starting and ending.
 * with: tools/acceld/reactor.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../tools/acceld/conn.h"

static struct target t;
static struct conf conf;
static unsigned int nticks;

/* What reactor.c calls of the rest of the daemon: there are no connections and no namespaces here. */
void log_event(struct target *target, enum log_level level, const char *event, const char *fmt, ...)
{
	(void)target;
	(void)level;
	(void)event;
	(void)fmt;
}
struct mem *mem_new(struct target *target, uint64_t limit, uint32_t data)
{
	(void)target;
	(void)limit;
	(void)data;
	return malloc(1);
}
void mem_free(struct mem *mem)
{
	free(mem);
}
uint64_t mem_tick(struct mem *mem, uint64_t now)
{
	(void)mem;
	(void)now;
	return UINT64_MAX;
}
uint64_t target_tick(struct target *target)
{
	(void)target;
	__atomic_fetch_add(&nticks, 1, __ATOMIC_RELAXED);
	return UINT64_MAX;
}
void conns_turn_end(struct reactor *r)
{
	(void)r;
}
void conns_close(struct reactor *r)
{
	(void)r;
}
void conns_drain(struct reactor *r)
{
	r->draining = true;
}
bool conn_readable(struct conn *c)
{
	(void)c;
	return false;
}
void conns_stalled(struct reactor_timer *timer)
{
	(void)timer;
}

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.conf = &conf;
	assert_int_equal(reactors_start(&t, 3), 0);
	assert_int_equal(t.nreactor, 3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(reactors_stop(&t));
	reactors_free(&t);
	assert_int_equal(t.nreactor, 0);
	return 0;
}

struct note {
	struct reactor_msg msg;
	struct reactor *r;
	unsigned int *order, at;
	bool self;
};

static void note_fn(struct reactor_msg *msg)
{
	struct note *n = (struct note *)msg;

	n->self = reactor_is_self(n->r);
	n->at = (*n->order)++;
}

static void messages_come_in_order_in_the_right_thread(void **state)
{
	static struct note n[1000];
	unsigned int i, order = 0;

	(void)state;
	assert_false(reactor_is_self(t.reactor[1]));
	for (i = 0; i < 1000; i++) {
		n[i] = (struct note){ .msg.fn = note_fn, .r = t.reactor[1], .order = &order };
		reactor_post(t.reactor[1], &n[i].msg);
	}
	reactors_sync(&t);
	assert_int_equal(order, 1000);
	for (i = 0; i < 1000; i++) {
		assert_true(n[i].self);
		assert_int_equal(n[i].at, i);
	}
}

struct ping {
	struct reactor_msg msg;
	unsigned int left, at;
};

static void ping_fn(struct reactor_msg *msg)
{
	struct ping *p = (struct ping *)msg;

	if (!p->left)
		return;
	__atomic_store_n(&p->left, p->left - 1, __ATOMIC_RELEASE);
	p->at = (p->at + 1) % 3;
	reactor_post(t.reactor[p->at], msg);
}

/* No wake-up is lost: each of these finds the next reactor asleep, or just about to be. */
static void a_message_goes_round(void **state)
{
	struct ping p = { .msg.fn = ping_fn, .left = 20000 };
	unsigned int i;

	(void)state;
	reactor_post(t.reactor[0], &p.msg);
	for (i = 0; i < 20000 && __atomic_load_n(&p.left, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	assert_int_equal(p.left, 0);
	/* Once for whoever said so, once for whom he has sent the last message to. */
	reactors_sync(&t);
	reactors_sync(&t);
}

struct timers {
	struct reactor_msg msg;
	struct reactor_timer timer[5];
	uint64_t start, fired[5];
	unsigned int nset;
};

static struct timers timers;

static void timer_fn(struct reactor_timer *timer)
{
	unsigned int i = (unsigned int)(timer - timers.timer);

	__atomic_store_n(&timers.fired[i], now_ns(), __ATOMIC_RELAXED);
	/* The first one clears the second, sets itself again, once, and the fifth for at once. */
	if (i == 0 && !timers.nset++) {
		reactor_timer_clear(t.reactor[2], &timers.timer[1]);
		reactor_timer_set(t.reactor[2], timer, now_ns() + 20 * NS_PER_MS);
		reactor_timer_set(t.reactor[2], &timers.timer[4], 0);
	}
}

static void timers_fn(struct reactor_msg *msg)
{
	unsigned int i;

	(void)msg;
	for (i = 0; i < 5; i++)
		timers.timer[i].fn = timer_fn;
	timers.start = now_ns();
	reactor_timer_set(t.reactor[2], &timers.timer[0], timers.start + 20 * NS_PER_MS);
	reactor_timer_set(t.reactor[2], &timers.timer[1], timers.start + 20 * NS_PER_MS);
	reactor_timer_set(t.reactor[2], &timers.timer[2], timers.start + 1000 * NS_PER_S);
	reactor_timer_set(t.reactor[2], &timers.timer[2], timers.start + 60 * NS_PER_MS);
	reactor_timer_set(t.reactor[2], &timers.timer[3], timers.start + 1000 * NS_PER_S);
}

static void timers_fire_when_they_are_due(void **state)
{
	unsigned int i;

	(void)state;
	timers.msg.fn = timers_fn;
	reactor_post(t.reactor[2], &timers.msg);
	for (i = 0; i < 1000 && !__atomic_load_n(&timers.fired[2], __ATOMIC_RELAXED); i++)
		usleep(10000);
	usleep(100000);
	reactors_sync(&t);
	assert_int_equal(timers.nset, 2);
	assert_true(timers.fired[0] - timers.start >= 40 * NS_PER_MS);
	assert_int_equal(timers.fired[1], 0);
	assert_true(timers.fired[2] - timers.start >= 60 * NS_PER_MS);
	assert_int_equal(timers.fired[3], 0);
	assert_int_not_equal(timers.fired[4], 0);
	assert_int_equal(timers.timer[2].due_ns, 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Busy polling has an end, and then nothing happens at all. */
static void idle_is_idle(void **state)
{
	unsigned int i, before;
	uint64_t cpu;

	(void)state;
	for (i = 0; i < 3; i++)
		t.reactor[i]->poll_ns = 200000;
	reactors_sync(&t);
	usleep(100000);
	before = __atomic_load_n(&nticks, __ATOMIC_RELAXED);
	cpu = cpu_ns();
	usleep(500000);
	assert_true(cpu_ns() - cpu < 20 * NS_PER_MS);
	assert_true(__atomic_load_n(&nticks, __ATOMIC_RELAXED) - before <= 3);
}

struct reader {
	struct source src;
	unsigned int nbytes;
};

static void read_fn(struct source *src, uint32_t events)
{
	char c;

	assert_true(events & EPOLLIN);
	if (read(src->fd, &c, 1) == 1)
		__atomic_fetch_add(&((struct reader *)src)->nbytes, 1, __ATOMIC_RELAXED);
}

static void sources_are_told_of_and_removed(void **state)
{
	struct reader r = { .src.fn = read_fn };
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	r.src.fd = fd[0];
	assert_int_equal(reactor_add(t.reactor[0], &r.src, EPOLLIN), 0);
	assert_int_equal(reactor_add(t.reactor[0], &r.src, EPOLLIN), -EEXIST);
	assert_int_equal(write(fd[1], "abc", 3), 3);
	usleep(200000);
	assert_int_equal(__atomic_load_n(&r.nbytes, __ATOMIC_RELAXED), 3);
	reactor_del(t.reactor[0], &r.src);
	reactors_sync(&t);
	assert_int_equal(write(fd[1], "d", 1), 1);
	usleep(50000);
	assert_int_equal(__atomic_load_n(&r.nbytes, __ATOMIC_RELAXED), 3);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(messages_come_in_order_in_the_right_thread),
		TEST(a_message_goes_round),
		TEST(timers_fire_when_they_are_due),
		TEST(idle_is_idle),
		TEST(sources_are_told_of_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
