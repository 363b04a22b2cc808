// SPDX-License-Identifier: GPL-2.0-only
/* Engines of a namespace and their threads: what kengine.h promises, around lib/engine's frame. */
#include <linux/kmod.h>
#include <linux/sched/mm.h>
#include <crypto/acompress.h>
#include "kpriv.h"

#define OP(name)	(1u << NVME_ACCEL_OP_##name)

/* The algorithm of the crypto API that a type is for; KP_N: none. */
static enum kprov_id main_of(u16 type)
{
	switch (type) {
	case NVME_ACCEL_TYPE_COMPRESSION: return KP_DEFLATE;
	case NVME_ACCEL_TYPE_CIPHER: return KP_GCM;
	case NVME_ACCEL_TYPE_DIGEST: return KP_SHA256;
	}
	return KP_N;
}

int kengine_init(void)
{
	/* What uses the processor's instructions is loaded at boot on most systems, and else would be found too late. */
	request_module("crypto-aes");
	request_module("crypto-sha256");
	return gf_init();
}

void kengine_exit(void)
{
}

/* Whether the crypto API has what the operation needs. */
static bool there_is(const struct kengine *ke, const struct wire_op *op)
{
	if (!(ke->ops & 1u << op->op))
		return false;
	switch (op->op) {
	case NVME_ACCEL_OP_ENCRYPT:
	case NVME_ACCEL_OP_DECRYPT:
		return prov_is(&ke->prov[prov_of_cipher(op->alg)]);
	case NVME_ACCEL_OP_DIGEST:
		return prov_is(&ke->prov[prov_of_digest(op->alg)]);
	default:
		return true;
	}
}

static void make_ops(struct kengine *ke)
{
	unsigned int n = engine_ops(ke->table, NVME_ACCEL_MAX_OPS), i;

	for (i = 0; i < n; i++) {
		struct wire_op *op = &ke->table[ke->nops];

		*op = ke->table[i];
		if (!there_is(ke, op))
			continue;
		op->max_in = op->max_in ? min_t(u64, op->max_in, KENGINE_MAX_BYTES) : KENGINE_MAX_BYTES;
		op->max_out = op->max_out ? min_t(u64, op->max_out, KENGINE_MAX_BYTES) : KENGINE_MAX_BYTES;
		ke->nops++;
	}
}

static int set_up(struct kengine *ke, const struct kengine_conf *conf, char *why)
{
	const struct wire_kind *kind = wire_kind_of(conf->type);
	int rc;

	if (!kind) {
		snprintf(why, KENGINE_WHY_LEN, "no engines of type %u", conf->type);
		return -EINVAL;
	}
	ke->ops = kind->ops;
	ke->main = main_of(conf->type);
	ke->window_bits = conf->window_bits ?: 15;
	if (ke->window_bits < 9 || ke->window_bits > 15) {
		snprintf(why, KENGINE_WHY_LEN, "a window of %u bits: 9 to 15 are possible", ke->window_bits);
		return -EINVAL;
	}
	rc = prov_open(ke, conf->driver, why);
	if (rc)
		return rc;
	if (ke->named)
		ke->main = ke->by_name;
	make_ops(ke);
	rc = kmeasure(ke);
	if (rc)
		snprintf(why, KENGINE_WHY_LEN, "no memory");
	return rc;
}

int kengine_new(const struct kengine_conf *conf, struct kengine **out, char *why)
{
	struct kengine *ke = kzalloc(sizeof(*ke), GFP_KERNEL);
	int rc;

	*why = 0;
	if (!ke) {
		snprintf(why, KENGINE_WHY_LEN, "no memory");
		return -ENOMEM;
	}
	rc = set_up(ke, conf, why);
	if (rc) {
		kengine_free(ke);
		return rc;
	}
	*out = ke;
	return 0;
}

void kengine_free(struct kengine *ke)
{
	if (!ke)
		return;
	prov_close(ke);
	kfree(ke);
}

unsigned int kengine_ops(const struct kengine *ke, struct wire_op *ops, unsigned int max)
{
	unsigned int n = min(ke->nops, max);

	memcpy(ops, ke->table, n * sizeof(*ops));
	return n;
}

/* Software behind a queue is software. */
static bool is_hardware(const struct kprov *p)
{
	return p->hard && strncmp(p->driver, "cryptd(", 7) && strncmp(p->driver, "pcrypt(", 7);
}

u64 kengine_features(const struct kengine *ke)
{
	u64 feat = NVME_ACCEL_FEAT_IN_CRC | NVME_ACCEL_FEAT_OUT_CRC | NVME_ACCEL_FEAT_STOP;

	if (ke->ops & OP(COMPRESS))
		feat |= NVME_ACCEL_FEAT_VERIFY;
	if (ke->main == KP_N || !is_hardware(&ke->prov[ke->main]))
		feat |= NVME_ACCEL_FEAT_SOFTWARE;
	return feat;
}

void kengine_describe(const struct kengine *ke, char *text, size_t max)
{
	size_t n = 0;
	unsigned int i;

	*text = 0;
	if (ke->ops & OP(COMPRESS) && !prov_is(&ke->prov[KP_DEFLATE]))
		n += scnprintf(text + n, max - n, "deflate: zlib; ");
	if (ke->ops & OP(EC_ENCODE))
		n += scnprintf(text + n, max - n, "erasure coding: %s; ", gf_name());
	for (i = 0; i < KP_N; i++)
		if (prov_is(&ke->prov[i]))
			n += scnprintf(text + n, max - n, "%s: %s; ", prov_alg(i), ke->prov[i].driver);
	if (n > 2)
		text[n - 2] = 0;
}

struct kengine_thread *kengine_thread_new(struct kengine *ke)
{
	struct kengine_thread *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->ke = ke;
	t->et = engine_thread_new();
	if (!t->et) {
		kfree(t);
		return NULL;
	}
	t->et->env = t;
	return t;
}

/* A lost provider keeps what it has. */
static void acomp_free(struct kengine_thread *t)
{
	if (t->acomp && !READ_ONCE(t->ke->prov[KP_DEFLATE].lost))
		acomp_request_free(t->acomp);
	t->acomp = NULL;
}

void kengine_thread_free(struct kengine_thread *t)
{
	if (!t)
		return;
	acomp_free(t);
	kreq_free(t->kreq);
	engine_thread_free(t->et);
	kfree(t);
}

/* Scratch memory and coefficients; compressors' workspaces are small and stay. */
static void shrink(struct engine_thread *et)
{
	unsigned int i;

	for (i = 0; i < SCRATCH_N; i++) {
		engine_free(et->scratch[i].p);
		memset(&et->scratch[i], 0, sizeof(et->scratch[i]));
	}
	ec_thread_free(et->ec);
	et->ec = NULL;
}

void kengine_thread_forget(struct kengine_thread *t)
{
	engine_thread_forget(t->et);
	shrink(t->et);
	kreq_free(t->kreq);
	t->kreq = NULL;
}

void kengine_run(struct kengine_thread *t, struct job *job)
{
	unsigned int flags;

	if (job->in_len > KENGINE_MAX_BYTES || job->out_max > KENGINE_MAX_BYTES) {
		engine_reset(job);
		engine_fail(job, 0, NVME_ACCEL_BAD_PARAM);
		return;
	}
	flags = memalloc_noio_save();
	engine_run(t->et, job);
	memalloc_noio_restore(flags);
}
