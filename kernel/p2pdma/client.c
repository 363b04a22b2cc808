// SPDX-License-Identifier: GPL-2.0-only
/* Clients: what is behind an open block device, and what it may be used for. */
#include <linux/blk-integrity.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include "p2p.h"

static const char *const reason_text[] = {
	[NVME_ACCEL_P2P_R_NOT_BLOCK] = "it is no block device; for a file, use the device and the file's extents",
	[NVME_ACCEL_P2P_R_NOT_NVME] = "it is no NVMe namespace; only controllers of the nvme driver on PCI can use a CMB",
	[NVME_ACCEL_P2P_R_FABRIC] = "its NVMe controller is not on PCI (a fabric, or a virtual one)",
	[NVME_ACCEL_P2P_R_MULTIPATH] = "it is a multipath node, whose path may change; load nvme_core with multipath=N",
	[NVME_ACCEL_P2P_R_METADATA] = "its blocks have metadata, which would go through memory; format it without",
	[NVME_ACCEL_P2P_R_NO_DEVICE] = "it is no PCI device that the nvme driver is bound to",
	[NVME_ACCEL_P2P_R_ZONED] = "it is zoned: its writes need an order",
};

/* Controllers of nvme-accel-passthru hang below a root device of that name. */
static bool is_virtual(const struct device *ctrl)
{
	return ctrl->parent && !strcmp(dev_name(ctrl->parent), "nvme-accel-passthru");
}

/*
 * The disk is open, so its namespace is there, which holds the controller, which holds the PCI device: also when it is
 * being removed. That is so for nvme-core's disks only, which no other driver's are named like.
 */
static u32 find_device(struct p2p_client *c)
{
	struct gendisk *disk = c->bdev->bd_disk;
	struct device *ctrl = disk_to_dev(disk)->parent;

	if (strncmp(disk->disk_name, "nvme", 4) || !ctrl || !ctrl->class)
		return NVME_ACCEL_P2P_R_NOT_NVME;
	if (!strcmp(ctrl->class->name, "nvme-subsystem"))
		return NVME_ACCEL_P2P_R_MULTIPATH;
	if (strcmp(ctrl->class->name, "nvme"))
		return NVME_ACCEL_P2P_R_NOT_NVME;
	if (blk_get_integrity(disk))
		return NVME_ACCEL_P2P_R_METADATA;
	if (bdev_is_zoned(c->bdev))
		return NVME_ACCEL_P2P_R_ZONED;
	if (ctrl->parent && dev_is_pci(ctrl->parent))
		c->pdev = pci_dev_get(to_pci_dev(ctrl->parent));
	else if (!p2p_allow_cpu_clients || !is_virtual(ctrl))
		return NVME_ACCEL_P2P_R_FABRIC;
	return NVME_ACCEL_P2P_R_OK;
}

int p2p_client_get(struct p2p_client *c, int fd, fmode_t mode, u32 *reason)
{
	c->file = fget(fd);
	if (!c->file)
		return -EBADF;
	if ((c->file->f_mode & mode) != mode) {
		p2p_client_put(c);
		return -EBADF;
	}
	if (!S_ISBLK(file_inode(c->file)->i_mode)) {
		*reason = NVME_ACCEL_P2P_R_NOT_BLOCK;
		return 0;
	}
	c->bdev = I_BDEV(c->file->f_mapping->host);
	*reason = find_device(c);
	return 0;
}

void p2p_client_put(struct p2p_client *c)
{
	if (c->pdev)
		pci_dev_put(c->pdev);
	if (c->file)
		fput(c->file);
	memset(c, 0, sizeof(*c));
}

const char *p2p_client_name(const struct p2p_client *c)
{
	return c->bdev ? c->bdev->bd_disk->disk_name : "none";
}

/* ---- Verdicts ---- */

static void self_tested(struct p2p_provider *p, struct nvme_accel_p2p_verdict *v)
{
	if (v->selftest != NVME_ACCEL_P2P_TEST_FAILED || !v->allowed)
		return;
	p2p_guard_refuse(v, NVME_ACCEL_P2P_R_SELFTEST, "a transfer between device and CMB did not arrive; something between them does not "
			 "forward. Not used again until one of the two is bound anew");
}

void p2p_verdict(struct p2p_provider *p, const struct p2p_client *c, u32 reason, struct nvme_accel_p2p_verdict *v)
{
	if (reason) {
		p2p_guard_refuse(v, reason, reason_text[reason]);
		return;
	}
	p2p_guard(p, c->pdev, v);
	v->selftest = p2p_selftest_state(p, c->pdev);
	self_tested(p, v);
}

int p2p_client_use(struct p2p_client *c, struct p2p_provider *p, int fd, fmode_t mode)
{
	struct nvme_accel_p2p_verdict *v;
	u32 reason;
	int ret;

	ret = p2p_client_get(c, fd, mode, &reason);
	if (ret)
		return ret;
	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	p2p_verdict(p, c, reason, v);
	if (!v->allowed) {
		p2p_count(p, P2P_C_REFUSED, 1);
		ret = -EOPNOTSUPP;
	} else if (mode & FMODE_WRITE && bdev_read_only(c->bdev)) {
		ret = -EROFS;
	}
	kfree(v);
	return ret;
}

/* ---- Ranges ---- */

int p2p_client_range(const struct p2p_client *c, u64 off, u64 len)
{
	u64 end;

	if (!bdev_nr_bytes(c->bdev))
		return -ENODEV;
	if (!IS_ALIGNED(off | len, bdev_logical_block_size(c->bdev)))
		return -EINVAL;
	if (check_add_overflow(off, len, &end) || end > (u64)bdev_nr_bytes(c->bdev))
		return -ERANGE;
	return 0;
}

int p2p_client_sync(struct p2p_client *c, u64 off, u64 len, bool drop)
{
	struct address_space *mapping = c->file->f_mapping;
	int ret;

	if (!len || !mapping->nrpages)
		return 0;
	ret = filemap_write_and_wait_range(mapping, off, off + len - 1);
	if (ret || !drop)
		return ret;
	return invalidate_inode_pages2_range(mapping, off >> PAGE_SHIFT, (off + len - 1) >> PAGE_SHIFT);
}
