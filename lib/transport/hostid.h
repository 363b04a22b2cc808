/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ACCEL_TRANSPORT_HOSTID_H
#define ACCEL_TRANSPORT_HOSTID_H

#include <stdbool.h>
#include <stdint.h>
#include "../nvmetcp/nvme.h"

/*
 * Host NQN and Host ID from the files under etc ("/etc"); never fails. NULL, or the name under etc of a file that is
 * there and holds no such thing.
 */
const char *hostid_read(const char *etc, char nqn[NVME_NQN_MAX + 1], uint8_t id[16]);

#endif
