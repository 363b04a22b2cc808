/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the compression family share. */
#ifndef ACCEL_ENGINE_COMPRESS_H
#define ACCEL_ENGINE_COMPRESS_H

#include "priv.h"

/* Bytes that one call of a compressor takes before the job's stop flag is looked at again. */
#define COMP_PIECE		ENGINE_STEP(1u << 20)
#define COMP_MAX_BYTES		((uint64_t)1 << 30)	/* of a job, either side */
#define COMP_LEVELS		10u
#define DEFLATE_STORED_MAX	65535u
#define DEFLATE_STORED_HEAD	5u	/* of a stored block that begins on a byte boundary */

struct comp_thread;

/* The thread's contexts, made if need be; NULL: no memory. */
struct comp_thread *comp_get(struct engine_thread *t);

/* Every allocation of the family goes through here. n bytes aligned for any type; NULL: no memory. */
void *comp_alloc(size_t n);

/* A place to write to that never passes out_max. */
struct sink {
	struct iov_pos pos;
	uint64_t left;
};

static inline struct sink sink_of(const struct job *job)
{
	struct sink s = { { job->out, job->nout, 0 }, job->out_max };

	return s;
}

/* The next contiguous room (at most max bytes); sink_took() says how much of it was used. 0: full. */
size_t sink_room(const struct sink *s, void **p, size_t max);
void sink_took(struct sink *s, size_t n);
/* 0, or -1 if n bytes do not fit (then nothing is written). */
int sink_put(struct sink *s, const void *p, size_t n);

/* Input of a job, at most in_len bytes of it, as a list or (src_next) piece by piece. */
struct src {
	struct iov_pos pos;
	uint64_t left;
};

static inline struct src src_of(const struct job *job)
{
	struct src s = { { job->in, job->nin, 0 }, job->in_len };

	return s;
}

size_t src_next(struct src *s, const void **p, size_t max);

/*
 * Input and output of a job as one contiguous piece each, through scratch memory where they are not.
 * want: the output that can be of use at most. Returns -1 with the job failed for want of memory.
 */
struct flat {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_max;
	int bounced;
};

int flat_open(struct engine_thread *t, unsigned int index, struct job *job, uint64_t want, struct flat *f);

/* Ends of a job. */
void comp_done(struct job *job, uint64_t in_used, uint64_t out_len);
void comp_done_flat(struct job *job, const struct flat *f, uint64_t in_used, uint64_t out_len);
void comp_short(struct job *job, unsigned int index, uint64_t needed, int exact);

uint64_t comp_bound(const struct job_stage *stage, uint64_t in_len);

/* For the deflate formats: whether level, window bits, flags and size are within the interface; the worst case. */
int deflate_takes(const struct job_stage *stage, uint64_t in_len);
int inflate_takes(const struct job_stage *stage, uint64_t in_len);
uint64_t deflate_bound(const struct job_stage *stage, uint64_t in_len);

/* Wrappers around raw deflate: nothing, zlib (RFC 1950), gzip (RFC 1952). */
#define WRAP_HEAD_MAX	10u
#define WRAP_TAIL_MAX	8u

size_t wrap_head(const struct job_stage *stage, uint8_t head[WRAP_HEAD_MAX]);
size_t wrap_tail(uint16_t alg, uint32_t check, uint64_t total, uint8_t tail[WRAP_TAIL_MAX]);
size_t wrap_head_len(uint16_t alg);
size_t wrap_tail_len(uint16_t alg);
/* The check value of an algorithm: how it begins, and how it goes on over n bytes. */
uint32_t wrap_check_init(uint16_t alg);
uint32_t wrap_check(uint16_t alg, uint32_t check, const void *p, size_t n);
/* Over the first n bytes of a list. */
uint32_t wrap_check_list(uint16_t alg, const struct base_iov *iov, unsigned int niov, uint64_t n);
/* Whether the tail agrees with what was decompressed. */
int wrap_tail_good(uint16_t alg, const uint8_t *tail, uint32_t check, uint64_t total);
/* The two bytes of a zlib header are one that we take: deflate, no dictionary. */
int zlib_header_good(const uint8_t head[2]);

/* A gzip header byte by byte, however it arrives; engine_gzip_header() is this over one piece. */
struct gzip_parser {
	uint64_t pos;		/* bytes taken so far */
	uint32_t count;		/* bytes of the present field so far */
	uint32_t crc;		/* of all bytes so far, if FHCRC asks for it */
	uint32_t mtime;
	uint16_t want;		/* FHCRC or XLEN as it arrives */
	uint16_t extra_len;
	uint64_t extra_off, name_off, comment_off;
	uint8_t state, flg, xfl, os;
};

void gzip_parser_init(struct gzip_parser *p);
/* Takes bytes (how many: *used) until the header ends, is wrong, or the bytes do. */
enum engine_gzip_parse gzip_parser_feed(struct gzip_parser *p, const uint8_t *in, size_t n, size_t *used);

/*
 * Walks a raw deflate stream without producing its output. chunk: the stream may also end, on a byte
 * boundary between blocks, where the input does. Returns 0, -1 if the stream is wrong or cut.
 */
struct skim {
	uint64_t last_bit;	/* where the header of the last block begins */
	uint64_t end_bit;	/* behind the last block */
	uint64_t out_len;
	int final;		/* the last block says that it is */
};

