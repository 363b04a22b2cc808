// SPDX-License-Identifier: BSD-2-Clause
/* The keys of the configuration file: a table, and functions for what is not just a number. */
#include <stdio.h>
#include <stdlib.h>
#include "conf_parse.h"

#define MIB (1ull << 20)
#define TIB (1ull << 40)

struct key {
	enum conf_section section;
	bool many;			/* it may be given more than once */
	const char *name;
	/* A number that goes to an unsigned int or, sized, to a uint32_t or a uint64_t at that offset of struct conf or
	 * struct conf_ns; or a function: NULL, or what is wrong. */
	uint16_t offset;
	uint8_t nbytes;
	bool is_size;
	struct conf_range range;
	const char *(*set)(struct parse *p, char *value, char buf[160]);
};

/* ---- [daemon] ---- */

static const char *set_listen(struct parse *p, char *value, char buf[160])
{
	(void)buf;
	return conf_listen_line(p->conf, value);
}

static const char *set_in_capsule(struct parse *p, char *value, char buf[160])
{
	static const struct conf_range range = { 4096, 65536 };
	uint64_t n;
	const char *why = conf_number(value, true, &range, &n, buf);

	if (!why && n % 16)
		why = "is not a multiple of 16, such as 16k";
	if (!why)
		p->conf->in_capsule = (uint32_t)n;
	return why;
}

static const char *set_max_transfer(struct parse *p, char *value, char buf[160])
{
	static const struct conf_range range = { 65536, 32 * MIB };
	uint64_t n;
	const char *why = conf_number(value, true, &range, &n, buf);

	if (!why && n & (n - 1))
		why = "is not a power of two, such as 1M or 8M";
	if (!why)
		p->conf->max_transfer = (uint32_t)n;
	return why;
}

static const char *bool_read(const char *value, bool *to)
{
	if (!strcmp(value, "yes") || !strcmp(value, "no")) {
		*to = *value == 'y';
		return NULL;
	}
	return "is neither yes nor no";
}

static const char *set_hdgst(struct parse *p, char *value, char buf[160])
{
	(void)buf;
	return bool_read(value, &p->conf->hdgst);
}

static const char *set_ddgst(struct parse *p, char *value, char buf[160])
{
	(void)buf;
	return bool_read(value, &p->conf->ddgst);
}

static const char *set_log_level(struct parse *p, char *value, char buf[160])
{
	static const char *const levels[] = { "error", "warning", "info", "debug" };
	unsigned int i;

	(void)buf;
	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(value, levels[i])) {
			p->conf->log_level = (int)i;
			return NULL;
		}
	return "is none of error, warning, info, debug";
}

static const char *set_congestion(struct parse *p, char *value, char buf[160])
{
	return conf_text(value, sizeof(p->conf->congestion) - 1, p->conf->congestion, buf);
}

/* ---- [subsystem] ---- */

static const char *set_serial(struct parse *p, char *value, char buf[160])
{
	return conf_text(value, sizeof(p->subsys->serial) - 1, p->subsys->serial, buf);
}

static const char *set_model(struct parse *p, char *value, char buf[160])
{
	return conf_text(value, sizeof(p->subsys->model) - 1, p->subsys->model, buf);
}

static const char *set_allow_any(struct parse *p, char *value, char buf[160])
{
	(void)buf;
	return bool_read(value, &p->subsys->allow_any);
}

static const char *set_host(struct parse *p, char *value, char buf[160])
{
	struct conf_subsys *s = p->subsys;
	struct conf_host host = { { 0 } }, *list;
	const char *why = conf_nqn(value, host.nqn, buf);
	uint32_t i;

	if (why)
		return why;
	for (i = 0; i < s->nhost; i++)
		if (!strcmp(s->host[i].nqn, host.nqn))
			return "is in this subsystem already: leave it out";
	if (s->nhost == CONF_MAX_HOSTS)
		return "is one too many: a subsystem has at most 4096";
	list = realloc(s->host, (s->nhost + 1) * sizeof(*list));
	if (!list)
		return "finds no memory";
	list[s->nhost++] = host;
	s->host = list;
	return NULL;
}

