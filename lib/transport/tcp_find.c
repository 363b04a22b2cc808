// SPDX-License-Identifier: BSD-2-Clause
/* What is there at an address: subsystems by discovery, and the namespaces of each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../wire/wire.h"
#include "tcp.h"

#define MAX_RECORDS 1024u
#define MAX_NAMESPACES 4096u
#define CHUNK 4u			/* records of a Get Log Page */
#define ATTEMPTS 3			/* at a discovery log that changes while it is read */
#define TYPE_AT 400u			/* in Identify Namespace; see the namespace interface */
#define NAME_AT 440u

struct record {
	char nqn[NVME_NQN_MAX + 1];
	char host[256], port[6];
};

struct records {
	unsigned int n;
	struct record *rec;
};

static uint64_t admin_deadline(const struct transport_dev *dev)
{
	return tcp_now() + BASE_MIN(dev->name.timeout_ms, TCP_ADMIN_MS) * TCP_NS_PER_MS;
}

static int run(struct transport_dev *dev, struct tcp_op *op)
{
	int ret = tcp_admin_run(dev, op, admin_deadline(dev));

	return ret ? ret : tcp_status_errno(op->status);
}

/* A device handle with its association, or without a device. */
static int open_at(struct transport_env *env, const struct tcp_name *name, bool numeric, bool discovery,
		   struct transport_dev **out)
{
	struct transport_dev *dev;
	int ret = tcp_dev_new(env, name, &dev);

	if (ret)
		return ret;
	dev->discovery = discovery;
	ret = tcp_resolve(env, name, numeric, &dev->addrs);
	if (!ret) {
		ret = tcp_assoc_wait(dev, admin_deadline(dev));
		tcp_assoc_tell(dev, ret);
	}
	if (ret)
		tcp_dev_free(dev);
	else
		*out = dev;
	return ret;
}

/* ---- Discovery ---- */

/* A field of characters from first on, padded with spaces or zeros; false: it has others, or fills dst up. */
static bool text(const char *src, size_t n, char first, char *dst, size_t max)
{
	size_t len = 0, i;

	while (len < n && src[len])
		len++;
	while (len && src[len - 1] == ' ')
		len--;
	if (!len || len >= max)
		return false;
	for (i = 0; i < len; i++)
		if (src[i] < first || src[i] >= 0x7f)
			return false;
	memcpy(dst, src, len);
	dst[len] = '\0';
	return true;
}

