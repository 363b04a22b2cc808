// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reactors: a thread, an epoll set, timers and a list of messages each. Turn by turn a reactor runs what messages,
 * timers and sockets bring, then sends what has become ready of it; it sleeps when nothing is left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "conn.h"

#define NEVENTS		64
#define TIMER_GRAIN_NS	(4 * NS_PER_MS)	/* timers due within this are run together */
#define TICK_NS		NS_PER_MS	/* how often namespaces are asked while there is no time to sleep */
#define STOP_S		30		/* for what still executes when all is to end */
#define HOT_TURNS	8u		/* of a busy poll: turns from one look at all sockets to the next */
#define CREDIT_START	4
#define CREDIT_MAX	16
#define CREDIT_LOST	4		/* for each poll in vain */
#define CREDIT_PAUSE	(-200)		/* turns until the next try */

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t reactor_now(const struct reactor *r)
{
	return r->now;
}

bool reactor_is_self(const struct reactor *r)
{
	return pthread_equal(r->self, pthread_self());
}

/* ---- Messages ---- */

void reactor_post(struct reactor *r, struct reactor_msg *msg)
{
	uint64_t one = 1;

	msg->next = __atomic_load_n(&r->msgs, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&r->msgs, &msg->next, msg, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	/* The message first, then the look at the flag; the reactor does it the other way round. It may have run the
	 * message by now, so that nothing but the reactor itself is certain to be there: see reactors_free(). */
	if (__atomic_load_n(&r->sleeping, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&r->sleeping, 0, __ATOMIC_SEQ_CST) &&
	    write(r->evfd, &one, sizeof(one)) != sizeof(one))
		return;	/* full: it is readable then */
}

static void woken(struct source *src, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(src->fd, &n, sizeof(n)) != sizeof(n))
		return;
}

static bool messages_wait(const struct reactor *r)
{
	return __atomic_load_n(&r->msgs, __ATOMIC_SEQ_CST);
}

static bool messages_run(struct reactor *r)
{
	struct reactor_msg *newest, *oldest = NULL, *next;

	if (!messages_wait(r))
		return false;
	newest = __atomic_exchange_n(&r->msgs, NULL, __ATOMIC_ACQUIRE);
	for (; newest; newest = next) {
		next = newest->next;
		newest->next = oldest;
		oldest = newest;
	}
	for (; oldest; oldest = next) {
		next = oldest->next;
		oldest->fn(oldest);
	}
	return true;
}

/* ---- Timers ---- */

static void timer_link(struct reactor_timer *head, struct reactor_timer *timer)
{
	timer->next = head;
	timer->prev = head->prev;
	head->prev->next = timer;
	head->prev = timer;
}

static void timer_unlink(struct reactor_timer *timer)
{
	timer->prev->next = timer->next;
	timer->next->prev = timer->prev;
	timer->prev = timer->next = NULL;
}

void reactor_timer_set(struct reactor *r, struct reactor_timer *timer, uint64_t due_ns)
{
	if (timer->due_ns)
		timer_unlink(timer);
	timer->due_ns = due_ns ? due_ns : 1;
	timer_link(&r->timers, timer);
	r->timer_due = BASE_MIN(r->timer_due, timer->due_ns + TIMER_GRAIN_NS);
}

void reactor_timer_clear(struct reactor *r, struct reactor_timer *timer)
{
	(void)r;
	if (timer->due_ns)
		timer_unlink(timer);
	timer->due_ns = 0;
}

/* Those that are due are moved to a list of their own first, as what they do may set and clear any timer. */
static void timers_run(struct reactor *r)
{
	struct reactor_timer due = { .prev = &due, .next = &due }, *t, *next;
	uint64_t min = UINT64_MAX;

	if (r->now < r->timer_due)
		return;
	for (t = r->timers.next; t != &r->timers; t = next) {
		next = t->next;
		if (t->due_ns > r->now) {
			min = BASE_MIN(min, t->due_ns);
			continue;
		}
		timer_unlink(t);
		timer_link(&due, t);
	}
	r->timer_due = min == UINT64_MAX ? min : min + TIMER_GRAIN_NS;
	while (due.next != &due) {
		t = due.next;
		timer_unlink(t);
		t->due_ns = 0;
		t->fn(t);
	}
}

/* ---- Sockets ---- */

int reactor_add(struct reactor *r, struct source *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(r->epfd, EPOLL_CTL_ADD, src->fd, &ev) ? -errno : 0;
}

void reactor_mod(struct reactor *r, struct source *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	epoll_ctl(r->epfd, EPOLL_CTL_MOD, src->fd, &ev);
}

void reactor_del(struct reactor *r, struct source *src)
{
	epoll_ctl(r->epfd, EPOLL_CTL_DEL, src->fd, NULL);
}

struct ns_batch *reactor_batch(struct reactor *r)
{
	return &r->batch;
}

/* ---- The loop ---- */

/*
 * Polling pays as long as it mostly succeeds. Where it does not, because hosts are slow or because the engine that is
 * waited for has no CPU but ours, it is given up and tried again only now and then.
 */