/* ---- [namespace] ---- */

static const char *const types[] = { "compression", "erasure", "cipher", "digest", "checksum", "data", "all", "ram",
				     NULL };

static const char *set_type(struct parse *p, char *value, char buf[160])
{
	const char *near;

	p->ns->kind = strcmp(value, "ram") ? NS_ACCEL : NS_RAM;
	p->ns->function = p->ns->kind == NS_RAM ? 0 : device_kind(value);
	if (p->ns->kind == NS_RAM || p->ns->function)
		return NULL;
	p->ns->function = CONF_NO_FUNCTION;
	near = conf_nearest(value, types);
	if (near)
		snprintf(buf, 160, "\"%.40s\" is unknown: did you mean %s?", value, near);
	else
		snprintf(buf, 160, "\"%.40s\" is none of compression, erasure, cipher, digest, checksum, data, all, ram",
			 value);
	return buf;
}

static const char *set_block(struct parse *p, char *value, char buf[160])
{
	static const struct conf_range any = { 0, UINT64_MAX };
	uint64_t n;

	if (conf_number(value, true, &any, &n, buf) || (n != 512 && n != 4096))
		return "is neither 512 nor 4096";
	p->ns->block = (uint32_t)n;
	return NULL;
}

static const char *set_uuid(struct parse *p, char *value, char buf[160])
{
	(void)buf;
	return conf_uuid(value, p->ns->uuid);
}

static const char *set_name(struct parse *p, char *value, char buf[160])
{
	return conf_text(value, sizeof(p->ns->name) - 1, p->ns->name, buf);
}

#define AT(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define NUMBER(member, min, max) { SEC_DAEMON, false, #member, AT(conf, member), false, { min, max }, NULL }
#define SIZE(member, min, max) { SEC_DAEMON, false, #member, AT(conf, member), true, { min, max }, NULL }
#define NS_NUMBER(key, member, size, min, max) { SEC_NS, false, key, AT(conf_ns, member), size, { min, max }, NULL }
#define CALL(section, many, key, fn) { section, many, key, 0, 0, false, { 0, 0 }, fn }

static const struct key keys[] = {
	CALL(SEC_DAEMON, true, "listen", set_listen),
	NUMBER(reactors, 0, MAX_REACTORS),
	NUMBER(max_conns, 1, 65535),
	NUMBER(max_conns_host, 1, 65535),
	NUMBER(max_ctrls, 1, CONF_MAX_CTRLS),
	NUMBER(io_queues, 2, MAX_IO_QUEUES),
	NUMBER(queue_depth, 16, MAX_QUEUE_DEPTH),
	CALL(SEC_DAEMON, false, "in_capsule", set_in_capsule),
	CALL(SEC_DAEMON, false, "max_transfer", set_max_transfer),
	SIZE(memory, 16 * MIB, TIB),
	SIZE(slot_memory, MIB, 64 * TIB),
	NUMBER(max_held, 1, 65536),
	SIZE(small_job, 0, MIB),
	NUMBER(handshake_ms, 100, 600000),
	NUMBER(drain_ms, 0, 600000),
	NUMBER(poll_us, 0, 10000),
	CALL(SEC_DAEMON, false, "header_digest", set_hdgst),
	CALL(SEC_DAEMON, false, "data_digest", set_ddgst),
	CALL(SEC_DAEMON, false, "log_level", set_log_level),
	CALL(SEC_DAEMON, false, "congestion", set_congestion),
	CALL(SEC_SUBSYS, false, "serial", set_serial),
	CALL(SEC_SUBSYS, false, "model", set_model),
	CALL(SEC_SUBSYS, false, "allow_any_host", set_allow_any),
	CALL(SEC_SUBSYS, true, "host", set_host),
	CALL(SEC_NS, false, "type", set_type),
	NS_NUMBER("size", nbytes, true, 4096, 16 * TIB),
	NS_NUMBER("threads", threads, false, 1, DEVICE_MAX_THREADS),
	NS_NUMBER("slots", slots, false, 1, DEVICE_MAX_SLOTS),
	CALL(SEC_NS, false, "block_size", set_block),
	CALL(SEC_NS, false, "uuid", set_uuid),
	CALL(SEC_NS, false, "name", set_name),
};

