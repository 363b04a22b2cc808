// SPDX-License-Identifier: GPL-2.0-only
/* The choice of drivers, one that never answers, and the table of operations. */
#include <crypto/internal/hash.h>
#include <crypto/sha2.h>
#include <linux/delay.h>
#include <linux/module.h>
#include "engine_test.h"

/* Runs a random test on an engine with this driver; a driver that this kernel has not is told of. */
static void with_driver(struct t *t, u16 type, const char *driver, void (*test)(struct t *t), unsigned int rounds)
{
	struct kengine_conf conf = { .type = type, .driver = driver };
	char why[KENGINE_WHY_LEN], text[512];
	struct kengine_thread *th = t->th;
	struct kengine *ke;

	if (kengine_new(&conf, &ke, why)) {
		pr_info("# %s: %s\n", driver, why);
		return;
	}
	kengine_describe(ke, text, sizeof(text));
	pr_info("# %s: %s\n", driver, text);
	t_check(t, ke->named && !strcmp(ke->prov[ke->by_name].driver, driver));
	t_check(t, kengine_features(ke) & NVME_ACCEL_FEAT_SOFTWARE);
	t->th = kengine_thread_new(ke);
	while (t_check(t, t->th) && rounds--)
		test(t);
	kengine_thread_free(t->th);
	kengine_free(ke);
	t->th = th;
}

static void refused(struct t *t, u16 type, const char *driver, u32 bits)
{
	struct kengine_conf conf = { .type = type, .driver = driver, .window_bits = bits };
	char why[KENGINE_WHY_LEN];
	struct kengine *ke;

	t_check(t, kengine_new(&conf, &ke, why) < 0 && *why);
	pr_info("# refused: %s\n", why);
}

void test_drivers(struct t *t)
{
	with_driver(t, NVME_ACCEL_TYPE_COMPRESSION, "deflate-scomp", test_deflate, 20);
	with_driver(t, NVME_ACCEL_TYPE_COMPRESSION, "deflate-scomp", test_deflate_fit, 10);
	with_driver(t, NVME_ACCEL_TYPE_COMPRESSION, "deflate-scomp", test_deflate_bad, 20);
	with_driver(t, NVME_ACCEL_TYPE_DIGEST, "sha256-generic", test_digest, 10);
	with_driver(t, NVME_ACCEL_TYPE_DIGEST, "cryptd(sha256-generic)", test_digest, 20);
	with_driver(t, NVME_ACCEL_TYPE_CIPHER, "gcm_base(ctr(aes-generic),ghash-generic)", test_gcm, 10);
	with_driver(t, NVME_ACCEL_TYPE_CIPHER, "pcrypt(gcm_base(ctr(aes-generic),ghash-generic))", test_gcm, 20);
	with_driver(t, NVME_ACCEL_TYPE_CIPHER, "cryptd(xts(ecb(aes-generic)))", test_skcipher, 10);
	with_driver(t, NVME_ACCEL_TYPE_CIPHER, "cryptd(ctr(aes-generic))", test_skcipher, 10);
	refused(t, NVME_ACCEL_TYPE_COMPRESSION, "no-such-driver", 0);
	refused(t, NVME_ACCEL_TYPE_COMPRESSION, "deflate-nvme-accel", 0);
	refused(t, NVME_ACCEL_TYPE_DIGEST, "deflate-scomp", 0);
	refused(t, NVME_ACCEL_TYPE_COMPRESSION, NULL, 16);
	refused(t, NVME_ACCEL_TYPE_PROGRAM, NULL, 0);
}

void test_ops(struct t *t)
{
	static const u16 types[] = { NVME_ACCEL_TYPE_COMPRESSION, NVME_ACCEL_TYPE_ERASURE, NVME_ACCEL_TYPE_CIPHER,
				     NVME_ACCEL_TYPE_DIGEST, NVME_ACCEL_TYPE_CHECKSUM, NVME_ACCEL_TYPE_DATA,
				     NVME_ACCEL_TYPE_MULTI };
	struct wire_op *ops = kcalloc(NVME_ACCEL_MAX_OPS, sizeof(*ops), GFP_KERNEL);
	char why[KENGINE_WHY_LEN];
	unsigned int i, j, n;
	struct kengine *ke;

	for (i = 0; ops && i < ARRAY_SIZE(types); i++) {
		struct kengine_conf conf = { .type = types[i] };

		if (!t_check(t, !kengine_new(&conf, &ke, why)))
			continue;
		n = kengine_ops(ke, ops, NVME_ACCEL_MAX_OPS);
		t_check(t, n > 0);
		for (j = 0; j < n; j++) {
			t_check(t, ops[j].max_in && ops[j].max_in <= KENGINE_MAX_BYTES && ops[j].max_out &&
				   ops[j].max_out <= KENGINE_MAX_BYTES && ops[j].est_mbps);
			if (types[i] == NVME_ACCEL_TYPE_MULTI)
				pr_info("# %s %s: %u MB/s, %u ns\n", wire_op_name(ops[j].op),
					wire_alg_name(ops[j].op, ops[j].alg) ?: "", ops[j].est_mbps,
					ops[j].est_overhead_ns);
		}
		kengine_free(ke);
	}
	kfree(ops);
}