static bool worth_it(struct reactor *r)
{
	return r->credit > 0 || ++r->credit > 0;
}

static void poll_lost(struct reactor *r)
{
	r->credit -= CREDIT_LOST;
	if (r->credit <= 0)
		r->credit = CREDIT_PAUSE;
	r->poll_end = 0;
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* After a turn: whether the next one follows without sleep. */
static bool poll_on(struct reactor *r, bool worked)
{
	if (!r->poll_ns)
		return false;
	if (worked) {
		if (r->poll_end)
			r->credit = BASE_MIN(r->credit + 1, CREDIT_MAX);
		r->poll_end = worth_it(r) ? r->now + r->poll_ns : 0;
	} else if (r->poll_end && r->now >= r->poll_end) {
		poll_lost(r);
	} else if (r->poll_end) {
		cpu_relax();
	}
	return r->poll_end;
}

static void tick(struct reactor *r)
{
	r->tick_due = target_tick(r->t);
	r->tick_ns = r->now;
}

/* For epoll: until something is due. */
static int sleep_ms(struct reactor *r)
{
	uint64_t due;

	tick(r);
	due = BASE_MIN(r->tick_due, mem_tick(r->t->mem, r->now));
	due = BASE_MIN(due, r->timer_due);
	if (due == UINT64_MAX)
		return -1;
	if (due <= r->now)
		return 0;
	return (int)BASE_MIN((due - r->now + NS_PER_MS - 1) / NS_PER_MS, 60000u);
}

static int events_wait(struct reactor *r, struct epoll_event *ev, bool sleep)
{
	int ms, n;

	if (!sleep || messages_wait(r))
		return epoll_wait(r->epfd, ev, NEVENTS, 0);
	ms = sleep_ms(r);
	if (r->dirty)	/* what was due has completed commands */
		ms = 0;
	__atomic_store_n(&r->sleeping, 1, __ATOMIC_SEQ_CST);
	n = epoll_wait(r->epfd, ev, NEVENTS, messages_wait(r) ? 0 : ms);
	__atomic_store_n(&r->sleeping, 0, __ATOMIC_SEQ_CST);
	return n;
}

static bool events_run(const struct epoll_event *ev, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		struct source *src = ev[i].data.ptr;

		src->fn(src, ev[i].events);
	}
	return n > 0;
}

/* While it polls, what brought something last is mostly what brings something next. */
static bool looks_at_hot(struct reactor *r, bool sleep)
{
	if (sleep || !r->hot || !r->poll_end)
		return false;
	return ++r->npoll % HOT_TURNS;
}

static bool turn(struct reactor *r, bool sleep)
{
	struct epoll_event ev[NEVENTS];
	bool hot = looks_at_hot(r, sleep), worked;
	int n = hot ? 0 : events_wait(r, ev, sleep);

	r->now = now_ns();
	worked = messages_run(r);
	timers_run(r);
	if (hot)
		worked |= r->hot && conn_readable(r->hot);
	else
		worked |= events_run(ev, n);
	if (r->now - r->tick_ns > TICK_NS && r->now >= r->tick_due)
		tick(r);
	conns_turn_end(r);
	return worked;
}

static void *reactor_main(void *arg)
{
	struct reactor *r = arg;
	bool sleep = true;

	r->now = now_ns();
	while (!r->stopping)
		sleep = !poll_on(r, turn(r, sleep));
	return NULL;
}

/* ---- Life ---- */

unsigned int reactors_ncpu(void)
{
	cpu_set_t set;

	/* It fails where there are more than fit into a set. */
	return sched_getaffinity(0, sizeof(set), &set) ? MAX_REACTORS : (unsigned int)CPU_COUNT(&set);
}

static void reactor_free(struct reactor *r)
{
	if (!r)
		return;
	if (r->epfd >= 0)
		close(r->epfd);
	if (r->evfd >= 0)
		close(r->evfd);
	free(r);
}

static struct reactor *reactor_new(struct target *t, unsigned int index)
{
	struct reactor *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->t = t;
	r->index = index;
	r->timers.prev = r->timers.next = &r->timers;
	r->timer_due = r->tick_due = UINT64_MAX;
	r->stall.fn = conns_stalled;
	r->credit = CREDIT_START;
	/* With one CPU the peer, or the engine, could not run meanwhile. */
	if (reactors_ncpu() > 1)
		r->poll_ns = (uint64_t)t->conf->poll_us * 1000u;
	r->epfd = epoll_create1(EPOLL_CLOEXEC);
	r->evfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->wake = (struct source){ .fn = woken, .fd = r->evfd };
	if (r->epfd < 0 || r->evfd < 0 || reactor_add(r, &r->wake, EPOLLIN)) {
		reactor_free(r);
		return NULL;
	}
	return r;
}

struct start {
	struct reactor *r;
	sem_t sem;
};

