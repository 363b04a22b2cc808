// SPDX-License-Identifier: GPL-2.0-only
/* Runs the tests and ends with what came of them: the module loads if all have passed. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include "engine_test.h"

#define PAGES_ORDER 10

static unsigned int rounds = 200;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "Rounds of each random test; 0: no tests but what is asked for besides");
static u64 seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "Of the random tests; 0: a new one");
static unsigned int threads = 2;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "Threads that run the random tests at once, each with the same engine");
static bool do_bench;
module_param_named(bench, do_bench, bool, 0444);
MODULE_PARM_DESC(bench, "Compare speeds with the kernel's own functions");
static bool lost;
module_param(lost, bool, 0444);
MODULE_PARM_DESC(lost, "Also a driver that never answers: the module cannot be removed any more");

static const struct {
	const char *name;
	void (*run)(struct t *t);
	bool random;
} tests[] = {
	{ "checksums", test_checksum, true },
	{ "digests", test_digest, true },
	{ "deflate, zlib, gzip", test_deflate, true },
	{ "compressed output that just fits, or does not", test_deflate_fit, true },
	{ "compressed input that is bad", test_deflate_bad, true },
	{ "chunks", test_deflate_chunk, true },
	{ "AES-GCM vectors", test_gcm_vectors },
	{ "AES-GCM", test_gcm, true },
	{ "AES-XTS and AES-CTR", test_skcipher, true },
	{ "erasure coding", test_ec, true },
	{ "erasure coding: what cannot be", test_ec_rules },
	{ "chains", test_chain, true },
	{ "copy, fill, compare", test_move, true },
	{ "jobs that are stopped", test_stop },
	{ "drivers by name", test_drivers },
	{ "table of operations", test_ops },
};

u32 t_rnd(struct t *t)
{
	t->rnd = t->rnd * 6364136223846793005ull + 1442695040888963407ull;
	return t->rnd >> 33;
}

void t_fill(struct t *t, u8 *p, size_t n, unsigned int kind)
{
	u32 x = t_rnd(t);
	size_t i;

	for (i = 0; i < n; i++) {
		if (kind % 3 == 0 || i % 97 == 0)
			x = x * 1664525u + 1013904223u;
		p[i] = kind % 3 == 0 ? x >> 24 : kind % 3 == 1 ? 'a' + (x >> (i % 17)) % 13 : x >> 27;
	}
}

void t_scatter(struct t *t, struct tlist *l, const u8 *p, size_t n)
{
	struct iov_pos pos;
	size_t len, left = n;

	l->n = 0;
	l->vm_at = t_below(t, 5000);
	l->pages_at = t_below(t, 5000);
	while (left && l->n < T_LIST - 1) {
		bool vm = t_rnd(t) & 1;
		size_t *at = vm ? &l->vm_at : &l->pages_at;

		len = l->n == T_LIST - 2 ? left : 1 + t_below(t, t_rnd(t) % 3 ? 9000 : left);
		len = min(len, left);
		if (*at + len + 64 > 2 * T_MAX) {
			/* This half is full; the other one has room for the rest. */
			vm = !vm;
			at = vm ? &l->vm_at : &l->pages_at;
		}
		l->v[l->n++] = (struct kvec){ (vm ? l->vm : l->pages) + *at, len };
		*at += len + t_below(t, 40);
		left -= len;
	}
	pos = (struct iov_pos){ l->v, l->n, 0 };
	if (p)
		iov_write(&pos, p, n);
	else
		for (left = 0; left < l->n; left++)
			memset(l->v[left].iov_base, 0xaa, l->v[left].iov_len);
}

void t_gather(const struct tlist *l, u8 *p, size_t n)
{
	struct iov_pos pos = { l->v, l->n, 0 };

	iov_read(&pos, p, n);
}

bool t_untouched(const struct tlist *l, size_t off, size_t n)
{
	struct iov_pos pos = { l->v, l->n, 0 };
	size_t len, i;
	void *p;

	iov_skip(&pos, off);
	for (; n; n -= len) {
		len = iov_next(&pos, &p, n);
		for (i = 0; i < len; i++)
			if (((u8 *)p)[i] != 0xaa)
				return false;
		if (!len)
			break;
	}
	return true;
}

void t_job(struct t *t, struct job *job, size_t in_len, size_t out_max)
{
	memset(job, 0, sizeof(*job));
	job->nstage = 1;
	job->in = t->in.v;
	job->nin = t->in.n;
	job->in_len = in_len;
	job->out = t->out.v;
	job->nout = t->out.n;
	job->out_max = out_max;
}

