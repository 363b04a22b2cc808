// SPDX-License-Identifier: GPL-2.0-only
/* /dev/nvme-accel-p2p: open files and their ioctls (include/uapi/linux/nvme_accel_p2p.h). */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include "p2p.h"

union argument {
	struct nvme_accel_p2p_info info;
	struct nvme_accel_p2p_provider provider;
	struct nvme_accel_p2p_verdict verdict;
	struct nvme_accel_p2p_alloc alloc;
	struct nvme_accel_p2p_free free;
	struct nvme_accel_p2p_copy copy;
	struct nvme_accel_p2p_exec exec;
	struct nvme_accel_p2p_wait wait;
	struct nvme_accel_p2p_cancel cancel;
};

/* What programs were compiled with stays as it is. */
static_assert(sizeof(struct nvme_accel_p2p_info) == 64);
static_assert(sizeof(struct nvme_accel_p2p_provider) == 208);
static_assert(sizeof(struct nvme_accel_p2p_verdict) == 376);
static_assert(sizeof(struct nvme_accel_p2p_alloc) == 48);
static_assert(sizeof(struct nvme_accel_p2p_free) == 8);
static_assert(sizeof(struct nvme_accel_p2p_extent) == 24);
static_assert(sizeof(struct nvme_accel_p2p_copy) == 64);
static_assert(sizeof(struct nvme_accel_p2p_exec) == 128);
static_assert(sizeof(struct nvme_accel_p2p_wait) == 120);
static_assert(sizeof(struct nvme_accel_p2p_cancel) == 8);

static bool zero(const u64 *words, unsigned int n)
{
	while (n--)
		if (words[n])
			return false;
	return true;
}
#define reserved_zero(a) zero((a)->reserved, ARRAY_SIZE((a)->reserved))

/* ---- What there is ---- */

static int get_info(struct p2p_file *f, struct nvme_accel_p2p_info *a)
{
	if (!reserved_zero(a))
		return -EINVAL;
	memset(a, 0, sizeof(*a));
	a->version = NVME_ACCEL_P2P_VERSION;
	a->features = NVME_ACCEL_P2P_FEAT_COPY | NVME_ACCEL_P2P_FEAT_EXEC;
	a->tier = 2;
	if (IS_ENABLED(CONFIG_PCI_P2PDMA)) {
		a->features |= NVME_ACCEL_P2P_FEAT_KERNEL;
		a->tier = 1;
	} else if (p2p_allow_user_pages) {
		a->features |= NVME_ACCEL_P2P_FEAT_MMAP;
		a->tier = 3;
	}
	if (p2p_allow_cpu_clients)
		a->features |= NVME_ACCEL_P2P_FEAT_CPU_CLIENTS;
	a->nr_providers = p2p_provider_count();
	a->max_extents = NVME_ACCEL_P2P_MAX_EXTENTS;
	a->max_slots = NVME_ACCEL_P2P_MAX_SLOTS;
	a->max_sets = NVME_ACCEL_P2P_MAX_SETS;
	a->max_jobs = NVME_ACCEL_P2P_MAX_JOBS;
	a->slot_align = PAGE_SIZE;
	return 0;
}

static int next_provider(struct p2p_file *f, struct nvme_accel_p2p_provider *a)
{
	struct p2p_provider *p;

	if (!reserved_zero(a))
		return -EINVAL;
	p = p2p_provider_after(a->id);
	if (!p)
		return -ENOENT;
	memset(a, 0, sizeof(*a));
	p2p_provider_info(p, a);
	p2p_provider_put(p);
	return 0;
}

/* ---- Verdicts ---- */

static struct pci_dev *find_pci(const char *name)
{
	unsigned int domain, bus, slot, func;
	char tail;

	if (sscanf(name, "%x:%x:%x.%x%c", &domain, &bus, &slot, &func, &tail) != 4 || bus > 255 || slot > 31 || func > 7)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
}

/* The lock keeps the driver where it is while its name is read. */
static bool bound_to_nvme(struct pci_dev *pdev)
{
	bool bound;

	device_lock(&pdev->dev);
	bound = p2p_is_nvme(pdev);
	device_unlock(&pdev->dev);
	return bound;
}

