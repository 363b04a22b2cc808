// SPDX-License-Identifier: BSD-2-Clause
/*
 * The daemon's log: lines, levels, quoting, and how often the same event is told.
 * with: tools/acceld/log.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../tools/acceld/acceld.h"

static struct target t;
static FILE *file;
static int old_stderr;

static int setup(void **state)
{
	(void)state;
	file = tmpfile();
	assert_non_null(file);
	old_stderr = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	assert_int_equal(log_start(&t, LOG_INFO), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_stop(&t);
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	fclose(file);
	return 0;
}

static char *written(void)
{
	static char buf[65536];
	ssize_t n = pread(fileno(file), buf, sizeof(buf) - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static unsigned int lines(void)
{
	unsigned int n = 0;
	const char *p;

	for (p = written(); *p; p++)
		n += *p == '\n';
	return n;
}

static void a_line_has_level_event_and_pairs(void **state)
{
	(void)state;
	log_event(&t, LOG_WARNING, "some-event", "peer=%s n=%u", "127.0.0.1:1", 7);
	assert_string_equal(written(), "warning some-event peer=127.0.0.1:1 n=7\n");
}

static void levels_beyond_the_limit_are_silent(void **state)
{
	(void)state;
	log_event(&t, LOG_DEBUG, "x", "a=1");
	assert_string_equal(written(), "");
	log_set_level(&t, LOG_DEBUG);
	log_event(&t, LOG_DEBUG, "x", "a=1");
	assert_string_equal(written(), "debug x a=1\n");
}

static void *flood(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; i < 1000; i++)
		log_event(&t, LOG_INFO, "flood", "i=%u", i);
	log_event(&t, LOG_INFO, "other", "a=1");
	return NULL;
}

static void in_thread(void *(*fn)(void *arg))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, NULL), 0);
	pthread_join(thread, NULL);
}

static void *once(void *arg)
{
	(void)arg;
	log_event(&t, LOG_INFO, "flood", "last=1");
	return NULL;
}

static void an_event_that_repeats_is_left_out_and_counted(void **state)
{
	unsigned int n;

	(void)state;
	in_thread(flood);
	n = lines();
	assert_in_range(n, 21, 24);
	assert_non_null(strstr(written(), "info other a=1\n"));
	usleep(1100000);
	in_thread(once);
	assert_int_equal(lines(), n + 1);
	assert_non_null(strstr(written(), "last=1 suppressed=9"));
}

static void the_main_thread_is_never_silent(void **state)
{
	(void)state;
	flood(NULL);
	assert_int_equal(lines(), 1001);
}

static void a_long_line_is_cut(void **state)
{
	char text[4000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_event(&t, LOG_INFO, "long", "text=%s", text);
	assert_int_equal(lines(), 1);
	assert_true(strlen(written()) <= 1024);
	assert_non_null(strstr(written(), "xxx...\n"));
}

static void text_from_outside_is_quoted(void **state)
{
	char buf[256], text[600];

	(void)state;
	assert_string_equal(log_q(buf, "a\"b\\c\n\x7f\xff", 8), "\"a\\x22b\\x5cc\\x0a\\x7f\\xff\"");
	assert_string_equal(log_q(buf, "abc\0def", 7), "\"abc\"");
	assert_string_equal(log_q(buf, "abc", 2), "\"ab\"");
	assert_string_equal(log_q(buf, "", 0), "\"\"");
	memset(text, 'A', sizeof(text));
	log_q(buf, text, sizeof(text));
	assert_in_range(strlen(buf), 200, 240);
	memset(text, 1, sizeof(text));
	log_q(buf, text, sizeof(text));
	assert_in_range(strlen(buf), 200, 240);
	assert_string_equal(buf + strlen(buf) - 4, "...\"");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_level_event_and_pairs),
		TEST(levels_beyond_the_limit_are_silent),
		TEST(an_event_that_repeats_is_left_out_and_counted),
		TEST(the_main_thread_is_never_silent),
		TEST(a_long_line_is_cut),
		TEST(text_from_outside_is_quoted),
	};

	unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
