// SPDX-License-Identifier: BSD-2-Clause
/*
 * The discovery log page: every subsystem that the host may use, at every address where it can reach it. The list is
 * made anew for every piece that is read; GENCTR, which a host compares, tells it whether the pieces belong together.
 * All under target.lock.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include "ctrl.h"

/* Submission queue flow control can be disabled. Of a secure channel nothing is said (bits 1:0): some hosts take "not
 * required" for a reason to try, and then insist on a key. */
#define TREQ_NO_SQFLOW	4u

/* An address, IPv4 also where a socket shows it mapped into IPv6. */
struct addr {
	int family;
	uint16_t port;
	uint8_t b[16];
};

static const uint8_t v4_mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static struct addr addr_of(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	struct addr a = { .family = ss->ss_family };

	if (a.family == AF_INET) {
		a.port = ntohs(in->sin_port);
		memcpy(a.b, &in->sin_addr, 4);
		return a;
	}
	a.port = ntohs(in6->sin6_port);
	memcpy(a.b, &in6->sin6_addr, 16);
	if (!memcmp(a.b, v4_mapped, 12)) {
		a.family = AF_INET;
		memcpy(a.b, (const uint8_t *)&in6->sin6_addr + 12, 4);
		memset(a.b + 4, 0, 12);
	}
	return a;
}

static bool addr_is_any(const struct addr *a)
{
	return mem_is_zero(a->b, 16);
}

static bool addr_is_loopback(const struct addr *a)
{
	return a->family == AF_INET ? a->b[0] == 127 : mem_is_zero(a->b, 15) && a->b[15] == 1;
}

/* The address that this host is told for a listener; false: it cannot reach it, as far as we know. */
static bool listener_addr(const struct conf_listen *l, const struct conn *conn, struct addr *a)
{
	struct addr local = addr_of(conn_local(conn));

	*a = addr_of(&l->addr);
	a->port = __atomic_load_n(&l->port, __ATOMIC_RELAXED);
	if (addr_is_any(a)) {
		if (a->family != local.family)
			return false;
		memcpy(a->b, local.b, 16);
	}
	return !addr_is_loopback(a) || addr_is_loopback(&local);
}

static void record(const struct ctrl *ctrl, const struct addr *a, unsigned int portid, unsigned int subtype,
		   const char *nqn, struct window *w)
{
	struct nvmf_disc_entry e = { .trtype = NVMF_TRTYPE_TCP, .subtype = (uint8_t)subtype,
				     .treq = TREQ_NO_SQFLOW };
	char text[INET6_ADDRSTRLEN], port[8];

	e.adrfam = a->family == AF_INET ? NVMF_ADRFAM_IPV4 : NVMF_ADRFAM_IPV6;
	le16_put(&e.portid, (uint16_t)portid);
	le16_put(&e.cntlid, ANY_CNTLID);
	le16_put(&e.asqsz, (uint16_t)BASE_MAX(ctrl->target->conf->queue_depth, 32u));
	snprintf(port, sizeof(port), "%u", a->port);
	text_put(e.trsvcid, sizeof(e.trsvcid), port);
	text_put(e.traddr, sizeof(e.traddr), inet_ntop(a->family, a->b, text, sizeof(text)) ? text : "");
	snprintf(e.subnqn, sizeof(e.subnqn), "%s", nqn);
	window_put(w, &e, sizeof(e));
}

/* The records of one subsystem; those of w NULL are only counted. */
static uint64_t records(const struct ctrl *ctrl, const struct conn *conn, const struct subsys *s, struct window *w)
{
	const struct conf *conf = ctrl->target->conf;
	struct addr a;
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < conf->nlisten; i++) {
		if (!listener_addr(&conf->listen[i], conn, &a))
			continue;
		n++;
		if (w)
			record(ctrl, &a, i + 1, NVMF_SUBTYPE_NVME, s->conf.nqn, w);
	}
	return n;
}

/* All records: the discovery subsystem itself, at the address where it was asked, and the others. */
static uint64_t all_records(const struct ctrl *ctrl, const struct conn *conn, struct window *w)
{
	struct addr local = addr_of(conn_local(conn));
	const struct subsys *s;
	uint64_t n = 1;

	if (w)
		record(ctrl, &local, 0, NVMF_SUBTYPE_DISC_SELF, NVME_DISCOVERY_NQN, w);
	for (s = ctrl->target->subsys; s; s = s->next)
		if (!s->discovery && subsys_allows(s, ctrl->hostnqn))
			n += records(ctrl, conn, s, w);
	return n;
}

uint64_t disc_nbytes(const struct ctrl *ctrl, const struct conn *conn)
{
	return sizeof(struct nvmf_disc_log) + all_records(ctrl, conn, NULL) * sizeof(struct nvmf_disc_entry);
}

void disc_put(const struct ctrl *ctrl, const struct conn *conn, struct window *w)
{
	struct nvmf_disc_log head = { 0 };

	le64_put(&head.genctr, ctrl->target->genctr);
	le64_put(&head.numrec, all_records(ctrl, conn, NULL));
	window_put(w, &head, sizeof(head));
	all_records(ctrl, conn, w);
}
