/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * /dev/nvme-accel-p2p: data moved between NVMe namespaces through the controller memory buffer (CMB) of one of the
 * controllers, so that the payload is neither in system memory nor touched by a processor. Module nvme-accel-p2pdma.
 *
 * A *provider* is an NVMe PCI controller whose CMB holds data. A *client* is an NVMe PCI controller that reads and writes
 * that CMB: the one behind a block device that is given as an open file. Clients must be allowed by the provider's
 * topology guard (NVME_ACCEL_P2P_VERDICT); that cannot be turned off. A *set* is a number of slots of one size in one
 * provider's CMB; it belongs to the open file that allocated it, as jobs do, and both end when the file is closed.
 *
 * Rules for every ioctl: what is not marked "out" is read, all else is written by the kernel alone; reserved and padding fields
 * must be 0, unknown flags are refused (EINVAL); user pointers are u64; sizes are bytes. On failure nothing is written back
 * unless it says so. Structures never change their size: what is new gets a new flag and a feature bit, or a new number.
 *
 * Errors of every ioctl: EINVAL a field is not as it must be; EFAULT a pointer leads nowhere; ENOTTY no such ioctl; ENOMEM;
 * EINTR a signal came before anything was done.
 */
#ifndef _UAPI_LINUX_NVME_ACCEL_P2P_H
#define _UAPI_LINUX_NVME_ACCEL_P2P_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define NVME_ACCEL_P2P_DEV	"/dev/nvme-accel-p2p"	/* root and group accel, 0660; 0600 while tier 3 is on */
#define NVME_ACCEL_P2P_VERSION	1

#define NVME_ACCEL_P2P_MAX_EXTENTS	65536u	/* of one copy */
#define NVME_ACCEL_P2P_MAX_SLOTS	1024u	/* of one set */
#define NVME_ACCEL_P2P_MAX_SETS		64u	/* of one open file */
#define NVME_ACCEL_P2P_MAX_JOBS		64u	/* of one open file */
#define NVME_ACCEL_P2P_TEXT		224u

/* ---- NVME_ACCEL_P2P_GET_INFO ---- */

enum nvme_accel_p2p_feature {
	NVME_ACCEL_P2P_FEAT_COPY	= 1 << 0,
	NVME_ACCEL_P2P_FEAT_EXEC	= 1 << 1,
	NVME_ACCEL_P2P_FEAT_MMAP	= 1 << 2,	/* tier 3 is on: sets can be mapped */
	NVME_ACCEL_P2P_FEAT_KERNEL	= 1 << 3,	/* CONFIG_PCI_P2PDMA: the kernel owns the pages, sysfs p2pmem/allocate is there */
	NVME_ACCEL_P2P_FEAT_CPU_CLIENTS	= 1 << 4,	/* parameter allow_cpu_clients: for trials without accelerator hardware */
};

/* What the kernel offers. All out. */
struct nvme_accel_p2p_info {
	__u32	version;	/* NVME_ACCEL_P2P_VERSION; another one is incompatible */
	__u32	features;	/* enum nvme_accel_p2p_feature */
	__u32	tier;		/* for user buffers: 1 sysfs p2pmem/allocate, 2 slots only, 3 mmap of a set; ioctls work in all */
	__u32	nr_providers;
	__u32	max_extents;
	__u32	max_slots;
	__u32	max_sets;
	__u32	max_jobs;
	__u64	slot_align;	/* slot_bytes must be a multiple of it: the page size */
	__u64	reserved[3];
};

/* ---- NVME_ACCEL_P2P_PROVIDER ---- */

enum nvme_accel_p2p_kind {
	NVME_ACCEL_P2P_KIND_LEGACY	= 1,	/* NVMe before 1.4: decoded while the BAR is */
	NVME_ACCEL_P2P_KIND_1_4		= 2,	/* CAP.CMBS: decoded when CMBMSC says so */
};

enum nvme_accel_p2p_state {
	NVME_ACCEL_P2P_READY		= 1,
	NVME_ACCEL_P2P_RESETTING	= 2,	/* the controller is not ready; a job waits for it, within its time limit */
	NVME_ACCEL_P2P_LOST		= 3,	/* a reset turned the CMB off; the next job turns it on again */
};