#define SKIM_WORK_NBYTES 8192u	/* of work memory, aligned for any type */
int deflate_skim(void *work, const uint8_t *in, size_t n, int chunk, struct skim *s);

/* The stored form of a raw deflate stream. */
uint64_t deflate_stored_len(uint64_t in_len, int chunk);

/* Compressors make raw deflate into a sink; deflate_run() does all else: wrappers, chunks, what does not fit. */
enum raw_state { RAW_OK, RAW_SHORT, RAW_STOPPED, RAW_NO_MEMORY, RAW_FAULT };

struct raw {
	struct engine_thread *t;
	struct comp_thread *c;
	const struct job_stage *stage;
	struct job *job;
	struct sink sink;
	int chunk;
};

typedef enum raw_state (*raw_fn)(struct raw *r);

void deflate_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		 raw_fn fn);
enum raw_state raw_stored(struct raw *r);

/*
 * A decoder that takes pieces of any size. *in_len: bytes there are, on return bytes taken; *out_len: room,
 * on return bytes made. END: its own end was reached, and no byte behind it was taken.
 */
enum dec_state { DEC_MORE, DEC_END, DEC_BAD, DEC_FULL, DEC_STOPPED, DEC_NO_MEMORY };
typedef enum dec_state (*dec_step)(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out,
				   size_t *out_len);

struct dec_run {
	struct src src;
	struct sink sink;
	uint64_t used;		/* input bytes taken */
	uint64_t made;		/* output bytes written */
	uint16_t check_alg;	/* deflate (no check), zlib or gzip */
	uint32_t check;
};

/*
 * Decodes src to sink. MORE: the input ended first (it is cut); FULL: there is more output than room,
 * proven by a byte of it; STOPPED: the job's stop flag.
 */
enum dec_state dec_run(const struct job *job, struct dec_run *r, dec_step step, void *ctx);
/* Fails the job for the reasons that all decoders share (all but END and FULL). */
void dec_fail(struct job *job, unsigned int index, enum dec_state state);
/* Whether the end at in_used is one that the stage allows; else fails the job. */
int dec_end_good(const struct job_stage *stage, unsigned int index, struct job *job, uint64_t in_used);

/* Where the raw data of a job begins, and how much of the input is not trailer. */
struct body {
	uint64_t head;
	uint64_t len;		/* behind the header, trailer and whatever follows included */
};

/* Finds the body; -1 with the job failed if there is none. */
int body_find(const struct job_stage *stage, unsigned int index, struct job *job, struct body *b);
/* A chunk without a final block ends with an empty stored one; whether the input's last bytes are such. */
int ends_as_chunk(const struct job *job);
/* raw: bytes of raw deflate that were used. Checks the trailer and what follows it, and ends the job. */
void inflate_finish(const struct job_stage *stage, unsigned int index, struct job *job, const struct body *b,
		    uint64_t raw, uint32_t check, uint64_t made);
/* The output does not fit: finds out whether the input is good and how much it would make. */
void inflate_short(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
		   const struct body *b);
/* A decoder's run: how it begins and how it ends the job. between: the input ended between two blocks. */
void inflate_run_init(struct dec_run *r, const struct job_stage *stage, const struct job *job, const struct body *b);
void inflate_run_finish(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job,
			const struct body *b, const struct dec_run *r, enum dec_state state, int between);

enum dec_state isal_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len);
enum dec_state lz4f_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len);
enum dec_state zstd_step(void *ctx, const uint8_t *in, size_t *in_len, uint8_t *out, size_t *out_len);

#define COMP_RUN(name) void name(struct engine_thread *t, const struct job_stage *stage, \
				 unsigned int index, struct job *job)
COMP_RUN(deflate_plain);
COMP_RUN(deflate_isal);
COMP_RUN(deflate_libdeflate);
COMP_RUN(deflate_zlib);
COMP_RUN(inflate_libdeflate);
COMP_RUN(inflate_isal);
COMP_RUN(inflate_zlib);
COMP_RUN(lz4_compress);
COMP_RUN(lz4_decompress);
COMP_RUN(lz4_decompress_plain);
COMP_RUN(lz4f_compress);
COMP_RUN(lz4f_decompress);
COMP_RUN(zstd_compress);
COMP_RUN(zstd_decompress);

void deflate_free(struct comp_thread *c);
void inflate_free(struct comp_thread *c);
/*
 * A block of n bytes decoded to at most max bytes (out NULL: only counted). Negative: it is wrong or does not
 * fit. Two faults liblz4 lets pass, and looking for them would cost as much as decoding: NO_DISTANCE, a
 * match of distance 0 (it leaves what it finds in the output), and BAD_END, a last match too near the end
 * (where there is more room than output).
 */
#define LZ4_PLAIN_NO_DISTANCE	(-2)
#define LZ4_PLAIN_BAD_END	(-3)
int64_t lz4_plain(const uint8_t *in, size_t n, uint8_t *out, uint64_t max);

void lz4_free(struct comp_thread *c);
void zstd_free(struct comp_thread *c);
uint64_t lz4_bound(uint64_t in_len);
uint64_t lz4f_bound(uint64_t in_len);
uint64_t zstd_bound(uint64_t in_len);

#endif
