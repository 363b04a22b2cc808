/* SPDX-License-Identifier: BSD-2-Clause */
/** Leases: the right to slots of an accelerator, and the lock on a whole one. */
#ifndef ACCEL_LEASE_H
#define ACCEL_LEASE_H

#include <accel/dev.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_lease;

#define ACCEL_LEASE_EXCLUSIVE	(1u << 0)	/**< all slots; nobody else's lease beside it */
#define ACCEL_LEASE_PREEMPTIBLE	(1u << 1)	/**< an exclusive claim may end it */

struct accel_lease_opts {
	uint32_t size;
	uint32_t flags;
	uint32_t slots_wanted;		/**< 0: 16 */
	uint32_t slots_min;		/**< 0: 1 */
	uint32_t duration_ms;		/**< until it ends without activity; 0: 10000 */
	uint32_t pad;
	const char *label;		/**< at most 32 bytes, for `accel lease list`; NULL: program and pid */
	uint64_t reserved[4];
};

struct accel_lease_info {
	uint32_t index, epoch;
	uint8_t state;			/**< 0 free, 1 held, 2 draining */
	uint8_t mine;			/**< held by this process through this library instance */
	uint16_t flags;
	uint32_t nslot;
	uint32_t remaining_ms, duration_ms;
	uint8_t claim_id[8];
	uint8_t hostid[16];
	char label[33];
};

/**
 * Claims slots, waiting up to timeout_ms for them. The device alone grants them, by whatever path it is reached. A node
 * (/dev/nvmeXnY, /dev/ngXnY) is locked by flock() as well as long as leases are held by it, LOCK_EX for an exclusive
 * one, which keeps udev and others who look at disks away. -EBUSY: not to be had in that time, or somebody without
 * a lease has locked the node (in that time and at least a second); -ENOMEM: here, or the
 * device has no memory for its slots; -EINVAL: opts, more slots_min than the device has slots, or a duration
 * outside the device's range; -ENODEV: the device is gone; -ENOTSUP: no leases.
 * The lease renews itself by the jobs of its queues and by accel_queue_reap(); a holder that does neither
 * calls accel_lease_renew() within duration_ms.
 */
ACCEL_API int accel_lease_acquire(struct accel_dev *dev, const struct accel_lease_opts *opts, int timeout_ms,
				  struct accel_lease **lease);
/**
 * Makes it last for its duration from now on. -ESTALE: it has ended: expired, broken, reset, this host shut out, or
 * the device could not be reached for the whole duration. Other errors: the way to the device is broken for now;
 * call again before the duration since the last success is over. Waits no longer than until then (a second at least).
 */
ACCEL_API int accel_lease_renew(struct accel_lease *lease);
/** As the device has it now. -ESTALE: it has ended. */
ACCEL_API int accel_lease_info(struct accel_lease *lease, struct accel_lease_info *info);
/** Ends it; jobs in flight end with LEASE_LOST. Its queues stay to be freed. NULL is allowed. */
ACCEL_API void accel_lease_release(struct accel_lease *lease);
/** Records that are not free, at most max; returns how many there are. */
ACCEL_API int accel_lease_list(struct accel_dev *dev, struct accel_lease_info *infos, size_t max);
/** Ends somebody's lease, named by index and epoch as listed. -ESTALE: that one has ended already. */
ACCEL_API int accel_lease_break(struct accel_dev *dev, uint32_t index, uint32_t epoch);

/**
 * An exclusive lease on the whole accelerator, held by the device handle until accel_dev_unlock() or until
 * it is closed; calls that take a device use it. It waits up to timeout_ms and ends preemptible leases.
 * The lock lasts 60 s (less where the device allows less) beyond the last job or the last accel_dev_lock()
 * of its holder: who holds it idle for long calls that again. -EBUSY; -EALREADY: this handle has the lock,
 * now renewed; -EPERM (unlock): it has not; -ESTALE (unlock): it had ended before (expired, broken, reset).
 */
ACCEL_API int accel_dev_lock(struct accel_dev *dev, int timeout_ms);
ACCEL_API int accel_dev_unlock(struct accel_dev *dev);

#ifdef __cplusplus
}
#endif
#endif
