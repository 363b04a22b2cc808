/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of streams share.
 *
 * Input lies in one ring, output in another; every piece of them is contiguous and goes to a job without a
 * copy. (Chunks fill a ring evenly, and output that would not fit before the end of the ring begins at its
 * base; input that is cut where its content says so needs a mirrored ring.) A stream cuts the input into
 * pieces and keeps them in order: a piece is a job and the output it was given room for, or a few bytes of
 * the format itself (header, trailer). The output of pieces is read in order; input and output are freed
 * in order. Positions count from the start of the stream and never wrap.
 */
#ifndef ACCEL_API_STREAM_PRIV_H
#define ACCEL_API_STREAM_PRIV_H

#include <errno.h>
#include "api.h"

#define STREAM_CHUNK (1u << 20)		/* input of one job of a compression, by default */
#define STREAM_CHUNK_MAX (4u << 20)	/* memory stays constant: a chunk cannot be larger */
#define STREAM_RING_MAX (20u << 20)	/* bytes of one ring */
#define STREAM_WINDOW 32768u		/* of deflate */
#define STREAM_TRIES 3			/* of a job whose lease ended under it */
#define STREAM_RETRIES 3u		/* of a job whose way to the device failed */

struct ring {
	uint8_t *base, *map;
	size_t size, map_len;
	bool mirrored;
	uint64_t head, tail;		/* what is in use */
	uint64_t zero;			/* position that lies at base */
};

enum piece_state {
	PIECE_PENDING,			/* a job that is to be submitted */
	PIECE_RUNNING,
	PIECE_ENDED,			/* the job has a result that nobody has looked at */
	PIECE_READY,			/* may be read */
};

enum piece_kind {
	PIECE_BYTES,			/* of the format, or made in the process */
	PIECE_CHUNK,			/* input of a chunk, or one chunk of a member of ours */
	PIECE_MEMBER,			/* a whole member or frame */
};

struct piece {
	uint8_t state, kind;
	uint8_t tries;
	uint64_t in_pos, out_pos;	/* out_pos: of the room, its size is out_cap */
	size_t in_len, out_cap;
	size_t lead;			/* bytes of the room before the job's output */
	size_t out_len, out_done;	/* bytes to read, and read already, from the room's start */
	uint64_t job_id;
	struct iovec in, out;		/* what the job borrows */
	struct accel_result result;
};

struct stream_ops {
	/*
	 * Turns input into pieces, as far as input and room allow. 1: did something; 0: can do nothing now;
	 * -errno: the stream has failed at this place (only when all pieces are settled).
	 */
	int (*feed)(struct accel_stream *s);
	/*
	 * The oldest unsettled piece has a result (of any status). 1: settled, its state is READY (or it is
	 * gone); 0: needs more input to tell; -errno: the stream has failed there.
	 */
	int (*ended)(struct accel_stream *s, struct piece *p);
	void (*close)(struct accel_stream *s);
};

struct accel_stream {
	struct accel_dev *dev;
	struct accel_lease *lease;
	struct accel_queue *queue;
	struct accel_plan *plan;	/* of PIECE_CHUNK */
	struct accel_plan *member_plan;	/* of PIECE_MEMBER */
	const struct stream_ops *ops;
	void *priv;			/* of ops */
	uint16_t kind, alg;
	uint32_t flags, level, depth, mtime;
	int timeout_ms;
	size_t chunk, chunk_out;	/* input of a job; its worst output */
	uint64_t max_out;
	char *name;

	struct ring in, out;
	uint64_t pos;			/* input up to here is cut into pieces or done with */
	size_t room_max;		/* input that is asked for at once */
	bool one_by_one;		/* and not before what there is has been worked on */
	bool finished;			/* no more input will come */
	bool ended;			/* no more output will come behind the pieces */
	struct piece *piece;		/* ring of npiece, count of them in use from first on */
	unsigned int npiece, first, count, settled, running;
	bool own_lease;			/* else it is accel_dev_lock()'s */
	bool lost;			/* the lease has ended: a new one once nothing runs */
	bool no_device;			/* and no new one was to be had: the CPU does the rest */

	int err;
	uint32_t status;
	char error[160];

	/* Counters for accel_stream_info(). */
	uint64_t in_done, out_total, jobs, cpu_jobs, cpu_bytes, exec_ns;
	uint64_t by_executor[ACCEL_EXEC_FALLBACK + 1];
	uint32_t members, trailing_zeros, trailing_garbage, header_mtime;
	char *header_name;
};

