/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for another thread: a short look first, because a sleep and a wake-up cost more than a small job. */
#ifndef ACCEL_DEVICE_WAIT_H
#define ACCEL_DEVICE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* How long it pays to look at a word before sleeping on it; learns from how it went. */
struct spinner {
	int32_t credit;
};

uint64_t wait_now_ns(void);		/* CLOCK_MONOTONIC */
/* Sleeps while *word is value, at most until deadline_ns. */
void wait_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns);
void wait_wake(uint32_t *word, int n);
void wait_spinner_init(struct spinner *s, unsigned int ncpu);
/* Looks at *word for a short while; true: it is not value any more. */
bool wait_spin(struct spinner *s, const uint32_t *word, uint32_t value);

#endif
