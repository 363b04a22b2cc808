/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of digest and checksum share. */
#ifndef ACCEL_DIGEST_H
#define ACCEL_DIGEST_H

#include "tool.h"

struct sum_alg {
	const char *name;		/* -a */
	const char *tag;		/* --tag */
	uint16_t alg;
	uint8_t nbytes;			/* of the value */
};

struct sums {
	struct tool *t;
	bool checksum;			/* a number rather than a digest */
	const struct sum_alg *algs;	/* ends with a zero entry */
	const struct sum_alg *alg;	/* -a */
	bool check, tag, zero, ignore_missing, no_ok, status, strict;
	struct json_object *listing;	/* -o json */
};

#define SUM_HEX (2 * ACCEL_RESULT_MAX + 1)

/* The sum of one file (or "-") as hex; *nbytes: of the file. 0 or an exit code. */
int sum_file(struct sums *s, const char *path, const struct sum_alg *alg, char hex[SUM_HEX],
	     uint64_t *nbytes);

/* -c: checks the lines of one list. */
int sum_check(struct sums *s, const char *path);

#endif
