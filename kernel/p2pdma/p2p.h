/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvme-accel-p2pdma: what its files share. Order of locks: p2p_file.lock, p2p_providers_lock, p2p_provider.lock.
 *
 * A provider lives by references: of the list (while its driver is bound), of sets and of jobs. Its memory (pages, registers)
 * lives while the driver is bound or a job runs; `dead` says that no job may begin, `closed` that the memory is gone.
 */
#ifndef P2P_H
#define P2P_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/nvme_accel_p2p.h>

#define P2P_NAME	"nvme-accel-p2pdma"
#define P2P_VERSION	"0.1.0"

extern bool p2p_allow_user_pages, p2p_allow_cpu_clients;

/* ---- Providers ---- */

enum p2p_counter {
	P2P_C_BYTES_IN,
	P2P_C_BYTES_OUT,
	P2P_C_BYTES_MEMORY,
	P2P_C_COMMANDS,
	P2P_C_JOBS_OK,
	P2P_C_JOBS_FAILED,
	P2P_C_LOSSES,
	P2P_C_REFUSED,		/* a job's client was refused by the guard */
	P2P_C_TESTS,		/* self-tests that were run */
	P2P_C_COUNT
};

/* A piece of the CMB: contiguous pages. */
struct p2p_slot {
	void *vaddr;		/* uncached */
	struct page *page;
};

/* A client that the self-test has looked at, until its driver is unbound. */
struct p2p_pair {
	struct list_head entry;
	struct pci_dev *pdev;	/* NULL: the processor */
	u32 test;		/* enum nvme_accel_p2p_selftest */
};

struct p2p_provider {
	struct kref ref;
	struct list_head entry;		/* p2p_providers */
	u32 id;
	struct pci_dev *pdev;
	bool kernel_pages;		/* the kernel's p2pdma owns the pages */
	struct dentry *dir;

	/* cmb.c */
	enum nvme_accel_p2p_kind kind;
	void __iomem *regs;
	u32 cmbloc, cmbsz;
	int bar;
	u64 offset;			/* of the CMB in the BAR */
	u64 cmbmsc;			/* what CMBMSC must say (1.4) */
	phys_addr_t window;		/* what slots are taken from */
	u64 size;
	u64 canary;			/* what the first bytes of the first page kept must say; the second is the self-test's */
	struct p2p_slot kept;
	struct mutex test_lock;

	/* pages.c */
	struct dev_pagemap pgmap;
	void *vaddr;
	unsigned long *map;		/* a bit a page */
	unsigned long npages;

	struct mutex lock;
	u64 used;
	struct list_head sets;
	struct list_head pairs;
	unsigned int nr_sets, running;
	bool dead, closed;
	bool lost;			/* found lost while jobs ran: set without the lock, cleared with it and no job running */
	wait_queue_head_t idle;
	atomic64_t count[P2P_C_COUNT];
};

#define P2P_KEPT	(2 * PAGE_SIZE)

extern struct list_head p2p_providers;
extern struct mutex p2p_providers_lock;

static inline void p2p_count(struct p2p_provider *p, enum p2p_counter c, u64 n)
{
	atomic64_add(n, &p->count[c]);
}

/* provider.c */
int p2p_providers_init(void);
void p2p_providers_exit(void);
bool p2p_is_nvme(const struct pci_dev *pdev);		/* bound to nvme-pci; with the device locked */
struct p2p_provider *p2p_provider_find(u32 id);		/* with a reference, or NULL */
struct p2p_provider *p2p_provider_after(u32 id);	/* the same: the next one */
unsigned int p2p_provider_count(void);
void p2p_provider_put(struct p2p_provider *p);
void p2p_provider_info(struct p2p_provider *p, struct nvme_accel_p2p_provider *out);
/*
 * A job begins: the CMB is there, turned on again if need be, until p2p_provider_end(). Waits for a controller that is not
 * ready, until *stop (an error then) or for ms. 0, -ENODEV, -ETIMEDOUT, *stop.
 */
int p2p_provider_begin(struct p2p_provider *p, const int *stop, unsigned int ms);
void p2p_provider_end(struct p2p_provider *p);

