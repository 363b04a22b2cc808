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
	bool check, tag, zero, ignore_missing, no_ok, status, strict, verbose;
	bool warned;			/* that the CPU did what was meant for a device */
	struct json_object *listing;	/* -o json */
	int out_err;			/* errno of standard output when it failed */
};

#define SUM_HEX (2 * ACCEL_RESULT_MAX + 1)

/* The sum of one file (or "-") as hex; *info: of the work. 0 or an exit code. */
int sum_file(struct sums *s, const char *path, const struct sum_alg *alg, char hex[SUM_HEX],
	     struct accel_stream_info *info);

/* After printing: keeps why standard output failed. */
void sum_printed(struct sums *s);
/* A name to stdout as a line that begins with '\\' has it. */
void sum_print_name(const struct sums *s, const char *name);

/* A line of a list; hex and name point into it. */
struct sum_line {
	const struct sum_alg *alg;
	const char *hex;
	char *name;
};

/*
 * Takes a line, without its end, apart in place. alg: of lines that do not name theirs. False: it is none.
 */
bool sum_parse(const struct sum_alg *algs, const struct sum_alg *alg, char *line, struct sum_line *l);

/* -c: checks the lines of one list. */
int sum_check(struct sums *s, const char *path);

#endif
