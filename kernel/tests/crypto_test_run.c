// SPDX-License-Identifier: GPL-2.0-only
/* A run: threads, each with a ring of jobs; what of it is told. */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "crypto_test.h"

void ct_fault(struct ct_slot *s, const char *what)
{
	struct ct_run *run = s->c->run;

	if (atomic_inc_return(&run->faults) == 1) {
		snprintf(run->fault, sizeof(run->fault), "job %llu, operation %u, %zu bytes, room %zu, error %d: %s", s->round, s->op,
			 s->n, s->room, s->err, what);
		pr_info("%s %s: %s\n", run->o.kind->name, run->o.driver, run->fault);
	}
	atomic_set(&run->stop, 1);
}

size_t ct_size(struct ct_thread *c)
{
	const struct ct_opts *o = &c->run->o;
	size_t n;

	switch (ct_below(&c->rnd, 8)) {
	case 0:
		n = o->min + ct_below(&c->rnd, 65);
		break;
	case 1:
	case 2:
		n = round_down(ct_below(&c->rnd, o->max - o->min + 1) + o->min, 4096);
		break;
	case 3:
	case 4:
		n = o->min + ct_below(&c->rnd, o->max - o->min + 1);
		break;
	default:
		n = o->min + ct_below(&c->rnd, (o->max - o->min) / 16 + 1);
	}
	return clamp_t(size_t, n, o->min, o->max);
}

unsigned int ct_style(struct ct_thread *c)
{
	return c->run->o.style < CT_STYLES ? c->run->o.style : ct_below(&c->rnd, CT_STYLES);
}

void *ct_reference(struct ct_thread *c, void *(*open)(const char *name))
{
	struct ct_opts *o = &c->run->o;
	void *tfm;
	unsigned int i;

	if (*o->reference) {
		tfm = open(o->reference);
		return IS_ERR(tfm) ? NULL : tfm;
	}
	for (i = 0; i < ARRAY_SIZE(o->kind->references) && o->kind->references[i]; i++) {
		tfm = open(o->kind->references[i]);
		if (!IS_ERR(tfm))
			return tfm;
	}
	return NULL;
}

/* ---- One job ---- */

void ct_done(compat_crypto_arg *arg, int err)
{
	struct ct_slot *s = compat_crypto_data(arg);

	if (err == -EINPROGRESS) {
		complete(&s->progress);
		return;
	}
	s->err = err;
	atomic_inc(&s->finals);
	complete(&s->done);
}

static void expect(struct ct_slot *s)
{
	reinit_completion(&s->done);
	reinit_completion(&s->progress);
	atomic_set(&s->finals, 0);
}

/* A job that hangs will end some day, perhaps: what it uses must stay for ever. */
static int hangs(struct ct_slot *s)
{
	s->c->lost = true;
	s->err = -ETIME;
	ct_fault(s, "no answer in time");
	__module_get(THIS_MODULE);
	return -ETIME;
}

int ct_wait(struct ct_slot *s, int rc)
{
	unsigned long limit = s->c->run->o.timeout * HZ;

	if (rc != -EINPROGRESS && rc != -EBUSY) {
		ct_check(s, !atomic_read(&s->finals), "ended twice");
		s->err = rc;
		return rc;
	}
	if (rc == -EBUSY) {
		atomic64_inc(&s->c->run->backlogged);
		if (!wait_for_completion_timeout(&s->progress, limit))
			return hangs(s);
	}
	if (!wait_for_completion_timeout(&s->done, limit))
		return hangs(s);
	ct_check(s, atomic_read(&s->finals) == 1, "ended twice");
	expect(s);
	return s->err;
}

