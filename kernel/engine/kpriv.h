/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of kernel/engine share. */
#ifndef KENGINE_PRIV_H
#define KENGINE_PRIV_H

#include <linux/crypto.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/types.h>
#include "kengine.h"
#include "../../lib/engine/compress.h"
#include "../../lib/engine/priv.h"

#define KENGINE_OURS	"nvme-accel"		/* in the driver names of this project */
#define KENGINE_WAIT	(10 * HZ)		/* for hardware that does not answer */

/* Algorithms of the crypto API that engines use. */
enum kprov_id { KP_DEFLATE, KP_GCM, KP_XTS, KP_CTR, KP_SHA256, KP_SHA512, KP_SHA3, KP_BLAKE2B, KP_N };

/* Who serves one. */
struct kprov {
	char driver[CRYPTO_MAX_ALG_NAME];	/* empty: nobody */
	bool hard;		/* may answer late or never: it writes to memory of ours only, and its answer has a limit */
	bool lost;		/* it did not answer: its transforms are left alone for ever */
	void *tfm;		/* struct crypto_acomp, _aead, _skcipher; of digests crypto_shash or (hard) _ahash */
};

struct kengine {
	u32 ops;		/* mask of operations of the type */
	u32 window_bits;
	bool named;		/* the administrator chose the driver of prov[by_name] */
	enum kprov_id by_name;
	enum kprov_id main;	/* what it is for; KP_N: not of the crypto API */
	struct kprov prov[KP_N];
	struct wire_op table[NVME_ACCEL_MAX_OPS];
	unsigned int nops;
};

/*
 * What a request to the crypto API stands on. Kept by the thread for the next one; left to the provider for good, as it
 * is, if that never answers.
 */
struct kreq {
	struct crypto_wait wait;
	struct scatterlist *in, *out;
	unsigned int max_in, max_out;	/* entries */
	u8 *bounce;			/* output that must not go to the job's before its end */
	size_t bounce_len;
	u8 iv[16];
	u8 tag[16];
	u8 aad[4096];			/* as a stage's parameters have it */
};

/* A cipher's transform with the key that it has, which the next job mostly brings again. */
struct kslot {
	void *tfm;			/* struct crypto_aead, crypto_skcipher */
	void *req;
	u32 key_len, tag_len;		/* 0: not set */
	u8 key[64];
};

struct crypto_shash;

struct cipher_thread {
	struct kengine *ke;
	struct kslot slot[KP_N];	/* of the ciphers */
	struct crypto_shash *ghash;	/* for IVs of unusual length */
};

struct kengine_thread {
	struct kengine *ke;
	struct engine_thread *et;
	struct kreq *kreq;		/* NULL until first used */
	struct acomp_req *acomp;
};

static inline struct kengine_thread *kthread_of(struct engine_thread *t)
{
	return t->env;
}

/* ---- kreq.c ---- */

struct kreq *kreq_get(struct kengine_thread *t);
void kreq_free(struct kreq *q);
/* Room for n bytes in bounce; 0 or -ENOMEM. */
int kreq_bounce(struct kreq *q, size_t n);
/*
 * The next n bytes of a list as scatterlist entries from *used on; counts them in *used. -ENOMEM if the array cannot grow.
 * The last entry is not marked: kreq_end().
 */
int kreq_add(struct scatterlist **sg, unsigned int *max, unsigned int *used, struct iov_pos *pos, u64 n);
int kreq_add_flat(struct scatterlist **sg, unsigned int *max, unsigned int *used, const void *p, size_t n);
void kreq_end(struct scatterlist *sg, unsigned int used);
/*
 * Waits for a request that crypto_req_done() ends; err is what starting it has returned. -ETIMEDOUT: the provider has
 * not answered; the thread's kreq is not its own any more and the provider is lost.
 */
int kreq_wait(struct kengine_thread *t, struct kprov *p, struct kreq *q, int err);

/* ---- prov.c: choice ---- */

/* Finds providers for the operations in ke->ops; driver: the administrator's or NULL. */
int prov_open(struct kengine *ke, const char *driver, char *why);
void prov_close(struct kengine *ke);
/* Whether an algorithm is there. */
static inline bool prov_is(const struct kprov *p) { return p->driver[0]; }
/* A digest's place in prov[]; KP_N: not one of ours. */
enum kprov_id prov_of_digest(u16 alg);
enum kprov_id prov_of_cipher(u16 alg);
const char *prov_alg(enum kprov_id id);

/* ---- Families and their threads ---- */

/* kacomp.c: deflate by an acomp driver. False: the library has to do it (nothing was written). */
bool kacomp_compress(struct raw *r, enum raw_state *rc);
/* The whole body of a zlib or gzip stream; false: not done. */
bool kacomp_decompress(struct kengine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		       const struct body *b);

/* kcipher.c */
struct cipher_req;
/* The thread's transforms; NULL: no memory. */
struct cipher_thread *kcipher_get(struct kengine_thread *t);
/*
 * AES-CTR of n bytes from one place to another with the counter block iv. 0 or enum nvme_accel_code.
 */
u32 kcipher_ctr(struct kengine_thread *t, const u8 *key, u32 key_len, const u8 iv[16], struct iov_pos *in,
		struct iov_pos *out, u64 n);
/* kgcm.c: AES-GCM with an IV that is not 12 bytes long. */
void kgcm_any_iv(struct kengine_thread *t, const struct cipher_req *r, unsigned int index, struct job *job);

/* kmeasure.c: fills the estimates of ke->table and drops what does not work. 0 or -ENOMEM. */
int kmeasure(struct kengine *ke);

/* gf.c */
int gf_init(void);
const char *gf_name(void);

#endif
