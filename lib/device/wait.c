// SPDX-License-Identifier: BSD-2-Clause
/* Waiting for another thread: a short look first, because a sleep and a wake-up cost more than a small job. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../base/bits.h"
#include "wait.h"

#define SPIN_NS		20000u
#define CREDIT_START	4
#define CREDIT_MAX	16
#define CREDIT_LOST	4	/* for each look in vain */
#define CREDIT_PAUSE	(-200)	/* waits until the next try */
#define CREDIT_NEVER	INT32_MIN
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
	s->credit = ncpu > 1 ? CREDIT_START : CREDIT_NEVER;
}

/*
 * Looking pays as long as it mostly succeeds. Where it does not, because jobs are long or because the one
 * that is waited for has no CPU but ours, it is given up and tried again only now and then.
 */
static bool worth_it(struct spinner *s)
{
	if (s->credit > 0)
		return true;
	if (s->credit == CREDIT_NEVER || ++s->credit <= 0)
		return false;
	return true;
}

bool wait_spin(struct spinner *s, const uint32_t *word, uint32_t value)
{
	uint64_t end;
	int i;

	if (!worth_it(s))
		return false;
	end = wait_now_ns() + SPIN_NS;
	do {
		for (i = 0; i < SPIN_ROUND; i++) {
			if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
				s->credit = BASE_MIN(s->credit + 1, CREDIT_MAX);
				return true;
			}
			cpu_relax();
		}
	} while (wait_now_ns() < end);
	s->credit -= CREDIT_LOST;
	if (s->credit <= 0)
		s->credit = CREDIT_PAUSE;
	return false;
}
