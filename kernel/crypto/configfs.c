// SPDX-License-Identifier: GPL-2.0-only
/* configfs: the root, and a directory for each binding. Documentation/ABI/testing/configfs-nvme-accel-crypto. */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "../cfs.h"
#include "nac.h"

#define PATH_MAX_LEN 255u

static struct nac_bind *to_bind(struct config_item *item)
{
	return container_of(to_config_group(item), struct nac_bind, group);
}

static ssize_t show_algs(char *page, u32 algs)
{
	ssize_t n = 0;
	unsigned int i;

	for (i = 0; i < NAC_ALGS; i++)
		if (algs & 1u << i)
			n += sysfs_emit_at(page, n, "%s%s", n ? " " : "", nac_alg_name(i));
	return n + sysfs_emit_at(page, n, "\n");
}

/* ---- Parsing ---- */

static int parse_u32(struct nac_bind *bind, const char *name, const char *page, u32 min, u32 max, u32 *value)
{
	u32 v;

	if (kstrtou32(page, 0, &v) || v < min || v > max) {
		nac_err(bind, "%s is a number from %u to %u", name, min, max);
		return -EINVAL;
	}
	*value = v;
	return 0;
}

static int busy(struct nac_bind *bind, const char *name)
{
	if (!bind->enabled)
		return 0;
	nac_err(bind, "%s cannot change while the binding is enabled: write 0 to enable first", name);
	return -EBUSY;
}

/* ---- Numbers ---- */

struct number {
	const char *name;
	size_t offset;		/* in struct nac_conf */
	u32 min, max;
	bool fixed;		/* while the binding is enabled */
};

static u32 *number_at(struct nac_bind *bind, const struct number *n)
{
	return (u32 *)((u8 *)&bind->conf + n->offset);
}

static ssize_t number_store(struct config_item *item, const char *page, size_t count, const struct number *n)
{
	struct nac_bind *bind = to_bind(item);
	u32 value;
	int ret = parse_u32(bind, n->name, page, n->min, n->max, &value);

	if (ret)
		return ret;
	mutex_lock(&bind->admin);
	ret = n->fixed ? busy(bind, n->name) : 0;
	if (!ret) {
		WRITE_ONCE(*number_at(bind, n), value);
		if (n->offset == offsetof(struct nac_conf, priority))
			bind->conf.priority_set = true;
	}
	mutex_unlock(&bind->admin);
	return ret ?: count;
}

#define NUMBER_STORE(_name, _min, _max, _fixed)								\
static ssize_t nac_bind_##_name##_store(struct config_item *item, const char *page, size_t count)	\
{													\
	static const struct number n = { #_name, offsetof(struct nac_conf, _name), _min, _max, _fixed };	\
													\
	return number_store(item, page, count, &n);							\
}

#define NUMBER_ATTR(_name, _min, _max, _fixed)								\
NUMBER_STORE(_name, _min, _max, _fixed)									\
static ssize_t nac_bind_##_name##_show(struct config_item *item, char *page)				\
{													\
	return sysfs_emit(page, "%u\n", READ_ONCE(to_bind(item)->conf._name));				\
}													\
CONFIGFS_ATTR(nac_bind_, _name)

NUMBER_ATTR(slots, 1, NAC_MAX_SLOTS, true);
NUMBER_ATTR(queue_depth, 1, 65536, true);
NUMBER_ATTR(threshold_min, 0, U32_MAX, false);
NUMBER_ATTR(verify, 0, 2, false);
NUMBER_ATTR(level, 1, 9, false);
NUMBER_ATTR(window_bits, 9, 15, false);
NUMBER_ATTR(timeout, 10, 600000, false);
NUMBER_ATTR(allow_fabrics, 0, 1, false);

/* What the device takes less of tells what is in force. */
static ssize_t nac_bind_threshold_max_show(struct config_item *item, char *page)
{
	struct nac_bind *bind = to_bind(item);
	u32 value;

	mutex_lock(&bind->lock);
	value = bind->dev ? bind->dev->max_in : bind->conf.threshold_max;
	mutex_unlock(&bind->lock);
	return sysfs_emit(page, "%u\n", value);
}
NUMBER_STORE(threshold_max, 512, NAC_MAX_BYTES, true)
CONFIGFS_ATTR(nac_bind_, threshold_max);

static ssize_t nac_bind_priority_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", nac_bind_priority(to_bind(item)));
}
NUMBER_STORE(priority, 0, NAC_MAX_PRIORITY, true)
CONFIGFS_ATTR(nac_bind_, priority);

/* ---- The rest ---- */

static ssize_t nac_bind_device_path_show(struct config_item *item, char *page)
{
	struct nac_bind *bind = to_bind(item);
	ssize_t n;

	mutex_lock(&bind->admin);
	n = sysfs_emit(page, "%s\n", bind->conf.device_path ?: "");
	mutex_unlock(&bind->admin);
	return n;
}

static int parse_path(struct nac_bind *bind, const char *page, char **path)
{
	char *copy = kstrdup(page, GFP_KERNEL), *s;
	size_t i, n;

	if (!copy)
		return -ENOMEM;
	s = strim(copy);
	n = strlen(s);
	for (i = 0; i < n && isascii(s[i]) && isprint(s[i]); i++)
		;
	if (n > PATH_MAX_LEN || i < n) {
		nac_err(bind, "device_path has at most %u characters, printable ASCII", PATH_MAX_LEN);
		kfree(copy);
		return -EINVAL;
	}
	memmove(copy, s, n + 1);
	if (!n) {
		kfree(copy);
		copy = NULL;
	}
	*path = copy;
	return 0;
}

