/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about devices share. */
#ifndef ACCEL_API_DEV_PRIV_H
#define ACCEL_API_DEV_PRIV_H

#include "api.h"

/* Log page C1h, 4096 bytes, no byte of it trusted. -ENOTSUP: another vendor's; -EPROTO. Pure. */
int target_stats_decode(const void *page, struct accel_target_stats *stats);

#endif