/* A provider, and counters since it was found. */
struct nvme_accel_p2p_provider {
	__u32	id;		/* in: the last id seen, first 0; out: the next one. An id is never used twice */
	__u32	kind;		/* out from here on */
	__u32	state;
	__u32	flags;		/* 0 */
	__u64	size;		/* of the window that slots are taken from */
	__u64	free;		/* with FEAT_KERNEL an upper bound: the kernel's other users are not known */
	__u64	bar_addr;	/* where the window is in PCI memory space; 0 without CAP_SYS_ADMIN */
	__u32	cmbloc;		/* registers */
	__u32	cmbsz;
	char	pci[32];	/* "0000:03:00.0" */
	char	ctrl[32];	/* "nvme0"; empty while the driver has none */
	__u32	sets;		/* in use */
	__u32	jobs;		/* running */
	__u64	bytes_in;	/* payload from devices to the CMB */
	__u64	bytes_out;	/* payload from the CMB to devices */
	__u64	bytes_memory;	/* descriptors, status blocks and self-tests: through system memory */
	__u64	commands;	/* bios */
	__u64	jobs_ok;
	__u64	jobs_failed;
	__u64	losses;		/* how often the CMB was found lost */
	__u64	reserved[4];
};

/* ---- NVME_ACCEL_P2P_VERDICT ---- */

enum nvme_accel_p2p_reason {
	NVME_ACCEL_P2P_R_OK		= 0,
	NVME_ACCEL_P2P_R_NOT_BLOCK	= 1,	/* the file is no block device */
	NVME_ACCEL_P2P_R_NOT_NVME	= 2,	/* a block device, but not of an NVMe PCI controller: file system on md, dm, SATA, ... */
	NVME_ACCEL_P2P_R_FABRIC		= 3,	/* NVMe, but not PCI */
	NVME_ACCEL_P2P_R_MULTIPATH	= 4,	/* a multipath head, whose path may change (nvme_core.multipath=N) */
	NVME_ACCEL_P2P_R_METADATA	= 5,	/* a namespace with metadata */
	NVME_ACCEL_P2P_R_NO_DEVICE	= 6,	/* no such PCI device, or not bound to nvme */
	NVME_ACCEL_P2P_R_ACS		= 7,	/* a bridge between them redirects to the root (ACS) */
	NVME_ACCEL_P2P_R_HOST_BRIDGE	= 8,	/* the way is through a host bridge that is not known to forward */
	NVME_ACCEL_P2P_R_DOMAIN		= 9,	/* different host bridges or PCI domains */
	NVME_ACCEL_P2P_R_IOMMU		= 10,	/* the IOMMU translates addresses of one of them */
	NVME_ACCEL_P2P_R_KERNEL		= 11,	/* the kernel's own p2pdma refuses */
	NVME_ACCEL_P2P_R_SELFTEST	= 12,	/* a transfer did not arrive: not used again until the device is bound anew */
	NVME_ACCEL_P2P_R_DMA_MASK	= 13,	/* the client's DMA addresses do not reach the BAR */
	NVME_ACCEL_P2P_R_ZONED		= 14,	/* a zoned namespace: its writes need an order */
};

enum nvme_accel_p2p_path {
	NVME_ACCEL_P2P_PATH_NONE	= 0,
	NVME_ACCEL_P2P_PATH_SELF	= 1,	/* the client is the provider */
	NVME_ACCEL_P2P_PATH_SWITCH	= 2,	/* below one switch */
	NVME_ACCEL_P2P_PATH_BRIDGE	= 3,	/* through the host bridge */
	NVME_ACCEL_P2P_PATH_CPU		= 4,	/* FEAT_CPU_CLIENTS: no device reads the CMB, a processor does */
};

enum nvme_accel_p2p_iommu {
	NVME_ACCEL_P2P_IOMMU_OFF	= 0,
	NVME_ACCEL_P2P_IOMMU_IDENTITY	= 1,
	NVME_ACCEL_P2P_IOMMU_TRANSLATED	= 2,
};

