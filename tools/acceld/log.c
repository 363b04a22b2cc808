// SPDX-License-Identifier: BSD-2-Clause
/*
 * The log: one line an event to stderr. An event that repeats is written BURST times, then once a second with the
 * number of those left out, so that a peer which does the same thing again and again cannot fill a disk.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "acceld.h"

#define NEVENTS		64u		/* words; there are fewer */
#define BURST		20u
#define REFILL_NS	NS_PER_S	/* one more each */
#define LINE_MAX_NBYTES	1024u

struct rate {
	const char *event;
	uint64_t last_ns;		/* when tokens were counted */
	uint32_t tokens;
	uint64_t suppressed;
};

struct logger {
	pthread_mutex_t lock;
	int level;			/* atomic */
	pthread_t main;			/* what its thread tells an operator has asked for: never left out */
	bool prefix;			/* stderr goes to the journal: it wants a level as a number */
	struct rate rate[NEVENTS];
};

static const char *const level_name[] = { "error", "warning", "info", "debug" };
static const char *const level_prefix[] = { "<3>", "<4>", "<6>", "<7>" };

int log_start(struct target *t, int level)
{
	t->log = calloc(1, sizeof(*t->log));
	if (!t->log)
		return -1;
	pthread_mutex_init(&t->log->lock, NULL);
	t->log->level = level;
	t->log->main = pthread_self();
	t->log->prefix = getenv("JOURNAL_STREAM") != NULL;
	return 0;
}

void log_stop(struct target *t)
{
	if (!t->log)
		return;
	pthread_mutex_destroy(&t->log->lock);
	free(t->log);
	t->log = NULL;
}

void log_set_level(struct target *t, int level)
{
	__atomic_store_n(&t->log->level, level, __ATOMIC_RELAXED);
}

static struct rate *rate_of(struct logger *log, const char *event)
{
	struct rate *r;
	unsigned int i;

	for (i = 0; i < NEVENTS - 1; i++) {
		r = &log->rate[i];
		if (!r->event) {
			r->event = event;
			r->tokens = BURST;
		}
		if (r->event == event || !strcmp(r->event, event))
			return r;
	}
	return &log->rate[i];	/* shared by whatever comes when all are taken */
}

/* Whether this one is written; then *left_out is how many were not since the last that was. */
static bool may_write(struct logger *log, const char *event, uint64_t *left_out)
{
	struct rate *r = rate_of(log, event);
	struct timespec ts;
	uint64_t now, n;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	n = (now - r->last_ns) / REFILL_NS;
	if (n || !r->last_ns) {
		r->tokens = (uint32_t)BASE_MIN(r->tokens + n, (uint64_t)BURST);
		r->last_ns = now;
	}
	if (!r->tokens) {
		r->suppressed++;
		return false;
	}
	r->tokens--;
	*left_out = r->suppressed;
	r->suppressed = 0;
	return true;
}

/* One write(), so that lines of several threads do not mix; a line that is too long ends in "...". */
static void write_line(const struct logger *log, enum log_level level, const char *event, uint64_t left_out,
		       const char *fmt, va_list ap)
{
	char line[LINE_MAX_NBYTES + 8], extra[48] = "";
	size_t n;
	int k;

	k = snprintf(line, LINE_MAX_NBYTES, "%s%s %s ", log && log->prefix ? level_prefix[level] : "",
		     level_name[level], event);
	n = BASE_MIN((size_t)k, (size_t)LINE_MAX_NBYTES - 1);
	k = vsnprintf(line + n, LINE_MAX_NBYTES - n, fmt, ap);
	n += k > 0 ? (size_t)k : 0;
	if (left_out)
		snprintf(extra, sizeof(extra), " suppressed=%llu", (unsigned long long)left_out);
	if (n + strlen(extra) >= LINE_MAX_NBYTES) {
		n = LINE_MAX_NBYTES - strlen(extra) - 4;
		memcpy(line + n, "...", 3);
		n += 3;
	}
	memcpy(line + n, extra, strlen(extra));
	n += strlen(extra);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;	/* nobody listens */
}

void log_event(struct target *t, enum log_level level, const char *event, const char *fmt, ...)
{
	struct logger *log = t ? t->log : NULL;
	uint64_t left_out = 0;
	bool write_it = true;
	va_list ap;

	if (log && (int)level > __atomic_load_n(&log->level, __ATOMIC_RELAXED))
		return;
	if (log && !pthread_equal(log->main, pthread_self())) {
		pthread_mutex_lock(&log->lock);
		write_it = may_write(log, event, &left_out);
		pthread_mutex_unlock(&log->lock);
	}
	if (!write_it)
		return;
	va_start(ap, fmt);
	write_line(log, level, event, left_out, fmt, ap);
	va_end(ap);
}

const char *log_q(char buf[256], const void *text, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *p = text;
	size_t i, at = 0;

	buf[at++] = '"';
	for (i = 0; i < n && p[i]; i++) {
		if (at > 226) {
			memcpy(buf + at, "...", 3);
			at += 3;
			break;
		}
		if (p[i] < 0x20 || p[i] > 0x7e || p[i] == '"' || p[i] == '\\') {
			buf[at++] = '\\';
			buf[at++] = 'x';
			buf[at++] = hex[p[i] >> 4];
			buf[at++] = hex[p[i] & 15];
		} else {
			buf[at++] = (char)p[i];
		}
	}
	buf[at++] = '"';
	buf[at] = '\0';
	return buf;
}
