// SPDX-License-Identifier: BSD-2-Clause
/* What is there without being written, and what only the whole file shows. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <openssl/sha.h>
#include "conf_parse.h"

#define DEFAULT_NQN	"nqn.2026-11.local.accel:acceld"
#define DEFAULT_MODEL	"acceld software accelerators"
#define DEFAULT_SLOTS	64u
#define MIB		(1ull << 20)

static unsigned int ncpu(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned int)BASE_MIN(n, (long)DEVICE_MAX_THREADS);
}

void conf_defaults(struct conf *conf)
{
	conf->max_conns = 1024;
	conf->max_conns_host = 256;
	conf->max_ctrls = 128;
	conf->io_queues = MAX_IO_QUEUES;
	conf->queue_depth = MAX_QUEUE_DEPTH;
	conf->in_capsule = 16384;
	conf->max_transfer = 8 * MIB;
	conf->memory = 512 * MIB;
	conf->slot_memory = 4096 * MIB;
	conf->max_held = 1024;
	conf->small_job = 16384;
	conf->handshake_ms = 5000;
	conf->drain_ms = 5000;
	conf->hdgst = conf->ddgst = true;
	conf->log_level = LOG_INFO;
}

/* A namespace is the same one after a restart, and in no two subsystems. */
static void uuid_derive(const struct conf_subsys *s, struct conf_ns *ns)
{
	uint8_t in[NVME_NQN_FIELD + 4] = { 0 }, md[SHA256_DIGEST_LENGTH];

	memcpy(in, s->nqn, strlen(s->nqn));
	le32_put(in + NVME_NQN_FIELD, ns->nsid);
	SHA256(in, sizeof(in), md);
	memcpy(ns->uuid, md, 16);
	ns->uuid[6] = (uint8_t)(0x80 | (ns->uuid[6] & 0x0f));	/* version 8: of our own making */
	ns->uuid[8] = (uint8_t)(0x80 | (ns->uuid[8] & 0x3f));	/* the variant of RFC 4122 */
}

static void serial_derive(struct conf_subsys *s)
{
	uint8_t md[SHA256_DIGEST_LENGTH];

	SHA256((const uint8_t *)s->nqn, strlen(s->nqn), md);
	snprintf(s->serial, sizeof(s->serial), "AC%016llX", (unsigned long long)le64_get(md));
}

void conf_ns_defaults(struct conf_ns *ns)
{
	if (!ns->block)
		ns->block = 512;
	if (!*ns->name && ns->kind == NS_RAM)
		snprintf(ns->name, sizeof(ns->name), "RAM");
	else if (!*ns->name)
		snprintf(ns->name, sizeof(ns->name), "software %s", device_kind_name(ns->function));
	if (ns->kind == NS_RAM)
		return;
	if (!ns->threads)
		ns->threads = ncpu();
	if (!ns->slots)
		ns->slots = DEFAULT_SLOTS;
}

static int host_compare(const void *a, const void *b)
{
	return strcmp(((const struct conf_host *)a)->nqn, ((const struct conf_host *)b)->nqn);
}

static void subsys_defaults(struct conf_subsys *s)
{
	uint32_t i;

	if (s->nhost)
		qsort(s->host, s->nhost, sizeof(*s->host), host_compare);
	if (!*s->serial)
		serial_derive(s);
	if (!*s->model)
		snprintf(s->model, sizeof(s->model), "%s", DEFAULT_MODEL);
	for (i = 0; i < s->nns; i++) {
		conf_ns_defaults(&s->ns[i]);
		if (mem_is_zero(s->ns[i].uuid, 16))
			uuid_derive(s, &s->ns[i]);
	}
}

int conf_add_default(struct conf *conf)
{
	struct conf_subsys *s = conf_subsys_add(conf);
	unsigned int kind;

	if (!s)
		return -1;
	snprintf(s->nqn, sizeof(s->nqn), "%s", DEFAULT_NQN);
	s->allow_any = true;
	for (kind = 1; kind <= DEVICE_KINDS; kind++) {
		struct conf_ns *ns = conf_ns_add(s);

		if (!ns)
			return -1;
		ns->nsid = kind;
		ns->kind = NS_ACCEL;
		ns->function = kind;
	}
	subsys_defaults(s);
	return 0;
}

void conf_check_ns(struct parse *p, const struct conf_ns *ns, unsigned int line)
{
	if (ns->kind == NS_ACCEL && !ns->function) {
		conf_error(p, line, "[namespace %u] has no type: add type = compression, erasure, cipher, digest, "
			   "checksum, data, all or ram", ns->nsid);
	} else if (ns->kind == NS_ACCEL && ns->nbytes) {
		conf_error(p, line, "[namespace %u]: size is for type = ram; an accelerator has none", ns->nsid);
	} else if (ns->kind == NS_RAM && (ns->threads || ns->slots)) {
		conf_error(p, line, "[namespace %u]: threads and slots are an accelerator's; type = ram has none",
			   ns->nsid);
	} else if (ns->kind == NS_RAM && !ns->nbytes) {
		conf_error(p, line, "[namespace %u]: type = ram needs a size: add size = 64M", ns->nsid);
	} else if (ns->nbytes % (ns->block ? ns->block : 512)) {
		conf_error(p, line, "[namespace %u]: size is not a multiple of block_size, %u", ns->nsid,
			   ns->block ? ns->block : 512);
	}
}

