/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk over the stripes of a set: several stripes at a time are read, checked, encoded or restored by
 * jobs, and handed on in order. Memory does not depend on the length of the file.
 */
#ifndef ACCEL_EC_WALK_H
#define ACCEL_EC_WALK_H

#include "ec_format.h"
#include "jobq.h"

enum ec_state {
	EC_B_NONE,		/* not read (yet) */
	EC_B_READ,		/* read, its check not computed yet */
	EC_B_GOOD,
	EC_B_BAD,		/* unreadable, or its check is wrong */
	EC_B_MADE,		/* computed from the others */
};

enum ec_kind {
	EC_ENCODE,
	EC_RESTORE,		/* the wanted blocks, from those that are good */
	EC_VERIFY,		/* all blocks, and the parity computed again */
};

/* A shard as a source of blocks. */
struct ec_shard {
	int fd;			/* -1: missing */
	char *path;		/* NULL: missing */
	uint64_t nbytes;	/* as found */
	const char *why;	/* damaged as a whole, or a reason for the bad blocks; NULL: none seen */
	uint64_t nbad;		/* bad blocks found so far */
	uint64_t first_bad;	/* stripe of the first */
	bool head_bad;		/* its header was read from the copy at the end, or the copy is bad */
	bool unreadable;	/* an I/O error was met */
};

struct ec_walk;

struct ec_stripe {
	struct ec_walk *walk;
	uint64_t index;
	uint32_t len;				/* bytes of a block */
	uint8_t *mem; /* k + m blocks; EC_VERIFY: and m for the parity computed anew */
	uint8_t state[EC_SHARDS_MAX];		/* enum ec_state */
	uint8_t check[EC_SHARDS_MAX][EC_CHECK_NBYTES];
	uint8_t lost[EC_SHARDS_MAX], survivors[EC_SHARDS_MAX];
	uint32_t nlost;
	struct accel_params params;
	struct ec_crc_work *crc;		/* k + m */
	struct ec_work *ec;			/* one a slice of the blocks */
	struct iovec *iov;			/* of the latter */
	unsigned int pending, phase;
	uint64_t nbad;				/* EC_VERIFY: parity blocks that the data do not give */
	uint64_t mismatch;			/* EC_VERIFY: index of the first of them */
	int rc;					/* exit code, 0: all right */
	bool finished;
};

struct ec_plan;

struct ec_walk {
	struct tool *t;
	enum ec_kind kind;
	struct ec_head head;
	struct ec_shard *shard;			/* EC_RESTORE, EC_VERIFY: k + m */
	bool want[EC_SHARDS_MAX];		/* EC_RESTORE */
	bool want_checks;			/* EC_RESTORE: checks of the blocks that were made, too */
	/* EC_ENCODE: fills k blocks of the stripe and sets len. 1: done; 0: the input has ended; -1: failed.
	 */
	int (*fill)(struct ec_walk *w, struct ec_stripe *s);
	/* Takes a finished stripe, in order. 0 or an exit code. */
	int (*sink)(struct ec_walk *w, struct ec_stripe *s);
	void *arg;
	struct progress progress;
	/* The walk's own. */
	struct jobq q;
	struct ec_stripe *stripe;
	struct ec_plan *plan;
	unsigned int nring, nslice;
	uint32_t slice_nbytes;
	bool ended;
};

static inline unsigned int ec_nshard(const struct ec_head *h)
{
	return (unsigned int)h->k + h->m;
}

static inline uint8_t *ec_block(const struct ec_stripe *s, unsigned int index)
{
	return s->mem + (size_t)index * s->len;
}

/* Runs the whole walk. 0, or an exit code after a message. */
int ec_walk(struct ec_walk *w);

/* ---- Between ec_walk.c and ec_jobs.c ---- */

int ec_jobs_init(struct ec_walk *w);
void ec_jobs_fini(struct ec_walk *w);
int ec_stripe_init(struct ec_walk *w, struct ec_stripe *s);
void ec_stripe_fini(struct ec_stripe *s);
/* Adds jobs for a stripe; when the last has ended, ec_advance() is called. */
void ec_add_crc(struct ec_stripe *s, unsigned int index);
int ec_add_encode(struct ec_stripe *s, uint8_t *parity);
int ec_add_decode(struct ec_stripe *s);
void ec_advance(struct ec_stripe *s);

#endif
