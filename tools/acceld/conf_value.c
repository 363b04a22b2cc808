// SPDX-License-Identifier: BSD-2-Clause
/* Values of the configuration: numbers, names, addresses. A function returns NULL or what is wrong with the value. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include "conf_parse.h"

/* 0..40 for k, M, G, T; -1: something else. Bytes that follow are the caller's to see. */
static int suffix_shift(char c)
{
	const char *units = "kmgt", *at = c ? strchr(units, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - units + 1) * 10 : -1;
}

/* As it would be written: 64k, 8M; plain for what is no size. */
static const char *number_text(uint64_t n, bool is_size, char buf[24])
{
	static const char units[] = " kMGT";
	unsigned int i = 0;

	while (is_size && n && !(n & 1023) && i < 4) {
		n >>= 10;
		i++;
	}
	snprintf(buf, 24, "%llu%.*s", (unsigned long long)n, i ? 1 : 0, units + i);
	return buf;
}

const char *conf_number(const char *text, bool is_size, const struct conf_range *range, uint64_t *value,
			char buf[160])
{
	/* Decimal or 0x...: a leading zero makes no octal number. */
	int base = !strncmp(text, "0x", 2) || !strncmp(text, "0X", 2) ? 16 : 10, shift = 0;
	char *end = (char *)text, low[24], high[24];
	unsigned long long n = 0;
	const char *what;

	number_text(range->min, is_size, low);
	number_text(range->max, is_size, high);
	errno = 0;
	if (isdigit((unsigned char)*text))
		n = strtoull(text, &end, base);
	if (is_size && *end && !end[1])
		shift = suffix_shift(*end);
	if (end == text || shift < 0 || (!shift && *end))
		what = is_size ? "\"%.40s\" is not a size (65536, 64k, 8M) within %s to %s" :
				 "\"%.40s\" is not a number within %s to %s";
	else if (errno == ERANGE || n > UINT64_MAX >> shift || n << shift < range->min || n << shift > range->max)
		what = "%.40s is not within %s to %s";
	else
		what = NULL;
	*value = n << BASE_MAX(shift, 0);
	if (!what)
		return NULL;
	snprintf(buf, 160, what, text, low, high);
	return buf;
}

static const char *printable(const char *text, char buf[160])
{
	size_t i;

	for (i = 0; text[i]; i++)
		if (text[i] < 0x20 || text[i] > 0x7e) {
			snprintf(buf, 160, "has byte %02Xh at character %zu: only 20h to 7Eh can be in it",
				 (unsigned char)text[i], i + 1);
			return buf;
		}
	return NULL;
}

const char *conf_text(const char *text, size_t max, char *to, char buf[160])
{
	size_t n = strlen(text);
	const char *why = printable(text, buf);

	if (why)
		return why;
	if (!n)
		return "is empty: give it a value or leave the line out";
	if (n > max) {
		snprintf(buf, 160, "has %zu characters: at most %zu fit", n, max);
		return buf;
	}
	memcpy(to, text, n + 1);
	return NULL;
}

const char *conf_nqn(const char *text, char nqn[NVME_NQN_MAX + 1], char buf[160])
{
	const char *why = conf_text(text, NVME_NQN_MAX, nqn, buf), *form = "nqn.dddd-dd.?";
	size_t i;

	if (why)
		return why;
	for (i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) :
		    form[i] == '?' ? !text[i] : text[i] != form[i])
			return "is not of the form nqn.2026-11.org.example:name";
	if (strchr(text, ' '))
		return "has a space in it";
	return NULL;
}

