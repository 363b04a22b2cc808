// SPDX-License-Identifier: BSD-2-Clause
/* How a device is reached, and what the target behind it says of itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dev_priv.h"

int accel_dev_path_info(struct accel_dev *dev, struct accel_path_info *info)
{
	struct transport_info t;

	if (!dev || !info || info->size != sizeof(*info))
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	transport_get_info(dev->ops, dev->tdev, &t);
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->npath = t.npath;
	snprintf(info->transport, sizeof(info->transport), "%s", t.kind);
	snprintf(info->address, sizeof(info->address), "%s", t.address);
	snprintf(info->subnqn, sizeof(info->subnqn), "%s", t.subnqn);
	snprintf(info->serial, sizeof(info->serial), "%s", t.serial);
	snprintf(info->model, sizeof(info->model), "%s", t.model);
	snprintf(info->firmware, sizeof(info->firmware), "%s", t.firmware);
	info->numa_node = t.numa_node;
	info->kato_ms = t.kato_ms;
	info->ctrl_loss_tmo_s = t.ctrl_loss_tmo_s;
	info->reconnect_delay_s = t.reconnect_delay_s;
	info->max_nbytes = t.max_nbytes;
	info->direct = t.direct;
	info->copied = t.copied;
	info->copied_nbytes = t.copied_nbytes;
	return 0;
}

#define GET(field) (s->field = le64_get(&page->field))

static void counters(const struct nvme_accel_target_stats *page, struct accel_target_stats *s)
{
	unsigned int i;

	GET(uptime_ns);
	GET(conns);
	GET(conns_now);
	GET(conns_refused);
	GET(conns_failed);
	GET(ctrls);
	GET(ctrls_now);
	GET(connects_refused);
	GET(cmds_admin);
	GET(cmds_read);
	GET(cmds_write);
	GET(cmds_other);
	GET(cmds_failed);
	GET(cmds_aborted);
	GET(cmds_now);
	GET(bytes_in);
	GET(bytes_out);
	GET(term_sent);
	GET(term_received);
	GET(digest_errors);
	GET(keepalive_expiries);
	GET(mem_limit);
	GET(mem_used);
	GET(mem_waits);
	GET(held_now);
	for (i = 0; i < sizeof(s->fes) / sizeof(s->fes[0]); i++)
		GET(fes[i]);
	for (i = 0; i < NVME_ACCEL_NLAT; i++)
		s->latency_ns_log2[i] = le64_get(&page->lat_log2[i]);
}

/* Each status once, with a count; then only zeros. */
static int statuses(const struct nvme_accel_target_stats *page, struct accel_target_stats *s)
{
	unsigned int i, k;

	for (i = 0; i < NVME_ACCEL_NTARGET_SC && le64_get(&page->sc[i].count); i++) {
		s->sc[i].status = le16_get(&page->sc[i].status);
		s->sc[i].count = le64_get(&page->sc[i].count);
		if (!s->sc[i].status || s->sc[i].status > 0x7ff || !mem_is_zero(page->sc[i].rsvd2, 6))
			return -EPROTO;
		for (k = 0; k < i; k++)
			if (s->sc[k].status == s->sc[i].status)
				return -EPROTO;
	}
	s->nsc = i;
	return mem_is_zero(&page->sc[i], (NVME_ACCEL_NTARGET_SC - i) * sizeof(page->sc[0])) ? 0 : -EPROTO;
}

int target_stats_decode(const void *p, struct accel_target_stats *s)
{
	const struct nvme_accel_target_stats *page = p;

	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	if (memcmp(page->magic, NVME_ACCEL_TARGET_MAGIC, sizeof(page->magic)) != 0)
		return -ENOTSUP;
	if (page->version != 1 || !mem_is_zero(page->rsvd5, sizeof(page->rsvd5)) ||
	    !mem_is_zero(page->rsvd208, sizeof(page->rsvd208)) || !mem_is_zero(page->rsvd640, sizeof(page->rsvd640)) ||
	    !mem_is_zero(page->rsvd2048, sizeof(page->rsvd2048)))
		return -EPROTO;
	counters(page, s);
	return statuses(page, s);
}

int accel_dev_target_stats(struct accel_dev *dev, struct accel_target_stats *stats)
{
	uint8_t *page;
	int ret;

	if (!dev || !stats || stats->size != sizeof(*stats))
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	page = calloc(1, NVME_ACCEL_PAGE);
	if (!page)
		return -ENOMEM;
	ret = transport_log_page(dev->ops, dev->tdev, NVME_ACCEL_LOG_TARGET, 0, page, NVME_ACCEL_PAGE);
	if (ret == -ENOENT)
		ret = -ENOTSUP;
	if (!ret)
		ret = target_stats_decode(page, stats);
	free(page);
	return ret;
}