enum nvme_accel_p2p_selftest {
	NVME_ACCEL_P2P_TEST_NONE	= 0,	/* not run yet */
	NVME_ACCEL_P2P_TEST_IN		= 1,	/* device to CMB arrived; CMB to device is tested with the first block a job writes */
	NVME_ACCEL_P2P_TEST_BOTH	= 2,
	NVME_ACCEL_P2P_TEST_FAILED	= 3,
};

#define NVME_ACCEL_P2P_VERDICT_TEST	(1u << 0)	/* run the self-test if it has not run: reads one page of the device, needs fd */

/*
 * Whether a client may use a provider, and why not. A refusal is an answer, not an error: the ioctl returns 0.
 * Errors: ENODEV no such provider; EBADF fd is not open, or not for reading with VERDICT_TEST; EIO, ESTALE, ENOSPC: the
 * self-test could not be run (the verdict without it is written back all the same).
 */
struct nvme_accel_p2p_verdict {
	__u32	provider;	/* id */
	__s32	fd;		/* an open block device, or -1: pci names the client */
	__u32	flags;		/* NVME_ACCEL_P2P_VERDICT_TEST */
	__u32	pad;
	char	pci[32];	/* in with fd -1: "0000:04:00.0"; out: the client's address */
	__u32	allowed;	/* out from here on: 0 or 1 */
	__u32	reason;		/* enum nvme_accel_p2p_reason */
	__u32	path;		/* enum nvme_accel_p2p_path */
	__u32	iommu;		/* enum nvme_accel_p2p_iommu, the worse of the two */
	__u32	selftest;	/* enum nvme_accel_p2p_selftest */
	__u32	distance;	/* bridges between the two */
	char	common[32];	/* the bridge below which both are, or the host bridge: "0000:01:00.0", "pci0000:00" */
	char	acs_at[32];	/* the bridge that redirects; empty if none does */
	char	text[NVME_ACCEL_P2P_TEXT];	/* the verdict in a sentence, with the way out */
	__u64	reserved[2];
};

/* ---- NVME_ACCEL_P2P_ALLOC, NVME_ACCEL_P2P_FREE ---- */

/*
 * A set of slots. Errors: ENODEV no such provider; ENOSPC no room in the CMB for so many (free says how much there is; it may
 * be in pieces); EMFILE the file has MAX_SETS sets.
 */
struct nvme_accel_p2p_alloc {
	__u32	provider;	/* id */
	__u32	nr_slots;	/* 1..MAX_SLOTS */
	__u64	slot_bytes;	/* a multiple of slot_align, at most the provider's size */
	__u32	flags;		/* 0 */
	__u32	handle;		/* out: the set, > 0; it means nothing to other files */
	__u64	mmap_offset;	/* out: with FEAT_MMAP for mmap() of the whole set, one slot behind the other; else 0 */
	__u64	reserved[2];
};

/* Errors: ENOENT no such set; EBUSY a job of it runs, or it is mapped. A set whose provider is gone can be freed. */
struct nvme_accel_p2p_free {
	__u32	handle;
	__u32	pad;
};

/* ---- Jobs: they are started, run by themselves, and are waited for ---- */

/* From source to destination; bytes. Multiples of both devices' logical block sizes. */
struct nvme_accel_p2p_extent {
	__u64	src_off;
	__u64	dst_off;
	__u64	len;
};

/*
 * Copies extents, in no order; several chunks are on their way at once. What either device holds in the page cache
 * is written out before, and dropped from the destination's before and after. The destination's write cache is not flushed (fsync it).
 * Extents must not overlap within the destination, nor source and destination on one device.
 * Errors: ENOENT no such set; EBUSY another job uses its slots; EBADF an fd is not open for what it must do; EROFS the
 * destination is read-only; ERANGE beyond the end of a device; EOPNOTSUPP NVME_ACCEL_P2P_VERDICT says no to one of the two (the
 * reason is there); E2BIG more than MAX_EXTENTS; EMFILE the file has MAX_JOBS jobs; ENODEV the provider or a
 * device is gone.
 */
