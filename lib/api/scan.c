// SPDX-License-Identifier: BSD-2-Clause
/* Finding accelerators: scans, filters, names that stand for a device wherever it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api.h"

struct accel_list {
	size_t n, room;
	struct accel_dev_info *info;
};

struct scan {
	struct accel_ctx *ctx;
	const struct accel_filter *filter;
	struct accel_list *list;
	unsigned int denied;		/* devices that may not be opened */
};

#define FILTER_FLAGS (ACCEL_FILTER_HARDWARE | ACCEL_FILTER_SOFTWARE | ACCEL_FILTER_FREE)
#define FILTER_BOTH (ACCEL_FILTER_HARDWARE | ACCEL_FILTER_SOFTWARE)

static bool filter_ok(const struct accel_filter *f)
{
	return f->size == sizeof(*f) && !(f->flags & ~FILTER_FLAGS) &&
	       (f->flags & FILTER_BOTH) != FILTER_BOTH && !(f->alg && !f->op) && f->numa_node >= 0 &&
	       mem_is_zero(f->reserved, sizeof(f->reserved));
}

static bool match_kind(const struct accel_filter *f, const struct accel_dev *dev)
{
	const struct accel_dev_info *info = &dev->info;
	struct accel_caps caps;

	if (f->type && f->type != info->type)
		return false;
	if (f->op && accel_dev_caps(dev, f->op, f->alg, &caps))
		return false;
	if ((f->flags & ACCEL_FILTER_HARDWARE && info->software) ||
	    (f->flags & ACCEL_FILTER_SOFTWARE && !info->software))
		return false;
	return !(f->flags & ACCEL_FILTER_FREE) || info->slots_free > 0;
}

static bool match(const struct accel_filter *f, const struct accel_dev *dev)
{
	const struct accel_dev_info *info = &dev->info;

	if (!f)
		return true;
	if (f->transport && strcmp(f->transport, info->transport) != 0)
		return false;
	if (f->name && strcmp(f->name, info->name) != 0)
		return false;
	if (f->uuid && memcmp(f->uuid, info->uuid, sizeof(info->uuid)) != 0)
		return false;
	if (f->numa_node && f->numa_node - 1 != info->numa_node)
		return false;
	return match_kind(f, dev);
}

