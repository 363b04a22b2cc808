/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the one-line calls share. */
#ifndef ACCEL_API_ONELINE_H
#define ACCEL_API_ONELINE_H

#include "stream_priv.h"

bool api_overlap(const void *a, size_t na, const void *b, size_t nb);
/* Bytes of one job of the device; UINT64_MAX if it does not have the operation. */
void api_limits(struct accel_dev *dev, uint16_t op, uint16_t alg, uint64_t *max_in, uint64_t *max_out);
/* Seals a plan if its stage was taken (err 0). */
int api_plan_done(struct accel_plan *plan, struct accel_dev *dev, int err);

#endif
