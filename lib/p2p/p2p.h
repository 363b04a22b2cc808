/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peer-to-peer: data between NVMe namespaces through a controller memory buffer (CMB), or through memory where that
 * cannot be. It knows nodes, files and PCI, no accelerators.
 *
 *   pci.c      what sysfs says of PCI functions: the way up to the root, ACS, IOMMU
 *   verdict.c  whether two functions may exchange data, and why not
 *   ctrl.c     NVMe controllers of the machine and their CMBs
 *   module.c   the device file of nvme-accel-p2pdma
 *   end.c      one end of a copy: a namespace or a file; its blocks, and what must not move
 *   extent.c   where a file's blocks are (FIEMAP)
 *   ring.c     a copy by io_uring through buffers in memory, or in a CMB that is mapped
 *   kcopy.c    a copy by the module, through its slots
 */
#ifndef ACCEL_P2P_P2P_H
#define ACCEL_P2P_P2P_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/nvme_accel_p2p.h>

#define P2P_TEXT	240
#define P2P_HOPS	16u		/* PCI functions from the root to a device */
#define P2P_NAME	32

/* ---- pci.c ---- */

enum p2p_port {
	P2P_PORT_UNKNOWN, P2P_PORT_ENDPOINT, P2P_PORT_ROOT, P2P_PORT_UPSTREAM, P2P_PORT_DOWNSTREAM, P2P_PORT_BRIDGE,
};

enum p2p_acs { P2P_ACS_NONE, P2P_ACS_THERE, P2P_ACS_UNKNOWN };

enum p2p_iommu { P2P_IOMMU_OFF, P2P_IOMMU_IDENTITY, P2P_IOMMU_TRANSLATED };

struct p2p_pci {
	char address[P2P_NAME];		/* "0000:03:00.0" */
	uint16_t vendor, device;
	uint32_t class_code;
	enum p2p_port port;
	enum p2p_acs acs;
	uint16_t acs_ctl;		/* ACS Control register (PCIe 6.0, 7.7.11.3) */
	enum p2p_iommu iommu;
	char iommu_type[16];		/* as the kernel names it: "DMA", "DMA-FQ", "identity"; "" without IOMMU */
	int iommu_group;		/* -1: none */
};

/* A function and all bridges above it, from the root down. */
struct p2p_chain {
	char host[P2P_NAME];		/* host bridge: "pci0000:00" */
	unsigned int n;
	struct p2p_pci at[P2P_HOPS];
};

/* -ENOENT: no such function; -E2BIG: more bridges than there can be; -EPROTO: sysfs is not as it should be. */
int p2p_chain_read(const char *sysfs, const char *address, struct p2p_chain *chain);
/* Decodes configuration space of which n bytes could be read (64 without privilege): port and ACS. Pure. */
void p2p_pci_decode(struct p2p_pci *pci, const uint8_t *config, size_t n);
/* Whether text is DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal. */
bool p2p_is_address(const char *text);

/* ---- verdict.c ---- */

enum p2p_answer { P2P_NO, P2P_YES, P2P_UNKNOWN };

struct p2p_verdict {
	enum p2p_answer answer;
	unsigned int path;		/* enum nvme_accel_p2p_path */
	unsigned int reason;		/* enum nvme_accel_p2p_reason */
	unsigned int common;		/* functions from the root that both chains share */
	char why[P2P_TEXT];		/* a sentence */
	char way_out[P2P_TEXT];		/* what to do about it; "" if there is nothing */
};

/*
 * kernel: the kernel's own p2pdma does it (CONFIG_PCI_P2PDMA), which takes addresses of the bus below a switch
 * whatever the IOMMU does. host_known: see p2p_host_known(). Pure.
 */
void p2p_judge(const struct p2p_chain *a, const struct p2p_chain *b, bool kernel, bool host_known,
	       struct p2p_verdict *v);
/* Whether the host bridge of a chain is known to forward between its ports. */
bool p2p_host_known(const char *sysfs, const char *cpuinfo, const struct p2p_chain *chain);

/* ---- ctrl.c ---- */

