// SPDX-License-Identifier: BSD-2-Clause
/* The configuration file: lines and sections. Every error of a file is told, each with its line and the way out. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "conf_parse.h"

#define MAX_LINE 4096u

static const char *const sections[] = { "daemon", "subsystem", "namespace", NULL };

void conf_error(struct parse *p, unsigned int line, const char *fmt, ...)
{
	char text[512], *c;
	va_list ap;

	p->nerror++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Parts of the file are in it, and whoever reads it sits at a terminal. */
	for (c = text; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	fprintf(stderr, "%s:%u: %s\n", p->path, line ? line : p->line, text);
}

/* The list of n with one element more, zeroed; NULL: no memory, and the list is as it was. */
static void *list_grow(void *list, uint32_t n, size_t size)
{
	uint8_t *grown = realloc(list, (n + 1) * size);

	if (grown)
		memset(grown + n * size, 0, size);
	return grown;
}

struct conf_subsys *conf_subsys_add(struct conf *conf)
{
	struct conf_subsys *list = list_grow(conf->subsys, conf->nsubsys, sizeof(*list));

	if (!list)
		return NULL;
	conf->subsys = list;
	return &list[conf->nsubsys++];
}

struct conf_ns *conf_ns_add(struct conf_subsys *s)
{
	struct conf_ns *list = list_grow(s->ns, s->nns, sizeof(*list));

	if (!list)
		return NULL;
	s->ns = list;
	return &list[s->nns++];
}

/* Room for the line of one thing more. */
static bool lines_grow(unsigned int **lines, uint32_t n)
{
	unsigned int *list = list_grow(*lines, n, sizeof(*list));

	if (list)
		*lines = list;
	return list;
}

static void no_memory(struct parse *p)
{
	conf_error(p, 0, "there is no memory for this");
}

/* ---- Sections ---- */

static void begin(struct parse *p, enum conf_section section)
{
	p->section = section;
	memset(p->seen, 0, sizeof(p->seen));
}

static void begin_daemon(struct parse *p, const char *arg)
{
	if (*arg)
		conf_error(p, 0, "[daemon] has no name: write [daemon]");
	else if (p->daemon_line)
		conf_error(p, 0, "[daemon] is in line %u already: put its keys there", p->daemon_line);
	else
		p->daemon_line = p->line;
	begin(p, SEC_DAEMON);
}

/* What is to be said of a subsystem that is wrong has been read. */
static void bad_end(struct parse *p)
{
	struct conf_subsys *s = &p->bad_subsys;
	uint32_t i;

	for (i = 0; i < s->nns; i++)
		conf_check_ns(p, &s->ns[i], p->bad_ns_line[i]);
	free(s->host);
	free(s->ns);
	free(p->bad_ns_line);
	p->bad_ns_line = NULL;
	memset(s, 0, sizeof(*s));
}

/* A subsystem that is wrong is read into a place of its own. */
static struct conf_subsys *subsys_bad(struct parse *p)
{
	bad_end(p);
	return &p->bad_subsys;
}

static bool subsys_name_ok(struct parse *p, const char *arg, char nqn[NVME_NQN_MAX + 1])
{
	char buf[160];
	const char *why = *arg ? conf_nqn(arg, nqn, buf) : "has no name: write [subsystem NQN]";
	uint32_t i;

	if (why) {
		conf_error(p, 0, *arg ? "[subsystem %.60s]: the NQN %s" : "[subsystem]%.0s %s", arg, why);
		return false;
	}
	if (!strcmp(nqn, NVME_DISCOVERY_NQN)) {
		conf_error(p, 0, "[subsystem %s]: the discovery subsystem is always there: leave it out", nqn);
		return false;
	}
	for (i = 0; i < p->conf->nsubsys; i++)
		if (!strcmp(p->conf->subsys[i].nqn, nqn)) {
			conf_error(p, 0, "[subsystem %s] is in line %u already: every subsystem needs an NQN of its "
				   "own", nqn, p->subsys_line[i]);
			return false;
		}
	return true;
}

