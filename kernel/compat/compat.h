/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels that are not nvme-core's. The only file that asks for a version; code elsewhere is
 * written as for the newest kernel. nvme-core's own differences are asked of its types: nvme_private.h.
 */
#ifndef NVME_ACCEL_COMPAT_H
#define NVME_ACCEL_COMPAT_H

#include <linux/version.h>
#include <linux/crypto.h>
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/file.h>
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

/* Flags of an area that mmap() is making. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define compat_vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#else
#define compat_vm_flags_set(vma, flags) vm_flags_set(vma, flags)
#endif

/*
 * Before a task's plug is put aside: since 6.9 a plug may remember the time, until its task is scheduled away, which then
 * looks at the plug that is in place, even where there is none.
 */
static inline void compat_plug_forget_time(struct blk_plug *plug)
{
#ifdef PF_BLOCK_TS
	if (plug) {
		plug->cur_ktime = 0;
		current->flags &= ~PF_BLOCK_TS;
	}
#endif
}

/* get_unaligned() moved. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/* A block device opened by its path, for reading and writing, and exclusively for its holder. */
struct compat_bdev {
	struct block_device *bdev;
	void *handle;
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static inline int compat_bdev_open(struct compat_bdev *b, const char *path, void *holder)
{
	struct file *file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	b->handle = file;
	b->bdev = file_bdev(file);
	return 0;
}

static inline void compat_bdev_close(struct compat_bdev *b)
{
	if (b->handle)
		fput(b->handle);
}
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
static inline int compat_bdev_open(struct compat_bdev *b, const char *path, void *holder)
{
	return -EOPNOTSUPP;	/* these kernels lived for months only, and each has a way of its own */
}

static inline void compat_bdev_close(struct compat_bdev *b)
{
}
#else
static inline int compat_bdev_open(struct compat_bdev *b, const char *path, void *holder)
{
	struct block_device *bdev = blkdev_get_by_path(path, FMODE_READ | FMODE_WRITE | FMODE_EXCL, holder);

	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	b->handle = b->bdev = bdev;
	return 0;
}

static inline void compat_bdev_close(struct compat_bdev *b)
{
	if (b->handle)
		blkdev_put(b->bdev, FMODE_READ | FMODE_WRITE | FMODE_EXCL);
}
#endif

/* Members of struct acomp_alg that newer kernels have not, or elsewhere. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define compat_acomp_dst_free(function) .dst_free = (function),
#define compat_acomp_reqsize(n) .reqsize = (n),
#define compat_acomp_base_reqsize(n)
#else
#define compat_acomp_dst_free(function)
#define compat_acomp_reqsize(n)
#define compat_acomp_base_reqsize(n) .cra_reqsize = (n),
#endif

#endif
