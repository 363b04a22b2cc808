/* SPDX-License-Identifier: BSD-2-Clause */
/* accel bench: what is measured (a case), one measurement (a point), and their picture. */
#ifndef ACCEL_BENCH_H
#define ACCEL_BENCH_H

#include "tool.h"
#include "bench_hist.h"

enum { BENCH_NINPUT = 4, BENCH_DEPTH_MAX = 4096, BENCH_THREADS_MAX = 64 };

enum bench_mode { BENCH_SYNC, BENCH_ASYNC };

/* An operation with its name on the command line. */
struct bench_op {
	const char *name;
	uint16_t op, alg;
};

/* An operation on inputs of one size, with the outcome that each of its jobs must have. */
struct bench_case {
	struct tool *t;
	struct bench_op op;
	unsigned int level, k, m;
	size_t size;			/* as asked for; erasure coding: of a block */
	size_t plain;			/* bytes that a job counts for */
	struct accel_plan *plan;	/* what is measured */
	struct accel_plan *check;	/* CPU; compress: decompression */
	size_t in_len[BENCH_NINPUT];
	uint8_t *in[BENCH_NINPUT];
	size_t out_max;			/* room that a job has */
	size_t out_len[BENCH_NINPUT];	/* as it must be; compress: 0, not known */
	uint8_t *out[BENCH_NINPUT];	/* as it must be; compress: the plain text */
	uint8_t result[BENCH_NINPUT][ACCEL_RESULT_MAX];
	uint8_t result_len;
	uint8_t tag[BENCH_NINPUT][16];
	uint8_t lost[1];
	struct accel_params params[BENCH_NINPUT];
};

/* text: plain bytes to work on, repeated as needed. 0, or an exit code after a message; -1: the device has
 * not got this operation or not at this size (*why says which). */
int bench_case_init(struct bench_case *c, const uint8_t *text, size_t ntext, const char **why);
void bench_case_fini(struct bench_case *c);
/* Cheap, for every job: status, lengths, digest, checksum or tag. */
bool bench_case_quick(const struct bench_case *c, unsigned int input, const struct accel_result *r);
/* The whole output. */
bool bench_case_whole(const struct bench_case *c, unsigned int input, const uint8_t *out,
		      const struct accel_result *r);
/* Name and plan of an operation on the command line; false: there is no such. */
bool bench_op_find(const char *name, struct bench_op *op);
extern const char *const bench_op_names[];

struct bench_point {
	const char *op;
	size_t size;
	enum bench_mode mode;
	unsigned int threads, depth;
	char skip[96];			/* why it was not measured; empty: it was */
	uint64_t jobs, bytes, wrong, verified;
	uint64_t executor[5];		/* jobs by enum accel_executor */
	double seconds, cpu;		/* cpu: processors in use, 1.0 is one */
	double bytes_per_s, jobs_per_s;
	uint64_t mean_ns, p50_ns, p99_ns, p999_ns, max_ns;
};

/* Measures; 0, or an exit code after a message. */
int bench_run(const struct bench_case *c, struct bench_point *p, double seconds);

/* Whether a picture can be made, before any time is spent. 0, or an exit code after a message. */
int bench_plot_check(struct tool *t, const char *path);
int bench_plot(struct tool *t, const char *path, unsigned int flags, const struct bench_point *points,
	       size_t n);

#endif
