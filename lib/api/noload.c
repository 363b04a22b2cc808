// SPDX-License-Identifier: BSD-2-Clause
/*
 * NoLoad cards: accelerators of another interface, which this library recognises and describes, and does nothing
 * else with. Their identity lies where ours does; the firmware revision of the controller says by which layout.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dev_priv.h"

#define MAKER		"Eideticom"
#define PAGE		NVME_ACCEL_PAGE
#define VENDOR_NS	384u		/* in Identify Namespace */
#define VENDOR_CTRL	3072u		/* in Identify Controller */

/* Offsets from VENDOR_NS. */
enum v4 { V4_STATUS = 0, V4_NAME = 16, V4_LOCK = 64, V4_VERSION = 80 };
enum v6 { V6_TYPE = 0, V6_NAME = 4, V6_VERSION = 52, V6_FEATURES = 56, V6_NENGINE = 252, V6_ENGINE = 256 };
#define V6_ENGINE_SIZE	128u
#define NAME_LEN	48u

/* A field of characters, padded with spaces or zeros; what is no character is shown as '?'. */
static void text(const uint8_t *src, size_t n, char *dst)
{
	size_t i, len = strnlen((const char *)src, n);

	while (len && src[len - 1] == ' ')
		len--;
	for (i = 0; i < len; i++)
		dst[i] = src[i] >= 0x20 && src[i] < 0x7f ? (char)src[i] : '?';
	dst[len] = '\0';
}

/* Day 31:27, month 26:23, year from 2000 22:17, hour 16:12, minute 11:6, second 5:0. */
static void date(uint32_t v, struct accel_noload_date *d)
{
	d->year = v ? (uint16_t)(2000 + (v >> 17 & 0x3f)) : 0;
	d->month = v >> 23 & 0xf;
	d->day = v >> 27;
	d->hour = v >> 12 & 0x1f;
	d->minute = v >> 6 & 0x3f;
	d->second = v & 0x3f;
}

static void layout_4(const uint8_t *p, struct accel_noload *n)
{
	n->has_lock = 1;
	n->status = le32_get(p + V4_STATUS);
	text(p + V4_NAME, NAME_LEN, n->name);
	n->lock = le32_get(p + V4_LOCK);
	n->version = le32_get(p + V4_VERSION);
}

static int layout_6(const uint8_t *p, struct accel_noload *n)
{
	const uint8_t *e = p + V6_ENGINE;
	uint32_t i, count = le32_get(p + V6_NENGINE);

	n->type = le32_get(p + V6_TYPE);
	text(p + V6_NAME, NAME_LEN, n->name);
	n->version = le32_get(p + V6_VERSION);
	n->features = le32_get(p + V6_FEATURES);
	if (count > ACCEL_NOLOAD_ENGINES)
		return -EPROTO;
	n->nengine = count;
	for (i = 0; i < count; i++, e += V6_ENGINE_SIZE) {
		n->engine[i].status = le32_get(e);
		n->engine[i].job_state = le32_get(e + 4);
		n->engine[i].handshake = le32_get(e + 8);
		n->engine[i].spec_len = BASE_MIN(le32_get(e + 20), (uint32_t)sizeof(n->engine[i].spec));
		memcpy(n->engine[i].spec, e + 24, sizeof(n->engine[i].spec));
	}
	return 0;
}

int accel_noload_decode(const void *ctrl_page, const void *ns_page, struct accel_noload *n)
{
	const uint8_t *ctrl = ctrl_page, *ns = ns_page;
	char *end;
	long revision;

	if (!ctrl || !ns || !n || n->size != sizeof(*n))
		return -EINVAL;
	memset((uint8_t *)n + sizeof(n->size), 0, sizeof(*n) - sizeof(n->size));
	text(ctrl + 4, 20, n->serial);
	text(ctrl + 24, 40, n->model);
	text(ctrl + 64, 8, n->firmware);
	if (!strstr(n->model, MAKER))
		return -ENODEV;
	date(le32_get(ctrl + VENDOR_CTRL), &n->hardware_built);
	date(le32_get(ctrl + VENDOR_CTRL + 4), &n->firmware_built);
	n->hardware_version = le32_get(ctrl + VENDOR_CTRL + 8);
	revision = strtol(n->firmware, &end, 10);
	if (end == n->firmware || revision < 1 || revision > 2)
		return -ENOTSUP;
	n->layout = revision == 1 ? 4 : 6;
	if (revision == 2)
		return layout_6(ns + VENDOR_NS, n);
	layout_4(ns + VENDOR_NS, n);
	return 0;
}

int accel_noload_info(struct accel_ctx *ctx, const char *path, struct accel_noload *n)
{
	uint8_t *pages;
	int ret;

	if (!ctx || !path || !n || n->size != sizeof(*n) || strlen(path) >= sizeof(n->path))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	pages = calloc(2, PAGE);
	if (!pages)
		return -ENOMEM;
	ret = transport_node_identify(&ctx->env, path, pages, pages + PAGE);
	if (!ret)
		ret = accel_noload_decode(pages + PAGE, pages, n);
	if (!ret || ret == -ENOTSUP)
		strcpy(n->path, path);
	free(pages);
	return ret;
}

struct scan {
	struct accel_ctx *ctx;
	char (*paths)[ACCEL_NOLOAD_PATH];
	size_t max;
	int n;
};

/* By the model in sysfs: no card is opened that is somebody else's. */
static int found(void *arg, const char *name)
{
	struct scan *s = arg;
	struct transport_info info;

	if (transport_node_info(&s->ctx->env, name, &info) || !strstr(info.model, MAKER))
		return 0;
	if ((size_t)s->n < s->max && strlen(name) < ACCEL_NOLOAD_PATH)
		strcpy(s->paths[s->n], name);
	s->n++;
	return 0;
}

int accel_noload_list(struct accel_ctx *ctx, char (*paths)[ACCEL_NOLOAD_PATH], size_t max)
{
	struct scan s = { .ctx = ctx, .paths = paths, .max = max };
	int ret;

	if (!ctx || (max && !paths))
		return -EINVAL;
	if (ctx_stale(ctx))
		return -ESTALE;
	ret = transport_uring.scan(&ctx->env, NULL, found, &s);
	return ret ? ret : s.n;
}