/* Full: it is tried again when something has ended. */
static int submit(struct ct_slot *s)
{
	struct ct_run *run = s->c->run;
	u32 flags = CRYPTO_TFM_REQ_MAY_SLEEP;
	unsigned int tries;
	int rc;

	if (run->o.backlog < 2 ? run->o.backlog : ct_below(&s->c->rnd, 2))
		flags |= CRYPTO_TFM_REQ_MAY_BACKLOG;
	for (tries = 0;; tries++) {
		expect(s);
		rc = run->o.kind->submit(s, flags);
		if (rc != -ENOSPC || s->may_fail || tries == 1000 * run->o.timeout)
			return rc;
		ct_check(s, !(flags & CRYPTO_TFM_REQ_MAY_BACKLOG), "full, though the job may wait");
		atomic64_inc(&run->full);
		usleep_range(900, 1100);
	}
}

/* False: it hangs. */
static bool finish(struct ct_slot *s)
{
	struct ct_run *run = s->c->run;

	if (!s->busy)
		return true;
	s->busy = false;
	ct_wait(s, s->rc);
	if (s->c->lost)
		return false;
	atomic64_inc(&run->rounds);
	atomic64_add(s->n, &run->bytes);
	if (run->o.spoil && s->round % 16 == 7) {
		s->digest[0] ^= 1;
		ct_flip(s->in_place ? &s->in : &s->out, s->aad);
	}
	if (!run->o.bench)
		run->o.kind->check(s);
	else
		ct_check(s, !s->err, "refused what should work");
	return true;
}

/* ---- One thread ---- */

static bool more(struct ct_thread *c, u64 round, ktime_t end)
{
	const struct ct_opts *o = &c->run->o;

	cond_resched();
	return !atomic_read(&c->run->stop) && !fatal_signal_pending(current) && (!o->rounds || round < o->rounds) &&
	       (!o->seconds || ktime_before(ktime_get(), end));
}

static void finish_all(struct ct_thread *c, u64 from)
{
	u64 i;

	for (i = from; i < from + c->run->o.depth; i++)
		finish(&c->slot[i % c->run->o.depth]);
}

static void loop(struct ct_thread *c)
{
	const struct ct_opts *o = &c->run->o;
	u64 i, start_ns = current->se.sum_exec_runtime;
	ktime_t end = ktime_add_ms(ktime_get(), o->seconds * 1000);
	struct ct_slot *s;

	for (i = 0; more(c, i, end); i++) {
		s = &c->slot[i % o->depth];
		if (!finish(s))
			break;
		s->round = i;
		if (!o->bench && !o->kind->prepare(s)) {
			atomic64_inc(&c->run->skipped);
			continue;
		}
		s->rc = submit(s);
		s->busy = true;
	}
	finish_all(c, i);
	c->cpu_ns = current->se.sum_exec_runtime - start_ns;
}

/* ---- What a thread has ---- */

static void slot_close(struct ct_slot *s)
{
	if (s->c->run->o.kind->slot_close)
		s->c->run->o.kind->slot_close(s);
	ct_list_close(&s->in);
	ct_list_close(&s->out);
	vfree(s->data);
	vfree(s->want);
	vfree(s->got);
}

static int slot_open(struct ct_thread *c, struct ct_slot *s)
{
	size_t max = c->run->o.max + c->run->o.max / 100 + 4096 + c->run->o.kind->extra + CT_GUARD;
	int rc;

	s->c = c;
	init_completion(&s->done);
	init_completion(&s->progress);
	s->data = vzalloc(max);
	s->want = vzalloc(max);
	s->got = vzalloc(max);
	rc = s->data && s->want && s->got ? 0 : -ENOMEM;
	rc = rc ?: ct_list_open(&s->in, max) ?: ct_list_open(&s->out, max) ?: c->run->o.kind->slot_open(s);
	s->n = c->run->o.size;
	if (!rc && c->run->o.bench && !c->run->o.kind->prepare_bench(s))
		rc = -EIO;
	return rc;
}

static void thread_close(struct ct_thread *c)
{
	const struct ct_opts *o = &c->run->o;
	u64 i;

	if (c->lost)
		return;
	for (i = 0; c->slot && i < o->depth; i++)
		if (c->slot[i].c)
			slot_close(&c->slot[i]);
	kvfree(c->slot);
	o->kind->close(c);
	kvfree(c->flat[0]);
	kvfree(c->flat[1]);
}

