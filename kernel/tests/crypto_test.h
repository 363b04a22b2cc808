/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of drivers of the crypto API, by their names: a module that nobody installs. A run is asked for by a line of words
 * written to /sys/kernel/debug/nvme-accel-crypto-test/run, which is ready when the write returns; what came of it is read from
 * the same open file, as lines "name value". Several files may be open, each for one run.
 *   kind=acomp|ahash|aead|skcipher driver=NAME     what is tested
 *   reference=NAME      what it is compared with (the generic driver)
 *   rounds=N seconds=N  how many jobs a thread does, and how long at most
 *   threads=N depth=N   threads, and jobs that each has under way
 *   min=N max=N         sizes in bytes
 *   timeout=N           seconds after which a job without an answer is a fault
 *   seed=N              of what is random
 *   style=N             only lists of this kind (enum ct_style)
 *   fill=N              only data of this kind (CT_NOISE and so on)
 *   backlog=0|1         whether jobs may wait in the driver (either)
 *   spoil=1             flips a bit of some results: the run must find that
 *   bench=1 size=N back=1   no comparison: what size bytes cost, one way or back (decompress, decrypt)
 */
#ifndef CRYPTO_TEST_H
#define CRYPTO_TEST_H

#include <linux/completion.h>
#include <linux/crypto.h>
#include <linux/ktime.h>
#include <linux/scatterlist.h>
#include <linux/string.h>
#include "../compat/compat.h"

#define CT_GUARD	64u	/* bytes behind what is used that nobody may touch */
#define CT_MAX		(4u << 20)
#define CT_GENERIC_MAX	131072u	/* the generic driver of 6.12 takes no more */

struct ct_opts {
	const struct ct_kind *kind;
	char driver[CRYPTO_MAX_ALG_NAME], reference[CRYPTO_MAX_ALG_NAME];
	u64 rounds, seconds, threads, depth, min, max, timeout, seed, style, fill, backlog, spoil, bench, size, back;
};

/* ---- Lists (crypto_test_list.c) ---- */

enum ct_style {
	CT_FLAT,	/* one aligned piece */
	CT_PAGES,	/* pages, as of a file or a block device */
	CT_BLOCKS,	/* multiples of 512 at such offsets */
	CT_RANDOM,	/* anything, anywhere */
	CT_SMALL,	/* many of a few bytes */
	CT_ODD,		/* vmalloc memory from an odd place on */
	CT_STYLES
};

struct ct_piece {
	u8 *p;
	size_t n, gap;		/* gap: bytes before it that are nobody's */
};

/* Pieces of two memories: vmalloc'ed pages, and contiguous ones. */
struct ct_list {
	struct sg_table table;
	struct scatterlist *sg, *last;	/* sg: what jobs are given */
	struct ct_piece *piece;
	unsigned int n, nents, max;	/* pieces, entries, the most of either */
	u8 *mem[2];
	size_t at[2], size;
	bool single;		/* the contiguous ones are single pages */
};

struct ct_rnd {
	u64 state;
};

u32 ct_rnd(struct ct_rnd *r);
static inline u32 ct_below(struct ct_rnd *r, u32 n) { return n ? ct_rnd(r) % n : 0; }
enum { CT_NOISE, CT_TEXT, CT_RUNS, CT_FILLS };
void ct_fill(struct ct_rnd *r, u8 *p, size_t n, unsigned int kind);

int ct_list_open(struct ct_list *l, size_t max);
void ct_list_close(struct ct_list *l);
/* n bytes from p (NULL: AAh), then CT_GUARD of AAh in the same list. */
bool ct_scatter(struct ct_rnd *r, struct ct_list *l, unsigned int style, const u8 *p, size_t n);
void ct_gather(const struct ct_list *l, u8 *p, size_t n);
/* Whether the list's bytes are those at p. */
bool ct_holds(const struct ct_list *l, const u8 *p, size_t n);
/* Whether all behind the first n bytes, and what lies between the pieces, is AAh still. */
bool ct_guarded(const struct ct_list *l, size_t n);
void ct_flip(const struct ct_list *l, size_t at);
/* A list over vmalloc'ed memory; sg has room for it. */
unsigned int ct_flat(struct scatterlist *sg, u8 *p, size_t n);
#define CT_FLAT_ENTS(n) ((n) / PAGE_SIZE + 2)

/* ---- Runs (crypto_test_main.c, crypto_test_run.c) ---- */

struct ct_run {
	struct ct_opts o;
	atomic64_t rounds, bytes, skipped, full, backlogged, refused;
	atomic_t stop, faults;
	char fault[256];	/* the first one */
	char *text;		/* what is read */
	size_t len;
};

/* One job under way, and all it needs. */
struct ct_slot {
	struct ct_thread *c;
	void *req;		/* the kind's */
	void *tfm, *ref;	/* those of ciphers, which have a key each */
	struct completion done, progress;
	bool busy;
	int rc, err;			/* of the call; of the job */
	atomic_t finals;
	u64 round;
	struct ct_list in, out;
	u8 *data, *want, *got;		/* 2 * max + CT_GUARD + 4096 bytes each */
	size_t n, room, len;
	unsigned int op, aad;
	bool may_fail, in_place;
	u8 iv[16], iv_was[16], key[64], digest[64];
	unsigned int authsize;
};

struct ct_thread {
	struct ct_run *run;
	struct ct_rnd rnd;
	void *tfm, *ref, *ref_req;	/* those of acomp and ahash, which jobs share */
	struct scatterlist *flat[2];
	struct ct_slot *slot;
	bool lost;			/* a job never ended: its memory must stay */
	u64 cpu_ns;
	struct completion ended;
};

struct ct_kind {
	const char *name, *references[3];
	size_t extra;			/* room beyond max that a list must have */
	int (*open)(struct ct_thread *c);
	void (*close)(struct ct_thread *c);
	int (*slot_open)(struct ct_slot *s);
	void (*slot_close)(struct ct_slot *s);
	/* A new random job; false: not this time. */
	bool (*prepare)(struct ct_slot *s);
	/* The same job again and again. */
	bool (*prepare_bench)(struct ct_slot *s);
	int (*submit)(struct ct_slot *s, u32 flags);
	/* The job has ended with s->err. */
	void (*check)(struct ct_slot *s);
};

extern const struct ct_kind ct_acomp, ct_ahash, ct_aead, ct_skcipher;
/* As long as the module is there. */
void ct_comp_hold(void);
void ct_comp_release(void);

/* Records a fault; the run ends. */
void ct_fault(struct ct_slot *s, const char *what);
#define ct_check(s, cond, what) ({ bool good_ = (cond); if (!good_) ct_fault(s, what); good_; })
void ct_done(compat_crypto_arg *arg, int err);
/* Waits for what was submitted with rc; its result. -ETIME: it hangs. */
int ct_wait(struct ct_slot *s, int rc);
size_t ct_size(struct ct_thread *c);
unsigned int ct_style(struct ct_thread *c);
/* Opens the reference by the first name that there is. open: crypto_alloc_*() of the kind. */
void *ct_reference(struct ct_thread *c, void *(*open)(const char *name));

/* 0, -EBADMSG after a fault, -ETIME if a job hangs (run must stay then), or why there was no run. */
int ct_run(struct ct_run *run);
void ct_printf(struct ct_run *run, const char *fmt, ...) __printf(2, 3);

#endif