static void *reactor_entry(void *arg)
{
	struct start *start = arg;
	struct reactor *r = start->r;
	char name[16];

	snprintf(name, sizeof(name), "acceld/%u", r->index);
	pthread_setname_np(pthread_self(), name);
	r->self = pthread_self();
	sem_post(&start->sem);
	return reactor_main(r);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

/* Returns when the thread has said who it is; signals are for the main thread. */
static int reactor_run(struct reactor *r)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
	struct start start = { .r = r };
	sigset_t set, old;
	unsigned int i;
	int rc;

	sigfillset(&set);
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&set, faults[i]);
	sem_init(&start.sem, 0, 0);
	pthread_sigmask(SIG_SETMASK, &set, &old);
	rc = pthread_create(&r->thread, NULL, reactor_entry, &start);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		wait_for(&start.sem);
	sem_destroy(&start.sem);
	return -rc;
}

int reactors_start(struct target *t, unsigned int n)
{
	struct reactor *r;
	int rc = 0;

	t->mem = mem_new(t, t->conf->memory, t->conf->max_transfer);
	if (!t->mem)
		return -ENOMEM;
	n = BASE_MIN(BASE_MAX(n, 1u), MAX_REACTORS);
	while (!rc && t->nreactor < n) {
		r = reactor_new(t, t->nreactor);
		rc = r ? reactor_run(r) : -ENOMEM;
		if (!rc)
			t->reactor[t->nreactor++] = r;
		else
			reactor_free(r);
	}
	if (!rc)
		return 0;
	log_event(t, LOG_ERROR, "start", "error=\"reactor %u cannot be started: %s\"", t->nreactor, strerror(-rc));
	reactors_stop(t);
	return rc;
}

struct sync {
	struct reactor_msg msg;
	sem_t *sem;
};

static void sync_fn(struct reactor_msg *msg)
{
	sem_post(((struct sync *)msg)->sem);
}

void reactors_sync(struct target *t)
{
	struct sync s[MAX_REACTORS];
	unsigned int i;
	sem_t sem;

	sem_init(&sem, 0, 0);
	for (i = 0; i < t->nreactor; i++) {
		s[i] = (struct sync){ .msg.fn = sync_fn, .sem = &sem };
		reactor_post(t->reactor[i], &s[i].msg);
	}
	for (i = 0; i < t->nreactor; i++)
		wait_for(&sem);
	sem_destroy(&sem);
}

static void drain_fn(struct reactor_msg *msg)
{
	struct reactor *r = (struct reactor *)((char *)msg - offsetof(struct reactor, drain));

	conns_drain(r);
}

void reactors_drain(struct target *t)
{
	unsigned int i;

	for (i = 0; i < t->nreactor; i++) {
		t->reactor[i]->drain.fn = drain_fn;
		reactor_post(t->reactor[i], &t->reactor[i]->drain);
	}
	reactors_sync(t);
}

unsigned int reactors_busy(const struct target *t)
{
	unsigned int i, n = 0;

	for (i = 0; i < t->nreactor; i++)
		n += __atomic_load_n(&t->reactor[i]->nbusy, __ATOMIC_RELAXED);
	return n;
}

static void stop_fn(struct reactor_msg *msg)
{
	struct reactor *r = (struct reactor *)((char *)msg - offsetof(struct reactor, stop));

	conns_close(r);
}

static unsigned int nconn(const struct target *t)
{
	unsigned int i, n = 0;

	for (i = 0; i < t->nreactor; i++)
		n += __atomic_load_n(&t->reactor[i]->nconn, __ATOMIC_ACQUIRE);
	return n;
}

/* The end of a connection may need other reactors, so all go on until none has one. */
static bool conns_gone(struct target *t)
{
	uint64_t end = now_ns() + STOP_S * NS_PER_S;
	struct timespec pause = { .tv_nsec = 2 * NS_PER_MS };

	while (nconn(t)) {
		if (now_ns() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void halt_fn(struct reactor_msg *msg)
{
	struct reactor *r = (struct reactor *)((char *)msg - offsetof(struct reactor, stop));

	r->stopping = true;
}

static void post_all(struct target *t, void (*fn)(struct reactor_msg *msg))
{
	unsigned int i;

	for (i = 0; i < t->nreactor; i++) {
		t->reactor[i]->stop.fn = fn;
		reactor_post(t->reactor[i], &t->reactor[i]->stop);
	}
}

bool reactors_stop(struct target *t)
{
	unsigned int i;

	post_all(t, stop_fn);
	reactors_sync(t);
	if (!conns_gone(t)) {
		log_event(t, LOG_ERROR, "stop", "error=\"commands do not end within %u s\" connections=%u", STOP_S,
			  nconn(t));
		return false;
	}
	post_all(t, halt_fn);
	for (i = 0; i < t->nreactor; i++)
		pthread_join(t->reactor[i]->thread, NULL);
	mem_free(t->mem);
	t->mem = NULL;
	return true;
}

void reactors_free(struct target *t)
{
	unsigned int i;

	for (i = 0; i < t->nreactor; i++)
		reactor_free(t->reactor[i]);
	t->nreactor = 0;
}
