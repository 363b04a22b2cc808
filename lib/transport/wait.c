// SPDX-License-Identifier: BSD-2-Clause
/* Waiting for another thread: a short look first, because a sleep and a wake-up cost more than a small job. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "soft.h"

#define SPIN_MAX_NS	25000u
#define SPIN_WORTH_NS	15000u	/* longer waits are slept through from the start */
#define SPIN_START_NS	10000u
#define SEEN_MAX_NS	200000u	/* how long a single wait may count */
#define SPIN_ROUND	32	/* looks between two looks at the clock */

uint64_t wait_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void wait_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	struct timespec ts, *limit = NULL;
	uint64_t now;

	if (deadline_ns != UINT64_MAX) {
		now = wait_now_ns();
		if (now >= deadline_ns)
			return;
		ts.tv_sec = (time_t)((deadline_ns - now) / 1000000000u);
		ts.tv_nsec = (long)((deadline_ns - now) % 1000000000u);
		limit = &ts;
	}
	/* Whatever ends it, the caller looks at the word again. */
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

void wait_wake(uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void wait_spinner_init(struct spinner *s, unsigned int ncpu)
{
	s->enabled = ncpu > 1;
	s->usual_ns = SPIN_START_NS;
	s->began_ns = 0;
}

/* A moving average: what waits have lately been like is what the next one will be like. */
static void learn(struct spinner *s, uint64_t ns)
{
	uint32_t seen = (uint32_t)BASE_MIN(ns, (uint64_t)SEEN_MAX_NS);

	s->usual_ns = (uint32_t)((7 * (uint64_t)s->usual_ns + seen) / 8);
}

bool wait_spin(struct spinner *s, const uint32_t *word, uint32_t value)
{
	uint64_t now;
	int i;

	s->began_ns = now = wait_now_ns();
	/* Where waits are long, or a CPU is hard to get, looking would only take the time of others. */
	if (!s->enabled || s->usual_ns > SPIN_WORTH_NS)
		return false;
	do {
		for (i = 0; i < SPIN_ROUND; i++) {
			if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
				learn(s, now - s->began_ns);
				return true;
			}
			cpu_relax();
		}
		now = wait_now_ns();
	} while (now - s->began_ns < BASE_MIN(2 * s->usual_ns + 1000, SPIN_MAX_NS));
	return false;
}

void wait_slept(struct spinner *s)
{
	learn(s, wait_now_ns() - s->began_ns);
}
