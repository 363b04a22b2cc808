/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The public headers that stand before nvme-core's private types. The build reads what they define, so that the
 * generated header (scripts/mkprivate.py) has only what they have not: a public header that is missing here, and
 * included after nvme_private.h, would define a type twice.
 */
#ifndef NVME_PUBLIC_H
#define NVME_PUBLIC_H

#include <linux/version.h>
#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/blk-integrity.h>
#include <linux/blk-mq.h>
#include <linux/bio.h>
#include <linux/cdev.h>
#include <linux/configfs.h>
#include <linux/crypto.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/fault-inject.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hdreg.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nvme.h>
#include <linux/nvme_ioctl.h>
#include <linux/pci.h>
#include <linux/percpu-refcount.h>
#include <linux/pm.h>
#include <linux/pr.h>
#include <linux/rcupdate.h>
#include <linux/sed-opal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/t10-pi.h>
#include <linux/tracepoint.h>
#include <linux/uio.h>
#include <linux/uuid.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#endif