const struct engine_fn *t_fn(u16 op, u16 alg, const char *name)
{
	const struct engine_fn *f;
	unsigned int i;

	for (i = 0; (f = engine_fn_at(i)); i++)
		if (f->op == op && f->alg == alg && !strcmp(f->name, name))
			return f;
	return NULL;
}

static void list_close(struct tlist *l)
{
	vfree(l->vm);
	free_pages((unsigned long)l->pages, PAGES_ORDER - 1);
}

static int list_open(struct tlist *l)
{
	l->vm = vmalloc(2 * T_MAX);
	l->pages = (u8 *)__get_free_pages(GFP_KERNEL, PAGES_ORDER - 1);
	return l->vm && l->pages ? 0 : -ENOMEM;
}

static void t_close(struct t *t)
{
	kengine_thread_free(t->th);
	list_close(&t->in);
	list_close(&t->out);
	vfree(t->data);
	vfree(t->want);
	vfree(t->got);
	vfree(t);
}

static struct t *t_open(struct kengine *ke, u64 rnd)
{
	struct t *t = vzalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->ke = ke;
	t->rnd = rnd;
	t->th = kengine_thread_new(ke);
	t->data = vmalloc(2 * T_MAX);
	t->want = vmalloc(2 * T_MAX);
	t->got = vmalloc(2 * T_MAX);
	if (!list_open(&t->in) && !list_open(&t->out) && t->th && t->data && t->want && t->got)
		return t;
	t_close(t);
	return NULL;
}

static void run_all(struct t *t, bool say)
{
	unsigned int i, r;

	for (i = 0; rounds && i < ARRAY_SIZE(tests); i++) {
		t->name = tests[i].name;
		t->ok = true;
		for (r = 0; r < (tests[i].random ? rounds : 1) && t->ok; r++) {
			if (say || tests[i].random)
				tests[i].run(t);
			if (r % 64 == 63)
				kengine_thread_forget(t->th);
			cond_resched();
		}
		t->count++;
		t->failed += !t->ok;
		if (say || !t->ok)
			pr_info("%sok %u - %s\n", t->ok ? "" : "not ", t->count, t->name);
	}
}

struct worker {
	struct t *t;
	struct completion done;
};

static int work(void *arg)
{
	struct worker *w = arg;

	run_all(w->t, false);
	complete(&w->done);
	return 0;
}

/* Others that use the engine at the same time; they speak only of faults. */
static unsigned int crowd(struct kengine *ke, struct t *first)
{
	struct worker w[8];
	unsigned int n = min_t(unsigned int, max(threads, 1u) - 1, ARRAY_SIZE(w)), i, failed = 0;

	for (i = 0; i < n; i++) {
		init_completion(&w[i].done);
		w[i].t = t_open(ke, first->rnd + i + 1);
		if (!w[i].t || IS_ERR(kthread_run(work, &w[i], "engine-test/%u", i)))
			break;
	}
	n = i;
	run_all(first, true);
	for (i = 0; i < n; i++) {
		wait_for_completion(&w[i].done);
		failed += w[i].t->failed;
		t_close(w[i].t);
	}
	return failed;
}

static int run(struct kengine *ke)
{
	struct t *t = t_open(ke, seed ? seed : get_random_u64());
	unsigned int failed;

	if (!t)
		return -ENOMEM;
	pr_info("# seed %llu, rounds %u, threads %u\n", t->rnd, rounds, threads);
	failed = crowd(ke, t) + t->failed;
	if (lost) {
		t->name = "a driver that never answers";
		t->ok = true;
		test_lost(t);
		pr_info("%sok %u - %s\n", t->ok ? "" : "not ", ++t->count, t->name);
		failed += !t->ok;
	}
	pr_info("1..%u\n", t->count);
	if (do_bench)
		bench(t);
	t_close(t);
	return failed ? -EINVAL : 0;
}

static int __init engine_test_init(void)
{
	struct kengine_conf conf = { .type = NVME_ACCEL_TYPE_MULTI };
	char why[KENGINE_WHY_LEN], text[512];
	struct kengine *ke;
	int rc;

	rc = kengine_init();
	if (rc)
		return rc;
	rc = kengine_new(&conf, &ke, why);
	if (rc) {
		pr_info("not ok 1 - engines: %s\n", why);
		return rc;
	}
	kengine_describe(ke, text, sizeof(text));
	pr_info("# %s\n", text);
	rc = run(ke);
	kengine_free(ke);
	if (rc)
		kengine_exit();
	return rc;
}

static void __exit engine_test_exit(void)
{
	kengine_exit();
}

module_init(engine_test_init);
module_exit(engine_test_exit);
MODULE_DESCRIPTION("Tests of the NVMe accelerators' engines inside the kernel");
MODULE_LICENSE("GPL");