static bool is_wildcard(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static bool is_port(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n && n <= 5 && !s[n] && atoi(s) > 0 && atoi(s) <= 65535;
}

/* Whether the entry is a subsystem that can be reached from here. */
static bool record_decode(const struct tcp_name *name, const struct nvmf_disc_entry *e, struct record *r)
{
	if (e->trtype != NVMF_TRTYPE_TCP || e->subtype != NVMF_SUBTYPE_NVME)
		return false;
	if (!text(e->subnqn, sizeof(e->subnqn), '!', r->nqn, sizeof(r->nqn)) || strncmp(r->nqn, "nqn.", 4) != 0 ||
	    strchr(r->nqn, '?'))
		return false;
	if (!text(e->traddr, sizeof(e->traddr), '!', r->host, sizeof(r->host)) ||
	    !text(e->trsvcid, sizeof(e->trsvcid), '!', r->port, sizeof(r->port)) || !is_port(r->port))
		return false;
	if (is_wildcard(r->host))
		snprintf(r->host, sizeof(r->host), "%s", name->host);
	return e->tsas[0] == 0;		/* else TLS */
}

/* A subsystem may be there by several addresses: the one that is known to work is the best. */
static void record_add(const struct tcp_name *name, struct records *list, const struct record *r)
{
	unsigned int i;

	for (i = 0; i < list->n; i++) {
		if (strcmp(list->rec[i].nqn, r->nqn) != 0)
			continue;
		if (strcmp(r->host, name->host) == 0 && strcmp(r->port, name->port) == 0)
			list->rec[i] = *r;
		return;
	}
	list->rec[list->n++] = *r;
}

static int read_entries(struct transport_dev *dev, uint64_t numrec, struct records *list)
{
	struct nvmf_disc_entry e[CHUNK];
	struct record r;
	struct tcp_op op;
	unsigned int i, n;
	uint64_t at;
	int ret;

	for (at = 0; at < numrec; at += n) {
		n = (unsigned int)BASE_MIN(numrec - at, (uint64_t)CHUNK);
		tcp_op_log(&op, NVME_LOG_DISCOVERY, (at + 1) * sizeof(e[0]), e, n * (uint32_t)sizeof(e[0]));
		ret = run(dev, &op);
		if (ret)
			return ret;
		for (i = 0; i < n; i++)
			if (record_decode(&dev->name, &e[i], &r))
				record_add(&dev->name, list, &r);
	}
	return 0;
}

static int read_header(struct transport_dev *dev, uint64_t *genctr, uint64_t *numrec)
{
	struct nvmf_disc_log log;
	struct tcp_op op;
	int ret;

	tcp_op_log(&op, NVME_LOG_DISCOVERY, 0, &log, sizeof(log));
	ret = run(dev, &op);
	*genctr = le64_get(&log.genctr);
	*numrec = le64_get(&log.numrec);
	if (!ret && le16_get(&log.recfmt))
		ret = -EPROTO;
	return ret;
}

static int read_log(struct transport_dev *dev, struct records *list)
{
	uint64_t before, after = 0, numrec, more;
	int ret = 0, i;

	for (i = 0; i < ATTEMPTS; i++) {
		list->n = 0;
		ret = read_header(dev, &before, &numrec);
		if (!ret && numrec > MAX_RECORDS) {
			tcp_conn_log(&dev->admin, TCP_LOG_WARNING, "a discovery log of %llu records: %u are read",
				     (unsigned long long)numrec, MAX_RECORDS);
			numrec = MAX_RECORDS;
		}
		if (!ret)
			ret = read_entries(dev, numrec, list);
		if (!ret)
			ret = read_header(dev, &after, &more);
		if (ret || before == after)
			break;
	}
	return ret;
}

static int discover(struct transport_env *env, const struct tcp_name *name, struct records *list)
{
	struct tcp_name at = *name;
	struct transport_dev *dev;
	int ret;

	list->n = 0;
	list->rec = calloc(MAX_RECORDS, sizeof(*list->rec));
	if (!list->rec)
		return -ENOMEM;
	at.nqn[0] = '\0';
	at.nsid = 0;
	at.kato_ms = 0;
	ret = open_at(env, &at, false, true, &dev);
	if (ret)
		return ret;
	ret = read_log(dev, list);
	tcp_dev_free(dev);
	return ret;
}

/* ---- Namespaces ---- */

struct candidate {
	uint32_t nsid;
	uint16_t type;
	char name[49];
};

struct candidates {
	unsigned int n, room;
	struct candidate *c;
};

static int candidate_add(struct candidates *list, uint32_t nsid, const uint8_t *page)
{
	unsigned int room = list->room ? 2 * list->room : 16;
	struct candidate *c;

	if (list->n == list->room) {
		c = realloc(list->c, room * sizeof(*c));
		if (!c)
			return -ENOMEM;
		list->c = c;
		list->room = room;
	}
	c = &list->c[list->n++];
	c->nsid = nsid;
	c->type = le16_get(page + TYPE_AT);
	if (!text((const char *)page + NAME_AT, 48, ' ', c->name, sizeof(c->name)))
		c->name[0] = '\0';
	return 0;
}

static int look_at(struct transport_dev *dev, uint32_t nsid, struct candidates *list)
{
	struct tcp_op op;
	int ret;

	tcp_op_identify(&op, 0, nsid, dev->page);
	ret = run(dev, &op);
	if (ret == -ENOENT || ret == -EACCES)
		return 0;		/* removed meanwhile, or not ours to see */
	if (ret || !wire_id_present(dev->page))
		return ret;
	return candidate_add(list, nsid, dev->page);
}

/* The active namespaces behind nsid *after, which is moved on; 0 at the end. */
static int active_list(struct transport_dev *dev, uint32_t *after, uint8_t *page, unsigned int *n)
{
	uint32_t id, last = *after;
	struct tcp_op op;
	int ret;

	tcp_op_identify(&op, 2, *after, page);
	ret = run(dev, &op);
	if (ret)
		return ret;
	for (*n = 0; *n < TCP_PAGE / 4; (*n)++) {
		id = le32_get(page + 4 * (size_t)*n);
		if (!id)
			break;
		if (id <= last) {
			tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "the list of active namespaces is not in order");
			return -EPROTO;
		}
		last = id;
	}
	*after = last;
	return 0;
}

