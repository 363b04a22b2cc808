// SPDX-License-Identifier: GPL-2.0-only
/* The worker, which gives commands to the model and runs small jobs; the threads that run the others. */
#include <linux/hrtimer.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "engine.h"

#define BATCH		32u		/* commands of one turn of the lock, and bytes: others wait for it */
#define BATCH_NBYTES	(1u << 20)
#define STARVED_NS	NSEC_PER_MSEC	/* between two looks for memory */
#define TIMER_SLACK_NS	(50 * NSEC_PER_USEC)
#define KEEP_KEYS_NS	(100 * NSEC_PER_MSEC)	/* by an engine that gets no more of them */
#define KEEP_MEMORY_NS	(10ull * NSEC_PER_SEC)	/* by one that gets nothing to do */

/* ---- Jobs ---- */

/* env_priv says that it waits. */
static void job_push(struct nap_engine *e, struct model_job *mj)
{
	mj->env_priv = e;
	WRITE_ONCE(e->njobs, e->njobs + 1);
	model_jobs_push(&e->jobs, mj);
}

static struct model_job *job_pop(struct nap_engine *e)
{
	struct model_job *mj = model_jobs_pop(&e->jobs);

	if (mj) {
		mj->env_priv = NULL;
		WRITE_ONCE(e->njobs, e->njobs - 1);
	}
	return mj;
}

u32 eng_job_start(void *ctx, struct model_job *mj)
{
	struct nap_engine *e = ctx;

	if (e->submitting && model_job_is_small(mj, ENG_HERE_NBYTES)) {
		mj->env_priv = NULL;
		model_jobs_add(&e->here, mj);
		return NVME_ACCEL_OK;
	}
	job_push(e, mj);
	e->nwake++;
	return NVME_ACCEL_OK;
}

void eng_job_stop(void *ctx, struct model_job *mj)
{
	WRITE_ONCE(mj->job.stop, 1);
}

/* The lock is held, and a job is begun by whoever takes it from the list. */
int eng_job_waits(void *ctx, const struct model_job *mj)
{
	return mj->env_priv != NULL;
}

/* Without the lock. One that was told to stop before it began is not begun. Returns when it ended. */
static u64 run(struct kengine_thread *ke, struct model_job *mj, u64 now)
{
	WRITE_ONCE(mj->start_ns, now);
	if (READ_ONCE(mj->job.stop))
		mj->job.code = NVME_ACCEL_ABORTED;
	else
		kengine_run(ke, &mj->job);
	return ktime_get_ns();
}

/* ---- Threads that run jobs ---- */

/*
 * Keys do not outlive their use for long: between jobs that follow each other they stay, since to set one up costs more
 * than a small job. forget_ns is by when they go though others' jobs go on; memory goes when there are none.
 */
static void thread_ran(struct eng_thread *t, bool secret, u64 now)
{
	if (secret)
		t->forget_ns = now + KEEP_KEYS_NS;
	else if (t->forget_ns == ENG_NEVER)
		t->forget_ns = now + KEEP_MEMORY_NS;
}

static void thread_forget(struct eng_thread *t, u64 now)
{
	unsigned int forgets = READ_ONCE(t->e->forgets);

	if (t->forget_ns == ENG_NEVER || (now < t->forget_ns && t->forgets == forgets))
		return;
	kengine_thread_forget(t->ke);
	t->forget_ns = ENG_NEVER;
	t->forgets = forgets;
}

/* With the lock at both ends. */
static void thread_run(struct eng_thread *t, struct model_job *mj)
{
	struct nap_engine *e = t->e;
	bool secret = model_job_has_key(mj);
	u64 start, end;

	t->busy = true;
	t->slot = mj->slot;
	eng_unlock(e);
	start = ktime_get_ns();
	thread_forget(t, start);
	end = run(t->ke, mj, start);
	thread_ran(t, secret, end);
	eng_lock(e);
	eng_set_now(e, end);
	t->busy = false;
	t->jobs++;
	t->busy_ns += end - start;
	model_job_done(e->model, mj);
}

