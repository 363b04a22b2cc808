/* SPDX-License-Identifier: BSD-2-Clause */
/** Streams: ordered input and output of any length over a device, in constant memory. */
#ifndef ACCEL_STREAM_H
#define ACCEL_STREAM_H

#include <accel/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_stream;

enum accel_stream_kind {
	ACCEL_STREAM_COMPRESS = 1,
	ACCEL_STREAM_DECOMPRESS = 2,
	ACCEL_STREAM_DIGEST = 8,
	ACCEL_STREAM_CHECKSUM = 9,
};

#define ACCEL_STREAM_BGZF	(1u << 0)	/**< gzip: block gzip (as bgzip writes it) */
#define ACCEL_STREAM_ONE_MEMBER	(1u << 1)	/**< decompress: stop behind the first member or frame */
#define ACCEL_STREAM_DEVICE_ONLY (1u << 2)	/**< fail with -ENOTSUP rather than use the CPU */
#define ACCEL_STREAM_VERIFY	(1u << 3)	/**< compress: each chunk is decompressed and compared */

struct accel_stream_opts {
	uint32_t size;
	uint32_t flags;			/**< ACCEL_STREAM_* */
	uint16_t kind;			/**< enum accel_stream_kind */
	uint16_t alg;
	uint32_t level;			/**< compress */
	uint32_t chunk_nbytes;		/**< input of one job; 0: a good choice for the device */
	uint32_t depth;			/**< jobs in flight; 0: enough to keep the device busy */
	int32_t timeout_ms;		/**< of one job; 0: 30000 */
	uint32_t mtime;			/**< gzip header, unix seconds; 0: none */
	const char *name;		/**< gzip header FNAME; NULL: none */
	uint64_t max_out;		/**< decompress: -EFBIG beyond that many bytes; 0: no limit */
	uint64_t reserved[4];
};

struct accel_stream_info {
	uint64_t in_bytes, out_bytes;
	uint64_t jobs, cpu_jobs;	/**< by the device; by the CPU */
	uint64_t cpu_bytes;		/**< input bytes that the CPU worked on */
	uint32_t executor;		/**< enum accel_executor of most of the bytes */
	uint32_t members;		/**< decompress: members or frames read */
	uint32_t trailing_zeros;	/**< decompress: 1 if zero bytes followed the last member */
	uint32_t trailing_garbage;	/**< decompress: 1 if something else followed; it was ignored */
	uint32_t status;		/**< why the last call failed: enum accel_status */
	uint32_t reserved;
	uint64_t exec_ns;
	const char *error;		/**< a sentence for it; "" if none */
	uint32_t header_mtime;		/**< decompress gzip: of the first member */
	const char *header_name;	/**< decompress gzip: FNAME of the first member, or NULL */
};

/**
 * Opens a stream; it takes a lease of its own for its life. What goes out is one standard file: gzip (one
 * member, or BGZF), zlib, deflate, lz4 frames, zstd frames. -EBUSY, -EINVAL, -ENOTSUP, -ENOMEM.
 * One thread at a time.
 */
ACCEL_API int accel_stream_open(struct accel_dev *dev, const struct accel_stream_opts *opts,
				struct accel_stream **stream);
/**
 * Gives input; returns how many bytes were taken (copied or worked on; the caller's buffer is free
 * again). -EAGAIN: output must be read first. -EBADMSG: corrupt data, -ETIMEDOUT, -EIO, -EFBIG.
 * After an error nothing more can be written, and accel_stream_read() gives what was right before it.
 */
ACCEL_API ssize_t accel_stream_write(struct accel_stream *stream, const void *in, size_t in_len);
/** Takes output, in order; 0: none ready (or, after finish, the end). Never waits unless finished. */
ACCEL_API ssize_t accel_stream_read(struct accel_stream *stream, void *out, size_t max);
/**
 * The input has ended. Afterwards accel_stream_read() waits for jobs and gives the rest until it returns
 * 0. -EBADMSG: the input ended in the middle of a member.
 */
ACCEL_API int accel_stream_finish(struct accel_stream *stream);

/**
 * The same without copies. The next output piece, in order, as long as it is not consumed: *out and its
 * length; 0: none ready. With wait, waits for the oldest job. accel_stream_consume() gives it back.
 */
ACCEL_API ssize_t accel_stream_peek(struct accel_stream *stream, const void **out, int wait);
ACCEL_API void accel_stream_consume(struct accel_stream *stream, size_t n);
/** Room for the next input: *in and its size (0: take output first); accel_stream_commit() says how much of
 *  it was filled. Fill it whole before committing, except at the end. */
ACCEL_API ssize_t accel_stream_room(struct accel_stream *stream, void **in);
ACCEL_API int accel_stream_commit(struct accel_stream *stream, size_t n);

/** DIGEST, CHECKSUM after finish: the result's bytes (accel_result.result form), count returned. */
ACCEL_API int accel_stream_result(struct accel_stream *stream, uint8_t result[ACCEL_RESULT_MAX]);
ACCEL_API int accel_stream_info(const struct accel_stream *stream, struct accel_stream_info *info);
ACCEL_API void accel_stream_close(struct accel_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
