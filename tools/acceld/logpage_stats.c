// SPDX-License-Identifier: BSD-2-Clause
/* Log page C1h: what the target has done since it started. */
#include <time.h>
#include "ctrl.h"

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static uint64_t uptime_ns(const struct target *t)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec - t->start_ns;
}

static void stats_conns(const struct counters *c, struct nvme_accel_target_stats *page)
{
	le64_put(&page->conns, load(&c->conns));
	le64_put(&page->conns_now, load(&c->conns_now));
	le64_put(&page->conns_refused, load(&c->conns_refused));
	le64_put(&page->conns_failed, load(&c->conns_failed));
	le64_put(&page->ctrls, load(&c->ctrls));
	le64_put(&page->ctrls_now, load(&c->ctrls_now));
	le64_put(&page->connects_refused, load(&c->connects_refused));
	le64_put(&page->term_sent, load(&c->term_sent));
	le64_put(&page->term_received, load(&c->term_received));
	le64_put(&page->digest_errors, load(&c->digest_errors));
	le64_put(&page->keepalive_expiries, load(&c->keepalive_expiries));
}

static void stats_cmds(const struct counters *c, struct nvme_accel_target_stats *page)
{
	le64_put(&page->cmds_admin, load(&c->cmds_admin));
	le64_put(&page->cmds_read, load(&c->cmds_read));
	le64_put(&page->cmds_write, load(&c->cmds_write));
	le64_put(&page->cmds_other, load(&c->cmds_other));
	le64_put(&page->cmds_failed, load(&c->cmds_failed));
	le64_put(&page->cmds_aborted, load(&c->cmds_aborted));
	le64_put(&page->cmds_now, load(&c->cmds_now));
	le64_put(&page->bytes_in, load(&c->bytes_in));
	le64_put(&page->bytes_out, load(&c->bytes_out));
	le64_put(&page->mem_used, load(&c->mem_used));
	le64_put(&page->mem_waits, load(&c->mem_waits));
}

static void stats_arrays(const struct counters *c, struct nvme_accel_target_stats *page)
{
	unsigned int i, n = 0;

	for (i = 0; i < 8; i++)
		le64_put(&page->fes[i], load(&c->fes[i]));
	for (i = 0; i < BASE_MIN(NVME_ACCEL_NLAT, 40u); i++)
		le64_put(&page->lat_log2[i], load(&c->lat_log2[i]));
	for (i = 1; i < 4 * 256 && n < NVME_ACCEL_NTARGET_SC; i++) {
		uint64_t number = load(&c->by_sc[i / 256][i % 256]);

		if (!number)
			continue;
		le16_put(&page->sc[n].status, (uint16_t)i);
		le64_put(&page->sc[n++].count, number);
	}
}

/* In a reactor: namespaces that are in the table stay until the end of its turn. */
static uint64_t held_now(struct target *t)
{
	unsigned int i, n = __atomic_load_n(&t->nns, __ATOMIC_ACQUIRE);
	uint64_t held = 0;

	for (i = 0; i < n; i++) {
		struct ns *ns = __atomic_load_n(&t->ns_all[i], __ATOMIC_ACQUIRE);

		held += ns ? ns_held(ns) : 0;
	}
	return held;
}

void stats_page(struct target *t, struct nvme_accel_target_stats *page)
{
	memset(page, 0, sizeof(*page));
	memcpy(page->magic, NVME_ACCEL_TARGET_MAGIC, sizeof(page->magic));
	page->version = 1;
	le64_put(&page->uptime_ns, uptime_ns(t));
	le64_put(&page->mem_limit, t->conf->memory);
	stats_conns(&t->count, page);
	stats_cmds(&t->count, page);
	le64_put(&page->held_now, held_now(t));
	stats_arrays(&t->count, page);
}
