/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * libaccel: NVMe accelerators as ordinary devices.
 *
 * This header brings in all others, one a noun. Conventions that hold for every call:
 *  - A call returns 0 or a count, or a negative errno. What became of a job is never in a return value:
 *    it is in struct accel_result.
 *  - Whatever may wait takes timeout_ms: -1 waits for ever, 0 does not wait.
 *  - Public structs that a caller fills begin with their size; fields that are not named are zero
 *    (-EINVAL otherwise). ACCEL_INIT(type) gives one ready to fill.
 *  - Handles that were made before fork() answer -ESTALE in the child, except to free, unref and close.
 *  - The library never prints, never exits and has no global state.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <accel/status.h>
#include <accel/ctx.h>
#include <accel/dev.h>
#include <accel/noload.h>
#include <accel/lease.h>
#include <accel/plan.h>
#include <accel/queue.h>
#include <accel/stream.h>
#include <accel/buf.h>
#include <accel/p2p.h>
#include <accel/raw.h>

#endif