static int thread_open(struct ct_thread *c)
{
	const struct ct_opts *o = &c->run->o;
	unsigned int ents = CT_FLAT_ENTS(2 * o->max + CT_GENERIC_MAX), i;
	int rc;

	rc = o->kind->open(c);
	if (rc)
		return rc;
	c->flat[0] = kvmalloc_array(ents, sizeof(*c->flat[0]), GFP_KERNEL);
	c->flat[1] = kvmalloc_array(ents, sizeof(*c->flat[1]), GFP_KERNEL);
	c->slot = kvcalloc(o->depth, sizeof(*c->slot), GFP_KERNEL);
	rc = c->flat[0] && c->flat[1] && c->slot ? 0 : -ENOMEM;
	for (i = 0; i < o->depth && !rc; i++)
		rc = slot_open(c, &c->slot[i]);
	return rc;
}

static int thread(void *arg)
{
	struct ct_thread *c = arg;

	loop(c);
	complete(&c->ended);
	return 0;
}

/* ---- All of it ---- */

static u64 all_cpus(enum cpu_usage_stat what)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_online_cpu(cpu)
		sum += kcpustat_cpu(cpu).cpustat[what];
	return sum;
}

struct times {
	u64 wall, softirq, busy;
};

static void times_get(struct times *t)
{
	t->wall = ktime_get_ns();
	t->softirq = all_cpus(CPUTIME_SOFTIRQ) + all_cpus(CPUTIME_IRQ);
	t->busy = t->softirq + all_cpus(CPUTIME_USER) + all_cpus(CPUTIME_NICE) + all_cpus(CPUTIME_SYSTEM);
}

/* The first thread is whoever asked, so that failures of its allocations are injected here, too. */
static void run_threads(struct ct_thread *c, unsigned int n)
{
	unsigned int i, started = 1;

	for (i = 1; i < n; i++) {
		init_completion(&c[i].ended);
		if (IS_ERR(kthread_run(thread, &c[i], "crypto-test/%u", i)))
			break;
		started++;
	}
	loop(c);
	for (i = 1; i < started; i++)
		wait_for_completion(&c[i].ended);
}

static void report(struct ct_run *run, const struct times *a, const struct times *b, u64 task_ns)
{
	ct_printf(run, "jobs %lld\nbytes %lld\n", atomic64_read(&run->rounds), atomic64_read(&run->bytes));
	ct_printf(run, "refused %lld\nskipped %lld\nfull %lld\nbacklogged %lld\n", atomic64_read(&run->refused),
		  atomic64_read(&run->skipped), atomic64_read(&run->full), atomic64_read(&run->backlogged));
	ct_printf(run, "wall_ns %llu\ntask_ns %llu\nsoftirq_ns %llu\nbusy_ns %llu\n", b->wall - a->wall, task_ns,
		  b->softirq - a->softirq, b->busy - a->busy);
	ct_printf(run, "seed %llu\nfaults %d\n", run->o.seed, atomic_read(&run->faults));
	if (atomic_read(&run->faults))
		ct_printf(run, "fault %s\n", run->fault);
}

int ct_run(struct ct_run *run)
{
	unsigned int i, n = run->o.threads;
	struct ct_thread *c = kcalloc(n, sizeof(*c), GFP_KERNEL);
	struct times a, b;
	u64 task_ns = 0;
	bool lost = false;
	int rc = c ? 0 : -ENOMEM;

	for (i = 0; i < n && !rc; i++) {
		c[i].run = run;
		c[i].rnd.state = run->o.seed + i * 7919;
		rc = thread_open(&c[i]);
	}
	if (!rc) {
		times_get(&a);
		run_threads(c, n);
		times_get(&b);
	}
	for (i = 0; c && i < n; i++) {
		task_ns += c[i].cpu_ns;
		lost |= c[i].lost;
		if (c[i].run)
			thread_close(&c[i]);
	}
	if (!rc)
		report(run, &a, &b, task_ns);
	if (!lost)
		kfree(c);
	return rc ?: lost ? -ETIME : atomic_read(&run->faults) ? -EBADMSG : 0;
}
