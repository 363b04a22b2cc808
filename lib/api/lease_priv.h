/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about leases share. */
#ifndef ACCEL_API_LEASE_PRIV_H
#define ACCEL_API_LEASE_PRIV_H

#include "api.h"

#define LEASE_IO_MS 10000		/* for one read or write of a lease page */

int lease_page_read(struct accel_dev *dev, uint32_t index, struct wire_lease *page, int timeout_ms);
int lease_page_write(struct accel_dev *dev, uint32_t index, const struct wire_claim *claim, int timeout_ms);
/* A CLAIM by the caller's options (NULL: defaults), with fresh id and nonce. -EINVAL, -EIO. */
int lease_claim_fill(struct accel_dev *dev, const struct accel_lease_opts *opts, struct wire_claim *claim);
void lease_info_fill(struct accel_dev *dev, uint32_t index, const struct wire_lease *page,
		     struct accel_lease_info *info);

#endif
