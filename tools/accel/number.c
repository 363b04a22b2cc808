/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of the command line. */
#include "tool.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Factor of a suffix; 0: no such suffix. */
static uint64_t unit(const char *s)
{
	static const char letters[] = "kmgtpe";
	const char *p;
	uint64_t base = 1024, factor = 1;

	if (!*s)
		return 1;
	p = strchr(letters, tolower((unsigned char)*s));
	if (!p)
		return 0;
	if (!strcmp(s + 1, "B") || !strcmp(s + 1, "b"))
		base = 1000;
	else if (s[1] && strcmp(s + 1, "i") && strcmp(s + 1, "iB"))
		return 0;
	for (const char *l = letters; l <= p; l++)
		factor *= base;
	return factor;
}

int opts_parse_number(const char *text, uint64_t *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	unsigned long long n;
	uint64_t factor;
	char *end;

	/* strtoull() alone would take signs, spaces and a second 0x. */
	if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)) ||
	    (hex && (digits[1] == 'x' || digits[1] == 'X')))
		return -EINVAL;
	errno = 0;
	n = strtoull(digits, &end, hex ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	factor = unit(end);
	if (!factor)
		return -EINVAL;
	if (__builtin_mul_overflow((uint64_t)n, factor, value))
		return -ERANGE;
	return 0;
}

int opts_number(struct tool *t, const char *option, const char *text, uint64_t min, uint64_t max,
		uint64_t *value)
{
	int rc = opts_parse_number(text, value);

	if (rc == -EINVAL)
		return tool_usage(t, "%s: '%s' is not a number", option, text);
	if (rc || *value < min || *value > max)
		return tool_usage(t, "%s: '%s' is out of range (%llu to %llu)", option, text,
				  (unsigned long long)min, (unsigned long long)max);
	return 0;
}
