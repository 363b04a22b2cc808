// SPDX-License-Identifier: GPL-2.0-only
/* configfs: the root, and a directory for each controller. Documentation/ABI/testing/configfs-nvme-accel-passthru. */
#include <linux/ctype.h>
#include <linux/module.h>
#include "../cfs.h"
#include "core.h"

static struct nap_ctrl *to_ctrl(struct config_item *item)
{
	return container_of(to_config_group(item), struct nap_ctrl, group);
}

/* ---- Parsing ---- */

int nap_parse_u32(struct nap_ctrl *c, const char *name, const char *page, u32 min, u32 max, u32 *value)
{
	u32 v;

	if (kstrtou32(page, 0, &v) || v < min || v > max) {
		nap_err(c, "%s is a number from %u to %u", name, min, max);
		return -EINVAL;
	}
	*value = v;
	return 0;
}

int nap_parse_bool(struct nap_ctrl *c, const char *name, const char *page, bool *value)
{
	u32 v;
	int ret = nap_parse_u32(c, name, page, 0, 1, &v);

	if (!ret)
		*value = v;
	return ret;
}

int nap_parse_text(struct nap_ctrl *c, const char *name, const char *page, size_t max, char **text)
{
	char *copy = kstrdup(page, GFP_KERNEL), *s;
	size_t i, n;

	if (!copy)
		return -ENOMEM;
	s = strim(copy);
	n = strlen(s);
	for (i = 0; i < n && isascii(s[i]) && isprint(s[i]); i++)
		;
	if (n > max || i < n) {
		nap_err(c, "%s has at most %zu characters, printable ASCII", name, max);
		kfree(copy);
		return -EINVAL;
	}
	memmove(copy, s, n + 1);
	*text = copy;
	return 0;
}

/* ---- A controller's attributes ---- */

static int busy(struct nap_ctrl *c, const char *name)
{
	if (!c->live)
		return 0;
	nap_err(c, "%s cannot change while the controller is enabled: write 0 to enable first", name);
	return -EBUSY;
}

static ssize_t nap_ctrl_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_ctrl(item)->live) != NULL);
}

static ssize_t nap_ctrl_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ctrl *c = to_ctrl(item);
	bool on;
	int ret = nap_parse_bool(c, "enable", page, &on);

	if (ret)
		return ret;
	mutex_lock(&c->lock);
	if (on && !c->live)
		ret = nap_ctrl_enable(c);
	else if (!on && c->live)
		nap_ctrl_disable(c);
	nap_ctrl_unlock_scan(c, on && !ret);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ctrl_, enable);

static ssize_t show_id(struct config_item *item, char *page, size_t offset)
{
	struct nap_ctrl *c = to_ctrl(item);
	struct nap_ctrl_conf *id = kmalloc(sizeof(*id), GFP_KERNEL);
	ssize_t n;

	if (!id)
		return -ENOMEM;
	mutex_lock(&c->lock);
	nap_ids_ctrl(c, id);
	mutex_unlock(&c->lock);
	n = sysfs_emit(page, "%s\n", (char *)id + offset);
	kfree(id);
	return n;
}

static int bad_nqn(struct nap_ctrl *c, const char *nqn)
{
	if (!*nqn || (!strncmp(nqn, "nqn.", 4) && !strpbrk(nqn, " ,\"'\\/")))
		return 0;
	nap_err(c, "subsysnqn begins with nqn. and has no blanks, commas, quotes or slashes");
	return -EINVAL;
}

/* An empty line: derived again. */
static ssize_t store_id(struct config_item *item, const char *page, size_t count, const char *name, size_t offset, size_t size)
{
	struct nap_ctrl *c = to_ctrl(item);
	char *text;
	int ret = nap_parse_text(c, name, page, size - 1, &text);

	if (ret)
		return ret;
	mutex_lock(&c->lock);
	ret = busy(c, name);
	if (!ret && offset == offsetof(struct nap_ctrl_conf, subsysnqn))
		ret = bad_nqn(c, text);
	if (!ret)
		strscpy((char *)&c->conf + offset, text, size);
	mutex_unlock(&c->lock);
	kfree(text);
	return ret ?: count;
}

