// SPDX-License-Identifier: BSD-2-Clause
/* The soft transport: names, opening and closing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

static int parse_number(const char *text, size_t len, unsigned int *value)
{
	unsigned int v = 0;
	size_t i;

	if (!len || len > 6)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		v = v * 10 + (unsigned int)(text[i] - '0');
	}
	*value = v;
	return 0;
}

static int parse_option(const char *text, size_t len, struct soft_opts *opts)
{
	const struct {
		const char *key;
		unsigned int *value;
	} table[] = {
		{ "threads=", &opts->threads },
		{ "slots=", &opts->slots },
		{ "nsid=", &opts->nsid },
	};
	size_t i, n;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		n = strlen(table[i].key);
		if (len > n && memcmp(text, table[i].key, n) == 0)
			return parse_number(text + n, len - n, table[i].value);
	}
	return -EINVAL;
}

static int parse(struct transport_env *env, const char *text, struct soft_opts *opts)
{
	size_t len;
	int ret;

	opts->nsid = DEVICE_ALL;
	opts->threads = BASE_MIN(env->ncpu, DEVICE_MAX_THREADS);
	opts->slots = 64;
	while (*text) {
		len = strcspn(text, ",");
		ret = parse_option(text, len, opts);
		if (ret)
			return ret;
		text += len;
		if (*text == ',' && !*++text)
			return -EINVAL;
	}
	if (opts->threads > DEVICE_MAX_THREADS || !opts->slots || opts->slots > DEVICE_MAX_SLOTS)
		return -EINVAL;
	return 0;
}

static int soft_scan(struct transport_env *env, const char *options,
		     int (*found)(void *arg, const char *name), void *arg)
{
	struct soft_opts opts;
	char name[96];
	unsigned int nsid;
	int ret;

	ret = parse(env, options ? options : "", &opts);
	if (ret)
		return ret;
	for (nsid = 1; nsid <= DEVICE_KINDS; nsid++) {
		if (options && *options)
			snprintf(name, sizeof(name), "soft:threads=%u,slots=%u,nsid=%u", opts.threads,
				 opts.slots, nsid);
		else
			snprintf(name, sizeof(name), "soft:nsid=%u", nsid);
		ret = found(arg, name);
		if (ret)
			return ret;
	}
	return 0;
}

static int soft_open(struct transport_env *env, const char *name, struct transport_dev **out)
{
	struct transport_dev *dev;
	struct soft_opts opts;
	int ret;

	if (strncmp(name, "soft:", 5) != 0)
		return -EINVAL;
	ret = parse(env, name + 5, &opts);
	if (ret)
		return ret;
	if (!device_kind_name(opts.nsid))
		return -ENOENT;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	ret = soft_node_open(env, &opts, &dev->node);
	if (ret)
		free(dev);
	else
		*out = dev;
	return ret;
}

static void soft_close(struct transport_dev *dev)
{
	soft_node_close(dev->node);
	free(dev);
}

static int soft_identify(struct transport_dev *dev, void *page)
{
	device_identify(dev->node->dev, page);
	return 0;
}

static int soft_reset(struct transport_dev *dev)
{
	device_reset(dev->node->dev);
	return 0;
}

static int soft_info(struct transport_dev *dev, struct transport_info *info)
{
	(void)dev;
	memset(info, 0, sizeof(*info));
	strcpy(info->kind, "soft");
	info->numa_node = -1;
	info->kato_ms = info->ctrl_loss_tmo_s = info->reconnect_delay_s = -1;
	return 0;
}

/* There is no controller. */
static int soft_identify_ctrl(struct transport_dev *dev, void *page)
{
	(void)dev;
	(void)page;
	return -ENOTSUP;
}

static int soft_log_page(struct transport_dev *dev, uint8_t lid, uint64_t off, void *buf, uint32_t nbytes)
{
	(void)dev;
	(void)lid;
	(void)off;
	(void)buf;
	(void)nbytes;
	return -ENOTSUP;
}

/* Nor a node that anybody else could open. */
static int soft_hold(struct transport_dev *dev, enum transport_hold how)
{
	(void)dev;
	(void)how;
	return 0;
}

const struct transport_ops transport_soft = {
	.name = "soft",
	.flags = TRANSPORT_CAN_BORROW | TRANSPORT_ORDERED,
	.scan = soft_scan,
	.open = soft_open,
	.close = soft_close,
	.identify = soft_identify,
	.queue_new = soft_queue_new,
	.queue_free = soft_queue_free,
	.submit = soft_submit,
	.reap = soft_reap,
	.fd = soft_queue_fd,
	.reset = soft_reset,
	.info = soft_info,
	.identify_ctrl = soft_identify_ctrl,
	.log_page = soft_log_page,
	.hold = soft_hold,
};
