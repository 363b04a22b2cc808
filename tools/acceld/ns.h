/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two kinds of namespaces have in common. */
#ifndef ACCELD_NS_H
#define ACCELD_NS_H

#include "acceld.h"

#define FAIL(sc) ((uint16_t)((sc) | NVME_SC_DNR))

/* A Read or Write by blocks, checked, as bytes of the namespace. */
struct ns_range {
	uint64_t off;
	uint32_t nbytes;
};

/* ns_accel.c, ns_ram.c: ops, target and conf are set by the caller after they return; 0 or -errno. */
int ns_accel_new(struct target *t, const struct conf_ns *conf, struct ns **ns);
int ns_ram_new(struct target *t, const struct conf_ns *conf, struct ns **ns);

/* ns.c */
/* Reads and Writes only. nsze: blocks of the namespace. Sets req->dir, nbytes, exact; a status if it is refused. */
uint16_t ns_parse_rw(struct ns *ns, struct req *req, uint64_t nsze, struct ns_range *range);
/* Of a Flush, and of whatever needs nothing more: completes it, or says that the namespace is gone. */
void ns_execute_nothing(struct req *req);
static inline bool ns_gone(const struct ns *ns)
{
	return __atomic_load_n(&ns->gone, __ATOMIC_ACQUIRE);
}

#endif
