// SPDX-License-Identifier: BSD-2-Clause
/* Words for numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "api.h"

#define STR2(x) #x
#define STR(x) STR2(x)

const char *accel_version(void)
{
	return STR(ACCEL_VERSION_MAJOR) "." STR(ACCEL_VERSION_MINOR) "." STR(ACCEL_VERSION_PATCH);
}

static const struct {
	int err;
	const char *text;
} errors[] = {
	{ 0, "success" },
	{ EINVAL, "an argument is malformed or out of range" },
	{ ENOMEM, "out of memory" },
	{ ENODEV, "no accelerator matches, or the device is gone" },
	{ ENOENT, "nothing has that name" },
	{ EACCES, "permission denied" },
	{ EPERM, "not the holder of the lock" },
	{ EPROTO, "the device's identity or answer is malformed" },
	{ ENOTSUP, "not supported by the device, transport or policy" },
	{ EBUSY, "in use: no slot, lease or lock could be had in time" },
	{ EALREADY, "this handle has the lock already" },
	{ EAGAIN, "nothing can be taken now; try again later" },
	{ ENOSPC, "too little room: the output buffer, or the lease's slots" },
	{ ESTALE, "the lease has ended, or the handle is from before fork()" },
	{ ETIMEDOUT, "the time was up" },
	{ EBADMSG, "corrupt data, or a wrong authentication tag" },
	{ EIO, "the path to the device failed" },
	{ E2BIG, "too many stages or too long a parameter" },
	{ ERANGE, "no such entry" },
	{ EFBIG, "the output would exceed the limit that was set" },
	{ EMSGSIZE, "larger than the device takes" },
	{ ENOTBLK, "not a block device" },
	{ ENOTTY, "not a node of the NVMe driver" },
	{ EROFS, "read-only" },
	{ ENOTCONN, "its controller is not connected" },
	{ EADDRNOTAVAIL, "the kernel gives slots of controller memory, not pointers: use accel_copy_range()" },
	{ EREMOTEIO, "not possible from device to device" },
	{ ENODATA, "the source ends before" },
};

const char *accel_strerror(int err)
{
	const char *text;
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].err == (err < 0 ? -err : err))
			return errors[i].text;
	text = strerrordesc_np(err < 0 ? -err : err);
	return text ? text : "unknown error";
}

static const char *const statuses[] = {
	[ACCEL_ST_OK] = "success",
	[ACCEL_ST_BAD_DESC] = "the job descriptor is malformed",
	[ACCEL_ST_UNSUPPORTED_OP] = "the device does not have this operation",
	[ACCEL_ST_BAD_PARAM] = "a parameter is out of range",
	[ACCEL_ST_BAD_OBJECT] = "no such object on the device",
	[ACCEL_ST_SHORT_WRITE] = "the job's write was cut",
	[ACCEL_ST_DATA_MISSING] = "a part of the input did not arrive",
	[ACCEL_ST_IN_CRC_ERROR] = "the input arrived damaged",
	[ACCEL_ST_OUTPUT_SHORT] = "the output does not fit",
	[ACCEL_ST_BAD_INPUT_DATA] = "the input is corrupt, truncated or of another format",
	[ACCEL_ST_AUTH_FAILED] = "authentication failed",
	[ACCEL_ST_VERIFY_FAILED] = "the result did not stand its verification",
	[ACCEL_ST_NOT_INVERTIBLE] = "these losses cannot be recovered",
	[ACCEL_ST_PROGRAM_FAULT] = "the program faulted",
	[ACCEL_ST_PROGRAM_LIMIT] = "the program exceeded its limit",
	[ACCEL_ST_PROGRAM_REJECTED] = "the program was rejected",
	[ACCEL_ST_STREAM_ERROR] = "a piece of a stream is out of order",
	[ACCEL_ST_SEQ_GAP] = "a job is out of sequence",
	[ACCEL_ST_BUSY] = "the slot or device is busy",
	[ACCEL_ST_NO_RESOURCES] = "the device is out of resources",
	[ACCEL_ST_LEASE_LOST] = "the lease has ended",
	[ACCEL_ST_ABORTED] = "cancelled",
	[ACCEL_ST_TIMEOUT] = "the time was up",
	[ACCEL_ST_RESET] = "the device was reset",
	[ACCEL_ST_DEVICE_FAULT] = "the device has a fault",
	[ACCEL_ST_NSREF_DENIED] = "the referenced namespace may not be used",
	[ACCEL_ST_NSREF_IO] = "input or output on the referenced namespace failed",
	[ACCEL_ST_INCOMPRESSIBLE] = "the data cannot be compressed",
};

const char *accel_status_str(uint32_t status)
{
	if (status < sizeof(statuses) / sizeof(statuses[0]) && statuses[status])
		return statuses[status];
	if (status == ACCEL_ST_IO_ERROR)
		return "the path to the device failed";
	return "unknown status";
}

const char *accel_executor_str(uint32_t executor)
{
	static const char *const names[] = { "none", "hardware", "software", "retried", "fallback" };

	return executor < sizeof(names) / sizeof(names[0]) ? names[executor] : "unknown";
}

const char *accel_op_name(uint16_t op)
{
	return wire_op_name(op);
}

const char *accel_alg_name(uint16_t op, uint16_t alg)
{
	return wire_alg_name(op, alg);
}
