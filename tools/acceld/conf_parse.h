/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the configuration file: what conf*.c share. */
#ifndef ACCELD_CONF_PARSE_H
#define ACCELD_CONF_PARSE_H

#include "acceld.h"

#define CONF_MAX_SUBSYS	256u
#define CONF_MAX_HOSTS	4096u		/* of a subsystem */
#define CONF_MAX_LISTEN	64u
#define CONF_MAX_ACCEL	4096u		/* accelerator namespaces in all */
#define CONF_NO_FUNCTION ~0u		/* a type was given and is wrong */
#define CONF_MAX_KEYS	64u		/* bits of struct parse.seen */

enum conf_section { SEC_NONE, SEC_DAEMON, SEC_SUBSYS, SEC_NS, SEC_BAD };

/* The file while it is read. Nothing stops at an error: all of them are to be seen. */
struct parse {
	const char *path;
	unsigned int line;
	unsigned int nerror;
	struct conf *conf;
	enum conf_section section;
	/* Lines where keys of the section were given, by their place in the table; 0: not yet. */
	unsigned int seen[CONF_MAX_KEYS];
	unsigned int daemon_line;
	/* Lines of the sections, for what is judged at the end: of subsystem i, of its namespace j. */
	unsigned int *subsys_line;
	unsigned int **ns_line;
	/* A section that is wrong is read all the same, into these. */
	struct conf_subsys bad_subsys, *subsys;
	unsigned int *bad_ns_line;	/* of its namespaces */
	struct conf_ns bad_ns, *ns;
};

/* "PATH:LINE: ...", and the file counts as wrong. line 0: the present one. */
void conf_error(struct parse *p, unsigned int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* conf_keys.c: "key = value" within the section. */
void conf_key(struct parse *p, const char *key, char *value);
/* The word of the list (ends with NULL) that is nearest to what was written; NULL: none is near. */
const char *conf_nearest(const char *word, const char *const *list);

/* conf_value.c: NULL, or what is wrong; static text or in buf. */
struct conf_range {
	uint64_t min, max;
};
const char *conf_number(const char *text, bool is_size, const struct conf_range *range, uint64_t *value,
			char buf[160]);
const char *conf_text(const char *text, size_t max, char *to, char buf[160]);
const char *conf_nqn(const char *text, char nqn[NVME_NQN_MAX + 1], char buf[160]);
const char *conf_uuid(const char *text, uint8_t uuid[16]);
bool conf_is_loopback(const struct conf_listen *l);
const char *conf_listen_line(struct conf *conf, const char *text);

/* conf_check.c: what only the whole file shows, and what was left out. */
void conf_defaults(struct conf *conf);			/* before reading */
void conf_check(struct parse *p);			/* after it */
/* A namespace by itself. */
void conf_check_ns(struct parse *p, const struct conf_ns *ns, unsigned int line);
/* The subsystem that there is without a file: all functions, for any host. */
int conf_add_default(struct conf *conf);
void conf_ns_defaults(struct conf_ns *ns);

/* conf.c */
struct conf_subsys *conf_subsys_add(struct conf *conf);	/* NULL: no memory */
struct conf_ns *conf_ns_add(struct conf_subsys *s);

#endif
