// SPDX-License-Identifier: BSD-2-Clause
/* Waiting for another thread: a short look first, because a sleep and a wake-up cost more than a small job. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "soft.h"

#define SPIN_MAX_NS	50000u
#define SPIN_START_NS	20000u
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

void wait_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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
	s->max_ns = ncpu > 1 ? SPIN_MAX_NS : 0;
	s->ns = BASE_MIN(SPIN_START_NS, s->max_ns);
}

bool wait_spin(struct spinner *s, const uint32_t *word, uint32_t value)
{
	uint64_t end;
	int i;

	if (!s->ns)
		return false;
	end = wait_now_ns() + s->ns;
	do {
		for (i = 0; i < SPIN_ROUND; i++) {
			if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
				s->ns = BASE_MIN(s->ns + s->ns / 4 + 500, s->max_ns);
				return true;
			}
			cpu_relax();
		}
	} while (wait_now_ns() < end);
	s->ns /= 2;
	if (s->ns < 1000)
		s->ns = 0;
	return false;
}

void wait_slept(struct spinner *s, uint64_t ns)
{
	if (ns < s->max_ns && s->ns < SPIN_START_NS)
		s->ns = SPIN_START_NS;
}
