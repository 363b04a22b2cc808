// SPDX-License-Identifier: GPL-2.0-only
/* configfs: the directory of a namespace. */
#include <linux/crypto.h>
#include <linux/module.h>
#include "core.h"
#include "engine.h"

static struct nap_ns *to_ns(struct config_item *item)
{
	return container_of(item, struct nap_ns, item);
}

static const char *const kind_names[] = { [NAP_KIND_NONE] = "none", [NAP_KIND_DEVICE] = "device", [NAP_KIND_ENGINE] = "engine" };

static int busy(struct nap_ns *ns, const char *name)
{
	if (!ns->enabled)
		return 0;
	nap_err(ns->ctrl, "namespace %u: %s cannot change while it is enabled: write 0 to its enable first", ns->nsid, name);
	return -EBUSY;
}

/* ---- enable, kind ---- */

static ssize_t nap_ns_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_ns(item)->enabled));
}

static ssize_t nap_ns_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ns *ns = to_ns(item);
	struct nap_ctrl *c = ns->ctrl;
	bool on;
	int ret = nap_parse_bool(c, "enable", page, &on);

	if (ret)
		return ret;
	mutex_lock(&c->lock);
	if (on && !ns->enabled)
		ret = nap_ns_enable(ns);
	else if (!on && ns->enabled)
		nap_ns_disable(ns);
	nap_ctrl_unlock_scan(c, on && !ret);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ns_, enable);

static ssize_t nap_ns_kind_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", kind_names[READ_ONCE(to_ns(item)->conf.kind)]);
}

static ssize_t nap_ns_kind_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ns *ns = to_ns(item);
	int kind = sysfs_match_string(kind_names, page), ret;

	if (kind <= NAP_KIND_NONE) {
		nap_err(ns->ctrl, "namespace %u: kind is device or engine", ns->nsid);
		return -EINVAL;
	}
	mutex_lock(&ns->ctrl->lock);
	ret = busy(ns, "kind");
	if (!ret)
		WRITE_ONCE(ns->conf.kind, kind);
	mutex_unlock(&ns->ctrl->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ns_, kind);

/* ---- Texts ---- */

static ssize_t show_text(struct config_item *item, char *page, size_t offset)
{
	struct nap_ns *ns = to_ns(item);
	const char *text;
	ssize_t n;

	mutex_lock(&ns->ctrl->lock);
	text = *(char **)((char *)&ns->conf + offset);
	n = sysfs_emit(page, "%s\n", text ?: "");
	mutex_unlock(&ns->ctrl->lock);
	return n;
}

/* What each text may be, beside nothing at all. */
static bool path_ok(const char *text) { return text[0] == '/'; }
static bool type_ok(const char *text) { return eng_type(text); }
static bool any_ok(const char *text) { return true; }

static ssize_t store_text(struct config_item *item, const char *page, size_t count, const char *name, size_t offset, size_t max,
			  bool (*ok)(const char *text), const char *what)
{
	struct nap_ns *ns = to_ns(item);
	char *text, **where = (char **)((char *)&ns->conf + offset);
	int ret = nap_parse_text(ns->ctrl, name, page, max, &text);

	if (ret)
		return ret;
	if (*text && !ok(text)) {
		nap_err(ns->ctrl, "namespace %u: %s is %s", ns->nsid, name, what);
		kfree(text);
		return -EINVAL;
	}
	if (!*text) {
		kfree(text);
		text = NULL;
	}
	mutex_lock(&ns->ctrl->lock);
	ret = busy(ns, name);
	if (!ret)
		swap(*where, text);
	mutex_unlock(&ns->ctrl->lock);
	kfree(text);
	return ret ?: count;
}

