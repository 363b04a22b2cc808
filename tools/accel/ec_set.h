/* SPDX-License-Identifier: BSD-2-Clause */
/* The shard files of one set: found, told apart, and what is wrong with each. */
#ifndef ACCEL_EC_SET_H
#define ACCEL_EC_SET_H

#include <signal.h>
#include "ec_walk.h"

struct json_object;

struct ec_set {
	struct ec_head head;			/* index is of no meaning */
	struct ec_shard shard[EC_SHARDS_MAX];
	char *base;				/* path of the shards without ".ec.NNN" */
	unsigned int nfound;			/* shards that are there */
	/* Files that stand where a shard of this set should and cannot be told to be one, by index. */
	char *unknown[EC_SHARDS_MAX];
	bool foreign[EC_SHARDS_MAX];		/* it is a good shard of another set */
};

/*
 * Opens the shards that args name: shard files, or names of which NAME.ec.NNN exist. Warns about files that
 * do not belong. 0, or an exit code after a message.
 */
int ec_set_open(struct tool *t, struct ec_set *set, char **args, int nargs);
void ec_set_close(struct ec_set *set);

unsigned int ec_set_missing(const struct ec_set *set);
/* Whether shard i is missing, or known to be damaged by now. */
bool ec_set_needs(const struct ec_set *set, unsigned int i);
/* "damaged: 2 of 31 blocks, the first in stripe 7"; buf for the text. */
const char *ec_shard_state(const struct ec_set *set, unsigned int i, char *buf, size_t nbytes);
/* The path of shard i, or where it would be; to free(). NULL: no memory. */
char *ec_set_path(const struct ec_set *set, const char *dir, unsigned int i);
/* Index in a name that ends with .ec.NNN, its prefix length in *n; -1. */
int ec_name_index(const char *path, size_t *n);
/* One warning for all that is missing and one for each shard that is damaged. */
void ec_set_warn(struct tool *t, const struct ec_set *set);
struct json_object *ec_set_json(const struct ec_set *set);

/*
 * Many outputs at once: signals that would end the program are held back, so that the temporary files can
 * be removed first. To be called before threads are made. ec_signalled() tells whether one is waiting.
 */
void ec_signals_hold(sigset_t *old);
bool ec_signalled(void);
void ec_signals_release(const sigset_t *old);

/* The options that the verbs share, filled by their own files. */
extern const struct verb verb_ec_encode, verb_ec_decode, verb_ec_repair, verb_ec_verify;

#endif