/* In the order of nsid; the lines go along. */
static void ns_sort(struct conf_subsys *s, unsigned int *line)
{
	uint32_t i, j;

	for (i = 1; i < s->nns; i++) {
		struct conf_ns ns = s->ns[i];
		unsigned int l = line[i];

		for (j = i; j && s->ns[j - 1].nsid > ns.nsid; j--) {
			s->ns[j] = s->ns[j - 1];
			line[j] = line[j - 1];
		}
		s->ns[j] = ns;
		line[j] = l;
	}
}

struct id_line {
	uint8_t uuid[16];
	unsigned int line;
};

static int id_compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

/* No two namespaces have the same UUID. */
static void uuids_check(struct parse *p, uint32_t n)
{
	struct id_line *ids = malloc((n + 1) * sizeof(*ids));
	uint32_t i, j, k = 0;

	for (i = 0; ids && i < p->conf->nsubsys; i++)
		for (j = 0; j < p->conf->subsys[i].nns; j++, k++) {
			memcpy(ids[k].uuid, p->conf->subsys[i].ns[j].uuid, 16);
			ids[k].line = p->ns_line[i][j];
		}
	if (ids)
		qsort(ids, k, sizeof(*ids), id_compare);
	for (i = 1; ids && i < k; i++)
		if (!memcmp(ids[i - 1].uuid, ids[i].uuid, 16))
			conf_error(p, BASE_MAX(ids[i - 1].line, ids[i].line),
				   "the namespace has the uuid of the one in line %u: every namespace needs its own",
				   BASE_MIN(ids[i - 1].line, ids[i].line));
	free(ids);
}

static void warn(const struct parse *p, unsigned int line, const char *nqn, const char *what)
{
	fprintf(stderr, "%s:%u: warning: [subsystem %s]: %s\n", p->path, line, nqn, what);
}

/* Without memory for a slot no host gets a lease, and none can see why. */
static void slots_check(struct parse *p, uint64_t naccel)
{
	const uint64_t one = DEVICE_SLOT_NBYTES / MIB, have = p->conf->slot_memory / MIB;

	if (!naccel || have >= naccel * one)
		return;
	if (have < one)
		conf_error(p, p->daemon_line, "slot_memory is too small for a single slot: it needs %lluM, and %lluM for "
			   "one of each accelerator", (unsigned long long)one, (unsigned long long)(naccel * one));
	else
		fprintf(stderr, "%s:%u: warning: slot_memory is too small for a slot of each accelerator: %lluM would be "
			"enough\n", p->path, p->daemon_line, (unsigned long long)(naccel * one));
}

static void subsystems_check(struct parse *p)
{
	uint32_t i, j, naccel = 0, nns = 0;

	for (i = 0; i < p->conf->nsubsys; i++) {
		struct conf_subsys *s = &p->conf->subsys[i];

		ns_sort(s, p->ns_line[i]);
		for (j = 0; j < s->nns; j++) {
			conf_check_ns(p, &s->ns[j], p->ns_line[i][j]);
			naccel += s->ns[j].kind == NS_ACCEL;
		}
		nns += s->nns;
	}
	slots_check(p, p->conf->nsubsys ? naccel : DEVICE_KINDS);
	if (naccel > CONF_MAX_ACCEL)
		conf_error(p, 0, "%u accelerator namespaces: there can be %u in all", naccel, CONF_MAX_ACCEL);
	if (p->nerror)
		return;
	for (i = 0; i < p->conf->nsubsys; i++)
		subsys_defaults(&p->conf->subsys[i]);
	uuids_check(p, nns);
}

static void limits_check(struct parse *p)
{
	const struct conf *c = p->conf;

	if (c->memory < 4ull * c->max_transfer)
		conf_error(p, p->daemon_line, "memory is less than four times max_transfer, %uM: raise one or lower "
			   "the other", c->max_transfer >> 20);
}

/* What is allowed but seldom meant. */
static void warnings(const struct parse *p)
{
	const struct conf *c = p->conf;
	bool beyond = false;
	uint32_t i;

	for (i = 0; i < c->nlisten; i++)
		beyond |= !conf_is_loopback(&c->listen[i]);
	for (i = 0; i < c->nsubsys; i++) {
		const struct conf_subsys *s = &c->subsys[i];

		if (s->allow_any && beyond)
			warn(p, p->subsys_line[i], s->nqn, "any host of the network may use it: instead of "
			     "allow_any_host = yes name hosts by host = NQN, or listen on 127.0.0.1 only");
		if (!s->allow_any && !s->nhost)
			warn(p, p->subsys_line[i], s->nqn,
			     "no host may use it: add host = NQN or allow_any_host = yes");
	}
	if (!c->nsubsys && beyond)
		fprintf(stderr, "%s: warning: any host of the network may use the default subsystem: add a "
			"[subsystem NQN] with host = NQN, or listen on 127.0.0.1 only\n", p->path);
}

void conf_check(struct parse *p)
{
	limits_check(p);
	subsystems_check(p);
	if (!p->nerror)
		warnings(p);
}
