/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the cipher family share. */
#ifndef ACCEL_ENGINE_CIPHER_H
#define ACCEL_ENGINE_CIPHER_H

#include "ghash.h"
#include "priv.h"

/* A cipher stage, checked: every length in it is one that the algorithm allows. */
struct cipher_req {
	struct wire_cipher p;
	uint16_t alg;
	int encrypt;
	int aead;
	uint64_t aad_lead;		/* bytes of the input that are additional authenticated data */
	uint64_t text_len;
	uint64_t unit;			/* AES-XTS: bytes of a data unit, at least 16 unless there is no text */
};

/* Fails the job and returns 0 if the stage is not acceptable. */
int cipher_parse(struct cipher_req *req, const struct job_stage *stage, unsigned int index,
		 struct job *job);

/*
 * Where the text goes: to the job's output, or into scratch if an AEAD decryption must hold it back until
 * the tag is known to be right. 0: no memory (the job has failed).
 */
int cipher_out(struct engine_thread *t, const struct cipher_req *req, unsigned int index, struct job *job,
	       struct base_iov *held, struct iov_pos *out);
/* Ends a job whose text is complete and whose tag, if any, was right. */
void cipher_release(const struct cipher_req *req, struct job *job, const struct base_iov *held);

/* The longest piece that is contiguous in both lists, at most max; 0 at the end of either. */
size_t cipher_pair(struct iov_pos *in, struct iov_pos *out, void **src, void **dst, size_t max);

/*
 * One data unit of AES-XTS as a piece of memory: in place, or through the two scratch halves. done()
 * writes back what did not lie in one piece.
 */
struct cipher_unit {
	const uint8_t *src;
	uint8_t *dst;
	int bounced;
	size_t n;
};

int cipher_unit_get(struct engine_thread *t, struct cipher_unit *u, struct iov_pos *in, struct iov_pos *out,
		    size_t n);
void cipher_unit_done(const struct cipher_unit *u, struct iov_pos *out);
/* The next data unit's tweak: plus one, little endian. */
void cipher_tweak_next(uint8_t tweak[16]);

/*
 * OpenSSL's context for an algorithm, key size and direction. To set up a key costs more than to encrypt a
 * sector, and jobs mostly come with the key of the one before; so a context keeps its key until another one
 * comes or the thread is told to forget.
 */
struct cipher_slot {
	struct evp_cipher_ctx_st *ctx;
	uint32_t iv_len;	/* that the context is set to; 0: not yet */
	uint32_t key_len;	/* of the key that it holds; 0: none */
	uint8_t key[64];
	struct ghash_key ghash;	/* of that key, once have_ghash */
	int have_ghash;
};

/* NULL: no memory. */
struct cipher_slot *cipher_slot_get(struct engine_thread *t, uint16_t alg, uint32_t key_len, int encrypt);
/* 0: OpenSSL failed; then forget the slot. */
int cipher_slot_start(struct cipher_slot *s, const struct wire_cipher *p, const uint8_t *iv, int aead);
void cipher_slot_forget(struct cipher_slot *s);

void cipher_clmul_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job);
void cipher_openssl_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			struct job *job);
void cipher_plain_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		      struct job *job);

#endif
