/* SPDX-License-Identifier: BSD-2-Clause */
/** NoLoad cards, accelerators of another interface: recognised and described, not used. */
#ifndef ACCEL_NOLOAD_H
#define ACCEL_NOLOAD_H

#include <accel/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCEL_NOLOAD_ENGINES 27
#define ACCEL_NOLOAD_PATH 64

struct accel_noload_date {
	uint16_t year;			/**< 0: not known */
	uint8_t month, day, hour, minute, second;
};

/** What the Identify data of a card says. */
struct accel_noload {
	uint32_t size;
	uint32_t layout;		/**< 4 or 6, from the firmware revision; 0: unknown */
	char path[ACCEL_NOLOAD_PATH];
	char name[49];
	char serial[21], model[41], firmware[9];
	uint8_t has_lock;		/**< 1: status and lock are valid (layout 4) */
	uint32_t version;
	uint32_t status;		/**< bit 0 enabled, 1 ready to be read, 2 to be written, 15:8 code, 16 it is valid */
	uint32_t lock;			/**< lock word; 0: unlocked */
	uint32_t type, features;	/**< layout 6 */
	uint32_t hardware_version;
	struct accel_noload_date hardware_built, firmware_built;
	uint32_t nengine;		/**< layout 6 */
	struct {
		uint32_t status, job_state, handshake;
		uint32_t spec_len;	/**< bytes of spec that are used */
		uint8_t spec[104];
	} engine[ACCEL_NOLOAD_ENGINES];
	uint64_t reserved[8];
};

/**
 * Decodes Identify Controller and Identify Namespace, 4096 bytes each. Pure; every byte is checked. -ENODEV: no such
 * card; -ENOTSUP: one with a firmware revision whose layout is not known (serial, model and firmware are filled);
 * -EPROTO: malformed; -EINVAL: noload->size.
 */
ACCEL_API int accel_noload_decode(const void *ctrl_page, const void *ns_page, struct accel_noload *noload);
/**
 * Asks the card at a node (/dev/nvme0n1) with two Identify commands; the node is opened for reading only. As
 * accel_noload_decode(); -EACCES: the node, or the kernel does not let this user ask; -ENOENT; -ENOTTY: no NVMe node.
 */
ACCEL_API int accel_noload_info(struct accel_ctx *ctx, const char *path, struct accel_noload *noload);
/**
 * Paths of all cards of this system, by their model numbers, at most max; returns how many there are. No card is
 * opened.
 */
ACCEL_API int accel_noload_list(struct accel_ctx *ctx, char (*paths)[ACCEL_NOLOAD_PATH], size_t max);

#ifdef __cplusplus
}
#endif
#endif