struct p2p_ctrl {
	char name[P2P_NAME];		/* "nvme0" */
	char address[P2P_NAME];		/* PCI address */
	char model[48];
	uint64_t cmb_nbytes;		/* 0: none */
	bool cmb_read, cmb_write;	/* holds data from the device, and for it (RDS, WDS) */
	bool kernel;			/* the kernel offers it: p2pmem/allocate */
	uint64_t kernel_free;		/* bytes of that */
};

/* Calls fn for each NVMe controller on PCI, in the order of their numbers; stops with what it returns. */
int p2p_ctrl_each(const char *sysfs, int (*fn)(void *arg, const struct p2p_ctrl *ctrl), void *arg);
/*
 * The controller that is meant by nvme0, nvme0n1, nvme0n1p1, with or without /dev/, or by its PCI address; or that the
 * device number is of (name NULL). reason: enum nvme_accel_p2p_reason if it is none that can be a peer. -ENOENT: nothing of that name;
 * -ENODEV: see reason.
 */
int p2p_ctrl_find(const char *sysfs, const char *name, struct p2p_ctrl *ctrl, unsigned int *reason);

/* ---- module.c ---- */

/* The device file of the module; tests have one of their own. */
struct p2p_sys {
	int (*open)(const char *path);	/* an fd or -errno */
	int (*ioctl)(int fd, unsigned long request, void *arg);	/* 0 or -errno */
	void (*close)(int fd);
	void *(*map)(int fd, uint64_t off, size_t n);	/* shared, to read and write; NULL and errno */
};

extern const struct p2p_sys p2p_system;

struct p2p_module {
	const struct p2p_sys *sys;
	int fd;				/* -1: not open */
	struct nvme_accel_p2p_info info;
};

/* -ENOENT, -ENODEV, -ENXIO: it is not loaded; -EACCES; -EPROTO: another version. */
int p2p_module_open(struct p2p_module *m, const struct p2p_sys *sys, const char *path);
void p2p_module_close(struct p2p_module *m);
int p2p_module_call(const struct p2p_module *m, unsigned long request, void *arg);
/* The provider behind *p (p->id 0: the first). -ENOENT: no further one. */
int p2p_module_next(const struct p2p_module *m, struct nvme_accel_p2p_provider *p);
/* By PCI address or controller's name. -ENOENT. */
int p2p_module_provider(const struct p2p_module *m, const char *name, struct nvme_accel_p2p_provider *p);
/* fd -1: by address. Strings of the kernel end where their field does, whatever it holds. */
int p2p_module_verdict(const struct p2p_module *m, uint32_t provider, int fd, const char *address, bool test,
		       struct nvme_accel_p2p_verdict *v);

/* ---- end.c, extent.c ---- */

/* Where to look for nodes and what is known of them. */
struct p2p_where {
	const char *sysfs, *devdir;	/* "/sys", "/dev" */
};

/* Why something is not done by peers: a reason and a sentence. */
struct p2p_why {
	unsigned int reason;		/* enum nvme_accel_p2p_reason; 0 with text: another one */
	char text[P2P_TEXT];
};

