/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels that are not nvme-core's. The only file that asks for a version; code elsewhere is
 * written as for the newest kernel. nvme-core's own differences are asked of its types: nvme_private.h.
 */
#ifndef NVME_ACCEL_COMPAT_H
#define NVME_ACCEL_COMPAT_H

#include <linux/version.h>
#include <linux/crypto.h>
#include <linux/device.h>
#include <linux/hrtimer.h>

#ifndef CONFIG_64BIT
#error "only 64-bit kernels: page_address() of every page must work"
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "kernels before 6.1 are not supported"
#endif

/* MODULE_IMPORT_NS() takes a string. */
#define COMPAT_NS_STRINGS (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0))

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Parameters of struct class_interface's add_dev and remove_dev. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define COMPAT_CLASS_INTERFACE_PARAMS struct device *dev, struct class_interface *intf
#else
#define COMPAT_CLASS_INTERFACE_PARAMS struct device *dev
#endif

/* Tracepoints: strings know their source from 6.10 on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(dst, src) __assign_str(dst, src)
#else
#define compat_assign_str(dst, src) __assign_str(dst)
#endif

/* What the completion function of a crypto request is given: its data, before 6.3 the request that has it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
typedef struct crypto_async_request compat_crypto_arg;
static inline void *compat_crypto_data(struct crypto_async_request *req) { return req->data; }
#else
typedef void compat_crypto_arg;
static inline void *compat_crypto_data(void *data) { return data; }
#endif

#endif
