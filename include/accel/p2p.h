/* SPDX-License-Identifier: BSD-2-Clause */
/** Peer to peer: data from device to device through a controller memory buffer, or through memory and why. */
#ifndef ACCEL_P2P_H
#define ACCEL_P2P_H

#include <accel/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who offers a controller memory buffer (CMB) to user space; Documentation/p2pdma.rst. */
enum accel_p2p_tier {
	ACCEL_P2P_TIER_NONE = 0,	/**< nobody */
	ACCEL_P2P_TIER_KERNEL = 1,	/**< the kernel (CONFIG_PCI_P2PDMA): pointers */
	ACCEL_P2P_TIER_SLOTS = 2,	/**< nvme-accel-p2pdma: copies, no pointers */
	ACCEL_P2P_TIER_MAPPED = 3,	/**< the same with allow_user_pages=1: pointers, for root */
};

#define ACCEL_P2P_CMB_READ	(1u << 0)	/**< its CMB takes what devices read (RDS) */
#define ACCEL_P2P_CMB_WRITE	(1u << 1)	/**< and gives what devices write (WDS) */
#define ACCEL_P2P_CMB_LOST	(1u << 2)	/**< a controller reset turned it off; the next copy turns it on again */
#define ACCEL_P2P_CMB_LEGACY	(1u << 3)	/**< as before NVMe 1.4; the module tells */
#define ACCEL_P2P_CMB_1_4	(1u << 4)	/**< as NVMe 1.4 has it; the module tells */

/** An NVMe controller on PCI; with a CMB for data it is a provider. */
struct accel_p2p_ctrl {
	char name[32];			/**< "nvme0" */
	char address[32];		/**< "0000:03:00.0" */
	char model[48];
	uint64_t cmb_nbytes;		/**< 0: no CMB */
	uint64_t free_nbytes;		/**< of it, for slots and buffers; 0 without a tier */
	uint32_t cmb_flags;		/**< ACCEL_P2P_CMB_* */
	uint32_t tier;			/**< enum accel_p2p_tier that serves it as a provider */
	uint64_t in_nbytes, out_nbytes;	/**< payload to and from its CMB since the module found it */
	uint64_t memory_nbytes;		/**< what went through memory meanwhile: descriptors, self-tests */
	uint64_t losses;		/**< how often a reset turned the CMB off */
	uint64_t reserved[4];
};

/**
 * NVMe controllers on PCI, in the order of their numbers. Up to max of them are written to ctrls; returns how many
 * there are. Nothing is opened but the module's device file. -EINVAL; -ENOMEM; -ESTALE.
 */
ACCEL_API int accel_p2p_ctrls(struct accel_ctx *ctx, struct accel_p2p_ctrl *ctrls, unsigned int max);

enum accel_p2p_answer {
	ACCEL_P2P_NO = 0,
	ACCEL_P2P_YES = 1,
	ACCEL_P2P_UNKNOWN = 2,		/**< it takes root to see */
};

enum accel_p2p_reason {
	ACCEL_P2P_R_NONE = 0,		/**< it may be done */
	ACCEL_P2P_R_NOT_BLOCK = 1,	/**< no block device */
	ACCEL_P2P_R_NOT_NVME = 2,	/**< no NVMe namespace: md, dm, SATA, loop */
	ACCEL_P2P_R_FABRIC = 3,		/**< NVMe, not on PCI */
	ACCEL_P2P_R_MULTIPATH = 4,	/**< several controllers reach it */
	ACCEL_P2P_R_METADATA = 5,	/**< blocks with metadata */
	ACCEL_P2P_R_NO_DEVICE = 6,	/**< no such device, or another driver has it */
	ACCEL_P2P_R_ACS = 7,		/**< a bridge redirects to the root */
	ACCEL_P2P_R_HOST_BRIDGE = 8,	/**< through a host bridge that is not known to forward */
	ACCEL_P2P_R_DOMAIN = 9,		/**< below different host bridges */
	ACCEL_P2P_R_IOMMU = 10,		/**< the IOMMU translates */
	ACCEL_P2P_R_KERNEL = 11,	/**< the kernel refuses */
	ACCEL_P2P_R_SELFTEST = 12,	/**< a transfer did not arrive */
	ACCEL_P2P_R_DMA_MASK = 13,	/**< addresses of the device do not reach the CMB */
	ACCEL_P2P_R_ZONED = 14,		/**< a zoned namespace */
};

