/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of plans share. */
#ifndef ACCEL_API_PLAN_PRIV_H
#define ACCEL_API_PLAN_PRIV_H

#include <errno.h>
#include "api.h"

/* Keeps the sentence for accel_plan_error(); returns err. */
int plan_fail(struct accel_plan *plan, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What every call that changes a plan checks; on success the error of the call before is forgotten. */
int plan_open(struct accel_plan *plan);

#endif
