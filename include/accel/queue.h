/* SPDX-License-Identifier: BSD-2-Clause */
/** Work: jobs, queues, and calls that run jobs to their end. */
#ifndef ACCEL_QUEUE_H
#define ACCEL_QUEUE_H

#include <sys/uio.h>
#include <accel/lease.h>
#include <accel/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_queue;

/** Parameters that differ from job to job; borrowed until the result. Those of stage i at index i. */
struct accel_params {
	uint32_t size;
	uint32_t reserved;
	struct {
		const void *iv;			/**< AES-GCM 1..128 bytes, AES-XTS the 16-byte tweak */
		const void *aad;
		const void *tag;		/**< decrypt: the expected tag */
		const uint8_t *lost;		/**< ec_decode: lost indexes, ascending; ec_update: index */
		const uint8_t *survivors;	/**< ec_decode: k indexes, ascending; NULL: first k not lost */
		uint32_t iv_len, aad_len, tag_len, nlost;
	} stage[ACCEL_MAX_STAGES];
};

/**
 * A request. The library copies it at submit; in, out and params stay borrowed until the result. Nobody may
 * unmap them meanwhile, or change the input: an engine in the process may read it twice. An input that others
 * may change, such as memory shared with another process, has to be copied first. Input and output must not
 * overlap. A file's mapping that has no file behind it any more raises SIGBUS where the engine runs, as any
 * access does; a handler of the application's runs there, too.
 */
struct accel_job {
	uint32_t size;
	uint32_t flags;				/**< 0 */
	const struct accel_plan *plan;		/**< sealed */
	const struct iovec *in;
	const struct iovec *out;
	uint32_t nin, nout;			/**< elements, at most 1024 each */
	const struct accel_params *params;	/**< NULL if no stage needs any */
	void *user_data;
	int32_t timeout_ms;			/**< from submit; 0: the queue's default */
	uint32_t reserved;
	uint64_t job_id;			/**< set by accel_queue_submit() */
};

struct accel_queue_opts {
	uint32_t size;
	uint32_t flags;				/**< 0 */
	uint32_t depth;				/**< jobs in flight; 0: the lease's slots. Fixed from then on */
	int32_t timeout_ms;			/**< of jobs that give none; 0: 30000; -1: none */
	uint32_t max_retries;			/**< of retryable ends; 0: 3 */
	uint32_t reserved32;
	uint64_t reserved[4];
};

struct accel_queue_info {
	uint32_t depth;				/**< contract: so many jobs are always accepted */
	uint32_t in_flight;			/**< accepted and not yet reaped */
	uint64_t submitted, completed, retried, fallbacks;
};

/**
 * A queue over a lease (the lease must outlive it). Several queues of one lease share its slots: the sum
 * of their depths cannot exceed them (-ENOSPC). -EINVAL, -ENOMEM, -ESTALE.
 */
ACCEL_API int accel_queue_new(struct accel_lease *lease, const struct accel_queue_opts *opts,
			      struct accel_queue **queue);
ACCEL_API int accel_queue_info(struct accel_queue *queue, struct accel_queue_info *info);
/** Readable when accel_queue_reap() has something to do; owned by the queue. */
ACCEL_API int accel_queue_fd(struct accel_queue *queue);
/**
 * Takes jobs in order; returns how many it accepted, each of which gives exactly one result. -EAGAIN: the
 * queue is full (a job counts until it is reaped); -EINVAL: the first job, or a parameter of it, is malformed
 * (jobs before a malformed one are accepted and counted); -ESTALE: the lease has ended or the queue is from
 * before fork(). What the device cannot take is accepted all the same: by the plan's policy the CPU does it,
 * in accel_queue_reap(), or its result says why not. Until a job has its result, buffers may be in use.
 */
ACCEL_API int accel_queue_submit(struct accel_queue *queue, struct accel_job *jobs, unsigned int n);
/**
 * Collects up to max results, waiting up to timeout_ms until at least min are there; returns how many.
 * Fewer than min: the time was up or nothing is in flight. -EINVAL: min > max. Who wants throughput waits for
 * many at once: waking up for each costs more than a small job. Also does the work of jobs that the CPU runs,
 * and of a device that has no thread of its own ("soft:threads=0").
 */
ACCEL_API int accel_queue_reap(struct accel_queue *queue, struct accel_result *results, unsigned int max,
			       unsigned int min, int timeout_ms);
/** Asks for an early end; the result (ABORTED, or what it ended with before) still comes. -ENOENT. */
ACCEL_API int accel_queue_cancel(struct accel_queue *queue, uint64_t job_id);
/** Waits until nothing is in flight, results staying to be reaped. -ETIMEDOUT. */
ACCEL_API int accel_queue_drain(struct accel_queue *queue, int timeout_ms);
/** Cancels what is in flight, waits for it, frees. NULL is allowed. */
ACCEL_API void accel_queue_free(struct accel_queue *queue);