/* cmb.c */
int p2p_cmb_find(struct p2p_provider *p);	/* -EAGAIN: the controller is not ready; -ENODEV: nothing to use */
void p2p_cmb_unmap(struct p2p_provider *p);
int p2p_cmb_enable(struct p2p_provider *p);	/* with a new canary; no job runs */
bool p2p_cmb_ready(struct p2p_provider *p);	/* the controller is */
bool p2p_cmb_ok(struct p2p_provider *p);	/* from begin to here nothing was lost; remembers if it was */

/* pages.c, with p->lock held */
int p2p_pages_open(struct p2p_provider *p);
void p2p_pages_close(struct p2p_provider *p);
int p2p_slot_alloc(struct p2p_provider *p, u64 nbytes, struct p2p_slot *slot);
void p2p_slot_free(struct p2p_provider *p, u64 nbytes, struct p2p_slot *slot);

/* ---- Clients ---- */

struct p2p_client {
	struct file *file;	/* NULL: none */
	struct block_device *bdev;
	struct pci_dev *pdev;	/* NULL: the processor */
};

/* client.c. 0 with *reason 0, or with a reason and a client that holds nothing but its file; or -EBADF. */
int p2p_client_get(struct p2p_client *c, int fd, fmode_t mode, u32 *reason);
void p2p_client_put(struct p2p_client *c);
/* For a job: also what the guard and the self-test say. -EOPNOTSUPP */
int p2p_client_use(struct p2p_client *c, struct p2p_provider *p, int fd, fmode_t mode);
int p2p_client_range(const struct p2p_client *c, u64 off, u64 len);
const char *p2p_client_name(const struct p2p_client *c);
/* The page cache: written out, and dropped if the range will be written behind its back. */
int p2p_client_sync(struct p2p_client *c, u64 off, u64 len, bool drop);

/* guard.c: the verdict but for the self-test; pdev NULL is the processor */
void p2p_guard(struct p2p_provider *p, struct pci_dev *pdev, struct nvme_accel_p2p_verdict *v);
void p2p_guard_refuse(struct nvme_accel_p2p_verdict *v, u32 reason, const char *text);
void p2p_verdict(struct p2p_provider *p, const struct p2p_client *c, u32 reason, struct nvme_accel_p2p_verdict *v);

/* selftest.c: with the CMB begun */
int p2p_selftest_in(struct p2p_provider *p, const struct p2p_client *c);
/* Before the first write of a pair: writes one page's worth of slot at off, reads it back, compares. */
int p2p_selftest_out(struct p2p_provider *p, const struct p2p_client *c, u64 off, u32 len, const struct p2p_slot *slot);
u32 p2p_selftest_state(struct p2p_provider *p, const struct pci_dev *pdev);
void p2p_selftest_forget(struct p2p_provider *p, const struct pci_dev *pdev);	/* with p->lock held; NULL: all */

/* One transfer, waited for. */
int p2p_io(struct block_device *bdev, blk_opf_t opf, u64 off, struct page *page, unsigned int page_off, unsigned int len);

/* ---- Open files, sets ---- */

struct p2p_file {
	struct kref ref;		/* of the open file, and of its jobs */
	struct mutex lock;
	struct xarray sets, jobs;
	u32 next_set, next_job;
	unsigned int nr_sets, nr_jobs;
	wait_queue_head_t ended;	/* of any job */
	atomic_t nr_ended;
	struct address_space *mapping;
};

struct p2p_set {
	struct list_head entry;		/* p2p_provider.sets */
	struct p2p_provider *p;
	struct address_space *mapping;	/* of the device node */
	u32 nr;
	u64 slot_bytes;
	u64 mmap_offset;
	atomic_t mapped;		/* areas */
	unsigned long *busy;		/* a bit a slot, by p2p_file.lock */
	struct p2p_slot slots[];
};

/* set.c, with f->lock held */
int p2p_set_alloc(struct p2p_file *f, struct nvme_accel_p2p_alloc *a);
int p2p_set_free(struct p2p_file *f, u32 handle);
void p2p_set_free_all(struct p2p_file *f);
struct p2p_set *p2p_set_find(struct p2p_file *f, u32 handle);
int p2p_set_claim(struct p2p_set *s, u32 first, u32 n);	/* -EINVAL, -EBUSY */
void p2p_set_unclaim(struct p2p_set *s, u32 first, u32 n);
/* With p->lock held: the provider's memory goes. */
void p2p_sets_close(struct p2p_provider *p);

