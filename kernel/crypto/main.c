// SPDX-License-Identifier: GPL-2.0-only
/* The module. */
#include <crypto/algapi.h>
#include <linux/module.h>
#include "nac.h"

static unsigned int workspaces;
module_param(workspaces, uint, 0444);
MODULE_PARM_DESC(workspaces, "jobs that software deflate may run at once (0: one a processor)");

struct workqueue_struct *nac_wq, *nac_soft_wq, *nac_ctl_wq, *nac_slow_wq;

static void queues_free(void)
{
	if (nac_slow_wq)
		destroy_workqueue(nac_slow_wq);
	if (nac_ctl_wq)
		destroy_workqueue(nac_ctl_wq);
	if (nac_soft_wq)
		destroy_workqueue(nac_soft_wq);
	if (nac_wq)
		destroy_workqueue(nac_wq);
}

/* Memory may wait to be freed for any of them but the last. */
static int queues_new(void)
{
	nac_wq = alloc_workqueue("nvme-accel-crypto", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_CPU_INTENSIVE, 0);
	nac_soft_wq = alloc_workqueue("nvme-accel-soft", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	nac_ctl_wq = alloc_workqueue("nvme-accel-ctl", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	nac_slow_wq = alloc_workqueue("nvme-accel-slow", WQ_UNBOUND, 0);
	if (nac_wq && nac_soft_wq && nac_ctl_wq && nac_slow_wq)
		return 0;
	queues_free();
	return -ENOMEM;
}

static int __init nac_init(void)
{
	int ret;

	ret = queues_new();
	if (ret)
		return ret;
	ret = nac_zsoft_init(workspaces);
	if (ret)
		goto out_queues;
	ret = nac_stats_module_init();
	if (ret)
		goto out_zsoft;
	ret = nac_algs_init();
	if (ret)
		goto out_stats;
	ret = nac_configfs_init();
	if (ret)
		goto out_algs;
	return 0;

out_algs:
	nac_algs_exit();
out_stats:
	nac_stats_module_exit();
out_zsoft:
	nac_zsoft_exit();
out_queues:
	queues_free();
	return ret;
}

/* Bindings and transforms keep the module; what may be left are devices that wait for their last bio. */
static void __exit nac_exit(void)
{
	nac_configfs_exit();
	nac_algs_exit();
	wait_event(nac_devs_wait, !atomic_read(&nac_devs_count));
	nac_stats_module_exit();
	queues_free();
	nac_zsoft_exit();
}

module_init(nac_init);
module_exit(nac_exit);
MODULE_DESCRIPTION("Crypto API served by NVMe accelerator namespaces");
MODULE_AUTHOR("The nvme-accel project");
MODULE_LICENSE("GPL");
MODULE_VERSION(NAC_VERSION);
MODULE_ALIAS_CRYPTO("deflate-nvme-accel");
MODULE_ALIAS_CRYPTO("sha256-nvme-accel");
MODULE_ALIAS_CRYPTO("gcm-aes-nvme-accel");
MODULE_ALIAS_CRYPTO("xts-aes-nvme-accel");
