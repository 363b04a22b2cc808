/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of lists of sums, in plain and in tagged form. */
#include "digest.h"
#include <ctype.h>
#include <string.h>

static size_t hex_len(const char *s)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* In place; false: an escape that no list writes. */
static bool unescape(char *name)
{
	char *to = name;

	for (; *name; name++) {
		if (*name != '\\') {
			*to++ = *name;
			continue;
		}
		name++;
		if (*name != '\\' && *name != 'n' && *name != 'r')
			return false;
		*to++ = *name == 'n' ? '\n' : *name == 'r' ? '\r' : '\\';
	}
	*to = 0;
	return true;
}

/* "HEX  NAME", "HEX *NAME" */
static bool parse_plain(const struct sum_alg *alg, char *line, struct sum_line *l)
{
	size_t n = hex_len(line);

	if (n != 2u * alg->nbytes || line[n] != ' ' || (line[n + 1] != ' ' && line[n + 1] != '*'))
		return false;
	line[n] = 0;
	*l = (struct sum_line){ alg, line, line + n + 2 };
	return *l->name;
}

/* "TAG (NAME) = HEX" */
static bool parse_tagged(const struct sum_alg *algs, char *line, struct sum_line *l)
{
	char *open = strstr(line, " ("), *close = NULL;

	for (char *p = open; p && (p = strstr(p, ") = ")); p++)
		close = p;
	if (!close)
		return false;
	*open = 0;
	*close = 0;
	for (const struct sum_alg *a = algs; a->name; a++)
		if (!strcmp(a->tag, line))
			*l = (struct sum_line){ a, close + 4, open + 2 };
	return l->alg && hex_len(l->hex) == 2u * l->alg->nbytes && !l->hex[2 * l->alg->nbytes] && *l->name;
}

bool sum_parse(const struct sum_alg *algs, const struct sum_alg *alg, char *line, struct sum_line *l)
{
	bool escaped = *line == '\\';

	memset(l, 0, sizeof(*l));
	line += escaped;
	if (!parse_plain(alg, line, l) && !parse_tagged(algs, line, l))
		return false;
	return !escaped || unescape(l->name);
}