static int client_by_fd(struct p2p_client *c, struct nvme_accel_p2p_verdict *a, u32 *reason)
{
	if (a->pci[0])
		return -EINVAL;
	/* What is open for nothing but to be asked about may be asked about. */
	return p2p_client_get(c, a->fd, a->flags & NVME_ACCEL_P2P_VERDICT_TEST ? FMODE_READ : 0, reason);
}

static int client_by_pci(struct p2p_client *c, struct nvme_accel_p2p_verdict *a, u32 *reason)
{
	if (a->fd != -1 || a->flags || strnlen(a->pci, sizeof(a->pci)) == sizeof(a->pci))
		return -EINVAL;
	c->pdev = find_pci(a->pci);
	*reason = c->pdev && bound_to_nvme(c->pdev) ? 0 : NVME_ACCEL_P2P_R_NO_DEVICE;
	return 0;
}

static int self_test(struct p2p_provider *p, struct p2p_client *c)
{
	const int never = 0;
	int ret;

	ret = p2p_provider_begin(p, &never, 2000);
	if (ret)
		return ret == -ETIMEDOUT ? -ESTALE : ret;
	ret = p2p_selftest_in(p, c);
	p2p_provider_end(p);
	return ret == -EOPNOTSUPP ? 0 : ret;
}

static void clear_verdict(struct nvme_accel_p2p_verdict *a)
{
	struct nvme_accel_p2p_verdict in = *a;

	memset(a, 0, sizeof(*a));
	a->provider = in.provider;
	a->fd = in.fd;
	a->flags = in.flags;
	memcpy(a->pci, in.pci, sizeof(a->pci));
}

/* A test that could not be run is an error, and the verdict without it is told all the same: *told. */
static int judge(struct p2p_provider *p, struct nvme_accel_p2p_verdict *a, bool *told)
{
	struct p2p_client c = { };
	u32 reason = 0;
	int ret;

	ret = a->fd >= 0 ? client_by_fd(&c, a, &reason) : client_by_pci(&c, a, &reason);
	if (ret)
		return ret;
	clear_verdict(a);
	p2p_verdict(p, &c, reason, a);
	*told = true;
	if (a->allowed && a->flags & NVME_ACCEL_P2P_VERDICT_TEST) {
		ret = self_test(p, &c);
		p2p_verdict(p, &c, reason, a);
	}
	p2p_client_put(&c);
	return ret;
}

static int get_verdict(struct p2p_file *f, struct nvme_accel_p2p_verdict *a, void __user *user)
{
	struct p2p_provider *p;
	bool told = false;
	int ret;

	if (a->flags & ~NVME_ACCEL_P2P_VERDICT_TEST || a->pad || !reserved_zero(a))
		return -EINVAL;
	p = p2p_provider_find(a->provider);
	if (!p)
		return -ENODEV;
	ret = judge(p, a, &told);
	p2p_provider_put(p);
	if (told && copy_to_user(user, a, sizeof(*a)))
		return -EFAULT;
	return ret;
}

/* ---- Sets and jobs ---- */

static int alloc_set(struct p2p_file *f, struct nvme_accel_p2p_alloc *a, void __user *user)
{
	int ret;

	if (a->flags || !reserved_zero(a))
		return -EINVAL;
	mutex_lock(&f->lock);
	ret = p2p_set_alloc(f, a);
	mutex_unlock(&f->lock);
	/* Not under the lock, which mmap() takes, too. */
	if (ret || !copy_to_user(user, a, sizeof(*a)))
		return ret;
	mutex_lock(&f->lock);
	p2p_set_free(f, a->handle);
	mutex_unlock(&f->lock);
	return -EFAULT;
}

static int free_set(struct p2p_file *f, const struct nvme_accel_p2p_free *a)
{
	int ret;

	if (a->pad)
		return -EINVAL;
	mutex_lock(&f->lock);
	ret = p2p_set_free(f, a->handle);
	mutex_unlock(&f->lock);
	return ret;
}

static int wait_job(struct p2p_file *f, struct nvme_accel_p2p_wait *a, void __user *user)
{
	struct p2p_job *job;
	int ret;

	if (a->pad || !reserved_zero(a) || (a->status && !a->status_bytes) || a->status_bytes > 4096)
		return -EINVAL;
	job = p2p_job_find(f, a->job);
	if (!job)
		return -ENOENT;
	ret = p2p_job_wait(job, a);
	if (!ret && copy_to_user(user, a, sizeof(*a)))
		ret = -EFAULT;
	if (!ret && a->state != NVME_ACCEL_P2P_JOB_RUNNING)
		p2p_job_forget(job);
	p2p_job_put(job);
	return ret;
}

