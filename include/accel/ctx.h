/* SPDX-License-Identifier: BSD-2-Clause */
/** The library instance. */
#ifndef ACCEL_CTX_H
#define ACCEL_CTX_H

#include <accel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_ctx;

enum accel_log_level { ACCEL_LOG_ERROR, ACCEL_LOG_WARNING, ACCEL_LOG_INFO, ACCEL_LOG_DEBUG };

typedef void (*accel_log_fn)(void *arg, enum accel_log_level level, const char *message);

/** Options of an instance; all zero is the default. */
struct accel_ctx_opts {
	uint32_t size;
	uint32_t flags;			/**< ACCEL_CTX_* */
	const char *soft;		/**< options of "soft:" in scans, such as "threads=2"; NULL: none */
	const char *discover;		/**< "HOST[:PORT]" of a discovery controller, whose accelerators scans show,
					 *   too; NULL: none */
	const char *root;		/**< directory that has the sys and dev to look for nodes in; NULL: "/" */
	uint64_t reserved[4];
};

#define ACCEL_CTX_NO_SOFT (1u << 0)	/**< scans do not show the software accelerator */
#define ACCEL_CTX_NO_NODES (1u << 1)	/**< nor the nodes of the inbox driver */

/**
 * Makes an instance. opts may be NULL. The caller owns one reference.
 * -ENOMEM; -EINVAL: opts->size, an unknown flag or a reserved field.
 * Different instances share nothing; one may be used by any number of threads.
 */
ACCEL_API int accel_ctx_new(const struct accel_ctx_opts *opts, struct accel_ctx **ctx);
ACCEL_API struct accel_ctx *accel_ctx_ref(struct accel_ctx *ctx);
/** Drops a reference; NULL is allowed. Devices, plans and queues hold references of their own. */
ACCEL_API void accel_ctx_unref(struct accel_ctx *ctx);
/** Where messages go (nowhere at first) and down to which level. fn may run in any thread. */
ACCEL_API void accel_ctx_set_log(struct accel_ctx *ctx, accel_log_fn fn, void *arg,
				 enum accel_log_level level);
/**
 * The Host NQN by which targets know this host, unless a device's name says another one: of /etc/nvme/hostnqn, else
 * made from /etc/nvme/hostid or /etc/machine-id; without any of these it is another one in each instance. It lives as
 * long as the instance. NULL: ctx is NULL.
 */
ACCEL_API const char *accel_ctx_host_nqn(const struct accel_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
