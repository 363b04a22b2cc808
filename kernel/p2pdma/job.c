// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all jobs have: an id in their file, slots, clients, a work that does them, a time limit, and an end that is told once. The
 * first error wins, and is also the sign that no further transfer begins.
 */
#include <linux/slab.h>
#include "p2p.h"
#include "p2p_trace.h"

#define BEGIN_MS	30000u		/* a controller that is reset is waited for no longer than that */

struct workqueue_struct *p2p_wq;

/* ---- Life ---- */

static void timed_out(struct work_struct *work)
{
	p2p_job_fail(container_of(to_delayed_work(work), struct p2p_job, timer), -ETIMEDOUT, NVME_ACCEL_P2P_AT_NONE);
}

void p2p_job_init(struct p2p_job *job, struct p2p_file *f, work_func_t work)
{
	kref_init(&job->ref);
	kref_get(&f->ref);
	job->file = f;
	job->state = NVME_ACCEL_P2P_JOB_RUNNING;
	INIT_WORK(&job->work, work);
	INIT_DELAYED_WORK(&job->timer, timed_out);
	init_waitqueue_head(&job->wait);
}

static void free_job(struct kref *ref)
{
	struct p2p_job *job = container_of(ref, struct p2p_job, ref);

	p2p_client_put(&job->src);
	p2p_client_put(&job->dst);
	p2p_client_put(&job->accel);
	if (job->p)
		p2p_provider_put(job->p);
	p2p_file_put(job->file);
	job->release(job);
}

void p2p_job_put(struct p2p_job *job)
{
	kref_put(&job->ref, free_job);
}

int p2p_job_claim(struct p2p_job *job, u32 handle, u32 first, u32 n)
{
	struct p2p_file *f = job->file;
	struct p2p_set *s;
	int ret = -ENOENT;

	mutex_lock(&f->lock);
	s = p2p_set_find(f, handle);
	if (s)
		ret = p2p_set_claim(s, first, n ?: s->nr);
	if (!ret) {
		job->set = s;
		job->first_slot = first;
		job->nr_slots = n ?: s->nr;
		job->p = s->p;
		kref_get(&s->p->ref);
	}
	mutex_unlock(&f->lock);
	return ret;
}

int p2p_job_source(struct p2p_job *job, int fd)
{
	return p2p_client_use(&job->src, job->p, fd, FMODE_READ);
}

int p2p_job_destination(struct p2p_job *job, int fd)
{
	return p2p_client_use(&job->dst, job->p, fd, FMODE_WRITE);
}

/* With f->lock held. */
static void unclaim(struct p2p_job *job)
{
	if (job->set)
		p2p_set_unclaim(job->set, job->first_slot, job->nr_slots);
	job->set = NULL;
}

void p2p_job_abandon(struct p2p_job *job)
{
	mutex_lock(&job->file->lock);
	unclaim(job);
	mutex_unlock(&job->file->lock);
	p2p_job_put(job);
}

static int enlist(struct p2p_job *job)
{
	struct p2p_file *f = job->file;
	int ret;

	if (READ_ONCE(job->p->dead))
		return -ENODEV;
	mutex_lock(&f->lock);
	ret = -EMFILE;
	if (f->nr_jobs < NVME_ACCEL_P2P_MAX_JOBS)
		ret = xa_alloc_cyclic(&f->jobs, &job->id, job, XA_LIMIT(1, INT_MAX), &f->next_job, GFP_KERNEL);
	if (ret >= 0)
		f->nr_jobs++;
	mutex_unlock(&f->lock);
	return min(ret, 0);
}

static void unlist(struct p2p_job *job)
{
	struct p2p_file *f = job->file;

	mutex_lock(&f->lock);
	xa_erase(&f->jobs, job->id);
	f->nr_jobs--;
	mutex_unlock(&f->lock);
}

/* The id is written before anything begins: whoever does not get it has no job. Not under the lock, which mmap() takes, too. */
int p2p_job_start(struct p2p_job *job, u32 __user *id)
{
	int ret;

	job->start_ns = ktime_get_ns();
	ret = enlist(job);
	if (ret)
		return ret;
	if (put_user(job->id, id)) {
		unlist(job);
		return -EFAULT;
	}
	trace_nvme_accel_p2p_job_start(job);
	kref_get(&job->ref);
	if (job->timeout_ms)
		queue_delayed_work(system_wq, &job->timer, msecs_to_jiffies(job->timeout_ms));
	queue_work(p2p_wq, &job->work);
	return 0;
}

/* ---- While it runs ---- */

void p2p_job_fail(struct p2p_job *job, int error, u32 where)
{
	if (!cmpxchg(&job->error, 0, error))
		WRITE_ONCE(job->where, where);
}

int p2p_job_begin(struct p2p_job *job)
{
	unsigned int ms = job->timeout_ms ? min(job->timeout_ms, BEGIN_MS) : BEGIN_MS;
	int ret;

	ret = p2p_job_stopped(job) ? -ECANCELED : p2p_provider_begin(job->p, &job->error, ms);
	if (ret) {
		p2p_job_fail(job, ret, NVME_ACCEL_P2P_AT_PROVIDER);
		return ret;
	}
	job->begun = true;
	return 0;
}

bool p2p_job_intact(struct p2p_job *job)
{
	if (READ_ONCE(job->p->dead))
		p2p_job_fail(job, -ENODEV, NVME_ACCEL_P2P_AT_PROVIDER);
	else if (!p2p_cmb_ok(job->p))
		p2p_job_fail(job, -ESTALE, NVME_ACCEL_P2P_AT_PROVIDER);
	return !p2p_job_stopped(job);
}

