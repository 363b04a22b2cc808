// SPDX-License-Identifier: GPL-2.0-only
/* What a status block says of a job. */
#include "nac.h"

static enum nac_outcome status_of(const struct nac_slot *slot, const struct wire_status *st, enum nac_count *why)
{
	const struct nac_dev *dev = slot->dev;

	*why = NAC_F_LEASE;
	if (st->lease != dev->lease_index || st->epoch != dev->lease_epoch || st->bootid != dev->id.bootid)
		return NAC_UNKNOWN;
	*why = NAC_F_IO;
	if (st->seq != slot->seq)
		return slot->wstatus ? NAC_UNKNOWN : NAC_RUNNING;
	*why = NAC_F_PROTOCOL;
	switch (st->state) {
	case NVME_ACCEL_ST_DONE:
	case NVME_ACCEL_ST_FAILED:
	case NVME_ACCEL_ST_ABORTED:
	case NVME_ACCEL_ST_LOST:
		return st->cookie == (slot->seq << 16 ^ slot->number) ? NAC_ENDED : NAC_UNKNOWN;
	case NVME_ACCEL_ST_SUPERSEDED:
		return NAC_UNKNOWN;
	default:
		return NAC_RUNNING;
	}
}

enum nac_outcome nac_judge(const struct nac_slot *slot, struct wire_status *st, enum nac_count *why)
{
	*why = NAC_F_IO;
	if (slot->rstatus)
		return NAC_UNKNOWN;
	*why = NAC_F_PROTOCOL;
	if (wire_status_decode(st, slot->status, slot->dev->block) != WIRE_OK)
		return NAC_UNKNOWN;
	return status_of(slot, st, why);
}

enum nac_count nac_reason(u32 code)
{
	switch (code) {
	case NVME_ACCEL_UNSUPPORTED_OP:
	case NVME_ACCEL_BAD_PARAM:
		return NAC_F_UNSUPPORTED;
	case NVME_ACCEL_BAD_INPUT_DATA:
	case NVME_ACCEL_AUTH_FAILED:
	case NVME_ACCEL_OUTPUT_SHORT:
		return NAC_F_DATA;
	case NVME_ACCEL_VERIFY_FAILED:
		return NAC_F_VERIFY;
	case NVME_ACCEL_IN_CRC_ERROR:
	case NVME_ACCEL_SHORT_WRITE:
	case NVME_ACCEL_DATA_MISSING:
		return NAC_F_IO;
	case NVME_ACCEL_LEASE_LOST:
	case NVME_ACCEL_RESET:
		return NAC_F_LEASE;
	case NVME_ACCEL_TIMEOUT:
	case NVME_ACCEL_ABORTED:
		return NAC_F_TIMEOUT;
	default:
		return NAC_F_DEVICE;
	}
}