const char *conf_uuid(const char *text, uint8_t uuid[16])
{
	static const char *const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	static const char *const wrong = "is not a UUID such as 6e1d0c52-9b3a-8f71-8c25-40e711d8935a";
	unsigned int i, n = 0, v;

	if (strlen(text) != strlen(form))
		return wrong;
	for (i = 0; form[i]; i++) {
		if (form[i] == '-' ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return wrong;
		if (form[i] == '-')
			continue;
		v = isdigit((unsigned char)text[i]) ? (unsigned int)(text[i] - '0') :
						      (unsigned int)(tolower((unsigned char)text[i]) - 'a' + 10);
		uuid[n / 2] = (uint8_t)(n % 2 ? uuid[n / 2] | v : v << 4);
		n++;
	}
	return mem_is_zero(uuid, 16) ? "is all zero" : NULL;
}

/* ---- Listeners ---- */

static const char *port_read(const char *text, uint16_t *port)
{
	static const struct conf_range range = { 0, 65535 };
	char buf[160];
	uint64_t n = NTCP_PORT;

	if (*text && (*text != ':' || conf_number(text + 1, false, &range, &n, buf)))
		return "the port is not a number up to 65535: write 127.0.0.1:4420 or [::1]:4420";
	*port = htons((uint16_t)n);
	return NULL;
}

/* host: the address alone; rest: what follows it. */
static const char *listen_split(const char *text, char host[64], const char **rest)
{
	const char *begin = text + (*text == '['), *end = *text == '[' ? strchr(text, ']') : strrchr(text, ':');

	if (*text != '[' && end && strchr(text, ':') != end)
		return "an IPv6 address is written in brackets: [::1]:4420";
	if (*text == '[' && !end)
		return "the bracket is not closed: write [::1]:4420";
	if (!end)
		end = text + strlen(text);
	if ((size_t)(end - begin) >= 64)
		return "it is no address: write 127.0.0.1:4420 or [::1]:4420";
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = 0;
	*rest = end + (*text == '[');
	return NULL;
}

static const char *listen_parse(const char *text, struct conf_listen *l)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&l->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&l->addr;
	const char *rest, *why;
	bool v6 = *text == '[';
	char host[64], name[INET6_ADDRSTRLEN];

	memset(l, 0, sizeof(*l));
	why = listen_split(text, host, &rest);
	if (why)
		return why;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, host, v6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr) != 1)
		return "it is no address (names are not looked up): write 127.0.0.1:4420 or [::1]:4420";
	l->addr.ss_family = v6 ? AF_INET6 : AF_INET;
	l->addrlen = v6 ? sizeof(*in6) : sizeof(*in);
	why = port_read(rest, v6 ? &in6->sin6_port : &in->sin_port);
	inet_ntop(l->addr.ss_family, v6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr, name, sizeof(name));
	snprintf(l->text, sizeof(l->text), v6 ? "[%s]:%u" : "%s:%u", name, ntohs(v6 ? in6->sin6_port : in->sin_port));
	return why;
}

bool conf_is_loopback(const struct conf_listen *l)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&l->addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&l->addr;

	if (l->addr.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

const char *conf_listen_line(struct conf *conf, const char *text)
{
	struct conf_listen l, *list;
	const char *why = listen_parse(text, &l);
	uint32_t i;

	if (why)
		return why;
	if (conf->nlisten == CONF_MAX_LISTEN)
		return "there are 64 already";
	for (i = 0; i < conf->nlisten; i++)
		if (!strcmp(conf->listen[i].text, l.text))
			return "it is there already";
	list = realloc(conf->listen, (conf->nlisten + 1) * sizeof(*list));
	if (!list)
		return "there is no memory for it";
	list[conf->nlisten++] = l;
	conf->listen = list;
	return NULL;
}

/* What the file allows was meant for the addresses in the file. */
const char *conf_listen_add(struct conf *conf, const char *text)
{
	const char *why = conf_listen_line(conf, text);
	uint32_t i;

	if (why || conf_is_loopback(&conf->listen[conf->nlisten - 1]))
		return why;
	for (i = 0; i < conf->nsubsys; i++)
		if (conf->subsys[i].allow_any)
			fprintf(stderr, "acceld: warning: %s: any host of the network may use subsystem %s: name hosts "
				"by host = NQN in the configuration\n", text, conf->subsys[i].nqn);
	return NULL;
}