struct nvme_accel_p2p_copy {
	__u32	handle;		/* the set: a chunk is a slot's size at most, its slots are the depth */
	__u32	flags;		/* 0 */
	__s32	src_fd;		/* block device, open for reading; the job keeps it open */
	__s32	dst_fd;		/* block device, open for writing */
	__u64	extents;	/* pointer to struct nvme_accel_p2p_extent[nr_extents] */
	__u32	nr_extents;	/* 1.. */
	__u32	timeout_ms;	/* for the whole job; 0: none but the devices' own */
	__u32	depth;		/* chunks on their way at once; 0: all slots */
	__u32	chunk;		/* bytes, a multiple of both block sizes; 0: a slot's size */
	__u32	job;		/* out: > 0 */
	__u32	pad;
	__u64	reserved[2];
};

/*
 * One job of an accelerator namespace on data that never is in memory:
 *  1. source [src_off, src_off + src_bytes) is read into the slot, at 0; without source (src_fd -1) the slot is not written
 *     and in_bytes must be 0 (the descriptor's inline data are the input, or the job has none);
 *  2. one write to the accelerator at write_off: header_bytes from user memory (the descriptor block of
 *     NVMe accelerator namespace interface, section 5), then in_bytes of the slot;
 *  3. one read at read_off (the WAIT alias of the job's read half: held until the job is done): the status block, then out_bytes of
 *     output, behind the input in the slot at the next multiple of slot_align; repeated while the status says LOADING,
 *     QUEUED or RUNNING of this seq, until timeout_ms;
 *  4. out_len of the output (the status says it), rounded up to the destination's block size, is written at dst_off; the
 *     accelerator's zeros fill the last block. Without destination (dst_fd -1) the output stays where it is.
 * Lease, seq, descriptor and what the status means are the caller's; the kernel checks the status block's CRC and seq, and
 * that the state is DONE and the code 0 before 4. The slot may be used by no other job meanwhile.
 * Errors: as for COPY; ENOBUFS the slot is too small for input and output; EINVAL also for a header without an accelerator's magic.
 */
struct nvme_accel_p2p_exec {
	__u32	handle;
	__u32	slot;		/* 0..nr_slots - 1 */
	__u32	flags;		/* 0 */
	__s32	src_fd;		/* block device open for reading, or -1 */
	__s32	dst_fd;		/* block device open for writing, or -1 */
	__s32	accel_fd;	/* accelerator namespace's block device, open for both */
	__u64	src_off;
	__u64	src_bytes;	/* a multiple of the source's block size, >= in_bytes */
	__u64	write_off;	/* a multiple of the accelerator's block size */
	__u64	read_off;
	__u64	header;		/* pointer */
	__u32	header_bytes;	/* the accelerator's block size: 512 or 4096 */
	__u32	timeout_ms;	/* for the whole job; 0: 30 s */
	__u64	in_bytes;	/* a multiple of the accelerator's block size */
	__u64	out_bytes;	/* the same: room for output */
	__u64	dst_off;
	__u64	dst_max;	/* room there, a multiple of the destination's block size */
	__u32	job;		/* out: > 0 */
	__u32	pad;
	__u64	reserved[2];
};

enum nvme_accel_p2p_job_state {
	NVME_ACCEL_P2P_JOB_RUNNING	= 1,
	NVME_ACCEL_P2P_JOB_OK		= 2,
	NVME_ACCEL_P2P_JOB_FAILED	= 3,
	NVME_ACCEL_P2P_JOB_CANCELLED	= 4,
};

/* Where a failed job failed. */
enum nvme_accel_p2p_where {
	NVME_ACCEL_P2P_AT_NONE		= 0,
	NVME_ACCEL_P2P_AT_SOURCE	= 1,
	NVME_ACCEL_P2P_AT_DESTINATION	= 2,
	NVME_ACCEL_P2P_AT_ACCEL		= 3,
	NVME_ACCEL_P2P_AT_PROVIDER	= 4,	/* its CMB */
};