/* mmap.c: tier 3 */
int p2p_mmap(struct file *file, struct vm_area_struct *vma);
u64 p2p_mmap_offset(void);
void p2p_mmap_zap(struct p2p_set *s);		/* no mapping is left, and nobody has a page of it */
bool p2p_mmap_idle(struct p2p_set *s);

/* ---- Jobs ---- */

struct p2p_job {
	struct kref ref;
	u32 id;
	struct p2p_file *file;
	struct p2p_provider *p;
	struct p2p_set *set;
	u32 first_slot, nr_slots;
	struct p2p_client src, dst, accel;
	struct work_struct work;
	struct delayed_work timer;
	void (*release)(struct p2p_job *job);	/* of what surrounds it */
	u32 timeout_ms;
	bool begun;
	int error;			/* the first; also why no transfer begins any more */
	u32 where;
	u32 state;			/* with release semantics: all else is final once it says ended */
	u64 bytes_total, bytes_done, bytes_in, bytes_out, bytes_memory, commands, out_len;
	u64 start_ns, end_ns;
	wait_queue_head_t wait;
	void *status;			/* EXEC: status_len bytes */
	u32 status_len;
};

extern struct workqueue_struct *p2p_wq;

/* job.c */
void p2p_job_init(struct p2p_job *job, struct p2p_file *f, work_func_t work);
/* Finds the set and claims n of its slots from the first; n 0: all. */
int p2p_job_claim(struct p2p_job *job, u32 handle, u32 first, u32 n);
/* The clients: 0 or why not. fd -1 where it may be. */
int p2p_job_source(struct p2p_job *job, int fd);
int p2p_job_destination(struct p2p_job *job, int fd);
/* Writes its id to *id and starts it, or gives an error: then p2p_job_abandon() it as after any other error. */
int p2p_job_start(struct p2p_job *job, u32 __user *id);
void p2p_job_abandon(struct p2p_job *job);
void p2p_job_put(struct p2p_job *job);
void p2p_job_fail(struct p2p_job *job, int error, u32 where);
int p2p_job_begin(struct p2p_job *job);		/* in the work: the CMB */
bool p2p_job_intact(struct p2p_job *job);	/* the CMB still is; fails the job if not, and if it is dead */
void p2p_job_moved(struct p2p_job *job, bool in, u64 nbytes);
void p2p_job_memory(struct p2p_job *job, u64 nbytes);
void p2p_job_end(struct p2p_job *job);		/* no transfer is under way; the work's last act */
static inline bool p2p_job_stopped(const struct p2p_job *job)
{
	return READ_ONCE(job->error);
}
struct p2p_job *p2p_job_find(struct p2p_file *f, u32 id);	/* with a reference */
void p2p_job_forget(struct p2p_job *job);			/* it has ended, and that was told */
void p2p_jobs_stop(struct p2p_file *f);				/* all, and waits */
int p2p_job_wait(struct p2p_job *job, struct nvme_accel_p2p_wait *w);

/* extents.c: -EINVAL if two are in each other's way; each is within its device. */
int p2p_extents_check(const struct p2p_client *src, const struct p2p_client *dst, const struct nvme_accel_p2p_extent *e, u32 n);
/* The page cache, for what is written behind its back: before, and after. */
int p2p_extents_sync(struct p2p_job *job, const struct nvme_accel_p2p_extent *e, u32 n, bool before);

/* copy.c, exec.c */
int p2p_copy(struct p2p_file *f, const struct nvme_accel_p2p_copy *a, u32 __user *id);
int p2p_exec(struct p2p_file *f, const struct nvme_accel_p2p_exec *a, u32 __user *id);

/* file.c */
void p2p_file_put(struct p2p_file *f);
int p2p_file_init(void);
void p2p_file_exit(void);

/* stats.c */
void p2p_stats_init(void);
void p2p_stats_exit(void);
void p2p_stats_show(struct p2p_provider *p);
void p2p_stats_hide(struct p2p_provider *p);

#endif
