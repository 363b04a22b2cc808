// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which algorithms are registered: those that enabled bindings serve. One that is not wanted any more goes as soon as nobody has
 * a transform of it; until then it is all software.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include "nac.h"

#define CHECK_MS	500u

static char *algorithms;
module_param(algorithms, charp, 0444);
MODULE_PARM_DESC(algorithms, "algorithms to register, of deflate,sha256,gcm(aes),xts(aes) (all)");

static DEFINE_MUTEX(lock);
static u32 wanted = ~0u, registered;
static bool leaving;

static const struct {
	const char *name;
	u32 ops;
	const struct nac_alg_ops *alg;
} algs[NAC_ALGS] = {
	[NAC_A_DEFLATE] = { "deflate", 1u << NAC_COMPRESS | 1u << NAC_DECOMPRESS, &nac_deflate_alg },
	[NAC_A_SHA256] = { "sha256", 1u << NAC_SHA256, &nac_sha256_alg },
	[NAC_A_GCM] = { "gcm(aes)", 1u << NAC_GCM_ENCRYPT | 1u << NAC_GCM_DECRYPT, &nac_gcm_alg },
	[NAC_A_XTS] = { "xts(aes)", 1u << NAC_XTS_ENCRYPT | 1u << NAC_XTS_DECRYPT, &nac_xts_alg },
};

const char *nac_alg_name(enum nac_alg alg)
{
	return algs[alg].name;
}

u32 nac_algs_of(u32 ops)
{
	u32 found = 0;
	unsigned int i;

	for (i = 0; i < NAC_ALGS; i++)
		if ((ops & algs[i].ops) == algs[i].ops)
			found |= 1u << i;
	return found;
}

u32 nac_algs_wanted(void)
{
	return wanted;
}

u32 nac_algs_registered(void)
{
	return READ_ONCE(registered);
}

static void check(struct work_struct *work);
static DECLARE_DELAYED_WORK(check_work, check);

static void put(unsigned int i)
{
	if (!algs[i].alg->idle()) {
		if (!leaving)
			queue_delayed_work(nac_slow_wq, &check_work, msecs_to_jiffies(CHECK_MS));
		return;
	}
	algs[i].alg->unreg();
	WRITE_ONCE(registered, registered & ~(1u << i));
}

static void get(unsigned int i)
{
	int ret = algs[i].alg->reg(nac_binds_priority(i));

	if (!ret)
		WRITE_ONCE(registered, registered | 1u << i);
	else
		pr_err(NAC_NAME ": %s cannot be registered (error %d)\n", algs[i].name, -ret);
}

void nac_algs_update(void)
{
	unsigned int i;
	u32 kinds;

	mutex_lock(&lock);
	kinds = nac_binds_kinds();
	for (i = 0; i < NAC_ALGS; i++) {
		if (kinds & 1u << i && !(registered & 1u << i))
			get(i);
		else if (!(kinds & 1u << i) && registered & 1u << i)
			put(i);
	}
	mutex_unlock(&lock);
}

static void check(struct work_struct *work)
{
	nac_algs_update();
}

void nac_algs_check_later(void)
{
	if (READ_ONCE(registered) & ~nac_binds_kinds())
		queue_delayed_work(nac_slow_wq, &check_work, msecs_to_jiffies(CHECK_MS));
}

static int parse(void)
{
	char *copy, *at, *word;
	int i;

	if (!algorithms)
		return 0;
	copy = at = kstrdup(algorithms, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	wanted = 0;
	while ((word = strsep(&at, ","))) {
		for (i = 0; i < NAC_ALGS && strcmp(word, algs[i].name); i++)
			;
		if (i == NAC_ALGS) {
			pr_err(NAC_NAME ": algorithms=: there is no %s, but deflate, sha256, gcm(aes) and xts(aes)\n", word);
			kfree(copy);
			return -EINVAL;
		}
		wanted |= 1u << i;
	}
	kfree(copy);
	return 0;
}

int nac_algs_init(void)
{
	return parse();
}

/* The module goes, so that nobody has a transform or could get one. */
void nac_algs_exit(void)
{
	unsigned int i;

	mutex_lock(&lock);
	leaving = true;
	for (i = 0; i < NAC_ALGS; i++)
		if (registered & 1u << i)
			algs[i].alg->unreg();
	registered = 0;
	mutex_unlock(&lock);
	cancel_delayed_work_sync(&check_work);
}