/* ---- A digest whose driver takes a request and is silent; until then it is right, as the kernel tests what registers ---- */

static struct ahash_request *taken;
static bool silent;

static int lost_init(struct ahash_request *req)
{
	sha256_init(ahash_request_ctx(req));
	return 0;
}

static int lost_update(struct ahash_request *req)
{
	unsigned int done, n;
	u8 part[128];

	for (done = 0; done < req->nbytes; done += n) {
		n = min_t(unsigned int, req->nbytes - done, sizeof(part));
		sg_pcopy_to_buffer(req->src, sg_nents(req->src), part, n, done);
		sha256_update(ahash_request_ctx(req), part, n);
	}
	return 0;
}

static int lost_final(struct ahash_request *req)
{
	sha256_final(ahash_request_ctx(req), req->result);
	return 0;
}

static int lost_finup(struct ahash_request *req)
{
	lost_update(req);
	return lost_final(req);
}

static int lost_digest(struct ahash_request *req)
{
	if (silent) {
		taken = req;
		return -EINPROGRESS;
	}
	lost_init(req);
	return lost_finup(req);
}

static int lost_export(struct ahash_request *req, void *out)
{
	memcpy(out, ahash_request_ctx(req), sizeof(struct sha256_state));
	return 0;
}

static int lost_import(struct ahash_request *req, const void *in)
{
	memcpy(ahash_request_ctx(req), in, sizeof(struct sha256_state));
	return 0;
}

static int lost_open(struct crypto_ahash *tfm)
{
	crypto_ahash_set_reqsize(tfm, sizeof(struct sha256_state));
	return 0;
}

static struct ahash_alg lost_alg = {
	.init = lost_init, .update = lost_update, .final = lost_final, .finup = lost_finup, .digest = lost_digest,
	.export = lost_export, .import = lost_import, .init_tfm = lost_open,
	.halg = {
		.digestsize = 32, .statesize = sizeof(struct sha256_state),
		.base = {
			.cra_name = "sha256", .cra_driver_name = "sha256-silent", .cra_priority = 1,
			.cra_flags = CRYPTO_ALG_ASYNC, .cra_blocksize = 64, .cra_module = THIS_MODULE,
		},
	},
};

void test_lost(struct t *t)
{
	struct kengine_conf conf = { .type = NVME_ACCEL_TYPE_DIGEST, .driver = "sha256-silent" };
	struct kengine_thread *th;
	char why[KENGINE_WHY_LEN];
	struct kengine *ke;
	struct job job;

	if (!t_check(t, !crypto_register_ahash(&lost_alg)) || !t_check(t, !kengine_new(&conf, &ke, why)))
		return;
	t_check(t, !(kengine_features(ke) & NVME_ACCEL_FEAT_SOFTWARE));
	th = kengine_thread_new(ke);
	silent = true;
	t_scatter(t, &t->in, t->data, 1000);
	t_job(t, &job, 1000, 0);
	job.nout = 0;
	job.stage[0].op = NVME_ACCEL_OP_DIGEST;
	job.stage[0].alg = NVME_ACCEL_ALG_SHA256;
	kengine_run(th, &job);
	t_check(t, job.code == NVME_ACCEL_DEVICE_FAULT && taken);
	kengine_run(th, &job);
	t_check(t, job.code == NVME_ACCEL_DEVICE_FAULT);
	kengine_thread_free(th);
	kengine_free(ke);
	/* The answer comes when nobody waits for it any more, and finds its memory as it was. */
	if (taken) {
		memset(taken->result, 2, 32);
		local_bh_disable();
		ahash_request_complete(taken, 0);
		local_bh_enable();
	}
}
