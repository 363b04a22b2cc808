/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress on a terminal, for work that takes more than a second. */
#include "tool.h"
#include <time.h>
#include <unistd.h>

#define FIRST_NS  1000000000u
#define PERIOD_NS 200000000u
#define BAR_WIDTH 30

uint64_t tool_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void progress_start(struct progress *p, const struct tool *t, const char *what, uint64_t total)
{
	*p = (struct progress){
		.on = !t->quiet && isatty(STDERR_FILENO),
		.total = total,
		.start_ns = tool_now_ns(),
		.what = what,
	};
}

/* A name may hold what would move the cursor. */
static void short_name(char *buf, size_t n, const char *name)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < n; i++)
		buf[i] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
	buf[i] = 0;
}

static void draw(struct progress *p, uint64_t done, uint64_t now)
{
	char name[41];
	double seconds = (double)(now - p->start_ns) / 1e9;
	char size[32], rate[32], bar[BAR_WIDTH + 1] = "";
	unsigned int percent = 0;

	short_name(name, sizeof(name), p->what);
	out_size(size, sizeof(size), done);
	out_size(rate, sizeof(rate), (uint64_t)((double)done / seconds));
	if (p->total) {
		percent = (unsigned int)((double)done * 100.0 / (double)p->total);
		percent = percent > 100 ? 100 : percent;
		for (unsigned int i = 0; i < BAR_WIDTH; i++)
			bar[i] = i * 100 < percent * BAR_WIDTH ? '#' : '.';
		fprintf(stderr, "\r%s [%s] %3u %% %s, %s/s\033[K", name, bar, percent, size, rate);
	} else {
		fprintf(stderr, "\r%s %s, %s/s\033[K", name, size, rate);
	}
	fflush(stderr);
	p->shown = true;
}

void progress_update(struct progress *p, uint64_t done)
{
	uint64_t now;

	if (!p || !p->on)
		return;
	now = tool_now_ns();
	if (now - p->start_ns < FIRST_NS || now - p->last_ns < PERIOD_NS)
		return;
	p->last_ns = now;
	draw(p, done, now);
}

void progress_end(struct progress *p)
{
	if (p && p->shown)
		fputs("\r\033[K", stderr);
	if (p)
		p->on = p->shown = false;
}