enum accel_p2p_port {
	ACCEL_P2P_PORT_UNKNOWN = 0, ACCEL_P2P_PORT_ENDPOINT = 1, ACCEL_P2P_PORT_ROOT = 2,
	ACCEL_P2P_PORT_UPSTREAM = 3, ACCEL_P2P_PORT_DOWNSTREAM = 4, ACCEL_P2P_PORT_BRIDGE = 5,
};

/** One PCI function on the way. */
struct accel_p2p_hop {
	char address[32];
	char iommu[16];			/**< "DMA", "DMA-FQ", "identity"; "" without IOMMU */
	int32_t iommu_group;		/**< -1: none */
	uint16_t vendor, device;
	uint16_t acs_ctl;		/**< ACS Control register */
	uint8_t acs;			/**< 0: no ACS, 1: there, 2: shown to root alone */
	uint8_t port;			/**< enum accel_p2p_port */
	uint8_t side;			/**< 0: of both, 1: of the first device, 2: of the second */
	uint8_t reserved[7];
};

struct accel_p2p_path {
	uint32_t size;
	uint32_t answer;		/**< enum accel_p2p_answer */
	uint32_t reason;		/**< enum accel_p2p_reason */
	uint32_t nhop;
	uint32_t by_module;		/**< 1: the module's verdict; 0: as far as sysfs shows */
	uint32_t selftest;		/**< of the module: 0 not run, 1 device to CMB, 2 both ways, 3 failed */
	char host[32];			/**< host bridge of the first */
	char why[240];			/**< the verdict in a sentence */
	char way_out[240];		/**< what to do about it; "" if there is nothing */
	struct accel_p2p_ctrl a, b;
	struct accel_p2p_hop hop[32];	/**< from the root down: of both, of the first, of the second */
	uint64_t reserved[4];
};

/**
 * Whether the data of device b can go to and from the CMB of a, or the other way round, without touching memory:
 * topology, ACS and IOMMU, and the verdict. Names are nvme0, nvme0n1, nvme0n1p1, with or without /dev/, or PCI
 * addresses. Works without the module, which has the last word where it is loaded and one of the two has a CMB. Nothing
 * is written. 0: see path->answer, a refusal is an answer. -ENOENT: nothing has that name; -EINVAL; -ENOMEM; -ESTALE.
 */
ACCEL_API int accel_p2p_why(struct accel_ctx *ctx, const char *a, const char *b, struct accel_p2p_path *path);

/* ---- Copies ---- */

/** Bytes of a namespace, a partition or a file. */
struct accel_range {
	uint32_t size;
	uint32_t reserved32;
	const char *name;		/**< "/dev/nvme1n1", "/dev/nvme1n1p2", "/srv/file"; borrowed for the call */
	uint64_t offset;		/**< bytes; whole logical blocks of the device */
	uint64_t nbytes;		/**< 0: source: to the end; destination: as many as there are to write */
	uint64_t reserved[2];
};

#define ACCEL_COPY_NO_FALLBACK	(1u << 0)	/**< -EREMOTEIO rather than through memory */
#define ACCEL_COPY_MEMORY	(1u << 1)	/**< through memory, even if there is another way */
#define ACCEL_COPY_SYNC		(1u << 2)	/**< ends when the destination has it for good (fdatasync) */

/** How a copy is to be made; all zero is the default. */
struct accel_copy_opts {
	uint32_t size;
	uint32_t flags;			/**< ACCEL_COPY_* */
	const char *provider;		/**< "nvme0" or a PCI address: this CMB alone; NULL: the best */
	uint32_t chunk_nbytes;		/**< of one transfer, 4 KiB to 16 MiB, a multiple of 4096; 0: 2 MiB, of jobs 512 KiB */
	uint32_t depth;			/**< transfers at a time, at most 64; 0: 8 */
	int32_t timeout_ms;		/**< of the whole copy; 0: none */
	uint32_t reserved32;
	uint64_t reserved[4];
};

/**
 * How far a copy is, and how it went. Of a job of an accelerator done_nbytes is input, and p2p_nbytes and memory_nbytes
 * are input and output together.
 */
