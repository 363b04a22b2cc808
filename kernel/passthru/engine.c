// SPDX-License-Identifier: GPL-2.0-only
/* A namespace of kind engine from enable to disable: the model's instance and what it needs from its surroundings. */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "engine.h"

#define STOP_POLL	msecs_to_jiffies(10)
#define STOP_TELL	(10 * HZ)	/* a job that has not ended by then is told of */

/* ---- The lock and the clock ---- */

/* Time stands still while somebody has the lock, and never runs backwards. */
u64 eng_now(struct nap_engine *e)
{
	if (!e->now_ns)
		eng_set_now(e, ktime_get_ns());
	return e->now_ns;
}

void eng_set_now(struct nap_engine *e, u64 ns)
{
	e->now_ns = e->last_ns = max(ns, e->last_ns);
}

void eng_lock(struct nap_engine *e)
{
	mutex_lock(&e->lock);
	e->now_ns = 0;
}

/* What the other engine namespaces of the controller have to reckon with. */
static void publish_held(struct nap_engine *e)
{
	u32 held = model_held(e->model);

	if (held != e->held)
		atomic_add((int)(held - e->held), &e->ns->ctrl->held);
	e->held = held;
}

void eng_unlock(struct nap_engine *e)
{
	struct model_cmd *done = e->done;
	unsigned int nwake = e->nwake;
	u64 due = model_due(e->model);
	bool sooner = due < e->due_ns && current != e->worker;

	publish_held(e);
	e->done = NULL;
	e->done_end = &e->done;
	e->nwake = 0;
	WRITE_ONCE(e->due_ns, due);
	mutex_unlock(&e->lock);
	if (nwake)
		wake_up_nr(&e->wait, nwake);
	if (sooner)
		wake_up_process(e->worker);
	eng_cmd_complete(e, done);
}

void eng_tick(struct nap_engine *e, u64 now)
{
	eng_set_now(e, now);
	if (now >= model_due(e->model))
		model_tick(e->model);
}

static u64 env_now(void *ctx)
{
	return eng_now(ctx);
}

static void env_random(void *ctx, void *buf, size_t n)
{
	get_random_bytes(buf, n);
}

static const struct model_env env = {
	.now_ns = env_now,
	.random = env_random,
	.mem_get = eng_mem_get,
	.mem_zero = eng_mem_zero,
	.mem_put = eng_mem_put,
	.job_start = eng_job_start,
	.job_stop = eng_job_stop,
	.job_waits = eng_job_waits,
	.cmd_done = eng_cmd_done,
	.engines = eng_engines,
};

/* ---- From enable to disable ---- */

static int engines_new(struct nap_engine *e)
{
	const struct nap_ns_conf *conf = &e->ns->conf;
	struct kengine_conf kconf = {
		.type = eng_type(conf->engine_type),
		.driver = conf->engine_driver,
		.window_bits = conf->engine_window_bits,
	};
	char why[KENGINE_WHY_LEN] = "", text[256] = "";
	int err;

	if (!kconf.type) {
		nap_ns_err(e->ns, "engine_type %s is not compression, erasure, cipher, digest, checksum, data or all",
			   conf->engine_type ? conf->engine_type : "is not set: it");
		return -EINVAL;
	}
	err = kengine_new(&kconf, &e->ke, why);
	if (err) {
		nap_ns_err(e->ns, "no engines: %s (%d)", why, err);
		return err;
	}
	kengine_describe(e->ke, text, sizeof(text));
	nap_ns_info(e->ns, "%s", text);
	return 0;
}