/* Without the lock. */
static void thread_wait(struct eng_thread *t)
{
	struct nap_engine *e = t->e;
	u64 now = ktime_get_ns();
	long timeout = MAX_SCHEDULE_TIMEOUT;

	if (t->forget_ns != ENG_NEVER)
		timeout = now < t->forget_ns ? nsecs_to_jiffies(t->forget_ns - now) + 1 : 1;
	wait_event_idle_exclusive_timeout(e->wait, READ_ONCE(e->njobs) || kthread_should_stop(), timeout);
	thread_forget(t, ktime_get_ns());
}

static int thread_main(void *arg)
{
	struct eng_thread *t = arg;
	struct nap_engine *e = t->e;
	unsigned int noio = memalloc_noio_save();
	struct model_job *mj;

	while (!kthread_should_stop()) {
		eng_lock(e);
		while ((mj = job_pop(e)))
			thread_run(t, mj);
		eng_unlock(e);
		thread_wait(t);
	}
	memalloc_noio_restore(noio);
	return 0;
}

/* ---- The worker ---- */

static void here_forget(struct nap_engine *e, u64 now)
{
	if (now < e->here_forget_ns)
		return;
	kengine_thread_forget(e->here_ke);
	e->here_forget_ns = ENG_NEVER;
}

/*
 * The small jobs of this turn, in one turn without the lock, which is held at both ends. They count for the first entry
 * of the engine page, but do not make it busy, which may be another's work.
 */
static void run_here(struct nap_engine *e)
{
	struct model_jobs list = e->here;
	struct model_job *mj;
	bool secret = false;
	u64 start, now;

	if (!list.first)
		return;
	e->here.first = NULL;
	eng_unlock(e);
	start = now = ktime_get_ns();
	for (mj = list.first; mj; mj = mj->env_next) {
		secret |= model_job_has_key(mj);
		now = run(e->here_ke, mj, now);
	}
	if (secret)
		e->here_forget_ns = now + KEEP_KEYS_NS;
	eng_lock(e);
	eng_set_now(e, now);
	e->thread[0].busy_ns += now - start;
	while ((mj = model_jobs_pop(&list))) {
		e->thread[0].jobs++;
		model_job_done(e->model, mj);
	}
}

/*
 * Reads that wait and writes that complete with their job keep their tags. At most half of the tags of a queue, for all
 * engine namespaces of the controller together, and half of what the administrator lets be in flight: else the write that
 * a read waits for might find none.
 */
static void set_max_held(struct nap_engine *e, unsigned int depth)
{
	u32 inflight = READ_ONCE(e->ns->limit.max_inflight), max, others;

	others = (u32)atomic_read(&e->ns->ctrl->held) - e->held;
	max = depth / 2;
	max = others < max ? max - others : 0;
	if (inflight)
		max = min(max, inflight / 2);
	model_set_max_held(e->model, max);
}

/* Takes the next command of those that have come, ready for the model; NULL: none, or no memory (*starved). */
static struct nap_req *next_cmd(struct nap_engine *e, bool *starved)
{
	struct nap_req *r;

	if (!e->todo)
		e->todo = llist_reverse_order(llist_del_all(&e->in));
	if (!e->todo)
		return NULL;
	r = llist_entry(e->todo, struct nap_req, eng.node);
	*starved = !eng_cmd_prepare(e, r);
	if (*starved)
		return NULL;
	e->todo = e->todo->next;
	return r;
}

/* One turn of the lock; false: nothing more can be done now. */
static bool turn(struct nap_engine *e, bool *starved)
{
	struct nap_req *r, *batch[BATCH];
	unsigned int n = 0, i;
	u64 nbytes = 0, now;

	while (n < BATCH && nbytes < BATCH_NBYTES && (r = next_cmd(e, starved))) {
		batch[n++] = r;
		nbytes += r->nbytes;
	}
	now = ktime_get_ns();
	here_forget(e, now);
	if (!n && now < READ_ONCE(e->due_ns))
		return false;
	eng_lock(e);
	/* What is due comes before what is new. */
	eng_tick(e, now);
	if (n)
		set_max_held(e, nap_rq(batch[0])->q->tag_set->queue_depth);
	e->submitting = true;
	for (i = 0; i < n; i++)
		model_submit(e->model, &eng_cmd(batch[i])->m);
	e->submitting = false;
	run_here(e);
	eng_unlock(e);
	return n != 0;
}

