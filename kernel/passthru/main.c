// SPDX-License-Identifier: GPL-2.0-only
/* The module. */
#include <linux/module.h>
#include "core.h"
#include "../engine/kengine.h"

struct device *nap_parent;

static int __init nap_init(void)
{
	int ret;

	nap_parent = root_device_register(NAP_NAME);
	if (IS_ERR(nap_parent))
		return PTR_ERR(nap_parent);
	ret = kengine_init();
	if (ret)
		goto out_parent;
	ret = nap_stats_module_init();
	if (ret)
		goto out_kengine;
	ret = nap_configfs_init();
	if (ret)
		goto out_stats;
	return 0;

out_stats:
	nap_stats_module_exit();
out_kengine:
	kengine_exit();
out_parent:
	root_device_unregister(nap_parent);
	return ret;
}

/* Every controller holds a reference on the module until nvme-core has given back the last one on it. */
static void __exit nap_exit(void)
{
	nap_configfs_exit();
	nap_stats_module_exit();
	kengine_exit();
	root_device_unregister(nap_parent);
	/* The last module_put() is in free_ctrl(), in this module: until whoever ran that has left it. */
	synchronize_rcu_tasks();
}

module_init(nap_init);
module_exit(nap_exit);
MODULE_DESCRIPTION("Virtual NVMe controllers of accelerator namespaces");
MODULE_AUTHOR("The nvme-accel project");
MODULE_LICENSE("GPL");
MODULE_VERSION(NAP_VERSION);
NVME_PRIVATE_IMPORT_NS();
