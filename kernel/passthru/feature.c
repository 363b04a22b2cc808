// SPDX-License-Identifier: GPL-2.0-only
/* Get Features and Set Features: what a controller must have, and what is true of this one. */
#include "core.h"

#define AER_CONFIG	0x11fu		/* SMART warnings, which never come, and namespace attribute notices */

void nap_features_reset(struct nap_live *l)
{
	mutex_lock(&l->feat_lock);
	memset(&l->feat, 0, sizeof(l->feat));
	l->feat.temp_over = 0xffff;
	mutex_unlock(&l->feat_lock);
	nap_event_config(l, 0);
}

/* Dword 11: threshold, of which sensor (0: composite; there are no others), over or under it. NULL: not ours. */
static u16 *temperature(struct nap_live *l, u32 dw11, bool set)
{
	u32 sensor = (dw11 >> 16) & 0xf, type = (dw11 >> 20) & 3;

	if (sensor && !(set && sensor == 0xf))
		return NULL;
	switch (type) {
	case 0: return &l->feat.temp_over;
	case 1: return &l->feat.temp_under;
	}
	return NULL;
}

static u16 set_locked(struct nap_live *l, u8 fid, u32 dw11, u32 *result)
{
	u16 *temp;

	switch (fid) {
	case NVME_FEAT_ARBITRATION:
		l->feat.arbitration = dw11;
		return 0;
	case NVME_FEAT_POWER_MGMT:	/* one state */
		return dw11 & 0x1f ? NAP_SC_INVALID_FIELD : 0;
	case NVME_FEAT_TEMP_THRESH:
		temp = temperature(l, dw11, true);
		if (!temp)
			return NAP_SC_INVALID_FIELD;
		*temp = dw11;
		return 0;
	case NVME_FEAT_ERR_RECOVERY:	/* without errors for deallocated blocks */
		if (dw11 & ~0xffffu)
			return NAP_SC_INVALID_FIELD;
		l->feat.error_recovery = dw11;
		return 0;
	case NVME_FEAT_VOLATILE_WC:	/* what is below may have one, and others use it, too */
		return dw11 & 1 ? 0 : NAP_SC_NOT_CHANGEABLE;
	case NVME_FEAT_NUM_QUEUES:
		if ((dw11 & 0xffff) == 0xffff || dw11 >> 16 == 0xffff)
			return NAP_SC_INVALID_FIELD;
		*result = (l->nr_queues - 1) * 0x10001u;
		return 0;
	case NVME_FEAT_WRITE_ATOMIC:
		l->feat.write_atomicity = dw11 & 1;
		return 0;
	case NVME_FEAT_ASYNC_EVENT:
		if (dw11 & ~AER_CONFIG)
			return NAP_SC_INVALID_FIELD;
		l->feat.aer_config = dw11;
		nap_event_config(l, dw11);
		return 0;
	case NVME_FEAT_KATO:		/* KAS is 0 */
		return dw11 ? NAP_SC_INVALID_FIELD : 0;
	}
	return NAP_SC_INVALID_FIELD;
}

static u16 get_locked(struct nap_live *l, u8 fid, u32 dw11, u32 *result)
{
	u16 *temp;

	switch (fid) {
	case NVME_FEAT_ARBITRATION:
		*result = l->feat.arbitration;
		return 0;
	case NVME_FEAT_POWER_MGMT:
	case NVME_FEAT_KATO:
		*result = 0;
		return 0;
	case NVME_FEAT_TEMP_THRESH:
		temp = temperature(l, dw11, false);
		if (!temp)
			return NAP_SC_INVALID_FIELD;
		*result = *temp;
		return 0;
	case NVME_FEAT_ERR_RECOVERY:
		*result = l->feat.error_recovery;
		return 0;
	case NVME_FEAT_VOLATILE_WC:
		*result = 1;
		return 0;
	case NVME_FEAT_NUM_QUEUES:
		*result = (l->nr_queues - 1) * 0x10001u;
		return 0;
	case NVME_FEAT_WRITE_ATOMIC:
		*result = l->feat.write_atomicity;
		return 0;
	case NVME_FEAT_ASYNC_EVENT:
		*result = l->feat.aer_config;
		return 0;
	}
	return NAP_SC_INVALID_FIELD;
}

u16 nap_feature_set(struct nap_live *l, const struct nvme_command *cmd, u32 *result)
{
	u32 dw10 = le32_to_cpu(cmd->common.cdw10), nsid = le32_to_cpu(cmd->common.nsid);
	u16 status;

	if (dw10 & (1u << 31))
		return NAP_SC_NOT_SAVEABLE;
	if (nsid && nsid != NVME_NSID_ALL)
		return NAP_SC_NOT_PER_NS;
	mutex_lock(&l->feat_lock);
	status = set_locked(l, dw10, le32_to_cpu(cmd->common.cdw11), result);
	mutex_unlock(&l->feat_lock);
	return status;
}

u16 nap_feature_get(struct nap_live *l, const struct nvme_command *cmd, u32 *result)
{
	u32 dw10 = le32_to_cpu(cmd->common.cdw10);
	u16 status;

	if (dw10 >> 8 & 7)	/* the default, saved values, capabilities: ONCS says that there is none of it */
		return NAP_SC_INVALID_FIELD;
	mutex_lock(&l->feat_lock);
	status = get_locked(l, dw10, le32_to_cpu(cmd->common.cdw11), result);
	mutex_unlock(&l->feat_lock);
	return status;
}
