// SPDX-License-Identifier: BSD-2-Clause
/* Copies: options, and both ends, checked against each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "p2p_priv.h"

#define COPY_FLAGS (ACCEL_COPY_NO_FALLBACK | ACCEL_COPY_MEMORY | ACCEL_COPY_SYNC)

static bool range_ok(const struct accel_range *r)
{
	return r && r->size == sizeof(*r) && !r->reserved32 && r->name && mem_is_zero(r->reserved, sizeof(r->reserved));
}

static int opts_take(const struct accel_copy_opts *in, struct accel_copy_opts *o, bool jobs)
{
	struct accel_copy_opts none = ACCEL_INIT(struct accel_copy_opts);

	*o = in ? *in : none;
	if (o->size != sizeof(*o) || o->flags & ~COPY_FLAGS || o->timeout_ms < 0 || o->reserved32 ||
	    !mem_is_zero(o->reserved, sizeof(o->reserved)))
		return -EINVAL;
	if ((o->flags & ACCEL_COPY_NO_FALLBACK) && (o->flags & ACCEL_COPY_MEMORY))
		return -EINVAL;
	o->chunk_nbytes = o->chunk_nbytes ? o->chunk_nbytes : jobs ? P2P_JOB_CHUNK : P2P_CHUNK;
	o->depth = o->depth ? o->depth : P2P_DEPTH;
	return o->chunk_nbytes % NVME_ACCEL_PAGE || o->chunk_nbytes > P2P_CHUNK_MAX || o->depth > P2P_DEPTH_MAX ? -EINVAL : 0;
}

/* Ranges of one disk or file that touch each other cannot be copied in any order. */
static bool overlap(const struct p2p_end *a, const struct p2p_end *b)
{
	uint64_t from_a = a->off + (a->is_block ? a->start : 0), from_b = b->off + (b->is_block ? b->start : 0);

	return a->whole == b->whole && a->ino == b->ino && from_a < from_b + b->nbytes && from_b < from_a + a->nbytes;
}

/* The destination takes what the source has; on a device in whole blocks. */
static int fit(struct accel_copy *c, uint64_t room, bool jobs)
{
	uint64_t n = c->src.nbytes, mask = c->dst.is_block ? c->dst.block - 1 : 0;
	bool fixed = c->dst.is_block || room;

	if (c->o.chunk_nbytes % c->src.block || c->o.chunk_nbytes % c->dst.block)
		return -EINVAL;
	if (jobs)
		return overlap(&c->src, &c->dst) ? -EINVAL : 0;
	if (fixed && ((n + mask) & ~mask) > c->dst.nbytes)
		return -ENOSPC;
	c->dst.nbytes = n;
	return overlap(&c->src, &c->dst) ? -EINVAL : 0;
}

static int open_ends(struct accel_copy *c, const struct accel_range *src, const struct accel_range *dst)
{
	int ret;

	/* The ends keep them. */
	c->src_name = strdup(src->name);
	c->dst_name = strdup(dst->name);
	if (!c->src_name || !c->dst_name)
		return -ENOMEM;
	ret = p2p_end_open(&c->where, &c->src, c->src_name, false, src->offset, src->nbytes);
	if (!ret)
		ret = p2p_end_open(&c->where, &c->dst, c->dst_name, true, dst->offset, dst->nbytes);
	return ret;
}

int copy_new(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
	     const struct accel_copy_opts *opts, bool jobs, struct accel_copy **copy)
{
	struct accel_copy *c;
	int ret;

	if (!ctx || !copy || !range_ok(src) || !range_ok(dst))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->ctx = accel_ctx_ref(ctx);
	c->where = ctx_p2p_where(ctx);
	c->src.fd = c->src.plain = c->src.disk = c->dst.fd = c->dst.plain = c->dst.disk = c->module.fd = -1;
	c->result = 1;
	*copy = c;
	ret = opts_take(opts, &c->o, jobs);
	if (!ret)
		ret = open_ends(c, src, dst);
	if (!ret)
		ret = fit(c, dst->nbytes, jobs);
	c->slot_nbytes = c->o.chunk_nbytes;
	c->begun_ns = api_now_ns();
	c->deadline_ns = c->o.timeout_ms ? c->begun_ns + (uint64_t)c->o.timeout_ms * API_NS_PER_MS : UINT64_MAX;
	return ret;
}