#define NKEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(NKEYS <= CONF_MAX_KEYS, "struct parse.seen");

static const char *const section_names[] = { "", "daemon", "subsystem", "namespace", "" };

/* How many letters to change, insert or take away; up to 30 letters. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32], n = (unsigned int)strlen(b), i, j, diag, was;

	if (strlen(a) > 30 || n > 30)
		return 99;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		diag = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			was = row[j];
			row[j] = BASE_MIN(BASE_MIN(row[j], row[j - 1]) + 1, diag + (a[i - 1] != b[j - 1]));
			diag = was;
		}
	}
	return row[n];
}

const char *conf_nearest(const char *word, const char *const *list)
{
	unsigned int best = 4, d;
	const char *near = NULL;

	for (; *list; list++) {
		d = distance(word, *list);
		if (d < best && d < strlen(*list)) {
			best = d;
			near = *list;
		}
	}
	return near;
}

static void key_unknown(struct parse *p, const char *name)
{
	const char *names[NKEYS + 1], *near;
	unsigned int i, n = 0;

	for (i = 0; i < NKEYS; i++)
		if (!strcmp(keys[i].name, name)) {
			conf_error(p, 0, "%s is a key of [%s], not of [%s]", name, section_names[keys[i].section],
				   section_names[p->section]);
			return;
		}
	for (i = 0; i < NKEYS; i++)
		if (keys[i].section == p->section)
			names[n++] = keys[i].name;
	names[n] = NULL;
	near = conf_nearest(name, names);
	if (near)
		conf_error(p, 0, "unknown key \"%.40s\" in [%s]: did you mean %s?", name, section_names[p->section],
			   near);
	else
		conf_error(p, 0, "unknown key \"%.40s\" in [%s]: acceld.conf(5) has all", name,
			   section_names[p->section]);
}

static const char *number_set(struct parse *p, const struct key *key, const char *value, char buf[160])
{
	uint8_t *at = (key->section == SEC_NS ? (uint8_t *)p->ns : (uint8_t *)p->conf) + key->offset;
	uint64_t n;
	const char *why = conf_number(value, key->is_size, &key->range, &n, buf);

	/* A value that is wrong is not missing, too. */
	if (why)
		n = key->range.max;
	if (key->nbytes == sizeof(uint64_t))
		memcpy(at, &n, sizeof(n));
	else
		memcpy(at, &(uint32_t){ (uint32_t)n }, sizeof(uint32_t));
	return why;
}

void conf_key(struct parse *p, const char *name, char *value)
{
	const char *why, *hint;
	char buf[160];
	unsigned int i;

	for (i = 0; i < NKEYS; i++)
		if (keys[i].section == p->section && !strcmp(keys[i].name, name))
			break;
	if (i == NKEYS) {
		key_unknown(p, name);
		return;
	}
	if (p->seen[i] && !keys[i].many) {
		conf_error(p, 0, "%s is in line %u already: leave one of the two out", name, p->seen[i]);
		return;
	}
	p->seen[i] = p->line;
	if (!*value)
		why = "has no value";
	else
		why = keys[i].set ? keys[i].set(p, value, buf) : number_set(p, &keys[i], value, buf);
	hint = strstr(value, " #") || strstr(value, "\t#") || strstr(value, " ;") || *value == '#' ?
		       " (there are no comments behind values: give it a line of its own)" : "";
	if (why)
		conf_error(p, 0, keys[i].many ? "%s = %.60s: %s%s" : "%s%.0s: %s%s", name, value, why, hint);
}