static void worker_sleep(struct nap_engine *e, bool starved)
{
	ktime_t until;
	u64 due;

	/* First the state, then the looks: whoever changes something wakes us after that. */
	set_current_state(TASK_IDLE);
	due = min(READ_ONCE(e->due_ns), e->here_forget_ns);
	if (starved)
		due = min(due, ktime_get_ns() + STARVED_NS);
	else if (!llist_empty(&e->in))
		due = 0;
	if (due && !kthread_should_stop()) {
		until = due < KTIME_MAX ? ns_to_ktime(due) : KTIME_MAX;
		schedule_hrtimeout_range(&until, TIMER_SLACK_NS, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

static int worker_main(void *arg)
{
	struct nap_engine *e = arg;
	unsigned int noio = memalloc_noio_save();
	bool starved = false;

	while (!kthread_should_stop()) {
		while (turn(e, &starved))
			cond_resched();
		worker_sleep(e, starved);
		starved = false;
	}
	memalloc_noio_restore(noio);
	return 0;
}

/* ---- Start and stop ---- */

static int thread_start(struct nap_engine *e, struct eng_thread *t, unsigned int i)
{
	struct task_struct *task;

	t->e = e;
	t->forget_ns = ENG_NEVER;
	t->ke = kengine_thread_new(e->ke);
	if (!t->ke)
		return -ENOMEM;
	task = kthread_run(thread_main, t, "accel/%s/%u.%u", nap_ctrl_name(e->ns->ctrl), e->ns->nsid, i);
	if (IS_ERR(task))
		return PTR_ERR(task);
	t->task = task;
	return 0;
}

static int worker_start(struct nap_engine *e)
{
	struct task_struct *task;

	e->here_ke = kengine_thread_new(e->ke);
	if (!e->here_ke)
		return -ENOMEM;
	task = kthread_create(worker_main, e, "accel/%s/%u", nap_ctrl_name(e->ns->ctrl), e->ns->nsid);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* It comes before the engines' threads, which have work for longer. */
	set_user_nice(task, MIN_NICE);
	e->worker = task;
	wake_up_process(task);
	return 0;
}

/* On failure eng_work_stop() clears away what there is. */
int eng_work_start(struct nap_engine *e)
{
	unsigned int i;
	int err;

	e->thread = kcalloc(e->nthreads, sizeof(*e->thread), GFP_KERNEL);
	if (!e->thread)
		return -ENOMEM;
	for (i = 0; i < e->nthreads; i++) {
		err = thread_start(e, &e->thread[i], i);
		if (err)
			return err;
	}
	return worker_start(e);
}

void eng_work_stop(struct nap_engine *e)
{
	unsigned int i;

	for (i = 0; e->thread && i < e->nthreads; i++) {
		if (e->thread[i].task)
			kthread_stop(e->thread[i].task);
		if (e->thread[i].ke)
			kengine_thread_free(e->thread[i].ke);
	}
	if (e->worker)
		kthread_stop(e->worker);
	if (e->here_ke)
		kengine_thread_free(e->here_ke);
	kfree(e->thread);
}

/* ---- The engine page ---- */

void eng_engines(void *ctx, struct nvme_accel_engines *page)
{
	struct nap_engine *e = ctx;
	struct nvme_accel_engine_state *state = page->engine;
	struct eng_thread *t;
	unsigned int i;

	memset(page, 0, sizeof(*page));
	memcpy(page->magic, NVME_ACCEL_ENGINES_MAGIC, sizeof(page->magic));
	page->version = 1;
	le32_put(&page->nengine, e->nthreads);
	le32_put(&page->queued, e->njobs);
	for (i = 0; i < e->nthreads && i < NVME_ACCEL_NENGSTATE; i++) {
		t = &e->thread[i];
		state[i].busy = t->busy;
		le32_put(&state[i].slot, t->busy ? t->slot : ~0u);
		le64_put(&state[i].jobs, t->jobs);
		le64_put(&state[i].busy_ns, t->busy_ns);
	}
}
