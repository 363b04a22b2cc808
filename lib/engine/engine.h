/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engines: functions over buffers, run by whoever has a job. They know no namespace, no lease and no
 * byte order. An engine never touches a byte of the output beyond out_max, writes nothing that the
 * outcome does not own (see AUTH_FAILED), and ends with a code, never with a signal or an exit.
 */
#ifndef ACCEL_ENGINE_H
#define ACCEL_ENGINE_H

#include "../base/job.h"
#include "../wire/wire.h"

/*
 * What an engine keeps between jobs (compressors, cipher contexts, scratch memory): one a thread, used
 * by one job at a time. Grows on demand to the largest job so far. Plaintext of cipher jobs is wiped after
 * every job; of each algorithm and direction the last key stays, since the next job mostly brings it again
 * and its set-up costs more than a small job.
 */
struct engine_thread;

struct engine_thread *engine_thread_new(void);
void engine_thread_free(struct engine_thread *t);

/*
 * Wipes the keys that the thread still has: when one user's jobs end, or when there was none for a while. Where
 * the thread is the one that ran the jobs, also what they left on its stack.
 */
void engine_thread_forget(struct engine_thread *t);

/*
 * Runs a job to its end, all stages, flags included. Thread-safe with another engine_thread.
 *
 * In a chain a digest or checksum stage looks at the data at its place and passes it on: before the first
 * transforming stage it sees the input, behind the last one the output. A job of nothing but digests and
 * checksums has no output. Fill and compare stand alone. in_used is the first transforming stage's.
 *
 * VERIFY decompresses what compress stages have made and compares it with what they were given; other stages
 * are not verified, and a job without a compress stage does not get VERIFIED.
 *
 * The output must not overlap the input (erasure coding looks and answers BAD_PARAM), and nobody may change
 * the input meanwhile: it may be read more than once.
 */
void engine_run(struct engine_thread *t, struct job *job);

/* What engine_run() can do: entries for a table of operations (estimates included). */
unsigned int engine_ops(struct wire_op *ops, unsigned int max);

/*
 * Worst case of output bytes for an operation on in_len bytes; UINT64_MAX if only the data can tell
 * (decompress). For stages behind the first, chain the calls.
 */
uint64_t engine_bound(const struct job_stage *stage, uint64_t in_len);

/*
 * One entry of the table that engine_run() chooses from, in order of preference. The oracle is the last
 * entry of its operation: plain C or another well-kept library. Tests run them against each other.
 */
struct engine_fn {
	uint16_t op, alg;
	const char *name;		/* "isal", "libdeflate", "openssl", "plain", ... */
	/* 0 if this one cannot take the stage (level, window bits, size). */
	int (*takes)(const struct job_stage *stage, uint64_t in_len);
	void (*run)(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		    struct job *job);	/* a job narrowed to this stage */
};

/* The i-th entry of the table; NULL behind the last. */
const struct engine_fn *engine_fn_at(unsigned int i);

/*
 * Runs one entry on a job of one stage, whatever the table prefers, the job's flags included; what a
 * differential test calls. The entry need not be in the table.
 */
void engine_run_fn(struct engine_thread *t, const struct engine_fn *fn, struct job *job);

/*
 * Sequential work on data of any length, in the process: what a stream falls back on where a job's limits
 * do not reach (a foreign gzip member of gigabytes, SHA-256 of a file).
 */
struct engine_stream;

enum engine_stream_state { ENGINE_STREAM_MORE, ENGINE_STREAM_END, ENGINE_STREAM_ERROR };

/* op: DECOMPRESS (any algorithm but LZ4 block), DIGEST, CHECKSUM. NULL with *code set on error. */
struct engine_stream *engine_stream_new(uint16_t op, uint16_t alg, uint64_t arg1, uint32_t *code);
/*
 * Consumes from in (*in_len left unconsumed on return), produces to out (*out_len in: room, out: bytes).
 * END: the format's own end was reached (one member, one frame); the rest of in is not part of it.
 * ERROR: *code says why.
 */
enum engine_stream_state engine_stream_step(struct engine_stream *s, const void *in, size_t *in_len,
					    void *out, size_t *out_len, uint32_t *code);
/* DIGEST, CHECKSUM: the result (up to 64 bytes), its length returned. */
size_t engine_stream_result(struct engine_stream *s, uint8_t *result);
/* DECOMPRESS: ready for the next member. */
void engine_stream_reset(struct engine_stream *s);
void engine_stream_free(struct engine_stream *s);

/* Checksums of a whole from those of its parts. len2: bytes of the second part. */
uint32_t engine_crc32_combine(uint32_t crc1, uint32_t crc2, uint64_t len2);
uint32_t engine_crc32c_combine(uint32_t crc1, uint32_t crc2, uint64_t len2);
uint16_t engine_t10dif_combine(uint16_t crc1, uint16_t crc2, uint64_t len2);
uint64_t engine_crc64nvme_combine(uint64_t crc1, uint64_t crc2, uint64_t len2);
uint32_t engine_adler32_combine(uint32_t a1, uint32_t a2, uint64_t len2);

/* The gzip header (RFC 1952 section 2.3), parsed by our own rules: reserved FLG bits and a wrong FHCRC are
 * errors, FNAME and FCOMMENT end within 1 MiB. */
struct engine_gzip_header {
	size_t nbytes;			/* of the header */
	uint32_t mtime;
	uint8_t flg, xfl, os;
	const uint8_t *extra;		/* into the input; NULL if there is none */
	uint16_t extra_len;
	const char *name, *comment;	/* into the input, NUL-terminated; NULL if there is none */
};

enum engine_gzip_parse { ENGINE_GZIP_OK, ENGINE_GZIP_MORE, ENGINE_GZIP_BAD, ENGINE_GZIP_NOT };

/* MORE: in ends within the header. NOT: no gzip magic. */
enum engine_gzip_parse engine_gzip_header(const void *in, size_t n, struct engine_gzip_header *h);

#endif
