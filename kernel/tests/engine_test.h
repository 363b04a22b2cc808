/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of the engines inside the kernel: a module that runs them when it is loaded and prints TAP to the kernel log. */
#ifndef ENGINE_TEST_H
#define ENGINE_TEST_H

#include "../engine/kpriv.h"

#define T_MAX	(1u << 20)	/* bytes of a buffer in the random tests */
#define T_LIST	4096u

/* Where lists lie: half of their pieces in vmalloc memory, half in pages, all at odd places. */
struct tlist {
	u8 *vm, *pages;
	size_t vm_at, pages_at;
	struct kvec v[T_LIST];
	unsigned int n;
};

struct t {
	struct kengine *ke;
	struct kengine_thread *th;
	struct tlist in, out;
	u8 *data, *want, *got;		/* 2 * T_MAX each */
	u64 rnd;
	unsigned int count, failed;
	const char *name;
	bool ok;
};

u32 t_rnd(struct t *t);
static inline u32 t_below(struct t *t, u32 n) { return n ? t_rnd(t) % n : 0; }
/* Random bytes, text or runs, as kind says (any of three). */
void t_fill(struct t *t, u8 *p, size_t n, unsigned int kind);

/* A list of n bytes in a random number of pieces, their contents from p (NULL: AAh). */
void t_scatter(struct t *t, struct tlist *l, const u8 *p, size_t n);
/* The first n bytes of a list. */
void t_gather(const struct tlist *l, u8 *p, size_t n);
/* Whether the bytes of a list from off on are still AAh. */
bool t_untouched(const struct tlist *l, size_t off, size_t n);

/* A job over both lists. */
void t_job(struct t *t, struct job *job, size_t in_len, size_t out_max);

/* Records a fault of the test that runs. */
#define t_check(t, cond) ({								\
	bool good = (cond);								\
	if (!good) {									\
		if ((t)->ok)								\
			pr_info("# %s: %s:%d: %s\n", (t)->name, __FILE__, __LINE__, #cond);	\
		(t)->ok = false;							\
	}										\
	good; })

/* The entry of lib/engine's table by this name. */
const struct engine_fn *t_fn(u16 op, u16 alg, const char *name);

void test_checksum(struct t *t);
void test_digest(struct t *t);
void test_deflate(struct t *t);
void test_deflate_fit(struct t *t);
void test_deflate_bad(struct t *t);
void test_deflate_chunk(struct t *t);
void test_stop(struct t *t);
void test_gcm_vectors(struct t *t);
void test_gcm(struct t *t);
void test_skcipher(struct t *t);
void test_ec(struct t *t);
void test_ec_rules(struct t *t);
void test_chain(struct t *t);
void test_move(struct t *t);
void test_drivers(struct t *t);
void test_ops(struct t *t);
void test_lost(struct t *t);
void bench(struct t *t);

#endif