static void begin_subsys(struct parse *p, const char *arg)
{
	uint32_t n = p->conf->nsubsys;
	char nqn[NVME_NQN_MAX + 1];
	unsigned int **lines;

	begin(p, SEC_SUBSYS);
	p->ns = NULL;
	p->subsys = NULL;
	if (!subsys_name_ok(p, arg, nqn)) {
		p->subsys = subsys_bad(p);
		return;
	}
	if (n == CONF_MAX_SUBSYS) {
		conf_error(p, 0, "more than %u subsystems", CONF_MAX_SUBSYS);
		p->subsys = subsys_bad(p);
		return;
	}
	lines = list_grow(p->ns_line, n, sizeof(*lines));
	if (lines)
		p->ns_line = lines;
	if (lines && lines_grow(&p->subsys_line, n))
		p->subsys = conf_subsys_add(p->conf);
	if (!p->subsys) {
		no_memory(p);
		p->subsys = subsys_bad(p);
		return;
	}
	p->subsys_line[n] = p->line;
	memcpy(p->subsys->nqn, nqn, strlen(nqn) + 1);
}

static struct conf_ns *ns_bad(struct parse *p)
{
	memset(&p->bad_ns, 0, sizeof(p->bad_ns));
	return &p->bad_ns;
}

static bool ns_number_ok(struct parse *p, const char *arg, uint64_t *nsid)
{
	static const struct conf_range range = { 1, MAX_NSID };
	char buf[160];
	const char *why = *arg ? conf_number(arg, false, &range, nsid, buf) : "has no number: write [namespace N]";
	uint32_t i;

	if (why) {
		conf_error(p, 0, *arg ? "[namespace %.40s]: the number %s" : "[namespace]%.0s %s", arg, why);
		return false;
	}
	for (i = 0; i < p->subsys->nns; i++)
		if (p->subsys->ns[i].nsid == *nsid) {
			conf_error(p, 0, "[namespace %u] is in this subsystem already: give it another number",
				   (unsigned int)*nsid);
			return false;
		}
	return true;
}

static void begin_ns(struct parse *p, const char *arg)
{
	bool known = p->subsys && p->subsys != &p->bad_subsys;
	uint32_t n = p->subsys ? p->subsys->nns : 0;
	unsigned int **lines = known ? &p->ns_line[p->subsys - p->conf->subsys] : &p->bad_ns_line;
	uint64_t nsid;

	begin(p, SEC_NS);
	p->ns = NULL;
	if (!p->subsys)
		conf_error(p, 0, "[namespace %.40s] belongs to no subsystem: put it behind a [subsystem NQN]", arg);
	if (!p->subsys || !ns_number_ok(p, arg, &nsid)) {
		p->ns = ns_bad(p);
		return;
	}
	if (lines_grow(lines, n))
		p->ns = conf_ns_add(p->subsys);
	if (!p->ns) {
		no_memory(p);
		p->ns = ns_bad(p);
		return;
	}
	(*lines)[n] = p->line;
	p->ns->nsid = (uint32_t)nsid;
}

/* A section that is none. What looks like a subsystem is where the namespaces behind it belong. */
static void begin_bad(struct parse *p, const char *near)
{
	begin(p, SEC_BAD);
	if (!near || strcmp(near, "subsystem"))
		return;
	begin(p, SEC_SUBSYS);
	p->ns = NULL;
	p->subsys = subsys_bad(p);
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = 0;
	return s + strspn(s, " \t");
}

static void section(struct parse *p, char *line)
{
	size_t n = strlen(line);
	const char *near;
	char *name, *arg;

	if (line[n - 1] != ']') {
		conf_error(p, 0, "a section begins with [ and ends with ]");
		begin_bad(p, strncmp(line, "[subsystem", 10) ? NULL : "subsystem");
		return;
	}
	line[n - 1] = 0;
	name = trim(line + 1);
	arg = name + strcspn(name, " \t");
	if (*arg)
		*arg++ = 0;
	arg = trim(arg);
	if (!strcmp(name, "daemon")) {
		begin_daemon(p, arg);
	} else if (!strcmp(name, "subsystem")) {
		begin_subsys(p, arg);
	} else if (!strcmp(name, "namespace")) {
		begin_ns(p, arg);
	} else {
		near = conf_nearest(name, sections);
		conf_error(p, 0, near ? "unknown section [%.40s]: did you mean %s?" :
					"unknown section [%.40s]: there are %s",
			   name, near ? near : "daemon, subsystem and namespace");
		begin_bad(p, near);
	}
}