static int accelerators(struct transport_dev *dev, struct candidates *list)
{
	uint8_t page[TCP_PAGE];
	unsigned int n, i, seen = 0;
	uint32_t after = 0;
	int ret;

	do {
		ret = active_list(dev, &after, page, &n);
		for (i = 0; !ret && i < n && seen < MAX_NAMESPACES; i++, seen++)
			ret = look_at(dev, le32_get(page + 4 * (size_t)i), list);
	} while (!ret && n == TCP_PAGE / 4 && seen < MAX_NAMESPACES && after < UINT32_MAX - 1);
	return ret;
}

static int choose(struct transport_dev *dev, const struct candidates *list)
{
	unsigned int i, all = 0, nall = 0;

	for (i = 0; i < list->n; i++) {
		if (list->c[i].type == NVME_ACCEL_TYPE_MULTI) {
			all = i;
			nall++;
		}
	}
	if (!list->n) {
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "no accelerator in %.160s", dev->name.nqn);
		return -ENODEV;
	}
	if (list->n == 1 || nall == 1) {
		dev->name.nsid = list->c[list->n == 1 ? 0 : all].nsid;
		return 0;
	}
	tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "%u accelerators in the subsystem; say which one by ?nsid=N:",
		     list->n);
	for (i = 0; i < list->n && i < 16; i++)
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "  nsid=%u  %s", list->c[i].nsid, list->c[i].name);
	return -EINVAL;
}

int tcp_find_namespace(struct transport_dev *dev)
{
	struct candidates list = { 0, 0, NULL };
	struct tcp_op op;
	int ret = accelerators(dev, &list);

	if (!ret)
		ret = choose(dev, &list);
	free(list.c);
	if (ret)
		return ret;
	tcp_op_identify(&op, 0, dev->name.nsid, dev->page);
	ret = run(dev, &op);
	return ret ? ret : tcp_take_namespace(dev);
}

/* ---- Subsystems ---- */

static void at_record(const struct tcp_name *name, const struct record *r, struct tcp_name *at)
{
	*at = *name;
	memcpy(at->nqn, r->nqn, sizeof(at->nqn));
	memcpy(at->host, r->host, sizeof(at->host));
	memcpy(at->port, r->port, sizeof(at->port));
}

static bool is_numeric(const struct tcp_name *name, const struct tcp_name *at)
{
	return strcmp(name->host, at->host) != 0;
}

/* The accelerators of one subsystem. */
static int subsystem(struct transport_env *env, const struct tcp_name *name, const struct tcp_name *at,
		     struct candidates *list)
{
	struct transport_dev *dev;
	struct tcp_name whole = *at;
	char addr[300];
	int ret;

	whole.nsid = 0;
	ret = open_at(env, &whole, is_numeric(name, at), false, &dev);
	if (!ret) {
		ret = accelerators(dev, list);
		tcp_dev_free(dev);
	}
	if (ret) {
		tcp_name_addr(at, addr, sizeof(addr));
		transport_log(env, TCP_LOG_WARNING, "tcp://%.60s/%.120s: passed over: %s", addr, at->nqn,
			      strerror(-ret));
	}
	return ret;
}