static int cancel_job(struct p2p_file *f, const struct nvme_accel_p2p_cancel *a)
{
	struct p2p_job *job;

	if (a->pad)
		return -EINVAL;
	job = p2p_job_find(f, a->job);
	if (!job)
		return -ENOENT;
	p2p_job_fail(job, -ECANCELED, NVME_ACCEL_P2P_AT_NONE);
	p2p_job_put(job);
	return 0;
}

/* ---- The file ---- */

static int dispatch(struct p2p_file *f, unsigned int cmd, union argument *a, void __user *user)
{
	int ret;

	switch (cmd) {
	case NVME_ACCEL_P2P_GET_INFO:
		ret = get_info(f, &a->info);
		break;
	case NVME_ACCEL_P2P_PROVIDER:
		ret = next_provider(f, &a->provider);
		break;
	case NVME_ACCEL_P2P_VERDICT:
		return get_verdict(f, &a->verdict, user);
	case NVME_ACCEL_P2P_ALLOC:
		return alloc_set(f, &a->alloc, user);
	case NVME_ACCEL_P2P_FREE:
		return free_set(f, &a->free);
	case NVME_ACCEL_P2P_COPY:
		return p2p_copy(f, &a->copy, user + offsetof(struct nvme_accel_p2p_copy, job));
	case NVME_ACCEL_P2P_EXEC:
		return p2p_exec(f, &a->exec, user + offsetof(struct nvme_accel_p2p_exec, job));
	case NVME_ACCEL_P2P_WAIT:
		return wait_job(f, &a->wait, user);
	case NVME_ACCEL_P2P_CANCEL:
		return cancel_job(f, &a->cancel);
	default:
		return -ENOTTY;
	}
	if (!ret && copy_to_user(user, a, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	return ret;
}

static long p2p_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int size = _IOC_SIZE(cmd);
	union argument *a;
	long ret = -EFAULT;

	if (_IOC_TYPE(cmd) != NVME_ACCEL_P2P_IOC || size > sizeof(*a))
		return -ENOTTY;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	if (!copy_from_user(a, (void __user *)arg, size))
		ret = dispatch(file->private_data, cmd, a, (void __user *)arg);
	kfree(a);
	return ret;
}

static __poll_t p2p_poll(struct file *file, struct poll_table_struct *table)
{
	struct p2p_file *f = file->private_data;

	poll_wait(file, &f->ended, table);
	return atomic_read(&f->nr_ended) ? EPOLLIN | EPOLLRDNORM : 0;
}

static void free_file(struct kref *ref)
{
	struct p2p_file *f = container_of(ref, struct p2p_file, ref);

	mutex_destroy(&f->lock);
	xa_destroy(&f->sets);
	xa_destroy(&f->jobs);
	kfree(f);
}

void p2p_file_put(struct p2p_file *f)
{
	kref_put(&f->ref, free_file);
}

/* A group may be let in by a udev rule: not where pages are given to programs. */
static int p2p_open(struct inode *inode, struct file *file)
{
	struct p2p_file *f;

	if (p2p_allow_user_pages && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	kref_init(&f->ref);
	mutex_init(&f->lock);
	xa_init_flags(&f->sets, XA_FLAGS_ALLOC1);
	xa_init_flags(&f->jobs, XA_FLAGS_ALLOC1);
	init_waitqueue_head(&f->ended);
	f->mapping = file->f_mapping;
	file->private_data = f;
	return 0;
}

/* Also when its process is killed: what is on its way ends first, which the devices' drivers see to. */
static int p2p_release(struct inode *inode, struct file *file)
{
	struct p2p_file *f = file->private_data;

	p2p_jobs_stop(f);
	mutex_lock(&f->lock);
	p2p_set_free_all(f);
	mutex_unlock(&f->lock);
	p2p_file_put(f);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = p2p_open,
	.release = p2p_release,
	.unlocked_ioctl = p2p_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = p2p_poll,
	.mmap = p2p_mmap,
};

static struct miscdevice node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "nvme-accel-p2p",
	.fops = &fops,
};

int p2p_file_init(void)
{
	node.mode = p2p_allow_user_pages ? 0600 : 0660;
	return misc_register(&node);
}

void p2p_file_exit(void)
{
	misc_deregister(&node);
}
