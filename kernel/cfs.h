/* SPDX-License-Identifier: GPL-2.0-only */
/* What the modules' configfs trees have in common: directories that the administrator names. */
#ifndef NVME_ACCEL_CFS_H
#define NVME_ACCEL_CFS_H

#include <linux/configfs.h>
#include <linux/string.h>

#define CFS_NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define CFS_NAME_MAX 48u

/* Not hidden: whoever lists the directories sees all of them. */
static inline bool cfs_good_name(const char *name)
{
	return name[0] != '.' && strspn(name, CFS_NAME_CHARS) == strlen(name) && strlen(name) <= CFS_NAME_MAX;
}

/*
 * As config_group_init_type_name(). A long name takes memory of its own, and whether there was some is not returned: then the
 * group's reference is put, which frees what has it, and -ENOMEM.
 */
static inline int cfs_group_init(struct config_group *group, const char *name, const struct config_item_type *type)
{
	config_group_init_type_name(group, name, type);
	if (config_item_name(&group->cg_item))
		return 0;
	config_item_put(&group->cg_item);
	return -ENOMEM;
}

#endif