void p2p_job_moved(struct p2p_job *job, bool in, u64 nbytes)
{
	u64 *sum = in ? &job->bytes_in : &job->bytes_out;

	WRITE_ONCE(*sum, *sum + nbytes);
	WRITE_ONCE(job->commands, job->commands + 1);
	p2p_count(job->p, in ? P2P_C_BYTES_IN : P2P_C_BYTES_OUT, nbytes);
	p2p_count(job->p, P2P_C_COMMANDS, 1);
}

void p2p_job_memory(struct p2p_job *job, u64 nbytes)
{
	WRITE_ONCE(job->bytes_memory, job->bytes_memory + nbytes);
	p2p_count(job->p, P2P_C_BYTES_MEMORY, nbytes);
}

static u32 end_state(const struct p2p_job *job)
{
	if (!job->error)
		return NVME_ACCEL_P2P_JOB_OK;
	return job->error == -ECANCELED ? NVME_ACCEL_P2P_JOB_CANCELLED : NVME_ACCEL_P2P_JOB_FAILED;
}

/*
 * A loss beats every other error: whatever else went wrong, what was written may be anything. The clients are let go before the
 * end is told, so that a device can be opened exclusively by whoever waited.
 */
void p2p_job_end(struct p2p_job *job)
{
	struct p2p_file *f = job->file;

	if (job->begun) {
		if (!READ_ONCE(job->p->dead) && !p2p_cmb_ok(job->p)) {
			job->error = -ESTALE;
			job->where = NVME_ACCEL_P2P_AT_PROVIDER;
		}
		p2p_provider_end(job->p);
	}
	cancel_delayed_work_sync(&job->timer);
	p2p_client_put(&job->src);
	p2p_client_put(&job->dst);
	p2p_client_put(&job->accel);
	p2p_count(job->p, job->error ? P2P_C_JOBS_FAILED : P2P_C_JOBS_OK, 1);
	job->end_ns = ktime_get_ns();
	trace_nvme_accel_p2p_job_end(job);
	atomic_inc(&f->nr_ended);
	smp_store_release(&job->state, end_state(job));
	wake_up_all(&f->ended);
	wake_up_all(&job->wait);
	p2p_job_put(job);
}

/* ---- Waiting ---- */

struct p2p_job *p2p_job_find(struct p2p_file *f, u32 id)
{
	struct p2p_job *job;

	mutex_lock(&f->lock);
	job = xa_load(&f->jobs, id);
	if (job)
		kref_get(&job->ref);
	mutex_unlock(&f->lock);
	return job;
}

static bool ended(const struct p2p_job *job)
{
	return smp_load_acquire(&job->state) != NVME_ACCEL_P2P_JOB_RUNNING;
}

void p2p_job_forget(struct p2p_job *job)
{
	struct p2p_file *f = job->file;
	bool known;

	mutex_lock(&f->lock);
	known = xa_load(&f->jobs, job->id) == job;
	if (known) {
		xa_erase(&f->jobs, job->id);
		f->nr_jobs--;
		atomic_dec(&f->nr_ended);
		unclaim(job);
	}
	mutex_unlock(&f->lock);
	if (known)
		p2p_job_put(job);
}

static void report(const struct p2p_job *job, struct nvme_accel_p2p_wait *w)
{
	w->state = smp_load_acquire(&job->state);
	w->error = w->state == NVME_ACCEL_P2P_JOB_RUNNING ? 0 : job->error;
	w->where = w->error ? READ_ONCE(job->where) : NVME_ACCEL_P2P_AT_NONE;
	w->bytes_total = READ_ONCE(job->bytes_total);
	w->bytes_done = READ_ONCE(job->bytes_done);
	w->out_len = READ_ONCE(job->out_len);
	w->bytes_in = READ_ONCE(job->bytes_in);
	w->bytes_out = READ_ONCE(job->bytes_out);
	w->bytes_memory = READ_ONCE(job->bytes_memory);
	w->commands = READ_ONCE(job->commands);
	w->elapsed_ns = (w->state == NVME_ACCEL_P2P_JOB_RUNNING ? ktime_get_ns() : job->end_ns) - job->start_ns;
}

static int copy_status(const struct p2p_job *job, struct nvme_accel_p2p_wait *w)
{
	w->status_len = 0;
	if (w->state == NVME_ACCEL_P2P_JOB_RUNNING || !w->status || !job->status_len)
		return 0;
	w->status_len = min(w->status_bytes, job->status_len);
	return copy_to_user(u64_to_user_ptr(w->status), job->status, w->status_len) ? -EFAULT : 0;
}

int p2p_job_wait(struct p2p_job *job, struct nvme_accel_p2p_wait *w)
{
	long ret = 0;

	if (w->timeout_ms)
		ret = wait_event_interruptible_timeout(job->wait, ended(job), msecs_to_jiffies(w->timeout_ms));
	if (ret < 0)
		return -EINTR;
	report(job, w);
	return copy_status(job, w);
}

void p2p_jobs_stop(struct p2p_file *f)
{
	struct p2p_job *job;
	unsigned long id;

	xa_for_each(&f->jobs, id, job)
		p2p_job_fail(job, -ECANCELED, NVME_ACCEL_P2P_AT_NONE);
	xa_for_each(&f->jobs, id, job) {
		wait_event(job->wait, ended(job));
		p2p_job_forget(job);
	}
}