static int model_new(struct nap_engine *e)
{
	size_t n;
	void *mem;

	e->cfg = kvzalloc(sizeof(*e->cfg), GFP_KERNEL);
	if (!e->cfg)
		return -ENOMEM;
	if (eng_id(e, &e->cfg->id))
		goto refused;
	e->cfg->max_held = 0;		/* set before each turn, by what the tags allow */
	e->cfg->lease_default_ms = 10000;
	e->cfg->lazy_memory = 1;
	n = model_size(e->cfg);
	if (!n)
		goto refused;
	mem = vzalloc(n);
	if (!mem)
		return -ENOMEM;
	e->model = model_init(mem, e->cfg, &env, e);
	if (e->model)
		return 0;
	vfree(mem);
refused:
	nap_ns_err(e->ns, "engine_slots %u, engine_lbads %u: the device model refuses them", e->ns->conf.engine_slots,
		   e->ns->conf.engine_lbads);
	return -EINVAL;
}

static void engine_free(struct nap_engine *e)
{
	eng_work_stop(e);
	eng_spare_free(e);
	vfree(e->model);
	kvfree(e->cfg);
	if (e->ke)
		kengine_free(e->ke);
	mutex_destroy(&e->lock);
	kfree(e);
}

static struct nap_engine *engine_new(struct nap_ns *ns)
{
	struct nap_engine *e = kzalloc(sizeof(*e), GFP_KERNEL);
	unsigned int n = ns->conf.engine_threads;

	if (!e)
		return NULL;
	e->ns = ns;
	e->nthreads = min(n ? n : num_online_cpus(), ENG_MAX_THREADS);
	mutex_init(&e->lock);
	init_llist_head(&e->in);
	init_waitqueue_head(&e->wait);
	e->done_end = &e->done;
	e->due_ns = e->here_forget_ns = ENG_NEVER;
	return e;
}

static void set_size(struct nap_ns *ns, const struct wire_id *id)
{
	ns->lba_shift = id->lbadsx;
	ns->nblocks = id->nsze;
	ns->max_bytes = NAP_MDTS_BYTES;
}

static int enable(struct nap_ns *ns)
{
	struct nap_engine *e = engine_new(ns);
	int err;

	if (!e)
		return -ENOMEM;
	err = engines_new(e);
	if (err)
		goto free;
	err = model_new(e);
	if (err)
		goto free;
	set_size(ns, &e->cfg->id);
	err = eng_spare_init(e);
	if (err)
		goto free;
	err = eng_work_start(e);
	if (err)
		goto free;
	ns->priv = e;
	return 0;
free:
	if (err == -ENOMEM)
		nap_ns_err(ns, "no memory for %u slots and %u threads", ns->conf.engine_slots, e->nthreads);
	engine_free(e);
	return err;
}

/* Held commands end, jobs stop, and what still comes is refused: nobody has to be waited for but engines. */
static void cancel(struct nap_ns *ns)
{
	struct nap_engine *e = ns->priv;

	eng_lock(e);
	model_fini(e->model);
	eng_unlock(e);
}

static unsigned int jobs_left(struct nap_engine *e)
{
	unsigned int n;

	eng_lock(e);
	n = model_fini(e->model);
	eng_unlock(e);
	return n;
}

/* Engines have memory of ours until their jobs have ended, however long that takes: the hardware behind them may hang. */
static void wait_for_jobs(struct nap_engine *e)
{
	unsigned long tell = jiffies + STOP_TELL;
	unsigned int n;

	while ((n = jobs_left(e))) {
		schedule_timeout_uninterruptible(STOP_POLL);
		if (time_before(jiffies, tell))
			continue;
		nap_ns_err(e->ns, "%u jobs were told to stop and have not yet ended", n);
		tell = jiffies + STOP_TELL;
	}
}

static void disable(struct nap_ns *ns)
{
	struct nap_engine *e = ns->priv;

	wait_for_jobs(e);
	ns->priv = NULL;
	engine_free(e);
}

static int identify(struct nap_ns *ns, void *page)
{
	struct nap_engine *e = ns->priv;

	eng_lock(e);
	eng_tick(e, eng_now(e));
	model_identify(e->model, page);
	eng_unlock(e);
	return 0;
}

const struct nap_ns_ops nap_engine_ops = {
	.enable = enable,
	.disable = disable,
	.cancel = cancel,
	.queue = eng_queue,
	.identify = identify,
};
