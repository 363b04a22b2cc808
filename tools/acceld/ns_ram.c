// SPDX-License-Identifier: BSD-2-Clause
/*
 * Plain storage in memory, for whatever wants a disk to try a path with; it is empty at every start.
 *
 * Requests point straight into it, so that data go between socket and storage without a copy. So a read that overlaps a
 * write in flight may see any part of it, and the connection copies what it sends with a digest first, which would not
 * match bytes that change meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "ns.h"

/* Identify Namespace, by its bytes. */
#define ID_NSZE		0
#define ID_NCAP		8
#define ID_NUSE		16
#define ID_NMIC		30
#define ID_NGUID	104
#define ID_LBADS	130

struct ns_ram {
	struct ns ns;			/* first */
	uint8_t *mem;
	uint64_t nbytes;
};

static struct ns_ram *ram(struct ns *ns)
{
	return (struct ns_ram *)ns;
}

static uint16_t parse(struct ns *ns, struct req *req)
{
	struct ns_ram *nr = ram(ns);
	struct ns_range range;
	uint16_t sc;

	req->execute = ns_execute_nothing;
	if (req->sqe.opc == NVME_IO_FLUSH)
		return NVME_SC_OK;
	sc = ns_parse_rw(ns, req, nr->nbytes / ns->conf.block, &range);
	if (sc)
		return sc;
	req->iov[0] = (struct iovec){ .iov_base = nr->mem + range.off, .iov_len = range.nbytes };
	req->niov = 1;
	return NVME_SC_OK;
}

static void identify(struct ns *ns, void *page)
{
	uint64_t nsze = ram(ns)->nbytes / ns->conf.block;
	uint8_t *p = page;

	le64_put(p + ID_NSZE, nsze);
	le64_put(p + ID_NCAP, nsze);
	le64_put(p + ID_NUSE, nsze);
	p[ID_NMIC] = 1;
	memcpy(p + ID_NGUID, ns->conf.uuid, 16);
	p[ID_LBADS] = ns->conf.block == 4096 ? 12 : 9;
}

static uint64_t tick(struct ns *ns)
{
	(void)ns;
	return UINT64_MAX;
}

/* Nothing of it lasts longer than its transfer. */
static void stop(struct ns *ns)
{
	(void)ns;
}

static void ram_free(struct ns *ns)
{
	munmap(ram(ns)->mem, ram(ns)->nbytes);
	free(ns);
}

static const struct ns_ops ram_ops = {
	.parse = parse,
	.identify = identify,
	.tick = tick,
	.stop = stop,
	.free = ram_free,
};

int ns_ram_new(struct target *t, const struct conf_ns *conf, struct ns **ns)
{
	struct ns_ram *nr = calloc(1, sizeof(*nr));

	(void)t;
	if (!nr)
		return -ENOMEM;
	nr->nbytes = conf->nbytes - conf->nbytes % conf->block;
	/* Pages come when they are written; zeros until then. */
	nr->mem = mmap(NULL, nr->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (nr->mem == MAP_FAILED) {
		free(nr);
		return -ENOMEM;
	}
	madvise(nr->mem, nr->nbytes, MADV_HUGEPAGE);
	nr->ns.ops = &ram_ops;
	*ns = &nr->ns;
	return 0;
}
