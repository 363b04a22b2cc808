// SPDX-License-Identifier: GPL-2.0-only
/* The module. */
#include <linux/module.h>
#include "p2p.h"

bool p2p_allow_user_pages;
module_param_named_unsafe(allow_user_pages, p2p_allow_user_pages, bool, 0400);
MODULE_PARM_DESC(allow_user_pages, "let root map CMB pages for O_DIRECT (tier 3; taints the kernel; off)");

bool p2p_allow_cpu_clients;
module_param_named(allow_cpu_clients, p2p_allow_cpu_clients, bool, 0400);
MODULE_PARM_DESC(allow_cpu_clients, "accept nvme-accel-passthru's engines as accelerators, by way of the processor: for trials (off)");

static int __init p2p_init(void)
{
	int ret;

	p2p_wq = alloc_workqueue(P2P_NAME, WQ_UNBOUND, 0);
	if (!p2p_wq)
		return -ENOMEM;
	p2p_stats_init();
	ret = p2p_providers_init();
	if (ret)
		goto exit_stats;
	ret = p2p_file_init();
	if (ret)
		goto exit_providers;
	return 0;

exit_providers:
	p2p_providers_exit();
exit_stats:
	p2p_stats_exit();
	destroy_workqueue(p2p_wq);
	return ret;
}

/* No file is open, so there are no jobs and no sets; what the last of them do after their end is in the queue. */
static void __exit p2p_exit(void)
{
	p2p_file_exit();
	destroy_workqueue(p2p_wq);
	p2p_providers_exit();
	p2p_stats_exit();
}

module_init(p2p_init);
module_exit(p2p_exit);
MODULE_DESCRIPTION("Transfers between NVMe devices through a controller memory buffer");
MODULE_AUTHOR("The nvme-accel project");
MODULE_LICENSE("GPL");
MODULE_VERSION(P2P_VERSION);