static int list_add(struct accel_list *list, const struct accel_dev_info *info)
{
	size_t room = list->room ? 2 * list->room : 8;
	struct accel_dev_info *p;

	if (list->n == list->room) {
		p = realloc(list->info, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		list->info = p;
		list->room = room;
	}
	list->info[list->n++] = *info;
	return 0;
}

/* A device that cannot be asked is no reason to hide the others. */
static int found(void *arg, const char *name)
{
	struct scan *scan = arg;
	unsigned int warned = __atomic_load_n(&scan->ctx->nwarned, __ATOMIC_RELAXED);
	struct accel_dev *dev;
	int ret = dev_open_name(scan->ctx, name, &dev);

	if (ret == -ENOMEM)
		return ret;
	if (ret) {
		scan->denied += ret == -EACCES;
		/* Whoever found what is wrong has mostly said so, and better. */
		if (ret != -ENODEV && warned == __atomic_load_n(&scan->ctx->nwarned, __ATOMIC_RELAXED))
			ctx_log(scan->ctx, ACCEL_LOG_WARNING, "%s: %s", name, accel_strerror(ret));
		return 0;
	}
	ret = match(scan->filter, dev) ? list_add(scan->list, &dev->info) : 0;
	accel_dev_close(dev);
	return ret;
}

/* Nodes of the inbox driver, whatever is behind it, then what others offer, then the process itself. */
static int scan_all(struct scan *scan)
{
	const char *transport = scan->filter ? scan->filter->transport : NULL;
	struct accel_ctx *ctx = scan->ctx;
	bool soft = !transport || strcmp(transport, "soft") == 0, tcp = !transport || strcmp(transport, "tcp") == 0;
	int ret = 0;

	if ((!transport || !soft) && !(ctx->flags & ACCEL_CTX_NO_NODES))
		ret = transport_uring.scan(&ctx->env, NULL, found, scan);
	if (!ret && tcp && ctx->discover)
		ret = transport_tcp.scan(&ctx->env, ctx->discover, found, scan);
	if (!ret && soft && !(ctx->flags & ACCEL_CTX_NO_SOFT))
		ret = transport_soft.scan(&ctx->env, ctx->soft, found, scan);
	return ret;
}

static int by_path(const void *a, const void *b)
{
	return strverscmp(((const struct accel_dev_info *)a)->path, ((const struct accel_dev_info *)b)->path);
}

int accel_scan(struct accel_ctx *ctx, const struct accel_filter *filter, struct accel_list **out)
{
	struct scan scan = { .ctx = ctx, .filter = filter };
	int ret;

	if (!ctx || !out || (filter && !filter_ok(filter)))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	scan.list = calloc(1, sizeof(*scan.list));
	if (!scan.list)
		return -ENOMEM;
	ret = scan_all(&scan);
	if (!ret && !scan.list->n && scan.denied)
		ret = -EACCES;
	if (ret) {
		accel_list_free(scan.list);
		return ret;
	}
	if (scan.list->n)
		qsort(scan.list->info, scan.list->n, sizeof(*scan.list->info), by_path);
	*out = scan.list;
	return 0;
}

size_t accel_list_count(const struct accel_list *list)
{
	return list ? list->n : 0;
}

const struct accel_dev_info *accel_list_get(const struct accel_list *list, size_t i)
{
	return list && i < list->n ? &list->info[i] : NULL;
}

void accel_list_free(struct accel_list *list)
{
	if (!list)
		return;
	free(list->info);
	free(list);
}

static bool better(const struct accel_dev_info *a, const struct accel_dev_info *b)
{
	if (a->software != b->software)
		return !a->software;
	return a->slots_free > b->slots_free;
}

int accel_find(struct accel_ctx *ctx, const struct accel_filter *filter, struct accel_dev **dev)
{
	const struct accel_dev_info *best;
	struct accel_list *list;
	size_t i;
	int ret;

	if (!dev)
		return -EINVAL;
	ret = accel_scan(ctx, filter, &list);
	if (ret)
		return ret;
	best = accel_list_get(list, 0);
	for (i = 1; i < list->n; i++)
		if (better(&list->info[i], best))
			best = &list->info[i];
	ret = best ? dev_open_name(ctx, best->path, dev) : -ENODEV;
	accel_list_free(list);
	return ret;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int i, n = 0;
	int digit;

	memset(uuid, 0, 16);
	for (i = 0; text[i]; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (text[i] != '-')
				return -EINVAL;
			continue;
		}
		digit = hex_digit(text[i]);
		if (digit < 0 || n == 32)
			return -EINVAL;
		uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | digit);
		n++;
	}
	return n == 32 ? 0 : -EINVAL;
}

static int open_by_scan(struct accel_ctx *ctx, const struct accel_filter *filter, struct accel_dev **dev)
{
	struct accel_list *list;
	int ret = accel_scan(ctx, filter, &list);

	if (ret)
		return ret;
	ret = list->n ? dev_open_name(ctx, list->info[0].path, dev) : -ENOENT;
	accel_list_free(list);
	return ret;
}

int accel_dev_open(struct accel_ctx *ctx, const char *name, struct accel_dev **dev)
{
	struct accel_filter filter = ACCEL_INIT(struct accel_filter);
	uint8_t uuid[16];

	if (!ctx || !name || !dev)
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	if (strncmp(name, "uuid:", 5) == 0) {
		if (parse_uuid(name + 5, uuid))
			return -EINVAL;
		filter.uuid = uuid;
		return open_by_scan(ctx, &filter, dev);
	}
	if (strncmp(name, "name:", 5) == 0) {
		if (!name[5])
			return -EINVAL;
		filter.name = name + 5;
		return open_by_scan(ctx, &filter, dev);
	}
	return dev_open_name(ctx, name, dev);
}