/* Whether the subsystem has accelerators; the only one need not be asked. */
static int has_accelerators(struct transport_env *env, const struct tcp_name *name, const struct tcp_name *at)
{
	struct candidates have = { 0, 0, NULL };
	int ret = subsystem(env, name, at, &have);

	free(have.c);
	return ret ? ret : have.n ? 0 : -ENOENT;
}

static void tell_several(struct transport_env *env, const struct records *list, const bool *has)
{
	unsigned int i;

	transport_log(env, TCP_LOG_ERROR, "several subsystems have accelerators; say which one, tcp://HOST:PORT/NQN:");
	for (i = 0; i < list->n; i++)
		if (has[i])
			transport_log(env, TCP_LOG_ERROR, "  %.223s", list->rec[i].nqn);
}

static int pick(struct transport_env *env, struct tcp_name *name, const struct records *list)
{
	bool has[MAX_RECORDS] = { false };
	unsigned int i, last = 0, n = 0;
	struct tcp_name at;
	int ret = -ENOENT, err;

	for (i = 0; i < list->n; i++) {
		at_record(name, &list->rec[i], &at);
		err = list->n > 1 ? has_accelerators(env, name, &at) : 0;
		if (err && err != -ENOENT)
			ret = err;
		if (err)
			continue;
		has[i] = true;
		last = i;
		n++;
	}
	if (n > 1)
		tell_several(env, list, has);
	if (n == 1) {
		at_record(name, &list->rec[last], &at);
		*name = at;
	}
	return n == 1 ? 0 : n ? -EINVAL : ret;
}

int tcp_find_subsystem(struct transport_env *env, struct tcp_name *name)
{
	struct records list;
	char addr[300];
	int ret = discover(env, name, &list);
	bool there = !ret;

	if (there)
		ret = pick(env, name, &list);
	if (there && ret == -ENOENT) {
		tcp_name_addr(name, addr, sizeof(addr));
		transport_log(env, TCP_LOG_ERROR, "tcp://%.100s: discovery finds no subsystem with accelerators "
			      "that this host may use", addr);
	}
	free(list.rec);
	return ret;
}

/* ---- Scans ---- */

static int scan_one(struct transport_env *env, const struct tcp_name *name, const struct record *r,
		    int (*found)(void *arg, const char *name), void *arg)
{
	struct candidates list = { 0, 0, NULL };
	struct tcp_name at;
	char addr[300], whole[600];
	unsigned int i;
	int ret = 0;

	at_record(name, r, &at);
	if (!subsystem(env, name, &at, &list)) {
		tcp_name_addr(&at, addr, sizeof(addr));
		for (i = 0; !ret && i < list.n; i++) {
			snprintf(whole, sizeof(whole), "tcp://%s/%s?nsid=%u", addr, at.nqn, list.c[i].nsid);
			ret = found(arg, whole);
		}
	}
	free(list.c);
	return ret;
}

/* options: HOST[:PORT]. Other namespaces than accelerators are nobody's business here. */
int tcp_scan(struct transport_env *env, const char *options, int (*found)(void *arg, const char *name), void *arg)
{
	struct records list;
	struct tcp_name name;
	unsigned int i;
	int ret;

	if (!options || !*options)
		return 0;
	ret = tcp_name_host(env, options, &name);
	if (ret)
		return ret;
	tcp_host_tell(env);
	ret = discover(env, &name, &list);
	if (ret && ret != -ECONNREFUSED)
		transport_log(env, TCP_LOG_WARNING, "discovery at %.100s: %s", options, strerror(-ret));
	for (i = 0; !ret && i < list.n; i++)
		ret = scan_one(env, &name, &list.rec[i], found, arg);
	free(list.rec);
	return ret;
}