#define TEXT_ATTR(_name, _max, _ok, _what)										\
static ssize_t nap_ns_##_name##_show(struct config_item *item, char *page)						\
{															\
	return show_text(item, page, offsetof(struct nap_ns_conf, _name));						\
}															\
static ssize_t nap_ns_##_name##_store(struct config_item *item, const char *page, size_t count)			\
{															\
	return store_text(item, page, count, #_name, offsetof(struct nap_ns_conf, _name), _max, _ok, _what);		\
}															\
CONFIGFS_ATTR(nap_ns_, _name)

TEXT_ATTR(device_path, 255, path_ok, "the controller's character device, /dev/nvmeX");
TEXT_ATTR(engine_type, 31, type_ok, "compression, erasure, cipher, digest, checksum, data or all");
TEXT_ATTR(engine_driver, CRYPTO_MAX_ALG_NAME - 1, any_ok, "");

/* ---- Numbers ---- */

#define NUMBER_ATTR(_name, _min, _max, _ok)											\
static ssize_t nap_ns_##_name##_show(struct config_item *item, char *page)						\
{															\
	return sysfs_emit(page, "%u\n", READ_ONCE(to_ns(item)->conf._name));						\
}															\
static ssize_t nap_ns_##_name##_store(struct config_item *item, const char *page, size_t count)			\
{															\
	struct nap_ns *ns = to_ns(item);										\
	u32 value;													\
	int ret = nap_parse_u32(ns->ctrl, #_name, page, _min, _max, &value);						\
															\
	if (ret)													\
		return ret;												\
	if (!(_ok)) {													\
		nap_err(ns->ctrl, "namespace %u: %s: not " #_ok, ns->nsid, #_name);				\
		return -EINVAL;												\
	}														\
	mutex_lock(&ns->ctrl->lock);											\
	ret = busy(ns, #_name);												\
	if (!ret)													\
		WRITE_ONCE(ns->conf._name, value);									\
	mutex_unlock(&ns->ctrl->lock);											\
	return ret ?: count;												\
}															\
CONFIGFS_ATTR(nap_ns_, _name)

NUMBER_ATTR(device_nsid, 1, NVME_NSID_ALL - 1, true);
NUMBER_ATTR(shared, 0, 1, true);
NUMBER_ATTR(engine_threads, 0, 1024, true);
NUMBER_ATTR(engine_slots, 1, 1024, true);
NUMBER_ATTR(engine_lbads, 9, 12, value == 9 || value == 12);
NUMBER_ATTR(engine_window_bits, 9, 15, true);

/* ---- Allow-list ---- */

static ssize_t nap_ns_allow_show(struct config_item *item, char *page)
{
	struct nap_ns *ns = to_ns(item);
	ssize_t n;

	mutex_lock(&ns->ctrl->lock);
	n = nap_policy_show(&ns->conf.policy, page);
	mutex_unlock(&ns->ctrl->lock);
	return n;
}

static ssize_t nap_ns_allow_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ns *ns = to_ns(item);
	struct nap_policy *policy = kzalloc(sizeof(*policy), GFP_KERNEL);
	int ret;

	if (!policy)
		return -ENOMEM;
	ret = nap_policy_parse(policy, page);
	if (ret)
		nap_err(ns->ctrl, "namespace %u: allow is a list of read write flush compare write-zeroes verify 0xNN:none 0xNN:ndt (80h to FFh)",
			ns->nsid);
	mutex_lock(&ns->ctrl->lock);
	if (!ret)
		ret = busy(ns, "allow");
	if (!ret)
		ns->conf.policy = *policy;
	mutex_unlock(&ns->ctrl->lock);
	kfree(policy);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ns_, allow);

/*
 * ---- Limits: the only ones that change while commands run ----
 *
 * A rate so low that the local host could not look for partitions, or a remote one not get its answers before it gives
 * up, would be a namespace that hangs, and whoever opens it too.
 */
#define MIN_BYTES_PER_SEC	65536u
#define MIN_CMDS_PER_SEC	10u

#define LIMIT_ATTR(_name, _type, _parse, _min)									\
static ssize_t nap_ns_##_name##_show(struct config_item *item, char *page)						\
{															\
	return sysfs_emit(page, "%llu\n", (unsigned long long)READ_ONCE(to_ns(item)->limit._name));			\
}															\
static ssize_t nap_ns_##_name##_store(struct config_item *item, const char *page, size_t count)			\
{															\
	struct nap_ns *ns = to_ns(item);										\
	_type value;													\
															\
	if (_parse(page, 0, &value) || (value && value < (_min))) {							\
		nap_err(ns->ctrl, "namespace %u: %s is a number, at least %u; or 0: no limit", ns->nsid, #_name, _min);	\
		return -EINVAL;												\
	}														\
	mutex_lock(&ns->ctrl->lock);											\
	WRITE_ONCE(ns->limit._name, value);										\
	nap_limit_changed(&ns->limit);											\
	mutex_unlock(&ns->ctrl->lock);											\
	return count;													\
}															\
CONFIGFS_ATTR(nap_ns_, _name)

LIMIT_ATTR(max_inflight, u32, kstrtou32, 1u);
LIMIT_ATTR(max_bytes_per_sec, u64, kstrtou64, MIN_BYTES_PER_SEC);
LIMIT_ATTR(max_cmds_per_sec, u64, kstrtou64, MIN_CMDS_PER_SEC);

/* ---- Identity: an empty line has it derived again ---- */

static ssize_t nap_ns_uuid_show(struct config_item *item, char *page)
{
	struct nap_ns *ns = to_ns(item);
	ssize_t n;

	mutex_lock(&ns->ctrl->lock);
	n = sysfs_emit(page, "%pUb\n", &ns->conf.uuid);
	mutex_unlock(&ns->ctrl->lock);
	return n;
}

static ssize_t nap_ns_uuid_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ns *ns = to_ns(item);
	uuid_t uuid = uuid_null;
	char *text;
	int ret = nap_parse_text(ns->ctrl, "uuid", page, UUID_STRING_LEN, &text);
	bool given;

	if (ret)
		return ret;
	given = *text;
	if (given && (strlen(text) != UUID_STRING_LEN || uuid_parse(text, &uuid) || uuid_is_null(&uuid)))
		ret = -EINVAL;
	kfree(text);
	if (ret) {
		nap_err(ns->ctrl, "namespace %u: uuid is 8-4-4-4-12 hexadecimal digits, not all 0", ns->nsid);
		return ret;
	}
	mutex_lock(&ns->ctrl->lock);
	ret = busy(ns, "uuid");
	if (!ret) {
		ns->conf.uuid = uuid;
		ns->uuid_given = given;
	}
	mutex_unlock(&ns->ctrl->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ns_, uuid);

static ssize_t nap_ns_nguid_show(struct config_item *item, char *page)
{
	struct nap_ns *ns = to_ns(item);
	ssize_t n;

	mutex_lock(&ns->ctrl->lock);
	n = sysfs_emit(page, "%16phN\n", ns->conf.nguid);
	mutex_unlock(&ns->ctrl->lock);
	return n;
}

static ssize_t nap_ns_nguid_store(struct config_item *item, const char *page, size_t count)
{
	struct nap_ns *ns = to_ns(item);
	bool given = !sysfs_streq(page, "");
	u8 nguid[16] = { 0 };
	char *text;
	int ret = nap_parse_text(ns->ctrl, "nguid", page, 32, &text);

	if (ret)
		return ret;
	if (given && (strlen(text) != 32 || hex2bin(nguid, text, 16) || !memchr_inv(nguid, 0, 16))) {
		nap_err(ns->ctrl, "namespace %u: nguid is 32 hexadecimal digits, not all 0", ns->nsid);
		ret = -EINVAL;
	}
	kfree(text);
	mutex_lock(&ns->ctrl->lock);
	if (!ret)
		ret = busy(ns, "nguid");
	if (!ret) {
		memcpy(ns->conf.nguid, nguid, sizeof(nguid));
		ns->nguid_given = given;
	}
	mutex_unlock(&ns->ctrl->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(nap_ns_, nguid);

/* ---- Making and removing ---- */

static struct configfs_attribute *nap_ns_attrs[] = {
	&nap_ns_attr_enable,
	&nap_ns_attr_kind,
	&nap_ns_attr_device_path,
	&nap_ns_attr_device_nsid,
	&nap_ns_attr_shared,
	&nap_ns_attr_engine_type,
	&nap_ns_attr_engine_threads,
	&nap_ns_attr_engine_slots,
	&nap_ns_attr_engine_driver,
	&nap_ns_attr_engine_lbads,
	&nap_ns_attr_engine_window_bits,
	&nap_ns_attr_allow,
	&nap_ns_attr_max_inflight,
	&nap_ns_attr_max_bytes_per_sec,
	&nap_ns_attr_max_cmds_per_sec,
	&nap_ns_attr_uuid,
	&nap_ns_attr_nguid,
	NULL,
};

static void nap_ns_release(struct config_item *item)
{
	nap_ns_free(to_ns(item));
}

static struct configfs_item_operations nap_ns_item_ops = {
	.release = nap_ns_release,
};

static const struct config_item_type nap_ns_type = {
	.ct_item_ops = &nap_ns_item_ops,
	.ct_attrs = nap_ns_attrs,
	.ct_owner = THIS_MODULE,
};

static struct nap_ctrl *group_ctrl(struct config_group *group)
{
	return container_of(group, struct nap_ctrl, ns_group);
}

static struct config_item *nap_ns_make(struct config_group *group, const char *name)
{
	struct nap_ctrl *c = group_ctrl(group);
	struct nap_ns *ns;
	u32 nsid;
	int ret;

	/* One spelling for each number: configfs sees to it that no name is there twice. */
	if (name[0] < '1' || name[0] > '9' || kstrtou32(name, 10, &nsid) || nsid > NAP_MAX_NSID) {
		nap_err(c, "the name of a namespace is its number, 1 to %u, decimal", NAP_MAX_NSID);
		return ERR_PTR(-EINVAL);
	}
	ns = nap_ns_new(c, nsid);
	if (IS_ERR(ns))
		return ERR_CAST(ns);
	config_item_init_type_name(&ns->item, name, &nap_ns_type);
	mutex_lock(&c->lock);
	ret = xa_insert(&c->made, nsid, ns, GFP_KERNEL);
	mutex_unlock(&c->lock);
	if (ret) {
		config_item_put(&ns->item);
		return ERR_PTR(ret);
	}
	return &ns->item;
}

static void nap_ns_drop(struct config_group *group, struct config_item *item)
{
	struct nap_ns *ns = to_ns(item);
	struct nap_ctrl *c = ns->ctrl;

	mutex_lock(&c->lock);
	nap_ns_disable(ns);
	xa_erase(&c->made, ns->nsid);
	mutex_unlock(&c->lock);
	config_item_put(item);
}

static struct configfs_group_operations nap_ns_group_ops = {
	.make_item = nap_ns_make,
	.drop_item = nap_ns_drop,
};

const struct config_item_type nap_ns_group_type = {
	.ct_group_ops = &nap_ns_group_ops,
	.ct_owner = THIS_MODULE,
};
