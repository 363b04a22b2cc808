// SPDX-License-Identifier: BSD-2-Clause
/* Names of remote namespaces: tcp://HOST[:PORT][/NQN][?KEY=VALUE&...]. A wrong one is told what is wrong with it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tcp.h"

#define PREFIX "tcp://"
#define KATO_MIN_MS 100u
#define TIMEOUT_MIN_MS 10u
#define MS_MAX 86400000u
#define POLL_MAX_US 1000000u

struct parser {
	struct transport_env *env;
	const char *whole;
	struct tcp_name *name;
};

static int wrong(const struct parser *p, const char *what)
{
	transport_log(p->env, TCP_LOG_ERROR, "%.160s: %s", p->whole, what);
	return -EINVAL;
}

static int number(const char *s, size_t n, uint32_t max, uint32_t *value)
{
	uint64_t v = 0;
	size_t i;

	if (!n || n > 10)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	if (v > max)
		return -EINVAL;
	*value = (uint32_t)v;
	return 0;
}

static bool printable(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] >= 0x7f)
			return false;
	return true;
}

/* As the specifications have it: nqn., then what is printable, at most 223 characters. */
static bool is_nqn(const char *s, size_t n)
{
	return n > 4 && n <= NVME_NQN_MAX && memcmp(s, "nqn.", 4) == 0 && printable(s, n);
}

static int parse_bool(const char *s, size_t n, bool *value)
{
	if (n != 1 || (*s != '0' && *s != '1'))
		return -EINVAL;
	*value = *s == '1';
	return 0;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_hostid(const char *s, size_t n, uint8_t id[16])
{
	unsigned int k = 0;
	size_t i;

	if (n != 36)
		return -EINVAL;
	memset(id, 0, 16);
	for (i = 0; i < n; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (s[i] != '-')
				return -EINVAL;
			continue;
		}
		if (hex(s[i]) < 0)
			return -EINVAL;
		id[k / 2] = (uint8_t)(id[k / 2] << 4 | hex(s[i]));
		k++;
	}
	return 0;
}

static int parse_ms(const char *s, size_t n, uint32_t min, uint32_t *value)
{
	if (number(s, n, MS_MAX, value))
		return -EINVAL;
	return *value < min ? -EINVAL : 0;
}

static int option(const struct parser *p, const char *key, size_t nkey, const char *v, size_t n)
{
	struct tcp_name *name = p->name;

#define IS(text) (nkey == sizeof(text) - 1 && memcmp(key, text, nkey) == 0)
	if (IS("nsid"))
		return number(v, n, UINT32_MAX - 1, &name->nsid) || !name->nsid ?
			       wrong(p, "nsid= takes a number from 1 to 4294967294") : 0;
	if (IS("hdgst"))
		return parse_bool(v, n, &name->hdgst) ? wrong(p, "hdgst= takes 0 or 1") : 0;
	if (IS("ddgst"))
		return parse_bool(v, n, &name->ddgst) ? wrong(p, "ddgst= takes 0 or 1") : 0;
	if (IS("kato")) {
		if (n == 1 && *v == '0') {
			name->kato_ms = 0;
			return 0;
		}
		return parse_ms(v, n, KATO_MIN_MS, &name->kato_ms) ?
			       wrong(p, "kato= takes milliseconds, 100 to 86400000, or 0 for none") : 0;
	}
	if (IS("timeout"))
		return parse_ms(v, n, TIMEOUT_MIN_MS, &name->timeout_ms) ?
			       wrong(p, "timeout= takes milliseconds, 10 to 86400000") : 0;
	if (IS("poll"))
		return number(v, n, POLL_MAX_US, &name->poll_us) ?
			       wrong(p, "poll= takes microseconds, 0 to 1000000") : 0;
	if (IS("hostnqn")) {
		if (!is_nqn(v, n))
			return wrong(p, "hostnqn= takes an NQN: nqn. and at most 219 more characters");
		memcpy(name->hostnqn, v, n);
		name->hostnqn[n] = '\0';
		return 0;
	}
	if (IS("hostid"))
		return parse_hostid(v, n, name->hostid) ? wrong(p, "hostid= takes a UUID") : 0;
#undef IS
	return wrong(p, "unknown option; there are nsid, hdgst, ddgst, kato, timeout, poll, hostnqn, hostid");
}