#define ID_ATTR(_name, _size)												\
static ssize_t nap_ctrl_##_name##_show(struct config_item *item, char *page)						\
{															\
	return show_id(item, page, offsetof(struct nap_ctrl_conf, _name));						\
}															\
static ssize_t nap_ctrl_##_name##_store(struct config_item *item, const char *page, size_t count)			\
{															\
	return store_id(item, page, count, #_name, offsetof(struct nap_ctrl_conf, _name), _size);			\
}															\
CONFIGFS_ATTR(nap_ctrl_, _name)

ID_ATTR(subsysnqn, NVMF_NQN_SIZE + 1);
ID_ATTR(serial, sizeof_field(struct nap_ctrl_conf, serial));
ID_ATTR(model, sizeof_field(struct nap_ctrl_conf, model));
ID_ATTR(firmware, sizeof_field(struct nap_ctrl_conf, firmware));

#define NUMBER_ATTR(_name, _min, _max)											\
static ssize_t nap_ctrl_##_name##_show(struct config_item *item, char *page)						\
{															\
	return sysfs_emit(page, "%u\n", READ_ONCE(to_ctrl(item)->conf._name));						\
}															\
static ssize_t nap_ctrl_##_name##_store(struct config_item *item, const char *page, size_t count)			\
{															\
	struct nap_ctrl *c = to_ctrl(item);										\
	u32 value;													\
	int ret = nap_parse_u32(c, #_name, page, _min, _max, &value);							\
															\
	if (ret)													\
		return ret;												\
	mutex_lock(&c->lock);												\
	ret = busy(c, #_name);												\
	if (!ret)													\
		WRITE_ONCE(c->conf._name, value);									\
	mutex_unlock(&c->lock);												\
	return ret ?: count;												\
}															\
CONFIGFS_ATTR(nap_ctrl_, _name)

NUMBER_ATTR(queue_depth, 2, NAP_MAX_DEPTH);
NUMBER_ATTR(nr_queues, 0, NAP_MAX_QUEUES);

/* device and state take no mutex: they tell what a controller does that takes long to disable. */
static ssize_t nap_ctrl_device_show(struct config_item *item, char *page)
{
	struct nap_ctrl *c = to_ctrl(item);
	ssize_t n;

	spin_lock_irq(&c->live_lock);
	n = sysfs_emit(page, "%s\n", c->live ? dev_name(c->live->ctrl.device) : "");
	spin_unlock_irq(&c->live_lock);
	return n;
}
CONFIGFS_ATTR_RO(nap_ctrl_, device);

static const char *state_name(const struct nap_ctrl *c)
{
	if (!c->live)
		return READ_ONCE(c->disabling) ? "deleting" : "disabled";
	switch (nvme_ctrl_state(&c->live->ctrl)) {
	case NVME_CTRL_NEW: return "new";
	case NVME_CTRL_LIVE: return "live";
	case NVME_CTRL_RESETTING: return "resetting";
	case NVME_CTRL_CONNECTING: return "connecting";
	case NVME_CTRL_DEAD: return "dead";
	default: return "deleting";
	}
}

static ssize_t nap_ctrl_state_show(struct config_item *item, char *page)
{
	struct nap_ctrl *c = to_ctrl(item);
	const char *name;

	spin_lock_irq(&c->live_lock);
	name = state_name(c);
	spin_unlock_irq(&c->live_lock);
	return sysfs_emit(page, "%s\n", name);
}
CONFIGFS_ATTR_RO(nap_ctrl_, state);

static struct configfs_attribute *nap_ctrl_attrs[] = {
	&nap_ctrl_attr_enable,
	&nap_ctrl_attr_subsysnqn,
	&nap_ctrl_attr_serial,
	&nap_ctrl_attr_model,
	&nap_ctrl_attr_firmware,
	&nap_ctrl_attr_queue_depth,
	&nap_ctrl_attr_nr_queues,
	&nap_ctrl_attr_device,
	&nap_ctrl_attr_state,
	NULL,
};

/* The last reference: of the directory, of its namespaces, or of a device node that somebody had open. */
static void nap_ctrl_release(struct config_item *item)
{
	struct nap_ctrl *c = to_ctrl(item);

	xa_destroy(&c->made);
	xa_destroy(&c->ns);
	mutex_destroy(&c->lock);
	kfree(c);
}

static struct configfs_item_operations nap_ctrl_item_ops = {
	.release = nap_ctrl_release,
};

static const struct config_item_type nap_ctrl_type = {
	.ct_item_ops = &nap_ctrl_item_ops,
	.ct_attrs = nap_ctrl_attrs,
	.ct_owner = THIS_MODULE,
};

/* ---- The root ---- */

static struct config_group *nap_root_make(struct config_group *group, const char *name)
{
	struct nap_ctrl *c;

	if (!cfs_good_name(name)) {
		pr_err_ratelimited(NAP_NAME ": a controller's name has at most %u letters, digits and ._-, and no dot first\n", CFS_NAME_MAX);
		return ERR_PTR(-EINVAL);
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return ERR_PTR(-ENOMEM);
	mutex_init(&c->lock);
	spin_lock_init(&c->live_lock);
	xa_init(&c->made);
	xa_init(&c->ns);
	c->conf.queue_depth = 128;
	if (cfs_group_init(&c->group, name, &nap_ctrl_type))
		return ERR_PTR(-ENOMEM);
	config_group_init_type_name(&c->ns_group, "namespaces", &nap_ns_group_type);
	configfs_add_default_group(&c->ns_group, &c->group);
	return &c->group;
}

static void nap_root_drop(struct config_group *group, struct config_item *item)
{
	struct nap_ctrl *c = to_ctrl(item);

	mutex_lock(&c->lock);
	if (c->live)
		nap_ctrl_disable(c);
	mutex_unlock(&c->lock);
	config_item_put(item);
}

static ssize_t nap_root_version_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", NAP_VERSION);
}
CONFIGFS_ATTR_RO(nap_root_, version);

static ssize_t nap_root_features_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "device engine\n");
}
CONFIGFS_ATTR_RO(nap_root_, features);

static struct configfs_attribute *nap_root_attrs[] = {
	&nap_root_attr_version,
	&nap_root_attr_features,
	NULL,
};

static struct configfs_group_operations nap_root_ops = {
	.make_group = nap_root_make,
	.drop_item = nap_root_drop,
};

static const struct config_item_type nap_root_type = {
	.ct_group_ops = &nap_root_ops,
	.ct_attrs = nap_root_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem nap_subsystem = {
	.su_group = { .cg_item = { .ci_namebuf = NAP_NAME, .ci_type = &nap_root_type } },
};

int nap_configfs_init(void)
{
	config_group_init(&nap_subsystem.su_group);
	mutex_init(&nap_subsystem.su_mutex);
	return configfs_register_subsystem(&nap_subsystem);
}

void nap_configfs_exit(void)
{
	configfs_unregister_subsystem(&nap_subsystem);
	mutex_destroy(&nap_subsystem.su_mutex);
}