struct accel_copy_info {
	uint32_t size;
	uint32_t tier;			/**< enum accel_p2p_tier by which it goes; NONE: through memory */
	uint64_t total_nbytes;		/**< to be written */
	uint64_t done_nbytes;		/**< written so far */
	uint64_t p2p_nbytes;		/**< of these, through a CMB */
	uint64_t memory_nbytes;		/**< of these, through memory */
	uint64_t out_nbytes;		/**< accel_compress_start(): bytes of the compressed stream; else as done */
	uint64_t elapsed_ns;
	uint64_t jobs;			/**< of an accelerator */
	uint32_t reason;		/**< why it goes through memory: enum accel_p2p_reason, or NONE (see why) */
	int32_t error;			/**< -errno of its end; 0 */
	char provider[32];		/**< PCI address of the CMB; "" if it goes through memory */
	char why[240];			/**< why it goes through memory, or failed; "" otherwise */
	uint64_t reserved[4];
};

struct accel_copy;

/**
 * Starts a copy of source to destination: from device to device by the tier that the kernel offers, with pipelined
 * direct I/O through memory where that cannot be (accel_copy_info tells which, and why). Both are opened here; the
 * source for reading, the destination, which must exist, for writing. A file's blocks are only used behind the back of
 * its file system if they cannot move meanwhile: see Documentation/p2pdma.rst. What else is written to source or
 * destination meanwhile makes the result undefined, as with any copy. The handle is one thread's at a time. Work is
 * done in accel_copy_wait(); the module's jobs run by themselves.
 * -EINVAL: an argument, offsets or lengths that are no whole blocks, ranges that overlap on one device; -ENOENT,
 * -EACCES, -ENXIO as opening has them; -ENOSPC: the destination ends before; -ENODATA: the source does; -ENOTBLK: neither
 * block device nor file; -EREMOTEIO: not possible from device to device, and ACCEL_COPY_NO_FALLBACK: why is the reason; it
 * is written to info (NULL: not wanted) along with all other failures' reasons; -ENOMEM; -ESTALE.
 */
ACCEL_API int accel_copy_start(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
			       const struct accel_copy_opts *opts, struct accel_copy **copy,
			       struct accel_copy_info *info);
/**
 * Works on it for up to timeout_ms, and tells how far it is (info may be NULL). 0: it has ended well; -EAGAIN: not yet;
 * else how it failed: -EIO; -ECANCELED; -ETIMEDOUT: the time of its options was up; -ENODEV, -ESTALE (the CMB was lost
 * by a reset of its controller, and so was a second attempt); what was written is then undefined. Once it has ended, the answer stays.
 */
ACCEL_API int accel_copy_wait(struct accel_copy *copy, int timeout_ms, struct accel_copy_info *info);
/** No more is started; accel_copy_wait() tells when the last transfer has ended. */
ACCEL_API int accel_copy_cancel(struct accel_copy *copy);
/** Cancels, waits for what is on its way, frees. NULL is allowed. */
ACCEL_API void accel_copy_free(struct accel_copy *copy);
/** All of it, in one call. opts and info may be NULL. Errors as of accel_copy_start() and accel_copy_wait(). */
ACCEL_API int accel_copy_range(struct accel_ctx *ctx, const struct accel_range *src, const struct accel_range *dst,
			       const struct accel_copy_opts *opts, struct accel_copy_info *info);

/**
 * One job of a plan whose input is a range of a namespace or file and whose output goes to another: from device to
 * slot to accelerator to slot to device where the module is loaded and dev is a node on PCI, else through memory, as
 * accel_copy_start() has it. The input, and the room of the destination (dst->nbytes, or to its end), must fit the
 * device's job. A last block that is not full is filled with zeros. 0: see *result for the outcome of the job and info
 * (NULL: not wanted) for the way of its bytes. -EMSGSIZE: more than one job takes. Other errors as of accel_run()
 * and accel_copy_start().
 */
ACCEL_API int accel_run_range(struct accel_dev *dev, const struct accel_plan *plan, const struct accel_range *src,
			      const struct accel_range *dst, const struct accel_params *params,
			      const struct accel_copy_opts *opts, int timeout_ms, struct accel_result *result,
			      struct accel_copy_info *info);

/**
 * Starts the compression of a range to gzip in another: jobs of opts->chunk_nbytes, each a member of its
 * own that begins at a block; empty members fill the blocks between, which is standard gzip. The handle is as that
 * of accel_copy_start(), info.out_nbytes the length of the file that has been written; errors as there, and -ENOTSUP, -EBUSY (no lease).
 */
ACCEL_API int accel_compress_start(struct accel_dev *dev, unsigned int level, const struct accel_range *src,
				   const struct accel_range *dst, const struct accel_copy_opts *opts,
				   struct accel_copy **copy, struct accel_copy_info *info);

#ifdef __cplusplus
}
#endif
#endif