/* From behind the '?'. */
static int options(const struct parser *p, const char *s)
{
	const char *eq;
	size_t n;
	int ret;

	for (;;) {
		n = strcspn(s, "&");
		eq = memchr(s, '=', n);
		if (!eq || eq == s)
			return wrong(p, "options after '?' are KEY=VALUE, with '&' between them");
		ret = option(p, s, (size_t)(eq - s), eq + 1, n - (size_t)(eq + 1 - s));
		if (ret)
			return ret;
		if (!s[n])
			return 0;
		s += n + 1;
	}
}

static int port(const struct parser *p, const char *s, size_t n)
{
	uint32_t v;

	if (number(s, n, 65535, &v) || !v)
		return wrong(p, "the port is not a number from 1 to 65535");
	snprintf(p->name->port, sizeof(p->name->port), "%u", (uint16_t)v);
	return 0;
}

/* HOST[:PORT], n characters; a host with colons is in brackets. */
static int host(const struct parser *p, const char *s, size_t n)
{
	const char *end, *colon;
	size_t nhost;

	if (n && *s == '[') {
		end = memchr(s, ']', n);
		if (!end)
			return wrong(p, "the ']' behind the IPv6 address is missing");
		s++;
		n--;
		nhost = (size_t)(end - s);
		colon = nhost + 1 < n ? end + 1 : NULL;
		if (colon && *colon != ':')
			return wrong(p, "behind ']' only :PORT may follow");
	} else {
		colon = memchr(s, ':', n);
		nhost = colon ? (size_t)(colon - s) : n;
		if (colon && memchr(colon + 1, ':', n - nhost - 1))
			return wrong(p, "an IPv6 address is written in brackets: [::1]:4420");
	}
	if (!nhost)
		return wrong(p, "the host is missing: tcp://HOST[:PORT][/NQN][?nsid=N]");
	if (nhost >= sizeof(p->name->host) || !printable(s, nhost))
		return wrong(p, "the host is too long or has characters that no host has");
	memcpy(p->name->host, s, nhost);
	p->name->host[nhost] = '\0';
	snprintf(p->name->port, sizeof(p->name->port), "%u", NTCP_PORT);
	return colon ? port(p, colon + 1, n - (size_t)(colon + 1 - s)) : 0;
}

static void defaults(struct transport_env *env, struct tcp_name *name)
{
	memset(name, 0, sizeof(*name));
	name->kato_ms = TCP_KATO_MS;
	name->timeout_ms = TCP_TIMEOUT_MS;
	name->poll_us = TCP_POLL_US;
	snprintf(name->hostnqn, sizeof(name->hostnqn), "%s", env->hostnqn);
	memcpy(name->hostid, env->hostid, sizeof(name->hostid));
}

static int subsystem(const struct parser *p, const char *s, size_t n)
{
	if (!n)
		return 0;
	if (!is_nqn(s, n))
		return wrong(p, "behind the '/' comes the subsystem's NQN: nqn. and at most 219 more characters");
	memcpy(p->name->nqn, s, n);
	p->name->nqn[n] = '\0';
	return 0;
}

int tcp_name_parse(struct transport_env *env, const char *text, struct tcp_name *name)
{
	struct parser p = { env, text, name };
	const char *s = text + sizeof(PREFIX) - 1;
	size_t n;
	int ret;

	if (strncmp(text, PREFIX, sizeof(PREFIX) - 1) != 0)
		return wrong(&p, "a name of this transport begins with tcp://");
	defaults(env, name);
	n = strcspn(s, "/?");
	ret = host(&p, s, n);
	s += n;
	if (!ret && *s == '/') {
		n = strcspn(++s, "?");
		ret = subsystem(&p, s, n);
		s += n;
	}
	if (!ret && *s == '?')
		ret = options(&p, s + 1);
	return ret;
}

int tcp_name_host(struct transport_env *env, const char *text, struct tcp_name *name)
{
	struct parser p = { env, text, name };

	defaults(env, name);
	return host(&p, text, strlen(text));
}

void tcp_name_addr(const struct tcp_name *name, char *buf, size_t n)
{
	if (strchr(name->host, ':'))
		snprintf(buf, n, "[%s]:%s", name->host, name->port);
	else
		snprintf(buf, n, "%s:%s", name->host, name->port);
}