/* ---- Lines ---- */

static void line_read(struct parse *p, char *line)
{
	char *s = trim(line), *eq;

	if (!*s || *s == '#' || *s == ';')
		return;
	if (*s == '[') {
		section(p, s);
		return;
	}
	eq = strchr(s, '=');
	if (!eq || eq == s) {
		conf_error(p, 0, "neither a [section] nor \"key = value\": \"%.40s\"", s);
		return;
	}
	*eq = 0;
	if (p->section == SEC_NONE)
		conf_error(p, 0, "\"%.40s\" is in no section: put it behind [daemon], [subsystem NQN] or [namespace N]",
			   trim(s));
	else if (p->section != SEC_BAD)
		conf_key(p, trim(s), trim(eq + 1));
}

/*
 * Up to and with the next end of line, or zero byte, which nothing follows that is read. A line that is too long counts
 * as MAX_LINE + 1 bytes, and its rest is passed over: no file takes more memory than this. 0: the file ends.
 */
static size_t line_get(FILE *f, char line[MAX_LINE + 2])
{
	size_t n = 0;
	int c;

	do {
		c = getc_unlocked(f);
		if (c != EOF && n <= MAX_LINE)
			line[n++] = (char)c;
		else if (!c)
			line[MAX_LINE] = 0;
	} while (c > 0 && c != '\n');
	line[n] = 0;
	return n;
}

static void file_read(struct parse *p, FILE *f)
{
	char line[MAX_LINE + 2];
	size_t n;

	while ((n = line_get(f, line))) {
		p->line++;
		if (memchr(line, 0, n)) {
			conf_error(p, 0, "a zero byte: this is no text file");
			break;
		}
		if (n > MAX_LINE)
			conf_error(p, 0, "a line has at most %u bytes", MAX_LINE);
		else
			line_read(p, line);
		if (p->nerror > 1000) {
			conf_error(p, 0, "too many errors");
			break;
		}
	}
	if (ferror(f)) {
		fprintf(stderr, "%s: cannot be read: %s\n", p->path, strerror(errno));
		p->nerror++;
	}
}

static void parse_free(struct parse *p, uint32_t nsubsys)
{
	uint32_t i;

	for (i = 0; p->ns_line && i < nsubsys; i++)
		free(p->ns_line[i]);
	free(p->ns_line);
	free(p->subsys_line);
}

/* Nothing here waits: a daemon that is to read its configuration again has signals to hear of besides. */
static FILE *file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	FILE *f = NULL;

	if (fd >= 0 && !fstat(fd, &st) && S_ISFIFO(st.st_mode)) {
		fprintf(stderr, "%s: is a pipe: write the configuration to a file\n", path);
		close(fd);
		return NULL;
	}
	if (fd >= 0)
		f = fdopen(fd, "r");
	if (!f)
		fprintf(stderr, "%s: cannot be opened: %s\n", path, strerror(errno));
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* The bytes of struct conf have come from a file; false after messages. */
static bool conf_read(struct conf *conf, const char *path)
{
	struct parse p = { .path = path, .conf = conf };
	FILE *f = file_open(path);

	if (!f)
		return false;
	file_read(&p, f);
	fclose(f);
	bad_end(&p);
	conf_check(&p);
	parse_free(&p, conf->nsubsys);
	return !p.nerror;
}

struct conf *conf_load(const char *path)
{
	struct conf *conf = calloc(1, sizeof(*conf));
	bool ok = conf;

	if (conf) {
		conf_defaults(conf);
		if (path)
			ok = conf_read(conf, path);
		if (ok && !conf->nlisten)
			ok = !conf_listen_line(conf, "127.0.0.1:4420");
		if (ok && !conf->nsubsys)
			ok = !conf_add_default(conf);
		if (ok)
			return conf;
	}
	if (!path || !conf)
		fprintf(stderr, "acceld: no memory for the configuration\n");
	conf_free(conf);
	return NULL;
}

void conf_free(struct conf *conf)
{
	uint32_t i;

	if (!conf)
		return;
	for (i = 0; i < conf->nsubsys; i++) {
		free(conf->subsys[i].host);
		free(conf->subsys[i].ns);
	}
	free(conf->subsys);
	free(conf->listen);
	free(conf);
}