/* ---- stream_ring.c ---- */
int ring_init(struct ring *r, size_t nbytes, bool mirrored);
void ring_fini(struct ring *r);
static inline size_t ring_used(const struct ring *r)
{
	return (size_t)(r->tail - r->head);
}
static inline size_t ring_room(const struct ring *r)
{
	return r->size - ring_used(r);
}
static inline uint8_t *ring_at(const struct ring *r, uint64_t pos)
{
	return r->base + (size_t)((pos - r->zero) % r->size);
}
/* What is contiguous from pos on. */
static inline size_t ring_linear(const struct ring *r, uint64_t pos)
{
	return r->mirrored ? r->size : r->size - (size_t)((pos - r->zero) % r->size);
}
/* Bytes to leave out so that n bytes from the tail on are contiguous. */
static inline size_t ring_skip(const struct ring *r, size_t n)
{
	size_t linear = ring_linear(r, r->tail);

	return n > linear ? linear : 0;
}
/* Nothing is in use: the next byte lies at the base again, where memory is warm. */
void ring_rewind(struct ring *r);

/* ---- stream.c ---- */
/* Keeps status and sentence; returns err. */
int stream_fail(struct accel_stream *s, int err, uint32_t status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* No more output comes behind the pieces; further input is taken and dropped. */
void stream_end(struct accel_stream *s);
/* The rings and the pieces. mirrored: the input is not cut at even places. */
int stream_memory(struct accel_stream *s, size_t in_nbytes, bool mirrored, size_t out_nbytes,
		  unsigned int npiece);
/* What a job's status means for a call. */
int status_errno(uint32_t status);
/* Fails with the outcome of a job. */
int stream_fail_result(struct accel_stream *s, const struct accel_result *r);

static inline size_t stream_avail(const struct accel_stream *s)
{
	return (size_t)(s->in.tail - s->pos);
}

/* ---- stream_piece.c: pieces, and the queue that works on them ---- */
static inline struct piece *piece_at(const struct accel_stream *s, unsigned int i)
{
	return &s->piece[(s->first + i) % s->npiece];
}
static inline bool all_settled(const struct accel_stream *s)
{
	return s->settled == s->count;
}
/* Whether a piece with so much output can be added. */
bool piece_fits(const struct accel_stream *s, size_t out_cap);
/* A job over in_len bytes from s->pos, which moves on; the output begins lead bytes into the room, and tail
 * bytes are kept free behind it. Only if piece_fits(lead + out_max + tail). */
struct piece *piece_job(struct accel_stream *s, enum piece_kind kind, size_t in_len, size_t lead, size_t out_max,
			size_t tail);
/* Room for bytes that the caller makes itself, at most cap; ready with as many as piece_ready() says. */
struct piece *piece_bytes(struct accel_stream *s, size_t cap);
void piece_ready(struct accel_stream *s, struct piece *p, size_t out_len);
/* A piece that has come to its turn: counted, its input freed. */
void piece_settle(struct accel_stream *s);
/* Ends and forgets all unsettled pieces, and goes back to the input of the oldest; 0 or -ETIMEDOUT. */
int piece_rollback(struct accel_stream *s);
/* The first ready piece has been read to its end. */
void piece_pop(struct accel_stream *s);
/* Gives pending jobs to the queue and takes results from it; with wait, at least one if any job runs. */
int piece_poll(struct accel_stream *s, bool wait);
/* A lease for a call that takes a device: accel_dev_lock()'s, or one of our own. */
int lease_for(struct accel_dev *dev, uint32_t slots, int timeout_ms, int path_ms,
	      struct accel_lease **lease, bool *own);
void lease_done(struct accel_lease *lease, bool own);
/* Takes a lease and makes the queue. */
int stream_lease(struct accel_stream *s);
void stream_unlease(struct accel_stream *s);

/* ---- stream_compress.c, stream_decompress.c, stream_sum.c: set ops, plans, sizes ---- */
int stream_open_compress(struct accel_stream *s);
int stream_open_decompress(struct accel_stream *s);
int stream_open_sum(struct accel_stream *s);
int stream_sum_result(struct accel_stream *s, uint8_t *result);
/* A checksum of bytes here and now, in the process. */
int stream_sum_step(struct engine_stream *es, const void *p, size_t n, uint32_t *code);
int stream_sum_bytes(uint16_t alg, const void *p, size_t n, uint64_t *value);

/* ---- stream_gzip.c: headers and trailers ---- */
#define GZIP_TRAILER 8u
#define BGZF_HEADER 18u
#define BGZF_CHUNK 65280u		/* what bgzip takes */
size_t gzip_header_size(const struct accel_stream *s);
/* Header of a member of ours, chunk size in it. */
void gzip_put_header(const struct accel_stream *s, uint8_t *p);
void gzip_put_trailer(uint8_t *p, uint32_t crc, uint64_t len);
/* Around a raw deflate stream of nbytes: p has BGZF_HEADER bytes before it. */
void bgzf_put_header(uint8_t *p, size_t nbytes);
extern const uint8_t bgzf_eof[28];
/* What the extra field says: bytes of the whole member if it is BGZF, of a chunk if it is ours, else 0. */
size_t gzip_extra_bgzf(const struct engine_gzip_header *h);
size_t gzip_extra_chunk(const struct engine_gzip_header *h);

#endif
