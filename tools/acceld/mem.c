// SPDX-License-Identifier: BSD-2-Clause
/*
 * Data buffers. Each size has address space for all the memory there is, of which only so much is backed by pages as
 * the limit allows: no mixture of sizes can fragment it. Free buffers keep their pages until another size needs them
 * or they have rested for a while.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "mem.h"
#include "mem_size.h"

#define REST_NS		(2 * NS_PER_S)	/* buffers not needed for so long lose their pages */
#define TRIM_BATCH	64u
#define SHARE		3u		/* of what is free, for a host that has some already */
#define SMALL_LOG2	14u

/* Where one waits. Who wants much would wait for ever if those behind took the little that becomes free, so within a
 * queue nobody is overtaken. */
enum queue { Q_READ, Q_R2T, Q_LARGE, Q_READ_SMALL = Q_LARGE, Q_R2T_SMALL, Q_ICD, NQUEUE };

struct mem_host {
	struct mem_host *next, *prev;		/* all */
	struct mem_host *ring_next, *ring_prev;	/* those that wait */
	uint64_t id;
	uint32_t refs, nwait, turn;
	uint64_t used[MEM_KINDS];		/* atomic for mem_plenty() */
	struct mem_wait queue[NQUEUE];		/* heads of circular lists */
};

struct mem {
	struct target *t;
	pthread_mutex_t lock;
	uint64_t limit, tables_limit;		/* of data, of the rest */
	uint64_t used, cached, tables;		/* used: atomic for mem_plenty() */
	uint64_t used_by[MEM_KINDS], small;	/* parts of used; small: of reads and R2Ts */
	uint64_t trim_ns;			/* atomic; when to look for rested ones */
	uint32_t nwait, nwait_in[NQUEUE];	/* the first atomic */
	uint64_t served_ns[NQUEUE];		/* atomic: when one that waited got something last */
	uint32_t nsize;
	struct mem_host *hosts, *ring;
	struct size size[MEM_CLASSES];
};