/**
 * One job, from start to end, with a lease and queue that the device handle keeps for the purpose (an idle
 * one is reused; threads may call at once). 0: see *result for the job's outcome. -EBUSY: no slot in time;
 * -EINVAL: an argument, or the plan is not sealed; -ENOMEM; -ENODEV: the device is gone, and the policy does
 * not let the CPU do it. With ACCEL_PREFER_DEVICE a way to the device that is down is waited for during half of
 * timeout_ms at most (5 s at most for a job that is under way); then the CPU does the job (ACCEL_EXEC_FALLBACK), and
 * calls of the next few seconds do not wait again.
 */
ACCEL_API int accel_run(struct accel_dev *dev, const struct accel_plan *plan, const void *in, size_t in_len,
			void *out, size_t out_max, const struct accel_params *params, int timeout_ms,
			struct accel_result *result);
/** The same with scatter lists. */
ACCEL_API int accel_runv(struct accel_dev *dev, const struct accel_plan *plan, const struct iovec *in,
			 unsigned int nin, const struct iovec *out, unsigned int nout,
			 const struct accel_params *params, int timeout_ms, struct accel_result *result);
/**
 * n jobs at the full depth of the lease; results[i] is the outcome of jobs[i] (job.plan NULL: plan).
 * 0: all have an outcome; -ETIMEDOUT: those without one have status TIMEOUT, and none is in flight.
 * -EBUSY: queues have all slots of the lease; -EINVAL: a job is malformed, and none was started; -ESTALE;
 * -ENOMEM. The lease keeps a queue for the purpose, which gives way to accel_queue_new().
 */
ACCEL_API int accel_run_many(struct accel_lease *lease, const struct accel_plan *plan, struct accel_job *jobs,
			     struct accel_result *results, size_t n, int timeout_ms);

/**
 * Compresses, or decompresses, one piece of memory into another.
 *
 * This and the other calls that do one thing to memory take any number of bytes (work beyond a job's limit
 * is split where the format allows it and done by the CPU where it does not), wait at most timeout_ms for the
 * device, which the CPU replaces when the way to it is down (as in accel_run()), and return 0 or -errno. Several
 * members or frames are decompressed one after the other, and zero bytes behind them are padding.
 * -ENOSPC: out is too small (*out_len then says what would do, 0 if unknown); -EBADMSG: corrupt data, a wrong
 * tag, or something else behind the data; -ENOTSUP: neither device nor CPU can; -EINVAL: an argument, or
 * input and output overlap; -EBUSY: no slot in time; -ETIMEDOUT; -EIO.
 */
ACCEL_API int accel_compress(struct accel_dev *dev, uint16_t alg, unsigned int level, const void *in,
			     size_t in_len, void *out, size_t *out_len, int timeout_ms);
ACCEL_API int accel_decompress(struct accel_dev *dev, uint16_t alg, const void *in, size_t in_len, void *out,
			       size_t *out_len, int timeout_ms);
ACCEL_API int accel_sha256(struct accel_dev *dev, const void *in, size_t in_len, uint8_t digest[32],
			   int timeout_ms);
ACCEL_API int accel_crc32c(struct accel_dev *dev, const void *in, size_t in_len, uint32_t *crc,
			   int timeout_ms);
/** data: k pointers, parity: m pointers, each block_nbytes. */
ACCEL_API int accel_ec_encode(struct accel_dev *dev, unsigned int k, unsigned int m, size_t block_nbytes,
			      const void *const *data, void *const *parity, int timeout_ms);
/** blocks: k + m pointers; those listed in lost (ascending) are written, from any k of the others.
 *  -EINVAL: nlost > m or an index out of range. */
ACCEL_API int accel_ec_decode(struct accel_dev *dev, unsigned int k, unsigned int m, size_t block_nbytes,
			      void *const *blocks, const uint8_t *lost, unsigned int nlost, int timeout_ms);
/** key_len 16 or 32; iv 12 bytes, never twice with one key; tag 16 bytes; out in_len bytes. */
ACCEL_API int accel_aes_gcm_seal(struct accel_dev *dev, const void *key, size_t key_len, const uint8_t iv[12],
				 const void *aad, size_t aad_len, const void *in, size_t in_len, void *out,
				 uint8_t tag[16], int timeout_ms);
ACCEL_API int accel_aes_gcm_open(struct accel_dev *dev, const void *key, size_t key_len, const uint8_t iv[12],
				 const void *aad, size_t aad_len, const void *in, size_t in_len,
				 const uint8_t tag[16], void *out, int timeout_ms);

/**
 * Measures from which input size on the device is faster than the CPU at an operation, one job at a time, for
 * accel_plan_policy(): 0: always; SIZE_MAX: never up to 1 MiB. alg 0: the first of the operation. Takes up to
 * a second or so. -ENOTSUP: the device does not have it, or it cannot be measured; -ETIMEDOUT.
 */
ACCEL_API int accel_calibrate(struct accel_dev *dev, uint16_t op, uint16_t alg, int timeout_ms,
			      size_t *cpu_below);

#ifdef __cplusplus
}
#endif
#endif