void p2p_because(struct p2p_why *why, unsigned int reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A piece of an end: its bytes [off, off + nbytes) lie at phys of the disk. */
struct p2p_piece {
	uint64_t off, phys, nbytes;
};

/* A namespace, a partition, or a file. */
struct p2p_end {
	const char *name;
	bool write, is_block;
	int fd;				/* direct if that is possible */
	int plain;			/* not direct */
	bool direct;
	uint32_t block;			/* bytes of the blocks of direct I/O */
	uint32_t disk_block;		/* bytes of a logical block of the disk, once that is open */
	uint64_t size;			/* of the device or file */
	uint64_t off, nbytes;
	uint64_t ino;			/* of a file */
	uint64_t rdev;			/* of the device, or of that below the file's system */
	uint64_t whole, start;		/* the whole disk's device number, and where on it a partition begins */
	char disk_name[P2P_NAME];	/* "nvme0n1p1" */
	int disk;			/* its node, opened as the module wants it, for direct I/O; -1: not open */
	bool leased;			/* meanwhile only plain is open, which may not be the second file */
	struct p2p_ctrl ctrl;
	struct p2p_why no_peer;		/* text: why it is none */
};

/*
 * Opens, and finds the range: nbytes 0 is the rest. 0; -ENOENT, -EACCES, ... as open() has them; -ENOTBLK: neither block
 * device nor regular file; -EINVAL: the range is not of whole blocks of a device; -ENODATA, -ENOSPC: it goes beyond the end.
 */
int p2p_end_open(const struct p2p_where *where, struct p2p_end *e, const char *name, bool write, uint64_t off,
		 uint64_t nbytes);
void p2p_end_close(struct p2p_end *e);
/* A file may be opened by others again, and is used by way of its file system. */
void p2p_end_release(struct p2p_end *e);
/* The node of the disk, for the module. 0 or -errno with why. */
int p2p_end_disk(const struct p2p_where *where, struct p2p_end *e, struct p2p_why *why);
/* What was written behind a file system's back becomes the file's: dropped from the cache, and a new time. */
void p2p_end_written(struct p2p_end *e);

/*
 * Keeps a file as it is (a lease: no other process has it open for writing, a destination not at all) and finds its
 * blocks; a device is one piece. The caller frees *pieces. 0; -ENOMEM; -EREMOTEIO with why: they could move, or are not there.
 */
int p2p_end_map(struct p2p_end *e, struct p2p_piece **pieces, size_t *n, struct p2p_why *why);
/* Whether somebody wants to open the file meanwhile, who waits until it is closed here. */
bool p2p_end_wanted(const struct p2p_end *e);
/* One extent of FIEMAP: 0, or why it may not be used. Pure. */
const char *p2p_extent_refusal(uint32_t flags, bool write);
/* Both ends' pieces, in the order of the bytes. -ENOMEM; -E2BIG: more than max. The caller frees *list. */
int p2p_extents_join(const struct p2p_piece *src, size_t nsrc, const struct p2p_piece *dst, size_t ndst, uint32_t max,
		     struct nvme_accel_p2p_extent **list, uint32_t *n);

/* ---- ring.c ---- */

struct p2p_ring;

struct p2p_ring_opts {
	const struct p2p_end *src, *dst;	/* outlive the copy */
	uint64_t from, nbytes;		/* of both ranges */
	uint32_t chunk, depth;		/* chunk: a multiple of both ends' blocks */
	void *mem;			/* chunk * depth bytes to go through; NULL: memory of its own */
};

int p2p_ring_new(const struct p2p_ring_opts *opts, struct p2p_ring **ring);
/* Works for up to timeout_ms (-1: to the end). 1: all is done; 0: not yet; -errno: failed, and nothing is in flight. */
int p2p_ring_step(struct p2p_ring *r, int timeout_ms);
/* No more is started; p2p_ring_step() then ends with -ECANCELED. */
void p2p_ring_cancel(struct p2p_ring *r);
uint64_t p2p_ring_done(const struct p2p_ring *r);
void p2p_ring_free(struct p2p_ring *r);

/* ---- kcopy.c ---- */

struct p2p_kcopy {
	const struct p2p_module *m;
	uint32_t set, job;		/* 0: none */
	struct nvme_accel_p2p_wait last;
};

/*
 * Allocates slots: as many of depth as there are, at least two unless depth is one, and smaller ones if need be, unless they are to
 * be whole. -ENOSPC.
 */
int p2p_kcopy_open(struct p2p_kcopy *k, const struct p2p_module *m, uint32_t provider, uint32_t chunk, uint32_t depth,
		   bool whole);
int p2p_kcopy_start(struct p2p_kcopy *k, int src, int dst, const struct nvme_accel_p2p_extent *list, uint32_t n,
		    uint32_t timeout_ms);
/* 1: done; 0: not yet; -errno as the job ended. */
int p2p_kcopy_step(struct p2p_kcopy *k, int timeout_ms);
void p2p_kcopy_cancel(struct p2p_kcopy *k);
/* Waits for the job's end. */
void p2p_kcopy_close(struct p2p_kcopy *k);

#endif