static void set(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

struct mem *mem_new(struct target *t, uint64_t limit, uint32_t data)
{
	struct mem *m = calloc(1, sizeof(*m));
	uint32_t log2 = MEM_MIN_LOG2;
	uint64_t least;

	if (!m)
		goto nomem;
	m->t = t;
	m->tables_limit = limit / 4;
	m->limit = limit - m->tables_limit;
	m->trim_ns = UINT64_MAX;
	pthread_mutex_init(&m->lock, NULL);
	/* What the last eighth is for must fit there, and two of the largest beside it. */
	least = BASE_MAX(data, 4ull * BASE_MAX(t->conf->in_capsule, 8192u)) * 4;
	if (limit < least) {
		log_event(t, LOG_ERROR, "memory-limit", "memory=%llu hint=\"with this max_transfer and in_capsule "
			  "memory must be at least %llu\"", (unsigned long long)limit, (unsigned long long)least);
		mem_free(m);
		return NULL;
	}
	do {
		if (size_init(&m->size[m->nsize++], log2, m->limit))
			goto nomem;
	} while ((1ull << log2++) < data && m->nsize < MEM_CLASSES);
	return m;
nomem:
	log_event(t, LOG_ERROR, "memory-limit", "memory=%llu error=\"address space for it cannot be had\"",
		  (unsigned long long)limit);
	mem_free(m);
	return NULL;
}

void mem_free(struct mem *m)
{
	uint32_t i;

	if (!m)
		return;
	for (i = 0; i < m->nsize; i++)
		size_fini(&m->size[i]);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- Other memory ---- */

int mem_reserve(struct mem *m, uint64_t nbytes)
{
	int rc = -ENOMEM;

	pthread_mutex_lock(&m->lock);
	if (nbytes <= m->tables_limit - m->tables) {
		m->tables += nbytes;
		count(&m->t->count.mem_used, nbytes);
		rc = 0;
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

void mem_unreserve(struct mem *m, uint64_t nbytes)
{
	pthread_mutex_lock(&m->lock);
	m->tables -= nbytes;
	count(&m->t->count.mem_used, -nbytes);
	pthread_mutex_unlock(&m->lock);
}

/* ---- Hosts ---- */

static struct mem_host *host_new(struct mem *m, uint64_t id)
{
	struct mem_host *h = calloc(1, sizeof(*h));
	unsigned int k;

	if (!h)
		return NULL;
	h->id = id;
	for (k = 0; k < NQUEUE; k++)
		h->queue[k].prev = h->queue[k].next = &h->queue[k];
	h->next = m->hosts;
	if (h->next)
		h->next->prev = h;
	m->hosts = h;
	return h;
}

struct mem_host *mem_host_get(struct mem *m, uint64_t id)
{
	struct mem_host *h;

	pthread_mutex_lock(&m->lock);
	for (h = m->hosts; h && h->id != id; h = h->next)
		;
	if (!h)
		h = host_new(m, id);
	if (h)
		h->refs++;
	pthread_mutex_unlock(&m->lock);
	return h;
}

void mem_host_put(struct mem *m, struct mem_host *h)
{
	pthread_mutex_lock(&m->lock);
	if (!--h->refs) {
		*(h->prev ? &h->prev->next : &m->hosts) = h->next;
		if (h->next)
			h->next->prev = h->prev;
		free(h);
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- Buffers ---- */

static struct size *size_of(struct mem *m, uint32_t nbytes)
{
	uint32_t i = 0;

	while ((1ull << m->size[i].log2) < nbytes)
		i++;
	return &m->size[i];
}

/* Takes pages from the size that has most of them to spare. */
static bool evict_one(struct mem *m)
{
	struct size *s = m->size;
	uint32_t i;

	for (i = 1; i < m->nsize; i++)
		if ((uint64_t)m->size[i].nfree << m->size[i].log2 > (uint64_t)s->nfree << s->log2)
			s = &m->size[i];
	i = size_take_oldest(s);
	if (i == NO_BLOCK)
		return false;
	size_give_back(s, i);
	size_put_blank(s, i);
	m->cached -= 1ull << s->log2;
	return true;
}

/* NULL, although the limits allow it, only while trim_some() has what is missing; it is about to bring that back. */
static void *buffer_get(struct mem *m, struct size *s)
{
	uint64_t n = 1ull << s->log2;
	void *buf = size_get_used(s);

	if (buf) {
		m->cached -= n;
		return buf;
	}
	while (m->used + m->cached + n > m->limit)
		if (!evict_one(m))
			return NULL;
	return size_get_blank(s);
}

/* ---- Who may have one ---- */

enum answer { GRANTED, OWN_LIMIT, FULL };

static enum queue queue_of(const struct mem_wait *w)
{
	bool small = w->nbytes <= 1u << SMALL_LOG2;

	switch (w->kind) {
	case MEM_READ:
		return small ? Q_READ_SMALL : Q_READ;
	case MEM_R2T:
		return small ? Q_R2T_SMALL : Q_R2T;
	default:
		return Q_ICD;
	}
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Room for reads and R2Ts together. */
static uint64_t room_both(const struct mem *m, bool small)
{
	uint64_t most = m->limit - m->limit / 8 - (small ? 0 : m->limit / 32), n = less(most, m->used);

	if (small && m->nwait_in[Q_READ] + m->nwait_in[Q_R2T])
		n = BASE_MIN(n, less(m->limit / 4, m->small));
	return n;
}

static uint64_t room(const struct mem *m, enum queue q)
{
	bool small = q >= Q_LARGE;
	uint64_t most, spare = small ? 0 : m->limit / 32;

	if (q == Q_ICD)
		return less(m->limit, m->used);
	if (q == Q_READ || q == Q_READ_SMALL)
		most = less(m->limit / 2 - spare, m->used_by[MEM_READ]);
	else
		most = less(m->limit / 8 * 5 - spare, m->used_by[MEM_R2T]);
	return BASE_MIN(most, room_both(m, small));
}

static bool host_may(const struct mem_host *h, unsigned int kind, uint64_t n, uint64_t free_nbytes)
{
	uint64_t used = h->used[kind];

	return !used || used + n <= SHARE * free_nbytes;
}

static void account(struct mem *m, struct mem_wait *w, uint64_t n)
{
	uint64_t *used = &w->host->used[w->kind];

	set(&m->used, m->used + n);
	set(used, *used + n);
	m->used_by[w->kind] += n;
	if (queue_of(w) == Q_READ_SMALL || queue_of(w) == Q_R2T_SMALL)
		m->small += n;
	count(&m->t->count.mem_used, n);
}

static enum answer try(struct mem *m, struct mem_wait *w)
{
	struct size *s = size_of(m, w->nbytes);
	uint64_t n = 1ull << s->log2, left = room(m, queue_of(w));

	if (n > left)
		return FULL;
	if (!host_may(w->host, w->kind, n, left))
		return OWN_LIMIT;
	w->buf = buffer_get(m, s);
	if (!w->buf)
		return FULL;
	account(m, w, n);
	return GRANTED;
}

/* ---- Waiting ---- */

static void ring_add(struct mem *m, struct mem_host *h)
{
	if (!m->ring) {
		m->ring = h->ring_next = h->ring_prev = h;
		return;
	}
	h->ring_next = m->ring;
	h->ring_prev = m->ring->ring_prev;
	h->ring_prev->ring_next = h;
	m->ring->ring_prev = h;
}

static void ring_del(struct mem *m, struct mem_host *h)
{
	if (h->ring_next == h) {
		m->ring = NULL;
		return;
	}
	h->ring_prev->ring_next = h->ring_next;
	h->ring_next->ring_prev = h->ring_prev;
	if (m->ring == h)
		m->ring = h->ring_next;
}

static void enqueue(struct mem *m, struct mem_wait *w)
{
	struct mem_wait *head = &w->host->queue[queue_of(w)];

	w->prev = head->prev;
	w->next = head;
	head->prev->next = w;
	head->prev = w;
	if (!w->host->nwait++)
		ring_add(m, w->host);
	m->nwait_in[queue_of(w)]++;
	__atomic_store_n(&m->nwait, m->nwait + 1, __ATOMIC_RELAXED);
}

static void dequeue(struct mem *m, struct mem_wait *w)
{
	w->prev->next = w->next;
	w->next->prev = w->prev;
	w->prev = NULL;
	if (!--w->host->nwait)
		ring_del(m, w->host);
	m->nwait_in[queue_of(w)]--;
	__atomic_store_n(&m->nwait, m->nwait - 1, __ATOMIC_RELAXED);
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* What nobody gets any more in this round: what waits in q found nothing. */
static void mark_full(const struct mem *m, enum queue q, bool full[NQUEUE])
{
	full[q] = true;
	/* If what both kinds have together is the reason, the other one would take what this one waits for. */
	if (q < Q_LARGE && room(m, q) == room_both(m, false))
		full[Q_READ] = full[Q_R2T] = true;
	if (q == Q_ICD)
		memset(full, true, NQUEUE * sizeof(*full));
}

/* The first that waits in a queue; true if it got what it waits for. */
static bool serve_queue(struct mem *m, struct mem_host *h, enum queue q, bool full[NQUEUE])
{
	struct mem_wait *w = h->queue[q].next;
	enum answer a;

	if (w == &h->queue[q] || full[q])
		return false;
	a = try(m, w);
	if (a == FULL)
		mark_full(m, q, full);
	if (a != GRANTED)
		return false;
	dequeue(m, w);
	set(&m->served_ns[q], monotonic_ns());
	reactor_post(w->reactor, &w->msg);
	return true;
}

static bool serve_host(struct mem *m, struct mem_host *h, bool full[NQUEUE])
{
	unsigned int i, first = h->turn++;
	bool got = serve_queue(m, h, Q_ICD, full);

	for (i = 0; i < Q_ICD; i++)
		if (serve_queue(m, h, (first + i) % Q_ICD, full))
			got = true;
	return got;
}

/* Hosts take turns. */
static void serve(struct mem *m)
{
	bool full[NQUEUE] = { false }, got = true;
	struct mem_host *h, *next;
	uint32_t i, n;

	while (got && m->ring) {
		got = false;
		for (n = 1, h = m->ring; h->ring_next != m->ring; h = h->ring_next)
			n++;
		for (i = 0, h = m->ring; i < n; i++, h = next) {
			next = h->ring_next;
			if (!serve_host(m, h, full))
				continue;
			got = true;
			if (m->ring)
				m->ring = next == h ? m->ring : next;
		}
	}
}

bool mem_get(struct mem *m, struct mem_wait *w)
{
	bool got, overtakes;
	enum queue q;

	w->prev = NULL;
	pthread_mutex_lock(&m->lock);
	q = queue_of(w);
	overtakes = m->nwait_in[q] || (q < Q_LARGE && m->nwait_in[Q_READ] + m->nwait_in[Q_R2T]);
	got = !overtakes && try(m, w) == GRANTED;
	if (!got) {
		enqueue(m, w);
		count(&m->t->count.mem_waits, 1);
		serve(m);
	}
	pthread_mutex_unlock(&m->lock);
	return got;
}

bool mem_cancel(struct mem *m, struct mem_wait *w)
{
	bool waits;

	pthread_mutex_lock(&m->lock);
	waits = w->prev != NULL;
	if (waits) {
		dequeue(m, w);
		serve(m);
	}
	pthread_mutex_unlock(&m->lock);
	return waits;
}

void mem_own(struct mem *m, struct mem_wait *w)
{
	size_own(size_of(m, w->nbytes), w->buf, w->host->id, w->nbytes);
}

void mem_put(struct mem *m, struct mem_wait *w)
{
	struct size *s = size_of(m, w->nbytes);
	uint64_t n = 1ull << s->log2;

	pthread_mutex_lock(&m->lock);
	size_put(s, w->buf);
	m->cached += n;
	account(m, w, -n);
	if (get(&m->trim_ns) == UINT64_MAX)
		set(&m->trim_ns, 0);
	if (m->nwait)
		serve(m);
	pthread_mutex_unlock(&m->lock);
	w->buf = NULL;
}

uint64_t mem_served(const struct mem *m, const struct mem_wait *w)
{
	return get(&m->served_ns[queue_of(w)]);
}

bool mem_short(const struct mem *m)
{
	return __atomic_load_n(&m->nwait, __ATOMIC_RELAXED);
}

bool mem_plenty(const struct mem *m, const struct mem_host *h, uint32_t n)
{
	/* A capsule has 72 bytes at least besides its data, and its data one buffer of the smallest size at least. */
	uint64_t most = (uint64_t)n / 73 << MEM_MIN_LOG2, used = get(&m->used);

	return !mem_short(m) && used < m->limit && (m->t->nreactor + 1) * most <= m->limit - used &&
	       (!h || get(&h->used[MEM_ICD]) + most <= SHARE * (m->limit - used - most));
}

/* ---- Giving back ---- */

/* Up to n buffers, without holding anybody up; how many it were. */
static uint32_t trim_some(struct mem *m, struct size *s, uint32_t n)
{
	uint32_t idx[TRIM_BATCH], i, k = 0;

	pthread_mutex_lock(&m->lock);
	for (n = BASE_MIN(n, TRIM_BATCH); k < n; k++) {
		idx[k] = size_take_oldest(s);
		if (idx[k] == NO_BLOCK)
			break;
	}
	pthread_mutex_unlock(&m->lock);
	for (i = 0; i < k; i++)
		size_give_back(s, idx[i]);
	pthread_mutex_lock(&m->lock);
	for (i = 0; i < k; i++)
		size_put_blank(s, idx[i]);
	m->cached -= (uint64_t)k << s->log2;
	if (m->nwait)
		serve(m);
	pthread_mutex_unlock(&m->lock);
	return k;
}

static void trim_size(struct mem *m, struct size *s)
{
	uint32_t rested, k = 1;

	pthread_mutex_lock(&m->lock);
	rested = s->low;
	pthread_mutex_unlock(&m->lock);
	for (; rested && k; rested -= k)
		k = trim_some(m, s, rested);
	pthread_mutex_lock(&m->lock);
	s->low = s->nfree;
	pthread_mutex_unlock(&m->lock);
}

static void trim(struct mem *m, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < m->nsize; i++)
		trim_size(m, &m->size[i]);
	pthread_mutex_lock(&m->lock);
	set(&m->trim_ns, m->cached ? now_ns + REST_NS : UINT64_MAX);
	pthread_mutex_unlock(&m->lock);
}

uint64_t mem_tick(struct mem *m, uint64_t now_ns)
{
	uint64_t due = get(&m->trim_ns);

	if (due > now_ns)
		return due;
	/* One reactor does it; a first call after a rest only begins to count. */
	if (!__atomic_compare_exchange_n(&m->trim_ns, &due, now_ns + REST_NS, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return now_ns + REST_NS;
	if (due)
		trim(m, now_ns);
	return get(&m->trim_ns);
}