static ssize_t nac_bind_device_path_store(struct config_item *item, const char *page, size_t count)
{
	struct nac_bind *bind = to_bind(item);
	char *path;
	int ret = parse_path(bind, page, &path);

	if (ret)
		return ret;
	mutex_lock(&bind->admin);
	ret = busy(bind, "device_path");
	if (!ret)
		swap(bind->conf.device_path, path);
	mutex_unlock(&bind->admin);
	kfree(path);
	return ret ?: count;
}
CONFIGFS_ATTR(nac_bind_, device_path);

static ssize_t nac_bind_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_bind(item)->enabled));
}

static ssize_t nac_bind_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct nac_bind *bind = to_bind(item);
	u32 on;
	int ret = parse_u32(bind, "enable", page, 0, 1, &on);

	if (ret)
		return ret;
	mutex_lock(&bind->admin);
	if (on && !bind->enabled)
		ret = nac_bind_enable(bind);
	else if (!on && bind->enabled)
		nac_bind_disable(bind);
	mutex_unlock(&bind->admin);
	return ret ?: count;
}
CONFIGFS_ATTR(nac_bind_, enable);

/* state takes no mutex: it tells what takes long. */
static ssize_t nac_bind_state_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", nac_bind_state(to_bind(item)));
}
CONFIGFS_ATTR_RO(nac_bind_, state);

static ssize_t nac_bind_transport_show(struct config_item *item, char *page)
{
	struct nac_bind *bind = to_bind(item);

	if (!READ_ONCE(bind->dev))
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%s\n", READ_ONCE(bind->local) ? "local" : "fabric");
}
CONFIGFS_ATTR_RO(nac_bind_, transport);

static ssize_t nac_bind_algorithms_show(struct config_item *item, char *page)
{
	struct nac_bind *bind = to_bind(item);

	return show_algs(page, READ_ONCE(bind->dev) ? READ_ONCE(bind->kinds) : 0);
}
CONFIGFS_ATTR_RO(nac_bind_, algorithms);

static ssize_t nac_bind_uuid_show(struct config_item *item, char *page)
{
	static const u8 none[16];
	struct nac_bind *bind = to_bind(item);

	if (!memcmp(bind->uuid, none, sizeof(none)))
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%pUb\n", bind->uuid);
}
CONFIGFS_ATTR_RO(nac_bind_, uuid);

static struct configfs_attribute *nac_bind_attrs[] = {
	&nac_bind_attr_enable,
	&nac_bind_attr_state,
	&nac_bind_attr_device_path,
	&nac_bind_attr_slots,
	&nac_bind_attr_queue_depth,
	&nac_bind_attr_threshold_min,
	&nac_bind_attr_threshold_max,
	&nac_bind_attr_verify,
	&nac_bind_attr_level,
	&nac_bind_attr_window_bits,
	&nac_bind_attr_priority,
	&nac_bind_attr_timeout,
	&nac_bind_attr_transport,
	&nac_bind_attr_allow_fabrics,
	&nac_bind_attr_algorithms,
	&nac_bind_attr_uuid,
	NULL,
};

/* The last reference: of the directory, or of a device that waited for its last bio. */
static void nac_bind_release(struct config_item *item)
{
	nac_bind_free(to_bind(item));
}

static struct configfs_item_operations nac_bind_item_ops = {
	.release = nac_bind_release,
};

static const struct config_item_type nac_bind_type = {
	.ct_item_ops = &nac_bind_item_ops,
	.ct_attrs = nac_bind_attrs,
	.ct_owner = THIS_MODULE,
};

/* ---- The root ---- */

static struct config_group *nac_root_make(struct config_group *group, const char *name)
{
	struct nac_bind *bind;

	if (!cfs_good_name(name)) {
		pr_err_ratelimited(NAC_NAME ": a binding's name has at most %u letters, digits and ._-, and no dot first\n", CFS_NAME_MAX);
		return ERR_PTR(-EINVAL);
	}
	bind = nac_bind_new();
	if (!bind)
		return ERR_PTR(-ENOMEM);
	if (cfs_group_init(&bind->group, name, &nac_bind_type))
		return ERR_PTR(-ENOMEM);
	nac_stats_show_dir(bind);
	return &bind->group;
}

static void nac_root_drop(struct config_group *group, struct config_item *item)
{
	struct nac_bind *bind = to_bind(item);

	mutex_lock(&bind->admin);
	if (bind->enabled)
		nac_bind_disable(bind);
	mutex_unlock(&bind->admin);
	nac_stats_hide_dir(bind);
	config_item_put(item);
}

static ssize_t nac_root_version_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", NAC_VERSION);
}
CONFIGFS_ATTR_RO(nac_root_, version);

static ssize_t nac_root_algorithms_show(struct config_item *item, char *page)
{
	return show_algs(page, nac_algs_registered());
}
CONFIGFS_ATTR_RO(nac_root_, algorithms);

static struct configfs_attribute *nac_root_attrs[] = {
	&nac_root_attr_version,
	&nac_root_attr_algorithms,
	NULL,
};

static struct configfs_group_operations nac_root_ops = {
	.make_group = nac_root_make,
	.drop_item = nac_root_drop,
};

static const struct config_item_type nac_root_type = {
	.ct_group_ops = &nac_root_ops,
	.ct_attrs = nac_root_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem nac_subsystem = {
	.su_group = { .cg_item = { .ci_namebuf = NAC_NAME, .ci_type = &nac_root_type } },
};

int nac_configfs_init(void)
{
	config_group_init(&nac_subsystem.su_group);
	mutex_init(&nac_subsystem.su_mutex);
	return configfs_register_subsystem(&nac_subsystem);
}

void nac_configfs_exit(void)
{
	configfs_unregister_subsystem(&nac_subsystem);
	mutex_destroy(&nac_subsystem.su_mutex);
}