/*
 * How a job is doing. Returns as soon as it has ended, or after timeout_ms (0: at once) with state RUNNING; a signal ends the wait with
 * EINTR. A job that is reported as ended is gone, and its slots are free for another.
 * error: 0 or the errno of the job, negative:
 *   -ESTALE      the CMB was lost by a controller reset while data was in it. What was written is undefined; the source is
 *                untouched. The same job can be started again.
 *   -EREMOTEIO   the accelerator ended the job with another code than 0, or the status is none: see the status block
 *   -EPROTO      the status block is not valid
 *   -EOPNOTSUPP  the self-test of a first write failed: the destination did not get what was in the CMB; that pair is refused from now on
 *   -EMSGSIZE    the output is larger than out_bytes or dst_max (the status block says what is needed)
 *   -ETIMEDOUT   timeout_ms is over; -ECANCELED cancelled; -ENODEV the provider is gone
 *   -EIO and what else the block layer has: a device's error, where says whose
 * Whatever ended it, no transfer of the job is under way any more, and bytes_done may be less than what was written.
 * Errors: ENOENT no such job.
 */
struct nvme_accel_p2p_wait {
	__u32	job;
	__u32	timeout_ms;
	__u64	status;		/* pointer to room for an EXEC job's status block, or 0; written if there is one */
	__u32	status_bytes;	/* room: at most 4096 */
	__u32	state;		/* out from here on: enum nvme_accel_p2p_job_state */
	__s32	error;
	__u32	where;		/* enum nvme_accel_p2p_where */
	__u64	bytes_total;	/* to be written to the destination; EXEC: 0 until it is known */
	__u64	bytes_done;	/* written to the destination */
	__u64	out_len;	/* EXEC: the accelerator's */
	__u64	bytes_in;	/* payload from devices to the CMB, and back out */
	__u64	bytes_out;
	__u64	bytes_memory;	/* descriptor, status blocks, self-tests */
	__u64	commands;
	__u64	elapsed_ns;
	__u32	status_len;	/* bytes written to status */
	__u32	pad;
	__u64	reserved[2];
};

/* No more transfers are started; WAIT tells when the last has ended. Errors: ENOENT. */
struct nvme_accel_p2p_cancel {
	__u32	job;
	__u32	pad;
};

/* poll(): POLLIN when a job of the file has ended and has not been waited for. */
#define NVME_ACCEL_P2P_IOC	0xE9
#define NVME_ACCEL_P2P_GET_INFO	_IOWR(NVME_ACCEL_P2P_IOC, 0x00, struct nvme_accel_p2p_info)
#define NVME_ACCEL_P2P_PROVIDER	_IOWR(NVME_ACCEL_P2P_IOC, 0x01, struct nvme_accel_p2p_provider)	/* ENOENT: no further one */
#define NVME_ACCEL_P2P_VERDICT	_IOWR(NVME_ACCEL_P2P_IOC, 0x02, struct nvme_accel_p2p_verdict)
#define NVME_ACCEL_P2P_ALLOC	_IOWR(NVME_ACCEL_P2P_IOC, 0x03, struct nvme_accel_p2p_alloc)
#define NVME_ACCEL_P2P_FREE	_IOWR(NVME_ACCEL_P2P_IOC, 0x04, struct nvme_accel_p2p_free)
#define NVME_ACCEL_P2P_COPY	_IOWR(NVME_ACCEL_P2P_IOC, 0x05, struct nvme_accel_p2p_copy)
#define NVME_ACCEL_P2P_EXEC	_IOWR(NVME_ACCEL_P2P_IOC, 0x06, struct nvme_accel_p2p_exec)
#define NVME_ACCEL_P2P_WAIT	_IOWR(NVME_ACCEL_P2P_IOC, 0x07, struct nvme_accel_p2p_wait)
#define NVME_ACCEL_P2P_CANCEL	_IOWR(NVME_ACCEL_P2P_IOC, 0x08, struct nvme_accel_p2p_cancel)

/*
 * mmap() of a set, FEAT_MMAP alone: MAP_SHARED, offset = mmap_offset, length = the whole set. The memory is cleared first, and it is
 * uncached: the processor's accesses are slow. It is meant for O_DIRECT of NVMe namespaces that the verdict allows, and the kernel
 * does not stop other uses: that is why this tier is for root alone and taints the kernel.
 * Errors: EPERM not root; EINVAL; ENODEV the provider is gone. A mapping whose provider goes away ends with SIGBUS.
 */

#endif
