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
	uint32_t chunk_nbytes;		/**< compress, checksum: input of one job, 4096 bytes to 4 MiB; made
					 *   smaller if the device takes less; 0: 1 MiB */
	uint32_t depth;			/**< jobs in flight, at most 64; 0: enough to keep the device busy */
	int32_t timeout_ms;		/**< of one job; 0: 30000 */
	uint32_t mtime;			/**< gzip header, unix seconds; 0: none */
	const char *name;		/**< gzip header FNAME, at most 4096 bytes; copied; NULL: none */
	uint64_t max_out;		/**< decompress: -EFBIG beyond that many bytes; 0: no limit */
	uint64_t reserved[4];
};

struct accel_stream_info {
	uint64_t in_bytes;		/**< input worked on; what is ignored behind the last member (with
					 *   ONE_MEMBER: the first) does not count */
	uint64_t out_bytes;
	uint64_t jobs, cpu_jobs;	/**< by the device; by the CPU */
	uint64_t cpu_bytes;		/**< input bytes that the CPU of this process worked on */
	uint32_t executor;		/**< enum accel_executor of most of the bytes; SOFTWARE is the device's
					 *   own, or with cpu_bytes the process's where no job was possible */
	uint32_t members;		/**< decompress: members or frames read */
	uint32_t trailing_zeros;	/**< decompress: 1 if zero bytes followed the last member */
	uint32_t trailing_garbage;	/**< decompress: 1 if something else followed; it was ignored */
	uint32_t status;		/**< why the last call failed: enum accel_status */
	uint32_t reserved;
	uint64_t exec_ns;
	const char *error;		/**< a sentence for it; "" if none; the stream's */
	uint32_t header_mtime;		/**< decompress gzip: of the first member */
	const char *header_name;	/**< decompress gzip: FNAME of the first member, or NULL; the stream's */
};

/**
 * Opens a stream; it takes a lease of its own for its life (or uses that of accel_dev_lock()), and a new one
 * should the lease end. What goes out is one standard file: gzip (one member, or BGZF), zlib, deflate, LZ4
 * frames, zstd frames; see Documentation/stream-format.rst. A stream needs less than 48 MiB, whatever its
 * length. One thread at a time. Waits up to timeout_ms for the lease.
 * A device that goes away is replaced with the CPU, unless ACCEL_STREAM_DEVICE_ONLY: accel_stream_info() tells.
 * -EBUSY: no lease; -EINVAL: opts; -ENOTSUP: the device lacks it, -ENODEV: it is gone, and
 * ACCEL_STREAM_DEVICE_ONLY; -ENOMEM.
 */
ACCEL_API int accel_stream_open(struct accel_dev *dev, const struct accel_stream_opts *opts,
				struct accel_stream **stream);
/**
 * Gives input; returns how many bytes were taken (copied or worked on; the caller's buffer is free
 * again). Waits for the oldest job if there is neither room nor output.
 * -EAGAIN: there is output, which must be read first. -EBADMSG: corrupt data; -ETIMEDOUT; -EIO; -EFBIG;
 * -ENOTCONN, -ENODEV: the way to the device was lost and is not back in time.
 * After an error nothing more can be written, and accel_stream_read() gives what was right before it. Input
 * behind the last member is taken and ignored.
 */
ACCEL_API ssize_t accel_stream_write(struct accel_stream *stream, const void *in, size_t in_len);
/** Takes output, in order; 0: none ready (or, after finish, the end). Never waits unless finished. Once all
 *  that is right has been taken, the error of the stream if it has one. */
ACCEL_API ssize_t accel_stream_read(struct accel_stream *stream, void *out, size_t max);
/**
 * The input has ended. Afterwards accel_stream_read() waits for jobs and gives the rest until it returns
 * 0 or an error. An error that is known already is returned here, too; -EBADMSG: the input ended in the
 * middle of a member, or is no such data.
 */
ACCEL_API int accel_stream_finish(struct accel_stream *stream);

/**
 * The same without copies. The next output piece, in order, as long as it is not consumed: *out and its
 * length; 0: none ready. With wait, waits for the oldest job: 0 then means that input is needed or, after
 * finish, the end. An error comes when all right output has been consumed. accel_stream_consume() gives
 * back the first n bytes.
 */
ACCEL_API ssize_t accel_stream_peek(struct accel_stream *stream, const void **out, int wait);
ACCEL_API void accel_stream_consume(struct accel_stream *stream, size_t n);
/** Room for the next input: *in and its size (0: take output first, with wait);
 *  accel_stream_commit() says how much of it was filled. It may be filled in parts, which costs speed. */
ACCEL_API ssize_t accel_stream_room(struct accel_stream *stream, void **in);
ACCEL_API int accel_stream_commit(struct accel_stream *stream, size_t n);

/** DIGEST, CHECKSUM after finish: waits; the result's bytes (accel_result.result form), count returned. */
ACCEL_API int accel_stream_result(struct accel_stream *stream, uint8_t result[ACCEL_RESULT_MAX]);
ACCEL_API int accel_stream_info(const struct accel_stream *stream, struct accel_stream_info *info);
/** At any time; jobs in flight are cancelled and waited for. NULL is allowed. */
ACCEL_API void accel_stream_close(struct accel_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
